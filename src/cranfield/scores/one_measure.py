"""Scores by topic and system, of one measure or of several."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, permutations
from os import PathLike
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
from cranfield.base.files import whole_file
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.showing import Plotted
from cranfield.base.text import counted, did_you_mean, html, plain
from cranfield.scores.averages import Averages, filled
from cranfield.tabular import frame_html

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


def place_of(name: object, labels: Sequence[str], what: str = "system", role: str = "") -> int:
    """Return where a label stands; one that is not there is refused, with the nearest ones."""
    if name in labels:
        return labels.index(str(name))
    hint = did_you_mean(name, labels, shown=quoted)
    raise PolicyError(f"there is no {what} {quoted(name)}{role}{hint}")


def places_of(asked: Any, labels: Sequence[str], what: str = "system") -> Indices:
    """Return where labels stand; indices are taken as they are, a mask as what it picks."""
    if asked is None:
        return np.arange(len(labels))
    if isinstance(asked, np.ndarray) and asked.dtype.kind in "bui":
        return np.flatnonzero(asked) if asked.dtype == bool else asked
    names = [asked] if isinstance(asked, str) else list(asked)
    if names and all(isinstance(name, (int, np.integer)) for name in names):
        return np.array(names, dtype=np.intp)
    places = {label: place for place, label in enumerate(labels)}
    found = [places[name] if name in places else place_of(name, labels, what) for name in names]
    return np.array(found, dtype=np.intp)


def lacking(labels: Sequence[str], others: Sequence[str]) -> str | None:
    """Return the first label that the others lack; None where they have all."""
    known = set(others)
    return next((label for label in labels if label not in known), None)


AGGREGATES = ("mean", "sum", "geometric")
"""How a measure's scores over topics become one number."""

NO_TABLE = "scores by shard have no table of topics and systems"


class Definition(Protocol):
    """What scores take over of a measure, which stands above them; its text form is its name."""

    @property
    def info(self) -> Any:
        """What it declares, `aggregate` and `lower_is_better` among it."""

    @property
    def scale(self) -> Scale:
        """The highest scale that it is known to be on."""

    @property
    def scale_source(self) -> str:
        """Who says so: `measure` or `user`."""

    @property
    def label(self) -> str:
        """The text by which it was asked for."""


