"""Measures of answers, citations and summaries: texts instead of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.rows import divide
from cranfield.measures.base import Measure
from cranfield.measures.families import KINDS


class TextMeasure(Measure):
    """Base class of measures of texts, which have no cutoff; subclasses set `data_class`."""

    kind = KINDS[2]
    cutoff = None
    judged_only = False

    def score(self, judged: Any) -> Floats:
        self.require_readable(judged)
        return self.values(judged)


def divide_by_topic(
    measure: Measure, judged: Any, totals: Floats, weights: Floats, reason: str
) -> Floats:
    """Divide totals (topics, systems) by weights (topics,), with a warning where these are 0."""
    warn_of_zeros(measure, judged, weights, reason)
    return divide(totals, weights[:, None])


def warn_of_zeros(measure: Measure, judged: Any, weights: Floats, reason: str) -> None:
    """Warn of topics with weight 0, on which every system scores 0, and name the reason."""
    topics = [quote(judged.topics[k]) for k in np.flatnonzero(weights == 0)]
    if topics:
        warn(
            f"{measure} is 0 for every system on {inflect(len(topics), 'topic')}"
            f" ({list_some(topics, 3)}): {reason}"
        )
