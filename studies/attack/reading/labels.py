"""Hostile labels: any cell may be wrong, missing or twice; what is read is put together too."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.assess import (
    LeadRule,
    dawid_skene,
    glad,
    mace,
    majority,
    one_coin,
    read_labels,
    wawa,
)
from cranfield.assess.labels.table import Labels
from cranfield.base.errors import CranfieldError
from studies.attack.reading.spoil import spoil_bytes
from studies.attack.work.cases import FindingError, guarded, pick, some_id

Row = tuple[str, str, str, int, float]

BAD, GONE = "bad", "gone"
"""What a cell may mean besides its value."""

GRADES: tuple[tuple[Any, Any], ...] = (
    *((0, 0), (1, 1), (2, 2), ("1", 1), (" 2", 2), (1.0, 1), (-1, -1), (True, 1)),
    *((None, GONE), (nan, GONE), ("", GONE), ("NA", GONE), ("nan", GONE)),
    *((0.5, BAD), ("0.5", BAD), ("yes", BAD), (2**31, BAD), ("1e0", BAD), (b"1", BAD)),
    *((float("inf"), BAD), ("٣", BAD), ("1_0", BAD), ([1], BAD)),
)
"""Grades, and what each means; a text may stand in a file."""

SPACES = " \t\n\v\f\r\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""White space by Unicode, which is taken away around ids."""


def some_name(rng: random.Random, prefix: str) -> Any:
    draw = rng.random()
    if draw < 0.9:
        return f"{prefix}{rng.randrange(4)}" + (" " if draw > 0.85 else "")
    if draw < 0.97:
        return some_id(rng, prefix, rng.randrange(4))
    return rng.choice((None, "", " ", 7, "\ud800", 1.5, b"x", ("t",)))


def meant(cell: Any) -> Any:
    """Return the id that a cell of Python stands for, or that it is none."""
    if isinstance(cell, int):
        return str(cell)
    if not isinstance(cell, str) or not cell.strip(SPACES):
        return BAD
    try:
        cell.encode()
    except UnicodeEncodeError:
        return BAD
    return cell.strip(SPACES)


def expected(
    rows: list[tuple[Any, Any, Any, tuple[Any, Any], float]], repeats: str, missing: str
) -> list[Row] | None:
    """Read rows by loops; None where one of them has to be refused."""
    read: list[Row] = []
    for topic, doc, worker, (_, grade), order in rows:
        ids = (meant(topic), meant(doc), meant(worker))
        if BAD in ids or grade == BAD or (grade == GONE and missing == "error"):
            return None
        if grade != GONE:
            read.append((*ids, grade, order))
    if repeats != "keep":
        last: dict[tuple[str, str, str], int] = {}
        for k, row in enumerate(read):
            if row[:3] in last and repeats == "error":
                return None
            before = last.get(row[:3])
            if before is None or row[4] >= read[before][4]:
                last[row[:3]] = k
        read = [read[k] for k in sorted(last.values())]
    return read or None


