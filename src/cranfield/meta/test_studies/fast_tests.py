"""Fast significance tests for studies, which repeat tests and need only the significant pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_list, quote
from cranfield.base.streams import make_stream
from cranfield.meta.collection_studies.rankings import teams_of
from cranfield.meta.study_options import check_integers
from cranfield.meta.work import hash_scores
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_labels
from cranfield.significance.comparison.compare import compare
from cranfield.significance.corrections.studentised import studentised_range_isf
from cranfield.significance.differences import ROUNDING, Pairs, pair_all
from cranfield.significance.models.glm import correct_testable_pairs, describe_excluded_topics
from cranfield.significance.prepare import PreparedScores, as_scores, prepare_scores
from cranfield.significance.registry import CORRECTIONS, TestInfo, TestOptions, find_test


@dataclass(frozen=True, eq=False)
class PairDecisions:
    """Decisions of a test on one set of topics; arrays of shape (pairs of systems,)."""

    order: NDArray[np.int8]  # sign of the difference of mean scores, first system minus second
    is_significant: Bools


@dataclass(frozen=True)
class TestChoice:
    """A test with its correction (by default that of the test) and options."""

    __test__ = False  # Prevents pytest from collecting this class.

    test: str
    correction: str | None = None
    alpha: float = 0.05
    missing: str | None = None
    resamples: int = 1000
    label: str = field(init=False)

    def __post_init__(self) -> None:
        TestOptions(alpha=self.alpha, resamples=self.resamples)
        info = find_test(self.test).info
        default = info.corrections[0]
        correction = default if self.correction is None else info.find_correction(self.correction)
        label = info.name if correction == default else f"{info.name}+{correction}"
        for name, value in (("test", info.name), ("correction", correction), ("label", label)):
            object.__setattr__(self, name, value)

    @property
    def info(self) -> TestInfo:
        return find_test(self.test).info

    @property
    def is_random(self) -> bool:
        """True if the test or its correction draws random samples."""
        return self.info.is_random or CORRECTIONS[self.correction or ""].is_random

    @property
    def uses_shards(self) -> bool:
        return bool(self.info.shards)

    def __call__(self, scores: Scores | Floats, *, seed: int = 0) -> PairDecisions:
        """Test all pairs of systems; an array, by topic, system and any shard, must be complete."""
        info = self.info
        is_fast = info.is_upper_bound or (info.can_be_fitted and self.correction == "tukey")
        if isinstance(scores, np.ndarray):
            if is_fast and scores.ndim == 2:
                return self._test_by_model(scores, scores)
            if info.refusal:
                return self._test_pairs(scores)
            scores = label_scores(scores)
        if not is_fast and not info.refusal:
            return self._compare_systems(scores, seed)
        prepared_scores = self.prepare(scores)
        if not is_fast:
            return self._test_pairs(prepared_scores.topic_scores)
        return self._test_by_model(prepared_scores.scores.values, prepared_scores.topic_scores)

    def prepare(self, scores: Scores) -> PreparedScores:
        """Prepare scores for the test; raise an error for scores that it does not support."""
        return prepare_scores(scores, self.info, self._choose_missing(scores))

    def _choose_missing(self, scores: Scores) -> str | None:
        # By default missing scores are an error, except in scores by shard.
        if self.missing is None and scores.shards and self.info.shards == "required":
            return "available"
        return self.missing

    def _test_by_model(self, values: Floats, topic_scores: Floats) -> PairDecisions:
        """Test by Tukey's HSD without intervals and p-values, or apply a bound on rejections."""
        model = find_test(self.test).fit(values)
        pairs = Pairs(topic_scores, *_index_pairs(topic_scores.shape[1]))
        difference = model.subtract(pairs)
        order = np.sign(difference).astype(np.int8)
        if self.info.is_upper_bound:
            return PairDecisions(order, order != 0)
        if model.error_variance <= (ROUNDING * np.nanmax(np.abs(values), initial=0.0)) ** 2:
            # If the error is 0, as when all topics have the same scores, use the complete test.
            return self._compare_systems(label_scores(values), seed=0)
        critical_t = compute_critical_value(self.alpha, model.means.size, model.df) / np.sqrt(2)
        is_beyond = np.abs(difference) >= critical_t * model.estimate_errors(pairs)
        return PairDecisions(order, is_beyond & (order != 0))

    def _test_pairs(self, values: Floats) -> PairDecisions:
        """Use a test that `compare` does not offer; untestable pairs are not significant."""
        pairs, options = pair_all(values), TestOptions(alpha=self.alpha)
        test = find_test(self.test)
        outcome, pvalues = correct_testable_pairs(test, self.correction or "", pairs, options)
        mean_differences = pairs.compute_mean_differences(values.mean(axis=0))
        order = np.where(np.isnan(pvalues), np.sign(mean_differences), np.sign(outcome.statistic))
        return PairDecisions(order.astype(np.int8), pvalues <= self.alpha)

    def _compare_systems(self, scores: Scores, seed: int) -> PairDecisions:
        comparison = compare(
            scores,
            test=self.test,
            correction=self.correction,
            alpha=self.alpha,
            missing=self._choose_missing(scores),
            resamples=self.resamples,
            seed=seed,
            jobs=1,
        )
        # A comparison says which system is better; here the sign of the difference is needed.
        sign = -1 if scores.lower_is_better else 1
        advantage = -comparison.difference if comparison.lower_is_better else comparison.difference
        is_significant = comparison.is_significant()
        order = sign * np.where(is_significant, comparison.direction, np.sign(advantage))
        return PairDecisions(order.astype(np.int8), is_significant)


