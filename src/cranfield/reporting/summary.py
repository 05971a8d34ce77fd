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
from cranfield.tabular import format_pvalue


def shared_lines(lines: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Split lines by measure into those of a single measure, and those that all measures share.

    Lines that differ only in the name of the measure are equal.

    Examples
    --------
    >>> lines = {"AP": ["AP is ordinal", "one tie"], "RR": ["RR is ordinal"]}
    >>> shared_lines(lines)
    ({'AP': ['one tie'], 'RR': []}, ['the measure is ordinal'])
    """
    if len(lines) < 2:
        return {name: [*lines_of_name] for name, lines_of_name in lines.items()}, []
    general = {
        name: [_generalise(name, line) for line in lines_of_name]
        for name, lines_of_name in lines.items()
    }
    first, *other_lines = general.values()
    common = [
        line
        for line in dict.fromkeys(first)
        if all(line in name_lines for name_lines in other_lines)
    ]
    unshared = {
        name: [
            line
            for line, text in zip(lines_of_name, general[name], strict=True)
            if text not in common
        ]
        for name, lines_of_name in lines.items()
    }
    return unshared, common


def _generalise(name: str, line: str) -> str:
    return re.sub(rf"(?<![\w@]){re.escape(name)}(?![\w@(])", "the measure", line) if name else line


BETTER, WORSE, SAME, DIFFERENT, NONE = (
    "better",
    "worse",
    "not different",
    "different, means equal",
    "not compared",
)
"""Verdicts on a system compared with another. Systems with equal means can be significantly
different by tests of other statistics than the mean."""


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
    is_base = comparison.second == comparison.systems.index(base)
    out = [""] * len(comparison.systems)
    for system, word in zip(comparison.first[is_base], by_pair(comparison)[is_base], strict=True):
        out[system] = SAME if word == NONE else word
    return out


def group_letters(comparison: PairwiseComparison) -> list[str] | None:
    """Return the letters of the groups of each system; None without groups."""
    if comparison.baselines or comparison.alternative != "two-sided":
        return None
    groups = comparison.groups()
    return [shorten_letters(groups[name]) for name in comparison.systems]


def lead(pairs: PairwiseComparison, name: str) -> str:
    """Return the sentence on the top group, or on systems that are better than the baseline."""
    if pairs.baselines:
        return " ".join(_baseline_sentence(name, pairs, baseline) for baseline in pairs.baselines)
    return _top_sentence(name, pairs)


def listing(names: Sequence[str], limit: int | None = 5) -> str:
    """Join names as in a sentence, up to a limit."""
    if limit is not None and len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def name_list(names: Sequence[str]) -> str:
    return listing([label(name) for name in names], 3)


def _mean(pairs: PairwiseComparison, k: int) -> str:
    if pairs.mean_of == "mean":
        return f"{pairs.means[k]:.{pairs.places}f}"
    places = 2 if pairs.mean_of == "mean rank" else pairs.places
    return f"{pairs.mean_of} {pairs.means[k]:.{places}f}"


def _top_sentence(name: str, pairs: PairwiseComparison) -> str:
    if pairs.alternative != "two-sided":
        first, second = (label(pairs.systems[k]) for k in (pairs.first[0], pairs.second[0]))
        verb = "is" if pairs.count() else "is not"
        tested = pairs.tested_verdict
        return (
            f"On {name} {first} {verb} significantly {tested} than {second}; {_not_tested(pairs)}."
        )
    best = int(pairs.order[0])
    equal = [pairs.systems[k] for k in pairs.order if pairs.means[k] == pairs.means[best]]
    if len(pairs.systems) == 2:
        first, second = (f"{label(pairs.systems[k])} ({_mean(pairs, k)})" for k in pairs.order)
        if pairs.count() and len(equal) == 1:
            return f"On {name} {first} is significantly better than {second}."
        verb = "are" if pairs.count() else "are not"
        means = ", with equal means" if pairs.count() else ""
        return f"On {name} {first} and {second} {verb} significantly different{means}."
    number = counted(len(pairs.systems), "system")
    top_line = f"best: {name_list(equal)}, {_mean(pairs, best)}"
    top = pairs.top_group
    if len(top) == 1:
        return f"Of {number}, one stands alone at the top on {name} ({top_line})."
    if len(top) == len(pairs.systems):
        return (
            f"None of the {number} is significantly different from the best on {name} ({top_line})."
        )
    return f"Of {number}, {len(top):,} share the top group on {name} ({top_line})."


def _not_tested(pairs: PairwiseComparison) -> str:
    opposite = "worse" if pairs.tested_verdict == "better" else "better"
    return f"whether one is {opposite} was not tested"


def _baseline_sentence(name: str, pairs: PairwiseComparison, baseline: str) -> str:
    words = [word for word in against(pairs, baseline) if word]
    number = {
        "significantly better": words.count(BETTER),
        "significantly worse": words.count(WORSE),
        "significantly different with an equal mean": words.count(DIFFERENT),
        "not significantly different": words.count(SAME),
    }
    if pairs.alternative != "two-sided":
        tested = f"significantly {pairs.tested_verdict}"
        verdicts = f"{_number_are(number[tested])} {tested}; {_not_tested(pairs)}"
    else:
        verdicts = ", ".join(
            f"{_number_are(count)} {verdict}"
            for verdict, count in number.items()
            if count or verdict in ("significantly better", "significantly worse")
        )
    mean = _mean(pairs, pairs.systems.index(baseline))
    systems = f"{counted(len(words), 'system')} compared with the baseline {label(baseline)}"
    return f"{systems} ({mean}) on {name}: {verdicts}."


def _number_are(number: int) -> str:
    return f"{number:,} {_is(number)}" if number else "none is"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def test_sentence(pairs: PairwiseComparison) -> str:
    n_significant, n_pairs = pairs.count(), len(pairs)
    side = "" if pairs.alternative == "two-sided" else f", one-sided ({pairs.alternative})"
    if n_pairs == 1:
        p = format_pvalue(float(pairs.adjusted_pvalues[0]))
        return f"{pairs.title}{side}: p = {p}, alpha = {pairs.alpha:g}."
    return (
        f"{pairs.title}{side}: {n_significant:,} of {counted(n_pairs, 'pair')}"
        f" {_is(n_significant)} significantly different (alpha {pairs.alpha:g})."
    )
