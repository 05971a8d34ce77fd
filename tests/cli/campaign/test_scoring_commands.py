"""`cranfield campaign pool`, `judgments`, `score`, `standing`, `history`."""

from __future__ import annotations

import csv
import io
import json
import os
import threading
from pathlib import Path

import polars as pl
import pytest

import cranfield as cf
from cranfield.campaign.store.records import read_object
from tests.campaign.results.made import RULES, handed_in, judged, lines, made, qrels, rankings
from tests.cli.running import cranfield

BOARD = Path(__file__).parents[2] / "data" / "campaign" / "msmarco-doc-leaderboard.csv"


NAMES = ("ann", "bob", "cat")


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
    pooled, late, without_judgment = out.splitlines()
    assert pooled.startswith("pool of ")
    assert pooled.endswith("documents: 4 topics, 2 runs, depth 10")
    assert late == "not pooled, because late: hybrid"
    pooled += f"\n{late}"
    number = int(without_judgment.split()[0])
    rows = (folder / "to-judge.tsv").read_text().splitlines()
    assert len(rows) == number + 1
    out, err = command(folder, "pool", "news", "--format", "trec", "-o", "-")
    assert err == pooled + "\n"
    assert len(out.splitlines()) == int(pooled.split()[2])
    out, err = command(folder, "pool", "news", "--unjudged", "--format", "tsv")
    assert err == f"{pooled}\n{without_judgment}\n" and out.splitlines() == rows
    _, err = command(folder, "pool", "news", "--format", "trec", status=2)
    assert err == "cranfield: error: --format requires --output or --unjudged\n"
    _, err = command(folder, "pool", "news", "--judgments", "1", status=2)
    assert err == "cranfield: error: --judgments requires --unjudged\n"


def test_the_size_of_each_sheet_is_printed(folder: Path) -> None:
    arguments = ("--assessors", "ann,bob,cat", "-o", "judge-{}.tsv", "--settings", "overlap.yml")
    (folder / "overlap.yml").write_text("overlap: 0.25\n")
    out, _ = command(folder, "pool", "news", *arguments)
    sheets = [(folder / f"judge-{name}.tsv").read_text().splitlines()[1:] for name in NAMES]
    shown = zip(NAMES, map(len, sheets), strict=True)
    assert out.splitlines()[-3:] == [f"judge-{name}.tsv: {n} documents" for name, n in shown]
    # The documents that several assessors judge are on all sheets.
    shared = set.intersection(*map(set, sheets))
    assert shared == {*sheets[0]} & {*sheets[1]} and len(shared) > 0


def test_unjudged_documents_are_those_by_the_rules(tmp_path: Path) -> None:
    """A grade below 0 marks a document that was pooled but not judged, if the rules say so."""
    for name, judging, number in (("one", "", 1), ("two", 'judging = {negative = "unjudged"}', 2)):
        campaign = made(
            tmp_path / name, 1, RULES.replace("min_category", f"{judging}\nmin_category")
        )
        judged(campaign, "q1 0 a 1\nq1 0 b -1\n")
        handed_in(campaign, "run", {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}})
        out, _ = command(tmp_path, "pool", name, "--unjudged", "-o", f"{name}.txt")
        assert f"{number} of these have no judgment" in out


def test_judgments(folder: Path) -> None:
    out, _ = command(folder, "judgments", "news")
    assert out.startswith("Judgments of adhoc: 1 version\n")
    (folder / "two.txt").write_text("q1 0 d001 1\nq2 0 d002 1\nq3 0 d003 0\nq4 0 d001 1\n")
    _, err = command(folder, "judgments", "news", "two.txt", status=2)
    assert err == "cranfield: error: QRELS requires --version, such as --version 1\n"
    _, err = command(folder, "judgments", "news", "two.txt", "--version", "1", status=2)
    assert (
        err
        == "cranfield: error: version '1' already exists and cannot be changed; choose a new name\n"
    )


