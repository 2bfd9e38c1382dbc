#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Nodes that have no MAD layer, so that the model answers: by which way requests come to
them, and which ones are none
"""

import fabric
from fabric import (ACTIVE, ARMED, CLASS_PORT_INFO, GET, HERE, LINEAR_FWD, LOST, NODE_DESC,
                    PERF, PERMISSIVE, PKEY_TABLE, SEND, SET, SWITCH, SWITCH_INFO, UNSUPPORTED)

LID = 0x40
MAX_HOPS = 63


class Adapter(fabric.Test):
    """Node m1 at the spare port of switch s1, which has no device"""
    type, port, lmc = "ca", 1, 3
    path = 1, 3

    def setUp(self):
        super().setUp()
        fabric.node("m1", type=self.type)
        fabric.put("link", f"m1 1 s1 {self.spare}")
        self.fault("m1 plug")
        self.set_port(self.path, self.port, lid=LID, lmc=self.lmc, sm_lid=1)
        self.lead(SWITCH, 1, self.spare)

    def lead(self, where, block, port):
        """LIDs of this block of a switch go to a port"""
        self.change(where, SWITCH_INFO, lft_top=LID + 63)
        self.set(where, LINEAR_FWD, block, bytes([port] * 64))

    def name(self, where, want, **more):
        """The node of this name answers"""
        answer = self.client.exchange(self.packet(where, GET, NODE_DESC, **more))
        self.assertEqual((0, want.encode()),
                         (answer.mad.status & 0x7fff, answer.mad[64:128].rstrip(b"\0")))
        return answer

    def test_answers_from_the_lid_that_was_asked(self):
        for lid in range(LID, LID + (1 << self.lmc)):
            self.assertEqual(lid, self.name(lid, "m1").to.lid)

    def test_return_path(self):
        """It has the port of each node that the request came in by"""
        self.assertEqual(b"\x01\x01", self.name(self.path, "m1").mad[193:195])

    def test_route_to_a_lid(self):
        """A directed route that goes on by LID ends at the switch that has it, and at no
        host"""
        self.name(SWITCH, "s1", mad={"dr_dlid": self.switch})
        self.route_to_m1()

    def route_to_m1(self):
        self.get(self.path, NODE_DESC, mad={"dr_dlid": LID}, status=LOST)

    def is_done(self, want, path, lid, hop_cnt, hop_ptr, returning=False):
        """Whether a Set of a P_Key is done that comes to @lid by LID alone, with a directed
        route that is over. Such a Set gets no answer"""
        before = self.get(path, PKEY_TABLE).first
        # With a LID in dr_slid, or the MAD layer would look at the hop pointer, too
        self.client.send(self.packet(
            HERE, SET, PKEY_TABLE, timeout=0, first=before ^ 1, to={"lid": lid},
            mad={"hop_cnt": hop_cnt, "hop_ptr": hop_ptr, "status": 0x8000 * returning,
                 "dr_slid": 1, "dr_dlid": lid if returning else PERMISSIVE}))
        self.assertEqual(want, self.get(path, PKEY_TABLE).first != before)

    def test_routes_that_are_none(self):
        """A route has 63 hops at most, and what comes back to its sender is no request"""
        self.is_done(True, SWITCH, self.switch, MAX_HOPS, MAX_HOPS)
        self.is_done(False, SWITCH, self.switch, MAX_HOPS + 1, MAX_HOPS + 1)
        self.returns_to_m1()

    def returns_to_m1(self):
        self.is_done(True, self.path, LID, 1, 1)
        self.is_done(False, self.path, LID, 1, 2, returning=True)

    def test_partitions(self):
        """It hears who shares one with it, if one of the two is a full member"""
        for state in ARMED, ACTIVE:
            self.set_port(SWITCH, self.spare, state=state)
            self.set_port(self.path, 1, state=state)
        for theirs, own, status in ((0xffff, 0x7fff, 0), (0x7fff, 0xffff, 0),
                                    (0x7fff, 0x7fff, LOST), (0xffff, 0x8001, LOST)):
            self.set(HERE, PKEY_TABLE, first=theirs)
            self.set(self.path, PKEY_TABLE, first=own)
            self.get(LID, CLASS_PORT_INFO, status=status)

    def test_classes_that_nobody_serves(self):
        """As a MAD layer would: requests are refused, the rest is lost"""
        vendor = fabric.Attribute(PERF, 0)
        for method, status in (GET, UNSUPPORTED), (SET, UNSUPPORTED), (SEND, LOST):
            self.ask(self.switch, method, vendor, status=status, mad={"mgmt_class": 0x0a})


class SecondSwitch(Adapter):
    type, port, lmc = "switch", 0, 0

    def setUp(self):
        super().setUp()
        # The way back
        self.lead(self.path, 0, 1)

    def route_to_m1(self):
        """By LID from one switch to the next"""
        self.name(SWITCH, "m1", mad={"dr_dlid": LID})

    def returns_to_m1(self):
        pass


if __name__ == "__main__":
    fabric.main()
