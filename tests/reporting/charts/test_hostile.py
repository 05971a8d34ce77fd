"""All charts at once: names from files stay data, and sizes grow with what is shown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.reporting import charts
from cranfield.reporting.charts.inputs import make_labels
from cranfield.reporting.charts.theme import size_cells, size_rows
from tests.reporting.charts.drawn import HOSTILE, random_scores, scores_of, spec_of

Draw = Callable[[cf.Scores], Any]

CHARTS: dict[str, Draw] = {
    "box": charts.box_plot,
    "intervals": lambda scores: charts.intervals_chart(cf.compare(scores, test="anova")),
    "matrix": lambda scores: charts.significance_matrix(cf.compare(scores)),
    "bars": lambda scores: charts.difference_bars(scores, *scores.systems[:2]),
    "scatter": lambda scores: charts.difference_scatter(scores, *scores.systems[:2]),
    "difficulty": charts.difficulty_map,
}


@pytest.fixture(params=CHARTS, name="draw")
def _draw(request: pytest.FixtureRequest) -> Draw:
    return CHARTS[request.param]


def hostile_scores() -> cf.Scores:
    values = np.random.default_rng(1).random((len(HOSTILE), len(HOSTILE)))
    values += np.linspace(0, 1, len(HOSTILE))
    return scores_of(values, HOSTILE, HOSTILE, measure="nDCG(gains={1: 1, 2: 3})@10")


def found_in(value: Any, *keys: str) -> Iterator[Any]:
    """Yield what stands under a key, at any depth."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in keys:
                yield one
            yield from found_in(one, *keys)
    elif isinstance(value, list):
        for one in value:
            yield from found_in(one, *keys)


def test_names_are_data(draw: Draw) -> None:
    spec = spec_of(draw(hostile_scores()))
    rows = spec.pop("datasets")
    # What Vega evaluates, or follows: none of it may come from a file.
    evaluated = [*found_in(spec, "calculate", "expr", "signal", "labelExpr", "test", "filter")]
    evaluated += [*found_in(spec, "field", "lookup", "href", "url", "sort")]
    for text in evaluated:
        assert "img" not in str(text)
        assert "throw" not in str(text)
        assert "script" not in str(text)
    fields = {field for table in rows.values() for row in table for field in row}
    assert all(field.isidentifier() for field in fields)
    assert "nDCG(gains={1: 1, 2: 3})@10" in str(spec)


def test_every_system_has_a_place_of_its_own() -> None:
    spec = spec_of(charts.box_plot(hostile_scores()))
    domain = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert len(set(domain)) == len(HOSTILE)
    assert {"Dense", "dense", "(no name)", "x" * 200, r"tab\tnew\nline", r"\u202etags"} <= {*domain}
    axis = spec["layer"][0]["encoding"]["y"]["axis"]
    assert axis["labelLimit"] < 400
    assert axis["labelOverlap"] is False


@pytest.mark.parametrize("systems", [2, 130])
def test_any_number_of_systems(draw: Draw, systems: int) -> None:
    spec = draw(random_scores(systems, topics=6)).to_dict(validate=False)
    sizes = [*found_in(spec, "labelFontSize", "titleFontSize")]
    assert min(sizes) >= 9
    # No table is cut: the tooltips and the rows know of each system.
    assert sum(len(rows) for rows in spec["datasets"].values()) >= min(systems, 6)


@pytest.mark.parametrize("systems", [3, 40, 130])
def test_names_fit_into_their_rows(systems: int) -> None:
    assert size_rows(systems)[0] > size_rows(systems)[1] >= 9
    assert size_cells(systems)[0] > size_cells(systems)[1] >= 9
    chart = charts.box_plot(random_scores(systems, topics=3)).to_dict(validate=False)
    size = chart["layer"][0]["encoding"]["y"]["axis"]["labelFontSize"]
    assert (chart["height"]["step"], size) == size_rows(systems)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["a", "b"], ["a", "b"]),
        (["", " ", "(no name)"], ["(no name) (2)", "(no name) (3)", "(no name)"]),
        (["a\n", r"a\n", "a"], [r"a\n (2)", r"a\n", "a"]),
    ],
)
def test_labels(names: list[str], wanted: list[str]) -> None:
    assert make_labels(names) == wanted


def test_names_are_loaded_when_they_are_used() -> None:
    code = "import sys, cranfield.reporting.charts as c; print('altair' in sys.modules, c.box_plot)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.startswith(b"False <function box_plot")
    for name in vars(charts)["__all__"]:
        assert callable(getattr(charts, name))
        assert name in dir(charts)
    with pytest.raises(AttributeError, match="attribute .?pie"):
        vars(charts)["__getattr__"]("pie")
