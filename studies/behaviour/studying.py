"""Studies at small size, with their tables and the works to cite for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl

import cranfield as cf
from cranfield import meta
from cranfield.meta.reproduction import order_agreement, position_tau, union_tau
from studies.behaviour.recording import Item
from studies.behaviour.samples import evaluated, few, generated, real, sharded

TESTS = ("md1", "md2", "md2f", "t+none", "t+holm", "sign+bh", "friedman", "randomisation")
SHARD_TESTS = ("md1", "md2", "md3", "md2f", "md3f")
BOTH = ["bm25.run", "dense.run"]


def _covid() -> Any:
    return cf.bundled.trec_covid()


def whole(measure: str = "nDCG@10") -> Any:
    """Return the scores of six systems by one measure."""
    return evaluated()[measure]


def _people() -> list[tuple[str, str, str, str]]:
    one, two = (few()[k].name for k in (0, 3))
    answers = (one, "second", "right", "left", "tie", two)
    return [(str(k + 1), one, two, answer) for k, answer in enumerate(answers)]


def _roles(*runs: int) -> dict[str, Any]:
    return {name: few()[k] for name, k in zip(("baseline", "advanced"), runs, strict=True)}


def _by_role(*columns: int) -> list[dict[str, Any]]:
    """Give two columns of the scores the roles of an experiment, and two those of another."""
    scores = whole("P@10")
    one, two, three, four = (
        dict(zip(scores.topics, scores.values[:, k].tolist(), strict=True)) for k in columns
    )
    return [{"baseline": one, "advanced": two}, {"baseline": three, "advanced": four}]


def _halves() -> tuple[Any, Any]:
    table = _covid().qrels.to_polars()
    number = pl.col("topic").cast(pl.Int64)
    return table.filter(number <= 25), table.filter(number > 25)


STUDIES: dict[str, Callable[[], Any]] = {
    "splits": lambda: meta.split_topics(whole(), TESTS, sizes=[5, 10], repeats=6, resamples=50),
    "splits of teams": lambda: meta.split_topics(
        whole(), ["md2"], sizes=[10], repeats=6, teams=_covid().teams, seed=4
    ),
    "splits by shard": lambda: meta.split_topics(
        sharded().whole["nDCG@20"], SHARD_TESTS, by_shard=sharded()["nDCG@20"], sizes=[5], repeats=6
    ),
    "splits with missing": lambda: meta.split_topics(
        generated(3), ["welch", "rank-sum"], sizes=[3], repeats=6, missing="available"
    ),
    "false positives": lambda: meta.false_positives(
        whole(), TESTS, sizes=[10], repeats=12, resamples=50
    ),
    "false positives by shard": lambda: meta.false_positives(
        sharded().whole["nDCG@20"], SHARD_TESTS, by_shard=sharded()["nDCG@20"], sizes=[8], repeats=6
    ),
    "power": lambda: meta.discriminative_power(evaluated(), resamples=60),
    "power of t": lambda: meta.discriminative_power(evaluated(4), test="t", correction="holm"),
    "power of bootstrap": lambda: meta.discriminative_power(
        evaluated(4), test="bootstrap", correction="none", resamples=60, seed=3
    ),
    "power with missing": lambda: meta.discriminative_power(
        {"a": generated(3), "b": generated(2)}, test="t", correction="none", missing="drop"
    ),
    "swaps": lambda: meta.swap_method(whole(), sizes=[5, 10, 25], repeats=12),
    "swaps replaced": lambda: meta.swap_method(
        whole("RR@10"), sizes=[10], repeats=12, replacement=True, bins=[0.0, 0.05, 0.1], seed=2
    ),
    "swaps tested": lambda: meta.swap_method(whole(), sizes=[25], repeats=8, test="t"),
    "swaps ties": lambda: meta.swap_method(whole("P@10"), sizes=[10], repeats=8, ties="swaps"),
    **{
        f"correlations {method}": partial(
            lambda method: meta.correlate(evaluated(), method=method), method
        )
        for method in ("tau", "tau-a", "tau-ap", "rbo", "pearson", "spearman", "nope")
    },
    "correlations ties": lambda: meta.correlate(evaluated(), ties="a"),
    "concordance": lambda: meta.concordance(evaluated(), gold="P@10"),
    "concordance of two": lambda: meta.concordance(evaluated(), gold=["P@10", "RR@10"]),
    "predictive power": lambda: meta.predictive_power(evaluated(), _people()),
    "predictive power of most": lambda: meta.predictive_power(
        evaluated(),
        [*_people(), *_people()[:2], ("1", few()[0].name, few()[3].name, "left")],
        majority=True,
    ),
    "left out": lambda: meta.leave_one_out(
        few(), _covid().qrels, ["nDCG@20", "P@10"], teams=_covid().teams, depth=5
    ),
    "left out dropped": lambda: meta.leave_one_out(
        BOTH, "qrels.txt", "AP", others="drop", lists="raw", rel=2
    ),
    "pools": lambda: meta.pools(few(), _covid().qrels, depth=5, contributors="judged"),
    "pools found": lambda: meta.pools(BOTH, "qrels.txt", teams={"bm25": "x", "dense": "y"}),
    "pool depths": lambda: meta.pool_depths(few(), _covid().qrels, ["nDCG@20"], [5, 10, 20]),
    "pool depths both": lambda: meta.pool_depths(
        BOTH, "qrels.txt", "AP", [1, 2], lists=["raw", "condensed"], top=2
    ),
    "stability": lambda: meta.stability(whole(), sizes=[10, 25, 45], repeats=20),
    "stability replaced": lambda: meta.stability(
        whole(), sizes=[10], repeats=12, replace=True, test="t", correction="holm", top=[1, 3]
    ),
    "generalizability": lambda: meta.generalizability(whole()),
    "generalizability dropped": lambda: meta.generalizability(generated(3), missing="drop"),
    "topics for": lambda: [
        meta.generalizability(whole()).find_required_topics(0.95, is_absolute=absolute)
        for absolute in (False, True)
    ],
    "extrapolation": lambda: meta.extrapolate(whole(), [25, 50, 100]),
    "extrapolation uncorrected": lambda: meta.extrapolate(real(), correction="none"),
    "reproduction": lambda: meta.reproduce(
        _roles(0, 1), _roles(2, 3), qrels=_covid().qrels, measures=["P@10", "nDCG@10"]
    ),
    "reproduction of one": lambda: meta.reproduce(
        "bm25.run", "dense.run", qrels="qrels.txt", measures="AP", p=0.8
    ),
    "replication": lambda: meta.replicate(
        _roles(0, 1),
        _roles(0, 1),
        qrels=_halves()[0],
        other_qrels=_halves()[1],
        measures=["P@10", "nDCG@10"],
    ),
    "reproduction of scores": lambda: meta.reproduce_scores(
        {"baseline": {"1": 0.2, "2": 0.5, "3": 0.1}}, {"baseline": {"1": 0.3, "2": 0.4, "3": 0.1}}
    ),
    "replication of scores": lambda: meta.replicate_scores(
        {"baseline": [0.2, 0.5, 0.1]}, {"baseline": [0.3, 0.4, 0.1, 0.8]}
    ),
    "reproduction of two": lambda: meta.reproduce_scores(*_by_role(0, 1, 2, 3), bounds=(0, 1)),
    "replication of two": lambda: meta.replicate_scores(*_by_role(0, 1, 2, 3)),
    "scale study": lambda: meta.study_scales(
        cf.judge(few()[:4], _covid().qrels), ("P", "RR", "RBP(p=0.5)", "AP"), cutoffs=(5, 8)
    ),
}

REFUSALS: dict[str, Callable[[], Any]] = {
    "sizes": lambda: meta.split_topics(whole(), ["t"], sizes=[40], repeats=2),
    "repeats": lambda: meta.split_topics(whole(), ["t"], repeats=0),
    "test": lambda: meta.split_topics(whole(), ["nope"]),
    "shards": lambda: meta.split_topics(whole(), ["md3"], sizes=[5], repeats=2),
    "jobs": lambda: meta.stability(whole(), jobs=0),
    "backend": lambda: meta.stability(whole(), repeats=2, jobs=2, backend="nope"),
    "gold": lambda: meta.concordance(evaluated(), gold="nope"),
    "one measure": lambda: meta.correlate({"a": real()}),
    "people": lambda: meta.predictive_power(evaluated(), [("1", "x", "y", "z")]),
    "depth": lambda: meta.leave_one_out(BOTH, "qrels.txt", "AP", depth=0),
    "teams": lambda: meta.teams_of(["a"], 7),
    "missing": lambda: meta.generalizability(generated(3)),
    "bins": lambda: meta.swap_method(real(), bins=[0.1, 0.0]),
    "alpha": lambda: meta.discriminative_power(evaluated(), alpha=2),
    "roles": lambda: meta.reproduce({"nope": "bm25.run"}, {"nope": "x"}, qrels="qrels.txt"),
    "cutoffs": lambda: meta.study_scales(cf.judge(BOTH, "qrels.txt"), "P", cutoffs=(0,)),
}


@cache
def found(name: str) -> Any:
    """Do a study once."""
    return STUDIES[name]()


def items() -> Iterator[Item]:
    """Yield studies with tables and citations, then details and refusals."""
    for name in STUDIES:
        yield f"studies/{name}", partial(found, name)
        yield f"tables/{name}", lambda: cf.study_tables(found(name))
        yield f"cited/{name}", partial(_cited, name)
    for name, call in REFUSALS.items():
        yield f"studies/refused {name}", call
    yield from _details()


def _cited(name: str) -> Any:
    works = cf.cite(found(name))
    return works.keys, works.used_for, works.to_bibtex(), works.to_text()


def _details() -> Iterator[Item]:
    for group in ("AA", "AD", "MA", "MD", "bias", "overlap", "nope"):
        yield f"studies/table {group}", lambda: found("splits").tabulate_outcomes(group)
    yield "studies/bias", lambda: meta.publication_bias(5, 1, 2, 0)
    yield (
        "studies/smallest",
        lambda: [found("swaps").find_smallest_differences(rate) for rate in (0.05, 0.3)],
    )
    for jobs, backend in ((2, "threading"), (2, "loky"), (1, "serial")):
        yield (
            f"studies/{jobs} jobs {backend}",
            lambda: meta.swap_method(real(), sizes=[5], repeats=20, jobs=jobs, backend=backend),
        )
    yield (
        "studies/teams of a frame",
        lambda: meta.teams_of(["a", "b"], pl.DataFrame({"system": ["a", "b"], "team": ["x", "y"]})),
    )
    yield (
        "studies/without",
        lambda: [
            found("left out").judge_without(found("left out").pools.teams[0]),
            found("pool depths").judge_to_depth(5),
        ],
    )
    yield "studies/extrapolated", lambda: found("swaps").extrapolate_rates(50)
    yield "studies/teams", lambda: meta.teams_of(["a-1", "a-2", "b"], re.compile(r"(\w+)-"))
    yield "studies/agreement", lambda: order_agreement(few()[0], few()[1], depth=20)
    yield (
        "studies/orders",
        lambda: (
            union_tau(list("abcd"), list("xabc")),
            position_tau(list("abcd"), list("xabc")),
        ),
    )
    for name in ("splits", "swaps", "stability"):
        yield f"studies/resumed {name}", partial(_resumed, name)


def _resumed(name: str) -> Any:
    """Do a study into a folder, twice, and list what is kept there."""
    calls: dict[str, Callable[..., Any]] = {
        "splits": partial(meta.split_topics, real(), ["t"], sizes=[5], repeats=12),
        "swaps": partial(meta.swap_method, real(), sizes=[5], repeats=12),
        "stability": partial(meta.stability, real(), sizes=[5], repeats=12),
    }
    told: list[tuple[int, int]] = []
    results = [
        repr(calls[name](folder="work", progress=lambda *one: told.append(one))) for _ in range(2)
    ]
    kept = sorted(str(one) for one in Path("work").rglob("*"))
    try:
        calls[name](folder="work", seed=9)
        said = "accepted"
    except cf.CranfieldError as error:
        said = str(error)
    texts = [Path(one).read_text() for one in kept if one.endswith(".json")]
    return results, told, kept, said, texts
