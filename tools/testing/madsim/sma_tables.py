#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tables of nodes: what is written into one place is read from there, and from
nowhere else
"""

import fabric
from fabric import (GUID_INFO, INVALID, MCAST_FWD, NODE_INFO, PKEY_TABLE, SECOND,
                    SL_TO_VL, SWITCH, SWITCH_INFO, VL_ARB)

# In the modifier of SLtoVLMappingTable
ALL_IN, ALL_OUT = 0x20000, 0x10000
MFT_BLOCKS = 32

# Parts of everything that is a table, but for the linear one, which is in sma.py
PLACES = [(where, attribute, mod, size) for where, attribute, size, *mods in (
    (SWITCH, PKEY_TABLE, 64, 0, 1 << 16, 2 << 16),
    (SECOND, PKEY_TABLE, 64, 0),
    (SWITCH, SL_TO_VL, 8, 0x0001, 0x0100, 0x0102, 0x0201, 0x0303),
    (SECOND, SL_TO_VL, 8, 0),
    (SWITCH, VL_ARB, 16, 1 << 16 | 1, 3 << 16 | 1, 1 << 16 | 2, 3 << 16 | 2),
    (SECOND, VL_ARB, 16, 1 << 16 | 1, 3 << 16 | 1),
    (SWITCH, MCAST_FWD, 64, 0, 1, MFT_BLOCKS - 1)) for mod in mods]


def fill(seed, size=64):
    """Different in each byte, and for each seed"""
    return bytes((1 + seed * 37 + i) % 256 for i in range(size)).ljust(64, b"\0")


class Tables(fabric.Test):
    def all(self):
        return [self.get(*place[:3]) for place in PLACES]

    def test_each_is_set_by_itself(self):
        """... and no other place changes"""
        want = self.all()
        for i, (where, attribute, mod, size) in enumerate(PLACES):
            want[i] = fill(i, size)
            self.assertEqual(want[i], self.set(where, attribute, mod, want[i]))
            self.assertEqual(want, self.all(), f"after {attribute.number:#x} of {mod:#x}")

    def test_power(self):
        """All of them are as they were at first when the power has come back"""
        first = self.all()
        for i, (where, attribute, mod, size) in enumerate(PLACES):
            self.set(where, attribute, mod, fill(i, size))
        self.power("s1", "h2")
        self.assertEqual(first, self.all())

    def test_nowhere(self):
        """Ports, blocks and positions that there are not"""
        none = self.spare + 1
        for where, attribute, *mods in (
                (SWITCH, PKEY_TABLE, 1, none << 16),
                (SECOND, PKEY_TABLE, 1),
                (SWITCH, SL_TO_VL, none, none << 8, 0x40000),
                (SWITCH, VL_ARB, 1, 2 << 16 | 1, 4 << 16 | 1, 5 << 16 | 1, 1 << 16 | none),
                (SECOND, VL_ARB, 1 << 16 | 2),
                (SWITCH, MCAST_FWD, MFT_BLOCKS, 1 << 28, 1 << 9, 1 << 27),
                (SWITCH, GUID_INFO, 1),
                (SECOND, GUID_INFO, 1)):
            for mod in mods:
                self.get(where, attribute, mod, status=INVALID)
                self.set(where, attribute, mod, status=INVALID)

    def test_guids(self):
        """The first one is the hardware's, the others belong to the subnet manager"""
        first = self.get(SECOND, GUID_INFO)
        self.set(SECOND, GUID_INFO, 0, fill(1))
        self.assertEqual(first[:8] + fill(1)[8:], self.get(SECOND, GUID_INFO))
        # The kernel, too, knows them
        gid = self.gid(2) >> 64 << 64 | int.from_bytes(fill(1)[8:16], "big")
        fabric.until(lambda: self.gid(2, 1) == gid)

    def test_vl_arbitration_at_first(self):
        """A port takes turns until it is configured, and has no high priority"""
        for where, port in (SWITCH, 1), (SECOND, 1):
            for part, weight in (1, 1), (3, 0):
                table = bytes(n for vl in range(8) for n in (vl, weight))
                self.assertEqual(table, self.get(where, VL_ARB, part << 16 | port)[:16])

    def test_many_sl_to_vl_at_once(self):
        """One Set for all input ports, for all output ports, or for both"""
        # OptimizedSLtoVLMappingProgramming is nothing to be set
        for opt in 1, 0:
            self.expect(self.change(SWITCH, SWITCH_INFO, opt_sl2vl=opt), opt_sl2vl=1)
        ports = range(self.spare + 1)
        for bits in 0, ALL_IN, ALL_OUT, ALL_IN | ALL_OUT:
            # All of them the same, and then those of that Set
            self.set(SWITCH, SL_TO_VL, ALL_IN | ALL_OUT, fill(1, 8))
            self.set(SWITCH, SL_TO_VL, bits | 0x0102, fill(2, 8))
            for way_in in ports:
                for out in ports:
                    meant = (way_in == 1 or bits & ALL_IN) and (out == 2 or bits & ALL_OUT)
                    self.assertEqual(fill(2 if meant else 1, 8),
                                     self.get(SWITCH, SL_TO_VL, way_in << 8 | out),
                                     f"bits {bits:#x}, from {way_in} to {out}")

    def test_switch_info(self):
        """Each component; the rest is not to be written"""
        # PortStateChange is there at the beginning, and cleared by writing it
        info = self.change(SWITCH, SWITCH_INFO)
        self.expect(info, state_change=0)
        for name, value in {"lft_top": 0x1234, "default_port": 3, "mcast_primary": 4,
                            "mcast_other": 5, "life_time": 0x12, "mft_top": 0xc123}.items():
            info.change(**{name: value})
            self.assertEqual(info, self.set(SWITCH, SWITCH_INFO, 0, info), name)
            self.assertEqual(info, self.get(SWITCH, SWITCH_INFO), name)
        writable = bytes(6) + b"\xff\xff\xff\xff\xff\xfc" + bytes(6) + b"\xff\xff"
        for i, bits in enumerate(writable):
            other = info[:]
            other[i] ^= ~bits & 0xff
            self.assertEqual(info, self.set(SWITCH, SWITCH_INFO, 0, other), f"byte {i}")

    def test_class_version(self):
        """An agent answers to one version of the class"""
        for version in range(4):
            self.get(SWITCH, NODE_INFO, mad={"class_version": version},
                     status=0 if version == 1 else fabric.BAD_VERSION)


class Big(fabric.Test):
    """A switch with so many ports that an entry of its multicast table has several words"""
    ports = 40
    path = 1, 3

    def setUp(self):
        super().setUp()
        fabric.node("big", type="switch", ports=self.ports)
        fabric.put("link", f"big {self.ports} s1 {self.spare}")
        self.fault("big plug")

    def test_multicast_words(self):
        want = [bytes(64)] * 3
        for i in range(3):
            want[i] = fill(i + 1)
            self.set(self.path, MCAST_FWD, i << 28 | 5, want[i])
            self.assertEqual(want, [self.get(self.path, MCAST_FWD, word << 28 | 5)
                                    for word in range(3)])
        self.get(self.path, MCAST_FWD, 3 << 28, status=INVALID)

    def test_last_port(self):
        """It has tables as the first one has"""
        for attribute, mod, want in ((SL_TO_VL, self.ports << 8 | self.ports, fill(1, 8)),
                                     (PKEY_TABLE, self.ports << 16, fill(2))):
            self.set(self.path, attribute, mod, want)
            self.assertEqual(want, self.get(self.path, attribute, mod))


if __name__ == "__main__":
    fabric.main()
