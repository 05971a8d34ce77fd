"""The data of the page: plain values, and arrays that are exact to the bit."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.drawn.picture_data import of_all, of_part, packed
from cranfield.reporting.page.html import label
from cranfield.reporting.verdicts import against, group_letters
from cranfield.significance.comparison.result import PairwiseComparison, decimals
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.pairs import ROUNDING


def page_data(contents: Contents) -> dict[str, Any]:
    """Return what the page computes with; arrays are :func:`packed`, and NaN is no score.

    Without `first` and `second` the pairs of a comparison are all, in order.
    """
    parts = contents.parts
    first, second = start(contents)
    return {
        "systems": list(contents.systems),
        "topics": list(contents.topics),
        "systemLabels": [label(name) for name in contents.systems],
        "topicLabels": [label(name) for name in contents.topics],
        "rounding": ROUNDING,
        "start": {"first": first, "second": second},
        **of_all(contents),
        "measures": [_measure(part, contents.topics) for part in parts],
    }


def json_text(data: dict[str, Any]) -> str:
    """Write data as JSON that can stand inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def places(part: Part) -> int:
    if part.comparison is not None and part.comparison.mean_of == "mean":
        return part.comparison.places
    return decimals(part.overall)


def _measure(part: Part, topics: tuple[str, ...]) -> dict[str, Any]:
    scores = np.full((len(topics), len(part.scores.systems)), np.nan)
    row = {topic: k for k, topic in enumerate(topics)}
    scores[[row[topic] for topic in part.scores.topics]] = part.table
    return {
        "name": part.name,
        "label": label(part.name),
        "places": places(part),
        "lowerIsBetter": part.scores.lower_is_better,
        "overall": packed(part.overall),
        "overallName": part.overall_name,
        "scores": packed(scores),
        **of_part(part, topics),
        "absent": sorted(set(range(len(topics))) - {row[topic] for topic in part.scores.topics}),
        "policy": list(part.policy),
        "refused": part.refused,
        "comparison": None if part.meaning is None else _comparison(part),
    }


def _comparison(part: Part) -> dict[str, Any]:
    assert part.meaning is not None
    one = part.meaning.comparison
    low, high = one.interval
    return {
        "title": one.info.title,
        "correction": CORRECTIONS[one.correction].title
        if len(one) > 1 or one.correction != "none"
        else "",
        "alternative": one.alternative,
        "alpha": one.alpha,
        "meanOf": one.mean_of,
        "lowerIsBetter": one.lower_is_better,
        "differenceName": "difference" if one.mean_of == "mean" else one.difference_name,
        "intervalOf": one.interval_of,
        "intervalKind": one.interval_kind,
        "effectName": one.info.effect,
        "places": one.places,
        **_pairs(one),
        "difference": packed(one.difference),
        "p": packed(one.adjusted_pvalues),
        "effect": packed(one.effect),
        **_limits(one.difference, low, high, one),
        "means": packed(one.means),
        "around": _around(one),
        "holds": _bits(part.meaning.dominance.holds),
        **_against(one, low, high),
        "letters": group_letters(one),
        "order": one.order.tolist(),
    }


def _pairs(one: PairwiseComparison) -> dict[str, list[int]]:
    every = np.triu_indices(len(one.systems), 1)
    if np.array_equal(every, (one.first, one.second)):
        return {}
    return {"first": one.first.tolist(), "second": one.second.tolist()}


def _limits(
    difference: Floats, low: Floats, high: Floats, one: PairwiseComparison
) -> dict[str, Any]:
    """Write the limits, as one number where all are as far from their difference, to the bit."""
    if one.half_widths is not None and len(low):
        about = float((high[0] - low[0]) / 2)
        near = [about]
        for _ in range(8):
            near += [float(np.nextafter(near[-1], np.inf))]
        for _ in range(8):
            near += [float(np.nextafter(min(near), -np.inf))]
        for half in near:
            if np.array_equal(difference - half, low) and np.array_equal(difference + half, high):
                return {"reach": half}
    with np.errstate(invalid="ignore"):
        reach = (high - low) / 2
        if np.allclose(difference - reach, low, 1e-12, 1e-15):
            return {"reaches": packed(reach)}
    return {"low": packed(low), "high": packed(high)}


def _around(one: PairwiseComparison) -> dict[str, Any] | None:
    """Write the limits around means, and whether they are of differences from the best."""
    best = int(one.order[0])
    limits = None if one.baselines else one.around(best)
    if limits is None:
        return None
    of_best = one.half_widths is None
    return {"low": packed(limits[0]), "high": packed(limits[1]), "ofBest": of_best}


def _bits(values: NDArray[np.bool_]) -> str:
    return base64.b64encode(np.packbits(values, bitorder="little").tobytes()).decode()


def _against(one: PairwiseComparison, low: Floats, high: Floats) -> dict[str, Any]:
    """Return verdicts, differences and limits by system, of a comparison with baselines."""
    if not one.baselines:
        return {"baselines": [], "against": None}
    base = one.systems.index(one.baselines[0])
    chosen = np.flatnonzero(one.second == base)
    columns = np.full((3, len(one.systems)), np.nan)
    columns[:, one.first[chosen]] = one.difference[chosen], low[chosen], high[chosen]
    return {
        "baselines": [one.systems.index(name) for name in one.baselines],
        "against": {
            "verdicts": against(one),
            "difference": packed(columns[0]),
            "low": packed(columns[1]),
            "high": packed(columns[2]),
        },
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
