r"""Click models as user models: only clicked documents count.

The probabilities of a click model are parameters, by grade and by rank. Users read from the top. A
user who examines rank i clicks with the probability c of its grade, and goes on to the next rank
with a probability that depends on the model:

.. math:: P[C_i = 1] = c_i \prod_{j<i} C(j), \quad
    C(j) = c_j \, P(\text{goes on} \mid \text{click}) + (1 - c_j) P(\text{goes on} \mid \text{none})

Utility is the sum of P[C = 1] times gain, effort that of 1 / rank where a click satisfies. `uM` and
`rrM` are for all models in which only a satisfying click ends the search: the dynamic
Bayesian network (DBN), its simple form (SDBN), the cascade, and the position-based model (PBM;
Chuklin, Markov and de Rijke 2015). :mod:`cranfield.measures.users.browsing` has other models.

So the users of click models are user models: with :math:`C(i) = \gamma (1 - a_i s_i)` that of a
dynamic Bayesian network, with :math:`C(i) = x_{i+1} / x_i` that of a position-based model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import number, number_text, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import Gain, pairs
from cranfield.measures.users.model import UnitGains, UserModel
from cranfield.measures.users.page import Page, pages, view_probabilities

FAMILY = "user models"
SOURCE = "Chuklin and others (2013)"
NEEDS = "click probabilities, from a click model"

_SHARE = number(0, 1)

ByGrade = Callable[[Any], Any]
"""Function that returns the probabilities of a mapping, at each rank or for each grade."""


@dataclass(frozen=True)
class Chances(Gain):
    """Probabilities by grade or rank, and optionally that of unjudged documents."""

    unjudged: float | None = None

    @property
    def text(self) -> str:
        text = super().text
        return (
            text if self.unjudged is None else f"{{None: {number_text(self.unjudged)}, {text[1:]}"
        )

    @property
    def pairs(self) -> tuple[tuple[int, float], ...]:
        assert isinstance(self.kind, tuple)
        return self.kind


def chances(value: Any) -> Chances:
    """Check a mapping of grades to probabilities; None stands for unjudged documents."""
    if isinstance(value, Chances):
        return value
    if isinstance(value, Mapping) and {*value} - {None}:
        probabilities = pairs({key: chance for key, chance in value.items() if key is not None})
        if all(0 <= chance <= 1 for _, chance in probabilities):
            return Chances(probabilities, _SHARE(value[None]) if None in value else None)
    raise ValueError("a mapping to probabilities, such as {0: 0.3, 1: 0.8}")


def by_rank(value: Any) -> Chances:
    """Check a mapping of ranks to probabilities."""
    probabilities = chances(value)
    if probabilities.unjudged is not None or any(rank < 1 for rank, _ in probabilities.pairs):
        raise ValueError("a mapping of ranks to probabilities, such as {1: 1, 2: 0.7}")
    return probabilities


def at_rank(chances: Gain | None, rank: Any) -> Any:
    """Return the probability of the largest listed rank up to `rank`, or else of the smallest."""
    if chances is None:
        return 1
    assert isinstance(chances.kind, tuple)
    keys, values = (np.array(column) for column in zip(*chances.kind, strict=True))
    return values[np.maximum(np.searchsorted(keys, rank, side="right") - 1, 0)]


@dataclass(frozen=True, eq=False)
class GradedPage:
    """A page of rankings with codes of grades.

    Attributes
    ----------
    layout
        The rankings, with codes in place of grades: the place of a document's grade among
        `grades`, from 1, and 0 for unjudged documents and empty ranks.
    grades
        The grades in ascending order.
    """

    layout: Page
    grades: Ints

    @cached_property
    def code(self) -> Indices:
        return np.asarray(self.layout.grades, dtype=np.intp)

    def probabilities(self, chances: Chances | None) -> Floats:
        """Return the probability at each rank; unjudged documents count as grade 0 by default."""
        if chances is None:
            return np.zeros(self.code.shape)
        unjudged = chances.unjudged
        default = chances.from_mapping(np.zeros(1)) if unjudged is None else unjudged
        return np.asarray(np.append(default, chances.from_mapping(self.grades))[self.code])


class Clicks(Measure, family=FAMILY, needs=NEEDS):
    """Base class of measures of click models."""

    clicks: Chances | None = parameter(
        None,
        optional(chances),
        (
            "probability of a click by grade; 0 for a grade that is not listed. Documents"
            " without a judgment count as grade 0, unless None is listed too"
        ),
    )
    required_parameters: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Other required parameters, with an example."""

    def require_complete(self) -> None:
        super().require_complete()
        if self.clicks is None:
            raise MeasureError(
                f"{self.name} needs click probabilities, such as clicks={{0: 0.3, 1: 0.8}}"
            )
        for name, example in self.required_parameters:
            if getattr(self, name) is None:
                raise MeasureError(f"{self.name} needs {name}, such as {name}={example}")

    def clicked(self, page: GradedPage) -> Floats:
        """Return P[C = 1]: the probability of a click at each rank."""
        raise NotImplementedError

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        """Return the gains of documents; a hook for measures of clicked gains."""
        return np.zeros(rows.grade.size)

    def of_click(self, page: GradedPage) -> Floats:
        """Return the value of a click at each rank: the gain of the document."""
        return page.layout.gains

    def values(self, judged: JudgedRuns) -> Floats:
        rows = judged.judged()
        grades = np.unique(rows.grade)
        page_blocks = pages(
            judged,
            replace(rows, grade=np.searchsorted(grades, rows.grade) + 1),
            self.worth(judged, rows),
            max(int(judged.retrieved.max(initial=0)), 1),
            fill_value=0.0,
            relevant=judged.recall_base(),
            lengths=None,
            grade=0.0,
        )
        graded_pages = (GradedPage(page, grades) for page in page_blocks)
        parts = [np.einsum("ij,ij->i", self.clicked(p), self.of_click(p)) for p in graded_pages]
        return np.concatenate([*parts, np.empty(0)]).reshape(judged.shape[::-1]).T


