"""What may be said of a measure: the properties that are computed, and findings on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PROPERTIES: Mapping[str, tuple[str, str]] = {
    "graded": ("graded", "a higher grade of a relevant document can change the score"),
    "ranks": ("rank-sensitive", "the order of the documents can change the score"),
    "recall": ("recall-dependent", "relevant documents that are not retrieved can change it"),
    "nonrelevant": (
        "needs non-relevant judgments",
        "judged not relevant is not the same as unjudged",
    ),
    "normalised": ("normalised", "for every topic the best ranking scores 1 and the worst 0"),
    "bounded": ("from 0 to 1", "no score is below 0 or above 1"),
    "in_range": ("in its range", "no score is outside the declared range"),
    "step": (
        "monotone under a step up",
        "a document one rank up past a less relevant one never hurts",
    ),
    "swap": ("monotone under swap", "exchange with a less relevant document above never hurts"),
    "replacement": ("monotone under replacement", "a more relevant document in place never hurts"),
    "top_heavy": ("top-heavy", "rank 2 to 1 matters more than rank 100 to 99"),
    "diminishing": ("diminishing return", "a relevant document lessens what those below it give"),
    "any_length": ("diminishing at any length", "it does so whatever the lengths of documents"),
    "deep": ("deep", "a second relevant document at rank 100 changes the score"),
    "lengths": ("looks at lengths", "lengths of documents can change the score"),
    "groups": ("looks at groups", "groups of documents can change the score"),
    "intents": ("looks at intents", "what a document is relevant to can change the score"),
    "aspects": ("looks at aspects", "judgments on another aspect can change the score"),
}
"""Title and short meaning of each property, in order."""


@dataclass(frozen=True)
class Finding:
    """Whether a property holds.

    Attributes
    ----------
    holds
        True, False, or None where it was not computed.
    example
        Of a property that is there: rankings that show it. Of one that never fails: rankings where
        it does. Why, where it was not computed.
    compared
        Number of comparisons.
    """

    holds: bool | None
    example: str = ""
    compared: int = 0

    def __str__(self) -> str:
        word = {True: "yes", False: "no", None: "not computed"}[self.holds]
        return f"{word}: {self.example}" if self.example else word


@dataclass(frozen=True, eq=False, repr=False)
class Properties:
    """Computed properties of a measure; made by :func:`properties`.

    Attributes
    ----------
    measure
        Its text form.
    findings
        A finding for each name of `PROPERTIES`.
    reason
        Why nothing was computed; empty if something was.
    """

    measure: str
    findings: Mapping[str, Finding] = field(default_factory=dict)
    reason: str = ""

    def __getitem__(self, name: str) -> Finding:
        return self.findings[name]

    def __repr__(self) -> str:
        if self.reason:
            return f"Properties({self.measure}: not computed, {self.reason})"
        true = [PROPERTIES[name][0] for name, one in self.findings.items() if one.holds]
        return f"Properties({self.measure}: {', '.join(true)})"
