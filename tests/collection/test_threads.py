"""A file is the same whoever reads it: chunks of any size, any number of threads, line by line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.parallel import (
    count_threads,
    iterate_results,
    limit_threads,
    map_in_threads,
)
from cranfield.collection.files.lines import RUN, detect_layout, parse_lines
from cranfield.sources import chunks
from cranfield.sources.chunks import Source
from tests.collection.refusals import refuses

_FIELD = st.sampled_from(
    ["1", "2", "q", "Q0", "d", "d1", "é", "0.5", "nan", "-7", "1e400", "x\x01", "#", "\ufeff", "t"]
)
_BLANK = st.sampled_from([" ", " ", " ", "  ", "\t", "\v", " \t "])
_GOOD = st.builds(
    lambda topic, doc, score: f"{topic} Q0 {doc} 1 {score} tag",
    st.sampled_from(["1", "1", "2", "q"]),
    st.integers(0, 10**6).map(str),
    st.sampled_from(["1", "0.25", "-3e5", "+7."]),
)
_BAD = st.lists(st.tuples(_FIELD, _BLANK), max_size=8).map(lambda t: "".join(a + b for a, b in t))
_LINE = st.one_of(
    _GOOD, _GOOD, _GOOD, _BAD, st.sampled_from(["", " ", "# said", " #x", "1 Q0 d 1 2 b"])
)
_END = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r"])
_TEXT = st.lists(st.tuples(_LINE, _END), max_size=12).map(
    lambda lines: "".join(line + end for line, end in lines)
)


def _read(path: Path, size: int, threads: int, **options: Any) -> Any:
    """Everything that is said of a run: rows and their lines, warnings; or the error."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        patch.setattr(chunks, "CHUNK_BYTES", size)
        try:
            with limit_threads(threads):
                run = cf.read_run(path, **options)
        except cf.CranfieldError as error:
            return str(error), getattr(error, "line", None)
        lines = [run.origin.get_line(row) for row in range(len(run))]
        ranks = None if run.ranks is None else run.ranks.tolist()
        return (
            run.name,
            run.to_polars().rows(),
            run.keys.tolist(),
            ranks,
            lines,
            [*map(str, warned)],
        )


