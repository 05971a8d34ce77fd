"""Two hundred thousand hostile inputs: no traceback, no hang, no wrong number.

    python -m studies.fuzz --seed 1 --count 200000

Files, archives, tables, labels, texts of measures, whole evaluations and command lines are made at
random from a seed, most of them nearly right. Each is checked against what a plain reading of the
documentation says: accepted with the same rows and numbers, or refused by an error of the library
that names the line. A failure is printed with what reproduces it; `--only KIND --case N` makes that
case again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from studies.fuzz_archives import archive_case
from studies.fuzz_base import Case, Tally, run_case, shown
from studies.fuzz_campaign import campaign_case
from studies.fuzz_cli import command_case, process_case
from studies.fuzz_judges import judge_case
from studies.fuzz_labels import label_case
from studies.fuzz_logs import log_case
from studies.fuzz_measures import measure_case
from studies.fuzz_scores import score_case
from studies.fuzz_tables import table_case
from studies.fuzz_text import text_case
from studies.fuzz_users import user_command_case

KINDS: dict[str, tuple[Case, float]] = {
    "run text": (text_case("run"), 0.27),
    "qrels text": (text_case("qrels"), 0.22),
    "archives": (archive_case, 0.05),
    "tables": (table_case, 0.09),
    "labels": (label_case, 0.02),
    "judges": (judge_case, 0.03),
    "logs": (log_case, 0.1),
    "users": (user_command_case, 0.02),
    "campaigns": (campaign_case, 0.01),
    "measures": (measure_case, 0.11),
    "evaluations": (score_case, 0.06),
    "command lines": (command_case, 0.02),
}
"""The kinds of input, and the share of each in the count."""
PROCESSES = 50
"""Command lines that get a process of their own, on top."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--only", choices=[*KINDS, "processes"], help="one kind of input")
    parser.add_argument("--case", type=int, help="one case of that kind, by number")
    options = parser.parse_args()
    cases = {name: (case, round(share * options.count)) for name, (case, share) in KINDS.items()}
    cases["processes"] = (process_case, min(PROCESSES, options.count))
    if options.only:
        cases = {options.only: (cases[options.only][0], options.count)}
    start = time.perf_counter()
    print(f"seed {options.seed}, {sum(count for _, count in cases.values()):,} inputs", flush=True)
    print(f"{'kind':<14}{'inputs':>9}{'accepted':>10}{'refused':>9}{'failed':>8}{'seconds':>9}")
    tallies = {}
    home = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        # Command lines name files as people do: from where they are.
        os.chdir(folder)
        for name, (case, count) in cases.items():
            numbers = [options.case] if options.case is not None else range(count)
            tallies[name] = _run(case, name, options.seed, numbers, Path(folder))
        os.chdir(home)
    failures = _report(tallies)
    print(
        f"wall time {time.perf_counter() - start:.0f} s, seed {options.seed}, {failures:,} failures"
    )
    return 1 if failures else 0


def _run(case: Case, name: str, seed: int, numbers: range | list[int], folder: Path) -> Tally:
    tally = Tally()
    start = time.perf_counter()
    for number in numbers:
        run_case(case, f"{seed}/{name}/{number}", folder, tally, number)
    tally.seconds = time.perf_counter() - start
    done = tally.accepted + tally.refused + tally.failed
    print(
        f"{name:<14}{done:>9,}{tally.accepted:>10,}{tally.refused:>9,}{tally.failed:>8,}"
        f"{tally.seconds:>9.1f}",
        flush=True,
    )
    return tally


def _report(tallies: dict[str, Tally]) -> int:
    for name, tally in tallies.items():
        for count, first, failure in tally.failures.values():
            print(f"\nFAILURE in {name}, {count:,} times (--only {name!r} --case {first})")
            print(f"  {plain(failure.what)}")
            print(f"  {plain(shown(failure.reproducer, 2000))}")
    return sum(tally.failed for tally in tallies.values())


def plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


if __name__ == "__main__":
    sys.exit(main())
