"""Stability: what the same systems look like on fewer, or on other, topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Unpack

import numpy as np
import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.meta.of_tests.fast_tests import TestChoice
from cranfield.meta.of_tests.given import checked_sizes
from cranfield.meta.of_topics.sample_study import (
    MAYBE,
    TAUS,
    TOP_SCHEMA,
    Stability,
    agreement,
    firsts,
    of_top,
    rank_table,
    ranks_of,
)
from cranfield.meta.of_topics.topic_samples import (
    AllTopics,
    examined,
    ranked,
    sample_blocks,
    topic_scores,
)
from cranfield.meta.work.folder import fingerprint
from cranfield.meta.work.options import (
    Flag,
    Proportion,
    Repeats,
    Resamples,
    Seed,
    Sizes,
    check_options,
)
from cranfield.meta.work.parts import Work, run_parts, with_work

MOST_TOPICS = 100_000
"""In a sample with replacement."""

TOP = (1, 3, 5, 10)
"""Numbers of systems whose set is followed by default."""


@with_work
def stability(
    scores: Any,
    *,
    sizes: Sizes = None,
    repeats: Repeats = 1000,
    replace: Annotated[bool, Flag()] = False,
    test: str = "anova-2",
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: Resamples = 1000,
    top: Iterable[int] | None = None,
    confidence: Proportion = 0.95,
    missing: str | None = None,
    seed: Seed = 0,
    **work: Unpack[Work],
) -> Stability:
    """Draw samples of the topics, and see how much of the result stays.

    Parameters
    ----------
    scores, missing
        As for :func:`cranfield.meta.of_topics.generalizability.generalizability`.
    sizes
        Numbers of topics in a sample, 2 or more; by default tenths of the number of topics.
        Without replacement they are below the number of topics: the only sample of all topics
        is the whole, and says nothing.
    repeats
        Number of samples of each size, and of samples for the limits of ranks.
    replace
        Whether a topic may be drawn more than once, which sizes from the number of topics on need.
        Tests then take a topic drawn twice for two topics, and find a little more than they would
        on as many different ones.
    test, correction, alpha, resamples
        How pairs of systems are compared, as in :func:`cranfield.compare`; a test for scores by
        topic and system. Analyses of variance with Tukey's HSD are fast; other tests take as long
        as so many calls of `compare`.
    top
        Numbers of top systems whose set is followed; by default 1, 3, 5 and 10, as far as there
        are more systems than that.
    confidence
        Share of samples within the limits of the tables, between 0 and 1.
    seed
        Sample r of size n depends on the seed, n and r only.
    jobs, backend, scheduler, folder, progress
        As for :func:`cranfield.meta.run_parts`.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an option that is unknown or out of its range, or scores by shard.

    Notes
    -----
    Samples without replacement share topics with the whole they are compared with, and more of
    them the larger they are: near all topics tau is near 1 by construction. The table says what
    fewer topics would have found of *this* result. How close this result is to the truth,
    :func:`cranfield.meta.of_topics.extrapolation.extrapolate` and
    :func:`cranfield.meta.of_topics.generalizability.generalizability` estimate.

    Systems whose means differ by no more than rounding are tied. Ranks are then mid-ranks, first
    places are shared, and the top k systems are all whose mean is not below the k-th highest.

    The limits of ranks are percentiles of the bootstrap (Hall and Miller 2009). Each is about one
    system alone. Where many systems are nearly equal they are too narrow to hold the true rank with
    the nominal probability; the pairs that differ significantly are the safer statement.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:6], covid.qrels, "nDCG@20")
    >>> found = stability(ev["nDCG@20"], sizes=[10, 25], repeats=100)
    >>> found
    Stability(nDCG@20: 6 systems, 10 to 25 of 50 topics, 100 repeats, anova-2 with tukey)
    >>> found.by_size["tau"].round(2).to_list()
    [0.58, 0.77]
    """
    check_options(stability, locals())
    ready = topic_scores(scores, missing, test)
    given = ready.scores
    topics, systems = ready.flat.shape
    wanted = _sizes(sizes, topics, replace)
    tops = _tops(top, systems)
    choice = TestChoice(test, correction, alpha, resamples=resamples)
    found = choice(given, seed=seed)
    means = ready.flat.mean(axis=0)
    whole = AllTopics(
        values=ready.flat,
        lower_is_better=given.lower_is_better,
        choice=choice,
        seed=int(seed),
        ranks=ranked(means[None], ready.flat, given.lower_is_better)[0],
        signs=np.where(found.significant, found.order, 0).astype(np.int64),
    )
    tasks = dict(sample_blocks(0, topics, True, repeats))
    for size in wanted:
        tasks |= dict(sample_blocks(size, size, replace, repeats))
    rows = run_parts(
        examined,
        whole,
        tasks,
        about={
            "study": "stability",
            "scores": fingerprint(given),
            "lower is better": given.lower_is_better,
            "test": choice.label,
            "alpha": float(alpha),
            "resamples": int(resamples),
            "replace": bool(replace),
            "seed": int(seed),
        },
        **work,
    )
    drawn = rows.filter(pl.col("key") > 0)
    ranks, of_ranks = ranks_of(drawn), ranks_of(rows.filter(pl.col("key") == 0))
    sizes_drawn = drawn["topics"].to_numpy()
    by_size, tops_by_size, firsts_by_size = [], [], []
    for size in wanted:
        part = drawn.filter(pl.col("topics") == size)
        of_size = ranks[sizes_drawn == size]
        by_size.append({"topics": size, **agreement(part, of_size, whole, confidence)})
        tops_by_size += [{"topics": size, **of_top(of_size, whole.ranks, k)} for k in tops]
        firsts_by_size.append(firsts(size, of_size, given.systems))
    return Stability(
        measure=given.measure,
        systems=given.systems,
        topics=topics,
        test=choice.test,
        correction=str(choice.correction),
        alpha=float(alpha),
        repeats=int(repeats),
        replace=bool(replace),
        confidence=float(confidence),
        seed=int(seed),
        significant=int(found.significant.sum()),
        pairs=found.significant.size,
        by_size=pl.DataFrame(by_size, schema_overrides=MAYBE),
        top=pl.DataFrame(tops_by_size, schema=TOP_SCHEMA),
        firsts=pl.concat(firsts_by_size),
        ranks=rank_table(of_ranks, whole.ranks, given.systems, means, confidence),
        samples=drawn.drop("key", "ranks").with_columns(pl.col(*TAUS).fill_nan(None)),
        notes=ready.notes,
    )


def _sizes(sizes: Iterable[int] | None, topics: int, replace: bool) -> list[int]:
    most = MOST_TOPICS if replace else topics - 1
    if sizes is None:
        if most < 2:
            raise CranfieldError(f"samples of topics need 3 topics, got {topics}")
        tenths = {max(2, round(topics * k / 10)) for k in range(1, 11)}
        return sorted(size for size in tenths if size <= most)
    chosen = sorted(checked_sizes(sizes, MOST_TOPICS, f"{MOST_TOPICS:,} topics"))
    if chosen[-1] > most:
        raise PolicyError(
            f"sizes must be below {topics:,}, the number of topics, or drawn with replace=True,"
            f" got {', '.join(f'{size:,}' for size in chosen if size > most)}"
        )
    return chosen


def _tops(top: Iterable[int] | None, systems: int) -> list[int]:
    if top is None:
        return [k for k in TOP if k < systems]
    try:
        found = list(top)
    except TypeError:
        raise PolicyError(f"top is a list of numbers of systems, not {top!r}") from None
    if not found:
        raise PolicyError("no number of top systems is given")
    for k in found:
        check_whole("top", k, 1, systems)
    return sorted({int(k) for k in found})
