"""Tests that draw random numbers: exact where they can be, the same bits, limits as p-values."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream
from cranfield.significance.differences import Pairs, pair_all
from cranfield.significance.pairwise import bootstrap
from cranfield.significance.pairwise.bootstrap import unpaired_bootstrap_test
from cranfield.significance.registry import TestOptions, find_test
from cranfield.significance.resampling import (
    MIN_RELATIVE_VARIANCE,
    RELATIVE_TOLERANCE,
    CentredRows,
    as_integers,
    bound_by_bootstrap_t,
    count_extreme_values,
    count_in_tail,
)
from tests.significance.helpers import scored

# Tests without this choice warn; it is passed to all.
pytestmark = pytest.mark.filterwarnings("ignore:exact has no effect")

RANDOM = (
    *("randomisation", "bootstrap", "bootstrap-shift", "bootstrap-unpaired", "bootstrap-anova"),
    "tukey",
)


@pytest.fixture(scope="module")
def scores() -> cf.Scores:
    rng = np.random.default_rng(8)
    values = np.clip(0.3 + 0.2 * rng.random((30, 1)) + 0.1 * rng.standard_normal((30, 9)), 0, 1)
    values[:, 5] += 0.05
    return cf.Scores(values, tuple(map(str, range(30))), tuple("abcdefghi"))


def compared(scores: cf.Scores, test: str, **options: Any) -> cf.PairwiseComparison:
    if test == "tukey":
        return cf.compare(scores, test="randomisation", correction="randomised-tukey", **options)
    return cf.compare(scores, test=test, correction="none", exact=False, **options)


@pytest.mark.parametrize("test", RANDOM)
def test_the_number_of_threads_changes_nothing(scores: cf.Scores, test: str) -> None:
    one, many = (compared(scores, test, seed=3, jobs=jobs, resamples=3000) for jobs in (1, 4))
    assert (one.adjusted_pvalues == many.adjusted_pvalues).all()
    assert (np.array(one.interval) == np.array(many.interval)).all()
    assert (one.seed, one.resamples) == (3, 3000)


SCRIPT = """
import hashlib, sys, numpy as np, cranfield as cf
rng = np.random.default_rng(8)
scores = cf.Scores(rng.random((30, 9)), list(range(30)), list("abcdefghi"))
for test in {tests}:
    correction = "randomised-tukey" if test == "tukey" else "none"
    name = "randomisation" if test == "tukey" else test
    found = cf.compare(scores, test=name, correction=correction, exact=False, resamples=500)
    print(hashlib.sha256(found.adjusted_pvalues.tobytes()).hexdigest())
