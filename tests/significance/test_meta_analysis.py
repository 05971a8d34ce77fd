"""Meta-analysis over collections: against metafor of R, by hand, and on odd input."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.significance import meta_analysis
from cranfield.significance.several.random_effects import pool, predict

# fmt: off
COLLECTIONS = {
    "a": {
        "x": [.632, .704, .478, .266, .195, .531, .43, .13],
        "y": [.518, .465, .375, .29, .186, .381, .36, .189],
        "z": [.642, .665, .424, .401, .273, .445, .399, .319],
    },
    "b": {
        "x": [.404, .498, .406, .238, .618, .419, .482, .473, .578, .522, .379, .358],
        "y": [.474, .403, .403, .362, .565, .369, .229, .476, .447, .5, .304, .327],
        "z": [.532, .456, .374, .442, .628, .383, .404, .514, .419, .555, .443, .41],
    },
    "c": {
        "x": [.346, .516, .38, .382, .405, .782],
        "y": [.459, .476, .269, .411, .374, .597],
        "z": [.562, .615, .424, .495, .5, .664],
    },
    "d": {
        "x": [.162, .198, .389, .374, .454, .339, .639, -.011, .202, .189],
        "y": [.25, .345, .421, .264, .519, .314, .415, .238, .245, .301],
        "z": [.428, .588, .552, .349, .681, .366, .462, .363, .333, .455],
    },
    "e": {
        "x": [.38, .724, .738, .846, .319, .534, .624, .558, .496, .213, .962, .591, .235, .782,
              .841],
        "y": [.231, .455, .317, .562, .286, .537, .399, .583, .522, .3, .351, .355, .168, .383,
              .393],
        "z": [.474, .634, .456, .586, .418, .661, .596, .589, .447, .374, .57, .293, .212, .483,
              .491],
    },
}

# rma(yi, vi, method=..., test=..., control=list(threshold=1e-14)) of metafor 3.8-1,
# R 4.2: beta, se, tau2, ci.lb, ci.ub, pval, I2, of x and y, and of y and z.
METAFOR = {
    ("reml", "hartung-knapp", 0): (
        .05894595204, .03635144405, .004238387727, -.04198183685, .1598737409,
        .1802163217, 74.34195284),
    ("paule-mandel", "hartung-knapp", 0): (
        .05945753131, .03666449596, .005108368855, -.04233942905, .1612544917,
        .1801934878, 77.7389064),
    ("dersimonian-laird", "normal", 0): (
        .05816254615, .03100410792, .003220338082, -.002604388748, .118929481,
        .060660419, 68.7642687),
    ("reml", "hartung-knapp", 2): (
        -.0988543465, .01164721345, .0003813410008, -.1311921953, -.06651649771,
        .001056564127, 53.9522422),
    ("reml", "hartung-knapp-ad-hoc", 2): (
        -.0988543465, .011996794, .0003813410008, -.1321627865, -.06554590651,
        .001182896603, 53.9522422),
}
# fmt: on


@pytest.mark.parametrize(("tau2_by", "errors", "pair"), METAFOR)
def test_metafor(tau2_by: str, errors: str, pair: int) -> None:
    found = meta_analysis(COLLECTIONS, tau2_by=tau2_by, errors=errors, correction="none")
    pooled = found.pooled
    numbers = (
        *(pooled.estimate, pooled.error, pooled.tau2, *found.interval),
        *(found.raw_pvalues, 100 * pooled.i2),
    )
    ours = [one[pair] for one in numbers]
    assert ours == pytest.approx(METAFOR[tau2_by, errors, pair], rel=1e-8)


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
    found = np.ravel(predict(y, v, 0.95, 100_000, 0))
    # The standard error of a limit of 25,000 samples is about 0.02.
    assert found == pytest.approx(np.log([0.533, 33.692]), abs=0.06)
    # Units and the order of places do not matter but for the random numbers.
    again = np.ravel(predict(1e-6 * y[:, ::-1] + 3, 1e-12 * v[:, ::-1], 0.95, 100_000, 1))
    assert 1e6 * (again - 3) == pytest.approx(found, abs=0.06)


@pytest.mark.parametrize("places", [3, 10])
def test_prediction_intervals_hold_their_level_with_few_places(places: int) -> None:
    """Limits by t and an estimated tau^2 hold a level of .95 in .87 to .89 here (REML)."""
    random = np.random.default_rng(places)
    y = random.normal(0, np.sqrt(1.5), (300, places)) + random.normal(size=(300, places))
    low, high = predict(y, np.ones_like(y), 0.95, 1_000, 0)
    other = random.normal(0, np.sqrt(1.5), 300)
    # 275 of 300 or fewer have a probability of 0.01 at a level of 0.95.
    assert ((low <= other) & (other <= high)).sum() > 274


def test_prediction_without_two_places() -> None:
    y, v = np.array([[0.3, 0.0], [0.1, 0.2]]), np.array([[1.0, np.inf], [1.0, 1.0]])
    low, high = predict(y, v, 0.9, 1_000, 0)
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
    tau2 = pool(y, v, "reml", "normal").tau2

    def likelihood(tau2: Any) -> Any:
        w = 1 / (v + tau2)
        mean = (w * y).sum(1, keepdims=True) / w.sum(1, keepdims=True)
        return np.log(w).sum(1) - np.log(w.sum(1)) - (w * (y - mean) ** 2).sum(1)

    best = likelihood(tau2[:, None])
    grid = np.concatenate([[0], np.logspace(-6, 4, 2000)])
    assert 0 < (tau2 == 0).sum() < 50
    assert all((likelihood(point) <= best + 1e-9).all() for point in grid)


def test_two_collections_by_hand() -> None:
    """Of two, tau^2 = ((y1 - y2)^2 - v1 - v2) / 2 if above 0, by REML and by moments alike."""
    y, v = np.array([[0.1, 0.9], [0.1, 0.2]]), np.array([[0.01, 0.05], [0.01, 0.05]])
    reml = pool(y, v, "reml", "normal").tau2
    assert reml == pytest.approx([(0.64 - 0.06) / 2, 0], abs=1e-15)


def test_who_holds_what() -> None:
    """Pairs are matched by name, in whatever order systems come; what is missing is said."""
    one = {name: COLLECTIONS["a"][name] for name in ("y", "x")}
    two = COLLECTIONS["b"]
    three = {"z": COLLECTIONS["c"]["z"], "w": COLLECTIONS["c"]["x"]}
    found = meta_analysis({"one": one, "two": cf.compare(two), "three": three}, baseline="x")
    names = found.of.frame().rows()
    assert names == [("y", "x"), ("z", "x")]
    mean = np.mean(COLLECTIONS["a"]["y"]) - np.mean(COLLECTIONS["a"]["x"])
    assert found.difference[0, 0] == pytest.approx(mean)
    assert found.pooled.places.tolist() == [2, 1]
    assert found.adjusted_pvalues[1] == 1
    assert np.isinf([limit[1] for limit in found.interval]).all()
    text = str(found)
    assert "one lacks 'z', 'w'" in text
    assert "no collection holds both systems of 1 pair: left out" in text
    assert "1 pair in fewer than two collections" in text
    weights = found.by_collection().group_by("first", "second").agg(pl.col("weight").sum())
    assert weights["weight"].to_list() == pytest.approx([1, 1])


def test_holm_and_bonferroni() -> None:
    raw = meta_analysis(COLLECTIONS, correction="none").raw_pvalues
    held = meta_analysis(COLLECTIONS, correction="bonferroni")
    assert held.adjusted_pvalues == pytest.approx(np.minimum(1, 3 * raw))
    wide = meta_analysis(COLLECTIONS, correction="none", alpha=0.05 / 3)
    assert held.interval[0] == pytest.approx(wide.interval[0])
    assert held.interval_kind.startswith("all pairs together")
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
        assert "do not vary" in str(found)
        assert not np.isnan(found.adjusted_pvalues).any()
        assert found.to_polars().height == 3
    same_effects = meta_analysis(dict.fromkeys("12", COLLECTIONS["a"]), tau2_by=tau2_by)
    assert same_effects.pooled.tau2.tolist() == [0, 0, 0]
