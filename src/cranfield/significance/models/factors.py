"""Analysis of variance of the components of systems, on a full grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, quote
from cranfield.base.kinds import Probability, check_arguments
from cranfield.base.text import format_prefix, inflect, list_some
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.significance.corrections.studentised import (
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.models.anova import fit_factorial
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.prepare import as_scores, describe_replicates
from cranfield.significance.system_table import make_system_schema, read_system_table
from cranfield.sources.schemas import fold_name
from cranfield.sources.values import ID

_FACTORS = make_system_schema("table of systems")
TOPIC = "topic"  # the factor of topics


@dataclass(frozen=True, eq=False, repr=False)
class FactorialAnova(Result):
    """Effects of the components of systems; returned by :func:`factorial_anova`.

    Attributes
    ----------
    measure
        The measure; empty if it is not known.
    factors
        Levels of each factor, in order of appearance.
    n_topics, n_systems
        Numbers of topics and systems.
    alpha
        1 minus the confidence level of intervals.
    anova
        The ANOVA table, with residuals and marginal means.
    frames_by_name
        Data frames of effects, levels, pairs, and (for two factors or more) cells.
    notes
        Notes on excluded topics, factors and columns, on replicates, and on an error of 0.
    """

    name: ClassVar[str] = "factors"
    columns: ClassVar[Mapping[str, Columns]] = {
        "effects": {
            **AnovaTable.columns,
            "omega2 of all": Column("Omega squared, relative to all variance; null if F is null."),
        },
        "levels": {
            "factor": Column("Factor.", key=True),
            "level": Column("Level.", key=True),
            "mean": Column("Mean score over topics and the other factors."),
            "low": Column("Mean minus half of Tukey's honestly significant difference."),
            "high": Column(
                "Mean plus half of Tukey's honestly significant difference; levels whose intervals"
                " do not overlap differ significantly."
            ),
        },
        "pairs": {
            "factor": Column("Factor.", key=True),
            "first": Column("First level.", key=True),
            "second": Column("Second level.", key=True),
            "difference": Column("Mean of the first level minus mean of the second."),
            **declare_bounds("confidence interval, simultaneous for the pairs of a factor"),
            "q": Column("Studentised difference, without its sign; NaN if the error is 0."),
            "p": Column("Tukey's p-value, corrected for the pairs of the factor.", is_pvalue=True),
        },
        "cells": {
            "factors": Column("Two factors.", key=True),
            "first": Column("Level of the first factor.", key=True),
            "second": Column("Level of the second factor.", key=True),
            "mean": Column("Mean score over topics and the other factors."),
            "interaction": Column(
                "Mean minus the prediction from both main effects: 0 without an interaction."
            ),
        },
    }

    measure: str
    factors: Mapping[str, tuple[str, ...]]
    n_topics: int
    n_systems: int
    alpha: float
    anova: AnovaTable
    frames_by_name: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...] = ()

    def frames(self) -> dict[str, pl.DataFrame]:
        return dict(self.frames_by_name)

    def facts(self) -> dict[str, Any]:
        grid = {name: list(levels) for name, levels in self.factors.items()}
        return {"model": self.anova.model, **super().facts(), "factors": grid}

    def heading(self) -> list[str]:
        grid = " x ".join(f"{len(levels)} {name}" for name, levels in self.factors.items())
        return [
            f"{format_prefix(self.measure)}analysis of variance, {self.anova.model}",
            f"{inflect(self.n_topics, 'topic')} x {grid}; interactions with topics are the error",
            "pairs: Tukey's HSD for the pairs of each factor,"
            f" {100 * (1 - self.alpha):.4g}% simultaneous confidence intervals; levels: levels"
            f" whose intervals do not overlap differ significantly (alpha {self.alpha:g})",
        ]


def factorial_anova(scores: Any, factors: Any, *, alpha: Probability = 0.05) -> FactorialAnova:
    r"""Estimate the effects of system components and their interactions by analysis of variance.

    The systems must form a full grid: one system for each combination of the levels of some
    factors, such as stop list, stemmer and retrieval model. The model has all main effects and
    interactions of these factors, and an effect of topics. Interactions of topics with factors are
    the error:

    .. math:: y = \mu + \tau_{topic} + \alpha_j + \beta_k + (\alpha\beta)_{jk} + \dots + \varepsilon

    Parameters
    ----------
    scores
        Scores of one measure: :class:`Scores`, or any input that can be read as such.
    factors
        Levels of factors by system: a file or data frame with a column `system` and a column for
        each factor, or a mapping `{system: {factor: level}}`.
    alpha
        1 minus the confidence level of intervals.

    Returns
    -------
    FactorialAnova
        The table of effects; means of levels; pairs of levels by Tukey's HSD; and means of the
        combinations of two factors, for interaction plots.

    Raises
    ------
    InputError
        For systems without levels, combinations of levels with no or several systems, no factor
        with two levels, and a factor named `topic`, `error` or `total`.
    CranfieldError
        For fewer than two topics with a score of every system, or infinite scores.
    PolicyError
        For an invalid alpha.

    Notes
    -----
    Sources: Ferro and Silvello (2016, 2018); effect sizes and Tukey's HSD as in Ferro and Maistro
    (2024), equations 8 to 11. Partial omega squared of a source with F on df degrees of freedom,
    from N scores, is df (F - 1) / (df (F - 1) + N).

    Errors are assumed to be independent and normal, with one variance; they include the variation
    of the effects of components between topics. If the variances of differences are unequal, as
    for real systems, the F of a factor with three levels or more has too many Type I errors, and so
    has Tukey's HSD. The p-value of topics is of little interest. Interpret main effects together
    with their interactions.

    Examples
    --------
    >>> scores = {
    ...     "a": [0.2, 0.4, 0.3], "b": [0.3, 0.5, 0.5],
    ...     "c": [0.3, 0.4, 0.4], "d": [0.5, 0.7, 0.6],
    ... }
    >>> grid = {
    ...     "a": {"stem": "none", "model": "bm25"}, "b": {"stem": "porter", "model": "bm25"},
    ...     "c": {"stem": "none", "model": "dense"}, "d": {"stem": "porter", "model": "dense"},
    ... }
    >>> anova = factorial_anova(scores, grid)
    >>> anova.to_polars()["source"].to_list()
    ['topic', 'stem', 'model', 'stem:model', 'Error', 'Total']
    >>> anova.to_polars()["F"].round(1).to_list()[:4]
    [23.4, 72.6, 29.4, 5.4]
    """
    check_arguments(factorial_anova, locals())
    finite_scores = as_scores(scores).check_finite()
    topic_scores = finite_scores.average_shards()
    system_levels, notes = _read_levels(factors, topic_scores.systems)
    notes += describe_replicates(finite_scores)
    grid = {name: tuple(dict.fromkeys(column)) for name, column in system_levels.items()}
    for name in [name for name in grid if len(grid[name]) == 1]:
        notes.append(f"{name} has only one level ({grid.pop(name)[0]}), so it is not analysed")
    if not grid:
        raise InputError(
            "expected a factor with two levels or more, got none", source="table of systems"
        )
    cube = _arrange_cube(topic_scores.values, topic_scores.systems, system_levels, grid)
    is_complete = ~np.isnan(cube).any(axis=tuple(range(1, cube.ndim)))
    if n_incomplete := int((~is_complete).sum()):
        notes.append(f"{inflect(n_incomplete, 'topic')} excluded, as a score is missing")
    if is_complete.sum() < 2:
        raise CranfieldError(
            f"expected two topics or more with a score of every system, got {is_complete.sum()}"
        )
    cube, names = cube[is_complete], tuple(grid)
    sizes = range(1, len(names) + 1)
    terms = [":".join(subset) for size in sizes for subset in combinations(names, size)]
    anova = fit_factorial(cube, TOPIC, *terms, factors_of_axes=(TOPIC, *names))
    if not anova.ms_error:
        notes.append(
            "the error of the model is 0, so that differences have no p-values, and their intervals"
            " are unbounded"
        )
    return FactorialAnova(
        topic_scores.measure or "",
        grid,
        len(cube),
        len(topic_scores.systems),
        alpha,
        anova,
        _make_frames(anova, cube, grid, alpha),
        tuple(notes),
    )


def _read_levels(factors: Any, systems: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the levels of each factor in order of systems, and notes."""
    system_table = read_system_table(factors, _FACTORS, ID, systems)
    source = system_table.table.source
    for name in system_table.names:
        if fold_name(name) in {TOPIC, "error", "total"}:
            reason = f"a factor must not have the name {quote(name)}; rename its column"
            raise InputError(reason, source=source)
    rows = system_table.rows
    if names := [quote(systems[k]) for k in rows.is_null().arg_true()]:
        reason = f"expected a row for each system with scores, got none for {list_some(names, 3)}"
        raise InputError(reason, source=source)
    frame = system_table.table.frame.select(system_table.names)[rows]
    return frame.to_dict(as_series=False), list(system_table.notes)


