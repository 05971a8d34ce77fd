"""Scores by topic and system, of one measure or of several."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, permutations
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, Ints, LabelsOrIndices
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_list,
    find_command_option,
    import_optional,
    quote,
)
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.showing import LOADERS, PlotsMixin
from cranfield.base.text import (
    escape_html,
    format_prefix,
    inflect,
    list_some,
    sanitise,
    suggest_names,
)
from cranfield.scores.averages import Averages, fill_missing
from cranfield.sources.values import convert_whole_float
from cranfield.tabular import FrameMixin, render_frame

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


LOWER_IS_BETTER_WORDS = frozenset(
    {"latency", "latencies", "time", "times", "cost", "costs", "loss", "losses", "error", "errors"}
    | {"rmse", "mse", "mae", "perplexity", "energy", "wer", "cer", "regret", "distance"}
    | {"ppl", "ter", "eer", "ece", "fpr", "fnr", "brier", "hallucination", "hallucinations"}
    | {"toxicity", "hole", "miss", "misses", "medr", "mrt", "ttft", "price", "usd", "eur"}
    | {"tokens", "joules", "emissions", "memory"}
    | {"seconds", "secs", "millis", "milliseconds", "duration", "delay"}
    | {"bounce", "bounces", "bounced", "churn", "churned", "abandonment", "abandonments"}
    | {"abandoned", "refund", "refunds", "refunded", "crash", "crashes", "timeout", "timeouts"}
    | {"unsubscribe", "unsubscribes", "unsubscribed", "uninstall", "uninstalls", "complaint"}
    | {"complaints", "cancellation", "cancellations", "cancelled", "canceled", "failure"}
    | {"failures", "defect", "defects", "reformulation", "reformulations"}
)
"""Words in the names of measures for which lower scores are nearly always better."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def suggests_lower(name: str) -> bool:
    """Return True if a whole word in the name suggests that lower scores are better.

    A word ends at any character that is not a letter, and where camel case starts a new word.

    Examples
    --------
    >>> [suggests_lower(name) for name in ("latency_ms", "query time", "testRMSE", "QueryTime")]
    [True, True, True, True]
    >>> [suggests_lower(name) for name in ("timeliness", "lossless", "AP", "")]
    [False, False, False, False]
    """
    return any(word.lower() in LOWER_IS_BETTER_WORDS for word in _WORD.findall(name))


def describe_direction(name: str, advice_end: str = " to read_scores") -> str:
    """Return the note on a measure without a direction whose name suggests that lower is better.

    `advice_end` ends the advice for users of Python; commands name their option instead.
    """
    option = find_command_option(f"lower_is_better={name!r}")
    return (
        f"{name}: higher scores are treated as better; if lower is better, pass"
        f" {option or f'lower_is_better=True{advice_end}'}"
    )


def find_label(name: object, labels: Sequence[str], kind: str = "system", role: str = "") -> int:
    """Return the index of a label; the error for an unknown label suggests similar labels."""
    if name in labels:
        return labels.index(str(name))
    choices = f"expected one of: {list_some(map(quote, labels), 10)}"
    hint = suggest_names(name, labels, otherwise=choices, show=quote)
    raise PolicyError(f"unknown {kind} {quote(name)}{role}{hint}")


def find_labels(selection: Any, labels: Sequence[str], kind: str = "system") -> Indices:
    """Return the indices of the selected labels: one label, labels, a mask, indices, or None."""
    if selection is None:
        return np.arange(len(labels))
    names = [selection] if isinstance(selection, str) else list(selection)
    if names and all(isinstance(name, (bool, np.bool_)) for name in names):
        if len(names) != len(labels):
            expected = inflect(len(labels), kind)
            raise PolicyError(f"expected a mask of {expected}, got {len(names)} Boolean values")
        return np.flatnonzero(names)
    if names and all(isinstance(name, (int, np.integer)) for name in names):
        indices, n = np.array(names, dtype=np.intp), len(labels)
        if outliers := [k for k in indices.tolist() if not -n <= k < n]:
            raise PolicyError(f"indices of {kind}s must be from {-n} to {n - 1}, got {outliers[0]}")
        return indices
    index_of = {label: index for index, label in enumerate(labels)}
    positions = (index_of[n] if n in index_of else find_label(n, labels, kind) for n in names)
    return np.fromiter(positions, dtype=np.intp)


