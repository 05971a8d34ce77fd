"""ANOVA with random topics against lme4 and lmerTest, and sphericity against car."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError
from cranfield.reporting.comparison_formats import convert_comparison
from cranfield.significance.models.anova import fit_factorial, fit_two_way
from cranfield.significance.models.random_topics import fit_random_topics, fit_random_topics_model
from tests.conftest import DATA


def scores(
    seed: int, topics: int, systems: int, shards: int, interaction: float, gaps: float
) -> Any:
    """Draw scores by shard, in three decimals; a topic has a score in the first shard at least."""
    rng = np.random.default_rng(seed)
    values = (
        (0.5 + rng.normal(0, 0.2, (topics, 1, 1)))
        + rng.normal(0, interaction, (topics, systems, 1))
        + rng.normal(0, 0.1, (topics, 1, shards))
        + rng.normal(0, 0.1, (topics, systems, shards))
        + 0.04 * np.arange(systems)[:, None]
    )
    known = rng.random((topics, 1, shards)) >= gaps
    known[:, :, 0] = True
    return np.where(known, values.round(3), np.nan)


LMER = json.loads((DATA / "significance" / "lme4.json").read_text())
"""Scores by `scores(*drawn)`, and what lme4 and lmerTest say; see the README of the data."""


@pytest.mark.parametrize("known", LMER, ids=range(len(LMER)))
def test_the_model_is_that_of_lme4_and_lmer_test(known: dict[str, Any]) -> None:
    table, model = fit_random_topics(scores(*known["drawn"]))
    np.testing.assert_allclose(list(table.components.values()), known["variances"], atol=2e-6)
    error = np.sqrt(2 * model.error_variance / model.counts[0])
    assert error == pytest.approx(known["error"], abs=3e-7)
    assert model.df == pytest.approx(known["df"], abs=5e-4)
    assert table.get_f("System")[0] == pytest.approx(known["f"], rel=1e-4)
    np.testing.assert_allclose(model.means[:3], known["means"], atol=1e-6)


@pytest.mark.parametrize("interaction", [0.0, 0.1])
def test_without_gaps_it_is_two_way_anova_of_means(interaction: float) -> None:
    values = scores(6, 9, 4, 3, interaction, 0.0)
    table, model = fit_random_topics(values)
    flat, simple = fit_two_way(values.mean(axis=2))
    for one in (model, fit_random_topics_model(values)):
        np.testing.assert_allclose(one.means, simple.means, rtol=1e-12)
        assert one.error_variance == pytest.approx(simple.error_variance, rel=1e-10)
        assert (one.df, one.counts.tolist()) == (simple.df, simple.counts.tolist())
    k = table.sources.index("System")
    assert table.get_f("System") == pytest.approx(flat.get_f("System"), rel=1e-10)
    assert table.omega2[k] == pytest.approx(flat.omega2[k], rel=1e-10)
    assert table.f[k] == pytest.approx(table.ms[k] / table.ms[k + 1], rel=1e-12)
    terms = fit_factorial(values, "Topic", "System", "Topic:System", "Topic:Shard")
    np.testing.assert_allclose(table.ss, terms.ss, rtol=1e-10)
    assert table.df.tolist() == terms.df.tolist()
    np.testing.assert_allclose(table.fitted, terms.fitted, rtol=1e-12)
    assert table.sphericity is not None
    assert flat.sphericity is not None
    assert vars(table.sphericity) == pytest.approx(vars(flat.sphericity), rel=1e-9)


def test_estimated_variances_without_gaps_are_those_of_mean_squares() -> None:
    table, _ = fit_random_topics(scores(1, 12, 5, 3, 0.1, 0.0))
    of_topic, _, both, shard, error, _ = table.ms
    np.testing.assert_allclose(
        list(table.components.values()),
        [(of_topic - both - shard + error) / 15, (both - error) / 3, (shard - error) / 5, error],
        rtol=1e-10,
    )


def test_variations_are_nested_in_topics() -> None:
    """Their order within a topic, that of topics, and the unit of scores mean nothing."""
    values = scores(2, 12, 5, 3, 0.1, 0.4)
    rng = np.random.default_rng(0)
    moved = np.stack([topic[:, rng.permutation(3)] for topic in values])[rng.permutation(12)]
    table, model = fit_random_topics(values)
    for factor in (1.0, 1e-60, 1e60):
        other, again = fit_random_topics(moved * factor)
        np.testing.assert_allclose(other.f, table.f, rtol=1e-8)
        np.testing.assert_allclose(again.means, model.means * factor, rtol=1e-10)
        assert again.df == pytest.approx(model.df, rel=1e-8)
    wide = np.concatenate([values, np.full((12, 5, 2), np.nan)], axis=2)
    assert fit_random_topics(wide)[1].error_variance == pytest.approx(
        model.error_variance, rel=1e-12
    )
    lonely = np.concatenate([values, np.full((1, 5, 3), np.nan)])
    assert fit_random_topics(lonely)[1].error_variance == pytest.approx(
        model.error_variance, rel=1e-12
    )


def test_gaps_that_do_not_tell_systems_apart() -> None:
    values = scores(2, 12, 5, 3, 0.1, 0.4)
    same = np.where(np.isnan(values), np.nan, values[:, :1])
    table, model = fit_random_topics(same)
    assert np.isnan(table.get_f("System")).all()
    assert (model.error_variance, table.components["Topic:System"]) == (0.0, 0.0)
    # Differences that are the same in all shards of a topic leave no error.
    exact = same + values[:, :, :1]
    weighed = fit_random_topics(exact)[1]
    apart = values[:, :, 0] - values[:, :, 0].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(weighed.means - weighed.means.mean(), apart.mean(axis=0), atol=1e-12)
    assert weighed.df == 44
    assert weighed.error_variance == pytest.approx(
        fit_two_way(values[:, :, 0])[1].error_variance, rel=1e-10
    )
    # One shard a topic: nothing tells an interaction from the error.
    once = np.where(np.arange(3) == 0, values, np.nan)
    table, model = fit_random_topics(once)
    assert not table.components
    assert model.error_variance == pytest.approx(
        fit_two_way(values[:, :, 0])[1].error_variance, rel=1e-10
    )


def test_comparison() -> None:
    values = scores(2, 12, 5, 3, 0.1, 0.4)
    found = cf.compare(values, missing="available")
    assert (found.test, found.correction) == ("random-topics", "bootstrap-tukey")
    assert cf.compare(values, test="mixed", missing="available").test == "random-topics"
    assert found.anova is not None
    assert "(Satterthwaite)" in str(found.anova)
    assert "estimated variances: topic 0.05357, topic:system 0.01096" in str(found.anova)
    table = json.loads(json.dumps(convert_comparison(found)))
    assert table["anova notes"] == [*found.anova.notes, *found.anova.heading()[1:]]
    assert table["variances"]["Topic:System"] == pytest.approx(0.0109608, abs=1e-6)
    baseline = cf.compare(values, missing="available", baseline="1")
    assert baseline.correction == "bootstrap-tukey"
    with pytest.raises(CranfieldError, match="missing='available'"):
        cf.compare(values)


def test_tests_of_these_topics_only_say_so() -> None:
    """Also how the F of random topics would be beside their own."""
    values = scores(1, 12, 5, 3, 0.1, 0.0)
    for name in ("anova-3", "bootstrap-anova"):
        found = cf.compare(values, test=name, resamples=99)
        assert found.anova is not None
        own = f"with Error as the denominator, F of System is {found.anova.get_f('System')[0]:.4g} "
        note = next(one for one in found.notes if "these topics only" in one)
        assert own in note
        assert "which holds for other topics too, it is 4.531 (p 0.0038)" in note
    assert not any("these topics" in one for one in cf.compare(values[:, :, 0]).notes)
    # Without an F there is none to refer to.
    equal = cf.compare(np.full((4, 3, 2), 0.5), test="anova-3", correction="tukey")
    assert equal.notes[0].endswith("the error of the test random-topics includes this variation")


def covarying(seed: int, topics: int, systems: int) -> Any:
    rng = np.random.default_rng(seed)
    common = rng.normal(0, 0.15, (topics, 2)) @ rng.normal(0, 1, (2, systems))
    own = rng.normal(0, 0.05, (topics, systems)) * np.linspace(0.5, 2, systems)
    return (0.5 + common + own + 0.05 * np.arange(systems)).round(3)


# summary(Anova(lm(y ~ 1), idata, idesign = ~s, type = 3), multivariate = FALSE) of car 3.1-1:
# F, and of Greenhouse and Geisser, then of Huynh and Feldt, epsilon and p.
CAR = {
    (1, 12, 4): (2.01498, 0.611199073202, 0.161872154416, 0.727408817996, 0.152136985034),
    (2, 30, 8): (5.89043, 0.251759854015, 0.00673184461928, 0.26680249794, 0.00573393632347),
    (3, 10, 9): (2.81654, 0.182565016004, 0.106929727407, 0.208986586184, 0.0983259563436),
}


@pytest.mark.parametrize("drawn", list(CAR))
def test_sphericity_is_that_of_car(drawn: tuple[int, int, int]) -> None:
    table, _ = fit_two_way(covarying(*drawn))
    found = table.sphericity
    assert found is not None
    f, *rest = CAR[drawn]
    assert table.get_f("System")[0] == pytest.approx(f, abs=6e-6)
    ours = (
        *(found.greenhouse_geisser, found.p_greenhouse_geisser),
        *(found.huynh_feldt, found.p_huynh_feldt),
    )
    assert ours == pytest.approx(rest, rel=1e-11)


@pytest.mark.parametrize("shape", [(20, 6), (5, 30), (7, 8)])
def test_epsilon_by_eigenvalues_of_contrasts(shape: tuple[int, int]) -> None:
    values = covarying(4, *shape)
    contrasts = np.linalg.qr(np.vander(np.arange(shape[1]) / shape[1], shape[1])[:, ::-1])[0][:, 1:]
    contrasts -= contrasts.mean(axis=0)
    roots = np.linalg.eigvalsh(np.cov(values @ np.linalg.qr(contrasts)[0], rowvar=False))
    found = fit_two_way(values)[0].sphericity
    assert found is not None
    epsilon = roots.sum() ** 2 / ((shape[1] - 1) * (roots**2).sum())
    assert found.greenhouse_geisser == pytest.approx(epsilon, rel=1e-9)
    assert found.greenhouse_geisser <= min(1.0, (shape[0] - 1) / (shape[1] - 1)) + 1e-12
    assert found.greenhouse_geisser <= found.huynh_feldt <= 1


def test_sphericity_where_there_is_nothing_to_correct() -> None:
    values = covarying(1, 12, 4)
    assert fit_two_way(values[:, :2])[0].sphericity is None
    assert fit_two_way(np.tile(values[:, :1], 4))[0].sphericity is None
    # Two topics say nothing of the covariance: all is in one direction.
    least = fit_two_way(values[:2])[0].sphericity
    assert least is not None
    assert least.greenhouse_geisser == pytest.approx(1 / 3)
    assert least.huynh_feldt == pytest.approx(1 / 3)
    table = cf.compare(values).anova
    assert (
        "p of System corrected for non-sphericity: 0.1619 (Greenhouse-Geisser epsilon 0.6112)"
        in str(table)
    )
    assert table is not None
    assert "Greenhouse-Geisser" in table._repr_html_()
