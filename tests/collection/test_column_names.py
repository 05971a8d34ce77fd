"""Names of columns: one list for all readers, two of one meaning, and columns that are not read."""

from __future__ import annotations

import importlib
import pkgutil
import re
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import collect_warnings
from cranfield.collection.document_tables import read_lengths
from cranfield.sources.columns import Columns
from cranfield.sources.schemas import DECISIVE, USUAL_NAMES, FileColumn, Schema, fold_name
from tests.collection.refusals import refuses, warns


def all_schemas() -> dict[str, Schema]:
    """Find the schemas of all readers, by where they are."""
    found: dict[int, tuple[str, Schema]] = {}
    for module in pkgutil.walk_packages(cf.__path__, "cranfield."):
        if not module.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Schema):
                    found.setdefault(id(value), (f"{module.name}:{name}", value))
    return dict(found.values())


SCHEMAS = all_schemas()


def test_all_schemas_are_on_the_page_of_readers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "hooks_readers.py").read_text()
    shown = [pkgutil.resolve_name(place) for place in re.findall(r'"(cranfield[\w.]+:\w+)"', page)]
    columns = [{*one.columns} for one in shown]
    lacking = [
        place for place, one in SCHEMAS.items() if not any({*one.columns} <= few for few in columns)
    ]
    assert lacking == []


def least(schema: Schema, but: FileColumn) -> list[str]:
    """Return names for the other columns that have to be there, which mean nothing else."""
    return [one.groups[0][0] for one in schema.columns if one.is_required and one is not but]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_two_columns_of_one_meaning(schema: Schema) -> None:
    for column in schema.columns:
        others = least(schema, column)
        taken = {fold_name(name) for name in others}
        free = [[name for name in group if fold_name(name) not in taken] for group in column.groups]
        for rank, group in enumerate(free):
            for name in group:
                # However it is spelt, and wherever it stands.
                for given in (name, name.upper().replace("_", " ")):
                    names = [*others, given]
                    assert schema.find_positions(names, "t")[column.name] == len(others)
            for name, second in pairwise(group):
                if fold_name(second) != fold_name(name):
                    reason = f"2 columns for the .*'{name}' and '{second}'"
                    refuses(reason, schema.find_positions, [name, *others, second], "t")
            later = [name for names in free[rank + 1 :] for name in names]
            for name, lower in [*product(group[:1], later), *product(group, later[:1])]:
                names = [lower, *others, name]
                assert schema.find_positions(names, "t")[column.name] == len(names) - 1


def test_a_name_is_once_in_the_list_of_a_meaning() -> None:
    for meaning, groups in USUAL_NAMES.items():
        names = [fold_name(name) for group in groups for name in group.split()]
        assert len(names) == len(set(names)), meaning


TEXTS = {
    "document": ["a text", "another text", "a third"],
    "document_id": ["d1", "d2", "d3"],
    "query": ["what", "what", "who"],
    "query_id": ["q1", "q1", "q2"],
    "score": [3.0, 2.0, 1.0],
}


def test_ids_win_over_texts() -> None:
    run = cf.read_run(pl.DataFrame(TEXTS)).to_polars()
    assert run.select("topic", "doc").rows() == [("q1", "d1"), ("q1", "d2"), ("q2", "d3")]
    qrels = cf.read_qrels(pl.DataFrame(TEXTS).with_columns(score=pl.lit(1))).to_polars()
    assert qrels["doc"].to_list() == ["d1", "d2", "d3"]
    two = pl.DataFrame({**TEXTS, "pid": ["a", "b", "c"]})
    with pytest.raises(cf.InputError, match="'document_id' and 'pid'") as refused:
        cf.read_run(two)
    assert "columns={'doc': ...}" in str(refused.value)
    assert cf.read_run(two, columns={"doc": "pid"}).to_polars()["doc"].to_list() == ["a", "b", "c"]
    other = two.with_columns(pid=pl.Series(["a", "a", "b"]))
    with pytest.warns(match="columns not used: .*'document_id'"):
        cf.read_run(other.with_columns(query_id=pl.Series(["1", "2", "3"])), columns={"doc": "pid"})


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_with_a_prefix_wins_in_any_order(order: int) -> None:
    table = pl.DataFrame({"qid": ["q"], "docid": ["a"], "human": [2], "llm": [0]})
    columns = dict([("grade", "llm"), ("qrels.grade", "human")][::order])
    assert cf.read_qrels(table, columns=columns).grades.tolist() == [2]


