"""The command `cranfield report`: one file, and the command that makes it again."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from tests.cli.running import cranfield
from tests.reporting.page.reading import read


def test_runs_and_judgments(folder: Path) -> None:
    arguments = ["report", "qrels", "one.run", "two.run", "-m", "AP", "-m", "RR@5"]
    arguments += ["--title", "A <b> title", "-o", "x.html", "--seed", "3", "--no-scales"]
    out, err = cranfield(folder, *arguments, "--jobs", "1")
    assert out == ""
    assert err.splitlines()[-1] == "written: x.html"
    found = read(folder / "x.html")
    assert [one["name"] for one in found.data["measures"]] == ["AP", "RR@5"]
    assert found.data["systems"] == ["one", "two_x"]
    for name in ("qrels", "one.run", "two.run"):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        assert f"{name} {digest}" in found.shown
    assert "A <b> title" in found.shown
    # The command on the page makes the same page.
    [command] = [text for inside, text in found.texts if inside[-2:] == ("pre", "code")]
    words = shlex.split(command)
    assert words[:4] == ["cranfield", "report", "qrels", "one.run"]
    assert "--jobs" not in words
    cranfield(folder, *words[1:])
    assert (folder / "report.html").read_bytes() == (folder / "x.html").read_bytes()


def test_patterns_and_baseline(folder: Path) -> None:
    cranfield(folder, "report", "qrels", "*.run", "-b", "one", "-m", "P@1")
    found = read(folder / "report.html")
    assert found.data["measures"][0]["comparison"]["baselines"] == [0]
    assert "--baseline one" in found.shown
    assert "two.run " in found.shown


def test_score_files(folder: Path) -> None:
    (folder / "s.csv").write_text("topic,a,b\n1,0.5,0.7\n2,0.1,0.4\n3,0.2,0.25\n")
    cranfield(folder, "report", "--scores", "s.csv", "-o", "r.html")
    found = read(folder / "r.html")
    assert found.data["topics"] == ["1", "2", "3"]
    assert "s.csv " + hashlib.sha256((folder / "s.csv").read_bytes()).hexdigest() in found.shown


def test_bad_input_leaves_nothing(folder: Path) -> None:
    for arguments in (
        ["qrels", "no.run"],
        ["qrels", "one.run", "-t", "tea"],
        ["qrels", "one.run", "-m", "nope"],
        ["qrels"],
        ["qrels", "one.run", "two.run", "-o", "-"],
        ["qrels", "one.run", "two.run", "-b", "three"],
        ["qrels", "one.run", "-o", "no/folder/r.html"],
    ):
        _, err = cranfield(folder, "report", *arguments, status=2)
        assert err.splitlines()[-1].startswith("cranfield: error: ")
    assert not list(folder.glob("*.html"))


def test_judges_may_have_words_and_people_integers(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("topic,doc,grade\nx,a,1\nx,b,0\ny,a,0\ny,b,1\n")
    (tmp_path / "llm.csv").write_text("topic,doc,grade\nx,a,yes\nx,b,no\ny,a,yes\ny,b,yes\n")
    for name in ("one", "two"):
        lines = (
            f"{q} Q0 {d} 1 {score} {name}\n" for q in "xy" for d, score in (("a", 2), ("b", 1))
        )
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "s.yml").write_text("map-grades: {'yes': 1, 'no': 0}\n")
    command = ("report", "people.csv", "one.run", "two.run", "-m", "P@1", "--settings", "s.yml")
    cranfield(tmp_path, *command, "--judges", "llm.csv", "-o", "out.html")
    assert "llm" in (tmp_path / "out.html").read_text()
    # Without judges the map is of the judgments, and must contain their values.
    _, err = cranfield(tmp_path, *command, "-o", "none.html", status=2)
    assert "unknown grade" in err
