"""Hints in the words of the command line: what Python is told to say, as options."""

from __future__ import annotations

import re
import shlex
from typing import Any

import click

_HINT = re.compile(
    r"""\w+\([^()]*\)"""  # A measure with its parameters, or a call of Python, stays as it is.
    r"""|\b(?P<name>[a-z_]+)=(?:(?P<text>'[^']*'|"[^"]*"|\.\.\.)|(?P<true>True)\b"""
    r"""|\{'(?P<key>\w+)':\ \.\.\.\})"""
    r"""|(?<=such\ as\ )(?P<of>[a-z_]+)=(?P<number>\d+)"""
)


def as_options(text: str, command: click.Command | None) -> str:
    """Write hints such as `encoding='latin-1'` as options, where the command has one for them.

    An option stands for the argument of its own name, unless it is declared `stands_for` another.
    What a command has no option for, its `kin` may have: another command, which is then named.

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
    options = _options(command)
    of_kin: dict[str, Any] | None = None

    def said(found: re.Match[str]) -> str:
        nonlocal of_kin
        argument = found["name"] or found["of"]
        option, before = options.get(argument), ""
        kin = getattr(command, "kin", "")
        if option is None and argument and kin:
            if of_kin is None:
                of_kin = _options(_called(kin))
            option, before = of_kin.get(argument), f"cranfield {kin} "
        if option is None:
            return found[0]
        name: str = before + max(option.opts, key=len)
        if option.is_flag:
            return name
        if found["key"]:
            return f"{name} {found['key']}=..."
        if found["true"]:
            return found[0]
        value = found["number"] or found["text"]
        return f"{name} {value if value[0] not in QUOTES else shlex.quote(value[1:-1])}"

    return _HINT.sub(said, text)


QUOTES = "'\""


def _options(command: click.Command) -> dict[str, Any]:
    """Return options by the arguments of Python that they stand for."""
    listed = [one for one in command.params if isinstance(one, click.Option)]
    # Of an argument that two may be, the one that is declared so.
    listed.sort(key=lambda one: bool(getattr(one, "stands_for", "")))
    return {getattr(one, "stands_for", "") or one.name or "": one for one in listed}


def _called(name: str) -> click.Command:
    """Load another command."""
    context = click.get_current_context().find_root()
    assert isinstance(context.command, click.Group)
    command = context.command.get_command(context, name)
    assert command is not None
    return command
