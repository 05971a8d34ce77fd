"""The hierarchical model of all systems, against enumeration of its posterior, and lme4."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.scores import Scores
from cranfield.significance.bayes.chains import agreement
from cranfield.significance.bayes.comparison import compare_bayes
from cranfield.significance.bayes.hierarchical import SCALE, expected_scores
from cranfield.significance.bayes.score_cells import Cells, cells_of
from cranfield.significance.bayes.systems_posterior import fit_bayes


class Places(Cells):
    """Scores that are their places: expected ones are the means of the normal scale."""

    def expected(self, mean: Floats, spread: Floats) -> Floats:
        return mean


def places(z: Floats, low: Floats | None = None, high: Floats | None = None) -> Places:
    nothing = np.zeros(0)
    shared = np.zeros(z.shape, dtype=bool) if low is None else np.asarray(low < z)
    below, above = (z if one is None else one for one in (low, high))
    return Places(z, below, above, shared, nothing, nothing, 0.0)


def enumerated(z: Floats) -> tuple[float, float, float]:
    """Return E and P(> 0) of the difference of two means, and the logarithm of the evidence.

    Given g and the common mean, means and covariances are conjugate; those two lie on a grid.
    """
    n, m = z.shape
    mean = z.mean(axis=0)
    root = np.exp(np.linspace(np.log(1e-4), np.log(1e3), 120))[:, None]
    g = root**2
    common = mean.mean() + np.sinh(np.linspace(-4.8, 4.8, 401))
    squares = np.eye(m) + (z - mean).T @ (z - mean)
    inverse = np.linalg.inv(squares)
    apart = mean - common[:, None]
    quadratic = np.einsum("ks,st,kt->k", apart, inverse, apart) / (g + 1 / n)
    log = -m / 2 * np.log(g + 1 / n) - (m + n) / 2 * np.log1p(quadratic)
    # The grid is even in log root, and in the inverse of sinh of the common mean.
    log = log - np.log1p(g / SCALE**2) + np.log(root)
    log = log + np.log(np.cosh(np.linspace(-4.8, 4.8, 401)))
    weight = np.exp(log - log.max())
    total = weight.sum()
    pull = n / (n + 1 / g)
    difference = mean[0] - mean[1]
    contrast = squares[0, 0] + squares[1, 1] - 2 * squares[0, 1]
    contrast = contrast + (apart[:, 0] - apart[:, 1]) ** 2 / (g + 1 / n)
    error = np.sqrt(contrast / (n + 1) / (n + 1 / g))
    above = stats.t(n + 1).cdf(pull * difference / error)
    evidence = np.log(total) + log.max() - (m + n) / 2 * np.linalg.slogdet(squares)[1]
    return (
        float((weight * pull).sum() / total * difference),
        float((weight * above).sum() / total),
        float(evidence),
    )


@pytest.mark.parametrize("shift", [0.0, 0.8, 3.0])
def test_against_enumeration(shift: float) -> None:
    z = np.random.default_rng(3).normal(0, 1, (5, 2)) + [shift, 0]
    want, above, _ = enumerated(z)
    found = expected_scores(places(z), 3000, 0)
    difference = found[..., 0] - found[..., 1]
    _, [effective] = agreement(difference[..., None])
    assert effective > 1500
    error = difference.std() / np.sqrt(effective)
    assert difference.mean() == pytest.approx(want, abs=4 * error)
    assert (difference > 0).mean() == pytest.approx(above, abs=4 * np.sqrt(0.25 / effective))


def test_scores_within_a_cell_against_enumeration() -> None:
    """One place is known to be between 0 and 3: the mixture over where it may be."""
    z = np.array([[1.5, 0.2], [-0.3, -0.9], [0.4, 0.1]])
    low, high = z.copy(), z.copy()
    low[0, 0], high[0, 0] = 0.0, 3.0
    grid = (np.arange(20) + 0.5) / 20 * 3
    moved = []
    for at in grid:
        z[0, 0] = at
        moved.append(enumerated(z))
    means, above, evidence = np.array(moved).T
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    z[0, 0] = 1.5
    found = expected_scores(places(z, low, high), 3000, 1)
    difference = found[..., 0] - found[..., 1]
    _, [effective] = agreement(difference[..., None])
    assert effective > 800
    assert difference.mean() == pytest.approx(
        weight @ means, abs=4 * difference.std() / np.sqrt(effective)
    )
    assert (difference > 0).mean() == pytest.approx(
        weight @ above, abs=4 * np.sqrt(0.25 / effective)
    )
    # Where it is in the cell matters: the middle alone gives something else.
    assert abs(weight @ means - enumerated(z)[0]) > 0.03


def test_shrinkage_of_lme4() -> None:
    """R 4.2.2, lme4 1.1.31: ranef of lmer(y ~ 1 + (1|t) + (1|s)), whose model is narrower."""
    rng = np.random.default_rng(11)
    z = rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.4, 8) + rng.normal(0, 1, (60, 8))
    found = expected_scores(places(z), 800, 0).reshape(-1, 8).mean(axis=0)
    want = np.array([-0.050738, 0.252239, -0.067056, -0.024964, 0.009842, -0.261832, 0.140779])
    want = np.append(want, 0.001730)
    assert found - found.mean() == pytest.approx(want - want.mean(), abs=0.02)
    raw = z.mean(axis=0) - z.mean()
    assert np.abs(raw - want).max() > 0.05


def test_cells_by_hand() -> None:
    values = np.array([[0.0, 0.2, 0.5], [0.0, 0.4, 0.7], [0.0, 1.0, 1.0]])
    cells = cells_of(values)
    unit = cells.place[0, 1] / stats.norm.ppf(3.5 / 9)
    assert cells.shared.sum() == 5
    assert cells.low[0, 0] == -np.inf and cells.high[2, 2] == np.inf
    assert cells.high[0, 0] == pytest.approx(unit * stats.norm.ppf(3 / 9))
    assert cells.place[2, 1] == pytest.approx(unit * stats.norm.ppf(8 / 9))
    # With next to no spread the expected score is that of the cell.
    middle = cells.place.ravel()
    assert cells.expected(middle, np.full(9, 1e-9)) == pytest.approx(values.ravel())
    far = cells.expected(np.array([-50.0, 50.0]), np.ones(2))
    assert far == pytest.approx([0, 1])
    # What topic and system leave over has a standard deviation of 1.
    rest = cells.place - cells.place.mean(0) - cells.place.mean(1)[:, None] + cells.place.mean()
    assert (rest**2).sum() / 4 == pytest.approx(1)


def test_many_scores_are_put_together() -> None:
    values = np.random.default_rng(0).beta(1, 3, (50, 40))
    cells = cells_of(values)
    assert cells.cuts.size == 99
    assert not cells.shared.any()
    assert cells.least + cells.steps.sum() <= values.max()


def test_agreement() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((4, 4000, 3))
    noise = x[:, :, 1]
    for t in range(1, 4000):
        x[:, t, 1] = 0.5 * x[:, t - 1, 1] + np.sqrt(0.75) * noise[:, t]
    x[..., 2] += 3 * np.arange(4)[:, None]
    rhat, effective = agreement(x)
    assert rhat[:2] == pytest.approx(1, abs=0.005)
    assert effective[:2] == pytest.approx([16_000, 16_000 / 3], rel=0.1)
    assert rhat[2] > 2 and effective[2] < 10
    assert agreement(np.ones((4, 50, 1)))[0].tolist() == [1]


def some(topics: int = 30, seed: int = 0, **more: Any) -> Scores:
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.2, (topics, 1))
    values = np.clip(0.4 + hard + rng.normal([0.0, 0.01, 0.2], 0.15, (topics, 3)), 0, 1)
    return Scores(values, tuple(map(str, range(topics))), ("a", "b", "c"), **more)


def test_result() -> None:
    scores = some(measure="AP")
    found = fit_bayes(scores, samples=1000, seed=3)
    assert found.draws.shape == (1000, 3)
    assert np.array_equal(found.draws, fit_bayes(scores, samples=1000, seed=3).draws)
    assert not np.array_equal(found.draws, fit_bayes(scores, samples=1000, seed=4).draws)
    assert ((found.draws >= 0) & (found.draws <= 1)).all()
    ranks = found.rank_probabilities
    assert ranks.sum(axis=0) == pytest.approx(1) and ranks.sum(axis=1) == pytest.approx(1)
    table = found.to_polars()
    assert table["system"][0] == "c"
    assert table["p best"][0] == ranks[2, 0] > 0.95
    pairs = found.pairs(rope=0.02)
    assert (pairs["p worse"] + pairs["p equivalent"] + pairs["p better"]).to_numpy() == (
        pytest.approx(1)
    )
    one = compare_bayes(scores, "a", "c", rope=0.02, method="hierarchical", samples=1000, seed=3)
    row = pairs.row(1, named=True)
    assert (one.p_worse, one.p_equivalent, one.p_better) == pytest.approx(
        (row["p worse"], row["p equivalent"], row["p better"])
    )
    assert one.interval == pytest.approx((row["low"], row["high"]))
    assert "AP: hierarchical model of 3 systems, 30 topics; 1,000 samples of 4 chains" in str(found)
    assert repr(found).startswith("SystemsPosterior(AP: hierarchical model of 3 systems")
    assert "hierarchical model of a and c, 30 topics; 1,000 samples, seed 3" in str(one)


def test_lower_is_better() -> None:
    found = fit_bayes(some(), samples=400)
    turned = fit_bayes(some(lower_is_better=True), samples=400)
    assert np.array_equal(found.draws, turned.draws)
    assert np.array_equal(found.rank_probabilities[:, ::-1], turned.rank_probabilities)
    assert found.pairs()["p worse"].to_list() == turned.pairs()["p better"].to_list()


def test_gaps_and_few_samples() -> None:
    scores = some()
    values = scores.values.copy()
    values[4, 2] = np.nan
    holes = replace(scores, values=values)
    with pytest.raises(CranfieldError, match="system 'c' on topic '4' has no score"):
        fit_bayes(holes)
    found = fit_bayes(holes, missing="drop", samples=400)
    assert (found.n, found.left_out) == (29, 1)
    # The pair has all scores; the model needs those of all systems.
    one = compare_bayes(holes, "a", "b", method="hierarchical", missing="drop", samples=400)
    assert one.left_out == 1
    assert one.notes and "take more" in one.notes[0] and f"note: {one.notes[0]}" in str(one)


def test_hostile() -> None:
    with np.errstate(all="raise", under="ignore"):
        x = np.linspace(0, 1, 8)
        same = Scores(np.column_stack([x, x]), tuple("12345678"), ("a", "b"))
        found = fit_bayes(same, samples=1000).pairs(0.0)
        assert found["p better"][0] == pytest.approx(0.5, abs=0.1)
        far = Scores(np.column_stack([x * 0.01, 0.99 + x * 0.01]), tuple("12345678"), ("a", "b"))
        assert fit_bayes(far, samples=400).pairs()["p worse"][0] > 0.95
        steps = np.random.default_rng(0).integers(0, 3, (12, 8)) / 2.0
        many = fit_bayes(Scores(steps, tuple(map(str, range(12))), tuple("abcdefgh")), samples=400)
        assert np.isfinite(many.draws).all()
        two = Scores(np.array([[0.1, 0.4], [0.2, 0.9]]), ("1", "2"), ("a", "b"))
        assert np.isfinite(fit_bayes(two, samples=400).draws).all()
        huge = Scores(some().values * 1e90, some().topics, ("a", "b", "c"))
        assert fit_bayes(huge, samples=400).draws == pytest.approx(
            fit_bayes(some(), samples=400).draws * 1e90
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 100}, "samples must be a whole number from 400"),
        ({"missing": "zero"}, "missing 'zero' is none of error, drop"),
        ({"level": 0}, "level must be a number between 0 and 1"),
        ({"seed": -1}, "the seed must be a whole number from 0"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        fit_bayes(some(), **options)


def test_wrong_scores() -> None:
    binary = Scores(np.eye(4), tuple("1234"), tuple("abcd"))
    with pytest.raises(CranfieldError, match="needs three different scores at least; take the"):
        fit_bayes(binary)
    with pytest.raises(CranfieldError, match="two systems and two topics, not 1 system and 3"):
        fit_bayes({"a": [0.1, 0.2, 0.3]})
    with pytest.raises(PolicyError, match="practical equivalence must be 0 or more"):
        fit_bayes(some(), samples=400).pairs(-1)
    with pytest.raises(PolicyError, match="no system 'd'"):
        compare_bayes(some(), "a", "d", method="hierarchical")
    with pytest.raises(PolicyError, match="by shard"):
        fit_bayes(Scores(np.zeros((2, 2, 2)), ("1", "2"), ("a", "b")))
