"""Pairs of systems that several collections hold, matched by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted, some_of
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.pairs import Pairs, against, all_pairs
from cranfield.significance.prepare import as_scores, baseline_indices, prepared
from cranfield.significance.tests.declaration import TestInfo


@dataclass(frozen=True, eq=False)
class Held:
    """The pairs that one collection holds, and which of all pairs these are."""

    pairs: Pairs
    rows: Indices


@dataclass(frozen=True, eq=False)
class CommonPairs:
    """Pairs of systems, by name, that one collection or more hold.

    Attributes
    ----------
    names, topics, measures
        Of each collection: its name, its number of topics, and what it is scored by.
    systems
        Systems of any collection, in order.
    first, second
        Indices of the systems of each pair.
    held
        What each collection holds of them.
    lower_is_better
        Whether the better system is the one with lower scores.
    notes
        What was left out, and which systems some collections lack.
    """

    names: tuple[str, ...]
    topics: tuple[int, ...]
    measures: tuple[str, ...]
    systems: tuple[str, ...]
    first: Indices
    second: Indices
    held: tuple[Held, ...]
    lower_is_better: bool
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.first.size)

    @property
    def measure(self) -> str:
        """The measures, each once."""
        return ", ".join(dict.fromkeys(filter(None, self.measures)))

    @property
    def pairs(self) -> Pairs:
        """All pairs, without scores."""
        return Pairs(np.empty((0, len(self.systems))), self.first, self.second)

    def table(self, of_pairs: Callable[[Pairs], Floats]) -> Floats:
        """Return values by pair and collection; NaN where a collection does not hold a pair."""
        out = np.full((len(self), len(self.names)), np.nan)
        for place, one in enumerate(self.held):
            if one.rows.size:
                out[one.rows, place] = of_pairs(one.pairs)
        return out

    def frame(self) -> pl.DataFrame:
        """Return the names of both systems, one row a pair."""
        names = pl.Series(self.systems, dtype=pl.String)
        return pl.DataFrame(
            {"first": names.gather(self.first), "second": names.gather(self.second)}
        )

    def long_frame(self, known: Floats, **columns: Floats) -> pl.DataFrame:
        """Return a row a pair and collection where `known` is a number, with values of both."""
        row, place = np.nonzero(~np.isnan(known))
        return self.frame()[row].with_columns(
            pl.Series("collection", [self.names[k] for k in place], dtype=pl.String),
            pl.Series("topics", [self.topics[k] for k in place], dtype=pl.Int64),
            **{name: pl.Series(values[row, place]) for name, values in columns.items()},
        )


def common_pairs(
    collections: Mapping[str, Any],
    baseline: str | Sequence[str] | None,
    missing: str | None,
    info: TestInfo,
) -> CommonPairs:
    """Match systems by name, apply the policy for missing scores, and find who holds which pair."""
    if not isinstance(collections, Mapping):
        raise PolicyError("several collections are a mapping of their names to scores")
    if len(collections) < 2:
        raise PolicyError(f"there is {counted(len(collections), 'collection')}; it takes two")
    ready = {
        str(name): prepared(
            one.scores if isinstance(one, PairwiseComparison) else as_scores(one), info, missing
        )
        for name, one in collections.items()
    }
    scores = {name: one.scores for name, one in ready.items()}
    if len({one.lower_is_better for one in scores.values()}) > 1:
        raise PolicyError("expected measures of one direction, got lower and higher is better")
    systems = tuple(dict.fromkeys(name for one in scores.values() for name in one.systems))
    shape = np.empty((0, len(systems)))
    baselines = baseline_indices(systems, baseline)
    wanted = against(shape, baselines) if baselines else all_pairs(shape)
    held, counts = [], np.zeros(len(wanted), dtype=np.intp)
    for name, one in scores.items():
        places = np.full(len(systems), -1, dtype=np.intp)
        places[[systems.index(system) for system in one.systems]] = np.arange(len(one.systems))
        first, second = places[wanted.first], places[wanted.second]
        rows = np.flatnonzero((first >= 0) & (second >= 0))
        counts[rows] += 1
        held.append(Held(Pairs(ready[name].flat, first[rows], second[rows]), rows))
    kept = np.flatnonzero(counts)
    if not kept.size:
        raise CranfieldError("no collection holds two systems that are to be compared")
    place_of_row = np.cumsum(counts > 0) - 1
    notes = [f"{name}: {note}" for name, one in ready.items() for note in one.notes]
    notes += dict.fromkeys(note for one in scores.values() for note in one.direction_notes())
    for name, one in scores.items():
        lacking = [quoted(system) for system in systems if system not in {*one.systems}]
        if lacking:
            notes.append(f"{name} lacks {some_of(lacking, 5)}")
    if kept.size < counts.size:
        alone = counted(int(counts.size - kept.size), "pair")
        notes.append(f"no collection holds both systems of {alone}: left out")
    return CommonPairs(
        names=tuple(scores),
        topics=tuple(len(one.topics) for one in scores.values()),
        measures=tuple(one.measure for one in scores.values()),
        systems=systems,
        first=wanted.first[kept],
        second=wanted.second[kept],
        held=tuple(replace(one, rows=place_of_row[one.rows]) for one in held),
        lower_is_better=next(iter(scores.values())).lower_is_better,
        notes=tuple(notes),
    )
