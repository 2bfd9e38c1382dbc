# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Hosts around a switch, attributes of their agents, and the checks of a program

    class Counters(Test):
        hosts = 3

        def test_reset(self):
            self.set(2, PORT_COUNTERS, port=1, select=1, symbol_errors=7)
            self.expect(self.get(2, PORT_COUNTERS, port=1), symbol_errors=7)

Each check has a fabric of its own, whose ports are ACTIVE. The first host asks: an agent by
its LID, or that of subnet management by the ports that lead to it. libibmad has numbers for
components, but nothing that tells them a name, and has not all of them. So they are here.
"""

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import select
import struct
import subprocess
import sys
import time
import unittest

REGISTER_AGENT, ENABLE_PKEY = 0xc01c1b01, 0x1b03
ROOT = "/sys/kernel/config"
FABRIC = f"{ROOT}/madsim/umad"

# Milliseconds: for what must happen, or it hangs, and for what must not
SOON, QUIET = 20000, 100
# Instead of a status: no response comes
LOST = "lost"
BAD_VERSION, UNSUPPORTED, INVALID = 0x04, 0x0c, 0x1c

GET, SET, SEND, TRAP, REPRESS = 1, 2, 3, 5, 7
DOWN, INIT, ARMED, ACTIVE = range(1, 5)
SLEEP, POLLING, DISABLED = range(1, 4)
LINK_UP = 5

# Ways from the first host
HERE, SWITCH, SECOND = (), (1,), (1, 2)
PERMISSIVE = 0xffff


def layout(text):
    """{component: (its first bit, its bits)} of "component:bits ...", one after the other.
    What has no name is reserved"""
    fields, at = {}, 0
    for word in text.split():
        name, bits = word.split(":")
        fields[name] = at, int(bits)
        at += int(bits)
    return fields


class Data(bytearray):
    """Bytes, and what they mean"""

    def __init__(self, fields, content):
        super().__init__(content)
        super().__setattr__("fields", fields)

    def _bits(self, name):
        at, bits = self.fields[name]
        end = at + bits
        return slice(at // 8, -(-end // 8)), -end % 8, (1 << bits) - 1

    def __getattr__(self, name):
        where, shift, mask = self._bits(name)
        return int.from_bytes(self[where], "big") >> shift & mask

    def __setattr__(self, name, value):
        where, shift, mask = self._bits(name)
        value = int.from_bytes(self[where], "big") & ~(mask << shift) | (value & mask) << shift
        self[where] = value.to_bytes(where.stop - where.start, "big")

    def change(self, **values):
        for name, value in values.items():
            setattr(self, name, value)
        return self


MAD = layout("base_version:8 mgmt_class:8 class_version:8 method:8 status:16 hop_ptr:8 hop_cnt:8"
             " tid:64 attr_id:16 :16 attr_mod:32 key:64 dr_slid:16 dr_dlid:16")
# What ib_user_mad_hdr has of the other end
ADDRESS = layout("qpn:32 qkey:32 lid:16 sl:8 path_bits:8 grh_present:8 gid_index:8 hop_limit:8"
                 " traffic_class:8 gid:128 flow_label:32")
SM, DIRECTED, PERF, CC = 0x01, 0x81, 0x04, 0x21


class Attribute:
    """Of an agent, which has a class and its version"""

    def __init__(self, mgmt_class, number, components="", begin=64):
        self.mgmt_class = mgmt_class
        self.number = number
        self.begin = begin
        self.size = 64 if mgmt_class == SM else 256 - begin
        self.version = 2 if mgmt_class == CC else 1
        self.fields = layout(components)

    def data(self, content=b"", **values):
        content = bytes(content).ljust(self.size, b"\0")[:self.size]
        return Data(self.fields, content).change(**values)


NOTICE = Attribute(SM, 0x02, "generic:1 type:7 producer:24 trap:16 issuer:16")
NODE_DESC = Attribute(SM, 0x10)
NODE_INFO = Attribute(SM, 0x11, ":96 node_guid:64 port_guid:64 :64 local_port:8")
SWITCH_INFO = Attribute(SM, 0x12, """
    lft_cap:16 :32 lft_top:16 default_port:8 mcast_primary:8 mcast_other:8 life_time:5
    state_change:1 opt_sl2vl:2 :16 enforcement_cap:16 enforce_in:1 enforce_out:1
    filter_in:1 filter_out:1 :4 :8 mft_top:16""")
GUID_INFO = Attribute(SM, 0x14)
PORT_INFO = Attribute(SM, 0x15, """
    mkey:64 gid_prefix:64 lid:16 sm_lid:16 cap_mask:32 diag_code:16 mkey_lease:16 local_port:8
    width_enabled:8 width_supported:8 width_active:8 speed_supported:4 state:4 phys:4
    down_default:4 mkey_protect:2 :3 lmc:3 speed_active:4 speed_enabled:4 mtu:4 sm_sl:4
    vl_cap:4 init_type:4 vl_high_limit:8 :24 vl_stall:3 hoq_life:5 oper_vls:4 enforce:2
    filter:2 mkey_violations:16 pkey_violations:16 qkey_violations:16 :8 reregister:1 :2
    timeout:5 :8 phy_errors:4 overrun_errors:4 :16 ext2:8 :24 cap_mask2:16 ext_active:4
    ext_supported:4 :3 ext_enabled:5""")
PKEY_TABLE = Attribute(SM, 0x16, "first:16")
SL_TO_VL = Attribute(SM, 0x17)
VL_ARB = Attribute(SM, 0x18)
LINEAR_FWD = Attribute(SM, 0x19)
MCAST_FWD = Attribute(SM, 0x1b)

CLASS_PORT_INFO = Attribute(PERF, 0x01, ":16 cap_mask:16 cap_mask2:27")
PORT_COUNTERS = Attribute(PERF, 0x12, """
    :8 port:8 select:16 symbol_errors:16 link_recoveries:8 link_downed:8 rcv_errors:16
    rcv_remote:16 relay_errors:16 xmit_discards:16 xmit_constraint:8 rcv_constraint:8 select2:8
    integrity:4 overruns:4 qp1_dropped:16 vl15_dropped:16 xmit_data:32 rcv_data:32
    xmit_pkts:32 rcv_pkts:32 xmit_wait:32""")
RCV_ERROR_DETAILS = Attribute(PERF, 0x15, """
    :8 port:8 select:16 physical:16 malformed:16 overrun:16 dlid_mapping:16 vl_mapping:16
    looping:16""")
XMIT_DISCARD_DETAILS = Attribute(PERF, 0x16, """
    :8 port:8 select:16 inactive:16 neighbor_mtu:16 life_time:16 hoq_life_time:16""")
PORT_COUNTERS_EXT = Attribute(PERF, 0x1d, """
    :8 port:8 select:16 select2:32 xmit_data:64 rcv_data:64 xmit_pkts:64 rcv_pkts:64
    xmit_ucast:64 rcv_ucast:64 xmit_mcast:64 rcv_mcast:64 symbol_errors:64 link_recoveries:64
    link_downed:64 rcv_errors:64 rcv_remote:64 relay_errors:64 xmit_discards:64
    xmit_constraint:64 rcv_constraint:64 integrity:64 overruns:64 vl15_dropped:64 xmit_wait:64
    qp1_dropped:64""")


class Packet:
    """An agent's number, the address of the other end, and a MAD"""

    def __init__(self, agent, timeout, to, mad, retries=0):
        self.agent = agent
        self.timeout = timeout
        self.retries = retries
        self.to = Data(ADDRESS, to)
        self.mad = Data(MAD, mad)


