"""The power for pairs: against the noncentral t for two normal systems, and properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance import Resampled, fit_simulator, power_pairs, power_t, topics_needed

SETS = 300


def normal(systems: int, topics: int = 4000) -> Resampled:
    """Return a population that is normal, but for its finite size, with means of 0."""
    random = np.random.default_rng(8)
    values = random.normal(0, 0.2, (topics, 1)) + random.normal(0, 0.1, (topics, systems))
    return Resampled(values - values.mean(axis=0))


@pytest.mark.parametrize("topics", [10, 60])
def test_two_normal_systems_against_the_noncentral_t(topics: int) -> None:
    pool = normal(2)
    variance = float(np.var(np.diff(pool.values, axis=1))) / 2
    want = float(power_t(topics, difference=0.05, variance=variance))
    found = power_pairs(pool, topics=topics, difference=0.05, sets=SETS, seed=topics)
    error = np.sqrt(want * (1 - want) / SETS)
    assert abs(found.average[0] - want) < 4 * error
    assert found.any_pair == found.every_pair == found.average
    assert found.power_by_pair.shape == (1, 1)


def test_topics_needed_for_two_systems() -> None:
    pool = normal(2)
    variance = float(np.var(np.diff(pool.values, axis=1))) / 2
    want = topics_needed("t", difference=0.08, variance=variance).topics
    found = power_pairs(pool, difference=0.08, sets=150)
    assert found.needed == pytest.approx(want, abs=5)
    assert found.needed in found.topics


def test_many_systems() -> None:
    """Power rises with topics, and falls with systems; one mean apart is in m - 1 pairs."""
    some: dict[str, Any] = {"topics": [20, 40], "difference": 0.08, "sets": 80, "test": "anova-2"}
    few, many = (power_pairs(normal(m), correction="tukey", **some) for m in (3, 8))
    for one in (few, many):
        assert one.topics.tolist() == [20, 40]
        assert (one.every_pair <= one.average).all()
        assert (one.average <= one.any_pair).all()
        assert (np.diff(one.average) > 0).all()
        assert (one.errors < 0.15).all()
    assert (many.average < few.average).all()
    assert (many.test, many.correction) == ("anova-2", "tukey")
    assert many.power_by_pair.shape == (2, 28)
    none = power_pairs(normal(8), correction="none", **some)
    assert (none.average > many.average).all()
    assert (none.errors > 0.3).all()


def test_means_of_the_pilot_and_streams() -> None:
    covid = cf.bundled.trec_covid()
    pilot = cf.evaluate(covid.runs[::10], covid.qrels, "P@10")["P@10"]
    options: dict[str, Any] = {"test": "t", "correction": "max-t", "sets": 30, "resamples": 199}
    found = power_pairs(pilot, topics=[50, 20], jobs=2, **options)
    again = power_pairs(fit_simulator(pilot), topics=20, jobs=1, **options)
    assert found.topics.tolist() == [20, 50]
    assert (found.power_by_pair[0] == again.power_by_pair[0]).all()
    assert found.difference is None
    # The pair that is farthest apart is found most often.
    true = np.abs(pilot.mean()[found.first] - pilot.mean()[found.second])
    assert found.power_by_pair[1, np.argmax(true)] == found.power_by_pair[1].max()
    assert str(found).splitlines()[0].startswith("t, max-t: 4 systems, the pilot's means;")
