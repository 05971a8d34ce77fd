"""Off-policy evaluation: the value of a policy, estimated from the log of another policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Indices, slice_rows
from cranfield.base.errors import CranfieldError, InputError, PolicyError, check_number, quote
from cranfield.base.kinds import Integer, OneOf, UnitInterval, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect
from cranfield.collection.judged.ranking import order_documents
from cranfield.collection.judged.rows import divide
from cranfield.collection.pairs import make_topic_column
from cranfield.collection.run import Run
from cranfield.online.log.query_log import QueryLog, check_independence
from cranfield.result import Column, Columns, Result
from cranfield.significance.differences import bound_by_t
from cranfield.significance.registry import MAX_RESAMPLES
from cranfield.sources.columns import Table, read_mapping_columns, read_table
from cranfield.sources.schemas import FileColumn, Schema, declare_optional
from cranfield.sources.values import ID, NUMBER, RANK, TAG, convert_booleans, is_absent

BLOCK_DRAWS = 2**21  # Number of values drawn at a time; results for a seed depend on it

TOLERANCE = 1e-12  # Relative standard error below which values differ by rounding only

CISettings = tuple[float, int, int]  # Confidence level, resamples (0: Student's t), seed
STUDENT: CISettings = (0.95, 0, 0)  # A 95% interval by Student's t


class Means(NamedTuple):
    """Means of the policy and the log, and their difference; no interval for equal values (NaN)."""

    estimate: Floats
    standard_error: Floats
    low: Floats
    high: Floats

    def list_notes(self, n_units: int, unit: str) -> list[str]:
        """Return notes on missing intervals of the policy, the log, or their difference."""
        if n_units < 2:
            return [f"no confidence intervals: only one {unit}"]
        names = np.array(MEAN_NAMES)[np.isnan(self.low) & ~np.isnan(self.estimate)]
        note = f"no confidence interval of {', '.join(names)}: the value is equal for each {unit}"
        return [note] if names.size else []


MEAN_NAMES = ("policy", "logged", "difference")


def compare_ratios(
    totals: NDArray[Any], sizes: Floats, code: Indices, n_units: int, settings: CISettings = STUDENT
) -> Means:
    r"""Compare two ratios of sums over units, :math:`R = \sum_u t_u / \sum_u n_u`.

    The sums of totals and sizes of unit u are :math:`t_u` and :math:`n_u`. `totals` and `sizes`
    have a row for each list, whose unit has the index in `code`, and a column for each ratio. By
    the delta method, the variance is that of the sum over units of
    :math:`(t_u - R n_u) / \sum n`; with n = 1 in each unit, R is a mean.
    """
    columns = np.concatenate([totals, sizes], axis=1).T
    sums = np.stack([np.bincount(code, weights=values, minlength=n_units) for values in columns])
    estimate = _append_difference(_divide(sums.sum(axis=1)))
    if n_units < 2:
        return Means(estimate, *np.full((3, 3), np.nan))
    denominators = sums[2:].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = _append_difference((sums[:2] - estimate[:2, None] * sums[2:]) / denominators)
        tolerances = TOLERANCE * np.abs(sums[:2]).sum(axis=1) / denominators[:, 0]
    standard_error = np.sqrt(n_units / (n_units - 1) * (terms**2).sum(axis=1))
    confidence, resamples, seed = settings
    if resamples:
        samples = np.empty((resamples, 3))
        uniform = np.full(n_units, 1 / n_units)
        for block, rows in enumerate(slice_rows(resamples, n_units, BLOCK_DRAWS)):
            size = rows.stop - rows.start
            counts = make_stream(seed, block).multinomial(n_units, uniform, size=size)
            samples[rows] = _append_difference(_divide(sums @ counts.T.astype(np.float64))).T
        tail = (1 - confidence) / 2
        low, high = np.nanquantile(samples, [tail, 1 - tail], axis=0)
    else:
        low, high = bound_by_t(estimate, standard_error, n_units - 1, confidence)
    # Values that differ by rounding only are equal, and so are their means.
    rounding = np.append(tolerances, tolerances.max())
    is_constant = standard_error <= rounding
    estimate[2:] = np.where(is_constant & (np.abs(estimate) <= rounding), 0.0, estimate)[2:]
    standard_error = np.where(is_constant, 0.0, standard_error)
    bounds = (np.where(is_constant, np.nan, bound) for bound in (low, high))
    return Means(estimate, standard_error, *bounds)


def _divide(sums: NDArray[Any]) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:2] / sums[2:])


def _append_difference(values: Floats) -> Floats:
    return np.concatenate([values, values[:1] - values[1:]])


MIN_SAMPLE_SIZE = 100  # Effective sample size below which intervals are unreliable
MAX_PROPORTION = 0.05  # Proportion of the sum above which one weight has too much influence
MAX_DEVIATION = 3.0  # Maximum number of standard errors by which the mean weight may differ from 1


@dataclass(frozen=True)
class WeightSummary:
    """Summary of weights, after clipping.

    Attributes
    ----------
    n_weights
        Number of weights: one per action or list, or for :func:`run_value` per click.
    effective_size
        Effective sample size :math:`(\\sum w)^2 / \\sum w^2` (Kish, 1965).
    mean, max_weight
        Mean and largest weight. Unclipped weights have the expectation 1, except those of clicks.
    top_proportion
        Proportion of the sum of all weights that belongs to the largest 1% of weights.
    clip, clipped_proportion
        Maximum weight, None for no limit, and the proportion of clipped weights.
    """

    n_weights: int
    effective_size: float
    mean: float
    max_weight: float
    top_proportion: float
    clip: float | None = None
    clipped_proportion: float = 0.0

    @classmethod
    def from_weights(cls, weights: Floats, clip: float | None) -> WeightSummary:
        """Clip and summarise weights."""
        clipped_weights = weights if clip is None else np.minimum(weights, clip)
        if not clipped_weights.size or not np.isfinite(clipped_weights).all():
            problem = "an infinite number or NaN" if clipped_weights.size else "none"
            raise PolicyError(f"weights must be one or more finite numbers, got {problem}")
        with np.errstate(over="ignore"):
            total, sum_of_squares = clipped_weights.sum(), np.square(clipped_weights).sum()
            is_finite = np.isfinite(np.square(total) + sum_of_squares)
        if not is_finite:
            got = f"a largest weight of {clipped_weights.max():g}"
            raise PolicyError(f"weights must have a finite sum of squares, got {got}")
        size = int(np.ceil(0.01 * clipped_weights.size))
        top_total = np.partition(clipped_weights, -size)[-size:].sum()
        effective_size = divide(np.square(total), sum_of_squares)
        values = effective_size, clipped_weights.mean(), clipped_weights.max()
        clipping = () if clip is None else (clip, (weights > clip).mean())
        statistics = *values, divide(top_total, total), *clipping
        return cls(clipped_weights.size, *map(float, statistics))

    def __str__(self) -> str:
        clipped = f", {100 * self.clipped_proportion:.2f}% clipped at {self.clip or 0:g}"
        note = "" if self.clip is None else clipped
        top = f"the largest 1% of them sum to {100 * self.top_proportion:.1f}% of the total"
        weights = f"mean {self.mean:.4f}, largest {self.max_weight:.4g}, {top}{note}"
        size = f"{self.effective_size:,.1f} of {self.n_weights:,}"
        return f"effective sample size {size}; weights: {weights}"

    def list_warnings(self) -> list[str]:
        """Return reasons to doubt an estimate with these weights."""
        warnings = []
        if self.effective_size < MIN_SAMPLE_SIZE:
            size = f"effective sample size {self.effective_size:.1f}"
            warnings.append(f"{size}: confidence intervals are unreliable")
        if self.max_weight > MAX_PROPORTION * self.mean * self.n_weights:
            fraction = self.max_weight / (self.mean * self.n_weights) if self.mean else 0.0
            warnings.append(f"one weight is {fraction:.0%} of the sum and dominates the estimate")
        if self.clipped_proportion:
            clipped = f"{self.clipped_proportion:.2%} of weights"
            warnings.append(f"{clipped} are clipped, which biases the estimate")
        return warnings


@dataclass(frozen=True, eq=False, repr=False)
class PolicyValue(Result):
    """Estimated value of a policy; returned by :func:`policy_value` and :func:`run_value`.

    Attributes
    ----------
    estimator
        Name of the estimator.
    means
        Columns of the table as arrays, for the policy, the log, and the difference.
    estimate, standard_error, low, high
        Value of the policy: mean over lists of the sum of rewards, or for :func:`run_value` of the
        measure, with its standard error and confidence interval.
    n_lists, n_units, unit
        Number of lists, number of independent units, and kind of unit, such as `user`.
    weights
        Summary of the weights; None without weights.
    unseen
        Proportion of the policy's actions that the log never shows (at their position, if any), or
        for :func:`run_value` of the weight of the measure on documents of the run that pages do not
        show; NaN if unknown.
    interval
        Confidence level of the intervals, number of bootstrap resamples (0: Student's t), and seed.
    warnings
        Reasons to doubt the estimate.
    """

    name: ClassVar[str] = "values"
    columns: ClassVar[Columns] = {
        "value": Column("`policy`, `logged`, or their `difference`.", key=True),
        "estimate": Column("Mean over lists of the sum of rewards, or of the measure.", decimals=6),
        "standard_error": Column("Standard error of the estimate; null for one unit.", decimals=6),
        "low": Column("Lower bound of the confidence interval; null if there is none.", decimals=6),
        "high": Column("Upper bound of the same confidence interval as `low`.", decimals=6),
    }

    estimator: str
    means: Means
    n_lists: int
    n_units: int
    unit: str
    weights: WeightSummary | None
    unseen: float
    interval: CISettings
    warnings: tuple[str, ...]

    def __getattr__(self, name: str) -> float:
        if name not in Means._fields:
            raise AttributeError(f"PolicyValue has no attribute {name!r}")
        return float(getattr(self.means, name)[0])

    @property
    def logged(self) -> float:
        """Value of the logged lists, in the same unit of reward."""
        return float(self.means.estimate[1])

    @property
    def relative_value(self) -> float:
        """The estimate divided by the value of the logged lists; NaN if this value is 0."""
        return self.estimate / self.logged if self.logged else float("nan")

    @property
    def ess(self) -> float:
        """Effective sample size; NaN without weights."""
        return float("nan") if self.weights is None else self.weights.effective_size

    def _frame(self) -> pl.DataFrame:
        frame = pl.DataFrame({"value": MEAN_NAMES, **self.means._asdict()})
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def facts(self) -> dict[str, Any]:
        return {name: fact for name, fact in super().facts().items() if name != "interval"}

    def format_notes(self) -> list[str]:
        return [f"note: {warning}" for warning in self.warnings]

    def heading(self) -> list[str]:
        size = inflect(self.n_lists, "list")
        if self.unit != "list":
            size += f" by {self.unit} ({inflect(self.n_units, 'unit')})"
        weights = [] if self.weights is None else [str(self.weights)]
        confidence, resamples, seed = self.interval
        method = f"bootstrap, {resamples:,} resamples, seed {seed}" if resamples else "Student's t"
        level = f"{100 * confidence:g}% confidence intervals"
        intervals = f"low, high: {level}, {method}, by {self.unit}"
        return [f"{self.estimator}: {self.estimate:.6g}, {size}", *weights, intervals]


_POSITION = replace(RANK, problem="not an integer", becomes_null=is_absent)
_REWARD = replace(NUMBER, prepare=partial(convert_booleans, noun=""))  # Numbers or booleans

ACTIONS = Schema(
    "table of logged actions",
    (
        FileColumn("reward", _REWARD),
        declare_optional("propensity", NUMBER),
        declare_optional("target_probability", NUMBER),
        declare_optional("page", ID, "slate"),
        declare_optional("position", _POSITION, "rank"),
        declare_optional("action", TAG),
        declare_optional("query", TAG, "context"),
        declare_optional("user", TAG),
        declare_optional("session", TAG),
        declare_optional("predicted", NUMBER),
        declare_optional("expected", NUMBER),
        declare_optional("anywhere", NUMBER),
    ),
    read_mapping=read_mapping_columns,
    decisive_kinds=("count", "weight"),
)

POLICY = Schema(
    "table of a policy",
    (
        declare_optional("query", TAG, "context"),
        declare_optional("position", _POSITION, "rank"),
        FileColumn("action", ID),
        FileColumn("target_probability", NUMBER, "probability of an action"),
    ),
    read_mapping=read_mapping_columns,
)

_PROBABILITY_TOLERANCE = 1e-6  # Maximum deviation from 1 of a sum of probabilities


@dataclass(frozen=True, eq=False)
class LoggedActions:
    """Logged actions, in order of list and position."""

    rows: pl.DataFrame  # One row per action: columns of ACTIONS, and the index of its `list`
    source: str
    # Proportion of the policy's probability on actions that the log never shows at their position;
    # NaN if only the probabilities of the logged actions are known
    unseen: float
    notes: tuple[str, ...]  # Notes on excluded pages, and on queries without a policy

    @property
    def is_first(self) -> Bools:
        """Mask of the first row of each list."""
        return self.rows["list"].is_first_distinct().to_numpy()

    def get_column(self, name: str, purpose: str) -> Any:
        """Return a column as an array; the error of a missing column names the purpose."""
        if name not in self.rows.columns:
            raise InputError(f"{purpose} requires a column {quote(name)}", source=self.source)
        return self.rows[name].to_numpy()

    def refuse_gaps(self, depends: str) -> None:
        """Refuse lists that skip a position, if rewards depend on several positions."""
        if depends == "position" or "position" not in self.rows.columns:
            return
        position = pl.col("position")
        is_next = pl.int_range(pl.len()).over("list") == position - (position.min() != 0).cast(int)
        if n_lists := self.rows.filter(~is_next)["list"].n_unique():
            reason = f"depends={depends!r} requires the actions at all positions of a list"
            got = f"{inflect(n_lists, 'list')} with gaps between positions"
            raise InputError(f"{reason}, got {got}", source=self.source)


def read_actions(data: Any, policy: Any = None) -> LoggedActions:
    """Read logged actions, with their probabilities under the policy."""
    rows, source, notes = _read_log(data) if isinstance(data, QueryLog) else _read_table(data)
    if policy is None:
        return LoggedActions(rows, source, float("nan"), notes)
    if "target_probability" in rows.columns:
        reason = "has a column target_probability, which cannot be combined with a policy"
        raise InputError(f"{reason}; remove one of them", source=source)
    if isinstance(policy, Run):
        probabilities = rank_run_documents(policy).with_columns(target_probability=pl.lit(1.0))
    else:
        probabilities = _read_policy(policy)
    keys: list[str] = [name for name in probabilities.columns if name != "target_probability"]
    for name in keys:
        if name not in rows.columns:
            raise InputError(f"a policy by {name} requires a column {name}", source=source)
    if "action" in rows.columns and (n_missing := rows["action"].null_count()):
        problem = f"{inflect(n_missing, 'row')} without an action"
        raise InputError(f"a policy requires the action of each row, got {problem}", source=source)
    if "position" in keys:
        probabilities = _align_positions(probabilities, rows, isinstance(policy, Run), source)
        # A run may be longer than the lists that were shown.
        is_shown = probabilities["position"].is_in(rows["position"].unique().implode())
        probabilities = probabilities.filter(is_shown)
    rows = rows.drop("anywhere", strict=False)
    rows = rows.join(probabilities, on=keys, how="left", maintain_order="left")
    if "position" in keys:
        query_keys = [name for name in keys if name != "position"]
        sums = probabilities.group_by(query_keys).agg(anywhere=pl.col("target_probability").sum())
        rows = rows.join(sums, on=query_keys, how="left", maintain_order="left")
    if "query" in keys:
        has_policy = rows["query"].is_in(probabilities["query"].unique().implode())
        if n_unknown := rows.filter(~has_policy)["list"].n_unique():
            subject = f"{inflect(n_unknown, 'list')} of queries for which the policy has no action"
            notes += (f"{subject}: their target probabilities are 0",)
    columns = [name for name in ("target_probability", "anywhere") if name in rows.columns]
    rows = rows.with_columns(pl.col(columns).fill_null(0.0))
    if not (rows["target_probability"] > 0).any():
        raise CranfieldError(f"{source}: the policy takes none of the logged actions")
    return LoggedActions(rows, source, _estimate_unseen(rows, probabilities, keys), notes)


def _align_positions(
    probabilities: pl.DataFrame, rows: pl.DataFrame, is_run: bool, source: str
) -> pl.DataFrame:
    """Count the ranks of a run from 0 if the log does; refuse a table that counts differently."""
    first, policy_first = (int(frame["position"].min() != 0) for frame in (rows, probabilities))
    if first == policy_first:
        return probabilities
    if is_run:
        return probabilities.with_columns(pl.col("position") - 1)
    reason = f"positions count from {first} in the log, but from {policy_first} in the policy"
    raise InputError(reason, source=source)


def _read_table(data: Any) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    table = read_table(data, ACTIONS)
    frame = table.frame.select(table.names)
    _check_probabilities(table, "propensity", allows_zero=False)
    _check_probabilities(table, "target_probability", allows_zero=True)
    has_pages, position = "page" in table.names, table.frame["position"]
    if has_pages and "position" not in table.names:
        raise InputError("a column page requires a column position", source=table.source)
    for row in (position < 0).arg_true():
        raise table.make_row_error(row, f"position must be at least 0, got {position[row]}")
    if has_pages or not position.is_null().all():
        table.refuse(position.is_null(), lambda row: "has no position")
    if not has_pages:
        return frame.with_row_index("list"), table.source, ()
    is_repeated = ~frame.select(pl.struct("page", "position").is_first_distinct()).to_series()
    table.refuse(
        is_repeated,
        lambda row: f"page {quote(row['page'])} has position {row['position']} more than once",
    )
    codes = frame["page"].rank("dense").cast(pl.UInt32) - 1
    return frame.drop("page").with_columns(list=codes).sort("list", "position"), table.source, ()


def _read_log(log: QueryLog) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    log.require("results", purpose="an off-policy estimate")
    reward = (pl.col("clicks") > 0).cast(pl.Float64)
    frame = log.results_with_clicks.with_columns(reward=reward)
    frame = frame.rename({"rank": "position", "doc": "action"})
    if "propensity" in frame.columns:
        is_valid = pl.col("propensity").is_between(0, 1, closed="right").fill_null(False)
        for value, doc in frame.filter(~is_valid).select("propensity", "action").head(1).rows():
            value_text = "none" if value is None else f"{value:g}"
            reason = f"propensity must be above 0 and at most 1, got {value_text}"
            raise InputError(reason, source=log.source, doc=doc)
    keys = [name for name in ("query", "user", "session") if name in log.pages.columns]
    frame = frame.with_columns(log.pages[name].gather(frame["page"]) for name in keys)
    frame = frame.with_columns(list=pl.col("page").rank("dense") - 1).drop("page")
    n_empty = log.pages.height - frame["list"].n_unique()
    notes = (f"{inflect(n_empty, 'page')} excluded: no results",) if n_empty else ()
    return frame, log.source, notes


def _check_probabilities(table: Table, name: str, *, allows_zero: bool) -> None:
    is_valid = table.frame[name].is_between(0, 1, closed="both" if allows_zero else "right")
    bounds = "from 0 to 1" if allows_zero else "above 0 and at most 1"
    for row in (~is_valid).arg_true():
        raise table.make_row_error(row, f"{name} must be {bounds}, got {table.frame[name][row]:g}")


def _read_policy(policy: Any) -> pl.DataFrame:
    table = read_table(policy, POLICY)
    frame = table.frame.select(table.names)
    _check_probabilities(table, "target_probability", allows_zero=True)
    keys = [name for name in table.names if name != "target_probability"]
    group_keys = [name for name in ("query", "position") if name in keys]

    def describe_group(row: dict[str, Any]) -> str:
        return "".join(f" of {name} {quote(row[name])}" for name in group_keys)

    is_repeated = ~frame.select(pl.struct(keys).is_first_distinct()).to_series()
    table.refuse(
        is_repeated,
        lambda row: f"action {quote(row['action'])}{describe_group(row)} occurs more than once",
    )
    groups = frame.group_by(group_keys or pl.lit(0).alias("all"), maintain_order=True)
    total = groups.agg(pl.col("target_probability").sum())
    invalid_totals = total.filter((pl.col("target_probability") - 1).abs() > _PROBABILITY_TOLERANCE)
    for row in invalid_totals.iter_rows(named=True):
        total_text = f"{row['target_probability']:g}"
        raise PolicyError(f"probabilities{describe_group(row)} must sum to 1, got {total_text}")
    return frame


def rank_run_documents(run: Run) -> pl.DataFrame:
    """List the documents of a run with their ranks: `query`, `position` and `action`."""
    order = order_documents(run, "trec")
    position = pl.Series(order.compute_ranks(np.arange(len(run))), dtype=pl.Int32)
    return pl.DataFrame({"query": make_topic_column(run), "position": position, "action": run.docs})


def _estimate_unseen(rows: pl.DataFrame, probabilities: pl.DataFrame, keys: list[str]) -> float:
    """Return the proportion of the policy's probability on actions that the log never shows."""
    # The order is fixed, so that sums are reproducible to the bit.
    logged_actions = rows.select(keys).unique(maintain_order=True)
    logged_actions = logged_actions.join(probabilities, on=keys, how="left", maintain_order="left")
    group_keys = [name for name in keys if name != "action"]
    if not group_keys:
        return max(0.0, 1 - float(logged_actions["target_probability"].sum()))
    # The policy may show fewer actions: a run may be shorter than the pages.
    total = pl.col("target_probability").sum()
    groups = rows.group_by(group_keys, maintain_order=True).agg(n_rows=pl.len())
    for name, frame in (("logged", logged_actions), ("policy", probabilities)):
        sums = frame.group_by(group_keys).agg(total.alias(name))
        groups = groups.join(sums, on=group_keys, how="left", maintain_order="left")
    policy_total, logged_total, n_rows = map(pl.col, ("policy", "logged", "n_rows"))
    fraction = ((policy_total - logged_total) * n_rows).sum() / (policy_total * n_rows).sum()
    return max(0.0, float(groups.fill_null(0.0).select(fraction).item() or 0.0))


DEPENDENCIES = ("position", "above", "list")
"""Actions that a reward depends on: the action at its position (item-position model), that action
and those above it (cascade), or all actions of its list."""


class Weights(NamedTuple):
    """Weights of the rows of logged actions in an estimator."""

    reward: Floats  # Weight of the reward of each row, shape (rows,)
    expected: Floats  # Weight of the expected reward of each row, shape (rows,)
    ratios: Floats  # Importance ratios of rows or of lists, whose expectation is 1


def compute_importance_weights(logged: LoggedActions, depends: str, purpose: str) -> Weights:
    """Compute weights: probabilities under the policy divided by propensities in the log."""
    probability = logged.get_column("target_probability", purpose)
    weights = probability / logged.get_column("propensity", purpose)
    unit_weights = np.ones(weights.size)
    if depends == "position":
        return Weights(weights, unit_weights, weights)
    weight = pl.col("weight")
    frame = logged.rows.select("list", weight=pl.Series(weights)).with_columns(
        list_product=weight.product().over("list"), product=weight.cum_prod().over("list")
    )
    product_above = pl.col("product").shift(1, fill_value=1.0).over("list")
    frame = frame.select("list_product", "product", product_above=product_above)
    list_products, products, products_above = (column.to_numpy() for column in frame)
    if depends == "list":
        return Weights(list_products, unit_weights, list_products[logged.is_first])
    return Weights(products, products_above, products)


def compute_pseudoinverse_weights(
    logged: LoggedActions, n_candidates: int, has_repeats: bool
) -> Weights:
    r"""Compute weights of lists drawn uniformly from m candidates, for additive rewards.

    With q(k, a) the probability that the policy shows a at position k, a logged list s of L
    positions has the weight :math:`1_s^\top \Gamma^+ q`, where :math:`1_s` marks the pairs
    (k, s_k) of the list, and Gamma is the matrix of second moments of lists. Let A be the sum of
    q(k, s_k), and B the sum over the actions of s of the probability that the policy shows them at
    any position. By the eigenvectors of Gamma, the weight is

    .. math:: 1 + \frac{m(m-1)}{m-L} \left(\frac BL - \frac Lm\right)
        + (m-1)\left(A - \frac BL\right)

    without the middle term if m = L. If a list may repeat an action, it is m A - L + 1.
    """
    rows = logged.rows
    probability = logged.get_column("target_probability", "the pseudoinverse estimator (PI)")
    code = rows["list"].to_numpy()
    lengths = np.bincount(code)
    length, m = int(lengths[0]), n_candidates
    if (lengths != length).any():
        reason = "the pseudoinverse estimator (PI) requires lists of equal length"
        raise InputError(reason, source=logged.source)
    if length > m and not has_repeats:
        raise PolicyError(f"candidates must be at least {length}, the length of the lists, got {m}")
    position_sums: Floats = np.bincount(code, weights=probability).astype(np.float64)
    if has_repeats:
        list_weights = np.asarray(m * position_sums - length + 1.0)
    else:
        anywhere = np.ones(code.size)
        # If all candidates are shown, they include the actions of the policy.
        if length < m or "anywhere" in rows.columns:
            purpose = "the pseudoinverse estimator (PI), if lists do not show all candidates,"
            anywhere = logged.get_column("anywhere", purpose)
        mean_anywhere = np.bincount(code, weights=anywhere) / length
        list_weights = np.asarray(1 + (m - 1) * (position_sums - mean_anywhere))
        if length < m:
            list_weights = list_weights + m * (m - 1) / (m - length) * (mean_anywhere - length / m)
    if "propensity" in rows.columns:
        propensity = rows["propensity"].to_numpy()
        position = rows.select(pl.int_range(pl.len()).over("list")).to_series().to_numpy()
        n_remaining = m if has_repeats else m - position
        is_wrong = [np.abs(propensity * n - 1) >= 1e-6 for n in (m, n_remaining)]
        if all(mask.any() for mask in is_wrong):
            k = int(np.argmax(np.sum(is_wrong, axis=0)))
            without_repeats = "" if has_repeats else " or 1 / (candidates - actions above)"
            expected = f"PI requires propensities of 1 / candidates{without_repeats}"
            got = f"{propensity[k]:g} for action {position[k] + 1} of a list"
            raise InputError(f"{expected}, got {got}", source=logged.source)
    return Weights(list_weights[code], np.ones(code.size), list_weights)


ESTIMATORS = ("IPS", "SNIPS", "DM", "DR", "PI")

_UNSEEN_EFFECTS = dict.fromkeys(("DM", "DR"), "have only the rewards of the column expected")
_UNSEEN_EFFECTS |= {"IPS": "count as reward 0", "PI": "count as reward 0", "SNIPS": "are excluded"}

UNITS = ("list", "query", "session", "user")  # Independent units of the intervals


def policy_value(
    logged: Any,
    policy: Any = None,
    estimator: Annotated[str, OneOf(ESTIMATORS)] = "IPS",
    *,
    depends: Annotated[str, OneOf(DEPENDENCIES)] = "position",
    clip: float | None = None,
    candidates: Annotated[int | None, Integer(1)] = None,
    has_repeats: bool = False,
    unit: Annotated[str | None, OneOf(UNITS)] = None,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    resamples: Annotated[int, Integer(0, MAX_RESAMPLES)] = 0,
    seed: Annotated[int, Integer(0)] = 0,
) -> PolicyValue:
    r"""Estimate the value of a policy from the log of another policy with random actions.

    Each of n actions a was taken with propensity :math:`\pi_0(a)` and had reward r; the new
    policy takes it with probability :math:`\pi(a)`. With weights :math:`w = \pi(a) / \pi_0(a)`,

    .. math:: \mathrm{IPS} = \frac1n \sum_i w_i r_i, \quad
        \mathrm{SNIPS} = \frac{\sum_i w_i r_i}{\sum_i w_i}, \quad
        \mathrm{DR} = \frac1n \sum_i \left(\hat e_i + w_i (r_i - \hat q_i)\right)

    where :math:`\hat q` is the predicted reward of the action, and :math:`\hat e` its expectation
    under the policy; DM is the mean of :math:`\hat e`. The rewards of the positions of a list are
    added. A reward that depends only on the action at its `position` has the weight of this action;
    a reward that also depends on the actions `above` has the product of the weights down to this
    action; and a reward that depends on the whole `list` has the product of all weights.

    IPS and DR are unbiased if propensities are correct, rewards depend only on the actions that
    `depends` names, and each action of the policy has a propensity above 0. Clipped weights, SNIPS
    and DM are biased.

    Sources: Horvitz and Thompson (1952); Swaminathan and Joachims (2015), SNIPS; Dudík, Langford
    and Li (2011), DR; Li et al. (2018), item-position; McInerney et al. (2020), cascade; Kiyohara
    et al. (2022), cascade DR; Swaminathan et al. (2017), PI.

    Parameters
    ----------
    logged
        A :class:`QueryLog`, where clicks are the rewards, or a table with one row per action and a
        column `reward`. Other columns (of the log's results): for IPS, SNIPS and DR, `propensity`
        in (0, 1]; except for DM, `target_probability` under the policy, if `policy` is not set; for
        lists, `page` and `position`; for DM and DR, `expected`; for DR, `predicted`; for PI,
        `anywhere`, the probability that the policy shows the action at any position, unless
        `policy` has positions or lists show all candidates; and optionally `action`, `query`,
        `user`, `session`. If rewards depend on more than the position, propensities and
        probabilities are conditional on the actions above. If rewards depend on the actions
        `above`, `expected` and `predicted` are sums of rewards from the position down.
    policy
        A run, which shows its documents at their ranks with probability 1; or a table with
        `action`, `target_probability`, and `query` and `position` if probabilities depend on them.
        Probabilities sum to 1 at each position.
    estimator
        IPS, SNIPS, DM, DR, or PI: the pseudoinverse estimator, for lists that were drawn uniformly
        and whose rewards are sums over positions.
    depends
        Actions that rewards depend on: `position`, `above` or `list`.
    clip
        Maximum weight; larger weights are clipped.
    candidates, has_repeats
        For PI: number of actions from which each list was drawn, and whether lists could repeat
        actions.
    unit
        Independent unit: `list`, or `query`, `session` or `user` if the log has them. A unit must
        be set if users or sessions have several lists.
    confidence
        Confidence level of the intervals.
    resamples, seed
        Number of bootstrap resamples of units, and their seed; by default (0) intervals are by
        Student's t.

    Returns
    -------
    PolicyValue
        Values of the policy and the log, their difference, a summary of weights, and warnings.

    Raises
    ------
    InputError
        For a propensity of at most 0 or above 1, an invalid probability, a missing column, or gaps
        between the positions of a list if rewards depend on several.
    PolicyError
        For an invalid option, or probabilities that do not sum to 1.
    CranfieldError
        If `policy` is set and takes none of the logged actions.

    Examples
    --------
    >>> import polars as pl
    >>> target = [0.8, 0.2, 0.2, 0.8]
    >>> rows = {"reward": [1, 0, 0, 1], "propensity": [0.5] * 4, "target_probability": target}
    >>> value = policy_value(pl.DataFrame(rows))
    >>> value.estimate, value.logged, round(value.ess, 2)
    (0.8, 0.5, 2.94)
    """
    check_arguments(policy_value, locals())
    if clip is not None:
        check_number("clip", clip, above=0, maximum=np.inf)
        if estimator == "DM":
            raise PolicyError("clip cannot be combined with the estimator DM, which has no weights")
    settings = confidence, resamples, seed
    if estimator == "PI" and (candidates is None or depends != "position"):
        raise PolicyError(
            "the estimator PI requires candidates and depends='position', got"
            f" candidates={candidates} and depends={depends!r}"
        )
    if estimator != "PI" and (has_repeats or candidates is not None):
        raise PolicyError(f"candidates and has_repeats require the estimator PI, got {estimator}")
    actions = read_actions(logged, policy)
    actions.refuse_gaps(depends)
    code = actions.rows["list"].to_numpy()
    n_lists = int(code[-1]) + 1
    reward = actions.rows["reward"].to_numpy()
    weights = None
    if candidates is not None:
        weights = compute_pseudoinverse_weights(actions, int(candidates), has_repeats)
    elif estimator != "DM":
        weights = compute_importance_weights(actions, depends, estimator)
    clipped_weights = weights
    if weights is not None and clip is not None:
        clipped_weights = Weights(*(np.minimum(values, clip) for values in weights))
    contribution = _compute_contributions(actions, reward, clipped_weights, estimator, depends)
    denominators = np.ones(n_lists)
    if estimator == "SNIPS" and clipped_weights is not None:
        lengths = np.bincount(code).astype(np.float64)
        denominators = np.bincount(code, weights=clipped_weights.reward) / lengths
        if not denominators.any():
            raise InputError("SNIPS requires a weight above 0, got none", source=actions.source)
    totals = [np.bincount(code, weights=values) for values in (contribution, reward)]
    lists = actions.rows.filter(actions.is_first)
    unit, unit_code, n_units = encode_units(lists, unit, actions.source)
    columns = np.stack(totals, axis=1), np.stack([denominators, np.ones(n_lists)], axis=1)
    means = compare_ratios(*columns, unit_code, n_units, settings)
    warnings = [*actions.notes, *means.list_notes(n_units, unit)]
    summary = None
    if weights is not None:
        summary = WeightSummary.from_weights(weights.ratios, clip)
        warnings += summary.list_warnings()
    if actions.unseen > 0:
        subject = f"{100 * actions.unseen:.1f}% of the actions of the policy never occur in the log"
        warnings.append(f"{subject} and {_UNSEEN_EFFECTS[estimator]}")
    if weights is not None:
        has_row_weights = weights.ratios.size == actions.rows.height
        draw_units = unit_code[code] if has_row_weights else unit_code
        warnings += _check_mean_weight(weights.ratios, draw_units, n_units)
    name = estimator if estimator == "PI" else f"{estimator} by {depends}"
    sizes = n_lists, n_units, unit
    return PolicyValue(name, means, *sizes, summary, actions.unseen, settings, tuple(warnings))


def _compute_contributions(
    actions: LoggedActions, reward: Floats, weights: Weights | None, estimator: str, depends: str
) -> Floats:
    if estimator in {"DM", "DR"}:
        expected = actions.get_column("expected", estimator)
        if weights is None:
            # In a cascade, expected rewards are cumulative from the position down.
            is_counted = actions.is_first if depends == "above" else True
            return np.asarray(np.where(is_counted, expected, 0.0))
        residual = reward - actions.get_column("predicted", estimator)
        return np.asarray(weights.reward * residual + weights.expected * expected)
    assert weights is not None
    return np.asarray(weights.reward * reward)


def encode_units(lists: pl.DataFrame, unit: str | None, source: str) -> tuple[str, Indices, int]:
    """Return the kind of unit (by default list), each list's unit, and the number of units."""
    if unit is None:
        check_independence(lists, "list", "list", f"{source}: ")
    if unit in {None, "list"}:
        return "list", np.arange(lists.height), lists.height
    if unit not in lists.columns or lists[unit].null_count():
        raise InputError(f"intervals by {unit} require the {unit} of each list", source=source)
    code = lists[unit].rank("dense").to_numpy().astype(np.intp) - 1
    return unit, code, int(code.max()) + 1


def _check_mean_weight(weights: Floats, code: Indices, n_units: int) -> list[str]:
    """Return a warning if the mean weight differs significantly from 1."""
    # Both columns are the same: only the mean and its standard error are needed.
    columns = np.tile(weights[:, None], 2)
    means = compare_ratios(columns, np.ones((weights.size, 2)), code, n_units)
    mean, standard_error = means.estimate[0], means.standard_error[0]
    if not abs(mean - 1) > max(MAX_DEVIATION * standard_error, 1e-9):
        return []
    note = f"the mean weight is {mean:.4f}, more than {MAX_DEVIATION:g} standard errors from 1"
    causes = "propensities or target probabilities are wrong"
    return [f"{note}: {causes}, or the log never shows some actions of the policy"]
