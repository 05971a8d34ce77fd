"""Settings from a file: they count as options do, and what does not fit is refused by its place."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cranfield.cli.compare import compare
from tests.cli.running import cranfield, ended_with

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 0\nq3 0 d2 1\n"
RUN = "q1 Q0 d2 1 2 {0}\nq1 Q0 d1 2 1 {0}\nq2 Q0 d1 1 2 {0}\nq3 Q0 d2 1 1 {0}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN.format("a"))
    (tmp_path / "b.run").write_text(RUN.format("b").replace("q1 Q0 d2 1 2", "q1 Q0 d9 1 2"))
    return tmp_path


def given(folder: Path, text: str) -> tuple[str, ...]:
    (folder / "own.yml").write_text(text, encoding="utf-8")
    return ("compare", "qrels", "a.run", "b.run", "-m", "P@1", "-t", "t", "--settings", "own.yml")


def test_settings_count_as_options_do(folder: Path) -> None:
    (folder / "a.run").write_text(RUN.format("a") + "q3 Q0 d2 2 0 a\n")
    _, err = cranfield(folder, *given(folder, "{}"), status=2)
    assert "--settings with on-duplicate: first keeps the first one" in err
    plain, _ = cranfield(folder, *given(folder, "on-duplicate: first"))
    condensed, _ = cranfield(folder, *given(folder, "on-duplicate: first\nunjudged: condensed"))
    scores = ("evaluate", "qrels", "a.run", "b.run", "-m", "P@1", "--on-duplicate", "first")
    for text, more in ((plain, ()), (condensed, ("--unjudged", "condensed"))):
        rows = cranfield(folder, *scores, *more, "--format", "csv")[0].splitlines()[1:]
        for mean in (row.split(",")[-1] for row in rows):
            assert f"{float(mean):.4f}" in text
    assert plain != condensed


def test_mappings_and_flags(folder: Path) -> None:
    # P@1 by hand: a has d1 (relevant) first twice, b only for q2; q3 has no results in either.
    (folder / "a.csv").write_text("thema,dok,score\nq1,d1,2\nq2,d1,1\n")
    (folder / "b.csv").write_text("thema,dok,score\nq1,d2,2\nq2,d1,1\n")
    (folder / "bad.csv").write_text("nothing\n")
    (folder / "own.yml").write_text(
        "columns:\n  run.topic: thema\n  run.doc: dok\non-bad-run: skip\n"
    )
    files = ("qrels", "a.csv", "b.csv", "bad.csv")
    given = ("-m", "P@1", "-t", "t", "--settings", "own.yml")
    out, err = cranfield(folder, "compare", *files, *given)
    assert "a (0.6667) and b (0.3333)" in out
    assert "bad.csv" in err and "1 of 3 runs skipped" in err


def test_flags_may_be_keys_and_the_command_line_wins(folder: Path) -> None:
    (folder / "own.yml").write_text("unjudged: condensed\nmeasure: [P@1, RR]\nplaces: 2\n")
    words = ("evaluate", "qrels", "a.run", "b.run", "--settings", "own.yml")
    flags = ("--unjudged", "condensed", "-m", "P@1", "-m", "RR", "-p", "2")
    assert cranfield(folder, *words) == cranfield(folder, *words[:4], *flags)
    assert cranfield(folder, *words, "-m", "AP") != cranfield(folder, *words)
    scores = "topic,system,measure,score\n1,a,P@1,1\n1,a,RR,1\n1,a,AP,0\n"
    (folder / "s.csv").write_text(scores)
    (folder / "own.yml").write_text("measure: [P@1, RR]\n")
    out, _ = cranfield(folder, "evaluate", "--scores", "s.csv", "--settings", "own.yml")
    assert "RR" in out and "AP" not in out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tie: input", "own.yml: unknown setting 'tie'; expected one of: statistic, exact"),
        ("dept: 3", "did you mean depth"),
        ("settings: own.yml", "own.yml: unknown setting 'settings'"),
        ("ties: inputs", "own.yml: ties: 'inputs' is not one of 'trec'"),
        ("depth: 0", "own.yml: depth: 0 is not in the range x>=1"),
        ("depth: [1, 2]", "own.yml: depth: '1,2' is not a valid integer"),
        ("depth:", "own.yml: depth must be a single value, got"),
        ("depth: 1\ndepth: 2", "own.yml: line 2: 'depth' "),
        ("on-bad-run: perhaps", "own.yml: on-bad-run: 'perhaps' is not one of"),
        ("- depth", "own.yml: is not valid YAML"),
        ("threshold: 0.1", "threshold"),
    ],
)
def test_what_does_not_fit_is_refused(folder: Path, text: str, reason: str) -> None:
    _, err = cranfield(folder, *given(folder, text), status=2)
    assert reason in err


def test_the_file_has_to_be_there(folder: Path) -> None:
    words = [word.replace("own.yml", "none.yml") for word in given(folder, "{}")]
    assert "'none.yml' cannot be read" in cranfield(folder, *words, status=2)[1]


def test_a_flag_of_a_setting_is_refused_with_advice(folder: Path) -> None:
    words = ("compare", "qrels", "a.run", "b.run", "--on-duplicate", "first")
    status, _, err = ended_with(folder, *words)
    assert status == 2
    assert "write on-duplicate: first to a file" in err


def test_the_key_of_a_short_flag_is_the_long_name(folder: Path) -> None:
    words = ("online", "experiment", "--counts", "a=1/9,b=2/9", "-c", "holm")
    status, _, err = ended_with(folder, *words)
    assert status == 2
    assert "-c is a setting of this command: write correction: holm to a file" in err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--columns", "grade=llm_label"), "columns: grade=llm_label"),
        (("--columns=grade=llm_label",), "columns: grade=llm_label"),
        (("--columns",), "columns: VALUE"),
        (("--columns", "--clip"), "columns: VALUE"),
        (("--fixed-topics", "qrels"), "fixed-topics: true"),
    ],
)
def test_the_advice_on_a_flag_of_a_setting_has_its_value(
    folder: Path, words: tuple[str, ...], line: str
) -> None:
    status, _, err = ended_with(folder, "judges", "qrels", "qrels", *words)
    assert (status, f"write {line} to a file" in err) == (2, True)


def test_help_lists_settings_with_their_values(folder: Path) -> None:
    short, _ = cranfield(folder, "compare", "--help")
    whole, _ = cranfield(folder, "compare", "--help-all")
    assert "id-ascending" not in short
    settings = whole.split("Settings (keys of the --settings file):")[1]
    assert "ties [trec|trec_eval-9|id-ascending|input|rank|file|expected]" in settings
    assert "--ties" not in whole


def test_shells_complete_no_settings() -> None:
    context = click.Context(compare, info_name="compare")
    names = {one.value for one in compare.shell_complete(context, "--")}
    assert "--settings" in names
    assert "--on-duplicate" not in names
