"""Hints name options on the command line, and arguments in Python."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

import cranfield as cf
from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.hints import as_options
from tests.cli.running import cranfield, refused

TWICE = "q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n"


@command()
@option("--missing")
@option("--columns")
@option("--clip", is_flag=True)
@option("--run-duplicates", argument="on_duplicate")
def some() -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("missing='drop' leaves it out", "--missing drop leaves it out"),
        ("(missing='a b' leaves it out)", "(--missing 'a b' leaves it out)"),
        ("clip=True takes it", "--clip takes it"),
        ("on_duplicate='first' keeps one", "--run-duplicates first keeps one"),
        ("columns={'doc': ...} says which", "--columns doc=... says which"),
        ("none are given: missing=...", "none are given: --missing ..."),
        ("a number, such as missing=10", "a number, such as --missing 10"),
        # What the command has no option for, and what is within a call, stays.
        ("unit='topic' takes it", "unit='topic' takes it"),
        ("RBP(missing='drop')@10 is none", "RBP(missing='drop')@10 is none"),
        ("missing=3", "missing=3"),
    ],
)
def test_options_of_the_command(hint: str, said: str) -> None:
    assert isinstance(some, click.Command)
    assert as_options(hint, some) == said
    assert as_options(hint, None) == hint


def test_a_similar_option_comes_before_one_of_another_purpose(tmp_path: Path) -> None:
    words = ("online", "experiment", "users.csv", "--metrics", "clicks")
    refused(tmp_path, *words, reason="did you mean --metric?")
    words = ("evaluate", "qrels", "a.run", "--metrics", "AP")
    refused(tmp_path, *words, reason="give measures with -m")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "'é' is not UTF-8; encoding='latin-1' reads any bytes",
            "'é' is not UTF-8; --settings with encoding: latin-1 reads any bytes",
        ),
        ("RRF(k=True) has no cut='x'", "RRF(k=True) has no cut='x'"),
        ("2 grades; repeats='last' takes the last (topic 'q1')", "2 grades (topic 'q1')"),
    ],
)
def test_clauses_on_arguments_that_a_command_lacks(text: str, said: str) -> None:
    from cranfield.cli.evaluate import fuse

    assert as_options(text, fuse) == said


def test_the_format_of_what_is_read(tmp_path: Path) -> None:
    """It is --input-format, beside the --format of what is written."""
    (tmp_path / "a.csv").write_text("q1 Q0 a 1 2 t\n")
    (tmp_path / "b.txt").write_text("topic,doc,score\nq1,a,1\n")
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    for file, said in (("a.csv", "--input-format trec"), ("b.txt", "--input-format csv")):
        err = cranfield(tmp_path, "evaluate", "qrels", file, "--format", "csv", status=2)[1]
        assert f"or {said}" in err
    assert cranfield(tmp_path, "evaluate", "qrels", "a.csv", "--input-format", "trec")[0]


def test_a_document_twice(tmp_path: Path) -> None:
    (tmp_path / "twice.run").write_text(TWICE)
    (tmp_path / "good.run").write_text(TWICE.replace("q1 Q0 a 2", "q1 Q0 b 2"))
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    said = "first in line 1; {} keeps the first one (topic 'q1', document 'a')"
    for arguments in (
        ("evaluate", "qrels", "twice.run"),
        ("fuse", "good.run", "twice.run"),
        ("pool", "twice.run"),
    ):
        err = cranfield(tmp_path, *arguments, status=2)[1]
        setting = "--settings with on-duplicate: first"
        assert said.format("--on-duplicate first" if arguments[0] == "evaluate" else setting) in err
        assert cranfield(tmp_path, *arguments, "--on-duplicate", "first")[0]
    with pytest.raises(cf.InputError) as caught:
        cf.read_run(tmp_path / "twice.run")
    assert said.format("on_duplicate='first'") in str(caught.value)
    with pytest.warns(
        cf.CranfieldWarning,
        match="1 repeated document excluded .*; the first one is kept",
    ):
        assert len(cf.read_run(tmp_path / "twice.run", on_duplicate="first")) == 1


def test_advice_on_judging_where_there_is_no_such_option() -> None:
    from cranfield.cli.evaluate import evaluate, fuse

    text = "ERR: grades are 0 to 3; an option such as max_grade=3 fixes it"
    advice = "; an option such as --settings with max-grade: 3 fixes it"
    assert as_options(text, evaluate).endswith(advice)
    assert as_options(text, fuse) == "ERR: grades are 0 to 3"
    text = "PQ needs judgments by subtopic, and these have none; subtopics=True reads them"
    assert as_options(text, evaluate).endswith("; --subtopics reads them")
    assert as_options(text, fuse) == "PQ needs judgments by subtopic, and these have none"


def test_similar_name_of_a_setting(tmp_path: Path) -> None:
    _, error = cranfield(tmp_path, "compare", "q", "r", "--statistik", "sum", status=2)
    assert "did you mean the setting statistic, in a file for --settings?" in error
    refused(tmp_path, "compare", "q", "r", "--tets", "t", reason="did you mean --test?")
