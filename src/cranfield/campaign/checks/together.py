"""The check of judgments beside runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, kept_warnings, quoted
from cranfield.base.text import counted, some_of
from cranfield.campaign.checks.checking import check_run, check_twice
from cranfield.campaign.checks.lines import read_lines
from cranfield.campaign.checks.report import UNREADABLE, CheckReport, Fault, Faults
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.files.many_runs import named_files
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.judged.coverage import SystemCoverage
from cranfield.collection.judged.judging import can_be_read, judge
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import CHUNK, FORMAT_OF_SUFFIX, TOGETHER, Source
from cranfield.sources.values import integers_in


def check_lines_of_qrels(path: str, task: TaskRules, *, all_faults: bool) -> CheckReport:
    """Check lines of topic, iteration, document and grade."""
    faults = Faults(task, all_faults=all_faults)
    chunks = Source(path).chunks(TOGETHER * CHUNK)
    rows, count, _ = read_lines(chunks, faults, kind="judgment")
    wrong = rows.filter(integers_in(pl.col("grade")).is_null(), pl.col("grade").is_not_null())
    faults.add_rows(
        "grade", wrong, lambda row: f"grade {quoted(row['grade'])} is not a whole number"
    )
    rows = rows.filter(~pl.col("broken"))
    check_twice(rows.filter(pl.col("doc").is_not_null()), ["topic", "subtopic", "doc"], faults)
    return CheckReport(Source(path).name, None, faults.all(), count, rows["topic"].n_unique())


FEW_JUDGED = 0.8
"""Proportion of judged documents in the top 10 below which there is a warning."""

_RULES = TaskRules(
    "check",
    rank="order",
    max_per_topic=None,
    most_bytes=1 << 62,
    most_unpacked=1 << 62,
    severities={"tag": "off", "tag-changes": "warning", "rank": "warning"},
)
"""Rules without a campaign: can the run be read, and is it unusual."""


@dataclass(frozen=True, repr=False)
class FileChecks(Result):
    """What is wrong with judgments and runs; made by :func:`cranfield.check`.

    Attributes
    ----------
    files
        A report for each file, the judgments first. Their faults are errors, for which the file
        is refused, warnings, and notes.
    """

    name: ClassVar[str] = "faults"
    columns: ClassVar[Columns] = {"file": Column("Name of the file.", key=True)} | dict(
        CheckReport.columns
    )

    files: tuple[CheckReport, ...]

    @property
    def accepted(self) -> bool:
        """Whether every file can be read; so a condition takes the checks themselves."""
        return all(one.accepted for one in self.files)

    def __bool__(self) -> bool:
        return self.accepted

    def _frame(self) -> pl.DataFrame:
        frames = [
            one.to_polars().select(pl.lit(one.source).alias("file"), pl.all()) for one in self.files
        ]
        return pl.concat(frames)

    def heading(self) -> list[str]:
        """Return one line: numbers of files, of refused ones, and of faults by severity."""
        refused = sum(not one.accepted for one in self.files)
        faults = Counter(one.severity for report in self.files for one in report.faults)
        counts = "".join(f", {counted(n, name)}" for name, n in sorted(faults.items()))
        return [f"{counted(len(self.files), 'file')}, {refused} refused{counts}"]

    def reworded(self, of: Callable[[str], str]) -> FileChecks:
        """Return the same checks with other messages."""
        files = (
            replace(one, faults=tuple(replace(f, message=of(f.message)) for f in one.faults))
            for one in self.files
        )
        return FileChecks(tuple(files))

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
    all_faults: bool = False,
) -> FileChecks:
    """Find every problem of files of judgments and runs, and between them, at once.

    Parameters
    ----------
    qrels
        A file of judgments.
    runs
        Files, folders or patterns of runs.
    format, encoding, separator, numbers
        As for :func:`cranfield.read_run`.
    all_faults
        Whether to keep each fault; by default 25 of a kind are, and the others counted.

    Returns
    -------
    FileChecks
        For each file its faults: errors, for which readers refuse it, warnings and notes. Of TREC
        text every line is looked at; of other formats the first fault is told.

    Raises
    ------
    InputError
        For a folder or a pattern without files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     qrels, run = Path(folder) / "qrels.txt", Path(folder) / "a.run"
    ...     _ = qrels.write_text("1 0 d1 1\\n1 0 d2 x\\n")
    ...     _ = run.write_text("1 Q0 d1 1 nan a\\n1 Q0 d1 2 0.5 a\\n")
    ...     found = check(qrels, [run])
    >>> found
    FileChecks(2 files, 2 refused, 3 errors)
    >>> found.to_polars().select("line", "code").rows()
    [(2, 'grade'), (1, 'score'), (2, 'document-twice')]
    """
    options: dict[str, Any] = {"format": format, "encoding": encoding, "separator": separator}
    by_line = format in {"auto", "trec"} and (encoding, separator) == ("utf-8", "auto")

    def lines_of_run(path: str) -> CheckReport:
        return check_run(path, _RULES, all_faults=all_faults)

    def lines_of_qrels(path: str) -> CheckReport:
        return check_lines_of_qrels(path, _RULES, all_faults=all_faults)

    judgments, of_qrels = _checked(
        fspath(qrels), lines_of_qrels if by_line else None, lambda path: read_qrels(path, **options)
    )
    given = [runs] if isinstance(runs, (str, PathLike)) else list(runs)
    named = list(named_files([fspath(one) for one in given]))
    paths = [path for _, path in named]
    checked = [
        _checked(
            path,
            lines_of_run if by_line else None,
            partial(read_run, name=name, numbers=numbers, **options),
        )
        for name, path in named
    ]
    of_qrels, checked = _in_place(fspath(qrels), of_qrels, paths, checked, options)
    found = [run for run, _ in checked if run is not None]
    between = _between(judgments, [run.renamed(str(k)) for k, run in enumerate(found)])
    reports, at = [of_qrels], 0
    depths = [int(np.bincount(run.codes).max()) for run in found]
    tags = Counter(run.name for run in found)
    rankings = [report.ranking for _, report in checked]
    for run, report in checked:
        faults = list(report.faults)
        if run is not None:
            faults += _among(run.name, depths[at], tags, depths)
            if report.ranking is not None and rankings.count(report.ranking) > 1:
                first = next(one for _, one in checked if one.ranking == report.ranking)
                if first is not report:
                    said = f"the same ranking as {quoted(first.source)}"
                    faults.append(Fault("ranking-same", "warning", said))
            if between is not None:
                faults += _covered(between[at])
            at += 1
        reports.append(replace(report, faults=tuple(faults)))
    return FileChecks(tuple(reports))


def _checked(
    path: str, by_line: Callable[[str], CheckReport] | None, read: Callable[[str], Any]
) -> tuple[Any, CheckReport]:
    """Read a file and report its faults; what a reader accepts is not an error."""
    source = Source(path)
    report = CheckReport(source.name, None, ())
    error: InputError | None = None
    found: Qrels | Run | None = None
    warned: list[str] = []
    try:
        if by_line is not None and not FORMAT_OF_SUFFIX.get(source.suffix) and path != "-":
            report = by_line(path)
        with kept_warnings() as warned:
            found = read(path)
    except InputError as raised:
        error = raised
    faults = list(report.faults)
    counts = report.counts()
    if error is not None and error.line is None and counts.get("columns", 0) >= report.lines > 0:
        # The file is in another format, which its reader refuses as a whole.
        report, faults = replace(report, faults=()), []
    if error is None:
        # The reader decides: a format that it knows has no faulty lines.
        faults = [
            replace(one, severity="warning") if one.severity == "error" else one
            for one in faults
            if not (one.code in UNREADABLE and counts[one.code] >= report.lines)
        ]
    elif not report.errors:
        faults.append(
            Fault("unreadable", "error", error.reason, error.line, error.topic, error.doc)
        )
    for text in warned:
        # Lines that change the tag are named already.
        if not ("tag-changes" in counts and "different run tags" in text):
            said = text.removeprefix(f"{source.name}: ")
            faults.append(Fault("reading", "warning", said))
    if isinstance(found, Run):
        report = replace(report, tag=found.name)
    if found is not None:
        report = replace(report, topics=len(found.topics))
    return found, replace(report, faults=tuple(faults))


def _in_place(
    qrels: str,
    of_qrels: CheckReport,
    paths: list[str],
    checked: list[tuple[Any, CheckReport]],
    options: Mapping[str, Any],
) -> tuple[CheckReport, list[tuple[Any, CheckReport]]]:
    """Put a fault first in reports of judgments and runs that stand in each other's place."""
    placed, swapped = [], False
    for path, (run, report) in zip(paths, checked, strict=True):
        if run is None and can_be_read(path, "qrels", **options):
            swapped = True
            message = "looks like judgments, which come first, where a run is to be"
            placed.append((run, _misplaced(report, message)))
        else:
            placed.append((run, report))
    if (swapped or not of_qrels.accepted) and can_be_read(qrels, "run", **options):
        of_qrels = _misplaced(of_qrels, "looks like a run, where the judgments are to be")
    return of_qrels, placed


