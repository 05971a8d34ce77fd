"""A run against others: best, median and worst of its group, and its place among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, places
from cranfield.campaign.results.sheets.categories import Group, groups_by
from cranfield.campaign.results.sheets.content import Category, OfTopic, finite
from cranfield.campaign.results.topic_statistics import ALL, TopicStatistics, topic_statistics
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.scores import Scores

LEVELS = tuple(f"{k / 10:g}" for k in range(11))


def recall_measures(task: TaskRules) -> tuple[str, ...]:
    """Return interpolated precision at 11 levels of recall, rounded as the rules of judging say."""
    compat = task.judging.get("compat")
    names = parse_measures("iprec_at_recall", compat=None if compat is None else str(compat))
    return tuple(map(str, names))


class AgainstOthers:
    """Statistics of the groups that runs are compared with, each computed once."""

    def __init__(
        self, evaluation: Evaluation, scores: Scores, runs: Sequence[Submission], task: TaskRules
    ) -> None:
        self.scores, self.runs, self.task = scores, runs, task
        levels = [evaluation[name] for name in recall_measures(task)]
        curves = np.stack([one.select(None, scores.systems).overall() for one in levels])
        self.curves = Scores(curves, LEVELS, scores.systems, "IPrec")
        self._made: dict[str, tuple[TopicStatistics, TopicStatistics]] = {}
        self._ranked: dict[Group, Floats] = {}

    def _of(self, group: Group) -> tuple[TopicStatistics, TopicStatistics, str]:
        """Statistics of scores and of curves by one category, and what they call the group."""
        key, value = group
        if key not in self._made:
            # Called so that no value is taken for all runs.
            groups = (
                {tag: f"={own}" for tag, own in groups_by(self.runs, key).items()} if key else None
            )
            self._made[key] = tuple(  # type: ignore[assignment]
                topic_statistics(one, groups, median=self.task.median)
                for one in (self.scores, self.curves)
            )
        return *self._made[key], f"={value}" if key else ALL

    def statistics(self, group: Group) -> pl.DataFrame:
        """Return best, median and worst of a group, by topic."""
        statistics, _, name = self._of(group)
        return statistics.of(name)

    def category(self, group: Group | None) -> Category | None:
        if group is None:
            return None
        statistics, _, name = self._of(group)
        return Category(*group, int(statistics.of(name)["n"][0]))

    def curve(self, group: Group | None) -> tuple[float | None, ...]:
        if group is None:
            return ()
        _, curves, name = self._of(group)
        return tuple(map(finite, curves.of(name)["median"].to_list()))

    def topics(self, run: int, group: Group | None, relevant: Floats) -> tuple[OfTopic, ...]:
        """Return the rows of one run, by its index in the scores; `relevant` by topic."""
        scores = self.scores
        columns: list[Iterable[Any]] = [
            scores.topics,
            [int(count) for count in relevant],
            [finite(value) for value in scores.values[:, run].tolist()],
        ]
        if group is not None:
            statistics, _, name = self._of(group)
            frame = statistics.of(name)
            columns += [map(finite, frame[one].to_list()) for one in ("best", "median", "worst")]
            columns.append([int(place) for place in self._places(group)[:, run]])
        return tuple(OfTopic(*row) for row in zip(*columns, strict=True))

    def _places(self, group: Group) -> Floats:
        """The place of each run of a group among them, topic by topic; NaN for other runs."""
        if group not in self._ranked:
            key, value = group
            of = groups_by(self.runs, key)
            chosen = [not key or of.get(tag) == value for tag in self.scores.systems]
            values = self.scores.values[:, chosen]
            found = np.full(self.scores.values.shape, np.nan)
            found[:, chosen] = [places(row, self.scores.lower_is_better) for row in values]
            self._ranked[group] = found
        return self._ranked[group]
