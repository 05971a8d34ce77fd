"""The class `Evaluation` (scores of several measures on the same input) and its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    CranfieldError,
    MeasureError,
    PolicyError,
    import_optional,
    quote,
    warn,
)
from cranfield.base.scale_types import Scale
from cranfield.base.showing import PlotsMixin
from cranfield.base.text import format_names, inflect, list_some
from cranfield.collection.judged.coverage import (
    Coverage,
    Scorable,
    describe_input,
    find_lowest_relevant_grade,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import NO_TIES, Rows, find_positions
from cranfield.evaluation.expected_scores import compute_all_expected_scores
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_label, make_long_table, make_overall_table
from cranfield.tabular import FrameMixin, render_frame

if TYPE_CHECKING:
    import xarray as xr


TIE_EFFECT = 0.005  # ties are reported if they can change an overall value by more than this

BY_DOCUMENT = "which documents are retrieved"
"""Value of `Info.beyond_grades` for measures that depend on the identity of documents."""

DEPTH_EFFECT = 1e-6  # a depth is reported if it lowers the best score of a topic by more than this

MAX_RUNS = 3  # maximum number of runs in a note on ties


@dataclass(frozen=True)
class TieEffect:
    """Largest change of the overall value of a system through the order of tied documents."""

    measure: str  # measure with the largest change
    system: str
    effect: float  # difference between overall values with the best and the worst order
    tied_proportion: float  # proportion of retrieved documents that are tied
    is_bound: bool = True  # whether it is an upper bound; otherwise a few orders were tried
    n_others: int = 0  # number of other measures whose change is not negligible


def find_tie_effects(judged: JudgedRuns, scores: Mapping[str, Scores]) -> list[TieEffect]:
    """Return the effect of ties on each system with tied documents, the largest effect first.

    The list is empty if ties cannot change a score. Measures that require grades by rank only are
    scored with each group of ties in descending and in ascending order of grades; the effect is
    then a bound if :func:`has_tie_bounds`. Other measures are scored in a few orders.
    """
    measures = {
        name: table.definition
        for name, table in scores.items()
        if isinstance(table.definition, Measure) and table.definition.data_class is JudgedRuns
    }
    effects: dict[tuple[str, bool], Floats] = {}
    for is_by_grades in (True, False):
        subset = {n: m for n, m in measures.items() if is_scored_by_grades(m) == is_by_grades}
        if has_ties(judged, subset.values(), judged.ties[3] if is_by_grades else None):
            if is_by_grades:
                is_tied = _find_tied_cells(judged)
                orders = tuple(order_ties(_restrict_to_cells(judged, is_tied)))
            else:
                is_tied, orders = judged.is_scored, make_tie_orders(judged)
            effects |= {
                (name, has_tie_bounds(m)): _compute_tie_effects(scores[name], m, orders, is_tied)
                for name, m in subset.items()
            }
    return list_effects(judged, effects)


def _find_tied_cells(judged: JudgedRuns) -> Bools:
    """Return a mask of the scored cells with ties of several grades; shape (topics, systems)."""
    is_tied = np.zeros(judged.is_scored.size, dtype=bool)
    is_tied[judged.ties[0]] = True
    return judged.is_scored & is_tied.reshape(judged.is_scored.T.shape).T


def _restrict_to_cells(judged: JudgedRuns, is_included: Bools) -> JudgedRuns:
    """Restrict runs to the documents of some cells, to save the time of scoring the others."""
    rows = judged.documents
    return replace(judged, documents=rows.where(is_included.T.ravel()[rows.cell]), views={})


def has_ties(
    judged: JudgedRuns, measures: Iterable[Measure], first_ranks: Ints | None = None
) -> bool:
    """Return True if ties can change a score; `first_ranks` are those of the groups of ties."""
    first_ranks = judged.tie_groups[1] if first_ranks is None else first_ranks
    depths = [np.inf if m.judged_only else m.last_rank or np.inf for m in measures]
    return bool((first_ranks <= max(depths, default=0)).any())


def count_tied_documents(judged: JudgedRuns) -> Floats:
    """Return the number of tied documents of each run, on all topics and down to the depth."""
    cells, _, sizes = judged.tie_groups
    n_tied = np.bincount(cells // len(judged.topics), sizes, len(judged.systems))
    return n_tied.astype(np.float64)


def list_effects(
    judged: JudgedRuns,
    effects: Mapping[tuple[str, bool], Floats],
    systems: Sequence[str] | None = None,
    run_systems: Ints | None = None,
) -> list[TieEffect]:
    """Return the largest effect of each system with ties, in descending order.

    `effects` has the effect of each system, by (measure, is_bound). `run_systems` is the index in
    `systems` of each run; by default each run is a system.
    """
    if not effects:
        return []
    systems = judged.systems if systems is None else systems
    effects_by_measure = np.stack([*effects.values()])
    keys, largest_index = [*effects], effects_by_measure.argmax(axis=0)
    n_others = np.maximum((effects_by_measure > TIE_EFFECT).sum(axis=0) - 1, 0)
    n_tied, n_retrieved = np.zeros((2, len(systems)))
    run_index = np.arange(len(systems)) if run_systems is None else run_systems
    np.add.at(n_tied, run_index, count_tied_documents(judged))
    np.add.at(n_retrieved, run_index, judged.n_retrieved.sum(axis=0))
    largest_effects = [
        TieEffect(
            keys[largest_index[k]][0],
            system,
            float(effects_by_measure[largest_index[k], k]),
            float(n_tied[k] / max(n_retrieved[k], 1)),
            keys[largest_index[k]][1],
            int(n_others[k]),
        )
        for k, system in enumerate(systems)
        if n_tied[k]
    ]
    return sorted(largest_effects, key=lambda tie: -tie.effect)


def make_tie_orders(judged: JudgedRuns) -> tuple[JudgedRuns, ...]:
    """Return the runs with ties in three orders: as judged, reversed, shifted by half a group."""
    reversed_runs = judged.permute_ties(lambda position, size: size - 1 - position)
    shifted_runs = judged.permute_ties(lambda position, size: (position + size // 2) % size)
    return judged, reversed_runs, shifted_runs


def compute_effect_of_orders(
    orders: Iterable[JudgedRuns],
    score: Callable[[JudgedRuns], Floats],
    aggregate: Callable[[Floats], Floats],
) -> Floats:
    """Return the overall value of the highest scores by topic, minus that of the lowest."""
    values = np.stack([score(order) for order in orders])
    return np.asarray(np.nan_to_num(aggregate(values.max(axis=0)) - aggregate(values.min(axis=0))))


def describe_effect_of_orders(
    judged: JudgedRuns,
    measures: Sequence[Measure],
    score: Callable[[JudgedRuns], Floats],
    aggregate: Callable[[Floats], Floats],
    systems: Sequence[str] | None = None,
    run_systems: Ints | None = None,
) -> Iterator[str]:
    """Report how ties can change overall values, estimated from a few orders of tied documents.

    `score` returns the scores by measure, or without this axis if there is one measure; `aggregate`
    returns a value for each measure and system. `systems` and `run_systems` are as in
    :func:`list_effects`.
    """
    if has_ties(judged, measures):
        effect = compute_effect_of_orders(make_tie_orders(judged), score, aggregate)
        keys = [(measure.label, False) for measure in measures]
        effects = dict(zip(keys, np.atleast_2d(effect), strict=True))
        yield from describe_effects(list_effects(judged, effects, systems, run_systems))


def has_tie_bounds(measure: Measure) -> bool:
    """Return True if the orders of ties by grade, best or worst first, have the extreme scores."""
    return is_scored_by_grades(measure) and bool(
        measure.info.is_monotone or measure.info.expectation
    )


def is_scored_by_grades(measure: Measure) -> bool:
    """Return True if grades by rank are enough to score a run."""
    info = measure.info
    is_by_grades = not (info.inputs or info.depends_on_others or info.beyond_grades == BY_DOCUMENT)
    return measure.data_class is JudgedRuns and is_by_grades


def order_ties(judged: JudgedRuns) -> Iterator[JudgedRuns]:
    """Yield the runs with ties in descending order of grades (best), then in ascending (worst)."""
    cell, rank, grade, first_rank, size = judged.ties
    rows = judged.documents
    keys = rows.keys
    indices, is_listed = find_positions(keys, cell << 32 | rank)
    untied_rows = np.delete(np.arange(keys.size), indices[is_listed])
    # Rows of a group are adjacent, in descending order of grades.
    starts = np.flatnonzero(np.diff(cell << 32 | first_rank, prepend=-1))
    positions = np.arange(cell.size) - np.repeat(starts, np.diff(starts, append=cell.size))
    depth = judged.policies.depth or np.iinfo(np.int64).max
    for ranks in (first_rank + positions, first_rank + size - 1 - positions):
        is_within = ranks <= depth
        new_keys = np.concatenate([keys[untied_rows], (cell << 32 | ranks)[is_within]])
        order = np.argsort(new_keys, kind="stable")
        grades = np.concatenate([rows.grade[untied_rows], grade[is_within]])[order]
        new_keys = new_keys[order]
        sources = np.concatenate([untied_rows, np.where(is_listed, indices, -1)[is_within]])[order]
        documents = Rows(
            new_keys >> 32,
            new_keys & 0xFFFFFFFF,
            grades,
            rows.shape,
            # Documents that move up from below the depth have no source row.
            source=None if (sources < 0).any() else (rows, sources),
        )
        yield replace(judged, documents=documents, ties=NO_TIES, views={})


def _compute_tie_effects(
    scores: Scores, measure: Measure, orders: Iterable[JudgedRuns], is_tied: Bools
) -> Floats:
    """Return the range of overall values by system; cells outside `is_tied` keep their scores."""
    return compute_effect_of_orders(
        orders,
        lambda order: np.where(is_tied, measure.score(order), scores.values),
        lambda values: replace(scores, values=values).overall(),
    )


def note_ties(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report the runs whose overall values can change the most through ties."""
    if judged.policies.ties != "expected":
        yield from describe_effects(find_tie_effects(judged, scores))


