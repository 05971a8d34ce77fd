"""Commands on query logs: `measure`, `train`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import InputError, PolicyError
from cranfield.base.text import counted
from cranfield.cli.options.declaring import (
    READ,
    WRITTEN,
    command,
    in_group,
    option,
    refuse_given,
    settings,
)
from cranfield.cli.options.output import ResultOutput, gathered, result_options
from cranfield.cli.options.signatures import options_from, options_of
from cranfield.result import ResultSet, together
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl

    from cranfield.online import QueryLog
    from cranfield.online.click_models.model import Model
    from cranfield.tabular import Table


LOG_SETTINGS = "max-queries session-timeout"
"""Rare options of reading a log, which are settings of every command."""


@dataclass(frozen=True)
class LogOptions:
    """How a log is read."""

    log_format: str
    odd: str
    max_queries: int | None
    session_timeout: str | None
    click_actions: list[str] | None

    def read(self, files: tuple[str, ...]) -> QueryLog:
        """Read a log of one file or folder, of pages and one more table, or of the three."""
        from cranfield.online import sessionise
        from cranfield.online.log.reading import read_files

        try:
            log = read_files(
                files,
                format=self.log_format,
                odd=self.odd,
                max_queries=self.max_queries,
                click_actions=self.click_actions,
            )
        except InputError as error:
            if "may give the count of rows" not in error.reason:
                raise
            advice = "; `online measure --totals` reads totals of impressions and clicks"
            reason = error.reason + advice
            raise InputError(reason, source=error.source, line=error.line) from None
        return log if self.session_timeout is None else sessionise(log, self.session_timeout)


# An experiment may be of a table of units instead of a log.
_READ = ("LOG", "--measure")

log_options = gathered(
    LogOptions,
    "reading",
    in_group(
        "Log",
        (
            *options_of(
                "cranfield.online.read_log",
                "format odd max_queries click_actions",
                goes_with=_READ,
                format={"flag": "--log-format"},
            ),
            *options_of(
                "cranfield.online.sessionise",
                "timeout",
                goes_with=_READ,
                timeout={"flag": "--session-timeout", "default": None, "metavar": "TIME"},
            ),
        ),
    ),
)
"""The options of reading; the command gets them as `reading`."""


EPILOG = """\b
Examples:
  cranfield online measure log.parquet
  cranfield online measure pages.csv results.csv clicks.csv -m CTR@3 -m SATRate --by variant
  cranfield online measure sessions.xml -m "ClickRR(first='rank')" -m TimeToClick --survival
  cranfield online measure log.jsonl --by query --by variant --format csv -o by-query.csv
  cranfield online measure clicks-by-document.csv --totals
  cranfield online measure --list
