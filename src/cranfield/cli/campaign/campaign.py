"""`cranfield campaign`: the life of a campaign, in one folder."""

from __future__ import annotations

import click

from cranfield.cli.options.command_group import CommandGroup

MODULES = {
    "setting_up": ("init", "pack", "demo"),
    "checking": ("check",),
    "teams": ("team",),
    "submitting": ("submit", "replace", "withdraw", "purge"),
    "listing": ("list", "show"),
    "judging": ("pool", "judgments"),
    "scoring": ("score", "standing", "history"),
    "sheets": ("sheets", "overview", "packet"),
    "publishing": ("release", "retract", "site"),
    "keeping": ("verify", "export"),
}
"""The modules of this folder, and the commands that each of them holds."""

COMMANDS = {
    name: f"cranfield.cli.campaign.{module}:{name}"
    for module, names in MODULES.items()
    for name in names
}


@click.group(cls=CommandGroup, homes=COMMANDS, in_order=True)
def campaign() -> None:
    """Run a campaign: rules, submissions, checks, judgments, sheets, releases, a site."""
