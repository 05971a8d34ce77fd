"""Commands of experiments: `assign`, `experiment`, `interleave`, `preference`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, quote
from cranfield.base.kinds import Numbers
from cranfield.base.text import inflect, list_some, sanitise
from cranfield.cli import options as cli
from cranfield.cli.online_logs import LOG_SETTINGS, log_options, read_log
from cranfield.result import Result, combine_results
from cranfield.tabular import tabulate_frame


def _parse_traffic(
    context: click.Context, param: click.Parameter, text: str
) -> float | tuple[float, float]:
    """Parse a proportion, or an interval of proportions such as 0.5-1."""
    start, dash, stop = text.partition("-")
    try:
        return (float(start), float(stop)) if dash else float(start)
    except ValueError:
        raise PolicyError(
            f"--traffic must be a proportion or a range, such as 0.5 or 0.5-1, got {quote(text)}"
        ) from None


@cli.command()
@cli.settings("traffic layer hash unit")
@click.argument("units", metavar="UNITS", type=cli.INPUT_FILE)
@cli.options_from(
    "cranfield.online.Experiment",
    "name weights traffic layer hash",
    name={"required": True},
    traffic={
        "default": "1",
        "callback": _parse_traffic,
        "help": "Proportion of the units that are in the experiment, such as 0.5, or the part of"
        " the layer that it uses, such as 0.5-1.",
    },
)
@cli.own_options("unit check")
@cli.make_format_option(("csv", "json"), "csv")
@cli.output_option
def assign(
    units: str,
    *,
    unit: str = "user",
    check: bool = False,
    format: str,
    output: str | None,
    **design: Any,
) -> None:
    """Assign units to the variants of an experiment, deterministically by hash.

    UNITS is a table with a column of ids, or text with one id per line. Units outside the
    experiment get no variant.

    Parameters
    ----------
    unit
        Column with the ids of units.
    check
        Test whether units are assigned uniformly.

    Examples
    --------
    cranfield online assign users.csv --name "new ranker"
    cranfield online assign users.txt --name e7 --weights control=0.9,new=0.1 -o assigned.csv
    cranfield online assign users.csv --name e7 --settings layer.yml
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


_METRIC_PAIRS = {"type": str, "multiple": True, "callback": cli.collect_pairs}


