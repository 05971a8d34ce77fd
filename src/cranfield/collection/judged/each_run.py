"""Judge runs in threads or workers, and assemble the results.

Results, errors and warnings come in the order of the runs, whatever the backend.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_integer,
    collect_warnings,
    quote,
    warn,
)
from cranfield.base.parallel import (
    MAX_JOBS,
    compute_tasks,
    count_processors,
    has_joblib_backend,
    limit_threads,
    open_thread_pool,
)
from cranfield.collection.document_tables import DocumentTable
from cranfield.collection.files.many_runs import BadRunError, Runs, make_distinct_names
from cranfield.collection.intents import Intents
from cranfield.collection.judged.coverage import (
    ID_DIFFERENCES,
    Coverage,
    SystemCoverage,
    find_similar_ids,
)
from cranfield.collection.judged.judged_runs import JudgedRuns, SideData
from cranfield.collection.judged.rows import Groups, Judgments, Rows
from cranfield.collection.pairs import find_label_positions
from cranfield.collection.policies import Policies
from cranfield.collection.qrels import Qrels, sort_topics
from cranfield.collection.run import Run


class _CompactArrays:
    """Base class of results of workers, which pickle integers in as few bytes as possible."""

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
class JudgedRun(_CompactArrays):
    """A judged run, with topics as indices into the topics of the judgments.

    Attributes
    ----------
    name, stem
        Name of the system, and of the file without suffix.
    topic, rank, grade, judgment_row
        Topic, rank and grade of each judged document, and the row of its judgment.
    n_retrieved, has_topic
        Number of retrieved documents of each topic, and whether the run has the topic.
    extra
        Number of retrieved documents of each topic without judgments, by topic.
    n_tied, n_contradictions, n_excluded, n_chunks, similar_docs
        As in :class:`SystemCoverage`.
    table_rows
        Retrieved documents that are in a table, by name of the table.
    ties, tie_groups
        Arrays like `rows.NO_TIES` and `rows.NO_TIE_GROUPS`, with topics in place of cells.
    """

    name: str
    stem: str | None
    topic: Ints
    rank: Ints
    grade: Ints
    n_retrieved: Ints
    has_topic: NDArray[np.bool_]
    extra: dict[str, int]
    n_tied: int
    n_contradictions: int
    judgment_row: Ints
    table_rows: Mapping[str, TableRows]
    ties: Ints
    tie_groups: Ints
    n_excluded: int = 0
    n_chunks: int = 0
    similar_docs: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False)
class TableRows(_CompactArrays):
    """Retrieved documents in a table: their topic (by code) and rank, and their code and value."""

    topic: Ints
    rank: Ints
    code: Ints
    value: Floats


_EMPTY = np.zeros(0, dtype=np.int64)
NO_ROWS = TableRows(_EMPTY, _EMPTY, _EMPTY, np.zeros(0))
"""No rows, for a run whose documents were not looked up in a table."""


@dataclass(frozen=True, eq=False)
class Supplements:
    """Data for all runs besides judgments: tables of documents by name, and grades by intent."""

    tables: Mapping[str, DocumentTable] = field(default_factory=dict)
    intents: Intents | None = None


def assemble_runs(
    names: list[str],
    judged_runs: Sequence[JudgedRun],
    qrels: Qrels,
    policies: Policies,
    supplements: Supplements = Supplements(),
    topics: Sequence[str] | None = None,
) -> JudgedRuns:
    """Assemble runs that were judged one by one; `topics` are by default those of the policy."""
    if policies.max_grade is not None and qrels.max_grade > policies.max_grade:
        raise PolicyError(
            f"max_grade must be at least the highest grade of the judgments, {qrels.max_grade},"
            f" got {policies.max_grade}"
        )
    is_retrieved = np.stack([run.has_topic for run in judged_runs], axis=1)
    if topics is None:
        topics = _select_topics(judged_runs, qrels, policies, is_retrieved)
    position_of = {name: i for i, name in enumerate(topics)}
    # Index of each topic of the judgments in `topics`, or -1.
    topic_index = find_label_positions(qrels.topics, topics)
    is_used = topic_index >= 0

    shape = (len(topics), len(judged_runs))
    n_retrieved = np.zeros(shape, dtype=np.int64)
    is_scored = np.zeros(shape, dtype=bool)

    def replace_topics(table: Ints, system: int) -> Ints:
        """Replace topics, in the first row of a table, by cells."""
        # Judgments on another aspect may have topics that are not evaluated.
        table = table[:, is_used[table[0]]]
        table[0] = system * shape[0] + topic_index[table[0]]
        return table

    rows: list[Ints] = []
    ties: list[Ints] = []
    tie_groups: list[Ints] = []
    for system, run in enumerate(judged_runs):
        columns = np.stack([run.topic, run.rank, run.grade, run.judgment_row])
        rows.append(replace_topics(columns, system))
        ties.append(replace_topics(run.ties, system))
        tie_groups.append(replace_topics(run.tie_groups, system))
        n_retrieved[topic_index[is_used], system] = run.n_retrieved[is_used]
        is_scored[topic_index[is_used], system] = run.has_topic[is_used]
        for name, count in run.extra.items():
            if name in position_of:
                n_retrieved[position_of[name], system] = count
                is_scored[position_of[name], system] = True
    if policies.topics == "qrels":
        is_scored[:] = True

    topic = topic_index[qrels.codes]
    grade = qrels.grades.astype(np.int64)
    # One combined key sorts faster than two: topics in order, the highest grades first.
    judgment_rows = np.flatnonzero(topic >= 0)
    sort_keys = (topic[judgment_rows] << 32) - grade[judgment_rows]
    judgment_rows = judgment_rows[np.argsort(sort_keys, kind="stable")]
    lowest_judged = qrels.find_lowest_judged_grade(policies.negative)
    table = np.concatenate(rows, axis=1)
    if (table[0, 1:] < table[0, :-1]).any():
        # Topics without judgments can change the order of the others.
        table = table.take(np.lexsort((table[1], table[0])), axis=1)
    cell, rank, document_grades, qrels_row = table
    # Position of each judgment among those of the evaluated topics, or -1.
    positions = np.full(len(qrels), -1, dtype=np.int64)
    positions[judgment_rows] = np.arange(judgment_rows.size)
    documents = Rows(cell, rank, document_grades, shape, source=positions[qrels_row])
    return JudgedRuns(
        topics=tuple(topics),
        systems=tuple(names),
        documents=documents,
        n_retrieved=n_retrieved,
        judgments=Judgments(
            shape[0],
            topic[judgment_rows],
            grade[judgment_rows],
            lowest_judged,
            policies.max_grade or max(qrels.max_grade, 0),
            {name: values[judgment_rows] for name, values in qrels.columns.items()},
        ),
        is_scored=is_scored,
        policies=policies,
        coverage=_count_coverage(names, judged_runs, qrels, n_retrieved, documents, lowest_judged),
        side_data=_collect_side_data(
            judged_runs, supplements, topic_index, topics, judgment_rows, positions, qrels
        ),
        ties=np.concatenate(ties, axis=1),
        tie_groups=np.concatenate(tie_groups, axis=1),
    )


def _select_topics(
    judged_runs: Sequence[JudgedRun],
    qrels: Qrels,
    policies: Policies,
    is_retrieved: NDArray[np.bool_],
) -> list[str]:
    if policies.topics != "run" and not is_retrieved.any():
        run_topics = [name for run in judged_runs for name in run.extra]
        pair = find_similar_ids(run_topics, qrels.topics)
        example, judged_topic = pair or (next(iter(run_topics), ""), qrels.topics[0])
        hint = f"; they differ in {ID_DIFFERENCES}" if pair else ""
        raise InputError(
            f"no topic of the runs is judged (runs have {quote(example)},"
            f" judgments have {quote(judged_topic)}){hint}"
        )
    is_evaluated = is_retrieved.any(axis=1) | (policies.topics == "qrels")
    topics = [qrels.topics[i] for i in np.flatnonzero(is_evaluated)]
    if policies.topics == "run":
        topics += {name for run in judged_runs for name in run.extra}
    if (min_grade := policies.topics_with_grade) is not None:
        codes = np.unique(qrels.codes[qrels.grades >= min_grade])
        topics_with_grade = {qrels.topics[code] for code in codes}
        topics = [topic for topic in topics if topic in topics_with_grade]
        if not topics:
            raise PolicyError(
                "topics_with_grade must be at most the highest grade of the evaluated topics, got"
                f" {min_grade}"
            )
    return sort_topics(topics)


def _collect_side_data(
    judged_runs: Sequence[JudgedRun],
    supplements: Supplements,
    topic_index: Ints,
    topics: Sequence[str],
    judgment_rows: Ints,
    positions: Ints,
    qrels: Qrels,
) -> SideData:
    """Collect the side data of documents and topics in the order of the judged runs."""
    shape = (len(topics), len(judged_runs))
    rows_by_name: dict[str, Rows] = {}
    for name in supplements.tables:
        # Documents are looked up only when runs are judged by relevance, not on other aspects.
        tables = [run.table_rows.get(name, NO_ROWS) for run in judged_runs]
        cell = np.concatenate(
            [i * shape[0] + topic_index[table.topic] for i, table in enumerate(tables)]
        )
        topic, rank, code, value = (
            np.concatenate([getattr(table, column) for table in tables])
            for column in ("topic", "rank", "code", "value")
        )
        known_rows = np.flatnonzero(topic_index[topic] >= 0)
        order = known_rows[np.lexsort((code[known_rows], rank[known_rows], cell[known_rows]))]
        rows_by_name[name] = Rows(cell[order], rank[order], code[order], shape, value[order])
    groups = None
    if "groups" in supplements.tables:
        table = supplements.tables["groups"]
        qrels_rows, rows = table.find_rows(qrels.docs)
        judgment = positions[qrels_rows]
        is_used = judgment >= 0
        judgment, rows = judgment[is_used], rows[is_used]
        order = np.lexsort((table.codes[rows], judgment))
        judgment, rows = judgment[order], rows[order]
        groups = Groups(
            table.names, rows_by_name["groups"], judgment, table.codes[rows], table.values[rows]
        )
    intents = supplements.intents
    if intents is not None:
        intents = intents.select_topics(qrels.find_codes(topics), judgment_rows)
    return SideData(rows_by_name.get("lengths"), groups, intents)


def _count_coverage(
    names: list[str],
    judged_runs: Sequence[JudgedRun],
    qrels: Qrels,
    n_retrieved: Ints,
    documents: Rows,
    lowest_judged: int,
) -> Coverage:
    judged_rows = documents.where(documents.grade >= lowest_judged)
    counts: dict[str, Ints] = {}
    for suffix, depth in (("", np.iinfo(np.int64).max), ("_10", 10), ("_100", 100)):
        counts[f"n_retrieved{suffix}"] = totals = np.minimum(n_retrieved, depth).sum(axis=0)
        n_judged = judged_rows.where(judged_rows.rank <= depth).n_rows.sum(axis=0)
        counts[f"n_unjudged{suffix}"] = totals - n_judged
    qrels_topics = np.array(qrels.topics, dtype=object)
    return Coverage(
        tuple(
            SystemCoverage(
                system=names[i],
                **{name: int(values[i]) for name, values in counts.items()},
                n_tied=run.n_tied,
                n_contradictions=run.n_contradictions,
                missing=tuple(sort_topics(list(qrels_topics[~run.has_topic]))),
                extra=tuple(sort_topics(list(run.extra))),
                n_excluded=run.n_excluded,
                n_chunks=run.n_chunks,
                similar_docs=run.similar_docs,
            )
            for i, run in enumerate(judged_runs)
        )
    )


_MAX_BYTES = 1 << 28
"""Maximum total size of the files that are read at a time, in bytes, to bound memory."""

_MAX_THREADS = 8
"""Maximum number of runs that are read at a time, unless `jobs` sets it."""

Value = TypeVar("Value")

Progress = Callable[[int, int], None]
"""Called with the number of finished runs and the number of all runs."""

RunFunction = Callable[[Run, str | None], Value]
"""Called with a run and the stem of its file, or None; it may run in another process."""


def judge_each(
    runs: Runs,
    judgments: Iterable[Qrels],
    function: RunFunction[tuple[JudgedRun, Value]],
    progress: Progress | None,
    **options: Any,
) -> tuple[list[str], list[tuple[JudgedRun, Value]]]:
    """Read and judge all runs, a few at a time; return the names of systems and the results."""
    if not len(runs):
        raise InputError("expected at least one run, got none")
    if len(runs) > 1:
        # Threads share these cached properties, so they are computed before the threads start.
        for qrels in judgments:
            qrels.index, qrels.topic_positions  # noqa: B018
    results = list(map_runs(runs, function, progress, **options))
    judged_runs = [run for run, _ in results]
    names = [run.name for run in judged_runs]
    return make_distinct_names(names, [run.stem for run in judged_runs]), results


def map_runs(
    runs: Runs,
    function: RunFunction[Value],
    progress: Progress | None,
    *,
    jobs: int | None = None,
    backend: str | None = None,
) -> Iterator[Value]:
    """Call a function with each run, by default in threads; yield the results in order."""
    if jobs is not None:
        check_integer("jobs", jobs, 1, MAX_JOBS)
    is_local = backend in {"serial", "threading"} if backend else not has_joblib_backend()
    if is_local:
        outcomes = _run_in_threads(runs, function, 1 if backend == "serial" else jobs)
    else:
        outcomes = _run_in_workers(runs, function, jobs=jobs or count_processors(), backend=backend)
    with closing(outcomes), runs.report_skipped_runs() as skip:
        for n_done, outcome in enumerate(outcomes, 1):
            if isinstance(outcome.error, BadRunError):
                skip(n_done - 1, outcome.error)
            else:
                yield outcome.get_result()
            if progress:
                progress(n_done, len(runs))


@dataclass(frozen=True)
class _Outcome(Generic[Value]):
    """The result or the error of a call, and its warnings."""

    value: Value | None
    error: Exception | None
    warnings: tuple[str, ...]

    @classmethod
    def from_call(cls, function: Callable[[], Value]) -> _Outcome[Value]:
        with collect_warnings() as warnings:
            try:
                return cls(function(), None, tuple(warnings))
            except Exception as error:
                return cls(None, error, tuple(warnings))

    def get_result(self) -> Value:
        for text in self.warnings:
            warn(text)
        if self.error is not None:
            raise self.error
        return cast("Value", self.value)


def _run_in_threads(
    runs: Runs, function: RunFunction[Value], jobs: int | None
) -> Generator[_Outcome[Value], None, None]:
    def call(i: int) -> _Outcome[Value]:
        return _Outcome.from_call(lambda: function(runs[i], runs.get_stem(i)))

    # One thread more than processors, as a thread waits while polars reads in threads of its own.
    sizes = sorted((runs.estimate_size(i) for i in range(len(runs))), reverse=True)
    n_fitting = sum(size <= _MAX_BYTES for size in accumulate(sizes))
    n_workers = jobs or max(1, min(_MAX_THREADS, count_processors() + 1, n_fitting))
    if n_workers > 1 and len(runs) > 1:
        with open_thread_pool(n_workers) as pool:
            yield from pool.map(call, range(len(runs)))
        return
    for i in range(len(runs)):
        with limit_threads(jobs):
            outcome = call(i)
        yield outcome


def _run_in_workers(
    runs: Runs, function: RunFunction[Value], **options: Any
) -> Generator[_Outcome[Value], None, None]:
    # Runs in memory are read here, since not every input can be sent to a worker.
    tasks = ((i, _Outcome.from_call(partial(runs.make_picklable, i))) for i in range(len(runs)))
    outcomes: dict[int, _Outcome[Value]] = {}
    first = 0
    for i, outcome in compute_tasks(_call_in_worker, function, tasks, **options):
        outcomes[i] = outcome
        while first in outcomes:
            yield outcomes.pop(first)
            first += 1


def _call_in_worker(function: RunFunction[Value], task: _Outcome[Runs]) -> _Outcome[Value]:
    runs = task.value
    if runs is None:
        return _Outcome(None, task.error, task.warnings)
    # Parallelism comes from several workers on a machine, not from threads of one worker.
    with limit_threads(1):
        outcome = _Outcome.from_call(lambda: function(runs[0], runs.get_stem(0)))
    return replace(outcome, warnings=task.warnings + outcome.warnings)
