"""What a notebook shows: short, and safe whatever the names are."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.meta import false_positives, split_topics, study_scales
from cranfield.meta.collection_studies.leave_one_out import leave_one_out, pool_depths
from cranfield.meta.collection_studies.pooling import pooling
from cranfield.meta.measure_studies.concordance import concordance
from cranfield.meta.measure_studies.correlations import correlate
from cranfield.meta.measure_studies.discriminative import discriminative_power
from cranfield.meta.measure_studies.predictive import predictive_power
from cranfield.meta.measure_studies.swap_method import swap_method
from cranfield.meta.reproduction import reproduce
from cranfield.meta.topic_studies.extrapolation import extrapolate, generalizability
from cranfield.meta.topic_studies.sample_study import stability
from cranfield.significance import check_assumptions, compare_bayes
from cranfield.tabular import Cell, Table, render_frame

HOSTILE = "<img src=x onerror=alert(1)>"
ALLOWED = {
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "p", "pre"),
    *("b", "u", "i", "sup"),
}
"""Elements that a table is made of."""


class Elements(HTMLParser):
    """Counts elements, and looks for anything that runs or loads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows = 0
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        assert {name for name, _ in attrs} <= {"style", "scope", "colspan"}, attrs
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: Any) -> Elements:
    page = Elements()
    page.feed(thing._repr_html_())
    page.close()
    assert page.open == []
    return page


def hostile_runs(systems: int = 4, topics: int = 6) -> dict[str, dict[str, dict[str, float]]]:
    draw = np.random.default_rng(7)
    return {
        f"{HOSTILE}_{k}": {
            f"{HOSTILE}{t}": {f"d{doc}": float(one) for doc, one in enumerate(draw.random(8))}
            for t in range(topics)
        }
        for k in range(systems)
    }


QRELS = {f"{HOSTILE}{t}": {f"d{doc}": (doc + t) % 3 for doc in range(8)} for t in range(6)}


@pytest.fixture(scope="module")
def ev() -> cf.Evaluation:
    return cf.evaluate(hostile_runs(), QRELS, ["AP", "nDCG@5", "P@3"])


def test_collections_and_scores(ev: cf.Evaluation) -> None:
    runs = cf.read_runs(hostile_runs())
    two = cf.Scores(ev["AP"].values[:, :2], ev.topics, ev.systems[:2], HOSTILE)
    things: list[Any] = [
        *(cf.read_qrels(QRELS), runs, runs[0], ev.judged, ev.coverage),
        *(ev["AP"], ev, cf.compare(ev["AP"]), cf.compare(ev["AP"]).anova),
        cf.compare(ev["AP"], baseline=ev.systems[0]),
        cf.table(ev, baseline=ev.systems[0], test="t"),
        cf.Scores(np.zeros((2, 1, 2)), ("1", "2"), (HOSTILE,), measure=HOSTILE),
        Table(HOSTILE, [HOSTILE], [[Cell("1", mark=HOSTILE)]], notes=[HOSTILE], remarks=[HOSTILE]),
        *(check_assumptions(ev["AP"].values), compare_bayes(two, *two.systems)),
    ]
    for thing in things:
        page = shown(thing)
        assert page.rows <= 30
        assert "<img" not in thing._repr_html_()
    assert HOSTILE in shown(ev).text
    assert HOSTILE in shown(runs).text


def test_studies(ev: cf.Evaluation) -> None:
    scores = ev["AP"]
    few: dict[str, Any] = {"sizes": [3], "repeats": 5}
    runs = dict(zip(("baseline", "advanced"), hostile_runs(2).values(), strict=True))
    things: list[Any] = [
        split_topics(scores, ["t"], **few),
        false_positives(scores, ["t"], **few),
        discriminative_power(ev, resamples=20),
        swap_method(scores, sizes=[2, 3], repeats=5),
        stability(scores, sizes=[3], repeats=20),
        generalizability(scores),
        extrapolate(scores, [10]),
        correlate(ev),
        concordance({"AP": ev["AP"], "nDCG@5": ev["nDCG@5"]}, {"P@3": ev["P@3"]}),
        pool_depths(hostile_runs(), QRELS, "AP", depths=[2, 4]),
        pooling(hostile_runs(), QRELS, "AP", methods="depth", budgets=2, contributors=None),
        leave_one_out(hostile_runs(), QRELS, "AP", depth=3),
        predictive_power(ev, [(ev.topics[0], *ev.systems[:2], "first")]),
        reproduce(runs["baseline"], runs["advanced"], qrels=QRELS, measures=["AP"]),
        study_scales(ev.judged, ["P", "RR"], cutoffs=[3]),
    ]
    for thing in things:
        assert shown(thing).rows <= 22
        assert "<img" not in thing._repr_html_()


def test_long_and_wide_tables_are_cut() -> None:
    runs = {f"s{k:03d}": {"q": {"d": float(k)}} for k in range(123)}
    ev = cf.evaluate(runs, {"q": {"d": 1}}, ["AP"])
    page = shown(ev)
    assert page.rows == 1 + 20 + 1
    assert "… and 103 more" in page.text
    wide = render_frame(pl.DataFrame({f"c{k}": [k] for k in range(30)}), "Wide")
    assert "18 more columns to the right" in wide
    assert len(re.findall("<th ", wide)) == 12
    qrels = cf.read_qrels({"q": {f"d{k}": 1 for k in range(1500)}})
    assert "… and 1,490 more" in shown(qrels).text


def test_runs_are_not_read_to_be_shown(tmp_path: Any) -> None:
    (tmp_path / "broken.run").write_text("this is no run\n")
    (tmp_path / "other.run").write_text("neither is this\n")
    assert "broken" in shown(cf.read_runs(tmp_path)).text
