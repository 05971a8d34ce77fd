"""Faults of files, with their codes and severities, and the report of a check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cranfield.base.errors import quote
from cranfield.base.files import open_atomically
from cranfield.base.text import inflect, sanitise
from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.result import Column, Columns, Result

if TYPE_CHECKING:
    import polars as pl

    from cranfield.campaign.rules.task_rules import TaskRules

MAX_LISTED = 25
"""Maximum number of faults of a kind that are listed by default."""

MORE_FAULTS = "... and {:,} more"
"""Message on faults of one kind that are not listed one by one."""

PRIVATE = "private"
"""Severity of faults that are only recorded in the registry, for the organisers."""


@dataclass(frozen=True)
class Fault:
    """A fault of a file, or a summary of several faults of one kind.

    Attributes
    ----------
    code
        Kind of the fault, such as `document-twice`; a key of :data:`CODES`, or `grade` and others
        that only :func:`cranfield.check` finds.
    severity
        `error`, `warning`, `note`, or `private` for faults that concern other teams.
    message
        Description of the fault, without the line number; control characters are escaped.
    line
        Line in the file, from 1, with empty lines counted; None for a fault of the whole file.
    topic, doc
        Topic and document that the fault concerns, or None.
    count
        Number of faults that are summarised, such as the number of missing topics.
    """

    code: str
    severity: str
    message: str
    line: int | None = None
    topic: str | None = None
    doc: str | None = None
    count: int = 1

    def to_text(self, source: str) -> str:
        """Return one line: file, line, severity (not of errors), message, ids, code.

        Examples
        --------
        >>> fault = Fault("score", "error", "score must be a finite number", 7, "401", "d3")
        >>> print(fault.to_text("a.run"))
        a.run:7: score must be a finite number (topic '401', document 'd3') [score]
        """
        position = sanitise(source) if self.line is None else f"{sanitise(source)}:{self.line}"
        severity = f"{self.severity}: " if self.severity in {"warning", "note"} else ""
        ids = (("topic", self.topic), ("document", self.doc))
        labels = [f"{noun} {quote(value)}" for noun, value in ids if value is not None]
        labels = [label for label in labels if label not in self.message]
        details = f" ({', '.join(labels)})" if labels else ""
        return f"{position}: {severity}{self.message}{details} [{self.code}]"


@dataclass(frozen=True, repr=False)
class CheckReport(Result):
    """Result of the check of one run; returned by :func:`check_run`.

    As text, it has a line for each fault, and the verdict; `cranfield check` prints this text.

    Attributes
    ----------
    source
        Name of the file.
    tag
        Tag of the run; None if no line has a tag.
    faults
        Faults of the whole file, then faults of single lines in order, then summaries of the
        unlisted faults of each kind. By default at most 25 faults of each kind are listed.
    n_lines, n_topics
        Number of lines, including empty lines, and number of topics.
    object
        SHA-256 of the submitted bytes; None if the file is too large or can be read only once.
    ranking
        SHA-256 of topics and documents in order of rank, without scores and tag. Ties are ordered
        by the rule of the task. None if the file could not be read.
    """

    name: ClassVar[str] = "faults"
    columns: ClassVar[Columns] = {
        "code": Column("Kind of the fault, such as document-twice."),
        "severity": Column("error, warning or note."),
        "line": Column(
            "Line in the file, from 1, with empty lines counted; null for a fault of the whole"
            " file."
        ),
        "topic": Column("Topic that the fault concerns, or null."),
        "doc": Column("Document that the fault concerns, or null."),
        "count": Column(
            "Number of faults that the row reports, such as the number of missing topics."
        ),
        "message": Column("Description of the fault without file and line; safe to display."),
    }

    source: str
    tag: str | None
    faults: tuple[Fault, ...]
    n_lines: int = 0
    n_topics: int = 0
    object: str | None = None
    ranking: str | None = None

    @property
    def errors(self) -> tuple[Fault, ...]:
        """Faults with severity `error`."""
        return tuple(fault for fault in self.faults if fault.severity == "error")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """Faults with severity `warning`."""
        return tuple(fault for fault in self.faults if fault.severity == "warning")

    @property
    def is_accepted(self) -> bool:
        """True if the run has no error."""
        return not self.errors

    @property
    def outcome(self) -> str:
        """Verdict on the run, with the numbers of errors and warnings."""
        counts = self.count_severities()
        texts = [inflect(counts[noun], noun) for noun in ("error", "warning") if counts[noun]]
        verdict = "accepted" if self.is_accepted else "refused"
        return f"{verdict}: {', '.join(texts)}" if texts else verdict

    def count_severities(self) -> Counter[str]:
        """Count the faults of each severity; a fault of several lines or topics counts once."""
        counts = Counter[str]()
        for fault in self.faults:
            # The note on unlisted faults counts as all of them.
            is_unlisted = fault.message.startswith(MORE_FAULTS[:7])
            counts[fault.severity] += fault.count if is_unlisted else 1
        return counts

    def counts(self) -> dict[str, int]:
        """Return the sum of `count` over the faults of each kind, including unlisted faults."""
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
        lines = [fault.to_text(self.source) for fault in self.faults]
        return "\n".join([*lines, f"{sanitise(self.source)}: {self.outcome}"])


CODES = dict.fromkeys(
    (
        *("columns", "encoding", "archive", "empty", "unreadable", "size", "tag", "tag-changes"),
        *("tag-declared", "tag-team", "tag-taken", "topic-unknown", "topic-missing", "too-many"),
        *("too-few", "document-twice", "document-unknown", "document-excluded", "id-blank"),
        *("second-column", "rank", "rank-order", "score", "tied", "ranking-same", "answers"),
        *("closed", "not-open", "limit", "metadata-header", "metadata-yaml", "metadata-missing"),
        *("metadata-placeholder", "metadata-type", "metadata-tag", "metadata-twice"),
    ),
    "error",
)
_ALWAYS = ("columns", "encoding", "archive", "empty", "unreadable", "size", "document-twice")
CODES |= dict.fromkeys((*_ALWAYS, "score", "metadata-header"), "always")
CODES |= dict.fromkeys(("rank-order", "tied", "ranking-same", "metadata-twice"), "warning")
CODES |= {"too-few": "off"}
"""Default severity of each kind of fault of a run: `error`, `warning` or `off`.

