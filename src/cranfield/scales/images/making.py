"""The function image, and how an image is held: sums, a table, windows, scores of all runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import check_grades_decide, lowest_relevant, reads_many_ranks
from cranfield.scales.forms.form import Additive, AtMost, Stateful
from cranfield.scales.forms.independent_parts import TooManySumsError, split
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.forms.walk import Walk
from cranfield.scales.images.halves import last_bags
from cranfield.scales.images.representation import Constant, Enumerated, Representation, Table
from cranfield.scales.images.sums import Sums
from cranfield.scales.images.values import Image
from cranfield.scales.images.windows import Windows
from cranfield.scales.runs import all_runs, as_measure, check_size, more_than, pool

LISTED = 2**21
"""Whole numbers that a table may have on the way."""
MOST_ENUMERATED = 2**20
"""Runs that are scored one by one, for a measure without a form."""
MOST_DIGITS = 2**20
"""Runs whose values are listed, however many digits they have."""
MOST_READ = 2**28
"""Ranks that are laid out to do so, where a user model reads on beyond the end of the runs."""
MOST_OF_TOPIC = 2**20, 2**16
"""Runs that can be ranked where each topic has an image of its own, about; where all are scored."""


def image(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
    at_most: int | None = None,
    memory: int = 2**30,
    jobs: int | None = None,
) -> Image:
    """Return the image of a measure: the set of values that it takes.

    Parameters
    ----------
    measure
        A measure or its text.
    length, grades
        Number N of ranks of the runs, by default the measure's cutoff, and the highest grade c.
    judgments
        What the topic's recall base and ideal ranking are: grades of its judged documents, or how
        many there are of the highest grade. By default as many as the runs are long. They stretch
        the values; they do not keep runs from having more relevant documents.
    at_most
        Only runs with at most so many documents of grade `rel` or above (1 for measures that have
        no `rel`).
    memory, jobs
        Bytes that may be used, roughly, and threads; by default one for each processor.

    Returns
    -------
    Image
        Cheap to make; what takes time is done when it is asked for, and kept.

    Raises
    ------
    PolicyError
        For a length or highest grade that is no positive whole number, or too large a one
        (:func:`cranfield.scales.runs.check_size`); for judgments that are no grades, or more than
        100,000 documents; and for images that are out of reach, saying what is not.
    MeasureError
        For a wrong measure, and one that depends on more than the grades by rank.

    Notes
    -----
    Measures with a form (`scales/forms`) have exact images. The others are scored on all runs if
    there are at most 2^20, and values within a relative 2^-40 count as one, as `tolerance` says.

    Examples
    --------
    >>> [image("DCG(discount='max(1,log2(rank))')", n).size for n in (4, 5, 10, 15)]
    [12, 24, 768, 24576]
    >>> image("AP", 10).size
    810
    """
    chosen = as_measure(measure, length)
    chosen.require_complete()
    check_grades_decide(chosen)
    length = chosen.cutoff if length is None else length
    if length is None:
        raise PolicyError(f"say how long the runs are: image({str(chosen)!r}, 10)")
    check_size(length, grades)
    check_whole("memory", memory, 1)
    if jobs is not None:
        check_whole("jobs", jobs, 1)
    length, grades = int(length), int(grades)
    judged, limit = pool(judgments, length, grades), _limit(at_most, length)
    return _kept(chosen, length, grades, judged, limit, memory, jobs)


def image_of_topic(
    measure: Measure,
    length: int,
    grades: int,
    ideal: Sequence[int] | None,
    at_most: int | None = None,
) -> Image:
    """Return the image of a measure whose order of runs depends on a topic's ideal ranking.

    It is not kept, and refused when its values are not listed, but would be counted anew for each
    run, which takes seconds: there are dozens of topics.
    """
    scored = form(measure, length, grades) is None
    most = MOST_OF_TOPIC[scored]
    if not (scored and more_than(most, length, grades)):
        judged, limit = pool(ideal, length, grades), _limit(at_most, length)
        of_topic = _made(measure, length, grades, judged, limit, 2**30, None, held_as.__wrapped__)
        if of_topic.listed:
            return of_topic
    longest = int(np.log(most) / np.log(grades + 1) + 1e-9)
    raise PolicyError(
        f"{measure} has an image for each topic, whose values have to be listed; with"
        f" {counted(grades + 1, 'grade')} up to about length {longest} they can be"
    )


def _limit(at_most: int | None, length: int) -> int | None:
    """Check a number of relevant documents; None if no run can have more."""
    if at_most is None:
        return None
    check_whole("at_most", at_most, 0)
    return int(at_most) if at_most < length else None


@lru_cache(maxsize=8)
def held_as(
    shape: Additive | Stateful, limit: int | None, rel: int, memory: int, jobs: int | None
) -> Representation:
    """Hold what depends on the grades alone: once for the topics of all recall bases."""
    walked = shape
    if isinstance(shape, Additive):
        try:
            return Sums(split(shape, rel), limit, memory, jobs)
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


def _made(
    measure: Measure,
    length: int,
    grades: int,
    judgments: tuple[int, ...],
    limit: int | None,
    memory: int,
    jobs: int | None,
    hold: Callable[..., Representation] = held_as,
) -> Image:
    rel = lowest_relevant(measure)
    if limit is not None and rel < 1:
        raise PolicyError(f"{measure} counts every document as relevant; leave at_most out")
    exact = form(measure, length, grades, judgments)
    unit, offset = (1.0, 0.0) if exact is None else (exact.unit, exact.offset)
    if exact is None:
        held: Representation = _enumerated(measure, length, grades, judgments, limit)
    else:
        held = hold(exact.shape, limit, rel, memory, jobs)
    if not unit:
        # Every run has the value of the offset.
        held, unit = Constant(held.runs), 1.0
    return Image(measure, length, grades, judgments, limit, unit, offset, held)


_kept = lru_cache(maxsize=256)(_made)


def _enumerated(
    measure: Measure, length: int, grades: int, judgments: tuple[int, ...], limit: int | None
) -> Enumerated:
    """Hold the image of a measure without a form, if there are not too many runs to score."""
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