class File:
    """A umad device that is open"""

    def __init__(self, device):
        self.fd = os.open(device, os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, ENABLE_PKEY)

    def register(self, qpn, mgmt_class, methods=0, oui=bytes(3), rmpp=0):
        request = struct.pack("=IQQBBB3sBx", 0, methods, 0, qpn, mgmt_class, 1, oui, rmpp)
        return struct.unpack_from("=I", fcntl.ioctl(self.fd, REGISTER_AGENT, request))[0]

    def send(self, packet):
        head = struct.pack("=5I", packet.agent, 0, packet.timeout, packet.retries, 0)
        os.write(self.fd, head + packet.to + bytes(8) + packet.mad)

    def readable(self, timeout=2 * SOON):
        return bool(select.select([self.fd], [], [], timeout / 1000)[0])

    def receive(self, room=320, timeout=2 * SOON):
        """A packet, or LOST for what was sent before"""
        assert self.readable(timeout), "nothing has come"
        got = os.read(self.fd, room)
        agent, status = struct.unpack_from("=II", got)
        assert status in (0, errno.ETIMEDOUT), os.strerror(status)
        return LOST if status else Packet(agent, 0, got[20:56], got[64:])

    def exchange(self, packet):
        self.send(packet)
        return self.receive()


class Port(File):
    """... with agents that ask, or that are told"""

    def __init__(self, device, methods=0):
        super().__init__(device)
        self.agents = {SM: self.register(0, SM, methods),
                       DIRECTED: self.register(0, DIRECTED), PERF: self.register(1, 0)}
        self.tid = 0

    def send(self, packet):
        self.tid += 1
        packet.mad.tid = self.tid
        super().send(packet)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(value))


