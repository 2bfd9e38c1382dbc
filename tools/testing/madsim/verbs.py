#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What programs may do with verbs over the fabric, and what is refused

verbs.py DEVICE DEVICE CASE [DEVICE], for verbs.sh. Without CASE, the names of all. Some
cases need the third device, which gives its queue pairs the numbers that the first one
gives. With - instead of CASE it reads the names of cases, has a process for each, and
prints "ends STATUS" behind what that says: pyverbs takes longer to load than a case to
run. rdma.py has the queue pairs.
"""

import contextlib
import ctypes
import errno
import fcntl
import glob
import hashlib
import inspect
import itertools
import mmap
import os
import random
import re
import signal
import struct
import sys
import time
from types import SimpleNamespace

from fabric import Faults, never_comes, read, write
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, SendWR
from rdma import (ADD, ALL, FAULTS, FLUSHED, GRH, QKEY, RC, READ, SEND, SEND_IMM, SEND_INV, SWAP,
                  UC, UD, WRITE, WRITE_IMM, Side, connect, e, fault, has_rings, overtake, pair,
                  port, refused, serve, tasks_overtake)


def arrives(a, b):
    """A message, as it should"""
    b.receive(b.sge(64))
    a.sends(a.sge(64))
    b.completes(0)


def ud_pieces():
    """pieces at odd addresses"""
    a, b = pair(UD)
    text = bytes(range(256)) * 8
    a.mr.write(text, len(text), 3)
    b.receive(b.sge(100, 1), b.sge(5000, 4095), wr_id=7)
    a.sends(a.sge(1000, 3), a.sge(1, 1003), a.sge(1047, 1004), to=b)
    wc, = b.completions(1)
    assert (wc.status, wc.wr_id, wc.byte_len) == (0, 7, GRH + 2048)
    assert (wc.src_qp, wc.slid) == (a.qp.qp_num, a.lid)
    assert b.mr.read(60, 41) + b.mr.read(2048 - 60, 4095) == text


def ud_keys():
    """a send with a key that is not for it, and be it by its low byte"""
    foreign = Side(sys.argv[1], UD)
    for wrong in (lambda a: a.sge(8, lkey=0), lambda a: a.sge(8, lkey=0xdead00),
                  lambda a: a.sge(8, lkey=a.mr.lkey + 1), lambda a: a.sge(8, 16377),
                  lambda a: a.sge(8, -1), lambda _: foreign.sge(8)):
        a, b = pair(UD)
        b.receive(b.sge(4096))
        a.send(wrong(a), to=b)
        a.send(a.sge(8), to=b)
        a.completes(e.IBV_WC_LOC_PROT_ERR, FLUSHED)
        assert a.state() == e.IBV_QPS_SQE
        b.silent()


def ud_buffers():
    """a buffer that is too short, or read-only, fails the receiver alone"""
    for length, access, status in (
            (GRH + 99, ALL, e.IBV_WC_LOC_LEN_ERR),
            (4096, 0, e.IBV_WC_LOC_PROT_ERR)):
        a, b = pair(UD, there={"access": access})
        b.receive(b.sge(length))
        b.receive(b.sge(length))
        a.sends(a.sge(100), to=b)
        b.completes(status, FLUSHED)
        assert b.state() == e.IBV_QPS_ERR


def ud_refused():
    """more than the MTU, a Q_Key that is not the receiver's, an address of another domain"""
    for length, there, foreign, status in (
            (4097, {}, False, e.IBV_WC_LOC_LEN_ERR), (8, {"qkey": QKEY + 1}, False, 0),
            (8, {}, True, e.IBV_WC_LOC_QP_OP_ERR)):
        a, b = pair(UD, there=there)
        b.receive(b.sge(8192))
        other = PD(a.ctx)
        a.sends(a.sge(length), to=b, pd=other if foreign else a.pd, status=status)
        b.silent()
        a.ah.close()


def types():
    """queue pairs of one type do not hear those of another"""
    for qp_type in UD, UC:
        a, b = connect(Side(sys.argv[1], qp_type), Side(sys.argv[2], RC))
        b.receive(b.sge(4096))
        a.sends(a.sge(8), to=b)
        b.silent()
        assert b.state() == e.IBV_QPS_RTS


def posting():
    """too many pieces, too many buffers, wrong states"""
    a = Side(sys.argv[1], RC)
    # A program posts to a ring by itself, so it gets no error
    if not has_rings():
        refused(errno.EINVAL, a.receive, a.sge(8))
    a.qp.to_init(a.attr)
    refused(errno.EINVAL, a.send, a.sge(8))
    refused(errno.EINVAL, a.receive, *[a.sge(8)] * 5)
    a.receives(range(8), 8)
    refused(errno.ENOMEM, a.receive, a.sge(8))
    a, b = pair(RC)
    refused(errno.EINVAL, a.send, *[a.sge(8)] * 5)
    refused(errno.EINVAL, a.send, a.sge(8), opcode=e.IBV_WR_TSO)
    a, b = pair(UC)
    refused(errno.EINVAL, a.send, a.sge(8), opcode=READ, to=b)


def inline():
    """inline data is what it was when it was posted, and needs no key"""
    flags = e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE
    text = bytes(range(1, 253)) + bytes(range(1, 253)) + b"8 bytes."
    for qp_type in UD, UC, RC:
        a, b = pair(qp_type, inline=512, path_mtu=e.IBV_MTU_256)
        assert a.qp.query(0)[1].cap.max_inline_data == 512
        # Datagrams have a header in front, and UC loses what has no buffer
        grh = GRH if qp_type == UD else 0
        late = qp_type == RC
        if not late:
            b.receive(b.sge(1024))
        a.mr.write(text, 512, 3)
        a.send(a.sge(500, 3, lkey=1), a.sge(12, 503, lkey=0), to=b, flags=flags)
        a.mr.write(bytes(1024), 1024)
        if late:
            b.receive(b.sge(1024))
        a.completes(0)
        assert b.completions(1)[0].byte_len == grh + 512
        assert b.mr.read(512, grh) == text
        refused(errno.EINVAL, a.send, a.sge(512), a.sge(1), to=b, flags=flags)
        refused(errno.EFAULT, a.send, SGE(0, 8, a.mr.lkey), to=b, flags=flags)
    a.mr.write(text, 512)
    a.sends(a.sge(512, lkey=1), flags=flags, opcode=WRITE, to=b, at=9)
    assert b.mr.read(512, 9) == text
    refused(errno.EINVAL, a.send, a.sge(8), flags=flags, opcode=READ, to=b)
    a, b = pair(RC, inline=16)
    refused(errno.EINVAL, a.send, a.sge(17), flags=flags)


def small(cq, qp_type=UD, **more):
    """Of a queue pair that has one of each, if not told otherwise"""
    one = dict.fromkeys(("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge"), 1)
    return QPInitAttr(qp_type=qp_type, scq=cq, rcq=cq,
                      cap=QPCap(**{**one, "max_inline_data": 0, **more}))


def limits():
    """what a device does not have"""
    a = Side(sys.argv[1], UD)
    device = a.ctx.query_device()
    assert device.max_qp == (4096 - 512) // 2
    for qp_type, cap in (
            (0, {}), (1, {}), (RC, {"max_send_wr": device.max_qp_wr + 1}),
            (RC, {"max_recv_sge": device.max_sge + 1}), (RC, {"max_inline_data": 513})):
        refused(errno.EINVAL, QP, a.pd, small(a.cq, qp_type, **cap))
    refused(errno.EOPNOTSUPP, MR, a.pd, 64, e.IBV_ACCESS_MW_BIND)
    refused(errno.EINVAL, CQ, a.ctx, device.max_cqe + 1, None, None, 0)
    refused(errno.EINVAL, SRQ, a.pd, SrqInitAttr(SrqAttr(max_wr=device.max_srq_wr + 1, max_sge=1)))


def resized_shared():
    """a long shared receive queue that becomes longer and shorter, with what is in it"""
    a = Side(sys.argv[1], UD, srq=True, cqe=2000, depth=1000)
    a.connect(a)

    def resize(count):
        a.srq.modify(SrqAttr(max_wr=count), e.IBV_SRQ_MAX_WR)

    a.receives(range(5))
    a.send(a.sge(8), to=a)
    a.completes(0, 0)
    resize(900)
    a.receives(range(5, 901))
    for count in 2000, 900, 1000:
        resize(count)
    a.receives(range(901, 1001))
    refused(errno.ENOMEM, a.receive, a.sge(64))
    for _ in range(1000):
        a.send(a.sge(8), to=a)
    done = a.completions(2000)
    assert [wc.wr_id for wc in done if wc.opcode & e.IBV_WC_RECV] == [*range(1, 1001)]


