"""The step-down max-T correction: against a naive version, and where variances differ."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance.corrections.resampled import max_t_pvalues
from cranfield.significance.differences import Pairs, against, all_pairs
from cranfield.significance.registry import Options
from cranfield.significance.resampling import random_signs

Floats = np.ndarray


def naive(values: Floats, signs: Floats, alternative: str) -> list[float]:
    """Westfall and Young's algorithm 4.1 word for word, on Student's t."""
    pairs = list(itertools.combinations(range(values.shape[1]), 2))

    def t_of(differences: Floats) -> float:
        n = len(differences)
        spread = np.sqrt(((differences - differences.mean()) ** 2).sum() / (n - 1) / n)
        t = differences.mean() / spread
        return float({"two-sided": abs(t), "greater": t, "less": -t}[alternative])

    observed = [t_of(values[:, i] - values[:, j]) for i, j in pairs]
    falling = sorted(range(len(pairs)), key=lambda k: -observed[k])
    counts = dict.fromkeys(falling, 0)
    for row in signs:
        found = [t_of(row * (values[:, i] - values[:, j])) for i, j in pairs]
        for place, k in enumerate(falling):
            if max(found[other] for other in falling[place:]) >= observed[k] - 1e-9:
                counts[k] += 1
    p, last = {}, 0.0
    for k in falling:
        last = max(last, (counts[k] + 1) / (len(signs) + 1))
        p[k] = last
    return [p[k] for k in range(len(pairs))]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("n", [5, 12])
def test_against_a_naive_version(alternative: str, n: int) -> None:
    rng = np.random.default_rng(n)
    for k in range(5):
        values = rng.normal(0, [0.1, 0.5, 0.2, 0.3], (n, 4)) + np.array([0, 0.4, 0.05, 0.2])
        options = Options(alternative, resamples=99, seed=k)
        signs = random_signs(99, n, k)
        found = max_t_pvalues(all_pairs(values), options)
        assert found.tolist() == pytest.approx(naive(values, signs, alternative), abs=1e-12)


def test_one_pair_is_the_randomisation_test() -> None:
    """For one pair the largest t is its own, and t rises with the mean difference."""
    values = np.random.default_rng(0).random((60, 2)) + np.array([0, 0.1])
    one = max_t_pvalues(all_pairs(values), Options(resamples=2000, seed=4))
    other = cf.compare(values, test="randomisation", exact=False, resamples=2000, seed=4)
    assert one[0] == pytest.approx(other.raw_pvalues[0])


def test_what_must_hold() -> None:
    rng = np.random.default_rng(7)
    values = rng.random((30, 6)) * np.array([0.1, 0.2, 0.4, 0.8, 1, 1])
    pairs = all_pairs(values)
    options = Options(resamples=499, seed=1)
    p = max_t_pvalues(pairs, options)
    raw = np.concatenate(
        [
            max_t_pvalues(Pairs(values, pairs.first[k : k + 1], pairs.second[k : k + 1]), options)
            for k in range(len(pairs))
        ]
    )
    assert ((p >= raw) & (p <= 1)).all()
    # Names, units and threads do not matter; a system that is the same is no different.
    np.testing.assert_array_equal(p, max_t_pvalues(all_pairs(values * 7 + 3), options))
    np.testing.assert_array_equal(p, max_t_pvalues(pairs, Options(resamples=499, seed=1, jobs=1)))
    twin = np.column_stack([values[:, :2], values[:, 0]])
    assert max_t_pvalues(all_pairs(twin), options)[1] == 1.0
    # Fewer pairs are corrected less.
    some = against(values, [0])
    chosen = [k for k in range(len(pairs)) if pairs.first[k] == 0]
    assert (max_t_pvalues(some, options) <= p[chosen]).all()


def test_it_holds_its_level_where_variances_differ() -> None:
    """Tukey's HSD calls pairs of noisy systems different too often; max-T does not."""
    sets, wrong, told = 200, {"tukey": 0, "max-t": 0}, 0
    deviations = np.array([0.03] * 6 + [0.3, 0.3])
    for k in range(sets):
        rng = np.random.default_rng(k)
        values = rng.normal(0, deviations, (20, 8)) + rng.normal(0, 0.2, (20, 1))
        wrong["max-t"] += (
            max_t_pvalues(all_pairs(values), Options(resamples=299, seed=k)).min() <= 0.05
        )
        found = cf.compare(values, correction="tukey")
        wrong["tukey"] += found.adjusted_pvalues.min() <= 0.05
        told += any("bootstrap-tukey" in note for note in found.notes)
    assert told > 0.9 * sets
    # Three standard errors of .05 in 200 sets are .046.
    assert wrong["max-t"] / sets < 0.096 < wrong["tukey"] / sets


def test_the_note_stays_away_where_variances_are_equal() -> None:
    values = np.random.default_rng(5).normal(0, 1, (50, 8))
    assert not any(
        "bootstrap-tukey" in note for note in cf.compare(values, correction="tukey").notes
    )


def test_in_a_comparison() -> None:
    values = np.random.default_rng(2).random((25, 5))
    found = cf.compare(values, test="t", correction="max-t", resamples=999, seed=3)
    assert (found.correction, found.seed, found.resamples) == ("max-t", 3, 999)
    assert "step-down max-T" in str(found)
    assert (found.adjusted_pvalues >= found.raw_pvalues - 0.05).all()
    baseline = cf.compare(values, test="t", correction="westfall-young", baseline="1")
    assert len(baseline) == 4
