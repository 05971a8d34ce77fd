"""Design of experiments: assignment of units to variants, and sample sizes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import chdtrc
from scipy.stats import chi2_contingency

from cranfield.base.arrays import Floats
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_integer,
    check_list,
    check_number,
    quote,
)
from cranfield.base.kinds import OneOf, UnitInterval, check_arguments
from cranfield.result import Column, Columns, Result
from cranfield.significance.power_and_width import check_positive, compute_t_test_power
from cranfield.significance.registry import ALTERNATIVES
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import Columns as FileColumns
from cranfield.sources.columns import make_row_error, read_columns
from cranfield.sources.schemas import DECISIVE, FileColumn, Lines, Schema, fold_name
from cranfield.sources.values import ID

SEPARATOR = "\x1f"  # Separator of salt and unit, so that `ab` and `c` differ from `a` and `bc`
FNV_OFFSET_BASIS, FNV_PRIME = np.uint32(0x811C9DC5), np.uint32(0x01000193)  # 32-bit FNV-1a


def hash_md5(salt: str, units: pl.Series) -> Floats:
    """Hash the salt, a separator (0x1f) and the unit by MD5: the first 8 bytes divided by 2^64."""
    prefix = f"{salt}{SEPARATOR}".encode()
    digests = b"".join([md5(prefix + unit.encode()).digest() for unit in units])
    numbers = np.frombuffer(digests, dtype=">u8")[::2]
    return np.asarray(numbers.astype(np.float64) / 2.0**64)


def hash_growthbook_1(salt: str, units: pl.Series) -> Floats:
    """Hash like version 1 of GrowthBook's SDKs: to multiples of 1/1000 below 1."""
    return np.asarray((hash_fnv1a(units + salt) % 1000) / 1000)


def hash_growthbook_2(salt: str, units: pl.Series) -> Floats:
    """Hash like version 2 of GrowthBook's SDKs: to multiples of 1/10,000 below 1."""
    first_hash = pl.Series(hash_fnv1a(salt + units)).cast(pl.String)
    return np.asarray((hash_fnv1a(first_hash) % 10_000) / 10_000)


_GROWTHBOOK = {"growthbook-1": hash_growthbook_1, "growthbook-2": hash_growthbook_2}
HASHES: dict[str, Callable[[str, pl.Series], Floats]] = {"md5": hash_md5, **_GROWTHBOOK}


def hash_fnv1a(texts: pl.Series) -> NDArray[np.uint32]:
    """Hash texts by 32-bit FNV-1a over their characters; return an array of shape (texts,)."""
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32)
    lengths = texts.str.len_chars().to_numpy().astype(np.intp)
    starts = np.cumsum(lengths) - lengths
    # With the longest texts first, those with a character at a position are adjacent.
    order = np.argsort(-lengths, kind="stable")
    starts, negated_lengths = starts[order], -lengths[order]
    hashes = np.full(lengths.size, FNV_OFFSET_BASIS)
    for position in range(int(lengths.max(initial=0))):
        n_longer = int(np.searchsorted(negated_lengths, -position))
        characters_at = characters[starts[:n_longer] + position]
        hashes[:n_longer] = (hashes[:n_longer] ^ characters_at) * FNV_PRIME
    return hashes[np.argsort(order)]


BINS = 20  # Number of bins in the test of uniform hashes


