"""What the library is asked about: the bundled collection made small, matrices, odd files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf

PACKAGE = Path(cf.__file__).resolve().parent
ROOT = Path(os.environ.get("BEHAVIOUR_ROOT") or PACKAGE.parents[1])
EXAMPLES = ROOT / "docs" / "examples"
TEST_DATA = ROOT / "tests" / "data"

for _needed in (EXAMPLES, TEST_DATA):
    if not _needed.is_dir():
        raise SystemExit(f"{_needed} is not there; set BEHAVIOUR_ROOT to a checkout that has it")

MEASURES = ("AP@100", "nDCG@10", "P@10", "RR@10", "RBP(p=0.8)")

BAD_FILES: dict[str, bytes] = {
    "empty.txt": b"",
    "blank.txt": b"\n\n# nothing\n",
    "word.run": b"1 Q0 d01 1 0.9 x\n1 Q0 d02 2 high x\n",
    "nan.run": b"1 Q0 d01 1 nan x\n",
    "five.run": b"1 Q0 d01 1 0.9\n",
    "twice.run": b"1 Q0 d01 1 0.9 x\n1 Q0 d01 2 0.8 x\n",
    "latin.run": b"1 Q0 caf\xe9 1 0.9 x\n",
    "tags.run": b"1 Q0 d01 1 0.9 x\n1 Q0 d02 2 0.8 y\n2 Q0 d08 1 1 x\n",
    "odd.run": b"1 Q0 d01 2 0.9 x\n1 Q0 d02 1 0.8 x\n9 Q0 d01 1 1 x\n",
    "other.run": b"77 Q0 d01 1 0.9 x\n",
    "tied.run": b"1 Q0 d01 1 1.0 t\n1 Q0 d02 2 1.0 t\n1 Q0 d03 3 1.0 t\n2 Q0 d06 1 1 t\n",
    "markup.run": b"1 Q0 d01 1 0.9 [red]_%&$\n",
    "half.txt": b"1 0 d01 0.5\n",
    "again.txt": b"1 0 d01 1\n1 0 d01 0\n",
    "three.txt": b"1 0 d01\n",
    "huge.txt": b"1 0 d01 99999999999\n",
    "sixteen.txt": b"\xff\xfe1\x00",
    "cut.run.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03junk",
    "names.csv": b"id,document,score\n1,d01,0.9\n",
    "broken.jsonl": b'{"qid": "1", "docno": "d01", "score": 1}\n{"qid"\n',
    "seven.json": b"7",
    "junk.parquet": b"PAR1 junk PAR1",
    "scores_word.csv": b"topic,a,b\n1,0.5,x\n",
    "scores_twice.csv": b"topic,a,a\n1,0.5,0.5\n",
    "scores_gap.csv": b"topic,a,b,c\n1,0.5,0.25,0.1\n2,,0.5,0.75\n3,0.125,0.5,0.3\n4,0.9,0.4,0.2\n",
    "scores_long.csv": b"measure,topic,system,score\nAP,1,a,0.5\nAP,1,b,0.25\nAP,2,a,1\nAP,2,b,0\n",
    "people.csv": b"topic,first,second,preferred\n1,bm25,dense,dense\n2,bm25,dense,bm25\n"
    b"3,dense,bm25,tie\n",
    "shards.csv": b"doc,shard\n" + b"".join(b"d%02d,s%d\n" % (i, i % 2) for i in range(1, 31)),
    "teams.csv": b"system,team\nbm25,one\ndense,two\nfused,two\n",
}
"""Small files, most of them wrong in one way."""


def bad_files() -> Path:
    """Write the small files into the present folder."""
    folder = Path("odd")
    folder.mkdir(exist_ok=True)
    for name, data in BAD_FILES.items():
        (folder / name).write_bytes(data)
    return folder


@cache
def few() -> Any:
    """Runs of six systems of the bundled collection, far apart."""
    return cf.bundled.trec_covid().runs[::7]


@cache
def evaluated(systems: int = 6) -> Any:
    """Scores of some of its systems by some measures."""
    return cf.evaluate(few()[:systems], cf.bundled.trec_covid().qrels, MEASURES)


@cache
def real() -> Any:
    """Scores of five systems on twenty topics."""
    scores = evaluated()["nDCG@10"]
    return cf.Scores(
        scores.values[:20, :5], scores.topics[:20], scores.systems[:5], measure="nDCG@10"
    )


@cache
def generated(missing: int = 0, systems: int = 4, topics: int = 12) -> Any:
    """Random scores with ties, some of them missing."""
    rng = np.random.default_rng(20240501)
    values = rng.beta(2, 3, (topics, 1)) * 0.5 + rng.beta(2, 2, (topics, systems)) * 0.4
    values[:, 0] += 0.12
    values[3, :2] = values[4, 1]
    values = values.round(3)
    for k in range(missing):
        values[(5 * k + 2) % topics, k % systems] = np.nan
    names = tuple(f"s{k}" for k in range(systems))
    return cf.Scores(values, tuple(f"t{k}" for k in range(topics)), names, measure="made")


def given(values: Any, topics: tuple[str, ...], systems: tuple[str, ...]) -> Any:
    """Return scores made of whatever is given, also of what is no matrix."""
    return cf.Scores(values, topics, systems, measure="given")


@cache
def sharded() -> Any:
    """Scores on three random shards of the documents."""
    covid = cf.bundled.trec_covid()
    return cf.evaluate(few()[:4], covid.qrels, ["nDCG@20", "P@10"], shards=3)


@cache
def sharded_with_gaps() -> Any:
    """Scores by shard of which some are missing: topics without relevant documents in a shard."""
    covid = cf.bundled.trec_covid()
    return cf.evaluate(few()[:3], covid.qrels, "P@10", shards=12, rel=2)["P@10"]


@cache
def covid_folder() -> Path:
    """Write the judgments, six runs and their teams as files, once."""
    folder = Path(tempfile.mkdtemp(prefix="behaviour-covid-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    covid = cf.bundled.trec_covid()
    grades = covid.qrels.to_polars()
    _write(grades.select("topic", pl.lit("0"), "doc", "grade"), folder / "qrels.txt")
    for run in few():
        table = run.to_polars().with_columns(pl.col("score").cast(pl.Float64))
        rank = pl.int_range(1, pl.len() + 1).over("topic")
        columns = ("topic", pl.lit("Q0"), "doc", rank.alias("rank"), "score")
        _write(table.select(*columns, pl.lit(run.name).alias("tag")), folder / f"{run.name}.run")
    team = [(run.name, covid.teams[run.name]) for run in few()]
    text = "".join(f"{name},{team}\n" for name, team in [("system", "team"), *team])
    (folder / "teams.csv").write_text(text)
    return folder


def link_covid() -> None:
    """Make these files part of the present folder, as `covid`."""
    Path("covid").symlink_to(covid_folder())


def _write(table: pl.DataFrame, path: Path) -> None:
    table.write_csv(path, include_header=False, separator=" ")