def _check_frame_labels(data: Any, labels: Mapping[str, Sequence[str]]) -> None:
    """Refuse a data frame with the labels of the scores in another order or on the other axis."""
    for name, axis in (("columns", "system"), ("index", "topic")):
        expected = [str(convert_whole_float(label)) for label in getattr(data, name, ())]
        if expected != [*labels[axis]] and {*expected} in ({*labels["topic"]}, {*labels["system"]}):
            raise CranfieldError(
                f"{axis}s must be in the order of the {name} of the data frame: expected"
                f" {list_some(expected, 5)}, got {list_some(labels[axis], 5)}"
            )


def find_missing_label(labels: Sequence[str], other_labels: Sequence[str]) -> str | None:
    """Return the first of the labels that is not among the other labels, or None."""
    other_set = set(other_labels)
    return next((label for label in labels if label not in other_set), None)


AGGREGATES = ("mean", "sum", "geometric")  # Aggregates of the scores of a measure over topics
NO_TABLE = "scores by shard cannot be written as a table of topics and systems"
"""Start of the error where a table of topics and systems is required."""

AXES = ("shard", "replicate")  # Names of the third axis of scores


class Definition(Protocol):
    """Properties of a measure that `Scores` uses; :class:`cranfield.measures.Measure` has them.

    info: declaration of the measure, with `aggregate` and `lower_is_better`.
    scale, scale_source: measurement scale, and who declared it: `measure` or `user`.
    label: name under which the measure was requested.
    """

    @property
    def info(self) -> Any: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def scale_source(self) -> str: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Scores(Averages, FrameMixin, PlotsMixin):
    """Scores of one measure.

    Attributes
    ----------
    values
        Read-only array, shape (topics, systems[, shards or replicates]); NaN means no score.
    topics, systems
        Labels of the first two axes.
    measure
        Name of the measure: the requested name, such as `map`, or its text form.
    aggregate
        Aggregate of the measure over topics: `mean`, `sum` or `geometric`.
    settings
        Options with which the scores were computed, for the record.
    scale
        The measurement scale of the scores, or its name: `nominal`, `ordinal`, `interval` or
        `ratio`. Defaults to the scale of the measure; None if it is unknown.
    lower_is_better
        Whether lower scores are better, as for latency or RMSE.
    shards
        Labels of the third axis, by default numbers from 1; empty if there is no third axis.
    definition
        The measure; by default the known measure with the name `measure`, or None. It provides
        aggregate, direction, default scale and name, unless `measure` is passed, too.
    has_direction
        Whether the user or the definition of the measure stated the direction; otherwise
        comparisons add a note if the name suggests that lower is better.
    scale_source
        Who declared the scale: `measure`, `user` if it was passed as an argument, or empty.
    axis
        Meaning of the third axis: `shard`, the default, or `replicate` for several rankings or
        answers of each system, padded with NaN; empty if there is no third axis.

    Examples
    --------
    >>> scores = Scores([[0.5, 1.0], [0.0, 0.5]], topics=["q1", "q2"], systems=["a", "b"])
    >>> scores.mean().tolist(), scores.select(systems="b").values.tolist()
    ([0.25, 0.75], [[1.0], [0.5]])
    """

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    measure: str = ""
    aggregate: str = "mean"
    settings: dict[str, Any] = field(default_factory=dict)
    scale: Scale | None = None
    lower_is_better: bool = False
    shards: tuple[str, ...] = ()
    definition: Definition | None = None
    has_direction: bool = False
    scale_source: str = ""
    axis: str = ""

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        data = self.values
        values = np.array(np.ma.filled(np.ma.asarray(data, dtype=np.float64), np.nan))
        values.flags.writeable = False
        set_(self, "values", values)
        shape = self.values.shape
        if len(shape) == 3 and not self.shards:
            set_(self, "shards", range(1, shape[2] + 1))
        for axis in ("topics", "systems", "shards"):
            if isinstance(getattr(self, axis), (set, frozenset)):
                raise CranfieldError(f"expected {axis} in order, got a set")
            set_(self, axis, tuple(map(str, map(convert_whole_float, getattr(self, axis)))))
        set_(self, "axis", (self.axis or AXES[0]) if self.shards else "")
        check_choice("axis", self.axis, (*AXES, ""))
        labels = self.labels
        if len(shape) not in {2, 3} or shape != tuple(map(len, labels.values())):
            sizes = " and ".join(f"{len(names)} {axis}s" for axis, names in labels.items())
            raise CranfieldError(f"expected values for {sizes}, got values of shape {shape}")
        for axis, names in labels.items():
            if len(set(names)) < len(names):
                duplicate = next(label for label in names if names.count(label) > 1)
                raise CranfieldError(f"{axis} {quote(duplicate)} occurs twice")
        if hasattr(data, "columns"):
            _check_frame_labels(data, labels)
        if self.scale is not None:
            set_(self, "scale", find_scale(self.scale))
            set_(self, "scale_source", self.scale_source or "user")
        set_(self, "measure", str(self.measure))
        if self.definition is None and self.measure:
            self._set_properties(LOADERS["measures"]().find_measure(self.measure))
        elif self.definition is not None and not self.measure:
            set_(self, "measure", self.definition.label)
            self._set_properties(self.definition)
        if self.lower_is_better or self.definition is not None:
            set_(self, "has_direction", True)
        check_choice("aggregate", self.aggregate, AGGREGATES)

    def _set_properties(self, definition: Definition | None) -> None:
        """Set the properties of a known measure; refuse arguments that contradict it."""
        if definition is None:
            return
        info = definition.info
        if self.lower_is_better:
            self._check_direction(definition, True)
        if self.aggregate not in ("mean", info.aggregate):
            raise PolicyError(
                f"aggregate of {self.measure} must be {info.aggregate!r}, got {self.aggregate!r}"
            )
        set_ = object.__setattr__
        set_(self, "definition", definition)
        set_(self, "aggregate", info.aggregate)
        set_(self, "lower_is_better", info.lower_is_better)
        if self.scale is None:
            set_(self, "scale", definition.scale)
            set_(self, "scale_source", definition.scale_source)

    def _check_direction(self, definition: Definition, lower_is_better: bool) -> None:
        if definition.info.lower_is_better != lower_is_better:
            actual, requested = ("higher", "lower") if lower_is_better else ("lower", "higher")
            raise PolicyError(
                f"expected '{actual} is better' for {self.measure}, got '{requested} is better'; if"
                " the scores are of another measure, rename the measure"
            )

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Labels by axis: `topic`, `system`, and `shard` or `replicate` if any."""
        axes = {"topic": self.topics, "system": self.systems}
        return {**axes, self.axis: self.shards} if self.shards else axes

    def with_direction(self, lower_is_better: bool) -> Scores:
        """Return the scores with a stated direction.

        Parameters
        ----------
        lower_is_better
            Whether lower scores are better.

        Raises
        ------
        PolicyError
            If the definition of the measure has the other direction.

        Examples
        --------
        >>> scores = Scores([[120.0, 80.0]], topics=["q1"], systems=["slow", "fast"])
        >>> scores.with_direction(lower_is_better=True).lower_is_better
        True
        """
        if self.definition is not None:
            self._check_direction(self.definition, lower_is_better)
        return replace(self, lower_is_better=bool(lower_is_better), has_direction=True)

    def get_direction_notes(self) -> list[str]:
        """Return a note if lower scores are better, or if only the name suggests it."""
        if self.lower_is_better:
            return [f"lower scores of {self.measure or 'the measure'} are better"]
        is_unclear = not self.has_direction and suggests_lower(self.measure)
        return [describe_direction(self.measure)] if is_unclear else []

    def __getitem__(self, system: str) -> dict[str, float]:
        """Return the scores of a system by topic, excluding topics without a score.

        Raises
        ------
        PolicyError
            For an unknown system (the message suggests similar names), or a third axis of scores.

        Examples
        --------
        >>> scores = Scores([[0.5, 1.0], [0.0, np.nan]], topics=["q1", "q2"], systems=["a", "b"])
        >>> scores["a"], scores["b"]
        ({'q1': 0.5, 'q2': 0.0}, {'q1': 1.0})
        """
        if system not in self.systems and system in self.topics:
            name = quote(system)
            raise PolicyError(f"{name} is a topic, not a system; use select(topics={name})")
        values = self.require_two_axes("systems have several scores for a topic, by shard")
        column = values[:, find_label(system, self.systems)]
        has_score = ~np.isnan(column)
        return dict(zip(compress(self.topics, has_score), column[has_score].tolist(), strict=True))

    __iter__: ClassVar[None] = None
    """Scores are not iterable: iterate over `topics` or `systems`."""

    def select(
        self,
        topics: LabelsOrIndices = None,
        systems: LabelsOrIndices = None,
        shards: LabelsOrIndices = None,
    ) -> Scores:
        """Return the scores of some topics, systems or shards, in the requested order.

        Parameters
        ----------
        topics, systems, shards
            Labels, one label, indices, or a Boolean mask; None for all. No label may occur twice.

        Raises
        ------
        PolicyError
            For an unknown label (the message suggests similar labels), an index out of range, a
            mask of another length, and if `shards` is not None but the scores have none.
        CranfieldError
            For a label that occurs twice.
        """
        if shards is not None and not self.shards:
            raise PolicyError(f"selecting shards requires scores by shard, got {self!r}")
        axes = zip((topics, systems, shards), self.labels.items(), strict=False)
        indices = [find_labels(selection, labels, axis) for selection, (axis, labels) in axes]
        names = [
            tuple(labels[index] for index in axis_indices.tolist())
            for axis_indices, labels in zip(indices, self.labels.values(), strict=True)
        ]
        # np.ix_ copies to contiguous memory, on which the order of additions depends.
        values = self.values[np.ix_(*indices)]
        selected_labels: Any = dict(zip(("topics", "systems", "shards"), names, strict=False))
        return replace(self, values=values, **selected_labels)

    def with_scale(self, scale: Scale | str) -> Scores:
        """Return the scores with a declared scale.

        Parameters
        ----------
        scale
            `nominal`, `ordinal`, `interval` or `ratio`. Comparisons use this scale instead of the
            scale of the measure, and say so in a note.

        Examples
        --------
        >>> scores = Scores([[0.5, 1.0]], topics=["q1"], systems=["a", "b"]).with_scale("ratio")
        >>> str(scores.scale), scores.scale_source
        ('ratio', 'user')
        """
        return replace(self, scale=find_scale(scale), scale_source="user")

    def align(self, like: Scores, names: tuple[str, str] = ("the first", "the second")) -> Scores:
        """Return the scores in the order of the topics and systems of reference scores.

        Parameters
        ----------
        like
            The reference scores, of the same topics and systems; by shard or not.
        names
            Names of these scores and of the reference scores in error messages.
        """
        for axis in ("topic", "system"):
            named_labels = zip(names, (self.labels[axis], like.labels[axis]), strict=True)
            for (name, labels), (other_name, other_labels) in permutations(named_labels):
                if (label := find_missing_label(other_labels, labels)) is not None:
                    cause = f"{axis} {quote(label)}, which {other_name} has"
                    raise CranfieldError(f"{name} lacks {cause}")
        if (self.topics, self.systems) == (like.topics, like.systems):
            return self
        return self.select(like.topics, like.systems)

    def complete(self, missing: str = "error", hint: str = "") -> tuple[Scores, tuple[str, ...]]:
        """Return the scores without gaps, and notes on excluded topics or filled gaps.

        Parameters
        ----------
        missing
            `error`; `drop`: exclude topics that lack a score; `zero`: count a missing score as 0.
        hint
            End of the error message.
        """
        [values], is_complete, notes = fill_missing(
            [self.values], missing, lambda _, cell: f"{self.describe_cell(cell)} has no score", hint
        )
        topics = tuple(compress(self.topics, is_complete))
        if missing == "zero" and notes and self.lower_is_better:
            notes = (*notes, "as lower scores are better, 0 favours systems that lack scores")
        return replace(self, values=values, topics=topics), notes

    def require_two_axes(self, reason: str = "scores by shard are not supported here") -> Floats:
        """Return the values by topic and system; raise if the scores have a third axis."""
        if self.axis == "replicate":
            raise PolicyError(
                "scores by replicate are not supported here, as replicates are neither topics nor"
                " systems; use a test of replicates, or average them (Scores.average_shards)"
            )
        if self.shards:
            raise PolicyError(f"{reason}: average them over shards first")
        return self.values

    def check_finite(self, suffix: str = "") -> Scores:
        """Return the scores; raise if one is infinite, with `suffix` after the name of its cell."""
        if (cells := np.argwhere(np.isinf(self.values))).size:
            raise CranfieldError(f"{self.describe_cell(cells[0])}{suffix} has an infinite score")
        return self

    def describe_cell(self, index: Sequence[int] | Ints) -> str:
        """Return the name of a cell of the values: system, topic, and shard or replicate if any."""
        check_list("index", index)
        try:
            topic, system, *shard = (
                labels[int(k)] for k, labels in zip(index, self.labels.values(), strict=True)
            )
        except (IndexError, ValueError):
            axes = ", ".join(self.labels)
            reason = f"expected indices of {axes} of {self!r}, got {quote(index)}"
            raise PolicyError(reason) from None
        location = f" in {self.axis} {sanitise(shard[0])}" if shard else ""
        return f"system {quote(system)} on topic {quote(topic)}{location}"

    def overall(self) -> Floats:
        """Return the mean, sum or geometric mean of each system, as the measure defines."""
        if self.aggregate == "sum":
            return self.sum()
        return self.geometric_mean() if self.aggregate == "geometric" else self.mean()

    def system_means(self) -> Floats:
        """Return the mean of all scores of each system, over all shards; shape (systems,)."""
        return self.mean_along(0, 2) if self.shards else self.mean()

    def average_shards(self) -> Scores:
        """Return the means over shards or replicates; unchanged scores without a third axis."""
        return replace(self, values=self.mean_along(2), shards=()) if self.shards else self

    def summary(self, by: str = "system") -> pl.DataFrame:
        """Return number, mean, median, geometric mean and standard deviation of scores by an axis.

        `by` is a key of `labels`; `system` requires scores without a third axis.
        """
        check_choice("by", by, self.labels)
        if by == "system":
            self.require_two_axes("scores by shard cannot be summarised by system")
        axis = list(self.labels).index(by)
        values = np.moveaxis(self.values, axis, -1)
        averages = Averages(values.reshape(math.prod(values.shape[:-1]), values.shape[-1]))
        count_name = "scores" if self.shards else {"system": "topics", "topic": "systems"}[by]
        return pl.DataFrame(
            {
                by: self.labels[by],
                count_name: averages.count_topics(),
                "mean": averages.mean(),
                "median": averages.median(),
                "geometric mean": averages.geometric_mean(),
                "std": averages.std(),
            }
        )

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the scores as `{system: {topic: score}}`, excluding topics without a score.

        Examples
        --------
        >>> Scores([[0.5, 1.0], [0.0, np.nan]], ["q1", "q2"], ["a", "b"]).to_dict()
        {'a': {'q1': 0.5, 'q2': 0.0}, 'b': {'q1': 1.0}}
        """
        return {system: self[system] for system in self.systems}

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each topic and a column for each system; null for no score."""
        values = self.require_two_axes(NO_TABLE)
        columns = {"topic": pl.Series(self.topics, dtype=pl.String)}
        for i, system in enumerate(self.systems):
            name = system if system not in columns else f"{system} "
            columns[name] = pl.Series(values[:, i]).fill_nan(None)
        return pl.DataFrame(columns)

    def to_long(self) -> pl.DataFrame:
        """Return a row for each score: `topic`, `system`, third axis if any, `score` or null."""
        # Without shards, topics vary fastest; with shards, shards do.
        order: Any = "C" if self.shards else "F"
        indices = np.indices(self.values.shape).reshape(self.values.ndim, -1, order=order)
        columns = {
            axis: pl.Series(labels, dtype=pl.String).gather(rows)
            for (axis, labels), rows in zip(self.labels.items(), indices, strict=True)
        }
        columns["score"] = pl.Series(self.values.ravel(order)).fill_nan(None)
        return pl.DataFrame(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame, topics as index, systems as columns."""
        pandas = import_optional("pandas")
        return pandas.DataFrame(
            self.require_two_axes(NO_TABLE),
            index=pandas.Index(self.topics, name="topic"),
            columns=pandas.Index(self.systems, name="system"),
        )

    def to_xarray(self) -> xr.DataArray:
        """Return an xarray data array with dimensions topic, system, and the third axis if any."""
        return import_optional("xarray").DataArray(  # type: ignore[no-any-return]
            self.values,
            dims=tuple(self.labels),
            coords={axis: list(labels) for axis, labels in self.labels.items()},
            name=self.measure or None,
        )

    def _repr_html_(self) -> str:
        if self.shards:
            return f"<pre>{escape_html(repr(self))}</pre>\n"
        return render_frame(self.summary(), repr(self))

    def __repr__(self) -> str:
        sizes = (inflect(len(labels), axis) for axis, labels in self.labels.items())
        return f"Scores({format_prefix(self.measure)}{', '.join(sizes)})"


