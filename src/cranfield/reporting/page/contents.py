"""Contents of the report page: scores, comparisons and scales by measure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, round_for_ranking
from cranfield.base.errors import (
    CranfieldError,
    CranfieldWarning,
    MeasureError,
    PolicyError,
    quote,
    warn,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.reporting.summary import check_residuals
from cranfield.scales.interval_scaled import Interval, interval
from cranfield.scales.measure_scales import scale_of
from cranfield.scales.statements import Meaningfulness, differs_by_topic, meaningfulness
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.compared_pairs import SCORE_STATISTICS
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.models.assumptions import Assumptions
from cranfield.significance.prepare import STATISTIC_OF_AGGREGATE, as_scores
from cranfield.significance.registry import CORRECTIONS, find_test

MAX_CUTOFF = 100  # maximum cutoff at which a report interval-scales the measures below
MAX_OTHER_CUTOFF = 20  # maximum cutoff for other measures, such as AP, which take longer

FAST_MEASURES = ("P", "R", "F", "gP", "gR", "RBP", "DCG", "nDCG", "RR", "Success")


@dataclass(frozen=True)
class ScalingEffect:
    """Comparisons by a measure and by its interval-scaled version."""

    name: str  # name of the interval-scaled version
    n_before: int  # number of significant pairs by the measure
    n_after: int  # number of significant pairs by the interval-scaled version
    n_lost: int  # number of pairs that lose significance (S2NS)
    n_gained: int  # number of pairs that gain significance (NS2S)
    tau: float  # Kendall's tau of the means
    note: str  # notes on the scale and the computation of the interval-scaled version


@dataclass(frozen=True)
class Scaling:
    """Scale of a measure, and the effect of interval scaling; unknown values are empty or None."""

    declared_scale: str
    computed_scale: str  # scale on runs as long as the cutoff of the measure
    scale_reason: str  # reason for the computed scale, or for its absence
    depends_on_topic: bool | None  # whether the scale depends on the topic
    effect: ScalingEffect | str  # of interval scaling, or the reason why it is missing


def compute_scaling(
    measure: Measure | None,
    comparison: PairwiseComparison | None,
    evaluation: Evaluation | None,
    options: Mapping[str, Any],
    *,
    with_effect: bool = True,
) -> Scaling:
    """Determine the scale of a measure and, if `with_effect`, the effect of interval scaling."""
    declared_scale = ""
    if comparison is not None and comparison.measure_scale is not None:
        is_by_user = comparison.scores.scale_source == "user"
        declared_scale = f"{comparison.measure_scale}{', by the user' if is_by_user else ''}"
    if measure is None:
        reason = "scale unknown: not a measure of cranfield"
        return Scaling(declared_scale, "", reason, None, reason)
    max_grade = 1 if evaluation is None else max(1, evaluation.judged.judgments.max_grade)
    computed_scale, reason = _compute_scale(measure, max_grade)
    effect: ScalingEffect | str = "not requested"
    if with_effect:
        effect = _compare_scaled(measure, comparison, evaluation, options)
    if not declared_scale:
        scale = measure.scale if evaluation is None else measure.find_grade_scale(max_grade)
        declared_scale = str(scale)
    return Scaling(declared_scale, computed_scale, reason, differs_by_topic(measure), effect)


def _compute_scale(measure: Measure, max_grade: int) -> tuple[str, str]:
    """Return the scale of a measure at its cutoff, and the reason."""
    if isinstance(measure, Interval):
        return str(measure.scale), "its values are equally spaced by construction"
    if measure.cutoff is None:
        return "", "it has no cutoff, so that its values depend on the length of runs"
    try:
        verdict = scale_of(measure, grades=max_grade).own
    except CranfieldError as error:
        return "", str(error).removeprefix(f"{measure} ")
    if verdict.witness is None:
        return verdict.phrase, verdict.reason
    return verdict.phrase, str(verdict.witness) + (f" ({verdict.reason})" if verdict.reason else "")


def _compare_scaled(
    measure: Measure,
    comparison: PairwiseComparison | None,
    evaluation: Evaluation | None,
    options: Mapping[str, Any],
) -> ScalingEffect | str:
    """Compare systems by the interval-scaled version, or return the reason why not."""
    if isinstance(measure, Interval):
        return "it is already interval-scaled"
    if comparison is None:
        return "systems are not compared by this measure"
    if evaluation is None:
        return "it requires the runs, but only scores are available"
    if measure.cutoff is None:
        return "it has no cutoff"
    max_cutoff = MAX_CUTOFF if measure.name in FAST_MEASURES else MAX_OTHER_CUTOFF
    if measure.cutoff > max_cutoff:
        return (
            f"a report interval-scales it only up to cutoff {max_cutoff}; for larger cutoffs use"
            " cranfield study scales"
        )
    try:
        scaled_measure = interval(measure)
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("always", CranfieldWarning)
            scores = score(evaluation.judged, scaled_measure)[scaled_measure]
            scaled_comparison = compare(scores, **options)
    except CranfieldError as error:
        return str(error).removeprefix("interval: ").removeprefix(f"{measure} ")
    is_before, is_after = comparison.is_significant(), scaled_comparison.is_significant()
    # The note on the scale cites only a section; add the work.
    work = scaled_measure.info.source.split(", section")[0]
    scale_note = re.sub(
        r"\((section [\d.]+) of the source\)", rf"({work}, \1)", scaled_measure.info.scale_note
    )
    notes = [scale_note, *(str(warning.message) for warning in records)]
    means = (round_for_ranking(result.scores.mean()) for result in (comparison, scaled_comparison))
    return ScalingEffect(
        name=str(scaled_measure),
        n_before=int(is_before.sum()),
        n_after=int(is_after.sum()),
        n_lost=int((is_before & ~is_after).sum()),
        n_gained=int((~is_before & is_after).sum()),
        tau=float(kendall_tau(*means)),
        note="; ".join(note for note in notes if note),
    )


COVERAGE_MEASURES = ("Judged", "Unjudged")  # by which systems are not compared

COVERAGE_REASON = "it measures coverage by judgments, not the quality of a ranking"
MISSING_SCORE_PHRASES = ("missing score", "excluded: no score")  # in notes on missing scores


@dataclass(frozen=True, eq=False, repr=False)
class MeasurePart:
    """A measure on the page, with its scores, and its comparison or the reason why it has none.

    `overall` has the compared statistic of each system or, without a comparison or if ranks were
    compared, the statistic of the measure.
    """

    name: str
    measure: Measure | None
    scores: Scores
    overall: Floats
    meaning: Meaningfulness | None
    no_comparison_reason: str
    assumptions: Assumptions | None
    scaling: Scaling

    @property
    def comparison(self) -> PairwiseComparison | None:
        return None if self.meaning is None else self.meaning.comparison

    @property
    def overall_name(self) -> str:
        """Name of the statistic `overall`: mean, sum, geometric mean or median."""
        comparison = self.comparison
        if comparison is not None and comparison.mean_of in SCORE_STATISTICS:
            return comparison.mean_of
        if self.scores.shards:
            return "mean"
        return STATISTIC_OF_AGGREGATE[self.scores.aggregate].replace("-", " ")

    @property
    def missing_notes(self) -> tuple[str, ...]:
        """Notes on missing scores of the comparison."""
        notes = () if self.comparison is None else self.comparison.notes
        return tuple(
            note for note in notes if any(phrase in note for phrase in MISSING_SCORE_PHRASES)
        )


@dataclass(frozen=True, eq=False, repr=False)
class PageContents:
    """Contents of a page; parts may have fewer topics than the page.

    `inputs` are names with the SHA-256 of files, and None for inputs that are not files.
    """

    title: str
    systems: tuple[str, ...]
    topics: tuple[str, ...]
    parts: tuple[MeasurePart, ...]
    evaluation: Evaluation | None = None
    inputs: tuple[tuple[str, str | None], ...] = ()
    command: str | None = None
    date: str | None = None
    judges: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def collect_contents(
    results: Any, *, title: str, scales: bool = True, **options: Any
) -> PageContents:
    """Collect the contents of a report; the options are those of the comparison."""
    settings = {name: value for name, value in options.items() if value is not None}
    # Unknown tests and corrections are refused before anything is computed.
    if "test" in settings:
        find_test(settings["test"])
    if "correction" in settings:
        CORRECTIONS.find(settings["correction"])
    judged = getattr(results, "judged", None)
    has_rankings = isinstance(judged, JudgedRuns) and judged.unit == "topic"
    evaluation = results if isinstance(results, Evaluation) and has_rankings else None
    items = list(_find_items(results))
    if not items:
        raise CranfieldError("expected scores or comparisons to report, got none")
    comparisons = [item for item in items if isinstance(item, PairwiseComparison)]
    if comparisons and (extras := sorted(set(settings) - {"jobs"})):
        raise PolicyError(
            f"{', '.join(extras)} cannot be set for finished comparisons; pass scores instead"
        )
    systems = items[0].systems
    for item in items:
        if item.systems != systems:
            raise CranfieldError(
                "a report requires the same systems in the same order for all measures, got"
                f" different systems for {quote(item.measure)}"
            )
    names = _make_unique_names(items)
    parts = tuple(
        _make_part(name, item, evaluation, settings, scales)
        for name, item in zip(names, items, strict=True)
    )
    topics = dict.fromkeys(topic for part in parts for topic in part.scores.topics)
    if evaluation is not None:
        topics = dict.fromkeys(evaluation.topics)
    return PageContents(title, systems, tuple(topics), parts, evaluation, options=settings)


def _find_items(results: Any) -> Iterable[Scores | PairwiseComparison]:
    """Yield the scores and comparisons in nested results."""
    kinds = (Scores, PairwiseComparison, Meaningfulness)
    if isinstance(results, Meaningfulness):
        yield results.comparison
    elif isinstance(results, (Scores, PairwiseComparison)):
        yield results
    elif isinstance(results, Mapping) and any(isinstance(item, kinds) for item in results.values()):
        for item in results.values():
            yield from _find_items(item)
    elif isinstance(results, Sequence) and not isinstance(results, str):
        for item in results:
            yield from _find_items(item)
    elif isinstance(results, (Mapping, np.ndarray)) or hasattr(type(results), "columns"):
        yield as_scores(results)
    else:
        kind = type(results).__name__
        raise PolicyError(f"expected an evaluation, scores or comparisons, got {kind}")


def _make_unique_names(items: Sequence[Scores | PairwiseComparison]) -> list[str]:
    """Return unique names: the measure, with the test and a number if necessary."""
    names = [item.measure or "score" for item in items]
    for name in {name for name in names if names.count(name) > 1}:
        for k, item in enumerate(items):
            if names[k] == name and isinstance(item, PairwiseComparison):
                names[k] = f"{name} ({item.info.title})"
    counts: dict[str, int] = {}
    for k, name in enumerate(names):
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > 1:
            names[k] = f"{name} #{counts[name]}"
    return names


def _make_part(
    name: str,
    item: Scores | PairwiseComparison,
    evaluation: Evaluation | None,
    options: Mapping[str, Any],
    with_scaling: bool,
) -> MeasurePart:
    measure = _find_measure(item.measure, evaluation)
    scores, comparison, no_comparison_reason = _compare_item(item, measure, options)
    return MeasurePart(
        name=name,
        measure=measure,
        scores=scores,
        overall=_choose_overall_values(scores, comparison),
        meaning=None if comparison is None else meaningfulness(comparison),
        no_comparison_reason=no_comparison_reason,
        assumptions=None if comparison is None else check_residuals(comparison),
        scaling=compute_scaling(measure, comparison, evaluation, options, with_effect=with_scaling),
    )


def _choose_overall_values(scores: Scores, comparison: PairwiseComparison | None) -> Floats:
    """Return the compared statistic of each system, or else the statistic of the measure."""
    means = scores.system_means() if scores.shards else scores.overall()
    if comparison is None or comparison.mean_of not in SCORE_STATISTICS:
        return means
    # The values of the comparison differ by rounding only, unless another statistic was requested
    # or a model adjusted the means for missing topics.
    is_close = np.allclose(means, comparison.means, rtol=1e-12, atol=1e-15, equal_nan=True)
    return means if is_close else comparison.means


def _compare_item(
    item: Scores | PairwiseComparison, measure: Measure | None, options: Mapping[str, Any]
) -> tuple[Scores, PairwiseComparison | None, str]:
    """Return scores, comparison and, if there is no comparison, the reason."""
    if isinstance(item, PairwiseComparison):
        return item.scores, item, ""
    if measure is not None and measure.name in COVERAGE_MEASURES:
        return item, None, COVERAGE_REASON
    if len(item.systems) < 2:
        return item, None, "there is only one system"
    try:
        comparison = compare(item, **options)
    except PolicyError:
        raise
    except CranfieldError as error:
        name = item.measure or "the scores"
        warn(f"{name}: not compared: {error}")
        return item, None, remove_advice(str(error))
    return comparison.scores, comparison, ""


def remove_advice(text: str) -> str:
    """Remove advice on arguments from a message: readers of a page cannot follow it."""
    return re.split(r"; (?=(?:an option such as )?[a-z_]+=)", text)[0]


def _find_measure(name: str, evaluation: Evaluation | None) -> Measure | None:
    if evaluation is not None:
        return next(
            (measure for measure in evaluation.measures if name in (measure.label, str(measure))),
            None,
        )
    try:
        return parse_measure(name)
    except MeasureError:
        return None
