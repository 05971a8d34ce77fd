"""Files appear whole or not at all; private and synced where that is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cranfield.base.errors import InputError
from cranfield.base.files import hash_file, open_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")


@posix
def test_a_private_file_is_its_owners_whatever_the_mask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with open_atomically(tmp_path / "private", is_private=True) as out:
            # The mask is that of the process, and other threads make files: it is not touched.
            assert os.umask(0) == 0
            out.write(b"x")
        with open_atomically(tmp_path / "public") as out:
            out.write(b"x")
    finally:
        os.umask(old)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"private": 0o600, "public": 0o666}


@posix
def test_a_synced_file_is_on_the_disk_before_and_after_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, bool]] = []
    sync = os.fsync

    def fsync(handle: int) -> None:
        there = Path(f"/proc/self/fd/{handle}")
        kind = "folder" if there.is_dir() else "file"
        done.append((kind, (tmp_path / "a").exists()))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with open_atomically(tmp_path / "a", is_synced=True) as out:
        out.write(b"x")
    assert done == [("file", False), ("folder", True)]
    done.clear()
    with open_atomically(tmp_path / "a") as out:
        out.write(b"y")
    assert done == []


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        open_atomically(tmp_path / "a", is_private=True, is_synced=True) as out,
    ):
        out.write(b"x")
        _ = 1 / 0
    assert not list(tmp_path.iterdir())


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1.
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_file(tmp_path / "a") == expected
    with pytest.raises(InputError, match="is missing"):
        hash_file(tmp_path / "b")


@posix
def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to("target")
    with open_atomically(link) as out:
        out.write(b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    # A store gives names of its own: what somebody put there is not followed.
    with open_atomically(link, is_synced=True) as out:
        out.write(b"own")
    assert not link.is_symlink() and target.read_bytes() == b"new"


@posix
def test_a_link_to_a_stream_is_written_to(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "stdout"
    link.symlink_to("/dev/fd/1")
    print("before", flush=True)
    with open_atomically(link) as out:
        out.write(b"new\n")
    assert link.is_symlink() and capfd.readouterr().out == "before\nnew\n"
