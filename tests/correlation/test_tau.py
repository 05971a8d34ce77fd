"""Rank correlations against SciPy, ircor, the definitions, and all ways to break ties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, groupby, permutations, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.correlation import kendall_tau, tau, tau_ap

Scored = list[tuple[int, int]]
FRAME = pl.DataFrame({"bm25": [0.3, 0.1], "dense": [0.5, 0.2], "splade": [0.4, 0.3]})
LABELLED = pd.Series({"bm25": 0.3, "dense": 0.5, "splade": 0.4})


@pytest.mark.parametrize("values", [2, 5, 1000])
def test_kendall_tau_is_that_of_scipy(values: int) -> None:
    rng = np.random.default_rng(values)
    x, y = rng.integers(0, values, (2, 30, 12)) / 7
    found = kendall_tau(x, y)
    expected = [kendalltau(a, b).statistic for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_kendall_tau_without_an_answer() -> None:
    assert np.isnan(kendall_tau([1, 1, 1], [1, 2, 3]))
    assert np.isnan(kendall_tau([1, np.nan, 1], [1, 2, 3]))
    assert np.isnan(kendall_tau([1], [2])) and np.isnan(kendall_tau([], [], variant="a"))
    assert kendall_tau([1, 2, 3], [3, 2, 1]) == -1.0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9))
@settings(max_examples=25)
def test_tau_a_is_its_definition(things: list[tuple[int, int]]) -> None:
    x, y = zip(*things, strict=True)
    pairs = list(combinations(things, 2))
    products = [(one[0] - two[0]) * (one[1] - two[1]) for one, two in pairs]
    expected = (sum(p > 0 for p in products) - sum(p < 0 for p in products)) / len(pairs)
    assert kendall_tau(x, y, variant="a") == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("levels", [1, 3, 10**6])
def test_sorting_is_comparing_all_pairs(
    variant: str, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.random.default_rng(levels).integers(0, levels, (2, 4, 300))
    x[2] = x[1, 0]
    compared = kendall_tau(x, y, variant=variant)
    monkeypatch.setattr(tau, "MAX_PAIRWISE_ITEMS", 10)
    np.testing.assert_allclose(kendall_tau(x, y, variant=variant), compared, atol=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(1).integers(0, 5, (2, 7, 40))
    whole = kendall_tau(x, y)
    for size in (1, 100, 5000):
        monkeypatch.setattr("cranfield.correlation.tau.BLOCK_SIGNS", size)
        np.testing.assert_array_equal(kendall_tau(x, y), whole)


def test_what_differs_by_rounding_is_left_out() -> None:
    x, y = [0.0, 1e-17, 1.0, 2.0], [2.0, 1.0, 3.0, 4.0]
    assert kendall_tau(x, y) == pytest.approx(4 / 6)
    assert kendall_tau(x, y, rounding=1e-9) == 1.0
    assert kendall_tau(x, y, rounding=1e-9, variant="a") == 1.0


def test_sets_and_infinite_values() -> None:
    assert kendall_tau([1, 2, 3], [[1, 2, 3], [3, 2, 1]]).tolist() == [1.0, -1.0]
    assert kendall_tau([-np.inf, 0, np.inf, np.inf], [1, 2, 3, 3]) == 1.0


def test_labelled_values_are_paired_by_label() -> None:
    # The same scores in another order agree in all three pairs.
    x = LABELLED
    for y in (x.sort_values(), x[::-1]):
        assert kendall_tau(x, y) == tau_ap(x, y) == 1.0
        assert kendall_tau(y.to_frame().T, x.to_frame().T).tolist() == [1.0]
    assert kendall_tau(FRAME, FRAME.select(sorted(FRAME.columns)[::-1])).tolist() == [1.0, 1.0]
    assert kendall_tau(x.sort_values(), FRAME.to_pandas()).tolist() == pytest.approx([1.0, 1 / 3])
    numbered = x.reset_index(drop=True)
    assert kendall_tau(numbered, numbered[::-1]) == kendall_tau(numbered.sort_values(), numbered)
    assert kendall_tau(numbered, numbered[::-1]) == 1.0
    # By position: lists, a default index, and equal labels. Of three pairs one agrees.
    for y in ([0.5, 0.4, 0.3], pd.Series([0.5, 0.4, 0.3]), pd.Series([0.5, 0.4, 0.3], x.index)):
        assert kendall_tau(x, y) == pytest.approx(-1 / 3)
    assert kendall_tau(x, x.rename({"bm25": "BM25"}).to_numpy()) == 1.0


AB, AC = (pd.Series([1.0, 2.0], [*labels]) for labels in ("ab", "ac"))
NAMED = pd.DataFrame({"AP": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("call", "x", "y", "options", "message"),
    [
        (kendall_tau, AB, AC, {}, "different labels, such as 'b'; pass x.to_numpy()"),
        (kendall_tau, pd.Series([1.0, 2.0], ["a", "a"]), AB, {}, "labels, such as 'a'"),
        (kendall_tau, FRAME, FRAME.rename({"bm25": "BM"}), {}, "labels, such as 'bm25'"),
        (tau_ap, NAMED, NAMED, {}, r"one column; pass the column itself.*frame\['AP'\]"),
        (kendall_tau, [1, 2], [1, 2, 3], {}, "same number of items, got 2 and 3"),
        (tau_ap, [1, 2], [1], {}, "same number of items, got 2 and 1"),
        (kendall_tau, np.ones((2, 4)), np.ones((3, 4)), {}, "number of sets .* got 2 and 3"),
        *(
            (kendall_tau, bad, [1, 2], {}, "values must be numbers, of shape")
            for bad in ("abc", ["a", "b"], None, [[1, 2], [3]], 5, np.ones((2, 2, 2)))
        ),
        (kendall_tau, [1, 2], [1, 2], {"variant": "c"}, "unknown variant 'c'; .* one of: b, a"),
        (tau_ap, [1, 2], [1, 2], {"ties": "w"}, "unknown ties 'w'; expected one of: b, a"),
        *(
            (kendall_tau, [1, 2], [1, 2], {"rounding": bad}, f"rounding must be a {noun} >= 0")
            for bad, noun in ((-1, "number"), (np.nan, "finite number"), ("x", "number"))
        ),
    ],
)
def test_refusals(
    call: Callable[..., Any], x: Any, y: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PolicyError if options else CranfieldError, match=message):
        call(x, y, **options)


# Of the tests of ircor 1.0 (Urbano): a truth, a ranking, and both with ties; tau AP, its variant a
# with ties in the ranking, symmetric tau AP, and its variant b with ties in both.
IRCOR: Any = [
    (
        [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
        [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
        [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
        (0.2504, 0.2692, 0.2880, 0.2970),
    ),
    (
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
        [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
        [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
        (-0.6971, -0.5558, -0.6680, -0.7047),
    ),
]


@pytest.mark.parametrize(("truth", "y", "truth_tied", "y_tied", "expected"), IRCOR)
def test_tau_ap_is_that_of_ircor(
    truth: Any, y: Any, truth_tied: Any, y_tied: Any, expected: Any
) -> None:
    found = (
        tau_ap(y, truth),
        tau_ap(y_tied, truth, ties="a"),
        tau_ap(y, truth, symmetric=True),
        tau_ap(y_tied, truth_tied, symmetric=True),
    )
    assert found == pytest.approx(expected, abs=5e-5)


def _ranked(x: list[int], truth: list[int]) -> float:
    """Equation 52, for things in order of rank."""
    m = len(x)
    by_rank = sorted(range(m), key=lambda i: -x[i])
    correct = (
        sum(truth[by_rank[above]] > truth[by_rank[r - 1]] for above in range(r - 1))
        for r in range(2, m + 1)
    )
    return 2 / (m - 1) * sum(c / (r - 1) for r, c in enumerate(correct, 2)) - 1


def _broken(scores: list[int]) -> Iterator[list[int]]:
    """All ways to break the ties."""
    groups = [
        [*group]
        for _, group in groupby(
            sorted(range(len(scores)), key=scores.__getitem__), scores.__getitem__
        )
    ]
    for ways in product(*(permutations(group) for group in groups)):
        order = [thing for way in ways for thing in way]
        yield [order.index(thing) for thing in range(len(scores))]


def _tied(x: list[int], truth: list[int]) -> float:
    """Urbano and Marrero's one way, thing by thing."""
    total, counted = 0.0, 0
    for i in range(len(x)):
        above = [j for j in range(len(x)) if x[j] > x[i]]
        if above:
            counted += 1
            total += sum(truth[j] > truth[i] for j in above) / len(above)
    return 2 * total / counted - 1


