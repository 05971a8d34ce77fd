"""The labels of LLMJudge 2024 as files: those of people, and 21 of the submitted sets."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

import polars as pl

DATA = Path(__file__).parents[2] / "data" / "assess"


@cache
def labels() -> pl.DataFrame:
    """Return a row a pair: `topic`, `doc`, `people`, and a column a judge."""
    return pl.read_csv(lzma.decompress((DATA / "llmjudge_labels.csv.xz").read_bytes()))


def judges() -> list[str]:
    return labels().columns[3:]


def written(folder: Path) -> tuple[Path, Path]:
    """Write the files as they were published: the judgments, and a folder of submissions."""
    frame = labels().with_columns(zero=pl.lit(0))
    submissions = folder / "submissions"
    submissions.mkdir()
    for name in ("people", *judges()):
        path = folder / "people.txt" if name == "people" else submissions / f"{name}.txt"
        frame.select("topic", "zero", "doc", name).write_csv(
            path, separator=" ", include_header=False
        )
    return folder / "people.txt", submissions


def published() -> pl.DataFrame:
    """Tables 3 to 5 of Rahmani et al. (2025), for these 21 sets."""
    return pl.read_csv(DATA / "llmjudge_published.csv")
