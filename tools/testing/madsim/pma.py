#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The agents of performance management: each counter can be set and read, stops at its end,
and counts what it is for. So do samples of them, between two moments
"""

import errno
import os
import time

import fabric
from fabric import (ACTIVE, ARMED, BAD_VERSION, CLASS_PORT_INFO, HERE, INVALID, LINEAR_FWD,
                    LOST, MCAST_FWD, NODE_INFO, PERF, PKEY_TABLE, PORT_COUNTERS,
                    PORT_COUNTERS_EXT, RCV_ERROR_DETAILS, SL_TO_VL, SWITCH, SWITCH_INFO,
                    UNSUPPORTED, VL_ARB, XMIT_DISCARD_DETAILS, Attribute)

ALL_PORTS = 255
NOWHERE = 6     # a LID that no port has

ERRORS = ["symbol_errors", "link_recoveries", "link_downed", "rcv_errors", "rcv_remote",
          "relay_errors", "xmit_discards", "xmit_constraint", "rcv_constraint", "integrity",
          "overruns", "vl15_dropped"]
# By their bits of CounterSelect, and from bit 16 on of CounterSelect2
SELECT = {
    PORT_COUNTERS: ERRORS + ["xmit_data", "rcv_data", "xmit_pkts", "rcv_pkts", "xmit_wait",
                             "qp1_dropped"],
    PORT_COUNTERS_EXT: ["xmit_data", "rcv_data", "xmit_pkts", "rcv_pkts", "xmit_ucast",
                        "rcv_ucast", "xmit_mcast", "rcv_mcast"] + [None] * 8 + ERRORS +
                       ["xmit_wait", "qp1_dropped"],
    RCV_ERROR_DETAILS: ["physical", "malformed", "overrun", "dlid_mapping", "vl_mapping",
                        "looping"],
    XMIT_DISCARD_DETAILS: ["inactive", "neighbor_mtu", "life_time", "hoq_life_time"],
}
COUNTERS = [(attribute, name) for attribute, names in SELECT.items() for name in names if name]

# As perfquery calls them, in the order of COUNTERS
NAMES = dict(zip((
    "SymbolErrorCounter LinkErrorRecoveryCounter LinkDownedCounter PortRcvErrors "
    "PortRcvRemotePhysicalErrors PortRcvSwitchRelayErrors PortXmitDiscards "
    "PortXmitConstraintErrors PortRcvConstraintErrors LocalLinkIntegrityErrors "
    "ExcessiveBufferOverrunErrors VL15Dropped PortXmitData PortRcvData PortXmitPkts PortRcvPkts "
    "PortXmitWait QP1Dropped PortUnicastXmitPkts PortUnicastRcvPkts PortMulticastXmitPkts "
    "PortMulticastRcvPkts PortLocalPhysicalErrors PortMalformedPacketErrors "
    "PortBufferOverrunErrors PortDLIDMappingErrors PortVLMappingErrors PortLoopingErrors "
    "PortInactiveDiscards PortNeighborMTUDiscards PortSwLifetimeLimitDiscards "
    "PortSwHOQLifetimeLimitDiscards").split(), dict.fromkeys(name for _, name in COUNTERS)))

# By their values in CounterSelect, from 1 on
QUANTITIES = "xmit_data", "rcv_data", "xmit_pkts", "rcv_pkts", "xmit_wait"
CONTROL = Attribute(PERF, 0x10, """
    :8 port:8 tick:8 :5 width:3 masks:32 :24 status:8 :128 start:32 interval:32 tag:16 """ +
                    " ".join(f"select{i}:16" for i in range(1, 6)))
RESULT = Attribute(PERF, 0x11, "tag:16 :14 status:2 " +
                   " ".join(f"{name}:32" for name in QUANTITIES))

DONE, WAITS, COUNTS = range(3)
PACKETS, WORDS = 8, 72


class Pma(fabric.Test):
    """The first of three hosts asks the others' agents, and that of the switch"""
    hosts = 3

    def put(self, lid, port, attribute, name, value):
        bit = 1 << SELECT[attribute].index(name)
        select2 = {"select2": bit >> 16} if bit >> 16 else {}
        self.set(lid, attribute, port=port, select=bit, **select2, **{name: value})

    def test_each_counter_is_set_by_itself(self):
        """On a port without a cable, where nothing counts in between"""
        want = dict.fromkeys(COUNTERS, 0)
        where = self.switch, self.spare

        def compare(after):
            for attribute in SELECT:
                self.counts(*where, attribute, f"after {after}", **{
                    name: value for (of, name), value in want.items() if of == attribute})

        compare("nothing")
        for i, (attribute, name) in enumerate(COUNTERS):
            # A value of its own for each, with the highest bit
            bits = attribute.fields[name][1]
            want[attribute, name] = 1 << (bits - 1) | (i % 6 if bits == 4 else i)
            self.put(*where, attribute, name, want[attribute, name])
            compare(name)
        # As perfquery clears them
        for attribute in SELECT:
            select2 = {"select2": 0xffff} if "select2" in attribute.fields else {}
            self.set(self.switch, attribute, port=self.spare, select=0xffff, **select2)
        want = dict.fromkeys(COUNTERS, 0)
        compare("all of them")

    def test_counters_at_will(self):
        """A command sets a counter in all attributes that have it, and no other one"""
        where = self.switch, self.spare
        want = dict.fromkeys(COUNTERS, 0)
        for name, field in NAMES.items():
            self.fault(f"s1 {self.spare} set {name} 0x1234567890a")
            self.put(*where, *next(of for of in COUNTERS if of[1] == field), 5)
            self.fault(f"s1 {self.spare} set {name} {0x1234567890b}")
            for attribute in SELECT:
                if (attribute, field) in want:
                    most = (1 << attribute.fields[field][1]) - 1
                    want[attribute, field] = min(0x1234567890b, most)
                self.counts(*where, attribute, f"after {name}", **{
                    name: value for (of, name), value in want.items() if of == attribute})
        for name in NAMES:
            self.fault(f"s1 {self.spare} set {name} 0")
        for attribute in SELECT:
            self.counts(*where, attribute, **{name: 0 for of, name in COUNTERS if of == attribute})
        for wrong in ("set", "set PortXmitWait", "set PortXmitWait -1", "set PortXmitWait 1 2",
                      "set portxmitwait 1", "set PortSelect 1",
                      "set PortXmitWait 0x10000000000000000", "rate", "rate PortXmitWait",
                      "rate PortXmitWait x", "rate PortXmitWait 4294967296", "rate nothing 1"):
            self.fails(errno.EINVAL, self.fault, f"s1 {self.spare} {wrong}")

    def test_sysfs_shows_what_is_set(self):
        path = f"/sys/class/infiniband/{self.device(2)}/ports/1"
        self.fault("h2 1 set PortXmitWait 70000", "h2 1 set PortLoopingErrors 17")
        self.assertEqual("70000", fabric.read(f"{path}/counters/port_xmit_wait"))
        fabric.until(lambda: fabric.read(f"{path}/hw_counters/looping_errors") == "17")

    def test_rates(self):
        """So many a second between two moments, which are about these"""
        def waits():
            begin = time.monotonic()
            wait = self.get(self.switch, PORT_COUNTERS_EXT, port=self.spare).xmit_wait
            return begin, wait, time.monotonic()

        self.fault(f"s1 {self.spare} set PortXmitWait 10")
        begin = time.monotonic()
        self.fault(f"s1 {self.spare} rate PortXmitWait 100000")
        since = time.monotonic()
        self.assertIn(f"s1 {self.spare} rate PortXmitWait 100000",
                      fabric.read(f"{fabric.FABRIC}/faults").splitlines())
        for pause in 0.01, 0.2:
            time.sleep(pause)
            before, wait, after = waits()
            # A clock of milliseconds is behind by one at most
            self.assertLessEqual(wait, 10 + 100000 * (after - begin + 0.001))
            self.assertGreaterEqual(wait, 10 + 100000 * (before - since - 0.001))
        # It ends, and has told of all that it was, also behind the last read
        time.sleep(0.2)
        end = time.monotonic()
        self.fault(f"s1 {self.spare} rate PortXmitWait 0")
        last = waits()[1]
        self.assertGreaterEqual(last, 10 + 100000 * (end - since - 0.001))
        time.sleep(0.01)
        self.counts(self.switch, self.spare, PORT_COUNTERS_EXT, xmit_wait=last)
        self.counts(self.switch, self.spare, PORT_COUNTERS, xmit_wait=last)
        # Without power nothing counts
        self.fault("h2 1 rate SymbolErrorCounter 1000", "h2 unplug")
        time.sleep(0.1)
        self.fault("h2 1 clear", "h2 plug")
        self.activate(2)
        self.counts(2, 1, PORT_COUNTERS, symbol_errors=0)

    def test_waits(self):
        """A port waits while it delays packets. Two at a time are no longer than one"""
        def wait():
            waited = self.get(1, PORT_COUNTERS_EXT, port=1).xmit_wait
            self.counts(1, 1, PORT_COUNTERS, xmit_wait=waited)
            return waited

        self.assertEqual(0, wait())
        self.fault("h1 1 delay_ms 100", "h1 1 delay nth 1")
        self.get(2, CLASS_PORT_INFO)
        once = wait()
        # A tick of the kernel more at most, of 100 a second
        self.assertIn(once, range(ticks(100), ticks(110) + 1))
        for _ in range(8):
            self.client.send(self.packet(2, fabric.GET, CLASS_PORT_INFO))
        for _ in range(8):
            self.assertNotEqual(LOST, self.client.receive())
        self.fault("h1 1 clear")
        self.assertIn(wait() - once, range(ticks(100), ticks(210)))

    def test_counters_stop(self):
        """A counter that is at its end stays there"""
        self.put(self.switch, 2, PORT_COUNTERS, "xmit_pkts", 0xfffffffe)
        self.put(self.switch, 2, PORT_COUNTERS, "xmit_data", 0xfffffff0)
        self.put(self.switch, 2, PORT_COUNTERS, "link_downed", 254)
        for _ in range(4):
            self.get(2, CLASS_PORT_INFO)
        self.counts(self.switch, 2, PORT_COUNTERS, xmit_pkts=0xffffffff, xmit_data=0xffffffff)
        for _ in range(3):
            self.fault("h2 1 link down", "h2 1 link up")
        self.counts(self.switch, 2, PORT_COUNTERS, link_downed=255)
        self.counts(self.switch, 2, PORT_COUNTERS_EXT, link_downed=3)

    def test_all_ports_together(self):
        for port, downed, symbol in (2, 1, 0xfff0), (4, 2, 0x0010):
            self.put(self.switch, port, PORT_COUNTERS, "link_downed", downed)
            self.put(self.switch, port, PORT_COUNTERS, "symbol_errors", symbol)
        self.put(self.switch, ALL_PORTS, PORT_COUNTERS, "overruns", 3)
        self.counts(self.switch, ALL_PORTS, PORT_COUNTERS, link_downed=3, symbol_errors=0xffff,
                    overruns=12)
        self.counts(self.switch, 1, PORT_COUNTERS, overruns=3)

    def test_details_of_relay_errors(self):
        def are(relay, **details):
            self.counts(self.switch, 1, PORT_COUNTERS, relay_errors=relay)
            self.counts(self.switch, 1, RCV_ERROR_DETAILS, **details)

        are(0, dlid_mapping=0, looping=0)
        self.get(NOWHERE, CLASS_PORT_INFO, status=LOST)
        are(1, dlid_mapping=1, looping=0)
        # Back by where it came from
        self.lead(3, 1)
        self.get(3, CLASS_PORT_INFO, status=LOST)
        are(2, dlid_mapping=1, looping=1)

    def lead(self, lid, port):
        """The switch sends what is for a LID to this port"""
        table = self.get(SWITCH, LINEAR_FWD)
        table[lid] = port
        self.set(SWITCH, LINEAR_FWD, 0, table)

    def test_details_of_discards_and_receive_errors(self):
        def lost_as(discards, inactive):
            self.get(2, CLASS_PORT_INFO, status=LOST)
            self.counts(self.switch, 2, PORT_COUNTERS, xmit_discards=discards)
            self.counts(self.switch, 2, XMIT_DISCARD_DETAILS, inactive=inactive)

        # The link has trained, and is not active
        self.fault("h2 1 link down", "h2 1 link up")
        lost_as(1, 1)
        # ARMED is for what comes in
        self.set_port(SWITCH, 2, state=ARMED)
        lost_as(2, 2)
        # The switch sends, and the host is not ready
        self.set_port(SWITCH, 2, state=ACTIVE)
        lost_as(2, 2)
        for state in ARMED, ACTIVE:
            self.set_port(fabric.SECOND, 1, lid=2, sm_lid=1, state=state)
        self.counts(2, 1, PORT_COUNTERS, rcv_errors=1)
        self.counts(2, 1, RCV_ERROR_DETAILS, malformed=1)

    def test_circles_end(self):
        """Unicast or multicast, what runs in a circle ends at a port, and that one counts it"""
        def sent(port):
            return self.get(self.switch, PORT_COUNTERS, port=port).xmit_pkts

        def ended(port, times):
            self.counts(self.switch, port, XMIT_DISCARD_DETAILS, life_time=times)

        # The third host leaves its port, whose cable to the spare one makes a loop
        fabric.put("unlink", "h3 1")
        fabric.put("link", "s1 3 s1 4")
        for state in ARMED, ACTIVE:
            for port in 3, 4:
                self.set_port(SWITCH, port, state=state)
        self.lead(3, 3)
        before = sent(3)
        # In at 4, out by 3
        self.get(3, CLASS_PORT_INFO, status=LOST)
        ended(4, 0)
        ended(3, 1)
        self.counts(self.switch, 3, PORT_COUNTERS, xmit_discards=1)
        self.assertLess(before + 64, sent(3))
        # Both ways round. There are as many copies as there are ends: four
        self.set(SWITCH, MCAST_FWD, 0, (1 << 3 | 1 << 4).to_bytes(2, "big"))
        before = sent(3) + sent(4)
        self.get(0xc000, CLASS_PORT_INFO, status=LOST)
        self.assertEqual(before + 4, sent(3) + sent(4))
        ended(4, 1)
        ended(3, 2)

    def test_counters_start_anew(self):
        """Power takes counters along"""
        for attribute in PORT_COUNTERS, PORT_COUNTERS_EXT:
            self.put(2, 1, attribute, "symbol_errors", 7)
            self.counts(2, 1, attribute, symbol_errors=7)
        self.power("h2")
        self.activate(2)
        self.counts(2, 1, PORT_COUNTERS, symbol_errors=0, link_downed=0)
        self.counts(2, 1, PORT_COUNTERS_EXT, symbol_errors=0)

    def ask_by_sl(self, sl, status=0):
        self.get(2, CLASS_PORT_INFO, to={"sl": sl}, status=status)

    def test_virtual_lanes(self):
        """An SL that maps to VL15, or to a VL that is not in operation, leads nowhere"""
        def dropped(errors):
            self.counts(self.switch, 1, PORT_COUNTERS, relay_errors=errors)
            self.counts(self.switch, 1, RCV_ERROR_DETAILS, vl_mapping=errors)

        sl_to_vl = self.get(SWITCH, SL_TO_VL, 1 << 8 | 2)
        self.assertEqual(b"\x01\x23", sl_to_vl[:2])
        sl_to_vl[1] |= 0x0f
        self.set(SWITCH, SL_TO_VL, 1 << 8 | 2, sl_to_vl)
        self.ask_by_sl(2)
        self.ask_by_sl(0xf2)
        dropped(0)
        self.ask_by_sl(3, LOST)
        dropped(1)
        # VL0 and VL1 alone
        self.set_port(SWITCH, 2, oper_vls=2)
        self.ask_by_sl(1)
        self.ask_by_sl(2, LOST)
        dropped(2)
        # It does not even leave the host
        sl_to_vl = self.get(HERE, SL_TO_VL)
        sl_to_vl[0] |= 0x0f
        self.set(HERE, SL_TO_VL, 0, sl_to_vl)
        self.ask_by_sl(1, LOST)
        self.ask_by_sl(0)
        dropped(2)

    def test_partitions_at_a_switch(self):
        def enforce(way_in, out, pkey, status):
            """What the switch is to check at the port of the second host"""
            enforcement = way_in << 1 | out
            self.set(SWITCH, PKEY_TABLE, 2 << 16, first=pkey)
            self.assertEqual(enforcement,
                             self.set_port(SWITCH, 2, oper_vls=0, enforce=enforcement).enforce)
            self.ask_by_sl(0, status)

        self.expect(self.get(SWITCH, SWITCH_INFO), enforcement_cap=32, enforce_in=1, enforce_out=1)
        # There the switch neither sends nor takes packets of another partition
        enforce(0, 1, 0x8001, LOST)
        self.counts(self.switch, 2, PORT_COUNTERS, xmit_constraint=1, rcv_constraint=0)
        enforce(1, 0, 0x8001, LOST)
        self.counts(self.switch, 2, PORT_COUNTERS, xmit_constraint=1, rcv_constraint=1)
        # A limited member of the same partition, and no check at all
        enforce(1, 1, 0x7fff, 0)
        enforce(0, 0, 0x8001, 0)
        self.counts(self.switch, 2, PORT_COUNTERS, xmit_constraint=1, rcv_constraint=1)

    def test_promises(self):
        """AllPortSelect, extended width, PortXmitWait, QP1Dropped; the errors, too, have 64
        bits"""
        self.expect(self.get(self.switch, CLASS_PORT_INFO),
                    cap_mask=1 << 8 | 1 << 9 | 1 << 12 | 1 << 15, cap_mask2=1 << 1)

    def test_refused(self):
        """Ports that there are not, what cannot be set, and another version of the class"""
        for port in 0, 2:
            self.get(2, PORT_COUNTERS, port=port, status=INVALID)
        self.set(self.switch, PORT_COUNTERS, port=self.spare + 1, status=INVALID)
        self.get(self.switch, PORT_COUNTERS, port=0)
        self.set(self.switch, CLASS_PORT_INFO, status=UNSUPPORTED)
        self.get(self.switch, fabric.Attribute(fabric.PERF, 0x17), status=UNSUPPORTED)
        self.get(self.switch, CLASS_PORT_INFO, mad={"class_version": 2}, status=BAD_VERSION)

    def test_refused_attributes(self):
        """A fault: one attribute is refused, and sysfs has nothing to show of it"""
        counters = f"/sys/class/infiniband/{self.device(2)}/ports/1/counters"
        vl_arb = 2, VL_ARB, 1 << 16
        self.get(*vl_arb)
        self.fault("h2 refuse performance 0x1d", "h2 refuse subnet 0x18",
                   "h2 refuse congestion 0x11")
        self.get(2, PORT_COUNTERS_EXT, port=1, status=UNSUPPORTED)
        self.fails(errno.EINVAL, fabric.read, f"{counters}/port_xmit_data")
        for where in 2, fabric.SECOND:
            self.get(where, *vl_arb[1:], status=UNSUPPORTED)
        self.set(2, fabric.Attribute(fabric.CC, 0x11), status=UNSUPPORTED)
        self.assertEqual([f"h2 refuse {what} injected {times}" for what, times in (
                              ("subnet 0x18", 2), ("performance 0x1d", 2), ("congestion 0x11", 1))],
                         fabric.read(f"{fabric.FABRIC}/faults").splitlines())
        # The others, and another node, answer
        self.get(2, PORT_COUNTERS, port=1)
        fabric.read(f"{counters}/symbol_error")
        self.get(3, PORT_COUNTERS_EXT, port=1)
        self.fault("h2 refuse performance 0x1d off", "h2 refuse subnet 0x18 off",
                   "h2 refuse congestion 0x11 off")
        self.get(2, PORT_COUNTERS_EXT, port=1)
        self.get(*vl_arb)
        fabric.read(f"{counters}/port_xmit_data")
        self.assertEqual("", fabric.read(f"{fabric.FABRIC}/faults"))

    def test_hw_counters(self):
        """sysfs has the details of errors, and the name of a board, without which exporters fail"""
        path = f"/sys/class/infiniband/{self.device(2)}"
        self.assertEqual("madsim", fabric.read(f"{path}/board_id"))
        path += "/ports/1/hw_counters"
        names = set(os.listdir(path)) - {"lifespan"}
        self.assertEqual(10, len(names))
        self.fault("s1 2 crc nth 1")
        self.get(2, CLASS_PORT_INFO, status=LOST)
        # What was read not long ago is shown again
        fabric.until(lambda: fabric.read(f"{path}/local_physical_errors") == "1")
        for name in names - {"local_physical_errors"}:
            self.assertEqual("0", fabric.read(f"{path}/{name}"), name)

    def test_nothing_of_the_request(self):
        """Nothing of what a request has where the response has nothing comes back"""
        got = self.get(self.switch, PORT_COUNTERS, 0, b"\xa5" * 192, port=1)
        self.assertEqual((0, 1, bytes(148)), (got[0], got.port, got[44:]))

    def gid_of_switch(self):
        return self.gid(1) >> 64 << 64 | self.get(SWITCH, NODE_INFO).port_guid

    def test_grh_of_somebody_else(self):
        """The LID leads to the switch, and the GRH has to be for it, too"""
        gid = self.gid_of_switch()
        answer = self.client.exchange(self.packet(self.switch, fabric.GET, CLASS_PORT_INFO,
                                                  to={"grh_present": 1, "gid": gid}))
        self.expect(answer.to, grh_present=1, gid=gid)
        # Another prefix, and another GUID
        for other in gid ^ 1 << 64, gid ^ 1:
            self.get(self.switch, CLASS_PORT_INFO, to={"grh_present": 1, "gid": other}, status=LOST)

    def test_multicasts(self):
        """The sender counts them as such, and so does the receiver"""
        sent = self.get(1, PORT_COUNTERS_EXT, port=1).xmit_mcast
        received = self.get(self.switch, PORT_COUNTERS_EXT, port=1).rcv_mcast
        self.get(0xc010, CLASS_PORT_INFO, status=LOST,
                 to={"qpn": 0xffffff, "grh_present": 1, "gid": 0xff << 120})
        self.counts(1, 1, PORT_COUNTERS_EXT, xmit_mcast=sent + 1)
        self.counts(self.switch, 1, PORT_COUNTERS_EXT, rcv_mcast=received + 1)

    def test_grh_counts(self):
        """A packet is longer by the 40 bytes of its GRH"""
        gid = self.gid_of_switch()
        for grh in 0, 1:
            before = self.get(self.switch, PORT_COUNTERS_EXT, port=1).rcv_data
            self.get(self.switch, CLASS_PORT_INFO, to={"grh_present": grh, "gid": gid})
            # 72 words, and as many of the second of the requests for the counter
            self.counts(self.switch, 1, PORT_COUNTERS_EXT, rcv_data=before + 144 + 10 * grh)


