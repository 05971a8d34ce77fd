"""`cranfield labels`: what is in labels, agreement, judgments, and what is refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cranfield as cf
from tests.cli.running import cranfield, ended_with, refusals, refused

LABELS = """topic,doc,worker,grade
q1,a,ann,1
q1,a,bob,1
q1,b,ann,0
q1,b,bob,1
q2,a,ann,2
q2,a,bob,2
q2,a,cid,0
q2,c,cid,1
"""


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    (tmp_path / "labels.csv").write_text(LABELS)
    (tmp_path / "gold").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 c 1\nq2 0 z 1\n")
    (tmp_path / "ann.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n")
    (tmp_path / "bob.qrels").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 a 2\n")
    return tmp_path


def test_what_is_in_it_and_what_is_made_of_it(labelled: Path) -> None:
    out, err = cranfield(
        labelled, "labels", "labels.csv", "--tie", "high", "--gold", "gold", "--qrels", "made"
    )
    assert err == ""
    for line in (
        "8 labels of 4 pairs of 2 topics by 3 workers, grades 0, 1, 2",
        "labels per pair: 1 to 3, median 2; labels per worker: 2 to 3, median 3",
        "pairs with one label: 1 of 4",
        "majority of 4 pairs, 1 tie (high)",
        "note: a tied pair gets the highest tied grade (setting tie: high); --table judgments",
        "quality: weight of the labels of the worker; agreement: proportion of labels that equal",
        "note: aggregated grades equal the gold grades of 3 of 3 documents; 1 were tied",
        "note: 1 gold judgment ignored, as the pair has no label",
        "note: 4 judgments written to made",
    ):
        assert line in out, line
    assert (labelled / "made").read_text() == "q1 0 a 1\nq1 0 b 1\nq2 0 a 2\nq2 0 c 1\n"
    agreed = cf.assess.agreement_of(labelled / "labels.csv")
    assert str(agreed.make_table()) in out
    out, _ = cranfield(labelled, "labels", "labels.csv", "--table", "judgments", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["tied"] for row in rows] == ["false", "true", "false", "false"]


def test_scale_with_grades_below_0(labelled: Path) -> None:
    out, _ = cranfield(labelled, "labels", "labels.csv", "--grades", "-2..2", "--table", "grades")
    assert "grades -2, -1, 0, 1, 2" in out
    assert "grades without a label: -2, -1" in out


def test_notes_of_every_format(labelled: Path) -> None:
    text = "doc,worker,grade\na,ann,1\na,bob,\nb,ann,1\nb,bob,0\n"
    (labelled / "gaps.csv").write_text(text)
    command = ("labels", "gaps.csv", "--missing", "drop")
    excluded = "1 label without a grade excluded"
    no_interval = "no confidence interval for one topic: at least two are required"
    data = json.loads(cranfield(labelled, *command, "-f", "json")[0])
    assert {excluded, no_interval, "pairs with one label: 1 of 2"} < {*data["notes"]}
    for table, expected in (("workers", [excluded]), ("agreement", [excluded, no_interval])):
        out, err = cranfield(labelled, *command, "--table", table)
        assert [note for note in (excluded, no_interval) if f"note: {note}" in out] == expected
        _, err = cranfield(labelled, *command, "--table", table, "-f", "csv")
        assert [note for note in (excluded, no_interval) if f"note: {note}" in err] == expected
    assert cranfield(labelled, *command)[0].count(no_interval) == 1


def test_judgments_are_not_written_where_the_tables_cannot_be(labelled: Path) -> None:
    out, err = cranfield(
        labelled, "labels", "labels.csv", "--qrels", "made", "-o", "gold/out", status=2
    )
    assert out == "" and err.count("\n") == 1
    assert not (labelled / "made").exists()


def test_judgments_of_nobody_are_no_labels(labelled: Path) -> None:
    _, err = cranfield(labelled, "labels", "ann.qrels", status=2)
    assert "got TREC judgments; name the assessor with NAME=ann.qrels" in err
    columns = "topic doc worker grade"
    assert f"--columns '{columns}'" in err
    with pytest.raises(cf.InputError, match="name the assessor"):
        cf.assess.read_labels(labelled / "ann.qrels")
    out, _ = cranfield(labelled, "labels", "ann.qrels", "--columns", columns)
    assert "3 labels" in out


def test_judgments_of_several_by_name(labelled: Path) -> None:
    files = ("ann=ann.qrels", "bob=bob.qrels")
    measures = ("-m", "kappa", "-m", "overlap(rel=2)", "--interval", "none")
    out, _ = cranfield(
        labelled, "labels", *files, *measures, "--table", "agreement", "--format", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["measure"], float(row["value"])) for row in rows] == [
        ("kappa", pytest.approx(0.5)),
        ("overlap(rel=2)", 1.0),
    ]
    assert rows[0]["low"] == ""
    out, _ = cranfield(labelled, "labels", *files, "--pairs", "-m", "observed")
    assert "Pairs of workers, observed" in out


@pytest.mark.parametrize("form", ["text", "csv", "json"])
@pytest.mark.parametrize("more", [(), ("--pairs",), ("--reference", "ann"), ("--gold", "gold")])
def test_every_format(labelled: Path, form: str, more: tuple[str, ...]) -> None:
    out, _ = cranfield(labelled, "labels", "labels.csv", "--format", form, *more)
    assert "ann" in out
    if form == "json":
        found = json.loads(out)
        assert [row["labels"] for row in found["grades"]] == [2, 4, 2]
        assert "NaN" not in out


@pytest.mark.parametrize("method", ["majority", "wawa", "dawid-skene", "one-coin", "glad", "mace"])
def test_every_method(labelled: Path, method: str) -> None:
    known = [] if method in {"majority", "wawa"} else ["--fix-gold"]
    out, _ = cranfield(
        labelled, "labels", "labels.csv", "--method", method, "--gold", "gold", *known
    )
    assert f"{method} of 4 pairs" in out
    if known:
        assert "equal the gold grades of 3 of 3 documents" in out


@refusals(
    """
