"""When one grade leads by enough: by hand, and against a plain loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.assess import LeadRule, majority, read_labels
from tests.assess.labels.crowds import drawn


def test_by_hand() -> None:
    rule = LeadRule(c=1.5)
    # 1.5 sqrt(n) is 1.5, 2.12, 2.60, 3, 3.35.
    assert rule.stops([[1, 0], [2, 0], [3, 0], [3, 1], [4, 1]]).tolist() == [
        *(False, False, True),
        *(False, False),
    ]
    assert LeadRule(1.5, 0.5).stops([[1, 0], [2, 0]]).tolist() == [True, True]
    assert not LeadRule(1, 5).stops([[0, 0]])[0]
    assert LeadRule(1).stops([[3.0]]).tolist() == [True]


@settings(max_examples=25)
@given(st.integers(0, 30), st.sampled_from([0.7, 1.5, 2.5]), st.sampled_from([0.0, 0.1, 0.5]))
def test_replay_in_a_plain_loop(seed: int, c: float, epsilon: float) -> None:
    random = np.random.default_rng(seed)
    frame = drawn(seed, pairs=12, workers=8).to_polars()
    frame = frame.with_columns(order=random.permutation(frame.height).astype(float))
    labels = read_labels(frame, grades=range(3))
    weights = random.random(8)
    found = LeadRule(c, epsilon).replay(labels, weights)
    assert labels.order is not None
    used = np.zeros(len(labels), dtype=bool)
    decided = np.zeros(12, dtype=bool)
    for i in range(12):
        mine = np.flatnonzero(labels.pair == i)
        votes, squares = np.zeros(3), 0.0
        for row in mine[np.argsort(labels.order[mine])]:
            used[row] = True
            weight = weights[labels.worker[row]]
            votes[labels.level[row]] += weight
            squares += weight**2
            first, second = sorted(votes)[::-1][:2]
            if first - second >= c * np.sqrt(squares) - epsilon * votes.sum() - 1e-12:
                decided[i] = True
                break
    assert found.is_used.tolist() == used.tolist()
    assert found.is_decided.tolist() == decided.tolist()
    assert found.n_used_by_pair.sum() == used.sum() == len(found.labels)
    assert found.to_polars()["decided"].to_list() == decided.tolist()


def test_real_votes(shared: Path) -> None:
    """Numbers of an independent script."""
    labels = read_labels(
        shared / "crowd-get-another-label/JeroenVuurens/votes.gz",
        columns="order item worker grade",
    )
    found = LeadRule(1.5).replay(labels)
    assert int(found.is_used.sum()) == 12_819
    assert int(majority(found.labels).is_tied.sum()) == 88
    assert int(LeadRule(1.5, 0.1).replay(labels).is_used.sum()) == 9_043
