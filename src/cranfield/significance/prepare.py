"""Scores made ready for a test: complete where it needs them so, and enough of them."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.evaluation.scorefiles import read_scores
from cranfield.scores import Scores
from cranfield.significance.options import MISSING
from cranfield.significance.registry import TestInfo

BY_SHARD = ("anova-3", "anova-3f", "bootstrap-anova")
"""Tests that take scores by shard."""

LARGEST = 1e100
"""Of scores that can be squared and added up."""


@dataclass(frozen=True, eq=False)
class Ready:
    """Scores that a test can take.

    Attributes
    ----------
    scores
        The scores, after the policy for missing ones.
    flat
        The scores by topic and system; the mean over shards where there are any.
    notes
        What was left out or filled in.
    """

    scores: Scores
    flat: Floats
    notes: tuple[str, ...]


def as_scores(scores: Any) -> Scores:
    """Take scores as they are, or make them from a mapping, a data frame or an array.

    A mapping names the systems. The scores of each are a mapping or a series by topic, or a list in
    order of topics; lists of different lengths are of different topics, and filled up with NaN. An
    array has shape (topics, systems), or (topics, systems, shards); its systems are numbered.
    """
    if isinstance(scores, Scores):
        return scores
    if isinstance(scores, Mapping) and any(isinstance(one, Scores) for one in scores.values()):
        if len(scores) == 1:
            [only] = scores.values()
            return only  # type: ignore[no-any-return]
        names = ", ".join(map(str, scores))
        raise PolicyError(f"compare takes the scores of one measure: choose among {names}")
    if isinstance(scores, np.ndarray):
        if scores.ndim not in (2, 3) or not np.issubdtype(scores.dtype, np.number):
            raise PolicyError("an array of scores has numbers, and shape (topics, systems)")
        topics, systems = (tuple(str(k + 1) for k in range(n)) for n in scores.shape[:2])
        return Scores(scores.astype(np.float64), topics, systems)
    if isinstance(scores, Mapping) or hasattr(scores, "columns"):
        return read_scores(scores)
    kind = type(scores).__name__
    raise PolicyError(
        f"compare takes Scores, scores by system, a data frame or an array, not {kind}"
    )


def prepared(scores: Scores, info: TestInfo, missing: str | None) -> Ready:
    """Apply the policy for missing scores, and check that there is enough to test.

    Raises
    ------
    CranfieldError
        For too few systems or topics, infinite scores, or scores that are missing.
    PolicyError
        For an unknown policy, or one that the test cannot follow.
    """
    if missing is not None and missing not in MISSING:
        raise PolicyError(f"missing {quoted(missing)} is none of {', '.join(MISSING)}")
    by_shard = scores.values.ndim == 3
    if by_shard and info.name not in BY_SHARD:
        raise PolicyError(f"scores by shard go with {', '.join(BY_SHARD)}, not with {info.name}")
    if not by_shard and info.name in {"anova-3", "anova-3f"}:
        raise PolicyError(f"{info.name} needs scores by shard")
    if len(scores.systems) < 2:
        raise CranfieldError(f"a comparison needs two systems, not {len(scores.systems)}")
    endless = np.argwhere(np.isinf(scores.values))
    if endless.size:
        raise CranfieldError(f"{_cell(scores, endless[0])} has an infinite score")
    if np.nanmax(np.abs(scores.values), initial=0.0) > LARGEST:
        raise CranfieldError(f"there are scores beyond {LARGEST:g}, whose squares are no numbers")
    policy = missing or ("error" if info.paired else "available")
    if policy == "available" and info.paired and info.name not in {"anova-3", "anova-3f"}:
        raise PolicyError(f"{info.name} compares the same topics: missing='available' does not fit")
    values, topics, notes = _complete(scores, policy)
    kept = Scores(
        values,
        topics,
        scores.systems,
        scores.measure,
        scores.aggregate,
        scores.settings,
        scores.scale,
        scores.lower_is_better,
    )
    counts = (~np.isnan(values)).sum(axis=0)
    counts = counts if counts.ndim == 1 else counts.sum(axis=1)
    few = np.flatnonzero(counts < 2)
    if few.size:
        some = counted(int(counts[few[0]]), "score")
        raise CranfieldError(
            f"system {quoted(scores.systems[few[0]])} has {some}; a test needs two at least"
        )
    flat = values
    if by_shard:
        known = ~np.isnan(values).all(axis=(1, 2))
        with warnings.catch_warnings():
            # A system may lack all shards of a topic that others have; the model says what then.
            warnings.simplefilter("ignore", RuntimeWarning)
            flat = np.nanmean(values[known], axis=2)
    return Ready(kept, flat, notes)


def _complete(scores: Scores, policy: str) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    values, topics = scores.values, scores.topics
    missing = np.isnan(values)
    number = int(missing.sum())
    if not number:
        return values, topics, ()
    if policy == "error":
        raise CranfieldError(
            f"{_cell(scores, np.argwhere(missing)[0])} has no score ({counted(number, 'score')}"
            " missing); missing='drop' leaves out topics that lack one, 'zero' counts 0; if systems"
            " have topics of their own, take an unpaired test, such as welch or rank-sum"
        )
    if policy == "zero":
        note = f"{counted(number, 'missing score')} counted as 0"
        return np.where(missing, 0.0, values), topics, (note,)
    if policy == "drop":
        lacking = np.asarray(missing.reshape(len(topics), -1).any(axis=1))
        kept = tuple(topics[k] for k in np.flatnonzero(~lacking))
        note = f"{counted(int(lacking.sum()), 'topic')} left out for lack of a score"
        if not kept:
            raise CranfieldError("no topic has a score of every system")
        return values[~lacking], kept, (note,)
    note = f"{counted(number, 'missing score')}: each system is judged by what it has"
    if values.ndim == 3:
        cells = int(missing.all(axis=1).sum())
        note = f"{counted(cells, 'cell')} of topic and shard without scores"
    return values, topics, (note,)


def _cell(scores: Scores, index: Sequence[Any] | Any) -> str:
    topic, system, *shard = (int(k) for k in index)
    where = f" in shard {shard[0] + 1}" if shard else ""
    return f"system {quoted(scores.systems[system])} on topic {quoted(scores.topics[topic])}{where}"


def baseline_indices(systems: Sequence[str], asked: str | Sequence[str] | None) -> list[int]:
    """Find the systems that are baselines.

    Raises
    ------
    PolicyError
        For one that is not there, with the nearest names, or when nothing is left to compare.
    """
    try:
        names = [] if asked is None else [asked] if isinstance(asked, str) else list(asked)
    except TypeError:
        raise PolicyError(f"a baseline is the name of a system, not {asked!r}") from None
    found = []
    for name in names:
        if not isinstance(name, str):
            raise PolicyError(f"a baseline is the name of a system, not {name!r}")
        if name not in systems:
            near = difflib.get_close_matches(name, systems, n=3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(quoted(one) for one in near)}?" if near else ""
            raise PolicyError(f"there is no system {quoted(name)} to be the baseline{hint}")
        if systems.index(name) not in found:
            found.append(systems.index(name))
    if names and len(found) == len(systems):
        raise PolicyError("all systems are baselines: nothing is left to compare with them")
    return found
