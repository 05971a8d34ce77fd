"""JSON of search engines and rerankers: records of a topic with a list of its documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral, Real
from typing import Any, NamedTuple

from cranfield.base.errors import InputError, add_source, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.pairs import warn_of_ungraded
from cranfield.sources.columns import transpose_rows
from cranfield.sources.schemas import FileColumn, declare_optional, fold_name
from cranfield.sources.values import GRADE, ID, NUMBER, RANK, TAG, Cells

NO_DOCUMENT = object()
"""Placeholder in the column of documents, in the only row of a topic with an empty ranking."""

_LISTS = frozenset(
    {"candidates", "ctxs", "contexts", "hits", "results", "documents", "docs", "docids"}
    | {"passages", "ranking", "ratings"}
)
"""Names of lists of documents in the record of a topic, as normalised by `schemas.fold_name`."""

_RESPONSES = (("hits", "hits"), ("response", "docs"), ("root", "children"))
"""Keys of the documents in a response of Elasticsearch and OpenSearch, Solr, and Vespa."""

_RATINGS = "judgmentRatings"
"""Key of the topics in judgments of the Search Relevance Workbench."""

_TOPIC = FileColumn("topic", ID)
_DOC = FileColumn("doc", ID)
_SCORE = FileColumn("score", NUMBER)
_GRADE = FileColumn("grade", GRADE)
_SYSTEM = declare_optional("tag", TAG, "system", "system")
_RANK = FileColumn("rank", RANK)

_RANKING_NAME = re.compile("score|rank|dist|sim|relevan|prob|logit")
"""Names of numbers that may order documents, as normalised by `schemas.fold_name`."""

_USED = (_TOPIC, _DOC, _SCORE, _SYSTEM, _RANK)
_USED_NAMES = {fold_name(name) for column in _USED for name in column.names} | {"row"}

_PUBMED = re.compile(
    r"https?://(?:www\.)?(?:ncbi\.nlm\.nih\.gov/pubmed|pubmed\.ncbi\.nlm\.nih\.gov)/([^/]+)/?"
)

_STATES = {
    "failed": "the search failed, so there is no ranking",
    "partial": "the results are partial: the search ended early, or a part of the index failed",
    "later": "the first results are missing, so those of a later page are ranked from 1",
}
"""Warnings about responses of search engines, by their state."""

_PARTIAL_FIELDS = (
    *("timed_out", "terminated_early", "_shards.failed"),
    *("responseHeader.partialResults", "root.coverage.degraded"),
)
"""Fields that mark results as partial: of Elasticsearch and OpenSearch, of Solr, of Vespa."""

_PAGE_FIELDS = frozenset({"nbHits", "nbPages", "hitsPerPage", "totalPages", "totalHits"})
"""Fields of a page of results, in Algolia and Meilisearch."""

_NO_TOPIC = (
    "expected a topic in each record (usual names: query_id, qid), got {}; write the topic beside"
    ' its response: {{"query_id": ..., "hits": ...}}'
)


class _Ranking(NamedTuple):
    """The documents of a topic, the index of their record, and their system, if any.

    system_key: key of the system in the record; empty without one.
    has_relevant_hits: whether documents without a grade are relevant, as in BioASQ.
    lists: other lists of the record with a number for each document, such as `ranks`.
    state: key of `_STATES`; empty for a complete response, or its first page.
    """

    topic: Any
    hits: Sequence[Any]
    scores: Sequence[Any] | None = None
    row: int = 0
    system: Any = None
    system_key: str = ""
    has_relevant_hits: bool = False
    lists: Mapping[str, Sequence[Any]] = {}
    state: str = ""


def convert_nested(kind: str, data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Convert nested records to columns; also return the index of each row's record.

    Return None for other data. Records are those of RankLLM, DPR, Pyserini and others (a topic with
    a list of documents), responses of search engines by topic, requests and responses of rank_eval,
    BioASQ's questions, and judgments of the Search Relevance Workbench of OpenSearch.
    """
    if not is_nested(data):
        return None
    value = "score" if kind == "run" else "grade"
    rows: list[tuple[Any, ...]] = []
    other_columns: dict[str, list[Any]] = {}
    has_scores = has_order = False
    is_listed: dict[tuple[str, str], bool] = {}
    states: dict[tuple[str, str], None] = {}
    system_key = ""
    with add_source(source):
        for ranking in _read_rankings(_find_workbench_judgments(data), kind, source):
            states[str(ranking.topic), ranking.state] = None
            if ranking.state == "failed":
                continue
            docs, values = _read_documents(ranking, kind)
            system_key = system_key or ranking.system_key
            ranks: Sequence[int] = range(1, len(docs) + 1)
            if kind == "run":
                numbers = find_numbers(_add_lists(ranking), values is not None, ranking.topic)
                is_list = values is None and "rank" not in numbers
                ranks = numbers.pop("rank", ranks)
                key = str(ranking.topic), str(ranking.system)
                if docs and key in is_listed and (is_list or is_listed[key]):
                    raise InputError(
                        f"record {ranking.row + 1}: topic {quote(ranking.topic)} occurs again, and"
                        " its documents have no scores; write them in one list, in order of rank"
                    )
                if docs:
                    is_listed[key] = is_list
                append_columns(other_columns, len(rows), numbers, max(len(docs), 1))
                has_scores |= values is not None and bool(docs)
                has_order |= values is None
            if kind == "run" and not docs:
                docs, values, ranks = [NO_DOCUMENT], [0.0], [1]
            values = [-rank for rank in ranks] if values is None else values
            topic, system, row = ranking.topic, ranking.system, ranking.row
            documents = zip(docs, values, ranks, strict=True)
            rows += [(topic, doc, number, rank, system, row) for doc, number, rank in documents]
    _report_states(states, source)
    # The user may name the column of systems by its key.
    tag = system_key or "tag"
    columns = transpose_rows(("topic", "doc", value, "rank", tag, "row"), rows)
    record_of_row = columns.pop("row")
    if kind != "run":
        del columns["rank"]
    elif has_order and not has_scores:
        del columns["score"]
    if kind != "run" or all(system is None for system in columns[tag]):
        del columns[tag]
    return {**columns, **other_columns}, record_of_row


