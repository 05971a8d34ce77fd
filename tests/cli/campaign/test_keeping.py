"""`cranfield campaign verify` and `export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield import campaign
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.store import records, registry
from tests.cli.running import cranfield, refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    campaign.create(tmp_path / "news")
    return tmp_path


def test_verify_says_whether_all_is_well(folder: Path) -> None:
    verify = ("campaign", "verify", "news")
    assert cranfield(folder, *verify) == ("intact: 2 files, 2 events\n", "")
    records.put_object(folder / "news", b"left over")
    said, _ = cranfield(folder, *verify)
    assert said.startswith("intact: 2 files, 2 events\nobjects/")
    assert said.endswith("has no record in campaign.sqlite (left over)\n")
    said, _ = cranfield(folder, *verify, "--repair")
    assert said.startswith("intact: 2 files, 3 events\nobjects/")
    assert said.endswith("removed (repaired)\n")
    path = folder / "news" / "campaign.toml"
    path.write_text("x" + path.read_text()[1:])
    said, _ = cranfield(folder, *verify, status=1)
    assert said == (
        "1 problem: 2 files, 3 events\n"
        "campaign.toml: its SHA-256 differs from the recorded one (rules as they were last used)\n"
    )
    said, _ = cranfield(folder, *verify, "--format", "json", status=1)
    assert [(one["kind"], one["file"]) for one in json.loads(said)] == [("problem", path.name)]
    said, _ = cranfield(folder, *verify, "-f", "csv", "-o", "found.csv", status=1)
    assert said == ""
    assert (folder / "found.csv").read_text().startswith("kind,file,reason\nproblem,")


def test_what_cannot_be_verified_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(folder, "campaign", "verify", ".", reason="is not a campaign")
    own = ("campaign", "verify", "news", "-o", "news/campaign.sqlite")
    refused(folder, *own, reason="would overwrite an input file")
    monkeypatch.setattr(registry, "LOCK_TIMEOUT", 0.1)
    records.put_object(folder / "news", b"left over")
    with OpenedCampaign(folder / "news").registry.change("long"):
        _, said = cranfield(folder, "campaign", "verify", "news", "--repair", status=2)
    assert said.count("\n") == 1
    assert "another process is changing the campaign" in said


def test_export_says_that_it_is_private(folder: Path) -> None:
    _, said = cranfield(folder, "campaign", "export", "news", "-o", "news.zip")
    assert "private" in said
    assert (folder / "news.zip").exists()
    refused(folder, "campaign", "export", "news", "-o", "news", reason="must end in .zip")
