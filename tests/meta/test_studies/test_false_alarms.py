"""Errors of type I among systems that are made equal."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.meta.test_studies.errors import NULLS, false_positives

TESTS = ["anova-2", "t", "t+none", "anova-2f"]


@pytest.fixture(scope="module")
def covid() -> cf.Scores:
    bundled = cf.bundled.trec_covid()
    return cf.evaluate(bundled.runs[::5], bundled.qrels, "nDCG@20")["nDCG@20"]


def test_levels_are_held(covid: cf.Scores) -> None:
    found = false_positives(covid, TESTS, null="swapped", repeats=200, seed=1)
    rows = {row["test"]: row for row in found.summary().to_dicts()}
    assert rows["anova-2"]["low"] <= 0.05
    assert rows["anova-2"]["FWER"] < 0.09
    assert rows["t"]["FWER"] < 0.09
    assert abs(rows["t+none"]["per pair"] - 0.05) < 0.012
    assert rows["t+none"]["FWER"] > 0.2
    assert rows["anova-2f"]["FWER"] == 1
    assert rows["anova-2f"]["high"] == 1


def test_swaps_stay_within_topics(covid: cf.Scores) -> None:
    # One topic of huge scores: swapped between topics, differences would be found all the time.
    values = np.where(np.arange(50)[:, None] == 0, 100 + covid.values, covid.values)
    scores = cf.Scores(values, covid.topics, covid.systems)
    found = false_positives(scores, ["anova-2"], null="swapped", repeats=100, seed=1)
    assert found.summary()["FWER"].item() < 0.15


@pytest.mark.parametrize("null", NULLS)
def test_sizes_and_streams(covid: cf.Scores, null: str) -> None:
    one = false_positives(covid, ["t"], null=null, sizes=[10, 20], repeats=30, seed=3).by_repeat
    two = false_positives(
        covid, ["anova-2", "t"], null=null, sizes=[20], repeats=20, seed=3
    ).by_repeat
    columns = ["size", "repeat", "test", "rejected"]
    kept = one.filter((one["size"] == 20) & (one["repeat"] < 20)).select(columns)
    assert kept.equals(two.filter(two["test"] == "t").select(columns))
