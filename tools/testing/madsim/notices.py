#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What ports tell the subnet manager about packets that they drop: for their keys, or
because the link has errors. And what they count
"""

import time

import fabric
from fabric import (CLASS_PORT_INFO, LOST, NOTICE, PKEY_TABLE, PORT_COUNTERS,
                    RCV_ERROR_DETAILS, SECOND, SWITCH, TRAP, XMIT_DISCARD_DETAILS, Attribute)

LINK_STATE, INTEGRITY, OVERRUN, FLOW, LOCAL_CHANGE = 128, 129, 130, 131, 144
BAD_PKEY, SWITCH_PKEY = 257, 259
URGENT, SECURITY = 1, 2
FROM_HOST, FROM_SWITCH = 1, 2
SL = 3

# The details of a notice
HEAD = ":1 :7 :24 trap:16 :32 "
PORT = Attribute(fabric.SM, 0x02, HEAD + ":16 lid:16 port:8")
PACKET = "lid1:16 lid2:16 key:{} sl:4 :4 qp1:24 :8 qp2:24"
KEYS = Attribute(fabric.SM, 0x02, HEAD + ":16 " + PACKET.format(32))
SWITCH_KEYS = Attribute(fabric.SM, 0x02, HEAD + "valid:16 " + PACKET.format(16) +
                        " :256 sw_lid:16 sw_port:8")


class Notices(fabric.Test):
    """The first of three hosts is the subnet manager, and asks the second one"""
    hosts = 3

    def setUp(self):
        super().setUp()
        self.traps = self.open(1, methods=1 << TRAP)

    def ask_second(self, times=1, status=0):
        for _ in range(times):
            self.get(2, CLASS_PORT_INFO, to={"sl": SL}, status=status)

    def told(self, trap, issuer, details, **want):
        """The next notice, or the repetition of one before it"""
        data = NOTICE.data()
        while data.trap != trap:
            packet = self.traps.receive()
            data = NOTICE.data(packet.mad[64:])
        self.expect(packet.mad, attr_id=NOTICE.number)
        self.expect(packet.to, lid=issuer)
        self.expect(data, generic=1, issuer=issuer,
                    type=SECURITY if trap in (BAD_PKEY, SWITCH_PKEY) else URGENT,
                    producer=FROM_SWITCH if issuer == self.switch else FROM_HOST)
        self.expect(details.data(packet.mad[64:]), **want)

    def not_told(self):
        """Nothing but that links have come up, which is repeated until it is repressed"""
        while self.traps.readable(0):
            self.assertEqual(LINK_STATE, NOTICE.data(self.traps.receive().mad[64:]).trap)

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

        def describe(host, text):
            with open(f"/sys/class/infiniband/{self.device(host)}/node_desc", "w",
                      encoding="utf-8") as file:
                file.write(text)

        sent()
        seen.clear()
        start = time.monotonic()
        describe(2, "news")
        fabric.until(lambda: sent() == 1)
        for i in range(20):
            describe(3, f"other news {i}")
            time.sleep(0.05)
        # A tick more or less, and the first one
        self.assertLessEqual(sent(), time.monotonic() - start + 2)
        time.sleep(15)
        self.assertEqual(10, sent())

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


if __name__ == "__main__":
    fabric.main()
