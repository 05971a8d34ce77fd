"""Real scores as a population: new topics are drawn from those that there are, with replacement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from cranfield.base.arrays import Floats
from cranfield.base.border.given import Numbers
from cranfield.base.checks import check_whole, numbers
from cranfield.base.streams import stream
from cranfield.scores.averages import Averages

_MOST = 1 << 28
"""Scores that are drawn together: 2 GiB."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """A population whose topics are the real ones, each as likely.

    Spreads, correlations, ties and the shape of distributions stay those of the real scores, and
    the true means are known: they are the means of what there is.

    Attributes
    ----------
    values
        Scores, shape (topics, systems), or (topics, systems, shards); NaN is 'no score'.

    Examples
    --------
    >>> import numpy as np
    >>> real = Resampled(np.array([[0.2, 0.5], [0.4, 0.9]]))
    >>> equal = real.with_means(0.5)
    >>> real.means.round(3).tolist(), equal.means.round(3).tolist()
    ([0.3, 0.7], [0.5, 0.5])
    >>> equal.draw(3, seed=1).round(3).tolist()
    [[0.4, 0.3], [0.6, 0.7], [0.6, 0.7]]
    """

    values: Floats

    @cached_property
    def means(self) -> Floats:
        """True means, shape (systems,): over topics, and over shards."""
        return Averages(self.values).mean_along(0, *range(2, self.values.ndim))

    def with_means(self, means: Numbers) -> Resampled:
        """Return the population with other true means: each system's scores move by a constant.

        With one mean for all it is a null hypothesis of equal means that keeps what real systems
        differ in besides. Scores may leave the range of their measure; and two systems that score
        alike on most topics differ by a constant there, which no measure would give them.
        """
        moved = numbers(means, "means") - self.means
        return replace(self, values=self.values + moved.reshape(-1, *[1] * (self.values.ndim - 2)))

    def draw(self, topics: int, seed: int, *key: int) -> Floats:
        """Return the scores of new topics, of the stream that belongs to a seed and a key."""
        check_whole("topics", topics, 1, _MOST // max(1, self.values[0].size))
        check_whole("seed", seed, 0)
        return self.values[stream(seed, *key).integers(len(self.values), size=topics)]
