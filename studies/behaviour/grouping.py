"""Scores of sessions and of texts, and correlations of rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

import cranfield as cf
from cranfield import correlation, sessions, texts
from cranfield.measures import REGISTRY
from cranfield.measures.sessions import click_u
from studies.behaviour.recording import Item
from studies.behaviour.samples import few
from studies.behaviour.showing import shown


def items() -> Iterator[Item]:
    """Yield what is scored otherwise than rankings, and how rankings are compared."""
    yield from _sessions()
    yield from _texts()
    yield from _correlations()


def _sessions() -> Iterator[Item]:
    asked = ["sDCG", "nsDCG@10", "nDCG", "P@3", "ClickU(length=1500)", "NumRet", "RR"]
    for name, log, qrels, clicks in (
        ("documentation", "sessions.csv", "qrels.txt", "clicks.csv"),
        ("track", "data/sessions/two.xml", "data/sessions/two.qrels", None),
    ):
        given = (log, qrels, clicks)
        yield f"sessions/{name}", lambda: sessions.read_sessions(given[0], clicks=given[2])
        for options in (
            *({}, {"duplicates": "keep"}, {"until_click": True}, {"depth": 1}, {"duplicates": "x"}),
            *({"depth": 0}, {"unjudged": "condensed"}, {"lengths": "lengths.txt"}),
        ):
            yield (
                f"sessions/{name} {options}",
                lambda: cf.evaluate_sessions(given[0], given[1], asked, clicks=given[2], **options),
            )
    for kind in ("sDCG", "nsDCG", "ClickU"):
        for text in (f"{kind}(variant='x')", f"{kind}(b=3)", f"{kind}(bq=2)", f"{kind}(sum=True)"):
            yield (
                f"sessions/{text}",
                lambda: cf.evaluate_sessions(
                    "sessions.csv", "qrels.txt", text, clicks="clicks.csv"
                ),
            )
    read = sessions.read_sessions
    yield (
        "sessions/one",
        lambda: (
            read("sessions.csv").concatenate()[0].to_polars(),
            read("sessions.csv").concatenate()[:1],
        ),
    )
    yield "sessions/concatenated", lambda: read("sessions.csv").concatenate()
    yield (
        "sessions/followed",
        lambda: cf.evaluate_sessions(
            read("sessions.csv").append_runs(["bm25.run", "dense.run"]),
            "qrels.txt",
            ["nsDCG", "R@10"],
        ),
    )
    yield "sessions/click_u", lambda: click_u([1, 1, 2], [1, 3, 2], [100.0, 2e3, 5e5])
    for bad in ({}, {"session": ["s"], "query": [0], "rank": [1], "doc": ["a"]}, "missing.xml", 7):
        yield f"sessions/bad {bad}", partial(read, bad)


def _texts() -> Iterator[Item]:
    measures = REGISTRY.select(kind="measure of texts")
    for name, text_measure in measures.items():
        yield f"texts/{name}", partial(shown, text_measure.info)
    given: dict[str, Callable[[], Any]] = {
        "nuggets": lambda: texts.judge_answers("answers.csv", "nuggets.csv"),
        "matches": lambda: texts.judge_answers("one.matches", "iunits.txt"),
        "assignments": lambda: texts.read_nugget_assignments("assignments.jsonl"),
        "citations": lambda: texts.read_citations("citations.csv"),
        "summaries": lambda: texts.judge_summaries("summaries.csv", "references.csv"),
        "words": lambda: texts.judge_summaries(
            "summaries.csv", "references.csv", tokeniser="whitespace"
        ),
    }
    options = ("", "(L=100)", "(beta=2)", "(of='F')", "(n=2)", "(gap=1)", "(strict=True)", "(x=1)")
    for kind, make in given.items():
        yield f"texts/read {kind}", make
        for name in measures:
            yield (
                f"texts/{kind} {name}",
                lambda: [_answered(make(), name + option) for option in options],
            )
    yield "texts/nuggets read", lambda: texts.read_nuggets("nuggets.csv")
    yield "texts/parsed", lambda: cf.parse_measures(["RougeN(n=3)", "NuggetF"])


def _answered(given: Any, measure: str) -> Any:
    try:
        return {
            name: (one.values, one.overall(), one.to_polars())
            for name, one in cf.evaluate_answers(given, measure).items()
        }
    except cf.CranfieldError as error:
        return f"{type(error).__name__}: {error}"


def _correlations() -> Iterator[Item]:
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 6, (2, 12)).astype(float)
    rng_table = rng.integers(0, 6, (2, 3, 12)).astype(float)
    for variant in ("a", "b", "c", "x"):
        yield f"correlation/tau {variant}", lambda: correlation.kendall_tau(x, y, variant=variant)
    for ties in ("a", "b", "w", "x"):
        yield f"correlation/tau_ap {ties}", lambda: correlation.tau_ap(x, y, ties=ties)
        yield f"correlation/rbo {ties}", lambda: correlation.rbo_of_scores(x, y, ties=ties)
        yield (
            f"correlation/rbo lists {ties}",
            lambda: correlation.rbo(["a", "b", "c", "d"], ["b", "a", "e"], 0.8, ties=ties),
        )
    yield "correlation/symmetric", lambda: correlation.tau_ap(x, y, symmetric=True)
    yield "correlation/bad", lambda: correlation.kendall_tau(x, y[:3])
    yield "correlation/twice", lambda: correlation.rbo(["a", "a"], ["b"])
    many = rng.integers(0, 400, (2, 3000)).astype(float)
    for variant in ("a", "b"):
        yield (
            f"correlation/many {variant}",
            lambda: (correlation.kendall_tau(*many, variant=variant), correlation.tau_ap(*many)),
        )
    yield "correlation/rows", lambda: correlation.kendall_tau(rng_table[0], rng_table[1])
    yield "correlation/rounding", lambda: correlation.kendall_tau(x / 3, y / 7, rounding=0.5)
    runs = list(islice(few(), 2))
    yield "correlation/runs", lambda: correlation.rbo_of_runs(runs[0], runs[1])
