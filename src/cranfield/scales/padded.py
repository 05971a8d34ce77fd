"""Rankings of a collection as runs of one length, and which of them share an image."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.collection.judged.judged_runs import JudgedRuns

Group = tuple[int | None, tuple[int, ...] | None]
"""Relevant documents that runs may have, and the ideal ranking; None where they do not matter."""


def padded(judged: JudgedRuns, length: int, rel: int | None) -> Ints:
    """Return the grades of rankings by rank, 0 where there is no judged document.

    All grades from `rel` on are 1; without it grades are as they are. Shape (topics * systems,
    length).
    """
    topics, systems = judged.shape
    rows = judged.judged()
    grade = np.maximum(rows.grade, 0) if rel is None else rows.grade >= rel
    out = np.zeros((topics, systems, length), dtype=np.int64)
    out[rows.topic, rows.cell // topics, rows.rank - 1] = grade
    return out.reshape(topics * systems, length)


def groups(
    judged: JudgedRuns, length: int, limits: Ints | None, *, ideal: bool
) -> dict[Group, Ints]:
    """Sort rankings, by their place in what :func:`padded` returns, by what their images depend on.

    The limits are relevant documents of each topic, where no run may have more; shape (topics, 1)
    or that of the judged runs. With `ideal` each topic's ideal ranking matters.
    """
    topics, systems = judged.shape
    places: dict[Group, list[Ints]] = {}
    most = None if limits is None else np.minimum(np.broadcast_to(limits, judged.shape), length)
    for topic in range(topics):
        best = _ideal(judged, topic, length) if ideal else None
        every = np.arange(systems)
        numbers = [None] if most is None else np.unique(most[topic]).tolist()
        for limit in numbers:
            among = every if most is None else np.flatnonzero(most[topic] == limit)
            places.setdefault((limit, best), []).append(topic * systems + among)
    return {group: np.concatenate(parts) for group, parts in places.items()}


def _ideal(judged: JudgedRuns, topic: int, length: int) -> tuple[int, ...]:
    """Grades of the ideal ranking of a topic, as far as runs go."""
    judgments = judged.judgments
    mine = judgments.grade[(judgments.topic == topic) & (judgments.grade >= 0)]
    return tuple(np.sort(mine)[::-1][:length].tolist())
