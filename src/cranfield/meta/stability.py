"""Stability: what the same systems look like on fewer, or on other, topics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from cranfield.errors import PolicyError
from cranfield.meta.folder import fingerprint
from cranfield.meta.generalizability import check_share, topic_scores
from cranfield.meta.topic_samples import AllTopics, Whole, blocks, examined, ranked
from cranfield.meta.work import Progress, run_parts
from cranfield.significance.compare import compare
from cranfield.significance.options import check_whole
from cranfield.significance.outcome import Floats

TOP = (1, 3, 5, 10)
"""Numbers of systems whose set is followed by default."""


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """What samples of topics say, compared with what all topics say.

    Attributes
    ----------
    measure, systems
        Of the scores.
    topics
        Number of topics n.
    test, correction, alpha
        How pairs of systems were compared.
    repeats
        Number of samples of each size.
    replace
        Whether samples were drawn with replacement.
    confidence
        Level of the limits in all tables: the share of samples between `low` and `high`.
    seed
        Of the samples.
    significant
        Number of significant pairs on all topics.
    pairs
        Number of all pairs.
    by_size
        Table with a row a number of `topics`: number of `samples`; mean and limits of Kendall's
        `tau` with the ranking by all topics; `same first`, how often the first system is first by
        all topics; mean, median and limits of the number of `significant` pairs; `found again`, the
        mean share of the pairs significant on all topics that are significant in a sample, with
        the same better system; and `contradicted`, the mean number of them that are significant
        with the other.
    top
        Table by number of `topics` and `top` systems: `same`, how often the same systems are among
        the top ones; `overlap`, the mean share of those of both that are in both (the size of the
        intersection by that of the larger set).
    firsts
        Table by number of `topics` and `system`: the share of samples in which it comes `first`;
        those that share a first place share the sample. Systems that never do are left out.
    ranks
        Table with a row a system, from best to worst: its `mean` and `rank` by all topics, the
        limits `low` and `high` of its rank, and `best`, its share of first places. Both come from
        samples with replacement of as many topics as there are.
    samples
        Table with a row a sample: `topics`, `repeat`, `tau`, `significant`, `found again` (a
        number of pairs), `contradicted`.
    notes
        What was left out or filled in.
    """

    measure: str
    systems: tuple[str, ...]
    topics: int
    test: str
    correction: str
    alpha: float
    repeats: int
    replace: bool
    confidence: float
    seed: int
    significant: int
    pairs: int
    by_size: pl.DataFrame
    top: pl.DataFrame
    firsts: pl.DataFrame
    ranks: pl.DataFrame
    samples: pl.DataFrame
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        sizes = self.by_size["topics"].to_list()
        return (
            f"Stability({label}{len(self.systems)} systems, {sizes[0]} to {sizes[-1]} of"
            f" {self.topics} topics, {self.repeats} repeats, {self.test} with {self.correction})"
        )


def stability(
    scores: Any,
    *,
    sizes: Iterable[int] | None = None,
    repeats: int = 1000,
    replace: bool = False,
    test: str = "anova-2",
    correction: str | None = None,
    alpha: float = 0.05,
    top: Iterable[int] | None = None,
    confidence: float = 0.95,
    missing: str | None = None,
    seed: int = 0,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Stability:
    """Draw samples of the topics, and see how much of the result stays.

    Parameters
    ----------
    scores
        :class:`Scores` of one measure, or what :func:`cranfield.compare` takes; two systems and
        two topics at least.
    sizes
        Numbers of topics in a sample, 2 or more; by default ten up to the number of topics.
    repeats
        Number of samples of each size, and of samples for the limits of ranks.
    replace
        Whether a topic may be drawn more than once, which sizes above the number of topics need.
        Tests then take a topic drawn twice for two topics, and find a little more than they would
        on as many different ones.
    test, correction, alpha
        How pairs of systems are compared, as in :func:`cranfield.compare`; a test for scores by
        topic and system. Two-way analysis of variance with Tukey's HSD is fast; other tests take
        as long as so many calls of `compare`.
    top
        Numbers of top systems whose set is followed; by default 1, 3, 5 and 10, as far as there
        are more systems than that.
    confidence
        Share of samples within the limits of the tables, between 0 and 1.
    missing
        What to do where a system has no score for a topic: `error`, which is the default; `drop`
        leaves such topics out; `zero` counts 0.
    seed
        Sample r of size n depends on the seed, n and r only.
    jobs, backend, folder, progress
        See :func:`cranfield.meta.work.run_parts`; none of them changes a result.

    Returns
    -------
    Stability

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an option that is unknown or out of its range, or scores by shard.

    Notes
    -----
    Samples without replacement share topics with the whole they are compared with, and more of
    them the larger they are: with all topics tau is 1 by construction. The table says what fewer
    topics would have found of *this* result. How close this result is to the truth,
    :func:`cranfield.meta.extrapolation.extrapolate` and
    :func:`cranfield.meta.generalizability.generalizability` estimate.

    A sample without replacement of all topics is the whole; there is one of them, not `repeats`.

    Systems whose means differ by no more than rounding are tied. Ranks are then mid-ranks, first
    places are shared, and the top k systems are all whose mean is not below the k-th highest.

    The limits of ranks are percentiles of the bootstrap (Hall and Miller 2009). Each is about one
    system alone. Where many systems are nearly equal they are too narrow to hold the true rank with
    the nominal probability; the pairs that differ significantly are the safer statement.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.collections.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:6], covid.qrels, "nDCG@20")
    >>> found = stability(ev["nDCG@20"], sizes=[10, 50], repeats=100)
    >>> found
    Stability(nDCG@20: 6 systems, 10 to 50 of 50 topics, 100 repeats, anova-2 with tukey)
    >>> found.by_size["tau"].round(2).to_list()
    [0.73, 1.0]
    """
    check_whole("repeats", repeats, 1, 10**6)
    check_whole("the seed", seed, 0)
    check_share("confidence", confidence)
    if not isinstance(replace, bool):
        raise PolicyError(f"replace is True or False, not {replace!r}")
    ready = topic_scores(scores, missing, test)
    given = ready.scores
    topics, systems = ready.flat.shape
    wanted = _sizes(sizes, topics, replace)
    tops = _tops(top, systems)
    found = compare(given, test=test, correction=correction, alpha=alpha, seed=seed, jobs=1)
    whole = AllTopics(
        values=ready.flat,
        lower_is_better=given.lower_is_better,
        test=found.test,
        correction=found.correction,
        alpha=float(alpha),
        seed=int(seed),
        ranks=ranked(ready.flat.mean(axis=0)[None], ready.flat, given.lower_is_better)[0],
        signs=np.where(found.is_significant(), np.sign(found.difference), 0).astype(np.int64),
    )
    tasks = dict(blocks(0, topics, True, repeats))
    for size in wanted:
        # Without replacement there is one sample of all topics.
        number = 1 if size == topics and not replace else repeats
        tasks |= dict(blocks(size, size, replace, number))
    rows = run_parts(
        examined,
        whole,
        tasks,
        about={
            "study": "stability",
            "scores": fingerprint(given),
            "lower is better": given.lower_is_better,
            "test": found.test,
            "correction": found.correction,
            "alpha": float(alpha),
            "replace": replace,
            "seed": int(seed),
        },
        jobs=jobs,
        backend=backend,
        folder=folder,
        progress=progress,
    )
    drawn = rows.filter(pl.col("key") > 0)
    ranks = _ranks_of(drawn)
    sizes_drawn = drawn["topics"].to_numpy()
    by_size, of_top, firsts = [], [], []
    for size in wanted:
        part = drawn.filter(pl.col("topics") == size)
        of_size = ranks[sizes_drawn == size]
        by_size.append({"topics": size, **_agreement(part, of_size, whole, confidence)})
        of_top += [{"topics": size, **_of_top(of_size, whole.ranks, k)} for k in tops]
        firsts.append(_firsts(size, of_size, given.systems))
    return Stability(
        measure=given.measure,
        systems=given.systems,
        topics=topics,
        test=found.test,
        correction=found.correction,
        alpha=float(alpha),
        repeats=int(repeats),
        replace=replace,
        confidence=float(confidence),
        seed=int(seed),
        significant=found.count(),
        pairs=len(found),
        by_size=pl.DataFrame(by_size),
        top=pl.DataFrame(of_top, schema=_TOP_SCHEMA),
        firsts=pl.concat(firsts),
        ranks=_rank_table(
            _ranks_of(rows.filter(pl.col("key") == 0)),
            whole.ranks,
            given.systems,
            ready.flat.mean(axis=0),
            confidence,
        ),
        samples=drawn.select(
            "topics",
            "repeat",
            pl.col("tau").fill_nan(None),
            "significant",
            "found again",
            "contradicted",
        ),
        notes=ready.notes,
    )


_TOP_SCHEMA = {"topics": pl.Int64, "top": pl.Int64, "same": pl.Float64, "overlap": pl.Float64}


def _ranks_of(rows: pl.DataFrame) -> Whole:
    """Return twice the mid-ranks, shape (samples, systems)."""
    return np.asarray(rows["ranks"].to_numpy(), dtype=np.int64)


def _agreement(
    part: pl.DataFrame, ranks: Whole, whole: AllTopics, confidence: float
) -> dict[str, Any]:
    """Return the row of a size, without the size."""
    tau = part["tau"].fill_nan(None).drop_nulls().to_numpy()
    number = part["significant"].to_numpy()
    before = int(np.count_nonzero(whole.signs))
    low, high = _limits(number[:, None], confidence)
    tau_low, tau_high = _limits(tau[:, None], confidence) if tau.size else ([None], [None])
    again = part["found again"].to_numpy()
    return {
        "samples": len(part),
        "tau": float(tau.mean()) if tau.size else None,
        "tau low": tau_low[0],
        "tau high": tau_high[0],
        "same first": float(_shares(ranks)[:, whole.ranks == whole.ranks.min()].sum(axis=1).mean()),
        "significant": float(number.mean()),
        "significant median": float(np.median(number)),
        "significant low": low[0],
        "significant high": high[0],
        "found again": float(again.mean()) / before if before else None,
        "contradicted": float(part["contradicted"].to_numpy().mean()),
    }


def _limits(samples: Any, confidence: float) -> tuple[Floats, Floats]:
    """Return limits by column that at most (1 - confidence) / 2 of the samples pass on each side.

    They are among the samples.
    """
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.float64), high.astype(np.float64)


def _shares(ranks: Whole) -> Floats:
    """Return how much of the first place each system has, by sample."""
    first = ranks == ranks.min(axis=1, keepdims=True)
    return np.asarray(first / first.sum(axis=1, keepdims=True))


def _of_top(ranks: Whole, all_ranks: Whole, k: int) -> dict[str, Any]:
    """Compare the top k systems of the samples with those of all topics."""
    there = ranks <= np.sort(ranks, axis=1)[:, k - 1 : k]
    here = all_ranks <= np.sort(all_ranks)[k - 1]
    both = (there & here).sum(axis=1)
    larger = np.maximum(there.sum(axis=1), here.sum())
    overlap = both / larger
    return {"top": k, "same": float((overlap == 1).mean()), "overlap": float(overlap.mean())}


def _firsts(size: int, ranks: Whole, systems: tuple[str, ...]) -> pl.DataFrame:
    """Return the systems that come first, those that do most often at the top."""
    share = _shares(ranks).mean(axis=0)
    ever = [k for k in np.argsort(-share, kind="stable") if share[k] > 0]
    return pl.DataFrame(
        {
            "topics": pl.repeat(size, len(ever), dtype=pl.Int64, eager=True),
            "system": [systems[k] for k in ever],
            "first": share[ever],
        }
    )


def _rank_table(
    ranks: Whole, all_ranks: Whole, systems: tuple[str, ...], means: Floats, confidence: float
) -> pl.DataFrame:
    order = np.argsort(all_ranks, kind="stable")
    low, high = _limits(ranks, confidence)
    return pl.DataFrame(
        {
            "system": [systems[k] for k in order],
            "mean": means[order],
            "rank": all_ranks[order] / 2,
            "low": low[order] / 2,
            "high": high[order] / 2,
            "best": _shares(ranks).mean(axis=0)[order],
        }
    )


def _sizes(sizes: Iterable[int] | None, topics: int, replace: bool) -> list[int]:
    """Return the sizes asked for, in order, once each."""
    if sizes is None:
        return sorted({max(2, round(topics * k / 10)) for k in range(1, 11)})
    found = _listed("sizes", sizes)
    for size in found:
        check_whole("a size", size, 2, None if replace else topics)
    return sorted({int(size) for size in found})


def _tops(top: Iterable[int] | None, systems: int) -> list[int]:
    """Return the numbers of top systems asked for, in order, once each."""
    if top is None:
        return [k for k in TOP if k < systems]
    found = _listed("top", top)
    for k in found:
        check_whole("top", k, 1, systems)
    return sorted({int(k) for k in found})


def _listed(name: str, values: Any) -> list[Any]:
    try:
        found = list(values)
    except TypeError:
        raise PolicyError(f"{name} is a list of whole numbers, not {values!r}") from None
    if not found:
        raise PolicyError(f"{name} is empty")
    return found
