"""campaign.toml is read whole, or one line says where it is wrong."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from cranfield import InputError
from cranfield.campaign.rules.reading import hash_rules, read_rules, read_template
from cranfield.campaign.rules.task_rules import (
    CAMPAIGN,
    DOCUMENTS,
    JUDGING,
    METADATA,
    POOL,
    QUESTION,
    TASK,
    MetadataRules,
    PoolRules,
    Question,
    TaskRules,
)

FULL = """\
[campaign]
id = "news-2026"
title = "News search 2026"
consent = "Runs are published under CC BY 4.0; contacts are not."

[tasks.adhoc]
topics = "topics.txt"
documents = "lists/docids.txt"
tag = "[A-Za-z0-9_.-]{1,20}"
format = "trec"
max_per_topic = 1000
missing_topics = "allow"
unknown_topics = "error"
fewer_than_max = "off"
second_column = ["Q0", "q0"]
rank = "integer"
tied = 0.2
exclude = "already-judged.txt"
opens = 2026-07-01T00:00:00Z
closes = 2026-08-15T23:59:59-12:00
late = "mark"
runs_per_team = 5
runs_per_day = 10
types = ["automatic", "manual"]
priorities = 5
pool = {depth = 100, priorities = [1, 2]}
measures = ["AP", "nDCG@10", "P@10"]
categories = ["type", "fields"]
min_category = 3
feedback = "none"
[tasks.adhoc.metadata]
required = ["tag", "actor.team", "method.automatic"]
placeholders = ["ENTER_VALUE_HERE"]
[tasks.adhoc.questions.fields]
ask = "Which fields of the topics were used?"
choices = ["title", "title+description", "all"]
required = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lists").mkdir()
    for name in ("topics.txt", "lists/docids.txt", "already-judged.txt"):
        (tmp_path / name).write_text(name + "\n")
    (tmp_path / "campaign.toml").write_text(FULL)
    return tmp_path


def test_every_key_becomes_its_field(folder: Path) -> None:
    rules = read_rules(folder)
    assert (rules.id, rules.title) == ("news-2026", "News search 2026")
    assert rules.source == "campaign.toml"
    assert rules.get_task() == TaskRules(
        name="adhoc",
        topics=folder / "topics.txt",
        documents=folder / "lists" / "docids.txt",
        exclude=folder / "already-judged.txt",
        second_column=("Q0", "q0"),
        severities={"topic-missing": "off", "topic-unknown": "error", "too-few": "off"},
        opens=datetime(2026, 7, 1, tzinfo=UTC),
        closes=datetime(2026, 8, 16, 11, 59, 59, tzinfo=UTC),
        late="mark",
        runs_per_team=5,
        runs_per_day=10,
        types=("automatic", "manual"),
        priorities=5,
        pool=PoolRules(100, (1, 2)),
        measures=("AP", "nDCG@10", "P@10"),
        categories=("type", "fields"),
        metadata=MetadataRules(("tag", "actor.team", "method.automatic"), ("ENTER_VALUE_HERE",)),
        questions={
            "fields": Question(
                "fields",
                "Which fields of the topics were used?",
                ("title", "title+description", "all"),
                required=True,
            )
        },
    )


def test_all_files_are_known_by_their_sha256(folder: Path) -> None:
    rules = read_rules(folder / "campaign.toml")
    names = ["campaign.toml", "topics.txt", "lists/docids.txt", "already-judged.txt"]
    expected = {name: sha256((folder / name).read_bytes()).hexdigest() for name in names}
    assert dict(rules.files) == expected
    listing = "".join(sorted(f"{expected[name]}  {name}\n" for name in names))
    (folder / "list").write_text(listing)
    assert hash_rules(rules) == sha256((folder / "list").read_bytes()).hexdigest()
    (folder / "topics.txt").write_text("other\n")
    assert hash_rules(read_rules(folder)) != hash_rules(rules)