@cli.command(
    common="measure metric covariate margin lower-is-better unit control segments alpha output"
    " report settings"
)
@cli.settings(
    "weights srm mixed missing theta lift errors correction time looks"
    f" oec resamples seed {LOG_SETTINGS}"
)
@click.argument("data", metavar="[DATA]...", nargs=-1, type=cli.INPUT_FILE)
@cli.own_options(
    "counts measure=measures metric=metrics",
    counts={"metavar": "NAME=X/N,..."},
    metrics={"metavar": "[NAME=]A[/B]"},
)
@cli.options_from(
    "cranfield.online.Metric",
    "covariate margin",
    covariate={**_METRIC_PAIRS, "flag": "--covariate covariates", "metavar": "NAME=A[/B]"},
    margin={**_METRIC_PAIRS, "flag": "--margin margins", "metavar": "NAME=MARGIN"},
)
@cli.own_options("lower_is_better")
@cli.options_from(
    "cranfield.online.analyse_experiment",
    "unit control segments variant weights srm mixed missing theta lift errors correction alpha"
    " time sequential looks oec resamples seed",
)
@log_options
@cli.make_result_options()
@cli.own_options("report=page")
@cli.options_from("cranfield.report", "title", title={"requires": "--report"})
def experiment(
    data: tuple[str, ...],
    *,
    counts: str | None,
    measures: tuple[str, ...] = (),
    metrics: tuple[str, ...] = (),
    covariates: dict[str, str],
    margins: dict[str, str],
    lower_is_better: tuple[str, ...] = (),
    log_options: dict[str, Any],
    result_output: cli.ResultOutput,
    page: str | None,
    title: str,
    **options: Any,
) -> None:
    """Analyse an A/B test: check validity first, then report effects.

    DATA is a table with one row per unit, such as a user, or several rows per --unit; with -m, DATA
    is a log in any known format, or its tables PAGES RESULTS CLICKS. --counts replaces DATA.

    Parameters
    ----------
    counts
        Numbers of successes and units of each variant, instead of DATA; for means, the sum, the sum
        of squares and the number of values (SUM:SQUARES/N).
    measures
        Online measure to analyse, if DATA is a log; may be given several times.
    metrics
        Metric to analyse, if DATA is a table of units: a column, or the ratio of two columns; may
        be given several times.
    lower_is_better
        Metric for which lower is better; may be given several times.
    page
        File to write a report to, as one HTML page.

    Examples
    --------
    cranfield online experiment users.csv --unit user --metric revenue --metric "ctr=clicks/pages"
    cranfield online experiment --counts control=500/10000,new=575/10100
    cranfield online experiment users.csv --metric revenue --covariate revenue=revenue_before
    cranfield online experiment pages.csv results.csv clicks.csv -m CTR@3 -m Abandonment
    cranfield online experiment users.csv --metric revenue --sequential "CS(tuned=5000)"
    cranfield online experiment users.csv --metric revenue --report experiment.html
    """
    from cranfield.cli.report import list_command_words
    from cranfield.online.experiments.unit_rows import TotalsError
    from cranfield.online.log.reading import find_log

    if counts is None and bool(measures) == bool(metrics):
        raise PolicyError(
            "expected either -m MEASURE (for a log) or --metric COLUMN (for a table of units), got"
            f" {'both' if measures else 'neither'}"
        )
    required_options = {"segments": "segments", "interactions": "segments", "looks": "sequential"}
    absent = {table: f"--{name}" for table, name in required_options.items() if not options[name]}
    result_output.check(cf.online.ExperimentReport.get_columns(), absent)
    output = result_output.output
    if page is not None and output is not None and Path(page).resolve() == Path(output).resolve():
        raise PolicyError(f"--report and --output must differ, got {quote(page)} for both")
    if counts is not None:
        result = _analyse_counts(counts, options, margins, lower_is_better)
    elif not data:
        raise PolicyError("expected DATA or --counts, got neither")
    else:
        metric_list = _make_metrics(measures, metrics, covariates, margins, lower_is_better)
        if metrics and len(data) > 1:
            remedy = "join them into one table with a column of variants"
            expected = "--metric requires a single table of units"
            raise PolicyError(f"{expected}, got {len(data)} files; {remedy}")
        source = read_log(data, log_options) if measures else data[0]
        try:
            result = cf.online.analyse_experiment(source, metric_list, **options)
        except TotalsError as error:
            example = "NAME=X/N,... or, for means, NAME=SUM:SQUARES/N,..."
            advice = f"or give the totals of each variant as --counts {example}"
            raise PolicyError(f"{error}; {advice}") from None
    if counts is None and not result.resamples:
        cli.warn_unused(("resamples", "seed"), "no test of this experiment resamples")
    measure_list = [cf.online.parse_online_measure(measure) for measure in measures]
    if result.unit != "session" and not any(("pages", "session") in m.needs for m in measure_list):
        cli.warn_unused(("session_timeout",), "no requested measure uses sessions")

    def write_report() -> None:
        if page is not None:
            command = list_command_words(click.get_current_context(), "--report")
            # An argument may be NAME=FILE, a table of a log.
            paths = [path for text in data for path in (text, text.partition("=")[2]) if path]
            if measures and Path(paths[0]).is_dir():
                _, tables = find_log(Path(paths[0]), log_options["log_format"])
                paths = [path for path in tables if path is not None]
            files = [path for path in paths if Path(path).is_file()]
            cf.report(result, page, inputs=files, command=command, title=title)

    result_output.write(result, write_report)


def _analyse_counts(
    counts: str,
    options: Mapping[str, Any],
    margins: dict[str, str],
    lower_is_better: tuple[str, ...],
) -> cf.online.ExperimentReport:
    """Analyse totals by variant; refuse options that require data of units."""
    from cranfield.online.experiments.totals import name_metric, parse_totals

    analysis_options = ("control", "weights", "srm", "lift", "correction", "alpha")
    if click.get_current_context().params["data"]:
        raise PolicyError("DATA cannot be combined with --counts, which replaces it")
    applicable_options = {*analysis_options, "counts", "margins", "lower_is_better", "page"}
    applicable_options |= {"format", "table", "output", "settings"}
    cli.refuse_other_options(applicable_options, "cannot be combined with --counts")
    totals = parse_totals(counts)
    name = name_metric(totals)
    _check_metric_names([*margins, *lower_is_better], [name])
    settings: dict[str, Any] = {option: options[option] for option in analysis_options}
    better = "lower" if lower_is_better else "higher"
    return cf.online.analyse_totals(totals, better=better, margin=margins.get(name), **settings)


def _check_metric_names(names: Iterable[str], metrics: Iterable[str]) -> None:
    for name in names:
        if name not in metrics:
            expected = f"expected one of: {', '.join(metrics)}"
            raise PolicyError(f"unknown metric {quote(name)}; {expected}")


