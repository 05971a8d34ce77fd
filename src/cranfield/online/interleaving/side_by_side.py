"""Test preferences between pairs of rankers, and rank systems by side-by-side preferences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from cranfield.base.arrays import Bools, Floats, Indices, slice_rows
from cranfield.base.errors import InputError, PolicyError, check_list, quote
from cranfield.base.kinds import Integer, OneOf, UnitInterval, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect
from cranfield.online.experiments.estimates import compute_percentiles
from cranfield.online.interleaving.preference import (
    Preference,
    PreferenceOptions,
    check_credits,
    compare_rankers,
    encode_unit_ids,
)
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.significance.corrections.pvalue_corrections import ADJUSTMENTS, adjust_pvalues
from cranfield.sources import schemas
from cranfield.sources.columns import Table, read_columns
from cranfield.sources.schemas import Schema, declare_optional
from cranfield.sources.summaries import suspect_totals
from cranfield.sources.values import LABEL, accept_any


@dataclass(frozen=True, eq=False, repr=False)
class PreferenceMatrix(Result):
    """Preferences between all pairs of several rankers.

    Attributes
    ----------
    rankers
        Names of the rankers.
    pairs
        Preferences of the compared pairs, in order (1, 2), (1, 3), …, (2, 3), ….
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
        **declare_bounds("unadjusted confidence interval of Delta", "; null if there is none"),
        "Delta p": Column("Unadjusted p-value of the test of Delta = 0.", is_pvalue=True),
        "p": Column("Unadjusted p-value of the sign test.", is_pvalue=True),
        "corrected p": Column("p-value of the sign test after the correction.", is_pvalue=True),
    }

    rankers: tuple[str, ...]
    pairs: tuple[Preference, ...]
    pvalues: Floats
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def delta(self) -> Floats:
        """`delta` of the row's ranker over the column's ranker; 0 if not compared."""
        upper = self._fill_matrix([pair.delta for pair in self.pairs])
        return upper - upper.T

    @property
    def is_significant(self) -> Bools:
        """Whether each corrected p-value is at most 1 - confidence; same shape as `delta`."""
        level = 1 - self.pairs[0].confidence
        upper = self._fill_matrix(self.pvalues <= level + 1e-12) > 0
        return upper | upper.T

    def _fill_matrix(self, values: ArrayLike) -> Floats:
        """Return a matrix with the values of pairs above its diagonal; 0 if not compared."""
        upper = np.zeros((len(self.rankers),) * 2)
        index = {name: k for k, name in enumerate(self.rankers)}
        cells = np.array([[index[name] for name in pair.names] for pair in self.pairs])
        upper[tuple(cells.T)] = values
        return upper

    def find_cycles(self, *, requires_significance: bool = False) -> list[tuple[str, ...]]:
        """Find cycles: each ranker is preferred to the next one, and the last to the first.

        Preferences of users need not be transitive. The result has a shortest cycle of each
        strongly connected group of rankers; if it is empty, the rankers can be ordered.

        Parameters
        ----------
        requires_significance
            Whether only significant preferences count.
        """
        is_preferred = self.delta > 0
        if requires_significance:
            is_preferred &= self.is_significant
        graph = csr_array(is_preferred)
        n_components, component = connected_components(graph, connection="strong")
        groups = (np.flatnonzero(component == k) for k in range(n_components))
        cycles = [_find_shortest_cycle(is_preferred, group) for group in groups if len(group) > 1]
        return [tuple(self.rankers[k] for k in cycle) for cycle in sorted(cycles)]

    def compute_error(self, reference: Mapping[str, float] | Sequence[str]) -> float:
        r"""Compute the proportion of ordered pairs whose preference differs from a reference.

        .. math:: E_{bin} = \frac{1}{|R| (|R| - 1)} \sum_{i \ne j}
            [\mathrm{sgn}\, \hat P_{ij} \ne \mathrm{sgn}\, P_{ij}]

        where R is the set of rankers, :math:`\hat P` are their preferences, and P those of the
        reference (Schuth et al., 2014).

        Parameters
        ----------
        reference
            Score of each ranker, higher is better, such as its nDCG; or the rankers in order, best
            first.
        """
        check_list("reference", reference)
        if not isinstance(reference, Mapping):
            reference = {name: -k for k, name in enumerate(reference)}
        for name in self.rankers:
            if name not in reference:
                raise PolicyError(f"reference must include every ranker; missing: {quote(name)}")
        scores = np.array([reference[name] for name in self.rankers], dtype=float)
        if np.isnan(scores).any():
            raise PolicyError("scores of the reference must be numbers, got NaN")
        is_wrong = np.sign(self.delta) != np.sign(scores[:, None] - scores)
        n_rankers = len(self.rankers)
        return float(is_wrong.sum() / (n_rankers * (n_rankers - 1)))

    def _frame(self) -> pl.DataFrame:
        rows = []
        for pair, corrected_pvalue in zip(self.pairs, self.pvalues, strict=True):
            counts = *pair.names, pair.wins, pair.losses, pair.ties
            delta = pair.delta, *pair.delta_interval, pair.delta_pvalue
            rows.append((*counts, pair.outcome, *delta, pair.pvalue, corrected_pvalue))
        frame = pl.DataFrame(rows, schema=list(self.columns), orient="row")
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def format_notes(self) -> list[str]:
        paths = (" > ".join([*cycle, cycle[0]]) for cycle in self.find_cycles())
        return [*(f"note: cyclic preferences: {path}" for path in paths), *super().format_notes()]

    def heading(self) -> list[str]:
        rankers, pairs = inflect(len(self.rankers), "ranker"), inflect(len(self.pairs), "pair")
        pair = max(self.pairs, key=lambda pair: pair.resamples)
        level = f"{100 * pair.confidence:g}% confidence intervals"
        intervals = f"low, high: {level} of Delta{pair.sampling}"
        return [
            f"{rankers}, {pairs} by {pair.unit}, correction {self.correction}",
            f"{intervals}; p: sign test by {pair.unit}",
        ]

    def facts(self) -> dict[str, Any]:
        pair = max(self.pairs, key=lambda pair: pair.resamples)
        names = ("unit", "confidence", "resamples", "seed")
        return {**super().facts(), **{name: getattr(pair, name) for name in names}}


