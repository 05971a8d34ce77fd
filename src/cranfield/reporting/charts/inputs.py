"""Checks and selections of the inputs of charts, and labels of names."""

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
from cranfield.scores.one_measure import label_index
from cranfield.significance.prepare import as_scores

Named = Iterable[str | Measure] | Mapping[str, str | Measure] | str | Measure
"""A measure or several; the keys of a mapping are their titles."""


def labels(names: Sequence[str]) -> list[str]:
    r"""Make names printable, not empty, and unique."""
    used_labels = {name for name in names if name == _printable(name)}
    out = []
    for name in names:
        unique = printable = _printable(name)
        number = 2
        while name != printable and unique in used_labels:
            unique = f"{printable} ({number})"
            number += 1
        used_labels.add(unique)
        out.append(unique)
    return out


def _printable(name: str) -> str:
    # A tag of blanks is as invisible as an empty one.
    return label(name if name.strip() else "")


def table_of(scores: Any) -> Scores:
    """Convert to scores by topic and system; refuse scores that cannot be drawn."""
    table = as_scores(scores)
    table.flat("scores by shard cannot be drawn; average them over shards first")
    if not table.systems or np.isnan(table.values).all():
        raise CranfieldError("expected at least one score to draw, got no scores")
    if np.isinf(table.values).any():
        topic, system = np.argwhere(np.isinf(table.values))[0]
        raise CranfieldError(
            f"topic {quoted(table.topics[topic])} of system {quoted(table.systems[system])} has an"
            " infinite score"
        )
    return table


def find_systems(names: Sequence[str], systems: Sequence[str] | str | None) -> list[int]:
    """Return the positions of systems among names; by default all."""
    if systems is None:
        return list(range(len(names)))
    if not isinstance(systems, str) and not isinstance(systems, Sequence):
        raise PolicyError(f"systems must be a list of names, got {quoted(systems)}")
    selection = [systems] if isinstance(systems, str) else list(dict.fromkeys(systems))
    if not selection:
        raise PolicyError("systems must not be empty")
    return [label_index(name, names) for name in selection]


def first_or(noun: str, name: str | None, names: Iterable[str]) -> str:
    """Check that a name is one of several; return the first if it is None."""
    choices = list(names)
    if name is None:
        return choices[0]
    check_choice(noun, name, choices)
    return name


def rank_systems(scores: Any, systems: Sequence[str] | str | None = None) -> Scores:
    """Select the scores of systems, in order of their means, the best first."""
    table = table_of(scores)
    columns = np.array(find_systems(table.systems, systems))
    means = table.mean()[columns]
    columns = columns[best_first(to_order(means), table.lower_is_better)]
    return table.select(systems=columns)


def cells_of(
    scores: Scores, mask: Bools, names: Sequence[str], topics: Sequence[str]
) -> pl.DataFrame:
    """Return a table with system, topic and score of each cell in a mask."""
    system, topic = np.nonzero(mask.T)
    return pl.DataFrame(
        {
            "system": pl.Series([names[k] for k in system.tolist()], dtype=pl.String),
            "topic": pl.Series([topics[k] for k in topic.tolist()], dtype=pl.String),
            "score": scores.values[topic, system],
        }
    )


WHISKERS = 1.5
"""Maximum length of whiskers, in interquartile ranges."""


def boxes_of(scores: Scores, names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return tables of the boxes and whiskers of systems, and of the scores beyond them."""
    values = scores.values
    has_scores = ~np.isnan(values).all(axis=0)
    quartiles = np.full((3, values.shape[1]), np.nan)
    quartiles[:, has_scores] = np.nanquantile(values[:, has_scores], [0.25, 0.5, 0.75], axis=0)
    q1, median, q3 = quartiles
    reach = WHISKERS * (q3 - q1)
    inside = (values >= q1 - reach) & (values <= q3 + reach)
    # With few scores there may be none between a quartile and the maximum end of its whisker.
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


def make_title(
    measure: str, before: str = "", after: str = "", *, lower_is_better: bool = False
) -> str:
    words = [before, plain(measure) or "score", after, "(lower is better)" * lower_is_better]
    return " ".join(word for word in words if word)


def measures_by_title(measures: Named) -> dict[str, str | Measure]:
    if isinstance(measures, (str, Measure)):
        return {str(measures): measures}
    if not isinstance(measures, Iterable):
        raise PolicyError(
            f"measures must be measures or their names, got {type(measures).__name__}"
        )
    if isinstance(measures, Mapping):
        by_title = {str(title): measure for title, measure in measures.items()}
    else:
        by_title = {str(measure): measure for measure in measures}
    if not by_title:
        raise PolicyError("expected at least one measure, got no measures")
    return by_title
