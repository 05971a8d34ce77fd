"""Analysis of variance against the paper's table and statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from statsmodels.stats.anova import anova_lm

import cranfield as cf
from cranfield.significance.models.anova import fit_one_way, fit_three_way, fit_two_way
from cranfield.significance.models.anova_table import AnovaTable
from tests.conftest import ADHOC8
from tests.significance.helpers import scored


@pytest.fixture(scope="module")
def adhoc8() -> cf.Scores:
    return cf.read_scores(ADHOC8, measure="AP")


def test_table_1_of_ferro_and_maistro(adhoc8: cf.Scores) -> None:
    found = cf.compare(adhoc8, test="anova", correction="tukey", alpha=0.05)
    table = found.anova
    assert table is not None
    assert table.sources == ("Topic", "System", "Error", "Total")
    np.testing.assert_allclose(table.ss[:3], [167.9974, 60.0299, 85.3502], atol=1e-3)
    # The table prints a total of 313.3375, but its own parts add up to 313.3775.
    assert table.ss[3] == pytest.approx(313.3775, abs=1e-3)
    assert table.df.tolist() == [49, 128, 6272, 6449]
    np.testing.assert_allclose(table.ms[:3], [3.4285, 0.4690, 0.0136], atol=6e-5)
    np.testing.assert_allclose(table.f[:2], [251.9463, 34.4635], atol=1e-2)
    assert table.omega2[:2].round(4).tolist() == [0.6559, 0.3991]
    assert [table.size(name) for name in ("Topic", "System")] == ["large", "large"]
    assert (len(found), found.count()) == (8256, 3423)
    assert found.half_widths is not None
    assert found.half_widths.round(4).tolist() == [0.0515] * 129


def test_intervals_do_not_overlap_exactly_where_systems_differ(adhoc8: cf.Scores) -> None:
    found = cf.compare(adhoc8, correction="tukey")
    assert found.half_widths is not None
    apart = np.abs(found.difference) > 2 * found.half_widths[0]
    assert (apart == found.is_significant()).all()
    low, high = found.interval
    assert (((low > 0) | (high < 0)) == found.is_significant()).all()


def frame_of(values: Any) -> pd.DataFrame:
    array = np.asarray(values, dtype=float)
    axes = np.indices(array.shape).reshape(array.ndim, -1)
    frame = pd.DataFrame(dict(zip("TSK", axes, strict=False)))
    frame["y"] = array.ravel()
    return frame.dropna()


def same_as_statsmodels(
    table: AnovaTable, values: Any, formula: str, names: dict[str, str]
) -> None:
    frame = frame_of(values)
    theirs = anova_lm(smf.ols(formula, frame).fit(), typ=2)
    for ours, name in {**names, "Error": "Residual"}.items():
        k = table.sources.index(ours)
        assert table.ss[k] == pytest.approx(theirs.sum_sq[name], rel=1e-9)
        assert table.df[k] == theirs.df[name]
        if ours != "Error":
            assert table.f[k] == pytest.approx(theirs.F[name], rel=1e-8)
            assert table.p[k] == pytest.approx(theirs["PR(>F)"][name], abs=1e-12)
            more = theirs.df[name] * (theirs.F[name] - 1)
            assert table.omega2[k] == pytest.approx(max(0, more / (more + len(frame))), rel=1e-8)


@pytest.fixture
def values() -> Any:
    rng = np.random.default_rng(5)
    return rng.random((9, 4, 3)) + rng.random((9, 1, 1)) + 0.3 * rng.random((1, 4, 1))


def test_one_way_equals_statsmodels(values: Any) -> None:
    flat = values[:, :, 0]
    flat[[0, 3, 3], [0, 1, 2]] = np.nan
    same_as_statsmodels(fit_one_way(flat)[0], flat, "y ~ C(S)", {"System": "C(S)"})


def test_two_way_equals_statsmodels(values: Any) -> None:
    flat = values[:, :, 0]
    names = {"Topic": "C(T)", "System": "C(S)"}
    table, _ = fit_two_way(flat)
    same_as_statsmodels(table, flat, "y ~ C(T) + C(S)", names)
    assert np.abs(table.residuals.sum(axis=0)).max() < 1e-14
    assert sum(table.effects["System"]) == pytest.approx(0, abs=1e-14)


def test_three_way_equals_statsmodels(values: Any) -> None:
    names = {"Topic": "C(T)", "System": "C(S)", "Shard": "C(K)", "Topic:System": "C(T):C(S)"}
    names |= {"Topic:Shard": "C(T):C(K)", "System:Shard": "C(S):C(K)"}
    table, _ = fit_three_way(values)
    same_as_statsmodels(table, values, "y ~ (C(T) + C(S) + C(K)) ** 2", names)


def left_over(values: Any, factors: list[str]) -> tuple[float, int]:
    """Fit a linear model by brute force: residual sum of squares and rank."""
    frame = frame_of(values)
    columns = [np.ones(len(frame))]
    for factor in factors:
        keys = frame[list(factor)].apply(tuple, axis=1)
        columns += [(keys == key).to_numpy(float) for key in keys.unique()]
    design = np.stack(columns, axis=1)
    y = frame.y.to_numpy()
    beta, _, rank, _ = np.linalg.lstsq(design, y, rcond=1e-10)
    return float(((y - design @ beta) ** 2).sum()), int(rank)


def test_three_way_with_gaps_is_least_squares(values: Any) -> None:
    for topic, shard in ((0, 0), (2, 1), (3, 1), (5, 2), (5, 0)):
        values[topic, :, shard] = np.nan
    table, _ = fit_three_way(values)
    full = ["T", "S", "K", "TS", "TK", "SK"]
    # Type II: what a factor adds to all others that do not contain it.
    without = {
        "Topic": (["T", "S", "K", "SK"], ["S", "K", "SK"]),
        "System": (["T", "S", "K", "TK"], ["T", "K", "TK"]),
        "Shard": (["T", "S", "K", "TS"], ["T", "S", "TS"]),
        "Topic:System": (full, ["T", "S", "K", "TK", "SK"]),
        "Topic:Shard": (full, ["T", "S", "K", "TS", "SK"]),
        "System:Shard": (full, ["T", "S", "K", "TS", "TK"]),
    }
    for source, (more, less) in without.items():
        (with_it, rank), (without_it, rank_without) = (
            left_over(values, more),
            left_over(values, less),
        )
        k = table.sources.index(source)
        assert table.ss[k] == pytest.approx(without_it - with_it, rel=1e-9), source
        assert table.df[k] == rank - rank_without
    assert table.ss_of("Error") == pytest.approx(left_over(values, full)[0], rel=1e-9)
    number = int((~np.isnan(values)).sum())
    assert table.df_error == number - left_over(values, full)[1]
    assert np.nansum(table.residuals**2) == pytest.approx(table.ss_of("Error"), rel=1e-9)


def test_gaps_that_are_none_change_nothing(values: Any) -> None:
    from cranfield.significance.models.anova import fit_three_way_with_gaps

    balanced, _ = fit_three_way(values)
    general, cells = fit_three_way_with_gaps(values)
    np.testing.assert_allclose(general.ss, balanced.ss, rtol=1e-10)
    assert general.df.tolist() == balanced.df.tolist()
    assert cells == 27


def test_two_systems_are_t_tests() -> None:
    rng = np.random.default_rng(2)
    for n in (3, 10, 50):
        pair = scored(rng.random((n, 2)))
        for model, test in (("anova-2", "t"), ("anova-1", "t-unpaired")):
            anova, t = cf.compare(pair, test=model, correction="tukey"), cf.compare(pair, test=test)
            assert anova.adjusted_pvalues[0] == pytest.approx(t.adjusted_pvalues[0], abs=1e-12)
            assert anova.anova is not None
            p = anova.anova.p[anova.anova.sources.index("System")]
            assert p == pytest.approx(t.adjusted_pvalues[0], abs=1e-12)
            np.testing.assert_allclose(anova.interval, t.interval, atol=1e-12)


def test_one_way_tukey_is_scipys() -> None:
    from scipy import stats

    values = np.random.default_rng(0).random((12, 5))
    values[0, 0] = values[3, 1] = values[4, 1] = np.nan
    groups = [column[~np.isnan(column)] for column in values.T]
    theirs = stats.tukey_hsd(*groups)
    found = cf.compare(scored(values), test="anova-1")
    np.testing.assert_allclose(
        found.pvalue_matrix[np.triu_indices(5, 1)], theirs.pvalue[np.triu_indices(5, 1)], atol=1e-9
    )
    limits = theirs.confidence_interval(0.95)
    np.testing.assert_allclose(found.interval[0], limits.low[np.triu_indices(5, 1)], atol=1e-9)


def test_print_and_latex(values: Any) -> None:
    table, _ = fit_three_way(values)
    head = next(line for line in str(table).splitlines() if line.startswith("Source"))
    assert head.split() == ["Source", "SS", "DF", "MS", "F", "p", "omega^2", "effect"]
    assert r"Topic:System &" in table.to_latex()
    assert table.to_polars().columns == ["source", "SS", "DF", "MS", "F", "p", "omega2"]
    assert list(table.to_pandas()["source"]) == list(table.sources)