`always`: an error whatever the rules, because readers refuse the file, or it is too large to read.
Nor can the rules change `tag-taken`, `tag` for an invalid file name at submission, or
`ranking-same` for a run that was withdrawn or replaced; only the key `late` changes `closed`.
"""

GRADE = "grade"
"""Code of a grade that is not an integer; only judgments can have this fault."""

UNREADABLE = frozenset({GRADE, *(code for code, severity in CODES.items() if severity == "always")})
"""Codes of faults that are always errors."""


def get_severity(code: str, task: TaskRules) -> str:
    """Return the severity of a kind of fault by a task's rules: `error`, `warning` or `off`."""
    if code in UNREADABLE or (code == "rank" and task.ranks_decide):
        return "error"
    return task.severities.get(code, CODES[code])


class Faults:
    """Collector of the faults of one file: by default, of the first 25 of each kind."""

    def __init__(self, task: TaskRules, *, all_faults: bool = False) -> None:
        self._task = task
        self._max_listed = None if all_faults else MAX_LISTED
        self._listed: dict[str, list[Fault]] = {}
        self._n_unlisted = Counter[str]()
        self.n_rows = 0  # number of rows of the file, without empty lines and comments

    def is_reported(self, code: str) -> bool:
        """Return True unless the rules turn off this kind of fault."""
        return get_severity(code, self._task) != "off"

    @property
    def is_unlimited(self) -> bool:
        """True if all faults of each kind are listed."""
        return self._max_listed is None

    @property
    def is_readable(self) -> bool:
        """True if no fault prevents readers from reading the file."""
        return not any(code in UNREADABLE for code in self._listed)

    def list_names(self, names: Sequence[str]) -> str:
        """List names for a message: by default, the first 25."""
        first_names = names[: self._max_listed]
        n_more = len(names) - len(first_names)
        suffix = f" and {n_more:,} more" if n_more else ""
        return ", ".join(map(quote, first_names)) + suffix

    def add(
        self,
        code: str,
        message: str,
        line: int | None = None,
        topic: str | None = None,
        doc: str | None = None,
        count: int = 1,
    ) -> None:
        """Add a fault, or a summary of `count` faults of one kind, unless this kind is off."""
        severity = get_severity(code, self._task)
        if severity == "off":
            return
        faults = self._listed.setdefault(code, [])
        if self._max_listed is None or len(faults) < self._max_listed:
            # Messages quote the file, whose control characters must not reach a terminal.
            faults.append(Fault(code, severity, sanitise(message), line, topic, doc, count))
        else:
            self._n_unlisted[code] += count

    def add_rows(self, code: str, rows: pl.DataFrame, message: str) -> None:
        """Add a fault for each row, with the line, and the topic and document if they are columns.

        The message is a format string with names of columns; texts are quoted. By default, a fault
        of more than 25 lines and of most lines of a file is added once, for the first line.
        """
        max_listed = self._max_listed or rows.height
        is_everywhere = rows.height > max(max_listed, self.n_rows / 2)
        count = rows.height if is_everywhere else 1
        for row in rows.head(1 if is_everywhere else max_listed).iter_rows(named=True):
            values = {k: quote(v) if isinstance(v, str) else v for k, v in row.items()}
            text = message.format_map(values) + f" ({count:,} lines)" * is_everywhere
            self.add(code, text, row["line"], row.get("topic"), row.get("doc"), count)
        n_unlisted = 0 if is_everywhere else rows.height - max_listed
        if n_unlisted > 0 and self.is_reported(code):
            self._n_unlisted[code] += n_unlisted

    def sort_faults(self) -> tuple[Fault, ...]:
        """Return faults without a line, faults by line and code, and notes on unlisted faults."""
        codes = [code for code in (*CODES, GRADE) if code in self._listed]
        faults = [fault for code in codes for fault in self._listed[code]]
        faults.sort(key=lambda fault: fault.line or 0)
        summaries = [
            Fault(code, get_severity(code, self._task), MORE_FAULTS.format(count), count=count)
            for code in codes
            if (count := self._n_unlisted[code])
        ]
        return (*faults, *summaries)


