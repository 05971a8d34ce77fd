"""Make the small simulated log that comes with the package.

    python -m studies.make_simulated_log [-o src/cranfield/data/simulated_log.parquet]

Nobody clicked here. Simulated users ask the topics of the bundled TREC-COVID collection and see the
top ten of two of its runs: those of the variant `control` one run, those of `treatment` a better
one, and for a fifth of the users the two are interleaved by team draft. They read from the top as a
dynamic Bayesian network has it: clicks and satisfaction depend on the grade of the document, and
how eager to click somebody is differs between users.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.base.streams import make_stream
from studies.common import run_main

SEED = 17
USERS = 400
DAYS = 28
START = datetime(2026, 3, 2, tzinfo=UTC)
CONTROL, TREATMENT = "poznan_baseline", "covidex.r5.2s.lr"
VARIANTS: tuple[Any, ...] = ("control", "treatment", None)
ATTRACTS = {0: 0.07, 1: 0.3, 2: 0.5}
SATISFIES = {0: 0.04, 1: 0.22, 2: 0.42}
GOES_ON = 0.9
LARGEST = 250_000

Row = dict[str, Any]


def team_draft(rng: np.random.Generator, first: list[str], second: list[str]) -> list[Row]:
    """Interleave two lists as Radlinski and others (2008) do."""
    shown: list[Row] = []
    lists, names, sizes = (first, second), ("control", "treatment"), [0, 0]
    while len(shown) < 10:
        coin = int(rng.integers(2))
        team = 0 if sizes[0] < sizes[1] or (sizes[0] == sizes[1] and coin == 0) else 1
        there = {row["doc"] for row in shown}
        doc = next(doc for doc in lists[team] if doc not in there)
        sizes[team] += 1
        shown.append({"doc": doc, "team": names[team]})
    return shown


def clicks_of(
    rng: np.random.Generator, shown: list[Row], at: datetime, eager: float
) -> tuple[list[Row], bool, datetime]:
    """Let a user go down a page: the clicks, whether it satisfied, and when it was left."""
    clicks: list[Row] = []
    at += timedelta(seconds=rng.lognormal(log(4), 0.5))
    for row in shown:
        grade = max(row["grade"] or 0, 0)
        odds = eager * ATTRACTS[grade] / (1 - ATTRACTS[grade])
        at += timedelta(seconds=rng.lognormal(log(1.6), 0.6))
        if rng.random() < odds / (1 + odds):
            happy = rng.random() < SATISFIES[grade]
            dwell = rng.lognormal(log(75 if happy else 13), 0.7)
            for _ in range(1 + int(rng.random() < 0.03)):
                clicks.append({"rank": row["rank"], "time": at, "dwell": round(dwell, 1)})
                at += timedelta(seconds=dwell)
            if happy:
                return clicks, True, at
        if rng.random() > GOES_ON:
            break
    return clicks, False, at


def session_of(
    rng: np.random.Generator, user: Row, lists: dict[str, dict[str, list[str]]], grades: Any
) -> list[Row]:
    """Let a user search until content or tired; what is asked next is another topic."""
    topics = sorted(lists["control"], key=int)
    topic, at, pages = int(rng.integers(len(topics))), user["at"], []
    while True:
        name = topics[topic]
        if rng.random() < 0.012:
            shown: list[Row] = []
        elif user["variant"] is None:
            shown = team_draft(rng, lists["control"][name], lists["treatment"][name])
        else:
            shown = [{"doc": doc, "team": None} for doc in lists[user["variant"]][name][:10]]
        for rank, row in enumerate(shown, 1):
            row |= {"rank": rank, "grade": grades.get((name, row["doc"]))}
        clicks, happy, left = clicks_of(rng, shown, at, user["eager"])
        pages.append(
            {
                "query": name,
                "time": at,
                "found": int(rng.lognormal(log(900), 1)) + 10 if shown else 0,
                "method": "TeamDraft" if user["variant"] is None and shown else None,
                "results": shown,
                "clicks": clicks,
            }
        )
        if rng.random() > (0.12 if happy else 0.5) or len(pages) == 6:
            break
        topic = (topic + int(rng.integers(1, 4))) % len(topics)
        at = left + timedelta(seconds=rng.lognormal(log(20), 1))
    if pages[-1]["clicks"] and rng.random() < 0.3:
        pages[-1]["clicks"][-1]["dwell"] = None
    return pages


def table() -> pl.DataFrame:
    """Make the pages of all users, in order of time, with their results and clicks in lists."""
    covid = cf.bundled.trec_covid()
    grades = {(topic, doc): grade for topic, doc, grade in covid.qrels.to_polars().iter_rows()}
    lists = {
        variant: {
            str(topic): part["doc"].head(10).to_list()
            for (topic,), part in next(run for run in covid.runs if run.name == tag)
            .to_polars()
            .sort("score", "doc", descending=True)
            .partition_by("topic", as_dict=True)
            .items()
        }
        for variant, tag in (("control", CONTROL), ("treatment", TREATMENT))
    }
    pages = []
    for number in range(USERS):
        rng = make_stream(SEED, number)
        variant: Any = VARIANTS[rng.choice(len(VARIANTS), p=[0.4, 0.4, 0.2])]
        eager = exp(rng.normal(0, 0.6))
        sessions = 1 + min(int(rng.geometric(0.2)), 20)
        starts = np.sort(rng.random(sessions)) * DAYS
        ready = START
        for count, day in enumerate(starts, 1):
            at = max(ready, START + timedelta(days=float(day)))
            user = {"variant": variant, "eager": eager, "at": at}
            made = session_of(rng, user, lists, grades)
            name = f"u{number:03d}"
            pages += [
                {"user": name, "session": f"{name}-{count}", "variant": variant} | page
                for page in made
            ]
            ready = made[-1]["time"] + timedelta(hours=2)
    pages.sort(key=lambda page: page["time"])
    time = pl.Datetime("ms", "UTC")
    shown = pl.Struct({"rank": pl.UInt8, "doc": pl.String, "team": pl.String, "grade": pl.Int8})
    clicked = pl.Struct({"rank": pl.UInt8, "time": time, "dwell": pl.Float32})
    schema: dict[str, Any] = {
        "id": pl.String,
        **dict.fromkeys(("query", "user", "session"), pl.String),
        **{"time": time, "variant": pl.String, "found": pl.Int64, "method": pl.String},
        **{"results": pl.List(shown), "clicks": pl.List(clicked)},
    }
    named = [{"id": f"p{number:04d}"} | page for number, page in enumerate(pages, 1)]
    return pl.DataFrame(named, schema=schema)


def main(*, output: Path = Path("src/cranfield/data/simulated_log.parquet")) -> None:
    made = table()
    made.write_parquet(output, compression="zstd", compression_level=22, statistics=False)
    size = output.stat().st_size
    print(f"{made.height:,} pages, {size:,} bytes")
    assert size <= LARGEST


if __name__ == "__main__":
    run_main(main)
