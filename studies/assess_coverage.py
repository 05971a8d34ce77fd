"""Coverage of the 95% intervals of the room assess, by simulation.

    python -m studies.assess_coverage [FOLDER] [--samples 1000]

Prints, in Markdown:

- proportions: a share of relevant items, a judge that is right on a share of them, and n human
  labels: `ppi_mean` from a random sample and from whole topics (correlated pairs),
  `stratified_mean` from ten strata, grades from 0 to 3, and human labels alone;
- with FOLDER, which holds LLMJudge (`llmjudge_test_qrel_idx.txt` and `submissions/`): corrected
  scores of its 21 label sets as runs, from a sample of documents, with judges that are right on a
  share of them; and the intervals of `compare_judges` and `self_preference` on topics drawn from
  its 25.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from scipy.special import stdtrit

from cranfield.assess import judges_as_runs, ppi_mean, stratified_mean
from cranfield.assess.agreement import coefficients
from cranfield.assess.agreement.coefficients import build_tables, compute_jackknife_intervals
from cranfield.assess.estimates.documents import SampledDocuments, estimate_scores
from cranfield.assess.estimates.means import Fit
from cranfield.assess.judges.comparison import PROPORTIONS, compute_calibration, list_statistics
from cranfield.assess.judges.rankings import score_by_judges
from cranfield.assess.judges.reading import GradeScale
from cranfield.base.arrays import Bools, Floats
from cranfield.base.streams import make_stream
from studies.common import covers, print_head, print_row, rounded, run_main
from studies.few_judgments import RANDOM, drawn, llmjudge, made_up, thread_pool

SEED = 20261125
SHARES_OF_ITEMS = (0.05, 0.2, 0.5)
RIGHT = (0.6, 0.8, 0.95)
SIZES = (20, 50, 200)
ITEMS = 600
LEAST_PAIRS = 200
"""Labels of a grade of a judge whose calibration is in the table."""


def covered(found: Any, truth: Any) -> float:
    """Return the proportion of intervals that contain the truth; none does not."""
    return float(covers(found.low, found.high, truth).mean())


def width(found: Any) -> float:
    return float(np.nanmean(found.high - found.low))


def judged(rng: Any, truth: Floats, right: float) -> Floats:
    return np.where(rng.random(truth.shape) < right, truth, 1 - truth)


def first(values: Floats, size: int) -> Floats:
    """Human labels of the first items; the order of items is random."""
    human = values.copy()
    human[:, size:] = np.nan
    return human


def proportions(samples: int) -> None:
    print_head(
        *("share", "right", "n", "ppi_mean", "topics", "strata", "grades", "people alone", "width"),
        "people alone",
    )
    for share in SHARES_OF_ITEMS:
        for right in RIGHT:
            for size in SIZES:
                cell = make_stream(SEED, int(100 * share), int(100 * right), size)
                simulated = proportion(cell, share, right, size, samples)
                print_row(share, right, size, *rounded(simulated))


def proportion(rng: Any, share: float, right: float, size: int, samples: int) -> list[float]:
    shape = (samples, ITEMS)
    truth = (rng.random(shape) < share).astype(np.float64)
    judge = judged(rng, truth, right)
    both = ppi_mean(first(truth, size), judge, seed=SEED)
    alone = ppi_mean(first(truth, size), judge, lambda_=0)
    # Grades: a relevant item has 1, 2 or 3; a judge that errs gives any other grade.
    grades = truth * rng.integers(1, 4, shape)
    other = (grades + rng.integers(1, 4, shape)) % 4
    by_grade = np.where(rng.random(shape) < right, grades, other)
    of_grades = ppi_mean(first(grades, size), by_grade, seed=SEED)
    # Topics of 8 pairs whose correlation is .1; n is the number of labels, of 5 topics at least.
    topics, pairs = ITEMS // 8, 8
    beta = rng.beta(share * 9, (1 - share) * 9, (samples, topics))
    alike = (rng.random((samples, topics * pairs)) < np.repeat(beta, pairs, axis=1)).astype(float)
    read_ratings = pairs * max(5, size // pairs)
    of_topics = ppi_mean(
        first(alike, read_ratings),
        judged(rng, alike, right),
        seed=SEED,
        clusters=np.repeat(np.arange(topics), pairs),
    )
    # Ten strata of 60 items, with different shares, that are all there are.
    strata = np.repeat(np.arange(10), ITEMS // 10)
    whole = rng.random(ITEMS) < share * (0.1 + 0.2 * strata)
    whole = whole.astype(np.float64)
    place = rng.random((samples, 10, ITEMS // 10)).argsort(axis=2).argsort(axis=2)
    sampled = place.reshape(shape) < size // 10
    of_strata = stratified_mean(
        np.where(sampled, whole, np.nan), strata, judged(rng, whole, right), seed=SEED
    )
    return [
        covered(both, share),
        covered(of_topics, share),
        covered(of_strata, whole.mean()),
        covered(of_grades, 2 * share),
        covered(alone, share),
        width(both),
        width(alone),
    ]


def documents(folder: Path, samples: int) -> None:
    """Sampled documents of each topic; P@10 of label sets as runs."""
    print_head(
        *("share", "right", "n a topic", "these topics", "topics like these", "without interval"),
        *("width", "people alone"),
    )
    labels = llmjudge(folder)
    sets = {name: labels.of(name) for name in labels.grades if name != RANDOM}
    runs = judges_as_runs(labels.human, sets)
    for rel in (3, 2, 1):
        grades = (labels.human.grades >= rel).astype(np.int32)
        human = replace(labels.human, grades=grades)
        for right in RIGHT:
            judge = made_up(human, 2 * right - 1, int(100 * right))
            pool = thread_pool(runs, human, judge, "P@10")
            truth, counts = pool.by_people.mean(axis=0), np.bincount(pool.topics)
            for size in (20, 50):
                total = np.zeros(5)
                for k in range(samples):
                    taken = drawn(pool.topics, size, k)
                    chance = np.minimum(size / counts, 1.0)[pool.topics[taken]]
                    certain: Bools = np.zeros(truth.size, dtype=bool)
                    topics, people = pool.topics[taken], pool.people[:, taken]
                    by_judge = pool.judge[:, taken]
                    sample = SampledDocuments(
                        topics, chance, topics, people, by_judge, pool.by_judge, certain
                    )
                    both, people_only = (
                        estimate_scores(sample, pool.topics.size, True, Fit(lambda_, seed=SEED))
                        for lambda_ in (None, 0.0)
                    )
                    fixed, sampled, alone = (
                        replace(data, fixed_topics=of_these).compute_means()
                        for of_these, data in ((True, both), (False, both), (True, people_only))
                    )
                    known = ~np.isnan(fixed.low)
                    total += [
                        covers(fixed.low, fixed.high, truth)[known].mean(),
                        covered(sampled, truth),
                        1 - known.mean(),
                        width(fixed),
                        width(alone),
                    ]
                print_row(*rounded([grades.mean()]), right, size, *rounded(total / samples))


def judges(folder: Path, samples: int) -> None:
    """Topics drawn with replacement from those of LLMJudge; the truth is that of all of them."""
    print_head("interval", "topics", "values", "median", "least", "below .92", "without interval")
    labels = llmjudge(folder)
    names = [name for name in labels.grades if name != RANDOM]
    human, topics = labels.human.grades.astype(np.int64), labels.topics
    many = int(topics.max()) + 1
    cells = [(topics * 4 + human) * 4 + labels.grades[name] for name in names]
    counts = [np.bincount(cell, minlength=many * 16).reshape(many, 4, 4) for cell in cells]
    joint, grades = np.stack(counts, axis=1).astype(np.float64), np.arange(4.0)
    of_all = list_statistics(GradeScale(0, 3), "ordinal")
    of_all["overlap(rel=2)"] = lambda tables: coefficients.compute_overlap(tables.binarize(2))
    truth = {name: law(build_tables(joint.sum(axis=0), grades)) for name, law in of_all.items()}
    shares = {*PROPORTIONS, "overlap(rel=2)"}
    calibrated = np.stack([compute_calibration(one, 0.95)[0] for one in np.swapaxes(joint, 0, 1)])
    often = joint.sum(axis=(0, 2))[:, :, None] >= LEAST_PAIRS
    often = np.broadcast_to(often, calibrated.shape)
    for size in (25, 10):
        hits = {name: np.zeros((2, *values.shape)) for name, values in truth.items()}
        hits["calibration"] = np.zeros((2, *calibrated.shape))
        for k in range(samples):
            rng = make_stream(SEED, 4, size, k)
            some = joint[rng.integers(many, size=size)]
            total = some.sum(axis=0)
            tables, without = (
                build_tables(total, grades),
                build_tables(total - some, grades),
            )
            has = some.sum(axis=(2, 3)) > 0
            for name, law in of_all.items():
                options: dict[str, Any] = {"is_bounded": name != "bias"}
                low, high = compute_jackknife_intervals(
                    law(tables), law(without), has, 0.95, is_proportion=name in shares, **options
                )
                hits[name] += counted(low, high, truth[name])
            parts = [
                compute_calibration(one, 0.95) for one in np.swapaxes(some, 0, 1).astype(np.int64)
            ]
            low, high = (np.stack([part[k] for part in parts]) for k in (1, 2))
            hits["calibration"] += counted(low, high, calibrated)
        for name, (hit, known) in hits.items():
            chosen = often if name == "calibration" else known > 0
            cover = (hit / np.maximum(known, 1))[chosen & (known > 0)]
            none = 1 - known[chosen].mean() / samples
            print_cover(name, size, cover, none)


def self_preferences(folder: Path, samples: int) -> None:
    """The t interval over topics of `self_preference`: label sets as runs, teams as families."""
    labels = llmjudge(folder)
    sets = {name: labels.of(name) for name in labels.grades if name != RANDOM}
    runs = judges_as_runs(labels.human, sets)
    scored = score_by_judges(runs, labels.human, sets, "nDCG@10", scale=(0, 3))
    shift = scored.judges[0] - scored.human[0]
    teams = np.array([name.split("-")[0] for name in sets])
    related = (teams[:, None] == teams) & ~np.eye(len(teams), dtype=bool)
    others = teams[:, None] != teams
    bias = np.array(
        [
            one[:, of_judge].mean(axis=1) - one[:, rest].mean(axis=1)
            for one, of_judge, rest in zip(shift, related, others, strict=True)
        ]
    )
    for size in (25, 10):
        taken = make_stream(SEED, 5, size).integers(bias.shape[1], size=(samples, size))
        some = bias[:, taken]
        half = stdtrit(size - 1, 0.975) * some.std(axis=2, ddof=1) / np.sqrt(size)
        apart = np.abs(some.mean(axis=2) - bias.mean(axis=1)[:, None])
        cover = (apart <= half).mean(axis=1)
        print_cover("self-preference", size, cover, 0.0)


def print_cover(name: str, size: int, cover: Floats, none: float) -> None:
    """Print a row on the proportions of intervals that contain the truth, of several values."""
    extremes = rounded([np.median(cover), cover.min()])
    print_row(name, size, cover.size, *extremes, int((cover < 0.92).sum()), *rounded([none]))


def counted(low: Floats, high: Floats, truth: Floats) -> Floats:
    """Whether intervals contain the truth, and whether there are any; shape (2, ...)."""
    return np.array([(low <= truth) & (truth <= high), ~np.isnan(low)]).astype(np.float64)


PARTS = ("proportions", "documents", "judges")


def main(
    folder: Path | None = None,
    *,
    samples: int = 1000,
    parts: Annotated[tuple[str, ...], PARTS] = PARTS,
) -> None:
    """Simulate and print the tables."""
    if "proportions" in parts:
        proportions(samples)
    if folder is not None and "documents" in parts:
        documents(folder, samples // 10)
    if folder is not None and "judges" in parts:
        judges(folder, samples)
        self_preferences(folder, samples)


if __name__ == "__main__":
    run_main(main)
