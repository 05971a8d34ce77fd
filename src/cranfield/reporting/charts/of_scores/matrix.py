"""Which systems differ significantly from which, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import labels, titled
from cranfield.reporting.charts.layout import cell_size, column_axis, headed, overlaid, row_axis
from cranfield.reporting.charts.theme import COLOURS, coded, data_of
from cranfield.reporting.verdicts import BETTER, DIFFERENT, NONE, SAME, WORSE, by_pair
from cranfield.significance.comparison.result import PairwiseComparison

if TYPE_CHECKING:
    import altair as alt

FILLS = {
    BETTER: COLOURS[0],
    WORSE: COLOURS[4],
    SAME: "#EEEEEE",
    DIFFERENT: COLOURS[3],
}
"""Colours of cells: dark blue and light orange differ in a grey print too."""

DIGITS = 6
"""Of differences and p-values in a tooltip, and so in the file."""

APART = 2
WORDS = {1: BETTER, -1: WORSE, 0: SAME, APART: DIFFERENT}
"""What stands for words in a file: of the first system of a pair; the second has the negative."""

SIGNS_UP_TO = 40
"""Systems up to which a cell has room for a sign."""


def significance_matrix(comparison: PairwiseComparison) -> alt.LayerChart:
    """Draw which systems are significantly better or worse than which others.

    A cell tells of the system of its row, compared with that of its column: better (blue, +), worse
    (orange, −), or not significantly different (grey). Systems are in order of their means, the
    best first and at the top left. A tooltip has the difference and the p-value.

    Better and worse go by the means that were compared. A cell stays empty where two systems were
    not compared; with baselines these are the only columns.

    Parameters
    ----------
    comparison
        What :func:`cranfield.compare` found.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": [0.1, 0.2, 0.4], "b": [0.3, 0.4, 0.5], "c": [0.6, 0.7, 0.9]}
    >>> chart = significance_matrix(cf.compare(scores, correction="tukey"))
    >>> data = chart.to_dict()["datasets"].values()
    >>> [(row["i"], row["j"], row["v"]) for rows in data for row in rows if "v" in row]
    [(2, 1, -1), (2, 0, -1), (1, 0, -1)]
    """
    import altair as alt

    names = labels(comparison.systems)
    order = comparison.order
    cells = _cells(comparison)
    if comparison.baselines:
        rows = [names[k] for k in order if comparison.systems[k] not in comparison.baselines]
        columns = [names[k] for k in order if comparison.systems[k] in comparison.baselines]
    else:
        rows = columns = [names[k] for k in order]
    step, size = cell_size(max(len(rows), len(columns)))
    # Names stand in a table of their own: in each cell they would be most of the file.
    named = alt.LookupData(
        data_of(pl.DataFrame({"place": range(len(order)), "name": [names[k] for k in order]})),
        "place",
        ["name"],
    )
    both = not comparison.baselines and comparison.alternative == "two-sided"
    codes = {*cells["v"], *(-cells["v"] if both else [])}
    kinds = [kind for code, kind in WORDS.items() if code in codes]
    title = "The system of the row is"
    below = alt.Legend(
        title=title, orient="bottom", columns=4, symbolType="square", labelLimit=300, titleLimit=300
    )
    fill = coded(alt.Color, "verdict", kinds, [FILLS[kind] for kind in kinds], legend=below)

    def side(row: str, column: str, sign: str) -> list[alt.Chart]:
        """Draw the pairs from the side of one of their systems."""
        known = {str(code): word for code, word in WORDS.items() if code != APART}
        base = (
            alt.Chart(data_of(cells))
            .transform_lookup(row, named, ["row"])
            .transform_lookup(column, named, ["column"])
            # Of words and numbers of the chart's own; names never get into an expression.
            .transform_calculate(
                verdict=f"{known}[{sign}datum.v] || '{DIFFERENT}'",
                sign=f"{{'1': '+', '-1': '−'}}[{sign}datum.v] || ''",
                difference=f"{sign}datum.d",
            )
            .encode(
                y=alt.Y("row:N", scale=alt.Scale(domain=rows), axis=row_axis("system", size)),
                x=alt.X(
                    "column:N",
                    scale=alt.Scale(domain=columns),
                    axis=column_axis("compared with", size, domain=False, orient="top"),
                ),
            )
        )
        squares = base.mark_rect(stroke="white", strokeWidth=0.5, aria=False).encode(
            color=fill,
            tooltip=[
                alt.Tooltip("row:N", title="system"),
                alt.Tooltip("column:N", title="compared with"),
                alt.Tooltip("verdict:N", title="the system is"),
                alt.Tooltip("difference:Q", title=comparison.difference_name),
                alt.Tooltip("p:Q", title="p-value"),
            ],
        )
        if len(order) > SIGNS_UP_TO:
            return [squares]
        sign_on = alt.when(alt.datum.sign == "+").then(alt.value("white"))
        signs = base.mark_text(size=size, fontWeight="bold", aria=False).encode(
            text="sign:N", color=sign_on.otherwise(alt.value("black"))
        )
        return [squares, signs]

    layers = side("i", "j", "")
    if both:
        layers += side("j", "i", "-")
    what = f"{comparison.title}, alpha {comparison.alpha:g}"
    count = comparison.count()
    said = f"{count:,} of {counted(len(comparison), 'pair')} differ{'s' * (count == 1)}"
    return overlaid(
        *layers,
        width=alt.Step(step),
        height=alt.Step(step),
        title=headed(f"{titled(comparison.measure)}: {said}", f"{what}."),
        description=f"Matrix of {len(rows)} systems compared with {len(columns)} by"
        f" {titled(comparison.measure)}, in order of their means. {what}: {said} significantly."
        f" The best is {names[order[0]]}.",
    )


def _cells(comparison: PairwiseComparison) -> pl.DataFrame:
    """Return a row a pair: places `i`, `j` of its systems, verdict `v`, difference `d`, `p`."""
    place = np.empty(len(comparison.order), dtype=np.int64)
    place[comparison.order] = np.arange(len(comparison.order))
    code = {word: code for code, word in WORDS.items()}
    words = by_pair(comparison)
    known = words != NONE
    return pl.DataFrame(
        {
            "i": place[comparison.first[known]],
            "j": place[comparison.second[known]],
            "v": np.array([code[word] for word in words[known]], dtype=np.int64),
            "d": comparison.difference[known],
            "p": comparison.adjusted_pvalues[known],
        }
    ).with_columns(pl.col("d", "p").round_sig_figs(DIGITS))
