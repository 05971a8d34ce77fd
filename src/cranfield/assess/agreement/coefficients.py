"""Coefficients of agreement, as functions of tables of counts, with intervals over topics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assess.agreement.tables import Tables
from cranfield.base.arrays import Bools, Floats, Ints, row_slices
from cranfield.base.errors import PolicyError, check_choice, quoted
from cranfield.base.spec import Registry
from cranfield.base.streams import stream
from cranfield.base.text import counted


def _linear(grades: Floats) -> Floats:
    return np.abs(grades[..., :, None] - grades[..., None, :])


def _quadratic(grades: Floats) -> Floats:
    return _linear(grades) ** 2


def _ratio(grades: Floats) -> Floats:
    if (grades < 0).any():
        raise PolicyError("ratio distances require grades >= 0, got grades below 0")
    sums = grades[..., :, None] + grades[..., None, :]
    return np.asarray((_linear(grades) / np.where(sums > 0, sums, 1)) ** 2)


LAWS: dict[str, Callable[[Floats], Floats]] = {
    "nominal": lambda grades: (_linear(grades) != 0).astype(np.float64),
    "ordinal": _quadratic,
    "interval": _quadratic,
    "ratio": _ratio,
    "linear": _linear,
    "quadratic": _quadratic,
}
"""Distances by name; those of `ordinal` are of mean ranks, which depend on the labels."""


def distances(name: str, grades: Floats, frequencies: Floats | None = None) -> Floats:
    r"""Return the distance of each two grades, in ascending order; shape (..., grades, grades).

    `nominal`: 1 for two different grades. `linear`: :math:`|c - v|`. `quadratic`, or `interval`:
    :math:`(c - v)^2`. `ratio`: :math:`((c - v)/(c + v))^2`. `ordinal`, by the frequencies of the
    grades: :math:`(\sum_{g=c}^{v} n_g - (n_c + n_v)/2)^2`. Grades are scaled to a range of 1 first.
    Sources: Cohen (1968) for weights, Krippendorff (2011) for the levels.
    """
    check_choice("distance", name, LAWS)
    if name == "ordinal":
        if frequencies is None:
            raise PolicyError("ordinal distances need the frequency of each grade")
        # The number of labels between the middles of two grades: the distance of mean ranks.
        return _quadratic(np.cumsum(frequencies, axis=-1) - frequencies / 2)
    span = np.ptp(grades) if grades.size else 0.0
    return LAWS[name](grades / span if span > 0 else grades)


def observed(tables: Tables) -> Floats:
    """Observed agreement: mean over units with two labels or more of their equal pairs."""
    return _over(np.trace(tables.units, axis1=-2, axis2=-1), tables.units.sum(axis=(-2, -1)))


def positive(tables: Tables) -> Floats:
    """Agreement on the higher of two grades: 2a / (2a + b + c) (Cicchetti and Feinstein 1990)."""
    return _over(tables.units[..., 1, 1], tables.units[..., 1, :].sum(axis=-1))


def negative(tables: Tables) -> Floats:
    """Agreement on the lower of two grades: 2d / (2d + b + c) (Cicchetti and Feinstein 1990)."""
    return _over(tables.units[..., 0, 0], tables.units[..., 0, :].sum(axis=-1))


def overlap(tables: Tables) -> Floats:
    """Intersection over union of the relevant documents: a / (a + b + c) (Voorhees 2000)."""
    n_common = tables.units[..., 1, 1]
    return _over(n_common, n_common + 2 * tables.units[..., 0, 1])


def cohen_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Cohen's kappa of two assessors, weighted or not (Cohen 1960, 1968).

    .. math:: \kappa = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{r_c\, s_v}{N}

    with r and s the grades of the first and the second.
    """
    joint = tables.joint
    if joint is None:
        raise PolicyError("Cohen's kappa needs two assessors")
    expected = joint.sum(axis=-1)[..., :, None] * joint.sum(axis=-2)[..., None, :]
    return _chance_corrected(joint, expected, _sum(joint), tables, distance)


def fleiss_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    """Fleiss' kappa of several assessors, not always the same ones (Fleiss 1971).

    With two it is Scott's pi (1955). With gaps, agreement counts units with two labels, and the
    proportion of a grade is the mean over all units with a label (Gwet 2014).
    """
    proportions = tables.shares / _safe(tables.shares.sum(axis=-1, keepdims=True))
    expected = proportions[..., :, None] * proportions[..., None, :]
    return _chance_corrected(
        tables.units / _safe(_sum(tables.units)), expected, 1.0, tables, distance
    )


