"""Which column is which: names in any spelling, the index of a frame, and what is left open."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError
from tests.evaluation.scorefiles.files import read


@pytest.mark.parametrize(
    "name",
    [
        *("Topic ID", "topic_id", "TopicId", "TOPIC-ID", "topic.id", "Topic", "Topic No"),
        *("qid", "QID", "query", "Query ID", "query_id", "queryId", "q", "Q"),
    ],
)
def test_topics_in_any_spelling(name: str, tmp_path: Path) -> None:
    wide = read(f"{name},a,b\n401,.5,1\n402,0,.25\n", tmp_path)
    assert (wide.topics, wide.systems) == (("401", "402"), ("a", "b"))
    assert wide.values.tolist() == [[0.5, 1], [0, 0.25]]


@pytest.mark.parametrize(
    "system", ["system", "Run", "run_id", "Run Tag", "runtag", "RunID", "name"]
)
@pytest.mark.parametrize("measure", ["measure", "Metric", "metric-name"])
@pytest.mark.parametrize("score", ["score", "Value", "metric_value"])
def test_long_tables_in_any_spelling(system: str, measure: str, score: str, tmp_path: Path) -> None:
    text = f"Shard ID,{system},{measure},Query-Id,{score}\nx,1,AP,7,.5\ny,1,AP,7,.25\n"
    scores = read(text, tmp_path)
    assert (scores.measure, scores.topics, scores.systems) == ("AP", ("7",), ("1",))
    assert scores.values.tolist() == [[[0.5, 0.25]]]


def test_wide_tables_by_measure_and_shard(tmp_path: Path) -> None:
    text = "metric,topic,shard,a,b\nAP,1,x,.5,1\nAP,1,y,0,.25\nRR,1,x,1,1\n"
    scores = read(text, tmp_path, measure="AP")
    assert scores.values.tolist() == [[[0.5, 0], [1, 0.25]]]


def test_columns_of_measures(tmp_path: Path) -> None:
    scores = read("topic,system,AP,RR\n1,a,.5,1\n1,b,.25,.5\n", tmp_path, measure="RR")
    assert (scores.systems, scores.values.tolist()) == (("a", "b"), [[1, 0.5]])
    one = read("topic,map,recip_rank\n1,.5,1\n2,.25,.5\n", tmp_path, "bm25.csv", measure="RR")
    assert (one.systems, one.values.tolist()) == (("bm25",), [[1], [0.5]])
    one = read("qid,score\n1,.5\n2,.25\n", tmp_path, "bm25.csv")
    assert (one.systems, one.values.tolist()) == (("bm25",), [[0.5], [0.25]])


def test_systems_called_like_columns(tmp_path: Path) -> None:
    assert read("topic,run,other\n1,.5,1\n", tmp_path).systems == ("run", "other")
    assert read("p,q\n.5,1\n.25,0\n", tmp_path).systems == ("p", "q")
    assert read("q,p\n.5,1\n.25,0\n", tmp_path).systems == ("q", "p")


def test_the_row_all_is_no_topic(tmp_path: Path) -> None:
    assert read("topic,a,b\nq1,.5,1\nall,.5,1\n", tmp_path).topics == ("q1",)
    long = "topic,system,score\nq1,a,.5\nall,a,.5\n"
    assert read(long, tmp_path).topics == ("q1",)
    assert cf.read_scores({"a": {"q1": 0.5, "all": 0.5}}).topics == ("q1",)
    with pytest.raises(InputError, match=r"s\.csv: has no scores by topic"):
        read("topic,a\nall,.5\n", tmp_path)


def test_the_index_of_a_frame(tmp_path: Path) -> None:
    plain = pd.DataFrame({"a": [0.5, 1.0], "b": [0.0, 0.25]})
    assert cf.read_scores(plain).topics == ("1", "2")
    named = plain.set_axis(["q1", "q2"])
    for frame in (named, named.rename_axis("qid"), named.rename_axis("question")):
        scores = cf.read_scores(frame)
        assert (scores.topics, scores.systems) == (("q1", "q2"), ("a", "b"))
        assert scores.values.tolist() == plain.values.tolist()
        frame.to_csv(tmp_path / "s.csv")
        assert cf.read_scores(tmp_path / "s.csv").topics == ("q1", "q2")
        frame.to_parquet(tmp_path / "s.parquet")
        again = cf.read_scores(tmp_path / "s.parquet")
        assert (again.topics, again.systems) == (("q1", "q2"), ("a", "b"))
    numbers = plain.set_axis([401, 402]).rename_axis("question")
    numbers.to_parquet(tmp_path / "s.parquet")
    assert cf.read_scores(tmp_path / "s.parquet").topics == ("401", "402")
    plain.to_parquet(tmp_path / "s.parquet")
    assert cf.read_scores(tmp_path / "s.parquet").topics == ("1", "2")
    assert cf.read_scores(plain.set_axis([401, 402])).topics == ("401", "402")
    assert cf.read_scores(plain.rename_axis("qid")).topics == ("0", "1")
    # Numbers of rows are no scores, not even those of a part of a frame.
    part = pd.DataFrame({"topic": ["x", "y", "z"], "a": [0.0, 0.5, 1.0]}).iloc[1:]
    assert cf.read_scores(part).systems == ("a",)
    part.to_csv(tmp_path / "s.csv")
    assert cf.read_scores(tmp_path / "s.csv").systems == ("a",)


def test_an_index_of_levels() -> None:
    rows = {"topic": ["1", "1"], "system": ["a", "b"], "score": [0.5, 1.0]}
    long = pd.DataFrame(rows).set_index(["topic", "system"])
    assert cf.read_scores(long).values.tolist() == [[0.5, 1]]
    with pytest.raises(InputError, match="unknown index level 'None'"):
        cf.read_scores(long.rename_axis([None, None]))
    both = pd.DataFrame([[0.5, 1.0]], columns=pd.MultiIndex.from_tuples([("AP", "a"), ("RR", "a")]))
    with pytest.raises(InputError, match="one level of column names"):
        cf.read_scores(both)


def test_missing_values_of_frames() -> None:
    frame = pd.DataFrame({"topic": ["1", "2"], "a": pd.array([1, None], dtype="Int64")})
    assert str(cf.read_scores(frame).values.tolist()) == "[[1.0], [nan]]"
    with pytest.raises(InputError, match="a table:2: has no topic"):
        cf.read_scores(pl.DataFrame({"topic": ["1", None], "a": [1.0, 2.0]}))


def test_unread_columns_of_long_tables() -> None:
    rows = {"topic": ["1", "1"], "system": ["a", "b"], "score": [0.5, 1.0]}
    with pytest.warns(cf.CranfieldWarning, match="a table: columns not used: 'fold', 'p_value'$"):
        cf.read_scores(pl.DataFrame({**rows, "fold": [1, 2], "p_value": [0.1, 0.2]}))
    with pytest.raises(InputError, match="column 'status' .'ok', 'failed'. may be the status"):
        cf.read_scores(pl.DataFrame({**rows, "status": ["ok", "failed"]}))
    assert cf.read_scores(pl.DataFrame({**rows, "fold": [1, 1]})).systems == ("a", "b")


@pytest.mark.parametrize("name", ["fold", "bm25_rank", "P-Value", "a_std", "mean", "seed"])
def test_statistics_are_no_systems(name: str) -> None:
    table = {"topic": ["1", "2"], "a": [0.5, 1.0], name: [1, 2]}
    with pytest.warns(cf.CranfieldWarning, match=f"read as systems: '{name}'"):
        assert cf.read_scores(pl.DataFrame(table)).systems == ("a", name)
    # Systems may be called like that.
    systems = {"topic": ["1", "2"], "lambda_rank": [0.5, 0.75], "stdin": [0.5, 1], "folded": [1, 2]}
    assert len(cf.read_scores(pl.DataFrame(systems)).systems) == 3


def test_topics_in_columns() -> None:
    frame = pd.DataFrame({"q1": [0.5, 1.0], "q2": [0.25, 0.5]}, index=["a", "b"])
    with pytest.raises(InputError, match="expected topics in rows, got them in columns .'topic'"):
        cf.read_scores(frame.rename_axis(columns="topic"))
    right = cf.read_scores(frame.rename_axis(columns="topic").T)
    assert (right.topics, right.systems) == (("q1", "q2"), ("a", "b"))