def put(path, text):
    write(f"{FABRIC}/{path}", f"{text}\n")


def node(name, **settings):
    """A new one in the fabric: "type", "ports", "device" """
    os.mkdir(f"{FABRIC}/{name}")
    for attribute, value in settings.items():
        put(f"{name}/{attribute}", value)


def until(condition):
    end = time.monotonic() + SOON / 1000
    while not condition():
        assert time.monotonic() < end, "it never comes true"
        time.sleep(0.001)


def never_comes():
    """Two pages of memory, and the address of the second one, which never comes: a call
    that reads it hangs"""
    libc = ctypes.CDLL(None, use_errno=True)
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages)) + mmap.PAGESIZE
    # userfaultfd(), UFFDIO_API and UFFDIO_REGISTER for what is missing
    fd = libc.syscall(323, os.O_CLOEXEC)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    fcntl.ioctl(fd, 0xc018aa3f, struct.pack("=QQQ", 0xaa, 0, 0))
    fcntl.ioctl(fd, 0xc020aa00, struct.pack("=QQQQ", address, mmap.PAGESIZE, 1, 0))
    return pages, address


class Faults:
    """Allocations of ib_madsim, or for it, that fail"""

    def __init__(self):
        module, = (line.split() for line in open("/proc/modules") if line.startswith("ib_madsim "))
        start = int(module[5], 16)
        end = start + int(module[1])
        # A trace of a stack may have what was there before: no copies at all
        for kind, first, last in (("failslab", start, end), ("fail_page_alloc", start, end),
                                  ("fail_usercopy", 1, 1)):
            for attribute, value in (
                    ("verbose", 0), ("ignore-gfp-wait", "N"), ("min-order", 0),
                    ("stacktrace-depth", 32), ("require-start", hex(first)),
                    ("require-end", hex(last))):
                path = f"/sys/kernel/debug/{kind}/{attribute}"
                if os.path.exists(path):
                    write(path, value)
        self.fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR)

    def sweep(self, least, action, undo=lambda: None):
        """The first one fails, then the second one, until none is left. What can do
        with less succeeds all the same, and is undone"""
        for nth in range(1, 1000):
            os.pwrite(self.fd, b"%d" % nth, 0)
            error = 0
            try:
                action()
            except Exception as failure:
                error = getattr(failure, "errno", None) or failure.error_code
            struck = int(os.pread(self.fd, 16, 0)) == 0
            os.pwrite(self.fd, b"0", 0)
            if not error:
                undo()
            assert error in ((0, errno.ENOMEM) if struck else (0,)), f"{nth}: {error}"
            if not struck:
                break
        assert nth > least, f"only {nth - 1} allocations"


