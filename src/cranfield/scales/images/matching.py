"""Which value of an image a score is: scores are floats, and off by rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Ints
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.scales.arrays import numbers
from cranfield.scales.images.scaled import Scaled
from cranfield.scales.runs import depends_on_recall_base

if TYPE_CHECKING:
    from cranfield.scales.images.values import Image

TOLERANCE = 2.0**-44
"""Scores this close, relatively, to a value of the image are that value."""


def ranks_of_scores(image: Image, scaled: Scaled, values: ArrayLike) -> Ints:
    """Return the rank of the value that each score is: see :meth:`Image.rank`."""
    scores = numbers(values, "scores")
    flat = scores.ravel()
    if not np.isfinite(flat).all():
        raise PolicyError(f"{flat[~np.isfinite(flat)][0]} is no score")
    if not flat.size:
        return np.zeros(scores.shape, dtype=np.int64)
    unique, where = np.unique(flat, return_inverse=True)
    # A score is off by an error relative to what it was computed from, an offset included.
    reach = TOLERANCE * np.maximum(np.abs(unique), abs(scaled.offset))
    ranks, many = scaled.find(unique, reach)
    ranks, many = ranks[where], many[where]
    if (many == 0).any():
        wrong_one = float(flat[np.argmax(many == 0)])
        raise PolicyError(
            f"{wrong_one!r} is no value of {image.measure} on runs of length {image.length} with"
            f" grades 0 to {image.grades}{_hint(image)}"
        )
    if (many > 1).any():
        worst = int(np.argmax(many))
        raise PolicyError(
            f"{many[worst]:,} values of {image.measure} are as close to {float(flat[worst])!r}"
            " as floats can tell; rank the runs themselves with rank_runs"
        )
    return ranks.reshape(scores.shape)


def _hint(image: Image) -> str:
    """What else may be wrong with a score: the recall base of its topic."""
    if not depends_on_recall_base(image.measure):
        return ""
    given = counted(len(image.judgments), "judged document")
    return (
        f" on a topic with {given}; the recall base decides, so give the topic's own, such as"
        " judgments=3"
    )
