"""Judge runs: replace the documents of rankings by their grades."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Annotated, Any, TypedDict

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.errors import CranfieldError, InputError, collect_warnings, quote, warn
from cranfield.base.kinds import Integer, OneOf
from cranfield.base.parallel import BACKENDS, check_fork
from cranfield.base.text import inflect, list_some
from cranfield.collection.document_tables import DocumentTable, read_groups, read_lengths
from cranfield.collection.files.many_runs import Runs, read_runs
from cranfield.collection.files.named_columns import request_qrels_and_run_columns
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.intents import build_intents, read_intents
from cranfield.collection.judged.coverage import ID_DIFFERENCES, find_similar_ids
from cranfield.collection.judged.each_run import (
    JudgedRun,
    Progress,
    Supplements,
    TableRows,
    assemble_runs,
    judge_each,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.ranking import RunOrder, order_documents
from cranfield.collection.judged.rows import NO_TIES, join_ranges
from cranfield.collection.pairs import compute_pair_keys, make_row_error, make_topic_column
from cranfield.collection.policies import (
    CHOICES,
    DUPLICATES,
    MAX_VALUES,
    Compat,
    Negative,
    Policies,
    Ties,
    Topics,
    Unjudged,
    make_policies,
)
from cranfield.collection.qrels import N_COMPARED_TOPICS, NORMAL_FORM, Qrels, sort_topics
from cranfield.collection.run import Run
from cranfield.sources.archives import is_url
from cranfield.sources.chunks import Source
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import FileColumn, make_line_schema
from cranfield.sources.values import ID

SELF = "self"
"""Value that excludes the documents whose id is that of the topic."""


def _convert_pairs(data: Any, source: str) -> dict[str, list[Any]]:
    """Convert `{topic: [document, ...]}` to columns."""
    columns: dict[str, list[Any]] = {"topic": [], "doc": []}
    for topic, docs in data.items():
        if not isinstance(docs, (list, tuple, set, frozenset)):
            reason = f"expected {{topic: [document, ...]}}, got {type(docs).__name__} for a topic"
            raise InputError(reason, source=source)
        columns["topic"] += [topic] * len(docs)
        columns["doc"] += docs
    return columns


EXCLUSION_SCHEMA = make_line_schema(
    "table of excluded documents",
    FileColumn("topic", ID),
    FileColumn("doc", ID),
    read_mapping=_convert_pairs,
)


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Pairs of topic and document to remove; None for documents with the id of their topic."""

    pairs: pl.DataFrame | None = None

    @classmethod
    def read(cls, data: Any) -> Exclusion | None:
        """Create an exclusion from the string 'self' or a table of pairs; None for None."""
        if data is None or isinstance(data, cls):
            return data
        if isinstance(data, str) and data == SELF:
            return cls()
        return cls(read_table(data, EXCLUSION_SCHEMA).frame.select("topic", "doc").unique())

    def compute_mask(self, run: Run) -> NDArray[np.bool_]:
        """Return a mask of the rows of a run that are kept; shape (rows,)."""
        topic = make_topic_column(run)
        if self.pairs is None:
            return (topic != run.docs).to_numpy()
        rows = pl.DataFrame({"topic": topic, "doc": run.docs}).with_row_index("row")
        is_included = np.ones(len(run), dtype=bool)
        is_included[rows.join(self.pairs, on=["topic", "doc"], how="semi")["row"]] = False
        return is_included


ORDER_HINT = "runs come first: cf.evaluate(runs, qrels, measures), cf.judge(runs, qrels)"


def read_inputs(
    runs: Any,
    qrels: Any,
    *,
    subtopics: bool | None = None,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    on_duplicate: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
    on_bad_run: str = "error",
    grades: Mapping[Any, int | None] | Sequence[float] | str | None = None,
) -> tuple[Runs, Qrels]:
    """Read judgments, and return runs that are read on access."""
    if isinstance(runs, Qrels) and isinstance(qrels, Qrels):
        raise InputError(f"expected runs and judgments, got judgments twice; {ORDER_HINT}")
    if _is_read(runs) and _is_read(qrels):
        raise InputError(f"expected runs and judgments, got runs twice; {ORDER_HINT}")
    if isinstance(runs, Qrels) or _is_read(qrels):
        # Data that were read before have types that identify them.
        runs, qrels = qrels, runs
    qrels_columns: Any = None
    run_columns: Any = columns
    if columns is not None:
        qrels_columns, run_columns = request_qrels_and_run_columns(columns, system)
    judgments = read_qrels(
        qrels, subtopics=subtopics, columns=qrels_columns, on_duplicate=on_duplicate, grades=grades
    )
    if _find_value_types(runs) == {int} and _find_value_types(qrels) == {float}:
        warn(f"scores are integers and grades are decimals, as if swapped; {ORDER_HINT}")
    if columns is not None:
        # Columns that the judgments lack must be in the runs.
        run_columns.ambiguous_columns &= qrels_columns.matched_columns
    run_list = read_runs(
        runs, system=system, columns=run_columns, on_bad_run=on_bad_run, on_duplicate=on_duplicate
    )
    return run_list, judgments


