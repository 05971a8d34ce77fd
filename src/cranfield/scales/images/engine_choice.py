"""Which way an image is held: as sums of parts, as a table, in windows, or by scoring all runs."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import lowest_relevant
from cranfield.scales.forms.form import Additive, AtMost, Stateful
from cranfield.scales.forms.independent_parts import TooManySumsError, split
from cranfield.scales.forms.of_users import reads_many_ranks
from cranfield.scales.forms.walk import Walk
from cranfield.scales.images.approximate import COUNTED, Approximate
from cranfield.scales.images.halves import last_bags
from cranfield.scales.images.listed import Enumerated, Table
from cranfield.scales.images.representation import Engine
from cranfield.scales.images.sums import Sums
from cranfield.scales.images.windows import Windows
from cranfield.scales.runs import all_runs, more_than

LISTED = 2**21
"""Whole numbers that a table may have on the way."""
MOST_ENUMERATED = 2**20
"""Runs that are scored one by one, for a measure without a form."""
MOST_DIGITS = 2**20
"""Runs whose values are listed, however many digits they have."""
MOST_READ = 2**28
"""Ranks that are laid out to do so, where a user model reads on beyond the end of the runs."""


@lru_cache(maxsize=8)
def engine_of(
    shape: Additive | Stateful, limit: int | None, rel: int, memory: int, jobs: int | None
) -> Engine:
    """Hold what depends on the grades alone: one engine for the topics of all recall bases.

    Parameters
    ----------
    shape
        What the measure depends on.
    limit
        Relevant documents that a run may have.
    rel
        Lowest grade that counts as relevant.
    memory, jobs
        Bytes, and threads.

    Raises
    ------
    PolicyError
        For images that are out of reach.
    """
    walked = shape
    if isinstance(shape, Additive):
        try:
            sums = Sums(split(shape, rel), limit, memory, jobs)
            counted = limit is not None or sums.chain is not None or sums.size <= COUNTED
            return sums if counted else Approximate(sums, memory, jobs)
        except TooManySumsError:
            alone = shape.stateful()
            if alone is None:
                raise PolicyError(
                    f"too many runs of length {shape.length} with {shape.grades + 1} grades tie"
                    " for their exact image; shorter runs or fewer grades can be"
                ) from None
            walked = alone
    assert isinstance(walked, Stateful)
    walk = Walk.of(walked if limit is None else AtMost.of(walked, limit, rel))
    wide = walk.kind.hasobject
    # Values of many digits can be listed, but not counted in windows.
    many_digits = wide and walk.number() > MOST_DIGITS
    rank, bags = last_bags(walk, LISTED // (4 if many_digits else 1))
    if rank == 0:
        return Table(walk, bags[0])
    rank, _ = last_bags(walk, memory // (2048 if wide else 128))
    return Windows(walk, rank, jobs)


def enumerated(
    measure: Measure, length: int, grades: int, judgments: tuple[int, ...], limit: int | None
) -> Enumerated:
    """Hold the image of a measure without a form.

    Raises
    ------
    PolicyError
        When there are too many runs to score each.
    """
    many = reads_many_ranks(measure)
    most = MOST_ENUMERATED if many is None else min(MOST_ENUMERATED, max(1, MOST_READ // many))
    if more_than(most, length, grades):
        longest = int(np.log(most) / np.log(grades + 1) + 1e-9)
        reading = "" if many is None else f", which takes {counted(many, 'rank')} each"
        feasible = f"up to length {longest} it is feasible" if longest else "it is not feasible"
        raise PolicyError(
            f"the image of {measure} can only be had by scoring every run{reading}, and there are"
            f" {grades + 1}^{length} runs of length {length} with {counted(grades + 1, 'grade')};"
            f" {feasible}"
        )
    runs = all_runs(length, grades)
    if limit is not None:
        runs = runs[(runs >= lowest_relevant(measure)).sum(axis=1) <= limit]
    return Enumerated(measure, runs, grades, judgments)
