"""`cranfield pool`: what to judge, in which order, by whom, until when."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import CranfieldWarning, PolicyError, quoted
from cranfield.base.text import counted
from cranfield.cli.options.declaring import (
    READ,
    command,
    keep_inputs,
    option,
    settings,
    tell_without_effect,
)
from cranfield.cli.options.judging import (
    READING_SETTINGS,
    Reading,
    one_of,
    paths_of,
    reading_options,
    subtopics_option,
)
from cranfield.cli.options.output import gathered, output_option, progress_of, write_results
from cranfield.cli.options.signatures import options_from, options_of
from cranfield.collection.policies import OF_QRELS
from cranfield.result import WRITERS, ResultSet, check_table
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    from cranfield.assess import Method, NextDocuments, Pool, Rule, Sample
    from cranfield.collection.qrels import Qrels


LISTED = ("--next", "--budget", "--unjudged", "--sample !--judged")
"""What lists documents."""

LISTS = ("trec", "tsv", "jsonl")
"""Formats of documents to judge."""


@dataclass(frozen=True)
class Asked:
    """What is to be listed, or asked: at most one of these."""

    following: int | None
    budget: int | None
    unjudged: bool
    sample: str | None
    rules: tuple[str, ...]

    def lists(self, judged: bool) -> bool:
        """Tell whether documents are listed; a judged sample is reported."""
        listed = bool(self.following or self.budget or self.unjudged)
        return listed or (self.sample is not None and not judged)

    def check(self, judged: bool, format: str, learns: bool) -> None:
        """Refuse what does not go together, before any file is read."""
        given = {
            "--next": self.following,
            "--budget": self.budget,
            "--unjudged": self.unjudged,
            "--sample": self.sample,
            "--stop": self.rules,
        }
        names = [name for name, value in given.items() if value]
        if len(names) > 1:
            raise PolicyError(f"{names[0]} cannot be combined with {names[1]}")
        if not judged:
            for name in ("--unjudged", "--stop"):
                if name in names:
                    raise PolicyError(f"{name} requires --judged")
        if self.budget and learns and not judged:
            raise PolicyError(
                "--budget requires --judged for a method that learns from judgments; or use --next"
            )
        listing = self.lists(judged)
        fit = LISTS if listing else (*WRITERS, *(OF_QRELS if self.sample else ()))
        if format not in {"auto", *fit}:
            what = "documents to judge" if listing else "this report"
            raise PolicyError(
                f"--format of {what} must be one of {', '.join(sorted(fit))}, got {format}"
            )


ASKED = (
    option(
        "--next",
        "following",
        type=click.IntRange(1),
        help="List the next N documents to judge for each topic, given the judgments of --judged.",
    ),
    option(
        "--budget",
        type=click.IntRange(1),
        help="List the first N documents of each topic, in the order of --method.",
    ),
    option("--unjudged", is_flag=True, help="List the unjudged documents of the pool."),
    option(
        "--sample",
        metavar="DESIGN",
        help="List a random sample (uniform, strata or stat); with --judged, estimate the number of"
        " relevant documents from it.",
    ),
    option(
        "--stop",
        "rules",
        multiple=True,
        metavar="RULE",
        help="Report whether this rule stops judging: RecallTest, Knee, Budget or 2399; may be"
        " given several times.",
    ),
)


@dataclass(frozen=True)
class Dealing:
    """How documents come onto sheets."""

    arranged: str
    assessors: str
    by: str
    overlap: float

    @property
    def draws(self) -> bool:
        """Whether it depends on a seed."""
        return self.arranged == "shuffled" or self.assessors != "1"

    def write(
        self,
        documents: Any,
        seed: int,
        format: str,
        output: str | None,
        inputs: Sequence[str | None],
    ) -> None:
        from cranfield.assess import sheets

        names = self.assessors.split(",")
        number = names[0].strip()
        whole = len(names) == 1 and number.isdecimal()
        if self.overlap and (int(number) if whole else len(names)) == 1:
            raise PolicyError("--overlap requires two assessors or more, got one")
        dealt = sheets(
            documents,
            arranged=self.arranged,
            assessors=int(number) if whole else [name.strip() for name in names],
            by=self.by,
            overlap=self.overlap,
            seed=seed,
        )
        path = output or "-"
        keep_inputs((path.replace("{}", name) for name in dealt.assessors), inputs)
        dealt.write(path, format=format)


def dealing_options(listed: Sequence[str]) -> tuple[Callable[[Any], Any], ...]:
    """Make the options of sheets, which go with what lists documents."""
    return options_of(
        "cranfield.assess.sheets",
        "arranged assessors by overlap",
        arranged={"goes_with": listed},
        assessors={
            "metavar": "N|NAMES",
            "default": "1",
            "help": "Number of assessors, or their names: ann,bob; {} in --output is replaced by"
            " the name.",
            "goes_with": listed,
        },
        by={"goes_with": "--assessors"},
        overlap={"goes_with": "--assessors"},
    )


def amount(text: str, what: str) -> int | float:
    """Read a whole number, or a share in percent."""
    from cranfield.base.spec import fraction_of
    from cranfield.sources.values import integer_in, is_number

    number = text.strip()
    if number.endswith("%") and is_number(share := number.removesuffix("%")):
        return float(fraction_of(float(share)) / 100)
    whole = integer_in(number)
    if whole is None:
        raise PolicyError(
            f"{what} must be an integer or a percentage such as 10%, got {quoted(text)}"
        )
    return whole


def read_strata(text: str) -> dict[int, int | float]:
    from cranfield.sources.values import integer_in

    strata: dict[int, int | float] = {}
    for one in text.split(","):
        end, colon, wanted = one.partition(":")
        last = integer_in(end.strip())
        if not colon or last is None:
            raise PolicyError(f"--strata must be pairs such as 10:100%,50:25, got {quoted(text)}")
        if last in strata:
            raise PolicyError(f"--strata must have each rank once, got {quoted(text)}")
        strata[last] = amount(wanted, f"--strata {end.strip()}:")
    return strata


EPILOG = """\b
Examples:
  cranfield pool runs/ --depth 100 --judged qrels.txt
  cranfield pool runs/ --method rrf --budget 200 -o sheet.tsv
  cranfield pool runs/ --method maxmean --next 10 --judged judged.txt
  cranfield pool runs/ --next 50 --assessors ann,bob --overlap 0.1 -o "sheet-{}.tsv"
  cranfield pool runs/ --judged judged.txt --stop RecallTest --stop "Knee(least=200)"
  cranfield pool runs/ --sample stat --size 100 --seed 7 --arranged shuffled -o sheet.tsv
  cranfield pool runs/ --sample stat --size 100 --seed 7 --judged judged.txt
  cranfield pool runs/ --sample strata --strata 10:100%,50:20% --judged judged.txt --format xqrels