def _find_value_types(data: Any) -> set[type]:
    """Return the types of the values of the first ranking in nested mappings."""
    if not isinstance(data, Mapping) or not data:
        return set()
    first = next(iter(data.values()))
    return _find_value_types(first) if isinstance(first, Mapping) else set(map(type, data.values()))


def _is_read(data: Any) -> bool:
    """Return True for runs that were read before."""
    if isinstance(data, (list, tuple, dict)) and data:
        runs = data.values() if isinstance(data, dict) else data
        return all(isinstance(run, Run) for run in runs)
    return isinstance(data, (Run, Runs))


@contextmanager
def hint_at_order(runs: Any, qrels: Any, hint: str = ORDER_HINT, **options: Any) -> Iterator[None]:
    """Add the order of the arguments to an error if runs and judgments seem to be swapped."""
    try:
        yield
    except InputError as error:
        if not _are_swapped(runs, qrels, options):
            raise
        name = quote(fspath(qrels)) if isinstance(qrels, (str, PathLike)) else "the judgments"
        raise InputError(f"{error}; {name} can be read as a run, but {hint}") from None


def _are_swapped(runs: Any, qrels: Any, options: Mapping[str, Any]) -> bool:
    if isinstance(runs, (list, tuple)) and runs and isinstance(runs[0], (str, PathLike)):
        runs = runs[0]
    if not can_be_read(qrels, "run", **options):
        return False
    if can_be_read(qrels, "qrels", **options):
        return can_be_read(runs, "qrels", **options) and not can_be_read(runs, "run", **options)
    # Decimal gains in memory may be meant as judgments, so the runs must also look like judgments.
    # A file of judgments that can only be read as a run is always reported.
    return isinstance(qrels, (str, PathLike)) or can_be_read(runs, "qrels", **options)


def can_be_read(
    data: Any,
    kind: str,
    *,
    columns: Mapping[str, str] | None = None,
    system: str | None = None,
    **options: Any,
) -> bool:
    """Return True if data can be read as `qrels`, or (the first of the runs) as a `run`."""
    if isinstance(data, Qrels) or _is_read(data):
        return isinstance(data, Qrels) == (kind == "qrels")
    path = fspath(data) if isinstance(data, (str, PathLike)) else ""
    if path == "-" or path.startswith("irds:") or is_url(path):
        return False
    qrels_columns: Any
    run_columns: Any
    try:
        qrels_columns, run_columns = request_qrels_and_run_columns(columns, system)
        with collect_warnings():
            if kind == "qrels":
                return bool(read_qrels(data, columns=qrels_columns, **options))
            run_list = read_runs(data, system=system, columns=run_columns, **options)
            return len(run_list) > 0 and run_list[0] is not None
    except CranfieldError:
        return False


class RankingOptions(TypedDict, total=False):
    """Options of :func:`judge` that apply to sessions too."""

    ties: Ties | None
    unjudged: Unjudged | None
    negative: Negative | None
    max_grade: int | None
    lengths: Any
    groups: Any
    intents: Any
    aspects: Mapping[str, Any] | None
    jobs: int | None
    backend: str | None
    progress: Progress | None


class JudgingOptions(RankingOptions, total=False):
    """Options of :func:`judge`, except `compat`, for functions that judge runs."""

    topics: Topics | None
    depth: int | None
    topics_with_grade: int | None
    system: str | None
    columns: Mapping[str, str] | None
    on_duplicate: str
    on_bad_run: str
    grades: Mapping[Any, int | None] | Sequence[float] | str | None
    exclude: Any


