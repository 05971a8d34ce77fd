"""Search sessions: concatenate their result lists, or append rankings of runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_choice,
    check_integer,
    check_number,
    quote,
    warn,
)
from cranfield.base.text import inflect
from cranfield.collection.document_tables import DocumentTable, read_lengths
from cranfield.collection.files.many_runs import make_distinct_names, read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.intents import IntentTable, read_intents
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.ranking import order_documents
from cranfield.collection.judged.rows import Clicks, Rows, join_ranges, number_rows
from cranfield.collection.pairs import create_unchecked, find_label_positions
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import Origin
from cranfield.tabular import render_frame

DEFAULT_SYSTEM = "log"  # System name of logs that do not name their systems

CLICK_JUDGMENTS = re.compile(r"clicks(?::(\d+(?:\.\d+)?))?", re.ASCII)
"""Name of judgments derived from clicks, optionally with the minimum dwell time in seconds."""
_LONG_DWELL = 3600.0  # Median dwell in seconds above which times may be in milliseconds

LIST_KEY = ["system", "session", "query"]  # Columns that identify a result list
RESULT_KEY = [*LIST_KEY, "rank"]  # Columns that identify a result

FrameSchema = dict[str, type[pl.DataType]]  # Columns of a data frame, with their types
_LIST_SCHEMA: FrameSchema = dict.fromkeys(LIST_KEY, pl.Int64)
_RANK_SCHEMA: FrameSchema = dict.fromkeys(RESULT_KEY, pl.Int64)
_TEXT_SCHEMA: FrameSchema = dict.fromkeys(("doc", "title", "snippet"), pl.String)
RESULT_SCHEMA: FrameSchema = {**_RANK_SCHEMA, **_TEXT_SCHEMA}
CLICK_SCHEMA: FrameSchema = {**_RANK_SCHEMA, "start": pl.Float64, "end": pl.Float64}
QUERY_SCHEMA: FrameSchema = {**_LIST_SCHEMA, "text": pl.String, "start": pl.Float64}


def mask_first_occurrences(frame: pl.DataFrame, *columns: str) -> pl.Series:
    """Return a mask of the rows whose values in the columns occur for the first time."""
    return frame.select(pl.struct(columns).is_first_distinct()).to_series()


@dataclass(frozen=True)
class SessionCounts:
    """Sizes of a log, and counts of its anomalies.

    Attributes
    ----------
    n_sessions, n_queries, n_results, n_clicks
        Number of sessions, queries, results and clicks.
    without_topic
        Names of the sessions whose topic is unknown.
    without_queries
        Names of the sessions without a query.
    n_empty_lists
        Number of queries without a result.
    n_repeated
        Number of results whose document an earlier query of the session retrieved.
    n_repeated_in_list
        Number of results whose document occurs above them in the same list.
    n_lost_clicks
        Number of clicks that match no result of their list, and are excluded.
    """

    n_sessions: int
    n_queries: int
    n_results: int
    n_clicks: int
    without_topic: tuple[str, ...] = ()
    without_queries: tuple[str, ...] = ()
    n_empty_lists: int = 0
    n_repeated: int = 0
    n_repeated_in_list: int = 0
    n_lost_clicks: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Sessions:
    """Search sessions of one or more systems; returned by :func:`read_sessions`.

    Attributes
    ----------
    names
        Names of the sessions, in the order of the source.
    topics
        Topic of each session; None if it is unknown.
    systems
        Names of the systems; `("log",)` if the log does not name its system.
    current_queries
        Text of the current query of each session, which has no results yet, as in the TREC Session
        track; None for sessions without a current query.
    queries
        Data frame: `system`, `session` (as indices), `query` (from 1), `text`, `start` (seconds,
        NaN if unknown); texts and times are null in sessions that were read from a table.
    results
        Data frame: `system`, `session`, `query`, `rank`, `doc`, `title`, `snippet`; sorted by list
        and rank.
    clicks
        Data frame: `system`, `session`, `query`, `rank`, `start`, `end` (seconds, or null or NaN);
        in order of time within a session and system, a click without a time after its predecessor.
    source
        Name of the source, for messages.
    n_lost_clicks
        Number of clicks that match no result of their list; they are not in `clicks`.
    run_settings
        Settings with which the runs of :func:`append_runs` were read; empty without runs.

    Examples
    --------
    >>> from cranfield.sessions import read_sessions
    >>> row = {"session": "s", "topic": "t", "query": 1, "rank": 1, "doc": "d"}
    >>> read_sessions([row, row | {"query": 2}])
    Sessions(1 session, 2 queries, 2 results, 0 clicks; 1 repeated result)
    """

    names: tuple[str, ...]
    topics: tuple[str | None, ...]
    systems: tuple[str, ...]
    current_queries: tuple[str | None, ...]
    queries: pl.DataFrame
    results: pl.DataFrame
    clicks: pl.DataFrame
    source: str = field(default="sessions")
    n_lost_clicks: int = 0
    run_settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def counts(self) -> SessionCounts:
        """Sizes of the log, and counts of its anomalies."""
        sessions_with_queries = set(self.queries["session"])
        topics = zip(self.names, self.topics, strict=True)
        n_nonempty = self.results.select(LIST_KEY).unique().height
        is_first_in_session = mask_first_occurrences(self.results, "system", "session", "doc")
        is_first_in_list = mask_first_occurrences(self.results, *LIST_KEY, "doc")
        return SessionCounts(
            n_sessions=len(self.names),
            n_queries=self.queries.height,
            n_results=self.results.height,
            n_clicks=self.clicks.height,
            without_topic=tuple(name for name, topic in topics if topic is None),
            without_queries=tuple(
                name for i, name in enumerate(self.names) if i not in sessions_with_queries
            ),
            n_empty_lists=self.queries.height - n_nonempty,
            n_repeated=int((is_first_in_list & ~is_first_in_session).sum()),
            n_repeated_in_list=int((~is_first_in_list).sum()),
            n_lost_clicks=self.n_lost_clicks,
        )

    def to_qrels(self, qrels: Any, *, needs_current_query: bool = False) -> Qrels:
        """Return judgments by session: each session gets the judgments of its topic.

        Parameters
        ----------
        qrels
            Judgments by topic: any input of :func:`cranfield.read_qrels`. Or `clicks`, or
            `clicks:SECONDS`, for the judgments of :meth:`derive_click_qrels`.
        needs_current_query
            Keep only the sessions with a current query, for which runs of the TREC Session track
            rank documents; without effect on judgments from clicks.

        Returns
        -------
        Qrels
            Judgments whose topics are the sessions with a judged topic; if they are derived from
            clicks, the sessions with results.

        Raises
        ------
        InputError
            If no session has a judged topic (and a current query if required), or if judgments are
            derived from clicks and no click has the minimum dwell time.
        """
        if isinstance(qrels, str) and (match := CLICK_JUDGMENTS.fullmatch(qrels)):
            return self.derive_click_qrels(None if match[1] is None else float(match[1]))
        judgments = read_qrels(qrels)
        code_by_topic = {name: code for code, name in enumerate(judgments.topics)}
        sessions = zip(self.names, self.topics, self.current_queries, strict=True)
        pairs = [
            (name, code_by_topic[topic])
            for name, topic, query in sessions
            if topic in code_by_topic and (query is not None or not needs_current_query)
        ]
        if not pairs:
            first_topic = next((topic for topic in self.topics if topic is not None), None)
            advice = "; a column topic, or a table of topics (session, topic), is required"
            got_text = f"no topics{advice}" if first_topic is None else quote(first_topic)
            if not code_by_topic.keys().isdisjoint(self.topics):
                got_text = "only sessions without a current query"
            raise InputError(
                f"expected sessions with judged topics, such as {quote(judgments.topics[0])}, got"
                f" {got_text}",
                source=self.source,
            )
        sorted_rows = np.argsort(judgments.codes, kind="stable")
        n_judgments = np.bincount(judgments.codes, minlength=len(judgments.topics))
        ends = np.cumsum(n_judgments)
        topic_codes = np.array([code for _, code in pairs])
        codes, positions = join_ranges((ends - n_judgments)[topic_codes], ends[topic_codes])
        rows = sorted_rows[positions]
        return Qrels(
            topics=tuple(name for name, _ in pairs),
            codes=codes.astype(np.int32),
            docs=judgments.docs.gather(rows),
            grades=judgments.grades[rows],
            subtopics=None if judgments.subtopics is None else judgments.subtopics.gather(rows),
            origin=replace(judgments.origin, lines=None),
            columns={name: values[rows] for name, values in judgments.columns.items()},
        )

    def derive_click_qrels(self, min_seconds: float | None = None) -> Qrels:
        """Derive judgments by session from clicks: grade 1 for clicked results, 0 for others.

        A clicked document has grade 1 in its session, whichever system and query retrieved it.

        Parameters
        ----------
        min_seconds
            Minimum dwell time of a click in seconds, such as 30; clicks with unknown dwell time are
            excluded, with a warning. By default all clicks are used.

        Raises
        ------
        InputError
            If there is no click, or none with the minimum dwell time.
        PolicyError
            If `min_seconds` is not above 0.

        Examples
        --------
        >>> from cranfield.sessions import read_sessions
        >>> rows = {"session": ["s", "s"], "query": [1, 2], "rank": [1, 1], "doc": ["a", "b"]}
        >>> log = read_sessions(rows, clicks={"session": ["s"], "query": [2], "rank": [1]})
        >>> log.derive_click_qrels().to_polars().select("topic", "doc", "grade").rows()
        [('s', 'a', 0), ('s', 'b', 1)]
        """
        clicks = self.clicks
        if min_seconds is not None:
            check_number("min_seconds", min_seconds, above=0)
            seconds = pl.col("end") - pl.col("start")
            n_unknown = clicks.height - clicks.filter(seconds.is_finite()).height
            if n_unknown:
                warn(f"{self.source}: {inflect(n_unknown, 'click')} excluded: dwell time unknown")
            median: Any = clicks.select(seconds.filter(seconds.is_finite()).median()).item()
            if median is not None and median > _LONG_DWELL:
                note = f"the median dwell time is {median:,.0f} seconds"
                warn(f"{self.source}: {note}; divide times in milliseconds by 1000")
            clicks = clicks.filter(seconds.is_finite() & (seconds >= min_seconds))
        if clicks.is_empty():
            dwell = f" of at least {min_seconds:g} seconds" if min_seconds else ""
            raise self._make_no_clicks_error(f"{dwell} from which to derive judgments")
        hits = clicks.select(*RESULT_KEY, clicked=1).unique()
        results = self.results.join(hits, on=RESULT_KEY, how="left", maintain_order="left")
        groups = results.group_by("session", "doc", maintain_order=True)
        grades = groups.agg(grade=pl.col("clicked").max().fill_null(0))
        topics = pl.Series("topic", self.names, dtype=pl.String).gather(grades["session"])
        return read_qrels(grades.select(topics, "doc", "grade"))

    def _make_no_clicks_error(self, purpose: str) -> InputError:
        has_no_click = self.clicks.is_empty() and not self.n_lost_clicks
        advice = "; pass a table of clicks (session, query, rank)" if has_no_click else ""
        return InputError(f"expected clicks{purpose}, got none{advice}", source=self.source)

    def concatenate(
        self, *, depth: int | None = None, duplicates: str = "first", until_click: bool = False
    ) -> ConcatenatedSessions:
        """Concatenate the result lists of each session; see :func:`concatenate`."""
        return concatenate(self, depth=depth, duplicates=duplicates, until_click=until_click)

    def append_runs(self, runs: Any, **options: Any) -> Sessions:
        """Append rankings of runs to the sessions; see :func:`append_runs`."""
        return append_runs(self, runs, **options)

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of results: system, session, topic, query, rank, doc, clicks."""
        clicks = self.clicks.group_by(RESULT_KEY).agg(pl.len().alias("clicks"))
        results = self.results.join(clicks, on=RESULT_KEY, how="left", maintain_order="left")
        return results.select(
            pl.Series("system", self.systems, dtype=pl.String).gather(results["system"]),
            pl.Series("session", self.names, dtype=pl.String).gather(results["session"]),
            pl.Series("topic", self.topics, dtype=pl.String).gather(results["session"]),
            *("query", "rank", "doc", pl.col("clicks").fill_null(0)),
        )

    def _repr_html_(self) -> str:
        return render_frame(self.to_polars(), repr(self), limit=10)

    def __repr__(self) -> str:
        counts = self.counts
        systems = [inflect(len(self.systems), "system")] if len(self.systems) > 1 else []
        sizes = [inflect(counts.n_sessions, "session"), *systems]
        sizes += [inflect(counts.n_queries, "query"), inflect(counts.n_results, "result")]
        sizes += [inflect(counts.n_clicks, "click")]
        anomalies = [
            (len(counts.without_topic), "session", " without a topic"),
            (len(counts.without_queries), "session", " without a query"),
            (counts.n_empty_lists, "empty list", ""),
            (counts.n_repeated, "repeated result", ""),
            (counts.n_repeated_in_list, "document", " repeated in one list"),
            (counts.n_lost_clicks, "click", " without a result"),
        ]
        notes = [f"{inflect(n, noun)}{detail}" for n, noun, detail in anomalies if n]
        return f"Sessions({', '.join(sizes)}{'; ' if notes else ''}{', '.join(notes)})"


