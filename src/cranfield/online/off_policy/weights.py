"""Weights of logged actions, by what rewards are taken to depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError, PolicyError
from cranfield.online.off_policy.logged_actions import LoggedActions

DEPENDS = {
    "position": "a reward depends on the action at its own position (item-position model)",
    "above": "a reward depends on its own action and those above it (cascade)",
    "list": "a reward depends on all actions of its list",
}
"""What the reward of a position depends on."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of actions.

    each: of each row, for its reward, shape (rows,).
    before: what an expected reward of its position is weighted by, shape (rows,).
    drawn: those that are independent draws of a weight with mean 1: of rows or of lists.
    """

    each: Floats
    before: Floats
    drawn: Floats

    def clipped(self, most: float) -> Weights:
        return Weights(*(np.minimum(part, most) for part in (self.each, self.before, self.drawn)))


def weights_of(logged: LoggedActions, depends: str, purpose: str) -> Weights:
    """Divide the chances of a policy by those of the log."""
    chance = logged.column("chance", purpose)
    each = chance / logged.column("propensity", purpose)
    if depends == "position":
        return Weights(each, np.ones(each.size), each)
    frame = logged.rows.select("list", weight=pl.Series(each))
    if depends == "list":
        product = frame.select(pl.col("weight").product().over("list"))["weight"].to_numpy()
        first = logged.rows["list"].is_first_distinct().to_numpy()
        return Weights(product, np.ones(each.size), product[first])
    down = frame.select("list", weight=pl.col("weight").cum_prod().over("list")).with_columns(
        before=pl.col("weight").shift(1, fill_value=1.0).over("list")
    )
    product = down["weight"].to_numpy()
    return Weights(product, down["before"].to_numpy(), product)


def pseudo_inverse(logged: LoggedActions, candidates: int, repeats: bool) -> Weights:
    r"""Weigh lists drawn uniformly from m candidates, for rewards that are sums over positions.

    With q(k, a) the chance that the policy shows a at position k, a logged list s of L positions
    weighs :math:`1_s^\top \Gamma^+ q`, where Gamma is the matrix of second moments of lists. Its
    eigenvectors are known: with A the sum of q(k, s_k), and B of all chances to show a document of
    s anywhere,

    .. math:: 1 + \frac{m(m-1)}{m-L} \left(\frac BL - \frac Lm\right)
        + (m-1)\left(A - \frac BL\right)

    without the middle term where m = L; and m A - L + 1 where a list may repeat an action.
    """
    rows = logged.rows
    chance = logged.column("chance", "PI")
    code = rows["list"].to_numpy()
    lengths = np.bincount(code)
    length, m = int(lengths[0]), candidates
    if (lengths != length).any():
        raise InputError("PI needs lists of one length", source=logged.source)
    if length > m and not repeats:
        raise PolicyError(f"lists of {length} positions have at least {length} candidates")
    here: Floats = np.bincount(code, weights=chance).astype(np.float64)
    if repeats:
        whole = np.asarray(m * here - length + 1.0)
    else:
        # Where all candidates are shown, so is what the policy shows.
        anywhere = (
            logged.column("anywhere", "PI with more candidates than positions")
            if length < m or "anywhere" in rows.columns
            else np.ones(code.size)
        )
        shown = np.bincount(code, weights=anywhere) / length
        whole = np.asarray(1 + (m - 1) * (here - shown))
        if length < m:
            whole = whole + m * (m - 1) / (m - length) * (shown - length / m)
    return Weights(whole[code], np.ones(code.size), whole)


def check_uniform(logged: LoggedActions, candidates: int, repeats: bool) -> None:
    """Refuse propensities that are not those of uniformly drawn lists."""
    if "propensity" not in logged.rows.columns:
        return
    given = logged.rows["propensity"].to_numpy()
    place = logged.rows.select(pl.int_range(pl.len()).over("list")).to_series().to_numpy()
    left = candidates if repeats else candidates - place
    alike = [np.abs(given * number - 1) < 1e-6 for number in (candidates, left)]
    if not (alike[0].all() or alike[1].all()):
        raise InputError(
            "PI is for lists drawn uniformly, and propensities are not 1 / candidates",
            source=logged.source,
        )
