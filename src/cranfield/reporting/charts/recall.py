"""Curves of precision by recall."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, argsort_best, round_for_ranking
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.text import inflect
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures.ranked.average_precision import InterpolatedPrecision
from cranfield.reporting.charts import theme
from cranfield.reporting.charts.inputs import find_systems, make_labels
from cranfield.scores.one_measure import find_label

LEVELS = tuple(level / 10 for level in range(11))  # the eleven standard recall levels
MAX_COLOURED = 7  # maximum number of coloured systems by default, one for each colour except grey


@theme.declare_chart("precision-recall", "Evaluation")
def precision_recall(
    judged: Evaluation | JudgedRuns,
    *,
    systems: Sequence[str] | None = None,
    topic: str | None = None,
    levels: Sequence[float] = LEVELS,
    rel: int = 1,
    rounding: str = "up",
) -> alt.LayerChart:
    r"""Draw interpolated precision against recall, as a mean over topics or for one topic.

    At a recall level, interpolated precision is the highest precision at this or a higher recall,

    .. math:: iP(R_j) = \max_{R \ge R_j} P(R)

    (Ferro and Maistro 2024, equation 3 and figures 9 and 10); it is the measure `IPrec`. For a
    single topic, thin lines also show precision and recall at each rank, with a dot at each
    relevant document.

    Parameters
    ----------
    judged
        An evaluation, or judged runs.
    systems
        Systems to draw. By default all systems: the best seven by the mean of the curve in colour,
        and the others in grey.
    topic
        A topic; by default the mean over all scored topics.
    levels
        At least two recall levels, from 0 to 1.
    rel
        Lowest grade that counts as relevant.
    rounding
        Rounding of a recall level to a number of documents: `up` by the definition, or as in
        `trec_eval-9` or `trec_eval-10`.

    Raises
    ------
    PolicyError, MeasureError
        For unknown systems and topics, invalid levels, and an invalid `rel` or `rounding`.
    CranfieldError
        If the topic has no relevant documents, or a requested system (by default, every system) has
        no score.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"one": {"1": {"a": 4, "b": 3, "c": 2}}, "two": {"1": {"b": 4, "a": 3, "d": 2}}}
    >>> ev = cf.evaluate(runs, {"1": {"a": 1, "c": 1}}, "AP")
    >>> chart = precision_recall(ev, levels=[0, 0.5, 1])
    >>> [row["precision"] for row in chart.to_dict()["datasets"].popitem()[1]]
    [1.0, 1.0, 0.666..., 0.5, 0.5, 0.0]
    """
    runs = judged.judged if isinstance(judged, Evaluation) else judged
    if not isinstance(runs, JudgedRuns):
        kind = type(judged).__name__
        raise PolicyError(f"expected an Evaluation or judged runs, got {kind}")
    levels = _check_levels(levels)
    columns = find_systems(runs.systems, systems)
    row = None if topic is None else find_label(topic, runs.topics, "topic")
    _check_data(runs, columns, row, rel, requires_all=systems is not None)
    curves = _compute_curves(runs, row, levels, rel, rounding)
    candidates = [k for k in columns if not np.isnan(curves[:, k]).any()]
    means = curves[:, candidates].mean(axis=0)
    order = [candidates[k] for k in argsort_best(round_for_ranking(means))]
    coloured_systems = order if systems is not None else order[:MAX_COLOURED]
    names = make_labels(runs.systems)
    channels = theme.encode_colours("system", [names[k] for k in coloured_systems])

    noun = "interpolated precision" if row is None else "precision"
    x = alt.X("recall:Q").title("recall").scale(domain=[0, 1])
    y = alt.Y("precision:Q").scale(domain=[0, 1])
    y = y.title(f"mean {noun}" if row is None else noun)
    curve = theme.start_chart(_list_points(curves, levels, coloured_systems, names)).encode(
        x=x, y=y, tooltip=theme.make_tips("system:N", "recall:Q", precision=noun), **channels
    )
    layers = []
    if len(coloured_systems) < len(order):
        other_rows = _list_points(curves, levels, order[len(coloured_systems) :], names)
        grey = theme.start_chart(other_rows).mark_line(color="#CCCCCC", strokeWidth=1, aria=False)
        layers.append(grey.encode(x=x, y=y, detail="system:N", tooltip=["system:N"]))
    if row is not None:
        corners, points = _trace_steps(runs, row, coloured_systems, rel, names)
        steps = theme.start_chart(corners).mark_line(strokeWidth=1, opacity=0.7, aria=False)
        dots = theme.start_chart(points).mark_point(filled=True, size=18, opacity=0.8, aria=False)
        tip = theme.make_tips("system:N", "rank:Q", "recall", "precision")
        layers.append(steps.encode(x=x, y=y, order="step:Q", color=channels["color"]))
        layers.append(dots.encode(x=x, y=y, color=channels["color"], tooltip=tip))
    layers += [
        curve.mark_line(strokeWidth=2.5, aria=False),
        curve.mark_point(filled=True, size=35, opacity=1),
    ]
    title, lines = _describe_curves(runs, row, order, coloured_systems, len(columns))
    descriptions = (
        f"{names[k]} from {curves[0, k]:.3f} at recall {levels[0]:g}"
        f" to {curves[-1, k]:.3f} at recall {levels[-1]:g}"
        for k in coloured_systems[:3]
    )
    suffix = "; and others" if len(coloured_systems) > 3 else ""
    return theme.combine_layers(
        *layers,
        width=460,
        height=340,
        title=theme.write_title(title, *lines),
        description=f"Curves of {noun} against recall. {title}. {'; '.join(descriptions)}{suffix}.",
    )


def _check_levels(levels: Sequence[float]) -> list[float]:
    try:
        distinct_levels = sorted({float(level) for level in levels})
    except (TypeError, ValueError):
        raise PolicyError(f"levels must be numbers, got {quote(levels)}") from None
    if len(distinct_levels) < 2 or not all(0 <= level <= 1 for level in distinct_levels):
        expected = "levels must be at least two distinct numbers from 0 to 1"
        raise PolicyError(f"{expected}, got {quote(levels)}")
    return distinct_levels


def _check_data(
    runs: JudgedRuns, columns: Sequence[int], row: int | None, rel: int, *, requires_all: bool
) -> None:
    """Refuse curves if no system has data or, with `requires_all`, if one system has no data."""
    if row is not None and not runs.recall_base(rel)[row, 0]:
        raise CranfieldError(
            f"topic {quote(runs.topics[row])} has no relevant documents; recall is undefined"
        )
    has_scores = np.any(runs.is_scored if row is None else runs.is_scored[[row]], axis=0)
    missing_systems = [k for k in columns if not has_scores[k]]
    if missing_systems and (requires_all or len(missing_systems) == len(columns)):
        scope = "any topic" if row is None else f"topic {quote(runs.topics[row])}"
        name = runs.systems[missing_systems[0]]
        raise CranfieldError(f"system {quote(name)} has no score for {scope}")


def _compute_curves(
    runs: JudgedRuns, row: int | None, levels: Sequence[float], rel: int, rounding: str
) -> Floats:
    """Return interpolated precision, shape (levels, systems); NaN for a system without topics."""
    curves = np.full((len(levels), len(runs.systems)), np.nan)
    counts = runs.is_scored.sum(axis=0)
    has_topics = counts > 0
    for k, level in enumerate(levels):
        values = InterpolatedPrecision(recall=level, rel=rel, rounding=rounding).score(runs)
        if row is not None:
            curves[k] = np.where(runs.is_scored[row], values[row], np.nan)
        else:
            sums = np.where(runs.is_scored, values, 0.0).sum(axis=0)
            curves[k, has_topics] = sums[has_topics] / counts[has_topics]
    return curves


def _list_points(
    curves: Floats, levels: Sequence[float], systems: Sequence[int], names: Sequence[str]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "system": [names[k] for k in systems for _ in levels],
            "recall": [*levels] * len(systems),
            "precision": curves[:, list(systems)].T.ravel(),
        }
    )


def _trace_steps(
    runs: JudgedRuns, row: int, systems: Sequence[int], rel: int, names: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the corners of each line of precision by recall, and the relevant documents on it."""
    relevant = runs.relevant(rel)
    recall_base = int(runs.recall_base(rel)[row, 0])
    lines, points = [], []
    for k in systems:
        ranks = relevant.rank[relevant.cell == k * len(runs.topics) + row]
        counts = np.arange(1, ranks.size + 1)
        ends = np.append(ranks[1:] - 1, max(int(runs.n_retrieved[row, k]), ranks.max(initial=0)))
        corners = np.stack([ranks, ends[: ranks.size]], axis=1).ravel()
        n_relevant = np.repeat(counts, 2)
        if ranks.size == 0 or ranks[0] > 1:
            # Precision and recall are zero before the first relevant document.
            corners, n_relevant = np.append(1, corners), np.append(0, n_relevant)
        system = pl.lit(names[k]).alias("system")
        line = {
            "step": np.arange(corners.size),
            "recall": n_relevant / recall_base,
            "precision": n_relevant / corners,
        }
        dots = {"rank": ranks, "recall": counts / recall_base, "precision": counts / ranks}
        lines.append(pl.DataFrame(line).select(system, pl.all()))
        points.append(pl.DataFrame(dots).select(system, pl.all()))
    return pl.concat(lines), pl.concat(points)


def _describe_curves(
    runs: JudgedRuns,
    row: int | None,
    order: Sequence[int],
    coloured_systems: Sequence[int],
    n_requested: int,
) -> tuple[str, list[str]]:
    """Return the title of the chart and the lines below it."""
    if row is None:
        counts = runs.is_scored.sum(axis=0)[list(order)]
        scope = inflect(len(runs.topics), "topic")
        if counts.min() < len(runs.topics):
            scope = f"{counts.min()} to {inflect(int(counts.max()), 'topic')}"
            if counts.min() == counts.max():
                scope = inflect(int(counts.max()), "topic")
        title, lines = f"Interpolated precision, mean over {scope}", []
    else:
        title = f"Precision and recall for topic {make_labels(runs.topics)[row]}"
        lines = [
            "Thick lines: interpolated precision. Thin lines: precision and recall at each rank,",
            "with a dot at each relevant document.",
        ]
    if len(coloured_systems) < len(order):
        n_coloured = len(coloured_systems)
        lines.append(f"In colour: the best {n_coloured} of {len(order)} systems by mean precision.")
    if n_requested > len(order):
        n_excluded = n_requested - len(order)
        lines.append(f"Excluded: {inflect(n_excluded, 'system')} without a score.")
    return title, lines
