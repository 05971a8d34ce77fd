"""Meta-analysis over collections: against metafor of R, by hand, and on odd input."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.significance import meta_analysis
from cranfield.significance.several.meta_analysis import bound_predictions, pool_estimates
from tests.conftest import DATA

KNOWN = json.loads((DATA / "significance" / "metafor.json").read_text())
COLLECTIONS = KNOWN["collections"]


@pytest.mark.parametrize("known", KNOWN["metafor"], ids=range(len(KNOWN["metafor"])))
def test_metafor(known: dict[str, Any]) -> None:
    found = meta_analysis(
        COLLECTIONS, tau2_by=known["tau2_by"], errors=known["errors"], correction="none"
    )
    pooled = found.pooled
    numbers = (
        *(pooled.estimate, pooled.error, pooled.tau2, *found.interval),
        *(found.raw_pvalues, 100 * pooled.i2),
    )
    ours = [values[known["pair"]] for values in numbers]
    assert ours == pytest.approx(known["values"], rel=1e-8)


def test_prediction_intervals_of_pimeta() -> None:
    """Cisapride trials of Hartung and Knapp (2001), as in the vignette of pimeta 1.1.4 in R.

    pima(y, se, seed=2236067), 25,000 samples, prints 4.141 [0.533, 33.692] as odds ratios.
    """
    m1 = np.array([15, 12, 29, 42, 14, 44, 14, 29, 10, 17, 38, 19, 21])
    n1 = np.array([16, 16, 34, 56, 22, 54, 17, 58, 14, 26, 44, 29, 38])
    m2 = np.array([9, 1, 18, 31, 6, 17, 7, 23, 3, 6, 12, 22, 19])
    n2 = np.array([16, 16, 34, 56, 22, 55, 15, 58, 15, 27, 45, 30, 38])
    a, b, c, d = (one + 0.5 for one in (m1, n1 - m1, m2, n2 - m2))
    y, v = np.log(a * d / b / c)[None], (1 / a + 1 / b + 1 / c + 1 / d)[None]
    assert (y[0, 0], v[0, 0] ** 0.5) == pytest.approx((2.098986, 0.9847737))
    found = np.ravel(bound_predictions(y, v, 0.95, 100_000, 0))
    # The standard error of a limit of 25,000 samples is about 0.02.
    assert found == pytest.approx(np.log([0.533, 33.692]), abs=0.06)
    # Units and the order of places do not matter but for the random numbers.
    again = np.ravel(bound_predictions(1e-6 * y[:, ::-1] + 3, 1e-12 * v[:, ::-1], 0.95, 100_000, 1))
    assert 1e6 * (again - 3) == pytest.approx(found, abs=0.06)


def test_prediction_without_two_places() -> None:
    y, v = np.array([[0.3, 0.0], [0.1, 0.2]]), np.array([[1.0, np.inf], [1.0, 1.0]])
    low, high = bound_predictions(y, v, 0.9, 1_000, 0)
    assert (low[0], high[0]) == (-np.inf, np.inf)
    assert np.isfinite([low[1], high[1]]).all()


def test_q_of_metafor() -> None:
    pooled = meta_analysis(COLLECTIONS).pooled
    assert pooled.q == pytest.approx([12.80584713, 14.13253731, 8.616091989], rel=1e-9)
    assert pooled.q_pvalue == pytest.approx([0.01226447305, 0.006883846815, 0.07144536746])


def test_standardised_as_escalc() -> None:
    """escalc("SMCC", ...) of metafor 3.8-1 from means, deviations and correlations of x and y."""
    found = meta_analysis(COLLECTIONS, standardised=True)
    yi = (0.68335856541, 0.417981802798, 0.302596949853, -0.258653591405, 0.908958202008)
    vi = (0.154186183057, 0.0906128661446, 0.174297076172, 0.103345084017, 0.0942068337666)
    assert found.difference[0] == pytest.approx(yi)
    assert found.error[0] ** 2 == pytest.approx(vi)


def test_two_topics_have_no_standardised_difference() -> None:
    """metafor's escalc gives NA of them; they do not count as a place where nothing differs."""
    two = {name: scores[:2] for name, scores in COLLECTIONS["b"].items()}
    found = meta_analysis({**COLLECTIONS, "b": two}, standardised=True)
    without = {name: scores for name, scores in COLLECTIONS.items() if name != "b"}
    alone = meta_analysis(without, standardised=True)
    assert np.isnan(found.difference[:, list(COLLECTIONS).index("b")]).all()
    assert found.pooled.estimate == pytest.approx(alone.pooled.estimate, rel=1e-12)
    assert np.isfinite(meta_analysis({**COLLECTIONS, "b": two}).difference).all()


