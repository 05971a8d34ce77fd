"""Commands on query logs: `measure`, `train`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.base.text import counted
from cranfield.cli.options.declaring import READ, WRITTEN, command, in_group, option
from cranfield.cli.options.judging import one_of, resamples_option
from cranfield.cli.options.output import gathered, output_option, write_results
from cranfield.result import WRITERS, ResultSet, check_table
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl

    from cranfield.online import ClickModel, QueryLog
    from cranfield.online.click_models.model import Model
    from cranfield.tabular import Table


LOG_FORMATS = ("auto", "tables", "flat", "sessions", "ubi", "living-labs", "yandex", "pyclick")
"""The forms of logs, as :func:`cranfield.online.read_log` has them."""

ODD = ("refuse", "count")

logs_argument = click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=READ)
"""One log; or its pages, and results or clicks; or its pages, results and clicks."""

_READ = ("LOG", "--measure")
"""Where a log is read: an experiment may be of a table of units instead."""

_NAMED = ("results", "clicks")
_FORMS = "a log is one file; or PAGES RESULTS CLICKS; or PAGES and results=FILE or clicks=FILE"


@dataclass(frozen=True)
class LogOptions:
    """How a log is read."""

    log_format: str
    odd: str
    max_queries: int | None
    session_timeout: str | None
    click_actions: str | None

    def read(self, files: tuple[str, ...]) -> QueryLog:
        """Read a log of one file or folder, of pages and one more table, or of the three."""
        from cranfield import online
        from cranfield.online.log.reading import read_pages_and

        named = {
            name: path
            for name, sign, path in (one.partition("=") for one in files)
            if sign and name in _NAMED
        }
        plain = [one for one in files if one.partition("=")[0] not in named]
        if len(plain) not in ({1} if named else {1, 2, 3}) or len(plain) + len(named) < len(files):
            raise PolicyError(_FORMS)
        if [*plain, *named.values()].count("-") > 1:
            raise PolicyError("standard input cannot be two files")
        how: dict[str, Any] = {
            **named,
            "format": self.log_format,
            "odd": self.odd,
            "max_queries": self.max_queries,
        }
        if self.click_actions is not None:
            how["click_actions"] = [name.strip() for name in self.click_actions.split(",")]
        if len(plain) == 2:
            log = read_pages_and(plain[0], plain[1], **how)
        else:
            log = online.read_log(plain[0], *plain[1:], **how)
        if self.session_timeout is not None:
            log = online.sessionise(log, self.session_timeout)
        return log


log_options = gathered(
    LogOptions,
    "reading",
    in_group(
        "Log",
        (
            one_of("--log-format", LOG_FORMATS, "Form of the log.", "auto", goes_with=_READ),
            one_of(
                "--odd",
                ODD,
                "Pages or results twice, clicks before their page.",
                "refuse",
                goes_with=_READ,
            ),
            option(
                "--max-queries",
                type=click.IntRange(1),
                metavar="N",
                help="Leave out users with more pages: robots.",
                goes_with=_READ,
            ),
            option(
                "--session-timeout",
                metavar="TIME",
                help="Cut sessions where a user did nothing for so long, such as 30m.",
                goes_with=_READ,
            ),
            option(
                "--click-actions",
                metavar="NAMES",
                help="Names of the UBI actions that are clicks, such as item_click,product_click.",
                goes_with=_READ,
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
        write_results(_catalogue(), format, None, output)
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
    notes = found.notes
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
    write_results(ResultSet(heading, tables, frames, about), format, table, output)


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


def _catalogue() -> ResultSet:
    from cranfield import online

    every = online.catalogue()
    shown = every.select("measure", "of", "parameters", "what it tells", "needs")
    return ResultSet(
        [], [from_frame(shown, "Online measures")], {"list": (every, ("measure",))}, {}
    )


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


@command(
    epilog=TRAIN_EPILOG,
    first="model held-out tied qrels measure over log-format odd format table output",
)
@logs_argument
@option(
    "--model",
    "models",
    multiple=True,
    default=("DBN",),
    show_default="DBN",
    help="A click model, such as UBM or DBN(gamma=0.9); several times; all is all ten.",
)
@option(
    "--held-out",
    "test",
    metavar="LOG",
    multiple=True,
    help="Pages to try the models on, not those trained on; several times for several tables.",
    type=READ,
)
@one_of("--tied", ("none", "grade"), "What parameters of documents go by.", "none")
@option(
    "--qrels",
    metavar="FILE",
    help="Judgments: grades to tie by, else to compare relevance with.",
    type=READ,
)
@option(
    "--measure",
    "measures",
    multiple=True,
    help="Of relevance; default nDCG@10.",
    goes_with="--qrels --tied=none",
)
@option("--over", metavar="MODEL", help="Gain of perplexity over one of the models.")
@resamples_option(2000, " of queries, with --over", goes_with="--over")
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Of resamples.",
    goes_with="--over",
)
@log_options
@one_of("--format", WRITERS, "How to write the tables.", "text")
@option("--table", metavar="NAME", help=f"One table of numbers only: {', '.join(KEYS)}.")
@option("--output", metavar="FILE", help="Write the one model there, as JSON.", type=WRITTEN)
def train(
    logs: tuple[str, ...],
    models: tuple[str, ...],
    test: tuple[str, ...],
    tied: str,
    qrels: str | None,
    measures: tuple[str, ...],
    over: str | None,
    resamples: int,
    seed: int,
    reading: LogOptions,
    format: str,
    table: str | None,
    output: str | None,
) -> None:
    """Train click models on a query log, and say how well they foresee clicks.

    LOG is one file or folder in any form that is known, such as a table with a row a shown result
    and whether it was clicked; or its tables PAGES RESULTS CLICKS.
    """
    compared = qrels is not None and tied == "none"
    if [*logs, *test, qrels].count("-") > 1:
        raise PolicyError("standard input cannot be two files")
    if table is not None:
        wanted = {"gain": over is not None, "relevance": compared}
        check_table(table, [name for name in KEYS if wanted.get(name, True)])
    from cranfield import online

    known, base = _kinds(models, over, output)
    read = [reading.read(one) for one in (logs, test) if one]
    if tied == "grade" and qrels is not None:
        from cranfield import read_qrels

        judged = read_qrels(qrels)
        read = [online.with_grades(one, judged) for one in read]
    trained = online.train_models(read[0], known, tied=None if tied == "none" else tied)
    found = online.evaluate_models(trained, read[-1])
    parameters = _parameters(trained)
    frames = {**found.frames(), "parameters": parameters}
    tables = [*found.tables()[:1], _shown(parameters)]
    if base is not None:
        frames["gain"] = _gains(trained, trained[known.index(base)], read[-1], resamples, seed)
        tables.append(from_frame(frames["gain"], f"Gain of perplexity over {base}, 95% limits"))
    if compared:
        frames["relevance"] = _relevance(trained, qrels, measures)
        tables.append(from_frame(frames["relevance"], "Relevance, beside judgments"))
    notes = [repr(read[0])]
    notes.append("tried on the pages trained on" if not test else f"tried on {read[1]!r}")
    if output is not None:
        notes.append(f"{trained[0].model} written to {output}")
    findings = ResultSet(
        notes,
        tables,
        {name: (frame, KEYS[name]) for name, frame in frames.items()},
        {"models": list(map(str, known)), "tied": tied, "seed": seed, "resamples": resamples},
    )
    also = None if output is None else partial(trained[0].save, output)
    write_results(findings, format, table, None, also)


def _kinds(
    models: tuple[str, ...], over: str | None, output: str | None
) -> tuple[list[Model], Model | None]:
    """Read the text forms of models, and of the one that gains are over."""
    from cranfield import online

    kinds = online.models()["model"].to_list() if models == ("all",) else models
    known = [online.parse_model(one) for one in kinds]
    if len(set(known)) < len(known):
        raise PolicyError("a model is there twice")
    if output is not None and len(known) > 1:
        raise PolicyError(f"--output is for one model; there are {len(known)}")
    base = None if over is None else online.parse_model(over)
    if base is not None and (base not in known or len(known) < 2):
        raise PolicyError(f"--over {base} is for several models, of which it is one")
    return known, base


def _parameters(models: tuple[ClickModel, ...]) -> pl.DataFrame:
    """Put the parameters of models below each other, with what each value is of as text."""
    import polars as pl

    parts = []
    for one in models:
        for name, frame in one.parameters.items():
            keys = [key for key in frame.columns if key not in ("value", "error", "hits", "trials")]
            told = [
                pl.format(f"{key} {{}}", pl.col(key).cast(pl.String).fill_null("unjudged"))
                for key in keys
            ]
            parts.append(
                frame.select(
                    pl.lit(str(one.model)).alias("model"),
                    pl.lit(name).alias("parameter"),
                    (pl.concat_str(told, separator=", ") if told else pl.lit("")).alias("of"),
                    *("value", "error", "hits", "trials"),
                )
            )
    return pl.concat(parts)


def _shown(parameters: pl.DataFrame) -> Table:
    """Show the parameters of which there are few."""
    import polars as pl

    few = parameters.filter(pl.len().over("model", "parameter") <= SHOWN)
    rest = parameters.height - few.height
    beyond = f"; {counted(rest, 'value')} not shown" if rest else ""
    return from_frame(few, f"Parameters{beyond}", places={"hits": 1, "trials": 1})


def _gains(
    models: tuple[ClickModel, ...], over: ClickModel, log: QueryLog, resamples: int, seed: int
) -> pl.DataFrame:
    import polars as pl

    from cranfield.online import perplexity_gain

    return pl.concat(
        perplexity_gain(one, over, log, resamples=resamples, seed=seed).to_polars()
        for one in models
        if one is not over
    )


def _relevance(
    models: tuple[ClickModel, ...], qrels: str | None, measures: tuple[str, ...]
) -> pl.DataFrame:
    from cranfield.online import predict_relevance

    documents = [one for one in models if "item" in one.model.by.values()]
    if not documents:
        raise PolicyError("--qrels: the models say nothing of documents")
    return predict_relevance(documents, qrels, measures or ("nDCG@10",))
