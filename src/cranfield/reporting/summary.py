"""Verdicts on pairs of compared systems, and sentences on comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError
from cranfield.base.text import inflect, join_with_and
from cranfield.reporting.page.html import make_label
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.models.assumptions import Assumptions, check_assumptions
from cranfield.tabular import format_pvalue


def separate_shared_lines(
    lines: Mapping[str, Sequence[str]],
) -> tuple[dict[str, list[str]], list[str]]:
    """Separate lines that all measures share from the lines of single measures.

    Lines that differ only in the name of the measure count as equal.
    """
    if len(lines) < 2:
        return {name: [*measure_lines] for name, measure_lines in lines.items()}, []
    general_lines = {
        name: {line: _generalise(name, line) for line in measure_lines}
        for name, measure_lines in lines.items()
    }
    first_lines, *other_lines = (
        dict.fromkeys(measure_lines.values()) for measure_lines in general_lines.values()
    )
    common_lines = [line for line in first_lines if all(line in group for group in other_lines)]
    own_lines = {
        name: [line for line in measure_lines if general_lines[name][line] not in common_lines]
        for name, measure_lines in lines.items()
    }
    return own_lines, common_lines


def _generalise(name: str, line: str) -> str:
    """Replace the name of a measure in a line."""
    return re.sub(rf"(?<![\w@]){re.escape(name)}(?![\w@(])", "the measure", line) if name else line


BETTER, WORSE, NOT_DIFFERENT = "better", "worse", "not significantly different"
NOT_COMPARED = "not compared"
"""Verdicts on a system compared with another."""


def list_pair_verdicts(comparison: PairwiseComparison) -> NDArray[Any]:
    """Return the verdict on the first system of each pair, by the direction of the test."""
    sign = comparison.direction
    verdicts = np.full(len(comparison), NOT_DIFFERENT, dtype=object)
    is_significant = comparison.is_significant()
    verdicts[is_significant & (sign > 0)] = BETTER
    verdicts[is_significant & (sign < 0)] = WORSE
    verdicts[np.isnan(comparison.adjusted_pvalues)] = NOT_COMPARED
    return verdicts


def make_verdict_matrix(comparison: PairwiseComparison) -> NDArray[Any]:
    """Return the verdict on the system of each row compared with the system of each column."""
    n_systems = len(comparison.systems)
    verdicts = list_pair_verdicts(comparison)
    matrix = np.full((n_systems, n_systems), NOT_COMPARED, dtype=object)
    matrix[comparison.first, comparison.second] = verdicts
    opposites = {BETTER: WORSE, WORSE: BETTER}
    matrix[comparison.second, comparison.first] = [opposites.get(v, v) for v in verdicts]
    return matrix


def list_verdicts(comparison: PairwiseComparison, baseline: str | None = None) -> list[str]:
    """Return verdicts against a baseline, with pairs without a p-value as not different.

    The verdicts of baselines are empty.
    """
    index = comparison.systems.index(baseline or comparison.baselines[0])
    is_compared = comparison.second == index
    verdicts = [""] * len(comparison.systems)
    pair_verdicts = list_pair_verdicts(comparison)[is_compared]
    for system, verdict in zip(comparison.first[is_compared], pair_verdicts, strict=True):
        verdicts[system] = NOT_DIFFERENT if verdict == NOT_COMPARED else verdict
    return verdicts


NOT_TESTED = "the opposite direction was not tested"


def list_group_letters(comparison: PairwiseComparison) -> list[str] | None:
    """Return the letters of each system's groups; None if the comparison has no groups."""
    if comparison.baselines or comparison.alternative != "two-sided":
        return None
    groups = comparison.groups()
    return [shorten_letters(groups[name]) for name in comparison.systems]


def describe_outcome(comparison: PairwiseComparison, name: str, places: int | None = None) -> str:
    """Return sentences on the top group, or on the systems compared with each baseline."""
    if comparison.baselines:
        return " ".join(
            _describe_baseline(name, comparison, baseline, places)
            for baseline in comparison.baselines
        )
    return _describe_top(name, comparison, places)


def join_names(names: Sequence[str], limit: int | None = 5) -> str:
    """Join names as in a sentence; names beyond the limit are counted."""
    if limit is not None and len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return join_with_and(names)


def join_labels(names: Sequence[str]) -> str:
    """Join names as labels; names beyond three are counted."""
    return join_names([make_label(name) for name in names], 3)


