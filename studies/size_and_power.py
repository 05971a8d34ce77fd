"""How often do tests err, and how much do they find, on systems that are like real ones?

    python -m studies.size_and_power size|power FOLDER [--populations NAME ...] [--scores FILE ...]
        [--null moved|logit] [--tests TEST ...] [--groups GROUP ...] [--topics N ...] [--sets N]
        [--jobs N] [--cache DIR]

FOLDER holds public data as subfolders `trec8-adhoc` (qrels, runs, `scores/adhoc8_ap.csv`),
`trec-covid-r5` and `trec-web-2012`; populations without data are skipped. Scores of other
collections are populations too: tables of topics and systems, or of systems only.

Topics are drawn from the real ones with replacement, so that the true means are known. For `size`
all means are made equal, while spreads and correlations stay: any significant pair is an error. For
`power` the means are those of the real systems. Means are made equal by a constant for each system,
added to its scores (`moved`) or to their logits (`logit`), which keeps scores from 0 to 1: so do
generalised linear models need them. Systems that cannot have the common mean, with too many scores
of 0, are excluded there.

Groups of systems: `near` are ten with neighbouring means, `distinct` the same without runs that
score as another one on half of the topics, `spread` 25 from best to worst, `all`, `pair` two
neighbours among distinct ones. With `near`, `distinct` and `pair` data sets take turns between
windows. A test and its correction may be followed by `+last`: all systems are compared with the
last. Finished parts are kept in the cache, and a longer study continues from them. Prints tables in
Markdown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit, logit

import cranfield as cf
from cranfield.base.arrays import Floats, Indices
from cranfield.base.proportions import compute_clopper_pearson_intervals
from cranfield.base.streams import make_stream
from cranfield.meta.test_studies.fast_tests import TestChoice, compute_decisions
from cranfield.meta.work import hash_scores, run_parts, split_repeats
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import pair_all
from cranfield.significance.simulation import Resampled
from studies.common import print_head, print_row

TESTS = (
    "anova-2+tukey",
    "anova-2+bootstrap-tukey",
    "anova-2+dunnett+last",
    "anova-2+bootstrap-tukey+last",
    "t+max-t",
    "t+bootstrap-max-t",
    "t+holm",
    "t+bh",
    "randomisation+randomised-tukey",
    "bootstrap-anova+bh",
    "friedman+tukey",
    "signed-rank+holm",
    "sign+holm",
    "bootstrap+holm",
)
MODELS = (
    "glm+holm",
    "glm+tukey",
    "glm(link='probit')+holm",
    "glm(link='cloglog')+holm",
    "glm(link='loglog')+holm",
    "glm(family='gaussian')+holm",
)
"""Generalised linear models, which need scores from 0 to 1: the tests of the null `logit`."""

OF_TWO = ("t+none", "bootstrap+none", "randomisation+none", "signed-rank+none", "sign+none")
"""Tests of the group `pair`."""

GROUPS = ("near", "distinct", "spread", "all", "pair")
TOPICS = (25, 50)
NEAR, SPREAD, WINDOWS, COUPLES = 10, 25, 5, 25
PART = 50
"""Data sets in a part of the study."""

RESAMPLES, LARGE_RESAMPLES, ALPHA, SEED = 999, 199, 0.05, 20261122

JUDGED: dict[str, tuple[str, str, str]] = {
    "TREC-8 P@10": ("trec8-adhoc", "qrels.trec8.adhoc.txt.gz", "P@10"),
    "TREC-8 nDCG": ("trec8-adhoc", "qrels.trec8.adhoc.txt.gz", "nDCG"),
    "COVID nDCG@20": ("trec-covid-r5", "qrels.covid-round5.txt.gz", "nDCG@20"),
    "COVID P@5": ("trec-covid-r5", "qrels.covid-round5.txt.gz", "P@5"),
    "COVID AP@100": ("trec-covid-r5", "qrels.covid-round5.txt.gz", "AP@100"),
    "Web 2012 ERR-IA@20": ("trec-web-2012", "qrels-for-ndeval.txt.gz", "ERR-IA@20"),
    "Web 2012 nDCG@20": ("trec-web-2012", "qrels.adhoc.txt.gz", "nDCG@20"),
}
"""Populations by name: folder, judgments and measure."""

SAVED = {"TREC-8 AP": "trec8-adhoc/scores/adhoc8_ap.csv"}
"""Populations whose scores are there as a table of systems."""


def table_of(path: Path) -> Floats:
    """Read scores from a CSV table: a column a system, and maybe one that names topics."""
    frame = pl.read_csv(path).drop("topic", strict=False)
    return frame.select(pl.col(pl.Float64, pl.Int64)).to_numpy().astype(np.float64)


def judged_scores(folder: Path, qrels: str, measure: str, cache: Path | None) -> Floats:
    """Score the runs of a folder, once; the cache keeps what was found."""
    name = "".join(one if one.isalnum() else "-" for one in f"{folder.name} {measure}")
    kept = None if cache is None else cache / f"{name}.npy"
    if kept is not None and kept.exists():
        found: Floats = np.load(kept)
        return found
    runs = sorted([*folder.glob("runs/*"), *folder.glob("*.run.xz")])
    if not runs:
        raise FileNotFoundError(folder)
    options: dict[str, Any] = {"compat": "ndeval"} if "IA" in measure else {}
    values = cf.evaluate(runs, folder / qrels, measure, **options)[measure].values
    values = values[~np.isnan(values).any(axis=1)]
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, values)
    return values


def read_populations(
    folder: Path, wanted: Collection[str], files: Iterable[Path], cache: Path | None
) -> dict[str, Floats]:
    """Return the scores of each population, systems from best to worst."""
    every: dict[str, Callable[[], Floats]] = {
        **{name: partial(table_of, folder / path) for name, path in SAVED.items()},
        **{
            name: partial(judged_scores, folder / part, qrels, measure, cache)
            for name, (part, qrels, measure) in JUDGED.items()
        },
        **{path.stem: partial(table_of, path) for path in files},
    }
    found = {}
    for name, make in every.items():
        if wanted and name not in wanted:
            continue
        try:
            values = make()
        except FileNotFoundError as error:
            print(f"{name} is left out: there is no {error}\n")
            continue
        found[name] = values[:, np.argsort(-values.mean(axis=0), kind="stable")]
    return found


def windows(values: Floats, group: str) -> list[Indices]:
    """Return the systems of each data set in turn; none where there are too few."""
    systems = np.arange(values.shape[1])
    if group in ("distinct", "pair"):
        systems = systems[distinct(values)]
    if group == "all":
        return [systems]
    size = {"spread": SPREAD, "pair": 2}.get(group, NEAR)
    if len(systems) <= size:
        return []
    if group == "spread":
        return [systems[np.rint(np.linspace(0, len(systems) - 1, size)).astype(int)]]
    number = COUPLES if group == "pair" else WINDOWS
    starts = np.rint(np.linspace(0, len(systems) - size, number)).astype(int)
    return [systems[start : start + size] for start in dict.fromkeys(starts.tolist())]


def distinct(values: Floats) -> list[int]:
    """Keep, from best to worst, what differs from all that is kept on half of the topics."""
    kept: list[int] = []
    for system in range(values.shape[1]):
        others = (values[:, kept] != values[:, [system]]).mean(axis=0)
        if (others >= 0.5).all():
            kept.append(system)
    return kept


@dataclass(frozen=True)
class Part:
    """Data sets of one cell, from one to another, and the test that they are given to."""

    test: str
    group: str
    topics: int
    start: int
    stop: int

    @property
    def name(self) -> str:
        said = f"{self.test}-{self.group}-{self.topics:03d}-{self.start:06d}-{self.stop:06d}"
        return "".join(one if one.isalnum() or one == "-" else "--" for one in said)


def done(shared: dict[str, list[Resampled]], part: Part) -> pl.DataFrame:
    """Give data sets to a test: a row for each."""
    pools = shared[part.group]
    test, correction, *last = part.test.split("+")
    rows = []
    for at in range(part.start, part.stop):
        pool = pools[at % len(pools)]
        # All tests are given the same data sets, and have random numbers of their own.
        drawn = pool.draw(part.topics, SEED, GROUPS.index(part.group), part.topics, at)
        own_seed = int(make_stream(SEED, 99, at).integers(2**31))
        started = time.perf_counter()
        if test.startswith("glm"):
            decisions, computed = compute_decisions(
                TestChoice(test, correction, ALPHA), drawn, own_seed
            )
            pairs = pair_all(drawn)
            said = decisions.order * decisions.is_significant
            numbers = counts(said, pool, pairs.first, pairs.second)
            rows.append((at, *numbers, time.perf_counter() - started, int(not computed)))
            continue
        found = compare(
            labelled(drawn),
            test=test,
            correction=correction,
            baseline=str(drawn.shape[1]) if last else None,
            resamples=resamples_of(part),
            alpha=ALPHA,
            seed=own_seed,
            jobs=1,
        )
        first, second = found.first, found.second
        said = np.sign(found.difference) * found.is_significant()
        rows.append((at, *counts(said, pool, first, second), time.perf_counter() - started, 0))
    names = ("set", "pairs", "right", "wrong", "seconds", "failed")
    return pl.DataFrame(rows, schema=names, orient="row")


def counts(said: Any, pool: Resampled, first: Indices, second: Indices) -> tuple[int, int, int]:
    """Count the pairs, and those that differ significantly in the right and the wrong direction."""
    true = pool.means[first] - pool.means[second]
    true[np.abs(true) < 1e-9] = 0.0
    right = (said != 0) & (said == np.sign(true))
    wrong = (said != 0) & ~right
    return said.size, int(right.sum()), int(wrong.sum())


def resamples_of(part: Part) -> int:
    """Return the resamples of a test: fewer where each of thousands of pairs has its own error."""
    return LARGE_RESAMPLES if (part.group, part.test) == ("all", "t+bootstrap-max-t") else RESAMPLES


def population(values: Floats, equal: str) -> Resampled:
    """Make the population that data sets are drawn from: real, or equal by one of two methods."""
    if equal == "logit":
        return Resampled(moved_logits(values))
    real = Resampled(values)
    return real.with_means(float(values.mean())) if equal else real


def moved_logits(values: Floats) -> Floats:
    """Give all systems one mean, by a constant added to the logits of their scores.

    Scores of 0 and 1 stay, so that a system with too many of them is excluded.
    """
    target = float(values.mean())
    with np.errstate(divide="ignore"):
        logits = logit(values)
    low, high = np.full(values.shape[1], -30.0), np.full(values.shape[1], 30.0)
    for _ in range(100):
        middle = (low + high) / 2
        above = expit(logits + middle).mean(axis=0) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    moved = expit(logits + (low + high) / 2)
    return np.asarray(moved[:, np.abs(moved.mean(axis=0) - target) < 1e-12])


def labelled(values: Floats) -> Scores:
    """Name topics and systems by their numbers, from 1."""
    topics, systems = (tuple(str(k + 1) for k in range(size)) for size in values.shape)
    return Scores(values, topics, systems)


def studied(
    name: str, values: Floats, given: argparse.Namespace
) -> dict[tuple[str, str, int], pl.DataFrame]:
    """Return what each test said, by group, test and number of topics."""
    parts: dict[tuple[str, str, int], list[Part]] = {}
    pools: dict[str, list[Resampled]] = {}
    equal = given.null if given.what == "size" else ""
    for group in given.groups:
        every = windows(values, group)
        if not every:
            continue
        pools[group] = [population(values[:, one], equal) for one in every]
        excluded = sum(one.size for one in every) - sum(pool.means.size for pool in pools[group])
        if excluded:
            print(f"{name}, {group}: {excluded} systems that cannot have the common mean excluded")
        pools[group] = [pool for pool in pools[group] if pool.means.size > 1]
        for test in tests_of(group, given):
            for topics in given.topics:
                parts[group, test, topics] = [
                    Part(test, group, topics, start, stop)
                    for _, start, stop in split_repeats([topics], given.sets, PART).values()
                ]
    slug = "".join(one if one.isalnum() else "-" for one in f"{given.what} {equal} {name}")
    about = {"study": given.what, "null": equal, "scores": hash_scores(labelled(values))}
    found = {}
    for cell, some in parts.items():
        print(*cell, name, file=sys.stderr, flush=True)
        found[cell] = run_parts(
            done,
            pools,
            {part.name: part for part in some},
            settings={**about, "seed": SEED, "resamples": RESAMPLES, "alpha": ALPHA},
            jobs=given.jobs,
            folder=None if given.cache is None else given.cache / slug,
        )
    if failed := sum(int(frame["failed"].sum()) for frame in found.values()):
        print(f"{name}: {failed} tests could not be computed, and count as without a rejection")
    return found


def tests_of(group: str, given: argparse.Namespace) -> list[str]:
    if group != "pair":
        return list(given.tests)
    two = [f"{test.rpartition('+')[0]}+none" for test in given.tests if test.startswith("glm")]
    return list(dict.fromkeys(two)) if given.null == "logit" else list(OF_TWO)


def percent(count: float, of: float) -> str:
    return f"{100 * count / of:.1f}" if of else ""


def any_error(frame: pl.DataFrame) -> str:
    """Write the share of data sets with any wrong finding, in percent."""
    by_set = frame.group_by("set").agg(pl.col("wrong").sum())
    errors, sets = int((by_set["wrong"] > 0).sum()), len(by_set)
    return f"{percent(errors, sets)} ({interval(errors, sets)})"


def interval(errors: int, sets: int) -> str:
    """Write the 95% interval of Clopper and Pearson, in percent."""
    low, high = compute_clopper_pearson_intervals(np.array(errors), np.array(sets), 0.95)
    return f"{100 * low:.1f}-{100 * high:.1f}"


def rates(frame: pl.DataFrame) -> str:
    """Write the share of pairs found, and of those found in the wrong direction, in percent."""
    right, wrong, pairs = (int(frame[name].sum()) for name in ("right", "wrong", "pairs"))
    return f"{percent(right, pairs)} / {percent(wrong, pairs)}" if pairs else ""


def shown(found: dict[str, dict[tuple[str, str, int], pl.DataFrame]], given: Any) -> None:
    """Print the tables."""
    for group in given.groups:
        tests = tests_of(group, given)
        cells = [
            (name, topics)
            for name, of in found.items()
            for topics in given.topics
            if (group, tests[0], topics) in of
        ]
        if not cells:
            continue
        sets = found[cells[0][0]][group, tests[0], cells[0][1]]["set"].n_unique()
        statistics = {
            "any error" if given.what == "size" else "any pair in the wrong direction": any_error
        }
        if given.what == "power":
            statistics["pairs found / found in the wrong direction"] = rates
        for what, statistic in statistics.items():
            print(f"### {group}: {what}, percent of {sets:,} data sets")
            print_head("test", *(f"{name}, {topics}" for name, topics in cells))
            for test in tests:
                frames = (found[name][group, test, topics] for name, topics in cells)
                print_row(test, *map(statistic, frames))
            print()


def main() -> None:
    """Run the study and print its tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("size", "power"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--populations", nargs="*", default=[], help="some of them, by name")
    parser.add_argument("--scores", nargs="*", type=Path, default=[], help="tables of scores")
    parser.add_argument("--null", choices=("moved", "logit"), default="moved")
    parser.add_argument("--tests", nargs="*")
    parser.add_argument("--groups", nargs="*", default=GROUPS, choices=GROUPS)
    parser.add_argument("--topics", nargs="*", type=int, default=TOPICS)
    parser.add_argument("--sets", type=int, default=1000, help="data sets of each cell")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=Path, help="folder that keeps finished parts")
    given = parser.parse_args()
    given.tests = given.tests or (MODELS if given.null == "logit" else TESTS)
    given.tests = [
        test for test in given.tests if test.split("+")[1] in cf.significance.CORRECTIONS
    ]
    scores = read_populations(given.folder, given.populations, given.scores, given.cache)
    for name, values in scores.items():
        kept = len(distinct(values))
        print(f"- {name}: {values.shape[1]} systems ({kept} distinct), {len(values)} topics")
    started = time.time()
    found = {name: studied(name, values, given) for name, values in scores.items()}
    shown(found, given)
    print(f"Seed {SEED}, {RESAMPLES} samples, alpha {ALPHA}. ({time.time() - started:.0f} s)")


if __name__ == "__main__":
    main()
