"""Wrong rankings, clicks, users and questions of interleaving are refused in one line."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from cranfield import online
from cranfield.online import CascadeUser, interleave, preference_by_credits, preference_of
from cranfield.online.log.query_log import make_log
from tests.online.interleaving.enumeration import made
from tests.online.interleaving.test_preference_of_log import small_log
from tests.online.refusals import Refusal, check_refused

DRAFT = made("abcd", "dcba", method="TeamDraft")
LISTS, TEAMS = DRAFT.draw(2, seed=1)
NONE = np.zeros((2, 4), dtype=bool)
LOG = small_log()
TEAMLESS = make_log(LOG.pages, LOG.results.with_columns(team=pl.lit(None, pl.String)))
APART: Any = {"A": {"q1": {"a": 1.0}}, "B": {"q2": {"a": 1.0}}}
FOUR = [[*range(k, 12 + k)] for k in range(4)]
NOTHING = cast(Any, [None])

user = online.simulated_user
preference = partial(online.preference, LOG)

REFUSALS: dict[str, list[Refusal]] = {
    "rankings": [
        (lambda: interleave([["a"]]), "two or more rankings"),
        (lambda: interleave(cast(Any, 7)), "lists of ids, or runs, got '7'"),
        (lambda: interleave([[], []]), "only empty rankings"),
        (lambda: interleave([["a"], ["a", "a"]]), "'ranker 2' .* 'a' twice"),
        (lambda: interleave(["abc", "cab"]), "'abc'"),
        (lambda: interleave([["a"], NOTHING]), "document id"),
        (lambda: interleave([["a"], ["b"], ["c"]], "Balanced"), "2 rankings, got 3"),
        (lambda: interleave([["a"], ["b"]], "TeamDrafd"), "did you mean"),
        (lambda: interleave([["a"], ["b"]], "TeamDraft(tau=1)"), "unknown parameter 'tau'"),
        (lambda: interleave([["a"], ["b"]], length=0), "length must be"),
        (
            lambda: made("abcd", "dcba", method="TDM").compute_distribution(limit=3),
            "more than 3 lists",
        ),
    ],
    "runs": [
        (lambda: online.interleave_runs(APART), "at least one common topic"),
        (lambda: online.interleave_runs({"A": {"q1": {"a": 1.0}}}), "two or more rankings"),
    ],
    "clicks on lists": [
        (lambda: DRAFT.credits(LISTS, NONE, None), "teams"),
        (lambda: DRAFT.credits(LISTS, NONE[:1], TEAMS), "booleans of the shape"),
        (lambda: DRAFT.credits(LISTS + 4, NONE, TEAMS), "from -1 to 3"),
        (lambda: DRAFT.credits(LISTS, NONE, TEAMS + 2), "teams must be integers from -1 to 1"),
        (lambda: DRAFT.credits(np.full_like(LISTS, -1), ~NONE, TEAMS), "end of its list"),
        (lambda: DRAFT.credits(LISTS[0], NONE[0], TEAMS[0]), "of shape .impressions, ranks."),
    ],
    "checks": [
        (lambda: online.fidelity(n_docs=6), "n_docs must be an integer from 2 to 5"),
        (lambda: online.bias([[*range(13)]] * 2, "Balanced", 20), "up to 12 documents, got 13"),
        (lambda: online.bias(FOUR, "TeamDraft", 12), "4 rankers for 4,096 sets of clicks on 13"),
        (lambda: online.bias([list("abcd"), list("dcba")], "PI", limit=10), "more than 10 lists"),
        (lambda: online.impressions_needed(1.1), "from 0 to 1"),
        (lambda: online.impressions_needed(0.6, 0.0), "0"),
        (lambda: online.impressions_needed(np.nan), "from 0 to 1"),
        (lambda: online.impressions_needed(0.6, power=1), "power"),
        (lambda: online.impressions_needed(0.6, alpha=0), "alpha"),
    ],
    "users": [
        (lambda: user("keen"), "unknown user 'keen'; expected one of: perfect"),
        (lambda: user("perfect", 4), "n_grades must be 2, 3 or 5, got"),
        (lambda: user("perfect", stop_after="never"), "unknown stop_after 'never'"),
        (lambda: CascadeUser((0.1, 1.1), (0, 0)), "from 0 to 1"),
        (lambda: CascadeUser((0.1, float("nan")), (0, 0)), "from 0 to 1"),
        (lambda: CascadeUser((), ()), "from 0 to 1"),
        (lambda: CascadeUser((0.1,), (0, 0)), "1 and 2"),
        (lambda: user("random").draw_clicks([[2]], np.zeros((1, 2))), "at most 1, got 2"),
        (
            lambda: user("random").draw_clicks([[1]], np.zeros((1, 1))),
            "2 numbers for each of 1 page",
        ),
        (lambda: user("random").compute_click_probabilities([[0.5]]), "integers"),
    ],
    "counts": [
        (lambda: preference_of(-1, 0), "wins must be an integer"),
        (lambda: preference_of(0, 0), "at least one impression"),
        (lambda: preference_of(1, 0, expected=1), "expected must be a number between 0 and 1"),
        (lambda: preference_of(1, 0, names=("a", "a")), "two distinct rankers"),
        (lambda: preference_of(1, 0, names=cast(Any, ("a",))), "two distinct rankers"),
        (lambda: preference_of(1, 0, confidence=95), "confidence must be"),
    ],
    "credits": [
        (lambda: preference_by_credits([[1], [2]]), "column"),
        (lambda: preference_by_credits([[1, 2, 3]]), "two rankers"),
        (lambda: preference_by_credits([[1, np.inf]]), "finite"),
        (lambda: preference_by_credits([[1, np.nan]]), "at least one impression"),
        (lambda: preference_by_credits(np.empty((0, 2))), "at least one impression"),
        (lambda: preference_by_credits([["a", "b"]]), "numbers"),
        (lambda: preference_by_credits([[1, 2]], ["a", "b"]), "1 impression"),
        (lambda: preference_by_credits([[1, 2], [2, 1]], ["a", {}]), "ids that cannot be sorted"),
        (lambda: preference_by_credits([1, -1], ["a", "a"], resamples=0), "resamples must be"),
    ],
    "logs": [
        (lambda: preference("shop"), "unknown unit 'shop'"),
        (lambda: preference("user"), "requires column 'user' of pages; if .*, rename it to 'user'"),
        (lambda: preference(names=("a", "c")), "ranker 'c'"),
        (lambda: preference(names=cast(Any, ("a",))), "two rankers"),
        (lambda: preference(clicks="some"), "unknown clicks 'some'"),
        (lambda: preference(clicks="rank"), "unknown clicks 'rank'"),
        (lambda: online.preference(make_log(LOG.pages)), "column 'team' of results"),
        (lambda: online.preference(TEAMLESS), "results with a team, got none"),
        (lambda: online.preference_matrix(LOG, names=("a",)), "two or more rankers"),
    ],
}


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])
