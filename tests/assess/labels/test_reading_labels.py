"""Labels are read from any form; what is wrong ends in one line that names it."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import CranfieldError, CranfieldWarning, InputError, PolicyError, read_qrels
from cranfield.assess import Labels, agreement_of, dawid_skene, majority, read_labels
from cranfield.assess.labels.reading import read_gold

ROWS = [("q1", "d1", "ann", 1, 3), ("q1", "d1", "bob", 0, 1), ("q2", "d1", "ann", 2, 2)]
NAMES = ("topic", "doc", "worker", "grade", "order")


def forms(folder: Path) -> dict[str, Any]:
    frame = pl.DataFrame(ROWS, schema=NAMES, orient="row")
    odd = frame.rename(
        {"topic": "Query-ID", "doc": "doc_id", "worker": "Assessor", "grade": "Label"}
    )
    odd.write_csv(folder / "labels.csv")
    odd.write_csv(folder / "labels.tsv", separator="\t")
    odd.write_parquet(folder / "labels.parquet")
    records = frame.to_dicts()
    (folder / "labels.json").write_text(json.dumps(records))
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, records)))
    lines = [" \t ".join(map(str, row)) for row in ROWS]
    (folder / "labels.txt").write_text("# a comment\n" + "  \n".join(lines) + "\n\n")
    return {
        **{
            suffix: folder / f"labels.{suffix}"
            for suffix in ("csv", "tsv", "parquet", "json", "jsonl", "txt")
        },
        "polars": odd,
        "pandas": odd.to_pandas(),
        "tuples": ROWS,
        "mappings": records,
    }


@pytest.mark.filterwarnings("ignore:.*column 2 is read as documents")
def test_every_form_says_the_same(tmp_path: Path) -> None:
    for form, data in forms(tmp_path).items():
        labels = read_labels(data)
        assert labels.to_polars().rows() == ROWS, form
        assert labels.topics == ("q1", "q2")
        assert labels.workers == ("ann", "bob")
        assert labels.grades.tolist() == [0, 1, 2]
        assert labels.notes == ()


def test_judgments_of_each_worker() -> None:
    judgments = {"ann": read_qrels({"q1": {"d1": 1}}), "bob": {"q1": {"d1": 0, "d2": 1}}}
    labels = read_labels(judgments)
    assert labels.make_ratings().tolist()[0] == [1, 0]
    assert np.isnan(labels.make_ratings()[1, 0])
    assert labels.counts.toarray().tolist() == [[1, 1], [0, 1]]


def test_lines_of_tabs_may_have_blanks_in_ids_and_no_empty_fields(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("q 1\td1\tann\t2\nq 1\td2\tann\t0\n")
    rows = [("q 1", "d1", "ann", 2), ("q 1", "d2", "ann", 0)]
    assert read_labels(path).to_polars().rows() == rows
    path.write_text("q1\t\td1\tann\t2\nq1\td2\tann\t0\n")
    with pytest.raises(InputError, match=r"labels\.txt:1: expected 5 columns"):
        read_labels(path)


def test_columns_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "votes"
    path.write_text("worker_1  \t d1 7 1\n")
    labels = read_labels(path, columns="rater item - label")
    assert labels.to_polars().rows() == [("all", "d1", "worker_1", 1)]
    assert labels.notes == ("no topics: all items belong to one topic, 'all'",)
    path.write_text("w d 1\n")
    with pytest.raises(InputError, match="expected lines of 4 or 5 fields, got 3"):
        read_labels(path)
    for columns, reason in {
        "worker doc": "must include grade",
        "worker rater doc grade": "got worker twice",
        "worker doc shoe grade": "unknown column 'shoe'",
    }.items():
        with pytest.raises(PolicyError, match=reason):
            read_labels(path, columns=columns)


def test_repeats() -> None:
    rows = [(*ROWS[0][:3], 2, 1), *ROWS]
    with pytest.raises(InputError, match=r"a second label of worker 'ann'.*'q1'.*'d1'"):
        read_labels(rows)
    last = read_labels(rows, repeats="last")
    assert last.to_polars().rows() == ROWS
    assert "1 label replaced by a later label" in last.notes[0]
    # The order decides, not the row; without an order the row does.
    assert read_labels(rows[::-1], repeats="last").grade.tolist() == [2, 0, 1]
    bare = [row[:4] for row in rows[::-1]]
    assert read_labels(bare, repeats="last").grade.tolist() == [2, 0, 2]
    kept = read_labels(rows, repeats="keep")
    assert (len(kept), kept.n_repeats, kept.notes) == (4, 1, ("1 repeated label kept",))
    with pytest.raises(PolicyError, match="one label per worker and pair"):
        kept.make_ratings()


def test_missing_grades(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("topic,doc,worker,grade\nq,a,w,1\nq,b,w,\nq,c,w,NaN\nq,d,w,NA\n")
    with pytest.raises(InputError, match=r"some.csv:3: has no grade \(3 of 4 rows\); .*'q'.*'b'"):
        read_labels(path)
    labels = read_labels(path, missing="drop")
    notes = ("3 labels without a grade excluded", "3 documents without a label left")
    assert (len(labels), labels.notes) == (1, notes)
    # A document with a label by another worker is not counted.
    judgments = {"a": [("q", "x", None), ("q", "y", 1), ("q", "z", None)], "b": [("q", "x", 0)]}
    frames = {w: pd.DataFrame(j, columns=["topic", "doc", "grade"]) for w, j in judgments.items()}
    assert read_labels(frames, missing="drop").notes[-1] == "1 document without a label left"
    frame = pd.DataFrame({"doc": ["a", "b"], "worker": ["w", "w"], "grade": [1.0, float("nan")]})
    assert read_labels(frame, missing="drop").grade.tolist() == [1]
    with pytest.raises(InputError, match="got 1 label without a grade; check the column of gra"):
        read_labels(frame[1:], missing="drop")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q,b,w,0.5", r"x.csv:3: grade '0.5' is not an integer"),
        ("q,b,w,relevant", r"x.csv:3: grade 'relevant' is not an integer"),
        ("q,b,w,inf", r"x.csv:3: grade 'inf' is not an integer"),
        ("q,b,w,9", r"x.csv:3: grade 9 is outside the scale \(0, 1\)"),
        ("q,b,,1", r"x.csv:3: has no worker"),
        ("q,b,  ,1", r"x.csv:3: has no worker"),
        (",b,w,1", r"x.csv:3: has no topic"),
        ("q,b,w", r"x.csv:3: expected 4 cells as in the header, got 3"),
    ],
)
def test_one_line_for_what_is_wrong(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"topic,doc,worker,grade\nq,a,w,1\n{line}\n")
    with pytest.raises(InputError, match=reason) as caught:
        read_labels(path, grades=(0, 1))
    assert "\n" not in str(caught.value)


def test_lines_of_text_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    for line, reason in {
        "q b w 0.5": "grade '0.5' is not an integer",
        "q b w": "expected 4 columns",
        "q b w 1 2": "expected 4 columns",
        "q a w 0": "a second label of worker 'w'",
    }.items():
        path.write_text(f"q a w 1\n\n{line}\n")
        with pytest.raises(InputError, match=f"x.txt:3: {reason}"):
            read_labels(path)


def test_blanks_around_ids_are_counted() -> None:
    with pytest.warns(CranfieldWarning, match="blanks around 1 id in the column .* were removed"):
        labels = read_labels([("q ", "d", "w", 1), ("q", " e", "w", 0)])
    assert labels.topics == ("q",)
    assert labels.docs.to_list() == ["d", "e"]


def test_restricted_keeps_topics_workers_and_scale() -> None:
    labels = read_labels(ROWS)
    some = labels.restrict(labels.grade == 2)
    assert some.to_polars().rows() == ROWS[2:]
    assert (some.workers, some.topics) == (labels.workers, labels.topics)
    assert some.grades.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="mask must select a label"):
        labels.restrict(labels.grade > 2)
    with pytest.raises(PolicyError):
        labels.restrict(np.array([True]))


def test_arrays_are_read_only() -> None:
    labels = read_labels(ROWS)
    for name in ("pair", "worker", "level", "order", "topic_of", "grades"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(labels, name)[0] = 0


CELLS = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from([0.5, float("nan"), float("inf"), 2**40, True, "", " ", "1", "x", "\ud800"]),
    st.binary(max_size=2),
)


@pytest.mark.filterwarnings("ignore::cranfield.CranfieldWarning")
@given(st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=6), st.data())
def test_hostile_rows_have_one_line_or_labels(
    rows: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    repeats = data.draw(st.sampled_from(["error", "last", "keep"]))
    missing = data.draw(st.sampled_from(["error", "drop"]))
    try:
        labels = read_labels(rows, repeats=repeats, missing=missing)
    except CranfieldError as error:
        assert "\n" not in str(error)
        return
    assert isinstance(labels, Labels)
    assert len(majority(labels).qrels) == len(labels.docs)
    assert np.isfinite(dawid_skene(labels, iterations=20).posterior).all()


@given(st.binary(max_size=80), st.sampled_from([None, "worker doc grade", "doc worker grade -"]))
def test_hostile_files_have_one_line_or_labels(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, columns: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.txt"
    path.write_bytes(content)
    try:
        assert len(read_labels(path, columns=columns)) > 0
    except CranfieldError as error:
        assert "\n" not in str(error)


def test_empty_cells_of_worker_columns_are_counted() -> None:
    frame = pl.DataFrame({"topic": [1, 1, 2], "doc": ["a", "b", "a"], "ann": [1, None, 0]})
    rows = frame.with_columns(bob=pl.Series([1, 0, 0]))
    labels = read_labels(rows, worker_columns=["ann", "bob"])
    assert len(labels) == 5
    assert "1 empty cell of the worker columns" in labels.notes[0]
    assert read_labels(rows[[0, 2]], worker_columns=["ann", "bob"]).notes == ()


def test_other_grades_beside_worker_columns_are_not_used() -> None:
    rows = [("1", "a", 0, 1, 0), ("1", "b", 1, 0, 1), ("2", "a", 0, 2, 0), ("2", "b", 2, 1, 2)]
    wide = pl.DataFrame(rows, schema=["topic", "doc", "ann", "bob", "gold"], orient="row")
    with pytest.warns(CranfieldWarning, match="columns not used: 'gold'"):
        labels = read_labels(wide, worker_columns=["ann", "bob"])
    grades = [(row[2], row[3]) for row in labels.to_polars().rows()]
    assert grades == [(name, row[k]) for row in rows for k, name in ((2, "ann"), (3, "bob"))]
    for name in ("grade", "worker"):
        with pytest.raises(PolicyError, match=f"remove from columns: {name}"):
            read_labels(wide, worker_columns=["ann", "bob"], columns={name: "gold"})
    named = wide.rename({"topic": "t"}).drop("gold")
    assert len(read_labels(named, worker_columns=["ann", "bob"], columns={"topic": "t"})) == 8


def test_assessors_in_the_column_of_iterations(tmp_path: Path) -> None:
    rows = [("1", "d1", 1), ("1", "d2", 0), ("2", "d3", 1), ("2", "d4", 0)]
    lines = [f"{topic} {worker} {doc} {k}" for topic, doc, k in rows for worker in ("ann", "bob")]
    (tmp_path / "labels.txt").write_text("\n".join(lines))
    with pytest.raises(InputError, match="use columns='topic worker doc grade', or columns='topic"):
        read_labels(tmp_path / "labels.txt")
    labels = read_labels(tmp_path / "labels.txt", columns="topic worker doc grade")
    assert labels.workers == ("ann", "bob")
    assert labels.docs.to_list() == ["d1", "d2", "d3", "d4"]
    assert len(read_labels(tmp_path / "labels.txt", columns="topic doc worker grade").workers) == 4


@pytest.mark.parametrize(
    ("rows", "is_ambiguous"),
    [
        # One topic; documents of one topic each; documents and workers of all topics.
        ([("1", doc, worker) for doc in "ab" for worker in "vwxyz"], True),
        ([("1", doc, worker) for doc in "abc" for worker in "xy"], False),
        (
            [("1", "a", "x"), ("1", "a", "y"), ("1", "a", "z"), ("2", "b", "x"), ("2", "b", "v")],
            False,
        ),
        ([(topic, doc, worker) for topic in "12" for doc in "ab" for worker in "xyz"], True),
    ],
)
def test_usual_order_of_fields(
    tmp_path: Path, rows: list[tuple[str, str, str]], is_ambiguous: bool
) -> None:
    lines = [f"{' '.join(row)} {k % 2}" for k, row in enumerate(rows)]
    (tmp_path / "labels.txt").write_text("\n".join(lines))
    warned = "column 2 is read as documents .* use columns='topic worker doc grade' to"
    with pytest.warns(CranfieldWarning, match=warned) if is_ambiguous else nullcontext():
        labels = read_labels(tmp_path / "labels.txt")
    assert [row[:3] for row in labels.to_polars().rows()] == rows
    assert read_labels(tmp_path / "labels.txt", columns="topic doc worker grade").docs.equals(
        labels.docs
    )


def test_rows_of_totals_are_reported(recwarn: pytest.WarningsRecorder) -> None:
    rows = [("1", "a", "x", 1), ("2", "a", "x", 0)]
    wide = pl.DataFrame({"topic": ["1", "2", "all"], "doc": ["a", "a", "mean"], "x": [1, 0, 1]})
    with pytest.warns(CranfieldWarning, match="rows of topic 'all' are read as labels"):
        assert len(read_labels(wide, worker_columns=["x"])) == 3
    with pytest.warns(CranfieldWarning, match="rows of topic 'Total' are read as labels"):
        read_labels([*rows, ("Total", "-", "x", 1)])
    for name in ("mean", "Summe", "Moyenne"):
        items = [{"item": doc, "rater": "x", "label": 1} for doc in ("a", name)]
        with pytest.warns(CranfieldWarning, match=f"rows of doc '{name}' are read as labels"):
            read_labels(items)
        ratings = pl.DataFrame({"doc": ["a", "b", name], "x": [1, 0, 1], "y": [0, 0, 1]})
        with pytest.warns(CranfieldWarning, match=f"rows of doc '{name}' are read as labels"):
            agreement_of(ratings, ["alpha"], interval="none")
    recwarn.clear()
    read_labels(rows)
    read_labels([("all", "mean", "x", 1), ("all", "total", "x", 0)])
    assert not recwarn.list


def test_documents_of_a_sample_by_strata_that_were_not_drawn_have_no_label() -> None:
    """Ten documents of which four were drawn; both assessors agree on these."""
    rows = [
        {"topic": "q", "doc": f"d{k}", "grade": k % 2 if k < 4 else -1, "stratum": "1"}
        for k in range(10)
    ]
    bob = {"q": {f"d{k}": k % 2 for k in range(10)}}
    qrels = read_qrels(rows)
    long = [{**row, "worker": "ann"} for row in rows]
    long += [{"topic": "q", "doc": d, "grade": g, "worker": "bob"} for d, g in bob["q"].items()]
    for data in ({"ann": rows, "bob": bob}, {"ann": qrels, "bob": bob}, long):
        labels = read_labels(data)
        assert labels.grades.tolist() == [0, 1]
        kappa = agreement_of(labels, "kappa").to_polars()
        assert kappa.select("value", "units").row(0) == (1.0, 4)
    # Without a stratum, -1 is a grade.
    plain = [{name: row[name] for name in ("topic", "doc", "grade")} for row in rows]
    assert read_labels({"ann": plain, "bob": bob}).grades.tolist() == [-1, 0, 1]


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no pipes with a path on this system")
@pytest.mark.parametrize("lines", [b"d1 1\nd2 0\n", b"all 0 d1 1\nall 0 d2 0\n"])
def test_gold_grades_are_read_from_a_pipe(lines: bytes) -> None:
    labels = read_labels([{"doc": doc, "worker": "ann", "grade": 1} for doc in ("d1", "d2")])
    output, pipe = os.pipe()
    os.write(pipe, lines)
    os.close(pipe)
    gold = read_gold(f"/dev/fd/{output}", labels)
    os.close(output)
    assert gold.to_polars()["grade"].to_list() == [1, 0]


@pytest.mark.parametrize(
    ("times", "is_refused"),
    [
        (["2024-01-02T10:00", "2024-01-01T09:00", "2024-01-01T09:00"], True),
        (["2024-01-01T09:00", "2024-01-02T10:00", "2024-01-01T09:00"], False),
        (["1/9/2024 9:00", "1/10/2024 9:00", "1/9/2024 9:00"], True),
        ([1700000100, 1700000000, 1700000000], True),
        ([99, 100, 1], False),
    ],
)
def test_the_last_label_by_time(times: list[Any], is_refused: bool) -> None:
    rows = {"doc": ["a", "a", "b"], "worker": ["ann"] * 3, "grade": [2, 0, 1]}
    frame = pl.DataFrame({**rows, "timestamp": times})
    with pytest.warns(CranfieldWarning, match="columns not used: 'timestamp'"):
        read_labels(frame[1:], repeats="last")
        if is_refused:
            with pytest.raises(InputError, match="not be in the order of column 'timestamp'"):
                read_labels(frame, repeats="last")
        else:
            labels = read_labels(frame, repeats="last")
            assert labels.to_polars()["grade"].to_list() == [0, 1]


@pytest.mark.parametrize("name", ["version", "round", "lastUpdated"])
def test_the_last_label_by_version(name: str) -> None:
    frame = pl.DataFrame({"doc": "a", "worker": "ann", "grade": [2, 0], name: [2, 1]})
    with (
        pytest.warns(CranfieldWarning, match=f"columns not used: '{name}'"),
        pytest.raises(InputError, match=f"not be in the order of column '{name}'"),
    ):
        read_labels(frame, repeats="last")


def test_topics_with_leading_zeros() -> None:
    rows = {"topic": ["1", "001"], "doc": "d", "worker": ["ann", "bob"], "grade": [1, 0]}
    with pytest.warns(
        CranfieldWarning, match="topic '1' and topic '001' are read as different ids"
    ):
        assert len(read_labels(pl.DataFrame(rows)).topics) == 2


@pytest.mark.parametrize("name", ["participant_id", "PROLIFIC_PID"])
def test_workers_of_studies(name: str) -> None:
    assert read_labels([{"doc": "a", name: "w", "rating": 1}]).workers == ("w",)


def test_workers_that_differ_in_case_only() -> None:
    rows = [("q", "d", "Ann", 1), ("q", "e", "ann", 0), ("q", "d", "bob", 1)]
    with pytest.warns(CranfieldWarning, match="'Ann', 'ann' are read as different workers"):
        assert len(read_labels(rows).workers) == 3


def test_texts_of_queries_are_topics() -> None:
    """Without them, labels of one document for two queries would be labels of one pair."""
    frame = pl.DataFrame({"search_term": ["x", "y"], "doc_id": "d", "worker": "w", "label": [1, 0]})
    assert read_labels(frame).topics == ("x", "y")
    numbered = frame.with_columns(query_id=pl.Series(["1", "2"]))
    assert read_labels(numbered).topics == ("1", "2")


def test_gold_grades_of_items_in_tables(tmp_path: Path) -> None:
    """As crowd-kit has them: a table or series of tasks and labels, without topics."""
    labels = read_labels(pl.DataFrame({"task": ["a", "b"], "worker": "w", "label": [1, 0]}))
    gold = pd.DataFrame({"task": ["b", "a"], "label": [0, 1]})
    gold.to_csv(tmp_path / "gold.csv", index=False)
    gold.to_json(tmp_path / "gold.json", orient="records")
    (tmp_path / "map.json").write_text('{"a": 1, "b": 0}')
    by_item = gold.set_index("task")
    sources = [gold, by_item, by_item["label"], {"a": 1, "b": 0}]
    for source in [*sources, *(tmp_path / name for name in ("gold.csv", "gold.json", "map.json"))]:
        grades = read_gold(source, labels).to_polars().select("doc", "grade")
        assert dict(grades.rows()) == {"a": 1, "b": 0}
    named = gold.rename(columns={"label": "truth"})
    assert len(read_gold(named, labels, columns={"grade": "truth"})) == 2
    topics = gold.assign(topic="all")
    assert read_gold(topics, labels).topics == ("all",)
    (tmp_path / "trec.tsv").write_text("all\t0\ta\t1\n")
    assert len(read_gold(tmp_path / "trec.tsv", labels)) == 1
    (tmp_path / "nested.json").write_text('{"all": {"a": 1}}')
    assert len(read_gold(tmp_path / "nested.json", labels)) == 1


def test_words_in_lines(tmp_path: Path) -> None:
    """The input of get-another-label: worker, item and label between tabs."""
    path = tmp_path / "labels.txt"
    path.write_text("w1\ti1\tNot relevant\nw2\ti1\tRelevant\n")
    words = {"Relevant": 1, "Not relevant": 0}
    labels = read_labels(path, columns="worker doc grade", grades=words)
    assert labels.to_polars().select("worker", "grade").rows() == [("w1", 0), ("w2", 1)]
    with pytest.raises(InputError, match="labels.txt:1: unknown grade 'Not relevant'; expected"):
        read_labels(path, columns="worker doc grade", grades={"Relevant": 1})
