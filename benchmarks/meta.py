"""Time and memory of studies of the evaluation.

    python -m benchmarks.meta [--data FOLDER] [CASE...]

Each case runs in a process of its own, with two workers; memory is that of all its processes
together at most. `splits` draws random scores of the size of the TREC 13 robust track. The others
need FOLDER with real runs: `trec8-adhoc` and `trec-covid-r5`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODELS = ("anova-1", "anova-2", "anova-3", "anova-2f", "anova-3f")
MEASURES = (
    *("AP", "nDCG", "nDCG@10", "nDCG@20", "P@10", "P@20"),
    *("RR", "RBP(p=0.8)", "ERR@20", "bpref"),
)


def random_scores() -> tuple[Any, Any]:
    """Draw scores as they are: easy and hard topics, good and bad systems, both together, gaps."""
    import cranfield as cf

    random = np.random.default_rng(20261121)
    topics, systems, shards = 249, 110, 3
    values = (
        random.beta(1.2, 2, (topics, 1, 1))
        + random.normal(0, 0.08, (1, systems, 1))
        + random.normal(0, 0.12, (topics, systems, 1))
        + random.normal(0, 0.1, (topics, 1, shards))
        + random.normal(0, 0.08, (topics, systems, shards))
    )
    values = np.clip(values, 0, 1)
    names = [f"q{k}" for k in range(topics)], [f"s{k}" for k in range(systems)]
    whole = cf.Scores(values.mean(axis=2), *names)  # type: ignore[arg-type]
    missing = random.random((topics, 1, shards)) < 0.07
    by_shard = cf.Scores(np.where(missing, np.nan, values), *names)  # type: ignore[arg-type]
    return whole, by_shard


def splits(data: Path) -> str:
    """Study five models on 249 topics, 110 systems and 3 shards: 5 sizes, 100 repeats."""
    from cranfield.meta import split_topics

    whole, by_shard = random_scores()
    sizes = [5, 10, 25, 50, 125]
    study = split_topics(whole, MODELS, by_shard=by_shard, sizes=sizes, repeats=100, jobs=2)
    return f"AA of anova-2 at 125: {study.outcomes('AA')['125'][1]:.1f}"


def trec8(data: Path) -> str:
    """Score the TREC-8 runs on three shards, and study five models: 3 sizes, 100 repeats."""
    from cranfield.evaluation.of_runs import evaluate
    from cranfield.meta import split_topics

    folder = data / "trec8-adhoc"
    runs = sorted(folder.glob("runs/*.xz"))
    scores = evaluate(runs, folder / "qrels.trec8.adhoc.txt.gz", "nDCG", shards=3)
    study = split_topics(
        scores.whole["nDCG"],
        MODELS,
        by_shard=scores["nDCG"],
        sizes=[5, 10, 25],
        repeats=100,
        jobs=2,
    )
    return f"{len(runs)} runs; AA of anova-2 at 25: {study.outcomes('AA')['25'][1]:.1f}"


def asl(data: Path) -> str:
    """Score ten measures on the TREC-COVID runs, and test all pairs of runs by each of them."""
    import cranfield as cf
    from cranfield.meta.measure_studies.discriminative import discriminative_power

    folder = data / "trec-covid-r5"
    runs = sorted(folder.glob("runs/*"))
    scores = cf.evaluate(runs, folder / "qrels.covid-round5.txt.gz", MEASURES)
    found = discriminative_power(scores, resamples=5000, jobs=2)
    best = found.summary.row(0, named=True)
    return f"{len(runs)} runs, {len(MEASURES)} measures; most: {best['measure']}"


CASES: dict[str, Callable[[Path], str]] = {"splits": splits, "trec8": trec8, "asl": asl}


def measured(command: list[str]) -> tuple[str, float, float]:
    """Run a command; return its output, seconds, and MiB of it and its children together."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    most = 0.0

    def watch() -> None:
        nonlocal most
        while process.poll() is None:
            most = max(most, _memory(process.pid))
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    out, _ = process.communicate()
    seconds = time.perf_counter() - started
    watcher.join()
    if process.returncode:
        raise SystemExit(process.returncode)
    return out, seconds, most


def _memory(root: int) -> float:
    """Return the memory of a process and its descendants; pages that they share count once."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    total, waiting = 0.0, [root]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--data", type=Path, help="folder with real runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(CASES[given.one](given.data)))
        return
    names = given.cases or (list(CASES) if given.data else ["splits"])
    print(f"  {'case':<8} {'s':>7} {'MiB':>6}")
    for name in names:
        command = [sys.executable, "-m", "benchmarks.meta", "--one", name]
        out, seconds, memory = measured([*command, "--data", str(given.data or ".")])
        print(f"  {name:<8} {seconds:>7.2f} {memory:>6.0f}  {json.loads(out)}", flush=True)


if __name__ == "__main__":
    main()
