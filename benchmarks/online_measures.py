"""Time, memory and exactness of online measures on large logs.

    python -m benchmarks.online_measures [--pages 1000000] [--folder DIR] [--ways lazy read]

Simulated logs of as many pages, of ten results each, and of four times as many are written as
Parquet, and all measures of pages are computed, of lazy files and of a log that is read, the same
to the bit. Each is a process of its own, whose time and peak memory are printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

NAMES = ("pages", "results", "clicks")
WAYS = ("lazy", "read")
BATCH = 500_000


def write_log(folder: Path, pages: int, seed: int = 7) -> None:
    """Write a log of so many pages: users click by rank, stay, and come again."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = np.random.default_rng(seed)
    parts: dict[str, list[Path]] = {name: [] for name in NAMES}
    for first in range(0, pages, BATCH):
        number = np.arange(first, min(first + BATCH, pages))
        start = number * 1_000_000 + draw.integers(0, 900_000, number.size)
        user = draw.integers(0, max(1, pages // 10), number.size)
        variant = np.where(user % 2 == 0, "control", "treatment")
        at = pl.Series(start).cast(pl.Datetime("us", "UTC"))
        page_frame = pl.DataFrame(
            {
                "page": number,
                "id": pl.Series(number).cast(pl.String),
                "query": "q" + pl.Series(draw.zipf(1.3, number.size) % 50_000).cast(pl.String),
                "user": "u" + pl.Series(user).cast(pl.String),
                "session": "s" + pl.Series(user * 1000 + number // 100_000).cast(pl.String),
                "time": at,
                "variant": variant,
            }
        )
        page = np.repeat(number, 10)
        rank = np.tile(np.arange(1, 11, dtype=np.int32), number.size)
        doc = draw.integers(0, 1_000_000, page.size)
        result_frame = pl.DataFrame(
            {"page": page, "rank": rank, "doc": "d" + pl.Series(doc).cast(pl.String)}
        )
        hit = np.flatnonzero(draw.random(page.size) < 0.5 / rank**0.8)
        hit = np.sort(np.concatenate([hit, hit[draw.random(hit.size) < 0.05]]))
        wait = draw.integers(1, 10**8, hit.size)
        dwell = np.where(draw.random(hit.size) < 0.1, np.nan, draw.exponential(40, hit.size))
        click_frame = pl.DataFrame(
            {
                "page": page[hit],
                "rank": rank[hit],
                "doc": result_frame["doc"].gather(hit),
                "time": pl.Series(start[page[hit] - first] + wait).cast(pl.Datetime("us", "UTC")),
                "dwell": pl.Series(dwell.round(6)).fill_nan(None),
            }
        ).sort("page", "time", maintain_order=True)
        frames = (page_frame, result_frame, click_frame)
        for name, frame in zip(NAMES, frames, strict=True):
            parts[name].append(folder / f"{name}-{first}.part")
            frame.write_parquet(parts[name][-1])
    for name, files in parts.items():
        pl.scan_parquet(files).sink_parquet(folder / f"{name}.parquet")
        for file in files:
            file.unlink()


def of_pages() -> list[str]:
    import cranfield as cf

    every = cf.online.catalogue().filter(pl.col("kind").is_in(["page", "click"]))["measure"]
    return [name for name in every if name != "GoodAbandonment"]


def measured(folder: Path, way: str) -> dict[str, Any]:
    """Compute all measures of pages, and say how long it took, and how much memory."""
    import cranfield as cf

    start = time.perf_counter()
    files = {name: folder / f"{name}.parquet" for name in NAMES}
    log: Any
    if way == "read":
        log = cf.online.read_log(*files.values())
    else:
        log = {name: pl.scan_parquet(file) for name, file in files.items()}
    read = time.perf_counter() - start
    found = cf.online.measure(log, of_pages())
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = used.ru_maxrss / 1e6
    values = {
        str(one): value.hex() for one, value in zip(found.measures, found.means[0], strict=True)
    }
    cpu = used.ru_utime + used.ru_stime
    return {"seconds": seconds, "CPU": cpu, "read": read, "GB": peak, "values": values}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--times", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--way", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way:
        print(json.dumps(measured(asked.folder, asked.way)))
        return
    folder = asked.folder or Path(tempfile.mkdtemp())
    for times in asked.times:
        own = folder / str(asked.pages * times)
        if not (own / "clicks.parquet").exists():
            write_log(own, asked.pages * times)
        first: dict[str, str] = {}
        for way in asked.ways:
            command = [sys.executable, "-m", __spec__.name, "--folder", str(own), "--way", way]
            found = json.loads(subprocess.check_output(command))
            first = first or found["values"]
            same = "the same to the bit" if found["values"] == first else "DIFFERENT"
            print(
                f"{asked.pages * times:>9,} pages, {way:<6} {found['seconds']:6.2f} s"
                f" ({found['CPU']:.2f} s of CPU; reading {found['read']:.2f} s),"
                f" {found['GB']:.2f} GB, {len(first)} measures: {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
