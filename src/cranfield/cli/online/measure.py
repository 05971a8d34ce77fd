"""`cranfield online measure`: what users did, by measures of clicks, times and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.logs import LogOptions, log_options
from cranfield.cli.options.output import output_option, write_findings
from cranfield.meta.study import Findings
from cranfield.reporting.text.studies import WRITERS, check_table
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl

    from cranfield.online import QueryLog

EPILOG = """\b
Examples:
  cranfield online measure log.parquet
  cranfield online measure pages.csv results.csv clicks.csv -m CTR@3 -m SATRate --by variant
  cranfield online measure sessions.xml -m "ClickRR(first='rank')" -m TimeToClick --survival
  cranfield online measure log.jsonl --by query --by variant --format csv -o by-query.csv
  cranfield online measure --list
"""

BY = ("variant", "user", "query", "session", "page")
TABLES = ("measures", "survival", "logrank")


@command(epilog=EPILOG)
@click.argument("logs", metavar="LOG...", nargs=-1, type=READ)
@option(
    "--measure",
    "asked",
    multiple=True,
    help="Such as CTR@3; may be given several times. By default all that the log allows.",
)
@option("--by", multiple=True, type=click.Choice(BY), help="A value of each; may be given twice.")
@option(
    "--labels",
    metavar="FILE",
    help="Labels of pages, for good abandonment: page, label.",
    type=READ,
)
@option("--survival", is_flag=True, help="Kaplan-Meier and log-rank of the times among them.")
@option("--list", "listed", is_flag=True, help="List the measures there are.")
@log_options
@one_of("--format", WRITERS, "How to write the tables.", "text")
@option("--table", metavar="NAME", help=f"One table only: {', '.join(TABLES)}.")
@output_option
def measure(
    logs: tuple[str, ...],
    asked: tuple[str, ...],
    by: tuple[str, ...],
    labels: str | None,
    survival: bool,
    listed: bool,
    reading: LogOptions,
    format: str,
    table: str | None,
    output: str | None,
) -> None:
    """Measure what users did: clicks, ranks, times, abandonment, sessions, loyalty.

    LOG is one file or folder in any form that is known; or its tables PAGES RESULTS CLICKS; or
    PAGES and one of these, which its columns tell, or clicks=FILE or results=FILE.
    """
    if listed:
        write_findings(_catalogue(), format, None, output)
        return
    if not logs:
        raise PolicyError("no LOG was given; --list lists the measures")
    if table is not None:
        check_table(table, TABLES if survival else TABLES[:1])
    from cranfield import online
    from cranfield.online.measures.survival import INDEPENDENT

    wanted = [online.parse_online_measure(one) for one in asked] or None
    log = reading.read(logs)
    found = online.measure(log, wanted, list(by), labels=labels)
    units = found.to_polars()
    shown = units if not by else found.wide()
    heading = [repr(log)]
    tables = [from_frame(shown.drop("total", "number", strict=False), _title(by))]
    frames: dict[str, tuple[pl.DataFrame, Any]] = {"measures": (units, (*by, "measure"))}
    notes = found.notes()
    if survival:
        lasting = [one for one in found.measures if one.lasts]
        if not lasting:
            raise PolicyError("--survival is for times, such as TimeToClick and AbsenceTime")
        more, frames_of_times = _survival(log, lasting)
        tables += more
        frames |= frames_of_times
        notes += [INDEPENDENT] if "logrank" in frames else []
    heading += [f"note: {note}" for note in notes]
    about = {"log": log.source, "by": list(by), "odd": log.odd, "notes": notes}
    write_findings(Findings(heading, tables, frames, about), format, table, output)


def _title(by: tuple[str, ...]) -> str:
    return f"Measures by {' and '.join(by)}" if by else "Measures"


def _survival(log: QueryLog, measures: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Estimate times of all pages, or of each variant where there are any."""
    import polars as pl

    from cranfield import online

    by = "variant" if "variant" in log.pages.columns else None
    found = [online.survival(log, one, by) for one in measures]
    key = by or "log"
    rows = [one.table.insert_column(0, pl.lit(one.measure).alias("measure")) for one in found]
    # A column in which a part has nothing is of no type there.
    times = pl.concat(
        [
            part.with_columns(horizon=pl.lit(one.horizon))
            for part, one in zip(rows, found, strict=True)
        ],
        how="vertical_relaxed",
    )
    tests = pl.concat(
        [one.tests.insert_column(0, pl.lit(one.measure).alias("measure")) for one in found],
        how="vertical_relaxed",
    )
    tables = [from_frame(times, "Times, as Kaplan and Meier estimate them")]
    frames: dict[str, Any] = {"survival": (times, ("measure", key))}
    if tests.height:
        tables.append(from_frame(tests, f"Log-rank tests, {found[0].correction}"))
        frames["logrank"] = (tests, ("measure", "first", "second"))
    return tables, frames


def _catalogue() -> Findings:
    from cranfield import online

    every = online.catalogue()
    shown = every.select("measure", "of", "parameters", "what it tells", "needs")
    return Findings([], [from_frame(shown, "Online measures")], {"list": (every, ("measure",))}, {})
