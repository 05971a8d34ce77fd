"""Power of published tests: SciPy's noncentral t, statsmodels, known limits, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nct
from statsmodels.stats.power import TTestPower

import cranfield as cf
from cranfield.significance import power_of_published
from cranfield.significance.published import PublishedPower
from tests.cli.running import cranfield


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("t", "topics"), [(2.4, 50), (1.1, 25), (-0.3, 50), (4.2, 12)])
def test_power_and_topics(t: float, topics: int, alternative: str) -> None:
    result = power_of_published([(t, topics)], alternative=alternative, alpha=0.01, power=0.9)
    names = {"greater": "larger", "less": "smaller"}
    oracle = TTestPower()
    options = {"alpha": 0.01, "alternative": names.get(alternative, alternative)}
    effect = t / np.sqrt(topics)
    assert result.effect[0] == pytest.approx(effect)
    is_against = (alternative == "greater" and t < 0) or (alternative == "less" and t > 0)
    assert result.power[0] == pytest.approx(oracle.power(effect, topics, **options), rel=1e-7)
    if is_against:
        assert result.to_polars()["needed"][0] is None
        assert f"opposite to the alternative '{alternative}'" in result.notes[0]
    else:
        needed = int(result.needed[0])
        assert oracle.power(effect, needed, **options) >= 0.9 - 1e-9
        assert needed == 2 or oracle.power(effect, needed - 1, **options) < 0.9


@pytest.mark.parametrize("t", [-8.0, -0.4, 0.0, 0.9, 3.3, 40.0])
def test_interval(t: float) -> None:
    result = power_of_published([(t, 30)], alpha=0.1)
    low, high = result.low[0] * np.sqrt(30), result.high[0] * np.sqrt(30)
    assert nct.sf(t, 29, low) == pytest.approx(0.05, rel=1e-6)
    assert nct.cdf(t, 29, high) == pytest.approx(0.05, rel=1e-6)
    assert result.low[0] < result.effect[0] < result.high[0]


def test_interval_of_another_program() -> None:
    """conf.limits.nct(ncp=2.83, df=126) of the R package MBESS: 0.8337502 and 4.815359."""
    result = power_of_published([(2.83, 127)])
    limits = np.array([result.low[0], result.high[0]]) * np.sqrt(127)
    assert limits == pytest.approx([0.8337502, 4.815359], abs=1e-6)


@pytest.mark.parametrize(("t", "topics"), [(-1.2, 11), (0.0, 4), (2.4, 50), (9.0, 21)])
def test_the_interval_inverts_the_noncentral_t(t: float, topics: int) -> None:
    result = power_of_published([(t, topics)], alpha=0.1)
    for effect, tail in ((result.low[0], 0.05), (result.high[0], 0.95)):
        assert nct.sf(t, topics - 1, effect * np.sqrt(topics)) == pytest.approx(tail, rel=1e-8)


def test_power_at_the_level_is_about_one_half() -> None:
    """Post-hoc power says nothing that the p-value does not."""
    result = power_of_published([(2.0096, 50)])
    assert result.p[0] == pytest.approx(0.05, abs=1e-4)
    assert result.power[0] == pytest.approx(0.5, abs=0.02)
    assert result.to_polars()["needed at bound"][0] is None or result.low[0] < 0.001


def test_no_effect_needs_no_number_of_topics() -> None:
    result = power_of_published([(0.0, 10, "none"), (1e-4, 10, "tiny")])
    assert result.to_polars()["needed"].to_list() == [None, None]
    assert result.notes == (
        "tiny: the required power for this effect takes more than 10,000,000 topics",
    )


def test_command(tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text("name,t,topics\nours,2.4,50\n2,1.1,25\n")
    args = ("compare", "--scores", "published.csv", "--as", "power")
    out, _ = cranfield(tmp_path, *args, "-f", "csv")
    header, *rows = out.splitlines()
    assert header.split(",") == list(PublishedPower.columns)
    frame = power_of_published([(2.4, 50, "ours"), (1.1, 25, "2")]).to_polars()
    assert [float(row.split(",")[4]) for row in rows] == frame["effect"].to_list()
    out, _ = cranfield(tmp_path, *args, "--alpha", "0.01", "--alternative", "greater")
    assert "2 paired t-tests, one-sided (greater), alpha 0.01" in out
    _, err = cranfield(tmp_path, *args, "-m", "AP", status=2)
    assert "--measure cannot be combined with --as power" in err
    _, err = cranfield(tmp_path, "compare", "--as", "power", status=2)
    assert "--as power requires one --scores FILE with columns t and topics" in err
    (tmp_path / "published.csv").write_text("t,topics\n2.4,1\n")
    _, err = cranfield(tmp_path, *args, status=2)
    assert "published.csv:2: expected topics >= 2, got 1" in err


def test_refusals() -> None:
    with pytest.raises(cf.InputError, match="row 1: expected topics >= 2, got 1"):
        power_of_published([(2.4, 1)])
    with pytest.raises(cf.InputError, match="has no t column"):
        power_of_published([{"topics": 5}])
    with pytest.raises(cf.PolicyError, match="alternative"):
        power_of_published([(2.4, 10)], alternative="both")
    with pytest.raises(cf.PolicyError, match="alpha"):
        power_of_published([(2.4, 10)], alpha=5)
    with pytest.raises(cf.PolicyError, match="alpha of a one-sided test must be below 0.5"):
        power_of_published([(2.4, 10)], alpha=0.6, alternative="less")
