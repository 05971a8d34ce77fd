"""Bad input: one line that names the file, the line, the topic, the document and the reason."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from tests.collection.refusals import refuses, warns

GOOD = b"1 Q0 a 1 2.5 t\n1 Q0 b 2 1.5 t\n"


def fails(path: Path, data: bytes, read: Any = cf.read_run) -> cf.InputError:
    path.write_bytes(data)
    with pytest.raises(cf.InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}")
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"2 Q0 c 3 0.5", "expected 6 columns (topic q0 doc rank score tag)"),
        (b"2", "got 1"),
        (b"2 Q0 c 3 nan t", "score 'nan' is not a finite number (topic '2', document 'c')"),
        (b"2 Q0 c 3 -inf t", "score '-inf' is not a finite number"),
        (b"2 Q0 c 3 1e999 t", "score '1e999' is not a finite number"),
        (b"2 Q0 c 3 1_000 t", "score '1_000' is not a finite number"),
        (b"2 Q0 c 3 0x1p3 t", "score '0x1p3' is not a finite number"),
        (b"2 Q0 c 3 1,5 t", "score '1,5' is not a finite number; use a decimal point"),
        (b"2 Q0 c 3 high t", "score 'high' is not a finite number"),
        (
            b"1 Q0 a 3 0.5 t",
            "document twice in one topic, first in line 1; on_duplicate='first' keeps the first one"
            " (topic '1', document 'a')",
        ),
        (b"2 Q0 \xff 3 0.5 t", "byte 0xff is not valid UTF-8 text"),
        (b"2 Q0 \x1b[2J 3 x t", r"document '\x1b[2J'"),
    ],
)
@pytest.mark.parametrize("before", [b"", b"\n# comment\n", b" \t\n"])
def test_bad_run_lines(line: bytes, said: str, before: bytes, tmp_path: Path) -> None:
    data = GOOD + before + line + b"\n3 Q0 z 1 1 t\n"
    error = fails(tmp_path / "a.run", data)
    assert error.line == 3 + before.count(b"\n")
    assert f":{error.line}: " in str(error)
    assert said in str(error)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"2 0 c", "expected 4 columns"),
        (b"2 0 c 1 1", "expected 4 columns"),
        (b"2 0 c 0.5", "grade '0.5' is not an integer (of 32 bits); grades=[0.5, 0.8] maps real"),
        (b"2 0 c grade=1", r"grades='(\d+)' extracts the number"),
        (b"2 0 c 1,of_3", r"grades='score: (\d)' extracts the number"),
        (b"2 0 c 1e0", "grade '1e0' is not an integer"),
        (b"2 0 c 2147483648", "grade '2147483648' is not an integer"),
        (b"2 0 c relevant", "grade 'relevant' is not an integer"),
        (b"1 0 a 0", "document judged twice in one topic, first in line 1; on_duplicate='first"),
    ],
)
def test_bad_qrels_lines(line: bytes, said: str, tmp_path: Path) -> None:
    error = fails(tmp_path / "q", b"1 0 a 1\n1 0 b 0\n" + line + b"\n", cf.read_qrels)
    assert error.line == 3
    assert said in str(error)


ROW = '{"qid": "1", "docid": "d", "score": 1}\n'


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("a.json", '{"q":\n {"d": 1,}}', 2, "is not valid JSON"),
        ("a.jsonl", ROW + "{oops\n", 2, "is not valid JSON"),
        ("a.jsonl", ROW + ROW.strip() + " " + ROW, 2, "is not valid JSON: Extra data"),
        ("a.json", "3", None, "an object or an array"),
        ("a.json", "[3]", None, "or tuples (topic, doc, score) as rows of a run, got a number"),
        ("a.json", '[{"d": 1}, 3]', None, "row 2: expected a record as in the first row, got a"),
        ("a.json", '{"q": {"d": 1, "d": 2}}', None, "'d' is repeated in an object"),
        ("a.jsonl", f"{ROW}\n{ROW}", 3, "document twice in one topic"),
    ],
)
def test_bad_json(name: str, text: str, line: int | None, said: str, tmp_path: Path) -> None:
    error = fails(tmp_path / name, text.encode())
    assert error.line == line and said in str(error)


def test_names_count_in_any_spelling(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"Topic ID,doc-no,SCORE\n1,a,0.5\n")
    assert cf.read_run(path).to_polars().rows() == [("1", "a", 0.5)]


def test_twice_in_one_subtopic(tmp_path: Path) -> None:
    error = fails(tmp_path / "q", b"1 1 a 1\n1 2 a 1\n1 1 b 1\n1 2 a 0\n", cf.read_qrels)
    assert (error.line, error.topic, error.doc) == (4, "1", "a")


def test_different_run_tags(tmp_path: Path) -> None:
    path = tmp_path / "mine.run"
    path.write_bytes(GOOD + b"2 Q0 a 1 1 other\n")
    assert warns(r"2 different run tags \('t', 'other'\)", cf.read_run, path).name == "mine"


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# nothing\n", b" \t \r\n", b"\xef\xbb\xbf"])
def test_empty_files(data: bytes, tmp_path: Path) -> None:
    assert "is empty" in str(fails(tmp_path / "a.run", data))
    assert "is empty" in str(fails(tmp_path / "q", data, cf.read_qrels))


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet"])
def test_empty_files_of_other_formats(suffix: str, tmp_path: Path) -> None:
    fails(tmp_path / f"a.{suffix}", b"")
    fails(tmp_path / f"b.{suffix}", b"{}" if suffix == "json" else b"topic,doc,score\n")


@pytest.mark.parametrize("name", ["a.gz", "a.bz2", "a.xz", "a.zst"])
def test_damaged_archives(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    run = cf.read_run({"q": {f"d{i}": float(i) for i in range(1000)}})
    cf.write_run(run, path)
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:-8] + bytes(8), whole[:40] + bytes(9) + whole[49:]):
        if name == "a.zst" and damaged[-8:] == bytes(8):
            continue  # Zstandard has checksums on request only.
        assert "truncated or damaged" in str(fails(path, damaged))


def test_utf_16(tmp_path: Path) -> None:
    assert "UTF-16" in str(fails(tmp_path / "a.run", GOOD.decode().encode("utf-16")))


def test_what_is_no_file(tmp_path: Path) -> None:
    refuses("cannot be read: no such file", cf.read_run, tmp_path / "nowhere")
    refuses("cannot be read: is a directory", cf.read_qrels, tmp_path)
    refuses("int cannot be read as a run", cf.read_run, 3)
    refuses("bytes cannot be read as judgments", cf.read_qrels, b"1 0 a 1")
    refuses("unknown format 'xml'; expected", cf.read_run, "x", format="xml", error=cf.PolicyError)


def test_arrays_and_series_are_not_tables() -> None:
    frame = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2, 1]})
    series = frame.set_index(["qid", "docno"])["score"]
    for read, noun in ((cf.read_run, "a run"), (cf.read_qrels, "judgments")):
        refuses(rf"Series cannot be read as {noun}; .*reset_index\(\)", read, series)
        records = frame.to_records(index=False)
        refuses(rf"recarray cannot be read as {noun}; .*DataFrame", read, records)
        refuses(rf"ndarray cannot be read as {noun}; .*DataFrame", read, np.ones((2, 3)))
        assert len(read(series.reset_index())) == len(read(pd.DataFrame(records))) == 2
    refuses(r"Series cannot .*reset_index\(\)", lambda: cf.read_runs(series)[0])
    assert len(cf.read_runs(pd.Series([frame, frame]))) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"q": {"d": float("nan")}}, "row 1: score 'nan' is not a finite number"),
        ({"q": {"d": None}}, "row 1: has no score"),
        ({"q": {"d": "high"}}, "score 'high' is not a finite number"),
        ({"q": 3}, "expected {document: score} for topic 'q', got a number"),
        ({}, "is empty"),
        ([], "is empty"),
        ([("q", "d")], "as rows of a run, got a tuple of 2 values"),
        ([3], "or tuples (topic, doc, score) as rows of a run, got a number"),
        ([("q", "d", 1.0), ("q", "e")], "row 2: expected a tuple of 3 values as in the first row"),
        ([{"qid": "q", "score": 1.0}], "has no doc column (usual names: doc, docno"),
        ([("q", "d", 1.0), ("q", "d", 2.0)], "document twice in one topic"),
        (pd.DataFrame({"a": [1]}), "has no topic column"),
        (pd.DataFrame({"qid": ["1"], "docno": [None], "score": [1.0]}), "row 1: has no doc"),
    ],
)
def test_bad_data_in_memory(data: Any, said: str) -> None:
    with pytest.raises(cf.InputError) as caught:
        cf.read_run(data)
    assert said in str(caught.value)


@pytest.mark.parametrize("grade", [0.5, "0.5", None, 2**40, "x"])
def test_bad_grades_in_memory(grade: Any) -> None:
    refuses("is not an integer|has no grade", cf.read_qrels, {"q": {"a": 1, "d": grade}})


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("a.csv", "1 Q0 d 1 9.0 x", "this looks like TREC text (topic q0 doc rank score tag)"),
        ("a.csv", "topic\tdoc\tscore", "tabs between columns requires the suffix .tsv"),
        ("a.csv", "id\tqid\tpid\tq0\tscore\ttag", "tabs between columns requires the suffix .tsv"),
        ("a.csv", "topic|doc|score", "expected commas or tabs between columns, got '|'"),
        ("a.txt", "topic,doc,score", "expected 6 columns (topic q0 doc rank score"),
        ("a.csv", "a b", "columns={'topic': ...} selects the column"),
    ],
)
def test_one_hint_on_the_first_line(name: str, line: str, said: str, tmp_path: Path) -> None:
    text = str(fails(tmp_path / name, f"{line}\n{line}\n".encode()))
    assert said in text
    assert ("columns={" in text) == ("columns={" in said)
    assert ("format='csv'" in text) == (name == "a.txt")
    assert ("format='trec'" in text) == ("TREC" in said)


@pytest.mark.parametrize("number", ["1\x1c", "\x1f1", "1\xa0", "\u0663", "\uff11"])
def test_numbers_are_ascii_in_every_format(number: str, tmp_path: Path) -> None:
    rows = {"csv": f"query,doc,score\n1,a,{number}\n", "run": f"1 Q0 a 1 {number} t\n"}
    rows["jsonl"] = json.dumps({"query": "1", "doc": "a", "score": number})
    for suffix, text in rows.items():
        file = tmp_path / f"a.{suffix}"
        file.write_text(text, "utf-8", newline="")
        refuses("is not a finite number", cf.read_run, file)


@pytest.mark.parametrize("head", [b"x\x01", gzip.compress(b"query,doc,score\n", mtime=0)])
def test_a_table_that_begins_like_an_archive(head: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(head + b",doc,score\n1,a,2\n"))
    refuses(r"a\.csv\.gz", cf.read_run, file)


def test_patterns_longer_than_any_path() -> None:
    """They would be read for minutes."""
    refuses("cannot be read: file name too", cf.evaluate, "[31m" * 40_000, {"1": {"a": 1}}, ["AP"])


def test_subtopics_that_are_no_text_for_each_judgment() -> None:
    qrels = cf.read_qrels({"q": {"a": 1, "b": 0}})
    for odd in (pl.Series([[1], [2]]), pl.Series(["x"])):
        with pytest.raises(cf.InputError, match="expected 2 subtopics as text"):
            cf.Qrels(qrels.topics, qrels.codes, qrels.docs, qrels.grades, odd)


@pytest.mark.parametrize("read", [cf.read_run, cf.read_qrels])
def test_a_topic_as_text_and_as_a_number(read: Any) -> None:
    refuses("topic .1. occurs twice", read, {1: {"a": 1}, "1": {"b": 2}})


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ("0.9 1 0.8 2/0.9 1 0.8 2", r"a\.run: .*columns seem to be swapped"),
        ("20 1 9 2/7 1 6 2", "ranks that fall; the two columns seem to be swapped"),
        ("0.9 0 0.7 1 0.7 2/3.5 0", "are not integers; the two columns seem to be swapped"),
        # Tied scores in the column of ranks, and lines in another order.
        *((f"{r} 3 {s} 1 {r} 2", "seem to be swapped") for r, s in (
            ("-7.5", "-2"), ("-7", "-2"), ("8", "9"), ("1e1", "11"))),
        *((numbers, "") for numbers in (
            "- 1 - 0.5", "1 3 3 1 2 2", "7 3 7 1 7 2", "9 3 8 1 8 2", "2 1 1 2/1 1 2 2")),
    ],
)  # fmt: skip
def test_rank_and_score_that_are_swapped(numbers: str, said: str, tmp_path: Path) -> None:
    """The numbers are rank and score of each document, topics apart by a slash."""
    lines, scores = [], []
    for topic, values in enumerate(map(str.split, numbers.split("/"))):
        for doc, rank, score in zip("abc", values[::2], values[1::2], strict=False):
            lines.append(f"{topic} Q0 {doc} {rank} {score} x\n")
            scores.append(float(score))
    path = tmp_path / "a.run"
    path.write_text("".join(lines))
    if said:
        refuses(said, cf.read_run, path)
    else:
        assert cf.read_run(path).scores.tolist() == scores


def test_rank_and_score_that_are_swapped_in_a_table(tmp_path: Path) -> None:
    names = ("topic", "doc", "rank", "score")
    path = tmp_path / "a.csv"
    for ranks in ((0.9, 0.8, 0.7), (99, 98, 97)):
        swapped = [
            (t, d, r, k) for t in "12" for k, (d, r) in enumerate(zip("abc", ranks, strict=True), 1)
        ]
        frame = pl.DataFrame(swapped, schema=names, orient="row")
        frame.write_csv(path)
        frame.write_ndjson(tmp_path / "a.jsonl")
        lines = [(t, "Q0", d, r, k, "x") for t, d, r, k in swapped]
        for data in (path, tmp_path / "a.jsonl", frame, frame.to_pandas(), lines):
            refuses("the two columns seem to be swapped", cf.read_run, data)
    for rows in (
        # The worst documents first, with votes as scores; empty ranks; scores in another order.
        [("1", "a", 3, 1), ("1", "b", 2, 3), ("1", "c", 1, 4), ("2", "a", 1, 2)],
        [("1", "a", None, 2), ("1", "b", None, 4), ("1", "c", None, 5)],
        [("1", "a", 1, 3), ("1", "b", 3, 1), ("1", "c", 2, 2)],
    ):
        run = cf.read_run(pl.DataFrame(rows, schema=names, orient="row"))
        assert run.scores.tolist() == [score for *_, score in rows]


RISING = [("1", "a", 0.1), ("1", "b", 0.2), ("1", "c", 0.2), ("2", "a", 1.0), ("2", "b", 2.0)]
RISING += [("3", "z", 5.0), ("2", "c", 3.0), ("4", "a", 0.1), ("4", "c", 0.3)]


@pytest.mark.parametrize("is_rising", [True, False])
def test_scores_that_rise_in_the_order_of_the_file(is_rising: bool, tmp_path: Path) -> None:
    rows = RISING if is_rising else [*RISING, ("4", "d", 0.2)]
    frame = pl.DataFrame(rows, schema=("topic", "doc", "score"), orient="row")
    frame.write_csv(tmp_path / "a.csv")
    frame.write_ndjson(tmp_path / "a.jsonl")
    (tmp_path / "a.txt").write_text("".join("{} {} {}\n".format(*row) for row in rows))
    lines = "".join("{} Q0 {} 0 {} x\n".format(*row) for row in rows)
    (tmp_path / "a.run").write_text(lines)
    topics: dict[str, dict[str, float]] = {topic: {} for topic, _, _ in rows}
    for topic, doc, score in rows:
        topics[topic][doc] = score
    (tmp_path / "a.json").write_text(json.dumps(topics))
    rise = "the scores of every topic rise in the order of the file"
    for path in sorted(tmp_path.iterdir()):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cf.read_run(path)
            cf.read_run(path, lower_is_better=True)
        assert [rise in str(warning.message) for warning in caught] == [True] * is_rising
    # The order of a mapping or of rows in memory, and ranks, say nothing else.
    ranked = frame.with_columns(rank=pl.Series([3, 2, 2, 2, 2, 1, 1, 2, 1, 1][: len(rows)]))
    ranked.write_csv(tmp_path / "ranked.csv")
    # Two short topics may rise by chance.
    (tmp_path / "short.txt").write_text("1 a 0.1\n1 b 0.2\n2 a 0.1\n2 b 0.3\n")
    for data in (topics, frame, rows, tmp_path / "ranked.csv", tmp_path / "short.txt"):
        cf.read_run(data)


def test_a_column_of_distances_as_scores(tmp_path: Path) -> None:
    table = pl.DataFrame({"topic": ["1", "1"], "doc": ["a", "b"], "cos_distance": [0.1, 0.5]})
    warns("'cos_distance' is read as a", cf.read_run, table, columns={"score": "cos_distance"})
    run = cf.read_run(table, columns={"score": "cos_distance"}, lower_is_better=True)
    assert run.scores.tolist() == [-0.1, -0.5]


def test_ranks_in_place_of_grades(tmp_path: Path) -> None:
    def read(*rows: tuple[str, str, int]) -> cf.Qrels:
        (tmp_path / "a.txt").write_text("".join(f"{t}\t{d}\t{n}\n" for t, d, n in rows))
        return cf.read_qrels(tmp_path / "a.txt")

    first, second = ([(t, d, k) for k, d in enumerate("abc", 1)] for t in "12")
    refuses("a.txt: expected judgments, got numbers that count", read, *first, *second)
    for rows in ([*first, *second[::-1]], first, [*first, *second[:2]], [*first, ("2", "a", 2)]):
        assert read(*rows).grades.tolist() == [grade for _, _, grade in rows]
    table = pl.DataFrame([*first, *second], schema=("topic", "doc", "grade"), orient="row")
    table.write_csv(tmp_path / "a.csv")
    lines = "".join(f"{t} 0 {d} {n}\n" for t, d, n in [*first, *second])
    (tmp_path / "trec.txt").write_text(lines)
    for data in (table, tmp_path / "a.csv", tmp_path / "trec.txt"):
        assert cf.read_qrels(data).grades.tolist() == [1, 2, 3, 1, 2, 3]


def test_subfolders_of_runs_are_named(tmp_path: Path) -> None:
    for name in ("a.run", "dense/b.run", ".old/c.run"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1 Q0 a 1 9 x\n")
    (tmp_path / "empty").mkdir()
    assert len(warns(r"^skipped folders in '.*': 'dense'$", cf.read_runs, tmp_path)) == 1
    assert len(cf.read_runs(tmp_path / "dense")) == 1


def test_trec_text_has_no_column_of_models(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("1 Q0 a 1 9 x\n2 Q0 a 1 9 y\n")
    with pytest.raises(cf.InputError, match="expected a column 'model', got TREC text"):
        cf.read_runs(tmp_path / "a.run", system="model")[0]
    assert [run.name for run in cf.read_runs(tmp_path / "a.run", system="tag")] == ["x", "y"]


def test_an_exclusion_without_effect_is_reported() -> None:
    runs, qrels = {"1": {"a": 2.0, "1": 1.0}}, {"1": {"a": 1}}
    for exclude in ({"1": ["99"]}, {"a": ["1"]}):
        warns("exclude has no effect", cf.judge, runs, qrels, exclude=exclude)
    warns("exclude has no effect", cf.judge, {"1": {"a": 2.0}}, qrels, exclude="self")
    for some in ("self", {"1": ["a"]}):
        assert cf.judge(runs, qrels, exclude=some).coverage.systems[0].n_excluded == 1


def test_grades_in_place_of_strata(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 0 a 2 1\n1 0 b 0 1\n1 0 c 1 2\n1 0 d -1 2\n")
    refuses("a.txt:4: stratum must not be", cf.read_qrels, tmp_path / "a.txt", format="xqrels")
    (tmp_path / "a.txt").write_text("1 0 a 1 2\n1 0 b 1 0\n1 0 c a-1 1\n1 0 d 2 -1\n")
    assert cf.read_qrels(tmp_path / "a.txt", format="xqrels").grades.tolist() == [2, 0, 1, -1]


def test_topics_without_judgments_of_an_aspect() -> None:
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    runs = {"1": {"a": 9.0}, "2": {"b": 8.0}}
    warns(
        r"aspect clear has no judgments for 1 of 2 topics",
        cf.judge,
        runs,
        qrels,
        aspects={"clear": {"1": {"a": 1}}},
    )
    cf.judge(runs, qrels, aspects={"clear": {"1": {"a": 1}, "2": {"b": 0}, "3": {"c": 1}}})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", 'qid\tdoc\tscore\n1\t"a\t2\n1\tb"\t1\n'),
        ("a.tsv", 'qid\tquery\tdoc\tscore\n1\t"new york\ta\t1\n2\tx"\tb\t1\n'),
        ("a.csv", 'qid,doc,score\n1,"a,2\n1,b",1\n'),
        ("a.csv", 'qid,doc,score,query\n1,a,2,"x\n1,b,3,z\n1,c,2,y"\n'),
    ],
)
def test_a_stray_quote_that_joins_rows(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    last = text.count("\n")
    refuses(rf"{name}:2: a quote joins lines 2 to {last} into one", cf.read_run, tmp_path / name)


def test_line_breaks_in_quoted_prose(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('qid,query,doc,score\n1,"new\nyork, or so",a,1\n2,"x",b,1\n')
    assert cf.read_run(path).docs.to_list() == ["a", "b"]
    path.write_text('qid,query,doc,score\n1,"new york,a,1\n2,x",b,1\n')
    warns(r"a.csv:2: a quote joins lines 2 to 3 into one row; if the quote", cf.read_run, path)


@pytest.mark.parametrize(
    ("text", "line", "columns"),
    [
        ("1 a 1\n1 0 b 0\n1 0 c 1\n1 0 d 1\n", 1, "4 columns"),
        ("1 a 1\n1 0 b 0\n1 c 1\n1 d 1\n", 2, "3 columns"),
        ("1 0 a 1\n1 0 b 0\n1 c 1\n1 0 d 1\n", 3, "4 columns"),
        ("1 a 1\n1 0 b 0\n", 2, "3 columns"),
        ("1 a 1\n1 b 0\n1 c x\n", 3, "grade 'x'"),
    ],
)
def test_check_and_reader_name_the_same_line(
    text: str, line: int, columns: str, tmp_path: Path
) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(text)
    with pytest.raises(cf.InputError, match=columns) as caught:
        cf.read_qrels(path)
    assert caught.value.line == line
    errors = cf.check(path).files[0].faults
    assert [(fault.line, columns in fault.message) for fault in errors] == [(line, True)]


def test_the_first_line_of_a_run_may_be_the_invalid_one(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_text("1 a 0.5\n1 Q0 b 1 2 t\n1 Q0 c 2 1 t\n")
    refuses(r"a.run:1: expected 6 columns .*, got 3", cf.read_run, path)
