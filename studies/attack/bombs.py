"""Small or endless input that would become huge: refused early, or read right, in little room.

Each is given to a command in a process of its own, whose time and most memory are measured. What
is read right is known without the library: the one relevant document stands first, or 3 billionths
of something. `python -m studies.attack.bombs` prints the table.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from threading import Thread

import polars as pl
from backports import zstd

import cranfield
from studies.attack import Outcome

SECONDS, MEBIBYTES = 5, 500

KILLED_AT = 40
"""Seconds until a process that does not end is ended."""

ROOM = 6 << 30
"""Bytes of memory after which a process gets no more."""

UNPACKED = 3 << 30
PART = 64 << 20

RUN = b"1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"
QRELS = b"1 0 a 1\n1 0 b 0\n"


@dataclass(frozen=True)
class Bomb:
    """A command, the file it is about, and what it prints if it reads that right."""

    name: str
    content: Callable[[], bytes | Iterator[bytes]]
    file: str = "a.run"
    command: str = "evaluate q.qrels FILE -m AP"
    wanted: str = ""

    def written(self, folder: Path) -> Iterator[bytes]:
        """Write the file, unless it is what comes on standard input; return that."""
        content = self.content()
        if self.file == "-":
            return iter([content] if isinstance(content, bytes) else content)
        with (folder / self.file).open("wb") as out:
            out.writelines([content] if isinstance(content, bytes) else content)
        return iter(())


def packed(pack: Callable[[bytes], bytes], text: bytes) -> Callable[[], Iterator[bytes]]:
    """Return what makes an archive of 3 GB of a text, as parts one after the other."""
    return lambda: repeat(pack(text * (PART // len(text))), UNPACKED // PART)


def endless(text: bytes) -> Callable[[], Iterator[bytes]]:
    return lambda: repeat(text * ((1 << 20) // len(text)))


def csv_of(columns: int, rows: int, cell: str = "1") -> bytes:
    names = ["topic", "doc", "score", *(f"c{k}" for k in range(columns - 3))]
    row = ",".join(["1", "a", "2.0", *[cell] * (columns - 3)])
    return "\n".join([",".join(names), *[row] * rows, ""]).encode()


def zip_of_zips() -> bytes:
    data = b"\0" * (1 << 20)
    for level in range(6):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(16):
                archive.writestr(f"{level}-{number}.zip", data)
        data = out.getvalue()
    return data


def laughs() -> bytes:
    lines = [f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 30)]
    return f'<!DOCTYPE x [<!ENTITY l0 "ha">{"".join(lines)}]><x>&l29;</x>'.encode()


def many_rows(rows: int) -> bytes:
    """Return a Parquet file of one row so many times, which takes a few bytes."""
    one = pl.DataFrame({"topic": ["1"], "doc": ["a"], "score": [2.0]})
    out = io.BytesIO()
    one.select(pl.all().repeat_by(rows).explode()).write_parquet(out, compression="zstd")
    return out.getvalue()


def long_text() -> bytes:
    """Return a Parquet file where many rows share one document of 5 MB."""
    out = io.BytesIO()
    rows = 100_000
    table = pl.DataFrame({"topic": [str(k) for k in range(rows)], "score": [1.0] * rows})
    text = pl.Series("doc", ["x" * 5_000_000]).new_from_index(0, rows)
    table.with_columns(text.cast(pl.Categorical)).write_parquet(out)
    return out.getvalue()


def aliases(closed: str) -> bytes:
    lines = ["# ir_metadata.start", "# a0: &a0 [x, x]"]
    lines += [f"# a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 40)]
    return "\n".join([*lines, *[closed] * bool(closed), ""]).encode() + RUN


def deep_metadata() -> bytes:
    return b"# ir_metadata.start\n# a: " + b"[" * 10**6 + b"\n# ir_metadata.end\n" + RUN


_SESSIONS = "sessions qrels FILE -m sDCG"


def bombs() -> list[Bomb]:
    """Return all, in the order of the table."""
    compare = "evaluate q.qrels a.run -m"
    plain = Bomb("", lambda: RUN)
    return [
        Bomb("3 GB of zeros in gzip", packed(gzip.compress, b"\0"), "a.run.gz"),
        Bomb("3 GB of blanks in bzip2", packed(bz2.compress, b" "), "a.csv.bz2"),
        Bomb("3 GB of zeros in xz", packed(lzma.compress, b"\0"), "a.json.xz"),
        Bomb("3 GB of blanks in zstd", packed(zstd.compress, b" "), "a.run.zst"),
        Bomb("3 GB of a CSV in gzip", packed(gzip.compress, b"1,a,2\n"), "a.csv.gz"),
        Bomb("3 GB of a run in bzip2", packed(bz2.compress, RUN), "a.run.bz2"),
        Bomb("/dev/zero as judgments", lambda: RUN, command="evaluate /dev/zero FILE -m AP"),
        Bomb("/dev/zero as JSON", lambda: b"", "-", "evaluate q.qrels zero.json -m AP"),
        Bomb("comments without end", endless(b"# x\n"), "-"),
        Bomb("empty lines without end", endless(b"\n"), "-"),
        Bomb("blanks without end as judgments", endless(b" "), "-", "evaluate FILE r.run -m AP"),
        Bomb("one line without end", endless(b"a"), "-"),
        Bomb("fields without end", endless(b"a "), "-"),
        Bomb("CSV of 30,000 columns", lambda: csv_of(30_000, 2), "a.csv"),
        Bomb(
            "CSV field of 1 GB",
            lambda: iter([b"topic,doc,score\n1,", *repeat(b"a" * 10_000_000, 100), b",2.0\n"]),
            "a.csv",
        ),
        Bomb("JSON a million levels deep", lambda: b'{"a":' * 10**6, "a.json"),
        Bomb("JSON arrays, a million levels", lambda: b"[" * 10**6 + b"]" * 10**6, "a.json"),
        Bomb("JSON of 10,000,000 objects", lambda: b"[" + b"{}," * 10**7 + b"{}]", "a.json"),
        Bomb("JSON lines of 10,000,000 objects", lambda: b"{}\n" * 10**7, "a.jsonl"),
        Bomb(
            "JSON number of 10,000,000 digits",
            lambda: b'{"1": {"a": %s}}' % (b"1" * 10**7),
            "a.json",
        ),
        Bomb("XML, a billion laughs", laughs, "a.xml", _SESSIONS),
        Bomb("XML a million levels deep", lambda: b"<a>" * 10**6, "a.xml", _SESSIONS),
        Bomb(
            "XML of 10,000,000 elements",
            lambda: b"<sessiontrack2013>" + b"<a/>" * 10**7,
            "a.xml",
            _SESSIONS,
        ),
        Bomb(
            "aliases of aliases in metadata", lambda: aliases("# ir_metadata.end"), wanted="1.0000"
        ),
        Bomb("metadata a million levels deep", deep_metadata, wanted="1.0000"),
        Bomb("a zip of zips of zips", zip_of_zips, "a.run"),
        Bomb("Parquet, 500,000,000 rows declared", lambda: declared(many_rows(1000)), "a.parquet"),
        Bomb("Parquet, 30,000,000 rows in 2 kB", lambda: many_rows(30_000_000), "a.parquet"),
        Bomb("Parquet, 5 MB of text in each row", long_text, "a.parquet"),
        Bomb(
            "a grade of 10^19",
            lambda: b"1 0 a 9999999999999999999\n",
            "a.qrels",
            "evaluate FILE r.run -m AP",
        ),
        Bomb("nDCG@10^400", plain.content, command=f"{compare} nDCG@1{'0' * 400}", wanted="1.0000"),
        Bomb("SDCG@10^9", plain.content, command=f"{compare} SDCG@1000000000", wanted="0.0000"),
        Bomb(
            "EU(INST)@10^9",
            plain.content,
            command=f"{compare} EU(INST(T=1))@1000000000",
            wanted="0.6079",
        ),
        Bomb(
            "a base of 10^300",
            plain.content,
            command=f"{compare} nDCG(base=1{'0' * 300})@5",
            wanted="1.0000",
        ),
        Bomb(
            "a list of 10^6 measures",
            plain.content,
            command=f"{compare} {'P@1,' * 30_000}P@1",
            wanted="1.0000",
        ),
        Bomb("measures 30,000 levels deep", plain.content, command=f"{compare} {'IA(' * 30_000}P"),
    ]


def declared(data: bytes) -> bytes:
    """Replace the number of rows, 1000, wherever it stands in the footer, by 500,000,000."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    # As Thrift writes them: twice the number, in groups of seven bits.
    footer = data[start:-8].replace(b"\xd0\x0f", b"\x80\xa8\xd6\xb9\x07")
    return data[:start] + footer + len(footer).to_bytes(4, "little") + data[-4:]


