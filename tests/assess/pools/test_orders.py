"""Orders of pools: a pool by hand, and plain computations of each method from its definition."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import lru_cache, partial
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* no topic in common with", "ignore:.*rank column that contradicts"
)

Lists = dict[str, list[str]]
"""Each system's ranking for one topic."""

TOY: Lists = {"A": list("abcde"), "B": list("bafgc"), "C": list("hibja"), "D": list("kl")}
RELEVANT = set("acfil")

# Made by other programs, from the definitions, on the toy pool.
EXPECTED = {
    "RRF(k=60)": "bachkilfdgje",
    "RBP-A(p=0.8)": "bachkilfdgje",
    "RBP-B(p=0.8)": "bakhclifdgje",
    "RBP-C(p=0.8)": "bakchdfgleij",
    "Hedge(beta=0.1)": "bkacdehfgijl",
    "Hedge(sums='plain')": "bkacdehfgijl",
    "MTF(seen='skip')": "abfghkcdeijl",
    "MTF(seen='counts')": "abhkcdefgijl",
    "MaxMean(reward='all')": "abcdfgehkijl",
    "MaxMean(reward='pulled')": "abcdefghkijl",
    "MaxMean(rate=0)": "abkcdfgehijl",
}


def as_runs(lists: Lists, topic: str = "q") -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {topic: {doc: float(-rank) for rank, doc in enumerate(docs)}}
        for name, docs in lists.items()
    }


@lru_cache
def made(lists: str) -> cf.assess.Pool:
    return cf.assess.pool(as_runs(dict(literal_eval(lists))), 100)


def ordered(lists: Lists, method: str, relevant: set[str], **options: Any) -> list[str]:
    pool = made(repr(sorted(lists.items())))
    qrels = {"q": {doc: int(doc in relevant) for doc in pool.docs}}
    order = cf.assess.order(pool, method, qrels, **options)
    return list(order.to_polars()["doc"])


@pytest.mark.parametrize(("method", "expected"), EXPECTED.items())
def test_toy_pool(method: str, expected: str) -> None:
    assert "".join(ordered(TOY, method, RELEVANT)) == expected


# Plain computations, one document after the other.


def pooled(lists: Lists) -> list[str]:
    return sorted({doc for ranking in lists.values() for doc in ranking})


def by_key(lists: Lists, key: Callable[[str], Any]) -> list[str]:
    return sorted(pooled(lists), key=lambda doc: (-key(doc), doc))


def ranks(lists: Lists, doc: str) -> list[int]:
    return [ranking.index(doc) + 1 for ranking in lists.values() if doc in ranking]


def borda(lists: Lists, doc: str) -> Fraction:
    n = len(pooled(lists))
    points = [
        Fraction(n - one.index(doc) - 1) if doc in one else Fraction(n - len(one) - 1, 2)
        for one in lists.values()
    ]
    return sum(points, Fraction(0))


def copeland(lists: Lists, doc: str) -> int:
    def place(ranking: list[str], one: str) -> float:
        return ranking.index(one) if one in ranking else float("inf")

    wins = 0
    for other in pooled(lists):
        above = sum(place(one, doc) < place(one, other) for one in lists.values())
        wins += above > sum(place(one, doc) > place(one, other) for one in lists.values())
    return wins


def scaled(lists: Lists, doc: str) -> list[float]:
    values = []
    for one in lists.values():
        if doc not in one:
            values.append(0.0)
        else:
            last = len(one) - 1
            values.append((last - one.index(doc)) / last if last else 1.0)
    return sorted(values)


STATIC: dict[str, Callable[[Lists, str], Any]] = {
    "depth": lambda lists, doc: -min(ranks(lists, doc)),
    "count": lambda lists, doc: len(ranks(lists, doc)),
    "RRF(k=3)": lambda lists, doc: sum(Fraction(1, 3 + rank) for rank in ranks(lists, doc)),
    "RBP-A(p=0.5)": lambda lists, doc: sum(Fraction(1, 2**rank) for rank in ranks(lists, doc)),
    "Borda": borda,
    "Condorcet": copeland,
    "CombSUM": lambda lists, doc: round(sum(scaled(lists, doc)), 9),
    "CombMNZ": lambda lists, doc: round(
        sum(scaled(lists, doc)) * sum(value > 0 for value in scaled(lists, doc)), 9
    ),
    "CombMAX": lambda lists, doc: max(scaled(lists, doc)),
    "CombMIN": lambda lists, doc: min(scaled(lists, doc)),
    "CombMED": lambda lists, doc: median(scaled(lists, doc)),
    "CombANZ": lambda lists, doc: round(
        sum(scaled(lists, doc)) / max(1, sum(value > 0 for value in scaled(lists, doc))), 9
    ),
}