DUPLICATES = {
    "first": "keep the first occurrence of a document in a session and remove later ones",
    "keep": "keep all occurrences of a document, in several lists or in one",
}
"""Ways to treat documents that a session retrieves several times."""


@dataclass(frozen=True, eq=False, repr=False)
class ConcatenatedSessions(Sequence[Run]):
    """A run for each system, whose topics are sessions; returned by :func:`concatenate`.

    Attributes
    ----------
    sessions
        Sessions whose lists are concatenated.
    rows
        Data frame of the documents in order: `system`, `session` (as indices), `rank` in the
        concatenated list, `query`, `doc`, `list_rank` in the list of the query.
    n_removed
        Number of documents removed as duplicates.
    n_cut
        Number of documents removed below the depth or lowest clicked result, or in unclicked lists.
    settings
        Options of :func:`concatenate`.
    """

    sessions: Sessions
    rows: pl.DataFrame
    n_removed: int
    n_cut: int
    settings: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sessions.systems)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        if isinstance(index, slice):
            return [self._make_run(i) for i in range(len(self))[index]]
        return self._make_run(range(len(self))[index])

    def _make_run(self, system: int) -> Run:
        rows = self.rows.filter(pl.col("system") == system)
        session_codes, codes = np.unique(rows["session"].to_numpy(), return_inverse=True)
        ranks = rows["rank"].to_numpy()
        # Runs are not checked, because a document may occur twice in a session.
        return create_unchecked(
            Run,
            name=self.sessions.systems[system],
            topics=tuple(self.sessions.names[i] for i in session_codes.tolist()),
            codes=codes.astype(np.int32),
            docs=rows["doc"].rechunk(),
            scores=-ranks.astype(np.float64),
            ranks=ranks.astype(np.int32),
            origin=Origin(self.sessions.source),
        )

    def judge(self, qrels: Any, **policies: Any) -> JudgedRuns:
        """Judge the concatenated rankings; add the query of each document, and the clicks.

        Parameters
        ----------
        qrels
            As for :meth:`Sessions.to_qrels`.
        policies
            As for :func:`cranfield.judge`; `ties` can only be `input`, because results of sessions
            have ranks.

        Returns
        -------
        JudgedRuns
            Judged runs whose topics are the sessions.

        Raises
        ------
        InputError
            As for :meth:`Sessions.to_qrels`.
        PolicyError
            For an unknown value of a policy, or a value of `ties` other than `input`.
        """
        is_condensed = policies.get("unjudged") == "condensed"
        if is_condensed:
            policies = policies | {"unjudged": "nonrelevant"}
        if policies.setdefault("ties", "input") != "input":
            ties = quote(policies["ties"])
            raise PolicyError(f"ties {ties} has no effect, because results of sessions have ranks")
        if policies.get("aspects"):
            aspects = policies["aspects"].items()
            policies["aspects"] = {name: self.sessions.to_qrels(labels) for name, labels in aspects}
        if policies.get("intents") is not None:
            policies["intents"] = self._convert_intents(read_intents(policies["intents"]))
        if policies.get("lengths") is not None:
            policies["lengths"] = read_lengths(policies["lengths"])
        session_qrels = self.sessions.to_qrels(qrels)
        judged = judge(list(self), session_qrels, **policies)
        queries = self._match_queries(judged)
        if judged.policies.depth is not None:
            queries = queries.where(queries.rank <= judged.policies.depth)
        n_queries = self._count_queries(judged)

        def add_queries(runs: JudgedRuns) -> JudgedRuns:
            aspects = {name: add_queries(view) for name, view in runs.side_data.aspects.items()}
            side_data = replace(
                runs.side_data, queries=queries, n_queries=n_queries, aspects=aspects
            )
            return replace(runs, side_data=side_data, views={})

        judged = add_queries(judged)
        clicks = match_clicks(self.sessions, session_qrels, judged, policies.get("lengths"))
        side_data = replace(judged.side_data, clicks=clicks, settings=self.settings)
        judged = replace(judged, side_data=side_data, views={})
        judged = judged.with_settings(self.sessions.run_settings)
        if not is_condensed:
            return judged
        return replace(judged, policies=replace(judged.policies, unjudged="condensed")).condense()

    def _convert_intents(self, table: IntentTable) -> IntentTable:
        sessions = pl.DataFrame({"name": self.sessions.names, "topic": self.sessions.topics})
        rows_of_topics = pl.DataFrame({"topic": table.topics}).with_row_index("row")
        pairs = sessions.join(rows_of_topics, on="topic", maintain_order="left_right")
        rows = pairs["row"].to_numpy()
        return IntentTable(
            tuple(pairs["name"]),
            tuple(table.intents[row] for row in rows),
            table.probabilities[rows],
            table.is_navigational[rows],
            table.name,
        )

    def _match_queries(self, judged: JudgedRuns) -> Rows:
        """Match queries to documents, in the order of the judged runs."""
        positions = find_label_positions(self.sessions.names, judged.topics)
        topic = positions[self.rows["session"].to_numpy()]
        cell = self.rows["system"].to_numpy() * judged.shape[0] + topic
        columns = (self.rows[name].to_numpy() for name in ("rank", "query", "list_rank"))
        rank, query, list_rank = columns
        rows = np.flatnonzero(topic >= 0)
        order = rows[np.lexsort((rank[rows], cell[rows]))]
        list_ranks = list_rank[order].astype(np.float64)
        return Rows(cell[order], rank[order], query[order], judged.shape, list_ranks)

    def _count_queries(self, judged: JudgedRuns) -> Ints:
        """Return the number of queries of each judged session; shape (topics, systems)."""
        positions = find_label_positions(self.sessions.names, judged.topics)
        queries = self.sessions.queries
        topic = positions[queries["session"].to_numpy()]
        is_judged = topic >= 0
        cells = topic[is_judged], queries["system"].to_numpy()[is_judged]
        n_queries = np.zeros(judged.shape, dtype=np.int64)
        np.maximum.at(n_queries, cells, queries["query"].to_numpy()[is_judged])
        return n_queries

    def __repr__(self) -> str:
        return (
            f"ConcatenatedSessions({inflect(len(self.sessions.names), 'session')},"
            f" {inflect(len(self), 'system')}, {inflect(self.rows.height, 'document')};"
            f" {inflect(self.n_removed, 'duplicate')} removed, {self.n_cut:,} cut off)"
        )


