#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What ports tell the subnet manager: of packets that they drop for their keys or because the
link has errors, of links and of hosts. And what they count, and the M_Key
"""

import os
import time

import fabric
from fabric import (CLASS_PORT_INFO, LOST, NODE_DESC, NOTICE, PKEY_TABLE, PORT_COUNTERS, PORT_INFO,
                    RCV_ERROR_DETAILS, SECOND, SWITCH, TRAP, XMIT_DISCARD_DETAILS, Attribute)

LINK_STATE, INTEGRITY, OVERRUN, FLOW, LOCAL_CHANGE = 128, 129, 130, 131, 144
BAD_MKEY, BAD_PKEY, SWITCH_PKEY = 256, 257, 259
URGENT, SECURITY, INFORMATIONAL = 1, 2, 4
FROM_HOST, FROM_SWITCH = 1, 2
SL = 3
KEY, WRONG = 0x1122334455667788, 0xbad
IS_SM = 2
# Milliseconds after which a notice comes again, and a little more
AGAIN = 1300
# Seconds, in which an owner comes in time on a busy machine, too
LEASE = 10

# The details of a notice
HEAD = ":1 :7 :24 trap:16 :32 "
LINK = Attribute(fabric.SM, 0x02, HEAD + "lid:16")
HOST = Attribute(fabric.SM, 0x02, HEAD + ":16 lid:16 :8 local:8 cap_mask:32 changes:16")
MKEY = Attribute(fabric.SM, 0x02, HEAD + ":16 lid:16 dr_slid:16 method:8 :8 attribute:16"
                 " modifier:32 mkey:64 :8 truncated:1 hops:7 hop1:8 hop2:8")
PORT = Attribute(fabric.SM, 0x02, HEAD + ":16 lid:16 port:8")
PACKET = "lid1:16 lid2:16 key:{} sl:4 :4 qp1:24 :8 qp2:24"
KEYS = Attribute(fabric.SM, 0x02, HEAD + ":16 " + PACKET.format(32))
SWITCH_KEYS = Attribute(fabric.SM, 0x02, HEAD + "valid:16 " + PACKET.format(16) +
                        " :256 sw_lid:16 sw_port:8")


class Told(fabric.Test):
    """The first host is the subnet manager"""

    def setUp(self):
        super().setUp()
        self.traps = self.open(1, methods=1 << TRAP)

    def told(self, trap, issuer, details, **want):
        """The next notice, or the repetition of one before it"""
        data = NOTICE.data()
        while data.trap != trap:
            packet = self.traps.receive()
            data = NOTICE.data(packet.mad[64:])
        self.expect(packet.mad, method=TRAP, attr_id=NOTICE.number)
        self.expect(packet.to, qpn=0, lid=issuer)
        self.expect(data, generic=1, issuer=issuer,
                    type={LOCAL_CHANGE: INFORMATIONAL, BAD_MKEY: SECURITY, BAD_PKEY: SECURITY,
                          SWITCH_PKEY: SECURITY}.get(trap, URGENT),
                    producer=FROM_SWITCH if issuer == self.switch else FROM_HOST)
        details = details.data(packet.mad[64:])
        self.expect(details, **want)
        return packet, details

    def heard(self, lid, trap):
        """This one comes no more"""
        self.repress(lid, trap)
        while self.traps.readable(0):
            self.traps.receive()

    def silence(self):
        self.assertFalse(self.traps.readable(AGAIN))

    def describe(self, host, text):
        fabric.write(f"/sys/class/infiniband/{self.device(host)}/node_desc", text)


class Asking(Told):
    """... of three, and asks the second one"""
    hosts = 3

    def ask_second(self, times=1, status=0):
        for _ in range(times):
            self.get(2, CLASS_PORT_INFO, to={"sl": SL}, status=status)

    def not_told(self):
        """Nothing but that links have come up, which is repeated until it is repressed"""
        while self.traps.readable(0):
            self.assertEqual(LINK_STATE, NOTICE.data(self.traps.receive().mad[64:]).trap)


class Notices(Asking):
    def test_bad_pkey(self):
        self.set(SECOND, PKEY_TABLE, first=0x8001)
        self.not_told()
        self.ask_second(status=LOST)
        self.told(BAD_PKEY, 2, KEYS, lid1=1, lid2=2, key=0xffff, sl=SL, qp1=1, qp2=1)

    def test_pkey_at_a_switch(self):
        self.set_port(SWITCH, 2, oper_vls=0, enforce=1)
        self.set(SWITCH, PKEY_TABLE, 2 << 16, first=0x8001)
        self.not_told()
        self.ask_second(status=LOST)
        # All but the GIDs is there
        self.told(SWITCH_PKEY, self.switch, SWITCH_KEYS, valid=0x3f, lid1=1, lid2=2, key=0xffff,
                  sl=SL, qp1=1, qp2=1, sw_lid=self.switch, sw_port=2)

    def test_header(self):
        """Each notice has a TID, the same when it is repeated, and MasterSMSL"""
        self.set_port(SWITCH, 0, sm_sl=SL)
        self.fault("h2 1 flow nth 1")
        self.ask_second(status=LOST)
        tids = {LINK_STATE: [], FLOW: []}
        while not all(len(seen) > 1 for seen in tids.values()):
            packet = self.traps.receive()
            trap = NOTICE.data(packet.mad[64:]).trap
            # The link's may have come before there was such an SL
            self.assertTrue(packet.to.sl == SL or trap == LINK_STATE)
            tids[trap].append(packet.mad.tid)
        self.assertEqual([1, 1], [len(set(seen)) for seen in tids.values()])
        self.assertNotEqual(tids[LINK_STATE][0], tids[FLOW][0])

    def test_repeated(self):
        """Each second, ten times in all, and news of others do not hurry it"""
        seen = []

        def sent():
            while self.traps.readable(0):
                packet = self.traps.receive()
                seen.append((packet.to.lid, NOTICE.data(packet.mad[64:]).trap))
            return seen.count((2, LOCAL_CHANGE))

        sent()
        seen.clear()
        start = time.monotonic()
        self.describe(2, "news")
        fabric.until(lambda: sent() == 1)
        for i in range(20):
            self.describe(3, f"other news {i}")
            time.sleep(0.05)
        # A tick more or less, and the first one
        self.assertLessEqual(sent(), time.monotonic() - start + 2)
        fabric.until(lambda: sent() == 10)
        time.sleep(2 * AGAIN / 1000)
        self.assertEqual(10, sent())


class Errors(Asking):
    """... whose packets are all that come from the second one"""
    of_the_model = (2,)

    def thresholds(self):
        """Of the switch's port to the second host: one error of each kind is not told"""
        self.set_port(SWITCH, 2, phy_errors=1, overrun_errors=1)

    def errors(self, number, detail, **excessive):
        self.counts(self.switch, 2, PORT_COUNTERS, rcv_errors=number, **excessive)
        self.counts(self.switch, 2, RCV_ERROR_DETAILS, **{detail: number})

    def test_integrity(self):
        """LocalLinkIntegrityErrors: a good packet makes up for a bad one"""
        self.thresholds()
        self.fault("h2 1 crc nth 2")
        for _ in range(2):
            self.ask_second()
            self.ask_second(status=LOST)
        self.errors(2, "physical", integrity=0, overruns=0)
        self.not_told()
        self.fault("h2 1 crc nth 1")
        self.ask_second(status=LOST)
        self.told(INTEGRITY, self.switch, PORT, lid=self.switch, port=2)
        self.errors(3, "physical", integrity=1, overruns=0)
        # It begins to count anew
        self.ask_second(status=LOST)
        self.errors(4, "physical", integrity=1, overruns=0)

    def test_overruns(self):
        """ExcessiveBufferOverrunErrors are errors in a row"""
        self.thresholds()
        self.fault("h2 1 overrun nth 1")
        self.ask_second(status=LOST)
        self.fault("h2 1 overrun off")
        self.ask_second(2)
        self.fault("h2 1 overrun nth 1")
        self.ask_second(status=LOST)
        self.errors(2, "overrun", integrity=0, overruns=0)
        self.not_told()
        self.ask_second(status=LOST)
        self.told(OVERRUN, self.switch, PORT, lid=self.switch, port=2)
        self.errors(3, "overrun", integrity=0, overruns=1)

    def test_flow_control(self):
        self.fault("h2 1 flow nth 1")
        self.ask_second(status=LOST)
        self.told(FLOW, self.switch, PORT, lid=self.switch, port=2)
        self.counts(self.switch, 2, PORT_COUNTERS, link_recoveries=1)

    def test_symbol_errors(self):
        """An error that loses no packet is counted, and not told"""
        self.fault("h2 1 symbol nth 1")
        self.ask_second()
        self.counts(self.switch, 2, PORT_COUNTERS, symbol_errors=1, rcv_errors=0)
        self.not_told()

    def test_discards(self):
        """What a port drops it has not sent"""
        sent = self.get(2, PORT_COUNTERS, port=1).xmit_pkts
        self.fault("h2 1 drop nth 1")
        self.ask_second(status=LOST)
        self.fault("h2 1 drop off")
        # The response that told the number before
        self.counts(2, 1, PORT_COUNTERS, xmit_pkts=sent + 1, xmit_discards=1)
        self.counts(2, 1, XMIT_DISCARD_DETAILS, hoq_life_time=1)
        self.not_told()


