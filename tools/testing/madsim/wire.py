#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A wire at the spare port of the switch: the far end of the cable is this program"""

import contextlib
import ctypes
import errno
import os
import select
import signal
import struct
import threading
import time

import fabric
from fabric import (DIRECTED, DOWN, GET, INIT, LINK_UP, NODE_DESC, PERMISSIVE, POLLING,
                    PORT_COUNTERS, PORT_INFO, QUIET, SOON, SWITCH, layout)

LONGEST = 4194
ROOM = 1024     # for what is not read
# VL15, raw, to and from the permissive LID; an Ethertype; version 1
OFFER = struct.Struct(">HHHHHHBBBxHxxI2x")
ENABLED = 1
X4, UP_TO_QDR = 2, 7
UD_SEND = 0x64
LRH = layout("vl:4 version:4 sl:4 :2 next:2 dlid:16 :5 words:11 slid:16")
HEADERS = layout(":64 opcode:8 solicited:1 :1 pad:2 version:4 pkey:16 :8 dqpn:24 :8 psn:24 qkey:32"
                 " :8 sqpn:24")
MAD_AT = 28


def offer(flags=ENABLED, widths=X4, speeds=UP_TO_QDR, restarts=0):
    return OFFER.pack(0xf000, PERMISSIVE, 6, PERMISSIVE, 0, 0x88b5, 1, flags, widths, speeds,
                      restarts)


