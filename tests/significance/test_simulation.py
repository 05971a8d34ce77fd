"""Simulated scores, against SciPy's distributions, hand computation, and known true means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import cranfield as cf
from cranfield.significance import Resampled, Simulator, fit_simulator, simulation
from tests.conftest import ADHOC8

SETS = 10_000


@pytest.fixture(scope="module")
def ap() -> np.ndarray:
    return np.asarray(cf.read_scores(ADHOC8).values)[:, ::8]


@pytest.fixture(scope="module")
def p10() -> np.ndarray:
    chances = np.random.default_rng(4).beta(0.8, 1.2, size=(50, 1))
    return np.random.default_rng(5).binomial(10, np.broadcast_to(chances, (50, 6))) / 10


@pytest.fixture(scope="module")
def fitted(ap: np.ndarray) -> Simulator:
    return fit_simulator(ap)


def likeliest(negative: Any, starts: list[tuple[float, float]], bounds: Any) -> float:
    """Return the largest log-likelihood that SciPy's optimizer finds from several starts."""
    found = [optimize.minimize(negative, start, bounds=bounds) for start in starts]
    return -min(float(one.fun) for one in found)


def test_beta_and_normal_against_scipy(ap: np.ndarray) -> None:
    _, [beta, normal, *_] = simulation.fit_continuous(ap)
    for k, x in enumerate(ap.T[:3]):
        inside = np.clip(x, simulation.EDGE, 1 - simulation.EDGE)
        want = likeliest(
            lambda ab, x=inside: -stats.beta.logpdf(x, *ab).sum(),
            [(1.2, 2.0), (2.0, 5.0)],
            [(1, None)] * 2,
        )
        assert beta.loglike[k] == pytest.approx(want, abs=2e-4)

        def negative(at: np.ndarray, x: np.ndarray = x) -> float:
            mean, sd = at
            ends = (0 - mean) / sd, (1 - mean) / sd
            return -float(stats.truncnorm.logpdf(x, *ends, loc=mean, scale=sd).sum())

        starts = [(float(x.mean()), float(x.std())), (-0.5, 0.5), (-2.0, 0.8)]
        want = likeliest(negative, starts, [(-20, 20), (simulation.MIN_SD, 10)])
        assert normal.loglike[k] >= want - 2e-3


def test_kernels_against_scipy(ap: np.ndarray) -> None:
    points, [*_, normal, beta] = simulation.fit_continuous(ap)
    for k, x in enumerate(ap.T):
        low, high = np.quantile(x, [0.25, 0.75])
        width = max(0.9 * min(x.std(ddof=1), (high - low) / 1.34) * 50**-0.2, 0.005)
        kernel = stats.gaussian_kde(x, bw_method=width / x.std(ddof=1))
        assert normal.weights[k] == pytest.approx(kernel(points), rel=1e-9)
        inside = kernel.integrate_box_1d(0, 1)
        assert normal.loglike[k] == pytest.approx(np.log(kernel(x) / inside).sum(), rel=1e-9)
        b = 50**-0.4
        own = np.clip(x, simulation.EDGE, 1 - simulation.EDGE)
        some = points[::64, None]
        want = stats.beta.pdf(own, some / b + 1, (1 - some) / b + 1).mean(axis=1)
        assert beta.weights[k, ::64] == pytest.approx(want, rel=1e-9)


def test_discrete_families_against_scipy(p10: np.ndarray) -> None:
    support = np.linspace(0, 1, 11)
    binomial, kernel = simulation.fit_discrete(p10, support)
    for k, x in enumerate(np.rint(p10 * 10).astype(int).T):
        want = likeliest(
            lambda ab, x=x: -stats.betabinom.logpmf(x, 10, *ab).sum(),
            [(1.0, 1.0), (0.5, 2.0)],
            [(np.exp(simulation.MIN_LOG_SHAPE), None)] * 2,
        )
        assert binomial.loglike[k] == pytest.approx(want, abs=2e-4)
    assert binomial.weights.sum(axis=1) == pytest.approx(1)
    assert kernel.weights.sum(axis=1) == pytest.approx(1)
    # All scores the same in truth of one bandwidth: the narrowest is likeliest, by hand.
    [_, alone] = simulation.fit_discrete(np.full((20, 1), 0.5), support)
    away = np.abs(np.arange(11) - 5)
    by_hand = np.where(away == 0, 0.975, 0.975 * 0.025**away / 2)
    assert alone.weights[0] == pytest.approx(by_hand / by_hand.sum(), rel=1e-12)


def test_families_are_found_again() -> None:
    random = np.random.default_rng(1)
    values = np.stack([random.beta(5, 3, 400), random.beta(2, 6, 400)], axis=1)
    bimodal = np.where(random.random(400) < 0.5, 0.1, 0.9) + random.normal(0, 0.02, 400)
    found = fit_simulator(np.column_stack([values, np.clip(bimodal, 0, 1)]))
    assert found.families == ("beta", "beta", "beta kernel")
    assert fit_simulator(values, criterion="likelihood").families == ("normal kernel",) * 2


@pytest.mark.parametrize("kind", ["ap", "p10"])
def test_true_means_are_those_of_draws(kind: str, request: pytest.FixtureRequest) -> None:
    real = request.getfixturevalue(kind)
    found = fit_simulator(real)
    assert found.means == pytest.approx(real.mean(axis=0), abs=1e-12)
    assert found.is_discrete == (kind == "p10")
    drawn = found.draw(SETS, 7)
    error = drawn.std(axis=0) / np.sqrt(SETS)
    assert (np.abs(drawn.mean(axis=0) - found.means) < 4.5 * error).all()
    # Spreads and rank correlations are near those of real scores.
    some = found.means > 0.05
    assert drawn.std(axis=0)[some] == pytest.approx(real.std(axis=0)[some], rel=0.25)
    assert np.abs(drawn.std(axis=0) / real.std(axis=0) - 1)[some].mean() < 0.06
    away = stats.spearmanr(drawn).statistic - stats.spearmanr(real).statistic
    assert np.abs(away).mean() < 0.05
    if kind == "p10":
        assert set(np.unique((drawn * 10).round(9))) <= set(range(11))


