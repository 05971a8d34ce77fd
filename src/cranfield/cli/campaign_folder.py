"""Commands on a campaign's folder: `init`, `pack`, `demo`, `verify`, `export`."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import tempfile
import warnings
from pathlib import Path

import click

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.text import counted, plain
from cranfield.cli import options as cli


@cli.command()
@click.argument("folder", type=cli.READ)
@cli.options_from(f"{cli.CAMPAIGN}.create", "rules")
def init(folder: str, rules: str | None) -> None:
    """Create the folder of a campaign.

    Without --rules it contains an example of campaign.toml that explains each key: edit it before
    the first run is submitted. Other users of this machine cannot read the folder.

    Examples
    --------
    cranfield campaign init news-2026
    cranfield campaign init news-2026 --rules campaign.toml
    """
    campaign = cf.campaign.create(folder, rules)
    print(f"{folder}: {campaign.rules.id}, {counted(len(campaign.rules.tasks), 'task')}")
    if rules is None:
        print(f"next: edit {Path(folder) / 'campaign.toml'}")


@cli.command()
@cli.on_campaign
@cli.output_to("FOLDER", "Folder to create.")
def pack(campaign: cf.campaign.Campaign, output: str) -> None:
    """Write the pack with which participants check their runs.

    The pack is a folder with the public part of the rules, the lists of topics and documents, and a
    README with the command to run.

    Examples
    --------
    cranfield campaign pack news-2026 -o news-2026-pack
    """
    from cranfield.campaign.campaign_folder import pack as write_pack

    files = sum(path.is_file() for path in write_pack(campaign, output).rglob("*"))
    print(f"{output}: {counted(files, 'file')}")


DEMO = """
campaign init covid --rules rules/campaign.toml
campaign pack covid -o pack
check broken.run --rules pack
campaign run submit covid runs --from runs.csv --add-teams
campaign run submit covid broken.run --team {team} --received 2020-07-31T13:00:00Z
campaign run replace covid {replaced} {replaced}-2.run --received 2020-07-31T14:00:00Z
campaign run withdraw covid {withdrawn} --reason 'Trained on the judgments.'
campaign run list covid
campaign judgments covid qrels.txt --version 1
campaign score covid
campaign release sheets covid -o sheets
campaign release packet covid --team {team} -o packet.zip
campaign release make covid --date 2020-09-01
campaign release site covid -o site
campaign verify covid
"""
MAX_LINES = {"check": 9, "list": 20, "score": 14, "make": 8}
"""Maximum number of output lines that the demonstration prints of a command; 1 by default."""


@cli.command()
@cli.option(
    "--folder", metavar="DIR", help="Folder to create and work in.  [default: a temporary folder]"
)
@cli.option("--no-open", is_flag=True, help="Do not open the site in a browser.")
def demo(folder: str | None, no_open: bool) -> None:
    """Run a small campaign from start to end, and show each command.

    Five teams submit ten runs of the bundled collection; one run is refused, one replaced, one late
    and one withdrawn. All files, including the site, are kept in the folder.
    """
    from cranfield.campaign.example import write_example

    work_folder = Path(folder or tempfile.mkdtemp(prefix="cranfield-campaign-")).resolve()
    if work_folder.exists() and (not work_folder.is_dir() or any(work_folder.iterdir())):
        raise PolicyError(f"{quoted(folder)} already exists and is not an empty folder")
    work_folder.mkdir(exist_ok=True)
    print(plain(f"In {work_folder}:"))
    names = write_example(work_folder)
    with contextlib.chdir(work_folder):
        for line in DEMO.strip().splitlines():
            _demonstrate(shlex.split(line.format_map(names)))
    site = work_folder / "site/index.html"
    print()
    print(plain(f"The site: {site}"))
    if not no_open and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(site.as_uri())


def _demonstrate(words: list[str]) -> None:
    """Run a command, and print it with the last lines of its output."""
    from cranfield.cli.main import app

    print()
    print(plain(f"$ cranfield {shlex.join(words)}"))
    output = io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            app.main(words, standalone_mode=False)
        except CranfieldError as error:
            print(f"cranfield: error: {error}")
    n_lines = next((n for name, n in MAX_LINES.items() if name in words[:3]), 1)
    for line in output.getvalue().rstrip().splitlines()[-n_lines:]:
        print(f"  {line}")


@cli.command()
@cli.on_campaign
@cli.options_from(f"{cli.CAMPAIGN}.store.whole_folder.verify", "repair")
@cli.listing_options
def verify(campaign: cf.campaign.Campaign, repair: bool, format: str, output: str | None) -> int:
    """Verify every file of a campaign.

    The exit status is 1 if a file is missing or damaged.
    """
    cli.keep_inputs([output], map(str, campaign.folder.rglob("*")))
    verification = campaign.verify(repair=repair)
    if format == "text":
        # Text output avoids polars, which is slow to import.
        cli.write(f"{verification}\n", output)
    else:
        cli.write_listing(verification.to_polars(), "", format, output)
    return int(not verification.ok)


@cli.command()
@cli.on_campaign
@cli.output_to("FILE", "Archive to write (.zip).")
def export(campaign: cf.campaign.Campaign, output: str) -> None:
    """Write a whole campaign to one private archive.

    The archive also contains the registry as tables.
    """
    path = campaign.export(output)
    size = counted(path.stat().st_size, "byte")
    message = f"{path}: {size}; private: it contains contact addresses and unreleased runs"
    click.echo(plain(message), err=True)
