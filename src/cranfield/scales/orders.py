"""Orders of judged runs: total and partial orders, and difference structures.

Total orders: Ferrante, Ferro and Pontarollo (2019), equations (1) to (6). Equation (2) is computed
with the grades of a run in *descending* order: in the ascending order that is printed below it,
(0, 2) and (1, 1) would both have rank 2, whereas equation (1) ranks (0, 2) above (1, 1).

Difference structures: the same paper, definition 1 and theorem 1. If differences of runs satisfy
the four axioms, there is an interval scale of the runs that represents them.

Partial order: a run gets better when a document is replaced with a more relevant one, or swapped
with a more relevant one below it. These two steps generate a partial order, and measures that
reward both steps agree, up to ties, on all comparable runs (Ferrante, Ferro and Fuhr, 2021,
section 3.2 and figure 1). The papers define it for binary relevance; this module applies the same
two steps to graded relevance.

No search for steps is needed: r is at or below s exactly when, for each rank k and each grade a, r
has no more documents of grade a or higher in its first k ranks than s. The tests check by
enumeration that both definitions agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import PolicyError, as_array, has_numbers
from cranfield.base.text import inflect
from cranfield.measures.base import Measure
from cranfield.scales.forms.exact_values import compute_exact_values, merge_close_values
from cranfield.scales.runs import (
    all_runs,
    as_measure,
    check_runs,
    check_size,
    find_max_length,
    has_more_runs,
)

Ranks = NDArray[Any]
"""Integers: int64 if all ranks fit, otherwise an object array of Python integers."""

MAX_INT64_RANK = 2**62
"""Ranks below this bound are stored in int64."""


def sbto(runs: Any, grades: int = 1, *, length: int | None = None) -> Ranks:
    r"""Rank runs in the set-based total order.

    Runs are ordered by their number of documents of the highest grade, then of the next lower
    grade, and so on. Permutations of the same grades have the same rank.

    .. math:: \rho(r) = \sum_{j=1}^{N} \binom{r_{[j]} + N - j}{N - j + 1},
       \quad r_{[1]} \ge r_{[2]} \ge \dots

    Parameters
    ----------
    runs
        Grades by rank, shape (runs, ranks) or (ranks,).
    grades
        The highest grade c.
    length
        Length N to which runs are padded with grade 0; by default the length of the longest run.

    Returns
    -------
    array
        Shape (runs,), from 0 to C(N + c, N) - 1; int64, or Python integers if that maximum is 2^62
        or more.

    Raises
    ------
    PolicyError
        For runs that are not rows of at most N grades 0..c, and for N or c out of range.

    Notes
    -----
    Ferrante, Ferro and Pontarollo (2019), equations (1) to (3).

    Examples
    --------
    >>> sbto([[0, 0], [1, 0], [1, 1], [0, 2], [2, 1], [2, 2]], grades=2).tolist()
    [0, 1, 2, 3, 4, 5]
    """
    table = _check_table(runs, grades, length)
    sorted_grades = np.sort(table, axis=1)[:, ::-1]
    steps = _compute_set_steps(table.shape[1], grades)
    return np.asarray(sum(steps[j][sorted_grades[:, j]] for j in range(table.shape[1])))


def rbto(runs: Any, grades: int = 1, *, length: int | None = None) -> Ranks:
    r"""Rank runs in the rank-based total order: their grades, read as a number in base c + 1.

    The higher of two runs has the higher grade at the first rank where they differ (strong
    top-heaviness).

    .. math:: \rho(r) = \sum_{i=1}^{N} r_i \, (c + 1)^{N - i}

    Parameters are those of :func:`sbto`.

    Returns
    -------
    array
        Shape (runs,), from 0 to (c + 1)^N - 1; int64 or Python integers, as for :func:`sbto`.

    Notes
    -----
    Source: Ferrante, Ferro and Pontarollo (2019), equations (4) to (6). Ferro and Maistro (2024),
    section 7.7.2, print the same formula with c as the number of grades, here c + 1.

    Examples
    --------
    >>> rbto([[0, 0, 1], [1, 0, 0], [1, 1, 1]]).tolist()
    [1, 4, 7]
    """
    table = _check_table(runs, grades, length)
    n_ranks = table.shape[1]
    max_rank = find_max_rbto_rank(n_ranks, grades)
    powers = [(int(grades) + 1) ** (n_ranks - 1 - i) for i in range(n_ranks)]
    return np.asarray(table.astype(_choose_dtype(max_rank)) @ _to_ranks(powers, max_rank))


def find_max_sbto_rank(length: int, grades: int = 1) -> int:
    """Return the highest rank in the set-based total order, C(N + c, N) - 1."""
    check_size(length, grades)
    return comb(int(length) + int(grades), int(length)) - 1


def find_max_rbto_rank(length: int, grades: int = 1) -> int:
    """Return the highest rank in the rank-based total order, (c + 1)^N - 1."""
    check_size(length, grades)
    return int((int(grades) + 1) ** int(length) - 1)


def sbto_runs(ranks: Any, length: int, grades: int = 1) -> Ints:
    """Return the run at each rank of the set-based total order, with descending grades.

    Raises
    ------
    PolicyError
        For ranks (flattened to one row) that are not integers from 0 to C(N + c, N) - 1.

    Examples
    --------
    >>> sbto_runs([2, 3], 2, 2).tolist()
    [[1, 1], [2, 0]]
    """
    remainders = _check_ranks(ranks, find_max_sbto_rank(length, grades))
    runs = np.empty((len(remainders), length), dtype=np.int64)
    for j, step in enumerate(_compute_set_steps(length, grades)):
        # The highest grade whose step still fits into the remaining rank.
        runs[:, j] = np.searchsorted(step, remainders, side="right") - 1
        remainders = remainders - step[runs[:, j]]
    return runs


def rbto_runs(ranks: Any, length: int, grades: int = 1) -> Ints:
    """Return the run at each rank of the rank-based total order.

    Raises
    ------
    PolicyError
        For ranks (flattened to one row) that are not integers from 0 to (c + 1)^N - 1.

    Examples
    --------
    >>> rbto_runs([4, 7], 3).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    remainders = _check_ranks(ranks, find_max_rbto_rank(length, grades))
    runs = np.empty((len(remainders), length), dtype=np.int64)
    for i in reversed(range(length)):
        runs[:, i] = remainders % (grades + 1)
        remainders = remainders // (grades + 1)
    return runs


