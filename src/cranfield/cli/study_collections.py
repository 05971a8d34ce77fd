"""Studies of collections and measures: their pools, scales and predictors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError, check_proportion, quote
from cranfield.base.kinds import UnitInterval
from cranfield.base.text import format_prefix
from cranfield.cli import options as cli
from cranfield.result import Result

lists_option = cli.option(
    "--lists",
    type=click.Choice(["raw", "condensed", "both"]),
    default="raw",
    help="Rankings to score: raw, condensed (without unjudged documents), or both.",
)


def make_contributors_option(default: str) -> cli.Decorator:
    return cli.option(
        "--contributors",
        default=default,
        help="Runs that contributed to the pool: all runs (all), the runs whose documents are all"
        " judged down to the depth of the pool (judged), or a file of run tags, one per line.",
    )


POOL_OPTIONS = ("teams", "pool_depth", "contributors", "others", "depths", "lists")


@cli.command(
    common="measure scores teams pool-depth sizes repeats test format table output settings"
)
@cli.settings(f"{cli.STUDY_SETTINGS} contributors depths others lists replace target")
@cli.make_score_input(cli.make_measures_option(("AP",)))
@cli.options_from(
    "cranfield.meta.leave_one_out", "teams depth others", depth={"flag": "--pool-depth"}
)
@make_contributors_option("all")
@cli.options_from("cranfield.meta.pool_depths", "depths")
@lists_option
@cli.options_from("cranfield.meta.stability", "sizes repeats replace test")
@cli.options_from("cranfield.meta.generalizability", "target")
@cli.testing_options
@cli.make_study_options()
def collection(
    source: cli.ScoreInput, test: str, target: float, options: cli.StudyOptions, **sampling: Any
) -> None:
    """Study the reliability of a collection: its judgments and its topics.

    On the judgments, the study reports how scores and ranks change if the unique documents of a
    team or run are removed, and if pools are shallower. On the topics, it reports stability over
    samples of topics, generalisability of scores, and the effect of the number of topics. With
    --scores, only the topics are studied.

    Examples
    --------
    cranfield study collection qrels.txt runs/*.xz -m AP -m nDCG@10 --teams teams.csv
    cranfield study collection qrels.txt runs/*.xz -m AP --pool-depth 100 --settings judged.yml
    cranfield study collection --scores scores.csv --sizes 10,25 --test t+holm
    """
    pool = {name: sampling.pop(name) for name in POOL_OPTIONS}
    depth = pool["pool_depth"]
    if depth is None and pool["contributors"] == "judged":
        raise PolicyError("contributors: judged in --settings requires --pool-depth")
    depths = [] if depth is None else pool["depths"] or []
    if excess := ",".join(str(d) for d in depths if d > depth):
        raise PolicyError(f"setting depths must be at most --pool-depth, {depth}, got {excess}")
    [choice] = cli.read_choices([test], sampling)
    sampling |= {"test": choice.test, "correction": choice.correction}
    if choice.uses_shards:
        raise PolicyError(
            f"{choice.test} requires scores by shard, which this study does not support"
        )
    UnitInterval().check("target", target)
    kinds = () if source.score_files else (cf.meta.LeaveOneOut, cf.meta.PoolDepths)
    options.check_table(*kinds, cf.meta.Stability, cf.meta.Generalizability, cf.meta.Extrapolation)
    studies: list[Result] = []
    notes = []
    if source.score_files:
        cli.refuse_options(
            POOL_OPTIONS, "cannot be combined with --scores, which are already computed"
        )
        scores = source.load_scores(options.judging)
        notes.append("note: studies of judgments are skipped; they require QRELS and RUN")
    else:
        scores, studies = _study_judgments(source, pool, options)
    for measure_scores in scores.values():
        studies += _study_topics(measure_scores, sampling, target, options, notes)
    options.write_studies(*studies, notes=notes, separates_facts=True)


def _study_topics(
    scores: cf.Scores,
    sampling: Mapping[str, Any],
    target: float,
    options: cli.StudyOptions,
    notes: list[str],
) -> list[Result]:
    """Study the topics by the scores of one measure; add notes on studies that are impossible."""
    from cranfield.meta.topic_studies.extrapolation import SCORE_FREE_CORRECTIONS

    test_options = {name: sampling[name] for name in ("correction", "alpha", "missing")}
    if test_options["correction"] not in SCORE_FREE_CORRECTIONS:
        test_options["correction"] = SCORE_FREE_CORRECTIONS[0]
    label = f"stability {scores.measure}".strip()
    samples = {"part": label, "seed": options.seed, **sampling}
    studies: list[Result] = []
    try:
        studies.append(options.run_study(label, cf.meta.stability, scores, **samples))
        studies.append(cf.meta.generalizability(scores, missing=sampling["missing"], target=target))
        studies.append(cf.meta.extrapolate(scores, **test_options))
    except PolicyError:
        raise
    except CranfieldError as error:
        label = format_prefix(scores.measure)
        notes.append(f"note: {label}not all studies of the topics are possible: {error}")
    return studies


def _study_judgments(
    source: cli.ScoreInput, pool: Mapping[str, Any], options: cli.StudyOptions
) -> tuple[Mapping[str, cf.Scores], list[Result]]:
    from cranfield.meta.collection_studies.pools import trace_runs

    rankings = source.require_rankings()
    cli.refuse_judging_options_for_pools()
    cli.refuse_options(
        ("depth",),
        "cannot be combined with studies of pools; use measures with a cutoff, such as AP@100",
    )
    lists, contributors = parse_lists(pool["lists"]), read_contributors(pool["contributors"])
    measures = options.parse_measures(source.measures)
    run_list, qrels = options.find_inputs(*rankings)
    policies = options.select_policies("ties", "topics", "negative", "compat", *cli.WORK)
    with cli.show_judging_progress(run_list) as progress:
        judged = trace_runs(run_list, qrels, progress=progress, **policies)
    for noun, names in (("systems", judged.systems), ("topics", judged.topics)):
        if len(names) < 2:
            raise CranfieldError(
                f"a study of a collection requires at least two {noun}, got {len(names)}"
            )
    scores = cf.score(judged.condense() if lists == ("condensed",) else judged, measures)
    scores.warn()
    rel = options.judging["rel"] or 1
    judgment_options = {"contributors": contributors, "lists": lists, "rel": rel}
    pool_options = {"depth": pool["pool_depth"], "others": pool["others"], **judgment_options}
    teams_by_unit = {} if pool["teams"] is None else {"team": pool["teams"]}
    studies: list[Result] = [
        options.run_study(
            f"excluding each {unit}",
            cf.meta.leave_one_out,
            *(judged, None, measures),
            part=f"leave-one-{unit}-out",
            teams=teams,
            **pool_options,
        )
        for unit, teams in {**teams_by_unit, "run": None}.items()
    ]
    judgment_options["pool_depth"] = pool["pool_depth"]
    depth_study = cf.meta.pool_depths(judged, None, measures, pool["depths"], **judgment_options)
    return scores, [*studies, depth_study]


def parse_lists(text: str) -> tuple[str, ...]:
    return ("raw", "condensed") if text == "both" else (text,)


def read_contributors(text: str) -> Any:
    """Read the tags of the runs in a pool, one per line; `all` and `judged` are not files."""
    if text in {"all", "judged"}:
        return None if text == "all" else text
    from cranfield.sources.chunks import Source
    from cranfield.sources.text import decode_text

    lines = decode_text(Source.from_path(text).read(), text).splitlines()
    return [line.strip() for line in lines if line.strip()]


@cli.command(common="measure methods budgets depth teams test resume format table output settings")
@cli.settings(f"{cli.STUDY_SETTINGS} contributors lists others repeats", flags="depth")
@cli.change_options(("depth",), help="Depth of the pool. By default 100.")
@click.argument("qrels", type=cli.INPUT_FILE)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.make_measures_option(("AP",))
@cli.options_from("cranfield.meta.pooling", "methods budgets teams others test repeats")
@make_contributors_option("judged")
@lists_option
@cli.testing_options
@cli.make_study_options()
def pooling(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    methods: str,
    contributors: str,
    lists: str,
    options: cli.StudyOptions,
    **pooling_options: Any,
) -> None:
    """Compare pooling methods by simulated judging with smaller budgets.

    For each method and budget, the study reports the number of relevant documents that are judged,
    the agreement with the ranking of systems by all judgments, the significant differences that
    remain, and the effect on a team whose unique documents are removed. Runs are pooled to --depth,
    and scored in full.

    Examples
    --------
    cranfield study pooling qrels.txt runs/*.xz -m AP -m nDCG@10 --budgets 50,100,200
    cranfield study pooling qrels.txt runs/*.xz --methods "depth,RRF(k=10),MTF(seen='skip')"
    cranfield study pooling qrels.txt runs/*.xz --methods MaxMean,Thompson --resume work/ --jobs 4
    """
    from cranfield.assess.pools.orders import DEPTH
    from cranfield.meta.collection_studies.pooling import parse_methods

    cli.refuse_judging_options_for_pools()
    measure_list = options.parse_measures(measures)
    pooling_options["methods"] = parse_methods(methods)
    cli.read_choices([pooling_options["test"]], pooling_options)
    options.check_table(cf.meta.Pooling)
    pooling_options |= options.select_policies("ties", "topics", "negative", "compat")
    pooling_options |= {"lists": parse_lists(lists), "seed": options.seed}
    pooling_options["contributors"] = read_contributors(contributors)
    pooling_options["depth"] = options.judging["depth"] or DEPTH
    pooling_options["rel"] = options.judging["rel"] or 1
    inputs = options.find_inputs(qrels, runs)
    study = options.run_study("pooling", cf.meta.pooling, *inputs, measure_list, **pooling_options)
    options.write_studies(study)


DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10", "RR")


@cli.command(
    common="measure scores gold preferences test correction resume format table output settings"
)
@cli.settings(f"{cli.STUDY_SETTINGS} majority bins sizes repeats coefficient")
@cli.make_score_input(cli.make_measures_option(DEFAULT_MEASURES))
@cli.own_options("gold preferences", gold={"metavar": "MEASURE"})
@cli.options_from("cranfield.meta.predictive_power", "majority", requires="--preferences")
@cli.options_from("cranfield.meta.discriminative_power", "test resamples")
@cli.options_from("cranfield.compare", "correction alpha")
@cli.missing_option
@cli.options_from("cranfield.meta.swap_method", "sizes repeats bins", repeats={"default": 100})
@cli.options_from("cranfield.meta.correlate", "method", method={"flag": "--coefficient"})
@cli.make_study_options()
def measures(
    source: cli.ScoreInput,
    *,
    gold: tuple[str, ...] = (),
    preferences: str | None,
    majority: bool,
    sizes: list[int] | None,
    repeats: int,
    bins: list[float] | None,
    coefficient: str,
    options: cli.StudyOptions,
    **tests: Any,
) -> None:
    """Compare the stability and agreement of measures.

    The study reports discriminative power, the swap method and the correlation of measures; with
    --gold also the concordance test, and with --preferences predictive power (Sakai 2013, section
    5).

    Parameters
    ----------
    gold
        Simple measure to trust (gold measure), with which the agreement of the other measures is
        reported; may be given several times.
    preferences
        Table of preferences of people between two runs: topic, first, second, preferred.

    Examples
    --------
    cranfield study measures qrels.txt runs/*.xz -m AP -m nDCG@10 -m RR
    cranfield study measures qrels.txt runs/*.xz -m AP -m nDCG@10 --gold P@5
    cranfield study measures qrels.txt runs/*.xz -m AP -m RR --preferences people.csv
    cranfield study measures --scores scores.csv --test bootstrap --correction none
    """
    from cranfield.meta.test_studies.fast_tests import SIZES, TestChoice
    from cranfield.scores.one_measure import align_scores, complete_scores

    # Options are checked before any file is read.
    check_proportion("alpha", tests["alpha"])
    choice = TestChoice(**tests)
    cli.refuse_resamples([choice])
    kinds: list[type[Result]] = [cf.meta.DiscriminativePower, cf.meta.Swaps, cf.meta.Correlations]
    kinds += [cf.meta.Concordance] if gold else []
    kinds += [cf.meta.PredictivePower] if preferences is not None else []
    options.check_table(*kinds)
    all_scores, scores, gold_names = _compute_scores(source, gold, options)
    notes: tuple[str, ...] = ()
    if (missing := tests.pop("missing")) is not None:
        # Jointly for all measures, so that all studies have the same topics.
        all_scores, notes = complete_scores(align_scores(all_scores), missing)
        scores = {name: all_scores[name] for name in scores}
    # Quick studies come first, so that an invalid file of preferences fails at once.
    quick_studies: list[Result] = []
    if len(scores) > 1:
        quick_studies.append(cf.meta.correlate(scores, method=coefficient))
    if gold_names:
        quick_studies.append(cf.meta.concordance(all_scores, gold_names))
    if preferences:
        quick_studies.append(cf.meta.predictive_power(scores, preferences, majority=majority))
    n_topics = len(next(iter(scores.values())).topics)
    sample_sizes = sizes or [size for size in SIZES if size <= n_topics // 2] or None
    sampling: dict[str, Any] = {"sizes": sample_sizes, "repeats": repeats, "bins": bins}
    sampling["seed"] = tests["seed"] = options.seed
    swaps = [
        options.run_study(
            f"swaps by {name}", cf.meta.swap_method, scores[name], part=part, **sampling
        )
        for name, part in _name_folders(scores).items()
    ]
    tests |= {"test": choice.test, "correction": str(choice.correction)}
    label = "discriminative power"
    result = options.run_study(label, cf.meta.discriminative_power, scores, part=label, **tests)
    facts: dict[str, Any] = {"missing scores": list(notes)} if notes else {}
    facts["notes"] = [f"note: {note}" for note in notes]
    options.write_studies(result, *swaps, *quick_studies, separates_facts=True, **facts)


def _compute_scores(
    source: cli.ScoreInput, gold: Sequence[str | cf.Measure], options: cli.StudyOptions
) -> tuple[dict[str, cf.Scores], dict[str, cf.Scores], list[str]]:
    """Return the scores of all measures and of requested measures, and names of gold measures."""
    measures, judging = source.measures, options.judging
    if not source.score_files:
        measures = options.parse_measures(measures)
        gold = options.parse_measures(gold) if gold else ()
        judging = {**judging, "rel": None}
    # A measure may have several names; the first is used.
    labels: dict[str | cf.Measure, str] = {}
    for measure in (*measures, *gold):
        labels.setdefault(measure, measure if isinstance(measure, str) else measure.label)
    gold_names = list(dict.fromkeys(labels[measure] for measure in gold))
    scores = replace(source, measures=[*labels]).load_scores(judging, has_all_measures=True)
    # Files of scores may lack the name of the measure.
    all_scores = {name or "scores": table for name, table in scores.items()}
    if not source.score_files or cli.is_set("measures"):
        names = list(dict.fromkeys(labels[measure] for measure in measures))
    else:
        names = [name for name in all_scores if name not in gold_names]
    n_candidates = len(set(names) - set(gold_names))
    if gold_names and n_candidates < 2:
        raise PolicyError(f"--gold requires two or more other measures, got {n_candidates}")
    return all_scores, {name: all_scores[name] for name in names}, gold_names


def _name_folders(names: Iterable[str]) -> dict[str, str]:
    folders: dict[str, str] = {}
    for name in names:
        folder = cli.make_folder_name(f"swaps {name}")
        n_equal = [*folders.values()].count(folder)
        folders[name] = f"{folder}-{n_equal + 1}" if n_equal else folder
    return folders


@cli.command()
@cli.settings(f"{cli.STUDY_SETTINGS} interval-ties collections")
@click.argument("qrels", type=cli.INPUT_FILE)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=cli.INPUT_FILE)
@cli.own_options("measure=measures", measures={"argument": ""})
@cli.options_from(
    "cranfield.meta.study_scales", "cutoffs ties alpha", ties={"flag": "--interval-ties"}
)
@cli.own_options("graded collections", graded={"requires": "!--rel"})
@cli.change_options(("max_grade",), requires=("--graded",))
@cli.change_options(("chart",), requires=("!--collections",))
@cli.make_study_options(has_seed=False)
def scales(
    qrels: str,
    runs: tuple[str, ...],
    *,
    measures: tuple[str, ...] = (),
    cutoffs: list[int],
    graded: bool = False,
    collections: tuple[str, ...] = (),
    interval_ties: str,
    alpha: float,
    options: cli.StudyOptions,
) -> None:
    """Compare measures with their interval-scaled versions.

    For each measure and its interval-scaled version, the study reports the agreement of the
    rankings of systems, and the pairs of systems with significant differences (Ferrante, Ferro and
    Fuhr 2021, tables 2 to 6).

    Parameters
    ----------
    measures
        Measure without cutoff; may be given several times. By default the measures of the paper.
    graded
        Keep the grades; by default grades below the setting rel become 0, all others 1.
    collections
        Further collections: a mapping from QRELS to the runs (a file, a folder or a pattern).

    Examples
    --------
    cranfield study scales qrels.txt runs/*.xz --cutoffs 5,10
    cranfield study scales qrels.txt runs/*.xz -m AP -m "DCG" --cutoffs 20 --format csv
    cranfield study scales qrels.txt runs/*.xz --settings collections.yml --table headline
    """
    from cranfield.meta.scale_study import MEASURES, TESTS, parse_scale_options

    judging = dict(options.judging)
    rel = judging.pop("rel")
    cli.refuse_options(cli.DOCUMENT_OPTIONS, "cannot be combined with study scales")
    options.check_table(cf.meta.ScaleStudy)
    other_collections = cli.parse_pairs(collections, "setting collections", "QRELS: RUNS")
    if qrels in other_collections:
        raise PolicyError(f"setting collections must not repeat QRELS {quote(qrels)}")
    cli.refuse_overwriting([options.result_output.output], other_collections)
    # Options are checked before files are read.
    scale_options = parse_scale_options(measures or MEASURES, cutoffs, TESTS, interval_ties, alpha)
    scale_options.check_feasibility(1, 2)
    inputs = {qrels: runs, **{name: (files,) for name, files in other_collections.items()}}
    judged = {
        name: cli.compute_from_runs(cf.judge, name, files, **judging)
        for name, files in inputs.items()
    }
    if not graded:
        level = 1 if rel is None else rel
        judged = {name: judged_runs.binarise(level) for name, judged_runs in judged.items()}
    data = judged if other_collections else judged[qrels]
    scaling: dict[str, Any] = {"cutoffs": cutoffs, "ties": interval_ties, "alpha": alpha}
    options.write_studies(
        options.run_study("scales", cf.meta.study_scales, data, measures or MEASURES, **scaling)
    )


@cli.command()
@cli.settings("ties lower")
@click.argument("scores", metavar="SCORES...", nargs=-1, required=True, type=cli.INPUT_FILE)
@click.argument("predictions", type=cli.INPUT_FILE)
@cli.own_options("measure")
@cli.options_from(
    "cranfield.meta.prediction",
    "ties lower=lower_is_better",
    lower_is_better={"multiple": True, "metavar": "PREDICTOR"},
)
@cli.make_result_options(("predictors", "anova", "pairs", "topics"))
def prediction(
    scores: tuple[str, ...],
    predictions: str,
    *,
    measure: str | None,
    result_output: cli.ResultOutput,
    **rules: Any,
) -> None:
    """Evaluate predictors of query performance.

    Report how well predictions, such as WIG or NQC, order the topics by the score of each system:
    the scaled mean absolute rank error (sMARE, Faggioli and others 2021), correlations, and the
    analysis of variance of the errors by topic (sARE).

    Parameters
    ----------
    measure
        Measure to read from files with several measures.

    Examples
    --------
    cranfield study prediction scores.csv predictors.csv
    cranfield study prediction bm25=bm25.eval predictors.csv -m AP --format csv
    """
    result_output.check(cf.meta.Prediction.get_columns())
    tables = cf.read_scores(scores[0] if len(scores) == 1 else scores, measure=measure)
    result_output.write(cf.meta.prediction(tables, predictions, **rules))
