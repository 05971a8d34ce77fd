"""Measures that are ranks of runs in the set-based or the rank-based total order."""

from __future__ import annotations

from math import comb

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import flag, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import number_rows
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import LINEAR_GAIN, MAX_GRADE, find_max_grade, select_gains

_MAX_EXACT_INTEGER = 2**53
"""Largest integer up to which floating-point numbers represent all integers."""


class _TotalOrderMeasure(
    Measure,
    source="Ferrante, Ferro and Pontarollo (2019), definitions 2 and 3",
    family="total orders",
    at_usage="required",
    range=(0.0, float("inf")),
    needs="judgments, graded or binary",
    is_monotone=True,
):
    max_grade: int | None = MAX_GRADE
    normalised: bool = parameter(
        False,
        flag,
        "whether to divide by the score of the best run of this length (not in the source)",
    )

    def find_max_rank(self, length: int, max_grade: int) -> int:
        """Return the rank of the best run of a length, for grades 0 to `max_grade`."""
        raise NotImplementedError

    def compute_run_ranks(self, judged: JudgedRuns, length: int, max_grade: int) -> Floats:
        """Return the rank of each run; shape (topics, systems)."""
        raise NotImplementedError

    def values(self, judged: JudgedRuns) -> Floats:
        length, max_grade = self.cutoff or 1, find_max_grade(judged, self.max_grade, str(self))
        max_rank = self.find_max_rank(length, max_grade)
        if max_rank > _MAX_EXACT_INTEGER:
            max_cutoff = self._find_max_exact_cutoff(max_grade)
            raise MeasureError(
                f"{self}: with grades 0 to {max_grade} the cutoff must be at most {max_cutoff}, got"
                f" {length}; scores of longer runs exceed 2^53 and are not exact"
            )
        ranks = self.compute_run_ranks(judged, length, max_grade)
        return ranks / max_rank if self.normalised else ranks

    def _find_max_exact_cutoff(self, max_grade: int) -> int:
        length = 1
        while self.find_max_rank(length + 1, max_grade) <= _MAX_EXACT_INTEGER:
            length += 1
        return length


@measure(
    "SBTO",
    summary="Position of the top k in the set-based total order, which compares numbers of"
    " documents by grade, from the highest grade down.",
    formula=r"\sum_{j=1}^{k} \binom{g_{[j]} + k - j}{k - j + 1}, \quad"
    r" g_{[1]} \ge g_{[2]} \ge \dots",
    scale_note="on an interval scale for the set-based total order",
    ignores_order=True,
)
class SetBasedTotalOrder(_TotalOrderMeasure):
    """Position of a run in the set-based total order, from 0.

    Of two runs, the one with more documents of the highest grade is better; for equal numbers, the
    next lower grade decides, and so on. With binary judgments the score is k P@k. Grades are levels
    without gaps: map grades 0, 1, 4 to 0, 1, 2 first. Shorter runs are padded with grade 0, and
    scores for different cutoffs cannot be compared. The formula sorts grades in descending order;
    with the ascending order in the source, different sets of grades could have the same score.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels = {"q": {"a": 1, "b": 2, "c": 1, "d": 0, "e": 0}}
    >>> run = {"q": {"a": 5, "d": 4, "b": 3, "e": 2, "c": 1}}
    >>> cf.evaluate(run, qrels, ["SBTO@5", "RBTO@5"]).by_system().rows()
    [('run', 8.0, 100.0)]
    """

    def is_evenly_spaced(self, max_grade: int) -> bool:
        return True

    @property
    def uses_highest_grade(self) -> bool:
        return self.normalised and self.max_grade is None

    def find_max_rank(self, length: int, max_grade: int) -> int:
        return comb(length + max_grade, length) - 1

    def compute_run_ranks(self, judged: JudgedRuns, length: int, max_grade: int) -> Floats:
        rows = select_gains(judged, LINEAR_GAIN)
        grades: Ints = rows.gains.astype(np.int64)
        order = np.lexsort((-grades, rows.cell))
        n_below = length - number_rows(rows.cell[order])
        terms = np.array(
            [[comb(grade + n, n + 1) for n in range(length)] for grade in range(max_grade + 1)],
            dtype=np.float64,
        )
        values = np.empty(grades.size)
        values[order] = terms[grades[order], n_below]
        return rows.total(values)


@measure(
    "RBTO",
    summary="Position of the top k in the rank-based total order, which compares grades at the"
    " first rank where they differ.",
    formula=r"\sum_{r=1}^{k} g_r \, (g_{max} + 1)^{k - r}",
    scale_note="on an interval scale for the rank-based total order if max_grade is the highest"
    " grade of the judgments",
    is_linear=True,
    expectation="documents",
)
class RankBasedTotalOrder(_TotalOrderMeasure):
    """Position of a run in the rank-based total order, from 0.

    Of two runs, the one with the higher grade at the first rank where they differ is better. The
    grades of a run are the digits of its score in base c + 1, where c is the highest grade. RBP
    with p = 1 / (c + 1) and gains proportional to the grades is the same up to a factor (after
    equation (6) of the source). For grades with gaps, shorter runs and other cutoffs see `SBTO`.
    """

    def is_evenly_spaced(self, max_grade: int) -> bool:
        return self.max_grade in {None, max_grade} or self.cutoff == 1

    def find_max_rank(self, length: int, max_grade: int) -> int:
        return int((max_grade + 1) ** length - 1)

    def compute_run_ranks(self, judged: JudgedRuns, length: int, max_grade: int) -> Floats:
        rows = select_gains(judged, LINEAR_GAIN)
        weights = np.array([float((max_grade + 1) ** (length - r)) for r in range(1, length + 1)])
        return rows.total(rows.gains * rows.map_ranks(lambda rank: weights[rank.astype(int) - 1]))
