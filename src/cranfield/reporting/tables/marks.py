"""Marks of significance: daggers for a baseline, letters of systems beaten, letters of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cranfield.reporting.kinds_of_marks import SYMBOLS
from cranfield.reporting.verdicts import BETTER, group_letters, verdicts_of
from cranfield.significance.comparison.groups import ALPHABET, letter, shortened
from cranfield.significance.comparison.result import PairwiseComparison


@dataclass(frozen=True)
class Marks:
    """Marks of all scores of a table: of each system, by measure.

    Names are letters that stand for systems, where marks name them; the legend says what marks mean
    and how they were found, remarks what the comparisons have to note.
    """

    by_measure: Mapping[str, Sequence[str]] = field(default_factory=dict)
    names: Sequence[str] = ()
    legend: Sequence[str] = ()
    remarks: Sequence[str] = ()


def marks_of(
    found: Mapping[str, PairwiseComparison], kind: str, levels: Sequence[float] | None = None
) -> Marks:
    if kind == "none" or not found:
        return Marks()
    first = next(iter(found.values()))
    levels = levels or (first.alpha,)
    if kind == "symbols":
        by_measure = {name: _symbols(one, levels) for name, one in found.items()}
        names: list[str] = []
        meaning = _legend(first.baselines, levels)
    else:
        for one in found.values():
            one.require_all_pairs("letters")
        if kind == "groups":
            names = []
            by_measure = {name: group_letters(one) or [] for name, one in found.items()}
            meaning = f"systems that share a letter do not differ (p > {levels[0]:g})"
        else:
            names = [letter(k) for k in range(len(first.systems))]
            by_measure = {name: _beaten(one, names) for name, one in found.items()}
            meaning = f"raised letters: systems that this one beats (p ≤ {levels[0]:g})"
    alone = ", each measure by itself" if len(found) > 1 else ""
    topics = sorted({one.topics for one in found.values()})
    tested = " or ".join(map(str, topics))
    legend = [meaning, f"{first.method}{alone}, {tested} topic{'s' * (topics != [1])}"]
    remarks = [
        f"{name}: {note}" if name and name not in note else note
        for name, one in found.items()
        for note in one.notes
    ]
    return Marks(by_measure, names, legend, list(dict.fromkeys(remarks)))


def _legend(baselines: Sequence[str], levels: Sequence[float]) -> str:
    if len(baselines) == 1:
        by_level = [f"{s} p ≤ {one:g}" for s, one in zip(SYMBOLS, levels, strict=False)]
        return f"differs from {baselines[0]}: {', '.join(by_level)}"
    named = [f"{s} {one}" for s, one in zip(SYMBOLS, baselines, strict=False)]
    return f"differs with p ≤ {levels[0]:g} from {', '.join(named)}"


def _symbols(found: PairwiseComparison, levels: Sequence[float]) -> list[str]:
    marks = [""] * len(found.systems)
    for place, baseline in enumerate(found.baselines):
        k = found.systems.index(baseline)
        for pair in np.flatnonzero((found.first == k) | (found.second == k)):
            ends = {int(found.first[pair]), int(found.second[pair])}
            reached = int((found.adjusted_pvalues[pair] <= np.asarray(levels)).sum())
            if reached:
                # One baseline has a symbol a level, several have one each.
                symbol = SYMBOLS[reached - 1 if len(found.baselines) == 1 else place]
                marks[(ends - {k}).pop()] += symbol
    return marks


def beats(found: PairwiseComparison) -> NDArray[np.bool_]:
    """Tell which system, a row, beats which: they differ significantly, and its mean is better."""
    return np.asarray(verdicts_of(found) == BETTER)


def _beaten(found: PairwiseComparison, names: Sequence[str]) -> list[str]:
    between = "" if len(names) <= len(ALPHABET) else ","
    return [
        shortened(between.join(names[int(k)] for k in np.flatnonzero(row))) for row in beats(found)
    ]