def _find_shortest_cycle(is_preferred: Bools, group: Indices) -> list[int]:
    is_preferred_in_group = is_preferred[np.ix_(group, group)]
    graph = csr_array(is_preferred_in_group)
    shortest_cycle = list(range(len(group) + 1))
    for start in range(len(group)):
        order, predecessors = breadth_first_order(graph, start)
        # The first ranker in this order that is preferred to the start closes the shortest cycle.
        last = next(int(k) for k in order if is_preferred_in_group[k, start])
        path = [last]
        while path[-1] != start:
            path.append(int(predecessors[path[-1]]))
        if len(path) < len(shortest_cycle):
            shortest_cycle = path[::-1]
    return [int(group[k]) for k in shortest_cycle]


def preference_matrix_by_credits(
    credits: Any,
    units: Any = None,
    *,
    unit: str = "unit",
    names: Sequence[str] | None = None,
    correction: str = "holm",
    confidence: float = 0.95,
    resamples: Annotated[int, Integer(1)] = 1000,
    seed: Annotated[int, Integer(0)] = 0,
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
        For credits of another shape or type, rankers without a common impression, or an invalid
        option.

    Examples
    --------
    >>> credits = [[2, 1, 0]] * 9 + [[0, 1, 2]]
    >>> matrix = preference_matrix_by_credits(credits, names=["a", "b", "c"])
    >>> matrix.delta.tolist()
    [[0.0, 0.4, 0.4], [-0.4, 0.0, 0.4], [-0.4, -0.4, 0.0]]
    >>> matrix.find_cycles(), matrix.compute_error(["a", "c", "b"])
    ([], 0.3333333333333333)
    """
    check_arguments(preference_matrix_by_credits, locals())
    check_list("names", names)
    values = check_credits(credits)
    code, unit_name = encode_unit_ids(units, len(values)), "impression" if units is None else unit
    rankers = range(1, values.shape[1] + 1) if names is None else names
    options = PreferenceOptions(0.5, confidence, resamples, seed)
    return compare_pairs(values, code, rankers, unit_name, (), correction, options)


def compare_pairs(
    credits: Floats,
    units: Indices,
    rankers: Sequence[object],
    unit: str,
    notes: Sequence[str],
    correction: str,
    options: PreferenceOptions,
) -> PreferenceMatrix:
    """Test the preference between each pair of rankers, from credits and units of impressions."""
    names = tuple(map(str, rankers))
    if len(names) != credits.shape[1] or len(set(names)) != len(names):
        expected = f"names must be {credits.shape[1]} distinct rankers"
        raise PolicyError(f"{expected}, got {quote(rankers)}")
    pairs = []
    for a, b in combinations(range(len(names)), 2):
        pair, credit, other_credit = (names[a], names[b]), credits[:, a], credits[:, b]
        if np.isnan(credit - other_credit).all():
            pair_text = " and ".join(map(quote, pair))
            raise PolicyError(f"no impression has credits of both {pair_text}")
        pairs.append(compare_rankers(credit, other_credit, units, pair, unit, (), options))
    pvalues = adjust_pvalues(np.array([pair.pvalue for pair in pairs]), correction)
    return PreferenceMatrix(names, tuple(pairs), pvalues, correction, tuple(notes))


_LABEL = replace(LABEL, becomes_null=accept_any)
_TOPIC = schemas.FileColumn("topic", LABEL, "topic of a vote")
_PAIR = (_TOPIC, *(schemas.FileColumn(name, LABEL) for name in ("first", "second")))
PREFERENCES = Schema(
    "table of preferences",
    (
        *_PAIR,
        schemas.FileColumn("preferred", _LABEL),
        declare_optional("assessor", _LABEL, "worker"),
    ),
    noun="preferences",
    default_format="csv",
    decisive_kinds=("status", "measure", "criterion"),
    tuples=("topic", "first", "second", "preferred", "assessor"),
)
_VOTES = replace(
    PREFERENCES,
    columns=(*PREFERENCES.columns[:4], declare_optional("order", _LABEL, "place of a system")),
    tuples=("topic", "first", "second", "preferred", "order"),
    decisive_kinds=(*PREFERENCES.decisive_kinds, "weight", "count", "votes"),
)

PREFERENCE_WORDS = {
    **dict.fromkeys(("first", "left", "1", "1.0", "a"), 1),
    **dict.fromkeys(("system_1", "system_a", "model_1", "model_a"), 1),
    **dict.fromkeys(("second", "right", "2", "2.0", "b"), -1),
    **dict.fromkeys(("system_2", "system_b", "model_2", "model_b"), -1),
    **dict.fromkeys(("tie", "tied", "draw", "same", "equal", "0"), 0),
    "1.5": 0,  # In files of AlpacaEval
    # In files of Chatbot Arena
    **dict.fromkeys(("tie (bothbad)", "bothbad", "both_bad", "both bad"), 0),
}
"""Words for preferences, besides the names of systems, in lower case; case is ignored."""

_MAX_STEPS = 200  # Maximum number of Newton steps
_GRADIENT_TOLERANCE = 1e-12  # Maximum gradient, per comparison, at which Newton's method ends
_MIN_RANGE = 1e-9  # Range of resampled strengths below which they differ by rounding only
_MAX_VALUES = 2**22  # Maximum number of values in memory at a time
_MAX_DRAWS = 2**25  # Number of draws above which equal topics are drawn together


def read_votes(data: Any, schema: Schema) -> Table:
    """Read preferences; with words such as `first`, refuse an unread column of their order."""
    columns = read_columns(data, schema)
    positions = schema.find_positions(columns.names, columns.source)
    first, second, labels = (
        {str(cell).strip() for cell in columns.cells(positions[name])}
        for name in ("first", "second", "preferred")
    )
    if any(PREFERENCE_WORDS.get(label.lower()) for label in labels - first - second):
        schema = replace(schema, decisive_kinds=(*schema.decisive_kinds, "presentation order"))
    return columns.make_table(schema)


def parse_signs(table: Table, column: str) -> list[int | None]:
    """Parse preferences: 1 for the first system, -1 for the second, 0 for a tie, or None."""
    is_order = column == "order"  # The system shown first, or null; ties are impossible
    words: dict[str, int | None] = {"": None} if is_order else {}
    words |= {word: sign for word, sign in PREFERENCE_WORDS.items() if sign or not is_order}
    signs = []
    names = {*table.frame["first"], *table.frame["second"]}
    labels = table.frame[column].fill_null("")
    if not is_order and "0" in {*labels} <= {"0", "1"} and "0" not in names:
        expected = "expected 1 and 2 for the first and the second system, and 0 for a tie"
        reason = f"{expected}, got no values but 0 and 1; write first, second or tie"
        raise InputError(f"{column}: {reason}", source=table.source)
    may_be_words = all(label.lower() in words for label in labels.unique())
    rows = zip(table.frame["first"], table.frame["second"], labels, strict=True)
    for row, (first, second, label) in enumerate(rows):
        if first == second:
            raise table.make_row_error(row, f"system {quote(first)} is compared with itself")
        # A label that is the name of a system means this system in all rows. If all labels may also
        # be words, a label that would have another meaning as a word is refused.
        systems = {second: -1, first: 1}
        if label not in systems and (label in names or label.lower() not in words):
            choices = "first or second" if is_order else "first, second or tie"
            expected = f"{quote(first)}, {quote(second)}, {choices}"
            raise table.make_row_error(row, f"{column} must be {expected}, got {quote(label)}")
        sign, word_sign = systems.get(label), words.get(label.lower())
        if may_be_words and sign is not None and word_sign is not None and sign != word_sign:
            meaning = ("a tie", "the first system", "the second system")[word_sign]
            problem = f"{quote(label)} is the name of a system, but may also mean {meaning}"
            raise table.make_row_error(row, f"{column} {problem}; rename the systems")
        signs.append(word_sign if sign is None else sign)
    return signs


def fit_bradley_terry(wins: Floats) -> Floats:
    r"""Estimate the strengths of systems from wins; a tie is half a win for both systems.

    For :math:`w_{ij}` wins of i over j, strengths :math:`\theta` of mean 0 maximise
    :math:`\sum_{ij} w_{ij} \ln \frac{1}{1 + e^{\theta_j - \theta_i}}` (Bradley and Terry 1952).
    They are NaN without a finite maximum: a group has no win against other systems (Ford 1957).
    """
    n_systems = wins.shape[-1]
    tables = wins.reshape(-1, n_systems, n_systems).astype(np.float64)
    strengths = np.full((len(tables), n_systems), np.nan)
    graphs = map(csr_array, tables)
    is_finite = [connected_components(graph, connection="strong")[0] == 1 for graph in graphs]
    tables = tables[is_finite]
    n_comparisons = tables + tables.swapaxes(1, 2)
    theta = np.zeros((len(tables), n_systems))
    for _ in range(_MAX_STEPS):
        win_probability = 1 / (1 + np.exp(theta[:, None, :] - theta[:, :, None]))
        gradient = tables.sum(axis=2) - (n_comparisons * win_probability).sum(axis=2)
        scale = max(1.0, n_comparisons.max(initial=0.0))
        if np.abs(gradient).max(initial=0.0) <= _GRADIENT_TOLERANCE * scale:
            break
        weight = n_comparisons * win_probability * (1 - win_probability)
        # Constants in all entries keep the sum of strengths at 0.
        curvature = np.einsum("ri,ij->rij", weight.sum(axis=2), np.eye(n_systems)) - weight
        curvature += curvature.max(axis=(1, 2))[:, None, None]
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        theta += step / np.maximum(1.0, np.abs(step).max(axis=1, keepdims=True))
    strengths[is_finite] = theta - theta.mean(axis=1, keepdims=True)
    return strengths.reshape(wins.shape[:-1])


def _bootstrap_strengths(
    wins: Floats, confidence: float, resamples: int, seed: int
) -> tuple[Floats, Floats, list[str]]:
    """Return percentile intervals of strengths by a bootstrap of topics, and notes."""
    n_topics, n_systems = wins.shape[:2]
    topic_wins, counts = wins.reshape(n_topics, -1), np.ones(n_topics)
    if n_topics * resamples > _MAX_DRAWS:
        # The numbers of drawn topics with the same preferences are multinomial, too.
        groups = Counter(row.tobytes() for row in topic_wins)
        topic_wins = np.frombuffer(b"".join(groups), wins.dtype).reshape(len(groups), -1)
        counts = np.array([*groups.values()], dtype=np.float64)
    rng, shape = make_stream(seed), (-1, n_systems, n_systems)

    def draw_wins(n_samples: int) -> Floats:
        sizes = (rows.stop - rows.start for rows in slice_rows(n_samples, len(counts), _MAX_VALUES))
        draws = (rng.multinomial(n_topics, counts / n_topics, size=size) for size in sizes)
        return np.concatenate([block @ topic_wins for block in draws])

    slices = slice_rows(resamples, n_systems**2, _MAX_VALUES)
    blocks = (draw_wins(rows.stop - rows.start) for rows in slices)
    samples = np.concatenate([fit_bradley_terry(block.reshape(shape)) for block in blocks])
    is_finite = ~np.isnan(samples).any(axis=1)
    n_excluded = int((~is_finite).sum())
    subject = f"{n_excluded:,} of {inflect(resamples, 'resample')}"
    if n_topics < 2 or n_excluded / resamples > (1 - confidence) / 2:
        cause = f"{subject} without finite strengths" if n_topics > 1 else "only one topic"
        return *np.full((2, n_systems), np.nan), [f"no confidence intervals of strengths: {cause}"]
    notes = [f"{subject} excluded: no finite strengths"] if n_excluded else []
    bounds = np.array([compute_percentiles(column, confidence) for column in samples[is_finite].T])
    is_constant = np.ptp(samples[is_finite], axis=0) <= _MIN_RANGE
    if is_constant.any():
        notes.append("no confidence interval of strengths that are equal in all resamples")
        bounds[is_constant] = np.nan
    return *bounds.T, notes


@dataclass(frozen=True, eq=False, repr=False)
class SideBySide(Result):
    """Ranking of systems by side-by-side preferences; returned by :func:`side_by_side`.

    Attributes
    ----------
    strengths
        Table of the systems with their strengths.
    matrix
        Preferences between all pairs of systems, with sign tests by topic.
    position
        Preference of the judge for the system shown first; None if orders are unknown.
    n_topics
        Number of topics.
    confidence, resamples, seed
        Confidence level of the intervals, number of bootstrap resamples of topics, and their seed.
    notes
        Remarks, such as on strengths that are not finite, or missing intervals.
    """

    name: ClassVar[str] = "side-by-side"
    columns: ClassVar[dict[str, Columns]] = {
        "strengths": {
            "system": Column("System, the strongest first.", key=True),
            "wins": Column("Number of comparisons in which the system is preferred."),
            "losses": Column("Number of comparisons in which the other system is preferred."),
            "ties": Column("Number of comparisons without a preference."),
            "strength": Column("Bradley-Terry strength (log odds, mean 0); null if not finite."),
            **declare_bounds("percentile interval (bootstrap of topics)", "; null if none"),
        },
        "pairs": PreferenceMatrix.columns,
        "position": Preference.columns,
    }

    strengths: pl.DataFrame
    matrix: PreferenceMatrix
    position: Preference | None
    n_topics: int
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...]

    def frames(self) -> dict[str, pl.DataFrame]:
        frames = {"strengths": self.strengths, "pairs": self.matrix.to_polars()}
        return frames | ({} if self.position is None else {"position": self.position.to_polars()})

    def heading(self) -> list[str]:
        sizes = f"{inflect(self.strengths.height, 'system')}, {inflect(self.n_topics, 'topic')}"
        resamples = f"{self.resamples:,} resamples of topics, seed {self.seed}"
        intervals = f"Bradley-Terry strengths, {100 * self.confidence:g}% intervals by {resamples}"
        lines = [f"{sizes}: {intervals}; sign tests by topic, correction {self.matrix.correction}"]
        if (position := self.position) is not None:
            low, high = position.outcome_interval
            wins = f"{position.wins:,} of {position.wins + position.losses:,} decided comparisons"
            interval = "no confidence interval" if np.isnan(low) else f"{low:.3f} to {high:.3f}"
            outcome = f"{position.outcome:.3f}, {interval}"
            test = f"sign test by topic: p {position.pvalue:.3g}"
            lines.append(f"position: the system shown first wins {wins} ({outcome}; {test})")
        return lines


def side_by_side(
    preferences: Any,
    *,
    correction: Annotated[str, OneOf(tuple(ADJUSTMENTS))] = "holm",
    confidence: Annotated[float, UnitInterval()] = 0.95,
    resamples: Annotated[int, Integer(1)] = 1000,
    seed: int = 0,
) -> SideBySide:
    r"""Rank systems by side-by-side preferences of a language model or of human assessors.

    Parameters
    ----------
    preferences
        Table of `topic`, the systems `first` and `second` (also `system_a`, `system_b`) and
        `winner`: a, b, tie or the name of a system; optionally `order`, the system that the judge
        saw first, for the position bias.
    correction
        Correction for multiple comparisons, over the pairs of systems.
    confidence
        Confidence level of the intervals.
    resamples, seed
        Number of bootstrap resamples of topics, and their seed.

    Returns
    -------
    SideBySide
        Strengths of the systems, preferences of pairs, and the preference for the first position.

    Raises
    ------
    InputError
        For a table that cannot be read, with file and line.

    Notes
    -----
    Comparisons of one topic may depend on each other, so topics are resampled, and the sign test of
    a pair is by topic. Resamples without finite strengths are excluded, with a note; if their
    proportion exceeds a tail of the interval, there are no intervals. If the better system is often
    shown first, the preference for the first position is not a bias: show each pair in both orders.

    Examples
    --------
    >>> rows = [("q1", "x", "y", "a"), ("q2", "x", "y", "a"), ("q3", "x", "y", "b")]
    >>> side_by_side(rows).to_polars().select("system", pl.col("strength").round(4)).rows()
    [('x', 0.3466), ('y', -0.3466)]
    """
    check_arguments(side_by_side, locals())
    table = read_votes(preferences, _VOTES)
    table.check(suspect_totals("topic"))
    sign = np.array(parse_signs(table, "preferred"), dtype=np.float64)
    order = np.array(parse_signs(table, "order"), dtype=np.float64)
    names, codes = np.unique(table.frame.select("first", "second").to_numpy(), return_inverse=True)
    systems, pairs = tuple(names.tolist()), codes.reshape(-1, 2)
    first, second = pairs.T
    topic_names, topic = np.unique(table.frame["topic"].to_numpy(), return_inverse=True)
    n_topics, n_systems = len(topic_names), len(systems)
    wins = np.zeros((n_topics, n_systems, n_systems))
    np.add.at(wins, (topic, first, second), (1 + sign) / 2)
    np.add.at(wins, (topic, second, first), (1 - sign) / 2)
    options = PreferenceOptions(0.5, confidence, resamples, seed)

    def test_preference(signs: Floats, names: tuple[str, str]) -> Preference:
        return compare_rankers(signs, np.zeros(signs.size), topic, names, "topic", (), options)

    pair_preferences = []
    for a, b in combinations(range(n_systems), 2):
        direction = ((first == a) & (second == b)) * 1.0 - ((first == b) & (second == a))
        if direction.any():
            pair_signs = np.where(direction, direction * sign, np.nan)
            pair_preferences.append(test_preference(pair_signs, (systems[a], systems[b])))
    pvalues = adjust_pvalues([pair.pvalue for pair in pair_preferences], correction)
    matrix = PreferenceMatrix(systems, tuple(pair_preferences), pvalues, correction)
    strengths = fit_bradley_terry(wins.sum(axis=0))
    low = high = np.full(n_systems, np.nan)
    notes = ["no finite strengths: a group of systems has no win against the other systems"]
    if not np.isnan(strengths).any():
        low, high, notes = _bootstrap_strengths(wins, confidence, resamples, seed)
    position = None
    if not np.isnan(order).all():
        position = test_preference(order * sign, ("shown first", "shown second"))
    else:
        remedy = "a test requires a column order, the system that was shown first"
        notes.append(f"position bias was not tested; {remedy}")
    notes += [line.removeprefix("note: ") for line in matrix.format_notes()]
    signs = np.stack([sign, -sign], axis=1)
    values = {"wins": 1, "losses": -1, "ties": 0}
    counts = {k: np.bincount(pairs[signs == v], minlength=n_systems) for k, v in values.items()}
    estimates = {"strength": strengths, "low": low, "high": high}
    rows = pl.DataFrame({"system": systems, **counts, **estimates}).fill_nan(None)
    rows = rows.sort("strength", "wins", descending=True, nulls_last=True, maintain_order=True)
    settings = n_topics, confidence, resamples, seed
    return SideBySide(rows, matrix, position, *settings, tuple(notes))
