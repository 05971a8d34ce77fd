"""Commands: what they print on both streams, their exit status, and the files that they write."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

from cranfield.cli.main import main as program
from studies.behaviour.recording import Item
from studies.behaviour.samples import PACKAGE, bad_files, link_covid
from studies.behaviour.showing import shown

LIST = Path(__file__).with_name("commands.txt")

EVALUATE = "evaluate qrels.txt bm25.run dense.run"
STUDY = {
    "tests": "--scores scores.csv -t md2 -t t+holm -t sign --sizes 3 --repeats 8"
    " --false-positives 8",
    "measures": "qrels.txt bm25.run dense.run -m AP -m P@3 -m RR --gold P@3 --repeats 8"
    " --resamples 50 --preferences odd/people.csv",
    "collection": "covid/qrels.txt covid/*.run -m nDCG@20 --teams covid/teams.csv --pool-depth 5"
    " --depths 5,10 --repeats 8 --sizes 10,25 --lists both",
    "reproduction": "qrels.txt --original-baseline bm25.run --baseline dense.run"
    " --original-advanced dense.run --advanced bm25.run -m P@3 -m AP",
    "scales": "qrels.txt bm25.run dense.run -m RR -m P --cutoffs 5",
}


def items() -> Iterator[Item]:
    """Yield all commands of the list, then each output format of each command."""
    for line in dict.fromkeys([*_listed(), *_formats(), *_errors()]):
        yield f"commands/{line}", partial(run, line)
    for line in ("--version", f"{EVALUATE} -m AP", "evaluate missing.txt bm25.run", "nope", ""):
        yield f"process/{line}", partial(run_process, line)


def _listed() -> Iterator[str]:
    for line in LIST.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def _formats() -> Iterator[str]:
    for kind in ("table", "trec", "ir_measures", "csv", "json", "latex", "markdown", "html"):
        for more in ("", " -q", " -p 2", " --coverage"):
            yield f"{EVALUATE} -m AP -m nDCG@5 -f {kind}{more}"
        yield f"evaluate qrels.txt bm25.run -m AP -m nDCG@5 -f {kind}"
    for kind in ("csv", "json", "html", "latex", "parquet"):
        yield f"{EVALUATE} -m AP -m nDCG@5 -f {kind} -q -o out.{kind}"
    for kind in ("table", "csv", "json", "latex", "markdown", "html"):
        yield f"sessions qrels.txt sessions.csv -m sDCG@10 -m P@3 -f {kind} -q"
        yield f"sessions qrels.txt sessions.csv -m sDCG@10 -m nsDCG -f {kind}"
        for given in (
            "--nuggets nuggets.csv answers.csv",
            "--assignments assignments.jsonl",
            "--citations citations.csv",
            "--references references.csv summaries.csv",
        ):
            yield f"answers {given} -f {kind} -q"
            yield f"answers {given} -f {kind}"
    for kind in ("text", "csv", "json", "latex", "markdown", "html"):
        yield f"compare --scores scores.csv --format {kind}"
        yield f"compare --scores scores.csv -b bm25 -t t -c holm --format {kind}"
        yield f"compare covid/qrels.txt covid/*.run -m nDCG@10 -m P@10 --format {kind}"
        for study, given in STUDY.items():
            yield f"study {study} {given} --format {kind}"
    for marks in ("none", "symbols", "beaten", "groups"):
        for kind in ("text", "latex", "markdown", "html"):
            base = " -b dense" if marks == "symbols" else ""
            given = f"qrels.txt bm25.run dense.run -m AP -m RR{base} --marks {marks}"
            yield f"compare {given} --format {kind}"
    for measure in ("RR@5", "DCG@4", "'RBP(p=0.5)@5'", "AP@4", "nDCG@3 -g 2", "P@5", "ERR@3 -g 2"):
        for kind in ("text", "json"):
            yield f"scale {measure} --format {kind}"


def _errors() -> Iterator[str]:
    bad_files_names = (
        *("empty.txt", "blank.txt", "word.run", "nan.run", "five.run", "twice.run", "latin.run"),
        *("tags.run", "odd.run", "other.run", "tied.run", "markup.run", "cut.run.gz", "names.csv"),
        *("broken.jsonl", "seven.json", "junk.parquet", "missing.run", ""),
    )
    for name in bad_files_names:
        yield f"evaluate qrels.txt odd/{name} -m AP"
    for name in ("empty.txt", "half.txt", "again.txt", "three.txt", "huge.txt", "sixteen.txt"):
        yield f"evaluate odd/{name} bm25.run -m AP"
    for name in ("scores_word.csv", "scores_twice.csv", "scores_gap.csv", "scores_long.csv"):
        yield f"compare --scores odd/{name}"
        yield f"report --scores odd/{name} -o page.html"
    for missing in ("drop", "zero", "available"):
        yield f"compare --scores odd/scores_gap.csv --missing {missing}"


def run(line: str) -> str:
    """Run a command in this process, with the files that its words name."""
    bad_files()
    if "covid" in line:
        link_covid()
    words, _, given = line.partition(" < ")
    before = _files()
    arguments = [
        name
        for word in shlex.split(words)
        for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
    ]
    source = Path(given).read_bytes() if given else b""
    inputs = io.TextIOWrapper(io.BytesIO(source), encoding="utf-8")
    printed = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(one, encoding="utf-8") for one in printed)
    status: Any = 0
    argv = ["cranfield", *arguments]
    with patch.multiple(sys, argv=argv, stdin=inputs, stdout=out, stderr=err):
        try:
            program()
        except SystemExit as stop:
            status = stop.code or 0
    out.flush()
    err.flush()
    return _told(status, printed[0].getvalue(), printed[1].getvalue(), before)


def run_process(line: str) -> str:
    """Run a command as users do, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "cranfield", *shlex.split(line)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return _told(done.returncode, done.stdout, done.stderr, _files())


def _told(status: Any, out: bytes, err: bytes, before: dict[str, bytes]) -> str:
    parts = [f"status {status}", "-- output", _text(out), "-- errors", _text(err)]
    for name, data in _files().items():
        if before.get(name) != data:
            parts += [f"-- file {name}", _content(name, data)]
    return "\n".join(parts)


def _files() -> dict[str, bytes]:
    """Return the files of the folder, without those that are linked into it."""
    return {str(file): file.read_bytes() for file in sorted(Path().rglob("*")) if file.is_file()}


def _content(name: str, data: bytes) -> str:
    # The bytes of Parquet depend on the version of the program that writes it.
    if name.endswith(".parquet"):
        return shown(pl.read_parquet(io.BytesIO(data)))
    return _text(data)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