def concatenate(
    sessions: Sessions,
    *,
    depth: int | None = None,
    duplicates: str = "first",
    until_click: bool = False,
) -> ConcatenatedSessions:
    """Concatenate the result lists of each session, in order of the queries.

    Any measure of a ranking can then score sessions (Sakai 2013, section 3.2): pass the result to
    :func:`cranfield.evaluate` with `sessions.to_qrels(qrels)`.

    Parameters
    ----------
    sessions
        Sessions, as returned by :func:`read_sessions`.
    depth
        Maximum number of documents of each list (l in the paper); None for all.
    duplicates
        `first` keeps the first occurrence of a document in a session, and documents below move up;
        `keep` keeps all, so that a document may be rewarded again.
    until_click
        Cut each list after its lowest clicked result before the other options apply. A list without
        a click then has no documents; its query still counts.

    Returns
    -------
    ConcatenatedSessions
        A run for each system.

    Raises
    ------
    PolicyError
        For an invalid depth, or an unknown value of `duplicates`.
    InputError
        For `until_click` without clicks.

    Examples
    --------
    >>> from cranfield.sessions import read_sessions
    >>> columns = {"session": ["s"] * 3, "query": [1, 2, 2], "rank": [1, 1, 2], "doc": list("aab")}
    >>> concatenate(read_sessions(columns)).rows.select("rank", "query", "doc").rows()
    [(1, 1, 'a'), (2, 2, 'b')]
    """
    if depth is not None:
        check_integer("depth", depth, 1, 2**31 - 1)
    check_choice("duplicates", duplicates, DUPLICATES)
    rows = sessions.results.select(*RESULT_KEY, "doc")
    if until_click:
        if sessions.clicks.is_empty():
            raise sessions._make_no_clicks_error(", which until_click=True requires")
        last_ranks = sessions.clicks.group_by(LIST_KEY).agg(last_rank=pl.col("rank").max())
        rows = rows.join(last_ranks, on=LIST_KEY, how="inner", maintain_order="left")
        rows = rows.filter(pl.col("rank") <= pl.col("last_rank"))
    if depth is not None:
        rows = rows.filter(pl.int_range(pl.len()).over(LIST_KEY) < depth)
    n_rows = rows.height
    rows = rows.with_columns(list_rank=pl.int_range(1, pl.len() + 1).over(LIST_KEY))
    if duplicates == "first":
        rows = rows.filter(mask_first_occurrences(rows, "system", "session", "doc"))
    cell = rows["system"].to_numpy() * len(sessions.names) + rows["session"].to_numpy()
    rank: Ints = number_rows(cell)
    ranks = pl.Series("rank", rank)
    ranked = rows.select("system", "session", ranks, "query", "doc", "list_rank")
    settings: dict[str, Any] = {"depth": depth, "duplicates": duplicates}
    settings |= {"until_click": until_click, **sessions.run_settings}
    n_removed, n_cut = n_rows - ranked.height, sessions.results.height - n_rows
    return ConcatenatedSessions(sessions, ranked, n_removed, n_cut, settings)


