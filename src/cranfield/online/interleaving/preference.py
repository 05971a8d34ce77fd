"""Test the preference of users between two rankers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, Ints, slice_rows
from cranfield.base.errors import (
    ArgumentError,
    CranfieldError,
    PolicyError,
    as_array,
    as_numbers,
    check_integer,
    check_list,
    check_proportion,
    quote,
)
from cranfield.base.proportions import compute_clopper_pearson_intervals
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect
from cranfield.online.experiments.estimates import compute_percentiles, compute_tail_pvalue
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.significance.differences import (
    bound_by_t,
    compute_difference_pvalues,
    standardise_difference,
)
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from cranfield.significance.registry import MAX_RESAMPLES
from cranfield.tabular import format_number

MAX_ROUNDING_ERROR = 1e-9  # Maximum difference that is treated as rounding error
BLOCK_DRAWS = 2**20  # Number of values drawn at a time; results for a seed depend on it
FloatPair = tuple[float, float]


class PreferenceOptions(NamedTuple):
    """Options of the tests of a preference."""

    expected: float  # Expected proportion of wins of equal rankers
    confidence: float
    resamples: int = 0  # No bootstrap
    seed: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Preference(Result):
    r"""Preference of users between two rankers A and B, with tests and confidence intervals.

    Each interval inverts the test of its statistic, if there is one: it excludes the value that
    equal rankers have if and only if the p-value is at most 1 - confidence.

    Attributes
    ----------
    names, unit
        Names of A and B (wins are wins of A), and the unit of the sign test and the bootstrap.
    wins, losses, ties
        Numbers of impressions in which A had more credit than B, less credit, and equal credit.
    unit_wins, unit_losses, unit_ties
        Numbers of units with more wins than losses, with fewer wins, and with equally many.
    expected
        Expected proportion of wins among wins and losses of two equal rankers.
    pvalue, z, unit_interval
        Exact sign test by unit, without ties: the p-value, which is twice the smaller tail of the
        binomial distribution; z, the excess of wins divided by its standard deviation; and the
        interval of `unit_outcome` that inverts the test (Clopper and Pearson, 1934). The p-value
        and z are NaN if `expected` is not 0.5 and a unit has several impressions.
    outcome_interval, delta_interval, outcome_pvalue, delta_pvalue
        Intervals and p-values of `outcome` and `delta`. If each unit has one impression, they are
        those of the sign test, given the number of ties; otherwise they are percentiles of a
        bootstrap over units, and NaN if all resamples are equal. `delta_pvalue` is NaN if
        `expected` is not 0.5.
    credit, credit_interval, credit_pvalue
        Mean over units of a unit's mean difference of credit, A minus B, with the interval and
        p-value of Student's t-test. All are NaN if only counts are known; the interval and p-value
        are NaN if the difference is the same in all units.
    confidence, resamples, seed
        Confidence level, number of bootstrap resamples (0: no bootstrap), and the seed.
    notes
        Remarks on the data, such as excluded impressions.
    """

    name: ClassVar[str] = "preference"
    columns: ClassVar[Columns] = {
        "statistic": Column("`outcome`, `Delta` (with ties), or `difference of credit`.", key=True),
        "of": Column(
            "Unit of the statistic: `impression`, or the independent unit, such as `user`.",
            key=True,
        ),
        "value": Column("Value of the statistic; null if it is not defined."),
        **declare_bounds("confidence interval", "; null if there is none"),
        "p": Column("p-value of the test named in `method`; null if none.", is_pvalue=True),
        "method": Column("Method of the confidence interval and the test."),
    }

    names: tuple[str, str]
    unit: str
    wins: int
    losses: int
    ties: int
    unit_wins: int
    unit_losses: int
    unit_ties: int
    expected: float
    pvalue: float
    z: float
    unit_interval: FloatPair
    outcome_interval: FloatPair
    delta_interval: FloatPair
    outcome_pvalue: float
    delta_pvalue: float
    credit: float
    credit_interval: FloatPair
    credit_pvalue: float
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def n_impressions(self) -> int:
        """Number of impressions."""
        return self.wins + self.losses + self.ties

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.unit_wins + self.unit_losses + self.unit_ties

    @property
    def outcome(self) -> float:
        """Proportion of wins among the impressions without a tie; NaN if all are ties."""
        return float(compute_win_proportion(np.array([self.wins, self.losses])))

    @property
    def delta(self) -> float:
        """(wins + ties / 2) / (wins + losses + ties) - 1/2 (Chapelle et al., 2012)."""
        return float(compute_win_margin(np.array([self.wins, self.losses, self.ties])))

    @property
    def unit_outcome(self) -> float:
        """Proportion of wins among the units that are not ties; NaN if all are ties."""
        return float(compute_win_proportion(np.array([self.unit_wins, self.unit_losses])))

    @property
    def sampling(self) -> str:
        """Number of resamples and seed of the bootstrap, as text; empty without a bootstrap."""
        return f" ({self.resamples:,} resamples, seed {self.seed})" if self.resamples else ""

    @property
    def alpha(self) -> float:
        """Significance level: 1 - confidence."""
        return round(1 - self.confidence, 12)

    def _frame(self) -> pl.DataFrame:
        sign_test = "sign test, Clopper-Pearson"
        method = f"bootstrap by {self.unit}" if self.resamples else sign_test
        outcome = (self.outcome, *self.outcome_interval, self.outcome_pvalue, method)
        delta = (self.delta, *self.delta_interval, self.delta_pvalue, method)
        unit = (self.unit_outcome, *self.unit_interval, self.pvalue, sign_test)
        credit = (self.credit, *self.credit_interval, self.credit_pvalue, "t-test")
        rows = [("outcome", "impression", *outcome), ("Delta", "impression", *delta)]
        rows += [("outcome", self.unit, *unit)] if self.unit != "impression" else []
        rows += [] if np.isnan(self.credit) else [("difference of credit", self.unit, *credit)]
        frame = pl.DataFrame(rows, schema=list(self.columns), orient="row")
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    @property
    def verdict(self) -> str:
        """Result of the sign test in words, or of the bootstrap if there is no sign test."""
        a, b = self.names
        n = self.wins + self.losses
        if not n:
            return f"No impression decides between {a} and {b}: {inflect(self.ties, 'tie')}."
        note = "" if self.expected == 0.5 else f"; {100 * self.expected:g}% if rankers are equal"
        details = f"{100 * self.outcome:.1f}%, without {inflect(self.ties, 'tie')}{note}"
        verb = "decides" if n == 1 else "decide"
        subject = f"{inflect(n, 'impression')} that {verb} between {a} and {b}"
        summary = f"Of {subject}, {a} wins {self.wins:,} ({details}) and {b} {self.losses:,}."
        pvalue, outcome, test = self.pvalue, self.unit_outcome, f"sign test by {self.unit}"
        if np.isnan(pvalue):
            # The expected proportion refers to impressions, so only the bootstrap tests it.
            pvalue, outcome, test = self.outcome_pvalue, self.outcome, f"bootstrap by {self.unit}"
        if np.isnan(pvalue):
            return f"{summary} The difference was not tested."
        evidence = f"{test}: {_format_pvalue(pvalue, self.alpha)}"
        if pvalue > self.alpha:
            return f"{summary} The difference is not significant at {self.alpha:g} ({evidence})."
        return f"{summary} Users prefer {a if outcome > self.expected else b} ({evidence})."

    def heading(self) -> list[str]:
        a, b = self.names
        unit_text = f"; by {self.unit}: wins {self.unit_wins:,}, losses {self.unit_losses:,}"
        unit_text += f", ties {self.unit_ties:,}"
        size = inflect(self.n_impressions - self.ties, "impression")
        result = f"outcome {format_number(self.outcome) or 'undefined'} of {size} without a tie"
        pvalue, test = self.pvalue, f"sign test by {self.unit}"
        sign_test = f"{test}: z {format_number(self.z, 2)}, p {pvalue:.4g}"
        if np.isnan(pvalue):
            pvalue, sign_test = self.outcome_pvalue, f"no {test}"
        result += "" if np.isnan(pvalue) else f", p {pvalue:.3g}"
        return [
            f"{a} against {b}: {result} by {self.unit}",
            f"wins {self.wins:,}, losses {self.losses:,}, ties {self.ties:,}"
            f"{unit_text if self.unit != 'impression' else ''}",
            f"outcome expected if rankers are equal: {self.expected:g}; {sign_test}",
            f"low, high: {100 * self.confidence:g}% confidence intervals{self.sampling}",
        ]


def _format_pvalue(pvalue: float, alpha: float) -> str:
    """Format a p-value with enough digits to show whether it is below alpha."""
    if pvalue < 1e-300:
        return "p < 1e-300"
    digits = 2
    while digits < 15 and (float(f"{pvalue:.{digits}g}") <= alpha) != (pvalue <= alpha):
        digits += 1
    return f"p = {pvalue:.{digits}g}"


def compute_win_proportion(counts: Ints) -> Floats:
    """Compute w / (w + l) for wins w and losses l; NaN if there are only ties."""
    wins, losses = counts[..., 0], counts[..., 1]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.divide(wins, wins + losses))


def compute_win_margin(counts: Ints) -> Floats:
    """Compute (w - l) / (2 (w + l + t)) for wins w, losses l and ties t."""
    return np.asarray((counts[..., 0] - counts[..., 1]) / (2 * counts.sum(axis=-1)))


MAX_IMPRESSIONS = 10**8  # Maximum number of wins, of losses and of ties


def preference_of(
    wins: int,
    losses: int,
    ties: int = 0,
    *,
    names: Sequence[str] = ("A", "B"),
    expected: float = 0.5,
    confidence: float = 0.95,
) -> Preference:
    r"""Test the preference between two rankers from counts of wins, losses and ties.

    Impressions are assumed to be independent. If users return, impressions are dependent, and the
    test rejects too often; then use :func:`preference_by_credits` or :func:`preference` by user.

    Parameters
    ----------
    wins, losses, ties
        Numbers of impressions in which A had more credit than B, less credit, and equal credit.
    names
        Names of A and B.
    expected
        Expected proportion of wins, among wins and losses, for equal rankers; it differs from 1/2
        if the interleaving method is biased.
    confidence
        Confidence level of all intervals.

    Raises
    ------
    PolicyError
        For counts that are not integers from 0 to 100,000,000, or an invalid option.
    CranfieldError
        If all counts are 0.

    Notes
    -----
    The p-value is twice the smaller tail of the binomial distribution, given the number of ties.
    The interval of the outcome o by Clopper and Pearson (1934) inverts this test. It determines the
    interval of Delta, because :math:`\Delta = (1 - t/n)(o - 1/2)` for t ties of n impressions.

    Examples
    --------
    >>> result = preference_of(40, 109, 374)
    >>> round(result.outcome, 4), round(result.delta, 6), f"{result.pvalue:.3e}"
    (0.2685, -0.065966, '1.409e-08')
    >>> round(preference_of(40, 109, 374, expected=0.28).pvalue, 3)
    0.834
    """
    check_list("names", names)
    for name, value in (("wins", wins), ("losses", losses), ("ties", ties)):
        check_integer(name, value, 0, MAX_IMPRESSIONS)
    unit_counts = np.array([ties, losses, wins], dtype=np.int64)
    outcomes, options = np.eye(3, dtype=np.int64)[::-1], PreferenceOptions(expected, confidence)
    return _test_preference(outcomes, unit_counts, None, names, "impression", (), options)


def preference_by_credits(
    credits: Any,
    units: Any = None,
    *,
    unit: str = "unit",
    names: Sequence[str] = ("A", "B"),
    expected: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Preference:
    """Test the preference between two rankers from their credits by impression.

    Parameters
    ----------
    credits
        Credits of A and B in each impression, shape (impressions, 2), such as the `credits` of an
        interleaver; NaN if a ranker took no part. Or the outcome of each impression, above 0 if A
        wins, shape (impressions,), such as the `outcomes` of an interleaver.
    units
        Unit of each impression, such as its user; by default impressions are independent.
    unit
        Name of a unit, such as `user`.
    names, expected, confidence
        As for :func:`preference_of`.
    resamples
        Number of bootstrap resamples of units; has no effect if each unit has one impression.
    seed
        Seed of the bootstrap.

    Raises
    ------
    PolicyError
        For credits or units of another shape or type, or an invalid option.
    CranfieldError
        If no impression has credits of both rankers.

    Examples
    --------
    >>> result = preference_by_credits([[1, 0], [2, 0], [0, 1]], ["u", "u", "v"], unit="user")
    >>> result.wins, result.losses, result.unit_wins, result.unit_losses, result.pvalue
    (2, 1, 1, 1, 1.0)
    """
    check_list("names", names)
    if not isinstance(unit, str):
        raise ArgumentError(f"unit must be text, got {quote(unit)}")
    values = as_numbers(credits, "credits")
    if values.ndim == 1:
        values = np.stack([values, np.zeros(len(values))], axis=1)
    values = check_credits(values)
    if values.shape[1] != 2:
        reason = f"expected credits of two rankers, got {values.shape[1]}"
        raise PolicyError(f"{reason}; for more rankers, use preference_matrix_by_credits")
    code, unit_name = encode_unit_ids(units, len(values)), "impression" if units is None else unit
    options = PreferenceOptions(expected, confidence, resamples, seed)
    return compare_rankers(values[:, 0], values[:, 1], code, names, unit_name, (), options)


def check_credits(credits: Any) -> Floats:
    """Check credits, and return them as floats, shape (impressions, rankers)."""
    values = as_numbers(credits, "credits")
    if values.ndim != 2 or values.shape[1] < 2:
        expected = "credits must have a row per impression and a column for each ranker"
        raise PolicyError(f"{expected}, got shape {values.shape}")
    if np.isinf(values).any():
        raise PolicyError("credits must be finite numbers or NaN, got an infinite number")
    return values


def encode_unit_ids(units: Any, n_impressions: int) -> Indices:
    """Return the index of each impression's unit; without units, each impression is a unit."""
    if units is None:
        return np.arange(n_impressions)
    requirement = "units must have one id (text or integer) for each impression"
    labels = as_array(units, requirement)
    if labels.shape != (n_impressions,):
        size = inflect(n_impressions, "impression")
        raise PolicyError(f"{requirement}, got shape {labels.shape} for {size}")
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.intp)
    except TypeError:
        raise PolicyError(f"{requirement}, got ids that cannot be sorted") from None