def describe_effects(ties: Iterable[TieEffect]) -> Iterator[str]:
    """Report effects of ties that are not negligible."""
    effects = [tie for tie in ties if tie.effect > TIE_EFFECT]
    changes = [
        f"{tie.measure} of {quote(tie.system)} by {'up to' if tie.is_bound else 'at least'}"
        f" {tie.effect:.2g}"
        f" ({tie.tied_proportion:.0%} of its documents are tied)"
        + (f", and {inflect(tie.n_others, 'other measure')} by no more" if tie.n_others else "")
        for tie in effects[:MAX_RUNS]
    ]
    if (n_others := len(effects) - MAX_RUNS) > 0:
        changes.append(f"and {inflect(n_others, 'more result')}")
    if effects:
        yield f"ties can change {'; '.join(changes)}"


def _describe_depth(judged: Scorable, measure: Measure) -> dict[str, int]:
    """Return the setting for the depth of the rankings, if longer ones could score better."""
    # Functions of a user need not accept an ideal ranking.
    is_built_in = measure.kind == KINDS[0] and measure.info.family not in {"", "user-defined"}
    if not isinstance(judged, JudgedRuns) or judged.policies.depth or not is_built_in:
        return {}
    depth = int(judged.n_retrieved.max(initial=0))
    is_unlimited = measure.last_rank is None and measure.info.range[1] == 1
    if not (is_unlimited and is_scored_by_grades(measure) and _count_cuts(judged, measure, depth)):
        return {}
    documents = judged.judgments.make_ideal_ranking(judged.judgments.grade.clip(0).astype(float))
    n_rows = documents.n_rows
    fields: dict[str, Any] = {
        "documents": documents,
        "n_retrieved": n_rows,
        "is_scored": n_rows >= 0,
    }
    ideal = replace(judged, systems=("ideal",), ties=NO_TIES, views={}, **fields)
    has_effect = measure.values(ideal) > measure.values(ideal.top(depth)) + DEPTH_EFFECT
    return {"ranking depth": depth} if has_effect.any() else {}


