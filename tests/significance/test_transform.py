"""Transformed and standardised scores, and clusters of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.scale_types import Scale
from cranfield.measures import parse_measure
from cranfield.scores import Scores
from cranfield.significance.prepare import aggregate_clusters
from cranfield.significance.transform import METHODS, arcsine, standardise
from tests.significance.helpers import scored


def some_scores(seed: int = 0, topics: int = 20, systems: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).beta(2, 3, (topics, systems))


def test_arcsine_of_known_angles() -> None:
    values = [[0.0, 0.25, 0.5, 0.75, 1.0, np.nan]]
    found = arcsine(scored(values, measure="AP", settings={"k": 1}))
    angles = np.pi * np.array([0, 1 / 6, 1 / 4, 1 / 3, 1 / 2, np.nan])
    np.testing.assert_allclose(found.values[0], angles)
    assert found.measure == "arcsine(AP)"
    assert found.settings == {"k": 1, "transformation": "arcsine"}
    assert arcsine(scored(np.full((2, 2, 3), 0.25))).values.shape == (2, 2, 3)
    # Scores beyond 0 and 1 by rounding.
    assert arcsine(scored([[1 + 2**-50, -(2.0**-60)]])).values.tolist() == [[np.pi / 2, 0.0]]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_z_against_scipy(missing: float) -> None:
    values = some_scores()
    values[np.random.default_rng(1).random(values.shape) < missing] = np.nan
    expected = stats.zscore(values, axis=1, ddof=1, nan_policy="omit")
    np.testing.assert_allclose(standardise(scored(values)).values, expected, atol=1e-12)


def test_z_by_a_reference_against_scipy() -> None:
    values, known = some_scores(1), some_scores(2, systems=5)
    reference = scored(known)
    turned = Scores(known[::-1], reference.topics[::-1], reference.systems)
    want = np.stack([stats.zmap(x, r, ddof=1) for x, r in zip(values, known, strict=True)])
    for one in (reference, turned):
        np.testing.assert_allclose(standardise(scored(values), one).values, want, atol=1e-12)


def test_normal_and_linear_against_scipy() -> None:
    """`linear` is the uniform distribution function of Urbano et al. (2019), U-std."""
    values = some_scores(4)
    mean, sd = values.mean(axis=1)[:, None], values.std(axis=1, ddof=1)[:, None]
    normal = standardise(scored(values), method="normal").values
    np.testing.assert_allclose(normal, stats.norm.cdf(values, mean, sd), atol=1e-12)
    linear = standardise(scored(values), method="linear").values
    low, high = mean - sd * 0.5 / 0.15, mean + sd * 0.5 / 0.15
    np.testing.assert_allclose(linear, stats.uniform.cdf(values, low, high - low), atol=1e-12)


def test_empirical_against_scipy() -> None:
    values, known = some_scores(5).round(1), some_scores(6).round(1)
    found = standardise(scored(values), scored(known), method="empirical").values
    want = [stats.ecdf(r).cdf.evaluate(x) for x, r in zip(values, known, strict=True)]
    np.testing.assert_array_equal(found, np.stack(want))


def test_empirical_takes_rounding_for_ties() -> None:
    found = standardise(scored([[0.3, 0.1 + 0.2, 0.5]]), method="empirical").values
    np.testing.assert_allclose(found, [[2 / 3, 2 / 3, 1.0]])


def test_constant_topics_are_zero_and_recorded() -> None:
    values = [[0.1] * 3, [0.1, 0.2, 0.3], [np.nan, 0.4, 0.4]]
    found = standardise(scored(values))
    assert found.values[0].tolist() == [0, 0, 0]
    assert np.isnan(found.values[2, 0]) and found.values[2, 1:].tolist() == [0, 0]
    assert found.settings["standardisation"] == {
        "method": "z",
        "reference systems": 3,
        "constant topics": ["q0", "q2"],
    }
    # So is one whose reference is constant, whatever the score.
    assert standardise(scored([[0.9]]), scored([[0.0, 0.0]])).values.tolist() == [[0.0]]
    assert standardise(scored([[0.9]]), scored([[0.0, 0.0]]), method="normal").values[0, 0] == 0.5


def test_linear_records_what_it_cut() -> None:
    values = np.zeros((1, 30))
    values[0, 0] = 1.0
    found = standardise(scored(values, scale=Scale.RATIO), method="linear")
    assert found.values[0, 0] == 1.0
    assert found.settings["standardisation"]["clipped"] == 1
    whole = standardise(scored(some_scores(), scale=Scale.RATIO), method="linear")
    assert whole.settings["standardisation"]["clipped"] == 0
    # The bounds of clipping z are the same in any unit, and from any zero.
    assert found.scale is whole.scale is Scale.INTERVAL


def test_no_scale_that_is_admitted_changes_standardised_scores() -> None:
    """Shares of systems withstand any increasing function a topic, z and its like any line."""
    values = np.random.default_rng(5).random((6, 9))
    values[0, :3], values[1] = values[0, 3], 0.5
    slopes, zeros = np.geomspace(0.01, 1000, 6)[:, None], np.linspace(-5, 5, 6)[:, None]
    lines, powers = slopes * values + zeros, slopes * values ** np.linspace(0.2, 10, 6)[:, None]
    for method in METHODS:
        before, line, power = (
            standardise(scored(one, scale=Scale.ORDINAL), method=method)
            for one in (values, lines, powers)
        )
        np.testing.assert_allclose(line.values, before.values, atol=1e-9)
        assert np.allclose(power.values, before.values, atol=1e-3) == (method == "empirical")
        assert before.scale is (Scale.INTERVAL if method == "empirical" else Scale.ORDINAL)
    # Of retrieved sets of all sizes no two steps need be equal, on any one topic.
    sets = replace(scored(values, scale=Scale.INTERVAL), definition=parse_measure("SetP"))
    assert standardise(sets).scale is Scale.ORDINAL
    assert standardise(sets, method="empirical").scale is Scale.INTERVAL


def test_labels_and_scale() -> None:
    raw = scored(
        some_scores(),
        measure="effort",
        aggregate="geometric",
        lower_is_better=True,
        scale=Scale.RATIO,
    )
    found = standardise(raw)
    assert (found.topics, found.systems) == (raw.topics, raw.systems)
    assert found.measure == "standardised(effort, z)"
    assert found.aggregate == "mean" and found.lower_is_better
    assert found.scale is Scale.INTERVAL
    assert standardise(raw, method="empirical").scale is Scale.INTERVAL
    assert arcsine(raw).scale is Scale.ORDINAL
    unknown = standardise(scored(some_scores()))
    assert unknown.scale is None and unknown.measure == "standardised(scores, z)"
    # An ordinal scale does not become more by a transformation.
    assert standardise(scored(some_scores(), scale=Scale.ORDINAL)).scale is Scale.ORDINAL


def test_topics_without_scores_stay_so() -> None:
    values = [[np.nan, np.nan], [0.1, 0.3]]
    for method in METHODS:
        found = standardise(scored(values), method=method).values
        assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()
    assert standardise(scored([[0.4]]), method="empirical").values.tolist() == [[1.0]]


ONE = [0.3, 0.2, 0.5, 0.1, 0.4, 0.6, 0.3, 0.9, 0.7, 0.2, 0.4, 0.8]
OTHER = [0.2, 0.2, 0.3, 0.2, 0.3, 0.5, 0.4, 0.6, 0.6, 0.1, 0.3, 0.5]
OF = [0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 5]

OF_STATSMODELS = (0.10000000000000003, 2.73861278752583, 0.040859403859295894)
"""Difference, t and p of the rows above, by the call that the test names."""


def rows_of_clusters() -> Scores:
    return of_rows(np.stack([ONE, OTHER], axis=1), OF)


def of_rows(values: Floats, clusters: Iterable[int]) -> Scores:
    rows = tuple(f"{cluster}-{k}" for k, cluster in enumerate(clusters))
    return Scores(values, rows, ("one", "other"))


def of_label(label: str) -> str:
    return label.split("-", maxsplit=1)[0]


def test_rows_that_count_the_same_are_what_statsmodels_does() -> None:
    """statsmodels 0.15.0: OLS(d, ones).fit(cov_type="cluster", ..., use_t=True)."""
    found = cf.compare(aggregate_clusters(rows_of_clusters(), of_label, weight="row"), test="t")
    difference, t, p = (
        float(one[0]) for one in (found.difference, found.statistic, found.raw_pvalues)
    )
    assert (difference, t, p) == pytest.approx(OF_STATSMODELS, rel=1e-12)
    assert found.n_topics == 6
    expected = "clusters of rows (12 rows, 1 to 4 in each cluster), weighted so that each row"
    assert any(expected in note for note in found.notes)


def test_clusters_that_count_the_same_are_means() -> None:
    made = aggregate_clusters(
        rows_of_clusters(), dict(zip(rows_of_clusters().topics, map(str, OF), strict=True))
    )
    assert made.topics == tuple("012345")
    assert made.values[:, 0] == pytest.approx([1 / 3, 0.1, 0.5, 0.3, 0.55, 0.8])
    found = cf.compare(made, test="bootstrap", resamples=99)
    assert any("each cluster counts the same" in note for note in found.notes)


def test_clusters_of_one_size() -> None:
    values = np.random.default_rng(0).random((30, 4))
    some = Scores(values, tuple(map(str, range(30))), tuple("abcd"))
    means = values.reshape(10, 3, 4).mean(axis=1)
    for weight in ("cluster", "row"):
        made = aggregate_clusters(some, lambda row: str(int(row) // 3), weight=weight)
        assert made.values == pytest.approx(means, abs=1e-15)
        assert aggregate_clusters(some, str, weight=weight).values == pytest.approx(
            values, abs=1e-15
        )
