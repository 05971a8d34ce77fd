"""Lists drawn and enumerated: what no method may get wrong."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from tests.online.interleaving.enumeration import by_name, made
from tests.online.refusals import check_refused

METHODS = [*cf.online.interleaving_methods()["method"], "Probabilistic(replace=False)"]


@pytest.mark.parametrize("method", METHODS)
def test_draws_follow_the_distribution(method: str) -> None:
    """All frequencies within 4.5 standard errors."""
    interleaver = made("abcd", "bdca", method=method)
    law = interleaver.compute_distribution()
    drawn = interleaver.draw(10_000, seed=1)
    rows, counts = np.unique(np.c_[drawn.lists, drawn.teams], axis=0, return_counts=True)
    listed = np.c_[law.lists, law.teams].tolist()
    of = dict(zip(map(tuple, listed), law.probabilities, strict=True))
    p = np.array([of[tuple(row)] for row in rows.tolist()])
    often = p * 10_000 > 50  # Of rare lists numbers are not normal.
    error = np.sqrt(p * (1 - p) / 10_000)
    assert often.sum() >= 2 and (np.abs(counts / 10_000 - p) <= 4.5 * error)[often].all()
    assert np.isclose(law.probabilities.sum(), 1, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_draws_do_not_depend_on_batches_or_threads(method: str) -> None:
    interleaver = made("abcdefghij", "jihgfedcba", method=method)
    drawn = interleaver.draw(1_000, seed=3)
    for other in (
        [interleaver.draw(1_000, seed=3, jobs=4)],
        [interleaver.draw(400, seed=3), interleaver.draw(600, seed=3, first=400)],
    ):
        assert (np.concatenate([one.lists for one in other]) == drawn.lists).all()
        assert (np.concatenate([one.teams for one in other]) == drawn.teams).all()
    assert (interleaver.draw(1_000, seed=4).lists != drawn.lists).any()


def test_topics_are_drawn_independently() -> None:
    lists = [list("abcdefghij"), list("jihgfedcba")]
    one = cf.online.interleave(lists, topic="1").draw(500, seed=3)
    other = cf.online.interleave(lists, topic="2").draw(500, seed=3)
    assert (one.teams == other.teams).mean() < 0.6


def test_an_impression_sees_the_same_list_whoever_else_is_asked() -> None:
    interleaver = made("abcdef", "fedcba", method="TeamDraft")
    keys = [f"impression {k}" for k in range(50)]
    all_of_them = interleaver.draw_for(keys, seed=5)
    alone = interleaver.draw_for(keys[7:8], seed=5)
    assert (alone.lists[0] == all_of_them.lists[7]).all()
    assert len(np.unique(all_of_them.lists, axis=0)) > 5
    assert interleaver.draw_for([], seed=5).lists.shape == (0, 6)


@pytest.mark.parametrize("method", METHODS)
def test_short_lists_and_few_documents(method: str) -> None:
    assert by_name(made("a", "a", method=method).compute_distribution()) == {"a": 1.0}
    tops = set(by_name(made("abc", "cab", method=method, length=1).compute_distribution()))
    assert tops == ({"a", "b", "c"} if method.startswith("Prob") else {"a", "c"})
    padded = made("ab", "ba", method=method, length=5).draw(3, seed=1)
    assert (padded.lists[:, 2:] == -1).all() and (padded.teams[:, 2:] == -1).all()
    many = "".join(chr(200 + k) for k in range(30))
    deep = made(many, many[::-1], method=method).draw(50, seed=1)
    assert (np.sort(deep.lists, axis=1) == np.arange(30)).all()


def test_runs_are_interleaved_for_a_topic() -> None:
    first = cf.read_run({"q1": {"d1": 1, "d2": 2}, "q2": {"d3": 1}}, name="A")
    second = cf.read_run({"q1": {"d1": 2, "d2": 1}}, name="B")
    interleaver = cf.online.interleave([first, second], "Balanced", topic="q1")
    assert interleaver.rankers == ("A", "B")
    assert by_name(interleaver.compute_distribution()) == {"d2d1": 0.5, "d1d2": 0.5}
    both, of_runs = [first, second], cf.online.interleave
    check_refused(
        (lambda: of_runs(both), "must be a topic of the runs, got .None"),
        (lambda: of_runs(both, topic="q3"), "must be a topic of the runs, got 'q3'"),
        (lambda: of_runs([first, first], topic="q1"), "distinct names, got 'A' twice"),
    )
