"""`cranfield campaign init` and `pack`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from cranfield.campaign.rules.reading import read_rules, read_template
from tests.cli.running import cranfield, refused

TOML = """\
[campaign]
id = "news"
title = "News"
[tasks.adhoc]
topics = "topics.txt"
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "topics.txt").write_text("1 first\n2 second\n")
    (tmp_path / "rules" / "campaign.toml").write_text(TOML)
    return tmp_path


def test_init_without_rules_makes_an_example_to_be_edited(tmp_path: Path) -> None:
    out, _ = cranfield(tmp_path, "campaign", "init", "new")
    made = Path("new", "campaign.toml")
    assert out.splitlines() == ["new: my-campaign, 1 task", f"next: edit {made}"]
    assert (tmp_path / made).read_text() == read_template()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_init_and_pack_with_rules(rules: Path) -> None:
    out, _ = cranfield(rules, "campaign", "init", "new", "--rules", "rules/campaign.toml")
    assert out == "new: news, 1 task\n"
    out, _ = cranfield(rules, "campaign", "pack", "new", "-o", "pack")
    assert out == "pack: 3 files\n"
    made = rules / "pack"
    assert {path.name for path in made.iterdir()} == {"rules.toml", "topics.txt", "README.md"}
    assert stat.S_IMODE(made.stat().st_mode) & 0o500 == 0o500
    assert read_rules(made).id == "news"
    (rules / "a.run").write_text("1 Q0 d1 1 2.0 a\n")
    out, _ = cranfield(rules, "check", "a.run", "--rules", "pack", status=1)
    assert "no documents for topic '2'" in out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('measures = ["APP"]\n', "campaign.toml:6: tasks.adhoc.measures: "),
        (
            'tag = "a(?=b)"\n',
            "campaign.toml:6: tasks.adhoc.tag: pattern 'a(?=b)' does not compile: look-around,",
        ),
        ("max_per_topc = 1\n", "campaign.toml:6: tasks.adhoc.max_per_topc: unknown key"),
    ],
)
def test_rules_with_a_mistake_make_no_folder(rules: Path, more: str, message: str) -> None:
    (rules / "rules" / "campaign.toml").write_text(TOML + more)
    refused(rules, "campaign", "init", "new", "--rules", "rules", reason=message)
    assert {path.name for path in rules.iterdir()} == {"rules"}


def test_nothing_is_written_into_what_is_there(rules: Path) -> None:
    cranfield(rules, "campaign", "init", "new", "--rules", "rules")
    before = sorted(rules.rglob("*"))
    for place in ("new", "rules", "no/pack", "rules/campaign.toml"):
        _, said = cranfield(rules, "campaign", "pack", "new", "-o", place, status=2)
        assert said.count("\n") == 1
    cranfield(rules, "campaign", "init", "rules", status=2)
    assert sorted(rules.rglob("*")) == before
