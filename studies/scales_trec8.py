"""The study of scales on TREC-8, beside the figures of Ferrante, Ferro and Fuhr (2021).

    python -m studies.scales_trec8 FOLDER

FOLDER holds `qrels.trec8.adhoc.txt.gz` and `runs/` with the public runs of the ad hoc track;
the paper had 129. `ferrante2021_t08.csv` has what its tables 2 to 6 print of TREC-8. Prints tables
in Markdown: ours, then the paper's.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import polars as pl

import cranfield as cf
from cranfield.meta import ScaleStudy, study_scales

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


def correlations(study: ScaleStudy, paper: Printed, table: int) -> str:
    """Kendall's tau of each measure and its interval-scaled version."""
    lines = ["| measure | " + " | ".join(f"@{k}" for k in study.cutoffs) + " |"]
    lines.append("| --- |" + " --- |" * len(study.cutoffs))
    away = []
    for name in study.measures:
        cells = []
        for cutoff in study.cutoffs:
            of = study.correlation.filter(
                (pl.col("measure") == name) & (pl.col("cutoff") == cutoff)
            )
            ours, theirs = float(of["overall"][0]), paper[table, cutoff, name, "tau"]
            cells.append(f"{ours:.4f} / {theirs:.4f}")
            away.append(abs(ours - theirs))
        lines.append(f"| {SHORT.get(name, name)} | " + " | ".join(cells) + " |")
    same = sum(one < 5e-5 for one in away)
    lines += ["", f"Largest distance {max(away):.4f}; {same} of {len(away)} cells are the same."]
    return "\n".join(lines)


def between_measures(study: ScaleStudy, paper: Printed) -> str:
    """Kendall's tau of pairs of measures, before and after: how close, and to the same side."""
    rows, sides, away = [], 0, [0.0]
    for _, a, b, x, y, change in study.pairs.filter(pl.col("cutoff") == 30).rows():
        key = next(
            (
                f"{p} / {q}"
                for p, q in ((a, b), (b, a))
                if (4, 30, f"{p} / {q}", "original") in paper
            )
        )
        before, after = (paper[4, 30, key, what] for what in ("original", "interval"))
        theirs = 100 * (after / before - 1)
        sides += (change > 0.005) - (change < -0.005) == (theirs > 0.005) - (theirs < -0.005)
        away += [abs(x - before), abs(y - after)]
        names = f"{SHORT.get(a, a)} | {SHORT.get(b, b)}"
        rows.append(
            f"| {names} | {x:.4f} / {before:.4f} | {y:.4f} / {after:.4f}"
            f" | {change:+.2f}% / {theirs:+.2f}% |"
        )
    head = "| first | second | measures | interval-scaled | change |\n| --- " + "| --- " * 4 + "|\n"
    told = (
        f"\n\nOf {len(rows)} changes, {sides} have the same sign; largest distance {max(away):.4f}."
    )
    return head + "\n".join(rows) + told


def changes(study: ScaleStudy, paper: Printed) -> str:
    """Pairs of systems that tests tell apart, in percent of all pairs, as their numbers differ."""
    pairs, theirs_of = study.systems * (study.systems - 1) // 2, 129 * 128 // 2
    lines = ["| measure | test | Sig | S2NS | NS2S |", "| --- | --- | --- | --- | --- |"]
    zeros = agree = 0
    rows = study.changes.filter(pl.col("cutoff") == 30).select("measure", "test", *COUNTS).rows()
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
        lines.append(f"| {SHORT.get(name, name)} | {test} | " + " | ".join(cells) + " |")
    lines += ["", f"Of {zeros} cells that are 0 in the paper, {agree} are 0 here."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    started = time.time()
    runs = sorted((folder / "runs").iterdir())
    judged = cf.judge(runs, folder / "qrels.trec8.adhoc.txt.gz").binary()
    paper = printed()
    study = study_scales(judged)
    seconds = time.time() - started
    low = study.correlation["lowest"].min()
    print(f"{study.systems} systems, {study.topics} topics; {seconds:.0f} s.")
    print(f"Lowest tau of any measure and its version on any topic: {low!r}.\n")
    print(f"## A measure and its interval-scaled version\n\n{correlations(study, paper, 2)}\n")
    mid = study_scales(judged, ties="mid", tests=())
    print(f"## The same with mid-ranks for ties\n\n{correlations(mid, paper, 3)}\n")
    print(f"## Two measures, @30\n\n{between_measures(study, paper)}\n")
    print(f"## Pairs of systems that differ, @30\n\n{changes(study, paper)}")


if __name__ == "__main__":
    main()
