"""Findings, calls that must end well, and the choice of ids."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from cranfield.base.errors import CranfieldError

T = TypeVar("T")

MOST = 700
"""Characters of an error, which is one printable line."""


class FindingError(Exception):
    """A broken promise: what happened, with what reproduces it."""

    def __init__(self, what: str, reproducer: object, key: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.reproducer = reproducer
        self.key = key or what[:60]


class HangError(BaseException):
    """A case that took too long; no `except Exception` of the library may swallow it."""


def guarded(call: Callable[[], T], reproducer: object) -> T | CranfieldError:
    """Return the result or the library's own error; anything else is a failure."""
    try:
        return call()
    except CranfieldError as error:
        line = str(error)
        if len(line) > MOST or not line.isprintable():
            raise FindingError(ascii(line)[:300], reproducer, "no short printable line") from None
        return error
    except (HangError, KeyboardInterrupt):
        raise
    # Rust panics arrive as a BaseException.
    except BaseException as error:
        place = where(error)
        text = f"{type(error).__name__} at {place}: {str(error)[:200]!r}"
        raise FindingError(text, reproducer, f"{type(error).__name__} at {place}") from None


def where(error: BaseException) -> str:
    """Name the innermost line of the library that the error passed through."""
    own = passed(error)
    if not own:
        return "outside the library"
    return f"{own[-1].filename.rpartition('/cranfield/')[2]}:{own[-1].lineno}"


def passed(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the lines of the library that an error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if "/cranfield/" in frame.filename.replace("\\", "/")]


ODD_IDS = (
    *("007", "1e5", "1.0", "-3", "+3", "nan", "inf", "0x10", "1_000", "null", "None", "true", "-"),
    *("é", "文書", "𝒳", "e\u0301", "\u202eabc", "a\u00a0b", "a\u2028b", "a\x85b", "\ufeffx"),
    *("\ufeff",),
    *("\x00", "a\x00b", "\x01", "\x1c", "a\x1fb", "\x7f", "\x1a", "\x1b[31mred"),
    *("\udbff"[:0] + "ß",),
    *("a#b", '"', '""', '"a', 'a"', "'", ",", "a,b", ";", "\\", "\\n", "[/x]", "[b]x", "{}", "%s"),
    *("BZh", "BZh9", "PAR1", "Q0", "$x", "=1+1", "../x", "<b>"),
)


def some_id(rng: random.Random, prefix: str, number: int) -> str:
    """Make an id; ids with different numbers may still be equal, which is for the oracle to say."""
    draw = rng.random()
    if draw < 0.75:
        return f"{prefix}{number}"
    if draw < 0.98:
        return rng.choice(ODD_IDS)
    return chr(rng.randrange(0x21, 0x7F)) * rng.choice((100, 5000))


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def pick(rng: random.Random, **weights: float) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def shown(value: Any, limit: int = 300) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
