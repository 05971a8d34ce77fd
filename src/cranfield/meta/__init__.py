"""Evaluating the evaluation: how good the tests, the measures and the collection are."""

from cranfield.meta.agreement import agreement, publication_bias
from cranfield.meta.false_alarms import FalseAlarms, false_alarms
from cranfield.meta.splits import SplitStudy, split_topics

__all__ = [
    "FalseAlarms",
    "SplitStudy",
    "agreement",
    "false_alarms",
    "publication_bias",
    "split_topics",
]
