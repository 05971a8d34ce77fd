"""Sessions: a log, with what can be made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cranfield.sessions.concatenating import ConcatenatedSessions, concatenated
from cranfield.sessions.history import followed_by
from cranfield.sessions.log import SessionLog


@dataclass(frozen=True, eq=False, repr=False)
class Sessions(SessionLog):
    """Search sessions of one or more systems; made by :func:`read_sessions`.

    Attributes
    ----------
    names
        The sessions, in the order of the source.
    topics
        The topic of each; None where it is not known.
    systems
        The systems; `("log",)` where there is one without a name.
    current
        Text of the query of each session that has been asked and not been answered yet, as the TREC
        Session track has it; None where there is none.
    queries
        Data frame: `system`, `session` (as indices), `query` (from 1), `text`, `start` (seconds).
    results
        Data frame: `system`, `session`, `query`, `rank`, `doc`, `title`, `snippet`; in order.
    clicks
        Data frame: `system`, `session`, `query`, `rank`, `start`, `end` (seconds); in order of time
        within a session and system, of the source where times are equal or missing.
    source
        Where they came from, for messages.
    lost_clicks
        Clicks on ranks that do not exist; they are not in `clicks`.

    Examples
    --------
    >>> from cranfield.sessions import read_sessions
    >>> row = {"session": "s", "topic": "t", "query": 1, "rank": 1, "doc": "d"}
    >>> read_sessions([row, row | {"query": 2}])
    Sessions(1 session, 2 queries, 2 results, 0 clicks; 1 result that came before)
    """

    def concatenated(
        self, *, depth: int | None = None, duplicates: str = "first", until_click: bool = False
    ) -> ConcatenatedSessions:
        """Put the result lists of each session one after the other; see :func:`concatenated`."""
        return concatenated(self, depth=depth, duplicates=duplicates, until_click=until_click)

    def followed_by(self, runs: Any, **options: Any) -> Sessions:
        """Let systems answer the query that each session ends with; see :func:`followed_by`."""
        return followed_by(self, runs, **options)
