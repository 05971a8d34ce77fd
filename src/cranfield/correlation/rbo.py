"""Rank-biased overlap: how alike two rankings, or runs, are that may have different items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.checks import check_choice, check_share
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.correlation.overlap import Places, overlap
from cranfield.correlation.things import same_things

TIES = ("a", "b", "w")


@dataclass(frozen=True, repr=False)
class RBO:
    """Rank-biased overlap of two rankings.

    Attributes
    ----------
    ext
        Extrapolated: the value if the agreement went on as it is where the rankings end.
    min
        The lowest value that longer versions of the rankings can have.
    res
        The residual: how much higher than `min` they can get.
    p
        The persistence.
    ties
        How ties were treated.
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
    r"""Rank-biased overlap of two rankings, of any lengths.

    Parameters
    ----------
    first, second
        The ids of the items, best first. A list, set or tuple in place of an id holds ids that are
        tied. A mapping of ids to scores is ranked by score, higher first, equal scores tied.
    p
        Persistence, between 0 and 1: the probability to go on to the next depth. Of the weight, the
        first 10 ranks have 86% at 0.9, and all but 0.01% at 0.5.
    ties
        What a tie means. `a`: the order is not known; the mean over all ways to break the ties.
        `b`: the same, corrected for what ties leave open, so that a ranking agrees with itself
        fully. `w`: the items are at the same rank, their group's first. Without ties all are the
        same.

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
    nothing there (equation 11 there, over both rankings' items), `res` is by equation 30, and
    `ext` by equation 32. The depth beyond s counts the items of the shorter ranking that were not
    seen as in agreement with the longer one for a share of :math:`A_s`.

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
    one, other = _groups(first), _groups(second)
    codes: dict[Any, int] = {}
    for group in (*one, *other):
        for item in group:
            codes.setdefault(item, len(codes))
    return RBO(*overlap(_places(one, codes), _places(other, codes), p, ties), p, ties)


def rbo_of_scores(x: Any, y: Any, p: float = 0.9, *, ties: str = "a") -> RBO:
    """Rank-biased overlap of two orders of the same things, given as scores.

    Parameters
    ----------
    x, y
        Scores of the things, higher is better, shape (things,); equal scores are tied.
    p, ties
        As for :func:`rbo`.

    Raises
    ------
    CranfieldError
        For scores that are not numbers, or not of the same things.
    PolicyError
        For an unknown treatment of ties, or a p that is not between 0 and 1.

    Examples
    --------
    >>> rbo_of_scores([0.5, 0.4, 0.1], [0.3, 0.4, 0.1]).ext == rbo([*"abc"], [*"bac"]).ext
    True
    """
    p = check(p, ties)
    a, b = same_things(x, y)
    if len(a) > 1:
        raise CranfieldError("scores of one set of things have shape (things,)")
    if not a.size:
        raise CranfieldError("there are no things to rank")
    if np.isnan(a).any() or np.isnan(b).any():
        raise CranfieldError("a thing without a score has no rank")
    return RBO(*overlap(places_of_scores(a[0]), places_of_scores(b[0]), p, ties), p, ties)


def check(p: Any, ties: Any) -> float:
    """Return p as a float, after refusing options that do not exist."""
    check_choice("ties", ties, TIES)
    check_share("p", p)
    return float(p)


def places_of_scores(scores: Floats) -> Places:
    """Rank by score, higher first; equal scores are a group of ties."""
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    bottoms = np.cumsum(sizes)
    return Places((bottoms - sizes + 1)[group], bottoms[group])


def _groups(ranking: Any) -> list[list[Any]]:
    """Read a ranking as groups of ties, most of them of one item."""
    if isinstance(ranking, (str, bytes)):
        raise CranfieldError(f"a ranking is a sequence of ids, not the text {quoted(ranking)}")
    if isinstance(ranking, (set, frozenset)) or not isinstance(ranking, Iterable):
        kind = type(ranking).__name__
        raise CranfieldError(f"a ranking is a sequence of ids or ids with scores, not a {kind}")
    if isinstance(ranking, Mapping):
        groups = _by_score(ranking)
    else:
        tied = (list, set, frozenset, tuple)
        groups = [list(one) if isinstance(one, tied) else [one] for one in ranking]
    if not groups or not all(groups):
        raise CranfieldError("a ranking, or a group of ties in it, is empty")
    seen = set()
    for group in groups:
        for item in group:
            try:
                again = item in seen
            except TypeError:
                raise CranfieldError(f"{quoted(item)} in a ranking is not an id") from None
            if again:
                raise CranfieldError(f"a ranking has {quoted(item)} twice")
            seen.add(item)
    return groups


def _by_score(scores: Mapping[Any, Any]) -> list[list[Any]]:
    groups: dict[float, list[Any]] = {}
    for item, score in scores.items():
        if not isinstance(score, Real) or np.isnan(float(score)):
            raise CranfieldError(f"the score of {quoted(item)} is {quoted(score)}, not a number")
        groups.setdefault(float(score), []).append(item)
    return [groups[score] for score in sorted(groups, reverse=True)]


def _places(groups: list[list[Any]], codes: Mapping[Any, int]) -> Places:
    at = np.array([codes[item] for group in groups for item in group], dtype=np.int64)
    sizes = np.array([len(group) for group in groups])
    bottoms = np.cumsum(sizes)
    top: Ints = np.zeros(len(codes), dtype=np.int64)
    bottom = top.copy()
    top[at] = np.repeat(bottoms - sizes + 1, sizes)
    bottom[at] = np.repeat(bottoms, sizes)
    return Places(top, bottom)


class Ranked(Protocol):
    """A run, by what is needed of it: a table with the columns topic, doc and score."""

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""


def rbo_of_runs(first: Ranked, second: Ranked, p: float = 0.9, *, ties: str = "a") -> pl.DataFrame:
    """Rank-biased overlap of what two runs retrieved, topic by topic.

    Parameters
    ----------
    first, second
        Runs, as :func:`cranfield.read_run` gives them. Documents are ranked by score, higher first,
        whatever ranks a file had; equal scores are tied.
    p, ties
        As for :func:`cranfield.correlation.rbo`.

    Returns
    -------
    polars.DataFrame
        A row a topic, in order of the first run, then of the second: `topic`; `ext`, `min` and
        `res`, null for a topic that only one of them has; and how many documents the `first` and
        the `second` retrieved.

    Raises
    ------
    PolicyError
        For an unknown treatment of ties, a p that is not between 0 and 1, or what is not a run.

    Examples
    --------
    >>> import cranfield as cf
    >>> one = cf.read_run({"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1}})
    >>> other = cf.read_run({"q1": {"a": 9, "c": 8, "d": 7}})
    >>> rbo_of_runs(one, other).select("topic", pl.col("ext").round(4), "first", "second").rows()
    [('q1', 0.685, 3, 3), ('q2', None, 1, 0)]
    """
    p = check(p, ties)
    one, other = _ranks(first), _ranks(second)
    both = one.join(other, on=["topic", "doc"], how="full", coalesce=True, suffix=" of second")
    topics = pl.concat([one["topic"], other["topic"]]).unique(maintain_order=True)
    # Sorted by topic, so that each is a slice.
    both = both.with_columns(
        code=pl.col("topic").replace_strict(topics, range(len(topics)), return_dtype=pl.Int64)
    ).sort("code")
    top, bottom, top_2, bottom_2 = (
        both[name].fill_null(0).to_numpy().astype(np.int64)
        for name in ("top", "bottom", "top of second", "bottom of second")
    )
    ends = np.cumsum(np.bincount(both["code"].to_numpy(), minlength=len(topics)))
    rows = []
    for start, end in zip(np.append(0, ends[:-1]), ends, strict=True):
        here = slice(int(start), int(end))
        a, b = Places(top[here], bottom[here]), Places(top_2[here], bottom_2[here])
        known = a.length and b.length
        rows.append((*(overlap(a, b, p, ties) if known else (None,) * 3), a.length, b.length))
    schema = dict.fromkeys(("ext", "min", "res"), pl.Float64)
    counts = dict.fromkeys(("first", "second"), pl.Int64)
    table = pl.DataFrame(rows, {**schema, **counts}, orient="row")
    return pl.DataFrame({"topic": topics}).hstack(table)


def _ranks(run: Ranked) -> pl.DataFrame:
    """Return the first and the last rank of each document's group of ties."""
    if not hasattr(run, "to_polars"):
        raise PolicyError(f"a run is what cranfield.read_run gives, not {type(run).__name__}")
    # Adding 0 makes -0 and 0 the same.
    score = pl.col("score") + 0.0
    return run.to_polars().select(
        "topic",
        "doc",
        top=score.rank("min", descending=True).over("topic"),
        bottom=score.rank("max", descending=True).over("topic"),
    )