def _count_cuts(judged: JudgedRuns, measure: Any, depth: int) -> int:
    """Count the topics with more relevant documents than their rankings, all of this depth."""
    has_more = judged.recall_base(find_lowest_relevant_grade(measure)) > depth
    return int((has_more & (judged.n_retrieved == depth)).all(axis=1).sum())


def _note_depth(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report measures whose scores are limited by the depth of the rankings."""
    names: dict[tuple[int, int], list[str]] = {}
    for name, table in scores.items():
        if depth := table.settings.get("ranking depth"):
            n_topics = _count_cuts(judged, table.definition, depth)
            names.setdefault((depth, n_topics), []).append(name)
    for (depth, n_topics), measures in names.items():
        yield (
            f"rankings end at rank {depth:,}, which limits {format_names(measures, 'measure')} on"
            f" {n_topics} of {inflect(len(judged.topics), 'topic')}: these have more relevant"
            " documents"
        )


def _note_empty_topics(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report topics without a relevant document whose scores are 0."""
    averaged_measures: dict[int, list[str]] = {}
    zero_measures: dict[int, list[str]] = {}
    for name, table in scores.items():
        level = find_lowest_relevant_grade(table.definition)
        is_empty = judged.recall_base(level)[:, 0] == 0
        values = np.nan_to_num(table.values[is_empty])
        if is_empty.all() and not values.any():
            zero_measures.setdefault(level, []).append(name)
        is_mean = table.aggregate != "sum" and not table.lower_is_better
        has_zeros = (table.values > 0).any() and not values.any()
        if is_empty.any() and not is_empty.all() and is_mean and has_zeros:
            averaged_measures.setdefault(level, []).append(name)
    for level, names in zero_measures.items():
        yield (
            f"no document is relevant, so all scores are 0: no judgment of these topics has grade"
            f" {level} or higher ({format_names(names, 'measure')})"
        )
    for level, names in averaged_measures.items():
        n_empty = int((judged.recall_base(level) == 0).sum())
        has, counts = ("has", "counts") if n_empty == 1 else ("have", "count")
        yield (
            f"{n_empty} of {inflect(len(judged.topics), 'topic')} {has} no document of grade"
            f" {level} or higher and {counts} as 0 in {format_names(names, 'measure')}; an option"
            f" such as topics_with_grade={level} excludes them"
        )


def _note_sessions(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report measures of sessions that may not depend on the results of the last queries."""
    queries = judged.side_data.queries
    if queries is None:
        return
    if len(judged.systems) > 1:
        # Measures of clicks, for example, ignore the last query's results, which have no clicks.
        names = [
            name
            for name, table in scores.items()
            if np.array_equal(table.values, table.values[:, [0] * len(table.systems)], True)
        ]
        if names:
            yield f"{format_names(names, 'measure')}: all systems have the same scores"
    last_lists = queries.where(queries.grade == queries.at(queries.get_lasts(queries.grade, 0)))
    first_rank = last_lists.get_firsts(last_lists.rank, 0)
    n_rankings = int((first_rank > 1).sum())
    names_by_count: dict[int, list[str]] = {}
    for name, table in scores.items():
        measure = table.definition
        if isinstance(measure, Measure) and measure.cutoff and measure.info.family != "sessions":
            n_excluded = int((first_rank > measure.cutoff).sum())
            names_by_count.setdefault(n_excluded, []).append(name)
    for n_excluded, names in names_by_count.items():
        if n_excluded:
            yield (
                f"{format_names(names, 'measure')}: in {n_excluded} of {n_rankings} concatenated"
                " rankings of several lists, the cutoff excludes the list of the last query"
            )


def _note_grades(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report the range of grades of measures that depend on the highest grade."""
    names = [
        name
        for name, table in scores.items()
        if isinstance(table.definition, Measure) and table.definition.uses_highest_grade
    ]
    if names and judged.policies.max_grade is None:
        yield (
            f"{format_names(names, 'measure')}: grades are assumed to range from 0 to"
            f" {judged.max_grade}, the highest grade in the judgments; set the highest possible"
            f" grade by an option such as max_grade={judged.max_grade}"
        )


def _note_samples(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report measures that do not account for the inclusion probabilities of the judgments."""
    inclusion = judged.judgments.columns.get("inclusion")
    if inclusion is None or inclusion.dtype.kind not in "fiu" or not (inclusion < 1).any():
        return
    definitions = {name: table.definition for name, table in scores.items()}
    names = [
        name
        for name, measure in definitions.items()
        if isinstance(measure, Measure) and not _estimates_from_samples(measure)
    ]
    if names:
        yield (
            "judgments are of a sample (column inclusion): documents that were not drawn count as"
            f" unjudged in {format_names(names, 'measure')}; statAP accounts for the sample, and"
            " so does `judges --ppi document`, with labels of a judge for all documents"
        )


def _estimates_from_samples(measure: Measure) -> bool:
    return measure.info.family == "incomplete judgments" and bool(measure.info.inputs)


class NotEvaluatedError(MeasureError, KeyError):
    """Raised for a measure that was not evaluated; also a `KeyError`, as for other mappings."""

    # KeyError puts the message in quotes.
    __str__ = Exception.__str__


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(FrameMixin, PlotsMixin, Mapping[str, Scores]):
    """Scores of several measures on the same input: a mapping of measures to scores.

    Attributes
    ----------
    scores
        Scores by measure, with the requested name as key, such as `map` or `RBP(p=0.8)`; the
        evaluation also accepts other names of the same measure. With shards their values have shape
        (topics, systems, shards), and are NaN where a topic has no relevant document in a shard.
    judged
        The input: judged runs, with policies and coverage; judged runs by shard, with the
        partition; or judged sessions, answers, citations or summaries.
    compat
        Program whose names of measures are accepted, and whose rounding is used.
    on_all
        For an evaluation by shard, the evaluation of the same runs on all documents; else None.
    option_notes
        Notes on options of judging that no measure uses.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q1": {"a": 4, "b": 3, "c": 2, "d": 1}, "q2": {"d": 2, "a": 1}}
    >>> qrels = {"q1": {"b": 1, "d": 1}, "q2": {"a": 1}}
    >>> ev = cf.evaluate(run, qrels, ["AP", "RR"])
    >>> ev["AP"].values[:, 0].tolist(), list(ev)
    ([0.5, 0.5], ['AP', 'RR'])
    >>> halves = {"a": "left", "b": "left", "c": "right", "d": "right"}
    >>> ev = cf.evaluate(run, qrels, "AP", shards=halves)
    >>> ev["AP"].values[:, 0].tolist(), ev.shards
    ([[0.5, 0.5], [1.0, nan]], ('left', 'right'))
    >>> ev.whole["AP"].values[:, 0].tolist()
    [0.5, 0.5]
    """

    scores: Mapping[str, Scores]
    judged: Any
    compat: str | None = None
    on_all: Evaluation | None = None
    option_notes: tuple[str, ...] = ()

    def __getitem__(self, measure: str | Measure) -> Scores:
        scores = self.scores.get(str(measure))
        if scores is None:
            # The name may be another name of a measure.
            try:
                parsed = parse_measures(measure, compat=self.compat)
            except (MeasureError, PolicyError) as error:
                raise NotEvaluatedError(self._find_label_hint(str(measure)) or error) from None
            if len(parsed) == 1:
                tables = self.scores.values()
                scores = next((t for t in tables if t.definition == parsed[0]), None)
        if scores is None:
            raise NotEvaluatedError(
                f"{measure} was not evaluated. Evaluated measures: {list_some(self.scores, 10)}"
            )
        return scores

    def _find_label_hint(self, name: str) -> str:
        """Return a hint on the scores of a system or topic; empty for any other name."""
        expression = f"evaluation[{next(iter(self))!r}]"
        if name in self.systems:
            return f"{name!r} is a system, not a measure; use {expression}[{name!r}]"
        if name in self.topics:
            return f"{name!r} is a topic, not a measure; use {expression}.select(topics={name!r})"
        return ""

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures, in order."""
        return tuple(scores.definition for scores in self.values())  # type: ignore[misc]

    @property
    def systems(self) -> tuple[str, ...]:
        """Systems, in order."""
        return self.judged.systems  # type: ignore[no-any-return]

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics, or sessions, in order."""
        return self.judged.topics  # type: ignore[no-any-return]

    @property
    def shards(self) -> tuple[str, ...]:
        """Names of the shards, in order; empty without shards."""
        return self.judged.shard_labels  # type: ignore[no-any-return]

    @property
    def whole(self) -> Evaluation:
        """Evaluation on all documents; the evaluation itself if it is not by shard."""
        return self.on_all or self

    @property
    def coverage(self) -> Coverage:
        """Coverage of the runs by the judgments, and of the judged topics by the runs."""
        coverage: Coverage | None = getattr(self.judged, "coverage", None)
        if coverage is None:
            kind = type(self.judged).__name__
            raise CranfieldError(f"coverage requires an evaluation of runs, got {kind}")
        return coverage

    @property
    def notes(self) -> list[str]:
        """Notes on the coverage and on choices that change a score.

        Examples
        --------
        >>> import cranfield as cf
        >>> ev = cf.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 0, "b": 1}}, "RR")
        >>> ev.notes
        ["ties can change RR of 'run' by up to 0.5 (100% of its documents are tied)"]
        """
        return [*self._get_reported_coverage().notes, *self._score_notes, *self.option_notes]

    def _get_reported_coverage(self) -> Coverage:
        """Return the coverage, without unjudged documents if all measures estimate from samples."""
        coverage = self.whole.coverage
        if all(_estimates_from_samples(measure) for measure in self.measures):
            return coverage.ignore_unjudged()
        return coverage

    @cached_property
    def _score_notes(self) -> list[str]:
        judged = self.whole.judged
        if not isinstance(judged, JudgedRuns):
            return []
        functions = (
            note_ties,
            _note_depth,
            _note_empty_topics,
            _note_sessions,
            _note_grades,
            _note_samples,
        )
        return [note for function in functions for note in function(judged, self.whole)]

    def warn(self) -> None:
        """Issue the notes on coverage and scores as warnings, except those on skipped runs."""
        self._get_reported_coverage().warn()
        for note in self._score_notes:
            warn(note)

    def with_scale(self, scale: Scale | str) -> Evaluation:
        """Return the evaluation with a declared scale; see :meth:`cranfield.Scores.with_scale`."""
        scores = {name: table.with_scale(scale) for name, table in self.scores.items()}
        on_all = self.on_all and self.on_all.with_scale(scale)
        return replace(self, scores=scores, on_all=on_all)

    def means(self) -> pl.DataFrame:
        """Return the overall value of each measure (mean, sum or geometric mean) by system.

        Returns
        -------
        polars.DataFrame
            A row for each measure, or measure and shard: the columns are `measure`, `shard` (if
            any) and a column for each system. Topics without a score (in the shard) are excluded.
        """
        table: dict[str, Any] = {"measure": np.repeat([*self], max(1, len(self.shards))).tolist()}
        if self.shards:
            table["shard"] = self.shards * len(self)
        label_columns = tuple(table)
        overall = np.stack([scores.overall() for scores in self.values()])
        for i, name in enumerate(self.systems):
            column = pl.Series(overall[:, i].ravel()).fill_nan(None)
            table[f"{name} " if name in label_columns else name] = column
        return pl.DataFrame(table)

    def by_system(self) -> pl.DataFrame:
        """Return the overall values with a row for each system and a column for each measure."""
        return make_overall_table(self)

    @overload
    def to_dict(self) -> dict[str, dict[str, float]]: ...

    @overload
    def to_dict(self, system: str) -> dict[str, float]: ...

    def to_dict(self, system: str | None = None) -> dict[str, Any]:
        """Return the overall values as `{measure: {system: value}}`; NaN if there are no scores.

        Parameters
        ----------
        system
            If set, return the values of this system only, as `{measure: value}`.

        Raises
        ------
        PolicyError
            For an unknown system, and for scores by shard.

        Examples
        --------
        >>> import cranfield as cf
        >>> ev = cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["RR", "P@1"])
        >>> ev.to_dict(), ev.to_dict("run")
        ({'RR': {'run': 0.5}, 'P@1': {'run': 0.0}}, {'RR': 0.5, 'P@1': 0.0})
        """
        overall = {}
        for name, scores in self.items():
            scores.require_two_axes("overall values by system require scores without shards")
            overall[name] = dict(zip(scores.systems, scores.overall().tolist(), strict=True))
        if system is None:
            return overall
        label = self.systems[find_label(system, self.systems)]
        return {name: values[label] for name, values in overall.items()}

    def summary(self) -> pl.DataFrame:
        """Return mean, median, geometric mean and standard deviation by measure and system."""
        return pl.concat(
            scores.summary().select(pl.lit(name).alias("measure"), pl.all())
            for name, scores in self.items()
        )

    def to_polars(self) -> pl.DataFrame:
        """Return all scores as a long table: measure, topic, system, shard (if any), score."""
        return make_long_table(self)

    def to_xarray(self) -> xr.Dataset:
        """Return an xarray data set with a variable for each measure."""
        xarray = import_optional("xarray")
        return xarray.Dataset(  # type: ignore[no-any-return]
            {name: scores.to_xarray() for name, scores in self.items()}
        )

    def _repr_html_(self) -> str:
        return render_frame(self.means() if self.shards else self.by_system(), repr(self))

    def __repr__(self) -> str:
        sizes = [inflect(len(self.topics), self.judged.unit), inflect(len(self.systems), "system")]
        sizes += [inflect(len(self.shards), "shard")] if self.shards else []
        return f"Evaluation({', '.join(sizes)}: {', '.join(self)})"


SIDE_OPTIONS = ("lengths", "groups", "intents", "aspects")  # Options of judging for some measures


def list_unused(measures: Iterable[Measure]) -> list[str]:
    """List the options of judging that only other measures use."""
    needs = " ".join(
        f"{' '.join(measure.info.inputs)} {measure.info.needs}" for measure in measures
    )
    unused_options = [name for name in SIDE_OPTIONS if name not in needs]
    has_grades = any(measure.uses_highest_grade for measure in measures)
    return unused_options if has_grades or "aspects" in needs else [*unused_options, "max_grade"]


def note_unused_options(measures: Iterable[Measure], options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return notes on options of judging that are set, but used by none of the measures."""
    names = [name for name in list_unused(measures) if options.get(name) is not None]
    return tuple(f"{name} has no effect: no requested measure uses it" for name in names)