def flushed_many():
    """a queue pair that fails gives back all in order, and then what is posted meanwhile"""
    for qp_type in RC, UC:
        a, b = pair(qp_type, depth=1000, cqe=2500)
        a.drain()
        a.hears(e.IBV_EVENT_SQ_DRAINED)
        for number in range(1000):
            a.receive(a.sge(8), wr_id=number)
            if number < 999:
                a.send(a.sge(8, lkey=0), opcode=WRITE, to=b, wr_id=2000 + number)
        if qp_type == RC:
            a.turn(e.IBV_QPS_ERR)
            a.send(a.sge(8), opcode=WRITE, to=b, wr_id=2999)
            first = FLUSHED
        else:
            # The worker has given back only some when the state changes again
            overtake(os.SCHED_FIFO)
            a.turn(e.IBV_QPS_RTS)
            first = e.IBV_WC_LOC_PROT_ERR
            while a.state() != e.IBV_QPS_SQE:
                time.sleep(0.01)
            a.turn(e.IBV_QPS_RTS)
            overtake(os.SCHED_OTHER)
            a.send(a.sge(8), opcode=WRITE, to=b, wr_id=2999)
        count = 2000 if qp_type == RC else 1000
        done = a.completions(count)
        sends = [wc for wc in done if wc.wr_id >= 2000]
        assert [wc.wr_id for wc in sends] == [*range(2000, 3000)]
        last = FLUSHED if qp_type == RC else 0
        assert [wc.status for wc in sends] == [first, *[FLUSHED] * 998, last]
        assert [wc.wr_id for wc in done if wc.wr_id < 2000] == [*range(count - 1000)]
        a.silent()
    # Each queue by itself: neither has the other one looked at again
    for sends in False, True:
        a, b = pair(UC if sends else RC, depth=1000, cqe=1000)
        a.drain()
        a.hears(e.IBV_EVENT_SQ_DRAINED)
        for number in range(1000):
            if sends:
                a.send(a.sge(8, lkey=0), opcode=WRITE, to=b, wr_id=number)
            else:
                a.receive(a.sge(8), wr_id=number)
        # The first send fails all
        a.turn(e.IBV_QPS_RTS if sends else e.IBV_QPS_ERR)
        assert [wc.wr_id for wc in a.completions(1000)] == [*range(1000)]


def told():
    """what a device says of itself"""
    device = Context(name=sys.argv[1]).query_device()
    for flag in e.IBV_DEVICE_CURR_QP_STATE_MOD, e.IBV_DEVICE_PORT_ACTIVE_EVENT:
        assert device.device_cap_flags & flag
    assert device.local_ca_ack_delay == 15
    assert device.fw_version == read(f"/sys/class/infiniband/{sys.argv[1]}/fw_ver") == "1.0.0"


def srq_shared():
    """a shared receive queue, and its limit"""
    a, b = pair(RC, there={"srq": True})
    b.receives(range(3))
    b.srq.modify(SrqAttr(srq_limit=2), e.IBV_SRQ_LIMIT)
    a.sends(a.sge(8))
    assert b.srq.query().srq_limit == 2
    a.sends(a.sge(8))
    assert [wc.wr_id for wc in b.completions(2)] == [0, 1]
    event = b.event()
    while event == e.IBV_EVENT_COMM_EST:
        event = b.event()
    assert event == e.IBV_EVENT_SRQ_LIMIT_REACHED
    assert b.srq.query().srq_limit == 0
    refused(errno.EINVAL, b.srq.modify, SrqAttr(srq_limit=9), e.IBV_SRQ_LIMIT)
    refused(errno.EOPNOTSUPP, b.srq.modify, SrqAttr(max_wr=4), 4)


def resized():
    """queues that become longer and shorter, with what is in them"""
    a = Side(sys.argv[1], UD, srq=True, cqe=9)
    a.connect(a)

    def srq(count, mask=e.IBV_SRQ_MAX_WR, limit=0):
        a.srq.modify(SrqAttr(max_wr=count, srq_limit=limit), mask)

    # So that neither ring begins at its first entry
    for _ in range(5):
        a.receive(a.sge(64), wr_id=5)
        a.send(a.sge(8), to=a)
        a.completes(0, 0)
    a.receives(range(4))
    most = a.ctx.query_device()
    for count in 0, 3, most.max_srq_wr + 1:
        refused(errno.EINVAL, srq, count)
    refused(errno.EINVAL, srq, 4, e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT, 5)
    srq(4)
    refused(errno.ENOMEM, a.receive, a.sge(64))
    srq(6, e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT, 5)
    refused(errno.EINVAL, srq, 4)
    assert a.srq.query().max_wr == 6
    a.receives((4, 5))
    refused(errno.ENOMEM, a.receive, a.sge(64))
    for _ in range(4):
        a.send(a.sge(8), to=a)
    for count in 0, 7, most.max_cqe + 1:
        refused(errno.EINVAL, a.cq.resize, count)
    a.cq.resize(8)
    a.cq.resize(12)
    assert a.cq.cqe == 12
    for _ in range(2):
        a.send(a.sge(8), to=a)
    done = a.completions(12)
    assert all(wc.status == 0 for wc in done)
    assert [wc.wr_id for wc in done if wc.opcode & e.IBV_WC_RECV] == [*range(6)]


def resized_full():
    """a long completion queue that becomes longer and shorter, with what is in it"""
    a = Side(sys.argv[1], UD, depth=1500, cqe=1000)
    a.connect(a)
    sent = taken = 0

    def send(count):
        nonlocal sent
        for _ in range(count):
            a.send(a.sge(8), to=a, wr_id=sent)
            sent += 1

    def take(count):
        nonlocal taken
        assert [wc.wr_id for wc in a.completions(count)] == [*range(taken, taken + count)]
        taken += count

    send(700)
    take(600)
    send(900)
    for size in 1000, 2049, 1001, 1024:
        a.cq.resize(size)
    take(100)
    send(124)
    take(1024)
    a.silent()


def taken_at_once():
    """a program takes more completions at once than the kernel looks at in one turn"""
    a = Side(sys.argv[1], UD, depth=600, cqe=1300)
    b = Side(None, UD, share=a)
    for side, count in (a, 600), (b, 8):
        side.connect(side)
        for _ in range(count):
            side.send(side.sge(8), to=side)
    for _ in range(2):
        assert len(a.completions(608)) == 608
        b.send(b.sge(8), to=b)
        for side, count in (a, 600), (b, 7):
            for _ in range(count):
                side.send(side.sge(8), to=side)
        refused(errno.ENOMEM, b.send, b.sge(8), to=b)
    a.completions(608)
    a.cq.resize(1200)
    a.silent()


def srq_last():
    """who fails takes no more of what is shared, and says so"""
    a = Side(sys.argv[1], RC, srq=True)
    a.receive(a.sge(64))
    a.qp.to_init(a.attr)
    a.turn(e.IBV_QPS_ERR)
    a.hears(e.IBV_EVENT_QP_LAST_WQE_REACHED)
    a.silent()


def cq_events():
    """which completions are told of, once"""
    a, b = pair(RC, there={"events": True})
    solicited = e.IBV_SEND_SIGNALED | e.IBV_SEND_SOLICITED
    b.receives(range(8))

    def after(flags):
        a.sends(a.sge(8), flags=flags)
        return b.told()

    assert not after(solicited)
    b.cq.req_notify(True)
    assert not after(e.IBV_SEND_SIGNALED)
    assert after(solicited)
    assert not after(solicited)
    b.cq.req_notify(False)
    assert after(e.IBV_SEND_SIGNALED)
    b.cq.req_notify(True)
    b.turn(e.IBV_QPS_ERR)
    assert b.told(20)


