"""Faults of files: codes, severities, their collection, and the report of a check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cranfield.base.errors import quoted
from cranfield.base.files import whole_file
from cranfield.base.text import counted, plain
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.result import Column, Columns, Result

if TYPE_CHECKING:
    import polars as pl

    from cranfield.campaign.rules.task_rules import TaskRules

MAX_LISTED = 25
"""Maximum number of faults of a kind that are listed by default."""

MORE_FAULTS = "... and {:,} more"
"""Message of the fault that stands for the unlisted ones of its kind."""

PRIVATE = "private"
"""Severity of faults for the organisers only: they are in the registry, but in no report."""


@dataclass(frozen=True)
class Fault:
    """One fault of a run, or one that stands for `count` of its kind.

    Attributes
    ----------
    code
        Kind of the fault, such as `document-twice`; all are in :mod:`cranfield.campaign.checks`.
    severity
        `error`, `warning`, `note`, or `private` for faults that concern other teams.
    message
        Description of the fault, without its line and without a full stop; safe to display.
    line
        Line in the file, from 1, with empty lines counted; None for faults of no line.
    """

    code: str
    severity: str
    message: str
    line: int | None = None
    topic: str | None = None
    doc: str | None = None
    count: int = 1

    def text(self, source: str) -> str:
        """Return the fault as one line: file, line, message, topic, document and code.

        Examples
        --------
        >>> fault = Fault("score", "error", "score 'nan' is not a finite number", 7, "401", "d3")
        >>> print(fault.text("a.run"))
        a.run:7: score 'nan' is not a finite number (topic '401', document 'd3') [score]
        """
        position = plain(source) if self.line is None else f"{plain(source)}:{self.line}"
        severity = f"{self.severity}: " if self.severity in {"warning", "note"} else ""
        named = (("topic", self.topic), ("document", self.doc))
        about = [f"{name} {quoted(value)}" for name, value in named if value is not None]
        about = [text for text in about if text not in self.message]
        details = f" ({', '.join(about)})" if about else ""
        return f"{position}: {severity}{self.message}{details} [{self.code}]"


@dataclass(frozen=True, repr=False)
class CheckReport(Result):
    """Result of the check of one run; returned by :func:`check_run`.

    Its text, which `cranfield check` prints, has a line for each fault, and the verdict.

    Attributes
    ----------
    source
        Name of the file.
    tag
        The run's tag; None if no line has one.
    faults
        In order of line, those without a line first; at most 25 of a kind unless all are
        requested, and last the numbers of the others.
    lines, topics
        Number of lines, empty ones included, and number of topics.
    object, ranking
        SHA-256 of the submitted bytes; SHA-256 of (topic, document) in order of rank by the task's
        rule for ties, without the tag; None for a file that could not be read.
    """

    name: ClassVar[str] = "faults"
    columns: ClassVar[Columns] = {
        "code": Column("Kind of the fault, such as document-twice."),
        "severity": Column("error, warning or note."),
        "line": Column(
            "Line in the file, from 1, with empty lines counted; null for faults of no line."
        ),
        "topic": Column("Topic that the fault concerns; null for faults of no topic."),
        "doc": Column("Document that the fault concerns; null for faults of no document."),
        "count": Column(
            "Number of faults of this kind that the row stands for, such as several missing topics."
        ),
        "message": Column("Description of the fault without file and line; safe to display."),
    }

    source: str
    tag: str | None
    faults: tuple[Fault, ...]
    lines: int = 0
    topics: int = 0
    object: str | None = None
    ranking: str | None = None

    @property
    def errors(self) -> tuple[Fault, ...]:
        """The faults that are errors."""
        return tuple(fault for fault in self.faults if fault.severity == "error")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The faults that are warnings."""
        return tuple(fault for fault in self.faults if fault.severity == "warning")

    @property
    def accepted(self) -> bool:
        """True if the run has no error."""
        return not self.errors

    @property
    def outcome(self) -> str:
        """Verdict on the run, with the numbers of its faults."""
        parts = []
        for noun, faults in (("error", self.errors), ("warning", self.warnings)):
            # A fault that stands for unlisted ones counts as all of them.
            n_unlisted = [
                fault.count - 1 for fault in faults if fault.message.startswith(MORE_FAULTS[:7])
            ]
            if faults:
                parts.append(counted(len(faults) + sum(n_unlisted), noun))
        verdict = "accepted" if self.accepted else "refused"
        return f"{verdict}: {', '.join(parts)}" if parts else verdict

    def counts(self) -> dict[str, int]:
        """Return the number of faults of each kind, including unlisted ones."""
        counts = Counter[str]()
        for fault in self.faults:
            counts[fault.code] += fault.count
        return dict(counts)

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        schema = dict.fromkeys(self.columns, pl.String) | {"line": pl.Int64, "count": pl.Int64}
        return pl.DataFrame(list(map(asdict, self.faults)), schema=schema, orient="row")

    def heading(self) -> list[str]:
        """Return two lines: the outcome, and the name of the file."""
        return [self.outcome, f"file: {self.source}"]

    def __str__(self) -> str:
        lines = [fault.text(self.source) for fault in self.faults]
        return "\n".join([*lines, f"{plain(self.source)}: {self.outcome}"])