def test_other_identifiers_and_grades_are_listed_as_unused() -> None:
    docs = pl.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "doc_id": ["x", "y"]})
    run = docs.with_columns(score=pl.Series([2.0, 1.0]))
    with pytest.warns(match="columns not used: 'doc_id'"):
        assert cf.read_run(run).to_polars()["doc"].to_list() == ["a", "b"]
    # Of PyTerrier: a number in its index beside the identifier.
    cf.read_run(run.rename({"doc_id": "docid"}).with_columns(docid=pl.Series([7, 8])))
    grades = docs.drop("doc_id").with_columns(score=pl.Series([0, 1]), rel=pl.Series([1, 0]))
    with pytest.warns(match="columns not used: 'score'"):
        assert cf.read_qrels(grades).to_polars()["grade"].to_list() == [1, 0]


@pytest.mark.parametrize("name", ["pid", "item_id", "product_id", "corpus_id"])
def test_other_identifiers_do_not_replace_a_column_of_the_exact_name(name: str) -> None:
    table = {"topic": ["q", "q"], "doc": ["a", "b"], "grade": [2, 0], name: [501, 502]}
    refuses(f"two columns that may be the doc: '{name}' and 'doc'", cf.read_qrels, table)
    assert len(cf.read_qrels({**table, "doc": ["a text", "b text"]})) == 2
    labels = pl.DataFrame({**table, "worker": ["v", "w"]})
    advice = r"that may be the doc: .*; columns=\{'doc': ...\} selects one"
    with pytest.raises(cf.InputError, match=advice):
        cf.assess.read_labels(labels)
    assert cf.assess.read_labels(labels, columns={"doc": "doc"}).docs.to_list() == ["a", "b"]
    assert cf.assess.read_labels(labels, columns={"doc": name}).docs.to_list() == ["501", "502"]
    with pytest.warns(match="columns not used: 'topic'"):
        cf.assess.read_labels(labels.drop(name).with_columns(qid=pl.Series(["1", "2"])))
    with pytest.raises(cf.InputError, match="that may be the worker: 'rater_id' and 'worker'"):
        cf.assess.read_labels(labels.drop(name).with_columns(rater_id=pl.Series([1, 2])))


def test_grades_of_people_and_models() -> None:
    """A record with both is no record of one of them."""
    rows = [{"qid": "q", "docid": "a", "label": 1, "judgment": 0}]
    for read in (cf.read_qrels, cf.assess.read_judges):
        refuses("'label' and 'judgment'", read, rows)
    with pytest.raises(cf.InputError, match="'label' and 'judgment'"):
        cf.assess.read_labels([{**row, "worker": "w"} for row in rows])


def unused(schema: Schema, columns: dict[str, list[object]]) -> None:
    Columns.from_mapping(columns, "t.csv").check_unused(schema, [0])


TELLING = {name: schema for name, schema in SCHEMAS.items() if not schema.is_selected}
"""Schemas whose columns the user does not name."""


@pytest.mark.parametrize("schema", TELLING.values(), ids=TELLING)
def test_columns_that_are_not_used(schema: Schema) -> None:
    with pytest.warns(cf.CranfieldWarning, match=r"^t.csv: columns not used: 'zebra'$"):
        unused(schema, {"x": [1, 2], "zebra": [1, 2], "text": ["a", "b"], "one": [1, 1]})


def decide(schema: Schema, kind: str, name: str) -> None:
    """Check that rows of several values of a column are refused, and rows of one are not."""
    reason = rf"column '{re.escape(name)}' .* the {kind} of"
    refuses(reason, unused, schema, {"x": [1, 2], name: [3, 4]})
    unused(schema, {"x": [1, 2], name: [1, 1]})


