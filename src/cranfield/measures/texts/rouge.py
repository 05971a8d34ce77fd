r"""ROUGE: the overlap of a summary with reference summaries (Lin 2004; Sakai 2013, section 3.3).

A unit is an n-gram, a skip bigram (two words in order), or a word of a common subsequence. With
:math:`|s|` units of the summary, :math:`|s^*|` of the reference, and c in common,

.. math:: P = \frac{c}{|s|}, \quad R = \frac{c}{|s^*|},
    \quad F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}.

Which one a measure is says `of`: recall for ROUGE-N, which is defined as recall (equation 36), and
F for the others (equation 39). Google's rouge-score shows all three, and its users report F:
`RougeN(n=1, of='F')`.

With several references, a summary is scored against each, and the best score counts
(`references='best'`: Lin's choice for ROUGE-N, and for F that of rouge-score), or their mean.
"""

from __future__ import annotations

from itertools import chain

from cranfield.base.arrays import Floats
from cranfield.measures.base import measure
from cranfield.measures.parameters import choice, integer, number, optional, parameter
from cranfield.measures.texts.base import OfTexts
from cranfield.measures.texts.text_overlap import (
    Overlap,
    lcs_length,
    ngram_overlap,
    skip_overlap,
    union_overlap,
)
from cranfield.texts.summaries import JudgedSummaries, Sentences

_FAMILY = "ROUGE"
_NEEDS = "reference texts"
_OF = choice("recall", "precision", "F")
_OF_DOC = "what it is: 'recall', 'precision' or 'F'"
_F = r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}"


class _Rouge(OfTexts):
    """What all ROUGE measures share."""

    reads = JudgedSummaries
    of: str = parameter("F", _OF, _OF_DOC)
    beta: float = parameter(1.0, number(0, 1e6), "how much more recall weighs than precision in F")
    references: str = parameter(
        "best", choice("best", "average"), "what several references give: 'best' or 'average'"
    )

    def values(self, judged: JudgedSummaries) -> Floats:
        return judged.each(self._score, self.references == "average")

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        """Return the units in common, those of the text and those of the reference."""
        raise NotImplementedError

    def _score(self, text: Sentences, reference: Sentences) -> float:
        common, found, wanted = self.overlap(text, reference)
        if not common:
            return 0.0
        if self.of == "recall":
            return common / wanted
        if self.of == "precision":
            return common / found
        return (1 + self.beta**2) * common / (self.beta**2 * wanted + found)


def _words(text: Sentences) -> list[int]:
    return list(chain.from_iterable(text))


@measure(
    "RougeN",
    summary="Overlap of n-grams: by default their recall.",
    formula=r"\frac{\sum_{e} \min(\mathit{Count}(e, s), \mathit{Count}(e, s^*))}"
    r"{\sum_{e} \mathit{Count}(e, s^*)}",
    source="Sakai (2013), equation (36); Lin (2004)",
    family=_FAMILY,
    needs=_NEEDS,
    elsewhere={"rouge-score": "rouge1, rouge2, ..."},
)
class RougeN(_Rouge):
    """ROUGE-N."""

    n: int = parameter(1, integer(1, 1000), "words of an n-gram")
    of: str = parameter("recall", _OF, _OF_DOC)

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return ngram_overlap(_words(text), _words(reference), self.n)


class _Skip(_Rouge):
    """What measures of skip bigrams share."""

    gap: int | None = parameter(
        None,
        optional(integer(0)),
        "words that may stand between two of a pair; any number if not given",
    )

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return skip_overlap(_words(text), _words(reference), self.gap)


@measure(
    "RougeS",
    summary="Overlap of skip bigrams, pairs of words in order: by default its F-measure.",
    formula=_F,
    source="Sakai (2013), equations (37) to (39); Lin (2004)",
    family=_FAMILY,
    needs=_NEEDS,
)
class RougeS(_Skip):
    """ROUGE-S; `gap=4` is ROUGE-S4, and `gap=0` counts bigrams."""


@measure(
    "RougeSU",
    summary="Overlap of skip bigrams and of single words: by default its F-measure.",
    formula=_F,
    source="Sakai (2013), section 3.3; Lin (2004)",
    family=_FAMILY,
    needs=_NEEDS,
)
class RougeSU(_Skip):
    """ROUGE-SU; `gap=4` is ROUGE-SU4."""

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        one = super().overlap(text, reference)
        other = ngram_overlap(_words(text), _words(reference), 1)
        return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@measure(
    "RougeL",
    summary="Longest common subsequence of words: by default its F-measure.",
    formula=_F + r", \quad P = \frac{\mathit{LCS}(s, s^*)}{|s|},"
    r" \quad R = \frac{\mathit{LCS}(s, s^*)}{|s^*|}",
    source="Lin (2004)",
    family=_FAMILY,
    needs=_NEEDS,
    elsewhere={"rouge-score": "rougeL"},
)
class RougeL(_Rouge):
    """ROUGE-L of a summary as one sequence of words."""

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        one, other = _words(text), _words(reference)
        return float(lcs_length(one, other)), float(len(one)), float(len(other))


@measure(
    "RougeLsum",
    summary="Longest common subsequences sentence by sentence, united: by default its F-measure.",
    formula=_F + r", \quad P = \frac{\sum_i |\mathit{LCS}_\cup(s, r_i)|}{|s|},"
    r" \quad R = \frac{\sum_i |\mathit{LCS}_\cup(s, r_i)|}{|s^*|}",
    source="Lin (2004)",
    family=_FAMILY,
    needs=_NEEDS + " with a sentence a line",
    elsewhere={"rouge-score": "rougeLsum"},
)
class RougeLsum(_Rouge):
    """ROUGE-L at the level of summaries, where each line is a sentence.

    A sentence of the reference counts the words that it has in common with any sentence of the
    summary; no word counts more often than the summary has it.
    """

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return union_overlap(text, reference)
