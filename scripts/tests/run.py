# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Run suites of tests and sum them up.

    scripts/run-tests [--record] [--logs FOLDER] [SUITE[:ARGUMENT] ...] [TEST ...]
    scripts/run-tests [--record] --all|--release [--shard K/N]
    scripts/run-tests --changed

A SUITE is a folder of tools/testing with a program run that prints KTAP, or the path of
such a program. Without an ARGUMENT all of it runs. Without any word "make test" runs,
with --all "make test-all", with --release "make test-release", or the Kth of N parts of
these that take equally long. Some suites run at a time, the longest first. What a suite
printed is kept in FOLDER, which is build/tests if not told otherwise.

A TEST is a program of the selftests, of tools/testing/madsim or a KUnit suite. Of
the selftests it may also be PROGRAM.TEST for all tests of that name, and
PROGRAM.FIXTURE.VARIANT.TEST for one, as its result is called; of madsim PROGRAM.CHECK for
a check in Python, and PROGRAM.WORD to run a script until the first check with this word in
its name. Suites then run these alone. Without a suite it is the quickest one that has the
program; this does not wait for another run in the same checkout.

--changed runs the tests that notice the planted bugs of tools/testing/mutants in those
files of the modules that have changed since branch main.

Nothing passes by not running: a suite without a plan, with fewer results than
planned or with an exit status of its own fails, and so does a run without a
single result, and a whole suite with less than nine tenths of the results that
tools/testing/RESULTS.md has for it. XFAIL is a known failure of the reference: it must be seen to
fail, and counts as passed in that suite only. XPASS fails everywhere.

