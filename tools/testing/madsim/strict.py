#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs that an adapter forgives nearly always, for strict.sh

strict.py DEVICE DEVICE CASE [well]. Each fails, or ends well, as on an adapter that is
fast. With well it makes no mistake. Without CASE, the names of all, behind what they show:
a mistake that is told, or "fails". NAME.TYPE is a case of this type of queue pairs. With -
instead of CASE it reads cases, as verbs.py does.
"""

import os
import sys
import time

from fabric import write
from rdma import (ADD, GRH, RC, READ, SEND, UC, UD, WRITE, WRITE_IMM, Side, connect, e, has_rings,
                  overtake, pair, serve, tasks_overtake)

LONG = b"y" * 3000


def in_order(steps, well):
    """The last two steps the other way round, if that is how they belong"""
    *first, one, other = steps
    for step in (*first, other, one) if well else (*first, one, other):
        step()


def changed(well, qp_type):
    """a part of the buffer of a send is used again before that has completed"""
    a, b = pair(qp_type)
    b.receive(b.sge(2048))
    a.mr.write(LONG, 2000)
    in_order((lambda: a.send(a.sge(1000), a.sge(1000, 1000), to=b),
              lambda: a.mr.write(b"n", 1, 1999), lambda: a.completes(0)), well)
    b.completes(0)
    assert b.mr.read(2000, GRH if qp_type == UD else 0) == LONG[:2000]


def deregistered(well, qp_type):
    """a region goes before the send that names it has completed"""
    a, b = pair(qp_type)
    b.receive(b.sge(2048))
    in_order((lambda: a.send(a.sge(64), to=b), a.mr.close, lambda: a.completes(0)), well)
    b.completes(0)


def full(well, qp_type):
    """sends for which no completion is ever asked: WRITEs, or datagrams"""
    a, b = pair(qp_type, sig_all=0, depth=9 if well else 8)
    what = {"to": b, "opcode": SEND if qp_type == UD else WRITE}
    for _ in range(8):
        a.send(a.sge(8), flags=0, **what)
    if well:
        a.sends(a.sge(8), **what)
    else:
        time.sleep(1)
    a.send(a.sge(8), flags=0, **what)


def no_buffer_send(well, opcode=SEND):
    """a send comes before its buffer, and lives by RNR retries"""
    a, b = pair(RC)
    in_order((lambda: a.send(a.sge(64), opcode=opcode, to=b, at=4096),
              lambda: (time.sleep(1), b.receive(b.sge(64)))), well)
    a.completes(0)
    b.completes(0)


def no_buffer_imm(well):
    """the same of a WRITE with immediate data, whose buffer takes no data"""
    no_buffer_send(well, WRITE_IMM)


def rd_atomic_read(well):
    """a READ without resources for it at the requester"""
    a, b = pair(RC, max_rd_atomic=int(well))
    a.sends(a.sge(64), opcode=READ, to=b)


def rd_atomic_add(well):
    """an atomic operation without resources for it at the responder"""
    a, b = pair(RC, max_dest_rd_atomic=int(well))
    a.sends(a.sge(8), opcode=ADD, to=b, atomic=(1, 0))


def short_cq_one(well):
    """a completion queue with room for half of what may complete"""
    Side(sys.argv[1], RC, cqe=16 if well else 8)


def short_cq_two(well):
    """one that has room for either of two queue pairs"""
    a = Side(sys.argv[1], RC, cqe=32 if well else 16)
    Side(sys.argv[1], UD, share=a)


def unread_recv(well):
    """a queue pair that is destroyed with a completion of it unread"""
    a, b = pair(RC)
    b.receive(b.sge(64))
    a.sends(a.sge(64))
    if well:
        b.completes(0)
    b.qp.close()


def unread_send(well):
    """the same, of a send whose message has come"""
    a, b = pair(UD)
    b.receive(b.sge(2048))
    a.send(a.sge(64), to=b)
    b.completes(0)
    if well:
        a.completes(0)
    a.qp.close()


def last_byte(well, qp_type):
    """a WRITE is taken to be complete when its last byte is there. A sender of UC knows as
    little as one of RC"""
    a, b = pair(qp_type)
    a.mr.write(LONG, 3000)
    if well:
        b.receive(b.sge(64, 4096))
    a.send(a.sge(3000), opcode=WRITE_IMM if well else WRITE, to=b)
    if well:
        b.completes(0)
        a.completes(0)
    while b.mr.read(1, 2999) != b"y":
        pass
    assert b.mr.read(3000, 0) == LONG


def reads(well, *pieces):
    a, b = pair(RC, size=1 << 16, path_mtu=e.IBV_MTU_256)
    end = sum(pieces)
    b.mr.write(b"y" * end, end)
    ends = [sum(pieces[:i]) for i in range(len(pieces))]
    a.send(*map(a.sge, pieces, ends), opcode=READ, to=b)
    if well:
        a.completes(0)
    while a.mr.read(1, end - 1) != b"y":
        pass
    assert a.mr.read(end, 0) == b"y" * end


def last_byte_read(well):
    """a READ is taken to be complete when its last byte is there"""
    reads(well, 1 << 16)


def last_piece_read(well):
    """one that goes to several pieces, when the last of them is there"""
    reads(well, 30000, 30000, 8)


def early_read(well):
    """what was in a buffer is taken to stay there where no data lands"""
    a, b = pair(RC)
    b.mr.write(b"x" * 64, 64)
    b.receive(b.sge(64))
    a.sends(a.sge(64 if well else 32))
    b.completes(0)
    assert b.mr.read(32, 32) == (b"\0" if well else b"x") * 32


def early_grh(well):
    """the same of the place for a GRH that does not come"""
    a, b = pair(UD)
    b.mr.write(b"x" * GRH, GRH)
    b.receive(b.sge(2048))
    a.sends(a.sge(32), to=b)
    b.completes(0)
    assert well or b.mr.read(GRH, 0) == b"x" * GRH


def at_once(well, qp_type):
    """a message is taken to have come when it was posted"""
    a, b = pair(qp_type)
    b.receive(b.sge(2048))
    a.mr.write(b"z", 1)
    a.send(a.sge(1), to=b)
    if well:
        b.completes(0)
        a.completes(0)
    assert b.mr.read(1, GRH if qp_type == UD else 0) == b"z"


def once(well, qp_type):
    """a completion is taken to be there when the data is"""
    a, b = pair(qp_type)
    # Several times: a program may have to wait for its turn long enough
    for number in range(1, 21):
        b.receive(b.sge(2048))
        a.mr.write(bytes([number]), 1)
        a.send(a.sge(1), to=b)
        while b.mr.read(1, GRH if qp_type == UD else 0) != bytes([number]):
            pass
        if well:
            b.completes(0)
        else:
            assert len(b.cq.poll(1)[1]) == 1
        a.completes(0)


def good(_):
    """a program without mistakes, which waits for events: each comes with a completion"""
    a, b = pair(RC, path_mtu=e.IBV_MTU_256, events=True)
    text = bytes(range(250)) * 10
    a.mr.write(text, 2500)
    for opcode, at in (SEND, 4096), (WRITE_IMM, 0):
        b.receive(b.sge(4096, 4096))
        b.cq.req_notify()
        a.send(a.sge(2500), opcode=opcode, to=b)
        assert b.told(10)
        assert [wc.status for wc in b.cq.poll(2)[1]] == [0]
        a.completes(0)
        assert b.mr.read(2500, at) == text
    a.sends(a.sge(2500, 4096), opcode=READ, to=b)
    assert a.mr.read(2500, 4096) == text


def soon(side, count):
    """Completions that come without anything that is done here, or what there is of them"""
    done = []
    for _ in range(200):
        done += side.cq.poll(count - len(done))[1]
        if len(done) == count:
            break
        time.sleep(0.05)
    return [wc.wr_id for wc in done]


def datagrams(_):
    """datagrams in a row: each once, in the order in which they were posted, with an event
    for a program that waits"""
    a, b = pair(UD, depth=16, inline=8, events=True)
    for number in range(16):
        b.receive(b.sge(64, 64 * number), wr_id=number)
    b.cq.req_notify()
    for number in range(16):
        a.mr.write(bytes([number]), 1, number)
        flags = e.IBV_SEND_SIGNALED | (e.IBV_SEND_INLINE if number % 2 else 0)
        a.send(a.sge(1, number), to=b, flags=flags, wr_id=number)
    assert b.told(10)
    for side in a, b:
        assert soon(side, 16) == list(range(16))
    assert [b.mr.read(1, 64 * n + GRH)[0] for n in range(16)] == list(range(16))


def not_strict(_):
    """a datagram that is posted when the fabric is strict no more, behind some that wait.
    They do, nearly always, when it is posted"""
    a, b = pair(UD)

    strict = "/sys/kernel/config/madsim/test/strict"
    for _ in range(10):
        write(strict, 1)
        b.receives(range(3))
        a.send(a.sge(8), to=b, wr_id=0)
        a.send(a.sge(8), to=b, wr_id=1)
        write(strict, 0)
        a.send(a.sge(8), to=b, wr_id=2)
        assert soon(a, 3) == [0, 1, 2]
        assert len(soon(b, 3)) == 3


def stands_still(_):
    """datagrams of a queue pair that stands still before they are sent, until it goes on"""
    a, b = pair(UD)
    for _ in range(20):
        b.receives(range(8))
        for number in range(8):
            a.send(a.sge(8), to=b, wr_id=number)
        a.turn(e.IBV_QPS_SQD)
        time.sleep(1)
        went = [wc.wr_id for wc in a.cq.poll(8)[1]]
        a.turn(e.IBV_QPS_RTS)
        assert went + soon(a, 8 - len(went)) == list(range(8))
        assert len(soon(b, 8)) == 8
        # All go while this program waits for its turn, now and then
        if len(went) < 8:
            return
    assert 0


def purged(_):
    """completions that are not handed out yet when another queue pair goes"""
    a, b = pair(RC)
    for number in range(1, 11):
        c, d = connect(Side(None, RC, share=a), Side(None, RC, share=b))
        b.receive(b.sge(64), wr_id=number)
        d.receive(d.sge(64))
        a.send(a.sge(8), wr_id=number)
        c.mr.write(b"z", 1)
        c.send(c.sge(1), wr_id=20)
        while d.mr.read(1, 0) != b"z":
            pass
        c.qp.close()
        # From a ring nothing is taken back
        kept = [20, number] if has_rings() else [number]
        assert sorted(soon(a, len(kept)), reverse=True) == kept
        time.sleep(0.1)
        a.silent()
        assert len(soon(b, 2)) == 2


def many(_):
    """more completions at once than are handed out in one go, with events for a program that
    waits, and comes at once"""
    # ksoftirqd, which brings the event, does not wait for the worker that hands them out either
    tasks_overtake(os.SCHED_FIFO, "ksoftirqd/")
    overtake(os.SCHED_FIFO)
    a = Side(sys.argv[1], RC, depth=3000, cqe=6000, events=True)
    a.qp.to_init(a.attr)
    a.receives(range(3000), 8)
    a.turn(e.IBV_QPS_ERR)
    done = []
    while len(done) < 3000:
        a.cq.req_notify()
        now = [wc.wr_id for wc in a.cq.poll(3000)[1]]
        assert now or a.told(10), f"no event, {len(done)} of 3000 completions"
        done += now
    assert done == list(range(3000))
    overtake(os.SCHED_OTHER)
    tasks_overtake(os.SCHED_OTHER, "ksoftirqd/")


def given_back(_):
    """datagrams of a queue pair that fails, or is reset, before they are sent"""
    flushed = e.IBV_WC_WR_FLUSH_ERR
    a, b = pair(UD)
    a.send(a.sge(8), to=b)
    a.send(a.sge(8, lkey=0), to=b)
    a.send(a.sge(8), to=b)
    a.completes(0, e.IBV_WC_LOC_PROT_ERR, flushed)
    a.turn(e.IBV_QPS_RTS)
    # Unless they go while this program waits for its turn
    for _ in range(20):
        a.send(a.sge(8), to=b)
        a.send(a.sge(8), to=b)
        a.turn(e.IBV_QPS_ERR)
        have = [wc.status for wc in a.completions(2)]
        a.turn(e.IBV_QPS_RESET)
        a.connect(b)
        if have == [flushed, flushed]:
            break
    else:
        assert 0, have
    for _ in range(20):
        for _ in range(8):
            a.send(a.sge(8), to=b)
        a.turn(e.IBV_QPS_RESET)
        time.sleep(1)
        went = len(a.cq.poll(8)[1])
        a.connect(b)
        if not went:
            break
    assert went == 0
    for number in range(8):
        a.send(a.sge(8), to=b, wr_id=number)
    assert [wc.wr_id for wc in a.completions(8)] == list(range(8))
    time.sleep(1)
    a.silent()


def several(_):
    """queue pairs that send at one time, each when its send before has completed"""
    pairs = [pair(qp_type) for qp_type in (RC, UC, UD, RC, UD)]
    for _ in range(4):
        for a, b in pairs:
            b.receive(b.sge(64))
            a.send(a.sge(8), to=b)
        for a, b in pairs:
            b.completes(0)
            a.completes(0)


CASES = {
    "changed": "changed.RC changed.UD",
    "deregistered": "deregistered.RC deregistered.UD",
    "full": "full.RC full.UD",
    "no_buffer": "no_buffer_send no_buffer_imm",
    "rd_atomic": "rd_atomic_read rd_atomic_add",
    "short_cq": "short_cq_one short_cq_two",
    "unread": "unread_recv unread_send",
    "fails": "last_byte.RC last_byte.UC last_byte_read last_piece_read early_read early_grh "
             "at_once.RC at_once.UD once.RC once.UD",
}


def run(case, well=""):
    """One case, here"""
    name, *qp_type = case.split(".")
    globals()[name](bool(well), *map(globals().get, qp_type))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        print(*(f"{kind} {case}" for kind in CASES for case in CASES[kind].split()), sep="\n")
    elif sys.argv[3] == "-":
        serve(run)
    else:
        run(*sys.argv[3:])
