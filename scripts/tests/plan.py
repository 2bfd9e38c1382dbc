# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Which suites of tests there are, and which of them the words of a command line mean.

A suite is a folder of tools/testing with a program "run" that prints KTAP. Its head
declares it, in a comment behind one line that says what it is:

    #	make test	6.12			arguments with which "make test" runs it;
    #					- is none
    #	make test-all	newest, 6.12		arguments with which "make test-all" does
    #	make test-release	6.1		those with which "make test-release" does,
    #					besides those of "make test-all"
    #	besides		newest-rt, 5.10		arguments that none of these runs
    #	takes		selftests, kunit	kinds of tests that it runs by name
    #	by name		newest			with this argument, unless told otherwise; the
    #					suite that is called like their kind does so
    #					where no suite is told
    #	first		selftests		kinds of tests that it runs by name before that
    #					suite, where no suite is told
    #	needs		newest			is not run without Debian unstable's kernel
    #	allows		XFAIL, planless		known failures of the tested module, or parts
    #					without a plan
"""

import os
import re
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
FOLDER = os.path.join(TOP, "tools/testing")
PLANS = ["make test", "make test-all", "make test-release"]
KEYS = PLANS + ["besides", "takes", "by name", "first", "needs", "allows"]


def shell(command, *args):
    """What a command of scripts/ prints, or None if it fails, saying why."""
    done = subprocess.run(["bash", "-c", command, *args], cwd=TOP, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return done.stdout.strip() if done.returncode == 0 else None


class Suite:
    """What a run declares. Of one outside of tools/testing nothing is known."""

    def __init__(self, name, path):
        self.name = name
        self.path = path
        said = dict.fromkeys(KEYS, "")
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                declared = re.match(r"#\t([a-z -]+[a-z])\t+(\S.*)$", line)
                if not line.startswith("#"):
                    break
                if declared and declared[1] in said:
                    said[declared[1]] = declared[2]

        def words(key):
            return [word for word in said[key].split(", ") if word]

        self.in_plan = {key: words(key) for key in PLANS}
        self.arguments = sum(self.in_plan.values(), []) + words("besides")
        self.takes = words("takes")
        self.by_name = said["by name"]
        self.first = words("first")
        self.needs_newest = said["needs"] == "newest"
        self.known = "XFAIL" in words("allows")
        self.planless = "planless" in words("allows")


class Run:
    """A suite with an argument, and the names of tests if not all of it."""

    def __init__(self, suite, argument, tests=()):
        self.suite = suite
        self.argument = "" if argument == "-" else argument
        self.tests = list(tests)
        self.name = suite.name + (":" + self.argument if self.argument else "")

    @property
    def command(self):
        return [self.suite.path] + ([self.argument] if self.argument else []) + self.tests

    @property
    def needs_newest(self):
        return self.suite.needs_newest or self.argument.startswith(("newest", "unstable"))

    @property
    def log(self):
        # An argument may be a long list, and a file name has 255 bytes at most
        return os.path.basename(self.name).replace(":", "-")[:100]


def suites():
    """{name: Suite}"""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        path = os.path.join(FOLDER, name, "run")
        if os.access(path, os.X_OK):
            found[name] = Suite(name, path)
    return found


def planned(*keys):
    """[Run] of what the heads say of these plans"""
    return [Run(suite, argument) for suite in suites().values()
            for key in keys for argument in suite.in_plan[key]]


def runs_of(suite, argument, tests):
    """A suite on the command line. Without an argument it is all of it, but for tests
    by name it is what they are run on by default."""
    if argument or not suite.arguments:
        return [Run(suite, argument, tests)]
    if tests:
        return [Run(suite, suite.by_name, tests)]
    return [Run(suite, argument) for argument in suite.arguments]


def taker(there, kind, test):
    """The suite for a test where none is told: 32-bit programs need a kernel with
    their calls"""
    first = [suite for suite in there.values() if kind in suite.first]
    if first and not re.match(r"\w+_32(\.|$)", test):
        return first[0]
    return there[kind]


def plan(words):
    """[Run] of the words on a command line. Of the tests, each suite that is named gets
    those of the kinds that it takes; where none is named, one is there for each kind."""
    there, named, tests = suites(), [], []
    for word in words:
        name, _, argument = word.partition(":")
        if name in there:
            named.append((there[name], argument))
        elif "/" in name and os.access(name, os.X_OK):
            named.append((Suite(name, os.path.realpath(name)), argument))
        else:
            tests.append(word)
    kinds = {}
    for test in tests:
        kind = shell('. scripts/common.sh; . scripts/tests.sh; test_kind "$0"', test)
        if not kind:
            programs = shell(". scripts/common.sh; . scripts/tests.sh; test_programs")
            sys.exit(f"run-tests: no suite or test '{test}'\n"
                     f"suites: {' '.join(there)}\n{programs}")
        kinds.setdefault(kind, []).append(test)
    for suite, _ in named:
        if tests and not any(kind in kinds for kind in suite.takes):
            takers = " ".join(taker.name for taker in there.values() if taker.takes)
            sys.exit(f"run-tests: suite '{suite.name}' runs none of these tests by name; "
                     f"tests by name are run by {takers}")
    if not named:
        takers = {}
        for kind, names in kinds.items():
            for name in names:
                takers.setdefault(taker(there, kind, name), []).append(name)
        return [run for suite, names in takers.items() for run in runs_of(suite, "", names)]
    return [run for suite, argument in named for run in runs_of(
        suite, argument, [test for kind in suite.takes for test in kinds.get(kind, [])])]
