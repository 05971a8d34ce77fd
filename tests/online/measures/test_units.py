"""Values by unit as scores and sums, text forms, and what a log does not tell."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.online.log.query_log import make_log
from cranfield.online.measures.measuring import _sum_by_index
from cranfield.online.measures.online_measure import MEASURES
from tests.online.measures.logs import pages_of, random_log
from tests.online.refusals import check_refused


@pytest.mark.parametrize("name", MEASURES)
def test_text_forms_read_back(name: str) -> None:
    one = cf.online.parse_online_measure(name)
    assert str(one) == name == one.name
    for parameter in one.parameters.values():
        assert parameter.doc
    assert all((type(one).formula, type(one).source, type(one).__doc__))
    assert type(one).better in {"higher", "lower", ""}
    changed = {"first": "rank", "seconds": 12.5, "unknown": "sat", "over": "pages", "click": "last"}
    own = {key: value for key, value in changed.items() if key in one.parameters}
    if own:
        assert cf.online.parse_online_measure(str(one(**own))) == one(**own)
    if "cutoff" in one.parameters:
        assert str(one @ 7) == f"{name}@7"
        assert cf.online.parse_online_measure(f"{name}@7") == one(cutoff=7)


def test_scores_by_query_are_compared() -> None:
    log = cf.online.simulated_log()
    found = cf.online.measure(log, ["CTR", "ClickRank"], by=["query", "variant"])
    scores = found.scores("CTR")
    assert scores.systems == ("control", "treatment")
    row = cf.online.measure(log.select_pages(pl.col("variant") == "control"), "CTR", "query")
    np.testing.assert_array_equal(scores.select(systems="control").values[:, 0], row["CTR"])
    assert not scores.lower_is_better
    assert found.scores("ClickRank").lower_is_better
    comparison = cf.compare(scores, test="t")
    assert comparison.to_polars().height == 1
    alone = cf.online.measure(log, "CTR", "query").scores("CTR")
    assert alone.systems == ("simulated log",)
    check_refused(
        (lambda: cf.online.measure(log, "CTR", "variant").scores("CTR"), "by one kind of unit"),
        (lambda: found.scores("UCTR"), "UCTR was not measured"),
    )


@pytest.mark.parametrize("unit", ["user", "session", "query", "page"])
def test_sums_by_unit_are_those_of_pages(unit: str) -> None:
    log = random_log(8, 70)
    sums = cf.online.sums_by_unit(log, ["CTR", "QCTR"], unit)
    pages = list(pages_of(log))
    key = "id" if unit == "page" else unit
    assert list(sums.units) == sorted({page.row[key] for page in pages})
    for place, name in enumerate(sums.units):
        own = [page for page in pages if page.row[key] == name]
        assert sums.totals[place].tolist() == [
            sum(len({click["rank"] for click in page.clicks}) for page in own),
            sum(len(page.clicks) for page in own),
        ]
        assert sums.counts[place].tolist() == [sum(len(page.ranks) for page in own), len(own)]
        variants = {page.row["variant"] for page in own}
        want = sums.variants.index(variants.pop()) if len(variants) == 1 else -1
        assert sums.variant[place] == want


def test_sums_of_a_log_without_variants_are_a_table() -> None:
    pages = pl.DataFrame({"id": ["a", "b"], "query": "q", "user": ["u", "v"]})
    clicks = pl.DataFrame({"page": [1], "rank": [1], "doc": ["d"]})
    sums = cf.online.sums_by_unit(make_log(pages, None, clicks), "UCTR")
    assert sums.to_polars().rows() == [("u", None, 0.0), ("v", None, 1.0)]


def test_pages_of_no_user_are_said() -> None:
    pages = pl.DataFrame({"id": ["a", "b", "c"], "query": "q", "user": ["u", None, "u"]})
    clicks = pl.DataFrame({"page": [1], "rank": [1], "doc": ["d"]})
    found = cf.online.measure(make_log(pages, None, clicks), "UCTR", "user")
    assert found.n_without_unit == {"page": 1}
    assert "1 page excluded: no user" in str(found)
    assert found["UCTR"].tolist() == [0.0]


def test_rows_without_a_unit_are_counted_by_kind() -> None:
    columns = {"user": ["u"] * 4, "session": ["s", "s", "t", "t"], "variant": ["a", None, "a", "b"]}
    pages = pl.DataFrame({"id": [*"wxyz"], "query": "q", **columns})
    log = make_log(pages, None, pl.DataFrame({"page": [0], "rank": [1], "doc": ["d"]}))
    found = cf.online.measure(log, ["UCTR", "QueriesPerSession", "SessionClicks"], "variant")
    assert found.n_without_unit == {"page": 1, "session": 2}
    assert "1 page, 2 sessions excluded: no unique variant" in found.notes


@pytest.mark.parametrize("pages", [1, 2])
def test_logs_without_clicks_or_results_have_values_where_there_are_any(pages: int) -> None:
    clicks = pl.DataFrame(schema={"page": pl.Int64, "rank": pl.Int32, "doc": pl.String})
    log = make_log(pl.DataFrame({"id": list("ab")[:pages], "query": "q"}), None, clicks)
    found = cf.online.measure(log, ["Abandonment", "ClickRR", "ClickRank", "pSkip"])
    assert found.means[0, :2].tolist() == [1.0, 0.0]
    assert np.isnan(found.means[0, 2:]).all()
    check_refused(
        (lambda: cf.online.measure(log, "CTR"), "CTR requires the results of pages"),
        (lambda: cf.online.measure(log, "TimeToClick"), "requires column 'time' of clicks"),
    )


def test_that_nobody_clicked_is_not_known_without_a_table_of_clicks() -> None:
    log = make_log(pl.DataFrame({"id": ["a"], "query": "q"}))
    assert "clicks unknown" in repr(log.select_pages(pl.lit(True)))
    check_refused(
        (lambda: cf.online.measure(log), "expected results, clicks, sessions or times"),
        (lambda: cf.online.measure(log, "UCTR"), "UCTR requires clicks, but the log has no table"),
        (lambda: cf.online.measure(log, "TimeToClick"), "TimeToClick requires clicks, but the log"),
        (lambda: log.results_with_clicks, "requires clicks"),
    )


def test_documents() -> None:
    log = random_log(6, 80)
    found = cf.online.coec(log)
    shown = log.results_with_clicks
    shown = shown.with_columns(query=log.pages["query"].gather(shown["page"]))
    qrels = found.to_qrels((0.5, 1.0, 2.0), min_impressions=2).to_polars()
    kept = found.rows.filter(pl.col("impressions") >= 2)
    assert qrels.height == kept.height
    both = qrels.join(kept, left_on=["topic", "doc"], right_on=["query", "doc"])
    assert (both["grade"] == sum((both["coec"] >= cut).cast(pl.Int64) for cut in (0.5, 1, 2))).all()
    pairs: dict[tuple[str, str, str], set[int]] = {}
    for row in shown.filter(pl.col("clicks") > 0).iter_rows(named=True):
        above = shown.filter(
            (pl.col("page") == row["page"])
            & (pl.col("rank") < row["rank"])
            & (pl.col("clicks") == 0)
            & (pl.col("doc") != row["doc"])
        )
        for other in above["doc"]:
            pairs.setdefault((row["query"], row["doc"], other), set()).add(row["page"])
    want_pairs = sorted((*key, len(on)) for key, on in pairs.items())
    assert cf.online.skip_above(log).rows() == want_pairs


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(3)
    values, place = rng.random(500), rng.integers(3, size=500)
    first = _sum_by_index(place, values, 3)
    for _ in range(8):
        order = rng.permutation(500)
        assert (_sum_by_index(place[order], values[order], 3) == first).all()
    assert first == pytest.approx(np.bincount(place, values))


def test_abandoned_pages_without_a_session_are_as_unknown_as_clicked_ones() -> None:
    pages = pl.DataFrame({"page": [0, 1, 2, 3], "query": "q", "session": ["s", None, "t", None]})
    clicks = pl.DataFrame({"page": [0, 1], "rank": [1, 1]})
    measurements = cf.online.measure({"pages": pages, "clicks": clicks}, "AbandonedLast")
    assert measurements["AbandonedLast"].item() == 0.5
    assert measurements.to_polars()["missing"].to_list() == [2]
