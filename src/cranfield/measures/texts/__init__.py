"""Measures of answers, citations and summaries: what is judged is a text, and no ranking."""

from __future__ import annotations

from typing import Any

from cranfield.base.arrays import Floats
from cranfield.measures.base import Measure
from cranfield.measures.families import KINDS


class OfTexts(Measure):
    """A measure of texts: it has no cutoff, and says with `reads` what it is computed from."""

    kind = KINDS[2]
    cutoff = None
    judged_only = False

    def score(self, judged: Any) -> Floats:
        self.require_readable(judged)
        return self.values(judged)