DOCS = [f"d{i}" for i in range(12)]


def lists(max_size: int) -> st.SearchStrategy[Lists]:
    one = st.lists(st.sampled_from(DOCS), min_size=1, max_size=max_size, unique=True)
    return st.dictionaries(st.sampled_from("ABCDEé"), one, min_size=1, max_size=max_size)


LISTS = lists(6)


@given(LISTS)
@settings(max_examples=30, deadline=None)
def test_methods_that_do_not_learn(lists: Lists) -> None:
    for method, key in STATIC.items():
        got = ordered(lists, method, set())
        if method in ("CombSUM", "CombMNZ", "CombANZ"):
            # Sums of rounded quotients: only their order is certain, not which are equal.
            values = [key(lists, doc) for doc in got]
            assert values == sorted(values, reverse=True), method
        else:
            assert got == by_key(lists, partial(key, lists)), method


def bandit(
    lists: Lists, relevant: set[str], reward: str, rate: Fraction, value: Callable[..., Any]
) -> list[str]:
    state = {name: (Fraction(0), Fraction(0)) for name in lists}
    out: list[str] = []
    while len(out) < len(pooled(lists)):
        open_ = [name for name in sorted(lists) if not set(lists[name]) <= set(out)]
        best = max(value(*state[name], len(out)) for name in open_)
        name = next(one for one in open_ if value(*state[one], len(out)) == best)
        doc = next(one for one in lists[name] if one not in out)
        for one in [name] if reward == "pulled" else [o for o in lists if doc in lists[o]]:
            hits, judged = state[one]
            state[one] = rate * hits + (doc in relevant), rate * judged + 1
        out.append(doc)
    return out


def mean(hits: Fraction, judged: Fraction, _: int) -> Fraction:
    return (1 + hits) / (2 + judged)


def bound(hits: Fraction, judged: Fraction, steps: int) -> float:
    if not judged:
        return 1e9
    mu, n, log = float(hits / judged), float(judged), float(np.log(max(steps, 1)))
    return float(round(mu + (log / n * min(0.25, mu * (1 - mu) + (2 * log / n) ** 0.5)) ** 0.5, 10))


@given(LISTS, st.sets(st.sampled_from(DOCS)))
@settings(max_examples=30, deadline=None)
def test_bandits(lists: Lists, relevant: set[str]) -> None:
    for reward in ("all", "pulled"):
        for rate in (Fraction(1), Fraction(1, 2), Fraction(0)):
            wanted = bandit(lists, relevant, reward, rate, mean)
            text = f"MaxMean(rate={float(rate)}, reward='{reward}')"
            assert ordered(lists, text, relevant) == wanted
        wanted = bandit(lists, relevant, reward, Fraction(1), bound)
        assert ordered(lists, f"UCB1-tuned(reward='{reward}')", relevant) == wanted


def moved_to_front(lists: Lists, relevant: set[str], counts: bool) -> list[str]:
    priority = dict.fromkeys(sorted(lists), 0)
    rest = {name: list(ranking) for name, ranking in lists.items()}
    out: list[str] = []
    while any(rest.values()):
        name = max((one for one in priority if rest[one]), key=lambda one: priority[one])
        while rest[name]:
            doc = rest[name].pop(0)
            if doc in out and not counts:
                continue
            if doc not in out:
                out.append(doc)
            if doc not in relevant:
                priority[name] -= 1
                break
            priority[name] = 0
    return out


@given(LISTS, st.sets(st.sampled_from(DOCS)))
@settings(max_examples=25, deadline=None)
def test_moving_to_front(lists: Lists, relevant: set[str]) -> None:
    for seen in ("counts", "skip"):
        wanted = moved_to_front(lists, relevant, seen == "counts")
        assert ordered(lists, f"MTF(seen='{seen}')", relevant) == wanted


def rank_biased(lists: Lists, relevant: set[str], cubed: bool) -> list[str]:
    p, out = Fraction(4, 5), list[str]()

    def weight(name: str, doc: str) -> Fraction:
        return (1 - p) * p ** lists[name].index(doc)

    while len(out) < len(pooled(lists)):
        total = dict.fromkeys((d for d in pooled(lists) if d not in out), Fraction(0))
        for name, ranking in lists.items():
            judged = [doc for doc in ranking if doc in out]
            rest = 1 - sum((weight(name, doc) for doc in judged), Fraction(0))
            base = sum((weight(name, doc) for doc in judged if doc in relevant), Fraction(0))
            for doc in set(ranking) & set(total):
                more = (base + rest / 2) ** 3 if cubed else 1
                total[doc] += weight(name, doc) * rest * more
        out.append(min(total, key=lambda doc: (-total[doc], doc)))
    return out


