r"""Click models as user models: only clicked documents count.

The probabilities of a click model are parameters, by grade and by rank. Users read from the top. A
user who examines rank i clicks with the probability c of its grade, and continues to the next rank
with a probability that depends on the model:

.. math:: P[C_i = 1] = c_i \prod_{j<i} C(j), \quad
    C(j) = c_j \, P(\text{continue} \mid \text{click})
    + (1 - c_j) P(\text{continue} \mid \text{no click})

Utility is the sum of P[C = 1] times gain. Effort is the sum of P[C = 1] times the probability of
satisfaction, divided by the rank. `uM` and `rrM` are for models in which users stop at a click that
satisfies them, and otherwise continue with the same probability: the dynamic Bayesian network
(DBN), its simplified form (SDBN), the cascade model, and the position-based model (PBM; Chuklin,
Markov and de Rijke 2015). :mod:`cranfield.measures.users.browsing` has other models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import PROBABILITY, format_exact, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import Gain, check_pairs
from cranfield.measures.users.model import UnitGains, UserModel
from cranfield.measures.users.page import Page, compute_views, iterate_pages, join_pages

SOURCE = "Chuklin and others (2013)"
ProbabilityLookup = Callable[[Any], Any]
"""Function that returns the value of probabilities by grade, at each rank or for each grade."""


@dataclass(frozen=True)
class ProbabilityMapping(Gain):
    """Probabilities by grade or rank, and optionally one for unjudged documents."""

    unjudged: float | None = None

    @property
    def text(self) -> str:
        text = super().text
        return (
            text if self.unjudged is None else f"{{None: {format_exact(self.unjudged)}, {text[1:]}"
        )

    @property
    def pairs(self) -> tuple[tuple[int, float], ...]:
        assert isinstance(self.kind, tuple)
        return self.kind


def check_by_grade(value: Any) -> ProbabilityMapping:
    """Check a mapping of grades to probabilities; None stands for unjudged documents."""
    if isinstance(value, ProbabilityMapping):
        return value
    if isinstance(value, Mapping) and {*value} - {None}:
        pairs = check_pairs({grade: p for grade, p in value.items() if grade is not None})
        if all(0 <= p <= 1 for _, p in pairs):
            return ProbabilityMapping(pairs, PROBABILITY(value[None]) if None in value else None)
    raise ValueError("a mapping of grades or ranks to probabilities, such as {1: 0.8, 2: 0.5}")


def check_by_rank(value: Any) -> ProbabilityMapping:
    """Check a mapping of ranks to probabilities."""
    probabilities = check_by_grade(value)
    if probabilities.unjudged is not None or any(rank < 1 for rank, _ in probabilities.pairs):
        raise ValueError("a mapping of ranks, from 1, to probabilities, such as {1: 1, 2: 0.7}")
    return probabilities


def look_up_value(mapping: Gain | None, key: Any) -> Any:
    """Return the value of the highest key up to `key`, else of the lowest; 1 without a mapping."""
    if mapping is None:
        return 1
    assert isinstance(mapping.kind, tuple)
    keys, values = (np.array(column) for column in zip(*mapping.kind, strict=True))
    return values[np.maximum(np.searchsorted(keys, key, side="right") - 1, 0)]


def format_by_rank(rows: Iterable[Mapping[int, float]]) -> str:
    """Return the text form of a mapping of ranks 1, 2, ... to the mappings in `rows`."""
    texts = (", ".join(f"{key}: {format_exact(p)}" for key, p in row.items()) for row in rows)
    return "{" + ", ".join(f"{rank}: {{{text}}}" for rank, text in enumerate(texts, 1)) + "}"


@dataclass(frozen=True, eq=False)
class GradedPage:
    """A page of rankings with codes of grades.

    Codes are positions in `grades`, from 1, and 0 for unjudged documents and empty ranks.
    """

    layout: Page  # with codes in place of grades
    grades: Ints  # in ascending order

    @cached_property
    def code(self) -> Indices:
        return np.asarray(self.layout.grades, dtype=np.intp)

    def look_up(self, mapping: ProbabilityMapping | None) -> Floats:
        """Return the probability at each rank; unjudged documents count as grade 0 by default."""
        if mapping is None:
            return np.zeros(self.code.shape)
        unjudged = mapping.unjudged
        fallback = mapping.look_up_gains(np.zeros(1)) if unjudged is None else unjudged
        return np.asarray(np.append(fallback, mapping.look_up_gains(self.grades))[self.code])


class ClickMeasure(Measure, family="user models", needs="click probabilities, from a click model"):
    """Base class of measures of click models."""

    clicks: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_grade),
        "probability of a click by grade; 0 for a grade that is not listed. Documents without a"
        " judgment have that of grade 0, unless the mapping has a probability for None",
    )
    required_parameters: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Other required parameters, each with an example."""

    def require_complete(self) -> None:
        super().require_complete()
        if self.clicks is None:
            raise MeasureError(
                f"{self.name} requires click probabilities, such as clicks={{0: 0.3, 1: 0.8}}"
            )
        for name, example in self.required_parameters:
            if getattr(self, name) is None:
                raise MeasureError(f"{self.name} requires {name}, such as {name}={example}")

    def predict_clicks(self, page: GradedPage) -> Floats:
        """Return P[C = 1]: the probability of a click at each rank."""
        raise NotImplementedError

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        """Return the gain of each row, for measures of the gain of clicked documents."""
        return np.zeros(rows.grade.size)

    def score_clicks(self, page: GradedPage) -> Floats:
        """Return the contribution of a click to the score, by rank: the gain of the document."""
        return page.layout.gains

    def values(self, judged: JudgedRuns) -> Floats:
        rows = judged.judged()
        grades = np.unique(rows.grade)
        pages = iterate_pages(
            judged,
            replace(rows, grade=np.searchsorted(grades, rows.grade) + 1),
            self.compute_document_gains(judged, rows),
            max(int(judged.n_retrieved.max(initial=0)), 1),
            fill_gain=0.0,
            n_relevant=judged.recall_base(),
            lengths=None,
            fill_grade=0.0,
        )
        graded_pages = (GradedPage(page, grades) for page in pages)
        scores_by_page = (
            np.einsum("ij,ij->i", self.predict_clicks(page), self.score_clicks(page))
            for page in graded_pages
        )
        return join_pages(scores_by_page, judged.shape)


