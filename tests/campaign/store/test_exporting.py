"""A campaign as one archive, which SQLite's and zip's own programs can read."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sqlite3
from pathlib import Path
from zipfile import ZipFile

import pytest

from cranfield import campaign
from cranfield.base.errors import InputError, PolicyError
from cranfield.campaign.store import records

from .conftest import Enter, judged


def test_all_is_in_it(news: campaign.Campaign, record_run: Enter, tmp_path: Path) -> None:
    run = record_run("bm25")
    judged(news)
    path = news.export(tmp_path / "news.zip")
    with ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
        archive.extractall(tmp_path / "again")
    sums = dict(line.split("  ")[::-1] for line in held.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in held.items()}
    for source in news.folder.rglob("*"):
        if source.is_file():
            assert held.pop(source.relative_to(news.folder).as_posix()) == source.read_bytes()
    assert all(name.startswith("tables/") for name in held)
    rows = list(csv.DictReader(held["tables/submission.csv"].decode().splitlines()))
    assert [(row["tag"], row["object"], row["state"]) for row in rows] == [
        ("bm25", run.object, "accepted")
    ]
    connection = sqlite3.connect(news.folder / "campaign.sqlite")
    connection.row_factory = sqlite3.Row
    for name in ("team", "submission", "fault", "judgments", "score_file", "release", "event"):
        expected = [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
        assert json.loads(held[f"tables/{name}.json"]) == expected
    connection.close()
    assert news.export(tmp_path / "same.zip").read_bytes() == path.read_bytes()
    # What was packed is a campaign again, but for the tables beside it.
    again = campaign.open(tmp_path / "again")
    assert again.verify().is_intact
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_exported_is_said(
    news: campaign.Campaign, record_run: Enter, tmp_path: Path
) -> None:
    run = record_run("bm25")
    with pytest.raises(PolicyError, match=r"must end in \.zip"):
        news.export(tmp_path / "news.tar")
    with pytest.raises(PolicyError, match="outside"):
        news.export(news.folder / "news.zip")
    records.find_object(news.folder, run.object).unlink()
    with pytest.raises(InputError, match="is missing"):
        news.export(tmp_path / "news.zip")
    assert not (tmp_path / "news.zip").exists()
