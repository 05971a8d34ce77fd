"""Many runs, judged one by one, put side by side.

Whoever does it, results, errors and warnings come in the order of the runs, as if one thread did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_whole,
    collected_warnings,
    quoted,
    warn,
)
from cranfield.base.parallel import (
    MOST_JOBS,
    at_most,
    computed,
    has_joblib_backend,
    pool_of,
    processors,
)
from cranfield.collection.files.many_runs import BadRunError, Runs, distinct_names
from cranfield.collection.judged.coverage import Coverage, SystemCoverage
from cranfield.collection.judged.judged_runs import Annotations, JudgedRuns
from cranfield.collection.judged.rows import Groups, Judgments, Rows
from cranfield.collection.policies import Policies
from cranfield.collection.qrels import Qrels, topic_order
from cranfield.collection.run import Run

if TYPE_CHECKING:
    from cranfield.collection.document_tables import DocumentTable
    from cranfield.collection.intents import Intents


class _Sent:
    """Columns of integers, sent by workers in the fewest bytes that each fits in."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        for name, column in state.items():
            if isinstance(column, np.ndarray) and column.dtype == np.int64 and column.size:
                bounds = np.min_scalar_type(column.min()), np.min_scalar_type(column.max())
                state[name] = column.astype(np.result_type(*bounds))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, column in state.items():
            is_narrow = isinstance(column, np.ndarray) and column.dtype.kind in "iu"
            self.__dict__[name] = column.astype(np.int64) if is_narrow else column


@dataclass(frozen=True, eq=False)
class JudgedRun(_Sent):
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
    source: Ints
    beside: Mapping[str, Beside]
    ties: Ints
    excluded: int = 0
    chunks: int = 0


@dataclass(frozen=True, eq=False)
class Beside(_Sent):
    """Rows of one run that a table of documents has: topic of the judgments, rank, code, value."""

    topic: Ints
    rank: Ints
    code: Ints
    value: Floats


_NONE = np.zeros(0, dtype=np.int64)
NOTHING = Beside(_NONE, _NONE, _NONE, np.zeros(0))
"""Of a run that was not looked up in a table."""


@dataclass(frozen=True, eq=False)
class Known:
    """Tables of documents by name, and grades by intent; the same for all runs."""

    tables: Mapping[str, DocumentTable] = field(default_factory=dict)
    intents: Intents | None = None


def assembled(
    names: list[str],
    parts: Sequence[JudgedRun],
    qrels: Qrels,
    chosen: Policies,
    known: Known = Known(),
    labels: Sequence[str] | None = None,
) -> JudgedRuns:
    """Put the systems side by side on the topics that the policy asks for, or on `labels`."""
    if chosen.max_grade is not None and qrels.max_grade > chosen.max_grade:
        raise PolicyError(
            f"max_grade must be at least the highest grade of the judgments, {qrels.max_grade},"
            f" got {chosen.max_grade}"
        )
    has = np.stack([part.has for part in parts], axis=1)
    if labels is None:
        labels = _topics(parts, qrels, chosen, has)
    place = {name: i for i, name in enumerate(labels)}
    new = np.array([place.get(name, -1) for name in qrels.topics], dtype=np.int64)
    used = new >= 0

    shape = (len(labels), len(parts))
    retrieved = np.zeros(shape, dtype=np.int64)
    scored = np.zeros(shape, dtype=bool)
    cells, ranks, grades, sources, tied = [], [], [], [], []
    for system, part in enumerate(parts):
        # Judgments on another aspect may have topics that do not count.
        here = used[part.topic]
        cells.append(system * shape[0] + new[part.topic[here]])
        ranks.append(part.rank[here])
        grades.append(part.grade[here])
        sources.append(part.source[here])
        among, *columns = part.ties[:, used[part.ties[0]]]
        tied.append(np.stack([system * shape[0] + new[among], *columns]))
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
    # One number of both is sorted sooner than two: topics in order, the highest grades first.
    row = np.flatnonzero(kept)
    row = row[np.argsort((topic[row] << 32) - grade[row], kind="stable")]
    low = 0 if chosen.negative == "unjudged" else -(2**31)
    cell, rank, graded = np.concatenate(cells), np.concatenate(ranks), np.concatenate(grades)
    source = _numbers(row, len(qrels))[np.concatenate(sources)]
    if (cell[1:] < cell[:-1]).any():
        # Topics without judgments can change the order of the others.
        by_cell = np.lexsort((rank, cell))
        cell, rank, graded = cell[by_cell], rank[by_cell], graded[by_cell]
        source = source[by_cell]
    documents = Rows(cell, rank, graded, shape, source=source)
    return JudgedRuns(
        topics=tuple(labels),
        systems=tuple(names),
        documents=documents,
        retrieved=retrieved,
        judgments=Judgments(
            shape[0],
            topic[row],
            grade[row],
            low,
            chosen.max_grade or max(qrels.max_grade, 0),
            {name: values[row] for name, values in qrels.columns.items()},
        ),
        scored=scored,
        policies=chosen,
        coverage=_coverage(names, parts, qrels, retrieved, documents, low),
        annotations=_annotations(parts, known, new, labels, row, qrels),
        ties=np.concatenate(tied, axis=1),
    )