def _report_states(states: Collection[tuple[str, str]], source: str) -> None:
    """Warn of failed, partial and later responses; refuse data in which all have failed.

    states: the topic and the state of each response.
    """
    n_failed = sum(state == "failed" for _, state in states)
    if n_failed == len(states) > 0:
        got = inflect(n_failed, "failed query")
        raise InputError(f"expected rankings, got {got}", source=source)
    for state, message in _STATES.items():
        # Another record may have the first page of a topic.
        topics = [t for t, s in states if s == state and (s != "later" or (t, "") not in states)]
        if topics:
            noun = "topic" if len(topics) == 1 else "topics"
            warn(f"{source}: {noun} {list_some(map(quote, topics), 3)}: {message}")


def is_nested(data: Any) -> bool:
    """Return True for JSON data with a record for each topic, or data of rank_eval."""
    if isinstance(data, list):
        # The searches for the first topics may have failed.
        first = next((record for record in data if not _has_failed(record)), None)
        return _has_list(first)
    if not isinstance(data, Mapping):
        return False
    has_responses = isinstance(data.get("responses"), list) or _find_hits(data) is not None
    has_topics = bool(data) and all(_has_list(r) or _has_failed(r) for r in data.values())
    return has_responses or has_topics or _find_topics_key(data) != ""


def _find_topics_key(data: Mapping[Any, Any]) -> str:
    """Return the key that holds the topics of rank_eval, BioASQ or a Search Relevance Workbench."""
    types: dict[str, Any] = {"details": Mapping, "requests": list, "questions": list}
    types[_RATINGS] = (list, Mapping)
    keys = (key for key, value_type in types.items() if isinstance(data.get(key), value_type))
    return next((key for key in keys if key != "details" or "metric_score" in data), "")


def _read_rankings(data: Any, kind: str, source: str) -> Iterable[_Ranking]:
    key = "" if isinstance(data, list) else _find_topics_key(data)
    records = data if isinstance(data, list) else data.get(_RATINGS)
    if isinstance(records, list):
        if kind == "run" and any("ratings" in record for record in records):
            raise InputError("expected a run, got a list of judgments")
        return _read_record_rankings(records)
    if key == "details":
        failures = [_Ranking(topic, (), state="failed") for topic in data.get("failures") or ()]
        return chain(failures, _read_response_rankings(data[key], kind, source))
    if key == "requests":
        return _read_request_rankings(data[key], kind)
    if key == "questions":
        rankings = _read_record_rankings(data[key])
        return (ranking._replace(has_relevant_hits=True) for ranking in rankings)
    if isinstance(data.get("responses"), list) or _find_hits(data) is not None:
        raise InputError(_NO_TOPIC.format("a response without a topic"))
    return (_read_ranking(topic, record, 0) for topic, record in data.items())