none.csv | none.csv: cannot be read
labels.csv gold | several LABELS must be NAME=FILE
a=gold a=gold | 'a' must be given only once
labels.csv --fix-gold | setting fix-gold requires --gold
labels.csv --gold gold --fix-gold | setting fix-gold requires --gold
labels.csv --resamples 9 | setting resamples requires --interval bootstrap
labels.csv --table gold | --table gold requires --gold
labels.csv --table judgments -m alpha | --measure cannot be combined with --table judgments
labels.csv --table workers --pairs | --pairs cannot be combined with --table workers
labels.csv --table grades --interval none | --interval cannot be combined with --table grades
labels.csv --table probabilities --reference ann | --reference cannot be combined with --table
labels.csv --table workers --confidence .9 | setting confidence cannot be combined with --table
labels.csv --table judgments --rel 1 | setting rel cannot be combined with --table judgments
labels.csv --grades 0..1 | labels.csv:6: grade 2 is outside the scale (0, 1)
labels.csv --grades x | --grades must be LOW..HIGH
labels.csv --grades a.b | got 'a.b'
labels.csv -m gamma | unknown measure of agreement 'gamma'; expected one of
labels.csv -m kappa | kappa requires two assessors
labels.csv --reference eve | unknown assessor 'eve'
labels.csv --confidence 95 | confidence: 95.0 is not in the range 0<x<1
labels.csv --qrels out -o out | must be a file of its own, got the file of --output, 'out'
labels.csv --qrels - | must be a file of its own, got standard output (-)
labels.csv --qrels no/where | no/where: cannot be written
- --gold - | only one file can be standard input
gold --columns '- - worker grade' | must include doc
"""
)
def test_refused_in_one_line(labelled: Path, words: list[str], reason: str) -> None:
    refused(labelled, "labels", *words, reason=reason)


CELLS = ["", "a", "a", "b", "0", "1", "1", "2", "-1", "1.5", "NaN", "NA", "  ", "é", "\x1b[31m"]
CELLS += ["2147483647", "99999999999999999999", '"', "a b", "=1", "ann", "ann", "bob"]


@given(st.integers(0, 2**32 - 1))
@example(20489)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_hostile_labels_end_in_tables_or_one_line(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    good = rng.random() < 0.7
    rows = []
    for _ in range(rng.integers(0, 12)):
        row = [f"q{rng.integers(2)}", f"d{rng.integers(3)}", f"w{rng.integers(4)}"]
        row.append(str(rng.integers(3)))
        if not good or rng.random() < 0.05:
            row[rng.integers(4)] = str(rng.choice(CELLS))
        rows.append(row)
    comma = rng.random() < 0.5
    lines = [("," if comma else " ").join(row) for row in rows]
    path = tmp_path / ("labels.csv" if comma else "labels.txt")
    path.write_text("\n".join(["topic,doc,worker,grade", *lines] if comma else lines))
    arguments = ["--repeats", str(rng.choice(["last", "keep"])), "--missing", "drop"]
    arguments += ["--method", str(rng.choice(["majority", "dawid-skene", "one-coin"]))]
    arguments += ["--tie", str(rng.choice(["low", "high", "median", "drop", "random"]))]
    arguments += ["--pairs"] if rng.random() < 0.3 else []
    status, out, err = ended_with(tmp_path, "labels", path.name, *arguments)
    assert status in (0, 2), err
    assert "Traceback" not in err and "\x1b" not in out + err
    if status:
        # One line has the reason, after warnings of what was read.
        *warnings, reason = err.splitlines()
        assert out == "" and reason.startswith("cranfield: error: ")
        assert all(line.startswith("cranfield: warning: ") for line in warnings)


def test_cut_points_as_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("doc,worker,grade\na,x,0.9\na,y,0.6\n")
    _, error = cranfield(tmp_path, "labels", "a.csv", status=2)
    assert "--grades 0.5,0.8 maps real numbers to grades 0, 1 and 2" in error
    for cuts in ("0.5,0.8", "[0.5, 0.8]"):
        out, _ = cranfield(tmp_path, "labels", "a.csv", "--grades", cuts)
        assert "grades 0, 1, 2" in out