def natural_distance(ranks: Ranks) -> Ranks:
    r"""Compute the differences between runs in a total order from their ranks.

    .. math:: \Delta_{rs} = \rho(s) - \rho(r)

    Ranks have the shape (runs,), differences (runs, runs): row r and column s hold the signed
    difference from r to s.

    Raises
    ------
    PolicyError
        For ranks that are not a list of finite numbers.

    Notes
    -----
    Source: Ferrante, Ferro and Pontarollo (2019), section 2, step 3.

    Examples
    --------
    >>> natural_distance(rbto([[0, 1], [1, 1]])).tolist()
    [[0, 2], [-2, 0]]
    """
    message = "ranks must be a list of numbers, one for each run"
    array = as_array(ranks, message)
    if array.ndim != 1 or not has_numbers(array):
        raise PolicyError(f"{message}, got {ranks!r:.60}")
    if array.dtype.kind in "biu":
        # Differences of small or unsigned types would overflow.
        max_rank = max(abs(int(array.min())), abs(int(array.max()))) if array.size else 0
        array = array.astype(_choose_dtype(max_rank))
    elif array.dtype.kind == "f" and not np.isfinite(array).all():
        raise PolicyError(f"ranks must be finite, got {array[~np.isfinite(array)][0]}")
    return np.asarray(array[None, :] - array[:, None])


