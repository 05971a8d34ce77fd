"""Preferences of the users of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.base.errors import PolicyError, quoted
from cranfield.online.interleaving.credits_of_log import LogCredits, team_credits, units_of
from cranfield.online.interleaving.of_many import PreferenceMatrix, matrix_from
from cranfield.online.interleaving.outcomes_by_method import Lists, outcomes_by_method
from cranfield.online.interleaving.preference import Preference
from cranfield.online.interleaving.two_rankers import of_two, preference_from
from cranfield.online.log.query_log import QueryLog


def preference(
    log: QueryLog,
    unit: str | None = None,
    *,
    names: Sequence[str] | None = None,
    clicks: str = "all",
    lists: Lists | None = None,
    method: str | None = None,
    expected: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Preference:
    """Return which of two rankers the users of a log prefer.

    The results of interleaved pages have their `team`, the ranker that put them there. In each page
    the ranker with more credit wins, which is the sum of what clicks on its results are worth.

    Parameters
    ----------
    log
        With teams of results.
    unit
        What is independent, so that it is counted and resampled: `user`, `session`, `query` or
        `impression`. It must be named where users or sessions come again.
    names
        The rankers A and B; by default the two teams of the log, in order.
    clicks
        `all` clicked results are worth 1; the `first` or `last` one of a page; `sat`: those with a
        dwell of 30 seconds at least; or a column of clicks that says what each is worth.
    lists
        By query, and by ranker, documents, the best first: pages are compared as the method that
        interleaved them does it. By default by teams, which is right for team draft.
    method
        With lists: a method by its text form, such as `Probabilistic`; by default that of each
        page.
    expected, confidence, resamples, seed
        As for :func:`preference_of`.

    Raises
    ------
    PolicyError
        Without a unit where users come again; for more than two rankers without names.
    InputError
        For a log that lacks teams, or what else is asked for.

    Examples
    --------
    >>> import cranfield as cf
    >>> found = cf.online.preference(cf.online.simulated_log(), unit="user")
    >>> found.names, found.wins, found.losses, found.ties
    (('control', 'treatment'), 211, 281, 216)
    """
    if lists is not None:
        made = outcomes_by_method(log, lists, method, clicks, names)
    elif method is not None:
        raise PolicyError("a method needs the lists that it interleaved")
    else:
        made = team_credits(log, clicks)
    kind, code, number, notes = units_of(log, made.pages, unit)
    pair = tuple(made.rankers if names is None else names)
    if len(pair) != 2:
        raise PolicyError(f"a preference is between two rankers, not {quoted(', '.join(pair))}")
    first, second = (made.values[:, _place(made, name)] for name in pair)
    outcomes, said = of_two(first, second, code, number)
    notes = [*made.notes, *notes, *said]
    return preference_from(outcomes, pair, kind, expected, confidence, resamples, seed, notes)


def preference_matrix(
    log: QueryLog,
    unit: str | None = None,
    *,
    names: Sequence[str] | None = None,
    clicks: str = "all",
    correction: str = "holm",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> PreferenceMatrix:
    """Return which of several rankers the users of a log prefer, pair by pair.

    A pair is compared by the pages in which both own a result.

    Parameters
    ----------
    log, unit, clicks
        As for :func:`preference`.
    names
        The rankers; by default all teams of the log.
    correction, confidence, resamples, seed
        As for :func:`preference_matrix_by_credits`.

    Raises
    ------
    PolicyError, InputError
        As for :func:`preference`, and for rankers that are never in one page.
    """
    made = team_credits(log, clicks)
    kind, code, number, notes = units_of(log, made.pages, unit)
    rankers = tuple(made.rankers if names is None else names)
    if len(rankers) < 2:
        raise PolicyError("preferences are between two rankers or more")
    credits = made.values[:, [_place(made, name) for name in rankers]]
    said: Any = [*made.notes, *notes]
    return matrix_from(
        credits, code, number, kind, rankers, correction, confidence, resamples, seed, said
    )


def _place(made: LogCredits, name: str) -> int:
    if name not in made.rankers:
        known = ", ".join(made.rankers)
        raise PolicyError(f"no ranker {quoted(name)} in the log; there are {known}")
    return made.rankers.index(name)
