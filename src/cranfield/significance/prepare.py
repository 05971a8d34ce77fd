"""Scores made ready for a test: complete where it needs them so, and enough of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, numbers
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.scores.labels import place_of
from cranfield.scores.one_measure import side_by_side
from cranfield.significance.registry import MISSING
from cranfield.significance.tests.catalogue import TESTS
from cranfield.significance.tests.declaration import TestInfo

UNPAIRED = "; if systems have topics of their own, take an unpaired test, such as welch or rank-sum"
"""What else can be done about missing scores."""

NESTED = ", and missing='available' goes by the cells that have scores of all systems"
"""The same where scores are by shard, or by variation of a topic's query."""

LARGEST = 1e100
"""Of scores that can be squared and added up."""


def squarable(scores: Scores) -> Scores:
    """Return scores, none of them infinite or too large for its square to be a number."""
    if np.nanmax(np.abs(scores.finite().values), initial=0.0) > LARGEST:
        raise CranfieldError(f"there are scores beyond {LARGEST:g}, whose squares are no numbers")
    return scores


@dataclass(frozen=True, eq=False)
class Ready:
    """Scores that a test can take, `flat` over shards, and what was left out or filled in."""

    scores: Scores
    flat: Floats
    notes: tuple[str, ...]


def as_scores(scores: Any) -> Scores:
    """Take scores as they are, or make them from a mapping, a data frame or an array.

    A mapping names the systems, also those that were evaluated one by one. The scores of each are a
    mapping or a series by topic, or a list in order of topics; lists of different lengths are of
    different topics, and filled up with NaN. An array has shape (topics, systems), or (topics,
    systems, shards); its systems are numbered.
    """
    if isinstance(scores, Scores):
        return scores
    if isinstance(scores, Mapping) and any(map(_holds_scores, scores.values())):
        return _of_mapping(scores)
    if isinstance(scores, np.ndarray):
        if scores.ndim not in (2, 3) or scores.dtype.kind not in "iuf":
            raise PolicyError("an array of scores has numbers, and shape (topics, systems)")
        topics, systems = (tuple(str(k + 1) for k in range(n)) for n in scores.shape[:2])
        return Scores(numbers(scores, "scores").copy(), topics, systems)
    if isinstance(scores, Mapping) or hasattr(type(scores), "columns"):
        of = read_scores_by_measure(scores)
        first, *more = of
        if more:
            raise PolicyError(
                f"this takes the scores of one measure, and there are {', '.join(of)}:"
                f" read_scores(data, measure={first!r}) takes one"
            )
        return of[first]
    kind = type(scores).__name__
    raise PolicyError(f"scores are Scores, scores by system, a data frame or an array, not {kind}")


def _holds_scores(given: Any) -> bool:
    """Tell whether these are scores, or an evaluation."""
    inside = given.values() if isinstance(given, Mapping) else (given,)
    return any(isinstance(one, Scores) for one in inside)


def _of_mapping(given: Mapping[Any, Any]) -> Scores:
    """Take the only measure of an evaluation, or systems that were evaluated one by one."""
    if len(given) == 1 and isinstance(only := next(iter(given.values())), Scores):
        return only
    names = ", ".join(map(str, given))
    several = next((str(name) for name, one in given.items() if _measures(one) > 1), None)
    if several is not None:
        raise PolicyError(
            f"{quoted(several)} holds several measures, where one is wanted: choose it of each, as"
            f" in {{{several!r}: evaluation['AP'], ...}}"
        )
    of = {
        name: next(iter(one.values())) if isinstance(one, Mapping) else one
        for name, one in given.items()
    }
    one_by_one = all(isinstance(one, Scores) and len(one.systems) == 1 for one in of.values())
    if not one_by_one or len({one.measure for one in of.values()}) > 1:
        raise PolicyError(
            f"this takes the scores of one measure: choose among {names}, as in"
            f" evaluation[{str(next(iter(given)))!r}]"
        )
    return side_by_side(of)


def _measures(given: Any) -> int:
    return len(given) if isinstance(given, Mapping) else 1


