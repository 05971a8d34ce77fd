"""Analysis of variance, with factors of one's own: a paper's table, statsmodels, plain loops."""

from __future__ import annotations

from itertools import product
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
from tests.significance.helpers import GRID_VALUES, scored


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
    assert [table.classify(name) for name in ("Topic", "System")] == ["large", "large"]
    assert (len(found), found.count()) == (8256, 3423)
    assert found.half_widths is not None
    assert found.half_widths.round(4).tolist() == [0.0515] * 129


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
    assert table.get_ss("Error") == pytest.approx(left_over(values, full)[0], rel=1e-9)
    number = int((~np.isnan(values)).sum())
    assert table.df_error == number - left_over(values, full)[1]
    assert np.nansum(table.residuals**2) == pytest.approx(table.get_ss("Error"), rel=1e-9)


def test_gaps_that_are_none_change_nothing(values: Any) -> None:
    from cranfield.significance.models.anova import fit_three_way_with_missing_cells

    balanced, _ = fit_three_way(values)
    general, cells = fit_three_way_with_missing_cells(values)
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


LEVELS = {"stop": ("none", "smart"), "stem": ("none", "porter"), "model": ("bm25", "dir", "tfidf")}
GRID = {"/".join(cell): dict(zip(LEVELS, cell, strict=True)) for cell in product(*LEVELS.values())}
SCORES = dict(zip(GRID, GRID_VALUES.T.tolist(), strict=True))

# statsmodels 0.15.0, anova_lm(typ=3) with sum coding: SS, F, p; and both omega squared by hand.
EFFECTS = {
    "topic": (0.7576039206, 97.89152362, 1.666145367e-16, 0.8582710244, 0.5677127322),
    "stop": (0.1057032552, 40.97438948, 2.977223549e-07, 0.4543866654, 0.07807346133),
    "stem": (0.3030381919, 117.4685195, 2.076632976e-12, 0.7081508356, 0.2274731541),
    "model": (0.05878813792, 11.39419999, 0.0001727848097, 0.3022079303, 0.04060155424),
    "stop:stem": (5.313020833e-05, 0.02059518266, 0.886760007, 0, 0),
    "stop:model": (0.004982387917, 0.9656765187, 0.3912242583, 0, 0),
    "stem:model": (0.00162064625, 0.3141104336, 0.7325981267, 0, 0),
    "stop:stem:model": (0.001351542917, 0.2619533606, 0.7711319881, 0, 0),
}
# SciPy 1.17.1, studentized_range.
PAIRS = {
    ("none", "smart"): (-0.09385416667, 9.052556487, 2.977223476e-07, -0.1236845114),
    ("none", "porter"): (0.1589125, 15.32765602, 2.069011629e-12, 0.1290821553),
    ("bm25", "dir"): (-0.04003125, 3.152616959, 0.08097305672, -0.08409496747),
    ("bm25", "tfidf"): (-0.0856625, 6.746255743, 0.0001051717124, -0.1297262175),
    ("dir", "tfidf"): (-0.04563125, 3.593638785, 0.04112057289, -0.08969496747),
}


def test_effects_are_those_of_statsmodels() -> None:
    found = cf.factorial_anova(SCORES, GRID).to_polars()
    names = ("SS", "F", "p", "omega2", "omega2 of all")
    for row in found.iter_rows(named=True):
        if row["source"] in EFFECTS:
            expected = EFFECTS[row["source"]]
            np.testing.assert_allclose([row[name] for name in names], expected, rtol=1e-8)
    assert found["DF"].to_list() == [3, 1, 1, 2, 1, 2, 2, 2, 33, 47]
    assert found["SS"].to_list()[-2:] == pytest.approx([0.08513140687, 1.31827262])


def test_pairs_are_those_of_the_studentised_range() -> None:
    found = cf.factorial_anova(SCORES, GRID)
    rows = found.to_polars("pairs").to_dicts()
    assert [(row["first"], row["second"]) for row in rows] == list(PAIRS)
    for row, expected in zip(rows, PAIRS.values(), strict=True):
        got = [row[name] for name in ("difference", "q", "p", "low")]
        np.testing.assert_allclose(got, expected, rtol=1e-2 if row["p"] < 1e-8 else 1e-7)
    # Levels differ exactly where their intervals do not overlap.
    levels = {row["level"]: row for row in found.to_polars("levels").to_dicts()[4:]}
    for row in rows[2:]:
        first, second = levels[row["first"]], levels[row["second"]]
        assert (first["high"] < second["low"]) == (row["p"] < 0.05)


