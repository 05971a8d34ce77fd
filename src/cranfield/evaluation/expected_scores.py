"""Expected scores over the orders of tied documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.text import list_some
from cranfield.collection.judged.judged_runs import JudgedRuns, SideData
from cranfield.collection.judged.rows import NO_TIES, Rows, divide, join_ranges, number_rows, scan
from cranfield.measures.base import Measure
from cranfield.measures.families import REGISTRY

_MAX_RANK = np.iinfo(np.int32).max
_MAX_RANKINGS = 1 << 21  # approximate number of rankings scored at once


def depends_on_grades_only(measure: Measure, judged: JudgedRuns) -> bool:
    """Return True if tied documents can change a score only through their grades."""
    # Condensed lists with a depth depend on the order of unjudged documents.
    is_condensed = measure.judged_only or judged.policies.unjudged == "condensed"
    return not (is_condensed and judged.policies.depth)


def resolve_ties_as_trec(judged: JudgedRuns) -> JudgedRuns:
    """Return the runs with ties resolved as by trec_eval, if the tie policy is `expected`."""
    if judged.policies.ties != "expected":
        return judged
    return replace(judged, policies=replace(judged.policies, ties="trec"), views={})


def compute_all_expected_scores(judged: JudgedRuns, measures: Sequence[Measure]) -> list[Floats]:
    """Compute the expected scores by each measure; NaN where the topic policy excludes a topic."""
    unsupported_names = [
        str(m) for m in measures if not (m.info.expectation and depends_on_grades_only(m, judged))
    ]
    if unsupported_names:
        supported_names = [name for name, kind in REGISTRY.items() if kind.info.expectation]
        condition = " (unless condensed lists have a depth)" if judged.policies.depth else ""
        raise PolicyError(
            f"ties='expected' cannot be combined with {list_some(unsupported_names, 5)}; measures"
            f" with an exact expected score{condition}: {', '.join(supported_names)}"
        )
    runs = resolve_ties_as_trec(judged)
    return [np.where(judged.is_scored, compute_expected_scores(m, runs), np.nan) for m in measures]


def compute_expected_scores(measure: Measure, judged: JudgedRuns) -> Floats:
    """Compute the mean of the scores over all orders of tied documents; shape (topics, systems)."""
    actual = measure.score(judged)
    ties = _Ties(measure, judged)
    if not ties.first.size:
        return actual
    if measure.info.expectation == "stop" and ties.max_rank > 1:
        return _expect_stop_values(ties, actual)
    expected = actual + _compute_document_change(ties)
    if measure.info.expectation == "pairs":
        expected += _compute_pair_change(ties)
    return expected


class _Ties:
    """Groups of tied documents that can change the scores of a measure."""

    def __init__(self, measure: Measure, judged: JudgedRuns) -> None:
        self.judged = judged.condense() if measure.judged_only else judged
        # From here on, ranks are those after unjudged documents are removed.
        self.measure = measure(judged_only=False) if measure.judged_only else measure
        limit = min(measure.last_rank or _MAX_RANK, judged.policies.depth or _MAX_RANK)
        ties = self.judged.ties
        cell, rank, grade, first, size = ties[:, ties[3] <= limit]
        last_ranks = (first + size - 1, self.judged.documents.rank)
        # The last rank that can change a score.
        self.max_rank = min(limit, max(2, *(int(ranks.max(initial=0)) for ranks in last_ranks)))
        # Groups: cell (index of topic and system), first rank, size, and last rank that counts.
        keys, starts, group = np.unique(cell << 32 | first, return_index=True, return_inverse=True)
        self.cell, self.first, self.size = keys >> 32, keys & 0xFFFFFFFF, size[starts]
        self.last = np.minimum(self.first + self.size - 1, self.max_rank)
        # Number of documents by group and grade; the grade is an index into `grades`.
        self.grades = np.unique(np.concatenate([grade, self.judged.documents.grade]))
        codes = np.searchsorted(self.grades, grade)
        pairs, self.n_docs = np.unique(group * self.grades.size + codes, return_counts=True)
        self.group, self.grade = np.divmod(pairs, self.grades.size)
        # The tied documents, in their order in the judged runs.
        is_counted = rank <= self.max_rank
        arrays = (cell, rank, codes)
        self.doc_cell, self.doc_rank, self.doc_grade = (array[is_counted] for array in arrays)

    def find_topics(self, cell: Ints) -> Ints:
        """Return the topic of each cell."""
        return np.asarray(cell % self.judged.shape[0], dtype=np.int64)

    def sum_by_cell(self, cell: Ints, values: Floats) -> Floats:
        """Sum values by cell; shape (topics, systems)."""
        n_topics, n_systems = self.judged.shape
        sums = np.bincount(cell, weights=values, minlength=n_topics * n_systems)
        return np.asarray(sums.reshape(n_systems, n_topics).T, dtype=np.float64)

    def count_documents_above(self, cell: Ints, rank: Ints, grade_index: int) -> Floats:
        """Count the documents of a grade above each rank of a cell."""
        rows = self.judged.documents
        has_grade = rows.grade == self.grades[grade_index]
        keys = rows.keys[has_grade]
        start, stop = np.searchsorted(keys, [cell << 32, cell << 32 | rank])
        return np.asarray(stop - start, dtype=np.float64)

    def score_empty_ranking(self) -> Floats:
        """Return the score of an empty ranking; shape (topics, 1)."""
        no_documents = np.empty((0, 1), dtype=np.int64)
        return self._score_rankings(no_documents, no_documents)

    def compute_gains(self) -> Floats:
        """Return the gain of a document over an empty ranking; shape (topics, grades, ranks)."""
        ranks = np.arange(1, self.max_rank + 1)
        shape = (-1, self.grades.size, self.max_rank)
        rank, grade = np.tile(ranks, self.grades.size), np.repeat(self.grades, self.max_rank)
        scores = self._score_rankings(rank[None], grade[None]).reshape(shape)
        return scores - self.score_empty_ranking()[:, :, None]

    def score_adjacent_documents(self, upper_index: int) -> Floats:
        """Score rankings of two adjacent documents; shape (topics, grades, ranks) of the lower one.

        `upper_index` is the index of the grade of the upper document, which is not retrieved if the
        lower document has rank 1.
        """
        ranks = np.tile(np.arange(1, self.max_rank + 1), self.grades.size)
        lower_grades = np.repeat(self.grades, self.max_rank)
        pair = np.stack([np.full_like(lower_grades, self.grades[upper_index]), lower_grades])
        scores = self._score_rankings(np.stack([ranks - 1, ranks]), pair)
        return scores.reshape(-1, self.grades.size, self.max_rank)

    def _score_rankings(self, ranks: Ints, grades: Ints) -> Floats:
        """Score rankings of a few documents on every topic, in chunks; see `score_rankings`."""
        n_chunks = max(1, self.judged.shape[0] * ranks.shape[1] // _MAX_RANKINGS)
        chunks = (np.array_split(values, n_chunks, axis=1) for values in (ranks, grades))
        scores = [
            score_rankings(self.measure, self.judged, chunk_ranks, chunk_grades, self.max_rank)
            for chunk_ranks, chunk_grades in zip(*chunks, strict=True)
        ]
        return np.concatenate(scores, axis=1)


def score_rankings(
    measure: Measure, judged: JudgedRuns, ranks: Ints, grades: Ints, n_retrieved: int
) -> Floats:
    """Score rankings of a few documents on every topic of judged runs; shape (topics, rankings).

    `ranks` has shape (documents, rankings) and ascends in each ranking; documents of rank 0 are not
    retrieved. Each ranking has `n_retrieved` documents, of which only the given ones are judged.
    """
    shape = (judged.shape[0], ranks.shape[1])
    # Rows are in order of ranking, topic and rank.
    sizes = (shape[1], shape[0], len(ranks))
    ranking, topic, document = (index.ravel() for index in np.indices(sizes))
    rank, grade = ranks[document, ranking], grades[document, ranking]
    is_retrieved = rank > 0
    cell = (ranking * shape[0] + topic)[is_retrieved]
    rankings = replace(
        judged,
        systems=("",) * shape[1],
        documents=Rows(cell, rank[is_retrieved], grade[is_retrieved], shape),
        n_retrieved=np.full(shape, n_retrieved),
        is_scored=np.ones(shape, dtype=bool),
        side_data=SideData(),
        ties=NO_TIES,
        views={},
    )
    return measure.score(rankings)


def _cumulate_ranks(values: Floats) -> Floats:
    """Return cumulative sums over ranks, starting with 0; shape (topics, grades, ranks + 1)."""
    start = np.zeros((*values.shape[:2], 1))
    return np.concatenate([start, np.cumsum(values, axis=2)], axis=2)


def _compute_document_change(ties: _Ties) -> Floats:
    """Return the expected gain of tied documents minus their actual gain."""
    gains = ties.compute_gains()
    sums = _cumulate_ranks(gains)
    cell = ties.cell[ties.group]
    topic, first, last = ties.find_topics(cell), ties.first[ties.group], ties.last[ties.group]
    group_sums = sums[topic, ties.grade, last] - sums[topic, ties.grade, first - 1]
    expected = ties.n_docs * group_sums / ties.size[ties.group]
    actual = gains[ties.find_topics(ties.doc_cell), ties.doc_grade, ties.doc_rank - 1]
    return ties.sum_by_cell(cell, expected) - ties.sum_by_cell(ties.doc_cell, actual)


def _compute_pair_change(ties: _Ties) -> Floats:
    """Return the expected minus the actual score of pairs whose lower document is tied."""
    gains, empty_score = ties.compute_gains(), ties.score_empty_ranking()[:, :, None]
    cell, size = ties.cell[ties.group], ties.size[ties.group]
    topic, first, last = ties.find_topics(cell), ties.first[ties.group], ties.last[ties.group]
    doc_topic = ties.find_topics(ties.doc_cell)
    ranks = np.arange(1.0, ties.max_rank + 1)
    change = np.zeros(ties.judged.shape)
    for upper in range(ties.grades.size):
        shifted = np.concatenate([np.zeros_like(gains[:, :1, :1]), gains[:, [upper], :-1]], axis=2)
        interaction = ties.score_adjacent_documents(upper) - empty_score - gains - shifted
        if not interaction.any():
            continue
        # Sums over the ranks of each group, and sums weighted by rank.
        group_sums, weighted_sums = (
            cumulative[topic, ties.grade, last] - cumulative[topic, ties.grade, first - 1]
            for cumulative in (_cumulate_ranks(interaction), _cumulate_ranks(interaction * ranks))
        )
        # On average a proportion t / (size - 1) of the other documents of its group is above a
        # document at position t (from 0) of the group.
        n_upper = np.zeros(ties.first.size)
        n_upper[ties.group[ties.grade == upper]] = ties.n_docs[ties.grade == upper]
        n_others = n_upper[ties.group] - (ties.grade == upper)
        within_group = n_others / np.maximum(size - 1, 1) * (weighted_sums - first * group_sums)
        above_group = ties.count_documents_above(cell, first, upper) * group_sums
        expected = ties.n_docs / size * (above_group + within_group)
        actual = interaction[doc_topic, ties.doc_grade, ties.doc_rank - 1]
        actual = actual * ties.count_documents_above(ties.doc_cell, ties.doc_rank, upper)
        change += ties.sum_by_cell(cell, expected) - ties.sum_by_cell(ties.doc_cell, actual)
    return change


def _expect_stop_values(ties: _Ties, actual: Floats) -> Floats:
    """Return expected scores by the rank where a user stops; actual scores where none are tied."""
    rows = ties.judged.documents
    tied_cells = np.unique(ties.cell)
    is_tied = np.isin(rows.keys, ties.doc_cell << 32 | ties.doc_rank)
    untied = rows.where(~is_tied & np.isin(rows.cell, tied_cells) & (rows.rank <= ties.max_rank))
    # In cells with ties, each untied document is a group of its own.
    ones = np.ones(untied.cell.size, dtype=np.int64)
    cell = np.concatenate([ties.cell, untied.cell])
    first = np.concatenate([ties.first, untied.rank])
    last = np.concatenate([ties.last, untied.rank])
    size = np.concatenate([ties.size, ones])
    group = np.concatenate([ties.group, ties.first.size + np.arange(untied.cell.size)])
    grade = np.concatenate([ties.grade, np.searchsorted(ties.grades, untied.grade)])
    n_docs = np.concatenate([ties.n_docs, ones])

    gains = ties.compute_gains()
    pair_scores = np.stack(
        [ties.score_adjacent_documents(k)[:, k, 1] for k in range(ties.grades.size)], axis=1
    )
    survival = np.ones(pair_scores.shape)
    added_gain = pair_scores - ties.score_empty_ranking() - gains[:, :, 0]
    np.divide(added_gain, gains[:, :, 1], out=survival, where=gains[:, :, 1] != 0)
    survival = survival.clip(0.0, 1.0)
    # The gain of stopping at a rank follows from the grade with the highest stopping probability.
    stop_grade = survival.argmin(axis=1)
    topics = np.arange(stop_grade.size)
    stopping = 1.0 - survival[topics, stop_grade]
    stop_gain = divide(gains[topics, stop_grade], stopping[:, None])

    row_survival = survival[ties.find_topics(cell[group]), grade]
    passing = np.ones(cell.size)
    np.multiply.at(passing, group, row_survival**n_docs)
    # The probability of reaching a group is the product of those of passing the groups above.
    order = np.lexsort((first, cell))
    numbers = number_rows(cell[order])
    cumulative = scan(passing[order], numbers, np.multiply)
    reach = np.empty(cell.size)
    reach[order] = np.where(numbers == 1, 1.0, np.append(1.0, cumulative[:-1]))

    is_counted = (reach > 0) & (passing < 1) & (first <= ties.max_rank)
    stop_probabilities, n_ranks = _compute_stop_probabilities(
        group, row_survival, n_docs, size, last - first + 1, is_counted
    )
    groups, offset = join_ranges(np.zeros_like(n_ranks), n_ranks)
    rank = first[groups] + offset
    stop_gains = stop_gain[ties.find_topics(cell[groups]), rank - 1]
    expected_gains = stop_gains * reach[groups] * stop_probabilities
    expected = ties.score_empty_ranking() + ties.sum_by_cell(cell[groups], expected_gains)
    has_ties = ties.sum_by_cell(tied_cells, np.ones(tied_cells.size)) > 0
    return np.where(has_ties, expected, actual)


def _compute_stop_probabilities(
    group: Ints, row_survival: Floats, n_docs: Ints, size: Ints, n_ranks: Ints, is_counted: Bools
) -> tuple[Floats, Ints]:
    """Return the stopping probability at each rank of the counted groups, if they are reached.

    The second array is the number of ranks of each group, 0 if it is not counted. Let q(t),
    `passing[t]`, be the mean, over all subsets of t of k documents, of the product of their
    survival probabilities. With another document, of survival probability s,
    q'(t) = (1 - t/(k + 1)) q(t) + t/(k + 1) s q(t - 1).
    """
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(size.size + 1))
    cache: dict[tuple[Any, ...], Floats] = {}
    probabilities = [np.zeros(0)]
    for k in np.flatnonzero(is_counted).tolist():
        rows = order[bounds[k] : bounds[k + 1]]
        documents = (*zip(row_survival[rows].tolist(), n_docs[rows].tolist(), strict=True),)
        group_size = int(size[k])
        if (group_size, documents) not in cache:
            survival = [s for s, n_equal in documents if s != 1 for _ in range(n_equal)]
            passing = np.ones(group_size + 1)
            for n_documents, s in enumerate(survival, group_size - len(survival) + 1):
                inclusion = np.arange(1, n_documents + 1) / n_documents
                current, previous = passing[1 : n_documents + 1], passing[:n_documents]
                passing[1 : n_documents + 1] = (1 - inclusion) * current + inclusion * s * previous
            cache[group_size, documents] = passing[:-1] - passing[1:]
        probabilities.append(cache[group_size, documents][: n_ranks[k]])
    return np.concatenate(probabilities), np.where(is_counted, n_ranks, 0)
