"""A comparison by several measures together, told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cranfield.base.version import __version__
from cranfield.base.words import capitalised, counted
from cranfield.reporting.prose.sentences import (
    Cited,
    Maths,
    Sentence,
    p_of,
    places_for,
    rounded,
)
from cranfield.scales.statements.meaningful import measure_of
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison


def jointly(one: JointComparison) -> Iterator[Sentence]:
    verdicts = one.verdicts
    better, worse = (verdicts > 0).sum(axis=1), (verdicts < 0).sum(axis=1)
    some = int(((better + worse) > 0).sum())
    every = int((np.maximum(better, worse) == len(one.measures)).sum())
    opposed = int(((better > 0) & (worse > 0)).sum())
    pairs = counted(len(one), "pair")
    verb = "differs" if some == 1 or len(one) == 1 else "differ"
    yield [
        f"{counted(len(one.systems), 'system')} were compared by ",
        *_cited(one.measures),
        f" on {counted(one.topics, 'topic')} ({pairs}).",
    ]
    correction = CORRECTIONS[one.correction]
    own = bool(one.baselines) and bool(correction.baseline_source)
    yield [
        f"All pairs and measures were tested together by {one.method}",
        Cited(correction.baseline_source if own else correction.source),
        f", two-sided, which bounds the probability of any false positive among"
        f" {counted(verdicts.size, 'comparison')} by {one.alpha:g}; it drew"
        f" {counted(one.resamples, 'random sample')} with seed {one.seed}.",
    ]
    yield [
        f"Of {pairs}, {some or 'none'} {verb} significantly by some"
        f" measure, {every or 'none'} by every measure, and {opposed or 'none'} by measures that"
        " contradict each other."
    ]
    low, high = one.interval
    names = one.systems
    for m, measure in enumerate(one.measures):
        found = np.flatnonzero(verdicts[:, m])
        if not found.size:
            yield [f"By {measure} no pair differs significantly."]
            continue
        k = int(found[np.argmax(np.abs(one.difference[found, m]))])
        places = places_for(low[k, m], high[k, m], 4)
        geometric = one.statistics[m] == "geometric-mean"
        interval: list[str | Maths] = []
        if np.isfinite([low[k, m], high[k, m]]).all():
            interval = [
                f"{100 * (1 - one.alpha):g}% interval of all together ",
                Maths(rounded(low[k, m], places)),
                " to ",
                Maths(rounded(high[k, m], places)),
                ", ",
            ]
        yield [
            f"By {measure}, {counted(found.size, 'pair')}"
            f" {'differs' if found.size == 1 else 'differ'}, the most {names[one.first[k]]}"
            f" {'to' if geometric else 'minus'} {names[one.second[k]]}:"
            f" {'log ratio ' if geometric else ''}",
            Maths(rounded(one.difference[k, m], places)),
            " (",
            *interval,
            p_of(float(one.pvalues[k, m]), one.alpha),
            ").",
        ]
    yield ["We assume that topics are a random sample, a dozen at least."]
    for note in one.notes:
        yield [f"{capitalised(note)}."]
    yield [f"Computed with cranfield {__version__}."]


def _cited(names: Sequence[str]) -> Iterator[str | Cited]:
    """List all measures, each with the works to cite for it."""
    for place, name in enumerate(names):
        yield "" if place == 0 else " and " if place == len(names) - 1 else ", "
        measure = measure_of(name)
        yield name
        yield Cited("" if measure is None else measure.source)
