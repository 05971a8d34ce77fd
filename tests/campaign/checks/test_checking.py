"""Checks of whole files: what NIST's script says, faults in known lines, and what readers read."""

from __future__ import annotations

import bz2
import csv
import gzip
import hashlib
import lzma
import os
import re
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.checks.checking import check_run
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.rules.task_rules import TaskRules
from tests.campaign.checks.line_by_line import MARK, STOPS, Asked, Found, faults_of

EXAMPLES = Path(__file__).parents[2] / "data" / "campaign" / "check-examples"
TASK = TaskRules("adhoc", max_per_topic=None)


def checked(
    folder: Path, text: str | bytes, task: TaskRules = TASK, **options: object
) -> CheckReport:
    data = text.encode() if isinstance(text, str) else text
    (folder / "a.run").write_bytes(data)
    return check_run(folder / "a.run", task, **options)  # type: ignore[arg-type]


def found(report: CheckReport) -> list[tuple[str, int | None, int]]:
    return [(one.code, one.line, one.count) for one in report.faults]


def listed(folder: Path, name: str, *lines: object) -> Path:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder / name


# What others say.

KINDS = {
    "Run tag inconsistent": "tag-changes",
    "No documents retrieved": "topic-missing",
    "retrieved more than once": "document-twice",
    "Invalid docid": "document-unknown",
    "must be an integer": "rank",
    "is `0' not `Q0'": "second-column",
}


@pytest.mark.parametrize(
    "row",
    list(csv.DictReader((EXAMPLES / "expected.csv").read_text().splitlines())),
    ids=lambda row: row["case"],
)
def test_verdict_line_and_kind_are_those_of_the_script_of_nist(
    row: dict[str, str], tmp_path: Path
) -> None:
    task = TaskRules(
        "round1",
        topics=listed(tmp_path, "topics.txt", *range(1, 31)),
        documents=EXAMPLES / "documents.txt",
        tag="[A-Za-z0-9_.-]{1,24}",
        second_column=("Q0", "q0"),
    )
    report = check_run(EXAMPLES / f"{row['case']}.run", task)
    said = [one.partition(": ")[::2] for one in row["messages"].split(" | ") if one]
    wanted = [
        # The script gives the last line where a topic is missing, and says it once a topic.
        (kind, None if kind == "topic-missing" else int(line))
        for line, message in said
        for part, kind in KINDS.items()
        if part in message
    ]
    assert len(said) == len(wanted) == int(row["errors"])
    assert report.is_accepted == (row["exit"] == "0")
    got = [(one.code, one.line) for one in report.errors]
    assert got == list(dict.fromkeys(wanted))
    for kind, count in Counter(kind for kind, _ in wanted).items():
        assert report.counts()[kind] == (90 if kind == "second-column" else count)


def test_seven_faults_in_one_go(tmp_path: Path) -> None:
    text = """1 Q0 d1 1 9 bm25
1 Q0 d2 two 8 bm25
1 Q0 d1 3 7 bm25

2 Q0 d1 1 nan bm25
# a comment
2 Q0 d9 2 5 other
2 Q0 d2 3
3 Q0 d3 1 1 bm25
"""
    task = TaskRules(
        "adhoc",
        topics=listed(tmp_path, "topics.txt", 1, 2, 4),
        documents=listed(tmp_path, "docs.txt", "d1", "d2", "d3"),
        second_column=("Q0",),
    )
    report = checked(tmp_path, text, task)
    assert str(report).replace(f"{tmp_path}/", "") == (
        """a.run: no documents for topic '4' [topic-missing]
a.run:2: rank must be an integer from 0 to 2147483647, got 'two' (topic '1', document 'd2') [rank]
a.run:3: document twice in one topic, first in line 1 (topic '1', document 'd1') [document-twice]
a.run:5: score must be a finite number, got 'nan' (topic '2', document 'd1') [score]
a.run:7: tag 'other' differs from the run's tag 'bm25' [tag-changes]
a.run:7: document 'd9' is not in the collection (topic '2') [document-unknown]
a.run:8: expected 6 columns (topic q0 doc rank score tag), got 4 [columns]
a.run:9: topic '3' is not one of the task's 3 topics [topic-unknown]
a.run: refused: 8 errors"""
    )
    assert repr(report) == "CheckReport(refused: 8 errors)"
    assert report.n_lines == 9
    assert report.n_topics == 3
    assert report.ranking is None
    assert report.to_polars()["code"].to_list() == [one.code for one in report.faults]
    assert "document-twice" in report.tables()[0].to_markdown()
    shown = report.to_markdown()
    assert "refused: 8 errors" in shown and "a.run" in shown
    facts = report.facts()
    assert (facts["n_lines"], facts["n_topics"], "faults" in facts) == (9, 3, False)


