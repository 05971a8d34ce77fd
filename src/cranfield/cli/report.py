"""`cranfield report`: one page of HTML with everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.base.escape import plain
from cranfield.cli.options.comparing import Comparing, comparing_options
from cranfield.cli.options.conditions import on_command_line
from cranfield.cli.options.declaring import READ, WRITTEN, command, option
from cranfield.cli.options.judging import (
    WORK,
    judging_options,
    measures_option,
    paths_of,
)
from cranfield.cli.options.reading import READING, Reading
from cranfield.cli.options.scores import ScoreInput, scale_option, score_input

if TYPE_CHECKING:
    from cranfield.assess.judges.reading import Judge
    from cranfield.collection.files.many_runs import Runs
    from cranfield.collection.qrels import Qrels
    from cranfield.scores import Scores

EPILOG = """\b
Examples:
  cranfield report qrels.txt runs/*.xz -o report.html
  cranfield report qrels.txt bm25.run dense.run -m nDCG@10 -m RR@10 --baseline bm25
  cranfield report qrels.txt runs/*.xz --judges labels/ -m nDCG@10
  cranfield report --scores scores.csv --title "Our systems" -o scores.html
"""

DEFAULT = ("AP", "nDCG@10", "P@10", "RR@10")
OUTPUT = "report.html"
LEFT_OUT = ("output", *WORK, "page", "format", "table")
"""Options that change nothing on the page, so that they are no part of the command on it."""


@command(
    epilog=EPILOG,
    kin="judges",
    first="measure scores baseline test correction title"
    " judges output rel compat depth input-format",
)
@score_input(measures_option(DEFAULT))
@scale_option
@option(
    "--output",
    default=OUTPUT,
    show_default=True,
    help="File to write, whole or not at all.",
    type=WRITTEN,
)
@option("--title", help="Heading of the page.")
@option("--date", help="A date to be shown; by default there is none.")
@comparing_options
@option(
    "--scales/--no-scales",
    default=True,
    show_default=True,
    help="Compare measures with their interval-scaled versions.",
)
@option(
    "--judges",
    "labels",
    multiple=True,
    metavar="JUDGE",
    help="Labels of a judge, such as a language model, to be compared with QRELS: a file,"
    " NAME=FILE, a folder or a quoted pattern; may be given several times.",
    type=READ,
)
@option("--cut", is_flag=True, help="Count a judge's grade off the scale as its nearer end.")
@judging_options
@click.pass_context
def report(
    context: click.Context,
    /,
    source: ScoreInput,
    scale: str | None,
    output: str,
    title: str | None,
    date: str | None,
    comparing: Comparing,
    scales: bool,
    labels: tuple[str, ...],
    cut: bool,
    **judging: Any,
) -> None:
    """Write a report: which systems differ, how sure that is, and why.

    One HTML file that opens offline. Scores come from runs and judgments, as for `cranfield
    evaluate`, or from files with --scores. The same input gives the same bytes.
    """
    from cranfield.reporting.page.report_page import TITLE
    from cranfield.reporting.page.report_page import report as write_report

    if output == "-":
        raise PolicyError("a report is a file: name it with --output FILE")
    # Before any file is read.
    asked_for = comparing.checked()
    if cut and not labels:
        raise PolicyError("--cut goes with --judges")
    if labels and source.qrels is None:
        raise PolicyError("--judges goes with QRELS and RUN")
    reading = Reading.of(judging)
    people: Qrels | None = None
    judges: tuple[Judge, ...] = ()
    if labels and source.qrels:
        people, judges = reading.with_judges(source.qrels, labels, None, True)
    many = reading.runs(source.qrels, source.runs)
    results = replace(source, runs=many).scores(
        {**judging, "reading": reading}, noted=True, scale=scale
    )
    judged = _judged(people, many, results, judges, cut, judging) if judges else None
    write_report(
        results,
        output,
        title=TITLE if title is None else title,
        scales=scales,
        judges=judged,
        inputs=source.score_files
        or [path for path in (source.qrels, *paths_of(many), *_files(judges)) if path is not None],
        command=command_of(context),
        date=date,
        jobs=judging["jobs"],
        **asked_for,
    )
    click.echo(plain(f"written: {output}"), err=True)


def _judged(
    people: Any,
    runs: Runs,
    results: Mapping[str, Scores],
    judges: tuple[Judge, ...],
    cut: bool,
    judging: dict[str, Any],
) -> list[Any]:
    """Compare judges with people, and the rankings of the runs by both."""
    from cranfield.assess.judges.comparison import compare_judges
    from cranfield.assess.judges.rankings import judge_rankings

    left_out = ("rel", "aspects", "reading", *READING)
    options = {name: value for name, value in judging.items() if name not in left_out}
    wanted = [one.definition or name for name, one in results.items()]
    return [
        compare_judges(people, judges, cut=cut),
        judge_rankings(runs, people, judges, wanted, cut=cut, **options),
    ]


def _files(judges: tuple[Judge, ...]) -> list[str]:
    return [one.labels.origin.name for one in judges]


def command_of(context: click.Context, output: str = "--output") -> list[str]:
    """Return what was given to a command, in the order in which it is declared."""
    names: list[str] = []
    above: click.Context | None = context
    while above is not None and above.parent is not None:
        names.insert(0, above.command.name or "")
        above = above.parent
    words = ["cranfield", *names]
    options: list[str] = []
    for one in context.command.params:
        if one.name in LEFT_OUT or not on_command_line(one.name or ""):
            continue
        value = context.params[one.name or ""]
        if isinstance(one, click.Argument):
            words += [value] if isinstance(value, str) else value
            continue
        name = max(one.opts, key=len)
        if isinstance(value, bool):
            options.append(name if value else one.secondary_opts[0])
        elif one.multiple:
            options += [word for each in value for word in (name, str(each))]
        else:
            options += [name, str(value)]
    return [*words, output, OUTPUT, *options]
