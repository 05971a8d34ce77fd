"""Studies of measures: `study measures`, `study scales`, `study prediction`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, check_share, quoted
from cranfield.cli.options.declaring import (
    READ,
    command,
    keep_inputs,
    on_command_line,
    refuse_options,
    settings,
)
from cranfield.cli.options.judging import DOCUMENT_OPTIONS, judge_runs, measures_option
from cranfield.cli.options.output import ResultOutput, result_options
from cranfield.cli.options.scores import ScoreInput, score_input
from cranfield.cli.options.signatures import options_from, parse_pairs
from cranfield.cli.study_options import (
    STUDY_SETTINGS,
    StudyOptions,
    folder_name,
    missing_option,
    refuse_resamples,
    study_options,
)

if TYPE_CHECKING:
    from cranfield.measures.base import Measure
    from cranfield.result import Result
    from cranfield.scores import Scores


DEFAULT = ("AP", "nDCG@10", "P@10", "RR")


@command(
    first="measure scores gold preferences test correction resume format table output settings"
)
@settings(f"{STUDY_SETTINGS} majority bins sizes repeats coefficient")
@score_input(measures_option(DEFAULT))
@options_from(
    f"{__name__}.measures",
    "gold preferences",
    gold={"metavar": "MEASURE"},
    preferences={"type": READ},
)
@options_from("cranfield.meta.predictive_power", "majority", requires="--preferences")
@options_from("cranfield.meta.discriminative_power", "test resamples")
@options_from("cranfield.compare", "correction alpha")
@missing_option
@options_from("cranfield.meta.swap_method", "sizes repeats bins", repeats={"default": 100})
@options_from("cranfield.meta.correlate", "method", method={"flag": "--coefficient"})
@study_options()
def measures(
    source: ScoreInput,
    *,
    gold: tuple[str, ...] = (),
    preferences: str | None,
    majority: bool,
    sizes: list[int] | None,
    repeats: int,
    bins: list[float] | None,
    coefficient: str,
    options: StudyOptions,
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
    from cranfield import meta
    from cranfield.meta.test_studies.fast_tests import SIZES, TestChoice
    from cranfield.scores.one_measure import align_scores, complete_scores

    # Before any file is read.
    check_share("alpha", tested["alpha"])
    choice = TestChoice(**tested)
    refuse_resamples([choice])
    kinds: list[type[Result]] = [meta.DiscriminativePower, meta.Swaps, meta.Correlations]
    kinds += [meta.Concordance] if gold else []
    kinds += [meta.PredictivePower] if preferences is not None else []
    options.check_table(*kinds)
    all_scores, scores, gold_names = _scores(source, gold, options)
    notes: tuple[str, ...] = ()
    if (missing := tested.pop("missing")) is not None:
        # Jointly for all measures, so that all studies have the same topics.
        all_scores, notes = complete_scores(align_scores(all_scores), missing)
        scores = {name: all_scores[name] for name in scores}
    # Quick studies come first, so that an invalid file of preferences fails at once.
    quick: list[Result] = [meta.correlate(scores, method=coefficient)] if len(scores) > 1 else []
    if gold_names:
        quick.append(meta.concordance(all_scores, gold_names))
    if preferences:
        quick.append(meta.predictive_power(scores, preferences, majority=majority))
    n_topics = len(next(iter(scores.values())).topics)
    sample_sizes = sizes or [size for size in SIZES if size <= n_topics // 2] or None
    sampling: dict[str, Any] = {"sizes": sample_sizes, "repeats": repeats, "bins": bins}
    sampling["seed"] = tested["seed"] = options.seed
    swaps = [
        options.study(f"swaps by {name}", meta.swap_method, scores[name], part=part, **sampling)
        for name, part in _folders(scores).items()
    ]
    tested |= {"test": choice.test, "correction": str(choice.correction)}
    label = "discriminative power"
    power = options.study(label, meta.discriminative_power, scores, part=label, **tested)
    facts: dict[str, Any] = {"missing scores": list(notes)} if notes else {}
    facts["notes"] = [f"note: {note}" for note in notes]
    options.show(power, *swaps, *quick, facts_by_result=True, **facts)


def _scores(
    source: ScoreInput, gold: Sequence[str | Measure], options: StudyOptions
) -> tuple[dict[str, Scores], dict[str, Scores], list[str]]:
    """Return the scores of all measures and of requested measures, and names of gold measures."""
    measures, judging = source.measures, options.judging
    if not source.score_files:
        measures, gold = options.measures(measures), options.measures(gold) if gold else ()
        judging = {**judging, "rel": None}
    # A measure may have several names; the first is used.
    labels: dict[str | Measure, str] = {}
    for measure in (*measures, *gold):
        labels.setdefault(measure, measure if isinstance(measure, str) else measure.label)
    gold_names = list(dict.fromkeys(labels[measure] for measure in gold))
    scores = replace(source, measures=[*labels]).scores(judging, all_measures=True)
    # Files of scores may lack the name of the measure.
    all_scores = {name or "scores": table for name, table in scores.items()}
    if not source.score_files or on_command_line("measures"):
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
        folder = folder_name(f"swaps {name}")
        count = [*folders.values()].count(folder)
        folders[name] = f"{folder}-{count + 1}" if count else folder
    return folders


@command()
@settings(f"{STUDY_SETTINGS} interval-ties collections")
@click.argument("qrels", type=READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@options_from(
    f"{__name__}.scales", "measures", measures={"flag": "--measure measures", "stands_for": ""}
)
@options_from("cranfield.meta.study_scales", "cutoffs ties alpha", ties={"flag": "--interval-ties"})
@options_from(f"{__name__}.scales", "graded")
@options_from(f"{__name__}.scales", "collections", collections={"type": READ})
@study_options(seed=False)
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
    options: StudyOptions,
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
    from cranfield import meta
    from cranfield.meta.scale_study import MEASURES, TESTS, scale_options

    judging = dict(options.judging)
    rel = judging.pop("rel")
    if graded and rel is not None:
        raise PolicyError("setting rel cannot be combined with --graded")
    if not graded:
        refuse_options(("max_grade",), "requires --graded")
    refuse_options(DOCUMENT_OPTIONS, "cannot be combined with studies of scales")
    options.check_table(meta.ScaleStudy)
    others = parse_pairs(collections, "setting collections", "QRELS: RUNS")
    if qrels in others:
        raise PolicyError(f"setting collections repeats the collection {quoted(qrels)}")
    if others:
        refuse_options(("chart",), "cannot be combined with setting collections")
        keep_inputs([options.result_output.output], others)
    # Options are checked before files are read.
    scale_options(measures or MEASURES, cutoffs, TESTS, interval_ties, alpha).require(1, 2)
    inputs = {qrels: runs, **{name: (runs,) for name, runs in others.items()}}
    judged = {name: judge_runs(name, files, **judging) for name, files in inputs.items()}
    if not graded:
        judged = {name: runs.binary(1 if rel is None else rel) for name, runs in judged.items()}
    data = judged if others else judged[qrels]
    rules: dict[str, Any] = {"cutoffs": cutoffs, "ties": interval_ties, "alpha": alpha}
    options.show(options.study("scales", meta.study_scales, data, measures or MEASURES, **rules))


@command()
@settings("ties lower")
@click.argument("scores", metavar="SCORES...", nargs=-1, required=True, type=READ)
@click.argument("predictions", type=READ)
@options_from(f"{__name__}.prediction", "measure")
@options_from(
    "cranfield.meta.prediction",
    "ties lower_is_better",
    lower_is_better={"flag": "--lower lower_is_better", "multiple": True, "metavar": "PREDICTOR"},
)
@result_options(("predictors", "anova", "pairs", "topics"))
def prediction(
    scores: tuple[str, ...],
    predictions: str,
    *,
    measure: str | None,
    result_output: ResultOutput,
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
    from cranfield import meta
    from cranfield.evaluation.scorefiles import read_scores
    from cranfield.result import combine_results

    result_output.check(meta.Prediction.declared())
    tables = read_scores(scores[0] if len(scores) == 1 else scores, measure=measure)
    result_output.write(combine_results(meta.prediction(tables, predictions, **rules)))
