"""Runs cases for as long as is asked for and says what they found, a line a kind of defect."""

import argparse
import random
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from fuzz import binaries, inprocess, journals, options, signals, spellings, texts
from fuzz.process import heard_signals, run
from fuzz.verdict import judge

FAMILIES = {
    "texts": texts.make,
    "binaries": binaries.make,
    "options": options.make,
    "signals": signals.make,
    "spellings": spellings.make,
    "journals": journals.make,
}
_WEIGHTS = [4, 3, 3, 2, 3, 1]


def case_of(seed, number, family=None):
    """The case of a seed and a number, the same each time."""
    rng = random.Random(f"{seed}:{number}:{family or ''}")
    chosen = family or rng.choices(list(FAMILIES), _WEIGHTS)[0]
    return FAMILIES[chosen](rng)


@dataclass
class Tally:
    """What was run and found."""

    cases: Counter = field(default_factory=Counter)
    codes: dict = field(default_factory=dict)
    judged: Counter = field(default_factory=Counter)
    findings: dict = field(default_factory=dict)
    hits: Counter = field(default_factory=Counter)
    faulty: Counter = field(default_factory=Counter)
    peak: int = 0
    slowest: tuple = (0.0, 0)

    def add(self, number, case, outcome, verdict):
        """Take the verdict of one case."""
        self.cases[case.family] += 1
        self.codes.setdefault(case.family, Counter())[verdict.code] += 1
        self.judged[case.family] += verdict.judged
        self.faulty[case.family] += bool(verdict.findings)
        self.slowest = max(self.slowest, (outcome.seconds, number))
        if case.memory:
            self.peak = max(self.peak, outcome.peak - case.memory)
        for kind, detail in verdict.findings:
            self.hits[kind] += 1
            self.findings.setdefault(kind, (number, case.command, detail))

    def table(self):
        """The table of docs/reliability.md."""
        lines = [
            "| family | cases | exit 0 | 1 | 2 | signals | compared with a reference | with findings |",
            "|---|---|---|---|---|---|---|---|",
        ]
        total = [0] * 7
        for family in sorted(self.cases):
            codes = self.codes[family]
            row = [
                self.cases[family],
                codes[0],
                codes[1],
                codes[2],
                sum(n for c, n in codes.items() if c > 2),
                self.judged[family],
                self.faulty[family],
            ]
            total = [a + b for a, b in zip(total, row, strict=True)]
            lines.append("| " + " | ".join([family, *(f"{n:,}" for n in row)]) + " |")
        lines.append("| " + " | ".join(["all", *(f"{n:,}" for n in total)]) + " |")
        return "\n".join(lines)

    def report(self):
        """The kinds of defects, each with the first case that showed it."""
        out = []
        for kind, (number, command, detail) in sorted(self.findings.items(), key=lambda item: -self.hits[item[0]]):
            out.append(
                f"{self.hits[kind]:5} x {kind}\n        case {number}: {command[:400]}\n        {detail[-300:]}".replace("\n\n", "\n")
            )
        return "\n".join(out)


def run_cases(numbers, seed, jobs=2, family=None, until=None):
    """A `Tally` of the cases of these numbers, as many as can be begun before `until` (seconds of `time.monotonic`)."""
    tally = Tally()

    def one(number):
        if until is not None and time.monotonic() > until:
            return None
        case = case_of(seed, number, family)
        outcome = run(case)
        return number, case, outcome, judge(case, outcome)

    with heard_signals():
        pool = ThreadPoolExecutor(jobs)
        try:
            waiting = []
            for number in numbers:
                waiting.append(pool.submit(one, number))
                if len(waiting) > 4 * jobs and (done := waiting.pop(0).result()):
                    tally.add(*done)
                if until is not None and time.monotonic() > until:
                    break
            for future in waiting:
                if done := future.result():
                    tally.add(*done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return tally


def show(seed, number, family, folder):
    """Run one case, with its command and what came of it; its files go to a folder."""
    case = case_of(seed, number, family)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in [*case.files.items(), *case.left.items(), *([("stdin", case.stdin)] if case.stdin is not None else [])]:
        (folder / name).write_bytes(data)
    with heard_signals():
        outcome = run(case)
    verdict = judge(case, outcome)
    print(f"family   {case.family}\ncommand  {case.command}\nfiles    {folder}\nexit     {verdict.code} after {outcome.seconds:.2f} s")
    print(f"peak     {outcome.peak >> 20} MiB\ncompared {verdict.judged}\nstdout   {outcome.stdout[:500]!r}")
    print(f"stderr   {outcome.stderr.decode('utf-8', 'replace')[-2000:]}")
    for kind, detail in verdict.findings:
        print(f"FINDING  {kind}: {detail}")
    return 1 if verdict.findings else 0


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long; a fifth of it goes to readers inside one process  [5]")
    parser.add_argument("--seed", type=int, default=None, help="of all cases  [a new one]")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time  [2]")
    parser.add_argument("--family", choices=FAMILIES, help="only these cases")
    parser.add_argument("--case", type=int, metavar="N", help="run case N of --seed alone and show its command and files")
    parser.add_argument(
        "--files", type=Path, default=Path("fuzz-case"), metavar="FOLDER", help="where --case writes its files  [fuzz-case]"
    )
    wanted = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if wanted.seed is None else wanted.seed
    if wanted.case is not None:
        return show(seed, wanted.case, wanted.family, wanted.files)
    begin = time.monotonic()
    print(
        f"seed {seed}; one case again: python tests/fuzz --seed {seed} --case N{f' --family {wanted.family}' if wanted.family else ''}",
        flush=True,
    )
    inside = 0.0 if wanted.family else 12 * wanted.minutes
    read, faults = inprocess.run_for(seed, inside)
    tally = run_cases(count(), seed, wanted.jobs, wanted.family, begin + 60 * wanted.minutes)
    minutes = (time.monotonic() - begin) / 60
    runs = sum(tally.cases.values())
    print(f"\n{tally.table()}\n\n{runs:,} runs and {read:,} texts inside one process in {minutes:.0f} minutes,")
    print(f"at most {tally.peak >> 20} MiB beside --memory; the longest took {tally.slowest[0]:.0f} s (case {tally.slowest[1]})")
    print(f"kinds of defects: {len(tally.findings) + len(faults)}\n")
    print(tally.report())
    for kind, detail in faults.items():
        print(f"      {kind}\n        {detail}")
    return 1 if tally.findings or faults else 0


if __name__ == "__main__":
    sys.exit(main())
