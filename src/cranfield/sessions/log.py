"""Logs of sessions: what users asked, were shown, clicked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.base.text import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.rows import places
from cranfield.collection.qrels import Qrels
from cranfield.tabular import frame_html

LOG = "log"
"""Name of the system of a log, where it has none."""

LISTS = ["system", "session", "query"]
"""Columns that tell result lists apart."""

Types = dict[str, type[pl.DataType]]
_OF_LISTS: Types = dict.fromkeys(LISTS, pl.Int64)
_TEXTS: Types = dict.fromkeys(("doc", "title", "snippet"), pl.String)
RESULTS: Types = {**_OF_LISTS, "rank": pl.Int64, **_TEXTS}
CLICKS: Types = {**_OF_LISTS, "rank": pl.Int64, "start": pl.Float64, "end": pl.Float64}
QUERIES: Types = {**_OF_LISTS, "text": pl.String, "start": pl.Float64}


def first_of_each(frame: pl.DataFrame, *columns: str) -> pl.Series:
    """Tell which rows have values in some columns that no row above has."""
    return frame.select(pl.struct(columns).is_first_distinct()).to_series()


@dataclass(frozen=True)
class SessionCounts:
    """What there is in some sessions, and what is odd about it.

    Attributes
    ----------
    sessions, queries, results, clicks
        How many of each.
    without_topic
        Sessions whose topic is not known.
    without_queries
        Sessions in which nothing was asked.
    empty_lists
        Queries that found nothing.
    repeated
        Results whose document an earlier query of the same session had found already.
    repeated_in_list
        Results whose document stands higher in the same list.
    lost_clicks
        Clicks on ranks that do not exist; they are left out.
    """

    sessions: int
    queries: int
    results: int
    clicks: int
    without_topic: tuple[str, ...] = ()
    without_queries: tuple[str, ...] = ()
    empty_lists: int = 0
    repeated: int = 0
    repeated_in_list: int = 0
    lost_clicks: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class SessionLog:
    """Sessions as tables, and what there is in them; its attributes are those of Sessions."""

    names: tuple[str, ...]
    topics: tuple[str | None, ...]
    systems: tuple[str, ...]
    current: tuple[str | None, ...]
    queries: pl.DataFrame
    results: pl.DataFrame
    clicks: pl.DataFrame
    source: str = field(default="sessions")
    lost_clicks: int = 0
    runs_read: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def counts(self) -> SessionCounts:
        """What there is, and what is odd about it."""
        asked = set(self.queries["session"])
        filled = self.results.select(LISTS).unique().height
        in_session = first_of_each(self.results, "system", "session", "doc")
        in_list = first_of_each(self.results, *LISTS, "doc")
        return SessionCounts(
            sessions=len(self.names),
            queries=self.queries.height,
            results=self.results.height,
            clicks=self.clicks.height,
            without_topic=tuple(
                name for name, topic in zip(self.names, self.topics, strict=True) if topic is None
            ),
            without_queries=tuple(name for i, name in enumerate(self.names) if i not in asked),
            empty_lists=self.queries.height - filled,
            repeated=int((in_list & ~in_session).sum()),
            repeated_in_list=int((~in_list).sum()),
            lost_clicks=self.lost_clicks,
        )

    def qrels(self, qrels: Any, *, current: bool = False) -> Qrels:
        """Return judgments by session: for each session those of its topic.

        Parameters
        ----------
        qrels
            Judgments by topic; whatever :func:`cranfield.read_qrels` takes.
        current
            Keep only the sessions that have a query not answered yet, which are those that runs of
            the TREC Session track answer.

        Returns
        -------
        Qrels
            Their topics are the sessions that have a judged topic.

        Raises
        ------
        InputError
            When no session has a judged topic.
        """
        given = read_qrels(qrels)
        code_of = {name: code for code, name in enumerate(given.topics)}
        chosen = [
            (name, code_of[topic])
            for name, topic, now in zip(self.names, self.topics, self.current, strict=True)
            if topic in code_of and (now is not None or not current)
        ]
        if not chosen:
            some = next((topic for topic in self.topics if topic is not None), None)
            have = "no session has a topic" if some is None else f"sessions have {quoted(some)}"
            raise InputError(
                f"no session has a judged topic ({have}, judgments have {quoted(given.topics[0])})",
                source=self.source,
            )
        by_topic = np.argsort(given.codes, kind="stable")
        size = np.bincount(given.codes, minlength=len(given.topics))
        first = np.cumsum(size) - size
        topic = np.array([code for _, code in chosen])
        codes = np.repeat(np.arange(topic.size, dtype=np.int32), size[topic])
        within = places(codes) - 1
        rows = by_topic[first[topic][codes] + within]
        return Qrels(
            topics=tuple(name for name, _ in chosen),
            codes=codes,
            docs=given.docs.gather(rows),
            grades=given.grades[rows],
            subtopics=None if given.subtopics is None else given.subtopics.gather(rows),
            origin=replace(given.origin, lines=None),
            columns={name: values[rows] for name, values in given.columns.items()},
        )

    def to_polars(self) -> pl.DataFrame:
        """Return the results as a table: system, session, topic, query, rank, doc, clicks."""
        clicks = self.clicks.group_by(*LISTS, "rank").agg(pl.len().alias("clicks"))
        found = self.results.join(clicks, on=[*LISTS, "rank"], how="left", maintain_order="left")
        return found.select(
            pl.Series("system", self.systems, dtype=pl.String).gather(found["system"]),
            pl.Series("session", self.names, dtype=pl.String).gather(found["session"]),
            pl.Series("topic", self.topics, dtype=pl.String).gather(found["session"]),
            "query",
            "rank",
            "doc",
            pl.col("clicks").fill_null(0),
        )

    def _repr_html_(self) -> str:
        return frame_html(self.to_polars(), repr(self), limit=10)

    def __repr__(self) -> str:
        counts = self.counts
        said = [
            counted(counts.sessions, "session"),
            *([counted(len(self.systems), "system")] if len(self.systems) > 1 else []),
            f"{counts.queries:,} {'query' if counts.queries == 1 else 'queries'}",
            counted(counts.results, "result"),
            counted(counts.clicks, "click"),
        ]
        odd = [
            (len(counts.without_topic), "session", " without a topic"),
            (len(counts.without_queries), "session", " without a query"),
            (counts.empty_lists, "empty list", ""),
            (counts.repeated, "result", " that came before"),
            (counts.repeated_in_list, "document", " twice in a list"),
            (counts.lost_clicks, "click", " on no result"),
        ]
        notes = [f"{counted(number, noun)}{which}" for number, noun, which in odd if number]
        return f"Sessions({', '.join(said)}{'; ' if notes else ''}{', '.join(notes)})"
