"""A part of the study of interleaving: one pair of systems, one method, all users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.streams import uniforms
from cranfield.meta.of_users.shown_lists import ShownLists
from cranfield.online.interleaving.interleaver import interleave
from cranfield.online.interleaving.outcomes_by_unit import TIE

AB = "A/B"
"""The method that shows either list whole, and compares clicks a page of two samples."""

Task = tuple[str, int, int]
"""A method by its text form, and two systems by number."""


class User(Protocol):
    """Whoever clicks."""

    def clicks(self, grades: Any, uniforms: Floats) -> Bools: ...


@dataclass(frozen=True, eq=False)
class Simulated:
    """What all parts need: the lists, the users by name, impressions of each topic, the seed."""

    shown: ShownLists
    users: dict[str, User]
    impressions: int
    seed: int


def simulated(given: Simulated, task: Task) -> pl.DataFrame:
    """Show a pair of lists of each topic, and count what users did, a row a user.

    Of interleaving these are wins, losses and ties; of A/B tests, as often for either list, sums of
    clicks a page and of their squares.
    """
    method, *pair = task
    count = _of_two_lists if method == AB else _interleaved
    topics = [count(given, task, topic) for topic in range(len(given.shown.topics))]
    sums = np.sum(topics, axis=0).tolist()
    return pl.DataFrame(
        {
            "user": list(given.users),
            "method": method,
            "first": given.shown.systems[pair[0]],
            "second": given.shown.systems[pair[1]],
            "counts": pl.Series(sums, dtype=pl.List(pl.Int64)),
        }
    )


def _interleaved(given: Simulated, task: Task, topic: int) -> Ints:
    """Return wins, losses and ties, shape (users, 3)."""
    method, first, second = task
    docs = given.shown.docs[[first, second], topic]
    lists = [one[one >= 0].tolist() for one in docs]
    if not any(lists):
        return np.array([[0, 0, given.impressions]] * len(given.users))
    name = given.shown.topics[topic]
    made = interleave(lists, method, docs.shape[1], topic=name)
    codes, teams = made.draw(given.impressions, given.seed)
    known = np.append(np.array(made.docs, dtype=np.intp), -1)
    counts = []
    for clicked in _clicks(given, known[codes], (topic, first, second)):
        outcome = made.outcomes(codes, clicked, teams)
        signs = [(outcome > TIE).sum(), (outcome < -TIE).sum()]
        counts.append([*signs, len(outcome) - sum(signs)])
    return np.array(counts)


def _of_two_lists(given: Simulated, task: Task, topic: int) -> Ints:
    """Return sums of clicks on either list, and of their squares, shape (users, 4)."""
    counts = []
    for side, system in enumerate(task[1:]):
        docs = np.tile(given.shown.docs[system, topic], (given.impressions, 1))
        pages = _clicks(given, docs, (topic, *task[1:], side))
        clicks = [one.sum(axis=1) for one in pages]
        counts.append([[one.sum(), (one**2).sum()] for one in clicks])
    return np.array(counts).transpose(1, 2, 0).reshape(len(given.users), 4)


def _clicks(given: Simulated, docs: Any, key: Sequence[int]) -> list[Bools]:
    """Return what each user clicks on lists of documents."""
    grades, width = given.shown.grades(docs), 2 * docs.shape[1]
    return [
        user.clicks(grades, uniforms(given.seed, 0, len(docs), width, 1, number, *key))
        for number, user in enumerate(given.users.values())
    ]
