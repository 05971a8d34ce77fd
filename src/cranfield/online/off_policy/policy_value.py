"""Off-policy evaluation: the value of a policy, estimated from the log of another one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    check_choice,
    check_number,
    check_whole,
    quoted,
)
from cranfield.base.text import counted
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.run import Run
from cranfield.online.log.query_log import QueryLog
from cranfield.online.off_policy.value import (
    FAR,
    PolicyValue,
    WeightSummary,
    check_interval,
    two_means,
)
from cranfield.sources.columns import Table, read_table
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.values import ID, NUMBER, RANK, TAG, absent

_PLACE = replace(RANK, wanted="not a whole number", missing=absent)

ACTIONS = Schema(
    "table of logged actions",
    (
        Column("reward", NUMBER),
        optional("propensity", NUMBER),
        optional("target_probability", NUMBER),
        optional("page", ID, "slate"),
        optional("position", _PLACE, "rank"),
        optional("action", TAG),
        optional("query", TAG, "context"),
        optional("user", TAG),
        optional("session", TAG),
        optional("predicted", NUMBER),
        optional("expected", NUMBER),
        optional("anywhere", NUMBER),
    ),
    decisive=("count", "weight"),
)

POLICY = Schema(
    "table of a policy",
    (
        optional("query", TAG, "context"),
        optional("position", _PLACE, "rank"),
        Column("action", ID),
        Column("target_probability", NUMBER, "probability of an action"),
    ),
)

_SLACK = 1e-6
"""Largest deviation from 1 of a sum of probabilities."""


@dataclass(frozen=True, eq=False)
class LoggedActions:
    """Actions by list and position."""

    rows: pl.DataFrame  # A row an action; `list` numbers the lists from 0, else as ACTIONS
    source: str
    # Proportion of the policy's probability on actions that the log never shows there; NaN if only
    # the probabilities of the logged actions are known
    unseen: float
    notes: tuple[str, ...]  # Excluded actions and lists

    @property
    def first(self) -> Bools:
        """Which rows are the first of their list."""
        return self.rows["list"].is_first_distinct().to_numpy()

    def column(self, name: str, purpose: str) -> Any:
        if name not in self.rows.columns:
            raise InputError(f"{purpose} requires a column {name}", source=self.source)
        return self.rows[name].to_numpy()


def logged_actions(data: Any, policy: Any = None) -> LoggedActions:
    """Read actions, in order of list and position, with their probabilities under the policy."""
    rows, source, notes = _of_log(data) if isinstance(data, QueryLog) else _of_table(data)
    if policy is None:
        return LoggedActions(rows, source, float("nan"), notes)
    if isinstance(policy, Run):
        probabilities = ranks_of(policy).with_columns(target_probability=pl.lit(1.0))
    else:
        probabilities = _of_policy(policy)
    keys: list[str] = [name for name in probabilities.columns if name != "target_probability"]
    for name in keys:
        if name not in rows.columns:
            raise InputError(f"a policy by {name} requires a column {name}", source=source)
    if "position" in keys:
        # A run may go on below what was shown.
        probabilities = probabilities.filter(
            pl.col("position").is_in(rows["position"].unique().implode())
        )
    rows = rows.drop("target_probability", "anywhere", strict=False)
    rows = rows.join(probabilities, on=keys, how="left", maintain_order="left")
    if "position" in keys:
        whole = [name for name in keys if name != "position"]
        everywhere = probabilities.group_by(whole).agg(anywhere=pl.col("target_probability").sum())
        rows = rows.join(everywhere, on=whole, how="left", maintain_order="left")
    if "query" in keys:
        has_policy = rows["query"].is_in(probabilities["query"].unique().implode())
        if unknown := rows.filter(~has_policy)["list"].n_unique():
            notes += (f"{counted(unknown, 'list')} of queries without a policy",)
    filled = [name for name in ("target_probability", "anywhere") if name in rows.columns]
    rows = rows.with_columns(pl.col(filled).fill_null(0.0))
    if not (rows["target_probability"] > 0).any():
        raise CranfieldError(f"{source}: the policy takes none of the logged actions")
    return LoggedActions(rows, source, _unseen(rows, probabilities, keys), notes)


def _of_table(data: Any) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    table = read_table(data, ACTIONS)
    frame = table.frame.select(table.names)
    _check_probabilities(table, "propensity", zero=False)
    _check_probabilities(table, "target_probability", zero=True)
    by_page, position = "page" in table.names, table.frame["position"]
    if by_page and "position" not in table.names:
        raise InputError("lists (column page) require a column position", source=table.source)
    for row in (position < 0).arg_true():
        raise table.wrong(row, f"position must be at least 0, got {position[row]}")
    if by_page or not position.is_null().all():
        table.refuse(position.is_null(), lambda row: "has no position")
    if not by_page:
        return frame.with_row_index("list"), table.source, ()
    twice = ~frame.select(pl.struct("page", "position").is_first_distinct()).to_series()
    table.refuse(
        twice,
        lambda row: f"position {row['position']} is there twice in page {quoted(row['page'])}",
    )
    codes = frame["page"].rank("dense").cast(pl.UInt32) - 1
    return frame.drop("page").with_columns(list=codes).sort("list", "position"), table.source, ()


def _of_log(log: QueryLog) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    log.require("results", purpose="an off-policy estimate")
    frame = log.results_with_clicks.with_columns(
        reward=(pl.col("clicks") > 0).cast(pl.Float64)
    ).rename({"rank": "position", "doc": "action"})
    if "propensity" in frame.columns:
        valid = pl.col("propensity").is_between(0, 1, closed="right").fill_null(False)
        for value, doc in frame.filter(~valid).select("propensity", "action").head(1).rows():
            value_text = "missing" if value is None else f"{value:g}"
            reason = f"propensity must be above 0, up to 1, got {value_text}"
            raise InputError(reason, source=log.source, doc=doc)
    keys = [name for name in ("query", "user", "session") if name in log.pages.columns]
    frame = frame.with_columns(log.pages[name].gather(frame["page"]) for name in keys)
    frame = frame.with_columns(list=pl.col("page").rank("dense") - 1).drop("page")
    without = log.pages.height - frame["list"].n_unique()
    notes = (f"{counted(without, 'page')} without results",) if without else ()
    return frame, log.source, notes


def _check_probabilities(table: Table, name: str, *, zero: bool) -> None:
    column = table.frame[name]
    for row in (~column.is_between(0, 1, closed="both" if zero else "right")).arg_true():
        lies = "from 0" if zero else "above 0, up"
        raise table.wrong(row, f"{name} must be {lies} to 1, got {column[row]:g}")


def _of_policy(policy: Any) -> pl.DataFrame:
    table = read_table(policy, POLICY)
    frame = table.frame.select(table.names)
    _check_probabilities(table, "target_probability", zero=True)
    keys = [name for name in table.names if name != "target_probability"]
    twice = ~frame.select(pl.struct(keys).is_first_distinct()).to_series()
    table.refuse(twice, lambda row: f"action {quoted(row['action'])} is there twice")
    places = [name for name in ("query", "position") if name in keys]
    sums = frame.group_by(places or pl.lit(0).alias("all"), maintain_order=True)
    total = sums.agg(pl.col("target_probability").sum())
    wrong = total.filter((pl.col("target_probability") - 1).abs() > _SLACK)
    if wrong.height:
        where = "".join(f" of {name} {quoted(wrong[name][0])}" for name in places)
        raise PolicyError(
            f"probabilities{where} must sum to 1, got {wrong['target_probability'][0]:g}"
        )
    return frame


def ranks_of(run: Run) -> pl.DataFrame:
    """Return the documents of a run with their ranks: `query`, `position` and `action`."""
    order = order_of(run, "trec")
    return pl.DataFrame(
        {
            "query": pl.Series(run.topics, dtype=pl.String).gather(run.codes),
            "position": pl.Series(order.ranks_of(np.arange(len(run))), dtype=pl.Int32),
            "action": run.docs,
        }
    )


def _unseen(rows: pl.DataFrame, probabilities: pl.DataFrame, keys: list[str]) -> float:
    """Proportion of the policy's probability on actions that the log never shows there."""
    # All in order, so that sums are the same to the bit each time.
    seen = rows.select(keys).unique(maintain_order=True)
    seen = seen.join(probabilities, on=keys, how="left", maintain_order="left")
    places = [name for name in keys if name != "action"]
    if not places:
        return max(0.0, 1 - float(seen["target_probability"].sum()))
    # The policy may show fewer actions: a run may be shorter than the pages.
    there = probabilities.group_by(places).agg(there=pl.col("target_probability").sum())
    sums = seen.group_by(places).agg(seen=pl.col("target_probability").sum())
    joined = rows.group_by(places, maintain_order=True).agg(number=pl.len())
    for part in (sums, there):
        joined = joined.join(part, on=places, how="left", maintain_order="left")
    joined = joined.fill_null(0.0)
    share = joined.select(
        ((pl.col("there") - pl.col("seen")) * pl.col("number")).sum()
        / (pl.col("there") * pl.col("number")).sum()
    ).item()
    return max(0.0, float(share or 0.0))


