"""Best, median and worst score of groups of runs by topic, for comparisons in sheets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_choice, check_whole, quoted
from cranfield.base.text import counted
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores

ALL = "all"
"""The group of all runs."""

MEDIANS = ("better", "average")
"""Medians of an even number of scores: the better of the two middle scores, or their mean."""


@dataclass(frozen=True, eq=False, repr=False)
class TopicStatistics(TableResult):
    """Best, median and worst score by group and topic; returned by :func:`topic_statistics`.

    Attributes
    ----------
    measure
        Text form of the measure.
    even_median
        Median of an even number of scores: `better` or `average`.
    excluded_groups
        Sizes of the groups with fewer than `min_runs` runs, by name.
    notes
        Notes on groups that are excluded, and on missing scores.
    """

    columns: ClassVar[Columns] = {
        "group": Column("Group of runs: `all`, then the others in order of name.", key=True),
        "topic": Column("Topic, in the order of the scores.", key=True),
        "best": Column("Best score of a run of the group: the lowest where lower is better."),
        "median": Column(
            "Median score; with an even number of runs the better of the two middle"
            " scores, or their mean, by `even_median`."
        ),
        "worst": Column("Worst score of a run of the group."),
        "n": Column("Number of runs in the group."),
    }

    measure: str
    even_median: str
    excluded_groups: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, `all` first."""
        return tuple(self.rows["group"].unique(maintain_order=True))

    def for_group(self, group: str = ALL) -> pl.DataFrame:
        """Return the rows of a group; excluded groups have none."""
        if group not in self.groups and group not in self.excluded_groups:
            raise PolicyError(
                f"unknown group {quoted(group)}; expected one of: {', '.join(self.groups)}"
            )
        return self.rows.filter(pl.col("group") == group)

    def heading(self) -> list[str]:
        """Return one line: measure and sizes."""
        topics = counted(self.rows["topic"].n_unique(), "topic")
        return [f"{self.measure or 'scores'}: {counted(len(self.groups), 'group')}, {topics}"]


def topic_statistics(
    scores: Scores,
    groups: Mapping[str, str] | None = None,
    *,
    median: str = "better",
    min_runs: int = 1,
) -> TopicStatistics:
    r"""Compute the best, the median and the worst score of each topic, of all runs and of groups.

    The median of an even number of runs is the better of the two middle scores: with the best
    first, the score at position :math:`\lceil n / 2 \rceil`, as in the sheets of TREC-8. As the
    score of a run, it requires an ordinal scale only, while the mean of two scores assumes an
    interval scale.

    Parameters
    ----------
    scores
        Scores by one measure, shape (topics, systems). A missing score counts as 0 or, if lower is
        better, as the maximum of the measure.
    groups
        The group of each run, such as `{"run1": "manual"}`; a run may have none. The group `all`
        has all runs, and its name is reserved.
    median
        `better`, or `average`: the mean of the two middle scores of an even number.
    min_runs
        Groups of fewer runs are excluded, with a note: best and worst of one or two runs would
        reveal their scores.

    Raises
    ------
    PolicyError
        For scores by shard, an unknown run, a group named `all`, and a missing score by a measure
        that is better if lower and has no maximum.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.read_scores({"a": [0.1, 0.5], "b": [0.3, 0.2], "c": [0.2, 0.4], "d": [0.4, 0]})
    >>> statistics = topic_statistics(scores)
    >>> statistics.to_polars().select("best", "median", "worst").rows()
    [(0.4, 0.3, 0.1), (0.5, 0.4, 0.0)]
    >>> topic_statistics(scores, median="average").to_polars()["median"].to_list()
    [0.25, 0.30000000000000004]
    """
    check_choice("median", median, MEDIANS)
    check_whole("min_runs", min_runs, 1)
    groups = groups or {}
    for system in groups:
        if system not in scores.systems:
            raise PolicyError(f"groups: unknown run {quoted(system)}")
    if ALL in groups.values():
        raise PolicyError(f"a group must not be named {ALL}, which stands for all runs")
    values, gap_notes = _complete(scores)
    group_of = np.array([groups.get(system, "") for system in scores.systems], dtype=object)
    names = [ALL, *sorted({name for name in groups.values() if name})]
    members = {name: (group_of == name) | (name == ALL) for name in names}
    sizes = {name: int(mask.sum()) for name, mask in members.items()}
    excluded_groups = {name: size for name, size in sizes.items() if size < min_runs}
    frames = [
        _group_statistics(name, values[:, members[name]], scores, median == "average")
        for name in names
        if name not in excluded_groups
    ]
    notes = [
        f"group {name} is excluded: {counted(size, 'run')}, minimum {min_runs}"
        for name, size in excluded_groups.items()
    ]
    notes += gap_notes
    empty = _group_statistics("", np.zeros((0, 1)), scores.select(topics=[]), False)
    rows = pl.concat(frames) if frames else empty
    return TopicStatistics(rows, scores.measure, median, excluded_groups, tuple(notes))


def _complete(scores: Scores) -> tuple[Floats, list[str]]:
    """Replace missing scores by the worst possible score; also return a note if there are any."""
    values = scores.flat("statistics of topics are of scores by topic and system")
    gaps = np.isnan(values)
    worst = 0.0
    if scores.lower_is_better and gaps.any():
        worst = np.inf if scores.definition is None else scores.definition.info.range[1]
        if not np.isfinite(worst):
            raise PolicyError(
                f"{scores.cell(np.argwhere(gaps)[0])} has no score by {scores.measure}, which"
                " cannot be replaced: lower is better, and the measure has no maximum"
            )
    number = int(gaps.sum())
    notes = [f"{counted(number, 'missing score')} counted as {worst:g}"] if number else []
    return np.where(gaps, worst, values), notes


def _group_statistics(name: str, values: Floats, scores: Scores, average: bool) -> pl.DataFrame:
    runs = values.shape[1]
    best_first = np.sort(values, axis=1)
    if not scores.lower_is_better:
        best_first = best_first[:, ::-1]
    middle = best_first[:, (runs - 1) // 2]
    if average:
        # Halves are added, as the sum of the scores may overflow.
        middle = middle / 2 + best_first[:, runs // 2] / 2
    return pl.DataFrame(
        {
            "group": pl.repeat(name, len(scores.topics), dtype=pl.String, eager=True),
            "topic": pl.Series(scores.topics, dtype=pl.String),
            "best": best_first[:, 0],
            "median": middle,
            "worst": best_first[:, -1],
            "n": pl.repeat(runs, len(scores.topics), dtype=pl.Int64, eager=True),
        }
    )
