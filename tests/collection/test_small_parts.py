"""Small parts of collections and sources: what they make of a few inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.collection.files.layouts import recognised
from cranfield.collection.judged.judged_runs import by_class, by_intent
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.judged.rows import places, ratio, scan
from cranfield.collection.keys import TopicCoder
from cranfield.collection.policies import policies
from cranfield.collection.qrels import topic_order
from cranfield.collection.shards import siphash
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.schemas import spelt
from cranfield.sources.values import absent, finite, integer_in, is_number


def test_lines_that_are_certainly_of_ntcir() -> None:
    assert recognised("1 d7 L2", "qrels")
    assert not recognised("1 0 d7 2", "qrels")
    assert recognised("1;0;some text;1;2.5;mine", "run")
    assert not recognised("1 0 a;b;c 1 2.5 m", "run")


def test_runs_by_intent() -> None:
    rows = [("q", "a", 1, "books"), ("q", "b", 2, "films"), ("q", "a", 0, "films")]
    qrels = [dict(zip(("topic", "doc", "grade", "subtopic"), row, strict=True)) for row in rows]
    [view] = by_intent(cf.judge({"q": {"a": 2, "b": 1}}, qrels), "mine")
    assert view.judged.topics == ("q/books", "q/films")
    assert view.judged.documents.grade.tolist() == [1, 0, 0, 2]
    assert view.probability.tolist() == [0.5, 0.5]


def test_runs_by_class() -> None:
    qrels = cf.read_qrels({"q": {"a": 3, "b": 1, "c": 2}})
    qrels = replace(qrels, columns={"class": np.array(["1", "1", "2"])})
    view = by_class(cf.judge({"q": {"b": 3, "a": 2, "c": 1}}, qrels), "mine")
    assert view.documents.grade.tolist() == [1, 0, 2]
    assert view.judgments.grade.tolist() == [3, 2]


def test_policies_start_from_a_preset() -> None:
    chosen = policies("trec_eval", topics="qrels")
    assert (chosen.ties, chosen.topics, chosen.negative) == ("trec", "qrels", "unjudged")


def test_ties_are_settled_by_document() -> None:
    run = cf.read_run({"q": {"a": 1.0, "b": 1.0, "c": 2.0}})
    assert [run.docs[int(row)] for row in order_of(run, "trec").rows] == ["c", "b", "a"]


def test_sums_over_rows() -> None:
    assert places(np.array([0, 0, 3, 3, 3])).tolist() == [1, 2, 1, 2, 3]
    assert scan(np.array([1.0, 2.0, 5.0]), np.array([1, 2, 1]), np.add).tolist() == [1, 3, 5]
    assert ratio(np.array([1.0, 1.0]), np.array([2, 0])).tolist() == [0.5, 0]


def test_topics_in_order() -> None:
    coder = TopicCoder()
    assert coder.codes_of(pl.Series(["b", "a"])).tolist() == [0, 1]
    assert coder.codes_of(pl.Series(["a", "c"])).tolist() == [1, 2]
    assert coder.names == ["b", "a", "c"]
    assert topic_order(["10", "9"]) == ["9", "10"]
    assert topic_order(["b10", "b9"]) == ["b10", "b9"]


def test_hashes_stay_what_they_are() -> None:
    hashes = siphash(pl.Series(["", "LA010189-0001"]), (0, 0)).tolist()
    assert hashes == [0x1E924B9D737700D7, 0x143C37C6AD7EB56]


def test_sources_and_lines() -> None:
    source = Source("runs/bm25.run.xz")
    assert (source.stem, source.suffix) == ("bm25", ".run")
    lines = LineMap()
    lines.add(2, first_line=1)
    lines.add(2, first_line=3, numbers=np.array([0, 2]))
    assert [lines.line(row) for row in range(4)] == [1, 2, 3, 5]


def test_cells() -> None:
    assert [spelt(name) for name in ("Topic ID", "query_id")] == ["topicid", "queryid"]
    assert [is_number(text) for text in ("-1.5e3", "nan", "1_000", "٣")] == [True, *[False] * 3]
    assert [integer_in(text) for text in ("-007", "0.5", "9999999999")] == [-7, None, None]
    assert [finite(cell) for cell in (" 1e2 ", "1_0", float("inf"))] == [100, None, None]
    assert [absent(cell) for cell in (None, " ", float("nan"), "0")] == [True, True, True, False]
