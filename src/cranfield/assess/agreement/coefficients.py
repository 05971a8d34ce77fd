"""Agreement coefficients as functions of tables of counts, with intervals over topics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assess.agreement.tables import Tables
from cranfield.base.arrays import Bools, Floats, Ints, row_slices
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.spec import Registry
from cranfield.base.streams import stream


def _linear(grades: Floats) -> Floats:
    return np.abs(grades[..., :, None] - grades[..., None, :])


def _quadratic(grades: Floats) -> Floats:
    return _linear(grades) ** 2


def _ratio(grades: Floats) -> Floats:
    if (grades < 0).any():
        raise PolicyError("ratio distances require grades >= 0, got grades below 0")
    sums = grades[..., :, None] + grades[..., None, :]
    return np.asarray((_linear(grades) / np.where(sums > 0, sums, 1)) ** 2)


DISTANCES: dict[str, Callable[[Floats], Floats]] = {
    "nominal": lambda grades: (_linear(grades) != 0).astype(np.float64),
    "ordinal": _quadratic,
    "interval": _quadratic,
    "ratio": _ratio,
    "linear": _linear,
    "quadratic": _quadratic,
}
"""Distance functions by name; for `ordinal` they get mean ranks, which depend on the labels."""


def grade_distances(name: str, grades: Floats, frequencies: Floats | None = None) -> Floats:
    r"""Compute the distance between each two ascending grades; shape (..., grades, grades).

    `nominal`: 1 for two different grades. `linear`: :math:`|c - v|`. `quadratic`, or `interval`:
    :math:`(c - v)^2`. `ratio`: :math:`((c - v)/(c + v))^2`. `ordinal`, from the frequencies of the
    grades: :math:`(\sum_{g=c}^{v} n_g - (n_c + n_v)/2)^2`. Other grades are first scaled to a range
    of 1. Sources: Cohen (1968) for weights, Krippendorff (2011) for levels of measurement.
    """
    if name == "ordinal":
        assert frequencies is not None
        # The ordinal distance is the squared difference of mean ranks.
        return _quadratic(np.cumsum(frequencies, axis=-1) - frequencies / 2)
    span = np.ptp(grades) if grades.size else 0.0
    return DISTANCES[name](grades / span if span > 0 else grades)


def observed_agreement(tables: Tables) -> Floats:
    """Compute observed agreement: the mean proportion of equal pairs of labels of a unit."""
    return _divide(np.trace(tables.units, axis1=-2, axis2=-1), tables.units.sum(axis=(-2, -1)))


def positive_agreement(tables: Tables) -> Floats:
    """Compute positive agreement: 2a / (2a + b + c) (Cicchetti and Feinstein 1990)."""
    return _divide(tables.units[..., 1, 1], tables.units[..., 1, :].sum(axis=-1))


def negative_agreement(tables: Tables) -> Floats:
    """Compute negative agreement: 2d / (2d + b + c) (Cicchetti and Feinstein 1990)."""
    return _divide(tables.units[..., 0, 0], tables.units[..., 0, :].sum(axis=-1))


def overlap(tables: Tables) -> Floats:
    """Compute overlap of relevant documents: a / (a + b + c) (Voorhees 2000)."""
    n_common = tables.units[..., 1, 1]
    return _divide(n_common, n_common + 2 * tables.units[..., 0, 1])


def cohen_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Compute Cohen's kappa of two assessors, weighted or not (Cohen 1960, 1968).

    .. math:: \kappa = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{r_c\, s_v}{N}

    with r and s the numbers of units by grade of the first and the second assessor.
    """
    joint = tables.joint
    assert joint is not None, "two assessors are required"
    expected = joint.sum(axis=-1)[..., :, None] * joint.sum(axis=-2)[..., None, :]
    return _chance_corrected(joint, expected, _sum(joint), tables, distance)


