"""`cranfield plot`."""

from __future__ import annotations

import inspect
import json
import operator
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.cli.report import PYTHON_FUNCTIONS, STUDY_COMMANDS
from cranfield.reporting.charts.registry import CHARTS, COMMAND_SUBJECTS
from tests.cli.running import cranfield, refusals, refused

TWO = ("qrels", "one.run", "two.run")


def test_list(folder: Path) -> None:
    out, _ = cranfield(folder, "plot", "--list")
    assert {*CHARTS} == {line.split()[0] for line in out.splitlines() if line[:1].islower()}
    assert all(one.summary in out for one in CHARTS.values())
    assert {one.subject for one in CHARTS.values()} == {
        *COMMAND_SUBJECTS,
        *STUDY_COMMANDS,
        *PYTHON_FUNCTIONS,
    }
    for name, place in PYTHON_FUNCTIONS.items():
        made = operator.attrgetter(place.removeprefix("cf."))(cf)
        assert inspect.signature(made).return_annotation == name


@pytest.mark.parametrize(
    "arguments",
    [
        ("box", *TWO, "-m", "P@2"),
        ("difficulty", *TWO),
        ("differences", *TWO),
        ("score-scatter", *TWO, "--only", "two_x", "--only", "one"),
        ("measure-scatter", *TWO, "-m", "AP", "-m", "P@2"),
        ("precision-recall", *TWO, "--topic", "1"),
        ("intervals", *TWO, "--reference", "two_x", "--test", "anova-2"),
        ("matrix", *TWO, "--test", "sign"),
        ("residuals", *TWO, "--test", "anova-2"),
        ("spacing", "-m", "P", "-m", "RR", "--length", "3"),
        ("distribution", "-m", "RR", "--length", "3", "--grades", "2"),
        ("hasse", "--length", "3"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_charts(folder: Path, arguments: tuple[str, ...]) -> None:
    out, err = cranfield(folder, "plot", *arguments, "-o", "chart.json")
    assert out == ""
    assert "written: chart.json" in err
    assert "vega-lite" in json.loads((folder / "chart.json").read_text())["$schema"]


def test_default_file(folder: Path) -> None:
    cranfield(folder, "plot", "hasse", "--length", "2")
    assert (folder / "hasse.svg").read_text().startswith("<svg")


@refusals(
    """
bix qrels one.run two.run | unknown chart 'bix'; did you mean box
box qrels one.run two.run -m AP -m P@2 | choose one with --measure: AP, P@2
measure-scatter qrels one.run two.run | expected two measures, got 1: AP
box qrels one.run two.run --topic 1 | --topic cannot be combined with the chart box
matrix qrels one.run two.run --only one | --only cannot be combined with the chart matrix
box qrels one.run two.run -b zzz | --baseline cannot be combined with the chart box
difficulty qrels one.run two.run -t friedman | --test cannot be combined with the chart difficulty
score-scatter qrels one.run two.run --alpha 0.1 | setting alpha cannot be combined with the chart
hasse --length 2 --rel 2 | --rel cannot be combined with the chart hasse
box qrels one.run two.run -o box.docx | must end in .html
box qrels one.run two.run -o - | must end in .html
differences qrels one.run two.run --only one | shows two systems, got 1
differences qrels one.run two.run --only one --only x | 'x'
residuals qrels one.run two.run --test sign | is not an analysis of variance
residuals qrels one.run two.run --baseline one | --baseline cannot be combined with the chart
spacing -m P | requires --length
spacing qrels one.run two.run --length 3 | cannot be combined with QRELS, RUN or --scores
stability qrels one.run two.run | draw it with `cranfield study collection ... --plot stability=FILE
clicks qrels one.run two.run | in Python only, with cf.online.read_log(...).plot.clicks()
box | expected QRELS and at least one RUN, or --scores FILE
"""
)
def test_wrong(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, "plot", *words, reason=reason)


def test_charts_of_studies(folder: Path) -> None:
    rows = [f"{t},{k},0.{(t * 7 + k * 3) % 9}" for t in range(6) for k in range(3)]
    (folder / "scores.csv").write_text("\n".join(["topic,system,score", *rows]) + "\n")
    study = ("study", "collection", "--scores", "scores.csv", "--sizes", "3", "--repeats", "5")
    for chart in ("chart.json", "stability=chart.json"):
        cranfield(folder, *study, "--plot", chart)
        assert json.loads((folder / "chart.json").read_text())["$schema"]
        (folder / "chart.json").unlink()
    for chart, message in (
        ("box=chart.json", "box is not a chart of this study; expected one of: stability"),
        ("x=chart.json", "unknown chart 'x'"),
        ("chart.docx", "must end in .html"),
    ):
        refused(folder, *study, "--plot", chart, reason=message)
