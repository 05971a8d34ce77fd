"""Where rankings meet judgments: the only place that turns documents into grades."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.threads import at_most, pool_of
from cranfield.collection.document_tables import DocumentTable, read_groups, read_lengths
from cranfield.collection.files.many_runs import Runs, distinct_names, read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.intents.judged_intents import intents_of
from cranfield.collection.intents.probabilities import read_intents
from cranfield.collection.judged.assembling import Beside, JudgedRun, Known, assembled
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.policies import Policies, policies
from cranfield.collection.judged.ranking import Order, order_of
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run

_IN_FLIGHT = 1 << 29
"""Bytes of files that are read at a time, at the most, so that memory stays bounded."""

Found = TypeVar("Found")

Progress = Callable[[int, int], None]
"""Called with (runs done, runs in all)."""


def judge(
    runs: Any,
    qrels: Any,
    *,
    ties: str | None = None,
    topics: str | None = None,
    unjudged: str | None = None,
    negative: str | None = None,
    depth: int | None = None,
    compat: str | None = None,
    lengths: Any = None,
    groups: Any = None,
    intents: Any = None,
    aspects: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> JudgedRuns:
    """Turn the rankings of runs into grades.

    Parameters
    ----------
    runs
        Whatever :func:`read_runs` takes. Runs are read one at a time and not kept.
    qrels
        Whatever :func:`read_qrels` takes.
    ties
        Order of documents with equal scores: `trec` (default), `trec_eval-9`, `id-ascending`,
        `input`, `rank`, `file`.
    topics
        Which topics count: `qrels` (default), `intersection`, `run`.
    unjudged
        What becomes of unjudged documents: `nonrelevant` (default), `condensed`.
    negative
        What a grade below 0 means: `judged` (default), `unjudged`.
    depth
        Ranks kept of each ranking; None for all.
    compat
        Start from another program's policies: `trec_eval`, `trec_eval-9`, `trec_eval-10`, `ndeval`,
        `gdeval`, `ntcireval`, `cwl`.
    lengths
        Lengths of documents, for measures of time and text read: see :func:`read_lengths`.
    groups
        Groups of documents, for measures of fairness: see :func:`read_groups`.
    intents
        Probabilities and types of intents, for measures of diversity: see :func:`read_intents`.
        Without, the intents of a topic are equally likely.
    aspects
        Judgments on other aspects than relevance, by the aspect's name.
    jobs
        Runs judged at a time, in threads; by default twice the number of processors, 8 at the
        most, and fewer when the files are so large that memory would suffer.
    progress
        Called after each run with the number done and the number in all.

    Returns
    -------
    JudgedRuns
        With the policies and the coverage of the judgments in it.

    Raises
    ------
    InputError
        When a run or the judgments cannot be read, or have no topic in common.
    PolicyError
        For an unknown policy.

    Warns
    -----
    CranfieldWarning
        When two files have the same run tag.

    Examples
    --------
    >>> import cranfield as cf
    >>> judged = cf.judge({"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, {"q": {"d1": 0, "d3": 2}})
    >>> judged.documents.rank.tolist(), judged.documents.grade.tolist()
    ([1, 3], [0, 2])
    """
    chosen = policies(
        compat, ties=ties, topics=topics, unjudged=unjudged, negative=negative, depth=depth
    )
    by_subtopic = read_qrels(qrels, subtopics=True if intents is not None else None)
    judgments = by_subtopic.flat()
    known = _known(by_subtopic, judgments, lengths, groups, intents)
    others = {name: read_qrels(one).flat() for name, one in (aspects or {}).items()}

    def of_run(run: Run, stem: str | None) -> tuple[JudgedRun, list[JudgedRun]]:
        order = order_of(run, chosen.ties)
        part = judge_one(run, stem, judgments, chosen, known.tables, order)
        on = [judge_one(run, stem, other, chosen, order=order) for other in others.values()]
        return part, on

    names, found = judge_each(runs, (judgments, *others.values()), of_run, jobs, progress)
    judged = assembled(names, [part for part, _ in found], judgments, chosen, known)
    if others:
        tables = Known(known.tables)
        on = {
            name: _beside_relevance(
                judged,
                assembled(
                    names, [more[i] for _, more in found], other, chosen, tables, judged.topics
                ),
            )
            for i, (name, other) in enumerate(others.items())
        }
        judged = replace(judged, annotations=replace(judged.annotations, aspects=on))
    return judged.condensed() if chosen.unjudged == "condensed" else judged


def _beside_relevance(judged: JudgedRuns, other: JudgedRuns) -> JudgedRuns:
    """Give runs judged on another aspect what is the same on all: what is known of documents."""
    same, groups = judged.annotations, other.annotations.groups
    if groups is not None and same.groups is not None:
        groups = replace(groups, rows=same.groups.rows)
    annotations = replace(other.annotations, lengths=same.lengths, groups=groups)
    return replace(other, scored=judged.scored, retrieved=judged.retrieved, annotations=annotations)


def _known(by_subtopic: Qrels, judgments: Qrels, lengths: Any, groups: Any, intents: Any) -> Known:
    readers = {"lengths": (read_lengths, lengths), "groups": (read_groups, groups)}
    tables = {name: read(data) for name, (read, data) in readers.items() if data is not None}
    table = None if intents is None else read_intents(intents)
    if by_subtopic.subtopics is None and table is None:
        return Known(tables)
    return Known(tables, intents_of(by_subtopic, judgments, table))


def judge_each(
    runs: Any,
    judgments: Iterable[Qrels],
    of_run: Callable[[Run, str | None], tuple[JudgedRun, Found]],
    jobs: int | None,
    progress: Progress | None,
) -> tuple[list[str], list[tuple[JudgedRun, Found]]]:
    """Read and judge each run, a few at a time; with the names of the systems, in order."""
    many = read_runs(runs)
    if not len(many):
        raise InputError("no runs were given")
    if len(many) > 1:
        # What all threads share is made before they start.
        for one in judgments:
            one.index, one.place  # noqa: B018
    found = list(of_each(many, lambda i: of_run(many[i], many.stem(i)), jobs, progress))
    parts = [part for part, _ in found]
    names = [part.name for part in parts]
    return distinct_names(names, [part.stem for part in parts], stacklevel=5), found


def of_each(
    runs: Runs, one: Callable[[int], Found], jobs: int | None, progress: Progress | None
) -> Iterator[Found]:
    """Call a function with the number of each run, a few at a time; results come in order."""
    if jobs is not None and jobs < 1:
        raise PolicyError(f"jobs {jobs} is less than 1")
    workers = jobs or _workers(runs)
    total = len(runs)
    if workers == 1 or total == 1:
        for i in range(total):
            with at_most(jobs):
                part = one(i)
            yield part
            if progress:
                progress(i + 1, total)
        return
    with pool_of(workers) as pool:
        try:
            for i, part in enumerate(pool.map(one, range(total))):
                yield part
                if progress:
                    progress(i + 1, total)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _workers(runs: Runs) -> int:
    """Choose how many runs to judge at a time: while one is computed with, others are read."""
    largest = max((runs.size(i) for i in range(len(runs))), default=0)
    fitting = _IN_FLIGHT // max(1, largest)
    return max(1, min(8, 2 * (os.cpu_count() or 1), fitting))


def judge_one(
    run: Run,
    stem: str | None,
    qrels: Qrels,
    chosen: Policies,
    tables: Mapping[str, DocumentTable] | None = None,
    order: Order | None = None,
) -> JudgedRun:
    """Judge one run, and look its documents up in tables; its order may be known already."""
    order = order_of(run, chosen.ties) if order is None else order
    to_qrels = qrels.codes_of(run.topics)
    asked, found = qrels.find(run)
    rank = order.ranks_of(asked)
    topic = qrels.codes[found].astype(np.int64)
    grade = qrels.grades[found].astype(np.int64)
    counts = np.bincount(run.codes, minlength=len(run.topics))
    if chosen.depth is not None:
        counts = np.minimum(counts, chosen.depth)
        kept = rank <= chosen.depth
        rank, topic, grade, found = rank[kept], topic[kept], grade[kept], found[kept]
    # In the order of the table that the parts will make, while other runs are still being read.
    order_in_table = np.argsort((qrels.place[topic] << 32) | rank)
    topic, rank, grade = topic[order_in_table], rank[order_in_table], grade[order_in_table]
    found = found[order_in_table]
    known = to_qrels >= 0
    retrieved = np.zeros(len(qrels.topics), dtype=np.int64)
    retrieved[to_qrels[known]] = counts[known]
    return JudgedRun(
        name=run.name,
        stem=stem,
        topic=topic,
        rank=rank,
        grade=grade,
        retrieved=retrieved,
        has=np.isin(np.arange(len(qrels.topics)), to_qrels),
        extra={run.topics[i]: int(counts[i]) for i in np.flatnonzero(~known)},
        tied=order.tied,
        contradictions=order.contradictions,
        source=found,
        beside={
            name: _beside(run, order, to_qrels, table, chosen.depth)
            for name, table in (tables or {}).items()
        },
    )


def _beside(
    run: Run, order: Order, to_qrels: Ints, table: DocumentTable, depth: int | None
) -> Beside:
    asked, found = table.found(run.docs)
    topic, rank = to_qrels[run.codes[asked]], order.ranks_of(asked)
    kept = topic >= 0
    if depth is not None:
        kept &= rank <= depth
    found = found[kept]
    return Beside(topic[kept], rank[kept], table.codes[found], table.values[found])
