"""The order of documents in two runs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.meta.reproduction import order_agreement, position_tau, union_tau

RANKINGS = st.lists(st.integers(0, 12), min_size=1, max_size=10, unique=True)


def tau_by_pairs(first: list[int], second: list[int]) -> float:
    """Kendall's tau-b written out: a document that is not there is below all that are."""
    concordant = discordant = first_only = second_only = 0
    for a, b in combinations(set(first) | set(second), 2):
        signs = []
        for ranking in (first, second):
            place = [ranking.index(d) if d in ranking else len(ranking) for d in (a, b)]
            signs.append((place[0] > place[1]) - (place[0] < place[1]))
        concordant += signs[0] * signs[1] > 0
        discordant += signs[0] * signs[1] < 0
        first_only += signs[1] == 0 != signs[0]
        second_only += signs[0] == 0 != signs[1]
    both = concordant + discordant
    product = (both + first_only) * (both + second_only)
    return (concordant - discordant) / product**0.5 if product else 1.0


def rbo_by_depths(first: list[str], second: list[str], p: float) -> float:
    """The infinite sum of Webber et al. (2010), agreement going on as section 4.4 assumes it."""
    short, long = sorted((first, second), key=len)
    shared = [len(set(short[:d]) & set(long[:d])) for d in range(1, len(long) + 1)]
    at_short = shared[len(short) - 1] / len(short)
    total = agreement = 0.0
    for depth in range(1, 800):
        if depth <= len(long):
            # Below its end the short ranking would go on to agree as much as it did.
            more = at_short * max(0, depth - len(short))
            agreement = (shared[depth - 1] + more) / depth
        total += (1 - p) * p ** (depth - 1) * agreement
    return total


def run_of(ranking: list[str] | list[int]) -> dict[str, dict[str, float]]:
    return {"q": {f"{doc}": float(-rank) for rank, doc in enumerate(ranking)}}


@given(RANKINGS, RANKINGS)
def test_union_tau_by_all_pairs(first: list[int], second: list[int]) -> None:
    found = union_tau(first, second)
    assert found == pytest.approx(tau_by_pairs(first, second))
    assert -1 <= found <= 1
    assert union_tau(second, first) == pytest.approx(found)
    # Names mean nothing.
    assert union_tau([-d for d in first], [-d for d in second]) == pytest.approx(found)
    assert union_tau(first, first) == 1.0


def test_empty_rankings() -> None:
    assert np.isnan(union_tau([], ["a"])) and np.isnan(position_tau([], ["a"]))
    assert np.isnan(union_tau([], []))
    assert np.isnan(position_tau(["a"], ["b"])) and position_tau(["a"], ["a"]) == 1.0


def test_position_tau_by_hand() -> None:
    # Union a b c d, positions 1 2 3 and 2 4 1: of three pairs, one agrees.
    assert position_tau(["a", "b", "c"], ["b", "d", "a"]) == pytest.approx(-1 / 3)
    # It depends on names: the same rankings, with a called z.
    assert position_tau(["z", "b", "c"], ["b", "d", "z"]) == pytest.approx(-1 / 3)
    assert position_tau(["a", "b"], ["c", "d"]) == 1.0
    assert position_tau(["a", "b"], ["d", "c"]) == -1.0
    # The third document of the longer ranking has no counterpart.
    assert position_tau(["a", "b"], ["a", "b", "c"]) == 1.0


@settings(max_examples=30)
@given(RANKINGS, RANKINGS, st.floats(0.1, 0.95))
def test_rbo_by_its_infinite_sum(first: list[int], second: list[int], p: float) -> None:
    one, two = ([f"{d:02d}" for d in ranking] for ranking in (first, second))
    row = order_agreement(run_of(one), run_of(two), p=p).row(0, named=True)
    assert row["RBO"] == pytest.approx(rbo_by_depths(one, two, p), abs=1e-9)
    assert row["tau"] == pytest.approx(union_tau(one, two))
    known = position_tau(one, two)
    assert row["KTU"] is None if np.isnan(known) else row["KTU"] == pytest.approx(known)
    assert (row["original"], row["reproduced"]) == (len(first), len(second))
    assert row["shared"] == len(set(first) & set(second))


def test_equal_runs_agree_wholly() -> None:
    rng = np.random.default_rng(5)
    run = {f"q{t}": {f"d{d}": float(rng.random()) for d in range(40)} for t in range(6)}
    found = order_agreement(run, run)
    for name in ("tau", "KTU", "RBO"):
        assert found[name].to_list() == pytest.approx([1.0] * 6, abs=1e-12)


def test_topics_of_one_run_are_kept_and_say_so() -> None:
    one = {"q2": {"a": 1.0}, "q1": {"a": 1.0, "b": 0.5}}
    two = {"q3": {"c": 1.0}, "q1": {"b": 1.0, "a": 0.5}}
    found = order_agreement(one, two)
    assert found["topic"].to_list() == ["q2", "q1", "q3"]
    assert found["tau"].to_list() == [None, -1.0, None]
    assert found.select("original", "reproduced", "shared").rows() == [
        (1, 0, 0),
        (2, 2, 2),
        (0, 1, 0),
    ]


def test_depth_and_ties() -> None:
    one = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    two = {"q": {"a": 3.0, "b": 2.0, "d": 1.0}}
    assert order_agreement(one, two, depth=2)["RBO"][0] == pytest.approx(1.0)
    assert order_agreement(one, two, depth=2)["original"][0] == 2
    tied = {"q": {"a": 1.0, "b": 1.0}}
    assert order_agreement(tied, {"q": {"a": 2.0, "b": 1.0}})["tau"][0] == -1.0
    again = order_agreement(tied, {"q": {"a": 2.0, "b": 1.0}}, ties="id-ascending")
    assert again["tau"][0] == 1.0


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    rows = [(f"q{t}", f"d{d}", float(s)) for t in range(4) for d, s in enumerate(rng.random(30))]
    frame = pl.DataFrame(rows, schema=["topic", "doc", "score"], orient="row")
    other = frame.with_columns(score=frame["score"] + rng.normal(0, 0.1, len(frame)))
    found = order_agreement(frame, other)
    shuffled = order_agreement(frame.sample(fraction=1, shuffle=True, seed=1), other)
    assert found.sort("topic").equals(shuffled.sort("topic"))
