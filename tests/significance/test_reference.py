"""Every test against an independent implementation, naive and written from the definitions."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.significance.corrections.studentised import maximum_sf
from tests.significance import reference, reference_models
from tests.significance.adjusting import adjusted

Side = Literal["two-sided", "greater", "less"]
SIDES = st.sampled_from(["two-sided", "greater", "less"])
# Tenths are not exact as floats: sums and differences of them have to be found equal.
TENTHS = st.integers(0, 10).map(lambda k: k / 10)
# Six decimals: sums that differ do so by more than any rounding.
DECIMALS = st.floats(0, 1).map(lambda value: round(value, 6))
COLUMN = st.lists(st.one_of(TENTHS, TENTHS, DECIMALS), min_size=9, max_size=9).map(np.array)


def pair(x: Any, y: Any, test: str, side: str, **options: Any) -> cf.PairwiseComparison:
    return cf.compare({"x": x, "y": y}, test=test, alternative=side, **options)


def scores_of(values: Any) -> cf.Scores:
    array = np.asarray(values, dtype=float)
    topics, systems = (tuple(map(str, range(size))) for size in array.shape[:2])
    return cf.Scores(array, topics, systems)


@given(COLUMN, COLUMN, SIDES)
def test_sign(x: Floats, y: Floats, side: Side) -> None:
    found = pair(x, y, "sign", side)
    wins, p = reference.sign(x, y, side)
    assert found.statistic[0] == wins
    assert found.raw_pvalues[0] == pytest.approx(p, abs=1e-12)


@settings(max_examples=60)
@given(COLUMN, COLUMN, SIDES, st.booleans())
def test_signed_rank(x: Floats, y: Floats, side: Side, exact: bool) -> None:
    found = pair(x, y, "signed-rank", side, exact=exact)
    plus, p = reference.signed_rank(x, y, side, exact)
    assert found.statistic[0] == plus
    assert found.raw_pvalues[0] == pytest.approx(p, abs=1e-12)


@settings(max_examples=60)
@given(COLUMN, COLUMN, st.integers(3, 6), SIDES, st.booleans())
def test_rank_sum(x: Floats, y: Floats, n: int, side: Side, exact: bool) -> None:
    x, y = x[:n], y[:7]
    found = pair(x, y, "rank-sum", side, exact=exact)
    u, p = reference.rank_sum(x, y, side, exact)
    assert found.statistic[0] == u
    assert found.raw_pvalues[0] == pytest.approx(p, abs=1e-12)


@given(COLUMN, COLUMN, st.integers(4, 9), SIDES, st.sampled_from(["t", "t-unpaired", "welch"]))
def test_t(x: Floats, y: Floats, n: int, side: Side, test: str) -> None:
    by_name = {"t-unpaired": reference.t_student, "welch": reference.t_welch}
    function = by_name.get(test, reference.t_paired)
    y = y if test == "t" else y[:n]
    found = pair(x, y, test, side)
    t, p, _ = function(x, y, side)
    assert found.statistic[0] == pytest.approx(t, rel=1e-9, abs=1e-9)
    assert found.raw_pvalues[0] == pytest.approx(p, rel=1e-9, abs=1e-12)


@settings(max_examples=60)
@given(COLUMN, COLUMN, SIDES)
def test_randomisation(x: Floats, y: Floats, side: Side) -> None:
    found = pair(x, y, "randomisation", side, exact=True)
    _, p = reference.randomisation(x, y, side)
    assert found.raw_pvalues[0] == p


@pytest.mark.parametrize("seed", range(3))
def test_bootstraps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.random((2, 12))
    resamples = 4000
    for test, function in (
        ("bootstrap", reference.bootstrap_paired),
        ("bootstrap-unpaired", reference.bootstrap_unpaired),
    ):
        p = function(x, y, resamples, np.random.default_rng(seed))
        found = float(pair(x, y, test, "two-sided", resamples=resamples).raw_pvalues[0])
        error = np.sqrt(2 * p * (1 - p) / resamples)
        assert abs(found - p) <= 4 * error + 1e-3


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections(p: list[float]) -> None:
    for name in ("bonferroni", "holm", "bh", "by"):
        theirs = getattr(reference, name)(p)
        np.testing.assert_allclose(adjusted(np.array(p), name), theirs, rtol=1e-12, atol=1e-300)


MATRICES = st.lists(st.lists(TENTHS, min_size=4, max_size=4), min_size=3, max_size=8)


@settings(max_examples=60)
@given(MATRICES)
def test_models(values: list[list[float]]) -> None:
    for test, function in (
        ("anova-1", reference_models.anova1),
        ("anova-2", reference_models.anova2),
    ):
        table = cf.compare(scores_of(values), test=test).anova
        assert table is not None
        for name, effect in function(np.array(values)).items():
            k = [one.lower() for one in table.sources].index(name.lower())
            assert table.ss[k] == pytest.approx(effect.ss, rel=1e-9, abs=1e-12)
            assert table.df[k] == effect.df
            if name.lower() != "error" and table.ss[table.sources.index("Error")] > 1e-12:
                assert table.f[k] == pytest.approx(effect.f, rel=1e-8, abs=1e-9)
                assert table.p[k] == pytest.approx(effect.p, abs=1e-9)
                assert table.omega2[k] == pytest.approx(effect.omega2, abs=1e-9)


@settings(max_examples=30)
@given(MATRICES)
def test_ranks(values: list[list[float]]) -> None:
    array = np.array(values)
    first, second = np.triu_indices(4, 1)
    for test, overall, pairs in (
        ("kruskal-wallis", reference_models.kruskal_wallis, reference_models.kruskal_wallis_pairs),
        ("friedman", reference_models.friedman, reference_models.friedman_pairs),
    ):
        if np.ptp(array) == 0 or (test == "friedman" and (np.ptp(array, axis=1) == 0).all()):
            continue
        found = cf.compare(scores_of(values), test=test)
        statistic, df, p = overall(array)
        assert found.omnibus is not None
        assert found.omnibus.statistic == pytest.approx(statistic, abs=1e-9)
        assert found.omnibus.df == df
        assert found.omnibus.pvalue == pytest.approx(p, abs=1e-10)
        theirs = pairs(array)
        by_pair = np.array([theirs.p[i][j] for i, j in zip(first, second, strict=True)])
        np.testing.assert_allclose(found.adjusted_pvalues, by_pair, atol=1e-8)


def test_three_way() -> None:
    values = np.random.default_rng(3).random((5, 4, 3))
    table = cf.compare(scores_of(values), test="anova-3").anova
    assert table is not None
    theirs = {name.lower(): effect for name, effect in reference_models.anova3(values).items()}
    assert len(theirs) == 7
    for k, name in enumerate(table.sources[:-1]):
        effect = theirs[name.lower()]
        assert table.ss[k] == pytest.approx(effect.ss, rel=1e-9)
        assert table.df[k] == effect.df


def test_randomised_tukey() -> None:
    values = np.random.default_rng(1).random((9, 4)) + [0, 0.1, 0.2, 0.5]
    resamples = 3000
    theirs = reference_models.randomised_tukey(values, resamples, np.random.default_rng(0))
    found = cf.compare(
        scores_of(values),
        test="randomisation",
        correction="randomised-tukey",
        resamples=resamples,
    )
    some = np.triu_indices(4, 1)
    p = np.asarray(theirs)[some]
    error = np.sqrt(2 * p * (1 - p) / resamples)
    assert (np.abs(found.adjusted_pvalues - p) <= 4 * error + 1e-3).all()


@pytest.mark.parametrize("two_sided", [True, False])
def test_dunnett(two_sided: bool) -> None:
    t = [0.3, 1.2, 2.6]
    theirs = reference_models.dunnett_p(t, 4, 12, two_sided)
    found = maximum_sf(np.array(t), 4, 12, two_sided=two_sided)
    np.testing.assert_allclose(found, theirs, atol=1e-7)


def test_letters() -> None:
    rng = np.random.default_rng(2)
    found = cf.compare(scores_of(rng.random((12, 9)) * 0.5 + np.arange(9) * 0.06))
    names = found.groups()
    significant = np.nan_to_num(found.matrix(found.is_significant().astype(float))) > 0
    letters = {system: list(names[system]) for system in found.systems}
    assert 0 < found.count() < len(found)
    assert reference_models.letters_are_right(letters, significant)
