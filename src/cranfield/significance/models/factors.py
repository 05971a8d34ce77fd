"""Analysis of variance with factors of one's own: the components of systems, on a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, InputError, quoted
from cranfield.base.kinds import Share, check_arguments
from cranfield.base.text import counted, some_of
from cranfield.result import Column, Columns, Result
from cranfield.significance.corrections.studentised import (
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.models.anova import factorial
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.prepare import as_scores
from cranfield.sources.columns import columns_of_mapping, read_columns
from cranfield.sources.schemas import Column as FileColumn
from cranfield.sources.schemas import Schema, spelt
from cranfield.sources.values import ID

TOPIC = "topic"
"""The factor of topics."""


@dataclass(frozen=True, eq=False, repr=False)
class FactorialAnova(Result):
    """Effects of the components of systems; made by :func:`factorial_anova`.

    Attributes
    ----------
    measure
        The measure; empty if it is not known.
    factors
        Levels of each factor, in order of appearance.
    topics, systems
        Numbers of topics and systems.
    alpha
        One minus the confidence level of intervals.
    anova
        The table, with residuals and marginal means.
    notes
        Topics and factors that are excluded.
    """

    name: ClassVar[str] = "factors"
    columns: ClassVar[Mapping[str, Columns]] = {
        "effects": {
            "source": Column("Factor or interaction, then Error and Total.", key=True),
            "SS": Column("Sum of squares."),
            "DF": Column("Degrees of freedom.", decimals=0),
            "MS": Column("Mean square: SS divided by DF; null for Total."),
            "F": Column("F statistic: MS over that of the error; null for Error and Total."),
            "p": Column("p-value of F; null where F is.", pvalue=True),
            "omega2": Column(
                "Partial omega squared, of the variance that the other sources leave; negative"
                " estimates are 0."
            ),
            "omega2 of all": Column("Omega squared, as a proportion of all variance."),
        },
        "levels": {
            "factor": Column("Factor.", key=True),
            "level": Column("Level.", key=True),
            "mean": Column("Mean score over topics and the other factors."),
            "low": Column("Mean minus half of Tukey's honestly significant difference."),
            "high": Column("Mean plus half of it: levels differ where these do not overlap."),
        },
        "pairs": {
            "factor": Column("Factor.", key=True),
            "first": Column("First level.", key=True),
            "second": Column("Second level.", key=True),
            "difference": Column("Mean of the first level minus that of the second."),
            "low": Column("Lower bound of its interval, simultaneous for the levels of a factor."),
            "high": Column("Upper bound."),
            "q": Column("Studentised difference."),
            "p": Column("Tukey's p-value, corrected for the pairs of the factor.", pvalue=True),
        },
        "cells": {
            "factors": Column("Two factors.", key=True),
            "first": Column("Level of the first.", key=True),
            "second": Column("Level of the second.", key=True),
            "mean": Column("Mean score over topics and the other factors."),
            "interaction": Column(
                "Mean minus what the two levels add up to: 0 if the factors do not interact."
            ),
        },
    }

    measure: str
    factors: Mapping[str, tuple[str, ...]]
    topics: int
    systems: int
    alpha: float
    anova: AnovaTable
    parts: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...] = ()

    def frames(self) -> dict[str, pl.DataFrame]:
        return dict(self.parts)

    def facts(self) -> dict[str, Any]:
        grid = {name: list(levels) for name, levels in self.factors.items()}
        return {"model": self.anova.model, **super().facts(), "factors": grid}

    def heading(self) -> list[str]:
        """Return two lines: the model, and the grid."""
        of = f"{self.measure}: " if self.measure else ""
        grid = " x ".join(f"{len(levels)} {name}" for name, levels in self.factors.items())
        return [
            f"{of}analysis of variance, {self.anova.model}",
            f"{counted(self.topics, 'topic')} x {grid}; interactions with topics are the error",
        ]


def factorial_anova(
    scores: Any,
    factors: Any,
    *,
    alpha: Annotated[float, Share()] = 0.05,
) -> FactorialAnova:
    r"""Analyse how much each component of systems contributes, and how components interact.

    Systems are a full grid: one for each combination of the levels of some factors, such as stop
    list, stemmer and retrieval model. All main effects and interactions of these factors are
    tested; topics are an effect, too, and their interactions with factors are the error:

    .. math:: y = \mu + \tau_{topic} + \alpha_j + \beta_k + (\alpha\beta)_{jk} + \dots + \varepsilon

    Parameters
    ----------
    scores
        Scores of one measure: :class:`Scores`, or what can be read as such.
    factors
        The level of each factor, by system: a file or data frame with a column `system` and a
        column for each factor, or a mapping `{system: {factor: level}}`.
    alpha
        One minus the confidence level of intervals.

    Returns
    -------
    FactorialAnova
        The table of effects; means of levels; pairs of levels by Tukey's HSD; and means of the
        combinations of two factors, for interaction plots.

    Raises
    ------
    InputError
        For systems without levels, and combinations without a system or with several.
    CranfieldError
        For fewer than two topics with a score of every system.

    Notes
    -----
    Sources: Ferro and Silvello (2016, 2018); effect sizes and Tukey's HSD as in Ferro and Maistro
    (2024), equations 8 to 11. Partial omega squared of a source with F on df degrees of freedom,
    from N scores, is df (F - 1) / (df (F - 1) + N).

    It assumes independent normal errors of one variance; what a component does differently from
    topic to topic is part of them. The F of a factor with three levels or more is too often
    significant where differences vary unequally, as those of real systems do; Tukey's HSD shares
    the error. The p-value of topics says little. Read a main effect beside its interactions.

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
    >>> found = factorial_anova(scores, grid)
    >>> found.to_polars()["source"].to_list()
    ['topic', 'stem', 'model', 'stem:model', 'Error', 'Total']
    >>> found.to_polars()["F"].round(1).to_list()[:4]
    [23.4, 72.6, 29.4, 5.4]
    """
    check_arguments(factorial_anova, locals())
    ready = as_scores(scores).over_shards()
    levels, notes = _levels_by_system(factors, ready.systems)
    grid = {name: tuple(dict.fromkeys(column)) for name, column in levels.items()}
    for name in [name for name, found in grid.items() if len(found) == 1]:
        notes.append(f"{name} has one level ({grid.pop(name)[0]}) and is not analysed")
    if not grid:
        raise InputError("expected a factor with two levels or more", source="table of systems")
    cube = _cube(ready.values, ready.systems, levels, grid)
    whole = ~np.isnan(cube).any(axis=tuple(range(1, cube.ndim)))
    if missing := int((~whole).sum()):
        notes.append(f"{counted(missing, 'topic')} without a score of every system excluded")
    if whole.sum() < 2:
        raise CranfieldError(
            f"expected two topics or more with a score of every system, got {whole.sum()}"
        )
    table = _analysed(cube[whole], tuple(grid))
    if not table.ms_error:
        notes.append("the model leaves no error: no difference has a p-value")
    return FactorialAnova(
        ready.measure or "",
        grid,
        int(whole.sum()),
        len(ready.systems),
        alpha,
        table,
        _parts(table, cube[whole], grid, alpha),
        tuple(notes),
    )


def _levels_by_system(
    factors: Any, systems: Sequence[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the levels of each factor in order of systems, and notes."""
    if isinstance(factors, Mapping) and all(isinstance(v, Mapping) for v in factors.values()):
        factors = [{"system": system, **levels} for system, levels in factors.items()]
    kind = "table of systems"
    first = FileColumn("system", ID)
    schema = Schema(kind, (first,), mapping=columns_of_mapping(kind), asked=True, decisive=())
    columns = read_columns(factors, schema)
    if "system" in map(spelt, columns.names):
        # A factor may be called model or run, which are usual names for a system.
        first = FileColumn("system", ID, None)
    schema = replace(schema, columns=(first,))
    place = schema.places(columns.names, columns.source)["system"]
    names = [str(name) for k, name in enumerate(columns.names) if k != place]
    if clash := [name for name in names if spelt(name) in {TOPIC, "error", "total"}]:
        raise InputError(f"a factor cannot be called {quoted(clash[0])}", source=columns.source)
    whole = replace(schema, columns=(first, *(FileColumn(name, ID, None) for name in names)))
    table = columns.table(whole)
    table.refuse(
        table.frame["system"].is_duplicated(),
        lambda row: f"system {quoted(row['system'])} occurs twice",
    )
    rows = {row["system"]: row for row in table.frame.iter_rows(named=True)}
    if without := [system for system in systems if system not in rows]:
        listed = some_of(map(quoted, without), 3)
        raise InputError(
            f"{counted(len(without), 'system')} without levels: {listed}", source=table.source
        )
    notes = []
    if unknown := len(rows) - len(systems):
        notes.append(f"{counted(unknown, 'row')} of {table.source} of systems without scores")
    return {name: [rows[system][name] for system in systems] for name in names}, notes


