"""Innate orders against the partial order of runs, and against the measures that keep to it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.meta import innate_orders
from cranfield.scales.forms.form import describe_beyond_grades
from cranfield.scales.orders import is_at_or_below
from cranfield.scales.runs import as_measure

TOPICS, SYSTEMS, DEPTH = 30, 5, 6


@pytest.fixture(scope="module")
def grades() -> np.ndarray:
    """Grades by rank of short rankings; some have fewer documents than others."""
    return np.random.default_rng(7).choice(3, (TOPICS, SYSTEMS, DEPTH), p=[0.6, 0.25, 0.15])


@pytest.fixture(scope="module")
def judged(grades: np.ndarray) -> cf.JudgedRuns:
    """Documents are named by grade, so that each topic has as many of each as there are ranks."""
    qrels = {f"t{t}": {f"{g}-{i}": g for g in (0, 1, 2) for i in range(9)} for t in range(TOPICS)}
    runs = {
        f"s{s}": {
            f"t{t}": {f"{g}-{rank}": -rank for rank, g in enumerate(grades[t, s].tolist())}
            for t in range(TOPICS)
        }
        for s in range(SYSTEMS)
    }
    return cf.judge(runs, qrels)


@pytest.mark.parametrize("depth", [1, 4, DEPTH, DEPTH + 3])
def test_counts_are_those_of_the_partial_order(
    grades: np.ndarray, judged: cf.JudgedRuns, depth: int
) -> None:
    found = innate_orders(judged, depth)
    place = [int(topic[1:]) for topic in judged.topics]
    for row, (i, j) in zip(found.pairs.to_dicts(), combinations(range(SYSTEMS), 2), strict=True):
        a, b = (grades[place, s, :depth] for s in (i, j))
        below, above = is_at_or_below(a, b, 2), is_at_or_below(b, a, 2)
        assert (row["first"], row["second"]) == (f"s{i}", f"s{j}")
        assert row["better"] == (above & ~below).sum()
        assert row["worse"] == (below & ~above).sum()
        assert row["same"] == (a == b).all(axis=1).sum()
        assert row["open"] == (~below & ~above).sum()
        if row["better"] + row["worse"]:
            p = stats.binomtest(row["better"], row["better"] + row["worse"]).pvalue
            assert row["p"] == pytest.approx(p)
    assert found.agreement.is_empty()


def test_no_measure_that_rewards_both_steps_goes_against_it(judged: cf.JudgedRuns) -> None:
    ranked = REGISTRY.select(kind=KINDS[0])
    names = [name for name, kind in ranked.items() if kind.info.is_monotone and kind.takes_cutoff()]
    measures = [
        one @ DEPTH for name in names if not describe_beyond_grades(one := as_measure(name, DEPTH))
    ]
    found = innate_orders(judged, DEPTH, measures).agreement
    counts = {name: found[name].to_numpy() for name in found.columns[1:]}
    assert len(found) > 15
    assert (counts["against"] == 0).all()
    assert (counts["agrees"] + counts["ties"] == counts["ordered"]).all()
    # No ranking here has all relevant documents among its first ones, so that all are tied.
    assert (counts["agrees"] > 0)[found["measure"].to_numpy() != f"Complete@{DEPTH}"].all()
    assert (counts["decides"] <= counts["open"]).all()


def test_a_measure_that_is_better_when_low_is_turned_round(judged: cf.JudgedRuns) -> None:
    one, other = innate_orders(judged, DEPTH, [f"SetF@{DEPTH}", f"SetE@{DEPTH}"]).agreement.rows()
    assert one[1:] == other[1:]


def test_what_is_said(judged: cf.JudgedRuns) -> None:
    found = innate_orders(judged, 2, "P@2")
    counts = [found.pairs[name].sum() for name in ("better", "worse", "same", "open")]
    assert sum(counts) == TOPICS * 10
    assert f"of {TOPICS * 10} pairs of rankings" in found.heading()[0]
    assert [table.head[0] for table in found.tables()] == ["first", "measure"]
    assert set(found.frames()) == set(found.columns)


def test_no_measures_may_be_an_array(judged: cf.JudgedRuns) -> None:
    assert innate_orders(judged, 2, np.array([], "U")).agreement.is_empty()
    found = innate_orders(judged, 2, np.array(["P@2", "AP@2"]))
    assert found.agreement["measure"].to_list() == ["P@2", "AP@2"]
