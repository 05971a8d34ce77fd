"""`cranfield study`: studies of the evaluation itself."""

from __future__ import annotations

import click

from cranfield.cli.options.command_group import CommandGroup

COMMANDS = {
    name: f"cranfield.cli.studies.{name}:{name}"
    for name in (
        *("tests", "collection", "pooling", "reproduction", "measures", "scales"),
        "interleaving",
    )
}
"""Where each command stands."""


@click.group(cls=CommandGroup, homes=COMMANDS)
def study() -> None:
    """Study the evaluation itself."""
