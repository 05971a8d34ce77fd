"""Tests that draw random numbers: exact where they can be, the same bits everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance.resampling import as_integers
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
    from cranfield.base.streams import stream
    from cranfield.significance.models.anova import fit_factorial, fit_two_way
    from cranfield.significance.models.random_topics import Refits
    from cranfield.significance.registry import Options

    rng = np.random.default_rng(6)
    options = Options(resamples=7, seed=5)
    for shape in ((6, 4, 1), (6, 4, 3)):
        residuals = rng.standard_normal(shape)
        refits = Refits.draw(residuals, options)
        # The same draws, and the model fitted by the function that fits scores.
        t, s, k = shape
        drawn = stream(5, 0).integers(0, t * s * k, size=(7, s, t, k))
        for b in range(7):
            values = residuals.ravel()[drawn[b]].transpose(1, 0, 2)
            table = fit_two_way(values[:, :, 0])[0]
            if k > 1:
                table = fit_factorial(values, "Topic", "System", "Topic:System")
            np.testing.assert_allclose(refits.effects[:, b], values.mean(axis=(0, 2)), atol=1e-12)
            assert refits.errors[b] == pytest.approx(np.sqrt(table.ms_error), rel=1e-9)


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


@pytest.mark.parametrize("test", ["bootstrap-shift", "bootstrap-median"])
def test_few_topics_make_unstudentised_pvalues_too_small(test: str) -> None:
    found = cf.compare(scored(np.array([[0.5, 0.1], [0.6, 0.3]])), test=test)
    assert found.adjusted_pvalues[0] < 0.001
    expected = "2 topics are few for resampling topics (about 12 are needed): p-values of this test"
    assert any(note.startswith(expected) for note in found.notes)
    flips = [note for note in found.notes if note.startswith("exact sign flips")]
    assert bool(flips) == (test == "bootstrap-shift")
    many = cf.compare(scored(np.random.default_rng(4).random((12, 2))), test=test)
    assert not [note for note in many.notes if "few" in note or "flips" in note]
