"""How often a test finds what is not there: errors of type I, on real scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import polars as pl
from scipy.special import betaincinv

from cranfield.base.arrays import Indices
from cranfield.base.streams import stream
from cranfield.base.words import counted
from cranfield.meta.of_tests.fast_tests import verdict_or_none
from cranfield.meta.of_tests.given import Given, checked_sizes, given_tests
from cranfield.meta.study import Study
from cranfield.meta.work.options import Repeats, Resamples, Seed, Sizes, check_options
from cranfield.meta.work.parts import Work, blocks, run_parts, with_work
from cranfield.scores import Scores
from cranfield.tabular import Table, from_frame

LIMITS = 0.95
"""Confidence level of the limits of the share of sets with a false alarm."""


@dataclass(frozen=True, eq=False, repr=False)
class FalseAlarms(
    Study,
    name="false-alarms",
    source="Ferro and Sanderson (2022)",
    keys={"false alarms": ("size", "test")},
    main="summary",
):
    """What tests find among systems that are equal.

    Attributes
    ----------
    measure, systems, topics
        Text form of the measure; numbers of systems and topics.
    tests, sizes, repeats, seed, alpha
        As they were given.
    repeated
        Table with a row for each `size`, `repeat` and `test`: `found`, the number of pairs called
        different, of `pairs`; `undone` is 1 where the test could not be done, and found nothing.
    """

    measure: str
    tests: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    alpha: float
    systems: int
    topics: int
    repeated: pl.DataFrame
    options: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> pl.DataFrame:
        """Return the rates of errors of type I.

        A row for each size and test: `per pair`, the share of pairs called different, which a test
        without correction holds at alpha; `any pair`, the share of repeats with one pair at least,
        which a correction for the family-wise error holds at alpha, with its exact
        (Clopper-Pearson) 0.95 limits `low` and `high`. Repeats in which the test could not be done
        are left out, and counted as `undone`.
        """
        done = pl.col("undone") == 0
        found, pairs = pl.col("found").filter(done), pl.col("pairs").filter(done)
        table = self.repeated.group_by("size", "test", maintain_order=True).agg(
            (found.sum() / pairs.sum()).alias("per pair"),
            (found > 0).mean().alias("any pair"),
            (found > 0).sum().alias("count"),
            done.sum().alias("done"),
            pl.col("undone").sum(),
        )
        count = table["count"].to_numpy().astype(np.float64)
        done_ones = table["done"].to_numpy().astype(np.float64)
        tail = (1 - LIMITS) / 2
        low = betaincinv(np.maximum(count, 1), done_ones - count + 1, tail)
        high = betaincinv(count + 1, np.maximum(done_ones - count, 1), 1 - tail)
        return table.with_columns(
            pl.Series("low", np.where(count == 0, 0.0, low)),
            pl.Series("high", np.where(count == done_ones, 1.0, high)),
        ).select("size", "test", "per pair", "any pair", "low", "high", "undone")

    def heading(self) -> list[str]:
        return [f"alpha {self.alpha:g}, seed {self.seed}"]

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"false alarms": self.summary()}

    def tables(self) -> list[Table]:
        title = (
            f"False alarms: among {self.systems} systems made equal by swapping their scores"
            f" within topics, {counted(self.repeats, 'repeat')}"
        )
        return [from_frame(self.summary(), title, left=["test"])]

    def __repr__(self) -> str:
        return (
            f"FalseAlarms({self.measure or 'scores'}: {', '.join(self.tests)}; sizes"
            f" {list(self.sizes)}, {self.repeats} repeats)"
        )


@with_work
def false_alarms(
    scores: Any,
    tests: Iterable[Any] = ("anova-1", "anova-2"),
    *,
    by_shard: Any = None,
    sizes: Sizes = None,
    repeats: Repeats = 1000,
    seed: Seed = 0,
    systems: Sequence[str] | None = None,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: Resamples = 1000,
    **work: Unpack[Work],
) -> FalseAlarms:
    """Test tests on systems that are known to be equal.

    On each topic by itself, the systems swap their scores at random: nobody is better than anybody
    any more, while topics stay as easy or difficult as they are, and scores as they are spread.
    Whatever a test finds then is a false alarm. Scores by shard are swapped together: a system
    takes over another's scores on a topic in all shards.

    Parameters
    ----------
    scores, tests, by_shard, systems, alpha, missing, resamples
        As for :func:`split_topics`, which raises the same errors.
    sizes
        Numbers of topics, drawn without replacement; by default all topics.
    repeats
        How often topics are drawn and scores are swapped.
    seed, jobs, backend, folder, progress
        As for :func:`split_topics`.


    Notes
    -----
    Consistency on other topics is not correctness (Ferro and Sanderson 2022, section 3): the fake
    tests are consistent too. A test that takes the interaction of topic and system for known, such
    as `anova-3`, answers a question about these topics; what it finds here are differences that
    other topics would not show.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> found = false_alarms(scores, ["anova-2", "t+none"], repeats=200)
    >>> found.summary().select("test", pl.col("per pair").round(6), "any pair").rows()
    [('anova-2', 0.001778, 0.05), ('t+none', 0.047556, 0.635)]
    """
    check_options(false_alarms, locals())
    given = given_tests(scores, by_shard, tests, systems, None, alpha, missing, resamples)
    topics = len(given.scores.topics)
    wanted = checked_sizes([topics] if sizes is None else sizes, topics, f"the {topics} topics")
    found = run_parts(
        _swapped_block,
        (given, seed),
        {
            f"{size:05d}-{start:06d}-{stop:06d}": (size, start, stop)
            for size in wanted
            for start, stop in blocks(repeats, 25)
        },
        about={"study": "false alarms", **given.about(seed)},
        **work,
    )
    [members] = given.groups.values()
    return FalseAlarms(
        given.scores.measure,
        tuple(one.label for one in given.tests),
        wanted,
        repeats,
        seed,
        alpha,
        len(members),
        topics,
        found,
        {"missing": missing, "resamples": resamples},
    )


def _swapped_block(shared: tuple[Given, int], task: tuple[int, int, int]) -> pl.DataFrame:
    given, seed = shared
    size, start, stop = task
    [members] = given.groups.values()
    pairs = len(members) * (len(members) - 1) // 2
    rows = []
    for repeat in range(start, stop):
        random = stream(seed, size, repeat)
        topics = np.sort(random.permutation(len(given.scores.topics))[:size])
        order = random.permuted(np.tile(np.arange(len(members)), (size, 1)), axis=1)
        own_seed = int(random.integers(2**31))
        for test in given.tests:
            mixed = _swapped(given.of(test, topics, members), order)
            verdict, done = verdict_or_none(test, mixed, own_seed)
            rows.append(
                (size, repeat, test.label, int(verdict.significant.sum()), pairs, int(not done))
            )
    names = ("size", "repeat", "test", "found", "pairs", "undone")
    return pl.DataFrame(rows, schema=names, orient="row")


def _swapped(scores: Scores, order: Indices) -> Scores:
    """Give each system, topic by topic, the scores of another."""
    every = np.arange(len(scores.topics))[:, None]
    return replace(scores, values=scores.values[every, order])
