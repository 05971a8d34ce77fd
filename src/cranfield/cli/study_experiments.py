"""Studies of experiments: `study tests`, `study interleaving`, `study reproduction`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.declaring import READ, command, option, refuse_given, settings
from cranfield.cli.options.judging import (
    OF_DOCUMENTS,
    OF_RANKINGS,
    Reading,
    aspects_of,
    measures_option,
    wanted_measures,
    without_reading,
)
from cranfield.cli.options.output import progress_of
from cranfield.cli.options.scores import ScoreInput, score_input
from cranfield.cli.options.signatures import options_from
from cranfield.cli.study_options import (
    STUDY_SETTINGS,
    StudyOptions,
    refuse_resamples,
    study_options,
    tested_options,
)

if TYPE_CHECKING:
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.result import Result


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
    first="measure scores test shards sizes repeats false-alarms power format table output"
    " settings",
)
@settings(f"{STUDY_SETTINGS} shard-map null population only teams")
@score_input(
    option(
        "--measure",
        "asked",
        default="AP",
        show_default=True,
        help="Measure of effectiveness.",
        callback=lambda context, option, measure: (measure,),
    )
)
@option(
    "--test",
    "tests",
    multiple=True,
    help="Significance test, such as md2, t+holm or friedman; may be given several times.",
)
@option(
    "--shards",
    type=click.IntRange(2),
    help="Number of random shards of the documents, for tests by shard.",
)
@option(
    "--shard-map", help="Table of documents and their shards, instead of random shards.", type=READ
)
@options_from("cranfield.meta.split_topics", "sizes repeats teams")
@option(
    "--false-alarms",
    type=click.IntRange(1),
    metavar="N",
    help="Also estimate Type I error rates, from N simulations of equal systems.",
)
@options_from("cranfield.meta.false_alarms", "null", null={"goes_with": "--false-alarms"})
@option(
    "--power",
    type=click.IntRange(1),
    metavar="N",
    help="Also estimate the power of the tests, from N samples of topics.",
)
@options_from("cranfield.meta.power_of_tests", "population", population={"goes_with": "--power"})
@option(
    "--only", "systems", multiple=True, help="Study only this system; may be given several times."
)
@tested_options
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
    """Study how consistent significance tests are on different sets of topics.

    Pairs of disjoint topic sets are drawn repeatedly; each test compares all pairs of systems on
    both sets (Ferro and Sanderson 2022).
    """
    from cranfield import meta
    from cranfield.meta.test_studies.fast_tests import is_bound, read_choice

    if shards is not None and shard_map is not None:
        raise PolicyError("--shards cannot be combined with the setting shard-map")
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
    studies: list[Result] = [splits]
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
    options.show(*studies, each=True)


def _scores(source: ScoreInput, shards: Any, options: StudyOptions) -> tuple[Any, Any]:
    """Evaluate the runs, by shard too, or read the scores."""
    if shards is None:
        [whole] = source.scores(options.judging).values()
        return whole, None
    if source.score_files:
        raise PolicyError("shards require QRELS and RUN, got --scores")
    if source.qrels is None or not source.runs:
        raise PolicyError("expected QRELS and at least one RUN")
    sharded = evaluated_shards(source, shards, options)
    [by_shard] = sharded.values()
    [whole] = sharded.whole.scores.values()
    return whole, by_shard


def evaluated_shards(source: ScoreInput, shards: Any, options: StudyOptions) -> Evaluation:
    """Read each run once, and score it on the whole collection and on each shard."""
    from cranfield.evaluation.evaluate_runs import evaluate

    refuse_given(OF_DOCUMENTS, "cannot be combined with shards")
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


INTERLEAVING_EPILOG = """\b
Examples:
  cranfield study interleaving qrels.txt runs/*.xz -m nDCG@10
  cranfield study interleaving qrels.txt runs/*.xz --methods "TeamDraft,Probabilistic(tau=1)"
  cranfield study interleaving qrels.txt runs/*.xz --users perfect --resume work/ --jobs 4
"""


@command(epilog=INTERLEAVING_EPILOG)
@settings(f"{STUDY_SETTINGS} stop pairs length power", flags="rel")
@click.argument("qrels", type=READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@measures_option(("nDCG@10",))
@options_from(
    "cranfield.meta.interleaving_sensitivity",
    "methods users stop pairs impressions length power alpha",
)
@study_options()
def interleaving(
    qrels: str, runs: tuple[str, ...], asked: tuple[str, ...], options: StudyOptions, **more: Any
) -> None:
    """Simulate the impressions that interleaving and A/B tests need.

    The simulated proportions of wins and ties determine the sample size of the sign test, and the
    clicks per page that of an A/B test; the direction of differences is compared with that of an
    offline measure. With --rel, users distinguish two grades only.
    """
    from cranfield import meta

    judging = options.judging
    used = ("ties", "topics")
    unused = [name for name in (*OF_RANKINGS, *OF_DOCUMENTS) if name not in used]
    refuse_given(unused, "cannot be combined with simulated users")
    rel, compat = judging["rel"], judging["compat"]
    wanted = wanted_measures(asked, rel, compat)
    if len(wanted) != 1:
        raise PolicyError(f"expected a single --measure, got {len(wanted)}")
    options.check_table(meta.Sensitivity)
    reading = Reading.of(judging)
    many = reading.runs(qrels, runs)
    policies = {name: judging[name] for name in used}
    with options.work("interleaving") as work:
        found = meta.interleaving_sensitivity(
            many,
            reading.qrels(qrels),
            wanted[0],
            rel=rel,
            seed=options.seed,
            compat=compat,
            **policies,
            **more,
            **work,
        )
    options.show(found)


REPRODUCTION_EPILOG = """\b
Examples:
  cranfield study reproduction QRELS --original-baseline a.run --baseline b.run
  cranfield study reproduction QRELS --original-baseline bm25.run --original-advanced new.run
      --baseline my-bm25.run --advanced my-new.run -m AP -m nDCG@10
  cranfield study reproduction QRELS --other-qrels other.txt --original-baseline bm25.run
      --original-advanced new.run --baseline my-bm25.run --advanced my-new.run
"""


@command(
    epilog=REPRODUCTION_EPILOG,
    first="original-baseline original-advanced baseline advanced other-qrels measure"
    " test format table output plot settings",
)
@settings(f"{STUDY_SETTINGS} persistence")
@click.argument("qrels", type=READ)
@option(
    "--original-baseline", metavar="RUN", help="Baseline run of the original experiment.", type=READ
)
@option(
    "--original-advanced",
    metavar="RUN",
    help="Advanced run of the original experiment, expected to be better.",
    type=READ,
)
@option("--baseline", metavar="RUN", help="Baseline run of the repeated experiment.", type=READ)
@option("--advanced", metavar="RUN", help="Advanced run of the repeated experiment.", type=READ)
@option(
    "--other-qrels",
    metavar="FILE",
    help="Judgments for the repeated runs, if they are on another collection.",
    type=READ,
)
@measures_option(("AP", "nDCG@10", "P@10"))
@option(
    "--test",
    help="Test that compares original and repeated scores.  [default: t; with --other-qrels welch]",
)
@options_from("cranfield.meta.reproduce", "p", p={"flag": "--persistence"})
@study_options(work=False)
def reproduction(
    qrels: str,
    original_baseline: str | None,
    original_advanced: str | None,
    baseline: str | None,
    advanced: str | None,
    other_qrels: str | None,
    asked: tuple[str, ...],
    test: str | None,
    persistence: float,
    options: StudyOptions,
) -> None:
    """Measure how well an experiment was reproduced or replicated.

    A reproduction uses the same collection and topics: the orders of documents, the scores by topic
    and the effect of the advanced run are compared. A replication uses another collection
    (--other-qrels): only distributions of scores and effects are compared.
    """
    from cranfield import meta
    from cranfield.meta.reproduction_result import check_test

    refuse_given(("on_bad_run",), "cannot be used here: every run is required")
    originals = _given({"baseline": original_baseline, "advanced": original_advanced})
    repeated = _given({"baseline": baseline, "advanced": advanced})
    if not originals or set(originals) != set(repeated):
        raise PolicyError(
            "expected --original-baseline and --baseline, --original-advanced and --advanced,"
            " or all"
            " four"
        )
    lacking = [] if other_qrels is None else ["order means", "orders"]
    lacking += [] if len(originals) == 2 else ["effects"]
    options.check_table(meta.Reproduction, without=lacking)
    judging = dict(options.judging)
    rel = judging.pop("rel")
    reading, judging = Reading.of(judging), without_reading(judging)
    subtopics = True if judging["intents"] is not None else None
    judging["aspects"] = aspects_of(judging["aspects"])
    wanted = wanted_measures(asked, rel, judging["compat"])
    test = check_test(test or ("welch" if other_qrels else "t"), paired=other_qrels is None)
    common: dict[str, Any] = {"measures": wanted, "test": test, "seed": options.seed, **judging}
    common["qrels"] = reading.qrels(qrels, subtopics)
    sides = [
        {role: reading.run(path) for role, path in side.items()} for side in (originals, repeated)
    ]
    if other_qrels is None:
        options.show(meta.reproduce(*sides, p=persistence, **common))
    else:
        of_others = reading.qrels(other_qrels, subtopics)
        options.show(meta.replicate(*sides, other_qrels=of_others, **common))


def _given(runs: Mapping[str, str | None]) -> dict[str, str]:
    return {role: path for role, path in runs.items() if path is not None}
