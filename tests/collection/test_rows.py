"""Rows of judged documents: what is summed, looked up and kept, against loops over the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cranfield.collection.judged.rows import Judgments, Rows

SHAPE = (3, 2)

tables = st.lists(
    st.dictionaries(st.integers(1, 20), st.integers(-1, 3), max_size=12), min_size=6, max_size=6
)


def rows_of(table: list[dict[int, int]]) -> Rows:
    """Rows of six cells, some of which have none; gains are halves of the grades."""
    flat = [(c, rank, one[rank]) for c, one in enumerate(table) for rank in sorted(one)]
    cell, rank, grade = np.array(flat, dtype=np.int64).reshape(-1, 3).T
    return Rows(cell, rank, grade, SHAPE, grade / 2, np.arange(cell.size))


def by_cell(rows: Rows, values: NDArray[Any]) -> list[list[float]]:
    return [values[rows.cell == cell].tolist() for cell in range(6)]


def of_cells(table: NDArray[Any]) -> list[float]:
    """Values in order of cell, from (topics, systems)."""
    return [float(table[cell % 3, cell // 3]) for cell in range(6)]


@settings(max_examples=30)
@given(tables)
def test_what_stands_above_in_a_cell(table: list[dict[int, int]]) -> None:
    rows = rows_of(table)
    lists = by_cell(rows, rows.gains)
    assert by_cell(rows, rows.row_numbers) == [[*range(1, len(one) + 1)] for one in lists]
    assert by_cell(rows, rows.cumulated) == [np.cumsum(one).tolist() for one in lists]
    counted = rows.cumulate_counts(rows.grade > 0)
    assert by_cell(rows, counted) == [np.cumsum(np.array(one) > 0).tolist() for one in lists]
    assert by_cell(rows, rows.get_previous(rows.gains, 7.0)) == [
        [7.0, *one][: len(one)] for one in lists
    ]
    assert by_cell(rows, rows.get_next(rows.gains, 7.0)) == [
        [*one[1:], 7.0][: len(one)] for one in lists
    ]
    assert of_cells(rows.get_firsts(rows.gains, 7.0)) == [one[0] if one else 7.0 for one in lists]
    assert of_cells(rows.get_lasts(rows.gains, 7.0)) == [one[-1] if one else 7.0 for one in lists]
    assert of_cells(rows.find_maxima(rows.gains)) == [max([0.0, *one]) for one in lists]
    assert of_cells(rows.n_rows) == [len(one) for one in lists]
    per_cell = np.arange(6.0).reshape(2, 3).T
    assert rows.at(per_cell).tolist() == rows.cell.tolist()
    assert rows.at(np.arange(3)[:, None]).tolist() == rows.topic.tolist()


@settings(max_examples=30)
@given(tables, st.sampled_from([0.1, 1.0, 2.0**52]))
def test_running_sums_are_exact_or_in_order(table: list[dict[int, int]], unit: float) -> None:
    rows = rows_of(table)
    values = rows.grade * unit
    for got, one in zip(by_cell(rows, rows.cumulate(values)), by_cell(rows, values), strict=True):
        exact = [math.fsum(one[: k + 1]) for k in range(len(one))]
        assert got == pytest.approx(exact, rel=1e-14, abs=1e-15 * unit)


@settings(max_examples=30)
@given(tables, st.sampled_from([[1.0, 1.0, 1.0, 0.5, 0.0], [0.9, 0.5, 0.25, 0.7, 1.0]]))
def test_running_products(table: list[dict[int, int]], factors: list[float]) -> None:
    rows = rows_of(table)
    values = np.array(factors)[rows.grade + 1]
    for got, one in zip(
        by_cell(rows, rows.cumulate_products(values)), by_cell(rows, values), strict=True
    ):
        assert got == pytest.approx(np.cumprod(one).tolist(), rel=1e-14)


@settings(max_examples=30)
@given(tables)
def test_a_cell_does_not_depend_on_others(table: list[dict[int, int]]) -> None:
    whole = rows_of(table)
    alone = rows_of([one if c == 5 else {} for c, one in enumerate(table)])
    for how in ("cumulate", "cumulate_products"):
        for values in (np.array([1.0, 1.0, 0.3, 0.7, 0.9]), np.array([1.0, 0.0, 2.0, 3.0, 1.0])):
            got = getattr(whole, how)(values[whole.grade + 1])[whole.cell == 5]
            assert got.tolist() == getattr(alone, how)(values[alone.grade + 1]).tolist()


@settings(max_examples=30)
@given(tables)
def test_choosing_keeps_the_judgment(table: list[dict[int, int]]) -> None:
    rows = rows_of(table)
    chosen = rows.where(rows.grade > 0)
    assert chosen.judgment.tolist() == np.flatnonzero(rows.grade > 0).tolist()
    assert chosen.gains.tolist() == rows.gains[rows.grade > 0].tolist()
    assert rows.where(rows.grade > -5) is rows
    other = chosen.with_gains(np.ones(chosen.cell.size))
    assert other.cumulated.tolist() == chosen.row_numbers.tolist() == other.row_numbers.tolist()
    assert other.judgment.tolist() == chosen.judgment.tolist()


def test_what_is_kept_cannot_be_changed() -> None:
    rows = rows_of([{1: 1, 3: 2}, {}, {2: 1}, {}, {}, {}])
    judgments = Judgments(1, np.array([0, 0]), np.array([2, 1]), 0)
    for kept in (rows.n_rows, rows.row_numbers, rows.cumulated, judgments.count(1)):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 5


def test_a_value_by_rank() -> None:
    rows = rows_of([{1: 1, 3: 2}, {}, {20: 1}, {}, {}, {}])
    assert rows.map_ranks(np.sqrt).tolist() == np.sqrt([1, 3, 20]).tolist()
    assert rows_of([{}] * 6).map_ranks(np.sqrt).tolist() == []


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 3)), max_size=20),
    st.lists(st.integers(-2, 3), min_size=5, max_size=5),
)
def test_the_ideal_ranking(judged: list[tuple[int, int]], worth: list[int]) -> None:
    ordered = sorted(judged, key=lambda one: (one[0], -one[1]))
    topic, grade = np.array(ordered, dtype=np.int64).reshape(-1, 2).T
    best = Judgments(3, topic, grade, 0).make_ideal_ranking(np.array(worth, dtype=float)[grade + 1])
    for number in range(3):
        gains = [worth[g + 1] for t, g in ordered if t == number and worth[g + 1] > 0]
        assert best.gains[best.topic == number].tolist() == sorted(gains, reverse=True)
        assert best.rank[best.topic == number].tolist() == [*range(1, len(gains) + 1)]
