"""Where users click, and how well models foresee it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.checks import check_share, check_whole
from cranfield.base.errors import CranfieldError
from cranfield.base.escape import plain
from cranfield.base.shares import wilson
from cranfield.base.words import counted
from cranfield.online.click_models.evaluation import ModelEvaluation
from cranfield.online.log.query_log import QueryLog
from cranfield.reporting.charts.choosing import labels
from cranfield.reporting.charts.layout import headed, overlaid
from cranfield.reporting.charts.theme import by_colour, data_of

if TYPE_CHECKING:
    import altair as alt

NO_VARIANT = "(no variant)"
"""How pages are called that no variant had."""

SIZE = {"width": 480, "height": 280}


def clicks_by_rank_chart(
    log: QueryLog, *, depth: int = 10, confidence: float = 0.95
) -> alt.LayerChart:
    """Draw the share of shown results that are clicked, by rank, and by variant if there is one.

    Several clicks on a result are one. The bands are Wilson's limits of a share of independent
    pages; where users come again, they are somewhat too narrow.

    Parameters
    ----------
    log
        Pages with their results and clicks.
    depth
        Ranks.
    confidence
        Of the limits, each by itself.

    Raises
    ------
    InputError
        For a log that does not tell what was shown.

    Examples
    --------
    >>> import cranfield as cf
    >>> chart = clicks_by_rank_chart(cf.online.simulated_log(), depth=2)
    >>> [rows] = chart.to_dict()["datasets"].values()
    >>> [(row["variant"], row["rank"], row["shown"], row["clicked"]) for row in rows][:1]
    [('(no variant)', 1, 708, 317)]
    """
    check_whole("depth", depth, 1, 1000)
    check_share("confidence", confidence)
    log.require("results", purpose="a chart of clicks by rank")
    shown = log.shown.filter(pl.col("rank") <= depth)
    if "variant" in log.pages.columns:
        variant = log.pages["variant"].gather(shown["page"])
    else:
        variant = pl.Series(["all pages"]).new_from_index(0, shown.height)
    frame = (
        shown.select("rank", "clicks", variant=variant)
        .group_by("variant", "rank")
        .agg(shown=pl.len(), clicked=(pl.col("clicks") > 0).sum())
        .sort("variant", "rank")
    )
    if frame.is_empty():
        raise CranfieldError("no results were shown")
    size = frame["shown"].to_numpy().astype(np.float64)
    share = frame["clicked"].to_numpy() / size
    low, high = wilson(share, size, float(ndtri((1 + confidence) / 2)))
    names = frame["variant"].unique(maintain_order=True).to_list()
    without = NO_VARIANT if NO_VARIANT not in names else ""
    called = labels([without if name is None else name for name in names])
    frame = frame.with_columns(
        variant=pl.col("variant").replace_strict(names, called, return_dtype=pl.String),
        share=pl.Series(share),
        low=pl.Series(low),
        high=pl.Series(high),
    )
    pages, clicked = counted(log.pages.height, "page"), int(frame["clicked"].sum())
    return _by_rank(
        frame,
        "share",
        "clicked results / shown results",
        "variant",
        called,
        (
            "Clicks by rank",
            f"{pages}; bands: {100 * confidence:g}% Wilson limits, as if pages were independent.",
        ),
        f"Share of clicked results by rank, {pages}, {counted(clicked, 'clicked result')}, of"
        f" {counted(len(called), 'variant')}.",
        limits=True,
    )


def perplexity_chart(evaluation: ModelEvaluation, *, conditional: bool = False) -> alt.LayerChart:
    """Draw the perplexity of click models by rank: 1 is perfect, 2 is a coin.

    Parameters
    ----------
    evaluation
        What :func:`cranfield.online.evaluate_models` found.
    conditional
        Whether chances are those given the clicks above.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> models = cf.online.train_models(log, ["RCTR", "UBM"])
    >>> chart = perplexity_chart(cf.online.evaluate_models(models, log))
    >>> [rows] = chart.to_dict()["datasets"].values()
    >>> sorted({row["model"] for row in rows})
    ['RCTR', 'UBM']
    """
    kind = "conditional perplexity" if conditional else "perplexity"
    names = labels(evaluation.names)
    ranks = evaluation.pages.size
    frame = evaluation.by_rank().with_columns(
        model=pl.Series(np.repeat(np.array(names, dtype=object), ranks).tolist(), dtype=pl.String),
        value=pl.col(kind),
    )
    pages = counted(int(evaluation.pages[0]), "page")
    infinite = frame.filter(pl.col("value").is_infinite())["model"].unique(maintain_order=True)
    note = f" Not drawn where infinite: {plain(', '.join(infinite))}." if len(infinite) else ""
    return _by_rank(
        frame.select("model", "rank", "pages", "value"),
        "value",
        kind,
        "model",
        names,
        (f"{kind.capitalize()} by rank", f"{pages}; lower is better, 1 is perfect.{note}"),
        f"{kind.capitalize()} by rank of {counted(len(names), 'click model')} on {pages}:"
        f" {plain(', '.join(evaluation.names))}.",
    )


def _by_rank(
    frame: pl.DataFrame,
    value: str,
    title: str,
    group: str,
    names: list[str],
    heading: tuple[str, str],
    description: str,
    *,
    limits: bool = False,
) -> alt.LayerChart:
    """Draw a line a group over ranks."""
    import altair as alt

    marks = by_colour(group, names)
    deepest = int(frame["rank"].max())  # type: ignore[arg-type]
    axis = alt.Axis(
        tickMinStep=1, grid=False, values=[*range(1, deepest + 1)][:: 1 + deepest // 20]
    )
    told = [name for name in frame.columns if name not in {group, "rank"}]
    base = alt.Chart(data_of(frame)).encode(
        x=alt.X("rank:Q", axis=axis, scale=alt.Scale(nice=False, padding=12)),
        tooltip=[
            f"{group}:N",
            "rank:Q",
            *(alt.Tooltip(f"{name}:Q", format=",.4~f") for name in told),
        ],
    )
    y = alt.Y(f"{value}:Q", title=title, scale=alt.Scale(zero=limits))
    line = base.mark_line(point=True).encode(y=y, **marks)
    layers = [line]
    if limits:
        band = base.mark_area(opacity=0.15, aria=False)
        layers.insert(
            0, band.encode(y=alt.Y("low:Q", title=title), y2="high:Q", color=marks["color"])
        )
    return overlaid(*layers, **SIZE, title=headed(*heading), description=description)