def _numbers(row: Ints, size: int) -> Ints:
    """Number the judgments of a table as they stand in `row`; -1 where they do not."""
    number = np.full(size, -1, dtype=np.int64)
    number[row] = np.arange(row.size)
    return number


def _topics(
    parts: Sequence[JudgedRun], qrels: Qrels, chosen: Policies, has: NDArray[np.bool_]
) -> list[str]:
    if chosen.topics != "run" and not has.any():
        some = next(iter(parts[0].extra), "")
        of_runs, judged = (
            {re.sub("0+(?=[0-9])", "", name.casefold()) for name in names}
            for names in ((name for part in parts for name in part.extra), qrels.topics)
        )
        same = "; they differ in case or leading zeros" if of_runs & judged else ""
        raise InputError(
            f"no topic of the runs is judged (runs have {quoted(some)},"
            f" judgments have {quoted(qrels.topics[0])}){same}"
        )
    every = chosen.topics == "qrels"
    labels = [qrels.topics[i] for i in np.flatnonzero(has.any(axis=1) | every)]
    if chosen.topics == "run":
        labels += {name for part in parts for name in part.extra}
    if (low := chosen.topics_with_grade) is not None:
        with_grade = {qrels.topics[code] for code in np.unique(qrels.codes[qrels.grades >= low])}
        labels = [label for label in labels if label in with_grade]
        if not labels:
            raise PolicyError(
                f"topics_with_grade must be a grade that occurs in a topic of the runs, got {low}"
            )
    return topic_order(labels)


def _annotations(
    parts: Sequence[JudgedRun],
    known: Known,
    new: Ints,
    labels: Sequence[str],
    row: Ints,
    qrels: Qrels,
) -> Annotations:
    """Put what is known of documents and topics in the order of the judged runs."""
    shape = (len(labels), len(parts))
    found: dict[str, Rows] = {}
    for name in known.tables:
        # Judgments on another aspect are assembled without; their rows are those of relevance.
        tables = [part.beside.get(name, NOTHING) for part in parts]
        cell = np.concatenate([i * shape[0] + new[one.topic] for i, one in enumerate(tables)])
        rank, code, value = (
            np.concatenate([getattr(one, column) for one in tables])
            for column in ("rank", "code", "value")
        )
        kept = np.flatnonzero(np.concatenate([new[one.topic] >= 0 for one in tables]))
        order = kept[np.lexsort((code[kept], rank[kept], cell[kept]))]
        found[name] = Rows(cell[order], rank[order], code[order], shape, value[order])
    groups = None
    if "groups" in known.tables:
        table = known.tables["groups"]
        asked, rows = table.rows_of(qrels.docs)
        judgment = _numbers(row, len(qrels))[asked]
        asked, rows = judgment[judgment >= 0], rows[judgment >= 0]
        order = np.lexsort((table.codes[rows], asked))
        asked, rows = asked[order], rows[order]
        groups = Groups(table.names, found["groups"], asked, table.codes[rows], table.values[rows])
    intents = known.intents
    if intents is not None:
        code_of = {name: code for code, name in enumerate(qrels.topics)}
        codes = np.array([code_of.get(name, -1) for name in labels], dtype=np.int64)
        intents = intents.of_topics(codes, row)
    return Annotations(found.get("lengths"), groups, intents)


def _coverage(
    names: list[str],
    parts: Sequence[JudgedRun],
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
                excluded=part.excluded,
                chunks=part.chunks,
            )
            for i, part in enumerate(parts)
        )
    )


_IN_FLIGHT = 1 << 28
"""Bytes of files that are read at a time, at the most, so that memory stays bounded."""

