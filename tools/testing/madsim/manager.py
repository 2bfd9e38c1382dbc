#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What a subnet manager relies on: its M_Key, and notices of links and of hosts"""

import os
import time

import fabric
from fabric import LOST, NODE_DESC, NOTICE, PKEY_TABLE, PORT_INFO, SECOND, TRAP, Attribute

LINK_STATE, CAPABILITIES, BAD_MKEY = 128, 144, 256
KEY, WRONG = 0x1122334455667788, 0xbad
IS_SM = 2
# Milliseconds after which a notice comes again, and a little more
AGAIN = 1300

HEAD = ":1 :7 :24 trap:16 :32 "
LINK = Attribute(fabric.SM, 0x02, HEAD + "lid:16")
HOST = Attribute(fabric.SM, 0x02, HEAD + ":16 lid:16 :8 local:8 cap_mask:32 changes:16")
MKEY = Attribute(fabric.SM, 0x02, HEAD + ":16 lid:16 dr_slid:16 method:8 :8 attribute:16"
                 " modifier:32 mkey:64 :8 truncated:1 hops:7 hop1:8 hop2:8")


class Told(fabric.Test):
    """The subnet manager is on the first host"""

    def setUp(self):
        super().setUp()
        self.traps = self.open(1, methods=1 << TRAP)
        # Links of the switch came up with the fabric
        self.heard(self.switch, LINK_STATE)

    def heard(self, lid, trap):
        """This one comes no more"""
        self.repress(lid, trap)
        while self.traps.readable(0):
            self.traps.receive()

    def told(self, trap, issuer, kind, details, **want):
        packet = self.traps.receive()
        self.expect(packet.mad, method=TRAP, attr_id=NOTICE.number)
        self.expect(packet.to, qpn=0, lid=issuer)
        self.expect(NOTICE.data(packet.mad[64:]), generic=1, trap=trap, issuer=issuer,
                    type=kind)
        data = details.data(packet.mad[64:])
        self.expect(data, **want)
        return packet, data

    def silence(self):
        self.assertFalse(self.traps.readable(AGAIN))


class Notices(Told):
    def test_link(self):
        """A switch tells of it, and again, until it is told that it was heard"""
        self.fault("h2 1 link down")
        first, again = (self.told(LINK_STATE, self.switch, 1, LINK, lid=self.switch)[0]
                        for _ in range(2))
        self.assertEqual(first.agent, self.traps.agents[fabric.SM])
        self.assertEqual(first.mad, again.mad)
        self.heard(self.switch, LINK_STATE)
        self.silence()

    def test_host(self):
        """Its IsSM bit, and its description"""
        issm = os.open(f"/dev/infiniband/issm{self.umad(2)}", os.O_RDWR)
        for is_sm in IS_SM, 0:
            _, data = self.told(CAPABILITIES, 2, 4, HOST, lid=2, local=0, changes=0)
            self.assertEqual(is_sm, data.cap_mask & IS_SM)
            self.heard(2, CAPABILITIES)
            if is_sm:
                os.close(issm)
        with open(f"/sys/class/infiniband/{self.device(2)}/node_desc", "w",
                  encoding="utf-8") as file:
            file.write("another")
        self.told(CAPABILITIES, 2, 4, HOST, lid=2, local=1, changes=1)
        self.heard(2, CAPABILITIES)
        self.silence()
        self.assertEqual(b"another", self.get(2, NODE_DESC)[:7])


class Keys(Told):
    """Of the second host"""

    def protect(self, level, lease=0):
        """@lease: seconds after which it can be taken over"""
        self.set_port(SECOND, 1, mkey=KEY, mkey_protect=level, mkey_lease=lease)
        self.key = KEY

    def ask_with(self, key, status=0, **want):
        self.key = key
        info = self.get(SECOND, PORT_INFO, 1, status=status)
        if not status:
            self.expect(info, **want)
        self.key = KEY

    def intrude(self):
        self.key = WRONG
        self.set(SECOND, PKEY_TABLE, status=LOST)
        self.key = KEY

    def test_levels(self):
        # 0: reads are answered, with the key
        self.protect(0)
        self.ask_with(0, mkey=KEY, mkey_violations=0)
        self.intrude()
        # 1: without it, unless one has it
        self.protect(1)
        self.ask_with(0, mkey=0, mkey_violations=1)
        self.ask_with(KEY, mkey=KEY)
        self.intrude()
        # 2: reads are not answered
        self.protect(2)
        self.ask_with(KEY + 1, LOST)
        self.intrude()
        self.ask_with(KEY, mkey_violations=4)
        # What a stranger would have written is what it was
        self.expect(self.get(SECOND, PKEY_TABLE), first=0xffff)

    def test_lease(self):
        """A violation starts it, the owner ends it, its end opens the port"""
        self.protect(2, lease=1)
        self.intrude()
        self.ask_with(KEY)
        time.sleep(1.1)
        self.intrude()
        # The owner was there in time, and now is not
        time.sleep(1.1)
        self.ask_with(WRONG, mkey=KEY, mkey_protect=0)
        # A Set needs it still
        self.intrude()
        self.set(SECOND, PKEY_TABLE, 0, self.get(SECOND, PKEY_TABLE))

    def test_notice(self):
        """Which request it was, by which route"""
        self.protect(1)
        self.intrude()
        self.told(BAD_MKEY, 2, 2, MKEY, lid=2, dr_slid=fabric.PERMISSIVE, method=fabric.SET,
                  attribute=PKEY_TABLE.number, mkey=WRONG, hops=2, hop1=1, hop2=1)
        self.heard(2, BAD_MKEY)
        self.silence()


if __name__ == "__main__":
    fabric.main()
