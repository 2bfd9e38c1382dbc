#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One of two hosts that talk over Soft-RoCE, in KTAP

rxe.py GID ask,answer|answer,ask

GID is the other host's, which runs this program at the same time. It fails if that one does not
come in two minutes.
"""

import errno
import glob
import ipaddress
import os
import random
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../madsim"))
import fabric                               # pylint: disable=wrong-import-position
from fabric import GET, LOST, SEND          # pylint: disable=wrong-import-position

CLASS, OUI, RESPONSE, QKEY = 0x3a, bytes.fromhex("02554d"), 0x80, 0x80010000
RMPP = bytes((1, 1, 1))
MAD, DATA_AT, MESSAGE, ROOM = 256, 40, 1 << 20, 1 << 21
REQUESTS = 200
COME = 120      # seconds
# What is asked for: the data with every bit inverted, a message that attr_mod is the seed of,
# the seed of the last message that came as it was sent, an end
HELLO, ASK_MESSAGE, RECEIVED, BYE = range(1, 5)


def pattern(seed, length=MESSAGE):
    return random.Random(seed).randbytes(length)


def inverted(data):
    return bytes(byte ^ 0xff for byte in data)


class Host(fabric.File):
    def __init__(self, peer):
        path, = glob.glob("/sys/class/infiniband_mad/umad*")
        super().__init__("/dev/infiniband/" + os.path.basename(path))
        self.peer = int(ipaddress.ip_address(peer))
        self.agent = self.register(1, CLASS, 1 << GET | 1 << SEND, OUI, 1)
        self.tid = 0

    def send(self, packet):
        """What is longer than a MAD becomes a message"""
        packet.mad[24:27] = RMPP if len(packet.mad) > MAD else bytes(3)
        packet.mad[37:40] = OUI
        packet.to.qkey = QKEY
        super().send(packet)

    def packet(self, attr, mod=0, method=GET, data=None, timeout=1000, retries=5):
        """A network may lose one: it is sent again"""
        self.tid += 1
        data = pattern(self.tid, MAD - DATA_AT) if data is None else data
        packet = fabric.Packet(self.agent, timeout, bytes(36), bytes(DATA_AT) + data, retries)
        packet.to.change(qpn=1, grh_present=1, hop_limit=64, gid=self.peer)
        packet.mad.change(base_version=1, mgmt_class=CLASS, class_version=1, method=method,
                          tid=self.tid, attr_id=attr, attr_mod=mod)
        return packet

    def ask(self, *args, **more):
        """The data of request and answer, or None if none came"""
        asked = self.packet(*args, **more)
        self.send(asked)
        got = self.receive(ROOM, asked.timeout * (asked.retries + 1) + fabric.SOON)
        if got == LOST:
            return None
        assert (got.to.qpn, got.to.gid, got.mad.method, got.mad.tid & 0xffffffff) == (
            1, self.peer, GET | RESPONSE, asked.mad.tid)
        return asked.mad[DATA_AT:], got.mad[DATA_AT:]

    def answered(self, attr, **more):
        """By the program there: its kernel returns a request as it is that nobody takes"""
        found = self.ask(attr, **more)
        return found and found[1] == inverted(found[0])

    def requests(self, attr=HELLO, count=1):
        for _ in range(count):
            assert self.answered(attr), f"request {self.tid}"

    def peer_comes(self):
        end = time.monotonic() + COME
        while True:
            try:
                if self.answered(HELLO, retries=0):
                    return
            except OSError as error:
                # No host there, or not even the network
                assert error.errno != errno.EINVAL
            assert time.monotonic() < end, "it does not come"
            time.sleep(0.1)

    def sends(self, seed=0x5eed):
        """Asks until the message is there"""
        self.send(self.packet(ASK_MESSAGE, seed, SEND, pattern(seed), 0))
        end = time.monotonic() + COME
        while not (found := self.ask(RECEIVED)) or found[1][:4] != seed.to_bytes(4, "big"):
            assert time.monotonic() < end, "it does not arrive"
            time.sleep(0.05)

    def gets(self, seed=0xfeed):
        assert self.ask(ASK_MESSAGE, seed, timeout=1000 * COME, retries=0)[1] == pattern(seed)

    def answers(self):
        received, attr = 0, None
        while attr != BYE:
            got = self.receive(ROOM, 1000 * COME)
            attr, seed = got.mad.attr_id, got.mad.attr_mod
            if got.mad.method == SEND:
                received = seed if got.mad[DATA_AT:] == pattern(seed) else 0
                continue
            # The header that it came with is the one that takes the answer back
            got.mad.method |= RESPONSE
            got.retries = 5
            got.mad[DATA_AT:] = {
                ASK_MESSAGE: lambda: pattern(seed),
                RECEIVED: lambda: received.to_bytes(4, "big").ljust(MAD - DATA_AT, b"\0"),
            }.get(attr, lambda: inverted(got.mad[DATA_AT:]))()
            self.send(got)


def main(peer, order):
    host = Host(peer)
    parts = {
        "ask": [("the peer is there", host.peer_comes),
                (f"{REQUESTS} requests", lambda: host.requests(count=REQUESTS)),
                ("sends 1 MiB", host.sends), ("gets 1 MiB", host.gets),
                ("the peer says good-bye", lambda: host.requests(BYE))],
        "answer": [("answers until good-bye", host.answers)],
    }
    sys.exit(fabric.ktap([(name, unittest.FunctionTestCase(test))
                         for part in order.split(",") for name, test in parts[part]]))


main(*sys.argv[1:])
