"""Commands on labels of several assessors or of language models: `labels`, `judges`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cranfield.assess.labels import CROWD_MODELS
from cranfield.base.errors import PolicyError
from cranfield.base.text import counted
from cranfield.cli.options.declaring import (
    READ,
    WRITTEN,
    command,
    going_with,
    option,
    refuse_given,
    settings,
)
from cranfield.cli.options.judging import (
    DOCUMENT_JUDGING_SETTINGS,
    OF_DOCUMENTS,
    POLICIES,
    WORK,
    Reading,
    document_judging_options,
    grades_of_text,
    measures_option,
    names_of_columns,
    one_of,
    wanted_measures,
    without_reading,
)
from cranfield.cli.options.output import ResultOutput, result_options
from cranfield.cli.options.signatures import options_from, pairs_of
from cranfield.collection.policies import FORMATS
from cranfield.result import ResultSet, together
from cranfield.tabular import from_frame

if TYPE_CHECKING:
    import polars as pl

    from cranfield.assess.judges.reading import Judge
    from cranfield.assess.labels.consensus import Consensus
    from cranfield.collection.qrels import Qrels

    Frames = Mapping[str, tuple[pl.DataFrame, Sequence[str]]]


EPILOG = """\b
Examples:
  cranfield labels crowd.csv
  cranfield labels crowd.csv --method dawid-skene --qrels crowd.qrels
  cranfield labels votes.txt --columns "- doc worker grade" --tie high --gold gold.qrels
  cranfield labels ann=ann.qrels bob=bob.qrels --measure "kappa(quadratic)" --pairs
  cranfield labels crowd.csv --table workers --format csv
