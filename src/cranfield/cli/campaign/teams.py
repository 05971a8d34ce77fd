"""`cranfield campaign team add|change|list FOLDER`: who hands in runs."""

from __future__ import annotations

from typing import Any

import click

from cranfield.base.escape import plain
from cranfield.cli.campaign.arguments import folder_argument, listing_options, write_listing
from cranfield.cli.options.command_group import CommandGroup
from cranfield.cli.options.declaring import option
from cranfield.cli.options.output import with_options

EPILOG = """\b
Examples:
  cranfield campaign team add news padua --name "University of Padua" --contact ir@example.org
  cranfield campaign team change news padua --anonymous-until 2027-01-31
  cranfield campaign team list news --contacts
"""

_ABOUT = (
    option("--name", metavar="TEXT", help="What people call it; the id where there is none."),
    option("--contact", metavar="TEXT", help="For organisers alone: it never leaves the registry."),
    option(
        "--anonymous-until",
        metavar="DAY",
        help="Releases before that day, such as 2027-01-31, do not name it.",
    ),
)


@click.group(cls=CommandGroup, in_order=True, epilog=EPILOG)
def team() -> None:
    """Add teams, change what is known of them, and list them."""


@team.command()
@folder_argument
@click.argument("id")
@with_options(_ABOUT)
def add(folder: str, id: str, **about: Any) -> None:
    """Add a team; ID is what commands, tables and files call it."""
    from cranfield import campaign

    given = {name: value for name, value in about.items() if value is not None}
    made = campaign.open(folder).add_team(id, **given)
    print(f"added: {plain(made.id)}")


@team.command()
@folder_argument
@click.argument("id")
@with_options(_ABOUT)
def change(folder: str, id: str, **about: str | None) -> None:
    """Change what is given; an empty text takes a contact or a date away."""
    from cranfield import campaign

    made = campaign.open(folder).change_team(id, **about)
    print(f"changed: {plain(made.id)}")


@team.command("list")
@folder_argument
@option("--contacts", is_flag=True, help="Show contacts too.")
@listing_options
def listed(folder: str, contacts: bool, form: str, output: str | None) -> None:
    """List teams, and how many runs of theirs are accepted."""
    from collections import Counter

    import polars as pl

    from cranfield import campaign
    from cranfield.tabular.text import text_table

    opened = campaign.open(folder)
    runs = Counter(one.team for one in opened.submissions())
    head = ["id", "name", "runs", "anonymous until", *(["contact"] if contacts else [])]
    rows = [
        [
            *(one.id, one.name, f"{runs[one.id]:,}", one.anonymous_until or ""),
            *([one.contact] if contacts else []),
        ]
        for one in opened.teams()
    ]
    kinds = [pl.Int64 if name == "runs" else pl.String for name in head]
    values = [[row[0], row[1], runs[row[0]], row[3] or None, *row[4:]] for row in rows]
    frame = pl.DataFrame(values, dict(zip(head, kinds, strict=True)), orient="row")
    write_listing(frame, f"{text_table(head, rows, left=(0, 1, 3, 4))}\n", form, output)
