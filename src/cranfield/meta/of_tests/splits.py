"""Testing the tests: what would they say on other topics?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Indices
from cranfield.base.border.given import Teams
from cranfield.base.streams import stream
from cranfield.meta.of_tests.agreement import agreement
from cranfield.meta.of_tests.fast_tests import verdict_or_none
from cranfield.meta.of_tests.given import Given, given_tests
from cranfield.meta.of_tests.split_study import NUMBERS, SplitStudy
from cranfield.meta.work.options import Repeats, Resamples, Seed, Sizes, check_options
from cranfield.meta.work.parts import Work, blocks, run_parts, with_work


@with_work
def split_topics(
    scores: Any,
    tests: Iterable[Any] = ("anova-1", "anova-2", "anova-2f"),
    *,
    by_shard: Any = None,
    sizes: Sizes = None,
    repeats: Repeats = 100,
    seed: Seed = 0,
    systems: Sequence[str] | None = None,
    teams: Teams = None,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: Resamples = 1000,
    **work: Unpack[Work],
) -> SplitStudy:
    """Test the tests: draw two disjoint sets of topics, and see how far tests agree on them.

    Parameters
    ----------
    scores
        Scores of one measure, by topic and system: what :func:`compare` takes.
    tests
        Names of tests, `t+holm` with a correction of one's own. Those that go by shard, such as
        `anova-3` and `anova-3f`, need `by_shard`.
    by_shard
        Scores of the same topics and systems by shard: see :func:`cranfield.evaluate`.
    sizes
        Numbers of topics in a set, from 2 to half of them. Where the number of topics is odd, half
        of them may be rounded up, and the second set has one less. By default those of 5, 10, 25,
        50 and 125 that fit.
    repeats
        How often two sets are drawn of each size.
    seed
        Of the draws, and of tests that draw themselves. The draws of a size and a repeat do not
        depend on the other sizes, on the number of repeats, or on the tests.
    systems
        Only these systems.
    teams
        Team of each system, as for :func:`cranfield.meta.teams_of`. The study is done for the
        systems of each team by themselves, beside that of all. Teams of one system have nothing to
        compare, and are left out.
    alpha, missing, resamples
        As for :func:`compare`; scores by shard that are missing for all systems are taken as such
        by default.
    jobs, backend, scheduler, folder, progress
        Where and how the work is done: see :func:`run_parts`.

    Raises
    ------
    PolicyError, CranfieldError
        For options that do not fit, and scores that cannot be tested.

    Notes
    -----
    Ferro and Sanderson (2022), sections 3.2 and 3.3. Splitting measures consistency, not
    correctness: see :func:`false_alarms`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> study = split_topics(scores, ["anova-2", "anova-2f"], sizes=[10, 25], repeats=20)
    >>> study.table("AA").rows()
    [('anova-2', 12.25, 23.05), ('anova-2f', 41.0, 42.5)]
    """
    check_options(split_topics, locals())
    given = given_tests(scores, by_shard, tests, systems, teams, alpha, missing, resamples)
    wanted = given.sizes(sizes)
    found = run_parts(
        _split_block,
        (given, seed),
        {
            f"{where:03d}-{size:05d}-{start:06d}-{stop:06d}": (where, size, start, stop)
            for where in range(len(given.groups))
            for size in wanted
            for start, stop in blocks(repeats)
        },
        about={"study": "split topics", **given.about(seed)},
        **work,
    )
    return SplitStudy(
        given.scores.measure,
        tuple(one.label for one in given.tests),
        wanted,
        repeats,
        seed,
        alpha,
        {name: len(members) for name, members in given.groups.items()},
        len(given.scores.topics),
        found,
        {"missing": missing, "resamples": resamples},
    )


def draw(topics: int, size: int, repeat: int, seed: int) -> tuple[Indices, Indices]:
    """Draw two disjoint sets of topics; the second is short by one where half is rounded up."""
    drawn = stream(seed, size, repeat).permutation(topics)[: 2 * size]
    return np.sort(drawn[:size]), np.sort(drawn[size:])


def _split_block(shared: tuple[Given, int], task: tuple[int, int, int, int]) -> pl.DataFrame:
    given, seed = shared
    where, size, start, stop = task
    group, members = list(given.groups.items())[where]
    return pl.concat(
        _split(given, group, members, size, repeat, seed) for repeat in range(start, stop)
    )


def _split(
    given: Given, group: str, members: Indices, size: int, repeat: int, seed: int
) -> pl.DataFrame:
    verdicts, done = [], []
    for which, topics in enumerate(draw(len(given.scores.topics), size, repeat, seed)):
        own_seed = int(stream(seed, size, repeat, which + 1).integers(2**31))
        found = [
            verdict_or_none(test, given.of(test, topics, members), own_seed) for test in given.tests
        ]
        verdicts.append([verdict for verdict, _ in found])
        done.append(np.array([could for _, could in found]))
    labels = np.array([one.label for one in given.tests])
    every = np.arange(labels.size)
    grid = np.repeat(every, every.size), np.tile(every, every.size)
    later = np.triu_indices(every.size, 1)
    tables = []
    for one, other, (i, j) in ((0, 1, grid), (0, 0, later), (1, 1, later)):
        numbers = agreement(verdicts[one], verdicts[other])
        undone = (~done[one])[i].astype(np.int64) + (~done[other])[j]
        tables.append(
            pl.DataFrame(
                {
                    "group": pl.Series([group] * i.size, dtype=pl.String),
                    "size": np.full(i.size, size),
                    "repeat": np.full(i.size, repeat),
                    "sets": pl.Series([f"{one + 1}-{other + 1}"] * i.size, dtype=pl.String),
                    "first": pl.Series(labels[i], dtype=pl.String),
                    "second": pl.Series(labels[j], dtype=pl.String),
                    **{name: numbers[name][i, j] for name in NUMBERS},
                    "undone": undone,
                }
            )
        )
    return pl.concat(tables)
