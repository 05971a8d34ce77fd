"""Confidence sets of ranks: which ranks of a leaderboard a system may truly have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, best_first, row_slices
from cranfield.base.checks import check_share, check_whole
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.significance.bootstrap_t import topic_counts
from cranfield.significance.comparison.headings import heading_of
from cranfield.significance.comparison.notes import notes_on
from cranfield.significance.corrections.bootstrap_tukey import (
    SAMPLED,
    PooledErrors,
    divided,
    maxima,
    pvalues_of,
)
from cranfield.significance.corrections.catalogue import CORRECTIONS, RECOMMENDED
from cranfield.significance.options import Options
from cranfield.significance.pairs import all_pairs
from cranfield.significance.prepare import as_scores, prepared
from cranfield.significance.tests.catalogue import find_test
from cranfield.tabular.frames import Framed, from_frame
from cranfield.tabular.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class RankSets(Framed):
    """Which ranks systems may have; made by :func:`rank_sets` or by `found.rank_sets()`.

    Attributes
    ----------
    measure
        Text form of the measure; empty where it is not known.
    systems, means
        The systems, and what they are ordered by.
    topics
        Number of topics.
    difference
        Row minus column, shape (systems, systems).
    pvalues
        Adjusted p-values that the system with the better mean is the better one, of one family for
        all pairs; the same shape.
    own_pvalues
        The same, each row a family of its own: of that system with the others. None where these are
        not known.
    alpha
        1 minus the confidence.
    method
        What the p-values come from.
    lower_is_better
        Whether the better system is the one with lower scores.
    resamples, seed
        Of random samples; None where there are none.
    notes
        What a reader should be told.
    """

    measure: str
    systems: tuple[str, ...]
    means: Floats
    topics: int
    difference: Floats
    pvalues: Floats
    own_pvalues: Floats | None
    alpha: float
    method: str
    lower_is_better: bool = False
    resamples: int | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()

    def at(self, alpha: float) -> RankSets:
        """Return the sets at confidence 1 - alpha."""
        check_share("alpha", alpha)
        return replace(self, alpha=alpha)

    @property
    def _ahead(self) -> Floats:
        return -self.difference if self.lower_is_better else self.difference

    @property
    def rank(self) -> Indices:
        """Observed ranks: 1 plus the number of systems with a better mean."""
        return np.asarray(1 + (self._ahead < 0).sum(axis=1))

    @property
    def interval(self) -> tuple[Indices, Indices]:
        """Best and worst rank of each system, all sets together at confidence 1 - alpha."""
        return self._limits(self.pvalues)

    @property
    def own_interval(self) -> tuple[Indices, Indices] | None:
        """The same, each set alone at that confidence; None where it is not known."""
        return None if self.own_pvalues is None else self._limits(self.own_pvalues)

    def _limits(self, pvalues: Floats) -> tuple[Indices, Indices]:
        differs = pvalues <= self.alpha
        better, worse = differs & (self._ahead > 0), differs & (self._ahead < 0)
        return 1 + worse.sum(axis=1), len(self.systems) - better.sum(axis=1)

    def among_best(self, places: int = 1) -> tuple[str, ...]:
        """Return the systems that may be among the best few, in order of their means.

        All that truly are among them are so at confidence 1 - alpha, together for any number of
        places.

        Parameters
        ----------
        places
            How many are the best: 1 asks who may be the winner.
        """
        check_whole("places", places, 1)
        best, _ = self.interval
        return tuple(self.systems[k] for k in self.order if best[k] <= places)

    @property
    def order(self) -> Indices:
        """The systems from the best to the worst mean."""
        return best_first(self.means, self.lower_is_better)

    def to_polars(self) -> pl.DataFrame:
        """Return the leaderboard: one row a system, the best first.

        `from` and `to` are the best and the worst rank, all sets together; `own from` and `own to`
        are of each system alone, where they are known.
        """
        columns: dict[str, Any] = {
            "rank": self.rank,
            "system": pl.Series(self.systems, dtype=pl.String),
            "mean": self.means,
        }
        columns["from"], columns["to"] = self.interval
        if self.own_interval is not None:
            columns["own from"], columns["own to"] = self.own_interval
        return pl.DataFrame(columns)[self.order]

    def table(self) -> Table:
        """Return the leaderboard as it is shown."""
        start = f"{plain(self.measure)}: " if self.measure else ""
        size = f"{counted(len(self.systems), 'system')}, {counted(self.topics, 'topic')}"
        level = f"{1 - self.alpha:.4g}"
        winners = self.among_best()
        notes = [
            size,
            f"from, to: {level} confidence sets of ranks, all systems together"
            + ("" if self.own_pvalues is None else "; own: each system alone"),
            f"{counted(len(winners), 'system')} may be the best",
        ]
        if self.resamples is not None:
            notes.append(f"{self.resamples:,} random samples, seed {self.seed}")
        shown = from_frame(self.to_polars(), f"{start}ranks by {self.method}")
        return replace(shown, notes=notes, remarks=self.notes)

    def to_text(self) -> str:
        """Write the leaderboard."""
        return str(self.table())

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        size = f"{counted(len(self.systems), 'system')}, {counted(self.topics, 'topic')}"
        return f"RankSets({size}, alpha={self.alpha:g})"


def rank_sets(
    scores: Any,
    *,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    jobs: int | None = None,
) -> RankSets:
    r"""Compute confidence sets of the rank of each system, all together and each alone.

    The rank of a system is 1 plus the number of systems that are truly better. Its set is

    .. math:: \{1 + |N^-|, \dots, S - |N^+|\}

    with the systems N- that are significantly better, and N+ that are significantly worse. The
    pairs are compared as :func:`cranfield.compare` does by default, by simultaneous intervals of
    Tukey's HSD bootstrapped over topics. With one family of all pairs the sets contain all true
    ranks with probability 1 - alpha; with a family for each system, which are its pairs with the
    others, each set alone does, and is smaller.

    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), who take intervals of each pair's own
    variance. It assumes that topics are a random sample, a dozen at least.

    Parameters
    ----------
    scores
        Of one measure, as :func:`cranfield.compare` takes them.
    alpha
        1 minus the confidence.
    missing
        `error`, the default; `drop` excludes topics that lack a score; `zero` counts 0.
    resamples, seed
        Number B of resamples of topics, and the seed.
    jobs
        Threads; it never changes a result.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an option out of its range.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ap = cf.evaluate(covid.runs[:4], covid.qrels, "AP")["AP"]
    >>> sets = rank_sets(ap, seed=1)
    >>> [limit.tolist() for limit in sets.interval]
    [[1, 1, 3, 3], [2, 2, 4, 4]]
    """
    options = Options(alpha=alpha, resamples=resamples, seed=seed, jobs=jobs)
    info = find_test("anova-2").info
    given = as_scores(scores)
    if given.shards:
        info = find_test("random-topics").info
    ready = prepared(given, info, missing)
    pairs, means = all_pairs(ready.flat), ready.flat.mean(axis=0)
    family = PooledErrors.of(pairs)
    size = np.abs(family.t)
    difference, together = np.zeros((2, pairs.systems, pairs.systems))
    difference[pairs.first, pairs.second] = pairs.differences_of(means)
    together[pairs.first, pairs.second] = pvalues_of(size, maxima([family], options))
    statistic = np.zeros_like(together)
    statistic[pairs.first, pairs.second] = size
    statistic += statistic.T
    own = own_maxima(family, options)
    return RankSets(
        measure=given.measure,
        systems=given.systems,
        means=means,
        topics=pairs.topics,
        difference=difference - difference.T,
        pvalues=together + together.T + np.eye(pairs.systems),
        own_pvalues=np.array([pvalues_of(*row) for row in zip(statistic, own, strict=True)]),
        alpha=alpha,
        method=heading_of(info, CORRECTIONS[RECOMMENDED]),
        lower_is_better=given.lower_is_better,
        resamples=resamples,
        seed=seed,
        notes=(*ready.notes, *notes_on(ready.scores, info, options)),
    )


def own_maxima(family: PooledErrors, options: Options) -> Floats:
    """Return the largest statistic of each system with any other, by system and resample.

    Shape (systems, resamples), ascending along the resamples.
    """
    topics = family.pairs.topics
    counts = topic_counts(options.resamples, topics, options.seed)
    out = np.empty((family.pairs.systems, options.resamples))
    for part in row_slices(options.resamples, len(out), SAMPLED):
        means, error = family.resampled(counts[part])
        farthest = np.maximum(means - means.min(axis=0), means.max(axis=0) - means)
        out[:, part] = divided(farthest, error)
    return np.sort(out, axis=1)
