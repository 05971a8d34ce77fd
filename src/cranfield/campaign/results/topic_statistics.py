"""Best, median and worst score of groups of runs, topic by topic: what sheets compare with."""

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
"""Of an even number of scores: the better of the two middle ones, or their mean."""


@dataclass(frozen=True, eq=False, repr=False)
class TopicStatistics(TableResult):
    """Best, median and worst score by group and topic; made by :func:`topic_statistics`.

    Attributes
    ----------
    measure
        Text form of the measure.
    even_median
        How the median of an even number of scores is taken: `better` or `average`.
    excluded_groups
        Groups that are smaller than the min_runs size, by name, and their sizes.
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

    def of(self, group: str = ALL) -> pl.DataFrame:
        """Return the rows of one group; a small group, which is excluded, has none."""
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
    r"""Return the best, the median and the worst score of each topic, of all runs and of groups.

    The median of an even number of runs is the better of the two middle scores: with the best
    first, that in place :math:`\lceil n / 2 \rceil`. So TREC's sheets have it (seen in those of
    TREC-8), and so an ordinal scale allows it: it is a score that some run has, while the mean of
    two scores takes an interval scale for granted.

    Parameters
    ----------
    scores
        Scores of one measure, shape (topics, systems). A run without a score for a topic counts
        with 0; where low scores are good, with the highest that the measure can give.
    groups
        The group of each run, such as `{"run1": "manual"}`; a run may have none. All runs are the
        group `all`, whose name no other has.
    median
        `better`, or `average`: the mean of the two middle scores of an even number.
    min_runs
        Groups of fewer runs are excluded, with a note: of one run or two, best and worst would tell
        what each of them scored.

    Raises
    ------
    PolicyError
        For scores by shard, a run that is not there, a group called `all`, and a missing score by a
        measure of which low scores are good and that has no highest.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.read_scores({"a": [0.1, 0.5], "b": [0.3, 0.2], "c": [0.2, 0.4], "d": [0.4, 0]})
    >>> found = topic_statistics(scores)
    >>> found.to_polars().select("best", "median", "worst").rows()
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
    values, told = _complete(scores)
    group_of = np.array([groups.get(system, "") for system in scores.systems], dtype=object)
    names = [ALL, *sorted({name for name in groups.values() if name})]
    members = {name: (group_of == name) | (name == ALL) for name in names}
    sizes = {name: int(chosen.sum()) for name, chosen in members.items()}
    excluded_groups = {name: size for name, size in sizes.items() if size < min_runs}
    kept = [name for name in names if name not in excluded_groups]
    parts = [
        _of_group(name, values[:, members[name]], scores, median == "average") for name in kept
    ]
    notes = [
        f"group {name} is excluded: {counted(size, 'run')}, minimum {min_runs}"
        for name, size in excluded_groups.items()
    ]
    notes += told
    empty = _of_group("", np.zeros((0, 1)), scores.select(topics=[]), False)
    rows = pl.concat(parts) if parts else empty
    return TopicStatistics(rows, scores.measure, median, excluded_groups, tuple(notes))


def _complete(scores: Scores) -> tuple[Floats, list[str]]:
    """Replace missing scores by the worst possible one, and note it."""
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
    told = [f"{counted(number, 'missing score')} counted as {worst:g}"] if number else []
    return np.where(gaps, worst, values), told


def _of_group(name: str, values: Floats, scores: Scores, average: bool) -> pl.DataFrame:
    """Sort the scores of each topic, and pick."""
    runs = values.shape[1]
    best_first = np.sort(values, axis=1)
    if not scores.lower_is_better:
        best_first = best_first[:, ::-1]
    middle = best_first[:, (runs - 1) // 2]
    if average:
        # Halves, as a sum may be too large.
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
