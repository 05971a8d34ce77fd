"""Draw the figures of the papers again, for the page "Figures from papers, reproduced".

    python -m studies.figures [NAME...] [--trec8 FOLDER] [--covid FOLDER] [-o docs/images/figures]

The first folder has `scores/adhoc8_ap.csv` and, as the second, `runs` and judgments. Figures whose
folder is not given are left out, and named. Pictures that would be large as SVG become PNG.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.meta import discriminative_power
from cranfield.reporting.charts.hasse import hasse_chart
from cranfield.reporting.charts.of_scales import distribution_chart, spacing_chart
from cranfield.reporting.charts.of_studies import asl_chart
from cranfield.reporting.charts.of_systems import box_plot
from cranfield.reporting.charts.recall import precision_recall

LARGEST = 170_000
"""Bytes of an SVG."""

LENGTHS = (5, 10, 20, 30)
"""Of the runs in figures 3 to 5 of Ferrante, Ferro and Fuhr (2021)."""

DCG = {
    "DCG, base 2": "DCG(discount='max(1,log2(rank))')",
    "DCG, base 10": "DCG(discount='max(1,log10(rank))')",
}
RBP = {f"RBP, p = {p}": f"RBP(p={p})" for p in (0.3, 0.5, 0.8)}

RUN1, RUN2 = "0110100001", "1000101000"
"""Relevant documents by rank, of five that there are. The text pins down ranks 1 to 5 of the first,
and that the second begins with a relevant document; the rest is ours."""

DIVERSE = ("AP@100", "nDCG@10", "P@10", "RBP(p=0.8)", "ERR@10", "RR@10")


def partial_order(_: Path) -> Any:
    """Figure 1 of Ferrante, Ferro and Fuhr (2021)."""
    return hasse_chart(4)


def graded_order(_: Path) -> Any:
    """The same with three grades, which the paper does not have."""
    return hasse_chart(3, 2)


def spacing(_: Path) -> Any:
    """Figure 2 there, and figure 19 of Ferro and Maistro (2024)."""
    chosen = {"P (and R)": "P", "AP": "AP", "RR": "RR", **RBP, "DCG, base 2": DCG["DCG, base 2"]}
    return spacing_chart(chosen, 4, judgments=4)


def distribution_3(_: Path) -> Any:
    """Figure 3 of Ferrante, Ferro and Fuhr (2021)."""
    chosen = {"P": "P", "RBP, p = 0.5": "RBP(p=0.5)", "RR": "RR"}
    return distribution_chart(chosen, LENGTHS)


def distribution_4(_: Path) -> Any:
    """Figure 4 there."""
    return distribution_chart(RBP, LENGTHS)


def distribution_5(_: Path) -> Any:
    """Figure 5 there."""
    return distribution_chart(DCG, LENGTHS)


def recall_two_runs(_: Path) -> Any:
    """Figure 9 of Ferro and Maistro (2024)."""
    runs, relevant = {}, {f"unseen {k}": 1 for k in range(5)}
    for name, bits in (("Run1", RUN1), ("Run2", RUN2)):
        # The relevant documents that a run finds are the first ones; the others are not relevant.
        seen = [bits[:k].count("1") for k in range(len(bits))]
        ids = [
            f"unseen {n}" if bit == "1" else f"other {k}"
            for k, (bit, n) in enumerate(zip(bits, seen, strict=True))
        ]
        runs[name] = {"example": {doc: float(-k) for k, doc in enumerate(ids)}}
    return precision_recall(cf.evaluate(runs, {"example": relevant}, "AP"), topic="example")


def recall_trec8(folder: Path) -> Any:
    """Figure 10 there, of other runs."""
    runs = sorted((folder / "runs").iterdir())
    return precision_recall(cf.judge(runs, folder / "qrels.trec8.adhoc.txt.gz"))


def box(folder: Path) -> Any:
    """Figure 16 there."""
    return box_plot(cf.read_scores(folder / "scores" / "adhoc8_ap.csv", measure="AP"))


def asl(folder: Path) -> Any:
    """Figure 16 of Sakai (2013), of other runs and measures."""
    runs = sorted((folder / "runs").iterdir())
    evaluation = cf.evaluate(runs, folder / "qrels.covid-round5.txt.gz", DIVERSE)
    return asl_chart(discriminative_power(evaluation))


FIGURES: dict[str, tuple[str | None, Callable[[Path], Any]]] = {
    "partial-order": (None, partial_order),
    "graded-order": (None, graded_order),
    "spacing": (None, spacing),
    "distribution-3": (None, distribution_3),
    "distribution-4": (None, distribution_4),
    "distribution-5": (None, distribution_5),
    "recall-two-runs": (None, recall_two_runs),
    "recall-trec8": ("trec8", recall_trec8),
    "box-trec8": ("trec8", box),
    "asl-covid": ("covid", asl),
}


def lighter(svg: str) -> str:
    """Leave out what is not shown: more than one decimal of a pixel, and empty paths."""

    def rounded(attribute: re.Match[str]) -> str:
        return re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}", attribute[0])

    shown = re.sub(r'<path class="foreground"[^>]* display="none"/>', "", svg)
    return re.sub(r'(?<= )(?:d|transform|[xy][12]?|width|height)="[^"]*"', rounded, shown)


def save(chart: Any, folder: Path, name: str) -> Path:
    """Write a picture as SVG, or as PNG where that would be too large."""
    vector, dots = folder / f"{name}.svg", folder / f"{name}.png"
    chart.save(vector)
    vector.write_text(lighter(vector.read_text()))
    if vector.stat().st_size <= LARGEST:
        dots.unlink(missing_ok=True)
        return vector
    vector.unlink()
    chart.save(dots, scale_factor=1.5)
    return dots


def main() -> None:
    """Draw the figures that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], metavar="NAME")
    parser.add_argument("--trec8", type=Path)
    parser.add_argument("--covid", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/figures"))
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    for name in given.names or FIGURES:
        needs, draw = FIGURES[name]
        folder = Path() if needs is None else getattr(given, needs)
        if folder is None:
            print(f"{name}: left out; it needs --{needs} FOLDER")
            continue
        path = save(draw(folder), given.output, name)
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
