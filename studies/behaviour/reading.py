"""Readers and writers: every format, from files and from memory, and the errors of bad input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import cranfield as cf
from cranfield import sessions, texts
from cranfield.collection.document_tables import read_groups, read_lengths
from cranfield.collection.intents import read_intents
from studies.behaviour.recording import Item
from studies.behaviour.samples import (
    BAD_FILES,
    EXAMPLES,
    TEST_DATA,
    bad_files,
    evaluated,
    generated,
    real,
    sharded,
)
from studies.behaviour.showing import shown

READERS: dict[str, Callable[..., Any]] = {
    "qrels": cf.read_qrels,
    "run": cf.read_run,
    "runs": cf.read_runs,
    "scores": cf.read_scores,
    "sessions": cf.read_sessions,
    "session topics": sessions.read_session_topics,
    "shards": cf.read_shards,
    "lengths": read_lengths,
    "groups": read_groups,
    "intents": read_intents,
    "nuggets": texts.read_nuggets,
    "assignments": texts.read_nugget_assignments,
    "citations": texts.read_citations,
    "answers": lambda data: texts.judge_answers(data, "nuggets.csv"),
    "summaries": lambda data: texts.judge_summaries(data, "references.csv"),
    "references": lambda data: texts.judge_summaries("summaries.csv", data),
}

RUN = {"topic": ["1", "1", "2"], "doc": ["d01", "d02", "d08"], "score": [0.9, 0.5, 1.0]}
QRELS = {"topic": ["1", "1", "2"], "doc": ["d01", "d02", "d08"], "grade": [2, 0, 1]}

MEMORY: dict[str, Any] = {
    "dict": {"1": {"d01": 1, "d02": 0}, "2": {"d08": 2}},
    "dict of floats": {"1": {"d01": 1.5, "d02": 0.25}},
    "named runs": {"one": {"1": {"d01": 1.5}}, "two": {"1": {"d02": 0.25}}},
    "columns of a run": RUN,
    "columns of qrels": QRELS,
    "frame of a run": pl.DataFrame(RUN),
    "frame of qrels": pl.DataFrame(QRELS),
    "other names": pl.DataFrame({"qid": [1, 2], "docno": ["a", "b"], "sim": [1.0, 2.0]}),
    "more names": pl.DataFrame({"query_id": [1], "doc_id": ["a"], "relevance": [1]}),
    "null": pl.DataFrame({"topic": ["1", None], "doc": ["a", "b"], "score": [1.0, 2.0]}),
    "NaN": pl.DataFrame({"topic": ["1"], "doc": ["a"], "score": [float("nan")]}),
    "half": pl.DataFrame({"topic": ["1"], "doc": ["a"], "grade": [0.5]}),
    "text": pl.DataFrame({"topic": ["1"], "doc": ["a"], "score": ["x"]}),
    "twice": pl.DataFrame({"topic": ["1", "1"], "doc": ["a", "a"], "grade": [1, 2]}),
    "no rows": pl.DataFrame(RUN).clear(),
    "lists": [("1", "d01", 1), ("1", "d02", 0)],
    "records": [{"topic": "1", "doc": "d01", "score": 1.0}, {"topic": "1", "doc": "d02"}],
    "empty dict": {},
    "empty list": [],
    "empty topic": {"1": {}},
    "number": 7,
    "none": None,
    "bytes": b"1 0 d01 1\n",
    "flat": {"d01": 12, "d02": 3.5, "d03": -1},
    "flat text": {"d01": "x", "d02": ["x", "y"], "d03": {"z": 0.5}},
    "intents": {"1": {"a": 0.75, "b": 0.25}, "2": {"a": 0.3, "b": 0.3}},
    "scores": {"a": {"1": 0.5, "2": 0.25}, "b": {"1": 0.125}},
    "wide scores": pl.DataFrame({"topic": ["1", "2"], "a": [0.5, 0.25], "b": [0.1, None]}),
    "evaluation": lambda: cf.evaluate(["bm25.run", "dense.run"], "qrels.txt", "AP"),
    "evaluation by two": lambda: cf.evaluate("bm25.run", "qrels.txt", ["AP", "RR"]),
    "made scores": lambda: generated(3),
    "pandas": lambda: pl.DataFrame(RUN).to_pandas(),
    "pandas of scores": lambda: generated(1).to_pandas(),
    "xarray of scores": lambda: generated(1).to_xarray(),
    "read run": lambda: cf.read_run("bm25.run"),
    "read qrels": lambda: cf.read_qrels("qrels.txt"),
    "nested": {"1": {"d01": {"x": 1}}},
}

LINES: dict[str, bytes] = {
    "bom": b"\xef\xbb\xbf1 0 d01 1\n",
    "comments": b"# one\n\n1 0 d01 1\n  # two\n1\t0\td02\t0\n",
    "carriage": b"1 0 d01 1\r\n1 0 d02 0\r\n",
    "old": b"1 0 d01 1\r1 0 d02 0\r",
    "no end": b"1 0 d01 1\n1 0 d02 0",
    "negative": b"1 0 d01 -2\n1 0 d02 +1\n",
    "subtopics": b"1 1 d01 1\n1 2 d01 0\n1 1 d02 2\n",
    "mixed": b"1 0 d01 1\n1 0 d02 x\n1 0 d03\n",
    "run": b"1 Q0 d01 1 1e-3 t\n1 Q0 d02 2 .5 t\n1 Q0 d03 x 5. t\n",
    "infinite": b"1 Q0 d01 1 1e999 t\n",
    "seven": b"1 Q0 d01 1 0.5 t more\n",
    "nul": b"1 0 d\x0001 1\n",
    "unicode": "1 0 d\u00e9\u202e 1\n".encode(),
    "prels": b"1 d01 2 1 1.0\n1 d02 0 1 0.5\n",
    "ntcir": b"1;d01;L2\n1;d02;L0\n",
    "ntcir run": b"1 0 d01 1 5.0 t\n1 0 d02 2 4.0 t\n",
    "csv": b"topic,doc,score,grade\n1,d01,0.5,1\n1,d02,0.25,0\n",
    "json": b'{"1": {"d01": 1, "d02": 0}}',
    "jsonl": b'{"topic": "1", "doc": "d01", "score": 1, "grade": 2}\n',
    "json twice": b'{"1": {"d01": 1, "d01": 0}}',
    "json nan": b'{"1": {"d01": NaN}}',
}

SUFFIXES = ("txt", "run", "csv", "tsv", "json", "jsonl", "parquet", "xml", "txt.gz")

FORMATS = ("auto", "trec", "ntcir", "prels", "xqrels", "csv", "tsv", "json", "jsonl", "nope")


def items() -> Iterator[Item]:
    """Yield what each reader makes of each input, and what is written."""
    samples = [one.name for one in sorted(EXAMPLES.iterdir())]
    samples += [
        f"data/{one.relative_to(TEST_DATA)}"
        for one in sorted(TEST_DATA.rglob("*"))
        if one.is_file() and one.suffix != ".md"
    ]
    for kind, reader in READERS.items():
        for name in samples:
            # A reader of run files reads the sample judgments, too: the refusal is what is kept.
            yield f"read/{kind} of {name}", partial(_read, reader, name)
        for name in (*BAD_FILES, "missing", ""):
            yield f"read/{kind} of odd {name}", partial(_read, reader, f"odd/{name}")
        for name, data in MEMORY.items():
            yield f"read/{kind} of {name} in memory", partial(_read, reader, data)
        for name, data in LINES.items():
            yield f"read/{kind} of lines {name}", partial(_read_lines, reader, data)
    yield from _formats()
    yield from _packed()
    yield from _collections()
    yield from _written()


def _read(reader: Callable[..., Any], data: Any, **options: Any) -> str:
    """Read, and show what was read: as a table too, where it has one."""
    if isinstance(data, str) and data.startswith("odd"):
        bad_files()
    data = data() if callable(data) else data
    found = reader(data, **options)
    return shown(found) + (shown(list(found)) if isinstance(found, cf.Runs) else "")


def _read_lines(reader: Callable[..., Any], data: bytes) -> str:
    """Read the same bytes from files whose names promise different things."""
    told = []
    for suffix in SUFFIXES:
        path = Path(f"given.{suffix}")
        path.write_bytes(data)
        try:
            text = _read(reader, str(path))
        except cf.CranfieldError as error:
            text = f"{type(error).__name__}: {error}"
        told.append(f"== {suffix}\n{text}")
    return "\n".join(told)


def _formats() -> Iterator[Item]:
    for form in FORMATS:
        for name in ("qrels.txt", "sampled.txt", "sampled.prels", "classes.txt", "subtopics.txt"):
            yield f"formats/{name} as {form}", partial(_read, cf.read_qrels, name, format=form)
        for name in ("bm25.run", "qrels.txt"):
            yield f"formats/run {name} as {form}", partial(_read, cf.read_run, name, format=form)
        yield f"formats/scores as {form}", partial(_read, cf.read_scores, "scores.csv", format=form)
    for subtopics in (True, False, None):
        for name in ("subtopics.txt", "qrels.txt"):
            yield (
                f"formats/{name} subtopics {subtopics}",
                partial(_read, cf.read_qrels, name, subtopics=subtopics),
            )
    for encoding in ("latin-1", "utf-16", "nonsense", "ascii"):
        yield (
            f"formats/encoding {encoding}",
            partial(_read, cf.read_run, "odd/latin.run", encoding=encoding),
        )
    for measure in ("map", "P_10", "nope", None):
        for name in ("data/trec_eval/out.test.aq", "data/trec_eval/out.test.a", "scores.csv"):
            yield (
                f"formats/scores of {measure} in {name}",
                partial(_read, cf.read_scores, name, measure=measure),
            )
    yield "formats/name", partial(_read, cf.read_run, "bm25.run", name="mine")
    yield "formats/folder", partial(_read, cf.read_runs, "odd")
    yield "formats/pattern", partial(_read, cf.read_runs, "*.run")
    yield "formats/list", partial(_read, cf.read_runs, ["bm25.run", "dense.run"])
    yield "formats/random shards", lambda: [cf.random_shards(3, seed, 1) for seed in (0, 1)]


def _packed() -> Iterator[Item]:
    packers: dict[str, Callable[..., bytes]] = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
    }
    for suffix, pack in packers.items():
        yield f"packed/{suffix}", partial(_unpacked, pack, suffix, None)
        yield f"packed/{suffix} cut", partial(_unpacked, pack, suffix, 40)
        yield f"packed/{suffix} unnamed", partial(_unpacked, pack, "run", None)
    yield "packed/not packed", partial(_unpacked, bytes, "gz", None)


def _unpacked(pack: Callable[..., bytes], suffix: str, length: int | None) -> str:
    path = Path(f"packed.{suffix}")
    path.write_bytes(pack(Path("bm25.run").read_bytes())[:length])
    return _read(cf.read_run, str(path))


def _collections() -> Iterator[Item]:
    covid = cf.bundled.trec_covid
    yield "collection/repr", lambda: (repr(covid()), covid().about, covid().teams, covid().types)
    yield "collection/qrels", lambda: (covid().qrels.to_polars(), covid().qrels.max_grade)
    yield "collection/runs", lambda: [repr(one) for one in covid().runs]
    yield "collection/run", lambda: (covid().runs[3].to_polars(), covid().runs[3].name)
    yield "collection/sharded", sharded


def _written() -> Iterator[Item]:
    def run_file(**options: Any) -> str:
        cf.write_run(cf.read_run("bm25.run"), "out.run", **options)
        return Path("out.run").read_text()

    def qrels_file(name: str) -> str:
        cf.write_qrels(cf.read_qrels(name), "out.txt")
        return Path("out.txt").read_text()

    yield "written/run", run_file
    yield "written/run depth", partial(run_file, limit=2)
    yield "written/run depth 0", partial(run_file, limit=0)
    for name in ("qrels.txt", "subtopics.txt", "classes.txt"):
        yield f"written/qrels {name}", partial(qrels_file, name)
    yield "written/nowhere", lambda: cf.write_run(cf.read_run("bm25.run"), "no/such/file")
    yield "written/blank", lambda: cf.write_run(cf.read_run({"1": {"a b": 1.0}}, name="x"), "o.run")
    for name, make in (
        *(("evaluation", evaluated), ("scores", real), ("missing", partial(generated, 3))),
        ("shards", sharded),
    ):
        yield f"written/{name} csv", partial(_csv, make)
        yield f"written/{name} parquet", partial(_parquet, make)
        for target in ("to_pandas", "to_xarray"):
            yield f"written/{name} {target}", partial(_elsewhere, make, target)


def _csv(make: Callable[[], Any]) -> str:
    make().write_csv("out.csv")
    return Path("out.csv").read_text()


def _parquet(make: Callable[[], Any]) -> Any:
    make().write_parquet("out.parquet")
    return pl.read_parquet("out.parquet")


def _elsewhere(make: Callable[[], Any], target: str) -> str:
    found = getattr(make(), target)()
    if target == "to_pandas":
        out = io.StringIO()
        found.to_csv(out, float_format=float.hex)
        return f"{found.dtypes}\n{found.index.names}\n{out.getvalue()}"
    return f"{found.dims} {found.attrs}\n{found.to_dict()}"
