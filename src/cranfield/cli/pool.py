"""`cranfield pool`: pools, documents to judge, samples and stopping rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, quote, warn
from cranfield.base.kinds import Integer
from cranfield.base.text import inflect
from cranfield.cli import options as cli
from cranfield.collection.policies import SAMPLING_COLUMNS
from cranfield.result import WRITERS, ResultSet, check_table
from cranfield.tabular import tabulate_frame

LIST_FORMATS = ("trec", "tsv", "csv", "jsonl")  # formats of documents to judge

LIST_CONDITIONS = ("--next", "--budget", "--unjudged", "--sample !--judged")
"""Conditions under which documents are listed; a judged sample gives a report instead."""

EXCLUSIVE_OPTIONS = ("--next", "--budget", "--unjudged", "--sample", "--stop")


def make_exclusive_condition(name: str, requires: str = "") -> str:
    """Return the condition under which an exclusive option can be set."""
    return " ".join(
        [requires, *(f"!{option}" for option in EXCLUSIVE_OPTIONS if option != name)]
    ).strip()


@dataclass(frozen=True)
class SheetOptions:
    """Options for sheets of documents to judge."""

    arranged: str
    assessors: str
    by: str
    overlap: float

    @property
    def is_random(self) -> bool:
        """True if the sheets depend on a seed."""
        return self.arranged == "shuffled" or self.assessors != "1"

    def write(
        self,
        documents: Any,
        seed: int,
        format: str,
        output: str | None,
        inputs: Sequence[str | None],
    ) -> list[str]:
        """Write the sheets; return the number of documents for each file, if there are several."""
        names: Any = [name.strip() for name in self.assessors.split(",")]
        if len(names) == 1 and names[0].isdecimal():
            names = int(names[0])
        if self.overlap and names in (1, names[:1] if isinstance(names, list) else 1):
            raise PolicyError("--overlap requires two assessors or more, got one")
        sheet_set = cf.assess.sheets(documents, **{**vars(self), "assessors": names}, seed=seed)
        path = output or "-"
        cli.refuse_overwriting((path.replace("{}", name) for name in sheet_set.assessors), inputs)
        files = zip(sheet_set.write(path, format=format), sheet_set.assessors, strict=True)
        sizes = [(file, sheet_set.select_sheet(name).height) for file, name in files]
        return [f"{file}: {inflect(n, 'document')}" for file, n in sizes if len(sizes) > 1]


def make_sheet_options(conditions: Sequence[str]) -> tuple[cli.Decorator, ...]:
    """Make the options of sheets, which require one of the conditions."""
    assessors = {
        "metavar": "N|NAMES",
        "default": "1",
        "help": "Number of assessors, or their names: ann,bob; {} in --output is replaced by the"
        " name.",
    }
    sheets = "cranfield.assess.sheets"
    return (
        *cli.make_options(sheets, "arranged assessors", requires=conditions, assessors=assessors),
        *cli.make_options(sheets, "by overlap", requires="--assessors"),
    )


def parse_amount(text: str, name: str = "--size") -> int | float:
    """Parse an integer, or a percentage as a proportion."""
    from cranfield.base.spec import to_fraction
    from cranfield.sources.values import is_number, parse_integer

    amount = text.strip()
    if amount.endswith("%") and is_number(percentage := amount.removesuffix("%")):
        return float(to_fraction(float(percentage)) / 100)
    count = parse_integer(amount)
    if count is None:
        raise PolicyError(
            f"{name} must be an integer or a percentage such as 10%, got {quote(text)}"
        )
    return count


def parse_strata(text: str) -> dict[int, int | float]:
    from cranfield.sources.values import parse_integer

    strata: dict[int, int | float] = {}
    for stratum in text.split(","):
        end, colon, amount = stratum.partition(":")
        last_rank = parse_integer(end.strip())
        if not colon or last_rank is None:
            raise PolicyError(
                "--strata must be pairs of a rank and a proportion or number of documents, such as"
                f" 10:100%,50:25, got {quote(text)}"
            )
        if last_rank in strata:
            raise PolicyError(f"--strata must name each rank once, got {quote(text)}")
        strata[last_rank] = parse_amount(amount, f"--strata {end.strip()}:")
    return strata


_TOPIC = ("topic",)
KEYS = {"topics": _TOPIC, "systems": ("system",), "stops": ("topic", "rule"), "relevant": _TOPIC}

RECALL_TEST_NOTE = (
    "RecallTest may stop too early with a probability above 1 - confidence, as the smallest of"
    " several p-values is not a valid p-value"
)


@cli.command(
    common="depth judged method next budget unjudged sample size stop assessors format output"
)
@cli.settings(f"ties strata by {cli.READING_SETTINGS}")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.own_options(
    "depth judged method next=n_next budget unjudged sample stop=rules size strata missing",
    method={"requires": LIST_CONDITIONS[:2]},
    n_next={"requires": make_exclusive_condition("--next")},
    budget={"requires": make_exclusive_condition("--budget")},
    unjudged={"requires": make_exclusive_condition("--unjudged", "--judged")},
    sample={"metavar": "DESIGN", "requires": make_exclusive_condition("--sample")},
    rules={"metavar": "RULE", "requires": make_exclusive_condition("--stop", "--judged")},
    size={"metavar": "N", "requires": "--sample"},
    strata={"metavar": "RANK:N,...", "requires": "--sample"},
    missing={"requires": "--sample --judged", "argument": "unjudged"},
)
@cli.gather_options(SheetOptions, "sheet_options", make_sheet_options(LIST_CONDITIONS))
@cli.options_from(
    "cranfield.assess.order",
    "rel seed",
    rel={
        "type": cli.IntegerRange(1),
        "requires": ("--next", "--budget --judged", "--stop", "--sample --judged"),
    },
    seed={
        "type": cli.IntegerRange(0),
        "requires": ("--next", "--budget", "--sample", "--arranged=shuffled", "--assessors"),
    },
)
@cli.options_from("cranfield.fuse", "ties")
@cli.gather_options(
    cli.ReadingOptions,
    "reading",
    (
        *cli.reading_options,
        cli.subtopics_option,
        *cli.make_options(
            "cranfield.read_qrels", "ungraded", ungraded={"default": "drop", "requires": "--judged"}
        ),
    ),
)
@cli.options_from("cranfield.judge", "jobs")
@cli.own_options(
    "format table",
    format={"type": click.Choice(["auto", *LIST_FORMATS, *sorted(SAMPLING_COLUMNS), *WRITERS])},
)
@cli.output_option
def pool(
    runs: tuple[str, ...],
    *,
    depth: Annotated[int, Integer(1)] = 100,
    judged: str | None,
    method: str = "depth",
    n_next: Annotated[int | None, Integer(1)],
    budget: Annotated[int | None, Integer(1)],
    unjudged: bool = False,
    sample: str | None,
    rules: tuple[str, ...] = (),
    size: str | None,
    strata: str | None,
    missing: Literal["error", "nonrelevant"] = "error",
    sheet_options: SheetOptions,
    reading: cli.ReadingOptions,
    format: str = "auto",
    table: str | None,
    output: str | None,
    rel: int,
    seed: int,
    **pooling: Any,
) -> None:
    """Pool runs: list documents to judge, or report the judgments so far.

    RUN is a file, a folder or a quoted pattern. --next, --budget, --unjudged and --sample list
    documents; otherwise, and for a judged sample, a report (or prels, xqrels) is written. The next
    documents depend only on the runs, the judgments and the options: judging can be interrupted and
    resumed.

    Parameters
    ----------
    depth
        Number of top documents to pool from each run.
    judged
        Judgments so far, in the order in which they were made.
    method
        Pooling method, such as depth, RRF, Borda, Hedge, MTF, MaxMean or Thompson.
    n_next
        List the next N documents of each topic to judge, after the judgments of --judged.
    budget
        List the first N documents of each topic to judge, in the order of --method.
    unjudged
        List the unjudged documents of the pool.
    sample
        List a random sample (uniform, strata or stat); with --judged, estimate the number of
        relevant documents from the judged sample.
    rules
        Report whether this rule, such as RecallTest, Knee, Budget or 2399, stops judging; may be
        given several times.
    size
        Number of documents of each topic in the sample, or a percentage such as 10% (not for
        stat).
    strata
        Last rank of each stratum, and the number or percentage of documents to draw from the
        stratum: 10:100%,50:25.
    missing
        How to treat documents of the sample without a judgment.
    format
        Output format: trec, tsv, csv or jsonl for documents; prels or xqrels for judgments of a
        sample; text, markdown, latex, html, csv or json for reports.
    table
        Write only this table of a report: topics, systems (with --judged), stops (with --stop) or
        relevant (with --sample).

    Examples
    --------
    cranfield pool runs/ --depth 100 --judged qrels.txt
    cranfield pool runs/ --method maxmean --next 10 --judged judged.txt
    cranfield pool runs/ --next 50 --assessors ann,bob -o "sheet-{}.tsv"
    cranfield pool runs/ --judged judged.txt --stop RecallTest --stop "Knee(min_judgments=200)"
    cranfield pool runs/ --sample stat --size 100 --seed 7 --judged judged.txt
    cranfield pool runs/ --sample strata --judged judged.txt --settings strata.yml --format xqrels
    """
    from cranfield.assess.pools.pool import read_judgments
    from cranfield.assess.sampling_designs import check_design

    pooling_method = cf.assess.parse_method(method)
    rule_list = [cf.assess.parse_rule(rule) for rule in rules]
    if budget and pooling_method.learns and judged is None:
        raise PolicyError(
            f"--budget requires --judged, as {pooling_method} learns from judgments; or use --next"
        )
    n_ranked = n_next or budget
    is_list = bool(n_ranked or unjudged or (sample and judged is None))
    table_names = ["topics", "systems"] if judged is not None else ["topics"]
    table_names = ["stops"] if rules else ["relevant"] if sample else table_names
    _check_output(format, table, table_names, is_list=is_list, is_sample=sample is not None)
    design: dict[str, Any] = {
        "size": None if size is None else parse_amount(size),
        "strata": None if strata is None else parse_strata(strata),
    }
    if sample is not None:
        check_design(sample, **design)
    is_random = not is_list or sample or pooling_method.is_random or sheet_options.is_random
    reasons = {"seed": "draws no random numbers"} if not is_random else {}
    reasons |= {"rel": "does not use grades"} if n_ranked and not pooling_method.learns else {}
    for name, reason in reasons.items():
        cli.warn_unused((name,), f"{pooling_method} {reason}")
    run_list = reading.find_runs(judged, runs)
    qrels = read_judgments(judged, reading.read_qrels)
    with cli.show_judging_progress(run_list) as progress:
        documents_pool = cf.assess.pool(run_list, depth, progress=progress, **pooling)
    if sample is not None:
        documents: Any = _draw_sample(documents_pool, qrels, missing, sample, seed=seed, **design)
    elif n_ranked:
        options = {"seed": seed, "rel": rel}
        inputs = (documents_pool, qrels, pooling_method)
        documents = _rank_documents(*inputs, n_next, budget, options)
    else:
        documents = _find_unjudged(documents_pool, qrels) if unjudged else None
    if is_list:
        paths = [judged, *cli.list_run_paths(run_list)]
        sheet_options.write(documents, seed, format, output, paths)
    elif format in SAMPLING_COLUMNS:
        columns = [SAMPLING_COLUMNS[format]]
        judgments = documents.to_qrels(qrels, columns, unjudged=missing)
        cf.write_qrels(judgments, output or "-", format=format)
    else:
        if sample is not None:
            report = _report_sample(documents, qrels, rel, missing, seed)
        else:
            report = _report_stopping(documents_pool, qrels, rule_list, rel)
        results = _report_pool(documents_pool, judged is not None, qrels, *report)
        cli.ResultOutput("text" if format == "auto" else format, table, output).write(results)


def _check_output(
    format: str, table: str | None, table_names: Sequence[str], *, is_list: bool, is_sample: bool
) -> None:
    formats = LIST_FORMATS if is_list else (*WRITERS, *(SAMPLING_COLUMNS if is_sample else ()))
    if format not in {"auto", *formats}:
        noun = "documents to judge" if is_list else "this report"
        noun = "estimates from a judged sample" if is_sample and not is_list else noun
        expected = f"--format of {noun} must be one of {', '.join(sorted(formats))}"
        raise PolicyError(f"{expected}, got {cli.describe_format(format)}")
    if table is not None:
        if is_list or format in SAMPLING_COLUMNS:
            raise PolicyError(
                "--table applies to reports, not to documents or judgments; remove --table"
            )
        check_table(table, table_names)


def _report_pool(
    pool: cf.assess.Pool,
    is_judged: bool,
    qrels: cf.Qrels | None,
    frames: Mapping[str, Any],
    lines: Sequence[str],
    facts: Mapping[str, Any],
) -> ResultSet:
    """Report the pool and its judgments; frames, if any, replace the default tables."""
    import numpy as np
    import polars as pl

    sizes_text = f"{inflect(len(pool.topics), 'topic')}, {inflect(len(pool.systems), 'system')}"
    heading = [f"pool of {inflect(len(pool), 'document')}: {sizes_text}, depth {pool.depth}"]
    pool_facts: dict[str, Any] = {"depth": pool.depth, "documents": len(pool)}
    pool_frames = {"topics": pl.DataFrame({"topic": pool.topics, "pooled": np.diff(pool.starts)})}
    if is_judged:
        unjudged = pool.find_unjudged(qrels)
        n_judged = len(pool) - len(unjudged)
        heading.append(f"{n_judged:,} judged, {len(unjudged):,} unjudged")
        _warn_of_judgments(0 if qrels is None else len(qrels) - n_judged)
        pool_facts["judged"] = n_judged
        pool_frames = {"topics": unjudged.by_topic(), "systems": unjudged.by_system()}
    frames = frames or pool_frames
    tables = [tabulate_frame(frame, name.capitalize()) for name, frame in frames.items()]
    frames_with_keys = {name: (frame, KEYS[name]) for name, frame in frames.items()}
    return ResultSet([*heading, *lines], tables, frames_with_keys, {**pool_facts, **facts})


def _find_unjudged(pool: cf.assess.Pool, qrels: cf.Qrels | None) -> cf.assess.Unjudged:
    """Find the unjudged documents, and print their number."""
    documents = pool.find_unjudged(qrels)
    topics = set() if qrels is None else {*qrels.to_polars()["topic"]}
    sizes = [n for topic, _, n in documents.by_topic().rows() if n and topic not in topics]
    remark = f"; {sum(sizes):,} in {inflect(len(sizes), 'topic')} without judgments" * bool(sizes)
    click.echo(f"unjudged: {documents.heading()[0]}{remark}", err=True)
    _warn_of_judgments(0 if qrels is None else len(qrels) - len(pool) + len(documents))
    return documents


def _draw_sample(
    pool: cf.assess.Pool, qrels: cf.Qrels | None, missing: str, design: str, **options: Any
) -> cf.assess.Sample:
    """Draw a sample, and warn of its documents that are assumed to be not relevant."""
    sample = cf.assess.sample(pool, design, **options)
    n_missing = int((sample.is_drawn & pool.find_unjudged(qrels).is_unjudged).sum())
    if n_missing and missing == "nonrelevant":
        documents_text = inflect(len(sample), "sampled document")
        warn(f"{n_missing:,} of {documents_text} are not judged and count as not relevant")
    return sample


def _report_sample(
    sample: cf.assess.Sample, qrels: cf.Qrels | None, rel: int, missing: str, seed: int
) -> tuple[Any, ...]:
    estimate = sample.estimate_relevant(qrels, rel, unjudged=missing)
    standard_error = f"{estimate.total_error:.1f}" if estimate.has_total_error else "unknown"
    lines = [
        f"sample by {sample.drawing}, seed {seed}: {inflect(len(sample), 'document')}",
        f"estimated number of relevant documents in the pool: {estimate.total:.1f}, standard error"
        f" {standard_error}",
    ]
    return {"relevant": estimate.to_polars()}, lines, {"sample": sample.drawing, "seed": seed}


def _report_stopping(
    pool: cf.assess.Pool, qrels: cf.Qrels | None, rules: Sequence[cf.assess.Rule], rel: int
) -> tuple[Any, ...]:
    if not rules:
        return {}, [], {}
    import polars as pl

    stopping = cf.assess.stopping_by_topic(pool, qrels, rules, rel=rel)
    rows = pl.DataFrame(
        {"topic": topic, **vars(verdict)}
        for topic, decisions in stopping.items()
        for verdict in decisions.list_verdicts()
    ).rename({"n_judged": "judged", "n_relevant": "relevant"}, strict=False)
    topics_text = inflect(len(stopping), "topic")
    lines = [
        f"{rule} stops judging for {rows.filter(rule=str(rule))['stop'].sum()} of {topics_text}"
        for rule in rules
    ]
    if any(rule.name == "RecallTest" for rule in rules):
        lines.append(f"note: {RECALL_TEST_NOTE}")
    return {"stops": rows}, lines, {}


def _rank_documents(
    pool: cf.assess.Pool,
    qrels: cf.Qrels | None,
    method: cf.assess.Method,
    n_next: int | None,
    budget: int | None,
    options: Mapping[str, Any],
) -> Any:
    """List the next or the first documents by a method; warn of unused judgments."""
    if n_next:
        documents = cf.assess.next_documents(pool, qrels, method, n_next, **options)
        _warn_of_judgments(documents.n_outside)
        _warn_of_judgments(documents.n_ahead, "of documents that the method has not reached")
        _warn_of_judgments(documents.n_negative, "with a grade below 0", "counted as not relevant")
        return documents
    order = cf.assess.order(pool, method, qrels, **options).to_polars()
    if qrels is not None and method.learns:
        n_unjudged = len(pool.find_unjudged(qrels))
        _warn_of_judgments(len(qrels) - len(pool) + n_unjudged)
        if n_unjudged:
            documents_text = inflect(n_unjudged, "unjudged document")
            warn(f"{method} treats {documents_text} of the pool as not relevant")
    return order.filter(order["place"] <= min(budget or 0, len(pool)))


def _warn_of_judgments(
    n_judgments: int, description: str = "outside the pool", effect: str = "ignored"
) -> None:
    if n_judgments:
        warn(f"{effect}: {inflect(n_judgments, 'judgment')} {description}")
