"""Bootstrap ANOVA: how far system effects spread when residuals are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.models.anova import two_way
from cranfield.significance.models.anova_table import AnovaTable, made_table
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import PLAIN, TestInfo, declared
from cranfield.significance.resampling import (
    DRAWN,
    as_integers,
    count_reaching,
    monte_carlo,
    quantile_limits,
)
from cranfield.significance.tests.bootstrap_samples import RELATIVE, studentised_limits
from cranfield.significance.tests.student_t import ratio


@declared(
    TestInfo(
        name="bootstrap-anova",
        aliases=("banova",),
        title="Bootstrap ANOVA",
        asks="If the residuals of the model fell otherwise on the scores, and two systems did not "
        "differ, how often would their effects be as far apart as they are?",
        null="The two systems have the same effect.",
        assumes="Residuals are exchangeable: independent, with one distribution, of any shape.",
        when="Several systems on the same topics, above all with scores by shard, when errors "
        "are far from normal.",
        formula=r"p = \frac{|\{b : |t^{*b}_{uv}| \ge |t_{uv}|\}| + 1}{B + 1}, \quad "
        r"t_{uv} = \frac{\hat{\alpha}_u - \hat{\alpha}_v}{\sqrt{\mathit{MS}_{Error}}}",
        statistic="difference of means",
        effect="mean difference by the standard deviation of the error",
        source="Voorhees, Samarov and Soboroff (2017)",
        convention="The model is topic + system, and with shards also topic:system. Residuals "
        "are drawn with replacement from all of them, and the model is fitted again. Differences "
        "are divided by the error of that fit; otherwise small experiments reject too often. The "
        "interval is by the quantile of |t| over the same fits; of a one-sided test, by that of t.",
        model=True,
        random=True,
        corrections=("bh", *(one for one in PLAIN if one != "bh")),
        baseline_correction="bh",
    )
)
def bootstrap_anova_test(pairs: Pairs, options: Options, data: Floats) -> Outcome:
    """Compare systems by resampling the residuals of a model of all."""
    by_shard = data if data.ndim == 3 else data[:, :, None]
    table = with_interaction(data) if data.ndim == 3 else two_way(data)[0]
    means = table.means["System"]
    difference = pairs.of_systems(means)
    difference[np.abs(difference) <= pairs.rounding] = 0.0
    refits = Refits.drawn(table.residuals.reshape(by_shard.shape), options)
    error = np.sqrt(table.ms_error)
    t = ratio(difference, np.full(len(pairs), error))

    def count(part: tuple[slice, Pairs]) -> NDArray[np.intp]:
        where, block = part
        found = refits.studentised(block, error)
        return count_reaching(found, t[where], options.alternative, relative=RELATIVE)

    blocks = list(pairs.slices(options.resamples, 2**17))
    extreme = np.concatenate(in_threads(count, blocks, options.jobs))
    none = np.zeros(len(pairs), dtype=np.intp)
    return Outcome(
        statistic=difference,
        pvalue=monte_carlo(extreme, options.resamples),
        effect=t,
        interval=RefitInterval(pairs, difference, error, refits, options),
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


@dataclass(frozen=True, eq=False)
class Refits:
    """The model fitted to residuals drawn anew.

    Attributes
    ----------
    effects
        Mean of each system's drawn residuals, shape (systems, resamples).
    errors
        Root of the mean square of the error of each fit, shape (resamples,).
    """

    effects: Floats
    errors: Floats

    @classmethod
    def drawn(cls, residuals: Floats, options: Options) -> Refits:
        """Draw residuals, shape (topics, systems, shards), for every cell, and fit the model."""
        topics, systems, shards = residuals.shape
        flat = residuals.ravel()
        # Twice the number, so that differences are exact too; the squares in a unit of their own.
        integers, unit = as_integers(flat, 2 * flat.size)
        squares, square_unit = as_integers((integers * unit) ** 2, flat.size)
        effects = np.empty((systems, options.resamples))
        errors = np.empty(options.resamples)
        size = max(1, DRAWN // flat.size)
        starts = list(range(0, options.resamples, size))

        def draw(part: int) -> None:
            random = stream(options.seed, part)
            some = slice(starts[part], min(starts[part] + size, options.resamples))
            shape = (some.stop - some.start, systems, topics, shards)
            drawn = random.integers(0, flat.size, size=shape)
            values = integers[drawn]
            of_systems = values.sum(axis=(2, 3))
            total = squares[drawn].sum(axis=(1, 2, 3)) * square_unit
            if shards > 1:
                # Each topic and system has a mean of its own.
                explained = exact_squares(values.sum(axis=3), unit) / shards
                df = topics * systems * (shards - 1)
            else:
                explained = (
                    exact_squares(values.sum(axis=(1, 3)), unit) / systems
                    + exact_squares(of_systems, unit) / topics
                    - exact_squares(of_systems.sum(axis=1, keepdims=True), unit) / flat.size
                )
                df = (topics - 1) * (systems - 1)
            effects[:, some] = of_systems.T * (unit / (topics * shards))
            errors[some] = np.sqrt(np.maximum(total - explained, 0.0) / df)

        in_threads(draw, list(range(len(starts))), options.jobs)
        return cls(effects, errors)

    def studentised(self, pairs: Pairs, error: float) -> Floats:
        """Return the differences of effects by the error of their fit, shape (pairs, resamples).

        Where the model leaves no error, residuals are rounding, and there is nothing to resample.
        """
        if error == 0:
            return np.zeros((len(pairs), self.errors.size))
        found = self.effects[pairs.first]
        found -= self.effects[pairs.second]
        with np.errstate(divide="ignore", invalid="ignore"):
            found /= self.errors
        found[np.isnan(found)] = 0.0
        return np.asarray(found)


def exact_squares(sums: Floats, unit: float) -> Floats:
    """Return the sum of the squares of each row, the same in whatever order they are added."""
    squares = (sums.reshape(len(sums), -1) * unit) ** 2
    integers, square_unit = as_integers(squares, squares.shape[1])
    return np.asarray(integers.sum(axis=1) * square_unit)


@dataclass(frozen=True)
class RefitInterval:
    """Bootstrap-t limits: quantiles of the studentised differences of the fits."""

    pairs: Pairs
    difference: Floats
    error: float
    refits: Refits
    options: Options

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        limits = quantile_limits(
            self.pairs,
            self.refits.errors.size,
            level,
            lambda block: self.refits.studentised(block, self.error),
            symmetric=self.options.two_sided,
        )
        error = np.full(len(self.pairs), self.error)
        return studentised_limits(self.difference, error, *limits)
