"""Draw the charts of the documentation.

    python -m studies.charts [NAME...] [--trec8 FOLDER] [--covid FOLDER] [-o docs/images]

`gallery` runs the code of docs/gallery.md. The charts of docs/figures.md are those of the papers;
some need a folder of public data: that of TREC-8 has `scores/adhoc8_ap.csv` and, as that of
TREC-COVID, `runs` and judgments. Charts whose folder is missing are named and skipped.
"""

from __future__ import annotations

import contextlib
import doctest
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import cranfield as cf
from cranfield.meta import discriminative_power, leave_one_out, pooling, stability
from studies.common import run_main

GALLERY = Path(__file__).resolve().parent.parent / "docs" / "gallery.md"
SESSION = re.compile(r"(?ms)^```pycon\n(.*?)^```")
LARGEST = 170_000
"""Bytes of a chart: pages load all of theirs."""

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


def intervals() -> Any:
    """Draw means of every third system of the bundled collection: names can be read."""
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs[::3], covid.qrels, "nDCG@20")["nDCG@20"]
    return cf.compare(scores).plot.intervals()


def asl() -> Any:
    covid = cf.bundled.trec_covid()
    evaluation = cf.evaluate(covid.runs, covid.qrels, DIVERSE)
    return cf.charts.asl_chart(discriminative_power(evaluation))


def stable() -> Any:
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs, covid.qrels, ["nDCG@20", "AP@100", "RR"])
    sizes = [2, 3, 4, *range(5, 50, 5)]
    return cf.charts.stability_chart([stability(one, sizes=sizes) for one in scores.values()])


def without_teams() -> Any:
    covid = cf.bundled.trec_covid()
    study = leave_one_out(covid.runs, covid.qrels, "nDCG@20", teams=covid.teams, depth=5)
    return cf.charts.leave_one_out_chart(study)


def pooled() -> Any:
    covid = cf.bundled.trec_covid()
    options: dict[str, Any] = {"methods": "depth,RRF,MTF,MaxMean", "depth": 5}
    budgets = [5, 10, 15, 20, 25, 30, 40, 50]
    study = pooling(covid.runs, covid.qrels, "nDCG@20", budgets=budgets, **options)
    return cf.charts.pooling_chart(study)


def spacing() -> Any:
    """Draw figure 2 of Ferrante, Ferro and Fuhr (2021), which is 19 of Ferro and Maistro (2024)."""
    chosen = {"P (and R)": "P", "AP": "AP", "RR": "RR", **RBP, "DCG, base 2": DCG["DCG, base 2"]}
    return cf.charts.spacing_chart(chosen, 4, judgments=4)


def distribution_3() -> Any:
    chosen = {"P": "P", "RBP, p = 0.5": "RBP(p=0.5)", "RR": "RR"}
    return cf.charts.distribution_chart(chosen, LENGTHS)


def recall_two_runs() -> Any:
    """Draw figure 9 of Ferro and Maistro (2024)."""
    runs, relevant = {}, {f"unseen {k}": 1 for k in range(5)}
    for name, bits in (("Run1", RUN1), ("Run2", RUN2)):
        # The relevant documents that a run finds are the first ones; the others are not relevant.
        seen = [bits[:k].count("1") for k in range(len(bits))]
        ids = [
            f"unseen {n}" if bit == "1" else f"other {k}"
            for k, (bit, n) in enumerate(zip(bits, seen, strict=True))
        ]
        runs[name] = {"example": {doc: float(-k) for k, doc in enumerate(ids)}}
    evaluation = cf.evaluate(runs, {"example": relevant}, "AP")
    return cf.charts.precision_recall(evaluation, topic="example")


def recall_trec8(folder: Path) -> Any:
    """Draw figure 10 there, of other runs."""
    runs = sorted((folder / "runs").iterdir())
    return cf.charts.precision_recall(cf.judge(runs, folder / "qrels.trec8.adhoc.txt.gz"))


def box(folder: Path) -> Any:
    """Draw figure 16 there."""
    return cf.charts.box_plot(cf.read_scores(folder / "scores/adhoc8_ap.csv", measure="AP"))


def asl_covid(folder: Path) -> Any:
    """Draw figure 16 of Sakai (2013), of other runs and measures."""
    runs = sorted((folder / "runs").iterdir())
    evaluation = cf.evaluate(runs, folder / "qrels.covid-round5.txt.gz", DIVERSE)
    return cf.charts.asl_chart(discriminative_power(evaluation))


CHARTS: dict[str, Callable[[], Any]] = {
    "intervals": intervals,
    "asl": asl,
    "stability": stable,
    "leave-one-out": without_teams,
    "pooling": pooled,
    "figures/partial-order": lambda: cf.charts.hasse_chart(4),
    "figures/graded-order": lambda: cf.charts.hasse_chart(3, 2),
    "figures/spacing": spacing,
    "figures/distribution-3": distribution_3,
    "figures/distribution-4": lambda: cf.charts.distribution_chart(RBP, LENGTHS),
    "figures/distribution-5": lambda: cf.charts.distribution_chart(DCG, LENGTHS),
    "figures/recall-two-runs": recall_two_runs,
}
OF_DATA: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "figures/recall-trec8": ("trec8", recall_trec8),
    "figures/box-trec8": ("trec8", box),
    "figures/asl-covid": ("covid", asl_covid),
}


def lighter(svg: str) -> str:
    """Remove what is not visible: more than one decimal of a pixel, and empty paths."""

    def rounded(attribute: re.Match[str]) -> str:
        return re.sub(r"-?\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}", attribute[0])

    shown = re.sub(r'<path class="foreground"[^>]* display="none"/>', "", svg)
    return re.sub(r'(?<= )(?:d|transform|[xy][12]?|width|height)="[^"]*"', rounded, shown)


def draw(name: str, folder: Path, data: Path) -> None:
    path = folder / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    chart = CHARTS[name]() if name in CHARTS else OF_DATA[name][1](data)
    cf.charts.save(chart, path)
    if name.startswith("figures/"):
        path.write_text(lighter(path.read_text("utf-8")), "utf-8")
    check_size(path)


def gallery(folder: Path) -> None:
    """Run the code of the page in a folder of its own, and keep the charts."""
    code = "".join(
        example.source
        for session in SESSION.findall(GALLERY.read_text("utf-8"))
        for example in doctest.DocTestParser().get_examples(session)
    )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as own:
        with contextlib.chdir(own):
            exec(compile(code, str(GALLERY), "exec"), {"__name__": "gallery"})
        for chart in sorted(Path(own).glob("*.svg")):
            check_size(Path(shutil.copy(chart, folder)))


def check_size(path: Path) -> None:
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{path} is larger than {LARGEST:,} bytes")


NAMES = ("gallery", *CHARTS, *OF_DATA)


def main(
    names: Annotated[tuple[str, ...], NAMES] = NAMES,
    *,
    trec8: Path | None = None,
    covid: Path | None = None,
    output: Path = Path("docs/images"),
) -> None:
    """Draw the named charts, or all."""
    folders = {"trec8": trec8, "covid": covid}
    for name in names:
        data = folders[OF_DATA[name][0]] if name in OF_DATA else Path()
        if data is None:
            print(f"{name}: skipped; it needs --{OF_DATA[name][0]} FOLDER")
        elif name == "gallery":
            gallery(output / "gallery")
        else:
            draw(name, output, data)


if __name__ == "__main__":
    run_main(main)
