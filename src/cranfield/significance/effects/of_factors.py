"""How much of the variance the factors of an analysis of variance account for, with limits."""

from __future__ import annotations

import numpy as np
import polars as pl

from cranfield.base.checks import check_share
from cranfield.base.errors import PolicyError
from cranfield.significance.effects.noncentral import noncentrality_of_f
from cranfield.significance.models.anova_table import AnovaTable


def anova_effect_sizes(table: AnovaTable, *, confidence: float = 0.95) -> pl.DataFrame:
    r"""Return how much of the variance each factor of an analysis of variance accounts for.

    .. math:: \omega^2 = \frac{\lambda}{\lambda + N}

    is the share in the population, beside the error alone, with the noncentrality lambda of F and
    N scores. Its limits are those of lambda, by the noncentral F distribution (Steiger, 2004).
    Both estimates, partial eta squared (too large) and omega squared (nearly unbiased), are of it.
    For power, Cohen's f squared is omega squared by 1 minus it.

    Parameters
    ----------
    table
        As of a comparison by an analysis of variance, `found.anova`.
    confidence
        Confidence level, between 0 and 1, of each factor alone.

    Returns
    -------
    DataFrame
        Columns `source`, `eta2`, `omega2`, `low`, `high`, a row a factor. They assume what F does:
        normal errors with one variance, that do not depend on each other. Null where F is not by
        the mean square of the error, and where nothing varies.

    Raises
    ------
    PolicyError
        For a level that is none, or without a table: a test of pairs has none.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = [[0.2, 0.4, 0.3], [0.4, 0.5, 0.6], [0.3, 0.5, 0.3], [0.5, 0.6, 0.8]]
    >>> table = cf.compare(np.array(scores)).anova
    >>> anova_effect_sizes(table).select(pl.col("source"), pl.exclude("source").round(4)).rows()
    [('Topic', 0.7867, 0.6145, 0.0292, 0.8336), ('System', 0.5294, 0.2836, 0.0, 0.6609)]
    """
    check_share("the confidence level", confidence)
    if not isinstance(table, AnovaTable):
        raise PolicyError(f"there is no table of an analysis of variance here, but {table!r:.60}")
    number = float((~np.isnan(table.values)).sum())
    left = table.ss_of("Error")
    rows = []
    for k, source in enumerate(table.sources):
        if source in ("Error", "Total"):
            continue
        f, df = float(table.f[k]), float(table.df[k])
        own = np.isfinite(f) and np.isclose(f, table.ms[k] / table.ms_error)
        limits = noncentrality_of_f(f, df, table.df_error, confidence) if own else (None, None)
        rows.append(
            {
                "source": source,
                "eta2": float(table.ss[k] / both) if (both := table.ss[k] + left) > 0 else None,
                "omega2": None if np.isnan(table.omega2[k]) else float(table.omega2[k]),
                **{
                    name: None if one is None else one / (one + number)
                    for name, one in zip(("low", "high"), limits, strict=True)
                },
            }
        )
    kinds = dict.fromkeys(("eta2", "omega2", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema={"source": pl.String, **kinds})
