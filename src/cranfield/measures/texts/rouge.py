r"""Measures of a text against reference texts: ROUGE and exact match.

ROUGE is the overlap with reference summaries (Lin 2004; Sakai 2013, section 3.3). A unit is an
n-gram, a skip bigram (two words in order), or a word of a common subsequence. With :math:`|s|`
units of the summary, :math:`|s^*|` units of the reference, and c units in common,

.. math:: P = \frac{c}{|s|}, \quad R = \frac{c}{|s^*|},
    \quad F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}.

The parameter `of` selects one of them: by default recall for ROUGE-N, as it is defined (equation
36), and F for other measures (equation 39). Google's rouge-score computes all three; usually F is
reported, such as `RougeN(n=1, of='F')`.

With several references, a summary is scored against each, and the score is the highest
(`references='best'`, as in Lin's ROUGE-N and the F of rouge-score) or the mean.

Words are represented by integers from 0. Functions of overlap return the numbers of units in
common, in the text and in the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.spec import choice, integer, number, optional, parameter
from cranfield.measures.base import measure
from cranfield.measures.texts import TextMeasure, warn_of_zeros
from cranfield.texts.summaries import JudgedSummaries, Sentences

_FAMILY = "ROUGE"
_NEEDS = "reference texts"
_KIND_CHECK = choice("recall", "precision", "F")
_KIND_DOC = "kind of score: 'recall', 'precision' or 'F'"
_F = r"\frac{(1 + \beta^2) P R}{\beta^2 P + R}"


class _Rouge(TextMeasure, family=_FAMILY, needs=_NEEDS, source="Lin (2004)"):
    data_class = JudgedSummaries
    of: str = parameter("F", _KIND_CHECK, _KIND_DOC)
    beta: float = parameter(1.0, number(0, 1e6), "weight of recall relative to precision in F")
    references: str = parameter(
        "best", choice("best", "average"), "score of several references: 'best' or 'average'"
    )

    def values(self, judged: JudgedSummaries) -> Floats:
        scores = judged.score_texts(self._score, self.references == "average")
        # Number of units of the references; it can be 0 only on topics where all scores are 0.
        n_units = np.ones(len(judged.topics))
        for topic in np.flatnonzero(~scores.any(axis=1)):
            texts = judged.references[topic]
            n_units[topic] = sum(self.count_overlap(text, text)[2] for text in texts)
        warn_of_zeros(self, judged, n_units, "the reference texts have too few words")
        return scores

    def count_overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        raise NotImplementedError

    def _score(self, text: Sentences, reference: Sentences) -> float:
        n_common, n_text, n_reference = self.count_overlap(text, reference)
        if not n_common:
            return 0.0
        if self.of == "recall":
            return n_common / n_reference
        if self.of == "precision":
            return n_common / n_text
        return (1 + self.beta**2) * n_common / (self.beta**2 * n_reference + n_text)


def _flatten(text: Sentences) -> list[int]:
    return list(chain.from_iterable(text))


@measure(
    "ExactMatch",
    aliases=("EM",),
    summary="Whether a text has the same words, in the same order, as a reference text.",
    formula="[s = s^*]",
    source="Rajpurkar et al. (2016)",
    scale_note="on an interval scale, as it has only two values",
    needs=_NEEDS,
    family="question answering",
    elsewhere={"SQuAD": "exact_match, of words by tokeniser='squad'"},
)
class ExactMatch(TextMeasure):
    """1 if the words are equal to those of any reference, else 0."""

    data_class = JudgedSummaries

    def values(self, judged: JudgedSummaries) -> Floats:
        return judged.score_texts(
            lambda text, reference: float(_flatten(text) == _flatten(reference)), is_mean=False
        )


@measure(
    "RougeN",
    summary="Overlap of n-grams, by default as recall.",
    formula=r"\frac{\sum_{e} \min(\mathit{Count}(e, s), \mathit{Count}(e, s^*))}"
    r"{\sum_{e} \mathit{Count}(e, s^*)}",
    elsewhere={"rouge-score": "rouge1, rouge2, ..."},
)
class RougeN(_Rouge):
    """ROUGE-N."""

    n: int = parameter(1, integer(1, 1000), "number of words in an n-gram")
    of: str = parameter("recall", _KIND_CHECK, _KIND_DOC)

    def count_overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return count_ngram_overlap(_flatten(text), _flatten(reference), self.n)


class _SkipBigrams(_Rouge):
    """Base class of measures of skip bigrams, pairs of words in order."""

    gap: int | None = parameter(
        None,
        optional(integer(0)),
        "maximum number of words between the two words of a pair; None for no limit",
    )

    def count_overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        return count_skip_overlap(_flatten(text), _flatten(reference), self.gap)


@measure(
    "RougeS",
    summary="Overlap of skip bigrams, pairs of words in order, by default as F-measure.",
    formula=_F,
)
class RougeS(_SkipBigrams):
    """ROUGE-S; `gap=4` is ROUGE-S4, and `gap=0` counts ordinary bigrams."""


@measure(
    "RougeSU",
    summary="Overlap of skip bigrams and single words, by default as F-measure.",
    formula=_F,
)
class RougeSU(_SkipBigrams):
    """ROUGE-SU; `gap=4` is ROUGE-SU4."""

    def count_overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        bigrams = super().count_overlap(text, reference)
        words = count_ngram_overlap(_flatten(text), _flatten(reference), 1)
        return bigrams[0] + words[0], bigrams[1] + words[1], bigrams[2] + words[2]


@measure(
    "RougeL",
    summary="Longest common subsequence of words, by default as F-measure.",
    formula=_F + r", \quad P = \frac{\mathit{LCS}(s, s^*)}{|s|},"
    r" \quad R = \frac{\mathit{LCS}(s, s^*)}{|s^*|}",
    elsewhere={"rouge-score": "rougeL"},
)
class RougeL(_Rouge):
    """ROUGE-L of a summary as one sequence of words."""

    def count_overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        words, reference_words = _flatten(text), _flatten(reference)
        return compute_lcs_length(words, reference_words), len(words), len(reference_words)


@measure(
    "RougeLsum",
    summary="Union of the longest common subsequences of sentences, by default as F-measure.",
    formula=_F + r", \quad P = \frac{\sum_i |\mathit{LCS}_\cup(s, r_i)|}{|s|},"
    r" \quad R = \frac{\sum_i |\mathit{LCS}_\cup(s, r_i)|}{|s^*|}",
    needs=_NEEDS + " with one sentence per line",
    elsewhere={"rouge-score": "rougeLsum"},
)
class RougeLsum(_Rouge):
    """ROUGE-L at the level of summaries, where each line is a sentence.

    A word of a reference sentence counts if it is in a longest common subsequence with any sentence
    of the summary, but no word counts more often than it occurs in the summary.
    """

    def count_overlap(self, text: Sentences, reference: Sentences) -> Overlap:
        counts = Counter(_flatten(text))
        n_common = 0
        for sentence in reference:
            union, masks = 0, make_position_masks(sentence)
            for text_sentence in text:
                if not masks.keys().isdisjoint(text_sentence):
                    union |= make_lcs_mask(text_sentence, masks, len(sentence))
            for position, word in enumerate(sentence):
                if union >> position & 1 and counts[word] > 0:
                    n_common += 1
                    counts[word] -= 1
        return n_common, len(_flatten(text)), len(_flatten(reference))


Words = Sequence[int]
Overlap = tuple[float, float, float]
"""Numbers of units: in both, in the text, and in the reference."""


def count_ngram_overlap(text: Words, reference: Words, n: int) -> Overlap:
    """Count the n-grams in both texts; an n-gram counts as often as it occurs in both."""
    counts, reference_counts = (
        Counter(zip(*(words[k:] for k in range(n)), strict=False)) for words in (text, reference)
    )
    n_common = (counts & reference_counts).total()
    return n_common, max(0, len(text) - n + 1), max(0, len(reference) - n + 1)


def count_pairs(n_words: int, gap: int | None) -> int:
    """Count the pairs of words in order, with at most `gap` words between them."""
    max_distance = n_words - 1 if gap is None else min(gap + 1, n_words - 1)
    return max(0, max_distance * n_words - max_distance * (max_distance + 1) // 2)


def count_skip_overlap(text: Words, reference: Words, gap: int | None) -> Overlap:
    """Count the pairs of words that occur in this order in both texts."""
    common_words = sorted(set(text) & set(reference))
    codes = {word: k for k, word in enumerate(common_words)}
    counts = zip(*(_yield_counts(words, codes, gap) for words in (text, reference)), strict=True)
    n_common = sum(float(np.minimum(*pair).sum()) for pair in counts)
    return n_common, count_pairs(len(text), gap), count_pairs(len(reference), gap)


def _yield_counts(words: Words, codes: dict[int, int], gap: int | None) -> Iterator[Floats]:
    """Yield, for each second word of pairs, the number of pairs with each first word, by code."""
    entries = [(k, codes[word]) for k, word in enumerate(words) if word in codes]
    position, code = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    last_position = np.full(code.size, len(words)) if gap is None else position + 1 + gap
    # The second word of a pair is at the indices from start to end.
    end = np.searchsorted(position, last_position, side="right")
    start = np.arange(code.size) + 1
    for second_code in range(len(codes)):
        counts = np.concatenate([[0], np.cumsum(code == second_code)])
        yield np.bincount(code, counts[end] - counts[start], len(codes)).astype(np.float64)


def compute_lcs_length(text: Words, reference: Words) -> int:
    """Return the length of the longest common subsequence.

    Each row of the dynamic programming table is stored as the bits of an integer (Hyyrö 2004).
    """
    if not text or not reference:
        return 0
    rows = _fill_rows(text, make_position_masks(reference), len(reference))
    return len(reference) - rows[-1].bit_count()


def make_position_masks(words: Words) -> dict[int, int]:
    """Return the positions of each word, as bits of an integer."""
    masks: dict[int, int] = {}
    for position, word in enumerate(words):
        masks[word] = masks.get(word, 0) | 1 << position
    return masks


def _fill_rows(text: Words, masks: dict[int, int], length: int) -> list[int]:
    """Return a row of the table for each word of the text; a bit is 0 where the length grows."""
    row = full_row = (1 << length) - 1
    rows = []
    for word in text:
        if matches := row & masks.get(word, 0):
            row = ((row + matches) | (row - matches)) & full_row
        rows.append(row)
    return rows


def make_lcs_mask(text: Words, masks: dict[int, int], length: int) -> int:
    """Return the positions of a longest common subsequence in the reference, as bits.

    If several subsequences are longest, backtracking through the table selects one: from the end,
    it moves back along the reference as long as the length stays the same.
    """
    mask, remaining_bits = 0, (1 << length) - 1
    for word, row in zip(reversed(text), reversed(_fill_rows(text, masks, length)), strict=True):
        matches = masks.get(word, 0)
        stop = ((matches | ~row) & remaining_bits).bit_length()
        if not stop:
            break
        last_bit = 1 << (stop - 1)
        remaining_bits = 2 * last_bit - 1
        if matches & last_bit:
            mask |= last_bit
            remaining_bits = last_bit - 1
    return mask
