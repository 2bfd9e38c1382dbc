#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The agents of congestion control: which keys they answer to, and how a Set changes them"""

import time

import fabric
from fabric import BAD_VERSION, CC, GET, INVALID, LOST, UNSUPPORTED, Attribute

CLASS_PORT_INFO = Attribute(CC, 0x01, "base_version:8 class_version:8")
INFO = Attribute(CC, 0x11, ":16 table_blocks:8")
KEY_INFO = Attribute(CC, 0x12, "cc_key:64 protect:8 :8 lease:16 violations:16")
LOG = Attribute(CC, 0x13, "type:8 :24 switch_time:32 host_time:32", begin=32)
SWITCH_SETTING = Attribute(CC, 0x14, "map:32")
PORT_SETTING = Attribute(CC, 0x15)
CA_SETTING = Attribute(CC, 0x16, ":16 map:16")
TABLE = Attribute(CC, 0x17, "limit:16")
TIME = Attribute(CC, 0x18, "now:32")

KEY, OTHER = 0x0123456789abcdef, 1
# Seconds, in which an owner comes in time on a busy machine, too
LEASE = 10

# Which host or switch has it, how many bytes, and whether it can be set
HOST, SWITCH = "h", "s"
KNOWN = [
    (CLASS_PORT_INFO, HOST + SWITCH, 72, False),
    (INFO, HOST + SWITCH, 3, False),
    (KEY_INFO, HOST + SWITCH, 14, True),
    (LOG, HOST, 12, False),
    (LOG, SWITCH, 8, False),
    (SWITCH_SETTING, SWITCH, 76, True),
    (PORT_SETTING, SWITCH, 4 * 4, True),
    (CA_SETTING, HOST, 132, True),
    (TABLE, HOST, 132, True),
    (TIME, HOST + SWITCH, 4, False),
]


def fill(first):
    """Each byte another one, and none of them 0"""
    return bytes(1 + (first + i) % 255 for i in range(192))


