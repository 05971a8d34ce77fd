"""The keys of campaign.toml, with the values that each may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.base.text import did_you_mean
from cranfield.campaign.checks.report import CODES, UNREADABLE
from cranfield.campaign.rules.task_rules import (
    MetadataRules,
    PoolRules,
    Question,
    instant,
    safe_name,
)

Kind = Callable[[Any], Any]

SEVERITIES = ("error", "warning", "off")


MOST = 10**15
"""The largest whole number."""


class WrongValueError(Exception):
    """A value that a key may not have; the path leads from the key down to it."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


@contextmanager
def below(*path: str) -> Iterator[None]:
    """Put the keys above in front of the path of a wrong value."""
    try:
        yield
    except WrongValueError as error:
        raise WrongValueError(error.reason, *path, *error.path) from None


def _wanted(what: str, value: Any) -> WrongValueError:
    return WrongValueError(f"is {said(value)} where {what} is wanted")


def said(value: Any) -> str:
    """Name a value of TOML, as a message may show it."""
    names: dict[type, str] = {dict: "a table", list: "a list"}
    if isinstance(value, bool):
        return str(value).lower()
    return names.get(type(value)) or quoted(value)


def text(value: Any) -> str:
    """Any text, of several lines too."""
    if not isinstance(value, str):
        raise _wanted("text", value)
    return value


def line(value: Any) -> str:
    """Text of one line that says something."""
    if not text(value).strip() or not value.isprintable():
        raise WrongValueError(f"is {quoted(value)} where one line of text is wanted")
    return str(value)


def name(value: Any) -> str:
    """Text that can be the name of a file everywhere."""
    if not safe_name(text(value)):
        raise WrongValueError(
            f"{quoted(value)} is no safe name: letters, digits and _ . + = @ , ~ -, the first a"
            " letter, a digit or _"
        )
    return str(value)


def file(value: Any) -> PurePosixPath:
    """A file in the folder of the rules, or in a folder below it."""
    given = text(value)
    path = PurePosixPath(given)
    parts = path.parts
    if path.is_absolute() or ".." in parts or re.search(r"[\\:\0]", given):
        raise WrongValueError(
            f"{quoted(value)} leads out of the folder of the rules; what they name stands in it,"
            " so that the folder is whole"
        )
    if not parts or not given.isprintable():
        raise WrongValueError(f"{quoted(value)} is no name of a file")
    return path


def topics(value: Any) -> PurePosixPath | str:
    """A file, or topics of ir_datasets."""
    return value if text(value).startswith("irds:") else file(value)


