"""The team of each system, from whatever says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cranfield.base.errors import InputError, PolicyError
from cranfield.meta.collection_studies.rankings import teams_of

SYSTEMS = ["uni-1", "uni-2", "lab-1"]


@pytest.mark.filterwarnings("ignore:.*columns not used")
def test_every_way_says_the_same(tmp_path: Path) -> None:
    rows = {"tag": [*SYSTEMS, "more"], "Team": ["uni", "uni", "lab", "x"], "P@20": [1, 2, 3, 4]}
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "teams.csv")
    frame.write_csv(tmp_path / "teams.tsv", separator="\t")
    lines = (tmp_path / "teams.csv").read_text().splitlines()
    (tmp_path / "lines.csv").write_text("\n\n".join(lines))
    ways: list[Any] = [
        tmp_path / "lines.csv",
        {"uni-1": "uni", "uni-2": "uni", "lab-1": "lab", "more": "x"},
        lambda name: name.split("-")[0],
        re.compile("^[a-z]+"),
        re.compile("^(.+)-"),
        frame,
        frame.lazy(),
        tmp_path / "teams.csv",
        str(tmp_path / "teams.tsv"),
    ]
    for way in ways:
        assert teams_of(SYSTEMS, way) == ("uni", "uni", "lab")


def test_each_system_is_its_own_team_by_default() -> None:
    assert teams_of(SYSTEMS) == tuple(SYSTEMS)


@pytest.mark.parametrize(
    ("teams", "error", "message"),
    [
        ({"uni-1": "uni"}, PolicyError, "system 'uni-2' has no team"),
        (re.compile("^uni"), PolicyError, "system 'lab-1' has no team"),
        (dict.fromkeys(SYSTEMS, pl.LazyFrame()), PolicyError, "system 'uni-1' has no team"),
        (dict.fromkeys(SYSTEMS, float("nan")), PolicyError, "system 'uni-1' has no team"),
        (lambda name: None, PolicyError, "system 'uni-1' has no team"),
        (7, PolicyError, "got int"),
        ("no-such-file.csv", InputError, "no-such-file.csv: cannot be read"),
        (pl.DataFrame({"a": SYSTEMS}), InputError, "has no system column"),
        (pl.DataFrame({"run": SYSTEMS}), InputError, "has no team column"),
        (
            pl.DataFrame({"run": ["uni-1", "uni-1"], "team": ["a", "b"]}),
            InputError,
            "system 'uni-1' has two teams",
        ),
        (
            pl.DataFrame({"run": [*SYSTEMS, "x"], "team": [*"aab", " "]}),
            InputError,
            "row 4: expected a team",
        ),
        (
            pl.DataFrame({"run": [*SYSTEMS, None], "team": [*"aabb"]}),
            InputError,
            "row 4: expected a system",
        ),
    ],
)
def test_what_does_not_fit_is_said(teams: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        teams_of(SYSTEMS, teams)
