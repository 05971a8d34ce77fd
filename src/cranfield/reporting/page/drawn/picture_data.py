"""What the pictures of the page show besides scores and comparisons: all of it is in the API."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, best_first, to_order
from cranfield.base.errors import CranfieldError
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.measures import parse_measure
from cranfield.reporting.charts.of_scores.box import boxes_of
from cranfield.reporting.page.contents import Contents, Part
from cranfield.scores.averages import Averages

RANKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Ranks at which precision is shown, as far as the runs go."""

BOX = ("low", "q1", "median", "q3", "high")


def packed(values: NDArray[Any]) -> str:
    """Write an array in base64 of its numbers as little-endian 64-bit floats, in order of rows."""
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
    """Return ranks, and mean precision at each, shape (ranks, systems).

    It is NaN from the rank on at which the longest ranking of a system has ended: what stands
    there says how long runs are, and not how good they are.
    """
    judged = evaluation.judged
    depth = judged.retrieved.max(axis=0, initial=0)
    ranks = [rank for rank in RANKS if rank <= depth.max(initial=0)]
    if len(ranks) < 2:
        return None
    try:
        found = score(judged, [parse_measure(f"P@{rank}") for rank in ranks])
    except CranfieldError:
        return None
    values = np.stack([one.overall() for one in found.values()])
    return ranks, np.where(np.array(ranks)[:, None] <= depth, values, np.nan)
