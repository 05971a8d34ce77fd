"""The persistence of RBP, from how deep the users of a log went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, check_share
from cranfield.base.errors import InputError
from cranfield.base.words import counted
from cranfield.measures.base import Measure
from cranfield.measures.users.rank_biased import RankBiasedPrecision
from cranfield.online.calibration.examination import examined
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog
from cranfield.tabular import between, number
from cranfield.tabular.frames import Framed

UNITS = ("page", "query", "session", "user")


@dataclass(frozen=True, eq=False, repr=False)
class Persistence(Framed):
    """Persistence p, the chance to go on to the next rank; made by :func:`rbp_persistence`.

    Attributes
    ----------
    p
        Times that users went on, over times that they could have.
    error
        Standard error, by units; NaN for one unit.
    interval
        Confidence limits, on the scale of logits; NaN where there are none.
    confidence
        Their confidence.
    by
        `lowest click`, or the click model.
    unit, units
        What is taken for independent, and the number of them.
    pages, left_out
        Pages that count, and those that do not: without a click, or without results.
    """

    p: float
    error: float
    interval: tuple[float, float]
    confidence: float
    by: str
    unit: str
    units: int
    pages: int
    left_out: int

    def measure(self, **options: Any) -> Measure:
        """Return RBP with this persistence, and other parameters if they are given."""
        return RankBiasedPrecision(p=self.p, **options)

    def to_polars(self) -> pl.DataFrame:
        """Return a table of one row."""
        limits = dict(zip(("low", "high"), self.interval, strict=True))
        names = ("by", "p", "error", "low", "high", "confidence", "unit", "units", "pages")
        return pl.DataFrame([vars(self) | limits]).select(*names, "left_out")

    def __repr__(self) -> str:
        limits = between(*self.interval)
        said = [f"p {number(self.p)}", *([limits] if limits else []), f"by {self.by}"]
        said += [counted(self.pages, "page"), *([] if self.unit == "page" else [f"by {self.unit}"])]
        return f"Persistence({', '.join(said)})"


def rbp_persistence(
    log: QueryLog,
    *,
    model: ClickModel | None = None,
    unit: str = "page",
    confidence: float = 0.95,
) -> Persistence:
    r"""Estimate the persistence of RBP from a log.

    A user who goes on with the chance p reads D ranks, :math:`P(D = d) = p^{d-1}(1-p)`. On a page
    of n ranks D is known up to n: who read rank n may have gone on. The likelihood is highest at

    .. math:: \hat p = \sum_j (d_j - 1) \Big/ \sum_j \min(d_j, n_j - 1)

    which is the number of times that users went on, over the number of times that they could have.

    Parameters
    ----------
    log
        Pages with clicks, and best with all results: without them no page has an end.
    model
        By default users read down to their lowest click, and pages without a click, which tell
        nothing of depth, are left out and counted. Users who read on and did not click make that
        too low. With a trained model of users who go from rank to rank (CM, SDBN, DCM, DBN, CCM)
        the chances that ranks were examined, given all clicks of the page, take the place of d.
    unit
        What the standard error takes for independent: `page`, `query`, `session` or `user`. The
        error does not know of that of the model's parameters.

    Raises
    ------
    InputError
        For a log without a click, or in which no user could go on.
    PolicyError
        For a model of other users.

    References
    ----------
    Ferro, N. and Maistro, M. (2024), section 5.1; Moffat, A. and Zobel, J. (2008).

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> cf.online.rbp_persistence(log).p < 1
    True
    """
    check_choice("unit", unit, UNITS)
    check_share("confidence", confidence)
    frame = _by_lowest_click(log) if model is None else _by_examined(log, model)
    if unit != "page":
        log.require("pages", unit, purpose=f"a standard error by {unit}")
        frame = frame.with_columns(unit=log.pages[unit].gather(frame["page"]))
        frame = frame.group_by("unit", maintain_order=True).agg(
            pl.col("on", "could", "pages").sum()
        )
    on, could = frame["on"].to_numpy(), frame["could"].to_numpy()
    pages = int(frame["pages"].sum())
    if not could.sum() > 0:
        raise InputError("there is no page on which a user could go on", source=log.source)
    p = float(on.sum() / could.sum())
    error = _error(on - p * could, float(could.sum()))
    limits = _limits(p, error, confidence)
    by = "lowest click" if model is None else str(model.model)
    left_out = log.pages.height - pages
    return Persistence(p, error, limits, confidence, by, unit, frame.height, pages, left_out)


def _error(left: Floats, could: float) -> float:
    """Standard error of a ratio of sums by unit, by the delta method."""
    units = left.size
    if units < 2:
        return float("nan")
    return float(np.sqrt(units / (units - 1) * np.square(left).sum()) / could)


def _limits(p: float, error: float, confidence: float) -> tuple[float, float]:
    if not (0 < p < 1 and error > 0):
        return (float("nan"), float("nan"))
    half = float(ndtri((1 + confidence) / 2)) * error / (p * (1 - p))
    logit = np.log(p / (1 - p))
    low, high = (1 / (1 + np.exp(-(logit + sign * half))) for sign in (-1, 1))
    return (float(low), float(high))


def _by_lowest_click(log: QueryLog) -> pl.DataFrame:
    """Times that users went on, and could have, of each page with a click on a result."""
    log.require("clicks", purpose="a persistence")
    depth = (
        log.clicks.filter(pl.col("rank") >= 1)
        .group_by("page", maintain_order=True)
        .agg(pl.col("rank").max().cast(pl.Int64).alias("depth"))
    )
    length = log.results.group_by("page").agg(pl.col("rank").max().cast(pl.Int64).alias("length"))
    joined = depth.join(length, on="page", how="left", maintain_order="left")
    if log.results.is_empty():
        joined = joined.with_columns(length=pl.col("depth") + 1)
    return joined.drop_nulls("length").select(
        "page",
        on=(pl.col("depth") - 1).cast(pl.Float64),
        could=pl.min_horizontal("depth", pl.col("length") - 1).cast(pl.Float64),
        pages=pl.lit(1),
    )


def _by_examined(log: QueryLog, model: ClickModel) -> pl.DataFrame:
    pages = model.patterns(log)
    seen = examined(model.model, model.values, pages)
    size = len(pages)
    on = np.bincount(pages.pattern, seen * (pages.rank > 0), size)
    could = np.bincount(pages.pattern, seen * (pages.rank < pages.lengths[pages.pattern] - 1), size)
    shown = np.flatnonzero(pages.page >= 0)
    kind = pages.page[shown]
    return pl.DataFrame({"page": shown, "on": on[kind], "could": could[kind]}).with_columns(
        pages=pl.lit(1)
    )