def prepared(scores: Scores, info: TestInfo, missing: str | None) -> Ready:
    """Apply the policy for missing scores, and check that there is enough to test."""
    if missing is not None:
        check_choice("missing", missing, MISSING)
    by_shard = bool(scores.shards)
    if by_shard and not info.shards:
        fitting = ", ".join(name for name, test in TESTS.items() if test.info.shards)
        raise PolicyError(f"scores by shard go with {fitting}, not with {info.name}")
    if not by_shard and info.shards == "needed":
        raise PolicyError(f"{info.name} needs scores by shard")
    if len(scores.systems) < 2:
        raise CranfieldError(f"a comparison needs two systems, not {len(scores.systems)}")
    squarable(scores)
    policy = missing or ("error" if info.paired else "available")
    if policy == "available" and info.paired and info.shards != "needed":
        raise PolicyError(f"{info.name} compares the same topics: missing='available' does not fit")
    if policy == "available":
        kept, notes = scores, _gaps(scores)
    else:
        hint = NESTED if info.shards == "needed" else UNPAIRED
        kept, notes = scores.complete(policy, hint=hint)
    values = kept.values
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
        # A system may lack all shards of a topic that others have; the model says what then.
        flat = kept.over_shards().values[~np.isnan(values).all(axis=(1, 2))]
    return Ready(kept, flat, notes)


def _gaps(scores: Scores) -> tuple[str, ...]:
    """Say what scores are missing, where a test goes by those that there are."""
    absent = np.isnan(scores.values)
    if not absent.any():
        return ()
    if scores.shards:
        cells = int(absent.all(axis=1).sum())
        return (f"{counted(cells, 'cell')} of topic and shard without scores",)
    number = counted(int(absent.sum()), "missing score")
    return (f"{number}: each system is judged by what it has",)


def baseline_indices(
    systems: Sequence[str], asked: str | int | Sequence[str | int] | None
) -> list[int]:
    """Find the systems that are baselines, by name or place; some must be left to compare."""
    try:
        one = asked is None or isinstance(asked, (str, int, np.integer))
        given: list[Any] = ([] if asked is None else [asked]) if one else list(asked)  # type: ignore[arg-type]
    except TypeError:
        raise PolicyError(f"a baseline is the name of a system, not {asked!r}") from None
    found = list(dict.fromkeys(_baseline(systems, one) for one in given))
    if given and len(found) == len(systems):
        raise PolicyError("all systems are baselines: nothing is left to compare with them")
    return found


def _baseline(systems: Sequence[str], given: Any) -> int:
    if isinstance(given, str):
        return place_of(given, systems, role=" to be the baseline")
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise PolicyError(f"a baseline is the name of a system, not {given!r}")
    if str(given) in systems:
        raise PolicyError(
            f"there is a system called {quoted(str(given))}, and a place {given}: name the baseline"
        )
    if not 0 <= given < len(systems):
        raise PolicyError(f"there are {len(systems)} systems, from 0, and no baseline {given}")
    return int(given)


def score_bounds(scores: Scores, asked: tuple[float, float] | None) -> tuple[float, float]:
    """Return the least and the largest score that can be: what is asked for, or as declared."""
    if asked is None:
        if scores.definition is None:
            raise PolicyError(
                "what scores can be is not known: give bounds, such as bounds=(0, 1); not those"
                " that the scores happen to have"
            )
        asked = scores.definition.info.range
    try:
        low, high = (float(bound) for bound in asked)
    except (TypeError, ValueError):
        raise PolicyError(f"bounds are two numbers, not {asked!r}") from None
    if not low < high:
        raise PolicyError(f"the lower bound must be below the upper one, not {low:g}, {high:g}")
    outside = np.argwhere((scores.values < low) | (scores.values > high))
    if outside.size:
        place = outside[0]
        raise CranfieldError(
            f"{scores.cell(place)} has {scores.values[tuple(place)]:g}, which is not within"
            f" {low:g} and {high:g}"
        )
    return low, high
