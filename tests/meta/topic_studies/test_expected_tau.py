"""Expected tau with the true ranking: against the authors' R code, and where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.correlation import kendall_tau
from cranfield.meta import expected_tau

MEANS = np.array([0.30, 0.295, 0.285, 0.27, 0.265, 0.25, 0.25, 0.22, 0.2, 0.1])


def normal_scores() -> Any:
    random = np.random.default_rng(42)
    shared = random.normal(size=(400, 1)) * 0.2
    return (shared + random.normal(size=(400, 10)) * 0.12 + MEANS).round(3)[:20]


def test_code_of_the_authors() -> None:
    """github.com/julian-urbano/sigir2016-correlation, in R 4.2, on the scores times 1000.

    There differences are whole numbers, of which R finds the ties. Resampling: 20,000 samples a
    pair; split halves without replacement: mean of 60 runs, whose standard error is .0035.
    """
    found = expected_tau(normal_scores(), resamples=20_000, seed=1)
    assert found.tau["ml"] == pytest.approx(0.6482906268, abs=1e-10)
    assert found.tau_ap["ml"] == pytest.approx(0.5734498934, abs=1e-10)
    assert found.tau["msqd"] == pytest.approx(0.6288465168, abs=1e-10)
    assert found.tau_ap["msqd"] == pytest.approx(0.5515918609, abs=1e-10)
    assert found.tau["resampling"] == pytest.approx(0.6678222222, abs=0.003)
    assert found.tau_ap["resampling"] == pytest.approx(0.5953942725, abs=0.003)
    values = normal_scores()
    halves = [expected_tau(values, resamples=1, seed=seed) for seed in range(30)]
    assert np.mean([one.tau["split-half"] for one in halves]) == pytest.approx(0.512, abs=0.015)
    assert np.mean([one.tau_ap["split-half"] for one in halves]) == pytest.approx(0.415, abs=0.015)


def test_where_the_truth_is_known() -> None:
    """Of normal systems, estimates are on average what tau with the true ranking is."""
    random = np.random.default_rng(4)
    actual, ml, msqd = [], [], []
    for _ in range(60):
        means = random.normal(size=12)
        values = means + random.normal(size=(50, 12)) * 2
        found = expected_tau(values, resamples=1)
        actual.append(float(kendall_tau(values.mean(0), means)))
        ml.append(found.tau["ml"])
        msqd.append(found.tau["msqd"])
    assert np.mean(ml) == pytest.approx(np.mean(actual), abs=0.03)
    assert np.mean(msqd) == pytest.approx(np.mean(actual), abs=0.03)


@pytest.mark.filterwarnings("error")
def test_odd_scores() -> None:
    """Systems far apart are in order; the same one twice is tied; low scores can be good."""
    base = np.linspace(0.1, 0.5, 9)
    apart = expected_tau({"a": base, "b": base + 10, "c": base + 20})
    assert set(apart.tau.values()) | set(apart.tau_ap.values()) == {1.0}
    twins = expected_tau({"a": base, "b": base, "c": base + 1})
    assert twins.tau["msqd"] == twins.tau["ml"] == twins.tau["resampling"] == 1 - 1 / 3
    few = expected_tau(np.random.default_rng(0).random((3, 4)))
    assert np.isnan(few.tau["split-half"])
    assert few.to_polars()["tau"].null_count() == 1
    values = normal_scores()
    labels = tuple(map(str, range(20))), tuple("abcdefghij")
    turned = expected_tau(cf.Scores(-values, *labels, lower_is_better=True))
    assert turned.tau == expected_tau(values).tau
    assert "expected correlation of the ranking of 10 systems by 20 topics with the true" in str(
        turned
    )
