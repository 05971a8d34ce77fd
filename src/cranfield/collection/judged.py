"""Judged runs: rankings turned into grades, the one thing that measures look at.

Nothing here is padded. Of a ranking only the documents with a judgment are kept, as rows of a flat
table in order of (system, topic, rank); of all others only their number matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.coverage import Coverage
from cranfield.collection.policies import Policies
from cranfield.collection.segments import Floats, Ints, places, scan
from cranfield.tabular import frame_html
from cranfield.text import counted


@dataclass(frozen=True, eq=False)
class Judgments:
    """What the judgments say of each topic, without document names.

    Attributes
    ----------
    topics
        Number of topics.
    topic, grade
        Topic and grade of each judgment, ordered by topic and falling grade.
    judged_from
        The lowest grade that counts as a judgment.
    max_grade
        The highest grade of all judgments, those of topics that do not count included.
    """

    topics: int
    topic: Ints
    grade: Ints
    judged_from: int
    max_grade: int = 0

    def count(self, low: int, high: int | None = None) -> Ints:
        """Judgments of each topic with low <= grade (< high); shape (topics, 1)."""
        chosen = self.grade >= max(low, self.judged_from)
        if high is not None:
            chosen &= self.grade < high
        return np.bincount(self.topic[chosen], minlength=self.topics)[:, None]

    def ideal(self, gains: Floats) -> Rows:
        """Rows of the ideal ranking: the judgments with a positive gain, best first.

        Parameters
        ----------
        gains
            Gain of each judgment; shape (judgments,).
        """
        order = np.lexsort((-gains, self.topic))
        order = order[gains[order] > 0]
        topic = self.topic[order]
        return Rows(topic, places(topic), self.grade[order], (self.topics, 1), gains[order])


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table of judged documents, in order of cell and rank.

    Attributes
    ----------
    cell
        The (system, topic) that each row belongs to, as one number.
    rank
        Rank of the document, from 1.
    grade
        Its grade.
    shape
        (topics, systems).
    gains
        Gain of each row, where rows were made from gains.
    """

    cell: Ints
    rank: Ints
    grade: Ints
    shape: tuple[int, int]
    gains: Floats = field(default_factory=lambda: np.empty(0))

    @cached_property
    def seen(self) -> Ints:
        """How many of these rows the cell has had so far, this one included."""
        return places(self.cell)

    @property
    def topic(self) -> Ints:
        """Topic of each row, as an index."""
        return self.cell % self.shape[0]

    @property
    def count(self) -> Ints:
        """Rows of each cell; shape (topics, systems)."""
        return self._table(np.bincount(self.cell, minlength=self.shape[0] * self.shape[1]))

    def total(self, values: NDArray[Any]) -> Floats:
        """Sum values over each cell's rows, in order of rank; shape (topics, systems)."""
        cells = self.shape[0] * self.shape[1]
        return self._table(np.bincount(self.cell, weights=values, minlength=cells)).astype(float)

    def running(self, values: NDArray[Any]) -> Floats:
        """For each row the sum of its cell's values so far, its own included."""
        return scan(values, self.seen, np.add)

    def counted(self, chosen: NDArray[np.bool_]) -> Ints:
        """For each row how many of its cell's rows so far, its own included, are chosen."""
        total = np.cumsum(chosen, dtype=np.int64)
        first = np.arange(total.size) - self.seen + 1
        out: Ints = total - (total[first] - chosen[first])
        return out

    def running_product(self, values: NDArray[Any]) -> Floats:
        """For each row the product of its cell's values so far, its own included."""
        return scan(values, self.seen, np.multiply)

    def largest(self, values: NDArray[Any]) -> Floats:
        """Largest value of each cell, 0 for a cell without rows; shape (topics, systems)."""
        best = np.zeros(self.shape[0] * self.shape[1])
        np.maximum.at(best, self.cell, values)
        return self._table(best)

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return the chosen rows."""
        gains = self.gains[chosen] if self.gains.size else self.gains
        return Rows(self.cell[chosen], self.rank[chosen], self.grade[chosen], self.shape, gains)

    def at(self, per_cell: NDArray[Any]) -> NDArray[Any]:
        """Look up, for each row, the value of its cell in a (topics, systems) or (topics, 1)."""
        full = np.broadcast_to(per_cell, self.shape)
        return full[self.topic, self.cell // self.shape[0]]

    def _table(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat.reshape(self.shape[1], self.shape[0]).T


@dataclass(frozen=True, eq=False)
class JudgedRuns:
    """Rankings of several systems as grades by rank; made by :func:`cranfield.judge`.

    Attributes
    ----------
    topics, systems
        Labels, in order.
    documents
        Every retrieved document that has an entry in the judgments.
    retrieved
        Documents that each system retrieved for each topic; shape (topics, systems).
    judgments
        The judgments of the topics: recall bases and ideal rankings.
    scored
        Which cells count under the topic policy; shape (topics, systems).
    policies
        How the rankings were judged.
    coverage
        What the runs and the judgments did not have in common.
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    documents: Rows
    retrieved: Ints
    judgments: Judgments
    scored: NDArray[np.bool_]
    policies: Policies
    coverage: Coverage
    _views: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """(topics, systems)."""
        return len(self.topics), len(self.systems)

    def top(self, cutoff: int) -> JudgedRuns:
        """Return the same runs cut off after rank `cutoff`."""
        view = self._views.get(cutoff)
        if view is None:
            view = replace(
                self,
                documents=self.documents.where(self.documents.rank <= cutoff),
                retrieved=np.minimum(self.retrieved, cutoff),
                _views={},
            )
            self._views[cutoff] = view
        return view

    def condensed(self) -> JudgedRuns:
        """Return the same runs without unjudged documents (Sakai 2013, section 2.2)."""
        view = self._views.get("condensed")
        if view is None:
            judged = self.judged()
            documents = Rows(judged.cell, judged.seen, judged.grade, judged.shape)
            view = replace(self, documents=documents, retrieved=documents.count, _views={})
            view._views["condensed"] = view
            self._views["condensed"] = view
        return view

    def judged(self) -> Rows:
        """Retrieved documents that are judged, under the policy for negative grades."""
        low = self.judgments.judged_from
        return self._rows("judged", self.documents.grade >= low)

    def relevant(self, rel: int = 1) -> Rows:
        """Retrieved documents with grade >= rel; `seen` counts the relevant ones so far."""
        low = max(rel, self.judgments.judged_from)
        return self._rows(("relevant", low), self.documents.grade >= low)

    def _rows(self, key: Any, chosen: NDArray[np.bool_]) -> Rows:
        rows = self._views.get(key)
        if rows is None:
            rows = self._views[key] = self.documents.where(chosen)
        return rows

    def binary(self, rel: int = 1) -> JudgedRuns:
        """Return the same runs with grade 1 in place of all from `rel` on, and 0 below."""
        low = self.judgments.judged_from

        def flat(grades: Ints) -> Ints:
            return np.where(grades >= max(rel, low), 1, np.where(grades >= low, 0, grades))

        judgments = replace(
            self.judgments,
            grade=flat(self.judgments.grade),
            max_grade=min(1, self.judgments.max_grade),
        )
        documents = replace(self.documents, grade=flat(self.documents.grade))
        return replace(self, documents=documents, judgments=judgments, _views={})

    def recall_base(self, rel: int = 1) -> Ints:
        """RB: judged documents of each topic with grade >= rel; shape (topics, 1)."""
        return self.judgments.count(rel)

    def nonrelevant_base(self, rel: int = 1) -> Ints:
        """Judged documents of each topic with grade < rel; shape (topics, 1)."""
        return self.judgments.count(self.judgments.judged_from, rel)

    def _repr_html_(self) -> str:
        return frame_html(self.coverage.to_polars(), repr(self))

    def __repr__(self) -> str:
        topics, systems = self.shape
        size = f"{counted(topics, 'topic')}, {counted(systems, 'system')}"
        return f"JudgedRuns({size}, {self.documents.cell.size:,} judged rows)"
