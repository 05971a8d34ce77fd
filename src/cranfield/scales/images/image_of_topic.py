"""Images of one topic: of measures for which its ideal ranking decides on the order of runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.measures import Measure
from cranfield.scales.forms.form import form
from cranfield.scales.images.making import image_once
from cranfield.scales.images.values import Image
from cranfield.scales.runs import more_than

MOST_LISTED = 2**20
"""Runs that can be ranked where each topic has an image of its own, about."""
MOST_SCORED = 2**16
"""The same where each run has to be scored."""


def image_of_topic(
    measure: Measure,
    length: int,
    grades: int,
    ideal: Sequence[int] | None,
    at_most: int | None = None,
) -> Image:
    """Return the image of a measure for a topic, if it is one of those that can be had by dozens.

    Parameters
    ----------
    measure
        A measure whose order of runs depends on the ideal ranking, such as Q@10.
    length, grades
        Ranks of a run, and the highest grade.
    ideal
        Grades of the ideal ranking of the topic; by default as many of the highest grade as runs
        are long.
    at_most
        Relevant documents that a run may have.

    Raises
    ------
    PolicyError
        When its values are not listed, but counted anew for each run, which takes seconds.

    Examples
    --------
    >>> from cranfield.measures import Q
    >>> one, other = (image_of_topic(Q @ 3, 3, 1, ideal) for ideal in ([1], [1, 1, 1]))
    >>> one.rank_runs([[0, 1, 1], [1, 0, 0]]).tolist(), other.rank_runs([[0, 1, 1]]).tolist()
    ([5, 4], [5])
    """
    scored = form(measure, length, grades) is None
    if not (scored and more_than(MOST_SCORED, length, grades)):
        found = image_once(measure, length, grades, judgments=ideal, at_most=at_most)
        if found.listed:
            return found
    most = np.log(MOST_SCORED if scored else MOST_LISTED) / np.log(grades + 1)
    raise PolicyError(
        f"{measure} has an image for each topic, whose values have to be listed; with"
        f" {counted(grades + 1, 'grade')} up to about length {int(most + 1e-9)} they can be"
    )