DEPENDS = ("position", "above", "list")
"""Actions that a reward depends on: that at its own position (item-position model), also those
above it (cascade), or all actions of its list."""


class Weights(NamedTuple):
    """Weights of actions."""

    each: Floats  # Weight of the reward of each row, shape (rows,)
    before: Floats  # Weight of the expected reward of each row, shape (rows,)
    drawn: Floats  # Weights of rows or of lists, each a draw from a distribution with mean 1


def weights_of(logged: LoggedActions, depends: str, purpose: str) -> Weights:
    """Divide the probabilities of a policy by those of the log."""
    probability = logged.column("target_probability", purpose)
    each = probability / logged.column("propensity", purpose)
    ones = np.ones(each.size)
    if depends == "position":
        return Weights(each, ones, each)
    weight = pl.col("weight")
    frame = logged.rows.select("list", weight=pl.Series(each)).with_columns(
        whole=weight.product().over("list"), down=weight.cum_prod().over("list")
    )
    frame = frame.with_columns(before=pl.col("down").shift(1, fill_value=1.0).over("list"))
    whole, down, before = (frame[name].to_numpy() for name in ("whole", "down", "before"))
    if depends == "list":
        return Weights(whole, ones, whole[logged.first])
    return Weights(down, before, down)


def pseudo_inverse(logged: LoggedActions, candidates: int, repeats: bool) -> Weights:
    r"""Weigh lists drawn uniformly from m candidates, for rewards that are sums over positions.

    With q(k, a) the probability that the policy shows a at position k, a logged list s of L
    positions weighs :math:`1_s^\top \Gamma^+ q`, where Gamma is the matrix of second moments of
    lists. Its eigenvectors are known: with A the sum of q(k, s_k), and B of all probabilities to
    show a document of s anywhere,

    .. math:: 1 + \frac{m(m-1)}{m-L} \left(\frac BL - \frac Lm\right)
        + (m-1)\left(A - \frac BL\right)

    without the middle term where m = L; and m A - L + 1 where a list may repeat an action.
    """
    rows = logged.rows
    probability = logged.column("target_probability", "PI")
    code = rows["list"].to_numpy()
    lengths = np.bincount(code)
    length, m = int(lengths[0]), candidates
    if (lengths != length).any():
        raise InputError("PI requires lists of one length", source=logged.source)
    if length > m and not repeats:
        raise PolicyError(f"candidates must be at least the {length} positions of a list")
    here: Floats = np.bincount(code, weights=probability).astype(np.float64)
    if repeats:
        whole = np.asarray(m * here - length + 1.0)
    else:
        # Where all candidates are shown, so is what the policy shows.
        anywhere = (
            logged.column("anywhere", "PI with more candidates than positions")
            if length < m or "anywhere" in rows.columns
            else np.ones(code.size)
        )
        policy_shown = np.bincount(code, weights=anywhere) / length
        whole = np.asarray(1 + (m - 1) * (here - policy_shown))
        if length < m:
            whole = whole + m * (m - 1) / (m - length) * (policy_shown - length / m)
    if "propensity" in rows.columns:
        propensity = rows["propensity"].to_numpy()
        place = rows.select(pl.int_range(pl.len()).over("list")).to_series().to_numpy()
        remaining = m if repeats else m - place
        if not any((np.abs(propensity * n - 1) < 1e-6).all() for n in (m, remaining)):
            raise InputError(
                "PI requires uniformly drawn lists, but propensities are not 1 / candidates",
                source=logged.source,
            )
    return Weights(whole[code], np.ones(code.size), whole)


