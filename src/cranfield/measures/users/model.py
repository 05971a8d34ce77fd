r"""User models of the C/W/L framework, defined by their continuation from rank to rank.

A model defines the continuation C, from which V, W and L (:class:`UserBehaviour`) follow, and, with
the gain g(i) and the cost c(i) of rank i, the expected utility and cost (Moffat, Bailey, Scholer
and Thomas 2017; Azzopardi, Thomas and Moffat 2019):

.. math:: EU = \sum_i W(i) g(i), \quad ETU = \sum_i L(i) \sum_{j \le i} g(j) = \sum_i V(i) g(i),
    \quad EC = \sum_i W(i) c(i), \quad ETC = \sum_i V(i) c(i), \quad \sum_i V(i) = \frac{1}{W(1)}

Models whose sums have a closed form do not need pages of ranks, and may have no last rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.spec import parameter
from cranfield.base.text import inflect
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure, check_ranks
from cranfield.measures.gains import (
    LINEAR_GAIN,
    MAX_COMPARED_GRADE,
    MAX_GRADE_OR_TOPIC,
    Gain,
    find_highest_gain,
    list_grades,
    make_gain_check,
)
from cranfield.measures.ranked.precision import REL, REL_DOC
from cranfield.measures.users.page import Page, UserBehaviour, iterate_pages, join_pages, make_page

DEFAULT_MAX_RANK = 1000
"""Last rank of models that do not set another one, as in cwl_eval."""

Costs = Callable[[Page], Floats]
"""Function that returns the cost of each rank of a page; NaN where a length is unknown."""

_check_unit_gains = make_gain_check(
    "'binary', 'graded', or a mapping of grades to gains from 0 to 1",
    *("binary", "graded"),
    is_valid=lambda pairs: all(0 <= gain <= 1 for _, gain in pairs),
)
"""Check of gains in [0, 1], which keep scores such as RBP in [0, 1]."""

_GRADED_KINDS = {"graded", "levels"}
"""Kinds of gains that are divided by the highest gain."""

_GRADE_DEPENDENT_KINDS = {*_GRADED_KINDS, "exponential", "linear"}
"""Kinds of gains that depend on the highest grade, in this class or in a subclass."""


class UnitGains(Measure):
    """Base class of measures with gains from 0 to 1, such as RBP."""

    rel: int = parameter(1, REL, REL_DOC + " (binary gains)")
    gains: Gain = parameter(
        Gain("binary"),
        _check_unit_gains,
        "'binary', 'graded', or a mapping of grades to gains in [0, 1]",
    )
    max_grade: int | str | None = MAX_GRADE_OR_TOPIC

    @property
    def is_linear(self) -> bool:
        return super().is_linear and not isinstance(self.max_grade, str)

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.gains.kind in _GRADE_DEPENDENT_KINDS

    def compute_document_gains(self, judged: JudgedRuns, rows: Rows) -> Floats:
        """Return the gain of each row, from 0 to 1."""
        max_gain: float | Floats = 1.0
        if self.gains.kind in _GRADED_KINDS:
            max_gain = find_highest_gain(judged, self._get_gain(), self.max_grade, rows, str(self))
        return np.asarray(self.to_unit_gains(rows.grade, max_gain), dtype=np.float64)

    def to_unit_gains(self, grades: NDArray[Any], max_gain: Any) -> Any:
        """Return gains from 0 to 1 by grade; graded gains are divided by `max_gain`."""
        if isinstance(self.gains.kind, tuple):
            return self.gains.look_up_gains(grades)
        if self.gains.kind in _GRADED_KINDS:
            return self._get_gain().compute_gains(grades) / max_gain
        return grades >= self.rel

    def compute_exact_gains(self, max_grade: int) -> NDArray[Any] | None:
        """Return the gains of grades 0 to `max_grade` as fractions, up to a common factor.

        Return None if the gain of a grade depends on the topic, or if there are too many grades.
        """
        is_by_topic = self.gains.kind == "graded" and isinstance(self.max_grade, str)
        if is_by_topic or self.gains.kind == "levels" or max_grade > MAX_COMPARED_GRADE:
            return None
        clone = copy(self)
        # Gains in fractions are not a valid value of the parameter.
        vars(clone)["gains"] = self.gains.as_fractions()
        return np.asarray(clone.to_unit_gains(list_grades(max_grade), Fraction(1)), dtype=object)

    def _get_gain(self) -> Gain:
        return self.gains if self.gains.kind == "levels" else LINEAR_GAIN

    def select_gaining_rows(self, judged: JudgedRuns) -> Rows:
        """Return the judged retrieved documents whose gain is not 0, with their gains."""
        # With a mapping, or gains of a subclass, any grade may have a gain.
        is_default = type(self).compute_document_gains is UnitGains.compute_document_gains
        is_increasing = is_default and self.gains.kind in {"binary", "graded"}
        min_grade = self.rel if self.gains.kind == "binary" else 1
        rows = judged.relevant(min_grade) if is_increasing else judged.judged()
        gains = self.compute_document_gains(judged, rows)
        return rows.with_gains(gains).where(gains != 0)


@dataclass(frozen=True)
class Expectations:
    """Expected gain, depth and cost of users for each ranking; arrays (topics, systems)."""

    total_utility: Floats  # ETU, the gain until the user stops
    depth: Floats  # number of ranks read
    total_cost: Floats  # ETC, the cost until the user stops

    @property
    def utility(self) -> Floats:
        """EU, the gain per rank read."""
        return self.total_utility / self.depth

    @property
    def cost(self) -> Floats:
        """EC, the cost per rank read."""
        return self.total_cost / self.depth


class UserModel(UnitGains, family="user models"):
    """Base class of user models, measures whose score is EU, the expected gain per rank read.

    To define a model, override `continuation` in a subclass. `ETU`, `EC`, `ETC`, `Depth` and
    `Residual` of a model are measures of its other expectations.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.measures import measure
    >>> from cranfield.measures.users.model import UserModel
    >>> @measure("Bored", family="user-defined")
    ... class Bored(UserModel):
    ...     def continuation(self, page):
    ...         return np.where(page.gains > 0, 0.9, 0.5)
    ...
    >>> Bored().read([1, 0, 1]).viewed.tolist()
    [[1.0, 0.9, 0.45]]
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 3, "x": 2, "b": 1}}
    >>> table = cf.evaluate(run, qrels, ["Bored", "ETU(Bored)", "Depth(Bored)", "Residual(Bored)"])
    >>> table.by_system().row(0)[1:]
    (0.458..., 1.45, 3.16, 0.541...)
    >>> del cf.measures.REGISTRY["Bored"]
    """

    reads_grades: ClassVar[bool] = False
    """Whether the model uses grades besides gains."""

    @property
    def reads_lengths(self) -> bool:
        """True if the model needs the lengths of documents."""
        return False

    @property
    def max_rank(self) -> int | None:
        """Maximum rank that is read; None for no limit."""
        return DEFAULT_MAX_RANK

    @property
    def last_rank(self) -> int | None:
        return self.limit_rank(self.cutoff)

    def continuation(self, page: Page) -> Floats:
        """Return C: the probability of reading the next rank, for each rank of each ranking."""
        raise NotImplementedError

    def compute_costs(self, page: Page) -> Floats:
        """Return the cost of reading each rank; 1 by default."""
        return np.ones(page.gains.shape)

    def find_max_gain(self, judged: JudgedRuns) -> float:
        """Return the highest possible gain of a document."""
        return 1.0

    def values(self, judged: JudgedRuns) -> Floats:
        return self.get_expectations(judged).utility

    def get_expectations(
        self, judged: JudgedRuns, *, depth: int | None = None, is_filled: bool = False
    ) -> Expectations:
        """Return the cached result of `compute_expected` for the costs of the model."""
        key = ("expectations", type(self), str(self), depth, is_filled)
        return judged.view(
            key, lambda: self.compute_expected(judged, depth=depth, is_filled=is_filled)
        )

    def read(
        self, gains: ArrayLike, *, lengths: ArrayLike | None = None, grades: ArrayLike | None = None
    ) -> UserBehaviour:
        """Return C, V, W, L and the expectations for rankings of gains.

        Parameters
        ----------
        gains
            Gains by rank, shape (ranks,) or (rankings, ranks).
        lengths
            Lengths of the documents, in the same shape, for models that need lengths.
        grades
            Grades of the documents, NaN for unjudged ones, for models that need grades.
        """
        page = make_page(gains, lengths, grades)
        for name, is_needed in (("grades", self.reads_grades), ("lengths", self.reads_lengths)):
            if is_needed and getattr(page, name) is None:
                raise MeasureError(f"{self} requires {name} of documents; pass {name}=...")
        costs = self.compute_costs(page)
        self._refuse_unknown_lengths(int(np.isnan(costs).sum()))
        return self._read_page(replace(page, costs=costs))

    def compute_expected(
        self,
        judged: JudgedRuns,
        *,
        depth: int | None = None,
        is_filled: bool = False,
        costs: Costs | None = None,
    ) -> Expectations:
        """Compute the expectations of users on runs that are already truncated and condensed.

        Parameters
        ----------
        depth
            Maximum rank that is read; the maximum of the model applies, too.
        is_filled
            Whether unjudged documents and ranks beyond the list have the highest gain; otherwise
            they have gain 0.
        costs
            Costs of ranks; by default those of the model.
        """
        if costs is None:
            totals = self.sum_exactly(judged, self.limit_rank(depth), is_filled=is_filled)
            if totals is not None:
                return totals
        pages = self.yield_pages(
            judged, self.limit_rank(depth) or DEFAULT_MAX_RANK, is_filled=is_filled, costs=costs
        )
        readings = map(self._read_page, pages)
        totals_by_page = (np.array([r.total_utility, r.depth, r.total_cost]) for r in readings)
        return Expectations(*join_pages(totals_by_page, judged.shape))

    def sum_exactly(
        self, judged: JudgedRuns, end: int | None, *, is_filled: bool
    ) -> Expectations | None:
        """Return the expectations down to rank `end` in closed form; None if there is none."""
        return None

    def select_special_rows(self, judged: JudgedRuns, *, is_filled: bool, end: int | None) -> Rows:
        """Return the judged documents down to rank `end` whose gain is not that of unjudged ranks.

        Unjudged ranks have the highest gain if `is_filled`, else gain 0.
        """
        if is_filled:
            rows = judged.judged()
            gains = self.compute_document_gains(judged, rows)
            rows = rows.with_gains(gains).where(gains != self.find_max_gain(judged))
        else:
            rows = self.select_gaining_rows(judged)
        return rows if end is None else rows.where(rows.rank <= end)

    def yield_pages(
        self, judged: JudgedRuns, depth: int, *, is_filled: bool = False, costs: Costs | None = None
    ) -> Iterator[Page]:
        """Yield judged runs as pages with costs; parameters as for `compute_expected`."""
        rows = judged.judged()
        needs_lengths = self.reads_lengths or costs is not None
        fill_grade = float(judged.judgments.max_grade) if is_filled else np.nan
        n_unknown = 0
        for page in iterate_pages(
            judged,
            rows,
            self.compute_document_gains(judged, rows),
            depth,
            fill_gain=self.find_max_gain(judged) if is_filled else 0.0,
            n_relevant=judged.recall_base(self.rel),
            lengths=judged.lengths(str(self)) if needs_lengths else None,
            fill_grade=fill_grade if self.reads_grades else None,
        ):
            page_costs = (costs or self.compute_costs)(page)
            n_unknown += int(np.isnan(page_costs).sum())
            # After an unknown length no page is yielded: unknown lengths are only counted.
            if not n_unknown:
                yield replace(page, costs=page_costs)
        self._refuse_unknown_lengths(n_unknown)

    def limit_rank(self, depth: int | None) -> int | None:
        """Return the smaller of `depth` and the maximum rank of the model; None means no limit."""
        return min((rank for rank in (depth, self.max_rank) if rank is not None), default=None)

    def _read_page(self, page: Page) -> UserBehaviour:
        continuation = np.asarray(self.continuation(page), dtype=np.float64)
        if continuation.shape != page.gains.shape:
            raise MeasureError(
                f"{self}: expected continuation probabilities of shape {page.gains.shape}, got"
                f" {continuation.shape}"
            )
        is_valid = (continuation >= 0) & (continuation <= 1)
        if not is_valid.all():
            raise MeasureError(
                f"{self}: continuation probabilities must be from 0 to 1, got"
                f" {continuation[~is_valid][0]:g}"
            )
        return UserBehaviour(page, continuation)

    def _refuse_unknown_lengths(self, n_unknown: int) -> None:
        if n_unknown:
            raise MeasureError(
                f"{self}: {inflect(n_unknown, 'retrieved document')} without a known length; pass"
                " their lengths, or set a length to assume, such as missing=100, in the measure"
            )


class StaticModel(UserModel):
    """Base class of models whose continuation depends on the rank only."""

    def views(self, rank: Any) -> Any:
        """Return V: the probability that a rank is read, 1 for the first."""
        raise NotImplementedError

    def compute_total_depth(self) -> Any:
        """Return the sum of V over the ranks of an infinite ranking."""
        raise NotImplementedError

    def compute_expected_depth(self, end: int | None) -> float:
        """Return the sum of V down to rank `end`, or over the ranks of an infinite ranking."""
        depth = self.compute_total_depth() if end is None else self.views(list_ranks(end)).sum()
        return float(depth)

    def continuation(self, page: Page) -> Floats:
        probabilities = divide_views(self.views, page.gains.shape[1])
        if self.max_rank is not None:
            probabilities[self.max_rank - 1 :] = 0.0
        return np.broadcast_to(probabilities, page.gains.shape)

    def sum_exactly(self, judged: JudgedRuns, end: int | None, *, is_filled: bool) -> Expectations:
        rows = self.select_special_rows(judged, is_filled=is_filled, end=end)
        views_total, views = self.compute_expected_depth(end), rows.map_ranks(self.views)
        if is_filled:
            max_gain = self.find_max_gain(judged)
            total = max_gain * views_total - rows.total((max_gain - rows.gains) * views)
        else:
            total = rows.total(rows.gains * views)
        depth = np.full(judged.shape, views_total)
        return Expectations(total, depth, depth)


class CutoffModel(StaticModel):
    """Base class of models of users who read down to the cutoff."""

    @property
    def max_rank(self) -> int | None:
        return self.cutoff


def list_ranks(end: int) -> Floats:
    """Return the ranks from 1 to `end`."""
    check_ranks(end, "a user model")
    return np.arange(1.0, end + 1)


def divide_views(views: Callable[[Any], Any], n_ranks: int) -> Floats:
    """Return the continuation C(r) = V(r + 1) / V(r) of each rank, from the function V."""
    v = np.asarray(views(list_ranks(n_ranks + 1)))
    return np.asarray(np.minimum(v[1:] / np.maximum(v[:-1], np.finfo(float).tiny), 1.0))