class Utility(Clicks, UnitGains, range=(0.0, float("inf"))):
    """Expected gain of clicked documents."""

    worth = UnitGains.worth


class Chain(Clicks):
    """User model with a continuation probability by grade and rank."""

    def continuation(self, by_grade: ByGrade, rank: Any) -> Any:
        """Return C: the probability of examining the next rank after this one."""
        raise NotImplementedError

    def share(self, rank: Any) -> Any:
        """Return the probability of examining a rank that is reached."""
        return 1

    def clicked(self, page: GradedPage) -> Floats:
        rank = page.layout.rank
        views = view_probabilities(
            self.continuation(page.probabilities, rank) + np.zeros(page.code.shape)
        )
        return np.asarray(views * self.share(rank) * page.probabilities(self.clicks))


class Effort(Clicks):
    """Base class of measures in which a satisfying click counts the reciprocal rank."""

    def satisfying(self, by_grade: ByGrade, rank: Any) -> Any:
        """Return the probability that a clicked document satisfies."""
        raise NotImplementedError

    def deciding_chances(self) -> Chances | None:
        """Return the probabilities that decide whether unjudged documents count."""
        return self.clicks

    @property
    def beyond_length(self) -> str:
        """Scores depend on the length of the list if documents of grade 0 may satisfy."""

        def by_grade(chances: Chances | None) -> Any:
            return 0.0 if chances is None else chances.from_mapping(np.zeros(1))[0]

        counts = by_grade(self.clicks) * self.satisfying(by_grade, 1) > 0
        return "how many documents are retrieved" if counts else ""

    def of_click(self, page: GradedPage) -> Floats:
        chances = self.deciding_chances()
        counts = page.code > 0
        if chances is not None and chances.unjudged is not None:
            counts |= page.layout.listed
        values = self.satisfying(page.probabilities, page.layout.rank) / page.layout.rank
        return np.asarray(counts * values)


class _Satisfied(Chain, linear=True):
    satisfies: Chances | None = parameter(
        None,
        optional(chances),
        "probability that a clicked document satisfies, by grade, as for clicks",
    )
    examined: Chances | None = parameter(
        None,
        optional(by_rank),
        (
            "probability that a rank is examined, by rank; ranks below the last one listed"
            " have its probability"
        ),
    )
    gamma: float = parameter(
        1.0, _SHARE, "probability that a user who is not satisfied goes on to the next rank (DBN)"
    )

    @property
    def linear(self) -> bool:
        return super().linear and self.satisfies is None

    def continuation(self, by_grade: ByGrade, rank: Any) -> Any:
        return self.gamma * (1 - by_grade(self.clicks) * by_grade(self.satisfies))

    def share(self, rank: Any) -> Any:
        return at_rank(self.examined, rank)


_CHANCE = r"P[C_i = 1] = e(i) \, c_i \, \gamma^{i-1} \prod_{j<i} (1 - c_j s_j)"


