#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""PortInfo: each component that can be written, the values that are refused, and the states
of a link
"""

import fabric
from fabric import (ACTIVE, ARMED, DISABLED, DOWN, INIT, INVALID, LINK_UP, NODE_INFO,
                    POLLING, PORT_INFO, SECOND, SLEEP, SWITCH)

HOST, OUTER, INNER = (SECOND, 1), (SWITCH, 2), (SWITCH, 0)
# Components and values, by the ports that have them: end ports, or ports of a link
END_PORT, LINK = (HOST, INNER), (HOST, OUTER)
FIELDS = {
    END_PORT: [("mkey", 0x5a), ("mkey", 0xa5 << 56 | 0x5a), ("mkey", 0),
               ("gid_prefix", 0xfe80 << 48 | 0x37), ("sm_lid", 9), ("mkey_lease", 0x1234),
               ("mkey_protect", 2), ("mkey_protect", 1), ("sm_sl", 0x0b), ("init_type", 6),
               ("mkey_violations", 0x21), ("pkey_violations", 0x22),
               ("qkey_violations", 0x23), ("timeout", 0x15)],
    LINK: [("down_default", SLEEP), ("mtu", 3), ("vl_high_limit", 0x77), ("vl_stall", 5),
           ("hoq_life", 0x13), ("oper_vls", 2), ("phy_errors", 0x0c),
           ("overrun_errors", 0x0d)],
}
BAD = {
    END_PORT: [("lid", 0), ("lid", 0xc000), ("sm_lid", 0), ("sm_lid", 0xc000)],
    LINK: [("width_enabled", 0x08), ("state", INIT), ("state", 5), ("phys", 4),
           ("phys", LINK_UP), ("down_default", DISABLED), ("mtu", 6), ("oper_vls", 5),
           ("speed_enabled", 8)],
}


class PortInfo(fabric.Test):
    def info(self, at):
        return self.get(at[0], PORT_INFO, at[1])

    def put(self, at, **values):
        return self.set_port(*at, **values)

    def has(self, at, **want):
        self.expect(self.info(at), **want)

    def test_each_component_is_set_by_itself(self):
        """A Set changes what it is for, and nothing else"""
        for at in HOST, OUTER, INNER:
            want = self.info(at)
            for places, fields in FIELDS.items():
                for name, value in fields:
                    self.put(at, **{name: value})
                    if at in places:
                        want.change(**{name: value})
                        self.key = want.mkey
                    self.assertEqual(want, self.info(at), f"{name} of {at}")

    def test_power(self):
        """What is left of all of that without power: nothing"""
        for at in HOST, OUTER, INNER:
            self.power("s1", "h2")
            first = self.info(at)
            self.put(at, lid=0x22, **dict(FIELDS[END_PORT] + FIELDS[LINK]))
            self.power("s1", "h2")
            self.assertEqual(first, self.info(at))

    def test_enforcement_is_for_switches(self):
        for at, then in (OUTER, 3), (HOST, 0):
            self.put(at, enforce=3, filter=3)
            self.has(at, enforce=then, filter=0)

    def test_no_change(self):
        """0 leaves some components as they are, and 255 is everything that the port can do"""
        before = self.info(OUTER)
        for name in "width_enabled", "down_default", "mtu", "oper_vls":
            self.assertEqual(before, self.put(OUTER, **{name: 0}), name)
        for value, then in (1, 1), (255, before.width_supported):
            self.expect(self.put(OUTER, width_enabled=value), width_enabled=then)

    def test_refused_values(self):
        """A value that there is not is refused, and nothing of that Set counts"""
        for at in HOST, OUTER, INNER:
            before = self.info(at)
            for places in BAD:
                for name, value in BAD[places] if at in places else ():
                    self.put(at, vl_high_limit=before.vl_high_limit ^ 0xff, status=INVALID,
                             **{name: value})
                    self.assertEqual(before, self.info(at), f"{name} of {at}")
        # Both states at once, unless the link goes down
        self.put(OUTER, state=ACTIVE, phys=POLLING, status=INVALID)
        self.put(OUTER, state=DOWN, phys=POLLING)
        self.has(OUTER, state=INIT)

    def test_states(self):
        """Step by step to ACTIVE, and from there down only"""
        self.has(OUTER, state=ACTIVE)
        for state, status, then in ((ACTIVE, 0, ACTIVE), (ARMED, INVALID, ACTIVE),
                                    (DOWN, 0, INIT), (ACTIVE, INVALID, INIT),
                                    (ARMED, 0, ARMED), (ARMED, 0, ARMED), (0, 0, ARMED),
                                    (ACTIVE, 0, ACTIVE), (0, 0, ACTIVE)):
            self.put(OUTER, state=state, status=status)
            self.has(OUTER, state=then)
        # A link that is down cannot be brought up by its state
        self.put(OUTER, phys=DISABLED)
        for state in ARMED, ACTIVE:
            self.put(OUTER, state=state, status=INVALID)
        self.has(OUTER, state=DOWN)

    def test_disabled(self):
        """A port that is disabled has no link until it polls, whatever its cable does"""
        self.put(OUTER, phys=DISABLED)
        self.has(OUTER, state=DOWN, phys=DISABLED)
        self.fault("h2 1 link down", "h2 1 link up")
        self.has(OUTER, state=DOWN, phys=DISABLED)
        self.put(OUTER, state=DOWN)
        self.has(OUTER, state=INIT, phys=LINK_UP)
        self.put(OUTER, phys=DISABLED)
        self.put(OUTER, phys=POLLING)
        self.has(OUTER, state=INIT, phys=LINK_UP)
        self.has(HOST, state=INIT)

    def test_link_down_default(self):
        """Where a link goes that is lost. One end that polls wakes the other up"""
        self.put(OUTER, down_default=SLEEP)
        self.fault("h2 1 link down")
        self.has(OUTER, state=DOWN, phys=SLEEP)
        self.fault("h2 1 link up")
        self.has(OUTER, state=INIT, phys=LINK_UP)
        # Both sleep: neither begins
        self.put(HOST, down_default=SLEEP)
        self.fault("h2 1 link down", "h2 1 link up")
        self.has(OUTER, state=DOWN, phys=SLEEP)
        # To Down is to LinkDownDefaultState
        self.put(OUTER, phys=POLLING, down_default=POLLING)
        for at in OUTER, HOST:
            self.has(at, state=INIT, phys=LINK_UP)
        self.put(OUTER, state=DOWN, down_default=SLEEP)
        self.has(OUTER, state=DOWN, phys=SLEEP)
        self.put(OUTER, state=DOWN, down_default=POLLING)
        self.has(OUTER, state=INIT, phys=LINK_UP)

    def test_gid_prefix(self):
        """The kernel, too, learns of another one"""
        prefix = 0xfe80 << 48 | 0x37
        self.put(HOST, gid_prefix=prefix)
        fabric.until(lambda: self.gid(2) >> 64 == prefix)

    def test_reregister(self):
        """o14-12.2.1: the answer has the bit of the request, and a later one has it not"""
        for asked in 0, 1, 0:
            self.expect(self.put(HOST, reregister=asked), reregister=asked)
            self.has(HOST, reregister=0)

    def test_local_port(self):
        """LocalPortNum is where the request came in, whatever port it is about"""
        for at in INNER, OUTER:
            self.has(at, local_port=1)
        for where, port in (SWITCH, self.spare + 1), (SECOND, 2):
            self.get(where, PORT_INFO, port, status=INVALID)
        # A host takes 0 for the port that got it
        self.has((SECOND, 0), local_port=1, lid=2)
        # NodeInfo has it, too
        self.client = self.open(2)
        self.has((SWITCH, 1), local_port=2)
        self.expect(self.get(SWITCH, NODE_INFO), local_port=2)


if __name__ == "__main__":
    fabric.main()