def truth(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise _wanted("true or false", value)
    return value


def whole(value: Any) -> int:
    """Whole numbers from 1; what is more than anything can count is a mistake."""
    if type(value) is not int or not 1 <= value <= MOST:
        raise _wanted("a whole number from 1", value)
    return value


def share(value: Any) -> float:
    """A number from 0 to 1."""
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise _wanted("a number from 0 to 1", value)
    return float(value)


def one_of(*choices: str) -> Kind:
    """One of some words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise WrongValueError(f"is {said(value)}; one of {', '.join(choices)}")
        return value

    return check


def severity(value: Any) -> str:
    """What becomes of a kind of fault; `allow` reads better where something is missing."""
    given = one_of(*SEVERITIES, "allow")(value)
    return "off" if given == "allow" else str(given)


def time(value: Any) -> datetime:
    """An instant, with its offset from UTC."""
    if not isinstance(value, (str, date)):
        raise _wanted("a time", value)
    try:
        return instant(value)
    except InputError as error:
        raise WrongValueError(error.reason) from None


def list_of(kind: Kind, least: int = 0) -> Kind:
    """A list in which nothing is twice; it comes out as a tuple."""

    def check(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) < least:
            raise _wanted("a list" if least == 0 else "a list that is not empty", value)
        made = []
        for one in value:
            made.append(kind(one))
            if made[-1] in made[:-1]:
                raise WrongValueError(f"has {said(one)} twice")
        return tuple(made)

    return check


def one_or_more(kind: Kind) -> Kind:
    """A list, or one value without brackets."""
    many = list_of(kind)
    return lambda value: many(value if isinstance(value, list) else [value])


def table(value: Any) -> Mapping[str, Any]:
    """A table of anything."""
    if not isinstance(value, dict):
        raise _wanted("a table", value)
    return value


def table_of(kind: Kind, named: Kind = line) -> Kind:
    """A table whose names are free."""

    def check(value: Any) -> dict[str, Any]:
        made = {}
        for key, one in table(value).items():
            with below(key):
                made[named(key)] = kind(one)
        return made

    return check


@dataclass(frozen=True)
class Key:
    """One key: its kind of value, and where it goes.

    Attributes
    ----------
    field
        The field, where it has another name than the key.
    code
        The kind of fault whose severity it is; it goes to `severities`.
    private
        Whether participants do not get it.
    """

    kind: Kind
    field: str = ""
    code: str = ""
    private: bool = False


Keys = Mapping[str, Key]

POOL: Keys = {
    "depth": Key(whole),
    "priorities": Key(list_of(whole)),
}
METADATA: Keys = {
    "required": Key(list_of(line)),
    "placeholders": Key(list_of(line)),
}
QUESTION: Keys = {
    "ask": Key(line),
    "choices": Key(list_of(line)),
    "required": Key(truth),
}
JUDGING: Keys = {
    "compat": Key(line),
    "ties": Key(line),
    "topics": Key(line),
    "unjudged": Key(line),
    "negative": Key(line),
    "depth": Key(whole),
}
DOCUMENTS: Keys = {"pattern": Key(text)}


def _made(keys: Keys, make: type) -> Kind:
    return lambda value: make(**fields_of(keys, value))


def _questions(value: Any) -> dict[str, Question]:
    asked = table_of(lambda one: fields_of(QUESTION, one), name)(value)
    for key, fields in asked.items():
        if "ask" not in fields:
            raise WrongValueError("has no ask", key)
    return {key: Question(name=key, **fields) for key, fields in asked.items()}


def _documents(value: Any) -> Any:
    if not isinstance(value, dict):
        return file(value)
    fields = fields_of(DOCUMENTS, value)
    if not fields:
        raise WrongValueError("has no pattern")
    return fields


def _code(value: Any) -> str:
    code = text(value)
    if code not in CODES:
        raise WrongValueError(unknown(code, CODES).replace("key", "kind of fault"))
    if code in UNREADABLE:
        raise WrongValueError("is always an error: a run with it cannot be read")
    return code


TASK: Keys = {
    "title": Key(line),
    "topics": Key(topics),
    "documents": Key(_documents),
    "exclude": Key(file),
    "tag": Key(text),
    "format": Key(one_of("trec", "ntcir")),
    "max_per_topic": Key(whole),
    "missing_topics": Key(severity, code="topic-missing"),
    "unknown_topics": Key(severity, code="topic-unknown"),
    "fewer_than_max": Key(severity, code="too-few"),
    "second_column": Key(one_or_more(line)),
    "rank": Key(one_of("integer", "order", "off")),
    "tied": Key(share),
    "severities": Key(table_of(severity, _code)),
    "max_bytes": Key(whole, field="most_bytes"),
    "max_unpacked_bytes": Key(whole, field="most_unpacked"),
    "opens": Key(time),
    "closes": Key(time),
    "late": Key(one_of("mark", "refuse")),
    "runs_per_team": Key(whole),
    "runs_per_day": Key(whole),
    "types": Key(list_of(line)),
    "priorities": Key(whole),
    "pool": Key(_made(POOL, PoolRules)),
    "measures": Key(list_of(line, least=1)),
    "judging": Key(lambda value: fields_of(JUDGING, value)),
    "categories": Key(list_of(line)),
    "min_category": Key(whole),
    "median": Key(one_of("better", "average")),
    "feedback": Key(one_of("none", "means", "sheets")),
    "metadata": Key(_made(METADATA, MetadataRules)),
    "questions": Key(_questions),
}
"""Of a task: `[tasks.NAME]`."""

CAMPAIGN: Keys = {
    "id": Key(name),
    "title": Key(line),
    "description": Key(text),
    "consent": Key(text),
    "keep_refused": Key(truth, private=True),
}
"""Of the campaign: `[campaign]`."""

FILES = ("topics", "documents", "exclude")
"""The fields of a task that name files."""


def fields_of(keys: Keys, value: Any) -> dict[str, Any]:
    """Check a table key by key; what comes out are the fields of what it stands for."""
    fields: dict[str, Any] = {}
    severities: dict[str, str] = {}
    for name, given in table(value).items():
        key = keys.get(name)
        if key is None:
            raise WrongValueError(unknown(name, keys), name)
        with below(name):
            made = key.kind(given)
        if key.code:
            severities[key.code] = made
        elif name == "documents" and isinstance(made, dict):
            fields["document_pattern"] = made["pattern"]
        else:
            fields[key.field or name] = made
    for code in severities:
        if code in fields.get("severities", ()):
            raise WrongValueError("has a key of its own, which says it too", "severities", code)
    if severities:
        fields["severities"] = severities | fields.get("severities", {})
    return fields


def unknown(name: str, known: Mapping[str, Any]) -> str:
    """Say that there is no such name, and which was meant."""
    meant = did_you_mean(name, known, 1, otherwise=f"there are {', '.join(known)}")
    return f"there is no key {quoted(name)}{meant}"
