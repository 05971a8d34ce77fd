"""Tau AP against ircor, the definition, and all ways to break ties."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.correlation import tau_ap
from tests.correlation.ircor import SETS

Scored = list[tuple[int, int]]


# From ircor's own tests: tauAP, tauAP_a with ties in the order that is evaluated, tauAP_b without
# and with ties, to four decimals. Its first argument is the truth.
@pytest.mark.parametrize(
    ("which", "plain", "a", "symmetric", "b"),
    [
        (0, 0.8519, 0.7454, 0.8333, 0.7321),
        (1, 0.2504, 0.2692, 0.2880, 0.2970),
        (2, -0.6971, -0.5558, -0.6680, -0.7047),
    ],
)
def test_tau_ap_is_that_of_ircor(
    which: int, plain: float, a: float, symmetric: float, b: float
) -> None:
    truth, y, truth_tied, y_tied = SETS[which]
    for ties in ("a", "b"):
        assert tau_ap(y, truth, ties=ties) == pytest.approx(plain, abs=5e-5)
        assert tau_ap(y, truth, symmetric=True, ties=ties) == pytest.approx(symmetric, abs=5e-5)
    assert tau_ap(y_tied, truth, ties="a") == pytest.approx(a, abs=5e-5)
    assert tau_ap(truth_tied, y_tied, symmetric=True) == pytest.approx(b, abs=5e-5)
    assert tau_ap(y_tied, truth_tied, symmetric=True) == pytest.approx(b, abs=5e-5)


def test_the_example_of_ircor() -> None:
    truth = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
    y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
    assert tau_ap(y, truth) == pytest.approx(0.7491182, abs=5e-8)
    y, rough = np.round(y * 5) / 5, np.round(truth * 5) / 5
    assert tau_ap(y, truth, ties="a") == pytest.approx(0.6074515, abs=5e-8)
    assert tau_ap(y, rough, symmetric=True) == pytest.approx(0.6269841, abs=5e-8)


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


@given(
    st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=2, max_size=30), st.sampled_from("ab")
)
@settings(max_examples=30)
def test_bounds_and_invariance(things: Scored, ties: str) -> None:
    x, truth = np.array(things, dtype=float).T
    found = tau_ap(x, truth, ties=ties)
    if np.isnan(found):
        return
    assert -1 - 1e-12 <= found <= 1 + 1e-12
    order = np.random.default_rng(0).permutation(x.size)
    assert tau_ap(x[order], truth[order], ties=ties) == pytest.approx(found, abs=1e-12)
    assert tau_ap(3 * x + 7, np.exp(truth), ties=ties) == pytest.approx(found, abs=1e-12)
    one = tau_ap(x, truth, ties=ties, symmetric=True)
    assert tau_ap(truth, x, ties=ties, symmetric=True) == pytest.approx(one, abs=1e-12)
    if np.unique(x).size > 1:
        assert tau_ap(x, x) == pytest.approx(1.0, abs=1e-12)


def test_the_top_counts_more() -> None:
    truth = [5, 4, 3, 2, 1]
    assert tau_ap([4, 5, 3, 2, 1], truth) < tau_ap([5, 4, 3, 1, 2], truth)


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


def test_bad_input_is_refused() -> None:
    with pytest.raises(PolicyError, match="unknown ties 'w'; expected one of: b, a"):
        tau_ap([1, 2], [1, 2], ties="w")
    with pytest.raises(
        CranfieldError, match="expected values of the same number of items, got 2 and 1"
    ):
        tau_ap([1, 2], [1])