def ticks(milliseconds):
    return milliseconds * 1000000 // 1024


AN_HOUR = ticks(3600 * 1000)


class Samples(fabric.Test):
    """PortSamplesControl and PortSamplesResult"""

    def sample(self, lid, port, start, interval, tag, **more):
        """Each quantity has a counter"""
        return self.set(lid, CONTROL, port=port, start=start, interval=interval, tag=tag,
                        **{f"select{i}": i for i in range(1, 6)}, **more)

    def result(self, lid):
        return self.get(lid, RESULT, 0, b"\xff" * 192)

    def test_at_first(self):
        """What an agent offers, and what it has before it was asked for a sample"""
        # Five counters, which all can count what is mandatory
        self.assertEqual(CONTROL.data(port=2, tick=255, width=4, masks=0o11111 << 15),
                         self.get(self.switch, CONTROL, 0, b"\xff" * 192, port=2))
        self.assertEqual(bytes(192), self.result(self.switch))

    def packets(self, port):
        """Packets to the second host while this port of the switch is sampled, for so long
        that the last one has come back before"""
        milliseconds, result = 8, RESULT.data()
        while result.status != COUNTS:
            self.assertEqual(DONE, result.status)
            self.expect(self.sample(self.switch, port, 0, ticks(milliseconds), milliseconds),
                        port=port, interval=ticks(milliseconds))
            for _ in range(PACKETS):
                self.get(2, CLASS_PORT_INFO)
            result = self.result(self.switch)
            tag, milliseconds = milliseconds, milliseconds * 2
        self.assertEqual(bytes(20), result[4:24])
        while result.status:
            time.sleep(0.001)
            result = self.result(self.switch)
            self.assertEqual(tag, result.tag)
        return result

    def test_counts_in_between(self):
        # No other packets go by that port
        result = self.packets(2)
        self.expect(result, xmit_data=PACKETS * WORDS, rcv_data=PACKETS * WORDS,
                    xmit_pkts=PACKETS, rcv_pkts=PACKETS, xmit_wait=0)
        # What comes later is not of it
        self.get(2, CLASS_PORT_INFO)
        self.assertEqual(result, self.result(self.switch))

    def test_what_is_set_is_not_counted(self):
        """Neither more nor less, and what a rate adds is"""
        self.fault(f"s1 {self.spare} set PortXmitWait 1000",
                   f"s1 {self.spare} rate PortRcvPkts 100000")
        self.sample(self.switch, ALL_PORTS, 0, ticks(400), 7)
        result = RESULT.data()
        while result.status != COUNTS:
            result = self.result(self.switch)
        for value in 70000, 10:
            self.fault(f"s1 {self.spare} set PortXmitWait {value}")
        while result.status:
            time.sleep(0.01)
            result = self.result(self.switch)
        self.expect(result, xmit_wait=0, tag=7)
        self.assertLess(0, result.rcv_pkts)

    def test_all_ports(self):
        """In by one port and out by another, and the answer likewise"""
        result = self.packets(ALL_PORTS)
        self.assertLessEqual(2 * PACKETS, result.xmit_pkts)
        self.assertLessEqual(2 * PACKETS, result.rcv_pkts)

    def test_one_at_a_time(self):
        """The answer to a second Set has the values of the first, until its sample is over"""
        self.expect(self.sample(2, 1, AN_HOUR, 5, 1), status=WAITS)
        self.expect(self.sample(2, 1, 0, 0, 2), status=WAITS, start=AN_HOUR, interval=5, tag=1)
        self.expect(self.result(2), status=WAITS, tag=1)
        # A node without power forgets
        self.power("h2")
        self.activate(2)
        self.expect(self.result(2), status=DONE, tag=0)
        # Of no length: over at once, and the next one may come
        self.expect(self.sample(2, 1, 0, 0, 3), status=DONE)
        self.expect(self.sample(2, 1, 0, AN_HOUR, 4), status=COUNTS, tag=4)

    def test_refused_sample(self):
        """Ports, quantities and mechanisms that there are not: nothing is begun"""
        self.sample(self.switch, self.spare + 1, 0, AN_HOUR, 1, status=INVALID)
        self.sample(2, 0, 0, AN_HOUR, 1, status=INVALID)
        values = {"port": 1, "interval": AN_HOUR, "status": INVALID}
        self.set(self.switch, CONTROL, select1=len(QUANTITIES) + 1, **values)
        self.set(self.switch, CONTROL, 1, select1=1, **values)
        self.get(self.switch, RESULT, 1, status=INVALID)
        self.set(self.switch, RESULT, status=UNSUPPORTED)
        self.expect(self.result(self.switch), status=DONE)


if __name__ == "__main__":
    fabric.main()