def _misplaced(report: CheckReport, message: str) -> CheckReport:
    return replace(report, faults=(Fault("place", "error", message), *report.faults))


def _between(judgments: Qrels | None, runs: list[Run]) -> tuple[SystemCoverage, ...] | None:
    if judgments is None or not runs:
        return None
    try:
        return judge(runs, judgments).coverage.systems
    except InputError:
        # No run has a topic in common with the judgments.
        topics = {*judgments.topics}
        return tuple(
            SystemCoverage(
                *(run.name, 0, 0, 0, 0, 0, 0, 0, 0),
                missing=(),
                extra=tuple(topic for topic in run.topics if topic not in topics),
            )
            for run in runs
        )


def _among(tag: str, depth: int, tags: Counter[str], depths: list[int]) -> list[Fault]:
    """Report equal tags and smaller depths than those of other runs."""
    faults = []
    if tags[tag] > 1:
        said = f"tag {quoted(tag)} is that of {tags[tag]} runs"
        faults.append(Fault("tag-equal", "warning", said))
    if depth < max(depths):
        said = (
            f"at most {counted(depth, 'document')} a topic, where another run has {max(depths):,}"
        )
        faults.append(Fault("depth", "warning", said))
    return faults


def _covered(row: SystemCoverage) -> list[Fault]:
    """Report topics and documents that the judgments do not cover."""
    faults = []
    for code, topics, what in (
        ("topic-unjudged", row.extra, "without judgments"),
        ("topic-missing", row.missing, "of the judgments without documents"),
    ):
        if topics:
            said = f"{counted(len(topics), 'topic')} {what}: {some_of(map(quoted, topics), 5)}"
            faults.append(Fault(code, "warning", said, count=len(topics)))
    if row.retrieved:
        judged_10 = 1 - row.unjudged_10 / row.retrieved_10
        judged = 1 - row.unjudged / row.retrieved
        said = f"{judged_10:.1%} of the first 10 documents of all topics are judged, and"
        said += f" {judged:.1%} of all {row.retrieved:,} documents"
        severity = "warning" if judged_10 < FEW_JUDGED else "note"
        faults.append(Fault("judged", severity, said))
    return faults
