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
@options_from(f"{__name__}.labels", "columns", columns={"metavar": "NAMES"})
@options_from(
    "cranfield.assess.read_labels",
    "worker_columns grades repeats missing encoding",
    worker_columns={
        "type": str,
        "metavar": "NAMES",
        "help": "Columns of a table that has a column for each worker: 'Judge A,Judge B'.",
    },
    grades={
        "metavar": "LOW..HIGH|VALUE=N,...",
        "help": "Lowest and highest grade, such as 0..3; labels outside are errors. Or the grades"
        " of words, 'Relevant=1,Not relevant=0', cut points of real numbers, 0.5,0.8, or a"
        " pattern of texts, 'score: (\\d)'. By default the grades that occur.",
    },
)
@options_from(f"{__name__}.labels", "method", type=click.Choice(list(CROWD_MODELS)))
@options_from("cranfield.assess.majority", "tie")
@options_from(
    f"{__name__}.labels",
    "gold fix_gold qrels",
    gold={"metavar": "QRELS", "type": READ},
    fix_gold={"goes_with": f"--gold --method={','.join(WITH_GOLD)}"},
    qrels={"type": WRITTEN},
)
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
    *,
    columns: str | None,
    method: str = "majority",
    tie: str,
    gold: str | None,
    fix_gold: bool = False,
    qrels: str | None,
    worker_columns: str | None,
    grades: str | None,
    repeats: str,
    missing: str,
    encoding: str,
    measures: tuple[str, ...],
    written: ResultOutput,
    **agreeing: Any,
) -> None:
    """Summarise annotations, measure agreement, and aggregate them into qrels.

    LABELS is a file with topic, document, worker and grade, or several files of judgments, one for
    each assessor: NAME=FILE.

    Parameters
    ----------
    columns
        Fields of lines without a header, such as "worker doc grade", - for a field to ignore; or
        names of columns of a table: worker=annotator,grade=rating (gold.doc=id for --gold).
    method
        Method that aggregates the labels of a document into one judgment.
    gold
        Gold judgments to compare with.
    fix_gold
        Treat the judgments of --gold as known when aggregating.
    qrels
        File to write the aggregated judgments to.
    """
    if qrels is not None and qrels in {written.output or "-", "-"}:
        raise PolicyError("--qrels and --output must be two different files")
    written.check(name for name in KEYS if gold is not None or name != "gold")
    from cranfield import assess, write_qrels
    from cranfield.assess.labels.reading import read_gold
    from cranfield.assess.labels.table import Overview

    own_columns, gold_columns = _columns(columns)
    if gold_columns and gold is None:
        raise PolicyError("--columns gold. requires --gold")
    read = assess.read_labels(
        _files(labels),
        columns=own_columns,
        worker_columns=None if worker_columns is None else worker_columns.split(","),
        grades=_grades(grades),
        repeats=repeats,
        missing=missing,
        encoding=encoding,
    )
    right = None
    if gold is not None:
        right = read_gold(gold, read, columns=gold_columns, encoding=encoding)
    known = {"gold": right} if fix_gold else {}
    consensus = CROWD_MODELS[method](read, tie=tie, seed=agreeing["seed"], **known)
    overview, workers = Overview(read), consensus.workers()
    frames = {"grades": overview.to_polars(), "workers": workers}
    notes = list(consensus.notes)
    shown = workers.sort("labels", descending=True, maintain_order=True)[:SHOWN]
    rest = workers.height - shown.height
    beyond = f"; {counted(rest, 'other')} not shown" if rest else ""
    tables = [
        from_frame(frames["grades"], "Grades", left=["grade"]),
        from_frame(shown, f"Workers, by {method}{beyond}"),
    ]
    if len(read.workers) > 1:
        agreement = assess.agreement_of(read, measures or None, **agreeing)
        frames["agreement"] = agreement.to_polars()
        tables.append(agreement.table(limit=COMPARED))
        if agreement.paired and len(read.workers) <= SHOWN and agreeing["against"] is None:
            title = f"Pairs of assessors, {agreement.measures[0]}"
            tables.append(from_frame(agreement.matrix(), title))
    else:
        refuse_given(OF_AGREEMENT, "requires two workers or more, got one")
        notes.append("agreement was not measured: there is only one worker")
    if right is not None:
        frames["gold"], lines = _beside_gold(consensus, right)
        tables.append(
            from_frame(frames["gold"], f"Gold grades, and grades by {method}", left=["gold"])
        )
        notes += lines
    if qrels is not None:
        notes.append(f"{counted(len(consensus.qrels), 'judgment')} written to {qrels}")
    results = ResultSet(
        [*overview.heading(), *consensus.heading(), *(f"note: {note}" for note in notes)],
        tables,
        {name: (frame, _keys(name, frame)) for name, frame in frames.items()},
        {"method": method, "tie": tie, **agreeing, "notes": notes},
    )
    also = None if qrels is None else partial(write_qrels, consensus.qrels, qrels)
    written.write(results, also)


def _grades(grades: str | None) -> Any:
    """Take a scale of grades, the grades of words, cut points, or a pattern."""
    if grades is None:
        return None
    if "=" in grades or "(" in grades or ("." in grades and ".." not in grades):
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


def _files(labels: tuple[str, ...]) -> str | dict[str, str]:
    """Take a file of labels, or judgments by the assessor's name."""
    if len(labels) == 1 and "=" not in labels[0]:
        return labels[0]
    return pairs_of(labels, "several LABELS", "NAME=FILE")