ESTIMATORS = ("IPS", "SNIPS", "DM", "DR", "PI")

UNITS = ("list", "query", "session", "user")
"""Independent units."""


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
    r"""Estimate the value of a policy from the log of another policy with random actions.

    An action a was taken with propensity :math:`\pi_0(a)` and had reward r; the evaluated policy
    takes it with probability :math:`\pi(a)`. With weights :math:`w = \pi(a) / \pi_0(a)`,

    .. math:: \mathrm{IPS} = \frac1n \sum_i w_i r_i, \quad
        \mathrm{SNIPS} = \frac{\sum_i w_i r_i}{\sum_i w_i}, \quad
        \mathrm{DR} = \frac1n \sum_i \left(\hat e_i + w_i (r_i - \hat q_i)\right)

    where :math:`\hat q` is the reward predicted of the action, and :math:`\hat e` its expectation
    under the policy; DM is the mean of these alone. The rewards of the positions of a list are
    added. A weight is that of the position, the product of those down to it, or of the whole list,
    as rewards depend on the `position`, also on those `above`, or on the whole `list`.

    IPS and DR are unbiased if propensities are correct, if rewards depend on no more than that, and
    if each action of the policy has a propensity above 0. Clipped weights, SNIPS and DM are
    biased.

    Source: Horvitz and Thompson (1952); Swaminathan and Joachims (2015), SNIPS; Dudík, Langford and
    Li (2011), DR; Li and others (2018), item-position; McInerney and others (2020), cascade;
    Kiyohara and others (2022), cascade DR; Swaminathan and others (2017), PI.

    Parameters
    ----------
    logged
        A :class:`QueryLog` whose results have a `propensity`, where a reward is whether a result
        was clicked; or a table, a row an action: `reward`, `propensity` in (0, 1], and
        `target_probability` under the policy where there is no `policy`; for lists `page` and
        `position`; for DM and DR `expected`, for DR `predicted`; further `action`, `query`, `user`,
        `session`. Where rewards depend on more than the position, propensities and probabilities
        are of the action given those above it. For a cascade `predicted` is the reward from this
        position down.
    policy
        A run, which shows its documents at their ranks for sure; or a table with `action`,
        `target_probability`, and `query` and `position` where probabilities depend on them: they
        sum to 1 at each position.
    estimator
        IPS, SNIPS, DM, DR, or PI: the pseudo-inverse, where rewards are sums over positions and
        lists were drawn uniformly.
    depends
        `position`, `above` or `list`.
    clip
        The largest weight; larger ones are clipped.
    candidates, repeats
        For PI: among how many actions each list was drawn uniformly, and whether a list could
        repeat one.
    unit
        Independent unit: `list`, or `query`, `session` or `user` if the log has them.
    confidence
        Confidence level of the intervals.
    resamples, seed
        Samples of the bootstrap over units; by default intervals are by Student's t.

    Returns
    -------
    PolicyValue
        With the value of the log, the difference, a summary of weights, and warnings.

    Raises
    ------
    InputError
        For a propensity that is 0 or above 1, invalid probabilities, or missing columns.
    PolicyError
        For an unknown option, and for probabilities that do not sum to 1.

    Examples
    --------
    >>> import polars as pl
    >>> target = [0.8, 0.2, 0.2, 0.8]
    >>> rows = {"reward": [1, 0, 0, 1], "propensity": [0.5] * 4, "target_probability": target}
    >>> found = policy_value(pl.DataFrame(rows))
    >>> found.estimate, found.logged, round(found.ess, 2)
    (0.8, 0.5, 2.94)
    """
    check_choice("estimator", estimator, ESTIMATORS)
    check_choice("depends", depends, DEPENDS)
    interval = check_interval(confidence, resamples, seed)
    check_clip(clip)
    if (estimator == "PI") != (candidates is not None):
        raise PolicyError("PI requires candidates, and no other estimator takes it")
    read = logged_actions(logged, policy)
    code = read.rows["list"].to_numpy()
    lists = int(code[-1]) + 1
    reward = read.rows["reward"].to_numpy()
    weights = None
    if candidates is not None:
        check_whole("candidates", candidates, 1)
        weights = pseudo_inverse(read, int(candidates), repeats)
    elif estimator != "DM":
        weights = weights_of(read, depends, estimator)
    used = weights
    if weights is not None and clip is not None:
        used = Weights(*(np.minimum(part, clip) for part in weights))
    value = _contributions(read, reward, used, estimator, depends)
    below = np.ones(lists)
    if estimator == "SNIPS" and used is not None:
        below = np.bincount(code, weights=used.each) / np.bincount(code).astype(np.float64)
        if not below.any():
            raise InputError("SNIPS requires a weight above 0, got none", source=read.source)
    totals = np.stack([np.bincount(code, weights=part) for part in (value, reward)], axis=1)
    unit_code, units = unit_codes(read.rows.filter(read.first), unit, read.source)
    means = two_means(totals, np.stack([below, np.ones(lists)], axis=1), unit_code, units, interval)
    warnings = [*read.notes, *means.notes(units, unit)]
    summary = None
    if weights is not None:
        summary = WeightSummary.of(weights.drawn, clip)
        warnings += summary.warnings()
    if read.unseen > 0:
        warnings.append(
            f"{100 * read.unseen:.1f}% of what the policy would show is never shown by the log and"
            " counts as 0"
        )
    if weights is not None:
        by_row = weights.drawn.size == read.rows.height
        warnings += _doubts_on_mean(weights.drawn, unit_code[code] if by_row else unit_code, units)
    name = estimator if estimator == "PI" else f"{estimator} by {depends}"
    sizes = lists, units, unit
    return PolicyValue(name, means, *sizes, summary, read.unseen, interval, tuple(warnings))


