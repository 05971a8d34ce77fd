"""What commands load: what is not named is not loaded, and help loads nothing that computes."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
import pytest

from cranfield.base.kinds import Integer, OneOf, find_allowed_values
from cranfield.cli.options.declaring import Option
from tests.cli.running import commands

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

LOGS = ("measure", "preference", "experiment", "train")
"""Commands that read logs."""

DIFFERENT: dict[str, Any] = {
    **dict.fromkeys((f"{name} --session-timeout" for name in LOGS), None),
    "assign --traffic": "1",
    "interleave --seed": 0,
    "measures --repeats": 100,
    "pool --assessors": "1",
    "pool --ties": "trec",
    "pool --ungraded": "drop",
    "train --model": ("DBN",),
}
"""Defaults in the command line that are not those of the function."""


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


OPTIONS = {
    f"{command.name} {param.opts[0]}": param
    for _, command, _ in commands()
    for param in command.params
    if isinstance(param, Option) and param.declared_by is not None
}
"""Options of functions, by the last word of the command."""


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_those_of_the_function(name: str) -> None:
    """The source is read without loading it: what Python makes of it has to be the same."""
    option = OPTIONS[name]
    assert option.declared_by is not None
    # A reference to the parameter of another function is followed.
    assert ":func:" not in str(option.help)
    function, parameter = option.declared_by
    loaded = resolve_name(function)
    loaded = getattr(loaded, "callback", loaded)
    own = inspect.signature(loaded).parameters[parameter].default
    if own is inspect.Parameter.empty:
        own = None
    if option.multiple:
        several = option.default if isinstance(option.default, (list, tuple)) else ()
        assert tuple(several) == tuple(DIFFERENT.get(name, own) or ())
        return
    if isinstance(own, (tuple, list)):
        own = ",".join(map(str, own)) or None
    default = DIFFERENT.get(name, own)
    made = option.default if isinstance(option.default, (str, int, float)) else None
    assert made == default
    kind = find_allowed_values(loaded).get(parameter)
    if isinstance(kind, OneOf) and isinstance(option.type, click.Choice):
        assert tuple(option.type.choices) == tuple(kind.names)
    if isinstance(kind, Integer) and isinstance(option.type, click.IntRange):
        assert option.type.min == kind.minimum