# Faults of any text.

documents = st.sampled_from([b"d1", b"d2", b"\xc3\xa9", b"d9", b"\xff", b"\xef\xbb\xbf1"])
numbers = st.sampled_from([b"0.5", b"7", b"+.5", b"-3", b"1e400", b"nan", b"0x1", b"00007", b"a"])
ranks = st.sampled_from([b"1", b"2", b"3", b"00007", b"-3", b"1.5", b"99999999999", b"a"])
topic_names, q0s = st.sampled_from([b"1", b"1", b"2", b"x"]), st.sampled_from([b"Q0", b"Q0", b"0"])
tags = st.sampled_from([b"a", b"a", b"a", b"b", b"CON", b"x" * 21])
row = st.tuples(topic_names, q0s, documents, ranks, numbers, tags).map(b" ".join)
words = documents | numbers | ranks | topic_names | st.sampled_from([b"#", b"", b"q0"])
blanks = st.sampled_from([b" ", b" ", b" ", b"\t", b"  ", b";", b"\r", b"\v"])
line = st.lists(st.tuples(words, blanks).map(b"".join), max_size=8).map(b"".join)
texts = st.tuples(
    st.sampled_from([b"", b"", b"", MARK]),
    st.lists(st.one_of(line, row, row, row, row), max_size=12),
    st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]),
)
rules = st.builds(
    Asked,
    form=st.sampled_from(["trec", "trec", "ntcir"]),
    topics=st.just(("1", "2")),
    documents=st.just(frozenset(["d1", "d2", "\u00e9"])),
    excluded=st.just([("1", "d2")]),
    declared=st.sampled_from([None, "a"]),
    team=st.sampled_from([None, "A"]),
    most=st.integers(1, 3),
    second=st.sampled_from([("Q0", "q0"), ()]),
    rank=st.sampled_from(["integer", "order", "off"]),
    tied=st.sampled_from([0.0, 0.2, 0.5]),
    few=st.booleans(),
)
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@example((MARK, [MARK + b"1 Q0 d1 1 2 t"], b"\n"), Asked(), 1 << 20, "")
@given(texts, rules, st.sampled_from([1, 40, 333, 1 << 20]), st.sampled_from([*COMPRESS]))
def test_any_text_has_the_faults_that_a_plain_check_finds_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    text: tuple[bytes, list[bytes], bytes],
    asked: Asked,
    chunk: int,
    suffix: str,
) -> None:
    """Wherever chunks end, and however the file is compressed; readers read what has no fault."""
    folder = tmp_path_factory.getbasetemp()
    mark, all_lines, ending = text
    if asked.form == "ntcir":
        all_lines = [one.replace(b" ", b";") for one in all_lines]
    data = mark + ending.join(all_lines)
    task = TaskRules(
        "task",
        topics=listed(folder, "topics", *asked.topics or ()) if asked.topics else None,
        documents=listed(folder, "documents", *asked.documents) if asked.documents else None,
        exclude=listed(folder, "exclude", "1 d2") if asked.excluded else None,
        format=asked.form,
        max_per_topic=asked.most,
        second_column=asked.second,
        rank=asked.rank,
        tied=asked.tied,
        severities={"too-few": "warning"} if asked.few else {},
    )
    path = folder / f"any.run{suffix}"
    path.write_bytes(COMPRESS[suffix](data))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cranfield.sources.chunks.CHUNK_BYTES", chunk)
        report = check_run(path, task, tag=asked.declared, team=asked.team, all_faults=True)
    got = Counter(Found(one.code, one.line, one.count) for one in report.faults)
    assert got == Counter(faults_of(data, asked))
    assert not report.is_accepted or report.ranking is not None
    stopped = {one for one in got if one.code in {*STOPS, "unreadable"}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cf.read_run(path, format=asked.form)
    except cf.InputError as error:
        assert stopped, str(error)
    else:
        # A reader of TREC text takes no notice of what stands behind the six columns.
        assert {one.code for one in stopped} <= {"columns"}


# Single rules.

FIVE = "1 Q0 a 1 3 t\n1 Q0 b 2 3 t\n1 Q0 c 3 2 t\n1 Q0 d 4 1 t\n2 Q0 a 1 3 t\n"
BROKEN = "1 Q0 a 1 x t/t\n1 Q0 a 2\n1 Q0 a b 2 t\n"
CODES = ("columns", "score", "document-twice", "rank", "tag", "tag-changes")
IN_DECIMALS = "".join(f"1 Q0 d{k} {99 - k} {max(k, 28)}.5 t\n" for k in range(100))
SEMICOLONS = "1;Q0;d 1;1;9;gam\nt 1;Q0;d2;1;9;gam\n"
TIES_BY_RANK = {"rank": "off", "severities": {"rank": "off"}, "judging": {"ties": "rank"}}
Fault = tuple[str, int | None, int]


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        *(
            (end.join(["", "# x", "1 Q0 d 1 x t", "", "1 Q0 e 1 y t"]), {}, "score:3 score:5")
            for end in ("\n", "\r\n", "\r")
        ),
        ("1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 a 2 2 t\n", {}, "document-twice:3"),
        # Ties: 2 of 5 documents. 0.29 * 100 is a little less than 29 in floating point.
        (FIVE, {"tied": 0.4}, ""),
        (FIVE, {"tied": 0.39}, "tied:None*2"),
        (IN_DECIMALS, {"tied": 0.29}, ""),
        (IN_DECIMALS, {"tied": 0.28}, "tied:None*29"),
        # What stops a reader is always an error.
        (
            BROKEN,
            {"severities": dict.fromkeys(CODES, "off")},
            "score:1 columns:2 document-twice:3",
        ),
        # Tags are names of files, of 100 characters at most, whatever their pattern.
        *(
            (f"1 Q0 d 1 1 {tag}\n", {"tag": ".*"}, "tag:1")
            for tag in ("CON", "nul.x", "..", "a/b", "-o", ".a", "a.", "a" * 101)
        ),
        *((f"1 Q0 d 1 1 {tag}\n", {"tag": ".*"}, "") for tag in ("0", "1", "Run1", "a" * 100)),
        # A tag with blanks is one fault, and its first word is not the tag.
        ("# x\n1 Q0 a 1 3 t u v\n1 Q0 b 2 2 t u v\n1 Q0 c 3 1 t  u v\n", {}, "columns:2*3"),
        ("1 Q0 a 1 3 t u\n1 Q0 b 2 2 t w\n", {}, "columns:1 columns:2"),
        ("1 Q0 a 1 3 t u\n1 Q0 b 2 2 t\n", {}, "columns:1"),
        ("1 Q0 a x 1 3 t\n", {}, "columns:1 rank:1"),
        # A pattern matches the whole id.
        (
            "1 Q0 ab1 1 3 t\n1 Q0 xab1 2 2 t\n1 Q0 ab1x 3 1 t\n1 Q0 cd 4 0 t\n",
            {"document_pattern": "ab[0-9]|cd"},
            "document-unknown:2 document-unknown:3",
        ),
        (SEMICOLONS, {"format": "ntcir"}, "id-blank:1 id-blank:2"),
        (SEMICOLONS, {"format": "ntcir", "severities": {"id-blank": "off"}}, ""),
        # Ranks that break ties are integers even where the rules ignore ranks.
        *(
            (f"1 Q0 d1 1 9 t\n1 Q0 d2 {rank} 8 t\n", TIES_BY_RANK, "rank:2")
            for rank in ("2.0", "x", "-2")
        ),
        ("1 Q0 d1 1 9 t\n1 Q0 d2 0 8 t\n", TIES_BY_RANK, ""),
        ("1 Q0 d1 1 9 t\n1 Q0 d2 x 8 t\n", TIES_BY_RANK | {"judging": {}}, ""),
    ],
)
def test_each_rule_has_its_faults(
    tmp_path: Path, text: str, rules: dict[str, Any], expected: str
) -> None:
    report = checked(tmp_path, text, replace(TASK, **rules))
    shown = [f"{code}:{line}" + f"*{count}" * (count > 1) for code, line, count in found(report)]
    assert shown == expected.split()