"""

WITH_GOLD = ("dawid-skene", "one-coin", "glad", "mace")
KEYS = {
    "grades": ("grade",),
    "workers": ("worker",),
    "agreement": ("assessors", "measure"),
    "gold": ("gold",),
}
"""The tables of numbers, and the columns that say what a row is of."""

OF_AGREEMENT = ("measures", "pairs", "against", "rel", "interval", "confidence", "resamples")
"""Parameters of measures of agreement."""

SHOWN = 12
"""Workers that are printed; tables of numbers have all."""

COMPARED = 40
"""Pairs of assessors that are printed."""


@command(
    epilog=EPILOG,
    first="columns grades method gold qrels measure pairs against interval format table output",
)
@settings("tie fix-gold encoding repeats confidence resamples")
@click.argument("labels", metavar="LABELS...", nargs=-1, required=True, type=READ)
@option(
    "--columns",
    metavar="NAMES",
    help='Fields of lines without a header, such as "worker doc grade", - for a field to ignore; or'
    " names of columns of a table: worker=annotator,grade=rating (gold.doc=id for --gold).",
)
@options_from(
    "cranfield.assess.read_labels",
    "worker_columns grades repeats missing encoding",
    worker_columns={
        "type": str,
        "metavar": "NAMES",
        "help": "Columns of a table with one for each worker: 'Judge A,Judge B'.",
    },
    grades={
        "metavar": "LOW..HIGH|VALUE=N,...",
        "help": "Lowest and highest grade, such as 0..3; labels outside are errors. Or the grades"
        " of words: 'Relevant=1,Not relevant=0'. By default the grades that occur.",
    },
)
@one_of(
    "--method",
    CROWD_MODELS,
    "Method that aggregates the labels of a document into one judgment.",
    "majority",
)
@options_from("cranfield.assess.majority", "tie")
@option("--gold", metavar="QRELS", help="Gold judgments to compare with.", type=READ)
@option(
    "--fix-gold",
    is_flag=True,
    help="Treat the judgments of --gold as known when aggregating.",
    goes_with=f"--gold --method={','.join(WITH_GOLD)}",
)
@option("--qrels", metavar="FILE", help="File to write the aggregated judgments to.", type=WRITTEN)
@options_from(
    "cranfield.assess.agreement_of",
    "measures pairs against rel interval confidence resamples seed",
    measures={
        "flag": "--measure measures",
        "multiple": True,
        "help": "Agreement coefficient, such as kappa(quadratic) or alpha; may be given several"
        " times. By default observed agreement, kappa (for more than two assessors Fleiss'),"
        " ordinal alpha and AC1.",
    },
    pairs={"goes_with": "!--against"},
    against={"metavar": "NAME"},
    confidence={"goes_with": "!--interval=none"},
    resamples={"goes_with": "--interval=bootstrap"},
    seed={
        "help": "Seed of the random numbers.",
        "goes_with": ("--tie=random", "--interval=bootstrap", "--method=mace"),
    },
)
@result_options(KEYS)
def labels(
    labels: tuple[str, ...],
    columns: str | None,
    worker_columns: str | None,
    grades: str | None,
    repeats: str,
    missing: str,
    encoding: str,
    method: str,
    tie: str,
    gold: str | None,
    fix_gold: bool,
    qrels: str | None,
    measures: tuple[str, ...],
    written: ResultOutput,
    **asked: Any,
) -> None:
    """Summarise annotations, measure agreement, and aggregate them into qrels.

    LABELS is a file with topic, document, worker and grade, or several files of judgments, one for
    each assessor: NAME=FILE.
    """
    if qrels is not None and qrels in {written.output or "-", "-"}:
        raise PolicyError("--qrels and --output must be two different files")
    written.check(name for name in KEYS if gold is not None or name != "gold")
    from cranfield import assess
    from cranfield.assess.labels.reading import read_gold
    from cranfield.assess.labels.table import Overview

    own_columns, gold_columns = _columns(columns)
    if gold_columns and gold is None:
        raise PolicyError("--columns gold. requires --gold")
    read = assess.read_labels(
        _given(labels),
        columns=own_columns,
        worker_columns=None if worker_columns is None else worker_columns.split(","),
        grades=_grades(grades),
        repeats=repeats,
        missing=missing,
        encoding=encoding,
    )
    options: dict[str, Any] = {"columns": gold_columns, "encoding": encoding}
    right = None if gold is None else read_gold(gold, read, **options)
    known = {"gold": right} if fix_gold else {}
    found: Consensus = CROWD_MODELS[method](read, tie=tie, seed=asked["seed"], **known)
    overview = Overview(read)
    workers = found.workers()
    tables = [from_frame(overview.to_polars(), "Grades", left=["grade"])]
    frames = {"grades": overview.to_polars(), "workers": workers}
    notes = list(found.notes)
    shown = workers.sort("labels", descending=True, maintain_order=True)[:SHOWN]
    rest = workers.height - shown.height
    beyond = f"; {counted(rest, 'other')} not shown" if rest else ""
    tables.append(from_frame(shown, f"Workers, by {method}{beyond}"))
    if len(read.workers) > 1:
        agreed = assess.agreement_of(read, measures or None, **asked)
        frames["agreement"] = agreed.to_polars()
        tables.append(agreed.table(most=COMPARED))
        if agreed.paired and len(read.workers) <= SHOWN and asked["against"] is None:
            tables.append(from_frame(agreed.matrix(), f"Pairs of assessors, {agreed.measures[0]}"))
    else:
        refuse_given(OF_AGREEMENT, "requires two workers or more, got one")
        notes.append("agreement was not measured: there is only one worker")
    if right is not None:
        frames["gold"], lines = _beside_gold(found, right)
        tables.append(
            from_frame(frames["gold"], f"Gold grades, and grades by {method}", left=["gold"])
        )
        notes += lines
    if qrels is not None:
        notes.append(f"{counted(len(found.qrels), 'judgment')} written to {qrels}")
    findings = ResultSet(
        [*overview.heading(), *found.heading(), *(f"note: {one}" for one in notes)],
        tables,
        {name: (frame, _keys(name, frame)) for name, frame in frames.items()},
        {"method": method, "tie": tie, **asked, "notes": notes},
    )
    if qrels is None:
        written.write(findings)
    else:
        from cranfield import write_qrels

        written.write(findings, partial(write_qrels, found.qrels, qrels))


def _grades(grades: str | None) -> Any:
    """Take a scale of grades, or the grades of words."""
    if grades is None:
        return None
    if "=" in grades:
        return grades_of_text(grades)
    from cranfield.assess.judges.reading import read_scale

    return read_scale(grades).grades


def _columns(columns: str | None) -> tuple[str | dict[str, str] | None, dict[str, str] | None]:
    """Take the fields of a line, or names of columns, those of labels and those of gold grades."""
    if columns is None or "=" not in columns:
        return columns, None
    own, gold = names_of_columns(columns), dict[str, str]()
    for name in [name for name in own if name.startswith("gold.")]:
        gold[name.removeprefix("gold.")] = own.pop(name)
    return own or None, gold or None


def _given(labels: tuple[str, ...]) -> str | dict[str, str]:
    """Take a file of labels, or judgments by the assessor's name."""
    if len(labels) == 1 and "=" not in labels[0]:
        return labels[0]
    return pairs_of(labels, "several LABELS", "NAME=FILE")