def combine_systems(scores_by_system: Mapping[str, Scores]) -> Scores:
    """Combine the scores of separately evaluated systems, named by the keys of the mapping.

    Each value has one system. Missing scores are NaN, and topics are in order of appearance. The
    measure is that of the first scores; the settings are those that all scores have in common.

    Examples
    --------
    >>> a = Scores([[0.5], [1.0]], topics=["q1", "q2"], systems=["run"], measure="AP")
    >>> b = Scores([[0.25]], topics=["q2"], systems=["run"], measure="AP")
    >>> combine_systems({"a": a, "b": b}).values.tolist()
    [[0.5, nan], [1.0, 0.25]]
    """
    score_list = list(scores_by_system.values())
    first = score_list[0]
    if any(scores.shards != first.shards for scores in score_list):
        raise CranfieldError("expected the same shards for all systems, got different shards")
    topics = tuple(dict.fromkeys(topic for scores in score_list for topic in scores.topics))
    rows = {topic: row for row, topic in enumerate(topics)}
    values = np.full((len(topics), len(score_list), *first.values.shape[2:]), np.nan)
    for k, scores in enumerate(score_list):
        values[[rows[topic] for topic in scores.topics], k] = scores.values[:, 0]
    if any(scores.lower_is_better != first.lower_is_better for scores in score_list):
        raise CranfieldError(
            "expected scores of one measure, got lower scores as better for some systems only"
        )
    settings = find_common_settings(scores_by_system)
    systems = tuple(scores_by_system)
    return replace(first, values=values, topics=topics, systems=systems, settings=settings)