def test_restricted_likelihood_has_its_highest_point() -> None:
    """No point of a fine grid is more likely, also for variances of very different size."""
    random = np.random.default_rng(1)
    y = random.normal(size=(50, 4)) * random.choice([0.1, 1, 10], size=(50, 1))
    v = random.exponential(size=(50, 4)) ** 3
    tau2 = pool_estimates(y, v, "reml", "normal").tau2

    def likelihood(tau2: Any) -> Any:
        w = 1 / (v + tau2)
        mean = (w * y).sum(1, keepdims=True) / w.sum(1, keepdims=True)
        return np.log(w).sum(1) - np.log(w.sum(1)) - (w * (y - mean) ** 2).sum(1)

    best = likelihood(tau2[:, None])
    grid = np.concatenate([[0], np.logspace(-6, 4, 2000)])
    assert 0 < (tau2 == 0).sum() < 50
    assert all((likelihood(point) <= best + 1e-9).all() for point in grid)


def test_who_holds_what() -> None:
    """Pairs are matched by name, in whatever order systems come; what is missing is said."""
    one = {name: COLLECTIONS["a"][name] for name in ("y", "x")}
    two = COLLECTIONS["b"]
    three = {"z": COLLECTIONS["c"]["z"], "w": COLLECTIONS["c"]["x"]}
    found = meta_analysis({"one": one, "two": cf.compare(two), "three": three}, baseline="x")
    names = found.pairs.make_frame().rows()
    assert names == [("y", "x"), ("z", "x")]
    mean = np.mean(COLLECTIONS["a"]["y"]) - np.mean(COLLECTIONS["a"]["x"])
    assert found.difference[0, 0] == pytest.approx(mean)
    assert found.pooled.n_collections.tolist() == [2, 1]
    assert found.adjusted_pvalues[1] == 1
    assert np.isinf([limit[1] for limit in found.interval]).all()
    text = str(found)
    assert "one lacks 'z', 'w'" in text
    assert "1 pair excluded: no collection has both systems" in text
    assert "1 pair with fewer than two collections" in text
    weights = found.tabulate_collections().group_by("first", "second").agg(pl.col("weight").sum())
    assert weights["weight"].to_list() == pytest.approx([1, 1])


def test_excluded_differences() -> None:
    """Notes give the reason: constant differences, or too few topics for a standardised one."""
    constant = {"x": [0.1, 0.3, 0.2], "y": [0.2, 0.4, 0.3]}
    two_topics = {"x": [0.1, 0.3], "y": [0.2, 0.5]}
    collections = {"a": COLLECTIONS["a"], "b": COLLECTIONS["b"]}
    excluded = "1 combination of pair and collection excluded: "
    for scores, reason in (
        (constant, "the difference is the same on all topics, so its standard error"),
        (two_topics, "a standardised difference requires three topics"),
    ):
        found = meta_analysis({**collections, "c": scores}, baseline="x", standardised=True)
        assert [note for note in found.notes if note.startswith(excluded + reason)]
        assert len([note for note in found.notes if note.startswith(excluded)]) == 1
    unstandardised = meta_analysis({**collections, "c": two_topics}, baseline="x")
    assert not [note for note in unstandardised.notes if note.startswith(excluded)]


def test_holm_and_bonferroni() -> None:
    raw = meta_analysis(COLLECTIONS, correction="none").raw_pvalues
    held = meta_analysis(COLLECTIONS, correction="bonferroni")
    assert held.adjusted_pvalues == pytest.approx(np.minimum(1, 3 * raw))
    wide = meta_analysis(COLLECTIONS, correction="none", alpha=0.05 / 3)
    assert held.interval[0] == pytest.approx(wide.interval[0])
    assert held.interval_kind.startswith("all pairs simultaneously")
    assert (meta_analysis(COLLECTIONS).adjusted_pvalues <= held.adjusted_pvalues).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("standardised", [False, True])
@pytest.mark.parametrize("tau2_by", ["reml", "paule-mandel", "dersimonian-laird"])
def test_odd_scores(tau2_by: str, standardised: bool) -> None:
    """Systems that are the same, or differ by a constant, have no error: said, and no number."""
    tiny = {name: [1e-140 * x for x in values] for name, values in COLLECTIONS["a"].items()}
    same = {name: [0.1, 0.2, 0.3] for name in "xyz"}
    apart = {"x": [0.1, 0.2, 0.3], "y": [0.3, 0.4, 0.5], "z": [0.1, 0.3, 0.3]}
    for some in ({"1": same, "2": same}, {"1": same, "2": apart, "3": tiny}):
        found = meta_analysis(some, tau2_by=tau2_by, standardised=standardised)
        assert "same on all topics" in str(found)
        assert not np.isnan(found.adjusted_pvalues).any()
        assert found.to_polars().height == 3
    same_effects = meta_analysis(dict.fromkeys("12", COLLECTIONS["a"]), tau2_by=tau2_by)
    assert same_effects.pooled.tau2.tolist() == [0, 0, 0]