def _find_workbench_judgments(data: Any) -> Any:
    """Return the judgments inside a response of the Search Relevance Workbench, else the data."""
    if isinstance(data, Mapping) and isinstance(ratings := data.get(_RATINGS), Mapping):
        # This is the form of a request to import judgments.
        records = [{"query": query, "ratings": documents} for query, documents in ratings.items()]
        return {**data, _RATINGS: records}
    hits = _find_hits(data) if isinstance(data, Mapping) else None
    sources = [hit.get("_source") for hit in hits or () if isinstance(hit, Mapping)]
    judgments = [record for record in sources if isinstance(record, Mapping) and _RATINGS in record]
    if len(judgments) > 1:
        expected = "expected one judgment list of the Search Relevance Workbench"
        raise InputError(f"{expected}, got {len(judgments)}; write each to a file of its own")
    return judgments[0] if judgments else data


def _find_hits(record: Mapping[Any, Any]) -> list[Any] | None:
    """Return the documents of a response of a search engine; None for other records."""
    for outer, inner in _RESPONSES:
        response = record.get(outer)
        hits = response.get(inner) if isinstance(response, Mapping) else None
        if isinstance(hits, list):
            return [*_convert_vespa_hits(hits)] if outer == "root" else hits
    return None


_VESPA_ID = re.compile(r"id:[^:]*:[^:]*:[^:]*:")
"""Beginning of an id of Vespa: its namespace, type of document, and key."""


def _convert_vespa_hits(hits: Sequence[Any]) -> Iterator[Any]:
    """Yield hits with the id that the user specified and the score; groups are skipped."""
    for hit in hits:
        key = hit.get("id") if isinstance(hit, Mapping) else None
        if not isinstance(key, str):
            yield hit
        elif not key.startswith("group:"):
            # In a summary from memory, the id is a key of the index.
            fields = hit.get("fields") if key.startswith("index:") else None
            if isinstance(fields, Mapping):
                key = str(fields.get(find_key(_DOC, fields) or "id", key))
            yield {"id": _VESPA_ID.sub("", key, count=1), "score": hit.get("relevance")}


def _has_list(record: Any) -> bool:
    """Return True for the record of a topic, with a list of documents."""
    if not isinstance(record, Mapping):
        return False
    return _find_hits(record) is not None or bool(_find_lists(record))


