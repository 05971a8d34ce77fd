"""Tables as people have them: several systems in one, other names, no head, ranks, lists."""

from __future__ import annotations

import json
import math
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import collect_warnings
from cranfield.collection.document_tables import read_groups
from tests.collection.refusals import refuses, table_file, warns, written

ROWS = [
    {"model": "bm25", "query": "1", "doc": "a", "score": 3.0},
    {"model": "dense", "query": "1", "doc": "b", "score": 0.9},
    {"model": "bm25", "query": "1", "doc": "b", "score": 2.0},
    {"model": "dense", "query": "2", "doc": "a", "score": 0.8},
]
SEEN = {"bm25": [("1", "a", 3.0), ("1", "b", 2.0)], "dense": [("1", "b", 0.9), ("2", "a", 0.8)]}


def seen(data: Any, **options: Any) -> dict[str, list[tuple[Any, ...]]]:
    runs = cf.read_runs(data, **options)
    return {run.name: run.to_polars().select("topic", "doc", "score").rows() for run in runs}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl", "json"])
def test_a_file_of_several_systems(suffix: str, tmp_path: Path) -> None:
    assert seen(table_file(tmp_path / f"all.{suffix}", pl.DataFrame(ROWS))) == SEEN


@pytest.mark.parametrize(
    "data",
    [
        *(ROWS, pl.DataFrame(ROWS), pl.DataFrame(ROWS).lazy(), pd.DataFrame(ROWS)),
        *(pa.Table.from_pylist(ROWS), pd.DataFrame(ROWS).astype({"model": "category"})),
        *(pd.DataFrame(ROWS).to_dict("list"), dict(pl.DataFrame(ROWS).to_dict())),
    ],
)
def test_rows_in_memory_of_several_systems(data: Any) -> None:
    assert seen(data) == SEEN


@pytest.mark.parametrize("name", ["system", "run", "tag", "run_id", "Run Tag", "model_name"])
def test_usual_names_of_systems(name: str) -> None:
    frame = pl.DataFrame(ROWS).rename({"model": name})
    assert seen(frame) == SEEN
    assert seen(frame.filter(pl.col(name) == "dense")) == {"dense": SEEN["dense"]}


def test_another_column_names_the_system() -> None:
    frame = pl.DataFrame(ROWS).rename({"model": "variant"})
    assert seen(frame, system="variant") == SEEN
    assert seen(frame, columns={"system": "variant"}) == SEEN
    with pytest.raises(cf.InputError, match="unknown column 'variants' for the system"):
        list(cf.read_runs(frame, system="variants"))
    with pytest.raises(cf.PolicyError, match="expected one column of systems"):
        list(cf.read_runs(frame, system="variant", columns={"system": "doc"}))


def test_nothing_is_merged_in_silence() -> None:
    frame = pl.DataFrame(ROWS).rename({"model": "variant"})
    told = (
        r"column 'variant' distinguishes them \(2 values: 'bm25', 'dense'\); use system='variant'"
    )
    refuses(told, cf.evaluate, frame, {"1": {"a": 1}}, "AP")
    refuses("expected one system, got 2", cf.read_run, pl.DataFrame(ROWS))
    two = pl.DataFrame(ROWS).with_columns(run=pl.Series(["x", "y", "y", "x"]))
    refuses(r"2 columns that may name the system .*system='run'", lambda: list(cf.read_runs(two)))
    numbers = pl.DataFrame(ROWS).with_columns(tag=pl.Series([0.5, 1.5, 1.5, 2.5]))
    with pytest.raises(cf.InputError, match=r"2 columns that may name the system .*system='tag'"):
        list(cf.read_runs(numbers))
    assert warns("columns not used: 'run'", seen, two, system="model") == SEEN
    same = pl.DataFrame(ROWS).with_columns(run=pl.lit("x"), tag=pl.col("model") + "!")
    assert list(seen(same)) == ["bm25!", "dense!"]


TWO_RANKINGS = "1 a 1 3 {0}\n1 b 2 2 {0}\n1 c 1 3 {1}\n1 d 2 1 {1}"