def hedged(lists: Lists, relevant: set[str]) -> list[str]:
    getcontext().prec = 250
    docs, log_beta = pooled(lists), Decimal("0.1").ln()
    n = len(docs)
    logs = [Decimal(0), *((Decimal(n) / rank).ln() for rank in range(1, n + 1))]

    def loss(ranking: list[str], doc: str) -> Decimal:
        if doc in ranking:
            return logs[ranking.index(doc) + 1]
        behind = logs[len(ranking) + 1 :]
        return sum(behind, Decimal(0)) / len(behind)

    losses = {one: {doc: loss(lists[one], doc) for doc in docs} for one in lists}
    lost, out = dict.fromkeys(lists, Decimal(0)), list[str]()
    while len(out) < n:
        weight = {one: (lost[one] * log_beta).exp() for one in lists}
        total = {
            doc: sum((weight[one] * losses[one][doc] for one in lists), Decimal(0))
            for doc in docs
            if doc not in out
        }
        best = max(total.values())
        out.append(next(doc for doc in total if total[doc] >= best * (1 - Decimal("1e-200"))))
        for one in lists:
            lost[one] += losses[one][out[-1]] / 2 * (-1 if out[-1] in relevant else 1)
    return out


@given(LISTS, st.sets(st.sampled_from(DOCS)))
@settings(max_examples=15, deadline=None)
def test_weights_that_change(lists: Lists, relevant: set[str]) -> None:
    assert ordered(lists, "RBP-B", relevant) == rank_biased(lists, relevant, False)
    assert ordered(lists, "RBP-C", relevant) == rank_biased(lists, relevant, True)
    assert ordered(lists, "Hedge", relevant) == hedged(lists, relevant)


def test_hedge_of_runs_without_anything_in_common() -> None:
    """Weights differ by hundreds of powers of ten, and the small ones still count."""
    lists = {name: [f"{name}{i:02}" for i in range(25)] for name in "ABC"}
    relevant = {f"A{i:02}" for i in range(25)} | {"C00"}
    assert ordered(lists, "Hedge", relevant) == hedged(lists, relevant)


ALL = [*cf.assess.methods()["method"], "MTF(scope='global')", "MaxMean(ties='random')"]