@measure(
    "uM",
    aliases=("uDBN", "uSDBN", "uPBM"),
    summary="Expected gain of clicked documents, by a click model.",
    formula=rf"\sum_i P[C_i = 1] \, g_i, \quad {_CHANCE}",
    source=SOURCE + "; Ferro and Maistro (2024), equation (16)",
)
class ClickUtility(_Satisfied, Utility):
    """Utility by a click model: uDBN, or uSDBN with `gamma=1`; with `examined` alone uPBM.

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
    formula=rf"\sum_i \frac1i \, s_i \, P[C_i = 1], \quad {_CHANCE}",
    source=SOURCE + "; Ferro and Maistro (2024), equation (17)",
)
class ClickEffort(_Satisfied, Effort):
    """Effort by a click model: rrDBN, or rrSDBN with `gamma=1`, which is ERR with R = c s.

    So it is ERR if every click satisfies and clicks have the probabilities of ERR.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "rrM(clicks={0: 0.2, 1: 0.5}, satisfies={1: 1})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, [text, "ERR"]).by_system().row(0)[1:]
    (0.583..., 0.583...)
    """

    def satisfying(self, by_grade: ByGrade, rank: Any) -> Any:
        return by_grade(self.satisfies)

    def deciding_chances(self) -> Chances | None:
        return self.satisfies


@measure(
    "CWL",
    summary=(
        "Gain per rank read by users whose continuation depends on the grade and on the rank."
    ),
    formula=r"\sum_r W(r) \, g_r, \quad C(i) = u_i \, v(\mathit{grade}_i)",
    source="Moffat and others (2017)",
    needs="continuation probabilities, such as those of a click model",
)
class Continuing(UserModel):
    """User model by its continuation: C is the probability at the rank times that of the grade.

    Users who read the last of 1000 ranks stop there.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> asked = ["CWL(by_grade={0: 0.8, 1: 0})", "ETU(CWL(by_rank={1: 0.5, 2: 0}))"]
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, asked).by_system().row(0)[1:]
    (1.0, 1.0)
    """

    by_grade: Chances | None = parameter(
        None,
        optional(chances),
        (
            "probability of going on by grade; a grade that is not listed has the probability"
            " of the next lower one that is. Documents without a judgment, and ranks beyond"
            " the list, count as grade 0, unless None is listed too"
        ),
    )
    by_rank: Chances | None = parameter(
        None,
        optional(by_rank),
        ("probability of going on by rank; ranks below the last one listed have its probability"),
    )

    reads_grades = True

    def require_complete(self) -> None:
        super().require_complete()
        if self.by_grade is None and self.by_rank is None:
            raise MeasureError(
                "CWL needs continuation probabilities, such as by_grade={0: 0.9, 1: 0.5}"
                " or by_rank={1: 0.8}"
            )

    @property
    def beyond_length(self) -> str:
        """Scores depend on the length of the list if unjudged documents do not count as grade 0."""
        is_listed = self.by_grade is not None and self.by_grade.unjudged is not None
        return "how many documents are retrieved" if is_listed else ""

    def continuation(self, page: Page) -> Floats:
        assert page.grades is not None
        is_unknown = np.isnan(page.grades)
        chance = at_rank(self.by_grade, np.where(is_unknown, 0.0, page.grades))
        if self.by_grade is not None and self.by_grade.unjudged is not None:
            chance = np.where(is_unknown, self.by_grade.unjudged, chance)
        return np.asarray(chance * at_rank(self.by_rank, page.rank) + np.zeros(is_unknown.shape))


def user_of(measure: Chain, **options: Any) -> Continuing:
    """Return the user model of a measure of a click model, by the law of the measure.

    Users of a measure with a cutoff stop there.

    Parameters
    ----------
    options
        Other parameters of the user model, such as `gains`.

    Raises
    ------
    MeasureError
        If the continuation is not a product of a probability by grade and one by rank, or a rank is
        examined more often than the one above it.
    """
    measure.require_complete()
    assert measure.clicks is not None
    grades = np.array([grade for grade, _ in measure.clicks.pairs])

    def chances_of(chances: Chances | None) -> Any:
        if chances is None:
            return np.zeros((grades.size + 1, 1))
        unjudged = 0.0 if chances.unjudged is None else chances.unjudged
        return np.append(chances.from_mapping(grades), unjudged)[:, np.newaxis]

    mappings = (getattr(measure, name, None) for name in ("examined", "continues"))
    depth = max((mapping.pairs[-1][0] for mapping in mappings if mapping is not None), default=1)
    rank = np.arange(1, depth + 1)
    continuation = np.broadcast_to(measure.continuation(chances_of, rank), (grades.size + 1, depth))
    if np.ptp(continuation, axis=1).any():
        raise MeasureError(
            f"{measure.name} has no user model: its continuation depends on grade and rank together"
        )
    unjudged = measure.clicks.unjudged is not None
    keys = [*grades.tolist(), *([None] if unjudged else [])]
    reach = measure.share(np.arange(1, depth + 2)) * np.ones(depth + 1)
    if (reach[1:] > reach[:-1]).any():
        low = int(np.argmax(reach[1:] > reach[:-1])) + 2
        raise MeasureError(
            f"{measure.name} has no user model: rank {low} is examined more often than the one"
            " above it"
        )
    ratio = np.divide(reach[1:], reach[:-1], out=np.zeros(depth), where=reach[:-1] > 0)
    by_rank = dict(zip(rank.tolist(), ratio.tolist(), strict=True))
    if measure.cutoff is not None:
        by_rank = {r: chance for r, chance in by_rank.items() if r < measure.cutoff}
        by_rank[measure.cutoff] = 0.0
    by_grade = dict(zip(keys, continuation[:, 0].tolist(), strict=False))
    is_constant = {*by_rank.values()} == {1.0}
    return Continuing(
        by_grade=None if {*by_grade.values()} == {1.0} and not is_constant else by_grade,
        by_rank=None if is_constant else by_rank,
        **options,
    )