def find_common_settings(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Return the settings with the same value in all scores."""
    first, *others = (measure_scores.settings for measure_scores in scores.values())
    return {k: v for k, v in first.items() if all(other.get(k) == v for other in others)}


def align_scores(
    scores: Mapping[Any, Scores],
    *,
    allows_shards: bool = False,
    format_name: Callable[[Any], str] = quote,
) -> dict[Any, Scores]:
    """Align the scores of each measure with the topics and systems of the first.

    Raise an error for infinite scores and, unless `allows_shards` is True, for scores by shard.
    """
    (first, reference), *_ = scores.items()
    aligned_scores = {}
    for name, measure_scores in scores.items():
        if not allows_shards:
            measure_scores.require_two_axes(f"{format_name(name)} has scores by shard")
        table = measure_scores.check_finite(f" by {format_name(name)}")
        aligned_scores[name] = table.align(reference, (format_name(name), format_name(first)))
    return aligned_scores


def complete_scores(
    scores: Mapping[str, Scores], missing: str
) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """Apply a policy for missing scores to aligned scores; all measures keep the same topics."""
    names = list(scores)
    filled_values, is_complete, notes = fill_missing(
        [measure_scores.values for measure_scores in scores.values()],
        missing,
        lambda k, cell: f"{scores[names[k]].describe_cell(cell)} has no score of {quote(names[k])}",
        suffix=" by every measure",
    )
    topics = tuple(compress(scores[names[0]].topics, is_complete))
    return {
        name: replace(measure_scores, values=values, topics=topics)
        for (name, measure_scores), values in zip(scores.items(), filled_values, strict=True)
    }, notes


def make_overall_table(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return the aggregated score of each system (rows) by each measure (columns)."""
    systems = next(iter(scores.values())).systems
    for measure_scores in scores.values():
        measure_scores.require_two_axes("scores by shard cannot be written as a table of systems")
    columns = {name: measure_scores.overall() for name, measure_scores in scores.items()}
    return pl.DataFrame({"system": pl.Series(systems, dtype=pl.String), **columns}).fill_nan(None)


def make_long_table(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return a row for each score: measure, topic, system, third axis if any, score or null."""
    return pl.concat(
        measure_scores.to_long().select(pl.lit(name).alias("measure"), pl.all())
        for name, measure_scores in scores.items()
    )
