"""Time and memory of click models, beside PyClick in one run.

    python -m benchmarks.online_click_models [PYCLICK]

PYCLICK is the folder of PyClick's source; without it only ours are measured. The pages are drawn:
35,064 of 20 queries in about 8,300 different (page, clicks), as Yandex's sample has. Times of ours
are the best of three, and so are PyClick's where they are short.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.online.log.query_log import made_log

PAGES = 35_064
FEW = 1_002
QUERIES = 20
SEED = 4
LISTS = 40
"""Lists of a query that are shown, the first ones more often."""


def drawn(pages: int, seed: int = SEED) -> cf.online.QueryLog:
    """Draw pages of ten and clicks by a user who goes down and stops."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, QUERIES + 1)
    query = rng.choice(QUERIES, pages, p=share / share.sum())
    often = 0.84 ** np.arange(LISTS)
    lists = np.argsort(np.arange(30) + 4 * rng.random((QUERIES, LISTS, 30)))[:, :, :10]
    docs = lists[query, rng.choice(LISTS, pages, p=often / often.sum())]
    attracts, satisfies = rng.beta(1.2, 3, (QUERIES, 30)), rng.beta(2, 2, (QUERIES, 30))
    on = np.ones(pages, dtype=bool)
    clicks = np.zeros((pages, 10), dtype=bool)
    for at in range(10):
        doc = docs[:, at]
        clicks[:, at] = on & (rng.random(pages) < attracts[query, doc])
        left = clicks[:, at] & (rng.random(pages) < satisfies[query, doc])
        on &= ~left & (rng.random(pages) < 0.93)
    page = np.repeat(np.arange(pages), 10)
    names = pl.Series([f"d{k}" for k in range(30)])
    where, rank = np.nonzero(clicks)
    return made_log(
        pl.DataFrame(
            {
                "id": [f"p{k}" for k in range(pages)],
                "query": pl.Series([f"q{k}" for k in range(QUERIES)]).gather(query),
            }
        ),
        pl.DataFrame(
            {
                "page": page,
                "rank": np.tile(np.arange(1, 11), pages),
                "doc": names.gather(docs.ravel()),
            }
        ),
        pl.DataFrame({"page": where, "rank": rank + 1, "doc": names.gather(docs[where, rank])}),
    )


def best(task: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def peer(log: cf.online.QueryLog, name: str, iterations: int) -> float:
    """Time PyClick on the pages of a log."""
    session = import_module("pyclick.search_session.SearchSession").SearchSession
    result = import_module("pyclick.search_session.SearchResult").SearchResult
    em = import_module("pyclick.click_models.Inference").EMInference
    sessions = [session(query) for query in log.pages["query"]]
    for page, doc, clicks in log.results_with_clicks.select("page", "doc", "clicks").iter_rows():
        sessions[page].web_results.append(result(doc, int(clicks > 0)))
    kind = getattr(import_module(f"pyclick.click_models.{name}"), name)
    times: list[float] = []
    while len(times) < 3 and sum(times) < 3:
        model = kind()
        model._inference = em(iterations)
        start = time.perf_counter()
        model.train(sessions)
        times.append(time.perf_counter() - start)
    return min(times)


def whole(path: str) -> None:
    """Read a log, train all models on it and evaluate them, as one process."""
    log = cf.online.read_log(path)
    models = cf.online.train_models(log, cf.online.models()["model"])
    found = cf.online.evaluate_models(models, log)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"models": len(found.names), "peak": peak}))


def main() -> None:
    if sys.argv[1:2] == ["whole"]:
        whole(sys.argv[2])
        return
    log = drawn(PAGES)
    laid = cf.online.train(log, "GCTR").patterns(log)
    clicks = int(laid.clicks @ laid.weight)
    print(f"{PAGES:,} pages, {clicks:,} clicked results, {len(laid):,} different (page, clicks)")
    for name in ("PBM", "UBM", "DBN", "CCM"):
        kind = cf.online.parse_model(name)
        all_of_it = best(partial(cf.online.train, log, kind))
        alone = best(partial(kind.fit, laid))
        print(f"{name} x 50 iterations: {all_of_it:.3f} s, without laying out {alone:.3f} s")
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
        few = drawn(FEW)
        for name in ("UBM", "DBN"):
            kind = cf.online.parse_model(name)(iterations=5)
            ours = best(partial(cf.online.train, few, kind))
            theirs = peer(few, name, 5)
            print(
                f"{name}, {FEW:,} pages x 5 iterations: {1000 * ours:.1f} ms, PyClick "
                f"{theirs:.2f} s, {theirs / ours:,.0f} times"
            )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        flat = log.results_with_clicks.with_columns(
            query=log.pages["query"].gather(log.results_with_clicks["page"])
        )
        flat.select("page", "query", "rank", "doc", "clicks").write_parquet(path)
        start = time.perf_counter()
        command = [sys.executable, "-m", "benchmarks.online_click_models", "whole", str(path)]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        took = time.perf_counter() - start
    print(f"{said['models']} models read, trained, evaluated: {took:.1f} s, {said['peak']:.0f} MB")


if __name__ == "__main__":
    main()
