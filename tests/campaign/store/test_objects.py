"""Bytes are kept under their SHA-256, or not at all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base.errors import InputError
from cranfield.campaign.store import records


@given(data=st.binary(max_size=100))
def test_bytes_come_back(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("campaign")
    sha256, size = records.put_object(folder, data)
    assert (sha256, size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert records.read_object(folder, sha256) == data
    assert records.find_object(folder, sha256) == folder / "objects" / sha256[:2] / sha256


def test_a_file_is_copied_and_its_damage_healed(tmp_path: Path) -> None:
    source = tmp_path / "bm25.run"
    source.write_bytes(b"x" * 3_000_000)
    sha256, size = records.put_object(tmp_path, source)
    kept = records.find_object(tmp_path, sha256)
    assert (kept.read_bytes(), size) == (source.read_bytes(), 3_000_000)
    kept.write_bytes(b"damaged")
    with pytest.raises(
        InputError, match=f"objects/{sha256}: the stored bytes differ from the submitted file"
    ):
        records.read_object(tmp_path, sha256)
    assert records.put_object(tmp_path, source) == (sha256, size)
    assert records.read_object(tmp_path, sha256) == source.read_bytes()
    assert len(list(kept.parent.iterdir())) == 1
    if os.name == "posix":
        assert kept.stat().st_mode & 0o777 == 0o600
        assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_an_object_is_on_the_disk_with_its_name_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    sha256, _ = records.put_object(tmp_path, b"x")
    kept = records.find_object(tmp_path, sha256)
    expected = [kept.parent.parent, kept, kept.parent]
    if os.name != "posix":
        expected = [kept]
    assert synced == [path.stat().st_ino for path in expected]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is missing"):
        records.read_object(tmp_path, "ab" * 32)
    with pytest.raises(InputError, match="is missing"):
        records.put_object(tmp_path, tmp_path / "none.run")
    assert not (tmp_path / "objects").exists()


def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.run").write_bytes(b"x")
    monkeypatch.setattr(records, "hash_file", lambda _: "ab" * 32)
    with pytest.raises(InputError, match="changed while it was read"):
        records.put_object(tmp_path, tmp_path / "a.run")
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "a.run"]
