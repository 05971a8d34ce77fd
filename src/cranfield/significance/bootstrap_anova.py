"""Bootstrap ANOVA: system effects whose spread comes from resampled residuals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.significance.anova import two_way
from cranfield.significance.anova_table import AnovaTable, made_table
from cranfield.significance.options import Options
from cranfield.significance.outcome import Floats, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import PLAIN, TestInfo, declared
from cranfield.significance.resampling import (
    DRAWN,
    as_integers,
    generator,
    in_threads,
    monte_carlo,
    quantile_limits,
)
from cranfield.significance.t import ratio


@declared(
    TestInfo(
        name="bootstrap-anova",
        aliases=("banova",),
        title="Bootstrap ANOVA",
        asks="If the residuals of the model fell otherwise on the scores, how often would the "
        "order of two systems be the opposite?",
        null="The two systems have the same effect.",
        assumes="Residuals are exchangeable: independent, with one distribution, of any shape.",
        when="Several systems on the same topics, above all with scores by shard, when errors "
        "are far from normal.",
        formula=r"p = \min(1,\, 2 \min(p^+, p^-)), \quad p^\pm = \frac{|\{b : \pm"
        r"(\hat{\alpha}^{*b}_u - \hat{\alpha}^{*b}_v) \le 0\}| + 1}{B + 1}",
        statistic="difference of means",
        effect="mean difference by the standard deviation of the residuals",
        source="Voorhees, Samarov and Soboroff (2017)",
        convention="The model is topic + system, and with shards also topic:system. Residuals "
        "are drawn with replacement from all of them, scaled by the root of n / df so that their "
        "variance is the mean square of the error.",
        model=True,
        random=True,
        corrections=("bh", *(one for one in PLAIN if one != "bh")),
        baseline_correction="bh",
    )
)
def bootstrap_anova_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by resampling the residuals of a model of all."""
    if data.ndim == 3:
        table = with_interaction(data)
    else:
        table, _ = two_way(data)
    residuals = table.residuals.ravel()
    scaled = residuals * np.sqrt(residuals.size / table.df_error)
    means = table.means["System"]
    cells = residuals.size // means.size
    shifts, unit = resampled_means(scaled, means.size, cells, options)
    difference = pairs.of_systems(means)
    difference[np.abs(difference) <= pairs.rounding] = 0.0
    # A sum of as many integers as there are cells, compared in the same unit.
    target = np.rint(difference * cells / unit)
    work = partial(_tails, shifts=shifts)
    blocks, start = [], 0
    for block in pairs.blocks(options.resamples, 2**17):
        blocks.append((block, target[start : start + len(block)]))
        start += len(block)
    found = in_threads(work, blocks, options.jobs)
    not_above = monte_carlo(np.concatenate([one for one, _ in found]), options.resamples)
    not_below = monte_carlo(np.concatenate([one for _, one in found]), options.resamples)
    pvalue = {
        "two-sided": np.minimum(1.0, 2 * np.minimum(not_above, not_below)),
        "greater": not_above,
        "less": not_below,
    }[options.alternative]
    none = np.zeros(len(pairs), dtype=np.intp)
    deviation = np.full(len(pairs), np.sqrt(table.ms_error))
    return Outcome(
        statistic=difference,
        pvalue=pvalue,
        effect=ratio(difference, deviation),
        interval=ShiftedInterval(pairs, difference, shifts, unit / cells),
        interval_of="difference of means",
        n=np.full(len(pairs), data.shape[0]),
        zeros=none,
        ties=none,
        details={"resamples": options.resamples, "seed": options.seed},
        table=table,
    )


def with_interaction(values: Floats) -> AnovaTable:
    """Analyse scores by topic, system and their interaction; shards are replicates."""
    t, s, k = values.shape
    grand = values.mean()
    cells = values.mean(axis=2)
    of_t, of_s = cells.mean(axis=1), cells.mean(axis=0)
    a, b = of_t - grand, of_s - grand
    ab = cells - grand - a[:, None] - b
    fitted = np.broadcast_to(cells[:, :, None], values.shape)
    return made_table(
        "score ~ topic + system + topic:system",
        {
            "Topic": (s * k * float(a @ a), t - 1.0),
            "System": (t * k * float(b @ b), s - 1.0),
            "Topic:System": (k * float((ab**2).sum()), (t - 1.0) * (s - 1)),
        },
        (float(((values - fitted) ** 2).sum()), t * s * (k - 1.0)),
        values=values,
        fitted=fitted,
        means={"Topic": of_t, "System": of_s},
    )


def resampled_means(
    residuals: Floats, systems: int, cells: int, options: Options
) -> tuple[Floats, float]:
    """Return sums of residuals drawn anew for each system, as integers of a unit.

    Returns
    -------
    sums
        Shape (systems, resamples).
    unit
        The value of one; a sum is over `cells` residuals.
    """
    # Twice the cells, so that differences of sums are exact too.
    integers, unit = as_integers(residuals, 4 * cells)
    sums = np.empty((systems, options.resamples))
    size = max(1, DRAWN // (systems * cells))
    starts = list(range(0, options.resamples, size))

    def draw(part: int) -> None:
        random = generator(options.seed, part)
        stop = min(starts[part] + size, options.resamples)
        drawn = random.integers(0, integers.size, size=(stop - starts[part], systems, cells))
        sums[:, starts[part] : stop] = integers[drawn].sum(axis=2).T

    in_threads(draw, list(range(len(starts))), options.jobs)
    return sums, unit


def _tails(part: tuple[Pairs, Floats], shifts: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    pairs, target = part
    found = shifts[pairs.first]
    found -= shifts[pairs.second]
    found += target[:, None]
    return (found <= 0).sum(axis=1), (found >= 0).sum(axis=1)


@dataclass(frozen=True)
class ShiftedInterval:
    """Percentile limits of the resampled differences."""

    pairs: Pairs
    difference: Floats
    shifts: Floats
    unit: float

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        low, high = quantile_limits(
            self.pairs,
            self.shifts.shape[1],
            level,
            lambda block: np.asarray(self.shifts[block.first] - self.shifts[block.second]),
        )
        return self.difference + low * self.unit, self.difference + high * self.unit
