"""Hints in the words of the command line: what Python is told to say, as options."""

from __future__ import annotations

import re
import shlex
from typing import Any

import click

_HINT = re.compile(
    r"""\w+\([^()]*\)"""  # A measure with its parameters, or a call of Python, stays as it is.
    r"""|\b(?P<name>[a-z_]+)=(?:(?P<text>'[^']*'|"[^"]*")|(?P<true>True)\b"""
    r"""|\{'(?P<key>\w+)':\ \.\.\.\})"""
)


def as_options(text: str, command: click.Command | None) -> str:
    """Write hints such as `encoding='latin-1'` as options, where the command has one for them.

    An option stands for the argument of its own name, unless it is declared `stands_for` another.

    Examples
    --------
    >>> from cranfield.cli.runs.fuse import fuse
    >>> as_options("'é' is not UTF-8; encoding='latin-1' reads any bytes", fuse)
    "'é' is not UTF-8; --encoding latin-1 reads any bytes"
    >>> as_options("RRF(k=True) has no cut='x'", fuse)
    "RRF(k=True) has no cut='x'"
    """
    if command is None:
        return text
    options: dict[str, click.Parameter] = {}
    for one in command.params:
        if isinstance(one, click.Option):
            name = getattr(one, "stands_for", "") or one.name or ""
            options[name] = one

    def said(found: re.Match[str]) -> str:
        option: Any = options.get(found["name"] or "")
        if option is None:
            return found[0]
        name: str = max(option.opts, key=len)
        if option.is_flag:
            return name
        if found["key"]:
            return f"{name} {found['key']}=..."
        return found[0] if found["true"] else f"{name} {shlex.quote(found['text'][1:-1])}"

    return _HINT.sub(said, text)