def cq_purged():
    """what a queue pair that is gone has completed goes with it but from a ring, and no more"""
    a = Side(sys.argv[1], UD)
    b = Side(None, UD, share=a)
    for side in a, b, a, b:
        if side.state() == e.IBV_QPS_RESET:
            side.connect(side)
        side.receive(side.sge(4096))
        side.send(side.sge(8), to=side)
    a.qp.close()
    done = b.completions(8 if has_rings() else 4)
    assert len([wc for wc in done if wc.qp_num == b.qp.qp_num]) == 4
    b.silent()


def cq_purged_full():
    """likewise of a long completion queue, which has room then"""
    a = Side(sys.argv[1], UD, depth=1200, cqe=1800 if has_rings() else 1200)
    b = Side(None, UD, depth=1200, share=a)
    a.connect(a)
    b.connect(b)
    for number in range(600):
        for side in a, b:
            side.send(side.sge(8), to=side, wr_id=number)
    a.qp.close()
    for number in range(600, 1200):
        b.send(b.sge(8), to=b, wr_id=number)
    done = b.completions(1800 if has_rings() else 1200)
    assert [wc.wr_id for wc in done if wc.qp_num == b.qp.qp_num] == [*range(1200)]
    b.silent()
    assert b.state() == e.IBV_QPS_RTS


def cq_overflow():
    """a completion queue that is full is told of, and fails those that need it"""
    a = Side(sys.argv[1], UD, cqe=1)
    b = Side(None, UD, share=a)
    a.connect(a)
    b.connect(b)
    a.send(a.sge(8), to=a)
    a.send(a.sge(8), to=a)
    a.hears(e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL)
    assert (a.state(), b.state()) == (e.IBV_QPS_ERR, e.IBV_QPS_RTS)
    a.completes(0)
    # There is room, but there may have been others that are lost
    b.send(b.sge(8), to=b)
    a.hears(e.IBV_EVENT_QP_FATAL)
    assert b.state() == e.IBV_QPS_ERR
    a.silent()


def cq_overflow_connected():
    """the same of those that receive, and share their buffers"""
    a, b = pair(RC, there={"srq": True, "cqe": 1})
    for _ in range(2):
        b.receive(b.sge(64))
        a.send(a.sge(8))
    b.hears(e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL, e.IBV_EVENT_QP_LAST_WQE_REACHED)
    assert b.state() == e.IBV_QPS_ERR
    b.completes(0)


def other_user(finds):
    """Another user finds this true, as the first one has left enough"""
    child = os.fork()
    if not child:
        os.setuid(65534)
        os._exit(not finds())
    assert os.waitpid(child, 0)[1] == 0


def small_queue_pairs(ctx):
    """As many as there are, and one completion queue"""
    pd, cq = PD(ctx), CQ(ctx, 1, None, None, 0)
    have = [pd, cq]
    try:
        while True:
            have.append(QP(pd, small(cq)))
    except PyverbsRDMAError as error:
        assert error.error_code == errno.ENOSPC, error
    return have


def shares():
    """the queue pairs that a user gets leave some to the next user, and to the kernel"""
    mine = small_queue_pairs(Context(name=sys.argv[1]))
    assert 1700 < len(mine) - 2 <= (4096 - 512) // 2, len(mine)
    other_user(lambda: len(small_queue_pairs(Context(name=sys.argv[1]))) >= 800)
    for qp in mine[-100:]:
        qp.close()
    again = [QP(mine[0], small(mine[1])) for _ in range(100)]
    for qp in again:
        qp.close()


def small_regions(count):
    """Of a page each, until there are so many, or no more; how many, and what keeps them.
    Each is a call of the kernel, as pyverbs is slow"""
    ctx = Context(name=sys.argv[1])
    pd = PD(ctx)
    page, keys = mmap.mmap(-1, mmap.PAGESIZE), ctypes.create_string_buffer(12)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    call = struct.pack("=IHHQQQQII", 9, 12, 3, ctypes.addressof(keys), start, mmap.PAGESIZE,
                       start, pd.handle, ALL)
    for number in range(count):
        try:
            os.write(ctx.cmd_fd, call)
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
            return number, pd
    return count, pd


def regions():
    """the same of regions, whose number is what their keys are"""
    count, _pd = small_regions(20000)
    assert 16000 < count <= 32768 // 2, count
    other_user(lambda: small_regions(1000)[0] == 1000)


def until_refused(function):
    """What it makes, as often as there is memory"""
    made = []
    try:
        for _ in range(5000):
            made.append(function())
    except PyverbsRDMAError as error:
        assert error.error_code == errno.ENOMEM, error
    return made


def memory():
    """the memory that a user gets for queues leaves some to the next user, and all counts"""
    def queues(ctx):
        """In all, and the last of them for one entry"""
        return [cq for bits in range(18, -1, -1)
                for cq in until_refused(lambda: CQ(ctx, 1 << bits, None, None, 0))]

    def count(kind):
        made = until_refused(kind)
        for one in made:
            one.close()
        return len(made)

    ctx = Context(name=sys.argv[1])
    pd, cq = PD(ctx), CQ(ctx, 1, None, None, 0)
    attr = AHAttr(dlid=1, port_num=1, is_global=0)
    for one in until_refused(lambda: QP(pd, small(cq, RC, max_send_wr=8192, max_send_sge=32))):
        one.close()
    have = queues(ctx)
    sizes = [one.cqe for one in have]
    kinds = (lambda: AH(pd, attr=attr), lambda: PD(ctx), lambda: MR(pd, 64, ALL),
             lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=1, max_sge=1))),
             lambda: QP(pd, small(cq)))
    assert max(map(count, kinds)) < 4
    # There is room for some objects of each kind again, and not for all
    spare = next(one for one in reversed(have) if one.cqe >= 64)
    have.remove(spare)
    spare.close()
    counts = [*map(count, kinds)]
    assert 0 < min(counts) and max(counts) < 1000, counts
    refused(errno.ENOMEM, cq.resize, 1 << 17)
    other_user(lambda: queues(Context(name=sys.argv[1]))[0].cqe >= 1 << 16)
    # What goes counts no more, nor what is shorter
    for one in have:
        one.close()
    for _ in range(16):
        one = CQ(ctx, 1 << 14, None, None, 0)
        one.resize(1)
        one.close()
    assert [one.cqe for one in queues(ctx)] == sizes


def container():
    """a container is one user, however many it has"""
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        # CLONE_NEWUSER
        assert ctypes.CDLL(None).unshare(0x10000000) == 0
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os.setresuid(0, 0, 0)
        mine = small_queue_pairs(Context(name=sys.argv[1]))
        assert len(mine) > 1700
        other = os.fork()
        if not other:
            os.setresuid(5, 5, 5)
            os._exit(len(small_queue_pairs(Context(name=sys.argv[1]))) - 2)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
    os.read(ready[0], 1)
    write(f"/proc/{child}/uid_map", "0 100000 1000")
    os.write(done[1], b"x")
    assert os.waitpid(child, 0)[1] == 0


def join(ctx, handle, number, command=30):
    """Have a queue pair in a group. pyverbs has no call for that, and does not tell the
    number by which the kernel knows a queue pair"""
    gid = bytes([0xff, 0x12, *bytes(10), *number.to_bytes(4, "big")])
    try:
        os.write(ctx.cmd_fd, struct.pack("=IHH16sIHH", command, 8, 0, gid, handle, 0xc001, 0))
    except OSError as error:
        return error.errno
    return 0


def leave(ctx, handle, number):
    assert not join(ctx, handle, number, 31)


def groups():
    """a group has 64 members of a device, and a user has not all of them, nor all memberships"""
    ctx = Context(name=sys.argv[1])
    pd, cq = PD(ctx), CQ(ctx, 1, None, None, 0)
    some = [QP(pd, small(cq)) for _ in range(30)]
    done = [join(ctx, handle, 1) for handle in range(50)]
    assert done.count(0) == (64 - 16) // 2 and done.count(errno.ENOSPC) == 6, done

    def joins_too():
        other = Context(name=sys.argv[1])
        kept = PD(other), CQ(other, 1, None, None, 0)
        kept += tuple(QP(kept[0], small(kept[1])) for _ in range(4))
        return [join(other, handle, 1) for handle in range(20)].count(0) >= 4

    other_user(joins_too)
    handle, more = done.index(0), 0
    while not join(ctx, handle, 2 + more):
        more += 1
    assert join(ctx, handle, 2 + more) == errno.ENOSPC
    assert 24 + more == (1024 - 256) // 2, more
    for number in range(more):
        leave(ctx, handle, 2 + number)
    assert not join(ctx, handle, 2)
    leave(ctx, handle, 2)
    for handle, error in enumerate(done):
        if not error:
            leave(ctx, handle, 1)
    for qp in some:
        qp.close()


