"""Rank correlation against SciPy, ircor, and the definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.correlation import kendall_tau, tau, tau_ap
from tests.correlation.ircor import SETS


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


# From ircor's own tests: tau_a (a truth without ties) and tau_b, to four decimals.
@pytest.mark.parametrize(
    ("which", "plain", "a", "b"),
    [(0, 0.9111, 0.8889, 0.9398), (1, 0.2889, 0.3333, 0.3765), (2, -0.6889, -0.6222, -0.6510)],
)
def test_kendall_tau_is_that_of_ircor(which: int, plain: float, a: float, b: float) -> None:
    x, y, x_tied, y_tied = SETS[which]
    assert kendall_tau(x, y) == pytest.approx(plain, abs=5e-5)
    assert kendall_tau(x, y, variant="a") == pytest.approx(plain, abs=5e-5)
    assert kendall_tau(x, y_tied, variant="a") == pytest.approx(a, abs=5e-5)
    assert kendall_tau(x_tied, y_tied) == pytest.approx(b, abs=5e-5)


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


def test_ten_thousand_things() -> None:
    x, y = np.random.default_rng(3).integers(0, 2000, (2, 10_000))
    assert kendall_tau(x, y) == pytest.approx(kendalltau(x, y).statistic, abs=1e-12)


def test_one_set_stands_against_several() -> None:
    assert kendall_tau([1, 2, 3], [[1, 2, 3], [3, 2, 1]]).tolist() == [1.0, -1.0]


def test_infinite_values_are_ordered() -> None:
    assert kendall_tau([-np.inf, 0, np.inf, np.inf], [1, 2, 3, 3]) == 1.0


def test_labelled_values_are_paired_by_label() -> None:
    # The same scores in another order agree in all three pairs.
    x = pd.Series({"bm25": 0.3, "dense": 0.5, "splade": 0.4})
    for y in (x.sort_values(), x[::-1]):
        assert kendall_tau(x, y) == tau_ap(x, y) == 1.0
        assert kendall_tau(y.to_frame().T, x.to_frame().T).tolist() == [1.0]
    frame = pl.DataFrame({"bm25": [0.3, 0.1], "dense": [0.5, 0.2], "splade": [0.4, 0.3]})
    assert kendall_tau(frame, frame.select(sorted(frame.columns)[::-1])).tolist() == [1.0, 1.0]
    assert kendall_tau(x.sort_values(), frame.to_pandas()).tolist() == pytest.approx([1.0, 1 / 3])
    numbered = pd.Series([0.3, 0.5, 0.4])
    assert kendall_tau(numbered, numbered[::-1]) == kendall_tau(numbered.sort_values(), numbered)
    assert kendall_tau(numbered, numbered[::-1]) == 1.0
    # By position: lists, a default index, and equal labels. Of three pairs one agrees.
    for y in ([0.5, 0.4, 0.3], pd.Series([0.5, 0.4, 0.3]), pd.Series([0.5, 0.4, 0.3], x.index)):
        assert kendall_tau(x, y) == pytest.approx(-1 / 3)
    assert kendall_tau(x, x.rename({"bm25": "BM25"}).to_numpy()) == 1.0


def test_values_of_other_items_are_refused() -> None:
    x, y = pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"a": 1.0, "c": 2.0})
    with pytest.raises(CranfieldError, match="different labels, such as 'b'; pass x.to_numpy()"):
        kendall_tau(x, y)
    assert kendall_tau(x.to_numpy(), y.to_numpy()) == 1.0
    with pytest.raises(CranfieldError, match="different labels, such as 'a'"):
        kendall_tau(pd.Series([1.0, 2.0], ["a", "a"]), x)
    with pytest.raises(CranfieldError, match="different labels, such as 'b'"):
        kendall_tau(pl.DataFrame({"a": [1.0], "b": 2.0}), pl.DataFrame({"a": [1.0], "c": 2.0}))
    with pytest.raises(CranfieldError, match=r"one column; pass the column itself.*frame\['AP'\]"):
        tau_ap(pd.DataFrame({"AP": [1.0, 2.0]}), pd.DataFrame({"AP": [1.0, 2.0]}))


def test_bad_input_is_refused() -> None:
    with pytest.raises(PolicyError, match="unknown variant 'c'; expected one of: b, a"):
        kendall_tau([1, 2], [1, 2], variant="c")
    for rounding in (-1, np.nan, "x"):
        with pytest.raises(PolicyError, match="rounding must be a number >= 0"):
            kendall_tau([1, 2], [1, 2], rounding=rounding)  # type: ignore[arg-type]
    with pytest.raises(
        CranfieldError, match="expected values of the same number of items, got 2 and 3"
    ):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(CranfieldError, match="same number of sets .* got 2 and 3"):
        kendall_tau(np.ones((2, 4)), np.ones((3, 4)))
    for bad in ("abc", ["a", "b"], None, [[1, 2], [3]], 5, np.ones((2, 2, 2))):
        with pytest.raises(CranfieldError, match="values must be numbers, of shape"):
            kendall_tau(bad, [1, 2])
