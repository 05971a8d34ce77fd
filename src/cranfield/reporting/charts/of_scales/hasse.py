"""The Hasse diagram of all runs of a length: which runs every measure orders alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.reporting.charts.layout import overlaid
from cranfield.reporting.charts.of_scales.layers import Layout, layered
from cranfield.reporting.charts.theme import COLOURS, coded, data_of
from cranfield.scales.orders.partial_order import covers, levels
from cranfield.scales.runs import all_runs, check_size, more_than

if TYPE_CHECKING:
    import altair as alt

MOST_DRAWN = 128
"""Runs up to which a diagram can be read."""

BESIDE, TALL, UP = 22, 22, 52
"""Pixels between neighbouring runs, height of a run, and from level to level."""

LETTER = 7.3
"""Width of a grade, in pixels."""

STEPS = {"swap": [1, 0], "replacement": [5, 3]}


def hasse_chart(length: int, grades: int = 1) -> alt.LayerChart:
    """Draw the partial order of all runs of a length by swap and replacement.

    A run is below another when a way upwards leads from it to the other; then every measure that
    rewards both steps has them in this order. Where no way leads, measures may disagree. Colours
    tell how much is retrieved: the sum of grades.

    Parameters
    ----------
    length
        Number of ranks of the runs.
    grades
        The highest grade.

    Raises
    ------
    PolicyError
        For more runs than can be read, 128.

    Notes
    -----
    Figure 1 of Ferrante, Ferro and Fuhr (2021) is that of length 4. The height of a run is the
    number of steps on the longest way up from the worst run. With more than two grades some edges
    skip levels, and bend around the runs there.

    Examples
    --------
    >>> chart = hasse_chart(2)
    >>> len(chart.to_dict()["layer"])
    3
    """
    import altair as alt

    nodes, ways, layout = diagram(length, grades)
    box = LETTER * max(map(len, nodes["run"])) + 14
    ends = [end for way in layout.ways for end in (way.min(), way.max())]
    left, right, top = min(ends) - 0.5, max(ends) + 0.5, int(nodes["level"].to_numpy().max())
    x = alt.X("across:Q", axis=None, scale=alt.Scale(domain=[left, right], nice=False))
    y = alt.Y("level:Q", axis=None, scale=alt.Scale(domain=[-0.5, top + 0.5], nice=False))
    kinds = [kind for kind in STEPS if (ways["step"] == kind).any()]
    lines = (
        alt.Chart(data_of(ways))
        .mark_line(color="#888888", strokeWidth=1.25)
        .encode(
            x=x,
            y=y,
            order="order:Q",
            detail="edge:N",
            strokeDash=coded(
                alt.StrokeDash,
                "step",
                kinds,
                [STEPS[kind] for kind in kinds],
                legend=alt.Legend(title="one step up", symbolSize=400),
            ),
        )
    )
    base = alt.Chart(data_of(nodes)).encode(x=x, y=y)
    totals = sorted(set(nodes["total"].to_list()))
    title = "relevant documents" if grades == 1 else "sum of grades"
    # The square root of the size is the width of the symbol, which is that of two units.
    half = TALL / box
    boxes = base.mark_point(
        shape=f"M-1,{-half:.3f}h2v{2 * half:.3f}h-2z",
        size=box**2,
        fill="white",
        opacity=1,
        strokeWidth=2.5,
    ).encode(
        stroke=coded(
            alt.Stroke,
            "total",
            totals,
            [COLOURS[k % len(COLOURS)] for k in range(len(totals))],
            kind="O",
            legend=alt.Legend(title=title, symbolType="square", symbolSize=160),
        ),
        tooltip=["run:N", "level:Q", "total:Q"],
    )
    words = base.mark_text(font="monospace", fontSize=12, baseline="middle").encode(text="run:N")
    return overlaid(
        lines,
        boxes,
        words,
        width=round((box + BESIDE) * (right - left)),
        height=UP * (top + 1),
        description=f"Hasse diagram of the {len(nodes)} runs of length {length} with grades 0 to"
        f" {grades}: a line joins two runs where one swap or one replacement of documents makes"
        " the lower into the upper one, and no run is between them.",
    )


def diagram(length: int, grades: int = 1) -> tuple[pl.DataFrame, pl.DataFrame, Layout]:
    """Lay out the Hasse diagram of all runs of a length: nodes, points of lines, places.

    The latter are those that lines go through, from the lower run, `order` 0, to the upper one.

    Examples
    --------
    >>> nodes, ways, _ = diagram(2)
    >>> nodes["run", "total", "level"].rows()
    [('00', 0, 0), ('01', 1, 1), ('10', 1, 2), ('11', 2, 3)]
    >>> ways.filter(order=0)["lower", "upper", "step"].rows()
    [('00', '01', 'replacement'), ('01', '10', 'swap'), ('10', '11', 'replacement')]
    """
    check_size(length, grades)
    if more_than(MOST_DRAWN, length, grades):
        raise PolicyError(
            f"there are {grades + 1}^{length} runs of length {length}; a diagram of more than"
            f" {MOST_DRAWN} cannot be read"
        )
    runs, height, edges = all_runs(length, grades), levels(length, grades), covers(length, grades)
    layout = layered(height, edges)
    between = "" if grades < 10 else ","
    names = [between.join(map(str, run)) for run in runs.tolist()]
    nodes = pl.DataFrame(
        {"run": names, "total": runs.sum(axis=1), "level": height, "across": layout.across}
    )
    points = [
        {
            "edge": number,
            "lower": names[low],
            "upper": names[high],
            # A step that is one of the two changes one grade, or makes two change places.
            "step": "swap" if (runs[low] != runs[high]).sum() == 2 else "replacement",
            "order": k,
            "across": float(across),
            "level": int(height[low]) + k,
        }
        for number, ((low, high), way) in enumerate(zip(edges.tolist(), layout.ways, strict=True))
        for k, across in enumerate(way)
    ]
    return nodes, pl.DataFrame(points), layout
