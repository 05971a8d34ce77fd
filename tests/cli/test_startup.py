"""What commands load: what is not named is not loaded, and help loads nothing that computes."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import cranfield.meta
from cranfield.cli.main import app
from cranfield.cli.online_experiments import HASHES
from cranfield.cli.study_options import StudyOption
from cranfield.meta.study_options import declared
from cranfield.online.experiments import design

HEAVY = ("numpy", "polars", "scipy", "altair", "joblib", "rich", "narwhals")

WALK = """
import click
from cranfield.cli.main import app

def walk(command, context):
    command.get_help(context)
    found = 1
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            found += walk(one, click.Context(one, info_name=name, parent=context))
    return found

assert walk(app, click.Context(app, info_name="cranfield")) > 50
"""

DIFFERENT = {("swap_method", "repeats"): 50}
"""Defaults of functions that are others in the command line."""


def loaded(code: str) -> set[str]:
    """Run code in an interpreter of its own, and return what it has loaded of what is heavy."""
    told = f"{code}\nimport sys\nprint(*(one for one in {HEAVY} if one in sys.modules))"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
    return set(done.stdout.splitlines()[-1].split())


def run(*arguments: str) -> str:
    given = ["cranfield", *arguments]
    return f"import sys; sys.argv = {given}; from cranfield.cli.main import run; run()"


def test_help_of_every_command() -> None:
    assert loaded(WALK) == set()


@pytest.mark.parametrize("code", ["import cranfield", "import cranfield.measures"])
def test_import(code: str) -> None:
    assert loaded(code) == set()


def test_wrong_option() -> None:
    assert loaded(run("evaluate", "qrels", "run", "--tiess", "trec")) == set()
    assert loaded(run("study", "tests", "--repeats", "no")) == set()


def test_evaluate(tmp_path: Path) -> None:
    qrels, one, out = (str(tmp_path / name) for name in ("qrels", "run", "out.json"))
    Path(qrels).write_text("1 0 a 1\n1 0 b 0\n", "utf-8")
    Path(one).write_text("1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n", "utf-8")
    names = ("AP", "P@10", "nDCG@10", "nDCG", "RR", "R@100", "Bpref")
    measures = [word for name in names for word in ("-m", name)]
    code = run("evaluate", qrels, one, *measures, "--format", "json", "-o", out)
    assert loaded(code) == {"numpy", "polars"}
    assert '"AP"' in Path(out).read_text("utf-8")
    # What is wrong is found before anything is loaded that would only compute.
    assert loaded(run("evaluate", qrels, str(tmp_path / "none"))) <= {"numpy", "polars"}


def commands(command: click.Command, context: click.Context) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None
            yield from commands(one, click.Context(one, info_name=name, parent=context))


def options_of_studies() -> list[StudyOption]:
    study = app.get_command(click.Context(app), "study")
    assert study is not None
    every = commands(study, click.Context(study))
    return [param for one in every for param in one.params if isinstance(param, StudyOption)]


@pytest.mark.parametrize("option", options_of_studies(), ids=lambda one: " ".join(one.of[:2]))
def test_options_are_those_of_the_study(option: StudyOption) -> None:
    name, parameter, kind, default = option.of
    function = getattr(cranfield.meta, name)
    assert kind == declared(function).get(parameter)
    own = inspect.signature(function).parameters[parameter].default
    if isinstance(default, str) and not isinstance(own, str):
        own = ",".join(own)
    told = default is None and "[default:" in (option.help or "")
    assert told or own == DIFFERENT.get((name, parameter), default)


def test_names_are_those_of_what_they_name() -> None:
    assert tuple(design.HASHES) == HASHES
