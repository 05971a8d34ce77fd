"""Commands of experiments: `assign`, `experiment`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, quoted
from cranfield.cli import options as cli
from cranfield.cli.online_logs import LOG_SETTINGS, LogOptions, log_options


def _traffic(
    context: click.Context, param: click.Parameter, text: str
) -> float | tuple[float, float]:
    """Parse a proportion, or an interval of proportions such as 0.5-1."""
    start, dash, stop = text.partition("-")
    try:
        return (float(start), float(stop)) if dash else float(start)
    except ValueError:
        raise PolicyError(
            f"--traffic must be a proportion such as 0.5 or 0.5-1, got {quoted(text)}"
        ) from None


@cli.command()
@cli.settings("traffic layer hash unit")
@click.argument("units", metavar="UNITS", type=cli.READ)
@cli.options_from(
    "cranfield.online.Experiment",
    "name weights traffic layer hash",
    name={"required": True},
    traffic={
        "default": "1",
        "callback": _traffic,
        "help": "Proportion of the units in the experiment, or its part of the layer, such as"
        " 0.5-1.",
    },
)
@cli.option("--unit", default="user", show_default=True, help="Column with the ids of units.")
@cli.option("--check", is_flag=True, help="Test whether units are assigned uniformly.")
@cli.format_option(("csv", "json"), "csv")
@cli.output_option
def assign(
    units: str, unit: str, check: bool, format: str, output: str | None, **design: Any
) -> None:
    """Assign units to the variants of an experiment, deterministically by hash.

    UNITS is a table with a column of ids, or text with one id per line. Units outside the
    experiment get no variant.

    Examples
    --------
    cranfield online assign users.csv --name "new ranker"
    cranfield online assign users.txt --name e7 --weights control=0.9,new=0.1 -o assigned.csv
    cranfield online assign users.csv --name e7 --traffic 0-0.5 --settings layer.yml
    cranfield online assign users.csv --name e7 --check
    """
    import polars as pl

    from cranfield.collection.files.writing import write_table
    from cranfield.online.experiments.design import read_ids

    experiment = cf.online.Experiment(**design)
    ids = read_ids(units, unit)
    if check:
        frame = cf.online.check_assignment([experiment], ids.unique(maintain_order=True))
    else:
        frame = pl.DataFrame({unit: ids, "variant": experiment.assign(ids)})
    write_table(frame, output or "-", format)


_BY_METRIC = {"type": str, "multiple": True, "callback": cli.collect_pairs}


@cli.command(
    first="measure metric covariate margin down unit control segments alpha output report settings"
)
@cli.settings(
    "weights srm mixed missing theta lift errors correction time looks"
    f" oec resamples seed {LOG_SETTINGS}"
)
@click.argument("data", metavar="[DATA]...", nargs=-1, type=cli.READ)
@cli.option(
    "--counts",
    metavar="NAME=X/N,...",
    help="Successes and units by variant, or SUM:SQUARES/N, instead of DATA.",
)
@cli.option(
    "--measure",
    "measures",
    help="Online measure to analyse, if DATA is a log; may be given several times.",
)
@cli.option(
    "--metric",
    "metrics",
    metavar="[NAME=]A[/B]",
    help="Metric to analyse, if DATA is a table of units: a column, or the ratio of two columns;"
    " may be given several times.",
)
@cli.options_from(
    "cranfield.online.Metric",
    "covariate margin",
    covariate={**_BY_METRIC, "flag": "--covariate covariates", "metavar": "NAME=A[/B]"},
    margin={**_BY_METRIC, "flag": "--margin margins", "metavar": "NAME=MARGIN"},
)
@cli.option("--down", help="Metric for which lower is better; may be given several times.")
@cli.options_from(
    "cranfield.online.analyse_experiment",
    "unit control segments variant weights srm mixed missing theta lift errors correction alpha"
    " time sequential looks oec resamples seed",
)
@log_options
@cli.result_options()
@cli.option(
    "--report",
    "page",
    metavar="FILE",
    help="File to write a report to, as one HTML page.",
    type=cli.WRITTEN,
)
def experiment(
    data: tuple[str, ...],
    counts: str | None,
    measures: tuple[str, ...],
    metrics: tuple[str, ...],
    covariates: dict[str, str],
    margins: dict[str, str],
    down: tuple[str, ...],
    reading: LogOptions,
    result_output: cli.ResultOutput,
    page: str | None,
    **options: Any,
) -> None:
    """Analyse an A/B test: check validity first, then report effects.

    DATA is a table with one row per unit, such as a user, or several rows per --unit; with -m it is
    a log in any known format, or its tables PAGES RESULTS CLICKS. --counts replaces DATA.

    Examples
    --------
    cranfield online experiment users.csv --unit user --metric revenue --metric "ctr=clicks/pages"
    cranfield online experiment users.csv --metric revenue --control current
    cranfield online experiment --counts control=500/10000,new=575/10100
    cranfield online experiment users.csv --metric revenue --covariate revenue=revenue_before
    cranfield online experiment pages.csv results.csv clicks.csv -m CTR@3 -m Abandonment
    cranfield online experiment users.csv --metric revenue --segments device,country
    cranfield online experiment users.csv --metric revenue --sequential "CS(tuned=5000)"
    cranfield online experiment users.csv --metric revenue --report experiment.html
    """
    from cranfield.cli.report import command_of

    if counts is None and bool(measures) == bool(metrics):
        raise PolicyError("expected -m MEASURE for a log, or --metric COLUMN for a table of units")
    output = result_output.output
    if page is not None and output is not None and Path(page).resolve() == Path(output).resolve():
        raise PolicyError("--report and --output must be two different files")
    if counts is not None:
        result = _analyse_counts(counts, options)
    elif not data:
        raise PolicyError("expected DATA or --counts, got neither")
    else:
        metric_list = _metrics(measures, metrics, covariates, margins, down)
        if metrics and len(data) > 1:
            raise PolicyError("--metric requires a single table of units")
        source = reading.read(data) if measures else data[0]
        try:
            result = cf.online.analyse_experiment(source, metric_list, **options)
        except PolicyError as error:
            if "totals of many units" not in str(error):
                raise
            advice = "or analyse totals by variant with --counts VARIANT=SUCCESSES/UNITS,..."
            raise PolicyError(f"{error}; {advice}") from None
    if counts is None and not result.resamples:
        cli.warn_unused(("resamples", "seed"), "no test of this report resamples")

    def report() -> None:
        if page is not None:
            line = command_of(click.get_current_context(), "--report")
            paths = [path for text in data for path in (text, text.partition("=")[2]) if path]
            files = [path for path in paths if Path(path).is_file()]
            cf.report(result, page, inputs=files, command=line)

    result_output.write(result, report)


def _analyse_counts(counts: str, options: Mapping[str, Any]) -> cf.online.ExperimentReport:
    """Analyse totals by variant; refuse options that require data of units."""
    from cranfield.online.experiments.totals import parse_totals

    statistical = ("control", "weights", "srm", "lift", "correction", "alpha")
    if click.get_current_context().params["data"]:
        raise PolicyError("DATA cannot be combined with --counts")
    applicable = {*statistical, "counts", "page", "format", "table", "output", "settings"}
    cli.refuse_other_options(applicable, "cannot be combined with --counts")
    return cf.online.analyse_totals(
        parse_totals(counts), **{name: options[name] for name in statistical}
    )


def _metrics(
    measures: tuple[str, ...],
    metrics: tuple[str, ...],
    covariates: dict[str, str],
    margins: dict[str, str],
    down: tuple[str, ...],
) -> dict[str, cf.online.Metric]:
    """Make metrics from measures of a log, or from columns of a table."""

    values = {measure: measure for measure in measures}
    for text in metrics:
        name, sign, value = text.partition("=")
        if name in values:
            raise PolicyError(f"metric {quoted(name)} must be given only once")
        values[name] = value if sign else text
    for name in (*covariates, *margins, *down):
        if name not in values:
            raise PolicyError(
                f"unknown metric {quoted(name)}; expected one of: {', '.join(values)}"
            )
    directions = dict.fromkeys(down, "down")
    return {
        name: cf.online.Metric(value, covariates.get(name), directions.get(name), margins.get(name))
        for name, value in values.items()
    }
