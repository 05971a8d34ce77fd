"""Scoring dicts: `python -m benchmarks.dicts [--only A,D] [--repeat N] [--data DIR]`.

What notebooks hold, `{topic: {document: score}}`, scored by `evaluate`, by pytrec_eval and by
`cranfield.bridges.pytrec_eval` in turn, in one process for each data set. Reading the files into
dicts is not timed. `evaluate` makes a table of judgments, scores and averages, as making an
evaluator, calling its `evaluate` and averaging what it returns do together; that call is compared
alone too. The first call of ours, which imports what it needs, is said beside the rest.
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
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, HERE
from benchmarks.tasks import MEASURES

SETS = ("A", "A-ties", "D", "D-ties")

_STEPS = ("made", "evaluated", "averaged")
"""What is done with an evaluator of pytrec_eval, and of the bridge."""

_AT_LEAST = 10.0
"""Seconds for which a data set is scored again: small ones need many calls for a median."""

_Scored = dict[str, float]
_Result = TypeVar("_Result")


def measured(name: str, folder: Path, repeat: int) -> dict[str, list[float] | float]:
    """Score one data set by both, in turn; seconds of each call, and how far means differ."""
    import pytrec_eval

    import cranfield as cf
    import cranfield.bridges.pytrec_eval as bridge
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

    asked = set(NAMES.values())
    answers: dict[str, _Scored] = {}
    seconds: dict[str, list[float]] = {}

    def timed(step: str, run_it: Callable[[], _Result]) -> _Result:
        started = time.perf_counter()
        result = run_it()
        seconds.setdefault(step, []).append(time.perf_counter() - started)
        return result

    started = time.perf_counter()
    while len(seconds.get("ours", ())) <= repeat or time.perf_counter() - started < _AT_LEAST:
        gc.collect()
        answers["ours"] = timed("ours", ours)
        for side, module in (("theirs", pytrec_eval), ("bridge", bridge)):
            gc.collect()
            evaluator = timed(f"{side} made", partial(module.RelevanceEvaluator, qrels, asked))
            by_topic = timed(f"{side} evaluated", partial(evaluator.evaluate, run))
            answers[side] = timed(f"{side} averaged", partial(means, by_topic))
            del evaluator, by_topic
    worst = max(
        abs(answers[side][one] - answers["theirs"][one])
        for side in ("ours", "bridge")
        for one in MEASURES
    )
    return {**seconds, "difference": worst}


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return median(one / other for one, other in zip(ours, theirs, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(SETS))
    parser.add_argument("--repeat", type=int, default=3, help="calls after the first, at least (3)")
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
    head = (
        "ours s",
        "first s",
        "pytrec_eval s",
        "ours/pytrec_eval",
        "bridge s",
        "bridge/pytrec_eval",
        "evaluate alone",
        "means differ by",
    )
    print("  ".join([" " * 8, *head]))
    for name in options.only:
        command = [sys.executable, "-m", "benchmarks.dicts", "--one", name]
        told = ["--repeat", str(options.repeat), "--data", str(options.data.resolve())]
        done = subprocess.run([*command, *told], check=True, capture_output=True, cwd=HERE.parent)
        found = json.loads(done.stdout)
        first, *ours = found["ours"]
        (_, *theirs), (_, *bridge) = (
            [
                sum(steps, 0.0)
                for steps in zip(*(found[f"{side} {step}"] for step in _STEPS), strict=True)
            ]
            for side in ("theirs", "bridge")
        )
        alone = [found[f"{side} evaluated"][1:] for side in ("bridge", "theirs")]
        figures = (
            median(ours),
            first,
            median(theirs),
            _ratio(ours, theirs),
            median(bridge),
            _ratio(bridge, theirs),
            _ratio(*alone),
        )
        cells = [*(f"{figure:.3f}" for figure in figures), f"{found['difference']:.1e}"]
        aligned = [f"{cell:>{len(title)}}" for cell, title in zip(cells, head, strict=True)]
        print("  ".join([f"  {name:<6}", *aligned]), flush=True)


if __name__ == "__main__":
    main()