def judge(
    runs: Any,
    qrels: Any,
    *,
    ties: Ties | None = None,
    topics: Topics | None = None,
    unjudged: Unjudged | None = None,
    negative: Negative | None = None,
    depth: Annotated[int | None, Integer(1)] = None,
    max_grade: Annotated[int | None, Integer(1)] = None,
    topics_with_grade: Annotated[int | None, Integer(1)] = None,
    exclude: Any = None,
    compat: Compat | None = None,
    lengths: Any = None,
    groups: Any = None,
    intents: Any = None,
    aspects: Mapping[str, Any] | None = None,
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    on_duplicate: str = "error",
    on_bad_run: str = "error",
    grades: Mapping[Any, int | None] | Sequence[float] | str | None = None,
    jobs: Annotated[int | None, Integer(1)] = None,
    backend: Annotated[str | None, OneOf(BACKENDS)] = None,
    progress: Progress | None = None,
) -> JudgedRuns:
    """Judge runs: replace the documents of their rankings by grades.

    Parameters
    ----------
    runs
        In any form that :func:`read_runs` reads. Runs are read one at a time and not cached.
    qrels
        In any form that :func:`read_qrels` reads.
    ties
        Order of documents with equal scores. `trec` (default): by their ids, descending; also
        `trec_eval-9`, `id-ascending`, `input`; `rank` or `file`, which order all documents by rank
        or line; or `expected`: the expected score over all orders of tied documents, for measures
        with an exact formula (:func:`tie_ranges`).
    topics
        Topics to evaluate: all judged topics (`qrels`, default), the judged topics of each run
        (`intersection`), or all topics of each run (`run`).
    unjudged
        How to treat unjudged documents: as not relevant (`nonrelevant`, default), or removed from
        the rankings (`condensed`).
    negative
        How to treat negative grades: as not relevant (`judged`, default), or as pooled but not
        judged (`unjudged`).
    depth
        Number of top documents to keep from each ranking. By default all.
    max_grade
        Highest grade of the scale, for measures whose score depends on it, such as ERR; by default
        the highest grade that occurs. A `max_grade` set for a measure has priority.
    topics_with_grade
        Keep only topics with a document of this grade or higher. By default topics without a
        relevant document are kept, and most measures give them 0.
    exclude
        Documents to remove from rankings before ranks are assigned: the document whose id is that
        of the topic (`self`), as BEIR and MTEB do, or the documents of a file with the columns
        topic and document. A dict `{topic: [document, ...]}` is accepted, too. Judgments are
        unchanged.
    compat
        Program whose policies and rounding to reproduce: `trec_eval`, `trec_eval-9`,
        `trec_eval-10`, `ndeval`, `gdeval`, `ntcireval`, `cwl`.
    lengths
        File with the lengths of documents, for measures of time and of text read: document, length.
        See :func:`read_lengths`.
    groups
        File with the groups of documents, for measures of fairness: document, group[, weight]. See
        :func:`read_groups`.
    intents
        File with the probabilities of intents, for measures of diversity: topic, intent,
        probability[, inf or nav]. See :func:`read_intents`. Without it, the intents of a topic are
        equally likely.
    aspects
        Judgments on other aspects than relevance, by the aspect's name.
    system, on_bad_run
        As for :func:`read_runs`.
    columns
        As for :func:`read_runs` and :func:`read_qrels`. Names of topic or document columns apply to
        the runs, the judgments or both; a prefix restricts them, as in `run.doc` and `qrels.doc`.
    on_duplicate
        As for :func:`read_runs` and :func:`read_qrels`.
    grades
        As for :func:`read_qrels`.
    jobs
        Number of workers (results do not depend on it). The default number of threads is one more
        than the number of processors, at most 8, and lower for large files, to bound memory. Other
        backends use one worker per processor by default; a cluster has its own number of workers.
    backend
        Joblib backend of the workers: `threading` (default), `serial`, or a backend whose workers
        read the files themselves: `loky` (processes), `dask`, `ray`, or any other backend of
        joblib. `joblib.parallel_config` also sets the backend. `dask` uses the current client, else
        the scheduler at `DASK_SCHEDULER_ADDRESS`, else a cluster on this machine. Results do not
        depend on the backend.
    progress
        Called after each run with the number of finished runs and the number of all runs.

    Returns
    -------
    JudgedRuns
        The judged runs, with the policies and the coverage by the judgments.

    Raises
    ------
    InputError
        If a run or the judgments cannot be read, or have no topic in common and `topics` is not
        `run`.
    PolicyError
        For an unknown policy or backend, or a number outside its range.
    CranfieldError
        If a worker process is killed; with `dask`, if this happens repeatedly.

    Warns
    -----
    CranfieldWarning
        For files with the same run tag, systems without judged documents, and other suspicious
        input.

    Examples
    --------
    >>> import cranfield as cf
    >>> judged = cf.judge({"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, {"q": {"d1": 0, "d3": 2}})
    >>> judged.documents.rank.tolist(), judged.documents.grade.tolist()
    ([1, 3], [0, 2])
    """
    arguments = locals()
    policy = make_policies(compat, **{name: arguments[name] for name in (*CHOICES, *MAX_VALUES)})
    check_fork()
    options: dict[str, Any] = {"system": system, "columns": columns, "on_duplicate": on_duplicate}
    with hint_at_order(runs, qrels, **options):
        run_list, by_subtopic = read_inputs(
            runs,
            qrels,
            subtopics=True if intents is not None else None,
            on_bad_run=on_bad_run,
            grades=grades,
            **options,
        )
    _refuse_chunks(by_subtopic, run_list.settings.get("chunk separator"))
    judgments = by_subtopic.merge_subtopics()
    supplements = _read_supplements(by_subtopic, judgments, lengths, groups, intents)
    aspect_qrels = {k: read_qrels(v).merge_subtopics() for k, v in (aspects or {}).items()}

    exclusion = Exclusion.read(exclude)
    judge_run = _RunJudge(
        judgments, policy, supplements.tables, tuple(aspect_qrels.values()), exclusion
    )
    workers = {"jobs": jobs, "backend": backend}
    with hint_at_order(runs, qrels, **options):
        names, results = judge_each(
            run_list, (judgments, *aspect_qrels.values()), judge_run, progress, **workers
        )
    judged = assemble_runs(names, [run for run, _ in results], judgments, policy, supplements)
    _warn_of_unjudged_systems(judged)
    n_excluded = sum(row.n_excluded for row in judged.coverage.systems)
    if exclude is not None and not n_excluded:
        warn("exclude has no effect: no run contains a document to exclude")
    if exclusion is not None and exclusion.pairs is not None:
        other_topics = {*exclusion.pairs["topic"]} - {*judgments.topics}
        if pair := find_similar_ids(other_topics, judgments.topics):
            warn(
                f"topic {quote(pair[0])} of exclude and topic {quote(pair[1])} of the judgments"
                f" differ only in {ID_DIFFERENCES}; they are read as different topics"
            )
    exclusion_settings = {} if exclude is None else {"excluded documents": n_excluded}
    judged = judged.with_settings({**run_list.settings, **exclusion_settings})
    if aspect_qrels:
        extra_tables = Supplements(supplements.tables)
        # The grades of other aspects are on scales of their own.
        policy = replace(policy, max_grade=None, topics_with_grade=None)
        aspects_by_name = {
            name: _share_side_data(
                judged,
                assemble_runs(names, aspect_runs, aspect, policy, extra_tables, judged.topics),
            )
            for (name, aspect), *aspect_runs in zip(
                aspect_qrels.items(),
                *(r for _, r in results),
                strict=True,
            )
        }
        judged = replace(judged, side_data=replace(judged.side_data, aspects=aspects_by_name))
    _warn_of_unmatched(judged, {"groups": groups, **(aspects or {})})
    for name, aspect in aspect_qrels.items():
        missing_topics = sort_topics([*{*judged.topics} & {*judgments.topics} - {*aspect.topics}])
        if missing_topics:
            topics_text = list_some(map(quote, missing_topics), 3)
            warn(
                f"aspect {name} has no judgments for {len(missing_topics)} of"
                f" {inflect(len(judged.topics), 'topic')} ({topics_text}); their documents have"
                " grade 0 on this aspect"
            )
    return judged.condense() if policy.unjudged == "condensed" else judged


