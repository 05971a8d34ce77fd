"""`cranfield campaign sheets`, `overview`, `packet`: what is told of runs, to whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.cli.campaign.arguments import (
    folder_argument,
    judgments_option,
    output_folder,
    status_of,
    task_option,
)
from cranfield.cli.options.declaring import WRITTEN, command, option
from cranfield.cli.options.judging import one_of

if TYPE_CHECKING:
    from cranfield.campaign import Campaign

SHEETS = """\b
Examples:
  cranfield campaign sheets news -o sheets/
  cranfield campaign sheets news --task adhoc --others hidden -o sheets/
"""

PACKETS = """\b
Examples:
  cranfield campaign packet news --team padua -o padua.zip
  cranfield campaign packet news --all -o packets/
"""


@command(epilog=SHEETS)
@folder_argument
@task_option
@judgments_option
@option(
    "--measure",
    metavar="MEASURE",
    help="Of charts and topics; by default the first of the task.",
)
@one_of(
    "--others",
    ("named", "hidden"),
    "Whether runs that are not separated from a sheet's own are named on it.",
    "named",
)
@output_folder("Where to write.")
def sheets(folder: str, task: str | None, output: str, **options: Any) -> int:
    """Write a sheet for each accepted run, as TREC's.

    Each is HTML, text and JSON. They are for organisers and for publication; `packet` makes what
    one team may have before.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    return _written(opened, opened.sheets(task, output, **options), output)


@command()
@folder_argument
@task_option
@judgments_option
@option(
    "--charts",
    "forms",
    multiple=True,
    type=click.Choice(["html", "svg", "pdf", "png"]),
    default=("svg",),
    show_default="svg",
    help="Files of charts; may be given several times.",
)
@output_folder("Where to write.")
def overview(folder: str, task: str | None, output: str, **options: Any) -> int:
    """Write the overview of a task: board, topics, charts, report."""
    from cranfield import campaign

    opened = campaign.open(folder)
    return _written(opened, opened.overview(task, output, **options), output)


@command(epilog=PACKETS)
@folder_argument
@option("--team", metavar="ID", help="The team that it is for.")
@option("--all", "every", is_flag=True, help="One for each team with accepted runs.")
@option("--task", metavar="NAME", help="By default all tasks that the team has runs in.")
@judgments_option
@option(
    "--output",
    required=True,
    metavar="PATH",
    help="An archive, NAME.zip, or a folder; with --all a folder of archives.",
    type=WRITTEN,
)
def packet(folder: str, team: str | None, every: bool, output: str, **options: Any) -> int:
    """Write what one team gets before the release.

    Its sheets, the statistics of categories, and nothing of others.
    """
    from cranfield import campaign

    if every == (team is not None):
        raise PolicyError("name a team with --team, or take --all")
    opened = campaign.open(folder)
    if team is not None:
        opened.packet(team, output, **options)
        click.echo(output)
        return status_of(opened)
    return _written(opened, opened.packets(output, **options), output)


def _written(opened: Campaign, made: Sequence[Path], folder: str) -> int:
    click.echo(f"{counted(len(made), 'file')} in {folder}")
    return status_of(opened)