def score(
    judged: Scorable,
    measures: str | Measure | Iterable[str | Measure],
    *,
    compat: str | None = None,
) -> Evaluation:
    """Score judged runs, sessions or answers.

    Parameters
    ----------
    judged
        A result of :func:`cranfield.judge`, or the attribute `judged` of another evaluation, such
        as runs by shard, sessions or answers.
    measures
        Measures or their text forms.
    compat
        Program whose names of measures are accepted, and whose rounding is used.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`.
    """
    parsed = parse_measures(measures, compat=compat)
    if isinstance(judged, JudgedRuns) and judged.policies.ties == "expected":
        score_arrays = compute_all_expected_scores(judged, parsed)
    else:
        score_arrays = judged.compute_scores(parsed)
    grades = judged.max_grade
    scores = {
        measure.label: Scores(
            values,
            judged.topics,
            judged.systems,
            settings=judged.describe_settings(measure) | _describe_depth(judged, measure),
            scale=None if grades is None else measure.find_grade_scale(grades),
            scale_source=measure.scale_source,
            shards=judged.shard_labels,
            definition=measure,
        )
        for measure, values in zip(parsed, score_arrays, strict=True)
    }
    return Evaluation(scores, judged, compat)


def evaluate_answers(judged: Any, measures: str | Measure | Iterable[str | Measure]) -> Evaluation:
    """Score judged answers, citations or summaries.

    Parameters
    ----------
    judged
        A result of :func:`judge_answers` or :func:`read_nugget_assignments` (answers with nuggets),
        :func:`read_citations` (sentences with citations), or :func:`judge_summaries` (texts with
        reference texts).
    measures
        Measures or their text forms.

    Returns
    -------
    Evaluation
        A mapping of measures to :class:`Scores`. A system without an answer to a topic is scored as
        with an empty answer, which is 0 for most measures.

    Raises
    ------
    MeasureError
        For an unknown measure, or one that requires other input (such as lengths, positions,
        weights, importance).

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.texts import judge_answers
    >>> gold = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 2, "e": 1}}
    >>> answers = {
    ...     "x": {"q1": ["a", "b"], "q2": ["c"], "q3": ["d"]},
    ...     "y": {"q1": ["a"], "q2": [], "q3": []},
    ... }
    >>> scores = evaluate_answers(judge_answers(answers, gold), ["WRecall"])["WRecall"]
    >>> scores.values.round(2).tolist()
    [[1.0, 0.5], [1.0, 0.0], [0.67, 0.0]]
    >>> cf.compare(scores).systems
    ('x', 'y')
    """
    parsed = parse_measures(measures)
    for measure in parsed:
        if not isinstance(judged, measure.data_class):
            text_measures = REGISTRY.select(kind=KINDS[2]).items()
            names = [name for name, m in text_measures if isinstance(judged, m.data_class)]
            hint = f"; expected one of: {', '.join(names)}" if names else ""
            reason = (
                f"{measure} is computed from {measure.data_class.noun}, got"
                f" {describe_input(judged)}{hint}"
            )
            if measure.kind != KINDS[2]:
                reason = f"{measure.name} does not score answers, citations or summaries: {reason}"
            raise MeasureError(reason)
    return score(judged, parsed)
