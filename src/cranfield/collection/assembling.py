"""Putting judged runs side by side: one part a run becomes one table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.coverage import Coverage, SystemCoverage
from cranfield.collection.judged import JudgedRuns, Judgments, Rows
from cranfield.collection.policies import Policies
from cranfield.collection.qrels import Qrels, topic_order
from cranfield.collection.segments import Ints
from cranfield.errors import CranfieldWarning, InputError, quoted


@dataclass(frozen=True, eq=False)
class Part:
    """One run after judging: its judged rows by topic of the judgments, and the counts."""

    name: str
    stem: str | None
    topic: Ints
    rank: Ints
    grade: Ints
    retrieved: Ints
    has: NDArray[np.bool_]
    extra: dict[str, int]
    tied: int
    contradictions: int


def named(parts: Sequence[Part]) -> list[str]:
    """Name the systems: by run tag while these are different, else by file name."""
    names = [part.name for part in parts]
    seen: set[str] = set()
    twice = {name for name in names if name in seen or seen.add(name)}  # type: ignore[func-returns-value]
    if not twice:
        return names
    renamed = [part.stem if part.name in twice and part.stem else part.name for part in parts]
    if len(set(renamed)) < len(renamed):
        name = next(name for name in renamed if renamed.count(name) > 1)
        raise InputError(f"two runs are called {quoted(name)}; give each a name of its own")
    warnings.warn(
        CranfieldWarning(
            f"several files have the run tag {quoted(sorted(twice)[0])};"
            " their systems are called by file name"
        ),
        stacklevel=4,
    )
    return renamed


def assembled(
    names: list[str], parts: Sequence[Part], qrels: Qrels, chosen: Policies
) -> JudgedRuns:
    """Put the systems side by side on the topics that the policy asks for."""
    has = np.stack([part.has for part in parts], axis=1)
    if chosen.topics != "run" and not has.any():
        some = next(iter(parts[0].extra), "")
        raise InputError(
            f"no topic of the runs is judged (runs have {quoted(some)},"
            f" judgments have {quoted(qrels.topics[0])})"
        )
    used: NDArray[np.bool_] = np.ones(len(qrels.topics), dtype=bool)
    if chosen.topics != "qrels":
        used = np.logical_or.reduce(has, axis=1)
    extra = {name for part in parts for name in part.extra} if chosen.topics == "run" else set()
    labels = topic_order(
        [name for name, use in zip(qrels.topics, used.tolist(), strict=True) if use]
    )
    labels = topic_order([*labels, *extra]) if extra else labels
    place = {name: i for i, name in enumerate(labels)}
    new = np.array([place.get(name, -1) for name in qrels.topics], dtype=np.int64)

    shape = (len(labels), len(parts))
    retrieved = np.zeros(shape, dtype=np.int64)
    scored = np.zeros(shape, dtype=bool)
    cells, ranks, grades = [], [], []
    for system, part in enumerate(parts):
        cells.append(system * shape[0] + new[part.topic])
        ranks.append(part.rank)
        grades.append(part.grade)
        retrieved[new[used], system] = part.retrieved[used]
        scored[new[used], system] = part.has[used]
        for name, count in part.extra.items():
            if name in place:
                retrieved[place[name], system] = count
                scored[place[name], system] = True
    if chosen.topics == "qrels":
        scored[:] = True

    topic = new[qrels.codes]
    kept = topic >= 0
    grade = qrels.grades.astype(np.int64)
    order = np.lexsort((-grade[kept], topic[kept]))
    low = 0 if chosen.negative == "unjudged" else -(2**31)
    cell, rank, graded = np.concatenate(cells), np.concatenate(ranks), np.concatenate(grades)
    if (cell[1:] < cell[:-1]).any():
        # Topics without judgments can change the order of the others.
        by_cell = np.lexsort((rank, cell))
        cell, rank, graded = cell[by_cell], rank[by_cell], graded[by_cell]
    documents = Rows(cell, rank, graded, shape)
    return JudgedRuns(
        topics=tuple(labels),
        systems=tuple(names),
        documents=documents,
        retrieved=retrieved,
        judgments=Judgments(
            shape[0], topic[kept][order], grade[kept][order], low, max(qrels.max_grade, 0)
        ),
        scored=scored,
        policies=chosen,
        coverage=_coverage(names, parts, qrels, retrieved, documents, low),
    )


def _coverage(
    names: list[str],
    parts: Sequence[Part],
    qrels: Qrels,
    retrieved: Ints,
    documents: Rows,
    low: int,
) -> Coverage:
    judged = documents.where(documents.grade >= low)
    top = {
        depth: (
            np.minimum(retrieved, depth).sum(axis=0),
            judged.where(judged.rank <= depth).count.sum(axis=0),
        )
        for depth in (10, 100, np.iinfo(np.int64).max)
    }
    (n10, j10), (n100, j100), (n, j) = top.values()
    qrels_topics = np.array(qrels.topics, dtype=object)
    return Coverage(
        tuple(
            SystemCoverage(
                system=names[i],
                retrieved=int(n[i]),
                retrieved_10=int(n10[i]),
                retrieved_100=int(n100[i]),
                unjudged=int(n[i] - j[i]),
                unjudged_10=int(n10[i] - j10[i]),
                unjudged_100=int(n100[i] - j100[i]),
                tied=part.tied,
                contradictions=part.contradictions,
                missing=tuple(topic_order(list(qrels_topics[~part.has]))),
                extra=tuple(topic_order(list(part.extra))),
            )
            for i, part in enumerate(parts)
        )
    )