def _cube(
    values: Floats,
    systems: Sequence[str],
    levels: Mapping[str, Sequence[str]],
    grid: Mapping[str, Sequence[str]],
) -> Floats:
    """Return scores by topic and the level of each factor; refuse what is not a full grid."""
    shape = [len(found) for found in grid.values()]
    places = [[grid[name].index(level) for level in levels[name]] for name in grid]
    cells = np.ravel_multi_index(tuple(np.array(places)), shape)
    size = int(np.prod(shape))
    counts = np.bincount(cells, minlength=size)
    for wrong, says in ((counts == 0, "no system"), (counts > 1, "several systems")):
        if wrong.any():
            at = np.unravel_index(int(wrong.argmax()), shape)
            combination = ", ".join(
                f"{name} {quoted(grid[name][int(k)])}" for name, k in zip(grid, at, strict=True)
            )
            which = np.flatnonzero(cells == wrong.argmax())
            named = some_of([quoted(systems[int(k)]) for k in which], 3)
            behind = f" ({named})" if named else ""
            raise InputError(
                f"expected a full grid of {' x '.join(map(str, shape))} systems; {combination} has"
                f" {says}{behind}",
                source="table of systems",
            )
    cube = np.empty((len(values), size))
    cube[:, cells] = values
    return cube.reshape(len(values), *shape)