def krippendorff_alpha(tables: Tables, distance: str = "ordinal") -> Floats:
    r"""Krippendorff's alpha, with any number of assessors and gaps (Krippendorff 2011).

    .. math:: \alpha = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{n_c (n_v - [c = v])}{n - 1}
    """
    frequency = tables.pairs.sum(axis=-1)
    # The distance on the diagonal is 0, so the -1 there does not matter.
    expected = frequency[..., :, None] * frequency[..., None, :]
    return _chance_corrected(tables.pairs, expected, _sum(tables.pairs) - 1, tables, distance)


def gwet_ac(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Gwet's AC1, and AC2 with distances other than nominal (Gwet 2008, 2014).

    .. math:: \frac{p_a - p_e}{1 - p_e}, \qquad
        p_e = \frac{\sum w_{cv}}{q(q-1)} \sum_c \pi_c (1 - \pi_c), \qquad w = 1 - d / \max d

    with q grades on the scale, used or not, and pi_c the mean over units with a label of the
    proportion of grade c.
    """
    grade_distances = distances(distance, tables.grades)
    largest, q = grade_distances.max(initial=0.0), tables.grades.size
    if not largest > 0:
        return np.full(tables.units.shape[:-2], np.nan)
    weights = 1 - grade_distances / largest
    total = tables.units.sum(axis=(-2, -1))
    observed_agreement = _over((tables.units * weights).sum(axis=(-2, -1)), total)
    proportions = tables.shares / _safe(tables.shares.sum(axis=-1))[..., None]
    expected = weights.sum() / (q * (q - 1)) * (proportions * (1 - proportions)).sum(axis=-1)
    return _over(observed_agreement - expected, 1 - expected)


def _chance_corrected(
    joint: Floats, expected: Floats, size: Floats | float, tables: Tables, distance: str
) -> Floats:
    """Return 1 - observed/expected disagreement, with `expected` scaled by `size`."""
    grade_distances = distances(distance, tables.grades, tables.pairs.sum(axis=-1))
    disagreement = (joint * size * grade_distances).sum(axis=(-2, -1))
    return 1 - _over(disagreement, (expected * grade_distances).sum(axis=(-2, -1)))


def _sum(table: Floats) -> Floats:
    return np.asarray(table.sum(axis=(-2, -1), keepdims=True))


def _safe(size: Floats) -> Floats:
    return np.asarray(np.where(size > 0, size, np.nan))


def _over(numerator: Floats, denominator: Floats) -> Floats:
    return np.asarray(numerator / _safe(denominator))


@dataclass(frozen=True)
class Law:
    """A coefficient: its function, default distance, input and lower bound.

    binary: whether grades are cut in two; two_assessors: whether it needs exactly two assessors.
    """

    values: Callable[..., Floats]
    distance: str = ""
    binary: bool = False
    two_assessors: bool = False
    lowest: float = -1.0


COEFFICIENTS = Registry(
    "measure of agreement",
    things={
        "observed": Law(observed, lowest=0.0),
        "positive": Law(positive, binary=True, lowest=0.0),
        "negative": Law(negative, binary=True, lowest=0.0),
        "overlap": Law(overlap, binary=True, lowest=0.0),
        "kappa": Law(cohen_kappa, "nominal", two_assessors=True),
        "fleiss": Law(fleiss_kappa, "nominal"),
        "alpha": Law(krippendorff_alpha, "ordinal"),
        "AC1": Law(gwet_ac),
        # Chance agreement approaches 1 if most grades are close to each other.
        "AC2": Law(gwet_ac, "quadratic", lowest=-math.inf),
    },
)
"""Coefficients by name."""

_FORM = re.compile(r"(\w+)(?:\(([^()]*)\))?")
_REL = re.compile(r"rel=(-?\d+)")


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its distance and its lowest relevant grade; its text form reads back.

    >>> str(coefficient("alpha")), str(coefficient("kappa(linear)")), str(coefficient("positive"))
    ('alpha(ordinal)', 'kappa(linear)', 'positive(rel=1)')
    """

    name: str
    distance: str = ""
    rel: int | None = None

    @property
    def law(self) -> Law:
        return COEFFICIENTS[self.name]

    def of(self, tables: Tables) -> Floats:
        """Compute the coefficient for every table; tables lie along the leading axes."""
        if self.rel is not None:
            tables = tables.cut(self.rel)
        return self.law.values(tables, *([self.distance] if self.distance else []))

    def __str__(self) -> str:
        # Unweighted kappa is usually written without a distance.
        is_default = self.distance == self.law.distance == "nominal"
        options = [self.distance] if self.distance and not is_default else []
        options += [] if self.rel is None else [f"rel={self.rel}"]
        return f"{self.name}({', '.join(options)})" if options else self.name


def coefficient(text: str | Coefficient, rel: int | None = None) -> Coefficient:
    """Read `name`, `name(distance)`, `name(rel=GRADE)` or `name(distance, rel=GRADE)`."""
    if isinstance(text, Coefficient):
        return text
    form = _FORM.fullmatch(str(text).strip())
    if not form:
        raise PolicyError(
            f"{quoted(text)} is not a valid measure of agreement; expected name(distance)"
        )
    name = COEFFICIENTS.find(form.group(1))
    law = COEFFICIENTS[name]
    distance = law.distance
    for part in map(str.strip, form.group(2).split(",") if form.group(2) else []):
        if match := _REL.fullmatch(part):
            rel = int(match.group(1))
        elif part in LAWS and law.distance:
            distance = part
        else:
            options = ", ".join([*(LAWS if law.distance else ()), "rel=GRADE"])
            raise PolicyError(f"{name} accepts {options}, got {quoted(part)}")
    if name == "AC2" and distance == "ordinal":
        raise PolicyError("AC2 does not support the ordinal distance, which depends on the labels")
    return Coefficient(name, distance, 1 if law.binary and rel is None else rel)


def coefficients(
    measures: str | Coefficient | Iterable[str | Coefficient] | None, rel: int | None, of_two: bool
) -> tuple[Coefficient, ...]:
    """Read coefficients, each once; of two assessors kappa is among the default ones."""
    if measures is None:
        measures = ("observed", "kappa" if of_two else "fleiss", "alpha", "AC1")
    elif isinstance(measures, (str, Coefficient)):
        measures = [measures]
    parsed = tuple(dict.fromkeys(coefficient(measure, rel) for measure in measures))
    if not parsed:
        raise PolicyError("expected at least one measure of agreement, got none")
    if not of_two and any(measure.law.two_assessors for measure in parsed):
        name = next(str(measure) for measure in parsed if measure.law.two_assessors)
        raise PolicyError(f"{name} needs two assessors: use pairs=True, or fleiss or alpha")
    return parsed


HELD = 2**22
"""Maximum number of values in memory for the tables of resampled topics."""

DRAWN = 500
"""Resamples per stream of random numbers."""

SAME = 1e-12
"""Spread of values that differ by rounding only."""

FEW = 10
"""Number of topics below which a note calls intervals approximate."""


def bootstrap(tables: Tables, law: Callable[[Tables], Floats], resamples: int, seed: int) -> Floats:
    """Return the values of topics drawn with replacement; shape (resamples, ...)."""
    topics = len(tables.pairs)
    probabilities = np.full(topics, 1 / topics)
    blocks = [
        stream(seed, start).multinomial(topics, probabilities, size=DRAWN)
        for start in range(0, resamples, DRAWN)
    ]
    counts = np.concatenate(blocks)[:resamples].astype(np.float64)
    size = sum(part[0].size for part in (tables.pairs, tables.units, tables.shares))
    slices = row_slices(resamples, size * 2, HELD)
    return np.concatenate([law(tables.weighted(counts[rows])) for rows in slices])


def jackknife(
    value: Floats,
    left_out: Floats,
    has: Bools,
    confidence: float,
    *,
    bounded: bool = True,
    shares: Any = False,
) -> tuple[Floats, Floats]:
    r"""Return t intervals from the values (...) and those without each topic (topics, ...).

    `has` marks the topics of each value. Values `bounded` by 1 have intervals on the scale of
    :math:`\ln(1 - \theta)`, which end below 1; `shares`, from 0 to 1, on that of the log odds,
    unless a value is 0 or 1. With n topics, and the degrees of freedom of :func:`freedom`,

    .. math:: s^2 = \frac{n-1}{n} \sum_i (\theta_{(i)} - \bar\theta_{(\cdot)})^2

    Source: Efron and Stein (1981).
    """
    from scipy.special import expit, stdtrit

    n_topics = has.sum(axis=0)
    odds = shares & np.where(has, (left_out > 0) & (left_out < 1), True).all(axis=0)

    def on_line(values: Floats) -> Floats:
        if not bounded:
            return values
        return np.asarray(np.where(odds, np.log(values), 0.0) - np.log1p(-values))

    def back(ends: Floats) -> Floats:
        return np.where(odds, expit(ends), -np.expm1(-ends)) if bounded else ends

    with np.errstate(divide="ignore", invalid="ignore"):
        centre, line_without = on_line(value), on_line(left_out)
        deviations = np.where(
            has, line_without - np.where(has, line_without, 0).sum(axis=0) / n_topics, 0
        )
        spread = np.sqrt((n_topics - 1) / n_topics * (deviations**2).sum(axis=0))
        half_width = stdtrit(freedom(deviations, n_topics), (1 + confidence) / 2) * spread
        low, high = back(centre - half_width), back(centre + half_width)
    # Equal topics give no estimate of the variance.
    is_defined = (n_topics > 1) & np.isfinite(spread) & (spread > SAME)
    return np.where(is_defined, low, np.nan), np.where(is_defined, high, np.nan)


def freedom(deviations: Floats, number: Ints) -> Floats:
    r"""Estimate the degrees of freedom of a variance from deviations of topics (O'Neill 2014).

    .. math:: \nu = \min\left(n - 1, \frac{2n}{\hat\kappa - 1}\right), \qquad
        \hat\kappa = \frac{n \sum_i d_i^4}{(\sum_i d_i^2)^2}

    Deviations, shape (topics, ...), are 0 for excluded topics; `number` counts the others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = number * (deviations**4).sum(axis=0) / (deviations**2).sum(axis=0) ** 2
        normal = 2 * number / np.maximum(kurtosis - 1, SAME)
    return np.asarray(np.fmax(np.fmin(number - 1, normal), 1.0))


def percentiles(resampled: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Return percentile intervals of the defined values of the bootstrap."""
    is_defined = ~np.isnan(resampled).all(axis=0)
    low, high = (np.full(resampled.shape[1:], np.nan) for _ in range(2))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if is_defined.any():
        low[is_defined], high[is_defined] = np.nanquantile(resampled[:, is_defined], tails, axis=0)
    return low, high


def limits(
    value: Floats,
    replicates: Floats,
    has: Bools,
    interval: str,
    confidence: float,
    *,
    bounded: bool,
    shares: Any = False,
) -> tuple[Floats, Floats]:
    """Return the bounds of the intervals; NaN if undefined."""
    if interval == "none":
        return np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    if interval == "jackknife":
        has = np.broadcast_to(has[:, :, None], replicates.shape)
        return jackknife(value, replicates, has, confidence, bounded=bounded, shares=shares)
    low, high = percentiles(replicates, confidence)
    is_undefined = (has.sum(axis=0) < 2)[:, None] | ~(high - low > SAME)
    return np.where(is_undefined, np.nan, low), np.where(is_undefined, np.nan, high)


def remarks(
    value: Floats, low: Floats, replicates: Floats, has: Bools, interval: str
) -> tuple[str, ...]:
    """Return notes on undefined values and on intervals that are missing or rough."""
    notes = []
    if undefined := int(np.isnan(value).sum()):
        notes.append(
            f"{counted(undefined, 'value')} not defined: no unit has two labels, or there"
            " are too few different grades"
        )
    if interval == "none":
        return tuple(notes)
    topics = has.sum(axis=0)
    if (topics == 1).any():
        notes.append("no confidence interval: at least two topics are required")
    if ((topics > 1) & (topics < FEW)).any():
        notes.append(f"confidence intervals over fewer than {FEW} topics are approximate")
    if n_without := int((np.isnan(low) & ~np.isnan(value) & (topics > 1)[:, None]).sum()):
        notes.append(
            f"no interval can be computed for {counted(n_without, 'value')}: all topics"
            " agree equally, or the value is undefined if a topic is excluded (jackknife)"
        )
    if interval == "bootstrap" and (n_lost := int(np.isnan(replicates).any(axis=(1, 2)).sum())):
        notes.append(f"{counted(n_lost, 'resample')} excluded: a value is undefined in them")
    return tuple(notes)