_MOST = 8
"""Runs that are read at a time, at the most."""

Found = TypeVar("Found")

Progress = Callable[[int, int], None]
"""Called with (runs done, runs in all)."""

OfRun = Callable[[Run, str | None], Found]
"""Called with a run and the name of its file; importable where workers are other processes."""


def judge_each(
    runs: Runs,
    judgments: Iterable[Qrels],
    of_run: OfRun[tuple[JudgedRun, Found]],
    progress: Progress | None,
    **where: Any,
) -> tuple[list[str], list[tuple[JudgedRun, Found]]]:
    """Read and judge each run, a few at a time; with the names of the systems, in order."""
    if not len(runs):
        raise InputError("expected at least one run, got none")
    if len(runs) > 1:
        # What all threads share is made before they start.
        for one in judgments:
            one.index, one.place  # noqa: B018
    found = list(of_each(runs, of_run, progress, **where))
    parts = [part for part, _ in found]
    names = [part.name for part in parts]
    return distinct_names(names, [part.stem for part in parts], stacklevel=5), found


def of_each(
    runs: Runs,
    of_run: OfRun[Found],
    progress: Progress | None,
    *,
    jobs: int | None = None,
    backend: str | None = None,
) -> Iterator[Found]:
    """Call a function with each run, by default in threads here; results come in order."""
    if jobs is not None:
        check_whole("jobs", jobs, 1, MOST_JOBS)
    here = backend in {"serial", "threading"} if backend else not has_joblib_backend()
    if here:
        outcomes = _in_threads(runs, of_run, 1 if backend == "serial" else jobs)
    else:
        outcomes = _by_workers(runs, of_run, jobs=jobs or processors(), backend=backend)
    with closing(outcomes), runs.skipping() as skip:
        for done, outcome in enumerate(outcomes, 1):
            if isinstance(outcome.error, BadRunError):
                skip(done - 1, outcome.error)
            else:
                yield outcome.taken()
            if progress:
                progress(done, len(runs))


@dataclass(frozen=True)
class _Outcome(Generic[Found]):
    """What came of a run, or what went wrong; and what was warned of meanwhile."""

    found: Found | None
    error: Exception | None
    told: tuple[str, ...]

    @classmethod
    def of(cls, function: Callable[[], Found]) -> _Outcome[Found]:
        with collected_warnings() as told:
            try:
                return cls(function(), None, tuple(told))
            except Exception as error:
                return cls(None, error, tuple(told))

    def taken(self) -> Found:
        for text in self.told:
            warn(text, stacklevel=2)
        if self.error is not None:
            raise self.error
        return cast("Found", self.found)


def _in_threads(
    runs: Runs, of_run: OfRun[Found], jobs: int | None
) -> Generator[_Outcome[Found], None, None]:
    def outcome(i: int) -> _Outcome[Found]:
        return _Outcome.of(lambda: of_run(runs[i], runs.stem(i)))

    # While one run is judged, another is read. More threads than processors would only hand the
    # interpreter to each other more often.
    sizes = sorted((runs.size(i) for i in range(len(runs))), reverse=True)
    fitting = sum(size <= _IN_FLIGHT for size in accumulate(sizes))
    workers = jobs or max(1, min(_MOST, max(2, processors()), fitting))
    if workers > 1 and len(runs) > 1:
        with pool_of(workers) as pool:
            yield from pool.map(outcome, range(len(runs)))
        return
    for i in range(len(runs)):
        with at_most(jobs):
            judged = outcome(i)
        yield judged


def _by_workers(
    runs: Runs, of_run: OfRun[Found], **where: Any
) -> Generator[_Outcome[Found], None, None]:
    # Runs in memory are read here, since not all that can be read can be sent.
    tasks = ((i, _Outcome.of(partial(runs.sent, i))) for i in range(len(runs)))
    arrived: dict[int, _Outcome[Found]] = {}
    first = 0
    for i, outcome in computed(_judged, of_run, tasks, **where):
        arrived[i] = outcome
        while first in arrived:
            yield arrived.pop(first)
            first += 1


def _judged(of_run: OfRun[Found], sent: _Outcome[Runs]) -> _Outcome[Found]:
    runs = sent.found
    if runs is None:
        return _Outcome(None, sent.error, sent.told)
    # Who wants more on a machine has more workers on it.
    with at_most(1):
        done = _Outcome.of(lambda: of_run(runs[0], runs.stem(0)))
    return replace(done, told=sent.told + done.told)
