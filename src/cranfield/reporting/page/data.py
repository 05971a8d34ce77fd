"""The data of the page, exact to the bit, and the chart beside the answer."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, best_first, to_order
from cranfield.base.errors import CranfieldError
from cranfield.base.text import counted
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measure
from cranfield.reporting import summary
from cranfield.reporting.charts.inputs import boxes_of
from cranfield.reporting.charts.saving import InScript
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.drawn import IntervalRows, drawn_intervals
from cranfield.reporting.page.html import Html, el, joined, label
from cranfield.reporting.summary import against, group_letters
from cranfield.scales.meaningful import Meaning
from cranfield.scores.averages import Averages
from cranfield.significance.comparison.result import PairwiseComparison, decimals
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.differences import ROUNDING

RANKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Ranks at which precision is shown, as far as the runs go."""


def packed(values: NDArray[Any]) -> str:
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
    """Return what the page computes with; arrays are :func:`packed`, and NaN is no score.

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
        "tau": packed(tau_of(parts)),
        "ranks": ranks and {"at": ranks[0], "precision": packed(ranks[1])},
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
        "overall": packed(part.overall),
        "overallName": part.overall_name,
        "scores": packed(scores),
        "easiest": [rows[k] for k in easiest],
        "boxes": packed(boxes.select("low", "q1", "median", "q3", "high").to_numpy().T),
        "absent": sorted({*range(len(topics))} - {*rows}),
        "policy": list(part.policy),
        "refused": part.refused,
        "comparison": None if part.meaning is None else _comparison(part.meaning),
    }


def _comparison(meaning: Meaning) -> dict[str, Any]:
    one = meaning.comparison
    low, high = one.interval
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
        "difference": packed(one.difference),
        "p": packed(one.adjusted_pvalues),
        "effect": packed(one.effect),
        **_limits(one.difference, low, high, one),
        "means": packed(one.means),
        "around": _around(one),
        "holds": base64.b64encode(holds).decode(),
        **_against(one),
        "letters": group_letters(one),
        "order": one.order.tolist(),
    }


def _limits(
    difference: Floats, low: Floats, high: Floats, one: PairwiseComparison
) -> dict[str, Any]:
    """Return the bounds, as one half-width if all intervals have the same, to the bit."""
    if one.half_widths is not None and len(low):
        candidates = [float((high[0] - low[0]) / 2)]
        for end, direction in ((max, np.inf), (min, -np.inf)):
            for _ in range(8):
                candidates.append(float(np.nextafter(end(candidates), direction)))
        for half in candidates:
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


def beside_baseline(one: PairwiseComparison) -> Floats:
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
    ends = {name: packed(end) for name, end in zip(names, beside_baseline(one), strict=True)}
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


APART = 30.0
"""Differences so many times as large as others have an axis of their own."""


def answer_figure(part: Part) -> Html | None:
    """Draw all systems by one measure; there is nothing to draw of a single one."""
    one, systems = part.comparison, part.scores.systems
    if len(systems) < 2:
        return None
    order = best_first(part.overall, part.scores.lower_is_better) if one is None else one.order
    top, band = [False] * len(systems), None
    if one is None:
        middle = low = high = part.overall
        words = [_number(value, places(part)) for value in middle.tolist()]
        said = "Means of all systems, without a test."
    elif one.baselines:
        middle, low, high = beside_baseline(one)
        words = [_signed(value, one.places) for value in middle.tolist()]
        words[one.systems.index(one.baselines[0])] = "baseline"
        top = [word == summary.BETTER for word in against(one)]
        said = _of_baseline(one)
    else:
        best = int(order[0])
        limits = one.around(best)
        middle, (low, high) = one.means, limits or (one.means, one.means)
        words = [_number(value, one.places) for value in middle.tolist()]
        if one.alternative == "two-sided":
            group = set(one.top_group)
            top = [name in group for name in systems]
        band = limits and (float(low[best]), float(high[best]))
        said = _of_means(one, has_limits=limits is not None)
    rows = IntervalRows(
        names=[systems[k] for k in order],
        keys=order.tolist(),
        middle=middle[order],
        low=low[order],
        high=high[order],
        words=[words[k] for k in order],
        top=[top[k] for k in order],
        band=band,
        zero=one is not None and bool(one.baselines),
    )
    title = f"{label(part.name)}: {counted(len(systems), 'system')}, best first"
    title += " (lower is better)" if part.scores.lower_is_better else ""
    drawing, beyond = drawn_intervals(rows, title)
    return _figure(title, drawing, f"{said} {beyond}".strip())


def _figure(title: str, drawing: Html, said: str) -> Html:
    box = el("div", drawing, class_="canvas tall", role="region", tabindex=0, aria_label=title)
    caption = el("figcaption", el("span", title))
    return el("figure", caption, box, el("p", said, class_="note"), class_="picture ranked")


def _sure(one: PairwiseComparison) -> str:
    return f"{100 * (1 - one.alpha):.4g}%"


def _of_means(one: PairwiseComparison, *, has_limits: bool) -> str:
    blue = "Blue: not found to differ from the best."
    if not has_limits:
        return f"Dots: {one.mean_of} of each system. {blue}"
    if one.half_widths is not None:
        return f"Systems whose bars do not overlap differ. {blue}"
    return (
        f"Bars: {_sure(one)} limits of the {one.difference_from} the best, around its"
        f" {one.mean_of} ({one.interval_kind}). {blue}"
    )


def _of_baseline(one: PairwiseComparison) -> str:
    what = "Log ratio to" if one.mean_of == "geometric mean" else "Difference from"
    return (
        f"{what} {label(one.baselines[0])}, with its {_sure(one)} limits"
        f" ({one.interval_of}, {one.interval_kind}). Blue: better than it."
    )


def two_systems_figure(contents: Contents) -> Html:
    """Draw the difference of two systems with its limits, a row a measure."""
    first, second = start(contents)
    compared = [
        (k, part.comparison) for k, part in enumerate(contents.parts) if part.comparison is not None
    ]
    ends = np.array([[one.difference[0], *(end[0] for end in one.interval)] for _, one in compared])
    turned = np.array([one.first[0] != first for _, one in compared])
    ends[turned] = -ends[turned][:, [0, 2, 1]]
    sizes = np.where(np.isfinite(ends), np.abs(ends), 0.0).max(axis=1)
    alike = sizes.max() <= APART * sizes.min()
    names = contents.systems
    title = f"{label(names[first])} minus {label(names[second])}, by measure"

    def forest(chosen: list[int]) -> tuple[Html, str]:
        some = [compared[at] for at in chosen]
        middle, low, high = ends[chosen].T
        rows = IntervalRows(
            [contents.parts[k].name for k, _ in some],
            [k for k, _ in some],
            middle,
            low,
            high,
            [_signed(ends[at, 0], compared[at][1].places) for at in chosen],
            [bool(one.count()) for _, one in some],
            zero=True,
            whole=True,
        )
        return drawn_intervals(rows, title)

    every = [*range(len(compared))]
    drawn = [forest(chosen) for chosen in ([every] if alike else [[at] for at in every])]
    sure = {_sure(one) for _, one in compared}
    pictures, beyond = zip(*drawn, strict=True)
    own = "" if alike else " Each has an axis of its own."
    said = f"Lines: {', '.join(sorted(sure))} limits. Blue: found to differ.{own}"
    return _figure(title, joined(*pictures), " ".join([said, *sorted({*beyond} - {""})]))


def _number(value: float, places: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{places}f}"


def _signed(value: float, places: int) -> str:
    return "" if np.isnan(value) else f"{value:+.{places}f}".replace("-", "−")
