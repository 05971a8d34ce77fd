"""A comparison in words and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cranfield.errors import PolicyError
from cranfield.escape import plain
from cranfield.significance.anova_table import shown_p
from cranfield.significance.groups import place_of
from cranfield.significance.outcome import Floats
from cranfield.tabular import latex_table, text_table
from cranfield.text import counted

if TYPE_CHECKING:
    from cranfield.significance.result import PairwiseComparison

MOST_ROWS = 60
"""Rows that are printed of a long table."""

NAMES = {
    "tukey": "Tukey's HSD",
    "randomised-tukey": "randomised Tukey HSD",
    "dunnett": "Dunnett's test",
    "max-t": "step-down max-T of Westfall and Young",
    "bonferroni": "Bonferroni's correction",
    "holm": "Holm's correction",
    "bh": "false discovery rate of Benjamini and Hochberg",
    "by": "false discovery rate of Benjamini and Yekutieli",
    "none": "not corrected for many comparisons",
}


def all_pairs_wanted(found: PairwiseComparison, what: str) -> None:
    """Refuse what needs all pairs where only those with a baseline were compared."""
    if found.baselines:
        raise PolicyError(f"{what} need all pairs to be compared, without a baseline")
    if found.alternative != "two-sided":
        raise PolicyError(f"{what} need a two-sided test")


def heading(found: PairwiseComparison) -> list[str]:
    """Say what was done and found."""
    title = found.info.title
    if len(found) > 1 or found.correction != "none":
        title += (
            f" with {NAMES[found.correction]}"
            if found.correction != "none"
            else (f", {NAMES['none']}")
        )
    if found.alternative != "two-sided":
        title += f", one-sided ({found.alternative})"
    start = f"{plain(found.measure)}: " if found.measure else ""
    line = (
        f"{counted(len(found.systems), 'system')}, {counted(found.topics, 'topic')},"
        f" {counted(len(found), 'pair')}: {found.count():,}"
        f" {'differs' if found.count() == 1 else 'differ'}"
    )
    if found.baselines:
        names = ", ".join(plain(name) for name in found.baselines)
        line += f"; compared with {names}"
    lines = [f"{start}{title}; alpha {found.alpha:g}", line]
    if shows_pairs(found):
        lines.append(
            f"low, high: {1 - found.alpha:.4g} confidence limits of the {found.interval_of},"
            f" {found.interval_kind}"
        )
    if found.resamples is not None:
        lines.append(f"{found.resamples:,} random samples, seed {found.seed}")
    if found.omnibus is not None:
        one = found.omnibus
        lines.append(
            f"all together: {one.name} = {one.statistic:.4f}, {one.df:.0f} degrees of freedom,"
            f" p = {shown_p(one.pvalue)}, {one.effect_name} {one.effect:.4f}"
        )
    if found.half_widths is not None and len(np.unique(found.half_widths)) == 1:
        lines.append(
            f"intervals: half-width {found.half_widths[0]:.{places_of(found)}f}; systems whose"
            " intervals do not overlap differ"
        )
    return [*lines, *(f"note: {note}" for note in found.notes)]


def text_of(found: PairwiseComparison, *, limit: int | None = MOST_ROWS) -> str:
    """Write heading, table of the analysis of variance, and the ranking or the pairs."""
    parts = ["\n".join(heading(found))]
    if found.anova is not None:
        parts.append(str(found.anova))
    by_pair = shows_pairs(found)
    places = places_of(found)
    head, rows = pair_rows(found, places) if by_pair else ranking_rows(found, places)
    shown = rows[:limit]
    left = (0, 1, 8) if by_pair else (0, len(head) - 1)
    parts.append(text_table(head, shown, left=left))
    if len(shown) < len(rows):
        parts[-1] += f"\n… {len(rows) - len(shown):,} more"
    return "\n\n".join(parts)


def shows_pairs(found: PairwiseComparison) -> bool:
    """Tell whether the pairs are shown, rather than the ranking of all systems."""
    one_sided = found.alternative != "two-sided"
    return bool(found.baselines) or len(found.systems) == 2 or one_sided


def places_of(found: PairwiseComparison) -> int:
    """Return how many decimals show four digits of most of the means: four, unless all are small.

    Measures such as NumRet or TBG are large, and others, such as P@1000, are tiny.
    """
    largest = float(np.nanmax(np.abs(found.means), initial=0.0))
    return 4 if largest == 0 or largest > 0.05 else min(12, 3 - int(np.floor(np.log10(largest))))


def ranking_rows(found: PairwiseComparison, places: int = 4) -> tuple[list[str], list[list[str]]]:
    """Return head and cells of the ranking."""
    frame = found.ranking()
    rows = [
        [f"{cell:.{places}f}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in frame.rows()
    ]
    if "groups" in frame.columns:
        rows = [[*cells, shortened(letters)] for *cells, letters in rows]
    return frame.columns, rows


def shortened(letters: str) -> str:
    """Write neighbouring letters as a range where there are many groups.

    Examples
    --------
    >>> shortened("a,b,c,d,f,aa"), shortened("abcd")
    ('a-d,f,aa', 'abcd')
    """
    names = letters.split(",")
    if len(names) < 3:
        return letters
    places = [place_of(name) for name in names]
    parts, start = [], 0
    for k in range(1, len(names) + 1):
        if k == len(names) or places[k] != places[k - 1] + 1:
            long = k - start > 2
            parts += [f"{names[start]}-{names[k - 1]}"] if long else names[start:k]
            start = k
    return ",".join(parts)


def pair_rows(found: PairwiseComparison, places: int = 4) -> tuple[list[str], list[list[str]]]:
    """Return head and cells of the pairs; a star marks those that differ."""
    low, high = found.interval
    statistic = short_statistic(found)
    head = ["first", "second", "difference", "low", "high", statistic, "p", "effect", ""]
    star = found.is_significant()
    of_means = statistic == "statistic"
    rows = []
    for k in range(len(found)):
        numbers = (found.difference, low, high)
        rows.append(
            [
                found.systems[found.first[k]],
                found.systems[found.second[k]],
                *(f"{values[k]:.{places}f}" for values in numbers),
                f"{found.statistic[k]:.{places if of_means else 4}f}",
                shown_p(found.adjusted_pvalues[k]),
                f"{found.effect[k]:.4f}",
                "*" if star[k] else "",
            ]
        )
    return head, rows


def short_statistic(found: PairwiseComparison) -> str:
    """Return a name of the statistic that fits over a column."""
    if found.correction == "tukey":
        return "q"
    names = {"sign": "wins", "signed-rank": "W+", "rank-sum": "U"}
    differences = ("randomisation", "bootstrap-unpaired", "bootstrap-anova")
    if found.test in differences:
        return "statistic"
    return names.get(found.test, "z" if found.omnibus is not None else "t")


def latex_of(found: PairwiseComparison, places: int | None) -> str:
    """Write the ranking with its groups, or the pairs with a baseline, in LaTeX."""
    places = places_of(found) if places is None else places
    if shows_pairs(found):
        head, rows = pair_rows(found, places)
        return latex_table(head, rows, left=(0, 1, 8))
    head, rows = ranking_rows(found, places)
    best = best_rows(found.means[found.order])
    return latex_table(head, rows, left=(0, len(head) - 1), bold={(k, 1) for k in best})


def best_rows(means: Floats) -> list[int]:
    """Return the rows that are as good as the first."""
    return [int(k) for k in np.flatnonzero(means == means[0])]
