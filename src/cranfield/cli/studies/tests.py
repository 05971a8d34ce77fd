"""`cranfield study tests`: what would tests say on other topics?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.conditions import refuse_given
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import (
    OF_DOCUMENTS,
    alpha_option,
    missing_option,
    wanted_measures,
)
from cranfield.cli.options.progress import progress_of
from cranfield.cli.options.reading import Reading, without_reading
from cranfield.cli.options.scores import ScoreInput, score_input
from cranfield.cli.studies.study_options import (
    StudyOptions,
    refuse_resamples,
    study_option,
    study_options,
)
from cranfield.meta.work.options import OneOf, Repeats, Resamples, Sizes

if TYPE_CHECKING:
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.meta.study import Study

EPILOG = """\b
Examples:
  cranfield study tests qrels.txt runs/*.xz -m nDCG@10 --sizes 5,10,25
  cranfield study tests qrels.txt runs/*.xz -m AP --shards 3 -t md1 -t md2 -t md3 -t md3f
  cranfield study tests --scores scores.csv -t t -t sign+bh --false-alarms 1000 --power 1000
  cranfield study tests qrels.txt runs/*.xz -m AP --repeats 1000 --jobs 8 --resume work/
"""

WHOLE = ("anova-1", "anova-2", "anova-2f")
SHARDED = ("anova-1", "anova-2", "anova-3", "anova-2f", "anova-3f")


@command(
    epilog=EPILOG,
    first="measure scores test shards sizes repeats false-alarms power teams table output jobs",
)
@score_input(
    option(
        "--measure",
        "asked",
        default="AP",
        show_default=True,
        help="The measure.",
        callback=lambda context, option, measure: (measure,),
    )
)
@option(
    "--test",
    "tests",
    multiple=True,
    help="A test, such as md2, t+holm or friedman; may be given several times.",
)
@option("--shards", type=click.IntRange(2), help="Number of random shards of the documents.")
@option(
    "--shard-map", help="Table of documents and their shards, instead of random ones.", type=READ
)
@study_option(
    "split_topics",
    "sizes",
    "Topics in each of the two sets.  [default: 5,10,25,50,125 that fit]",
    kind=Sizes,
)
@study_option("split_topics", "repeats", "Draws of each size.", kind=Repeats, default=100)
@option(
    "--false-alarms",
    type=click.IntRange(1),
    metavar="N",
    help="Also count what tests find among systems made equal, N times.",
)
@study_option(
    "false_alarms",
    "null",
    "How systems are made equal.",
    kind=OneOf(("centred", "simulated", "swapped")),
    default="centred",
    goes_with="--false-alarms",
)
@option(
    "--power",
    type=click.IntRange(1),
    metavar="N",
    help="Also count what tests find of true differences, on topics drawn N times.",
)
@study_option(
    "power_of_tests",
    "population",
    "Where those topics come from.",
    kind=OneOf(("simulated", "resampled")),
    default="simulated",
    goes_with="--power",
)
@option("--only", "systems", multiple=True, help="Only this system, and others named so.")
@study_option(
    "split_topics", "teams", "Table of systems and their teams: each team by itself, too."
)
@alpha_option
@missing_option(("error", "drop", "zero", "available"))
@study_option(
    "split_topics",
    "resamples",
    "Random samples of tests that need them.",
    kind=Resamples,
    default=1000,
)
@study_options()
def tests(
    source: ScoreInput,
    tests: tuple[str, ...],
    shards: int | None,
    shard_map: str | None,
    sizes: list[int] | None,
    repeats: int,
    false_alarms: int | None,
    null: str,
    power: int | None,
    population: str,
    systems: tuple[str, ...],
    teams: str | None,
    options: StudyOptions,
    **tested: Any,
) -> None:
    """See how far tests agree with themselves, and each other, on other topics.

    Two disjoint sets of topics are drawn again and again; each test compares all pairs of systems
    on both (Ferro and Sanderson 2022).
    """
    from cranfield import meta
    from cranfield.meta.of_tests.fast_tests import is_bound, read_choice

    if shards is not None and shard_map is not None:
        raise PolicyError("--shards draws shards, --shard-map gives them: one of the two")
    more = {meta.FalseAlarms: false_alarms, meta.PowerOfTests: power}
    options.check_table(
        meta.SplitStudy, *(kind for kind, number in more.items() if number is not None)
    )
    chosen = tests or (WHOLE if shards is None and shard_map is None else SHARDED)
    # Before any file is read.
    refuse_resamples([read_choice(one, **tested) for one in chosen])
    whole, by_shard = _scores(source, shard_map or shards, options)
    tested |= {"by_shard": by_shard, "seed": options.seed, "systems": systems or None}
    split: dict[str, Any] = {"sizes": sizes, "repeats": repeats, "teams": teams}
    with options.work("splitting topics", "splits") as work:
        splits = meta.split_topics(whole, chosen, **split, **tested, **work)
    studies: list[Study] = [splits]
    drawn: dict[str, Any] = {"sizes": splits.sizes, **tested}
    real = [test for test in splits.tests if not is_bound(test)]
    if false_alarms is not None:
        with options.work("looking for false alarms", "false-alarms") as work:
            studies.append(
                meta.false_alarms(whole, real, null=null, repeats=false_alarms, **drawn, **work)
            )
    if power is not None:
        with options.work("looking for true differences", "power") as work:
            studies.append(
                meta.power_of_tests(
                    whole, real, population=population, repeats=power, **drawn, **work
                )
            )
    options.show(*studies)


def _scores(source: ScoreInput, shards: Any, options: StudyOptions) -> tuple[Any, Any]:
    """Evaluate the runs, by shard too, or read the scores."""
    if shards is None:
        [whole] = source.scores(options.judging).values()
        return whole, None
    if source.score_files:
        raise PolicyError("shards are of documents; --scores are judged already")
    if source.qrels is None or not source.runs:
        raise PolicyError("give QRELS and at least one RUN")
    sharded = evaluated_shards(source, shards, options)
    [by_shard] = sharded.values()
    [whole] = sharded.whole.scores.values()
    return whole, by_shard


def evaluated_shards(source: ScoreInput, shards: Any, options: StudyOptions) -> Evaluation:
    """Read each run once, and score it on the whole collection and on each shard."""
    from cranfield.evaluation.of_runs import evaluate

    refuse_given(OF_DOCUMENTS, "does not go with shards")
    judging = {name: one for name, one in options.judging.items() if name not in OF_DOCUMENTS}
    rel, compat = judging.pop("rel"), judging.pop("compat")
    reading = Reading.of(judging)
    judging = without_reading(judging)
    wanted = wanted_measures(source.asked, rel, compat)
    many = reading.runs(source.qrels, source.runs)
    judging |= {"shards": shards, "seed": options.seed, "compat": compat}
    with progress_of(many) as progress:
        found = evaluate(many, reading.qrels(source.qrels), wanted, progress=progress, **judging)
    found.warn()
    return found
