"""Coefficients beside published values, other programs and definitions written out."""

from __future__ import annotations

import itertools

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assess.agreement import coefficients
from cranfield.assess.agreement.coefficients import Tables
from tests.assess.agreement.ratings import many_assessors, two_assessors

NONE = np.nan
LEVELS = ("nominal", "ordinal", "interval", "ratio")


LAWS = (
    coefficients.compute_observed_agreement,
    coefficients.compute_fleiss_kappa,
    coefficients.compute_krippendorff_alpha,
)


def close(value: object, expected: float) -> bool:
    return abs(float(value) - expected) < 1e-12  # type: ignore[arg-type]


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_as_the_package_krippendorff(level: str) -> None:
    rng = np.random.default_rng(5)
    for units, assessors, gaps in itertools.product((5, 40), (2, 3, 7), (0.0, 0.3, 0.6)):
        ratings = rng.choice([0.0, 1.0, 2.0, 4.0], size=(units, assessors))
        ratings[rng.random(ratings.shape) < gaps] = np.nan
        if (np.isfinite(ratings).sum(axis=1) > 1).sum() < 3:
            continue
        expected = krippendorff.alpha(ratings.T, level_of_measurement=level)  # type: ignore[arg-type]
        assert close(
            coefficients.compute_krippendorff_alpha(many_assessors(ratings).sum_topics(), level),
            expected,
        )


def pairs_of(ratings: np.ndarray) -> list[tuple[float, float, int]]:
    """Every ordered pair of labels of one unit, and the unit's number of labels."""
    return [
        (a, b, len(known))
        for row in ratings
        for known in [row[~np.isnan(row)]]
        for i, a in enumerate(known)
        for j, b in enumerate(known)
        if i != j
    ]


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 4))
@settings(max_examples=30, deadline=None)
def test_laws_as_they_are_written(seed: int, units: int, assessors: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 3, size=(units, assessors)).astype(float)
    ratings[rng.random(ratings.shape) < 0.25] = np.nan
    listed = pairs_of(ratings)
    if not listed or len(grades := np.unique(ratings[~np.isnan(ratings)])) < 2:
        return
    weights = np.array([1 / (m * (m - 1)) for _, _, m in listed])
    equal = np.array([a == b for a, b, _ in listed])
    agreed = float((weights * equal).sum() / weights.sum())
    tables = many_assessors(ratings).sum_topics()
    assert close(coefficients.compute_observed_agreement(tables), agreed)
    share = np.mean(
        [[(row == g).sum() for g in grades] / (~np.isnan(row)).sum() for row in ratings
         if not np.isnan(row).all()], axis=0)  # fmt: skip
    by_chance = float((share**2).sum())
    assert close(coefficients.compute_fleiss_kappa(tables), (agreed - by_chance) / (1 - by_chance))
    rare = float((share * (1 - share)).sum() / (len(grades) - 1))
    assert close(coefficients.compute_gwet_ac(tables), (agreed - rare) / (1 - rare))
    relevant = tables.binarize(1)
    found = np.array([[a >= 1, b >= 1] for a, b, _ in listed])
    if found.any():
        both = (weights * found.all(axis=1)).sum()
        assert close(
            coefficients.compute_positive_agreement(relevant),
            float(2 * both / (weights * found.sum(axis=1)).sum()),
        )
        assert close(
            coefficients.compute_overlap(relevant),
            float(both / (weights * found.any(axis=1)).sum()),
        )


def test_one_grade_is_undefined() -> None:
    """Neither 0 nor 1: nothing could have been disagreed on."""
    tables = two_assessors([1, 1, 1], [1, 1, 1]).sum_topics()
    for law in (*LAWS[1:], coefficients.compute_cohen_kappa, coefficients.compute_gwet_ac):
        assert np.isnan(law(tables))
    assert close(coefficients.compute_observed_agreement(tables), 1.0)
    assert np.isnan(coefficients.compute_negative_agreement(tables.binarize(1)))


def test_no_common_unit() -> None:
    tables = many_assessors([[1, NONE], [NONE, 0]]).sum_topics()
    assert np.isnan([law(tables) for law in LAWS]).all()


def test_axes_of_samples() -> None:
    """A weight of 2 is a topic twice."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 3, size=(2, 60))
    topics = np.repeat([0, 1, 2], 20)
    for tables in (
        two_assessors(first, second, topics=topics),
        many_assessors(np.column_stack([first, second, first]), topics=topics),
    ):
        doubled = Tables.sum_weighted(tables, np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0]]))
        alone = np.concatenate([np.flatnonzero(topics == t) for t in (0, 1, 1)])
        again = two_assessors(first[alone], second[alone], grades=[0, 1, 2])
        if tables.joint is None:
            again = many_assessors(np.column_stack([first, second, first])[alone])
        assert close(
            coefficients.compute_krippendorff_alpha(doubled)[0],
            float(coefficients.compute_krippendorff_alpha(again)[0]),
        )
        assert close(
            coefficients.compute_observed_agreement(doubled)[1],
            float(coefficients.compute_observed_agreement(tables.sum_topics())),
        )
        without = tables.sum_other_topics()
        rest = tables.sum_weighted(1 - np.eye(3))
        np.testing.assert_allclose(
            coefficients.compute_gwet_ac(without), coefficients.compute_gwet_ac(rest), atol=1e-12
        )
