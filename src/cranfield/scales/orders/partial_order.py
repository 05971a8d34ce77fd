"""The partial order of judged runs by swap and replacement, on which measures agree.

A run gets better when a document is replaced with a more relevant one, or when it changes places
with a more relevant one below it. What follows from these two steps is a partial order, and
measures that reward both of them agree, up to ties, on all runs that it compares (Ferrante, Ferro
and Fuhr, 2021, section 3.2 and figure 1). The papers state it for binary relevance; with more
grades it is the same two steps here.

It can be seen without looking for steps: r is at or below s exactly when, for each rank k and each
grade a, r has no more documents of grade a or higher in its first k than s has. The tests enumerate
both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.runs import all_runs, check_size, checked_runs, more_than, width

MOST_COMPARED = 4096
"""Runs whose order is written out as a table of all pairs."""


def at_or_below(lower: Any, upper: Any, grades: int = 1) -> Bools:
    r"""Whether runs are at or below others in the partial order; shape (runs,).

    .. math:: r \preceq s \iff |\{j \le k : r_j \ge a\}| \le |\{j \le k : s_j \ge a\}|
       \quad \text{for all } k, a

    Parameters
    ----------
    lower, upper
        Grades by rank, shape (runs, ranks), or one run, shape (ranks,), for all of the others; the
        shorter ones are padded with grade 0.
    grades
        The highest grade.

    Raises
    ------
    PolicyError
        For grades that are not among 0..c.

    Examples
    --------
    >>> at_or_below([[1, 0, 1, 1], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 0, 1, 1]]).tolist()
    [True, False]
    """
    size = max(width(one) for one in (lower, upper))
    check_size(size, grades)
    first, second = (_counts(checked_runs(one, size, grades), grades) for one in (lower, upper))
    return np.asarray((first <= second).all(axis=1))


def order_matrix(runs: Any, grades: int = 1) -> Bools:
    """Compare all pairs of runs, given as grades by rank, shape (runs, ranks).

    Returns
    -------
    array
        Shape (runs, runs): whether the run of the row is at or below that of the column. Two runs
        are comparable where it or its transpose is True.

    Raises
    ------
    PolicyError
        For more runs than a table of all pairs is made of.

    Examples
    --------
    >>> order_matrix([[0, 1], [1, 0], [1, 1]]).astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    size = width(runs)
    check_size(size, grades)
    table = checked_runs(runs, size, grades)
    if len(table) > MOST_COMPARED:
        raise PolicyError(
            f"there are {len(table):,} runs; up to {MOST_COMPARED:,} are compared in all pairs,"
            " and any number of given pairs with at_or_below()"
        )
    counts = _counts(table, grades)
    out = np.ones((len(table), len(table)), dtype=bool)
    for column in counts.T:
        out &= column[:, None] <= column[None, :]
    return out


def covers(length: int, grades: int = 1) -> Ints:
    """Return the edges of the Hasse diagram of all runs of a length.

    Returns
    -------
    array
        Shape (edges, 2): numbers of a run and of one directly above it, with nothing between them;
        the runs are numbered as in :func:`~cranfield.scales.runs.all_runs`.

    Raises
    ------
    PolicyError
        When there are too many runs to compare all pairs.

    Notes
    -----
    Source: Ferrante, Ferro and Fuhr (2021), figure 1, is that of length 4.

    Examples
    --------
    >>> [(int(a), int(b)) for a, b in covers(2)]  # 00 - 01 - 10 - 11
    [(0, 1), (1, 2), (2, 3)]
    """
    return np.argwhere(_directly(_strictly(length, grades)))


def levels(length: int, grades: int = 1) -> Ints:
    """Height of each run of a length in the Hasse diagram: steps on the longest way from the worst.

    Returns
    -------
    array
        Shape (runs,), in the order of :func:`~cranfield.scales.runs.all_runs`. Runs of one level
        are never comparable. With binary relevance every edge goes up one level, and the level is
        the sum of N + 1 - rank over the relevant documents. With more grades some edges skip a
        level, as from (2, 0) to (2, 1): the partial order is not graded, and has no rank function.

    Raises
    ------
    PolicyError
        When there are too many runs to compare all pairs.

    Examples
    --------
    >>> levels(3).tolist()
    [0, 1, 2, 3, 3, 4, 5, 6]
    """
    strictly = _strictly(length, grades)
    height = np.zeros(len(strictly), dtype=np.int64)
    # Ascending codes are a linear extension: what is below a run has a lower number.
    for one in range(1, len(strictly)):
        height[one] = height[:one][strictly[:one, one]].max() + 1
    return height


def _counts(runs: Ints, grades: int) -> Ints:
    """Documents of each grade or higher in the first k, for all k; shape (runs, ranks * grades)."""
    levels = np.arange(1, grades + 1)
    at_least = runs[:, None, :] >= levels[None, :, None]
    return np.asarray(np.cumsum(at_least, axis=2).reshape(len(runs), -1))


def _strictly(length: int, grades: int) -> Bools:
    check_size(length, grades)
    if more_than(MOST_COMPARED, length, grades):
        raise PolicyError(
            f"there are {grades + 1}^{length} runs of length {length}; diagrams are made of up to"
            f" {MOST_COMPARED:,}, that is up to length"
            f" {int(np.log(MOST_COMPARED) / np.log(grades + 1) + 1e-9)}"
        )
    below = order_matrix(all_runs(length, grades), grades)
    np.fill_diagonal(below, False)
    return below


def _directly(strictly: Bools) -> Bools:
    """Pairs with nothing between them; products of 0 and 1 in float32 are counts, exactly."""
    numbers = strictly.astype(np.float32)
    return np.asarray(strictly & ((numbers @ numbers) == 0))