def test_equal_means_are_equal(fitted: Simulator) -> None:
    some = fitted.select(np.flatnonzero(fitted.means > 0.1))
    equal = some.with_means(0.3)
    assert np.abs(equal.means - 0.3).max() < 1e-12
    drawn = equal.draw(SETS, 3)
    assert (np.abs(drawn.mean(axis=0) - 0.3) < 4.5 * drawn.std(axis=0) / np.sqrt(SETS)).all()
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    # The change is a power of the distribution function, or of what is above it.
    k = int(np.argmin(some.means))
    inside = (some.cdf[k] > 1e-6) & (some.cdf[k] < 1 - 1e-6)
    powers = np.log(equal.cdf[k, inside]) / np.log(some.cdf[k, inside])
    assert powers == pytest.approx(powers[0], rel=1e-6)
    assert powers[0] > 1
    same = some.with_means(some.means)
    assert (same.cdf == some.cdf).all()


def test_copulas(ap: np.ndarray, fitted: Simulator) -> None:
    """Gaussian: Spearman's rho is 6/pi asin(r/2); t: the chance that both are low is larger."""
    drawn = fitted.draw(SETS, 5)[:, :4]
    want = 6 / np.pi * np.arcsin(fitted.correlation[:4, :4] / 2)
    assert stats.spearmanr(drawn).statistic == pytest.approx(want, abs=0.03)
    heavy = fit_simulator(ap, copula="t", df=3.0)
    assert heavy.means == pytest.approx(fitted.means)
    assert heavy.draw(SETS, 5).mean(axis=0) == pytest.approx(heavy.means, abs=0.01)
    lows = [
        ((one < np.quantile(one, 0.02, axis=0)).mean(axis=1) > 0.5).mean()
        for one in (fitted.draw(SETS, 6), heavy.draw(SETS, 6))
    ]
    assert lows[1] > 1.5 * lows[0]
    shrunk = fit_simulator(ap, shrinkage=1.0)
    off = ~np.eye(len(shrunk.systems), dtype=bool)
    assert np.ptp(shrunk.correlation[off]) < 1e-12
    want = 6 / np.pi * np.arcsin(shrunk.correlation[0, 1] / 2)
    rho = stats.spearmanr(shrunk.draw(SETS, 5)).statistic
    assert rho[off].mean() == pytest.approx(want, abs=0.02)


def test_empirical_copula(ap: np.ndarray) -> None:
    """Ranks are those of real topics, and means are right."""
    found = fit_simulator(ap, copula="empirical")
    drawn = found.draw(SETS, 5)
    error = drawn.std(axis=0) / np.sqrt(SETS)
    assert (np.abs(drawn.mean(axis=0) - ap.mean(axis=0)) < 4.5 * error).all()
    away = stats.spearmanr(drawn).statistic - stats.spearmanr(ap).statistic
    assert np.abs(away).max() < 0.1
    assert found.ranks is not None
    assert (np.sort(found.ranks, axis=0) == np.arange(50)[:, None]).all()
    assert (stats.rankdata(ap, axis=0, method="min") <= found.ranks + 1).all()
    assert (stats.rankdata(ap, axis=0, method="max") >= found.ranks + 1).all()
    assert (found.draw(9, 1)[:5] == found.draw(5, 1)).all()


def test_t_test_holds_its_level_on_one_margin(fitted: Simulator) -> None:
    """What Urbano, Lima and Hanjalic (2019b), figure 3, find of t on AP: .05 or a little less."""
    like = fitted.with_margin_of("5")
    assert like.means.tolist() == [fitted.means[4]] * len(like.means)
    drawn = like.select([1, 9]).draw(25 * 4000, 11).reshape(4000, 25, 2)
    p = stats.ttest_rel(drawn[:, :, 0], drawn[:, :, 1], axis=1).pvalue
    assert abs((p <= 0.05).mean() - 0.05) < 0.012


def test_streams(fitted: Simulator) -> None:
    assert (fitted.draw(5, 1, 2) == fitted.draw(5, 1, 2)).all()
    assert (fitted.draw(9, 1, 2)[:5] == fitted.draw(5, 1, 2)).all()
    assert (fitted.draw(5, 1, 2) != fitted.draw(5, 1, 3)).any()
    two = fitted.select([0, 3])
    assert (two.draw(5, 1) == fitted.draw(5, 1)[:, [0, 3]]).all()


def test_other_ranges() -> None:
    values = np.random.default_rng(2).gamma(2.0, 3.0, size=(60, 3))
    found = fit_simulator(values)
    assert (found.points[0], found.points[-1]) == (values.min(), values.max())
    assert found.means == pytest.approx(values.mean(axis=0), abs=1e-9)


def test_resampled() -> None:
    values = np.random.default_rng(3).random((7, 4, 2))
    values[2, :, 1] = np.nan
    real = Resampled(values)
    assert real.means == pytest.approx(np.nanmean(values, axis=(0, 2)))
    equal = real.with_means(0.25)
    assert equal.means == pytest.approx(0.25)
    assert np.nanstd(equal.values, axis=(0, 2)) == pytest.approx(np.nanstd(values, axis=(0, 2)))
    drawn = equal.draw(30, 1, 4)
    assert drawn.shape == (30, 4, 2)
    assert all(any(np.array_equal(one, of, equal_nan=True) for of in equal.values) for one in drawn)
