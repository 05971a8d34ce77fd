"""Charts of the study of scales."""

from __future__ import annotations

import altair as alt
import polars as pl

from cranfield.base.errors import PolicyError, check_choice
from cranfield.base.text import counted
from cranfield.meta.of_scales import ScaleStudy
from cranfield.reporting.charts.theme import (
    COLOURS,
    GREY,
    apart,
    by_colour,
    by_look,
    chart_of,
    overlaid,
    tips,
)

WIDTH, HEIGHT, ROW, LINE = 420, 300, 15, 15

KINDS = {
    "overall": "Kendall's tau of the means of systems",
    "by topic": "Kendall's tau, mean over topics",
    "lowest": "Kendall's tau, lowest topic",
}
"""Columns of :attr:`ScaleStudy.correlation`, and what they are."""

ENDS = {"original": "original", "interval": "interval-scaled"}


def scale_tau_chart(study: ScaleStudy, *, kind: str = "overall") -> alt.LayerChart:
    """Draw Kendall's tau between each measure and its interval-scaled version, by length of runs.

    Where it is 1, both order the systems alike.

    Parameters
    ----------
    study
        What :func:`cranfield.meta.study_scales` found.
    kind
        `overall`, of the means of systems; `by topic`, the mean over topics; or `lowest`, the topic
        with the lowest.

    Raises
    ------
    PolicyError
        For another kind.

    Notes
    -----
    Tables 2 and 3 of Ferrante, Ferro and Fuhr (2021). Lines are named where they end.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import study_scales
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:5], covid.qrels).binary()
    >>> study = study_scales(judged, ["P", "RR"], cutoffs=[5, 10], tests=())
    >>> scale_tau_chart(study).to_dict()["layer"][0]["encoding"]["x"]["title"]
    'length of runs'
    """
    check_choice("kind", kind, KINDS)
    frame = study.correlation.select("cutoff", "measure", pl.col(kind).alias("tau"))
    frame = frame.sort("cutoff", maintain_order=True)
    low, high = _domain(frame["tau"])
    ends = (frame.drop_nulls().filter(pl.col("tau").is_not_nan()).group_by("measure").last()).sort(
        "tau", "measure"
    )
    sizes = [LINE] * ends.height
    unit = (high - low) / HEIGHT
    places = apart((ends["tau"] - low) / unit, sizes, low=0.0, high=float(HEIGHT)) * unit + low
    labels = ends.with_columns(pl.Series("place", places))
    marks = {name: mark.legend(None) for name, mark in by_colour("measure", study.measures).items()}
    first, last = min(study.cutoffs), max(study.cutoffs)
    length = (
        alt.X("cutoff:Q")
        .title("length of runs")
        .scale(domain=[first - 0.5, last + 0.5], nice=False)
    )
    scale = alt.Scale(domain=[low, high], nice=False)
    tau = alt.Y("tau:Q", scale=scale)
    lines = chart_of(frame).mark_line(strokeWidth=2, point=True)
    lines = lines.encode(
        x=length.axis(values=sorted(study.cutoffs), format="d"),
        y=tau.title(KINDS[kind]),
        tooltip=tips("measure:N", "cutoff:Q", "tau"),
        **marks,
    )
    # Lines that run on top of each other end in the same point, and have a name each.
    named = chart_of(labels)
    leaders = named.mark_rule(strokeWidth=1.5).encode(
        x=alt.value(WIDTH + 4), x2=alt.value(WIDTH + 34), y=tau, y2="place:Q", **marks
    )
    names = named.mark_text(align="left", baseline="middle", fontSize=12).encode(
        x=alt.value(WIDTH + 38), y=alt.Y("place:Q", scale=scale), text="measure:N"
    )
    return overlaid(
        lines,
        leaders,
        names,
        width=WIDTH,
        height=HEIGHT,
        description=f"{KINDS[kind]} between each of {counted(len(study.measures), 'measure')}"
        f" and its interval-scaled version, by length of runs, for {study.systems} systems.",
    )


def _domain(values: pl.Series) -> tuple[float, float]:
    """Return the ends of an axis of correlations, which is never a single point."""
    known = values.drop_nulls().drop_nans().to_list()
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    low, high = min(low, high - 0.05), min(high, 1.0)
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def scale_pairs_chart(study: ScaleStudy, *, cutoff: int | None = None) -> alt.LayerChart:
    """Draw Kendall's tau between two measures, before and after both are interval-scaled.

    A pair of measures has a row, those that come closest to each other first.

    Parameters
    ----------
    study
        What :func:`cranfield.meta.study_scales` found.
    cutoff
        Length of runs; by default the longest.

    Raises
    ------
    PolicyError
        When the study has no such length, or only one measure.

    Notes
    -----
    Table 4 of Ferrante, Ferro and Fuhr (2021).

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import study_scales
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:5], covid.qrels).binary()
    >>> study = study_scales(judged, ["P", "RR", "AP"], cutoffs=[5], tests=())
    >>> scale_pairs_chart(study).to_dict()["layer"][0]["encoding"]["y"]["title"]
    'two measures'
    """
    chosen = max(study.cutoffs) if cutoff is None else cutoff
    if chosen not in study.cutoffs:
        lengths = ", ".join(map(str, study.cutoffs))
        raise PolicyError(f"the study has no length {chosen!r}: {lengths}")
    if study.pairs.is_empty():
        raise PolicyError("pairs of measures take two measures; the study has one")
    frame = (
        study.pairs.filter(cutoff=chosen)
        .with_columns(
            pl.format("{} and {}", "first", "second").alias("pair"),
            (pl.col("interval") - pl.col("original")).alias("change"),
        )
        .sort("change", descending=True, nulls_last=True, maintain_order=True)
    )
    pairs = frame["pair"].to_list()
    y = alt.Y("pair:N").title("two measures").scale(domain=pairs)
    y = y.axis(
        labelLimit=520, maxExtent=540, labelFontSize=11, ticks=False, grid=False, domain=False
    )
    tau = f"Kendall's tau of the means of systems, runs of length {chosen}"
    x = alt.X("original:Q").title(tau).scale(zero=False)
    bars = chart_of(frame).mark_rule(color=GREY, strokeWidth=2)
    ends = frame.unpivot(list(ENDS), index=["pair", "change"], variable_name="of", value_name="tau")
    words = ends.with_columns(pl.col("of").replace_strict(ENDS))
    looks = dict(zip(ENDS.values(), zip(COLOURS, ("circle", "diamond"), strict=False), strict=True))
    marks = by_look("of", looks, title="both")
    dots = chart_of(words).mark_point(filled=True, size=60, opacity=1)
    return overlaid(
        bars.encode(y=y, x=x, x2="interval:Q"),
        dots.encode(y=y, x="tau:Q", tooltip=tips("pair:N", "of:N", "tau"), **marks),
        width=WIDTH,
        height=ROW * len(pairs),
        description=f"Kendall's tau between two measures on runs of length {chosen}, of the"
        " measures as they are and of their interval-scaled versions.",
    )
