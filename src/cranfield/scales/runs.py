"""Judged runs that no system has to have made: grades by rank, for any measure to score.

A judged run of length N over the grades 0..c is a vector of N grades; the set of all of them is
REL^N in Ferrante, Ferro and Fuhr (2021), section 5, and R(N) in Ferrante, Ferro and Pontarollo
(2019), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.coverage import Coverage
from cranfield.collection.judged import JudgedRuns, Judgments, Rows
from cranfield.collection.policies import Policies
from cranfield.errors import MeasureError, PolicyError
from cranfield.measures import Measure, parse_measure
from cranfield.text import counted

Grades = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_RUNS = 2**22
"""Runs that are enumerated one by one."""


def all_runs(length: int, grades: int = 1) -> Grades:
    """Return every judged run of a length.

    Parameters
    ----------
    length
        Number N of ranks, at least 1.
    grades
        The highest grade c, at least 1; grades are 0..c.

    Returns
    -------
    array
        Shape ((c + 1)^N, N), in ascending order of the number that the grades spell in base c + 1.

    Raises
    ------
    PolicyError
        For N or c below 1, or when there are too many runs to hold.

    Examples
    --------
    >>> all_runs(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    check_size(length, grades)
    base = grades + 1
    if base**length > MOST_RUNS:
        longest = int(np.log(MOST_RUNS) / np.log(base))
        raise PolicyError(
            f"there are {base}^{length} runs of length {length} with {base} grades, too many to"
            f" list; up to length {longest} they can be"
        )
    codes = np.arange(base**length)
    powers = base ** np.arange(length - 1, -1, -1)
    return np.asarray(codes[:, None] // powers % base)


def check_size(length: Any, grades: Any) -> None:
    """Refuse a length or a highest grade that is no positive whole number."""
    for what, value in (("the length of a run", length), ("the highest grade", grades)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise PolicyError(f"{what} must be a whole number from 1, not {value!r}")


def checked_runs(runs: Any, length: int, grades: int) -> Grades:
    """Return runs as an array of grades, padded with 0 to the length.

    Raises
    ------
    PolicyError
        For runs that are longer, and grades that are not among 0..c.
    """
    found = np.atleast_2d(np.asarray(_padded(runs)))
    if found.ndim != 2 or found.size == 0 or not np.issubdtype(found.dtype, np.integer):
        raise PolicyError("runs are rows of whole grades, such as [[1, 0, 1]]")
    if found.shape[1] > length:
        raise PolicyError(
            f"a run of length {found.shape[1]} is deeper than the {counted(length, 'rank')} of the"
            " image; cut it off"
        )
    if found.min() < 0 or found.max() > grades:
        wrong = int(found.min()) if found.min() < 0 else int(found.max())
        raise PolicyError(f"there is grade {wrong}; the grades of the image are 0 to {grades}")
    out = np.zeros((len(found), length), dtype=np.int64)
    out[:, : found.shape[1]] = found
    return out


def _padded(runs: Any) -> Any:
    """Fill up rows of different lengths with 0."""
    if isinstance(runs, np.ndarray) or not isinstance(runs, Sequence):
        return runs
    rows = [row for row in runs if isinstance(row, Sequence) and not isinstance(row, (str, bytes))]
    if len(rows) < len(runs) or len({len(row) for row in rows}) < 2:
        return runs
    most = max(map(len, rows))
    return [[*row, *([0] * (most - len(row)))] for row in rows]


def as_measure(measure: Measure | str, length: int | None = None) -> Measure:
    """Read a measure; one that needs a cutoff and has none gets the length of the runs.

    Examples
    --------
    >>> as_measure("P", 5), as_measure("AP", 5)
    (P@5, AP)
    """
    if length is not None:
        check_size(length, 1)
    if isinstance(measure, Measure):
        return measure
    if not isinstance(measure, str):
        raise MeasureError(f"{type(measure).__name__} is neither a measure nor its text")
    try:
        return parse_measure(measure)
    except MeasureError:
        if length is not None and "@" not in measure:
            with suppress(MeasureError):
                return parse_measure(f"{measure}@{length}")
        raise


BY_JUDGMENTS = (
    *("Bpref", "GMBpref", "infAP", "RBPResidual", "Judged", "Unjudged"),
    *("NumQ", "NumRet", "NumRel", "NumNonrelRet"),
)
"""Measures that depend on what is judged, or on nothing in a run of grades."""


def check_grades_decide(measure: Measure) -> None:
    """Refuse a measure whose value the grades of a run do not decide."""
    if measure.name in BY_JUDGMENTS:
        raise MeasureError(
            f"{measure} depends on more than the grades by rank, such as which documents are"
            " judged; nothing can be said of its scale"
        )


def judged_runs(
    runs: Grades, *, grades: int = 1, judgments: Sequence[int] | int | None = None
) -> JudgedRuns:
    """Present runs of grades as the judged runs of as many systems on one topic.

    Parameters
    ----------
    runs
        Grades by rank, shape (runs, length).
    grades
        The highest grade.
    judgments
        Grades of the topic's relevant documents, or the number of documents of the highest grade:
        recall base and ideal ranking come from them. By default as many as the runs are long, so
        that every run could be.
    """
    count, length = runs.shape
    if judgments is None:
        judgments = length
    pool = np.full(judgments, grades) if isinstance(judgments, int) else np.sort(judgments)[::-1]
    pool = np.asarray(pool, dtype=np.int64)
    rows = Rows(
        np.repeat(np.arange(count), length),
        np.tile(np.arange(1, length + 1), count),
        runs.ravel().astype(np.int64),
        (1, count),
    )
    return JudgedRuns(
        ("topic",),
        tuple(map(str, range(count))),
        rows,
        np.full((1, count), length),
        Judgments(1, np.zeros(pool.size, dtype=np.int64), pool, 0, grades),
        np.ones((1, count), dtype=bool),
        Policies(),
        Coverage(()),
    )


def score_runs(
    measure: Measure,
    runs: Grades,
    *,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Floats:
    """Score runs of grades with a measure, in floats.

    Returns
    -------
    array
        Shape (runs,).

    Examples
    --------
    >>> from cranfield.measures import AP
    >>> score_runs(AP, np.array([[1, 0], [0, 1]])).tolist()
    [0.5, 0.25]
    """
    found = judged_runs(runs, grades=grades, judgments=judgments)
    return np.asarray(measure.score(found)[0], dtype=np.float64)
