"""What participants get says the same as what the organisers have, and nothing private."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.campaign_folder import pack
from cranfield.campaign.checks.checking import check_run
from cranfield.campaign.checks.report import CODES, UNREADABLE
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.rules.reading import format_rules, hash_rules, read_rules
from cranfield.campaign.rules.task_rules import (
    MetadataRules,
    PoolRules,
    Question,
    Rules,
    TaskRules,
)
from tests.campaign.publishing.making import contents

TOML = """\
[campaign]
id = "news"
title = "News | `2026`"
description = "What it is about."
consent = "Published."
keep_refused = true  # CANARY

[tasks.adhoc]
topics = "topics/adhoc.xml"
documents = "docs.txt"
closes = 2026-08-15T23:59:59-12:00
[tasks.small]
documents = {pattern = "d[0-9]+"}
second_column = "Q0"
severities = {tied = "off", metadata-twice = "error"}
fewer_than_max = "warning"
"""


@pytest.fixture
def opened(tmp_path: Path) -> OpenedCampaign:
    folder = tmp_path / "campaign"
    (folder / "topics").mkdir(parents=True)
    (folder / "topics" / "adhoc.xml").write_text('<ts>\\n<topic number="1"/>\\n</ts>')
    (folder / "docs.txt").write_text("d1\nd2\n")
    (folder / "qrels.txt").write_text("CANARY")
    (folder / "campaign.toml").write_text(TOML)
    return OpenedCampaign(folder)


def test_a_pack_has_the_same_rules_and_lists(opened: OpenedCampaign, tmp_path: Path) -> None:
    made = pack(opened, tmp_path / "pack")
    files = contents(made)
    assert set(files) == {"rules.toml", "README.md", "topics/adhoc.xml", "docs.txt"}
    assert files["docs.txt"] == b"d1\nd2\n"
    packed = read_rules(made)
    for name, task in opened.rules.tasks.items():
        moved: dict[str, Any] = {
            field: made / path.relative_to(opened.folder)
            for field in ("topics", "documents")
            if isinstance(path := getattr(task, field), Path)
        }
        assert packed.tasks[name] == replace(task, **moved)
    assert not any(b"CANARY" in data or b"keep_refused" in data for data in files.values())
    readme = files["README.md"].decode()
    assert "$ cranfield check YOUR.run --rules . --task adhoc\n" in readme
    assert "- `adhoc` closes at 2026-08-16 11:59:59 UTC" in readme
    assert hash_rules(packed) in readme
    assert str(tmp_path) not in readme
    assert "State with each run" not in readme


def test_a_pack_lists_what_a_submission_declares(opened: OpenedCampaign, tmp_path: Path) -> None:
    text = TOML.replace(
        'fewer_than_max = "warning"',
        """types = ["automatic", "manual_1"]
priorities = 2
[tasks.small.questions.fields]
ask = "Which | fields?"
choices = ["title", "all"]
required = true
[tasks.small.questions.notes]
ask = "What else?"
""",
    )
    (opened.folder / "campaign.toml").write_text(text)
    readme = (pack(OpenedCampaign(opened.folder), tmp_path / "pack") / "README.md").read_text()
    assert readme.count("also state the following") == 1
    assert (
        """
- `small`: type (required): automatic, manual_1
- `small`: priority (required): from 1, the highest, to 2
- `small`: fields (required): Which &#124; fields? (title, all)
- `small`: notes: What else?

