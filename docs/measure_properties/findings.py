"""What may be said of a measure: the properties that are computed, and findings on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PROPERTIES: Mapping[str, tuple[str, str, str]] = {
    "graded": (
        "graded",
        "a document of grade 2 in the place of one of grade 1 changes the score of some ranking",
        "Sakai (2013), figure 6 (a)",
    ),
    "ranks": (
        "rank-sensitive",
        "two documents that change places change the score of some ranking",
        "Sakai (2013), sections 2.1 and 2.2",
    ),
    "recall": (
        "recall-dependent",
        "one more relevant document, not retrieved, changes the score of some ranking",
        "Sakai (2013), figure 6 (b) and (c), figure 7 (c) and (d)",
    ),
    "nonrelevant": (
        "needs non-relevant judgments",
        "a document judged not relevant that was not judged changes the score of some ranking",
        "Sakai (2013), section 2.2, condensed lists",
    ),
    "linear": (
        "sum over documents",
        "every score is a sum of what a grade is worth at a rank, whatever else is in the ranking",
        "",
    ),
    "normalised": (
        "normalised",
        "of every topic the best ranking scores 1 and the worst 0, or the other way round",
        "Sakai (2013), section 2.2, normalisation and averaging",
    ),
    "bounded": ("from 0 to 1", "no score is below 0 or above 1", ""),
    "in_range": ("in its range", "no score is outside the range that the measure declares", ""),
    "step": (
        "monotone under a step",
        "a document moved up one rank, past a less relevant one, never makes a ranking worse",
        "",
    ),
    "swap": (
        "monotone under swap",
        "a document that changes places with any less relevant one above it never makes it worse",
        "Ferro and Maistro (2024), section 7.7.2",
    ),
    "replacement": (
        "monotone under replacement",
        "a document in the place of a less relevant one never makes a ranking worse",
        "Ferro and Maistro (2024), section 7.7.2",
    ),
    "top_heavy": (
        "top-heavy",
        "one relevant document gains more from rank 2 to 1 than from rank 100 to 99",
        "Sakai (2013), section 2.2, on AP and on bpref",
    ),
    "diminishing": (
        "diminishing return",
        "a relevant document never raises, and in some ranking lessens, what those below it give",
        "Sakai (2013), section 2.2, on ERR; figure 6 (e)",
    ),
    "any_length": (
        "diminishing at any length",
        "it does so also where relevant documents are short and others long",
        "Sakai (2013), section 2.2, on TBG",
    ),
    "deep": (
        "deep",
        "with a relevant document at rank 1, another one at rank 100 changes the score",
        "",
    ),
    "lengths": (
        "looks at lengths",
        "lengths of documents change the score of some ranking",
        "Sakai (2013), figure 6 (f)",
    ),
    "groups": ("looks at groups", "groups of documents change the score of some ranking", ""),
    "intents": (
        "looks at intents",
        "what documents are relevant to changes the score of some ranking, their grades staying",
        "Sakai (2013), section 3.1",
    ),
    "aspects": (
        "looks at aspects",
        "judgments on another aspect change the score of some ranking",
        "Ferro and Maistro (2024), section 8",
    ),
    "queries": (
        "looks at queries",
        "which query of a session found a document changes the score of some ranking",
        "Sakai (2013), section 3.2",
    ),
}
"""Title, meaning and place in the papers of each property, in order."""


@dataclass(frozen=True)
class Finding:
    """Whether a property holds; None where it was not computed, and the example says why.

    Else it shows rankings that have the property or, of one that never fails, where it does.
    """

    holds: bool | None
    example: str = ""
    compared: int = 0  # comparisons

    def __str__(self) -> str:
        word = {True: "yes", False: "no", None: "not computed"}[self.holds]
        return f"{word}: {self.example}" if self.example else word


@dataclass(frozen=True, eq=False, repr=False)
class Properties:
    """Computed properties of a measure; made by :func:`properties`."""

    measure: str
    findings: Mapping[str, Finding] = field(default_factory=dict)  # by names of `PROPERTIES`
    reason: str = ""  # why nothing was computed; empty if something was

    def __getitem__(self, name: str) -> Finding:
        return self.findings[name]

    def __repr__(self) -> str:
        if self.reason:
            return f"Properties({self.measure}: not computed, {self.reason})"
        true = [PROPERTIES[name][0] for name, one in self.findings.items() if one.holds]
        return f"Properties({self.measure}: {', '.join(true)})"