def _beside_gold(found: Consensus, gold: Qrels) -> tuple[pl.DataFrame, list[str]]:
    """Count what is made of pairs with a known grade: a row a known grade, a column a grade."""
    import numpy as np
    import polars as pl

    from cranfield.assess.labels.reading import gold_levels

    level, lines = gold_levels(gold, found.labels)
    rows = np.flatnonzero(level >= 0)
    q = found.labels.grades.size
    # What was dropped for a tie is the last column.
    made = np.where(found.level[rows] < 0, q, found.level[rows])
    table = np.bincount(level[rows] * (q + 1) + made, minlength=q * (q + 1)).reshape(q, q + 1)
    right, tied = int(np.trace(table)), int(found.tied[rows].sum())
    names = [*map(str, found.labels.grades), "none"]
    frame = pl.DataFrame({"gold": found.labels.grades} | dict(zip(names, table.T, strict=True)))
    return frame, [
        *lines[1:],
        f"{right:,} of {rows.size:,} gold judgments correct; {tied:,} were ties",
    ]


def _keys(name: str, frame: pl.DataFrame) -> tuple[str, ...]:
    if name != "agreement":
        return KEYS[name]
    who = ("first", "second") if "first" in frame.columns else ("assessors",)
    return (*who, "measure")


JUDGES_EPILOG = """\b
Examples:
  cranfield judges qrels.txt submissions/
  cranfield judges qrels.txt gpt=umbrela.jsonl llama.txt --cut
  cranfield judges qrels.txt labels/ --table agreement --format csv
  cranfield judges qrels.txt labels/ --runs runs/ -m AP -m nDCG@10
  cranfield judges qrels.txt labels/ --runs runs/ --families families.csv
  cranfield judges few.txt llm.txt --runs runs/ --ppi topic -m nDCG@10
  cranfield judges qrels.txt submissions/ --own-runs --families teams.csv -m nDCG@10
"""

DEFAULT = ("AP", "nDCG@10")

OF_RUNS = ("rankings", "systems", "self-preference", "ppi")
JUDGE_TABLES = ("agreement", "intervals", "calibration", *OF_RUNS)

RANKED = ("--runs", "--own-runs")
"""What has runs ranked."""


