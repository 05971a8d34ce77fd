"""`cranfield judges`: labels of language models beside those of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.cli.options.conditions import going_with, refuse_given
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import (
    OF_DOCUMENTS,
    POLICIES,
    WORK,
    judging_options,
    measures_option,
    one_of,
    wanted_measures,
)
from cranfield.cli.options.output import output_option, write_findings
from cranfield.cli.options.reading import Reading, without_reading
from cranfield.collection.files.format_names import FORMATS
from cranfield.meta.study import Findings
from cranfield.reporting.text.studies import WRITERS, check_table

if TYPE_CHECKING:
    from cranfield.assess.judges.reading import Judge

EPILOG = """\b
Examples:
  cranfield judges qrels.txt submissions/
  cranfield judges qrels.txt gpt=umbrela.jsonl llama.txt --cut
  cranfield judges qrels.txt labels/ --table agreement --format csv
  cranfield judges qrels.txt labels/ --runs runs/ -m AP -m nDCG@10
  cranfield judges qrels.txt labels/ --runs runs/ --kin families.csv
  cranfield judges few.txt llm.txt --runs runs/ --correct topic -m nDCG@10
  cranfield judges qrels.txt submissions/ --own-runs --kin teams.csv -m nDCG@10
"""

DEFAULT = ("AP", "nDCG@10")

KEYS = {
    "agreement": ("judge",),
    "intervals": ("judge", "statistic"),
    "calibration": ("judge", "label", "grade"),
    "rankings": ("measure", "judge"),
    "systems": ("measure", "judge", "system"),
    "kin": ("measure", "judge"),
    "corrected": ("measure", "judge", "system"),
}
"""The tables of numbers, and the columns that say what a row is of."""

RANKED = ("--runs", "--own-runs")
"""What has runs ranked."""


@command(
    epilog=EPILOG,
    first="cut scale runs own-runs kin correct measure confidence format table output rel",
)
@click.argument("qrels", metavar="QRELS", type=READ)
@click.argument("judges", metavar="JUDGE...", nargs=-1, required=True, type=READ)
@option("--cut", is_flag=True, help="Count a grade off the scale as its nearer end.")
@option("--scale", metavar="LOW..HIGH", help="Grades that may be given; by default those of QRELS.")
@option(
    "--level",
    default="ordinal",
    show_default=True,
    help="Level of Krippendorff's alpha: ordinal, nominal, interval or ratio.",
)
@one_of("--label-format", FORMATS, "Format of JUDGE, where it is not that of --input-format.")
@option(
    "--runs",
    multiple=True,
    metavar="RUN",
    help="Runs to be ranked by people and by judges: a file, a folder or a quoted pattern; may be"
    " given several times.",
    type=READ,
)
@option("--own-runs", is_flag=True, help="Rank the judges: each is a run by its own grades.")
@option(
    "--kin",
    metavar="FILE",
    help="Ask whether judges favour their own: a table of names, judges and systems, and families.",
    type=READ,
    goes_with=("--runs !--correct", "--own-runs !--correct"),
)
@option(
    "--correct",
    stands_for="unit",
    goes_with=RANKED,
    metavar="UNIT",
    help="Correct what judges say of the runs by QRELS, where people judged a random sample: of"
    " topics (topic), or of the documents of every topic (document).",
)
@option(
    "--fixed-topics",
    is_flag=True,
    goes_with="--correct",
    help="With --correct document: confidence intervals for these topics only.",
)
@measures_option(DEFAULT, goes_with=RANKED)
@option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of intervals over topics."
)
@one_of("--format", WRITERS, "How to write the tables.", "text")
@option("--table", metavar="NAME", help=f"One table of numbers only: {', '.join(KEYS)}.")
@output_option
@going_with(("--runs",), ("system", "lower", "bad_runs"))
@going_with(RANKED, (*POLICIES, *OF_DOCUMENTS, *WORK))
@judging_options
def judges(
    qrels: str,
    judges: tuple[str, ...],
    cut: bool,
    scale: str | None,
    level: str,
    label_format: str | None,
    runs: tuple[str, ...],
    own_runs: bool,
    kin: str | None,
    correct: str | None,
    fixed_topics: bool,
    asked: tuple[str, ...],
    confidence: float,
    format: str,
    table: str | None,
    output: str | None,
    **judging: Any,
) -> None:
    """Compare the labels of judges, such as language models, with those of people.

    JUDGE is a file of labels, NAME=FILE, a folder or a quoted pattern: qrels, tables, or JSON lines
    of UMBRELA, where an answer that was not parsed is no label.
    """
    from cranfield.assess.judges.beside import sampled_only
    from cranfield.assess.judges.comparison import compare_judges

    ranked = bool(runs) or own_runs
    if runs and own_runs:
        raise PolicyError("give either --runs or --own-runs, not both")
    lacking = {
        "rankings": not ranked or bool(correct),
        "systems": not ranked or bool(correct),
        "kin": kin is None,
        "corrected": not correct,
    }
    there = [name for name in KEYS if not lacking.get(name)]
    if table is not None:
        check_table(table, there)
    wanted = wanted_measures(asked, judging.pop("rel"), judging["compat"])
    refuse_given(("subtopics",), "cannot be combined with judges, who grade documents")
    reading = Reading.of(judging)
    people, labels = reading.with_judges(qrels, judges, label_format, runs=ranked)
    on_scale: dict[str, Any] = {"scale": scale, "cut": cut, "confidence": confidence}
    if correct and scale is None and not cut:
        # Few judgments of people may lack the highest grade.
        highest = max(one.max_grade for one in (people, *(judge.labels for judge in labels)))
        on_scale["scale"] = (0, max(highest, 0))
    found = compare_judges(people, labels, level=level, **on_scale)
    tables = found.tables()
    frames = {
        "agreement": found.to_polars(),
        "intervals": found.intervals(),
        "calibration": found.calibration(),
    }
    notes = [*found.notes]
    if ranked:
        more, of_runs = _of_runs(
            *(reading, qrels, people, labels, runs, wanted),
            (kin, correct, fixed_topics),
            *(on_scale, judging),
        )
        tables += [one for result in more for one in result.tables()]
        notes += [note for result in more for note in result.notes if note not in notes]
        frames |= of_runs
    size = (
        f"{counted(len(sampled_only(people)), 'judgment')} of {counted(len(found.topics), 'topic')}"
    )
    heading = [
        f"{counted(len(found.judges), 'judge')} beside people: {size},"
        f" grades {found.scale[0]} to {found.scale[-1]}"
    ]
    about = {
        "scale": list(found.scale),
        "level": level,
        "confidence": confidence,
        "notes": notes,
    }
    findings = Findings(
        [*heading, *(f"note: {note}" for note in notes)],
        tables,
        {name: (frame, KEYS[name]) for name, frame in frames.items()},
        about,
    )
    write_findings(findings, format, table, output)


def _of_runs(
    reading: Reading,
    qrels: str,
    people: Any,
    labels: tuple[Judge, ...],
    runs: tuple[str, ...],
    wanted: Any,
    asked: tuple[str | None, str | None, bool],
    on_scale: dict[str, Any],
    judging: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """Rank the runs, or the judges as runs, by all, and ask who favours kin; or correct judges."""
    from cranfield.assess.judges.kin import kin_bias
    from cranfield.assess.judges.rankings import judge_rankings
    from cranfield.assess.judges.scoring import judges_as_runs

    cuts = {name: on_scale[name] for name in ("scale", "cut")}
    judging = without_reading(judging)
    if judging.pop("aspects"):
        raise PolicyError("--aspect is not for judges")
    many: Any = reading.runs(qrels, runs) if runs else list(judges_as_runs(people, labels, **cuts))
    kin, correct, fixed_topics = asked
    if correct:
        judging |= {"unit": correct, "fixed_topics": fixed_topics}
        return _corrected(many, people, labels, wanted, on_scale, judging)
    rankings = judge_rankings(many, people, labels, wanted, **on_scale, **judging)
    results: list[Any] = [rankings]
    frames = {"rankings": rankings.to_polars(), "systems": rankings.by_system()}
    if kin is not None:
        favours = kin_bias(many, people, labels, kin, wanted, **on_scale, **judging)
        results.append(favours)
        frames["kin"] = favours.to_polars()
    return results, frames


def _corrected(
    runs: Any,
    people: Any,
    labels: tuple[Judge, ...],
    wanted: Any,
    on_scale: dict[str, Any],
    judging: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """Correct the scores by each judge and measure."""
    import polars as pl

    from cranfield.assess.estimates.corrected import corrected_scores

    options = {"alpha": 1 - on_scale["confidence"], **judging}
    options |= {name: on_scale[name] for name in ("scale", "cut")}
    found = [
        corrected_scores(runs, people, judge, measure, **options)
        for measure in wanted
        for judge in labels
    ]
    first = ("measure", "judge")
    frames = [
        one.to_polars().select(
            *(pl.lit(getattr(one, name)).alias(name) for name in first), pl.all()
        )
        for one in found
    ]
    return [*found], {"corrected": pl.concat(frames)}
