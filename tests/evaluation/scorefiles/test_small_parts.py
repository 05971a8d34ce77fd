"""Cells and names of score files, labels, and tables of several measures."""

from __future__ import annotations

import numpy as np

from cranfield.evaluation.scorefiles.cells import (
    SCORES,
    chosen,
    decimal_comma,
    label_in,
    measure_of,
)
from cranfield.evaluation.scorefiles.forms import looks_like_lines
from cranfield.evaluation.scorefiles.reading import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import by_system, long_table, places_of
from cranfield.texts.gold import text_length
from cranfield.texts.summaries import alphanumeric


def test_what_cells_hold() -> None:
    assert [decimal_comma(cell) for cell in ("0,5", "0.5", "5")] == [True, False, False]
    assert label_in(401.0, "topic") == "401"
    assert label_in(" q1 ", "topic") == "q1"
    names = ("Topic ID", "QID", "metric", "bm25")
    assert [SCORES.column_of(name) for name in names] == ["topic", "topic", "measure", None]


def test_names_of_measures() -> None:
    assert str(measure_of("map")) == "AP"
    assert str(measure_of("ndcg_cut_10")) == "nDCG@10"
    assert measure_of("q1") is None
    assert chosen(["map", "ndcg_cut_10"], "nDCG@10") == "ndcg_cut_10"


def test_lines_are_told_from_tables() -> None:
    assert looks_like_lines("map\t1\t0.5")
    assert not looks_like_lines("topic\tbm25\tdense")


def test_labels_and_tables() -> None:
    assert places_of(["c", "a"], "abc").tolist() == [2, 0]
    assert places_of(np.array([False, True, True]), "abc").tolist() == [1, 2]
    scores = Scores(np.array([[0.5, 1.0], [0.0, 0.5]]), ("q1", "q2"), ("a", "b"))
    assert by_system({"AP": scores}).rows() == [("a", 0.25), ("b", 0.75)]
    assert long_table({"AP": scores}).rows()[:2] == [("AP", "q1", "a", 0.5), ("AP", "q2", "a", 0)]


def test_text_in_characters_and_words() -> None:
    assert text_length("born in 1942 ") == 10
    assert alphanumeric("The cat's 2 mats.") == ["the", "cat", "s", "2", "mats"]


def test_scores_by_measure() -> None:
    rows = {"topic": ["1", "2"], "system": ["a", "a"], "AP": [0.5, 0.25], "RR": [1, 0.5]}
    means = {name: one.mean().tolist() for name, one in read_scores_by_measure(rows).items()}
    assert means == {"AP": [0.375], "RR": [0.75]}
