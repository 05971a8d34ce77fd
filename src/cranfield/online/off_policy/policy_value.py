"""What a policy would have been worth to the users of a log that another policy made."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import check_choice, check_whole, numbers
from cranfield.base.errors import InputError, PolicyError
from cranfield.online.off_policy.limits_by_unit import LimitsBy, two_means
from cranfield.online.off_policy.logged_actions import LoggedActions, logged_actions
from cranfield.online.off_policy.value_with_limits import FAR, PolicyValue, WeightSummary
from cranfield.online.off_policy.weights import (
    DEPENDS,
    Weights,
    check_uniform,
    pseudo_inverse,
    weights_of,
)

ESTIMATORS = {
    "IPS": "rewards, weighted by the chance under the policy over the propensity",
    "SNIPS": "the same, divided by the mean weight",
    "DM": "expected rewards as they are given",
    "DR": "expected rewards, corrected by weighted errors of predicted ones",
    "PI": "pseudo-inverse, where rewards are sums over positions and lists were drawn uniformly",
}
"""The estimators and what they do."""

UNITS = ("list", "query", "session", "user")
"""What is taken to be independent."""


def policy_value(
    logged: Any,
    policy: Any = None,
    estimator: str = "IPS",
    *,
    depends: str = "position",
    clip: float | None = None,
    candidates: int | None = None,
    repeats: bool = False,
    unit: str = "list",
    confidence: float = 0.95,
    resamples: int = 0,
    seed: int = 0,
) -> PolicyValue:
    r"""Estimate what a policy would have been worth from a log that another policy made by chance.

    An action a was taken with propensity :math:`\pi_0(a)` and had reward r; the policy asked about
    takes it with chance :math:`\pi(a)`. With weights :math:`w = \pi(a) / \pi_0(a)`,

    .. math:: \mathrm{IPS} = \frac1n \sum_i w_i r_i, \quad
        \mathrm{SNIPS} = \frac{\sum_i w_i r_i}{\sum_i w_i}, \quad
        \mathrm{DR} = \frac1n \sum_i \left(\hat e_i + w_i (r_i - \hat q_i)\right)

    where :math:`\hat q` is the reward predicted of the action, and :math:`\hat e` its expectation
    under the policy; DM is their mean alone. Of lists the rewards of positions are added. A weight
    is that of the position, the product of those down to it, or of the whole list, as rewards
    depend on the `position`, on those `above` too, or on the whole `list`.

    IPS and DR are right on average if propensities are, if rewards depend on what was said, and if
    each action of the policy has a propensity above 0. Clipped weights, SNIPS and DM are not.

    Source: Horvitz and Thompson (1952); Swaminathan and Joachims (2015), SNIPS; Dudík, Langford and
    Li (2011), DR; Li and others (2018), item-position; McInerney and others (2020), cascade;
    Kiyohara and others (2022), cascade DR; Swaminathan and others (2017), PI.

    Parameters
    ----------
    logged
        A :class:`QueryLog` whose results have a `propensity`, where a reward is whether a result
        was clicked; or a table, a row an action: `reward`, `propensity` in (0, 1], and
        `chance` under the policy where there is no `policy`; for lists `page` and `position`; for
        DM and DR `expected`, for DR `predicted`; further `action`, `query`, `user`, `session`.
        Where rewards depend on more than the position, propensities and chances are of the action
        given those above it. For a cascade `predicted` is the reward from this position down.
    policy
        A run, which shows its documents at their ranks for sure; or a table with `action`,
        `chance`, and `query` and `position` where chances depend on them: they sum to 1 at each
        position.
    estimator
        IPS, SNIPS, DM, DR, or PI.
    depends
        `position`, `above` or `list`.
    clip
        The largest weight; larger ones are cut.
    candidates, repeats
        For PI: among how many actions each list was drawn uniformly, and whether a list could
        repeat one.
    unit
        What is independent: `list`, or `query`, `session` or `user` if the log has them.
    confidence
        Of the limits.
    resamples, seed
        Of the bootstrap over units; by default limits are by Student's t.

    Returns
    -------
    PolicyValue
        With the value of the log and the difference, what weights are like, and warnings.

    Raises
    ------
    InputError
        For a propensity that is 0 or above 1, chances that are none, or columns that lack.
    PolicyError
        For an unknown option, and for chances that do not sum to 1.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"reward": [1, 0, 0, 1], "propensity": [0.5] * 4, "chance": [0.8, 0.2, 0.2, 0.8]}
    >>> found = policy_value(pl.DataFrame(rows))
    >>> found.estimate, found.logged, round(found.ess, 2)
    (0.8, 0.5, 2.94)
    """
    check_choice("estimator", estimator, ESTIMATORS)
    check_choice("depends", depends, DEPENDS)
    how = LimitsBy(confidence, resamples, seed)
    check_clip(clip)
    if (estimator == "PI") != (candidates is not None):
        raise PolicyError("PI needs the number of candidates, and no other estimator does")
    read = logged_actions(logged, policy)
    code = read.rows["list"].to_numpy()
    lists = int(code[-1]) + 1
    reward = read.rows["reward"].to_numpy()
    weights = None
    if estimator == "PI":
        check_whole("candidates", candidates, 1)
        weights = pseudo_inverse(read, int(candidates or 0), repeats)
        check_uniform(read, int(candidates or 0), repeats)
    elif estimator != "DM":
        weights = weights_of(read, depends, estimator)
    used = weights if weights is None or clip is None else weights.clipped(clip)
    value = _contributions(read, reward, used, estimator, depends)
    below = np.ones(lists)
    if estimator == "SNIPS" and used is not None:
        below = np.bincount(code, weights=used.each) / np.bincount(code).astype(np.float64)
        if not below.any():
            raise InputError("SNIPS has no weight above 0", source=read.source)
    totals = np.stack([np.bincount(code, weights=part) for part in (value, reward)], axis=1)
    firsts = read.rows.filter(pl.col("list").is_first_distinct())
    unit_code, units = unit_codes(firsts, unit, read.source)
    pairs = np.stack([below, np.ones(lists)], axis=1)
    means = two_means(totals, pairs, unit_code, units, how)
    said = None if weights is None else WeightSummary.of(weights.drawn, clip)
    return PolicyValue(
        estimator=estimator if estimator == "PI" else f"{estimator} by {depends}",
        means=means,
        lists=lists,
        units=units,
        unit=unit,
        weights=said,
        unseen=read.unseen,
        how=how,
        warnings=(
            *read.notes,
            *means.notes(units, unit),
            *_doubts(read, weights, said, unit_code, units),
        ),
    )


def check_clip(clip: float | None) -> None:
    if clip is not None and not (float(numbers(clip, "clip")) > 0):
        raise PolicyError(f"clip is a weight above 0, not {clip!r}")


def _contributions(
    read: LoggedActions, reward: Floats, weights: Weights | None, estimator: str, depends: str
) -> Floats:
    """What each row adds to the value of its list."""
    if estimator in {"DM", "DR"}:
        expected = read.column("expected", estimator)
        if weights is None:
            # In a cascade, expected rewards are those from the position down.
            first = read.rows["list"].is_first_distinct().to_numpy()
            return np.asarray(np.where(first, expected, 0.0) if depends == "above" else expected)
        error = reward - read.column("predicted", estimator)
        return np.asarray(weights.each * error + weights.before * expected)
    assert weights is not None
    return np.asarray(weights.each * reward)


def unit_codes(lists: pl.DataFrame, unit: str, source: str) -> tuple[Indices, int]:
    """Number the unit of each list, a row each; and how many there are."""
    check_choice("unit", unit, UNITS)
    if unit == "list":
        return np.arange(lists.height), lists.height
    if unit not in lists.columns or lists[unit].null_count():
        raise InputError(f"limits by {unit} need the {unit} of each list", source=source)
    code = lists[unit].rank("dense").to_numpy().astype(np.intp) - 1
    return code, int(code.max()) + 1


def _doubts(
    read: LoggedActions,
    weights: Weights | None,
    said: WeightSummary | None,
    code: Indices,
    units: int,
) -> list[str]:
    doubts = []
    if read.unseen > 0:
        doubts.append(
            f"{100 * read.unseen:.1f}% of what the policy would show is never shown there:"
            " it counts as worth nothing"
        )
    if weights is None or said is None:
        return doubts
    drawn = weights.drawn
    if drawn.size == read.rows.height:
        code = code[read.rows["list"].to_numpy()]
    mean = two_means(np.tile(drawn[:, None], 2), np.ones((drawn.size, 2)), code, units, LimitsBy())
    off, error = abs(mean.estimate[0] - 1), mean.standard_error[0]
    if off > max(FAR * error, 1e-9):
        doubts.append(
            f"the mean weight is {mean.estimate[0]:.4f}, and more than {FAR:g} standard errors"
            " off 1: propensities or chances are wrong, or actions of the policy were never shown"
        )
    return [*said.doubts(), *doubts]
