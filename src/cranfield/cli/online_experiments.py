"""Commands of experiments: `assign`, `experiment`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.online_logs import LogOptions, log_options
from cranfield.cli.options.declaring import (
    READ,
    WRITTEN,
    command,
    option,
    settings,
    tell_without_effect,
)
from cranfield.cli.options.judging import one_of, resamples_option
from cranfield.cli.options.output import output_option, write_results
from cranfield.cli.options.signatures import options_from
from cranfield.result import WRITERS, check_table, together

if TYPE_CHECKING:
    pass


EPILOG = """\b
Examples:
  cranfield online assign users.csv --name "new ranker"
  cranfield online assign users.txt --name e7 --weights control=0.9,new=0.1 -o assigned.csv
  cranfield online assign users.csv --name e7 --layer search --traffic 0-0.5
  cranfield online assign users.csv --name e7 --check
"""

FORMATS = ("csv", "json")
HASHES = ("md5", "growthbook-1", "growthbook-2")


def weights_of(text: str, option: str = "--weights") -> dict[str, float] | list[str]:
    """Read `control=0.5,new=0.5`, or names that share equally."""
    parts = [one.partition("=") for one in text.split(",")]
    if not any(sign for _, sign, _ in parts):
        return [name.strip() for name, _, _ in parts]
    try:
        return {name.strip(): float(share) for name, _, share in parts}
    except ValueError:
        raise PolicyError(f"{option} is such as control=0.5,new=0.5, not {quoted(text)}") from None


@command(epilog=EPILOG)
@click.argument("units", metavar="UNITS", type=READ)
@option("--name", required=True, help="Of the experiment: the salt of its variants.")
@option(
    "--weights",
    default="control,treatment",
    show_default=True,
    help="Variants, or their shares: control=0.9,new=0.1.",
)
@option(
    "--layer",
    help="Salt of the traffic, shared by experiments that exclude each other.",
    goes_with="--traffic",
)
@option(
    "--traffic", default="1", show_default=True, help="Share of units, or part of the layer: 0.5-1."
)
@one_of("--hash", HASHES, "How units become numbers.", "md5")
@option("--unit", default="user", show_default=True, help="Column of the ids.")
@option("--check", is_flag=True, help="Test whether units are spread as they should be.")
@one_of("--format", FORMATS, "How to write the table.", "csv")
@output_option
def assign(
    units: str,
    name: str,
    weights: str,
    layer: str | None,
    traffic: str,
    hash: str,
    unit: str,
    check: bool,
    format: str,
    output: str | None,
) -> None:
    """Assign units to the variants of an experiment, by hash: the same ones at every call.

    UNITS is a table with a column of ids, or text with one id a line. Units that are not in the
    experiment have no variant.
    """
    import polars as pl

    from cranfield.collection.files.writing import write_table
    from cranfield.online import Experiment, check_assignment
    from cranfield.sources.columns import read_table
    from cranfield.sources.schemas import Column, Lines, Schema
    from cranfield.sources.values import ID

    first, dash, last = traffic.partition("-")
    try:
        part = (float(first), float(last)) if dash else float(first)
    except ValueError:
        raise PolicyError(f"--traffic is such as 0.5 or 0.5-1, not {quoted(traffic)}") from None
    experiment = Experiment(name, weights_of(weights), layer, part, hash)
    schema = Schema(
        "table of units",
        (Column(unit, ID, "unit"),),
        lines=Lines((unit,), 1, cut=lambda line: [line.strip()] if line.strip() else []),
    )
    ids = read_table(units, schema).frame[unit]
    if check:
        frame = check_assignment([experiment], ids.unique(maintain_order=True))
    else:
        frame = pl.DataFrame({unit: ids, "variant": experiment.assign(ids)})
    write_table(frame, output or "-", format)


EXPERIMENT_EPILOG = """\b
Examples:
  cranfield online experiment users.csv --unit user --metric revenue --metric "ctr=clicks/pages"
  cranfield online experiment users.csv --metric revenue --control current
  cranfield online experiment users.csv --metric revenue --covariate revenue=revenue_before
  cranfield online experiment pages.csv results.csv clicks.csv -m CTR@3 -m Abandonment
  cranfield online experiment users.csv --metric revenue --segments device,country --time day
  cranfield online experiment users.csv --metric revenue --sequential "CS(tuned=5000)"
  cranfield online experiment users.csv --metric revenue --report experiment.html
