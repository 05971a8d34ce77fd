"""Commands on a campaign's folder: `init`, `pack`, `demo`, `list`, `show`, `verify`, `export`."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.text import counted, plain
from cranfield.cli.options.declaring import READ, WRITTEN, command, keep_inputs, option
from cranfield.cli.options.output import output_option, with_options, write

if TYPE_CHECKING:
    import polars as pl

    from cranfield.campaign.opened import Opened
    from cranfield.campaign.store.records import Event, Submission


folder_argument = click.argument("folder", type=READ)
"""The campaign's folder, which all commands name first."""

task_option = option(
    "--task", metavar="NAME", help="The task; where there is only one, it needs no name."
)
judgments_option = option(
    "--judgments", metavar="VERSION", help="Version of the judgments; by default the newest."
)


def form_option(forms: Iterable[str], default: str = "text") -> Callable[[Any], Any]:
    """Make the option of the format that a command writes."""
    return option(
        "--format",
        "form",
        type=click.Choice(list(forms)),
        default=default,
        show_default=True,
        help="How to write it.",
    )


def output_folder(help: str) -> Callable[[Any], Any]:
    """Make the option of the folder that a command writes, which it needs."""
    return option("--output", required=True, metavar="FOLDER", help=help, type=WRITTEN)


def status_of(opened: Opened) -> int:
    """Return the exit status of a command that reads runs: 1 if one could not be read."""
    return int(bool(opened.unreadable))


listing_options = with_options((form_option(("text", "csv", "json")), output_option))
"""The options of commands that list teams or judgments."""


def write_listing(frame: pl.DataFrame, text: str, form: str, output: str | None) -> None:
    """Write a list as its text, or its table as CSV or JSON."""
    if form == "csv":
        text = frame.write_csv()
    elif form == "json":
        text = frame.write_json() + "\n"
    write(text, output)


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
    from cranfield.campaign.campaign_folder import pack as write_pack

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
    from cranfield.cli.main import campaign

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


STATES = ("accepted", "refused", "replaced", "withdrawn")
COLUMNS = (
    *("tag", "team", "task", "type", "priority", "state", "late", "pooled", "received"),
    *("bytes", "object", "description", "reason"),
)
"""What tables for programs have; tables for people have the first ones."""

SHOWN = 9


@command("list")
@folder_argument
@option("--task", metavar="NAME", help="Of this task only.")
@option("--team", metavar="ID", help="Of this team only.")
@option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([*STATES, "all"]),
    default=("accepted",),
    show_default="accepted",
    help="In this state; may be given several times.",
)
@form_option(("text", "csv", "json"))
@output_option
def list_runs(
    folder: str,
    task: str | None,
    team: str | None,
    states: tuple[str, ...],
    form: str,
    output: str | None,
) -> None:
    """List runs in order of arrival."""
    from cranfield import campaign
    from cranfield.campaign.submitting.teams import known_team

    opened = campaign.open(folder)
    if task is not None:
        opened.rules.task(task)
    if team is not None:
        known_team(opened.registry, team)
    everything = opened.registry.submissions(task, None, team=team)
    wanted = STATES if "all" in states else states
    runs = [one for one in everything if one.state in wanted]
    if form == "csv":
        text = _csv(runs)
    elif form == "json":
        text = json.dumps([_row(one) for one in runs], ensure_ascii=False, indent=1) + "\n"
    else:
        left = Counter(one.state for one in everything if one.state not in wanted)
        text = _text(runs, left)
    write(text, output)


"""The command is called so."""


def _row(one: Submission) -> dict[str, Any]:
    return {name: getattr(one, name) for name in COLUMNS} | {"answers": one.answers}


def _csv(runs: Iterable[Submission]) -> str:
    import polars as pl

    rows = [_row(one) for one in runs]
    columns = {name: [None if row[name] == "" else row[name] for row in rows] for name in COLUMNS}
    answers = [json.dumps(row["answers"], ensure_ascii=False, sort_keys=True) for row in rows]
    return pl.DataFrame({**columns, "answers": answers}).write_csv()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


def _text(runs: Sequence[Submission], left: Counter[str]) -> str:
    from cranfield.tabular import text_table

    names = COLUMNS[:SHOWN]
    rows = [[_cell(getattr(one, name)) for name in names] for one in runs]
    text = text_table(names, rows, left=[k for k, name in enumerate(names) if name != "priority"])
    notes = ", ".join(f"{number:,} {state}" for state, number in sorted(left.items()))
    return text + "\n" + (f"not shown: {notes} (--state all)\n" if notes else "")


@command()
@folder_argument
@click.argument("tag")
@option("--contacts", is_flag=True, help="Show the team's contact too.")
@form_option(("text", "json"))
@output_option
def show(folder: str, tag: str, contacts: bool, form: str, output: str | None) -> None:
    """Show all that is known of a run, and of others with its tag.

    That is what was said of it, faults and events. It is for organisers: it tells of other teams
    where a ranking is the same as theirs.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    registry = opened.registry
    runs = registry.submissions(None, None, tag=tag)
    if not runs:
        raise PolicyError(f"no run is called {quoted(tag)}")
    events = registry.events()
    found = []
    for one in runs:
        about = asdict(one)
        if contacts:
            known = registry.team(one.team)
            about["contact"] = "" if known is None else known.contact
        about["faults"] = [asdict(fault) for fault in registry.faults(one.id, private=True)]
        about["events"] = [
            {"at": event.at, "actor": event.actor, "action": action}
            for event in events
            if (action := _action(event, one))
        ]
        found.append(about)
    if form == "json":
        write(json.dumps(found, ensure_ascii=False, indent=1) + "\n", output)
    else:
        write("\n".join(_shown(about) for about in found), output)


def _action(event: Event, run: Submission) -> str:
    """Return what an event did with a run; empty for nothing."""
    details = json.loads(event.details)
    if event.subject == run.task and run.tag in details["about"].get("without", ()):
        return f"{event.action} without it"
    changed = any(name == "submission" and row["id"] == run.id for name, row in details["rows"])
    return event.action if changed else ""


def _shown(about: dict[str, Any]) -> str:
    faults, events = about.pop("faults"), about.pop("events")
    lines: list[str] = []
    for name, value in about.items():
        if isinstance(value, dict):
            lines.extend(f"{name}.{plain(key)}: {plain(one)}" for key, one in value.items())
        elif value not in (None, "", {}):
            text = ("yes" if value else "no") if isinstance(value, bool) else str(value)
            lines.append(f"{name}: " + "\n  ".join(plain(one) for one in text.splitlines()))
    for fault in faults:
        place = "" if fault["line"] is None else f" in line {fault['line']:,}"
        lines.append(f"{fault['severity']}{place}: {plain(fault['message'])}")
    lines.extend(f"{one['at']} {plain(one['action'])} by {plain(one['actor'])}" for one in events)
    return "\n".join(lines) + "\n"


@command()
@folder_argument
@option("--repair", is_flag=True, help="Remove what a kill left over.")
@listing_options
def verify(folder: str, repair: bool, form: str, output: str | None) -> int:
    """Verify every file of a campaign.

    The exit status is 1 where something is wrong.
    """
    from cranfield.campaign import open

    keep_inputs([output], map(str, Path(folder).rglob("*")))
    found = open(folder).verify(repair=repair)
    if form == "text":
        # Without polars, which tables need.
        write(f"{found}\n", output)
    else:
        write_listing(found.to_polars(), "", form, output)
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
