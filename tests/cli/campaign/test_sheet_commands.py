"""`cranfield campaign sheets`, `overview` and `packet`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.campaign.results.sheets.conftest import TEAMS, Make, small
from tests.cli.running import cranfield, refusals, refused

__all__ = ["small"]


@pytest.fixture
def folder(small: Make, tmp_path: Path) -> Path:
    small()
    return tmp_path


def test_sheets(folder: Path) -> None:
    said = cranfield(folder, "campaign", "release", "sheets", "campaign", "-o", "sheets")
    assert said == ("31 files in sheets\n", "")
    assert "tag-westlab-2" in (folder / "sheets/index.html").read_text()
    cranfield(
        folder, "campaign", "release", "sheets", "campaign", "--others", "hidden", "-o", "sheets"
    )
    assert "tag-west" not in (folder / "sheets/runs/tag-eastlab-1.html").read_text()


def test_packets(folder: Path) -> None:
    packet = ("campaign", "release", "packet", "campaign")
    assert cranfield(folder, *packet, "--team", "eastlab", "-o", "e.zip") == ("e.zip\n", "")
    assert cranfield(folder, *packet, "--all", "-o", "every")[0] == "5 files in every\n"
    assert {path.stem for path in (folder / "every").glob("[a-z]*")} == {*TEAMS}
    one, other = (
        zipfile.ZipFile(folder / name).namelist() for name in ("e.zip", "every/eastlab.zip")
    )
    assert one == other


def test_overview(folder: Path) -> None:
    cranfield(
        folder, "campaign", "release", "overview", "campaign", "--charts", "pdf", "-o", "over"
    )
    assert (folder / "over/charts/scores.pdf").read_bytes()[:4] == b"%PDF"


@refusals(
    """
sheets campaign -o campaign/sheets | private folder
overview campaign -o campaign | private folder
packet campaign --all -o campaign | private folder
packet campaign -o x.zip | expected either --team or --all
packet campaign --team x -o x.zip | unknown team 'x'
sheets campaign -m XYZ -o x | XYZ
sheets campaign --task x -o x | unknown task 'x'
"""
)
def test_what_is_wrong_is_one_line(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, "campaign", "release", *words, reason=reason)
