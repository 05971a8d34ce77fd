"""`cranfield online`: users instead of judges."""

from __future__ import annotations

import click

from cranfield.cli.options.command_group import CommandGroup

NAMES: tuple[str, ...] = ("train", "measure", "preference", "interleave", "experiment", "assign")
COMMANDS = {name: f"cranfield.cli.online.{name}:{name}" for name in NAMES}
"""Where each command stands."""


@click.group(cls=CommandGroup, homes=COMMANDS)
def online() -> None:
    """Evaluate with users: logs, interleaving, experiments, click models."""
