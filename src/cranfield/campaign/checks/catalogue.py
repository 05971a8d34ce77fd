"""Every kind of fault: its code, its severity, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cranfield.base.errors import quoted
from cranfield.base.escape import plain
from cranfield.campaign.checks.report import Fault

if TYPE_CHECKING:
    from cranfield.campaign.rules.task_rules import TaskRules


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