def test_judgments_are_compared_with_the_last_version(tmp_path: Path) -> None:
    made(tmp_path / "news")
    first = [f"q{k % 4 + 1} 0 d{k} 1\n" for k in range(40)]
    # Topic q9 is not a topic of the task.
    second = ["q1 0 d0 0\n", *first[1:38], "q1 0 new 1\n", "q9 0 d1 1\n"]
    compared = "compared with version '1': 1 added, 1 changed, 2 removed\n"
    # The second file is added only once.
    for version, rows, expected in (("1", first, ""), ("2", second, compared), ("2", second, "")):
        (tmp_path / version).write_text("".join(rows))
        out, _ = command(tmp_path, "judgments", "news", version, "--version", version)
        assert out.partition("\n")[2] == expected


def test_judgments_of_a_pipe_are_stored_whole(tmp_path: Path) -> None:
    campaign = made(tmp_path / "news")
    os.mkfifo(tmp_path / "pipe")
    data = b"q1 0 d001 1\nq2 0 d002 1\nq3 0 d003 0\nq4 0 d001 1\n"
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    out, _ = command(tmp_path, "judgments", "news", "pipe", "--version", "1")
    writer.join()
    assert out == "adhoc: version '1' of the judgments, 4 judgments\n"
    [record] = campaign.registry.list_judgments("adhoc")
    assert read_object(campaign.folder, record.object) == data


def test_score(folder: Path) -> None:
    out, _ = command(folder, "score", "news", "--format", "csv", "--topic-scores", "scores.parquet")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {row["tag"]: row["late"] for row in rows}["hybrid"] == "true"
    long = pl.read_parquet(folder / "scores.parquet")
    means = long.filter(measure="AP").group_by("system").agg(pl.col("score").mean())
    for row in rows:
        [mean] = means.filter(system=row["tag"])["score"]
        assert float(row["AP"]) == pytest.approx(mean)
    shown, _ = command(folder, "score", "news")
    again, err = command(folder, "score", "news")
    assert (shown, err) == (again, "")
    assert shown.startswith("Leaderboard of adhoc: 3 runs\n\nrank  tag ")
    assert "note: groups: two runs share a letter exactly when " in shown
    _, err = command(folder, "score", "news", "--topic-scores", "scores.txt", status=2)
    assert "--topic-scores must end in .csv or .parquet, got 'scores.txt'" in err


def test_standing(folder: Path) -> None:
    out, _ = command(folder, "standing", "news", "new.run", "--baseline", "bm25")
    assert out.startswith("new: unjudged documents: ")
    assert "\nverdict: " in out
    out, _ = command(folder, "standing", "news", "new.run", "--format", "json")
    found = json.loads(out)
    assert [row["against"] for row in found["comparisons"]] == ["best", "median"]
    assert found["n_runs"] == 4
    _, err = command(folder, "standing", "news", "new.run", "-o", "new.run", status=2)
    assert err == "cranfield: error: --output 'new.run' would overwrite an input file\n"


def test_history(folder: Path) -> None:
    asked = ("history", str(BOARD), "-m", "MRR@100 (Eval)", "--format", "csv")
    out, _ = command(folder, *asked)
    assert len(list(csv.DictReader(io.StringIO(out)))) == 17
    out, _ = command(folder, *asked, "--all", "--column", "entry=id")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (len(rows), rows[0]["entry"]) == (117, "20200811a")
    out, _ = command(folder, "history", "news", "-m", "AP")
    assert out.startswith("AP: 1 record\n")
    (folder / "board.csv").write_text("day,model,mark,AP\n2024-01-01,a,us,.5\n2024-02-01,b,we,.6\n")
    (folder / "own.yml").write_text("own: us,we\n")
    board = ("history", "board.csv", "-m", "AP")
    assert "entries in --settings with own: [...]\n" in command(folder, *board)[0]
    out, _ = command(folder, *board, "--settings", "own.yml")
    assert out.startswith("AP: 0 records\n")
    _, err = command(folder, "history", "news", str(BOARD), "-m", "AP", status=2)
    assert "has no column 'AP'" in err


def pooled(folder: Path) -> Path:
    campaign = made(folder / "news")
    judged(campaign, qrels())
    for k, tag in enumerate(("bm25", "dense", "hybrid")):
        handed_in(campaign, tag, rankings(k))
    return folder