def _beside_gold(consensus: Consensus, gold: Qrels) -> tuple[pl.DataFrame, list[str]]:
    """Count the aggregated grades of pairs with a known grade: a row for each known grade."""
    import numpy as np
    import polars as pl

    from cranfield.assess.labels.reading import gold_levels

    level, lines = gold_levels(gold, consensus.labels)
    rows = np.flatnonzero(level >= 0)
    q = consensus.labels.grades.size
    # Pairs that were dropped for a tie are in the last column.
    aggregated = np.where(consensus.level[rows] < 0, q, consensus.level[rows])
    table = np.bincount(level[rows] * (q + 1) + aggregated, minlength=q * (q + 1))
    table = table.reshape(q, q + 1)
    right, tied = int(np.trace(table)), int(consensus.tied[rows].sum())
    names = [*map(str, consensus.labels.grades), "none"]
    columns = dict(zip(names, table.T, strict=True))
    frame = pl.DataFrame({"gold": consensus.labels.grades} | columns)
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
@options_from(
    f"{__name__}.judges",
    "label_format runs own_runs families ppi fixed_topics",
    label_format={"type": click.Choice(FORMATS)},
    runs={"metavar": "RUN", "type": READ},
    families={"type": READ, "goes_with": ("--runs !--ppi", "--own-runs !--ppi")},
    ppi={"metavar": "UNIT", "stands_for": "unit", "goes_with": RANKED},
    fixed_topics={"goes_with": "--ppi"},
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
    *,
    cut: bool,
    scale: str | None,
    level: str,
    label_format: str | None,
    runs: tuple[str, ...] = (),
    own_runs: bool = False,
    families: str | None,
    ppi: str | None,
    fixed_topics: bool = False,
    asked: tuple[str, ...],
    confidence: float,
    written: ResultOutput,
    **judging: Any,
) -> None:
    """Compare the labels of judges, such as language models, with those of people.

    JUDGE is a file of labels, NAME=FILE, a folder or a quoted pattern. Files are qrels, tables, or
    JSON lines of UMBRELA, whose unparsed answers are ignored.

    Parameters
    ----------
    label_format
        Format of JUDGE, if it differs from --input-format.
    runs
        Runs to rank by the judgments of people and of judges: a file, a folder or a quoted pattern;
        may be given several times.
    own_runs
        Rank the judges themselves: the grades of each judge make a run.
    families
        Measure whether judges prefer systems of their own family (self-preference): a table of the
        names of judges and systems, and their families.
    ppi
        Correct the scores by judges with QRELS (prediction-powered inference), if people judged a
        random sample of the topics (topic) or of the documents of every topic (document).
    fixed_topics
        Compute confidence intervals for these topics only, with --ppi document.
    """
    from cranfield.assess.estimates.scores import ppi_scores
    from cranfield.assess.judges.comparison import compare_judges
    from cranfield.assess.judges.rankings import judge_rankings, judges_as_runs
    from cranfield.assess.judges.reading import panel_of, sampled_only
    from cranfield.assess.judges.self_preference import self_preference

    ranked = bool(runs) or own_runs
    if runs and own_runs:
        raise PolicyError("give either --runs or --own-runs, not both")
    tables = ["rankings", "systems"] if ranked and not ppi else []
    tables += ["self-preference"] if families is not None else []
    written.check(["agreement", "intervals", "calibration", *tables, *(["ppi"] if ppi else [])])
    wanted = wanted_measures(asked, judging.pop("rel"), judging["compat"])
    reading = Reading.of(judging)
    people, labels = reading.with_judges(qrels, judges, label_format, runs=ranked)
    on_scale: dict[str, Any] = {"scale": scale, "cut": cut}
    if ppi and not cut:
        # Few judgments of people may lack the highest grade.
        on_scale["scale"] = panel_of(people, labels, scale, scale_of_judges=True).scale
    comparison = compare_judges(people, labels, level=level, confidence=confidence, **on_scale)
    results: list[Any] = []
    if ranked:
        many = reading.runs(qrels, runs) if runs else judges_as_runs(people, labels, **on_scale)
        options = without_reading(judging) | on_scale
        if options.pop("aspects"):
            raise PolicyError("--aspect cannot be used with judges")
        options |= {"alpha": 1 - confidence} if ppi else {"confidence": confidence}
        if ppi:
            options |= {"unit": ppi, "fixed_topics": fixed_topics}
            results = [
                ppi_scores(many, people, judge, measure, **options)
                for measure in wanted
                for judge in labels
            ]
        else:
            results = [judge_rankings(many, people, labels, wanted, **options)]
        if families is not None:
            results.append(self_preference(many, people, labels, families, wanted, **options))
    every = [comparison, *results]
    notes = list(dict.fromkeys(note for result in every for note in result.notes))
    number = counted(len(sampled_only(people)), "judgment")
    heading = [
        f"{counted(len(comparison.judges), 'judge')} compared with people: {number} of"
        f" {counted(len(comparison.topics), 'topic')}, grades {comparison.scale[0]} to"
        f" {comparison.scale[-1]}",
        *(f"note: {note}" for note in notes),
    ]
    facts: dict[str, Any] = {
        "scale": list(comparison.scale),
        "level": level,
        "confidence": confidence,
    }
    findings = together(*every)
    frames = _with_judges(findings.frames, results) if ppi else findings.frames
    facts |= {"confidence": confidence, "notes": notes}
    written.write(replace(findings, heading=heading, frames=frames, facts=facts, first=()))


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
