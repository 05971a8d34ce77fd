"""Studies of experiments: `study tests`, `study interleaving`, `study reproduction`."""

from __future__ import annotations

from typing import Annotated, Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.base.kinds import Integer
from cranfield.cli import options as cli
from cranfield.result import Result

TOPIC_TESTS = ("anova-1", "anova-2", "anova-2f")  # default tests of scores by topic
SHARD_TESTS = ("anova-1", "anova-2", "anova-3", "anova-2f", "anova-3f")  # by topic and shard


@cli.command(
    common="measure scores test shards sizes repeats false-positives power format table output"
    " settings"
)
@cli.settings(f"{cli.STUDY_SETTINGS} shard-map null population only teams")
@cli.make_score_input(
    cli.option(
        "--measure",
        "measures",
        default="AP",
        help="Measure of effectiveness.",
        callback=lambda context, option, measure: (measure,),
    )
)
@cli.own_options("test=tests shards shard_map", shards={"requires": "!--shard-map"})
@cli.options_from("cranfield.meta.split_topics", "sizes repeats teams")
@cli.own_options("false_positives", false_positives={"metavar": "N"})
@cli.options_from("cranfield.meta.false_positives", "null", null={"requires": "--false-positives"})
@cli.own_options("power", power={"metavar": "N"})
@cli.options_from("cranfield.meta.power_of_tests", "population", population={"requires": "--power"})
@cli.own_options("only=systems")
@cli.testing_options
@cli.make_study_options()
def tests(
    source: cli.ScoreInput,
    *,
    tests: tuple[str, ...] = (),
    shards: Annotated[int | None, Integer(2)],
    shard_map: str | None,
    false_positives: Annotated[int | None, Integer(1)],
    null: str,
    power: Annotated[int | None, Integer(1)],
    population: str,
    systems: tuple[str, ...] = (),
    options: cli.StudyOptions,
    **split: Any,
) -> None:
    """Study how consistent significance tests are on different sets of topics.

    Pairs of disjoint topic sets are drawn repeatedly; each test compares all pairs of systems on
    both sets (Ferro and Sanderson 2022).

    Parameters
    ----------
    tests
        Significance test, such as md2, t+holm or friedman; may be given several times.
    shards
        Number of random shards of the documents, for tests by shard.
    shard_map
        Table of documents and their shards, instead of random shards.
    false_positives
        Also estimate Type I error rates, from N simulations of equal systems.
    power
        Also estimate the power of the tests, from N samples of topics.
    systems
        Study only this system; may be given several times.

    Examples
    --------
    cranfield study tests qrels.txt runs/*.xz -m nDCG@10 --sizes 5,10,25
    cranfield study tests qrels.txt runs/*.xz -m AP --shards 3 -t md1 -t md2 -t md3 -t md3f
    cranfield study tests --scores scores.csv -t t -t sign+bh --false-positives 1000 --power 1000
    """
    from cranfield.meta.test_studies.errors import check_null
    from cranfield.meta.test_studies.fast_tests import is_bound

    kinds: list[type[Result]] = [cf.meta.SplitStudy]
    kinds += [cf.meta.FalsePositives] if false_positives is not None else []
    kinds += [cf.meta.PowerOfTests] if power is not None else []
    options.check_table(*kinds)
    names = tests or (TOPIC_TESTS if shards is None and shard_map is None else SHARD_TESTS)
    choices = cli.read_choices(names, split)
    if false_positives is not None:
        check_null(choices, null)
    scores, by_shard = _evaluate_shards(source, shard_map or shards, options)
    settings: dict[str, Any] = {name: split[name] for name in ("alpha", "missing", "resamples")}
    settings |= {"by_shard": by_shard, "seed": options.seed, "systems": systems or None}
    split |= settings | {"part": "splits"}
    splits = options.run_study("splitting topics", cf.meta.split_topics, scores, names, **split)
    studies: list[Result] = [splits]
    settings["sizes"] = splits.sizes
    names = tuple(test for test in splits.tests if not is_bound(test))
    if false_positives is not None:
        part, label = "false-positives", "estimating Type I error rates"
        null_settings = settings | {"null": null, "repeats": false_positives, "part": part}
        study = options.run_study(label, cf.meta.false_positives, scores, names, **null_settings)
        studies.append(study)
    if power is not None:
        power_settings = settings | {"population": population, "repeats": power, "part": "power"}
        label, function = "estimating power", cf.meta.power_of_tests
        studies.append(options.run_study(label, function, scores, names, **power_settings))
    options.write_studies(*studies, separates_facts=True)


