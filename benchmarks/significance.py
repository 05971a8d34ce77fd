"""Time the tests of significance against SciPy, on 129 systems and 50 topics.

    python -m benchmarks.significance [--repeat N]

Both sides run in one process, one after the other, on the same scores. Where SciPy has to be called
for each pair, it is timed on some pairs and scaled to all 8,256; such rows say so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import stats

import cranfield as cf
from cranfield.significance.corrections.resampled import max_t_pvalues, randomised_tukey
from cranfield.significance.corrections.studentised import distribution, studentised_range_sf
from cranfield.significance.differences import all_pairs
from cranfield.significance.models.anova import three_way
from cranfield.significance.pairwise.catalogue import find_test
from cranfield.significance.registry import Options

TOPICS, SYSTEMS = 50, 129
PAIRS = SYSTEMS * (SYSTEMS - 1) // 2
EIGHT = (
    *("sign", "signed-rank", "rank-sum", "t", "anova-1", "anova-2", "kruskal-wallis", "friedman"),
)
RESAMPLES = 10_000


@dataclass(frozen=True)
class Line:
    """Seconds of ours and of a peer on the same work; the peer's may be scaled."""

    what: str
    ours: float
    peer: float | None = None
    note: str = ""

    def text(self) -> str:
        if self.peer is None:
            return f"  {self.what:<58} {self.ours:>9.4f} {'':>10} {'':>9}  {self.note}"
        ratio = self.peer / self.ours
        return f"  {self.what:<58} {self.ours:>9.4f} {self.peer:>10.4f} {ratio:>8.0f}x  {self.note}"


def simulated(seed: int = 1) -> NDArray[np.float64]:
    """Scores like AP: topics differ most, then systems; between 0 and 1, with 4 decimals."""
    rng = np.random.default_rng(seed)
    topics = rng.normal(0, 0.16, (TOPICS, 1))
    systems = np.sort(rng.normal(0.25, 0.1, SYSTEMS))
    noise = rng.normal(0, 0.11, (TOPICS, SYSTEMS))
    return np.asarray(np.clip(topics + systems + noise, 0, 1).round(4))