@dataclass(frozen=True)
class Measured:
    """What became of a command."""

    seconds: float
    mebibytes: int
    status: int
    out: str
    said: str


def run(bomb: Bomb, folder: Path) -> Measured:
    """Give a bomb to its command, and measure that."""
    (folder / "q.qrels").write_bytes(QRELS)
    (folder / "r.run").write_bytes(RUN)
    with contextlib.suppress(FileExistsError):
        (folder / "zero.json").symlink_to("/dev/zero")
    stream = bomb.written(folder)
    arguments = bomb.command.replace("FILE", bomb.file).split()
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        subprocess.Popen(
            [sys.executable, "-m", "cranfield", *arguments],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(Path(cranfield.__file__).parents[1])},
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
        ) as process,
    ):
        start = time.monotonic()
        resource.prlimit(process.pid, resource.RLIMIT_AS, (ROOM, ROOM))
        Thread(target=fed, args=(process, stream), daemon=True).start()
        most = ended(process, start)
        seconds = time.monotonic() - start
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read(100_000).decode(errors="replace"))
    return Measured(seconds, most, process.returncode, *texts)


def ended(process: subprocess.Popen[bytes], start: float) -> int:
    """Wait for the end, and make it where it does not come; return the most MiB that were used."""
    most = 0
    while process.poll() is None:
        # What the kernel says at the end would begin with the memory of the parent.
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            most = next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))
        if time.monotonic() - start > KILLED_AT:
            process.kill()
        time.sleep(0.005)
    return most


