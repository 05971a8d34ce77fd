"""The image of a measure: the set of values that it takes on all runs of a length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import check_grades_decide, lowest_relevant
from cranfield.scales.forms.form import Additive, Form, form
from cranfield.scales.images.engine_choice import engine_of, enumerated
from cranfield.scales.images.representation import Engine
from cranfield.scales.images.scaled import Scaled
from cranfield.scales.images.values import Image
from cranfield.scales.judgments import pool
from cranfield.scales.runs import as_measure, check_size


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
    length
        Number N of ranks of the runs; by default the measure's cutoff.
    grades
        The highest grade c, at least 1.
    judgments
        What the topic's recall base and ideal ranking are: grades of its judged documents, or how
        many there are of the highest grade. By default as many as the runs are long. They stretch
        the values; they do not keep runs from having more relevant documents.
    at_most
        Only runs with at most so many documents of grade `rel` or above (1 for measures that have
        no `rel`).
    memory
        Bytes that may be used, roughly.
    jobs
        Threads; by default one for each processor.

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
    Measures with a form (`scales/forms`) have exact images. The others are
    scored on all runs if there are at most 2^20, and values within 2^-40 of each other,
    relatively, count as one; `exact` and `tolerance` say so.

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
    limit = _limit(at_most, length)
    return _image(chosen, length, grades, pool(judgments, length, grades), limit, memory, jobs)


def _limit(at_most: Any, length: int) -> int | None:
    """Check a number of relevant documents; None if no run can have more."""
    if at_most is None:
        return None
    whole = isinstance(at_most, (int, np.integer)) and not isinstance(at_most, bool)
    if not whole or at_most < 0:
        raise PolicyError(f"at_most must be a whole number from 0, not {at_most!r}")
    return int(at_most) if at_most < length else None


def image_once(
    measure: Measure,
    length: int,
    grades: int,
    *,
    judgments: Sequence[int] | None,
    at_most: int | None,
) -> Image:
    """Return an image that is not kept for the next time: one of many that each serve a topic."""
    given = pool(judgments, length, grades), _limit(at_most, length)
    return _made(measure, length, grades, *given, 2**30, None, engine_of.__wrapped__)


def _made(
    measure: Measure,
    length: int,
    grades: int,
    judgments: tuple[int, ...],
    limit: int | None,
    memory: int,
    jobs: int | None,
    engine: Callable[..., Engine] = engine_of,
) -> Image:
    rel = lowest_relevant(measure)
    if limit is not None and rel < 1:
        raise PolicyError(f"{measure} counts every document as relevant; leave at_most out")
    found = form(measure, length, grades, judgments)
    if found is None:
        held: Engine = enumerated(measure, length, grades, judgments, limit)
        found = Form(Additive((), ()))
    else:
        held = engine(found.shape, limit, rel, memory, jobs)
    scaled = Scaled(held, found.unit, found.offset)
    return Image(measure, length, grades, judgments, limit, scaled)


_image = lru_cache(maxsize=256)(_made)
