"""What two texts have in common: n-grams, pairs of words, and subsequences.

Words are numbers from 0. Each function returns the size of the overlap, and what it is compared
with: the size of the text and of the reference, in the same units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = Sequence[int]
Overlap = tuple[float, float, float]
"""Units in common, units of the text, units of the reference."""


def ngram_overlap(text: Words, reference: Words, n: int) -> Overlap:
    """Count the n-grams in common, each as often as both texts have it."""
    one, other = (Counter(zip(*(w[k:] for k in range(n)), strict=False)) for w in (text, reference))
    common = sum(min(count, other[gram]) for gram, count in one.items() if gram in other)
    return float(common), float(max(0, len(text) - n + 1)), float(max(0, len(reference) - n + 1))


def pairs(words: int, gap: int | None) -> int:
    """Count the pairs of words in order, with at most `gap` words between them."""
    reach = words - 1 if gap is None else min(gap + 1, words - 1)
    return max(0, reach * words - reach * (reach + 1) // 2)


def skip_overlap(text: Words, reference: Words, gap: int | None) -> Overlap:
    """Count the pairs of words in common that are in the same order, gaps allowed.

    Time is by the words of both texts times the different words in common; memory by the words.
    """
    shared = sorted(set(text) & set(reference))
    codes = {word: k for k, word in enumerate(shared)}
    sides = [_Places(words, codes, gap) for words in (text, reference)]
    common = 0.0
    for second in range(len(shared)):
        one, other = (side.before(second) for side in sides)
        common += float(np.minimum(one, other).sum())
    return common, float(pairs(len(text), gap)), float(pairs(len(reference), gap))


class _Places:
    """The places in a text of the words that both texts have."""

    def __init__(self, words: Words, codes: dict[int, int], gap: int | None) -> None:
        found = [(place, codes[word]) for place, word in enumerate(words) if word in codes]
        both = np.array(found, dtype=np.int64).reshape(-1, 2)
        self.code = both[:, 1]
        self.kinds = len(codes)
        last = np.full(len(both), len(words)) if gap is None else both[:, 0] + 1 + gap
        self.end = np.searchsorted(both[:, 0], last, side="right")
        self.start = np.arange(len(both)) + 1

    def before(self, second: int) -> NDArray[np.float64]:
        """Count, for each word, its places before one of `second` within reach."""
        seen = np.concatenate([[0], np.cumsum(self.code == second)])
        after = (seen[self.end] - seen[self.start]).astype(np.float64)
        return np.asarray(np.bincount(self.code, after, self.kinds), dtype=np.float64)


def lcs_length(text: Words, reference: Words) -> int:
    """Return the length of the longest common subsequence.

    It keeps a row of the usual table as the bits of one number (Hyyrö 2004), so a row is a few
    operations on long integers.
    """
    if not text or not reference:
        return 0
    return len(reference) - _rows(text, bits(reference), len(reference))[-1].bit_count()


def bits(words: Words) -> dict[int, int]:
    """Return the places of each word, as bits of a number."""
    found: dict[int, int] = {}
    for place, word in enumerate(words):
        found[word] = found.get(word, 0) | 1 << place
    return found


def _rows(text: Words, places: dict[int, int], length: int) -> list[int]:
    """Rows of the table, one a word of the text: a bit is 0 where the length grows by one."""
    row = full = (1 << length) - 1
    rows = []
    for word in text:
        if here := row & places.get(word, 0):
            row = ((row + here) | (row - here)) & full
        rows.append(row)
    return rows


def lcs_places(text: Words, places: dict[int, int], length: int) -> int:
    """Return the words of a reference in a longest common subsequence, as bits of a number.

    Of several subsequences it is the one that the usual way back through the table finds: from the
    ends, along the reference while the length stays the same.
    """
    found, left = 0, (1 << length) - 1
    for word, row in zip(reversed(text), reversed(_rows(text, places, length)), strict=True):
        here = places.get(word, 0)
        stop = ((here | ~row) & left).bit_length()
        if not stop:
            break
        last = 1 << (stop - 1)
        left = 2 * last - 1
        if here & last:
            found |= last
            left = last - 1
    return found


def union_overlap(text: Sequence[Words], reference: Sequence[Words]) -> Overlap:
    """Count the words of reference sentences that are in common with any sentence of the text.

    A word counts at most as often as the text, and the reference, have it.
    """
    left = Counter(word for sentence in text for word in sentence)
    wanted = Counter(word for sentence in reference for word in sentence)
    common = 0
    for sentence in reference:
        union, places = 0, bits(sentence)
        for other in text:
            if not places.keys().isdisjoint(other):
                union |= lcs_places(other, places, len(sentence))
        for place, word in enumerate(sentence):
            if union >> place & 1 and left[word] > 0 and wanted[word] > 0:
                common += 1
                left[word] -= 1
                wanted[word] -= 1
    words = (sum(len(sentence) for sentence in side) for side in (text, reference))
    return (float(common), *(float(count) for count in words))  # type: ignore[return-value]