class Wire(fabric.Test):
    def setUp(self):
        super().setUp()
        fabric.put("wire", f"s1 {self.spare}")
        self.path = f"/dev/madsim/umad.s1.{self.spare}"
        fabric.until(lambda: os.path.exists(self.path))

    def plug(self):
        """The far end, of which the near one has not heard yet"""
        fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fd)
        return fd

    def up(self):
        fd = self.plug()
        os.write(fd, offer())
        self.state(INIT)
        return fd

    def state(self, state):
        self.expect(self.get(SWITCH, PORT_INFO, self.spare), state=state)

    def frame(self, fd):
        """The next one that is no offer"""
        while True:
            assert select.select([fd], [], [], SOON / 1000)[0], "no frame comes"
            got = os.read(fd, 8192)
            if got[1] & 3:
                return got

    def errors(self):
        return self.get(self.switch, PORT_COUNTERS, port=self.spare).rcv_errors

    def test_carrier(self):
        """The link trains when both ends are there, and goes down with the far one"""
        self.state(DOWN)
        fd = self.plug()
        self.assertEqual(offer(speeds=UP_TO_QDR, widths=3), os.read(fd, 8192))
        self.state(DOWN)
        for nothing in {"flags": 0}, {"speeds": 0}, {"widths": 8}:
            os.write(fd, offer(**nothing))
            self.state(DOWN)
        os.write(fd, offer(speeds=1))
        self.expect(self.get(SWITCH, PORT_INFO, self.spare), state=INIT, phys=LINK_UP,
                    width_active=X4, speed_active=1)
        os.dup2(os.open("/dev/null", os.O_RDONLY), fd)
        self.state(DOWN)
        # The next one has not heard what the last one was told
        self.assertEqual(OFFER.size, len(os.read(self.plug(), 8192)))

    def test_restart(self):
        """A link that one end has train anew goes down at the other one"""
        fd = self.up()
        downs = self.get(self.switch, PORT_COUNTERS, port=self.spare).link_downed
        os.write(fd, offer())
        self.counts(self.switch, self.spare, PORT_COUNTERS, link_downed=downs)
        os.write(fd, offer(restarts=1))
        self.counts(self.switch, self.spare, PORT_COUNTERS, link_downed=downs + 1)
        self.state(INIT)
        # ... and the near one tells of its own
        self.set_port(SWITCH, self.spare, phys=POLLING, state=DOWN)
        while OFFER.unpack(got := os.read(fd, 8192))[-1] != 1:
            self.assertEqual(OFFER.size, len(got))

    def test_silence(self):
        """A far end that tells nothing any more is gone"""
        self.up()
        end = time.monotonic() + 60
        while self.get(SWITCH, PORT_INFO, self.spare).state != DOWN:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.5)

    def test_packets(self):
        """An SMP leaves, and its response comes in"""
        fd = self.up()
        self.client.send(self.packet((1, self.spare), GET, NODE_DESC))
        sent = self.frame(fd)
        self.assertEqual(MAD_AT + 256 + 6, len(sent))
        self.expect(fabric.Data(LRH, sent), vl=15, version=0, next=2, dlid=PERMISSIVE,
                    slid=PERMISSIVE, words=(len(sent) - 2) // 4)
        self.expect(fabric.Data(HEADERS, sent), opcode=UD_SEND, pad=0, dqpn=0, sqpn=0)
        self.assertEqual(bytes(6), sent[-6:])
        mad = fabric.Data(fabric.MAD, sent[MAD_AT:-6])
        self.expect(mad, mgmt_class=DIRECTED, method=GET, attr_id=NODE_DESC.number, hop_ptr=2)
        mad.change(method=GET | 0x80, status=0x8000)
        mad[64:128] = b"beyond".ljust(64, b"\0")
        os.write(fd, sent[:MAD_AT] + mad + bytes(6))
        answer = self.client.receive()
        self.assertEqual(b"beyond", answer.mad[64:70])

    def test_faults(self):
        """What loses a packet within the fabric loses it here, and a symbol error does not"""
        fd = self.up()
        for kind in "drop", "crc", "overrun", "flow", "symbol":
            self.fault(f"s1 {self.spare} {kind} nth 1")
            self.client.send(self.packet((1, self.spare), GET, NODE_DESC, timeout=0))
            fabric.until(lambda: fabric.read(f"{fabric.FABRIC}/faults").endswith("injected 1"))
            self.fault(f"s1 {self.spare} {kind} off")
        self.frame(fd)
        self.assertEqual([], select.select([fd], [], [], QUIET / 1000)[0])

    def test_bad_frames(self):
        """What is no packet is an error of the link, however it is cut"""
        fd = self.up()
        self.client.send(self.packet((1, self.spare), GET, NODE_DESC, timeout=0))
        good = self.frame(fd)
        bad = [good[:length] for length in (*range(1, 64), len(good) - 4, len(good) - 1)]
        bad += [good + b"\0", good + bytes(4), os.urandom(64), bytes(LONGEST)]
        for at, value in ((0, 0xff), (1, 0), (1, 1), (6, 0xc0), (8, 0xff), (8, 0x4), (9, 0x30),
                          (15, 1), (27, 1)):
            changed = bytearray(good)
            changed[at] = value
            bad.append(bytes(changed))
        before = self.errors()
        for count, frame in enumerate(bad, 1):
            self.assertEqual(len(frame), os.write(fd, frame))
            self.assertEqual(before + count, self.errors(), frame.hex())
        self.fails(errno.EINVAL, os.write, fd, b"")
        self.fails(errno.EINVAL, os.write, fd, bytes(LONGEST + 1))

    def test_short_mad(self):
        """A MAD has 256 bytes"""
        fd = self.up()
        self.client.send(self.packet((1, self.spare), GET, NODE_DESC, timeout=0))
        frame = bytearray(self.frame(fd))
        del frame[-10:-6]
        frame[4:6] = ((len(frame) - 2) // 4).to_bytes(2, "big")
        before = self.errors()
        os.write(fd, frame)
        self.assertEqual(before + 1, self.errors())

    def test_unread(self):
        """Packets that are not read are bounded, and then discarded"""
        fd = self.up()
        for _ in range(ROOM + 100):
            self.client.send(self.packet((1, self.spare), GET, NODE_DESC, timeout=0))
        self.get(SWITCH, NODE_DESC)
        discards = self.get(self.switch, PORT_COUNTERS, port=self.spare).xmit_discards
        frames = 0
        with contextlib.suppress(BlockingIOError):
            while os.read(fd, 8192):
                frames += 1
        self.assertEqual(ROOM, frames)
        self.assertLessEqual(100, discards)

    def test_reads(self):
        """A frame stays for a reader with too little room"""
        fd = self.plug()
        self.fails(errno.EINVAL, os.read, fd, OFFER.size - 1)
        self.assertEqual(OFFER.size, len(os.read(fd, OFFER.size)))
        self.fails(errno.EAGAIN, os.read, fd, 8192)
        self.fails(errno.ESPIPE, os.lseek, fd, 0, 0)

    def test_one_descriptor(self):
        self.plug()
        self.fails(errno.EBUSY, os.open, self.path, os.O_RDWR)

    def test_taken_away(self):
        """A reader that sleeps wakes up when there is no wire any more"""
        fd = os.open(self.path, os.O_RDWR)
        os.read(fd, 8192)
        errors = []

        def reads():
            try:
                while True:
                    os.read(fd, 8192)
            except OSError as error:
                errors.append(error.errno)

        reader = threading.Thread(target=reads)
        reader.start()
        time.sleep(QUIET / 1000)
        fabric.put("unlink", f"s1 {self.spare}")
        reader.join(SOON / 1000)
        self.assertEqual([errno.ENODEV], errors)
        poll = select.poll()
        poll.register(fd)
        self.assertEqual(select.POLLERR | select.POLLHUP, poll.poll(0)[0][1])
        self.fails(errno.ENODEV, os.write, fd, offer())
        self.assertFalse(os.path.exists(self.path))
        os.close(fd)

    def test_stalled_writer(self):
        """A writer whose page never comes does not keep the wire from being taken away"""
        for path in self.path, self.path + ".stream":
            fd = os.open(path, os.O_RDWR)
            said, says = os.pipe()
            writer = os.fork()
            if not writer:
                try:
                    _, page = fabric.never_comes()
                    os.write(says, b"stalls")
                    ctypes.CDLL(None).write(fd, ctypes.c_void_p(page), OFFER.size)
                finally:
                    os._exit(1)
            os.close(says)
            self.assertEqual(b"stalls", os.read(said, 6))
            os.close(said)
            time.sleep(QUIET / 1000)
            remover = threading.Thread(target=fabric.put, args=("unlink", f"s1 {self.spare}"))
            remover.start()
            try:
                remover.join(SOON / 1000)
                self.assertFalse(remover.is_alive())
            finally:
                os.kill(writer, signal.SIGKILL)
                self.assertEqual(signal.SIGKILL, os.waitpid(writer, 0)[1])
                os.close(fd)
                remover.join()
            fabric.put("wire", f"s1 {self.spare}")

    def test_long_write(self):
        """A signal ends a write of many packets, and meanwhile nobody else waits for it"""
        bad = offer()[:12] + b"\xff" + offer()[13:]
        count = 20000
        fd = os.open(self.path + ".stream", os.O_RDWR)
        self.addCleanup(os.close, fd)
        os.read(fd, 8192)
        writer = os.fork()
        if not writer:
            try:
                os.write(fd, offer() + bad * count)
                signal.pause()
            finally:
                os._exit(1)
        # The first packet has an answer, of which this hears before the second one comes
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        try:
            select.select([fd], [], [])
            self.fails(errno.EBUSY, os.open, self.path, os.O_RDWR)
            self.assertLess(self.errors(), count)
        finally:
            os.kill(writer, signal.SIGKILL)
            os.waitpid(writer, 0)
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        self.assertLess(self.errors(), count)

    def test_half_there(self):
        """A wire whose second file cannot be made is gone, for who has opened the first, too"""
        if not os.access("/proc/self/fail-nth", os.W_OK):
            self.skipTest("this kernel injects no faults")
        # A folder of devices goes when it is empty
        os.close(os.open("/dev/madsim/stays", os.O_CREAT))
        self.addCleanup(os.unlink, "/dev/madsim/stays")
        fabric.put("unlink", f"s1 {self.spare}")
        libc = ctypes.CDLL(None)
        created = libc.inotify_init()
        self.addCleanup(os.close, created)
        libc.inotify_add_watch(created, b"/dev/madsim", 0x100)
        ended = threading.Event()
        wires = os.open(f"{fabric.FABRIC}/wire", os.O_WRONLY)
        self.addCleanup(os.close, wires)
        opened, found = [], []

        def opens():
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            while os.read(created, 4096) and not ended.is_set():
                with contextlib.suppress(OSError):
                    opened.append(os.open(self.path, os.O_RDWR | os.O_NONBLOCK))

        def end():
            # The wire of the next test is not for this thread to open
            ended.set()
            os.close(os.open("/dev/madsim/ends", os.O_CREAT))
            os.unlink("/dev/madsim/ends")
            opener.join()
            while opened:
                os.close(opened.pop())

        def look():
            while opened:
                fd = opened.pop()
                poll = select.poll()
                poll.register(fd)
                found.append(poll.poll(0)[0][1] == select.POLLERR | select.POLLHUP)
                os.close(fd)

        def wire():
            try:
                # A file of Python writes again when it is closed
                os.write(wires, b"s1 %d\n" % self.spare)
            except OSError:
                look()
                raise

        def unlink():
            fabric.put("unlink", f"s1 {self.spare}")
            while opened:
                os.close(opened.pop())

        opener = threading.Thread(target=opens)
        opener.start()
        self.addCleanup(end)
        time.sleep(QUIET / 1000)
        fabric.Faults().sweep(10, wire, unlink)
        self.assertTrue(found and all(found), found)

    def test_refusals(self):
        """Where no wire can be"""
        for code, what in ((errno.EBUSY, f"s1 {self.spare}"), (errno.EBUSY, "s1 1"),
                           (errno.EINVAL, f"s1 {self.spare + 1}"), (errno.EINVAL, "s1 0"),
                           (errno.ENOENT, "nobody 1"), (errno.EINVAL, f"s1 {self.spare} 9x")):
            self.fails(code, fabric.put, "wire", what)


fabric.main()