def test_lines_without_a_rank_or_a_score_change_nothing_for_those_of_other_topics(
    tmp_path: Path,
) -> None:
    task = replace(TASK, rank="order", severities={"rank": "warning"})
    first = "2 Q0 x 1 9 t\n1 Q0 a 1 9 t\n"
    after = "1 Q0 b 2 8 t\n2 Q0 c 2 8 t\n1 Q0 d 3 7 t\n2 Q0 d 3 7 t\n1 Q0 e 4 7 t\n"
    gone = "3 Q0 z 1 nan t\n2 Q0 a 1 5 t\n3 Q0 b 1 nan t\n1 Q0 c 1 5 t\n2 Q0 d 2 5 t\n"
    for text, counts in (
        (first + after, {"tied": 2}),
        (first.replace(" 1 9 ", " one 9 ") + after, {"tied": 2, "rank": 2}),
        (first.replace(" 9 ", " nine ") + after, {"tied": 2, "score": 2}),
        (gone, {"tied": 2, "score": 2}),
    ):
        assert checked(tmp_path, text, task).counts() == counts


def test_messages_name_what_contradicts(tmp_path: Path) -> None:
    backwards = "".join(f"1 Q0 d{k} {rank} {9 - k} t\n" for k, rank in enumerate([1, 3, 2, 4, 4]))
    for text, rules, options, message in (
        (backwards, {"rank": "order"}, {}, "ranks contradict the scores in 1 case"),
        (FIVE, {"tied": 0.1}, {}, "2 of 5 documents"),
        ("1 Q0 d 1 1 Padua\n", {}, {"tag": "bm25"}, "'Padua' differs from the declared tag 'bm25'"),
        ("1 Q0 d 1 1 Padua\n", {}, {"team": "padua"}, "'Padua' must differ from the team's id"),
        ("1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n", {}, {}, "first in line 1"),
    ):
        report = checked(tmp_path, text, replace(TASK, **rules), **options)
        [fault] = report.faults
        assert message in fault.message