def _arrange_cube(
    values: Floats,
    systems: Sequence[str],
    system_levels: Mapping[str, Sequence[str]],
    grid: Mapping[str, Sequence[str]],
) -> Floats:
    """Arrange scores by topic and the level of each factor; raise if the grid is not full."""
    members: dict[tuple[str, ...], list[int]] = {}
    for k, cell in enumerate(zip(*(system_levels[name] for name in grid), strict=True)):
        members.setdefault(cell, []).append(k)
    # Stop at the first invalid combination, as there may be far more of them than systems.
    invalid_cell = next((cell for cell in product(*grid.values()) if cell not in members), None)
    if invalid_cell is None:
        invalid_cell = next((c for c in product(*grid.values()) if len(members[c]) > 1), None)
    shape = [len(factor_levels) for factor_levels in grid.values()]
    if invalid_cell is not None:
        names_and_levels = zip(grid, invalid_cell, strict=True)
        cell_text = ", ".join(f"{name} {quote(level)}" for name, level in names_and_levels)
        names_text = list_some([quote(systems[k]) for k in members.get(invalid_cell, [])], 3)
        count_text = f"several systems ({names_text})" if names_text else "no system"
        sizes_text = " x ".join(map(str, shape))
        advice = "remove columns that are not factors" + ", or keep one of these" * bool(names_text)
        reason = f"expected a full grid of {sizes_text} systems, got {count_text} with {cell_text}"
        raise InputError(f"{reason}; {advice}", source="table of systems")
    order = [members[cell][0] for cell in product(*grid.values())]
    return values[:, order].reshape(len(values), *shape)