def label_case(rng: random.Random, folder: Path) -> bool:
    size = rng.choice((1, 2, 5, 9, 20))
    cells = GRADES if rng.random() < 0.5 else GRADES[:4]
    names = ("q", "d", "w")
    rows: list[Any] = [
        (*(f"{n}{rng.randrange(4)}" for n in names), rng.choice(cells), float(rng.randrange(3)))
        for _ in range(size)
    ]
    if rng.random() < 0.6:
        row = rng.randrange(size)
        rows[row] = (*(some_name(rng, n) for n in names), *rows[row][3:])
    options: dict[str, Any] = {
        "repeats": pick(rng, error=1, last=2, keep=2),
        "missing": pick(rng, error=1, drop=2),
    }
    plain = [(*row[:3], row[3][0], row[4]) for row in rows]
    form = pick(rng, tuples=3, mappings=1, csv=2, jsonl=1, spoiled=3)
    wanted: Any = expected(rows, **options)
    data: Any = plain
    columns = ("topic", "doc", "worker", "grade", "order")
    if form == "mappings":
        data = [dict(zip(columns, row, strict=True)) for row in plain]
    elif form != "tuples":
        fits = all(isinstance(cell, str) for row in plain for cell in row[:3])
        fits = fits and all(isinstance(row[3][0], (str, int, type(None))) for row in rows)
        fits = fits and "\\ud800" not in repr(plain) and not any("\x00" in str(r) for r in plain)
        if not fits:
            return False
        data = folder / f"labels.{'txt' if form == 'spoiled' else form}"
        written(data, columns, plain, rng if form == "spoiled" else None)
        wanted = "unknown" if form == "spoiled" or not as_text(rows) else wanted
    reproducer = {"rows": plain, "form": form, **options}
    if form == "spoiled":
        reproducer["bytes"] = data.read_bytes()
        options["columns"] = rng.choice((None, "topic doc worker grade order", "- doc rater label"))
    found = guarded(lambda: read_labels(data, **options), reproducer)
    if isinstance(found, CranfieldError):
        if "\n" in str(found):
            raise FindingError(f"several lines: {found}", reproducer, "lines")
        if wanted not in (None, "unknown"):
            raise FindingError(f"refused: {found}", reproducer, "refused")
        return False
    if wanted is None:
        raise FindingError(f"accepted: {found.to_polars().rows()}", reproducer, "accepted")
    if wanted != "unknown" and found.to_polars().rows() != wanted:
        raise FindingError(f"read {found.to_polars().rows()}", reproducer, "other rows")
    if rng.random() < 0.3:
        put_together(rng, found, reproducer)
    return True


def as_text(rows: list[Any]) -> bool:
    """Tell whether a file says of all cells what they mean: no quotes, blanks or numbers in it."""
    return all(
        cell.isascii() and cell.isprintable() and '"' not in cell
        for row in rows
        for cell in row[:3]
        if isinstance(cell, str)
    ) and all(not isinstance(row[3][0], bool) for row in rows)


def written(path: Path, columns: tuple[str, ...], rows: list[Any], rng: Any) -> None:
    if path.suffix == ".jsonl":
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([columns, *rows])
    else:
        lines = [rng.choice((" ", "\t", "  \t")).join(map(str, row)) for row in rows]
        path.write_bytes(spoil_bytes(rng, "\n".join(lines).encode()))


def put_together(rng: random.Random, labels: Labels, reproducer: object) -> None:
    """Put labels together by all methods: chances sum to 1, nothing falls, majorities are right."""
    tie = rng.choice(("low", "high", "median", "drop", "random"))
    seed = rng.randrange(100)
    few = {"tie": tie, "seed": seed, "iterations": 15}
    for method, options in (
        (majority, {"tie": tie, "seed": seed}),
        (wawa, {"tie": tie, "seed": seed}),
        (dawid_skene, few),
        (one_coin, few),
        (glad, few),
        (mace, {**few, "restarts": 2}),
    ):
        if method in (glad, mace) and rng.random() < 0.8:
            continue
        name = method.__name__
        made = guarded(lambda m=method, o=options: m(labels, **o), reproducer)  # type: ignore[misc]
        if isinstance(made, CranfieldError):
            raise FindingError(f"{name}: {made}", reproducer, f"{name} refused")
        sums = made.posterior.sum(axis=1)
        if not np.allclose(sums, 1) or (np.diff(made.objective) < -1e-7).any():
            raise FindingError(f"{name}: {sums}, {made.objective}", reproducer, name)
        guarded(lambda m=made: (m.workers(), m.to_polars(), m.confusion), reproducer)  # type: ignore[misc]
        qrels = guarded(lambda m=made: m.qrels, reproducer)  # type: ignore[misc]
        if isinstance(qrels, CranfieldError) and not (tie == "drop" and made.tied.all()):
            raise FindingError(f"{name}: {qrels}", reproducer, f"{name} judgments")
    guarded(lambda: LeadRule().replay(labels).labels, reproducer)
    plain = majority(labels, tie="high").to_polars()
    counts: dict[tuple[str, str], Counter[int]] = {}
    for topic, doc, _, grade, *_ in labels.to_polars().rows():
        counts.setdefault((topic, doc), Counter())[grade] += 1
    right = [max(count, key=lambda g: (count[g], g)) for count in counts.values()]
    if plain["grade"].to_list() != right or plain.select("topic", "doc").rows() != [*counts]:
        raise FindingError(f"majority {plain['grade'].to_list()}", reproducer, "majority")