@pytest.mark.parametrize(
    ("rank", "valid"),
    [
        *((rank, True) for rank in ("2147483647", "0", "007")),
        *((rank, False) for rank in ("1.5", "1-2", "-5", "x", "+2147483648")),
        *((rank, False) for rank in ("9" * 30, "-" + "9" * 30)),
    ],
)
def test_ranks(tmp_path: Path, rank: str, valid: bool) -> None:
    text = f"1 Q0 a {rank} 3 t\n"
    said = [f"rank must be an integer from 0 to 2147483647, got '{rank}'"] * (not valid)
    assert [one.message for one in checked(tmp_path, text).faults] == said
    assert not checked(tmp_path, text, replace(TASK, rank="off")).faults


def test_ranks_against_scores_are_seen_across_ties_in_any_order_of_the_lines(
    tmp_path: Path,
) -> None:
    # c has a better rank than a and b, and a lower score.
    lines = ["1 Q0 a 3 2 t\n", "1 Q0 b 2 2 t\n", "1 Q0 c 1 1 t\n", "1 Q0 d 4 1 t\n"]
    for order in permutations(lines):
        report = checked(tmp_path, "".join(order), replace(TASK, rank="order"))
        assert report.counts() == {"rank-order": 1, "tied": 4}


def test_ranks_that_mostly_contradict_scores_are_reported_as_integers_too(tmp_path: Path) -> None:
    for ranks, counts in (("1234", {"rank-order": 3}), ("4213", {}), ("4321", {})):
        rows = zip("abcd", ranks, "1234", strict=True)
        text = "".join(f"1 Q0 {doc} {rank} {score}.5 t\n" for doc, rank, score in rows)
        assert checked(tmp_path, text, replace(TASK, rank="integer")).counts() == counts
        assert not checked(tmp_path, text, replace(TASK, rank="off")).counts()