def label_scores(values: Floats) -> Scores:
    """Make scores from an array, whose indices become names of topics and systems."""
    topics, systems = (tuple(map(str, range(size))) for size in values.shape[:2])
    return Scores(values, topics, systems)


@lru_cache(maxsize=16)
def _index_pairs(n_systems: int) -> tuple[Indices, Indices]:
    """Return the indices of the systems of all pairs, in order."""
    pairs = pair_all(np.empty((0, n_systems)))
    return pairs.first, pairs.second


@lru_cache(maxsize=4096)
def compute_critical_value(alpha: float, n_systems: int, df: float) -> float:
    """Return the critical value of the studentised range; topic sets of one size share it."""
    return studentised_range_isf(alpha, n_systems, df)


def is_bound(label: str) -> bool:
    """Return True if a label stands for an upper bound on rejections rather than for a test."""
    return find_test(label.partition("+")[0]).info.is_upper_bound


def read_choice(item: Any, *, alpha: float, missing: str | None, resamples: int) -> TestChoice:
    """Parse a test such as `t`, `t+holm` or `("t", "holm")`."""
    if isinstance(item, TestChoice):
        return item
    pair = [part.strip() for part in item.split("+", 1)] if isinstance(item, str) else item
    if not isinstance(pair, (tuple, list)) or not 1 <= len(pair) <= 2:
        raise PolicyError(f"a test must be a name such as 't' or 't+holm', got {item!r}")
    correction = (pair[1] or None) if len(pair) > 1 else None
    return TestChoice(pair[0], correction, alpha, missing, resamples)


def compute_decisions(
    choice: TestChoice, scores: Scores | Floats, seed: int
) -> tuple[PairDecisions, bool]:
    """Return the decisions, and whether the test could be computed (otherwise no rejections)."""
    try:
        return choice(scores, seed=seed), True
    except CranfieldError as error:
        if isinstance(error, PolicyError):
            raise
        means = scores.system_means() if isinstance(scores, Scores) else scores.mean(axis=0)
        pairs = pair_all(means[None, :])
        order = np.sign(np.nan_to_num(pairs.subtract(means))).astype(np.int8)
        return PairDecisions(order, np.zeros(len(pairs), dtype=bool)), False


SIZES = (5, 10, 25, 50, 125)
"""Sizes of topic sets of Ferro and Sanderson (2022), section 4."""

ALL_SYSTEMS = "all systems"
"""Name of the group of all systems."""


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """Scores and tests of a study, where each test supports the scores."""

    scores: Scores
    by_shard: Scores | None  # of the same topics and systems in the same order
    tests: tuple[TestChoice, ...]
    groups: dict[str, Indices]  # the systems of each group

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(test.label for test in self.tests)

    @property
    def notes(self) -> tuple[str, ...]:
        """Note on topics with only 0 or only 1, which tests of scores from 0 to 1 exclude."""
        if not any(test.info.requires_bounded_scores for test in self.tests):
            return ()
        [systems, *_] = self.groups.values()
        values = self.scores.values[:, systems]
        is_constant = (values == 0).all(axis=1) | (values == 1).all(axis=1)
        names = np.array(self.scores.topics)[is_constant].tolist()
        return (describe_excluded_topics(names),) if names else ()

    def parse_sizes(self, sizes: Sequence[int] | None) -> tuple[int, ...]:
        """Return sizes of disjoint topic sets, up to half of the topics, rounded up."""
        n_topics = len(self.scores.topics)
        max_size = (n_topics + 1) // 2
        if n_topics < 4:
            raise CranfieldError(f"two disjoint sets require at least 4 topics, got {n_topics}")
        if sizes is None:
            return tuple(size for size in SIZES if size <= max_size) or (max_size,)
        return check_topic_sizes(sizes, max_size)

    def make_settings(self, seed: int) -> dict[str, Any]:
        """Return the settings that results depend on, besides sizes and repeats."""
        all_scores = [self.scores] if self.by_shard is None else [self.scores, self.by_shard]
        test = self.tests[0]
        return {
            "measure": self.scores.measure,
            "tests": self.labels,
            "alpha": test.alpha,
            "missing": test.missing,
            "resamples": test.resamples,
            "groups": {name: len(members) for name, members in self.groups.items()},
            "members": {name: members.tolist() for name, members in self.groups.items()},
            "seed": seed,
            "scores": hash_scores(*all_scores),
        }

    def select(self, test: TestChoice, topics: Indices | None, systems: Indices) -> Scores:
        """Select the scores that a test requires, of some or all topics and some systems."""
        shard_scores = self.by_shard if test.uses_shards else None
        return (shard_scores or self.scores).select(topics, systems)