def _refuse_chunks(qrels: Qrels, separator: str | None) -> None:
    """Refuse judgments of chunks if the chunks of runs are merged into documents."""
    if separator and (is_chunk := qrels.docs.str.contains(separator, literal=True)).any():
        raise make_row_error(
            qrels,
            f"expected a document id, got a chunk id with {quote(separator)}, as the runs merge"
            " chunks into documents; to score chunks, omit the chunk separator of the runs",
            int(is_chunk.arg_true()[0]),
        )


def _warn_of_unjudged_systems(judged: JudgedRuns) -> None:
    """Warn of systems without a judged document: their ids may have another form."""
    n_topics = (judged.n_retrieved > 0).sum(axis=0)
    systems = [
        row.system
        for row, n in zip(judged.coverage.systems, n_topics, strict=True)
        # A single topic may have no judged documents by coincidence.
        if row.n_unjudged == row.n_retrieved and n != 1 and (row.n_retrieved or row.extra)
    ]
    if systems:
        names = list_some(map(quote, systems), 3)
        warn(
            f"no document that {names} retrieved is judged; check that ids of topics and documents"
            " are spelled as in the judgments"
        )


def _warn_of_unmatched(judged: JudgedRuns, sources: Mapping[str, Any]) -> None:
    """Warn of files of groups and aspects without any document of the runs."""
    side_data = judged.side_data
    rows = {name: aspect.documents for name, aspect in side_data.aspects.items()}
    if side_data.groups is not None:
        rows["groups"] = side_data.groups.rows
    for name, source in sources.items():
        if isinstance(source, (str, PathLike)) and not rows[name].rank.size:
            origin = Source.from_path(source).name
            warn(f"{origin}: no document occurs in the runs; check that both spell ids alike")