"""


@command(
    epilog=EXPERIMENT_EPILOG,
    first="measure metric covariate margin down unit"
    " variant control segments sequential report output",
)
@settings("srm mixed lift theta odd max-queries session-timeout click-actions")
@click.argument("data", metavar="DATA...", nargs=-1, required=True, type=READ)
@option("--measure", "measures", multiple=True, help="DATA is a log: a measure of it.")
@option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="[NAME=]A[/B]",
    help="DATA is a table of units: a column, or the ratio of two.",
)
@option(
    "--covariate",
    "covariates",
    multiple=True,
    metavar="NAME=A[/B]",
    help="Of a metric: columns from before the experiment (CUPED).",
)
@option(
    "--margin",
    "margins",
    multiple=True,
    metavar="NAME=MARGIN",
    help="Test non-inferiority of a metric within a margin: a number is in the unit of the metric,"
    " a percentage such as 2% is relative to the mean of the control.",
)
@option("--down", multiple=True, metavar="NAME", help="A metric that is good when it falls.")
@option("--unit", help="Column of what was randomised, or row; of a log user, session or query.")
@option(
    "--variant",
    default="variant",
    show_default=True,
    help="Column of the variant.",
    goes_with="--metric",
)
@option(
    "--control",
    help="The variant that the others are compared with.",
    detail="By default the one called control, baseline, old, a or 0.",
)
@option("--weights", help="Shares that variants should have: control=0.9,new=0.1.")
@one_of("--srm", ("stop", "warn"), "What a sample ratio mismatch does to the verdict.", "stop")
@one_of("--mixed", ("drop", "error"), "Units in two variants.", "drop")
@one_of(
    "--missing",
    ("error", "drop", "zero"),
    "A unit without a value.",
    "error",
    goes_with="--metric",
)
@one_of(
    "--theta",
    ("pooled", "within"),
    "Units of the covariate's coefficient.",
    "pooled",
    goes_with="--covariate",
)
@one_of("--lift", ("log", "linear", "fieller"), "Limits of relative differences.", "log")
@one_of(
    "--errors",
    ("auto", "delta", "permutation", "bootstrap"),
    "Test: Welch's by the delta method, permutations of its statistic, or a bootstrap of the units;"
    " auto takes permutations if skewness and an unequal split distort Welch's.",
    "auto",
)
@option("--correction", default="holm", show_default=True, help="Of all p-values.")
@options_from("cranfield.compare", "alpha")
@option("--segments", help="Columns whose levels are analysed too, with commas.")
@option("--time", help="Column of the time of a unit: checks by day, order of looks.")
@option("--sequential", help="Valid at every look: CS(tuned=5000), or mSPRT(tau=0.1).")
@option("--looks", help="Numbers of units at which one looks, with commas.")
@option("--oec", help="Overall criterion: weights of metrics, such as ctr=0.7,revenue=0.3.")
@resamples_option(2000, " or permutations of units")
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of permutations and of the bootstrap.",
)
@log_options
@one_of("--format", WRITERS, "How to write the tables.", "text")
@option("--table", metavar="NAME", help="One table of numbers only; all: every table for reading.")
@option(
    "--report", "page", metavar="FILE", help="Also write a report: one page of HTML.", type=WRITTEN
)
@output_option
def experiment(
    data: tuple[str, ...],
    measures: tuple[str, ...],
    metrics: tuple[str, ...],
    covariates: tuple[str, ...],
    margins: tuple[str, ...],
    down: tuple[str, ...],
    weights: str | None,
    segments: str | None,
    looks: str | None,
    oec: str | None,
    reading: LogOptions,
    format: str,
    table: str | None,
    page: str | None,
    output: str | None,
    **how: Any,
) -> None:
    """Analyse an A/B test: check validity first, then report effects.

    DATA is a table with one row per unit, such as a user, or several rows per --unit; or with -m a
    log in any known format, or its tables PAGES RESULTS CLICKS.
    """
    from cranfield import online
    from cranfield.cli.report import command_of
    from cranfield.reporting.page.report_page import report as write_report

    if bool(measures) == bool(metrics):
        raise PolicyError("give -m for a log, or --metric for a table of units")
    if page is not None and output is not None and Path(page).resolve() == Path(output).resolve():
        raise PolicyError("--report and --output are two files")
    named = _metrics(measures, metrics, covariates, margins, down)
    how |= {
        "weights": None if weights is None else weights_of(weights),
        "segments": [] if segments is None else _listed(segments),
        "looks": None if looks is None else _whole(looks),
        "oec": None if oec is None else _numbers(oec.split(","), "--oec"),
    }
    if metrics and len(data) > 1:
        raise PolicyError("a table of units is one file")
    given = reading.read(data) if measures else data[0]
    made = online.analyse_experiment(given, named, **how)
    if not made.resamples:
        tell_without_effect(("resamples", "seed"), "no test of this report draws samples")
    found = together(made)
    if table is not None:
        check_table(table, found.frames)

    def report() -> None:
        if page is not None:
            shown = command_of(click.get_current_context(), "--report")
            parts = [part for one in data for part in (one, one.partition("=")[2]) if part]
            files = [one for one in parts if Path(one).is_file()]
            write_report(made, page, inputs=files, command=shown)

    write_results(found, format, table, output, report)


def _metrics(
    measures: tuple[str, ...],
    metrics: tuple[str, ...],
    covariates: tuple[str, ...],
    margins: tuple[str, ...],
    down: tuple[str, ...],
) -> dict[str, Any]:
    from cranfield.online import Metric

    values = {one: one for one in measures}
    for one in metrics:
        name, sign, value = one.partition("=")
        if (name if sign else one) in values:
            raise PolicyError(f"there are two metrics {quoted(name if sign else one)}")
        values[name if sign else one] = value if sign else one
    pasts, lost = _named(covariates, "--covariate"), _named(margins, "--margin")
    for name in (*pasts, *lost, *down):
        if name not in values:
            raise PolicyError(f"there is no metric {quoted(name)}; there are {', '.join(values)}")
    return {
        name: Metric(value, pasts.get(name), "down" if name in down else None, lost.get(name))
        for name, value in values.items()
    }


def _named(given: Iterable[str], option: str) -> dict[str, str]:
    found = {}
    for one in given:
        name, sign, value = one.rpartition("=")
        if not (name and sign and value):
            raise PolicyError(f"{option} {quoted(one)} is not of the form NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def _numbers(given: Iterable[str], option: str) -> dict[str, float]:
    named = _named(given, option)
    try:
        return {name: float(value) for name, value in named.items()}
    except ValueError:
        raise PolicyError(f"{option} takes numbers, not {quoted(', '.join(given))}") from None


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def _whole(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise PolicyError(f"--looks are whole numbers, not {quoted(text)}") from None
