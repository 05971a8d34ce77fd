"""A folder with judgments and two small runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
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


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of three teams on twelve topics, their judgments, teams, and scores."""
    folder = tmp_path_factory.mktemp("campaign")
    random = np.random.default_rng(5)
    grades = random.choice([0, 0, 1, 2], size=(12, 20))
    (folder / "qrels.txt").write_text(
        "".join(f"q{t} 0 d{d} {grades[t, d]}\n" for t in range(12) for d in range(20))
    )
    for s in range(6):
        values = grades + random.normal(0, 0.5 + 0.5 * s, size=grades.shape)
        (folder / f"s{s}.run").write_text(
            "".join(
                f"q{t} Q0 d{d} {rank} {12 - rank} s{s}\n"
                for t in range(12)
                for rank, d in enumerate(np.argsort(-values[t])[:10], 1)
            )
        )
    (folder / "teams.csv").write_text(
        "system,team\n" + "".join(f"s{s},t{s // 2}\n" for s in range(6))
    )
    scores = 0.5 + 0.1 * np.arange(4) + random.normal(0, 0.1, size=(12, 4))
    (folder / "scores.csv").write_text(
        "topic,a,b,c,d\n" + "".join(f"q{t},{','.join(map(str, scores[t]))}\n" for t in range(12))
    )
    return folder
