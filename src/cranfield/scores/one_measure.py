"""Scores by topic and system, of one measure or of several."""

from __future__ import annotations

import math
import re
import shlex
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
    check_several,
    optional_module,
    quoted,
)
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.showing import Plotted
from cranfield.base.text import counted, did_you_mean, html, plain, some_of
from cranfield.scores.averages import Averages, fill_missing
from cranfield.tabular import Framed, frame_html

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


LOWER_WORDS = frozenset(
    {"latency", "latencies", "time", "times", "cost", "costs", "loss", "losses", "error", "errors"}
    | {"rmse", "mse", "mae", "perplexity", "energy"}
)
"""Words in names of measures for which lower scores are nearly always better."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def suggests_lower(name: str) -> bool:
    """Return True if a whole word of a name is nearly always used for lower-is-better scores.

    Words end at characters other than letters and where camel case begins a new one.

    Examples
    --------
    >>> [suggests_lower(name) for name in ("latency_ms", "query time", "testRMSE", "QueryTime")]
    [True, True, True, True]
    >>> [suggests_lower(name) for name in ("timeliness", "lossless", "AP", "")]
    [False, False, False, False]
    """
    return any(word.lower() in LOWER_WORDS for word in _WORD.findall(name))


def direction_note(name: str) -> str:
    """Return the note on scores whose name suggests lower is better, without a stated direction."""
    return (
        f"{name}: higher scores are treated as better; if lower is better, pass"
        f" lower_is_better=True (--lower {shlex.quote(name)})"
    )


def place_of(name: object, labels: Sequence[str], kind: str = "system", role: str = "") -> int:
    """Return the index of a label; the error for an unknown label suggests similar ones."""
    if name in labels:
        return labels.index(str(name))
    known = f"expected one of: {some_of(map(quoted, labels), 10)}"
    hint = did_you_mean(name, labels, otherwise=known, show=quoted)
    raise PolicyError(f"unknown {kind} {quoted(name)}{role}{hint}")


def places_of(selection: Any, labels: Sequence[str], kind: str = "system") -> Indices:
    """Return the indices of a selection: labels, a mask, indices, or None for all."""
    if selection is None:
        return np.arange(len(labels))
    if isinstance(selection, np.ndarray) and selection.dtype.kind in "bui":
        return np.flatnonzero(selection) if selection.dtype == bool else selection
    names = [selection] if isinstance(selection, str) else list(selection)
    if names and all(isinstance(name, (int, np.integer)) for name in names):
        return np.array(names, dtype=np.intp)
    places = {label: place for place, label in enumerate(labels)}
    return np.array(
        [places[name] if name in places else place_of(name, labels, kind) for name in names],
        dtype=np.intp,
    )


def first_lacking(labels: Sequence[str], other_labels: Sequence[str]) -> str | None:
    """Return the first label that the others lack, or None."""
    present = set(other_labels)
    return next((label for label in labels if label not in present), None)


AGGREGATES = ("mean", "sum", "geometric")
"""Aggregates of the scores of a measure over topics."""

NO_TABLE = "scores by shard cannot be written as a table of topics and systems"

AXES = ("shard", "replicate")
"""Names of the third axis of scores."""

BY_REPLICATE = (
    "scores by replicate are not supported here, as replicates are neither topics nor systems;"
    " average them first (over_shards, or evaluate --as replicates), or use a test of replicates"
)
"""The error where scores by replicate would be read as scores of topics and systems."""


class Definition(Protocol):
    """The properties of a measure that scores use; measures are defined in a higher layer."""

    @property
    def info(self) -> Any:
        """Its declaration, with `aggregate` and `lower_is_better`."""

    @property
    def scale(self) -> Scale:
        """Its measurement scale."""

    @property
    def scale_source(self) -> str:
        """Who declared the scale: `measure` or `user`."""

    @property
    def label(self) -> str:
        """The requested name."""


@dataclass(frozen=True, eq=False)
class Scores(Averages, Framed, Plotted):
    """Scores of one measure.

    Attributes
    ----------
    values
        Shape (topics, systems), or (topics, systems, shards or replicates); NaN is 'no score'.
    topics, systems
        Labels of the first two axes.
    measure
        Name of the measure: the requested name, such as `map`, or its text form.
    aggregate
        Aggregate of the measure over topics: `mean`, `sum` or `geometric`.
    settings
        Options with which the scores were made, for the record.
    scale
        The measurement scale of the scores, or its name: `nominal`, `ordinal`, `interval` or
        `ratio`. By default that of the measure; None if it is not known.
    lower_is_better
        Whether lower scores are better, as for latency or RMSE.
    shards
        Labels of the third axis, by default their numbers; empty without one.
    definition
        The measure, or None. Without `measure`, the name, aggregate, direction, and by default the
        scale are those of the definition.
    has_direction
        Whether the direction was stated, by the user or by the definition of the measure; otherwise
        comparisons add a note if the name suggests that lower is better.
    scale_source
        Who declared the scale: `measure`, `user` for a scale that was passed as an argument, or
        empty.
    axis
        Meaning of the third axis: `shard`, the default, or `replicate` for several rankings or
        answers of each system, where a system with fewer replicates than others has NaN; empty
        without one.

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
        set_(self, "values", np.asarray(self.values, dtype=np.float64))
        shape = self.values.shape
        if len(shape) == 3 and not self.shards:
            set_(self, "shards", range(1, shape[2] + 1))
        for axis in ("topics", "systems", "shards"):
            set_(self, axis, tuple(str(label) for label in getattr(self, axis)))
        set_(self, "axis", (self.axis or AXES[0]) if self.shards else "")
        check_choice("axis", self.axis, (*AXES, ""))
        labels = self.labels
        if len(shape) not in {2, 3} or shape != tuple(map(len, labels.values())):
            sizes = " and ".join(f"{len(names)} {axis}s" for axis, names in labels.items())
            raise CranfieldError(f"values of shape {shape} do not fit {sizes}")
        for axis, names in labels.items():
            if len(set(names)) < len(names):
                twice = next(label for label in names if names.count(label) > 1)
                raise CranfieldError(f"two {axis}s are called {quoted(twice)}")
        if self.scale is not None:
            set_(self, "scale", find_scale(self.scale))
            set_(self, "scale_source", self.scale_source or "user")
        if self.definition is not None and not self.measure:
            set_(self, "measure", self.definition.label)
            set_(self, "aggregate", self.definition.info.aggregate)
            if self.scale is None:
                set_(self, "scale", self.definition.scale)
                set_(self, "scale_source", self.definition.scale_source)
            set_(self, "lower_is_better", self.definition.info.lower_is_better)
        if self.lower_is_better or self.definition is not None:
            set_(self, "has_direction", True)
        if self.aggregate not in AGGREGATES:
            raise CranfieldError(
                f"unknown aggregate {quoted(self.aggregate)}; expected one of: {AGGREGATES}"
            )

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of the axes `topic`, `system`, and `shard` or `replicate` if any."""
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
        if self.definition is not None and self.definition.info.lower_is_better != lower_is_better:
            has, got = ("higher", "lower") if lower_is_better else ("lower", "higher")
            raise PolicyError(
                f"{self.measure} is a measure for which {has} is better, got {got} is better;"
                " rename the scores if they are of something else"
            )
        return replace(self, lower_is_better=bool(lower_is_better), has_direction=True)

    def direction_notes(self) -> list[str]:
        """Return a note if lower is better, or if only the name suggests so."""
        if self.lower_is_better:
            return [f"lower scores of {self.measure or 'the measure'} are better"]
        is_unclear = not self.has_direction and suggests_lower(self.measure)
        return [direction_note(self.measure)] if is_unclear else []

    def __getitem__(self, system: str) -> dict[str, float]:
        """Return the scores of a system by topic, without topics that have no score.

        Raises
        ------
        PolicyError
            For an unknown system, with similar names; for scores by shard.

        Examples
        --------
        >>> scores = Scores([[0.5, 1.0], [0.0, np.nan]], topics=["q1", "q2"], systems=["a", "b"])
        >>> scores["a"], scores["b"]
        ({'q1': 0.5, 'q2': 0.0}, {'q1': 1.0})
        """
        if system not in self.systems and system in self.topics:
            name = quoted(system)
            raise PolicyError(f"{name} is a topic, not a system; use select(topics={name})")
        column = self.flat(NO_TABLE)[:, place_of(system, self.systems)]
        has_score = ~np.isnan(column)
        return dict(zip(compress(self.topics, has_score), column[has_score].tolist(), strict=True))

    __iter__: ClassVar[None] = None
    """Iterate over `topics` or `systems`: both are labels."""

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
            Labels, one label, indices, or a Boolean mask; None for all.

        Raises
        ------
        PolicyError
            For an unknown label, with similar ones; for shards of scores without shards.
        """
        if shards is not None and not self.shards:
            raise PolicyError(f"shards require scores by shard, got {self!r}")
        axes = zip((topics, systems, shards), self.labels.items(), strict=False)
        places = [places_of(selection, labels, axis) for selection, (axis, labels) in axes]
        names = [
            tuple(labels[place] for place in indices.tolist())
            for indices, labels in zip(places, self.labels.values(), strict=True)
        ]
        return replace(
            self,
            # Contiguous in memory: the order of additions depends on it.
            values=self.values[np.ix_(*places)],
            topics=names[0],
            systems=names[1],
            shards=names[2] if self.shards else (),
        )

    def with_scale(self, scale: Scale | str) -> Scores:
        """Return the scores with a declared scale.

        Parameters
        ----------
        scale
            `nominal`, `ordinal`, `interval` or `ratio`. Comparisons use it instead of the scale of
            the measure, and report that.

        Examples
        --------
        >>> scores = Scores([[0.5, 1.0]], topics=["q1"], systems=["a", "b"]).with_scale("ratio")
        >>> str(scores.scale), scores.scale_source
        ('ratio', 'user')
        """
        return replace(self, scale=find_scale(scale), scale_source="user")

    def aligned(self, like: Scores, names: tuple[str, str] = ("one", "the other")) -> Scores:
        """Return the scores in the order of the topics and systems of other scores.

        Parameters
        ----------
        like
            The other scores, of the same topics and systems; by shard or not.
        names
            Names of these scores and the others in messages.
        """
        for axis in ("topic", "system"):
            labels_of = zip(names, (self.labels[axis], like.labels[axis]), strict=True)
            for (name, labels), (other_name, other_labels) in permutations(labels_of):
                if (label := first_lacking(other_labels, labels)) is not None:
                    raise CranfieldError(
                        f"{name} lacks {axis} {quoted(label)}, which {other_name} has"
                    )
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
            [self.values], missing, lambda _, place: f"{self.cell(place)} has no score", hint
        )
        topics = tuple(compress(self.topics, is_complete))
        if missing == "zero" and notes and self.lower_is_better:
            notes = (*notes, "0 is a good score here, as lower scores are better")
        return replace(self, values=values, topics=topics), notes

    def flat(self, reason: str = "scores by shard are not supported here") -> Floats:
        """Return the values by topic and system; scores by shard are an error, with this reason."""
        if self.axis == "replicate":
            raise PolicyError(BY_REPLICATE)
        if self.shards:
            raise PolicyError(f"{reason}: average them over shards first")
        return self.values

    def finite(self, suffix: str = "") -> Scores:
        """Return the scores; refuse infinite ones, with `suffix` after the cell in the message."""
        infinite = np.argwhere(np.isinf(self.values))
        if infinite.size:
            raise CranfieldError(f"{self.cell(infinite[0])}{suffix} has an infinite score")
        return self

    def cell(self, place: Sequence[int] | Ints) -> str:
        """Describe a cell of the values: system, topic, and shard or replicate if any."""
        check_several("place", place)
        try:
            topic, system, *shard = (
                labels[int(k)] for k, labels in zip(place, self.labels.values(), strict=True)
            )
        except (IndexError, ValueError):
            raise PolicyError(f"{quoted(place)} is not a cell of {self!r}") from None
        in_shard = f" in {self.axis} {plain(shard[0])}" if shard else ""
        return f"system {quoted(system)} on topic {quoted(topic)}{in_shard}"

    def overall(self) -> Floats:
        """Return the mean, sum or geometric mean of each system, as the measure defines."""
        if self.aggregate == "sum":
            return self.sum()
        return self.geometric_mean() if self.aggregate == "geometric" else self.mean()

    def grand_mean(self) -> Floats:
        """Return the mean of all scores of each system, over all shards; shape (systems,)."""
        return self.mean_along(0, 2) if self.shards else self.mean()

    def over_shards(self) -> Scores:
        """Return the means over shards, or replicates, with a score."""
        return replace(self, values=self.mean_along(2), shards=()) if self.shards else self

    def summary(self, by: str = "system") -> pl.DataFrame:
        """Return mean, median, geometric mean and standard deviation by system, topic or shard.

        By system, scores by shard are refused: the shards of a topic are not separate topics.
        """
        check_choice("by", by, self.labels)
        if by == "system":
            self.flat(NO_TABLE)
        axis = list(self.labels).index(by)
        table = np.moveaxis(self.values, axis, -1)
        table = table.reshape(math.prod(table.shape[:-1]), table.shape[-1])
        number = "scores" if self.shards else {"system": "topics", "topic": "systems"}[by]
        averages = Averages(table)
        return pl.DataFrame(
            {
                by: self.labels[by],
                number: averages.counts(),
                "mean": averages.mean(),
                "median": averages.median(),
                "geometric mean": averages.geometric_mean(),
                "std": averages.std(),
            }
        )

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the scores, `{system: {topic: score}}`, without topics that have no score.

        Examples
        --------
        >>> Scores([[0.5, 1.0], [0.0, np.nan]], ["q1", "q2"], ["a", "b"]).to_dict()
        {'a': {'q1': 0.5, 'q2': 0.0}, 'b': {'q1': 1.0}}
        """
        return {system: self[system] for system in self.systems}

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each topic and a column for each system; null without a score."""
        values = self.flat(NO_TABLE)
        columns = {"topic": pl.Series(self.topics, dtype=pl.String)}
        for i, system in enumerate(self.systems):
            name = system if system not in columns else f"{system} "
            columns[name] = pl.Series(values[:, i]).fill_nan(None)
        return pl.DataFrame(columns)

    def to_long(self) -> pl.DataFrame:
        """Return a row for each score: `topic`, `system`, any third axis, `score` or null."""
        # Without shards, topics vary fastest; with shards, shards do.
        order: Any = "C" if self.shards else "F"
        places = np.indices(self.values.shape).reshape(self.values.ndim, -1, order=order)
        return pl.DataFrame(
            {
                **{
                    axis: pl.Series(labels, dtype=pl.String).gather(place)
                    for (axis, labels), place in zip(self.labels.items(), places, strict=True)
                },
                "score": pl.Series(self.values.ravel(order)).fill_nan(None),
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame, topics as index, systems as columns."""
        pandas = optional_module("pandas")
        return pandas.DataFrame(
            self.flat(NO_TABLE),
            index=pandas.Index(self.topics, name="topic"),
            columns=pandas.Index(self.systems, name="system"),
        )

    def to_xarray(self) -> xr.DataArray:
        """Return an xarray data array with dimensions topic, system (and shard)."""
        return optional_module("xarray").DataArray(  # type: ignore[no-any-return]
            self.values,
            dims=tuple(self.labels),
            coords={axis: list(labels) for axis, labels in self.labels.items()},
            name=self.measure or None,
        )

    def _repr_html_(self) -> str:
        if self.shards:
            return f"<pre>{html(repr(self))}</pre>\n"
        return frame_html(self.summary(), repr(self))

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        sizes = (counted(len(labels), axis) for axis, labels in self.labels.items())
        return f"Scores({label}{', '.join(sizes)})"


def side_by_side(scores_of: Mapping[str, Scores]) -> Scores:
    """Combine systems that were scored separately, by their new names.

    Missing scores are NaN; topics are in order of appearance. The measure is that of the first, and
    settings are those that all have in common.

    Examples
    --------
    >>> a = Scores([[0.5], [1.0]], topics=["q1", "q2"], systems=["run"], measure="AP")
    >>> b = Scores([[0.25]], topics=["q2"], systems=["run"], measure="AP")
    >>> side_by_side({"a": a, "b": b}).values.tolist()
    [[0.5, nan], [1.0, 0.25]]
    """
    tables = list(scores_of.values())
    first = tables[0]
    if any(table.shards != first.shards for table in tables):
        raise CranfieldError("expected scores on the same shards")
    topics = tuple(dict.fromkeys(topic for table in tables for topic in table.topics))
    place = {topic: k for k, topic in enumerate(topics)}
    values = np.full((len(topics), len(tables), *first.values.shape[2:]), np.nan)
    for k, table in enumerate(tables):
        values[[place[topic] for topic in table.topics], k] = table.values[:, 0]
    if any(table.lower_is_better != first.lower_is_better for table in tables):
        raise CranfieldError("expected scores of one direction, got lower and higher is better")
    common = {
        name: value
        for name, value in first.settings.items()
        if all(table.settings.get(name) == value for table in tables)
    }
    return replace(first, values=values, topics=topics, systems=tuple(scores_of), settings=common)


def align_scores(
    scores: Mapping[Any, Scores], *, shards: bool = False, called: Callable[[Any], str] = quoted
) -> dict[Any, Scores]:
    """Align finite scores with the topics and systems of the first measure."""
    (first, like), *_ = scores.items()
    out = {}
    for name, table in scores.items():
        if not shards:
            table.flat(f"{called(name)} has scores by shard")
        finite = table.finite(f" by {called(name)}")
        out[name] = finite.aligned(like, (called(name), called(first)))
    return out


def complete_scores(
    scores: Mapping[str, Scores], missing: str
) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """Apply a policy for missing scores to aligned scores, so that all have the same topics."""
    names = list(scores)
    filled_values, is_complete, notes = fill_missing(
        [table.values for table in scores.values()],
        missing,
        cell=lambda k, place: f"{scores[names[k]].cell(place)} has no score by {quoted(names[k])}",
        suffix=" by every measure",
    )
    return {
        name: replace(table, values=values, topics=tuple(compress(table.topics, is_complete)))
        for (name, table), values in zip(scores.items(), filled_values, strict=True)
    }, notes


def by_system(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return overall values: a row for each system, a column for each measure."""
    systems = next(iter(scores.values())).systems
    for table in scores.values():
        table.flat("a table of systems does not take scores by shard")
    columns = {name: pl.Series(table.overall()).fill_nan(None) for name, table in scores.items()}
    return pl.DataFrame({"system": pl.Series(systems, dtype=pl.String), **columns})


def long_table(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return all scores: measure, topic, system, shard if any, score or null."""
    return pl.concat(
        table.to_long().select(pl.lit(name).alias("measure"), pl.all())
        for name, table in scores.items()
    )