def compare_levels(
    table: AnovaTable, factor: str, levels: Sequence[str], n_scores: int, alpha: float
) -> list[tuple[Any, ...]]:
    """Compare the levels of a factor by Tukey's HSD, from an ANOVA table of `n_scores` scores.

    Returns a row for each pair: the two levels, the difference of their means, the bounds of its
    interval, q (NaN if the error is 0) and p.
    """
    n_levels, means = len(levels), table.means[factor]
    standard_error, hsd = _compute_error_and_hsd(table, n_levels, n_scores, alpha)
    pairs = []
    for i, j in combinations(range(n_levels), 2):
        difference = means[i] - means[j]
        bounds = difference - hsd, difference + hsd
        q = abs(difference) / standard_error if standard_error else np.nan
        p = float(studentised_range_sf(q, n_levels, table.df_error))
        pairs.append((levels[i], levels[j], difference, *bounds, q, p))
    return pairs


def _compute_error_and_hsd(
    table: AnovaTable, n_levels: int, n_scores: int, alpha: float
) -> tuple[float, float]:
    """Return the standard error of a level's mean, and Tukey's honestly significant difference."""
    standard_error = float(np.sqrt(table.ms_error * n_levels / n_scores))
    if not standard_error:
        return 0.0, np.inf
    return standard_error, standard_error * studentised_range_isf(alpha, n_levels, table.df_error)


def _make_frames(
    table: AnovaTable, cube: Floats, grid: Mapping[str, Sequence[str]], alpha: float
) -> dict[str, pl.DataFrame]:
    """Return the data frame of each table of the result, by name."""
    rows: dict[str, list[tuple[Any, ...]]] = {"levels": [], "pairs": [], "cells": []}
    for name, levels in grid.items():
        _, hsd = _compute_error_and_hsd(table, len(levels), cube.size, alpha)
        for level, mean in zip(levels, table.means[name], strict=True):
            rows["levels"].append((name, level, mean, mean - hsd / 2, mean + hsd / 2))
        for pair in compare_levels(table, name, levels, cube.size, alpha):
            rows["pairs"].append((name, *pair))
    for (k, first), (m, second) in combinations(enumerate(grid, 1), 2):
        means = cube.mean(axis=tuple({*range(cube.ndim)} - {k, m}))
        interaction = means - (table.means[first][:, None] + table.means[second] - table.grand_mean)
        for (i, j), mean in np.ndenumerate(means):
            cell = f"{first}:{second}", grid[first][i], grid[second][j]
            rows["cells"].append((*cell, mean, interaction[i, j]))
    divisor = table.ss[-1] + table.ms_error
    explained_ss = table.ss - table.df * table.ms_error
    omega2 = np.maximum(0.0, explained_ss / divisor if divisor else table.ss)
    omega2 = np.where(np.isnan(table.f), np.nan, omega2)
    effects = table.to_polars().with_columns(pl.Series("omega2 of all", omega2).fill_nan(None))
    return {"effects": effects} | {
        name: pl.DataFrame(values, list(FactorialAnova.columns[name]), orient="row")
        for name, values in rows.items()
        if values
    }
