"""Two systems topic by topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import labels, table_of, titled
from cranfield.reporting.charts.layout import column_axis, headed, overlaid
from cranfield.reporting.charts.theme import COLOURS, coded, data_of
from cranfield.scores.labels import place_of
from cranfield.significance.pairs import Pairs

if TYPE_CHECKING:
    import altair as alt

HEIGHT = 280
SIDE = 380
"""Sides of the scatter plot."""

NARROW = 420
"""Width of the bars of few topics."""

WIDEST = 1000
"""Width of the bars of all topics together, at most."""

STEP = 14
"""Width of a bar with its topic below it."""

LOOKS = ((COLOURS[0], "triangle-up"), (COLOURS[4], "triangle-down"), ("#999999", "circle"))
"""Colour and shape of topics where the first is better, where the second is, and of equal ones."""


def difference_bars(scores: Any, first: str, second: str) -> alt.LayerChart:
    """Draw a bar for each topic: the score of one system minus that of another.

    Topics on which the first system is better come first.

    A dashed line marks the mean difference. Differences by rounding are zero, as in the tests.

    Parameters
    ----------
    scores
        Scores of one measure: whatever :func:`cranfield.compare` takes, except by shard.
    first, second
        Two systems. Topics for which one has no score are left out, and the chart says how many.

    Raises
    ------
    PolicyError
        For a system that is not there, or one and the same twice.
    CranfieldError
        When there are no scores, or no topics in common.

    Examples
    --------
    >>> scores = {"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.1, 0.3]}
    >>> chart = difference_bars(scores, "bm25", "dense").to_dict()
    >>> rows = max(chart["datasets"].values(), key=len)
    >>> [(row["topic"], round(row["difference"], 4)) for row in rows]
    [('2', 0.3), ('3', 0.0), ('1', -0.2)]
    """
    import altair as alt

    two = _two(scores, first, second)
    frame = two.frame.sort("difference", descending=not two.lower_is_better, maintain_order=True)
    topics = frame["topic"].to_list()
    y = alt.Y("difference:Q", title=f"difference in {two.title}")
    roomy = len(topics) * STEP <= WIDEST
    step = max(STEP, min(NARROW // len(topics), 3 * STEP))
    bars = (
        alt.Chart(data_of(frame))
        .mark_bar(aria=len(topics) <= WIDEST // STEP)
        .encode(
            x=alt.X(
                "topic:N",
                scale=alt.Scale(domain=topics, paddingInner=0.2 if roomy else 0),
                # The topics' names thin out where there is no room for each.
                axis=column_axis("topic", 10, labelOverlap=False if roomy else "greedy"),
            ),
            y=y,
            color=two.look(alt.Color, 0),
            tooltip=two.tooltip,
        )
    )
    mean = float(frame["difference"].mean())  # type: ignore[arg-type]
    rule = (
        alt.Chart(data_of(pl.DataFrame({"difference": [mean]})))
        .mark_rule(color="black", strokeDash=[5, 3])
        .encode(y=y, tooltip=[alt.Tooltip("difference:Q", title="mean difference", format=".4f")])
    )
    return overlaid(
        bars,
        rule,
        width=alt.Step(step) if roomy else WIDEST,
        height=HEIGHT,
        title=headed(
            f"Differences by topic: {two.title}",
            f"{two.short[0]} minus {two.short[1]}; dashed: mean difference, {mean:.4f}.",
            two.note,
        ),
        description=f"Bars of the difference in {two.title}, {two.names[0]} minus {two.names[1]},"
        f" for {counted(len(topics), 'topic')}, best for {two.names[0]} first;"
        f" mean {mean:.4f}. {'; '.join(two.kinds)}.",
    )


def difference_scatter(scores: Any, first: str, second: str) -> alt.LayerChart:
    """Draw a point a topic: the score of one system against that of another.

    On the diagonal both are equal; above it the first system has the higher score, also where lower
    is better.

    Parameters
    ----------
    scores
        Scores of one measure: whatever :func:`cranfield.compare` takes, except by shard.
    first, second
        The system of the vertical axis, and that of the horizontal one.

    Raises
    ------
    PolicyError, CranfieldError
        As for :func:`difference_bars`.

    Examples
    --------
    >>> scores = {"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.1, 0.3]}
    >>> chart = difference_scatter(scores, "bm25", "dense").to_dict()
    >>> [row["second"] for row in max(chart["datasets"].values(), key=len)]
    [0.4, 0.1, 0.3]
    """
    import altair as alt

    two = _two(scores, first, second)
    both = two.frame.select("first", "second").to_numpy()
    low, high = min(0.0, float(both.min())), float(both.max())
    # Scores from 0 to 1 are shown on the whole of it; others as far as they go.
    high = 1.0 if 0.5 < high <= 1 and low == 0 else high if high > low else low + 1
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("second:Q", scale=scale, title=f"{two.title}: {two.short[1]}")
    y = alt.Y("first:Q", scale=scale, title=f"{two.title}: {two.short[0]}")
    ends = pl.DataFrame({"second": [low, high], "first": [low, high]})
    diagonal = alt.Chart(data_of(ends)).mark_line(color="black", strokeWidth=1, aria=False)
    points = (
        alt.Chart(data_of(two.frame))
        .mark_point(filled=True, size=55, opacity=0.75)
        .encode(
            x=x,
            y=y,
            color=two.look(alt.Color, 0),
            shape=two.look(alt.Shape, 1),
            tooltip=two.tooltip,
        )
    )
    return overlaid(
        diagonal.encode(x=x, y=y),
        points,
        width=SIDE,
        height=SIDE,
        title=headed(f"Two systems by topic: {two.title}", two.note),
        description=f"Scatter plot of {two.title} of {counted(two.frame.height, 'topic')}:"
        f" {two.names[0]} against {two.names[1]}, with the diagonal. {'; '.join(two.kinds)}.",
    )


@dataclass(frozen=True, eq=False)
class _Two:
    """Two systems' scores by topic, and how they are shown."""

    frame: pl.DataFrame
    names: tuple[str, str]
    short: tuple[str, str]
    title: str
    kinds: list[str]
    note: str
    lower_is_better: bool

    def look(self, channel: Callable[..., Any], look: int) -> Any:
        """Return the channel that tells the kinds apart: by colour, look 0, or by shape."""
        import altair as alt

        legend = alt.Legend(title=None, orient="bottom", direction="vertical", labelLimit=SIDE)
        looks = [one[look] for one in LOOKS[: len(self.kinds)]]
        return coded(channel, "kind", self.kinds, looks, legend=legend)

    @property
    def tooltip(self) -> list[alt.Tooltip]:
        import altair as alt

        named = {"first": self.names[0], "second": self.names[1], "difference": "difference"}
        return [
            alt.Tooltip("topic:N"),
            *(alt.Tooltip(f"{key}:Q", title=name, format=".4f") for key, name in named.items()),
        ]


def _two(scores: Any, first: str, second: str) -> _Two:
    given = table_of(scores)
    one, other = place_of(first, given.systems), place_of(second, given.systems)
    if one == other:
        raise PolicyError(f"{quoted(first)} and {quoted(second)} are one system; name two")
    pairs = Pairs(given.values, np.array([one]), np.array([other]))
    difference = pairs.differences()[0]
    known = ~np.isnan(difference)
    if not known.any():
        raise CranfieldError(f"no topic has scores of both {quoted(first)} and {quoted(second)}")
    shown = labels(given.systems)
    names = shown[one], shown[other]
    sign = np.sign(-difference if given.lower_is_better else difference)[known]
    counts = [int((sign == value).sum()) for value in (1, -1, 0)]
    short = _short(names)
    kinds = [f"{name} better: {count}" for name, count in zip(short, counts[:2], strict=True)]
    if counts[2]:
        kinds.append(f"equal: {counts[2]}")
    topics = [topic for topic, some in zip(labels(given.topics), known, strict=True) if some]
    missing = int((~known).sum())
    frame = pl.DataFrame(
        {
            "topic": pl.Series(topics, dtype=pl.String),
            "first": given.values[known, one],
            "second": given.values[known, other],
            "difference": difference[known],
            "kind": [kinds[{1: 0, -1: 1, 0: 2}[int(value)]] for value in sign],
        }
    )
    return _Two(
        frame,
        names,
        short,
        titled(given.measure, lower_is_better=given.lower_is_better),
        kinds,
        f"Left out: {counted(missing, 'topic')} without a score of both." if missing else "",
        given.lower_is_better,
    )


def _short(names: tuple[str, str], limit: int = 36) -> tuple[str, str]:
    """Cut two names in the middle to fit into a line, so that they stay apart."""
    head = limit * 2 // 3
    cut = [
        name if len(name) <= limit else f"{name[:head]}…{name[head + 1 - limit :]}"
        for name in names
    ]
    return (cut[0], cut[1]) if cut[0] != cut[1] else (f"{cut[0]} (first)", f"{cut[1]} (second)")
