"""Answers and summaries, with nuggets, citations and reference texts.

They are read by :func:`judge_answers`, :func:`read_nugget_assignments`, :func:`read_citations` and
:func:`judge_summaries`, and scored by :func:`cranfield.evaluate_answers`.
"""

from cranfield.texts.answers import JudgedAnswers, judge_answers, read_nugget_assignments
from cranfield.texts.citations import JudgedCitations, read_citations
from cranfield.texts.gold import Nuggets, read_nuggets
from cranfield.texts.summaries import JudgedSummaries, judge_summaries

__all__ = [
    "JudgedAnswers",
    "JudgedCitations",
    "JudgedSummaries",
    "Nuggets",
    "judge_answers",
    "judge_summaries",
    "read_citations",
    "read_nugget_assignments",
    "read_nuggets",
]


def __dir__() -> list[str]:
    return list(__all__)