"""

SURVIVAL = {
    "survival": ("Times, as Kaplan and Meier estimate them", 2),
    "logrank": ("Log-rank tests, holm", 3),
}
"""Titles of the tables of times, and how many columns say what a row is of."""

TABLES = ("measures", *SURVIVAL)


@command(epilog=EPILOG)
@settings(LOG_SETTINGS)
@click.argument("logs", metavar="LOG...", nargs=-1, type=READ)
@options_from(
    "cranfield.online.measure",
    "measures by labels",
    measures={
        "flag": "--measure measures",
        "multiple": True,
        "help": "An online measure, such as CTR@3; may be given several times. By default all that"
        " the log has the columns for.",
    },
    by={"multiple": True},
    labels={"type": READ, "metavar": "FILE"},
)
@option("--survival", is_flag=True, help="Kaplan-Meier and log-rank of the times among them.")
@option(
    "--totals",
    is_flag=True,
    help="LOG is a table of totals (query, doc, rank, impressions, clicks): click rate, and clicks"
    " over expected clicks.",
)
@option("--list", "listed", is_flag=True, help="List the online measures.")
@log_options
@result_options(TABLES)
def measure(
    logs: tuple[str, ...],
    measures: tuple[str, ...],
    by: tuple[str, ...],
    labels: str | None,
    survival: bool,
    totals: bool,
    listed: bool,
    reading: LogOptions,
    written: ResultOutput,
) -> None:
    """Measure what users did: clicks, ranks, times, abandonment, sessions, loyalty.

    LOG is one file or folder in any known format; or its tables PAGES RESULTS CLICKS; or PAGES and
    one of these, detected by its columns, or named by clicks=FILE or results=FILE.
    """
    from cranfield import online
    from cranfield.online.measures.survival import INDEPENDENT, survival_tables

    if listed:
        every = online.catalogue()
        shown = every.select("measure", "of", "parameters", "what it tells", "needs")
        tables = [from_frame(shown, "Online measures")]
        written.write(ResultSet([], tables, {"list": (every, ("measure",))}, {}))
        return
    if not logs:
        raise PolicyError("no LOG was given; --list lists the measures")
    if totals:
        _measure_totals(logs, written)
        return
    written.check(TABLES if survival else TABLES[:1])
    asked = [online.parse_online_measure(one) for one in measures] or None
    log = reading.read(logs)
    values = online.measure(log, asked, list(by), labels=labels)
    units = values.to_polars()
    wide = values.wide() if by else units.drop("total", "number")
    tables = [from_frame(wide, f"Measures by {' and '.join(by)}" if by else "Measures")]
    frames: dict[str, tuple[pl.DataFrame, Any]] = {"measures": (units, (*by, "measure"))}
    notes = values.notes
    if survival:
        times = [one for one in values.measures if one.lasts]
        if not times:
            raise PolicyError("--survival is for times, such as TimeToClick and AbsenceTime")
        for name, frame in survival_tables(log, times).items():
            title, keys = SURVIVAL[name]
            tables.append(from_frame(frame, title))
            frames[name] = frame, frame.columns[:keys]
        notes += [INDEPENDENT] if "logrank" in frames else []
    heading = [repr(log), *(f"note: {note}" for note in notes)]
    facts = {"log": log.source, "by": list(by), "odd": log.odd, "notes": notes}
    written.write(ResultSet(heading, tables, frames, facts))


def _measure_totals(logs: tuple[str, ...], written: ResultOutput) -> None:
    from cranfield import online

    names = {one.name or "" for one in click.get_current_context().command.params}
    used = {"logs", "totals", "format", "table", "output", "settings"}
    refuse_given(names - used, "cannot be combined with --totals")
    if len(logs) > 1:
        raise PolicyError(f"--totals takes one table, got {len(logs)} files")
    written.write(together(online.coec_of_totals(logs[0])))


TRAIN_EPILOG = """\b
Examples:
  cranfield online train log.parquet --model DBN -o dbn.json
  cranfield online train monday.csv --held-out tuesday.csv --model PBM --model "DBN(gamma=0.9)"
  cranfield online train log.csv --model DBN --tied grade --qrels qrels.txt --table parameters
  cranfield online train log.csv --model all --qrels qrels.txt --measure nDCG@10 --over RCTR