--record writes what ran into tools/testing/RESULTS.md, a row for each suite that ran
as a whole. Rows of other suites stay while a head declares such a run. The seconds that
suites and programs took last are in build/tests/times.
"""

import argparse
import fcntl
import fnmatch
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

from ktap import Reader
from plan import TOP, Run, plan, planned, shell, suites

RESULTS = os.path.join(TOP, "tools/testing/RESULTS.md")
MUTANTS = os.path.join(TOP, "tools/testing/mutants/table")
BUILD = os.path.join(TOP, "build")
LOGS = os.path.join(BUILD, "tests")
# Skips that everybody has: these are counted, not listed
EXPECTED = os.path.join(TOP, "scripts/expected-skips")
# A guest waits for timeouts a third of its time: one suite more than CPUs
AT_A_TIME = os.cpu_count() + 1


def newest_kernel():
    """Debian unstable's kernel, fetched: its release, and a word if no run has seen
    our tests pass on its series yet; (None, None) without one."""
    folder = shell("scripts/kernel/stock newest")
    if not folder:
        return None, None
    release = os.path.basename(folder)
    series = ".".join(release.split(".")[:2])
    tested = shell(". scripts/common.sh; . scripts/kernel/suite.sh; echo $tested_series")
    if series == tested:
        return release, None
    return release, (f"Debian unstable has Linux {series} by now; these tests were last "
                     f"seen to pass on {tested}")


def lock():
    """Have one run at a time work in build/, and tell which one that is. What a suite
    starts inherits the lock; what a killed one left running keeps it."""
    if "USER_MAD_BUILD_LOCKED" in os.environ:
        return None
    os.makedirs(BUILD, exist_ok=True)
    file = open(os.path.join(BUILD, ".run"), "a+")
    os.set_inheritable(file.fileno(), True)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        print(f"waiting for {file.read().strip() or 'another run'} to be done with {BUILD}",
              file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    file.truncate(0)
    file.write(f"run-tests (process {os.getpid()})\n")
    file.flush()
    os.environ["USER_MAD_BUILD_LOCKED"] = "1"
    return file


def recorded_rows():
    """{suite: cells} of RESULTS, and {heading: column}"""
    if not os.path.exists(RESULTS):
        return {}, {}
    with open(RESULTS, encoding="utf-8") as table:
        cells = [[cell.strip() for cell in line.split("|")[1:-1]]
                 for line in table if line.startswith("| ")]
    return {row[0]: row for row in cells[1:]}, {name: i for i, name in enumerate(cells[0])}


def recorded_results():
    """{suite: results, skips included}"""
    rows, column = recorded_rows()
    return {name: sum(int(row[column[state]]) for state in ("passed", "failed", "skipped"))
            for name, row in rows.items()}


def recorded_seconds():
    """{suite: seconds} as RESULTS has them, which are the same for everybody"""
    rows, column = recorded_rows()
    return {name: int(row[column["seconds"]]) for name, row in rows.items()
            if row[column["seconds"]].isdigit()}


def last_seconds(path):
    """{suite, or suite and program: seconds} of the last runs here"""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {name: int(seconds) for name, seconds in
                (line.rstrip("\n").split("\t") for line in file)}


def keep_seconds(done, path):
    """Put what ran there"""
    times = last_seconds(path)
    for name, reader in done.items():
        times[name] = round(reader.whole)
        times.update((f"{name} {program}", round(seconds))
                     for program, seconds in reader.seconds.items())
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\t{seconds}\n" for name, seconds in sorted(times.items()))


def longest_first(runs, seconds):
    """What has never run may be the longest"""
    return sorted(runs, key=lambda run: -seconds.get(run.name, 1 << 30))


def shard(runs, which):
    """The Kth of N parts, each of which gets the next one when it has the least to do"""
    number, count = map(int, which.split("/"))
    seconds = recorded_seconds()
    parts = [[] for _ in range(count)]
    for run in longest_first(runs, seconds):
        min(parts, key=lambda part: sum(seconds.get(run.name, 600) for run in part)).append(run)
    return parts[number - 1]


def changed():
    """The tests that the table of mutants has for files changed since main"""
    files = shell(". scripts/common.sh; top_git diff --name-only main")
    with open(MUTANTS, encoding="utf-8") as table:
        rows = [line.split("\t", 4) for line in table if "\t" in line and line[0] != "#"]
    tests = {test: None for _, _, file, names, _ in rows for test in names.split(",")
             if f"drivers/infiniband/{file}" in (files or "").split()}
    tests.pop("leaks", None)
    return list(tests)


class Runner:
    """Runs a plan, some suites at a time, and tells what they do."""

    def __init__(self, runs, logs, newest):
        self.queue = list(runs)
        self.logs = logs
        self.newest = newest    # whether there is a newest kernel
        self.recorded = recorded_results()
        self.again = []         # what was said of guests that were booted again
        self.lock = threading.Lock()    # queue, children, stdout
        self.children = []
        self.done = {}          # {name: Reader}

    def tell(self, run, text):
        with self.lock:
            print(f"{run.name}: {text}", flush=True)

    def all(self):
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, self.interrupted)
        workers = [threading.Thread(target=self.worker) for _ in range(AT_A_TIME)]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()

    def interrupted(self, signum, _):
        for child in self.children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
        os._exit(128 + signum)

    def worker(self):
        while True:
            with self.lock:
                if not self.queue:
                    return
                run = self.queue.pop(0)
            if self.newest or not run.needs_newest:
                self.done[run.name] = self.one(run)
            else:
                self.done[run.name] = self.without_kernel(run)

    def without_kernel(self, run):
        """The result of a suite that has no kernel to run on"""
        reader, why = Reader(), "needs the kernel of Debian unstable"
        reader.whole = 0
        reader.add(0, "", "skip", why)
        self.tell(run, f"SKIPPED, {why}")
        return reader

    def one(self, run):
        """Run one suite, telling what it does as it says so on its stderr."""
        reader = Reader(run.suite.known, run.suite.planless)
        start = time.monotonic()
        # Line by line, so that the log of a suite that hangs tells where
        log = open(os.path.join(self.logs, run.log), "w", buffering=1)
        child = subprocess.Popen(run.command, cwd=TOP, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, errors="replace", start_new_session=True,
                                 close_fds=False)    # one is the lock
        with self.lock:
            self.children.append(child)

        def errors():
            for line in child.stderr:
                log.write(line)
                self.tell(run, line.rstrip())
                if line.rstrip().endswith("booting again"):
                    self.again.append(f"{run.name}: {line.rstrip()}")

        self.tell(run, "started")
        stderr = threading.Thread(target=errors)
        stderr.start()
        for line in child.stdout:
            log.write(line)
            reader.line(line.rstrip("\n"))
        stderr.join()
        reader.end(child.wait())
        log.close()
        before = self.recorded.get(run.name, 0)
        if not run.tests and passed(reader) and len(reader.results) < 0.9 * before:
            reader.fail(f"{len(reader.results)} results where RESULTS.md has {before}")

        reader.whole = time.monotonic() - start
        failed = reader.of("fail")
        for result in failed:
            self.tell(run, f"FAILED {result}")
            for note in result.notes[-20:]:
                self.tell(run, f"    {note}")
        self.tell(run, f"{passed(reader)} passed, {len(failed)} failed, "
                       f"{len(reader.of('skip'))} skipped "
                       f"in {reader.whole:.0f} s")
        return reader


def passed(reader):
    return len(reader.of("pass")) + len(reader.of("xfail"))


def expected_skips():
    """[(reason, patterns of suites, patterns of tests)]"""
    with open(EXPECTED, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return [(reason, suites.split(), tests.split()) for suites, tests, reason in rows]


def is_expected(expected, name, result):
    return any(result.reason == reason and
               any(fnmatch.fnmatchcase(name, suite) for suite in suites) and
               any(fnmatch.fnmatchcase(f"{result.group}:{result.name}", test) for test in tests)
               for reason, suites, tests in expected)


def tell_skips(done):
    """Say what was skipped: what everybody skips as a number, the rest by name, a line
    for each reason in a suite."""
    expected = expected_skips()
    reasons = {}
    for name, reader in done.items():
        for result in reader.of("skip"):
            key = None if is_expected(expected, name, result) else (name, result.reason)
            reasons.setdefault(key, []).append(result)
    if None in reasons:
        print(f"skipped everywhere: {len(reasons.pop(None))} tests, for reasons "
              "of scripts/expected-skips")
    for (name, reason), results in reasons.items():
        more = f" and {len(results) - 1} more" if len(results) > 1 else ""
        test = str(results[0])
        print(f"SKIPPED {name}: " + (f"{test}{more}: " if test else "") + reason)


def summary(done, again, untested, start):
    """Say how it went; whether nothing failed."""
    print()
    for said in again:
        print(said)
    known = sum(len(reader.of("xfail")) for reader in done.values())
    if known:
        print(f"known failures of the reference: {known}, as they must")
    tell_skips(done)
    failed = [(name, result) for name, reader in done.items() for result in reader.of("fail")]
    if untested and failed:
        print(untested)
    for name, result in failed:
        print(f"FAILED {name}: {result}")
        for note in result.notes[-8:]:
            print(f"    {note[:160]}")

    good, bad = sum(map(passed, done.values())), len(failed)
    skipped = sum(len(reader.of("skip")) for reader in done.values())
    if not good and not bad:
        print("FAILED: nothing ran")
        bad = 1
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{good} passed, {bad} failed" + (f", {skipped} skipped" if skipped else "") +
          f" in {time.time() - start:.0f} s, with {spent.ru_utime + spent.ru_stime:.0f} s "
          "of CPU time")
    return not bad


def commit():
    """What is checked out, and whether more than RESULTS was changed since"""
    said = shell(". scripts/common.sh; top_git describe --always --exclude='*' && "
                 "top_git status --porcelain -uno -- . ':!tools/testing/RESULTS.md'")
    return "unknown" if not said else said.split()[0] + "-dirty" * (len(said.split()) > 1)


def record(runs, done, start, tested):
    """Put what ran as a whole into RESULTS. Which kernels a suite has booted, their own logs
    tell: those since the start."""
    declared = {Run(suite, argument).name
                for suite in suites().values() for argument in suite.arguments}
    rows = {name: row for name, row in recorded_rows()[0].items() if name in declared}
    for run in runs:
        reader, kernels = done[run.name], set()
        if (run.tests or run.name not in declared or
                not passed(reader) + len(reader.of("fail"))):
            continue
        base = os.path.join(LOGS, run.log)
        for log in glob.glob(base + ".kernel") + glob.glob(base + "-*.kernel"):
            if os.path.getmtime(log) > start:
                with open(log, errors="replace") as lines:
                    kernels.update(re.findall(r"Linux version (\S+)", lines.read()))
        rows[run.name] = [
            run.name, ", ".join(sorted(kernels)) or "-", time.strftime("%Y-%m-%d"),
            str(passed(reader)), str(len(reader.of("fail"))),
            str(len(reader.of("skip"))), f"{reader.whole:.0f}", tested]
    with open(RESULTS, "w", encoding="utf-8") as table:
        table.write("<!-- scripts/run-tests --record writes this -->\n"
                    "# What ran where\n\n"
                    "The last recorded run of each suite of `scripts/run-tests`. A release "
                    "ends in its architecture.\n\n"
                    "| suite | kernel | day | passed | failed | skipped | seconds | commit |\n"
                    "|---|---|---|---:|---:|---:|---:|---|\n")
        table.writelines(f"| {' | '.join(rows[name])} |\n" for name in sorted(rows))


def main():
    parser = argparse.ArgumentParser(
        prog="run-tests", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--logs", metavar="FOLDER", default=LOGS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true")
    which.add_argument("--release", action="store_true")
    parser.add_argument("--shard", metavar="K/N")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("words", metavar="SUITE[:ARGUMENT] | TEST", nargs="*")
    args = parser.parse_args()
    if args.shard and not re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", args.shard):
        parser.error(f"--shard {args.shard}: not K/N, as in 2/5")
    words = args.words
    if args.changed:
        words = changed()
        if not words:
            sys.exit("run-tests: no file of the modules has changed since main")
        print("testing", *words, flush=True)
    if words:
        runs = plan(words)
    else:
        runs = planned(*(["make test-all", "make test-release"] if args.release else
                         ["make test-all"] if args.all else ["make test"]))
        if args.shard:
            runs = shard(runs, args.shard)
    held = None if all(run.tests for run in runs) else lock()
    times = os.path.join(args.logs, "times")
    runs = longest_first(runs, {**recorded_seconds(), **last_seconds(times)})
    os.makedirs(args.logs, exist_ok=True)
    release, untested = None, None
    if any(run.needs_newest for run in runs):
        release, untested = newest_kernel()
    if untested:
        print(untested, flush=True)

    start, tested = time.time(), commit()
    runner = Runner(runs, args.logs, release)
    runner.all()
    keep_seconds(runner.done, times)
    if args.record:
        record(runs, runner.done, start, tested)
    good = summary({run.name: runner.done[run.name] for run in runs}, runner.again, untested,
                   start)
    if held:
        held.close()
    sys.exit(not good)


if __name__ == "__main__":
    main()