@dataclass(frozen=True)
class Experiment:
    r"""Assignment of the units of an experiment to variants.

    A unit, such as a user, has a number from 0 to 1 for each salt, by default

    .. math:: u = \text{MD5}(\text{salt}, \texttt{0x1f}, \text{unit}) / 2^{64}

    computed from the first 8 bytes of the hash, with salt and unit in UTF-8. The number for the
    salt of the layer decides whether a unit is in the experiment; the number for the name of the
    experiment decides the variant. So experiments of different names are independent, and
    experiments in one layer with disjoint parts of the traffic have no unit in common (Kohavi, Tang
    and Xu, 2020).

    Parameters
    ----------
    name
        Name of the experiment, used as the salt of the hash that assigns variants.
    weights
        Proportions of units by variant, which sum to 1, or names of variants with equal
        proportions.
    layer
        Name of the layer (the salt of its hash), shared by experiments that exclude each other; by
        default a layer of this experiment alone.
    traffic
        Proportion of the units that are in the experiment, or the part of the layer that it uses,
        such as `(0.5, 1)`.
    hash
        Hash function that assigns units: `md5` (default), or `growthbook-1` or `growthbook-2` for
        the same variants as GrowthBook's SDKs. With GrowthBook's hashes, traffic is the coverage
        or, if a layer is set, the part of the namespace.

    Raises
    ------
    PolicyError
        For weights that do not sum to 1 or are not above 0, a single variant, invalid traffic, an
        unknown hash, an empty name, or a layer with all of its traffic or the experiment's name.

    Examples
    --------
    >>> variants = Experiment("exp", ["control", "treatment"]).assign(["u1", "u2"])
    >>> variants.to_list()
    ['control', 'control']
    >>> Experiment("exp").hash_values(["u1", "u2"]).round(6).tolist()
    [0.443771, 0.22146]
    """

    name: str
    weights: Mapping[str, float] | Sequence[str] = ("control", "treatment")
    layer: str | None = None
    traffic: float | tuple[float, float] = 1.0
    hash: Annotated[str, OneOf(tuple(HASHES))] = "md5"

    def __post_init__(self) -> None:
        if not self.name:
            raise PolicyError("name must not be empty, got ''")
        if self.layer == self.name:
            reason = "layer must differ from the name of the experiment"
            raise PolicyError(f"{reason}, got {quote(self.name)}")
        check_choice("hash", self.hash, HASHES)
        object.__setattr__(self, "weights", check_weights(self.weights))
        start, stop = self.part
        if self.layer is not None and (start, stop) == (0.0, 1.0):
            expected = "layer requires a part of the traffic, such as traffic=(0, 0.5)"
            raise PolicyError(f"{expected}, got all of it")
        if not 0 <= start < stop <= 1:
            reason = "traffic must start below its end, both from 0 to 1"
            raise PolicyError(f"{reason}, got {start:g} to {stop:g}")
        if self.hash != "md5" and self.layer is None and start > 0:
            reason = f"with hash={self.hash!r} and no layer, traffic must be a proportion"
            raise PolicyError(f"{reason}, the coverage, got {start:g} to {stop:g}")

    @property
    def variants(self) -> tuple[str, ...]:
        """Names of the variants, in order."""
        return tuple(self.weights)

    @property
    def part(self) -> tuple[float, float]:
        """Start and end of the experiment's part of its layer."""
        try:
            start, stop = self.traffic if isinstance(self.traffic, tuple) else (0.0, self.traffic)
            return float(start), float(stop)
        except (TypeError, ValueError):
            reason = "traffic must be a proportion, or a start and an end such as (0, 0.5)"
            raise PolicyError(f"{reason}, got {quote(self.traffic)}") from None

    def hash_values(self, units: Any) -> Floats:
        """Return the number from 0 to 1 that decides the variant of each unit."""
        return HASHES[self.hash](self.name, read_unit_ids(units))

    def assign(self, units: Any) -> pl.Series:
        """Return the variant of each unit; null if it is not in the experiment.

        Parameters
        ----------
        units
            Ids, as a list, an array or a series; integers are converted to text.

        Returns
        -------
        polars.Series
            Named `variant`, in the order of the units.

        Raises
        ------
        PolicyError
            For units that are not a list.
        CranfieldError
            For a unit without a valid id.
        """
        ids = read_unit_ids(units)
        hashes = HASHES[self.hash](self.name, ids)
        proportions = _get_proportions(self)
        ends = np.cumsum(proportions)
        # The proportions may add up to slightly less than 1; the last variant has the remainder.
        variant_index = np.searchsorted(ends[:-1], hashes, side="right")
        start, stop = self.part
        if (start, stop) == (0.0, 1.0):
            is_inside = np.ones(len(variant_index), dtype=bool)
        elif self.hash != "md5" and self.layer is None:
            covered_ends = ends - proportions + stop * proportions
            is_inside = hashes < covered_ends[variant_index]
        else:
            salt = f"{self.name}/traffic" if self.layer is None else self.layer
            is_md5 = self.hash == "md5"
            traffic_hashes = hash_md5(salt, ids) if is_md5 else hash_growthbook_1(f"__{salt}", ids)
            is_inside = (traffic_hashes >= start) & ((traffic_hashes < stop) | (stop == 1))
        variant_index = np.where(is_inside, variant_index, len(proportions))
        variants = pl.Series("variant", [*self.variants, None], dtype=pl.String)
        return variants.gather(variant_index)


