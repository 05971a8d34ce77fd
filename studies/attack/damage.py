"""Results folders of studies whose files are damaged between two runs.

A whole study is what `resume` has to end in: its files, byte by byte. What a part holds is known
without the code that reads it: it is what was there before the damage.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice, zip_longest
from pathlib import Path

import polars as pl

from cranfield.base.errors import CranfieldError, CranfieldWarning
from cranfield.meta.work.parts import run_parts
from studies.attack import Outcome

TASKS = {f"task-{number}": number for number in range(3)}
DAMAGED = "damaged.txt"

Damage = Callable[[Path], None]


def part(shared: float, task: int) -> pl.DataFrame:
    """Return what a task finds: numbers that nothing else finds."""
    return pl.DataFrame({"task": [task, task], "value": [task / 7 + shared, task / 3]})


def study(folder: Path, shared: float = 0.5) -> pl.DataFrame:
    return run_parts(part, shared, TASKS, about={"shared": shared}, folder=folder)


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield bits flipped and damages of structure by turns, then studies in one folder at once."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        whole, other, work = (Path(place) / name for name in ("whole", "other", "work"))
        wanted = study(whole)
        study(other, 9.5)
        flips = [
            (f"{path.name}: a bit of byte {byte}", flipped(path.name, byte, chance.randrange(8)))
            for path in sorted(whole.glob("*.parquet"))
            for byte in range(path.stat().st_size)
        ]
        chance.shuffle(flips)
        by_turns = zip_longest(structural(whole, other), flips)
        each = (one for pair in by_turns for one in pair if one is not None)
        for case, damage in islice(each, cases):
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(whole, work)
            damage(work)
            yield judged(case, work, whole, wanted)
        yield from at_once(Path(place))


def judged(case: str, work: Path, whole: Path, wanted: pl.DataFrame) -> Outcome:
    """Resume a damaged study, and compare all it leaves with what was whole."""
    note_whole = files(work).get("study.json") == files(whole)["study.json"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = study(work)
        except CranfieldError as error:
            may = not note_whole or (work / "task-0.parquet").is_dir()
            fine = may and "\n" not in str(error)
            return Outcome(case, "refused" if fine else "finding", str(error))
        except BaseException as error:  # a panic of Polars is no Exception
            return Outcome(case, "finding", f"{type(error).__name__}: {error}")
    left = files(work)
    record = left.pop(DAMAGED, b"")
    if not found.equals(wanted):
        return Outcome(case, "finding", "other numbers")
    if left != files(whole):
        return Outcome(case, "finding", "other files")
    lines = [one for one in said if issubclass(one.category, CranfieldWarning)]
    if "(not said)" not in case and (len(lines) != 1 or not record):
        return Outcome(case, "finding", "nothing is said")
    return Outcome(case, "right")


def files(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def flipped(name: str, byte: int, bit: int) -> Damage:
    def damage(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[byte] ^= 1 << bit
        (folder / name).write_bytes(data)

    return damage


def rewritten(change: Callable[[pl.DataFrame], pl.DataFrame], *, keep: bool) -> Damage:
    """Write the first part with another table; with the metadata it had, where they are kept."""

    def damage(folder: Path) -> None:
        path = folder / "task-0.parquet"
        about = {
            key: value
            for key, value in pl.read_parquet_metadata(BytesIO(path.read_bytes())).items()
            if key != "ARROW:schema"
        }
        table = change(pl.read_parquet(path.read_bytes()))
        table.write_parquet(path, metadata=about if keep else None)

    return damage


def replaced(name: str, change: Callable[[bytes], bytes]) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return damage


def structural(whole: Path, other: Path) -> Iterator[tuple[str, Damage]]:
    """Yield damages to parts and to study.json, each with what it is."""
    tables: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
        "a row less": lambda table: table.head(1),
        "rows twice": lambda table: pl.concat([table, table]),
        "no rows": lambda table: table.clear(),
        "rows in another order": lambda table: table.reverse(),
        "a column less": lambda table: table.drop("value"),
        "a column more": lambda table: table.with_columns(more=1),
        "a column of another name": lambda table: table.rename({"value": "Value"}),
        "columns in another order": lambda table: table.select("value", "task"),
        "another type": lambda table: table.cast({"value": pl.Float32}),
        "text for numbers": lambda table: table.cast({"value": pl.String}),
        "no values": lambda table: table.with_columns(value=None),
        "a value by a little more": lambda table: table.with_columns(pl.col("value") + 1e-15),
    }
    for name, change in tables.items():
        for keep in (True, False):
            kept = "metadata kept" if keep else "no metadata"
            yield f"{name}, {kept}", rewritten(change, keep=keep)
    first = whole / "task-0.parquet"
    bytes_: dict[str, Callable[[bytes], bytes]] = {
        "no bytes": lambda data: b"",
        "half of it": lambda data: data[: len(data) // 2],
        "a byte less": lambda data: data[:-1],
        "a byte more": lambda data: data + b"\0",
        "bytes before": lambda data: b"\0" + data,
        "twice": lambda data: data + data,
        "zeros": lambda data: bytes(len(data)),
        "another part": lambda data: (whole / "task-1.parquet").read_bytes(),
        "the part of another study": lambda data: (other / first.name).read_bytes(),
        "text": lambda data: b"task,value\n0,1\n",
    }
    for name, rewrite in bytes_.items():
        yield name, replaced(first.name, rewrite)
    yield "the part is gone (not said)", lambda folder: (folder / first.name).unlink()
    yield "the part is a folder", _made_a_folder
    notes: dict[str, Callable[[bytes], bytes]] = {
        "no bytes": lambda data: b"",
        "no UTF-8": lambda data: b"\xff" + data,
        "UTF-16": lambda data: data.decode().encode("utf-16"),
        "a list": lambda data: b"[]",
        "nothing": lambda data: b"null",
        "a key less": lambda data: b'{"cranfield": "0"}',
        "null for a key": lambda data: data.replace(b"{", b'{"more": null,', 1),
        "too deep": lambda data: b"[" * 200_000,
        "rather deep": lambda data: b'{"shared":' + b"[" * 900 + b"]" * 900 + b"}",
        "a number too long": lambda data: b"9" * 10_000,
        "not a number": lambda data: data.replace(b"0.5", b"NaN"),
        "half a character": lambda data: data.replace(b"0.5", rb'"\ud800"'),
        "a line's end in a key": lambda data: data.replace(b"shared", rb"sha\nred"),
        "that of another study": lambda data: (other / "study.json").read_bytes(),
    }
    for name, rewrite in notes.items():
        yield f"study.json: {name}", replaced("study.json", rewrite)


def _made_a_folder(folder: Path) -> None:
    (folder / "task-0.parquet").unlink()
    (folder / "task-0.parquet").mkdir()


SCRIPT = """
import sys
from pathlib import Path
from studies.attack.damage import part, study
shared = float(sys.argv[2])
found = study(Path(sys.argv[1]), shared)
import polars as pl
sys.exit(0 if found.equals(pl.concat([part(shared, task) for task in range(3)])) else 9)
"""


def at_once(place: Path) -> Iterator[Outcome]:
    """Yield pairs of processes that begin in one folder at once: same and different studies."""
    for number, second in enumerate(("0.5", "9.5")):
        folder = str(place / f"once-{number}")
        started = [
            subprocess.Popen(
                [sys.executable, "-c", SCRIPT, folder, shared], stderr=subprocess.PIPE, text=True
            )
            for shared in ("0.5", second)
        ]
        ends = [(one.communicate()[1], one.returncode) for one in started]
        fine = all(
            not status or (second != "0.5" and "holds another study" in text)
            for text, status in ends
        )
        case = f"{'the same study' if second == '0.5' else 'two studies'} in a folder at once"
        lost = all(status for _, status in ends)
        refused = any(status for _, status in ends)
        verdict = "finding" if lost or not fine else "refused" if refused else "right"
        yield Outcome(case, verdict, str(ends))  # type: ignore[arg-type]
