"""Check files of judgments and runs, separately and in comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, collect_warnings, quote
from cranfield.base.text import inflect, list_some
from cranfield.campaign.checks.checking import (
    check_duplicates,
    check_run,
    describe_contradictions,
    describe_ties,
)
from cranfield.campaign.checks.lines import read_lines
from cranfield.campaign.checks.report import UNREADABLE, CheckReport, Fault, Faults
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.files.many_runs import list_named_files, read_runs
from cranfield.collection.files.named_columns import request_qrels_and_run_columns
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.judged.coverage import SystemCoverage, find_similar_ids
from cranfield.collection.judged.judging import can_be_read, judge
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import CHUNK_BYTES, CHUNKS_AT_ONCE, FORMAT_OF_SUFFIX, Source
from cranfield.sources.values import parse_integers

MIN_JUDGED = 0.8
"""Minimum proportion of judged documents in the top 10; a run below it gets a warning."""

_RULES = TaskRules(
    "check",
    rank="order",
    max_per_topic=None,
    max_bytes=1 << 62,
    max_decompressed_bytes=1 << 62,
    severities={"tag": "off", "tag-changes": "warning", "rank": "warning", "id-blank": "off"},
)
"""Rules for runs outside a campaign: runs must be readable; anomalies are warnings."""


def check_qrels_lines(path: str, *, all_faults: bool) -> CheckReport:
    """Check the lines of judgments: topic, iteration, document, grade."""
    faults = Faults(_RULES, all_faults=all_faults)
    chunks = Source(path).iterate_chunks(CHUNKS_AT_ONCE * CHUNK_BYTES)
    rows, n_lines, _ = read_lines(chunks, faults, kind="judgment")
    grade = pl.col("grade")
    invalid_rows = rows.filter(parse_integers(grade).is_null(), grade.is_not_null())
    faults.add_rows("grade", invalid_rows, "grade must be an integer of 32 bits, got {grade}")
    rows = rows.filter(~pl.col("is_broken"))
    check_duplicates(rows.filter(pl.col("doc").is_not_null()), ["topic", "subtopic", "doc"], faults)
    return CheckReport(
        Source(path).name, None, faults.sort_faults(), n_lines, rows["topic"].n_unique()
    )


@dataclass(frozen=True, repr=False)
class FileChecks(Result):
    """Faults of judgments and runs; returned by :func:`cranfield.check`.

    Attributes
    ----------
    files
        One report per file or system, the judgments first; readers refuse files with errors.
    """

    name: ClassVar[str] = "faults"
    columns: ClassVar[Columns] = {"file": Column("Name of the file.", key=True)} | dict(
        CheckReport.columns
    )

    files: tuple[CheckReport, ...]

    @property
    def is_accepted(self) -> bool:
        """True if no file has an error; also the truth value of this object."""
        return all(report.is_accepted for report in self.files)

    def __bool__(self) -> bool:
        return self.is_accepted

    def _frame(self) -> pl.DataFrame:
        return pl.concat(
            report.to_polars().select(pl.lit(report.source).alias("file"), pl.all())
            for report in self.files
        )

    def heading(self) -> list[str]:
        """Return one line: numbers of files or systems, of refusals, and of faults by severity."""
        n_refused = sum(not report.is_accepted for report in self.files)
        faults = sum((report.count_severities() for report in self.files), Counter[str]())
        counts = "".join(f", {inflect(n, name)}" for name, n in sorted(faults.items()))
        return [f"{inflect(len(self.files), 'input')}, {n_refused} refused{counts}"]

    def map_messages(self, convert: Callable[[str], str]) -> FileChecks:
        """Return the checks with a function applied to each message."""
        reports = []
        for report in self.files:
            faults = (replace(fault, message=convert(fault.message)) for fault in report.faults)
            reports.append(replace(report, faults=tuple(faults)))
        return FileChecks(tuple(reports))

    def __str__(self) -> str:
        return "\n".join(map(str, self.files))


def check(
    qrels: str | PathLike[str],
    runs: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    separator: str = "auto",
    numbers: str = "auto",
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    all_faults: bool = False,
) -> FileChecks:
    """Check files of judgments and runs, separately and in comparison with each other.

    Parameters
    ----------
    qrels
        A file of judgments.
    runs
        Files, folders or patterns of runs.
    format, encoding, separator, numbers
        As for :func:`cranfield.read_run`.
    system
        As for :func:`cranfield.read_runs`; each system of a file has a report.
    columns
        As for :func:`cranfield.judge`.
    all_faults
        Whether to list every fault. By default at most 25 of each kind are listed.

    Returns
    -------
    FileChecks
        Faults of each file or system; readers refuse files with errors. Every line of a file of
        TREC text is checked, unless another `format`, `encoding` or `separator` is set. Of other
        files, and of standard input, only the first line that cannot be read is reported.

    Raises
    ------
    InputError
        For a folder or a pattern without files.
    PolicyError
        For an invalid option.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     qrels, run = Path(folder) / "qrels.txt", Path(folder) / "a.run"
    ...     _ = qrels.write_text("1 0 d1 1\\n1 0 d2 x\\n")
    ...     _ = run.write_text("1 Q0 d1 1 nan a\\n1 Q0 d1 2 0.5 a\\n")
    ...     checks = check(qrels, [run])
    >>> checks
    FileChecks(2 inputs, 2 refused, 3 errors)
    >>> checks.to_polars().select("line", "code").rows()
    [(2, 'grade'), (1, 'score'), (2, 'document-twice')]
    """
    options: dict[str, Any] = {"format": format, "encoding": encoding, "separator": separator}
    qrels_check = run_check = None
    if format in {"auto", "trec"} and (encoding, separator) == ("utf-8", "auto"):
        qrels_check = partial(check_qrels_lines, all_faults=all_faults)
        run_check = partial(check_run, task=_RULES, all_faults=all_faults)
    patterns = [runs] if isinstance(runs, (str, PathLike)) else runs
    run_files = list(list_named_files([fspath(pattern) for pattern in patterns]))
    run_columns = None
    read_judgments = partial(read_qrels, **options)
    if columns is not None:
        qrels_columns, run_columns = request_qrels_and_run_columns(columns, system)
        read_judgments = partial(read_judgments, columns=qrels_columns)
        run_columns.has_tables = any(Source(p).suffix in FORMAT_OF_SUFFIX for _, p in run_files)
    checks = [_check_file(fspath(qrels), qrels_check, read_judgments)]
    if run_columns is not None:
        # Columns that the judgments lack are required in the runs.
        run_columns.ambiguous_columns &= qrels_columns.matched_columns
    paths = []
    for name, path in run_files:
        readers = _list_readers(name, path, system, numbers=numbers, columns=run_columns, **options)
        for k, reader in enumerate(readers):
            run, report = _check_file(path, None if len(readers) > 1 else run_check, reader)
            if len(readers) > 1:
                report = replace(report, source=f"{report.source} ({report.tag or k + 1})")
            checks.append((run, report))
            paths.append(path)
    options["columns"] = columns
    judgments, *loaded_runs = [data for data, _ in checks]
    reports = [report for _, report in checks]
    order_problems = [
        "a run, got judgments" if run is None and can_be_read(path, "qrels", **options) else ""
        for path, run in zip(paths, loaded_runs, strict=True)
    ]
    is_suspect = any(order_problems) or not reports[0].is_accepted
    is_run = is_suspect and can_be_read(fspath(qrels), "run", **options)
    order_problems.insert(0, "judgments, got a run" if is_run else "")
    run_faults = _compare(judgments, loaded_runs, reports[1:])
    complete_reports = []
    fault_lists = [[], *run_faults]
    for report, problem, faults in zip(reports, order_problems, fault_lists, strict=True):
        message = f"expected {problem}; put the judgments first: QRELS RUN..."
        order_faults = [Fault("file-order", "error", message)] if problem else []
        complete_reports.append(replace(report, faults=(*order_faults, *report.faults, *faults)))
    return FileChecks(tuple(complete_reports))


def _list_readers(
    name: str | None, path: str, system: str | None, **options: Any
) -> list[Callable[[str], Run]]:
    """Return a reader for each run of a file, which is a table of systems or one run."""
    if name is None:
        with suppress(InputError), collect_warnings():
            runs = read_runs(path, system=system, **options)
            if len(runs) > 1:
                return [partial(lambda k, _: runs[k], k) for k in range(len(runs))]
        if system is not None:
            return [lambda path: read_runs(path, system=system, **options)[0]]
    return [partial(read_run, name=name, **options)]


def _check_file(
    path: str, check_lines: Callable[[str], CheckReport] | None, reader: Callable[[str], Any]
) -> tuple[Any, CheckReport]:
    """Read a file and report its faults, which are not errors if the reader accepts the file."""
    source = Source(path)
    report = CheckReport(source.name, None, ())
    error: InputError | None = None
    data: Qrels | Run | None = None
    warnings: list[str] = []
    try:
        if check_lines is not None and not FORMAT_OF_SUFFIX.get(source.suffix) and path != "-":
            report = check_lines(path)
        with collect_warnings() as warnings:
            data = reader(path)
    except InputError as reader_error:
        error = reader_error
    faults = list(report.faults)
    counts = report.counts()
    if error is not None and _has_other_columns(report, error):
        report, faults = replace(report, faults=()), []
    if error is None:
        # If every line has a fault, but the reader accepts the file, its format is not TREC text.
        faults = [
            replace(fault, severity="warning") if fault.severity == "error" else fault
            for fault in faults
            if not (fault.code in UNREADABLE and counts[fault.code] >= report.n_lines)
        ]
    elif not report.errors:
        position = (error.line, error.topic, error.doc)
        faults.append(Fault("unreadable", "error", error.reason, *position))
    for text in warnings:
        # Lines that change the tag are already reported.
        if not ("tag-changes" in counts and "different run tags" in text):
            faults.append(Fault("reading", "warning", text.removeprefix(f"{source.name}: ")))
    if isinstance(data, Run):
        report = replace(report, tag=data.name)
    if data is not None:
        report = replace(report, n_topics=len(data.topics))
    return data, replace(report, faults=tuple(faults))


def _has_other_columns(report: CheckReport, error: InputError) -> bool:
    """Return True if the lines of a refused file have other columns than TREC text."""
    lines = [fault.line or 0 for fault in report.faults if fault.code == "columns"]
    n_invalid = report.counts().get("columns", 0)
    if error.line is None:
        return n_invalid >= report.n_lines > 0
    # The reader accepted lines above the one that it refuses.
    return 2 * n_invalid >= report.n_lines > 0 and min(lines, default=error.line) < error.line


def _compare(
    judgments: Qrels | None, runs: Sequence[Run | None], reports: Sequence[CheckReport]
) -> list[list[Fault]]:
    """Return the faults of each run in comparison with the other runs and the judgments."""
    readable_runs = {str(k): run for k, run in enumerate(runs) if run is not None}
    coverage: dict[str, SystemCoverage] = {}
    if judgments is not None and readable_runs:
        # An error is raised if the judgments and the runs have no topic in common, and warnings
        # name runs by number; the faults below state the same.
        with suppress(InputError), collect_warnings():
            judged = judge([run.rename(name) for name, run in readable_runs.items()], judgments)
            coverage = {row.system: row for row in judged.coverage.systems}
    tag_counts = Counter(run.name for run in readable_runs.values())
    depths = {name: int(np.bincount(run.codes).max()) for name, run in readable_runs.items()}
    first_reports: dict[str | None, CheckReport] = {}
    run_faults: list[list[Fault]] = []
    for k, (run, report) in enumerate(zip(runs, reports, strict=True)):
        first_report = first_reports.setdefault(report.ranking, report)
        if run is None:
            run_faults.append([])
            continue
        warnings = {}
        if (n_runs := tag_counts[run.name]) > 1:
            warnings["tag-equal"] = f"tag {quote(run.name)} is shared by {n_runs} runs"
        depth, max_depth = depths[str(k)], max(depths.values())
        if depth < max_depth:
            message = f"the run has at most {inflect(depth, 'document')} per topic"
            warnings["depth"] = f"{message}; another run has {max_depth:,}"
        if report.ranking is not None and first_report is not report:
            warnings["ranking-same"] = (
                f"the run has the same ranking as {quote(first_report.source)}"
            )
        if not report.n_lines and (row := coverage.get(str(k))):
            # The check of lines of TREC text reports contradictions and ties.
            if row.n_contradictions:
                n_pairs = len(run) - len(run.topics)
                warnings["rank-order"] = describe_contradictions(row.n_contradictions, n_pairs)
            if row.n_tied / len(run) > _RULES.tied:
                warnings["tied"] = describe_ties(row.n_tied, len(run))
        faults = [Fault(code, "warning", message) for code, message in warnings.items()]
        if judgments is not None:
            faults += _find_coverage_faults(run, coverage.get(str(k)), judgments.topics)
        run_faults.append(faults)
    return run_faults


def _find_coverage_faults(
    run: Run, coverage: SystemCoverage | None, judged_topics: Sequence[str]
) -> Iterator[Fault]:
    """Yield faults on unjudged topics and documents; `coverage` is None without a judged topic."""
    extra_topics = coverage.extra if coverage else run.topics
    missing_topics = coverage.missing if coverage else ()
    similar_topics = find_similar_ids(extra_topics, missing_topics if coverage else judged_topics)
    for code, topics, source, noun in (
        ("topic-unjudged", extra_topics, "", "judgments"),
        ("topic-missing", missing_topics, " of the judgments", "documents"),
    ):
        if topics:
            verb = "has" if len(topics) == 1 else "have"
            message = f"{inflect(len(topics), 'topic')}{source} {verb} no {noun}:"
            message += f" {list_some(map(quote, topics), 5)}"
            if similar_topics and code == "topic-unjudged":
                pair = " and ".join(map(quote, similar_topics))
                message += f"; {pair} differ only in case or leading zeros"
            yield Fault(code, "warning", message, count=len(topics))
    if coverage is not None and coverage.n_retrieved:
        proportion_10 = 1 - coverage.n_unjudged_10 / coverage.n_retrieved_10
        proportion = 1 - coverage.n_unjudged / coverage.n_retrieved
        message = f"{proportion_10:.1%} of the first 10 documents of each topic are judged,"
        message += f" and {proportion:.1%} of all {coverage.n_retrieved:,} retrieved documents"
        if coverage.similar_docs:
            message += f"; {' and '.join(map(quote, coverage.similar_docs))} differ in spelling"
        yield Fault("judged", "warning" if proportion_10 < MIN_JUDGED else "note", message)
