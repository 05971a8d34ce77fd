"""Measures whose values are sums over ranks of weights of grades: counts, gains, RBP and DCG."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.measures.gains import Discount
from cranfield.measures.parameters import fraction_of
from cranfield.measures.ranked.dcg import nDCG
from cranfield.measures.ranked.precision import GeneralisedPrecision, OfCounts, RPrecision
from cranfield.measures.users.rank_biased import RankBiasedPrecision
from cranfield.scales.forms.exact_numbers import ONE, ZERO, Terms, rational, root, terms
from cranfield.scales.forms.form import Additive, Form, Row, Setting, exactly, row_of, upto
from cranfield.scales.forms.stateful import ByCount


def of_counts(measure: OfCounts, setting: Setting) -> Form:
    """A sum where each relevant document adds the same; but for SetAP, which is a square."""
    depth, relevant = setting.depth(measure), setting.relevant(measure)
    sizes = (np.array(Fraction(size)) for size in (depth, setting.recall_base(measure)))
    scores = row_of(exactly(measure).share(upto(depth), *sizes))
    steps = [more - fewer for fewer, more in pairwise(scores)]
    first = abs(steps[0])
    below = rational(1 / first if first else 0)
    signs = tuple(step / first if first else ONE for step in steps)
    if len(set(signs)) > 1:
        shape = ByCount(setting.length, setting.grades, depth, relevant, signs)
        return Form(shape, below, scores[0])
    row = tuple(signs[0] * yes for yes in relevant)
    return Form(Additive.rational(setting.rows(row, depth)), below, scores[0])


def r_precision(measure: RPrecision, setting: Setting) -> Form:
    cutoff = int(measure.ranks(np.array(setting.recall_base(measure))))
    row = tuple(Fraction(yes) for yes in setting.relevant(measure))
    return Form(Additive.rational(setting.rows(row, cutoff)), rational(cutoff))


def of_gains(measure: Any, setting: Setting) -> Form:
    """Generalised precision and recall."""
    if isinstance(measure, GeneralisedPrecision):
        worth = setting.gains(measure.gains, setting.highest(measure))
        below = max(worth) * (measure.cutoff or 1)
    else:
        worth = setting.gains(measure.gains)
        below = sum(setting.best(worth), ZERO)
    # The divisor of a form is positive.
    sign = -1 if below < 0 else 1
    row = tuple(sign * gain for gain in worth[: setting.grades + 1])
    rows = setting.rows(row, setting.depth(measure))
    return Form(Additive.rational(rows), rational(abs(below)))


def rank_biased(measure: RankBiasedPrecision, setting: Setting) -> Form:
    exact, depth = exactly(measure), setting.depth(measure)
    gains = setting.unit_gains(measure)
    weights = [(1 - exact.p) * exact.seen(rank) for rank in range(1, depth + 1)]
    rows = [tuple(gain * weight for gain in gains) for weight in weights]
    nothing = [(ZERO,) * len(gains)] * (setting.length - depth)
    return Form(Additive.rational([*rows, *nothing]))


def discounted(measure: Any, setting: Setting) -> Form:
    """DCG and nDCG."""
    gains, depth = setting.gains(measure.gains), setting.depth(measure)
    bases, rows = [], []
    for rank in range(1, setting.length + 1):
        base, factor = inverse(measure.discount, rank) if rank <= depth else (ONE, ZERO)
        bases.append(base)
        rows.append(tuple(gain * factor for gain in gains))
    return Form(Additive(tuple(bases), tuple(rows)), _divisor(measure, setting, gains))


def _divisor(measure: Any, setting: Setting, gains: Row) -> Terms:
    # Gains are summed over ln x instead of ln x / ln b: DCG is that over 1 / ln b, and nDCG over
    # the same sum of the ideal ranking.
    if not isinstance(measure, nDCG):
        base, power = root(fraction_of(measure.discount.base))
        return terms({base: Fraction(1, power)})
    below: dict[Fraction, Fraction] = {}
    cut = measure.cutoff if measure.ideal == "cut" else None
    for rank, gain in enumerate(setting.best(gains)[:cut], 1):
        base, factor = inverse(measure.discount, rank)
        below[base] = below.get(base, ZERO) + gain * factor
    return terms(below)


def inverse(discount: Discount, rank: int) -> tuple[Fraction, Fraction]:
    """One over the discount at a rank, but for the logarithm of its base: factor / ln(base)."""
    base, power = root(discount.argument(rank))
    return base, Fraction(1, power)
