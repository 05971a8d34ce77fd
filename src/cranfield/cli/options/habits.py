"""Options of other programs, and what stands for them here."""

from __future__ import annotations

import click

HABITS = {
    **dict.fromkeys(("--metric", "--metrics"), ("--measure", "measures are given by -m")),
    "--qrels": ("QRELS", "judgments are the first argument: QRELS RUN..."),
    **dict.fromkeys(("--run", "--runs"), ("RUN", "runs are arguments, after the judgments")),
    "-c": ("--topics", "all judged topics count unless --topics says otherwise"),
    "-M": ("--depth", "--depth N cuts rankings"),
    "-J": ("--unjudged", "--unjudged condensed leaves unjudged documents out"),
    "--by_query": ("--by-topic", "-q, --by-topic shows each topic"),
}
"""What is said of an option that a command lacks, where it has the parameter that does this."""


def told(error: click.NoSuchOption, command: click.Command) -> str:
    """Say what stands for an option that there is not; empty where nothing is known of it."""
    wanted, said = HABITS.get(error.option_name, ("", ""))
    there = {name for one in command.params for name in one.opts}
    there |= {one.human_readable_name.strip("[].") for one in command.params}
    return f"there is no option {error.option_name}: {said}" if wanted in there else ""
