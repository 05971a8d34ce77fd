"""Rank-biased overlap of two rankings, which may have different documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, Protocol

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_share, quoted
from cranfield.correlation.tau import paired_values

TERMS = 100_000
"""Maximum number of terms of the infinite sum to add up; above it the logarithm is as exact."""


@dataclass(frozen=True, eq=False)
class TieRanks:
    """First and last rank, from 1, of the group of ties of each item; 0 for an unranked item."""

    top: Ints
    bottom: Ints

    @property
    def length(self) -> int:
        return int(self.bottom.max(initial=0))


def overlap(first: TieRanks, second: TieRanks, p: float, ties: str) -> tuple[float, float, float]:
    """Return extrapolated RBO, its lowest possible value, and the residual; see :func:`rbo`."""
    # At any depth at most one group of ties is cut in each ranking, so overlaps are counts of items
    # above the cut in both, cut in one, or cut in both.
    shorter, longer = (first, second) if first.length <= second.length else (second, first)
    s, length = shorter.length, longer.length
    depth = np.arange(1, length + 1)
    in_both = (shorter.top > 0) & (longer.top > 0)
    short_depths, long_depths = _Depths(shorter, length, ties), _Depths(longer, length, ties)
    overlaps = _overlaps(shorter, longer, in_both, short_depths.proportion, long_depths.proportion)
    sizes = short_depths.size(ties), long_depths.size(ties)
    norm = np.sqrt(sizes[0] * sizes[1]) if ties == "b" else (sizes[0] + sizes[1]) / 2
    # Below its end, the shorter ranking has unseen items, which may be in the longer one.
    only_long = (longer.top > 0) & ~in_both
    n_complete, n_begun = (
        _count_reached(ranks[only_long], length) for ranks in (longer.bottom, longer.top)
    )
    unseen = np.maximum(depth - s, 0)
    n_full = np.minimum(unseen, n_complete)
    max_unseen = n_full + long_depths.proportion * np.minimum(unseen - n_full, n_begun - n_complete)
    mean = (n_complete + long_depths.proportion * (n_begun - n_complete)) / np.maximum(n_begun, 1)
    agreement = float(overlaps[s - 1] / norm[s - 1])
    weight = (1 - p) * p ** (depth - 1.0)
    n_common = int(in_both.sum())
    low = float(weight @ (overlaps / norm)) + n_common * (1 - p) * _tail(p, length)
    ext = float(weight @ ((overlaps + agreement * unseen * mean) / norm))
    # At the end of rankings of equal length all items count fully, whatever their ties.
    ext += p**length * (n_common + (length - s) * agreement) / length
    high = float(weight @ ((overlaps + max_unseen) / norm))
    # Beyond both ends, each new item is in the other ranking, until all are in both.
    end = length + s - n_common
    depths = np.arange(length + 1, end + 1)
    high += float(((1 - p) * p ** (depths - 1.0)) @ (2 - end / depths)) + p**end
    # Rounding must not leave the range.
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return min(max(ext, low), max(high, low)), low, max(high - low, 0.0)


class _Depths:
    """The group of ties at each depth of a ranking, and the proportion of it down to that depth."""

    def __init__(self, places: TieRanks, depths: int, ties: str) -> None:
        is_ranked = places.top > 0
        depth = np.arange(1, depths + 1)
        # All k items of a group have its first rank, so the group covers k depths. Beyond its end a
        # ranking is continued without ties.
        extra_depths = depth[places.length :]
        self.top = np.append(np.sort(places.top[is_ranked]), extra_depths)
        self.bottom = np.append(np.sort(places.bottom[is_ranked]), extra_depths)
        proportion = (depth - self.top + 1) / (self.bottom - self.top + 1)
        self.proportion: Floats = np.ones(depths) if ties == "w" else proportion

    def size(self, ties: str) -> Floats:
        """Sum the items' proportions, or for `b` their squares, down to each depth."""
        power = 2 if ties == "b" else 1
        n_items = self.bottom - self.top + 1
        return np.asarray(self.top - 1 + n_items * self.proportion**power)


