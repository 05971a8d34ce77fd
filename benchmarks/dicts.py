"""Scoring dicts: `python -m benchmarks.dicts [--only A,D] [--repeat N] [--data DIR]`.

What notebooks hold, `{topic: {document: score}}`, scored by us and by pytrec_eval in turn, in one
process for each data set. Reading the files into dicts is not timed; making the evaluator, scoring
and averaging are. The first call of ours, which imports what it needs, is said beside the rest.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, HERE
from benchmarks.tasks import MEASURES

SETS = ("A", "A-ties", "D", "D-ties")

_Scored = dict[str, float]


def measured(name: str, folder: Path, repeat: int) -> dict[str, list[float] | float]:
    """Score one data set by both, in turn; seconds of each call, and how far means differ."""
    import pytrec_eval

    import cranfield as cf
    from benchmarks.peer_pytrec_eval import MEASURES as NAMES
    from benchmarks.peer_pytrec_eval import means

    data = DATA_SETS[name]
    with data.judgments.path(folder).open(encoding="utf-8") as file:
        qrels = pytrec_eval.parse_qrel(file)
    with data.run_path(folder, 0).open(encoding="utf-8") as file:
        run = pytrec_eval.parse_run(file)

    def ours() -> _Scored:
        scored = cf.evaluate({"run": run}, qrels, MEASURES)
        return {one: float(scored[one].overall()[0]) for one in MEASURES}

    def theirs() -> _Scored:
        return means(pytrec_eval.RelevanceEvaluator(qrels, set(NAMES.values())).evaluate(run))

    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    answers: dict[str, _Scored] = {}
    sides: dict[str, Callable[[], _Scored]] = {"ours": ours, "theirs": theirs}
    for _ in range(repeat + 1):
        for side, score in sides.items():
            gc.collect()
            started = time.perf_counter()
            answers[side] = score()
            seconds[side].append(time.perf_counter() - started)
    worst = max(abs(answers["ours"][one] - answers["theirs"][one]) for one in MEASURES)
    return {**seconds, "difference": worst}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(SETS))
    parser.add_argument("--repeat", type=int, default=3, help="calls of each after the first (3)")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="the folder of the data")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one, options.data, options.repeat)))
        return
    if importlib.util.find_spec("pytrec_eval") is None:
        sys.exit("dicts: pytrec_eval is not installed")
    generate = [sys.executable, str(HERE / "generate.py"), "--out", str(options.data)]
    subprocess.run([*generate, "--only", ",".join(options.only)], check=True)
    print(f"Dicts: the calls alone, in one process; load {os.getloadavg()[0]:.1f}")
    head = ("ours s", "first s", "pytrec_eval s", "ours/pytrec_eval", "means differ by")
    print("  ".join([" " * 8, *head]))
    for name in options.only:
        command = [sys.executable, "-m", "benchmarks.dicts", "--one", name]
        told = ["--repeat", str(options.repeat), "--data", str(options.data.resolve())]
        done = subprocess.run([*command, *told], check=True, capture_output=True, cwd=HERE.parent)
        found = json.loads(done.stdout)
        (first, *ours), (_, *theirs) = found["ours"], found["theirs"]
        ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
        figures = (median(ours), first, median(theirs), ratio)
        cells = [*(f"{figure:.3f}" for figure in figures), f"{found['difference']:.1e}"]
        aligned = [f"{cell:>{len(title)}}" for cell, title in zip(cells, head, strict=True)]
        print("  ".join([f"  {name:<6}", *aligned]), flush=True)


if __name__ == "__main__":
    main()