def unknown(schema: Schema, kind: str) -> list[str]:
    known = {fold_name(name) for column in schema.columns for name in column.names}
    return [name for name in DECISIVE[kind].split() if fold_name(name) not in known]


@pytest.mark.parametrize(
    "kind", sorted({*chain(*(one.decisive_kinds for one in SCHEMAS.values()))})
)
def test_names_of_columns_that_change_what_rows_mean(kind: str) -> None:
    schemas = [schema for schema in SCHEMAS.values() if kind in schema.decisive_kinds]
    schema = max(schemas, key=lambda one: len(unknown(one, kind)))
    for name in unknown(schema, kind):
        decide(schema, kind, name)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_columns_that_change_what_rows_mean(schema: Schema) -> None:
    for kind in schema.decisive_kinds:
        for name in unknown(schema, kind)[:1]:
            decide(schema, kind, name)
    if "count" in schema.decisive_kinds:
        refuses("'impressions'", unused, schema, {"x": [1, 2], "impressions": [9, 9]})


def test_labels_that_were_discarded() -> None:
    rows = {"worker": ["w", "v"], "doc": ["a", "a"], "grade": [1, 0]}
    frame = pl.DataFrame({**rows, "status": ["done", "discarded"]})
    refuses("'status' .'done', 'discarded'. may be the status", cf.assess.read_labels, frame)
    assert len(cf.assess.read_labels(frame.drop("status"))) == 2


@pytest.mark.parametrize("name", ["criterion", "metric", "aspect", "dimension"])
def test_grades_of_several_criteria(name: str) -> None:
    frame = pl.DataFrame({"qid": ["q", "q"], "docid": ["a", "b"], "label": [2, 0]})
    mixed = frame.with_columns(pl.Series(name, ["relevance", "fluency"]))
    labels = mixed.with_columns(worker=pl.lit("w"))
    for read, table in (
        (cf.read_qrels, mixed),
        (cf.assess.read_judges, mixed),
        (cf.assess.read_labels, labels),
    ):
        refuses(f"'{name}' .'relevance', 'fluency'. may be the", read, table)
        read(table.with_columns(pl.lit("relevance").alias(name)))


def test_names_and_values_of_scores() -> None:
    """Langfuse exports a row for each named score."""
    table = pl.DataFrame({"qid": ["q", "q"], "docid": ["a", "b"], "value": [2, 0]})
    scores = table.with_columns(name=pl.Series(["relevance", "toxicity"]))
    with pytest.raises(cf.InputError, match="'name' .* may be the criterion"):
        cf.assess.read_judges(scores, columns={"grade": "value"})
    titles = scores.rename({"value": "grade"})
    assert len(cf.assess.read_judges(titles)[0].labels) == 2


def test_rows_that_failed_and_lengths_of_several_units() -> None:
    rows = {"topic": ["1", "2"], "docno": ["a", "b"], "score": [2.0, 0.0]}
    for name, values in (("timed_out", [False, True]), ("exception", [None, "boom"])):
        table = pl.DataFrame({**rows, name: values})
        refuses(f"'{name}' .* may be the status of rows", cf.read_run, table)
        refuses(f"'{name}' .* may be the status of rows", cf.read_qrels, table)
    table = pl.DataFrame({**rows, "success": [True, False]})
    refuses("'success' .* may be the outcome of rows", cf.read_run, table)
    refuses("'success' .* may be the outcome of rows", cf.read_qrels, table)
    lengths = pl.DataFrame({"docno": ["a", "b"], "length": [9, 5], "unit": ["words", "tokens"]})
    refuses("may be the unit of measurement of rows", read_lengths, lengths)


