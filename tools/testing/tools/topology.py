#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tests of what madsim-load reads, by what it would make: madsim-load --plan.

One fabric as each program writes it; files of real life, and what is said of them; and files
with damage. Prints KTAP, for this machine's awk and that of busybox. UMAD_FUZZ_SEED has other
damage done. What the driver makes of a plan is asked by topology.sh of tools/testing/madsim.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "../madsim"))
import fabric   # pylint: disable=wrong-import-position
from topology_files import FILES   # pylint: disable=wrong-import-position

PROGRAM = os.path.join(HERE, "../../infiniband/madsim-load/madsim-load")
AWKS = {"this awk": None, "busybox": "exec busybox awk \"$@\""}
SPEEDS = {"sdr": (2.5, "2.5", 1), "ddr": (5.0, "5", 2), "qdr": (10.0, "10", 4),
          "fdr10": (10.0, "FDR10", 65536), "fdr": (14.0625, "14", 256),
          "edr": (25.78125, "25", 512), "hdr": (53.125, "50", 1024),
          "ndr": (106.25, "100", 2048), "xdr": (212.5, "200", 4096)}
WIDTHS = {"1x": 1, "2x": 16, "4x": 2, "8x": 4, "12x": 8}


class Node:
    def __init__(self, kind, number, ports, desc):
        self.kind, self.ports, self.desc, self.lid = kind, ports, desc, number
        self.guid = 0x5349000000000000 + 16 * number
        self.name = f"{kind[0]}-{self.guid:016x}"
        self.port = {}

    def port_guid(self, port):
        return self.guid + (port - 1 if self.kind == "H" else 0)

    def port_lid(self, port):
        return self.lid + (port - 1 if self.kind == "H" else 0)