@command(
    epilog=JUDGES_EPILOG,
    first="cut scale runs own-runs families ppi measure format table output rel settings",
)
@settings(f"label-format level confidence fixed-topics compat {DOCUMENT_JUDGING_SETTINGS}")
@click.argument("qrels", metavar="QRELS", type=READ)
@click.argument("judges", metavar="JUDGE...", nargs=-1, required=True, type=READ)
@options_from(
    "cranfield.assess.compare_judges",
    "cut scale level",
    scale={
        "metavar": "LOW..HIGH",
        "help": "Lowest and highest possible grade, such as 0..3; by default 0 and the highest"
        " grade of QRELS.",
    },
)
@one_of("--label-format", FORMATS, "Format of JUDGE, if it differs from --input-format.")
@option(
    "--runs",
    multiple=True,
    metavar="RUN",
    help="Runs to rank by the judgments of people and of judges: a file, a folder or a quoted"
    " pattern; may be given several times.",
    type=READ,
)
@option(
    "--own-runs",
    is_flag=True,
    help="Rank the judges themselves: the grades of each judge make a run.",
)
@option(
    "--families",
    metavar="FILE",
    help="Measure whether judges prefer systems of their own family (self-preference): a table of"
    " the names of judges and systems, and their families.",
    type=READ,
    goes_with=("--runs !--ppi", "--own-runs !--ppi"),
)
@option(
    "--ppi",
    stands_for="unit",
    goes_with=RANKED,
    metavar="UNIT",
    help="Correct the scores by judges with QRELS (prediction-powered inference), if people"
    " judged a random sample of the topics (topic) or of the documents of every topic (document).",
)
@option(
    "--fixed-topics",
    is_flag=True,
    goes_with="--ppi",
    help="Compute confidence intervals for these topics only, with --ppi document.",
)
@measures_option(DEFAULT, goes_with=RANKED)
@options_from("cranfield.assess.compare_judges", "confidence")
@result_options(JUDGE_TABLES)
@going_with(("--runs",), ("system", "lower", "on_bad_run"))
@going_with(RANKED, (*POLICIES, *OF_DOCUMENTS, *WORK))
@document_judging_options
def judges(
    qrels: str,
    judges: tuple[str, ...],
    cut: bool,
    scale: str | None,
    level: str,
    label_format: str | None,
    runs: tuple[str, ...],
    own_runs: bool,
    families: str | None,
    ppi: str | None,
    fixed_topics: bool,
    asked: tuple[str, ...],
    confidence: float,
    written: ResultOutput,
    **judging: Any,
) -> None:
    """Compare the labels of judges, such as language models, with those of people.

    JUDGE is a file of labels, NAME=FILE, a folder or a quoted pattern. Files are qrels, tables, or
    JSON lines of UMBRELA, whose unparsed answers are ignored.
    """
    from cranfield.assess.judges.comparison import compare_judges
    from cranfield.assess.judges.rankings import judges_as_runs
    from cranfield.assess.judges.reading import panel_of, sampled_only

    ranked = bool(runs) or own_runs
    if runs and own_runs:
        raise PolicyError("give either --runs or --own-runs, not both")
    lacking = {
        "rankings": not ranked or bool(ppi),
        "systems": not ranked or bool(ppi),
        "self-preference": families is None,
        "ppi": not ppi,
    }
    written.check(name for name in JUDGE_TABLES if not lacking.get(name))
    wanted = wanted_measures(asked, judging.pop("rel"), judging["compat"])
    reading = Reading.of(judging)
    people, labels = reading.with_judges(qrels, judges, label_format, runs=ranked)
    on_scale: dict[str, Any] = {"scale": scale, "cut": cut, "confidence": confidence}
    if ppi and not cut:
        # Few judgments of people may lack the highest grade.
        on_scale["scale"] = panel_of(people, labels, scale, scale_of_judges=True).scale
    found = compare_judges(people, labels, level=level, **on_scale)
    results: list[Any] = [found]
    if ranked:
        cuts = {name: on_scale[name] for name in ("scale", "cut")}
        many = reading.runs(qrels, runs) if runs else judges_as_runs(people, labels, **cuts)
        options = without_reading(judging)
        if options.pop("aspects"):
            raise PolicyError("--aspect cannot be used with judges")
        if ppi:
            options |= {"unit": ppi, "fixed_topics": fixed_topics, "alpha": 1 - confidence}
            results += _ppi_scores(many, people, labels, wanted, cuts | options)
        else:
            results += _ranked(many, people, labels, wanted, families, on_scale | options)
    notes = list(dict.fromkeys(note for result in results for note in result.notes))
    size = (
        f"{counted(len(sampled_only(people)), 'judgment')} of {counted(len(found.topics), 'topic')}"
    )
    heading = [
        f"{counted(len(found.judges), 'judge')} compared with people: {size},"
        f" grades {found.scale[0]} to {found.scale[-1]}"
    ]
    about = {
        "scale": list(found.scale),
        "level": level,
        "confidence": confidence,
        "notes": notes,
    }
    findings = replace(
        together(*results),
        heading=[*heading, *(f"note: {note}" for note in notes)],
        facts=about,
        first=(),
    )
    if ppi:
        findings = replace(findings, frames=_with_judges(findings.frames, results[1:]))
    written.write(findings)


def _ranked(
    runs: Any,
    people: Any,
    labels: tuple[Judge, ...],
    wanted: Any,
    families: str | None,
    options: dict[str, Any],
) -> list[Any]:
    """Rank the runs by people and by judges, and measure the self-preference of judges."""
    from cranfield.assess.judges.rankings import judge_rankings
    from cranfield.assess.judges.self_preference import self_preference

    rankings = judge_rankings(runs, people, labels, wanted, **options)
    if families is None:
        return [rankings]
    return [rankings, self_preference(runs, people, labels, families, wanted, **options)]


def _ppi_scores(
    runs: Any, people: Any, labels: tuple[Judge, ...], wanted: Any, options: dict[str, Any]
) -> list[Any]:
    """Estimate prediction-powered scores by each judge and measure."""
    from cranfield.assess.estimates.scores import ppi_scores

    return [
        ppi_scores(runs, people, judge, measure, **options)
        for measure in wanted
        for judge in labels
    ]


def _with_judges(frames: Frames, results: Sequence[Any]) -> Frames:
    """Add measure and judge to the table of prediction-powered scores."""
    import polars as pl

    first = ("measure", "judge")
    parts = [
        one.to_polars().select(
            *(pl.lit(getattr(one, name)).alias(name) for name in first), pl.all()
        )
        for one in results
    ]
    return {**frames, "ppi": (pl.concat(parts), (*first, "system"))}
