"""How much of what is there a test finds, and in which direction, where true means are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted, names_or_count
from cranfield.meta.of_tests.fast_tests import verdict_or_none
from cranfield.meta.of_tests.given import Given, checked_sizes, explained, given_tests
from cranfield.meta.of_tests.known_means import MOST_DRAWN, Drawn, drawn_from, seed_of
from cranfield.meta.study import Study, attaining, labelled, percent
from cranfield.meta.work.options import OneOf, Repeats, Resamples, Seed, Sizes, check_options
from cranfield.meta.work.parts import Work, blocks, run_parts, with_work
from cranfield.significance.pairs import all_pairs
from cranfield.tabular import Table, from_frame

POPULATIONS = ("simulated", "resampled")
"""Where new topics come from: fitted distributions, or the real topics, with replacement."""

EDGES = (0.01, 0.02, 0.05, 0.1)
"""Upper ends of ranges of true differences."""


@dataclass(frozen=True, eq=False, repr=False)
class PowerOfTests(
    Study,
    name="power-of-tests",
    source="Urbano, Lima and Hanjalic (2019b)",
    keys={"power": ("size", "test", "to"), "errors": ("size", "test")},
    main="summary",
):
    """What tests find of true differences.

    Attributes
    ----------
    measure, systems
        Text form of the measure; number of systems.
    tests, sizes, repeats, seed, alpha, population, edges
        As they were given.
    repeated
        Table with a row for each `size`, `repeat`, `test` and `range` of true differences: the
        `pairs` of it; `right` and `wrong`, how many were called different in the right direction,
        and in the wrong one or without any true difference; `undone` is 1 where the test could not
        be done, and found nothing. Range 0 are pairs whose true means are equal.
    """

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

        A row for each size, test and range `from` one difference `to` another: `pairs` of systems;
        `found`, the share of them called different in the right direction, on average; `reversed`,
        the share in the wrong one (error of type III). Repeats in which the test could not be done
        count as nothing found.
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
        """Return what is found over all pairs, and the shares of repeats with an error.

        A row for each size and test: `found`, of all pairs that differ; `any reversed`, the share
        of repeats in which a pair was found in the wrong direction; `any equal`, in which a pair
        with equal true means was found; `undone`, repeats in which the test could not be done.
        """
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
        return [f"alpha {self.alpha:g}, seed {self.seed}", *explained(self.tests)]

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"power": self.summary(), "errors": self.errors()}

    def tables(self) -> list[Table]:
        drawn = f"{counted(self.systems, 'system')}, {self.population} topics"
        title = f"True differences found: {drawn}, {counted(self.repeats, 'repeat')}"
        return [
            from_frame(self.summary(), f"{title}, by size of the difference", left=["test"]),
            from_frame(self.errors(), title, left=["test"]),
        ]

    def __repr__(self) -> str:
        return (
            f"PowerOfTests({self.measure or 'scores'}: {', '.join(self.tests)}; sizes"
            f" {list(self.sizes)}, {self.repeats} repeats, {self.population})"
        )


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
        `simulated`: from distributions fitted to scores, as
        :func:`cranfield.significance.fit_simulator` says, with the empirical copula;
        `resampled`: from the real topics, with replacement, also by shard.
    edges
        Ends of the ranges of true differences, above 0 and rising.
    sizes
        Numbers of topics, by default as many as there are.
    repeats
        How often topics are drawn.
    seed, jobs, backend, scheduler, folder, progress
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
    check_options(power_of_tests, locals())
    given = given_tests(scores, by_shard, tests, systems, None, alpha, missing, resamples)
    ends = tuple(float(edge) for edge in edges)
    if not ends or min(np.diff((0.0, *ends))) <= 0:
        raise PolicyError("edges of true differences rise from above 0")
    topics = len(given.scores.topics)
    wanted = checked_sizes([topics] if sizes is None else sizes, MOST_DRAWN, f"{MOST_DRAWN:,}")
    found = run_parts(
        _block,
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


def _block(
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
