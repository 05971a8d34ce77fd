"""Preferences among several rankers: all pairs with correction, and cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import PolicyError, check_several, check_whole, quoted
from cranfield.base.text import counted
from cranfield.online.interleaving.preference import (
    Options,
    Preference,
    check_credits,
    preference_between,
    unit_codes,
)
from cranfield.result import Column, Columns, Result
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceMatrix(Result):
    """Preferences between all pairs of several rankers.

    Attributes
    ----------
    rankers
        Names of the rankers.
    pairs
        Preferences of the pairs, in order (1, 2), (1, 3), …, (2, 3), ….
    pvalues
        Corrected p-values of the sign tests of the pairs, in the same order.
    correction
        Name of the correction.
    notes
        Remarks on the data.
    """

    name: ClassVar[str] = "pairs"
    columns: ClassVar[Columns] = {
        "first": Column("First ranker of the pair.", key=True),
        "second": Column("Second ranker of the pair.", key=True),
        "wins": Column("Number of impressions in which the first ranker has more credit."),
        "losses": Column("Number of impressions in which the second ranker has more credit."),
        "ties": Column("Number of impressions in which both rankers have the same credit."),
        "outcome": Column("wins / (wins + losses); null if there are only ties."),
        "Delta": Column("(wins + ties / 2) / (wins + losses + ties) - 1/2."),
        "low": Column("Lower bound of the confidence interval of Delta, without correction."),
        "high": Column("Upper bound of the interval."),
        "Delta p": Column("p-value of the test of Delta = 0, without correction.", pvalue=True),
        "p": Column("p-value of the sign test, without correction.", pvalue=True),
        "corrected p": Column("p-value of the sign test after the correction.", pvalue=True),
    }

    rankers: tuple[str, ...]
    pairs: tuple[Preference, ...]
    pvalues: Floats
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def delta(self) -> Floats:
        """Preference `delta` for the ranker of the row over the ranker of the column."""
        upper = self._matrix([pair.delta for pair in self.pairs])
        return upper - upper.T

    @property
    def significant(self) -> Bools:
        """Whether each corrected p-value is at most 1 - confidence; same shape as `delta`."""
        level = 1 - self.pairs[0].confidence
        upper = self._matrix(self.pvalues <= level + 1e-12) > 0
        return upper | upper.T

    def _matrix(self, values: ArrayLike) -> Floats:
        """Return a matrix with the values of pairs above its diagonal; 0 if not compared."""
        upper = np.zeros((len(self.rankers),) * 2)
        index = {name: k for k, name in enumerate(self.rankers)}
        cells = np.array([[index[name] for name in pair.names] for pair in self.pairs])
        upper[tuple(cells.T)] = values
        return upper

    def cycles(self, *, significant: bool = False) -> list[tuple[str, ...]]:
        """Find cycles: each ranker is preferred to the next one, and the last to the first.

        Preferences of users need not be transitive. The result has a shortest cycle of each
        strongly connected group of rankers; if it is empty, the rankers can be ordered.

        Parameters
        ----------
        significant
            Whether only significant preferences count.
        """
        is_preferred = self.delta > 0
        if significant:
            is_preferred &= self.significant
        graph = csr_array(is_preferred)
        n_components, component = connected_components(graph, connection="strong")
        groups = (np.flatnonzero(component == k) for k in range(n_components))
        cycles = [_shortest_cycle(is_preferred, group) for group in groups if len(group) > 1]
        return [tuple(self.rankers[k] for k in cycle) for cycle in sorted(cycles)]

    def error(self, reference: Mapping[str, float] | Sequence[str]) -> float:
        r"""Compute the proportion of ordered pairs whose preference differs from a reference.

        .. math:: E_{bin} = \frac{1}{|R| (|R| - 1)} \sum_{i \ne j}
            [\mathrm{sgn}\, \hat P_{ij} \ne \mathrm{sgn}\, P_{ij}]

        (Schuth et al., 2014).

        Parameters
        ----------
        reference
            Score of each ranker, higher is better, such as its nDCG; or the rankers in order, best
            first.
        """
        check_several("reference", reference)
        if not isinstance(reference, Mapping):
            reference = {name: -k for k, name in enumerate(reference)}
        missing = [name for name in self.rankers if name not in reference]
        if missing:
            raise PolicyError(f"reference must have every ranker; missing: {quoted(missing[0])}")
        scores = np.array([reference[name] for name in self.rankers], dtype=float)
        if np.isnan(scores).any():
            raise PolicyError("scores of the reference must be numbers, got NaN")
        is_wrong = np.sign(self.delta) != np.sign(scores[:, None] - scores)
        n_rankers = len(self.rankers)
        return float(is_wrong.sum() / (n_rankers * (n_rankers - 1)))

    def _frame(self) -> pl.DataFrame:
        rows = []
        for pair, corrected in zip(self.pairs, self.pvalues, strict=True):
            counts = *pair.names, pair.wins, pair.losses, pair.ties
            delta = pair.delta, *pair.delta_interval, pair.delta_pvalue
            rows.append((*counts, pair.outcome, *delta, pair.pvalue, corrected))
        frame = pl.DataFrame(rows, schema=list(self.columns), orient="row")
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def note_lines(self) -> list[str]:
        cycles = [f"note: a cycle: {' > '.join([*cycle, cycle[0]])}" for cycle in self.cycles()]
        return [*cycles, *super().note_lines()]

    def heading(self) -> list[str]:
        rankers, pairs = counted(len(self.rankers), "ranker"), counted(len(self.pairs), "pair")
        return [f"{rankers}, {pairs} by {self.pairs[0].unit}, {self.correction}"]


def _shortest_cycle(is_preferred: Bools, group: Indices) -> list[int]:
    """Find a shortest cycle of a strongly connected group of rankers."""
    is_preferred_in_group = is_preferred[np.ix_(group, group)]
    graph = csr_array(is_preferred_in_group)
    shortest = list(range(len(group) + 1))
    for start in range(len(group)):
        order, predecessors = breadth_first_order(graph, start)
        # The first ranker in this order that is preferred to the start closes the shortest cycle.
        last = next(int(k) for k in order if is_preferred_in_group[k, start])
        path = [last]
        while path[-1] != start:
            path.append(int(predecessors[path[-1]]))
        if len(path) < len(shortest):
            shortest = path[::-1]
    return [int(group[k]) for k in shortest]


def preference_matrix_by_credits(
    credits: Any,
    units: Any = None,
    *,
    unit: str = "unit",
    names: Sequence[str] | None = None,
    correction: str = "holm",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PreferenceMatrix:
    """Test the preferences between all pairs of rankers from their credits by impression.

    Parameters
    ----------
    credits
        Credits of the rankers in each impression, shape (impressions, rankers), such as the
        `credits` of an interleaver; NaN if a ranker took no part.
    units, unit, confidence, resamples, seed
        As for :func:`preference_by_credits`. Intervals are not corrected.
    names
        Names of the rankers; by default numbers from 1.
    correction
        Correction for multiple comparisons, over all pairs of rankers: `none`, `bonferroni`,
        `sidak`, `holm`, `hommel`, `bh` or `by`.

    Raises
    ------
    PolicyError
        For credits of another shape or type.

    Examples
    --------
    >>> credits = [[2, 1, 0]] * 9 + [[0, 1, 2]]
    >>> matrix = preference_matrix_by_credits(credits, names=["a", "b", "c"])
    >>> matrix.delta.tolist()
    [[0.0, 0.4, 0.4], [-0.4, 0.0, 0.4], [-0.4, -0.4, 0.0]]
    >>> matrix.cycles(), matrix.error(["a", "c", "b"])
    ([], 0.3333333333333333)
    """
    check_several("names", names)
    check_whole("resamples", resamples, 1)
    check_whole("seed", seed, 0)
    values = check_credits(credits)
    code, unit_name = unit_codes(units, len(values)), "impression" if units is None else unit
    rankers = range(1, values.shape[1] + 1) if names is None else names
    options = 0.5, confidence, resamples, seed
    return compare_pairs(values, code, rankers, unit_name, (), correction, options)


def compare_pairs(
    credits: Floats,
    code: Indices,
    rankers: Sequence[object],
    unit: str,
    notes: Sequence[str],
    correction: str,
    options: Options,
) -> PreferenceMatrix:
    """Test the preference between each pair of rankers, from credits and units of impressions."""
    names = tuple(map(str, rankers))
    if len(names) != credits.shape[1] or len(set(names)) != len(names):
        expected = f"names must be {credits.shape[1]} different rankers"
        raise PolicyError(f"{expected}, got {quoted(rankers)}")
    pairs = []
    for pair, (credit, other_credit) in zip(
        combinations(names, 2), combinations(credits.T, 2), strict=True
    ):
        if np.isnan(credit - other_credit).all():
            pair_text = " and ".join(map(quoted, pair))
            raise PolicyError(f"no impression has credits of both {pair_text}")
        pairs.append(preference_between(credit, other_credit, code, pair, unit, (), options))
    pvalues = adjust_pvalues(np.array([pair.pvalue for pair in pairs]), correction)
    return PreferenceMatrix(names, tuple(pairs), pvalues, correction, tuple(notes))