"""


def test_other_processes_give_the_same_bits(capfd: pytest.CaptureFixture[str]) -> None:
    """BLAS with one thread and with several adds in another order; nothing shows it."""
    script = SCRIPT.format(tests=RANDOM)
    exec(script, {})
    has_one = os.environ.get("OPENBLAS_NUM_THREADS") == "1" or os.cpu_count() == 1
    threads = "4" if has_one else "1"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    assert done.stdout == capfd.readouterr().out
    assert len(done.stdout.split()) == len(RANDOM)


@pytest.mark.parametrize("test", RANDOM)
def test_p_is_never_zero(test: str) -> None:
    values = np.random.default_rng(0).random((20, 3)) * 0.01 + np.array([0.0, 0.5, 1.0])
    scores = cf.Scores(values, list(range(20)), "abc")  # type: ignore[arg-type]
    found = compared(scores, test, resamples=99)
    assert found.adjusted_pvalues.tolist() == [0.01] * 3


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_randomisation_by_samples_comes_close_to_all_assignments(side: str) -> None:
    values = np.random.default_rng(4).integers(0, 6, (12, 8)) / 5
    options: dict[str, Any] = {"alternative": side, "baseline": "s0", "resamples": 40_000}
    options |= {"test": "randomisation", "correction": "none"}
    exact, drawn = (cf.compare(scored(values), exact=x, **options) for x in (True, False))
    assert exact.details["exact"] is True
    error = np.sqrt(exact.raw_pvalues * (1 - exact.raw_pvalues) / 40_000)
    assert (np.abs(exact.raw_pvalues - drawn.raw_pvalues) <= 5 * error + 1e-4).all()


def test_integers_lose_nothing_that_counts() -> None:
    rng = np.random.default_rng(1)
    for scale in (1e-30, 1.0, 1e30):
        values = rng.standard_normal((50, 20)) * scale
        integers, unit = as_integers(values, 100)
        assert (integers == np.rint(integers)).all()
        assert np.abs(integers).sum() < 2.0**53 * 20
        assert np.abs(integers * unit - values).max() <= unit / 2
        assert unit <= 2.0**-43 * np.abs(values).max()
    zeros, unit = as_integers(np.zeros((3, 2)), 6)
    assert not zeros.any()
    assert unit == 1.0


def test_thousands_of_topics_need_little_memory() -> None:
    values = np.random.default_rng(5).random((2000, 2))
    tracemalloc.start()
    cf.compare(values, resamples=10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2000 * 10_000 * np.dtype(np.float64).itemsize


def test_bootstrap_anova_fits_the_model_again() -> None:
    from cranfield.base.streams import make_stream
    from cranfield.significance.models.anova import fit_factorial, fit_two_way
    from cranfield.significance.models.random_topics import Refits
    from cranfield.significance.registry import TestOptions

    rng = np.random.default_rng(6)
    options = TestOptions(resamples=7, seed=5)
    for shape in ((6, 4, 1), (6, 4, 3)):
        residuals = rng.standard_normal(shape)
        refits = Refits.draw(residuals, options)
        # The same draws, and the model fitted by the function that fits scores.
        t, s, k = shape
        drawn = make_stream(5, 0).integers(0, t * s * k, size=(7, s, t, k))
        for b in range(7):
            values = residuals.ravel()[drawn[b]].transpose(1, 0, 2)
            table = fit_two_way(values[:, :, 0])[0]
            if k > 1:
                table = fit_factorial(values, "Topic", "System", "Topic:System")
            np.testing.assert_allclose(refits.effects[:, b], values.mean(axis=(0, 2)), atol=1e-12)
            assert refits.root_ms_errors[b] == pytest.approx(np.sqrt(table.ms_error), rel=1e-9)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_shift_bootstrap_against_all_samples(side: str) -> None:
    """All 5^5 samples of the centred differences, each as probable."""
    d = np.array([0.3, 0.1, -0.1, 0.25, 0.08])
    means = (d - d.mean())[np.array(list(product(range(5), repeat=5)))].mean(axis=1)
    # A one-sided test is against differences of the other sign: so far up, or so far down.
    turn = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[side]
    exact = (turn(means) >= turn(d.mean()) - 1e-12).mean()
    options: dict[str, Any] = {"test": "bootstrap-shift", "alternative": side, "alpha": 0.2}
    found = cf.compare({"x": 0.5 + d, "y": np.full(5, 0.5)}, resamples=200_000, **options)
    error = np.sqrt(exact * (1 - exact) / 200_000)
    assert found.adjusted_pvalues[0] == pytest.approx(exact, abs=4 * error)
    assert found.statistic[0] == pytest.approx(d.mean(), abs=1e-15)
    low, high = found.interval
    assert ((low > 0) | (high < 0))[0] == found.is_significant()[0]
    if side == "two-sided":
        half = np.quantile(np.abs(means), 0.8, method="inverted_cdf")
        assert (low[0], high[0]) == pytest.approx((d.mean() - half, d.mean() + half), abs=1e-9)


@pytest.mark.parametrize(("test", "p"), [("bootstrap-shift", 1e-4), ("bootstrap-median", 0.5)])
def test_few_topics_make_unstudentised_pvalues_too_small(test: str, p: float) -> None:
    found = cf.compare(scored(np.array([[0.5, 0.1], [0.6, 0.3]])), test=test)
    assert found.adjusted_pvalues[0] == pytest.approx(p, rel=1e-3)
    few = "2 topics are few for resampling topics (about 12 are needed): p-values of this test"
    unreachable = (
        "no difference can be significant at 0.05 with 2 topics: the smallest possible p-value"
    )
    assert any(note.startswith(unreachable if p > 0.05 else few) for note in found.notes)
    flips = [note for note in found.notes if note.startswith("exact sign flips")]
    assert bool(flips) == (test == "bootstrap-shift")
    many = cf.compare(scored(np.random.default_rng(4).random((12, 2))), test=test)
    assert not [note for note in many.notes if "few" in note or "flips" in note]


SIDES = ("two-sided", "greater", "less")


def uncorrected(values: Floats, test: str, **options: Any) -> cf.PairwiseComparison:
    topics, systems = (tuple(map(str, range(size))) for size in values.shape)
    if options.get("alternative", "two-sided") != "two-sided":
        options["baseline"] = "0"
    return cf.compare(cf.Scores(values, topics, systems), test=test, correction="none", **options)


def drawn_again(values: Floats, _: Pairs) -> Floats:
    return values.copy()


def some_values(rng: np.random.Generator, kind: int) -> Floats:
    """Return scores of few topics, with ties, so that everything that may be rare happens."""
    shape = (int(rng.integers(2, 13)), 5)
    values = rng.random(shape)
    values = (values, np.round(values, 1), np.round(2 * values) / 2, np.round(values))[kind]
    return np.asarray(values + np.arange(5) * rng.choice([0, 0.1, 0.3]))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("test", "exact"),
    [
        ("bootstrap", None),
        ("bootstrap-anova", None),
        ("randomisation", True),
        ("randomisation", False),
    ],
)
def test_limits_leave_out_zero_exactly_where_p_is_small(
    test: str, exact: bool | None, side: str
) -> None:
    rng = np.random.default_rng(7)
    seen = 0
    for trial in range(60):
        values = some_values(rng, trial % 4)
        found = uncorrected(
            values,
            test,
            exact=exact,
            alternative=side,
            alpha=float(rng.choice([0.01, 0.05, 0.1, 0.2])),
            resamples=int(rng.choice([19, 39, 99, 500, 999])),
            seed=trial,
        )
        low, high = found.interval
        outside = (low > 0) | (high < 0)
        assert (outside == (found.raw_pvalues <= found.alpha)).all()
        seen += outside.sum()
    assert 0 < seen < 600


@pytest.mark.parametrize(
    ("test", "exact"), [("bootstrap", None), ("randomisation", True), ("randomisation", False)]
)
def test_sums_that_are_equal_but_for_rounding_do_not_part_limits_and_p(
    test: str, exact: bool | None
) -> None:
    # Two wins of six: with four wins, a sample has the same t. As tenths they are not quite equal.
    x = np.array([0.4, 0.7, 0.1, 0.2, 0.3, 0.9])
    wins = np.array([1, 1, 0, 0, 0, 0])
    others = np.array([0.1, 0.2, 0.3, -0.1, 0.2, -0.1])
    for difference in (*(wins * k / 10 for k in (1, 3, 6, 7)), others):
        values = np.column_stack([x, x - difference])
        found = uncorrected(values, test, exact=exact, resamples=199, seed=1)
        for alpha in np.arange(1, 64) / 64 if exact else np.arange(1, 200) / 200:
            low, high = found.two_sided_interval(1 - alpha)
            assert ((low[0] > 0) | (high[0] < 0)) == (found.raw_pvalues[0] <= alpha), alpha


def test_a_t_that_is_reached_but_for_rounding_is_not_left_out() -> None:
    pair = pair_all(np.zeros((2, 2)))
    for t, reached in ((1 - 1e-13, True), (1 - 1e-11, False)):
        for difference in (np.array([0.3]), np.array([-0.3])):
            error, quantile = np.array([0.1]), 3.0 * t
            drawn = np.full((1, 19), quantile)
            low, high = bound_by_bootstrap_t(
                pair, difference, error, partial(drawn_again, drawn), TestOptions(resamples=19), 0.9
            )
            assert (low[0] <= 0 <= high[0]) == reached
            found = np.array([[3.0 * t]])
            count = count_extreme_values(
                found, difference / error, "two-sided", rtol=RELATIVE_TOLERANCE
            )
            assert count[0] == reached


@pytest.mark.parametrize("side", SIDES)
def test_exact_limits_are_where_the_exact_test_turns(side: str) -> None:
    rng = np.random.default_rng(2)
    for trial in range(5):
        x, y = np.round(rng.random((2, 9)), 2)
        found = cf.compare({"x": x, "y": y}, test="randomisation", alternative=side)
        for limit, inward in zip(found.interval, (1e-6, -1e-6), strict=True):
            if np.isinf(limit[0]):
                assert side != "two-sided"
                continue
            for step, rejected in ((0.0, False), (inward, False), (-inward, True)):
                moved = cf.compare(
                    {"x": x, "y": y + limit[0] + step}, test="randomisation", alternative=side
                )
                assert (moved.raw_pvalues[0] <= 0.05) == rejected, trial


def test_it_is_said_when_an_exact_test_has_limits_by_samples() -> None:
    rng = np.random.default_rng(0)
    for topics, sampled in ((16, False), (17, True)):
        values = np.asarray(rng.random((topics, 2)), dtype=np.float64)
        found = uncorrected(values, "randomisation", resamples=500, seed=4)
        assert found.details["exact"] is True
        assert found.resamples is found.seed is None
        assert ("interval resamples" in found.details) == sampled
        if sampled:
            assert found.details["interval resamples"] == 500
            assert found.details["interval seed"] == 4
        again = uncorrected(values, "randomisation", seed=1)
        other = uncorrected(values, "randomisation", seed=2)
        assert (np.array(again.interval) != np.array(other.interval)).any() == sampled


def test_p_values_stay_the_same() -> None:
    """Ways of counting may change; what a seed gives may not."""
    rng = np.random.default_rng(21)
    spread = 0.2 * rng.standard_normal((15, 3))
    values: Floats = np.round(np.clip(0.4 + spread + np.array([0, 0.05, 0.2]), 0, 1), 2)
    known = {
        "randomisation": ([553, 56, 143], [736, 973, 932], [270, 28, 73]),
        "bootstrap": ([571, 53, 111], [728, 990, 949], [273, 11, 52]),
        "bootstrap-unpaired": ([584, 23, 97], [711, 991, 959], [294, 10, 43]),
        "bootstrap-anova": ([600, 26, 101], [700, 986, 953], [301, 15, 48]),
    }
    for test, counts in known.items():
        for side, count in zip(SIDES, counts, strict=True):
            options = TestOptions(exact=False, resamples=999, seed=5, alternative=side)
            found = find_test(test).run(pair_all(values), options).pvalue
            assert np.rint(found * 1000).astype(int).tolist() == count, (test, side)


def test_ranks_of_tails_are_not_one_off() -> None:
    for alpha in (0.05, 0.1, 0.01, 0.001):
        for number in (999, 9999, 99_999):
            whole = round(alpha * (number + 1))
            assert count_in_tail(1 - (1 - alpha), number) == whole
            assert count_in_tail((1 - (1 - 2 * alpha)) / 2, number) == whole


def test_differences_that_are_all_but_constant_have_an_interval() -> None:
    rng = np.random.default_rng(1)
    x = rng.random(50)
    noise = 1e-6 * rng.standard_normal(50)
    found = cf.compare({"x": x + 0.5 + noise, "y": x}, test="bootstrap")
    low, high = (limit[0] - 0.5 for limit in found.interval)
    assert -1e-6 < low < noise.mean() < high < 1e-6
    assert found.raw_pvalues[0] == 1 / 10_001


def test_samples_of_one_value_do_not_vary() -> None:
    rng = np.random.default_rng(5)
    for n in (2, 3, 10, 100, 1000):
        values = rng.random((40, n)) * 10.0 ** rng.integers(-9, 9, (40, 1))
        values[:, 0] = 1.0 + values.max(axis=1)
        centred = values - values.mean(axis=1)[:, None]
        mean, variance = CentredRows(centred, np.full(40, 1e-150)).compute_moments(n * np.eye(n))
        assert not variance.any()
        np.testing.assert_allclose(mean, centred, atol=1e-9 * np.abs(centred).max())
        # The noise is far below what is taken for none.
        size = np.abs(centred).max(axis=1, keepdims=True)
        parts = centred / size
        unit = 2.0 ** (52 - int(np.ceil(np.log2(n))))
        rounded = np.rint(parts**2 * unit) / unit - (np.rint(parts * unit) / unit) ** 2
        assert np.abs(rounded).max() < n * MIN_RELATIVE_VARIANCE / 40


def test_samples_without_the_outlier_still_vary() -> None:
    values = np.concatenate([[1.0], 1e-5 * np.random.default_rng(1).random(49)])
    centred = (values - values.mean())[None]
    counts = np.r_[0.0, 2.0, np.ones(48)][None]
    _, variance = CentredRows(centred, np.full(1, 1e-150)).compute_moments(counts)
    expected = np.repeat(values, counts[0].astype(int)).var(ddof=1)
    assert variance[0, 0] == pytest.approx(expected, rel=0.02)


def bound_by_welch(x: Floats, y: Floats, resamples: int, side: str) -> tuple[float, float]:
    """Return bootstrap-t limits, by Efron and Tibshirani (1993), one sample at a time."""

    def error(a: Floats, b: Floats) -> float:
        return float(np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size))

    rng = np.random.default_rng(99)
    t = []
    for _ in range(resamples):
        a, b = rng.choice(x, x.size), rng.choice(y, y.size)
        t.append((a.mean() - x.mean() - b.mean() + y.mean()) / error(a, b))
    difference = float(x.mean() - y.mean())
    if side == "two-sided":
        half = float(np.quantile(np.abs(t), 0.95)) * error(x, y)
        return difference - half, difference + half
    low, high = np.quantile(t, [0.05, 0.95]) * error(x, y)
    return (difference - high, np.inf) if side == "greater" else (-np.inf, difference - low)


@pytest.mark.parametrize("side", SIDES)
def test_unpaired_limits(side: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.beta(1, 4, 18), rng.beta(2, 2, 30)
    found = cf.compare(
        {"x": x, "y": y}, test="bootstrap-unpaired", alternative=side, resamples=20_000
    )
    known = bound_by_welch(x, y, 5000, side)
    for ours, theirs in zip(found.interval, known, strict=True):
        np.testing.assert_allclose(ours[0], theirs, atol=0.01)


def test_unpaired_limits_without_variance() -> None:
    constant = cf.compare({"x": [0.3] * 4, "y": [0.1] * 5}, test="bootstrap-unpaired")
    assert [limit[0] for limit in constant.two_sided_interval(0.95)] == pytest.approx([0.2, 0.2])
    # Half of the samples of two scores are of one score: t is without bounds.
    few = cf.compare({"x": [0.3, 0.4], "y": [0.1] * 5}, test="bootstrap-unpaired")
    assert np.isinf(few.two_sided_interval(0.95)).all()


def test_seeds_of_unpaired_limits_do_not_meet() -> None:
    """No system draws with one seed what another one draws with the next."""
    x, flat = np.random.default_rng(0).random(12), np.zeros(12)
    limits = []
    for seed in (4, 5):
        for columns in ((x, flat), (flat, x)):
            pairs = pair_all(np.column_stack(columns))
            low, high = bootstrap.bound_by_welch(pairs, TestOptions(resamples=99, seed=seed), 0.9)
            limits.append(high[0] - low[0])
    assert len(set(limits)) == 4
    paths = ((), (0,), (1,), (0, 0), (0, 1), (1, 0))
    firsts = {int(make_stream(s, *path).integers(2**62)) for s in (0, 1) for path in paths}
    assert len(firsts) == 12


def test_unpaired_memory_is_bounded() -> None:
    pairs = pair_all(np.random.default_rng(0).random((5000, 2)))
    tracemalloc.start()
    unpaired_bootstrap_test(pairs, TestOptions(resamples=2500)).interval(0.95)
    size = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    assert size < 150  # all weights together have 190 MB
