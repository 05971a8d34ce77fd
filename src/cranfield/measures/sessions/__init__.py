"""Measures of sessions of several queries."""

from cranfield.measures.sessions.clicks import ClickU, click_u
from cranfield.measures.sessions.dcg import NormalisedSessionDCG, SessionDCG

__all__ = ["ClickU", "NormalisedSessionDCG", "SessionDCG", "click_u"]