class Test(unittest.TestCase):
    hosts = 2
    # Hosts without a MAD layer: it would ask the subnet administration at any time
    of_the_model = ()

    def setUp(self):
        """Hosts h1, h2, ... at the ports of switch s1, which has another one, the spare port.
        Their LIDs are their numbers, the switch has the next one"""
        self.key = 0
        self.switch = self.spare = self.hosts + 1
        self.addCleanup(self.take_down)
        os.mkdir(FABRIC)
        node("s1", type="switch", ports=self.spare)
        for host in range(1, self.switch):
            node(f"h{host}", ports=1, device=int(host not in self.of_the_model))
            put("link", f"h{host} 1 s1 {host}")
        put("live", 1)
        self.client = self.open(1)
        self.bring_up()

    def take_down(self):
        put("live", 0)
        for path in glob.glob(f"{FABRIC}/*/"):
            os.rmdir(path)
        os.rmdir(FABRIC)

    def device(self, host):
        return read(f"{FABRIC}/h{host}/dev_name")

    def gid(self, host, index=0):
        text = read(f"/sys/class/infiniband/{self.device(host)}/ports/1/gids/{index}")
        return int(text.replace(":", ""), 16)

    def umad(self, host):
        """The number of its umad device, and of its issm device"""
        return next(path[len("/sys/class/infiniband_mad/umad"):-len("/ibdev")]
                    for path in glob.glob("/sys/class/infiniband_mad/umad*/ibdev")
                    if read(path) == self.device(host))

    def open(self, host, methods=0):
        port = Port(f"/dev/infiniband/umad{self.umad(host)}", methods)
        self.addCleanup(os.close, port.fd)
        return port

    def bring_up(self):
        """What a subnet manager does"""
        hosts = range(1, self.switch)
        self.set(SWITCH, SWITCH_INFO, lft_top=self.switch)
        self.set(SWITCH, LINEAR_FWD, 0, bytes([255, *hosts, 0]).ljust(64, b"\xff"))
        self.set_port(SWITCH, 0, lid=self.switch, sm_lid=1)
        self.activate(*hosts)
        # Where ib_cm is loaded each host repeats that it is there, as long as it may
        for host in hosts:
            self.repress(host, 144)

    def set_host(self, host, state):
        """The state of its port, and of that of the switch"""
        self.set_port(SWITCH + (host,) if host > 1 else HERE, 1, lid=host, sm_lid=1, state=state)
        self.set_port(SWITCH, host, state=state)

    def activate(self, *hosts):
        for state in ARMED, ACTIVE:
            for host in hosts:
                self.set_host(host, state)

    def fault(self, *commands):
        for command in commands:
            put("faults", command)

    def fails(self, code, call, *args):
        """The call is refused, with this errno"""
        with self.assertRaises(OSError, msg=args) as refused:
            call(*args)
        self.assertEqual(code, refused.exception.errno, args)

    def power(self, *names):
        for name in names:
            self.fault(f"{name} unplug", f"{name} plug")

    def packet(self, where, method, attribute, mod=0, data=b"", *, timeout=SOON, to=None,
               mad=None, **values):
        """A request to a LID, or by a directed route. @to and @mad are what else its address
        and its MAD are to have"""
        directed = isinstance(where, tuple)
        mgmt_class = attribute.mgmt_class
        agent = DIRECTED if directed else SM if mgmt_class == SM else PERF
        packet = Packet(self.client.agents[agent], timeout, bytes(36), bytes(256))
        packet.to.lid = PERMISSIVE if directed else where
        if agent == PERF:
            packet.to.change(qpn=1, qkey=0x80010000)
        packet.mad.change(base_version=1, mgmt_class=DIRECTED if directed else mgmt_class,
                          class_version=attribute.version, method=method,
                          attr_id=attribute.number, attr_mod=mod, key=self.key)
        packet.mad[attribute.begin:attribute.begin + attribute.size] = attribute.data(
            data, **values)
        if directed:
            packet.mad.change(hop_cnt=len(where), dr_slid=PERMISSIVE, dr_dlid=PERMISSIVE)
            packet.mad[129:129 + len(where)] = bytes(where)
        packet.to.change(**to or {})
        packet.mad.change(**mad or {})
        return packet

    def ask(self, where, method, attribute, mod=0, data=b"", *, status=0, **more):
        """What a response has, which is to have this status. None if it is LOST"""
        answer = self.client.exchange(self.packet(
            where, method, attribute, mod, data,
            **{"timeout": QUIET if status == LOST else SOON, **more}))
        # The D bit is none of the status
        got = LOST if answer == LOST else answer.mad.status & 0x7fff
        self.assertEqual(status, got, f"method {method}, attribute {attribute.number:#x} "
                         f"of {mod:#x} at {where}")
        return None if got == LOST else attribute.data(answer.mad[attribute.begin:])

    def get(self, where, attribute, *args, **values):
        return self.ask(where, GET, attribute, *args, **values)

    def set(self, where, attribute, *args, **values):
        return self.ask(where, SET, attribute, *args, **values)

    def change(self, where, attribute, mod=0, status=0, **values):
        """A Set of some components"""
        return self.set(where, attribute, mod, self.get(where, attribute, mod).change(**values),
                        status=status)

    def set_port(self, where, number, status=0, **values):
        """The same, of PortInfo: its states stay, unless told otherwise"""
        return self.change(where, PORT_INFO, number, status,
                           **{"state": 0, "phys": 0, "reregister": 0, **values})

    def expect(self, data, why=None, **want):
        """Components of what has come"""
        self.assertEqual(want, {name: getattr(data, name) for name in want}, why)

    def counts(self, lid, port, attribute, why=None, **want):
        """... of a counter's attribute"""
        self.expect(self.get(lid, attribute, port=port), why, **want)

    def repress(self, lid, trap):
        """The response to the Get comes behind the last of the notices"""
        self.client.send(self.packet(lid, REPRESS, NOTICE, timeout=0, trap=trap))
        self.get(lid, NODE_DESC)


