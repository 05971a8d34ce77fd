r"""Rank-biased precision of several aspects of relevance, such as understandability.

A document is worth what it is worth in every aspect at once (Zuccon 2016):

.. math:: (1 - p) \sum_r p^{r-1} \, P(R \mid r) \prod_a P(a \mid r)

Where :math:`P(R \mid r)` is the gain of the document at rank r, as in RBP, and
:math:`P(a \mid r)` how far it has the aspect a. A document that is not judged on an aspect does not
have it. The judgments on aspects are given to :func:`cranfield.evaluate` by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import measure
from cranfield.measures.gains import Gain
from cranfield.measures.parameters import integer, names, number, optional, parameter
from cranfield.measures.users.unit_gains import UnitGains

_NEEDS = "judgments on the aspect besides those of relevance"
_ASPECTS_DOC = "aspects that count besides relevance, separated by commas"
_SOURCE = "Zuccon (2016)"


_ABOUT: dict[str, Any] = {
    "family": "several aspects",
    "inputs": ("aspects",),
    "scale_note": "not known to be interval: a product of aspects, discounted by rank",
}


def _unit(value: Any) -> Gain:
    checked: Gain = UnitGains.parameters["gains"].check(value)
    return checked


def first_ranks(rows: Rows) -> Ints:
    """Return the rank of each row before unjudged documents were removed.

    Condensed lists of two aspects have different ranks for the same document; these do not.
    """
    if not isinstance(rows.source, tuple):
        return rows.rank
    whole, chosen = rows.source
    ranks = first_ranks(whole)
    return ranks if chosen is None else ranks[chosen]


def matched(rows: Rows, other: Rows) -> Ints:
    """Find the row of the same document in the same runs judged on another aspect; -1 for none."""
    # Ranks stay far below 2^31, so that a cell and a rank fit into one number.
    wanted, given = (one.cell << 32 | first_ranks(one) for one in (rows, other))
    if not given.size:
        return np.full(wanted.size, -1)
    at = np.minimum(np.searchsorted(given, wanted), given.size - 1)
    return np.where(given[at] == wanted, at, -1)


class _AspectRBP(UnitGains):
    """What the measures share; gains of relevance are those of RBP."""

    p: float = parameter(
        0.8,
        number(0, 1, open_low=True, open_high=True),
        "persistence: the chance that a user goes on to the next document",
    )
    aspect_gains: Gain = parameter(
        Gain("binary"),
        _unit,
        "how far a document of a grade has the aspect: 'binary', 'graded' (grade / highest grade),"
        " or a mapping of grades to numbers in [0, 1]",
    )
    aspect_rel: int = parameter(
        1, integer(0), "lowest grade with which a document has the aspect (binary)"
    )
    aspects: str | None

    def score(self, judged: JudgedRuns) -> Floats:
        # Aspects are looked up in the whole list: their own condensed lists end elsewhere.
        view = judged.condensed() if self.judged_only else judged
        if self.cutoff is not None:
            view = view.top(self.cutoff)
        rows = view.judged()
        worth = self.worth(view, rows)
        for name in self._names(judged):
            worth = worth * self._extent(judged.aspect(name, str(self)), rows)
        return rows.total(worth * (1.0 - self.p) * self.p ** (rows.rank - 1))

    def _names(self, judged: JudgedRuns) -> list[str]:
        given = list(judged.annotations.aspects)
        if self.aspects is None and not given:
            raise MeasureError(f"{self} needs judgments on another aspect, and none are given")
        return given if self.aspects is None else self.aspects.split(",")

    def _extent(self, other: JudgedRuns, rows: Rows) -> Floats:
        """How far each document has an aspect; 0 for one that is not judged on it."""
        known = other.judged()
        at = matched(rows, known)
        grades = known.grade
        if isinstance(self.aspect_gains.kind, tuple):
            worth = np.zeros(grades.size)
            for grade, gain in self.aspect_gains.kind:
                worth[grades == grade] = gain
        elif self.aspect_gains.kind == "graded":
            worth = np.maximum(grades, 0) / max(other.judgments.max_grade, 1)
        else:
            worth = (grades >= self.aspect_rel).astype(np.float64)
        return np.where(at >= 0, worth[at], 0.0) if worth.size else np.zeros(at.size)


@measure(
    "uRBP",
    summary="RBP in which only documents that the user understands are of use.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \, P(U \mid r)",
    source=_SOURCE,
    needs=_NEEDS,
    elsewhere={"ubire": "uRBP; uRBPgr is aspect_gains='graded' or a mapping"},
    **_ABOUT,
)
class UnderstandabilityRBP(_AspectRBP):
    """Understandability-biased RBP.

    With `aspect_gains='binary'` a document is understood or not; with 'graded' or a mapping it is
    uRBPgr of the source, whose campaigns chose the mapping. trectools 0.0.50 (`get_urbp`) gives the
    same scores, with `normalization_factor` for 1 over the highest grade.
    """

    aspects: str = parameter("understandability", names, _ASPECTS_DOC)


@measure(
    "cRBP",
    summary="RBP in which only credible documents are of use.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \, P(C \mid r)",
    source=_SOURCE + ", with credibility in place of understandability"
    " as in Ferro and Maistro (2024), section 8",
    needs=_NEEDS,
    **_ABOUT,
)
class CredibilityRBP(_AspectRBP):
    """Credibility-biased RBP."""

    aspects: str = parameter("credibility", names, _ASPECTS_DOC)


@measure(
    "aRBP",
    summary="RBP in which only documents with all aspects are of use.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \prod_a P(a \mid r)",
    source=_SOURCE + ", for any number of aspects",
    needs="judgments on aspects besides those of relevance",
    **_ABOUT,
)
class AspectRBP(_AspectRBP):
    """RBP biased by several aspects, all those that judgments are given for unless some are named.

    Aspects count as independent of each other, as relevance and understandability do in the
    source.
    """

    aspects: str | None = parameter(None, optional(names), _ASPECTS_DOC + "; all by default")
