"""How often a test finds what is not there: errors of type I, on real scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Unpack

import numpy as np
import polars as pl
from scipy.special import betaincinv

from cranfield.base.words import counted, names_or_count
from cranfield.meta.of_tests.fast_tests import verdict_or_none
from cranfield.meta.of_tests.given import Given, checked_sizes, explained, given_tests
from cranfield.meta.of_tests.known_means import MOST_DRAWN, Source, Swapped, drawn_from, seed_of
from cranfield.meta.study import Study, attaining, percent
from cranfield.meta.work.options import OneOf, Repeats, Resamples, Seed, Sizes, check_options
from cranfield.meta.work.parts import Work, blocks, run_parts, with_work
from cranfield.tabular import Table, from_frame

NULLS = {
    "centred": "made equal by centring their scores, topics drawn again",
    "simulated": "made equal by simulation from fitted distributions",
    "swapped": "made equal by swapping their scores within topics",
}
"""How systems are made equal, and what tables say of it."""

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
    tests, sizes, repeats, seed, alpha, null
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
    null: str = "centred"
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

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.summary().filter(pl.col("size") == max(self.sizes)).drop_nulls("any pair")
        if rows.is_empty():
            return ()
        worst = rows.sort("any pair", descending=True).row(0, named=True)
        over = rows.filter(pl.col("low") > self.alpha)["test"].to_list()
        most = attaining(rows, "any pair", worst["any pair"], "test")
        above = "has a 95% confidence interval above"
        return (
            f"Where no systems differ, the family-wise error rate on {max(self.sizes)} topics is"
            f" highest for {names_or_count(most, 'test')}: {percent(worst['any pair'])}"
            f"{' each' if len(most) > 1 else ''}.",
            f"{names_or_count(over, 'test') if over else 'No test'}"
            f" {above if len(over) < 2 else above.replace('has', 'have')} {self.alpha:g}.",
            f"That rests on {counted(self.repeats, 'repeat')}.",
        )

    def heading(self) -> list[str]:
        return [f"alpha {self.alpha:g}, seed {self.seed}", *explained(self.tests)]

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"false alarms": self.summary()}

    def tables(self) -> list[Table]:
        title = (
            f"False alarms: among {self.systems} systems {NULLS[self.null]},"
            f" {counted(self.repeats, 'repeat')}"
        )
        return [from_frame(self.summary(), title, left=["test"])]

    def __repr__(self) -> str:
        return (
            f"FalseAlarms({self.measure or 'scores'}: {', '.join(self.tests)}; sizes"
            f" {list(self.sizes)}, {self.repeats} repeats, {self.null})"
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
    null: Annotated[str, OneOf(tuple(NULLS))] = "centred",
    **work: Unpack[Work],
) -> FalseAlarms:
    """Test tests on systems that are known to be equal.

    Whatever a test finds then is a false alarm. Systems are made equal in one of three ways:

    - `centred`: all means become the same, by a constant for each system, and topics are drawn with
      replacement. Spreads, correlations and the shapes of differences stay as they are.
    - `simulated`: new topics are drawn from fitted distributions whose means are made the same, as
      :func:`cranfield.significance.fit_simulator` says, with the empirical copula. Scores stay
      possible ones.
    - `swapped`: on each topic by itself, the systems swap their scores at random (Ferro and
      Sanderson 2022). Nobody is better in any way; but all systems have one spread then, and all
      pairs one correlation. A test that errs where they differ, such as Tukey's HSD, is not seen to
      err. Scores by shard are swapped together.

    Parameters
    ----------
    scores, tests, by_shard, systems, alpha, missing, resamples
        As for :func:`split_topics`, which raises the same errors.
    null
        `centred`, `simulated` (not with scores by shard) or `swapped`.
    sizes
        Numbers of topics, by default as many as there are; where scores are swapped they are drawn
        without replacement.
    repeats
        How often topics are drawn.
    seed, jobs, backend, scheduler, folder, progress
        As for :func:`split_topics`.

    Notes
    -----
    Consistency on other topics is not correctness (Ferro and Sanderson 2022, section 3): the fake
    tests are consistent too. A test that takes the interaction of topic and system for known, such
    as `anova-3`, answers a question about these topics; what it finds here are differences that
    other topics would not show.

    Tests on ranks and signs, such as `sign`, `signed-rank` and `friedman`, do not test means: only
    `swapped` makes their null hypotheses true, and what they find under the others may be there.
    Two runs that score alike on most topics differ by a constant there once they are `centred`; a
    real measure would leave them alike.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> found = false_alarms(scores, ["anova-2+tukey", "t+none"], repeats=200)
    >>> found.summary().select("test", pl.col("per pair").round(6), "any pair").rows()
    [('anova-2', 0.005778, 0.125), ('t+none', 0.055333, 0.58)]
    """
    check_options(false_alarms, locals())
    given = given_tests(scores, by_shard, tests, systems, None, alpha, missing, resamples)
    topics = len(given.scores.topics)
    swapped = null == "swapped"
    limit = (topics, f"the {topics} topics") if swapped else (MOST_DRAWN, f"{MOST_DRAWN:,}")
    wanted = checked_sizes([topics] if sizes is None else sizes, *limit)
    [members] = given.groups.values()
    source: Source = Swapped(given, members) if swapped else drawn_from(given, null).equal()
    found = run_parts(
        _block,
        (given, source, seed),
        {
            f"{size:05d}-{start:06d}-{stop:06d}": (size, start, stop)
            for size in wanted
            for start, stop in blocks(repeats, 25)
        },
        about={"study": "false alarms", "null": null, **given.about(seed)},
        **work,
    )
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
        null,
        {"missing": missing, "resamples": resamples},
    )


def _block(shared: tuple[Given, Source, int], task: tuple[int, int, int]) -> pl.DataFrame:
    given, source, seed = shared
    size, start, stop = task
    rows = []
    for repeat in range(start, stop):
        own_seed = seed_of(seed, size, repeat)
        for test in given.tests:
            scores = source.data_set(test, size, seed, repeat)
            verdict, done = verdict_or_none(test, scores, own_seed)
            counts = int(verdict.significant.sum()), verdict.significant.size
            rows.append((size, repeat, test.label, *counts, int(not done)))
    names = ("size", "repeat", "test", "found", "pairs", "undone")
    return pl.DataFrame(rows, schema=names, orient="row")