def induced_order(
    measure: Measure | str,
    runs: Any,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> Ranks:
    """Rank runs in the weak order that a measure induces; runs with equal values share a rank.

    Parameters
    ----------
    measure
        The measure or its text; if lower is better, values are ordered from high to low.
    runs, grades
        Grades by rank, shape (runs, ranks), and the highest grade.
    judgments
        As for :func:`cranfield.scales.score_runs`.

    Returns
    -------
    array
        Shape (runs,): number of distinct values in `runs` that are worse than the value of the run.

    Notes
    -----
    Source: Ferrante, Ferro and Fuhr (2021), section 3.2, 'induced total order'.

    Examples
    --------
    >>> from cranfield.measures import RR
    >>> induced_order(RR, [[0, 0], [0, 1], [1, 0], [1, 1]]).tolist()
    [0, 1, 2, 2]
    """
    table = _check_table(runs, grades)
    measure = as_measure(measure, table.shape[1])
    values = compute_exact_values(measure, table, grades, judgments)
    if measure.info.lower_is_better:
        return np.asarray(values.size - 1 - values.index)
    return values.index


def _check_table(runs: Any, grades: int, length: int | None = None) -> Ints:
    length = find_max_length(runs) if length is None else length
    check_size(length, grades)
    return check_runs(runs, length, grades)


def _choose_dtype(max_rank: int) -> Any:
    return np.int64 if max_rank < MAX_INT64_RANK else object


def _to_ranks(values: list[int], max_rank: int) -> Ranks:
    return np.array(values, dtype=_choose_dtype(max_rank))


def _compute_set_steps(length: int, grades: int) -> list[Ranks]:
    """Return C(g + N - j, N - j + 1) by grade g, for each position j of a descending run."""
    max_rank = find_max_sbto_rank(length, grades)
    return [
        _to_ranks([comb(g + length - j, length - j + 1) for g in range(grades + 1)], max_rank)
        for j in range(1, length + 1)
    ]


def _check_ranks(ranks: Any, max_rank: int) -> Ranks:
    values = np.ravel(as_array(ranks, "ranks must be a list of integers", object)).tolist()
    for rank in values:
        is_integer = isinstance(rank, (int, np.integer)) and not isinstance(rank, bool)
        if not is_integer or not 0 <= rank <= max_rank:
            raise PolicyError(f"ranks must be integers from 0 to {max_rank}, got {rank!r}")
    return _to_ranks([int(rank) for rank in values], max_rank)


MAX_OBJECTS = 32
"""Maximum number of objects, as the third axiom is checked for all sequences of six objects."""


@dataclass(frozen=True)
class Axiom:
    """Result of checking an axiom; `witness` has objects that violate it, by letter."""

    number: str
    name: str
    holds: bool
    witness: dict[str, int]

    def __str__(self) -> str:
        if self.holds:
            return f"{self.number} {self.name}: holds"
        objects = ", ".join(f"{letter} = {index}" for letter, index in self.witness.items())
        return f"{self.number} {self.name}: fails for {objects}"


@dataclass(frozen=True)
class DifferenceReport:
    """Results of checking the four axioms of a difference structure for some objects."""

    axioms: tuple[Axiom, ...]
    n_objects: int

    @property
    def holds(self) -> bool:
        """True if the objects have a difference structure, so that an interval scale exists."""
        return all(axiom.holds for axiom in self.axioms)

    def __str__(self) -> str:
        verdict = "a" if self.holds else "not a"
        lines = [f"{inflect(self.n_objects, 'object')}: {verdict} difference structure"]
        return "\n".join([*lines, *(f"  {axiom}" for axiom in self.axioms)])


def difference_axioms(values: Any) -> DifferenceReport:
    r"""Check the axioms of a difference structure.

    Parameters
    ----------
    values
        Shape (objects,): a value of each object, such as its rank in a total order or a measure of
        it; the difference of a and b is value b - value a. Shape (objects, objects): the
        differences themselves, row a and column b. Shape (objects, objects, objects, objects), of
        bool: the relation itself, [a, b, c, d] is True if the difference of a and b is at most
        that of c and d. Integers and fractions are compared exactly; neighbouring differences of
        floats are equal if they differ by at most 2^-40 times the largest absolute difference.

    Raises
    ------
    PolicyError
        For too many objects, values that are not finite numbers, and arrays of another shape.

    Notes
    -----
    The axioms, for all objects:

    - i. the relation of differences is a weak order: complete and transitive;
    - ii. sign reversal: :math:`\Delta_{ab} \preceq \Delta_{cd} \Rightarrow \Delta_{dc} \preceq
      \Delta_{ba}`;
    - iii. weak monotonicity: :math:`\Delta_{ab} \preceq \Delta_{a'b'}, \Delta_{bc} \preceq
      \Delta_{b'c'} \Rightarrow \Delta_{ac} \preceq \Delta_{a'c'}`;
    - iv. solvability: :math:`\Delta_{aa} \preceq \Delta_{cd} \preceq \Delta_{ab} \Rightarrow
      \exists d', d'': \Delta_{ad'} \sim \Delta_{cd} \sim \Delta_{d''b}`.

    Differences of values always satisfy the first three axioms. Most measures violate the fourth
    axiom, as on a finite set it requires equally spaced values.

    Examples
    --------
    >>> from cranfield.scales.orders import rbto
    >>> from cranfield.scales.runs import all_runs
    >>> difference_axioms(rbto(all_runs(3))).holds
    True
    >>> print(difference_axioms([0, 1, 3]))
    3 objects: not a difference structure
      i weak order: holds
      ii sign reversal: holds
      iii weak monotonicity: holds
      iv solvability: fails for a = 0, b = 2, c = 0, d = 1
    """
    relation = _make_relation(values)
    n = isqrt(len(relation))
    axioms = (
        _make_axiom("i", "weak order", _check_weak_order(relation), n, ("ab", "cd", "ef")),
        _make_axiom("ii", "sign reversal", _check_sign_reversal(relation, n), n, ("ab", "cd")),
        _make_axiom(
            "iii", "weak monotonicity", _check_monotonicity(relation, n), n, ("ab", "ca'", "b'c'")
        ),
        _make_axiom("iv", "solvability", _check_solvability(relation, n), n, ("ab", "cd")),
    )
    return DifferenceReport(axioms, n)


def _make_relation(values: Any) -> Bools:
    """Return the relation of all pairs to all pairs; the pair (a, b) has index a * objects + b."""
    message = (
        "expected one value per object, a square matrix of differences, or a boolean array"
        " with four equal dimensions (whether difference ab is at most difference cd)"
    )
    array = as_array(values, message)
    is_square = array.ndim in {1, 2, 4} and len(set(array.shape)) == 1 and array.size
    if not is_square or (array.ndim == 4 and array.dtype != bool):
        raise PolicyError(f"{message}, got shape {array.shape}")
    if not has_numbers(array):
        raise PolicyError(f"values and differences must be numbers, got {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise PolicyError(f"values must be finite, got {array[~np.isfinite(array)][0]}")
    n = len(array)
    if n > MAX_OBJECTS:
        raise PolicyError(
            f"the axioms are checked by enumeration for up to {MAX_OBJECTS} objects, got {n}"
        )
    if array.ndim == 4:
        return np.asarray(array.reshape(n * n, n * n))
    differences = (natural_distance(array) if array.ndim == 1 else array).ravel()
    codes = np.unique(differences, return_inverse=True)[1].ravel()
    if differences.dtype.kind == "f":
        _, codes = merge_close_values(differences)
    return np.asarray(codes[:, None] <= codes[None, :])


def _make_axiom(
    number: str, name: str, pairs: tuple[int, ...] | None, n: int, letters: tuple[str, ...]
) -> Axiom:
    """Make the result for an axiom from pairs of objects that violate it; None if it holds."""
    if pairs is None:
        return Axiom(number, name, True, {})
    witness: dict[str, int] = {}
    # A weak order may be violated by two pairs, or by three.
    for pair, names in zip(pairs, letters, strict=False):
        first, second = re.findall(r"\w'?", names)
        witness |= {first: pair // n, second: pair % n}
    return Axiom(number, name, False, witness)


def _find_violation(is_violated: Bools) -> tuple[int, ...] | None:
    indices = np.argwhere(is_violated)
    return tuple(map(int, indices[0])) if len(indices) else None


def _check_weak_order(relation: Bools) -> tuple[int, ...] | None:
    """Return unrelated pairs x, y, or x <= y <= z without x <= z; None if the axiom holds."""
    unrelated_pair = _find_violation(~(relation | relation.T))
    if unrelated_pair is not None:
        return unrelated_pair
    adjacency = relation.astype(np.float32)
    violation = _find_violation(((adjacency @ adjacency) > 0) & ~relation)
    if violation is None:
        return None
    x, z = violation
    return x, int(np.flatnonzero(relation[x] & relation[:, z])[0]), z


def _check_sign_reversal(relation: Bools, n: int) -> tuple[int, ...] | None:
    mirrored_pairs = np.arange(n * n).reshape(n, n).T.ravel()
    # Transposing and reversing both pairs gives the relation that dc is at most ba.
    return _find_violation(relation & ~relation.T[np.ix_(mirrored_pairs, mirrored_pairs)])


def _check_monotonicity(relation: Bools, n: int) -> tuple[int, ...] | None:
    """Return pairs (a, b), (c, a') and (b', c') that violate the axiom; None if it holds."""
    table = relation.reshape(n, n, n, n)
    for a in range(n):
        for a_ in range(n):
            # Axes b, b', c, c'; the premise on ab and a'b' depends on neither c nor c'.
            first_premise = table[a, :, a_, :][:, :, None, None]
            second_premise = table.transpose(0, 2, 1, 3)
            is_violated = (first_premise & second_premise) & ~table[a, :, a_, :][None, None, :, :]
            if is_violated.any():
                b, b_, c, c_ = map(int, np.argwhere(is_violated)[0])
                return a * n + b, c * n + a_, b_ * n + c_
    return None


def _check_solvability(relation: Bools, n: int) -> tuple[int, ...] | None:
    is_equal = np.asarray(relation & relation.T)
    # Whether a pair that starts with a, or ends with b, has the same difference as (c, d).
    has_start = np.asarray(is_equal.reshape(n, n, n * n).any(axis=1))
    has_end = np.asarray(is_equal.reshape(n, n, n * n).any(axis=0))
    is_nonnegative = np.asarray(relation.reshape(n, n, n * n)[np.arange(n), np.arange(n)])
    premise = is_nonnegative[:, None, :] & relation.T.reshape(n, n, n * n)
    is_violated = np.asarray(premise & ~(has_start[:, None, :] & has_end[None, :, :]))
    return _find_violation(is_violated.reshape(n * n, n * n))


MAX_COMPARED = 4096
"""Maximum number of runs for comparing all pairs."""


def is_at_or_below(lower: Any, upper: Any, grades: int = 1) -> Bools:
    r"""Return True where `lower` runs are at or below `upper` ones in the partial order.

    .. math:: r \preceq s \iff |\{j \le k : r_j \ge a\}| \le |\{j \le k : s_j \ge a\}|
       \quad \text{for all } k, a

    Parameters
    ----------
    lower, upper
        Grades by rank, shape (runs, ranks), or a single run, shape (ranks,), that is compared with
        all runs of the other argument. Shorter runs are padded with grade 0.
    grades
        The highest grade c.

    Returns
    -------
    array
        Shape (runs,), of bool.

    Raises
    ------
    PolicyError
        For runs that are not rows of grades 0..c, or that are too long; for different numbers of
        runs, unless one argument is a single run.

    Examples
    --------
    >>> is_at_or_below([[1, 0, 1, 1], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 0, 1, 1]]).tolist()
    [True, False]
    """
    n_ranks = max(find_max_length(runs) for runs in (lower, upper))
    check_size(n_ranks, grades)
    counts = [_count_documents(check_runs(r, n_ranks, grades), grades) for r in (lower, upper)]
    n_lower, n_upper = map(len, counts)
    if n_lower != n_upper and min(n_lower, n_upper) > 1:
        raise PolicyError(f"expected equal numbers of runs or one run, got {n_lower} and {n_upper}")
    return np.asarray((counts[0] <= counts[1]).all(axis=1))


def order_matrix(runs: Any, grades: int = 1) -> Bools:
    """Compare all pairs of runs in the partial order; runs have the shape (runs, ranks).

    Returns
    -------
    array
        Shape (runs, runs): whether the run of the row is at or below the run of the column. Two
        runs are comparable if the matrix or its transpose is True for them.

    Raises
    ------
    PolicyError
        For too many runs to compare all pairs.

    Examples
    --------
    >>> order_matrix([[0, 1], [1, 0], [1, 1]]).astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    table = _check_table(runs, grades)
    if len(table) > MAX_COMPARED:
        raise PolicyError(
            f"all pairs can be compared for at most {MAX_COMPARED:,} runs, got"
            f" {len(table):,}; compare single pairs with is_at_or_below()"
        )
    counts = _count_documents(table, grades)
    is_below_or_equal = np.ones((len(table), len(table)), dtype=bool)
    for column in counts.T:
        is_below_or_equal &= column[:, None] <= column[None, :]
    return is_below_or_equal


def covers(length: int, grades: int = 1) -> Ints:
    """Return the edges of the Hasse diagram of all runs of a length.

    Returns
    -------
    array
        Shape (edges, 2): indices in :func:`~cranfield.scales.runs.all_runs` of a lower run and of a
        higher run, with no run between them.

    Raises
    ------
    PolicyError
        For too many runs to compare all pairs.

    Notes
    -----
    Figure 1 of Ferrante, Ferro and Fuhr (2021) shows the diagram of length 4.

    Examples
    --------
    >>> [(int(a), int(b)) for a, b in covers(2)]  # 00 - 01 - 10 - 11
    [(0, 1), (1, 2), (2, 3)]
    """
    is_below = _compare_strictly(length, grades)
    # The matrix product counts the runs between two; float32 holds such small counts exactly.
    adjacency = is_below.astype(np.float32)
    return np.argwhere(is_below & ((adjacency @ adjacency) == 0))


def levels(length: int, grades: int = 1) -> Ints:
    """Return the level of each run of a length in the Hasse diagram.

    Returns
    -------
    array
        Shape (runs,), in the order of :func:`~cranfield.scales.runs.all_runs`: length of the
        longest path from the lowest run. Distinct runs of a level are never comparable. With binary
        relevance every edge goes up one level, and the level is the sum of N + 1 - rank over the
        relevant documents. With more grades some edges skip a level, such as the edge from (2, 0)
        to (2, 1), as the partial order has no rank function.

    Raises
    ------
    PolicyError
        For too many runs to compare all pairs.

    Examples
    --------
    >>> levels(3).tolist()
    [0, 1, 2, 3, 3, 4, 5, 6]
    """
    is_below = _compare_strictly(length, grades)
    height = np.zeros(len(is_below), dtype=np.int64)
    # The order of all_runs is a linear extension: runs below a run have lower indices.
    for run in range(1, len(is_below)):
        height[run] = height[:run][is_below[:run, run]].max() + 1
    return height


def _count_documents(runs: Ints, grades: int) -> Ints:
    """Count documents of each grade or higher in the first k ranks; (runs, ranks * grades)."""
    min_grades = np.arange(1, grades + 1)
    is_at_least = runs[:, None, :] >= min_grades[None, :, None]
    return np.asarray(np.cumsum(is_at_least, axis=2).reshape(len(runs), -1))


def _compare_strictly(length: int, grades: int) -> Bools:
    check_size(length, grades)
    if has_more_runs(MAX_COMPARED, length, grades):
        raise PolicyError(
            f"a diagram can have at most {MAX_COMPARED:,} runs, got {grades + 1}^{length} runs of"
            f" length {length}; reduce the length to"
            f" {int(np.log(MAX_COMPARED) / np.log(grades + 1) + 1e-9)} or less"
        )
    is_below = order_matrix(all_runs(length, grades), grades)
    np.fill_diagonal(is_below, False)
    return is_below
