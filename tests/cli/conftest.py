"""A folder with judgments and two small runs."""

from __future__ import annotations

from pathlib import Path

import pytest

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 2\n"
RUN = "1 Q0 b 1 2 one\n1 Q0 a 2 1 one\n2 Q0 a 1 9 one\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "one.run").write_text(RUN)
    (tmp_path / "two.run").write_text(
        RUN.replace(" one", " two_x").replace("2 two", "0 two").replace("b 1", "b 3")
    )
    return tmp_path
