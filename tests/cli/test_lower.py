"""`--lower`: scores that are better when lower, of files of scores and of runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf

from .running import cranfield, refusals, refused

SYSTEMS = ("fast", "middle", "slow")
FAST = ("--resamples", "199")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Latencies of 30 topics, of which `slow` has 25 ms more, and scores that it is best by."""
    random = np.random.default_rng(1)
    lines = ["topic,system,latency,nDCG@10"]
    for topic in range(30):
        base, quality = random.normal(100, 20), random.uniform(0, 0.6)
        for system, more in zip(SYSTEMS, (0, 1, 25), strict=True):
            score = max(0.0, quality + more / 200 + random.normal(0, 0.02))
            lines.append(f"{topic},{system},{base + more + random.normal(0, 5):.2f},{score:.4f}")
    (tmp_path / "lat.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


COMPARE = ("compare", "--scores", "lat.csv", "-m", "latency", *FAST)


def test_worse_than_the_fast_system(folder: Path) -> None:
    gate = (*COMPARE, "--baseline", "fast", "--fail-if-worse")
    out, err = cranfield(folder, *gate)
    assert "1 is significantly better, none is significantly worse" in out
    assert "latency: higher scores are treated as better" in out
    assert "latency" not in err
    out, err = cranfield(folder, *gate, "--lower", "latency", status=1)
    assert "none is significantly better, 1 is significantly worse" in out
    assert "higher scores" not in out
    assert err.startswith("cranfield: worse (p ")
    assert "slow minus fast, latency" in err
    out, err = cranfield(folder, *gate, "--lower", "latency", "--margin", "5", status=1)
    assert "not shown to be non-inferior within 5: slow minus fast" in err
    assert "middle minus fast" not in err
    cranfield(folder, *gate, "--lower", "latency", "--margin", "60")


def test_each_measure_has_its_direction(folder: Path) -> None:
    out, _ = cranfield(
        folder, "compare", "--scores", "lat.csv", *("-m", "latency", "-m", "nDCG@10"), *FAST,
        *("--lower", "latency", "--format", "json"),
    )  # fmt: skip
    latency, quality = json.loads(out)["comparisons"]
    assert [one["system"] for one in latency["systems"]][-1] == "slow"
    assert [one["system"] for one in quality["systems"]][0] == "slow"
    assert latency["lower is better"] is True
    assert quality["lower is better"] is False


def test_means(folder: Path) -> None:
    given = ("evaluate", "--scores", "lat.csv", "-m", "latency")
    out, err = cranfield(folder, *given)
    assert out.split()[3] == "slow"
    assert "latency: higher scores are treated as better" in err
    out, err = cranfield(folder, *given, "--lower", "latency")
    assert out.split()[3] != "slow"
    assert err == ""
    out, _ = cranfield(folder, *given, "--lower", "latency", "-q", "--format", "json")
    (folder / "again.json").write_text(out)
    again = ("compare", "--scores", "again.json", "-b", "fast", "--fail-if-worse", *FAST)
    cranfield(folder, *again, status=1)


def test_board_chart_and_page(folder: Path) -> None:
    lower = ("--lower", "latency")
    out, _ = cranfield(folder, *COMPARE, *lower, "--as", "ranks")
    rows = [line.split()[:2] for line in out.splitlines()]
    rows = [row for row in rows if row[-1:] and row[-1] in SYSTEMS]
    assert rows[-1] == ["3", "slow"]
    chart = ("plot", "intervals", "--scores", "lat.csv", "-m", "latency", *FAST, *lower)
    cranfield(folder, *chart, "-o", "x.json")
    drawn = (folder / "x.json").read_text()
    assert "(lower is better)" in drawn
    cranfield(folder, "report", "--scores", "lat.csv", "-m", "latency", *FAST, *lower)
    page = (folder / "report.html").read_text()
    assert "lower is better" in page
    assert "--lower latency" in page


@refusals(
    """
-m latency --lower latncy | unknown measure 'latncy', declared as lower is better; expected one of:
-m nDCG@10 --lower nDCG@10 | expected 'higher is better' for nDCG@10, got 'lower is better'
-m latency --lower score | expected one of: latency
"""
)
def test_refused(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, "compare", "--scores", "lat.csv", *words, reason=reason)


def test_scores_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a,b\n1,2.5,3\n2,1,2\n")
    _, err = cranfield(tmp_path, "compare", "--scores", "s.csv", "--lower", "latency", status=2)
    assert "name the measure" in err
    given = ("compare", "--scores", "s.csv", "-m", "latency", "--lower", "latency", "-t", "t")
    out, _ = cranfield(tmp_path, *given)
    assert "lower scores of latency are better" in out


# Runs by distance


@pytest.fixture
def distances(tmp_path: Path) -> Path:
    (tmp_path / "q.csv").write_text("query_id,doc_id,relevance\nq1,d1,1\n")
    (tmp_path / "d.csv").write_text("query_id,doc_id,distance\nq1,d5,0.1\nq1,d1,0.2\n")
    (tmp_path / "s.csv").write_text("query_id,doc_id,rank,score\nq1,d5,1,0.1\nq1,d1,2,0.2\n")
    (tmp_path / "r.csv").write_text("query_id,doc_id,rank\nq1,d5,1\nq1,d1,2\n")
    (tmp_path / "t.run").write_text("q1 Q0 d5 1 0.1 x\nq1 Q0 d1 2 0.2 x\n")
    return tmp_path


@pytest.mark.parametrize(
    ("run", "options"),
    [
        ("d.csv", ("--columns", "run.score=distance", "--lower", "distance")),
        ("d.csv", ("--columns", "run.score=distance", "--lower", "score")),
        ("s.csv", ("--lower", "score")),
        ("t.run", ("--lower", "score")),
    ],
)
def test_distances(distances: Path, run: str, options: tuple[str, ...]) -> None:
    """The relevant document is the second nearest; with the sign of scores it was the first."""
    given = ("evaluate", "q.csv", run, "-m", "RR", "--format", "csv")
    out, err = cranfield(distances, *given, *options)
    assert out.splitlines()[1].split(",")[1] == "0.5"
    assert "contradicts" not in err
    without = [option for option in options if option not in {"--lower", options[-1]}]
    out, _ = cranfield(distances, *given, *without)
    assert out.splitlines()[1].split(",")[1] == "1.0"


def test_distances_refused(distances: Path) -> None:
    given = ("evaluate", "q.csv", "-m", "RR")
    _, err = cranfield(distances, *given, "r.csv", "--lower", "score", status=2)
    assert "r.csv: expected scores to rank by, lowest first, got ranks only" in err
    _, err = cranfield(distances, *given, "t.run", "--lower", "distance", status=2)
    assert "expected one of: RR, score (of RUN)" in err
    _, err = cranfield(distances, *given, "t.run", "--lower", "RR", status=2)
    assert "a measure for which lower is better, got RR" in err


def test_commands_on_runs_report_ranks_that_contradict_scores(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 9 A\n1 Q0 b 2 8 A\n2 Q0 b 1 9 A\n")
    (tmp_path / "b.run").write_text("1 Q0 c 1 0.1 B\n1 Q0 a 2 0.7 B\n2 Q0 b 1 0.8 B\n")
    note = "1 of 2 systems has ranks that contradict the scores (most in 'B': 1 contrad"
    for command in (
        ("evaluate", "q.txt", "a.run", "b.run", "-m", "AP"),
        ("fuse", "a.run", "b.run"),
        ("pool", "a.run", "b.run", "--next", "1"),
        ("compare", "q.txt", "a.run", "b.run", "--as", "preferences"),
    ):
        _, err = cranfield(tmp_path, *command)
        assert note in err


def test_judgments_that_match_nothing_in_a_pool(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("1 Q0 a 1 9 A\n1 Q0 b 2 8 A\n")
    (tmp_path / "q.txt").write_text("1 0 A 1\n1 0 B 0\n")
    command = ("pool", "a.run", "--judged", "q.txt", "--unjudged")
    out, err = cranfield(tmp_path, *command)
    assert "ignored: 2 judgments outside the pool" in err
    assert out.splitlines() == ["1 0 a", "1 0 b"]
    (tmp_path / "q.txt").write_text("1 0 a 1\n")
    size = "unjudged: 1 of 2 pooled documents, in 1 of 1 topic\n"
    assert cranfield(tmp_path, *command) == ("1 0 b\n", size)


def test_a_column_of_distances_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("1 0 a 1\n")
    (tmp_path / "d.csv").write_text("qid,docid,distance\n1,a,.1\n1,b,.2\n")
    command = ("evaluate", "q.txt", "d.csv", "-m", "RR", "--lower", "distance")
    _, err = cranfield(tmp_path, *command, status=2)
    advice = "--columns score=distance"
    assert err.endswith(f"make it the score by {advice}\n")
    assert "d        1.0000" in cranfield(tmp_path, *command, *advice.split())[0]


ADVICE = "latency: higher scores are treated as better; if lower is better, pass "


def test_advice_can_be_typed(folder: Path) -> None:
    """Notes and warnings name the option of the command; following it settles the direction."""
    for view in ("pairs", "checklist", "ranks"):
        out, err = cranfield(folder, *COMPARE, "--as", view)
        assert f"{ADVICE}--lower latency\n" in out
        assert err == ""
    _, err = cranfield(folder, *COMPARE[:5], "--as", "summary")
    assert f"{ADVICE}--lower latency\n" in err
    study = ("study", "measures", "--scores", "lat.csv", "-m", "nDCG@10", "-m", "latency")
    out, err = cranfield(folder, *study)
    assert f"note: {ADVICE}--settings with lower: latency\n" in out
    assert f"{ADVICE}--settings with lower: latency\n" in err
    (folder / "low.yml").write_text("lower: latency\n")
    out, err = cranfield(folder, *study, "--settings", "low.yml")
    assert "higher scores" not in out + err


def test_advice_outside_of_commands(folder: Path) -> None:
    latency = cf.read_scores(folder / "lat.csv", measure="latency")
    assert cf.compare(latency).notes[0] == f"{ADVICE}lower_is_better=True to read_scores"
    latency = cf.read_scores(folder / "lat.csv", measure="latency", lower_is_better=True)
    assert cf.compare(latency).notes[0] == "lower scores of latency are better"


@pytest.mark.parametrize("view", ["pairs", "ranks", "checklist", "summary"])
@pytest.mark.parametrize("format", ["csv", "json", "text", "latex"])
def test_excluded_topics_are_reported_in_every_form(folder: Path, view: str, format: str) -> None:
    (folder / "gap.csv").write_text(
        "topic,a,b\n" + "".join(f"{k},0.{k},0.{k + 5}\n" for k in range(10, 30)) + "30,,0.4\n"
    )
    excluded = (
        "1 missing score" if view == "summary" else "1 topic excluded: no score of some systems"
    )
    call = ("compare", "--scores", "gap.csv", "--as", view, "--format", format)
    out, err = cranfield(folder, *call, *(() if view == "summary" else ("--missing", "drop")))
    assert excluded in (err if format == "csv" else out)
