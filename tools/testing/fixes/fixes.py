# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the reproducers share: MADs by /dev/infiniband/umadN, slow verbs, and
what the kernel says meanwhile."""

import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, f"{HERE}/../madsim")
import fabric                                   # pylint: disable=wrong-import-position
# pylint: disable-next=wrong-import-position,unused-import
from fabric import GET, LOST, SEND, read, write

# How long something is waited for that comes if the kernel is right. There may
# be sanitizers in it.
PATIENCE = 30

RESPONSE = 0x80
QP1_QKEY = 0x80010000
# One of those that applications define; the kernel answers for it
UNSERVED_CLASS = 0x0f

REPORT = re.compile(r"BUG: |WARNING: |UBSAN: |Oops|general protection fault")


class CannotRun(Exception):
    """Something is missing that a reproducer needs."""


class BugSeen(Exception):
    """The kernel did what it should not."""


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise CannotRun(f"{' '.join(command)}: {done.stdout.strip()}")


def wait_until(what, true):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise CannotRun(f"gave up waiting for {what}")
        time.sleep(0.01)


class KernelLog:
    """What the kernel says from now on."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def check(self):
        """Raise BugSeen for what looks like a report of a bug."""
        while True:
            try:
                line = os.read(self.fd, 8192).decode(errors="replace")
            except BlockingIOError:
                return
            line = line.partition(";")[2].partition("\n")[0]
            if REPORT.search(line):
                raise BugSeen(line)


class Umad(fabric.File):
    """A descriptor of a device's port 1, with one agent"""

    def __init__(self, device, mgmt_class=0, methods=0, oui=bytes(3), rmpp=0, qpn=1):
        for folder in glob.glob("/sys/class/infiniband_mad/umad*"):
            if read(folder + "/ibdev") == device and read(folder + "/port") == "1":
                break
        else:
            raise CannotRun(f"{device} has no umad device; is ib_umad loaded?")
        super().__init__("/dev/infiniband/" + os.path.basename(folder))
        # No class: an agent that sends, and receives nothing but responses
        self.agent = self.register(qpn, mgmt_class, methods, oui, rmpp)

    def packet(self, mgmt_class, method, to=None, timeout=0, size=256, retries=0):
        """To a GID, by the one of its index, or without hops on a directed route"""
        packet = fabric.Packet(self.agent, timeout, bytes(36), bytes(size), retries)
        packet.mad.change(base_version=1, mgmt_class=mgmt_class, class_version=1, method=method)
        if to:
            packet.to.change(qpn=1, qkey=QP1_QKEY, grh_present=1, gid_index=to[0], hop_limit=64,
                             gid=to[1])
        else:
            packet.to.lid = packet.mad.dr_slid = packet.mad.dr_dlid = fabric.PERMISSIVE
        return packet

    def answer(self, got):
        """Back to where it came from"""
        got.agent, got.to.qkey = self.agent, QP1_QKEY
        got.mad.method |= RESPONSE
        self.send(got)

    def receive(self, patience=PATIENCE):
        """The next MAD, LOST for a send without an answer, or None for silence"""
        return super().receive() if self.readable(patience * 1000) else None


def gids(device):
    """Indexes and GIDs of port 1 that are in use"""
    found = [(int(os.path.basename(path)), int(read(path).replace(":", ""), 16))
             for path in glob.glob(f"/sys/class/infiniband/{device}/ports/1/gids/*")]
    found = sorted((index, gid) for index, gid in found if gid)
    if not found:
        raise CannotRun(f"{device} has no GID; are its network card and IPv6 up?")
    return found


def slow_verbs(device, verb, seconds=1):
    """Have a verb take its time. Returns whether it has been called since"""
    run("insmod", f"{HERE}/../../../build/fixes/slow/slow_verbs.ko",
        f"device={device}", f"verb={verb}", f"ms={seconds * 1000}")
    return lambda: read("/sys/module/slow_verbs/parameters/entered") != "0"


def respond_while_going(device, verb):
    """Have the MAD layer answer a request, slowly, while its device is removed."""
    umad = Umad(device)
    entered = slow_verbs(device, verb)
    umad.send(umad.packet(UNSERVED_CLASS, GET, gids(device)[0], timeout=1000))
    wait_until(f"the MAD layer to call {verb}", entered)
    run("rdma", "link", "delete", device)
    run("rmmod", "slow_verbs")


def load_node(**settings):
    """Load ib_madsim, with a fabric of one node. Returns its folder"""
    run("modprobe", "configfs")
    run("insmod", os.environ.get("MADSIM_MODULE", "ib_madsim.ko"))
    if not os.path.ismount("/sys/kernel/config"):
        run("mount", "-t", "configfs", "none", "/sys/kernel/config")
    fabric = "/sys/kernel/config/madsim/fixes"
    os.makedirs(fabric + "/node")
    for name, value in settings.items():
        write(f"{fabric}/node/{name}", value)
    write(fabric + "/live", "1")
    return fabric


def load_switch():
    """Make a switch an RDMA device, by ib_madsim, and take it away again."""
    fabric = load_node(type="switch", device="1")
    if len(glob.glob("/sys/class/infiniband/madsim*/ports/0")) != 1:
        raise CannotRun("ib_madsim made no switch")
    os.rmdir(fabric + "/node")
    os.rmdir(fabric)
    run("rmmod", "ib_madsim")


def main(reproduce):
    """Run a reproducer; 0: the bug is not there, 1: it is, 2: it cannot tell."""
    device = sys.argv[1] if len(sys.argv) > 1 else "rxe0"
    log = KernelLog()
    unknown = None
    try:
        try:
            reproduce(device)
        except (CannotRun, OSError) as error:
            unknown = error
        log.check()
    except BugSeen as bug:
        print(f"the bug is there: {bug}")
        sys.exit(1)
    if unknown:
        print(f"cannot tell: {unknown}")
        sys.exit(2)
    print("the bug is not there")
