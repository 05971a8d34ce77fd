"""Preferences of the users of a log, and numbers of impressions that sign tests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
from scipy.special import bdtr, ndtri

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_choice,
    check_list,
    check_number,
    check_proportion,
    quote,
)
from cranfield.base.kinds import Integer, OneOf, UnitInterval
from cranfield.base.text import inflect, list_some
from cranfield.online.interleaving.interleaver import interleave
from cranfield.online.interleaving.preference import Preference, PreferenceOptions, compare_rankers
from cranfield.online.interleaving.side_by_side import PreferenceMatrix, compare_pairs
from cranfield.online.log.query_log import QueryLog, check_independence, number_page_units
from cranfield.significance.corrections.pvalue_corrections import ADJUSTMENTS

MIN_SATISFIED_DWELL = 30.0  # Minimum dwell time, in seconds, of a satisfied click
CLICKS = ("all", "first", "last", "sat")  # Selections of clicks, all with the weight 1
UNITS = ("user", "session", "query", "impression")  # Units of the sign test and the bootstrap


@dataclass(frozen=True, eq=False)
class LogCredits:
    """Credits of the interleaved pages of a log."""

    rankers: tuple[str, ...]  # In order of UTF-8 bytes
    values: Floats  # Shape (pages, rankers); NaN if a ranker took no part
    pages: Indices  # Row of each page in the log
    notes: tuple[str, ...]  # Notes, such as on excluded pages

    def get_credits(self, name: str) -> Floats:
        """Return the credit of a ranker on each page."""
        if name not in self.rankers:
            names = ", ".join(self.rankers)
            raise PolicyError(f"unknown ranker {quote(name)}; expected one of: {names}")
        return self.values[:, self.rankers.index(name)]


def _check_pair(names: Sequence[str]) -> tuple[str, str]:
    if len(names) != 2:
        raise PolicyError(f"names must be two rankers, got {quote(', '.join(names))}")
    return names[0], names[1]


def weigh_clicks(
    log: QueryLog, clicks: str, results: pl.DataFrame
) -> tuple[pl.DataFrame, list[str]]:
    """Add a column `weight` to results: the largest weight of a click, or 0; return notes."""
    log.require("clicks", purpose="a preference")
    rows = log.clicks.filter(pl.col("rank").is_not_null())
    rows = rows.join(results, on="page", how="semi", maintain_order="left")
    notes: list[str] = []
    weight: pl.Expr = pl.lit(1.0)
    if clicks in ("first", "last"):
        # Clicks are in order of time; without times, in the order of the source.
        notes += log.describe_click_order(f"{clicks} click")
        rows = rows.unique("page", keep=clicks, maintain_order=True)  # type: ignore[arg-type]
    elif clicks == "sat":
        log.require("clicks", "dwell", purpose="satisfied clicks")
        is_satisfied = pl.col("dwell") >= MIN_SATISFIED_DWELL
        weight = is_satisfied.fill_null(False).cast(pl.Float64)
        is_unknown = pl.col("dwell").is_null()
        if "censored" in rows.columns:
            is_unknown |= pl.col("censored") & ~is_satisfied
        if n_missing := rows.filter(is_unknown).height:
            subject = f"{inflect(n_missing, 'click')} with an unknown or censored dwell time"
            notes.append(f"{subject} treated as not satisfied")
    elif clicks != "all":
        if clicks == "dwell":
            log.require("clicks", "dwell", purpose="clicks weighted by dwell time")
        numeric_columns = [name for name, dtype in rows.schema.items() if dtype.is_numeric()]
        # The first two columns are the page and the rank.
        choices = dict.fromkeys([*CLICKS, "dwell", *numeric_columns[2:]])
        check_choice("clicks", clicks, list(choices))
        weight = pl.col(clicks).cast(pl.Float64).fill_null(0.0)
        if n_missing := rows[clicks].null_count():
            notes.append(f"{inflect(n_missing, 'click')} without a value of {clicks} counted as 0")
    best_clicks = rows.group_by("page", "rank").agg(weight.max().alias("weight"))
    results = results.join(best_clicks, on=["page", "rank"], how="left", maintain_order="left")
    return results.with_columns(pl.col("weight").fill_null(0.0)), notes


def list_teams(log: QueryLog) -> tuple[str, ...]:
    """List the teams of a log, in order of UTF-8 bytes."""
    if "method" not in log.pages.columns:
        log.require("results", "team", purpose="a preference")
    has_teams = "team" in log.results.columns
    names = log.results["team"].drop_nulls().unique() if has_teams else pl.Series(dtype=pl.String)
    if names.is_empty():
        remedy = "methods other than team draft require the interleaved lists or runs"
        reason = f"expected results with a team, got none; {remedy}"
        raise InputError(reason, source=log.source)
    return tuple(sorted(names, key=str.encode))


def mask_interleaved_pages(log: QueryLog) -> Bools:
    """Return a mask of the pages with a method or a team; of all pages if there are none."""
    is_interleaved = np.zeros(log.pages.height, dtype=bool)
    if "method" in log.pages.columns:
        is_interleaved |= log.pages["method"].is_not_null().to_numpy()
    if "team" in log.results.columns:
        is_interleaved[log.results.drop_nulls("team")["page"]] = True
    return is_interleaved if is_interleaved.any() else ~is_interleaved


def compute_team_credits(log: QueryLog, clicks: str = "all") -> LogCredits:
    """Credit each ranker with the clicks on the results of its team.

    If a log has two rankers, both take part in every interleaved page; the team with more credit
    wins (Radlinski et al., 2008). If there are more rankers, those that own a result of a page take
    part in it.
    """
    rankers = list_teams(log)
    results, notes = weigh_clicks(log, clicks, log.results.drop_nulls("team"))
    weights = results.group_by("page", "team", maintain_order=True).agg(pl.col("weight").sum())
    weights = weights.with_columns(pl.col("team").replace_strict(rankers, range(len(rankers))))
    pages = np.flatnonzero(mask_interleaved_pages(log))
    n_single = int((weights["page"].value_counts()["count"] == 1).sum())
    n_empty = len(pages) - weights["page"].n_unique()
    if n_single and len(rankers) == 2:
        notes.append(f"{inflect(n_single, 'page')} with results of one team only, included")
    if n_empty and len(rankers) == 2:
        notes.append(f"{inflect(n_empty, 'page')} on which no result has a team, counted as ties")
    values = np.full((len(pages), len(rankers)), 0.0 if len(rankers) == 2 else np.nan)
    row = np.searchsorted(pages, weights["page"].to_numpy())
    values[row, weights["team"].to_numpy()] = weights["weight"].to_numpy()
    if n_excluded := log.pages.height - len(pages):
        notes.append(f"{inflect(n_excluded, 'page')} excluded: no method and no team")
    if "method" in log.pages.columns:
        methods = log.pages["method"].drop_nulls()
        other_methods = methods.filter(~methods.str.starts_with("TeamDraft"))
        if n_other := len(other_methods):
            names = ", ".join(other_methods.unique().sort())
            pages_text = f"{inflect(n_other, 'page')} interleaved by {names}"
            notes.append(
                f"{pages_text}, credited by team; use lists=... for the credits of the method"
            )
    return LogCredits(rankers, values, pages, tuple(notes))


def number_units(
    log: QueryLog, credits: LogCredits, unit: str | None
) -> tuple[str, Indices, list[str]]:
    """Return the name of the unit, the index of the unit of each page, and all notes."""
    pages = log.pages[credits.pages]
    if unit is None:
        check_independence(pages, "page", "impression")
    unit = unit or "impression"
    check_choice("unit", unit, UNITS)
    if unit == "impression":
        return unit, np.arange(pages.height), [*credits.notes]
    log.require("pages", unit, purpose=f"a preference by {unit}")
    codes, notes = number_page_units(pages, unit)
    return unit, codes, [*credits.notes, *notes]


MAX_EXACT = 2000  # Maximum number of untied impressions for which the power is computed exactly


def impressions_needed(
    outcome: float, untied: float = 1.0, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    r"""Compute the number of impressions that a sign test needs to detect a preference.

    Parameters
    ----------
    outcome
        Proportion of wins among the impressions that are not ties, from 0 to 1.
    untied
        Proportion of impressions that are not ties, above 0, at most 1.
    power
        Probability of detecting the preference.
    alpha
        Significance level of the two-sided test.

    Returns
    -------
    float
        Number of impressions, for the expected number of ties; infinite for an outcome of 1/2.

    Notes
    -----
    n is the smallest number such that the exact test reaches the power with n or more untied
    impressions. It is computed from the binomial distribution or, above 2,000, approximated by

    .. math:: n = \left( \frac{z_{1-\alpha/2} / 2 + z_{power} \sqrt{p (1 - p)}}{p - 1/2} \right)^2

    with normal quantiles z, and the outcome p (or 1 minus the outcome, if this is larger). The
    result is n divided by the proportion of impressions that are not ties.

    Examples
    --------
    >>> impressions_needed(0.6), impressions_needed(0.6, untied=0.5), impressions_needed(1.0)
    (210.0, 420.0, 6.0)
    """
    check_proportion("power", power)
    check_proportion("alpha", alpha)
    check_number("outcome", outcome, 0, 1)
    check_number("untied", untied, above=0, maximum=1)
    p = max(outcome, 1 - outcome)
    if p == 0.5:
        return np.inf
    quantiles = ndtri(1 - alpha / 2) / 2 + ndtri(power) * np.sqrt(p * (1 - p))
    n = (quantiles / (p - 0.5)) ** 2
    if n <= MAX_EXACT:
        sizes = np.arange(1, int(2 * n) + 100)
        n = float(np.flatnonzero(_compute_power(sizes, p, alpha) < power).max(initial=-1)) + 2
    with np.errstate(over="ignore"):
        return float(np.ceil(np.ceil(n) / untied))


def _compute_power(n: Indices, p: float, alpha: float) -> Floats:
    """Compute the power of the exact test for numbers n of untied impressions."""
    # The largest number of losses with P(losses or fewer) <= alpha / 2 is near its approximation.
    approximation = np.floor(n / 2 + ndtri(alpha / 2) * np.sqrt(n) / 2)
    losses = approximation + np.arange(-3, 4)[:, None]
    is_rejected = (losses >= 0) & (bdtr(np.maximum(losses, 0), n, 0.5) <= alpha / 2 * (1 + 1e-12))
    critical_losses = np.where(is_rejected, losses, -1.0).max(axis=0)
    threshold = np.maximum(critical_losses, 0)
    power = bdtr(threshold, n, 1 - p) + bdtr(threshold, n, p)
    return np.asarray(np.where(critical_losses >= 0, power, 0.0))


QueryRankings = Mapping[str, Mapping[str, Sequence[str]]]  # By query and ranker, best first


def compute_method_credits(
    log: QueryLog,
    lists: QueryRankings,
    method: str | None,
    clicks: str,
    names: Sequence[str] | None,
) -> LogCredits:
    """Credit two rankers on each page, by the given method or else by the method of the page."""
    log.require("results", "doc", purpose="a comparison of rankers by their lists")
    check_choice("clicks", clicks, CLICKS)
    if method is None:
        log.require("pages", "method", purpose="a preference by the method of each page")
    pages = log.pages.select("query", method="method" if method is None else pl.lit(method))
    pages = pages.with_columns(page=pl.int_range(pl.len(), dtype=pl.Int64))
    pages = pages.filter(pl.Series(mask_interleaved_pages(log)))
    used_pages = pages.filter(pl.col("query").is_in(list(lists)) & pl.col("method").is_not_null())
    if used_pages.is_empty():
        expected = "pages with both an interleaving method and a query with lists of rankers"
        raise InputError(f"expected {expected}, got none", source=log.source)
    results = log.results.join(used_pages, on="page", how="inner", maintain_order="left")
    results, notes = weigh_clicks(log, clicks, results)
    rankers = sorted({name for rankings in lists.values() for name in rankings}, key=str.encode)
    if "team" in results.columns and (teams := {*results["team"].drop_nulls()} - {*rankers}):
        raise InputError(
            "expected ranked lists named like the teams in the log, such as"
            f" {quote(min(teams))}, got lists named {list_some(map(quote, rankers), 5)}",
            source=log.source,
        )
    if "team" not in results.columns:
        results = results.with_columns(team=pl.lit(None, pl.String))
    pair = _check_pair(names or rankers)
    values = np.zeros((log.pages.height, 2))
    for (query, method_name), rows in results.group_by("query", "method", maintain_order=True):
        if missing_names := [name for name in pair if name not in lists[query]]:
            expected = f"expected lists of {' and '.join(map(quote, pair))} for each query"
            problem = f"got none of {quote(missing_names[0])} for query {quote(query)}"
            raise PolicyError(f"{expected}, {problem}")
        pair_lists = {name: lists[query][name] for name in pair}
        page, credits = _credit_query(rows, pair_lists, str(method_name), log.source)
        values[page] = credits
    # A page without results has no clicks, so it is a tie.
    page_rows = used_pages["page"].to_numpy()
    if n_excluded := log.pages.height - len(page_rows):
        subject = inflect(n_excluded, "page")
        notes.append(f"{subject} excluded: no method, or no lists of the query")
    return LogCredits(pair, values[page_rows], page_rows, tuple(notes))


def _credit_query(
    rows: pl.DataFrame, lists: Mapping[str, Sequence[str]], method: str, source: str
) -> tuple[Floats, Floats]:
    """Return the pages of a query, and credits of both rankers (or outcomes and 0)."""
    length = int(rows["rank"].max())  # type: ignore[arg-type]
    interleaver = interleave(lists, method, length)
    code_of_doc = {doc: k for k, doc in enumerate(interleaver.docs)}
    docs = rows["doc"]
    doc_codes = docs.replace_strict(code_of_doc, default=-1, return_dtype=pl.Int64).to_numpy()
    if (doc_codes < 0).any():
        doc = docs[int(np.argmax(doc_codes < 0))]
        raise InputError("is on a page, but in none of the rankings", source=source, doc=doc)
    page, row = np.unique(rows["page"].to_numpy(), return_inverse=True)
    cells = row, rows["rank"].to_numpy() - 1
    teams = {name: k for k, name in enumerate(interleaver.rankers)}
    codes, owners = np.full((2, len(page), length), -1, dtype=np.intp)
    codes[cells] = doc_codes
    owners[cells] = rows["team"].replace_strict(teams, default=-1, return_dtype=pl.Int64)
    is_clicked = np.zeros(codes.shape, dtype=bool)
    is_clicked[cells] = rows["weight"] > 0
    if interleaver.method.has_team_credit:
        return page, interleaver.credits(codes, is_clicked, owners)
    outcomes = interleaver.outcomes(codes, is_clicked, owners)
    return page, np.stack([outcomes, np.zeros_like(outcomes)], axis=1)


def preference(
    log: QueryLog,
    unit: Annotated[str | None, OneOf(UNITS)] = None,
    *,
    names: Sequence[str] | None = None,
    clicks: str = "all",
    lists: QueryRankings | None = None,
    method: str | None = None,
    expected: Annotated[float, UnitInterval()] = 0.5,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    resamples: Annotated[int, Integer(1)] = 10_000,
    seed: Annotated[int, Integer(0)] = 0,
) -> Preference:
    """Test which of two rankers the users of a log prefer.

    Each result of an interleaved page has a `team`, the ranker that owns it. The credit of a ranker
    is the sum of the weights of clicks on its results; on each page the ranker with more credit
    wins. Several clicks on a result count once, with the largest weight.

    Parameters
    ----------
    log
        Log with teams of results or, with `lists`, methods of pages.
    unit
        Independent unit, for the test and the bootstrap: `user`, `session`, `query` or
        `impression`. A unit must be set if users or sessions have several pages.
    names
        The rankers A and B; by default the two teams of the log, or the two rankers of `lists`, in
        order of UTF-8 bytes.
    clicks
        Clicks that count: `all`; the `first` or `last` of a page; `sat` (a dwell time of at least
        30 seconds); or `dwell`, which weights each click by its dwell time. In Python, any numeric
        column that was added to `log.clicks` can also be the weight. With `lists`, only `all`,
        `first`, `last` and `sat` are accepted.
    lists
        Documents by query and ranker, best first. With lists, pages are compared by the method that
        interleaved them; by default they are compared by teams, which is correct for team draft.
    method
        With lists, the text form of a method, such as `Probabilistic`; by default the method of
        each page.
    expected, confidence
        As for :func:`preference_of`.
    resamples, seed
        As for :func:`preference_by_credits`.

    Raises
    ------
    PolicyError
        If users or sessions have several pages and no unit is set, if the log or `lists` do not
        have two rankers and no names are set, or for an invalid option.
    InputError
        For a log without teams or other required columns, or `lists` that do not match the log.
    CranfieldError
        If no page has credits of both rankers.

    Examples
    --------
    >>> import cranfield as cf
    >>> result = cf.online.preference(cf.online.simulated_log(), unit="user")
    >>> result.names, result.wins, result.losses, result.ties
    (('control', 'treatment'), 211, 281, 216)
    """
    check_list("names", names)
    if lists is not None:
        credits = compute_method_credits(log, lists, method, clicks, names)
    elif method is not None:
        raise PolicyError("method requires lists, the interleaved rankings")
    else:
        credits = compute_team_credits(log, clicks)
    unit, unit_indices, notes = number_units(log, credits, unit)
    pair = _check_pair(credits.rankers if names is None else names)
    options = PreferenceOptions(expected, confidence, resamples, seed)
    first, second = map(credits.get_credits, pair)
    return compare_rankers(first, second, unit_indices, pair, unit, notes, options)


def preference_matrix(
    log: QueryLog,
    unit: str | None = None,
    *,
    names: Sequence[str] | None = None,
    clicks: str = "all",
    correction: Annotated[str, OneOf(tuple(ADJUSTMENTS))] = "holm",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PreferenceMatrix:
    """Test which of several rankers the users of a log prefer, pair by pair.

    If a log has more than two teams, two of them are compared on the pages where both own a result;
    if it has only two, they are compared on all interleaved pages.

    Parameters
    ----------
    log, unit, clicks
        As for :func:`preference`.
    names
        Rankers to compare; by default all teams of the log.
    correction, confidence, resamples, seed
        As for :func:`preference_matrix_by_credits`.

    Raises
    ------
    PolicyError, InputError
        As for :func:`preference`, and for rankers that share no page.
    """
    check_list("names", names)
    check_choice("correction", correction, ADJUSTMENTS)
    credits = compute_team_credits(log, clicks)
    unit, unit_indices, notes = number_units(log, credits, unit)
    rankers = tuple(credits.rankers if names is None else names)
    if len(rankers) < 2:
        raise PolicyError(f"names must be two or more rankers, got {quote(', '.join(rankers))}")
    values = np.stack([credits.get_credits(name) for name in rankers], axis=1)
    options = PreferenceOptions(0.5, confidence, resamples, seed)
    return compare_pairs(values, unit_indices, rankers, unit, notes, correction, options)