def fleiss_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    """Compute Fleiss' kappa (1971), for two assessors Scott's pi (1955).

    With missing labels, observed agreement is over units with two labels or more, and the
    proportion of a grade is the mean over all units with a label (Gwet 2014).
    """
    proportions = tables.proportions / _nan_if_zero(tables.proportions.sum(axis=-1, keepdims=True))
    expected = proportions[..., :, None] * proportions[..., None, :]
    joint = tables.units / _nan_if_zero(_sum(tables.units))
    return _chance_corrected(joint, expected, 1.0, tables, distance)


def krippendorff_alpha(tables: Tables, distance: str = "ordinal") -> Floats:
    r"""Compute Krippendorff's alpha of any number of assessors (Krippendorff 2011).

    Labels may be missing.

    .. math:: \alpha = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{n_c (n_v - [c = v])}{n - 1}
    """
    frequency = tables.pairs.sum(axis=-1)
    # The distance on the diagonal is 0, so the -1 there does not matter.
    expected = frequency[..., :, None] * frequency[..., None, :]
    return _chance_corrected(tables.pairs, expected, _sum(tables.pairs) - 1, tables, distance)


def gwet_ac(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Compute Gwet's AC1, or AC2 with distances other than nominal (Gwet 2008, 2014).

    .. math:: \frac{p_a - p_e}{1 - p_e}, \qquad
        p_e = \frac{\sum w_{cv}}{q(q-1)} \sum_c \pi_c (1 - \pi_c), \qquad w = 1 - d / \max d

    with q grades on the scale, used or not, and pi_c the proportion of grade c, averaged over units
    with a label.
    """
    distances, n_grades = grade_distances(distance, tables.grades), tables.grades.size
    if not (largest := distances.max(initial=0.0)) > 0:
        return np.full(tables.units.shape[:-2], np.nan)
    weights = 1 - distances / largest
    total = tables.units.sum(axis=(-2, -1))
    agreement = _divide((tables.units * weights).sum(axis=(-2, -1)), total)
    proportions = tables.proportions / _nan_if_zero(tables.proportions.sum(axis=-1))[..., None]
    mean_weight = weights.sum() / (n_grades * (n_grades - 1))
    expected = mean_weight * (proportions * (1 - proportions)).sum(axis=-1)
    return _divide(agreement - expected, 1 - expected)


def _chance_corrected(
    joint: Floats, expected: Floats, size: Floats | float, tables: Tables, distance: str
) -> Floats:
    """Return 1 - observed/expected disagreement, with `expected` scaled by `size`."""
    distance_matrix = grade_distances(distance, tables.grades, tables.pairs.sum(axis=-1))
    disagreement = (joint * size * distance_matrix).sum(axis=(-2, -1))
    return 1 - _divide(disagreement, (expected * distance_matrix).sum(axis=(-2, -1)))


def _sum(table: Floats) -> Floats:
    return np.asarray(table.sum(axis=(-2, -1), keepdims=True))


def _nan_if_zero(size: Floats) -> Floats:
    """Replace sizes of 0 by NaN, so that quotients are undefined."""
    return np.asarray(np.where(size > 0, size, np.nan))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    return np.asarray(numerator / _nan_if_zero(denominator))


@dataclass(frozen=True)
class Formula:
    """Function of a coefficient, with its default distance, requirements and lower bound."""

    function: Callable[..., Floats]
    distance: str = ""
    requires_binary: bool = False
    requires_two_assessors: bool = False
    min_value: float = -1.0


COEFFICIENTS = Registry(
    "measure of agreement",
    things={
        "observed": Formula(observed_agreement, min_value=0.0),
        "positive": Formula(positive_agreement, requires_binary=True, min_value=0.0),
        "negative": Formula(negative_agreement, requires_binary=True, min_value=0.0),
        "overlap": Formula(overlap, requires_binary=True, min_value=0.0),
        "kappa": Formula(cohen_kappa, "nominal", requires_two_assessors=True),
        "fleiss": Formula(fleiss_kappa, "nominal"),
        "alpha": Formula(krippendorff_alpha, "ordinal"),
        "AC1": Formula(gwet_ac),
        # Chance agreement approaches 1 if most grades are close to each other.
        "AC2": Formula(gwet_ac, "quadratic", min_value=-math.inf),
    },
)

_FORM = re.compile(r"(\w+)(?:\(([^()]*)\))?")
_REL = re.compile(r"rel=(-?\d+)")


@dataclass(frozen=True)
class Coefficient:
    """Agreement coefficient with its distance and lowest relevant grade."""

    name: str
    distance: str = ""
    rel: int | None = None

    @property
    def formula(self) -> Formula:
        return COEFFICIENTS[self.name]

    def compute(self, tables: Tables) -> Floats:
        """Compute the coefficient for tables along the leading axes."""
        if self.rel is not None:
            tables = tables.binarize(self.rel)
        options = {"distance": self.distance} if self.distance else {}
        return self.formula.function(tables, **options)

    def __str__(self) -> str:
        # Unweighted kappa is usually written without its distance.
        is_default = self.distance == self.formula.distance == "nominal"
        options = [self.distance] if self.distance and not is_default else []
        options += [] if self.rel is None else [f"rel={self.rel}"]
        return f"{self.name}({', '.join(options)})" if options else self.name


def parse_coefficient(text: str | Coefficient, rel: int | None = None) -> Coefficient:
    """Parse `name`, `name(distance)`, `name(rel=GRADE)` or `name(distance, rel=GRADE)`."""
    if isinstance(text, Coefficient):
        return text
    form = _FORM.fullmatch(str(text).strip())
    if not form:
        reason = f"expected a measure of agreement such as name(distance), got {quoted(text)}"
        raise PolicyError(reason)
    name = COEFFICIENTS.find(form.group(1))
    formula = COEFFICIENTS[name]
    distance = formula.distance
    for part in map(str.strip, form.group(2).split(",") if form.group(2) else []):
        if match := _REL.fullmatch(part):
            rel = int(match.group(1))
        elif part in DISTANCES and formula.distance:
            distance = part
        else:
            options = ", ".join([*(DISTANCES if formula.distance else ()), "rel=GRADE"])
            raise PolicyError(f"{name} accepts {options}, got {quoted(part)}")
    if name == "AC2" and distance == "ordinal":
        raise PolicyError("AC2 does not support the ordinal distance, which depends on the labels")
    return Coefficient(name, distance, 1 if formula.requires_binary and rel is None else rel)


def parse_coefficients(
    measures: str | Coefficient | Iterable[str | Coefficient] | None,
    rel: int | None,
    has_two_assessors: bool,
) -> tuple[Coefficient, ...]:
    """Parse distinct coefficients; the default ones include kappa if there are two assessors."""
    if measures is None:
        measures = ("observed", "kappa" if has_two_assessors else "fleiss", "alpha", "AC1")
    elif isinstance(measures, (str, Coefficient)):
        measures = [measures]
    parsed = tuple(dict.fromkeys(parse_coefficient(measure, rel) for measure in measures))
    if not parsed:
        raise PolicyError("expected at least one measure of agreement, got none")
    for measure in parsed:
        if measure.formula.requires_two_assessors and not has_two_assessors:
            reason = f"{measure} requires two assessors; use pairs=True, or fleiss or alpha"
            raise PolicyError(reason)
    return parsed


MAX_VALUES = 2**22  # Maximum number of values in memory at a time for tables of resampled topics
RESAMPLES_PER_STREAM = 500  # Number of resamples per random stream
MIN_SPREAD = 1e-12  # Spread up to which values differ only by rounding


def bootstrap(
    tables: Tables, statistic: Callable[[Tables], Floats], resamples: int, seed: int
) -> Floats:
    """Compute a statistic of topics drawn with replacement; shape (resamples, ...)."""
    n_topics = len(tables.pairs)
    probabilities = np.full(n_topics, 1 / n_topics)
    streams = [stream(seed, start) for start in range(0, resamples, RESAMPLES_PER_STREAM)]
    size = RESAMPLES_PER_STREAM
    blocks = [draws.multinomial(n_topics, probabilities, size=size) for draws in streams]
    counts = np.concatenate(blocks)[:resamples].astype(np.float64)
    n_values = sum(part[0].size for part in (tables.pairs, tables.units, tables.proportions))
    slices = row_slices(resamples, n_values * 2, MAX_VALUES)
    return np.concatenate([statistic(tables.weighted_sum(counts[rows])) for rows in slices])


def jackknife(
    value: Floats,
    replicates: Floats,
    has_units: Bools,
    confidence: float,
    *,
    bounded: bool = True,
    are_proportions: Any = False,
) -> tuple[Floats, Floats]:
    r"""Compute jackknife t intervals from values and their leave-one-topic-out replicates.

    Shapes are (...) for values, and (topics, ...) for `replicates` and `has_units`, which marks the
    topics that contribute to a value. If values are `bounded` by 1, intervals are computed on the
    scale of :math:`\ln(1 - \theta)` and end below 1. For values that `are_proportions` the scale is
    the log odds, unless a value is 0 or 1. With n topics, and the degrees of freedom of
    :func:`degrees_of_freedom`,

    .. math:: s^2 = \frac{n-1}{n} \sum_i (\theta_{(i)} - \bar\theta_{(\cdot)})^2

    Source: Efron and Stein (1981).
    """
    from scipy.special import expit, stdtrit

    n_topics = has_units.sum(axis=0)
    is_inside = ~has_units | ((replicates > 0) & (replicates < 1))
    use_log_odds = are_proportions & is_inside.all(axis=0)

    def transform(values: Floats) -> Floats:
        if not bounded:
            return values
        return np.asarray(np.where(use_log_odds, np.log(values), 0.0) - np.log1p(-values))

    def inverse(ends: Floats) -> Floats:
        return np.where(use_log_odds, expit(ends), -np.expm1(-ends)) if bounded else ends

    with np.errstate(divide="ignore", invalid="ignore"):
        centre, transformed = transform(value), transform(replicates)
        mean = np.where(has_units, transformed, 0).sum(axis=0) / n_topics
        deviations = np.where(has_units, transformed - mean, 0)
        spread = np.sqrt((n_topics - 1) / n_topics * (deviations**2).sum(axis=0))
        df = degrees_of_freedom(deviations, n_topics)
        half_width = stdtrit(df, (1 + confidence) / 2) * spread
        low, high = inverse(centre - half_width), inverse(centre + half_width)
    # Without differences between topics, the variance cannot be estimated.
    is_defined = (n_topics > 1) & np.isfinite(spread) & (spread > MIN_SPREAD)
    return np.where(is_defined, low, np.nan), np.where(is_defined, high, np.nan)


def degrees_of_freedom(deviations: Floats, n_topics: Ints) -> Floats:
    r"""Estimate the degrees of freedom of a variance from deviations of topics (O'Neill 2014).

    .. math:: \nu = \min\left(n - 1, \frac{2n}{\hat\kappa - 1}\right), \qquad
        \hat\kappa = \frac{n \sum_i d_i^4}{(\sum_i d_i^2)^2}

    Deviations, shape (topics, ...), are 0 for excluded topics, which `n_topics` does not count.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = n_topics * (deviations**4).sum(axis=0) / (deviations**2).sum(axis=0) ** 2
        estimate = 2 * n_topics / np.maximum(kurtosis - 1, MIN_SPREAD)
    return np.asarray(np.fmax(np.fmin(n_topics - 1, estimate), 1.0))


def percentiles(resampled: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Compute percentile intervals of the defined bootstrap values."""
    is_defined = ~np.isnan(resampled).all(axis=0)
    low, high = (np.full(resampled.shape[1:], np.nan) for _ in range(2))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if is_defined.any():
        low[is_defined], high[is_defined] = np.nanquantile(resampled[:, is_defined], tails, axis=0)
    return low, high
