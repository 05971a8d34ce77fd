"""What a check found: kinds of faults with their codes, faults by topic, the verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar

from cranfield.base.errors import quoted
from cranfield.base.text import counted, plain
from cranfield.result import Column, Columns, Result

if TYPE_CHECKING:
    import polars as pl

    from cranfield.campaign.rules.task_rules import TaskRules


MORE = "... and {:,} more"
"""Message of the fault that stands for those of a kind that were not kept."""

PRIVATE = "private"
"""Severity of what only the organisers see: the registry keeps it, and no report has it."""


@dataclass(frozen=True)
class Fault:
    """One fault of a run, or one that stands for `count` of its kind.

    Attributes
    ----------
    code
        Kind of the fault, such as `document-twice`; all are in :mod:`cranfield.campaign.checks`.
    severity
        `error`, `warning`, `note`, or `private` of what tells about other teams.
    message
        What is wrong, without the place and without a full stop; safe to show.
    line
        Line in the file, from 1, empty lines counted; None where no line is meant.
    """

    code: str
    severity: str
    message: str
    line: int | None = None
    topic: str | None = None
    doc: str | None = None
    count: int = 1

    @property
    def said(self) -> int:
        """How often it would have been said, were nothing left out: once, or `count` times."""
        return self.count if self.message.startswith(MORE.split("{", maxsplit=1)[0]) else 1

    def text(self, source: str) -> str:
        """Say it in one line: file and line, what is wrong, of which topic and document, code.

        Examples
        --------
        >>> fault = Fault("score", "error", "score 'nan' is not a finite number", 7, "401", "d3")
        >>> print(fault.text("a.run"))
        a.run:7: score 'nan' is not a finite number (topic '401', document 'd3') [score]
        """
        where = plain(source) if self.line is None else f"{plain(source)}:{self.line}"
        severity = f"{self.severity}: " if self.severity in {"warning", "note"} else ""
        named = (("topic", self.topic), ("document", self.doc))
        about = [f"{name} {quoted(value)}" for name, value in named if value is not None]
        about = [text for text in about if text not in self.message]
        shown = f" ({', '.join(about)})" if about else ""
        return f"{where}: {severity}{self.message}{shown} [{self.code}]"


@dataclass(frozen=True, repr=False)
class CheckReport(Result):
    """What a check of one run found; made by :func:`check_run`.

    Printed, it is what `cranfield campaign check` prints: a line for each fault, and the verdict.

    Attributes
    ----------
    source
        Name of the file.
    tag
        The run's tag; None where no line has one.
    faults
        In order of line, those without a line first; at most so many of a kind, and last what
        stands for the others, with their number.
    lines, topics
        How many lines were read, empty ones counted, and how many topics they name.
    object, ranking
        SHA-256 of the bytes as handed in; SHA-256 of (topic, document) in order of rank after the
        task's rule for ties, tag left out; None for a file that could not be read.
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
        "count": Column("Number of faults of the kind that the row stands for."),
        "message": Column("What is wrong, without the place; safe to show."),
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
        return tuple(one for one in self.faults if one.severity == "error")

    @property
    def warnings(self) -> tuple[Fault, ...]:
        """The faults that are warnings."""
        return tuple(one for one in self.faults if one.severity == "warning")

    @property
    def accepted(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    @property
    def outcome(self) -> str:
        """Whether the run is accepted, and how many faults there are."""
        errors, warnings = (sum(one.said for one in some) for some in (self.errors, self.warnings))
        found = [counted(errors, "error")] * (errors > 0)
        found += [counted(warnings, "warning")] * (warnings > 0)
        said = f": {', '.join(found)}" if found else ""
        return f"{'accepted' if self.accepted else 'refused'}{said}"

    def counts(self) -> dict[str, int]:
        """Return how many faults there are of each kind, those that were not kept counted too."""
        counts: dict[str, int] = {}
        for one in self.faults:
            counts[one.code] = counts.get(one.code, 0) + one.count
        return counts

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        text, number = pl.String, pl.Int64
        schema = {"code": text, "severity": text, "line": number, "topic": text, "doc": text}
        schema |= {"count": number, "message": text}
        rows = [asdict(one) for one in self.faults]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def heading(self) -> list[str]:
        """Return two lines: the outcome, and the name of the file."""
        return [self.outcome, f"file: {self.source}"]

    def __str__(self) -> str:
        lines = [one.text(self.source) for one in self.faults]
        return "\n".join([*lines, f"{plain(self.source)}: {self.outcome}"])


@dataclass(frozen=True)
class Code:
    """A kind of fault.

    Attributes
    ----------
    severity
        `error`, `warning` or `off`, where the rules say nothing.
    template
        The message; text in braces is shown quoted, or as it is after `:s`, whole numbers with
        commas.
    fixed
        Whether the rules cannot change the severity: a run with such a fault cannot be read.
    """

    severity: str
    template: str
    fixed: bool = False


def _unreadable(template: str = "{reason:s}") -> Code:
    return Code("error", template, fixed=True)


CODES: dict[str, Code] = {
    "columns": _unreadable("{what:s} where a {kind:s} line has {wanted} ({names:s})"),
    "encoding": _unreadable(),
    "archive": _unreadable(),
    "empty": _unreadable(),
    "unreadable": _unreadable(),
    "size": _unreadable("{what:s} has more than {limit} bytes"),
    "tag": Code("error", "tag {tag} is not {wanted:s}"),
    "tag-changes": Code("error", "tag {tag} where the run began with {first}"),
    "tag-declared": Code("error", "tag {tag} where {declared} was declared"),
    "tag-team": Code("error", "tag {tag} is the team's own id"),
    "tag-taken": Code("error", "tag {tag} is taken"),
    "topic-unknown": Code("error", "topic {topic} is not one of the task's {topics}"),
    "topic-missing": Code("error", "no documents for {topics:s}"),
    "too-many": Code("error", "topic {topic} has {documents:s}, and may have {most}"),
    "too-few": Code("off", "topic {topic} has {documents:s} of {most}"),
    "document-twice": _unreadable("document twice in one topic, first in line {first}"),
    "document-unknown": Code("error", "document {doc} is not in the collection"),
    "document-excluded": Code("error", "document {doc} is not to be retrieved for topic {topic}"),
    "second-column": Code("error", "second column {value} is not {wanted:s} ({lines:s})"),
    "rank": Code("error", "rank {rank} is not {wanted:s}"),
    "rank-order": Code(
        "warning", "the rank column contradicts the scores in {places:s}; scores decide"
    ),
    "score": _unreadable("score {score} is not a finite number"),
    "tied": Code(
        "warning",
        "{tied} of {documents:s} share their score with another of the topic;"
        " {decides:s} decide their order",
    ),
    "ranking-same": Code("warning", "the same ranking as {tag}"),
    "answers": Code("error", "{question} is {answer}; one of {choices:s}"),
    "closed": Code("error", "the task closed at {time:s}, {ago:s} ago"),
    "not-open": Code("error", "the task opens at {time:s}"),
    "limit": Code("error", "team {team} has {runs:s} of {limit}"),
    "metadata-header": _unreadable("ir_metadata: {reason:s}"),
    "metadata-yaml": Code("error", "ir_metadata: {reason:s}"),
    "metadata-missing": Code("error", "ir_metadata: {reason:s}"),
    "metadata-placeholder": Code("error", "ir_metadata: {reason:s}"),
    "metadata-type": Code("error", "ir_metadata: {reason:s}"),
    "metadata-tag": Code("error", "ir_metadata: {reason:s}"),
    "metadata-twice": Code("warning", "ir_metadata: {reason:s}"),
}
"""All kinds of faults of runs."""

OF_ALL = CODES | {"grade": _unreadable("grade {grade} is not a whole number")}
"""The same, and those that judgments alone have."""


def severity_of(code: str, task: TaskRules | None = None) -> str:
    """Return what becomes of a kind of fault: `error`, `warning` or `off`.

    Parameters
    ----------
    code
        One of :data:`CODES`.
    task
        The rules, which may say otherwise than the default.

    Examples
    --------
    >>> from cranfield.campaign.rules.task_rules import TaskRules
    >>> severity_of("too-few", TaskRules("adhoc", severities={"too-few": "warning"}))
    'warning'
    """
    known = OF_ALL[code]
    if known.fixed or task is None:
        return known.severity
    return task.severities.get(code, known.severity)


def fault(
    code: str,
    task: TaskRules | None = None,
    *,
    line: int | None = None,
    about: tuple[str | None, str | None] = (None, None),
    count: int = 1,
    **values: object,
) -> Fault:
    """Make a fault, its message by the template of its code.

    Parameters
    ----------
    code
        One of :data:`CODES`.
    task
        The rules, for the severity.
    line
        Line in the file, from 1.
    about
        The topic and the document concerned.
    count
        How many faults of the kind it stands for.
    **values
        What the template names.

    Examples
    --------
    >>> fault("tag-taken", tag="bm25\\x1b[31m").message
    "tag 'bm25\\\\x1b[31m' is taken"
    """
    known = OF_ALL[code]
    message = known.template.format(**{name: _Shown(value) for name, value in values.items()})
    topic, doc = about
    return Fault(code, severity_of(code, task), message, line, topic, doc, count)


class _Shown:
    """A value as messages show it, safe in a terminal whether it is quoted or not."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        if isinstance(self.value, int):
            return f"{self.value:,}"
        return plain(str(self.value)) if spec == "s" else quoted(self.value)