@dataclass(frozen=True, eq=False)
class _RunJudge:
    """Function that judges a run by relevance and on other aspects."""

    judgments: Qrels
    policies: Policies
    tables: Mapping[str, DocumentTable]
    aspect_judgments: tuple[Qrels, ...]
    exclusion: Exclusion | None = None

    def __call__(self, run: Run, stem: str | None) -> tuple[JudgedRun, list[JudgedRun]]:
        n_rows = len(run)
        if self.policies.ties == "rank":
            run.warn_of_missing_ranks()
        if self.exclusion is not None:
            run = run.exclude_rows(~self.exclusion.compute_mask(run))
        order = order_documents(run, self.policies.order)
        judged_run = judge_one(run, stem, self.judgments, self.policies, self.tables, order)
        judged_run = replace(judged_run, n_excluded=n_rows - len(run))
        aspect_runs = [
            judge_one(run, stem, qrels, self.policies, order=order)
            for qrels in self.aspect_judgments
        ]
        return judged_run, aspect_runs


def _share_side_data(judged: JudgedRuns, aspect_runs: JudgedRuns) -> JudgedRuns:
    """Return `aspect_runs` with the cells, lengths and groups, which all aspects share."""
    relevance, groups = judged.side_data, aspect_runs.side_data.groups
    if groups is not None and relevance.groups is not None:
        groups = replace(groups, rows=relevance.groups.rows)
    side_data = replace(aspect_runs.side_data, lengths=relevance.lengths, groups=groups)
    return replace(
        aspect_runs, is_scored=judged.is_scored, n_retrieved=judged.n_retrieved, side_data=side_data
    )


def _read_supplements(
    by_subtopic: Qrels, judgments: Qrels, lengths: Any, groups: Any, intents: Any
) -> Supplements:
    if by_subtopic.subtopics is None and lengths is groups is intents is None:
        return Supplements()
    sources = {"lengths": (read_lengths, lengths), "groups": (read_groups, groups)}
    tables = {name: read(data) for name, (read, data) in sources.items() if data is not None}
    table = None if intents is None else read_intents(intents)
    if by_subtopic.subtopics is None and table is None:
        return Supplements(tables)
    return Supplements(tables, build_intents(by_subtopic, judgments, table))


