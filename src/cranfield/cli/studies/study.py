"""`cranfield study`: studies of the evaluation itself."""

from __future__ import annotations

import sys
from typing import Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.command_group import CommandGroup
from cranfield.cli.options.judging import alpha_option, judged_runs, judging_options, one_of
from cranfield.cli.options.output import write
from cranfield.cli.studies.study_options import OUTPUTS, whole_numbers

EPILOG = """\b
Examples:
  cranfield study scales qrels.txt runs/*.xz --cutoffs 5,10
  cranfield study scales qrels.txt runs/*.xz -m AP -m "DCG" --cutoffs 20 --format csv
"""


COMMANDS = {
    name: f"cranfield.cli.studies.{name}:{name}"
    for name in ("tests", "collection", "reproduction", "measures")
}
"""Where each command stands."""


@click.group(cls=CommandGroup, homes=COMMANDS)
def study() -> None:
    """Study the evaluation itself."""


@study.command(epilog=EPILOG)
@click.argument("qrels")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--measure",
    "-m",
    "asked",
    multiple=True,
    help="A measure without cutoff; by default those of the paper.",
)
@click.option("--cutoffs", default="5,10,20,30", show_default=True, help="Lengths of runs.")
@click.option("--graded", is_flag=True, help="Keep grades; else all from --rel on count as 1.")
@one_of(
    "--interval-ties", ("unique", "mid", "min", "max"), "Ranks of runs that score alike.", "unique"
)
@alpha_option
@one_of("--format", OUTPUTS, "How to write the tables.", "text")
@click.option("--output", "-o", help="File to write, whole or not at all.")
@judging_options
def scales(
    qrels: str,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    cutoffs: str,
    graded: bool,
    interval_ties: str,
    alpha: float,
    format: str,
    output: str | None,
    rel: int | None,
    **judging: Any,
) -> None:
    """Measure what changes when measures are interval-scaled.

    For each measure and its interval-scaled version: how well the orders of systems agree, and
    which pairs of systems the tests tell apart (Ferrante, Ferro and Fuhr 2021, tables 2 to 6).
    """
    from cranfield.meta.of_scales.scale_study import MEASURES, TESTS, study_scales
    from cranfield.meta.of_scales.scale_study_options import study_options
    from cranfield.reporting.studies.as_text import written
    from cranfield.reporting.studies.of_scales import shown

    lengths = whole_numbers(cutoffs, "--cutoffs")
    if graded and rel is not None:
        raise PolicyError("--rel says which grades become 1; with --graded all are kept")
    options = study_options(asked or MEASURES, lengths, TESTS, interval_ties, alpha)
    # The least that can be asked for: before files are read, which takes a while.
    options.require(1, 2)
    judged = judged_runs(qrels, runs, **judging)
    if not graded:
        judged = judged.binary(1 if rel is None else rel)
    found = study_scales(
        judged,
        asked or MEASURES,
        cutoffs=lengths,
        ties=interval_ties,
        alpha=alpha,
        progress=_said if sys.stderr.isatty() else None,
    )
    text = written(shown(found), format)
    write(text, output)


def _said(step: str) -> None:
    click.echo(f"\r\033[K{step}", nl=False, err=True)
