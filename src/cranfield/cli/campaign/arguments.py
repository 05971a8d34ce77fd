"""What commands of campaigns have in common: the folder, the task, the judgments, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from cranfield.cli.options.declaring import READ, WRITTEN, option
from cranfield.cli.options.output import output_option, with_options, write

if TYPE_CHECKING:
    import polars as pl

    from cranfield.campaign.opened import Opened

folder_argument = click.argument("folder", type=READ)
"""The campaign's folder, which all commands name first."""

task_option = option(
    "--task", metavar="NAME", help="The task; where there is only one, it needs no name."
)
judgments_option = option(
    "--judgments", metavar="VERSION", help="Version of the judgments; by default the newest."
)


def form_option(forms: Iterable[str], default: str = "text") -> Callable[[Any], Any]:
    """Make the option of the format that a command writes."""
    return option(
        "--format",
        "form",
        type=click.Choice(list(forms)),
        default=default,
        show_default=True,
        help="How to write it.",
    )


def output_folder(help: str) -> Callable[[Any], Any]:
    """Make the option of the folder that a command writes, which it needs."""
    return option("--output", required=True, metavar="FOLDER", help=help, type=WRITTEN)


def status_of(opened: Opened) -> int:
    """Return the exit status of a command that reads runs: 1 if one could not be read."""
    return int(bool(opened.unreadable))


listing_options = with_options((form_option(("text", "csv", "json")), output_option))
"""The options of commands that list teams or judgments."""


def write_listing(frame: pl.DataFrame, text: str, form: str, output: str | None) -> None:
    """Write a list as its text, or its table as CSV or JSON."""
    if form == "csv":
        text = frame.write_csv()
    elif form == "json":
        text = frame.write_json() + "\n"
    write(text, output)
