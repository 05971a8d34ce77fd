"""Sample ratio mismatch: whether as many units are in each variant as should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from cranfield.base.arrays import Floats, Indices
from cranfield.base.border.given import Numbers
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.escape import plain
from cranfield.online.experiments.design.assignment import checked_weights
from cranfield.significance.tests.binomial import binomial_pvalues
from cranfield.tabular.frames import Framed

ALARM = 0.0005
"""P-value below which units are not spread as they should (Fabijan et al., 2019)."""

FEW = 1000
"""Units below which the test is exact."""

MOST = 2**52
"""Units of a variant; sums of more are no longer exact."""

METHODS = ("auto", "chi-square", "exact")


@dataclass(frozen=True, eq=False, repr=False)
class SampleRatio(Framed):
    """How many units each variant has, how many it should, and whether that is chance.

    Attributes
    ----------
    variants
        The variants.
    counts, expected
        Units of each variant, and how many there should be, shape (variants,).
    method
        `chi-square`, or `exact`: binomial, of several variants each against the others with
        Bonferroni's correction.
    statistic
        Chi-square.
    pvalue
        Its p-value, or the exact one.
    """

    variants: tuple[str, ...]
    counts: Indices
    expected: Floats
    method: str
    statistic: float
    pvalue: float

    @property
    def alarm(self) -> bool:
        """Whether units are so unlike what they should be that no result can be trusted."""
        return self.pvalue < ALARM

    def to_polars(self) -> pl.DataFrame:
        """Return a table: variant, units, expected, share, expected share."""
        total = max(1, int(self.counts.sum()))
        return pl.DataFrame(
            {
                "variant": pl.Series(self.variants, dtype=pl.String),
                "units": self.counts,
                "expected": self.expected,
                "share": self.counts / total,
                "expected share": self.expected / total,
            }
        )

    def __str__(self) -> str:
        parts = " : ".join(
            f"{plain(name)} {count:,}"
            for name, count in zip(self.variants, self.counts, strict=True)
        )
        shares = " : ".join(f"{one:.4g}" for one in self.expected / max(1, self.counts.sum()))
        said = "SAMPLE RATIO MISMATCH" if self.alarm else "sample ratio as expected"
        return f"{said}: {parts} for {shares}; {self.method} p {self.pvalue:.6g}"

    def __repr__(self) -> str:
        return f"SampleRatio({self})"


def sample_ratio(
    counts: Mapping[str, int],
    weights: Any = None,
    *,
    method: str = "auto",
) -> SampleRatio:
    r"""Test whether the variants of an experiment have the units that they should have.

    .. math:: \chi^2 = \sum_j \frac{(n_j - w_j n)^2}{w_j n}

    with one degree of freedom less than variants. A mismatch says that units were lost or added in
    one variant rather than in another, so that they no longer differ by chance alone, and nothing
    that is computed of them can be trusted. The alarm is at p < .0005: who tests each day must not
    cry wolf. Below 1,000 units the test is exact: binomial, and of more than two variants that of
    each against all others, with Bonferroni's correction.

    Source: Fabijan et al. (2019); Kohavi, Tang and Xu (2020).

    Parameters
    ----------
    counts
        Units by variant.
    weights
        Shares by variant, which sum to 1; by default equal ones.
    method
        `auto`, `chi-square`, or `exact`.

    Returns
    -------
    SampleRatio
        With `.alarm` and `.pvalue`.

    Raises
    ------
    PolicyError
        For weights that do not sum to 1, or are not of these variants.
    CranfieldError
        If there are no units.

    Examples
    --------
    >>> print(sample_ratio({"A": 821_588, "B": 815_482}))
    SAMPLE RATIO MISMATCH: A 821,588 : B 815,482 for 0.5 : 0.5; chi-square p 1.82179e-06
    """
    check_choice("method", method, METHODS)
    shares = checked_weights(list(counts) if weights is None else weights)
    counts = {str(name): count for name, count in counts.items()}
    if unknown := [name for name in counts if name not in shares]:
        raise PolicyError(f"there is no weight of {plain(', '.join(map(repr, unknown[:5])))}")
    for count in counts.values():
        check_whole("the number of units of a variant", count, 0, MOST)
    number = np.array([counts.get(name, 0) for name in shares], dtype=np.intp)
    total = int(number.sum())
    if not total:
        raise CranfieldError("there are no units")
    share = np.fromiter(shares.values(), dtype=np.float64)
    share /= share.sum()
    exact = method == "exact" or (method == "auto" and total < FEW)
    statistic, pvalue = (float(one) for one in chi_square(number, share))
    if exact:
        each = [
            float(binomial_pvalues(n, total - n, expected=p))
            for n, p in zip(number, share, strict=True)
        ]
        pvalue = each[0] if len(each) == 2 else min(1.0, min(each) * len(each))
    return SampleRatio(
        variants=tuple(shares),
        counts=number,
        expected=share * total,
        method="exact" if exact else "chi-square",
        statistic=statistic,
        pvalue=pvalue,
    )


def chi_square(counts: Numbers, shares: Floats) -> tuple[Floats, Floats]:
    """Return chi-square and its p-value for counts of shape (..., variants)."""
    number = np.asarray(counts, dtype=np.float64)
    expected = number.sum(axis=-1, keepdims=True) * shares
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.asarray(((number - expected) ** 2 / expected).sum(axis=-1))
    return statistic, np.asarray(chdtrc(shares.size - 1, statistic))