def test_labels_that_failed() -> None:
    table = pl.DataFrame({"qid": ["q", "q"], "docid": ["a", "b"], "label": [2, 0]})
    failed = table.with_columns(success=pl.Series([True, False]))
    refuses("'success' .* may be the outcome of rows", cf.assess.read_judges, failed)
    with pytest.raises(cf.InputError, match="'success' .* may be the outcome of rows"):
        cf.assess.read_labels(failed.with_columns(worker=pl.lit("w")))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("answer", ["accept", "reject"]),
        ("answer", ["reject", "reject"]),
        ("decision", ["accept", "ignore"]),
        ("is_attention_check", [0, 1]),
        ("phase", ["main", "practice"]),
        ("status_code", [200, 500]),
    ],
)
def test_labels_that_were_rejected_or_only_check_a_worker(name: str, values: list[Any]) -> None:
    table = pl.DataFrame({"qid": ["q", "q"], "docid": ["a", "b"], "label": [2, 0]})
    rejected = table.with_columns(pl.Series(name, values))
    refuses(f"'{name}' .* may be the (answer|outcome) of rows", cf.assess.read_judges, rejected)
    with pytest.raises(cf.InputError, match=f"'{name}' .* may be the"):
        cf.assess.read_labels(rejected.with_columns(worker=pl.lit("w")))


def test_labels_of_several_workers_in_the_file_of_one() -> None:
    table = pl.DataFrame({"doc": ["a", "b"], "grade": [1, 0], "worker": ["ann", "bob"]})
    refuses("'worker' .'ann', 'bob'. may be the", cf.assess.read_labels, {"batch1": table})
    judge = table.with_columns(topic=pl.lit("q")).rename({"worker": "annotator"})
    refuses("'annotator' .* may be the assessor of rows", cf.assess.read_judges, judge)
    assert len(cf.assess.read_labels({"ann": table.with_columns(worker=pl.lit("ann"))})) == 2


def test_answers_without_a_grade_are_not_grade_0() -> None:
    rows = {"topic": ["1", "1"], "doc": ["a", "b"], "judgment": [0, 0]}
    frame = pl.DataFrame({**rows, "result_status": [1, 0]})
    for read in (cf.read_qrels, lambda table: cf.assess.read_labels({"gpt": table})):
        refuses("'result_status' .'1', '0'. may be the status", read, frame)
        assert len(read(frame.drop("result_status"))) == 2
    (judge,) = cf.assess.read_judges({"gpt": frame})
    assert (len(judge.labels), judge.n_unparsed) == (1, 1)


@pytest.mark.parametrize(
    ("doc", "is_list"),
    [
        *((text, True) for text in ("d1;d3", "d1|d22", "d1, d3", "FT91-3; LA01-1")),
        *(
            (text, False)
            for text in ("d1", "Doc 1", "1 0", "Paris, Texas", "http://x/1;id=2", "a;b", "[1]")
        ),
    ],
)
def test_several_ids_in_one_cell_are_reported(doc: str, is_list: bool) -> None:
    run = pl.DataFrame({"topic": ["q", "q"], "doc": [doc, "b"], "score": [2.0, 1.0]})
    qrels = run.select("topic", "doc", grade=1)
    for read, table in ((cf.read_run, run), (cf.read_qrels, qrels)):
        with collect_warnings() as told:
            read(table)
        assert (
            any(f"'{doc}' may be the ids of several documents" in text for text in told) is is_list
        )


@pytest.mark.parametrize("empty", [None, "", "nan", "-"])
def test_an_empty_column_of_scores_beside_ranks(empty: Any) -> None:
    rows = {"topic": ["q", "q"], "doc": ["a", "b"], "rank": [2, 1], "score": [empty, empty]}
    run = warns("the column of scores is empty; documents are in order", cf.read_run, rows)
    assert run.scores.tolist() == [-2, -1]
    refuses("has no score|is not a finite", cf.read_run, {**rows, "score": [empty, 1.0]})
    refuses("has no score|is not a finite", cf.read_run, rows, columns={"score": "score"})


@pytest.mark.parametrize("text", ["None", "NaN", "nan", "null", "<NA>"])
def test_missing_values_that_are_written_out(text: str) -> None:
    run = pl.DataFrame({"topic": ["q", "q"], "doc": [text, "b"], "score": [2.0, 1.0]})
    with pytest.warns(cf.CranfieldWarning, match=f"doc '{text}' in 1 row is read as text"):
        assert cf.read_run(run).to_polars()["doc"].to_list() == [text, "b"]
    cf.read_run(run.with_columns(doc=pl.Series(["none", "Nan"])))