def fed(process: subprocess.Popen[bytes], stream: Iterator[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        for part in stream:
            process.stdin.write(part)
        process.stdin.close()


def verdict(bomb: Bomb, found: Measured) -> Outcome:
    """Judge what became of a bomb."""
    wrong = []
    if found.seconds > SECONDS:
        wrong.append(f"{found.seconds:.1f} s")
    if found.mebibytes > MEBIBYTES:
        wrong.append(f"{found.mebibytes} MiB")
    lines = found.said.splitlines()
    refused = found.status == 2 and not found.out and len(lines) == 1
    refused = refused and lines[0].isprintable() and len(lines[0]) < 1000
    right = found.status == 0 and bool(bomb.wanted) and bomb.wanted in found.out
    if not refused and not right:
        wrong.append(f"status {found.status}: {(found.out + found.said)[-200:]!a}")
    if wrong:
        return Outcome(bomb.name, "finding", ", ".join(wrong))
    return Outcome(bomb.name, "refused" if refused else "right")


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield what became of so many bombs, in an order by the seed; each once."""
    every = bombs()
    random.Random(seed).shuffle(every)
    for bomb in islice(every, cases):
        with tempfile.TemporaryDirectory() as folder:
            yield verdict(bomb, run(bomb, Path(folder)))


def main() -> int:
    """Print the table."""
    bad = False
    print(f"{'bomb':<36} {'s':>5} {'MiB':>5}  what was said")
    for bomb in bombs():
        if len(sys.argv) > 1 and not any(one in bomb.name for one in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = run(bomb, Path(folder))
        outcome = verdict(bomb, found)
        bad |= outcome.verdict == "finding"
        said = ((found.said or found.out).strip().splitlines() or [""])[-1]
        mark = "!" if outcome.verdict == "finding" else " "
        used = f"{found.seconds:5.1f} {found.mebibytes:5}{mark}"
        print(f"{bomb.name:<36} {used} {said[:110]}", flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
