"""A comparison in words and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.significance.comparison.groups import place_of
from cranfield.significance.models.anova_table import shown_p
from cranfield.tabular import Cell, Table
from cranfield.tabular.text import grid

if TYPE_CHECKING:
    from cranfield.significance.comparison.result import PairwiseComparison

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


def method(found: PairwiseComparison) -> str:
    """Name the test and the correction."""
    title = found.info.title
    if len(found) > 1 or found.correction != "none":
        title += (
            f" with {NAMES[found.correction]}"
            if found.correction != "none"
            else (f", {NAMES['none']}")
        )
    if found.alternative != "two-sided":
        title += f", one-sided ({found.alternative})"
    return title


def heading(found: PairwiseComparison) -> list[str]:
    """Say what was done and found."""
    return [*facts(found), *(f"note: {note}" for note in found.notes)]


def facts(found: PairwiseComparison) -> list[str]:
    """Say what was done and found, without the notes."""
    start = f"{plain(found.measure)}: " if found.measure else ""
    line = (
        f"{counted(len(found.systems), 'system')}, {counted(found.topics, 'topic')},"
        f" {counted(len(found), 'pair')}: {found.count():,}"
        f" {'differs' if found.count() == 1 else 'differ'}"
    )
    if found.baselines:
        names = ", ".join(plain(name) for name in found.baselines)
        line += f"; compared with {names}"
    lines = [f"{start}{method(found)}; alpha {found.alpha:g}", line]
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
    return lines


def text_of(found: PairwiseComparison, *, limit: int | None = MOST_ROWS) -> str:
    """Write heading, table of the analysis of variance, and the ranking or the pairs."""
    parts = ["\n".join(heading(found))]
    if found.anova is not None:
        parts.append(str(found.anova))
    table = table_of(found)
    more = 0 if limit is None else len(table.rows) - limit
    parts.append(grid(replace(table, rows=table.rows[:limit])))
    if more > 0:
        parts[-1] += f"\n… {more:,} more"
    return "\n\n".join(parts)


def table_of(found: PairwiseComparison, places: int | None = None) -> Table:
    """Show the ranking with its groups, or the pairs; what was done stands in the notes."""
    places = places_of(found) if places is None else places
    title, *notes = facts(found)
    if shows_pairs(found):
        head, rows = pair_rows(found, places)
        notes.append("* differs")
        return Table(title, head, rows, (0, 1, 8), notes, found.notes)
    names, ranking = ranking_rows(found, places)
    if "groups" in names:
        notes.append("systems that share a letter do not differ")
    return Table(title, names, ranking, (0, len(names) - 1), notes, found.notes)


def shows_pairs(found: PairwiseComparison) -> bool:
    """Tell whether the pairs are shown, rather than the ranking of all systems."""
    one_sided = found.alternative != "two-sided"
    return bool(found.baselines) or len(found.systems) == 2 or one_sided


def places_of(found: PairwiseComparison) -> int:
    """Return how many decimals show four digits of most of the means: four, unless all are small.

    Measures such as NumRet or TBG are large, and others, such as P@1000, are tiny.
    """
    return decimals(found.means)


def decimals(means: Floats) -> int:
    """Return how many decimals show four digits of most of some means.

    Examples
    --------
    >>> decimals(np.array([0.25, 0.5])), decimals(np.array([0.00025, 0.00031]))
    (4, 7)
    """
    largest = float(np.nanmax(np.abs(means), initial=0.0))
    return 4 if largest == 0 or largest > 0.05 else min(12, 3 - int(np.floor(np.log10(largest))))


def ranking_rows(
    found: PairwiseComparison, places: int = 4
) -> tuple[list[str], list[list[str | Cell]]]:
    """Return head and cells of the ranking; the mean of the first, and equal ones, are bold."""
    frame = found.ranking()
    rows: list[list[str | Cell]] = []
    top = None
    for name, mean, *others in frame.rows():
        top = mean if top is None else top
        cells = [shortened(one) if isinstance(one, str) else f"{one:.{places}f}" for one in others]
        rows.append([name, Cell(f"{mean:.{places}f}", bold=mean == top), *cells])
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


def pair_rows(
    found: PairwiseComparison, places: int = 4
) -> tuple[list[str | Cell], list[list[str]]]:
    """Return head and cells of the pairs; a star marks those that differ."""
    low, high = found.interval
    statistic = short_statistic(found)
    letter = Cell(statistic, latex=f"${statistic.replace('W+', 'W^+')}$")
    named = statistic if statistic in ("statistic", "wins") else letter
    p = Cell("p", latex="$p$", html="<i>p</i>")
    head = ["first", "second", "difference", "low", "high", named, p, "effect", ""]
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
