"""Rank-biased overlap of two runs, topic by topic."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.correlation import rbo, rbo_of_runs


def _scores(rng: np.random.Generator, docs: int, levels: int) -> dict[str, float]:
    names = rng.permutation(40)[:docs]
    return {f"d{k}": float(rng.integers(-levels, levels)) for k in names}


@pytest.mark.parametrize("ties", ["w", "a", "b"])
@pytest.mark.parametrize("levels", [2, 1000])
def test_each_topic_is_that_of_its_rankings(ties: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    one = {f"q{k}": _scores(rng, int(rng.integers(1, 30)), levels) for k in range(8)}
    other = {f"q{k}": _scores(rng, int(rng.integers(1, 30)), levels) for k in (9, 7, 5, 3, 1)}
    found = rbo_of_runs(cf.read_run(one), cf.read_run(other), 0.8, ties=ties)
    assert found["topic"].to_list() == [*(f"q{k}" for k in range(8)), "q9"]
    for row in found.iter_rows(named=True):
        topic = row["topic"]
        assert row["first"] == len(one.get(topic, {}))
        assert row["second"] == len(other.get(topic, {}))
        if topic in one and topic in other:
            expected = rbo(one[topic], other[topic], 0.8, ties=ties)
            values = (row["ext"], row["min"], row["res"])
            np.testing.assert_allclose(values, (expected.ext, expected.min, expected.res))
        else:
            assert row["ext"] is row["min"] is row["res"] is None


def test_zeros_of_both_signs_are_tied() -> None:
    one, other = (cf.read_run({"q": {"a": 0.0, "b": zero}}) for zero in (0.0, -0.0))
    assert rbo_of_runs(one, other, ties="w")["ext"].to_list() == [pytest.approx(1.0)]


def test_runs_without_common_topics() -> None:
    one, other = cf.read_run({"q1": {"a": 1}}), cf.read_run({"q2": {"a": 1}})
    assert rbo_of_runs(one, other)["ext"].to_list() == [None, None]


def test_what_is_no_run_is_refused() -> None:
    run = cf.read_run({"q1": {"a": 1}})
    with pytest.raises(PolicyError, match="expected a run from cranfield.read_run, got dict"):
        rbo_of_runs(run, {"q1": {"a": 1}})  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="p must be"):
        rbo_of_runs(run, run, 2)
