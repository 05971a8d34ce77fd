"""Ids of topics, from every form that topics come in."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.topics import read_topic_ids

SGML = """
<top>

<num> Number: 401
<title> foreign minorities, Germany

<desc> Description: <b>
</top>
<top>
<num>Number:402<title> behavioral genetics
</top>
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<webtrack2012>
 <topic number="401" type="faceted"><query>403</query><subtopic number="1">x</subtopic></topic>
 <TOPIC id=" 402 "/>
</webtrack2012>
"""
FORMS = {
    "topics.txt": "401\n\n402 two words\n",
    "topics.tsv": "401\tforeign minorities\r\n402\tgenetics\r\n",
    "sgml.txt": SGML,
    "top.xml": "<ts><top><num>401</num></top>\n<top><num> 402 </num></top></ts>",
    "topics.xml": XML,
    "by_id.json": '{"401": "foreign", "402": {"title": "genetics"}}',
    "list.json": '[{"number": 401, "title": "x"}, {"qid": "402"}]',
    "ids.json": '["401", 402]',
    "lines.jsonl": '{"_id": "401", "text": "x"}\n\n{"_id": "402"}\n',
    "mark.txt": "\ufeff401\n402",
}


def ids(path: Path) -> tuple[str, ...] | None:
    return read_topic_ids(TaskRules("adhoc", topics=path))


@pytest.mark.parametrize("name", FORMS)
def test_every_form(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMS[name], newline="")
    assert ids(tmp_path / name) == ("401", "402")


@pytest.mark.parametrize(
    ("suffix", "packed"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
@pytest.mark.parametrize("name", ["topics.txt", "topics.xml", "lines.jsonl"])
def test_packed(tmp_path: Path, name: str, suffix: str, packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"{name}.{suffix}"
    path.write_bytes(packed(FORMS[name].encode()))
    assert ids(path) == ("401", "402")


def test_no_topics_are_named() -> None:
    assert read_topic_ids(TaskRules("adhoc")) is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.txt", "", "t.txt: expected at least one topic, got none"),
        ("t.txt", "1\n2\n1 again\n", "t.txt:3: duplicate topic '1', first in line 1"),
        ("t.tsv", "qid\tquery\n1\ta\n", "t.tsv:1: expected a topic id, got the header 'qid'"),
        ("t.txt", "301: a\n302: b\n", "t.txt:1: expected a topic id and a blank, got '301:'"),
        ("t.txt", SGML + "<num> Number: 401", "duplicate topic '401', first in line 4"),
        (
            "t.txt",
            "<num> Number: <title>",
            "t.txt:1: a topic id must be text without blanks, got ''",
        ),
        (
            "t.xml",
            "<a><topic/></a>",
            "t.xml:1: <topic> has no id; expected one of: number, num, i",
        ),
        ("t.xml", "<a><topic><title>x</title></topic></a>", "t.xml:1: <topic> has no id"),
        ("t.xml", "<a>", "is not well-formed XML"),
        ("t.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a/>', "declares entities"),
        ("t.xml", "<a/>", "t.xml: expected at least one topic, got none"),
        ("t.json", '[{"title": "x"}]', "t.json: has a topic without an id"),
        ("t.json", "[[1]]", "has a topic without an id"),
        ("t.json", '{"1": 2, "1": 3}', "'1' is repeated in an object"),
        ("t.json", "[true]", "has a topic without an id"),
        ("t.json", '[{"id": true}]', "has a topic without an id"),
        ("t.jsonl", '{"id": 1}\n{"id": "a b"}\n', "t.jsonl:2: a topic id must be text without bl"),
        ("t.csv", "id,text\n1,x\n", "t.csv: is not a supported format"),
        ("t.txt", "\udcff", "t.txt:1: is not UTF-8 text; save it as UTF-8"),
        ("t.txt", "\udcff\udcfe1\0", "t.txt:1: is UTF-16 text; save it as UTF-8"),
    ],
)
def test_what_is_wrong(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(cf.InputError) as error:
        ids(tmp_path / name)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_comments_are_no_topics(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("# topics\n1 the id of a topic\n#\n2:1 qid\nid\n")
    assert ids(tmp_path / "t.txt") == ("1", "2:1", "id")


def test_topics_of_clef(tmp_path: Path) -> None:
    path = tmp_path / "t.xml"
    path.write_text(
        "<topics><topic lang='en'><identifier> 10.2452/401-AH </identifier><title>x</title></topic>"
        "<topic id='402'><title><id>9</id></title></topic></topics>"
    )
    assert ids(path) == ("10.2452/401-AH", "402")
