"""How many impressions interleaving and A/B tests take: the result of the study, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import Floats
from cranfield.base.shares import wilson
from cranfield.base.words import counted, names_or_count
from cranfield.meta.of_users.simulation import AB
from cranfield.meta.study import Study, percent
from cranfield.online.interleaving.impressions_needed import impressions_needed
from cranfield.tabular import Table, from_frame

KIND = ("user", "method")
PAIR = ("first", "second")


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(
    Study,
    name="interleaving",
    source="Radlinski, Kurup and Joachims (2008); Chapelle, Joachims, Radlinski and Yue (2012)",
    keys={
        "interleaving sensitivity": KIND,
        "interleaving pairs": (*KIND, *PAIR),
    },
    main="sensitivity",
):
    """Methods of interleaving beside A/B tests; see :func:`interleaving_sensitivity`.

    Attributes
    ----------
    measure
        Text form of the offline measure whose signs are compared.
    methods, users
        Text forms of the methods, and names of the users.
    impressions
        Simulated impressions of each topic, for each pair of systems, method and user; of A/B tests
        as many for either list.
    length, topics
        Ranks of a page, and number of topics.
    power, alpha
        Of the test for which impressions are told.
    seed
        Of all draws.
    sensitivity
        Table with a row a user and method: how many `pairs` of systems; the `median needed` number
        of impressions, and `times fewer` than A/B as the median over pairs of the ratio; how many
        pairs are `told apart` by the simulated impressions, that is, their effect is not within the
        limits of chance; of these, how many `agree` in sign with the measure, and their share,
        `agreement`, of those that the measure tells apart; the same of all pairs, `agreement of
        all`.
    pairs
        Table with a row a user, method and pair of systems: the `difference` of the measure, first
        less second; the `effect`, which is w / (w + l) - 1/2 of interleaving, and the difference of
        clicks a page of A/B tests; its limits, `low` and `high`; the share that `decides` of the
        impressions; and the impressions `needed`, with limits from those of the effect. Null:
        infinitely many.
    notes
        What should be known.
    """

    measure: str
    methods: tuple[str, ...]
    users: tuple[str, ...]
    impressions: int
    length: int
    topics: int
    power: float
    alpha: float
    seed: int
    sensitivity: pl.DataFrame
    pairs: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.sensitivity.filter(pl.col("method") != AB).drop_nulls("median needed")
        if rows.is_empty():
            return ()
        row = rows.sort("median needed", maintain_order=True).row(0, named=True)
        tied = rows.filter(pl.col("median needed") == row["median needed"])
        least = [
            f"{one['method']} with the user {one['user']}" for one in tied.iter_rows(named=True)
        ]
        fewer = (
            ""
            if row["times fewer"] is None or len(tied) > 1
            else f", {row['times fewer']:.1f} times fewer than A/B tests"
        )
        agree = (
            ""
            if row["agreement"] is None or len(tied) > 1
            else f" Of the {counted(row['told apart'], 'pair')} that it told apart here,"
            f" {percent(row['agreement'])} have the sign of {self.measure}, where that has one."
        )
        needed = counted(round(row["median needed"]), "impression")
        return (
            f"The fewest impressions are needed by {names_or_count(least, 'method')}: {needed} in"
            f" the median pair of systems{fewer}.{agree}",
            "Users are simulated: that they click like people is an assumption.",
        )

    def heading(self) -> list[str]:
        of_pair = self.pairs.select(PAIR).n_unique()
        return [
            f"interleaving: {counted(of_pair, 'pair')} of systems, {counted(self.topics, 'topic')},"
            f" {counted(self.impressions, 'impression')} of each, top {self.length}; impressions"
            f" needed for power {self.power:g} at {self.alpha:g}; seed {self.seed}"
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        return dict(zip(self.keys, (self.sensitivity, self.pairs), strict=True))

    def about(self) -> dict[str, Any]:
        options = ("measure", "methods", "users", "impressions", "length", "topics")
        return {"study": self.name, **self._chosen(*options, "power", "alpha", "seed")}

    def tables(self) -> list[Table]:
        places = {"median needed": 0, "times fewer": 1, "agreement": 3, "agreement of all": 3}
        title = f"Impressions needed, and agreement with {self.measure}, by user"
        return [from_frame(self.sensitivity, title, places=places)]

    def __repr__(self) -> str:
        users, pairs = counted(len(self.users), "user"), self.pairs.select(PAIR).n_unique()
        methods = counted(len(self.methods), "method")
        return f"Sensitivity({methods}, {users}, {counted(pairs, 'pair')})"


def effects(
    rows: pl.DataFrame, pages: int, power: float, alpha: float, confidence: float = 0.95
) -> pl.DataFrame:
    """Make effects, and the impressions they need, of what was counted on so many pages."""
    found = []
    quantile = float(ndtri((1 + confidence) / 2))
    for method, counts in rows.select("method", "counts").iter_rows():
        known = np.array(counts, dtype=float)
        of = _two_samples if method == AB else _signs
        found.append(of(known, pages, power, alpha, quantile))
    names = ("effect", "low", "high", "decides", "needed", "needed low", "needed high")
    columns = np.array(found, dtype=float).reshape(-1, len(names)).T
    made = rows.drop("counts").with_columns(
        pl.Series(name, values) for name, values in zip(names, columns, strict=True)
    )
    numbers = pl.selectors.float()
    return made.with_columns(pl.when(numbers.is_finite()).then(numbers).name.keep())


def _signs(
    counts: Floats, pages: int, power: float, alpha: float, quantile: float
) -> tuple[float, ...]:
    decided = counts[0] + counts[1]
    if not decided:
        return (np.nan,) * 3 + (0.0,) + (np.inf,) * 3
    share = counts[0] / decided
    low, high = (float(one) for one in wilson(share, decided, quantile))
    near, far = _near_and_far(low - 0.5, high - 0.5)
    needed = (
        impressions_needed(0.5 + one, decided / pages, power=power, alpha=alpha)
        for one in (share - 0.5, far, near)
    )
    return (share - 0.5, low - 0.5, high - 0.5, decided / pages, *needed)


def _two_samples(
    counts: Floats, pages: int, power: float, alpha: float, quantile: float
) -> tuple[float, ...]:
    means, squares = counts[:2] / pages, counts[2:] / pages
    variance = float((squares - means**2).sum())
    effect = means[0] - means[1]
    # At an alpha that is nearly 0 limits are endless, or none where nothing varies.
    with np.errstate(invalid="ignore"):
        half = quantile * np.sqrt(variance / pages)
        near, far = _near_and_far(effect - half, effect + half)
        both = (ndtri(1 - alpha / 2) + ndtri(power)) ** 2
        # So many pages of either list; a variance takes two.
        needed = [
            2 * max(2.0, np.ceil(both * variance / one**2)) if one else np.inf
            for one in (effect, far, near)
        ]
    return (effect, effect - half, effect + half, 1.0, *needed)


def _near_and_far(low: float, high: float) -> tuple[float, float]:
    """Return the limit nearer to 0, which is 0 if it lies between them, and the farther one."""
    near = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return near, max(abs(low), abs(high))


def summarised(pairs: pl.DataFrame) -> pl.DataFrame:
    """Put the pairs of a user and method together."""
    ab = pairs.filter(pl.col("method") == AB).select("user", *PAIR, ab="needed")
    sign, known = pl.col("effect").sign(), pl.col("difference") != 0
    apart = (pl.col("low") > 0) | (pl.col("high") < 0)
    agree = (sign == pl.col("difference").sign()) & known
    # Infinitely many where null.
    needed, of_ab = pl.col("needed").fill_null(np.inf), pl.col("ab").fill_null(np.inf)
    found = (
        pairs.join(ab, on=["user", *PAIR], how="left", maintain_order="left")
        .with_columns(pl.col("low", "high", "effect").fill_null(0.0))
        .group_by(*KIND, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("pairs"),
            needed.median().alias("median needed"),
            (of_ab / needed).fill_nan(None).median().alias("times fewer"),
            apart.sum().cast(pl.Int64).alias("told apart"),
            (agree & apart).sum().cast(pl.Int64).alias("agree"),
            ((agree & apart).sum() / (apart & known).sum()).alias("agreement"),
            (agree.sum() / known.sum()).alias("agreement of all"),
        )
    )
    numbers = pl.selectors.float()
    return found.with_columns(pl.when(numbers.is_finite()).then(numbers).name.keep())
