"""Clicks of sessions, put in the cells of judged sessions with what is known of the documents."""

from __future__ import annotations

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.document_tables import DocumentTable
from cranfield.collection.judged.clicks import Clicks
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.qrels import Qrels
from cranfield.sessions.log import LISTS, SessionLog, first_of_each


def clicks_of(
    sessions: SessionLog, qrels: Qrels, judged: JudgedRuns, lengths: DocumentTable | None
) -> Clicks:
    """Return the clicks by system and judged session, in order of time; `qrels` are by session."""
    text = pl.col("snippet").str.len_chars().cast(pl.Float64)
    # A snippet that is not given makes the text down to all lower ranks unknown.
    known = text.fill_null(float("nan")).cum_sum().over(LISTS).alias("text")
    results = sessions.results.with_columns(known)
    clicks = sessions.clicks.join(results, on=[*LISTS, "rank"], how="left", maintain_order="left")
    place = {name: i for i, name in enumerate(judged.topics)}
    topic_of = np.array([place.get(name, -1) for name in sessions.names], dtype=np.int64)
    clicks = clicks.with_columns(
        topic=pl.Series(topic_of[clicks["session"].to_numpy()]),
        again=~first_of_each(clicks, "system", "session", "doc"),
    ).filter(pl.col("topic") >= 0)
    cell = clicks["system"].to_numpy() * judged.shape[0] + clicks["topic"].to_numpy()
    order = np.argsort(cell, kind="stable")
    clicks = clicks[order]
    length: Floats = np.full(clicks.height, np.nan)
    if lengths is not None:
        asked, rows = lengths.found(clicks["doc"])
        length[asked] = lengths.values[rows]
    return Clicks(
        cell[order],
        clicks["query"].to_numpy(),
        clicks["rank"].to_numpy(),
        length,
        _grades(clicks, sessions.names, qrels),
        clicks["again"].to_numpy(),
        clicks["text"].to_numpy(),
    )


def _grades(clicks: pl.DataFrame, names: tuple[str, ...], qrels: Qrels) -> Ints:
    """Grade of each clicked document; 0 where it has none."""
    grades = qrels.flat().to_polars().select("topic", "doc", "grade")
    named = clicks.select(pl.Series("topic", names).gather(clicks["session"]), "doc")
    joined = named.join(grades, on=["topic", "doc"], how="left", maintain_order="left")
    return joined["grade"].fill_null(0).cast(pl.Int64).to_numpy()
