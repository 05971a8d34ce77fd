"""The study of scales on TREC-8, beside the figures of Ferrante, Ferro and Fuhr (2021).

    python -m studies.scales_trec8 FOLDER

FOLDER holds `qrels.trec8.adhoc.txt.gz` and `runs/` with the public runs of the ad hoc track;
the paper had 129. `ferrante2021_t08.csv` has what its tables 2 to 6 print of TREC-8. Prints tables
in Markdown: ours, then the paper's.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import polars as pl

import cranfield as cf
from cranfield.meta import ScaleStudy, study_scales
from studies.common import print_head, print_row, run_main

SHORT = {
    "DCG(discount='max(1,log2(rank))')": "DCG, base 2",
    "DCG(discount='max(1,log10(rank))')": "DCG, base 10",
    "nDCG(discount='max(1,log2(rank))')": "nDCG, base 2",
    "nDCG(discount='max(1,log10(rank))')": "nDCG, base 10",
}
COUNTS = ("Sig", "S2NS", "NS2S")
Printed = dict[tuple[int, int, str, str], float]


def printed() -> Printed:
    """Read what the paper prints."""
    with (Path(__file__).parent / "ferrante2021_t08.csv").open() as source:
        return {
            (int(row["table"]), int(row["cutoff"]), row["of"], row["what"]): float(row["value"])
            for row in csv.DictReader(source)
        }


def correlations(study: ScaleStudy, paper: Printed, table: int) -> None:
    """Print Kendall's tau of each measure and its interval-scaled version."""
    print_head("measure", *(f"@{k}" for k in study.cutoffs))
    away = []
    for name in study.measures:
        cells = []
        for cutoff in study.cutoffs:
            ours = float(study.correlation.filter(measure=name, cutoff=cutoff)["overall"][0])
            theirs = paper[table, cutoff, name, "tau"]
            cells.append(f"{ours:.4f} / {theirs:.4f}")
            away.append(abs(ours - theirs))
        print_row(SHORT.get(name, name), *cells)
    same = sum(one < 5e-5 for one in away)
    print(f"\nLargest distance {max(away):.4f}; {same} of {len(away)} cells are the same.\n")


def between_measures(study: ScaleStudy, paper: Printed) -> None:
    """Print Kendall's tau of pairs of measures: how close, and whether it changes likewise."""
    print_head("first", "second", "measures", "interval-scaled", "change")
    sides, away = 0, [0.0]
    rows = study.pairs.filter(cutoff=30).select(pl.exclude("cutoff")).rows()
    for a, b, x, y, change in rows:
        names = (f"{p} / {q}" for p, q in ((a, b), (b, a)))
        key = next(name for name in names if (4, 30, name, "original") in paper)
        before, after = (paper[4, 30, key, what] for what in ("original", "interval"))
        theirs = 100 * (after / before - 1)
        sides += (change > 0.005) - (change < -0.005) == (theirs > 0.005) - (theirs < -0.005)
        away += [abs(x - before), abs(y - after)]
        changes = f"{change:+.2f}% / {theirs:+.2f}%"
        taus = f"{x:.4f} / {before:.4f}", f"{y:.4f} / {after:.4f}"
        print_row(SHORT.get(a, a), SHORT.get(b, b), *taus, changes)
    print(
        f"\nOf {len(rows)} changes, {sides} have the same sign; largest distance {max(away):.4f}.\n"
    )


def changes(study: ScaleStudy, paper: Printed) -> None:
    """Print pairs of systems that differ significantly, in percent of all pairs."""
    pairs, theirs_of = study.n_systems * (study.n_systems - 1) // 2, 129 * 128 // 2
    print_head("measure", "test", *COUNTS)
    zeros = agree = 0
    rows = study.changes.filter(cutoff=30).select("measure", "test", *COUNTS).rows()
    for name, test, *counts in rows:
        table = 5 if (5, 30, name, f"{test} Sig") in paper else 6
        cells = []
        for what, count in zip(COUNTS, counts, strict=True):
            theirs = paper[table, 30, name, f"{test} {what}"]
            if what != "Sig":
                zeros += theirs == 0
                agree += theirs == 0 and count == 0
            cells.append(
                f"{count:,} ({100 * count / pairs:.1f}%) / {theirs:,.0f}"
                f" ({100 * theirs / theirs_of:.1f}%)"
            )
        print_row(SHORT.get(name, name), test, *cells)
    print(f"\nOf {zeros} cells that are 0 in the paper, {agree} are 0 here.")


def main(folder: Path) -> None:
    started = time.time()
    runs = sorted((folder / "runs").iterdir())
    judged = cf.judge(runs, folder / "qrels.trec8.adhoc.txt.gz").binarise()
    paper = printed()
    study = study_scales(judged)
    seconds = time.time() - started
    low = study.correlation["lowest"].min()
    print(f"{study.n_systems} systems, {study.n_topics} topics; {seconds:.0f} s.")
    print(f"Lowest tau of any measure and its version on any topic: {low!r}.\n")
    print("## A measure and its interval-scaled version")
    correlations(study, paper, 2)
    mid = study_scales(judged, ties="mid", tests=())
    print("## The same with mid-ranks for ties")
    correlations(mid, paper, 3)
    print("## Two measures, @30")
    between_measures(study, paper)
    print("## Pairs of systems that differ, @30")
    changes(study, paper)


if __name__ == "__main__":
    run_main(main)
