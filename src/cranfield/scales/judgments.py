"""What is judged for a topic that need not exist: the grades of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.base.checks import as_array, check_whole
from cranfield.base.errors import PolicyError

MOST_JUDGED = 100_000
"""Relevant documents of a topic that is made up."""


def pool(judgments: Sequence[int] | int | None, length: int, grades: int) -> tuple[int, ...]:
    """Check judgments, a number of documents or a list of grades; return them as grades, falling.

    >>> pool(None, 3, 1), pool(2, 3, 4), pool([0, 2, 1], 3, 2)
    ((1, 1, 1), (4, 4), (2, 1, 0))
    """
    if judgments is None:
        judgments = length
    if isinstance(judgments, (int, np.integer)) and not isinstance(judgments, bool):
        if judgments < 0:
            raise PolicyError(f"a topic cannot have {judgments} relevant documents")
        if judgments > MOST_JUDGED:
            raise PolicyError(
                f"a topic of {int(judgments):,} relevant documents is beyond reach; up to"
                f" {MOST_JUDGED:,} is feasible"
            )
        return (grades,) * int(judgments)
    wrong = "judgments are the number of relevant documents, or the list of their grades"
    judged = as_array(judgments, wrong)
    if judged.ndim != 1 or (judged.size and not np.issubdtype(judged.dtype, np.integer)):
        raise PolicyError(wrong)
    if judged.size and (judged.min() < 0 or judged.max() > grades):
        bad = judged.min() if judged.min() < 0 else judged.max()
        raise PolicyError(f"the judgments have grade {bad}; the grades are 0 to {grades}")
    return tuple(sorted((int(grade) for grade in judged), reverse=True))


def check_base(base: Any) -> None:
    """Refuse a recall base that is no positive whole number, or too large a one."""
    check_whole("the recall base", base, 1, MOST_JUDGED)
