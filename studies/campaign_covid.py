"""The whole life of a campaign by commands: TREC-COVID round 5, 126 runs of 28 teams.

    python -m studies.campaign_covid FOLDER OUT [--bagit PATH]

FOLDER holds the public data as subfolder `trec-covid-r5` (`runs`, `leaderboard.csv`,
`qrels.covid-round5.txt.gz`). OUT is made: rules, campaign, sheets, site. Each command is a process
of its own; shown are how long it took, and the time of processors that it used. The released board
is compared with the official P@20 and nDCG@20 to the four decimals of `leaderboard.csv`; the two
releases byte by byte; with `--bagit`, the path of bagit.py
(https://github.com/LibraryOfCongress/bagit-python), that program validates one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl

RULES = """
[campaign]
id = "trec-covid"
title = "TREC-COVID"
consent = "All information except for the e-mail address may be published."

[tasks.round5]
title = "Round 5"
topics = "topics.txt"
documents = {pattern = "[a-z0-9]{8}"}
tag = "[A-Za-z0-9_.-]{1,20}"
missing_topics = "warning"
rank = "order"
types = ["automatic", "feedback", "manual"]
runs_per_team = 8
measures = ["nDCG@20", "P@20"]
judging = {compat = "trec_eval-9"}
categories = ["type"]
"""
TOPICS = range(1, 51)
OFFICIAL = {"nDCG@20": "ndcg@20", "P@20": "P@20"}
DATE = "2020-09-01"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--bagit", help="Path of bagit.py.")
    given = options.parse_args()
    source, out = given.folder / "trec-covid-r5", given.out
    out.mkdir()
    (out / "rules").mkdir()
    (out / "rules/campaign.toml").write_text(RULES)
    (out / "rules/topics.txt").write_text("".join(f"{topic}\n" for topic in TOPICS))
    folder = str(out / "covid")
    release = ["release", "make", folder, "--date", DATE]
    life = [
        ["init", folder, "--rules", str(out / "rules/campaign.toml")],
        [
            *("run", "submit", folder, str(source / "runs")),
            *("--from", str(source / "leaderboard.csv"), "--add-teams"),
        ],
        ["judgments", folder, str(source / "qrels.covid-round5.txt.gz"), "--version", "round5"],
        ["score", folder],
        ["release", "sheets", folder, "-o", str(out / "sheets")],
        release,
        release,
        ["release", "site", folder, "-o", str(out / "site")],
        ["verify", folder],
    ]
    taken = [timed(*command) for command in life]
    wall, busy = (sum(column) for column in zip(*taken, strict=True))
    print(f"{wall:6.1f} s {busy:6.1f} s  in all")
    first, second = (out / f"covid/releases/round5-{k}" for k in (1, 2))
    compare(source / "leaderboard.csv", first / "data/leaderboard.csv")
    files = contents(first)
    same = files == contents(second)
    size = sum(map(len, files.values()))
    verdict = "the same bytes" if same else "NOT THE SAME"
    print(f"two releases: {verdict}, {len(files)} files, {size:,} bytes")
    if given.bagit:
        done = run(given.bagit, "--validate", str(first))
        print(f"bagit.py: {done.stderr.splitlines()[-1].rpartition(' - ')[2]}")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    return subprocess.run(arguments, check=False, capture_output=True, text=True)


def timed(*command: str) -> tuple[float, float]:
    """Run a command of campaigns in a process of its own; show its time, and its processors'."""
    started, before = time.perf_counter(), os.times()
    done = run(sys.executable, "-m", "cranfield", "campaign", *command)
    took, after = time.perf_counter() - started, os.times()
    busy = after.children_user + after.children_system
    busy -= before.children_user + before.children_system
    lines = done.stdout.splitlines() or done.stderr.splitlines()
    print(f"{took:6.1f} s {busy:6.1f} s  {command[0]}: {lines[-1] if lines else ''}", flush=True)
    if done.returncode:
        raise SystemExit(f"status {done.returncode}: {done.stderr.strip()[-2000:]}")
    return took, busy


def compare(official: Path, released: Path) -> None:
    """Compare the released board with the official one, by tag."""
    text = pl.read_csv(official, infer_schema=False)
    board = {row["tag"]: row for row in pl.read_csv(released).iter_rows(named=True)}
    print(f"runs: {text.height} official, {len(board)} released")
    for measure, column in OFFICIAL.items():
        wrong = [
            tag
            for tag, value in text.select("tag", column).iter_rows()
            if f"{board[tag][measure]:.4f}" != value
        ]
        print(f"{measure}: {text.height - len(wrong)} of {text.height} as printed {wrong or ''}")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


if __name__ == "__main__":
    main()
