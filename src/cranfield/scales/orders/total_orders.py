"""Total orders on judged runs, and their rank functions: SBTO, RBTO and what a measure induces.

Source: Ferrante, Ferro and Pontarollo (2019), equations (1) to (6). Equation (2) is followed with
the grades of a run in *descending* order: in the ascending one that is printed below it, (0, 2) and
(1, 1) would both have rank 2, and the order (1) puts (1, 1) first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.checks import as_array, has_numbers
from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.forms.exact_values import exact_values
from cranfield.scales.runs import as_measure, check_size, checked_runs, width

Ranks = NDArray[Any]
"""Whole numbers: int64 where all of them fit, else Python's own in an array of objects."""

FITS = 2**62
"""Ranks up to here are held in int64."""


def sbto(runs: Any, grades: int = 1, *, length: int | None = None) -> Ranks:
    r"""Rank of runs in the set-based total order.

    Of two runs that is higher which has more documents of the highest grade of which they have
    not the same number. Runs with the same documents in another order have the same rank.

    .. math:: \rho(r) = \sum_{j=1}^{N} \binom{r_{[j]} + N - j}{N - j + 1},
       \quad r_{[1]} \ge r_{[2]} \ge \dots

    Parameters
    ----------
    runs
        Grades by rank, shape (runs, ranks) or (ranks,).
    grades
        The highest grade c.
    length
        Length N of the runs, which are padded with grade 0; by default that of the array.

    Returns
    -------
    array
        Shape (runs,), from 0 to C(N + c, N) - 1; of int64, or of Python integers where those
        would overflow.

    Raises
    ------
    PolicyError
        For grades that are not among 0..c.

    Notes
    -----
    Ferrante, Ferro and Pontarollo (2019), equations (1) to (3).

    Examples
    --------
    >>> sbto([[0, 0], [1, 0], [1, 1], [0, 2], [2, 1], [2, 2]], grades=2).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    table = _prepared(runs, grades, length)
    ordered = np.sort(table, axis=1)[:, ::-1]
    steps = _set_steps(table.shape[1], grades)
    return np.asarray(sum(steps[j][ordered[:, j]] for j in range(table.shape[1])))


def rbto(runs: Any, grades: int = 1, *, length: int | None = None) -> Ranks:
    r"""Rank of runs in the rank-based total order: the number that their grades spell.

    Of two runs that is higher which has the higher grade at the first rank where they differ
    (strong top-heaviness).

    .. math:: \rho(r) = \sum_{i=1}^{N} r_i \, (c + 1)^{N - i}

    Parameters are those of :func:`sbto`.

    Returns
    -------
    array
        Shape (runs,), from 0 to (c + 1)^N - 1; of int64, or of Python integers where those would
        overflow.

    Notes
    -----
    Source: Ferrante, Ferro and Pontarollo (2019), equations (4) to (6). Ferro and Maistro (2024),
    section 7.7.2, print the same with c for the number of grades, which is c + 1.

    Examples
    --------
    >>> rbto([[0, 0, 1], [1, 0, 0], [1, 1, 1]]).tolist()
    [1, 4, 7]
    """
    table = _prepared(runs, grades, length)
    size = table.shape[1]
    powers = [(int(grades) + 1) ** (size - 1 - i) for i in range(size)]
    return np.asarray(table.astype(_kind(rbto_top(size, grades))) @ _array(powers, powers[0]))


def sbto_top(length: int, grades: int = 1) -> int:
    """Highest rank in the set-based total order, C(N + c, N) - 1."""
    check_size(length, grades)
    return comb(int(length) + int(grades), int(length)) - 1


def rbto_top(length: int, grades: int = 1) -> int:
    """Highest rank in the rank-based total order, (c + 1)^N - 1."""
    check_size(length, grades)
    return int((int(grades) + 1) ** int(length) - 1)


def sbto_runs(ranks: Any, length: int, grades: int = 1) -> Ints:
    """Return the run of each rank of the set-based total order, highest grades first.

    Raises
    ------
    PolicyError
        For ranks, shape (runs,), that are no whole numbers from 0 to C(N + c, N) - 1.

    Examples
    --------
    >>> sbto_runs([2, 3], 2, 2).tolist()
    [[1, 1], [2, 0]]
    """
    left = _checked_ranks(ranks, sbto_top(length, grades))
    out = np.empty((len(left), length), dtype=np.int64)
    for j, step in enumerate(_set_steps(length, grades)):
        # The highest grade whose step still fits in what is left of the rank.
        out[:, j] = np.searchsorted(step, left, side="right") - 1
        left = left - step[out[:, j]]
    return out


def rbto_runs(ranks: Any, length: int, grades: int = 1) -> Ints:
    """Return the run of each rank of the rank-based total order.

    Raises
    ------
    PolicyError
        For ranks, shape (runs,), that are no whole numbers from 0 to (c + 1)^N - 1.

    Examples
    --------
    >>> rbto_runs([4, 7], 3).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    left = _checked_ranks(ranks, rbto_top(length, grades))
    out = np.empty((len(left), length), dtype=np.int64)
    for i in reversed(range(length)):
        out[:, i] = left % (grades + 1)
        left = left // (grades + 1)
    return out


