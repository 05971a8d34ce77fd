"""Markov precision of chains that are given, beside one eigenvector a ranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from tests.measures.rankings import judge_rankings, values

RNG = np.random.default_rng(3)
WEIGHT = RNG.integers(1, 30, (5, 5)).astype(float)
MOVES = {i: dict(enumerate(row, 1)) for i, row in enumerate(WEIGHT.tolist(), 1)}
DWELL = {1: 40.0, 2: 25.5, 4: 90.0}

rankings = st.lists(st.none() | st.integers(0, 2), min_size=1, max_size=9)


def naive(ranking: list[int | None], states: str, loops: bool, dwell: str | None) -> float:
    relevant = [rank for rank, grade in enumerate(ranking, 1) if grade]
    near = [rank for rank in relevant if rank <= 5]
    if not near:
        return 0.0
    places = near if states == "relevant" else list(range(1, min(len(ranking), 5) + 1))
    chain = WEIGHT[np.ix_([one - 1 for one in places], [one - 1 for one in places])].copy()
    if len(places) == 1:
        chain[:] = 1.0
    elif not loops:
        np.fill_diagonal(chain, 0.0)
    chain /= chain.sum(axis=1, keepdims=True)
    size, vectors = np.linalg.eig(chain.T)
    found = np.real(vectors[:, np.argmin(np.abs(size - 1))])
    often: dict[int, float] = dict(zip(places, (found / found.sum()).tolist(), strict=True))
    mean = {rank: often[rank] for rank in near}
    for rank in near:
        grade = ranking[rank - 1]
        if dwell is not None:
            key = rank if dwell == "rank" else grade
            assert key is not None
            mean[rank] *= DWELL[max(one for one in DWELL if one <= key)]
    whole = sum(mean.values())
    return sum(
        share / whole * sum(one <= rank for one in relevant) / rank for rank, share in mean.items()
    )


@settings(max_examples=15, deadline=None)
@given(rankings, rankings, st.sampled_from(["all", "relevant"]), st.booleans(), st.booleans())
@pytest.mark.parametrize("dwell", [None, "rank", "grade"])
def test_moves_that_are_given(
    dwell: str | None,
    one: list[int | None],
    two: list[int | None],
    states: str,
    loops: bool,
    recall: bool,
) -> None:
    options = f"moves={MOVES}, states={states!r}, loops={loops}, recall={recall}"
    if dwell is not None:
        options += f", dwell={DWELL}, dwell_by={dwell!r}"
    runs = judge_rankings(one, two)
    # Another relevant document is elsewhere.
    base = sum(bool(grade) for grade in (*one, *two)) + 1
    shares = [sum(map(bool, ranking)) / base if recall else 1.0 for ranking in (one, two)]
    expected = [
        naive(ranking, states, loops, dwell) * share
        for ranking, share in zip((one, two), shares, strict=True)
    ]
    np.testing.assert_allclose(values(runs, f"MP({options})"), expected, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(rankings)
def test_weights_by_distance_are_the_measures_own(ranking: list[int | None]) -> None:
    inverse = {i: {j: 1 / (abs(i - j) + 1) for j in range(1, 10) if j != i} for i in range(1, 10)}
    for states in ("all", "relevant"):
        given_moves = values(judge_rankings(ranking), f"MP(moves={inverse}, states={states!r})")
        assert given_moves == pytest.approx(
            values(judge_rankings(ranking), f"MP(states={states!r})"), abs=1e-12
        )


def test_text_reads_back() -> None:
    made = cf.parse_measure(f"MP(moves={MOVES}, dwell={DWELL}, dwell_by='grade', loops=True)")
    assert cf.parse_measure(str(made)) == made
    assert "moves={1: {1: " in str(made)