@dataclass(frozen=True, eq=False)
class Scores(Averages, Plotted):
    """Scores of one measure.

    Attributes
    ----------
    values
        Shape (topics, systems), or (topics, systems, shards); NaN is 'no score'.
    topics, systems
        Labels of the first two axes.
    measure
        Name of the measure: what was asked for, such as `map`, or its text form.
    aggregate
        How the measure itself is summed up over topics: `mean`, `sum` or `geometric`.
    settings
        How the scores were made, for the record.
    scale
        The measurement scale of the scores, or its name: `nominal`, `ordinal`, `interval` or
        `ratio`. By default the one that the measure declares; None if it is not known.
    lower_is_better
        Whether lower scores are better, as for latency or RMSE.
    shards
        Labels of the third axis, by default their numbers; empty where there is none.
    definition
        The measure itself; None where it is not known. Without a name the measure gives it, with
        its aggregate, direction, and scale if none is given.
    has_direction
        Whether the direction was stated, by the user or by the definition of the measure; otherwise
        comparisons add a note if the name suggests that lower is better.
    scale_source
        Who declared the scale: `measure`, `user` for a scale that was passed as an argument, or
        empty.

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

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "values", np.asarray(self.values, dtype=np.float64))
        shape = self.values.shape
        if len(shape) == 3 and not self.shards:
            set_(self, "shards", range(1, shape[2] + 1))
        for axis in ("topics", "systems", "shards"):
            set_(self, axis, tuple(str(label) for label in getattr(self, axis)))
        labels = self.labels
        if len(shape) not in {2, 3} or shape != tuple(map(len, labels.values())):
            sizes = " and ".join(f"{len(some)} {name}s" for name, some in labels.items())
            raise CranfieldError(f"values of shape {shape} do not fit {sizes}")
        for name, some in labels.items():
            if len(set(some)) < len(some):
                twice = next(label for label in some if some.count(label) > 1)
                raise CranfieldError(f"two {name}s are called {quoted(twice)}")
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
        """The labels of each axis, by what they name: `topic`, `system`, and `shard` if any."""
        axes = {"topic": self.topics, "system": self.systems}
        return {**axes, "shard": self.shards} if self.shards else axes

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
        """Return a note if lower is better, or if the name suggests so and nobody stated it."""
        if self.lower_is_better:
            return [f"lower scores of {self.measure or 'the measure'} are better"]
        unknown = not self.has_direction and suggests_lower(self.measure)
        return [direction_note(self.measure)] if unknown else []

    def __getitem__(self, system: str) -> dict[str, float]:
        """Return the scores of one system by topic; a topic without a score is not in it.

        Raises
        ------
        PolicyError
            For a system that is not there, with the nearest ones; for scores by shard.

        Examples
        --------
        >>> scores = Scores([[0.5, 1.0], [0.0, np.nan]], topics=["q1", "q2"], systems=["a", "b"])
        >>> scores["a"], scores["b"]
        ({'q1': 0.5, 'q2': 0.0}, {'q1': 1.0})
        """
        if system not in self.systems and system in self.topics:
            name = quoted(system)
            raise PolicyError(f"{name} is a topic, not a system: say select(topics={name})")
        column = self.flat(NO_TABLE)[:, place_of(system, self.systems)]
        known = ~np.isnan(column)
        return dict(zip(compress(self.topics, known), column[known].tolist(), strict=True))

    __iter__: ClassVar[None] = None
    """Rows and columns are both labels: `topics` and `systems` say of which to take."""

    def select(
        self,
        topics: LabelsOrIndices = None,
        systems: LabelsOrIndices = None,
        shards: LabelsOrIndices = None,
    ) -> Scores:
        """Return some of the scores, in the order that is asked for.

        Parameters
        ----------
        topics, systems, shards
            Labels, one label, indices, or an array that is true where to take; None takes all.

        Raises
        ------
        PolicyError
            For a label that is not there, with the nearest ones; for shards where there are none.
        """
        if shards is not None and not self.shards:
            raise PolicyError(f"there are no shards: {self!r}")
        asked = zip((topics, systems, shards), self.labels.items(), strict=False)
        places = [places_of(some, labels, what) for some, (what, labels) in asked]
        axes = zip(places, self.labels.values(), strict=True)
        kept = [tuple(labels[place] for place in chosen.tolist()) for chosen, labels in axes]
        return replace(
            self,
            # In plain order in memory too: in which order numbers are added depends on it.
            values=self.values[np.ix_(*places)],
            topics=kept[0],
            systems=kept[1],
            shards=kept[2] if self.shards else (),
        )

    def with_scale(self, scale: Scale | str) -> Scores:
        """Return the same scores with a scale that you declare.

        Parameters
        ----------
        scale
            `nominal`, `ordinal`, `interval` or `ratio`. Comparisons go by it instead of the scale
            that the measure declares, and say so.

        Examples
        --------
        >>> scores = Scores([[0.5, 1.0]], topics=["q1"], systems=["a", "b"]).with_scale("ratio")
        >>> str(scores.scale), scores.scale_source
        ('ratio', 'user')
        """
        return replace(self, scale=find_scale(scale), scale_source="user")

    def aligned(self, like: Scores, names: tuple[str, str] = ("one", "the other")) -> Scores:
        """Return the scores in the order of the topics and systems of others, which are the same.

        Parameters
        ----------
        like
            Those others; they may be by shard, or not.
        names
            What messages call these scores and the others.
        """
        for what in ("topic", "system"):
            both = zip(names, (self.labels[what], like.labels[what]), strict=True)
            for (lacks, here), (has, there) in permutations(both):
                if (label := lacking(there, here)) is not None:
                    raise CranfieldError(f"{lacks} lacks {what} {quoted(label)}, which {has} has")
        if (self.topics, self.systems) == (like.topics, like.systems):
            return self
        return self.select(like.topics, like.systems)

    def complete(self, missing: str = "error", hint: str = "") -> tuple[Scores, tuple[str, ...]]:
        """Return the scores without gaps, and what was left out or filled in.

        Parameters
        ----------
        missing
            `error`; `drop`: leave out topics that lack a score; `zero`: count a missing score as 0.
        hint
            What else can be done, for the message.
        """
        [values], kept, notes = filled(
            [self.values], missing, lambda _, place: f"{self.cell(place)} has no score", hint
        )
        topics = tuple(compress(self.topics, kept))
        if missing == "zero" and notes and self.lower_is_better:
            notes = (*notes, "0 is a good score here, as lower scores are better")
        return replace(self, values=values, topics=topics), notes

    def flat(self, why: str = "scores by shard are not taken here") -> Floats:
        """Return the values by topic and system; refuse those by shard, and say why."""
        if self.shards:
            raise PolicyError(f"{why}: average them over shards first")
        return self.values

    def finite(self, why: str = "") -> Scores:
        """Return the scores; refuse an infinite one. `why` stands behind its place."""
        endless = np.argwhere(np.isinf(self.values))
        if endless.size:
            raise CranfieldError(f"{self.cell(endless[0])}{why} has an infinite score")
        return self

    def cell(self, place: Sequence[int] | Ints) -> str:
        """Name a place in the values: system, topic, and shard if there are any."""
        check_several("place", place)
        try:
            topic, system, *shard = (
                labels[int(k)] for k, labels in zip(place, self.labels.values(), strict=True)
            )
        except (IndexError, ValueError):
            raise PolicyError(f"{quoted(place)} is no place in {self!r}") from None
        where = f" in shard {plain(shard[0])}" if shard else ""
        return f"system {quoted(system)} on topic {quoted(topic)}{where}"

    def overall(self) -> Floats:
        """The one number a system that the measure defines: its mean, sum or geometric mean."""
        if self.aggregate == "sum":
            return self.sum()
        return self.geometric_mean() if self.aggregate == "geometric" else self.mean()

    def grand_mean(self) -> Floats:
        """Mean of all scores of a system, those of all shards together; shape (systems,)."""
        return self.mean_along(0, 2) if self.shards else self.mean()

    def over_shards(self) -> Scores:
        """Return the means over shards, of those that have a score."""
        return replace(self, values=self.mean_along(2), shards=()) if self.shards else self

    def summary(self, by: str = "system") -> pl.DataFrame:
        """Return mean, median, geometric mean and standard deviation by system, topic or shard.

        By system, scores by shard are refused: the shards of a topic are no topics of their own.
        """
        check_choice("by", by, self.labels)
        if by == "system":
            self.flat(NO_TABLE)
        # One column each; without shards, the rows are what the scores are counted by.
        axis = list(self.labels).index(by)
        table = np.moveaxis(self.values, axis, -1)
        table = table.reshape(math.prod(table.shape[:-1]), table.shape[-1])
        number = "scores" if self.shards else {"system": "topics", "topic": "systems"}[by]
        of = Averages(table)
        return pl.DataFrame(
            {
                by: self.labels[by],
                number: of.counts(),
                "mean": of.mean(),
                "median": of.median(),
                "geometric mean": of.geometric_mean(),
                "std": of.std(),
            }
        )

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return the scores, `{system: {topic: score}}`; a topic without a score is not in it.

        Examples
        --------
        >>> Scores([[0.5, 1.0], [0.0, np.nan]], ["q1", "q2"], ["a", "b"]).to_dict()
        {'a': {'q1': 0.5, 'q2': 0.0}, 'b': {'q1': 1.0}}
        """
        return {system: self[system] for system in self.systems}

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a topic and a column a system; no score is null."""
        values = self.flat(NO_TABLE)
        columns = {"topic": pl.Series(self.topics, dtype=pl.String)}
        for i, system in enumerate(self.systems):
            name = system if system not in columns else f"{system} "
            columns[name] = pl.Series(values[:, i]).fill_nan(None)
        return pl.DataFrame(columns)

    def to_long(self) -> pl.DataFrame:
        """Return a row a score: `topic`, `system`, `shard` if any, `score`; no score is null."""
        # Of scores without shards the topics run first, of those with shards the shards.
        order: Any = "C" if self.shards else "F"
        places = np.indices(self.values.shape).reshape(self.values.ndim, -1, order=order)
        return pl.DataFrame(
            {
                **{
                    what: pl.Series(labels, dtype=pl.String).gather(place)
                    for (what, labels), place in zip(self.labels.items(), places, strict=True)
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
            coords={what: list(labels) for what, labels in self.labels.items()},
            name=self.measure or None,
        )

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the table of topics and systems as CSV."""
        with whole_file(path) as out:
            self.to_polars().write_csv(out)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table of topics and systems as Parquet."""
        with whole_file(path) as out:
            self.to_polars().write_parquet(out)

    def _repr_html_(self) -> str:
        if self.shards:
            return f"<pre>{html(repr(self))}</pre>\n"
        return frame_html(self.summary(), repr(self))

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        sizes = (counted(len(labels), what) for what, labels in self.labels.items())
        return f"Scores({label}{', '.join(sizes)})"


def side_by_side(of: Mapping[str, Scores]) -> Scores:
    """Put systems that were scored one by one beside each other, by their new names.

    A topic that a system has no score for is NaN there; topics are in order of appearance. What is
    known of the measure is that of the first, and of the settings what all have in common.

    Examples
    --------
    >>> a = Scores([[0.5], [1.0]], topics=["q1", "q2"], systems=["run"], measure="AP")
    >>> b = Scores([[0.25]], topics=["q2"], systems=["run"], measure="AP")
    >>> side_by_side({"a": a, "b": b}).values.tolist()
    [[0.5, nan], [1.0, 0.25]]
    """
    parts = list(of.values())
    first = parts[0]
    if any(one.shards != first.shards for one in parts):
        raise CranfieldError("systems that are put side by side are scored on the same shards")
    place = {topic: k for k, topic in enumerate(dict.fromkeys(t for p in parts for t in p.topics))}
    values = np.full((len(place), len(parts), *first.values.shape[2:]), np.nan)
    for k, one in enumerate(parts):
        values[[place[topic] for topic in one.topics], k] = one.values[:, 0]
    if any(one.lower_is_better != first.lower_is_better for one in parts):
        raise CranfieldError("expected scores of one direction, got lower and higher is better")
    common = {
        name: value
        for name, value in first.settings.items()
        if all(one.settings.get(name) == value for one in parts)
    }
    return replace(first, values=values, topics=tuple(place), systems=tuple(of), settings=common)


def aligned(
    scores: Mapping[Any, Scores], *, shards: bool = False, called: Callable[[Any], str] = quoted
) -> dict[Any, Scores]:
    """Bring finite scores to the topics and systems of the first measure, in its order."""
    (first, like), *_ = scores.items()
    out = {}
    for name, one in scores.items():
        if not shards:
            one.flat(f"{called(name)} has scores by shard")
        finite = one.finite(f" by {called(name)}")
        out[name] = finite.aligned(like, (called(name), called(first)))
    return out


def complete(
    scores: Mapping[str, Scores], missing: str
) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """Apply one policy for missing scores to aligned scores, so that they keep the same topics."""
    names = list(scores)
    tables, kept, notes = filled(
        [one.values for one in scores.values()],
        missing,
        cell=lambda k, place: f"{scores[names[k]].cell(place)} has no score by {quoted(names[k])}",
        by=" by every measure",
    )
    return {
        name: replace(one, values=values, topics=tuple(compress(one.topics, kept)))
        for (name, one), values in zip(scores.items(), tables, strict=True)
    }, notes


def by_system(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return the overall values of several measures: a row a system, a column a measure."""
    systems = next(iter(scores.values())).systems
    for one in scores.values():
        one.flat("a table of systems has one value of each; there are several shards")
    columns = {name: pl.Series(one.overall()).fill_nan(None) for name, one in scores.items()}
    return pl.DataFrame({"system": pl.Series(systems, dtype=pl.String), **columns})


def long_table(scores: Mapping[str, Scores]) -> pl.DataFrame:
    """Return all scores: measure, topic, system, perhaps shard, score; no score is null."""
    return pl.concat(
        one.to_long().select(pl.lit(name).alias("measure"), pl.all())
        for name, one in scores.items()
    )
