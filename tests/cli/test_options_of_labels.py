"""Options of commands on labels, judges and pools either change the result or are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.assess import read_judges, read_labels
from tests.cli.running import cranfield, refusals, refused

ROWS = [("q1", "é", "ann", 1), ("q1", "b", "ann", 0), ("q1", "é", "bob", 1), ("q1", "b", "bob", 0)]
NAMES = ("topic", "doc", "worker", "grade")
LATIN = "latin-1"


def table(rows: list[Any], names: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=names, orient="row")


def write(frame: pl.DataFrame, path: Path, encoding: str = "utf-8") -> Path:
    """Write a frame in the format that the suffix names; `.txt` is lines without a header."""
    records = [{k: v for k, v in row.items() if v is not None} for row in frame.to_dicts()]
    text = {
        ".csv": lambda: frame.write_csv(),
        ".tsv": lambda: frame.write_csv(separator="\t"),
        ".json": lambda: json.dumps(frame.to_dicts(), ensure_ascii=False),
        ".jsonl": lambda: "\n".join(json.dumps(row, ensure_ascii=False) for row in records),
        ".txt": lambda: frame.write_csv(separator=" ", include_header=False),
    }
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        path.write_bytes(text[path.suffix]().encode(encoding))
    return path


TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
TEXT = (".csv", ".tsv", ".json", ".jsonl", ".txt")


@pytest.mark.parametrize("suffix", TABLES)
def test_columns_rename_those_of_a_table(tmp_path: Path, suffix: str) -> None:
    odd = table(ROWS, ("topic", "doc", "seen by", "points"))
    path = write(odd, tmp_path / f"labels{suffix}")
    columns = {"worker": "seen by", "rating": "points"}
    wanted = read_labels(ROWS).to_polars().rows()
    frames = [odd, odd.to_pandas(), odd.to_dicts()] if suffix == ".csv" else []
    for data in (path, *frames):
        assert read_labels(data, columns=columns).to_polars().rows() == wanted
        for wrong, reason in (
            ({"worker": "zebra"}, "unknown column 'zebra' for the worker"),
            ({"zebra": "points"}, "unknown column 'zebra'"),
            ("topic doc worker grade", "for a table with a header"),
            (["worker", "zebra"], "for a table with a header"),
        ):
            with pytest.raises(cf.CranfieldError, match=reason):
                read_labels(data, columns=wrong)
    options = ("--columns", "worker=seen by,grade=points", "--table", "workers", "--format", "csv")
    out, _ = cranfield(tmp_path, "labels", path.name, *options)
    assert [line.split(",")[0] for line in out.splitlines()] == ["worker", "ann", "bob"]
    for wrong in ("worker doc grade", "worker zebra", "worker=zebra", "zebra=points"):
        _, err = cranfield(tmp_path, "labels", path.name, "--columns", wrong, status=2)
        assert err.count("\n") == 1 and "column" in err


def test_a_name_of_a_column_overrules_usual_names(tmp_path: Path) -> None:
    path = tmp_path / "swap.csv"
    path.write_text("doc,worker,grade\na,b,1\nb,a,0\na,a,1\n")
    swapped = read_labels(path, columns={"worker": "doc", "doc": "worker"})
    assert swapped.to_polars().select("doc", "worker").rows() == [
        ("b", "a"),
        ("a", "b"),
        ("a", "a"),
    ]


@pytest.mark.parametrize("suffix", TABLES)
def test_options_reach_judgments_by_name(tmp_path: Path, suffix: str) -> None:
    rows = [("q1", "a", 1), ("q1", "b", None), ("q1", "c", 0), ("q1", "c", 2)]
    odd = table(rows, ("topic", "unit", "points"))
    path = write(odd, tmp_path / f"ann{suffix}")
    options: dict[str, Any] = {
        "columns": {"grade": "points"},
        "missing": "drop",
        "repeats": "last",
    }
    for data in (path, odd, odd.to_pandas()):
        labels = read_labels({"ann": data}, **options)
        assert labels.to_polars().rows() == [("q1", "a", "ann", 1), ("q1", "c", "ann", 2)]
        assert len(read_labels({"ann": data}, **options | {"repeats": "keep"})) == 3
        for name, value, reason in (
            ("columns", None, "has no grade column"),
            ("columns", {"grade": "zebra"}, "unknown column 'zebra'"),
            ("columns", {"worker": "unit", "grade": "points"}, "unknown column 'worker'"),
            ("missing", "error", r"has no grade \(1 of 4 rows\); use missing='drop'"),
            ("repeats", "error", "a second label of worker 'ann'"),
        ):
            with pytest.raises(cf.CranfieldError, match=reason):
                read_labels({"ann": data}, **options | {name: value})
    more = ("--columns", "grade=points", "--missing", "drop", "--repeats", "last")
    out, _ = cranfield(tmp_path, "labels", f"ann={path.name}", *more)
    assert "2 labels of 2 pairs by 1 worker" in out
    assert "ann: 1 label without a grade excluded" in out


def test_options_reach_judgments_in_lines(tmp_path: Path) -> None:
    path = tmp_path / "ann.qrels"
    path.write_text("q1 0 a 1\nq1 0 b\nq1 0 c 0\nq1 0 c 2\n")
    with pytest.warns(cf.CranfieldWarning) as warned:
        labels = read_labels({"ann": path}, missing="drop", repeats="last")
    assert labels.to_polars().rows() == [("q1", "a", "ann", 1), ("q1", "c", "ann", 2)]
    assert any("1 of 4 rows has no grade" in str(one.message) for one in warned)
    for options, reason in (
        ({"repeats": "last"}, "ann.qrels:2: .* missing='drop'"),
        ({"repeats": "keep"}, "repeats='keep' applies to tables"),
        ({"columns": {"grade": "x"}}, "columns applies to labels with named columns"),
        ({"columns": "doc grade"}, "columns applies to labels with named columns"),
    ):
        with pytest.raises(cf.CranfieldError, match=reason):
            read_labels({"ann": path}, **options)


@pytest.mark.filterwarnings("ignore:.*column 2 is read as documents")
@pytest.mark.parametrize("suffix", TEXT)
def test_an_encoding_reaches_every_text(tmp_path: Path, suffix: str) -> None:
    labels = write(table(ROWS, NAMES), tmp_path / f"labels{suffix}", LATIN)
    docs = read_labels(labels, encoding=LATIN).docs.to_list()
    assert docs == ["é", "b"]
    judged = table([("q1", "0", "é", 1), ("q1", "0", "b", 0)], ("topic", "iter", "doc", "grade"))
    qrels = write(judged, tmp_path / f"qrels{suffix}", LATIN)
    assert cf.read_qrels(qrels, encoding=LATIN).docs.to_list() == docs
    assert read_labels({"ann": qrels}, encoding=LATIN).docs.to_list() == docs
    [judge] = read_judges(qrels, encoding=LATIN)
    assert judge.labels.docs.to_list() == docs
    for read in (read_labels, cf.read_qrels, read_judges):
        with pytest.raises(cf.InputError, match="UTF-8"):
            read(labels if read is read_labels else qrels)


def test_an_encoding_is_refused_where_nothing_is_encoded(tmp_path: Path) -> None:
    frame = table([("q1", "a", 1)], ("topic", "doc", "grade"))
    for data in (frame, frame.to_pandas(), frame.rows(), {"q1": {"a": 1}}):
        for read in (cf.read_qrels, read_judges):
            with pytest.raises(cf.PolicyError, match="encoding"):
                read(data, encoding=LATIN)
    with pytest.raises(cf.PolicyError, match="encoding"):
        read_labels(table(ROWS, NAMES), encoding=LATIN)
    path = write(frame, tmp_path / "q.parquet")
    with pytest.warns(cf.CranfieldWarning, match="encoding has no effect on Parquet"):
        cf.read_qrels(path, encoding=LATIN)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    people = table([("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 0)], ("topic", "doc", "grade"))
    write(people, tmp_path / "people.csv")
    odd = table([("q1", "a", 1), ("q1", "b", 1), ("q1", "b", 0)], ("topic", "doc", "points"))
    for suffix in TABLES:
        write(odd, tmp_path / f"odd{suffix}")
    (tmp_path / "odd.dat").write_text("topic,doc,points\nq1,a,1\nq1,b,1\nq1,b,0\n")
    (tmp_path / "llm").write_text("q1 0 a 1\nq1 0 b 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 a 1 2 a\nq2 Q0 a 1 2 a\n")
    (tmp_path / "sheet.tsv").write_text("topic\tdoc\tgrade\nq1\ta\t1\nq1\tb\t\nq2\ta\t0\n")
    (tmp_path / "sheet.txt").write_text("q1 0 a 1\nq1 0 b\nq2 0 a 0\n")
    (tmp_path / "sheet.jsonl").write_text(
        '{"topic":"q1","doc":"a","grade":1}\n{"topic":"q1","doc":"b","grade":null}\n'
        '{"topic":"q2","doc":"a","grade":0}\n'
    )
    return tmp_path


AGREEMENT = ("--table", "agreement", "--format", "csv")


@pytest.mark.parametrize("suffix", [*TABLES, ".dat"])
def test_reading_options_reach_judges(judged: Path, suffix: str) -> None:
    more = ("--input-format", "csv") if suffix == ".dat" else ()
    files = ("people.csv", f"odd{suffix}")
    given = ("--columns", "grade=points", *more, *AGREEMENT)
    last, first = (
        cranfield(judged, "judges", *files, *given, "--on-duplicate", kept)[0]
        for kept in ("last", "first")
    )
    assert last != first
    refused(judged, "judges", *files, *given, reason="document judged twice")
    _, err = cranfield(judged, "judges", *files, *more, status=2)
    assert "--settings with columns: grade=... selects the column" in err
    cranfield(judged, "judges", *files, *more, "--columns", "judgment=points", status=2)
    _, err = cranfield(judged, "judges", *files, *more, "--columns", "grade=zebra", status=2)
    assert "unknown column 'zebra'" in err


def test_reading_options_reach_the_judges_of_a_report(judged: Path) -> None:
    (judged / "b.run").write_text("q1 Q0 b 1 2 b\nq2 Q0 b 1 2 b\n")
    line = "report people.csv a.run b.run -m P@1 --no-scales --judges odd.csv"
    command = line.split()
    refused(judged, *command, reason="has no grade column")
    _, err = cranfield(judged, *command, "--columns", "grade=points", status=2)
    assert "odd.csv:4: document judged twice" in err
    pages = []
    for kept in ("last", "first"):
        cranfield(judged, *command, "--columns", "grade=points", "--on-duplicate", kept)
        pages.append((judged / "report.html").read_text())
    assert "odd.csv" in pages[0] and pages[0] != pages[1].replace("first", "last")


@refusals(
    """
