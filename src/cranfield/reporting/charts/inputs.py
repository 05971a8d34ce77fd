"""Checks and selections of the inputs of charts, and labels of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, argsort_best, round_for_ranking
from cranfield.base.errors import CranfieldError, PolicyError, check_choice, quote
from cranfield.base.text import sanitise
from cranfield.measures.base import Measure
from cranfield.reporting.page.html import make_label
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_label
from cranfield.significance.prepare import as_scores

MeasuresByTitle = Iterable[str | Measure] | Mapping[str, str | Measure] | str | Measure
"""One or several measures; the keys of a mapping are their titles."""


def make_labels(names: Sequence[str]) -> list[str]:
    r"""Make names printable, not empty, and unique."""
    used_labels = {name for name in names if name == _make_printable(name)}
    unique_labels = []
    for name in names:
        label = printable_name = _make_printable(name)
        suffix = 2
        while name != printable_name and label in used_labels:
            label = f"{printable_name} ({suffix})"
            suffix += 1
        used_labels.add(label)
        unique_labels.append(label)
    return unique_labels


def _make_printable(name: str) -> str:
    # A name of blanks would be invisible.
    return make_label(name if name.strip() else "")


def check_drawable(scores: Any) -> Scores:
    """Convert to scores by topic and system; refuse scores that cannot be drawn."""
    topic_scores = as_scores(scores)
    topic_scores.require_two_axes("scores by shard cannot be drawn")
    if not topic_scores.systems or np.isnan(topic_scores.values).all():
        raise CranfieldError("expected at least one score to draw, got no scores")
    if np.isinf(topic_scores.values).any():
        topic, system = np.argwhere(np.isinf(topic_scores.values))[0]
        raise CranfieldError(
            f"score of topic {quote(topic_scores.topics[topic])} of system"
            f" {quote(topic_scores.systems[system])} must be finite, got an infinite value"
        )
    return topic_scores


def find_systems(
    names: Sequence[str], systems: Sequence[str] | str | None, noun: str = "system"
) -> list[int]:
    """Return the indices of systems, or of judges, in a list of names; by default all."""
    if systems is None:
        return list(range(len(names)))
    if not isinstance(systems, str) and not isinstance(systems, Sequence):
        raise PolicyError(f"{noun}s must be a list of names, got {quote(systems)}")
    selection = [systems] if isinstance(systems, str) else list(dict.fromkeys(systems))
    if not selection:
        raise PolicyError(f"expected at least one {noun}, got an empty list")
    return [find_label(name, names, noun) for name in selection]


def check_name(noun: str, name: str | None, names: Iterable[str]) -> str:
    """Check that a name is in a list of names; return the first if it is None."""
    choices = list(names)
    if name is None:
        return choices[0]
    check_choice(noun, name, choices)
    return name


def sort_systems(scores: Any, systems: Sequence[str] | str | None = None) -> Scores:
    """Select the scores of systems, sorted by mean, the best system first."""
    topic_scores = check_drawable(scores)
    columns = np.array(find_systems(topic_scores.systems, systems))
    means = topic_scores.mean()[columns]
    columns = columns[argsort_best(round_for_ranking(means), topic_scores.lower_is_better)]
    return topic_scores.select(systems=columns)


def list_cells(
    scores: Scores, mask: Bools, names: Sequence[str], topics: Sequence[str]
) -> pl.DataFrame:
    """Return system, topic and score of each cell in a mask, which has the shape of the scores."""
    system, topic = np.nonzero(mask.T)
    return pl.DataFrame(
        {
            "system": pl.Series([names[k] for k in system.tolist()], dtype=pl.String),
            "topic": pl.Series([topics[k] for k in topic.tolist()], dtype=pl.String),
            "score": scores.values[topic, system],
        }
    )


WHISKERS = 1.5  # maximum length of whiskers, in interquartile ranges


def summarise_boxes(scores: Scores, names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a table of the boxes and whiskers of systems, and a table of their outliers."""
    values = scores.values
    has_scores = ~np.isnan(values).all(axis=0)
    quartiles = np.full((3, values.shape[1]), np.nan)
    quartiles[:, has_scores] = np.nanquantile(values[:, has_scores], [0.25, 0.5, 0.75], axis=0)
    q1, median, q3 = quartiles
    max_length = WHISKERS * (q3 - q1)
    is_inside = (values >= q1 - max_length) & (values <= q3 + max_length)
    # With few scores, there may be no score within reach of a whisker beyond its quartile.
    low = np.minimum(np.where(is_inside, values, np.inf).min(axis=0), q1)
    high = np.maximum(np.where(is_inside, values, -np.inf).max(axis=0), q3)
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
    outliers = list_cells(scores, ~is_inside & ~np.isnan(values), names, make_labels(scores.topics))
    return boxes, outliers


def make_title(scores: Any, prefix: str = "", suffix: str = "") -> str:
    """Make the title of an axis of scores, with text before and after the measure."""
    direction = "(lower is better)" * scores.lower_is_better
    return " ".join(filter(None, [prefix, name_measure(scores), suffix, direction]))


def name_measure(scores: Any) -> str:
    return sanitise(scores.measure) or "score"


def title_measures(measures: MeasuresByTitle) -> dict[str, str | Measure]:
    """Return measures by title; without a mapping, their names are the titles."""
    if isinstance(measures, (str, Measure)):
        return {str(measures): measures}
    if not isinstance(measures, Iterable):
        raise PolicyError(
            f"measures must be measures or their names, got {type(measures).__name__}"
        )
    if isinstance(measures, Mapping):
        measures_by_title = {str(title): measure for title, measure in measures.items()}
    else:
        measures_by_title = {str(measure): measure for measure in measures}
    if not measures_by_title:
        raise PolicyError("expected at least one measure, got no measures")
    return measures_by_title