def _by_line(path: Path) -> Any:
    """The rows of a file as the reader of lines finds them, with their lines; or its error."""
    mark = b"\xef\xbb\xbf"
    data = path.read_bytes().removeprefix(mark)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    # The first line says whether there are three columns or six.
    layout = detect_layout(Source(str(path)), "text", "run")[1] or RUN
    before = (b"\n" + data).split(b"\n" + mark)[0]
    text = before[1:]
    try:
        frame, numbers, _ = parse_lines(text, layout, source="x", first_line=1)
    except cf.InputError as error:
        return error.reason, error.line
    if len(text) < len(data):
        return "byte order mark", before.count(b"\n") + 1
    return frame.select("topic", "doc").rows(), numbers.tolist()


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=_TEXT, cut=st.booleans(), mark=st.booleans(), latin=st.booleans())
@example(text="1 1 1 \n", cut=False, mark=False, latin=False)
@example(text="\n1 1 1 \n", cut=False, mark=False, latin=False)
@example(text="1 Q0\n" + "1 Q0 é 1 2 t\n" * 9, cut=False, mark=False, latin=True)
@example(text="1 Q0 d 1 2 t\n" * 2, cut=False, mark=False, latin=False)
@example(text="1 Q0 d 1 2 t\r1 Q0 e 1 2 t\r", cut=False, mark=True, latin=False)
@example(text="\n\ufeff \n", cut=False, mark=False, latin=False)
@example(text="x\x01 0.5\n", cut=False, mark=False, latin=False)
@example(text="1 Q0 d 1 2 t\nx^2 Q0 d 1 2 t\n", cut=False, mark=False, latin=False)
@example(text="1\t Q0 d 1 2 t\n1 Q0 e 1 2\n1 Q0 f 1 nan t\n", cut=True, mark=False, latin=False)
@example(text="1 Q0 a 1 2 t\n1 Q0 é 1 2 t\n1 Q0 f 1 nan t\n", cut=True, mark=False, latin=True)
def test_any_chunks_and_threads(
    tmp_path: Path, *, text: str, cut: bool, mark: bool, latin: bool
) -> None:
    data = text.encode("latin-1", "replace") if latin else text.encode()
    data = (b"\xef\xbb\xbf" if mark else b"") + (data.rstrip(b"\n") if cut else data)
    path = tmp_path / "a.run"
    path.write_bytes(data)
    options = {"metadata": False}
    wanted = _read(path, 1 << 20, 1, **options)
    for size in (1, 40):
        for threads in (1, 3):
            assert _read(path, size, threads, **options) == wanted
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    by_line = _by_line(path)
    if isinstance(by_line[0], str):
        assert by_line[0] in wanted[0]
        assert by_line[1] == wanted[1]
    elif len(wanted) > 2:
        rows = [row[:2] for row in wanted[1]]
        assert (rows, wanted[4]) == by_line


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("bad", ["", "1 Q0 x 1 nan t\n", "1 Q0 d5 1 1 t\n"])
def test_a_damaged_archive_after_a_bad_line(tmp_path: Path, pack: Any, bad: str) -> None:
    good = "".join(f"1 Q0 d{k} {k} {3000 - k} t\n" for k in range(3000))
    path = tmp_path / "a.run"
    whole = pack((good[: len(good) // 9] + "\n" + bad + good[len(good) // 9 :]).encode())
    for data in (whole, whole[: len(whole) * 3 // 4]):
        path.write_bytes(data)
        found = {size: _read(path, size, 1) for size in (1 << 24, 4096)}
        for threads in (2, 4):
            assert _read(path, 4096, threads) == found[4096]
        if data is whole:
            assert found[4096] == found[1 << 24]


def test_an_error_of_the_source_comes_after_those_of_lines(tmp_path: Path) -> None:
    class Ends(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if found := super().read(size):
                return found
            raise EOFError("no more")

        def peek(self, size: int = 0, /) -> bytes:
            return self.getvalue()[self.tell() :]

    lines = b"1 Q0 d 1 1 t\n" * 3
    for broken, message in ((b"1 Q0 e 1 x t\n", "score 'x'"), (b"", "truncated or damaged")):
        with pytest.MonkeyPatch.context() as patch, limit_threads(3):
            patch.setattr(chunks, "open_decompressed", lambda raw, all=lines + broken: Ends(all))
            patch.setattr(chunks, "CHUNK_BYTES", 13)
            path = tmp_path / "a.run"
            path.write_bytes(b"")
            refuses(message, cf.read_run, path)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_wrong_line_is_reported(threads: int, tmp_path: Path) -> None:
    """Bytes that are no text and bad values come in order of lines, whatever the chunks."""
    good = [b"%d Q0 d%03d 1 1 t\n" % (k % 3, k) for k in range(40)]
    path = tmp_path / "a.run"
    for score, text, message in [
        (1, 7, "a.run:2: score 'x'"),
        (9, 15, "a.run:10: score 'x'"),
        (9, 8, "a.run:9: byte 0xe9"),
        (15, 12, "a.run:13: byte 0xe9"),
    ]:
        lines = list(good)
        lines[score], lines[text] = b"1 Q0 e666 1 x t\n", b"1 Q0 \xe9666 1 1 t\n"
        path.write_bytes(b"".join(lines))
        for size in (1, 32, 128, 1 << 20):
            assert message in _read(path, size, threads)[0]
    whole = gzip.compress(b"".join(lines))
    path.write_bytes(whole[:-8] + bytes(8))
    assert "truncated or damaged" in _read(path, 1 << 20, threads)[0]
    assert "byte 0xe9" in _read(path, 75, threads)[0]


def test_parts_are_asked_for_while_others_are_worked_on() -> None:
    asked: list[int] = []

    def parts() -> Iterator[int]:
        for k in range(20):
            asked.append(k)
            yield k

    found = iterate_results(lambda k: (k, count_threads()), parts(), 3)
    # Three are worked on, and one more waits.
    assert next(found) == (0, 1)
    assert len(asked) <= 5
    assert [k for k, _ in found] == list(range(1, 20))


def test_pools_do_not_multiply() -> None:
    assert count_threads() >= 1
    with limit_threads(1):
        assert count_threads() == 1
        with limit_threads(None):
            assert count_threads() == 1
    assert map_in_threads(lambda _: count_threads(), range(4), 2) == [1] * 4
