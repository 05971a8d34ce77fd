"""Runs judged shard by shard: what a shard has of a run is a run, and judged as any other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.base.errors import CranfieldError, InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.many_runs import distinct_names, read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.assembling import Part, assembled
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import Progress, judge_one, of_each_run
from cranfield.collection.judged.policies import Policies, policies
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.collection.shards.sharding import Sharding

UNMAPPED = {
    "error": "refuse runs and judgments with a document that is in no shard",
    "drop": "leave such documents out of every shard, and count them",
}
"""The policies for documents that are in no shard, and what they do."""


@dataclass(frozen=True, eq=False)
class JudgedShards:
    """Runs judged on the shards of one partition.

    Attributes
    ----------
    sharding
        The partition.
    shards
        The judged runs of each shard. All have the same topics and systems.
    unmapped_judgments
        How many judgments are of documents that are in no shard.
    unmapped_documents
        How many such documents each system retrieved, over all topics.
    """

    sharding: Sharding
    shards: tuple[JudgedRuns, ...]
    unmapped_judgments: int
    unmapped_documents: tuple[int, ...]


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
    relevant_from: Iterable[int] = (1,),
    ties: str | None = None,
    topics: str | None = None,
    unjudged: str | None = None,
    negative: str | None = None,
    depth: int | None = None,
    compat: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[JudgedRuns, tuple[JudgedShards, ...]]:
    """Turn the rankings of runs into grades, on the whole collection and on each shard of it.

    The documents of a shard keep their order, and their ranks are counted within the shard. Each
    run is read once and not kept.
    """
    chosen = policies(
        compat, ties=ties, topics=topics, unjudged=unjudged, negative=negative, depth=depth
    )
    if unmapped not in UNMAPPED:
        raise PolicyError(f"unmapped {quoted(unmapped)} is none of {', '.join(UNMAPPED)}")
    whole = read_qrels(qrels).flat()
    least = 0 if chosen.negative == "unjudged" else -(2**31)
    grades = sorted({max(grade, least) for grade in relevant_from})
    splits = [_split(whole, sharding, unmapped, grades) for sharding in shardings]
    many = read_runs(runs)
    if not len(many):
        raise InputError("no runs were given")
    # What all threads share is made before they start.
    for one in (whole, *(part for split in splits for part in split.qrels)):
        one.index, one.place  # noqa: B018

    def of_run(i: int) -> tuple[Part, list[list[Part]], list[int]]:
        run, stem = many[i], many.stem(i)
        part = judge_one(run, stem, whole, chosen)
        top = _top(run, chosen)
        found = [_parts(top, part, split, unmapped, chosen) for split in splits]
        return part, [parts for parts, _ in found], [lost for _, lost in found]

    found = list(of_each_run(many, of_run, jobs, progress))
    parts = [part for part, _, _ in found]
    names = distinct_names([part.name for part in parts], [part.stem for part in parts])

    def together(parts: Sequence[Part], judgments: Qrels) -> JudgedRuns:
        judged = assembled(names, parts, judgments, chosen)
        highest = replace(judged.judgments, max_grade=max(whole.max_grade, 0))
        judged = replace(judged, judgments=highest, views={})
        return judged.condensed() if chosen.unjudged == "condensed" else judged

    sharded = []
    for s, split in enumerate(splits):
        by_run = [of_sharding[s] for _, of_sharding, _ in found]
        shards = tuple(
            together([of_shard[k] for of_shard in by_run], judgments)
            for k, judgments in enumerate(split.qrels)
        )
        lost = tuple(lost[s] for _, _, lost in found)
        sharded.append(JudgedShards(split.sharding, shards, split.unmapped, lost))
        for _, of_sharding, _ in found:
            # Many partitions would otherwise be in memory twice.
            of_sharding[s] = []
    return together(parts, whole), tuple(sharded)


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
    run: Run, whole: Part, split: _Split, unmapped: str, chosen: Policies
) -> tuple[list[Part], int]:
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