def natural_distance(ranks: Ranks) -> Ranks:
    r"""Differences between runs in a total order, from their ranks.

    .. math:: \Delta_{rs} = \rho(s) - \rho(r)

    Ranks have the shape (runs,), differences (runs, runs): row r and column s have the signed
    length from r to s.

    Raises
    ------
    PolicyError
        For ranks that are no list of numbers.

    Notes
    -----
    Source: Ferrante, Ferro and Pontarollo (2019), section 2, step 3.

    Examples
    --------
    >>> natural_distance(rbto([[0, 1], [1, 1]])).tolist()
    [[0, 2], [-2, 0]]
    """
    wrong = "ranks are a list of numbers, one a run"
    found = as_array(ranks, wrong)
    if found.ndim != 1 or not has_numbers(found):
        raise PolicyError(wrong)
    if found.dtype.kind in "biu":
        # Differences of small or unsigned types would go round.
        wide = found.size and max(abs(int(found.min())), abs(int(found.max()))) >= 1 << 62
        found = found.astype(object if wide else np.int64)
    elif found.dtype.kind == "f" and not np.isfinite(found).all():
        raise PolicyError("ranks are finite numbers")
    return np.asarray(found[None, :] - found[:, None])


def induced(
    measure: Measure | str,
    runs: Any,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> Ranks:
    """Rank of runs in the weak order that a measure induces on them; runs of one value are equal.

    Parameters
    ----------
    measure
        The measure or its text; the order of one for which low is good goes from high to low.
    runs, grades
        Grades by rank, shape (runs, ranks), and the highest grade.
    judgments
        As for :func:`cranfield.scales.runs.judged_runs`.

    Returns
    -------
    array
        Shape (runs,), from 0: how many distinct values of these runs are worse.

    Notes
    -----
    Source: Ferrante, Ferro and Fuhr (2021), section 3.2, 'induced total order'.

    Examples
    --------
    >>> from cranfield.measures import RR
    >>> induced(RR, [[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
    [0, 1, 2, 2]
    """
    table = _prepared(runs, grades, None)
    measure = as_measure(measure, table.shape[1])
    values = exact_values(measure, table, grades, judgments)
    if measure.info.lower_is_better:
        return np.asarray(values.size - 1 - values.place)
    return values.place


def _prepared(runs: Any, grades: int, length: int | None) -> Ints:
    length = width(runs) if length is None else length
    check_size(length, grades)
    return checked_runs(runs, length, grades)


def _kind(largest: int) -> Any:
    return np.int64 if largest < FITS else object


def _array(values: list[int], largest: int) -> Ranks:
    return np.array(values, dtype=_kind(largest))


def _set_steps(length: int, grades: int) -> list[Ranks]:
    """C(g + N - j, N - j + 1) by grade g, for each place j of a descending run."""
    top = sbto_top(length, grades)
    return [
        _array([comb(g + length - j, length - j + 1) for g in range(grades + 1)], top)
        for j in range(1, length + 1)
    ]


def _checked_ranks(ranks: Any, top: int) -> Ranks:
    listed = np.ravel(as_array(ranks, "ranks are a list of whole numbers", object)).tolist()
    for one in listed:
        whole = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
        if not whole or not 0 <= one <= top:
            raise PolicyError(f"ranks are whole numbers from 0 to {top}, not {one!r}")
    return np.array([int(one) for one in listed], dtype=_kind(top))