def _format_mean(comparison: PairwiseComparison, k: int, places: int | None) -> str:
    """Format the mean of a system, with its kind unless it is an arithmetic mean."""
    if places is None:
        places = 2 if comparison.mean_of == "mean rank" else comparison.places
    mean = f"{comparison.means[k]:.{places}f}"
    return mean if comparison.mean_of == "mean" else f"{comparison.mean_of} {mean}"


def _describe_top(name: str, comparison: PairwiseComparison, places: int | None) -> str:
    if comparison.alternative != "two-sided":
        first, second = (
            make_label(comparison.systems[k]) for k in (comparison.first[0], comparison.second[0])
        )
        verb = "is" if comparison.count() else "is not"
        verdict = comparison.tested_verdict
        return f"On {name} {first} {verb} significantly {verdict} than {second}; {NOT_TESTED}."
    best_system = comparison.best[0]
    best_systems = [comparison.systems[k] for k in comparison.best]
    is_better = make_verdict_matrix(comparison)[:, best_system] == BETTER
    if len(comparison.systems) == 2:
        order = comparison.order[::-1] if is_better.any() else comparison.order
        first, second = (
            f"{make_label(comparison.systems[k])} ({_format_mean(comparison, k, places)})"
            for k in order
        )
        if comparison.count():
            return f"On {name} {first} is significantly better than {second}."
        return f"On {name} {first} and {second} are not significantly different."
    total = inflect(len(comparison.systems), "system")
    top_line = f"best: {join_labels(best_systems)}, {_format_mean(comparison, best_system, places)}"
    if is_better.any():
        # Tests of signs and ranks can favour a system without the better mean.
        names = join_labels([comparison.systems[k] for k in comparison.order if is_better[k]])
        verb = _choose_verb(int(is_better.sum()))
        return (
            f"Of {total}, {names} {verb} significantly better on {name} than the system with the"
            f" best {comparison.mean_of} ({top_line})."
        )
    top_group = comparison.top_group
    if len(top_group) == 1:
        return f"Of {total}, one is significantly better than all others on {name} ({top_line})."
    if len(top_group) == len(comparison.systems):
        outcome = "is significantly different from the best"
        return f"None of the {total} {outcome} on {name} ({top_line})."
    return f"Of {total}, {len(top_group):,} share the top group on {name} ({top_line})."


def _describe_baseline(
    name: str, comparison: PairwiseComparison, baseline: str, places: int | None
) -> str:
    verdicts = [verdict for verdict in list_verdicts(comparison, baseline) if verdict]
    counts = {
        "significantly better": verdicts.count(BETTER),
        "significantly worse": verdicts.count(WORSE),
        "not significantly different": verdicts.count(NOT_DIFFERENT),
    }
    if comparison.alternative != "two-sided":
        phrase = f"significantly {comparison.tested_verdict}"
        clauses = f"{_format_count(counts[phrase])} {phrase}; {NOT_TESTED}"
    else:
        clauses = ", ".join(
            f"{_format_count(count)} {phrase}"
            for phrase, count in counts.items()
            if count or phrase in ("significantly better", "significantly worse")
        )
    mean = _format_mean(comparison, comparison.systems.index(baseline), places)
    systems, name_of_baseline = inflect(len(verdicts), "system"), make_label(baseline)
    return f"{systems} compared with the baseline {name_of_baseline} ({mean}) on {name}: {clauses}."


def _format_count(count: int) -> str:
    return f"{count:,} {_choose_verb(count)}" if count else "none is"


def _choose_verb(count: int) -> str:
    return "is" if count == 1 else "are"


def describe_test(comparison: PairwiseComparison) -> str:
    """Return a sentence on the test, with its p-value or the number of significant pairs."""
    n_significant, n_pairs = comparison.count(), len(comparison)
    if n_pairs == 1:
        p = format_pvalue(float(comparison.adjusted_pvalues[0]))
        return f"{comparison.method}: p = {p}, alpha = {comparison.alpha:g}."
    return (
        f"{comparison.method}: {n_significant:,} of {inflect(n_pairs, 'pair')}"
        f" {_choose_verb(n_significant)} significantly different (alpha {comparison.alpha:g})."
    )


def check_residuals(comparison: PairwiseComparison) -> Assumptions | None:
    """Check the residuals of a model of topics and systems; None without a model or if too few."""
    anova = comparison.anova
    if anova is None or anova.values.ndim != 2:
        return None
    is_additive = comparison.info.is_additive and not np.isnan(anova.values).any()
    try:
        return check_assumptions(
            anova.residuals, anova.fitted if is_additive else None, alpha=comparison.alpha
        )
    except CranfieldError:
        # There are too few residuals for the tests.
        return None
