"""Designs of samples: how each cuts the pool of a topic, and how many documents it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assess.pools.pool import Pool
from cranfield.assess.samples.cells import Cells, fixed_numbers, multinomial_numbers
from cranfield.base.arrays import Floats, Ints
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import PolicyError, quoted
from cranfield.collection.judged.policies import DEEPEST
from cranfield.collection.judged.segments import places

Wanted = int | float
"""Documents of a stratum: a whole number of them, or a share above 0 and up to 1."""


@dataclass(frozen=True)
class Design:
    """A way to draw a sample.

    does, source: what it draws, and who described it.
    cells: makes the cells of a pool, of what is wanted: a number of documents a topic, or strata.
    columns: columns of judgments that it has a meaning for.
    strata: whether it takes strata by depth in place of a number.
    """

    does: str
    source: str
    cells: Callable[[Pool, Any], Cells]
    columns: tuple[str, ...] = ("stratum", "inclusion")
    strata: bool = False


def _uniform(pool: Pool, size: Wanted) -> Cells:
    return _strata(pool, {pool.depth: size})


def _strata(pool: Pool, strata: Mapping[int, Wanted]) -> Cells:
    ends = np.array(list(strata), dtype=np.int64)
    beyond = np.flatnonzero(pool.best_rank > ends[-1])
    if beyond.size:
        raise PolicyError(
            f"{beyond.size:,} documents of the pool are below the last stratum, which ends at rank"
            f" {ends[-1]}: end it at {pool.depth}, or pool to depth {ends[-1]}"
        )
    label = np.searchsorted(ends, pool.best_rank) + 1
    found, of_doc, size = _cells(pool, label)
    wanted = list(strata.values())
    number = np.array(
        [_number(wanted[k - 1], n) for k, n in zip(found[1].tolist(), size.tolist(), strict=True)],
        dtype=np.int64,
    )
    return fixed_numbers(of_doc, *found, size, number)


def _number(wanted: Wanted, size: int) -> int:
    """How many of a stratum are drawn; one of it at least, without which nothing is known of it."""
    if isinstance(wanted, (int, np.integer)):
        return min(int(wanted), size)
    return max(1, int(np.floor(wanted * size + 0.5)))


def _stat(pool: Pool, size: int) -> Cells:
    prior = _prior(pool)
    order = np.lexsort((np.arange(prior.size), -prior, pool.topic))
    label = np.empty(order.size, dtype=np.int64)
    label[order] = (places(pool.topic) - 1) // size + 1
    found, of_doc, sizes = _cells(pool, label)
    mass: Floats = np.bincount(of_doc, weights=prior, minlength=sizes.size).astype(np.float64)
    mass /= np.bincount(found[0], weights=mass)[found[0]]
    return multinomial_numbers(of_doc, *found, sizes, mass, size)


def _prior(pool: Pool) -> Floats:
    """Sum over runs of W(r) = (1 + 1/r + ... + 1/Z) / 2Z, what rank r of Z weighs in AP."""
    length = np.diff(pool.lists)
    longest = int(length.max(initial=0))
    harmonic = np.r_[0.0, np.cumsum(1.0 / np.arange(1.0, longest + 1))]
    z = np.repeat(length, length)
    weight = (1.0 + harmonic[z] - harmonic[pool.rank - 1]) / (2.0 * z)
    return np.bincount(pool.ranked, weights=weight, minlength=len(pool)).astype(np.float64)


def _cells(pool: Pool, label: Ints) -> tuple[tuple[Ints, Ints], Ints, Ints]:
    """Number the cells that have documents; their topics and labels, of each document, sizes."""
    many = int(label.max(initial=0)) + 1
    found, of_doc, size = np.unique(
        pool.topic.astype(np.int64) * many + label, return_inverse=True, return_counts=True
    )
    return (found // many, found % many), of_doc, size


DESIGNS = {
    "uniform": Design(
        "so many documents of each topic, all alike", "simple random sampling", _uniform
    ),
    "strata": Design(
        "of the documents whose best rank lies between two depths a share or a number",
        "Yilmaz, Kanoulas and Aslam (2008)",
        _strata,
        strata=True,
    ),
    "stat": Design(
        "about so many documents of each topic, in buckets by their weight in AP (Stevens)",
        "Aslam and Pavlu (2007)",
        _stat,
        columns=("inclusion",),
    ),
}
"""Designs by name."""


def check_design(name: str, size: Any, strata: Any) -> tuple[Any, str]:
    """Return what a design is to draw, and the text form of both."""
    check_choice("design", name, DESIGNS)
    given, asked = {"size": size, "strata": strata}, "strata" if DESIGNS[name].strata else "size"
    for option, value in given.items():
        if (value is None) == (option == asked):
            needs = "needs" if option == asked else "takes no"
            raise PolicyError(f"design {quoted(name)} {needs} {option}")
    if strata is None:
        if name == "stat":
            check_whole("size", size, 1, DEEPEST)
        else:
            _check_wanted("size", size)
        return size, f"{name}(size={size})"
    if not (isinstance(strata, Mapping) and strata):
        raise PolicyError("strata map their last ranks to numbers or shares, such as {10: 1.0}")
    for end, wanted in strata.items():
        check_whole("the last rank of a stratum", end, 1, DEEPEST)
        _check_wanted(f"what is drawn to rank {end}", wanted)
    ends = dict(sorted(strata.items()))
    return ends, f"{name}({', '.join(f'{end}={wanted}' for end, wanted in ends.items())})"


def _check_wanted(name: str, wanted: Any) -> None:
    whole = isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool)
    if not ((whole and wanted >= 1) or (isinstance(wanted, float) and 0 < wanted <= 1)):
        raise PolicyError(
            f"{name} must be a whole number from 1 or a share (0.1 is a tenth, 1.0 is all),"
            f" not {wanted!r}"
        )
