"""How often intervals of judges hold what they are of.

    python -m studies.judge_intervals

Calibration: topics have shares from a beta distribution, so that two pairs of a topic have a
correlation, and numbers of pairs from 1 to 80. Beside the intervals of the table are those of
Wilson as if all pairs were independent.

Rankings: the 50 topics of TREC-COVID are the population, and topics are drawn from them with
replacement; 40 systems, nDCG@10, judges that err at random. The truth is the coefficient on all 50
topics. Beside the jackknife are percentiles of the bootstrap over the topics drawn.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.stats import norm

import cranfield as cf
from cranfield.assess.agreement.coefficients import (
    compute_jackknife_intervals,
    compute_percentile_intervals,
)
from cranfield.assess.judges.comparison import compute_calibration
from cranfield.assess.judges.rankings import score_by_judges
from cranfield.base.arrays import Floats
from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.streams import make_stream
from cranfield.correlation import kendall_tau, tau_ap

SAMPLES = 4_000


def calibration_tables() -> None:
    print(f"{'topics':>7}{'share':>7}{'alike':>7}{'of topics':>11}{'of pairs':>10}{'width':>8}")
    for number, topics in enumerate((10, 25, 50)):
        for place, share in enumerate((0.05, 0.2, 0.5)):
            for level, alike in enumerate((0.0, 0.1, 0.3)):
                random = make_stream(16, number, place, level)
                shape = (SAMPLES, topics)
                sizes = random.integers(1, 81, shape)
                ends = (share * (1 / alike - 1), (1 - share) * (1 / alike - 1)) if alike else None
                chances = np.full(shape, share) if ends is None else random.beta(*ends, shape)
                ones = random.binomial(sizes, chances)
                held, width = 0, 0.0
                for n, k in zip(sizes, ones, strict=True):
                    tables = np.zeros((topics, 2, 2), dtype=np.int64)
                    tables[:, 0, 0], tables[:, 1, 0] = n - k, k
                    _, low, high = compute_calibration(tables, 0.95)
                    held += int(low[0, 1] <= share <= high[0, 1])
                    width += float(high[0, 1] - low[0, 1]) / SAMPLES
                total = sizes.sum(axis=1)
                low, high = compute_wilson_intervals(
                    ones.sum(axis=1) / total, total, norm.ppf(0.975)
                )
                naive = ((low <= share) & (share <= high)).mean()
                print(
                    f"{topics:>7}{share:>7}{alike:>7}{held / SAMPLES:>11.3f}{naive:>10.3f}"
                    f"{width:>8.3f}",
                    flush=True,
                )


def judges(people: cf.Qrels) -> dict[str, pl.DataFrame]:
    """Make judges that give another grade to a share of the pairs, drawn at random."""
    grades = people.grades.clip(0, 2)
    made = {}
    for number, (name, share, given) in enumerate(
        (("careful", 0.2, [0, 1, 2]), ("generous", 0.6, [1, 2]))
    ):
        random = make_stream(16, number)
        wrong = random.random(grades.size) < share
        said = np.where(wrong, random.choice(given, size=grades.size), grades)
        made[name] = people.to_polars().with_columns(grade=said)
    return made


def coefficients(people: Floats, judge: Floats, weights: Floats) -> Floats:
    """Tau and tau AP of means with these weights of topics; shape (2, sets)."""
    one, other = (np.round(weights @ values, 8) for values in (people, judge))
    return np.array([kendall_tau(one, other), tau_ap(other, one)])


def rankings(samples: int = 400, resamples: int = 300) -> None:
    covid = cf.bundled.trec_covid()
    made = judges(covid.qrels)
    scored = score_by_judges(covid.runs, covid.qrels, made, "nDCG@10")
    print(
        f"\n{'judge':<10}{'topics':>7}{'':>8}{'truth':>7}{'mean':>7}{'jackknife':>11}{'percentiles':>13}"
    )
    for number, name in enumerate(made):
        people, judge = scored.human[0], scored.judges[0, number]
        every = len(people)
        truth = coefficients(people, judge, np.full((1, every), 1 / every))[:, 0]
        for topics in (15, 30, 50):
            random = make_stream(17, number, topics)
            held, found = np.zeros((2, 2)), np.zeros(2)
            without = (np.ones((topics, topics)) - np.eye(topics)) / (topics - 1)
            for _ in range(samples):
                drawn = random.integers(every, size=topics)
                one, other = people[drawn], judge[drawn]
                value = coefficients(one, other, np.full((1, topics), 1 / topics))[:, 0]
                left = coefficients(one, other, without).T
                limits = compute_jackknife_intervals(
                    value, left, left == left, 0.95, is_bounded=False
                )
                weights = (
                    random.multinomial(topics, np.full(topics, 1 / topics), resamples) / topics
                )
                again = compute_percentile_intervals(coefficients(one, other, weights).T, 0.95)
                for k, (low, high) in enumerate((limits, again)):
                    held[k] += (low <= truth) & (truth <= high)
                found += value
            for k, what in enumerate(("tau", "tau AP")):
                print(
                    f"{name:<10}{topics:>7}{what:>8}{truth[k]:>7.3f}{found[k] / samples:>7.3f}"
                    f"{held[0, k] / samples:>11.3f}{held[1, k] / samples:>13.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    rankings()
    calibration_tables()
