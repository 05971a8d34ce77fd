"""Runs judged shard by shard: what a shard has of a run is a run, and judged as any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import CranfieldError, InputError, quoted
from cranfield.base.words import counted
from cranfield.collection.judged.assembling import JudgedRun, assembled
from cranfield.collection.judged.each_run import Progress, judge_each
from cranfield.collection.judged.given import read_both, telling_order
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge_one
from cranfield.collection.judged.policies import CHOICES, NUMBERS, Policies, policies
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.judged.scorable import Scorable, Scorer, lowest_relevant
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.shards.sharding import Sharding

UNMAPPED = {
    "error": "refuse runs and judgments with a document that is in no shard",
    "drop": "leave such documents out of every shard, and count them",
}
"""The policies for documents that are in no shard, and what they do."""


@dataclass(frozen=True, eq=False)
class JudgedShards(Scorable):
    """Runs judged on the shards of one partition.

    Attributes
    ----------
    sharding
        The partition.
    shards
        The judged runs of each shard. All have the same topics and systems.
    lost
        Documents in no shard that were left out: how many each system had retrieved, by system.
    lost_judgments
        How many judgments were left out for the same reason.
    rel
        Lowest grade that makes a document relevant when topics are looked at for one; None for
        that of each measure.
    """

    sharding: Sharding
    shards: tuple[JudgedRuns, ...]
    lost: Mapping[str, int]
    lost_judgments: int
    rel: int | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, in order."""
        return self.shards[0].topics

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in order."""
        return self.shards[0].systems

    @property
    def shard_labels(self) -> tuple[str, ...]:
        """The shards' names, in order."""
        return self.sharding.labels

    def scores_by(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by shard; NaN where a topic has no relevant document in a shard."""
        # A copy, so that what measures keep for each other is gone when they are done.
        copies = (replace(judged, views={}) for judged in self.shards)
        by_shard = [judged.scores_by(measures) for judged in copies]
        return [
            np.where(self._gaps(measure)[:, None], np.nan, np.stack(values, axis=2))
            for measure, *values in zip(measures, *by_shard, strict=True)
        ]

    def settings_for(self, measure: Scorer) -> dict[str, Any]:
        """Return the policies, the partition, and how many cells it leaves without a score."""
        gaps = self._gaps(measure)
        return {
            **self.shards[0].settings_for(measure),
            **self.sharding.describe(),
            "shard labels": list(self.sharding.labels),
            "relevant from": self._relevant_from(measure),
            "cells": gaps.size,
            "cells without scores": int(gaps.sum()),
            "judgments in no shard": self.lost_judgments,
            "documents in no shard": sum(self.lost.values()),
        }

    def _relevant_from(self, measure: Scorer) -> int:
        return lowest_relevant(measure) if self.rel is None else int(self.rel)

    def _gaps(self, measure: Scorer) -> Bools:
        """What every system lacks alike; shape (topics, shards)."""
        low = self._relevant_from(measure)
        bases = [judged.recall_base(low) for judged in self.shards]
        return np.asarray(np.concatenate(bases, axis=1) == 0)

    def counts(self) -> pl.DataFrame:
        """Count what each shard has.

        Returns
        -------
        polars.DataFrame
            One row a shard: `shard`, `judgments`, `relevant` (judgments of grade 1 or higher),
            `topics` (with one of these), and `retrieved` (documents of all systems and topics).
        """
        relevant = [judged.recall_base() for judged in self.shards]
        return pl.DataFrame(
            {
                "shard": pl.Series(self.sharding.labels, dtype=pl.String),
                "judgments": [judged.judgments.grade.size for judged in self.shards],
                "relevant": [int(base.sum()) for base in relevant],
                "topics": [int((base > 0).sum()) for base in relevant],
                "retrieved": [int(judged.retrieved.sum()) for judged in self.shards],
            }
        )


@dataclass(frozen=True, eq=False)
class _Split:
    """The judgments by shard."""

    sharding: Sharding
    qrels: tuple[Qrels, ...]
    unmapped: int


def judge_shards(
    runs: Any,
    qrels: Any,
    shardings: Sequence[Sharding],
    *,
    unmapped: str = "error",
    measures: Iterable[Scorer] = (),
    rel: int | None = None,
    compat: str | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[JudgedRuns, tuple[JudgedShards, ...]]:
    """Turn the rankings of runs into grades, on the whole collection and on each shard of it."""
    chosen = policies(compat, **{name: options.pop(name, None) for name in (*CHOICES, *NUMBERS)})
    check_choice("unmapped", unmapped, UNMAPPED)
    with telling_order(runs, qrels):
        many, read = read_both(runs, qrels, **options)
    whole = read.flat()
    least = 0 if chosen.negative == "unjudged" else -(2**31)
    lowest = {lowest_relevant(one) for one in measures} if rel is None else {int(rel)}
    grades = sorted({max(grade, least) for grade in lowest or {1}})
    splits = [_split(whole, sharding, unmapped, grades) for sharding in shardings]

    of_run = _OfRun(whole, splits, unmapped, chosen)
    where = {"jobs": jobs, "backend": backend, "scheduler": scheduler}
    shared = (whole, *(part for split in splits for part in split.qrels))
    with telling_order(runs, qrels):
        names, found = judge_each(many, shared, of_run, progress, **where)

    def together(
        parts: Sequence[JudgedRun], judgments: Qrels, labels: Sequence[str] | None = None
    ) -> JudgedRuns:
        judged = assembled(names, parts, judgments, chosen, labels=labels).read_as(many.settings)
        highest = replace(judged.judgments, max_grade=chosen.max_grade or max(whole.max_grade, 0))
        judged = replace(judged, judgments=highest, views={})
        return judged.condensed() if chosen.unjudged == "condensed" else judged

    on_all = together([part for part, _ in found], whole)
    labels = None if chosen.topics_with_grade is None else on_all.topics
    sharded = []
    for s, split in enumerate(splits):
        shards = tuple(
            together([by_sharding[s][0][k] for _, by_sharding in found], judgments, labels)
            for k, judgments in enumerate(split.qrels)
        )
        lost = [by_sharding[s][1] for _, by_sharding in found]
        by_name = dict(zip(names, lost, strict=True))
        sharded.append(JudgedShards(split.sharding, shards, by_name, split.unmapped, rel))
        for _, by_sharding in found:
            # Many partitions would otherwise be in memory twice.
            by_sharding[s][0].clear()
    return on_all, tuple(sharded)


@dataclass(frozen=True, eq=False)
class _OfRun:
    """How a run is judged: on the whole collection, and on the shards of each partition."""

    whole: Qrels
    splits: Sequence[_Split]
    unmapped: str
    chosen: Policies

    def __call__(
        self, run: Run, stem: str | None
    ) -> tuple[JudgedRun, list[tuple[list[JudgedRun], int]]]:
        part = judge_one(run, stem, self.whole, self.chosen)
        top = _top(run, self.chosen)
        return part, [_parts(top, part, one, self.unmapped, self.chosen) for one in self.splits]


def _split(qrels: Qrels, sharding: Sharding, unmapped: str, grades: Sequence[int]) -> _Split:
    """Give each shard its judgments, and see that each has something relevant."""
    shard = sharding.of(qrels.docs)
    lost = shard < 0
    if unmapped == "error" and lost.any():
        row = int(np.flatnonzero(lost)[0])
        raise _in_no_shard(qrels, row, int(lost.sum()), "judgment")
    number = len(sharding)
    for grade in grades:
        relevant = qrels.grades >= grade
        count = np.bincount(shard[relevant & ~lost], minlength=number)
        empty = np.flatnonzero(count == 0)
        if empty.size:
            documents = counted(qrels.docs.gather(np.flatnonzero(relevant)).n_unique(), "document")
            raise CranfieldError(
                f"shard {quoted(sharding.labels[empty[0]])} has no relevant document of any topic"
                f" ({counted(number, 'shard')}, {documents} of grade {grade} or higher);"
                " take fewer shards"
            )
    return _Split(
        sharding, tuple(qrels.restricted(shard == k) for k in range(number)), int(lost.sum())
    )


def _top(run: Run, chosen: Policies) -> Run:
    """Cut the rankings off at the depth that counts."""
    if chosen.depth is None:
        return run
    ranks = order_of(run, chosen.ties).ranks_of(np.arange(len(run)))
    return run.restricted(ranks <= chosen.depth)


def _parts(
    run: Run, whole: JudgedRun, split: _Split, unmapped: str, chosen: Policies
) -> tuple[list[JudgedRun], int]:
    """Judge a run on each shard; also count its documents that are in none."""
    shard = split.sharding.of(run.docs)
    lost = shard < 0
    number = int(lost.sum())
    if unmapped == "error" and number:
        raise _in_no_shard(run, int(np.flatnonzero(lost)[0]), number, "document")
    parts = []
    for k, judgments in enumerate(split.qrels):
        part = judge_one(run.restricted(shard == k), whole.stem, judgments, chosen)
        extra = {topic: part.extra.get(topic, 0) for topic in whole.extra}
        # A system that has a topic has it in every shard, also where it retrieved nothing.
        parts.append(replace(part, has=whole.has, extra=extra))
    return parts, number


def _in_no_shard(table: Run | Qrels, row: int, number: int, what: str) -> InputError:
    return table.origin.wrong(
        f"{counted(number, what)} in no shard; unmapped='drop' leaves out such documents",
        row,
        table.topics[table.codes[row]],
        table.docs[row],
    )
