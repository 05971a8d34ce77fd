"""Runs, judgments and tables that are read through fsspec, as if they were here."""

from __future__ import annotations

import gzip
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.collection.document_tables import read_lengths
from cranfield.collection.files.many_runs import read_runs
from cranfield.sources.archives import get_file_of_url, hide_credentials, is_url
from cranfield.sources.chunks import Source
from tests.collection.refusals import refuses

fsspec = pytest.importorskip("fsspec")

RUN = "".join(f"q{t} Q0 d{k} {k} {9 - k}.5 mine\n" for t in range(3) for k in range(5))
QRELS = "".join(f"q{t} 0 d{k} {k % 2}\n" for t in range(3) for k in range(4))


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.pipe("/x/qrels.txt", QRELS.encode())
    system.pipe("/x/runs/a.run", RUN.encode())
    system.pipe("/x/runs/b.run.gz", gzip.compress(RUN.replace("mine", "other").encode()))
    system.pipe("/x/runs/.hidden", b"?")
    yield system
    system.rm("/x", recursive=True)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run.gz").write_bytes(gzip.compress(RUN.replace("mine", "other").encode()))
    return tmp_path


@pytest.mark.parametrize("runs", ["memory://x/runs", "memory://x/runs/*.run*"])
def test_folders_and_patterns(memory: Any, here: Path, runs: str) -> None:
    found = cf.evaluate(runs, "memory://x/qrels.txt", ["AP", "nDCG@3"])
    expected = cf.evaluate(
        [here / "a.run", here / "b.run.gz"], here / "qrels.txt", ["AP", "nDCG@3"]
    )
    assert found.systems == ("mine", "other")
    assert found.by_system().equals(expected.by_system())
    many = read_runs(runs)
    assert [many.get_stem(k) for k in range(2)] == ["a", "b"]
    assert many.estimate_size(0) == len(RUN)


def test_other_schemes(here: Path) -> None:
    expected = cf.read_run(here / "a.run").to_polars()
    assert cf.read_run(f"file://{here}/a.run").to_polars().equals(expected)
    assert cf.read_run(f"simplecache::file://{here}/a.run").to_polars().equals(expected)
    with zipfile.ZipFile(here / "all.zip", "w") as out:
        out.writestr("in.run", RUN)
    inside = cf.read_run(f"zip://in.run::file://{here}/all.zip")
    assert inside.to_polars().equals(expected)


def test_tables(memory: Any) -> None:
    frame = cf.read_run("memory://x/runs/a.run").to_polars()
    for end, write in (("csv", frame.write_csv), ("parquet", frame.write_parquet)):
        with memory.open(f"/x/run.{end}", "wb") as out:
            write(out)
        assert (
            cf.read_run(f"memory://x/run.{end}")
            .to_polars()
            .equals(frame.select("topic", "doc", "score", "rank"))
        )
    memory.pipe("/x/lengths.csv", b"doc,length\nd0,4\nd1,6\n")
    assert "2 rows" in repr(read_lengths("memory://x/lengths.csv"))
    memory.pipe("/x/scores.csv", b"topic,system,measure,score\nq,a,AP,0.5\n")
    assert cf.read_scores("memory://x/scores.csv").values.tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("memory://x/nix.run", "memory://x/nix.run: cannot be read: No such file or directory"),
        ("memory://x/nix/*.run", "memory://x/nix/*.run: no file matches the pattern"),
        ("nix://x/a.run", "nix://x/a.run: cannot be read: protocol not known: nix"),
        ("http://127.0.0.1:9/a.run", "http://127.0.0.1:9/a.run: "),
        ("memory://x/bad.run", "memory://x/bad.run:1: "),
        (
            "memory://x/cut.run.gz",
            "memory://x/cut.run.gz: the compressed data are truncated or damaged",
        ),
    ],
)
def test_errors_are_one_line(memory: Any, path: str, reason: str) -> None:
    memory.pipe("/x/bad.run", b"q Q0 d 1 high mine\n")
    memory.pipe("/x/cut.run.gz", gzip.compress(RUN.encode())[:40])
    with pytest.raises(cf.CranfieldError) as told:
        list(read_runs(path))
    assert str(told.value).lower().startswith(reason.lower())
    assert "\n" not in str(told.value)


class Lost:
    """A file whose connection is lost in the middle."""

    def __init__(self) -> None:
        self.left = [RUN.encode()[:100]]

    def read(self, size: int) -> bytes:
        if self.left:
            return self.left.pop()
        raise RuntimeError("Connection reset\nTraceback of a library")

    def close(self) -> None: ...


def test_lost_connections(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(memory), "open", lambda *_, **__: Lost())
    with pytest.raises(cf.InputError) as told:
        cf.read_run("memory://x/runs/a.run")
    assert str(told.value) == "memory://x/runs/a.run: cannot be read: connection reset"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(cf.MissingDependencyError) as told:
        cf.read_run("s3://u:secret@x/a.run")
    assert str(told.value) == (
        "reading s3://x/a.run requires the package fsspec: pip install 'cranfield[remote]'"
    )


def test_paths_that_are_none() -> None:
    assert not is_url(r"C:\runs\a.run") and not is_url("runs/a.run") and not is_url("-")
    assert is_url("hf://datasets/u/r@main/a.run") and is_url("zip://a.run::s3://b/c.zip")
    assert hide_credentials("hf://datasets/u/r@main/a.run") == "hf://datasets/u/r@main/a.run"
    assert hide_credentials("ftp://me:pass@h/a.run") == "ftp://h/a.run"
    assert get_file_of_url("https://h/a.run.gz?sign=1/2.csv") == "https://h/a.run.gz"
    assert Source("zip://a.csv::s3://b/c.zip").suffix == ".csv"


def test_a_file_here_may_be_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nix:").mkdir()
    (tmp_path / "nix:" / "a.run").write_text(RUN)
    assert len(cf.read_run("nix://a.run")) == 15


def test_the_web(here: Path) -> None:
    pytest.importorskip("aiohttp")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(here)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        found = cf.evaluate([f"{url}/a.run", f"{url}/b.run.gz?x=*"], f"{url}/qrels.txt", "AP")
        assert found.systems == ("mine", "other")
        refuses(r"nix.run: cannot be read: no such file", cf.read_run, f"{url}/nix.run")
    finally:
        server.shutdown()
        server.server_close()
    refuses(r"a.run: cannot be read: cannot connect to host", cf.read_run, f"{url}/a.run")