"""

KEYS = {
    "topics": ("topic",),
    "systems": ("system",),
    "stops": ("topic", "rule"),
    "relevant": ("topic",),
}
"""The tables of a report, and the columns that say what a row is of."""

(_UNGRADED,) = options_of(
    "cranfield.read_qrels", "ungraded", ungraded={"default": "drop", "goes_with": "--judged"}
)

NO_PVALUE = "RecallTest uses the smallest of many p-values, which is not a valid p-value itself"


@command(
    epilog=EPILOG,
    first="depth judged method next budget unjudged sample size stop assessors format output",
)
@settings(f"ties strata by {READING_SETTINGS}")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@option(
    "--depth",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Number of top documents to pool from each run.",
)
@option(
    "--judged",
    metavar="QRELS",
    help="Judgments so far, in the order in which they were made.",
    type=READ,
)
@option(
    "--method",
    default="depth",
    show_default=True,
    help="Pooling method: depth, RRF, Borda, Hedge, MTF, MaxMean, Thompson and others.",
    goes_with=("--next", "--budget"),
)
@gathered(Asked, "asked", ASKED)
@option(
    "--size",
    metavar="N",
    help="Number of documents of each topic in the sample, or a percentage such as 10%.",
    goes_with="--sample",
)
@option(
    "--strata",
    metavar="RANK:N,...",
    help="Last rank of each stratum, and the number or percentage of documents to draw from it:"
    " 10:100%,50:25.",
    goes_with="--sample",
)
@one_of(
    "--missing",
    ("error", "nonrelevant"),
    "How to treat sampled documents without a judgment.",
    "error",
    goes_with="--sample --judged",
    stands_for="unjudged",
)
@gathered(Dealing, "dealing", dealing_options(LISTED))
@option(
    "--rel",
    type=click.IntRange(1),
    default=1,
    help="Lowest relevant grade.",
    goes_with=("--next", "--budget --judged", "--stop", "--sample --judged"),
)
@option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random numbers.",
    goes_with=("--next", "--budget", "--sample", "--arranged=shuffled", "--assessors"),
)
@options_from("cranfield.judge", "ties", ties={"default": "trec"})
@gathered(Reading, "reading", (*reading_options, subtopics_option, _UNGRADED))
@options_from("cranfield.judge", "jobs")
@option(
    "--format",
    type=click.Choice(["auto", *LISTS, *sorted(OF_QRELS), *WRITERS]),
    default="auto",
    show_default=True,
    help="Output format: trec, tsv or jsonl for documents; prels or xqrels for judgments of a"
    " sample; the others for reports.",
)
@option("--table", metavar="NAME", help=f"Write this table of a report only: {', '.join(KEYS)}.")
@output_option
def pool(
    runs: tuple[str, ...],
    depth: int,
    judged: str | None,
    method: str,
    asked: Asked,
    size: str | None,
    strata: str | None,
    missing: str,
    dealing: Dealing,
    rel: int,
    seed: int,
    ties: str,
    reading: Reading,
    jobs: int | None,
    format: str,
    table: str | None,
    output: str | None,
) -> None:
    """Pool runs: list documents to judge, or report the judgments so far.

    RUN is a file, a folder or a quoted pattern. --next, --budget, --unjudged and --sample list
    documents; without them a report is written. The next documents depend only on the runs and the
    judgments, so that judging can be interrupted and resumed at any time.
    """
    from cranfield import assess
    from cranfield.assess.pools.pool import judgments_so_far
    from cranfield.assess.sampling_designs import check_design

    chosen = assess.parse_method(method)
    rules = [assess.parse_rule(rule) for rule in asked.rules]
    asked.check(judged is not None, format, chosen.learns)
    wanted: dict[str, Any] = {
        "size": None if size is None else amount(size, "--size"),
        "strata": None if strata is None else read_strata(strata),
    }
    if asked.sample is not None:
        check_design(asked.sample, **wanted)
    listing = asked.lists(judged is not None)
    _tell_without_effect(chosen, asked, dealing, listing)
    if table is not None:
        if listing or format in OF_QRELS:
            raise PolicyError("--table requires a report, got a list of documents")
        plain = ["topics", *(["systems"] if judged is not None else [])]
        check_table(table, ["stops"] if rules else ["relevant"] if asked.sample else plain)
    many = reading.runs(judged, runs)
    inputs = [judged, *paths_of(many)]
    qrels = judgments_so_far(judged, reading.qrels)
    with progress_of(many) as progress:
        made = assess.pool(many, depth, ties=ties, jobs=jobs, progress=progress)
    drawn = None
    if asked.sample is not None:
        drawn = assess.sample(made, asked.sample, seed=seed, **wanted)
    if listing:
        if asked.following:
            after = assess.next_documents(made, qrels, chosen, asked.following, seed=seed, rel=rel)
            _warn_of_next(after)
            documents: Any = after
        elif asked.budget:
            order = assess.order(made, chosen, qrels, seed=seed, rel=rel).to_polars()
            _warn_of_order(made, qrels, chosen)
            documents = order.filter(order["place"] <= min(asked.budget, len(made)))
        else:
            documents = drawn if drawn is not None else made.unjudged(qrels)
        dealing.write(documents, seed, format, output, inputs)
    elif drawn is not None and format in OF_QRELS:
        from cranfield.collection.files.writing import write_qrels

        columns = [{"prels": "inclusion", "xqrels": "stratum"}[format]]
        of_sample = drawn.to_qrels(qrels, columns, unjudged=missing)
        write_qrels(of_sample, output or "-", format=format)
    else:
        findings = _report(made, judged is not None, qrels, drawn, rules, rel, missing, seed)
        write_results(findings, "text" if format == "auto" else format, table, output)


def _tell_without_effect(method: Method, asked: Asked, dealing: Dealing, listing: bool) -> None:
    """Warn of options that the method of judging does not use."""
    if listing and not (asked.sample or method.random or dealing.draws):
        tell_without_effect(("seed",), f"{method} draws no random numbers")
    if (asked.following or asked.budget) and not method.learns:
        tell_without_effect(("rel",), f"{method} does not use grades")


def _report(
    made: Pool,
    judged: bool,
    qrels: Qrels | None,
    drawn: Sample | None,
    rules: list[Rule],
    rel: int,
    missing: str,
    seed: int,
) -> ResultSet:
    """Put together what is known of the pool; with a sample or rules, what they say."""
    import numpy as np
    import polars as pl

    size = f"{counted(len(made.topics), 'topic')}, {counted(len(made.systems), 'system')}"
    heading = [f"pool of {counted(len(made), 'document')}: {size}, depth {made.depth}"]
    about: dict[str, Any] = {"depth": made.depth, "documents": len(made)}
    frames = {"topics": pl.DataFrame({"topic": made.topics, "pooled": np.diff(made.starts)})}
    if judged:
        unjudged = made.unjudged(qrels)
        inside = len(made) - len(unjudged)
        heading.append(f"{inside:,} are judged, {len(unjudged):,} are not")
        _warn_of_outside(0 if qrels is None else len(qrels) - inside)
        about["judged"] = inside
        frames = {"topics": unjudged.by_topic(), "systems": unjudged.by_system()}
    if drawn is not None:
        found = drawn.relevant(qrels, rel, unjudged=missing)
        about |= {"sample": drawn.drawing, "seed": seed}
        heading += [
            f"sample by {drawn.drawing}, seed {seed}: {counted(len(drawn), 'document')}",
            f"estimated relevant documents of the pool: {found.total:.1f}, standard error"
            f" {f'{found.total_error:.1f}' if found.total_varies else 'unknown'}",
        ]
        frames = {"relevant": found.to_polars()}
    if rules:
        from cranfield.assess import stopping_by_topic

        said = stopping_by_topic(made, qrels, rules, rel=rel)
        rows = [(topic, verdict) for topic, one in said.items() for verdict in one.verdicts()]
        for rule in map(str, rules):
            stop = sum(verdict.stop for _, verdict in rows if verdict.rule == rule)
            heading.append(f"{rule} stops judging for {stop} of {counted(len(said), 'topic')}")
        if any(rule.name == "RecallTest" for rule in rules):
            heading.append(f"note: {NO_PVALUE}")
        frames = {"stops": pl.DataFrame([{"topic": topic, **vars(one)} for topic, one in rows])}
    tables = [from_frame(frame, name.capitalize()) for name, frame in frames.items()]
    keyed = {name: (frame, KEYS[name]) for name, frame in frames.items()}
    return ResultSet(heading, tables, keyed, about)


def _warn_of_next(after: NextDocuments) -> None:
    _warn_of_outside(after.outside)
    _warn(after.ahead, "ahead of the order of the method, which ignores {them}")
    _warn(after.negative, "below 0; {they} as not relevant")


def _warn_of_order(made: Pool, qrels: Qrels | None, method: Method) -> None:
    """Say what a method that learns makes of documents without judgments."""
    if qrels is None or not method.learns:
        return
    left = len(made.unjudged(qrels))
    _warn_of_outside(len(qrels) - len(made) + left)
    if left:
        said = f"{method} treats {counted(left, 'unjudged document')} of the pool as not relevant"
        warnings.warn(CranfieldWarning(said), stacklevel=2)


def _warn_of_outside(outside: int) -> None:
    _warn(outside, "outside the pool")


def _warn(number: int, what: str) -> None:
    if number:
        one = number == 1
        are = "judgment is" if one else "judgments are"
        words = what.format(them="it" if one else "them", they="it counts" if one else "they count")
        warnings.warn(CranfieldWarning(f"{number:,} {are} {words}"), stacklevel=3)
