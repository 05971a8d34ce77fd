"""Hostile labels of judges: text, JSON lines of any answers, CSV and rows in memory."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.base.errors import CranfieldError
from studies.attack.reading.memory import ODD, SIMPLE
from studies.attack.reading.spoil import hostile_text, spoil_bytes
from studies.attack.work.cases import FindingError, guarded, shown

DOCS, TOPICS = 6, 3
PEOPLE = {f"q{t}": {f"d{d}": (t + d) % 4 for d in range(DOCS)} for t in range(TOPICS)}
PAIRS = TOPICS * DOCS
KEYS = ("qid", "docid", "judgment", "result_status")


def judge_case(rng: random.Random, folder: Path) -> bool:
    """Compare the labels with those of people: the counts add up, or one line says why not."""
    given, known = _labels(rng, folder)
    options: dict[str, Any] = {
        "cut": rng.random() < 0.5,
        "scale": rng.choice((None, None, (0, 3), "0..9", "1..3")),
    }
    reproducer = (shown(given), options)
    found = guarded(lambda: cf.assess.compare_judges(PEOPLE, given, **options), reproducer)
    if isinstance(found, CranfieldError):
        if "\n" in str(found):
            raise FindingError(f"an error of several lines: {found}", reproducer)
        return False
    guarded(lambda: str(found), reproducer)
    row = found.to_polars().row(0, named=True)
    if row["pairs"] + row["missing"] != PAIRS:
        raise FindingError(f"{row['pairs']} + {row['missing']} are not {PAIRS}", reproducer)
    if row["labels"] != row["pairs"] + row["extra"] + row["unknown"]:
        raise FindingError(f"labels that are nowhere: {row}", reproducer)
    if known is not None and row["labels"] + row["unparsed"] != known:
        raise FindingError(f"{known} answers became {row}", reproducer)
    return True


def _labels(rng: random.Random, folder: Path) -> tuple[Any, int | None]:
    """Make labels in some form, and say how many answers there are where that is certain."""
    form = rng.choice(("trec", "jsonl", "jsonl", "csv", "rows", "rows", "text"))
    if form == "text":
        return _written(folder / "x.txt", hostile_text(rng, "qrels")), None
    rows = [_row(rng, number) for number in range(rng.choice((1, 3, 8)))]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        place = rng.choice(rows)
        place[rng.choice(KEYS)] = rng.choice(SIMPLE if rng.random() < 0.7 else ODD)
    if rng.random() < 0.05:
        rng.choice(rows).pop(rng.choice(KEYS))
    if form == "rows":
        return {"llm": rows}, len(rows)
    if form == "jsonl":
        try:
            lines = [json.dumps(row) for row in rows]
        except (TypeError, ValueError):
            lines = [json.dumps({name: str(value) for name, value in row.items()}) for row in rows]
        data = "\n".join(lines).encode("utf-8", "replace")
        spoilt = rng.random() < 0.2
        data = spoil_bytes(rng, data) if spoilt else data
        return _written(folder / "x.jsonl", data), None if spoilt else len(rows)
    cells = [[str(row.get(name, "")) for name in KEYS[:3]] for row in rows]
    if form == "csv":
        text = "\n".join(",".join(line) for line in [list(KEYS[:3]), *cells])
        return _written(folder / "x.csv", text.encode("utf-8", "replace")), None
    blank = rng.choice((" ", "\t", "  "))
    lines = [
        blank.join((topic, "0", doc, grade)) + " " * rng.randrange(3) for topic, doc, grade in cells
    ]
    return _written(folder / "x.txt", "\n".join(lines).encode("utf-8", "replace")), None


def _row(rng: random.Random, number: int) -> dict[str, Any]:
    return {
        "qid": f"q{rng.randrange(TOPICS) if rng.random() < 0.95 else 'x'}",
        "docid": f"d{number}",
        "judgment": rng.choice((0, 1, 2, 3)) if rng.random() < 0.95 else rng.choice((5, -1, None)),
        "result_status": 1 if rng.random() < 0.9 else 0,
        "prediction": "##final score: 1",
    }


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
