"""The result lists of a session, put one after the other as one ranking, with its clicks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.document_tables import DocumentTable, read_lengths
from cranfield.collection.intents.probabilities import IntentTable, read_intents
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.judgments import Clicks
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import places
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sessions.log import LISTS, SessionLog, first_of_each
from cranfield.sources.chunks import Origin

DUPLICATES = {
    "first": "a document counts where it comes first; it is removed from later lists",
    "keep": "a document may come again, in another list or in the same",
}
"""What becomes of documents that come again in a session."""


@dataclass(frozen=True, eq=False, repr=False)
class ConcatenatedSessions(Sequence[Run]):
    """A run for each system, whose topics are sessions; made by :func:`concatenated`.

    Attributes
    ----------
    sessions
        Where the lists come from.
    rows
        Data frame of the documents in order: `system`, `session` (as indices), `rank` in the whole
        list, `query`, `doc`.
    removed
        Documents removed because they had come before.
    cut
        Documents below the depth, or below the lowest click.
    settings
        What :func:`concatenated` was asked for.
    """

    sessions: SessionLog
    rows: pl.DataFrame
    removed: int
    cut: int
    settings: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sessions.systems)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        if isinstance(index, slice):
            return [self._run(i) for i in range(len(self))[index]]
        return self._run(range(len(self))[index])

    def __iter__(self) -> Iterator[Run]:
        return (self._run(i) for i in range(len(self)))

    def _run(self, system: int) -> Run:
        rows = self.rows.filter(pl.col("system") == system)
        some, codes = np.unique(rows["session"].to_numpy(), return_inverse=True)
        ranks = rows["rank"].to_numpy()
        values = {
            "name": self.sessions.systems[system],
            "topics": tuple(self.sessions.names[i] for i in some.tolist()),
            "codes": codes.astype(np.int32),
            "docs": rows["doc"].rechunk(),
            "scores": -ranks.astype(np.float64),
            "ranks": ranks.astype(np.int32),
        }
        run = object.__new__(Run)
        # A document may stand twice here, which no run that is read may have.
        run.__dict__.update(values, origin=Origin(self.sessions.source))
        return run

    def judged(self, qrels: Any, **policies: Any) -> JudgedRuns:
        """Judge the sessions: rankings with the query of each document, and the clicks.

        Parameters
        ----------
        qrels
            Judgments by topic; whatever :func:`cranfield.read_qrels` takes.
        policies
            As for :func:`cranfield.judge`, but for `ties`: ranks are known here.

        Returns
        -------
        JudgedRuns
            Its topics are the sessions.

        Raises
        ------
        InputError
            When no session has a judged topic.
        PolicyError
            For an unknown policy.
        """
        condense = policies.get("unjudged") == "condensed"
        if condense:
            policies = policies | {"unjudged": "nonrelevant"}
        if policies.setdefault("ties", "input") != "input":
            raise PolicyError(f"ties {quoted(policies['ties'])} do not occur: sessions have ranks")
        if policies.get("aspects"):
            aspects = policies["aspects"].items()
            policies["aspects"] = {name: self.sessions.qrels(one) for name, one in aspects}
        if policies.get("intents") is not None:
            policies["intents"] = self._intents(read_intents(policies["intents"]))
        if policies.get("lengths") is not None:
            policies["lengths"] = read_lengths(policies["lengths"])
        own = self.sessions.qrels(qrels)
        judged = judge(list(self), own, **policies)
        queries = self._queries(judged)
        if judged.policies.depth is not None:
            queries = queries.where(queries.rank <= judged.policies.depth)

        def with_queries(one: JudgedRuns) -> JudgedRuns:
            others = {name: with_queries(other) for name, other in one.annotations.aspects.items()}
            more = replace(one.annotations, queries=queries, aspects=others)
            return replace(one, annotations=more, views={})

        judged = with_queries(judged)
        clicks = clicks_of(self.sessions, own, judged, policies.get("lengths"))
        known = replace(judged.annotations, clicks=clicks, settings=self.settings)
        judged = replace(judged, annotations=known, views={}).read_as(self.sessions.runs_read)
        if not condense:
            return judged
        return replace(judged, policies=replace(judged.policies, unjudged="condensed")).condensed()

    def _intents(self, table: IntentTable) -> IntentTable:
        """Give each session the intents of its topic."""
        pairs = zip(self.sessions.names, self.sessions.topics, strict=True)
        rows: dict[str, list[int]] = {}
        for row, topic in enumerate(table.topics):
            rows.setdefault(topic, []).append(row)
        chosen = [(name, row) for name, topic in pairs for row in rows.get(topic or "", [])]
        at = np.array([row for _, row in chosen], dtype=np.int64)
        return IntentTable(
            tuple(name for name, _ in chosen),
            tuple(table.intents[row] for row in at),
            table.probabilities[at],
            table.navigational[at],
            table.name,
        )

    def _queries(self, judged: JudgedRuns) -> Rows:
        """Query of each document, in the order of the judged runs."""
        place = {name: i for i, name in enumerate(judged.topics)}
        topic_of = np.array([place.get(name, -1) for name in self.sessions.names], dtype=np.int64)
        topic = topic_of[self.rows["session"].to_numpy()]
        cell = self.rows["system"].to_numpy() * judged.shape[0] + topic
        rank, query = (self.rows[name].to_numpy() for name in ("rank", "query"))
        kept = np.flatnonzero(topic >= 0)
        order = kept[np.lexsort((rank[kept], cell[kept]))]
        return Rows(cell[order], rank[order], query[order], judged.shape)

    def __repr__(self) -> str:
        return (
            f"ConcatenatedSessions({counted(len(self.sessions.names), 'session')},"
            f" {counted(len(self), 'system')}, {counted(self.rows.height, 'document')};"
            f" {self.removed:,} removed that came before, {self.cut:,} cut off)"
        )


def concatenated(
    sessions: SessionLog,
    *,
    depth: int | None = None,
    duplicates: str = "first",
    until_click: bool = False,
) -> ConcatenatedSessions:
    """Put the result lists of each session one after the other, in order of the queries.

    So every measure of a ranking becomes one of sessions (Sakai 2013, section 3.2): pass the result
    to :func:`cranfield.evaluate` with `sessions.qrels(qrels)`.

    Parameters
    ----------
    sessions
        Sessions, as :func:`read_sessions` makes them.
    depth
        l: documents taken of each list; None for all.
    duplicates
        `first` keeps the first occurrence of a document in a session, and those below move up;
        `keep` keeps all, so that a document may be rewarded again.
    until_click
        Cut each list off after its lowest click first. Of a list without a click nothing is known
        to be read, and nothing is kept; its query still counts.

    Returns
    -------
    ConcatenatedSessions
        A run for each system.

    Raises
    ------
    PolicyError
        For a depth below 1, or other duplicates.

    Examples
    --------
    >>> from cranfield.sessions import read_sessions
    >>> columns = {"session": ["s"] * 3, "query": [1, 2, 2], "rank": [1, 1, 2], "doc": list("aab")}
    >>> concatenated(read_sessions(columns)).rows.select("rank", "query", "doc").rows()
    [(1, 1, 'a'), (2, 2, 'b')]
    """
    if depth is not None:
        check_whole("depth", depth, 1, 2**31 - 1)
    check_choice("duplicates", duplicates, DUPLICATES)
    rows = sessions.results.select(*LISTS, "rank", "doc")
    if until_click:
        lowest = sessions.clicks.group_by(LISTS).agg(pl.col("rank").max().alias("lowest"))
        rows = rows.join(lowest, on=LISTS, how="inner", maintain_order="left")
        rows = rows.filter(pl.col("rank") <= pl.col("lowest"))
    if depth is not None:
        rows = rows.filter(pl.int_range(pl.len()).over(LISTS) < depth)
    taken = rows.height
    if duplicates == "first":
        rows = rows.filter(first_of_each(rows, "system", "session", "doc"))
    cell = rows["system"].to_numpy() * len(sessions.names) + rows["session"].to_numpy()
    rank: Ints = places(cell)
    made = rows.select("system", "session", pl.Series("rank", rank), "query", "doc")
    settings = {
        "depth": depth,
        "duplicates": duplicates,
        "until_click": until_click,
        **sessions.runs_read,
    }
    return ConcatenatedSessions(
        sessions, made, taken - made.height, sessions.results.height - taken, settings
    )


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
