"""The list of charts: each has an entry, and results find theirs."""

from __future__ import annotations

import inspect

import pytest

import cranfield as cf
from cranfield.meta.study import STUDIES
from cranfield.reporting import charts
from cranfield.reporting.charts.registry import (
    CHARTS,
    COMMAND_SUBJECTS,
    LENGTH,
    MEASURES,
    get_chart_function,
)

SYSTEMS = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}


def test_every_chart_is_in_the_catalogue() -> None:
    public = {*dir(charts)} - {"save"}
    assert {one.function for one in CHARTS.values()} == public
    assert all(one.summary[0].isupper() and one.summary[-1] != "." for one in CHARTS.values())


def test_the_declared_class_is_the_one_that_the_chart_takes() -> None:
    studies = {kind.__name__: kind for kind in STUDIES.values()}
    for name, one in CHARTS.items():
        first = next(iter(inspect.signature(one.draw).parameters.values()))
        if one.subject in COMMAND_SUBJECTS:
            continue
        assert one.subject in str(first.annotation), name
        if one.subject in studies:
            assert hasattr(studies[one.subject], "plot")


def test_results_have_their_charts() -> None:
    covid = cf.bundled.trec_covid()
    evaluation = cf.evaluate(covid.runs[:3], covid.qrels, ["AP", "P@10"])
    comparison = cf.compare(evaluation["AP"])
    assert dir(evaluation["AP"].plot) == ["box", "differences", "difficulty", "score_scatter"]
    assert {"precision_recall", "box"} <= {*dir(evaluation.plot)}
    assert {"intervals", "matrix", "residuals", "box"} <= {*dir(comparison.plot)}
    ours = evaluation.plot.box(measure="AP").to_dict()
    assert ours == charts.box_plot(evaluation["AP"]).to_dict() == comparison.plot.box().to_dict()
    assert "measure" in inspect.signature(evaluation.plot.box).parameters
    assert "systems" in inspect.signature(comparison.plot.box).parameters
    some = comparison.plot.residuals().to_dict()
    assert some == charts.residual_plots(comparison.anova).to_dict()  # type: ignore[arg-type]
    assert "box " in repr(evaluation["AP"].plot)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "intervals",
            "cf.charts.intervals_chart draws it from PairwiseComparison; expected one of: box",
        ),
        (
            "hasse",
            "cf.charts.hasse_chart draws it from a length; expected one of: box, differences",
        ),
        (
            "bix",
            "unknown chart 'bix'; expected one of: box, differences, .*difficulty$",
        ),
    ],
)
def test_other_charts_are_told(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        get_chart_function(cf.compare(SYSTEMS).scores, name)


def test_charts_are_found_by_the_names_of_functions() -> None:
    assert CHARTS.find("box_plot") == CHARTS.find("Box") == "box"
    assert CHARTS.find("precision_recall") == "precision-recall"
    assert {MEASURES, LENGTH} <= {one.subject for one in CHARTS.values()}