@pytest.mark.parametrize(
    ("names", "is_refused"),
    [
        *((f"qid docno rank score {name}", True) for name in ("lang", "k", "query", "seed")),
        *((f"qid docno {name} grade", True) for name in ("turn", "snapshot_id")),
        *((f"qid docno {name} score", True) for name in ("Turn", "seed", "user_id", "trial")),
        *((f"qid docno {name} score", False) for name in ("lang", "source", "page")),
        *((f"qid docno {name} grade", False) for name in ("user_id", "stage", "query")),
    ],
)
def test_a_column_divides_the_documents_of_a_topic(names: str, is_refused: bool) -> None:
    columns = names.split()
    rows = [line.split() for line in TWO_RANKINGS.format("u", "v").split("\n")]
    if len(columns) == 4:
        rows = [[topic, doc, value, score] for topic, doc, _, score, value in rows]
    frame = pl.DataFrame(rows, columns, orient="row")
    read = cf.read_qrels if "grade" in columns else cf.read_run
    name = next(name for name in columns if name not in {"qid", "docno", "rank", "score", "grade"})
    # The column is constant in each topic.
    other = frame.with_columns(qid=pl.when(pl.col(name) == "u").then(1).otherwise(2))
    with collect_warnings():
        assert len(read(other)) == 4
        if is_refused:
            problem = f"column '{name}' ..u., .v.. splits topic '1' into several rankings"
            refuses(problem, read, frame)
        else:
            assert len(read(frame)) == 4


@pytest.mark.parametrize(
    "columns",
    [
        {"rank": [1, 1, 3, 4], "lang": ["en", "fr", "en", "en"]},  # ties
        {"rank": [1, 2, 3, 4], "seed": [1, 1, 2, 2]},  # one ranking
        {"rank": [0, 0, 0, 0], "lang": [*"uuvv"]},  # no ranks
        {"rank": [1, 1, 2, 3], "url": [*"wxyz"]},
        {"prompt": ["Is a ...", "Is b ...", "Is c ...", "Is d ..."]},
    ],
)
def test_a_column_describes_the_documents_of_a_topic(columns: dict[str, list[Any]]) -> None:
    frame = pl.DataFrame({"qid": ["1"] * 4, "docno": [*"abcd"], "score": [4, 4, 2, 1], **columns})
    with collect_warnings():
        assert len(cf.read_run(frame)) == 4


@pytest.mark.parametrize(
    ("ranks", "scores", "is_reported"),
    [
        ([1, 2, 1, 2], [3, 2, 4, 1], True),
        ([0, 1, 2, 0, 1, 2], [9, 8, 7, 9.5, 8, 1], True),
        ([1, 1, 1, 1], [3, 2, 4, 1], False),  # placeholders
        ([1, 1, 1, 2], [3, 3, 3, 1], False),  # ties
        ([1, 1, 2, 3], [4, 3, 2, 1], False),
    ],
)
def test_ranks_of_two_rankings_in_one_topic(
    tmp_path: Path, ranks: list[int], scores: list[float], is_reported: bool
) -> None:
    path, qrels = tmp_path / "a.run", tmp_path / "q.txt"
    rows = zip(ranks, scores, strict=True)
    path.write_text("".join(f"1 Q0 d{k} {r} {s} x\n" for k, (r, s) in enumerate(rows)))
    qrels.write_text("1 0 d0 1\n")
    problem = f"rank {ranks[0]} occurs twice in topic '1'"
    with collect_warnings() as warnings:
        cf.evaluate(path, qrels, "RR")
    assert any(problem in text for text in warnings) == is_reported
    assert (problem in str(cf.check(qrels, path))) == is_reported


def test_a_table_for_each_topic_is_refused() -> None:
    frame = pd.DataFrame({"qid": [1, 1, 2], "docno": [*"abc"], "score": [3.0, 2.0, 1.0]})
    groups: dict[Any, pd.DataFrame] = dict(iter(frame.groupby("qid")))
    in_polars = dict(iter(pl.DataFrame(frame).group_by("qid")))
    rows = {topic: group.to_dict("records") for topic, group in groups.items()}
    for data in (groups, in_polars, rows):
        refuses("got a table for each topic; pass one table", cf.read_runs, data)
    assert len(cf.read_runs({"1": groups[1], "x": groups[2]})) == 2
    assert len(cf.read_runs({"1": groups[1]})) == 1


def test_a_row_without_a_system_is_refused() -> None:
    rows = [*ROWS, {"model": None, "query": "1", "doc": "z", "score": 1.0}]
    refuses("has no system, but other rows", lambda: list(cf.read_runs(rows)))
    with pytest.raises(cf.InputError, match="has no system, but other rows"):
        list(cf.read_runs([*rows[:-1], {"query": "1", "doc": "z", "score": 1, "model": math.nan}]))