def test_too_many_too_few_and_missing(tmp_path: Path) -> None:
    text = "1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n3 Q0 a 1 1 t\n3 Q0\n"
    task = replace(
        TASK,
        topics=listed(tmp_path, "topics", *range(1, 31), "x"),
        max_per_topic=2,
        severities={"too-few": "warning", "topic-missing": "warning"},
    )
    report = checked(tmp_path, text, task)
    said = {one.code: (one.line, one.severity, one.message) for one in report.faults}
    assert said["too-many"] == (4, "error", "topic '1' has 3 documents; the maximum is 2")
    assert said["too-few"] == (None, "warning", "topic '2' has 1 document, fewer than 2")
    missing = said["topic-missing"][2]
    assert missing.startswith("no documents for topics '4', '5', '6'")
    assert missing.endswith("'28' and 3 more")
    every = checked(tmp_path, text, task, all_faults=True).faults
    assert next(one for one in every if one.code == "topic-missing").message.endswith(", 'x'")


def test_text_of_a_run_cannot_command_a_terminal(tmp_path: Path) -> None:
    bad = "a\x1b[31m\u202eb\x9b" + "x" * 100
    lines = [
        f"{bad} {bad} {bad} {bad} 1 {bad}",
        f"{bad} {bad} {bad} 1 {bad} {bad}y",
        f"{bad} Q0 a 1 2 {bad}",
    ]
    task = replace(
        TASK,
        topics=listed(tmp_path, "topics", "\x1b[31m", "\x9b"),
        documents=listed(tmp_path, "docs", "d"),
        exclude=listed(tmp_path, "exclude", f"{bad} {bad}"),
        second_column=("Q0", "\x1b"),
        tag="\u202e+",
        max_per_topic=2,
    )
    report = checked(tmp_path, "\n".join(lines), task, tag="\x1b[0m", team=bad.upper())
    assert {one.code for one in report.faults} == {
        *("rank", "score", "tag", "tag-changes", "tag-declared", "tag-team", "topic-missing"),
        *("topic-unknown", "too-many", "document-twice", "document-unknown"),
        *("document-excluded", "second-column"),
    }
    for fault in report.faults:
        assert fault.message.isprintable(), fault.code
    assert str(report).replace("\n", "").isprintable()


# Files that are packed, damaged, too large.


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_hashed_as_they_are(pack: object, tmp_path: Path) -> None:
    data = pack(b"1 Q0 a 1 1 t\n")  # type: ignore[operator]
    report = checked(tmp_path, data)
    assert report.is_accepted
    assert report.object == hashlib.sha256(data).hexdigest()
    assert found(checked(tmp_path, data[:-5])) == [("archive", None, 1)]


def test_a_file_that_is_not_there_is_no_fault_of_a_run(tmp_path: Path) -> None:
    with pytest.raises(cf.InputError, match="no such file"):
        check_run(tmp_path / "none.run", TASK)
    for name in ("topics", "documents", "exclude"):
        missing: dict[str, Any] = {name: tmp_path / "none"}
        task = replace(TASK, **missing)
        with pytest.raises(cf.InputError, match="no such file"):
            checked(tmp_path, "1 Q0 a 1 1 t\n", task)


