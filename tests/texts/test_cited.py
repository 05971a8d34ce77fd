"""Citation precision and recall of the TREC RAG track and of ALCE."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cranfield import evaluate_answers
from cranfield.base.errors import CranfieldWarning, InputError, MeasureError
from cranfield.texts import judge_answers, read_citations
from tests.collection.refusals import refuses, warns

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty)"
)


def values(judged: Any, *measures: str) -> list[list[list[float]]]:
    found = evaluate_answers(judged, list(measures))
    return [scores.values.tolist() for scores in found.values()]


def test_weighted_by_hand() -> None:
    # First citations: 1, 1/2, 0 of three; four sentences.
    answer = [["full", "none"], ["partial_support"], [], ["No Support", "full"]]
    judged = read_citations({"a": {"q": answer}})
    assert values(judged, "CitationPrecision", "CitationRecall") == [[[0.5]], [[0.375]]]
    # All citations: 1, 0, 1/2, 0, 1 of five; the best of each sentence: 1, 1/2, 0, 1.
    wanted = ["CitationPrecision(counted='all')", "CitationRecall(counted='all')"]
    assert values(judged, *wanted) == [[[0.5]], [[0.625]]]
    (f,) = values(judged, "CitationF(beta=2)")
    assert f == [[pytest.approx(5 * 0.5 * 0.375 / (4 * 0.5 + 0.375))]]


def test_no_citations_and_no_answer_score_zero() -> None:
    judged = read_citations({"a": {"q": [[], []], "r": [[1]]}, "b": {"q": [[1]]}})
    wanted = [
        *("CitationPrecision", "CitationRecall", "CitationF"),
        *("ALCEPrecision", "ALCERecall"),
    ]
    for found in values(judged, *wanted):
        assert found == [[0, 1], [1, 0]]


def test_files_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("qid,sentence,docid,support\nq,1,d1,full\nq,1,d2,none\nq,2,,\nq,3,d1,0.5\n")
    judged = read_citations(path)
    assert judged.systems == ("mine",)
    assert values(judged, "CitationPrecision", "CitationRecall") == [[[0.75]], [[0.5]]]
    assert repr(judged) == "JudgedCitations(1 topic, 1 system, 3 sentences, 3 citations)"


def alce(sentences: list[list[set[int]]]) -> tuple[list[dict[str, Any]], float, float]:
    """Rows, recall and precision; a sentence is supported by a set of documents or by more.

    Each sentence is the list of its smallest supporting sets; it cites documents 1 to 3.
    """
    rows, recall, precision, cited = [], 0, 0, 0
    for k, supporting in enumerate(sentences):
        docs = {1, 2, 3}

        def holds(given: set[int], sets: list[set[int]] = supporting) -> bool:
            return any(one <= given for one in sets)

        for doc in sorted(docs):
            rows.append(
                {
                    **{"topic": "q", "system": "a", "sentence": k, "citation": doc},
                    **{"support": float(holds({doc})), "joint": holds(docs)},
                    "without": holds(docs - {doc}),
                }
            )
            irrelevant = not holds({doc}) and holds(docs - {doc})
            precision += holds(docs) and not irrelevant
            cited += 1
        recall += holds(docs)
    return rows, recall / len(sentences), precision / cited


def test_alce_written_out() -> None:
    sets: list[list[set[int]]] = [[], [{1}], [{1, 2}], [{1, 2, 3}], [{1}, {2, 3}], [{1, 2}, {1, 3}]]
    for sentences in product(sets, repeat=2):
        rows, recall, precision = alce(list(sentences))
        found = values(read_citations(rows), "ALCERecall", "ALCEPrecision")
        assert found == [[[pytest.approx(recall)]], [[pytest.approx(precision)]]]


def test_alce_needs_more_for_several_citations() -> None:
    judged = read_citations({"a": {"q": [[1], [1, 0]]}})
    with pytest.raises(MeasureError, match=r"column `joint`.* jointly; .* a sentence of topic 'q'"):
        evaluate_answers(judged, "ALCERecall")
    rows = [
        {"topic": "q", "sentence": 1, "citation": "d", "support": "full", "joint": "yes"},
        {"topic": "q", "sentence": 1, "citation": "e", "support": "none", "joint": "yes"},
    ]
    judged = read_citations(rows)
    assert values(judged, "ALCERecall") == [[[1.0]]]
    refuses("column `without`", evaluate_answers, judged, "ALCEPrecision", error=MeasureError)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("q,1,d,full\nq,1,d,none", "c.csv:3: sentence '1' cites 'd' twice (topic 'q')"),
        ("q,1,d,", "c.csv:2: citation 'd' has no support label (topic 'q')"),
        ("q,1,,full", "c.csv:2: has support but no citation (topic 'q')"),
        ("q,1,,\nq,1,d,full", "c.csv:3: sentence '1' has a row without a citation, but also"),
        ("q,1,d,-1", "c.csv:2: support '-1' is not full, partial, none or"),
        ("q,1,d,full\nq,1,e,False", "c.csv:3: support 'False' is not full, partial, none or"),
        (",1,d,full", "c.csv:2: has no topic"),
        ("q,1,d1,full\nq,,,", "c.csv:3: has no sentence, like an empty answer, but the"),
        ("q,1,d1,full\nr,,d1,full", "c.csv:3: has no sentence"),
        ("q,1,d", "c.csv:2: expected 4 cells as in the header, got 3"),
    ],
)
def test_wrong_rows_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text("topic,sentence,citation,support\n" + lines + "\n")
    with pytest.raises(InputError) as error:
        read_citations("c.csv")
    assert message in str(error.value)


def test_support_that_is_true_or_false_is_read_with_a_warning() -> None:
    rows = [{"topic": "q", "sentence": k, "citation": "d", "support": k < 3} for k in (1, 2, 3)]
    judged = warns("degrees of support are Boolean", read_citations, rows)
    assert judged.support.tolist() == [1, 1, 0]


def test_citations_need_a_name() -> None:
    row = {"topic": "q", "sentence": 1, "support": "full"}
    refuses("row 1: has support but no citation", read_citations, [row])
    refuses("row 1: citation .* is not the id of one", read_citations, [row | {"citation": ["d"]}])


def test_names_of_columns_and_line_ends_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("topic,sentence,citation,support,note,note\nq,1,d,full,x,x\n")
    refuses(r"c\.csv: has 2 columns 'note'", read_citations, path)
    for end in ("\n", "\r\n", "\r"):
        lines = ["topic,sentence,citation,support", '"q\n1",1,d,full', "q2,1,d,full"]
        path.write_bytes(end.join(lines).replace("\n", end if end == "\r" else "\n").encode())
        assert read_citations(path).topics == ("q\n1", "q2")


def test_wrong_mappings() -> None:
    for wrong in ({"a": 1}, {"a": {"q": "text"}}, {"a": {"q": [1]}}, {}, 3):
        refuses("", read_citations, wrong)


def test_runs_of_trec_rag_and_their_support(tmp_path: Path) -> None:
    """First citations: full and none of three sentences, so 1/2 and 1/3; then partial of one."""
    sentences = [
        {"text": "A.", "citations": [0, 1]},
        {"text": "B.", "citations": []},
        {"text": "C.", "citations": ["d2"]},
    ]
    ours = {"run_id": "ours", "topic_id": "q", "topic": "?", "references": ["d1", "d2"]}
    record = {**ours, "answer": sentences}
    other = {"metadata": {"run_id": "theirs", "narrative_id": "q"}, "references": ["d1"]}
    (tmp_path / "ours.jsonl").write_text(json.dumps(record) + "\n")
    theirs = {**other, "answer": [{"text": "A.", "citations": [0]}]}
    (tmp_path / "theirs.json").write_text(json.dumps([theirs]))
    support = tmp_path / "support.csv"
    head = "topic,system,sentence,citation,support\n"
    support.write_text(f"{head}q,ours,1,d1,full\nq,ours,3,d2,none\nq,theirs,1,d1,partial\n")
    files = [tmp_path / "ours.jsonl", tmp_path / "theirs.json"]
    with pytest.warns(CranfieldWarning, match="1 citation excluded: no support label"):
        judged = read_citations(files, support=support)
    assert judged.systems == ("ours", "theirs")
    found = values(judged, "CitationPrecision", "CitationRecall")
    assert found == [[[0.5, 0.5]], [[pytest.approx(1 / 3), 0.5]]]
    refuses("expected the support of citations", read_citations, files[0])
    support.write_text(f"{head}q,ours,1,d1,full\n")
    refuses("jsonl:1: citation .d2. of sentence 3 has", read_citations, files[0], support=support)
    record["answer"] = [{"text": "A.", "citations": [2]}]
    files[0].write_text(json.dumps(record))
    refuses("citation '2' of sentence 1 is not among", read_citations, files[0], support=support)


def test_citation_is_one_document() -> None:
    row = {"topic": "q", "system": "a", "sentence": 1, "citation": "d1", "support": "full"}
    empty = {**row, "sentence": 2, "citation": "[]", "support": ""}
    assert values(read_citations([row, empty]), "CitationPrecision") == [[[1.0]]]
    refuses("row 2: has support but no citati", read_citations, [row, {**empty, "support": "none"}])
    for several in ("[d1, d2]", "d1;d2", "d1; d2"):
        refuses("not the id of one document", read_citations, [{**row, "citation": several}])
    ids = ["doi:10.1/(a)[1]", "http://a.org/b;c=1", "Paris; the city", "[1] Smith", "a,b"]
    rows = [{**row, "citation": doc} for doc in ids]
    assert values(read_citations(rows), "CitationPrecision(counted='all')") == [[[1.0]]]


def test_empty_answers_score_zero(tmp_path: Path) -> None:
    answers = [
        {"topic_id": "q", "run_id": "a", "references": [], "answer": []},
        {
            "topic_id": "r",
            "run_id": "a",
            "references": ["d1"],
            "answer": [{"text": "x", "citations": [0]}],
        },
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, answers)), "utf-8")
    support = [{"topic": "r", "sentence": 1, "citation": "d1", "support": "full"}]
    table = tmp_path / "a.csv"
    table.write_text("topic,system,sentence,citation,support\nq,a,,,\nr,a,1,d1,full\n", "utf-8")
    mapping = {"a": {"q": [], "r": [["full"]]}}
    for data, labels in ((path, support), (table, None), (mapping, None)):
        with pytest.warns(CranfieldWarning, match="1 answer without sentences counted as 0"):
            judged = read_citations(data, support=labels)
        assert judged.topics == ("q", "r")
        assert values(judged, "CitationRecall") == [[[0], [1]]]


def test_labels_of_support_without_a_citation_are_counted() -> None:
    sentences = [{"topic": "q", "sentence": 1, "citation": "d1", "system": s} for s in "ab"]
    labels = [
        {"topic": "q", "sentence": 1, "citation": "d1", "support": 1},
        {"topic": "q", "sentence": 1, "citation": "d1", "support": 0, "system": "b"},
        {"topic": "q", "sentence": 9, "citation": "d1", "support": 0, "system": "b"},
        {"topic": "q", "sentence": 1, "citation": "d1", "support": 0, "system": "c"},
    ]
    expected = "2 of 4 labels of support match no citation .topic 'q', sentence '9'"
    judged = warns(expected, read_citations, sentences, support=labels)
    assert judged.support.tolist() == [1, 0]


@pytest.mark.parametrize("column", ["replicate", "assessor", "judge"])
def test_columns_that_distinguish_answers_are_refused(column: str) -> None:
    rows = [
        {"topic": "q", "system": "a", "sentence": 1, "citation": f"d{k}", "support": 1, column: k}
        for k in range(2)
    ]
    refuses(f"'{column}' .*may be the {column} of rows", read_citations, rows)
    matches = [{"topic": "q", "system": "a", "nugget": str(k), column: k} for k in range(2)]
    with pytest.raises(InputError, match=f"'{column}' .*may be the {column} of rows"):
        judge_answers(matches, {"q": {"0": 1, "1": 1}})


@pytest.mark.parametrize(
    "answer",
    [
        {"responses": [{"text": "x", "citations": {"d1": 0.9, "d2": 0.2}}]},
        {"responses": [{"text": "x", "citations": ["d1", "d2"]}]},
        {"references": ["d1", "d2"], "answer": [{"text": "x", "citations": [0, 1]}]},
    ],
)
def test_answers_of_ragtime_and_biogen(answer: dict[str, Any]) -> None:
    answers = [{"metadata": {"run_id": "a", "topic_id": "q"}, **answer}]
    labels = [
        {"topic": "q", "sentence": 1, "citation": f"d{k}", "support": support}
        for k, support in enumerate(("partially supported", "Not supported"), 1)
    ]
    judged = read_citations(answers, support=labels)
    assert (judged.systems, judged.support.tolist()) == (("a",), [0.5, 0])
    with pytest.raises(InputError, match=r"expected numbers of sentences from 1, .* got 0"):
        read_citations(answers, support=[*labels, {**labels[0], "sentence": 0}])


def test_other_json_than_answers(tmp_path: Path) -> None:
    path = tmp_path / "alce.json"
    path.write_text(json.dumps({"args": {}, "data": [{"output": "x [1]."}]}))
    reason = r"expected a table of citations .* got JSON with 'args', 'data'"
    refuses(reason, read_citations, path)
