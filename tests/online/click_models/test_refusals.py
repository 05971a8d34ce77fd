"""What cannot be trained, or used as a measure, is refused with its reason."""

from __future__ import annotations

from functools import partial

import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError
from cranfield.online.log.query_log import QueryLog, make_log
from tests.online.click_models.pages import log_of, random_pages
from tests.online.click_models.test_as_measures import some_log, trained
from tests.online.refusals import Refusal, check_refused

LOG = log_of(random_pages(8, 30))
GAPS = QueryLog(LOG.pages, LOG.results.filter(pl.col("rank") != 2), LOG.clicks)
RISING = make_log(
    pl.DataFrame({"id": ["a"], "query": ["q"]}),
    pl.DataFrame({"page": [0, 0], "rank": [1, 2], "doc": ["x", "y"], "grade": [1, 1]}),
    pl.DataFrame({"page": [0], "rank": [2], "doc": ["y"]}),
)

train = cf.online.train

REFUSALS: dict[str, list[Refusal]] = {
    "models": [
        (partial(train, LOG, text), words)
        for text, words in (
            ("DBN(gamma=1.5)", "gamma"),
            ("PBM(alpha=0.5)", "alpha"),
            ("PBM(beta=1e308)", "beta"),
            ("DBN(gamma=0.5, gamma=0.6)", "gamma occurs twice"),
            ("XYZ", "unknown click model"),
            ("UBM(iterations=0)", "iterations"),
        )
    ],
    "logs": [
        (lambda: train(LOG, "DBN", tied="doc"), "tied"),
        (lambda: train(LOG, "DBN", tied="grade"), "grade"),
        (lambda: train(LOG.select_pages(pl.lit(False)), "DBN"), "results|shown"),
        (lambda: train(GAPS, "DBN"), "got gaps on page"),
        (lambda: train(LOG, "DBN", qrels={"q0": {"d1": 1}}), "requires tied=.grade"),
        (lambda: train(LOG, "GCTR").estimate_relevance(), "documents"),
        (lambda: train(LOG, "RCTR").estimate_relevance(), "documents"),
        (lambda: trained("SDBN").as_qrels(), "grade"),
    ],
    "measures": [
        (lambda: train(some_log(), "DBN").measure(), "requires a model tied by grade"),
        (lambda: train(some_log(), "DBN").make_user_model(), "requires a model tied by grade"),
        (lambda: trained("GCTR").measure(), "documents"),
        (lambda: trained("UBM").measure("effort"), "no measure of effort"),
        (lambda: trained("PBM").measure("effort"), "no measure of effort"),
        (lambda: trained("DBN").measure("cost"), "kind"),
        (lambda: trained("UBM").make_user_model(), "from top to bottom"),
        (lambda: trained("DCM").make_user_model(), "not the product of a probability by grade"),
        (
            lambda: train(RISING, "PBM", tied="grade").make_user_model(),
            "rank 2 is examined more often",
        ),
    ],
}


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])


@pytest.mark.parametrize("qrels", [{"zz": {"d1": 1}}, {"q0": {"zz": 1}}])
def test_judgments_of_no_result(qrels: dict[str, dict[str, int]]) -> None:
    with pytest.raises(CranfieldError, match=r"no result is judged \(results for 'q\d' contain"):
        cf.online.add_grades(LOG, qrels)


@pytest.mark.parametrize("threshold", [30, -0.1, [0.3, 0.6]])
def test_a_threshold_is_a_probability(threshold: object) -> None:
    with pytest.raises(CranfieldError, match="threshold must be a number from 0 to 1"):
        train(LOG, "DCTR").as_qrels(threshold)  # type: ignore[arg-type]
