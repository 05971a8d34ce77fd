"""The data of the page, exact to the bit, and the chart beside the answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, best_first, to_order
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
from cranfield.scores.averages import Averages
from cranfield.significance.comparison.result import PairwiseComparison, decimals
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.differences import ROUNDING

RANKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Ranks at which precision is shown, as far as the runs go."""

BOX = ("low", "q1", "median", "q3", "high")


def packed(values: NDArray[Any]) -> str:
    """Return an array in base64, as little-endian 64-bit floats in row-major order."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def of_all(contents: Contents) -> dict[str, Any]:
    """Return Kendall's tau of the measures, and precision by rank where there are runs."""
    ranks = None if contents.evaluation is None else precision_by_rank(contents.evaluation)
    return {
        "tau": packed(tau_of(contents.parts)),
        "ranks": ranks and {"at": ranks[0], "precision": packed(ranks[1])},
    }


def of_part(part: Part, topics: tuple[str, ...]) -> dict[str, Any]:
    """Return topics from the easiest on, and the boxes of the systems, shape (5, systems)."""
    scores = part.scores.over_shards()
    by_topic = to_order(Averages(scores.values.T).mean())
    order = best_first(by_topic, scores.lower_is_better)
    row = {topic: k for k, topic in enumerate(topics)}
    with np.errstate(invalid="ignore"):
        boxes, _ = boxes_of(scores, scores.systems)
    return {
        "easiest": [row[scores.topics[k]] for k in order],
        "boxes": packed(boxes.select(BOX).to_numpy().T),
    }


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
    """Return data as JSON that can stand inside a script element."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), cls=InScript)


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


APART = 30.0
"""Differences so many times as large as others have an axis of their own."""


def answer_figure(part: Part) -> Html | None:
    """Draw all systems by one measure; there is nothing to draw of a single one."""
    if len(part.scores.systems) < 2:
        return None
    one = part.comparison
    if one is None:
        rows, said = _plain(part), "Means of all systems, without a test."
    elif one.baselines:
        rows, said = _drawn_against_baseline(one), _of_baseline(one)
    else:
        rows, said = _drawn_around_means(one), _of_means(one)
    title = f"{label(part.name)}: {counted(len(rows.names), 'system')}, best first"
    title += " (lower is better)" if part.scores.lower_is_better else ""
    drawing, beyond = drawn_intervals(rows, title)
    return _figure(title, drawing, f"{said} {beyond}".strip())


def _figure(title: str, drawing: Html, said: str) -> Html:
    box = el("div", drawing, class_="canvas tall", role="region", tabindex=0, aria_label=title)
    caption = el("figcaption", el("span", title))
    return el("figure", caption, box, el("p", said, class_="note"), class_="picture ranked")


def _sure(one: PairwiseComparison) -> str:
    return f"{100 * (1 - one.alpha):.4g}%"


def _plain(part: Part) -> IntervalRows:
    order = best_first(part.overall, part.scores.lower_is_better)
    values = part.overall[order]
    shown = [_number(value, places(part)) for value in values.tolist()]
    names = [part.scores.systems[k] for k in order]
    return IntervalRows(names, order.tolist(), values, values, values, shown, [False] * len(names))


def _drawn_around_means(one: PairwiseComparison) -> IntervalRows:
    order = one.order
    best = int(order[0])
    limits = one.around(best)
    low, high = (one.means, one.means) if limits is None else limits
    return IntervalRows(
        names=[one.systems[k] for k in order],
        keys=order.tolist(),
        middle=one.means[order],
        low=low[order],
        high=high[order],
        words=[_number(value, one.places) for value in one.means[order].tolist()],
        top=_like_best(one)[order].tolist(),
        band=None if limits is None else (float(low[best]), float(high[best])),
    )


def _like_best(one: PairwiseComparison) -> Bools:
    if one.alternative != "two-sided":
        return np.zeros(len(one.systems), dtype=np.bool_)
    top = set(one.top_group)
    return np.array([name in top for name in one.systems])


def _of_means(one: PairwiseComparison) -> str:
    limits = one.around(int(one.order[0]))
    if limits is None:
        return f"Dots: {one.mean_of} of each system. Blue: not found to differ from the best."
    if one.half_widths is None:
        return (
            f"Bars: {_sure(one)} limits of the {one.difference_from} the best, around its"
            f" {one.mean_of} ({one.interval_kind}). Blue: not found to differ from the best."
        )
    return "Systems whose bars do not overlap differ. Blue: not found to differ from the best."


def _drawn_against_baseline(one: PairwiseComparison) -> IntervalRows:
    base = one.systems.index(one.baselines[0])
    chosen = np.flatnonzero(one.second == base)
    columns = np.full((3, len(one.systems)), np.nan)
    columns[:, one.first[chosen]] = one.difference[chosen], *(end[chosen] for end in one.interval)
    order = one.order
    middle, low, high = columns[:, order]
    words = summary.against(one)
    shown = [_signed(value, one.places) for value in middle.tolist()]
    return IntervalRows(
        names=[one.systems[k] for k in order],
        keys=order.tolist(),
        middle=middle,
        low=low,
        high=high,
        words=["baseline" if k == base else shown[at] for at, k in enumerate(order.tolist())],
        top=[words[k] == summary.BETTER for k in order],
        zero=True,
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
    rows = [
        (k, part.name, *_difference(part.comparison, first), part.comparison.places)
        for k, part in enumerate(contents.parts)
        if part.comparison is not None
    ]
    names = contents.systems
    title = f"{label(names[first])} minus {label(names[second])}, by measure"
    sizes = [max((abs(v) for v in row[2:5] if np.isfinite(v)), default=0.0) for row in rows]
    alike = max(sizes) <= APART * min(sizes)
    drawn = [_forest(some, title) for some in ([rows] if alike else [[row] for row in rows])]
    pictures, beyond = zip(*drawn, strict=True)
    sure = {_sure(part.comparison) for part in contents.parts if part.comparison is not None}
    own = "" if alike else " Each has an axis of its own."
    said = f"Lines: {', '.join(sorted(sure))} limits. Blue: found to differ.{own}"
    return _figure(title, joined(*pictures), " ".join([said, *sorted({*beyond} - {""})]))


def _difference(one: PairwiseComparison, first: int) -> tuple[float, float, float, bool]:
    low, high = (float(end[0]) for end in one.interval)
    value, found = float(one.difference[0]), bool(one.count())
    return (value, low, high, found) if one.first[0] == first else (-value, -high, -low, found)


def _forest(
    rows: Iterable[tuple[int, str, float, float, float, bool, int]], title: str
) -> tuple[Html, str]:
    keys, names, middle, low, high, found, decimals = zip(*rows, strict=True)
    made = IntervalRows(
        names=names,
        keys=keys,
        middle=np.array(middle),
        low=np.array(low),
        high=np.array(high),
        words=[_signed(value, p) for value, p in zip(middle, decimals, strict=True)],
        top=found,
        zero=True,
        whole=True,
    )
    return drawn_intervals(made, title)


def _number(value: float, places: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{places}f}"


def _signed(value: float, places: int) -> str:
    return "" if np.isnan(value) else f"{value:+.{places}f}".replace("-", "−")
