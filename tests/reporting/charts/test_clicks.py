"""Charts of clicks by rank, and of click models by rank."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cranfield as cf
from cranfield.online.log.query_log import make_log
from cranfield.reporting import charts
from tests.reporting.charts.drawn import HOSTILE, rows_with, spec_of


def log_of(variants: tuple[str, ...], *, clicked: int = 1) -> cf.online.QueryLog:
    """Ten pages of three results for each variant; the first `clicked` pages have a click."""
    pages = [name for name in variants for _ in range(10)]
    number = len(pages)
    results = {
        "page": np.repeat(np.arange(number), 3),
        "rank": np.tile([1, 2, 3], number),
        "doc": ["a", "b", "c"] * number,
    }
    hit = [k for k in range(number) if k % 10 < clicked]
    return make_log(
        pl.DataFrame(
            {"id": [str(k) for k in range(number)], "query": ["q"] * number, "variant": pages}
        ),
        pl.DataFrame(results),
        pl.DataFrame(
            {"page": hit * 2, "rank": [1] * 2 * len(hit), "doc": ["a"] * 2 * len(hit)},
            schema={"page": pl.Int64, "rank": pl.Int32, "doc": pl.String},
        ),
    )


def test_shares_with_limits_of_wilson() -> None:
    chart = charts.clicks_by_rank_chart(log_of(("A", "B"), clicked=3))
    spec_of(chart)
    rows = {(row["variant"], row["rank"]): row for row in rows_with(chart, "variant", "proportion")}
    first = rows["B", 1]
    known = stats.binomtest(3, 10).proportion_ci(method="wilson")
    # Clicked twice is clicked once.
    assert (first["shown"], first["clicked"], first["proportion"]) == (10, 3, 0.3)
    assert (first["low"], first["high"]) == pytest.approx((known.low, known.high), abs=1e-9)
    assert rows["A", 3]["proportion"] == 0
    assert rows["A", 3]["low"] == 0
    assert len(rows) == 6


def test_a_log_without_variants_or_clicks() -> None:
    log = log_of(("A",), clicked=0)
    log = make_log(log.pages.drop("variant"), log.results, log.clicks)
    chart = charts.clicks_by_rank_chart(log, depth=2)
    spec_of(chart)
    assert {row["variant"] for row in rows_with(chart, "variant")} == {"all pages"}


def test_names_of_any_kind() -> None:
    chart = charts.clicks_by_rank_chart(log_of(HOSTILE))
    spec = spec_of(chart)
    assert len({row["variant"] for row in rows_with(chart, "variant")}) == len(HOSTILE)
    spec.pop("datasets")
    assert "transform" not in str(spec)


def test_perplexity_is_that_of_the_evaluation() -> None:
    log = cf.online.simulated_log()
    models = cf.online.train_models(log, ["GCTR", "CM", "PBM"])
    found = cf.online.evaluate_models(models, log)
    for conditional in (False, True):
        chart = charts.perplexity_chart(found, is_conditional=conditional)
        spec_of(chart)
        rows = {(row["model"], row["rank"]): row["value"] for row in rows_with(chart, "model")}
        kind = "conditional perplexity" if conditional else "perplexity"
        values = found.ranks[kind].to_numpy().reshape(3, -1)
        for k, name in enumerate(found.names):
            drawn = [rows[str(name), rank] for rank in range(1, values.shape[1] + 1)]
            known = [float(one) if np.isfinite(one) else None for one in values[k]]
            assert drawn == known
    # The cascade model takes a second click for impossible.
    assert "Infinite values of CM are omitted" in str(chart.to_dict())
