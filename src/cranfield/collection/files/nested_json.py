"""JSON of search engines and rerankers: a record for each topic, with its documents inside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.pairs import warn_of_ungraded
from cranfield.sources.schemas import Column, optional, spelt
from cranfield.sources.values import GRADE, ID, NUMBER, TAG, Cells

NO_DOCUMENT = object()
"""The only document of an empty ranking, in columns made of a mapping."""

_LISTS = frozenset(
    {"candidates", "ctxs", "contexts", "hits", "results", "documents", "docs", "docids"}
    | {"passages", "ranking", "ratings"}
)
"""Names of lists of documents within the record of a topic, spelt as by `schemas.spelt`."""

_RATINGS = "judgmentRatings"
"""Key of the topics in judgments of the Search Relevance Workbench."""

_TOPIC = Column("topic", ID)
_DOC = Column("doc", ID)
_SCORE = Column("score", NUMBER)
_GRADE = Column("grade", GRADE)
_SYSTEM = optional("tag", TAG, "system")

_PUBMED = re.compile(
    r"https?://(?:www\.)?(?:ncbi\.nlm\.nih\.gov/pubmed|pubmed\.ncbi\.nlm\.nih\.gov)/([^/]+)/?"
)

_NO_TOPIC = (
    "expected a topic in each record (usual names: query_id, qid), got {}; write the topic beside"
    ' its response: {{"query_id": ..., "hits": ...}}'
)


@dataclass(frozen=True)
class _Ranking:
    """The documents of a topic, the record that they come from, and their system if any.

    relevant: whether documents without a grade are the relevant ones, as in BioASQ.
    """

    topic: Any
    hits: Sequence[Any]
    scores: Sequence[Any] | None = None
    row: int = 0
    system: Any = None
    relevant: bool = False


def columns_of_nested(
    kind: str, data: Any, source: str
) -> tuple[dict[str, Cells], list[int]] | None:
    """Convert nested records to columns, with the record of each row; None for other data.

    Records are those of RankLLM, DPR, Pyserini and others (a topic with a list of documents),
    responses of Elasticsearch by topic, requests and responses of its rank_eval, BioASQ's
    questions, and judgments of the Search Relevance Workbench of OpenSearch.
    """
    if not is_nested(data):
        return None
    data = _workbench_judgments(data, source)
    value = "score" if kind == "run" else "grade"
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], value: []}
    ranks: list[int] = []
    systems: list[Any] = []
    rows: list[int] = []
    for ranking in _rankings(data, kind, source):
        docs, values = _documents(ranking, kind, source)
        if kind == "run" and not docs:
            docs, values = [NO_DOCUMENT], [0.0]
        columns["topic"] += [ranking.topic] * len(docs)
        columns["doc"] += docs
        columns[value] += values
        ranks += range(1, len(docs) + 1)
        rows += [ranking.row] * len(docs)
        systems += [ranking.system] * len(docs)
    if kind == "run":
        columns["rank"] = ranks
        if any(system is not None for system in systems):
            columns["tag"] = systems
    return dict(columns), rows


def is_nested(data: Any) -> bool:
    """Return True for JSON data with a record for each topic, or of rank_eval."""
    if isinstance(data, list):
        return bool(data) and _has_list(data[0])
    if not isinstance(data, Mapping):
        return False
    has_responses = isinstance(data.get("responses"), list) or _is_response(data)
    has_topics = bool(data) and all(map(_has_list, data.values()))
    return has_responses or has_topics or bool(_keys_of(data))


def _keys_of(data: Mapping[Any, Any]) -> list[str]:
    """Return the key that holds the topics of rank_eval, BioASQ or a Search Relevance Workbench."""
    kinds = {"details": Mapping, "requests": list, "questions": list, _RATINGS: list}
    others = {"details": "metric_score"}
    return [
        key
        for key, kind in kinds.items()
        if isinstance(data.get(key), kind) and others.get(key, key) in data
    ]


def _rankings(data: Any, kind: str, source: str) -> list[_Ranking]:
    """Find the rankings of topics."""
    key = "" if isinstance(data, list) else next(iter(_keys_of(data)), "")
    records = data if isinstance(data, list) else data.get(_RATINGS)
    if isinstance(records, list):
        if kind == "run" and any("ratings" in record for record in records):
            raise InputError("is a list of judgments, and not a run", source=source)
        return [*_of_records(records, source)]
    if key == "details":
        return [*_of_rank_eval(data[key], kind, source)]
    if key == "requests":
        return [*_of_requests(data[key], kind, source)]
    if key == "questions":
        return [replace(ranking, relevant=True) for ranking in _of_records(data[key], source)]
    if isinstance(data.get("responses"), list) or _is_response(data):
        raise InputError(_NO_TOPIC.format("a response without one"), source=source)
    return [_ranking(topic, record, source, 0) for topic, record in data.items()]


def _workbench_judgments(data: Any, source: str) -> Any:
    """Return the judgments inside a response of the Search Relevance Workbench, else the data."""
    if not (isinstance(data, Mapping) and _is_response(data)):
        return data
    sources = [hit.get("_source") for hit in data["hits"]["hits"] if isinstance(hit, Mapping)]
    judgments = [record for record in sources if isinstance(record, Mapping) and _RATINGS in record]
    if len(judgments) > 1:
        reason = f"has {len(judgments)} judgment lists of the Search Relevance Workbench; keep one"
        raise InputError(reason, source=source)
    return judgments[0] if judgments else data


def _is_response(record: Mapping[Any, Any]) -> bool:
    """Return True for a search response of Elasticsearch or OpenSearch."""
    hits = record.get("hits")
    return isinstance(hits, Mapping) and isinstance(hits.get("hits"), list)


def _has_list(record: Any) -> bool:
    """Return True for the record of a topic, with a list of documents."""
    return isinstance(record, Mapping) and (_is_response(record) or bool(_lists_in(record)))


def _lists_in(record: Mapping[Any, Any]) -> list[Any]:
    """Return the names of the lists of documents in a record.

    The documents of an answer of TREC RAG are its references.
    """
    if isinstance(record.get("answer"), list) and isinstance(record.get("references"), list):
        return ["references"]
    return [name for name, value in record.items() if spelt(name) in _LISTS and _is_list(value)]


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and (not value or isinstance(value[0], Mapping | str | int))


def _of_records(records: Sequence[Any], source: str) -> Iterator[_Ranking]:
    for row, record in enumerate(records):
        if not _has_list(record):
            raise InputError(
                f"record {row + 1}: expected a list of documents as in other records", source=source
            )
        metadata = record.get("metadata")
        merged = {**metadata, **record} if isinstance(metadata, Mapping) else record
        yield _ranking(_topic(merged, row, source), merged, source, row)


def _topic(record: Mapping[Any, Any], row: int, source: str) -> Any:
    """Find the topic of a record: its id, that of its query, or else the text of its query."""
    name = _name_of(_TOPIC, record, f"record {row + 1}", source)
    topic = record.get(name)
    if isinstance(topic, Mapping):
        inner = _name_of(_TOPIC, topic, f"record {row + 1}", source)
        return topic.get("id") if inner is None else topic[inner]
    # An identifier wins over a text.
    by_text = name is None or spelt(name) in {"query", "question"}
    topic = record.get("id", topic) if by_text else topic
    if topic is None:
        raise InputError(f"record {row + 1}: {_NO_TOPIC.format('none')}", source=source)
    return topic


def _name_of(column: Column, record: Mapping[Any, Any], where: str, source: str) -> Any:
    """Return the name of a column in a record, or None; refuse two names for it."""
    names = [*record]
    places = column.named_in(names)
    if len(places) > 1:
        two = " and ".join(quoted(names[k]) for k in places[:2])
        reason = f"{where} has two keys for the {column.name}: {two}; remove one"
        raise InputError(reason, source=source)
    return names[places[0]] if places else None


def _ranking(topic: Any, record: Mapping[Any, Any], source: str, row: int) -> _Ranking:
    list_names = _lists_in(record)
    if len(list_names) > 1:
        names = " and ".join(map(quoted, list_names[:2]))
        reason = f"topic {quoted(topic)} has two lists of documents: {names}; remove one"
        raise InputError(reason, source=source)
    hits = record["hits"]["hits"] if _is_response(record) else record[list_names[0]]
    scores = record.get("scores")
    if scores is not None and (not isinstance(scores, list) or len(scores) != len(hits)):
        reason = f"expected {len(hits)} scores for topic {quoted(topic)}, got another number"
        raise InputError(reason, source=source)
    system = record.get(_name_of(_SYSTEM, record, f"topic {quoted(topic)}", source))
    return _Ranking(topic, hits, scores, row, None if isinstance(system, Mapping) else system)


def _of_rank_eval(details: Mapping[Any, Any], kind: str, source: str) -> Iterator[_Ranking]:
    """Yield the rankings of a response of rank_eval, or the ratings of their documents."""
    if kind == "qrels":
        warn(
            f"{source}: a rank_eval response has the ratings of retrieved documents only, and"
            " recall and nDCG need all; its request has them",
            stacklevel=5,
        )
    n_unrated = n_hits = 0
    for topic, detail in details.items():
        hits = detail.get("hits") if isinstance(detail, Mapping) else None
        if not isinstance(hits, list) or not all(
            isinstance(hit, Mapping) and isinstance(hit.get("hit"), Mapping) for hit in hits
        ):
            reason = f"expected hits in the details of topic {quoted(topic)}"
            raise InputError(reason, source=source)
        rated = [hit for hit in hits if hit.get("rating") is not None or kind == "run"]
        n_hits += len(hits)
        n_unrated += len(hits) - len(rated)
        yield _Ranking(topic, [{**hit["hit"], "rating": hit.get("rating")} for hit in rated])
    if n_unrated:
        warn_of_ungraded(source, n_unrated, n_hits)


def _of_requests(requests: Sequence[Any], kind: str, source: str) -> Iterator[_Ranking]:
    if kind == "run":
        raise InputError("is a rank_eval request: judgments, and not a run", source=source)
    for request in requests:
        if not isinstance(request, Mapping) or not isinstance(request.get("ratings"), list):
            raise InputError("expected ratings in each of the requests", source=source)
        yield _Ranking(request.get("id"), request["ratings"])


def _documents(ranking: _Ranking, kind: str, source: str) -> tuple[list[Any], list[Any]]:
    """Return the documents of a topic, and their scores or grades."""
    hits = ranking.hits
    topic = quoted(ranking.topic)
    if not all(isinstance(hit, Mapping) for hit in hits):
        if any(isinstance(hit, Mapping | list) for hit in hits):
            reason = f"topic {topic} has documents of different kinds"
            raise InputError(reason, source=source)
        docs = [_without_url(hit) for hit in hits]
        if kind == "qrels":
            if not ranking.relevant:
                raise _no_grades(topic, source)
            return docs, [1] * len(docs)
        return docs, [*ranking.scores] if ranking.scores else [*range(-1, -len(docs) - 1, -1)]
    docs = [_without_url(_id_of(hit, topic, source)) for hit in hits]
    column = _SCORE if kind == "run" else _GRADE
    names = [_name_of(column, hit, f"a document of topic {topic}", source) for hit in hits]
    values = [hit.get(name) for hit, name in zip(hits, names, strict=True)]
    if kind == "qrels":
        if hits and not any(names):
            raise _no_grades(topic, source)
        return docs, values
    if ranking.scores is not None:
        values = [*ranking.scores]
    n_missing = sum(value is None for value in values)
    if n_missing == len(values):
        # Elasticsearch gives no scores if hits are sorted by another field.
        return docs, [*range(-1, -len(docs) - 1, -1)]
    if n_missing:
        reason = f"{n_missing} of {counted(len(values), 'document')} of topic {topic} have no score"
        raise InputError(reason, source=source)
    return docs, values


def _no_grades(topic: str, source: str) -> InputError:
    reason = f"expected grades of the documents of topic {topic}, got none: is it a run?"
    return InputError(reason, source=source)


def _id_of(hit: Mapping[Any, Any], topic: str, source: str) -> Any:
    """Find the id of a document: `_id` of search engines, a usual name, or `id`."""
    ids = {name: value for name, value in hit.items() if isinstance(value, str | int)}
    name = "_id" if "_id" in ids else _name_of(_DOC, ids, f"a document of topic {topic}", source)
    if name is None and "id" not in ids:
        keys = ", ".join(quoted(name) for name in [*hit][:6]) or "nothing"
        raise InputError(
            f"expected the id of each document of topic {topic} (usual names: docid, _id),"
            f" got {keys}",
            source=source,
        )
    return ids["id" if name is None else name]


def _without_url(doc: Any) -> Any:
    """Return the PubMed number of an article that BioASQ gives as a URL."""
    match = _PUBMED.fullmatch(doc) if isinstance(doc, str) else None
    return doc if match is None else match[1]