@given(st.permutations(range(6)), st.permutations(range(6)))
@settings(max_examples=20)
def test_without_ties_it_is_equation_52(x: list[int], truth: list[int]) -> None:
    expected = _ranked(x, truth)
    for ties in ("a", "b"):
        assert tau_ap(x, truth, ties=ties) == pytest.approx(expected, abs=1e-12)
        both = (expected + _ranked(truth, x)) / 2
        assert tau_ap(x, truth, ties=ties, symmetric=True) == pytest.approx(both, abs=1e-12)


SCORED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=5)


@given(SCORED)
@settings(max_examples=30)
def test_variant_a_is_the_mean_over_all_breakings(things: Scored) -> None:
    x, truth = ([thing[k] for thing in things] for k in (0, 1))
    ways = [_ranked(one, other) for one in _broken(x) for other in _broken(truth)]
    assert tau_ap(x, truth, ties="a") == pytest.approx(np.mean(ways), abs=1e-12)


@given(SCORED)
@settings(max_examples=30)
def test_variant_b_is_its_definition(things: Scored) -> None:
    x, truth = ([thing[k] for thing in things] for k in (0, 1))
    found = tau_ap(x, truth)
    if len(set(x)) == 1 or len(set(truth)) == 1:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(_tied(x, truth), abs=1e-12)


@pytest.mark.parametrize("ties", ["a", "b"])
def test_sets_and_blocks_change_nothing(ties: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(2).integers(0, 6, (2, 9, 25))
    each = [tau_ap(a, b, ties=ties, symmetric=True) for a, b in zip(x, y, strict=True)]
    for size in (1, 60, 2000, 2**20):
        monkeypatch.setattr("cranfield.correlation.tau.BLOCK_SIGNS", size)
        found = tau_ap(x, y, ties=ties, symmetric=True)
        np.testing.assert_allclose(found, each, atol=1e-14)
    np.testing.assert_allclose(
        tau_ap(x, y[0], ties=ties), tau_ap(x, np.tile(y[0], (9, 1)), ties=ties)
    )


def test_without_an_answer() -> None:
    assert np.isnan(tau_ap([1], [1])) and np.isnan(tau_ap([], [], ties="a"))
    assert np.isnan(tau_ap([1, np.nan], [1, 2])) and np.isnan(tau_ap([1, 1], [1, 2]))
    assert tau_ap([1, 1], [1, 2], ties="a") == 0.0
