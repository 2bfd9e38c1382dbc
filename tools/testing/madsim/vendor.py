#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The vendor's agent: registers that users have written, by each of the attributes that read
them"""

import errno

import fabric
from fabric import (BAD_VERSION, HERE, INVALID, LOST, SECOND, SM, SWITCH,
                    UNSUPPORTED, Attribute)

VENDOR = 0x0a
HEADS = """type:5 length:11 :1 status:7 :8 id:16 response:1 method:7 class:8 tid:64
    reg_type:5 reg_length:11 :16"""
BY_SMP = Attribute(SM, 0xff52, HEADS)
BY_GMP = Attribute(VENDOR, 0xff52, HEADS, begin=32)
# A part of a register at a time, and its ID in the modifier
PARTS = Attribute(VENDOR, 0x51, "part:16", begin=32)
SPACE_BY_SMP, SPACE_BY_GMP = Attribute(SM, 0xff50), Attribute(VENDOR, 0x50, begin=32)
GENERAL_INFO = Attribute(VENDOR, 0x17, begin=32)

OPERATION, REGISTER = 1, 3
QUERY, WRITE = 1, 2
UNKNOWN_TLV, NO_REGISTER, NO_METHOD, BAD_PARAMETER = 3, 4, 6, 7
# The status of a MAD that is about parts
GMP_NO_REGISTER = 0x14
MTMP, MSPS = 0x900a, 0x900d


def count(size):
    return bytes(i % 251 for i in range(size))


class Vendor(fabric.Test):
    def write(self, register, value, key=".", node="s1"):
        self.fault(f"{node} register {register:#x} {key} "
                   f"{value if isinstance(value, str) else value.hex()}")

    def request(self, register, size, data=b"", **values):
        """Both heads, and what a register has in the request"""
        return BY_GMP.data(bytes(20) + data, type=OPERATION, length=4, id=register,
                           method=QUERY, reg_type=REGISTER, reg_length=1 + size // 4).change(
                               **values)

    def read(self, register, size, data=b"", status=0, *, where=None, by=BY_GMP, **values):
        """The bytes of a register. @status is that of the second head"""
        got = self.set(self.switch if where is None else where, by, 0,
                       self.request(register, size, data, **values))
        self.expect(got, status=status, response=1)
        return bytes(got[20:20 + size])

    def test_ways(self):
        """By LID, by a directed route and at QP1: the same, as far as it fits"""
        value = count(1000)
        self.write(MSPS, value)
        for where, by, size in ((self.switch, BY_SMP, 44), (SWITCH, BY_SMP, 44),
                                (self.switch, BY_GMP, 204)):
            self.assertEqual(value[:size], self.read(MSPS, size, where=where, by=by))
            self.read(MSPS, size + 4, b"", BAD_PARAMETER, where=where, by=by)
        for part in range(6):
            data = self.get(self.switch, PARTS, MSPS, part=part)
            self.expect(data, part=part)
            self.assertEqual(value[220 * part:220 * (part + 1)].ljust(220, b"\0"), data[4:])
        # What the request has behind a register that is short does not come back
        self.write(MTMP, "12345678")
        self.assertEqual(bytes.fromhex("12345678").ljust(40, b"\0"),
                         self.read(MTMP, 40, b"\xff" * 40))

    def test_hosts(self):
        """An adapter has registers, too: that of an RDMA device, and the own one"""
        for node, host, route in ("h2", 2, SECOND), ("h1", 1, HERE):
            self.write(MTMP, bytes([host] * 4), node=node)
            for where, by in (route, BY_SMP), (host, BY_SMP), (host, BY_GMP):
                self.assertEqual(bytes([host] * 4), self.read(MTMP, 4, where=where, by=by))

    def test_keys(self):
        """Which of several values: the request says which sensor"""
        sensors = {0x000: "00000000", 0x040: "00000040", 0xa5c: "00000a5c"}
        for sensor, value in sensors.items():
            self.write(MTMP, value + f"{sensor * 3:08x}", f".....{sensor:03X}")
        for sensor, value in sensors.items():
            # In another slot
            got = self.read(MTMP, 8, bytes.fromhex(f"00030{sensor:03x}"))
            self.assertEqual(f"{value}{sensor * 3:08x}", got.hex())
        request = bytes.fromhex("00000041")
        self.assertEqual(request, self.read(MTMP, 4, request, BAD_PARAMETER))
        self.get(self.switch, PARTS, MTMP, bytes(4) + request, status=INVALID)
        # A key that is longer than the register of a request
        self.write(MSPS, "01", "00000000.0")
        self.read(MSPS, 4, status=BAD_PARAMETER)
        self.assertEqual("01" + 7 * "00", self.read(MSPS, 8).hex())
        # The last one that was written counts, the same key replaces
        self.write(MTMP, "aa", ".....04")
        for sensor in "00000040", "00000041":
            self.assertEqual("aa000000", self.read(MTMP, 4, bytes.fromhex(sensor)).hex())
        self.write(MTMP, "bb", ".....a5C")
        self.assertEqual("bb000000", self.read(MTMP, 4, bytes.fromhex("00000a5c")).hex())
        self.write(MTMP, "off", ".....A5c")
        self.read(MTMP, 4, bytes.fromhex("00000a5c"), BAD_PARAMETER)
        for key in ".....04", ".....000", ".....040":
            self.write(MTMP, "off", key)
        self.read(MTMP, 4, status=NO_REGISTER)

    def test_refused(self):
        """Registers that there are not, lengths, types, methods and versions"""
        self.write(MTMP, count(8))
        self.read(MSPS, 8, status=NO_REGISTER)
        self.get(self.switch, PARTS, MSPS, status=GMP_NO_REGISTER)
        self.read(MTMP, 0, status=BAD_PARAMETER)
        self.read(MTMP, 8, status=BAD_PARAMETER, reg_length=0)
        for wrong in ({"type": 2}, {"length": 3}, {"reg_type": OPERATION}):
            self.read(MTMP, 8, status=UNKNOWN_TLV, **wrong)
        for method in 0, WRITE:
            self.read(MTMP, 8, b"\xff" * 8, NO_METHOD, method=method)
        self.assertEqual(count(8), self.read(MTMP, 8))
        for by in BY_SMP, BY_GMP:
            self.get(self.switch, by, 0, self.request(MTMP, 8), status=UNSUPPORTED)
        for attribute in PARTS, GENERAL_INFO:
            self.set(self.switch, attribute, MTMP, status=UNSUPPORTED)
        self.get(self.switch, PARTS, MTMP, mad={"class_version": 2}, status=BAD_VERSION)
        # A fault
        self.fault("s1 refuse vendor 0xff52")
        self.set(self.switch, BY_GMP, 0, self.request(MTMP, 8), status=UNSUPPORTED)
        self.get(self.switch, PARTS, MTMP)
        self.read(MTMP, 8, where=self.switch, by=BY_SMP)

    def test_mkey(self):
        """Subnet management asks for the M_Key, the vendor's agent does not"""
        self.write(MTMP, count(8))
        self.set_port(SWITCH, 0, mkey=7, mkey_protect=1)
        self.set(self.switch, BY_SMP, 0, self.request(MTMP, 8), status=LOST)
        self.assertEqual(count(8), self.read(MTMP, 8))
        self.key = 7
        self.assertEqual(count(8), self.read(MTMP, 8, by=BY_SMP))
        self.set_port(SWITCH, 0, mkey=0)

    def test_config_space(self):
        """Words at addresses of 24 bits, which a write does not change"""
        self.write(0xf0014, "0000024d89abcdef")
        self.write(0xf001c, "76543210")
        self.write(MTMP, count(8))

        def words(attribute, mod, status=0, ask=self.get):
            got = ask(self.switch, attribute, mod, b"\xff" * 8, status=status)
            return got and bytes(got[8:] if attribute is SPACE_BY_SMP else got)

        for attribute, most in (SPACE_BY_GMP, 56), (SPACE_BY_SMP, 14):
            for ask in self.get, self.set:
                self.assertEqual("0000024d89abcdef",
                                 words(attribute, 0x0f020014, ask=ask)[:8].hex())
            self.assertEqual("89abcdef", words(attribute, 0x0f010018)[:4].hex())
            self.assertEqual("76543210", words(attribute, 0x0f01001c)[:4].hex())
            for wrong in (0x0f000014, 0x0f020018, 0x0f010020, 0x0f810014, 0x0f410014,
                          0x0f010010, 0x00010000 | MTMP):
                words(attribute, wrong, INVALID)
            self.write(0x100000, count(300))
            self.assertEqual(count(4 * most),
                             words(attribute, 0x10000000 | most << 16)[:4 * most])
            words(attribute, 0x10000000 | most + 1 << 16, INVALID)

    def test_attribute(self):
        """Another attribute of the class"""
        self.write(GENERAL_INFO.number, count(144))
        self.assertEqual(count(144).ljust(224, b"\0"),
                         self.get(self.switch, GENERAL_INFO, 0, b"\xff" * 224))
        self.get(self.switch, Attribute(VENDOR, 0x18, begin=32), status=UNSUPPORTED)

    def test_not_there(self):
        """A node without registers refuses all of that. They stay when the power goes"""
        self.write(MTMP, count(8))
        for where in 1, 2, self.switch:
            status = 0 if where == self.switch else UNSUPPORTED
            for by in BY_SMP, BY_GMP:
                self.set(where, by, 0, self.request(MTMP, 8), status=status)
            self.get(where, PARTS, MTMP, status=status)
            for attribute in GENERAL_INFO, SPACE_BY_SMP, SPACE_BY_GMP:
                self.get(where, attribute, 0x0f010014, status=INVALID if status == 0 and
                         attribute is not GENERAL_INFO else UNSUPPORTED)
        self.power("s1")
        self.bring_up()
        self.assertEqual(count(8), self.read(MTMP, 8))

    def test_commands(self):
        """What makes no sense"""
        for wrong in ("s1 register", "s1 register 0x900a", "s1 register 0x900a .",
                      "s1 register x . 00", "s1 register 0x100000000 . 00",
                      "s1 register 0x900a 0x 00", "s1 register 0x900a . 0",
                      "s1 register 0x900a . 0x", "s1 register 0x900a . 00 00"):
            self.fails(errno.EINVAL, self.fault, wrong)
        self.write(MTMP, "off")
        self.get(self.switch, PARTS, MTMP, status=UNSUPPORTED)


if __name__ == "__main__":
    fabric.main()
