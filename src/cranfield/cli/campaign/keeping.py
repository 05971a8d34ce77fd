"""`cranfield campaign verify` and `export`: whether all is well, and a copy of all."""

from __future__ import annotations

from pathlib import Path

import click

from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.cli.campaign.arguments import folder_argument, listing_options, write_listing
from cranfield.cli.options.declaring import WRITTEN, command, keep_inputs, option


@command()
@folder_argument
@option("--repair", is_flag=True, help="Remove what a kill left over, and seal again.")
@listing_options
def verify(folder: str, repair: bool, form: str, output: str | None) -> int:
    """Verify every byte of a campaign.

    The exit status is 1 where something is wrong.
    """
    from cranfield.campaign import open

    keep_inputs([output], map(str, Path(folder).rglob("*")))
    found = open(folder).verify(repair=repair)
    write_listing(found.to_polars(), f"{found}\n", form, output)
    return 0 if found.ok else 1


@command()
@folder_argument
@option(
    "--output",
    required=True,
    metavar="FILE",
    help="The archive, whose name ends in .zip.",
    type=WRITTEN,
)
def export(folder: str, output: str) -> None:
    """Write all of a campaign into one private archive, for keeping.

    The registry is in it as tables, too.
    """
    from cranfield.campaign import open

    path = open(folder).export(output)
    size = counted(path.stat().st_size, "byte")
    said = f"{path}: {size}; private, with contacts and runs that were not released"
    click.echo(plain(said), err=True)
