"""How hard topics are, and for whom: a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cranfield.base.arrays import best_first, to_order
from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import cells_of, labels, ordered, titled
from cranfield.reporting.charts.layout import cell_size, column_axis, headed, row_axis
from cranfield.reporting.charts.theme import data_of, themed
from cranfield.scores.averages import Averages

if TYPE_CHECKING:
    import altair as alt

SCHEME: Literal["viridis"] = "viridis"
"""Colours that grow lighter evenly, for all eyes."""

WIDEST = 1000
"""Width of all topics together, at most."""


def difficulty_map(scores: Any, *, systems: Sequence[str] | None = None) -> alt.Chart:
    """Draw the scores of all systems on all topics as a heat map.

    Systems are rows, the best mean first; topics are columns, the easiest first, by their mean over
    the systems shown. A cell without a score stays white.

    Parameters
    ----------
    scores
        Scores of one measure: whatever :func:`cranfield.compare` takes, except by shard.
    systems
        Systems that are shown; by default all.

    Raises
    ------
    PolicyError
        For a system that is not there.
    CranfieldError
        When there are no scores, or infinite ones.

    Examples
    --------
    >>> chart = difficulty_map({"bm25": [0.2, 0.4, 0.3], "dense": [0.4, 0.5, 0.6]}).to_dict()
    >>> chart["encoding"]["x"]["scale"]["domain"], chart["encoding"]["y"]["scale"]["domain"]
    (['2', '3', '1'], ['dense', 'bm25'])
    """
    import altair as alt

    shown = ordered(scores, systems)
    topics = labels(shown.topics)
    names = labels(shown.systems)
    by_topic = Averages(shown.values.T).mean()
    order = best_first(to_order(by_topic), shown.lower_is_better)
    height, size = cell_size(len(names))
    width, topic_size = cell_size(len(topics))
    roomy = len(topics) * width <= WIDEST
    low, high = min(0.0, float(np.nanmin(shown.values))), float(np.nanmax(shown.values))
    title = titled(shown.measure, lower_is_better=shown.lower_is_better)
    tall = height * len(names)
    chart: alt.Chart = (
        alt.Chart(data_of(cells_of(shown, ~np.isnan(shown.values), names, topics)))
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "topic:N",
                scale=alt.Scale(domain=[topics[k] for k in order]),
                # The topics' names thin out where there is no room for each.
                axis=column_axis(
                    "topic, easiest first",
                    topic_size,
                    domain=False,
                    orient="top",
                    labelOverlap=False if roomy else "greedy",
                ),
            ),
            y=alt.Y(
                "system:N", scale=alt.Scale(domain=names), axis=row_axis("system, best first", size)
            ),
            color=alt.Color(
                "score:Q",
                scale=alt.Scale(scheme=SCHEME, domain=[low, high if high > low else low + 1]),
                legend=alt.Legend(title=title, gradientLength=max(60, min(tall, 240))),
            ),
            tooltip=["system:N", "topic:N", alt.Tooltip("score:Q", format=".4f")],
        )
    )
    missing = int(np.isnan(shown.values).sum())
    of = f"{counted(len(names), 'system')}, {counted(len(topics), 'topic')}"
    easiest, hardest = (topics[order[k]] for k in (0, -1))
    return themed(
        chart.properties(
            width=alt.Step(width) if roomy else WIDEST,
            height=alt.Step(height),
            title=headed(
                f"{titled(shown.measure)} by system and topic: {of}",
                f"White: {missing:,} cells without a score." if missing else "",
            ),
            description=f"Heat map of {title}: {of}. The best system on average is {names[0]}; the"
            f" easiest topic is {easiest} with a mean of {by_topic[order[0]]:.4g}, the hardest is"
            f" {hardest}.",
        )
    )
