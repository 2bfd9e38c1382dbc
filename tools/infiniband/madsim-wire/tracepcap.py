# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What madsim-wire and umaddump share: packets that the kernel traces become pcapng.

A trace of our own has the events that were asked for, and no other user of tracing notices.
"""

import contextlib
import glob
import os
import re
import signal
import struct
import sys
import time

# A record of ERF around each packet, as ibdump has it: Wireshark 4 knows InfiniBand in no
# other way, LINKTYPE_INFINIBAND (247) it does not
LINKTYPE_ERF, ERF_INFINIBAND, ERF_ANY_LENGTH = 197, 21, 4
INBOUND, OUTBOUND = 1, 2
PROGRAM = os.path.basename(sys.argv[0])
# Python would end with its stack where nothing is there yet to be removed
signal.signal(signal.SIGINT, signal.SIG_DFL)


def fail(why):
    sys.exit(f"{PROGRAM}: {why}")


def write(path, text):
    """Each write is a command of its own to some of these files, and O_APPEND keeps the rest"""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def positive(text):
    """A number of an option"""
    if int(text) < 1:
        raise ValueError
    return int(text)


class Event:
    """What the kernel says of one event: event["field"] is a number, or bytes of an array"""

    def __init__(self, formats, data):
        self.name, self.fields = formats[int.from_bytes(data[:2], sys.byteorder)]
        self.data = data

    def __getitem__(self, field):
        kind, offset, size = self.fields[field]
        value = self.data[offset:offset + size]
        if kind == "array":
            return value
        value = int.from_bytes(value, sys.byteorder)
        return self.data[value & 0xffff:][:value >> 16] if kind == "moving" else value

    def text(self, field):
        return self[field].split(b"\0")[0].decode(errors="replace")


class Trace:
    """An instance of tracefs that has nothing but these events: {event: filter}"""

    def __init__(self, events):
        self.stopped = []
        for signum in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda *_: self.stopped.append(1))
        self.top = next((path for path in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
                         if os.path.exists(f"{path}/events")), None)
        if not self.top:
            fail("no tracing: is tracefs mounted, and this root?")
        self.path = f"{self.top}/instances/{PROGRAM}.{os.getpid()}"
        self.buffers, self.formats, self.waiting = [], {}, []
        self.events = [f"{self.path}/events/{event}" for event in events]
        self.clean()
        try:
            self.start(events.values())
        except BaseException:
            self.remove()
            raise

    def clean(self):
        """Remove what one left that was killed"""
        for path in glob.glob(f"{self.top}/instances/{PROGRAM}.*"):
            if not os.path.exists(f"/proc/{path.rsplit('.', 1)[1]}"):
                with contextlib.suppress(OSError):
                    os.rmdir(path)

    def start(self, filters):
        """Begin to keep events"""
        os.mkdir(self.path)
        self.page = self.layout(read(f"{self.path}/events/header_page"))
        # What timestamps have to get to be the time of day
        write(f"{self.path}/trace_clock", "mono")
        self.epoch = time.time_ns() - time.monotonic_ns()
        write(f"{self.path}/buffer_size_kb", "8192")
        for event, wanted in zip(self.events, filters):
            known = read(f"{event}/format")
            self.formats[int(re.search(r"^ID: (\d+)$", known, re.M)[1])] = (
                os.path.basename(event), self.layout(known))
            if wanted:
                write(f"{event}/filter", wanted)
        for cpu in os.listdir(f"{self.path}/per_cpu"):
            self.buffers.append(os.open(f"{self.path}/per_cpu/{cpu}/trace_pipe_raw",
                                        os.O_RDONLY | os.O_NONBLOCK))
        for event in self.events:
            write(f"{event}/enable", "1")

    @staticmethod
    def layout(text):
        """{field: (kind, offset, size)} as the kernel tells it"""
        return {name: ("moving" if moving else "array" if array else "", int(offset), int(size))
                for moving, name, array, offset, size in re.findall(
                    r"field:(__data_loc)?[^;]*?(\w+)(\[\w*\])?;\s*offset:(\d+);\s*size:(\d+)",
                    text)}

    def parse(self, page):
        """Yield (time, event) of a page of the ring buffer"""
        def word(offset):
            return struct.unpack_from("=I", page, offset)[0]

        now = struct.unpack_from("=Q", page)[0]
        _, at, size = self.page["commit"]
        at, end = self.page["data"][1], int.from_bytes(page[at:at + size], sys.byteorder)
        end = at + (end & 0xfffff)
        while at < end:
            head = word(at)
            at += 4
            if sys.byteorder == "little":
                kind, delta = head & 31, head >> 5
            else:
                kind, delta = head >> 27, head & 0x7ffffff
            if kind == 31:
                # The time itself, but for its highest bits
                now = now >> 59 << 59 | delta | word(at) << 27
                at += 4
                continue
            now += delta
            if kind == 30:
                now += word(at) << 27
                at += 4
            elif kind == 29:
                if not delta:
                    return
                at += word(at)
            else:
                start, at = (at, at + kind * 4) if kind else (at + 4, at + word(at))
                yield now, page[start:at]

    def read_events(self, last):
        """What has come since the last call, as (time, event), in order: a later event may be
        seen before an earlier one of another CPU, so what is very new waits for the next call"""
        until = time.monotonic_ns() - 1000000
        for buffer in self.buffers:
            try:
                while page := os.read(buffer, 1 << 16):
                    self.waiting += self.parse(page)
            except BlockingIOError:
                pass
        found = sorted((pair for pair in self.waiting if last or pair[0] <= until),
                       key=lambda pair: pair[0])
        self.waiting = [pair for pair in self.waiting if not last and pair[0] > until]
        return [(self.epoch + at, Event(self.formats, data)) for at, data in found]

    def end(self):
        """No more events. Returns how many were lost"""
        for event in self.events:
            # Unless its module has gone
            with contextlib.suppress(FileNotFoundError):
                write(f"{event}/enable", "0")
        return sum(int(count) for cpu in os.listdir(f"{self.path}/per_cpu") for count in
                   re.findall(r"^(?:overrun|dropped events): (\d+)",
                              read(f"{self.path}/per_cpu/{cpu}/stats"), re.M))

    def remove(self):
        for buffer in self.buffers:
            os.close(buffer)
        if os.path.exists(self.path):
            os.rmdir(self.path)

    def packet(self, event):
        """(port, frame, length, direction[, comment]) of an event, if it is of a packet"""
        raise NotImplementedError

    def record(self, path, wanted):
        """Write packets to a file, until there are as many as wanted, or a signal comes"""
        count = lost = 0
        last = False
        try:
            with sys.stdout.buffer if path == "-" else open(path, "wb") as file:
                into = Pcapng(file)
                print("capturing", file=sys.stderr, flush=True)
                while not last and count != wanted:
                    last = bool(self.stopped)
                    if last:
                        lost = self.end()
                    for when, event in self.read_events(last):
                        packet = self.packet(event)
                        if packet and count != wanted:
                            count += 1
                            into.packet(when, *packet)
                    file.flush()
                    if not last:
                        time.sleep(0.05)
        except BrokenPipeError:
            pass
        finally:
            self.remove()
        print(f"{count} packets" + f", {lost} more lost" * bool(lost), file=sys.stderr)


class Pcapng:
    """A file with an interface for each port"""

    def __init__(self, file):
        self.file = file
        self.ports = {}
        self.block(0x0a0d0d0a, struct.pack("=IHHq", 0x1a2b3c4d, 1, 0, -1))

    @staticmethod
    def option(code, value):
        return struct.pack("=HH", code, len(value)) + value + bytes(-len(value) % 4)

    def block(self, kind, body):
        size = len(body) + 12
        self.file.write(struct.pack("=II", kind, size) + body + struct.pack("=I", size))

    def port(self, name):
        """The number of this interface, whose times are in nanoseconds"""
        if name not in self.ports:
            self.ports[name] = len(self.ports)
            self.block(1, struct.pack("=HHI", LINKTYPE_ERF, 0, 0) +
                       self.option(2, name.encode()) + self.option(9, b"\x09") +
                       self.option(0, b""))
        return self.ports[name]

    def packet(self, when, name, frame, length, way, comment=""):
        port = self.port(name)
        seconds, nanoseconds = divmod(when, 10 ** 9)
        frame = struct.pack("<II", (nanoseconds << 32) // 10 ** 9, seconds) + struct.pack(
            ">BBHHH", ERF_INFINIBAND, ERF_ANY_LENGTH, 16 + len(frame), 0, length) + frame
        self.block(6, struct.pack("=IIIII", port, when >> 32, when & 0xffffffff,
                                  len(frame), 16 + length) + frame + bytes(-len(frame) % 4) +
                   (self.option(1, comment.encode()) if comment else b"") +
                   self.option(2, struct.pack("=I", way)) + self.option(0, b""))