def compare_rankers(
    credits: Floats,
    other_credits: Floats,
    units: Indices,
    names: Sequence[str],
    unit: str,
    notes: Sequence[str],
    options: PreferenceOptions,
) -> Preference:
    """Test the preference between two rankers from the credits and the unit of each impression."""
    difference = credits - other_credits
    is_compared = ~np.isnan(difference)
    if not is_compared.all():
        subject = inflect(int((~is_compared).sum()), "impression")
        notes = [*notes, f"{subject} excluded: not both rankers took part"]
    difference = difference[is_compared]
    unit_ids, code = np.unique(units[is_compared], return_inverse=True)
    sign = np.where(np.abs(difference) <= MAX_ROUNDING_ERROR, 0, np.sign(difference))
    counts = [np.bincount(code[sign == value], minlength=unit_ids.size) for value in (1, -1, 0)]
    outcomes = np.stack(counts, axis=1).astype(np.int64)
    credit = np.bincount(code, difference, unit_ids.size) / outcomes.sum(axis=1)
    unit_outcomes, unit_counts = np.unique(outcomes, axis=0, return_counts=True)
    return _test_preference(unit_outcomes, unit_counts, credit, names, unit, notes, options)


def _test_preference(
    unit_outcomes: Ints,  # Distinct wins, losses and ties of units
    unit_counts: Ints,  # Their frequencies
    credit: Floats | None,  # Mean difference of credit by unit, if known
    names: Sequence[str],
    unit: str,
    notes: Sequence[str],
    options: PreferenceOptions,
) -> Preference:
    expected, confidence, resamples, seed = options
    check_proportion("expected", expected)
    check_proportion("confidence", confidence)
    pair = tuple(map(str, names))
    if len(pair) != 2 or pair[0] == pair[1]:
        raise PolicyError(f"names must be two distinct rankers, got {quote(names)}")
    unit_outcomes, unit_counts = unit_outcomes[unit_counts > 0], unit_counts[unit_counts > 0]
    if not unit_counts.size:
        reason = "expected at least one impression with credits of both rankers, got none"
        raise CranfieldError(reason)
    wins, losses, ties = map(int, unit_counts @ unit_outcomes)
    sign = np.sign(unit_outcomes[:, 0] - unit_outcomes[:, 1])
    unit_totals = [int(unit_counts[sign == value].sum()) for value in (1, -1, 0)]
    n_unit_wins, n_unit_losses, n_unit_ties = unit_totals
    n = n_unit_wins + n_unit_losses
    z, pvalue, unit_interval = _run_sign_test(n_unit_wins, n_unit_losses, expected, confidence)
    notes = list(notes)
    if (unit_outcomes.sum(axis=1) > 1).any():
        check_integer("resamples", resamples, 1, MAX_RESAMPLES)
        if expected != 0.5:
            # The probability that a unit with several impressions has more wins is unknown.
            z = pvalue = np.nan
            reason = f"the expected proportion {expected:g} is by impression"
            remedy = "use the bootstrap p-value of the outcome"
            notes.append(f"no sign test by {unit}: {reason}; {remedy}")
        samples = _resample_units(unit_outcomes, unit_counts, resamples, seed)
        outcomes = compute_win_proportion(samples)
        outcome_interval, outcome_pvalue = _bootstrap_interval(outcomes, expected, confidence)
        margins = compute_win_margin(samples)
        delta_interval, delta_pvalue = _bootstrap_interval(margins, 0.0, confidence)
        n_empty = int(np.isnan(outcomes).sum())
        if n_empty and n:
            notes.append(
                f"{inflect(n_empty, 'bootstrap sample')} excluded from the outcome: no win or loss"
            )
        constant_statistics = ["outcome"] if n and np.isnan(outcome_pvalue) else []
        constant_statistics += ["Delta"] if np.isnan(delta_pvalue) else []
        if constant_statistics:
            statistics = " and ".join(constant_statistics)
            notes.append(f"no confidence interval of {statistics}: equal in all bootstrap samples")
    else:
        resamples = seed = 0
        low, high = unit_interval
        fraction = n / (n + n_unit_ties) if n else np.nan
        outcome_interval, outcome_pvalue = unit_interval, pvalue
        delta_interval = fraction * (low - 0.5), fraction * (high - 0.5)
        delta_pvalue = pvalue
    if expected != 0.5:
        # Equal rankers have a Delta other than 0, which depends on the proportion of ties.
        delta_pvalue = np.nan
    mean, credit_interval, credit_pvalue = _test_credit(credit, confidence)
    if np.isnan(credit_pvalue) and not np.isnan(mean):
        reason = f"only one {unit}" if unit_counts.sum() == 1 else f"equal for each {unit}"
        notes.append(f"no confidence interval of the difference of credit: {reason}")
    return Preference(
        (pair[0], pair[1]),
        unit,
        wins=wins,
        losses=losses,
        ties=ties,
        unit_wins=n_unit_wins,
        unit_losses=n_unit_losses,
        unit_ties=n_unit_ties,
        expected=float(expected),
        pvalue=pvalue,
        z=z,
        unit_interval=unit_interval,
        outcome_interval=outcome_interval,
        delta_interval=delta_interval,
        outcome_pvalue=outcome_pvalue,
        delta_pvalue=delta_pvalue,
        credit=mean,
        credit_interval=credit_interval,
        credit_pvalue=credit_pvalue,
        confidence=float(confidence),
        resamples=int(resamples),
        seed=int(seed),
        notes=tuple(notes),
    )