def _get_proportions(experiment: Experiment) -> Floats:
    weights: Any = experiment.weights
    return np.fromiter(weights.values(), dtype=np.float64)


def check_weights(weights: Any) -> dict[str, float]:
    """Return the proportions of units by name of variant; refuse invalid proportions."""
    if isinstance(weights, Mapping):
        weights_by_name = [*weights.items()]
    elif isinstance(weights, Sequence) and not isinstance(weights, str):
        weights_by_name = [(name, 1 / len(weights)) for name in weights]
    else:
        expected = "weights must be a mapping of variants to proportions, or a list of variants"
        raise PolicyError(f"{expected}, got {quote(weights)}")
    proportions: dict[str, float] = {}
    for variant, weight in weights_by_name:
        # As in tables, the name of a variant may be a number.
        name = str(variant) if isinstance(variant, (int, np.integer)) else variant
        if not (isinstance(name, str) and name):
            raise PolicyError(f"a variant must be a name, got {quote(variant)}")
        if name in proportions:
            raise PolicyError(f"weights must name distinct variants, got {quote(name)} twice")
        is_number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not (is_number and 0 < weight <= 1):
            bounds = "must be above 0 and at most 1"
            raise PolicyError(f"weight of {quote(name)} {bounds}, got {quote(weight)}")
        proportions[name] = float(weight)
    if len(proportions) < 2:
        raise PolicyError(f"weights must name at least two variants, got {len(proportions)}")
    total = sum(proportions.values())
    if abs(total - 1) > 1e-9:
        raise PolicyError(f"weights must sum to 1, got {total:.6g}")
    return proportions


def read_unit_ids(units: Any) -> pl.Series:
    """Return the ids of units as text; refuse missing ids."""
    if isinstance(units, str) or not hasattr(units, "__iter__"):
        raise PolicyError(f"units must be a list of ids, got {quote(units)}")
    cells = units if isinstance(units, pl.Series) else list(units)
    if not len(cells):
        return pl.Series("unit", [], dtype=pl.String)
    ids, row = ID.convert_column("unit", cells)
    if row is not None:
        raise CranfieldError(f"unit {row + 1}: {ID.describe_invalid('unit', cells[row])}")
    return ids


def read_ids(path: str, column: str) -> pl.Series:
    """Read ids of units from a column of a table, or from text with one id per line."""
    lines = Lines((column,), 1, split=lambda line: [line.strip()] if line.strip() else [])
    # If the caller names a unit, a column with the usual name of another unit must not be read.
    meaning = "unit" if column == "user" else None
    hint = "; use unit=... to read another column" if meaning else ""
    schema = Schema("table of units", (FileColumn(column, ID, meaning),), lines=lines, hint=hint)
    columns = read_columns(path, schema)
    has_lines = FORMAT_OF_SUFFIX.get(Source(path).suffix) not in schema.formats
    if has_lines and len(columns.cells(0)):
        _check_lines(columns)
    return columns.make_table(schema).frame[column]