QUESTION_TEXT = 'ask = "Which fields of the topics were used?"\n'
CHOICES = 'choices = ["title", "title+description", "all"]\n'
CHANGES = [
    # A line that takes the place of the line with its key.
    ("closes = 2026-06-15T23:59:59-12:00", ":20: tasks.adhoc.closes: must be after opens"),
    ("closes = 2026-08-15T23:59:59", ":20: tasks.adhoc.closes: .*offset from UTC"),
    ("max_per_topic = true", ":11: tasks.adhoc.max_per_topic: .*integer.*true"),
    ('max_per_topic = "1000"', "integer.* '1000'"),
    ("tied = nan", "tasks.adhoc.tied: .*number from 0 to 1.* 'nan'"),
    ('rank = "int"', ":16: tasks.adhoc.rank: .*integer, order, off.*'int'"),
    ('id = "../news"', ":2: campaign.id: .*'../news'"),
    ('topics = "../topics.txt"', "in the folder of the rules"),
    ('topics = "/etc/passwd"', "in the folder of the rules"),
    ('topics = "a\\\\b"', "in the folder of the rules"),
    ('topics = "none.txt"', ":7: tasks.adhoc.topics: .*'none.txt'"),
    ('topics = ""', "valid file name, got ''"),
    ("pool = {depth = 100, priorities = [1, 6]}", ":26: tasks.adhoc.pool.priorities: .*priority 6"),
    ("pool = {depth = 0}", "tasks.adhoc.pool.depth: .*integer from 1 to 10.15, got '0'"),
    ("pool = {dept = 100}", "tasks.adhoc.pool.dept: .*'dept'; did you mean depth"),
    ('categories = ["typ"]', "question 'typ'; did you mean type"),
    ('choices = ["title", "title"]', "'title' twice"),
    ("measures = []", "tasks.adhoc.measures: .*non-empty list"),
    ('title = "\\u001b[31mNews"', "one line of text"),
    ('title = "\\u202eNews"', "one line of text"),
    ('missing_topics = "allow"\nseverities = {too-few = "off"}', "severities.too-few: .*twice"),
    ('missing_topics = "allow"\nseverities = {too-mny = "off"}', "'too-mny'; did you mean"),
    ('missing_topics = "allow"\nseverities = {columns = "off"}', "columns: .*always an error"),
    ('late = "mark"\nlate = "mark"', "valid TOML: Cannot overwrite a value"),
]
REPLACED = [
    ("runs_per_team", "runs_per_taem", ":22: .*'runs_per_taem'; did you mean runs_per_team"),
    ("[campaign]", "[campain]", ":1: campain: .*'campain'; did you mean campaign"),
    ('id = "news-2026"\n', "", ":1: campaign: .*id"),
    ("priorities = 5\n", "", "priority 1 .*no priorities"),
    (CHOICES, "", "tasks.adhoc.categories: expected a question with choices, or 'ty"),
    ("tasks.adhoc", 'tasks."CON"', ":6: tasks.CON: .*'CON'"),
    ("tasks.adhoc", 'tasks."../x"', "tasks.'../x': .*'../x'"),
    ("[tasks.adhoc]", "[tasks.Adhoc]\n[tasks.adhoc]", ":7: tasks.adhoc: .*Adhoc"),
    (QUESTION_TEXT, "", "questions.fields: .*ask"),
    ('late = "mark"', "late =", ":21: .*valid TOML: Invalid value"),
]


def line_of(key: str) -> str:
    return next(line for line in FULL.splitlines() if line.startswith(f"{key} ="))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [*((line_of(new.split(" =")[0]), new, message) for new, message in CHANGES), *REPLACED],
)
def test_one_wrong_thing_is_one_line_that_names_it(
    folder: Path, old: str, new: str, message: str
) -> None:
    assert old in FULL
    (folder / "campaign.toml").write_text(FULL.replace(old, new))
    with pytest.raises(InputError, match=rf"^campaign\.toml.*{message}") as error:
        read_rules(folder)
    assert "\n" not in str(error.value)
    assert str(folder) not in str(error.value)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("[task.m]\n", "4: task: "),
        ("[[tasks]]\n", "4: tasks: "),
        ('[tasks."a.b "]\n', "4: tasks.'a.b ': "),
        ("[tasks.m.question.fields]\n", "4: tasks.m.question: "),
        ("[tasks.m]\nm.x = 3\n", "5: tasks.m.m: "),
    ],
)
def test_the_line_is_known_where_a_header_says_more_than_what_is_wrong(
    tmp_path: Path, text: str, start: str
) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text('[campaign]\nid = "a"\ntitle = "b"\n' + text)
    with pytest.raises(InputError, match=f"^campaign.toml:{start}"):
        read_rules(path)


def test_a_link_out_of_the_folder_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("other") / "secret.txt"
    outside.write_text("1\n")
    (folder / "topics.txt").unlink()
    (folder / "topics.txt").symlink_to(outside)
    with pytest.raises(InputError, match="is a link to a file outside the folder"):
        read_rules(folder)


def test_the_template_is_read_as_it_is_and_names_every_key(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(read_template())
    rules = read_rules(tmp_path)
    assert rules.get_task() == TaskRules(
        name="main",
        severities={"topic-missing": "error", "topic-unknown": "error", "too-few": "off"},
        measures=("AP", "nDCG@10", "P@10"),
    )
    for keys in (CAMPAIGN, TASK, POOL, METADATA, QUESTION, DOCUMENTS):
        for key in keys:
            assert re.search(rf"(^|\W){key}( = |\]|\.fields)", read_template(), re.MULTILINE), key
    assert {"ties", "unjudged"} <= set(JUDGING)


def test_the_examples_of_the_template_are_rules_too(tmp_path: Path) -> None:
    lines = [
        line[2:] if re.match(r"# (\w+ =|\[tasks)", line) else line
        for line in read_template().splitlines()
    ]
    for name in ("topics.txt", "documents.txt.xz", "already-judged.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "campaign.toml").write_text("\n".join(lines))
    task = read_rules(tmp_path).get_task()
    assert task.pool == PoolRules(100, (1, 2))
    assert task.questions["fields"].required
    assert task.metadata is not None
    assert task.judging == {"ties": "trec", "unjudged": "nonrelevant"}


def test_every_key_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "campaign-rules.md").read_text(encoding="utf-8")
    assert "<!-- rules -->" in page
    page = page.replace("<!-- rules -->", read_template())
    for keys in (CAMPAIGN, TASK, POOL, METADATA, QUESTION, DOCUMENTS, JUDGING):
        for key in keys:
            assert re.search(rf"`(\[\w+\])?{key}`|\b{key}( =|\])|\.{key}\.", page), key
