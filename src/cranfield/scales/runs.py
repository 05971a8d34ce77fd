"""Synthetic judged runs: grades by rank, for any measure to score.

A judged run of length N over the grades 0..c is a vector of N grades; the set of all such runs is
called REL^N in Ferrante, Ferro and Fuhr (2021), section 5, and R(N) in Ferrante, Ferro and
Pontarollo (2019), section 3. Topics are synthetic, too: their judgments are a list of grades.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError, as_array, check_integer
from cranfield.base.text import inflect
from cranfield.collection.judged.judged_runs import JudgedRuns, make_grade_runs
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.rows import Rows
from cranfield.measures import Measure, parse_measure
from cranfield.measures.ranked.average_precision import GradedAveragePrecision
from cranfield.scales.forms.form import get_inner_measure, get_lowest_relevant

ROUNDING = 1e-12
"""Scores that differ by at most this number are equal."""
MAX_JUDGED = 100_000
"""Maximum recall base of a synthetic topic."""


def check_judgments(
    judgments: Sequence[int] | int | None, length: int, max_grade: int
) -> tuple[int, ...]:
    """Check judgments, and return the grades of the topic's documents in descending order.

    `judgments` are a list of grades, or a number of documents of the highest grade, by default the
    length.

    >>> check_judgments(2, 3, 4), check_judgments([0, 2, 1], 3, 2)
    ((4, 4), (2, 1, 0))
    """
    if judgments is None:
        judgments = length
    if isinstance(judgments, (int, np.integer)) and not isinstance(judgments, bool):
        check_integer("the number of relevant documents", judgments, 0, MAX_JUDGED)
        return (max_grade,) * int(judgments)
    message = "judgments must be the number of relevant documents, or the list of their grades"
    documents = as_array(judgments, message)
    if documents.ndim != 1 or (documents.size and not np.issubdtype(documents.dtype, np.integer)):
        raise PolicyError(f"{message}, got {judgments!r:.60}")
    if documents.size and (documents.min() < 0 or documents.max() > max_grade):
        extreme = documents.min() if documents.min() < 0 else documents.max()
        raise PolicyError(
            f"grades must be from 0 to {max_grade}, got judgments with grade {extreme}"
        )
    return tuple(sorted(map(int, documents), reverse=True))


def check_recall_base(recall_base: Any) -> None:
    """Check that a recall base is a positive integer of feasible size."""
    check_integer("the recall base", recall_base, 1, MAX_JUDGED)


MAX_RUNS = 2**22
"""Maximum number of runs that are enumerated."""
MAX_LENGTH = 2_000
"""Maximum length of a run; computations for longer runs take minutes."""
MAX_HIGHEST_GRADE = 1_000
"""Maximum value of the highest grade."""
MAX_WEIGHTS = 2**15
"""Maximum number of weights: one for each grade at each rank."""

RUNS_MESSAGE = "runs must be rows of integer grades, such as [[1, 0, 1]]"


def all_runs(length: int, grades: int = 1) -> Ints:
    """Return every judged run of a length.

    Parameters
    ----------
    length, grades
        Number N of ranks, and the highest grade c of the grades 0 to c; both at least 1.

    Returns
    -------
    array
        Shape ((c + 1)^N, N), in ascending order of the grades read as a number in base c + 1.

    Raises
    ------
    PolicyError
        For N or c below 1, or if there are too many runs to list.

    Examples
    --------
    >>> all_runs(2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    check_integer("the length of a run", length, 1)
    check_integer("the highest grade", grades, 1)
    base = int(grades) + 1
    if has_more_runs(MAX_RUNS, length, grades):
        max_length = int(np.log(MAX_RUNS) / np.log(base))
        raise PolicyError(
            f"the length of runs with {base} grades must be at most {max_length} to list them all,"
            f" got {length}"
        )
    codes = np.arange(base**length)
    powers = base ** np.arange(length - 1, -1, -1)
    return np.asarray(codes[:, None] // powers % base)


def has_more_runs(max_runs: int, length: int, max_grade: int) -> bool:
    """Return True if there are more than `max_runs` runs of a length."""
    # Short-circuits to avoid huge powers.
    return bool(length >= max_runs.bit_length() or (int(max_grade) + 1) ** int(length) > max_runs)


def check_size(length: Any, max_grade: Any) -> None:
    """Check that a length and a highest grade are positive integers of feasible size."""
    check_integer("the length of a run", length, 1)
    check_integer("the highest grade", max_grade, 1)
    if length > MAX_LENGTH:
        raise PolicyError(f"the length of runs must be at most {MAX_LENGTH:,}, got {int(length):,}")
    if max_grade > MAX_HIGHEST_GRADE:
        raise PolicyError(
            f"the highest grade must be at most {MAX_HIGHEST_GRADE:,}, got {int(max_grade):,}"
        )
    if length * (max_grade + 1) > MAX_WEIGHTS:
        raise PolicyError(
            f"the length of runs with {int(max_grade) + 1:,} grades must be at most"
            f" {MAX_WEIGHTS // (max_grade + 1):,}, got {int(length):,}"
        )


def check_runs(runs: Any, length: int, max_grade: int) -> Ints:
    """Check runs and return them as an array of grades, padded with grade 0 to the length."""
    table = _as_rows(runs)
    if table.ndim != 2 or table.size == 0 or not np.issubdtype(table.dtype, np.integer):
        raise PolicyError(f"{RUNS_MESSAGE}, got {runs!r:.60}")
    if table.shape[1] > length:
        raise PolicyError(f"runs must have at most {inflect(length, 'rank')}, got {table.shape[1]}")
    if table.min() < 0 or table.max() > max_grade:
        grade = int(table.min()) if table.min() < 0 else int(table.max())
        raise PolicyError(f"grades must be from 0 to {max_grade}, got {grade}")
    padded_runs = np.zeros((len(table), length), dtype=np.int64)
    padded_runs[:, : table.shape[1]] = table
    return padded_runs


def find_max_length(runs: Any) -> int:
    """Return the length of the longest run."""
    return int(_as_rows(runs).shape[1])


def _as_rows(runs: Any) -> NDArray[Any]:
    return np.atleast_2d(as_array(_pad_rows(runs), RUNS_MESSAGE))


def _pad_rows(runs: Any) -> Any:
    if isinstance(runs, np.ndarray) or not isinstance(runs, Sequence):
        return runs
    rows = [row for row in runs if isinstance(row, Sequence) and not isinstance(row, (str, bytes))]
    if len(rows) < len(runs) or len({len(row) for row in rows}) < 2:
        return runs
    max_length = max(map(len, rows))
    return [[*row, *([0] * (max_length - len(row)))] for row in rows]


def as_measure(measure: Measure | str, length: int | None = None) -> Measure:
    """Parse a measure; if its text lacks a required cutoff, add the length of the runs."""
    if length is not None:
        check_size(length, 1)
    if isinstance(measure, Measure):
        return measure
    if not isinstance(measure, str):
        raise MeasureError(f"expected a measure or its text, got {type(measure).__name__}")
    if re.fullmatch(r"\s*interval\s*(\(\s*\)\s*)?(@.*)?", measure, re.IGNORECASE):
        raise MeasureError("interval requires an inner measure, such as interval(DCG@10)")
    try:
        return parse_measure(measure)
    except MeasureError:
        if length is not None and "@" not in measure:
            with suppress(MeasureError):
                return parse_measure(f"{measure}@{length}")
        raise


def score_runs(
    measure: Measure | str,
    runs: Any,
    *,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Floats:
    """Score synthetic runs with a measure.

    Parameters
    ----------
    measure
        The measure or its text; a required cutoff may be missing in a text, and is then the length
        of the runs.
    runs
        Grades by rank, shape (runs, ranks), from 0 to `grades`; shorter rows are padded with 0.
    grades
        The highest grade.
    judgments
        Grades of the topic's judged documents, or the number of documents of the highest grade,
        for the recall base and the ideal ranking. By default there are as many documents as ranks,
        so that every run is possible.

    Returns
    -------
    array
        Scores, shape (runs,).

    Raises
    ------
    PolicyError
        For runs that are not rows of grades 0..c, and invalid judgments.
    MeasureError
        For an invalid measure.

    Examples
    --------
    >>> score_runs("AP", [[1, 0], [0, 1]]).tolist()
    [0.5, 0.25]
    """
    length = find_max_length(runs)
    check_integer("the highest grade", grades, 1, np.iinfo(np.int64).max)
    table = check_runs(runs, length, int(grades))
    measure = as_measure(measure, length)
    needs_every_grade = grades > 1 and isinstance(
        get_inner_measure(measure), GradedAveragePrecision
    )
    judged = make_grade_runs(
        table,
        np.array(check_judgments(judgments, length, grades)),
        int(grades),
        has_every_grade=needs_every_grade,
    )
    return np.asarray(measure.score(judged)[0], dtype=np.float64)


def depends_on_recall_base(measure: Measure) -> bool:
    """Return True if scores depend on the number of relevant documents of the topic.

    A measure that requires more than grades is computed on documents that have all inputs of
    measures except clicks. If even this fails, the result is True.
    """
    # One relevant document at the first or last rank; the large recall base exceeds the cutoff.
    length = min(measure.cutoff or 3, 1000)
    runs = np.zeros((2, length), dtype=np.int64)
    runs[0, 0] = runs[1, -1] = max(1, get_lowest_relevant(measure))
    max_grade = int(runs.max())
    try:
        small_base, large_base = (
            score_runs(measure, runs, grades=max_grade, judgments=count)
            for count in (1, 2 * length + 1)
        )
    except CranfieldError:
        try:
            scores = measure.score(_judge_all_inputs())
        except CranfieldError:
            return True
        small_base, large_base = scores[::2], scores[1::2]
        return bool((np.abs(large_base - small_base) > ROUNDING).any())
    return bool((small_base != large_base).any())


@cache
def _judge_all_inputs() -> JudgedRuns:
    """Judge rankings on topics and documents that have all inputs of measures except clicks."""
    # The two topics of a pair differ only in documents that are not retrieved. Grades are by
    # intent, a and b.
    two_docs = {"d1": (3, 3), "d2": (0, 0)}
    three_docs = {**two_docs, "d3": (1, 0)}
    extras = {"d4": (1, 0), "d5": (2, 0), "d6": (0, 1), "d7": (3, 3), "d8": (3, 3)}
    docs = [*three_docs, *extras]
    topics = {"1": two_docs, "2": two_docs | extras, "3": three_docs, "4": three_docs | extras}
    qrels = pl.DataFrame(
        [
            (topic, doc, grade, intent)
            for topic, grades in topics.items()
            for doc, intent_grades in grades.items()
            for grade, intent in zip(intent_grades, "ab", strict=True)
        ],
        ["topic", "doc", "grade", "subtopic"],
        orient="row",
    )
    rankings = [
        {doc: float(-rank) for rank, doc in enumerate(order)} for order in permutations(three_docs)
    ]
    judged = judge(
        {f"{i}": dict.fromkeys(topics, ranking) for i, ranking in enumerate(rankings)},
        qrels,
        intents={topic: {"a": 0.6, "b": 0.4} for topic in topics},
        lengths=dict.fromkeys(docs, 1000),
        groups={doc: "xy"[index // 2 % 2] for index, doc in enumerate(docs)},
        aspects={"understandability": qrels, "credibility": qrels},
    )
    n = judged.judgments.grade.size
    columns = {"stratum": np.full(n, "0"), "inclusion": np.ones(n), "class": np.arange(n)}
    rows = judged.side_data.lengths
    assert rows is not None
    # Each ranking is a session of one query.
    query_number, list_rank = np.ones_like(rows.rank), rows.rank.astype(np.float64)
    queries = Rows(rows.cell, rows.rank, query_number, rows.shape, list_rank)
    n_queries = np.ones(rows.shape, dtype=np.int64)
    return replace(
        judged,
        judgments=replace(judged.judgments, columns=columns, max_grade=3),
        side_data=replace(judged.side_data, queries=queries, n_queries=n_queries),
    )


def depends_on_topic(measure: Measure) -> bool:
    """Return True if scores depend on the number or the grades of the topic's judged documents.

    The grades matter even if the recall base does not: if all relevant documents have the same
    grade, nDCG@1 is 0 or 1 for every recall base, but it has other values on a topic with higher
    grades than the retrieved documents.
    """
    grade = max(1, get_lowest_relevant(measure))
    run = [[grade] + [0] * (min(measure.cutoff or 3, 3) - 1)]
    with suppress(CranfieldError):
        same_grade, higher_grade = (
            score_runs(measure, run, grades=grade + 1, judgments=judgments)
            for judgments in ([grade], [grade + 1, grade])
        )
        if same_grade[0] != higher_grade[0]:
            return True
    return depends_on_recall_base(measure)
