"""Mean ranks: 1 is the best system, whatever the direction of the measure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, kruskal, rankdata

import cranfield as cf
from tests.cli.running import cranfield

VALUES = np.random.default_rng(0).random((12, 3)) + [0.0, 0.5, 0.2]


def _scores(*, lower: bool) -> cf.Scores:
    values = -VALUES if lower else VALUES
    topics = tuple(map(str, range(12)))
    return cf.Scores(
        values, topics=topics, systems=tuple("abc"), measure="m", lower_is_better=lower
    )


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("test", ["friedman", "kruskal-wallis"])
def test_rank_one_is_the_best(test: str, lower: bool) -> None:
    found = cf.compare(_scores(lower=lower), test=test)
    by_topic = test == "friedman"
    ranks = rankdata(-VALUES, axis=1) if by_topic else rankdata(-VALUES).reshape(12, 3)
    assert found.means == pytest.approx(ranks.mean(axis=0))
    assert found.difference == pytest.approx(found.means[found.first] - found.means[found.second])
    low, high = found.interval
    assert ((low <= found.difference) & (found.difference <= high)).all()
    assert (np.sign(found.statistic) == np.sign(found.difference)).all()
    assert [found.systems[k] for k in found.order] == ["b", "c", "a"]
    assert next(iter(found.groups())) == "b"
    assert found.omnibus is not None
    expected = (friedmanchisquare if by_topic else kruskal)(*VALUES.T)
    assert found.omnibus.statistic == pytest.approx(expected.statistic)
    assert found.rank_sets().to_polars()["system"][0] == "b"


def test_nemenyi_is_found_by_name_and_equals_scikit_posthocs() -> None:
    """P-values of posthoc_nemenyi_friedman of scikit-posthocs 0.17.1, in order of the pairs."""
    rows = "3957 2864 1793 5682 4398 1576 2947 3869 6792 1485"
    values = np.array([[*map(float, row)] for row in rows.split()])
    scores = cf.Scores(values, topics=tuple(map(str, range(10))), systems=tuple("abcd"))
    found = cf.compare(scores, test="Nemenyi")
    assert (found.test, found.correction) == ("friedman", "tukey")
    expected = [
        *(0.028563407572000488, 0.002988935142544946, 0.1601258765249841),
        *(0.8998835057401947, 0.8998835057401947, 0.5083531516134436),
    ]
    assert found.adjusted_pvalues == pytest.approx(expected, abs=1e-12)
    with pytest.raises(cf.PolicyError, match="'Nemenyi': Nemenyi's test is friedman"):
        cf.compare(scores, test="friedman", correction="Nemenyi")


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(("alternative", "better"), [("greater", True), ("less", False)])
def test_one_sided_tests_are_of_the_scores(alternative: str, better: bool, lower: bool) -> None:
    options: dict[str, Any] = {"test": "friedman", "alternative": alternative, "baseline": "a"}
    found = cf.compare(_scores(lower=lower), **options)
    assert found.tested_verdict == ("better" if better != lower else "worse")
    # b has higher scores than a, or lower ones where these are better.
    assert found.is_significant().tolist() == [better != lower, False]
    low, high = found.interval
    assert (np.isinf(low) if better != lower else np.isinf(high)).all()
    covered = low[0] <= 0 <= high[0]
    assert covered == (not found.is_significant()[0])


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "json", "csv", "prose", "ranks"])
def test_outputs_have_rank_one_for_the_best(tmp_path: Path, form: str) -> None:
    rows = (f"m,{t},{s},{VALUES[t, k]}\n" for t in range(12) for k, s in enumerate("abc"))
    (tmp_path / "scores.csv").write_text("measure,topic,system,score\n" + "".join(rows))
    option = ("--as", form) if form in {"prose", "ranks"} else ("--format", form)
    given = ("compare", "--scores", "scores.csv", "--test", "friedman")
    out, _ = cranfield(tmp_path, *given, *option)
    if form == "prose":
        assert "b has the lowest mean rank, 1.25" in out
    elif form != "csv":
        assert "1.25" in out
        assert "2.75" not in out
    else:
        assert "-1.16" in out or "1.16" in out
