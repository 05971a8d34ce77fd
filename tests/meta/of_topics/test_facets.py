"""Generalizability over topics and cells against lme4, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError
from tests.significance.test_random_topics import scores

# lmer(y ~ 1 + (1|s) + (1|t) + (1|t:s) + (1|t:k)) of lme4 1.1-31 (R 4.2.2): variances of system,
# topic, topic:system, topic:shard, error. With gaps, systems are fixed here for all but their own.
LMER: dict[tuple[Any, ...], tuple[list[float], float]] = {
    (1, 12, 5, 3, 0.1, 0.0): ([0.0031588, 0.0124423, 0.0075755, 0.0085077, 0.0094742], 1e-4),
    (2, 12, 5, 3, 0.1, 0.4): ([0.0043835, 0.0535600, 0.0110172, 0.0096902, 0.0107986], 6e-3),
    (3, 25, 4, 6, 0.03, 0.6): ([0.0021000, 0.0658745, 0.0014500, 0.0070247, 0.0099227], 4e-3),
    (5, 30, 8, 2, 0.2, 0.5): ([0.0108624, 0.0351160, 0.0387624, 0.0137152, 0.0098728], 2e-3),
}


@pytest.mark.parametrize("drawn", list(LMER))
def test_variances_are_those_of_lme4(drawn: tuple[Any, ...]) -> None:
    found = cf.meta.facets(scores(*drawn), missing="available")
    theirs, within = LMER[drawn]
    np.testing.assert_allclose(found.components["variance"], theirs, rtol=within)
    assert found.components["share"].sum() == pytest.approx(1)


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


def test_what_it_cannot_take() -> None:
    values = scores(2, 12, 5, 3, 0.1, 0.4)
    with pytest.raises(CranfieldError, match="missing='available'"):
        cf.meta.facets(values)
    with pytest.raises(PolicyError, match="by shard"):
        cf.meta.facets(values[:, :, 0])
    with pytest.raises(CranfieldError, match="two shards"):
        cf.meta.facets(np.where(np.arange(3) == 0, values, np.nan), missing="available")
    with pytest.raises(CranfieldError, match="all scores are equal"):
        cf.meta.facets(np.ones((4, 3, 2)))
    with pytest.raises(PolicyError):
        cf.meta.facets(values, missing="available").relative(0)
