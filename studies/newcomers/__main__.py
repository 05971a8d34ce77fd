"""Print what newcomers write, and what the program answered before and answers now.

    python -m studies.newcomers [--before FOLDER] [--all] [NAME...]

FOLDER holds the sources of another version, such as `git worktree add FOLDER COMMIT` makes; its
answers stand beside those of this one. NAME is mistakes, inputs or tasks. The exit status is 1 if
a case ends in a traceback, in a number that is not the one found by hand, or in advice that fails.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from studies.newcomers.cases import Case
from studies.newcomers.collected import CASES, TABLES
from studies.newcomers.verdicts import answers, fault


def line_of(answer: dict[str, str], case: Case) -> str:
    """Return the line of an answer that matters."""
    lines = [line.strip() for line in answer["printed"].splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line.lower() or re.search(case.says, line)]
    return (telling or lines or [""])[-1]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*TABLES, []], metavar="NAME")
    parser.add_argument("--before", type=Path, help="sources of another version")
    parser.add_argument("--all", action="store_true", help="print all that was printed")
    given = parser.parse_args()
    source = Path(__file__).resolve().parents[2] / "src"
    now = dict(zip(CASES, answers(source), strict=True))
    old = dict(zip(CASES, answers(given.before), strict=True)) if given.before else {}
    wrong = 0
    for name in given.names or TABLES:
        cases = TABLES[name]
        print(f"\n# {name}")
        for number, case in enumerate(cases, start=1):
            print(f"\n{number}. {case.title}")
            print("\n".join(f"    {line}" for line in case.code.splitlines()))
            if old:
                print(f"  before: {fault(case, old[case]) or 'right'}: {line_of(old[case], case)}")
            found = fault(case, now[case])
            print(f"  now:    {found or 'right'}: {line_of(now[case], case)}")
            if given.all:
                print(now[case]["printed"], now[case]["advised"])
            wrong += bool(found)
        count = sum(not fault(case, now[case]) for case in cases)
        was = sum(not fault(case, old[case]) for case in cases) if old else None
        print(f"\n{name}: {count} of {len(cases)} right" + (f", {was} before" if old else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
