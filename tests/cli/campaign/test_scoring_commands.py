"""`cranfield campaign pool`, `judgments`, `score`, `standing`, `history`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest

from tests.campaign.results.made import handed_in, judged, lines, made
from tests.campaign.results.test_scoring import qrels, rankings
from tests.cli.running import cranfield

BOARD = Path(__file__).parents[2] / "data" / "campaign" / "msmarco-doc-leaderboard.csv"


def command(folder: Path, *arguments: str, status: int = 0) -> tuple[str, str]:
    return cranfield(folder, "campaign", *arguments, status=status)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("commands")
    campaign = made(found / "news")
    judged(campaign, qrels())
    for k, tag in enumerate(("bm25", "dense", "hybrid")):
        handed_in(campaign, tag, rankings(k), late=tag == "hybrid")
    (found / "new.run").write_bytes(lines("new", rankings(9)))
    return found


def test_pool(folder: Path) -> None:
    out, _ = command(folder, "pool", "news", "--unjudged", "-o", "to-judge.tsv")
    pooled, lacks = out.splitlines()
    assert pooled.startswith("pool of ")
    assert pooled.endswith("documents: 4 topics, 2 runs, depth 10")
    number = int(lacks.removeprefix("version 1 of the judgments lacks ").split()[0])
    rows = (folder / "to-judge.tsv").read_text().splitlines()
    assert len(rows) == number + 1
    out, err = command(folder, "pool", "news", "--format", "trec", "-o", "-")
    assert err == pooled + "\n"
    assert len(out.splitlines()) == int(pooled.split()[2])
    out, err = command(folder, "pool", "news", "--unjudged", "--format", "tsv")
    assert err == f"{pooled}\n{lacks}\n" and out.splitlines() == rows
    _, err = command(folder, "pool", "news", "--format", "trec", status=2)
    assert err == "cranfield: error: --format goes with --output or --unjudged\n"
    _, err = command(folder, "pool", "news", "--judgments", "1", status=2)
    assert err == "cranfield: error: --judgments goes with --unjudged\n"


def test_judgments(folder: Path) -> None:
    out, _ = command(folder, "judgments", "news")
    assert out.startswith("Judgments of adhoc: 1 version\n")
    (folder / "two.txt").write_text("q1 0 d001 1\nq2 0 d002 1\nq3 0 d003 0\nq4 0 d001 1\n")
    _, err = command(folder, "judgments", "news", "two.txt", status=2)
    assert err == "cranfield: error: --version is missing: the name of this version, such as 1\n"
    _, err = command(folder, "judgments", "news", "two.txt", "--version", "1", status=2)
    assert (
        err == "cranfield: error: version '1' is there, and versions never change: name a new one\n"
    )


def test_score(folder: Path) -> None:
    out, _ = command(folder, "score", "news", "--format", "csv", "--topic-scores", "scores.parquet")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["place"] for row in rows] == ["1", "2", "3"]
    assert {row["tag"]: row["late"] for row in rows}["hybrid"] == "true"
    long = pl.read_parquet(folder / "scores.parquet")
    means = long.filter(measure="AP").group_by("system").agg(pl.col("score").mean())
    for row in rows:
        [mean] = means.filter(system=row["tag"])["score"]
        assert float(row["AP"]) == pytest.approx(mean)
    shown, _ = command(folder, "score", "news")
    again, err = command(folder, "score", "news")
    assert (shown, err) == (again, "")
    assert shown.startswith("Board of adhoc: 3 runs\n\nplace  tag ")
    assert "note: groups: two runs share a letter exactly when " in shown
    _, err = command(folder, "score", "news", "--topic-scores", "scores.txt", status=2)
    assert (
        err
        == "cranfield: error: --topic-scores 'scores.txt' ends neither in .csv nor in .parquet\n"
    )


def test_standing(folder: Path) -> None:
    out, _ = command(folder, "standing", "news", "new.run", "--baseline", "bm25")
    assert out.startswith("new: without a judgment are ")
    assert "\nverdict: " in out
    out, _ = command(folder, "standing", "news", "new.run", "--format", "json")
    found = json.loads(out)
    assert [row["against"] for row in found["comparisons"]] == ["best", "median"]
    assert found["of"] == 4
    _, err = command(folder, "standing", "news", "new.run", "-o", "new.run", status=2)
    assert err == "cranfield: error: --output 'new.run' is a file that is read\n"


def test_history(folder: Path) -> None:
    asked = ("history", str(BOARD), "-m", "MRR@100 (Eval)", "--format", "csv")
    out, _ = command(folder, *asked)
    assert len(list(csv.DictReader(io.StringIO(out)))) == 17
    out, _ = command(folder, *asked, "--all", "--column", "entry=id")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (len(rows), rows[0]["entry"]) == (117, "20200811a")
    out, _ = command(folder, "history", "news", "-m", "AP")
    assert out.startswith("AP: 1 record\n")
    _, err = command(folder, "history", "news", str(BOARD), "-m", "AP", status=2)
    assert "has no column of 'AP'" in err
