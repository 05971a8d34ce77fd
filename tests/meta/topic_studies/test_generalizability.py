"""Generalizability theory against worked examples, printed results, simulation and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.meta.topic_studies.extrapolation import compute_t_test_power, generalizability
from cranfield.meta.topic_studies.variance_components import Generalizability
from cranfield.scores import Scores
from tests.significance.test_random_topics import LMER, scores


def made(system: float, topic: float, error: float, systems: int, topics: int) -> Floats:
    """Return scores of shape (topics, systems) with exactly these mean squares."""
    random = np.random.default_rng(3)
    noise = random.normal(size=(topics, systems))
    noise -= noise.mean(axis=0) + noise.mean(axis=1)[:, None] - noise.mean()
    noise *= np.sqrt(error * (systems - 1) * (topics - 1) / (noise**2).sum())
    of_systems, of_topics = random.normal(size=systems), random.normal(size=topics)
    of_systems -= of_systems.mean()
    of_topics -= of_topics.mean()
    of_systems *= np.sqrt(system * (systems - 1) / topics / (of_systems**2).sum())
    of_topics *= np.sqrt(topic * (topics - 1) / systems / (of_topics**2).sum())
    return np.asarray(0.3 + noise + of_systems + of_topics[:, None])


def trec_3(confidence: float = 0.95) -> Generalizability:
    # The 30 best runs of TREC-3 ad hoc on 50 topics: mean squares as the manual of GT4IReval 1.1
    # (Urbano) prints them, with the results below.
    return generalizability(made(0.15074, 0.85296, 0.010152, 30, 50), confidence=confidence)


def test_synthetic_data_set_4_of_brennan() -> None:
    # Brennan (2001), table 6.2 (mean squares and variances) and 6.5 (80% limits): 10 x 12.
    found = generalizability(made(10.2963, 11.6273, 2.7872, 10, 12), confidence=0.8)
    assert found.components["variance"].to_list() == pytest.approx(
        [0.6258, 0.8840, 2.7872], abs=6e-5
    )
    assert found.components["df"].to_list() == [9, 11, 99]
    relative, absolute = found.compute_relative(), found.compute_absolute()
    assert (relative.value, relative.low, relative.high) == pytest.approx(
        (0.729, 0.541, 0.876), abs=6e-4
    )
    assert (absolute.value, absolute.low, absolute.high) == pytest.approx(
        (0.672, 0.457, 0.845), abs=6e-4
    )


def test_variances_of_trec_3() -> None:
    found = trec_3()
    assert found.components["variance"].to_list() == pytest.approx(
        [0.0028117, 0.028093, 0.010152], rel=5e-5
    )
    assert found.components["proportion"].to_list() == pytest.approx(
        [0.068482, 0.68425, 0.24727], rel=5e-5
    )


@pytest.mark.parametrize(
    ("topics", "relative", "absolute"),
    [
        (20, (0.84707, 0.76971, 0.91208), (0.5952, 0.43864, 0.74647)),
        (50, (0.93265, 0.89311, 0.96287), (0.78613, 0.66141, 0.88039)),
        (100, (0.96515, 0.94354, 0.98109), (0.88026, 0.79621, 0.93639)),
        (200, (0.98227, 0.97095, 0.99045), (0.93632, 0.88654, 0.96715)),
    ],
)
def test_coefficients_of_trec_3(
    topics: int, relative: tuple[float, ...], absolute: tuple[float, ...]
) -> None:
    found = trec_3().coefficients([topics]).row(0)
    assert found == pytest.approx((topics, *relative, *absolute), abs=3e-5)


@pytest.mark.parametrize(
    ("confidence", "relative", "absolute"),
    [(0.99, (0.87737, 0.96967), (0.61466, 0.9023)), (0.90, (0.90062, 0.95901), (0.68417, 0.86796))],
)
def test_confidence_levels_of_trec_3(
    confidence: float, relative: tuple[float, float], absolute: tuple[float, float]
) -> None:
    found = trec_3(confidence)
    assert (
        found.compute_relative().low,
        found.compute_relative().high,
    ) == pytest.approx(relative, abs=3e-5)
    assert (
        found.compute_absolute().low,
        found.compute_absolute().high,
    ) == pytest.approx(absolute, abs=3e-5)


@pytest.mark.parametrize(
    ("target", "relative", "absolute"),
    [
        (0.80, (15, 8, 24), (55, 28, 103)),
        (0.85, (21, 11, 34), (78, 39, 146)),
        (0.90, (33, 18, 54), (123, 62, 231)),
        (0.95, (69, 37, 114), (259, 130, 487)),
        (0.97, (117, 63, 194), (440, 220, 828)),
        (0.99, (358, 191, 593), (1347, 673, 2534)),
    ],
)
def test_topics_for_trec_3(
    target: float, relative: tuple[int, ...], absolute: tuple[int, ...]
) -> None:
    for wanted, dependable in ((relative, False), (absolute, True)):
        found = trec_3().find_required_topics(target, is_absolute=dependable)
        assert (found.n_topics, found.low, found.high) == pytest.approx(wanted, rel=5e-4)


def test_by_hand() -> None:
    # Means of systems 1.5 and 5.5, of topics 2 and 5; what is left is 1 or -1 everywhere.
    found = generalizability(np.array([[1.0, 3.0], [2.0, 8.0]]))
    assert found.components["mean square"].to_list() == [16, 9, 4]
    assert found.components["variance"].to_list() == [6, 2.5, 4]
    assert found.compute_relative().value == pytest.approx(6 / (6 + 4 / 2))
    assert found.compute_absolute(10).value == pytest.approx(6 / (6 + 6.5 / 10))
    # Odds of 3 take 2 topics exactly, with 2/3 of the variance of systems to the error.
    assert found.find_required_topics(0.75).n_topics == 2
    assert found.find_required_topics(0.7500001).n_topics == 3


def test_mean_squares_are_those_of_the_comparison() -> None:
    values = np.random.default_rng(0).beta(2, 5, size=(20, 7))
    table = cf.compare(values, test="anova-2").anova
    assert table is not None
    ms = dict(zip(table.sources, table.ms, strict=True))
    found = generalizability(values).components
    assert found["mean square"].to_list() == pytest.approx(
        [ms["System"], ms["Topic"], ms["Error"]], rel=1e-12
    )


def test_negative_variances_are_zero_and_noted() -> None:
    found = generalizability(made(0.5, 0.1, 1.0, 5, 8))
    assert found.components["variance"].to_list()[:2] == [0, 0]
    assert found.components["estimate"].to_list()[:2] == pytest.approx([-0.5 / 8, -0.9 / 5])
    assert [note.split(",")[0] for note in found.notes] == [
        "the estimated variance of systems",
        "the estimated variance of topics",
    ]
    assert found.compute_relative().value == found.compute_relative().low == 0
    assert found.find_required_topics(0.95).n_topics is None
    assert found.find_required_topics(0.95).high is None


def test_a_variance_of_rounding_is_none() -> None:
    # Differences of 1/3, 0 and 0: t is 1, and so is the ratio of the mean squares.
    found = generalizability(np.array([[1 / 3, 2 / 3], [1 / 3, 1 / 3], [2 / 3, 2 / 3]]))
    assert found.components["estimate"][0] == 0
    assert found.notes == ()


def test_without_error_any_topic_will_do() -> None:
    found = generalizability(np.array([[0.1, 0.3], [0.2, 0.4], [0.6, 0.8]]))
    assert found.components["mean square"][2] == 0
    assert (found.compute_relative(1).low, found.compute_relative(1).value) == (
        1,
        1,
    )
    assert found.find_required_topics(0.99).high == 1
    assert found.compute_absolute().value < 1
    # What is left of sums of random numbers is a matter of rounding.
    random = np.random.default_rng(0)
    summed = generalizability(random.random((20, 1)) + random.random(8))
    assert summed.components["mean square"][2] == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-10, 10), st.floats(0.05, 0.99))
def test_properties(seed: int, scale: float, shift: float, target: float) -> None:
    random = np.random.default_rng(seed)
    values = random.random((6, 4)) + random.random(4)
    found = generalizability(values)
    other = generalizability((scale * values + shift)[random.permutation(6)][:, ::-1])
    for one, same in (
        (found.compute_relative(), other.compute_relative()),
        (found.compute_absolute(), other.compute_absolute()),
    ):
        assert 0 <= one.low <= one.high <= 1
        assert 0 <= one.value <= 1
        assert (one.value, one.low, one.high) == pytest.approx(
            (same.value, same.low, same.high), abs=1e-6
        )
    assert found.compute_absolute().value <= found.compute_relative().value
    for absolute in (False, True):
        topics = found.find_required_topics(target, is_absolute=absolute).n_topics
        coefficient = found.compute_absolute if absolute else found.compute_relative
        if topics is not None:
            assert coefficient(topics).value >= target - 1e-9
            assert topics == 1 or coefficient(topics - 1).value < target


def test_missing_scores() -> None:
    values = np.random.default_rng(5).random((6, 3))
    gap = values.copy()
    gap[2, 1] = np.nan
    dropped = generalizability(gap, missing="drop")
    assert dropped.n_topics == 5
    assert dropped.notes[0] == "1 topic excluded: no score of some systems"
    same = generalizability(np.delete(values, 2, axis=0))
    assert dropped.components.equals(same.components)
    gap[2, 1] = 0.0
    assert (
        generalizability(gap).compute_relative()
        == generalizability(gap, missing="zero").compute_relative()
    )


def test_it_takes_scores_and_shows_itself() -> None:
    scores = Scores(
        [[0.1, 0.5, 0.4], [0.2, 0.4, 0.9]],  # type: ignore[arg-type]
        ("q1", "q2"),
        ("a", "b", "c"),
        measure="AP",
    )
    found = generalizability(scores)
    assert repr(found).startswith("Generalizability(AP: 3 systems, 2 topics; generalizability")
    assert found.coefficients()["topics"].to_list()[:3] == [2, 5, 10]


def test_a_confidence_next_to_1_has_no_limit() -> None:
    found = generalizability(made(0.15074, 0.85296, 0.010152, 30, 50), confidence=1 - 2**-53)
    assert found.compute_relative().high == 1.0
    assert np.isfinite(found.compute_relative().value)


# Facets, and power


@pytest.mark.parametrize("known", [known for known in LMER if "within" in known])
def test_variances_are_those_of_lme4(known: dict[str, Any]) -> None:
    """With gaps, systems are fixed here for all variances but their own."""
    found = cf.meta.facets(scores(*known["drawn"]), missing="available")
    variances = found.components["variance"]
    np.testing.assert_allclose(variances, known["random systems"], rtol=known["within"])
    assert found.components["proportion"].sum() == pytest.approx(1)


def test_coefficients_of_facets() -> None:
    found = cf.meta.facets(scores(1, 12, 5, 3, 0.1, 0.0))
    s, t, st, tk, e = found.components["variance"]
    assert (found.n_topics, found.n_cells) == (12, 36)
    assert found.compute_relative() == pytest.approx(s / (s + st / 12 + e / 36))
    assert found.compute_absolute(7, 2) == pytest.approx(s / (s + (t + st) / 7 + (tk + e) / 14))
    table = found.coefficients([5, 50], [1, 4])
    assert table["relative"].to_list() == sorted(table["relative"])
    assert table.row(2, named=True)["absolute"] == found.compute_absolute(50, 1)
    # Of means over cells it is the design of topics alone.
    means = cf.meta.generalizability(scores(1, 12, 5, 3, 0.1, 0.0).mean(axis=2))
    assert found.compute_relative() == pytest.approx(means.compute_relative().value)
    assert found.compute_absolute() == pytest.approx(means.compute_absolute().value)
    assert found.tables()[1].title == "coefficients"


@pytest.mark.parametrize(
    ("df", "critical"), [(1, 12.7), (3, 3.2), (49, 2.0), (51, 4.4), (5586, 4.3)]
)
def test_power_is_that_of_scipy(df: int, critical: float) -> None:
    shift = np.array([0.0, 0.5, 1.5, 2.5])
    theirs = nct.sf(critical, df, shift) + nct.cdf(-critical, df, shift)
    assert compute_t_test_power(shift, df, critical) == pytest.approx(theirs, abs=1e-9)
