"""Numbers in text, most of which are a few digits, read by array operations on words."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.collection.words import MASKS, ids_of, word_at, words_of
from cranfield.sources.values import numbers_in

Word = NDArray[np.uint64]

_POINT = np.uint64(0x2E2E2E2E2E2E2E2E)
_ZEROS = np.uint64(0x3030303030303030)
_ONES, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_OVER_NINE = np.uint64(0x7676767676767676)
_PAIRS = np.uint64(0x000000FF000000FF)
_HUNDREDS, _UNITS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
_1, _3, _8, _16, _32, _56, _63, _64 = (np.uint64(bits) for bits in (1, 3, 8, 16, 32, 56, 63, 64))
_TEN = np.uint64(10)

_DIGITS = 18
"""Digits of a number that is read at once: it fits into a word."""

_EXACT = np.uint64(1 << 53)
"""Up to here each integer is a float, and so is each of the powers of ten."""

_INTEGER_POWERS = np.array([10**power for power in range(_DIGITS + 1)], np.uint64)
_POWERS = _INTEGER_POWERS.astype(np.float64)


def digits(words: Word, counts: Indices) -> tuple[Word, Bools]:
    """Read up to 8 digits each, and tell where there is anything else; no digits are 0."""
    empty = counts.view(np.uint64) << _3
    np.subtract(_64, empty, out=empty)
    empty &= _63
    # The digits go to the end of the word, behind zeros.
    values = words - _ZEROS
    values <<= empty
    if not counts.all():
        values *= counts > 0
    odd = values + _OVER_NINE
    odd |= values
    odd &= _HIGH
    pairs = values >> _8
    values *= _TEN
    values += pairs
    np.right_shift(values, _16, out=pairs)
    values &= _PAIRS
    values *= _HUNDREDS
    pairs &= _PAIRS
    pairs *= _UNITS
    values += pairs
    values >>= _32
    return values, odd != 0


def whole_numbers(text: bytes, starts: Indices, ends: Indices) -> NDArray[np.int32] | None:
    """Read integers of up to 8 digits, without a sign; None where there is anything else."""
    counts = ends - starts
    if int(counts.max(initial=0)) > 8:
        return None
    values, wrong = digits(word_at(text, starts, counts), counts)
    return None if wrong.any() else values.astype(np.int32)


def numbers(text: bytes, starts: Indices, ends: Indices) -> Floats | None:
    """Read finite numbers, each as the float next to it; None where there is anything else."""
    below = np.frombuffer(text, np.uint8)[starts] == ord("-")
    first = starts + below
    values, usual = _decimals(text, first, ends)
    np.negative(values, out=values, where=below)
    if not usual.all():
        rows = np.flatnonzero(~usual)
        words = words_of(text, starts[rows], ends[rows])
        if words is None:
            return None
        others = pl.DataFrame({"number": ids_of(words)}).select(numbers_in(pl.col("number")))
        if others["number"].null_count():
            return None
        values[rows] = others["number"].to_numpy()
    return values


def _decimals(text: bytes, starts: Indices, ends: Indices) -> tuple[Floats, Bools]:
    """Read digits with a point or without; tell which rows are such, and exact."""
    counts = ends - starts
    words = word_at(text, starts, counts)
    # The lowest byte that is a point has its highest bit set here, and no byte below it has.
    points = words ^ _POINT
    below = points - _ONES
    np.invert(points, out=points)
    points &= below
    points &= _HIGH
    has = points != 0
    # Of the bits below it, the lowest one of each byte is counted.
    np.subtract(points, _1, out=below)
    np.invert(points, out=points)
    below &= points
    below &= _ONES
    below *= _ONES
    below >>= _56
    before = below.view(np.int64)
    before -= 1
    usual = np.ones(counts.size, dtype=bool)
    if not has.all():
        usual = has | (counts <= 8)
        before = np.where(has, before, np.minimum(counts, 8))
    after = counts - before
    after -= 1
    np.maximum(after, 0, out=after)
    words &= MASKS.take(before)
    rest, wrong = digits(words, before)
    start = starts + before
    start += 1
    most = int(after.max(initial=0))
    for skipped in range(0, min(most, _DIGITS), 8):
        here = np.clip(after - skipped, 0, 8) if most > 8 else after
        part, odd = digits(word_at(text, start + skipped, here), here)
        wrong |= odd
        rest *= _INTEGER_POWERS.take(here)
        rest += part
    usual &= ~wrong
    usual &= rest <= _EXACT
    before += after
    usual &= before <= _DIGITS
    if not before.all():
        usual &= before > 0
    return rest / _POWERS.take(after, mode="clip"), usual
