# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""What the reproducers share: MADs by /dev/infiniband/umadN, slow verbs, and
what the kernel says meanwhile."""

import fcntl
import glob
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))

# How long something is waited for that comes if the kernel is right. There may
# be sanitizers in it.
PATIENCE = 30

GET, SEND = 0x01, 0x03
RESPONSE = 0x80
QP1_QKEY = 0x80010000
SMP_DIRECTED_ROUTE = 0x81
# One of those that applications define; the kernel answers for it
UNSERVED_CLASS = 0x0f

REGISTER_AGENT = 0xc01c1b01
ENABLE_PKEY = 0x1b03

REPORT = re.compile(r"BUG: |WARNING: |UBSAN: |Oops|general protection fault")


class CannotRun(Exception):
    """Something is missing that a reproducer needs."""


class BugSeen(Exception):
    """The kernel did what it should not."""


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise CannotRun(f"{' '.join(command)}: {done.stdout.strip()}")


def read(path):
    with open(path) as file:
        return file.read().strip()


def write(path, value):
    with open(path, "w") as file:
        file.write(value)


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


class Message:
    """A MAD, and whom it is from or to: struct ib_user_mad and its data."""

    HEADER = struct.Struct("=IIIIIIIHBBBBBB16sIHxxxxxx")

    def __init__(self, mad, gid=bytes(16), gid_index=0, agent=0, timeout_ms=0,
                 retries=0, qpn=1):
        self.mad = bytearray(mad)
        self.gid, self.gid_index, self.qpn = gid, gid_index, qpn
        self.agent, self.status = agent, 0
        self.timeout_ms, self.retries = timeout_ms, retries

    def pack(self):
        return self.HEADER.pack(self.agent, 0, self.timeout_ms, self.retries, 0,
                                socket.htonl(self.qpn), socket.htonl(QP1_QKEY),
                                0 if self.qpn else 0xffff, 0, 0, self.qpn,
                                self.gid_index, 64, 0, self.gid, 0,
                                0) + bytes(self.mad)

    @classmethod
    def unpack(cls, data):
        fields = cls.HEADER.unpack_from(data)
        message = cls(data[cls.HEADER.size:], fields[14], fields[11], fields[0])
        message.status = fields[1]
        return message


def new_mad(mgmt_class, method, size=256):
    mad = bytearray(size)
    mad[0:4] = bytes([1, mgmt_class, 1, method])
    return mad


class Umad:
    """A descriptor of a device's port 1, with one agent."""

    def __init__(self, device, mgmt_class=0, methods=(), oui=bytes(3), rmpp=0, qpn=1):
        for folder in glob.glob("/sys/class/infiniband_mad/umad*"):
            if read(folder + "/ibdev") == device and read(folder + "/port") == "1":
                break
        else:
            raise CannotRun(f"{device} has no umad device; is ib_umad loaded?")
        self.fd = os.open("/dev/infiniband/" + os.path.basename(folder), os.O_RDWR)
        fcntl.ioctl(self.fd, ENABLE_PKEY)
        # No class: an agent that sends, and receives nothing but responses
        mask = sum(1 << method for method in methods)
        request = struct.pack("=I16sBBB3sBx", 0, mask.to_bytes(16, sys.byteorder),
                              qpn, mgmt_class, 1, oui, rmpp)
        request = fcntl.ioctl(self.fd, REGISTER_AGENT, request)
        self.agent = struct.unpack_from("=I", request)[0]

    def close(self):
        os.close(self.fd)

    def send(self, message):
        message.agent = self.agent
        os.write(self.fd, message.pack())

    def receive(self, patience=PATIENCE):
        """The next MAD or record of a send that has ended; None for silence."""
        if not select.select([self.fd], [], [], patience)[0]:
            return None
        return Message.unpack(os.read(self.fd, 64 + 65536))


def gids(device):
    """Index and bytes of the GIDs of port 1 that are in use."""
    port = f"/sys/class/infiniband/{device}/ports/1"
    found = {}
    for path in glob.glob(port + "/gids/*"):
        gid = bytes.fromhex(read(path).replace(":", ""))
        if any(gid):
            found[int(os.path.basename(path))] = gid
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
    index, gid = sorted(gids(device).items())[0]
    umad = Umad(device)
    entered = slow_verbs(device, verb)
    umad.send(Message(new_mad(UNSERVED_CLASS, GET), gid, index, timeout_ms=1000))
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
    """Run a reproducer; 0: the bug is not there, 1: it is, 2: nobody knows."""
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