def test_a_bomb_is_told_by_its_size_and_takes_no_memory(tmp_path: Path) -> None:
    bomb = gzip.compress(b"\0" * (40 << 20), 9)
    task = replace(TASK, max_decompressed_bytes=1 << 20)
    tracemalloc.start()
    report = checked(tmp_path, bomb, task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.message for one in report.faults] == [
        "the decompressed file has more than 1,048,576 bytes"
    ]
    assert peak < 8 << 20
    small = checked(tmp_path, "1 Q0 a 1 1 t\n", replace(TASK, max_bytes=12))
    assert [one.message for one in small.faults] == ["the file has more than 12 bytes"]
    assert checked(
        tmp_path, "1 Q0 a 1 1 t\n", replace(TASK, max_bytes=13, max_decompressed_bytes=13)
    ).is_accepted


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_line_without_an_end_is_not_read_to_its_end(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Slow forms have lower limits; a line is limited from the second chunk on.
    limit = 64 << 20
    if pack is not gzip.compress:
        limit = 1 << 20
        monkeypatch.setattr("cranfield.campaign.checks.lines.MAX_LINE_BYTES", limit)
        monkeypatch.setattr("cranfield.sources.archives._ALWAYS_ALLOWED", limit)
    packed = pack(b"1 Q0 a 1 1 t\n" + b"\0" * (limit + (26 << 20)))
    report = checked(tmp_path, packed)
    assert [one.code for one in report.faults] == ["archive"]
    assert "decompresses to more than 200 times its size" in report.faults[0].message
    monkeypatch.setenv("CRANFIELD_MAX_RATIO", "1000000")
    report = checked(tmp_path, packed)
    assert [one.message for one in report.faults] == [f"a line has more than {limit:,} bytes"]
    assert report.object is None


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device here")
def test_what_has_no_end_is_refused() -> None:
    report = check_run("/dev/zero", TASK)
    assert [one.code for one in report.faults] == ["size"]
    small = check_run("/dev/zero", replace(TASK, max_decompressed_bytes=1 << 20))
    assert [one.message for one in small.faults] == [
        "the decompressed file has more than 1,048,576 bytes"
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_read_once_and_has_no_hash(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b"1 Q0 a 1 1 t\n",), daemon=True)
    writer.start()
    report = check_run(pipe, TASK)
    writer.join()
    assert report.is_accepted
    assert report.object is None


def test_faults_are_counted_and_the_first_kept(tmp_path: Path) -> None:
    good = "".join(f"2 Q0 d{k} 1 {-k} t\n" for k in range(5_001))
    text = "".join(f"1 Q0 d{k} x nan t\n" for k in range(5_000)) + good
    report = checked(tmp_path, text)
    assert report.counts() == {"rank": 5_000, "score": 5_000}
    assert len(report.faults) == 2 * 26
    assert [one.line for one in report.faults[:50]] == sorted([*range(1, 26), *range(1, 26)])
    assert {one.message for one in report.faults[50:]} == {"... and 4,975 more"}
    assert report.outcome == "refused: 10,000 errors"
    every = checked(tmp_path, text, all_faults=True)
    assert len(every.faults) == 10_000
    assert every.outcome == report.outcome


def test_a_workbook_is_to_be_saved_as_six_columns_and_not_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "run.xlsx"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", "")
        file.writestr("xl/workbook.xml", "")
    [fault] = check_run(path, TASK).faults
    assert "text; expected 6 columns (topic q0 doc rank score tag)" in fault.message
    assert "separated by blanks or tabs" in fault.message and "CSV" not in fault.message
    # The columns of NTCIR have other separators; so has a table.
    table = tmp_path / "run.csv"
    table.write_text("q1,Q0,d1,1,3,t\n")
    for source in (path, table):
        [fault] = check_run(source, replace(TASK, format="ntcir")).faults
        assert "separated by ';')" in fault.message and "blanks" not in fault.message


HEADER = "topic Q0 doc rank score tag\n"


@pytest.mark.parametrize(
    ("lines", "expected", "hint"),
    [
        ("q{t},Q0,d{k},1,{s},t", [("columns", 1, 1)], "is a comma-separated table"),
        ("q{t};Q0;d{k};1;{s};my run", [("columns", 1, 1)], "is a semicolon-separated table"),
        ("q{t} d{k} 1 {s} t", [("columns", 1, 90)], r"got 5 \(90 lines\)"),
        ("q{t} Q0 d{k} 1 {k},5 t", [("score", 1, 90)], "decimal point instead of a comma"),
        (HEADER + "q{t} Q0 d{k} 1 {s} t", [("columns", 1, 1)], "remove the header"),
        ("q{t} Q0 x{k} 1 {s} t", [("document-unknown", 1, 90)], r"collection \(90 lines\)"),
        ("q{t} Q0 d{k} 1.5 {s} t", [("rank", 1, 90)], r"got '1.5' \(90 lines\)"),
        (
            "Q{t} Q0 d{k} 1 {s} t",
            [("topic-missing", None, 9), ("topic-unknown", 1, 90)],
            "'Q1' and 'q1' differ only in case",
        ),
        ("q{t} Q0 d{k} {k} {k} t", [("rank-order", None, 81)], "seem to be distances"),
    ],
)
def test_a_fault_of_most_lines_is_one_fault(
    tmp_path: Path, lines: str, expected: list[tuple[str, int | None, int]], hint: str
) -> None:
    header, _, line = lines.rpartition("\n")
    rows = [line.format(t=1 + k // 10, k=k, s=-k) for k in range(90)]
    task = replace(
        TASK,
        topics=listed(tmp_path, "topics", *(f"q{t}" for t in range(1, 10))),
        document_pattern="d[0-9]+",
    )
    report = checked(tmp_path, "\n".join([*[header] * (header != ""), *rows]), task)
    assert [(fault.code, fault.line, fault.count) for fault in report.faults] == expected
    assert re.search(hint, report.faults[-1].message)


def test_faults_of_most_lines_are_listed_one_by_one_on_request(tmp_path: Path) -> None:
    task = replace(TASK, topics=listed(tmp_path, "topics", "q1"))
    text = "".join(f"x{k // 10} Q0 d{k} 1.5 {-k} t\n" for k in range(90))
    [unknown] = [fault for fault in checked(tmp_path, text, task).faults if fault.topic is None][1:]
    assert (unknown.code, unknown.line, unknown.count) == ("topic-unknown", 1, 90)
    report = check_run(tmp_path / "a.run", task, all_faults=True)
    places = [(fault.line, fault.count) for fault in report.faults if fault.code == "topic-unknown"]
    assert places == [(k, 10) for k in range(1, 90, 10)]
    assert [fault.line for fault in report.faults if fault.code == "rank"] == [*range(1, 91)]


def test_a_table_is_found_below_comments_and_in_any_chunk(tmp_path: Path) -> None:
    for chunk in (1, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("cranfield.sources.chunks.CHUNK_BYTES", chunk)
            report = checked(tmp_path, "# a comment\n\n1,Q0,d1,1,2,t\n1,Q0,d2,2,1,t\n")
        assert found(report) == [("columns", 3, 1)]


# The ranking.


def test_the_ranking_is_that_of_topics_and_documents_in_their_order(tmp_path: Path) -> None:
    text = "10 Q0 a 1 2 t\n10 Q0 b 2 5 t\n9 Q0 c 1 1 t\n9 Q0 d 1 1 t\n"
    report = checked(tmp_path, text)
    in_order = b"10\nb\n10\na\n9\nd\n9\nc\n"
    assert report.ranking == hashlib.sha256(in_order).hexdigest()
    same = "9 x d 7 99.5 u\n9 x c 7 99.5 u\n10 x b 7 1e9 u\n10 x a 7 0 u\n"
    assert checked(tmp_path, same).ranking == report.ranking
    assert checked(tmp_path, text.replace("5 t", "1 t")).ranking != report.ranking
    ascending = replace(TASK, judging={"ties": "id-ascending"})
    other = hashlib.sha256(b"10\nb\n10\na\n9\nc\n9\nd\n").hexdigest()
    assert checked(tmp_path, text, ascending).ranking == other


# Lists.


def test_presets_order_ties_as_in_scores(tmp_path: Path) -> None:
    text = "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n1 Q0 c 3 9 t\n"
    hashes = {}
    for name in ("trec", "file", "ntcireval"):
        judging = {"compat": name} if name == "ntcireval" else {"ties": name}
        hashes[name] = checked(tmp_path, text, TaskRules("adhoc", judging=judging)).ranking
    assert hashes["ntcireval"] == hashes["file"] != hashes["trec"]


def test_first_words_of_a_list_count_in_whatever_form_it_comes(tmp_path: Path) -> None:
    text = "1 Q0 a 1 3 t\n1 Q0 \u00e9 2 2 t\n1 Q0 c 3 1 t\n"
    forms = [
        b"a\n\xc3\xa9\n",
        b"\xef\xbb\xbfa\n\n\xc3\xa9",
        b"a\r\n\xc3\xa9\r\n",
        b"  a title\n\xc3\xa9\t7\na\n",
        b"# a list\na\n\xc3\xa9 two words\na c\n",
        b"a\v\n\xc3\xa9\f\n",
    ]
    for form in forms:
        for pack in (bytes, gzip.compress, lzma.compress):
            (tmp_path / "docs").write_bytes(pack(form))
            report = checked(tmp_path, text, replace(TASK, documents=tmp_path / "docs"))
            assert found(report) == [("document-unknown", 3, 1)], form
    frames = [
        pl.DataFrame({"n": [1, 2], "docno": ["a", "\u00e9"]}),
        pl.DataFrame({"anything": ["a", None, "\u00e9", "a"]}),
    ]
    for frame in frames:
        frame.write_parquet(tmp_path / "docs.parquet")
        report = checked(tmp_path, text, replace(TASK, documents=tmp_path / "docs.parquet"))
        assert found(report) == [("document-unknown", 3, 1)]


def test_a_pattern_that_does_not_compile_is_an_error_of_the_rules(tmp_path: Path) -> None:
    for task in (replace(TASK, tag="(a"), replace(TASK, document_pattern="(a")):
        with pytest.raises(cf.InputError, match=r"pattern '\(a' does not compile: unclosed group$"):
            checked(tmp_path, "1 Q0 d 1 1 t\n", task)


def test_excluded_documents_are_those_of_pairs_or_of_judgments(tmp_path: Path) -> None:
    text = "1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 a 3 1 t\n"
    for row in ("1 a", "1 0 a 2", "\t1\ta "):
        task = replace(TASK, exclude=listed(tmp_path, "exclude", "", "3 b", row))
        report = checked(tmp_path, text, task)
        assert found(report) == [("document-excluded", 1, 1)], row
        assert report.faults[0].message == "document 'a' is excluded for topic '1'"
    task = replace(TASK, exclude=listed(tmp_path, "exclude", "1 a", "1 0 a"))
    with pytest.raises(cf.InputError, match=r"exclude:2: expected 2 columns \(.*got 3"):
        checked(tmp_path, text, task)


@pytest.mark.parametrize("doc", ["d 4", "d4 # x", "d4 x", "d 4 x", "d\v4", "d\f4", "d\r4"])
def test_ids_with_blanks_are_refused_for_one_reason(tmp_path: Path, doc: str) -> None:
    text = f"1\tQ0\td1\t1\t9\tgam\n1\tQ0\t{doc}\t2\t8\tgam\n"
    report = checked(tmp_path, text)
    assert found(report) == [("id-blank", 2, 1)]
    assert report.faults[0].doc == doc
    # Scores can be computed of it, and a check without a campaign says the same as the reader.
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    report = cf.check(tmp_path / "qrels", [tmp_path / "a.run"]).files[1]
    assert {one.code for one in report.faults} == {"judged"}
    assert cf.read_run(tmp_path / "a.run").docs.to_list() == ["d1", doc]


def test_all_files_count_faults_as_each_file_does(tmp_path: Path) -> None:
    # 30 of 100 lines have a fault, of which 25 are listed.
    rows = [f"1 0 d{k} {'x' if k < 30 else 1}\n" for k in range(100)]
    (tmp_path / "qrels").write_text("".join(rows))
    checks = cf.check(tmp_path / "qrels")
    assert checks.files[0].outcome == "refused: 30 errors"
    assert repr(checks) == "FileChecks(1 input, 1 refused, 30 errors)"
