"""Measures of answers, citations and summaries: texts instead of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.collection.judged.rows import ratio
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


def per_topic(measure: Measure, judged: Any, totals: Floats, weights: Floats, lacks: str) -> Floats:
    """Divide scores by a value of each topic; warn where it is 0, as every system scores 0 there.

    `totals` has shape (topics, systems), `weights` (topics,); `lacks` is the reason for a 0, such
    as `no vital nuggets`.
    """
    warn_undefined(measure, judged, weights, lacks)
    return ratio(totals, weights[:, None])


def warn_undefined(measure: Measure, judged: Any, weights: Floats, lacks: str) -> None:
    """Warn of topics where `weights` is 0, on which every system scores 0."""
    empty = [quoted(judged.topics[k]) for k in np.flatnonzero(weights == 0)]
    if empty:
        warn(
            f"{measure} is 0 for every system on {counted(len(empty), 'topic')}"
            f" ({some_of(empty, 3)}): {lacks}",
            stacklevel=3,
        )
