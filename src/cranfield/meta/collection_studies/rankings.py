"""Scores, ranks and teams of systems, for studies of collections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isnan
from numbers import Real
from os import PathLike
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, round_for_ranking
from cranfield.base.errors import InputError, PolicyError, check_choice, check_list, quote
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.ranking import order_documents
from cranfield.collection.pairs import make_topic_column
from cranfield.collection.run import Run
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.result import Column
from cranfield.scores import Scores
from cranfield.sources.columns import Table, is_frame, read_table
from cranfield.sources.schemas import TABLE_FORMATS, FileColumn, Schema
from cranfield.sources.values import TAG

Teams: TypeAlias = (
    Mapping[str, str] | Callable[[str], str] | re.Pattern[str] | PathLike[str] | str | Any | None
)
"""Assignment of systems to teams, as for :func:`teams_of`."""

_TEAMS = Schema(
    "table of teams",
    (FileColumn("system", TAG), FileColumn("team", TAG)),
    noun="the teams",
    formats=TABLE_FORMATS,
    default_format="csv",
)

LIST_COLUMNS = {
    "measure": Column("Measure.", key=True),
    "list": Column("`raw` lists, or `condensed` lists without unjudged documents.", key=True),
}
"""Key columns for the measure and the kind of list."""


def teams_of(systems: Iterable[str], teams: Teams = None) -> tuple[str, ...]:
    """Find the team of each system.

    Parameters
    ----------
    systems
        Names of the systems.
    teams
        None: each system is a team of its own. Otherwise a mapping of systems to teams; a function
        that returns the team for the name of a system; a compiled regular expression that is
        searched in the name (the team is its first group, or the complete match if it has no
        group); or a data frame, or the path of a CSV, TSV or Parquet file, with a column of systems
        (such as `system`, `tag` or `run`) and a column of teams (`team`, `group` or `participant`).
        A mapping or table may contain other systems, too.

    Returns
    -------
    tuple of str
        The team of each system.

    Raises
    ------
    PolicyError
        For teams of an unsupported type, or a system without a team.
    InputError
        For a table that cannot be read, lacks a column or a value, or has two teams for a system.

    Examples
    --------
    >>> teams_of(["bm25-1", "bm25-2", "lm"], re.compile("[a-z0-9]+"))
    ('bm25', 'bm25', 'lm')
    >>> teams_of(["a1", "b1"], {"a1": "A", "b1": "B", "c1": "C"})
    ('A', 'B')
    """
    check_list("systems", systems)
    names = list(systems)
    if teams is None:
        return tuple(names)
    find_team = _make_team_finder(teams)
    labels = []
    for name in names:
        team = find_team(name)
        # A mapping made from a data frame may have NaN for an empty cell.
        is_number = isinstance(team, Real) and not isnan(team)
        if not is_number and (not isinstance(team, str) or not team):
            raise PolicyError(f"system {quote(name)} has no team")
        labels.append(str(team))
    return tuple(labels)


def _make_team_finder(teams: Any) -> Callable[[str], Any]:
    if isinstance(teams, Mapping):
        return {str(system): team for system, team in teams.items()}.get
    if isinstance(teams, re.Pattern):
        group = 1 if teams.groups else 0
        return lambda name: match.group(group) if (match := teams.search(name)) else None
    if isinstance(teams, (str, PathLike)) or is_frame(teams):
        return _read_teams(read_table(teams, _TEAMS)).get
    if callable(teams):
        return cast("Callable[[str], Any]", teams)
    raise PolicyError(
        "teams must be a mapping of systems, a function, a compiled regular expression, a data"
        f" frame or the path of a table, got {type(teams).__name__}"
    )


def _read_teams(table: Table) -> dict[str, str]:
    teams: dict[str, str] = {}
    for row, (system, team) in enumerate(table.frame.iter_rows()):
        if system is None and team is None:
            continue  # An empty line
        if system is None or team is None:
            column = "system" if system is None else "team"
            raise table.make_row_error(row, f"expected a {column}, got an empty cell")
        if (first_team := teams.setdefault(system, team)) != team:
            reason = f"has the teams {quote(first_team)} and {quote(team)}, expected one"
            raise InputError(f"system {quote(system)} {reason}", source=table.source)
    return teams


LISTS = ("raw", "condensed")
"""Kinds of ranked lists: as retrieved, and without unjudged documents."""


@dataclass(frozen=True)
class ScoreKinds:
    """Measures and kinds of lists; each combination of the two is a kind of score."""

    measures: tuple[Measure, ...]
    lists: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [measure.label for measure in self.measures]

    @property
    def items(self) -> list[tuple[str, str, bool]]:
        """Measure, kind of list, and whether lower is better, for each kind of score."""
        kinds = product(self.measures, self.lists)
        return [(measure.label, name, measure.info.lower_is_better) for measure, name in kinds]

    def make_settings(self) -> dict[str, Any]:
        return {"measures": self.names, "lists": list(self.lists)}

    def make_frame(self, kind_index: int, columns: Any) -> pl.DataFrame:
        """Make a table with the measure and the list of a kind of score as first columns."""
        measure, list_name, _ = self.items[kind_index]
        labels = pl.lit(measure).alias("measure"), pl.lit(list_name).alias("list")
        return pl.DataFrame(columns).select(*labels, pl.all())


def parse_score_kinds(measures: Any, lists: str | Sequence[str], compat: str | None) -> ScoreKinds:
    """Parse distinct measures, and check kinds of lists."""
    parsed_measures = tuple(dict.fromkeys(parse_measures(measures, compat=compat)))
    kinds = (lists,) if isinstance(lists, str) else tuple(dict.fromkeys(lists))
    if not kinds:
        raise PolicyError(f"expected at least one kind of list ({', '.join(LISTS)}), got none")
    for kind in kinds:
        check_choice("list", kind, LISTS)
    return ScoreKinds(parsed_measures, kinds)


def compute_overall_scores(blocks: Iterable[JudgedRuns], kinds: ScoreKinds) -> Floats:
    """Compute the overall score of each system; shape (kinds of score, systems)."""
    values = [[scores.overall() for scores in _score_kinds(block, kinds)] for block in blocks]
    return np.concatenate(values, axis=-1)


def score_blocks(blocks: Iterable[JudgedRuns], kinds: ScoreKinds) -> list[Scores]:
    """Score blocks of systems; return scores of all systems for each kind of score."""
    return [
        replace(
            block_scores[0],
            values=np.concatenate([scores.values for scores in block_scores], axis=1),
            systems=tuple(name for scores in block_scores for name in scores.systems),
        )
        for block_scores in zip(*(_score_kinds(block, kinds) for block in blocks), strict=True)
    ]


def _score_kinds(judged: JudgedRuns, kinds: ScoreKinds) -> list[Scores]:
    views = [judged if name == "raw" else judged.condense() for name in kinds.lists]
    scores_by_view = [score(view, kinds.measures).values() for view in views]
    return [scores for view_scores in zip(*scores_by_view, strict=True) for scores in view_scores]


def compute_ranks(
    values: Floats, lower_is_better: bool = False, others: Floats | None = None
) -> Floats:
    """Compute the ranks of systems by their values; tied systems share their best rank.

    With `others`, the value of each system is ranked among the values of other systems in `others`.

    >>> before = np.array([0.5, 0.4, 0.4, 0.1])
    >>> compute_ranks(before).tolist()
    [1.0, 2.0, 2.0, 4.0]
    >>> compute_ranks(np.array([0.3, 0.4, 0.4, 0.1]), others=before).tolist()
    [3.0, 2.0, 2.0, 4.0]
    """
    sign = -1.0 if lower_is_better else 1.0
    rounded_values = round_for_ranking(sign * values)
    other_values = rounded_values if others is None else round_for_ranking(sign * others)
    is_better = other_values > rounded_values[:, None]
    np.fill_diagonal(is_better, False)
    return np.where(np.isnan(rounded_values), np.nan, 1.0 + is_better.sum(axis=1))


def join_tables(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate tables with columns of ranks, which become integers; NaN becomes null."""
    return pl.concat(tables).fill_nan(None).with_columns(pl.col("^.*rank.*$").cast(pl.Int64))


def correlate_ranks(first: Floats, second: Floats) -> float:
    """Compute Kendall's tau-b over systems with both scores; NaN if one ties all of them."""
    has_score = ~(np.isnan(first) | np.isnan(second))
    rounded_scores = [round_for_ranking(scores[has_score]) for scores in (first, second)]
    return float(kendall_tau(*rounded_scores))


def tabulate_ranks(run: Run, ties: str, depth: int | None) -> pl.DataFrame:
    """Return a table of the documents of a run down to a depth: `topic`, `doc` and `rank`."""
    frame = pl.DataFrame(
        {
            "topic": make_topic_column(run),
            "doc": run.docs,
            "rank": order_documents(run, ties).compute_ranks(np.arange(len(run), dtype=np.intp)),
        }
    )
    return frame if depth is None else frame.filter(pl.col("rank") <= depth)
