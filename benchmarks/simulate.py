"""Collections, judgments and retrieved documents of realistic shape, from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import TREC, Judgments

Indices = NDArray[np.int64]

_MSMARCO_PASSAGES = 8_841_823

_RELEVANT_WEIGHT = 10.0
"""How much likelier a relevant document is found than a judged nonrelevant one."""

_MISSED = 0.14
"""How many of the judged documents that a run could find it misses nevertheless."""


@dataclass(frozen=True)
class Topic:
    """One topic and its judged documents, as indices into the collection."""

    name: str
    judged: Indices
    relevant: NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """A collection, whose names may be strings or plain numbers, and the topics judged on it."""

    names: Sequence[str] | range
    topics: list[Topic]


@cache
def world_of(judgments: Judgments) -> World:
    """Build the collection and its judgments; once per process, as runs share them."""
    rng = np.random.default_rng(judgments.seed)
    if judgments == TREC:
        names: Sequence[str] | range = _newswire_ids(rng)
        topic_names = [str(401 + number) for number in range(judgments.topics)]
        judged, relevant = _pool_sizes(rng, judgments)
    else:
        names = range(_MSMARCO_PASSAGES)
        numbers = rng.choice(1_102_401, judgments.topics, replace=False)
        topic_names = [str(number) for number in np.sort(numbers)]
        judged = 1 + rng.poisson(judgments.judged - 1, judgments.topics)
        relevant = judged
    topics = [
        _judge(rng, name, len(names), int(pool), int(positive))
        for name, pool, positive in zip(topic_names, judged, relevant, strict=True)
    ]
    return World(names, topics)


def retrieve(
    rng: np.random.Generator, topic: Topic, collection: int, depth: int, skill: float
) -> tuple[Indices, NDArray[np.float64]]:
    """Retrieve documents for a topic, best first, with their scores.

    Some 5 to 10% of a long ranking is judged when the pool allows it. The higher the skill, the
    higher relevant documents score.
    """
    wanted = min(round(rng.uniform(0.06, 0.115) * depth), topic.judged.size)
    # Adding Gumbel noise to log weights and keeping the largest samples without replacement.
    weights = np.where(topic.relevant, np.log(_RELEVANT_WEIGHT), 0.0)
    keys = weights + rng.gumbel(size=topic.judged.size)
    found = np.argsort(-keys)[:wanted]
    found = found[rng.random(wanted) >= _MISSED]
    others = _sample_without(rng, collection, depth - found.size, topic.judged)

    docs = np.concatenate([topic.judged[found], others])
    latent = 0.5 * rng.standard_exponential(depth)
    judged_scores = latent[: found.size]
    judged_scores += 0.4
    positive = topic.relevant[found]
    judged_scores[positive] += np.abs(rng.normal(skill, 1.0, np.count_nonzero(positive)))
    # Below 8 a 32-bit float still tells any two numbers with 6 decimals apart. So tools that
    # read scores as such see the same ties as others, and all can be held to the same means.
    scores = 8 * latent / (latent + 3)
    order = np.argsort(-scores)
    return docs[order], scores[order]


def _sample_without(
    rng: np.random.Generator, collection: int, size: int, without: Indices
) -> Indices:
    """Draw distinct documents other than the given ones, in random order."""
    spare = 64 + size // 4
    drawn = np.unique(rng.integers(0, collection, size + spare))
    drawn = drawn[~np.isin(drawn, without)]
    return rng.permutation(drawn)[:size]


def _judge(
    rng: np.random.Generator, name: str, collection: int, judged: int, relevant: int
) -> Topic:
    docs = np.sort(_sample_without(rng, collection, judged, np.empty(0, np.int64)))
    positive = np.zeros(judged, dtype=np.bool_)
    positive[rng.choice(judged, relevant, replace=False)] = True
    return Topic(name, docs, positive)


def _pool_sizes(rng: np.random.Generator, judgments: Judgments) -> tuple[Indices, Indices]:
    """Draw how many documents are judged and how many relevant, with the means asked for."""
    judged = np.clip(rng.normal(1.0, 0.28, judgments.topics), 0.5, 1.8)
    relevant = np.clip(rng.lognormal(0.0, 0.9, judgments.topics), 0.08, 4.0)
    return (
        np.rint(judged * judgments.judged / judged.mean()).astype(np.int64),
        np.rint(relevant * judgments.relevant / relevant.mean()).astype(np.int64),
    )


def _newswire_ids(rng: np.random.Generator) -> list[str]:
    """Name as many documents as TREC disks 4 and 5 hold, in the styles of their four sources."""
    ids = [*_financial_times(), *_fbis(), *_los_angeles_times(), *_federal_register()]
    # Indices are drawn uniformly, but real judged documents do not alternate between sources
    # in any pattern; shuffling keeps the sorted indices of a topic from grouping by source.
    return [ids[number] for number in rng.permutation(len(ids)).tolist()]


def _financial_times() -> Iterator[str]:
    quarters = ["911", *(f"9{year}{quarter}" for year in (2, 3, 4) for quarter in (1, 2, 3, 4))]
    return (f"FT{quarter}-{number}" for quarter in quarters for number in range(10, 16_176))


def _fbis() -> Iterator[str]:
    return (f"FBIS{part}-{number}" for part in (3, 4) for number in range(10, 65_246))


def _los_angeles_times() -> Iterator[str]:
    return (
        f"LA{month:02d}{day:02d}{year}-{number:04d}"
        for year in (89, 90)
        for month in range(1, 13)
        for day in range(1, 31)
        for number in range(1, 184)
    )


def _federal_register() -> Iterator[str]:
    return (
        f"FR94{month:02d}{day:02d}-{part}-{number:05d}"
        for month in range(1, 13)
        for day in range(1, 29)
        for part in (0, 1, 2)
        for number in range(1, 56)
    )
