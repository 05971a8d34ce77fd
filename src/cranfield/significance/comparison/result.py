"""The result of a comparison, in words and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import ArgumentError, PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.base.showing import Plotted, Told
from cranfield.base.words import counted
from cranfield.scores.labels import place_of
from cranfield.significance.comparison.compared_pairs import ComparedPairs
from cranfield.significance.comparison.equivalence import Equivalence, equivalence
from cranfield.significance.comparison.groups import shortened
from cranfield.significance.comparison.headings import heading_of
from cranfield.significance.comparison.one_pair import OnePair
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.models.anova_table import shown_p
from cranfield.tabular.content import Cell
from cranfield.tabular.frames import Framed
from cranfield.tabular.table import SHOWN, Table
from cranfield.tabular.text import grid

MOST_ROWS = 60
"""Rows that are printed of a long table."""

Rows = list[list[str | Cell]]


class PairwiseComparison(ComparedPairs, Framed, Plotted, Told):
    """Which systems differ, by how much, and how sure that is.

    Attributes
    ----------
    test, correction
        Names of the test and of the correction for many comparisons.
    alternative, alpha
        Options of the test: the alternative hypothesis, and the significance level.
    measure
        Text form of the measure; empty where it is not known.
    systems
        The systems.
    means
        Mean score, or mean rank where the test goes by ranks, of each system. Rank 1 is the best.
    mean_of
        What they are: `mean`, `sum`, `geometric mean`, `median`, or `mean rank`.
    statistic_of_topics
        The statistic that was compared; see :func:`cranfield.compare`.
    topics
        Number of topics.
    first, second
        Indices of the systems of each pair.
    difference
        Mean of the first minus that of the second, by pair; of geometric means the logarithm of
        their ratio.
    statistic, effect
        As the test defines them, by pair.
    raw_pvalues, adjusted_pvalues
        P-values before and after the correction, by pair; the same for Tukey's and Dunnett's
        tests, which correct while they test.
    n, zeros, ties
        By pair: observations that count, topics without difference, differences or scores that
        share their rank.
    interval_of, interval_kind
        What the confidence limits are limits of, and whether they hold for all pairs together.
    scores
        The scores that were compared, after the policy for missing ones.
    half_widths
        Half the width of an interval around each mean, such that systems whose intervals do not
        overlap differ; None where the correction has none, or means of different numbers of scores.
    anova, omnibus
        The table of an analysis of variance; the test of all systems together by ranks.
    baselines
        Systems that the others were compared with; none when all pairs were.
    scale, measure_scale
        The scale that the test assumes, and the one that the measure declares.
    seed, resamples
        Of a test that draws random numbers, else None.
    options
        All options of the comparison as they were given, used by this test or not.
    details, notes
        What else is worth keeping, and what a reader should be told.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}
    >>> found = cf.compare(scores, test="t")
    >>> print(found)
    Paired t-test; alpha 0.05
    2 systems, 4 topics, 1 pair: 1 differs
    low, high: 0.95 confidence interval of the mean difference, each pair alone
    note: the paired t-test is two-way ANOVA with Tukey's HSD of two systems
    <BLANKLINE>
    first  second  difference      low     high        t       p   effect
    bm25   dense      -0.1500  -0.2419  -0.0581  -5.1962  0.0138  -2.5981  *
    """

    @property
    def title(self) -> str:
        """Name the test and the correction."""
        correction = CORRECTIONS[self.correction]
        if self.correction != "none":
            return heading_of(self.info, correction, baseline=bool(self.baselines))
        return self.info.title if len(self) == 1 else f"{self.info.title}, {correction.title}"

    @property
    def method(self) -> str:
        """Name the test and the correction, and the side of a one-sided test."""
        side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
        return self.title + side

    @property
    def places(self) -> int:
        """How many decimals show four digits of most of the means: four, unless all are small.

        Measures such as NumRet or TBG are large, and others, such as P@1000, are tiny.
        """
        return decimals(self.means)

    @property
    def shows_pairs(self) -> bool:
        """Whether the pairs are shown, rather than the ranking of all systems."""
        one_sided = self.alternative != "two-sided"
        return bool(self.baselines) or len(self.systems) == 2 or one_sided

    def __getitem__(self, names: tuple[str, str]) -> OnePair:
        """Return what was found of two systems, in either order.

        Raises
        ------
        PolicyError
            For systems that are not there, and for two that were not compared.

        Examples
        --------
        >>> import cranfield as cf
        >>> scores = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}
        >>> pair = cf.compare(scores, test="t")["dense", "bm25"]
        >>> pair
        OnePair('dense' minus 'bm25': 0.15, from 0.05813 to 0.2419, p = 0.0138)
        >>> pair.significant, round(pair.effect, 4)
        (True, 2.5981)
        """
        asked: Any = names
        if not isinstance(asked, tuple) or len(asked) != 2:
            raise ArgumentError("a pair is two systems, as in comparison['bm25', 'dense']")
        one, other = (place_of(name, self.systems) for name in names)
        found = np.isin(self.first, [one, other]) & np.isin(self.second, [one, other])
        if not found.any():
            raise PolicyError(f"{quoted(names[0])} and {quoted(names[1])} were not compared")
        return OnePair(*names, self, int(found.argmax()))

    __iter__: ClassVar[None] = None
    """Pairs are found by two names; `to_polars` has them in rows."""

    def equivalence(self, margin: float | str) -> Equivalence:
        """Say which systems are as good as each other within a margin, or at least no worse.

        Parameters
        ----------
        margin
            Largest difference that does not matter, above 0: in the unit of what the limits are
            of, which is `interval_of`; or a percentage of the mean of the second system of each
            pair, which is the baseline where there is one, such as `"2%"`. Choose it before you
            see the scores.

        Returns
        -------
        Equivalence
            With a verdict for each pair, p-values, and the largest difference that cannot be ruled
            out. For many pairs all statements hold together, unless nothing was corrected.

        Raises
        ------
        PolicyError
            For what is no margin, or a percentage of a test that compares ranks.
        """
        return equivalence(self, margin)

    def heading(self) -> list[str]:
        """Return what was done and found, in a few lines."""
        return [*self.facts(), *(f"note: {note}" for note in self.notes)]

    def facts(self) -> list[str]:
        """Return what was done and found, without the notes."""
        start = f"{plain(self.measure)}: " if self.measure else ""
        line = (
            f"{counted(len(self.systems), 'system')}, {counted(self.topics, 'topic')},"
            f" {counted(len(self), 'pair')}: {self.count():,}"
            f" {'differs' if self.count() == 1 else 'differ'}"
        )
        if self.baselines:
            line += f"; compared with {', '.join(plain(name) for name in self.baselines)}"
        lines = [f"{start}{self.method}; alpha {self.alpha:g}", line]
        if self.shows_pairs:
            lines.append(
                f"low, high: {1 - self.alpha:.4g} confidence interval of the {self.interval_of},"
                f" {self.interval_kind}"
            )
            if number := self.without_interval:
                lines.append(
                    f"no interval is shown for {counted(number, 'pair')}, where it would contradict"
                    " the decision, which is not based on intervals"
                )
        if self.resamples is not None:
            lines.append(f"{self.resamples:,} random samples, seed {self.seed}")
        if self.omnibus is not None:
            omnibus = self.omnibus
            lines.append(
                f"all together: {omnibus.name} = {omnibus.statistic:.4f}, {omnibus.df:.0f} degrees"
                f" of freedom, p = {shown_p(omnibus.pvalue)}, {omnibus.effect_name}"
                f" {omnibus.effect:.4f}"
            )
        if self.half_widths is not None and len(np.unique(self.half_widths)) == 1:
            lines.append(
                f"intervals: half-width {self.half_widths[0]:.{self.places}f}; systems whose"
                " intervals do not overlap differ"
            )
        return lines

    def table(self, places: int | None = None) -> Table:
        """Return the table that is shown: the ranking with groups, or the pairs with a baseline.

        `places` are decimals; by default four, or more where all means are small.
        """
        places = self.places if places is None else places
        title, *notes = self.facts()
        if self.shows_pairs:
            head, rows = self._pair_rows(places)
            return Table(title, head, rows, (0, 1, 8), [*notes, "* differs"], self.notes)
        names, rows = self._ranking_rows(places)
        left = [k for k, name in enumerate(names) if name in ("system", "ranks", "groups")]
        if "ranks" in names:
            level = f"{1 - self.alpha:.4g}"
            notes.append(f"ranks: {level} confidence sets, all together, if directions are right")
        if "groups" in names:
            notes.append("systems that share a letter do not differ")
        return Table(title, names, rows, left, notes, self.notes)

    def _ranking_rows(self, places: int) -> tuple[list[str], Rows]:
        """Return head and cells of the ranking; the highest mean, and equal ones, are bold."""
        frame = self.ranking()
        rows: Rows = []
        for name, mean, *others in frame.rows():
            cells = [
                shortened(other) if isinstance(other, str) else f"{other:.{places}f}"
                for other in others
            ]
            bold = mean == frame.item(0, 1)
            rows.append([name, Cell(f"{mean:.{places}f}", bold=bold), *cells])
        return frame.columns, rows

    def _pair_rows(self, places: int) -> tuple[list[str | Cell], Rows]:
        """Return head and cells of the pairs; a star marks those that differ."""
        symbol = CORRECTIONS[self.correction].symbol or self.info.symbol
        # Words stay as they are; in LaTeX, letters are set as formulas.
        letter = Cell(symbol, latex=f"${symbol.replace('W+', 'W^+')}$")
        statistic = letter if len(symbol) in {1, 2} else symbol or "statistic"
        p = Cell("p", latex="$p$", html="<i>p</i>")
        difference = "log ratio" if self.mean_of == "geometric mean" else "difference"
        effect = self.info.effect_name
        head = ["first", "second", difference, "low", "high", statistic, p, effect, ""]
        star = self.is_significant()
        low, high = self.interval
        rows: Rows = [
            [
                self.systems[self.first[k]],
                self.systems[self.second[k]],
                *(
                    "-" if np.isnan(values[k]) else f"{values[k]:.{places}f}"
                    for values in (self.difference, low, high)
                ),
                f"{self.statistic[k]:.{4 if symbol else places}f}",
                shown_p(self.adjusted_pvalues[k]),
                f"{self.effect[k]:.4f}",
                "*" if star[k] else "",
            ]
            for k in range(len(self))
        ]
        return head, rows

    def to_latex(self, places: int | None = None, **how: Any) -> str:
        """Return that table for booktabs; other options as for :meth:`Table.to_latex`."""
        return self.table(places).to_latex(**how)

    def to_text(self, limit: int | None = MOST_ROWS) -> str:
        """Write the heading, and the ranking or the pairs; `anova` has its own table."""
        parts = ["\n".join(self.heading())]
        table = self.table()
        more = 0 if limit is None else len(table.rows) - int(limit)
        parts.append(grid(replace(table, rows=table.rows[:limit])))
        if more > 0:
            parts[-1] += f"\n… {more:,} more"
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        return self.table().to_html(limit=SHOWN)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"PairwiseComparison({'; '.join(self.heading()[:2])})"


def decimals(means: Floats) -> int:
    """Return how many decimals show four digits of most of some means."""
    largest = float(np.nanmax(np.abs(means), initial=0.0))
    return 4 if largest == 0 or largest > 0.05 else min(12, 3 - int(np.floor(np.log10(largest))))
