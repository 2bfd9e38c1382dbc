# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Queue pairs of two devices, for programs that are called with the names of these: verbs.py,
strict.py, cable.py and qkey.py. ROUTERS="DEVICE=LID ..." in the environment has the router by
which each device reaches the others.
"""

import contextlib
import errno
import glob
import os
import select
import signal
import sys
import time
from types import SimpleNamespace

from fabric import read, write
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

try:
    import pyverbs.enums as e
except ImportError:
    # Later ones have a class for each enum
    from pyverbs import libibverbs_enums

    e = SimpleNamespace(**{
        name: value for enum in vars(libibverbs_enums).values()
        for name, value in getattr(enum, "__members__", {}).items()})

RC, UC, UD = e.IBV_QPT_RC, e.IBV_QPT_UC, e.IBV_QPT_UD
SEND, SEND_IMM, SEND_INV = e.IBV_WR_SEND, e.IBV_WR_SEND_WITH_IMM, e.IBV_WR_SEND_WITH_INV
WRITE, WRITE_IMM = e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_WRITE_WITH_IMM
READ, ADD, SWAP = e.IBV_WR_RDMA_READ, e.IBV_WR_ATOMIC_FETCH_AND_ADD, e.IBV_WR_ATOMIC_CMP_AND_SWP
FLUSHED = e.IBV_WC_WR_FLUSH_ERR
QKEY = 0x1234
GRH = 40
FAULTS = "/sys/kernel/config/madsim/test/faults"
ROUTERS = dict(word.split("=") for word in os.environ.get("ROUTERS", "").split())
ALL = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE |
       e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)


def fault(command):
    write(FAULTS, command)


def port(device, name):
    """What sysfs has of port 1 of a device"""
    return read(f"/sys/class/infiniband/{device}/ports/1/{name}")


class Side:
    """A queue pair of a device, with a region of memory. It may share the completion
    queue of another one"""

    def __init__(self, device, qp_type, size=16384, access=ALL, srq=False, cqe=64,
                 inline=0, events=False, share=None, grh=False, sig_all=1, depth=8,
                 **attributes):
        self.ctx = share.ctx if share else Context(name=device)
        self.lid = self.ctx.query_port(1).lid
        self.gid = self.ctx.query_gid(1, 0)
        self.router = int(ROUTERS.get(device, 0))
        self.grh = grh or self.router
        self.pd = share.pd if share else PD(self.ctx)
        self.channel = None
        if events:
            # pyverbs does not tell the descriptor, which is the first one that is free
            self.fd = os.dup(0)
            os.close(self.fd)
            self.channel = CompChannel(self.ctx)
        self.cq = share.cq if share else CQ(self.ctx, cqe, None, self.channel, 0)
        self.mr = MR(self.pd, size, access)
        self.srq = None
        if srq:
            self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=8, max_sge=4)))
        self.qp = QP(self.pd, QPInitAttr(
            qp_type=qp_type, scq=self.cq, rcq=self.cq, srq=self.srq,
            cap=QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=4,
                      max_recv_sge=4, max_inline_data=inline), sq_sig_all=sig_all))
        self.type = qp_type
        self.attr = QPAttr(port_num=1)
        self.attr.qkey = QKEY
        self.attr.qp_access_flags = ALL
        self.attr.path_mtu = e.IBV_MTU_1024
        self.attr.min_rnr_timer = 1
        self.attr.max_rd_atomic = self.attr.max_dest_rd_atomic = 1
        self.attr.timeout = 14
        self.attr.retry_cnt = self.attr.rnr_retry = 7
        for name, value in attributes.items():
            setattr(self.attr, name, value)

    def connect(self, other):
        if self.type != UD:
            self.attr.dest_qp_num = other.qp.qp_num
            self.attr.ah_attr = self.path(other)
        self.up()

    def up(self):
        self.qp.to_init(self.attr)
        self.qp.to_rtr(self.attr)
        self.qp.to_rts(self.attr)

    def path(self, other):
        if not self.grh:
            return AHAttr(dlid=other.lid, port_num=1, is_global=0)
        return AHAttr(dlid=self.router or other.lid, port_num=1, is_global=1,
                      gr=GlobalRoute(dgid=other.gid, sgid_index=0,
                                     hop_limit=2 if self.router else 1))

    def sge(self, length, at=0, lkey=None):
        return SGE(self.mr.buf + at, length, self.mr.lkey if lkey is None else lkey)

    def receive(self, *sges, wr_id=1):
        wr = RecvWR(wr_id, len(sges), list(sges))
        (self.srq or self.qp).post_recv(wr)

    def receives(self, numbers, length=64):
        """A buffer of this length for each of the numbers"""
        for number in numbers:
            self.receive(self.sge(length), wr_id=number)

    def send(self, *sges, to=None, opcode=SEND, flags=e.IBV_SEND_SIGNALED,
             at=0, wrong=0, imm=0, pd=None, atomic=None, wr_id=2, next_wr=None):
        """To another side: of one that is connected, to or from its region at this place, by
        a key that is that much too high"""
        wr = SendWR(wr_id=wr_id, num_sge=len(sges), sg=list(sges), opcode=opcode,
                    send_flags=flags, imm_data=imm)
        if self.type == UD:
            self.ah = AH(pd or self.pd, attr=self.path(to))
            # Connected queue pairs have no Q_Key
            wr.set_wr_ud(self.ah, to.qp.qp_num, QKEY if to.type == self.type else 0)
        elif atomic:
            wr.set_wr_atomic(to.mr.rkey + wrong, to.mr.buf + at, *atomic)
        elif to:
            wr.set_wr_rdma(to.mr.rkey + wrong, to.mr.buf + at)
        if next_wr:
            wr.next_wr = next_wr
        self.qp.post_send(wr)

    def completions(self, count):
        done = []
        end = time.monotonic() + 60
        while len(done) < count:
            found = self.cq.poll(count - len(done))[1]
            done += found
            if not found:
                assert time.monotonic() < end, f"{len(done)} of {count} completions come"
                # The clock of a user-mode Linux hardly goes on for a program that is busy
                time.sleep(0.001)
        return done

    def completes(self, *statuses):
        have = [wc.status for wc in self.completions(len(statuses))]
        assert have == list(statuses), f"{have}, and not {list(statuses)}"

    def sends(self, *sges, status=e.IBV_WC_SUCCESS, **how):
        """A message that is the next one to complete, with this status"""
        self.send(*sges, **how)
        self.completes(status)

    def silent(self):
        assert self.cq.poll(1)[0] == 0

    def told(self, seconds=0):
        """Whether there was an event of the completion queue, which is taken. Who posts
        to a connected queue pair finds it at once"""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        self.channel.get_cq_event(self.cq)
        return True

    def turn(self, state):
        self.qp.modify(QPAttr(qp_state=state), e.IBV_QP_STATE)

    def drain(self):
        """Into SQD, with an event when that is so"""
        attr = QPAttr(qp_state=e.IBV_QPS_SQD)
        attr.en_sqd_async_notify = 1
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_EN_SQD_ASYNC_NOTIFY)

    def event(self):
        event = self.ctx.get_async_event()
        event.ack()
        return event.event_type

    def hears(self, *event_types):
        """In whatever order"""
        have = [self.event() for _ in event_types]
        assert sorted(have) == sorted(event_types), have

    def state(self):
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state


def connect(a, b):
    a.connect(b)
    b.connect(a)
    return a, b


def pair(qp_type, there=None, **attributes):
    return connect(Side(sys.argv[1], qp_type, **attributes),
                   Side(sys.argv[2], qp_type, **dict(attributes, **(there or {}))))


def refused(number, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except (PyverbsRDMAError, OSError) as error:
        found = getattr(error, "errno", None) or error.error_code
        assert found == number, f"{errno.errorcode.get(found)}, and not {errno.errorcode[number]}"
    else:
        raise AssertionError("it is allowed")


def has_rings():
    """Whether the device lets programs poll, and post receives, without a call"""
    uverbs = f"/sys/class/infiniband/{sys.argv[1]}/device/infiniband_verbs"
    return int(read(f"{uverbs}/{os.listdir(uverbs)[0]}/abi_version")) > 1


def overtake(policy, pid=0, priority=1):
    os.sched_setscheduler(pid, policy, os.sched_param(priority * (policy == os.SCHED_FIFO)))


def tasks_overtake(policy, name):
    """The tasks whose names begin with this one overtake all others, also tasks of such a name
    that the kernel starts later"""
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if read(path).startswith(name):
                overtake(policy, int(path.split("/")[2]))


def serve(case):
    """Those that are asked for: what case() makes of each line, each in a process of its own
    and for 300 seconds at most"""
    for line in iter(sys.stdin.readline, ""):
        sys.stdout.flush()
        child = os.fork()
        if not child:
            signal.alarm(300)
            os.dup2(1, 2)
            sys.stdin = open(os.devnull, encoding="utf-8")
            return case(*line.split())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print("ends", status if status >= 0 else 128 - status, flush=True)