def _overlaps(
    shorter: TieRanks, longer: TieRanks, in_both: Any, short_cut: Floats, long_cut: Floats
) -> Floats:
    """Return the overlap down to each depth; groups of ties cut there count in proportion."""
    depths = short_cut.size
    tops, bottoms = (
        (shorter.top[in_both], longer.top[in_both]),
        (shorter.bottom[in_both], longer.bottom[in_both]),
    )
    above = _count_reached(np.maximum(*bottoms), depths)
    cut_long = _count_reached(np.maximum(bottoms[0], tops[1]), depths) - above
    cut_short = _count_reached(np.maximum(tops[0], bottoms[1]), depths) - above
    cut_both = _count_reached(np.maximum(*tops), depths) - above - cut_long - cut_short
    return np.asarray(
        above + cut_long * long_cut + cut_short * short_cut + cut_both * short_cut * long_cut
    )


def _count_reached(ranks: Ints, depths: int) -> Ints:
    return np.cumsum(np.bincount(ranks, minlength=depths + 1)[1 : depths + 1])


@lru_cache
def _tail(p: float, depth: int) -> float:
    """Return the infinite sum of p^(d-1) / d over all d beyond a depth."""
    terms = int(np.ceil(-40 / np.log(p)))
    if terms > TERMS:
        d = np.arange(1, depth + 1)
        return float(-np.log1p(-p) / p - (p ** (d - 1.0) / d).sum())
    d = np.arange(depth + 1, depth + terms + 1)
    return float((p ** (d - 1.0) / d).sum())


TIES = ("a", "b", "w")