def data(qp_type, **attributes):
    a, b = pair(qp_type, **attributes)
    text = bytes(range(251)) * 20
    a.mr.write(text, len(text), 5)
    pieces = a.sge(1023, 5), a.sge(2, 1028), a.sge(len(text) - 1025, 1030)
    b.receive(b.sge(17, 1), b.sge(8192, 101))
    a.sends(*pieces)
    wc, = b.completions(1)
    assert (wc.status, wc.byte_len) == (0, len(text))
    assert b.mr.read(17, 1) + b.mr.read(len(text) - 17, 101) == text
    b.mr.write(bytes(16384), 16384)
    a.sends(*pieces, opcode=WRITE, to=b, at=77)
    assert b.mr.read(len(text) + 2, 76) == b"\0" + text + b"\0"
    b.silent()
    if qp_type == RC:
        a.mr.write(bytes(16384), 16384)
        a.sends(a.sge(1, 9), a.sge(len(text) - 1, 8000), opcode=READ, to=b, at=77)
        assert a.mr.read(1, 9) + a.mr.read(len(text) - 1, 8000) == text
    return b


def rc_data():
    """SEND, WRITE and READ of several packets, at odd addresses"""
    data(RC)


def rc_psn_wraps():
    """the number of a packet begins again at 0"""
    b = data(RC, sq_psn=0xfffffe, rq_psn=0xfffffe, path_mtu=e.IBV_MTU_256)
    assert b.qp.query(e.IBV_QP_RQ_PSN)[0].rq_psn < 1000


def rc_wrong_psn():
    """both have another number in mind"""
    a, b = pair(RC, sq_psn=5)
    b.receive(b.sge(64))
    a.sends(a.sge(8), status=e.IBV_WC_RETRY_EXC_ERR)
    b.silent()


def rc_wrong_mtu():
    """packets with more, or with less, than the other end's path takes"""
    for opcode, there, length in (
            (READ, e.IBV_MTU_256, 257), (SEND, e.IBV_MTU_256, 257),
            (WRITE, e.IBV_MTU_256, 257), (SEND, e.IBV_MTU_2048, 1025)):
        a, b = pair(RC, there={"path_mtu": there})
        b.receive(b.sge(4096))
        a.sends(a.sge(length), opcode=opcode, to=b, status=e.IBV_WC_REM_INV_REQ_ERR)
        b.completes(FLUSHED)


def rc_rd_atomic():
    """READ and atomic operations need resources at both ends"""
    for name, status in ("max_rd_atomic", e.IBV_WC_LOC_QP_OP_ERR), \
            ("max_dest_rd_atomic", e.IBV_WC_REM_INV_REQ_ERR):
        a, b = pair(RC, **{name: 0})
        a.sends(a.sge(64), opcode=READ, to=b, status=status)
        a, b = pair(RC, **{name: 0})
        atomic(a, b, ADD, 1)
        a.completes(status)


def write_beyond():
    """a WRITE that ends beyond its region writes none of it, and waits for no buffer"""
    for qp_type, status in (RC, e.IBV_WC_REM_ACCESS_ERR), (UC, 0):
        a, b = pair(qp_type)
        a.mr.write(b"y" * 3000, 3000)
        a.sends(a.sge(3000), opcode=WRITE, to=b, at=16384 - 2999, status=status)
        assert b.mr.read(2999, 16384 - 2999) == bytes(2999)
    a, b = pair(RC, rnr_retry=0)
    a.sends(a.sge(8), opcode=WRITE_IMM, to=b, at=16384 - 7, status=e.IBV_WC_REM_ACCESS_ERR)


def atomic(a, b, opcode, compare, swap=0, at=8, length=8):
    a.send(a.sge(length), opcode=opcode, to=b, at=at, atomic=(compare, swap))


def rc_atomic():
    """each atomic operation, done once, and what it returns"""
    a, b = pair(RC)
    b.mr.write(struct.pack("=Q", 40), 8, 8)
    for arguments, old, new in ((ADD, 2), 40, 42), ((SWAP, 41, 7), 42, 42), \
            ((SWAP, 42, 7), 42, 7), ((ADD, 2 ** 64 - 8), 7, 2 ** 64 - 1):
        atomic(a, b, *arguments)
        a.completes(0)
        assert struct.unpack("=Q", a.mr.read(8, 0)) == (old,)
        assert struct.unpack("=Q", b.mr.read(8, 8)) == (new,)


def rc_atomic_refused():
    """an atomic operation at an odd address, of another length, without access"""
    for there, at, length, status in (
            ({}, 4, 8, e.IBV_WC_REM_INV_REQ_ERR), ({}, 8, 4, e.IBV_WC_LOC_LEN_ERR),
            ({"qp_access_flags": ALL & ~e.IBV_ACCESS_REMOTE_ATOMIC}, 8, 8,
             e.IBV_WC_REM_ACCESS_ERR),
            ({"access": ALL & ~e.IBV_ACCESS_REMOTE_ATOMIC}, 8, 8,
             e.IBV_WC_REM_ACCESS_ERR)):
        a, b = pair(RC, there=there)
        atomic(a, b, ADD, 1, at=at, length=length)
        a.completes(status)
        assert b.mr.read(16, 0) == bytes(16)


def rc_imm():
    """immediate data, with a SEND and with a WRITE, which takes a buffer for it"""
    a, b = pair(RC, rnr_retry=0)
    a.mr.write(b"y" * 3000, 3000)
    for opcode, received in (SEND_IMM, e.IBV_WC_RECV), (WRITE_IMM, e.IBV_WC_RECV_RDMA_WITH_IMM):
        b.receive(b.sge(4096, 8192), wr_id=9)
        a.sends(a.sge(3000), opcode=opcode, to=b, imm=0x1020304)
        wc, = b.completions(1)
        assert (wc.opcode, wc.wr_id, wc.byte_len) == (received, 9, 3000)
        assert (wc.wc_flags & e.IBV_WC_WITH_IMM, wc.imm_data) == (e.IBV_WC_WITH_IMM, 0x1020304)
    assert b.mr.read(3000, 0) == b"y" * 3000
    a.sends(a.sge(8), opcode=opcode, to=b, status=e.IBV_WC_RNR_RETRY_EXC_ERR)


def rc_drained():
    """SQD: what is posted waits"""
    a, b = pair(RC)
    a.drain()
    a.hears(e.IBV_EVENT_SQ_DRAINED)
    a.send(a.sge(8), opcode=WRITE, to=b)
    a.silent()
    a.turn(e.IBV_QPS_RTS)
    a.completes(0)


def rc_drained_unasked():
    """SQD: no event for a program that asked for none"""
    a, b = pair(RC, srq=True)
    a.turn(e.IBV_QPS_SQD)
    a.turn(e.IBV_QPS_ERR)
    a.hears(e.IBV_EVENT_QP_LAST_WQE_REACHED)


def rc_drains():
    """SQD: a message that has begun is sent to its end, and no other"""
    a, b = pair(RC)
    a.mr.write(b"y" * 3000, 3000)
    # The last packet of three waits for a buffer
    a.send(a.sge(3000), opcode=WRITE_IMM, to=b)
    a.send(a.sge(8), opcode=WRITE, to=b, at=4096)
    a.drain()
    assert a.qp.query(0)[0].sq_draining
    refused(errno.EINVAL, a.turn, e.IBV_QPS_RTS)
    b.receive(b.sge(64))
    a.completes(0)
    a.hears(e.IBV_EVENT_SQ_DRAINED)
    assert not a.qp.query(0)[0].sq_draining
    assert b.mr.read(3000, 0) == b"y" * 3000
    a.silent()
    assert b.mr.read(8, 4096) == bytes(8)
    a.turn(e.IBV_QPS_RTS)
    a.completes(0)
    assert b.mr.read(8, 4096) == b"y" * 8