def judge_one(
    run: Run,
    stem: str | None,
    qrels: Qrels,
    policy: Policies,
    tables: Mapping[str, DocumentTable] | None = None,
    order: RunOrder | None = None,
) -> JudgedRun:
    """Judge one run, and look up its documents in tables; the order is computed by default."""
    order = order_documents(run, policy.order) if order is None else order
    qrels_codes = qrels.find_codes(run.topics)
    rows, qrels_rows = run.find_matching_rows(qrels)
    rank, topic = order.compute_ranks(rows), qrels.codes[qrels_rows].astype(np.int64)
    grade = qrels.grades[qrels_rows].astype(np.int64)
    is_judged_topic = qrels_codes >= 0
    similar_docs = _find_similar_documents(run, qrels, qrels_codes, rows, qrels_rows)
    ties = NO_TIES
    if order.n_tied:
        code_of = np.zeros(len(qrels.topics), dtype=np.int64)
        code_of[qrels_codes[is_judged_topic]] = np.flatnonzero(is_judged_topic)
        rows, *tie_columns = order.find_tied_documents(code_of[topic], rank, grade)
        ties = np.stack([topic[rows], rank[rows], grade[rows], *tie_columns])
    tie_groups = order.find_tie_groups()
    tie_groups[0] = qrels_codes[tie_groups[0]]
    counts = order.counts
    # Sort by cell and rank here, while other runs are still being read.
    by_cell = np.argsort((qrels.topic_positions[topic] << 32) | rank)
    if policy.depth is not None:
        counts = np.minimum(counts, policy.depth)
        tie_groups[2] = np.minimum(tie_groups[2], policy.depth - tie_groups[1] + 1)
        by_cell = by_cell[rank[by_cell] <= policy.depth]
    n_retrieved = np.zeros(len(qrels.topics), dtype=np.int64)
    n_retrieved[qrels_codes[is_judged_topic]] = counts[is_judged_topic]
    return JudgedRun(
        name=run.name,
        stem=stem,
        topic=topic[by_cell],
        rank=rank[by_cell],
        grade=grade[by_cell],
        n_retrieved=n_retrieved,
        has_topic=np.isin(np.arange(len(qrels.topics)), qrels_codes),
        extra={run.topics[i]: int(counts[i]) for i in np.flatnonzero(~is_judged_topic)},
        n_tied=order.n_tied,
        n_contradictions=order.n_contradictions,
        n_chunks=run.n_chunks,
        similar_docs=similar_docs,
        judgment_row=qrels_rows[by_cell],
        table_rows={
            name: _find_rows_in_table(run, order, qrels_codes, table, policy.depth)
            for name, table in (tables or {}).items()
        },
        ties=ties,
        tie_groups=tie_groups[:, (tie_groups[0] >= 0) & (tie_groups[2] > 1)],
    )


_N_CHECKED = 10
"""Number of documents of a topic, in order of the run, whose ids are compared with judged ids."""


def _find_similar_documents(
    run: Run, qrels: Qrels, qrels_codes: Ints, rows: Ints, qrels_rows: Ints
) -> tuple[str, str] | None:
    """Return an unjudged document and a judged one whose ids may be two spellings of one id."""
    is_judged = np.zeros(len(run), dtype=bool)
    is_judged[rows] = True
    is_first = np.ones(len(run), dtype=bool)
    np.not_equal(run.codes[1:], run.codes[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(run)).clip(max=_N_CHECKED)
    # Only the first topics of the judgments, whose normal forms are computed once for all runs.
    topics = qrels_codes[run.codes[starts]]
    is_checked = (topics >= 0) & (topics < N_COMPARED_TOPICS)
    _, first_rows = join_ranges(starts[is_checked], (starts + sizes)[is_checked])
    unjudged_rows = first_rows[~is_judged[first_rows]]
    if unjudged_rows.size <= 0.2 * first_rows.size:
        return None
    codes = qrels_codes[run.codes[unjudged_rows]].astype(np.int32)
    docs = pl.DataFrame({"topic": codes, "doc": run.docs.gather(unjudged_rows)})
    docs = docs.with_columns(form=NORMAL_FORM)
    keys = compute_pair_keys(docs["form"], codes, qrels.topics)
    first, end = (np.searchsorted(qrels.form_keys, keys, side) for side in ("left", "right"))
    if (first == end).all():
        return None
    pairs = docs.join(qrels.forms, on=["topic", "form"])
    pairs = pairs.filter(~pl.Series(np.isin(pairs["row"].to_numpy(), qrels_rows))).head(_N_CHECKED)
    for doc, other_doc in pairs.select("doc", "doc_right").iter_rows():
        # If both ids occur in one of the files, they are two documents.
        if not (run.docs == other_doc).any() and not (qrels.docs == doc).any():
            return doc, other_doc
    return None


def _find_rows_in_table(
    run: Run, order: RunOrder, qrels_codes: Ints, table: DocumentTable, depth: int | None
) -> TableRows:
    rows, table_rows = table.find_rows(run.docs)
    topic, rank = qrels_codes[run.codes[rows]], order.compute_ranks(rows)
    is_scored = (topic >= 0) & (depth is None or rank <= depth)
    row = table_rows[is_scored]
    return TableRows(topic[is_scored], rank[is_scored], table.codes[row], table.values[row])
