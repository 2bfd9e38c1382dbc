#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""One of two hosts that talk over Soft-RoCE, in TAP

rxe.py GID ask,answer|answer,ask

GID is the other host's, which runs this program at the same time. The host that asks prints
"# stop the peer" and "# continue the peer". The caller of both programs reads that, and suspends
the peer between these lines. It fails if the peer does not come in two minutes.
"""

import errno
import fcntl
import glob
import os
import random
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../madsim"))
from fabric import (ENABLE_PKEY, GET, REGISTER_AGENT,   # pylint: disable=wrong-import-position
                    SEND, SOON)

CLASS, OUI, RESPONSE, RMPP = 0x3a, bytes.fromhex("02554d"), 0x80, bytes((1, 1, 1))
HEADER, MAD, DATA_AT = 64, 256, 64 + 40
MESSAGE, REQUESTS, AT_ONCE = 1 << 20, 200, 64
# Milliseconds, for the other one to come, and for a message
COME, LONG = 120000, 150000
# What is asked for: the data with every bit inverted, a message that attr_mod is the seed of,
# what of the last message was as sent, an end
HELLO, ASK_MESSAGE, RECEIVED, BYE = range(1, 5)


def pattern(seed, length=MESSAGE):
    return random.Random(seed).randbytes(length)


def inverted(data):
    return bytes(byte ^ 0xff for byte in data)


class Packet:
    """As read() hands it out"""

    def __init__(self, text):
        self.text = bytearray(text)
        self.status, self.timeout = struct.unpack_from("=II", text, 4)
        self.qpn, = struct.unpack_from(">I", text, 20)
        self.gid = text[36:52]
        self.method = text[HEADER + 3]
        self.tid, = struct.unpack_from(">I", text, HEADER + 12)
        self.attr, self.mod = struct.unpack_from(">H2xI", text, HEADER + 16)
        self.data = bytes(text[DATA_AT:])


class Host:
    def __init__(self, peer):
        self.peer = socket.inet_pton(socket.AF_INET6, peer)
        self.tid = self.checks = 0
        name, = (path.split("/")[4] for path in glob.glob("/sys/class/infiniband_mad/umad*/ibdev"))
        self.fd = os.open(f"/dev/infiniband/{name}", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, ENABLE_PKEY)
        request = struct.pack("=IQQBBB3sBx", 0, 1 << GET | 1 << SEND, 0, 1, CLASS, 1, OUI, 1)
        self.agent, = struct.unpack_from("=I", fcntl.ioctl(self.fd, REGISTER_AGENT, request))

    def check(self, name, passed):
        self.checks += 1
        print("ok" if passed else "not ok", self.checks, name, flush=True)

    def request(self, attr, mod=0, method=GET, data=None, timeout=1000, retries=5):
        """A network may lose one: it is sent again"""
        self.tid += 1
        data = pattern(self.tid, MAD - 40) if data is None else data
        return (struct.pack("=5I", self.agent, 0, timeout, retries, 0) +
                struct.pack(">IIHBBBBBB", 1, 0x80010000, 0, 0, 0, 1, 0, 64, 0) + self.peer +
                bytes(12) +
                struct.pack(">BBBBIQHHI", 1, CLASS, 1, method, 0, self.tid, attr, 0, mod) +
                (RMPP if len(data) > MAD else bytes(3)).ljust(13, b"\0") + OUI + data)

    def read(self, milliseconds):
        if select.select([self.fd], [], [], milliseconds / 1000)[0]:
            return Packet(os.read(self.fd, HEADER + 2 * MESSAGE))
        return None

    def exchange(self, *args, **more):
        """The answer, or the record of the timeout, and what was asked"""
        asked = self.request(*args, **more)
        os.write(self.fd, asked)
        asked = Packet(asked)
        return self.read(asked.timeout * 7 + SOON), asked

    def answers(self, got, asked):
        """With data that only the other one can have made"""
        return (got and not got.status and got.method == GET | RESPONSE and got.qpn == 1 and
                got.gid == self.peer and got.tid == asked.tid and
                got.data == inverted(asked.data))

    def hello(self):
        end = time.monotonic() + COME / 1000
        while time.monotonic() < end:
            try:
                if self.answers(*self.exchange(HELLO, retries=0)):
                    return True
            except OSError as error:
                # No host there, or not even the network
                assert error.errno != errno.EINVAL
            time.sleep(0.1)
        return False

    def at_once(self):
        asked = [self.request(HELLO) for _ in range(AT_ONCE)]
        for request in asked:
            os.write(self.fd, request)
        asked = {packet.tid: packet for packet in map(Packet, asked)}
        got = [self.read(2 * SOON) for _ in asked]
        return all(packet and self.answers(packet, asked.pop(packet.tid)) for packet in got)

    def sends(self, seed):
        """Asks until the message is there; only the last one is remembered"""
        os.write(self.fd, self.request(ASK_MESSAGE, seed, SEND, pattern(seed), 0))
        end = time.monotonic() + LONG / 1000
        while time.monotonic() < end:
            got, _ = self.exchange(RECEIVED)
            if got and not got.status and struct.unpack_from(">I", got.data)[0] == seed:
                return struct.unpack_from(">II", got.data)[1] == MESSAGE
            time.sleep(0.05)
        return False

    def times_out(self):
        """Asks until there is no answer: it takes a moment until the other one is stopped"""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            got, asked = self.exchange(HELLO, timeout=400, retries=1)
            if not got or got.status:
                return (got and got.status == errno.ETIMEDOUT and got.gid == self.peer and
                        got.timeout == 400 and got.tid == asked.tid)
        return False

    def message_times_out(self):
        got, asked = self.exchange(ASK_MESSAGE, 1, SEND, pattern(1, 5000), 300, 0)
        return got and got.status == errno.ETIMEDOUT and got.tid == asked.tid and not got.data

    def ask(self):
        self.check("asks: the peer is there", self.hello())
        self.check(f"asks: {REQUESTS} requests",
                   all(self.answers(*self.exchange(HELLO)) for _ in range(REQUESTS)))
        self.check(f"asks: {AT_ONCE} at once", self.at_once())
        self.check("asks: sends 1 MiB", self.sends(0x5eed))
        got, _ = self.exchange(ASK_MESSAGE, 0xfeed, timeout=LONG, retries=0)
        self.check("asks: gets 1 MiB", got and got.data == pattern(0xfeed))
        print("# stop the peer", flush=True)
        self.check("asks: request to the stopped peer", self.times_out())
        self.check("asks: message to the stopped peer", self.message_times_out())
        print("# continue the peer", flush=True)
        self.check("asks: the peer is back", self.hello())
        self.check("asks: sends 1 MiB again", self.sends(0xbeef))
        # The peer answers old requests now, which have timed out: no reader gets that
        self.check("asks: nothing comes twice", not self.read(100))
        self.check("asks: the peer says good-bye", self.answers(*self.exchange(BYE)))

    def answer(self):
        requests = given = received = 0
        what, attr = bytes(8), None
        while attr != BYE and (got := self.read(COME)):
            attr = got.attr
            if got.method == SEND:
                same = got.data == pattern(got.mod)
                what = struct.pack(">II", got.mod, MESSAGE if same else 0)
                received += same
                continue
            # The header that it came with is the one that takes the answer back
            text = got.text[:HEADER + 36] + b"\0" + OUI
            text[HEADER + 3] |= RESPONSE
            if attr == ASK_MESSAGE:
                struct.pack_into("=I", text, 12, 5)
                text[HEADER + 24:HEADER + 27] = RMPP
                os.write(self.fd, text + pattern(got.mod))
                given += 1
            else:
                os.write(self.fd, text + (what.ljust(MAD - 40, b"\0") if attr == RECEIVED else
                                          inverted(got.data)))
                requests += 1
        self.check(f"answers: {requests} requests", requests > REQUESTS + AT_ONCE)
        self.check("answers: got 1 MiB twice", received == 2)
        self.check("answers: gave 1 MiB", given == 1)
        self.check("answers: until good-bye", attr == BYE)


def main(peer, order):
    host = Host(peer)
    print("TAP version 13\n1..15")
    for part in order.split(","):
        {"ask": host.ask, "answer": host.answer}[part]()


main(*sys.argv[1:])
