"""Nested files of other tools: refused with what they hold, and a way on that works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError

HITS = [{"docid": "d1", "score": 2.0}, {"docid": "d5", "score": 1.0}]
NESTED: dict[str, tuple[Any, str]] = {
    "rankllm.jsonl": ({"query": {"qid": "q1"}, "candidates": HITS}, "'candidates' holds an array"),
    "hits.jsonl": ({"qid": "q1", "hits": HITS}, "'hits' holds an array of 2"),
    "lists.jsonl": ({"query_id": "q1", "doc_ids": ["d1", "d5"]}, "'doc_ids' holds an array of 2"),
    "columns.jsonl": ({"qid": "q1", "docid": ["d1"], "score": [1]}, "'doc' holds an array of 1"),
    "id.jsonl": ({"qid": "q1", "docid": {"id": "d1"}, "score": 1}, "'doc' holds an object"),
    "rows.json": ([{"qid": "q1", "hits": HITS}], "'hits' holds an array of 2"),
    "bioasq.json": (
        {"questions": [{"id": "q1", "documents": ["d1"]}]},
        "'questions' is an array of 1, the first is an object with 'id', 'documents'",
    ),
    "dpr.json": ({"q1": {"question": "x", "contexts": HITS}}, "'q1' is an object with 'question'"),
    "rank_eval.json": (
        {"metric_score": 0.5, "details": {"q1": {"hits": HITS}}},
        "for topic 'metric_score', got a number",
    ),
    "took.json": ({"took": 3, "hits": {"total": 1, "hits": HITS}}, "'took', got a number"),
}


@pytest.mark.parametrize("name", NESTED)
def test_runs(name: str, tmp_path: Path) -> None:
    data, said = NESTED[name]
    (tmp_path / name).write_text(json.dumps(data) + "\n")

    def first(path: Path) -> cf.Run:
        return cf.read_runs(path)[0]

    for read in (first, cf.read_run):
        with pytest.raises(
            InputError, match="expected .*write a table or JSON lines with"
        ) as error:
            read(tmp_path / name)
        assert "columns=" not in str(error.value)
    with pytest.raises(InputError) as error:
        cf.read_runs(tmp_path / name)[0]
    assert name in str(error.value)
    assert said in str(error.value)


def test_judgments(tmp_path: Path) -> None:
    for name, data in (
        ("requests.json", {"requests": [{"id": "q1", "ratings": [{"_id": "d1", "rating": 1}]}]}),
        ("judged.jsonl", {"qid": "q1", "relevant": ["d1"]}),
    ):
        (tmp_path / name).write_text(json.dumps(data))
        with pytest.raises(InputError, match=f"{name}: expected .*topic, doc and grade"):
            cf.read_qrels(tmp_path / name)


def test_parquet_with_lists(tmp_path: Path) -> None:
    pl.DataFrame({"qid": ["q1"], "docs": [["d1", "d2"]]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="'docs' holds an array of 2, the first is text"):
        cf.read_run(tmp_path / "a.parquet")


def test_the_flat_table_is_read(tmp_path: Path) -> None:
    rows = [{"topic": "q1", "doc": hit["docid"], "score": hit["score"]} for hit in HITS]
    (tmp_path / "flat.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert cf.read_run(tmp_path / "flat.jsonl").to_polars()["doc"].to_list() == ["d1", "d5"]


@pytest.mark.parametrize(
    ("rows", "rise"),
    [
        ({"q1": [["d1", 0.1], ["d2", 0.5]], "q2": [["d1", 0]]}, 1),
        ({"q1": {"d1": 1, "d2": 2, "d3": 3}, "q2": {"d4": 1, "d5": 2, "d6": 3}}, 4),
        ({"q1": [["d1", 0.1], ["d2", 0.5]], "q2": [["d1", 0.5], ["d2", 0.5]]}, 0),
        ({"q1": {"d1": 1, "d2": 2, "d3": 3}, "q2": {"d4": 1, "d5": 3, "d6": 4}}, 0),
    ],
)
def test_ranks_and_distances_in_place_of_scores(rows: Any, rise: int, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(rows))
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    assert cf.judge(tmp_path / "r.json", qrels).coverage.systems[0].contradictions == rise
    run = cf.read_run(tmp_path / "r.json", lower_is_better=True)
    assert not rise or cf.judge(run, qrels).coverage.systems[0].contradictions == 0
