"""Generalizability over topics and cells against lme4, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from tests.significance.test_random_topics import LMER, scores


@pytest.mark.parametrize("known", [known for known in LMER if "within" in known])
def test_variances_are_those_of_lme4(known: dict[str, Any]) -> None:
    """With gaps, systems are fixed here for all variances but their own."""
    found = cf.meta.facets(scores(*known["drawn"]), missing="available")
    variances = found.components["variance"]
    np.testing.assert_allclose(variances, known["random systems"], rtol=known["within"])
    assert found.components["proportion"].sum() == pytest.approx(1)


def test_coefficients() -> None:
    found = cf.meta.facets(scores(1, 12, 5, 3, 0.1, 0.0))
    s, t, st, tk, e = found.components["variance"]
    assert (found.topics, found.cells) == (12, 36)
    assert found.relative() == pytest.approx(s / (s + st / 12 + e / 36))
    assert found.absolute(7, 2) == pytest.approx(s / (s + (t + st) / 7 + (tk + e) / 14))
    table = found.coefficients([5, 50], [1, 4])
    assert table["relative"].to_list() == sorted(table["relative"])
    assert table.row(2, named=True)["absolute"] == found.absolute(50, 1)
    # Of means over cells it is the design of topics alone.
    means = cf.meta.generalizability(scores(1, 12, 5, 3, 0.1, 0.0).mean(axis=2))
    assert found.relative() == pytest.approx(means.relative().value)
    assert found.absolute() == pytest.approx(means.absolute().value)
    assert found.tables()[1].title == "coefficients"
