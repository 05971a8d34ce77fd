"""`cranfield campaign init`, `pack`, `demo`: a campaign's folder, what participants get, a tour."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tempfile
import warnings
from pathlib import Path

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.cli.campaign.arguments import folder_argument, output_folder
from cranfield.cli.options.declaring import READ, command, option

INIT_EPILOG = """\b
Examples:
  cranfield campaign init news-2026
  cranfield campaign init news-2026 --rules campaign.toml
"""

PACK_EPILOG = """\b
Example:
  cranfield campaign pack news-2026 -o news-2026-pack
"""


@command(epilog=INIT_EPILOG)
@folder_argument
@option(
    "--rules",
    metavar="FILE",
    help="The campaign.toml; it and the files that it names are copied. [default: an example]",
    type=READ,
)
def init(folder: str, rules: str | None) -> None:
    """Make a campaign's folder.

    Without rules there is a campaign.toml that explains each of its keys: edit it before the first
    run is handed in. The folder is private: others on this machine cannot read it.
    """
    from cranfield.campaign.campaign_folder import create

    made = create(folder, rules)
    tasks = counted(len(made.rules.tasks), "task")
    print(f"{folder}: {made.rules.id}, {tasks}")
    if rules is None:
        print(f"next: edit {Path(folder) / 'campaign.toml'}")


@command(epilog=PACK_EPILOG)
@folder_argument
@output_folder("Folder to make.")
def pack(folder: str, output: str) -> None:
    """Write what participants need to check their runs.

    A folder with the rules, without what is private in them, the lists of topics and documents, and
    a README with the command.
    """
    from cranfield.campaign.campaign_folder import open as open_campaign
    from cranfield.campaign.rules.packing import pack as write_pack

    made = write_pack(open_campaign(folder), output)
    files = counted(sum(path.is_file() for path in made.rglob("*")), "file")
    print(f"{output}: {files}")


@command()
@option("--folder", metavar="DIR", help="Where to work; a new folder. [default: a temporary one]")
@option("--no-open", is_flag=True, help="Do not open the site in the browser.")
def demo(folder: str | None, no_open: bool) -> None:
    """Run a whole small campaign, and show each command.

    Ten real runs of five teams come from the bundled collection; one is refused, one replaced, one
    late and one withdrawn. What is made stays in the folder, the site among it.
    """
    from cranfield.campaign.example import write_example

    place = Path(folder or tempfile.mkdtemp(prefix="cranfield-campaign-")).resolve()
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        raise PolicyError(f"{quoted(folder)} is there already, and is no empty folder")
    place.mkdir(exist_ok=True)
    print(plain(f"In {place}:"))
    tags = write_example(place)
    replaced, team = tags["replaced"], tags["team"]
    with contextlib.chdir(place):
        _show("init", "covid", "--rules", "rules/campaign.toml")
        _show("pack", "covid", "-o", "pack")
        _show("check", "broken.run", "--rules", "pack", lines=9)
        _show("submit", "covid", "runs", "--from", "runs.csv", "--add-teams")
        _show("submit", "covid", "broken.run", "--team", team, "--received", "2020-07-31T13:00:00Z")
        _show(
            "replace", "covid", replaced, f"{replaced}-2.run", "--received", "2020-07-31T14:00:00Z"
        )
        _show("withdraw", "covid", tags["withdrawn"], "--reason", "Trained on the judgments.")
        _show("list", "covid", lines=20)
        _show("judgments", "covid", "qrels.txt", "--version", "1")
        _show("score", "covid", lines=14)
        _show("sheets", "covid", "-o", "sheets")
        _show("packet", "covid", "--team", team, "-o", "packet.zip")
        _show("release", "covid", "--date", "2020-09-01", lines=8)
        _show("site", "covid", "-o", "site")
        _show("verify", "covid")
    site = place / "site/index.html"
    print()
    print(plain(f"The site: {site}"))
    if not no_open and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(site.as_uri())


def _show(*arguments: str, lines: int = 1) -> None:
    """Do a command, and print it with the last lines of what it says."""
    from cranfield.cli.campaign.campaign import campaign

    print()
    print(plain(f"$ cranfield campaign {shlex.join(arguments)}"))
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            campaign.main(list(arguments), standalone_mode=False)
        except CranfieldError as error:
            print(f"cranfield: error: {error}")
    for line in said.getvalue().rstrip().splitlines()[-lines:]:
        print(f"  {line}")
