"""The axioms of a difference structure, checked by enumeration.

Source: Ferrante, Ferro and Pontarollo (2019), definition 1 and theorem 1: where differences of
runs satisfy the four axioms, there is an interval scale of the runs that represents them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools
from cranfield.base.checks import as_array, has_numbers
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.scales.forms.exact_values import TOLERANCE
from cranfield.scales.orders.total_orders import natural_distance

MOST_OBJECTS = 32
"""Objects that the axioms are checked for: the third one asks for all sets of six."""


@dataclass(frozen=True)
class Axiom:
    """One axiom of the paper, and the places of objects that break it, by the paper's letters."""

    number: str
    name: str
    holds: bool
    witness: dict[str, int]

    def __str__(self) -> str:
        if self.holds:
            return f"{self.number} {self.name}: holds"
        where = ", ".join(f"{letter} = {place}" for letter, place in self.witness.items())
        return f"{self.number} {self.name}: fails for {where}"


@dataclass(frozen=True)
class DifferenceReport:
    """Which of the four axioms of a difference structure hold for so many objects."""

    axioms: tuple[Axiom, ...]
    objects: int

    @property
    def holds(self) -> bool:
        """Whether it is a difference structure, so that an interval scale exists."""
        return all(axiom.holds for axiom in self.axioms)

    def __str__(self) -> str:
        verdict = "a" if self.holds else "not a"
        lines = [f"{counted(self.objects, 'object')}: {verdict} difference structure"]
        return "\n".join([*lines, *(f"  {axiom}" for axiom in self.axioms)])


def difference_axioms(given: Any) -> DifferenceReport:
    r"""Check the axioms of a difference structure.

    Parameters
    ----------
    given
        Shape (objects,): a value of each object, such as its rank in a total order or a measure of
        it; the difference of a and b is value b - value a. Shape (objects, objects): the
        differences themselves, row a and column b. Shape (objects, objects, objects, objects), of
        bool: the relation itself, [a, b, c, d] telling whether the difference of a and b is at
        most that of c and d. Numbers are taken exactly when they are whole or fractions; of
        floats, differences within 2^-40 of the largest are equal.

    Raises
    ------
    PolicyError
        For more objects than are enumerated, and arrays of another shape.

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

    Differences of values always satisfy the first three. The fourth is where most measures fail:
    on a finite set it asks for values that are equally spaced.

    Examples
    --------
    >>> from cranfield.scales.orders.total_orders import rbto
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
    relation = _relation(given)
    n = int(np.sqrt(len(relation)))
    axioms = (
        _axiom("i", "weak order", _weak_order(relation), n, ("ab", "cd", "ef")),
        _axiom("ii", "sign reversal", _sign_reversal(relation, n), n, ("ab", "cd")),
        _axiom("iii", "weak monotonicity", _monotonicity(relation, n), n, ("ab", "ca'", "b'c'")),
        _axiom("iv", "solvability", _solvability(relation, n), n, ("ab", "cd")),
    )
    return DifferenceReport(axioms, n)


def _relation(given: Any) -> Bools:
    """Relation of all pairs to all pairs; the pair (a, b) is number a * objects + b."""
    wrong = "give a value of each object, a square array of differences, or a relation of"
    found = as_array(given, f"{wrong} differences as bools in four equal dimensions")
    square = found.ndim in {1, 2, 4} and len(set(found.shape)) == 1 and found.size
    if not square or (found.ndim == 4 and found.dtype != bool):
        raise PolicyError(
            f"{wrong} differences as bools in four equal dimensions, not an array of shape"
            f" {found.shape}"
        )
    if not has_numbers(found):
        raise PolicyError("values and differences are numbers")
    n = len(found)
    if n > MOST_OBJECTS:
        raise PolicyError(
            f"there are {counted(n, 'object')}; the axioms are checked by enumeration for up to"
            f" {MOST_OBJECTS}"
        )
    if found.ndim == 4:
        return np.asarray(found.reshape(n * n, n * n))
    differences = (natural_distance(found) if found.ndim == 1 else found).ravel()
    codes = np.unique(differences, return_inverse=True)[1].ravel()
    if differences.dtype.kind == "f":
        order = np.sort(differences)
        apart = np.diff(order) > TOLERANCE * np.abs(order).max()
        group = np.concatenate([[0], np.cumsum(apart)])
        codes = group[np.searchsorted(order, differences)]
    return np.asarray(codes[:, None] <= codes[None, :])


def _axiom(
    number: str, name: str, broken: tuple[int, ...] | None, n: int, letters: tuple[str, ...]
) -> Axiom:
    """Name the objects of the pairs that break an axiom."""
    if broken is None:
        return Axiom(number, name, True, {})
    witness: dict[str, int] = {}
    for pair, names in zip(broken, letters, strict=False):
        first, second = re.findall(r"\w'?", names)
        witness |= {first: pair // n, second: pair % n}
    return Axiom(number, name, False, witness)


def _first(broken: Bools) -> tuple[int, ...] | None:
    where = np.argwhere(broken)
    return tuple(map(int, where[0])) if len(where) else None


def _weak_order(relation: Bools) -> tuple[int, ...] | None:
    """Pairs x, y that are not related either way, or x <= y <= z with x not at most z."""
    incomplete = _first(~(relation | relation.T))
    if incomplete is not None:
        return incomplete
    numbers = relation.astype(np.float32)
    broken = _first(((numbers @ numbers) > 0) & ~relation)
    if broken is None:
        return None
    x, z = broken
    return x, int(np.flatnonzero(relation[x] & relation[:, z])[0]), z


def _sign_reversal(relation: Bools, n: int) -> tuple[int, ...] | None:
    turned = np.arange(n * n).reshape(n, n).T.ravel()
    # relation[cd, ab] with both pairs turned round is: dc at most ba.
    return _first(relation & ~relation.T[np.ix_(turned, turned)])


def _monotonicity(relation: Bools, n: int) -> tuple[int, ...] | None:
    """Pairs (a, b), (c, a') and (b', c') that break it."""
    table = relation.reshape(n, n, n, n)
    for a in range(n):
        for other in range(n):
            # Axes b, b', c, c'; the premise of the first pair does not know c and c'.
            first = table[a, :, other, :][:, :, None, None]
            second = table.transpose(0, 2, 1, 3)
            broken = (first & second) & ~table[a, :, other, :][None, None, :, :]
            if broken.any():
                b, b_, c, c_ = map(int, np.argwhere(broken)[0])
                return a * n + b, c * n + other, b_ * n + c_
    return None


def _solvability(relation: Bools, n: int) -> tuple[int, ...] | None:
    same = np.asarray(relation & relation.T)
    # Whether some pair that starts with a, or ends with b, is as long as the pair (c, d).
    starts = np.asarray(same.reshape(n, n, n * n).any(axis=1))
    ends = np.asarray(same.reshape(n, n, n * n).any(axis=0))
    null = np.asarray(relation.reshape(n, n, n * n)[np.arange(n), np.arange(n)])
    premise = null[:, None, :] & relation.T.reshape(n, n, n * n)
    broken = np.asarray(premise & ~(starts[:, None, :] & ends[None, :, :]))
    return _first(broken.reshape(n * n, n * n))
