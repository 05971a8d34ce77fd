"""Build hook of the site: the options of each command, from its declarations.

A line `<!-- options: evaluate -->` of a page becomes a table that opens on a click.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import click

from cranfield.cli.main import app
from cranfield.cli.options.declaring import Command, Option

MARK = re.compile(r"(?m)^<!-- options: ([a-z ]+) -->$")
"""Where the options of a command are to be inserted."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the options of commands."""
    return MARK.sub(lambda match: "\n".join(section(match[1])), markdown)


def section(name: str) -> Iterator[str]:
    """Yield the options of a command by group, inside an element that opens on a click."""
    context, command = find_command(name)
    groups: dict[str, list[Option]] = {}
    for option in sorted(
        command.list_options(context, show_all=True), key=lambda option: option.is_setting
    ):
        group = "Settings" if option.is_setting else option.group or "Options"
        groups.setdefault(group, []).append(option)
    yield '<details markdown="1">'
    yield f"<summary>All options of <code>cranfield {name}</code></summary>"
    for group, options in groups.items():
        yield from ("", f"| {group} | meaning |", "| --- | --- |")
        yield from (row(option, context) for option in options)
    yield from ("", "</details>", "")


def find_command(name: str) -> tuple[click.Context, Command]:
    """Return a command with the context that its help needs."""
    command: click.Command = app
    context = click.Context(app, info_name="cranfield")
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None, f"unknown command {name!r}"
        command = found
        context = click.Context(command, info_name=word, parent=context)
    assert isinstance(command, Command)
    context.meta["cranfield.help-all"] = True
    return context, command


def row(option: Option, context: click.Context) -> str:
    """Write a row: the names of an option, its help and its values."""
    record = option.get_help_record(context)
    assert record is not None
    names = (
        [max(option.opts, key=len).removeprefix("--")]
        if option.is_setting
        else [*option.opts, *option.secondary_opts]
    )
    names = sorted(names, key=len)
    text = escaped(record[1].replace("\n", " "))
    values = record[0].partition(" ")[2] if option.is_setting else option.make_metavar(context)
    if values.startswith("[") and not option.is_flag:
        choices = values.strip("[]").split("|")
        text += " Values: " + ", ".join(f"`{choice}`" for choice in choices) + "."
    return f"| {', '.join(f'`{name}`' for name in names)} | {text} |"


def escaped(text: str) -> str:
    """Escape the characters of help texts that have a meaning in Markdown."""
    return re.sub(r"([\\`*_{}\[\]|#])", r"\\\1", html.escape(text, quote=False))
