"""Verdicts of comparisons, and sentences on them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.text import counted
from cranfield.reporting.page.html import label
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.tabular import shown_p


def shared_lines(found: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Split lines by measure into those of one measure, and those that all measures share.

    Lines that differ only in the name of the measure are equal.

    Examples
    --------
    >>> lines = {"AP": ["AP is ordinal", "one tie"], "RR": ["RR is ordinal"]}
    >>> shared_lines(lines)
    ({'AP': ['one tie'], 'RR': []}, ['the measure is ordinal'])
    """
    if len(found) < 2:
        return {name: [*lines] for name, lines in found.items()}, []
    general = {name: [_general(name, line) for line in lines] for name, lines in found.items()}
    first, *others = general.values()
    common = [line for line in dict.fromkeys(first) if all(line in other for other in others)]
    own = {
        name: [line for line, said in zip(lines, general[name], strict=True) if said not in common]
        for name, lines in found.items()
    }
    return own, common


def _general(name: str, line: str) -> str:
    return re.sub(rf"(?<![\w@]){re.escape(name)}(?![\w@(])", "the measure", line) if name else line


BETTER, WORSE, SAME, DIFFERENT, NONE = (
    "better",
    "worse",
    "not different",
    "different, means equal",
    "not compared",
)
"""Verdicts on a system compared with another one. Tests of other statistics than the mean can find
systems with equal means significantly different."""


def by_pair(comparison: PairwiseComparison) -> NDArray[Any]:
    """Return the verdict on the first system of each pair, by the sign of its difference."""
    sign = np.sign(comparison.difference) * (-1 if comparison.lower_is_better else 1)
    out = np.full(len(comparison), SAME, dtype=object)
    star = comparison.is_significant()
    out[star & (sign > 0)] = BETTER
    out[star & (sign < 0)] = WORSE
    out[star & (sign == 0)] = DIFFERENT
    out[np.isnan(comparison.adjusted_pvalues)] = NONE
    return out


def verdicts_of(comparison: PairwiseComparison) -> NDArray[Any]:
    """Return the verdict on each system compared with each other one, shape (systems, systems)."""
    count = len(comparison.systems)
    words = by_pair(comparison)
    out = np.full((count, count), NONE, dtype=object)
    out[comparison.first, comparison.second] = words
    mirrored = {BETTER: WORSE, WORSE: BETTER}
    out[comparison.second, comparison.first] = [mirrored.get(word, word) for word in words]
    return out


def against(comparison: PairwiseComparison, baseline: str | None = None) -> list[str]:
    """Return the verdict on each system against a baseline, by default the first; empty for it."""
    base = baseline or comparison.baselines[0]
    chosen = comparison.second == comparison.systems.index(base)
    out = [""] * len(comparison.systems)
    for system, word in zip(comparison.first[chosen], by_pair(comparison)[chosen], strict=True):
        out[system] = SAME if word == NONE else word
    return out


def group_letters(comparison: PairwiseComparison) -> list[str] | None:
    """Return the letters of the groups of each system; None without groups."""
    if comparison.baselines or comparison.alternative != "two-sided":
        return None
    groups = comparison.groups()
    return [shorten_letters(groups[name]) for name in comparison.systems]


def lead(one: PairwiseComparison, name: str) -> str:
    """Return the sentence on the top group, or on systems that are better than the baseline."""
    if one.baselines:
        return " ".join(_baseline_sentence(name, one, baseline) for baseline in one.baselines)
    return _top_sentence(name, one)


def listing(names: Sequence[str], most: int | None = 5) -> str:
    """List names as in a sentence; at most the first few."""
    if most is not None and len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def listed(names: Sequence[str]) -> str:
    return listing([label(name) for name in names], 3)


def _mean(one: PairwiseComparison, k: int) -> str:
    if one.mean_of == "mean":
        return f"{one.means[k]:.{one.places}f}"
    places = 2 if one.mean_of == "mean rank" else one.places
    return f"{one.mean_of} {one.means[k]:.{places}f}"


def _top_sentence(name: str, one: PairwiseComparison) -> str:
    if one.alternative != "two-sided":
        first, second = (label(one.systems[k]) for k in (one.first[0], one.second[0]))
        verb = "is" if one.count() else "is not"
        tested = one.tested_verdict
        return f"On {name} {first} {verb} significantly {tested} than {second}; {_not_tested(one)}."
    best = int(one.order[0])
    equal = [one.systems[k] for k in one.order if one.means[k] == one.means[best]]
    if len(one.systems) == 2:
        first, second = (f"{label(one.systems[k])} ({_mean(one, k)})" for k in one.order)
        if one.count() and len(equal) == 1:
            return f"On {name} {first} is significantly better than {second}."
        verb = "are" if one.count() else "are not"
        means = ", with equal means" if one.count() else ""
        return f"On {name} {first} and {second} {verb} significantly different{means}."
    number = counted(len(one.systems), "system")
    shown = f"best: {listed(equal)}, {_mean(one, best)}"
    top = one.top_group
    if len(top) == 1:
        return f"Of {number}, one stands alone at the top on {name} ({shown})."
    if len(top) == len(one.systems):
        return f"None of the {number} is significantly different from the best on {name} ({shown})."
    return f"Of {number}, {len(top):,} share the top group on {name} ({shown})."


def _not_tested(one: PairwiseComparison) -> str:
    other = "worse" if one.tested_verdict == "better" else "better"
    return f"whether one is {other} was not tested"


def _baseline_sentence(name: str, one: PairwiseComparison, baseline: str) -> str:
    words = [word for word in against(one, baseline) if word]
    number = {
        "significantly better": words.count(BETTER),
        "significantly worse": words.count(WORSE),
        "significantly different with an equal mean": words.count(DIFFERENT),
        "not significantly different": words.count(SAME),
    }
    if one.alternative != "two-sided":
        tested = f"significantly {one.tested_verdict}"
        verdicts = f"{_number_are(number[tested])} {tested}; {_not_tested(one)}"
    else:
        verdicts = ", ".join(
            f"{_number_are(count)} {verdict}"
            for verdict, count in number.items()
            if count or verdict in ("significantly better", "significantly worse")
        )
    mean = _mean(one, one.systems.index(baseline))
    systems = f"{counted(len(words), 'system')} compared with the baseline {label(baseline)}"
    return f"{systems} ({mean}) on {name}: {verdicts}."


def _number_are(number: int) -> str:
    return f"{number:,} {_is(number)}" if number else "none is"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def test_sentence(one: PairwiseComparison) -> str:
    found, every = one.count(), len(one)
    side = "" if one.alternative == "two-sided" else f", one-sided ({one.alternative})"
    if every == 1:
        p = shown_p(float(one.adjusted_pvalues[0]))
        return f"{one.title}{side}: p = {p}, alpha = {one.alpha:g}."
    return (
        f"{one.title}{side}: {found:,} of {counted(every, 'pair')} {_is(found)} significantly"
        f" different (alpha {one.alpha:g})."
    )
