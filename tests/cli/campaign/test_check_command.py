"""`cranfield check --rules`: what it prints and writes, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import cranfield, refused

RULES = """[campaign]
id = "news"
title = "News"
[tasks.adhoc]
topics = "topics.txt"
second_column = "Q0"
"""
GOOD = "1 Q0 a 1 2 good\n2 Q0 a 1 1 good\n"
BAD = "1 Q0 a 1 2 bad\n1 Q0 a 2 nan bad\n2 0 a 1 1 bad\n"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "topics.txt").write_text("1\n2\n")
    (tmp_path / "good.run").write_text(GOOD)
    (tmp_path / "bad.run").write_text(BAD)
    return tmp_path


def check(folder: Path, *arguments: str, status: int = 0, stdin: bytes = b"") -> tuple[str, str]:
    rules = ("--rules", "rules.toml")
    return cranfield(folder, "check", *arguments, *rules, status=status, stdin=stdin)


SAID = """\
bad.run:2: document twice in one topic, first in line 1 (topic '1', document 'a') [document-twice]
bad.run:2: score must be a finite number, got 'nan' (topic '1', document 'a') [score]
bad.run:3: second column must be 'Q0', got '0' (1 line) [second-column]
bad.run: refused: 3 errors
"""


def test_the_status_is_0_where_all_are_accepted_1_where_one_is_refused_2_where_one_is_unread(
    pack: Path,
) -> None:
    assert check(pack, "good.run")[0] == "good.run: accepted\n"
    assert check(pack, "bad.run", "good.run", status=1)[0] == SAID + "good.run: accepted\n"
    out, err = check(pack, "none.run", "bad.run", status=2)
    assert out == SAID
    assert err == "cranfield: error: none.run: cannot be read: no such file or directory\n"
    (pack / "topics.txt").unlink()
    for name in ("rules.toml", "."):
        refused(pack, "check", "good.run", "--rules", name, reason="topics.txt")


def test_standard_input_and_what_was_declared(pack: Path) -> None:
    out, _ = check(pack, "-", "--tag", "x", "--team", "GOOD", status=1, stdin=GOOD.encode())
    assert out == (
        "standard input:1: tag 'good' differs from the declared tag 'x' [tag-declared]\n"
        "standard input:1: tag 'good' must differ from the team's id [tag-team]\n"
        "standard input: refused: 2 errors\n"
    )
    assert "requires a single run" in check(pack, "good.run", "bad.run", "--tag", "x", status=2)[1]


def test_json(pack: Path) -> None:
    out, _ = check(pack, "good.run", "bad.run", "--format", "json", status=1)
    good, bad = json.loads(out)
    assert (good["is_accepted"], good["verdict"], good["tag"]) == (True, "accepted", "good")
    assert (good["n_lines"], good["n_topics"], good["faults"], good["counts"]) == (2, 2, [], {})
    assert (len(good["object"]), len(good["ranking"])) == (64, 64)
    assert bad["counts"] == {"score": 1, "document-twice": 1, "second-column": 1}
    assert bad["ranking"] is None
    assert bad["faults"][1] == {
        "code": "score",
        "severity": "error",
        "message": "score must be a finite number, got 'nan'",
        "line": 2,
        "topic": "1",
        "doc": "a",
        "count": 1,
    }
    check(pack, "bad.run", "--format", "json", "-o", "out.json", status=1)
    assert json.loads((pack / "out.json").read_text()) == [bad]


def test_the_log_of_errors_is_named_by_the_tag_where_that_is_safe(pack: Path) -> None:
    out, _ = check(pack, "good.run", "bad.run", "--format", "errlog", status=1)
    assert out == ""
    assert (pack / "good.errlog").read_text() == "good.run: accepted\n"
    assert (pack / "bad.errlog").read_text() == SAID
    (pack / "up.run").write_text("1 Q0 a 1 1 ../../up\n2 Q0 a 1 1 ../../up\n")
    (pack / "logs").mkdir()
    check(pack, "up.run", "--format", "errlog", "-o", "logs", status=1)
    assert [one.name for one in (pack / "logs").iterdir()] == ["up.errlog"]


def test_no_log_writes_over_a_run_or_another_log(pack: Path) -> None:
    (pack / "other.run").write_text(GOOD.replace("good", "GOOD"))
    before = sorted(pack.iterdir())
    _, err = check(pack, "good.run", "other.run", "--format", "errlog", status=2)
    assert "written to the same file" in err
    (pack / "good.errlog").write_text(GOOD)
    _, err = check(pack, "good.errlog", "--format", "errlog", status=2)
    assert "would overwrite an input file" in err
    assert (pack / "good.errlog").read_text() == GOOD
    assert (
        "must be a folder" in check(pack, "good.run", "--format", "errlog", "-o", "x", status=2)[1]
    )
    assert "requires --output" in check(pack, "-", "--format", "errlog", status=2)[1]
    _, err = check(pack, "good.run", "-o", "good.run", status=2)
    assert "would overwrite an input file" in err
    assert sorted(pack.iterdir()) == sorted([*before, pack / "good.errlog"])


@pytest.mark.parametrize("form", ["text", "json", "errlog"])
def test_no_file_is_written_where_a_run_is_unread(pack: Path, form: str) -> None:
    before = {path: path.read_bytes() for path in pack.iterdir()}
    where = () if form == "errlog" else ("-o", "out")
    out, err = check(pack, "good.run", "none.run", "--format", form, *where, status=2)
    assert out == ""
    assert err == (
        "cranfield: warning: nothing was written, as the following runs cannot be read\n"
        "cranfield: error: none.run: cannot be read: no such file or directory\n"
    )
    assert {path: path.read_bytes() for path in pack.iterdir()} == before


def test_25_of_a_kind_are_shown_unless_all_are_asked_for(pack: Path) -> None:
    lines = [f"{1 + k % 2} Q0 d{k} {'x' if k < 1_000 else 1} 1 t\n" for k in range(2_000)]
    (pack / "many.run").write_text("".join(lines))
    out, _ = check(pack, "many.run", status=1)
    assert out.count("must be an integer") == 25
    assert out.endswith(
        "many.run: ... and 975 more [rank]\nmany.run: refused: 1,000 errors, 1 warning\n"
    )
    check(pack, "many.run", "--all", "-o", "out.txt", status=1)
    assert (pack / "out.txt").read_text().count("must be an integer") == 1_000
