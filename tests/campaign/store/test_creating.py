"""A campaign's folder is made whole or not at all, and private."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from cranfield import campaign
from cranfield.base.errors import CranfieldError, InputError
from cranfield.campaign.store.registry import Transaction

RULES = """\
[campaign]
id = "news"
title = "News"
[tasks.adhoc]
topics = "given/topics.txt"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "rules" / "given").mkdir(parents=True)
    (tmp_path / "rules" / "given" / "topics.txt").write_text("1 a\n2 b\n")
    (tmp_path / "rules" / "unrelated.txt").write_text("not copied")
    path = tmp_path / "rules" / "campaign.toml"
    path.write_text(RULES)
    return path


@pytest.mark.parametrize("wrong", ['measures = ["nope"]', 'judging = {ties = "nope"}'])
def test_measures_and_policies_are_checked_before_anything_is_made(
    rules: Path, tmp_path: Path, wrong: str
) -> None:
    rules.write_text(RULES + wrong)
    with pytest.raises(InputError, match=r"tasks\.adhoc\.(measures|judging): .*nope"):
        campaign.create(tmp_path / "news", rules)
    assert not (tmp_path / "news").exists()


def test_rules_and_the_files_that_they_name_are_copied(rules: Path, tmp_path: Path) -> None:
    made = campaign.create(tmp_path / "news", rules, actor="nicola")
    files = {p.relative_to(made.folder).as_posix() for p in made.folder.rglob("*") if p.is_file()}
    assert files == {"campaign.toml", "given/topics.txt", "campaign.sqlite"}
    assert (made.folder / "campaign.toml").read_bytes() == rules.read_bytes()
    assert made.registry.get_rules_files() == dict(made.rules.files)
    assert [one.action for one in made.registry.list_events()] == ["rules", "create"]
    assert made.verify().is_intact
    assert not made.verify().remarks


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_only_the_owner_can_look(rules: Path, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        made = campaign.create(tmp_path / "news", rules)
        with made.registry.change("x"):
            pass
    finally:
        os.umask(old)
    everything = [made.folder, *made.folder.rglob("*")]
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in everything}
    assert modes == {(True, 0o700), (False, 0o600)}
    made.folder.chmod(0o755)
    assert "accessible to other users" in str(made.verify().remarks[0])


def test_what_fails_leaves_nothing(
    rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rules.parent / "given" / "topics.txt").unlink()
    with pytest.raises(CranfieldError, match="topics"):
        campaign.create(tmp_path / "news", rules)
    monkeypatch.setattr(Transaction, "append_event", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        campaign.create(tmp_path / "news")
    assert [path.name for path in tmp_path.iterdir()] == ["rules"]


def test_an_old_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(CranfieldError, match=r"require SQLite >= 3\.37 compiled with serialize"):
        campaign.create(tmp_path / "news")
    assert not list(tmp_path.iterdir())


def test_only_a_new_or_empty_folder_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    made = campaign.create(tmp_path / "empty")
    # Without rules, those of the template.
    assert made.rules.tasks
    assert made.verify().is_intact
    (tmp_path / "file").touch()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for call, path, message in (
        (campaign.create, tmp_path / "empty", "already"),
        (campaign.create, tmp_path / "file", "already"),
        (campaign.create, tmp_path / "none" / "news", "no such file"),
        (campaign.create, ".", "name"),
        (campaign.open, tmp_path / "none", "no such folder"),
        (campaign.open, tmp_path, r"campaign\.sqlite"),
    ):
        with pytest.raises(CranfieldError, match=message):
            call(path)
