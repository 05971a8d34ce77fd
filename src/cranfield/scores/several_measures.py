"""Scores of several measures by name: tables of all of them, one set of topics and systems."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from cranfield.scores.one_measure import Scores


def by_system(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return the overall values of several measures: a row a system, and a column a measure.

    Examples
    --------
    >>> one = Scores([[0.5, 1.0], [0.0, 0.5]], ("q1", "q2"), ("a", "b"))
    >>> by_system({"AP": one}).rows()
    [('a', 0.25), ('b', 0.75)]
    """
    systems = next(iter(scores.values())).systems
    columns = {name: pl.Series(one.overall()).fill_nan(None) for name, one in scores.items()}
    return pl.DataFrame({"system": pl.Series(systems, dtype=pl.String), **columns})


def by_topic(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return all scores in a long table: measure, topic, system, score; no score is null.

    Examples
    --------
    >>> one = Scores([[0.5, 1.0]], ("q",), ("a", "b"))
    >>> by_topic({"AP": one}).rows()
    [('AP', 'q', 'a', 0.5), ('AP', 'q', 'b', 1.0)]
    """
    schema = {"measure": pl.String, "topic": pl.String, "system": pl.String, "score": pl.Float64}
    parts = [
        pl.DataFrame(
            {
                "measure": [name] * one.values.size,
                "topic": np.tile(np.array(one.topics, dtype=object), len(one.systems)),
                "system": np.repeat(np.array(one.systems, dtype=object), len(one.topics)),
                "score": one.values.T.ravel(),
            },
            schema=schema,
        )
        for name, one in scores.items()
    ]
    return pl.concat(parts).with_columns(pl.col("score").fill_nan(None))
