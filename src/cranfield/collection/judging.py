"""Where rankings meet judgments: the only place that turns documents into grades."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from cranfield.collection.assembling import Part, assembled, named
from cranfield.collection.judged import JudgedRuns
from cranfield.collection.policies import Policies, policies
from cranfield.collection.qrels import Qrels
from cranfield.collection.ranking import order_of
from cranfield.collection.reading import read_qrels
from cranfield.collection.run import Run
from cranfield.collection.runs import Runs, read_runs
from cranfield.errors import InputError, PolicyError

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
        `input`, `rank`.
    topics
        Which topics count: `qrels` (default), `intersection`, `run`.
    unjudged
        What becomes of unjudged documents: `nonrelevant` (default), `condensed`.
    negative
        What a grade below 0 means: `judged` (default), `unjudged`.
    depth
        Ranks kept of each ranking; None for all.
    compat
        Start from another program's policies: `trec_eval`, `trec_eval-9`, `trec_eval-10`.
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
    judgments = read_qrels(qrels).flat()
    many = read_runs(runs)
    if not len(many):
        raise InputError("no runs were given")
    # What all threads share is made before they start.
    judgments.index, judgments.place  # noqa: B018

    def one(i: int) -> Part:
        return judge_one(many[i], many.stem(i), judgments, chosen)

    parts = list(of_each_run(many, one, jobs, progress))
    judged = assembled(named(parts), parts, judgments, chosen)
    return judged.condensed() if chosen.unjudged == "condensed" else judged


def of_each_run(
    runs: Runs, one: Callable[[int], Found], jobs: int | None, progress: Progress | None
) -> Iterator[Found]:
    """Read and judge each run by its number, a few at a time; what is found comes in order."""
    if jobs is not None and jobs < 1:
        raise PolicyError(f"jobs {jobs} is less than 1")
    workers = jobs or _workers(runs)
    total = len(runs)
    if workers == 1 or total == 1:
        for i in range(total):
            yield one(i)
            if progress:
                progress(i + 1, total)
        return
    with ThreadPoolExecutor(workers) as pool:
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


def judge_one(run: Run, stem: str | None, qrels: Qrels, chosen: Policies) -> Part:
    """Judge one run."""
    order = order_of(run, chosen.ties)
    code_of = {name: code for code, name in enumerate(qrels.topics)}
    to_qrels = np.array([code_of.get(name, -1) for name in run.topics], dtype=np.int64)
    asked, found = qrels.index.candidates(run.keys)
    # Equal keys are only a claim; the topics and the documents decide.
    true = to_qrels[run.codes[asked]] == qrels.codes[found]
    true &= (run.docs.gather(asked) == qrels.docs.gather(found)).to_numpy()
    asked, found = asked[true], found[true]
    rank = order.ranks_of(asked)
    topic = qrels.codes[found].astype(np.int64)
    grade = qrels.grades[found].astype(np.int64)
    counts = np.bincount(run.codes, minlength=len(run.topics))
    if chosen.depth is not None:
        counts = np.minimum(counts, chosen.depth)
        kept = rank <= chosen.depth
        rank, topic, grade = rank[kept], topic[kept], grade[kept]
    # In the order of the table that the parts will make, while other runs are still being read.
    order_in_table = np.argsort((qrels.place[topic] << 32) | rank)
    topic, rank, grade = topic[order_in_table], rank[order_in_table], grade[order_in_table]
    known = to_qrels >= 0
    retrieved = np.zeros(len(qrels.topics), dtype=np.int64)
    retrieved[to_qrels[known]] = counts[known]
    return Part(
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
    )
