"""Generalised linear models: values of statsmodels, edge cases, and their place in studies."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.meta.test_studies.fast_tests import read_choice
from cranfield.significance import GeneralisedLinearModel, compare_glm, find_test
from cranfield.significance.differences import pair_all
from cranfield.significance.registry import TestOptions
from tests.significance.helpers import GRID_VALUES, covid, scored

STATSMODELS = {
    "glm(family='gaussian', link='identity')": (
        (0.08513140687, 0.08513140687, 0.002579739602, 16.75776226, 1.770205309e-10, 44, 30),
        (-0.0601, 0.03591475743, -1.673406819, 0.1037022023, 1),
        (-0.0498, 0.03591475743, -1.386616632, 0.1748554743, 1),
    ),
    "glm(family='gaussian')": (
        (0.06721319695, 0.06721319695, 0.002036763544, 22.02493816, 4.187508555e-12, 48, 34),
        (-0.283413913, 0.1399652418, -2.024887817, 0.05103188474, 0.9185739253),
        (-0.2310111283, 0.1432771233, -1.612337845, 0.1164126172, 1),
    ),
    "glm": (
        (0.3252899482, 0.3258755048, 0.009875015298, 19.70371026, 1.967561826e-11, 45, 33),
        (-0.2630791306, 0.1472058265, -1.787151615, 0.08310182636, 1),
        (-0.2244618546, 0.1493325026, -1.503101138, 0.1423234506, 1),
    ),
}
"""By statsmodels 0.15: deviance, Pearson's chi-squared, scale, F and p of all systems, pairs with p
< .05 before and after Holm's correction; and estimate, standard error, t, p and Holm's p of the
pairs of systems 0 and 2, and 10 and 11."""


def noise(seed: int, topics: int, systems: int) -> Any:
    """Return scores from 0 to 1, some of them 0 or 1."""
    random = np.random.default_rng(seed)
    eta = random.normal(size=(topics, 1)) + random.normal(0, 1.2, (topics, systems))
    return np.clip((1 / (1 + np.exp(-eta)) * 12).round() / 10 - 0.1, 0, 1)


@pytest.mark.parametrize("model", STATSMODELS)
def test_the_values_of_statsmodels(model: str) -> None:
    fit, *pairs = STATSMODELS[model]
    glm = compare_glm(scored(GRID_VALUES), model)
    counts = [int((glm.rows[column] < 0.05).sum()) for column in ("raw p", "p")]
    values = (glm.deviance, glm.scale * glm.df, glm.scale, glm.f, glm.pvalue, *counts)
    assert values == pytest.approx(fit, rel=1e-8)
    for (first, second), expected in zip((("s0", "s2"), ("s10", "s11")), pairs, strict=True):
        row = glm.rows.row(by_predicate=(pl.col("first") == first) & (pl.col("second") == second))
        assert row[2:7] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("link", "systems"), [("logit", 2), ("logit", 9), ("probit", 5), ("cloglog", 5), ("loglog", 5)]
)
def test_statsmodels_on_scores_with_zeros_and_ones(link: str, systems: int) -> None:
    import statsmodels.api as sm

    values = noise(11, 25, systems)
    values = values[(values.mean(axis=1) > 0) & (values.mean(axis=1) < 1)]
    rows, columns = (axis.ravel() for axis in np.indices(values.shape))
    design = np.column_stack([np.eye(len(values))[rows], np.eye(systems)[columns][:, 1:]])
    links = {"logit": "Logit", "probit": "Probit", "cloglog": "CLogLog", "loglog": "LogLog"}
    family = sm.families.Binomial(getattr(sm.families.links, links[link])())
    fit = sm.GLM(values.ravel(), design, family=family).fit(scale="X2", tol=1e-14, maxiter=200)
    glm = compare_glm(scored(values), f"glm(link={link!r})", correction="none")
    baseline = glm.rows.filter(pl.col("first") == "s0")
    effects = slice(len(values), None)
    assert -baseline["estimate"].to_numpy() == pytest.approx(fit.params[effects], rel=1e-8)
    assert baseline["se"].to_numpy() == pytest.approx(fit.bse[effects], rel=1e-8)
    assert (glm.scale, glm.deviance) == pytest.approx((fit.scale, fit.deviance), rel=1e-8)


def test_the_gaussian_model_with_the_identity_link_is_two_way_anova() -> None:
    values = noise(4, 20, 6)
    anova = cf.compare(scored(values), test="anova-2", correction="tukey")
    glm = compare_glm(scored(values), "glm(family='gaussian', link='identity')", correction="tukey")
    assert glm.p == pytest.approx(anova.adjusted_pvalues, rel=1e-9)
    assert glm.estimate == pytest.approx(anova.difference, abs=1e-14)
    assert glm.difference == pytest.approx(anova.difference, abs=1e-14)
    assert anova.anova is not None
    assert (glm.f, glm.pvalue) == pytest.approx(anova.anova.get_f("System"), rel=1e-9)


def test_equal_means_are_equal_effects_of_the_default_link() -> None:
    """The null hypothesis is that of means: the model keeps the sum of each system's scores."""
    values = noise(5, 16, 4)
    values[:, 3] = values[::-1, 1]
    glm = compare_glm(scored(values))
    row = glm.rows.row(by_predicate=(pl.col("first") == "s1") & (pl.col("second") == "s3"))
    assert row[2] == pytest.approx(0, abs=1e-12)
    assert row[5] == pytest.approx(1)
    means = values.mean(axis=0)
    pairs = pair_all(values)
    assert glm.difference == pytest.approx(means[pairs.first] - means[pairs.second], abs=1e-12)


