"""Measures of answers, citations and summaries: what is judged is a text, and no ranking."""

from __future__ import annotations

from typing import Any

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.scorable import what_of
from cranfield.measures.base import Measure
from cranfield.measures.families import KINDS


class OfTexts(Measure):
    """A measure of texts: it has no cutoff, and says with `reads` what it is computed from."""

    kind = KINDS[2]
    cutoff = None
    judged_only = False

    def score(self, judged: Any) -> Floats:
        if not isinstance(judged, self.reads):
            raise MeasureError(f"{self} is computed from {self.reads.what}, not {what_of(judged)}")
        return self.values(judged)
