# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The one reader of KTAP: what a program printed, as results.

Nothing passes by not running: a document without a plan, with other results than
planned, or with none at all has failed. What is indented are the results of parts; the
line behind them, which is less indented, is about all of them, and counts only if it
says worse than they do. A line "# Subtest: NAME" tells before them whose they are.
"""

import re
import time

RESULT = re.compile(r"^( *)(not )?ok (\d+)(?: |$)(?:- ?)?(.*)$")
DIRECTIVE = re.compile(r"(?:^|\s+)# ?(SKIP|XFAIL|XPASS|TODO|TIMEOUT|ERROR)\b:?\s*(.*)$", re.I)
SUBTEST = re.compile(r"^( *)# Subtest: (.+)$")
PLAN = re.compile(r"^( *)1\.\.(\d+)(?:\s*# ?SKIP\b\s*(.*))?\s*$", re.I)
VERSION = re.compile(r"^ *K?TAP version \d+$")


class Result:
    """One test that has no parts: state is pass, fail, skip or xfail; reason is what
    stands behind a directive, notes what was printed since the result before."""

    def __init__(self, group, name, state, reason="", notes=()):
        self.group = group
        self.name = name
        self.state = state
        self.reason = reason
        self.notes = list(notes)

    def __str__(self):
        return f"{self.group}: {self.name}" if self.group else self.name


class Level:
    """The results at one depth of indentation, until their parent's line."""

    def __init__(self, group=""):
        self.group = group      # whose they are
        self.begun = time.monotonic()
        self.plan = None
        self.seen = 0
        self.failed = 0
        self.skip = None        # why nothing is planned


class Reader:
    """Reads line by line. known: XFAIL is a known failure of what is tested, and no
    failure. planless: some parts have no plan, like the parameters of a KUnit case."""

    def __init__(self, known=False, planless=False):
        self.known = known
        self.planless = planless
        self.results = []
        self.levels = {}
        self.notes = []
        self.seconds = {}       # {name: seconds} of each test with parts

    def of(self, state):
        return [result for result in self.results if result.state == state]

    def add(self, depth, name, state, reason="", notes=None):
        notes = self.notes if notes is None else notes
        self.results.append(Result(self.group(depth), name, state, reason, notes))

    def fail(self, name, notes=(), depth=0):
        self.add(depth, name, "fail", notes=notes)

    def group(self, depth):
        """Who the nearest announcement up to this depth has named"""
        names = [self.levels[d].group for d in sorted(self.levels)
                 if d <= depth and self.levels[d].group]
        return names[-1] if names else ""

    def close(self, depth, name):
        """Check a finished level against its plan; True if it failed."""
        level = self.levels[depth]
        before = len(self.of("fail"))
        if level.plan is None:
            if not level.seen:
                self.fail("no result", self.notes, depth)
            elif not self.planless or depth <= 1:
                self.fail(f"{name}: no plan", (), depth)
        elif level.seen != level.plan:
            self.fail(f"{name}: {level.seen} results where {level.plan} "
                      "were planned", self.notes, depth)
        elif level.plan == 0 and level.skip is None:
            self.fail(f"{name}: planned no test", (), depth)
        elif level.plan == 0:
            self.add(depth, name, "skip", level.skip or "no reason given")
        if level.group == name:
            self.seconds[name] = time.monotonic() - level.begun
        del self.levels[depth]
        return level.failed > 0 or len(self.of("fail")) > before

    def line(self, text):
        if VERSION.match(text):
            return
        if text.startswith("Bail out!"):
            self.fail(text)
            return
        subtest, plan, result = SUBTEST.match(text), PLAN.match(text), RESULT.match(text)
        if subtest:
            if len(subtest[1]) in self.levels:
                self.fail("no result behind its parts", (), len(subtest[1]))
            self.levels[len(subtest[1])] = Level(subtest[2].strip())
        elif plan:
            level = self.levels.setdefault(len(plan[1]), Level())
            if level.plan is not None:
                self.fail("a second plan", self.notes, len(plan[1]))
            level.plan, level.skip = int(plan[2]), plan[3]
        elif result:
            self.result(len(result[1]), result)
            self.notes = []
        elif text.strip():
            self.notes.append(text.strip())

    def result(self, depth, found):
        bad, number, name = bool(found[2]), int(found[3]), found[4].strip()
        kind, reason = "", ""
        directive = DIRECTIVE.search(name)
        if directive:
            kind, reason = directive[1].upper(), directive[2]
            name = name[:directive.start()].strip()
        name = name or reason or f"test {number}"

        parts = sorted((d for d in self.levels if d > depth), reverse=True)
        failed = [self.close(d, name) for d in parts]
        level = self.levels.setdefault(depth, Level())
        level.seen += 1
        if number != level.seen:
            self.fail(f"{name}: result {number} where {level.seen} was due", (), depth)
        if parts:
            if bad and not any(failed):
                self.fail(name, self.notes, depth)
            level.failed += bad or any(failed)
        elif kind == "SKIP":
            self.add(depth, name, "skip", reason or "no reason given")
        elif kind == "XFAIL" and self.known:
            self.add(depth, name, "xfail", reason)
        elif bad or kind:
            if kind == "XPASS":
                name += " (passed, but is marked as failing)"
            elif kind:
                name += f" ({kind} {reason})".replace(" )", ")")
            self.add(depth, name, "fail")
            level.failed += 1
        else:
            self.add(depth, name, "pass")

    def end(self, status):
        """The program has ended with this status"""
        notes = self.notes[-20:]
        for depth in sorted(self.levels, reverse=True):
            self.close(depth, "the end of its results")
        if not self.results:
            self.fail("it printed no result", notes)
        if status and not self.of("fail"):
            self.fail(f"it ended with status {status}", notes)
