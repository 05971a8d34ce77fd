"""`cranfield online train`: click models, trained on a log and tried on another."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.cli.options.declaring import READ, WRITTEN, command, option
from cranfield.cli.options.judging import one_of, resamples_option
from cranfield.cli.options.logs import LogOptions, log_options, logs_argument
from cranfield.cli.options.output import write_findings
from cranfield.meta.study import Findings
from cranfield.reporting.text.studies import WRITERS, check_table
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl

    from cranfield.online import ClickModel, QueryLog
    from cranfield.online.click_models.model import Model
    from cranfield.tabular import Table

EPILOG = """\b
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
    epilog=EPILOG,
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
    frames = {"models": found.to_polars(), "ranks": found.by_rank(), "parameters": parameters}
    tables = [found.table(), _shown(parameters)]
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
    findings = Findings(
        notes,
        tables,
        {name: (frame, KEYS[name]) for name, frame in frames.items()},
        {"models": list(map(str, known)), "tied": tied, "seed": seed, "resamples": resamples},
    )
    also = None if output is None else partial(trained[0].save, output)
    write_findings(findings, format, table, None, also)


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
