"""Session DCG: real sessions by hand, the formulas by brute force, and what must always hold."""

from __future__ import annotations

from functools import partial
from math import inf, log, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield import evaluate_sessions
from tests.sessions.samples import QRELS, XML, Grades, Lists, sessions_of, worlds

# The first queries of some sessions have no results.
pytestmark = pytest.mark.filterwarnings("ignore:.* positions in the session")


def log4(x: float) -> float:
    return log2(x) / 2


IDEAL_33 = sum(2 / log2(r + 1) for r in range(1, 19)) + sum(1 / log2(r + 1) for r in range(19, 44))
"""Topic 25 has 18 documents of grade 2 and 25 of grade 1."""

IDEAL_54 = 2 + sum(1 / log2(r + 1) for r in range(2, 58))
"""Topic 40 has 1 document of grade 2 and 56 of grade 1."""

# Session 33: three lists of 10. Grade 2 at rank 4 of the first, whose rank 7 is spam (-2); grade 2
# at rank 4 of the second, whose rank 5 came before; in the third, that document again at rank 8.
FIRST_33 = 2 / log2(5) + 2 / (log4(5) * log2(15))
KEPT_33 = FIRST_33 + 2 / (log4(6) * log2(29))

# Session 54: grade 1 at ranks 4, 5, 7, 9 and 10 of the first list; at ranks 4 and 7 of the second,
# whose rank 1 came before; at rank 8 of the third, whose rank 2 came before.
LIST_1_54 = 1 / log2(5) + 1 / log2(6) + 1 / log2(8) + 1 / log2(10) + 1 / log2(11)
FIRST_54 = LIST_1_54 + (1 / log2(14) + 1 / log2(17)) / log4(5) + 1 / (log4(6) * log2(27))
KEPT_54 = LIST_1_54 + (1 / log2(15) + 1 / log2(18)) / log4(5) + 1 / (log4(6) * log2(29))

# Järvelin and others (2008): 1 + log2 of the rank in the query's own list, 1 + log4 of the query.
JARVELIN_33 = 2 / 3 + 2 / (1.5 * 3) + 2 / ((1 + log4(3)) * 4)
TEN_TWOS = sum(2 / (1 + log2(r)) for r in range(1, 11))
REPEATED_33 = JARVELIN_33 / (TEN_TWOS * (1 + 1 / 1.5 + 1 / (1 + log4(3))))
EXPONENTIAL_33 = 3 * log(3) / log(6) + 3 / log2(3) * log(3) / log(16)


@pytest.mark.parametrize(
    ("measure", "duplicates", "session", "by_hand"),
    [
        ("sDCG", "first", "33", FIRST_33),
        ("sDCG", "keep", "33", KEPT_33),
        ("sDCG", "first", "54", FIRST_54),
        ("sDCG", "keep", "54", KEPT_54),
        # Each list has ten documents.
        ("sDCG@10", "first", "54", FIRST_54),
        ("sDCG@10", "keep", "54", KEPT_54),
        # Grade 1 at ranks 4 and 5 of the first list; in the third, the second document came before.
        ("sDCG@5", "keep", "54", 1 / log2(5) + 1 / log2(6) + 1 / (log4(5) * log2(10))),
        ("nsDCG", "first", "33", FIRST_33 / IDEAL_33),
        ("nsDCG", "keep", "33", FIRST_33 / IDEAL_33),
        ("nsDCG", "first", "54", FIRST_54 / IDEAL_54),
        ("sDCG(variant='jarvelin')", "keep", "33", JARVELIN_33),
        ("sDCG(variant='jarvelin')", "first", "33", 2 / 3 + 2 / 4.5),
        ("nsDCG(variant='jarvelin', ideal='repeated')", "keep", "33", REPEATED_33),
        ("sDCG(gains='exponential', b=3, bq=2)", "first", "33", EXPONENTIAL_33),
    ],
)
def test_real_sessions_by_hand(measure: str, duplicates: str, session: str, by_hand: float) -> None:
    scores = evaluate_sessions(XML, QRELS, measure, duplicates=duplicates)[measure]
    value = scores.values[scores.topics.index(session), 0]
    assert value == pytest.approx(by_hand, rel=1e-12)