def draw_topic_sets(
    n_topics: int, size: int, repeat: int, seed: int, *, replacement: bool = False
) -> tuple[Indices, Indices]:
    """Draw two sets; without replacement, they are disjoint, and the second may be one smaller."""
    rng = make_stream(seed, size, repeat)
    if replacement:
        first, second = rng.integers(n_topics, size=(2, size))
        return first, second
    sample = rng.permutation(n_topics)[: 2 * size]
    return np.sort(sample[:size]), np.sort(sample[size:])


def check_topic_sizes(sizes: Any, max_size: int) -> tuple[int, ...]:
    """Check distinct sizes of topic sets, from 2 to a maximum."""
    return check_integers("size", sizes, max_size, " of topic sets", 2)


def read_inputs(
    scores: Any,
    by_shard: Any,
    tests: Iterable[Any],
    systems: Sequence[str] | None,
    teams: Any,
    alpha: float,
    missing: str | None,
    resamples: int,
) -> StudyInputs:
    """Read the scores and tests of a study, and check that the tests support the scores."""
    check_list("systems", systems)
    check_list("tests", tests)
    topic_scores = as_scores(scores)
    if topic_scores.axis == "replicate":
        topic_scores.require_two_axes()
    if topic_scores.shards:
        raise PolicyError("expected scores by topic, got scores by shard; pass them as by_shard")
    shard_scores = None
    if by_shard is not None:
        if not (shard_scores := as_scores(by_shard)).shards:
            raise PolicyError("by_shard must be scores by shard, got scores by topic")
        shard_scores = shard_scores.align(topic_scores, ("by_shard", "scores"))
    choices: dict[str, TestChoice] = {}
    for item in tests:
        test = read_choice(item, alpha=alpha, missing=missing, resamples=resamples)
        if test.label in choices:
            raise PolicyError(f"expected distinct tests, got test {test.label} more than once")
        if test.info.shards == "required" and shard_scores is None:
            raise PolicyError(f"{test.test} requires scores by {test.info.axis}")
        # Raises an error if the test does not support the scores; failures on samples are counted.
        test_scores = shard_scores if test.uses_shards else None
        test.prepare(topic_scores if test_scores is None else test_scores)
        choices[test.label] = test
    if not choices:
        raise PolicyError("expected at least one test, got none")
    groups = _group_systems(topic_scores, systems, teams)
    return StudyInputs(topic_scores, shard_scores, tuple(choices.values()), groups)


def _group_systems(scores: Scores, systems: Sequence[str] | None, teams: Any) -> dict[str, Indices]:
    names = list(scores.systems) if systems is None else list(dict.fromkeys(systems))
    group_name = ALL_SYSTEMS if systems is None else "systems"
    groups = {group_name: names}
    if teams is not None:
        team_systems: dict[str, list[str]] = {}
        for name, team in zip(names, teams_of(names, teams), strict=True):
            team_systems.setdefault(team, []).append(name)
        if group_name in team_systems:
            raise PolicyError(
                f"a team must not have the name {quote(group_name)}, which is reserved for the"
                " group of all compared systems"
            )
        groups |= {team: names for team, names in sorted(team_systems.items()) if len(names) > 1}
    indices = {group: find_labels(members, scores.systems) for group, members in groups.items()}
    if len(names) < 2:
        raise CranfieldError(f"a comparison requires at least two systems, got {len(names)}")
    return indices


def explain_tests(tests: Iterable[str]) -> list[str]:
    """Return a line with the names and titles of the tests."""
    names = dict.fromkeys(label.partition("+")[0] for label in tests)
    infos = (find_test(name).info for name in names)
    return ["; ".join(f"{info.name}: {info.title}" for info in infos)]
