"""`cranfield campaign team FOLDER add|change|list`: who hands in runs."""

from __future__ import annotations

from typing import Any

import click

from cranfield.base.escape import plain
from cranfield.cli.campaign.submitting import folder_argument
from cranfield.cli.options.output import with_options

EPILOG = """\b
Examples:
  cranfield campaign team news add padua --name "University of Padua" --contact ir@example.org
  cranfield campaign team news change padua --anonymous-until 2027-01-31
  cranfield campaign team news list --contacts
"""

_ABOUT = (
    click.option("--name", help="What people call it; the id where there is none."),
    click.option("--contact", help="For organisers alone: it never leaves the registry."),
    click.option(
        "--anonymous-until",
        metavar="DATE",
        help="Releases before that day, such as 2027-01-31, do not name it.",
    ),
)


@click.group(epilog=EPILOG, invoke_without_command=True)
@folder_argument
@click.pass_context
def team(context: click.Context, folder: str) -> None:
    """Add teams, change what is known of them, and list them."""
    context.obj = folder
    if context.invoked_subcommand is None:
        context.invoke(listed)


@team.command()
@click.argument("id")
@with_options(_ABOUT)
@click.pass_obj
def add(folder: str, /, id: str, **about: Any) -> None:
    """Add a team; ID is what commands, tables and files call it."""
    from cranfield import campaign

    given = {name: value for name, value in about.items() if value is not None}
    made = campaign.open(folder).add_team(id, **given)
    print(f"added: {plain(made.id)}")


@team.command()
@click.argument("id")
@with_options(_ABOUT)
@click.pass_obj
def change(folder: str, /, id: str, **about: str | None) -> None:
    """Change what is given; an empty text takes a contact or a date away."""
    from cranfield import campaign

    made = campaign.open(folder).change_team(id, **about)
    print(f"changed: {plain(made.id)}")


@team.command("list")
@click.option("--contacts", is_flag=True, help="Show contacts too.")
@click.pass_obj
def listed(folder: str, contacts: bool = False) -> None:
    """List teams, and how many runs of theirs are accepted."""
    from collections import Counter

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
    print(text_table(head, rows, left=(0, 1, 3, 4)))
