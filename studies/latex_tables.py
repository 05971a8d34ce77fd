"""Compile all kinds of tables with LaTeX, names of the worst kind included.

    python -m studies.latex_tables FOLDER [--engine pdflatex|lualatex]

Writes `tables.tex`, compiles it three times, so that references and long tables settle, and turns
the pages into pictures where `pdftoppm` is there. The exit status is 1 when LaTeX fails, warns of a
reference or a character that it does not have, or when a name does not come out as it went in.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import cranfield as cf
from cranfield.meta import split_topics
from cranfield.reporting.tables import topics_table
from cranfield.result import together

HOSTILE = (
    *(r"under_score", r"100%", r"a&b", r"#1", r"{curly}", r"back\slash", r"~tilde^hat"),
    *(
        r"$math$",
        r"[bracket]",
        r"*star",
        r"a--b---c",
        r"''quoted``",
        r"<tag>|bar",
        r"\end{tabular}",
    ),
    *(r"\input{x}", "Järvelin-é", "%", "-", "a,,b"),
)
"""Names of systems that would be commands, comments or other characters."""

PREAMBLE = r"""\documentclass{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{booktabs}
\usepackage{longtable}
\begin{document}
\listoftables
"""


def scores(names: tuple[str, ...], seed: int, topics: int = 30) -> cf.Scores:
    """Draw scores of systems that differ."""
    draw = np.random.default_rng(seed)
    topic = draw.normal(0.4, 0.15, (topics, 1))
    system = np.linspace(0.15, -0.05, len(names))
    values = np.clip(topic + system + draw.normal(0, 0.06, (topics, len(names))), 0, 1)
    return cf.Scores(values, tuple(map(str, range(topics))), names, measure="AP")


def document() -> str:
    """Write the whole document."""
    ap, other = scores(HOSTILE, 1), scores(HOSTILE, 2)
    ev = {"AP": ap, "nDCG@10": other, "RBP(p=0.8)_%": scores(HOSTILE, 3)}
    many = scores(tuple(f"system_{k:03d}" for k in range(90)), 4)
    few = scores(HOSTILE[:5], 5)
    baseline = cf.table(ev, baseline=HOSTILE[0], test="t", alpha=(0.05, 0.01), second=True)
    all_pairs = cf.compare(ap)
    some = cf.compare(few, baseline=HOSTILE[0], test="signed-rank")
    parts = [
        baseline.to_latex(caption="A baseline with an under_score", label="tab:baseline"),
        cf.table(ev, baseline=HOSTILE[:3], sort="AP").to_latex(caption=True),
        cf.table(ev, marks="beaten", percent=True).to_latex(caption=True),
        cf.table(ev, marks="groups").to_latex(caption="Groups ]with a bracket", label="tab:groups"),
        cf.table(all_pairs).to_latex(caption=True),
        cf.table(all_pairs.anova).to_latex(caption=True),
        cf.table(some).to_latex(caption=True),
        cf.table(many, marks="groups").to_latex(
            caption="Many systems", label="tab:long", long=True
        ),
        topics_table({"AP": scores(HOSTILE[:4], 6, 5)}).to_latex(caption=True),
        together(split_topics(few, ["t", "anova-2"], sizes=[5], repeats=5)).write("latex"),
        r"See \ref{tab:baseline}, \ref{tab:groups} and \ref{tab:long}.",
    ]
    return PREAMBLE + "\\clearpage\n".join(f"{one}\n" for one in parts) + "\\end{document}\n"


def compiled(folder: Path, engine: str) -> list[str]:
    """Run LaTeX until all is settled, and return what is wrong."""
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    for _ in range(3):
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "tables.log").read_text(encoding="utf-8", errors="replace")
    wrong = [] if done.returncode == 0 else [f"{engine} failed: {log[-1500:]}"]
    wrong += re.findall(r"(?m)^(?:LaTeX Warning: Ref.*|Missing character.*|! .*)$", log)
    return wrong


def unlike(folder: Path) -> list[str]:
    """Return the names that do not stand in the text of the pages."""
    if shutil.which("pdftotext") is None:
        return []
    done = subprocess.run(
        ["pdftotext", "-layout", "tables.pdf", "-"], cwd=folder, capture_output=True, check=True
    )
    # Fonts have curled quotes only.
    text = done.stdout.decode().replace("’", "'")
    return [f"{name} comes out otherwise" for name in HOSTILE if text.count(name) < 5]


def main(arguments: list[str]) -> int:
    """Write, compile, look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", choices=("pdflatex", "lualatex"))
    given = parser.parse_args(arguments)
    engines = [given.engine] if given.engine else ["pdflatex", "lualatex"]
    engine = next((one for one in engines if shutil.which(one)), None)
    if engine is None:
        print(f"there is no {' or '.join(engines)}")
        return 1
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "tables.tex").write_text(document(), encoding="utf-8")
    wrong = compiled(given.folder, engine)
    if not wrong:
        wrong = unlike(given.folder)
        if shutil.which("pdftoppm") is not None:
            command = ["pdftoppm", "-png", "-r", "70", "tables.pdf", "page"]
            subprocess.run(command, cwd=given.folder, check=True)
    for one in wrong:
        print(one)
    print(f"{engine}: {'all tables as they should be' if not wrong else f'{len(wrong)} faults'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
