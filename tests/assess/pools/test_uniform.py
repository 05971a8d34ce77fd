"""Judging in random order: each document alike, and relevant ones in proportion to the budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import cranfield as cf
from cranfield.assess import order

RUNS = {
    "a": {"q1": {f"d{k}": -float(k) for k in range(6)}, "q2": {"x": 2.0, "y": 1.0}},
    "b": {"q1": {"d5": 3.0, "d7": 2.0, "d6": 1.0}},
}
QRELS = {"q1": {f"d{k}": int(k < 3) for k in range(8)}, "q2": {"x": 1}}


POOL = cf.assess.pool(RUNS, 6)


def orders(seed: int, runs: Any = POOL) -> dict[str, list[str]]:
    rows = order(runs, "uniform", seed=seed).to_polars().select("topic", "doc").rows()
    return {topic: [doc for of, doc in rows if of == topic] for topic in ("q1", "q2")}


def test_every_document_is_first_equally_often() -> None:
    first = [orders(seed)["q1"] for seed in range(400)]
    assert all(sorted(docs) == [f"d{k}" for k in range(8)] for docs in first)
    for place in (0, 7):
        counts = [sum(docs[place] == f"d{k}" for docs in first) for k in range(8)]
        assert chisquare(counts).pvalue > 0.001


def test_an_order_depends_on_seed_and_topic_only() -> None:
    assert orders(3) == orders(3) != orders(4)
    alone = {name: {"q1": run["q1"]} for name, run in RUNS.items()}
    assert orders(3, alone)["q1"] == orders(3)["q1"]


def test_relevant_documents_are_in_proportion_to_the_budget() -> None:
    relevant = [order(POOL, "uniform", QRELS, seed=s).count_relevant([4])[0] for s in range(200)]
    # Of q1 half of the three relevant documents, and that of q2.
    assert np.mean(relevant) == pytest.approx(3 * 4 / 8 + 1, abs=0.19)


def test_the_study_of_pooling_repeats_it() -> None:
    covid = cf.bundled.trec_covid()
    options: dict[str, Any] = {"budgets": [50], "depth": 10, "others": "drop", "contributors": None}
    study = cf.meta.pooling(
        covid.runs, covid.qrels, ["AP", "Bpref"], methods="uniform", repeats=2, **options
    )
    taus = dict(study.rankings.filter(budget=50).select("measure", "tau").iter_rows())
    # Bpref is robust to incomplete judgments (Buckley and Voorhees 2004).
    assert taus["Bpref"] > taus["AP"]
    [row] = study.documents.filter(budget=50).iter_rows(named=True)
    assert row["repeats"] == 2
    assert 0 < row["relevant sd"] < row["relevant"]
