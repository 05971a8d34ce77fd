"""Results declare the columns of their tables, all of them and in their order."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.assess.labels.table import LabelSummary
from cranfield.result import Result
from tests.result_forms import check_forms

WORKERS = ("ann", "bo", "claire")
TOPICS = [f"q{k}" for k in range(6)]
PEOPLE = {topic: {"a": k % 3, "b": (k + 1) % 2, "c": 0} for k, topic in enumerate(TOPICS)}
MACHINE = {topic: {"a": k % 2, "b": 1, "c": k % 3} for k, topic in enumerate(TOPICS)}
RUNS = {
    "first": {topic: {"a": 3.0, "b": 2.0, "c": 1.0} for topic in TOPICS},
    "machine": {topic: {"c": 3.0, "b": 2.0, "d": 1.0} for topic in TOPICS},
    "third": {topic: {"b": 3.0, "a": 2.0, "c": 1.0} for topic in TOPICS},
}
LABELS = cf.assess.read_labels(
    [
        (topic, doc, w, (k + len(w)) % 3)
        for k, topic in enumerate(TOPICS)
        for doc in "ab"
        for w in WORKERS
    ]
)
POOL = cf.assess.pool(RUNS, 2)
SAMPLE = cf.assess.sample(POOL, "uniform", size=2)
FEW = {topic: PEOPLE[topic] for topic in TOPICS[:4]}

CITED = cf.texts.read_citations({"a": {topic: [["full"], ["none"]] for topic in TOPICS}})

RESULTS: list[Result] = [
    LABELS,
    LabelSummary(LABELS),
    cf.assess.agreement_of(LABELS),
    cf.assess.agreement_of(LABELS, "alpha", pairs=True),
    cf.assess.majority(LABELS),
    cf.assess.LeadRule(c=1.5).replay(LABELS),
    cf.assess.compare_judges(PEOPLE, {"machine": MACHINE}),
    cf.assess.judge_rankings(RUNS, PEOPLE, {"machine": MACHINE}, "P@2"),
    cf.assess.self_preference(RUNS, PEOPLE, {"machine": MACHINE}, {"machine": ["third"]}, "P@2"),
    cf.assess.score_bias(RUNS, PEOPLE, {"machine": MACHINE}, "P@2"),
    cf.assess.decide({"kappa": 0.4}, cf.assess.compare_judges(PEOPLE, {"machine": MACHINE})),
    cf.assess.parse_answers([("1", "q", "d")], [{"id": "1", "text": "2"}]),
    cf.assess.ppi_answers(CITED, CITED, "CitationPrecision"),
    cf.assess.ppi_mean(np.r_[0.0, 1.0, 1.0, [np.nan] * 3], np.tile([0.0, 1.0], 3)),
    cf.assess.ppi_scores(RUNS, FEW, MACHINE, "P@2"),
    POOL,
    POOL.find_unjudged({"q0": {"a": 1}}),
    cf.assess.order(POOL, "RRF", PEOPLE),
    cf.assess.next_documents(POOL, None, "RRF"),
    SAMPLE,
    SAMPLE.estimate_relevant(PEOPLE, unjudged="nonrelevant"),
    cf.assess.sheets(POOL, assessors=2),
    cf.assess.stopping([1, 0, 1, 0], "Knee", total=9),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda one: type(one).__name__)
def test_columns_are_declared_in_their_order(result: Result) -> None:
    frames, declared = result.frames(), result.get_columns()
    assert list(frames) == list(declared)
    for name, frame in frames.items():
        columns = declared[name]
        by_name = [column for column in frame.columns if column in columns]
        assert by_name == [column for column in columns if column in frame.columns]
        assert by_name == frame.columns or "*" in columns
    text = str(result)
    assert all(line in text for line in result.heading())
    check_forms(result)