class Manager(Told):
    """Nothing is left to be told of when it begins"""

    def setUp(self):
        super().setUp()
        # Links of the switch came up with the fabric
        self.heard(self.switch, LINK_STATE)

    def test_link(self):
        """A switch tells of it, and again, until it is told that it was heard"""
        self.fault("h2 1 link down")
        first, again = (self.told(LINK_STATE, self.switch, LINK, lid=self.switch)[0]
                        for _ in range(2))
        self.assertEqual(first.agent, self.traps.agents[fabric.SM])
        self.assertEqual(first.mad, again.mad)
        self.heard(self.switch, LINK_STATE)
        self.silence()

    def test_host(self):
        """Its IsSM bit, and its description"""
        issm = os.open(f"/dev/infiniband/issm{self.umad(2)}", os.O_RDWR)
        for is_sm in IS_SM, 0:
            _, data = self.told(LOCAL_CHANGE, 2, HOST, lid=2, local=0, changes=0)
            self.assertEqual(is_sm, data.cap_mask & IS_SM)
            self.heard(2, LOCAL_CHANGE)
            if is_sm:
                os.close(issm)
        self.describe(2, "another")
        self.told(LOCAL_CHANGE, 2, HOST, lid=2, local=1, changes=1)
        self.heard(2, LOCAL_CHANGE)
        self.silence()
        self.assertEqual(b"another", self.get(2, NODE_DESC)[:7])

    def protect(self, level, lease=0):
        """The second host. @lease: seconds after which it can be taken over"""
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
        self.protect(2, lease=LEASE)
        self.intrude()
        self.ask_with(KEY)
        time.sleep(LEASE + 1)
        self.intrude()
        # The owner was there in time, and now is not
        time.sleep(LEASE + 1)
        self.ask_with(WRONG, mkey=KEY, mkey_protect=0)
        # A Set needs it still
        self.intrude()
        self.set(SECOND, PKEY_TABLE, 0, self.get(SECOND, PKEY_TABLE))

    def test_notice(self):
        """Which request it was, by which route"""
        self.protect(1)
        self.intrude()
        self.told(BAD_MKEY, 2, MKEY, lid=2, dr_slid=fabric.PERMISSIVE, method=fabric.SET,
                  attribute=PKEY_TABLE.number, mkey=WRONG, hops=2, hop1=1, hop2=1)
        self.heard(2, BAD_MKEY)
        self.silence()


if __name__ == "__main__":
    fabric.main()
