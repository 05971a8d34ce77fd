"""Options of tables for papers and pages, which several commands write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.base.errors import PolicyError

if TYPE_CHECKING:
    from cranfield.tabular import Table

Command = TypeVar("Command", bound=Callable[..., Any])

MARKUP = ("latex", "markdown", "html")
"""What tables can be written in."""

_OPTIONS = (
    click.option("--caption", metavar="TEXT", help="With latex: a whole table, with this title."),
    click.option("--label", metavar="NAME", help="With latex: a whole table, called so."),
    click.option("--long", is_flag=True, help="With latex: a table across pages (longtable)."),
)


def table_options(command: Command) -> Command:
    """Add the options of tables to a command, which gets them as `caption`, `label`, `long`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def check_tables(form: str, *, caption: str | None, label: str | None, long: bool) -> None:
    """Refuse options of LaTeX where it is not written, before anything is read."""
    if form == "latex":
        return
    for name, given in (("caption", caption), ("label", label), ("long", long)):
        if given:
            raise PolicyError(f"--{name} goes with --format latex")


def tables_text(
    tables: Iterable[Table], form: str, *, caption: str | None, label: str | None, long: bool
) -> str:
    """Write tables, one below the other.

    Raises
    ------
    PolicyError
        For a label of several tables.
    """
    made = list(tables)
    if label is not None and len(made) > 1:
        raise PolicyError(f"--label is for one table; there are {len(made)}")
    if form == "latex":
        parts = [one.to_latex(caption=caption, label=label, long=long) for one in made]
    else:
        parts = [one.to_markdown() if form == "markdown" else one.to_html() for one in made]
    return "\n".join(parts)
