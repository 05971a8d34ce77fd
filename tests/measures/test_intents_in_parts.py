"""Measures of diversity are the same to the bit, however many intents are looked at at a time."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.collection.judged import judged_runs
from cranfield.measures import global_gain

MEASURES = (
    *("IA(nDCG@5)", "IA(Bpref)", "IA(RBP(p=0.8, judged_only=True))", "IA(Q(rel=2))", "IA(TBG)"),
    *("AP_IA", "P_IA@3", "ERR_IA@5", "alpha_nDCG", "NRBP", "StRecall@3", "PQ", "Sharp(PQ@5)"),
    *("RBU", "RBU(p=0.99, e=0.05)@5"),
    *("D(nDCG@5)", "D(Q)", "Sharp(D(nDCG))", "DIN(nDCG@5)", "Sharp(DIN(Q))"),
)


def collection(intents: int) -> dict[str, Any]:
    """Make runs, judgments and intents of 6 topics, some with grades below 0, and no run of one."""
    rng = np.random.default_rng(intents)
    topics, docs = [f"{topic}" for topic in range(6)], [f"d{doc}" for doc in range(40)]
    rows = [
        {"topic": topic, "doc": doc, "subtopic": f"{intent}", "grade": int(grade)}
        for topic in topics
        for doc in rng.permutation(docs)[:15].tolist()
        for intent in rng.permutation(intents)[: rng.integers(1, intents, endpoint=True)]
        for grade in rng.choice([-1, 0, 0, 1, 2], 1)
    ]
    return {
        "runs": {
            system: {
                topic: dict(zip(docs, rng.normal(size=40).round(1).tolist(), strict=True))
                for topic in topics[start:]
            }
            for start, system in enumerate("ab")
        },
        "qrels": rows,
        "intents": [
            {
                "topic": topic,
                "intent": f"{i}",
                "probability": share,
                "type": "nav" if i % 3 else "inf",
            }
            for topic in topics
            for i, share in enumerate(rng.dirichlet(np.ones(intents)).tolist())
        ],
        "lengths": {doc: 100 + place for place, doc in enumerate(docs)},
    }


@cache
def whole_scores(intents: int, *options: tuple[str, str]) -> dict[str, Any]:
    return scores(collection(intents), **dict(options))


def scores(given: dict[str, Any], **options: Any) -> dict[str, Any]:
    found = cf.evaluate(**given, measures=MEASURES, **options)
    return {name: (one.topics, one.values.tobytes()) for name, one in found.items()}


@pytest.mark.parametrize("intents", [1, 6])
@pytest.mark.parametrize("block", [1, 100])
@pytest.mark.parametrize("options", [{}, {"unjudged": "condensed"}, {"negative": "unjudged"}])
def test_parts(
    monkeypatch: pytest.MonkeyPatch, intents: int, block: int, options: dict[str, Any]
) -> None:
    given = collection(intents)
    whole = whole_scores(intents, *options.items())
    monkeypatch.setattr(judged_runs, "BLOCK", block)
    monkeypatch.setattr(global_gain, "MAX_BLOCK_GAINS", block)
    assert len([*judged_runs.iterate_intent_blocks(cf.judge(**given, **options), "mine")]) > 1
    assert scores(given, **options) == whole
