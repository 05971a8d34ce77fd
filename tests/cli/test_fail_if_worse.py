"""`cranfield compare --fail-if-worse`: its exit status, held against scipy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_rel

from .running import cranfield, refusals, refused

RANDOM = np.random.default_rng(20)
OLD = RANDOM.uniform(0.3, 0.6, 40)
SHIFTS = (-0.1, -0.03, -0.015, 0.0, 0.02, 0.1)
NOISE = RANDOM.normal(0, 0.05, 40)


def scores(
    folder: Path, shift: float, measure: str = "nDCG@10"
) -> tuple[str, np.ndarray[Any, Any]]:
    new = OLD + shift + NOISE
    lines = [
        f"{measure},{topic},{system},{score:.17g}"
        for system, by_topic in (("old", OLD), ("new", new))
        for topic, score in enumerate(by_topic)
    ]
    (folder / "s.csv").write_text("\n".join(["measure,topic,system,score", *lines]) + "\n")
    return "s.csv", new - OLD


@pytest.mark.parametrize("shift", SHIFTS)
def test_significantly_worse(tmp_path: Path, shift: float) -> None:
    path, difference = scores(tmp_path, shift)
    worse = ttest_rel(difference, np.zeros(40)).pvalue <= 0.05 and difference.mean() < 0
    given = ("compare", "--scores", path, "-b", "old", "-t", "t", "--fail-if-worse")
    out, err = cranfield(tmp_path, *given, status=int(worse))
    assert ("cranfield: worse (p " in err) == worse
    assert "new minus old, nDCG@10: " in err or not worse
    assert "new" in out


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("margin", [0.005, 0.04, 0.2])
def test_not_shown_to_be_no_worse(tmp_path: Path, shift: float, margin: float) -> None:
    path, difference = scores(tmp_path, shift)
    shown = ttest_rel(difference, np.full(40, -margin), alternative="greater").pvalue < 0.05
    given = ("compare", "--scores", path, "-b", "old", "-t", "t", "--margin", str(margin))
    cranfield(tmp_path, *given)
    _, err = cranfield(tmp_path, *given, "--fail-if-worse", status=int(not shown))
    assert ("not shown to be non-inferior within" in err) == (not shown)


@pytest.mark.parametrize(("shift", "worse"), [(-0.1, 0), (0.1, 1)])
def test_where_less_is_better(tmp_path: Path, shift: float, worse: int) -> None:
    path, _ = scores(tmp_path, shift, "SetE")
    given = ("compare", "--scores", path, "-b", "old", "-t", "t", "--fail-if-worse")
    cranfield(tmp_path, *given, status=worse)
    cranfield(tmp_path, *given, "--margin", "0.05", status=worse)


@refusals(
    """
 | --fail-if-worse requires a single --baseline
-b old -b new | --fail-if-worse requires a single --baseline
-b old --alternative less | two-sided test
-b old --as ranks | --fail-if-worse cannot be combined with --as ranks
"""
)
def test_refused(tmp_path: Path, words: list[str], reason: str) -> None:
    path, _ = scores(tmp_path, 0)
    refused(tmp_path, "compare", "--scores", path, "--fail-if-worse", *words, reason=reason)


@pytest.mark.parametrize(("statistic", "word"), [("mean", "minus"), ("geometric-mean", "to")])
def test_a_pair_without_limits_and_log_ratios(tmp_path: Path, statistic: str, word: str) -> None:
    systems = {
        "old": [0.69, 0.88, 0.42, 0.56, 0.73, 0.35],
        "less": [0.61, 0.90, 0.34, 0.53, 0.59, 0.30],
        "least": [0.58, 0.84, 0.29, 0.55, 0.54, 0.30],
    }
    rows = ["topic," + ",".join(systems)]
    for topic, values in enumerate(zip(*systems.values(), strict=True)):
        rows.append(",".join(map(str, (topic, *values))))
    (tmp_path / "s.csv").write_text("\n".join(rows) + "\n")
    given = ("compare", "--scores", "s.csv", "-b", "old", "-t", "t", "--statistic", statistic)
    _, err = cranfield(tmp_path, *given, "--fail-if-worse", status=1)
    failures = [line for line in err.splitlines() if "worse (p" in line]
    assert len(failures) == 2 and all(f" {word} old" in line for line in failures)
    # By the second step of Holm's procedure a pair may differ with an interval that contains 0.
    numbers = np.array(list(systems.values()))
    numbers = np.log(numbers) if statistic == "geometric-mean" else numbers
    pvalues = [ttest_rel(numbers[0], numbers[k]).pvalue for k in (1, 2)]
    without = sum(p > 0.025 for p in pvalues)
    assert sum(line.endswith(")") for line in failures) == 2 - without
    assert "nan" not in err
    assert without == 1 or statistic != "mean"
