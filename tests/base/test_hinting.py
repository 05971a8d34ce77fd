"""Names that results lack: what is there instead is said, and protocols of Python stay."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.showing import Hinting

RUNS = {"x": {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}, "y": {"q1": {"b": 2, "a": 1}}}
QRELS = {"q1": {"b": 1}, "q2": {"c": 1}}
EVALUATION: Any = cf.evaluate(RUNS, QRELS, ["RR", "AP"])
COMPARISON: Any = cf.compare(EVALUATION["AP"])


@pytest.mark.parametrize(
    ("thing", "name", "said"),
    [
        (EVALUATION, "mean", "means()"),
        (EVALUATION, "to_csv", "write_csv(path)"),
        (EVALUATION, "to_df", "to_polars()"),
        (EVALUATION, "per_query", "to_polars()"),
        (EVALUATION, "sistems", "systems"),
        (EVALUATION["AP"], "means", "mean()"),
        (EVALUATION["AP"], "to_numpy", "values"),
        (EVALUATION["AP"], "shape", "values.shape"),
        (COMPARISON, "pvalue", "adjusted_pvalues"),
        (COMPARISON, "to_csv", "to_polars().write_csv(path)"),
        (COMPARISON, "best", "top_group"),
        (COMPARISON.table(), "save", "to_text(), to_latex(), to_markdown() or to_html()"),
        (cf.read_run(RUNS["x"]), "to_csv", "to_polars().write_csv(path)"),
    ],
)
def test_what_is_there_instead(thing: Any, name: str, said: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(thing, name)
    lacks = f"{type(thing).__name__!r} object has no attribute {name!r}"
    assert str(caught.value) == f"{lacks}; did you mean {said}?"


@pytest.mark.parametrize("thing", [EVALUATION, EVALUATION["AP"], cf.read_qrels(QRELS)])
def test_protocols_of_python_stay(thing: Any) -> None:
    assert not hasattr(thing, "_repr_png_")
    assert not hasattr(thing, "__array__")
    assert repr(pickle.loads(pickle.dumps(thing))) == repr(copy.deepcopy(thing)) == repr(thing)


def test_a_property_that_fails_says_why() -> None:
    class Failing(Hinting):
        @property
        def mean(self) -> float:
            return self.missing  # type: ignore[attr-defined, no-any-return]

        means = 3

    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = Failing().mean


def test_charts_are_held_against_their_arguments() -> None:
    scores = EVALUATION["AP"]
    cases: tuple[tuple[Any, str], ...] = (
        (lambda: scores.plot.box("b.svg"), "plot.box takes no argument without a name"),
        (
            lambda: scores.plot.box(title="x"),
            r"'title'; did you mean chart.properties\(title=...\)",
        ),
        (lambda: scores.plot.differences(), "missing a required argument: 'first'"),
        (lambda: EVALUATION.plot.box(measure="AP", sistems="x"), "did you mean systems=…?"),
    )
    for call, said in cases:
        with pytest.raises(cf.ArgumentError, match=said):
            call()
