#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The agents of subnet management: what can be written into each attribute, what is read
back, and what it does
"""

import os
import time

import fabric
from fabric import (GUID_INFO, INVALID, LINEAR_FWD, LOST, MCAST_FWD, NODE_DESC, NODE_INFO,
                    NOTICE, PKEY_TABLE, POLLING, PORT_INFO, QUIET, SECOND, SET, SL_TO_VL, SM,
                    SWITCH, SWITCH_INFO, TRAP, UNSUPPORTED, VL_ARB, Attribute)

LOCAL_CHANGE, BAD_MKEY = 144, 256
# Mellanox's, for FDR10
EXT_PORT_INFO = Attribute(SM, 0xff90, ":24 change:8 :24 supported:8 :24 enabled:8 :24 active:8")
EXTENDED_SPEEDS = 0x80000000    # in PortInfo's modifier
CAP_EXTENDED_SPEEDS, CAP_MASK2 = 0x4000, 0x8000
LFT_LIDS = 0xc000   # that switches have room for

# In the bits of PortInfo where the specification has it: what is supported and enabled;
# active for managers without extended speeds, and for those with them; extended: active, supported;
# extended 2: active, supported, enabled; CapabilityMask2
SPEEDS = {
    "sdr": (1, 1, 1, 0x00, 0x00, 0x0000),
    "ddr": (3, 2, 2, 0x00, 0x00, 0x0000),
    "qdr": (7, 4, 4, 0x00, 0x00, 0x0000),
    "fdr10": (7, 4, 4, 0x00, 0x00, 0x0000),
    "fdr": (7, 4, 0, 0x11, 0x00, 0x0000),
    "edr": (7, 4, 0, 0x23, 0x00, 0x0000),
    "hdr": (7, 4, 0, 0x47, 0x00, 0x0030),
    "ndr": (7, 4, 0, 0x8f, 0x00, 0x0430),
    "xdr": (7, 4, 0, 0x0f, 0x29, 0x1c30),
}


class Sma(fabric.Test):
    hosts = 3

    def top(self, lid, status=0):
        """Of the linear table"""
        self.change(SWITCH, SWITCH_INFO, lft_top=lid, status=status)

    def name(self, lid, name):
        """The node of this name answers to an SMP that goes to @lid, or none does"""
        answer = self.get(lid, NODE_DESC, status=0 if name else LOST)
        self.assertEqual(name, answer and answer.rstrip(b"\0").decode())

    def test_linear_table(self):
        """All unicast LIDs, and none above LinearFDBTop"""
        self.expect(self.get(SWITCH, SWITCH_INFO), lft_cap=LFT_LIDS)
        self.top(LFT_LIDS - 1)
        for lid in 0x3fff, 0x4000, LFT_LIDS - 1:
            block = bytearray(b"\xff" * 64)
            block[lid % 64] = 2
            self.set(SWITCH, LINEAR_FWD, lid // 64, block)
            self.set_port(SECOND, 1, lid=lid)
            self.name(lid, "h2")
            # What is above the top stays in the table, and leads nowhere
            self.top(lid - 1)
            self.name(lid, None)
            self.assertEqual(block, self.get(SWITCH, LINEAR_FWD, lid // 64))
            self.top(LFT_LIDS - 1)
        # Beyond the table
        self.top(LFT_LIDS, INVALID)
        self.set(SWITCH, LINEAR_FWD, LFT_LIDS // 64, status=INVALID)

    def test_linear_table_behind_a_route(self):
        """The same for an answer that goes on by LID after a directed route"""
        for status in 0, LOST:
            answer = self.get((2,), NODE_DESC, to={"lid": self.switch}, mad={"dr_slid": 1},
                              status=status)
            self.assertEqual(b"h2" if answer else None, answer and answer[:2])
            self.top(0)

    def cable(self, what):
        """That of the second host is another one from now on"""
        fabric.put("unlink", "h2 1")
        fabric.put("link", f"h2 1 s1 2 {what}")

    def info(self, extended=True):
        return self.get(SECOND, PORT_INFO, 1 | EXTENDED_SPEEDS * extended)

    def has(self, **want):
        self.expect(self.info(), **want)

    def enable(self, status=0, extended=True, **values):
        """What the second host may use"""
        return self.set_port(SECOND, 1 | EXTENDED_SPEEDS * extended, status=status, **values)

    def retrain(self):
        """The far end of its link goes to Polling: the link trains anew"""
        self.set_port(SWITCH, 2, phys=POLLING)

    def test_speeds(self):
        bits = CAP_EXTENDED_SPEEDS | CAP_MASK2
        for speed, (basic, active, active_ext, ext, ext2, mask2) in SPEEDS.items():
            self.cable(speed)
            caps = CAP_EXTENDED_SPEEDS * bool(ext) | CAP_MASK2 * bool(mask2)
            ends = self.info(False), self.info(), self.get(SWITCH, PORT_INFO, 2)
            for info in ends:
                self.expect(info, speed, ext_active=ext >> 4, ext_supported=ext & 15, ext2=ext2)
            for info, want in zip(ends, (active, active_ext)):
                self.expect(info, speed, speed_supported=basic, speed_enabled=basic,
                            speed_active=want, ext_enabled=ext & 15)
            # A switch says what it is capable of with port 0
            self.expect(ends[2], cap_mask=0)
            for info in *ends[:2], self.get(SWITCH, PORT_INFO, 0):
                self.expect(info, speed, cap_mask2=mask2)
                self.assertEqual(caps, info.cap_mask & bits, speed)

    def test_widths(self):
        for width, supported, active in (("1x", 0x01, 0x01), ("2x", 0x11, 0x10),
                                         ("4x", 0x03, 0x02), ("8x", 0x07, 0x04),
                                         ("12x", 0x0f, 0x08), ("4x hdr", 0x13, 0x02)):
            self.cable(width)
            self.has(width_supported=supported, width_enabled=supported, width_active=active)
        # One end is content with less, and both have it when they train again
        self.enable(width_enabled=0x11)
        self.retrain()
        self.has(width_active=0x10)

    def test_speeds_enabled(self):
        """What LinkSpeedExtEnabled can say, and what the link then has"""
        def active(want, value, enabled, extended=True):
            self.expect(self.enable(extended=extended, ext_enabled=value), ext_enabled=enabled)
            self.retrain()
            self.has(ext_active=want)

        self.cable("hdr")
        # It takes effect when the link trains, not before
        self.enable(ext_enabled=2)
        self.has(ext_active=4)
        self.retrain()
        self.has(ext_active=2)
        # One of those named; no change; those supported; none
        active(2, 3, 3)
        active(2, 0, 3)
        active(4, 31, 7)
        active(0, 30, 30)
        self.has(speed_active=4)
        active(1, 1, 1)
        # A request that does not ask for extended speeds changes none
        active(1, 31, 1, extended=False)
        # NDR is not supported, nor is anything between
        self.enable(INVALID, ext_enabled=9)
        self.has(ext_enabled=1)
        # XDR alone, without it, and without any
        self.cable("xdr")
        active(0, 2, 2)
        self.has(ext2=0x29)
        active(0, 30, 30)
        self.has(ext2=0x08, speed_active=4)
        self.enable(INVALID, ext2=2)

    def test_speeds_basic(self):
        self.cable("ddr")
        self.enable(INVALID, extended=False, speed_enabled=4)
        # 15: what is supported
        for value, enabled, active in (1, 1, 1), (15, 3, 2):
            self.enable(extended=False, speed_enabled=value)
            self.retrain()
            self.expect(self.info(False), speed_enabled=enabled, speed_active=active)

    def test_fdr10(self):
        """It is no speed of PortInfo"""
        def enable(status=0, **values):
            return self.change(SECOND, EXT_PORT_INFO, 1, status, **values)

        def has(where, number, supported, enabled, active):
            self.expect(self.get(where, EXT_PORT_INFO, number), supported=supported,
                        enabled=enabled, active=active)

        self.cable("qdr")
        has(SECOND, 1, 0, 0, 0)
        enable(INVALID, change=1, enabled=1)
        self.cable("fdr10")
        has(SECOND, 1, 1, 1, 1)
        # Not without StateChangeEnable
        self.expect(enable(enabled=0), enabled=1)
        self.expect(enable(change=1, enabled=0), enabled=0)
        has(SECOND, 1, 1, 0, 1)
        self.retrain()
        has(SWITCH, 2, 1, 1, 0)
        self.get(SWITCH, EXT_PORT_INFO, 200, status=INVALID)

    def test_nothing_of_the_request(self):
        """What a response has where the attribute says nothing is 0, whatever was asked"""
        for attribute, mod in (
                (NODE_DESC, 0), (NODE_INFO, 0), (SWITCH_INFO, 0), (GUID_INFO, 0),
                (PORT_INFO, 1), (PORT_INFO, 1 | EXTENDED_SPEEDS), (PKEY_TABLE, 0),
                (SL_TO_VL, 1 << 8 | 2), (VL_ARB, 1 << 16 | 1), (LINEAR_FWD, 0), (MCAST_FWD, 0),
                (EXT_PORT_INFO, 1)):
            self.assertEqual(self.get(SWITCH, attribute, mod),
                             self.get(SWITCH, attribute, mod, b"\xff" * 64),
                             f"{attribute.number:#x}")

    def test_not_there(self):
        """Hosts have no tables, and no Set changes NodeInfo or NodeDescription"""
        self.get(SECOND, SWITCH_INFO, status=UNSUPPORTED)
        self.get(SECOND, LINEAR_FWD, status=UNSUPPORTED)
        self.set(SECOND, MCAST_FWD, status=UNSUPPORTED)
        self.set(SWITCH, NODE_INFO, status=UNSUPPORTED)
        self.set(SWITCH, NODE_DESC, status=UNSUPPORTED)

    def test_lmc(self):
        """A port answers to as many LIDs as its LMC says, and to no more"""
        base = 0x180
        self.top(0x3ff)
        for block in range(base // 64, 0x240 // 64):
            self.set(SWITCH, LINEAR_FWD, block, b"\x02" * 64)
        for lmc in range(8):
            self.expect(self.set_port(SECOND, 1, lid=base, lmc=lmc), lmc=lmc)
            self.name(base, "h2")
            self.name(base + (1 << lmc) - 1, "h2")
            self.name(base + (1 << lmc), None)

    def test_port_state_change(self):
        """A subnet manager that has seen the change clears it by writing the bit"""
        self.expect(self.change(SWITCH, SWITCH_INFO, state_change=1), state_change=0)
        self.fault("h2 1 link down")
        self.expect(self.get(SWITCH, SWITCH_INFO), state_change=1)
        # A manager that writes something else has not seen it
        for written in 0, 1:
            info = self.change(SWITCH, SWITCH_INFO, state_change=written, life_time=0x12)
            self.expect(info, life_time=0x12, state_change=1 - written)
        self.assertEqual(info, self.get(SWITCH, SWITCH_INFO))

    def test_repress_is_for_one_notice(self):
        """Others of the port are repeated"""
        traps = self.open(1, methods=1 << TRAP)
        seen = []

        def take():
            packet = traps.receive()
            if packet.to.lid == 2:
                seen.append(NOTICE.data(packet.mad[64:]).trap)

        # One for a change, one for a Set with a wrong key
        issm = os.open(f"/dev/infiniband/issm{self.umad(2)}", os.O_RDWR)
        self.addCleanup(os.close, issm)
        self.set_port(SECOND, 1, mkey=0x1234, mkey_protect=1)
        self.ask(SECOND, SET, PKEY_TABLE, status=LOST, mad={"key": 0xbad})
        while not {LOCAL_CHANGE, BAD_MKEY} <= set(seen):
            take()
        self.key = 0x1234
        self.repress(2, LOCAL_CHANGE)
        time.sleep(QUIET / 1000)
        while traps.readable(0):
            take()
        # Between two of the one there would be one of the other
        seen.clear()
        while seen.count(BAD_MKEY) < 2:
            take()
        self.assertNotIn(LOCAL_CHANGE, seen)

    def test_smps_have_no_grh(self):
        """QP0 takes nothing with one"""
        for grh, status in (0, 0), (1, LOST):
            self.get(self.switch, NODE_DESC, to={"grh_present": grh, "gid": self.gid(1)},
                     status=status)


if __name__ == "__main__":
    fabric.main()
