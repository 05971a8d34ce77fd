"""The command line, run in this process: starting Python for each command takes longer."""

from __future__ import annotations

import contextlib
import io
import shlex
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import click
import pytest

from cranfield.cli.main import app, run


def commands(
    command: click.Command = app, context: click.Context | None = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield all commands by their words, such as `study tests`, with their contexts."""
    context = context or click.Context(app, info_name="cranfield")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None
            yield from commands(one, click.Context(one, info_name=name, parent=context))
    else:
        yield context.command_path.partition(" ")[2], command, context


def cranfield(
    folder: Path, *arguments: str, stdin: bytes = b"", status: int = 0
) -> tuple[str, str]:
    """Run a command that ends with a status; return what it prints on both streams.

    Options that are settings of the command are given in a file of settings.
    """
    ended, out, err = ended_with(folder, *in_settings(folder, arguments), stdin=stdin)
    assert ended == status, err
    return out, err


def ended_with(folder: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run a command in a folder; return its status and what it prints on both streams."""
    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.TextIOWrapper(out, "utf-8", write_through=True)) as stdout,
        contextlib.redirect_stderr(io.TextIOWrapper(err, "utf-8", write_through=True)) as stderr,
        warnings.catch_warnings(),
        mock.patch("sys.argv", ["cranfield", *arguments]),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
    ):
        status = run()
        stdout.flush()
        stderr.flush()
    return status, out.getvalue().decode(), err.getvalue().decode()


SETTINGS = "settings.yml"


def in_settings(folder: Path, words: Sequence[str]) -> list[str]:
    """Move options that are settings of the command into a file, which is given in their place."""
    command: click.Command | None = app
    rest = [*words]
    while isinstance(command, click.Group) and rest:
        command = command.get_command(click.Context(command), rest.pop(0))
    there = command.params if command is not None else []
    known = {name: one for one in there if getattr(one, "is_setting", False) for name in one.opts}
    left, lines = [*words[: len(words) - len(rest)]], dict[str, list[str]]()
    while rest:
        word = rest.pop(0)
        one = known.get(word.replace("--no-", "--"))
        if one is None:
            left.append(word)
        elif getattr(one, "is_flag", False):
            lines[max(one.opts, key=len)[2:]] = ["false" if "--no-" in word else "true"]
        else:
            lines.setdefault(max(one.opts, key=len)[2:], []).append(f'"{rest.pop(0)}"')
    if not lines:
        return left
    text = "".join(f"{key}: [{', '.join(values)}]\n" for key, values in lines.items())
    (folder / SETTINGS).write_text(text, encoding="utf-8")
    return [*left, "--settings", SETTINGS]


def refused(folder: Path, *words: str, reason: str) -> None:
    """Check that a command is refused in one line with a reason, and that it writes nothing."""
    before = {*folder.rglob("*"), folder / SETTINGS}
    out, err = cranfield(folder, *words, status=2)
    assert out == ""
    assert err.startswith("cranfield: error: ") and err.count("\n") == 1
    assert reason in err
    # A campaign keeps the scores that it computed.
    assert {path for path in folder.rglob("*") if "scores" not in path.parts} <= before


def refusals(table: str) -> pytest.MarkDecorator:
    """Parametrise a test by lines of words of a command and of the reason: `words | reason`."""
    lines = [line.rsplit(" | ", 1) for line in table.strip("\n").splitlines()]
    cases = [(shlex.split(words), reason) for words, reason in lines]
    return pytest.mark.parametrize(("words", "reason"), cases, ids=[words for words, _ in lines])
