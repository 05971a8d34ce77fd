"""`cranfield online preference`: which rankers users prefer, from interleaved pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.cli.options.conditions import tell_without_effect
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import one_of, resamples_option
from cranfield.cli.options.logs import LogOptions, log_options
from cranfield.cli.options.output import output_option, write_findings
from cranfield.meta.study import Findings
from cranfield.reporting.text.studies import WRITERS, check_table
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl

EPILOG = """\b
Examples:
  cranfield online preference log.jsonl --unit user
  cranfield online preference pages.csv results.csv clicks.csv --rankers new,old --clicks sat
  cranfield online preference log.parquet --unit session --format json -o preference.json
  cranfield online preference lists.jsonl clicks.csv --runs a.run --runs b.run --unit user
  cranfield online preference --counts 40,109,374 --expected 0.28
"""

TABLES = ("preference", "pairs")


class Counts(click.ParamType):  # type: ignore[type-arg]
    """Wins, losses and ties."""

    name = "text"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            found = tuple(int(part) for part in value.split(","))
        except ValueError:
            found = ()
        if len(found) not in (2, 3):
            raise PolicyError(f"--counts takes wins,losses,ties such as 40,109,374, not {value!r}")
        return found


@command(
    epilog=EPILOG,
    first="counts unit rankers clicks correction confidence log-format odd format table output",
)
@click.argument("logs", metavar="LOG...", nargs=-1, type=READ)
@option("--counts", type=Counts(), metavar="W,L,T", help="Wins, losses and ties: no log.")
@option("--unit", help="What is independent: user, session, query or impression.")
@option("--rankers", help="The teams to compare, with commas between them; by default all.")
@option(
    "--runs",
    multiple=True,
    metavar="RUN",
    type=READ,
    help="Two runs that were interleaved: pages are compared as their method does, not by teams.",
    goes_with="LOG",
)
@option(
    "--clicks",
    default="all",
    show_default=True,
    help="What counts: all, first, last, sat (dwell of 30 s), or a column of clicks.",
    goes_with="LOG",
)
@option(
    "--expected", type=float, default=0.5, show_default=True, help="Share of wins of equal rankers."
)
@option(
    "--correction",
    default="holm",
    show_default=True,
    help="Of p-values of several pairs.",
    goes_with="LOG",
)
@option(
    "--confidence",
    type=float,
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@resamples_option(10_000, " of the units", goes_with="LOG")
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the bootstrap.",
    goes_with="LOG",
)
@log_options
@one_of("--format", WRITERS, "How to write the tables.", "text")
@option("--table", metavar="NAME", help=f"One table only: {', '.join(TABLES)}.")
@output_option
def preference(
    logs: tuple[str, ...],
    counts: tuple[int, ...] | None,
    unit: str | None,
    rankers: str | None,
    runs: tuple[str, ...],
    clicks: str,
    expected: float,
    correction: str,
    confidence: float,
    resamples: int,
    seed: int,
    reading: LogOptions,
    format: str,
    table: str | None,
    output: str | None,
) -> None:
    """Tell which of two or more rankers users prefer, by pages that interleave them.

    LOG is one file or folder in any form that is known, its tables PAGES RESULTS CLICKS, or the
    lists of `cranfield online interleave` and a table of clicks. Results have their team; methods
    that use no teams need --runs. Where users come again, --unit says what is independent. With
    --counts there is no log.
    """
    from cranfield import online
    from cranfield.online.interleaving.credits_of_log import teams_of
    from cranfield.significance.corrections.of_pvalues import LAWS

    draws: dict[str, Any] = {"confidence": confidence, "resamples": resamples, "seed": seed}
    names = None if rankers is None else [one.strip() for one in rankers.split(",")]
    if counts is not None:
        if logs or unit is not None:
            raise PolicyError("--counts are of independent impressions: no LOG, and no --unit")
        made = online.preference_of(
            *counts, names=names or "AB", expected=expected, confidence=confidence
        )
        write_findings(_of_two(made), format, _checked(table, "preference"), output)
        return
    if not logs:
        raise PolicyError("no LOG was given, and no --counts")
    check_choice("correction of p-values", correction, LAWS)
    log = reading.read(logs)
    if runs:
        interleaved = online.interleave_runs([*runs])
        names, draws["lists"] = names or [*interleaved.rankers], interleaved.lists
    teams = names or teams_of(log)
    if runs or len(teams) == 2:
        tell_without_effect(("correction",), "there is one pair of rankers")
        made = online.preference(log, unit, names=teams, clicks=clicks, expected=expected, **draws)
        found = _of_two(made)
        table = _checked(table, "preference")
    else:
        if expected != 0.5:
            raise PolicyError("--expected is of two rankers")
        many = online.preference_matrix(
            log, unit, names=teams, clicks=clicks, correction=correction, **draws
        )
        pairs = many.to_polars()
        said = [f"note: a cycle: {' > '.join([*one, one[0]])}" for one in many.cycles()]
        heading = [repr(many), *said, *(f"note: {note}" for note in many.notes)]
        shown = from_frame(pairs, "Preferences, pair by pair")
        found = Findings(heading, [shown], {"pairs": (pairs, ("first", "second"))}, {})
        table = _checked(table, "pairs")
    about = {"log": log.source, "clicks": clicks, "odd": log.odd}
    found = Findings(found.heading, found.tables, found.frames, {**found.about, **about})
    write_findings(found, format, table, output)


def _checked(table: str | None, only: str) -> str | None:
    if table is not None:
        check_table(table, (only,))
    return table


def _of_two(found: Any) -> Findings:
    frame: pl.DataFrame = found.to_polars()
    counts = ("wins", "losses", "ties", "unit_wins", "unit_losses", "unit_ties")
    more = ("names", "unit", "expected", "pvalue", "z", "confidence")
    about = {name: getattr(found, name) for name in (*counts, *more, "resamples", "seed")}
    heading = [*str(found).splitlines(), found.summary()]
    level = f"{100 * found.confidence:g}% confidence intervals"
    title = f"{found.names[0]} against {found.names[1]}, {level}"
    return Findings(
        heading,
        [from_frame(frame, title)],
        {"preference": (frame, ("statistic", "of"))},
        {**about, "summary": found.summary()},
    )
