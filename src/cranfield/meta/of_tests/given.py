"""What studies of tests are given: scores, by shard too, tests, and groups of systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.base.arrays import Indices
from cranfield.base.checks import check_whole
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.meta.of_collections.teams import teams_of
from cranfield.meta.of_tests.fast_tests import TestChoice, read_choice
from cranfield.meta.work.folder import fingerprint
from cranfield.scores import Scores
from cranfield.scores.labels import places_of
from cranfield.significance.prepare import as_scores
from cranfield.significance.tests.catalogue import TESTS

SIZES = (5, 10, 25, 50, 125)
"""Sizes of topic sets of Ferro and Sanderson (2022), section 4."""

ALL = "all systems"
"""Name of the group that every system is in."""


@dataclass(frozen=True, eq=False)
class Given:
    """Scores and tests that fit each other.

    `by_shard` are scores of the same topics and systems in the same order, or None; `groups` are
    indices of the systems of each group.
    """

    scores: Scores
    by_shard: Scores | None
    tests: tuple[TestChoice, ...]
    groups: dict[str, Indices]

    def sizes(self, asked: Sequence[int] | None) -> tuple[int, ...]:
        """Sizes of two disjoint sets of topics: half of them, rounded up, at most."""
        topics = len(self.scores.topics)
        most = (topics + 1) // 2
        if topics < 4:
            raise CranfieldError(f"{topics} topics are too few to be split into two sets of 2")
        if asked is None:
            found = tuple(size for size in SIZES if size <= most)
            return found or (most,)
        return checked_sizes(asked, most, f"half of the {topics} topics")

    def about(self, seed: int) -> dict[str, Any]:
        """Return what results depend on besides sizes and repeats."""
        every = [self.scores] if self.by_shard is None else [self.scores, self.by_shard]
        return {
            "measure": self.scores.measure,
            "tests": [one.label for one in self.tests],
            "alpha": self.tests[0].alpha,
            "missing": self.tests[0].missing,
            "resamples": self.tests[0].resamples,
            "groups": {name: len(members) for name, members in self.groups.items()},
            "members": {name: members.tolist() for name, members in self.groups.items()},
            "seed": seed,
            "scores": fingerprint(*every),
        }

    def of(self, test: TestChoice, topics: Indices, systems: Indices) -> Scores:
        """Return the scores that a test takes, of some topics and systems."""
        takes = self.by_shard if test.by_shard else None
        return (takes or self.scores).select(topics, systems)


def checked_sizes(asked: Any, most: int, what: str) -> tuple[int, ...]:
    """Refuse sizes of topic sets that are no whole numbers from 2 to a limit."""
    try:
        sizes = tuple(dict.fromkeys(asked))
    except TypeError:
        raise PolicyError(f"sizes are a list of numbers of topics, not {asked!r}") from None
    if not sizes:
        raise PolicyError("no size of a topic set is given")
    for size in sizes:
        check_whole("the size of a topic set", size, 2)
        if size > most:
            raise PolicyError(f"sizes must be at most {what}, got {size}")
    return tuple(int(size) for size in sizes)


def given_tests(
    scores: Any,
    by_shard: Any,
    tests: Iterable[Any],
    systems: Sequence[str] | None,
    teams: Any,
    alpha: float,
    missing: str | None,
    resamples: int,
) -> Given:
    whole = as_scores(scores)
    if whole.shards:
        raise PolicyError("scores by shard are given as by_shard, beside those of all documents")
    shards = None if by_shard is None else _aligned(as_scores(by_shard), whole)
    if isinstance(tests, str):
        tests = [tests]
    if not isinstance(tests, Iterable):
        raise PolicyError(f"tests are a list of their names, not {tests!r}")
    chosen = [read_choice(one, alpha=alpha, missing=missing, resamples=resamples) for one in tests]
    if not chosen:
        raise PolicyError("no test is given")
    labels = [one.label for one in chosen]
    for label in labels:
        if labels.count(label) > 1:
            raise PolicyError(f"the test {label} is named twice")
    for one in chosen:
        if one.info.shards == "needed" and shards is None:
            raise PolicyError(f"{one.test} needs scores by shard")
    made = Given(whole, shards, tuple(chosen), _groups(whole, systems, teams))
    for one in chosen:
        # What cannot be tested on all topics is an error; on a few of them it is a finding.
        one.check(made.by_shard if one.by_shard and made.by_shard is not None else whole)
    return made


def _aligned(shards: Scores, whole: Scores) -> Scores:
    if not shards.shards:
        raise PolicyError("by_shard takes scores of shape (topics, systems, shards)")
    for what, mine, theirs in (
        ("topic", shards.topics, whole.topics),
        ("system", shards.systems, whole.systems),
    ):
        lone = sorted(set(mine) ^ set(theirs))
        if lone:
            where = "by shard" if lone[0] in mine else "of all documents"
            raise CranfieldError(f"{what} {quoted(lone[0])} has scores {where} only")
    return shards.select(whole.topics, whole.systems)


def _groups(scores: Scores, systems: Sequence[str] | None, teams: Any) -> dict[str, Indices]:
    if not (systems is None or isinstance(systems, Iterable)):
        raise PolicyError(f"systems are a list of their names, not {systems!r}")
    systems = [systems] if isinstance(systems, str) else systems
    names = list(scores.systems) if systems is None else list(dict.fromkeys(systems))
    whole = ALL if systems is None else "systems"
    groups = {whole: places_of(names, scores.systems)}
    if teams is not None:
        team_of = teams_of(names, teams)
        for team in sorted(set(team_of)):
            own = [name for name, of in zip(names, team_of, strict=True) if of == team]
            if team == whole:
                raise PolicyError(f"no team can be called {quoted(team)}: that is the whole group")
            if len(own) > 1:
                groups[team] = places_of(own, scores.systems)
    for name, members in groups.items():
        if len(members) < 2:
            raise CranfieldError(f"{name}: a comparison needs two systems, not {len(members)}")
    return groups


def explained(tests: Iterable[str]) -> list[str]:
    """Say what the short names of tests stand for, in a line."""
    names = dict.fromkeys(one.partition("+")[0] for one in tests)
    known = [TESTS[name].info for name in names if name in TESTS]
    return ["; ".join(f"{info.name}: {info.title}" for info in known)] if known else []