"""
        in readme
    )


def test_the_readme_of_a_pack_states_the_limits_of_each_task(
    opened: OpenedCampaign, tmp_path: Path
) -> None:
    rules = ["max_per_topic = 50", "runs_per_team = 3", "pool = {depth = 20, priorities = [1, 2]}"]
    rules += ["priorities = 2", 'late = "mark"', 'tag = "[a-z`]+"', ""]
    text = TOML.replace('fewer_than_max = "warning"', "\n".join(rules))
    (opened.folder / "campaign.toml").write_text(text)
    with pytest.warns(cf.CranfieldWarning, match="'small' has 3 runs per team, but 2 priorities"):
        folder = pack(OpenedCampaign(opened.folder), tmp_path / "pack")
    readme = (folder / "README.md").read_text()
    [adhoc] = re.findall("^- `adhoc` .*", readme, re.MULTILINE)
    [small] = re.findall("^- `small` .*", readme, re.MULTILINE)
    assert "; has 1 topic; takes at most 1,000 documents per topic; " in adhoc
    assert adhoc.endswith("takes tags that match the pattern `[A-Za-z0-9_.-]{1,20}`")
    assert "takes at most 50 documents per topic; takes at most 3 runs per team; " in small
    assert "pools the first 20 documents of runs of priorities 1 and 2" in small


def test_a_check_by_the_pack_says_what_the_organisers_check_says(
    opened: OpenedCampaign, tmp_path: Path
) -> None:
    made = read_rules(pack(opened, tmp_path / "pack"))
    run = tmp_path / "a.run"
    run.write_text("1 Q0 d1 1 2.0 a\n1 Q0 d3 2 nan a\n7 Q0 d1 x 1.0 b/c\n")
    for name in ("adhoc", "small"):
        assert check_run(run, made.get_task(name)) == check_run(run, opened.rules.get_task(name))
        assert not check_run(run, made.get_task(name)).is_accepted


def test_a_pack_is_made_whole_or_not_at_all(opened: OpenedCampaign, tmp_path: Path) -> None:
    place = tmp_path / "pack"
    (opened.folder / "docs.txt").rename(opened.folder / "README.md")
    text = TOML.replace('"docs.txt"', '"README.md"')
    (opened.folder / "campaign.toml").write_text(text)
    with pytest.raises(cf.InputError, match=r"README\.md.* must be renamed"):
        pack(OpenedCampaign(opened.folder), place)
    (opened.folder / "campaign.toml").write_text(text.replace('"README.md"', '"topics/adhoc.xml"'))
    (opened.folder / "topics" / "adhoc.xml").write_text("<ts>\n</ts>")
    with pytest.raises(
        cf.InputError, match=r"tasks\.adhoc\.topics: adhoc\.xml: expected at least one topic"
    ):
        pack(OpenedCampaign(opened.folder), place)
    assert {path.name for path in tmp_path.iterdir()} == {"campaign"}
    (opened.folder / "topics" / "adhoc.xml").write_text('<ts>\n<topic number="1"/>\n</ts>')
    place.mkdir()
    (place / "mine").write_text("x")
    with pytest.raises(cf.PolicyError, match="already exists and is not an empty folder"):
        pack(OpenedCampaign(opened.folder), place)
    assert contents(place) == {"mine": b"x"}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ('measures = ["AP", "APP"]', "measures: .*APP"),
        ('judging = {ties = "no"}', "judging: unknown ties 'no'"),
        ('tag = "[a-"', r"tag: pattern '\[a-' .*unclosed"),
    ],
)
def test_what_opening_leaves_unread_is_checked(
    opened: OpenedCampaign, tmp_path: Path, key: str, message: str
) -> None:
    text = TOML.replace("[tasks.small]", f"[tasks.small]\n{key}")
    (opened.folder / "campaign.toml").write_text(text)
    with pytest.raises(cf.InputError, match=rf"^campaign\.toml:13: tasks\.small\.{message}"):
        pack(opened, tmp_path / "pack")


lines = st.text(
    st.characters(exclude_categories=["C", "Zl", "Zp", "Zs"]), min_size=1, max_size=8
) | st.sampled_from(["a", "x y", '"', "\\", "'", "#", "= {", "é\U0001f600"])
severity = st.sampled_from(["error", "warning", "off"])
many = st.lists(lines, max_size=3, unique=True).map(tuple)
whole = st.integers(1, 10**12)
instants = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(  # noqa: DTZ001
    lambda time: time.replace(tzinfo=UTC)
)
names = st.from_regex(r"[a-z][A-Za-z0-9_.+-]{0,5}[a-z]", fullmatch=True).filter(
    lambda name: name != "type" and name.lower() not in ("con", "nul", "aux", "prn")
)
questions = st.dictionaries(names, st.tuples(lines, many, st.booleans()), max_size=3).map(
    lambda asked: {name: Question(name, *parts) for name, parts in asked.items()}
)
free = sorted(code for code in CODES if code not in UNREADABLE)
tasks = st.builds(
    TaskRules,
    name=names,
    title=st.just("") | lines,
    document_pattern=st.none() | st.sampled_from(["[a-z0-9]{8}", 'a"b', r"FT\d+-\d+"]),
    tag=st.sampled_from(["[A-Za-z0-9_.-]{1,20}", r"[\w.-]{1,20}", "x|y"]),
    format=st.sampled_from(["trec", "ntcir"]),
    max_per_topic=whole,
    second_column=many,
    rank=st.sampled_from(["integer", "order", "off"]),
    tied=st.floats(0, 1),
    severities=st.dictionaries(st.sampled_from(free), severity),
    opens=st.none() | instants,
    late=st.sampled_from(["mark", "refuse"]),
    runs_per_team=st.none() | whole,
    runs_per_day=st.none() | whole,
    max_bytes=whole,
    max_decompressed_bytes=whole,
    types=many,
    priorities=st.integers(9, 20),
    pool=st.none()
    | st.builds(PoolRules, whole, st.lists(st.integers(1, 9), unique=True).map(tuple)),
    measures=st.lists(lines, min_size=1, max_size=3, unique=True).map(tuple),
    judging=st.fixed_dictionaries({}, optional={"ties": lines, "depth": whole, "compat": lines}),
    min_category=whole,
    median=st.sampled_from(["better", "average"]),
    feedback=st.sampled_from(["none", "means", "sheets"]),
    metadata=st.none() | st.builds(MetadataRules, many, many),
    questions=questions,
)


@given(tasks, st.timedeltas(timedelta(seconds=1), timedelta(days=99)), st.integers(-12, 14))
def test_rules_that_are_written_read_back_the_same(
    task: TaskRules, length: timedelta, offset: int
) -> None:
    zone = timezone(timedelta(hours=offset))
    closes = None if task.opens is None else (task.opens + length).astimezone(zone)
    grouped = tuple(name for name, asked in task.questions.items() if asked.choices)
    task = replace(task, closes=closes, categories=grouped)
    rules = Rules(
        "c", "A title", {task.name: task}, consent="a\nb\x1b\u202e\\u0041", description=""
    )
    with pytest.MonkeyPatch.context() as patch:
        text = format_rules(rules, Path("/nowhere"))
        patch.setattr("cranfield.campaign.rules.reading._read_bytes", lambda _: text.encode())
        again = read_rules("rules.toml")
    assert (again.get_task(), again.consent) == (task, rules.consent)
