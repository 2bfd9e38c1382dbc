#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Connected queue pairs with a wire between them, whose cable is this program

cable.py DEVICE DEVICE WIRE WIRE CASE, for cable.sh. Without CASE, the names of all. The
cable begins to lose packets, or to keep them for a while, when MADs go across.
"""

import atexit
import collections
import errno
import itertools
import os
import random
import select
import signal
import subprocess
import sys
import time

from rdma import ADD, FLUSHED, READ, WRITE, WRITE_IMM, e, pair, port, refused

MTU = 1024
WINDOW = 128
PACKETS = 150
TEXT = os.urandom(PACKETS * MTU)
RC_READ_DATA, RC_ACK, RC_ATOMIC_ACK = 0x10, 0x11, 0x12
RC_WRITE_FIRST, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM = 0x06, 0x0a, 0x0b
NO_CREDITS, NAK_SEQUENCE = 0x1f, 0x60
# Longer than any pause of the cable. Behind a wire a timer takes four times as long
PATIENT = 21
# Seconds from one late packet to the next: six of them are longer than that timer
LATENESS = 8
WAIT_41_MS = 24
# Seconds without a packet: nobody sends any more. A wire without offers is gone after ten
PAUSE = 5
OFFER = 26

Frame = collections.namedtuple("Frame", "response psn syndrome")


def decode(frame):
    """Of a packet of RC, else None"""
    if frame[1] & 3 != 2 or frame[8] >= 0x20:
        return None
    response = frame[8] in (RC_READ_DATA, RC_ACK, RC_ATOMIC_ACK)
    return Frame(response, int.from_bytes(frame[17:20], "big"), response and frame[20])


def with_bytes(frame):
    """An acknowledgment as a response to RDMA READ, of four bytes"""
    frame = bytearray(frame)
    frame[8] = RC_READ_DATA
    frame[24:24] = b"lies"
    frame[4:6] = (int.from_bytes(frame[4:6], "big") + 1).to_bytes(2, "big")
    return bytes(frame)


def refusal(frame):
    """A response as a NAK of a packet that was not the next one"""
    return frame[:20] + bytes([NAK_SEQUENCE]) + frame[21:]


def with_credits(frame):
    """An acknowledgment as one that tells how many messages there is room for"""
    assert frame[20] == NO_CREDITS
    return frame[:20] + bytes([random.randrange(NO_CREDITS)]) + frame[21:]


def longer(frame):
    """An RDMA WRITE as one that is to have a byte more"""
    if frame[8] not in (RC_WRITE_FIRST, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM):
        return frame
    length = int.from_bytes(frame[32:36], "big") + 1
    return frame[:32] + length.to_bytes(4, "big") + frame[36:]


class Cable:
    """Carries frames in a process of its own. rule() has each packet of RC, and returns what
    becomes of it: it goes, is lost, is kept until none has come for a while, becomes what
    change() makes of it, or is late, while others overtake it"""

    GOES, LOST, KEPT, CHANGED, LATE = range(5)

    def __init__(self, rule, change=None):
        self.rule, self.change = rule, change
        self.log, log = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.carry(log)
            finally:
                os._exit(1)
        atexit.register(self.pull)
        os.close(log)
        until_reached(*sys.argv[1:3])

    def carry(self, log):
        ends = [os.open(path, os.O_RDWR) for path in sys.argv[3:5]]
        kept, late, last = [], [], 0
        while True:
            ready = select.select(ends, [], [], 0.1 if late else PAUSE)[0]
            go = []
            while late and late[0][0] <= time.monotonic():
                go.append(late.pop(0)[1])
            # There are MADs, and offers of the links, all the time
            if time.monotonic() > last + PAUSE:
                go, kept = go + kept, []
            for end in ready:
                frame = os.read(end, 8192)
                packet = decode(frame)
                fate = self.GOES
                if packet:
                    fate = self.rule(packet)
                    last = time.monotonic()
                if fate == self.CHANGED:
                    frame = self.change(frame)
                carried = (ends[end == ends[0]], frame, packet)
                if fate == self.LOST:
                    os.write(log, b"%d %d %d\n" % packet)
                elif fate == self.LATE:
                    before = late[-1][0] if late else last
                    late.append((before + LATENESS, carried))
                else:
                    (kept if fate == self.KEPT else go).append(carried)
            for to, frame, packet in go:
                if packet:
                    os.write(log, b"%d %d %d\n" % packet)
                os.write(to, frame)

    def pull(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def seen(self):
        """The packets up to now, in the order in which the cable let them go, or lost them"""
        got = b""
        while select.select([self.log], [], [], PAUSE)[0]:
            got += os.read(self.log, 1 << 16)
        return [Frame(*map(int, line.split())) for line in got.splitlines()]


def until_reached(near, far):
    """A MAD gets there and back: all links between are active, not only those of the hosts"""
    lid = int(port(far, "lid"), 16)
    end = time.monotonic() + 60
    while subprocess.run(["perfquery", "-C", near, str(lid), "1"], capture_output=True,
                         check=False).returncode:
        assert time.monotonic() < end, f"{near} does not reach {far}"


def sides(timeout=PATIENT):
    a, b = pair(e.IBV_QPT_RC, size=len(TEXT), timeout=timeout, min_rnr_timer=WAIT_41_MS)
    a.mr.write(TEXT, len(TEXT))
    return a, b


def write(a, b, length=len(TEXT)):
    a.send(a.sge(length), to=b, opcode=WRITE)


def ends(side, status=e.IBV_WC_SUCCESS):
    """The next completion, which the cable is given the time for"""
    end = time.monotonic() + 300
    while not (done := side.cq.poll(1)[1]):
        assert time.monotonic() < end, "it does not end"
        time.sleep(0.01)
    assert done[0].status == status, done[0].status


def numbers(packets):
    """Of requests, from the first one on"""
    requests = [packet.psn for packet in packets if not packet.response]
    return [(psn - requests[0]) & 0xffffff for psn in requests]


def once(number, response=False):
    """A rule: that packet is lost, the first time"""
    left = [number]

    def rule(packet):
        if packet.response == response:
            left[0] -= 1
            return Cable.LOST if left[0] == -1 else Cable.GOES
        return Cable.GOES

    return rule


def goes(_):
    """A rule: nothing happens to any packet"""
    return Cable.GOES


def responses(fate, others=goes):
    """A rule: this happens to responses"""
    return lambda packet: fate if packet.response else others(packet)


def arrives(rule):
    """The packets of an RDMA WRITE of all of the text, which is there in the end"""
    cable = Cable(rule)
    a, b = sides()
    write(a, b)
    ends(a)
    assert b.mr.read(len(TEXT), 0) == TEXT
    return cable.seen()


def under_way(requests):
    """How many requests there are without a response, after each; of responses all are kept"""
    ahead = [0]
    for packet in arrives(responses(Cable.KEPT, requests)):
        ahead.append(0 if packet.response else ahead[-1] + 1)
    return ahead


def several():
    """so many packets of a message are under way, and no more"""
    assert max(under_way(goes)) == WINDOW


def fewer():
    """fewer when one was lost"""
    ahead = under_way(once(5))
    most = max(ahead[ahead.index(WINDOW) + 1:])
    assert WINDOW / 2 <= most < WINDOW * 3 / 4, ahead


def request_lost():
    """all from the lost packet on go again, after one word from the other end"""
    packets = arrives(once(20))
    naks = [packet for packet in packets if packet.syndrome == NAK_SEQUENCE]
    assert len(naks) == 1, naks
    sent = numbers(packets)
    back = next(i for i, number in enumerate(sent[1:], 1) if number <= sent[i - 1])
    assert sent[back] == 20, sent


def one_for_several():
    """one response is enough for several requests that come at once"""
    packets = arrives(responses(Cable.GOES, lambda packet: Cable.KEPT))
    assert numbers(packets) == list(range(PACKETS))
    assert sum(packet.response for packet in packets) < PACKETS / 2, packets


def responses_lost():
    """a response answers for those before it"""
    first = []

    def rule(packet):
        first.append(packet.psn)
        number = (packet.psn - first[0]) & 0xffffff
        return Cable.LOST if packet.response and 0 < number < 59 else Cable.GOES

    cable = Cable(rule)
    a, b = sides()
    write(a, b, 60 * MTU)
    ends(a)
    assert numbers(cable.seen()) == list(range(60))


def read_lost():
    """the bytes of a READ come with its own response, and so go again from there on"""
    cable = Cable(once(20, True))
    a, b = sides()
    b.send(b.sge(len(TEXT)), to=a, opcode=READ)
    ends(b)
    assert b.mr.read(len(TEXT), 0) == TEXT
    sent = numbers(cable.seen())
    assert sorted(set(sent)) == list(range(PACKETS)), sent
    assert sent.count(19) == 1 and sent.count(20) == 2, sent


def no_buffer():
    """a message without a buffer is refused once, however many packets have come"""
    cable = Cable(goes)
    a, b = sides()
    write(a, b, 2 * MTU)
    ends(a)
    cable.seen()
    a.send(a.sge(len(TEXT)))
    time.sleep(PAUSE)
    b.receive(b.sge(len(TEXT)))
    ends(a)
    ends(b)
    assert b.mr.read(len(TEXT), 0) == TEXT
    assert not [packet for packet in cable.seen() if packet.syndrome == NAK_SEQUENCE]


def foreign_bytes():
    """no response brings bytes that the request did not ask for"""
    cable = Cable(responses(Cable.CHANGED), with_bytes)
    a, b = sides()
    write(a, b, 100)
    ends(a, e.IBV_WC_BAD_RESP_ERR)
    assert a.mr.read(len(TEXT), 0) == TEXT
    cable.seen()


def slow():
    """a timer is for the next response, not for all"""
    cable = Cable(responses(Cable.LATE))
    a, b = sides()
    # Each packet of a READ has a response of its own
    a.send(a.sge(6 * MTU), to=b, opcode=READ)
    ends(a)
    assert numbers(cable.seen()) == list(range(6))


def stream_file():
    """the file of a stream has whole packets, and takes no other bytes"""
    path = sys.argv[3]
    end = os.open(path + ".stream", os.O_RDWR | os.O_NONBLOCK)
    refused(errno.EBUSY, os.open, path, os.O_RDWR)
    time.sleep(2 * PAUSE)
    refused(errno.EINVAL, os.read, end, OFFER - 1)
    assert len(os.read(end, 2 * OFFER - 1)) == OFFER
    more = os.read(end, 1 << 16)
    assert len(more) >= 2 * OFFER and len(more) % OFFER == 0, more
    refused(errno.EAGAIN, os.read, end, 1 << 16)
    for words in 0, 5, 1049, 2047:
        refused(errno.EPROTO, os.write, end, bytes([0, 2, 0, 1, words >> 8, words & 255]))
    # The rest of one that had begun is none of the next one
    assert os.write(end, more[:20]) == 20
    os.close(end)
    end = os.open(path + ".stream", os.O_RDWR)
    assert os.write(end, more) == len(more)
    os.close(end)


def always_refused():
    """a peer that waits for another packet is not asked for ever"""
    # No timer ends the message. A requester that asks a hundred times finds it arrived
    left = [Cable.CHANGED] * 100
    cable = Cable(lambda packet: left.pop() if packet.response and left else Cable.GOES, refusal)
    a, b = sides(timeout=0)
    write(a, b, 100)
    ends(a, e.IBV_WC_RETRY_EXC_ERR)
    cable.seen()


def credited():
    """a response with credits is as good as one without"""
    Cable(responses(Cable.CHANGED), with_credits)
    a, b = sides()
    write(a, b)
    ends(a)
    assert b.mr.read(len(TEXT), 0) == TEXT
    a.send(a.sge(8), to=b, opcode=ADD, atomic=(1, 0))
    ends(a)
    assert a.mr.read(8, 0) == TEXT[:8]
    assert b.mr.read(8, 0) != TEXT[:8]
    a.send(a.sge(len(TEXT)), to=b, opcode=READ)
    ends(a)
    assert a.mr.read(len(TEXT), 0) == b.mr.read(len(TEXT), 0)


def ends_short():
    """an RDMA WRITE that is shorter than it says is an invalid request"""
    Cable(responses(Cable.GOES, lambda packet: Cable.CHANGED), longer)
    for opcode, length in itertools.product((WRITE, WRITE_IMM), (0, 100, MTU, 3 * MTU)):
        a, b = sides()
        b.receive(b.sge(64))
        a.send(a.sge(length), to=b, opcode=opcode)
        ends(a, e.IBV_WC_REM_INV_REQ_ERR)
        ends(b, FLUSHED)


CASES = [several, fewer, slow, request_lost, one_for_several, responses_lost, read_lost, no_buffer,
         foreign_bytes, stream_file, always_refused, credited, ends_short]

if len(sys.argv) < 6:
    print(*(f"{case.__name__} {case.__doc__}" for case in CASES), sep="\n")
else:
    next(case for case in CASES if case.__name__ == sys.argv[5])()
