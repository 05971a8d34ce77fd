"""How much an assessor counts: by gold judgments, or by distance from judging at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.assess.agreement.laws import cohen_kappa
from cranfield.assess.agreement.tables import two_assessors
from cranfield.assess.labels.gold import gold_levels
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import CranfieldError, quoted
from cranfield.base.streams import stream_of
from cranfield.correlation import tau_ap

SUPERVISED = ("accuracy", "kappa")
UNSUPERVISED = ("rmse", "tau_ap")
BY = ("all", "topic")

RANDOM_CHANCES = (0.05, 0.5, 0.95)
"""How often random assessors find a document relevant."""


def of_gold(labels: Labels, gold: Any, kind: str) -> Floats:
    """Return how well each assessor agrees with gold judgments; shape (assessors,).

    An assessor without a label of a gold pair, or with an undefined kappa, counts 0.
    """
    level, _ = gold_levels(gold, labels)
    truth = level[labels.pair]
    rows = np.flatnonzero(truth >= 0)
    size = len(labels.workers)
    number = np.bincount(labels.worker[rows], minlength=size)
    if kind == "accuracy":
        right = np.bincount(
            labels.worker[rows], weights=labels.level[rows] == truth[rows], minlength=size
        )
        found = np.divide(right, number, out=np.zeros(size), where=number > 0)
    else:
        tables = two_assessors(
            labels.level[rows],
            truth[rows],
            grades=np.arange(labels.grades.size),
            topics=labels.worker[rows],
            rows=size,
        )
        found = np.maximum(np.nan_to_num(cohen_kappa(tables)), 0)
    if not found.any():
        raise CranfieldError(f"no assessor has a {kind} above 0 against the gold judgments")
    return found


def random_grades(
    labels: Labels, chance: float, kind: int, draws: int, seed: int
) -> Iterator[NDArray[np.int32]]:
    """Draw grades for all pairs: relevant with a chance, any of the relevant grades alike."""
    relevant = labels.grades[labels.grades > 0]
    if not relevant.size:
        raise CranfieldError("no label is relevant: random assessors have no grade to give")
    grades = np.zeros((draws, len(labels.docs)), dtype=np.int32)
    place = labels.docs.arg_sort().to_numpy()
    place = place[np.argsort(labels.topic_of[place], kind="stable")]
    starts = np.searchsorted(labels.topic_of[place], np.arange(len(labels.topics) + 1))
    for code, topic in enumerate(labels.topics):
        rows = place[starts[code] : starts[code + 1]]
        random = stream_of(seed, topic, kind)
        hit = random.random((draws, rows.size)) < chance
        which = stream_of(seed, topic, kind, 1).integers(relevant.size, size=hit.shape)
        grades[:, rows] = np.where(hit, relevant[which], 0)
    yield from grades


def of_distances(
    values: Floats, part: Bools, random: Floats, kind: str, by: str
) -> NDArray[np.float64]:
    """Return how far each assessor is from the nearest kind of random ones; (assessors, topics)."""
    made = np.zeros(part.shape)
    for k, some in enumerate(part):
        topics = np.flatnonzero(some)
        if topics.size:
            apart = _apart(values[k, topics], random[:, :, topics], kind, by)
            # An order that cannot be told is as far as one that has nothing to do with it.
            made[k, topics] = np.nan_to_num(apart, nan=1.0).mean(axis=1).min(axis=0)
    if not made.any():
        raise CranfieldError(f"no assessor differs from random ones by {quoted(kind)}")
    return made


def _apart(own: Floats, random: Floats, kind: str, by: str) -> Floats:
    """Distances of scores (topics, systems) from random ones; (kinds, draws, topics or 1)."""
    random = np.nan_to_num(random)
    if kind == "tau_ap":
        own, random = (own, random) if by == "topic" else (_mean(own), _mean(random))
        flat = random.reshape(-1, *random.shape[2:])
        taus = [tau_ap(flat[:, t], own[t]) for t in range(own.shape[0])]
        return (1 - np.stack(taus, axis=1)).reshape(*random.shape[:2], -1)
    square = (random - own) ** 2
    mean = square.mean(axis=3) if by == "topic" else square.mean(axis=(2, 3))[:, :, None]
    return np.asarray(np.sqrt(mean))


def _mean(scores: Floats) -> Floats:
    return np.asarray(scores.mean(axis=-2, keepdims=True))
