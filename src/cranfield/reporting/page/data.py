"""Data for the script of the report page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, argsort_best, round_for_ranking
from cranfield.base.errors import CranfieldError
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measure
from cranfield.reporting.charts.inputs import summarise_boxes
from cranfield.reporting.page.contents import MeasurePart, PageContents
from cranfield.reporting.page.html import make_label
from cranfield.reporting.summary import list_group_letters, list_verdicts
from cranfield.scales.statements import Meaningfulness
from cranfield.scores.averages import Averages
from cranfield.significance.comparison.result import PairwiseComparison, choose_decimals
from cranfield.significance.differences import ROUNDING
from cranfield.significance.registry import CORRECTIONS

RANKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)


def encode_array(values: NDArray[Any]) -> str:
    """Encode an array in base64, as little-endian 64-bit floats in row-major order."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def compute_tau_matrix(parts: tuple[MeasurePart, ...]) -> Floats:
    """Compute Kendall's tau of all pairs of measures; NaN unless all overall scores are finite."""
    values = [part.overall * (-1 if part.scores.lower_is_better else 1) for part in parts]
    tau = np.full((len(parts), len(parts)), np.nan)
    for i, x in enumerate(values):
        for j, y in enumerate(values[: i + 1]):
            if len(x) > 1 and np.isfinite([x, y]).all():
                tau[i, j] = tau[j, i] = kendall_tau(x, y)
    return tau


def compute_precision_by_rank(evaluation: Evaluation) -> tuple[list[int], Floats] | None:
    """Return ranks and mean precisions, NaN beyond a system's last document; None if undefined."""
    judged = evaluation.judged
    depth = judged.n_retrieved.max(axis=0, initial=0)
    ranks = [rank for rank in RANKS if rank <= depth.max(initial=0)]
    if len(ranks) < 2:
        return None
    try:
        scores = score(judged, [parse_measure(f"P@{rank}") for rank in ranks])
    except CranfieldError:
        return None
    values = np.stack([precision.overall() for precision in scores.values()])
    return ranks, np.where(np.array(ranks)[:, None] <= depth, values, np.nan)


def collect_data(contents: PageContents) -> dict[str, Any]:
    """Return the data of the page; comparisons omit `first` and `second` if they have all pairs."""
    parts = contents.parts
    first, second = select_initial_pair(contents)
    ranks = None if contents.evaluation is None else compute_precision_by_rank(contents.evaluation)
    return {
        "systems": list(contents.systems),
        "topics": list(contents.topics),
        "systemLabels": [make_label(name) for name in contents.systems],
        "topicLabels": [make_label(name) for name in contents.topics],
        "rounding": ROUNDING,
        "start": {"first": first, "second": second},
        "tau": encode_array(compute_tau_matrix(parts)),
        "ranks": ranks and {"at": ranks[0], "precision": encode_array(ranks[1])},
        "measures": [_make_measure_data(part, contents.topics) for part in parts],
    }


def count_overall_decimals(part: MeasurePart) -> int:
    """Count the decimals of the overall values of a measure."""
    if part.comparison is not None and part.comparison.mean_of == "mean":
        return part.comparison.places
    return choose_decimals(part.overall)


def _make_measure_data(part: MeasurePart, topics: tuple[str, ...]) -> dict[str, Any]:
    by_topic = part.scores.average_shards()
    topic_order = argsort_best(
        round_for_ranking(Averages(by_topic.values.T).mean()), by_topic.lower_is_better
    )
    with np.errstate(invalid="ignore"):
        boxes, _ = summarise_boxes(by_topic, by_topic.systems)
    indices = {topic: k for k, topic in enumerate(topics)}
    rows = [indices[topic] for topic in by_topic.topics]
    scores = np.full((len(topics), len(by_topic.systems)), np.nan)
    scores[rows] = by_topic.values
    return {
        "name": part.name,
        "label": make_label(part.name),
        "places": count_overall_decimals(part),
        "lowerIsBetter": part.scores.lower_is_better,
        "overall": encode_array(part.overall),
        "overallName": part.overall_name,
        "scores": encode_array(scores),
        "easiest": [rows[k] for k in topic_order],
        "boxes": encode_array(boxes.select("low", "q1", "median", "q3", "high").to_numpy().T),
        "absent": sorted({*range(len(topics))} - {*rows}),
        "policy": list(part.missing_notes),
        "refused": part.no_comparison_reason,
        "comparison": None if part.meaning is None else _make_comparison_data(part.meaning),
    }