def _evaluate_shards(
    source: cli.ScoreInput, shards: Any, options: cli.StudyOptions
) -> tuple[Any, Any]:
    """Evaluate the runs on the whole collection and, if there are shards, on each of them."""
    if shards is None:
        [scores] = source.load_scores(options.judging).values()
        return scores, None
    if source.score_files:
        raise PolicyError("--shards and setting shard-map require QRELS and RUN, got --scores")
    rankings = source.require_rankings()
    cli.refuse_options(cli.DOCUMENT_OPTIONS, "cannot be combined with scores by shard")
    excluded_options = ("rel", *cli.DOCUMENT_OPTIONS)
    judging = cli.omit_reading(options.judging)
    judging = {name: value for name, value in judging.items() if name not in excluded_options}
    judging |= {"shards": shards, "seed": options.seed if isinstance(shards, int) else None}
    measures = options.parse_measures(source.measures)
    run_list, qrels = options.find_inputs(*rankings)
    with cli.show_judging_progress(run_list) as judging["progress"]:
        evaluation = cf.evaluate(run_list, qrels, measures, **judging)
    evaluation.warn()
    [by_shard] = evaluation.values()
    [scores] = evaluation.whole.scores.values()
    return scores, by_shard


@cli.command()
@cli.settings(f"{cli.STUDY_SETTINGS} stop pairs length power", flags="rel")
@click.argument("qrels", type=cli.INPUT_FILE)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.make_measures_option(("nDCG@10",))
@cli.options_from(
    "cranfield.meta.interleaving_sensitivity",
    "methods users stop pairs impressions length power alpha",
)
@cli.make_study_options()
def interleaving(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    options: cli.StudyOptions,
    **simulation: Any,
) -> None:
    """Simulate the impressions that interleaving and A/B tests need.

    The simulated proportions of wins and ties determine the sample size of the sign test; the
    simulated clicks per page determine the sample size of an A/B test. The direction of differences
    is compared with that of an offline measure. With --rel, users distinguish two grades only.

    Examples
    --------
    cranfield study interleaving qrels.txt runs/*.xz -m nDCG@10
    cranfield study interleaving qrels.txt runs/*.xz --methods "TeamDraft,Probabilistic(tau=1)"
    cranfield study interleaving qrels.txt runs/*.xz --users perfect --resume work/ --jobs 4
    """
    allowed_options = ("ties", "topics")
    refused_options = {*cli.RANKING_OPTIONS, *cli.DOCUMENT_OPTIONS}.difference(allowed_options)
    cli.refuse_options(refused_options, "cannot be combined with simulated users")
    measure, *other_measures = options.parse_measures(measures)
    if other_measures:
        raise PolicyError(f"expected a single --measure, got {1 + len(other_measures)}")
    options.check_table(cf.meta.Sensitivity)
    simulation |= options.select_policies("rel", "compat", *allowed_options)
    inputs = options.find_inputs(qrels, runs)
    study = cf.meta.interleaving_sensitivity
    options.write_studies(
        options.run_study("interleaving", study, *inputs, measure, seed=options.seed, **simulation)
    )


RUN_OPTIONS = {
    "original-baseline": "Baseline run of the original experiment.",
    "original-advanced": "Advanced run of the original experiment, expected to be better.",
    "baseline": "Baseline run of the repeated experiment.",
    "advanced": "Advanced run of the repeated experiment.",
}


