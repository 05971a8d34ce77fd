"""Type I error rates and power of tests, on scores whose true means are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Protocol, Unpack

import numpy as np
import polars as pl
from scipy.special import betaincinv

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError, check_several
from cranfield.base.kinds import OneOf
from cranfield.base.streams import stream
from cranfield.base.text import counted, names_or_count
from cranfield.meta.of_tests.fast_tests import (
    Given,
    TestChoice,
    checked_sizes,
    explained,
    given_tests,
    verdict_or_none,
)
from cranfield.meta.study import attaining, labelled, percent
from cranfield.meta.study_options import Repeats, Resamples, Seed, Sizes, check_options
from cranfield.meta.work import Work, blocks, run_parts, with_work
from cranfield.result import Column, Columns, Result
from cranfield.scores import Scores
from cranfield.significance.differences import all_pairs
from cranfield.significance.simulation import Resampled, Simulator, fit_simulator

MOST_DRAWN = 100_000
"""Topics in a data set that is drawn."""


class Source(Protocol):
    """Where data sets come from."""

    def data_set(self, test: TestChoice, size: int, seed: int, repeat: int) -> Scores | Floats:
        """Return the scores that a test is given, of the same topics as other tests."""


@dataclass(frozen=True, eq=False)
class Swapped:
    """Real topics, on each of which the systems swap their scores."""

    given: Given
    members: Indices

    def data_set(self, test: TestChoice, size: int, seed: int, repeat: int) -> Scores | Floats:
        random = stream(seed, size, repeat)
        topics = np.sort(random.permutation(len(self.given.scores.topics))[:size])
        order = random.permuted(np.tile(np.arange(len(self.members)), (size, 1)), axis=1)
        scores = self.given.of(test, topics, self.members)
        return replace(scores, values=scores.values[np.arange(size)[:, None], order])


@dataclass(frozen=True, eq=False)
class Drawn:
    """New topics of a population, and of one of scores by shard where some test needs it."""

    whole: Resampled | Simulator
    by_shard: Resampled | None

    def equal(self) -> Drawn:
        """Return the population in which all systems have the mean of their means."""
        shards = self.by_shard
        return Drawn(
            self.whole.with_means(self.whole.means.mean()),
            None if shards is None else shards.with_means(shards.means.mean()),
        )

    def data_set(self, test: TestChoice, size: int, seed: int, repeat: int) -> Scores | Floats:
        takes = self.by_shard if test.by_shard else None
        values = (takes or self.whole).draw(size, seed, size, repeat)
        if not np.isnan(values).any():
            return values
        topics, systems = (tuple(map(str, range(number))) for number in values.shape[:2])
        return Scores(values, topics, systems)


def drawn_from(given: Given, kind: str) -> Drawn:
    """Make a population of the systems that are given: `simulated`, or real topics drawn again."""
    [members] = given.groups.values()
    missing = given.tests[0].missing

    def of(scores: Scores) -> Scores:
        chosen = scores.select(systems=members)
        # What is filled in or left out is so before means are moved.
        return chosen.complete(missing)[0] if missing in ("drop", "zero") else chosen

    sharded = [test for test in given.tests if test.by_shard]
    if kind == "simulated":
        if sharded:
            raise PolicyError(f"{sharded[0].test} needs scores by shard, which are not simulated")
        # Under another copula differences would be more symmetric than real ones.
        return Drawn(fit_simulator(of(given.scores), copula="empirical"), None)
    by_shard = Resampled(of(given.by_shard).values) if sharded and given.by_shard else None
    return Drawn(Resampled(of(given.scores).values), by_shard)


def seed_of(seed: int, size: int, repeat: int) -> int:
    """Return the seed of tests that draw random numbers, apart from that of their topics."""
    return int(stream(seed, size, repeat, 1).integers(2**31))


NULLS = {
    "centred": "made equal by centring their scores, topics drawn again",
    "simulated": "made equal by simulation from fitted distributions",
    "swapped": "made equal by swapping their scores within topics",
}
"""How systems are made equal, and what tables say of it."""

LIMITS = 0.95
"""Confidence level of the limits of the share of sets with a false alarm."""


@dataclass(frozen=True, eq=False, repr=False)
class FalseAlarms(Result):
    """Rates of false positives of tests among equal systems.

    Attributes
    ----------
    measure, systems, topics
        Text form of the measure; numbers of systems and topics.
    tests, sizes, repeats, seed, alpha, null
        Parameters of :func:`false_alarms`.
    repeated
        Table with a row for each `size`, `repeat` and `test`: `found`, the number of pairs called
        different, of `pairs`; `undone` is 1 where the test could not be done, and found nothing.
    """

    name: ClassVar[str] = "false-alarms"
    reference: ClassVar[str] = "Ferro and Sanderson (2022)"
    columns: ClassVar[Mapping[str, Columns]] = {
        "false alarms": {
            "size": Column("Number of topics.", key=True),
            "test": Column("Test and correction.", key=True),
            "per pair": Column(
                "Proportion of pairs called different, which a test without correction holds at"
                " alpha."
            ),
            "any pair": Column(
                "Family-wise error rate: proportion of repeats with at least one pair called"
                " different, which a correction for it holds at alpha."
            ),
            "low": Column("Lower bound of its exact (Clopper-Pearson) 0.95 confidence interval."),
            "high": Column("Upper bound of that interval."),
            "undone": Column("Number of repeats in which the test could not be done; excluded."),
        }
    }

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
        """Return the Type I error rates, a row for each size and test."""
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
        return [
            f"{labelled(self.measure)}false alarms among {counted(self.systems, 'system')}"
            f" {NULLS[self.null]}, {counted(self.repeats, 'repeat')}",
            f"alpha {self.alpha:g}, seed {self.seed}",
            *explained(self.tests),
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"false alarms": self.summary()}


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
        How systems are made equal: scores `centred`, `simulated` (not with scores by shard) or
        `swapped`.
    sizes
        Numbers of topics, by default as many as there are; where scores are swapped they are drawn
        without replacement.
    repeats
        How often topics are drawn.
    seed, jobs, backend, folder, progress
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
    check_several("tests", tests)
    check_several("systems", systems)
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


POPULATIONS = ("simulated", "resampled")
"""Where new topics come from: fitted distributions, or the real topics, with replacement."""

EDGES = (0.01, 0.02, 0.05, 0.1)
"""Upper ends of ranges of true differences."""


@dataclass(frozen=True, eq=False, repr=False)
class PowerOfTests(Result):
    """Power of tests, and their errors, for known true differences.

    Attributes
    ----------
    measure, systems
        Text form of the measure; number of systems.
    tests, sizes, repeats, seed, alpha, population, edges
        Parameters of :func:`power_of_tests`.
    repeated
        Table with a row for each `size`, `repeat`, `test` and `range` of true differences: the
        `pairs` of it; `right` and `wrong`, how many were called different in the right direction,
        and in the wrong one or without any true difference; `undone` is 1 where the test could not
        be done, and found nothing. Range 0 are pairs whose true means are equal.
    """

    name: ClassVar[str] = "power-of-tests"
    reference: ClassVar[str] = "Urbano, Lima and Hanjalic (2019b)"
    columns: ClassVar[Mapping[str, Columns]] = {
        "power": {
            "size": Column("Number of topics.", key=True),
            "test": Column("Test and correction.", key=True),
            "from": Column("Lower end of the range of true differences."),
            "to": Column("Upper end of that range; it may be infinite.", key=True),
            "pairs": Column("Number of pairs of systems in the range."),
            "found": Column(
                "Proportion called different in the right direction, on average over all repeats."
            ),
            "reversed": Column("Proportion called different in the wrong direction."),
        },
        "errors": {
            "size": Column("Number of topics.", key=True),
            "test": Column("Test and correction.", key=True),
            "found": Column("Power over all pairs with a true difference."),
            "any reversed": Column(
                "Proportion of repeats in which a pair was called different in the wrong direction."
            ),
            "any equal": Column(
                "Proportion of repeats in which a pair with equal true means was called different."
            ),
            "undone": Column("Number of repeats in which the test could not be done."),
        },
    }

    measure: str
    tests: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    alpha: float
    systems: int
    population: str
    edges: tuple[float, ...]
    repeated: pl.DataFrame
    options: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> pl.DataFrame:
        """Return the power by size of the true difference.

        Repeats in which the test could not be done count as without a significant pair.
        """
        ends = (0.0, *self.edges, np.inf)
        table = (
            self.repeated.filter(pl.col("range") > 0)
            .group_by("size", "test", "range", maintain_order=True)
            .agg(
                (pl.col("pairs").first()),
                (pl.col("right").sum() / pl.col("pairs").sum()).alias("found"),
                (pl.col("wrong").sum() / pl.col("pairs").sum()).alias("reversed"),
            )
        )
        at = table["range"].to_numpy()
        return table.with_columns(
            pl.Series("from", np.take(ends, at - 1)), pl.Series("to", np.take(ends, at))
        ).select("size", "test", "from", "to", "pairs", "found", "reversed")

    def errors(self) -> pl.DataFrame:
        """Return the power over all pairs, and the proportions of repeats with an error."""
        differs = pl.col("range") > 0
        by_repeat = self.repeated.group_by("size", "test", "repeat", maintain_order=True).agg(
            pl.col("right").sum(),
            pl.col("pairs").filter(differs).sum(),
            pl.col("wrong").filter(differs).sum().alias("reversed"),
            pl.col("wrong").filter(~differs).sum().alias("equal"),
            pl.col("undone").max(),
        )
        return by_repeat.group_by("size", "test", maintain_order=True).agg(
            (pl.col("right").sum() / pl.col("pairs").sum()).alias("found"),
            (pl.col("reversed") > 0).mean().alias("any reversed"),
            (pl.col("equal") > 0).mean().alias("any equal"),
            pl.col("undone").sum(),
        )

    @property
    def verdict(self) -> tuple[str, ...]:
        size = max(self.sizes)
        rows = self.errors().filter(pl.col("size") == size).drop_nulls("found")
        rows = rows.sort("found", descending=True, maintain_order=True)
        if rows.is_empty():
            return ()
        first, last = rows.row(0, named=True), rows.row(-1, named=True)
        best = attaining(rows, "found", first["found"], "test")
        share = f"{percent(first['found'])} of the pairs"
        if len(rows) == 1:
            found = f"{first['test']} finds {share} that differ."
        elif len(best) == len(rows):
            found = f"all {len(rows)} tests find equally many true differences, {share}."
        else:
            worst = attaining(rows, "found", last["found"], "test")
            found = (
                f"most true differences found: {names_or_count(best, 'test')}, {share};"
                f" fewest: {names_or_count(worst, 'test')}, {percent(last['found'])}."
            )
        most = max(rows["any reversed"].to_list())
        wrong = attaining(rows, "any reversed", most, "test")
        by = f" at most, by {names_or_count(wrong, 'test')}" if len(rows) > 1 else ""
        return (
            f"{labelled(self.measure)}on {counted(size, 'topic')} {found}",
            f"A worse system is called better in {percent(most)} of the repeats{by}."
            if most
            else "In no repeat a worse system is called better.",
            f"That rests on {counted(self.repeats, 'repeat')} with {self.population} topics.",
        )

    def heading(self) -> list[str]:
        return [
            f"{labelled(self.measure)}power of tests: {counted(self.systems, 'system')},"
            f" {self.population} topics, {counted(self.repeats, 'repeat')}",
            f"alpha {self.alpha:g}, seed {self.seed}",
            *explained(self.tests),
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"power": self.summary(), "errors": self.errors()}


@with_work
def power_of_tests(
    scores: Any,
    tests: Iterable[Any] = ("anova-2", "t"),
    *,
    population: Annotated[str, OneOf(POPULATIONS)] = "simulated",
    edges: Sequence[float] = EDGES,
    sizes: Sizes = None,
    repeats: Repeats = 1000,
    seed: Seed = 0,
    by_shard: Any = None,
    systems: Sequence[str] | None = None,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: Resamples = 1000,
    **work: Unpack[Work],
) -> PowerOfTests:
    """Count what tests find of differences that are known to be there.

    New topics are drawn from a population in which the true mean of each system is the one that it
    has on the real topics. With :func:`false_alarms` beside it, that is what a test is chosen by:
    of those that do not err too often, the one that finds most (Urbano, Lima and Hanjalic 2019).

    The true means are themselves estimates, and lie farther apart than those of systems do: read
    the power by size of the difference rather than over all pairs.

    Parameters
    ----------
    scores, tests, by_shard, systems, alpha, missing, resamples
        As for :func:`split_topics`, which raises the same errors.
    population
        Where the topics come from. `simulated`: from distributions fitted to scores, as
        :func:`cranfield.significance.fit_simulator` says, with the empirical copula;
        `resampled`: from the real topics, with replacement, also by shard.
    edges
        Ends of the ranges of true differences, above 0 and rising.
    sizes
        Numbers of topics, by default as many as there are.
    repeats
        How often topics are drawn.
    seed, jobs, backend, folder, progress
        As for :func:`split_topics`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> found = power_of_tests(scores, ["anova-2+tukey", "t+holm"], sizes=[50], repeats=50)
    >>> found.errors().select("test", pl.col("found").round(3), "any reversed").rows()
    [('anova-2', 0.726, 0.0), ('t', 0.815, 0.0)]
    """
    check_several("edges", edges)
    check_several("tests", tests)
    check_several("systems", systems)
    check_options(power_of_tests, locals())
    given = given_tests(scores, by_shard, tests, systems, None, alpha, missing, resamples)
    ends = tuple(float(edge) for edge in edges)
    if not ends or min(np.diff((0.0, *ends))) <= 0:
        raise PolicyError("edges of true differences rise from above 0")
    topics = len(given.scores.topics)
    wanted = checked_sizes([topics] if sizes is None else sizes, MOST_DRAWN, f"{MOST_DRAWN:,}")
    found = run_parts(
        _block_of_differences,
        (given, drawn_from(given, population), ends, seed),
        {
            f"{size:05d}-{start:06d}-{stop:06d}": (size, start, stop)
            for size in wanted
            for start, stop in blocks(repeats, 25)
        },
        about={
            "study": "power of tests",
            "population": population,
            "edges": list(ends),
            **given.about(seed),
        },
        **work,
    )
    [members] = given.groups.values()
    return PowerOfTests(
        given.scores.measure,
        tuple(one.label for one in given.tests),
        wanted,
        repeats,
        seed,
        alpha,
        len(members),
        population,
        ends,
        found,
        {"missing": missing, "resamples": resamples},
    )


def _block_of_differences(
    shared: tuple[Given, Drawn, tuple[float, ...], int], task: tuple[int, int, int]
) -> pl.DataFrame:
    given, drawn, edges, seed = shared
    size, start, stop = task
    by_test = {test.label: _true(drawn, by_shard=test.by_shard) for test in given.tests}
    rows = []
    for repeat in range(start, stop):
        own_seed = seed_of(seed, size, repeat)
        for test in given.tests:
            scores = drawn.data_set(test, size, seed, repeat)
            verdict, done = verdict_or_none(test, scores, own_seed)
            true = by_test[test.label]
            right = verdict.significant & (verdict.order == np.sign(true))
            wrong = verdict.significant & ~right
            at = np.where(true == 0, 0, 1 + np.searchsorted(edges, np.abs(true)))
            kinds = (np.ones_like(right), right, wrong)
            counts = (np.bincount(at, one, len(edges) + 2) for one in kinds)
            rows += [
                (size, repeat, test.label, k, *map(int, some), int(not done))
                for k, some in enumerate(zip(*counts, strict=True))
                if some[0]
            ]
    names = ("size", "repeat", "test", "range", "pairs", "right", "wrong", "undone")
    return pl.DataFrame(rows, schema=names, orient="row")


def _true(drawn: Drawn, *, by_shard: bool) -> Floats:
    """Return the true differences of all pairs; those by rounding are 0."""
    source = drawn.by_shard if by_shard and drawn.by_shard is not None else drawn.whole
    means = source.means
    return all_pairs(means[None, :]).differences_of(means)
