"""Score runs by shard: each measure on each part of the collection, and on the whole of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.collection.shards.given import as_sharding
from cranfield.collection.shards.judging_by_shard import JudgedShards, judge_shards
from cranfield.collection.shards.sharding import Sharding, random_shards
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.evaluation.sharded_evaluation import ShardedEvaluation
from cranfield.measures import Measure, parse_measures
from cranfield.scores import Scores

MOST_SAMPLINGS = 100
"""Partitions at a time; each keeps judged runs of its own, 24 bytes a judged document."""


def score_shards(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    shards: Any = 3,
    seed: int = 0,
    unmapped: str = "error",
    rel: int | None = None,
    compat: str | None = None,
    **policies: Any,
) -> ShardedEvaluation:
    r"""Score runs on each shard of the collection.

    On a shard, runs and judgments are restricted to its documents. What is left of a ranking keeps
    its order; ranks, cutoffs and recall bases are those of the shard. What depends on the highest
    grade takes that of the whole collection.

    A topic without a relevant document in a shard has no score there, for any system: NaN, which
    :func:`cranfield.compare` takes with `missing="available"` (gaps in the design), `"zero"` or
    `"drop"` (only topics with scores in all shards). A system that retrieved nothing relevant in
    a shard gets what the measure gives it, which is 0 for most.

    Source: Voorhees, Samarov and Soboroff (2017), Using replicates in information retrieval
    evaluation; Ferro and Sanderson (2019), Improving the accuracy of system performance
    estimation by using shards; Ferro and Sanderson (2022), How do you test a test?, sections 3.1
    and 4, who take three random shards.

    Parameters
    ----------
    runs, qrels, measures, compat
        As for :func:`cranfield.evaluate`.
    shards
        How many shards to draw at random (:func:`cranfield.random_shards`), a
        partition, or whatever :func:`cranfield.read_shards` takes: a dict
        `{document: shard}`, a data frame, a file.
    seed
        Of the random shards. A partition that is given does not depend on it.
    unmapped
        What becomes of runs and judgments with a document that a given partition lacks: `error`
        (default), or `drop`: it is left out of every shard, and counted.
    rel
        Lowest grade that makes a document relevant when topics are looked at for one. By default
        each measure's own `rel`, and 1 for a measure without.
    policies
        As for :func:`cranfield.judge`: `ties`, `topics`, `unjudged`, `negative`, `depth`, `jobs`,
        `progress`. The depth is that of the whole ranking. A system that lacks a topic in its run
        lacks it in all shards.

    Returns
    -------
    ShardedEvaluation
        A mapping of measures to :class:`Scores` by topic, system and shard. Their `settings` name
        the partition, and say how many cells of topic and shard have no score.

    Raises
    ------
    CranfieldError
        When a shard has no relevant document of any topic.
    MeasureError, InputError, PolicyError
        As :func:`cranfield.evaluate`, and for what is no partition.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {
    ...     "good": {q: {f"d{k}": 9 - k for k in range(9)} for q in "xyz"},
    ...     "bad": {q: {f"d{k}": k for k in range(9)} for q in "xyz"},
    ... }
    >>> qrels = {"x": {"d0": 1, "d1": 1}, "y": {"d0": 1, "d4": 1}, "z": {"d1": 1, "d2": 1}}
    >>> ev = score_shards(runs, qrels, ["AP", "P@2"], shards=2)
    >>> ev
    ShardedEvaluation(3 topics, 2 systems, 2 shards: AP, P@2)
    >>> ev["AP"].values.shape, ev["AP"].settings["cells without scores"]
    ((3, 2, 2), 2)
    """
    [only] = _scored(
        runs, qrels, measures, [as_sharding(shards, seed)], unmapped, rel, compat, policies
    )
    return only


def score_samplings(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    shards: int = 3,
    samplings: int = 5,
    seed: int = 0,
    rel: int | None = None,
    compat: str | None = None,
    **policies: Any,
) -> tuple[ShardedEvaluation, ...]:
    """Score runs on several random partitions of the collection, reading each run once.

    Parameters
    ----------
    runs, qrels, measures, seed, rel, compat, policies
        As for :func:`score_shards`.
    shards
        Number of shards of each partition.
    samplings
        Number of partitions, from 1 to 100; each is kept, with its judged runs. The first of them
        is the one of `score_shards`, and none depends on how many there are.

    Returns
    -------
    tuple of ShardedEvaluation
        One for each partition; all have the same `whole`.

    Raises
    ------
    CranfieldError, MeasureError, InputError, PolicyError
        As :func:`score_shards`.

    Examples
    --------
    >>> run = {"q": {f"d{k}": 9 - k for k in range(9)}}
    >>> qrels = {"q": {f"d{k}": 1 for k in range(0, 9, 2)}}
    >>> several = score_samplings(run, qrels, "RR", shards=2, samplings=3)
    >>> [ev["RR"].values.ravel().tolist() for ev in several]
    [[1.0, 1.0], [1.0, 1.0], [0.25, 1.0]]
    """
    check_whole("samplings", samplings, 1, MOST_SAMPLINGS)
    partitions = [random_shards(shards, seed, k) for k in range(int(samplings))]
    return _scored(runs, qrels, measures, partitions, "error", rel, compat, policies)


def _scored(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    shardings: Sequence[Sharding],
    unmapped: str,
    rel: int | None,
    compat: str | None,
    policies: Mapping[str, Any],
) -> tuple[ShardedEvaluation, ...]:
    if rel is not None:
        check_whole("rel", rel, 0)
    for name in ("lengths", "groups", "intents", "aspects"):
        if policies.get(name) is not None:
            raise PolicyError(
                f"{name} do not go with shards: what is known besides is of the whole"
            )
    wanted = parse_measures(measures, compat=compat)
    lowest = {str(one): _lowest(one) if rel is None else int(rel) for one in wanted}
    whole, sharded = judge_shards(
        runs,
        qrels,
        shardings,
        unmapped=unmapped,
        relevant_from=set(lowest.values()),
        compat=compat,
        **policies,
    )
    ordinary = score(whole, wanted, compat=compat)
    return tuple(_by_shard(one, ordinary, lowest, compat) for one in sharded)


def _lowest(measure: Measure) -> int:
    """Return the lowest grade that a measure calls relevant; one around another has that one's."""
    while isinstance(inner := getattr(measure, "inner", None), Measure):
        measure = inner
    low = getattr(measure, "rel", 1)
    return low if isinstance(low, int) else 1


