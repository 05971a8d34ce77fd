"""Groups of systems that a comparison does not separate, shown by letters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def groups_of(different: NDArray[np.bool_], order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Cover the systems by groups: two of them share a group exactly when they do not differ.

    Groups are made from the best system to the worst, as `order` has them, and list their systems
    so. Where separation follows the means, as with Tukey's HSD on a balanced design, there is no
    cover with fewer groups. They are cliques of the graph of systems that do not differ, made
    greedily until every edge lies in one: a compact letter display (Piepho 2004; Gramm et al.
    2007).
    """
    alike = ~different[np.ix_(order, order)]
    np.fill_diagonal(alike, True)
    left = np.triu(alike)
    groups: list[NDArray[np.bool_]] = []
    for first in range(len(order)):
        while left[first].any():
            member = np.zeros(len(order), dtype=bool)
            # Begin with a pair that no group holds yet; it may be a system with itself.
            member[[first, int(np.flatnonzero(left[first])[0])]] = True
            fits = alike[member].all(axis=0)
            candidates = np.flatnonzero(fits & ~member)
            after, before = candidates[candidates > first], candidates[candidates < first]
            for candidate in (*after, *before[::-1]):
                if alike[candidate][member].all():
                    member[candidate] = True
            left[np.ix_(member, member)] = False
            groups.append(member)
    return [order[np.flatnonzero(member)] for member in _needed(groups)]


def _needed(groups: list[NDArray[np.bool_]]) -> list[NDArray[np.bool_]]:
    """Leave out groups that are part of another."""
    kept: list[NDArray[np.bool_]] = []
    for k, one in enumerate(groups):
        within = any(
            (one <= other).all() and (j < k or not (other <= one).all())
            for j, other in enumerate(groups)
            if j != k
        )
        if not within:
            kept.append(one)
    return kept


def letters_of(groups: Sequence[NDArray[np.intp]], systems: int) -> list[str]:
    """Name the groups of each system, `a` to `z`, then `aa`; with commas where there are more."""
    names = [letter(k) for k in range(len(groups))]
    held: list[list[str]] = [[] for _ in range(systems)]
    for name, group in zip(names, groups, strict=True):
        for system in group:
            held[system].append(name)
    between = "" if len(groups) <= len(ALPHABET) else ","
    return [between.join(some) for some in held]


def letter(k: int) -> str:
    """Return the name of the k-th group: `a` is 0, `z` 25, `aa` 26."""
    name = ""
    k += 1
    while k:
        k, rest = divmod(k - 1, len(ALPHABET))
        name = ALPHABET[rest] + name
    return name


def place_of(name: str) -> int:
    """Return which group has that name; the inverse of :func:`letter`."""
    place = 0
    for character in name:
        place = place * len(ALPHABET) + ALPHABET.index(character) + 1
    return place - 1


def shortened(letters: str) -> str:
    """Write neighbouring letters as a range where there are many groups: `a-c` for `a,b,c`."""
    names = letters.split(",")
    if len(names) < 3:
        return letters
    places = [place_of(name) for name in names]
    parts, start = [], 0
    for k in range(1, len(names) + 1):
        if k == len(names) or places[k] != places[k - 1] + 1:
            long = k - start > 2
            parts += [f"{names[start]}-{names[k - 1]}"] if long else names[start:k]
            start = k
    return ",".join(parts)
