"""Sessions of several queries: reading them, and what they are worth as a whole.

>>> from cranfield.sessions import evaluate_sessions, read_sessions
>>> log = read_sessions({"session": ["s"], "query": [1], "rank": [1], "doc": ["a"]},
...                     topics={"s": "t"})
>>> evaluate_sessions(log, {"t": {"a": 1}}, ["sDCG", "nsDCG"]).by_system().rows()
[('log', 1.0, 1.0)]
"""

from cranfield.measures.sessions.clicks import ClickU, click_u
from cranfield.measures.sessions.dcg import NormalisedSessionDCG, SessionDCG
from cranfield.sessions.concatenating import ConcatenatedSessions, concatenated
from cranfield.sessions.data import SessionCounts, Sessions
from cranfield.sessions.evaluating import SessionEvaluation, evaluate_sessions
from cranfield.sessions.history import followed_by
from cranfield.sessions.reading import read_session_topics, read_sessions

__all__ = [
    "ClickU",
    "ConcatenatedSessions",
    "NormalisedSessionDCG",
    "SessionCounts",
    "SessionDCG",
    "SessionEvaluation",
    "Sessions",
    "click_u",
    "concatenated",
    "evaluate_sessions",
    "followed_by",
    "read_session_topics",
    "read_sessions",
]