def test_a_run_is_kept_out_of_the_pool(tmp_path: Path) -> None:
    pooled(tmp_path)
    _, err = command(tmp_path, "pool", "news", "--without", "BM25", status=2)
    assert err.endswith("got 'BM25'; expected some of: bm25, dense, hybrid\n")
    every = (f"--without={tag}" for tag in ("bm25", "dense", "hybrid"))
    _, err = command(tmp_path, "pool", "news", *every, status=2)
    assert "at least one run" in err
    command(tmp_path, "pool", "news", "--format", "tsv", "-o", "all.tsv")
    start = ("pool", "news", "--without", "bm25", "--mark")
    out, _ = command(tmp_path, *start, "--format", "tsv", "-o", "less.tsv")
    assert "2 runs, depth 10, runs recorded as pooled\nexcluded from the pool: bm25\n" in out
    every_doc, fewer = (
        {*(tmp_path / f"{name}.tsv").read_text().split("\n")} for name in ("all", "less")
    )
    assert fewer < every_doc
    listed, _ = command(tmp_path, "run", "list", "news", "--format", "json")
    assert {row["tag"]: row["pooled"] for row in json.loads(listed)} == {
        "bm25": False,
        "dense": True,
        "hybrid": True,
    }
    shown, _ = command(tmp_path, "run", "show", "news", "bm25")
    assert "pool without this run by " in shown
    board, _ = command(tmp_path, "score", "news")
    assert "not pooled: 'bm25'" in board
    command(tmp_path, "verify", "news")


def test_the_leaderboard_in_python_is_that_of_the_command(folder: Path) -> None:
    board = cf.campaign.open(folder / "news").leaderboard(measures=["P@5"], alpha=0.1)
    out, _ = command(folder, "score", "news", "-m", "P@5", "--alpha", "0.1", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["tag"] for row in rows] == board.to_polars()["tag"].to_list()
    assert [float(row["P@5"]) for row in rows] == pytest.approx(board.to_polars()["P@5"].to_list())
    asked = ("score", "news", "-m", "P@5", "--alpha", "0.1", "--format")
    for form in ("json", "html", "markdown"):
        assert command(folder, *asked, form)[0] == getattr(board, f"to_{form}")()


def test_a_standing_in_python_is_that_of_the_command(folder: Path) -> None:
    news = cf.campaign.open(folder / "news")
    found = news.standing(folder / "new.run", baseline="bm25")
    asked = ("standing", "news", "new.run", "--baseline", "bm25", "--format")
    assert command(folder, *asked, "text")[0] == f"{found}\n"
    for form in ("json", "csv", "html", "markdown"):
        assert command(folder, *asked, form)[0] == getattr(found, f"to_{form}")()
    assert set(json.loads(found.to_json())["baseline"]) > {"run", "verdict", "notes"}


def test_lists_of_judgments_and_teams_as_tables(folder: Path, tmp_path: Path) -> None:
    [row], _ = [json.loads(command(folder, "judgments", "news", "--format", "json")[0]), ""]
    assert row["version"] == "1" and row["note"] == "" and row["rows"] > 0
    text, _ = command(folder, "judgments", "news", "--format", "csv")
    assert next(csv.DictReader(io.StringIO(text)))["object"] == row["object"]
    _, err = command(folder, "judgments", "news", "q.txt", "--version", "2", "-f", "csv", status=2)
    assert "--format cannot be combined with QRELS" in err
    campaign = made(tmp_path / "none")
    assert json.loads(command(tmp_path, "judgments", "none", "--format", "json")[0]) == []
    campaign.add_team("padua", "Padua, Italy", contact="a@b.c", anonymous_until="2027-01-31")
    listed = ("team", "list", "none")
    rows = json.loads(command(tmp_path, *listed, "--format", "json")[0])
    assert rows[0] == {
        "id": "padua",
        "name": "Padua, Italy",
        "runs": 0,
        "anonymous until": "2027-01-31",
    }
    assert rows[1]["anonymous until"] is None
    command(tmp_path, *listed, "--contacts", "--format", "csv", "-o", "teams.csv")
    table = list(csv.DictReader((tmp_path / "teams.csv").read_text().splitlines()))
    assert table[0]["contact"] == "a@b.c" and table[0]["name"] == "Padua, Italy"
