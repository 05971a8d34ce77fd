"""Studies of measures: `study measures`, `study scales`, `study prediction`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, check_share, quoted
from cranfield.cli import options as cli

if TYPE_CHECKING:
    from cranfield.result import Result


DEFAULT = ("AP", "nDCG@10", "P@10", "RR")


@cli.command(
    first="measure scores gold preferences test correction resume format table output settings"
)
@cli.settings(f"{cli.STUDY_SETTINGS} majority bins sizes repeats coefficient")
@cli.score_input(cli.measures_option(DEFAULT))
@cli.own_options("gold preferences", gold={"metavar": "MEASURE"})
@cli.options_from("cranfield.meta.predictive_power", "majority", requires="--preferences")
@cli.options_from("cranfield.meta.discriminative_power", "test resamples")
@cli.options_from("cranfield.compare", "correction alpha")
@cli.missing_option
@cli.options_from("cranfield.meta.swap_method", "sizes repeats bins", repeats={"default": 100})
@cli.options_from("cranfield.meta.correlate", "method", method={"flag": "--coefficient"})
@cli.study_options()
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
    **tested: Any,
) -> None:
    """Compare the stability and agreement of measures.

    The study reports discriminative power, the swap method and the correlation of measures; with
    --gold also the concordance test, and with --preferences predictive power (Sakai 2013, section
    5).

    Parameters
    ----------
    gold
        Trusted simple measure, with which the concordance of the other measures is tested; may be
        given several times.
    preferences
        CSV file of preferences of people between two runs: topic, first, second, preferred.

    Examples
    --------
    cranfield study measures qrels.txt runs/*.xz -m AP -m nDCG@10 -m RR
    cranfield study measures qrels.txt runs/*.xz -m AP -m nDCG@10 --gold P@5
    cranfield study measures qrels.txt runs/*.xz -m AP -m RR --preferences people.csv
    cranfield study measures --scores scores.csv --test bootstrap --correction none
    """
    from cranfield.meta.test_studies.fast_tests import SIZES, TestChoice
    from cranfield.scores.one_measure import align_scores, complete_scores

    # Before any file is read.
    check_share("alpha", tested["alpha"])
    choice = TestChoice(**tested)
    cli.refuse_resamples([choice])
    kinds: list[type[Result]] = [cf.meta.DiscriminativePower, cf.meta.Swaps, cf.meta.Correlations]
    kinds += [cf.meta.Concordance] if gold else []
    kinds += [cf.meta.PredictivePower] if preferences is not None else []
    options.check_table(*kinds)
    all_scores, scores, gold_names = _scores(source, gold, options)
    notes: tuple[str, ...] = ()
    if (missing := tested.pop("missing")) is not None:
        # Jointly for all measures, so that all studies have the same topics.
        all_scores, notes = complete_scores(align_scores(all_scores), missing)
        scores = {name: all_scores[name] for name in scores}
    # Quick studies come first, so that an invalid file of preferences fails at once.
    quick: list[Result] = [cf.meta.correlate(scores, method=coefficient)] if len(scores) > 1 else []
    if gold_names:
        quick.append(cf.meta.concordance(all_scores, gold_names))
    if preferences:
        quick.append(cf.meta.predictive_power(scores, preferences, majority=majority))
    n_topics = len(next(iter(scores.values())).topics)
    sample_sizes = sizes or [size for size in SIZES if size <= n_topics // 2] or None
    sampling: dict[str, Any] = {"sizes": sample_sizes, "repeats": repeats, "bins": bins}
    sampling["seed"] = tested["seed"] = options.seed
    swaps = [
        options.study(f"swaps by {name}", cf.meta.swap_method, scores[name], part=part, **sampling)
        for name, part in _folders(scores).items()
    ]
    tested |= {"test": choice.test, "correction": str(choice.correction)}
    label = "discriminative power"
    power = options.study(label, cf.meta.discriminative_power, scores, part=label, **tested)
    facts: dict[str, Any] = {"missing scores": list(notes)} if notes else {}
    facts["notes"] = [f"note: {note}" for note in notes]
    options.show(power, *swaps, *quick, facts_by_result=True, **facts)


def _scores(
    source: cli.ScoreInput, gold: Sequence[str | cf.Measure], options: cli.StudyOptions
) -> tuple[dict[str, cf.Scores], dict[str, cf.Scores], list[str]]:
    """Return the scores of all measures and of requested measures, and names of gold measures."""
    measures, judging = source.measures, options.judging
    if not source.score_files:
        measures, gold = options.measures(measures), options.measures(gold) if gold else ()
        judging = {**judging, "rel": None}
    # A measure may have several names; the first is used.
    labels: dict[str | cf.Measure, str] = {}
    for measure in (*measures, *gold):
        labels.setdefault(measure, measure if isinstance(measure, str) else measure.label)
    gold_names = list(dict.fromkeys(labels[measure] for measure in gold))
    scores = replace(source, measures=[*labels]).scores(judging, all_measures=True)
    # Files of scores may lack the name of the measure.
    all_scores = {name or "scores": table for name, table in scores.items()}
    if not source.score_files or cli.on_command_line("measures"):
        names = list(dict.fromkeys(labels[measure] for measure in measures))
    else:
        names = [name for name in all_scores if name not in gold_names]
    if gold_names and len(set(names) - set(gold_names)) < 2:
        raise PolicyError("--gold requires two measures or more besides the gold ones")
    return all_scores, {name: all_scores[name] for name in names}, gold_names


def _folders(names: Iterable[str]) -> dict[str, str]:
    """Return the name of a folder for each measure."""
    folders: dict[str, str] = {}
    for name in names:
        folder = cli.folder_name(f"swaps {name}")
        count = [*folders.values()].count(folder)
        folders[name] = f"{folder}-{count + 1}" if count else folder
    return folders


@cli.command()
@cli.settings(f"{cli.STUDY_SETTINGS} interval-ties collections")
@click.argument("qrels", type=cli.READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=cli.READ)
@cli.own_options("measure=measures", measures={"stands_for": ""})
@cli.options_from(
    "cranfield.meta.study_scales", "cutoffs ties alpha", ties={"flag": "--interval-ties"}
)
@cli.own_options("graded")
@cli.own_options("collections")
@cli.study_options(seed=False)
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

    Reported are, for each measure and its interval-scaled version, the agreement of the rankings of
    systems and the pairs of systems with significant differences (Ferrante, Ferro and Fuhr 2021,
    tables 2 to 6).

    Parameters
    ----------
    measures
        Measure without cutoff; may be given several times. By default those of the paper.
    graded
        Keep the grades; by default grades below the setting rel become 0, all others 1.
    collections
        Further collections, a mapping of QRELS to runs (a file, a folder or a pattern).

    Examples
    --------
    cranfield study scales qrels.txt runs/*.xz --cutoffs 5,10
    cranfield study scales qrels.txt runs/*.xz -m AP -m "DCG" --cutoffs 20 --format csv
    cranfield study scales qrels.txt runs/*.xz --settings collections.yml --table headline
    """
    from cranfield.meta.scale_options import MEASURES, TESTS, scale_options

    judging = dict(options.judging)
    rel = judging.pop("rel")
    if graded and rel is not None:
        raise PolicyError("setting rel cannot be combined with --graded")
    if not graded:
        cli.refuse_options(("max_grade",), "requires --graded")
    cli.refuse_options(cli.DOCUMENT_OPTIONS, "cannot be combined with studies of scales")
    options.check_table(cf.meta.ScaleStudy)
    others = cli.parse_pairs(collections, "setting collections", "QRELS: RUNS")
    if qrels in others:
        raise PolicyError(f"setting collections repeats the collection {quoted(qrels)}")
    if others:
        cli.refuse_options(("chart",), "cannot be combined with setting collections")
        cli.keep_inputs([options.result_output.output], others)
    # Options are checked before files are read.
    scale_options(measures or MEASURES, cutoffs, TESTS, interval_ties, alpha).require(1, 2)
    inputs = {qrels: runs, **{name: (runs,) for name, runs in others.items()}}
    judged = {name: cli.judge_runs(name, files, **judging) for name, files in inputs.items()}
    if not graded:
        judged = {name: runs.binary(1 if rel is None else rel) for name, runs in judged.items()}
    data = judged if others else judged[qrels]
    rules: dict[str, Any] = {"cutoffs": cutoffs, "ties": interval_ties, "alpha": alpha}
    options.show(options.study("scales", cf.meta.study_scales, data, measures or MEASURES, **rules))


@cli.command()
@cli.settings("ties lower")
@click.argument("scores", metavar="SCORES...", nargs=-1, required=True, type=cli.READ)
@click.argument("predictions", type=cli.READ)
@cli.own_options("measure")
@cli.options_from(
    "cranfield.meta.prediction",
    "ties lower=lower_is_better",
    lower_is_better={"multiple": True, "metavar": "PREDICTOR"},
)
@cli.result_options(("predictors", "anova", "pairs", "topics"))
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
    sMARE (Faggioli and others 2021), correlations, and the analysis of variance of sARE.

    Parameters
    ----------
    measure
        Measure to read from files with several measures.

    Examples
    --------
    cranfield study prediction scores.csv predictors.csv
    cranfield study prediction bm25=bm25.eval predictors.csv -m AP --format csv
    """

    result_output.check(cf.meta.Prediction.declared())
    tables = cf.read_scores(scores[0] if len(scores) == 1 else scores, measure=measure)
    result_output.write(cf.meta.prediction(tables, predictions, **rules))
