"""The package as a whole: its names, its weight, its documents."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from inspect import getdoc, isclass, isfunction, ismodule
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.result import Result
from tests.conftest import ROOT


def test_public_names_are_there() -> None:
    names = vars(cf)["__all__"]
    for name in names:
        assert getattr(cf, name) is not None
    assert set(names) <= set(dir(cf))
    with pytest.raises(AttributeError, match="attribute .?nonsense"):
        vars(cf)["__getattr__"]("nonsense")


NAMESPACES = (
    *("cranfield", "cranfield.measures", "cranfield.meta", "cranfield.scales"),
    *("cranfield.significance", "cranfield.sessions", "cranfield.texts", "cranfield.correlation"),
    *("cranfield.charts", "cranfield.collection", "cranfield.online", "cranfield.campaign"),
)


@pytest.mark.parametrize("namespace", [*NAMESPACES[:8], "cranfield.bundled"])
def test_only_public_names_are_listed(namespace: str) -> None:
    module = resolve_name(namespace)
    assert set(dir(module)) == set(vars(module)["__all__"])


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_public_names_are_documented(namespace: str) -> None:
    module = resolve_name(namespace)
    for name in vars(module)["__all__"]:
        thing = getattr(module, name)
        if not (isclass(thing) or isfunction(thing)):
            continue
        assert getdoc(thing), name
        for member in vars(thing) if isclass(thing) else ():
            value = vars(thing)[member]
            if not member.startswith("_") and (isfunction(value) or isinstance(value, property)):
                assert getdoc(getattr(thing, member)), f"{name}.{member}"


@pytest.mark.parametrize("namespace", ["cranfield", "cranfield.online", "cranfield.campaign"])
def test_no_module_hides_a_public_name(namespace: str) -> None:
    """A module that is loaded takes its name in a lazy package, and hides what has the same."""
    module = resolve_name(namespace)
    things = {name: getattr(module, name) for name in vars(module)["__all__"]}
    inside = {one.name for one in iter_modules(module.__path__)}
    assert [name for name in inside & set(things) if not ismodule(things[name])] == []


def test_results_have_one_form() -> None:
    """No result converts or prints itself in a way of its own, or by a method of another name."""
    for room in (cf, cf.assess, cf.campaign, cf.meta, cf.online, cf.significance):
        assert all(hasattr(room, name) for name in room.__all__)
    classes = [Result]
    for kind in classes:
        classes += kind.__subclasses__()
    conversions = {name for name in dir(Result) if name.startswith("to_")}
    others = set()
    for kind in {*classes} - {Result}:
        own = {name for name in vars(kind) if name.startswith("to_")}
        assert not own & conversions, kind
        others |= own
    # These make a thing of the collection, not another form of the result.
    assert others <= {"to_qrels", "to_depth"}
    printed = {kind.__name__ for kind in {*classes} - {Result} if "__str__" in vars(kind)}
    assert printed <= {"CheckReport", "FileChecks", "Verification"}, "reports of faults by line"


def test_import_is_light() -> None:
    code = "import sys, cranfield; print(*sorted({n.split('.')[0] for n in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    loaded = set(done.stdout.decode().split())
    assert not loaded & {"numpy", "polars", "rich", "click", "scipy", "altair", "pandas"}


def test_examples_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=flags
    )
    assert tried
    assert not failed


ONE_THREAD = "POLARS_MAX_THREADS"


def test_examples_of_the_documentation() -> None:
    # With all threads for tables, as rows may come in another order than with one.
    words = [sys.executable, str(ROOT / "docs" / "check_examples.py")]
    environment = {name: value for name, value in os.environ.items() if name != ONE_THREAD}
    done = subprocess.run(words, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout.decode()[-3000:] + done.stderr.decode()[-3000:]


def test_scores_convert(tmp_path: Path) -> None:
    ev = cf.evaluate(
        {"a": {"1": {"x": 1.0}}, "b": {"2": {"y": 1.0}}},
        {"1": {"x": 1}, "2": {"y": 1, "z": 1}},
        ["AP", "P@2"],
        topics="intersection",
    )
    scores = ev["map"]
    assert scores is ev["AP"]
    assert scores.to_polars().rows() == [("1", 1.0, None), ("2", None, 0.5)]
    assert scores.to_pandas().loc["2", "b"] == 0.5
    assert scores.to_xarray().sel(topic="1", system="a").item() == 1.0
    assert ev.to_xarray()["P@2"].dims == ("topic", "system")
    for array in (scores.to_xarray(), scores.to_xarray().rename(None), ev.to_xarray()):
        again = cf.read_scores(array, measure="AP")
        assert (again.systems, again.measure) == (scores.systems, "AP")
        np.testing.assert_array_equal(again.values, scores.values)
    assert ev.to_polars().height == 8
    assert ev.to_pandas().shape == (8, 4)
    scores.write_csv(tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text() == "topic,a,b\n1,1.0,\n2,,0.5\n"
    ev.write_parquet(tmp_path / "e.parquet")
    assert ev.means().rows() == [("AP", 1.0, 0.5), ("P@2", 0.5, 0.5)]
    assert ev.by_system().rows() == [("a", 1.0, 0.5), ("b", 0.5, 0.5)]
    assert repr(ev) == "Evaluation(2 topics, 2 systems: AP, P@2)"
    with pytest.raises(KeyError, match="RR was not evaluated"):
        ev["RR"]


def test_summaries() -> None:
    values = np.array([[0.0, 0.5], [0.5, np.nan], [1.0, 0.25]])
    scores = cf.Scores(values, ("1", "2", "3"), ("a", "b"), "AP")
    table = scores.summary()
    assert table["topics"].to_list() == [3, 2]
    assert table["mean"].to_list() == [0.5, 0.375]
    assert table["median"].to_list() == [0.5, 0.375]
    assert table["std"].to_list() == pytest.approx([0.5, np.std([0.5, 0.25], ddof=1)])
    assert table["geometric mean"].to_list() == pytest.approx(
        [(1e-5 * 0.5) ** (1 / 3), np.sqrt(0.125)]
    )
    assert cf.Scores(values, ("1", "2", "3"), ("a", "b"), aggregate="sum").overall().tolist() == [
        1.5,
        0.75,
    ]


def test_bad_scores() -> None:
    with pytest.raises(cf.CranfieldError, match="expected values for 1 topics and 2 systems"):
        cf.Scores(np.zeros((2, 2)), ("1",), ("a", "b"))
    with pytest.raises(cf.CranfieldError, match="expected systems in order, got a set"):
        cf.Scores(np.zeros((1, 2)), ["1"], {"a", "b"})  # type: ignore[arg-type]
    with pytest.raises(cf.CranfieldError, match="system 'a' occurs twice"):
        cf.Scores(np.zeros((1, 2)), ("1",), ("a", "a"))


def test_labels_and_masks_of_scores() -> None:
    new_scores: Any = cf.Scores  # Takes data frames and lists
    frame = pd.DataFrame({"b": [0.1, 0.2], "a": [0.8, 0.9]}, index=["q2", "q1"])
    message = "in the order of the columns of the data frame: expected b, a, got a, b"
    with pytest.raises(cf.CranfieldError, match=message):
        new_scores(frame, frame.index, ["a", "b"])
    with pytest.raises(cf.CranfieldError, match="the index .* expected q2, q1, got q1, q2"):
        new_scores(frame, ["q1", "q2"], frame.columns)
    with pytest.raises(cf.CranfieldError, match="the columns .* expected q2, q1, got b, a"):
        new_scores(frame.T, frame.index, frame.columns)
    with pytest.raises(cf.CranfieldError, match="columns .* expected b, a, got a, b"):
        new_scores(pl.DataFrame({"b": [0.1], "a": [0.8]}), ["q1"], ["a", "b"])
    assert new_scores(frame, frame.index, frame.columns)["a"] == {"q2": 0.8, "q1": 0.9}
    # Other names, and numbers that are no labels, may stand for the same order.
    assert new_scores(frame, ["x", "y"], ["B", "A"])["A"] == {"x": 0.8, "y": 0.9}
    assert new_scores(frame.reset_index(drop=True), ["1", "2"], ["b", "a"])["b"]["2"] == 0.2
    masked = np.ma.masked_array([[0.5, 9.0], [0.25, 0.75]], mask=[[False, True], [False, False]])
    scores = new_scores(masked, [1.0, 2.0], ["a", "b"])
    assert scores["b"] == {"2": 0.75}
    assert scores.mean().tolist() == [0.375, 0.75]