def rc_reset():
    """a queue pair that was reset has no buffer any more, and no send"""
    a, b = pair(RC, rnr_retry=0)
    b.turn(e.IBV_QPS_SQD)
    b.receive(b.sge(64))
    b.send(b.sge(8), opcode=WRITE, to=a)
    b.turn(e.IBV_QPS_RESET)
    b.connect(a)
    b.silent()
    a.sends(a.sge(8), status=e.IBV_WC_RNR_RETRY_EXC_ERR)


def states():
    """a state that the queue pair is not in"""
    for qp_type in UD, RC:
        a = Side(sys.argv[1], qp_type)
        a.attr.qp_state, a.attr.cur_qp_state = e.IBV_QPS_RTS, e.IBV_QPS_RTR
        a.attr.sq_psn = 1
        mask = e.IBV_QP_STATE | e.IBV_QP_CUR_STATE | e.IBV_QP_SQ_PSN
        if qp_type == RC:
            mask |= (e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT | e.IBV_QP_RNR_RETRY |
                     e.IBV_QP_MAX_QP_RD_ATOMIC)
        refused(errno.EINVAL, a.qp.modify, a.attr, mask)
        assert a.state() == e.IBV_QPS_RESET
        refused(errno.EINVAL, a.send, a.sge(8), to=a)


def uc_data():
    """UC: SEND and WRITE of several packets"""
    data(UC)


def rc_empty():
    """messages without data need no key"""
    a, b = pair(RC)
    b.receive(b.sge(0, lkey=1))
    nothing, nowhere = a.sge(0, lkey=1), SimpleNamespace(mr=SimpleNamespace(rkey=1, buf=1))
    for opcode in SEND, WRITE, READ:
        a.send(nothing, opcode=opcode, to=nowhere)
    a.completes(0, 0, 0)
    wc, = b.completions(1)
    assert (wc.status, wc.byte_len) == (0, 0)


def rc_access():
    """keys and access rights of the responder"""
    for opcode, access in (WRITE, e.IBV_ACCESS_REMOTE_WRITE), (READ, e.IBV_ACCESS_REMOTE_READ):
        for there, at, wrong in (
                ({}, 0, 0x100), ({}, 0, 1), ({}, 16384 - 63, 0), ({}, -1, 0),
                ({"access": ALL & ~access}, 0, 0), ({"qp_access_flags": ALL & ~access}, 0, 0)):
            a, b = pair(RC, there=there)
            b.mr.write(b"x" * 16384, 16384)
            a.send(a.sge(64), opcode=opcode, to=b, at=at, wrong=wrong)
            a.send(a.sge(64), opcode=opcode, to=b)
            a.completes(e.IBV_WC_REM_ACCESS_ERR, FLUSHED)
            assert (a.state(), b.state()) == (e.IBV_QPS_ERR, e.IBV_QPS_ERR)
            assert b.mr.read(16384, 0) == b"x" * 16384


def rc_deregistered():
    """a region that is gone"""
    a, b = pair(RC)
    gone = SimpleNamespace(mr=SimpleNamespace(rkey=b.mr.rkey, buf=b.mr.buf))
    spare = MR(b.pd, 16384, ALL)
    b.mr.close()
    a.sends(a.sge(64), opcode=WRITE, to=gone, status=e.IBV_WC_REM_ACCESS_ERR)
    spare.close()


def rc_too_long():
    """a message longer than the buffer"""
    for length in 100, 3000:
        a, b = pair(RC)
        b.receive(b.sge(length - 1))
        b.receive(b.sge(64))
        a.sends(a.sge(length), status=e.IBV_WC_REM_INV_REQ_ERR)
        b.completes(e.IBV_WC_LOC_LEN_ERR, FLUSHED)


def rc_own_error():
    """a buffer that is too short is no invalid request"""
    a, b = pair(RC, there={"srq": True})
    b.receive(b.sge(63))
    a.send(a.sge(64))
    b.completes(e.IBV_WC_LOC_LEN_ERR)
    b.hears(e.IBV_EVENT_QP_LAST_WQE_REACHED)


def rc_invalidate():
    """a key is invalidated by a message that is good"""
    for length, status, there in ((64, e.IBV_WC_REM_ACCESS_ERR, FLUSHED),
                                  (65, e.IBV_WC_REM_INV_REQ_ERR, e.IBV_WC_LOC_LEN_ERR)):
        a, b = pair(RC)
        b.receive(b.sge(64))
        a.sends(a.sge(length), opcode=SEND_INV, imm=1, status=status)
        b.completes(there)


def ud_length():
    """a datagram has its length on the link, whatever was sent before"""
    def counted(name):
        return int(port(sys.argv[1], f"counters/port_xmit_{name}"))

    a, b = pair(UD)
    while True:
        c, d = pair(RC, timeout=1, retry_cnt=0)
        d.qp.close()
        c.sends(c.sge(8), opcode=SEND_INV, imm=1, status=e.IBV_WC_RETRY_EXC_ERR)
        packets, words = counted("packets"), counted("data")
        a.sends(a.sge(8), to=b)
        packets, words = counted("packets") - packets, counted("data") - words
        if packets == 1:
            break
    # LRH, BTH, DETH and ICRC
    assert words * 4 == 8 + 12 + 8 + 8 + 4, words


