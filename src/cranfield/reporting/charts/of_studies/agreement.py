"""A chart of what tests find again on other topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.meta.of_tests.split_study import SplitStudy
from cranfield.reporting.charts.theme import banded, by_colour, data_of, themed

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 260, 200

PANELS = {
    "AA": "active agreements",
    "MA": "mixed agreements",
    "AD": "active disagreements",
    "MD": "mixed disagreements",
}


def agreement_chart(study: SplitStudy, *, group: str | None = None) -> alt.ConcatChart:
    """Draw agreements and disagreements on two sets of topics against the size of the sets.

    Lines are means over repeats; bands reach from the 5 to the 95 percent quantile.

    Parameters
    ----------
    study
        What :func:`split_topics` found.
    group
        Group of systems; by default the first.

    Raises
    ------
    PolicyError
        When the study has no such group.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import split_topics
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = agreement_chart(split_topics(scores, ["t"], sizes=[2], repeats=5))
    >>> len(chart.to_dict()["concat"])
    4
    """
    import altair as alt

    group = next(iter(study.groups)) if group is None else group
    if group not in study.groups:
        raise PolicyError(f"the study has no group {quoted(group)}: {', '.join(study.groups)}")
    of_one_test = pl.col("first") == pl.col("second")
    own = study.summary().filter(of_one_test, group=group, sets="1-2")
    systems = study.groups[group]
    pairs = systems * (systems - 1) // 2
    marks = by_colour("test", study.tests)
    panels = []
    for name, title in PANELS.items():
        frame = own.select(
            pl.col("first").alias("test"),
            "size",
            pl.col(name).alias("pairs"),
            pl.col(f"{name} low").alias("low"),
            pl.col(f"{name} high").alias("high"),
        )
        base = alt.Chart(data_of(frame)).encode(
            x=alt.X(
                "size:Q",
                title="topics in each set",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=list(study.sizes), format="d"),
            )
        )
        line = base.mark_line(point=True).encode(
            y=alt.Y("pairs:Q", title=f"pairs of {pairs:,}"),
            tooltip=["test:N", "size:Q", alt.Tooltip("pairs:Q", format=".1f")],
            **marks,
        )
        panels.append(
            banded(base, line, marks, width=WIDTH, height=HEIGHT, title=f"{name}: {title}")
        )
    return themed(alt.concat(*panels, columns=2))
