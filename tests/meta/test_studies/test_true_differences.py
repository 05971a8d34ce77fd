"""What tests find where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.meta import false_positives, power_of_tests
from cranfield.significance import power_t


def normal(spreads: list[float], means: list[float], topics: int = 2000) -> cf.Scores:
    """Return scores of systems with exact means and spreads, apart from what topics add."""
    noise = np.random.default_rng(6).normal(size=(topics, len(spreads)))
    noise -= noise.mean(axis=0)
    values = np.array(means) + np.array(spreads) * noise / noise.std(axis=0)
    topic = np.random.default_rng(7).normal(0, 0.2, size=(topics, 1))
    return cf.Scores(
        values + topic, tuple(map(str, range(topics))), tuple("abcdefgh"[: len(means)])
    )


def test_two_systems_against_the_noncentral_t() -> None:
    size = 15
    scores = normal([0.1, 0.1], [0.5, 0.55])
    variance = float(np.var(scores.values[:, 0] - scores.values[:, 1])) / 2
    want = float(power_t(size, difference=0.05, variance=variance))
    found = power_of_tests(scores, ["t"], population="resampled", sizes=[size], repeats=800)
    [share] = found.summarise_errors()["power"]
    assert abs(share - want) < 4 * np.sqrt(want * (1 - want) / 800)


def test_spreads_that_differ() -> None:
    """Tukey's HSD errs on them, as no swapping shows; t-tests with Holm's correction do not."""
    scores = normal([0.02] * 5 + [0.2] * 2, [0.3, 0.4, 0.5, 0.6, 0.7, 0.4, 0.6])
    some: dict[str, Any] = {"sizes": [30], "repeats": 200}
    tests = ["anova-2+tukey", "t+holm"]
    rates = {
        null: false_positives(scores, tests, null=null, **some).summary()["FWER"].to_list()
        for null in ("centred", "swapped")
    }
    assert rates["centred"][0] > 0.12
    assert rates["swapped"][0] < 0.09
    assert max(rates["centred"][1], rates["swapped"][1]) < 0.09


def test_ranges_directions_and_equal_means() -> None:
    scores = normal([0.1] * 4, [0.5, 0.5, 0.515, 0.7], 300)
    found = power_of_tests(
        scores, ["t+none", "anova-2f"], population="resampled", sizes=[20], repeats=60
    )
    summary = found.summary().filter(pl.col("test") == "t+none")
    assert summary.select("from", "to", "pairs").rows() == [(0.01, 0.02, 2), (0.1, float("inf"), 3)]
    assert summary["power"][1] > 0.95 > summary["power"][0]
    assert summary["reversed"][1] == 0
    # The bound calls each pair different, in one direction or the other.
    bound = found.summary().filter(pl.col("test") == "anova-2f")
    assert (bound["power"] + bound["reversed"]).to_list() == [1.0, 1.0]
    errors = {row["test"]: row for row in found.summarise_errors().to_dicts()}
    assert errors["anova-2f"]["any equal"] == 1
    assert errors["t+none"]["any equal"] < 0.2
    assert errors["anova-2f"]["any reversed"] > 0.3


def test_simulated_shards_and_streams() -> None:
    bundled = cf.bundled.trec_covid()
    ev = cf.evaluate(bundled.runs[::8], bundled.qrels, "nDCG@20", shards=2)
    whole, shards = ev.whole["nDCG@20"], ev["nDCG@20"]
    few: dict[str, Any] = {"sizes": [20], "repeats": 10, "seed": 4}
    one = power_of_tests(whole, ["t", "sign"], **few).by_repeat
    two = power_of_tests(whole, ["sign"], **few).by_repeat
    assert one.filter(pl.col("test") == "sign").equals(two)
    both: dict[str, Any] = {"by_shard": shards, **few}
    sharded = false_positives(whole, ["anova-3"], **both).by_repeat
    assert sharded["rejected"].sum() > 0
    assert power_of_tests(whole, ["anova-3"], population="resampled", **both).n_systems == 5


def test_missing_scores_are_left_out_first() -> None:
    scores = normal([0.1, 0.1], [0.4, 0.6], 40)
    values = np.where(np.arange(40)[:, None] < [3, 0], np.nan, scores.values)
    gaps = cf.Scores(values, scores.topics, scores.systems)
    found = false_positives(gaps, ["t+none"], missing="drop", sizes=[20], repeats=200)
    assert found.summary()["FWER"].item() < 0.12
    assert found.summary()["failed"].item() == 0
