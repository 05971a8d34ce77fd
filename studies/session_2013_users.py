"""What users did in the TREC Session track 2013, by online measures, from every form of its log.

    python -m studies.session_2013_users FOLDER

FOLDER holds the track's log (`sessiontrack2013.xml.gz`), judgments (`qrels.txt.gz`) and topics of
sessions (`sessiontopicmap.txt.gz`). Figures are printed beside those that an independent program
found; then the log is written as CSV, Parquet, JSON lines and UBI and read back, opened lazily and,
where it is installed, by DuckDB, and every measure has to be the same to the bit.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.sessions import read_sessions

FIGURES: dict[str, float] = {
    "UCTR": 249 / 401,
    "Abandonment": 0.379052,
    "CTR": 0.125421,
    "ClickRank": 3.240964,
    "ClickRank(first='rank')": 3.012048,
    "ClickRR(first='rank')": 0.399845,
    "MaxRR": 0.643927,
    **{
        f"CTR(ranks='at')@{rank}": value
        for rank, value in enumerate(
            (0.3033, 0.2030, 0.1805, 0.1454, 0.1028, 0.0927, 0.0553, 0.0578, 0.0584, 0.0179), 1
        )
    },
    "Dwell": 44.857769,
    "SATRate": 218 / 572,
    "TimeToClick": 85.092399,
    "pSkip": 0.462794,
    "pSkip(over='results')": 0.641618,
    "QueriesPerSession": 3.015038,
}
MEDIANS = {"Dwell": 20.642689, "TimeToClick": 32.026824}
BY_GRADE = {
    None: (170, 62),
    -2: (43, 4),
    0: (2998, 251),
    1: (596, 119),
    2: (132, 39),
    3: (7, 3),
    4: (29, 7),
}
"""Shown and clicked, of the top ten."""

SIZES = {"pages": 401, "results": 4449, "clicks": 586}
FORMATS = ("csv", "parquet", "jsonl", "ubi")


def by_grade(folder: Path, log: cf.online.QueryLog) -> dict[int | None, tuple[int, int]]:
    """Count shown and clicked results of the top ten by grade of the session's topic."""
    sessions = read_sessions(
        folder / "sessiontrack2013.xml.gz", topics=folder / "sessiontopicmap.txt.gz"
    )
    of_session = dict(zip(sessions.names, sessions.topics, strict=True))
    topic = log.pages["session"].replace_strict(of_session, return_dtype=pl.String)
    graded = cf.online.with_grades(
        cf.online.QueryLog(log.pages.with_columns(query=topic), log.results, log.clicks),
        folder / "qrels.txt.gz",
    )
    top = graded.results_with_clicks.filter(pl.col("rank") <= 10)
    counts = top.group_by("grade").agg(pl.len(), (pl.col("clicks") > 0).sum())
    return {grade: (shown, clicked) for grade, shown, clicked in counts.iter_rows()}


def same(one: cf.online.OnlineMeasurements, other: cf.online.OnlineMeasurements) -> bool:
    names = ("totals", "numbers", "values", "censored", "without")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def main(folder: Path) -> int:
    warnings.simplefilter("ignore")
    log = cf.online.read_log(folder / "sessiontrack2013.xml.gz")
    print(log)
    wrong = 0

    def check(what: str, value: float, want: float, places: int = 6) -> None:
        nonlocal wrong
        good = abs(value - want) <= 0.5000001 * 10**-places
        wrong += not good
        print(
            f"{what:<28} {value:>14.{places}f} {want:>14.{places}f} {'' if good else 'DIFFERENT'}"
        )

    for name, size in SIZES.items():
        check(name, getattr(log, name).height, size, 0)
    found = cf.online.measure(log, FIGURES)
    for name, want in FIGURES.items():
        places = 4 if name.startswith("CTR(") else 6
        check(name, found[name].item(), want, places)
    for name, want in MEDIANS.items():
        check(f"median {name}", cf.online.survival(log, name).table["seen_median"].item(), want)
    counted = by_grade(folder, log)
    for grade, pair in BY_GRADE.items():
        for what, value, number in zip(("shown", "clicked"), counted[grade], pair, strict=True):
            check(f"{what}, grade {grade}", value, number, 0)

    every = cf.online.measure(log)
    with tempfile.TemporaryDirectory() as place:
        ways: dict[str, Any] = {}
        for form in FORMATS:
            log.write(Path(place) / form, form)
            ways[form] = cf.online.read_log(Path(place) / form)
        ways["lazy csv"] = cf.online.scan_log(Path(place) / "csv")
        ways["lazy parquet"] = cf.online.scan_log(Path(place) / "parquet")
        if find_spec("duckdb"):
            import duckdb

            tables = ("pages", "results", "clicks")
            ways["duckdb"] = cf.online.scan_log(
                *(duckdb.read_parquet(f"{place}/parquet/{name}.parquet") for name in tables)
            )
        for way, given in ways.items():
            good = same(every, cf.online.measure(given))
            wrong += not good
            print(
                f"{len(every.measures)} measures from {way}: {'the same' if good else 'DIFFERENT'}"
            )
    print(every)
    print(f"{wrong} differences")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
