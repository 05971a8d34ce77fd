"""Pools of threads behind generators, which nobody may go through to the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.parallel import iterate_in_threads, iterate_results
from cranfield.sources.chunks import Source

Generators = Callable[[Callable[[int], Any], Iterable[int], int], Generator[Any, None, None]]


@pytest.mark.parametrize("made", [iterate_results, iterate_in_threads])
def test_a_generator_may_be_closed_in_one_of_its_own_threads(made: Generators) -> None:
    """The garbage collector closes it so, and a thread that waits for itself hangs."""
    begun, closed = threading.Event(), threading.Event()

    def work(number: int) -> int:
        if number == 1:
            begun.wait(60)
            results.close()
            closed.set()
        return number

    results = made(work, range(8), 2)
    next(results)
    begun.set()
    assert closed.wait(60)


def test_a_file_that_is_refused_leaves_no_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Source.iterate_chunks, "__defaults__", (10,))
    (tmp_path / "x.run").write_text("1 Q0 d1 1 x tag\n" * 9)
    before, kept = threading.active_count(), []
    for _ in range(20):
        with pytest.raises(cf.InputError) as error:
            cf.read_run(tmp_path / "x.run")
        kept.append(error)
    # Nothing waits for the threads of a reader that stops early: they end by themselves.
    end = time.monotonic() + 30
    while threading.active_count() > before + 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before + 2


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="requires a list of open files")
def test_a_file_that_is_refused_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed before the error is gone, whose traceback has the reader."""
    monkeypatch.setattr(Source.iterate_chunks, "__defaults__", (10,))
    file = tmp_path / "x.run"
    for header in ("", "# ir_metadata.start\n# a: 1\n# ir_metadata.end\n"):
        file.write_text(header + "1 Q0 d1 1 x tag\n" * 9)
        with pytest.raises(cf.InputError) as error:
            cf.read_run(file)
        links = [path for path in Path("/proc/self/fd").iterdir() if path.exists()]
        assert file not in {path.resolve() for path in links}
        del error
