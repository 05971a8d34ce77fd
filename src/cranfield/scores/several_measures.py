"""Scores of several measures by name: tables of all, one order of topics, one policy for gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import compress
from typing import Any

import polars as pl

from cranfield.base.errors import quoted
from cranfield.scores.missing import filled
from cranfield.scores.one_measure import Scores


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
