"""Generate the benchmark data: `python -m benchmarks.generate [--out DIR] [--only A,C,...]`.

What exists already with the same settings is kept. The whole takes 2.7 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, DataSet, Judgments
from benchmarks.rewrite import (
    open_gzip,
    open_xz,
    open_zstd,
    write_blanks,
    write_packed,
    write_shuffled,
    write_ties,
)
from benchmarks.simulate import retrieve, world_of

_VERSION = 1
"""Part of every stamp: raising it makes all data be generated anew."""

_STAMP = "stamp.json"

_REWRITERS: dict[str, Callable[[Path, Path, np.random.Generator], None]] = {
    "shuffled": write_shuffled,
    "blanks": write_blanks,
    "ties": write_ties,
    "gz": partial(write_packed, open_gzip),
    "zst": partial(write_packed, open_zstd),
    "xz": partial(write_packed, open_xz),
}


def generate(root: Path, names: Iterable[str], jobs: int) -> None:
    """Generate data sets, with the judgments and the sources that they need."""
    wanted = [DATA_SETS[name] for name in names]
    needed = {data.source for data in wanted if data.source} | {data.name for data in wanted}
    # In the order of the table a source comes before its variants.
    data_sets = [data for data in DATA_SETS.values() if data.name in needed]
    for judgments in dict.fromkeys(data.judgments for data in data_sets):
        folder = judgments.path(root).parent
        _once(folder, asdict(judgments), partial(_qrels, root, judgments))
    with ProcessPoolExecutor(jobs) as pool:
        for data in data_sets:
            _once(data.folder(root), asdict(data), partial(_runs, root, data, pool))


def _once(folder: Path, settings: dict[str, object], make: Callable[[], None]) -> None:
    """Make what a folder holds unless its stamp says that this has been done."""
    stamp = folder / _STAMP
    text = json.dumps({"version": _VERSION, **settings}, indent=1) + "\n"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == text:
        return
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    # The stamp goes first and comes last, so that an interrupted attempt is not taken for done.
    stamp.unlink(missing_ok=True)
    for leftover in [*folder.glob("*.run*"), *folder.glob("qrels.txt")]:
        leftover.unlink()
    make()
    stamp.write_text(text, encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    seconds = time.perf_counter() - start
    print(f"generated {folder.name}: {size:,.1f} MB in {seconds:.1f} s", file=sys.stderr)


def _qrels(root: Path, judgments: Judgments) -> None:
    world = world_of(judgments)
    with judgments.path(root).open("w", encoding="ascii", newline="\n") as file:
        for topic in world.topics:
            grades = topic.relevant.astype(int).tolist()
            pairs = sorted(
                (str(world.names[doc]), grade)
                for doc, grade in zip(topic.judged.tolist(), grades, strict=True)
            )
            file.write("".join([f"{topic.name} 0 {doc} {grade}\n" for doc, grade in pairs]))


def _runs(root: Path, data: DataSet, pool: ProcessPoolExecutor) -> None:
    task = _rewrite if data.variant else _run
    for future in [pool.submit(task, root, data, number) for number in range(data.runs)]:
        future.result()


def _run(root: Path, data: DataSet, number: int) -> None:
    world = world_of(data.judgments)
    rng = np.random.default_rng([data.seed, number])
    names, tag = world.names, data.tag(number)
    skill = rng.uniform(0.2, 2.2)
    with data.run_path(root, number).open("w", encoding="ascii", newline="\n") as file:
        for topic in world.topics:
            docs, scores = retrieve(rng, topic, len(names), data.depth, skill)
            ranked = enumerate(zip(docs.tolist(), scores.tolist(), strict=True), start=1)
            lines = [
                f"{topic.name} Q0 {names[doc]} {rank} {score:.6f} {tag}\n"
                for rank, (doc, score) in ranked
            ]
            file.write("".join(lines))


def _rewrite(root: Path, data: DataSet, number: int) -> None:
    source = DATA_SETS[data.source].run_path(root, number)
    rng = np.random.default_rng([data.seed, number])
    _REWRITERS[data.variant](source, data.run_path(root, number), rng)


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate the data of the benchmarks.")
    parser.add_argument("--out", type=Path, default=DEFAULT_FOLDER, help="the folder to fill")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(DATA_SETS),
        metavar="NAMES",
        help=f"some of {','.join(DATA_SETS)}; all by default",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    unknown = [name for name in options.only if name not in DATA_SETS]
    if unknown:
        parser.error(f"no data set is named {', '.join(unknown)}")
    generate(options.out, options.only, options.jobs)


if __name__ == "__main__":
    main()
