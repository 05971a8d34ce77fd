"""Tests of single assumptions of the analysis of variance, on its residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, ndtri

from cranfield.base.arrays import Floats
from cranfield.significance.pairs import ROUNDING

NORMAL, EQUAL, ADDITIVE = "normal errors", "equal variances", "additive effects"

MOST_SHAPIRO = 5000
"""The p-value of Shapiro and Wilk's test is known up to so many residuals."""


@dataclass(frozen=True)
class Check:
    """A test of one assumption; a small p-value speaks against it."""

    assumption: str
    test: str
    statistic: float
    pvalue: float


def normality_test(flat: Floats) -> Check:
    """Do Shapiro and Wilk's test, or with many residuals D'Agostino and Pearson's."""
    from scipy import stats

    if flat.size <= MOST_SHAPIRO:
        found = stats.shapiro(flat)
        return Check(NORMAL, "Shapiro-Wilk", float(found.statistic), float(found.pvalue))
    found = stats.normaltest(flat)
    return Check(NORMAL, "D'Agostino-Pearson", float(found.statistic), float(found.pvalue))


def variance_tests(
    columns: list[Floats], e: Floats, skipped: list[str]
) -> tuple[Check | None, Check | None]:
    """Do Brown and Forsythe's test and Bartlett's, of each system; reasons not to are told."""
    from scipy import stats

    if len(columns) < 2 or min(column.size for column in columns) < 3:
        skipped.append("tests of equal variances, which need two systems with three residuals each")
        return None, None
    size = np.abs(e).max()
    if len(columns) == 2 and np.abs(e.sum(axis=1)).max() <= ROUNDING * size:
        # Residuals of two systems and their topics are each other's negatives.
        skipped.append("tests of equal variances, which two systems on the same topics cannot fail")
        return None, None
    varied = [np.ptp(column) > 0 for column in columns]
    if not any(varied):
        skipped.append("tests of equal variances, as no system's residuals vary")
        return None, None
    found = stats.levene(*columns, center="median")
    middle = Check(EQUAL, "Brown-Forsythe", float(found.statistic), float(found.pvalue))
    if not all(varied):
        skipped.append("Bartlett's test, as the residuals of a system are all equal")
        return middle, None
    found = stats.bartlett(*columns)
    # Of equal variances the statistic is 0, or by rounding less, which has no p-value.
    p = 1.0 if np.isnan(found.pvalue) else float(found.pvalue)
    return middle, Check(EQUAL, "Bartlett", float(found.statistic), p)


def additivity_test(e: Floats, fitted: Floats | None, skipped: list[str]) -> Check | None:
    """Do Tukey's test of non-additivity, where the model is additive; reasons not to are told."""
    name = "Tukey's test of non-additivity"
    if fitted is None:
        skipped.append(f"{name}, which needs the fitted values")
        return None
    if np.isnan(e).any() or np.isnan(fitted).any():
        skipped.append(f"{name}, which needs a score of every system for every topic")
        return None
    a = fitted.mean(axis=1) - fitted.mean()
    b = fitted.mean(axis=0) - fitted.mean()
    error = (e.shape[0] - 1) * (e.shape[1] - 1) - 1
    near = 1e-9 * max(np.abs(fitted).max(), np.abs(e).max())
    if np.abs(fitted - fitted.mean() - a[:, None] - b).max() > near:
        skipped.append(f"{name}, as the fitted values are not sums of topic and system effects")
        return None
    if error < 1 or np.abs(a).max() <= near or np.abs(b).max() <= near:
        skipped.append(
            f"{name}, which needs effects of topics and of systems, three of one of them"
        )
        return None
    left = (e**2).sum()
    if left == 0:
        skipped.append(f"{name}, as the model leaves nothing over")
        return None
    explained = (a @ e @ b) ** 2 / ((a**2).sum() * (b**2).sum())
    with np.errstate(divide="ignore"):
        f = explained / (max(left - explained, 0.0) / error)
    pvalue = 0.0 if np.isinf(f) else float(fdtrc(1, error, f))
    return Check(ADDITIVE, name, float(f), pvalue)


def normal_medians(n: int) -> Floats:
    """Return the medians of the order statistics of a standard normal sample (Filliben, 1975)."""
    positions = (np.arange(1, n + 1) - 0.3175) / (n + 0.365)
    positions[-1] = 0.5 ** (1 / n)
    positions[0] = 1 - positions[-1]
    return np.asarray(ndtri(positions))