@cli.command(
    common="original-baseline original-advanced baseline advanced other-qrels measure"
    " test format table output plot settings"
)
@cli.settings(f"{cli.STUDY_SETTINGS} persistence")
@click.argument("qrels", type=cli.INPUT_FILE)
@cli.with_options(
    cli.option(f"--{name}", metavar="RUN", type=cli.INPUT_FILE, help=text)
    for name, text in RUN_OPTIONS.items()
)
@cli.own_options("other_qrels test")
@cli.make_measures_option(("AP", "nDCG@10", "P@10"))
@cli.options_from("cranfield.meta.reproduce", "p", p={"flag": "--persistence"})
@cli.make_study_options(is_resumable=False)
def reproduction(
    qrels: str,
    other_qrels: str | None,
    measures: tuple[str, ...],
    test: str | None,
    persistence: float,
    options: cli.StudyOptions,
    **runs: str | None,
) -> None:
    """Measure how well an experiment was reproduced or replicated.

    A reproduction uses the same collection and topics: the orders of documents, the scores by topic
    and the effect of the advanced run are compared. A replication uses another collection
    (--other-qrels): only distributions of scores and effects are compared.

    Parameters
    ----------
    other_qrels
        Judgments for the repeated runs, if they are on another collection.
    test
        Test that compares original and repeated scores. By default t; with --other-qrels welch.

    Examples
    --------
    cranfield study reproduction QRELS --original-baseline a.run --baseline b.run
    cranfield study reproduction QRELS --original-baseline bm25.run --original-advanced new.run
        --baseline my-bm25.run --advanced my-new.run -m AP -m nDCG@10
    cranfield study reproduction QRELS --other-qrels other.txt --original-baseline bm25.run
        --original-advanced new.run --baseline my-bm25.run --advanced my-new.run
    """
    from cranfield.meta.reproduction_result import check_test

    cli.refuse_options(("on_bad_run",), "cannot be used, as every run is required")
    roles = ("baseline", "advanced")
    original_runs, repeat_runs = (
        {role: path for role in roles if (path := runs[f"{side}{role}"]) is not None}
        for side in ("original_", "")
    )
    if not original_runs or set(original_runs) != set(repeat_runs):
        names = [f"--{name.replace('_', '-')}" for name, path in runs.items() if path is not None]
        raise PolicyError(
            "expected an original run and its repetition: --original-baseline and --baseline,"
            " --original-advanced and --advanced, or all four, got"
            f" {' and '.join(names) or 'none'}"
        )
    pair = "--original-baseline and --original-advanced"
    absent = {} if len(original_runs) == 2 else {"effects": pair}
    same_topics = "runs of the same topics, without --other-qrels"
    absent |= {} if other_qrels is None else dict.fromkeys(("order means", "orders"), same_topics)
    options.check_table(cf.meta.Reproduction, absent=absent)
    reading, judging = options.reading, cli.omit_reading(options.judging)
    subtopics = True if judging["intents"] is not None else None
    del judging["rel"]
    judging |= {"aspects": cli.parse_pairs(judging["aspects"], "--aspect", "NAME=QRELS") or None}
    judging |= {"measures": options.parse_measures(measures), "seed": options.seed}
    is_paired = other_qrels is None
    judging["test"] = check_test(test or ("t" if is_paired else "welch"), is_paired=is_paired)
    judging["qrels"] = reading.read_qrels(qrels, subtopics)
    sides = [
        {role: reading.read_run(path) for role, path in side.items()}
        for side in (original_runs, repeat_runs)
    ]
    if other_qrels is None:
        options.write_studies(cf.meta.reproduce(*sides, p=persistence, **judging))
    else:
        judgments = reading.read_qrels(other_qrels, subtopics)
        options.write_studies(cf.meta.replicate(*sides, other_qrels=judgments, **judging))
