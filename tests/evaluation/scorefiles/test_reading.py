"""Scores from elsewhere: every form, and what is wrong with a file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from cranfield.collection import read_lengths
from tests.collection.refusals import refuses, written
from tests.evaluation.scorefiles.files import read

WIDE = "topic,bm25,dense\nq1,0.5,1\nq2,,0.25\n"
NAN = float("nan")


def same(
    scores: cf.Scores, values: Any, topics: str = "q1 q2", systems: str = "bm25 dense"
) -> None:
    np.testing.assert_array_equal(scores.values, values)
    assert scores.topics == tuple(topics.split())
    assert scores.systems == tuple(systems.split())


@pytest.mark.parametrize(
    "text",
    [
        WIDE,
        WIDE.replace("\n", "\r\n"),
        "\ufeff" + WIDE,
        WIDE.replace("topic", ""),
        WIDE.replace("topic", "QID"),
        WIDE.replace("q2,,", "q2,NaN,").replace("topic,", "question,"),
        WIDE.replace("q2,,", '"q2", NA ,') + "\n\n",
        "system,topic,score\nbm25,q1,0.5\ndense,q1,1\ndense,q2,.25\n",
        "run,query_id,measure,value\nbm25,q1,AP,0.5\ndense,q1,AP,1\ndense,q2,AP,.25\n",
    ],
)
def test_tables(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(text.encode())
    same(cf.read_scores(tmp_path / "s.csv"), [[0.5, 1], [NAN, 0.25]])
    (tmp_path / "s.tsv.gz").write_bytes(gzip.compress(text.replace(",", "\t").encode()))
    same(cf.read_scores(tmp_path / "s.tsv.gz"), [[0.5, 1], [NAN, 0.25]])
    (tmp_path / "s.txt").write_bytes(text.encode())
    same(cf.read_scores(tmp_path / "s.txt"), [[0.5, 1], [NAN, 0.25]])


def test_numbers_only(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,b\n.5,1\n0,.25\n")
    same(cf.read_scores(tmp_path / "s.csv"), [[0.5, 1], [0, 0.25]], "1 2", "a b")


def test_frames_and_other_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"topic": ["q1", "q2"], "bm25": [0.5, None], "dense": [1.0, 0.25]})
    values = [[0.5, 1], [NAN, 0.25]]
    same(cf.read_scores(frame), values)
    same(cf.read_scores(frame.lazy()), values)
    same(cf.read_scores(frame.to_arrow()), values)
    same(cf.read_scores(frame.to_pandas()), values)
    same(cf.read_scores(frame.to_pandas().set_index("topic")), values)
    frame.write_parquet(tmp_path / "s.parquet")
    same(cf.read_scores(tmp_path / "s.parquet"), values)
    (tmp_path / "s.json").write_text('{"bm25": {"q1": 0.5}, "dense": {"q1": 1, "q2": 0.25}}')
    same(cf.read_scores(tmp_path / "s.json"), values)
    frame.write_ndjson(tmp_path / "s.jsonl")
    same(cf.read_scores(tmp_path / "s.jsonl"), values)
    numbered = pd.DataFrame({"qid": [1.0, 2.0], "bm25": [0.5, 0.0]})
    assert cf.read_scores(numbered).topics == ("1", "2")


def test_what_we_write_reads_back(tmp_path: Path) -> None:
    ev = cf.evaluate(
        [cf.read_run({"q": {"d": 1}, "r": {"e": 1}}, name=name) for name in "ab"],
        {"q": {"d": 1}, "r": {"f": 1}},
        ["AP", "NumRet"],
    )
    ev.write_csv(tmp_path / "long.csv")
    ev["AP"].write_csv(tmp_path / "wide.csv")
    for scores in (
        cf.read_scores(tmp_path / "long.csv", measure="AP"),
        cf.read_scores(tmp_path / "wide.csv", measure="AP"),
    ):
        same(scores, ev["AP"].values, "q r", "a b")
        assert (scores.measure, scores.scale) == ("AP", cf.Scale.ORDINAL)
    refuses("scores of one measure, got AP, NumRet", cf.read_scores, tmp_path / "long.csv")
    refuses("unknown measure 'RR'; expected", cf.read_scores, tmp_path / "long.csv", measure="RR")


def test_output_of_ntcireval(tmp_path: Path) -> None:
    lines = [
        "{0} # syslen=9 jrel=4 jnonrel=2",
        "{0} # r1=1 rp=2",
        "{0} RR=                  {1}",
        "{0} MSnDCG@0010=         0.2500",
    ]
    text = "".join(f"{line.format(*row)}\n" for row in (("01", 0.5), ("02", 1.0)) for line in lines)
    scores = read(text, tmp_path, "bm25.nev", measure="RR")
    assert (scores.systems, scores.topics) == (("bm25",), ("01", "02"))
    assert scores.values.tolist() == [[0.5], [1.0]]
    refuses("got no line with text", read, f"{lines[0].format('01')}\n", tmp_path, "bm25.nev")


def test_lines_of_other_programs(tmp_path: Path) -> None:
    trec = "map \t1\t0.5\nP_5 \t1\t0.2\nmap \t2\t1\nP_5\t2\t0\nrunid\tall\tbest\nmap\tall\t.75\n"
    (tmp_path / "a.eval").write_text(trec)
    same(cf.read_scores(tmp_path / "a.eval", measure="map"), [[0.5], [1]], "1 2", "best")
    (tmp_path / "b.eval").write_text("1\tmap\t0.25\n2\tmap\t.5\nall\tmap\t.375\n")
    both = cf.read_scores([tmp_path / "a.eval", tmp_path / "b.eval"], measure="map")
    same(both, [[0.5, 0.25], [1, 0.5]], "1 2", "best b")
    with pytest.raises(cf.CranfieldError, match="duplicate system 'b'"):
        cf.read_scores([tmp_path / "b.eval", tmp_path / "b.eval"])


def test_shards(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        "topic,system,shard,score\n1,a,x,.5\n1,a,y,.25\n1,b,x,1\n2,a,x,0\n2,b,x,.5\n"
    )
    scores = cf.read_scores(tmp_path / "s.csv")
    assert scores.values.shape == (2, 2, 2)
    np.testing.assert_array_equal(scores.values[0], [[0.5, 0.25], [1, NAN]])


def test_other_faults(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(b"topic,a\nq\xff,1\n")
    refuses(":2: is not UTF-8 text", cf.read_scores, tmp_path / "s.csv")
    refuses("not readable Parquet", cf.read_scores, written(tmp_path / "s.parquet", "PAR1"))
    refuses("cannot be read", cf.read_scores, tmp_path / "absent.csv")
    refuses("a mapping or a list of these, got int", cf.read_scores, 7)
    refuses("at least one system", cf.read_scores, {})
    refuses("unknown format 'xls'; expected", cf.read_scores, "x", format="xls", error=PolicyError)


SUMMARY_NAMES = ["SE", "sem", "stderr", "var", "CI", "MAP", "mAP", "arithmetic_mean", "Grand Mean",
                 "macro", "micro", "aggregate", "All topics", "all_topics", "mean (all)", "n",
                 "Average (4)", "Mittelwert", "Gesamt"]  # fmt: skip


@pytest.mark.parametrize("name", SUMMARY_NAMES)
def test_rows_that_summarise_topics_are_skipped(name: str, tmp_path: Path) -> None:
    with pytest.warns(cf.CranfieldWarning, match="rows that summarise topics are skipped"):
        scores = read(f"topic,a\nq1,0.5\nq2,0.25\n{name},0.9\n", tmp_path)
    assert scores.topics == ("q1", "q2")


def test_a_description_by_pandas_is_skipped(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.4]}, index=["q1", "q2", "q3"])
    text = pd.concat([frame, frame.describe()]).to_csv(index_label="topic")
    with pytest.warns(cf.CranfieldWarning, match="skipped: '25%', '50%', '75%', 'count', 'max'"):
        assert read(text, tmp_path).topics == ("q1", "q2", "q3")
    # Countries, queries and proportions may have the same names.
    for labels in (["de", "se", "n"], ["map", "new york"], ["25%", "50%", "75%"]):
        rows = "".join(f"{label},0.5\n" for label in labels)
        with pytest.warns(cf.CranfieldWarning, match="are skipped: 'all';"):
            assert read(f"topic,a\n{rows}all,0.5\n", tmp_path).topics == tuple(labels)


@pytest.mark.filterwarnings("ignore:.*outside its range")
@pytest.mark.parametrize(
    ("cell", "score"),
    [
        *(("1e5", "100000.0"), (" 1.0 ", "1.0"), ("-.5", "-0.5"), ("+1.", "1.0")),
        *(("nan", "nan"), ("NaN", "nan"), ("", "nan"), ("N/A", "nan"), ("-", "nan")),
    ],
)
def test_numbers(cell: str, score: str, tmp_path: Path) -> None:
    both = f"[[{score}], [0.0]]"
    assert str(read(f"topic,a\nq1,{cell}\nq2,0\n", tmp_path).values.tolist()) == both
    if cell.strip():
        text = f"map\tq1\t{cell}\nmap\tq2\t0\n"
        assert str(read(text, tmp_path, "s.eval").values.tolist()) == both


@pytest.mark.parametrize("column", ["topic", "system"])
def test_a_label_that_is_a_list_is_refused(column: str, tmp_path: Path) -> None:
    row = {"topic": "q1", "system": "a", "score": 1}
    rows = [row, row | {"topic": "q2"} | {column: ["x"]}]
    lines = "\n".join(map(json.dumps, rows))
    for text, place in ((json.dumps(rows), "s.json"), (lines, "s.jsonl:2")):
        with pytest.raises(InputError, match=f"{place}: {column} .* is not text or a number"):
            read(text, tmp_path, place.split(":")[0])


@pytest.mark.parametrize(
    "cell", ["1_0", "inf", "-Infinity", "1e999", "٣", "0x1", "1e", "−1", "1 0"]
)
def test_what_is_no_number(cell: str, tmp_path: Path) -> None:
    for text, name in (
        (f"topic,a\nq1,0\nq2,{cell}\n", "s.csv"),
        (f"topic,system,score\nq1,a,0\nq2,a,{cell}\n", "s.csv"),
        (f"map\tq1\t0\nmap\tq2\t{cell}\n", "s.eval"),
        (f'{{"topic": "q1", "a": 0}}\n\n{{"topic": "q2", "a": "{cell}"}}', "s.jsonl"),
    ):
        refuses(r":[23]: score .* is not a finite number .topic 'q2'", read, text, tmp_path, name)
    refuses("is not a finite number", cf.read_scores, {"a": {"q1": cell}})


def test_a_separator_declared_for_excel(tmp_path: Path) -> None:
    for mark in ",;":
        text = f"sep={mark}\ntopic,a,b\nq1,0.5,1\n".replace(",", mark)
        assert read(text, tmp_path).values.tolist() == [[0.5, 1]]
    (tmp_path / "q.csv").write_text("sep=,\ntopic,doc,grade\nq1,d1,x\n")
    refuses("q.csv:3: grade 'x'", cf.read_qrels, tmp_path / "q.csv")
    for mark in ",;":
        (tmp_path / "l.csv").write_text(f"sep={mark}\ndoc{mark}length\nd1{mark}812\n")
        assert read_lengths(tmp_path / "l.csv").values.tolist() == [812]


def test_semicolons(tmp_path: Path) -> None:
    for name in ("s.csv", "s.txt"):
        scores = read("topic;a;b\nq1;0.5;1\nq2;;.25\n", tmp_path, name)
        assert str(scores.values.tolist()) == "[[0.5, 1.0], [nan, 0.25]]"
        scores = read("topic;a;b\n1,5;0,5;1\nq2;;,25\n", tmp_path, name)
        assert str(scores.values.tolist()) == "[[0.5, 1.0], [nan, 0.25]]"
        assert (scores.topics, scores.systems) == (("1,5", "q2"), ("a", "b"))
    assert read("a;b\n0,5;1\n,25;0\n", tmp_path).values.tolist() == [[0.5, 1], [0.25, 0]]
    assert read("topic\ta\nq1\t.5\n", tmp_path).values.tolist() == [[0.5]]
    assert read("topic;a\n q1 ;.5\n", tmp_path).topics == ("q1",)
