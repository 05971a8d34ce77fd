"""The format of a file that is written: the one that is asked for, or else that of its suffix."""

from __future__ import annotations

from pathlib import PurePath

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.options.conditions import on_command_line

BY_SUFFIX = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".tex": "latex",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".bib": "bibtex",
}
"""Formats that suffixes say, in any command that writes them."""

PACKED = (".gz", ".bz2", ".xz", ".zst")


def choose_format(ctx: click.Context) -> None:
    """Let the suffix of an output that is `formatted` say its format, if `--format` does not."""
    options = {name: one for one in ctx.command.params for name in one.opts}
    form, output = options.get("--format"), options.get("--output")
    if form is None or not getattr(output, "formatted", False) or output is None:
        return
    path = ctx.params[output.name or ""]
    said = "" if path is None else _said_by(path)
    if not said or on_command_line(form.name or "", ctx):
        return
    assert isinstance(form.type, click.Choice)
    if said not in form.type.choices:
        raise PolicyError(
            f"--output {quoted(path)} is {said} by its suffix, which is not written here; --format"
            f" names one of {', '.join(form.type.choices)}"
        )
    ctx.params[form.name or ""] = said


def _said_by(path: str) -> str:
    name = PurePath(path)
    if name.suffix.lower() in PACKED:
        name = name.with_suffix("")
    return BY_SUFFIX.get(name.suffix.lower(), "")
