"""Attack the library, and print what became of each case.

    python -m studies.attack [--kind KIND,KIND] [--seed N] [--cases N] [--case N] [--processes N]

KIND is a module beside this one that has a function `attack`. The exit status is 1 if there are
findings: those that begin alike are printed once, below a table of the kinds.
"""

from __future__ import annotations

import argparse
import pkgutil
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import signature
from itertools import islice

from studies import attack
from studies.attack import Outcome
from studies.attack.work.workers import Cases

Attack = Callable[..., Iterator[Outcome]]
"""Called with a seed and how many cases, and some with the first of them."""

SILENCE = 60
"""Seconds between signs of progress, on standard error."""


def kinds() -> dict[str, Attack]:
    """Return the kinds of attack by the names of their modules."""
    names = [one.name for one in pkgutil.iter_modules(attack.__path__) if one.name != "__main__"]
    modules = {name: import_module(f"studies.attack.{name}") for name in names}
    return {name: one.attack for name, one in modules.items() if hasattr(one, "attack")}


def main() -> int:
    """Print the table, and the findings."""
    there = kinds()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default=",".join(there), help=", ".join(there))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--case", type=int, help="do the case of this number only")
    parser.add_argument("--processes", type=int, default=1, help="for kinds made of many cases")
    given = parser.parse_args()
    chosen = given.kind.split(",")
    if unknown := set(chosen) - set(there):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    findings: list[str] = []
    print(
        f"{'kind':<12} {'cases':>9} {'right':>9} {'refused':>9} {'findings':>8}"
        f" {'seconds':>8} {'MiB':>6}",
        flush=True,
    )
    for name in chosen:
        findings += told(name, there[name], given)
    print("\n".join(findings))
    return 1 if findings else 0


def outcomes(kind: Attack, given: argparse.Namespace) -> Iterator[Outcome]:
    """Yield outcomes of all cases, or of one."""
    one: int | None = given.case
    if isinstance(kind, Cases):
        first, cases = (0, given.cases) if one is None else (one, 1)
        return kind(given.seed, cases, first=first, processes=given.processes)
    if one is None:
        return kind(given.seed, given.cases)
    if "first" in signature(kind).parameters:
        return kind(given.seed, one + 1, first=one)
    return islice(kind(given.seed, one + 1), one, one + 1)


def told(name: str, kind: Attack, given: argparse.Namespace) -> list[str]:
    """Attack, print a line of the table, and return a line for findings that begin alike."""
    count: Counter[str] = Counter()
    alike: dict[str, list[Outcome]] = {}
    often: Counter[str] = Counter()
    start = said = time.monotonic()
    for one in outcomes(kind, given):
        count[one.verdict] += 1
        if one.verdict == "finding":
            key = one.said.partition(":")[0]
            if not often[key]:
                print(f"{name}: {one.case}: {one.said[:1000]}", file=sys.stderr, flush=True)
            often[key] += 1
            shortest = [*alike.get(key, []), one]
            alike[key] = sorted(shortest, key=lambda other: len(other.said))[:3]
        if time.monotonic() - said > SILENCE:
            said = time.monotonic()
            print(f"{name}: {dict(count)}", file=sys.stderr, flush=True)
    peak = getattr(kind, "peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    print(
        f"{name:<12} {count.total():>9,} {count['right']:>9,} {count['refused']:>9,}"
        f" {count['finding']:>8,} {time.monotonic() - start:>8,.0f} {peak:>6,}",
        flush=True,
    )
    return [
        f"{name}: {often[key]:,} times: {one.case}: {one.said}"
        for key, some in alike.items()
        for one in some
    ]


if __name__ == "__main__":
    sys.exit(main())