def _make_comparison_data(meaning: Meaningfulness) -> dict[str, Any]:
    comparison = meaning.comparison
    has_all_pairs = np.array_equal(
        np.triu_indices(len(comparison.systems), 1), (comparison.first, comparison.second)
    )
    pairs = {"first": comparison.first.tolist(), "second": comparison.second.tolist()}
    is_corrected = len(comparison) > 1 or comparison.correction != "none"
    correction = CORRECTIONS[comparison.correction].get_title(
        has_baseline=bool(comparison.baselines)
    )
    holds = np.packbits(meaning.dominance.holds, bitorder="little").tobytes()
    return {
        "title": comparison.info.title,
        "correction": correction if is_corrected else "",
        "alternative": comparison.alternative,
        "alpha": comparison.alpha,
        "meanOf": comparison.mean_of,
        "lowerIsBetter": comparison.lower_is_better,
        "differenceName": "difference"
        if comparison.mean_of == "mean"
        else comparison.difference_name,
        "intervalOf": comparison.interval_of,
        "testsDifference": comparison.tests_difference,
        "intervalKind": comparison.interval_kind,
        "effectName": comparison.info.effect,
        "places": comparison.places,
        **({} if has_all_pairs else pairs),
        "difference": encode_array(comparison.difference),
        "p": encode_array(comparison.adjusted_pvalues),
        "effect": encode_array(comparison.effect),
        **_encode_bounds(comparison),
        "means": encode_array(comparison.means),
        "around": _encode_mean_bounds(comparison),
        "holds": base64.b64encode(holds).decode(),
        **_make_baseline_data(comparison),
        "letters": list_group_letters(comparison),
        "order": comparison.order.tolist(),
    }


def _encode_bounds(comparison: PairwiseComparison) -> dict[str, str]:
    """Return the bounds of intervals, or their half-widths if all are symmetric."""
    low, high = comparison.interval
    with np.errstate(invalid="ignore"):
        half_width = (high - low) / 2
        if np.allclose(comparison.difference - half_width, low, 1e-12, 1e-15):
            return {"halfWidths": encode_array(half_width)}
    return {"low": encode_array(low), "high": encode_array(high)}


def _encode_mean_bounds(comparison: PairwiseComparison) -> dict[str, Any] | None:
    """Return intervals around means, and whether they are for differences from the best."""
    best_system = int(comparison.order[0])
    bounds = None if comparison.baselines else comparison.find_mean_bounds(best_system)
    if bounds is None:
        return None
    low, high = map(encode_array, bounds)
    return {"low": low, "high": high, "ofBest": comparison.half_widths is None}


def list_baseline_differences(comparison: PairwiseComparison) -> Floats:
    """Return differences from the first baseline and their bounds, shape (3, systems)."""
    pairs = np.flatnonzero(comparison.second == comparison.systems.index(comparison.baselines[0]))
    rows = np.full((3, len(comparison.systems)), np.nan)
    rows[:, comparison.first[pairs]] = [
        values[pairs] for values in (comparison.difference, *comparison.interval)
    ]
    return rows


def _make_baseline_data(comparison: PairwiseComparison) -> dict[str, Any]:
    """Return verdicts, differences and bounds by system, if there are baselines."""
    if not comparison.baselines:
        return {"baselines": [], "against": None}
    difference, low, high = map(encode_array, list_baseline_differences(comparison))
    return {
        "baselines": [comparison.systems.index(name) for name in comparison.baselines],
        "against": {
            "verdicts": list_verdicts(comparison),
            "difference": difference,
            "low": low,
            "high": high,
        },
    }


def select_initial_pair(contents: PageContents) -> tuple[int, int]:
    """Select the best system, and the best that is significantly different, or else the second.

    With a baseline, the pair is the best other system and the first baseline; without a comparison,
    the first two systems.
    """
    comparison = contents.parts[0].comparison
    if comparison is None:
        return 0, min(1, len(contents.systems) - 1)
    order = comparison.order.tolist()
    if comparison.baselines:
        baseline = comparison.systems.index(comparison.baselines[0])
        other_systems = (k for k in order if comparison.systems[k] not in comparison.baselines)
        return next(other_systems), baseline
    best_system = order[0]
    is_different = comparison.to_matrix(comparison.is_significant().astype(float))[best_system] == 1
    return best_system, next((k for k in order if is_different[k]), order[1])
