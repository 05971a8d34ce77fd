"""`cranfield campaign list` and `show`: what was handed in, and all that is known of one run."""

from __future__ import annotations

import builtins
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.cli.campaign.arguments import folder_argument, form_option
from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.output import output_option, write

if TYPE_CHECKING:
    from cranfield.campaign.store.records import Event, Submission

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
        known_team(opened.registry.team(team), team)
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


list = list_runs
"""The command is called so."""


def _row(one: Submission) -> dict[str, Any]:
    return {name: getattr(one, name) for name in COLUMNS} | {"answers": one.answers}


def _csv(runs: Iterable[Submission]) -> str:
    import polars as pl

    rows = [_row(one) for one in runs]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    answers = [json.dumps(row["answers"], ensure_ascii=False, sort_keys=True) for row in rows]
    return pl.DataFrame({**columns, "answers": answers}).write_csv()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)


def _text(runs: Sequence[Submission], left: Counter[str]) -> str:
    from cranfield.tabular.text import text_table

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
    lines: builtins.list[str] = []
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
