"""Best, median and worst score of groups of runs by topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_choice, check_integer, quote
from cranfield.base.text import inflect
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores

ALL = "all"
"""The group of all runs."""

MEDIANS = ("better", "average")
"""Definitions of the median of an even number of scores: the better middle score, or their mean."""


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
        Notes on excluded groups and on missing scores.
    """

    columns: ClassVar[Columns] = {
        "group": Column("Group of runs: `all`, then other groups in order of name.", key=True),
        "topic": Column("Topic, in the order of the scores.", key=True),
        "best": Column("Best score of a run of the group: the lowest where lower is better."),
        "median": Column(
            "Median score; `even_median` states whether the median of an even number of runs is"
            " the better of the two middle scores or their mean."
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
        """Names of the groups that are not excluded, `all` first."""
        return tuple(self.rows["group"].unique(maintain_order=True))

    def select_group(self, group: str = ALL) -> pl.DataFrame:
        """Return the rows of a group; an excluded group has no rows."""
        if group not in self.groups and group not in self.excluded_groups:
            names = ", ".join(self.groups)
            raise PolicyError(f"unknown group {quote(group)}; expected one of: {names}")
        return self.rows.filter(pl.col("group") == group)

    def heading(self) -> list[str]:
        """Return one line: the measure, and the numbers of groups and topics."""
        topics_text = inflect(self.rows["topic"].n_unique(), "topic")
        return [f"{self.measure or 'scores'}: {inflect(len(self.groups), 'group')}, {topics_text}"]


def topic_statistics(
    scores: Scores,
    groups: Mapping[str, str] | None = None,
    *,
    median: str = "better",
    min_runs: int = 1,
) -> TopicStatistics:
    r"""Compute the best, median and worst score of each topic, for all runs and for groups.

    By default, the median of an even number of runs is the better of the two middle scores: with
    the best first, the score at position :math:`\lceil n / 2 \rceil`, as in the sheets of TREC-8.
    It is the score of a run and requires only an ordinal scale, whereas the mean of two scores
    assumes an interval scale.

    Parameters
    ----------
    scores
        Scores by one measure, shape (topics, systems). A missing score counts as 0 or, if lower is
        better, as the maximum of the measure.
    groups
        The group of each run, such as `{"run1": "manual"}`; a run may have no group. The name `all`
        is reserved for the group of all runs.
    median
        Median of an even number of runs: `better`, or `average` for the mean of the middle scores.
    min_runs
        Minimum number of runs of a group. Smaller groups are excluded, with a note, because the
        best and the worst score of one or two runs would reveal their scores.

    Raises
    ------
    PolicyError
        For scores by shard, an unknown run, a group named `all`, and a missing score if lower is
        better and the measure has no maximum.

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
    check_integer("min_runs", min_runs, 1)
    groups = groups or {}
    for system in groups:
        if system not in scores.systems:
            raise PolicyError(f"unknown run {quote(system)} in groups")
    if ALL in groups.values():
        raise PolicyError(f"a group must not be named {ALL}; this name is reserved for all runs")
    values, missing_notes = _fill_missing(scores)
    group_of = np.array([groups.get(system, "") for system in scores.systems], dtype=object)
    names = [ALL, *sorted({name for name in groups.values() if name})]
    members = {name: (group_of == name) | (name == ALL) for name in names}
    sizes = {name: int(mask.sum()) for name, mask in members.items()}
    excluded_groups = {name: size for name, size in sizes.items() if size < min_runs}
    frames = [
        _make_statistics(name, values[:, members[name]], scores, median == "average")
        for name in names
        if name not in excluded_groups
    ]
    notes = [
        f"group {name} is excluded: it has {inflect(size, 'run')}, fewer than {min_runs}"
        for name, size in excluded_groups.items()
    ]
    notes += missing_notes
    empty_frame = _make_statistics("", np.zeros((0, 1)), scores.select(topics=[]), False)
    rows = pl.concat(frames) if frames else empty_frame
    return TopicStatistics(rows, scores.measure, median, excluded_groups, tuple(notes))


def _fill_missing(scores: Scores) -> tuple[Floats, list[str]]:
    """Replace missing scores by 0 or, where lower is better, the maximum; return any notes, too."""
    values = scores.require_two_axes("statistics of topics require scores by topic and system")
    is_missing = np.isnan(values)
    fill = 0.0
    if scores.lower_is_better and is_missing.any():
        fill = np.inf if scores.definition is None else scores.definition.info.range[1]
        if not np.isfinite(fill):
            raise PolicyError(
                f"{scores.describe_cell(np.argwhere(is_missing)[0])} has no score by"
                f" {scores.measure}; where lower is better, missing scores require a measure with a"
                " maximum"
            )
    n_missing = int(is_missing.sum())
    notes = [f"{inflect(n_missing, 'missing score')} counted as {fill:g}"] if n_missing else []
    return np.where(is_missing, fill, values), notes


def _make_statistics(name: str, values: Floats, scores: Scores, is_average: bool) -> pl.DataFrame:
    n_runs = values.shape[1]
    sorted_scores = np.sort(values, axis=1)
    if not scores.lower_is_better:
        sorted_scores = sorted_scores[:, ::-1]
    median = sorted_scores[:, (n_runs - 1) // 2]
    if is_average:
        # Halves are added, because the sum of the scores may overflow.
        median = median / 2 + sorted_scores[:, n_runs // 2] / 2
    return pl.DataFrame(
        {
            "group": pl.repeat(name, len(scores.topics), dtype=pl.String, eager=True),
            "topic": pl.Series(scores.topics, dtype=pl.String),
            "best": sorted_scores[:, 0],
            "median": median,
            "worst": sorted_scores[:, -1],
            "n": pl.repeat(n_runs, len(scores.topics), dtype=pl.Int64, eager=True),
        }
    )
