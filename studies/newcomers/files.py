"""The files of all cases: two topics and two systems, small enough to be scored by hand.

System A has the relevant document of topic q1 on rank 2 and that of q2 on rank 1: AP .75, RR .75,
P@1 .5. System B has both on rank 1: AP 1.
"""

from __future__ import annotations

import gzip
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

import polars as pl

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2, "d4": 0}}
A = {"q1": {"d2": 0.9, "d1": 0.8}, "q2": {"d3": 0.7, "d4": 0.1}}
B = {"q1": {"d1": 0.9, "d2": 0.1}, "q2": {"d3": 0.5, "d4": 0.4}}
SYSTEMS = {"A": A, "B": B}
TOPIC_LISTS = {name: {t: list(docs) for t, docs in run.items()} for name, run in SYSTEMS.items()}


def trec(run: dict[str, dict[str, float]], tag: str) -> str:
    """Write a run as TREC text."""
    return "".join(
        f"{topic} Q0 {doc} {rank} {score} {tag}\n"
        for topic, docs in run.items()
        for rank, (doc, score) in enumerate(docs.items(), start=1)
    )


def long_table(column: str, topic: str = "topic", doc: str = "doc") -> pl.DataFrame:
    """Return both systems as one table."""
    return pl.DataFrame(
        [
            {topic: t, doc: one, "score": score, column: name}
            for name, run in SYSTEMS.items()
            for t, docs in run.items()
            for one, score in docs.items()
        ]
    )


def write_files(folder: Path) -> None:
    """Write all files."""
    judged = [(t, doc, grade) for t, docs in QRELS.items() for doc, grade in docs.items()]
    texts = {
        "qrels.txt": "".join(f"{t} 0 {doc} {grade}\n" for t, doc, grade in judged),
        "a.run": trec(A, "A"),
        "b.run": trec(B, "B"),
        "crlf.run": "\ufeff" + trec(A, "A").replace("\n", "\r\n"),
        "tabs.run": trec(A, "A").replace(" ", "\t"),
        "both.run": trec(A, "A") + trec(B, "B"),
        "five.run": "q1 Q0 d1 1 0.9\n",
        "text.run": "q1 Q0 d1 1 high A\n",
        "nan.run": "q1 Q0 d1 1 nan A\n",
        "twice.run": trec(A, "A") + "q1 Q0 d1 3 0.1 A\n",
        "empty.run": "",
        "other.run": "x9 Q0 d1 1 0.9 A\n",
        "half.qrels": "q1 0 d1 0.5\n",
        "word.qrels": "q1 0 d1 relevant\n",
        "minus.qrels": "".join(f"{t} 0 {doc} {grade or -1}\n" for t, doc, grade in judged),
        "marco.qrels.tsv": "".join(f"{t}\t0\t{doc}\t{grade}\n" for t, doc, grade in judged),
        "marco.run.tsv": "q1\td2\t1\nq1\td1\t2\nq2\td3\t1\nq2\td4\t2\n",
        "beir.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{t}\t{doc}\t{grade}\n" for t, doc, grade in judged),
        "beir.json": json.dumps(A),
        "systems.json": json.dumps(SYSTEMS),
        "true.csv": "topic,doc,grade\nq1,d1,true\nq1,d2,false\nq2,d3,true\n",
        "columns.csv": long_table("system", "query", "product_id").write_csv(),
        "lines.jsonl": "".join(
            json.dumps({"topic": t, "doc": doc, "score": score}) + "\n"
            for t, docs in A.items()
            for doc, score in docs.items()
        ),
        "ap.csv": "topic,A,B\nq1,0.5,1\nq2,1,1\nq3,0.25,0.75\nq4,0,0.5\n",
        "few.csv": "topic,A,B\nq1,0.5,1\nq2,1,1\nq3,0.25,0.75\n",
        "again.run": trec(A, "again"),
        "nocolumn.csv": "topic,doc,weight\nq1,d1,3\n",
        "unnamed.csv": "query,result,value\nq1,d2,0.9\nq1,d1,0.8\nq2,d3,0.7\n",
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    for column in ("system", "run", "model", "tag"):
        long_table(column).write_csv(folder / f"{column}.csv")
    long_table("system").write_parquet(folder / "system.parquet")
    long_table("variant").write_csv(folder / "variant.csv")
    (folder / "picture.run").write_bytes(bytes(range(256)) * 8)
    (folder / "latin.run").write_bytes("q1 Q0 dé 1 0.9 A\n".encode("latin-1"))
    (folder / "a.run.gz").write_bytes(gzip.compress(trec(A, "A").encode()))
    (folder / "a.run.xz").write_bytes(lzma.compress(trec(A, "A").encode()))
    (folder / "runs").mkdir()
    (folder / "nothing").mkdir()
    for name, run in SYSTEMS.items():
        (folder / "runs" / f"{name}.run").write_text(trec(run, name))
    with zipfile.ZipFile(folder / "runs.zip", "w") as packed:
        for name in SYSTEMS:
            packed.write(folder / "runs" / f"{name}.run", f"{name}.run")
    with tarfile.open(folder / "runs.tar.gz", "w:gz") as archive:
        for name in SYSTEMS:
            archive.add(folder / "runs" / f"{name}.run", f"{name}.run")
