"""What all commands have in common: letters, groups and length of help, files that are kept."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import cranfield as cf
from cranfield.cli.options.declaring import MAX_FLAGS, SHORT_FLAGS, Command, InputFile, Option

from .running import commands, cranfield, refusals, refused

EVERY = {name: (one, context) for name, one, context in commands() if isinstance(one, Command)}
assert len(EVERY) == len([*commands()])
each_command = pytest.mark.parametrize(("command", "context"), EVERY.values(), ids=EVERY)


@each_command
def test_a_letter_means_one_thing(command: Command, context: click.Context) -> None:
    letters = []
    for one in command.params:
        if not isinstance(one, click.Option):
            continue
        short = [name for name in one.opts if not name.startswith("--")]
        assert short == [SHORT_FLAGS[name] for name in one.opts if name in SHORT_FLAGS]
        letters += short
    assert len(letters) == len(set(letters))


@each_command
def test_help_fits_what_a_person_reads(command: Command, context: click.Context) -> None:
    shown, every = (command.list_options(context, show_all=all_) for all_ in (False, True))
    assert len(shown) <= MAX_FLAGS and bool(shown) == any(not one.is_setting for one in every)
    # What is first is there, and has to be said only where there are more flags.
    flags = [one for one in every if not one.is_setting]
    if command.common or len(flags) > MAX_FLAGS:
        assert len(every) > MAX_FLAGS and len(command.common) == len(shown)
    text = command.get_help(context)
    named = re.findall(
        r"^  (?:-\w, )?(--[a-z-]+)(?:  |$| [A-Z\[/])", text.split("Examples:")[0], re.M
    )
    assert len(named) <= MAX_FLAGS + 2
    assert ("--help-all" in named) == (len(every) > len(shown))


@each_command
def test_an_option_of_one_value_and_each_value_is_given_once(
    command: Command, context: click.Context
) -> None:
    for one in command.params:
        if isinstance(one, click.Option) and not (one.is_flag or getattr(one, "is_setting", False)):
            words = [max(one.opts, key=len), "1"] * 2
            value = " '1'" if one.multiple else ""
            with pytest.raises(click.UsageError) as caught:
                command.make_context(context.info_name, words)
            assert caught.value.message == f"{words[0]}{value} must be given only once"


def test_help_all(tmp_path: Path) -> None:
    short, _ = cranfield(tmp_path, "evaluate", "--help")
    whole, _ = cranfield(tmp_path, "evaluate", "--help-all")
    assert "\nJudging:\n" in short and "--encoding" not in short
    assert "Also show" in short and "Also show" not in whole
    command, context = EVERY["evaluate"]
    every = command.list_options(context, show_all=True)
    names = (one.opts[0].removeprefix("--") if one.is_setting else one.opts[0] for one in every)
    assert len(every) > 20 and all(name in whole for name in names)
    assert "\nSettings (keys of the --settings file):\n" in whole


@each_command
def test_files_are_declared(command: Command, context: click.Context) -> None:
    """What is called a file is declared as one, so that outputs spare it and shells complete it."""
    for one in command.params:
        words = getattr(one, "metavar", None) or ""
        if re.search(r"\b(FILE|RUN|QRELS|LOG)\b", words) and one.name != "budget":
            assert isinstance(one.type, InputFile), one.name
        if isinstance(one, Option) and "--output" in one.opts:
            assert isinstance(one.type, InputFile)


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "qrels", "run"),
        ("compare", "qrels", "run", "run2"),
        ("compare", "qrels", "ru*"),
        ("evaluate", "qrels", "."),
        ("evaluate", "qrels", "run2", "--lengths", "run"),
        ("evaluate", "qrels", "run2", "--aspect", "harm=run"),
        ("judges", "qrels", "run2", "--runs", "run"),
        ("report", "qrels", "run", "run2"),
        ("labels", "run"),
        ("answers", "--citations", "run"),
        ("sessions", "qrels", "sessions", "run"),
        ("study", "collection", "qrels", "run"),
        ("study", "tests", "--scores", "run"),
    ],
)
def test_no_command_writes_over_what_it_reads(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    for name in ("qrels", "run", "run2", "sessions"):
        (tmp_path / name).write_text("kept")
    _, err = cranfield(tmp_path, *arguments, "-o", "run", status=2)
    assert err == "cranfield: error: --output 'run' would overwrite an input file\n"
    assert (tmp_path / "run").read_text() == "kept"


def test_labels_keep_the_file_of_labels(tmp_path: Path) -> None:
    (tmp_path / "crowd.csv").write_text("topic,doc,worker,grade\n1,a,x,1\n")
    _, err = cranfield(tmp_path, "labels", "crowd.csv", "--qrels", "./crowd.csv", status=2)
    assert err == "cranfield: error: --qrels './crowd.csv' would overwrite an input file\n"


@pytest.mark.parametrize(
    ("file", "more", "begins"),
    [
        ("o.csv", (), b"system,AP\n"),
        ("o.CSV.gz", (), b"\x1f\x8b"),
        ("o.json", (), b"{\n"),
        ("o.tex", (), b"% 1 system"),
        ("o.md", (), b"1 system, 2 topics.\n"),
        ("o.htm", (), b"<table"),
        ("o.parquet", (), b"PAR1"),
        ("o.txt", (), b"\n system"),
        ("o.csv", ("-f", "trec"), b"map "),
    ],
)
def test_a_file_is_in_the_format_of_its_suffix(
    folder: Path, file: str, more: tuple[str, ...], begins: bytes
) -> None:
    cranfield(folder, "evaluate", "qrels", "one.run", "-m", "AP", "-o", file, *more)
    assert (folder / file).read_bytes().startswith(begins)


def test_a_format_that_is_not_written_here(folder: Path) -> None:
    two = ("compare", "qrels", "one.run", "two.run", "-m", "AP")
    _, err = cranfield(folder, *two, "-o", "c.parquet", status=2)
    assert "--output 'c.parquet' has the suffix of parquet, which this command cannot write" in err
    _, err = cranfield(folder, *two, "-o", "c.xlsx", status=2)
    assert "--output 'c.xlsx' has the suffix of xlsx, which this command cannot write" in err
    assert not (folder / "c.xlsx").exists()
    cranfield(folder, *two, "-o", "c.parquet", "-f", "text")
    assert (folder / "c.parquet").read_text().startswith("On AP")


@refusals(
    """
evaluate q r --depth ten | '--depth': 'ten' is not a valid integer.
compare q r --alpha x | 'x' is not a valid
study nothing | unknown command 'nothing'; expected one of: collection,
study test | unknown command 'test'; did you mean tests?
study --nothing | No such option '--nothing'.
"""
)
def test_words_that_a_command_does_not_know(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, *words, reason=reason)


@each_command
def test_examples_use_no_option_that_is_a_setting(command: Command, context: click.Context) -> None:
    examples = command.get_help(context).partition("Examples:")[2]
    usable = {
        name for one in command.params if not getattr(one, "is_setting", False) for name in one.opts
    }
    assert {*re.findall(r"(?<=\s)--[a-z-]+", examples)} <= usable | {"--help"}


@each_command
def test_examples_have_valid_parameters_of_measures(
    command: Command, context: click.Context
) -> None:
    examples = command.get_help(context).partition("Examples:")[2]
    for text in re.findall(r'-m "(\w+\(.*?)"', examples):
        is_online = context.command_path.startswith("cranfield online")
        parse = cf.online.parse_online_measure if is_online else cf.parse_measure
        parse(text)
