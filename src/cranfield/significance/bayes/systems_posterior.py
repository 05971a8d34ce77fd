"""All systems together: their expected scores given the data, compared, and ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, check_share, check_whole, numbers
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.scores.labels import place_of
from cranfield.significance.bayes.chains import agreement
from cranfield.significance.bayes.hierarchical import CHAINS, expected_scores
from cranfield.significance.bayes.score_cells import cells_of
from cranfield.significance.comparison.result import MOST_ROWS
from cranfield.significance.pairs import all_pairs
from cranfield.significance.prepare import as_scores, squarable
from cranfield.tabular.frames import Framed, from_frame
from cranfield.tabular.text import grid

MISSING = ("error", "drop")
"""What to do with topics that lack a score."""

LEAST_EFFECTIVE = 400
"""Independent samples that a limit of an interval should rest on."""


def fit_bayes(
    scores: Any,
    *,
    level: float = 0.95,
    missing: str = "error",
    samples: int = 4000,
    seed: int = 0,
) -> SystemsPosterior:
    r"""Fit a hierarchical model of all systems on all topics, for scores that are bounded.

    .. math:: s_{ti} = G(z_{ti}), \quad z_t \sim N(\mu, \Sigma), \quad \mu \sim N(\mu_0 1, g \Sigma)

    A score s of system i on topic t is a place z on a normal scale, seen through the increasing
    function G that makes all scores together normal: so expected scores cannot leave the bounds of
    the scores. Equal scores of more than a hundredth of the cells, such as 0 and 1 of reciprocal
    rank, are known to be within a cell of the scale and no more. Topics are drawn at random;
    systems may differ in spread, and depend on each other, by the covariance matrix. Their effects,
    in standard deviations over topics, come from one normal distribution of variance g, which is
    estimated: differences are pulled towards 0 as far as all of them together look like chance
    (Gelman, Hill and Yajima 2012). That is less error on the average; it bounds no chance of any
    error among all pairs. What is compared is the expected score on another topic, in the unit
    of the scores.

    Priors: flat for the common mean; half-Cauchy with scale 1/4 for the root of g (Gelman 2006;
    Liang et al. 2008); for Sigma inverse Wishart with as many degrees of freedom as systems, which
    weighs as much as one topic on which nothing is alike. G is estimated from the ranks of the
    scores beforehand, and taken as known. Samples come from a Gibbs sampler of four chains, with
    the places within cells as in Albert and Chib (1993). On Bayesian models for such scores:
    Carterette (2015).

    Parameters
    ----------
    scores
        As for :func:`compare`; of two systems or more, two topics or more.
    level
        Probability of the credible intervals.
    missing
        `error`, or `drop`, which leaves out topics that lack a score.
    samples, seed
        Number of samples of all four chains together, 400 or more, and their seed. The same seed
        gives the same samples, but for rounding of other libraries of linear algebra.

    Raises
    ------
    PolicyError
        For an option out of its range.
    CranfieldError
        For scores that are missing, infinite, by shard, too few, or of two values only.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[::10], covid.qrels, "nDCG@20")
    >>> found = fit_bayes(ev["nDCG@20"], samples=1000)
    >>> found.to_polars().select("system", "rank low", "rank high").rows()[-1]
    ('CincyMedIR-1-2-1-3', 4, 4)
    """
    check_share("level", level)
    check_choice("missing", missing, MISSING)
    check_whole("samples", samples, 400, 10_000_000)
    check_whole("the seed", seed, 0)
    given = as_scores(scores)
    given.flat("scores by shard are not compared so")
    ready, _ = squarable(given).complete(missing)
    topics, systems = ready.values.shape
    if systems < 2 or topics < 2:
        some = f"{counted(systems, 'system')} and {counted(topics, 'topic')}"
        raise CranfieldError(f"a comparison needs two systems and two topics, not {some}")
    found = expected_scores(cells_of(ready.values), -(-samples // CHAINS), seed)
    return SystemsPosterior(
        measure=ready.measure,
        systems=ready.systems,
        n=topics,
        left_out=len(given.topics) - topics,
        means=ready.mean(),
        chains=found,
        level=level,
        seed=seed,
        lower_is_better=ready.lower_is_better,
    )


@dataclass(frozen=True, eq=False, repr=False)
class SystemsPosterior(Framed):
    """Samples of the expected scores of all systems, and what follows from them.

    Attributes
    ----------
    measure
        Text form of the measure; empty where it is not known.
    systems
        The systems.
    n
        Number of topics.
    left_out
        Topics that lack a score, and were left out.
    means
        Mean scores that were observed, by system.
    chains
        Samples of the expected scores, shape (chains, steps, systems).
    level
        Probability of the credible intervals.
    seed
        Of the random numbers.
    lower_is_better
        Whether the better system is the one with lower scores.
    """

    measure: str
    systems: tuple[str, ...]
    n: int
    left_out: int
    means: Floats
    chains: Floats = field(repr=False)
    level: float
    seed: int
    lower_is_better: bool = False

    @property
    def draws(self) -> Floats:
        """The samples of all chains, shape (samples, systems)."""
        return self.chains.reshape(-1, len(self.systems))

    @property
    def rank_probabilities(self) -> Floats:
        """Probability of each rank, the best first; shape (systems, ranks)."""
        each = np.arange(1.0, len(self.systems) + 1)
        return np.asarray((self._ranks()[..., None] == each).mean(axis=0))

    def _ranks(self) -> Floats:
        better = self.draws if self.lower_is_better else -self.draws
        return np.asarray(better.argsort(axis=1).argsort(axis=1) + 1.0)

    def limits(self, samples: Floats) -> Floats:
        """Return equal-tailed limits of quantities, shape (2, quantities)."""
        tail = (1 - self.level) / 2
        samples = numbers(samples, "samples")
        with np.errstate(invalid="ignore"):
            found = np.quantile(samples, [tail, 1 - tail], axis=0)
        return np.asarray(found, dtype=np.float64)

    def difference(self, first: str, second: str) -> Floats:
        """Return samples of the expected score of one system minus another's, by chain."""
        one, other = (place_of(name, self.systems) for name in (first, second))
        return self.chains[..., one] - self.chains[..., other]

    def pairs(self, rope: float = 0.01) -> pl.DataFrame:
        """Compare all pairs; differences within `rope` do not matter.

        Returns
        -------
        polars.DataFrame
            A row a pair: expected difference, its credible interval, and the probabilities that
            the first is worse, that both are practically equivalent, and that it is better.

        Raises
        ------
        PolicyError
            For a rope below 0.
        """
        check_rope(rope)
        rope = float(rope)
        compared = all_pairs(self.draws)
        names = pl.Series(self.systems, dtype=pl.String)
        found = np.empty((6, len(compared)))
        for part, block in compared.slices():
            apart = block.values[:, block.first] - block.values[:, block.second]
            found[0, part] = apart.mean(axis=0)
            found[1:3, part] = self.limits(apart)
            found[3:, part] = np.stack(chances(apart, rope, self.lower_is_better))
        kinds = ("difference", "low", "high", "p worse", "p equivalent", "p better")
        return pl.DataFrame(
            {
                "first": names.gather(compared.first),
                "second": names.gather(compared.second),
                **dict(zip(kinds, found, strict=True)),
            }
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a system, in order of the expected scores, the best first."""
        ranks, (low, high) = self._ranks(), self.limits(self.draws)
        rhat, effective = agreement(self.chains)
        best, worst = self.limits(ranks).astype(np.int64)
        order = np.argsort(ranks.mean(axis=0), kind="stable")
        table = pl.DataFrame(
            {
                "system": self.systems,
                "mean": self.means,
                "expected": self.draws.mean(axis=0),
                "low": low,
                "high": high,
                "p best": (ranks == 1).mean(axis=0),
                "rank low": best,
                "rank high": worst,
                "R-hat": rhat,
                "effective": effective.astype(np.int64),
            }
        )
        return table.select(pl.all().gather(order))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should be told: whether the chains agree, and are long enough."""
        return sampling_notes(*agreement(self.chains))

    @property
    def title(self) -> str:
        """Name the model, and what it was fitted to."""
        start = f"{plain(self.measure)}: " if self.measure else ""
        left = f" ({self.left_out:,} left out for lack of a score)" if self.left_out else ""
        return (
            f"{start}hierarchical model of {counted(len(self.systems), 'system')},"
            f" {counted(self.n, 'topic')}{left}; {len(self.draws):,} samples of"
            f" {len(self.chains)} chains, seed {self.seed}"
        )

    def __str__(self) -> str:
        lines = [
            self.title,
            f"low, high: {self.level:g} credible interval of the expected score; rank low, rank"
            " high: of the rank",
            *(f"note: {note}" for note in self.notes),
            "",
            grid(from_frame(self.to_polars()[:MOST_ROWS], "")),
        ]
        if len(self.systems) > MOST_ROWS:
            lines.append(f"… {len(self.systems) - MOST_ROWS:,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"SystemsPosterior({self.title})"


def check_rope(rope: Any) -> None:
    if isinstance(rope, bool) or not isinstance(rope, Real) or not 0 <= float(rope) < np.inf:
        raise PolicyError(f"the region of practical equivalence must be 0 or more, not {rope!r}")


def chances(apart: Floats, rope: float, lower_is_better: bool) -> tuple[Floats, Floats, Floats]:
    """Return shares of samples where the first is worse, where it is equivalent, and better."""
    below, above = (apart < -rope).mean(axis=0), (apart > rope).mean(axis=0)
    worse, better = (above, below) if lower_is_better else (below, above)
    # Counted, as what is left of 1 may be a little below 0.
    return worse, (np.abs(apart) <= rope).mean(axis=0), better


def sampling_notes(rhat: Floats, effective: Floats) -> tuple[str, ...]:
    """Say where samples are too few, or chains have not met."""
    if effective.min() >= LEAST_EFFECTIVE and rhat.max() <= 1.05:
        return ()
    return (
        f"samples are worth {effective.min():,.0f} independent ones at least (R-hat up to"
        f" {rhat.max():.2f}): take more, or the method 'signed-rank', before you rely on them",
    )