def test_separated_topics_are_excluded_and_reported() -> None:
    values = noise(6, 15, 4)
    values = values[(values.mean(axis=1) > 0) & (values.mean(axis=1) < 1)]
    constant = np.vstack([values, np.zeros((1, 4)), np.ones((2, 4))])
    without, glm = compare_glm(scored(values)), compare_glm(scored(constant))
    assert glm.estimate == pytest.approx(without.estimate, rel=1e-12)
    assert glm.p == pytest.approx(without.p, rel=1e-12)
    assert (glm.n_topics, glm.df) == (without.n_topics, without.df)
    n = len(values)
    assert any(
        note == "glm excludes 3 topics with only scores of 0, or only scores of 1:"
        f" 'q{n}', 'q{n + 1}', 'q{n + 2}'"
        for note in glm.notes
    )
    assert not any("excludes" in note for note in without.notes)


def test_a_system_with_zeros_only_has_no_test() -> None:
    values = noise(7, 15, 4)
    with_zeros = np.column_stack([values, np.zeros(15)])
    for correction in ("holm", "tukey", "bh"):
        without = compare_glm(scored(values), correction=correction)
        glm = compare_glm(scored(with_zeros), correction=correction)
        has_test = (glm.rows["second"] != "s4").to_numpy()
        assert glm.rows["p"].is_null().to_numpy().tolist() == (~has_test).tolist()
        assert glm.estimate[has_test] == pytest.approx(without.estimate, rel=1e-9)
        if correction != "tukey":  # its distribution counts all systems of the model
            assert glm.p[has_test] == pytest.approx(without.p, rel=1e-9)
        assert any("are not tested, as these systems have" in note for note in glm.notes)
    verdict = read_choice("glm", alpha=0.9, missing=None, resamples=1)(with_zeros)
    assert not verdict.is_significant[~has_test].any()
    assert (verdict.order[~has_test] == 1).all()


def test_effects_that_run_to_infinity_are_refused() -> None:
    """The first systems have 1 wherever the others have more than 0: no effect is finite."""
    values = np.array([[1, 1, 0.3], [1, 1, 0.8], [0.4, 0.6, 0], [0.2, 0.7, 0]])
    for model in ("glm", "glm(link='cloglog')", "glm(link='loglog')", "glm(link='probit')"):
        with pytest.raises(cf.CranfieldError, match="did not converge"):
            compare_glm(scored(values), model)


def test_scores_without_residuals() -> None:
    constant = compare_glm(scored(np.full((5, 3), 0.5)))
    assert constant.p.tolist() == [1, 1, 1]
    assert np.isnan([constant.f, constant.pvalue]).all()