@given(st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_nothing_depends_on_the_order_of_runs_or_topics(seed: int) -> None:
    random = np.random.default_rng(seed)
    runs = {
        name: {
            topic: {doc: float(random.integers(4)) for doc in random.choice(DOCS, 7, replace=False)}
            for topic in ("1", "2", "10")
        }
        for name in ("b", "a", "c")
    }
    qrels = {topic: {doc: int(random.integers(2)) for doc in DOCS} for topic in ("1", "2", "10")}
    mixed = {
        name: {topic: dict(reversed(docs.items())) for topic, docs in reversed(runs[name].items())}
        for name in ("c", "b", "a")
    }
    one = {name: {"2": run["2"]} for name, run in runs.items()}
    pool, other, alone_pool = (cf.assess.pool(given, 5) for given in (runs, mixed, one))
    judged = cf.read_qrels(qrels)
    for method in ALL:
        order = cf.assess.order(pool, method, judged, seed=3)
        frame = order.to_polars()
        assert sorted(order.sequence.tolist()) == list(range(len(order.pool)))
        assert cf.assess.order(other, method, judged, seed=3).to_polars().equals(frame), method
        if "global" not in method:
            alone = cf.assess.order(alone_pool, method, judged, seed=3).to_polars()
            assert alone.equals(frame.filter(frame["topic"] == "2")), method


def test_a_global_queue_keeps_its_sequence_where_it_goes_topic_by_topic() -> None:
    runs = {"A": {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}}
    made = cf.assess.order(runs, "MTF(scope='global')", {"1": {"a": 1, "b": 1}})
    assert made.sequence.tolist() == [0, 1, 2]
    assert made.mask_budget(2, overall=True).tolist() == [True, True, False]
    assert cf.assess.order(runs, "MTF", {"1": {"a": 1}}).sequence.tolist() == [0, 2, 1]


@given(lists(4), st.sets(st.sampled_from(DOCS)), st.integers(1, 3), st.randoms())
@settings(max_examples=3, deadline=None)
def test_resumed_from_judgments_alone(
    lists: Lists, relevant: set[str], n: int, random: Any
) -> None:
    pool = cf.assess.pool(as_runs(lists) | as_runs({"Z": ["d0", "d3"]}, "other"), 5)
    qrels = {t: {doc: int(doc in relevant) for doc in DOCS} for t in ("q", "other")}
    for method in ALL:
        order = cf.assess.order(pool, method, qrels, seed=9, batch=n)
        asked: list[tuple[str, str]] = []
        while True:
            shuffled = random.sample(asked, len(asked))
            judged: Any = {}
            for topic, doc in shuffled:
                judged.setdefault(topic, {})[doc] = qrels[topic][doc]
            found = cf.assess.next_documents(pool, judged or None, method, n, seed=9)
            rows = found.to_polars().select("topic", "doc").rows()
            if not rows:
                break
            # Killed before all of them are judged.
            asked += rows[: random.randint(1, len(rows))]
        wanted = order.to_polars().select("topic", "doc").rows()
        for topic in ("q", "other"):
            wanted_here = [row for row in wanted if row[0] == topic]
            assert [row for row in asked if row[0] == topic] == wanted_here, method


def test_what_plays_no_part_is_said() -> None:
    judged = {"q": {"b": 1, "h": -2, "x": 1}, "z": {"a": 0}}
    found = cf.assess.next_documents(as_runs(TOY), judged, "MaxMean")
    assert (found.n_judged, found.n_ahead, found.n_outside, found.n_negative) == (2, 2, 2, 1)
    assert "2 not yet reached, 2 outside the pool, 1 with grades below 0" in repr(found)
    again = cf.assess.next_documents(as_runs(TOY), judged, "MaxMean", negative="unjudged")
    assert (again.n_judged, again.n_negative) == (1, 1)


def test_budgets() -> None:
    runs = as_runs(TOY) | as_runs({"E": ["x", "y"]}, "other")
    qrels = {"q": dict.fromkeys(RELEVANT, 1) | {"b": 0}, "other": {"y": 2}}
    order = cf.assess.order(runs, "depth", qrels)
    assert order.count_relevant_by_topic([0, 1, 2, 100]).tolist() == [[0, 0, 1, 1], [0, 1, 1, 5]]
    assert order.count_relevant([0, 1, 2, 100]).tolist() == [0, 1, 2, 6]
    assert order.count_relevant([10**30]).tolist() == [6] and order.mask_budget(10**30).all()
    assert order.select_judgments(2).to_polars().rows() == [
        ("q", "a", 1),
        ("other", "y", 2),
        ("q", "b", 0),
    ]
    assert order.select_judgments(3, overall=True).to_polars().rows() == [
        ("q", "a", 1),
        ("other", "y", 2),
    ]
    assert order.mask_budget(1).sum() == 2


def test_unjudged_documents() -> None:
    lists = {"A": list("abc"), "B": list("xyz")}
    qrels = {"q": {"b": 1, "x": 1}}
    told = cf.assess.order(as_runs(lists), "MTF", qrels).to_polars()["doc"]
    untold = cf.assess.order(as_runs(lists), "MTF", qrels, unjudged="unknown").to_polars()["doc"]
    assert "".join(told) == "axybcz"
    assert "".join(untold) == "abcxyz"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("rrf", "RRF"),
        ("RRF(k = 60)", "RRF"),
        ("rbp a( p=0.5 )", "RBP-A(p=0.5)"),
        ("Max_Mean(rate=.9, ties='random')", "MaxMean(rate=0.9, ties='random')"),
        ("move-to-front(scope='global')", "MTF(scope='global')"),
        ("EPSILON(d=1, c=2)", "epsilon-greedy(c=2, d=1)"),
        ("combsum", "CombSUM"),
    ],
)
def test_text_forms(text: str, form: str) -> None:
    assert str(cf.assess.parse_method(text)) == form
    assert cf.assess.parse_method(form) == cf.assess.parse_method(text)


def test_epsilon_close_to_zero_always_explores() -> None:
    always = cf.assess.order(as_runs(TOY), "epsilon-greedy(c=1, d=1e-300)", {"q": {"a": 1}})
    wide = cf.assess.order(as_runs(TOY), "epsilon-greedy(c=1, d=1e-3)", {"q": {"a": 1}})
    assert always.documents.tolist() == wide.documents.tolist()