def brute(
    lists: list[list[str]],
    grades: dict[str, int],
    variant: str,
    duplicates: str,
    b: float,
    bq: float,
    new_only: bool = False,
) -> float:
    """sDCG document by document."""
    seen: set[str] = set()
    total, r = 0.0, 0
    for q, docs in enumerate(lists, 1):
        j = 0
        for doc in docs:
            again = doc in seen
            seen.add(doc)
            if again and duplicates == "first":
                continue
            r, j = r + 1, j + 1
            gain = 0 if again and new_only else max(grades.get(doc, 0), 0)
            total += gain / divisor(variant, q, r, j, b, bq)
    return total


def divisor(variant: str, q: int, r: int, j: int, b: float, bq: float) -> float:
    if variant == "jarvelin":
        return (1 + log(q) / log(bq)) * (1 + log(j) / log(b))
    rank = r if variant == "kanoulas" else j
    return log(q + bq - 1) / log(bq) * log(rank + b - 1) / log(b)


@settings(max_examples=30)
@given(
    worlds(),
    st.sampled_from(["kanoulas", "jarvelin", "jiang"]),
    st.sampled_from(["first", "keep"]),
    st.sampled_from([None, 1, 3, 8]),
    st.sampled_from([(2, 4), (1.5, 3), (10, 2)]),
)
def test_brute_force(
    world: tuple[Lists, Grades],
    variant: str,
    duplicates: str,
    cutoff: int | None,
    bases: tuple[float, float],
) -> None:
    lists, grades = world
    about: dict[str, Any] = {"variant": variant, "b": bases[0], "bq": bases[1]}
    plain, normalised = (
        cf.parse_measure(name)(**about, cutoff=cutoff) for name in ("sDCG", "nsDCG")
    )
    repeated = normalised(ideal="repeated")
    deep = repeated(depth=4)
    measures = [plain, normalised, repeated, deep]
    ev = evaluate_sessions(sessions_of(lists), grades, measures, duplicates=duplicates)
    for scores in ev.values():
        assert scores.definition is not None
        low, high = scores.definition.info.range
        assert low <= scores.values.min() and scores.values.max() <= high + 1e-12
    for i, name in enumerate(ev[plain].topics):
        value: Any = partial(brute, grades=grades[name], duplicates=duplicates, **about)
        best = sorted(doc for doc in grades[name] if grades[name][doc] > 0)
        best.sort(key=lambda doc: -grades[name][doc])
        filled, left, lengths = best + ["-"] * 6, set[str](), []
        # The first documents of each list count, before duplicates are removed.
        tops = [docs[:cutoff] for docs in lists[name]]
        for docs in tops:
            lengths.append(sum(duplicates == "keep" or doc not in left for doc in docs))
            left |= set(docs)
        shown, new = value(tops), value(tops, new_only=True)
        n_queries = max(k for k, docs in enumerate(lists[name], 1) if docs)
        one = value([best[: None if cutoff is None else cutoff * n_queries]])
        many = value([filled[:length] for length in lengths], duplicates="keep")
        depth = min(4, cutoff or 4)
        four = value([filled[:depth] if length else [] for length in lengths], duplicates="keep")
        for measure, top, bottom in zip(
            measures, (shown, new, shown, shown), (1, one, many, four), strict=True
        ):
            assert ev[measure].values[i, 0] == pytest.approx(top / bottom if bottom else 0)