def _analysed(cube: Floats, names: tuple[str, ...]) -> AnovaTable:
    """Analyse the effects of topics and of all factors and their interactions."""
    terms = [
        ":".join(some) for size in range(1, len(names) + 1) for some in combinations(names, size)
    ]
    return factorial(cube, TOPIC, *terms, factors_of_axes=(TOPIC, *names))


def tukey_pairs(
    table: AnovaTable, factor: str, levels: Sequence[str], number: int, alpha: float
) -> list[tuple[Any, ...]]:
    """Compare the levels of a factor by Tukey's HSD, from a table of a number of scores.

    Returns for each pair both levels, the difference of their means, the bounds of its interval, q
    (NaN without error) and p.
    """
    means, error = table.means[factor], _error(table, levels, number)
    width = error * studentised_range_isf(alpha, len(levels), table.df_error)
    pairs = []
    for i, j in combinations(range(len(levels)), 2):
        difference = means[i] - means[j]
        q = abs(difference) / error if error else np.nan
        p = float(studentised_range_sf(q, len(levels), table.df_error))
        pairs.append(
            (levels[i], levels[j], difference, difference - width, difference + width, q, p)
        )
    return pairs


def _error(table: AnovaTable, levels: Sequence[str], number: int) -> float:
    """Return the standard error of the mean of a level."""
    return float(np.sqrt(table.ms_error * len(levels) / number))


def _parts(
    table: AnovaTable, cube: Floats, grid: Mapping[str, Sequence[str]], alpha: float
) -> dict[str, pl.DataFrame]:
    """Return the four tables."""
    levels: list[tuple[Any, ...]] = []
    pairs: list[tuple[Any, ...]] = []
    cells: list[tuple[Any, ...]] = []
    for name, found in grid.items():
        means = table.means[name]
        width = _error(table, found, cube.size) * studentised_range_isf(
            alpha, len(found), table.df_error
        )
        levels += [
            (name, level, mean, mean - width / 2, mean + width / 2)
            for level, mean in zip(found, means, strict=True)
        ]
        pairs += [(name, *pair) for pair in tukey_pairs(table, name, found, cube.size, alpha)]
    for one, two in combinations(grid, 2):
        axes = [1 + list(grid).index(name) for name in (one, two)]
        mean = cube.mean(axis=tuple(k for k in range(cube.ndim) if k not in axes))
        added = table.means[one][:, None] + table.means[two] - table.grand_mean
        for (i, j), value in np.ndenumerate(mean):
            cells.append((f"{one}:{two}", grid[one][i], grid[two][j], value, value - added[i, j]))
    declared = FactorialAnova.columns
    frames = {
        name: pl.DataFrame(rows, list(declared[name]), orient="row")
        for name, rows in {"levels": levels, "pairs": pairs, "cells": cells}.items()
        if rows
    }
    total = table.ss[-1] + table.ms_error
    of_all = np.maximum(0.0, (table.ss - table.df * table.ms_error) / total if total else table.ss)
    of_all = np.where(np.isnan(table.f), np.nan, of_all)
    effects = table.to_polars().with_columns(pl.Series("omega2 of all", of_all).fill_nan(None))
    return {"effects": effects, **frames}
