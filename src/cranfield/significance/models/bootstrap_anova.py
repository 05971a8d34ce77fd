"""Bootstrap ANOVA: how far system effects spread when residuals are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import CranfieldError
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import RELATIVE, bootstrap_t_limits
from cranfield.significance.difference_by_error import ratio
from cranfield.significance.models.anova import two_way
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.models.factorial import factorial
from cranfield.significance.models.random_topics import only_these_topics
from cranfield.significance.options import Options
from cranfield.significance.outcome import Level, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import DRAWN, as_integers, count_reaching, monte_carlo


def bootstrap_anova_test(pairs: Pairs, options: Options) -> Outcome:
    """Compare systems by resampling the residuals of a model of all."""
    data = pairs.scores
    if data.ndim == 3 and data.shape[2] < 2:
        raise CranfieldError("bootstrap ANOVA of scores by shard needs two shards at least")
    by_shard = data if data.ndim == 3 else data[:, :, None]
    table = with_interaction(data) if data.ndim == 3 else two_way(data)[0]
    means = table.means["System"]
    difference = pairs.differences_of(means)
    refits = Refits.drawn(table.residuals.reshape(by_shard.shape), options)
    error = np.sqrt(table.ms_error)
    t = ratio(difference, np.full(len(pairs), error))

    def count(part: tuple[slice, Pairs]) -> Indices:
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
        interval=partial(refit_limits, pairs, difference, error, refits, options),
        n=np.full(len(pairs), data.shape[0]),
        zeros=none,
        ties=none,
        details={"resamples": options.resamples, "seed": options.seed},
        table=table,
        notes=only_these_topics(table, data) if data.ndim == 3 else (),
    )


def with_interaction(values: Floats) -> AnovaTable:
    """Analyse scores by topic, system and their interaction; shards are replicates."""
    return factorial(values, "Topic", "System", "Topic:System")


@dataclass(frozen=True, eq=False)
class Refits:
    """The model fitted to residuals drawn anew.

    `effects` are means of each system's drawn residuals, shape (systems, resamples); `errors` the
    roots of the mean square of the error of each fit, shape (resamples,).
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
        parts = list(row_slices(options.resamples, flat.size, DRAWN))

        def draw(part: int) -> None:
            random = stream(options.seed, part)
            some = parts[part]
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

        in_threads(draw, range(len(parts)), options.jobs)
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


def refit_limits(
    pairs: Pairs,
    difference: Floats,
    error: float,
    refits: Refits,
    options: Options,
    level: Level,
) -> Limits:
    errors = np.full(len(pairs), error)
    resampled = partial(refits.studentised, error=error)
    return bootstrap_t_limits(pairs, difference, errors, resampled, options, level)
