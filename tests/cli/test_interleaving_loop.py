"""Lists of `online interleave`, clicks on them, and what `online preference` says of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cranfield.online import interleave_runs, preference, read_log
from tests.cli.running import cranfield

METHODS = ["Balanced", "TeamDraft", "Probabilistic", "Optimised", "OM", "SOSM", "PPM"]
FORMATS = ["csv", "tsv", "json", "jsonl", "parquet"]
RUNS = {
    "a": {"1": ["d1", "d2", "d3", "d4"], "2": ["d1", "d3", "d2"]},
    "b": {"1": ["d2", "d4", "d1", "d3"], "2": ["d3", "d1", "d5"]},
}
JSON = ("--format", "json", "--table", "preference")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs."""
    folder = tmp_path_factory.mktemp("loop")
    for name, topics in RUNS.items():
        lines = [
            f"{topic} Q0 {doc} {rank} {9 - rank} {name}"
            for topic, docs in topics.items()
            for rank, doc in enumerate(docs, 1)
        ]
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n")
    return folder


def clicks_on(shown: pl.DataFrame) -> pl.DataFrame:
    """Click documents at random, and d3 most often."""
    chance = pl.when(pl.col("doc") == "d3").then(0.6).otherwise(0.2)
    draws = pl.Series(np.random.default_rng(1).random(shown.height))
    return shown.filter(draws < chance).select("page", "rank", "doc")


def outcomes(shown: pl.DataFrame, clicks: pl.DataFrame, method: str) -> np.ndarray[Any, Any]:
    """Compare page by page, by the interleaver itself."""
    made = interleave_runs({name: _scored(topics) for name, topics in RUNS.items()}, method, 3)
    clicked = set(clicks.select("page", "rank").iter_rows())
    found = []
    for (page, topic), rows in shown.group_by("page", "query", maintain_order=True):
        one = made[str(topic)]
        lists = [[one.docs.index(doc) for doc in rows["doc"]]]
        teams = [[-1 if team is None else one.rankers.index(team) for team in rows["team"]]]
        marks = [[(page, rank) in clicked for rank in rows["rank"]]]
        found.append(one.outcomes(lists, marks, teams)[0])
    return np.array(found)


def _scored(topics: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {
        topic: {doc: 9.0 - rank for rank, doc in enumerate(docs)} for topic, docs in topics.items()
    }


@pytest.mark.parametrize(
    ("method", "form"),
    [*((method, "csv") for method in METHODS), *(("TeamDraft", form) for form in FORMATS[1:]),
     *((method, "jsonl") for method in METHODS if method != "TeamDraft")],
)  # fmt: skip
def test_lists_and_clicks_give_the_preference_of_their_method(
    folder: Path, method: str, form: str
) -> None:
    name = f"lists.{form}"
    draw = ("--method", method, "--length", "3", "--impressions", "40", "-o", name)
    cranfield(folder, "online", "interleave", "a.run", "b.run", *draw)
    runs = {run: _scored(topics) for run, topics in RUNS.items()}
    shown = interleave_runs(runs, method, 3).draw(40, 0)
    clicks = clicks_on(shown)
    clicks.select("page", "rank").write_csv(folder / "clicks.csv")
    clicks.select("page", "doc").write_ndjson(folder / "clicks.jsonl")
    given = ("--runs", "a.run", "--runs", "b.run")
    out, err = cranfield(folder, "online", "preference", name, "clicks.csv", *given, *JSON)
    said = json.loads(out)
    known = outcomes(shown, clicks, method)
    counts = [(known > 1e-9).sum(), (known < -1e-9).sum(), (np.abs(known) <= 1e-9).sum()]
    assert [said["wins"], said["losses"], said["ties"]] == counts
    assert said["wins"] > 0 < said["losses"]
    assert err == ""
    by_doc, _ = cranfield(folder, "online", "preference", name, "clicks.jsonl", *given, *JSON)
    assert json.loads(by_doc)["preference"] == said["preference"]
    if method == "TeamDraft":
        by_team, _ = cranfield(folder, "online", "preference", name, "clicks=clicks.csv", *JSON)
        assert json.loads(by_team)["preference"] == said["preference"]
        log = read_log(folder / name, clicks=folder / "clicks.csv")
        assert (log.pages.height, log.results.height) == (80, shown.height)


def test_lists_without_results_on_a_page_and_clicks_twice(folder: Path) -> None:
    own = [{"rank": 1, "doc": "d1", "team": "a"}, {"rank": 2, "doc": "d2", "team": "b"}]
    lines = [
        {"page": "p", "query": "1", "method": "TeamDraft", "results": []},
        *({"page": page, "query": "1", "method": "TeamDraft", "results": own} for page in "qr"),
    ]
    (folder / "some.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "one.csv").write_text("page,rank\nq,2\n")
    out, _ = cranfield(folder, "online", "preference", "some.jsonl", "one.csv", *JSON)
    said = json.loads(out)
    assert (said["wins"], said["losses"], said["ties"]) == (0, 1, 2)
    (folder / "own.csv").write_text("page,query,rank,doc,team,clicked\nq,1,1,d1,a,1\n")
    _, err = cranfield(folder, "online", "preference", "own.csv", "one.csv", status=2)
    assert "cannot be combined with a table of clicks" in err


def test_methods_without_teams_ask_for_the_runs(folder: Path) -> None:
    draw = ("--method", "Balanced", "--impressions", "5", "-o", "balanced.csv")
    cranfield(folder, "online", "interleave", "a.run", "b.run", *draw)
    (folder / "one.csv").write_text("page,rank\n1-0,2\n")
    _, err = cranfield(folder, "online", "preference", "balanced.csv", "one.csv", status=2)
    assert "require the interleaved lists or runs" in err
    cranfield(folder, "online", "interleave", "a.run", "b.run", *draw[2:], "--method", "SOSM")
    out, _ = cranfield(folder, "online", "preference", "balanced.csv", "one.csv")
    assert "interleaved by SOSM" in out


@pytest.mark.parametrize("form", FORMATS)
def test_the_list_of_methods_in_every_format(folder: Path, form: str) -> None:
    name = f"methods.{form}"
    cranfield(folder, "online", "interleave", "--list", "--format", form, "-o", name)
    readers: dict[str, Any] = {
        "json": pl.read_json,
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
    }
    assert len(readers[form](folder / name)["method"]) == len(METHODS)
    _, err = cranfield(folder, "online", "interleave", "a.run", "--list", status=2)
    assert "RUN cannot be combined with --list" in err


def test_pages_on_which_one_ranker_owns_nothing_count_in_both_ways() -> None:
    """With lists of one document, each page shows the document of one team."""
    made = interleave_runs({name: _scored(topics) for name, topics in RUNS.items()}, length=1)
    shown = made.draw(30, 3)
    clicks = shown.gather_every(3)
    log = read_log(shown, clicks=clicks.select("page", "rank"))
    by_team = preference(log)
    by_lists = preference(log, lists=made.lists)
    assert by_team.to_polars().equals(by_lists.to_polars())
    owners = clicks["team"].to_list()
    assert (by_team.wins, by_team.losses) == (owners.count("a"), owners.count("b"))
    assert by_team.n_impressions == 60