def test_columns_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",topic,doc,score\n0,1,a,2\n1,1,b,1\n")
    assert cf.read_run(tmp_path / "a.csv").scores.tolist() == [2, 1]
    (tmp_path / "a.csv").write_text("topic,doc,score,\n1,a,2,5\n1,b,1,6\n")
    assert warns("columns not used: ''", cf.read_run, tmp_path / "a.csv").scores.tolist() == [2, 1]


@pytest.mark.parametrize("name", ["", "index", "_index", "id", "Unnamed: 0", "__index_level_0__"])
def test_a_column_of_an_index_that_tells_systems_apart_is_reported(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "both.csv"
    path.write_text(f"{name},topic,doc,score\nbm25,1,a,2\nbm25,1,b,1\ndense,2,a,1\n")
    with pytest.warns(match=f"columns not used: '{name}'"):
        cf.read_run(path)
    for values in ("012", "010", "xyz"):
        rows = [f"{value},1,{doc},1" for value, doc in zip(values, "abc", strict=True)]
        path.write_text("\n".join([f"{name},topic,doc,score", *rows]))
        assert len(cf.read_run(path)) == 3


def test_a_mark_that_is_there_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeff\ufefftopic,doc,score\n1,a,2\n")
    (tmp_path / "a.json").write_text('\ufeff\ufeff[{"topic": 1, "doc": "a", "score": 2}]')
    for name in ("a.csv", "a.json"):
        assert cf.read_run(tmp_path / name).topics == ("1",)


def test_tags_of_a_trec_file_may_be_systems(tmp_path: Path) -> None:
    path = tmp_path / "two.run"
    path.write_text("1 Q0 a 1 2 x\n1 Q0 a 1 3 y\n\n1 Q0 b 2 1 y\n")
    refuses(r"two\.run:2: .* column 'tag' distinguishes them", cf.read_run, path)
    assert seen(path, system="tag") == {"x": [("1", "a", 2.0)], "y": [("1", "a", 3), ("1", "b", 1)]}
    path.write_text("1 Q0 a 1 2 x\n\n1 Q0 b 1 3 y\n1 Q0 b 2 1 y\n")
    with pytest.raises(cf.InputError, match=r"two\.run:4: document twice .* first in line 3"):
        list(cf.read_runs(path, system="tag"))


def test_columns_of_any_name_in_runs_and_judgments() -> None:
    runs = pd.DataFrame({"query": ["1", "1"], "product_id": ["a", "b"], "sim": [1.0, 2.0]})
    qrels = pd.DataFrame({"query": ["1"], "pid": ["b"], "gain": [2], "relevance": [0]})
    columns = {"run.doc": "product_id", "grade": "gain"}
    assert cf.evaluate(runs, qrels, "RR", columns=columns)["RR"].values.tolist() == [[1.0]]
    # One of them has it.
    columns = {"doc": "product_id", "grade": "gain"}
    assert cf.evaluate(runs, qrels, "RR", columns=columns)["RR"].values.tolist() == [[1.0]]
    assert cf.read_qrels(qrels, columns={"grade": "gain"}).max_grade == 2
    assert cf.read_qrels(qrels).max_grade == 0
    refuses(
        "unknown column 'product' for the doc",
        cf.evaluate,
        runs.rename(columns={"product_id": "doc"}),
        qrels,
        "RR",
        columns={"doc": "product"},
    )
    refuses(
        "unknown column 'document-id-of' in columns; expected one of: topic, doc",
        cf.read_run,
        runs,
        columns={"document-id-of": "pid"},
        error=cf.PolicyError,
    )
    with pytest.raises(cf.InputError, match="text without names of columns"):
        cf.read_qrels(Path(__file__), columns={"doc": "x"}, format="trec")


def test_files_of_ms_marco(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.dev.small.tsv", tmp_path / "run.dev.tsv"
    qrels.write_text("300674\t0\t7067032\t1\n125705\t0\t7067056\t1\n")
    lines = ["300674\t7067032\t1", "300674\t7067056\t2", "125705\t7067032\t1", "125705\t7067056\t2"]
    for path in (run, tmp_path / "run.dev"):
        path.write_text("\n".join(lines) + "\n")
        assert cf.evaluate(path, qrels, "RR@10")["RR@10"].values.tolist() == [[0.5], [1.0]]
    scored = tmp_path / "scored.tsv"
    scored.write_text("1\ta\t7.5\n1\tb\t9\n")
    assert seen(scored) == {"scored": [("1", "a", 7.5), ("1", "b", 9.0)]}
    scored.write_text("1\ta\t3\n1\tb\t2\n1\tc\t1\n")
    assert seen(scored)["scored"][0] == ("1", "a", 3.0)
    bare = tmp_path / "bare.tsv"
    assert cf.read_qrels(written(bare, "1\ta\t1\n1\tb\t0\n")).grades.tolist() == [1, 0]


def test_files_of_beir_and_frames_of_others(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nPLAIN-2\tMED-2427\t2\nPLAIN-2\tMED-10\t1\n")
    assert cf.read_qrels(path).to_polars().row(0) == ("PLAIN-2", "MED-2427", 2)
    terrier = pd.DataFrame(
        {
            "qid": ["1", "1"],
            "docid": [17, 4],
            "docno": ["a", "b"],
            "rank": [0, 1],
            "score": [9.5, 9.1],
            "query": ["a question"] * 2,
        }
    )
    assert seen(terrier) == {"run": [("1", "a", 9.5), ("1", "b", 9.1)]}
    ranx = pd.DataFrame({"q_id": ["1"], "doc_id": ["a"], "score": [1]})
    assert len(cf.read_qrels(ranx)) == len(cf.read_run(ranx)) == 1


def test_runs_that_have_ranks_only() -> None:
    frame = pl.DataFrame({"qid": ["1"] * 3, "docid": ["a", "b", "c"], "rank": [2, 3, 1]})
    ev = cf.evaluate(frame, {"1": {"a": 1}}, "RR")
    assert ev["RR"].values.tolist() == [[0.5]]
    assert ev.coverage.systems[0].n_contradictions == 0
    refuses("has no rank", cf.read_run, frame.with_columns(rank=pl.Series([1, None, 2])))


@pytest.mark.parametrize(
    "docs", [["d3", "d1"], ("d3", "d1"), np.array(["d3", "d1"]), [("d3", 2.5), ("d1", 1)]]
)
def test_lists_of_documents(docs: Any) -> None:
    ev = cf.evaluate({"q": docs}, {"q": {"d1"}}, ["RR", "R@1"])
    assert ev.by_system().row(0) == ("run", 0.5, 0.0)
    both = cf.evaluate({"x": {"q": docs}, "y": {"q": ["d1"]}}, {"q": ["d1"]}, "RR")
    assert both["RR"].values.tolist() == [[0.5, 1.0]]


def test_lists_that_are_no_rankings(tmp_path: Path) -> None:
    refuses("a set, which has no order", cf.read_run, {"q": {"d1", "d2"}})
    refuses("document twice in one topic", cf.read_run, {"q": ["d1", "d1"]})
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"x": {"q": {"a": 1.5}}, "y": {"q": ["b", "a"]}}))
    assert seen(path) == {"x": [("q", "a", 1.5)], "y": [("q", "b", -1.0), ("q", "a", -2.0)]}