"""

KEYS = {
    "models": ("model",),
    "ranks": ("model", "rank"),
    "parameters": ("model", "parameter", "of"),
    "gain": ("model", "over"),
    "relevance": ("model",),
}
"""The tables of numbers, and the columns that say what a row is of."""

SHOWN = 12
"""Values of parameters that are printed; tables of numbers have all."""


@command(epilog=TRAIN_EPILOG)
@settings(f"resamples seed {LOG_SETTINGS}")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=READ)
@options_from(
    "cranfield.online.train_models",
    "models tied",
    models={
        "flag": "--model models",
        "multiple": True,
        "default": ("DBN",),
        "help": "A click model, such as UBM or DBN(gamma=0.9), or all; may be given several times.",
    },
)
@option(
    "--held-out",
    "test",
    metavar="LOG",
    multiple=True,
    help="Another log to evaluate the models on; several times for several tables.",
    type=READ,
)
@option(
    "--qrels",
    metavar="FILE",
    help="Judgments: grades to tie by, else to compare relevance with.",
    type=READ,
)
@options_from(
    "cranfield.online.predict_relevance",
    "measures",
    goes_with="--qrels !--tied=grade",
    measures={"flag": "--measure measures", "multiple": True},
)
@option("--over", metavar="MODEL", help="Gain of perplexity over one of the models.")
@options_from("cranfield.online.perplexity_gain", "seed resamples", goes_with="--over")
@log_options
@result_options(KEYS, output=None)
@option("--output", "path", metavar="FILE", help="Write the model there, as JSON.", type=WRITTEN)
def train(
    logs: tuple[str, ...],
    models: tuple[str, ...],
    tied: str | None,
    test: tuple[str, ...],
    qrels: str | None,
    measures: tuple[str, ...],
    over: str | None,
    reading: LogOptions,
    written: ResultOutput,
    path: str | None,
    **draws: int,
) -> None:
    """Train click models on a query log, and evaluate how well they predict clicks.

    LOG is one file or folder in any known format, such as a table with a row per shown result and
    whether it was clicked; or its tables PAGES RESULTS CLICKS.
    """
    compared = qrels is not None and tied != "grade"
    if [*logs, *test, qrels].count("-") > 1:
        raise PolicyError("standard input cannot be two files")
    lacking = {"gain"} if over is None else set()
    lacking |= set() if compared else {"relevance"}
    written.check(name for name in KEYS if name not in lacking)
    from cranfield import online, read_qrels
    from cranfield.online.click_models.evaluation import parameters_of, perplexity_gains

    known, base = _models(models, over, path)
    read = [reading.read(one) for one in (logs, test) if one]
    if tied == "grade" and qrels is not None:
        judged = read_qrels(qrels)
        read = [online.with_grades(one, judged) for one in read]
    trained = online.train_models(read[0], known, tied=tied)
    evaluation = online.evaluate_models(trained, read[-1])
    parameters = parameters_of(trained)
    frames = {**evaluation.frames(), "parameters": parameters}
    tables = [*evaluation.tables()[:1], _few(parameters)]
    if base is not None:
        frames["gain"] = perplexity_gains(trained, base, read[-1], **draws)
        tables.append(from_frame(frames["gain"], f"Gain of perplexity over {base}, 95% limits"))
    if compared:
        of_documents = [one for one in trained if "item" in one.model.by.values()]
        if not of_documents:
            raise PolicyError("--qrels: the models say nothing of documents")
        frames["relevance"] = online.predict_relevance(of_documents, qrels, measures)
        tables.append(from_frame(frames["relevance"], "Relevance, beside judgments"))
    notes = [repr(read[0])]
    notes.append(f"tried on {read[1]!r}" if test else "tried on the pages trained on")
    if path is not None:
        notes.append(f"{trained[0].model} written to {path}")
    keyed = {name: (frame, KEYS[name]) for name, frame in frames.items()}
    facts = {"models": [str(one) for one in known], "tied": tied or "none", **draws}
    save = None if path is None else partial(trained[0].save, path)
    written.write(ResultSet(notes, tables, keyed, facts), save)


def _models(
    models: tuple[str, ...], over: str | None, path: str | None
) -> tuple[list[Model], Model | None]:
    """Read the text forms of models, and of the model that gains are over."""
    from cranfield import online

    names = online.models()["model"].to_list() if models == ("all",) else models
    known = [online.parse_model(name) for name in names]
    if len(set(known)) < len(known):
        raise PolicyError("a model is there twice")
    if path is not None and len(known) > 1:
        raise PolicyError(f"--output is for one model; there are {len(known)}")
    base = None if over is None else online.parse_model(over)
    if base is not None and (base not in known or len(known) < 2):
        raise PolicyError(f"--over {base} is for several models, of which it is one")
    return known, base


def _few(parameters: pl.DataFrame) -> Table:
    """Show the parameters that have few values."""
    import polars as pl

    few = parameters.filter(pl.len().over("model", "parameter") <= SHOWN)
    hidden = parameters.height - few.height
    beyond = f"; {counted(hidden, 'value')} not shown" if hidden else ""
    return from_frame(few, f"Parameters{beyond}", places={"hits": 1, "trials": 1})
