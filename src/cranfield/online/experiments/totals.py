"""Analysis of experiments of which only totals by variant are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.kinds import OneOf, Share, check_arguments
from cranfield.base.text import some_of
from cranfield.online.experiments.analysis import SRM, analyse_experiment, analyse_units
from cranfield.online.experiments.comparisons import Options
from cranfield.online.experiments.design import checked_weights
from cranfield.online.experiments.estimates import FEW, LIFTS
from cranfield.online.experiments.metrics import Metric, Moments, Placed
from cranfield.online.experiments.report import ExperimentReport
from cranfield.online.experiments.units import Units, ordered_variants
from cranfield.significance.corrections.pvalue_corrections import LAWS

ROWS = 1_000_000
"""Most units of proportions that are analysed as a row of 0 or 1 each."""

Total = tuple[float, float] | tuple[float, float, float]
"""Successes and units of a variant; or sum, sum of squares and units."""

_UNKNOWN = (
    "totals do not show the skewness of the values: Welch's test assumes that the means are"
    " nearly normal"
)


@dataclass(frozen=True, eq=False)
class _Totals(Units):
    """Units of which only the moments by variant are known."""

    known: Moments | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Units by variant."""
        return dict(zip(self.variants, map(int, self.moments().count), strict=True))

    def moments(self) -> Moments:
        """Return the moments of the columns by variant."""
        assert self.known is not None
        return self.known

    def skewness(self, gradient: Floats, other: int) -> float:
        """Return the skewness of both variants together if values are 0 or 1, else 0: unknown."""
        if not self.share(self.placed[next(iter(self.placed))]):
            return 0.0
        known = self.moments()
        rate = np.average(known.mean[[0, other], 1], weights=known.count[[0, other]])
        spread = np.sqrt(rate * (1 - rate))
        return float((1 - 2 * rate) / spread) if spread > 0 else 0.0

    def share(self, metric: Placed) -> bool:
        """Whether each value is 0 or 1: then the squares have the sum of the values."""
        known, place = self.moments(), metric.above
        mean, squares = known.mean[:, place], known.scatter[:, place, place]
        return bool(np.allclose(squares, known.count * mean * (1 - mean), rtol=1e-12, atol=1e-9))


def analyse_totals(
    totals: Mapping[str, Total],
    *,
    control: str | int | None = None,
    weights: Mapping[str, float] | None = None,
    srm: Annotated[str, OneOf(SRM)] = "stop",
    lift: Annotated[str, OneOf(LIFTS)] = "log",
    correction: Annotated[str, OneOf(tuple(LAWS))] = "holm",
    alpha: Annotated[float, Share()] = 0.05,
    good: Annotated[str, OneOf(("up", "down"))] = "up",
    margin: float | str | None = None,
) -> ExperimentReport:
    r"""Analyse an A/B test of which only totals by variant are known.

    Proportions of up to a million units are analysed as :func:`analyse_experiment` does a table
    with a row of 0 or 1 for each unit. Means, and larger proportions, are compared by Welch's test
    with the variances

    .. math:: s^2 = \frac{\sum x^2 - (\sum x)^2 / n}{n - 1}

    Totals must be of the units that were randomised: totals of sessions or page views, where users
    were randomised, make intervals too short, and nothing in the totals shows that.

    Parameters
    ----------
    totals
        By variant, `(successes, units)`; or `(sum, sum of squares, units)` of the values.
    control, weights, srm, lift, correction, alpha
        As of :func:`analyse_experiment`.
    good
        Whether `up` or `down` is better.
    margin
        Non-inferiority margin, as of :class:`Metric`.

    Returns
    -------
    ExperimentReport
        With one metric, `proportion` or `mean`.

    Raises
    ------
    PolicyError
        For totals that are impossible, such as more successes than units; for means of fewer than
        ten units in a variant, which need their values; and as :func:`analyse_experiment`.

    Examples
    --------
    >>> report = analyse_totals({"control": (500, 10_000), "new": (575, 10_100)})
    >>> report.pvalues.round(4).tolist(), report.verdicts
    ([[0.0289]], (('better',),))
    """
    check_arguments(analyse_totals, locals())
    read = _checked(totals)
    shares = None if weights is None else checked_weights(weights)
    is_mean = any(len(total) == 3 for total in read.values())
    name = "mean" if is_mean else "proportion"
    units = sum(total[-1] for total in read.values())
    if not is_mean and units <= ROWS:
        return analyse_experiment(
            _rows(read),
            {name: Metric("success", good=good, margin=margin)},
            control=control,
            weights=weights,
            srm=srm,
            lift=lift,
            correction=correction,
            alpha=alpha,
        )
    metric = Metric(name, good=good, margin=margin)
    labels = pl.Series(list(read), dtype=pl.String)
    own = None if control is None else str(control)
    variants = ordered_variants(labels, own, tuple(shares) if shares else None, "totals")
    if few := [one for one in variants if is_mean and read[one][-1] < FEW]:
        raise PolicyError(
            f"expected at least {FEW} units in each variant, got {read[few[0]][-1]:g} in"
            f" {quoted(few[0])}: so few need a permutation test, and that the value of each unit"
        )
    known = _moments([read[one] for one in variants])
    table = _Totals(
        "totals",
        "unit",
        None,
        variants,
        np.empty(0, dtype=np.intp),
        np.empty((0, 2)),
        {name: Placed(1)},
        notes=(_UNKNOWN,) if is_mean else (),
        known=known,
    )
    options = Options("pooled", lift, "delta", correction, alpha, None, None, 1, "poisson", 0)
    return analyse_units(table, {name: metric}, options, shares, srm=srm, segments=(), oec=None)