@pytest.mark.parametrize(
    ("values", "model", "message"),
    [
        (
            [[0.2, 1.3], [0.1, 0.4]],
            "glm",
            "scores from 0 to 1, got 1.3 for system 's1' on",
        ),
        ([[0.2, -0.1], [0.1, 0.4]], "glm", "got -0.1"),
        ([[0.2, np.nan], [0.1, 0.4]], "glm", "missing"),
        ([[0.0, 0.0], [0.1, 0.4]], "glm", "at least two topics and two systems"),
        ([[0.0, 0.0], [1.0, 1.0]], "glm", "got 0 and 0|got 0 and 2"),
        (GRID_VALUES, "glm(link='log')", "link must be one of 'logit'"),
        (GRID_VALUES, "glm(link='identity')", "link 'identity' cannot be combined with family"),
        (GRID_VALUES, "glm(family='beta')", "family must be one of 'quasi-binomial', 'gaussian'"),
        (GRID_VALUES, "glm(scale=1)", "glm: unknown parameter 'scale'"),
        (GRID_VALUES, "t", "expected a generalised linear model"),
    ],
)
def test_refusals(values: Any, model: str, message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=message):
        compare_glm(scored(values), model)


def test_comparisons_refuse_it_and_say_why() -> None:
    for name in ("glm", "GLM(link='probit')", "generalised-linear-model"):
        with pytest.raises(cf.PolicyError, match=r"family-wise error rate.*use anova-2"):
            cf.compare(scored(GRID_VALUES), test=name)
    with pytest.raises(cf.PolicyError, match=r"expected t without parameters, got 't\(x=1\)'"):
        find_test("t(x=1)")


def test_the_name_with_parameters_is_a_test() -> None:
    test = find_test("Glm(link = 'probit')")
    assert test.info.name == "glm(link='probit')"
    assert find_test(test.info.name).info == test.info
    assert find_test("glm(link='logit', family='quasi-binomial')").info.name == "glm"
    assert test.info.corrections == find_test("glm").info.corrections
    assert set(test.info.corrections) == {
        *("tukey", "none", "bonferroni", "holm", "sidak", "hommel", "bh", "by")
    }
    outcome = test.run(pair_all(GRID_VALUES), TestOptions())
    expected = GeneralisedLinearModel(link="probit").fit(GRID_VALUES).model.means
    assert outcome.required_model.means.tolist() == expected.tolist()


def test_one_sided_pvalues_are_halves() -> None:
    pairs = pair_all(GRID_VALUES)
    run = find_test("glm").run
    two, greater, less = (
        run(pairs, TestOptions(alternative=side)).pvalue
        for side in ("two-sided", "greater", "less")
    )
    assert 2 * np.minimum(greater, less) == pytest.approx(two)


def test_studies_of_tests() -> None:
    table = covid("nDCG@20", slice(None, None, 8))
    names = ["glm", "glm(link='probit')+tukey", "t+holm"]
    study = cf.meta.split_topics(table, names, sizes=[10], repeats=10)
    assert study.tests == ("glm", "glm(link='probit')+tukey", "t")
    assert "glm(link='probit'): Generalised linear model" in "\n".join(study.heading())
    assert study.tabulate_outcomes("significant")["10"].to_numpy().min() > 0
    alarms = cf.meta.false_positives(table, names, sizes=[20], repeats=20, null="swapped")
    assert alarms.summary()["FWER"].to_numpy().max() < 0.5
    power = cf.meta.power_of_tests(table, names, sizes=[20], repeats=5)
    assert power.summarise_errors()["power"].to_numpy().min() > 0
    with pytest.raises(cf.PolicyError, match="the null 'centred' shifts scores; use 'simulated'"):
        cf.meta.false_positives(table, ["t", "glm"], sizes=[20], repeats=20)


def test_a_study_names_topics_that_the_model_excludes() -> None:
    values = np.vstack([noise(8, 12, 4), np.zeros((1, 4))])
    study = cf.meta.split_topics(scored(values), ["glm", "t"], sizes=[5], repeats=4)
    assert "with only scores of 0, or only scores of 1: 'q12'" in "\n".join(study.format_notes())
    assert not cf.meta.split_topics(scored(values), ["t"], sizes=[5], repeats=4).format_notes()