def seconds(function: Callable[[], object], repeat: int) -> float:
    """Return the median time of some calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times)


def scaled(function: Callable[[int], object], number: int, repeat: int = 1) -> float:
    """Return the time for all pairs, from that of some."""
    return seconds(lambda: [function(k) for k in range(number)], repeat) / number * PAIRS


def measured(repeat: int) -> list[Line]:
    values = simulated()
    scores = cf.Scores(values, tuple(map(str, range(TOPICS))), tuple(map(str, range(SYSTEMS))))
    pairs = all_pairs(values)
    x, y = values[:, pairs.first], values[:, pairs.second]
    options = Options(resamples=RESAMPLES)
    some = np.random.default_rng(0).permutation(PAIRS)

    def compare(test: str) -> None:
        distribution.cache_clear()
        cf.compare(scores, test=test, correction=find_test(test).info.corrections[0])

    def run(test: str) -> None:
        find_test(test).run(pairs, options)

    for test in EIGHT:
        compare(test)  # import what is imported late

    def eight() -> None:
        for test in EIGHT:
            compare(test)

    lines = [Line(f"all pairs: {t}", seconds(partial(compare, t), repeat)) for t in EIGHT]
    together = seconds(eight, repeat)
    lines.append(Line("these eight together, with Holm's correction or Tukey's HSD", together))

    of_scipy = f"SciPy {scipy.__version__}"
    loop = f"{of_scipy} in a loop, from 400 pairs"
    axis = f"{of_scipy} with axis"
    t_loop = scaled(lambda k: stats.ttest_rel(x[:, some[k]], y[:, some[k]]), 400)
    lines.append(Line("paired t, all pairs", seconds(lambda: run("t"), repeat), t_loop, loop))
    t_axis = seconds(lambda: stats.ttest_rel(x, y, axis=0), repeat)
    lines.append(Line("paired t, all pairs", seconds(lambda: run("t"), repeat), t_axis, axis))
    w_loop = scaled(lambda k: stats.wilcoxon(x[:, some[k]], y[:, some[k]]), 400)
    ours = seconds(lambda: run("signed-rank"), repeat)
    lines.append(Line("signed rank, all pairs", ours, w_loop, loop))
    w_axis = seconds(lambda: stats.wilcoxon(x, y, axis=0, method="asymptotic"), repeat)
    lines.append(Line("signed rank, all pairs", ours, w_axis, axis))
    u_axis = seconds(lambda: stats.mannwhitneyu(x, y, axis=0), repeat)
    lines.append(
        Line("rank sum, all pairs", seconds(lambda: run("rank-sum"), repeat), u_axis, axis)
    )

    found = cf.compare(scores, correction="tukey")
    q, df = np.abs(found.statistic), 6272.0

    def tukey() -> None:
        distribution.cache_clear()
        studentised_range_sf(q, SYSTEMS, df)

    theirs = scaled(lambda k: stats.studentized_range.sf(q[some[k]], SYSTEMS, df), 60)
    note = f"{of_scipy}, from 60 values"
    lines.append(Line("Tukey's p-values, all pairs", seconds(tukey, repeat), theirs, note))

    def permutation(k: int) -> None:
        stats.permutation_test(
            (x[:, some[k]], y[:, some[k]]),
            lambda a, b, axis: (a - b).mean(axis=axis),
            permutation_type="samples",
            n_resamples=RESAMPLES,
            vectorized=True,
            rng=0,
        )

    theirs = scaled(permutation, 8)
    note = f"{of_scipy}, from 8 pairs"
    ours = seconds(lambda: run("randomisation"), repeat)
    lines.append(Line(f"randomisation test, all pairs, B = {RESAMPLES:,}", ours, theirs, note))

    def studentised(sample: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        deviation = np.maximum(sample.std(axis=axis, ddof=1), 1e-12)
        return np.asarray(sample.mean(axis=axis) / deviation)

    def bootstrap(k: int) -> None:
        z = x[:, some[k]] - y[:, some[k]]
        stats.bootstrap(
            (z - z.mean(),), studentised, n_resamples=RESAMPLES, method="percentile", rng=0
        )

    theirs = scaled(bootstrap, 8)
    ours = seconds(lambda: run("bootstrap"), repeat)
    lines.append(Line(f"studentised bootstrap, all pairs, B = {RESAMPLES:,}", ours, theirs, note))
    outcome = find_test("randomisation").run(pairs, Options(resamples=1))
    ours = seconds(lambda: randomised_tukey(outcome, pairs, options), repeat)
    lines.append(Line(f"randomised Tukey HSD, B = {RESAMPLES:,}", ours))
    ours = seconds(lambda: max_t_pvalues(pairs, options), repeat)
    lines.append(Line(f"step-down max-T, B = {RESAMPLES:,}", ours))

    for name, work in (
        ("Tukey's HSD bootstrapped over topics, the default", lambda: cf.compare(scores)),
        ("bootstrap max-T", lambda: cf.compare(scores, test="t", correction="bootstrap-max-t")),
        ("sets of ranks", lambda: cf.significance.rank_sets(scores)),
    ):
        lines.append(Line(f"{name}, B = {RESAMPLES:,}", seconds(work, repeat)))
    shards = np.random.default_rng(3).random((249, 110, 3))
    by_shard = cf.Scores(shards, tuple(map(str, range(249))), tuple(map(str, range(110))))
    ours = seconds(lambda: three_way(shards), repeat)
    lines.append(Line("three-way ANOVA (MD3), 249 x 110 x 3", ours))

    def three_way_tukey() -> None:
        distribution.cache_clear()
        cf.compare(by_shard, test="anova-3", correction="tukey")

    ours = seconds(three_way_tukey, repeat)
    lines.append(Line("the same with Tukey's HSD of all 5,995 pairs", ours))
    lines.append(_statsmodels(repeat))
    return lines


def _statsmodels(repeat: int) -> Line:
    try:
        import pandas as pd
        import statsmodels.api as sm
        import statsmodels.formula.api as smf
    except ImportError:
        return Line("three-way ANOVA, 20 x 10 x 3", float("nan"), note="statsmodels is not there")
    small = np.random.default_rng(3).random((20, 10, 3))
    axes = np.indices(small.shape).reshape(3, -1)
    frame = pd.DataFrame({"t": axes[0], "s": axes[1], "k": axes[2], "y": small.ravel()})

    def theirs() -> None:
        sm.stats.anova_lm(smf.ols("y ~ (C(t) + C(s) + C(k)) ** 2", frame).fit())

    ours = seconds(lambda: three_way(small), repeat)
    note = f"statsmodels {sm.__version__ if hasattr(sm, '__version__') else ''}".strip()
    return Line("three-way ANOVA, 20 x 10 x 3", ours, seconds(theirs, 1), note)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="calls of each (5); medians count")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")
    options = parser.parse_args()
    print(
        f"Significance: {SYSTEMS} systems, {TOPICS} topics, {PAIRS:,} pairs;"
        f" Python {platform.python_version()}, NumPy {np.__version__},"
        f" {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )
    print(f"  {'':<58} {'ours s':>9} {'peer s':>10} {'peer/ours':>9}")
    lines = measured(options.repeat)
    for line in lines:
        print(line.text())
    print(flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
