"""Extrapolation against the power of the t-test, and simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import studentized_range, t

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.meta.topic_studies.extrapolation import Extrapolation, extrapolate
from cranfield.significance import power_t
from tests.meta.topic_studies.test_generalizability import made
from tests.significance.helpers import scored


def row(found: Extrapolation, topics: int, means: str) -> dict[str, float]:
    part = found.curve.filter((pl.col("topics") == topics) & (pl.col("means") == means))
    return part.row(0, named=True)


def test_two_systems_are_the_paired_t_test() -> None:
    values = np.random.default_rng(2).normal(size=(30, 2)) + [0.0, 0.4]
    found = extrapolate(values, [10, 30, 200])
    difference = abs(float(np.diff(values.mean(axis=0))[0]))
    error = float(np.var(values[:, 0] - values[:, 1], ddof=1)) / 2
    for topics in (10, 30, 200):
        wanted = power_t(topics, difference=difference, variance=error)
        assert row(found, topics, "observed")["significant"] == pytest.approx(float(wanted))


def simulated(true: Floats, topics: int, correction: str, seed: int) -> dict[str, Floats]:
    """Draw two sets of topics with errors of 0.2 for each row of true means, and test the first."""
    random = np.random.default_rng(seed)
    repeats, systems = true.shape
    first, second = np.triu_indices(systems, 1)
    one, other = (
        true[:, None] + 0.2 * random.normal(size=(repeats, topics, systems)) for _ in range(2)
    )
    means = one.mean(axis=1)
    left = (
        one - one.mean(axis=2, keepdims=True) - means[:, None] + means.mean(axis=1)[:, None, None]
    )
    df = (topics - 1) * (systems - 1)
    error = np.sqrt((left**2).sum(axis=(1, 2)) / df * 2 / topics)
    critical = {
        "tukey": studentized_range.isf(0.05, systems, df) / np.sqrt(2),
        "none": t.isf(0.025, df),
        "bonferroni": t.isf(0.025 / first.size, df),
    }[correction]
    apart, again, truly = (of[:, first] - of[:, second] for of in (means, other.mean(axis=1), true))
    return {
        "significant": (np.abs(apart) > critical * error[:, None]).sum(axis=1),
        "tau truth": (np.sign(apart) * np.sign(truly)).mean(axis=1),
        "tau repeat": (np.sign(apart) * np.sign(again)).mean(axis=1),
    }


@pytest.mark.parametrize("correction", ["tukey", "none", "bonferroni"])
def test_given_means_by_simulation(correction: str) -> None:
    # Scores with mean squares as wanted: what is observed is then the truth of the simulation.
    values = made(0.6, 0.5, 0.04, 6, 20)
    found = row(extrapolate(values, [12], correction=correction), 12, "observed")
    true = np.broadcast_to(values.mean(axis=0), (4000, 6))
    for name, samples in simulated(true, 12, correction, 8).items():
        slack = 4 * samples.std() / np.sqrt(4000)
        assert samples.mean() == pytest.approx(found[name], abs=slack), name


def test_normal_systems_by_simulation() -> None:
    # Variances of systems (0.84 - 0.04) / 20 = 0.04 and of the error 0.04.
    found = row(extrapolate(made(0.84, 0.5, 0.04, 6, 20), [5]), 5, "normal")
    true = 0.2 * np.random.default_rng(4).normal(size=(4000, 6))
    for name, samples in simulated(true, 5, "tukey", 9).items():
        slack = 4 * samples.std() / np.sqrt(4000)
        assert samples.mean() == pytest.approx(found[name], abs=slack), name


def test_trec_8() -> None:
    # AP of all 129 runs: Ferro and Maistro (2024), section 4.2.6, count 3,423 of 8,256 pairs.
    path = Path(__file__).parents[2] / "data" / "trec8" / "adhoc8_ap.csv"
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    found = extrapolate(values, [50])
    assert (found.n_significant, found.n_pairs) == (3423, 8256)
    assert row(found, 50, "shrunk")["significant"] == pytest.approx(3423, rel=0.02)
    low, high = (row(found, 50, f"normal {side}")["significant"] for side in ("low", "high"))
    assert low < 3423 < high


def test_shrunk_means_reproduce_what_was_observed() -> None:
    random = np.random.default_rng(6)
    observed, plain, shrunk = [], [], []
    for _ in range(60):
        values = 0.1 * random.normal(size=30) + 0.5 * random.normal(size=(20, 30))
        found = extrapolate(scored(values), [20], correction="none")
        observed.append(found.n_significant)
        plain.append(row(found, 20, "observed")["significant"])
        shrunk.append(row(found, 20, "shrunk")["significant"])
    assert np.mean(shrunk) == pytest.approx(np.mean(observed), rel=0.05)
    # Means scatter more than their truth does: without shrinkage too much is promised.
    assert np.mean(plain) > 1.1 * np.mean(observed)


def test_the_number_observed_is_that_of_the_comparison() -> None:
    values = np.random.default_rng(1).beta(2, 5, size=(25, 12)) + np.linspace(0, 0.4, 12)
    for correction in ("tukey", "none", "bonferroni"):
        found = extrapolate(values, [25], correction=correction, alpha=0.01)
        wanted = cf.compare(values, test="anova-2", correction=correction, alpha=0.01)
        assert found.n_significant == wanted.count()


def test_more_topics_find_more() -> None:
    found = extrapolate(made(0.6, 0.5, 0.04, 9, 20))
    for name in ("observed", "shrunk", "normal", "normal low", "normal high"):
        part = found.curve.filter(means=name).sort("topics")
        for column in ("significant", "tau truth", "tau repeat"):
            assert (np.diff(part[column].to_numpy()) >= 0).all()
    low, mid, high = (row(found, 50, name) for name in ("normal low", "normal", "normal high"))
    assert low["significant"] < mid["significant"] < high["significant"] <= found.n_pairs == 36
    assert "9 systems, 20 topics" in repr(found)


def test_a_confidence_next_to_1_has_no_limit() -> None:
    found = extrapolate(made(0.84, 0.5, 0.04, 6, 20), [5], confidence=1 - 2**-53)
    assert row(found, 5, "normal")["tau truth"] > 0.5
    assert np.isfinite(found.curve["tau truth"].to_numpy()).all()
