"""What the kinds of hostile input share: cases, outcomes, failures and the choice of ids."""

from __future__ import annotations

import random
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from cranfield.base.errors import CranfieldError

T = TypeVar("T")
LIMIT = 20.0
"""Seconds after which a case counts as hanging; all take milliseconds."""


class FailedCaseError(Exception):
    """A broken promise: what happened, with what reproduces it."""

    def __init__(self, what: str, reproducer: object, key: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.reproducer = reproducer
        self.key = key or what[:60]


class Hang(BaseException):
    """A case that took too long; no `except Exception` of the library may swallow it."""


Case = Callable[[random.Random, Path], bool]
"""Makes one input and checks it: True when accepted, False when refused; else a FailedCaseError."""


@dataclass
class Tally:
    """What became of the cases of one kind."""

    accepted: int = 0
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0
    failures: dict[str, tuple[int, int, FailedCaseError]] = field(default_factory=dict)
    """By key: how often, the first case, and the failure with the shortest reproducer."""

    def add(self, number: int, failure: FailedCaseError) -> None:
        self.failed += 1
        count, first, kept = self.failures.get(failure.key, (0, number, failure))
        if len(repr(failure.reproducer)) < len(repr(kept.reproducer)):
            first, kept = number, failure
        self.failures[failure.key] = (count + 1, first, kept)


def _too_long(number: int, frame: FrameType | None) -> NoReturn:
    raise Hang


@contextmanager
def time_limit(seconds: float = LIMIT) -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def run_case(case: Case, seed: str, folder: Path, tally: Tally, number: int) -> None:
    try:
        with time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case(random.Random(seed), folder):
                tally.accepted += 1
            else:
                tally.refused += 1
    except FailedCaseError as failure:
        tally.add(number, failure)
    except Hang:
        tally.add(number, FailedCaseError(f"no end after {LIMIT:g} s", f"case {seed}", "hang"))


def guarded(call: Callable[[], T], reproducer: object) -> T | CranfieldError:
    """Return the result or the library's own error; anything else is a failure."""
    try:
        return call()
    except CranfieldError as error:
        return error
    except (Hang, KeyboardInterrupt):
        raise
    # Rust panics arrive as a BaseException.
    except BaseException as error:
        place = where(error)
        text = f"{type(error).__name__} at {place}: {str(error)[:200]!r}"
        raise FailedCaseError(text, reproducer, f"{type(error).__name__} at {place}") from None


def where(error: BaseException) -> str:
    """Name the innermost line of the library that the error passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/cranfield/" in frame.filename.replace("\\", "/")]
    if not own:
        return "outside the library"
    return f"{own[-1].filename.rpartition('/cranfield/')[2]}:{own[-1].lineno}"


ODD_IDS = (
    *("007", "1e5", "1.0", "-3", "+3", "nan", "inf", "0x10", "1_000", "null", "None", "true", "-"),
    *(
        "é",
        "文書",
        "𝒳",
        "e\u0301",
        "\u202eabc",
        "a\u00a0b",
        "a\u2028b",
        "a\x85b",
        "\ufeffx",
        "\ufeff",
    ),
    *(
        "\x00",
        "a\x00b",
        "\x01",
        "\x1c",
        "a\x1fb",
        "\x7f",
        "\x1a",
        "\x1b[31mred",
        "\udbff"[:0] + "ß",
    ),
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


def pick(rng: random.Random, **weights: float) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def shown(value: Any, limit: int = 300) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
