"""Scores of several measures brought together; which system each prefers, and the sign test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from scipy.special import bdtr

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.significance.pairs import ROUNDING
from cranfield.significance.prepare import as_scores

MISSING = ("error", "drop", "zero")
"""Policies for missing scores that all measures share."""


def by_measure(data: Any) -> dict[str, Scores]:
    """Take scores of several measures as they are given.

    Parameters
    ----------
    data
        A mapping of measures to what :func:`cranfield.compare` takes as scores, :class:`Scores` of
        one measure, or a table or file that :func:`cranfield.read_scores_by_measure` reads.

    Returns
    -------
    dict
        Scores by the text form of their measure, in order.

    Raises
    ------
    PolicyError
        When there are none.
    """
    if isinstance(data, Scores):
        return {data.measure: data}
    if isinstance(data, Mapping):
        found = {}
        for name, one in data.items():
            if not isinstance(one, (Scores, Mapping, np.ndarray)) and not hasattr(one, "columns"):
                kind = type(one).__name__
                raise PolicyError(f"the scores of {quoted(name)} are of no known kind: {kind}")
            if str(name) in found:
                raise PolicyError(f"the measure {quoted(name)} is there twice")
            found[str(name)] = as_scores(one)
    elif isinstance(data, (str, PathLike)) or hasattr(data, "columns"):
        found = read_scores_by_measure(data)
    else:
        kind = type(data).__name__
        raise PolicyError(f"scores by measure are a mapping, a table or a file, not {kind}")
    if not found:
        raise PolicyError("there are no measures")
    return found


def aligned(scores: Mapping[Any, Scores], *, shards: bool = False) -> dict[Any, Scores]:
    """Bring the scores of several measures to the topics and systems of the first, in its order.

    Parameters
    ----------
    scores
        By name; a name that is a pair of words is that of a gold measure.
    shards
        Whether scores by shard are welcome.

    Raises
    ------
    PolicyError
        For scores by shard.
    CranfieldError
        When a measure has other topics or systems, or an infinite score.
    """
    like_name, like = next(iter(scores.items()))
    out = {}
    for name, one in scores.items():
        if one.values.ndim != 2 and not shards:
            raise PolicyError(f"{_shown(name)} has scores by shard: average them over shards first")
        if np.isinf(one.values).any():
            raise CranfieldError(f"{_shown(name)} has an infinite score")
        rows = _places("topic", (like_name, like.topics), (name, one.topics))
        columns = _places("system", (like_name, like.systems), (name, one.systems))
        out[name] = one
        if (one.topics, one.systems) != (like.topics, like.systems):
            # In plain order in memory too: in which order numbers are added depends on it.
            values = np.ascontiguousarray(one.values[rows][:, columns])
            out[name] = replace(one, values=values, topics=like.topics, systems=like.systems)
    return out


def complete(scores: dict[str, Scores], missing: str) -> tuple[dict[str, Scores], tuple[str, ...]]:
    """Apply one policy for missing scores to all measures, so that they keep the same topics.

    Parameters
    ----------
    scores
        By measure, of the same topics and systems in the same order: see :func:`aligned`.
    missing
        `error`; `drop`: leave out topics that lack a score of any system by any measure; `zero`:
        count a missing score as 0.

    Returns
    -------
    dict, tuple
        The scores, and what was left out or filled in.

    Raises
    ------
    PolicyError
        For an unknown policy.
    CranfieldError
        For a missing score with `error`, and where `drop` leaves no topic.
    """
    if missing not in MISSING:
        raise PolicyError(f"missing {quoted(missing)} is none of {', '.join(MISSING)}")
    absent = {name: np.isnan(one.values) for name, one in scores.items()}
    number = sum(int(one.sum()) for one in absent.values())
    if not number:
        return scores, ()
    name = next(name for name, one in absent.items() if one.any())
    topics, systems = scores[name].topics, scores[name].systems
    if missing == "error":
        topic, system = (int(k) for k in np.argwhere(absent[name])[0])
        raise CranfieldError(
            f"system {quoted(systems[system])} on topic {quoted(topics[topic])} has no score by"
            f" {quoted(name)} ({counted(number, 'score')} missing); missing='drop' leaves out"
            " topics that lack one, 'zero' counts 0"
        )
    if missing == "zero":
        filled = {
            key: replace(one, values=np.where(absent[key], 0.0, one.values))
            for key, one in scores.items()
        }
        return filled, (f"{counted(number, 'missing score')} counted as 0",)
    lacking = np.any([one.any(axis=1) for one in absent.values()], axis=0)
    kept = tuple(topics[k] for k in np.flatnonzero(~lacking))
    if not kept:
        raise CranfieldError("no topic has a score of every system by every measure")
    note = f"{counted(int(lacking.sum()), 'topic')} left out for lack of a score"
    picked = {
        key: replace(one, values=one.values[~lacking], topics=kept) for key, one in scores.items()
    }
    return picked, (note,)


def signs(values: Floats, first: Any, second: Any) -> Floats:
    """Return which of two systems each measure prefers on a topic.

    Parameters
    ----------
    values
        Scores of the topic, high ones the better, shape (measures, systems).
    first, second
        Indices of the systems of each pair.

    Returns
    -------
    array
        1 for the first, -1 for the second, 0 for a tie, NaN for a missing score, shape (measures,
        pairs).
    """
    slack = ROUNDING * np.nanmax(np.abs(values), axis=1, initial=0.0, keepdims=True)
    apart = values[:, first] - values[:, second]
    return np.asarray(np.where(np.abs(apart) <= slack, 0.0, np.sign(apart)))


def sign_pvalue(wins: Any, losses: Any) -> Floats:
    """Return the exact two-sided p-values of the sign test; 1 where nothing was won or lost.

    Examples
    --------
    >>> sign_pvalue([5, 0, 0], [0, 0, 1]).tolist()
    [0.0625, 1.0, 1.0]
    """
    won, lost = np.asarray(wins), np.asarray(losses)
    tail = 2 * bdtr(np.minimum(won, lost), won + lost, 0.5)
    return np.asarray(np.where(won + lost > 0, np.minimum(1.0, tail), 1.0))


def _places(
    what: str, like: tuple[Any, tuple[str, ...]], other: tuple[Any, tuple[str, ...]]
) -> list[int]:
    """Return where each label of the one is in the other; both have the same labels."""
    for (lacking, here), (has, there) in ((other, like), (like, other)):
        known = set(here)
        label = next((label for label in there if label not in known), None)
        if label is not None:
            raise CranfieldError(
                f"{_shown(lacking)} lacks {what} {quoted(label)}, which {_shown(has)} has"
            )
    places = {label: place for place, label in enumerate(other[1])}
    return [places[label] for label in like[1]]


def _shown(name: Any) -> str:
    return f"the gold measure {quoted(name[1])}" if isinstance(name, tuple) else quoted(name)