def _get_field(record: Any, path: str) -> Any:
    """Return a field of nested objects, such as `_shards.failed`; None if it is absent."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def _has_failed(record: Any) -> bool:
    """Return True for the response to a search that failed."""
    error = _get_field(record, "error") or _get_field(record, "root.errors")
    return bool(error) and isinstance(error, Mapping | list | str)


def _find_state(record: Mapping[Any, Any], hits: Sequence[Any]) -> str:
    """Return the state of a response, a key of `_STATES`; empty for a complete response."""
    has_failed = _has_failed(record)
    if has_failed and not hits:
        return "failed"
    if has_failed or any(_get_field(record, sign) for sign in _PARTIAL_FIELDS):
        return "partial"
    # Algolia counts pages from 0, Meilisearch from 1.
    first_page = 0 if "nbHits" in record else 1
    page = record.get("page") if _PAGE_FIELDS & {*record} else None
    offset = record.get("offset") if "limit" in record else None
    starts = ((_get_field(record, "response.start"), 0), (offset, 0), (page, first_page))
    is_later = any(isinstance(start, int) and start > first for start, first in starts)
    return "later" if is_later and hits else ""


def _find_lists(record: Mapping[Any, Any]) -> list[Any]:
    """Return the keys of the lists of documents in a record; in TREC RAG, of its references."""
    if isinstance(record.get("answer"), list) and isinstance(record.get("references"), list):
        return ["references"]
    return [
        name
        for name, value in record.items()
        if fold_name(name) in _LISTS
        and isinstance(value, list)
        and (not value or isinstance(value[0], Mapping | str | int))
    ]


def _read_record_rankings(records: Sequence[Any]) -> Iterator[_Ranking]:
    for row, record in enumerate(records):
        if not _has_list(record) and not _has_failed(record):
            raise InputError(f"record {row + 1}: expected a list of documents, got none")
        metadata = record.get("metadata")
        merged = {**metadata, **record} if isinstance(metadata, Mapping) else record
        yield _read_ranking(_find_topic(merged, f"record {row + 1}"), merged, row)


def _find_topic(record: Mapping[Any, Any], record_name: str) -> Any:
    """Return the topic of a record: its id, the id of its query, or else the text of its query."""
    name = find_key(_TOPIC, record, record_name)
    topic = record.get(name)
    if isinstance(topic, Mapping):
        inner = find_key(_TOPIC, topic, record_name)
        return topic.get("id") if inner is None else topic[inner]
    # An identifier has priority over a text.
    is_text = name is None or fold_name(name) in {"query", "question"}
    topic = record.get("id", topic) if is_text else topic
    if topic is None:
        raise InputError(f"{record_name}: {_NO_TOPIC.format('none')}")
    return topic


def find_key(column: FileColumn, record: Mapping[Any, Any], record_name: str = "") -> Any:
    """Return the key of a column in a record, or None; refuse two keys if `record_name` is set."""
    names = [*record]
    positions = column.find_in(names)
    if len(positions) > 1 and record_name:
        pair = " and ".join(quote(names[k]) for k in positions[:2])
        raise InputError(f"{record_name} has two keys for the {column.name}: {pair}; remove one")
    return names[positions[0]] if positions else None


def _read_ranking(topic: Any, record: Mapping[Any, Any], row: int) -> _Ranking:
    list_names = _find_lists(record)
    if len(list_names) > 1:
        names = " and ".join(map(quote, list_names[:2]))
        raise InputError(f"topic {quote(topic)} has two lists of documents: {names}; remove one")
    hits = _find_hits(record)
    if hits is None:
        hits = record[list_names[0]] if list_names else []
    scores = record.get("scores")
    if scores is not None and (not isinstance(scores, list) or len(scores) != len(hits)):
        got = len(scores) if isinstance(scores, list) else type(scores).__name__
        expected = f"expected a list of {len(hits)} scores, one per document"
        raise InputError(f"topic {quote(topic)}: {expected}, got {got}")
    system_key = find_key(_SYSTEM, record, f"topic {quote(topic)}")
    system = record.get(system_key)
    system = None if isinstance(system, Mapping) else system
    lists = {
        _find_list_name(str(name)): values
        for name, values in record.items()
        if name not in {*list_names, "scores"} and isinstance(values, list)
        if len(values) == len(hits) and all(map(_is_number, values))
    }
    score_lists = (values for name, values in lists.items() if fold_name(name) in _SCORE.names)
    scores = next(score_lists, None) if scores is None else scores
    tag, state = str(system_key or ""), _find_state(record, hits)
    return _Ranking(topic, hits, scores, row, system, tag, lists=lists, state=state)


def _find_list_name(name: str) -> str:
    """Return the name of the numbers of a list: `rank` for `ranks`, but `distances` unchanged."""
    singular = re.sub("ies$", "y", name).removesuffix("s")
    return singular if fold_name(singular) in _USED_NAMES else name


def _read_response_rankings(
    details: Mapping[Any, Any], kind: str, source: str
) -> Iterator[_Ranking]:
    """Yield the rankings of a response of rank_eval, or the ratings of their documents."""
    if kind == "qrels":
        warn(
            f"{source}: a rank_eval response has ratings of retrieved documents only, but recall"
            " and nDCG require all ratings; read the rank_eval request instead"
        )
    n_unrated = n_hits = 0
    for topic, detail in details.items():
        hits = detail.get("hits") if isinstance(detail, Mapping) else None
        if not isinstance(hits, list) or not all(
            isinstance(hit, Mapping) and isinstance(hit.get("hit"), Mapping) for hit in hits
        ):
            expected = "expected 'hits' in 'details' to be a list of objects {\"hit\": ...}"
            raise InputError(f"topic {quote(topic)}: {expected}, got {quote(hits)}")
        rated = [hit for hit in hits if hit.get("rating") is not None or kind == "run"]
        n_hits += len(hits)
        n_unrated += len(hits) - len(rated)
        yield _Ranking(topic, [{**hit["hit"], "rating": hit.get("rating")} for hit in rated])
    if n_unrated:
        warn_of_ungraded(source, n_unrated, n_hits)


def _read_request_rankings(requests: Sequence[Any], kind: str) -> Iterator[_Ranking]:
    if kind == "run":
        raise InputError("expected a run, got a rank_eval request, which has judgments")
    for number, request in enumerate(requests, 1):
        ratings = request.get("ratings") if isinstance(request, Mapping) else None
        if not isinstance(ratings, list):
            reason = f"'ratings' must be a list of rated documents, got {quote(ratings)}"
            raise InputError(f"request {number}: {reason}")
        yield _Ranking(request.get("id"), ratings)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _add_lists(ranking: _Ranking) -> list[Mapping[Any, Any]]:
    """Return the hits of a topic with the numbers of parallel lists."""
    hits = [hit if isinstance(hit, Mapping) else {} for hit in ranking.hits]
    return [
        {name: values[k] for name, values in ranking.lists.items()} | {**hit}
        for k, hit in enumerate(hits)
    ]


def find_numbers(
    hits: Sequence[Mapping[Any, Any]], has_scores: bool, topic: Any
) -> dict[str, list[Any]]:
    """Return the ranks of hits as `rank`, if any, and by key other numbers that may order the hits.

    Ranks that are not distinct integers are ignored, or refused if hits without scores have them
    under the key `rank`.
    """
    numbers: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for hit in hits for name in hit):
        values = [hit.get(name) for hit in hits]
        if fold_name(name) in {*map(fold_name, _RANK.names)}:
            ranks = RANK.convert_column("rank", values)[0]
            has_ranks = ranks.null_count() == 0 and ranks.n_unique() == len(ranks)
            if has_ranks and name != "rank":
                # Other names may be of positions within a document.
                has_ranks = set(ranks - ranks.min()) == set(range(len(ranks)))
            if has_ranks and "rank" not in numbers:
                numbers["rank"] = ranks.to_list()
            elif name == "rank" and not has_scores and any(value is not None for value in values):
                got = list_some(map(str, values), 5)
                reason = f"ranks of topic {quote(topic)} must be distinct integers, got {got}"
                raise InputError(reason)
        elif fold_name(name) not in _USED_NAMES and any(map(_is_number, values)):
            is_decimal = not has_scores and not all(isinstance(value, Integral) for value in values)
            if is_decimal or _RANKING_NAME.search(fold_name(name)):
                numbers[str(name)] = values
    return numbers


def append_columns(
    columns: dict[str, Any], n_rows: int, values: Mapping[str, Sequence[Any]], n_more: int
) -> None:
    """Append `n_more` rows to columns of `n_rows` rows; missing values are None."""
    for name in columns.keys() | values.keys():
        column = columns.setdefault(name, [None] * n_rows)
        column.extend(values.get(name) or [None] * n_more)


def _read_documents(ranking: _Ranking, kind: str) -> tuple[list[Any], Sequence[Any] | None]:
    """Return the documents of a topic, and their scores (None without scores) or grades."""
    hits, scores, topic = ranking.hits, ranking.scores, quote(ranking.topic)
    no_grades = f"expected grades of the documents of topic {topic}, got none; this may be a run"
    if not all(isinstance(hit, Mapping) for hit in hits):
        if any(isinstance(hit, Mapping | list) for hit in hits):
            types = list_some(sorted({type(hit).__name__ for hit in hits}), 3)
            expected = f"expected the documents of topic {topic} to be all objects or all ids"
            raise InputError(f"{expected}, got {types}")
        if kind == "qrels" and not ranking.has_relevant_hits:
            raise InputError(no_grades)
        values = [1] * len(hits) if kind == "qrels" else scores
        return [_strip_url(hit) for hit in hits], values
    docs = [_strip_url(_find_id(hit, topic)) for hit in hits]
    column = _SCORE if kind == "run" else _GRADE
    names = [find_key(column, hit, f"a document of topic {topic}") for hit in hits]
    values = [hit.get(name) for hit, name in zip(hits, names, strict=True)]
    if kind == "qrels":
        if hits and not any(names):
            raise InputError(no_grades)
        return docs, values
    values = values if scores is None else scores
    n_missing = sum(value is None for value in values)
    if 0 < n_missing < len(values):
        documents = inflect(len(values), "document")
        expected = f"expected a score of each document of topic {topic}"
        raise InputError(f"{expected}, got none for {n_missing} of {documents}")
    # Elasticsearch gives no scores if hits are sorted by another field.
    return docs, None if n_missing else values


def _find_id(hit: Mapping[Any, Any], topic: str) -> Any:
    """Return the id of a document: by `_id` of search engines, a usual name, or `id`."""
    ids = {name: value for name, value in hit.items() if isinstance(value, str | int)}
    name = "_id" if "_id" in ids else find_key(_DOC, ids, f"a document of topic {topic}")
    if name is None and "id" not in ids:
        keys = ", ".join(quote(name) for name in [*hit][:6]) or "nothing"
        expected = f"expected the id of each document of topic {topic} (usual names: docid, _id)"
        raise InputError(f"{expected}, got {keys}")
    return ids["id" if name is None else name]


def _strip_url(doc: Any) -> Any:
    """Return the PubMed number in a URL, as BioASQ has them; other ids are unchanged."""
    match = _PUBMED.fullmatch(doc) if isinstance(doc, str) else None
    return doc if match is None else match[1]
