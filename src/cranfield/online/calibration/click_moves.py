"""How users move from click to click, and how long they stay, for Markov precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.words import counted
from cranfield.measures.base import Measure
from cranfield.measures.users.markov import MarkovPrecision
from cranfield.online.log.query_log import QueryLog
from cranfield.tabular.frames import Framed

STAYS = ("rank", "grade")


@dataclass(frozen=True, eq=False, repr=False)
class ClickMoves(Framed):
    """Moves between successive clicks on a page; made by :func:`click_moves`.

    Attributes
    ----------
    counts
        Moves from each rank (row) to each rank (column); a second click on the same result in a row
        is a move to where the user is. Shape (ranks, ranks).
    stays
        Data frame, a row a rank and a grade: `by`, `value`, `mean` (seconds), `clicks` of a known
        dwell time, `censored` of them. Without rows if the log tells no dwell times.
    pages
        Pages with at least one move.
    left_out
        Moves that are not counted, from or to a rank below the last one.
    unknown
        Clicks whose dwell time is not known.
    """

    counts: Ints
    stays: pl.DataFrame
    pages: int
    left_out: int
    unknown: int

    def measure(self, *, stays: str | None = None, prior: float = 1.0, **options: Any) -> Measure:
        """Return Markov precision for these users.

        Parameters
        ----------
        stays
            None for discrete time; `rank` or `grade` for continuous time, where users stay at each
            rank, or at each document of a grade, as long as in the log on the mean.
        prior
            Moves that are added to those counted between any two different ranks, above 0; with
            `loops=True` also to those to the same rank.
        options
            Other parameters of `MP`, such as `states='relevant'` or `recall=True`.

        Returns
        -------
        Measure
            Its text form has all moves and times, and reads back the same.

        Raises
        ------
        PolicyError
            For a prior that is not above 0.
        InputError
            If there are no dwell times.
        """
        if not prior > 0 or not np.isfinite(prior):
            raise PolicyError(f"prior={prior} is not a number above 0")
        often = self.counts + prior
        if not options.get("loops"):
            np.fill_diagonal(often, 0.0)
        if stays is not None:
            check_choice("stays", stays, STAYS)
            known = self.stays.filter((pl.col("by") == stays) & (pl.col("mean") > 0))
            if known.is_empty():
                raise InputError(f"the log has no dwell times by {stays}")
            options["dwell"] = dict(known.select("value", "mean").iter_rows())
            options["dwell_by"] = stays
        moves = {
            at: {to: float(one) for to, one in enumerate(row, 1) if one}
            for at, row in enumerate(often.tolist(), 1)
        }
        return MarkovPrecision(moves=moves, **options)

    def to_polars(self) -> pl.DataFrame:
        """Return a table: `from`, `to` and the number of moves."""
        start, end = np.indices(self.counts.shape) + 1
        return pl.DataFrame(
            {"from": start.ravel(), "to": end.ravel(), "moves": self.counts.ravel()}
        )

    def __repr__(self) -> str:
        said = [
            counted(int(self.counts.sum()), "move"),
            counted(self.counts.shape[0], "rank"),
            counted(self.pages, "page"),
            *([f"{self.left_out:,} left out"] if self.left_out else []),
        ]
        return f"ClickMoves({', '.join(said)})"


def click_moves(log: QueryLog, *, ranks: int = 10) -> ClickMoves:
    """Count how users move from click to click of a page, in order of time.

    Clicks on no result are passed over. The mean time at a rank or grade is that of an exponential
    time, the seconds of all clicks over the number of those whose time is not censored.

    Parameters
    ----------
    ranks
        The last rank that counts, 2 to 100.

    References
    ----------
    Ferrante, M., Ferro, N. and Maistro, M. (2014). Injecting user models and time into precision
    via Markov chains. SIGIR 2014, 597-606.

    Examples
    --------
    >>> import cranfield as cf
    >>> moves = cf.online.click_moves(cf.online.simulated_log(), ranks=3)
    >>> measure = moves.measure(stays="rank")
    >>> cf.parse_measure(str(measure)) == measure
    True
    """
    check_whole("ranks", ranks, 2, 100)
    log.require("clicks", purpose="a table of click moves")
    on = log.clicks.filter(pl.col("rank") >= 1)
    next_to = on.select(
        start=pl.col("rank"),
        end=pl.col("rank").shift(-1),
        page=pl.col("page"),
        same=pl.col("page") == pl.col("page").shift(-1),
    ).filter("same")
    near = next_to.filter((pl.col("start") <= ranks) & (pl.col("end") <= ranks))
    flat = near.select((pl.col("start") - 1).cast(pl.Int64) * ranks + pl.col("end") - 1)
    counts = np.bincount(flat.to_series().to_numpy(), minlength=ranks * ranks)
    stays, unknown = _stays(log, on.filter(pl.col("rank") <= ranks))
    return ClickMoves(
        counts.reshape(ranks, ranks).astype(np.int64),
        stays,
        near["page"].n_unique(),
        next_to.height - near.height,
        unknown,
    )


def _stays(log: QueryLog, clicks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Mean dwell times by rank and grade, and the number of clicks without one."""
    if "dwell" not in clicks.columns:
        clicks = clicks.with_columns(dwell=pl.lit(None, pl.Float64))
    if "censored" not in clicks.columns:
        clicks = clicks.with_columns(censored=pl.lit(False))
    if "grade" in log.results.columns:
        clicks = clicks.join(
            log.results.select("page", "rank", "grade"), on=["page", "rank"], how="left"
        )
    known = clicks.filter(pl.col("dwell") >= 0)
    censored = pl.col("censored").fill_null(False)
    tables = [
        known.drop_nulls(by)
        .group_by(value=pl.col(by).cast(pl.Int64))
        .agg(
            (pl.col("dwell").sum() / (~censored).sum()).alias("mean"),
            pl.len().cast(pl.Int64).alias("clicks"),
            censored.sum().cast(pl.Int64).alias("censored"),
        )
        .filter(pl.col("clicks") > pl.col("censored"))
        .sort("value")
        .select(by=pl.lit(by), value="value", mean="mean", clicks="clicks", censored="censored")
        for by in STAYS
        if by in clicks.columns
    ]
    return pl.concat(tables), clicks.height - known.height
