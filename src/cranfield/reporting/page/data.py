"""The data of the page."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, best_first, to_order
from cranfield.base.errors import CranfieldError
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measure
from cranfield.reporting.charts.inputs import boxes_of
from cranfield.reporting.charts.saving import InScript
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.html import label
from cranfield.reporting.summary import against, group_letters
from cranfield.scales.statements import Meaningfulness
from cranfield.scores.averages import Averages
from cranfield.significance.comparison.result import PairwiseComparison, decimals
from cranfield.significance.differences import ROUNDING
from cranfield.significance.registry import CORRECTIONS

RANKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Ranks at which precision is shown, as far as the runs go."""


def encoded(values: NDArray[Any]) -> str:
    """Return an array in base64, as little-endian 64-bit floats in row-major order."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def tau_of(parts: tuple[Part, ...]) -> Floats:
    """Return how well each two measures order the systems alike; NaN where scores are missing."""
    values = [part.overall * (-1 if part.scores.lower_is_better else 1) for part in parts]
    out = np.full((len(parts), len(parts)), np.nan)
    for i, one in enumerate(values):
        for j, other in enumerate(values[: i + 1]):
            if len(one) > 1 and np.isfinite([one, other]).all():
                out[i, j] = out[j, i] = kendall_tau(one, other)
    return out


def precision_by_rank(evaluation: Evaluation) -> tuple[list[int], Floats] | None:
    """Return ranks and mean precision at each, shape (ranks, systems); NaN beyond a run's end."""
    judged = evaluation.judged
    depth = judged.retrieved.max(axis=0, initial=0)
    ranks = [rank for rank in RANKS if rank <= depth.max(initial=0)]
    if len(ranks) < 2:
        return None
    try:
        scores = score(judged, [parse_measure(f"P@{rank}") for rank in ranks])
    except CranfieldError:
        return None
    values = np.stack([precision.overall() for precision in scores.values()])
    return ranks, np.where(np.array(ranks)[:, None] <= depth, values, np.nan)


def page_data(contents: Contents) -> dict[str, Any]:
    """Return what the page computes with; arrays are :func:`encoded`, and NaN is a missing score.

    Without `first` and `second` the pairs of a comparison are all, in order.
    """
    parts = contents.parts
    first, second = start(contents)
    ranks = None if contents.evaluation is None else precision_by_rank(contents.evaluation)
    return {
        "systems": list(contents.systems),
        "topics": list(contents.topics),
        "systemLabels": [label(name) for name in contents.systems],
        "topicLabels": [label(name) for name in contents.topics],
        "rounding": ROUNDING,
        "start": {"first": first, "second": second},
        "tau": encoded(tau_of(parts)),
        "ranks": ranks and {"at": ranks[0], "precision": encoded(ranks[1])},
        "measures": [_measure(part, contents.topics) for part in parts],
    }


