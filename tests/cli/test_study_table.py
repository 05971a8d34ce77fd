"""The option `--table`: what there is none of is refused before a study is done."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.running import cranfield, refused

RUNS = [f"s{k}.run" for k in range(6)]
QUICK = {
    "tests": ("--repeats", "2", "--sizes", "4"),
    "measures": ("--repeats", "2", "--sizes", "4", "--resamples", "10"),
    "collection": ("--repeats", "2", "--sizes", "4"),
    "reproduction": (),
}
BOTH = ("--original-baseline", "s3.run", "--baseline", "s4.run")
FOUR = (*BOTH, "--original-advanced", "s0.run", "--advanced", "s1.run")

COMMANDS = {
    "tests": ("tests", "qrels.txt", *RUNS),
    "alarms": ("tests", "qrels.txt", *RUNS, "--false-positives", "2"),
    "measures": ("measures", "qrels.txt", *RUNS, "-m", "AP", "-m", "RR"),
    "gold": ("measures", "qrels.txt", *RUNS, "-m", "AP", "-m", "RR", "--gold", "P@5"),
    "preferences": ("measures", "qrels.txt", *RUNS, "-m", "AP", "-m", "P@5")
    + ("--preferences", "people.csv"),
    "collection": ("collection", "qrels.txt", *RUNS, "-m", "AP"),
    "topics": ("collection", "--scores", "scores.csv"),
    "reproduction": ("reproduction", "qrels.txt", *FOUR),
    "baselines": ("reproduction", "qrels.txt", *BOTH),
    "replication": ("reproduction", "qrels.txt", *FOUR, "--other-qrels", "qrels.txt"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_tables_that_are_named_are_those_that_there_are(campaign: Path, name: str) -> None:
    people = [("q1", "s0", "s5", "s0", "x"), ("q2", "s1", "s5", "s5", "y")]
    rows = [("topic", "first", "second", "preferred", "assessor"), *people]
    (campaign / "people.csv").write_text("".join(f"{','.join(row)}\n" for row in rows))
    kind, *rest = COMMANDS[name]
    command = ("study", kind, *rest, *QUICK[kind])
    with mock.patch("cranfield.cli.options.studies.show_progress_bar", side_effect=AssertionError):
        _, err = cranfield(campaign, *command, "--table", "none", status=2)
    start = "cranfield: error: unknown table 'none'; expected one of: "
    assert err.startswith(start)
    *named, everything = err.removeprefix(start).rstrip("\n").split(", ")
    assert everything == "all"
    found = json.loads(cranfield(campaign, *command, "--format", "json")[0])
    assert sorted(key for key in found if key in named) == sorted(named)
    tables = {key for key, value in found.items() if isinstance(value, list) and value}
    rows_of = {key for key in tables if isinstance(found[key][0], dict)}
    assert rows_of - {"studies"} <= set(named)


@pytest.mark.parametrize("kind", ["tests", "measures", "collection"])
def test_nothing_is_read_for_a_table_that_there_is_not(tmp_path: Path, kind: str) -> None:
    refused(tmp_path, "study", kind, "no", "such", "--table", "none", reason="unknown table 'none'")
