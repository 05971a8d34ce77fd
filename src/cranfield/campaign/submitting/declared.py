"""What a team says of a run that it hands in, and what the rules say to that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError, quoted
from cranfield.campaign.checks.catalogue import severity_of
from cranfield.campaign.checks.report import Fault
from cranfield.campaign.rules.task_rules import Question, TaskRules

LONGEST = 10_000
"""Characters of a description or an answer."""

LAST = 1_000_000
"""The highest priority, where the rules say none."""


@dataclass(frozen=True)
class Declared:
    """What a team says of a run; `received` is now where it is not given."""

    team: str
    tag: str | None = None
    type: str = ""
    priority: int | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    received: datetime | None = None
    replaces: str | None = None

    def __post_init__(self) -> None:
        if self.priority is not None:
            check_whole("priority", self.priority, 1, LAST)
        texts = {**self.answers, "type": self.type, "description": self.description}
        for name, text in texts.items():
            if len(text) > LONGEST:
                raise PolicyError(f"{quoted(name)} is no text of at most {LONGEST:,} characters")
        if self.received is not None and self.received.tzinfo is None:
            raise PolicyError(f"received {quoted(self.received)} has no offset from UTC")


def declared_faults(task: TaskRules, declared: Declared) -> tuple[Fault, ...]:
    """Find what the rules do not allow of what is said of a run: all of it, in one go."""
    wrong = [
        *_type(task, declared.type),
        *_priority(task, declared.priority),
        *_answers(task, declared.answers),
        *_text("description", declared.description),
    ]
    return tuple(Fault("answers", severity_of("answers", task), one) for one in wrong)


def said_by(name: str, given: str) -> str:
    """Return a text that people are to read; refuse one that is empty, or not for people."""
    if not given.strip():
        raise PolicyError(f"{name} is missing")
    for wrong in _text(name, given):
        raise PolicyError(wrong)
    return given


def _type(task: TaskRules, given: str) -> Iterator[str]:
    if task.types and given not in task.types:
        said = f"is {quoted(given)}" if given else "is missing"
        yield f"'type' {said}; one of {', '.join(task.types)}"
    elif given and not task.types:
        yield f"'type' is {quoted(given)}, and the task has no types"


def _priority(task: TaskRules, given: int | None) -> Iterator[str]:
    if given is None:
        if task.priorities is not None:
            yield f"'priority' is missing; a whole number from 1 to {task.priorities}"
    elif task.priorities is not None and given > task.priorities:
        yield f"'priority' is {given}; a whole number from 1 to {task.priorities}"


def _answers(task: TaskRules, answers: Mapping[str, str]) -> Iterator[str]:
    for name in answers:
        if name not in task.questions:
            known = ", ".join(task.questions) or "it asks nothing"
            yield f"{quoted(name)} is no question of the task; {known}"
    for name, question in task.questions.items():
        yield from _answer(question, answers.get(name, ""))


def _answer(question: Question, given: str) -> Iterator[str]:
    choices = f"; one of {', '.join(question.choices)}" if question.choices else ""
    if not given.strip():
        if question.required:
            yield f"{quoted(question.name)} is missing: {question.ask}{choices}"
    elif question.choices and given not in question.choices:
        yield f"{quoted(question.name)} is {quoted(given)}{choices}"
    else:
        yield from _text(question.name, given)


def _text(name: str, given: str) -> Iterator[str]:
    """Texts are for people: line breaks and tabs may be in them, other control characters not."""
    if not given.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        yield f"{quoted(name)} is {quoted(given)}: it holds what cannot be printed"
