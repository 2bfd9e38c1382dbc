#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Tests of umadstat over folders that look like /sys and /proc.

Every value, with either module, files that vanish and files that may not be read.
Prints KTAP. See umadstat.sh of tools/testing/madsim for the same with real modules.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "../madsim"))
import fabric   # pylint: disable=wrong-import-position

PROGRAM = os.path.join(HERE, "../../infiniband/umadstat/umadstat")
NOBODY = 65534

COUNTERS = ("sent", "received", "timeouts", "send_errors",
            "refused_duplicate", "refused_limit", "refused_memory",
            "dropped_limit", "dropped_memory", "dropped_rmpp", "dropped_address",
            "rmpp_sent", "rmpp_received")
GAUGES = ("files", "agents", "outstanding", "unread")


def put(root, folder, **files):
    """Files of a folder, replaced at once as sysfs does."""
    folder = os.path.join(root, folder)
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        path = os.path.join(folder, name)
        with open(path + ".new", "w") as file:
            file.write(f"{text}\n")
        os.rename(path + ".new", path)


def put_port(root, num, device, layer="InfiniBand", counts=None):
    mad = "sys/class/infiniband_mad"
    put(root, f"{mad}/umad{num}", ibdev=device, port=1)
    put(root, f"sys/class/infiniband/{device}/ports/1", state="4: ACTIVE", link_layer=layer)
    if layer == "InfiniBand":
        put(root, f"{mad}/issm{num}", ibdev=device, port=1)
    if counts is not None:
        put(root, f"{mad}/umad{num}/statistics",
            **{**dict.fromkeys(COUNTERS + GAUGES, 0), **counts})


def put_process(root, pid, command, files):
    """files: of each descriptor, what it is and its fdinfo"""
    put(root, f"proc/{pid}", comm=command)
    os.makedirs(os.path.join(root, f"proc/{pid}/fd"))
    for fd, (link, info) in enumerate(files):
        os.symlink(link, os.path.join(root, f"proc/{pid}/fd/{fd}"))
        put(root, f"proc/{pid}/fdinfo", **{str(fd): "pos:\t0\nflags:\t0100002\n" + info})


def agent(num, qp=1, mgmt_class=0, version=0, methods=(), oui=0, rmpp=0, user_rmpp=0):
    mask = sum(1 << method for method in methods)
    return (f"umad-agent:\t{num} qp {qp} class 0x{mgmt_class:02x} "
            f"version {version} methods {mask:032x} oui {oui:06x} rmpp {rmpp} "
            f"user-rmpp {user_rmpp}")


def umad(*agents, outstanding=0, unread=0, dropped=0):
    return "\n".join([f"umad-agents:\t{len(agents)}",
                      f"umad-outstanding:\t{outstanding}",
                      f"umad-unread:\t{unread}",
                      f"umad-dropped:\t{dropped}", *agents])


def busy_host(root):
    """Three ports, the last of which suffers most, and the processes at them."""
    put_port(root, 0, "mlx5_0", counts={"sent": 123456, "received": 7,
                                        "outstanding": 3, "files": 1})
    put_port(root, 2, "mlx5_1", counts={"timeouts": 2})
    put_port(root, 10, "rxe0", layer="Ethernet", counts={
        "dropped_limit": 3, "dropped_address": 1, "refused_duplicate": 5})
    put_process(root, 1, "init", [("/dev/null", "")])
    put_process(root, 70, "opensm", [
        ("socket:[4711]", ""),
        ("/dev/infiniband/umad0", umad(
            agent(0, 0, 0x81, 1, (1, 2, 3, 5, 7)),
            agent(1, 1, 0x03, 2, (1, 2, 0x12, 0x15), rmpp=1),
            outstanding=3)),
        ("/dev/infiniband/issm0", "issm-held:\t1"),
    ])
    put_process(root, 80, "evil\033[31m\nname", [
        ("/dev/infiniband/umad10", umad()),
        ("/dev/infiniband/umad10", umad(
            agent(31, 1, 0x32, 1, (1, 127), 0x001405, user_rmpp=1),
            unread=9, dropped=4)),
    ])
    put_process(root, 90, "ibping", [("/dev/infiniband/umad3", umad())])
    put_process(root, 91, "old", [
        ("/dev/infiniband/umad0 (deleted)", umad()),
        ("/dev/infiniband/issm9 (deleted)", "issm-held:\t0")])


