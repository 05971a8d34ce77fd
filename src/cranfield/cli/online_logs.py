"""Commands on query logs: `measure`, `train`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.text import inflect
from cranfield.cli import options as cli
from cranfield.result import ResultSet
from cranfield.tabular import tabulate_frame

if TYPE_CHECKING:
    from cranfield.online.click_models.model import PageModel


LOG_SETTINGS = "max-pages session-timeout"


def read_log(files: tuple[str, ...], log_options: Mapping[str, Any]) -> cf.online.QueryLog:
    """Read a log from a file or folder, or from two or three tables."""
    from cranfield.online.log.reading import read_files

    options = {**log_options}
    log_format, timeout = options.pop("log_format"), options.pop("session_timeout", None)
    try:
        log = read_files(files, format=log_format, **options)
    except InputError as error:
        has_totals = "'impressions'" in error.reason and "'clicks'" in error.reason
        if not has_totals and "may be the count of rows" not in error.reason:
            raise
        advice = "`online measure --totals` reads totals of impressions and clicks"
        reason = f"{error.reason}; {advice}"
        raise InputError(reason, source=error.source, line=error.line) from None
    return log if timeout is None else cf.online.sessionise(log, timeout)


# An experiment may have a table of units instead of a log.
_LOG_GROUP: dict[str, Any] = {"group": "Log", "requires": ("LOG", "--measure")}

_READING = cli.make_options(
    "cranfield.online.read_log",
    "format on_anomaly max_pages click_actions",
    format={"flag": "--log-format"},
    **_LOG_GROUP,
)
_SESSIONS = cli.make_options(
    "cranfield.online.sessionise",
    "timeout",
    timeout={"flag": "--session-timeout", "default": None},
    **_LOG_GROUP,
)

log_options = cli.gather_options(dict, "log_options", (*_READING, *_SESSIONS))
"""Options of reading a log; a command gets them as `log_options`."""

SURVIVAL = {
    "survival": ("Times, Kaplan-Meier estimates", 2),
    "logrank": ("Log-rank tests (Holm)", 3),
}
"""Titles of the tables of the survival analysis, and the number of their key columns."""

TABLES = ("measures", *SURVIVAL)


@cli.command()
@cli.settings(f"labels {LOG_SETTINGS}")
@click.argument("logs", metavar="LOG...", nargs=-1, type=cli.INPUT_FILE)
@cli.options_from(
    "cranfield.online.measure",
    "measure=measures by labels",
    measures="Online measure, such as CTR@3; may be given several times. By default all"
    " measures whose columns the log has.",
    by="Column by which to group pages; may be given several times. By default the whole log is"
    " one group.",
    labels="Table with the columns page and label, for measures of good abandonment.",
)
@cli.own_options("survival totals list=list_measures")
@log_options
@cli.make_result_options(TABLES)
def measure(
    logs: tuple[str, ...],
    *,
    measures: tuple[str, ...],
    by: tuple[str, ...],
    labels: str | None,
    survival: bool = False,
    totals: bool = False,
    list_measures: bool = False,
    log_options: dict[str, Any],
    result_output: cli.ResultOutput,
) -> None:
    """Compute online measures of a log: clicks, times, abandonment, sessions, loyalty.

    LOG is a file or folder in any known format; or its tables PAGES RESULTS CLICKS; or PAGES with
    RESULTS or CLICKS, detected by the columns or named as clicks=FILE or results=FILE.

    Parameters
    ----------
    survival
        Also report Kaplan-Meier estimates of the measures of time, and log-rank tests, by variant
        if the log has variants.
    totals
        LOG is a table of totals (query, doc, rank, impressions, clicks); report the click rate and
        the clicks over expected clicks (COEC).
    list_measures
        List the online measures.

    Examples
    --------
    cranfield online measure log.parquet
    cranfield online measure pages.csv results.csv clicks.csv -m CTR@3 -m SATRate --by variant
    cranfield online measure sessions.xml -m "ClickRR(first='rank')" -m TimeToClick --survival
    cranfield online measure log.jsonl --by query --by variant --format csv -o by-query.csv
    cranfield online measure clicks-by-document.csv --totals
    cranfield online measure --list
    """
    from cranfield.online.measures.survival import INDEPENDENCE_NOTE, concatenate_survival_tables

    if list_measures:
        cli.refuse_listing("list_measures format table output", logs, "LOG")
        catalogue = cf.online.catalogue()
        columns = ("measure", "kind", "parameters", "description", "needs")
        tables = [tabulate_frame(catalogue.select(columns), "Online measures")]
        result_output.write(ResultSet([], tables, {"list": (catalogue, ("measure",))}, {}))
        return
    if not logs:
        raise PolicyError("expected LOG, or --list to list the measures, got neither")
    if totals:
        applicable_options = ("logs", "totals", "format", "table", "output", "settings")
        cli.refuse_other_options(applicable_options, "cannot be combined with --totals")
        if len(logs) > 1:
            raise PolicyError(f"--totals requires a single table, got {len(logs)} files")
        result_output.write(cf.online.coec_of_totals(logs[0]))
        return
    result_output.check(TABLES, {} if survival else dict.fromkeys(SURVIVAL, "--survival"))
    measure_list = [cf.online.parse_online_measure(name) for name in measures] or None
    log = read_log(logs, log_options)
    values = cf.online.measure(log, measure_list, list(by), labels=labels)
    value_frame = values.to_polars()
    wide_frame = values.pivot_measures() if by else value_frame.drop("total", "count")
    tables = [tabulate_frame(wide_frame, f"Measures by {' and '.join(by)}" if by else "Measures")]
    frames_with_keys: dict[str, Any] = {"measures": (value_frame, (*by, "measure"))}
    notes = values.notes
    if survival:
        times = [measure for measure in values.measures if measure.may_be_censored]
        if not times:
            got = ", ".join(map(str, values.measures))
            raise PolicyError(f"--survival requires a measure of time (TimeToClick), got {got}")
        for name, frame in concatenate_survival_tables(log, times).items():
            title, n_keys = SURVIVAL[name]
            tables.append(tabulate_frame(frame, title))
            frames_with_keys[name] = frame, frame.columns[:n_keys]
        notes += [INDEPENDENCE_NOTE] if "logrank" in frames_with_keys else []
    heading = [repr(log), *(f"note: {note}" for note in notes)]
    facts = {"log": log.source, "by": list(by), "anomalies": log.anomalies, "notes": notes}
    result_output.write(ResultSet(heading, tables, frames_with_keys, facts))


KEYS = {
    "models": ("model",),
    "ranks": ("model", "rank"),
    "parameters": ("model", "parameter", "key"),
    "gain": ("model", "baseline"),
    "relevance": ("model",),
}

MAX_VALUES = 12  # maximum number of values of a parameter in text output


@cli.command(
    common="model tied held-out qrels measure baseline log-format on-anomaly format table output"
    " settings"
)
@cli.settings("resamples seed max-pages")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.options_from(
    "cranfield.online.train_models",
    "model=models tied",
    models={
        "default": ("DBN",),
        "help": "Click model, such as UBM or DBN(gamma=0.9), or all; may be given several times.",
    },
)
@cli.own_options("held_out qrels", held_out={"metavar": "LOG"}, qrels={"type": cli.INPUT_FILE})
@cli.options_from(
    "cranfield.online.predict_relevance",
    "measure=measures",
    requires="--qrels !--tied=grade",
    measures="Measure that scores the ranking of documents by estimated relevance; may be given"
    " several times.",
)
@cli.own_options("baseline", baseline={"metavar": "MODEL"})
@cli.options_from("cranfield.online.perplexity_gain", "seed resamples", requires="--baseline")
@cli.gather_options(dict, "log_options", _READING)  # click models do not use sessions
@cli.make_result_options(KEYS, output=None)
@cli.own_options("output=path")
def train(
    logs: tuple[str, ...],
    *,
    models: tuple[str, ...],
    tied: str | None,
    held_out: tuple[str, ...] = (),
    qrels: str | None,
    measures: tuple[str, ...],
    baseline: str | None,
    log_options: dict[str, Any],
    result_output: cli.ResultOutput,
    path: str | None,
    **resampling: int,
) -> None:
    """Train click models on a query log, and evaluate how well they predict clicks.

    LOG is a file or folder in any known format, such as a table with one row per displayed result
    and a column for clicks; or its tables PAGES RESULTS CLICKS.

    Parameters
    ----------
    held_out
        Log to evaluate the models on; given several times if it consists of several tables.
    qrels
        Judgments with which to compare the estimated relevance; with --tied grade, judgments that
        give the grades of documents.
    baseline
        Model with whose perplexity the other models are compared.
    path
        File to write the model to, as JSON.

    Examples
    --------
    cranfield online train log.parquet --model DBN -o dbn.json
    cranfield online train monday.csv --held-out tuesday.csv --model PBM --model "DBN(gamma=0.9)"
    cranfield online train log.csv --model DBN --tied grade --qrels qrels.txt --table parameters
    cranfield online train log.csv --model all --qrels qrels.txt --measure nDCG@10 --baseline RCTR
    """
    has_relevance = qrels is not None and tied != "grade"
    required_options = {"gain": "--baseline"} if baseline is None else {}
    required_options |= {} if has_relevance else {"relevance": "--qrels without --tied grade"}
    result_output.check(KEYS, required_options)
    import polars as pl

    from cranfield.online.click_models.evaluation import (
        compute_perplexity_gains,
        tabulate_parameters,
    )

    model_list, base_model = _parse_models(models, baseline, path)
    query_logs = [read_log(files, log_options) for files in (logs, held_out) if files]
    if tied == "grade" and qrels is not None:
        judgments = cf.read_qrels(qrels)
        query_logs = [cf.online.add_grades(log, judgments) for log in query_logs]
    train_log, test_log = query_logs[0], query_logs[-1]
    fits = cf.online.train_models(train_log, model_list, tied=tied)
    evaluation = cf.online.evaluate_models(fits, test_log)
    parameters = tabulate_parameters(fits)
    frames = {**evaluation.frames(), "parameters": parameters}
    short_lists = parameters.filter(pl.len().over("model", "parameter") <= MAX_VALUES)
    n_hidden = parameters.height - short_lists.height
    title = f"Parameters; {inflect(n_hidden, 'value')} omitted" if n_hidden else "Parameters"
    table = tabulate_frame(short_lists, title, places={"hits": 1, "trials": 1})
    tables = [*evaluation.tables()[:1], table]
    if base_model is not None:
        frames["gain"] = compute_perplexity_gains(fits, base_model, test_log, **resampling)
        tables.append(tabulate_frame(frames["gain"], f"Perplexity gain over {base_model}, 95% CI"))
    if has_relevance:
        document_fits = [fit for fit in fits if "item" in fit.model.variables.values()]
        if not document_fits:
            got = ", ".join(str(fit.model) for fit in fits)
            raise PolicyError(f"--qrels requires a model of relevance, such as DBN, got {got}")
        frames["relevance"] = cf.online.predict_relevance(document_fits, qrels, measures)
        tables.append(tabulate_frame(frames["relevance"], "Estimated relevance and judgments"))
    heading = [repr(train_log)]
    heading += [f"evaluated on {test_log!r}" if held_out else "evaluated on the training pages"]
    heading += [] if path is None else [f"{fits[0].model} written to {path}"]
    frames_with_keys = {name: (frame, KEYS[name]) for name, frame in frames.items()}
    facts = {"models": [str(model) for model in model_list], "tied": tied or "none", **resampling}
    save = None if path is None else partial(fits[0].save, path)
    result_output.write(ResultSet(heading, tables, frames_with_keys, facts), save)


def _parse_models(
    models: tuple[str, ...], baseline: str | None, path: str | None
) -> tuple[list[PageModel], PageModel | None]:
    names = cf.online.models()["model"].to_list() if models == ("all",) else models
    model_list = [cf.online.parse_model(name) for name in names]
    if repeated_models := [model for model in model_list if model_list.count(model) > 1]:
        raise PolicyError(f"--model must name each model only once, got {repeated_models[0]} twice")
    if path is not None and len(model_list) > 1:
        raise PolicyError(f"--output requires a single model, got {len(model_list)}")
    base = None if baseline is None else cf.online.parse_model(baseline)
    if base is not None and base not in model_list:
        raise PolicyError(f"--baseline must be a model of --model, got {base}")
    if base is not None and len(model_list) < 2:
        raise PolicyError(f"--baseline requires two or more models of --model, got {base} only")
    return model_list, base