def check_clip(clip: float | None) -> None:
    if clip is not None:
        check_number("clip", clip, above=0, most=np.inf)


def _contributions(
    read: LoggedActions, reward: Floats, weights: Weights | None, estimator: str, depends: str
) -> Floats:
    """Return the contribution of each row to the value of its list."""
    if estimator in {"DM", "DR"}:
        expected = read.column("expected", estimator)
        if weights is None:
            # In a cascade, expected rewards are those from the position down.
            return np.asarray(
                np.where(read.first, expected, 0.0) if depends == "above" else expected
            )
        error = reward - read.column("predicted", estimator)
        return np.asarray(weights.each * error + weights.before * expected)
    assert weights is not None
    return np.asarray(weights.each * reward)


def unit_codes(lists: pl.DataFrame, unit: str, source: str) -> tuple[Indices, int]:
    """Return the number of the unit of each list, a row each, and the number of units."""
    check_choice("unit", unit, UNITS)
    if unit == "list":
        return np.arange(lists.height), lists.height
    if unit not in lists.columns or lists[unit].null_count():
        raise InputError(f"intervals by {unit} require the {unit} of each list", source=source)
    code = lists[unit].rank("dense").to_numpy().astype(np.intp) - 1
    return code, int(code.max()) + 1


def _doubts_on_mean(weights: Floats, code: Indices, units: int) -> list[str]:
    """Return a warning if the mean weight differs from 1 by more than its error explains."""
    pairs = np.tile(weights[:, None], 2)
    means = two_means(pairs, np.ones((weights.size, 2)), code, units)
    mean, error = means.estimate[0], means.standard_error[0]
    if not abs(mean - 1) > max(FAR * error, 1e-9):
        return []
    return [
        f"the mean weight is {mean:.4f}, and more than {FAR:g} standard errors"
        " off 1: propensities or target probabilities are wrong, or actions of the policy were"
        " never shown"
    ]
