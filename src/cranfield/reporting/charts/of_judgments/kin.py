"""Do judges favour their own family?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cranfield.assess.judges.kin import KinBias
from cranfield.base.arrays import best_first
from cranfield.base.checks import check_choice
from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import labels
from cranfield.reporting.charts.layout import headed, overlaid, row_size, rows_of, score_axis
from cranfield.reporting.charts.theme import COLOURS, coded, data_of

if TYPE_CHECKING:
    import altair as alt

WIDTH = 520

LOOKS = {
    "favours its kin": (COLOURS[1], "triangle-right"),
    "no clear bias": (COLOURS[0], "circle"),
    "disfavours its kin": (COLOURS[2], "triangle-left"),
}
"""Colour and shape of a judge by where the interval is that holds for all judges together."""


def kin_bias_chart(found: KinBias, measure: str | None = None) -> alt.LayerChart:
    """Draw how much each judge favours the systems of its own family.

    Thick lines are intervals of each judge alone, thin ones hold for all judges together; those
    decide the colour. The judge that favours its kin the most comes first; one without kin is not
    drawn.

    Parameters
    ----------
    found
        What :func:`cranfield.assess.kin_bias` found.
    measure
        Text form of the measure; by default the first.

    Raises
    ------
    PolicyError
        When there is no such measure.

    Examples
    --------
    >>> from cranfield.assess import kin_bias
    >>> people = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
    >>> machine = {"q1": {"x": 0, "y": 1}, "q2": {"x": 1, "y": 1}, "q3": {"x": 0, "y": 1}}
    >>> runs = {name: {t: {name: 1} for t in people} for name in ("x", "y")}
    >>> chart = kin_bias_chart(kin_bias(runs, people, {"llm": machine}, {"llm": "y"}, "P@1"))
    >>> chart.to_dict()["layer"][1]["encoding"]["y"]["scale"]["domain"]
    ['llm']
    """
    import altair as alt

    measure = found.measures[0] if measure is None else measure
    check_choice("measure", measure, found.measures)
    m = found.measures.index(measure)
    names = labels(found.judges)
    bias = found.bias[m]
    order = [k for k in best_first(bias).tolist() if not np.isnan(bias[k])]
    favours, alone, against = LOOKS
    verdicts = np.where(found.low_together[m] > 0, favours, alone)
    verdicts = np.where(found.high_together[m] < 0, against, verdicts)
    columns = {
        "bias": found.bias,
        "low": found.low,
        "high": found.high,
        "low together": found.low_together,
        "high together": found.high_together,
    }
    frame = pl.DataFrame(
        {
            "judge": [names[k] for k in order],
            **{name: values[m, order] for name, values in columns.items()},
            "verdict": verdicts[order].tolist(),
        }
    )
    step, _ = row_size(len(order))
    kinds = [kind for kind in LOOKS if kind in set(frame["verdict"])]
    colours, shapes = zip(*(LOOKS[kind] for kind in kinds), strict=True)
    legend = alt.Legend(title=None, orient="top", columns=3)
    title = f"kin bias: shift of kin minus shift of others, {measure}"
    base = alt.Chart(data_of(frame)).encode(
        y=rows_of(frame["judge"].to_list(), "judge", "judge"),
        color=coded(alt.Color, "verdict", kinds, colours, legend=legend),
        tooltip=[
            "judge:N",
            *(alt.Tooltip(f"{name}:Q", format=".4f") for name in columns),
            "verdict:N",
        ],
    )

    zero = alt.Chart(data_of(pl.DataFrame({"zero": [0.0]}))).mark_rule(color="#999999", aria=False)
    together = base.mark_rule(strokeWidth=1, aria=False).encode(
        x=score_axis("low together", title, len(order)), x2="high together:Q"
    )
    own = base.mark_rule(strokeWidth=3, aria=False).encode(
        x=score_axis("low", title, len(order)), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=min(90, 4 * step), opacity=1).encode(
        x=score_axis("bias", title, len(order)),
        shape=coded(alt.Shape, "verdict", kinds, shapes, legend=legend),
    )
    counts = dict(frame["verdict"].value_counts().iter_rows())
    told = ", ".join(f"{counts[kind]} {kind}" for kind in kinds)
    level = f"{100 * found.confidence:g}%"
    return overlaid(
        zero.encode(x="zero:Q"),
        together,
        own,
        points,
        width=WIDTH,
        height=alt.Step(step),
        title=headed(
            f"Do judges favour their own family? {measure}",
            f"{level} t intervals over topics; thin: for {counted(len(order), 'judge')} together"
            " (Bonferroni).",
        ),
        description=f"Kin bias of {counted(len(order), 'judge')} by {measure}, with intervals over"
        f" topics: {told}.",
    )
