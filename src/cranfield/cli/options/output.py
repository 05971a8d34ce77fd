"""Scores as a command writes them: options and writers of commands without judged runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from cranfield.base.errors import PolicyError
from cranfield.base.whole_files import whole_file
from cranfield.cli.options.judging import write
from cranfield.cli.options.tables import MARKUP, check_tables, table_options, tables_text
from cranfield.scores import Scores

Command = TypeVar("Command", bound=Callable[..., Any])

OUTPUTS = ("table", "csv", "json", *MARKUP, "parquet")

OUTPUT_OPTIONS = ("by_topic", "form", "output", "places", "caption", "label", "long")
"""Parameters that the options below set."""


def output_options(of: str = "topic") -> Callable[[Command], Command]:
    """Make the options that say how scores are written; `of` is what there is a score of."""

    def add(command: Command) -> Command:
        options: list[Callable[[Any], Any]] = [
            click.option(f"--by-{of}", "-q", "by_topic", is_flag=True, help=f"Also each {of}."),
            click.option(
                "--format",
                "-f",
                "form",
                type=click.Choice(OUTPUTS),
                default="table",
                show_default=True,
                help="How to write the scores.",
            ),
            click.option("--output", "-o", help="File to write, whole or not at all."),
            click.option(
                "--places",
                "-p",
                type=click.IntRange(0, 17),
                default=4,
                show_default=True,
                help="Decimals.",
            ),
            table_options,
        ]
        for option in reversed(options):
            command = option(command)
        return command

    return add


def check_output(given: Mapping[str, Any]) -> None:
    """Refuse what cannot be written, before anything is read."""
    if given["form"] == "parquet" and given["output"] in {None, "-"}:
        raise PolicyError("--format parquet needs --output FILE")
    check_tables(given["form"], **_in_print(given))


def write_scores(scores: Mapping[str, Scores], given: Mapping[str, Any], of: str = "topic") -> None:
    """Write scores as the options say.

    Parameters
    ----------
    scores
        Scores by text form of the measure, of the same systems and topics.
    given
        The values of :data:`OUTPUT_OPTIONS`.
    of
        What a topic is called.
    """
    from cranfield.reporting.text import score_formats

    form, by_topic, places = given["form"], given["by_topic"], given["places"]
    output = None if given["output"] == "-" else given["output"]
    if form == "parquet":
        with whole_file(output or "") as out:
            score_formats.table(scores, by_topic=by_topic).write_parquet(out)
    elif form in MARKUP:
        from cranfield.reporting import tables

        made = (tables.topics_table if by_topic else tables.evaluation_table)(scores, places=places)
        write(tables_text([made], form, **_in_print(given)), output)
    elif form == "csv":
        write(score_formats.csv_text(scores, by_topic=by_topic), output)
    elif form == "json":
        write(score_formats.scores_json(scores, by_topic=by_topic), output)
    else:
        from cranfield.reporting.text import terminal

        shown = (
            terminal.topics_table(scores, places=places, of=of)
            if by_topic
            else terminal.systems_table(scores, places=places)
        )
        on_terminal = output is None and sys.stdout.isatty()
        write(terminal.shown(shown, on_terminal=on_terminal, columns=len(scores) + 1), output)


def _in_print(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("caption", "label", "long")}
