"""Small parts of collections and sources: what they make of a few inputs."""

from __future__ import annotations

import numpy as np

from cranfield.collection.judged.rows import number_rows, ratio, scan
from cranfield.collection.qrels import topic_order
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.schemas import spelt
from cranfield.sources.values import absent, finite, integer_in, is_number


def test_sums_over_rows() -> None:
    assert number_rows(np.array([0, 0, 3, 3, 3])).tolist() == [1, 2, 1, 2, 3]
    assert scan(np.array([1.0, 2.0, 5.0]), np.array([1, 2, 1]), np.add).tolist() == [1, 3, 5]
    assert ratio(np.array([1.0, 1.0]), np.array([2, 0])).tolist() == [0.5, 0]


def test_topics_in_order() -> None:
    assert topic_order(["10", "9"]) == ["9", "10"]
    assert topic_order(["b10", "b9"]) == ["b10", "b9"]


def test_sources_and_lines() -> None:
    source = Source("runs/bm25.run.xz")
    assert (source.stem, source.suffix) == ("bm25", ".run")
    lines = LineMap()
    lines.add(2, first_line=1)
    lines.add(2, first_line=3, numbers=np.array([0, 2]))
    assert [*lines] == [1, 2, 3, 5]


def test_cells() -> None:
    assert [spelt(name) for name in ("Topic ID", "query_id")] == ["topicid", "queryid"]
    assert [is_number(text) for text in ("-1.5e3", "nan", "1_000", "٣")] == [True, *[False] * 3]
    assert [integer_in(text) for text in ("-007", "0.5", "9999999999")] == [-7, None, None]
    assert [finite(cell) for cell in (" 1e2 ", "1_0", float("inf"))] == [100, None, None]
    assert [absent(cell) for cell in (None, " ", float("nan"), "0")] == [True, True, True, False]
