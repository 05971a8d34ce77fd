"""The tables of all studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.meta import (
    concordance,
    correlate,
    discriminative_power,
    extrapolate,
    false_positives,
    generalizability,
    split_topics,
    stability,
    swap_method,
)


def test_every_study_has_tables() -> None:
    random = np.random.default_rng(3)
    names = [f"q{k}" for k in range(12)], ["a_b", "b&c", "c"]
    scores: dict[str, Any] = {
        name: cf.Scores(
            random.random((12, 3)) + [0, 0.3, 0.6], tuple(names[0]), tuple(names[1]), name
        )
        for name in ("AP", "RR", "P@5")
    }
    few: dict[str, Any] = {"sizes": [4], "repeats": 5}
    studies = [
        split_topics(scores["AP"], ["t"], **few),
        false_positives(scores["AP"], ["t"], **few),
        discriminative_power(scores, resamples=100),
        swap_method(scores["AP"], **few),
        correlate(scores),
        concordance(scores, ["P@5"]),
        stability(scores["AP"], **few),
        generalizability(scores["AP"]),
        extrapolate(scores["AP"]),
    ]
    for study in studies:
        found = cf.study_tables(study)
        assert found
        for one in found:
            assert one.to_latex().count(r"\toprule") == 1
            assert one.to_markdown().count("---") >= 1
            assert one.to_html().startswith("<table")
    assert len(cf.study_tables(*studies)) == sum(len(cf.study_tables(study)) for study in studies)
    with pytest.raises(PolicyError, match="got Scores; use cf.table for scores"):
        cf.study_tables(scores["AP"])
