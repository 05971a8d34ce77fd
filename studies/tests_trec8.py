"""The study of tests of Ferro and Sanderson (2022) on TREC-8, beside the figures of the paper.

    python -m studies.tests_trec8 FOLDER [--jobs N]

FOLDER holds `qrels.trec8.adhoc.txt.gz` and `runs/` with the public runs of the ad hoc track. The
paper has TREC 13: 110 runs, 249 topics. Numbers of pairs are shown in percent of all pairs: ours,
then the paper's. Prints tables in Markdown.
"""

from __future__ import annotations

import time
from pathlib import Path

from cranfield.evaluation.evaluate_runs import evaluate
from cranfield.meta import split_topics
from cranfield.meta.test_studies.splits import SplitStudy
from studies.common import print_head, print_row, run_main

SIZES = (5, 10, 25)
MODELS = {
    "anova-1": "MD1",
    "anova-2": "MD2",
    "anova-3": "MD3",
    "anova-2f": "MD2f",
    "anova-3f": "MD3f",
}
PAIRS = 5995

Cells = dict[str, tuple[float, ...]]
PAPER: dict[str, Cells] = {
    # Table 1.
    "significant first": {
        "anova-1": (54.3, 108.4, 595.2),
        "anova-2": (336.3, 760.5, 1484.6),
        "anova-3": (2517.6, 3008.9, 3844.1),
    },
    # Table 2.
    "jaccard": {
        "anova-1": (0.02, 0.10, 0.48),
        "anova-2": (0.20, 0.47, 0.69),
        "anova-3": (0.45, 0.56, 0.70),
    },
    # Table 3, overlap with MD3.
    "overlap": {"anova-1": (0.98, 1.00, 1.00), "anova-2": (0.95, 0.98, 0.99)},
    # Table 4.
    "AA": {
        "anova-1": (2.5, 21.9, 365.2),
        "anova-2": (118.5, 479.0, 1188.12),
        "anova-3": (1518.7, 2107.8, 3147.1),
    },
    # Table 5.
    "AD": {
        "anova-1": (0.0, 0.0, 0.0),
        "anova-2": (0.0, 0.0, 0.0),
        "anova-3": (35.9, 21.4, 11.6),
    },
    "tau": {
        "anova-1": (0.5, 0.6, 0.7),
        "anova-2": (0.5, 0.6, 0.7),
        "anova-3": (0.5, 0.6, 0.7),
    },
}
TITLES = {
    "significant first": "Pairs that differ, in percent (table 1)",
    "jaccard": "Jaccard (table 2)",
    "overlap": "Overlap with MD3 (table 3)",
    "AA": "Active agreements, in percent of all pairs (table 4)",
    "AD": "Active disagreements, in percent of all pairs (table 5)",
    "tau": "Kendall's tau of the two rankings (table 5)",
}
COUNTS = ("significant first", "AA", "AD")


def side_by_side(study: SplitStudy, what: str) -> None:
    """Print one table of the paper, ours first."""
    pairs = study.groups["all systems"] * (study.groups["all systems"] - 1) // 2
    if what == "overlap":
        frame = study.tabulate_outcomes("overlap", second="anova-3", sets="1-1")
    else:
        frame = study.tabulate_outcomes(what)
    print(f"## {TITLES[what]}")
    print_head("", *(f"{size} topics" for size in SIZES))
    for test, theirs in PAPER[what].items():
        [ours] = frame.filter(frame["test"] == test).select(map(str, SIZES)).rows()
        cells = []
        for mine, other in zip(ours, theirs, strict=True):
            if what in COUNTS:
                cells.append(f"{100 * mine / pairs:.2f} / {100 * other / PAIRS:.2f}")
            else:
                cells.append(f"{mine:.2f} / {other:g}")
        print_row(MODELS[test], *cells)
    print()


def consistency(study: SplitStudy, size: int) -> None:
    """Print table 6 for one size, ours only: the paper has it for 125 topics."""
    names = ("AA", "AD", "MA", "MD", "bias")
    tables = {name: study.tabulate_outcomes(name)[str(size)] for name in names}
    print(f"## Consistency and publication bias, {size} topics (table 6)")
    print_head("", *names)
    for k, test in enumerate(study.tests):
        counts = (f"{tables[name][k]:.1f}" for name in names[:-1])
        print_row(MODELS[test], *counts, f"{100 * tables['bias'][k]:.1f}%")
    print()


def main(folder: Path, *, jobs: int = 2) -> None:
    """Run the study and print its tables."""
    started = time.perf_counter()
    runs = sorted(folder.glob("runs/*.xz"))
    scores = evaluate(runs, folder / "qrels.trec8.adhoc.txt.gz", "nDCG", shards=3)
    scored = time.perf_counter()
    study = split_topics(
        scores.whole["nDCG"],
        tuple(MODELS),
        by_shard=scores["nDCG"],
        sizes=SIZES,
        repeats=100,
        jobs=jobs,
    )
    done = time.perf_counter()
    print(f"{len(runs)} runs on 3 shards: {scored - started:.1f} s; study: {done - scored:.1f} s\n")
    for what in PAPER:
        side_by_side(study, what)
    for size in SIZES:
        consistency(study, size)


if __name__ == "__main__":
    run_main(main)
