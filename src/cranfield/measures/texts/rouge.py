r"""ROUGE: the overlap of a summary with reference summaries (Lin 2004; Sakai 2013, section 3.3).

A unit is an n-gram, a skip bigram (two words in order), or a word of a common subsequence. With
:math:`|s|` units of the summary, :math:`|s^*|` of the reference, and c in common,

.. math:: P = \frac{c}{|s|}, \quad R = \frac{c}{|s^*|},
    \quad F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}.

The parameter `of` selects one: recall for ROUGE-N, which is defined as recall (equation 36), and F
for the others (equation 39). Google's rouge-score shows all three, and its users report F:
`RougeN(n=1, of='F')`.

With several references, a summary is scored against each, and the best score counts
(`references='best'`: Lin's choice for ROUGE-N, and for F that of rouge-score), or their mean.

Words are numbers from 0. Each function of an overlap returns the units in common, and those of the
text and of the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.spec import choice, integer, number, optional, parameter
from cranfield.measures.base import measure
from cranfield.measures.texts import TextMeasure, warn_undefined
from cranfield.texts.summaries import JudgedSummaries, Sentences

_FAMILY = "ROUGE"
_NEEDS = "reference texts"
_SCORE_KIND = choice("recall", "precision", "F")
_SCORE_KIND_DOC = "kind of score: 'recall', 'precision' or 'F'"
_F = r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}"


class _Rouge(TextMeasure, family=_FAMILY, needs=_NEEDS, source="Lin (2004)"):
    """Base class of the ROUGE measures."""

    data_class = JudgedSummaries
    of: str = parameter("F", _SCORE_KIND, _SCORE_KIND_DOC)
    beta: float = parameter(1.0, number(0, 1e6), "weight of recall relative to precision in F")
    references: str = parameter(
        "best", choice("best", "average"), "how to combine several references: 'best' or 'average'"
    )

    def values(self, judged: JudgedSummaries) -> Floats:
        scores = judged.each(self._score, self.references == "average")
        unit_weights = np.ones(len(judged.topics))
        for topic in np.flatnonzero(~scores.any(axis=1)):
            units = (self.overlap(text, text)[2] for text in judged.references[topic])
            unit_weights[topic] = sum(units)
        warn_undefined(self, judged, unit_weights, "the references are too short")
        return scores

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        raise NotImplementedError

    def _score(self, text: Sentences, reference: Sentences) -> float:
        common, n_text, n_reference = self.overlap(text, reference)
        if not common:
            return 0.0
        if self.of == "recall":
            return common / n_reference
        if self.of == "precision":
            return common / n_text
        return (1 + self.beta**2) * common / (self.beta**2 * n_reference + n_text)


def _words(text: Sentences) -> list[int]:
    return list(chain.from_iterable(text))


@measure(
    "RougeN",
    summary="Overlap of n-grams: by default their recall.",
    formula=r"\frac{\sum_{e} \min(\mathit{Count}(e, s), \mathit{Count}(e, s^*))}"
    r"{\sum_{e} \mathit{Count}(e, s^*)}",
    elsewhere={"rouge-score": "rouge1, rouge2, ..."},
)
class RougeN(_Rouge):
    """ROUGE-N."""

    n: int = parameter(1, integer(1, 1000), "words of an n-gram")
    of: str = parameter("recall", _SCORE_KIND, _SCORE_KIND_DOC)

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return ngram_overlap(_words(text), _words(reference), self.n)


class _Skip(_Rouge):
    """Base class of measures of skip bigrams."""

    gap: int | None = parameter(
        None,
        optional(integer(0)),
        "maximum number of words between the two words of a pair; None for any",
    )

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return skip_overlap(_words(text), _words(reference), self.gap)


@measure(
    "RougeS",
    summary="Overlap of skip bigrams, pairs of words in order: by default its F-measure.",
    formula=_F,
)
class RougeS(_Skip):
    """ROUGE-S; `gap=4` is ROUGE-S4, and `gap=0` counts bigrams."""


@measure(
    "RougeSU",
    summary="Overlap of skip bigrams and of single words: by default its F-measure.",
    formula=_F,
)
class RougeSU(_Skip):
    """ROUGE-SU; `gap=4` is ROUGE-SU4."""

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        skips = super().overlap(text, reference)
        words = ngram_overlap(_words(text), _words(reference), 1)
        return skips[0] + words[0], skips[1] + words[1], skips[2] + words[2]


@measure(
    "RougeL",
    summary="Longest common subsequence of words: by default its F-measure.",
    formula=_F + r", \quad P = \frac{\mathit{LCS}(s, s^*)}{|s|},"
    r" \quad R = \frac{\mathit{LCS}(s, s^*)}{|s^*|}",
    elsewhere={"rouge-score": "rougeL"},
)
class RougeL(_Rouge):
    """ROUGE-L of a summary as one sequence of words."""

    def overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        words, reference_words = _words(text), _words(reference)
        return (
            float(lcs_length(words, reference_words)),
            float(len(words)),
            float(len(reference_words)),
        )


@measure(
    "RougeLsum",
    summary="Longest common subsequences sentence by sentence, united: by default its F-measure.",
    formula=_F + r", \quad P = \frac{\sum_i |\mathit{LCS}_\cup(s, r_i)|}{|s|},"
    r" \quad R = \frac{\sum_i |\mathit{LCS}_\cup(s, r_i)|}{|s^*|}",
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


Words = Sequence[int]
Overlap = tuple[float, float, float]
"""Units in common, units of the text, units of the reference."""


def ngram_overlap(text: Words, reference: Words, n: int) -> Overlap:
    """Count the n-grams in common, each by its minimal count in both texts."""
    sides = (text, reference)
    counts, reference_counts = (
        Counter(zip(*(w[k:] for k in range(n)), strict=False)) for w in sides
    )
    common = sum(
        min(count, reference_counts[gram])
        for gram, count in counts.items()
        if gram in reference_counts
    )
    return float(common), float(max(0, len(text) - n + 1)), float(max(0, len(reference) - n + 1))


def pairs(words: int, gap: int | None) -> int:
    """Count the pairs of words in order, with at most `gap` words between them."""
    reach = words - 1 if gap is None else min(gap + 1, words - 1)
    return max(0, reach * words - reach * (reach + 1) // 2)


def skip_overlap(text: Words, reference: Words, gap: int | None) -> Overlap:
    """Count the pairs of words in common that are in the same order, gaps allowed.

    Time is linear in the words of both texts times the distinct common words; memory in the words.
    """
    shared = sorted(set(text) & set(reference))
    codes = {word: k for k, word in enumerate(shared)}
    sides = [_Places(words, codes, gap) for words in (text, reference)]
    common = 0.0
    for second in range(len(shared)):
        counts, reference_counts = (side.before(second) for side in sides)
        common += float(np.minimum(counts, reference_counts).sum())
    return common, float(pairs(len(text), gap)), float(pairs(len(reference), gap))


class _Places:
    """Places in a text of the words that both texts have."""

    def __init__(self, words: Words, codes: dict[int, int], gap: int | None) -> None:
        entries = [(place, codes[word]) for place, word in enumerate(words) if word in codes]
        places = np.array(entries, dtype=np.int64).reshape(-1, 2)
        self.code = places[:, 1]
        self.kinds = len(codes)
        last = np.full(len(places), len(words)) if gap is None else places[:, 0] + 1 + gap
        self.end = np.searchsorted(places[:, 0], last, side="right")
        self.start = np.arange(len(places)) + 1

    def before(self, second: int) -> NDArray[np.float64]:
        """Count, for each word, its places before one of `second` within reach."""
        counts = np.concatenate([[0], np.cumsum(self.code == second)])
        after = (counts[self.end] - counts[self.start]).astype(np.float64)
        return np.asarray(np.bincount(self.code, after, self.kinds), dtype=np.float64)


def lcs_length(text: Words, reference: Words) -> int:
    """Return the length of the longest common subsequence.

    A row of the usual table is the bits of one number (Hyyrö 2004), so it takes a few operations on
    long integers.
    """
    if not text or not reference:
        return 0
    return len(reference) - _rows(text, bits(reference), len(reference))[-1].bit_count()


def bits(words: Words) -> dict[int, int]:
    masks: dict[int, int] = {}
    for place, word in enumerate(words):
        masks[word] = masks.get(word, 0) | 1 << place
    return masks


def _rows(text: Words, places: dict[int, int], length: int) -> list[int]:
    """Return a row of the table per word of the text: a bit is 0 where the length grows."""
    row = full_row = (1 << length) - 1
    rows = []
    for word in text:
        if matches := row & places.get(word, 0):
            row = ((row + matches) | (row - matches)) & full_row
        rows.append(row)
    return rows


def lcs_places(text: Words, places: dict[int, int], length: int) -> int:
    """Return the words of a reference in a longest common subsequence, as bits of a number.

    Of several subsequences it is that of the usual backtracking through the table: from the ends,
    along the reference while the length stays the same.
    """
    mask, remaining = 0, (1 << length) - 1
    for word, row in zip(reversed(text), reversed(_rows(text, places, length)), strict=True):
        matches = places.get(word, 0)
        stop = ((matches | ~row) & remaining).bit_length()
        if not stop:
            break
        last = 1 << (stop - 1)
        remaining = 2 * last - 1
        if matches & last:
            mask |= last
            remaining = last - 1
    return mask


def union_overlap(text: Sequence[Words], reference: Sequence[Words]) -> Overlap:
    """Count the words of reference sentences that are in common with any sentence of the text.

    A word counts at most as often as the text, and the reference, have it.
    """
    text_counts = Counter(word for sentence in text for word in sentence)
    reference_counts = Counter(word for sentence in reference for word in sentence)
    common = 0
    for sentence in reference:
        union, places = 0, bits(sentence)
        for line in text:
            if not places.keys().isdisjoint(line):
                union |= lcs_places(line, places, len(sentence))
        for place, word in enumerate(sentence):
            if union >> place & 1 and text_counts[word] > 0 and reference_counts[word] > 0:
                common += 1
                text_counts[word] -= 1
                reference_counts[word] -= 1
    words = (sum(len(sentence) for sentence in side) for side in (text, reference))
    return (float(common), *(float(count) for count in words))  # type: ignore[return-value]
