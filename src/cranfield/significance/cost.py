"""Pareto fronts of the effectiveness and the costs of systems."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Ints, remove_noise
from cranfield.base.errors import CranfieldError, InputError, quote
from cranfield.base.kinds import Integer, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect, list_some
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.prepare import as_scores, check_squarable, describe_replicates
from cranfield.significance.registry import MAX_RESAMPLES, RESAMPLES
from cranfield.significance.resampling import as_integers, draw_counts
from cranfield.significance.system_table import make_system_schema, read_system_table
from cranfield.sources.columns import Table
from cranfield.sources.values import NO_GRADE, NUMBER, Cells, is_absent, parse_number

_COSTS = make_system_schema("table of costs")

_AMOUNT = replace(NUMBER, becomes_null=lambda cell: is_absent(cell, NO_GRADE))
"""Value type of costs; a cost that was not measured is missing."""

_ENERGY = re.compile(r"joule|energy|kwh|\bwh\b|\bj\b", re.IGNORECASE)
"""Pattern of names of energy costs; energy counters show 0 for a failed measurement."""

_TIME = r"(s|sec|second|min|minute|h|hr|hour)s?(?![a-z])"
_RATE = re.compile(
    rf"qps|(?<![a-z])[rtdf]ps(?![a-z])|throughput|speed([\W_]?up)?$|/\s?{_TIME}|per[\W_]{_TIME}"
    r"|per(sec|second|minute|hour)s?$|(?<![a-z])[kmg]?hz$|compression|savings?$|sparsity",
    re.IGNORECASE,
)
_SPENDING = re.compile(
    r"[$€£]|usd|eur|dollar|cost|price|watt|co2|emission|time|latency|duration|delay|[cg]pu",
    re.IGNORECASE,
)
"""Patterns of names of rates, and of costs that may look like rates, such as dollars per hour."""

_QUALITY = re.compile(
    r"(n?dcg|m?ap|m?rr|err|rbp|bpref|recall|precision|accuracy|success([\W_]?rate)?|hit[\W_]?rate"
    r"|f1)([@_]*\d+)?|(p|r)@\d+",
    re.IGNORECASE,
)
"""Pattern of names of measures for which higher is better."""

_NOT_COSTS = re.compile(
    r"(n|num|number)?[\W_]*(topics?|quer(y|ies)|qid|id|index|year|date|day|seed|rank|fold|n)"
    r"([\W_]?id)?",
    re.IGNORECASE,
)
"""Pattern of names of columns of numbers that describe a system or an experiment."""


@dataclass(frozen=True, eq=False, repr=False)
class CostEffectiveness(TableResult):
    """Pareto fronts of effectiveness and costs; returned by :func:`cost_effectiveness`.

    Attributes
    ----------
    measure
        The measure; empty if it is not known.
    n_topics
        Number of topics.
    resamples, seed
        Options of :func:`cost_effectiveness`.
    lower_is_better
        Whether lower scores of the measure are better.
    notes
        Notes on excluded systems, topics, columns and values, and on how scores are averaged.
    """

    name: ClassVar[str] = "costs"
    columns: ClassVar[Columns] = {
        "cost": Column("Name of the cost.", key=True),
        "system": Column("System, in ascending order of the cost.", key=True),
        "mean": Column("Mean score over topics."),
        "amount": Column("Cost of the system, in the unit of the input; lower is better."),
        "on front": Column("Whether the system is on the Pareto front of mean and cost."),
        "dominated by": Column(
            "Most effective system that dominates the system (the cheapest if several are equally"
            " effective); null on the front."
        ),
        "front proportion": Column(
            "Proportion of bootstrap samples of topics in which the system is on the front; null"
            " for one topic.",
            3,
        ),
    }

    measure: str
    n_topics: int
    resamples: int
    seed: int
    lower_is_better: bool
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        direction = "lower" if self.lower_is_better else "higher"
        text = f"Pareto fronts over {inflect(self.n_topics, 'topic')}; {direction} scores"
        title = f"{self.measure or 'scores'} and cost: {text} and lower costs are better"
        if self.n_topics < 2:
            return [title, "front proportions require at least two topics"]
        max_standard_error = 0.5 / np.sqrt(self.resamples)
        return [
            title,
            f"{self.resamples:,} bootstrap samples of topics, seed {self.seed}; standard"
            f" error of proportions at most {max_standard_error:.2g}",
        ]


def cost_effectiveness(
    scores: Any,
    costs: Any,
    *,
    resamples: Annotated[int, Integer(1, MAX_RESAMPLES)] = RESAMPLES,
    seed: Annotated[int, Integer(0)] = 0,
) -> CostEffectiveness:
    r"""Find the systems on the Pareto front of effectiveness and cost, for each cost.

    System b with mean score :math:`e_b` and cost :math:`c_b` dominates a if

    .. math:: e_b \ge e_a, \quad c_b \le c_a, \quad (e_b, c_b) \ne (e_a, c_a)

    or :math:`e_b \le e_a` if lower scores are better. The front consists of the systems that no
    other system dominates; systems with equal means and equal costs do not dominate each other. As
    the front varies with the sample of topics, topics are drawn with replacement, the same for all
    systems, and the proportion of samples in which a system is on the front is reported. Costs are
    treated as known without error.

    Parameters
    ----------
    scores
        Scores of one measure: :class:`Scores`, or any input that can be read as such.
    costs
        Costs by system, at least 0: a file or data frame with a column `system` and a column of
        numbers for each cost, such as seconds or joules, or a mapping `{system: cost}` or
        `{system: {name: cost}}`. Empty values and NA are missing. In a column of energy (joules,
        energy, kWh) 0 is missing, too, as energy counters show 0 for a failed measurement.
    resamples, seed
        Number of bootstrap samples of topics, and the seed.

    Returns
    -------
    CostEffectiveness
        A row for each cost and system.

    Raises
    ------
    InputError
        For costs that are below 0 or not numbers, a column where higher values are better, a
        table without a column of costs, or a system that occurs twice.
    CranfieldError
        If no system has both scores and a cost, no topic has scores of all these systems, a score
        is infinite, or an option is out of its range.

    Notes
    -----
    Systems that lack a value of a cost are excluded from the front of this cost and named in a
    note. Costs measured on different machines, or with other work running, are not comparable.

    Examples
    --------
    >>> scores = {"bm25": [0.5, 0.4, 0.3], "dense": [0.6, 0.5, 0.3], "slow": [0.7, 0.2, 0.4]}
    >>> print(cost_effectiveness(scores, {"bm25": 2, "dense": 9, "slow": 95}))
    scores and cost: Pareto fronts over 3 topics; higher scores and lower costs are better
    10,000 bootstrap samples of topics, seed 0; standard error of proportions at most 0.005
    <BLANKLINE>
    cost  system    mean   amount  on front  dominated by  front proportion
    cost  bm25    0.4000   2.0000  yes                                1.000
    cost  dense   0.4667   9.0000  yes                                0.967
    cost  slow    0.4333  95.0000  no        dense                    0.291
    """
    check_arguments(cost_effectiveness, locals())
    score_table = check_squarable(as_scores(scores))
    topic_scores = score_table.average_shards()
    amounts, notes = _read_amounts(costs, topic_scores.systems)
    notes += describe_replicates(score_table)
    cost_matrix = np.array(list(amounts.values()))
    has_cost = ~np.isnan(cost_matrix).all(axis=0)
    if not has_cost.any():
        raise CranfieldError(
            "expected a cost of at least one system with scores, such as"
            f" {quote(topic_scores.systems[0])}, got none"
        )
    for name, row in amounts.items():
        if names := [quote(topic_scores.systems[k]) for k in np.flatnonzero(np.isnan(row))]:
            notes.append(
                f"{inflect(len(names), 'system')} excluded from the front of {name}: no value for"
                f" {list_some(names, 10)}"
            )
    values = topic_scores.values[:, has_cost]
    is_complete = ~np.isnan(values).any(axis=1)
    if n_incomplete := int((~is_complete).sum()):
        notes.append(f"{inflect(n_incomplete, 'topic')} excluded, as a score is missing")
    if not is_complete.any():
        raise CranfieldError("expected a topic with scores of all systems with a cost, got none")
    if topic_scores.aggregate != "mean":
        aggregate = topic_scores.aggregate
        notes.append(f"{topic_scores.measure} is aggregated as {aggregate}; this table uses means")
    values, cost_matrix = values[is_complete], cost_matrix[:, has_cost]
    systems = pl.Series(topic_scores.systems, dtype=pl.String).filter(pl.Series(has_cost))
    effectiveness = -values if topic_scores.lower_is_better else values
    means = _compute_sample_means(effectiveness, np.ones((1, len(values))))[0]
    proportions = _estimate_front_proportions(effectiveness, cost_matrix, resamples, seed)
    descending = [False, not topic_scores.lower_is_better]
    frames = []
    for name, cost, proportion in zip(amounts, cost_matrix, proportions, strict=True):
        dominators = _find_dominators(means, cost)
        columns = {
            "cost": [name] * len(systems),
            "system": systems,
            "mean": values.mean(axis=0),
            "amount": cost,
            "on front": dominators < 0,
            "dominated by": systems[np.maximum(dominators, 0)].set(pl.Series(dominators < 0), None),
            "front proportion": proportion,
        }
        frame = pl.DataFrame(columns).filter(pl.col("amount").is_not_nan())
        frames.append(frame.sort("amount", "mean", descending=descending, maintain_order=True))
    return CostEffectiveness(
        pl.concat(frames).with_columns(pl.col("front proportion").fill_nan(None)),
        topic_scores.measure or "",
        int(is_complete.sum()),
        int(resamples),
        int(seed),
        topic_scores.lower_is_better,
        tuple(notes),
    )


def _compute_sample_means(effectiveness: Floats, counts: Floats) -> Floats:
    """Return means of samples, given how often topics are drawn; equal means have equal bits."""
    integers, unit = as_integers(effectiveness, len(effectiveness))
    return remove_noise(counts @ integers * (unit / len(effectiveness)))


def _find_dominators(means: Floats, amounts: Floats) -> Ints:
    """Return the index of the most effective system that dominates each system; -1 for none."""
    # The most effective systems first; equally effective systems by cost.
    order = np.lexsort((amounts, -means))
    dominates = (means[order] >= means[:, None]) & (amounts[order] <= amounts[:, None])
    dominates &= (means[order] > means[:, None]) | (amounts[order] < amounts[:, None])
    return np.where(dominates.any(axis=1), order[dominates.argmax(axis=1)], -1)


def _estimate_front_proportions(
    effectiveness: Floats, costs: Floats, resamples: int, seed: int
) -> Floats:
    """Return the proportion of samples with each system on the front, shape (costs, systems)."""
    if len(effectiveness) < 2:
        return np.full(costs.shape, np.nan)
    n_on_front = np.zeros(costs.shape)
    for _, counts in draw_counts(make_stream(seed), resamples, len(effectiveness)):
        means = _compute_sample_means(effectiveness, counts)
        for k, amounts in enumerate(costs):
            n_on_front[k] += _is_on_front(means, amounts).sum(axis=0)
    return n_on_front / resamples


def _is_on_front(means: Floats, amounts: Floats) -> Bools:
    """Return a mask of the systems on the front, from means of shape (samples, systems)."""
    is_on_front = np.zeros(means.shape, dtype=bool)
    # The highest means of systems with lower costs.
    max_cheaper_means = np.full(len(means), -np.inf)
    for amount in np.unique(amounts[~np.isnan(amounts)]):
        columns = np.flatnonzero(amounts == amount)
        max_means = means[:, columns].max(axis=1)
        is_highest = means[:, columns] == max_means[:, None]
        is_on_front[:, columns] = is_highest & (max_means > max_cheaper_means)[:, None]
        max_cheaper_means = np.maximum(max_cheaper_means, max_means)
    return is_on_front


def _read_amounts(costs: Any, systems: Sequence[str]) -> tuple[dict[str, Floats], list[str]]:
    """Return the amounts of each cost in order of systems, NaN if missing, and notes."""
    if isinstance(costs, Mapping) and not any(map(_is_column, costs.values())):
        costs = {
            system: cost if isinstance(cost, Mapping) else {"cost": cost}
            for system, cost in costs.items()
        }
    system_table = read_system_table(costs, _COSTS, _AMOUNT, systems, _has_number)
    table, notes = system_table.table, list(system_table.notes)
    names = [name for name in system_table.names if not _NOT_COSTS.fullmatch(name)]
    for name in system_table.names:
        if name not in names:
            notes.append(f"column {quote(name)} of {table.source} is not a cost and is not used")
    if not names:
        raise InputError("expected costs besides column 'system', got none", source=table.source)
    amounts = {}
    for name in names:
        is_spending = _SPENDING.search(name) or _ENERGY.search(name)
        is_rate = _RATE.search(name) and not is_spending
        if is_rate or _QUALITY.fullmatch(name):
            reason = (
                f"lower costs must be better, but higher values of {quote(name)} are better;"
                f" {'pass its inverse' if is_rate else 'remove the column'}"
            )
            raise InputError(reason, source=table.source)
        _check_not_negative(table, name)
        values = table.frame[name].gather(system_table.rows).fill_null(np.nan).to_numpy().copy()
        if _ENERGY.search(name) and (values == 0).any():
            zero_systems = [quote(systems[int(k)]) for k in np.flatnonzero(values == 0)]
            notes.append(f"0 in column {name} is treated as missing: {list_some(zero_systems, 10)}")
            values[values == 0] = np.nan
        amounts[name] = values
    return amounts, notes


def _has_number(cells: Cells) -> bool:
    return any(parse_number(cell) is not None for cell in cells)


def _is_column(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _check_not_negative(table: Table, name: str) -> None:
    table.refuse(table.frame[name] < 0, lambda row: f"{name} must be at least 0, got {row[name]:g}")