def parse_totals(text: str) -> dict[str, Total]:
    """Read totals such as `control=500/10000,new=575/10100`, or `control=52000:310000/10000`.

    >>> parse_totals("control=500/10000,new=575/10100")
    {'control': (500.0, 10000.0), 'new': (575.0, 10100.0)}
    >>> parse_totals("control=52000:310000/10000,new=53000:320000/10000")["control"]
    (52000.0, 310000.0, 10000.0)
    """
    totals: dict[str, Total] = {}
    for part in text.split(","):
        name, sign, value = part.rpartition("=")
        numbers = value.replace("/", ":").split(":")
        try:
            total = tuple(map(float, numbers))
        except ValueError:
            total = ()
        if not (name.strip() and sign and value.count("/") == 1 and len(total) in (2, 3)):
            raise PolicyError(
                "expected VARIANT=SUCCESSES/UNITS or VARIANT=SUM:SQUARES/UNITS, separated by"
                f" commas, got {quoted(part)}"
            )
        if name.strip() in totals:
            raise PolicyError(f"variant {quoted(name.strip())} has two totals")
        totals[name.strip()] = total  # type: ignore[assignment]
    return totals


def _checked(totals: Any) -> dict[str, Total]:
    """Return totals by the text of their variant; raise an error for impossible ones."""
    if not isinstance(totals, Mapping) or len(totals) < 2:
        raise PolicyError(f"expected totals of two variants or more, got {quoted(totals)}")
    sizes = {len(total) for total in totals.values()}
    if sizes not in ({2}, {3}):
        raise PolicyError(
            "expected (successes, units) of each variant, or (sum, sum of squares, units) of each,"
            f" got {some_of(map(repr, totals.values()), 3)}"
        )
    for name, total in totals.items():
        units = total[-1]
        if not all(np.isfinite(number) for number in total) or units != int(units) or units < 2:
            raise PolicyError(f"variant {quoted(name)}: expected 2 units or more, got {total}")
        if len(total) == 2 and (total[0] != int(total[0]) or not 0 <= total[0] <= units):
            raise PolicyError(
                f"variant {quoted(name)}: expected successes from 0 to {units:g}, got {total[0]:g}"
            )
        if len(total) == 3 and total[1] * units < total[0] ** 2 * (1 - 1e-12):
            least = total[0] ** 2 / units
            raise PolicyError(
                f"variant {quoted(name)}: the sum of squares of {units:g} values with the sum"
                f" {total[0]:g} is at least {least:g}, got {total[1]:g}"
            )
    return {str(name): total for name, total in totals.items()}


def _rows(totals: Mapping[str, Total]) -> pl.DataFrame:
    """Return a row of 0 or 1 for each unit."""
    parts = []
    for name, (successes, units) in totals.items():  # type: ignore[misc]
        values = np.zeros(int(units))
        values[: int(successes)] = 1.0
        parts.append(pl.DataFrame({"success": values}).with_columns(variant=pl.lit(name)))
    return pl.concat(parts)


def _moments(totals: list[Total]) -> Moments:
    """Return the moments of a column of ones and the column of the values."""
    count = np.array([total[-1] for total in totals])
    total = np.array([total[0] for total in totals])
    squares = np.array([total[1] if len(total) == 3 else total[0] for total in totals])
    mean = np.stack([np.ones(count.size), total / count], axis=1)
    scatter = np.zeros((count.size, 2, 2))
    scatter[:, 1, 1] = np.maximum(squares - total**2 / count, 0.0)
    return Moments(count, mean, scatter)