class UtilityMeasure(ClickMeasure, UnitGains, range=(0.0, float("inf"))):
    """Base class of measures of the expected gain of clicked documents."""

    compute_document_gains = UnitGains.compute_document_gains


class ChainMeasure(ClickMeasure):
    """Base class of click models with a continuation probability by grade and rank."""

    def continuation(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        """Return C: the probability that a user who examines a rank goes on to the next one."""
        raise NotImplementedError

    def compute_examination(self, rank: Any) -> Any:
        """Return the probability of examining a rank that the user reaches."""
        return 1

    def predict_clicks(self, page: GradedPage) -> Floats:
        rank = page.layout.rank
        continuation = self.continuation(page.look_up, rank) + np.zeros(page.code.shape)
        views = compute_views(continuation)
        return np.asarray(views * self.compute_examination(rank) * page.look_up(self.clicks))


class EffortMeasure(ClickMeasure):
    """Base class of measures of the expected reciprocal rank of a satisfying click.

    Unjudged documents do not satisfy the user, unless `clicks` (in rrM: `satisfies`) has a
    probability for None.
    """

    def compute_click_satisfaction(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        """Return the probability that a clicked document satisfies the user."""
        raise NotImplementedError

    def get_counting_probabilities(self) -> ProbabilityMapping | None:
        """Return the mapping in which a value for None makes unjudged documents count."""
        return self.clicks

    @property
    def beyond_length(self) -> str:
        """Scores depend on the length of the list if documents of grade 0 may satisfy."""

        def look_up_grade_zero(mapping: ProbabilityMapping | None) -> Any:
            return 0.0 if mapping is None else mapping.look_up_gains(np.zeros(1))[0]

        satisfaction = self.compute_click_satisfaction(look_up_grade_zero, 1)
        may_satisfy = look_up_grade_zero(self.clicks) * satisfaction > 0
        return "how many documents are retrieved" if may_satisfy else ""

    def score_clicks(self, page: GradedPage) -> Floats:
        mapping = self.get_counting_probabilities()
        is_counted = page.code > 0
        if mapping is not None and mapping.unjudged is not None:
            is_counted |= page.layout.has_document
        rank = page.layout.rank
        values = self.compute_click_satisfaction(page.look_up, rank) / rank
        return np.asarray(is_counted * values)


class _SatisfiedUser(ChainMeasure, is_linear=True):
    """Base class of click models in which a click matters only if it satisfies: users then stop."""

    satisfies: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_grade),
        "probability that a clicked document satisfies the user, by grade; a mapping as for clicks",
    )
    examined: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_rank),
        "probability that a rank is examined, by rank; ranks after the last listed rank have its"
        " probability",
    )
    gamma: float = parameter(
        1.0,
        PROBABILITY,
        "probability that a user who is not satisfied goes on to the next rank (DBN)",
    )

    @property
    def is_linear(self) -> bool:
        return super().is_linear and self.satisfies is None

    def continuation(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        return self.gamma * (1 - probabilities(self.clicks) * probabilities(self.satisfies))

    def compute_examination(self, rank: Any) -> Any:
        return look_up_value(self.examined, rank)


_CLICK = r"P[C_i = 1] = e(i) \, c_i \, \gamma^{i-1} \prod_{j<i} (1 - c_j s_j)"


@measure(
    "uM",
    aliases=("uDBN", "uSDBN", "uPBM"),
    summary="Expected gain of clicked documents, by a click model.",
    formula=rf"\sum_i P[C_i = 1] \, g_i, \quad {_CLICK}",
    source=SOURCE + "; Ferro and Maistro (2024), equation (16)",
)
class ClickUtility(_SatisfiedUser, UtilityMeasure):
    """Utility by a click model: uDBN, uSDBN (`gamma=1`) or uPBM (only `examined`).

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "uM(clicks={0: 0.2, 1: 0.8}, examined={1: 1, 2: 0.25})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 1.0)]
    """


@measure(
    "rrM",
    aliases=("rrDBN", "rrSDBN"),
    summary="Expected reciprocal rank at which a user is satisfied, by a click model.",
    formula=rf"\sum_i \frac1i \, s_i \, P[C_i = 1], \quad {_CLICK}",
    source=SOURCE + "; Ferro and Maistro (2024), equation (17)",
)
class ClickEffort(_SatisfiedUser, EffortMeasure):
    """Effort by a click model: rrDBN, or rrSDBN (`gamma=1`), which is ERR with R = c s.

    The score equals ERR if every click satisfies and click probabilities are those of ERR.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "rrM(clicks={0: 0.2, 1: 0.5}, satisfies={1: 1})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, [text, "ERR"]).by_system().row(0)[1:]
    (0.583..., 0.583...)
    """

    def compute_click_satisfaction(self, probabilities: ProbabilityLookup, rank: Any) -> Any:
        return probabilities(self.satisfies)

    def get_counting_probabilities(self) -> ProbabilityMapping | None:
        return self.satisfies


@measure(
    "CWL",
    summary="Gain per rank read by users whose continuation depends on the grade and on the rank.",
    formula=r"\sum_r W(r) \, g_r, \quad C(i) = u_i \, v(\mathit{grade}_i)",
    source="Moffat and others (2017)",
    needs="continuation probabilities, such as those of a click model",
)
class ContinuationModel(UserModel):
    """User model in which C is a probability by rank times a probability by grade.

    Users stop at rank 1000 at the latest.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> measures = ["CWL(by_grade={0: 0.8, 1: 0})", "ETU(CWL(by_rank={1: 0.5, 2: 0}))"]
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, measures).by_system().row(0)[1:]
    (1.0, 1.0)
    """

    by_grade: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_grade),
        "probability of going on by grade; an unlisted grade has the probability of the"
        " next lower listed grade, or else of the lowest. Documents without a judgment, and"
        " ranks beyond the list, count as grade 0, unless the mapping has a probability for None",
    )
    by_rank: ProbabilityMapping | None = parameter(
        None,
        optional(check_by_rank),
        "probability of going on by rank; ranks after the last listed rank have its probability",
    )

    reads_grades = True

    def require_complete(self) -> None:
        super().require_complete()
        if self.by_grade is None and self.by_rank is None:
            raise MeasureError(
                "CWL requires continuation probabilities, such as by_grade={0: 0.9, 1: 0.5}"
                " or by_rank={1: 0.8}"
            )

    @property
    def beyond_length(self) -> str:
        """Scores depend on the length of the list if unjudged documents do not count as grade 0."""
        has_unjudged = self.by_grade is not None and self.by_grade.unjudged is not None
        return "how many documents are retrieved" if has_unjudged else ""

    def continuation(self, page: Page) -> Floats:
        assert page.grades is not None
        is_unjudged = np.isnan(page.grades)
        grade_factor = look_up_value(self.by_grade, np.where(is_unjudged, 0.0, page.grades))
        if self.by_grade is not None and self.by_grade.unjudged is not None:
            grade_factor = np.where(is_unjudged, self.by_grade.unjudged, grade_factor)
        continuation = grade_factor * look_up_value(self.by_rank, page.rank)
        return np.asarray(continuation + np.zeros(is_unjudged.shape))


