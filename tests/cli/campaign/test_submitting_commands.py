"""`cranfield campaign team`, `submit`, `replace`, `withdraw`, `purge`, `list`, `show`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cranfield import campaign
from tests.cli.running import cranfield

RULES = """\
[campaign]
id = "news"
title = "News"
consent = "Runs are published."
[tasks.adhoc]
missing_topics = "allow"
max_decompressed_bytes = 100_000
max_bytes = 10_000
types = ["automatic", "manual"]
"""

SECRET = "secret@example.org"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.toml").write_text(RULES)
    campaign.create(tmp_path / "news", tmp_path / "rules.toml")
    for tag in ("bm25", "dense"):
        (tmp_path / f"{tag}.run").write_text(f"1 Q0 {tag} 1 2.5 {tag}\n1 Q0 x 2 1.5 {tag}\n")
    command(tmp_path, "team", "add", "news", "padua", "--contact", SECRET)
    return tmp_path


def command(folder: Path, *arguments: str, stdin: bytes = b"", status: int = 0) -> tuple[str, str]:
    return cranfield(folder, "campaign", *arguments, stdin=stdin, status=status)


def submit(folder: Path, *arguments: str, stdin: bytes = b"", status: int = 0) -> tuple[str, str]:
    said = ("--team", "padua", "--type", "manual")
    return command(folder, "run", "submit", "news", *said, *arguments, stdin=stdin, status=status)


def test_a_life_of_runs(folder: Path) -> None:
    out, err = submit(folder, "bm25.run", "dense.run")
    assert err == "by submitting, a team agrees: Runs are published.\n"
    first, second, last = out.splitlines()
    assert first.startswith("accepted as bm25 (sha256 ") and second.startswith("accepted as dense")
    assert last == "2 of 2 runs accepted"
    out, _ = submit(folder, "bm25.run")
    assert out.startswith("already submitted: bm25 (sha256 ")
    out, _ = submit(folder, "-", stdin=b"1 Q0 x 1 nan ../x\n", status=1)
    assert out.splitlines() == [
        "standard input:1: tag '../x' does not match the pattern [A-Za-z0-9_.-]{1,20} [tag]",
        "standard input:1: score must be a finite number, got 'nan' (topic '1', document 'x')"
        " [score]",
        "../x refused: 2 errors",
    ]
    (folder / "new.run").write_text("1 Q0 new 1 2.5 bm25\n")
    out, _ = command(folder, "run", "replace", "news", "bm25", "new.run")
    assert out.splitlines()[1].startswith("replaced: bm25, submitted at 2")
    out, _ = command(folder, "run", "withdraw", "news", "dense", "--reason", "a bug")
    assert out == "withdrawn: dense of padua\n"
    out, _ = command(folder, "run", "purge", "news", "dense", "--reason", "private")
    assert out.startswith("purged: dense of padua, submitted at 2")
    assert out.endswith(": file deleted\n")
    _, err = command(folder, "run", "purge", "news", "bm26", "--reason", "x", status=2)
    assert err == "cranfield: error: unknown run 'bm26'\n"

    out, _ = command(folder, "run", "list", "news")
    assert out.splitlines()[0].split()[:3] == ["tag", "team", "task"]
    assert out.splitlines()[1].split()[:5] == ["bm25", "padua", "adhoc", "manual", "accepted"]
    assert out.splitlines()[2] == "not shown: 1 refused, 1 replaced, 1 withdrawn (--state all)"
    out, _ = command(folder, "run", "list", "news", "--state", "all", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["state"] for row in rows] == ["replaced", "withdrawn", "refused", "accepted"]
    assert [row["tag"] for row in rows] == ["bm25", "dense", "../x", "bm25"]
    out, _ = command(folder, "run", "list", "news", "--state", "withdrawn", "-f", "json")
    [row] = json.loads(out)
    assert (row["tag"], row["late"], row["reason"], row["answers"]) == ("dense", False, "a bug", {})
    _, err = command(folder, "run", "list", "news", "--team", "ghent", status=2)
    assert "unknown team 'ghent'" in err
    _, err = command(folder, "run", "list", "news", "--task", "news", status=2)
    assert "unknown task 'news'" in err

    out, _ = command(folder, "run", "show", "news", "bm25")
    old, new = out.split("\n\n")
    assert "state: replaced" in old and "replaced_by: 4" in old
    assert "state: accepted" in new and "submit by " in new
    found = json.loads(command(folder, "run", "show", "news", "../x", "--format", "json")[0])
    assert [fault["code"] for fault in found[0]["faults"]] == ["tag", "score"]
    assert [event["action"] for event in found[0]["events"]] == ["submit"]


def test_a_replacement_keeps_the_answers_that_it_does_not_set(folder: Path) -> None:
    with (folder / "news" / "campaign.toml").open("a") as file:
        for name in ("fields", "model"):
            file.write(f'[tasks.adhoc.questions.{name}]\nask = "?"\nrequired = true\n')
    submit(folder, "bm25.run", "--answer", "fields=title", "--answer", "model=lexical")
    (folder / "new.run").write_text("1 Q0 new 1 2.5 bm25\n")
    command(folder, "run", "replace", "news", "bm25", "new.run", "--answer", "model=dense")
    shown = command(folder, "run", "show", "news", "bm25")[0]
    assert "answers.fields: title" in shown.split("\n\n")[1]
    assert "answers.model: dense" in shown.split("\n\n")[1]


def test_contacts_are_shown_where_they_are_asked_for(folder: Path) -> None:
    command(folder, "team", "change", "news", "padua", "--name", "Padua <b>")
    submit(folder, "bm25.run")
    for arguments in (
        *(("team", "list", "news"), ("run", "list", "news"), ("run", "show", "news", "bm25")),
        *(("run", "list", "news", "-f", "json"), ("run", "show", "news", "bm25", "-f", "json")),
    ):
        assert SECRET not in "".join(command(folder, *arguments))
    out, _ = command(folder, "team", "list", "news", "--contacts")
    assert out.splitlines()[1].split("  ")[0] == "padua" and SECRET in out
    assert "Padua <b>" in out
    assert SECRET in command(folder, "run", "show", "news", "bm25", "--contacts")[0]


def test_an_archive_by_a_table(folder: Path) -> None:
    (folder / "runs.csv").write_text("tag,kind,AP\nbm25,manual,0.5\ndense,automatic,0.25\n")
    arguments = ("run", "submit", "news", ".", "--from", "runs.csv", "--column", "type=kind")
    _, err = command(folder, *arguments, "--team", "ghent", status=2)
    assert "runs.csv:2: unknown team 'ghent'; add it with: cranfield campaign team add" in err
    assert "--add-teams" in err
    out, err = command(folder, *arguments, "--team", "ghent", "--add-teams")
    assert "warning: unused columns: 'AP'" in err
    assert out.splitlines()[-1] == "2 of 2 runs accepted"
    (folder / "runs.csv").write_text("tag,type\nbm25,\nlost,manual\n")
    out, err = command(
        folder, "run", "submit", "news", ".", "--from", "runs.csv", "--team", "padua", status=1
    )
    assert "bm25.run: type is missing; expected one of: automatic, manual [answers]" in out
    assert out.splitlines()[-1] == "0 of 2 runs accepted"
    assert "cranfield: error: run 'lost': no file has the name 'lost'; rename" in err


def test_what_does_not_go_together(folder: Path) -> None:
    for arguments, said in (
        (("bm25.run", "dense.run", "--tag", "x"), "--tag requires a single run"),
        (("bm25.run", "--column", "type=x"), "--column requires --from"),
        ((), "expected RUN"),
        (("bm25.run", "--answer", "x"), "--answer must be NAME=TEXT"),
        (
            ("bm25.run", "--answer", "x=1", "--answer", "x=2"),
            "--answer 'x' must be given only once",
        ),
        (("bm25.run", "--received", "noon"), "expected a time such as"),
        (("bm25.run", "--priority", "0"), "'--priority': 0 is not in the range"),
        (("bm25.run", "--priority", "9" * 30), "priority must be an integer from 1"),
        (("bm25.run", "--description", "x" * 10_001), "'description' must have at most 10,000"),
        (("lost/", "--from", "x.csv"), "x.csv: cannot be read"),
    ):
        _, err = submit(folder, *arguments, status=2)
        assert said in err
    (folder / "x.csv").write_text("tag\nbm25\n")
    assert "lost: cannot be read" in submit(folder, "lost/", "--from", "x.csv", status=2)[1]
    _, err = command(folder, "run", "submit", "news", "bm25.run", status=2)
    assert "expected --team" in err
    _, err = command(folder, "run", "submit", "nowhere", "bm25.run", "--team", "x", status=2)
    assert "nowhere: no such folder" in err
    assert command(folder, "run", "list", "news")[0].count("\n") == 1


EVIL = [
    *("../x", "CON", "con.txt", "<img", "a\u202eb", "x" * 300, "\x1b[31mred", ".", "..", "-rf"),
    *("NUL", "a/b", "a\\b", "C:x", "é", "~", "a.", "'; DROP TABLE submission; --", "a\x00b"),
]


@pytest.mark.parametrize("tag", EVIL)
def test_tags_are_refused_and_shown_as_text(folder: Path, tag: str) -> None:
    tag = tag.replace(" ", "_")
    (folder / "evil.run").write_text(f"1 Q0 x 1 1.5 {tag}\n")
    out, err = submit(folder, "evil.run", status=1)
    assert "[tag]" in out and "refused" in out
    listed, _ = command(folder, "run", "list", "news", "--state", "all")
    shown, _ = command(folder, "run", "show", "news", "--", tag) if "\x00" not in tag else ("", "")
    for text in (out, err, listed, shown):
        assert all(line.isprintable() for line in text.splitlines())
    assert len(command(folder, "run", "list", "news", "--state", "all", "-f", "csv")[0]) < 1_500
    assert sorted(path.name for path in folder.iterdir()) == [
        *("bm25.run", "dense.run", "evil.run", "news", "rules.toml")
    ]


def test_tags_that_only_look_like_numbers(folder: Path) -> None:
    for tag in ("0", "01", "1", "1e3", "None"):
        (folder / "odd.run").write_text(f"1 Q0 x{tag} 1 1.5 {tag}\n")
        assert f"accepted as {tag} (" in submit(folder, "odd.run", "--tag", tag)[0]
    rows = csv.DictReader(io.StringIO(command(folder, "run", "list", "news", "-f", "csv")[0]))
    assert [row["tag"] for row in rows] == ["0", "01", "1", "1e3", "None"]
    assert "tag: 0\n" in command(folder, "run", "show", "news", "0")[0]
    assert "already submitted: None" in submit(folder, "odd.run", "--tag", "None")[0]
    out, _ = submit(folder, "odd.run", "--tag", "0", status=1)
    assert "tag 'None' differs from the declared tag '0'" in out


def test_files_that_are_no_runs(folder: Path) -> None:
    (folder / "empty.run").write_bytes(b"")
    (folder / "bomb.gz").write_bytes(gzip.compress(b"\0" * 5_000_000))
    (folder / "lines.gz").write_bytes(gzip.compress(b"1 Q0 x 1 1 a\n" * 40_000))
    (folder / "long.run").write_bytes(b"x" * 10_001)
    (folder / "damaged.gz").write_bytes(gzip.compress(b"1 Q0 x 1 1 a\n")[:-4])
    for name, said in (
        ("empty.run", "is empty; expected at least one line [empty]"),
        ("bomb.gz", "the decompressed file has more than 100,000 bytes [size]"),
        ("lines.gz", "the decompressed file has more than 100,000 bytes [size]"),
        ("long.run", "the file has more than 10,000 bytes [size]"),
        ("/dev/zero", "the file has more than 10,000 bytes [size]"),
        ("damaged.gz", "the compressed data are truncated or damaged"),
    ):
        assert said in submit(folder, name, status=1)[0]
    for name, said in (
        ("news", "news: cannot be read: is a directory"),
        ("lost.run", "lost.run: cannot be read: no such file or directory"),
        ("a\x1b[31m\nb", "cannot be read: no such file or directory"),
        ("x" * 300, "cannot be read: file name too long"),
        ("\udcff", "cannot be read: no such file or directory"),
    ):
        out, err = submit(folder, name, status=2)
        assert said in err and "\x1b" not in out + err
    assert [path for path in (folder / "news" / "objects").rglob("*") if path.is_file()] == []
    assert not [path for path in (folder / "news").iterdir() if path.name.startswith(".")]


def test_pipes_and_odd_names(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    data = (folder / "bm25.run").read_bytes()
    writer = threading.Thread(target=(folder / "pipe").write_bytes, args=(data,))
    writer.start()
    assert "accepted as bm25" in submit(folder, "pipe")[0]
    writer.join()
    for name in ("a\n\x1b[31mb.run", os.fsdecode(b"\xff.run")):
        command(folder, "run", "withdraw", "news", "bm25", "--reason", "again")
        (folder / name).write_bytes(data)
        # The bytes of a withdrawn run are accepted only with another description.
        submit(folder, name, status=1)
        out, err = submit(folder, name, "--description", ascii(name))
        assert "accepted as bm25" in out and "\x1b" not in out + err
        shown = command(folder, "run", "show", "news", "bm25")[0]
        assert all(line.isprintable() or "\ufffd" in line for line in shown.splitlines())


@pytest.mark.parametrize(("name", "shown"), [("run list", "bm25"), ("verify", "intact: ")])
def test_no_library_of_numbers_is_loaded(folder: Path, name: str, shown: str) -> None:
    """A list of thousands of runs is there at once."""
    submit(folder, "bm25.run")
    news = folder / "news"
    code = (
        "import sys; from cranfield.cli.main import run; "
        f"sys.argv = ['cranfield', 'campaign', *{name.split()!r}, {str(news)!r}]; run(); "
        "assert not {'numpy', 'polars'} & set(sys.modules), 'loaded'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


@pytest.mark.parametrize(
    ("feedback", "told"),
    [
        ("none", []),
        ("means", ["bm25: P@3 0.33, judgment version 1"]),
        ("sheets", ["bm25: P@3 0.3333, "]),
    ],
)
def test_feedback_before_a_release_is_what_the_rules_allow(
    folder: Path, feedback: str, told: list[str]
) -> None:
    """One relevant document of the first three is a third."""
    for tag in ("bm25", "dense"):
        with (folder / f"{tag}.run").open("a") as run:
            run.write(f"2 Q0 {tag} 1 2.5 {tag}\n")
    rules = folder / "news" / "campaign.toml"
    rules.write_text(f'{RULES}feedback = "{feedback}"\nmeasures = ["P@3"]\n')
    (folder / "qrels").write_text("1 0 bm25 1\n1 0 x 0\n2 0 bm25 1\n")
    out, _ = submit(folder, "dense.run")
    assert len(out.splitlines()) == 1, "nothing is told without judgments"
    command(folder, "judgments", "news", "qrels", "--version", "1")
    out, _ = submit(folder, "bm25.run")
    said = out.splitlines()[1:]
    assert len(said) == len(told)
    assert all(line.startswith(start) for line, start in zip(said, told, strict=True))
    command(folder, "release", "make", "news")
    out, _ = submit(folder, "bm25.run")
    assert len(out.splitlines()) == 1, "a release tells more"
