"""Whole runs interleaved, in Python and by the command, and read back as a log."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from tests.cli.running import cranfield
from tests.online.refusals import check_refused

FIRST = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0}, "q3": {"x": 1.0, "y": 0.5}}
SECOND = {"q1": {"b": 3.0, "d": 2.0}, "q3": {"y": 1.0, "x": 0.5}}
RUNS = {"A": FIRST, "B": SECOND}


def test_each_topic_is_interleaved_as_alone() -> None:
    made = cf.online.interleave_runs(RUNS, "Probabilistic", 3)
    assert repr(made) == "InterleavedRuns(Probabilistic: 2 runs, 2 topics, 1 topic excluded)"
    assert made.missing_topics == ("q2",) and list(made) == ["q1", "q3"]
    runs = [cf.read_run(run, name=name) for name, run in RUNS.items()]
    for topic in made:
        alone = cf.online.interleave(runs, "Probabilistic", 3, topic=topic)
        assert alone.docs == made[topic].docs
        assert (alone.draw(20, seed=1).lists == made[topic].draw(20, seed=1).lists).all()
    whole = made.draw(30, seed=1, jobs=1)
    assert whole.equals(made.draw(30, seed=1, jobs=4))
    later = made.draw(10, seed=1, first=20)
    assert later.equals(whole.join(later.select("page").unique(), on="page", how="semi"))


def test_pages_with_names() -> None:
    made = cf.online.interleave_runs(RUNS, "TeamDraft(common_prefix='nobody')", 3)
    pages = pl.DataFrame({"page": ["p2", "p1", "p3"], "query": ["q3", "q1", "q3"]})
    drawn = made.draw_for(pages, seed=5)
    assert drawn["page"].unique(maintain_order=True).to_list() == ["p2", "p1", "p3"]
    alone = made.draw_for([{"page": "p1", "query": "q1"}], seed=5)
    assert alone.equals(drawn.filter(pl.col("page") == "p1"))
    counted = pl.DataFrame({"page": ["p", "q"], "query": ["q1", "q3"], "count": [3, 1]})
    check_refused(
        (lambda: made.draw_for([("p", "q1"), ("q", "q2")], 5), "row 2: topic 'q2' is not in all"),
        (lambda: made.draw_for([("p", "q1"), ("p", "q1")], 5), "row 2: page 'p' is repeated"),
        (lambda: made.draw_for(counted, 5), "column 'count' .* may be the count of rows"),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} 1 {s} {name}" for q, docs in run.items() for d, s in docs.items()]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    (tmp_path / "pages.csv").write_text("page,query\ns1,q1\ns2,q3\n")
    return tmp_path


def interleave(folder: Path, *options: str, status: int = 0) -> tuple[str, str]:
    return cranfield(folder, "online", "interleave", "A.run", "B.run", *options, status=status)


def test_the_command_writes_what_python_draws(folder: Path) -> None:
    expected = cf.online.interleave_runs(RUNS, "TeamDraft", 3).draw(5, seed=7)
    for form in ("tsv", "csv"):
        options = ("--length", "3", "--impressions", "5", "--seed", "7", "-o", f"lists.{form}")
        out, err = interleave(folder, *options, "--jobs", "4")
        assert (out, err) == ("", "note: excluded 1 topic that some runs lack: q2\n")
        separator = "\t" if form == "tsv" else ","
        assert pl.read_csv(folder / f"lists.{form}", separator=separator).equals(expected)
    with pytest.warns(cf.CranfieldWarning, match="no column of clicks"):
        log = cf.online.read_log(folder / "lists.csv")
    assert (len(log.pages), len(log.results)) == (10, len(expected))
    assert log.results["team"].to_list() == expected["team"].to_list()


def test_lines_and_runs(folder: Path) -> None:
    lines, _ = interleave(folder, "--keys", "pages.csv", "--length", "2")
    pages = [json.loads(line) for line in lines.splitlines()]
    ids = [("s1", "q1", "TeamDraft"), ("s2", "q3", "TeamDraft")]
    assert [(one["page"], one["query"], one["method"]) for one in pages] == ids
    assert {one["doc"] for one in pages[1]["results"]} == {"x", "y"}
    text, _ = interleave(folder, "--keys", "pages.csv", "--length", "2", "--format", "trec")
    (folder / "made.run").write_text(text)
    run = cf.read_run(folder / "made.run")
    shown = [[row["doc"] for row in one["results"]] for one in pages]
    assert run.to_polars()["doc"].to_list() == [doc for row in shown for doc in row]
    assert run.to_polars()["topic"].to_list() == ["s1", "s1", "s2", "s2"]


def test_the_command_refuses_in_one_line(folder: Path) -> None:
    (folder / "odd.csv").write_text("page,query\ns1,q1\ns1,q1\n")
    (folder / "blank.csv").write_text("page,query\ns 1,q1\n")
    wrong = {
        "--impressions": "",
        "--keys cannot be combined": "--impressions 1 --keys pages.csv",
        "unknown interleaving method": "--impressions 1 --method Draft",
        "odd.csv:3: page 's1' is repeated": "--keys odd.csv",
        "contains a blank": "--keys blank.csv --format trec",
        "would overwrite an input file": "--keys pages.csv -o pages.csv",
        "requires --output": "--impressions 1 --format parquet",
        "n must be an integer from 0 to": f"--impressions {2**63}",
        "distinct names, got 'A' twice": "A.run --impressions 1 --method TeamDraft",
    }
    for said, options in wrong.items():
        out, err = interleave(folder, *options.split(), status=2)
        assert said in err and out == "" and err.count("\n") == 1
    listed, _ = cranfield(folder, "online", "interleave", "--list")
    assert "Radlinski and Craswell (2013)" in listed
