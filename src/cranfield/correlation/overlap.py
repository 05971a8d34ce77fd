"""Rank-biased overlap of two rankings, which may have different documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from numbers import Real
from typing import Any, Protocol

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_proportion,
    quote,
    warn,
)
from cranfield.correlation.tau import pair_values

MAX_TERMS = 100_000
"""Maximum number of terms to add for an infinite sum; longer sums use a closed formula."""


@dataclass(frozen=True, eq=False)
class TieGroups:
    """First and last rank, from 1, of the group of ties of each item; 0 for unranked items."""

    top: Ints
    bottom: Ints

    @property
    def n_items(self) -> int:
        """Number of ranked items."""
        return int(self.bottom.max(initial=0))


def compute_rbo(
    first: TieGroups, second: TieGroups, p: float, ties: str
) -> tuple[float, float, float]:
    """Return extrapolated RBO, the lowest possible RBO, and the residual; see :func:`rbo`."""
    # A depth cuts at most one tie group of each ranking, so overlaps are counts of items that are
    # above the cut in both rankings, in the cut group of one, or in the cut groups of both.
    shorter, longer = (first, second) if first.n_items <= second.n_items else (second, first)
    short_length, length = shorter.n_items, longer.n_items
    depth = np.arange(1, length + 1)
    is_common = (shorter.top > 0) & (longer.top > 0)
    short_cut, short_sum = _compute_cuts(shorter, length, ties)
    long_cut, long_sum = _compute_cuts(longer, length, ties)
    overlaps = _compute_overlaps(shorter, longer, is_common, short_cut, long_cut)
    norm = np.sqrt(short_sum * long_sum) if ties == "b" else (short_sum + long_sum) / 2
    # Beyond its end, the shorter ranking has unseen items, which may be in the longer one.
    is_unshared = (longer.top > 0) & ~is_common
    n_complete = _count_ranks(longer.bottom[is_unshared], length)
    n_begun = _count_ranks(longer.top[is_unshared], length)
    n_unseen = np.maximum(depth - short_length, 0)
    n_full = np.minimum(n_unseen, n_complete)
    max_overlap = n_full + long_cut * np.minimum(n_unseen - n_full, n_begun - n_complete)
    mean_proportion = (n_complete + long_cut * (n_begun - n_complete)) / np.maximum(n_begun, 1)
    agreement = float(overlaps[short_length - 1] / norm[short_length - 1])
    weights = (1 - p) * p ** (depth - 1.0)
    n_common = int(is_common.sum())
    min_value = float(weights @ (overlaps / norm)) + n_common * (1 - p) * _sum_tail(p, length)
    ext = float(weights @ ((overlaps + agreement * n_unseen * mean_proportion) / norm))
    # At the end of rankings of equal length all items count fully, with or without ties.
    ext += p**length * (n_common + (length - short_length) * agreement) / length
    max_value = float(weights @ ((overlaps + max_overlap) / norm))
    # Beyond both ends, each new item is in the other ranking, until all are in both.
    last_depth = length + short_length - n_common
    depths = np.arange(length + 1, last_depth + 1)
    max_value += float(((1 - p) * p ** (depths - 1.0)) @ (2 - last_depth / depths)) + p**last_depth
    # Rounding errors must not exceed the range.
    min_value = min(max(min_value, 0.0), 1.0)
    max_value = min(max(max_value, min_value), 1.0)
    return min(max(ext, min_value), max_value), min_value, max_value - min_value


def _compute_cuts(groups: TieGroups, max_depth: int, ties: str) -> tuple[Floats, Floats]:
    """Return, by depth, the included proportion of the cut tie group, and the sum over items."""
    depth = np.arange(1, max_depth + 1)
    # The sorted ranks list a group of k items k times, once for each depth that it covers. Beyond
    # its end, a ranking is continued without ties. For `b`, squared proportions are summed.
    top, bottom = (
        np.append(np.sort(ranks[ranks > 0]), depth[groups.n_items :])
        for ranks in (groups.top, groups.bottom)
    )
    n_items = bottom - top + 1
    proportion: Floats = np.ones(max_depth) if ties == "w" else (depth - top + 1) / n_items
    return proportion, np.asarray(top - 1 + n_items * proportion ** (2 if ties == "b" else 1))


def _compute_overlaps(
    shorter: TieGroups, longer: TieGroups, is_common: Any, short_cut: Floats, long_cut: Floats
) -> Floats:
    """Compute the overlap at each depth; tie groups that are cut count by their proportion."""
    max_depth = short_cut.size
    short_top, long_top = shorter.top[is_common], longer.top[is_common]
    short_bottom, long_bottom = shorter.bottom[is_common], longer.bottom[is_common]
    n_above = _count_ranks(np.maximum(short_bottom, long_bottom), max_depth)
    n_long = _count_ranks(np.maximum(short_bottom, long_top), max_depth) - n_above
    n_short = _count_ranks(np.maximum(short_top, long_bottom), max_depth) - n_above
    n_both = _count_ranks(np.maximum(short_top, long_top), max_depth) - n_above - n_long - n_short
    return np.asarray(
        n_above + n_long * long_cut + n_short * short_cut + n_both * short_cut * long_cut
    )


def _count_ranks(ranks: Ints, max_depth: int) -> Ints:
    """Count the ranks down to each depth."""
    return np.cumsum(np.bincount(ranks, minlength=max_depth + 1)[1 : max_depth + 1])


@lru_cache
def _sum_tail(p: float, depth: int) -> float:
    """Compute the infinite sum of p^(d-1) / d over all d beyond a depth."""
    n_terms = int(np.ceil(-40 / np.log(p)))
    if n_terms > MAX_TERMS:
        d = np.arange(1, depth + 1)
        return float(-np.log1p(-p) / p - (p ** (d - 1.0) / d).sum())
    d = np.arange(depth + 1, depth + n_terms + 1)
    return float((p ** (d - 1.0) / d).sum())


TIES = ("a", "b", "w")


@dataclass(frozen=True, repr=False)
class RBO:
    """Rank-biased overlap of two rankings.

    Attributes
    ----------
    ext
        Extrapolated value, as if the agreement at the end of the rankings continued.
    min
        Lowest value that continuations of the rankings can have.
    res
        Residual: the highest possible value minus `min`.
    p
        Persistence.
    ties
        Treatment of ties.
    """

    ext: float
    min: float
    res: float
    p: float
    ties: str

    @property
    def max(self) -> float:
        """Highest value that continuations of the rankings can have: min + res."""
        return self.min + self.res

    def __repr__(self) -> str:
        return f"RBO(ext={self.ext:.4f}, min={self.min:.4f}, res={self.res:.4f}, p={self.p:g})"


def rbo(first: Any, second: Any, p: float = 0.9, *, ties: str = "a") -> RBO:
    r"""Compute the rank-biased overlap of two rankings, which may differ in length and items.

    Parameters
    ----------
    first, second
        The ids of the items, best first; integral numbers are read as text. A list, set or tuple in
        place of an id contains tied ids.
        A mapping of ids to scores is ranked by score in descending order; equal scores are tied.
    p
        Persistence, between 0 and 1: the probability of continuing to the next depth. The first 10
        ranks have 86% of the weight for p = 0.9, and 99.98% for p = 0.5.
    ties
        Treatment of ties. `a`: the order is unknown, and each overlap is the mean over all ways to
        break the ties; so is `min`, and for rankings of equal length `ext` and `max`. `b`: as `a`,
        but corrected such that a ranking with ties agrees fully with itself. `w`: all tied items
        have the first rank of their group. Without ties the results are equal.

    Returns
    -------
    RBO
        Values from 0 to 1: `ext` (extrapolated), `min`, `max`, and `res`, which is max - min.

    Raises
    ------
    CranfieldError
        For a ranking that is empty or of another type, repeated or invalid ids, and invalid scores.
    PolicyError
        For an unknown treatment of ties, or a p that is not between 0 and 1.

    Notes
    -----
    .. math::
        \mathrm{RBO} = (1-p) \sum_{d=1}^{\infty} p^{d-1} A_d

    where the agreement :math:`A_d` is the number of common items among the first d items, divided
    by d (Webber, Moffat and Zobel 2010). For rankings of s and l items, :math:`s \le l`, the items
    below the ends are unknown: `min` assumes no overlap there (equation 11 of the paper, over the
    items of both rankings), `res` is equation 30, and `ext` equation 32. For `ext`, the unseen
    items of the shorter ranking are assumed to agree with the longer ranking in a proportion
    :math:`A_s`.

    With ties (Corsi and Urbano 2024), an item whose tie group has ranks t to b in ranking S belongs
    to the first d items in the proportion

    .. math::
        c_{S,d} = 0 \; (d < t), \qquad \frac{d-t+1}{b-t+1} \; (t \le d < b), \qquad 1 \; (d \ge b)

    for `a` and `b`; for `w` the proportion is 1 for :math:`d \ge t`. The overlap with ranking L is
    :math:`X_d = \sum c_{S,d} \, c_{L,d}`, and the agreement is :math:`X_d / d` for `a`,
    :math:`X_d / \sqrt{\sum c_{S,d}^2 \sum c_{L,d}^2}` for `b`, and
    :math:`2 X_d / (\sum c_{S,d} + \sum c_{L,d})` for `w`. Unseen items of the shorter ranking have
    no ties. Each unseen item is matched with items that are only in the longer ranking: it counts
    the mean c of those with c > 0 at depth d for `ext`, and the highest c for `max`.

    Examples
    --------
    >>> rbo(["d1", "d2", "d3"], ["d1", "d3", "d4"], p=0.9)
    RBO(ext=0.6850, min=0.3667, res=0.5613, p=0.9)
    >>> rbo(["red", {"blue", "green"}, "yellow"], {"red": 3.5, "blue": 1.5}, p=0.5)
    RBO(ext=0.9115, min=0.8238, res=0.1137, p=0.5)
    """
    p = check_rbo_options(p, ties)
    first_groups, second_groups = _read_groups(first), _read_groups(second)
    groups = (*first_groups, *second_groups)
    items = dict.fromkeys(item for group in groups for item in group)
    number_flags = [
        {str(item).isdecimal() for group in ranking for item in group}
        for ranking in (first_groups, second_groups)
    ]
    if number_flags in ([{True}, {False}], [{False}, {True}]):
        warn("rbo: the rankings have no item in common, as the ids of only one ranking are numbers")
    codes = {item: code for code, item in enumerate(items)}
    first_ranks, second_ranks = (_index_groups(g, codes) for g in (first_groups, second_groups))
    return RBO(*compute_rbo(first_ranks, second_ranks, p, ties), p, ties)


def rbo_of_scores(x: Any, y: Any, p: float = 0.9, *, ties: str = "a") -> RBO:
    """Compute the rank-biased overlap of two rankings of the same items, given as scores.

    Parameters
    ----------
    x, y
        Scores of the items, where higher is better, shape (items,) or (1, items); equal scores are
        tied. Two pandas series are paired by the labels of their items.
    p, ties
        As for :func:`rbo`.

    Raises
    ------
    CranfieldError
        For scores that are not numbers, or not of the same items and shape, and for no items.
    PolicyError
        For an unknown treatment of ties, or a p that is not between 0 and 1.

    Examples
    --------
    >>> rbo_of_scores([0.5, 0.4, 0.1], [0.3, 0.4, 0.1]).ext == rbo([*"abc"], [*"bac"]).ext
    True
    """
    p = check_rbo_options(p, ties)
    a, b = pair_values(x, y)
    if len(a) > 1:
        raise CranfieldError(f"scores must have shape (items,), got {a.shape}")
    if not a.size:
        raise CranfieldError("expected at least one item, got none")
    if np.isnan(a).any() or np.isnan(b).any():
        raise CranfieldError("scores must be numbers, got NaN")
    return RBO(*compute_rbo(group_scores(a[0]), group_scores(b[0]), p, ties), p, ties)


def check_rbo_options(p: Any, ties: Any) -> float:
    """Check the options and return p as a float."""
    check_choice("ties", ties, TIES)
    check_proportion("p", p)
    return float(p)


def group_scores(scores: Floats) -> TieGroups:
    """Rank items by score in descending order; return the tie group of each item."""
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    bottoms = np.cumsum(sizes)
    return TieGroups((bottoms - sizes + 1)[group], bottoms[group])


def _read_groups(ranking: Any) -> list[list[Any]]:
    """Read the tie groups of a ranking; untied items are groups of one."""
    if isinstance(ranking, (str, bytes)):
        raise CranfieldError(f"a ranking must be a sequence of ids, got {quote(ranking)}")
    if isinstance(ranking, (set, frozenset)) or not isinstance(ranking, Iterable):
        kind = type(ranking).__name__
        raise CranfieldError(f"a ranking must be a sequence of ids, or ids with scores, got {kind}")
    if getattr(getattr(ranking, "dtype", None), "kind", "") == "f":
        raise CranfieldError(
            "a ranking must be a sequence of ids, or ids with scores, got floats; pass a mapping"
            " of ids to scores, such as series.to_dict()"
        )
    if isinstance(ranking, Mapping):
        for item, score in ranking.items():
            if not isinstance(score, Real) or np.isnan(float(score)):
                name, value = quote(item), quote(score)
                raise CranfieldError(f"score of {name} must be a number, got {value}")
        sorted_ids = sorted(ranking, key=lambda item: -float(ranking[item]))
        groups = [[*group] for _, group in groupby(sorted_ids, lambda item: float(ranking[item]))]
    else:
        group_types = (list, set, frozenset, tuple)
        groups = [list(item) if isinstance(item, group_types) else [item] for item in ranking]
    groups = [[_as_id(item) for item in group] for group in groups]
    if not groups or not all(groups):
        problem = "an empty tie group" if groups else "an empty ranking"
        raise CranfieldError(f"expected a sequence of ids, or ids with scores, got {problem}")
    items = set()
    for group in groups:
        for item in group:
            if item in items:
                raise CranfieldError(f"items of a ranking must be unique, got {quote(item)} twice")
            items.add(item)
    return groups


def _as_id(item: Any) -> Any:
    """Convert integral numbers to text, like ids in files; return other ids unchanged."""
    try:
        hash(item)
    except TypeError:
        raise CranfieldError(f"an id must be hashable, got {quote(item)}") from None
    is_integer = isinstance(item, Real) and item == item // 1
    return str(int(item)) if is_integer and not isinstance(item, bool) else item


def _index_groups(groups: list[list[Any]], codes: Mapping[Any, int]) -> TieGroups:
    indices = np.array([codes[item] for group in groups for item in group], dtype=np.int64)
    sizes = np.array([len(group) for group in groups])
    bottoms = np.cumsum(sizes)
    top: Ints = np.zeros(len(codes), dtype=np.int64)
    bottom = top.copy()
    top[indices] = np.repeat(bottoms - sizes + 1, sizes)
    bottom[indices] = np.repeat(bottoms, sizes)
    return TieGroups(top, bottom)


class RunTable(Protocol):
    """A run that can be converted to a table."""

    def to_polars(self) -> pl.DataFrame:
        """Return a table with the columns topic, doc and score."""


def rbo_of_runs(
    first: RunTable, second: RunTable, p: float = 0.9, *, ties: str = "a"
) -> pl.DataFrame:
    """Compute the rank-biased overlap of two runs by topic.

    Parameters
    ----------
    first, second
        Runs, as returned by :func:`cranfield.read_run`. Documents are ranked by score in descending
        order, ignoring the ranks in files; equal scores are tied.
    p, ties
        As for :func:`cranfield.correlation.rbo`.

    Returns
    -------
    polars.DataFrame
        A row for each topic, in order of the first run, then of the second. Columns: `topic`;
        `ext`, `min` and `res`, null for a topic of only one run; and the number of documents of the
        `first` and the `second` run.

    Raises
    ------
    PolicyError
        For an unknown treatment of ties, an invalid p, or an argument that is not a run.

    Examples
    --------
    >>> import cranfield as cf
    >>> first = cf.read_run({"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1}})
    >>> second = cf.read_run({"q1": {"a": 9, "c": 8, "d": 7}})
    >>> rbo_of_runs(first, second).select("topic", pl.col("ext").round(4), "first", "second").rows()
    [('q1', 0.685, 3, 3), ('q2', None, 1, 0)]
    """
    p = check_rbo_options(p, ties)
    first_ranks, second_ranks = _compute_tie_ranks(first), _compute_tie_ranks(second)
    joined_ranks = first_ranks.join(
        second_ranks, on=["topic", "doc"], how="full", coalesce=True, suffix=" of second"
    )
    topics = pl.concat([first_ranks["topic"], second_ranks["topic"]]).unique(maintain_order=True)
    topic_ranks = joined_ranks.partition_by("topic", as_dict=True)
    rows = []
    for topic in topics:
        ranks = topic_ranks[topic,].drop("topic", "doc").fill_null(0).cast(pl.Int64)
        top, bottom, second_top, second_bottom = ranks.to_numpy().T
        a, b = TieGroups(top, bottom), TieGroups(second_top, second_bottom)
        values = compute_rbo(a, b, p, ties) if a.n_items and b.n_items else (None,) * 3
        rows.append((topic, *values, a.n_items, b.n_items))
    dtypes = [pl.String, *[pl.Float64] * 3, pl.Int64, pl.Int64]
    names = ("topic", "ext", "min", "res", "first", "second")
    return pl.DataFrame(rows, dict(zip(names, dtypes, strict=True)), orient="row")


def _compute_tie_ranks(run: RunTable) -> pl.DataFrame:
    """Return the first and the last rank of the tie group of each document."""
    table = run.to_polars() if hasattr(run, "to_polars") else pl.DataFrame()
    if "score" not in table.columns or "doc" not in table.columns:
        raise PolicyError(f"expected a run from cranfield.read_run, got {type(run).__name__}")
    # Adding 0 turns -0 into 0, so that the two are tied.
    score = pl.col("score") + 0.0
    return table.select(
        "topic",
        "doc",
        top=score.rank("min", descending=True).over("topic"),
        bottom=score.rank("max", descending=True).over("topic"),
    )