def _run_sign_test(
    wins: int, losses: int, expected: float, confidence: float
) -> tuple[float, float, FloatPair]:
    """Compute z and the p-value of the exact sign test, and the interval that inverts the test."""
    n = wins + losses
    z = (wins - n * expected) / np.sqrt(n * expected * (1 - expected)) if n else 0.0
    # Twice the smaller binomial tail, at most 1: the test that Clopper-Pearson inverts.
    counts = np.array(wins), np.array(losses)
    tails = [compute_binomial_pvalues(*counts, tail, expected) for tail in ("greater", "less")]
    bounds = compute_clopper_pearson_intervals(np.array(wins), np.array(n), confidence)
    low, high = map(float, bounds)
    return float(z), min(1.0, 2 * float(min(tails))), (low, high)


def _resample_units(unit_outcomes: Ints, unit_counts: Ints, resamples: int, seed: int) -> Ints:
    n_units = int(unit_counts.sum())
    samples = np.empty((resamples, 3), dtype=np.int64)
    for block, rows in enumerate(slice_rows(resamples, len(unit_outcomes), BLOCK_DRAWS)):
        # The numbers of drawn units with each outcome are multinomial.
        size = rows.stop - rows.start
        counts = make_stream(seed, block).multinomial(n_units, unit_counts / n_units, size=size)
        samples[rows] = counts @ unit_outcomes
    return samples


def _bootstrap_interval(values: Floats, null: float, confidence: float) -> tuple[FloatPair, float]:
    """Return a percentile interval and its p-value; NaN if all values other than NaN are equal."""
    values = values[~np.isnan(values)]
    if not values.size or np.ptp(values) <= MAX_ROUNDING_ERROR:
        return (np.nan, np.nan), np.nan
    return compute_percentiles(values, confidence), compute_tail_pvalue(values - null)


def _test_credit(credit: Floats | None, confidence: float) -> tuple[float, FloatPair, float]:
    """Return the mean difference, with the interval and p-value of the t-test; NaN if undefined."""
    mean = np.array(np.nan if credit is None else credit.mean())
    if credit is None or credit.size == 1 or np.ptp(credit) <= MAX_ROUNDING_ERROR:
        return float(mean), (np.nan, np.nan), np.nan
    df, standard_error = credit.size - 1, np.array(credit.std(ddof=1) / np.sqrt(credit.size))
    low, high = bound_by_t(mean, standard_error, df, confidence)
    t = standardise_difference(mean, standard_error)
    pvalue = compute_difference_pvalues(t, standard_error, df, "two-sided")
    return float(mean), (float(low), float(high)), float(pvalue)
