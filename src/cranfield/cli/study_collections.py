"""Studies of collections: `study collection`, `study pooling`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.kinds import UnitInterval
from cranfield.cli import options as cli

if TYPE_CHECKING:
    from cranfield.result import Result


lists_option = cli.option(
    "--lists",
    type=click.Choice(["raw", "condensed", "both"]),
    default="raw",
    show_default=True,
    help="Rankings to score: raw, condensed (without unjudged documents), or both.",
)


def contributors_option(default: str) -> cli.Decorator:
    return cli.option(
        "--contributors",
        default=default,
        show_default=True,
        help="Runs that contributed to the pool: all; judged, those whose documents down to the"
        " depth of the pool are all judged; or a file with one run tag per line.",
    )


POOL_OPTIONS = ("teams", "pool_depth", "contributors", "others", "depths", "lists")
"""Options of the studies of pools."""


@cli.command(
    first="measure scores teams pool-depth sizes repeats test format table output settings"
)
@cli.settings(f"{cli.STUDY_SETTINGS} contributors depths others lists replace target")
@cli.score_input(cli.measures_option(("AP",)))
@cli.options_from(
    "cranfield.meta.leave_one_out", "teams depth others", depth={"flag": "--pool-depth"}
)
@contributors_option("all")
@cli.options_from("cranfield.meta.pool_depths", "depths")
@lists_option
@cli.options_from("cranfield.meta.stability", "sizes repeats replace test")
@cli.options_from("cranfield.meta.generalizability", "target")
@cli.tested_options
@cli.study_options()
def collection(
    source: cli.ScoreInput, test: str, target: float, options: cli.StudyOptions, **sampling: Any
) -> None:
    """Study the reliability of a collection: its judgments and its topics.

    For the judgments, the study reports changes of scores and ranks if the unique documents of a
    team or run are removed, and if pools are shallower; for the topics, stability over samples of
    topics, generalisability of scores, and the effect of the number of topics. With --scores, only
    the topics are studied.

    Examples
    --------
    cranfield study collection qrels.txt runs/*.xz -m AP -m nDCG@10 --teams teams.csv
    cranfield study collection qrels.txt runs/*.xz -m AP --pool-depth 100 --contributors judged
    cranfield study collection --scores scores.csv --sizes 10,25 --test t+holm
    cranfield study collection qrels.txt runs/*.xz -m AP --jobs 8 --resume work/ --format json
    """
    pool = {name: sampling.pop(name) for name in POOL_OPTIONS}
    _check_pool(pool)
    [choice] = cli.read_choices([test], **sampling)
    sampling |= {"test": choice.test, "correction": choice.correction}
    if choice.by_shard:
        raise PolicyError(
            f"{choice.test} requires scores by shard, which samples of topics do not have"
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
        scores = source.scores(options.judging)
        notes.append(
            "note: the judgments were not studied, as this requires QRELS and RUN instead of"
            " --scores"
        )
    else:
        scores, studies = _study_judgments(source, pool, options)
    for measure_scores in scores.values():
        studies += _study_topics(measure_scores, sampling, target, options, notes)
    options.show(*studies, notes=notes, facts_by_result=True)


def _check_pool(pool: Mapping[str, Any]) -> None:
    depth = pool["pool_depth"]
    if depth is None and pool["contributors"] == "judged":
        raise PolicyError("setting contributors judged requires --pool-depth")
    depths = [] if depth is None else pool["depths"] or []
    deeper = [str(number) for number in depths if number > depth]
    if deeper:
        raise PolicyError(
            f"setting depths must be at most --pool-depth, {depth}, got {','.join(deeper)}"
        )


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
        studies.append(options.study(label, cf.meta.stability, scores, **samples))
        studies.append(cf.meta.generalizability(scores, missing=sampling["missing"], target=target))
        studies.append(cf.meta.extrapolate(scores, **test_options))
    except PolicyError:
        raise
    except CranfieldError as error:
        prefix = f"{scores.measure}: " if scores.measure else ""
        notes.append(f"note: {prefix}other numbers of topics were not studied: {error}")
    return studies


def _study_judgments(
    source: cli.ScoreInput, pool: Mapping[str, Any], options: cli.StudyOptions
) -> tuple[Mapping[str, cf.Scores], list[Result]]:
    """Judge the runs, score them, and study their judgments."""
    from cranfield.meta.collection_studies.pools import trace_runs

    rankings = source.rankings()
    cli.refuse_for_pools()
    cli.refuse_options(
        ("depth",), "cannot be combined with pools; use measures with a cutoff, such as AP@100"
    )
    lists, contributors = parse_lists(pool["lists"]), read_contributors(pool["contributors"])
    measures = options.measures(source.measures)
    run_list, qrels = options.inputs(*rankings)
    policies = options.policies("ties", "topics", "negative", "compat", *cli.WORK)
    with cli.progress_of(run_list) as progress:
        trace = trace_runs(run_list, qrels, progress=progress, **policies)
    judged = trace.judged
    for noun, names in (("systems", judged.systems), ("topics", judged.topics)):
        if len(names) < 2:
            raise CranfieldError(
                f"a study of a collection requires at least two {noun}, got {len(names)}"
            )
    scores = cf.score(judged.condensed() if lists == ("condensed",) else judged, measures)
    scores.warn()
    rel = options.judging["rel"] or 1
    common: dict[str, Any] = {"contributors": contributors, "lists": lists, "rel": rel}
    pool_options = {"depth": pool["pool_depth"], "others": pool["others"], **common}
    teams_by_unit = {} if pool["teams"] is None else {"team": pool["teams"]}
    studies: list[Result] = [
        options.study(
            f"excluding each {unit}",
            cf.meta.leave_one_out,
            *(trace, None, measures),
            part=f"leave-one-{unit}-out",
            teams=teams,
            **pool_options,
        )
        for unit, teams in {**teams_by_unit, "run": None}.items()
    ]
    common["pool_depth"] = pool["pool_depth"]
    return scores, [*studies, cf.meta.pool_depths(trace, None, measures, pool["depths"], **common)]


def parse_lists(text: str) -> tuple[str, ...]:
    return ("raw", "condensed") if text == "both" else (text,)


def read_contributors(text: str) -> Any:
    """Read the tags of the runs in a pool, one per line; `all` and `judged` are not files."""
    if text in {"all", "judged"}:
        return None if text == "all" else text
    from cranfield.sources.chunks import Source
    from cranfield.sources.text import decoded

    lines = decoded(Source.of(text).read(), text).splitlines()
    return [line.strip() for line in lines if line.strip()]


@cli.command(first="measure methods budgets depth teams test resume format table output settings")
@cli.settings(f"{cli.STUDY_SETTINGS} contributors lists others repeats", flags="depth")
@cli.with_changes(("depth",), help="Depth of the pool. By default 100.")
@click.argument("qrels", type=cli.READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=cli.READ)
@cli.measures_option(("AP",))
@cli.options_from("cranfield.meta.pooling", "methods budgets teams others test repeats")
@contributors_option("judged")
@lists_option
@cli.tested_options
@cli.study_options()
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

    Reported for each method and budget are the number of relevant documents that are judged, the
    agreement with the ranking of systems by all judgments, the significant differences that remain,
    and the effect on a team whose unique documents are removed. Runs are pooled to --depth, and
    scored in full.

    Examples
    --------
    cranfield study pooling qrels.txt runs/*.xz -m AP -m nDCG@10 --budgets 50,100,200
    cranfield study pooling qrels.txt runs/*.xz --methods "depth,RRF(k=10),MTF(seen='skip')"
    cranfield study pooling qrels.txt runs/*.xz --methods MaxMean,Thompson --resume work/ --jobs 4
    """
    from cranfield.assess.pools.orders import DEPTH
    from cranfield.meta.collection_studies.pooling import parse_methods

    cli.refuse_for_pools()
    effectiveness = options.measures(measures)
    pooling_options["methods"] = parse_methods(methods)
    cli.read_choices([pooling_options["test"]], **pooling_options)
    options.check_table(cf.meta.Pooling)
    pooling_options |= options.policies("ties", "topics", "negative", "compat")
    pooling_options |= {"lists": parse_lists(lists), "seed": options.seed}
    pooling_options["contributors"] = read_contributors(contributors)
    pooling_options["depth"] = options.judging["depth"] or DEPTH
    pooling_options["rel"] = options.judging["rel"] or 1
    inputs = options.inputs(qrels, runs)
    study = options.study("pooling", cf.meta.pooling, *inputs, effectiveness, **pooling_options)
    options.show(study)
