"""Simulated A/A tests: repeated random assignment of the same units to two variants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.stats import kstest

from cranfield.base.arrays import Bools, Floats, slice_rows
from cranfield.base.errors import CranfieldError, PolicyError, warn
from cranfield.base.kinds import Integer, OneOf, UnitInterval, check_arguments
from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.text import inflect
from cranfield.online.experiments.design import check_weights, compute_chi_square, hash_md5
from cranfield.online.experiments.estimates import (
    THETAS,
    Effects,
    Moments,
    estimate_arms,
    read_metrics,
)
from cranfield.online.experiments.units import (
    MISSING_POLICIES,
    Units,
    convert_sums_to_units,
    parse_metric_measures,
    read_units,
)
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.measuring import UnitSums, sums_by_unit
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.significance.differences import compute_t_quantile

BLOCK_CELLS = 2**21  # Number of pairs of a simulated test and a unit in memory at the same time
SAMPLE_RATIO = "(sample ratio)"  # Name of the sample ratio test


@dataclass(frozen=True, eq=False, repr=False)
class AATests(Result):
    """P-values of tests in simulated A/A tests.

    Attributes
    ----------
    source, unit, n_units
        Source of the data, kind of unit, and number of units.
    names
        Names of the metrics, and `(sample ratio)`.
    pvalues
        p-values of the tests, shape (names, tests).
    alpha, salt
        Significance level, and prefix of the salts.
    """

    name: ClassVar[str] = "aa-tests"
    columns: ClassVar[Columns] = {
        "test": Column("Metric, or `(sample ratio)`, the sample ratio test.", key=True),
        "tests": Column("Number of simulated A/A tests."),
        "rejected": Column("Proportion of the tests in which the null hypothesis is rejected."),
        **declare_bounds("95% confidence interval of the proportion (Wilson)"),
        "uniform p": Column(
            "p-value of the Kolmogorov-Smirnov test for uniform p-values; NaN unless more than"
            " half of them are distinct.",
            is_pvalue=True,
        ),
    }

    source: str
    unit: str
    n_units: int
    names: tuple[str, ...]
    pvalues: Floats
    alpha: float
    salt: str

    def _frame(self) -> pl.DataFrame:
        proportion = (self.pvalues <= self.alpha).mean(axis=1)
        n_tests = self.pvalues.shape[1]
        sizes, quantile = np.full(proportion.shape, n_tests), compute_t_quantile(0.95, np.inf)
        low, high = compute_wilson_intervals(proportion, sizes, quantile)
        has_few_ties = [np.unique(row).size > n_tests / 2 for row in self.pvalues]
        tests = zip(self.pvalues, has_few_ties, strict=True)
        uniform_p = [kstest(row, "uniform").pvalue if is_few else np.nan for row, is_few in tests]
        columns = [[*self.names], [n_tests] * len(proportion), proportion, low, high, uniform_p]
        return pl.DataFrame(dict(zip(self.columns, columns, strict=True)))

    def heading(self) -> list[str]:
        subject = inflect(self.pvalues.shape[1], "simulated A/A test")
        return [f"{subject} on {inflect(self.n_units, self.unit)}, alpha {self.alpha:g}"]


def simulate_aa_tests(
    data: Any,
    metrics: Any,
    *,
    unit: str | None = None,
    n_tests: Annotated[int, Integer(1, 10**6)] = 1000,
    weights: Any = None,
    theta: Annotated[str, OneOf(THETAS)] = "pooled",
    missing: Annotated[str, OneOf(MISSING_POLICIES)] = "error",
    alpha: Annotated[float, UnitInterval()] = 0.05,
    salt: str = "replay",
) -> AATests:
    """Simulate A/A tests, to check whether tests keep their significance level.

    Units keep their data, and each simulation assigns them to new variants by a hash with another
    salt: by default `replay-0`, `replay-1` and so on. The null hypothesis is true, so the p-values
    of a valid test are uniform, and the test rejects in a proportion alpha of the simulations.
    Metrics are tested by Welch's test. A higher proportion means that there are too few units for
    the skewness of the metric and an unequal split. Dependence between units is not detected, as
    units are assigned one by one.

    Parameters
    ----------
    data, metrics, unit, theta, missing
        As for :func:`analyse_experiment`; the variants in the data are ignored.
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
        As for :func:`analyse_experiment`; also unless `weights` name two variants, and for fewer
        than four units.

    Examples
    --------
    >>> import cranfield as cf
    >>> tests = simulate_aa_tests(cf.online.simulated_log(), "CTR", n_tests=100)
    >>> tests.names, tests.pvalues.shape
    (('CTR', '(sample ratio)'), (2, 100))
    """
    check_arguments(simulate_aa_tests, locals())
    variants = ("control", "treatment") if weights is None else weights
    proportions = np.array([*check_weights(variants).values()])
    if proportions.size != 2:
        raise PolicyError(f"weights must name two variants, got {proportions.size}")
    units = _read_units(data, metrics, unit, missing)
    n_units = len(units.variant_codes)
    if n_units < 4:
        raise CranfieldError(f"simulated A/A tests require at least 4 units, got {n_units}")
    ids = pl.Series(np.arange(n_units)).cast(pl.String) if units.ids is None else units.ids
    centre = units.columns.mean(axis=0)
    residuals = units.columns - centre
    first, second = np.triu_indices(centre.size)
    products = residuals[:, first] * residuals[:, second]
    pvalues = np.empty((len(units.metric_columns) + 1, n_tests))
    for block in slice_rows(n_tests, n_units, BLOCK_CELLS):
        hashes = [hash_md5(f"{salt}-{k}", ids) for k in range(block.start, block.stop)]
        is_treated = np.stack(hashes) >= proportions[0]
        moments = compute_pair_moments(residuals, products, centre, is_treated)
        for k, metric in enumerate(units.metric_columns.values()):
            arms = estimate_arms(moments, metric, theta)
            pvalues[k, block] = Effects.from_arms(arms, 1).compute_pvalue()
        pvalues[-1, block] = compute_chi_square(moments.n_units, proportions)[1]
    names = (*units.metric_columns, SAMPLE_RATIO)
    return AATests(units.source, units.kind, n_units, names, pvalues, alpha, salt)


def _read_units(data: Any, metrics: Any, unit: str | None, missing: str) -> Units:
    metrics = read_metrics(metrics)
    if not isinstance(data, (QueryLog, UnitSums)):
        return read_units(data, metrics, variant=None, unit=unit, missing=missing)
    measure_names = {name: str(measure) for name, measure in parse_metric_measures(metrics).items()}
    if isinstance(data, QueryLog):
        data = sums_by_unit(data, measure_names.values(), unit=unit or "user")
    variant = np.zeros(len(data.units), dtype=np.intp)
    units = convert_sums_to_units(replace(data, variant=variant, variants=("all",)), measure_names)
    for note in units.notes:
        warn(f"{units.source}: {note}")
    return units


def compute_pair_moments(
    residuals: Floats, products: Floats, centre: Floats, is_treated: Bools
) -> Moments:
    """Compute the moments of both variants of each test, shape (tests, 2), around a centre."""
    # Both means of a random assignment are near the centre, which avoids cancellation.
    membership = np.stack([~is_treated, is_treated], axis=1).astype(np.float64)
    n_units, product_sums = membership.sum(axis=-1), membership @ products
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (membership @ residuals) / n_units[..., None]
    first, second = np.triu_indices(centre.size)
    scatter = np.empty((*n_units.shape, centre.size, centre.size))
    scatter[..., first, second] = scatter[..., second, first] = product_sums
    scatter -= n_units[..., None, None] * mean[..., :, None] * mean[..., None, :]
    return Moments(n_units, mean + centre, scatter)