def ud_grh():
    """the GRH that a datagram arrives with"""
    a, b = pair(UD, grh=True)
    for length, opcode, imm in (440, SEND, 0), (441, SEND, 0), (441, SEND_IMM, 4):
        b.receive(b.sge(1024))
        a.sends(a.sge(length), to=b, opcode=opcode)
        wc, = b.completions(1)
        assert wc.wc_flags & e.IBV_WC_GRH
        first, paylen, header = struct.unpack(">IHB", b.mr.read(7, 0))
        assert (first >> 28, header) == (6, 0x1b)
        # BTH, DETH, immediate data, padding and ICRC
        assert paylen == 12 + 8 + imm + -(-length // 4) * 4 + 4, paylen


def routed():
    """A message of many packets to another subnet"""
    a, b = pair(RC, size=1 << 20)
    text = random.Random(1).randbytes(1 << 20)
    a.mr.write(text, 1 << 20)
    a.sends(a.sge(1 << 20), opcode=WRITE, to=b)
    assert b.mr.read(1 << 20, 0) == text


def unrouted():
    """What a router does not send on: without a GRH, or another hop, to nobody, to a subnet
    that is not there, and back"""
    a, b = pair(UD)
    here, there = (int(side.gid.gid.replace(":", ""), 16) for side in (a, b))
    for is_global, hops, to in (
            (1, 2, there), (0, 2, there), (1, 1, there), (1, 0, there), (1, 2, there ^ 0xff00),
            (1, 2, there + (7 << 64)), (1, 2, here ^ 0xff00)):
        gid = GID(":".join(re.findall("....", f"{to:032x}")))
        path = AHAttr(dlid=a.router, port_num=1, is_global=is_global,
                      gr=GlobalRoute(dgid=gid, sgid_index=0, hop_limit=hops))
        a.path = lambda other, path=path: path
        b.receive(b.sge(1024))
        a.sends(a.sge(64), to=b)
        if (is_global, hops, to) == (1, 2, there):
            b.completes(0)
            assert b.mr.read(1, 7) == b"\1"
        else:
            b.silent()


def uc_send_error():
    """UC: after an error of a send it still receives, and sends again when told so"""
    a, b = pair(UC)
    a.receive(a.sge(64))
    a.send(a.sge(8, lkey=1))
    a.send(a.sge(8))
    a.completes(e.IBV_WC_LOC_PROT_ERR, FLUSHED)
    assert a.state() == e.IBV_QPS_SQE
    b.sends(b.sge(8))
    a.completes(0)
    a.turn(e.IBV_QPS_RTS)
    arrives(a, b)


def other_port():
    """an address by another port than that of the queue pair"""
    def path(to):
        return AHAttr(dlid=to.lid, port_num=2, is_global=0)

    a, b = Side(sys.argv[4], UD), Side(sys.argv[2], UD)
    a.connect(b)
    a.path = path
    a.sends(a.sge(8), to=b, status=e.IBV_WC_LOC_QP_OP_ERR)
    a, b = Side(sys.argv[4], RC), Side(sys.argv[2], RC)
    a.path = path
    refused(errno.EINVAL, a.connect, b)


def post_fails():
    """the next call fails as a fault says, whatever the queue pair, and posts nothing"""
    for kind in UD, RC, UC:
        a, b = pair(kind)
        b.receive(b.sge(64))
        fault("h1 fail post_send 5")
        refused(errno.EIO, a.send, a.sge(8), to=b, wr_id=1)
        a.send(a.sge(8), to=b, wr_id=2)
        assert [wc.wr_id for wc in a.completions(1)] == [2]
        b.completions(1)


def send_queue():
    """a place in a send queue is free when a completion for it was taken"""
    def flags(number):
        return e.IBV_SEND_SIGNALED if number == 7 else 0

    for qp_type in UD, UC, RC:
        a, b = pair(qp_type, sig_all=0, cqe=256)
        for _ in range(2):
            b.receives(range(8))
            for number in range(8):
                a.send(a.sge(8), to=b, flags=flags(number))
            b.completions(8)
            refused(errno.ENOMEM, a.send, a.sge(8), to=b)
            a.completes(0)
        b.receives(range(8))
        for _ in range(8):
            a.send(a.sge(8), to=b, flags=0)
        b.completions(8)
        a.silent()
        refused(errno.ENOMEM, a.send, a.sge(8), to=b)
        a.turn(e.IBV_QPS_RESET)
        a.connect(b)
        a.send(a.sge(8), to=b)


def rc_no_buffer_twice():
    """a response that comes twice uses up one retry"""
    a, b = pair(RC, rnr_retry=1, min_rnr_timer=0)
    a.send(a.sge(64))
    b.receive(b.sge(64))
    a.completes(0)
    b.completes(0)


def rc_no_buffer():
    """without a buffer: wait, or give up"""
    a, b = pair(RC, rnr_retry=2)
    a.sends(a.sge(64), status=e.IBV_WC_RNR_RETRY_EXC_ERR)
    assert b.state() == e.IBV_QPS_RTS
    a, b = pair(RC)
    a.send(a.sge(64))
    a.silent()
    b.receive(b.sge(64))
    a.completes(0)
    b.completes(0)


def rc_nobody():
    """a peer that does not answer"""
    a, b = pair(RC, timeout=8, retry_cnt=2)
    b.qp.close()
    a.send(a.sge(64))
    a.send(a.sge(64))
    a.completes(e.IBV_WC_RETRY_EXC_ERR, FLUSHED)


def rc_patience():
    """a packet that goes again waits no longer for its response than before"""
    # Four timers end before one that is eight times as long
    a, c = pair(RC, timeout=15, retry_cnt=3)
    b, d = pair(RC, timeout=18, retry_cnt=0)
    c.qp.close()
    d.qp.close()
    b.send(b.sge(64))
    a.send(a.sge(64))
    a.completes(e.IBV_WC_RETRY_EXC_ERR)
    assert b.state() == e.IBV_QPS_RTS
    b.completes(e.IBV_WC_RETRY_EXC_ERR)


def rc_stranger():
    """a third one that knows the number of a queue pair"""
    a, b = pair(RC, timeout=8, retry_cnt=1)
    c = Side(sys.argv[1], RC, timeout=8, retry_cnt=1)
    c.connect(b)
    b.receive(b.sge(64))
    c.sends(c.sge(64), status=e.IBV_WC_RETRY_EXC_ERR)
    b.silent()
    a.sends(a.sge(64))


def twin(a, device=None, **attributes):
    """A queue pair of a third device with the number that A has"""
    first = Side(device or sys.argv[4], a.type, grh=a.grh, **attributes)
    c = first
    while c.qp.qp_num != a.qp.qp_num:
        c.qp.close()
        c = Side(None, a.type, size=64, share=first, grh=a.grh, **attributes)
    return c


def forged():
    """a third device with the number and the PSN of the other end, with a GRH or without"""
    patience = {"timeout": 8, "retry_cnt": 1}
    for qp_type, refusal in (RC, e.IBV_WC_RETRY_EXC_ERR), (UC, 0):
        for grh, opcode in itertools.product((False, True), (SEND, WRITE)):
            a, b = pair(qp_type, grh=grh, **patience)
            b.receive(b.sge(64))
            a.mr.write(b"a" * 64, 64)
            c = twin(a, **patience)
            c.connect(b)
            c.mr.write(b"c" * 64, 64)
            c.sends(c.sge(64), opcode=opcode, to=b, status=refusal)
            b.silent()
            assert b.mr.read(64, 0) == bytes(64)
            a.sends(a.sge(64))
            b.completes(0)
            assert b.mr.read(64, 0) == b"a" * 64


def kernel_forged():
    """a third device with the number and the PSN of the other end of the kernel's"""
    mine, theirs, psn, lid = map(int, sys.argv[4:])
    c = twin(SimpleNamespace(qp=SimpleNamespace(qp_num=mine), type=RC, grh=False),
             device=sys.argv[1], sq_psn=psn, timeout=8, retry_cnt=1)
    c.connect(SimpleNamespace(qp=SimpleNamespace(qp_num=theirs), lid=lid))
    c.sends(c.sge(64), status=e.IBV_WC_RETRY_EXC_ERR)


def paths():
    """the right LID with another GID, with a GRH or without, is another path"""
    for qp_type, refusal in (RC, e.IBV_WC_RETRY_EXC_ERR), (UC, 0):
        for grh, there, gid in (True, True, None), (True, False, 0), (False, True, 0):
            a = Side(sys.argv[1], qp_type, grh=grh, timeout=8, retry_cnt=1)
            b = Side(sys.argv[2], qp_type, grh=there)
            a.connect(b)
            b.connect(SimpleNamespace(qp=a.qp, lid=a.lid, gid=b.gid if gid is None else a.gid))
            b.receive(b.sge(64))
            a.sends(a.sge(64), status=refusal)
            b.silent()


def numbers():
    """the first numbers of queue pairs and keys follow from the seed"""
    a, b, c = (Side(device, UD) for device in (*sys.argv[1:3], sys.argv[4]))
    of = [(side.qp.qp_num >> 13, side.mr.rkey >> 25) for side in (a, b, c)]
    assert abs(of[0][0] - of[2][0]) < 2 and abs(of[0][1] - of[2][1]) < 2, of
    assert of[0][0] != of[1][0] and of[0][1] != of[1][1], of
    assert len({side.mr.rkey & 0xff for side in (a, b, c)}) > 1


def rc_timer():
    """a timer of an earlier life is no reason to give up"""
    a, b = pair(RC, timeout=16, retry_cnt=1)
    b.qp.close()
    a.send(a.sge(64))
    a.turn(e.IBV_QPS_RESET)
    # Waits for ever, and would not try again
    a.attr.timeout = a.attr.retry_cnt = 0
    a.up()
    a.send(a.sge(64))
    time.sleep(2)
    a.silent()
    assert a.state() == e.IBV_QPS_RTS


def uc_long():
    """who posts gigabytes does not send all of that itself"""
    a, b = pair(UC, size=1 << 24, path_mtu=e.IBV_MTU_256)
    for _ in range(8):
        a.send(*[a.sge(1 << 24)] * 4, opcode=WRITE, to=b, wrong=1)
    assert a.cq.poll(8)[0] < 8


def rc_flush():
    """what is posted comes back, in order"""
    a, b = pair(RC)
    a.receives(range(4), 8)
    a.turn(e.IBV_QPS_ERR)
    a.send(a.sge(8))
    done = a.completions(5)
    assert [wc.wr_id for wc in done] == [0, 1, 2, 3, 2]
    assert all(wc.status == FLUSHED for wc in done)
    a.receive(a.sge(8), wr_id=4)
    time.sleep(1)
    assert [(wc.wr_id, wc.status) for wc in a.cq.poll(1)[1]] == [(4, FLUSHED)]


def no_calls():
    """polling, and posting receives, without a call of the kernel"""
    assert has_rings()
    for srq in False, True:
        a, b = pair(RC, there={"srq": srq})
        kept = os.dup(b.ctx.cmd_fd)
        os.dup2(os.open("/dev/null", os.O_RDWR), b.ctx.cmd_fd)
        b.silent()
        for number in range(20):
            b.receive(b.sge(64), wr_id=number)
            a.sends(a.sge(8))
            assert b.completions(1)[0].wr_id == number
        os.dup2(kept, b.ctx.cmd_fd)


def rings(side):
    """What is mapped of its device, which no other one has open: heads, tails, and more"""
    device, = glob.glob(f"/sys/class/infiniband/{side.ctx.name}/device/infiniband_verbs/*")
    with open("/proc/self/maps") as maps:
        found = sorted((offset, int(span.split("-")[0], 16))
                       for span, _, offset, _, _, path in (line.split() for line in maps
                                                           if "/uverbs" in line)
                       if os.path.basename(path) == os.path.basename(device))
    return [(ctypes.c_uint32 * 32).from_address(address) for _, address in found]


def hostile():
    """an index or a buffer that cannot be fails the owner of its ring, which can be used again"""
    assert has_rings()
    a, b = pair(RC, rnr_retry=0)
    receives = rings(b)[1]
    for place, value in ((0, 9), (0, 2 ** 32 - 1), (24, 5), (24, 255)):
        arrives(a, b)
        b.receive(b.sge(64))
        receives[place] = value
        a.sends(a.sge(8), status=e.IBV_WC_RNR_RETRY_EXC_ERR)
        b.hears(e.IBV_EVENT_QP_FATAL)
        assert b.state() == e.IBV_QPS_ERR
        b.silent()
        a.turn(e.IBV_QPS_RESET)
        b.turn(e.IBV_QPS_RESET)
        connect(a, b)
    completions = rings(a)[0]
    taken = completions[1]
    for _ in range(8):
        a.send(a.sge(8), opcode=WRITE, to=b)
    for tail in 65, 2 ** 31, 2 ** 32 - 1, taken + 9, taken - 1:
        completions[1] = tail
        refused(errno.ENOMEM, a.send, a.sge(8), opcode=WRITE, to=b)
    completions[1] = taken + 1
    a.send(a.sge(8), opcode=WRITE, to=b)
    refused(errno.ENOMEM, a.send, a.sge(8), opcode=WRITE, to=b)
    a, b = pair(RC, there={"srq": True}, rnr_retry=0)
    b.receive(b.sge(64))
    rings(b)[1][4] = 5
    a.sends(a.sge(8), status=e.IBV_WC_RNR_RETRY_EXC_ERR)
    b.hears(e.IBV_EVENT_SRQ_ERR)


def mapping():
    """a ring is mapped as a whole, as often as its owner likes, and no code is in it"""
    assert has_rings()
    a = Side(sys.argv[1], UD)
    page, libc = mmap.PAGESIZE, ctypes.CDLL(None)

    def maps(length=page, flags=mmap.MAP_SHARED, prot=3, at=0):
        return mmap.mmap(a.ctx.cmd_fd, length, flags, prot, offset=at)

    refused(errno.EINVAL, maps, at=page * 64)
    refused(errno.EINVAL, maps, length=page * 2)
    refused(errno.EINVAL, maps, flags=mmap.MAP_PRIVATE)
    refused(errno.EPERM, maps, prot=7)
    assert libc.mprotect(ctypes.c_void_p(ctypes.addressof(rings(a)[0])), page, 7) == -1
    libc.mremap.restype = ctypes.c_ssize_t
    for old in page, 0:
        assert libc.mremap(ctypes.c_void_p(ctypes.addressof(rings(a)[0])), old, 2 * page, 1) == -1
    again = maps()
    a.connect(a)
    a.receive(a.sge(64))
    a.send(a.sge(8), to=a)
    a.completes(0, 0)
    assert struct.unpack_from("2I", again) == (2, 2)
    child = os.fork()
    if not child:
        os._exit(maps()[:] != again[:])
    assert os.waitpid(child, 0)[1] == 0
    a.qp.close()
    a.cq.close()
    refused(errno.EINVAL, maps)
    assert struct.unpack_from("2I", again) == (2, 2)


def rc_attributes():
    """values that no path has"""
    a, b = Side(sys.argv[1], RC), Side(sys.argv[2], RC)
    a.qp.to_init(a.attr)
    for name, value in ("path_mtu", 0), ("path_mtu", 6), ("min_rnr_timer", 32), \
            ("max_dest_rd_atomic", 17):
        c = Side(sys.argv[1], RC, **{name: value})
        refused(errno.EINVAL, c.connect, b)
    for dlid in 0, 0xc123, 0xffff:
        refused(errno.EINVAL, a.connect, SimpleNamespace(qp=b.qp, lid=dlid))
    a.attr.dest_qp_num = b.qp.qp_num
    a.attr.rq_psn, a.attr.sq_psn = 0xabcdef, 0x123456
    a.attr.ah_attr = AHAttr(dlid=b.lid, port_num=1, is_global=0)
    a.qp.to_rtr(a.attr)
    a.qp.to_rts(a.attr)
    have = a.qp.query(0)[0]
    for name in "dest_qp_num", "rq_psn", "sq_psn", "timeout", "retry_cnt", "path_mtu", \
            "qp_access_flags", "min_rnr_timer":
        assert getattr(have, name) == getattr(a.attr, name), name


def loopback():
    """a queue pair that sends to its own port needs the link, too"""
    a, b = (Side(sys.argv[2], RC, timeout=8, retry_cnt=1) for _ in range(2))
    c = Side(sys.argv[2], UD)
    for one, other in (a, b), (b, a), (c, c):
        one.connect(other)
    arrives(a, b)
    a.receive(a.sge(64))
    c.receive(c.sge(64))
    # Not that of the subnet manager
    fault("h2 1 link down")
    try:
        b.sends(b.sge(64), status=e.IBV_WC_RETRY_EXC_ERR)
        c.sends(c.sge(8), to=c)
        c.silent()
    finally:
        fault("h2 1 link up")
    while not port(sys.argv[2], "state").startswith("4"):
        time.sleep(0.1)
    c.send(c.sge(8), to=c)
    c.completes(0, 0)


def uc_no_buffer():
    """UC: a message without a buffer is lost, the next one is not"""
    a, b = pair(UC)
    arrives(a, b)
    a.sends(a.sge(64))
    b.silent()
    arrives(a, b)


def uc_access():
    """UC: what is not allowed is not done, without a word"""
    a, b = pair(UC)
    b.mr.write(b"x" * 64, 64)
    a.sends(a.sge(64), opcode=WRITE, to=b, wrong=1)
    assert b.mr.read(64, 0) == b"x" * 64
    assert b.state() == e.IBV_QPS_RTS


def burst():
    """a message at once leaves all as its packets do, one by one"""
    longest = 300000

    def counts():
        return [int(port(device, f"counters/port_{way}_{what}")) for device in sys.argv[1:3]
                for way in ("xmit", "rcv") for what in ("packets", "data")]

    def pieces(side, rnd, length):
        cuts = sorted(rnd.randrange(length + 1) for _ in range(3))
        return [side.sge(end - start, rnd.randrange(longest - (end - start) + 1),
                         side.mr.lkey + (rnd.random() < 0.02))
                for start, end in zip([0, *cuts], [*cuts, length])]

    def message(seed):
        """All that a random message leaves"""
        rnd = random.Random(seed)
        qp_type = rnd.choice((RC, RC, UC))
        opcode = rnd.choice((SEND, SEND_IMM, WRITE, WRITE_IMM, READ)[:5 - (qp_type == UC)])
        psn = rnd.choice((0, 0xffffff - rnd.randrange(64)))
        length = rnd.choice((rnd.randrange(9000), rnd.randrange(longest)))
        a, b = pair(qp_type, size=longest, grh=rnd.random() < 0.5, rnr_retry=0,
                    path_mtu=rnd.randint(e.IBV_MTU_256, e.IBV_MTU_4096), sq_psn=psn,
                    rq_psn=psn)
        for side in a, b:
            side.mr.write(rnd.randbytes(longest), longest)
        if rnd.random() < 0.9:
            room = rnd.choice((length, length, length + 9999, length * 2 // 3))
            b.receive(*pieces(b, rnd, min(room, longest)))
        target = {"to": b, "wrong": rnd.random() < 0.02,
                  "at": rnd.randrange(longest - length + 1) +
                        rnd.choice((0, 0, 0, 0, longest // 4))}
        local = pieces(a, rnd, length)
        before = counts()
        a.send(*local, opcode=opcode, imm=seed, **target)
        done = a.completions(1) + b.cq.poll(4)[1]
        sent = [now - then for now, then in zip(counts(), before)]
        states = [qp.query(e.IBV_QP_STATE)[0] for qp in (a.qp, b.qp)]
        return sent, [(wc.wr_id, wc.status, wc.opcode, wc.byte_len, wc.wc_flags, wc.imm_data)
                      for wc in done], [(attr.qp_state, attr.sq_psn, attr.rq_psn)
                                        for attr in states], [
            hashlib.sha1(side.mr.read(longest, 0)).digest() for side in (a, b)]

    def in_packets(seed):
        """As message(). A fault that sees each packet tells how many there were"""
        fault("h1 1 symbol nth 1")
        left = message(seed)
        seen, = re.findall(r"h1 1 symbol nth 1 .*injected (\d+)", read(FAULTS))
        fault("h1 1 clear")
        assert int(seen) >= left[0][0], f"{seed}: {seen} of {left[0][0]}"
        return left

    for seed in range(100):
        one_by_one, at_once = in_packets(seed), message(seed)
        assert one_by_one == at_once, f"{seed}: {one_by_one}, and at once {at_once}"


def registered_again():
    """IB_USER_VERBS_CMD_REREG_MR, which libipathverbs does not know: only the new key is good"""
    for access, new, status in (ALL, True, 0), (0, True, e.IBV_WC_LOC_PROT_ERR), \
            (ALL, False, e.IBV_WC_LOC_PROT_ERR):
        a, b = pair(RC)
        keys = ctypes.create_string_buffer(8)
        os.write(b.ctx.cmd_fd, struct.pack(
            "=IHHQIIQQQII", 11, 14, 2, ctypes.addressof(keys), b.mr.handle,
            e.IBV_REREG_MR_CHANGE_ACCESS, 0, 0, 0, 0, access))
        lkey, = struct.unpack_from("=I", keys)
        b.receive(b.sge(64, lkey=lkey if new else None))
        a.send(a.sge(64))
        b.completes(status)


# The same in each run
PLACES = random.Random(1)


@contextlib.contextmanager
def midway(a, b, half):
    """In the middle of an RDMA WRITE of A, one of many that change all bytes at B again and
    again. Nobody else runs meanwhile"""
    memory, at = b.mr, PLACES.randrange(half)
    a.mr.write(b"x" * half, half, half)
    child = os.fork()
    if not child:
        try:
            for number in range(1024):
                a.send(a.sge(half, number % 2 * half), opcode=WRITE, to=b, flags=0)
        finally:
            signal.pause()
    try:
        while memory.read(1, at) != b"x":
            pass
        overtake(os.SCHED_FIFO)
        yield
        overtake(os.SCHED_OTHER)
        # What has been begun is copied
        time.sleep(0.01)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def meanwhile():
    """in the middle of messages: what is given back changes no more"""
    half = 1 << 21

    def region(a, b):
        b.mr.close()

    def queue_pair(a, b):
        b.qp.close()

    def responder(a, b):
        b.turn(e.IBV_QPS_ERR)

    def requester(a, b):
        a.turn(e.IBV_QPS_RESET)

    def refusal(a, b):
        """What the peer asks for fails it, and what it has posted comes back"""
        b.send(b.sge(8), opcode=WRITE, to=a, wrong=1)
        a.completions(1)

    for action in (region, queue_pair, responder, requester, refusal, refusal) * 8:
        a, b = pair(RC, size=2 * half, depth=1024, cqe=1024, sig_all=0)
        memory = b.mr
        b.mr = MR(b.pd, half, ALL, memory.buf)
        with midway(a, b, half):
            action(a, b)
            left = memory.read(half, 0)
        assert left == memory.read(half, 0), action.__name__


def behind():
    """what is behind a send that fails in the middle of a message of its peer is not sent"""
    half = 1 << 21
    at = 2 * half

    def fails(opcode, length):
        """Returns whether it was in the middle: then the one behind comes back later"""
        a, b = pair(RC, size=at + 8192, depth=1024, cqe=1024, sig_all=0)
        for side, text in (a, b"a"), (b, b"b"):
            side.mr.write(text * 4096, 4096, at + 4096)
        # A burst would go on from here
        a.sends(a.sge(8), opcode=WRITE, to=b, at=at)
        left = [side.mr.read(8192, at) for side in (a, b)]
        following = SendWR(wr_id=3, num_sge=1, sg=[a.sge(length, at + 4096)], opcode=opcode)
        following.set_wr_rdma(b.mr.rkey, b.mr.buf + at + 4096)
        with midway(b, a, half):
            a.send(a.sge(4096, lkey=1), opcode=READ, to=b, next_wr=following)
            a.completes(e.IBV_WC_LOC_PROT_ERR)
            early = a.cq.poll(1)[1]
        assert [wc.status for wc in early or a.completions(1)] == [FLUSHED]
        assert left == [side.mr.read(8192, at) for side in (a, b)], (opcode, length)
        return not early

    for opcode, length in (SEND, 4096), (SEND, 0), (WRITE, 4096), (READ, 4096):
        while not fails(opcode, length):
            pass


def destroyed():
    """a queue pair goes when its timer has sent all that goes in one turn, and there is more"""
    turn = 4096 * 256
    for _ in range(4):
        a, b = pair(RC, there={"events": False}, events=True, size=turn, path_mtu=e.IBV_MTU_256)
        a.cq.req_notify(False)
        # The timer waits for a buffer
        a.send(a.sge(turn))
        a.send(a.sge(8))
        tasks_overtake(os.SCHED_FIFO, "kworker/u")
        overtake(os.SCHED_FIFO, priority=2)
        b.receive(b.sge(turn))
        assert a.told(20)
        a.qp.close()
        overtake(os.SCHED_OTHER)
        tasks_overtake(os.SCHED_OTHER, "kworker/u")


def fail_nth():
    """allocations that fail, one after the other"""
    faults = Faults()
    a, b = pair(RC)

    def queue_pair(qp_type):
        QP(a.pd, small(a.cq, qp_type, max_send_wr=99, max_recv_wr=99, max_send_sge=4,
                       max_recv_sge=4)).close()

    def message():
        a.send(a.sge(64))
        b.receive(b.sge(64))
        a.completes(0)
        b.completes(0)

    faults.sweep(1, lambda: CQ(a.ctx, 64, None, None, 0).close())
    faults.sweep(4, lambda: MR(a.pd, 1 << 16, ALL).close())
    faults.sweep(1, lambda: a.cq.resize(64))
    faults.sweep(1, lambda: SRQ(a.pd, SrqInitAttr(SrqAttr(max_wr=9, max_sge=4))).close())
    # Some numbers are the first of their kind
    for _ in range(70):
        queue_pair(UD)
    faults.sweep(2, lambda: queue_pair(UD))
    for qp_type in RC, UC:
        faults.sweep(4, lambda: queue_pair(qp_type))
    faults.sweep(0, message)


def stalled():
    """a send of data from a page that never comes, so that the device cannot go"""
    pages, address = never_comes()
    a, b = pair(UD, inline=64)
    print("stalls", flush=True)
    a.send(SGE(address, 8, 0), to=b, flags=e.IBV_SEND_SIGNALED | e.IBV_SEND_INLINE)
    raise AssertionError(f"it has come, and {len(pages)} bytes")


def port_speed():
    """what the kernel says of port 1. The part of rdma-core for these devices does not ask"""
    ctx, speed = Context(name=sys.argv[1]), ctypes.c_uint64()
    fcntl.ioctl(ctx.cmd_fd, 0xc0181b01, struct.pack("=HHHHQIIHHHHQHHHHQ", 56, 0, 7, 2, 0, 16, 0,
                0, 8, 1, 0, 1, 1, 8, 1, 0, ctypes.addressof(speed)))
    print(speed.value)


# Each needs something that a script sees to, which runs it by its name
BY_NAME = kernel_forged, fail_nth, stalled, port_speed, routed, unrouted
CASES = [case for case in list(vars().values())
         if inspect.isfunction(case) and case.__module__ == __name__ and case.__doc__ and
         not inspect.signature(case).parameters and case not in BY_NAME]


def run(name):
    """One case, here"""
    next(case for case in (*CASES, *BY_NAME) if case.__name__ == name)()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        print(*(f"{case.__name__} {case.__doc__}" for case in CASES), sep="\n")
    elif sys.argv[3] == "-":
        serve(run)
    else:
        run(sys.argv[3])
