"""What cannot be drawn is refused, with a reason."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.meta import stability
from cranfield.online.log.query_log import make_log
from cranfield.reporting import charts
from cranfield.reporting.charts.scales import accumulate_proportions, list_runs_by_value
from tests.reporting.charts.drawn import random_scores, scores_of
from tests.reporting.charts.test_recall import figure_8
from tests.reporting.charts.test_scale_study import study
from tests.reporting.test_charts_collection import left, pooled
from tests.reporting.test_charts_collection import study as stable
from tests.reporting.test_charts_meta import power

PEOPLE = {"q": {"a": 1, "b": 0}, "r": {"a": 0, "b": 1}}
GRADES = {"good": {"q": {"a": 1.0}, "r": {"b": 1.0}}, "bad": {"q": {"b": 1.0}, "r": {"a": 1.0}}}
PAGES = pl.DataFrame({"id": ["1"], "query": ["q"]})
RESULTS = pl.DataFrame({"page": [0], "rank": [1], "doc": ["a"]})
NONE_OF_BOTH = scores_of([[0.1, np.nan], [np.nan, 0.2]], "12", "ab")


@cache
def judges() -> Any:
    return cf.assess.compare_judges(PEOPLE, {"x": PEOPLE})


@cache
def bias() -> Any:
    return cf.assess.self_preference(GRADES, PEOPLE, {"j": PEOPLE}, {"j": "good"}, "P@1")


@cache
def evaluation() -> cf.Evaluation:
    return cf.evaluate(GRADES, PEOPLE, ["AP", "P@1"])


REFUSALS: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda ends: charts.hasse_chart(*ends), (8,), "at most 128"),
    (lambda ends: charts.hasse_chart(*ends), (0,), "length of a run"),
    (lambda ends: charts.hasse_chart(*ends), (2, "a"), "highest grade"),
    (lambda length: charts.spacing_chart("P", length), 13, "4,096"),
    (lambda measures: charts.spacing_chart(measures, 3), [], "no measures"),
    (lambda measures: charts.spacing_chart(measures, 3), 3, "got int"),
    (lambda columns: charts.spacing_chart("P", 3, columns=columns), 0, "columns"),
    (lambda lengths: charts.distribution_chart("P", lengths), [], "no lengths"),
    (lambda lengths: charts.distribution_chart("P", lengths), 2.5, "length of a run"),
    (list_runs_by_value, cf.image("P", 3, at_most=1), "at_most"),
    (accumulate_proportions, cf.image("P", 3, at_most=1), "at_most"),
    (lambda kind: charts.scale_tau_chart(study(), kind=kind), "mean", "one of: overall, by topic"),
    (lambda length: charts.scale_pairs_chart(study(), cutoff=length), 7, "7.*5, 10"),
    *(
        (lambda bound: charts.asl_chart(power({"A": [0.1]}, 2), max_pvalue=bound), p, "up to 1")
        for p in (0, 1.5, -1, "high", float("nan"))
    ),
    (charts.stability_chart, [], "no study"),
    (charts.stability_chart, [stable(), stable()], "got AP, anova-2 more than once"),
    (charts.stability_chart, [stable(), stability(np.eye(10)[:, :3], repeats=2)], "3 and 10 pairs"),
    (lambda measure: charts.leave_one_out_chart(left(), measure), "RR", "'RR'.*: AP, P@2"),
    (lambda what: charts.pooling_chart(pooled(), what), "cost", "'cost'; expected one of"),
    (lambda topic: charts.precision_recall(figure_8(), topic=topic), "2", "no relevant documents"),
    (lambda topic: charts.precision_recall(figure_8(), topic=topic), "3", "topic '3'"),
    (lambda name: charts.precision_recall(figure_8(), systems=[name]), "two", "system 'two'"),
    *(
        (lambda levels: charts.precision_recall(figure_8(), levels=levels), levels, "from 0 to 1")
        for levels in ([], [0.5], [0, 1.1], [-0.1, 1], [0, float("nan")])
    ),
    (lambda levels: charts.precision_recall(figure_8(), levels=levels), "high", "'high'"),
    (charts.precision_recall, random_scores(2), "Scores"),
    *(
        (lambda how: charts.intervals_chart(cf.compare(random_scores(4), **how)), how, "intervals")
        for how in (
            {"test": "t", "correction": "none"},
            {"test": "t", "correction": "bh"},
            {"test": "sign"},
        )
    ),
    (
        lambda name: charts.intervals_chart(cf.compare(random_scores(3)), reference=name),
        "x",
        "system 'x'",
    ),
    (lambda names: charts.difference_bars(random_scores(2), *names), ("s0", "s0"), "'s0' and 's0'"),
    (lambda names: charts.difference_scatter(random_scores(2), *names), ("s0", "x"), "system 'x'"),
    (lambda scores: charts.difference_bars(scores, "a", "b"), NONE_OF_BOTH, "'a' and 'b'"),
    (lambda names: charts.box_plot(random_scores(3), systems=names), ["s22"], "'s22'.*'s2'"),
    (lambda names: charts.box_plot(random_scores(3), systems=names), [4], "'4'"),
    (lambda names: charts.box_plot(random_scores(3), systems=names), 3, "names"),
    (lambda names: charts.difficulty_map(random_scores(3), systems=names), [], "empty"),
    (charts.box_plot, 3, "int"),
    *(
        (draw, scores, message)
        for draw in (
            charts.box_plot,
            charts.difficulty_map,
            lambda scores: charts.difference_bars(scores, "a", "b"),
        )
        for scores, message in (
            (scores_of(np.zeros((2, 2, 2)), "12", "ab"), "by shard"),
            (scores_of(np.full((2, 2), np.nan), "12", "ab"), "no scores"),
            (scores_of([[0.0, np.inf]], ["1"], "ab"), "topic '1' of system 'b'.*infinite"),
        )
    ),
    (charts.residual_plots, None, "analysis of variance"),
    (lambda _: evaluation().plot.box(), None, "choose one of: AP"),
    (lambda test: cf.compare(random_scores(2), test=test).plot.residuals(), "sign", "anova-2"),
    (charts.clicks_by_rank_chart, make_log(PAGES), "results of pages"),
    (charts.clicks_by_rank_chart, make_log(PAGES, RESULTS), "clicks"),
    (
        lambda depth: charts.clicks_by_rank_chart(cf.online.simulated_log(), depth=depth),
        0,
        "depth must be",
    ),
    (lambda names: charts.judges_chart(judges(), names), ["x"], "'x'; expected one of:"),
    (lambda names: charts.judges_chart(judges(), names), [], "1 to 4 statistics, got 0"),
    (lambda names: charts.confusion_chart(judges(), judges=names), ["y"], "judge 'y'"),
    (lambda measure: charts.self_preference_chart(bias(), measure), "AP", "'AP'; expected one of:"),
]


@pytest.mark.parametrize(("draw", "value", "message"), REFUSALS)
def test_what_cannot_be_drawn(draw: Callable[[Any], Any], value: Any, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        draw(value)
