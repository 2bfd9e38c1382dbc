#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the soak test consists of, one role a process

soak.py serve DEVICE: answers requests until it is killed, with as many bytes as it is asked for

soak.py ask DEVICE LID SECONDS WINDOW ANSWER [CGROUP]: keeps WINDOW requests outstanding, for
answers of ANSWER bytes, and balances its books: every request that was accepted has been
answered or has timed out, and none twice. Where the kernel has no room for an answer, it
counts that as dropped and lets the request time out at once. If CGROUP is to pay for it,
nothing is read before all requests have ended.

soak.py stuck DEVICE LID: writes from a page that never comes, until it is killed
"""

import ctypes
import errno
import fcntl
import os
import re
import select
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../madsim"))
from fabric import (ENABLE_PKEY, GET, REGISTER_AGENT,   # pylint: disable=wrong-import-position
                    never_comes)

CLASS, OUI = 0x3a, bytes.fromhex("02554d")
RESPONSE, RMPP_DATA, RMPP_ACTIVE = 0x80, 1, 1
HEADER, MAD, MOST = 64, 256, 64 << 10
# Milliseconds. An answer of many segments that loses one is sent again after 2 s
TIMEOUT, LONG_TIMEOUT = 500, 5000
RETRIES, SEGMENT_RETRIES = 1, 5
# Seconds for the last request to end
DRAIN = 120


def open_agent(path, server):
    """Its descriptor, and its number"""
    fd = os.open(path, os.O_RDWR | (0 if server else os.O_NONBLOCK))
    fcntl.ioctl(fd, ENABLE_PKEY)
    request = struct.pack("=IQQBBB3sBx", 0, server << GET, 0, 1, CLASS, 1, OUI, 1)
    return fd, struct.unpack_from("=I", fcntl.ioctl(fd, REGISTER_AGENT, request))[0]


def serve(path):
    """An answer goes where the request came from. Losing one is the asker's concern. It has
    no timeout of its own: that would be for an answer to the answer, and with a short one
    the kernel's MAD layer does not send segments again"""
    fd, _ = open_agent(path, True)
    while True:
        try:
            packet = bytearray(os.read(fd, HEADER + MOST))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            continue
        if struct.unpack_from("=I", packet, 4)[0]:
            continue
        want, = struct.unpack_from(">I", packet, HEADER + 20)
        if not MAD <= want <= MOST:
            want = MAD
        struct.pack_into("=II", packet, 8, 0, SEGMENT_RETRIES * (want > MAD))
        packet[HEADER + 3] |= RESPONSE
        packet[HEADER + 24:HEADER + 27] = 1, RMPP_DATA, RMPP_ACTIVE * (want > MAD)
        try:
            os.write(fd, packet[:HEADER + MAD].ljust(HEADER + want))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOMEM):
                raise


def request(agent, lid, answer, tid=0):
    """Its attribute modifier tells how long the answer is to be"""
    timeout = LONG_TIMEOUT if answer > MAD else TIMEOUT
    head = struct.pack("=5I", agent, 0, timeout, RETRIES, 0) + struct.pack(">IIH", 1, 0, lid)
    mad = struct.pack(">BBBBHHQHHI", 1, CLASS, 1, GET, 0, 0, tid, 0x10, 0, answer)
    return head.ljust(HEADER, b"\0") + (mad.ljust(37, b"\0") + OUI).ljust(MAD, b"\0")


def enter(cgroup):
    with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as file:
        file.write("0")


class Asker:
    """Its books: open has the TIDs of requests that have not ended"""

    def __init__(self, path, cgroup):
        # The cgroup that opens the device pays for what arrives. This process is not in need
        if cgroup:
            enter(cgroup)
        self.fd, self.agent = open_agent(path, False)
        if cgroup:
            enter("/sys/fs/cgroup")
        self.open = set()
        self.sent = self.answered = self.timed_out = self.refused = 0

    def ask(self, lid, answer):
        try:
            os.write(self.fd, request(self.agent, lid, answer, self.sent))
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            self.refused += 1
            return False
        self.open.add(self.sent)
        self.sent += 1
        return True

    def read(self):
        """All that there is"""
        while True:
            try:
                packet = os.read(self.fd, HEADER + MOST)
            except BlockingIOError:
                return
            tid, = struct.unpack_from(">I", packet, HEADER + 12)
            assert tid in self.open, f"request {tid} ended twice, or never was"
            self.open.remove(tid)
            if struct.unpack_from("=I", packet, 4)[0]:
                self.timed_out += 1
            else:
                self.answered += 1

    def count(self, name):
        with open(f"/proc/self/fdinfo/{self.fd}", encoding="ascii") as file:
            return int(re.search(rf"umad-{name}:\s+(\d+)", file.read())[1])

    def wait(self):
        select.select([self.fd], [], [], 0.1)

    def settle(self):
        """Until every request has ended"""
        end = time.monotonic() + DRAIN
        while self.count("outstanding") and time.monotonic() < end:
            time.sleep(0.1)
        self.read()
        while self.open or self.count("unread"):
            assert time.monotonic() < end, f"{len(self.open)} requests have no end"
            self.wait()
            self.read()


def ask(path, lid, seconds, window, answer, cgroup=None):
    asker = Asker(path, cgroup)
    end = time.monotonic() + int(seconds)
    while time.monotonic() < end:
        while len(asker.open) < int(window) and asker.ask(int(lid), int(answer)):
            pass
        if cgroup:
            asker.settle()
            continue
        asker.wait()
        asker.read()
    asker.settle()
    dropped = asker.count("dropped")
    print(f"{asker.sent} sent = {asker.answered} answered + {asker.timed_out} timed out\n"
          f"{dropped} dropped\n{asker.refused} refused")
    assert asker.answered and asker.timed_out >= dropped, "this does not balance"


def stuck(path, lid):
    """The first 64 bytes of a MAD are there, the rest is on a page that never comes"""
    fd, agent = open_agent(path, False)
    pages, missing = never_comes()
    text = request(agent, int(lid), MAD)[:HEADER + 64]
    begin = missing - len(text)
    ctypes.memmove(begin, text, len(text))
    ctypes.CDLL(None).write(fd, ctypes.c_void_p(begin), HEADER + MAD)
    sys.exit(f"a write that cannot end has ended, {len(pages)} bytes")


if __name__ == "__main__":
    {"serve": serve, "ask": ask, "stuck": stuck}[sys.argv[1]](*sys.argv[2:])
