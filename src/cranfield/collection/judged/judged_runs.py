"""Judged runs: rankings as grades, which measures score.

The judged documents of all rankings are rows of one table in order of (system, topic, rank),
without padding; unjudged documents are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, check_integer, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.intents import Intents
from cranfield.collection.judged.coverage import Coverage, Scorable, Scorer
from cranfield.collection.judged.rows import (
    NO_TIE_GROUPS,
    NO_TIES,
    Clicks,
    Groups,
    Judgments,
    Rows,
    condense_tie_groups,
    condense_ties,
    find_positions,
    join_ranges,
    make_read_only,
    number_rows,
    permute_ties,
)
from cranfield.collection.policies import Policies
from cranfield.tabular import render_frame

View = TypeVar("View")


_NEEDS_SESSIONS = "requires sessions; use evaluate_sessions, or `cranfield sessions`"


@dataclass(frozen=True, eq=False)
class SideData:
    """Data on documents and topics besides judgments; None or empty if absent.

    Attributes
    ----------
    lengths
        A row for each retrieved document with a known length, judged or not; `gains` is the length.
    groups
        Groups of the retrieved and of the judged documents.
    intents
        Grades by intent, for judgments with subtopics.
    aspects
        The runs judged on aspects other than relevance, by name of the aspect.
    queries
        For rankings that are sessions of several queries: a row for each retrieved document, judged
        or not; `grade` is the number of the query that retrieved the document, from 1, and `gains`
        the rank in the list of this query.
    n_queries
        Number of queries of these sessions, with or without results; shape (topics, systems).
    clicks
        Clicks of these sessions; all views share them, as clicks do not depend on the rankings.
    settings
        Settings of the conversion of sessions to rankings, or of reading runs, by name.
    """

    lengths: Rows | None = None
    groups: Groups | None = None
    intents: Intents | None = None
    aspects: Mapping[str, JudgedRuns] = field(default_factory=dict)
    queries: Rows | None = None
    n_queries: Ints | None = None
    clicks: Clicks | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def top(self, cutoff: int) -> SideData:
        """Return the side data of documents up to rank `cutoff`."""
        return self._map(
            lambda rows: rows.where(rows.rank <= cutoff), lambda runs: runs.top(cutoff)
        )

    def condense(self, judged: Rows) -> SideData:
        """Return the side data of judged documents, at their ranks in condensed lists."""
        return self._map(lambda rows: _move_to_judged_ranks(rows, judged), JudgedRuns.condense)

    def permute_ties(self, groups: Ints, shift: Callable[[Ints, Ints], Ints]) -> SideData:
        """Return the side data with tied documents in another order."""
        return self._map(
            lambda rows: permute_ties(rows, groups, shift), lambda runs: runs.permute_ties(shift)
        )

    def _map(
        self, map_rows: Callable[[Rows], Rows], map_runs: Callable[[JudgedRuns], JudgedRuns]
    ) -> SideData:
        groups = self.groups
        return replace(
            self,
            lengths=self.lengths and map_rows(self.lengths),
            groups=groups and replace(groups, rows=map_rows(groups.rows)),
            aspects={name: map_runs(runs) for name, runs in self.aspects.items()},
            queries=self.queries and map_rows(self.queries),
        )


def describe_judging(policies: Policies, measure: Scorer, max_grade: int) -> dict[str, Any]:
    """Return the policies, and the scale of grades if the measure depends on it."""
    settings = policies.describe()
    if getattr(measure, "uses_highest_grade", False) and policies.max_grade is None:
        settings["grades"] = f"0 to {max_grade} (the highest that occurs)"
    return settings


@dataclass(frozen=True, eq=False)
class JudgedRuns(Scorable):
    """Rankings of several systems, as grades by rank; returned by :func:`cranfield.judge`.

    Attributes
    ----------
    topics, systems
        Labels, in order.
    documents
        The retrieved documents that occur in the judgments.
    n_retrieved
        Number of documents that each system retrieved for each topic; shape (topics, systems).
    judgments
        The judgments, for recall bases and ideal rankings.
    is_scored
        Mask of the cells that are scored under the topic policy; shape (topics, systems).
    policies
        Policies of judging.
    coverage
        Differences between the topics and documents of runs and of judgments.
    side_data
        Other data on topics and documents.
    ties
        Judged documents that are tied with unjudged documents or documents of another grade: an
        array whose rows are cell, rank, grade, first rank of the group of ties, and its size.
    tie_groups
        All groups of ties: an array whose rows are cell, first rank and size of each group.
    views
        Cache of data derived from the judged runs, by key.
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    documents: Rows
    n_retrieved: Ints
    judgments: Judgments
    is_scored: NDArray[np.bool_]
    policies: Policies
    coverage: Coverage
    side_data: SideData = field(default_factory=SideData)
    ties: Ints = field(default_factory=NO_TIES.copy, repr=False)
    tie_groups: Ints = field(default_factory=NO_TIE_GROUPS.copy, repr=False)
    views: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for array in (self.n_retrieved, self.is_scored):
            make_read_only(array)

    @property
    def unit(self) -> str:
        """Noun for a topic in messages: topic or session."""
        return "topic" if self.side_data.clicks is None else "session"

    @property
    def max_grade(self) -> int:
        """The highest grade of the scale: by default, that of all judgments."""
        return self.judgments.max_grade

    def compute_scores(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by each measure; NaN for cells that the topic policy excludes."""
        intents = self.side_data.intents
        if intents is not None and intents.n_differing:
            infos = {str(measure): getattr(measure, "info", None) for measure in measures}
            affected = [name for name, i in infos.items() if i and "intents" not in i.inputs]
            if affected:
                documents = inflect(intents.n_differing, "document")
                warn(
                    f"the grades of {documents} differ by subtopic; the highest grade is used"
                    f" for {list_some(affected, 3)}"
                )
        return [np.where(self.is_scored, measure.score(self), np.nan) for measure in measures]

    def describe_settings(self, measure: Scorer) -> dict[str, Any]:
        """Return the policies, the scale of grades, and the settings of reading."""
        settings = describe_judging(self.policies, measure, self.max_grade)
        return settings | dict(self.side_data.settings)

    def with_settings(self, settings: Mapping[str, Any]) -> JudgedRuns:
        """Return the judged runs with further settings of reading in `side_data`."""
        if not settings:
            return self
        coverage = replace(self.coverage, skipped=tuple(settings.get("skipped runs", ())))
        settings = {**self.side_data.settings, **settings}
        side_data = replace(self.side_data, settings=settings)
        return replace(self, coverage=coverage, side_data=side_data)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of topics, and number of systems."""
        return len(self.topics), len(self.systems)

    def view(self, key: Hashable, make: Callable[[], View]) -> View:
        """Return the cached view for a key; if there is none, make and cache it."""
        cached: View | None = self.views.get(key)
        if cached is None:
            cached = self.views[key] = make()
        return cached

    def top(self, cutoff: int) -> JudgedRuns:
        """Return the runs cut off after rank `cutoff`."""
        return self.view(
            cutoff,
            lambda: replace(
                self,
                documents=self.documents.where(self.documents.rank <= cutoff),
                n_retrieved=np.minimum(self.n_retrieved, cutoff),
                side_data=self.side_data.top(cutoff),
                views={},
            ),
        )

    def condense(self) -> JudgedRuns:
        """Return the runs without unjudged documents (Sakai 2013, section 2.2)."""
        return self.view("condensed", self._make_condensed)

    def _make_condensed(self) -> JudgedRuns:
        judged = self.judged()
        rows = replace(judged, rank=judged.row_numbers, gains=np.empty(0), source=(judged, None))
        view = replace(
            self,
            documents=rows,
            n_retrieved=rows.n_rows,
            side_data=self.side_data.condense(judged),
            ties=condense_ties(self.ties, judged),
            tie_groups=condense_tie_groups(self.tie_groups, judged),
            views={},
        )
        view.views["condensed"] = view
        return view

    def permute_ties(self, shift: Callable[[Ints, Ints], Ints]) -> JudgedRuns:
        """Return the runs with tied documents in another order; see :func:`permute_ties`."""
        groups = self.tie_groups
        return replace(
            self,
            documents=permute_ties(self.documents, groups, shift),
            side_data=self.side_data.permute_ties(groups, shift),
            views={},
        )

    def judged(self) -> Rows:
        """Return the retrieved documents that count as judged by the policy for negative grades."""
        return self._select_rows("judged", self.judgments.judged_from)

    def relevant(self, rel: int = 1) -> Rows:
        """Return the retrieved documents with grade >= rel; `row_numbers` counts them by rank."""
        low = max(rel, self.judgments.judged_from)
        return self._select_rows(("relevant", low), low)

    def _select_rows(self, key: Any, low: int) -> Rows:
        return self.view(key, lambda: self.documents.where(self.documents.grade >= low))

    def binarise(self, rel: int = 1) -> JudgedRuns:
        """Return the runs with binary grades: 1 for grades >= rel, 0 for other judged grades."""
        check_integer("rel", rel, 0)
        low = self.judgments.judged_from

        def make_binary(grades: Ints) -> Ints:
            return np.where(grades >= max(rel, low), 1, np.where(grades >= low, 0, grades))

        judgments = replace(
            self.judgments,
            grade=make_binary(self.judgments.grade),
            max_grade=min(1, self.judgments.max_grade),
        )
        documents = replace(self.documents, grade=make_binary(self.documents.grade))
        return replace(self, documents=documents, judgments=judgments, views={})

    def grades_by_rank(self, length: int, rel: int | None = None) -> Ints:
        """Return the grades at the first ranks; shape (topics, systems, length).

        Ranks without a judged document, and grades below 0, have 0. With `rel`, grades >= rel are 1
        and others 0.
        """
        topics, systems = self.shape
        judged = self.judged()
        rows = judged.where(judged.rank <= length)
        grade = np.maximum(rows.grade, 0) if rel is None else rows.grade >= rel
        out = np.zeros((topics, systems, length), dtype=np.int64)
        out[rows.topic, rows.cell // topics, rows.rank - 1] = grade
        return out

    def intents(self, name: str, rel: int = 1) -> Intents:
        """Return the grades by intent; `name` is the measure that requires them.

        Intents without a document of grade >= rel are excluded.
        """
        requirement = (
            f"{name} requires judgments by subtopic;"
            " subtopics=True reads the iteration column of judgments as the subtopic"
        )
        intents = _require(self.side_data.intents, requirement)
        return self.view(
            ("intents", rel), lambda: intents.exclude_irrelevant(rel, self.judgments.topic)
        )

    def lengths(self, name: str) -> Rows:
        """Return the lengths of retrieved documents; `name` is the measure that requires them."""
        return _require(self.side_data.lengths, f"{name} requires document lengths: lengths=...")

    def groups(self, name: str) -> Groups:
        """Return the groups of documents; `name` is the measure that requires them."""
        return _require(self.side_data.groups, f"{name} requires document groups: groups=...")

    def queries(self, name: str) -> Rows:
        """Return the query of each retrieved document; `name` is the measure that requires it."""
        return _require(self.side_data.queries, f"{name} {_NEEDS_SESSIONS}")

    def n_queries(self, name: str) -> Ints:
        """Return the number of queries of each session; shape (topics, systems)."""
        return _require(self.side_data.n_queries, f"{name} {_NEEDS_SESSIONS}")

    def clicks(self, name: str) -> Clicks:
        """Return the clicks of sessions; `name` is the measure that requires them."""
        requirement = f"{name} requires clicks; use evaluate_sessions, or `cranfield sessions`"
        return _require(self.side_data.clicks, requirement)

    def aspect(self, aspect: str, name: str) -> JudgedRuns:
        """Return the runs judged on another aspect; `name` is the measure that requires it."""
        if aspect not in self.side_data.aspects:
            names = ", ".join(map(quote, self.side_data.aspects)) or "none"
            raise MeasureError(
                f"{name} requires judgments on the aspect {quote(aspect)}, got aspects: {names}"
            )
        return self.side_data.aspects[aspect]

    def column(self, column: str, name: str) -> NDArray[Any]:
        """Return a column of the judgments; `name` is the measure that requires it."""
        if column not in self.judgments.columns:
            names = ", ".join(self.judgments.columns) or "none"
            raise MeasureError(
                f"{name} requires a column {quote(column)} of the judgments, got columns: {names}"
            )
        return self.judgments.columns[column]

    def recall_base(self, rel: int = 1) -> Ints:
        """Return the recall base, the number of documents of grade >= rel; shape (topics, 1)."""
        check_integer("rel", rel, 0)
        return self.judgments.count(rel)

    def nonrelevant_base(self, rel: int = 1) -> Ints:
        """Return the number of judged documents of grade < rel; shape (topics, 1)."""
        check_integer("rel", rel, 0)
        return self.judgments.count(self.judgments.judged_from, rel)

    def _repr_html_(self) -> str:
        return render_frame(self.coverage.to_polars(), repr(self))

    def __repr__(self) -> str:
        return f"JudgedRuns({self._format_size()}, {self.documents.cell.size:,} judged rows)"


def _require(part: View | None, requirement: str) -> View:
    if part is None:
        raise MeasureError(requirement)
    return part


def _move_to_judged_ranks(rows: Rows, judged: Rows) -> Rows:
    """Return the rows of judged documents, at their ranks among the judged documents."""
    positions, is_judged = find_positions(judged.keys, rows.keys)
    ranks = judged.row_numbers[positions[is_judged]]
    gains = rows.gains[is_judged] if rows.gains.size else rows.gains
    return Rows(rows.cell[is_judged], ranks, rows.grade[is_judged], rows.shape, gains)


def keep_first_of_classes(judged: JudgedRuns, name: str) -> JudgedRuns:
    """Return the runs with one relevant document per equivalence class: the first retrieved.

    Later documents of the class keep their ranks, and count as judged and not relevant. Each class
    has a single judgment, with its highest grade: the recall base is the number of classes
    with a relevant document, and ideal rankings have the best document of each class. A document
    without a class is a class of its own. Side data other than lengths are dropped. `name` is the
    measure that requires classes.

    As in NTCIREVAL (option -ec), a document judged not relevant may be the first of its class and
    make the relevant ones redundant. Such documents should therefore have no class, or a class of
    their own.
    """
    return judged.view("by class", lambda: _keep_first_of_classes(judged, name))


def _keep_first_of_classes(judged: JudgedRuns, name: str) -> JudgedRuns:
    labels = np.asarray(judged.column("class", name)).astype(str)
    # Classes of different topics may share a label.
    _, code = np.unique(labels, return_inverse=True)
    code = np.where(labels == "", code.size + np.arange(code.size), code)
    judgments, documents = judged.judgments, judged.documents
    pairs = judgments.topic * (2 * code.size + 1) + code
    # Judgments are in order of topic and descending grade: the first of a class has its highest.
    _, first_judgments, class_numbers = np.unique(pairs, return_index=True, return_inverse=True)
    class_order = np.argsort(first_judgments)
    best_judgments = first_judgments[class_order]
    ranks_of_classes = np.empty(best_judgments.size, dtype=np.int64)
    ranks_of_classes[class_order] = np.arange(best_judgments.size)
    judgment = ranks_of_classes[class_numbers[documents.judgment]]

    # Unjudged documents do not make other documents of their class redundant.
    judged_rows = np.flatnonzero(documents.grade >= judgments.judged_from)
    keys = documents.cell[judged_rows] * max(best_judgments.size, 1) + judgment[judged_rows]
    order = np.argsort(keys, kind="stable")
    is_redundant = np.zeros(documents.cell.size, dtype=bool)
    is_redundant[judged_rows[order]] = number_rows(keys[order]) > 1
    grade = np.where(is_redundant, np.minimum(documents.grade, 0), documents.grade)
    return replace(
        judged,
        documents=Rows(documents.cell, documents.rank, grade, documents.shape, source=judgment),
        judgments=Judgments(
            judgments.n_topics,
            judgments.topic[best_judgments],
            judgments.grade[best_judgments],
            judgments.judged_from,
            judgments.max_grade,
            {"class": np.asarray(judgments.columns["class"])[best_judgments]},
        ),
        side_data=SideData(judged.side_data.lengths),
        views={},
    )


def make_grade_runs(
    runs: Ints, judged: Ints, max_grade: int, *, has_every_grade: bool = False
) -> JudgedRuns:
    """Return judged runs of one topic from an array of grades, shape (runs, ranks).

    Each run is a system, and ends where its grades are below 0. `judged` has the grades of the
    topic's documents, in descending order. With `has_every_grade` a second topic, for which nothing
    is retrieved, has a document of each grade up to `max_grade`, for measures whose gains depend on
    the grades that occur.
    """
    n_runs, n_topics = len(runs), 1 + has_every_grade
    run, rank = np.nonzero(runs >= 0)
    n_retrieved = np.zeros((n_topics, n_runs), dtype=np.int64)
    n_retrieved[0] = np.bincount(run, minlength=n_runs)
    further_grades = np.arange(max_grade * has_every_grade, -has_every_grade, -1)
    return JudgedRuns(
        ("topic", "every grade")[:n_topics],
        tuple(map(str, range(n_runs))),
        Rows(run * n_topics, rank + 1, runs[run, rank].astype(np.int64), (n_topics, n_runs)),
        n_retrieved,
        Judgments(
            n_topics,
            np.repeat(np.arange(2), [judged.size, further_grades.size]),
            np.concatenate([judged, further_grades]).astype(np.int64),
            0,
            max_grade,
        ),
        np.ones((n_topics, n_runs), dtype=bool),
        Policies(),
        Coverage(()),
    )


BLOCK = 2**19
"""Approximate number of rows and judgments of a block, which consists of whole intents."""


@dataclass(frozen=True, eq=False)
class IntentBlock:
    """Judged runs whose topics are intents, with the topic, probability and type of each."""

    judged: JudgedRuns
    topic: Ints
    probability: Floats
    is_navigational: NDArray[np.bool_]


def iterate_intent_blocks(judged: JudgedRuns, name: str, rel: int = 1) -> Iterator[IntentBlock]:
    """Yield the runs judged by each single intent, in blocks of intents, for a measure `name`."""
    intents = judged.intents(name, rel)
    topic, position = np.nonzero(intents.exists)
    n_judgments = np.bincount(judged.judgments.topic, minlength=judged.shape[0])
    n_rows = judged.documents.n_rows.sum(axis=1) + n_judgments
    blocks = (np.cumsum(n_rows[topic]) - 1) // BLOCK
    if not blocks.size or blocks[-1] == 0:
        key = ("by intent", max(rel, 1))
        yield judged.view(key, lambda: _build_intent_block(judged, intents, topic, position))
        return
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    for block in np.split(np.arange(topic.size), starts[1:]):
        yield _build_intent_block(judged, intents, topic[block], position[block])


def average_by_intent(
    judged: JudgedRuns, name: str, rel: int, score: Callable[[IntentBlock], Floats]
) -> Floats:
    """Sum the scores by intent, weighted by probability, per topic; shape (topics, systems)."""
    sums = np.zeros(judged.shape)
    for block in iterate_intent_blocks(judged, name, rel):
        np.add.at(sums, block.topic, block.probability[:, None] * score(block))
    return sums


def _build_intent_block(
    judged: JudgedRuns, intents: Intents, topic: Ints, position: Ints
) -> IntentBlock:
    shape = (topic.size, judged.shape[1])
    documents, judgments = judged.documents, judged.judgments
    low = judgments.judged_from
    # The judgments of each intent are those of its topic, in order.
    first = np.searchsorted(judgments.topic, topic, "left")
    intent_of, judgment = join_ranges(first, np.searchsorted(judgments.topic, topic, "right"))
    starts = np.searchsorted(intent_of, np.arange(topic.size))
    grade = np.zeros(intent_of.size, dtype=np.int64)
    intent_at = np.full(intents.exists.shape, -1, dtype=np.int64)
    intent_at[topic, position] = np.arange(topic.size)
    graded_rows = np.flatnonzero(np.isin(judgments.topic, topic))
    judgment_rows, entry = intents.find_entries(graded_rows)
    judgment_rows = graded_rows[judgment_rows]
    intent = intent_at[judgments.topic[judgment_rows], intents.position[entry]]
    has_intent = intent >= 0
    judgment_rows, entry, intent = np.stack([judgment_rows, entry, intent])[:, has_intent]
    entry_grades = intents.grade[entry]
    rows_by_intent = starts[intent] + judgment_rows - first[intent]
    grade[rows_by_intent] = np.where(entry_grades < low, 0, entry_grades)
    if judgments.grade.min(initial=0) < low:
        # A document that is unjudged for the topic is unjudged for its intents.
        is_unjudged = judgments.grade[judgment] < low
        grade[is_unjudged] = judgments.grade[judgment[is_unjudged]]

    def repeat_rows(rows: Rows) -> tuple[Ints, Ints]:
        """Repeat the rows of each topic for its intents; return their new cells and row numbers."""
        cell = (np.arange(shape[1])[:, None] * judged.shape[0] + topic).ravel()
        return join_ranges(rows.starts[cell], rows.starts[cell] + rows.sizes[cell])

    cell, rows = repeat_rows(documents)
    intent = cell % topic.size
    document_grades = grade[documents.judgment[rows] + (starts - first)[intent]]
    side_data = SideData()
    lengths = judged.side_data.lengths
    if lengths is not None:
        length_cells, row = repeat_rows(lengths)
        rank, grades, gains = lengths.rank[row], lengths.grade[row], lengths.gains[row]
        side_data = SideData(Rows(length_cells, rank, grades, shape, gains))
    labels = [
        f"{judged.topics[t]}/{intents.names[t][p]}" for t, p in zip(topic, position, strict=True)
    ]
    by_intents = replace(
        judged,
        topics=tuple(labels),
        documents=Rows(cell, documents.rank[rows], document_grades, shape),
        n_retrieved=judged.n_retrieved[topic],
        judgments=Judgments(
            topic.size,
            intent_of,
            _sort_grades(intent_of, grade, starts),
            low,
            judgments.max_grade,
        ),
        is_scored=judged.is_scored[topic],
        side_data=side_data,
        views={},
    )
    index = topic, position
    probability, is_navigational = intents.probability[index], intents.is_navigational[index]
    return IntentBlock(by_intents, topic, probability, is_navigational)


def _sort_grades(intent: Ints, grade: Ints, starts: Ints) -> Ints:
    """Sort the grades of each intent in descending order; most are 0 and need no sorting."""
    nonzero = np.flatnonzero(grade)
    nonzero = nonzero[np.lexsort((-grade[nonzero], intent[nonzero]))]
    counts = np.bincount(intent[nonzero], minlength=starts.size)
    sizes = np.diff(starts, append=intent.size)
    position = np.arange(nonzero.size) - np.repeat(np.cumsum(counts) - counts, counts)
    # Zeros are between the positive and the negative grades.
    position += np.where(grade[nonzero] < 0, np.repeat(sizes - counts, counts), 0)
    out = np.zeros_like(grade)
    out[position + starts[intent[nonzero]]] = grade[nonzero]
    return out
