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


def shared_lines(lines: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Separate lines that all measures share from the lines of single measures.

    Lines that differ only in the name of the measure count as equal.

    Examples
    --------
    >>> lines = {"AP": ["AP is ordinal", "one tie"], "RR": ["RR is ordinal"]}
    >>> shared_lines(lines)
    ({'AP': ['one tie'], 'RR': []}, ['the measure is ordinal'])
    """
    if len(lines) < 2:
        return {name: [*measure_lines] for name, measure_lines in lines.items()}, []
    general = {
        name: {line: _generalise(name, line) for line in measure_lines}
        for name, measure_lines in lines.items()
    }
    first, *others = (dict.fromkeys(measure_lines.values()) for measure_lines in general.values())
    common = [line for line in first if all(line in measure_lines for measure_lines in others)]
    own = {
        name: [line for line in measure_lines if general[name][line] not in common]
        for name, measure_lines in lines.items()
    }
    return own, common


def _generalise(name: str, line: str) -> str:
    """Replace the name of a measure in a line."""
    return re.sub(rf"(?<![\w@]){re.escape(name)}(?![\w@(])", "the measure", line) if name else line


BETTER, WORSE, SAME, DIFFERENT, NONE = (
    "better",
    "worse",
    "not different",
    "different, means equal",
    "not compared",
)
"""Verdicts on a system compared with another. Systems with equal means can be significantly
different by tests of statistics other than the mean."""


def pair_verdicts(comparison: PairwiseComparison) -> NDArray[Any]:
    """Return the verdict on the first system of each pair, by the sign of its difference."""
    sign = np.sign(comparison.difference) * (-1 if comparison.lower_is_better else 1)
    verdicts = np.full(len(comparison), SAME, dtype=object)
    is_significant = comparison.is_significant()
    verdicts[is_significant & (sign > 0)] = BETTER
    verdicts[is_significant & (sign < 0)] = WORSE
    verdicts[is_significant & (sign == 0)] = DIFFERENT
    verdicts[np.isnan(comparison.adjusted_pvalues)] = NONE
    return verdicts


def verdict_matrix(comparison: PairwiseComparison) -> NDArray[Any]:
    """Return the verdict on the system of each row compared with the system of each column."""
    n_systems = len(comparison.systems)
    verdicts = pair_verdicts(comparison)
    matrix = np.full((n_systems, n_systems), NONE, dtype=object)
    matrix[comparison.first, comparison.second] = verdicts
    opposite = {BETTER: WORSE, WORSE: BETTER}
    matrix[comparison.second, comparison.first] = [opposite.get(v, v) for v in verdicts]
    return matrix


def baseline_verdicts(comparison: PairwiseComparison, baseline: str | None = None) -> list[str]:
    """Return the verdict on each system compared with a baseline, by default the first.

    The verdict on the baseline itself is empty.
    """
    column = comparison.systems.index(baseline or comparison.baselines[0])
    has_baseline = comparison.second == column
    verdicts = [""] * len(comparison.systems)
    pairs = zip(
        comparison.first[has_baseline], pair_verdicts(comparison)[has_baseline], strict=True
    )
    for system, verdict in pairs:
        verdicts[system] = SAME if verdict == NONE else verdict
    return verdicts


def group_letters(comparison: PairwiseComparison) -> list[str] | None:
    """Return the letters of each system's groups; None if the comparison has no groups."""
    if comparison.baselines or comparison.alternative != "two-sided":
        return None
    groups = comparison.groups()
    return [shorten_letters(groups[name]) for name in comparison.systems]


def lead(pairs: PairwiseComparison, name: str) -> str:
    """Write about the top group, or about the systems compared with each baseline."""
    if pairs.baselines:
        return " ".join(_baseline_sentence(name, pairs, baseline) for baseline in pairs.baselines)
    return _top_sentence(name, pairs)


def join_names(names: Sequence[str], limit: int | None = 5) -> str:
    """Join names as in a sentence; names beyond the limit are counted."""
    if limit is not None and len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def join_labels(names: Sequence[str]) -> str:
    """Join up to three names, shortened as labels."""
    return join_names([label(name) for name in names], 3)


def _mean(pairs: PairwiseComparison, k: int) -> str:
    """Format the mean of a system, with its kind unless it is an arithmetic mean."""
    if pairs.mean_of == "mean":
        return f"{pairs.means[k]:.{pairs.places}f}"
    places = 2 if pairs.mean_of == "mean rank" else pairs.places
    return f"{pairs.mean_of} {pairs.means[k]:.{places}f}"


def _top_sentence(name: str, pairs: PairwiseComparison) -> str:
    if pairs.alternative != "two-sided":
        first, second = (label(pairs.systems[k]) for k in (pairs.first[0], pairs.second[0]))
        verb = "is" if pairs.count() else "is not"
        verdict = pairs.tested_verdict
        return (
            f"On {name} {first} {verb} significantly {verdict} than {second}; {_not_tested(pairs)}."
        )
    best = int(pairs.order[0])
    best_systems = [pairs.systems[k] for k in pairs.order if pairs.means[k] == pairs.means[best]]
    if len(pairs.systems) == 2:
        first, second = (f"{label(pairs.systems[k])} ({_mean(pairs, k)})" for k in pairs.order)
        if pairs.count() and len(best_systems) == 1:
            return f"On {name} {first} is significantly better than {second}."
        verb = "are" if pairs.count() else "are not"
        means = ", with equal means" if pairs.count() else ""
        return f"On {name} {first} and {second} {verb} significantly different{means}."
    number = counted(len(pairs.systems), "system")
    top_line = f"best: {join_labels(best_systems)}, {_mean(pairs, best)}"
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
    verdicts = [verdict for verdict in baseline_verdicts(pairs, baseline) if verdict]
    counts = {
        "significantly better": verdicts.count(BETTER),
        "significantly worse": verdicts.count(WORSE),
        "significantly different with an equal mean": verdicts.count(DIFFERENT),
        "not significantly different": verdicts.count(SAME),
    }
    if pairs.alternative != "two-sided":
        phrase = f"significantly {pairs.tested_verdict}"
        clauses = f"{_count_with_verb(counts[phrase])} {phrase}; {_not_tested(pairs)}"
    else:
        clauses = ", ".join(
            f"{_count_with_verb(count)} {phrase}"
            for phrase, count in counts.items()
            if count or phrase in ("significantly better", "significantly worse")
        )
    mean = _mean(pairs, pairs.systems.index(baseline))
    systems = f"{counted(len(verdicts), 'system')} compared with the baseline {label(baseline)}"
    return f"{systems} ({mean}) on {name}: {clauses}."


def _count_with_verb(count: int) -> str:
    return f"{count:,} {_verb(count)}" if count else "none is"


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"


def describe_test(pairs: PairwiseComparison) -> str:
    """Write about the test and the number of significant differences."""
    n_significant, n_pairs = pairs.count(), len(pairs)
    side = "" if pairs.alternative == "two-sided" else f", one-sided ({pairs.alternative})"
    if n_pairs == 1:
        p = shown_p(float(pairs.adjusted_pvalues[0]))
        return f"{pairs.title}{side}: p = {p}, alpha = {pairs.alpha:g}."
    return (
        f"{pairs.title}{side}: {n_significant:,} of {counted(n_pairs, 'pair')}"
        f" {_verb(n_significant)} significantly different (alpha {pairs.alpha:g})."
    )
