"""JSON and mappings: what they may hold, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from tests.collection.refusals import refuses, warns
from tests.evaluation.scorefiles import files


def test_lines_of_json(tmp_path: Path) -> None:
    # What ir_measures prints with -o jsonl.
    text = '{"query_id": "q1", "measure": "AP", "value": 0.5}\n\n'
    for name in ("bm25.jsonl", "bm25.txt"):
        scores = read(text, tmp_path, name)
        assert (scores.measure, scores.systems, scores.topics) == ("AP", ("bm25",), ("q1",))
    with pytest.raises(InputError, match=r":3: score 'x' is not a finite number \(topic 'q2'\)"):
        read(text + text.replace("0.5", '"x"').replace("q1", "q2"), tmp_path, "s.jsonl")
    refuses(":3: key 'a' is repeated in an", read, text + '{"a": 1, "a": 2}', tmp_path, "s.jsonl")


def test_a_frame_for_each_system() -> None:
    for frame in (pl.DataFrame, pd.DataFrame):
        data = {"a": frame({"topic": ["1"], "score": [0.5]})}
        refuses("pass one data frame with columns topic, system and score", cf.read_scores, data)


def read(text: str, folder: Path, name: str = "s.json", **options: Any) -> cf.Scores:
    return files.read(text, folder, name, **options)


def test_response_of_rank_eval(tmp_path: Path) -> None:
    details = {"q1": {"metric_score": 0.5, "hits": []}, "q2": {"metric_score": 0.25, "hits": []}}
    response = {"metric_score": 0.375, "details": details, "failures": {"q3": {"error": {}}}}
    with pytest.warns(
        cf.CranfieldWarning,
        match="bm25.json: 1 topic without a score, as their search failed: 'q3'",
    ):
        scores = read(json.dumps(response), tmp_path, "bm25.json", measure="P@2")
    assert (scores.systems, scores.topics) == (("bm25",), ("q1", "q2"))
    assert scores.values.tolist() == [[0.5], [0.25]]


@pytest.mark.parametrize(
    "data",
    [
        {"a": [0.5, 1], "b": [0, 0.25]},
        {"a": pd.Series([1, 0.5], ["2", "1"]), "b": pd.Series([0, 0.25], ["1", "2"])},
        {"topic": ["1", "2"], "a": [0.5, 1], "b": [0, 0.25]},
        {"a": {1: {"AP": 0.5}, 2: {"AP": 1}}, "b": {1: {"AP": 0}, 2: {"AP": 0.25}}},
    ],
)
def test_mappings(data: Any) -> None:
    scores = cf.read_scores(data)
    at = [scores.topics.index(topic) for topic in ("1", "2")]
    assert scores.systems == ("a", "b")
    assert scores.values[at].tolist() == [[0.5, 0], [1, 0.25]]


def test_names_that_are_the_same_as_text() -> None:
    refuses(r"scores: system 'a' has two scores", cf.read_scores, {"a": {1: 0.5, "1": 0.25}})


def test_json_without_a_suffix(tmp_path: Path) -> None:
    for text in ('{"a": {"q1": 0.5}}', '{\n"a": {"q1": 0.5}}', '[{"topic": "q1", "a": 0.5}]'):
        scores = read(text, tmp_path, "scores")
        assert (scores.topics, scores.systems) == (("q1",), ("a",))


def test_a_measure_in_each_topic(tmp_path: Path) -> None:
    data = {"a": {"q1": {"map": 0.5, "P_5": 1}}, "b": {"q1": {"map": 0.25, "P_5": 1}}}
    scores = read(json.dumps(data), tmp_path, measure="AP")
    assert scores.values.tolist() == [[0.5, 0.25]]


@pytest.mark.parametrize("topics", [("q1", "q2"), ("401", "402"), ("Topic 1", "Topic 2")])
def test_topics_where_systems_are_wanted(topics: tuple[str, str]) -> None:
    data = {topic: {"bm25": 0.5, "dense": 0.25} for topic in topics}
    warns(f"'{topics[0]}', '{topics[1]}' look like", cf.read_scores, data)
    cf.read_scores({"bm25": dict.fromkeys(topics, 0.5)})
    cf.read_scores({"1": dict.fromkeys(topics, 0.5)})


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_a_list_of_booleans_is_a_mask(kind: Any) -> None:
    scores = cf.Scores(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), ("1", "2", "3"), ("a", "b"))
    part = scores.select(topics=kind([True, False, True]), systems=kind([False, True]))
    assert (part.topics, part.systems, part.values.tolist()) == (("1", "3"), ("b",), [[0.2], [0.6]])
    assert scores.select(topics=kind([2, 0])).topics == ("3", "1")
    with pytest.raises(PolicyError, match="expected a mask of 3 topics, got 2 Boolean values"):
        scores.select(topics=kind([True, False]))


def test_scores_are_a_read_only_copy() -> None:
    values = np.array([[0.1, 0.2], [0.3, 0.4]])
    scores = cf.Scores(values, ("1", "2"), ("a", "b"))
    values[:] = 9
    assert scores.values.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 9


@pytest.mark.parametrize(
    "table",
    [
        {"columns": ["question", "text", "f1"], "data": [["q1", "x", 0.5], ["q2", "y", 1]]},
        {"question": {"0": "q1", "1": "q2"}, "f1": {"0": 0.5, "1": 1}},
    ],
)
@pytest.mark.filterwarnings("ignore:.*columns not used")
def test_tables_of_pandas_and_mlflow(table: dict[str, Any], tmp_path: Path) -> None:
    scores = read(json.dumps(table), tmp_path, "mine.json", measure="f1")
    assert (scores.topics, scores.systems) == (("q1", "q2"), ("mine",))
    assert scores.values.tolist() == [[0.5], [1]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"columns": ["q", "a"], "data": [["q1"]]}, "row 1 of 'data': expected a list of 2 values"),
        (
            {"testCases": [{"name": "c1", "metricsData": [{"name": "F", "score": 1}]}]},
            "nested values: an object with 'testCases', .* write a table with columns topic, sys",
        ),
        (
            [{"question": "q1", "output": {"metric_score": {"f1": 1}}}],
            "nested values: an object with 'output', .* write a table with columns topic, system",
        ),
        (
            {"evalId": "e", "results": {"results": [{"score": 1}]}},  # of promptfoo
            "nested values: an object with 'evalId', 'results', .* write a table with columns",
        ),
    ],
)
def test_nested_values_are_described(table: Any, message: str, tmp_path: Path) -> None:
    refuses(message, read, json.dumps(table), tmp_path, "mine.json")
    (tmp_path / "s.json").write_text(json.dumps(table))
    refuses(message, cf.read_scores, f"a={tmp_path / 's.json'}")


@pytest.mark.parametrize("topics", [("q1", "q2"), ("301", "302")])
def test_topics_where_measures_are_wanted(topics: tuple[str, str], tmp_path: Path) -> None:
    systems = {"bm25": dict.fromkeys(topics, 0.5), "dense": dict.fromkeys(topics, 0.25)}
    text = json.dumps({"test": systems, "dev": systems})
    said = f"'{topics[0]}', '{topics[1]}' look like topics, but are read as measures"
    warns(said, read, text, tmp_path, measure=topics[0])
    assert read(json.dumps(systems), tmp_path).topics == topics


@pytest.mark.parametrize("index", [["q2", "q1"], [301, 7], [1, 2]])
def test_index_of_pandas_in_json(index: list[Any], tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [0.5, 0.7], "b": [0.2, 0.9]}, index=index)
    for orient in ("split", "columns"):
        scores = read(frame.to_json(orient=orient), tmp_path)
        assert (scores.topics, scores.systems) == (tuple(map(str, index)), ("a", "b"))
        assert scores.values.tolist() == frame.to_numpy().tolist()
    # An index that only numbers the rows has no topics, nor has any beside a column of topics.
    plain = read(frame.reset_index(drop=True).to_json(orient="split"), tmp_path)
    assert plain.topics == ("1", "2")
    text = frame.assign(topic=["x", "y"]).to_json(orient="split")
    assert read(text, tmp_path).topics == ("x", "y")