CODES = {
    "columns": "always",
    "encoding": "always",
    "archive": "always",
    "empty": "always",
    "unreadable": "always",
    "size": "always",
    "tag": "error",
    "tag-changes": "error",
    "tag-declared": "error",
    "tag-team": "error",
    "tag-taken": "error",
    "topic-unknown": "error",
    "topic-missing": "error",
    "too-many": "error",
    "too-few": "off",
    "document-twice": "always",
    "document-unknown": "error",
    "document-excluded": "error",
    "id-blank": "error",
    "second-column": "error",
    "rank": "error",
    "rank-order": "warning",
    "score": "always",
    "tied": "warning",
    "ranking-same": "warning",
    "answers": "error",
    "closed": "error",
    "not-open": "error",
    "limit": "error",
    "metadata-header": "always",
    "metadata-yaml": "error",
    "metadata-missing": "error",
    "metadata-placeholder": "error",
    "metadata-type": "error",
    "metadata-tag": "error",
    "metadata-twice": "warning",
}
"""Default severity of each kind of fault of a run: `error`, `warning` or `off`.

A file with a fault that is `always` an error cannot be read; rules do not change its severity.
"""

GRADE = "grade"
"""Code of the fault of a grade that is not an integer, which only judgments have."""

UNREADABLE = frozenset({GRADE, *(code for code, severity in CODES.items() if severity == "always")})
"""Codes of faults that are always errors."""


def severity_of(code: str, task: TaskRules) -> str:
    """Return the severity of a kind of fault by the rules of a task: `error`, `warning` or `off`.

    Examples
    --------
    >>> from cranfield.campaign.rules.task_rules import TaskRules
    >>> severity_of("too-few", TaskRules("adhoc", severities={"too-few": "warning"}))
    'warning'
    """
    if code in UNREADABLE or (code == "rank" and task.ranks_decide):
        return "error"
    return task.severities.get(code, CODES[code])


class Faults:
    """The faults of one file: the first of each kind that the rules do not turn off, or all."""

    def __init__(self, task: TaskRules, *, all_faults: bool = False) -> None:
        self._task = task
        self._limit = None if all_faults else MAX_LISTED
        self._listed: dict[str, list[Fault]] = {}
        self._n_more = Counter[str]()

    def applies(self, code: str) -> bool:
        """Return True if the rules do not turn off this kind."""
        return severity_of(code, self._task) != "off"

    @property
    def readable(self) -> bool:
        """True if no fault stops the readers of runs."""
        return not any(code in UNREADABLE for code in self._listed)

    def names(self, names: Sequence[str]) -> str:
        """Return names for a message: the first few, or all."""
        first = names[: self._limit]
        rest = f" and {len(names) - len(first):,} more" if len(first) < len(names) else ""
        return ", ".join(map(quoted, first)) + rest

    def add(
        self,
        code: str,
        message: str,
        line: int | None = None,
        topic: str | None = None,
        doc: str | None = None,
        count: int = 1,
    ) -> None:
        """Add one fault, or one that stands for `count` of its kind."""
        if not self.applies(code):
            return
        faults = self._listed.setdefault(code, [])
        if self._limit is None or len(faults) < self._limit:
            severity = severity_of(code, self._task)
            # Messages quote what a file holds, which must not command a terminal.
            faults.append(Fault(code, severity, plain(message), line, topic, doc, count))
        else:
            self._n_more[code] += count

    def add_rows(self, code: str, rows: pl.DataFrame, message: str) -> None:
        """Add a fault for each row, with its line, and its topic and document if it has them.

        The message is a format string with names of columns; text is quoted.
        """
        for row in rows.head(self._limit or rows.height).iter_rows(named=True):
            values = {
                n: quoted(value) if isinstance(value, str) else value for n, value in row.items()
            }
            text = message.format_map(values)
            self.add(code, text, row["line"], row.get("topic"), row.get("doc"))
        if self._limit is not None and rows.height > self._limit and self.applies(code):
            self._n_more[code] += rows.height - self._limit

    def all(self) -> tuple[Fault, ...]:
        """Return the faults by line and code, those without a line first, and counts last."""
        codes = [code for code in (*CODES, GRADE) if code in self._listed]
        faults = [fault for code in codes for fault in self._listed[code]]
        faults.sort(key=lambda fault: fault.line or 0)
        summaries = [
            Fault(code, severity_of(code, self._task), MORE_FAULTS.format(count), count=count)
            for code in codes
            if (count := self._n_more[code])
        ]
        return (*faults, *summaries)


def as_json(reports: Iterable[CheckReport]) -> str:
    """Return reports as a JSON array with an object for each run.

    Each has `source`, `accepted`, `verdict`, `tag`, `lines`, `topics`, `object`, `ranking`,
    `counts` (by code) and `faults`, whose keys are those of :class:`Fault`.
    """
    entries = []
    for report in reports:
        fields = ("tag", "lines", "topics", "object", "ranking")
        entry = {"source": report.source, "accepted": report.accepted, "verdict": report.outcome}
        entry |= {field: getattr(report, field) for field in fields}
        entries.append(entry | {"counts": report.counts(), "faults": [*map(asdict, report.faults)]})
    return json.dumps(entries, indent=1, ensure_ascii=True)


def errlog_of(report: CheckReport) -> Path:
    """Return the file in which evalbase expects the messages of a checker: `<tag>.errlog`.

    It is in the folder of the run, and named after the run's file if the tag is not a safe name.

    Examples
    --------
    >>> errlog_of(CheckReport("runs/a.txt", "bm25", ())).as_posix()
    'runs/bm25.errlog'
    >>> errlog_of(CheckReport("runs/a.txt", "../../etc/x", ())).as_posix()
    'runs/a.errlog'
    """
    from cranfield.sources.chunks import Source

    tag = report.tag
    name = tag if tag is not None and safe_name(tag) else Source(report.source).stem
    return Path(report.source).with_name(f"{name}.errlog")


def write_errlog(report: CheckReport, path: Path) -> None:
    """Write a report in the format of evalbase: one line per message, and the outcome."""
    with whole_file(path) as file:
        file.write(f"{report}\n".encode())