class Cc(fabric.Test):
    def setUp(self):
        super().setUp()
        self.lids = {HOST: 2, SWITCH: self.switch}

    def info(self, key, status=0):
        """An attribute of each agent, which no request without the key gets"""
        self.get(2, INFO, mad={"key": key}, status=status)

    def key_get(self, key):
        return self.get(2, KEY_INFO, mad={"key": key})

    def key_is(self, key, **want):
        self.expect(self.key_get(key), **want)

    def key_set(self, key, status=0, **values):
        """@key goes with the request, cc_key into the agent"""
        self.set(2, KEY_INFO, mad={"key": key}, status=status, **{"cc_key": KEY, **values})

    def test_not_there(self):
        """Which attributes there are where, and which can be set"""
        unknown = [(Attribute(CC, number), "", 0, False) for number in (0x02, 0x10, 0x19)]
        for where, lid in self.lids.items():
            there = {attribute: settable for attribute, places, _, settable in KNOWN
                     if where in places}
            for attribute, *_ in KNOWN + unknown:
                self.get(lid, attribute, status=0 if attribute in there else UNSUPPORTED)
                self.set(lid, attribute, status=0 if there.get(attribute) else UNSUPPORTED)
        self.get(2, INFO, mad={"class_version": 1}, status=BAD_VERSION)

    def test_nothing_of_the_request(self):
        """Nothing of what a request has where the response has nothing comes back"""
        for attribute, places, size, _ in KNOWN:
            packet = self.packet(self.lids[places[0]], GET, attribute)
            packet.mad[32:] = fill(0)[:32] + fill(32)
            mad = self.client.exchange(packet).mad
            end = attribute.begin + size
            self.assertEqual((0, bytes(attribute.begin - 32), bytes(256 - end)),
                             (mad.status, mad[32:attribute.begin], mad[end:]),
                             f"attribute {attribute.number:#x}")

    def test_capabilities(self):
        """What a manager asks first: the version, and the room in the tables"""
        self.expect(self.get(2, CLASS_PORT_INFO), base_version=1, class_version=2)
        self.expect(self.get(2, INFO), table_blocks=2)
        self.expect(self.get(self.switch, INFO), table_blocks=0)
        log = self.get(2, LOG)
        self.expect(log, type=2)
        self.assertNotEqual(0, log.host_time)
        log = self.get(self.switch, LOG)
        self.expect(log, type=1)
        self.assertNotEqual(0, log.switch_time)
        self.assertNotEqual(0, self.get(2, TIME).now)

    def test_key(self):
        """A request without the CC_Key gets no answer, and is counted"""
        self.key_set(OTHER, lease=3, violations=1)
        self.info(KEY)
        for key in OTHER, 0:
            self.info(key, LOST)
        self.key_set(OTHER, LOST)
        self.set(2, CA_SETTING, status=LOST)
        # Each port has a key of its own
        self.get(self.switch, INFO, mad={"key": OTHER})
        self.key_is(KEY, cc_key=KEY, protect=0, lease=3, violations=4)
        # Nothing but 0 can be written into the counter
        for value, then in (77, 4), (0, 0):
            self.key_set(KEY, violations=value)
            self.key_is(KEY, violations=then)
        # And none is needed when the key is 0
        self.key_set(KEY, cc_key=0)
        self.info(OTHER)

    def test_key_protected(self):
        """Each request can read the key, unless it is protected"""
        self.key_set(0)
        self.key_is(OTHER, cc_key=KEY)
        self.key_set(KEY, protect=0xff)
        self.key_is(OTHER, cc_key=0, protect=0x80, violations=0)
        self.key_is(KEY, cc_key=KEY)

    def test_lease(self):
        """... and that for the lease period only, from the first wrong key on"""
        self.key_set(0, protect=0x80, lease=LEASE)
        time.sleep(LEASE + 1)
        self.key_is(OTHER, protect=0x80)
        self.info(OTHER, LOST)
        fabric.until(lambda: not self.key_get(OTHER).protect)
        self.key_is(OTHER, cc_key=KEY)
        # A request with the key ends a lease
        self.key_set(KEY, protect=0x80, lease=LEASE)
        self.info(OTHER, LOST)
        self.info(KEY)
        time.sleep(LEASE + 1)
        self.key_is(OTHER, protect=0x80)

    def test_switch_setting(self):
        """ControlMap says what a Set changes"""
        want = SWITCH_SETTING.data()
        for bit, (begin, end) in enumerate([(4, 36), (36, 68), (68, 70), (70, 74), (74, 76)]):
            data = SWITCH_SETTING.data(fill(bit * 7), map=1 << bit)
            want.map = data.map
            want[begin:end] = data[begin:end]
            # Reserved
            want[68] &= 0xf0
            want[70] &= 0xf0
            want[71] = 0
            self.assertEqual(want, self.set(self.switch, SWITCH_SETTING, 0, data), f"bit {bit}")
            self.assertEqual(want, self.get(self.switch, SWITCH_SETTING), f"bit {bit}")

    def test_port_setting(self):
        """Four bytes for each port of a switch, port 0 included"""
        want = PORT_SETTING.data(fill(3)[:4 * (self.spare + 1)])
        self.assertEqual(want, self.set(self.switch, PORT_SETTING, 0, fill(3)))
        self.assertEqual(want, self.get(self.switch, PORT_SETTING))
        self.get(self.switch, PORT_SETTING, 1, status=INVALID)
        self.set(self.switch, PORT_SETTING, 1, status=INVALID)

    def test_ca_setting(self):
        """ControlMap says which service levels a Set is for"""
        want = CA_SETTING.data()
        for sl in range(16):
            data = CA_SETTING.data(fill(sl), map=1 << sl)
            at = 4 + 8 * sl
            want[:4] = data[:4]
            want[at:at + 8] = data[at:at + 8]
            self.set(2, CA_SETTING, 0, data)
            self.assertEqual(want, self.get(2, CA_SETTING), f"SL {sl}")

    def test_table(self):
        """Two blocks, and one limit"""
        first, second = (TABLE.data(bytes(4) + fill(seed)[:128], limit=limit)
                         for seed, limit in ((0, 63), (100, 127)))
        self.assertEqual(first, self.set(2, TABLE, 0, first))
        self.set(2, TABLE, 1, second)
        self.assertEqual(first.change(limit=127), self.get(2, TABLE))
        self.assertEqual(second, self.get(2, TABLE, 1))
        self.get(2, TABLE, 2, status=INVALID)
        self.set(2, TABLE, 0, second, limit=128, status=INVALID)

    def test_power(self):
        """Each attribute is as after power-on when the power has come back"""
        known = [(self.lids[places[0]], attribute) for attribute, places, _, settable in KNOWN
                 if settable and attribute != KEY_INFO] + [(2, KEY_INFO)]
        for lid, attribute in known:
            self.set(lid, attribute, 0, bytes([0, 100]) + fill(2)[:190])
        self.power("s1", "h2")
        self.bring_up()
        for lid, attribute in known:
            self.assertEqual(bytes(192), self.get(lid, attribute), f"{attribute.number:#x}")


if __name__ == "__main__":
    fabric.main()