def test_rows_as_lists() -> None:
    lines = ["q 0 a 1", "q 0 b 1.0"]
    assert cf.read_qrels([line.split() for line in lines]).grades.tolist() == [1, 1]
    assert seen([["q", "a", 2.5], ["q", "b", 1.5]]) == {"run": [("q", "a", 2.5), ("q", "b", 1.5)]}
    assert seen([["q", "Q0", "a", "1", "2.5", "t"]]) == {"t": [("q", "a", 2.5)]}


def test_one_law_of_whole_grades(tmp_path: Path) -> None:
    for name, text in {
        "q.txt": "q 0 a 1.0\nq 0 b 2\n",
        "q.csv": "topic,doc,grade\nq,a,1.0\nq,b,2\n",
        "q.tsv": "q\t0\ta\t1.\nq\t0\tb\t2\n",
        "q.json": '{"q": {"a": 1.0, "b": 2}}',
    }.items():
        assert cf.read_qrels(written(tmp_path / name, text)).grades.tolist() == [1, 2], name
    assert cf.read_qrels({"q": {"a": 1.0, "b": 2}}).grades.tolist() == [1, 2]


def test_true_is_no_number_among_numbers(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text('{"q": {"a": true, "b": false}}')
    for data in (path, {"q": {"a": True, "b": False}}, [("q", "a", True), ("q", "b", np.False_)]):
        assert warns("true is read as 1", cf.read_qrels, data).grades.tolist() == [1, 0]
    for mixed in ({"q": {"a": 2, "b": True}}, {"q": {"a": np.True_, "b": 0}}):
        refuses("grade 'True' is not an integer", cf.read_qrels, mixed)


@pytest.mark.parametrize(
    ("on_duplicate", "kept"), [("first", [2.0, 9.0]), ("last", [9.0, 5.0]), ("best", [9.0, 5.0])]
)
def test_documents_twice_in_a_topic(on_duplicate: str, kept: list[float], tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("1 Q0 a 1 2 x\n1 Q0 b 2 9 x\n1 Q0 b 3 5 x\n1 Q0 a 4 9 x\n")
    want = {"first": [2.0, 9.0], "last": [5.0, 9.0], "best": [9.0, 9.0]}[on_duplicate]
    with pytest.warns(cf.CranfieldWarning, match=f"2 repeated documents .* the {on_duplicate} one"):
        assert cf.read_run(path, on_duplicate=on_duplicate).scores.tolist() == want
    qrels = [("1", "a", 0), ("1", "a", 2)]
    grade = {"first": 0, "last": 2, "best": 2}[on_duplicate]
    with pytest.warns(cf.CranfieldWarning, match="1 repeated document excluded"):
        assert cf.read_qrels(qrels, on_duplicate=on_duplicate).grades.tolist() == [grade]
    with pytest.raises(cf.PolicyError, match="unknown on_duplicate 'merge'; expected one of:"):
        cf.read_run(path, on_duplicate="merge")


@pytest.mark.parametrize("backend", ["serial", "threading"])
def test_runs_that_cannot_be_read_are_skipped_and_told(backend: str, tmp_path: Path) -> None:
    for name, score in {"a": "1", "b": "x", "c": "2"}.items():
        (tmp_path / f"{name}.run").write_text(f"1 Q0 d 1 {score} {name}\n")
    refuses(r"b\.run:1: score 'x'", cf.evaluate, tmp_path, {"1": {"d": 1}}, "AP", backend=backend)
    with pytest.warns(cf.CranfieldWarning) as told:
        ev = cf.evaluate(tmp_path, {"1": {"d": 1}}, "AP", backend=backend, on_bad_run="skip")
    said = [str(one.message) for one in told]
    assert "b.run:1: score 'x' is not a finite number" in said[0]
    assert said[-1] == "1 of 3 runs skipped"
    assert ev.systems == ("a", "c")
    assert "b.run:1" in ev["AP"].settings["skipped runs"][0]
    assert "1 of 3 runs skipped" in ev.coverage.notes[-1]
    (tmp_path / "a.run").unlink()
    (tmp_path / "c.run").unlink()
    with (
        pytest.warns(cf.CranfieldWarning),
        pytest.raises(cf.InputError, match="no run can be read"),
    ):
        cf.evaluate(tmp_path, {"1": {"d": 1}}, "AP", on_bad_run="skip")


def test_what_narwhals_knows_by_name_only_comes_by_arrow() -> None:
    batch = pa.Table.from_pylist(ROWS).to_batches()[0]
    assert seen(batch) == SEEN


def test_names_of_systems_of_any_kind() -> None:
    frame = pd.DataFrame(ROWS)
    for values in ([1.0, 2.0, 1.0, 2.0], pd.to_datetime(["2020", "2021", "2020", "2021"])):
        assert list(seen(frame.assign(model=values)).values()) == list(SEEN.values())
    with pytest.raises(cf.InputError, match="has no system, but other rows"):
        list(cf.read_runs(frame.assign(model=["x", None, "x", "x"])))
    with pytest.raises(cf.InputError, match="expected one system, got 2"):
        cf.evaluate({"mine": frame.assign(doc="a", query="1")}, {"1": {"a": 1}}, "AP")


@given(
    st.lists(
        st.sampled_from(["1", " 2 ", "2.5", "1e3", "-0.1", "1_0", "nan", "", "x", "1e999", "٣"]),
        min_size=1,
    )
)
def test_numbers_of_csv_are_those_of_python(cells: list[str]) -> None:
    """A column is read as a whole as it is cell by cell: as a list of Python."""
    from cranfield.sources.values import GRADE, NUMBER

    for kind in (NUMBER, GRADE):
        whole, bad = kind.convert_column("score", pl.Series(cells, dtype=pl.String))
        alone = [kind.read(cell) for cell in cells]
        assert whole.to_list() == alone
        assert bad == next((k for k, value in enumerate(alone) if value is None), None)


@pytest.mark.parametrize(
    ("read", "name", "text", "said"),
    [
        (cf.read_run, "a.csv", 'qid,docno,score\n1,a,"0,5"\n', ":2: score '0,5' .* decimal point"),
        (cf.read_run, "a.tsv", "qid\tdocno\tscore\n1\ta\t0,5\n", ":2: score '0,5' .* decimal"),
        # The comma may separate thousands.
        (cf.read_run, "a.csv", "qid;docno;score\n1;a;1,234\n1;b;0.5\n", ":2: score '1,234' is"),
        (cf.read_run, "a.csv", "qid;docno;score,x\n1;a;0,5\n1;b;.5\n", "got 1 separated by commas"),
        (cf.read_run, "a.csv", "1,a,1.5\n1,b,1\n", "insert a line such as topic, doc, score"),
        (cf.read_run, "a.tsv", "1\ta\t1\t1.5\n", "insert a line such as .* doc, score, with the"),
        (cf.read_run, "a.csv", "1,Q0,a,1,1.5,t\n", "such as topic, q0, doc, rank, score, tag"),
        (cf.read_qrels, "a.csv", "1,0,a,1\n1,0,b,0\n", "such as topic, subtopic, doc, grade"),
        *((cf.read_run, "a.csv", f"topic,doc,score\n1,{docs},1\n", "2: expected one document, got")
          for docs in ("['a']", '"[""a"", ""b""]"')),
        *((cf.read_run, "a.csv", f"topic,doc,score\n{rows}", "3 cells as in the header, got [45]")
          for rows in ("1,a,1.5,\n1,b,1,9\n", "1,a,1,,9\n1,b,2,\n")),
        (cf.read_qrels, "bare.tsv", "1\ta\t1\n1\tb\tx\n", r"bare\.tsv:2: grade 'x' is not an int"),
        (cf.read_qrels, "qrels.txt", "t1\t1\t\t0\nt1\t2\t\t2\n", r"qrels\.txt:1: "),
        (cf.read_qrels, "qrels.txt", "\t0\td1\t0\n\t0\td2\t2\n", r"qrels\.txt:1: "),
        (cf.read_run, "scored.tsv", "1\ta\t2\n1\tb\t3\n1\tc\t1\n", "may be ranks or scores"),
        *((cf.read_qrels, "q.txt", f"q 0 a {grade}\n", "is not an integer")
          for grade in ("1.5", "1.0.0", "1e0", ".0", "1.0x")),
    ],
)  # fmt: skip
def test_files_in_doubt_are_refused(
    read: Any, name: str, text: str, said: str, tmp_path: Path
) -> None:
    refuses(said, read, written(tmp_path / name, text))


def test_ids_between_semicolons_keep_their_commas(tmp_path: Path) -> None:
    table = written(tmp_path / "a.tsv", '"topic";"doc, or passage";"score"\n1,5;2.5;0,5\n2;b;1\n')
    found = cf.read_run(table, columns={"doc": "doc, or passage"}).to_polars()
    assert found.select("topic", "doc", "score").rows() == [("1,5", "2.5", 0.5), ("2", "b", 1)]
    table = written(tmp_path / "q.csv", "topic;doc;grade\n1;a;0,7\n1;b;0,2\n")
    assert cf.read_qrels(table, grades=[0.5]).to_polars()["grade"].to_list() == [1, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("head", ["topic,doc,score", "topic,doc,score,"])
def test_a_comma_at_the_end_of_each_line(head: str, end: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(f"{head}{end}1,a,1.5,{end}1,b,1,{end}".encode())
    assert cf.read_run(tmp_path / "a.csv").scores.tolist() == [1.5, 1.0]


def test_a_column_that_may_name_systems(tmp_path: Path) -> None:
    rows = [("1", "a", "x", 2.0), ("1", "a", "x", 1.0), ("1", "a", "y", 1.0)]
    frame = pl.DataFrame(rows, ["topic", "doc", "Engine", "score"], orient="row")
    said = r"column 'Engine' may name the system \(2 values: 'x', 'y'\); use system='Engine' if"
    refuses(said, cf.read_run, frame)
    said = "on_duplicate='first' keeps the first one"
    with pytest.warns(match="not used: 'colour'"), pytest.raises(cf.InputError, match=said):
        cf.read_run(frame.rename({"Engine": "colour"}))


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
def test_what_is_in_an_archive(kind: str, tmp_path: Path) -> None:
    names = ["a.run", "b.run", "qrels", "more"]
    for name in names:
        (tmp_path / name).write_text("1 Q0 a 1 1 t\n")
    path = tmp_path / f"runs.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.write(tmp_path / name, name)
    else:
        with tarfile.open(path, "w:gz" if kind == "tar.gz" else "w") as files:
            for name in names:
                files.add(tmp_path / name, name)
    refuses(r"archive of files \('a.run', 'b.run', 'qrels', …\);", cf.read_run, path)
    # A damaged one is still said to be an archive.
    path.write_bytes(path.read_bytes()[:600])
    refuses("", cf.read_run, path)


@pytest.mark.parametrize("name", ["xl/workbook.xml", "content.xml"])
def test_workbooks_of_spreadsheets(name: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "")
    for reader in (cf.read_run, cf.read_scores):
        refuses("is a spreadsheet workbook; save the sheet", reader, path)


@pytest.mark.parametrize("as_file", [True, False])
def test_predictions_of_mteb(as_file: bool, tmp_path: Path) -> None:
    """As mteb 2.26 writes them: model, then subsets of splits of runs."""
    run = {"q1": {"d1": 0.9, "d2": 0.1}, "q2": {"d3": 0.4}}
    kept: dict[str, Any] = {"mteb_model_meta": {"model_name": "org/model", "revision": "1"}}
    qrels = {"q1": {"d2": 1}, "q2": {"d3": 1}}

    def data(parts: dict[str, Any]) -> Any:
        path = tmp_path / "SciFact_predictions.json"
        path.write_text(json.dumps(kept | parts))
        return path if as_file else kept | parts

    evaluated = cf.evaluate(data({"default": {"test": run}}), qrels, "AP")
    assert evaluated.systems == ("org/model",)
    assert evaluated["AP"].values.tolist() == [[0.5], [1.0]]
    several = cf.read_runs(data({"de": {"test": run}, "en": {"dev": run, "test": run}}))
    names = ["org/model de test", "org/model en dev", "org/model en test"]
    assert [one.name for one in several] == names
    refuses("expected one run, got a mapping of", cf.read_run, data({"default": {"test": run}}))


def test_a_mapping_of_columns_is_a_table(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"score": [0.5, 2], "qid": ["1", "2"], "docno": ["a", "b"]}
    rows = [("1", "a", 0.5), ("2", "b", 2)]
    assert cf.read_run(columns).to_polars().rows() == rows
    assert [run.to_polars().rows() for run in cf.read_runs({"x": columns, "y": columns})] == [
        rows,
        rows,
    ]
    assert cf.read_run(written(tmp_path / "a.json", json.dumps(columns))).to_polars().rows() == rows
    grades = {"qid": ["1", "2"], "docno": ["a", "b"], "label": [1, 0]}
    assert cf.read_qrels(grades).to_polars().rows() == [("1", "a", 1), ("2", "b", 0)]
    assert read_groups({"doc": ["a", "b"], "group": ["x", "y"]}).docs.to_list() == ["a", "b"]
    # Columns as mappings of row numbers.
    numbered = {name: dict(enumerate(cells)) for name, cells in columns.items()}
    assert cf.read_run(numbered).to_polars().rows() == rows
    for read in (cf.read_run, cf.read_qrels):
        refuses("expected lists as the columns of a table, got", read, columns | {"x": {}})
    refuses("expected columns of equal length", cf.read_qrels, {"qid": ["1", "2"], "docno": ["a"]})


def test_a_record_is_not_read_as_documents() -> None:
    runs = {"q1": {"a": {"score": 0.5}, "b": {"score": 0.4}}}
    refuses(r"expected \{topic: \{document: score\}\}, got an", lambda: list(cf.read_runs(runs)))
    refuses(r"expected \{topic: \{document: score\}\}, got an object", cf.read_run, runs["q1"])
    assert cf.read_run({"q1": {"score": 0.5}, "q2": {"a": 1.0}}).topics == ("q1", "q2")
