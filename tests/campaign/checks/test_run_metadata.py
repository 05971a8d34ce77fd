"""Metadata that a task asks for, and what of them is published."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.campaign.checks.checking import check_run, select_public_metadata
from cranfield.campaign.rules.task_rules import MetadataRules, TaskRules
from cranfield.collection import Metadata, read_metadata

LINES = "1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n"
TASK = TaskRules(
    "adhoc", metadata=MetadataRules(("tag", "actor.team", "method.name"), ("ENTER_VALUE_HERE",))
)


def faults(folder: Path, yaml: str, task: TaskRules = TASK) -> list[tuple[str, int | None, str]]:
    header = "".join(f"# {line}\n" for line in yaml.splitlines())
    text = f"# ir_metadata.start\n{header}# ir_metadata.end\n" if yaml else ""
    (folder / "a.run").write_text(text + LINES)
    report = check_run(folder / "a.run", task)
    return [(one.code, one.line, one.message) for one in report.faults]


def test_what_the_task_asks_for(tmp_path: Path) -> None:
    assert faults(tmp_path, "tag: a\nactor: {team: t}\nmethod: {name: n}") == []
    assert faults(tmp_path, "") == [
        (
            "metadata-missing",
            None,
            "ir_metadata: the run has no metadata; required keys: tag, actor.team, method.name",
        )
    ]
    assert faults(tmp_path, "tag: b\nactor: {team: [t]}\nmethod: {name: ENTER_VALUE_HERE}") == [
        ("metadata-placeholder", 1, "ir_metadata: method.name is still 'ENTER_VALUE_HERE'"),
        ("metadata-type", 1, "ir_metadata: actor.team must be text, got a list"),
        ("metadata-tag", 1, "ir_metadata: tag is 'b', but the run has the tag 'a'"),
    ]
    found = faults(tmp_path, "tag: a\nmethod: {name: n}\ntag: a")
    assert [(code, message) for code, _, message in found] == [
        ("metadata-missing", "ir_metadata: actor.team is missing"),
        (
            "metadata-twice",
            "ir_metadata: line 4: 'tag' occurs twice in one mapping; its last value is used",
        ),
    ]


def test_metadata_that_cannot_be_read_name_their_line(tmp_path: Path) -> None:
    assert faults(tmp_path, "tag: a\nb: *x")[0] == (
        "metadata-yaml",
        3,
        "ir_metadata: is not valid YAML: alias 'x' is not supported; write the value in its place",
    )


def test_a_task_without_rules_of_metadata_asks_for_none(tmp_path: Path) -> None:
    assert faults(tmp_path, "", TaskRules("adhoc")) == []
    assert faults(tmp_path, "tag: other", TaskRules("adhoc")) == []


@pytest.mark.parametrize(
    "header", ["# ir_metadata.start\n# tag: a\n", "ir_metadata.start\ntag: a\n"]
)
def test_a_header_without_an_end_is_refused_as_the_reader_does(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.run").write_text(header + LINES)
    task = TaskRules("adhoc", severities={"metadata-header": "off"})
    report = check_run(tmp_path / "a.run", task)
    assert [(one.code, one.line) for one in report.errors][-1] == ("metadata-header", 1)
    with pytest.raises(cf.InputError):
        cf.read_run(tmp_path / "a.run")


def test_a_bare_header_is_no_fault_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("ir_metadata.start\ntag: a\nir_metadata.end\n" + LINES)
    report = check_run(tmp_path / "a.run", TaskRules("adhoc"))
    assert report.faults == ()
    assert report.n_lines == 5


PRIVATE = """\
# comment of CANARY
tag: a
run-version: 2.0/beta
actor: {team: t, mail: CANARY@example.org, name: Me <CANARY@example.org>}
implementation:
  executable: {cmd: python /home/CANARY/run.py --index ./index}
  script: {path: CANARY.py}
  source: {archive: {path: CANARY.zip}, repository: 'https://github.com/a/b', lang: [python]}
  notes: ['C:\\Users\\CANARY\\x', '\\\\server\\CANARY', '~/CANARY', 'file:///CANARY',
    'see /mnt/CANARY/x']
method: {name: 'BM25 and/or RM3', description: 'tf/idf at 1/2, http://ir.org/x'}
/home/CANARY: 1
"""


def test_what_is_private_is_dropped_and_listed() -> None:
    metadata = read_metadata(PRIVATE.encode())
    assert metadata is not None
    text, dropped = select_public_metadata(metadata)
    assert "CANARY" not in text
    assert dropped == (
        *("actor.mail", "actor.name", "implementation.executable.cmd"),
        *("implementation.script.path", "implementation.source.archive.path"),
        *("implementation.notes", "a key"),
    )
    kept = read_metadata(text.encode())
    assert kept is not None
    assert kept.values == {
        "tag": "a",
        "run-version": "2.0/beta",
        "actor": {"team": "t"},
        "implementation": {
            "source": {"repository": "https://github.com/a/b", "lang": ["python"]},
        },
        "method": {"name": "BM25 and/or RM3", "description": "tf/idf at 1/2, http://ir.org/x"},
    }


@pytest.mark.parametrize(
    "piece", ["a", "/", "~", "a@", "@a", "@.", "/a/", "~/", "\\\\", "c:", " /a"]
)
def test_long_values_do_not_take_long(piece: str) -> None:
    begun = time.process_time()
    select_public_metadata(Metadata({"a": piece * 25_000, "b": f"x{piece * 25_000}"}))
    assert time.process_time() - begun < 1
