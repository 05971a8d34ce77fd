"""Charts of studies."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import altair as alt
import polars as pl

from cranfield.base.errors import PolicyError, check_choice, quoted
from cranfield.meta.of_collections.leave_one_out import LeaveOneOut
from cranfield.meta.of_collections.pooling import Pooling
from cranfield.meta.of_measures.discriminative import DiscriminativePower
from cranfield.meta.of_tests.splits import SplitStudy
from cranfield.meta.of_topics.sample_study import Stability, limits
from cranfield.reporting.charts.theme import (
    COLOURS,
    banded,
    by_colour,
    chart_of,
    coded,
    data_of,
    overlaid,
    themed,
    tips,
)

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
        base = chart_of(frame).encode(
            x=alt.X(
                "size:Q",
                title="topics in each set",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=list(study.sizes), format="d"),
            )
        )
        line = base.mark_line(point=True).encode(
            y=alt.Y("pairs:Q", title=f"pairs of {pairs:,}"),
            tooltip=["test:N", "size:Q", *tips("pairs", form=".1f")],
            **marks,
        )
        panels.append(
            banded(base, line, marks, width=WIDTH, height=HEIGHT, title=f"{name}: {title}")
        )
    return themed(alt.concat(*panels, columns=2))


ASL_WIDTH, ASL_HEIGHT = 460, 320

FEW = 40
"""Pairs that are drawn as points, too."""


def asl_chart(power: DiscriminativePower, *, largest: float = 0.15) -> alt.LayerChart:
    """Draw the p-values of each measure from the smallest: the lower the curve, the more power.

    Where a curve crosses the line of the significance level, the pairs to its left are those that
    the measure tells apart.

    Parameters
    ----------
    power
        What :func:`discriminative_power` found.
    largest
        The largest p-value that is shown, above 0 and up to 1. Few decisions are made high up.

    Raises
    ------
    PolicyError
        For a largest p-value that is none.

    Notes
    -----
    Figure 16 of Sakai (2013). Points that fall on the same half pixel across are left out, but for
    the first and the last of them, so that the curve looks as if all were there.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import discriminative_power
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = asl_chart(discriminative_power({"AP": scores}, resamples=100))
    >>> len(chart.to_dict()["layer"])
    4
    """
    if not isinstance(largest, Real) or not 0 < largest <= 1:
        raise PolicyError(f"the largest p is a number above 0 and up to 1, not {largest!r}")
    pairs = power.systems * (power.systems - 1) // 2
    curves = power.curves
    # The curve that stays low longest sets the width; each goes on to the first point above.
    low = pl.col("p") <= largest
    reach = int(curves.filter(low)["rank"].max() or 0)
    end = min(max(reach, 2), pairs)
    within = curves.filter(
        (pl.col("rank") <= low.sum().over("measure") + 1) & pl.col("rank").le(end)
    )
    names = power.summary["measure"].to_list()
    line = (
        chart_of(thinned(within, end))
        .mark_line(clip=True, point=pairs <= FEW, strokeWidth=1.75)
        .encode(
            x=alt.X(
                "rank:Q",
                title=f"pairs of systems by p, of {pairs:,}",
                scale=alt.Scale(domain=[0, end], nice=False),
                axis=alt.Axis(format=",d", tickMinStep=1),
            ),
            y=alt.Y(
                "p:Q",
                title="p-value (achieved significance level)",
                scale=alt.Scale(domain=[0, largest], nice=False),
            ),
            tooltip=["measure:N", "rank:Q", *tips("p")],
            **by_colour("measure", names),
        )
    )
    layers: list[alt.Chart] = [line]
    if power.alpha <= largest:
        level = data_of(pl.DataFrame({"p": [power.alpha], "text": [f"α = {power.alpha:g}"]}))
        rule = alt.Chart(level).mark_rule(color="#666666").encode(y="p:Q")
        text = alt.Chart(level).encode(y="p:Q", x=alt.value(0), text="text:N")
        place = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "fontSize": 12}
        # Curves may pass here: a white rim keeps the words apart from them.
        rim = text.mark_text(stroke="white", strokeWidth=4, **place)
        layers = [rule, line, rim, text.mark_text(color="#666666", **place)]
    return overlaid(*layers, width=ASL_WIDTH, height=ASL_HEIGHT)


def thinned(curves: pl.DataFrame, end: int, columns: int = 2 * ASL_WIDTH) -> pl.DataFrame:
    """Keep the first and the last point of a measure in each column of the chart, up to `end`."""
    rank = pl.col("rank")
    with_column = curves.with_columns((rank * columns // max(end, 1)).alias("column"))
    edge = (rank == rank.min()) | (rank == rank.max())
    return with_column.filter(edge.over("measure", "column")).drop("column")


SIDE = 260
"""Width and height of a panel: scores on both axes have one scale."""

SIZES = ("1 run", "2 runs", "3 or more")
"""How many runs of a team contributed."""


def leave_one_out_chart(found: LeaveOneOut, measure: str | None = None) -> alt.ConcatChart:
    """Draw each system's score and rank, with all judgments and without those of its team alone.

    What is on the line did not change. Points below it in the panel of scores lost; points below it
    in the panel of ranks, where rank 1 is on top, fell. Each kind of list has a row of panels.
    Colours tell how many runs of the team contributed; there is one colour where each run was left
    out alone, and systems without a score are not drawn.

    Parameters
    ----------
    found
        What :func:`leave_one_out` found.
    measure
        Text form of the measure; by default the first.

    Raises
    ------
    PolicyError
        When the study has no such measure.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> from cranfield.meta import leave_one_out
    >>> chart = leave_one_out_chart(leave_one_out(runs, {"q": {"x": 1, "y": 1, "z": 0}}, "AP"))
    >>> len(chart.to_dict()["concat"])
    4
    """
    measure = found.measures[0] if measure is None else measure
    if measure not in found.measures:
        names = ", ".join(found.measures)
        raise PolicyError(f"the study has no measure {quoted(measure)}: {names}")
    rows = _rows(found, measure)
    panels = []
    for kind in found.lists:
        part = rows.filter(pl.col("list") == kind)
        for what, title in (("score", f"{measure}, {kind} lists"), ("rank", "Ranks by it")):
            panels.append(_panel(part, what, title, found.unit))
    return themed(alt.concat(*panels, columns=2))


def _rows(found: LeaveOneOut, measure: str) -> pl.DataFrame:
    sizes = {0: "none", **dict(enumerate(SIZES, 1))}
    runs = pl.col("contributing").clip(0, len(SIZES)).replace_strict(sizes)
    return (
        found.systems.filter((pl.col("measure") == measure) & pl.col("before").is_not_null())
        .join(
            found.teams.select("team", runs.alias("runs of the team")),
            on="team",
            maintain_order="left",
        )
        .rename({"before": "score before", "after": "score after"})
        .select(
            *("list", "system", "team", "runs of the team"),
            *("score before", "score after", "rank before", "rank after"),
        )
    )


def _panel(rows: pl.DataFrame, what: str, title: str, unit: str) -> Any:
    before, after = f"{what} before", f"{what} after"
    least, most = _ends(rows, what)
    scale = alt.Scale(domain=[least, most], nice=False, zero=False)
    # Rank 1 is on top, as in a list.
    upright = scale if what == "score" else alt.Scale(domain=[most, least], nice=False, zero=False)
    line = (
        chart_of({"x": [least, most], "y": [least, most]})
        .mark_line(color="#999999", strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=upright))
    )
    sizes = [size for size in ("none", *SIZES) if size in rows["runs of the team"].to_list()]
    colour = (
        alt.value(COLOURS[0])
        if unit == "run"
        else coded(
            alt.Color,
            "runs of the team",
            sizes,
            COLOURS[: len(sizes)],
            legend=alt.Legend(title="runs of the team", symbolOpacity=1),
        )
    )
    points = (
        chart_of(rows)
        .mark_circle(size=50, opacity=0.75)
        .encode(
            x=alt.X(f"{before}:Q", title=f"{what} with all judgments", scale=scale),
            y=alt.Y(f"{after}:Q", title=f"without those of the {unit} alone", scale=upright),
            color=colour,
            tooltip=["system:N", "team:N", f"{before}:Q", f"{after}:Q"],
        )
    )
    return (line + points).properties(width=SIDE, height=SIDE, title=title)


def _ends(rows: pl.DataFrame, what: str) -> tuple[float, float]:
    values = pl.concat([rows[f"{what} before"], rows[f"{what} after"]]).drop_nulls()
    if what == "rank" or values.is_empty():
        return 0, len(rows) + 1
    low, high = (float(one) for one in (values.min(), values.max()))  # type: ignore[arg-type]
    low = min(low, 0.0)
    return low, high + 0.05 * (high - low or 1.0)


POOLING_WIDTH, POOLING_HEIGHT = 300, 240

AGAINST = {
    "tau": "Kendall's tau",
    "tau ap": "tau AP",
    "rmse": "RMSE of overall scores",
    "found again": "significant pairs found again",
    "drop %": "mean drop without own documents, %",
}
"""What can stand against the number of judgments, and the title of its axis."""


def pooling_chart(found: Pooling, what: str = "tau") -> alt.ConcatChart:
    """Draw relevant documents found, and how systems are ordered, against judged documents.

    The first panel has the share of all relevant documents, the others, one a measure and kind of
    list, what the scores say beside those by all judgments. A rule is what the whole pool gives.
    Bands are a standard deviation of repeats to both sides.

    Parameters
    ----------
    found
        What :func:`cranfield.meta.pooling` found.
    what
        `tau` (default), `tau ap`, `rmse`, `found again`, or `drop %` of a team left out.

    Raises
    ------
    PolicyError
        For anything else.

    Examples
    --------
    >>> from cranfield.meta import pooling
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> made = pooling(runs, {"q": {"x": 1, "y": 1, "z": 0}}, "AP", methods="depth", budgets=[1, 2])
    >>> len(pooling_chart(made).to_dict()["concat"])
    2
    """
    check_choice("what", what, AGAINST)
    marks = by_colour("method", found.methods)
    panels = [_pooling_panel(found.found, "of pool", "relevant documents of the pool found", marks)]
    panels[0] = panels[0].properties(title="Relevant documents")
    judged = found.found["method", "budget", "judged"]
    for (measure, kind), rows in found.rankings.group_by("measure", "list", maintain_order=True):
        title = measure if found.lists == ("raw",) else f"{measure}, {kind} lists"
        joined = rows.join(judged, on=["method", "budget"], nulls_equal=True, maintain_order="left")
        panels.append(_pooling_panel(joined, what, AGAINST[what], marks).properties(title=title))
    return themed(alt.concat(*panels, columns=2 if len(panels) == 2 else 3))


def _pooling_panel(rows: pl.DataFrame, what: str, title: str, marks: dict[str, Any]) -> Any:
    sd = {"of pool": "relevant sd"}.get(what, f"{what} sd")
    spread = pl.col(sd).fill_null(0.0) if sd in rows.columns else pl.lit(0.0)
    if what == "of pool":
        spread = spread / pl.col("relevant").last()
    frame = rows.select(
        "method",
        "budget",
        "judged",
        pl.col(what).alias("value"),
        (pl.col(what) - spread).alias("low"),
        (pl.col(what) + spread).alias("high"),
    )
    whole, budgets = frame.tail(1), frame.head(-1)
    base = chart_of(budgets).encode(
        x=alt.X(
            "judged:Q",
            title="judged documents",
            axis=alt.Axis(format="~s", tickCount=5),
            scale=alt.Scale(domainMin=0),
        )
    )
    line = base.mark_line(point=True).encode(
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=what == "of pool")),
        tooltip=["method:N", "budget:Q", "judged:Q", *tips("value", form=".3~f")],
        **marks,
    )
    end = (
        chart_of(whole)
        .mark_rule(color="#999999", strokeDash=[2, 2])
        .encode(y=alt.Y("value:Q"), tooltip=[alt.Tooltip("value:Q", title="whole pool")])
    )
    return banded(base, line, marks, width=POOLING_WIDTH, height=POOLING_HEIGHT) + end


STABILITY_WIDTH, STABILITY_HEIGHT = 240, 200


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
    given = [studies] if isinstance(studies, Stability) else list(studies)
    names = _names(given)
    frame = pl.concat(_stability_rows(one, name) for one, name in zip(given, names, strict=True))
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
        base = chart_of(frame.filter(pl.col("what") == what)).encode(
            x=alt.X("topics:Q", title="topics in a sample", scale=alt.Scale(domainMin=0)),
        )
        scale = alt.Scale(domainMax=most, clamp=True)
        line = base.mark_line(point=True).encode(
            y=alt.Y("mean:Q", title=unit, scale=scale),
            tooltip=["measure:N", "topics:Q", *tips("mean", form=".3~f")],
            **marks,
        )
        panels.append(
            banded(base, line, marks, width=STABILITY_WIDTH, height=STABILITY_HEIGHT, title=title)
        )
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


def _stability_rows(study: Stability, name: str) -> pl.DataFrame:
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
