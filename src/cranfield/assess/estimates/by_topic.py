"""Scores from topics that people judged and topics that only a judge did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.assess.estimates.mean_of_both import estimated_mean, fitted
from cranfield.assess.estimates.means_with_limits import CorrectedMeans
from cranfield.base.arrays import Floats, Indices
from cranfield.base.streams import stream
from cranfield.collection.judged.segments import ratio


@dataclass(frozen=True, eq=False)
class Topics:
    """Scores by people, NaN where they did not judge the topic, and by a judge.

    people, judge: shape (systems, topics).
    """

    people: Floats
    judge: Floats
    lambda_: float | None
    folds: int
    seed: int
    alpha: float

    def means(self) -> CorrectedMeans:
        return self._corrected(self.people, self.judge, proportions=True)

    def differences(self, one: Indices, other: Indices) -> CorrectedMeans:
        # With a lambda of their own: what a judge grants to both systems cancels.
        people, judge = (table[one] - table[other] for table in (self.people, self.judge))
        return self._corrected(people, judge, proportions=False)

    def _corrected(self, people: Floats, judge: Floats, *, proportions: bool) -> CorrectedMeans:
        how = self.lambda_, self.folds, self.seed, self.alpha
        return estimated_mean(people, judge, *how, proportions=proportions)

    def values(self) -> Floats:
        return replicates(self.people, self.judge, self.lambda_, self.folds, self.seed)


def replicates(
    human: Floats, judge: Floats, lambda_: float | None, folds: int, seed: int
) -> Floats:
    r"""Return a value of each judged topic (topics, systems), whose mean is the corrected mean.

    The topics that people did not judge are dealt to those that they did, in random order, and each
    judged topic t has the mean of its share U:

    .. math:: y_t - \lambda f_t + \lambda \frac{n}{N} \sum_{u \in U_t} (f_u - \bar f_N)
        + \lambda \bar f_N

    As topics are a sample these values are independent and alike, but for lambda and the sizes of
    shares, which differ by one at most: the variance of their mean over n is that of the corrected
    mean, with n - 1 degrees of freedom, and also of differences between systems.
    """
    topics = human.shape[1]
    fit = fitted(human, judge, np.arange(topics), lambda_, folds, seed)
    known = ~np.isnan(human[0])
    count, rest = int(known.sum()), int((~known).sum())
    others = stream(seed, 1).permutation(np.flatnonzero(~known))
    far = judge[:, others]
    near = far - ratio(far.sum(axis=1), np.full(len(far), rest))[:, None]
    # Dealt one after the other: what is missing in the last round is nothing.
    rounds = -(-rest // count)
    dealt = np.pad(near, ((0, 0), (0, rounds * count - rest)))
    share = dealt.reshape(len(judge), rounds, count).sum(axis=1)
    values = fit.residual.reshape(len(human), count) - fit.mean[:, None]
    values += fit.estimate[:, None] + fit.lambda_[:, None] * share * (count / max(rest, 1))
    return np.asarray(values.T)