def checks():
    """Names and checks: all, or those of the command line, with or without their class"""
    for kind in vars(sys.modules["__main__"]).values():
        if isinstance(kind, type) and issubclass(kind, Test):
            for method in unittest.TestLoader().getTestCaseNames(kind):
                name = method.removeprefix("test_")
                full = f"{kind.__name__}.{name}"
                if not sys.argv[1:] or {name, full} & set(sys.argv[1:]):
                    yield full, kind(method)


def ktap(tests):
    """The one writer of KTAP in Python: runs tests, each of which has a name, and tells what
    came of it. Whether one failed"""
    print(f"KTAP version 1\n1..{len(tests)}", flush=True)
    failed = not tests
    for number, (name, test) in enumerate(tests, 1):
        result = unittest.TestResult()
        test(result)
        skipped = "".join(f" # SKIP {why}" for _, why in result.skipped)
        print("ok" if result.wasSuccessful() else "not ok", number, f"{name}{skipped}")
        for _, why in result.failures + result.errors:
            print("".join(f"# {line}\n" for line in why.splitlines()), end="", flush=True)
            failed = True
    return failed


def main():
    subprocess.run(["modprobe", "-qa", "configfs", "ib_uverbs"], check=False)
    file = os.environ.get("MADSIM_MODULE")
    subprocess.run([*(["insmod", file] if file else ["modprobe", "ib_madsim"]),
                    "topology=none"], check=True)
    if not os.path.ismount(ROOT):
        subprocess.run(["mount", "-t", "configfs", "none", ROOT], check=True)
    failed = ktap(list(checks()))
    subprocess.run(["rmmod", "ib_madsim"], check=True)
    sys.exit(failed)
