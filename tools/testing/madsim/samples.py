#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""PortSamplesControl and PortSamplesResult: what is counted between two moments, and by
whom an agent lets itself be told to do that
"""

import time

import fabric
from fabric import ACTIVE, ARMED, CLASS_PORT_INFO, INVALID, PERF, UNSUPPORTED, Attribute

# By their values in CounterSelect, from 1 on
QUANTITIES = "xmit_data", "rcv_data", "xmit_pkts", "rcv_pkts", "xmit_wait"
CONTROL = Attribute(PERF, 0x10, """
    :8 port:8 tick:8 :5 width:3 masks:32 :24 status:8 :128 start:32 interval:32 tag:16 """ +
                    " ".join(f"select{i}:16" for i in range(1, 6)))
RESULT = Attribute(PERF, 0x11, "tag:16 :14 status:2 " +
                   " ".join(f"{name}:32" for name in QUANTITIES))

ALL_PORTS = 255
DONE, WAITS, COUNTS = range(3)
PACKETS, WORDS = 8, 72


def ticks(milliseconds):
    return milliseconds * 1000000 // 1024


AN_HOUR = ticks(3600 * 1000)


class Samples(fabric.Test):
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
        for state in ARMED, ACTIVE:
            self.set_host(2, state)
        self.expect(self.result(2), status=DONE, tag=0)
        # Of no length: over at once, and the next one may come
        self.expect(self.sample(2, 1, 0, 0, 3), status=DONE)
        self.expect(self.sample(2, 1, 0, AN_HOUR, 4), status=COUNTS, tag=4)

    def test_refused(self):
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
