"""The total orders of Ferrante, Ferro and Pontarollo (2019), their rank functions, and what scales
allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.measures import AP, DCG, RR, P, SetE
from cranfield.scales.admissible import (
    STATISTICS,
    admits,
    admitted_statistics,
    admitted_tests,
    required_scale,
)
from cranfield.scales.orders import (
    find_max_rbto_rank,
    find_max_sbto_rank,
    induced_order,
    is_at_or_below,
    natural_distance,
    rbto,
    rbto_runs,
    sbto,
    sbto_runs,
)
from cranfield.scales.runs import all_runs
from cranfield.significance.registry import TESTS

SIZES = [(1, 1), (2, 1), (7, 1), (1, 4), (2, 2), (4, 2), (3, 3), (3, 5)]


def set_based_below(r: tuple[int, ...], s: tuple[int, ...], grades: int) -> bool:
    """Equation (1), word by word."""
    for k in reversed(range(grades + 1)):
        if Counter(r)[k] != Counter(s)[k]:
            # With k = 0 all other counts are equal, and so these would be.
            return Counter(r)[k] < Counter(s)[k]
    return False


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_ranks_are_those_of_the_definitions(length: int, grades: int) -> None:
    runs = list(product(range(grades + 1), repeat=length))
    sets = sorted({tuple(sorted(run, reverse=True)) for run in runs})
    for i, lower in enumerate(sets):
        assert all(set_based_below(lower, upper, grades) for upper in sets[i + 1 :])
    assert sbto(sets, grades).tolist() == list(range(comb(length + grades, length)))
    assert len(sets) - 1 == find_max_sbto_rank(length, grades)
    # Equation (4) is the order of tuples.
    assert rbto(sorted(runs), grades).tolist() == list(range((grades + 1) ** length))


@pytest.mark.parametrize(("length", "grades"), SIZES)
def test_inverses(length: int, grades: int) -> None:
    sets = np.arange(find_max_sbto_rank(length, grades) + 1)
    assert sbto(sbto_runs(sets, length, grades), grades).tolist() == sets.tolist()
    ranks = np.arange(find_max_rbto_rank(length, grades) + 1)
    assert (rbto_runs(ranks, length, grades) == all_runs(length, grades)).all()


def test_equation_2_needs_descending_grades() -> None:
    """As printed, with ascending grades, two sets of documents have one rank."""

    def printed(run: list[int]) -> int:
        n = len(run)
        return sum(comb(g + n - j, n - j + 1) for j, g in enumerate(sorted(run), 1))

    assert printed([0, 2]) == printed([1, 1]) == 2
    assert sbto([[1, 1], [0, 2]], 2).tolist() == [2, 3]


sized = st.tuples(st.integers(1, 90), st.integers(1, 6))


@given(sized, st.data())
def test_ranks_of_long_runs(size: tuple[int, int], data: st.DataObject) -> None:
    """Also beyond 64 bits: ranks and runs belong to each other, and follow the partial order."""
    length, grades = size
    run = st.lists(st.integers(0, grades), min_size=length, max_size=length)
    lower, upper = data.draw(run), data.draw(run)
    for rank, back, top in (
        (sbto, sbto_runs, find_max_sbto_rank),
        (rbto, rbto_runs, find_max_rbto_rank),
    ):
        low, high = (int(one) for one in rank([lower, upper], grades))
        assert 0 <= low <= top(length, grades)
        again = back([low], length, grades)[0].tolist()
        assert again == (lower if rank is rbto else sorted(lower, reverse=True))
        if is_at_or_below(lower, upper, grades)[0]:
            assert low <= high
        assert (low < high) == (
            (lower < upper)
            if rank is rbto
            else sorted(lower, reverse=True) < sorted(upper, reverse=True)
        )


def test_natural_distance_is_antisymmetric_and_additive() -> None:
    lengths = natural_distance(rbto(all_runs(3)))
    assert (lengths == -lengths.T).all()
    assert (lengths[0][:, None] + lengths == lengths[0][None, :]).all()


def test_long_runs_do_not_overflow() -> None:
    run = [[1] * 100]
    assert rbto(run).tolist() == [2**100 - 1]
    assert sbto([[3] * 100], 3).tolist() == [comb(103, 100) - 1]
    assert sbto([[9] * 100], 9).tolist() == [comb(109, 100) - 1]
    assert rbto(run).dtype == object
    assert rbto([[1, 0]], length=100).tolist() == [2**99]


def test_order_that_a_measure_induces() -> None:
    runs = all_runs(4)
    assert induced_order(P @ 4, runs).tolist() == runs.sum(axis=1).tolist()
    assert induced_order(SetE, runs, judgments=4).tolist() == runs.sum(axis=1).tolist()
    assert induced_order(RR, runs).max() == 4
    # 1000 and 0101 tie: 1 = 1/2 + 2/4.
    assert len(set(induced_order(AP, runs).tolist())) == 15
    assert len(set(induced_order(AP, runs[[8, 5]]).tolist())) == 1
    # Base 10: no discount up to rank 10.
    flat = DCG(discount="max(1,log10(rank))")
    assert induced_order(flat, runs).tolist() == runs.sum(axis=1).tolist()


# --- What scales allow ------------------------------------------------------------------------


NEEDED = {
    Scale.NOMINAL: "mode",
    Scale.ORDINAL: "Median, percentiles, Kendall tau, spearman, sign test, rank_sum, friedman,"
    "Kruskal-Wallis test",
    Scale.INTERVAL: "mean, standard deviation, Pearson, signed-rank, wilcoxon, t, student, anova",
    Scale.RATIO: "geometric mean, harmonic mean, coefficient of variation, gmap",
}


@pytest.mark.parametrize(
    ("what", "scale"),
    [(what.strip(), scale) for scale, names in NEEDED.items() for what in names.split(",")],
)
def test_what_each_needs(what: str, scale: Scale) -> None:
    assert required_scale(what) is scale
    for one in Scale:
        assert admits(one, what) == (one >= scale)
        assert admits(str(one).upper(), what) == (one >= scale)


def test_tests_say_themselves_what_they_need() -> None:
    for name, test in TESTS.items():
        assert required_scale(name) is test.info.scale
    assert set(admitted_tests(Scale.INTERVAL)) == set(TESTS) - {"glm"}
    assert set(admitted_tests(Scale.RATIO)) == set(TESTS)
    assert admitted_tests("nominal") == []
    assert admitted_statistics("ratio") == list(STATISTICS)


def test_no_name_stands_for_two_things() -> None:
    names = [name for one in STATISTICS.values() for name in (one.name, *one.aliases)]
    names += [name for test in TESTS.values() for name in (test.info.name, *test.info.aliases)]
    assert len(names) == len(set(names))


def test_statistics_are_invariant_exactly_as_declared() -> None:
    """Comparing two samples by a statistic survives the transformations of its scale."""
    rng = np.random.default_rng(7)
    statistics: dict[str, Callable[..., Any]] = {
        "median": np.median,
        "mean": np.mean,
        "geometric-mean": lambda x: np.exp(np.mean(np.log(x))),
    }
    transformations: dict[Scale, Callable[..., Any]] = {
        Scale.ORDINAL: lambda x: np.exp(x),
        Scale.INTERVAL: lambda x: 3 * x + 7,
        Scale.RATIO: lambda x: 3 * x,
    }
    samples = rng.uniform(0.1, 4, size=(400, 2, 5))
    for name, statistic in statistics.items():
        for scale, change in transformations.items():
            same = all(
                (statistic(a) > statistic(b)) == (statistic(change(a)) > statistic(change(b)))
                for a, b in samples
            )
            assert same == admits(scale, name), (name, scale)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("meen", "did you mean .*mean"),
        ("t test of teas", "unknown statistic or test"),
        ("@@@@", "expected one of"),
    ],
)
def test_unknown_names(what: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        required_scale(what)
    with pytest.raises(PolicyError, match="nominal, ordinal"):
        admits("absolute", what)


def test_natural_distance_of_small_types() -> None:
    """Differences of small, unsigned and huge whole numbers do not go round."""
    cases: list[tuple[Any, int]] = [
        (np.array([0, 2], dtype=np.uint8), 2),
        (np.array([-100, 100], dtype=np.int8), 200),
        ([2**63 - 1, -(2**63)], -(2**64) + 1),
        ([False, True], 1),
    ]
    for ranks, wanted in cases:
        assert natural_distance(ranks).tolist() == [[0, wanted], [-wanted, 0]]
