"""Judged runs: rankings turned into grades, the one thing that measures look at.

Nothing here is padded. Of a ranking only the documents with a judgment are kept, as rows of a flat
table in order of (system, topic, rank); of all others only their number matters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.checks import check_whole
from cranfield.base.errors import MeasureError, quoted, warn
from cranfield.base.words import counted, some_of
from cranfield.collection.judged.coverage import Coverage
from cranfield.collection.judged.judgments import Clicks, Groups, Judgments
from cranfield.collection.judged.policies import Policies
from cranfield.collection.judged.rows import NO_TIES, Rows, condensed_ties
from cranfield.collection.judged.scorable import Scorable, Scorer
from cranfield.tabular import frame_html

if TYPE_CHECKING:
    from cranfield.collection.intents.judged_intents import Intents

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Annotations:
    """What was given to :func:`cranfield.judge` besides judgments; None where nothing was.

    Attributes
    ----------
    lengths
        A row for each retrieved document with a known length, judged or not; `gains` is the length.
    groups
        Groups of documents.
    intents
        Grades by intent, where judgments have subtopics.
    aspects
        The same runs judged on other aspects than relevance, by name.
    queries
        Where rankings are sessions of several queries: a row for each retrieved document, judged or
        not; `grade` is the number of the query that it answers, from 1, rising with the rank.
    clicks
        The clicks of these sessions; they are of no ranking, and stay as they are in every view.
    settings
        How these sessions became rankings, or how runs were read that are not as usual, by name.
    """

    lengths: Rows | None = None
    groups: Groups | None = None
    intents: Intents | None = None
    aspects: Mapping[str, JudgedRuns] = field(default_factory=dict)
    queries: Rows | None = None
    clicks: Clicks | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def top(self, cutoff: int) -> Annotations:
        """Keep what belongs to the ranks up to a cutoff."""
        return replace(
            self,
            lengths=self.lengths and self.lengths.where(self.lengths.rank <= cutoff),
            groups=self.groups
            and replace(self.groups, rows=self.groups.rows.where(self.groups.rows.rank <= cutoff)),
            aspects={name: one.top(cutoff) for name, one in self.aspects.items()},
            queries=self.queries and self.queries.where(self.queries.rank <= cutoff),
        )

    def condensed(self, judged: Rows) -> Annotations:
        """Keep what belongs to judged documents, at the ranks that they move up to."""
        return replace(
            self,
            lengths=self.lengths and _moved(self.lengths, judged),
            groups=self.groups and replace(self.groups, rows=_moved(self.groups.rows, judged)),
            aspects={name: one.condensed() for name, one in self.aspects.items()},
            queries=self.queries and _moved(self.queries, judged),
        )


def judging_settings(policies: Policies, measure: Scorer, max_grade: int) -> dict[str, Any]:
    """Return the policies, and the scale of grades of a measure that depends on it."""
    settings = policies.describe()
    if getattr(measure, "uses_highest_grade", False) and policies.max_grade is None:
        settings["grades"] = f"0 to {max_grade} (the highest that occurs)"
    return settings


@dataclass(frozen=True, eq=False)
class JudgedRuns(Scorable):
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
    annotations
        What else is known of topics and documents.
    ties
        Judged documents in groups of tied documents of several grades, as rows of cell, rank,
        grade, first rank of the group, and its size.
    views
        The same runs seen in other ways, kept so that each is made once.
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    documents: Rows
    retrieved: Ints
    judgments: Judgments
    scored: NDArray[np.bool_]
    policies: Policies
    coverage: Coverage
    annotations: Annotations = field(default_factory=Annotations)
    ties: Ints = field(default_factory=NO_TIES.copy, repr=False)
    views: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def unit(self) -> str:
        """What a topic is here, in a word."""
        return "topic" if self.annotations.clicks is None else "session"

    @property
    def max_grade(self) -> int:
        """The highest grade of all judgments."""
        return self.judgments.max_grade

    def scores_by(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by each measure; NaN where the topic policy says 'no score'."""
        intents = self.annotations.intents
        if intents is not None and intents.differing:
            infos = {str(one): getattr(one, "info", None) for one in measures}
            flat = [name for name, info in infos.items() if info and "intents" not in info.inputs]
            if flat:
                documents = counted(intents.differing, "document")
                warn(
                    f"{documents} with different grades by subtopic: {some_of(flat, 3)} by the"
                    " highest of them",
                    stacklevel=4,
                )
        return [np.where(self.scored, one.score(self), np.nan) for one in measures]

    def settings_for(self, measure: Scorer) -> dict[str, Any]:
        """Return the policies, how sessions became rankings, and the scale of grades."""
        settings = judging_settings(self.policies, measure, self.max_grade)
        return settings | dict(self.annotations.settings)

    def read_as(self, settings: Mapping[str, Any]) -> JudgedRuns:
        """Return the same runs with how they were read, for the record."""
        if not settings:
            return self
        skipped = tuple(settings.get("skipped runs", ()))
        return replace(
            self,
            coverage=replace(self.coverage, skipped=skipped),
            annotations=replace(
                self.annotations, settings={**self.annotations.settings, **settings}
            ),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(topics, systems)."""
        return len(self.topics), len(self.systems)

    def view(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what is kept under a key; where nothing is, make it."""
        kept: Made | None = self.views.get(key)
        if kept is None:
            kept = self.views[key] = make()
        return kept

    def top(self, cutoff: int) -> JudgedRuns:
        """Return the same runs cut off after rank `cutoff`."""
        return self.view(
            cutoff,
            lambda: replace(
                self,
                documents=self.documents.where(self.documents.rank <= cutoff),
                retrieved=np.minimum(self.retrieved, cutoff),
                annotations=self.annotations.top(cutoff),
                views={},
            ),
        )

    def condensed(self) -> JudgedRuns:
        """Return the same runs without unjudged documents (Sakai 2013, section 2.2)."""
        view = self.views.get("condensed")
        if view is None:
            judged = self.judged()
            documents = Rows(
                judged.cell, judged.seen, judged.grade, judged.shape, source=(judged, None)
            )
            view = replace(
                self,
                documents=documents,
                retrieved=documents.count,
                annotations=self.annotations.condensed(judged),
                ties=condensed_ties(self.ties, judged),
                views={},
            )
            view.views["condensed"] = view
            self.views["condensed"] = view
        return view

    def judged(self) -> Rows:
        """Retrieved documents that are judged, under the policy for negative grades."""
        return self._from("judged", self.judgments.judged_from)

    def relevant(self, rel: int = 1) -> Rows:
        """Retrieved documents with grade >= rel; `seen` counts the relevant ones so far."""
        low = max(rel, self.judgments.judged_from)
        return self._from(("relevant", low), low)

    def _from(self, key: Any, low: int) -> Rows:
        return self.view(key, lambda: self.documents.where(self.documents.grade >= low))

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
        return replace(self, documents=documents, judgments=judgments, views={})

    def intents(self, name: str, rel: int = 1) -> Intents:
        """Return the grades by intent; `name` is the measure that needs them.

        Intents without a document of grade >= rel are left out.
        """
        intents = self.annotations.intents
        if intents is None:
            raise MeasureError(
                f"{name} needs judgments by subtopic, and the judgments have none;"
                " subtopics=True reads the iteration column of judgments as the subtopic"
            )
        return self.view(("intents", rel), lambda: intents.relevant(rel, self.judgments.topic))

    def lengths(self, name: str) -> Rows:
        """Return the lengths of retrieved documents; `name` is the measure that needs them."""
        if self.annotations.lengths is None:
            raise MeasureError(
                f"{name} needs the lengths of documents, and none are given: lengths=..."
            )
        return self.annotations.lengths

    def groups(self, name: str) -> Groups:
        """Return the groups of documents; `name` is the measure that needs them."""
        if self.annotations.groups is None:
            raise MeasureError(f"{name} needs groups of documents, and none are given: groups=...")
        return self.annotations.groups

    def queries(self, name: str) -> Rows:
        """Return the query of each retrieved document; `name` is the measure that needs it."""
        if self.annotations.queries is None:
            raise MeasureError(f"{name} needs sessions of queries, and these runs are none")
        return self.annotations.queries

    def clicks(self, name: str) -> Clicks:
        """Return the clicks of sessions; `name` is the measure that needs them."""
        if self.annotations.clicks is None:
            raise MeasureError(f"{name} reads clicks: it is computed by evaluate_sessions")
        return self.annotations.clicks

    def aspect(self, aspect: str, name: str) -> JudgedRuns:
        """Return the same runs judged on another aspect; `name` is the measure that needs it."""
        if aspect not in self.annotations.aspects:
            have = ", ".join(quoted(one) for one in self.annotations.aspects) or "none"
            raise MeasureError(
                f"{name} needs judgments on the aspect {quoted(aspect)}; those given: {have}"
            )
        return self.annotations.aspects[aspect]

    def column(self, column: str, name: str) -> NDArray[Any]:
        """Return a column of the judgments; `name` is the measure that needs it."""
        if column not in self.judgments.columns:
            have = ", ".join(self.judgments.columns) or "none"
            raise MeasureError(
                f"{name} needs a column {quoted(column)} of the judgments; those given: {have}"
            )
        return self.judgments.columns[column]

    def recall_base(self, rel: int = 1) -> Ints:
        """RB: judged documents of each topic with grade >= rel; shape (topics, 1)."""
        check_whole("rel", rel, 0)
        return self.judgments.count(rel)

    def nonrelevant_base(self, rel: int = 1) -> Ints:
        """Judged documents of each topic with grade < rel; shape (topics, 1)."""
        check_whole("rel", rel, 0)
        return self.judgments.count(self.judgments.judged_from, rel)

    def _repr_html_(self) -> str:
        return frame_html(self.coverage.to_polars(), repr(self))

    def __repr__(self) -> str:
        topics, systems = self.shape
        size = f"{counted(topics, 'topic')}, {counted(systems, 'system')}"
        return f"JudgedRuns({size}, {self.documents.cell.size:,} judged rows)"


def _moved(rows: Rows, judged: Rows) -> Rows:
    """Take over the ranks that documents have among the judged ones."""
    # Ranks stay far below 2^31, so that a cell and a rank fit into one number.
    wanted, given = (one.cell << 32 | one.rank for one in (rows, judged))
    at = np.searchsorted(given, wanted)
    kept = given[np.minimum(at, max(given.size - 1, 0))] == wanted if given.size else at < 0
    moved = judged.seen[at[kept]]
    gains = rows.gains[kept] if rows.gains.size else rows.gains
    return Rows(rows.cell[kept], moved, rows.grade[kept], rows.shape, gains)
