"""A chart of what samples of topics say, against the number of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.meta.of_topics.sample_study import Stability, limits
from cranfield.reporting.charts.theme import banded, by_colour, data_of, themed

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 240, 200


def stability_chart(studies: Stability | Sequence[Stability]) -> alt.ConcatChart:
    """Draw significant pairs, Kendall's tau and what is found again against the number of topics.

    Lines are means over samples, and bands hold the share of samples that the study calls its
    confidence.

    Parameters
    ----------
    studies
        What :func:`stability` found, by one measure or by several on the same systems and topics.

    Raises
    ------
    PolicyError
        For no study, two of the same name, or of different numbers of systems or topics.

    Notes
    -----
    With all topics tau is 1, and everything is found again: that is so by construction.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import stability
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = stability_chart(stability(scores, repeats=5))
    >>> len(chart.to_dict()["concat"])
    3
    """
    import altair as alt

    given = [studies] if isinstance(studies, Stability) else list(studies)
    names = _names(given)
    frame = pl.concat(_rows(one, name) for one, name in zip(given, names, strict=True))
    topics, pairs = given[0].topics, given[0].pairs
    titles = {
        "significant": ("Significant pairs", f"pairs of {pairs:,}"),
        "tau": (f"Agreement with the ranking by all {topics}", "Kendall's tau"),
        "found again": (f"Pairs found by all {topics} and found again", "share"),
    }
    marks = by_colour("measure", names)
    if len(names) == 1:
        marks = {channel: mark.legend(None) for channel, mark in marks.items()}
    panels = []
    for what, (title, unit) in titles.items():
        most = alt.Undefined if what == "significant" else 1
        base = alt.Chart(data_of(frame.filter(pl.col("what") == what))).encode(
            x=alt.X("topics:Q", title="topics in a sample", scale=alt.Scale(domainMin=0)),
        )
        scale = alt.Scale(domainMax=most, clamp=True)
        line = base.mark_line(point=True).encode(
            y=alt.Y("mean:Q", title=unit, scale=scale),
            tooltip=["measure:N", "topics:Q", alt.Tooltip("mean:Q", format=".3~f")],
            **marks,
        )
        panels.append(banded(base, line, marks, width=WIDTH, height=HEIGHT, title=title))
    return themed(alt.concat(*panels, columns=3))


def _names(studies: Sequence[Stability]) -> list[str]:
    if not studies:
        raise PolicyError("there is no study to draw")
    for what in ("topics", "pairs"):
        sizes = sorted({getattr(one, what) for one in studies})
        if len(sizes) > 1:
            raise PolicyError(f"studies of {sizes[0]:,} and {sizes[-1]:,} {what} have no one chart")
    names = [one.measure or "scores" for one in studies]
    if len(set(names)) < len(names):
        names = [f"{name}, {one.test}" for name, one in zip(names, studies, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise PolicyError(f"two studies are both of {name}")
    return names


def _rows(study: Stability, name: str) -> pl.DataFrame:
    """Return a row a number of topics and a number that is drawn, with its limits."""
    table = study.by_size
    if study.significant:
        # The table has the means only.
        parts = (study.samples.filter(topics=size)["found again"] for size in table["topics"])
        shares = [part.to_numpy()[:, None] / study.significant for part in parts]
        ends = [limits(share, study.confidence) for share in shares]
        table = table.with_columns(
            pl.Series("found again low", [float(low[0]) for low, _ in ends]),
            pl.Series("found again high", [float(high[0]) for _, high in ends]),
        )
    else:
        nothing = pl.lit(None, dtype=pl.Float64)
        table = table.with_columns(
            nothing.alias("found again low"), nothing.alias("found again high")
        )
    return pl.concat(
        table.select(
            pl.lit(name).alias("measure"),
            pl.lit(what).alias("what"),
            "topics",
            pl.col(what).cast(pl.Float64).alias("mean"),
            pl.col(f"{what} low").cast(pl.Float64).alias("low"),
            pl.col(f"{what} high").cast(pl.Float64).alias("high"),
        )
        for what in ("significant", "tau", "found again")
    )
