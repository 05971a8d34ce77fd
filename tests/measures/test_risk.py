"""Risk-sensitive versions of measures where scores are missing or all differ by the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.measures.novelty import IntentAware

QRELS = {f"t{i}": {"a": 1, "b": 1, "c": 1} for i in range(6)}


def test_the_same_difference_everywhere() -> None:
    """AP is 1/9 and 1/3 on every topic: the standard error is rounding, and says nothing."""
    runs = {
        "base": {topic: {"z": 3, "y": 2, "a": 1} for topic in QRELS},
        "new": {topic: {"a": 3, "y": 2, "x": 1} for topic in QRELS},
    }
    found = cf.evaluate(runs, QRELS, ["AP", "TRisk(AP, baseline='base')"])
    assert found["TRisk(AP, baseline='base')"].values.tolist() == [[0.0, 0.0]] * 6
    risk = cf.risk(found["AP"], baseline="base", alpha=np.int64(1))  # type: ignore[arg-type]
    assert risk.u_risk == pytest.approx([0, 2 / 9])
    assert np.isnan(risk.t_risk).all()
    assert np.isnan(risk.pvalue).all()


@pytest.mark.parametrize("form", ["URisk(AP, baseline='base')", "TRisk(AP, baseline='base')"])
@pytest.mark.parametrize("topics", ["intersection", "run"])
def test_topics_without_the_baseline(form: str, topics: Any) -> None:
    """A baseline without a score is no baseline with a score of 0."""
    runs = {"base": {"t0": {"a": 1}}, "new": {"t0": {"z": 1}, "t1": {"a": 1}}}
    values = cf.evaluate(runs, QRELS, form, topics=topics)[form].values
    assert np.isnan(values[1]).all()
    assert np.isfinite(values[0]).all()


@pytest.mark.parametrize("inner", [3, None, cf.Measure])
def test_what_stands_inside(inner: object) -> None:
    """A measure of what is no measure is refused."""
    with pytest.raises(MeasureError, match="expected a measure or its text, got"):
        IntentAware(inner)  # type: ignore[arg-type]
