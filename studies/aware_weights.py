"""Compare the weights of AWARE on simulated assessors, whose errors are known.

    python -m studies.aware_weights [--crowds 5] [--topics 25] [--runs 20] [--measure AP]

Assessors label all judged pairs of the bundled TREC-COVID topics: `5%` to `40%` give the wrong one
of two grades that often, at random; `random .5` and `random .05` call a document relevant that
often, whatever it is. Printed are the mean weight of each assessor over topics and crowds, and how
near the combined scores come to those by the true judgments: root mean square error of the means of
systems, and Kendall's tau of their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

import cranfield as cf
from cranfield.assess import aware, majority, read_labels
from studies.common import print_head, print_row, run_main

NOISE = {"5%": 0.05, "10%": 0.1, "20%": 0.2, "40%": 0.4}
RANDOM = {"random .5": 0.5, "random .05": 0.05}
WAYS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "rmse": {"weights": "rmse"},
    "rmse, squared": {"weights": "rmse", "squared": True},
    "rmse by topic": {"weights": "rmse", "by": "topic"},
    "tau_ap": {"weights": "tau_ap"},
    "tau_ap, squared": {"weights": "tau_ap", "squared": True},
    "tau_ap by topic": {"weights": "tau_ap", "by": "topic"},
    "accuracy": {"weights": "accuracy"},
    "kappa": {"weights": "kappa"},
}


def main(*, crowds: int = 5, topics: int = 25, runs: int = 20, measure: str = "AP") -> None:
    covid = cf.bundled.trec_covid()
    some_runs = covid.runs[:runs]
    pairs = covid.qrels.to_polars()
    names_of_topics = pairs["topic"].unique(maintain_order=True)[:topics].to_list()
    pairs = pairs.filter(pairs["topic"].is_in(names_of_topics))
    truth = (pairs["grade"].to_numpy() > 0).astype(int)
    gold: dict[str, dict[str, int]] = {topic: {} for topic in names_of_topics}
    for topic, doc, grade in zip(pairs["topic"], pairs["doc"], truth.tolist(), strict=True):
        gold[topic][doc] = grade
    wanted = cf.evaluate(some_runs, gold, measure)[measure].mean()
    names = [*NOISE, *RANDOM]
    weights: dict[str, list[list[float]]] = {name: [] for name in WAYS}
    near: dict[str, list[tuple[float, float]]] = {name: [] for name in (*WAYS, "majority")}
    for crowd in range(crowds):
        random = np.random.default_rng(crowd)
        own = {
            name: np.where(random.random(truth.size) < rate, 1 - truth, truth)
            for name, rate in NOISE.items()
        } | {name: (random.random(truth.size) < rate).astype(int) for name, rate in RANDOM.items()}
        labels = read_labels(
            [
                (topic, doc, name, int(grade))
                for name, grades in own.items()
                for topic, doc, grade in zip(pairs["topic"], pairs["doc"], grades, strict=True)
            ]
        )
        means = {}
        for name, way in WAYS.items():
            more: dict[str, Any] = {"gold": gold} if name in {"accuracy", "kappa"} else {}
            found = aware(some_runs, labels, measure, seed=crowd, **way, **more)
            mean = found.settings["aware"]["mean weight"]
            weights[name].append([mean[one] for one in names])
            means[name] = found.mean()
        judged = cf.evaluate(some_runs, majority(labels).qrels, measure)
        means["majority"] = judged[measure].mean()
        for name, mean in means.items():
            error = float(np.sqrt(np.mean((mean - wanted) ** 2)))
            near[name].append((error, float(stats.kendalltau(mean, wanted).statistic)))
    print_head("weights", *names, "error of means", "tau")
    for name, some in near.items():
        error, tau = np.mean(some, axis=0)
        cells = [f"{one:.3f}" for one in np.mean(weights[name], axis=0)] if name in WAYS else []
        cells += [""] * (len(names) - len(cells)) + [f"{error:.3f}", f"{tau:.3f}"]
        print_row(name, *cells)


if __name__ == "__main__":
    run_main(main)
