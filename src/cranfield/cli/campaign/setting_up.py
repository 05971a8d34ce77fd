"""`cranfield campaign init` and `pack`: a campaign's folder, and what participants get."""

from __future__ import annotations

from pathlib import Path

import click

from cranfield.base.words import counted
from cranfield.cli.options.output import keep_inputs

INIT_EPILOG = """\b
Examples:
  cranfield campaign init news-2026
  cranfield campaign init news-2026 --rules campaign.toml
"""

PACK_EPILOG = """\b
Example:
  cranfield campaign pack news-2026 -o news-2026-pack
"""


@click.command(epilog=INIT_EPILOG)
@click.argument("folder")
@click.option(
    "--rules",
    metavar="FILE",
    help="The campaign.toml; it and the files that it names are copied. [default: an example]",
)
def init(folder: str, rules: str | None) -> None:
    """Make a campaign's folder.

    Without rules there is a campaign.toml that explains each of its keys: edit it before the first
    run is handed in. The folder is private: others on this machine cannot read it.
    """
    from cranfield.campaign.campaign_folder import create
    from cranfield.campaign.rules.checking import check_rules
    from cranfield.campaign.rules.reading import read_rules

    if rules is not None:
        check_rules(read_rules(rules))
    made = create(folder, rules)
    tasks = counted(len(made.rules.tasks), "task")
    print(f"{folder}: {made.rules.id}, {tasks}")
    if rules is None:
        print(f"next: edit {Path(folder) / 'campaign.toml'}")


@click.command(epilog=PACK_EPILOG)
@click.argument("folder")
@click.option("--output", "-o", required=True, metavar="PACK", help="Folder to make.")
def pack(folder: str, output: str) -> None:
    """Write what participants need to check their runs themselves.

    A folder with the rules, without what is private in them, the lists of topics and documents, and
    a README with the command.
    """
    from cranfield.campaign.campaign_folder import open as open_campaign
    from cranfield.campaign.rules.packing import pack as write_pack

    keep_inputs([output], [folder])
    made = write_pack(open_campaign(folder), output)
    files = counted(sum(path.is_file() for path in made.rglob("*")), "file")
    print(f"{output}: {files}")
