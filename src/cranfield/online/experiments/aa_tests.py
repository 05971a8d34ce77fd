"""Simulated A/A tests: the same units, assigned to two variants again and again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.stats import kstest

from cranfield.base.arrays import Bools, Floats, row_slices
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_share,
    check_whole,
    warn,
)
from cranfield.base.proportions import wilson
from cranfield.base.text import counted
from cranfield.online.experiments.design import checked_weights, chi_square, hash_md5
from cranfield.online.experiments.estimates import Effects
from cranfield.online.experiments.metrics import THETAS, Moments, arm_means, read_metrics
from cranfield.online.experiments.units import Units, measures_of, read_units, units_of_sums
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.measuring import UnitSums, sums_by_unit
from cranfield.result import Column, Columns, Result
from cranfield.significance.differences import t_quantile

BLOCK_CELLS = 2**21
"""Number of pairs of a simulated test and a unit that are in memory at a time."""

SRM = "(sample ratio)"


@dataclass(frozen=True, eq=False, repr=False)
class AATests(Result):
    """P-values of tests in simulated A/A tests.

    Attributes
    ----------
    source, unit, units
        Source of the data, kind of unit, and number of units.
    names
        The metrics, and the sample ratio.
    pvalues
        Shape (names, tests).
    alpha, salt
        Significance level, and the prefix of the salts.
    """

    name: ClassVar[str] = "aa-tests"
    columns: ClassVar[Columns] = {
        "test": Column("Metric, or the sample ratio.", key=True),
        "tests": Column("Number of simulated A/A tests."),
        "rejected": Column("Proportion of them in which the test rejects."),
        "low": Column("Lower bound of its 0.95 confidence interval (Wilson)."),
        "high": Column("Upper bound of the interval."),
        "uniform p": Column(
            "p-value of the Kolmogorov-Smirnov test that p-values are uniform; NaN if"
            " there are too few distinct p-values, as with counts of a few hundred units.",
            pvalue=True,
        ),
    }

    source: str
    unit: str
    units: int
    names: tuple[str, ...]
    pvalues: Floats
    alpha: float
    salt: str

    def _frame(self) -> pl.DataFrame:
        proportion = (self.pvalues <= self.alpha).mean(axis=1)
        number = self.pvalues.shape[1]
        low, high = wilson(proportion, np.full(proportion.shape, number), t_quantile(0.95, np.inf))
        uniform = [
            float(kstest(row, "uniform").pvalue) if np.unique(row).size > number / 2 else np.nan
            for row in self.pvalues
        ]
        columns = [[*self.names], [number] * len(proportion), proportion, low, high, uniform]
        return pl.DataFrame(dict(zip(self.columns, columns, strict=True)))

    def heading(self) -> list[str]:
        tests = counted(self.pvalues.shape[1], "simulated A/A test")
        return [f"{tests} on {counted(self.units, self.unit)}, alpha {self.alpha:g}"]


def simulate_aa_tests(
    data: Any,
    metrics: Any,
    *,
    unit: str | None = None,
    n_tests: int = 1000,
    weights: Any = None,
    theta: str = "pooled",
    missing: str = "error",
    alpha: float = 0.05,
    salt: str = "replay",
) -> AATests:
    """Simulate A/A tests, to check whether tests keep their level.

    Units keep their data; their variants are hashed anew with the salts `replay-0`, `replay-1` and
    so on. The null hypothesis is true, so p-values of a valid test are uniform: it rejects in a
    proportion alpha of the simulated tests. The tests are Welch's. A test that rejects more often
    treats dependent units as independent, or has too few units for the skewness of the metric and
    an unequal split.

    Parameters
    ----------
    data, metrics, unit, theta, missing
        As for :func:`analyse_experiment`; variants are ignored.
    n_tests
        Number of simulated A/A tests.
    weights
        Proportions of the two variants; by default equal.
    alpha
        Significance level.
    salt
        Prefix of the salts.

    Returns
    -------
    AATests
        P-values of the metrics and of the sample ratio.

    Raises
    ------
    PolicyError, InputError, CranfieldError
        As :func:`analyse_experiment`.

    Examples
    --------
    >>> import cranfield as cf
    >>> tests = simulate_aa_tests(cf.online.simulated_log(), "CTR", n_tests=100)
    >>> tests.names, tests.pvalues.shape
    (('CTR', '(sample ratio)'), (2, 100))
    """
    check_whole("n_tests", n_tests, 1, 10**6)
    check_choice("theta", theta, THETAS)
    check_share("alpha", alpha)
    variants = ("control", "treatment") if weights is None else weights
    proportions = np.array([*checked_weights(variants).values()])
    if proportions.size != 2:
        raise PolicyError(f"weights must name two variants, got {proportions.size}")
    units = _read_units(data, metrics, unit, missing)
    number = len(units.arm)
    if number < 4:
        raise CranfieldError(f"simulated A/A tests need at least 4 units, got {number}")
    ids = units.ids
    if ids is None:
        ids = pl.Series(np.arange(number)).cast(pl.String)
    columns = units.columns
    centre = columns.mean(axis=0)
    residuals = columns - centre
    first, second = np.triu_indices(columns.shape[1])
    products = residuals[:, first] * residuals[:, second]
    pvalues = np.empty((len(units.places) + 1, n_tests))
    for block in row_slices(n_tests, number, BLOCK_CELLS):
        probabilities = [hash_md5(f"{salt}-{k}", ids) for k in range(block.start, block.stop)]
        is_treated = np.stack(probabilities) >= proportions[0]
        moments = moments_of_two(residuals, products, centre, is_treated)
        for k, metric in enumerate(units.places.values()):
            pvalues[k, block] = Effects.from_arms(arm_means(moments, metric, theta), 0, 1).pvalue()
        pvalues[-1, block] = chi_square(moments.count, proportions)[1]
    names = (*units.places, SRM)
    return AATests(units.source, units.kind, number, names, pvalues, alpha, salt)


def _read_units(data: Any, metrics: Any, unit: str | None, missing: str) -> Units:
    parsed = read_metrics(metrics)
    if not isinstance(data, (QueryLog, UnitSums)):
        return read_units(data, parsed, variant=None, unit=unit, variants=("all",), missing=missing)
    texts = {name: str(measure) for name, measure in measures_of(parsed).items()}
    if isinstance(data, QueryLog):
        data = sums_by_unit(data, texts.values(), unit=unit or "user")
    sums: UnitSums = data
    pooled = replace(sums, variant=np.zeros(len(sums.units), dtype=np.intp), variants=("all",))
    units = units_of_sums(pooled, texts, variants=("all",))
    for note in units.notes:
        warn(f"{units.source}: {note}")
    return units


def moments_of_two(residuals: Floats, products: Floats, centre: Floats, mask: Bools) -> Moments:
    """Return moments of both variants of each test, shape (tests, 2), by sums around a centre.

    Both means of a random assignment are near the centre, which avoids cancellation.
    """
    membership = np.stack([~mask, mask], axis=1).astype(np.float64)
    count, sums = membership.sum(axis=-1), membership @ products
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (membership @ residuals) / count[..., None]
    first, second = np.triu_indices(centre.size)
    scatter = np.empty((*count.shape, centre.size, centre.size))
    scatter[..., first, second] = scatter[..., second, first] = sums
    scatter -= count[..., None, None] * mean[..., :, None] * mean[..., None, :]
    return Moments(count, mean + centre, scatter)
