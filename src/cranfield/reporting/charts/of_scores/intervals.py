"""Means of systems with intervals that tell which of them differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.words import capitalised
from cranfield.reporting.charts.choosing import labels, titled
from cranfield.reporting.charts.layout import headed, overlaid, row_size, rows_of, score_axis
from cranfield.reporting.charts.theme import COLOURS, coded, data_of
from cranfield.reporting.verdicts import BETTER, DIFFERENT, NONE, SAME, WORSE, verdicts_of
from cranfield.scores.labels import place_of
from cranfield.significance.comparison.result import PairwiseComparison

if TYPE_CHECKING:
    import altair as alt

WIDTH = 560

LOOKS = {
    "reference": ("#000000", "diamond"),
    BETTER: (COLOURS[2], "triangle-up"),
    SAME: (COLOURS[0], "circle"),
    WORSE: (COLOURS[4], "triangle-down"),
    DIFFERENT: (COLOURS[3], "square"),
    NONE: ("#999999", "cross"),
}
"""Colour and shape of a system by what the comparison says of it and of the reference."""


def intervals_chart(
    comparison: PairwiseComparison, *, reference: str | None = None
) -> alt.LayerChart:
    r"""Draw the mean of each system with an interval that tells which systems differ.

    With Tukey's HSD those differ whose intervals do not overlap:

    .. math:: \hat\mu_{\cdot u} \pm \frac12 Q^\alpha_{n, df} \sqrt{\frac{MS_{Error}}{m}}

    (Ferro and Maistro 2024, equation 11). With other simultaneous intervals, such as those of
    Tukey's HSD bootstrapped over topics, each system has the interval of its difference from the
    reference, set on the reference's mean: those that leave out that mean are significantly
    different from it. A band shows the interval of the reference; colours and shapes tell which
    systems are significantly better or worse than it. By default the reference is the best system,
    and systems that are not significantly different from it are the top group. The best system
    comes first.

    Parameters
    ----------
    comparison
        What :func:`cranfield.compare` found.
    reference
        A system; by default the first baseline, or the system with the best mean.

    Raises
    ------
    PolicyError
        When the comparison has no intervals around means, or no such system.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.1, 0.2, 0.4], "b": [0.3, 0.4, 0.5], "c": [0.6, 0.7, 0.9]}
    >>> chart = intervals_chart(cf.compare(scores, correction="tukey"))
    >>> rows = next(rows for rows in chart.to_dict()["datasets"].values() if len(rows) == 3)
    >>> [(row["system"], row["verdict"]) for row in rows]
    [('c', 'reference'), ('b', 'worse'), ('a', 'worse')]
    """
    import altair as alt

    names = labels(comparison.systems)
    order = comparison.order
    if reference is not None:
        centre = place_of(reference, comparison.systems)
    elif comparison.baselines:
        centre = comparison.systems.index(comparison.baselines[0])
    else:
        centre = int(order[0])
    limits = comparison.around(centre)
    if limits is None:
        raise PolicyError(
            f"{comparison.test} with the correction {comparison.correction} has no intervals around"
            " means: compare with test='anova', and a score of each system for each topic"
        )
    frame = _table(comparison, names, centre, *limits)
    differ = "Systems whose intervals do not overlap differ."
    if comparison.half_widths is None:
        differ = (
            f"Lines: limits of the {comparison.difference_from} {names[centre]}, around each"
            f" {comparison.mean_of}."
        )
    kinds = [kind for kind in LOOKS if kind in set(frame["verdict"])]
    colours, shapes = zip(*(LOOKS[kind] for kind in kinds), strict=True)
    says = f"compared with {names[centre]}"
    step, _ = row_size(len(names))
    title = titled(
        comparison.measure,
        comparison.mean_of if comparison.mean_of == "mean" else f"{comparison.mean_of} by",
        lower_is_better=comparison.lower_is_better,
    )
    y = rows_of([names[k] for k in order], "system")

    lowest, highest = frame["low"].to_numpy(), frame["high"].to_numpy()
    low, high = float(np.nanmin(lowest)), float(np.nanmax(highest))
    # An axis of no length would be drawn from 0 to 1, whatever the means are.
    domain = [low - 0.1, high + 0.1] if low == high else alt.Undefined
    around = alt.Scale(zero=False, domain=domain)

    def x(field: str) -> alt.X:
        return score_axis(field, title, len(names), around)

    legend = alt.Legend(title=says, orient="top", titleLimit=WIDTH, labelLimit=WIDTH, columns=4)
    base = alt.Chart(data_of(frame)).encode(
        y=y,
        color=coded(alt.Color, "verdict", kinds, colours, legend=legend),
        tooltip=[
            "system:N",
            alt.Tooltip("mean:Q", title=comparison.mean_of, format=".4f"),
            alt.Tooltip("low:Q", format=".4f"),
            alt.Tooltip("high:Q", format=".4f"),
            alt.Tooltip("verdict:N", title=says),
        ],
    )
    own = alt.Chart(data_of(frame.filter(verdict="reference").select("low", "high")))
    band = own.mark_rect(color="black", opacity=0.09, aria=False).encode(x=x("low"), x2="high:Q")
    lines = base.mark_rule(strokeWidth=2, aria=False).encode(x=x("low"), x2="high:Q")
    points = base.mark_point(filled=True, size=min(60, 3.5 * step), opacity=1).encode(
        x=x("mean"), shape=coded(alt.Shape, "verdict", kinds, shapes, legend=legend)
    )
    counts = dict(frame["verdict"].value_counts().iter_rows())
    told = ", ".join(f"{counts[kind]} {kind}" for kind in kinds if kind != "reference")
    what = comparison.title
    return overlaid(
        band,
        lines,
        points,
        width=WIDTH,
        height=alt.Step(step),
        title=headed(
            capitalised(title)
            if not comparison.measure
            else f"{comparison.mean_of.capitalize()} by system: {titled(comparison.measure)}",
            f"{what}, alpha {comparison.alpha:g}. {differ}",
        ),
        description=f"{title} of {len(names)} systems with simultaneous intervals, best first;"
        f" {what}, alpha {comparison.alpha:g}. Compared with {names[centre]}: {told}.",
    )


def _table(
    comparison: PairwiseComparison, names: list[str], centre: int, low: Floats, high: Floats
) -> pl.DataFrame:
    order = comparison.order
    verdict = verdicts_of(comparison)[:, centre]
    verdict[centre] = "reference"
    return pl.DataFrame(
        {
            "system": [names[k] for k in order],
            "mean": comparison.means[order],
            "low": low[order],
            "high": high[order],
            "verdict": verdict[order].tolist(),
        }
    )