def _by_shard(
    sharded: JudgedShards, whole: Evaluation, lowest: Mapping[str, int], compat: str | None
) -> ShardedEvaluation:
    # A copy, so that what measures keep for each other is gone when they are done.
    copies = (replace(judged, views={}) for judged in sharded.shards)
    parts = [score(judged, whole.measures, compat=compat).scores for judged in copies]
    made = {}
    for name, low in lowest.items():
        values = np.stack([part[name].values for part in parts], axis=2)
        # Shape (topics, shards): what every system lacks alike.
        gaps = np.concatenate([judged.recall_base(low) for judged in sharded.shards], axis=1) == 0
        values[np.broadcast_to(gaps[:, None, :], values.shape)] = np.nan
        one = whole[name]
        made[name] = Scores(
            values,
            one.topics,
            one.systems,
            measure=name,
            aggregate=one.aggregate,
            settings={
                **one.settings,
                **sharded.sharding.describe(),
                "shard labels": list(sharded.sharding.labels),
                "relevant from": low,
                "cells": gaps.size,
                "cells without scores": int(gaps.sum()),
                "judgments in no shard": sharded.unmapped_judgments,
                "documents in no shard": sum(sharded.unmapped_documents),
            },
            scale=one.scale,
            lower_is_better=one.lower_is_better,
        )
    lost = dict(zip(whole.systems, sharded.unmapped_documents, strict=True))
    return ShardedEvaluation(
        whole.measures,
        made,
        whole,
        sharded.sharding,
        sharded.shards,
        lost,
        sharded.unmapped_judgments,
    )
