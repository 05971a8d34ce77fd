"""Reading runs and judgments: every format, ugly but valid text, and the same rows each time."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import types
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import InputError, collect_warnings
from cranfield.collection.document_tables import read_groups
from cranfield.collection.pairs import compute_pair_keys, find_duplicate
from cranfield.sources import chunks as source
from cranfield.sources.chunks import Source
from cranfield.sources.values import is_number
from tests.collection.refusals import refuses, table_file, warns

ROWS = [("401", "d1", 3.5), ("401", "d2", 2.0), ("402", "d1", -1e-3), ("402", "dé", 7.0)]
TEXT = "".join(f"{t} Q0 {d} {i} {s!r} tag\n" for i, (t, d, s) in enumerate(ROWS)).encode()
JUDGED = [("401", "d1", 2), ("401", "d2", 0), ("402", "d1", -2)]
QRELS = "".join(f"{t} 0 {d} {g}\n" for t, d, g in JUDGED).encode()


def rows(run: cf.Run) -> list[tuple[Any, ...]]:
    return run.to_polars().select("topic", "doc", "score").rows()


def zstd(data: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd as module
    else:
        from backports import zstd as module
    return bytes(module.compress(data))


UGLY = {
    "plain": TEXT,
    "tabs": TEXT.replace(b" ", b"\t"),
    "mixed": TEXT.replace(b" ", b" \t ", 3).replace(b"Q0 ", b"Q0\t"),
    "wide": TEXT.replace(b" ", b"    "),
    "crlf": TEXT.replace(b"\n", b"\r\n"),
    "old mac": TEXT.replace(b"\n", b"\r"),
    "bom": b"\xef\xbb\xbf" + TEXT,
    "leading and trailing blanks": b"".join(b"  " + line + b" \t\n" for line in TEXT.splitlines()),
    "empty lines": b"\n\n" + TEXT.replace(b"\n", b"\n\n \n"),
    "no newline at the end": TEXT[:-1],
    "comments": b"# a comment\n" + TEXT.replace(b"\n402", b"\n  #402 Q0 x 1 1 t\n402", 1),
    "form feeds": TEXT.replace(b" ", b"\v").replace(b"tag", b"\ftag"),
    "more columns": TEXT.replace(b" tag", b" tag and more"),
}


@pytest.mark.parametrize("chunk", [source.CHUNK_BYTES, 7])
@pytest.mark.parametrize("kind", UGLY)
def test_ugly_text(kind: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(UGLY[kind])
    original = source.Source.iterate_chunks
    monkeypatch.setattr(source.Source, "iterate_chunks", lambda self: original(self, chunk))
    run = cf.read_run(path)
    assert rows(run) == ROWS
    assert run.name == "tag"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_archives_are_known_by_content(pack: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.whatever"
    path.write_bytes(pack(TEXT))
    assert rows(cf.read_run(path)) == ROWS
    qrels = tmp_path / "qrels"
    qrels.write_bytes(pack(QRELS))
    assert cf.read_qrels(qrels).to_polars().rows() == JUDGED


@pytest.mark.parametrize("magic", [b"\x50", b"\x5f"])
def test_zstandard_may_begin_with_a_frame_without_content(tmp_path: Path, magic: bytes) -> None:
    path = tmp_path / "run"
    skippable = magic + b"\x2a\x4d\x18\x04\0\0\0abcd"
    for data in (skippable + zstd(TEXT), skippable + skippable + zstd(TEXT) + skippable):
        path.write_bytes(data)
        assert rows(cf.read_run(path)) == ROWS


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))
    assert rows(cf.read_run("-")) == ROWS


def test_text_in_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "latin.run"
    path.write_bytes(TEXT.decode().encode("latin-1"))
    with pytest.raises(cf.InputError, match="byte 0xe9 is not valid UTF-8") as caught:
        cf.read_run(path)
    assert caught.value.line == 4
    assert rows(cf.read_run(path, encoding="latin-1")) == ROWS


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "ndjson", "parquet"])
def test_other_formats(suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS, schema=["query_id", "doc_id", "score"], orient="row")
    run = cf.read_run(table_file(tmp_path / f"mine.{suffix}", frame))
    assert rows(run) == ROWS
    assert run.name == "mine"


Scored = namedtuple("Scored", ["query_id", "doc_id", "score"])


@pytest.mark.parametrize(
    "data",
    [
        pl.DataFrame(ROWS, schema=["topic", "doc", "score"], orient="row"),
        pd.DataFrame(ROWS, columns=["qid", "docno", "score"]),
        pd.DataFrame(ROWS, columns=["q_id", "doc_id", "score"]).astype({"q_id": "category"}),
        pd.DataFrame(ROWS, columns=["QID", "DocNo", "Score"]).assign(QID=lambda f: f.QID.map(int)),
        pa.table(
            {
                k: list(v)
                for k, v in zip(("qid", "docid", "sim"), zip(*ROWS, strict=True), strict=True)
            }
        ),
        [Scored(*row) for row in ROWS],
        iter(ROWS),
        [{"query_id": t, "doc_id": d, "score": s} for t, d, s in ROWS],
        {"401": {"d1": 3.5, "d2": 2}, "402": {"d1": -1e-3, "dé": np.float32(7)}},
    ],
)
def test_data_in_memory(data: Any) -> None:
    assert rows(cf.read_run(data)) == ROWS


def test_judgments_of_ir_datasets_and_subtopics() -> None:
    qrel = namedtuple("qrel", ["query_id", "doc_id", "relevance", "iteration"])
    plain = cf.read_qrels([qrel("1", "a", 1, "0"), qrel("1", "b", 0, "0")])
    assert plain.subtopics is None
    rounds = cf.read_qrels([qrel("1", "a", 1, "4.5"), qrel("1", "b", 0, "5")])
    assert rounds.subtopics is None
    diverse = cf.read_qrels(
        [qrel("1", "a", 1, "1"), qrel("1", "a", 2, "2"), qrel("1", "b", 0, "1")]
    )
    assert diverse.subtopics is not None
    assert diverse.subtopics.to_list() == ["1", "2", "1"]
    assert diverse.merge_subtopics().to_polars().rows() == [("1", "a", 2), ("1", "b", 0)]


def test_whole_grades_and_ids_that_became_numbers() -> None:
    frame = pd.DataFrame({"qid": [1.0, 1.0], "docno": [7, 8], "label": [1.0, 0.0]})
    assert cf.read_qrels(frame).to_polars().rows() == [("1", "7", 1), ("1", "8", 0)]


def catalogue(name: str) -> Any:
    """Stand in for `load` of the package ir_datasets, whose data sets have to be fetched."""
    if name == "unknown":
        raise KeyError(name)
    if name == "offline":
        raise RuntimeError("no network\nat all")
    qrel = namedtuple("qrel", ["query_id", "doc_id", "relevance", "iteration"])
    scored = namedtuple("scored", ["query_id", "doc_id", "score"])
    return types.SimpleNamespace(
        has_qrels=lambda: True,
        has_scoreddocs=lambda: name == "both",
        qrels_iter=lambda: iter((qrel("1", "a", 1, "0"), qrel("1", "b", 0, "0"))),
        scoreddocs_iter=lambda: iter((scored("1", "b", 2.0), scored("1", "a", 1.0))),
    )


def test_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.SimpleNamespace(load=catalogue)
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    assert len(cf.read_qrels("irds:both")) == 2
    assert cf.evaluate("irds:both", "irds:both", "AP")["AP"].values.tolist() == [[0.5]]
    refuses("irds:qrels: expected a data set with a run", cf.read_run, "irds:qrels")
    refuses("unknown data set", cf.read_run, "irds:unknown")
    refuses("failed: no network$", cf.read_run, "irds:offline")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    refuses("pip install", cf.read_qrels, "irds:both", error=cf.MissingDependencyError)


finite = st.floats(allow_nan=False, allow_infinity=False)
identifiers = st.text(
    st.characters(blacklist_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=12
).filter(lambda s: not s.startswith(("#", "\ufeff")) and not set(s) & set(" \t\v\f\r\n"))
tables = st.dictionaries(st.tuples(identifiers, identifiers), finite, min_size=1, max_size=12)


def test_scores_far_apart_are_read_without_overflow(tmp_path: Path) -> None:
    path = tmp_path / "far.run"
    path.write_text("1 Q0 a 1 1.7e308 x\n2 Q0 a 1 -1.7e308 x\n")
    assert cf.read_run(path).scores.tolist() == [1.7e308, -1.7e308]


@pytest.mark.filterwarnings("ignore:.* read as text, not as missing")
@given(tables)
def test_written_runs_are_read_back(table: dict[tuple[str, str], float]) -> None:
    import tempfile

    nested: dict[str, dict[str, float]] = {}
    for (topic, doc), score in table.items():
        nested.setdefault(topic, {})[doc] = score
    run = cf.read_run(nested, name="x")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.run", "a.run.zst", "a.run.gz"):
            path = Path(folder) / name
            cf.write_run(run, path)
            again = cf.read_run(path)
            assert sorted(rows(again)) == sorted(rows(run))
            assert [p.name for p in Path(folder).iterdir() if p.name.startswith(".")] == []
        # The order that was written is the order by score, and the ranks say so.
        assert cf.read_run(path).ranks is not None
        one = cf.evaluate(run, {t: dict.fromkeys(d, 1) for t, d in nested.items()}, "RR")
        two = cf.evaluate(
            path, {t: dict.fromkeys(d, 1) for t, d in nested.items()}, "RR", ties="rank"
        )
        assert one["RR"].values.tolist() == two["RR"].values.tolist()


def test_writing_refuses_what_cannot_be_read_back(tmp_path: Path) -> None:
    run = cf.read_run({"q 1": {"d": 1.0}})
    with pytest.raises(cf.CranfieldError, match="'q 1' is empty or contains a blank"):
        cf.write_run(run, tmp_path / "a.run")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(cf.InputError, match="cannot be written"):
        cf.write_qrels(cf.read_qrels({"q": {"d": 1}}), tmp_path / "no" / "where")
    cf.write_qrels(cf.read_qrels({"q": {"d": 1}}), tmp_path / "qrels.txt")
    assert (tmp_path / "qrels.txt").read_bytes() == b"q 0 d 1\n"


def test_depth_of_written_runs(tmp_path: Path) -> None:
    cf.write_run(
        cf.read_run({"q": {"a": 1.0, "b": 1.0, "c": 3.0}}, name="n"), tmp_path / "r", limit=2
    )
    assert (tmp_path / "r").read_text() == "q Q0 c 1 3.0 n\nq Q0 b 2 1.0 n\n"


def test_many_runs(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden"):
        (tmp_path / f"{name}.run").write_bytes(TEXT.replace(b"tag", name.encode()))
    assert [run.name for run in cf.read_runs(tmp_path)] == ["a", "b"]
    assert [run.name for run in cf.read_runs(f"{tmp_path}/*.run")] == ["a", "b"]
    assert [run.name for run in cf.read_runs([tmp_path / "b.run", f"{tmp_path}/a*"])] == ["b", "a"]
    assert len(cf.read_runs({"x": {"q": {"d": 1.0}}, "y": {"q": {"d": 1.0}}})) == 2
    assert len(cf.read_runs({"q": {"d": 1.0}, "r": {"d": 1.0}})) == 1
    assert repr(cf.read_runs(tmp_path)[:1]) == "Runs(1 run)"
    assert cf.read_runs(tmp_path)["b"].name == "b"
    with pytest.raises(cf.PolicyError, match="unknown run 'bb'; did you mean 'b'?"):
        cf.read_runs(tmp_path)["bb"]
    refuses("no file matches", cf.read_runs, f"{tmp_path}/*.xz")
    with pytest.raises(cf.InputError, match="expected runs in the folder, got none"):
        (tmp_path / "empty").mkdir()
        cf.read_runs(tmp_path / "empty")


def test_runs_of_one_tag_are_found_by_the_names_of_their_files(tmp_path: Path) -> None:
    """So an evaluation calls them."""
    for name, score in (("b", 1), ("a", 2)):
        (tmp_path / f"{name}.run").write_text(f"q Q0 d 1 {score} mine\n")
    with pytest.warns(cf.CranfieldWarning, match="named by file name"):
        assert cf.read_runs(tmp_path)["b"].scores.tolist() == [1.0]
    covid = cf.bundled.trec_covid()
    assert covid.runs[covid.runs[3].name].name == covid.runs[3].name


def test_a_name_that_is_given_is_kept() -> None:
    """An empty one, too: no other is made up."""
    run, qrels = {"q": {"d": 1.0}}, {"q": {"d": 1}}
    assert cf.evaluate({"": run, "b": run}, qrels, "AP").systems == ("", "b")
    for form in (run, [("q", "d", 1.0)]):
        assert cf.read_run(form, name="").name == ""


def test_memory_is_columnar(tmp_path: Path) -> None:
    """A row costs a view of its id, a score, a topic code, a rank and a key: no Python objects."""
    import tracemalloc

    n = 100_000
    path = tmp_path / "big.run"
    path.write_text("".join(f"{i // 1000} Q0 doc{i} 1 {-i} t\n" for i in range(n)))
    cf.read_run(path)
    tracemalloc.start()
    run = cf.read_run(path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 60 * n
    assert run.docs.estimated_size() < 40 * n


@pytest.mark.parametrize("first", ["# run 2", "#\tq\t5", "# q d L1", "#a;b;c;1;2.5;f"])
@pytest.mark.parametrize("line", ["q Q0 d 1 2.5 t", "q\td\t2.5"])
def test_a_comment_says_nothing_of_the_format(first: str, line: str, tmp_path: Path) -> None:
    for suffix in ("run", "tsv"):
        (tmp_path / f"a.{suffix}").write_text(f"{first}\n{line}\n".replace(" ", "\t"))
        assert cf.read_run(tmp_path / f"a.{suffix}").to_polars()["score"].to_list() == [2.5]


def test_three_columns_hold_finite_numbers_and_ids_with_any_but_blanks(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("a\x1fb d 2.5\n")
    assert cf.read_run(tmp_path / "a.run").topics == ("a\x1fb",)
    (tmp_path / "a.run").write_text("q d 2.5\nq e infinity\n")
    refuses("value 'infinity' is not a finite number", cf.read_run, tmp_path / "a.run")


def test_whole_numbers_of_many_digits(tmp_path: Path) -> None:
    """Python refuses to read thousands of digits."""
    (tmp_path / "a.run").write_text(f"q Q0 d {'0' * 5000}7 1 t\n")
    ranks = cf.read_run(tmp_path / "a.run").ranks
    assert ranks is not None
    assert ranks.tolist() == [7]
    (tmp_path / "qrels").write_text(f"q 0 d {'0' * 5000}1\nq 0 e 0{'9' * 5000}\n")
    refuses(r"qrels:2: grade '0999.* is not an integer", cf.read_qrels, tmp_path / "qrels")


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_no_line_is_lost_behind_a_carriage_return(end: str, tmp_path: Path) -> None:
    """Further columns are ignored: a whole line could be some."""
    lines = ["1 Q0 a 1 3 t", "1 Q0 b 2 2 t\r1 Q0 c 3 1 t", "1 Q0 d 4 0 t"]
    (tmp_path / "a.run").write_bytes(end.join(lines).encode())
    refuses(r"a\.run:2: a carriage return within a line of 12", cf.read_run, tmp_path / "a.run")


def test_the_name_of_a_run_is_text() -> None:
    with pytest.raises(cf.PolicyError, match="the name of a run must be text"):
        cf.read_run({"1": {"a": 1.0}}).rename(["x"])  # type: ignore[arg-type]


def test_grades_in_the_column_of_iterations_are_reported(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("1 2 a 0\n1 0 b 0\n2 1 a 0\n")
    qrels = warns("all grades .column 4. are 0, and .* are 0, 1, 2;", cf.read_qrels, path)
    assert qrels.grades.tolist() == [0, 0, 0]
    recwarn.clear()
    # Nothing relevant, grades beside iterations, names of assessors.
    for lines in ("1 0 a 0\n1 0 b 0\n", "1 1 a 0\n1 2 b 1\n", "1 ann a 0\n1 bob b 0\n"):
        path.write_text(lines)
        cf.read_qrels(path)
    assert not recwarn.list


MISSING_RANKS = {
    "k.csv": "qid,docno,rank\n1,a,2\n1,d,3\n2,e,2\n",
    "k.jsonl": '{"qid": "1", "docno": "a", "rank": 2}\n{"qid": "1", "docno": "d", "rank": 3}\n'
    '{"qid": "2", "docno": "e", "rank": 2}\n',
    "k.json": '{"1": [{"doc": "a", "rank": 2}, {"doc": "d", "rank": 3}],'
    ' "2": [{"doc": "e", "rank": 2}]}',
    "k.run": "1 Q0 a 2 9 s\n1 Q0 d 3 8 s\n2 Q0 e 2 7 s\n",
}
MISSING = "2 ranks missing, such as rank 1 of topic '1'; documents below missing ranks move up"


@pytest.mark.parametrize("name", MISSING_RANKS)
def test_missing_ranks_are_counted_where_ranks_decide_the_order(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(MISSING_RANKS[name])
    qrels = {"1": {"a": 1, "d": 0}, "2": {"e": 1}}
    warns(f"{name}: {MISSING}", cf.judge, tmp_path / name, qrels, ties="rank")
    if name != "k.run":
        warns(MISSING, cf.read_run, tmp_path / name)
        assert MISSING in str(cf.check(_write_qrels(tmp_path), tmp_path / name))
    else:
        cf.judge(tmp_path / name, qrels)


def _write_qrels(folder: Path) -> Path:
    (folder / "k.q").write_text("1 0 a 1\n1 0 d 0\n2 0 e 1\n")
    return folder / "k.q"


@pytest.mark.parametrize(
    ("ranks", "missing"),
    [
        ([[1, 2, 3], [1, 2]], ""),
        ([[0, 1, 2], [0, 1]], ""),
        ([[1, 1, 3], [1, 2]], ""),  # ties
        ([[1, 1, 2], [1, 2]], ""),
        ([[3, 1, 2], [2, 1]], ""),
        ([[1, 2, 4], [1, 2]], "1 rank missing, such as rank 3 of topic '0'"),
        ([[0, 1, 2], [1, 2]], "1 rank missing, such as rank 0 of topic '1'"),
        ([[1, 2, 3], [11, 12]], "10 ranks missing, such as rank 1 of topic '1'"),
    ],
)
def test_ranks_that_are_missing(ranks: list[list[int]], missing: str) -> None:
    rows = [(t, f"d{k}", rank) for t, some in enumerate(ranks) for k, rank in enumerate(some)]
    frame = pl.DataFrame(rows, schema=["topic", "doc", "rank"], orient="row")
    with collect_warnings() as warnings:
        cf.read_run(frame)
    assert len(warnings) == bool(missing)
    assert missing in "".join(warnings)


def test_series_of_documents() -> None:
    scores, grades = pd.Series({"a": 2.0, "b": 1.0}), pd.Series({10: 0, 11: 1})
    assert cf.read_run({"1": scores}).to_polars().rows() == [("1", "a", 2.0), ("1", "b", 1.0)]
    assert cf.read_runs({"s": {"1": scores}})["s"].to_polars().height == 2
    assert cf.read_qrels({"1": grades}).to_polars()["doc"].to_list() == ["10", "11"]
    # A series of documents is a list; numbers without labels are no documents.
    assert cf.read_run({"1": pd.Series(["b", "a"])}).docs.to_list() == ["b", "a"]
    refuses("expected {document: score} for topic '1", cf.read_run, {"1": pd.Series([2.0, 1.0])})


def test_a_column_has_one_role(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("topic,doc,score\n1,a,1\n1,b,2\n1,c,3\n")
    ranked = cf.read_run(tmp_path / "r.csv", columns={"rank": "score"})
    assert ranked.scores.tolist() == [-1, -2, -3]
    assert cf.read_run(tmp_path / "r.csv", columns={"score": "score"}).scores.tolist() == [1, 2, 3]
    (tmp_path / "p.csv").write_text("Query Text,Doc ID,Doc Position,Rating\nx,a,1,0\nx,b,2,1\n")
    assert warns("not used: 'Rating'", cf.read_run, tmp_path / "p.csv").scores.tolist() == [-1, -2]
    (tmp_path / "s.csv").write_text("topic,doc,score,rank\n1,a,5,1\n1,b,4,2\n")
    with pytest.warns(cf.CranfieldWarning, match="columns not used: 'score'"):
        scored = cf.read_run(tmp_path / "s.csv", columns={"score": "rank"})
    assert (scored.scores.tolist(), scored.ranks) == ([1, 2], None)


def test_a_decimal_rank_has_no_advice_on_grades() -> None:
    with pytest.raises(InputError, match=r"rank '0.5' is not an integer \(of 32 bits\) \(topic"):
        cf.read_run(pl.DataFrame({"topic": ["1", "1"], "doc": ["a", "b"], "rank": [1.0, 0.5]}))


def test_scores_of_several_systems_that_rise_like_distances(tmp_path: Path) -> None:
    run = {topic: {f"d{k}": k for k in range(1, 6)} for topic in ("1", "2")}
    (tmp_path / "one.json").write_text(json.dumps(run))
    (tmp_path / "two.json").write_text(json.dumps({"a": run, "b": run}))
    qrels = {"1": {"d1": 1}, "2": {"d1": 1}}
    for name, systems in (("one", ["one"]), ("two", ["a", "b"])):
        coverage = cf.judge(tmp_path / f"{name}.json", qrels).coverage
        assert [(row.system, row.n_contradictions) for row in coverage.systems] == [
            (system, 8) for system in systems
        ]


@pytest.mark.parametrize("mark", ["NA", "N/A", "-", "nan", "null"])
def test_groups_that_may_be_missing_are_reported(mark: str) -> None:
    with pytest.warns(cf.CranfieldWarning, match=f"group '{mark}' in 1 row is read as text"):
        read_groups({"doc": ["a", "b"], "group": ["x", mark]})


@pytest.mark.parametrize("orient", ["columns", "index", "split", "records", "table"])
def test_json_of_pandas(orient: Any, tmp_path: Path) -> None:
    rows = {"query_id": ["q", "q", "r"], "doc_id": ["a", "b", "a"], "label": [2, 0, 1]}
    pd.DataFrame(rows).to_json(tmp_path / "t.json", orient=orient)
    qrels = cf.read_qrels(tmp_path / "t.json")
    assert qrels.to_polars().rows() == [("q", "a", 2), ("q", "b", 0), ("r", "a", 1)]
    pd.DataFrame({**rows, "worker": "ann"}).to_json(tmp_path / "l.json", orient=orient)
    assert len(cf.assess.read_labels(tmp_path / "l.json")) == 3


def test_ids_that_are_numbers_are_not_rows_of_pandas(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"0": {"0": 1, "1": 0}, "1": {"0": 0, "1": 2}}')
    assert cf.read_qrels(tmp_path / "q.json").grades.tolist() == [1, 0, 0, 2]


_NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds(lambda x, d: f"{x:.{d}f}", st.floats(-1e4, 1e4), st.integers(0, 14)),
    st.integers(-(10**20), 10**20).map(str),
    st.from_regex(r"[+-]?[0-9]{0,19}\.?[0-9]{0,19}", fullmatch=True),
).filter(is_number)


@given(st.lists(_NUMBERS, min_size=1, max_size=9), st.sampled_from([" ", "  \t"]))
@example(["-0", "-0.0", ".5", "5.", "0.9007199254740993", "9007199254740993", "1e5"], " ")
@example(["12345678.9", "123456789.5", "0.000000000000000001", "12345678"], " ")
def test_scores_are_what_python_reads(numbers: list[str], blank: str) -> None:
    lines = (["1", "Q0", f"d{k}", "1", number, "a"] for k, number in enumerate(numbers))
    text = "".join(blank.join(fields) + "\n" for fields in lines)
    run = cf.read_run(Source("a.run", content=text.encode()))
    assert run.scores.tobytes() == np.array([*map(float, numbers)]).tobytes()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=12))
@example([(1, 2), (1, 2), (1, 3)])
@example([(1, 2), (1, 3), (1, 2)])
def test_a_repeat_is_found_among_keys_with_equal_leading_bits(parts: list[tuple[int, int]]) -> None:
    keys = np.array([(lead << 62) + low for lead, low in parts], dtype=np.uint64)
    first_rows: dict[tuple[int, int], int] = {}
    repeats = [
        (first_rows[part], row)
        for row, part in enumerate(parts)
        if first_rows.setdefault(part, row) != row
    ]
    docs, codes = pl.Series([str(part) for part in parts]), np.zeros(len(parts), dtype=np.int32)
    assert find_duplicate(keys, docs, codes) == (
        min(repeats, key=lambda x: x[1]) if repeats else None
    )


@pytest.mark.parametrize("alike", [False, True])
def test_a_repeat_is_found_among_many(alike: bool) -> None:
    """Also where all keys are the same."""
    draw = np.random.default_rng(3)
    docs = pl.Series([f"d{k}" for k in draw.permutation(3000)])
    codes = draw.integers(0, 30, 3000, dtype=np.int32)
    topics = [str(code) for code in range(30)]
    for first, again in [(0, 0), (5, 2000), (0, 2999), (10, 11)]:
        some, of = docs.to_list(), codes.copy()
        some[again], of[again] = some[first], of[first]
        keys = compute_pair_keys(pl.Series(some), of, topics)
        if alike:
            keys[:] = 7
        expected = None if first == again else (first, again)
        assert find_duplicate(keys, pl.Series(some), of) == expected