def format_reports_as_json(reports: Iterable[CheckReport]) -> str:
    """Return reports as a JSON array with one object per run.

    An object has `source`, `is_accepted`, `verdict`, `tag`, `n_lines`, `n_topics`, `object`,
    `ranking`, `counts` (by code) and `faults`, whose keys are those of :class:`Fault`.
    """
    entries = []
    for report in reports:
        fields = asdict(report)
        source, faults = fields.pop("source"), fields.pop("faults")
        verdict = {"is_accepted": report.is_accepted, "verdict": report.outcome}
        counts = report.counts()
        entries.append({"source": source, **verdict, **fields, "counts": counts, "faults": faults})
    return json.dumps(entries, indent=1, ensure_ascii=True)


def get_errlog_path(report: CheckReport) -> Path:
    """Return the path where evalbase expects the messages of a checker: `<tag>.errlog`.

    The path is in the folder of the run. Without a safe tag, it has the name of the run's file.

    Examples
    --------
    >>> get_errlog_path(CheckReport("runs/a.txt", "bm25", ())).as_posix()
    'runs/bm25.errlog'
    >>> get_errlog_path(CheckReport("runs/a.txt", "../../etc/x", ())).as_posix()
    'runs/a.errlog'
    """
    from cranfield.sources.chunks import Source

    tag = report.tag
    name = tag if tag is not None and is_safe_name(tag) else Source(report.source).stem
    return Path(report.source).with_name(f"{name}.errlog")


def write_errlog(report: CheckReport, path: Path) -> None:
    """Write a report in the format of evalbase: one line per fault, and the verdict."""
    with open_atomically(path) as file:
        file.write(f"{report}\n".encode())
