"""Nested files of other tools: read, or refused with a way on that works."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, InputError
from tests.collection.refusals import refuses, warns

HITS = [{"docid": "d1", "score": 2.0}, {"docid": "d5", "score": 1.0}]
SEARCHED = [{"_index": "i", "_id": "d1", "_score": 2.0}, {"_index": "i", "_id": "d5", "_score": 1}]
RESPONSE = {"took": 3, "hits": {"total": {"value": 2}, "max_score": 2.0, "hits": SEARCHED}}
SOLR = [{"id": "d1", "score": 2.0}, {"id": "d5", "score": 1.0}]
VESPA = [{"id": "id:a:b::d1", "relevance": 2.0}, {"id": "id:a:b:g=x:d5", "relevance": 1.0}]
DPR = [{"id": "d1", "title": "t", "text": "x", "score": "2.0", "has_answer": True}]
RATED = [{"hit": SEARCHED[0], "rating": 2}, {"hit": SEARCHED[1], "rating": None}]
RANK_EVAL = {"metric_score": 0.5, "details": {"q1": {"hits": RATED}}, "failures": {}}
PUBMED = "http://www.ncbi.nlm.nih.gov/pubmed/"
READ: dict[str, Any] = {
    "rankllm.jsonl": {"query": {"text": "x?", "qid": "q1"}, "candidates": HITS},
    "hits.jsonl": {"qid": "q1", "hits": HITS},
    "search.jsonl": {"query_id": "q1", "hits": SEARCHED},
    "lists.jsonl": {"query_id": "q1", "doc_ids": ["d1", "d5"], "scores": [2.0, 1.0]},
    "ranked.jsonl": {"query_id": "q1", "doc_ids": ["d1", "d5"]},
    "rows.json": [{"qid": "q1", "hits": HITS}],
    "bioasq.json": {"questions": [{"id": "q1", "body": "?", "documents": [PUBMED + "d1", "d5"]}]},
    "dpr.json": {"q1": {"question": "x", "answers": ["a"], "contexts": HITS}},
    "pyserini.json": [{"id": "q1", "question": "x?", "ctxs": [*DPR, {"id": "d5", "score": "1"}]}],
    "questions.json": [{"question": "q1", "ctxs": [*DPR, {"id": "d5", "score": "1"}]}],
    "rank_eval.json": RANK_EVAL,
    "responses.json": {"q1": RESPONSE},
    "responses.jsonl": {"query_id": "q1"} | RESPONSE,
    "solr.json": {"q1": {"response": {"numFound": 2, "docs": SOLR}}},
    "solr.jsonl": {"query_id": "q1", "response": {"numFound": 2, "docs": SOLR}},
    "vespa.json": {"q1": {"root": {"id": "toplevel", "relevance": 1.0, "children": VESPA}}},
    "sorted.json": {"q1": {"hits": {"hits": [{**one, "_score": None} for one in SEARCHED]}}},
}
REFUSED: dict[str, tuple[Any, str]] = {
    "columns.jsonl": ({"qid": "q1", "docid": ["d1"], "score": [1]}, "'doc' holds an array of 1"),
    "id.jsonl": ({"qid": "q1", "docid": {"id": "d1"}, "score": 1}, "'doc' holds an object"),
    "took.json": (RESPONSE, "expected a topic in each record .* got a response without a topic"),
    "solr.json": ({"response": {"docs": SOLR}}, "got a response without a topic"),
    "msearch.json": ({"took": 3, "responses": [RESPONSE]}, "got a response without a topic"),
    "no-topic.jsonl": ({"hits": HITS}, "record 1: expected a topic"),
    "two.jsonl": ({"qid": "q1", "hits": HITS, "ctxs": HITS}, "two lists of documents"),
    "topics.jsonl": ({"qid": "q1", "topic_id": "q2", "hits": HITS}, "two keys for the topic"),
    "ids.jsonl": ({"qid": "q1", "hits": [{"doc_id": "a", "pid": "b"}]}, "two keys for the doc"),
    "no-id.jsonl": ({"qid": "q1", "hits": [{"title": "a"}]}, "expected the id of each document"),
    "scores.jsonl": (
        {"qid": "q1", "docids": ["a"], "scores": [1, 2]},
        "expected a list of 1 scores",
    ),
    "some.jsonl": ({"qid": "q1", "hits": [HITS[0], {"docid": "d2"}]}, "1 of 2 documents"),
    "request.json": ({"requests": [{"id": "q1", "ratings": []}], "metric": {}}, "judgments"),
    "lists.jsonl": ({"qid": "q1", "docids": ["a", ["b"]]}, "all ids, got list, str"),
    "details.json": (
        {"metric_score": 1, "details": {"q1": {"hits": HITS}}},
        "expected 'hits' in 'details' to be a list",
    ),
}


def written(folder: Path, name: str, data: Any) -> Path:
    (folder / name).write_text(json.dumps(data) + "\n")
    return folder / name


@pytest.mark.parametrize("name", READ)
def test_runs(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name, READ[name])
    in_memory = [READ[name]] if name.endswith("jsonl") else READ[name]
    for run in (cf.read_run(path), cf.read_runs(path)[0], cf.read_runs(in_memory)[0]):
        frame = run.to_polars()
        assert frame.rows() == [
            ("q1", "d1", frame["score"][0], 1),
            ("q1", "d5", frame["score"][1], 2),
        ]
        has_scores = name not in {"ranked.jsonl", "bioasq.json", "sorted.json"}
        assert frame["score"].to_list() == ([2.0, 1.0] if has_scores else [-1.0, -2.0])


@pytest.mark.parametrize("name", REFUSED)
def test_refused_runs(name: str, tmp_path: Path) -> None:
    data, said = REFUSED[name]
    path = written(tmp_path, name, data)
    with pytest.raises(InputError, match=said) as error:
        cf.read_run(path)
    assert name in str(error.value)
    assert "columns=" not in str(error.value)
    refuses("", lambda: cf.read_runs(path)[0])


def test_failed_topics_of_rank_eval(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", RANK_EVAL | {"failures": {"q2": {"error": {}}}})
    warns("a.json: topic 'q2': the search failed, so there is no ranking", cf.read_run, path)


PARTS = {"timed_out": True, "_shards": {"total": 5, "successful": 3, "failed": 2}}
ALGOLIA = {"hits": [{"objectID": "d1"}], "hitsPerPage": 20, "nbHits": 90}
MEILISEARCH = {"hits": [{"id": "d1"}], "limit": 20, "estimatedTotalHits": 90}
SOLR_PAGE = {"responseHeader": {"status": 0}, "response": {"start": 0, "docs": SOLR}}
VESPA_ROOT = {"coverage": {"full": True}, "children": VESPA}
FAILED, PARTIAL, LATER = (
    "the search failed",
    "the results are partial",
    "the first results are missing",
)
STATES: list[tuple[dict[str, Any], str]] = [
    ({"error": {"type": "parsing_exception"}, "status": 400}, FAILED),
    ({"responseHeader": {"status": 400}, "error": {"msg": "x", "code": 400}}, FAILED),
    ({"root": {"fields": {"totalCount": 0}, "errors": [{"code": 12}]}}, FAILED),
    ({"hits": [], "error": "timeout"}, FAILED),
    (RESPONSE | PARTS, PARTIAL),
    (RESPONSE | {"timed_out": False, "_shards": {"failed": 0}}, ""),
    (SOLR_PAGE | {"responseHeader": {"partialResults": True}}, PARTIAL),
    (SOLR_PAGE, ""),
    (SOLR_PAGE | {"response": {"start": 10, "docs": SOLR}}, LATER),
    ({"root": VESPA_ROOT}, ""),
    ({"root": VESPA_ROOT | {"coverage": {"degraded": {"timeout": True}}}}, PARTIAL),
    ({"root": VESPA_ROOT | {"errors": [{"code": 12}]}}, PARTIAL),
    (ALGOLIA | {"page": 0}, ""),
    (ALGOLIA | {"page": 2}, LATER),
    (MEILISEARCH | {"offset": 0}, ""),
    (MEILISEARCH | {"offset": 20}, LATER),
    ({"hits": [{"id": "d1"}], "page": 1, "totalHits": 90}, ""),
    ({"hits": [{"id": "d1"}], "page": 2, "totalHits": 90}, LATER),
    # The page of a book, about which a question is.
    ({"hits": HITS, "page": 20, "error": 0.5}, ""),
]


@pytest.mark.parametrize(("response", "state"), STATES)
def test_failed_partial_and_later_results(
    response: dict[str, Any], state: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "a.json", {"q1": response, "q2": RESPONSE})
    lines = tmp_path / "a.jsonl"
    lines.write_text(
        f"{json.dumps({'qid': 'q1'} | response)}\n{json.dumps({'qid': 'q2'} | RESPONSE)}"
    )
    for file in (path, lines):
        if state:
            warns(f"{file.name}: topic 'q1': {state}", cf.read_run, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if state else "error")
            topics = cf.read_run(file).topics
        assert {*topics} == {"q1", "q2"} - ({"q1"} if state == FAILED else set())


def test_pages_of_a_topic_are_one_ranking(tmp_path: Path) -> None:
    pages = [
        {"qid": "q1", "page": page, "nbHits": 2, "hits": [{"objectID": f"d{page}", "score": -page}]}
        for page in (0, 1)
    ]
    (path := tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, pages)))
    assert cf.read_run(path).to_polars()["doc"].to_list() == ["d0", "d1"]
    failed = written(tmp_path, "b.json", {"q1": STATES[0][0]})
    refuses("expected rankings, got 1 failed query", cf.read_run, failed)


def test_groups_and_index_keys_of_vespa(tmp_path: Path) -> None:
    group = {"id": "group:root:0", "relevance": 1.0, "children": []}
    hits = [
        {"id": "index:c/0/abc", "relevance": 0.9, "fields": {"id": "d6"}},
        {"id": "index:c/0/abd", "relevance": 0.8, "fields": {"documentid": "id:a:b::d7"}},
        {"id": "index:c/0/abe", "relevance": 0.7},
    ]
    path = written(tmp_path, "a.json", {"q1": {"root": {"children": [group, *hits]}}})
    docs = cf.read_runs(path)[0].to_polars()["doc"].to_list()
    assert docs == ["d6", "d7", "index:c/0/abe"]
    # The reason is that of the response, not of a mapping of systems.
    hits[0]["relevance"] = None
    path = written(tmp_path, "b.json", {"q1": {"root": {"children": hits}}})
    refuses(
        "b.json: expected a score of each document of topic 'q1', got none for 1 of 3 documents",
        lambda: cf.read_runs(path)[0],
    )


def test_lines_systems_and_empty_rankings(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records: list[dict[str, Any]] = [
        {"qid": "q1", "model": "x", "hits": HITS},
        {"qid": "q2", "model": "x", "hits": []},
        {"qid": "q1", "model": "y", "hits": [*HITS[::-1]]},
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    runs = cf.read_runs(path)
    assert [(run.name, len(run)) for run in runs] == [("x", 2), ("y", 2)]
    assert [run.name for run in cf.read_runs(path, system="model")] == ["x", "y"]
    # Documents are in another order than their scores: reported, as of a column of ranks.
    judged = cf.judge(runs, {"q1": {"d1": 1}})
    assert [one.n_contradictions for one in judged.coverage.systems] == [0, 1]
    path.write_text("\n".join(json.dumps(one) for one in [*records[:2], records[0] | {"qid": 1}]))
    assert cf.read_run(path).topics == ("q1", "1", "q2")
    path.write_text("\n".join(json.dumps(one) for one in [records[0], records[0]]))
    refuses("a.jsonl:2: document twice in one topic, first in line 1", cf.read_run, path)


@pytest.mark.parametrize(
    ("name", "values", "order", "unused"),
    [
        ("rank", [3, 1, 2], "bca", ""),
        ("position", [2, 0, 1], "bca", ""),
        ("rank", [1, 2, 3], "abc", ""),
        ("distance", [0.3, 0.1, 0.2], "abc", "distance"),
        ("probability", [0.1, 0.9, 0.5], "abc", "probability"),
        # Positions within a document, years and texts are no ranks.
        ("position", [17, 0, 17], "abc", ""),
        ("position", [17, 0, 9], "abc", ""),
        ("year", [2001, 2003, 2002], "abc", ""),
        ("title", ["x", "z", "y"], "abc", ""),
    ],
)
def test_numbers_of_hits(
    name: str, values: list[Any], order: str, unused: str, tmp_path: Path
) -> None:
    hits = [{"docid": doc, name: value} for doc, value in zip("abc", values, strict=True)]
    lists = {"query_id": "q1", "doc_ids": [*"abc"], f"{name}s": values}
    inputs: list[tuple[Any, str]] = [
        ({"q1": hits}, unused),
        (written(tmp_path, "hits.jsonl", {"query_id": "q1", "hits": hits}), unused),
        (written(tmp_path, "lists.jsonl", lists), unused and f"{unused}s"),
    ]
    for data, key in inputs:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = cf.read_run(data)
        frame = run.to_polars().sort("score", descending=True)
        assert "".join(frame["doc"]) == order
        messages = [str(warning.message).split(": ", 1)[1] for warning in caught]
        assert messages == ([f"columns not used: '{key}'"] if key else [])
        # A file is read twice by `judge`, but its warnings are issued once.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cf.judge(data, {"q1": {"a": 1, "b": 0, "c": 0}})
        assert len(caught) == bool(key)


def test_scores_of_hits_beside_ranks_and_other_scores(tmp_path: Path) -> None:
    hits = [{"docid": "a", "score": 0.5, "rank": 2}, {"docid": "b", "score": 0.9, "rank": 1}]
    for data in (written(tmp_path, "a.json", [{"qid": "q", "hits": hits}]), {"q": hits}):
        run = cf.read_run(data)
        assert run.ranks is not None
        assert (run.scores.tolist(), run.ranks.tolist()) == ([0.5, 0.9], [2, 1])
        assert cf.judge(run, {"q": {"a": 1}}).coverage.systems[0].n_contradictions == 0
    other = [hit | {"rerank_score": k} for k, hit in enumerate(hits)]
    for data in (written(tmp_path, "a.json", [{"qid": "q", "hits": other}]), {"q": other}):
        with pytest.warns(CranfieldWarning, match="columns not used: 'rerank_score'"):
            assert cf.read_run(data).scores.tolist() == [0.5, 0.9]
    lists = {"query_id": "q", "doc_ids": ["a", "b"], "similarities": [0.5, 0.9]}
    assert cf.read_run(written(tmp_path, "a.jsonl", lists)).scores.tolist() == [0.5, 0.9]
    distances = {"query_id": "q", "doc_ids": ["a", "b"], "distances": [0.5, 0.1]}
    for name, data in (
        ("distances", written(tmp_path, "a.jsonl", distances)),
        ("distance", {"q": [{"docid": "a", "distance": 0.5}, {"docid": "b", "distance": 0.1}]}),
    ):
        warns(f"columns not used: '{name}'", cf.read_run, data)
        run = cf.read_run(data, columns={"score": name}, lower_is_better=True)
        assert run.scores.tolist() == [-0.5, -0.1]
    for rank in (1, 1.5, None):
        ranked = [{"docid": "a", "rank": 1}, {"docid": "b", "rank": rank}]
        refuses("ranks of topic 'q' must be distinct integers", cf.read_run, {"q": ranked})


def test_a_topic_in_two_records(tmp_path: Path) -> None:
    def read(*records: dict[str, Any]) -> cf.Run:
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(json.dumps({"query_id": "1"} | record) for record in records))
        return cf.read_run(path)

    listed = [{"hits": [{"id": "b"}, {"id": "a"}]}, {"hits": [{"id": "c"}, {"id": "d"}]}]
    for records in (listed, [{"doc_ids": ["a"]}, {"doc_ids": ["b"]}], [listed[0], {"hits": HITS}]):
        refuses(r"a.jsonl: record 2: topic '1' occurs again, and its", read, *records)
    ranked = [{"hits": [{"id": "b", "rank": 2}]}, {"hits": [{"id": "c", "rank": 1}]}]
    assert read(*ranked).scores.tolist() == [-2, -1]
    scored = read({"hits": HITS[:1]}, {"hits": HITS[1:]}, {"hits": []})
    assert scored.scores.tolist() == [2, 1]
    assert len(read({"hits": []}, listed[0])) == 2
    systems = [record | {"model": name} for record, name in zip(listed, "xy", strict=True)]
    (tmp_path / "b.json").write_text(json.dumps([{"query_id": "1"} | one for one in systems]))
    assert [run.scores.tolist() for run in cf.read_runs(tmp_path / "b.json")] == [[-1, -2]] * 2


def test_judgments(tmp_path: Path) -> None:
    request = {"id": "q1", "request": {}, "ratings": [{"_id": "d1", "rating": 2}]}
    for name, data, grades in (
        ("requests.json", {"requests": [request], "metric": {"dcg": {}}}, [2]),
        ("requests-only.json", {"requests": [request]}, [2]),
        ("bioasq.json", READ["bioasq.json"], [1, 1]),
        ("graded.jsonl", {"qid": "q1", "docs": [{"docid": "d1", "relevance": 0}]}, [0]),
    ):
        assert cf.read_qrels(written(tmp_path, name, data)).grades.tolist() == grades
    with pytest.warns(CranfieldWarning) as told:
        found = cf.read_qrels(written(tmp_path, "response.json", RANK_EVAL))
    assert found.to_polars().rows() == [("q1", "d1", 2)]
    assert "retrieved documents only" in str(told[0].message)
    assert "1 of 2 rows has no grade" in str(told[1].message)
    for name in ("hits.jsonl", "lists.jsonl", "ranked.jsonl"):
        refuses(
            f"{name}: expected grades .*got none; this may be a run",
            cf.read_qrels,
            written(tmp_path, name, READ[name]),
        )
    with pytest.raises(InputError, match="expected .*topic, doc and grade"):
        cf.read_qrels(written(tmp_path, "judged.jsonl", {"qid": "q1", "relevant": ["d1"]}))


def test_parquet_with_lists(tmp_path: Path) -> None:
    pl.DataFrame({"qid": ["q1"], "docs": [["d1", "d2"]]}).write_parquet(tmp_path / "a.parquet")
    refuses("'docs' holds an array of 2, whose first is text", cf.read_run, tmp_path / "a.parquet")


def test_the_flat_table_is_read(tmp_path: Path) -> None:
    rows = [{"topic": "q1", "doc": hit["docid"], "score": hit["score"]} for hit in HITS]
    (tmp_path / "flat.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert cf.read_run(tmp_path / "flat.jsonl").to_polars()["doc"].to_list() == ["d1", "d5"]


@pytest.mark.filterwarnings("ignore:.* the scores of every topic rise")
@pytest.mark.parametrize(
    ("rows", "rise"),
    [
        ({"q1": [["d1", 0.1], ["d2", 0.5]], "q2": [["d1", 0]]}, 1),
        ({"q1": {"d1": 1, "d2": 2, "d3": 3}, "q2": {"d4": 1, "d5": 2, "d6": 3}}, 4),
        ({"q1": {"d1": 1, "d2": 2, "d3": 3}, "q2": {"d4": 1, "d5": 2}}, 3),
        ({"q1": {"d1": 1, "d2": 2}, "q2": {"d4": 1, "d5": 2}}, 0),
        ({"q1": [["d1", 0.1], ["d2", 0.5]], "q2": [["d1", 0.5], ["d2", 0.5]]}, 0),
        ({"q1": {"d1": 1, "d2": 2, "d3": 3}, "q2": {"d4": 1, "d5": 3, "d6": 4}}, 0),
    ],
)
def test_ranks_and_distances_in_place_of_scores(rows: Any, rise: int, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(rows))
    qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    for data in (tmp_path / "r.json", rows):
        assert cf.judge(data, qrels).coverage.systems[0].n_contradictions == rise
    run = cf.read_run(tmp_path / "r.json", lower_is_better=True)
    assert not rise or cf.judge(run, qrels).coverage.systems[0].n_contradictions == 0


WORKBENCH: dict[str, Any] = {
    "name": "x",
    "judgmentRatings": [
        {"query": "red dress", "ratings": [{"docId": "d1", "rating": "3.000"}]},
        {"query": "jeans", "ratings": [{"docId": "d3", "rating": "0.7"}]},
    ],
}


def test_judgments_of_the_search_relevance_workbench(tmp_path: Path) -> None:
    response = {"hits": {"hits": [{"_id": "j", "_source": WORKBENCH}]}}
    imported = {row["query"]: row["ratings"] for row in WORKBENCH["judgmentRatings"]}
    request = {"type": "IMPORT_JUDGMENT", "judgmentRatings": imported}
    for data in (WORKBENCH, response, WORKBENCH["judgmentRatings"], request):
        path = written(tmp_path, "judgments.json", data)
        refuses("judgments.json: row 2: grade '0.7' .* maps real", cf.read_qrels, path)
        found = cf.read_qrels(path, grades=[0.5, 0.8])
        assert found.to_polars().rows() == [("red dress", "d1", 2), ("jeans", "d3", 1)]
        refuses("expected a run, got a list of judgments", cf.read_run, path)
    two = {"hits": {"hits": [{"_source": WORKBENCH}, {"_source": WORKBENCH}]}}
    refuses("expected one judgment list .*got 2", cf.read_qrels, written(tmp_path, "two.json", two))


def test_references_of_rag_answers_are_a_run(tmp_path: Path) -> None:
    answer = {"references": ["d2", "d1"], "answer": [{"text": "x", "citations": [0]}]}
    old = {"run_id": "ours", "topic_id": "q1", "topic": "what is x", **answer}
    new = {"metadata": {"run_id": "ours", "narrative_id": "q1", "narrative": "what"}, **answer}
    for record in (old, new):
        run = cf.read_run(written(tmp_path, "rag.jsonl", record))
        assert run.name == "ours"
        assert run.to_polars().select("topic", "doc").rows() == [("q1", "d2"), ("q1", "d1")]
