"""What cannot be planned, assigned or analysed is refused, in one line that names the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from cranfield.base.errors import CranfieldError
from cranfield.online import (
    analyse_experiment,
    experiment_size,
    read_log,
    sample_ratio,
    simulate_aa_tests,
    simulated_log,
    sums_by_unit,
)
from cranfield.online.experiments.design import Experiment
from cranfield.online.experiments.estimates import Metric
from tests.online.refusals import Refusal, check_refused

AB = {"variant": ["a", "b"] * 2, "x": [1, 2, 3, 4]}
LOG = simulated_log()
NOBODY = replace(LOG, pages=LOG.pages.with_columns(user=pl.lit(None, pl.String)))
FRAMES = {"pages": NOBODY.pages.with_row_index("page"), "clicks": NOBODY.clicks}

LOW = Metric("x", better="lower")
WRONG_WEIGHTS: list[Any] = [np.array([True, False]), np.zeros(0), {}]

analyse = partial(analyse_experiment, AB, "x")
size = partial(experiment_size, mean=1, deviation=1)
experiment = partial(Experiment, "e")


def analyse_with(**columns: Any) -> object:
    return analyse_experiment(AB | columns, "x")


REFUSALS: dict[str, list[Refusal]] = {
    "data": [
        (lambda: analyse_with(variant=["a", "a"], x=[1, 2]), "variant"),
        (lambda: analyse_with(variant=["a", "b"], x=[1, 2]), "unit"),
        (lambda: analyse_with(x=[1, 2, 3, "z"]), "'z'"),
        (lambda: analyse_with(x=[1, 2, 3]), "length"),
        (lambda: analyse_experiment(AB, "y"), "no y column"),
        (lambda: analyse_experiment(AB | {"t": ["3/1/26"] * 4}, "x", time="t"), "3/1/26"),
        (lambda: analyse_experiment(NOBODY, "CTR"), "no page has a user"),
        (lambda: analyse_experiment(LOG, "CTR", unit="page"), "unknown unit 'page'.*user, session"),
        (lambda: analyse_experiment(LOG, Metric("CTR", covariate="x")), "requires a table of"),
        (lambda: sums_by_unit(NOBODY, "UCTR"), "no page has a user"),
        (lambda: sums_by_unit(FRAMES, "UCTR"), "no page has a user"),
    ],
    "options": [
        (lambda: analyse(control="z"), "variant 'z'"),
        (lambda: analyse(theta="z"), "theta"),
        (lambda: analyse(alpha=2), "alpha"),
        (lambda: analyse(correction="tukey"), "correction"),
        (lambda: analyse(sequential="z"), "sequential"),
        (lambda: analyse(looks=[2]), "looks"),
        (lambda: analyse(errors="permutation", sequential="CS"), "permutation"),
        (lambda: analyse(errors="permutation", lift="linear"), "lift='linear'"),
        (lambda: analyse(errors="bootstrap", lift="fieller"), "lift='fieller'"),
        (lambda: analyse(oec={"q": 1}), "'q'"),
        (lambda: analyse_experiment(AB, LOW, oec={"x": -1}), "at least 0, got -1: lower is better"),
        (lambda: analyse_experiment(AB | {"x": [1] * 4}, "x", oec={"x": 1}), "x"),
        (lambda: analyse_experiment(AB, {"OEC": "x"}, oec={"OEC": 1}), "OEC"),
        (lambda: analyse(segments=["q"]), "no q column"),
        (lambda: analyse(segments=["variant"]), "variant"),
        (lambda: analyse(segments=[""]), "segment"),
        (lambda: analyse(segments=["x", "x"]), "got 'x' twice"),
        (lambda: analyse(segments=["x", "t", "x"], time="t"), "got 'x' twice"),
        (lambda: analyse(weights={"a": 1.0}), "weights|variants"),
        (lambda: analyse(unit="variant"), "variant"),
        (lambda: Metric("x", covariate="x"), "got the metric itself, 'x'"),
        (lambda: Metric("x/y", covariate="x / z"), "from before the experiment"),
        *[(partial(Metric, "x", margin=wrong), "margin") for wrong in (0, -0.1, "x", True)],
    ],
    "sample ratios": [
        (lambda: sample_ratio({"a": 1, "x": 3}, {"a": 0.5, "b": 0.5}), "x"),
        (lambda: sample_ratio({"a": 0, "b": 0}), "unit"),
        (lambda: sample_ratio({"a": -1, "b": 3}), "-1"),
        (lambda: sample_ratio({"a": 2.5, "b": 3}), "must be an integer"),  # type: ignore[dict-item]
    ],
    "plans": [
        (lambda: size(), "lift|units"),
        (lambda: size(lift=0.1, units=50, power=0.8), "lift|units"),
        (lambda: size(units=3), "units"),
        (lambda: size(units=100.5), "units must be an integer from 4"),  # type: ignore[arg-type]
        (lambda: size(lift=0), "lift"),
        (lambda: size(lift=1e-9), "units"),
    ],
    "assignments": [
        (lambda: experiment({"a": 0.5, "b": 0.4}), "sum"),
        (lambda: experiment({"a": 1.0}), "two variants"),
        (lambda: experiment({"a": 0.0, "b": 1.0}), "weight"),
        (lambda: experiment({"a": float("nan"), "b": 1.0}), "weight"),
        (lambda: experiment(["a", "a"]), "variant"),
        (lambda: experiment("ab"), "variant"),
        (lambda: experiment(layer="e"), "layer"),
        (lambda: experiment(traffic=0), "traffic"),
        (lambda: experiment(traffic=(0.5, 0.2)), "traffic"),
        (lambda: experiment(traffic="all"), "traffic"),  # type: ignore[arg-type]
        (lambda: experiment(hash="sha"), "hash"),
        (lambda: Experiment(""), "name"),
        (lambda: experiment().assign(["a", ""]), "unit 2"),
        (lambda: experiment().assign("abc"), "unit"),
    ],
    "weights of simulated A/A tests": [
        (partial(simulate_aa_tests, LOG, "CTR", n_tests=2, weights=weights), "weights|two variants")
        for weights in WRONG_WEIGHTS
    ],
}


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])


def test_users_of_both_variants_leave_one() -> None:
    rows = {"page": [*"123"], "query": ["q"] * 3, "user": [*"uuv"], "variant": [*"abb"]}
    log = read_log(rows | {"rank": [1] * 3, "doc": ["x"] * 3, "clicks": [1, 0, 1]})
    with pytest.raises(CranfieldError, match="got one; .*1 unit excluded: in more than one"):
        analyse_experiment(log, "CTR")