def match_clicks(
    sessions: Sessions, qrels: Qrels, judged: JudgedRuns, lengths: DocumentTable | None
) -> Clicks:
    """Match clicks to judged sessions, by system and in order of time; `qrels` are by session."""
    positions = find_label_positions(sessions.names, judged.topics)
    names = pl.Series(sessions.names, dtype=pl.String)
    grades = qrels.merge_subtopics().to_polars().select("grade", "doc", name="topic")
    snippet_length = pl.col("snippet").str.len_chars().cast(pl.Float64)
    # After a missing snippet, the length of the text read so far is unknown.
    text_length = snippet_length.fill_null(float("nan")).cum_sum().over(LIST_KEY)
    results = sessions.results.with_columns(text_length=text_length)
    clicks = sessions.clicks.join(results, on=RESULT_KEY, how="left", maintain_order="left")
    clicks = clicks.with_columns(
        topic=pl.Series(positions).gather(clicks["session"]),
        name=names.gather(clicks["session"]),
        is_repeated=~mask_first_occurrences(clicks, "system", "session", "doc"),
    ).filter(pl.col("topic") >= 0)
    # Unjudged documents have grade 0.
    clicks = clicks.join(grades, on=["name", "doc"], how="left", maintain_order="left")
    cell = clicks["system"].to_numpy() * judged.shape[0] + clicks["topic"].to_numpy()
    order = np.argsort(cell, kind="stable")
    clicks = clicks[order]
    length: Floats = np.full(clicks.height, np.nan)
    if lengths is not None:
        has_length, rows = lengths.find_rows(clicks["doc"])
        length[has_length] = lengths.values[rows]
    return Clicks(
        cell[order],
        clicks["query"].to_numpy(),
        clicks["rank"].to_numpy(),
        length,
        clicks["grade"].fill_null(0).cast(pl.Int64).to_numpy(),
        clicks["is_repeated"].to_numpy(),
        clicks["text_length"].to_numpy(),
    )


