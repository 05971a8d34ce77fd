"""What goes wrong, said in one line that names the place and the reason."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, TypeVar

from cranfield.base.escape import one_line, plain


class CranfieldError(Exception):
    """Base of every error that cranfield raises on purpose: one short printable line.

    Examples
    --------
    >>> print(CranfieldError("no column 'a\x1b[31m'"))
    no column 'a\\x1b[31m'
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(one_line(str(text)))


class InputError(CranfieldError):
    """Input that cannot be read as runs or judgments.

    Parameters
    ----------
    reason
        What is wrong, without a trailing full stop.
    source
        Name of the file or object that was read.
    line
        Line in that file, from 1.
    topic, doc
        Topic and document concerned, where they are known.

    Examples
    --------
    >>> print(InputError("score 'x' is not a number", source="a.run", line=3, topic="401"))
    a.run:3: score 'x' is not a number (topic '401')
    """

    def __init__(
        self,
        reason: str,
        *,
        source: str | None = None,
        line: int | None = None,
        topic: str | None = None,
        doc: str | None = None,
    ) -> None:
        self.reason = reason
        self.source = source
        self.line = line
        self.topic = topic
        self.doc = doc
        where = ":".join(str(part) for part in (source, line) if part is not None)
        about = [
            f"{name} {quoted(value)}"
            for name, value in (("topic", topic), ("document", doc))
            if value is not None
        ]
        text = f"{where}: {reason}" if where else reason
        super().__init__(f"{text} ({', '.join(about)})" if about else text)


Kind = TypeVar("Kind", bound=InputError)


def told_again(error: InputError, kind: type[Kind], source: str | None = None) -> Kind:
    """Make an error of another kind of one of input, or say that it is of another source."""
    source = error.source if source is None else source
    return kind(error.reason, source=source, line=error.line, topic=error.topic, doc=error.doc)


class MeasureError(CranfieldError, ValueError):
    """A measure's name, parameter or cutoff that does not exist or does not fit."""


class PolicyError(CranfieldError, ValueError):
    """A policy or option with an unknown name or an impossible value."""


class ArgumentError(PolicyError, TypeError):
    """An argument of a wrong type, one that does not exist, or one that is missing."""


class ForkError(CranfieldError, RuntimeError):
    """A process was forked while threads were at work, and nothing can be done in it."""


class MissingDependencyError(CranfieldError, ImportError):
    """An optional package is needed for what was asked."""


class CranfieldWarning(UserWarning):
    """Input that can be read, but that its owner should look at; said in one printable line."""

    def __init__(self, text: object = "") -> None:
        super().__init__(one_line(str(text)))


_KEPT: ContextVar[list[str] | None] = ContextVar("kept", default=None)


def warn(text: str, stacklevel: int = 1) -> None:
    """Warn of input, or keep that for who asked: see :func:`kept_warnings`."""
    kept = _KEPT.get()
    if kept is None:
        warnings.warn(CranfieldWarning(text), stacklevel=stacklevel + 1)
    else:
        kept.append(one_line(text))


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Keep what this thread warns of, and no other one does, so that it can be said in order."""
    kept: list[str] = []
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def quoted(value: object, limit: int = 60) -> str:
    """Show text from a file in one safe, short piece: control characters escaped, cut at `limit`.

    Examples
    --------
    >>> quoted("a\\x1b[31mb")
    "'a\\\\x1b[31mb'"
    """
    # A text that shows itself in another way is that text.
    text = str.__str__(value) if isinstance(value, str) else str(value)
    # repr leaves printable but direction-changing characters alone.
    return plain(repr(text if len(text) <= limit else text[:limit] + "…"))


def optional_module(name: str, package: str = "", install: str = "", user: str = "this") -> Any:
    """Import a module of an optional package, or say who needs it and how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = package or name
        install = install or f"'cranfield[{package}]'"
        raise MissingDependencyError(
            f"{user} needs the package {package}: pip install {install}"
        ) from error


# Users meet these names as `cranfield.InputError`: tracebacks say so too, wherever the file stands.
for _public in (
    *(CranfieldError, InputError, MeasureError, PolicyError, ArgumentError),
    *(ForkError, MissingDependencyError, CranfieldWarning),
):
    _public.__module__ = "cranfield"