judges people.csv llm --columns topic=zebra | a column 'zebra'
judges people.csv llm --columns zebra=doc | zebra
judges people.csv llm --system x | setting system requires --runs
judges people.csv llm --lower score | setting lower requires --runs
judges people.csv llm --on-bad-run skip | setting on-bad-run requires --runs
judges people.csv llm --own-runs --system x | setting system requires --runs
judges people.csv llm --jobs 2 | setting jobs requires --runs or --own-runs
judges people.csv llm --rel 1 | --rel requires --runs or --own-runs
labels x=llm y=llm --seed 3 | setting seed requires
labels x=llm y=llm --interval none --confidence .9 | setting confidence cannot be combined with
labels x=llm y=llm --pairs --reference x | --pairs cannot be combined with --reference
labels x=llm --pairs | --pairs requires two workers
labels x=llm --measure alpha | --measure requires two workers
labels x=llm --columns grade=rel | columns applies to labels with named columns
labels x=llm --repeats keep | repeats: keep applies to tables
pool a.run --next 1 --assessors 1 --overlap .5 | overlap requires two assessors
pool a.run --ungraded error | setting ungraded requires --judged
pool a.run --judged sheet.tsv --ungraded error | sheet.tsv:3: has no grade
"""
)
def test_options_without_effect_are_refused(judged: Path, words: list[str], reason: str) -> None:
    refused(judged, *words, reason=reason)


NAMED = {
    "--nuggets gold.csv found.csv": ("topic,nugget\nq,a\n", "topic,nugget,system\nq,a,one\n"),
    "--citations found.csv": ("", "topic,sentence,citation,support,system\nq,1,a,full,one\n"),
    "--references gold.csv found.csv": ("topic,text\nq,a b\n", "topic,text,system\nq,a b,one\n"),
}


@pytest.mark.parametrize("arguments", NAMED)
def test_a_name_of_the_system_is_used_or_refused(tmp_path: Path, arguments: str) -> None:
    gold, found = NAMED[arguments]
    (tmp_path / "gold.csv").write_text(gold)
    (tmp_path / "found.csv").write_text(found)
    command = ("answers", *arguments.split(), "--system", "mine", "--format", "csv")
    refused(tmp_path, *command, reason="mine")
    without = "\n".join(line.rpartition(",")[0] for line in found.splitlines())
    (tmp_path / "found.csv").write_text(without)
    out, _ = cranfield(tmp_path, *command)
    assert "mine" in out


SHEETS = ("sheet.tsv", "sheet.txt", "sheet.jsonl")


@pytest.mark.parametrize("sheet", SHEETS)
def test_half_filled_sheets_in_every_command(judged: Path, sheet: str) -> None:
    line = 2 if sheet != "sheet.tsv" else 3
    place = f"{sheet}:{line}: "
    pool = ("pool", "a.run", "--depth", "2", "--judged", sheet)
    out, err = cranfield(judged, *pool)
    assert "2 judged, 0 unjudged" in out
    assert f"{sheet}: 1 of 3 rows has no grade and counts as unjudged" in err
    for command, option in (
        (("evaluate", sheet, "a.run", "-m", "AP"), "--ungraded drop"),
        (("judges", sheet, "llm"), "--ungraded drop"),
        (("labels", f"ann={sheet}", f"bob={sheet}"), "--missing drop"),
    ):
        _, err = cranfield(judged, *command, status=2)
        setting = f"--settings with {option.removeprefix('--').replace(' ', ': ')}"
        advice = option if command[0] == "labels" else setting
        assert place in err and advice in err, err
        out, _ = cranfield(judged, *command, *option.split())
        assert out


@pytest.mark.parametrize("form", ["tsv", "jsonl", "trec"])
def test_a_sheet_of_a_pool_is_read_back(judged: Path, form: str) -> None:
    """Fill in the first row of a sheet that the command wrote, and go on judging."""
    sheet = "mine.jsonl" if form == "jsonl" else "mine.tsv" if form == "tsv" else "mine"
    cranfield(judged, "pool", "a.run", "--budget", "5", "--format", form, "-o", sheet)
    lines = (judged / sheet).read_text().splitlines()
    row = 1 if form == "tsv" else 0
    filled = lines[row].replace("null", "1") if form == "jsonl" else f"{lines[row]}1"
    lines[row] = f"{lines[row]} 1" if form == "trec" else filled
    (judged / sheet).write_text("\n".join(lines) + "\n")
    out, _ = cranfield(judged, "pool", "a.run", "--next", "1", "--judged", sheet)
    assert out == "q2 0 a\n"
    out, _ = cranfield(judged, "labels", f"ann={sheet}", "--missing", "drop")
    assert "1 label of 1 pair by 1 worker" in out


Reader = Callable[..., Any]


def grades_by(read: Reader, data: Any, **options: Any) -> list[Any]:
    """Return documents and grades as a reader of judgments or labels takes them."""
    if read is read_judges:
        [judge] = read({"ann": data}, **options)
        frame = judge.labels.to_polars()
    else:
        frame = read({"ann": data} if read is read_labels else data, **options).to_polars()
    rows: list[Any] = frame.select("topic", "doc", "grade").rows()
    return rows


FORMS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    **{
        suffix: partial(lambda end, frame, folder: write(frame, folder / f"x{end}"), suffix)
        for suffix in TABLES
    },
    "polars": lambda frame, folder: frame,
    "pandas": lambda frame, folder: frame.to_pandas(),
    "rows": lambda frame, folder: frame.rows(),
    "mappings": lambda frame, folder: frame.to_dicts(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("read", [cf.read_qrels, read_labels, read_judges])
def test_one_rule_of_grades_and_ids(tmp_path: Path, read: Reader, form: str) -> None:
    def given(*grades: Any, doc: str = "a", kind: Any = None) -> Any:
        rows = {"topic": ["q"] * len(grades), "doc": [doc, "b", "c"][: len(grades)]}
        frame = pl.DataFrame(rows).with_columns(grade=pl.Series(grades, dtype=kind, strict=False))
        return FORMS[form](frame, tmp_path)

    wanted = [("q", "a", 1), ("q", "b", 0)]
    grades: list[Any]
    for grades in ([1, 0], [1.0, 0.0], ["1", "0"], ["1.0", "0"], [" 1", "0 "]):
        assert grades_by(read, given(*grades)) == wanted, grades
    truths: list[Any] = [[True, False], ["true", "false"], ["True", "FALSE"]]
    for grades in truths:
        with pytest.warns(cf.CranfieldWarning, match="true is read as 1, false as 0"):
            assert grades_by(read, given(*grades)) == wanted, grades
    for grades in (["1", "true"], ["true", "2"], ["yes", "no"], [0.5, 1.0], ["1,0", "0"]):
        with pytest.raises(cf.InputError, match="is not an integer"):
            grades_by(read, given(*grades))
    with pytest.warns(
        cf.CranfieldWarning, match="blanks around 1 id in the column .* were removed"
    ):
        assert grades_by(read, given(1, 0, doc=" a\t")) == wanted
    if read is not read_judges:
        option = {"ungraded" if read is cf.read_qrels else "missing": "drop"}
        for empty in (None, "", "NA", "nan"):
            data = given("1", "0", empty)
            with pytest.raises(cf.InputError, match="has no grade"):
                grades_by(read, data)
            if read is cf.read_qrels:
                with pytest.warns(cf.CranfieldWarning, match="1 of 3 rows has no grade"):
                    assert grades_by(read, data, **option) == wanted
            else:
                assert grades_by(read, data, **option) == wanted


STATES: dict[str, list[Any]] = {
    "status": ["submitted", "discarded"],
    "Status": ["done", "discarded"],
    "valid": ["0", "1"],
    "is_discarded": [False, True],
    "was cancelled": ["false", "true"],
    "Approved": ["yes", "no"],
    "state": [1, 2],
}


@pytest.mark.parametrize("name", STATES)
def test_a_column_of_states_is_settled_first(tmp_path: Path, name: str) -> None:
    base = table(ROWS[:2], NAMES)
    frame = base.with_columns(pl.Series(name, STATES[name]))
    frames: list[Any] = [frame, frame.to_pandas(), frame.to_dicts()]
    frames += [write(frame, tmp_path / f"x{suffix}") for suffix in TABLES]
    for data in frames:
        for given in (data, {"ann": data}):
            with pytest.raises(cf.InputError, match=f"'{name}' .*may be the status"):
                read_labels(given)
    same = base.with_columns(pl.lit("submitted").alias(name))
    assert len(read_labels(same)) == 2


def test_a_status_of_answers_is_not_that_of_umbrela() -> None:
    rows = [{"qid": "q", "docid": d, "judgment": 1, "status": s} for d, s in (("a", 0), ("b", 1))]
    with pytest.warns(cf.CranfieldWarning, match="columns not used: 'status'"):
        assert len(read_judges({"llm": rows})[0].labels) == 2
    for state in ("success", 0, 200):
        same = [row | {"status": state} for row in rows]
        assert len(read_judges({"llm": same})[0].labels) == 2
    done = [rows[0] | {"status": "Completed"}, rows[1] | {"status": "success"}]
    with pytest.warns(cf.CranfieldWarning, match="columns not used: 'status'"):
        assert len(read_judges({"llm": done})[0].labels) == 2
    for states in (("failed", "success"), (500, 200)):
        mixed = [row | {"status": state} for row, state in zip(rows, states, strict=True)]
        with pytest.raises(cf.InputError, match="'status' .*may be the status"):
            read_judges({"llm": mixed})
    umbrela = [
        {name: row[name] for name in ("qid", "docid", "judgment")}
        | {"result_status": row["status"]}
        for row in rows
    ]
    assert read_judges({"llm": umbrela})[0].n_unparsed == 1
    with pytest.raises(cf.InputError, match="result_status"):
        read_judges({"llm": [umbrela[0] | {"result_status": "success"}]})


def test_labels_without_a_topic_by_name(tmp_path: Path) -> None:
    """As an annotation tool exports them: a file for each annotator, without topics."""
    for name, grade in (("ann", 2), ("bob", 1)):
        rows = [{"id": 1, "text": "a", "label": grade}, {"id": 2, "text": "b", "label": 0}]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = ("ann=ann.jsonl", "bob=bob.jsonl")
    refused(tmp_path, "labels", *files, reason="use --columns doc=... if its name")
    out, _ = cranfield(tmp_path, "labels", *files, "--columns", "doc=id")
    assert "4 labels of 2 pairs by 2 workers" in out


def test_a_column_for_each_worker_has_a_way(tmp_path: Path) -> None:
    frame = pd.DataFrame({"Judge A": [2, 0], "Judge B": [3, 0], "Judge C": [3, None]})
    found = cf.assess.agreement_of(frame, "alpha", interval="none")
    array = cf.assess.agreement_of(frame.to_numpy(), "alpha", axis=1, interval="none")
    assert found.value.tolist() == array.value.tolist()
    frame.assign(query="q", docid=["a", "b"]).to_csv(tmp_path / "wide.csv", index=False)
    with pytest.raises(cf.InputError, match="worker_columns="):
        read_labels(tmp_path / "wide.csv")
    labels = read_labels(tmp_path / "wide.csv", worker_columns=["Judge A", "Judge B", "Judge C"])
    assert cf.assess.agreement_of(labels, "alpha", interval="none").value == found.value


def test_columns_reach_gold_grades(tmp_path: Path) -> None:
    (tmp_path / "crowd.csv").write_text("topic,doc,worker,grade\nq,a,x,1\nq,b,x,0\nq,a,y,1\n")
    (tmp_path / "gold.csv").write_text("topic,item,points\nq,a,1\nq,b,1\n")
    (tmp_path / "gold.txt").write_text("a 1\nb 1\n")
    command = ("labels", "crowd.csv", "--gold", "gold.csv", "--table", "gold", "--format", "csv")
    _, err = cranfield(tmp_path, *command, status=2)
    assert "has no grade column" in err
    out, _ = cranfield(tmp_path, *command, "--columns", "gold.grade=points")
    assert out == "gold,0,1,none\n0,0,0,0\n1,1,1,0\n"
    fixed = ("--method", "dawid-skene", "--fix-gold")
    out, _ = cranfield(tmp_path, *command, *fixed, "--columns", "gold.grade=points")
    assert out == "gold,0,1,none\n0,0,0,0\n1,0,2,0\n"
    for columns in ("gold.grade=zebra", "gold.zebra=points"):
        cranfield(tmp_path, *command, "--columns", columns, status=2)
    without = ("labels", "crowd.csv", "--columns", "gold.grade=points")
    refused(tmp_path, *without, reason="--gold")


def test_votes_without_workers_and_in_words_have_a_way(tmp_path: Path) -> None:
    votes = pl.DataFrame(
        {"doc": ["a", "a", "b"], "grade": ["relevant", "not relevant", "relevant"]}
    )
    with pytest.raises(
        cf.InputError, match="number the labels of each document in a column worker"
    ):
        read_labels(votes)
    numbered = votes.with_columns(worker=pl.int_range(pl.len()).over("doc"))
    for data in (numbered, write(numbered, tmp_path / "x.csv")):
        with pytest.raises(cf.InputError, match="'relevant' is not an integer .*maps words"):
            read_labels(data)
        labels = read_labels(data, grades={"relevant": 1, "not relevant": 0})
        assert cf.assess.majority(labels, tie="high").qrels.grades.tolist() == [1, 1]


@pytest.mark.parametrize("sheet", SHEETS)
def test_a_sheet_without_any_grade_is_nothing_judged_yet(judged: Path, sheet: str) -> None:
    lines = (judged / sheet).read_text()
    for filled, empty in (("a\t1", "a\t"), ("a\t0", "a\t"), ("a 1", "a"), ("a 0", "a")):
        lines = lines.replace(filled, empty)
    for grade in "01":
        lines = lines.replace(f'"grade":{grade}', '"grade":null')
    (judged / sheet).write_text(lines)
    pool = ("pool", "a.run", "--judged", sheet)
    out, err = cranfield(judged, *pool)
    assert "0 judged, 2 unjudged" in out
    assert f"{sheet}: none of 3 rows has a grade: no document has been judged yet" in err
    for more in (("--next", "1"), ("--next", "1", "--method", "maxmean"), ("--unjudged",)):
        assert cranfield(judged, *pool, *more)[0] == "q1 0 a\nq2 0 a\n"
    cranfield(judged, *pool, "--ungraded", "error", status=2)
    with pytest.warns(cf.CranfieldWarning, match="no document has been judged yet"):
        found = cf.assess.next_documents([judged / "a.run"], judged / sheet, "depth")
    assert (len(found), found.n_judged) == (2, 0)


BOTH = {"qid": "q1", "docid": "a", "worker": "w", "label": 1, "judgment": 0}


@pytest.mark.parametrize(
    "command",
    [
        "labels both.csv",
        "labels ann=both.csv",
        "labels crowd.csv --gold both.csv",
        "judges people.csv both.csv",
        "judges both.csv llm",
        "evaluate both.csv a.run -m AP",
        "pool a.run --judged both.csv",
        "report people.csv a.run --judges both.csv",
    ],
)
def test_two_grades_of_one_record_are_refused(judged: Path, command: str) -> None:
    write(pl.DataFrame([BOTH]), judged / "both.csv")
    write(table([("q1", "a", "w", 1)], ("topic", "doc", "worker", "grade")), judged / "crowd.csv")
    out, err = cranfield(judged, *command.split(), status=2)
    assert out == "" and "2 columns for the grade: 'label' and 'judgment'" in err
