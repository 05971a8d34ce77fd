"""Confidence sets of ranks: against csranks of R, step by step by hand, and odd scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.significance import rank_sets

MEANS = np.array([0.30, 0.295, 0.285, 0.27, 0.265, 0.25, 0.25, 0.22, 0.2, 0.1])


def normal_scores(topics: int) -> Any:
    random = np.random.default_rng(42)
    shared = random.normal(size=(400, 1)) * 0.2
    return (shared + random.normal(size=(400, 10)) * 0.12 + MEANS).round(3)[:topics]


# csranks(colMeans(x), cov(x) / n, R = 20000, simul = TRUE or FALSE, seed = 1), and
# which(cstaubest(..., tau = 3)), of csranks 1.2.2.9001, R 4.2; its bootstrap is a normal one.
CSRANKS = {
    400: (
        [[1, 1, 1, 3, 3, 4, 4, 6, 9, 10], [3, 3, 5, 7, 7, 8, 8, 8, 9, 10]],
        [[1, 1, 2, 3, 4, 5, 4, 7, 9, 10], [3, 2, 4, 6, 7, 8, 7, 8, 9, 10]],
        {"1", "2", "3", "4", "5"},
    ),
    100: (
        [[1, 1, 1, 1, 4, 1, 1, 4, 6, 10], [6, 6, 6, 8, 9, 8, 9, 9, 9, 10]],
        [[1, 1, 1, 1, 4, 1, 1, 4, 7, 10], [6, 6, 6, 8, 9, 8, 8, 9, 9, 10]],
        {"1", "2", "3", "4", "6", "7"},
    ),
}


@pytest.mark.parametrize("topics", CSRANKS)
def test_csranks(topics: int) -> None:
    """Its variances are those of each pair; on these normal scores, all are nearly the same."""
    values = normal_scores(topics)
    together, alone, best = CSRANKS[topics]
    step_down = cf.compare(values, test="t", correction="bootstrap-max-t", seed=3).rank_sets()
    assert len({*step_down.find_possible_best(3)} ^ best) <= 1
    found = rank_sets(values, seed=3)
    assert found.own_interval is not None
    for ours, theirs in (
        (step_down.interval, together),
        (found.interval, together),
        (found.own_interval, alone),
    ):
        assert np.abs(np.array(ours) - np.array(theirs)).max() <= 1
        assert (np.array(ours) != np.array(theirs)).mean() <= 0.25


def test_the_leaderboard() -> None:
    """A lower measure turns the order round; threads and the order of systems change nothing."""
    values = normal_scores(50)
    systems = tuple("abcdefghij")
    topics = tuple(map(str, range(50)))
    found = rank_sets(cf.Scores(values, topics, systems), jobs=1)
    turned = cf.Scores(-values[:, ::-1], topics, systems[::-1], lower_is_better=True)
    other = rank_sets(turned, jobs=3)
    one, two = (board.to_polars().drop("mean") for board in (found, other))
    assert one.sort("system").equals(two.sort("system"))
    assert one["rank"].to_list() == sorted(one["rank"].to_list())
    wide = found.with_alpha(0.001).interval
    assert (wide[0] <= found.interval[0]).all() and (wide[1] >= found.interval[1]).all()
    assert ((found.interval[0] <= found.rank) & (found.rank <= found.interval[1])).all()
    assert found.find_possible_best(10) == tuple(one["system"])
    assert "10 systems, 50 topics" in str(found)


@pytest.mark.filterwarnings("error")
def test_odd_scores() -> None:
    """The same system twice shares its rank; what is always better by as much is better."""
    base = np.linspace(0.1, 0.6, 8)
    found = rank_sets({"a": base, "twin": base, "b": base + 0.25, "c": base * 0.5}, resamples=999)
    assert found.rank.tolist() == [2, 2, 1, 4]
    assert [one.tolist() for one in found.interval] == [[2, 2, 1, 4], [3, 3, 1, 4]]
    same = rank_sets(np.full((4, 3), 0.5), resamples=99)
    assert [one.tolist() for one in same.interval] == [[1, 1, 1], [3, 3, 3]]
    two = rank_sets(np.random.default_rng(0).random((2, 2)) * 1e90, resamples=99)
    assert two.find_possible_best() == ("1", "2") or two.find_possible_best() == ("2", "1")


def test_title_without_a_correction() -> None:
    title = str(rank_sets({"a": [0.1, 0.3, 0.6], "b": [0.2, 0.1, 0.5]})).splitlines()[0]
    assert title == "ranks by Studentised bootstrap test, not corrected for multiple comparisons"


def test_advised_corrections_need_no_baseline() -> None:
    scores = {"a": [0.1, 0.4, 0.3], "b": [0.2, 0.4, 0.6], "c": [0.3, 0.3, 0.5]}
    with pytest.raises(cf.PolicyError, match="controls the family-wise error rate") as refused:
        cf.compare(scores, correction="bh").rank_sets()
    advised = str(refused.value).partition("one of: ")[2].partition(";")[0].split(", ")
    for correction in advised:
        assert len(cf.compare(scores, correction=correction).rank_sets().rank) == 3


@pytest.mark.parametrize(
    ("correction", "assumes"), [("bootstrap-tukey", False), ("tukey", False), ("holm", True)]
)
def test_only_some_corrections_assume_the_signs(correction: str, assumes: bool) -> None:
    """Simultaneous intervals control directional errors; step-down corrections may not."""
    found = cf.compare(normal_scores(50), test="anova-2", correction=correction)
    (legend, *_) = found.tables()[0].notes
    assert ("right sign" in legend) == assumes
    assert any("right sign" in note for note in found.rank_sets().notes) == assumes