def _make_metrics(
    measures: tuple[str, ...],
    metrics: tuple[str, ...],
    covariates: dict[str, str],
    margins: dict[str, str],
    lower_is_better: tuple[str, ...],
) -> dict[str, cf.online.Metric]:
    """Make metrics from measures of a log, or from columns of a table."""
    values = {measure: measure for measure in measures}
    for text in metrics:
        name, sign, value = text.partition("=")
        if sign and not name.strip():
            raise PolicyError(f"--metric must be [NAME=]A[/B], got {quote(text)}")
        if name in values:
            raise PolicyError(f"metric {quote(name)} must be given only once")
        values[name] = value if sign else text
    _check_metric_names([*covariates, *margins, *lower_is_better], values)
    directions = dict.fromkeys(lower_is_better, "lower")
    return {
        name: cf.online.Metric(value, covariates.get(name), directions.get(name), margins.get(name))
        for name, value in values.items()
    }


RUN_SUFFIXES = (".run", ".txt", ".trec")  # of output files that are written as runs
PREFERENCE_TABLES = ("preference", "pairs", "strengths", "position")


@cli.command()
@cli.settings(f"ties jobs {cli.READING_SETTINGS}")
@click.argument("runs", metavar="RUN...", nargs=-1, type=cli.INPUT_FILE)
@cli.options_from("cranfield.online.interleave_runs", "method length ties")
@cli.options_from(
    "cranfield.online.InterleavedRuns.draw",
    "n seed jobs",
    n={"flag": "--impressions impressions", "type": cli.IntegerRange(1)},
    seed={"default": 0},
)
@cli.options_from(
    "cranfield.online.InterleavedRuns.draw_for",
    "pages",
    pages={
        "flag": "--keys keys",
        "requires": "!--impressions",
        "help": "Table with the columns page and query; one list is drawn for each page.",
    },
)
@cli.gather_options(cli.ReadingOptions, "reading", cli.reading_options)
@cli.own_options("list=list_methods format")
@cli.output_option
def interleave(
    runs: tuple[str, ...],
    *,
    impressions: int | None,
    seed: int,
    jobs: int | None,
    keys: str | None,
    reading: cli.ReadingOptions,
    list_methods: bool = False,
    format: Literal["auto", "jsonl", "json", "tsv", "csv", "parquet", "trec"] = "auto",
    output: str | None,
    **method: Any,
) -> None:
    """Interleave runs into lists that record the run of each document.

    The list of a page does not depend on other pages. `cranfield online preference` analyses the
    clicks on these lists.

    Parameters
    ----------
    list_methods
        List the interleaving methods.
    format
        Output format: a line per page (jsonl), a row per document (json, tsv, csv, parquet), or a
        run with pages as topics (trec); auto detects it by the suffix.

    Examples
    --------
    cranfield online interleave a.run b.run --impressions 1000 -o lists.jsonl
    cranfield online interleave a.run b.run --method "Probabilistic(tau=1)" --keys pages.csv
    cranfield online interleave runs/ --method PPM --length 5 --impressions 100 --format trec
    cranfield online interleave --list
    """
    from cranfield.collection.files.writing import write_table
    from cranfield.online.interleaving.interleaver import write_lists

    if format == "parquet" and output in {None, "-"}:
        raise PolicyError("--format parquet requires --output FILE")
    if format == "auto" and PurePath(output or "").suffix.lower() in RUN_SUFFIXES:
        format = "trec"
    if list_methods:
        cli.refuse_listing("list_methods format output", runs, "RUN")
        methods = cf.online.interleaving_methods()
        if format in {"auto", "trec"}:
            cli.write(f"{tabulate_frame(methods, 'Interleaving methods')}\n", output)
        else:
            write_table(methods, output or "-", format)
        return
    if not runs:
        raise PolicyError("expected RUN..., or --list to list the methods, got neither")
    if impressions is None and keys is None:
        raise PolicyError(
            "expected a number of lists (--impressions N) or a table of pages (--keys FILE), got"
            " neither"
        )
    interleaved_runs = cf.online.interleave_runs(reading.find_runs(None, runs), **method)
    draw: Any = interleaved_runs.draw if keys is None else interleaved_runs.draw_for
    lists = draw(impressions if keys is None else keys, seed, jobs=jobs)
    write_lists(lists, output or "-", "jsonl" if format == "auto" else format)
    if interleaved_runs.missing_topics:
        topics_text = inflect(len(interleaved_runs.missing_topics), "topic")
        names = list_some(interleaved_runs.missing_topics, 5)
        click.echo(sanitise(f"note: excluded {topics_text} that some runs lack: {names}"), err=True)