@pytest.mark.parametrize(
    ("text", "top"),
    [
        ("nsDCG", 1.0),
        ("nsDCG(variant='jiang')", inf),
        ("nsDCG(variant='jarvelin')", inf),
        ("nsDCG(ideal='repeated', variant='jiang')", 1.0),
        ("nsDCG(depth=1, ideal='repeated')", inf),
    ],
)
def test_range_of_scores(text: str, top: float) -> None:
    """Ranks that start again, and short ideal lists, give a good session more than the ideal."""
    sessions = sessions_of({"s": [["a", "b"], ["c", "d"], ["e", "f"]]})
    ev = evaluate_sessions(sessions, {"s": dict.fromkeys("abcdef", 1)}, text)
    assert cf.parse_measure(text).info.range == (0.0, top)
    assert bool(ev[text].values[0, 0] > 1.01) is (top == inf)


def test_a_session_of_one_query_has_its_ndcg() -> None:
    lists = {"s": [["a", "b", "c", "d"]], "t": [["d", "c", "a", "e"]]}
    grades = {"s": {"a": 1, "c": 3, "d": 2, "e": 1}, "t": {"a": 2, "b": 1, "c": 1}}
    ev = evaluate_sessions(sessions_of(lists), grades, ["nsDCG@3", "nDCG@3", "nsDCG", "nDCG"])
    for session, ranking in (("nsDCG@3", "nDCG@3"), ("nsDCG", "nDCG")):
        assert ev[session].values == pytest.approx(ev[ranking].values)


def test_an_empty_last_list_does_not_change_the_ideal_session() -> None:
    """Of two runs for the second query, the one without results has the same ideal session."""
    log = sessions_of({"s": [["a"]], "t": [["a"]]})
    runs = {"x": {"s": {"n": 1.0}, "t": {"n": 1.0}}, "y": {"t": {"n": 1.0}}}
    grades = {name: {"a": 1, "b": 1, "c": 1} for name in "st"}
    with pytest.warns(cf.CranfieldWarning, match="no results for 1 session"):
        sessions = log.append_runs(runs)
    values = evaluate_sessions(sessions, grades, "nsDCG@1")["nsDCG@1"].values
    assert values == pytest.approx(np.full((2, 2), 1 / (1 + 1 / log2(3))))


def test_a_cutoff_after_duplicates_were_removed_is_refused() -> None:
    """In b a | a c, the first document of the second list is new if only one of each counts."""
    sessions, grades = sessions_of({"s": [["b", "a"], ["a", "c"]]}), {"s": {"a": 1}}
    assert evaluate_sessions(sessions, grades, "sDCG@1")["sDCG@1"].values[0, 0] == pytest.approx(
        1 / (log4(5) * log2(3))
    )
    judged = sessions.concatenate(depth=1).judge(grades)
    assert cf.score(judged, "sDCG@1")["sDCG@1"].values[0, 0] == pytest.approx(
        1 / (log4(5) * log2(3))
    )
    with pytest.raises(cf.MeasureError, match=r"concatenate\(depth=1\)"):
        cf.score(sessions.concatenate().judge(grades), "sDCG@1")


def test_condensed_lists_move_up() -> None:
    """Of u a | u b with u unjudged, a and b stand at ranks 1 and 2."""
    sessions, grades = sessions_of({"s": [["u", "a"], ["v", "b"]]}), {"s": {"a": 1, "b": 1}}
    wanted = 1 + 1 / (log4(5) * log2(3))
    only = "sDCG(judged_only=True)"
    assert evaluate_sessions(sessions, grades, only)[only].values[0, 0] == pytest.approx(wanted)
    condensed = evaluate_sessions(sessions, grades, "sDCG", unjudged="condensed")
    assert condensed["sDCG"].values[0, 0] == pytest.approx(wanted)
    # The cutoff of condensed lists counts judged documents.
    first = evaluate_sessions(sessions, grades, "sDCG(judged_only=True)@1")
    assert first.to_dict("log").popitem()[1] == pytest.approx(wanted)
    assert condensed.judged.policies.unjudged == "condensed"