def append_runs(
    sessions: Sessions,
    runs: Any,
    *,
    ties: str = "trec",
    on_duplicate: str = "error",
    on_bad_run: str = "error",
) -> Sessions:
    """Append the rankings of runs to sessions, as the results of their current queries.

    In the TREC Session track, a session has a history of queries with results and clicks, and a
    current query, for which a run ranks documents. The lists of the history precede the ranking of
    each system.

    Parameters
    ----------
    sessions
        A log of one system.
    runs
        Any input of :func:`cranfield.read_runs`; its topics are names of sessions.
    ties
        Order of documents with equal scores, as for :func:`cranfield.judge`.
    on_duplicate, on_bad_run
        As for :func:`cranfield.read_runs`.

    Returns
    -------
    Sessions
        The sessions with a current query or a ranking by any run, or all sessions if the log names
        no current query. Each run is a system, with an empty list in sessions that it does not
        rank.

    Raises
    ------
    InputError
        If no topic of a run is a session, or for no runs.
    PolicyError
        For sessions of several systems, or an unknown value of an option.

    Warns
    -----
    CranfieldWarning
        For topics of runs that are not sessions, for sessions without results of a run, and for
        runs with equal tags.

    Examples
    --------
    >>> from cranfield.sessions import read_sessions
    >>> log = read_sessions([{"session": "s", "query": 1, "rank": 1, "doc": "a"}])
    >>> sessions = append_runs(log, {"x": {"s": {"b": 2.0, "c": 1.0}}, "y": {"s": {"a": 1.0}}})
    >>> sessions.results.select("system", "query", "rank", "doc").rows()
    [(0, 1, 1, 'a'), (0, 2, 1, 'b'), (0, 2, 2, 'c'), (1, 1, 1, 'a'), (1, 2, 1, 'a')]
    """
    if len(sessions.systems) != 1:
        raise PolicyError(f"expected sessions of one system, got {len(sessions.systems)} systems")
    collection = read_runs(runs, on_duplicate=on_duplicate, on_bad_run=on_bad_run)
    if not len(collection):
        raise InputError("expected at least one run, got none")
    run_list = list(collection)
    rankings = [_rank_results(run, sessions.names, i, ties) for i, run in enumerate(run_list)]
    ranked_by_run = [{*frame["session"]} for frame in rankings]
    has_queries = [query is not None for query in sessions.current_queries]
    if not any(has_queries):  # Tables do not name current queries
        has_queries = [True] * len(has_queries)
    ranked_sessions = set().union(*ranked_by_run)
    indices = [i for i, has_query in enumerate(has_queries) if has_query or i in ranked_sessions]
    last_query = np.zeros(len(sessions.names), dtype=np.int64)
    session_codes, numbers = (sessions.queries[name].to_numpy() for name in ("session", "query"))
    np.maximum.at(last_query, session_codes, numbers)
    next_query = pl.Series("query", last_query + 1)
    results = pl.concat(rankings)
    results = results.with_columns(query=next_query.gather(results["session"]))
    texts = pl.Series("text", [sessions.current_queries[i] for i in indices], dtype=pl.String)
    session = pl.Series("session", indices, dtype=pl.Int64)
    current_queries = pl.DataFrame([session, next_query.gather(indices), texts])
    queries = pl.concat([sessions.queries, current_queries], how="diagonal")
    systems = pl.DataFrame({"system": pl.Series(range(len(run_list)), dtype=pl.Int64)})

    def repeat_rows(frame: pl.DataFrame) -> pl.DataFrame:
        return systems.join(frame.drop("system"), how="cross")

    def renumber(frame: pl.DataFrame) -> pl.DataFrame:
        selected_rows = frame.filter(pl.col("session").is_in(indices))
        code = pl.col("session").replace_strict(indices, range(len(indices)), return_dtype=pl.Int64)
        return selected_rows.with_columns(code)

    results = pl.concat([repeat_rows(sessions.results), results.select(*RESULT_SCHEMA)])
    stems = [collection.get_stem(i) for i in range(len(collection)) if i not in collection.skipped]
    run_names = make_distinct_names([run.name for run in run_list], stems)
    for name, codes in zip(run_names, ranked_by_run, strict=True):
        if empty_names := [sessions.names[i] for i in indices if i not in codes]:
            subject = f"{inflect(len(empty_names), 'session')}, such as {quote(empty_names[0])}"
            warn(f"{name}: no results for {subject}; the result lists of these sessions are empty")
    return replace(
        sessions,
        run_settings=dict(collection.settings),
        names=tuple(sessions.names[i] for i in indices),
        topics=tuple(sessions.topics[i] for i in indices),
        systems=tuple(run_names),
        current_queries=(None,) * len(indices),
        queries=renumber(repeat_rows(queries)).sort(*LIST_KEY, maintain_order=True),
        results=renumber(results).sort(*LIST_KEY, maintain_order=True),
        clicks=renumber(repeat_rows(sessions.clicks)),
        n_lost_clicks=sessions.n_lost_clicks * len(run_list),
    )


def _rank_results(run: Run, names: Sequence[str], system: int, ties: str) -> pl.DataFrame:
    """Convert the results of a run to results of sessions, without a column of queries."""
    session_codes = find_label_positions(run.topics, names)
    is_unknown = session_codes < 0
    if is_unknown.all():
        raise InputError(
            f"expected topics that are sessions, such as {quote(next(iter(names), ''))}, got"
            f" {quote(run.topics[0])}",
            source=run.name,
        )
    if is_unknown.any():
        example = quote(run.topics[int(np.argmax(is_unknown))])
        subject = inflect(int(is_unknown.sum()), "topic")
        warn(f"{run.name}: {subject} excluded: not a session, such as {example}")
    order = order_documents(run, ties)
    rows = order.rows
    session, ranks = session_codes[run.codes[rows]], order.compute_ranks(rows)
    frame = pl.DataFrame({"session": session, "rank": ranks, "doc": run.docs[rows]})
    no_text = pl.lit(None, pl.String)
    frame = frame.with_columns(system=pl.lit(system, pl.Int64), title=no_text, snippet=no_text)
    return frame.filter(pl.col("session") >= 0)
