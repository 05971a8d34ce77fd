r"""User models, defined by their continuation from rank to rank.

A model defines the continuation C of a page of rankings. Expectations of users follow from it
(Moffat, Bailey, Scholer and Thomas 2017; Azzopardi, Thomas and Moffat 2019):

.. math:: EU = \sum_i W(i) g(i), \quad ETU = \sum_i L(i) \sum_{j \le i} g(j) = \sum_i V(i) g(i),
    \quad EC = \sum_i W(i) c(i), \quad ETC = \sum_i V(i) c(i), \quad \sum_i V(i) = \frac{1}{W(1)}

A model whose sums have a closed form needs no page, and its users may never stop.
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
from cranfield.base.text import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import Measure, check_ranks
from cranfield.measures.gains import (
    LINEAR,
    MAX_COMPARED_GRADE,
    SCALE_END,
    Gain,
    gain_check,
    grades_up_to,
    top_gain,
)
from cranfield.measures.ranked.precision import REL, REL_DOC
from cranfield.measures.users.page import Page, Reading, page_of, pages

_unit_gains = gain_check(
    "'binary', 'graded', or a mapping of grades to gains from 0 to 1",
    *("binary", "graded"),
    fits=lambda gains: all(0 <= worth <= 1 for _, worth in gains),
)
"""Check of gains in [0, 1], which keep scores such as RBP in [0, 1]."""

_WORDS_OF_GRADES = {"graded", "levels", "exponential", "linear"}
"""Gains that are a proportion of the highest one."""


class UnitGains(Measure):
    """Base class of measures with gains from 0 to 1, such as RBP."""

    rel: int = parameter(1, REL, REL_DOC + " (binary gains)")
    gains: Gain = parameter(
        Gain("binary"), _unit_gains, "'binary', 'graded', or a mapping of grades to gains in [0, 1]"
    )
    max_grade: int | str | None = SCALE_END

    @property
    def linear(self) -> bool:
        return super().linear and not isinstance(self.max_grade, str)

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade and self.gains.kind in _WORDS_OF_GRADES

    def worth(self, judged: JudgedRuns, rows: Rows) -> Floats:
        top: float | Floats = 1.0
        if self.gains.kind in {"graded", "levels"}:
            top = top_gain(judged, self._scale(), self.max_grade, rows, str(self))
        return np.asarray(self.unit_gain(rows.grade, top), dtype=np.float64)

    def unit_gain(self, grades: NDArray[Any], top: Any) -> Any:
        """Return the gain of grades; `top` is the highest grade of the scale, for graded gains."""
        if isinstance(self.gains.kind, tuple):
            return self.gains.from_mapping(grades)
        is_graded = self.gains.kind in {"graded", "levels"}
        return self._scale().for_grades(grades) / top if is_graded else grades >= self.rel

    def exact_gains(self, highest: int) -> NDArray[Any] | None:
        """Return the gains of grades 0 to `highest` as fractions, up to a common factor.

        None if they depend on the topic, or on more than the grades.
        """
        by_topic = self.gains.kind == "graded" and isinstance(self.max_grade, str)
        if by_topic or self.gains.kind == "levels" or highest > MAX_COMPARED_GRADE:
            return None
        exact = copy(self)
        vars(exact)["gains"] = self.gains.as_fractions()
        return np.asarray(exact.unit_gain(grades_up_to(highest), Fraction(1)), dtype=object)

    def _scale(self) -> Gain:
        return self.gains if self.gains.kind == "levels" else LINEAR

    def gaining_rows(self, judged: JudgedRuns) -> Rows:
        """Return the judged retrieved documents whose gain is not 0, with their gains."""
        # With a mapping, or a model with other gains, any grade may have a gain.
        is_plain = self.gains.kind in {"binary", "graded"} and type(self).worth is UnitGains.worth
        low = self.rel if self.gains.kind == "binary" else 1
        rows = judged.relevant(low) if is_plain else judged.judged()
        worth = self.worth(judged, rows)
        if worth.all():
            return rows.with_gains(worth)
        return replace(rows, gains=worth).where(worth != 0)


LAST = 1000
"""The last rank that is read, for models without a closed form; as in cwl_eval."""

Costs = Callable[[Page], Floats]
"""Function that returns the cost of each rank of a page; NaN for an unknown length."""


@dataclass(frozen=True)
class Expected:
    """Expectations of users for each ranking; arrays of shape (topics, systems)."""

    total: Floats  # ETU, the gain until the user stops
    depth: Floats  # ranks read until then
    total_cost: Floats  # ETC, the cost until the user stops

    @property
    def utility(self) -> Floats:
        """EU, the gain per rank read."""
        return self.total / self.depth

    @property
    def cost(self) -> Floats:
        """EC, the cost per rank read."""
        return self.total_cost / self.depth


class UserModel(UnitGains, family="user models"):
    """A measure by a user model: EU, the expected gain per rank read.

    Your own model is a subclass with one method. `EU`, `ETU`, `EC`, `ETC`, `Depth` and `Residual`
    are measures of its other expectations.

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
    >>> del cf.measures.REGISTRY["Bored"]  # the name is free again
    """

    reads_grades: ClassVar[bool] = False
    """Whether the model uses grades besides gains."""

    @property
    def reads_lengths(self) -> bool:
        """True if the model needs the lengths of documents."""
        return False

    @property
    def last(self) -> int | None:
        """The last rank that is read; None without a limit."""
        return LAST

    @property
    def deepest(self) -> int | None:
        return self.ranks(self.cutoff)

    def continuation(self, page: Page) -> Floats:
        """Return C: the probability of going on from each rank of each ranking, from 0 to 1."""
        raise NotImplementedError

    def costs(self, page: Page) -> Floats:
        """Return the cost of reading each rank; 1 by default."""
        return np.ones(page.gains.shape)

    def max_gain(self, judged: JudgedRuns) -> float:
        """Return the highest possible gain of a document."""
        return 1.0

    def values(self, judged: JudgedRuns) -> Floats:
        return self.expectations(judged).utility

    def expectations(
        self, judged: JudgedRuns, *, depth: int | None = None, best: bool = False
    ) -> Expected:
        """Return the expectations of users on judged runs, cached; parameters as for `expected`."""
        key = ("expected", type(self), str(self), depth, best)
        return judged.view(key, lambda: self.expected(judged, depth=depth, best=best))

    def read(
        self,
        gains: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        grades: ArrayLike | None = None,
    ) -> Reading:
        """Return C, V, W, L and the expectations of users for rankings of gains.

        Parameters
        ----------
        gains
            Gains by rank, shape (ranks,) or (rankings, ranks).
        lengths
            Lengths of the documents, in the same shape, for models that need them.
        grades
            Their grades, NaN where there is no judgment, for models that need them.
        """
        page = page_of(gains, lengths, grades)
        for name, is_needed in (("grades", self.reads_grades), ("lengths", self.reads_lengths)):
            if is_needed and getattr(page, name) is None:
                raise MeasureError(f"{self} needs the {name} of documents, got none; pass {name}=")
        costs = self.costs(page)
        self._refuse(int(np.isnan(costs).sum()))
        return self._read(replace(page, costs=costs))

    def expected(
        self,
        judged: JudgedRuns,
        *,
        depth: int | None = None,
        best: bool = False,
        costs: Costs | None = None,
    ) -> Expected:
        """Return the expectations of users on judged runs that are cut off and condensed.

        Parameters
        ----------
        depth
            The last rank that is read; by default the model's own.
        best
            Whether documents without a judgment, and all beyond the list, have the highest gain;
            else none.
        costs
            Costs of ranks; by default those of the model.
        """
        if costs is None:
            totals = self.closed_form(judged, self.ranks(depth), best=best)
            if totals is not None:
                return totals
        page_blocks = self.lay_out(judged, self.ranks(depth) or LAST, best=best, costs=costs)
        readings = (self._read(page) for page in page_blocks)
        parts = [(reading.total, reading.depth, reading.total_cost) for reading in readings]
        flat = np.concatenate([*parts, np.empty((3, 0))], axis=1)
        return Expected(*flat.reshape(3, *judged.shape[::-1]).transpose(0, 2, 1))

    def closed_form(self, judged: JudgedRuns, end: int | None, *, best: bool) -> Expected | None:
        """Return the expectations in closed form, down to rank `end`; None if there is none."""
        return None

    def distinct_rows(self, judged: JudgedRuns, *, best: bool, end: int | None) -> Rows:
        """Return judged documents up to rank `end` whose gain differs from unjudged ranks.

        Unjudged ranks have the highest gain if `best`, else none.
        """
        if best:
            rows = judged.judged()
            worth = self.worth(judged, rows)
            rows = rows.with_gains(worth).where(worth != self.max_gain(judged))
        else:
            rows = self.gaining_rows(judged)
        return rows if end is None else rows.where(rows.rank <= end)

    def lay_out(
        self, judged: JudgedRuns, depth: int, *, best: bool = False, costs: Costs | None = None
    ) -> Iterator[Page]:
        """Lay judged runs out in pages, with their costs; parameters as for `expected`."""
        rows = judged.judged()
        needs_lengths = self.reads_lengths or costs is not None
        grade = float(judged.judgments.max_grade) if best else np.nan
        n_unknown = 0
        for page in pages(
            judged,
            rows,
            self.worth(judged, rows),
            depth,
            fill_value=self.max_gain(judged) if best else 0.0,
            relevant=judged.recall_base(self.rel),
            lengths=judged.lengths(str(self)) if needs_lengths else None,
            grade=grade if self.reads_grades else None,
        ):
            page_costs = (costs or self.costs)(page)
            n_unknown += int(np.isnan(page_costs).sum())
            # Unknown lengths of all pages are counted before the error.
            if not n_unknown:
                yield replace(page, costs=page_costs)
        self._refuse(n_unknown)

    def ranks(self, depth: int | None) -> int | None:
        """Return the last rank that is read, given a requested `depth`."""
        return min((rank for rank in (depth, self.last) if rank is not None), default=None)

    def _read(self, page: Page) -> Reading:
        chances = np.asarray(self.continuation(page), dtype=np.float64)
        if chances.shape != page.gains.shape:
            raise MeasureError(
                f"{self}: expected a continuation of shape {page.gains.shape}, got {chances.shape}"
            )
        if not ((chances >= 0) & (chances <= 1)).all():
            raise MeasureError(f"{self}: values of the continuation must be from 0 to 1")
        return Reading(page, chances)

    def _refuse(self, n_unknown: int) -> None:
        if n_unknown:
            raise MeasureError(
                f"{self}: {counted(n_unknown, 'retrieved document')} without a known"
                " length; pass missing=, a length to assume for them"
            )


class StaticModel(UserModel):
    """Base class of models whose continuation depends on the rank only."""

    def views(self, rank: Any) -> Any:
        """Return V: the probability that a rank is read, 1 for the first."""
        raise NotImplementedError

    def total_depth(self) -> Any:
        """Return the sum of V over all ranks of an endless ranking."""
        raise NotImplementedError

    def depth_to(self, ranks: int | None) -> float:
        return self.total_depth() if ranks is None else float(self.views(rank_range(ranks)).sum())

    def continuation(self, page: Page) -> Floats:
        chance = continuations(self.views, page.gains.shape[1])
        if self.last is not None:
            chance[self.last - 1 :] = 0.0
        return np.broadcast_to(chance, page.gains.shape)

    def closed_form(self, judged: JudgedRuns, end: int | None, *, best: bool) -> Expected:
        rows = self.distinct_rows(judged, best=best, end=end)
        n_read, views = self.depth_to(end), rows.by_rank(self.views)
        if best:
            highest = self.max_gain(judged)
            total = highest * n_read - rows.total((highest - rows.gains) * views)
        else:
            total = rows.total(rows.gains * views)
        depth = np.full(judged.shape, n_read)
        return Expected(total, depth, depth)


def rank_range(ranks: int) -> Floats:
    check_ranks(ranks, "a user model")
    return np.arange(1.0, ranks + 1)


def continuations(views: Callable[[Any], Any], ranks: int) -> Floats:
    """Return C from V: the probability of reading the next rank given that this one is read."""
    p = np.asarray(views(rank_range(ranks + 1)))
    chance: Floats = np.minimum(p[1:] / np.maximum(p[:-1], np.finfo(float).tiny), 1.0)
    return chance