@dataclass(frozen=True, repr=False)
class RBO:
    """Rank-biased overlap of two rankings.

    Attributes
    ----------
    ext
        Extrapolated: the value if the agreement at the end of the rankings continued.
    min
        The lowest value that longer versions of the rankings can have.
    res
        The residual: the highest possible value minus `min`.
    p
        The persistence.
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
        """The highest value that longer versions of the rankings can have: min + res."""
        return self.min + self.res

    def __repr__(self) -> str:
        return f"RBO(ext={self.ext:.4f}, min={self.min:.4f}, res={self.res:.4f}, p={self.p:g})"


def rbo(first: Any, second: Any, p: float = 0.9, *, ties: str = "a") -> RBO:
    r"""Compute the rank-biased overlap of two rankings, of any lengths.

    Parameters
    ----------
    first, second
        The ids of the items, best first. A list, set or tuple in place of an id holds ids that are
        tied. A mapping of ids to scores is ranked by score, higher first, equal scores tied.
    p
        Persistence, between 0 and 1: the probability of going on to the next depth. The first 10
        ranks have 86% of the weight at 0.9, and all but 0.01% at 0.5.
    ties
        Meaning of ties. `a`: the order is not known; the mean over all ways to break the ties.
        `b`: the same, corrected for ties, so that a ranking agrees fully with itself. `w`: the
        items are at the same rank, their group's first. Without ties all are the same.

    Returns
    -------
    RBO
        With `ext`, `min`, `res` and `max`, all from 0 to 1.

    Raises
    ------
    CranfieldError
        For a ranking that is empty, has an item twice, or is not a ranking.
    PolicyError
        For an unknown treatment of ties, or a p that is not between 0 and 1.

    Notes
    -----
    .. math::
        \mathrm{RBO} = (1-p) \sum_{d=1}^{\infty} p^{d-1} A_d

    where the agreement :math:`A_d` is the overlap of the first d items over d (Webber, Moffat and
    Zobel 2010). Rankings of s and l items, :math:`s \le l`, leave open what comes below: `min` has
    no overlap there (their equation 11, over both rankings' items), `res` is by equation 30, and
    `ext` by equation 32. Beyond s, the unseen items of the shorter
    ranking are assumed to agree with the longer one in a proportion :math:`A_s`.

    With ties (Corsi and Urbano 2024), an item with ranks t to b in ranking S is in its first d
    items by

    .. math::
        c_{S,d} = 0 \; (d < t), \qquad \frac{d-t+1}{b-t+1} \; (t \le d < b), \qquad 1 \; (d \ge b)

    for `a` and `b`; for `w` by 1 from t on. The overlap is :math:`X_d = \sum c_{S,d} \, c_{L,d}`,
    and the agreement is :math:`X_d / d` for `a`,
    :math:`X_d / \sqrt{\sum c_{S,d}^2 \sum c_{L,d}^2}` for `b`, and
    :math:`2 X_d / (\sum c_{S,d} + \sum c_{L,d})` for `w`. An unseen item of the shorter ranking
    has no ties. For `ext` it meets, on average, the mean c of the longer ranking's items at that
    depth that are not in the shorter one, and for `max` the highest.

    Examples
    --------
    >>> rbo(["d1", "d2", "d3"], ["d1", "d3", "d4"], p=0.9)
    RBO(ext=0.6850, min=0.3667, res=0.5613, p=0.9)
    >>> rbo(["red", {"blue", "green"}, "yellow"], {"red": 3.5, "blue": 1.5}, p=0.5)
    RBO(ext=0.9115, min=0.8238, res=0.1137, p=0.5)
    """
    p = check(p, ties)
    first_groups, second_groups = _groups(first), _groups(second)
    codes: dict[Any, int] = {}
    for group in (*first_groups, *second_groups):
        for item in group:
            codes.setdefault(item, len(codes))
    return RBO(
        *overlap(_places(first_groups, codes), _places(second_groups, codes), p, ties), p, ties
    )


def rbo_of_scores(x: Any, y: Any, p: float = 0.9, *, ties: str = "a") -> RBO:
    """Compute the rank-biased overlap of two orders of the same items, from scores.

    Parameters
    ----------
    x, y
        Scores of the items, higher is better, shape (items,); equal scores are tied.
    p, ties
        As for :func:`rbo`.

    Raises
    ------
    CranfieldError
        For scores that are not numbers, or not of the same items.
    PolicyError
        For an unknown treatment of ties, or a p that is not between 0 and 1.

    Examples
    --------
    >>> rbo_of_scores([0.5, 0.4, 0.1], [0.3, 0.4, 0.1]).ext == rbo([*"abc"], [*"bac"]).ext
    True
    """
    p = check(p, ties)
    a, b = paired_values(x, y)
    if len(a) > 1:
        raise CranfieldError("scores must have shape (items,)")
    if not a.size:
        raise CranfieldError("no item to rank")
    if np.isnan(a).any() or np.isnan(b).any():
        raise CranfieldError("scores must not be NaN")
    return RBO(*overlap(places_of_scores(a[0]), places_of_scores(b[0]), p, ties), p, ties)


def check(p: Any, ties: Any) -> float:
    """Check the options, and return p as a float."""
    check_choice("ties", ties, TIES)
    check_share("p", p)
    return float(p)


def places_of_scores(scores: Floats) -> TieRanks:
    """Rank by score, higher first; equal scores are a group of ties."""
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    bottoms = np.cumsum(sizes)
    return TieRanks((bottoms - sizes + 1)[group], bottoms[group])


def _groups(ranking: Any) -> list[list[Any]]:
    """Return the groups of ties of a ranking; untied items are groups of one."""
    if isinstance(ranking, (str, bytes)):
        raise CranfieldError(f"a ranking must be a sequence of ids, got {quoted(ranking)}")
    if isinstance(ranking, (set, frozenset)) or not isinstance(ranking, Iterable):
        kind = type(ranking).__name__
        raise CranfieldError(f"a ranking must be a sequence of ids, or ids with scores, got {kind}")
    if isinstance(ranking, Mapping):
        groups = _by_score(ranking)
    else:
        group_types = (list, set, frozenset, tuple)
        groups = [list(item) if isinstance(item, group_types) else [item] for item in ranking]
    if not groups or not all(groups):
        raise CranfieldError("a ranking and its groups of ties must not be empty")
    items = set()
    for group in groups:
        for item in group:
            try:
                is_duplicate = item in items
            except TypeError:
                raise CranfieldError(f"an id must be hashable, got {quoted(item)}") from None
            if is_duplicate:
                raise CranfieldError(f"a ranking has {quoted(item)} twice")
            items.add(item)
    return groups


def _by_score(scores: Mapping[Any, Any]) -> list[list[Any]]:
    groups: dict[float, list[Any]] = {}
    for item, score in scores.items():
        if not isinstance(score, Real) or np.isnan(float(score)):
            raise CranfieldError(f"score of {quoted(item)} must be a number, got {quoted(score)}")
        groups.setdefault(float(score), []).append(item)
    return [groups[score] for score in sorted(groups, reverse=True)]


def _places(groups: list[list[Any]], codes: Mapping[Any, int]) -> TieRanks:
    indices = np.array([codes[item] for group in groups for item in group], dtype=np.int64)
    sizes = np.array([len(group) for group in groups])
    bottoms = np.cumsum(sizes)
    top: Ints = np.zeros(len(codes), dtype=np.int64)
    bottom = top.copy()
    top[indices] = np.repeat(bottoms - sizes + 1, sizes)
    bottom[indices] = np.repeat(bottoms, sizes)
    return TieRanks(top, bottom)


class RunTable(Protocol):
    """A run, with a table of columns topic, doc and score."""

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""


def rbo_of_runs(
    first: RunTable, second: RunTable, p: float = 0.9, *, ties: str = "a"
) -> pl.DataFrame:
    """Compute the rank-biased overlap of two runs by topic.

    Parameters
    ----------
    first, second
        Runs, as :func:`cranfield.read_run` returns them. Documents are ranked by score, higher
        first, whatever ranks a file had; equal scores are tied.
    p, ties
        As for :func:`cranfield.correlation.rbo`.

    Returns
    -------
    polars.DataFrame
        A row for each topic, in order of the first run, then of the second: `topic`; `ext`, `min`
        and `res`, null for a topic of one run only; and the number of documents that the `first`
        and the `second` retrieved.

    Raises
    ------
    PolicyError
        For an unknown treatment of ties, a p that is not between 0 and 1, or an invalid run.

    Examples
    --------
    >>> import cranfield as cf
    >>> first = cf.read_run({"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1}})
    >>> second = cf.read_run({"q1": {"a": 9, "c": 8, "d": 7}})
    >>> rbo_of_runs(first, second).select("topic", pl.col("ext").round(4), "first", "second").rows()
    [('q1', 0.685, 3, 3), ('q2', None, 1, 0)]
    """
    p = check(p, ties)
    first_ranks, second_ranks = _ranks(first), _ranks(second)
    joined = first_ranks.join(
        second_ranks, on=["topic", "doc"], how="full", coalesce=True, suffix=" of second"
    )
    topics = pl.concat([first_ranks["topic"], second_ranks["topic"]]).unique(maintain_order=True)
    # Sorted by topic, so that each is a slice.
    joined = joined.with_columns(
        code=pl.col("topic").replace_strict(topics, range(len(topics)), return_dtype=pl.Int64)
    ).sort("code")
    top, bottom, top_2, bottom_2 = (
        joined[name].fill_null(0).to_numpy().astype(np.int64)
        for name in ("top", "bottom", "top of second", "bottom of second")
    )
    ends = np.cumsum(np.bincount(joined["code"].to_numpy(), minlength=len(topics)))
    rows = []
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        span = slice(int(start), int(end))
        a, b = TieRanks(top[span], bottom[span]), TieRanks(top_2[span], bottom_2[span])
        in_both = a.length and b.length
        rows.append((*(overlap(a, b, p, ties) if in_both else (None,) * 3), a.length, b.length))
    schema = dict.fromkeys(("ext", "min", "res"), pl.Float64)
    counts = dict.fromkeys(("first", "second"), pl.Int64)
    table = pl.DataFrame(rows, {**schema, **counts}, orient="row")
    return pl.DataFrame({"topic": topics}).hstack(table)


def _ranks(run: RunTable) -> pl.DataFrame:
    """Return the first and the last rank of each document's group of ties."""
    if not hasattr(run, "to_polars"):
        raise PolicyError(f"expected a run of cranfield.read_run, got {type(run).__name__}")
    # Adding 0 makes -0 and 0 the same.
    score = pl.col("score") + 0.0
    return run.to_polars().select(
        "topic",
        "doc",
        top=score.rank("min", descending=True).over("topic"),
        bottom=score.rank("max", descending=True).over("topic"),
    )
