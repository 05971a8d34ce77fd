"""Attack the library, and print what became of each case.

    python -m studies.attack [--kind KIND,KIND] [--seed N] [--cases N]

KIND is a module beside this one that has a function `attack`. The exit status is 1 if there are
findings: each is printed, below a table of the kinds.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module

from studies import attack
from studies.attack import Outcome

Attack = Callable[[int, int], Iterator[Outcome]]


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
    given = parser.parse_args()
    chosen = given.kind.split(",")
    if unknown := set(chosen) - set(there):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    findings = []
    print(f"{'kind':<12} {'cases':>7} {'right':>7} {'refused':>7} {'findings':>8}")
    for name in chosen:
        outcomes = list(there[name](given.seed, given.cases))
        count = Counter(one.verdict for one in outcomes)
        bad = [f"{name}: {one.case}: {one.said}" for one in outcomes if one.verdict == "finding"]
        findings += bad
        print(
            f"{name:<12} {len(outcomes):>7} {count['right']:>7} {count['refused']:>7}"
            f" {len(bad):>8}",
            flush=True,
        )
    print("\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
