"""What the values of campaign.toml may be: each kind checks one, and says what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.campaign.rules.patterns import checked_pattern
from cranfield.campaign.rules.tags import safe_name
from cranfield.campaign.rules.times import instant

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


def pattern(value: Any) -> str:
    """A regular expression for the whole of a tag or an id."""
    try:
        return checked_pattern(text(value))
    except ValueError as error:
        raise WrongValueError(str(error)) from None


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
            try:
                made[named(key)] = kind(one)
            except WrongValueError as error:
                raise WrongValueError(error.reason, key, *error.path) from None
        return made

    return check