def other_module(root):
    """Of the kernel's own ib_umad: no counters, no keys in fdinfo."""
    put_port(root, 0, "mlx5_0")
    put_process(root, 1, "init", [])
    put_process(root, 70, "opensm", [("/dev/infiniband/umad0", ""), ("/dev/infiniband/issm0", "")])


def umadstat(root, *args, status=0, user=None):
    """Its output, to stdout or, if it is to fail, to stderr"""
    # A checkout may be for its owner alone
    program = shutil.copy(PROGRAM, root)
    done = subprocess.run([sys.executable, program, "--root", root, *args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True,
                          timeout=60, user=user)
    assert done.returncode == status and bool(done.stderr) == bool(status), \
        f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stderr if status else done.stdout


def rows(text):
    """The lines below the headings"""
    lines = text.splitlines()
    at = [i for i, line in enumerate(lines) if line.startswith("PORT, PROCESS")]
    assert len(at) == 1, f"{len(at)} lines of headings\n{text}"
    return lines[at[0] + 1:]


def expect(found, wanted):
    assert found == wanted, f"wanted {wanted!r}\nfound  {found!r}"


def expect_in(part, text):
    assert part in text, f"no {part!r} in:\n{text}"


def table_has_it_all(root):
    busy_host(root)
    found = [" ".join(row.split()) for row in rows(umadstat(root))]
    # DROPPED REFUSED FAILED TIMEOUTS UNREAD OUTSTANDING SENT RECEIVED
    expect(found, [
        "umad10 rxe0/1 RoCE ACTIVE 4 5 0 0 0 0 0 0",
        "dropped: limit 3, address 1; refused: duplicate 5",
        "evil?[31m?name[80] fd 1 4 - - - 9 0 - -",
        "31: QP1 vendor 001405 0x32.1 user RMPP: Get 0x7f - - - - - - - -",
        "evil?[31m?name[80] fd 0: no agent 0 - - - 0 0 - -",
        "umad2 mlx5_1/1 InfiniBand ACTIVE 0 0 0 2 0 0 0 0",
        "umad0 mlx5_0/1 InfiniBand ACTIVE 0 0 0 0 0 3 123k 7",
        "opensm[70] fd 1 0 - - - 0 3 - -",
        "0: QP0 SM, directed route 0x81.1: 5 methods - - - - - - - -",
        "1: QP1 SA 0x03.2 RMPP: Get Set GetTable Delete - - - - - - - -",
        "opensm[70] fd 2 holds issm0 - - - - - - - -",
        "umad3, which is gone: ibping[90] fd 0 0 - - - 0 0 - -",
        "umad0, which is gone: old[91] fd 0 0 - - - 0 0 - -",
        "issm9, which is gone: old[91] fd 1 - - - - - - - -",
    ])


def columns_are_columns(root):
    busy_host(root)
    lines = [line for line in umadstat(root).splitlines()[1:] if not line.startswith("  dropped: ")]
    end = lines[0].index("DROPPED") + len("DROPPED")
    for line in lines[1:]:
        assert line[end - 1] in "-0123456789" and line[end] == " ", \
            f"column 1 does not end at {end}: {line!r}"


def json_has_it_all(root):
    busy_host(root)
    text = umadstat(root, "-j")
    expect(text.count("\n"), 1)
    data = json.loads(text)
    expect(sorted(data), ["gone", "interval", "missing", "ports", "time"])
    expect((data["missing"], data["interval"]), ([], None))
    expect([port["name"] for port in data["ports"]], ["umad0", "umad2", "umad10"])
    port = data["ports"][0]
    expect([port[key] for key in ("device", "port", "issm", "link_layer",
                                  "state", "rates")],
           ["mlx5_0", 1, "issm0", "InfiniBand", "ACTIVE", None])
    expect(port["statistics"], {
        **dict.fromkeys(COUNTERS + GAUGES, 0),
        "sent": 123456, "received": 7, "outstanding": 3, "files": 1})
    files = {file["fd"]: file for file in port["files"]}
    expect(files[2], {"device": "issm0", "gone": False, "pid": 70,
                      "command": "opensm", "fd": 2, "held": True})
    expect(files[1]["agents"][1], {
        "id": 1, "qp": 1, "class": 3, "version": 2, "methods": [1, 2, 18, 21],
        "oui": 0, "rmpp": 1, "user_rmpp": 0})
    roce = data["ports"][2]
    expect((roce["issm"], roce["files"][1]["dropped"]), (None, 4))
    expect(sorted(file["device"] for file in data["gone"]), ["issm9", "umad0", "umad3"])


METRIC = re.compile(r'infiniband_umad_(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\d+)')


def metrics(text):
    """{(name, labels): value}, of text that has the form of OpenMetrics"""
    lines = text.split("\n")
    expect(lines[-2:], ["# EOF", ""])
    found, kinds, family = {}, {}, None
    for line in lines[:-2]:
        words = line.split(" ", 3)
        if words[:2] == ["#", "TYPE"]:
            family = words[2]
            expect(family in kinds, False)
            kinds[family] = words[3]
        elif words[:2] == ["#", "HELP"]:
            expect(words[2], family)
        else:
            match = METRIC.fullmatch(line)
            expect(bool(match), True)
            # Types that the older text format has, too
            suffix = {"counter": "_total", "gauge": ""}[kinds[family]]
            expect("infiniband_umad_" + match[1], family + suffix)
            expect((match[1], match[2]) in found, False)
            found[match[1], match[2]] = int(match[3])
    return found


def openmetrics_has_it_all(root):
    busy_host(root)
    found = metrics(umadstat(root, "--openmetrics"))
    at = 'device="mlx5_0",port="1"'
    roce = 'device="rxe0",port="1"'
    opensm = at + ',command="opensm",pid="70",fd='
    evil = roce + r',command="evil' "\033" r'[31m\nname",pid="80",fd="1"'
    for name, labels, value in (
            ("port_info", at + ',umad="umad0",issm="issm0",link_layer="InfiniBand"', 1),
            ("port_info", roce + ',umad="umad10",issm="",link_layer="Ethernet"', 1),
            ("sent_total", at, 123456), ("received_total", at, 7),
            ("outstanding", at, 3), ("files", at, 1), ("agents", at, 0),
            ("timeouts_total", 'device="mlx5_1",port="1"', 2),
            ("send_errors_total", at, 0), ("rmpp_received_total", at, 0),
            ("dropped_total", roce + ',reason="limit"', 3),
            ("dropped_total", roce + ',reason="rmpp"', 0),
            ("refused_total", roce + ',reason="duplicate"', 5),
            ("file_outstanding", opensm + '"1"', 3), ("issm_held", opensm + '"2"', 1),
            ("file_unread", evil, 9), ("file_dropped_total", evil, 4),
            ("gone_files", "", 3)):
        expect((name, labels, found.get((name, labels))), (name, labels, value))
    # Each counter of each port
    expect(sum(1 for name, labels in found
               if name.endswith("_total") and "fd=" not in labels), 3 * len(COUNTERS))
    found = metrics(umadstat(root, "--openmetrics", "-p", "mlx5_1"))
    expect({labels[:15] for _, labels in found}, {'device="mlx5_1"', ""})


def openmetrics_of_another_module(root):
    other_module(root)
    expect(metrics(umadstat(root, "--openmetrics")), {
        ("port_info", 'device="mlx5_0",port="1",umad="umad0",issm="issm0",'
                      'link_layer="InfiniBand"'): 1,
        ("gone_files", ""): 0})


def names_of_two_namespaces(root):
    """The device of umad1 is not that whose name can be seen"""
    other_module(root)
    put_port(root, 1, "mlx5_0", counts={"sent": 5})
    os.makedirs(os.path.join(root, "sys/class/infiniband_mad/umad1/device"))
    expect([port["state"] for port in json.loads(umadstat(root, "-j"))["ports"]], ["ACTIVE", None])
    found = metrics(umadstat(root, "--openmetrics"))
    expect(found["sent_total", 'device="mlx5_0",port="1",umad="umad1"'], 5)


def rates(root):
    busy_host(root)
    again = [subprocess.Popen(
        [sys.executable, PROGRAM, "--root", root, "-w", "2", "-n", "2", *args],
        stdout=subprocess.PIPE, universal_newlines=True) for args in ([], ["-j"])]
    threading.Event().wait(1)
    put(root, "sys/class/infiniband_mad/umad2/statistics", sent=100000, dropped_memory=1)
    # A device that came back counts from 0
    put(root, "sys/class/infiniband_mad/umad0/statistics", sent=5)
    text, lines = [program.communicate(timeout=60)[0] for program in again]
    data = [json.loads(line) for line in lines.splitlines()]
    expect(len(data), 2)
    first, second = [{port["name"]: port["rates"] for port in at["ports"]} for at in data]
    assert 1.9 < data[0]["interval"] < 60, f"an interval of {data[0]['interval']} s"
    expect(round(first["umad2"]["sent"] * data[0]["interval"]), 100000)
    expect(round(first["umad2"]["dropped_memory"] * data[0]["interval"]), 1)
    expect((first["umad2"]["timeouts"], first["umad0"]), (0, None))
    expect((second["umad2"]["sent"], second["umad0"]["sent"]), (0, 0))
    expect([file["rates"] for file in data[0]["ports"][2]["files"]], [{"dropped": 0}] * 2)

    tables = text.split("\n\n")
    expect(tables.pop(), "")
    expect(len(tables), 2)
    # Drops now hurt more than those before
    expect(rows(tables[0])[0].split()[0], "umad2")
    expect(rows(tables[1])[0].split()[0], "umad0")
    expect_in("dropped: memory 0.", tables[0])


def another_module(root):
    other_module(root)
    lines = umadstat(root).splitlines()
    expect(lines[1], "this ib_umad does not tell: counters, agents, queues, holders of issm")
    expect([" ".join(row.split()) for row in rows("\n".join(lines))], [
        "umad0 mlx5_0/1 InfiniBand ACTIVE - - - - - - - -",
        "opensm[70] fd 0 - - - - - - - -",
        "opensm[70] fd 1 has issm0 - - - - - - - -"])
    port = json.loads(umadstat(root, "-j"))["ports"][0]
    expect((port["statistics"], port["files"][0]["agents"]), (None, None))
    for line in umadstat(root, "-w", "0.1", "-n", "2", "-j").splitlines():
        expect(json.loads(line)["ports"][0]["rates"], None)


def some_counters(root):
    """A module of another day may have others."""
    nothing(root)
    put_port(root, 0, "mlx5_0")
    put(root, "sys/class/infiniband_mad/umad0/statistics", sent=5, nosuch="x")
    expect(rows(umadstat(root))[0].split()[-8:], ["-"] * 6 + ["5", "-"])


def nothing(root):
    put_process(root, 1, "init", [])
    os.makedirs(os.path.join(root, "sys/class/infiniband_mad"))


def without(path):
    """All that the other module has, but for that"""
    def there(root):
        other_module(root)
        path_there = os.path.join(root, path)
        (shutil.rmtree if os.path.isdir(path_there) else os.remove)(path_there)
    return there


def closed(path, what=other_module, mode=0):
    """These folders, which others than root may not read"""
    def there(root):
        what(root)
        for folder in glob.glob(os.path.join(root, path)):
            os.chmod(folder, mode)
    return there


def half(path):
    """A thing that is just coming or going is not there."""
    def there(root):
        other_module(root)
        os.makedirs(os.path.join(root, path))
    return there


PORTS = "there are: umad0 (mlx5_0/1), umad2 (mlx5_1/1), umad10 (rxe0/1)"
ALL = ["umad0", "opensm[70]", "opensm[70]"]
SOME = "not all processes may be seen: run as root\n"
# The files, the user, the arguments; the status, the message, and the first words of the rows
SAYS = {
    **{f"port {name}": (busy_host, None, ["-p", name], 0, "",
                        ["umad0", "opensm[70]", "0:", "1:", "opensm[70]"])
       for name in ("umad0", "mlx5_0", "mlx5_0/1")},
    **{f"no port {name!r}": (busy_host, None, ["-p", name], 1, f"there is no port {name}; {PORTS}",
                             None) for name in ("umad1", "umad", "mlx5_0/2", "issm0", "")},
    "no ports": (nothing, None, [], 0, "no port has a umad device\n", None),
    "half a port": (half("sys/class/infiniband_mad/umad5"), None, [], 0, "", ALL),
    "half a process": (half("proc/71"), None, [], 0, "", ALL),
    "half a descriptor": (without("proc/70/fdinfo/0"), None, [], 0, "", ALL[:2]),
    "no module": (without("sys/class/infiniband_mad"), None, [], 1, "load ib_umad", None),
    "no proc": (without("proc"), None, [], 1, "/proc: No such file", None),
    "proc may not be read": (closed("proc"), NOBODY, [], 1, "/proc: Permission denied", None),
    "foreign processes": (closed("proc/70/fd", mode=0o500), NOBODY, [], 0, SOME, ALL[:1]),
    "foreign processes, for root": (closed("proc/70/fd", mode=0o500), None, [], 0, "", ALL),
    "hidden processes": (without("proc/1"), None, [], 0, SOME, ALL),
    "counters of root": (closed("sys/class/infiniband_mad/*/statistics/*", busy_host, 0o400),
                         NOBODY, ["-p", "umad2"], 0, "some counters may not be read: run as root,"
                         " in the network namespace of the device\n", ["umad2"]),
    **{f"usage: {args}": (other_module, None, args.split(), 2, "usage: umadstat", None) for args in (
        "-w 0", "-w x", "-w", "-n 2", "umad0", "-w 1 -n 0", "--frob", "--openmetrics -j",
        "--openmetrics -w 1")},
}


def says(root, there, user, args, status, text, first):
    there(root)
    said = umadstat(root, *args, status=status, user=user)
    expect_in(text, said)
    if first is not None:
        expect([row.split()[0] for row in rows(said)], first)


def nobody_reads(root):
    """A closed pipe ends it, without a word."""
    other_module(root)
    done = subprocess.run(
        f"{sys.executable} {PROGRAM} --root {root} -w 0.1 | head -n 1",
        shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    expect((done.stderr, done.stdout.count(b"\n")), (b"", 1))


TESTS = {test.__name__.replace("_", " "): (test,) for test in (
    table_has_it_all, columns_are_columns, json_has_it_all, openmetrics_has_it_all,
    openmetrics_of_another_module, names_of_two_namespaces, rates, another_module, some_counters,
    nobody_reads)}
TESTS.update({name: (says, *row) for name, row in SAYS.items()})


def in_folder(test, *args):
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        test(root, *args)


if os.getuid() != 0:
    sys.exit("fixture.py: this needs root, to be somebody else for some tests")
sys.exit(fabric.ktap([(name, unittest.FunctionTestCase(lambda test=test: in_folder(*test)))
                     for name, test in TESTS.items()]))