def _check_lines(columns: FileColumns) -> None:
    ids = columns.cells(0)
    expected = "expected one id per line"
    remedy = "a table of several columns requires the suffix .csv or .tsv"
    for row, line in enumerate(ids):
        if re.search(r'[,;\t"]', line):
            reason = f"{expected}, got {quote(line)}; {remedy}"
            raise make_row_error(row, reason, columns.source, columns.lines)
    usual_names = DECISIVE["user"].split() + DECISIVE["session"].split()
    if fold_name(ids[0]) in map(fold_name, usual_names):
        reason = f"{expected}, got the name of a column, {quote(ids[0])}; remove this line"
        raise make_row_error(0, reason, columns.source, columns.lines)


def check_assignment(experiments: Sequence[Experiment], units: Any) -> pl.DataFrame:
    """Test whether units are assigned uniformly, and independently between experiments.

    For each experiment, the hashes of the units are counted in 20 bins, and its variants are
    compared with their weights; for each pair, the variants are cross-tabulated over the units in
    both experiments. All tests are chi-square tests. If units are assigned like random numbers,
    p-values are uniform.

    Parameters
    ----------
    experiments
        One or more experiments.
    units
        Distinct ids, at least a few thousand.

    Returns
    -------
    polars.DataFrame
        Columns `check`, `statistic`, `df` and `p`; `statistic` and `p` are NaN without units; for
        the weights, if no unit is in the experiment; and for a pair, if a variant has no unit that
        is in both experiments.

    Examples
    --------
    >>> experiments = [Experiment("one"), Experiment("two")]
    >>> check_assignment(experiments, range(10_000)).select("check", "df").rows()[:2]
    [('one: uniform', 19), ('one: weights', 1)]
    """
    check_list("experiments", experiments)
    ids = read_unit_ids(units)
    rows: list[tuple[str, float, int, float]] = []
    assigned_variants = [experiment.assign(ids) for experiment in experiments]
    for experiment, variants in zip(experiments, assigned_variants, strict=True):
        bins = (experiment.hash_values(ids) * BINS).astype(np.intp).clip(0, BINS - 1)
        tests = {"uniform": (np.bincount(bins, minlength=BINS), np.full(BINS, 1 / BINS))}
        sizes = np.array([(variants == name).sum() for name in experiment.variants])
        tests["weights"] = sizes, _get_proportions(experiment)
        for name, (counts, weights) in tests.items():
            proportions = weights / weights.sum()
            statistic, pvalue = map(float, compute_chi_square(counts, proportions))
            rows.append((f"{experiment.name}: {name}", statistic, weights.size - 1, pvalue))
    assignments = zip(experiments, assigned_variants, strict=True)
    for (first, variants), (second, other_variants) in combinations(assignments, 2):
        cells = [
            (variants == a) & (other_variants == b) for a in first.variants for b in second.variants
        ]
        table = np.reshape([cell.sum() for cell in cells], (len(first.variants), -1))
        df = (len(first.variants) - 1) * (len(second.variants) - 1)
        statistic = pvalue = np.nan
        if table.sum(axis=0).all() and table.sum(axis=1).all():
            statistic, pvalue, *_ = map(float, chi2_contingency(table, correction=False)[:2])
        rows.append((f"{first.name} and {second.name}: independent", statistic, df, pvalue))
    return pl.DataFrame(rows, schema=["check", "statistic", "df", "p"], orient="row")


def compute_chi_square(counts: ArrayLike, proportions: Floats) -> tuple[Floats, Floats]:
    """Compute Pearson's chi-square statistics and p-values for counts of shape (..., variants)."""
    observed_counts = np.asarray(counts, dtype=np.float64)
    expected_counts = observed_counts.sum(axis=-1, keepdims=True) * proportions
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = ((observed_counts - expected_counts) ** 2 / expected_counts).sum(axis=-1)
    return np.asarray(statistic), np.asarray(chdtrc(proportions.size - 1, statistic))


