"""What is read by columns calls no function for each row.

A single call for a row of a run makes an evaluation several times slower, and no value shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from cranfield import evaluate, read_qrels, read_run, read_scores
from cranfield.assess import read_labels
from cranfield.collection import read_lengths
from cranfield.online import read_log

FEW_ROWS, MANY_ROWS = 200, 10_000
TOPICS = 10

Rows = Callable[[int], Iterator[str]]


def count_calls(function: Callable[[], object]) -> int:
    """Count the calls of functions, of Python and of C, that `function` makes."""
    counts = {"call": 0, "c_call": 0}

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event in counts:
            counts[event] += 1

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return sum(counts.values())


def trec_run(n_rows: int) -> Iterator[str]:
    yield "# made by a program\n"
    for row in range(n_rows):
        yield f"{row * TOPICS // n_rows} Q0 d{row} {row + 1} {n_rows - row}.5 tag\n"


def unsorted_trec_run(n_rows: int) -> Iterator[str]:
    return (f"{row % TOPICS} Q0 d{row} 0 {row % 97} tag\n" for row in range(n_rows))


def csv_run(n_rows: int) -> Iterator[str]:
    yield "query_id,doc_id,score\n"
    yield from (f"{row % TOPICS},d{row},{n_rows - row}.5\n" for row in range(n_rows))


def trec_judgments(n_rows: int) -> Iterator[str]:
    return (f"{row % TOPICS} 0 d{row} {row % 3}\n" for row in range(n_rows))


def csv_judgments(n_rows: int) -> Iterator[str]:
    yield "query_id,doc_id,relevance\n"
    yield from (f"{row % TOPICS},d{row},{row % 3}\n" for row in range(n_rows))


def labels(n_rows: int) -> Iterator[str]:
    yield "worker,topic,document,label\n"
    yield from (f"w{row % TOPICS},1,d{row // TOPICS},{row % 3}\n" for row in range(n_rows))


def clicks(n_rows: int) -> Iterator[str]:
    yield "page,query,document,rank,clicked\n"
    for row in range(n_rows):
        page, place = divmod(row, 10)
        yield f"p{page},q{page % 5},d{place},{place + 1},{row % 2}\n"


def long_scores(n_rows: int) -> Iterator[str]:
    yield "topic,system,score\n"
    scores = ("0.25", "NA", "", " 0.5 ", ".5", "5.", "1e-3")
    yield from (f"{row % 100},s{row // 100},{scores[row % 7]}\n" for row in range(n_rows))


def score_lines(n_rows: int) -> Iterator[str]:
    return (f"s{row // 100}\t{row % 100}\tAP\t0.{row}\n" for row in range(n_rows))


def json_run(n_rows: int) -> Iterator[str]:
    for row in range(n_rows):
        yield f'{{"query_id": "{row % TOPICS}", "doc_id": "d{row}", "score": {n_rows - row}}}\n'


def lengths(n_rows: int) -> Iterator[str]:
    yield "document,length\n"
    yield from (f"d{row},{row}\n" for row in range(n_rows))


@pytest.mark.parametrize(
    ("rows", "read"),
    [
        (trec_run, read_run),
        (unsorted_trec_run, read_run),
        (csv_run, read_run),
        (trec_judgments, read_qrels),
        (csv_judgments, read_qrels),
        (labels, read_labels),
        (clicks, read_log),
        (lengths, read_lengths),
    ],
)
def test_reading_calls_nothing_for_each_row(
    rows: Rows, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    suffix = ".csv" if "," in next(rows(1)) else ".txt"
    assert calls_by_row(rows, read, suffix, tmp_path) < 0.05


def calls_by_row(rows: Rows, read: Callable[[Path], Any], suffix: str, folder: Path) -> float:
    few, many = folder / f"few{suffix}", folder / f"many{suffix}"
    few.write_text("".join(rows(FEW_ROWS)))
    many.write_text("".join(rows(MANY_ROWS)))
    read(few)  # What is loaded or compiled once does not count.
    more_calls = count_calls(lambda: read(many)) - count_calls(lambda: read(few))
    return more_calls / (MANY_ROWS - FEW_ROWS)


@pytest.mark.parametrize(
    ("rows", "read", "suffix", "most"),
    [
        # Each topic and system is checked; there are ten times as many of them in the larger file.
        (long_scores, read_scores, ".csv", 0.5),
        (score_lines, read_scores, ".txt", 0.5),
        # Python parses each line.
        (json_run, read_run, ".jsonl", 12),
    ],
)
def test_reading_calls_little_for_each_row(
    rows: Rows, read: Callable[[Path], Any], suffix: str, most: float, tmp_path: Path
) -> None:
    assert calls_by_row(rows, read, suffix, tmp_path) < most


def test_scoring_calls_nothing_for_each_document(tmp_path: Path) -> None:
    calls = []
    for n_rows in (FEW_ROWS, FEW_ROWS, MANY_ROWS):
        run_file, qrels_file = tmp_path / f"run{n_rows}", tmp_path / f"qrels{n_rows}"
        run_file.write_text("".join(trec_run(n_rows)))
        qrels_file.write_text("".join(trec_judgments(n_rows)))
        run, qrels = read_run(run_file), read_qrels(qrels_file)
        measures = ["AP", "nDCG@10", "RR", "P@10", "Bpref"]
        calls.append(count_calls(partial(evaluate, qrels, [run], measures)))
    assert calls[2] - calls[1] < 0.05 * (MANY_ROWS - FEW_ROWS)