@cli.command()
@cli.settings(f"rankers expected confidence correction resamples seed {LOG_SETTINGS}")
@click.argument("logs", metavar="LOG...", nargs=-1, type=cli.INPUT_FILE)
@cli.own_options(
    "votes counts", votes={"requires": "!LOG !--counts !--rankers"}, counts={"metavar": "W,L,T"}
)
@cli.options_from("cranfield.online.preference", "unit clicks", requires="LOG")
@cli.options_from("cranfield.online.preference", "resamples seed", requires=("LOG", "--votes"))
@cli.options_from(
    "cranfield.online.preference_matrix",
    "rankers=names correction",
    correction={"requires": ("LOG", "--votes")},
)
@cli.options_from("cranfield.online.preference", "expected", requires="!--votes")
@cli.options_from("cranfield.online.preference", "confidence")
@cli.own_options("runs", requires="LOG")
@log_options
@cli.make_result_options(PREFERENCE_TABLES)
def preference(
    logs: tuple[str, ...],
    *,
    votes: str | None,
    counts: Annotated[list[int] | None, Numbers(0)],
    names: list[str] | None,
    runs: tuple[str, ...] = (),
    expected: float,
    correction: str,
    confidence: float,
    log_options: dict[str, Any],
    result_output: cli.ResultOutput,
    **options: Any,
) -> None:
    """Test which rankers users prefer, by their clicks on interleaved pages.

    LOG is a file or folder in any known format, its tables PAGES RESULTS CLICKS, or the lists of
    `cranfield online interleave` and a table of clicks. Each result has the team (ranker) that
    contributed it; for interleaving methods without teams, give --runs. If users return, set --unit
    to the unit whose clicks are independent, such as user. --counts replaces the log, and --votes
    ranks systems by side-by-side preferences.

    Parameters
    ----------
    votes
        Table of side-by-side preferences, of a language model or of people, instead of a log:
        topic, system_a, system_b, winner (a, b, tie) and, optionally, order (the system shown
        first).
    counts
        Numbers of wins, losses and ties (by default 0), instead of a log.
    runs
        One of the two interleaved runs, for methods that assign no teams; give the option twice.

    Examples
    --------
    cranfield online preference log.jsonl --unit user
    cranfield online preference pages.csv results.csv clicks.csv --clicks sat
    cranfield online preference log.parquet --unit session --format json -o preference.json
    cranfield online preference lists.jsonl clicks.csv --runs a.run --runs b.run --unit user
    cranfield online preference --counts 40,109,374 --settings expected.yml
    cranfield online preference --votes side-by-side.csv --table strengths
    """
    from cranfield.online.interleaving.log_preference import list_teams

    absent = dict.fromkeys(("strengths", "position"), "--votes") if votes is None else {}
    result_output.check(PREFERENCE_TABLES, absent)
    result: Result
    options["confidence"] = confidence
    facts: dict[str, Any] = {}
    if votes is not None:
        resampling = {name: options[name] for name in ("resamples", "seed", "confidence")}
        result = cf.online.side_by_side(votes, correction=correction, **resampling)
    elif counts is not None:
        if logs:
            raise PolicyError(
                "--counts cannot be combined with LOG or --unit, as it requires independent"
                " impressions"
            )
        if len(counts) not in (2, 3):
            text = ",".join(map(str, counts))
            raise PolicyError(f"--counts must be W,L or W,L,T, such as 40,109,374, got {text}")
        result = cf.online.preference_of(
            *counts, names=names or ["A", "B"], expected=expected, confidence=confidence
        )
    elif not logs:
        raise PolicyError("expected LOG, --counts W,L,T or --votes FILE, got none")
    else:
        log = read_log(logs, log_options)
        if runs:
            interleaved_runs = cf.online.interleave_runs([*runs])
            names, options["lists"] = names or [*interleaved_runs.rankers], interleaved_runs.lists
        teams = names or list_teams(log)
        if runs or len(teams) == 2:
            cli.warn_unused(("correction",), "there is only one pair of rankers")
            result = cf.online.preference(log, names=teams, expected=expected, **options)
        else:
            cli.refuse_options(("expected",), f"requires two rankers, got {len(teams)}")
            result = cf.online.preference_matrix(log, names=teams, correction=correction, **options)
        facts = {"log": log.source, "clicks": options["clicks"], "anomalies": log.anomalies}
    result_output.write(combine_results(result, **facts))