def cluster(hosts, leaves, spines):
    """Nodes whose ports know their peer, its port, a width and a speed."""
    nodes = {"H": [], "S": []}
    speeds = list(SPEEDS)
    for i in range(hosts):
        nodes["H"].append(Node("H", 4 * i + 8, 2, f"h{i:04} #2, mlx5_{i % 2}"))
    for i in range(leaves + spines):
        name = "leaf" if i < leaves else "spine"
        nodes["S"].append(Node("S", 40000 + i, 200, f"{name}\xf6{i}"))

    def link(a, a_port, b, b_port, number):
        width = "2x" if number % 7 == 1 else "4x"
        a.port[a_port] = (b, b_port, width, speeds[number % 9])
        b.port[b_port] = (a, a_port, width, speeds[number % 9])

    for i, host in enumerate(nodes["H"]):
        link(host, 1 + i % 2, nodes["S"][i % leaves], i // leaves + 1, i)
    for i in range(leaves):
        for j in range(spines):
            link(nodes["S"][i], 200 - j, nodes["S"][leaves + j], i + 1, i)
    return nodes["H"] + nodes["S"]


def ends(nodes):
    for node in nodes:
        for port, (peer, peer_port, width, speed) in node.port.items():
            yield node, port, peer, peer_port, width, speed


def ibnetdiscover(nodes):
    for node in nodes:
        kind = "ca" if node.kind == "H" else "switch"
        yield f"vendid=0x2c9\ndevid=0xd2f4\nsysimgguid=0x{node.guid:x}"
        yield f"{kind}guid=0x{node.guid:x}" + (f"({node.guid:x})" if kind == "switch" else "")
        yield f"{'Ca' if kind == 'ca' else 'Switch'}\t{node.ports} \"{node.name}\"\t\t# " + \
            f"\"{node.desc}\"" + (f" base port 0 lid {node.lid} lmc 0" if kind == "switch" else "")
        for _, port, peer, peer_port, width, speed in ends([node]):
            rate = f"\"{peer.desc}\" lid {peer.port_lid(peer_port)} {width}{speed.upper()}"
            own = f"({node.port_guid(port):x})" if kind == "ca" else ""
            theirs = f"({peer.port_guid(peer_port):x})" if peer.kind == "H" else ""
            own_lid = f"lid {node.port_lid(port)} lmc 0 " if kind == "ca" else ""
            yield f"[{port}]{own} \t\"{peer.name}\"[{peer_port}]{theirs} \t\t# {own_lid}{rate}"
        yield ""


def ibnetdiscover_p(nodes):
    words = {"H": "CA", "S": "SW"}
    for node, port, peer, peer_port, width, speed in ends(nodes):
        yield f"{words[node.kind]} {node.port_lid(port):5} {port:2} 0x{node.port_guid(port):016x} " + \
            f"{width} {speed.upper()} - {words[peer.kind]} {peer.port_lid(peer_port):5} " + \
            f"{peer_port:2} 0x{peer.port_guid(peer_port):016x} ( '{node.desc}' - '{peer.desc}' )"
    for node in nodes:
        yield f"{words[node.kind]} {node.lid:5} {node.ports:2} " + \
            f"0x{node.port_guid(node.ports):016x} 4x ???  '{node.desc}'"


def linkinfo_rate(width, speed):
    gbps = "10.0 Gbps (FDR10)" if speed == "fdr10" else f"{SPEEDS[speed][0]} Gbps"
    return f"==({width.upper():>3} {gbps:>18} Active/  LinkUp)==>  "


def iblinkinfo(nodes):
    for node in nodes:
        guid = f"0x{node.guid:016x} " if node.kind == "S" else ""
        yield f"{'CA' if node.kind == 'H' else 'Switch'}: {guid}{node.desc}:"
        for port in range(1, node.ports + 1):
            own = f"0x{node.port_guid(port):016x} " if node.kind == "H" else ""
            own = f"      {own}{node.port_lid(port):6} {port:4}[  ] "
            if port not in node.port:
                yield f"{own}==(                Down/ Polling)==>             [  ] \"\" ( )"
                continue
            peer, peer_port, width, speed = node.port[port]
            yield f"{own}{linkinfo_rate(width, speed)}{peer.port_lid(peer_port):6} " + \
                f"{peer_port:4}[ 7] \"{peer.desc}\" ( Could be 4X )"


def iblinkinfo_l(nodes):
    for node in nodes:
        for port in range(1, node.ports + 1):
            own = f"0x{node.port_guid(port):016x} \"{node.desc:>30}\" " + \
                f"{node.port_lid(port):6} {port:4}[  ] "
            if port not in node.port:
                yield f"{own}==(                Down/ Polling)==>             [  ] \"\" ( )"
                continue
            peer, peer_port, width, speed = node.port[port]
            yield f"{own}{linkinfo_rate(width, speed)}0x{peer.port_guid(peer_port):016x} " + \
                f"{peer.port_lid(peer_port):6} {peer_port:4}[  ] \"{peer.desc}\" ( )"


def lst(nodes):
    def end(node, port):
        return f"{{ {'CA' if node.kind == 'H' else 'SW'} Ports:{node.ports:02X} " + \
            f"SystemGUID:{node.guid:016x} NodeGUID:{node.guid:016x} " + \
            f"PortGUID:{node.port_guid(port):016x} VenID:000002C9 DevID:D2F4 Rev:000000A1 " + \
            f"{{{node.desc}}} LID:{node.port_lid(port):04X} PN:{port:02X} }} "
    for node, port, peer, peer_port, width, speed in ends(nodes):
        yield f"{end(node, port)}{end(peer, peer_port)}PHY={width} LOG=ACT SPD={SPEEDS[speed][1]}"


def db_csv(nodes):
    yield "START_FABRIC_INFO\nNodes,Ports\n1,\"2\nEND_FABRIC_INFO\n\n\nSTART_NODES"
    yield "NodeDesc,NumPorts,NodeType,ClassVersion,BaseVersion,SystemImageGUID,NodeGUID,PortGUID," \
        "DeviceID,PartitionCap,revision,VendorID,LocalPortNum"
    for node in nodes:
        port = min(node.port)
        yield f"\"{node.desc}\",{node.ports},{'HS'.index(node.kind) + 1},1,1,0x{node.guid:016x}," + \
            f"0x{node.guid:016x},0x{node.port_guid(port):016x},54004,128,0x00000000,0x000002c9," + \
            f"{port}"
    yield "END_NODES\n\nSTART_PORTS"
    yield "NodeGuid,PortGuid,PortNum,LID,LinkWidthActv,LinkWidthSup,LinkSpeedEn,LinkSpeedActv," \
        "PortPhyState,PortState"
    for node, port, _, _, width, speed in ends(nodes):
        yield f"0x{node.guid:016x},0x{node.port_guid(port):016x},{port},{node.port_lid(port)}," + \
            f"{WIDTHS[width]},N/A,3841,{SPEEDS[speed][2]},5,4"
    yield "END_PORTS\n\nSTART_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2"
    for node, port, peer, peer_port, _, _ in ends(nodes):
        if node.guid < peer.guid:
            yield f"0x{node.guid:016x},{port},0x{peer.guid:016x},{peer_port}"
    yield "END_LINKS"


FORMATS = (ibnetdiscover, ibnetdiscover_p, iblinkinfo, iblinkinfo_l, lst, db_csv)


def write(program, nodes):
    return "\n".join(program(nodes)).encode("latin-1") + b"\n"


def slurm(hosts):
    """Of another kind: without GUIDs and ports"""
    leaves = hosts // 16
    rows = [f"SwitchName=s{i} Nodes=n[{16 * i:05}-{16 * i + 14:05},{16 * i + 15:05}]"
            for i in range(leaves)]
    rows += [f"SwitchName=top{i} Switches=s[{200 * i}-{min(200 * i + 199, leaves - 1)}]"
             for i in range((leaves + 199) // 200)]
    return "\n".join(rows).encode() + b"\n"


class Loader:
    """madsim-load with an awk, in a locale whose letters are UTF-8"""

    def __init__(self, root, awk):
        self.file = os.path.join(root, "file")
        path = os.path.join(root, "bin")
        if awk:
            os.makedirs(path, exist_ok=True)
            with open(os.path.join(path, "awk"), "w", encoding="ascii") as file:
                file.write(f"#!/bin/sh\n{awk}\n")
                os.fchmod(file.fileno(), 0o755)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8",
                            "PATH": path + ":" + os.environ["PATH"]}

    def run(self, text, *options):
        with open(self.file, "wb") as file:
            file.write(text)
        done = subprocess.run([PROGRAM, *options, self.file], capture_output=True,
                              env=self.environment, timeout=900, check=False)
        # Lines end with a newline alone: splitlines() knows other ends
        said, plan = (text.decode("latin-1").replace(self.file + ":", "").split("\n")[:-1]
                      for text in (done.stderr, done.stdout))
        return done.returncode, plan, said

    def plan(self, text, *options):
        return self.run(text, "--plan", *options)


def expect(found, wanted):
    assert found == wanted, f"wanted {wanted!r}\nfound  {found!r}"


def links_of(plan):
    """Each with the lesser end first"""
    links = set()
    for row in plan:
        if row.startswith("link "):
            _, a, a_port, b, b_port, width, speed = row.split(" ")
            links.add((*sorted(((a, int(a_port)), (b, int(b_port)))), width, speed))
    return links


def same_fabric(program, loader):
    nodes = cluster(40, 4, 2)
    status, plan, said = loader.plan(write(program, nodes), "-d", "3")
    expect((status, said), (0, []))
    ids = "0x2c9 0xd2f4" if program in (ibnetdiscover, lst, db_csv) else "- -"
    for node in nodes:
        guid = f"0x{node.guid:016x}"
        row = f"node {node.name} {'ca' if node.kind == 'H' else 'switch'} {node.ports} {ids} " \
            f"{guid if ids[0] == '0' else '-'} {guid} {guid} {node.desc}"
        assert row in plan, f"no {row!r} in {plan}"
    expect(links_of(plan), {(*sorted(((a.name, p), (b.name, q))), w, s)
                            for a, p, b, q, w, s in ends(nodes)})
    expect([row for row in plan if row.startswith("device")],
           [f"device {node.name}" for node in nodes if node.kind == "H"][:3])


def real_life(text, wanted, said, options, loader):
    if isinstance(text, str):
        text = text.encode("latin-1")
    status, plan, told = loader.plan(text, *options)
    expect(told, said)
    expect(status, 0 if wanted else 1)
    expect(links_of(plan), links_of(wanted))
    for row in wanted:
        assert row in plan or row.startswith("link "), f"no {row!r} in {plan}"
    if plan:
        check_plan(plan, "0" not in options)
    if said:
        status, plan, told = loader.plan(text, "--strict", *options)
        expect((status, plan, len(told)), (1, [], 1))


ROWS = {
    "node": r"(\S+) (ca|switch|router) (\d+) (0x[0-9a-f]{1,6}|-) (0x[0-9a-f]{1,4}|-) (0x[0-9a-f]{16}|-) "
            r"(0x[0-9a-f]{16}|-) (0x[0-9a-f]{16}|-) (.*)",
    "link": r"(\S+) (\d+) (\S+) (\d+) (1|2|4|8|12)x ([sdqfehnx]dr|fdr10)",
    "wire": r"(\S+) (\d+) (1|2|4|8|12)x ([sdqfehnx]dr|fdr10)",
    "device": r"(\S+)",
}


def check_plan(plan, with_device=True):
    """It is what the driver takes"""
    ports, used, guids, devices = {}, set(), set(), 0
    for row in plan:
        what, _, rest = row.partition(" ")
        match = re.fullmatch(ROWS[what], rest)
        assert match, row
        part = match.groups()
        if what == "node":
            assert part[0] not in ports and len(part[0]) < 64 and "/" not in part[0] and \
                part[0][0] != "." and 1 <= int(part[2]) <= 254 and len(part[8]) <= 64, row
            ports[part[0]] = int(part[2])
            for guid in ("node" + part[6], "port" + part[7]):
                assert guid[4:] == "-" or guid not in guids, row
                guids.add(guid)
            continue
        devices += what == "device"
        for end in {"link": [part[:2], part[2:4]], "wire": [part[:2]]}.get(what, []):
            assert 1 <= int(end[1]) <= ports[end[0]] and end not in used, row
            used.add(end)
        assert what != "device" or part[0] in ports, row
    assert devices or not with_device, "no device"


def damage(text, rnd):
    """Bytes flipped, lines cut, columns moved"""
    rows = text.split(b"\n")
    for _ in range(rnd.choice((1, 3, 30))):
        i = rnd.randrange(len(rows))
        row = rows[i]
        kind = rnd.randrange(7)
        if kind == 0 and row:
            at = rnd.randrange(len(row))
            rows[i] = row[:at] + bytes([row[at] ^ 1 << rnd.randrange(8)]) + row[at + 1:]
        elif kind == 1:
            rows[i] = row[:rnd.randrange(len(row) + 1)]
        elif kind == 2:
            words = row.split(rnd.choice((b" ", b",", b"\"")))
            rnd.shuffle(words)
            rows[i] = b" ".join(words)
        elif kind == 3:
            rows[i] = row + rows[rnd.randrange(len(rows))]
        elif kind == 4:
            rows[i] = rows[rnd.randrange(len(rows))]
        elif kind == 5:
            rows[i] = re.sub(rb"[0-9]+", lambda number: rnd.choice(
                (b"", b"0", b"255", b"4294967296", b"99999999999999999999", number[0])), row)
        else:
            del rows[i:i + rnd.randrange(len(rows)) // 4]
            rows.append(b"")
    return b"\n".join(rows)


def survives(text, loader):
    status, plan, said = loader.plan(text)
    lines = text.count(b"\n") + 1
    for row in said:
        match = re.match(r"(\d+): ", row)
        assert match and int(match[1]) <= lines, f"it says {row!r}"
    if status == 0:
        check_plan(plan)
    else:
        expect((status, plan), (1, []))
        assert said, "not a word"


def fuzzed(program, loader):
    seed = int(os.environ.get("UMAD_FUZZ_SEED", 1))
    good = slurm(64) if program is slurm else write(program, cluster(6, 2, 1))
    # Without the ports that have no link, so damage hits what has one
    good = b"\n".join(row for row in good.split(b"\n")
                      if b"Down/ Polling" not in row or b"200[" in row)
    for number in range(seed * 1000, seed * 1000 + ROUNDS):
        bad = damage(good, random.Random(number))
        try:
            survives(bad, loader)
        except BaseException as error:
            raise AssertionError(f"damage {number}") from error


def ten_thousand(program, loader):
    """How long it takes is said, and no more: that depends on the machine"""
    size = 1000
    text = slurm(3000 * 16) if program is slurm else b""
    while text.count(b"\n") < 10000 and program is not slurm:
        text = write(program, cluster(size, 40, 4))
        size += 1000
    text = b"\n".join(text.split(b"\n")[:10000])
    for what, lines in ("", text), (" with damage", damage(text, random.Random(1))):
        start = time.monotonic()
        survives(lines, loader)
        print(f"# {program.__name__}, 10,000 lines{what}: {time.monotonic() - start:.2f} s")


REGISTERS = {
    "leaf MFSM tacho=3 rpm=8640": ["0x9003 .3 03000000000021c0"],
    "leaf MTMP rpm=0 sensor_index=0x40": "1: MTMP has no field rpm",
    'leaf MTMP sensor_index=0x40 temperature=0x191 slot_index=1\r\n\n # words\n'
    'leaf MSCI  index=0\tversion=4294967295 ': [
        "0x900a .....040 0001004000000191" + 48 * "0", "0x902a .......0 00000000ffffffff00000000"],
    "leaf MSGI revision=A4 product_name=\"a b\" part_number[1]=0x31": [
        "0x9021 . " + 72 * "0" + "00000031" + 32 * "0" + "4134" + 12 * "0"
        + "612062" + 122 * "0"],
    "leaf PDDR local_port=5 page_select=3 vendor_name=M": [
        "0x5031 ..05..........03 0005000000000003" + 40 * "0" + "4d" + 454 * "0"],
    "leaf 0x1234 .1. 00ff": ["0x1234 .1. 00ff"],
    "leaf 0x1234 00": "1: cannot make sense of",
    "leaf": "1: no register",
    "\nleaf MTTT temperature=3": "2: no register MTTT",
    "leaf MFSM rpm=65536": "1: rpm has 16 bits",
    "leaf MFSM rpm=0x10000": "1: rpm has 16 bits",
    "leaf MFSM rpm=three": "1: rpm has 16 bits",
    "leaf MFSM rpm=": "1: cannot make sense of: rpm=",
    "leaf MFSM rpm[1]=3": "1: rpm has 1 elements",
    "leaf MSPS psu0=3": "1: psu0 has 20 elements",
    "leaf MSPS psu0[20]=3": "1: psu0 has 20 elements",
    "leaf MSGI product_name=\"a b": "1: cannot make sense of",
    "leaf MSGI revision=AAAAA": "1: revision has 32 bits",
}


def registers(text, wanted, loader):
    """Commands, or what is said of a file without sense, of which nothing is made"""
    status, plan, said = loader.run(text.encode(), "--registers", "--plan")
    if isinstance(wanted, list):
        expect((status, plan, said), (0, [f"leaf register {row}" for row in wanted], []))
    else:
        expect((status, plan), (1, []))
        assert wanted in said[0], said


ROUNDS = int(os.environ.get("UMAD_FUZZ_ROUNDS", 15))


def tests():
    for awk in AWKS:
        for program in FORMATS:
            yield f"{awk}: one fabric, {program.__name__}", (awk, same_fabric, program)
        for name, (text, wanted, said, *options) in FILES.items():
            yield f"{awk}: {name}", (awk, real_life, text, wanted, said, options)
        for program in (*FORMATS, slurm):
            yield f"{awk}: damage, {program.__name__}", (awk, fuzzed, program)
        for text, wanted in REGISTERS.items():
            yield f"{awk}: registers, {text!r}", (awk, registers, text, wanted)
    for program in (*FORMATS, slurm):
        yield f"10,000 lines, {program.__name__}", ("this awk", ten_thousand, program)


def in_folder(awk, test, *args):
    with tempfile.TemporaryDirectory() as root:
        test(*args, Loader(root, AWKS[awk]))


sys.exit(fabric.ktap([(name, unittest.FunctionTestCase(lambda test=test: in_folder(*test)))
                     for name, test in tests() if not sys.argv[1:] or any(
                         word in name for word in sys.argv[1:])]))
