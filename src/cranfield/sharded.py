"""Scores by shard: each measure on each part of the collection, and on the whole of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from cranfield.collection.judged import JudgedRuns
from cranfield.collection.shard_judging import JudgedShards, judge_shards
from cranfield.collection.shard_maps import as_sharding
from cranfield.collection.shards import Sharding, check_whole, random_shards
from cranfield.evaluation import Evaluation, score
from cranfield.files import whole_file
from cranfield.measures import Measure, parse_measures
from cranfield.scores import Scores
from cranfield.tabular import frame_html
from cranfield.text import counted

MOST_SAMPLINGS = 1000
"""Partitions at a time; each keeps judged runs of its own."""


@dataclass(frozen=True, eq=False, repr=False)
class ShardedEvaluation(Mapping[str, Scores]):
    """Scores of several measures by shard: a mapping of text forms to scores.

    Attributes
    ----------
    measures
        The measures, in order.
    scores
        The scores by text form; values have shape (topics, systems, shards). NaN where a topic has
        no relevant document in a shard, and where its policy says that a system has no score.
    whole
        The ordinary evaluation of the same runs, on the whole collection.
    sharding
        The partition of the documents.
    judged
        The judged runs of each shard, for :func:`cranfield.score`.
    lost
        Documents in no shard that were left out: how many each system had retrieved, by system.
    lost_judgments
        How many judgments were left out for the same reason.

    Examples
    --------
    >>> run = {"q1": {"a": 4, "b": 3, "c": 2, "d": 1}, "q2": {"d": 2, "a": 1}}
    >>> qrels = {"q1": {"b": 1, "d": 1}, "q2": {"a": 1}}
    >>> halves = {"a": "left", "b": "left", "c": "right", "d": "right"}
    >>> ev = score_shards(run, qrels, "AP", shards=halves)
    >>> ev["AP"].values[:, 0].tolist(), ev.shards
    ([[0.5, 0.5], [1.0, nan]], ('left', 'right'))
    >>> ev.whole["AP"].values[:, 0].tolist()
    [0.5, 0.5]
    """

    measures: tuple[Measure, ...]
    scores: Mapping[str, Scores]
    whole: Evaluation
    sharding: Sharding
    judged: tuple[JudgedRuns, ...]
    lost: Mapping[str, int]
    lost_judgments: int

    def __getitem__(self, measure: str | Measure) -> Scores:
        return self.scores[self.whole[measure].measure]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in order."""
        return self.whole.systems

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return self.whole.topics

    @property
    def shards(self) -> tuple[str, ...]:
        """The shards' names, in order."""
        return self.sharding.labels

    def counts(self) -> pl.DataFrame:
        """Count what each shard has.

        Returns
        -------
        polars.DataFrame
            One row a shard: `shard`, `judgments`, `relevant` (judgments of grade 1 or higher),
            `topics` (with one of these), and `retrieved` (documents of all systems and topics).
        """
        relevant = [judged.recall_base() for judged in self.judged]
        return pl.DataFrame(
            {
                "shard": pl.Series(self.shards, dtype=pl.String),
                "judgments": [judged.judgments.grade.size for judged in self.judged],
                "relevant": [int(base.sum()) for base in relevant],
                "topics": [int((base > 0).sum()) for base in relevant],
                "retrieved": [int(judged.retrieved.sum()) for judged in self.judged],
            }
        )

    def means(self) -> pl.DataFrame:
        """Return the overall value (mean, sum or geometric mean) by measure, shard and system.

        Returns
        -------
        polars.DataFrame
            One row a measure and shard: `measure`, `shard`, then a column a system. An overall
            value is over the topics that have a score in that shard.
        """
        taken = ("measure", "shard")
        overall = np.concatenate([scores.overall().T for scores in self.scores.values()])
        columns = {
            name if name not in taken else f"{name} ": pl.Series(overall[:, i]).fill_nan(None)
            for i, name in enumerate(self.systems)
        }
        labels = {
            "measure": np.repeat(np.array(list(self.scores), dtype=object), len(self.shards)),
            "shard": np.tile(np.array(self.shards, dtype=object), len(self.scores)),
        }
        return pl.DataFrame(
            {**{name: pl.Series(values, dtype=pl.String) for name, values in labels.items()}}
            | columns
        )

    def to_polars(self) -> pl.DataFrame:
        """Return all scores in a long table: measure, topic, system, shard, score."""
        shape = (len(self.topics), len(self.systems), len(self.shards))
        places = np.indices(shape).reshape(3, -1)
        axes = {"topic": self.topics, "system": self.systems, "shard": self.shards}
        labels = {
            name: pl.Series(axis, dtype=pl.String).gather(place)
            for (name, axis), place in zip(axes.items(), places, strict=True)
        }
        parts = [
            pl.DataFrame({**labels, "score": scores.values.ravel()}).select(
                pl.lit(name).alias("measure"), pl.all()
            )
            for name, scores in self.scores.items()
        ]
        return pl.concat(parts).with_columns(pl.col("score").fill_nan(None))

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the long table as CSV."""
        with whole_file(path) as out:
            self.to_polars().write_csv(out)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the long table as Parquet."""
        with whole_file(path) as out:
            self.to_polars().write_parquet(out)

    def _repr_html_(self) -> str:
        return frame_html(self.means(), repr(self))

    def __repr__(self) -> str:
        return (
            f"ShardedEvaluation({counted(len(self.topics), 'topic')},"
            f" {counted(len(self.systems), 'system')}, {counted(len(self.shards), 'shard')}:"
            f" {', '.join(self.scores)})"
        )


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
        How many shards to draw at random (:func:`~cranfield.collection.shards.random_shards`), a
        partition, or whatever :func:`~cranfield.collection.shard_maps.read_shards` takes: a dict
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
        Number of partitions, from 1 to 1,000. The first of them is the one of `score_shards`, and
        none depends on how many there are.

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
    [[1.0, 1.0], [1.0, 1.0], [1.0, 0.5]]
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
    parts = [score(judged, whole.measures, compat=compat) for judged in sharded.shards]
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
