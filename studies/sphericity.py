"""How often does the F of all systems err, where differences between systems vary unequally?

    python -m studies.sphericity FOLDER [--populations NAME ...] [--scores FILE ...] [--sets 5000]
        [--cache DIR]

FOLDER and the populations are those of `studies.size_and_power`; tables of other collections are
populations too. Each data set is normal, with equal means and with the covariance of real systems,
evenly chosen from the best to the worst. Prints, in Markdown, the share of data sets where F is
significant at .05: as it is, by the epsilon of Greenhouse and Geisser, and by that of Huynh and
Feldt; the epsilon of the covariance, and the means of both estimates.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream
from cranfield.significance.models.anova import fit_two_way
from cranfield.significance.models.anova_table import estimate_epsilons
from studies.common import print_head, print_row, run_main
from studies.size_and_power import read_populations

SEED, ALPHA = 20261122, 0.05
TOPICS = (25, 50)
FEW = 40
"""Systems of the smaller size; fewer where there are not twice as many."""

HEAD = ("scores", "systems", "topics", "epsilon", "mean GG", "mean HF", "F", "GG", "HF")


def cell(values: Floats, topics: int, sets: int, key: int) -> list[str]:
    """Simulate one covariance and number of topics."""
    centred = (values - values.mean(axis=0)) / np.sqrt(len(values) - 1)
    both = centred - centred.mean(axis=1, keepdims=True)
    found = np.empty((sets, 5))
    for k in range(sets):
        drawn = make_stream(SEED, key, topics, k).normal(size=(topics, len(centred))) @ centred
        table, _ = fit_two_way(drawn)
        of = table.sphericity
        assert of is not None
        p = (table.get_f("System")[1], of.p_greenhouse_geisser, of.p_huynh_feldt)
        found[k] = of.greenhouse_geisser, of.huynh_feldt, *(one <= ALPHA for one in p)
    numbers = [estimate_epsilons(both)[0], *found.mean(axis=0)]
    return [str(values.shape[1]), str(topics), *(f"{one:.3f}" for one in numbers)]


def main(
    folder: Path,
    *,
    populations: tuple[str, ...] = (),
    scores: tuple[Path, ...] = (),
    sets: int = 5000,
    cache: Path | None = None,
) -> None:
    """Simulate all cells and print the table."""
    started = time.perf_counter()
    print_head(*HEAD)
    every = read_populations(folder, populations, scores, cache)
    for name, values in every.items():
        systems = values.shape[1]
        for size in dict.fromkeys((min(FEW, systems // 2), systems)):
            some = values[:, np.linspace(0, systems - 1, size).round().astype(int)]
            for topics in TOPICS:
                print_row(name, *cell(some, topics, sets, size))
    print(f"\n{sets:,} data sets each, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    run_main(main)
