"""Clusters of rows: against statsmodels and by hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.scores import Scores
from cranfield.significance.prepare import by_cluster

ONE = [0.3, 0.2, 0.5, 0.1, 0.4, 0.6, 0.3, 0.9, 0.7, 0.2, 0.4, 0.8]
OTHER = [0.2, 0.2, 0.3, 0.2, 0.3, 0.5, 0.4, 0.6, 0.6, 0.1, 0.3, 0.5]
OF = [0, 0, 0, 1, 2, 2, 3, 4, 4, 4, 4, 5]

OF_STATSMODELS = (0.10000000000000003, 2.73861278752583, 0.040859403859295894)
"""Difference, t and p of the rows above, by the call that the test names."""


def scores() -> Scores:
    return of_rows(np.stack([ONE, OTHER], axis=1), OF)


def of_rows(values: Floats, clusters: Iterable[int]) -> Scores:
    rows = tuple(f"{cluster}-{k}" for k, cluster in enumerate(clusters))
    return Scores(values, rows, ("one", "other"))


def of_label(label: str) -> str:
    return label.split("-", maxsplit=1)[0]


def test_rows_that_count_the_same_are_what_statsmodels_does() -> None:
    """statsmodels 0.15.0: OLS(d, ones).fit(cov_type="cluster", ..., use_t=True)."""
    found = cf.compare(by_cluster(scores(), of_label, weight="row"), test="t")
    difference, t, p = (
        float(one[0]) for one in (found.difference, found.statistic, found.raw_pvalues)
    )
    assert (difference, t, p) == pytest.approx(OF_STATSMODELS, rel=1e-12)
    assert found.topics == 6
    expected = "clusters of rows (12 rows, 1 to 4 in each cluster), weighted so that each row"
    assert any(expected in note for note in found.notes)


def test_clusters_that_count_the_same_are_means() -> None:
    made = by_cluster(scores(), dict(zip(scores().topics, map(str, OF), strict=True)))
    assert made.topics == tuple("012345")
    assert made.values[:, 0] == pytest.approx([1 / 3, 0.1, 0.5, 0.3, 0.55, 0.8])
    found = cf.compare(made, test="bootstrap", resamples=99)
    assert any("each cluster counts the same" in note for note in found.notes)


def test_clusters_of_one_size() -> None:
    values = np.random.default_rng(0).random((30, 4))
    some = Scores(values, tuple(map(str, range(30))), tuple("abcd"))
    means = values.reshape(10, 3, 4).mean(axis=1)
    for weight in ("cluster", "row"):
        made = by_cluster(some, lambda row: str(int(row) // 3), weight=weight)
        assert made.values == pytest.approx(means, abs=1e-15)
        assert by_cluster(some, str, weight=weight).values == pytest.approx(values, abs=1e-15)