def click_user_model(measure: ChainMeasure, **options: Any) -> ContinuationModel:
    """Return the user model with the continuation and the cutoff of a measure of a click model.

    Grades above all grades of `clicks` continue like the highest of these. `options` are other
    parameters of the user model, such as `gains`.
    """
    measure.require_complete()
    assert measure.clicks is not None
    listed_grades = [grade for grade, _ in measure.clicks.pairs]
    # Unlisted grades have no clicks; in `by_grade` they would be like the next lower listed grade.
    lower_grades = [min(listed_grades[0], 0) - 1, *listed_grades[:-1]]
    grades = np.array(sorted({*listed_grades, *(grade + 1 for grade in lower_grades)}))

    def look_up(mapping: ProbabilityMapping | None) -> Any:
        if mapping is None:
            return np.zeros((grades.size + 1, 1))
        unjudged = 0.0 if mapping.unjudged is None else mapping.unjudged
        return np.append(mapping.look_up_gains(grades), unjudged)[:, np.newaxis]

    mappings = (getattr(measure, name, None) for name in ("examined", "continues"))
    depth = max((mapping.pairs[-1][0] for mapping in mappings if mapping is not None), default=1)
    rank = np.arange(1, depth + 1)
    continuation = measure.continuation(look_up, rank) + np.zeros((grades.size + 1, depth))
    if np.ptp(continuation, axis=1).any():
        raise MeasureError(
            f"{measure.name} has no user model: its continuation probability is not the product of"
            " a probability by grade and a probability by rank"
        )
    has_unjudged = measure.clicks.unjudged is not None
    keys = [*grades.tolist(), *([None] if has_unjudged else [])]
    reach = measure.compute_examination(np.arange(1, depth + 2)) * np.ones(depth + 1)
    if (reach[1:] > reach[:-1]).any():
        later_rank = int(np.argmax(reach[1:] > reach[:-1])) + 2
        raise MeasureError(
            f"{measure.name} has no user model that reads from the top: rank {later_rank} is"
            f" examined more often than rank {later_rank - 1}"
        )
    ratios = np.divide(reach[1:], reach[:-1], out=np.zeros(depth), where=reach[:-1] > 0)
    by_rank = dict(zip(rank.tolist(), ratios.tolist(), strict=True))
    if measure.cutoff is not None:
        by_rank = {r: p for r, p in by_rank.items() if r < measure.cutoff}
        by_rank[measure.cutoff] = 0.0
    by_grade = dict(zip(keys, continuation[:, 0].tolist(), strict=False))
    is_constant = {*by_rank.values()} == {1.0}
    return ContinuationModel(
        by_grade=None if {*by_grade.values()} == {1.0} and not is_constant else by_grade,
        by_rank=None if is_constant else by_rank,
        **options,
    )
