"""Write a file of scores, and read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cranfield as cf


def read(text: str, folder: Path, name: str = "s.csv", **options: Any) -> cf.Scores:
    (folder / name).write_text(text, encoding="utf-8")
    return cf.read_scores(folder / name, **options)
