"""Interval-scaled measures: the rank of a score among all possible scores of a measure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, warn
from cranfield.base.scale_types import Scale
from cranfield.base.spec import choice, flag, integer, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Info, Measure
from cranfield.measures.wrapping import Wrapper, wrapper_measure
from cranfield.scales.forms.form import (
    HINT,
    describe_beyond_length,
    get_inner_measure,
    get_lowest_relevant,
)
from cranfield.scales.images.values import TIES, Image, image, make_topic_image
from cranfield.scales.runs import as_measure, check_size, depends_on_recall_base

ImageKey = tuple[int | None, tuple[int, ...] | None]
"""Maximum number of relevant documents of a run, and the ideal ranking; None where not used."""


def group_cells(
    judged: JudgedRuns, length: int, max_relevant: Ints | None, *, needs_ideal: bool
) -> dict[ImageKey, Ints]:
    """Group rankings by the image that they require; return the indices of the rankings.

    `max_relevant` is the maximum number of relevant documents of a run, for each topic. With
    `needs_ideal`, images depend on the ideal ranking of the topic.
    """
    n_topics, n_systems = judged.shape
    if max_relevant is not None:
        max_relevant = np.minimum(np.broadcast_to(max_relevant, judged.shape), length)
    cells: dict[ImageKey, list[int]] = {}
    for topic in range(n_topics):
        ideal_grades = _find_ideal_grades(judged, topic, length) if needs_ideal else None
        for system in range(n_systems):
            max_hits = None if max_relevant is None else int(max_relevant[topic, system])
            cells.setdefault((max_hits, ideal_grades), []).append(topic * n_systems + system)
    return {key: np.array(indices) for key, indices in cells.items()}


def _find_ideal_grades(judged: JudgedRuns, topic: int, length: int) -> tuple[int, ...]:
    """Return the grades of the ideal ranking of a topic, down to the length of runs."""
    judgments = judged.judgments
    grades = judgments.grade[(judgments.topic == topic) & (judgments.grade >= 0)]
    return tuple(np.sort(grades)[::-1][:length].tolist())


GRADE_PARAMETERS = {"betas", "thresholds"}
"""Parameters that distinguish relevant grades."""

_FORMULA = (
    r"\frac{\varphi(m) - 1}{|M(REL^N)| - 1}, \quad \varphi(m) = |\{x \in M(REL^N) : x \le m\}|"
)


@wrapper_measure(
    "interval",
    summary="Interval-scaled version of a measure, with scores replaced by their ranks.",
    formula=_FORMULA,
    source="Ferrante, Ferro and Fuhr (2021), section 5, equation (2)",
    family="measures of a measure",
    scale=Scale.INTERVAL,
)
class Interval(Wrapper):
    r"""Interval-scaled version of a measure, with scores replaced by their ranks.

    The rank of a score is computed among all values of the measure on runs of the same length, so
    that neighbouring values are one step apart. The order of runs does not change. The inner
    measure requires a cutoff N, as in `interval(DCG@10)`.

    Raises
    ------
    MeasureError
        For a measure that is not averaged over topics, for which lower is better, that is already
        interval-scaled, or that depends on more than the ranked grades. In a text form and when
        scoring, also for a measure without a cutoff; when scoring, also for a gain of a grade of 0
        or below.
    PolicyError
        When scoring, if ranks cannot be computed or estimated at the cutoff; see `rank_runs` and
        `compute_relative_ranks` of :class:`cranfield.scales.Image`.

    Notes
    -----
    The formula is equation (2) of Ferrante, Ferro and Fuhr (2021), section 5, scaled to [0, 1];
    :math:`M(REL^N)` is the set of values of the measure M on all runs of length N. Shorter rankings
    are padded with documents that are not relevant (section 5.1). For a measure that depends on the
    recall base, topics have different scales, and this version is a surrogate (section 5.2.2). For
    graded measures the grades are 0 to the highest grade of the judgments.

    Examples
    --------
    >>> import cranfield as cf
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"b": 3, "c": 2, "a": 1}}
    >>> cf.evaluate(run, qrels, ["RR@3", "interval(RR@3)"]).by_system().rows()
    [('run', 1.0, 1.0)]
    >>> cf.evaluate({"q": {"c": 2, "a": 1}}, qrels, ["RR@3", "interval(RR@3)"]).by_system().rows()
    [('run', 0.5, 0.6666666666666666)]
    """

    inner_example = "DCG@10"
    scores_cut_rankings = True
    ties: str = parameter(
        "unique",
        choice(*TIES),
        "`unique`: rank distinct scores, which are then equally spaced; for comparison, `mid`,"
        " `min` and `max` rank runs: tied runs have the mean, lowest or highest of their ranks, as"
        " in table 3 of the source",
    )
    raw: bool = parameter(
        False, flag, "whether to return ranks, from 1, instead of scaling them to [0, 1]"
    )
    feasible: bool = parameter(
        False,
        flag,
        "whether to rank only among runs with at most as many relevant documents (of any relevant"
        " grade) as the topic has; each recall base then has its own scale, and a mean over topics"
        " mixes these scales",
    )
    seed: int = parameter(
        0,
        integer(0),
        "seed of the sampled rankings from which ranks are estimated if there are too many values",
    )

    def __init__(self, inner: Measure | str, /, **options: Any) -> None:
        super().__init__(as_measure(inner) if isinstance(inner, str) else inner, **options)

    def check(self, inner: Measure) -> None:
        if isinstance(inner, Interval):
            raise MeasureError(f"interval: {inner} is already interval-scaled")
        reason = describe_beyond_length(inner)
        if reason:
            raise MeasureError(
                f"interval: {inner} depends on more than the ranked grades ({reason}),"
                f" so it has no interval-scaled version; {HINT}"
            )
        if inner.info.aggregate != "mean":
            raise MeasureError(f"interval requires a measure averaged over topics, got {inner}")
        if inner.info.lower_is_better:
            raise MeasureError(f"interval requires a measure where higher is better, got {inner}")

    def combine_info(self) -> Info:
        inner, bounds = self.inner, "from 1" if self.raw else "0 to 1"
        values_text = "its values" if self.ties == "unique" else "the values of all runs"
        return replace(
            inner.info,
            name="interval",
            aliases=(),
            summary=f"Rank of {inner} among {values_text}; range: {bounds}.",
            formula=_FORMULA,
            source=self.outer_info.source,
            parameter_sources={},
            range=(1.0, float("inf")) if self.raw else (0.0, 1.0),
            scale=Scale.INTERVAL if self.ties == "unique" else inner.info.scale,
            scale_note=self._make_scale_note(),
            elsewhere={},
            is_monotone=False,
            ignores_order=False,
        )

    def _make_scale_note(self) -> str:
        if self.ties != "unique":
            return "values are equally spaced only with ties=unique (section 5 of the source)"
        if self.feasible:
            return "each recall base has its own scale, so that topics have different scales"
        if self.cutoff is None or not depends_on_recall_base(self.inner):
            return ""
        varying_part = "ideal ranking" if self.inner.needs_ideal else "recall base"
        return (
            f"topics with different {varying_part}s have different scales, which are treated as one"
            " (a surrogate, section 5.2.2 of the source)"
        )

    def values(self, judged: JudgedRuns) -> Floats:
        """Rank the scores of all rankings, padded to the cutoff with non-relevant documents."""
        assert self.cutoff is not None
        self._check_gains()
        # Checked before a table with that many ranks is allocated.
        check_size(self.cutoff, max(self._find_max_grade(judged), 1))
        is_binary, needs_ideal = self._is_binary(), self.inner.needs_ideal
        rel = get_lowest_relevant(self.inner)
        rows = judged.grades_by_rank(self.cutoff, rel if is_binary else None)
        rows = rows.reshape(-1, self.cutoff)
        max_grade = int(max(rows.max(initial=0), self._find_max_grade(judged), 1))
        topic_scores = np.zeros(judged.shape)
        flat_scores = topic_scores.reshape(-1)
        max_relevant = judged.recall_base(rel) if self.feasible else None
        groups = group_cells(judged, self.cutoff, max_relevant, needs_ideal=needs_ideal)
        for (max_hits, ideal), cells in groups.items():
            if max_hits == 0:
                # Without relevant documents there is only one value.
                flat_scores[cells] = 1.0 if self.raw else 0.0
                continue
            distinct_rows, inverse = np.unique(rows[cells], axis=0, return_inverse=True)
            inner_image = self._make_image(max_grade, max_hits, ideal)
            if self.raw or self.ties != "unique":
                ranks = inner_image.rank_runs(distinct_rows, ties=self.ties).astype(np.float64)
                scores = ranks if self.raw else self._normalise(ranks, inner_image)
            else:
                scores = inner_image.compute_relative_ranks(distinct_rows)
                if inner_image.is_approximate:
                    warn(
                        f"{self}: too many values for exact ranks; scores are"
                        f" {inner_image.precision}, and scores that differ by less may be tied"
                    )
            flat_scores[cells] = scores[inverse.ravel()]
        if depends_on_recall_base(self.inner):
            # An undefined score counts as the lowest value of the measure.
            is_undefined = np.broadcast_to(judged.recall_base(rel) == 0, judged.shape)
            topic_scores[is_undefined] = 1.0 if self.raw else 0.0
        return topic_scores

    def require(self, max_grade: int, n_runs: int) -> None:
        """Raise an error if ranking this number of runs is infeasible.

        With the parameter `feasible`, images of single topics may still be too large.
        """
        self.require_complete()
        self._check_gains()
        inner_image = self._make_image(1 if self._is_binary() else max(max_grade, 1), None)
        if self.raw or self.ties != "unique":
            inner_image.require(n_runs, self.ties)

    def _make_image(
        self, max_grade: int, max_relevant: int | None, ideal: tuple[int, ...] | None = None
    ) -> Image:
        assert self.cutoff is not None
        # Grades have been mapped to 0 and 1, so that the lowest relevant grade is 1.
        measure = self.inner(rel=1) if self._is_binary() else self.inner
        if measure.needs_ideal:
            return make_topic_image(measure, self.cutoff, max_grade, ideal, max_relevant)
        return image(measure, self.cutoff, max_grade, at_most=max_relevant, seed=self.seed)

    def _normalise(self, ranks: Floats, inner_image: Image) -> Floats:
        """Normalise ranks of runs to [0, 1], from the lowest to the highest run."""
        gains = getattr(inner_image.measure, "gains", None)
        grades = np.arange(inner_image.grades + 1)
        grade_gains = (
            grades if gains is None or isinstance(gains.kind, str) else gains.compute_gains(grades)
        )
        extremes = np.full((2, inner_image.length), int(np.argmin(grade_gains)))
        extremes[1] = 0
        extremes[1, : inner_image.at_most] = int(np.argmax(grade_gains))
        min_rank, max_rank = inner_image.rank_runs(extremes, ties=self.ties).astype(np.float64)
        return np.asarray((ranks - min_rank) / max(max_rank - min_rank, 1.0))

    def _check_gains(self) -> None:
        """Refuse gains of non-relevant documents, as unjudged documents have no gain."""
        kind = getattr(getattr(get_inner_measure(self.inner), "gains", None), "kind", None)
        for grade, gain in kind if isinstance(kind, tuple) else ():
            if grade <= 0 and gain:
                raise MeasureError(f"{self}: the gain of grade {grade} must be 0, got {gain:g}")

    def _is_binary(self) -> bool:
        """Return True if all relevant grades have the same gain."""
        inner = get_inner_measure(self.inner)
        if "rel" not in inner.parameters or GRADE_PARAMETERS & set(inner.parameters):
            return False
        gains = getattr(inner, "gains", None)
        return gains is None or getattr(gains, "kind", None) == "binary"

    @property
    def uses_highest_grade(self) -> bool:
        return not self._is_binary()

    def _find_max_grade(self, judged: JudgedRuns) -> int:
        return 1 if self._is_binary() else judged.judgments.max_grade

    def require_complete(self) -> None:
        """Refuse a measure without a cutoff, as its scale depends on the run length."""
        super().require_complete()
        if self.cutoff is None:
            raise MeasureError(
                f"interval: {self.inner} requires a cutoff, such as interval({self.inner}@10), as"
                " the set of values depends on the length of runs"
            )


interval = Interval