MAX_EXPERIMENT_UNITS = 10**12  # Maximum number of units of an experiment


@dataclass(frozen=True, repr=False)
class ExperimentSize(Result):
    """Units, lift and power of an experiment with a control and one other variant.

    The attributes are the columns of the only row; `n_control_units` is `control_units`.
    """

    name: ClassVar[str] = "size"
    columns: ClassVar[Columns] = {
        "mean": Column("Mean of the metric over units of the control."),
        "deviation": Column(
            "Standard deviation of the metric over units, after adjustment for a covariate."
        ),
        "lift": Column("Lift to detect: the difference relative to the mean of the control."),
        "power": Column("Probability of detecting the lift."),
        "units": Column("Total number of units of the two variants."),
        "control_units": Column("Number of units of the control."),
        "alpha": Column("Significance level."),
        "alternative": Column("Alternative hypothesis."),
        "rule": Column(
            "Number of units of both variants by the rule of thumb of 16 s^2 / d^2 per variant, for"
            " standard deviation s and difference d, power .8, alpha .05 and equal proportions (van"
            " Belle, 2008).",
            decimals=0,
        ),
        "days": Column("Duration in days; NaN if daily units are unknown.", decimals=1),
    }

    mean: float
    deviation: float
    lift: float
    power: float
    units: int
    n_control_units: int
    alpha: float
    alternative: str
    rule: float
    days: float

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame([vars(self)]).rename({"n_control_units": "control_units"})

    def facts(self) -> dict[str, Any]:
        return {}

    def heading(self) -> list[str]:
        days = "" if np.isnan(self.days) else f", {self.days:g} days"
        size = f"{self.units:,} units ({self.n_control_units:,} in the control){days}"
        test = f"power {self.power:.4g} at alpha {self.alpha:g} ({self.alternative})"
        # The rule of thumb is for variants of equal size and this two-sided test.
        has_equal_sizes = abs(self.units - 2 * self.n_control_units) <= 1
        has_rule = has_equal_sizes and self.alpha == 0.05 and self.alternative == "two-sided"
        rule = f"; rule of thumb for power 0.8: {self.rule:,.0f} units" if has_rule else ""
        return [f"{size}: a lift of {self.lift:.4g} is detected with {test}{rule}"]