def test_cells_are_means_and_interactions_are_what_is_left() -> None:
    found = cf.factorial_anova(SCORES, GRID)
    cube = GRID_VALUES.reshape(4, 2, 2, 3)
    cells = {
        (r["factors"], r["first"], r["second"]): r for r in found.to_polars("cells").to_dicts()
    }
    assert cells["stem:model", "porter", "tfidf"]["mean"] == pytest.approx(0.3672625)
    expected = cube[:, :, 1, 2].mean() - cube[:, :, 1].mean() - cube[..., 2].mean() + cube.mean()
    assert cells["stem:model", "porter", "tfidf"]["interaction"] == pytest.approx(expected)


def test_files_notes_and_names(tmp_path: Any) -> None:
    table = tmp_path / "systems.csv"
    rows = [f"{name},{','.join(levels.values())},x" for name, levels in GRID.items()]
    table.write_text("\n".join(["system,stop,stem,model,all", *rows, "other,a,b,c,x"]) + "\n")
    scores = cf.Scores(
        np.array([*GRID_VALUES.tolist(), [np.nan, *[0.5] * 11]]), tuple("abcde"), tuple(GRID)
    )
    found = cf.factorial_anova(scores, table)
    assert found.n_topics == 4 and found.factors["stem"] == ("none", "porter")
    notes = "; ".join(found.notes)
    for part in ("all has only one level", "1 topic excluded", "1 row of"):
        assert part in notes
    assert found.to_polars()["F"].to_list() == pytest.approx(
        cf.factorial_anova(SCORES, GRID).to_polars()["F"].to_list(), nan_ok=True
    )


def test_a_level_called_none_is_a_level() -> None:
    grid = {
        name: {"stop": {"none": "None", "smart": "NA"}[one["stop"]]} for name, one in GRID.items()
    }
    two = {name: SCORES[name] for name in ("none/none/dir", "smart/none/dir")}
    with pytest.warns(cf.CranfieldWarning, match="read as text"):
        assert cf.factorial_anova(two, grid).factors == {"stop": ("None", "NA")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda grid: grid.pop("none/none/dir"), "got none for 'none/none/dir'"),
        (lambda grid: grid["none/none/dir"].update(model="new"), "no system"),
        (lambda grid: grid["none/none/dir"].update(model="bm25"), "remove columns that"),
        (lambda grid: [one.update(topic="a") for one in grid.values()], "the name 'topic'"),
        (lambda grid: [one.clear() or one.update(x="a") for one in grid.values()], "two levels"),
    ],
)
def test_refusals(change: Any, message: str) -> None:
    grid = {name: dict(levels) for name, levels in GRID.items()}
    change(grid)
    with pytest.raises(cf.InputError, match=message):
        cf.factorial_anova(SCORES, grid)


def test_constant_scores_and_one_topic() -> None:
    constant = cf.factorial_anova({name: [0.1, 0.2] for name in SCORES}, GRID)
    assert "error of the model is 0" in constant.notes[-1]
    assert constant.to_polars().filter(source="stop")["p"].to_list() == [None]
    shifted = {name: [0.1 * k, 0.2 + 0.1 * k] for k, name in enumerate(SCORES)}
    frames = cf.factorial_anova(shifted, GRID).frames()
    assert frames["effects"]["p"].null_count() == len(frames["effects"])
    for table in ("levels", "pairs"):
        assert frames[table]["high"].is_infinite().all()
    with pytest.raises(cf.CranfieldError, match="two topics"):
        cf.factorial_anova({name: [0.1] for name in SCORES}, GRID)


def test_heading_names_the_method_and_level_of_pairs() -> None:
    heading = cf.factorial_anova(SCORES, GRID, alpha=0.01).heading()
    assert heading[-1].startswith("pairs: Tukey's HSD") and " 99% " in heading[-1]
    assert heading[-1].endswith("(alpha 0.01)")
