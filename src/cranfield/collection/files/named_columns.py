"""Tables of runs and judgments: their columns, by any of their usual names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cranfield.sources.columns import three_columns
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.values import GRADE, ID, NUMBER, RANK, TAG

TOPIC = Column("topic", ID, "query_id qid q_id topic_id query queryid")
DOC = Column("doc", ID, "doc_id docno docid document document_id pid")
SCORE = Column("score", NUMBER, "sim similarity")


def _by_topic(value: str) -> Callable[[Mapping[Any, Any], str], dict[str, list[Any]]]:
    names = ("topic", "doc", value)
    return lambda data, source: three_columns(data, names, f"document: {value}", source)


RUN = Schema(
    "run",
    (
        *(TOPIC, DOC, SCORE),
        optional("rank", RANK),
        optional("tag", TAG, "run_tag system run run_id runid"),
    ),
    called="a run",
    tuples=("topic", "doc", "score"),
    mapping=_by_topic("score"),
)

QRELS = Schema(
    "qrels",
    (
        *(TOPIC, DOC),
        Column("grade", GRADE, "relevance label rel judgment judgement"),
        optional("subtopic", ID, "subtopic_id iteration iter"),
        optional("class", ID, "equivalence_class ec"),
        optional("stratum", ID),
        optional("inclusion", NUMBER, "inclusion_probability iprob"),
    ),
    called="judgments",
    tuples=("topic", "doc", "grade"),
    mapping=_by_topic("grade"),
)
