"""Charts of the residuals of an analysis of variance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.reporting.charts.theme import COLOURS, data_of, themed
from cranfield.significance.models.anova_table import AnovaTable

if TYPE_CHECKING:
    import altair as alt

SIDE = 300
"""Width and height of a panel, in pixels."""


def residual_plots(table: AnovaTable) -> alt.HConcatChart:
    """Draw residuals against fitted scores, and against the quantiles of a normal distribution.

    In the left panel a band of even width around zero speaks for equal variances. In the right one
    points on the line speak for normal errors.

    Parameters
    ----------
    table
        The table of an analysis of variance, such as `cf.compare(scores).anova`.

    Raises
    ------
    CranfieldError
        When there are fewer than two residuals.

    Examples
    --------
    >>> import cranfield as cf
    >>> found = cf.compare({"a": [0.1, 0.4, 0.3], "b": [0.2, 0.4, 0.6], "c": [0.3, 0.3, 0.5]})
    >>> chart = residual_plots(found.anova)
    >>> [panel["layer"][0]["mark"]["type"] for panel in chart.to_dict()["hconcat"]]
    ['point', 'point']
    """
    if not isinstance(table, AnovaTable):
        raise PolicyError(
            "residuals are those of an analysis of variance: cf.compare(scores, test='anova').anova"
        )
    import altair as alt

    known = ~np.isnan(table.residuals)
    residuals, fitted = table.residuals[known], table.fitted[known]
    number = residuals.size
    if number < 2:
        raise CranfieldError("a plot of residuals needs two of them at least")
    order = np.argsort(residuals, kind="stable")
    # Blom's approximation to the expected order statistics.
    normal = ndtri((np.arange(1, number + 1) - 0.375) / (number + 0.25))
    frame = pl.DataFrame({"fitted": fitted[order], "residual": residuals[order], "normal": normal})
    base = alt.Chart(data_of(frame)).properties(width=SIDE, height=SIDE)
    residual = alt.Y("residual:Q", title="residual")
    points = base.mark_point(filled=True, size=12, opacity=0.4, color=COLOURS[0], aria=False)
    zero = alt.Chart(data_of(pl.DataFrame({"residual": [0.0]}))).mark_rule(color="black")
    deviation = float(residuals.std())
    ends = normal[[0, -1]]
    line = alt.Chart(
        data_of(pl.DataFrame({"normal": ends, "residual": ends * deviation}))
    ).mark_line(color="black", strokeWidth=1)
    against_fitted = points.encode(x=alt.X("fitted:Q", title="fitted score"), y=residual)
    against_normal = points.encode(
        x=alt.X("normal:Q", title="quantile of a normal distribution"), y=residual
    )
    left = against_fitted + zero.encode(y="residual:Q")
    right = against_normal + line.encode(x="normal:Q", y="residual:Q")
    both = alt.hconcat(
        left.properties(title="Equal variances?"), right.properties(title="Normal errors?")
    )
    return themed(
        both.properties(
            description=f"Two scatter plots of {number:,} residuals of the model {table.model}:"
            " against the fitted scores, and against the quantiles of a normal distribution with a"
            f" line for normal errors of standard deviation {deviation:.4g}."
        )
    )