def json_text(data: dict[str, Any]) -> str:
    """Return data as JSON that can stand inside a script element."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), cls=InScript)


def places(part: Part) -> int:
    if part.comparison is not None and part.comparison.mean_of == "mean":
        return part.comparison.places
    return decimals(part.overall)


def _measure(part: Part, topics: tuple[str, ...]) -> dict[str, Any]:
    by_topic = part.scores.over_shards()
    easiest = best_first(to_order(Averages(by_topic.values.T).mean()), by_topic.lower_is_better)
    with np.errstate(invalid="ignore"):
        boxes, _ = boxes_of(by_topic, by_topic.systems)
    place = {topic: k for k, topic in enumerate(topics)}
    rows = [place[topic] for topic in by_topic.topics]
    scores = np.full((len(topics), len(by_topic.systems)), np.nan)
    scores[rows] = by_topic.values
    return {
        "name": part.name,
        "label": label(part.name),
        "places": places(part),
        "lowerIsBetter": part.scores.lower_is_better,
        "overall": encoded(part.overall),
        "overallName": part.overall_name,
        "scores": encoded(scores),
        "easiest": [rows[k] for k in easiest],
        "boxes": encoded(boxes.select("low", "q1", "median", "q3", "high").to_numpy().T),
        "absent": sorted({*range(len(topics))} - {*rows}),
        "policy": list(part.policy),
        "refused": part.refused,
        "comparison": None if part.meaning is None else _comparison(part.meaning),
    }


def _comparison(meaning: Meaningfulness) -> dict[str, Any]:
    one = meaning.comparison
    every = np.array_equal(np.triu_indices(len(one.systems), 1), (one.first, one.second))
    pairs = {} if every else {"first": one.first.tolist(), "second": one.second.tolist()}
    is_corrected = len(one) > 1 or one.correction != "none"
    holds = np.packbits(meaning.dominance.holds, bitorder="little").tobytes()
    return {
        "title": one.info.title,
        "correction": CORRECTIONS[one.correction].title if is_corrected else "",
        "alternative": one.alternative,
        "alpha": one.alpha,
        "meanOf": one.mean_of,
        "lowerIsBetter": one.lower_is_better,
        "differenceName": "difference" if one.mean_of == "mean" else one.difference_name,
        "intervalOf": one.interval_of,
        "intervalKind": one.interval_kind,
        "effectName": one.info.effect,
        "places": one.places,
        **pairs,
        "difference": encoded(one.difference),
        "p": encoded(one.adjusted_pvalues),
        "effect": encoded(one.effect),
        **_limits(one),
        "means": encoded(one.means),
        "around": _around(one),
        "holds": base64.b64encode(holds).decode(),
        **_against(one),
        "letters": group_letters(one),
        "order": one.order.tolist(),
    }


def _limits(one: PairwiseComparison) -> dict[str, str]:
    """Return the bounds, as half-widths if all intervals are symmetric."""
    low, high = one.interval
    with np.errstate(invalid="ignore"):
        reach = (high - low) / 2
        if np.allclose(one.difference - reach, low, 1e-12, 1e-15):
            return {"reaches": encoded(reach)}
    return {"low": encoded(low), "high": encoded(high)}


def _around(one: PairwiseComparison) -> dict[str, Any] | None:
    """Write the limits around means, and whether they are of differences from the best."""
    best = int(one.order[0])
    limits = None if one.baselines else one.around(best)
    if limits is None:
        return None
    of_best = one.half_widths is None
    return {"low": encoded(limits[0]), "high": encoded(limits[1]), "ofBest": of_best}


def against_baseline(one: PairwiseComparison) -> Floats:
    """Return difference, low and high of each system and the first baseline; NaN for the latter."""
    chosen = np.flatnonzero(one.second == one.systems.index(one.baselines[0]))
    columns = np.full((3, len(one.systems)), np.nan)
    columns[:, one.first[chosen]] = [end[chosen] for end in (one.difference, *one.interval)]
    return columns


def _against(one: PairwiseComparison) -> dict[str, Any]:
    """Return verdicts, differences and limits by system, of a comparison with baselines."""
    if not one.baselines:
        return {"baselines": [], "against": None}
    names = ("difference", "low", "high")
    ends = {name: encoded(end) for name, end in zip(names, against_baseline(one), strict=True)}
    return {
        "baselines": [one.systems.index(name) for name in one.baselines],
        "against": {"verdicts": against(one), **ends},
    }


def start(contents: Contents) -> tuple[int, int]:
    """Choose the pair that is shown first: the best, and the best that differs from it."""
    one = contents.parts[0].comparison
    if one is None:
        return 0, min(1, len(contents.systems) - 1)
    order = one.order.tolist()
    if one.baselines:
        base = one.systems.index(one.baselines[0])
        return next(k for k in order if one.systems[k] not in one.baselines), base
    best = order[0]
    star = one.is_significant() & ((one.first == best) | (one.second == best))
    apart = {*one.first[star].tolist(), *one.second[star].tolist()} - {best}
    return best, next((k for k in order if k in apart), order[1])