def experiment_size(
    *,
    mean: float,
    deviation: float,
    lift: float | None = None,
    units: int | None = None,
    power: Annotated[float | None, UnitInterval()] = None,
    alpha: Annotated[float, UnitInterval()] = 0.05,
    alternative: Annotated[str, OneOf(ALTERNATIVES)] = "two-sided",
    treatment_proportion: Annotated[float, UnitInterval()] = 0.5,
    correlation: float = 0.0,
    daily: float | None = None,
) -> ExperimentSize:
    r"""Compute lift, units or power of an experiment from the other two.

    The test is Student's t with the same deviation s in both variants; its two-sided power is

    .. math:: P(|T| > t_{\alpha/2}), \quad T \sim t(n - 2; \lambda), \quad
        \lambda = \frac{d}{s \sqrt{1 - \rho^2}} \sqrt{n\, w (1 - w)}

    for the difference d = lift times mean, and a proportion w of the n units in the treatment. A
    covariate with correlation rho multiplies the variance by 1 - rho^2 (CUPED). The deviation of a
    ratio, such as clicks per page, is that of its linearised value: `error`, the standard error of
    the difference in a report of two variants, times :math:`\sqrt{n\, w (1 - w)}`, which is
    :math:`\sqrt n / 2` for equal variants.

    Parameters
    ----------
    mean, deviation
        Mean (not 0) and standard deviation (above 0) of the metric over units. The deviation of a
        proportion p is the square root of p (1 - p).
    lift
        Relative difference, such as 0.05 or -0.05.
    units
        Total number of units of both variants.
    power
        Probability of detecting the lift; 0.8 by default, unless both lift and units are set.
    alpha, alternative
        Significance level, and `two-sided`, `greater` or `less`. A one-sided test is in the
        direction of the lift; a lift that is computed is negative with `less`.
    treatment_proportion
        Proportion of units in the variant other than the control.
    correlation
        Correlation of the covariate with the metric.
    daily
        Number of new units per day, from which the duration is computed.

    Returns
    -------
    ExperimentSize
        Lift, units and power.

    Raises
    ------
    PolicyError
        Unless exactly two of lift, units and power are set, if an option is out of its range, or if
        more than 10^12 units are required.

    Examples
    --------
    >>> size = experiment_size(mean=0.05, deviation=(0.05 * 0.95) ** 0.5, lift=0.05, daily=30_000)
    >>> size.units, round(size.rule), size.days
    (238608, 243200, 8.0)
    """
    check_arguments(experiment_size, locals())
    if power is None and (lift is None or units is None):
        power = 0.8
    n_set = 3 - [lift, units, power].count(None)
    if n_set != 2:
        expected = "expected exactly two of lift, units and power"
        raise PolicyError(f"{expected}, got {n_set}; the third is computed")
    for name, value in (("mean", mean), ("lift", 1 if lift is None else lift)):
        check_number(name, value)
        if not value and (name == "mean" or units is None):
            raise PolicyError(f"{name} must not be 0, got {value:g}")
    check_positive(deviation=deviation)
    check_number("correlation", correlation)
    if not -1 < correlation < 1:
        raise PolicyError(f"correlation must be above -1 and below 1, got {correlation:g}")
    if daily is not None:
        check_positive(daily=daily)
    residual_deviation = deviation * np.sqrt(1 - correlation**2)

    def compute_power(n_units: float, lift: float) -> float:
        with np.errstate(over="ignore"):
            factor = treatment_proportion * (1 - treatment_proportion)
            half_noncentrality = n_units * factor * (lift * mean / residual_deviation) ** 2 / 2
        parameters = np.array(half_noncentrality), np.array(n_units - 2.0)
        return float(compute_t_test_power(*parameters, alpha, alternative))

    if units is not None:
        check_integer("units", units, 4, MAX_EXPERIMENT_UNITS)
    if units is None:
        min_power, effect = power or 0.0, lift or 0.0
        units = _find_smallest_size(lambda n_units: compute_power(n_units, effect) >= min_power)
    elif lift is None:
        min_power, n_units = power or 0.0, units
        if min_power <= compute_power(units, 0.0):
            raise PolicyError(f"power must exceed alpha ({alpha:g}), got {min_power:g}")
        upper = residual_deviation / abs(mean)
        while compute_power(units, upper) < min_power:
            upper *= 2
        root = brentq(lambda x: compute_power(n_units, x) - min_power, 0.0, upper, xtol=1e-14)
        lift = float(root)
        lift = -lift if alternative == "less" else lift
    assert lift is not None
    # Python integers may exceed the range of a column.
    values = float(mean), float(residual_deviation), float(lift), compute_power(units, lift)
    sizes = units, round(units * (1 - treatment_proportion))
    rule = float(2 * 16 * (residual_deviation / (lift * mean)) ** 2) if lift else np.inf
    days = np.nan if daily is None else float(np.ceil(units / daily))
    return ExperimentSize(*values, *sizes, alpha, alternative, rule, days)


def _find_smallest_size(is_enough: Callable[[int], bool]) -> int:
    """Find the smallest sufficient number of units that is at least 4."""
    upper = 4
    while not is_enough(upper):
        upper *= 2
        if upper > MAX_EXPERIMENT_UNITS:
            bound = f"more than {MAX_EXPERIMENT_UNITS:,} units are required"
            raise PolicyError(f"{bound}; set a larger lift or a lower power")
    return bisect_left(range(upper), True, lo=max(4, upper // 2), key=is_enough)
