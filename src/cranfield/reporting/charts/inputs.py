"""The scores, systems and measures that charts are drawn of, and the labels of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, best_first, to_order
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, quoted
from cranfield.base.text import plain
from cranfield.measures.base import Measure
from cranfield.reporting.page.html import label
from cranfield.scores import Scores
from cranfield.scores.one_measure import place_of
from cranfield.significance.prepare import as_scores

Named = Iterable[str | Measure] | Mapping[str, str | Measure] | str | Measure
"""A measure or several; the keys of a mapping are their titles."""


def labels(names: Sequence[str]) -> list[str]:
    r"""Make names from files fit to be shown: printable, not empty, and each another."""
    taken = {name for name in names if name == _printed(name)}
    out = []
    for name in names:
        unique = shown = _printed(name)
        number = 2
        while name != shown and unique in taken:
            unique = f"{shown} ({number})"
            number += 1
        taken.add(unique)
        out.append(unique)
    return out


def _printed(name: str) -> str:
    # A tag of blanks would be as invisible as an empty one.
    return label(name if name.strip() else "")


def table_of(scores: Any) -> Scores:
    """Take scores that have a row a topic and a column a system."""
    given = as_scores(scores)
    given.flat("scores by shard cannot be drawn; average them over shards first")
    if not given.systems or np.isnan(given.values).all():
        raise CranfieldError("expected at least one score to draw, got no scores")
    if np.isinf(given.values).any():
        topic, system = np.argwhere(np.isinf(given.values))[0]
        raise CranfieldError(
            f"topic {quoted(given.topics[topic])} of system {quoted(given.systems[system])} has an"
            " infinite score"
        )
    return given


def chosen(names: Sequence[str], asked: Sequence[str] | str | None) -> list[int]:
    """Find systems by their names; by default all."""
    if asked is None:
        return list(range(len(names)))
    if not isinstance(asked, str) and not isinstance(asked, Sequence):
        raise PolicyError(f"systems must be a list of names, got {quoted(asked)}")
    wanted = [asked] if isinstance(asked, str) else list(dict.fromkeys(asked))
    if not wanted:
        raise PolicyError("systems must not be empty")
    return [place_of(name, names) for name in wanted]


def first_or(noun: str, name: str | None, names: Iterable[str]) -> str:
    """Return a name that is one of several, by default the first."""
    known = list(names)
    if name is None:
        return known[0]
    check_choice(noun, name, known)
    return name


def ordered(scores: Any, systems: Sequence[str] | str | None = None) -> Scores:
    """Take the scores of some systems, those with the best mean first."""
    given = table_of(scores)
    columns = np.array(chosen(given.systems, systems))
    means = given.mean()[columns]
    columns = columns[best_first(to_order(means), given.lower_is_better)]
    return given.select(systems=columns)


def cells_of(
    scores: Scores, chosen: Bools, names: Sequence[str], topics: Sequence[str]
) -> pl.DataFrame:
    """Return a row a chosen cell: its system, topic and score."""
    system, topic = np.nonzero(chosen.T)
    return pl.DataFrame(
        {
            "system": pl.Series([names[k] for k in system.tolist()], dtype=pl.String),
            "topic": pl.Series([topics[k] for k in topic.tolist()], dtype=pl.String),
            "score": scores.values[topic, system],
        }
    )


WHISKERS = 1.5
"""Length of whiskers at most, in interquartile ranges."""


def boxes_of(scores: Scores, names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row a system, with the ends of its box and whiskers, and a row a score beyond."""
    values = scores.values
    known = ~np.isnan(values).all(axis=0)
    quartiles = np.full((3, values.shape[1]), np.nan)
    quartiles[:, known] = np.nanquantile(values[:, known], [0.25, 0.5, 0.75], axis=0)
    q1, median, q3 = quartiles
    reach = WHISKERS * (q3 - q1)
    inside = (values >= q1 - reach) & (values <= q3 + reach)
    # With few scores no score may be left between a quartile and the end of its reach.
    low = np.minimum(np.where(inside, values, np.inf).min(axis=0), q1)
    high = np.maximum(np.where(inside, values, -np.inf).max(axis=0), q3)
    boxes = pl.DataFrame(
        {
            "system": pl.Series(names, dtype=pl.String),
            "topics": (~np.isnan(values)).sum(axis=0),
            "mean": scores.mean(),
            "low": low,
            "q1": q1,
            "median": median,
            "q3": q3,
            "high": high,
        }
    )
    beyond = cells_of(scores, ~inside & ~np.isnan(values), names, labels(scores.topics))
    return boxes, beyond


def titled(
    measure: str, before: str = "", after: str = "", *, lower_is_better: bool = False
) -> str:
    words = [before, plain(measure) or "score", after, "(lower is better)" * lower_is_better]
    return " ".join(word for word in words if word)


def named(measures: Named) -> dict[str, str | Measure]:
    if isinstance(measures, (str, Measure)):
        return {str(measures): measures}
    if not isinstance(measures, Iterable):
        raise PolicyError(
            f"measures must be measures or their names, got {type(measures).__name__}"
        )
    if isinstance(measures, Mapping):
        found = {str(title): one for title, one in measures.items()}
    else:
        found = {str(one): one for one in measures}
    if not found:
        raise PolicyError("expected at least one measure, got no measures")
    return found
