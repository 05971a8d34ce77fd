"""From clicks to a measure: a click model of the TREC Session track 2013 on the runs of TREC-8.

    python -m studies.clicks_to_measures FOLDER

FOLDER holds `trec-session-2013` (the track's log, judgments and topics of sessions) and
`trec8-adhoc` (judgments and runs). A dynamic Bayesian network is trained on the pages of ten
results, by grade; its utility and effort score the runs, are compared, and have their scales told.
What is known of them beforehand stands beside what is found.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.correlation import kendall_tau
from cranfield.online.log.query_log import QueryLog
from cranfield.sessions import read_sessions

GAMMA, LIKELIHOOD = 0.8349, -0.320182
ATTRACTS = {None: 0.4590, -2: 0.1913, 0: 0.1892, 1: 0.4423, 2: 0.5586, 3: 0.5824, 4: 0.5293}
SATISFIES = {None: 0.0408, -2: 0.2459, 0: 0.1493, 1: 0.0857, 2: 0.0855, 3: 0.2901, 4: 0.3475}
RANKS = 10


def graded_log(folder: Path) -> QueryLog:
    """Return the top ten of the pages with so many results, with grades by the session's topic."""
    source = folder / "sessiontrack2013.xml.gz"
    sessions = read_sessions(source, topics=folder / "sessiontopicmap.txt.gz")
    log = cf.online.read_log(source)
    topics = dict(zip(sessions.names, sessions.topics, strict=True))
    topic = log.pages["session"].replace_strict(topics, return_dtype=pl.String)
    log = QueryLog(log.pages.with_columns(query=topic), log.results, log.clicks, log.source)
    log = cf.online.with_grades(log, folder / "qrels.txt.gz")
    length = np.bincount(log.results["page"].to_numpy(), minlength=log.pages.height)
    log = log.where(pl.Series(length >= RANKS))
    near = pl.col("rank") <= RANKS
    return QueryLog(log.pages, log.results.filter(near), log.clicks.filter(near), log.source)


def check_parameters(model: cf.online.ClickModel, log: QueryLog) -> float:
    """Print the parameters beside those known; return the largest distance."""
    away = [abs(model.parameters["continuation"]["value"][0] - GAMMA)]
    print(f"gamma {model.parameters['continuation']['value'][0]:.4f} (known {GAMMA})")
    print("grade     a      known   s      known")
    tables = [
        dict(model.parameters[name].select("grade", "value").iter_rows())
        for name in ("attractiveness", "satisfaction")
    ]
    for grade, known in ATTRACTS.items():
        a, s = (table[grade] for table in tables)
        away += [abs(a - known), abs(s - SATISFIES[grade])]
        name = "unjudged" if grade is None else str(grade)
        print(f"{name:<9} {a:.4f} {known:.4f}  {s:.4f} {SATISFIES[grade]:.4f}")
    mean: float = np.log(model.conditional(log)["probability"].to_numpy()).mean().item()
    print(f"mean log-likelihood a rank {mean:.6f} (known {LIKELIHOOD})")
    return float(max(*away, abs(mean - LIKELIHOOD) * 100))


def err_by_hand(evaluation: cf.Scores, runs: cf.JudgedRuns, chance: dict[int, float]) -> float:
    """Return the largest distance of scores from ERR, run by run and document by document."""
    rows = runs.judged()
    systems = runs.shape[1]
    topics = runs.shape[0]
    grades = np.full((topics * systems, int(runs.retrieved.max())), 0, dtype=np.int64)
    known = np.zeros(grades.shape, dtype=bool)
    grades[rows.cell, rows.rank - 1] = rows.grade
    known[rows.cell, rows.rank - 1] = True
    worth = np.vectorize(chance.__getitem__)(grades).astype(float)
    going = np.cumprod(1 - worth, axis=1)
    before = np.concatenate([np.ones((grades.shape[0], 1)), going[:, :-1]], axis=1)
    rank = np.arange(1, grades.shape[1] + 1)
    err = (before * worth * known / rank).sum(axis=1).reshape(systems, topics).T
    return float(np.abs(err - evaluation.values).max())


def clicks_of(model: cf.online.ClickModel) -> dict[int, float]:
    """Return the attractiveness of the grades that are judged."""
    table = model.parameters["attractiveness"].drop_nulls("grade")
    return dict(table.select("grade", "value").iter_rows())


def main(folder: Path) -> int:
    warnings.simplefilter("ignore")
    log = graded_log(folder / "trec-session-2013")
    print(log)
    start = time.perf_counter()
    model = cf.online.train(log, "DBN(iterations=500)", tied="grade")
    print(f"{model}, {time.perf_counter() - start:.2f} s")
    away = check_parameters(model, log)
    good = away < 0.5001e-4
    print(f"largest distance {away:.1e}: {'as known' if good else 'DIFFERENT'}\n")

    trec8 = folder / "trec8-adhoc"
    runs = cf.judge(str(trec8 / "runs" / "*.xz"), trec8 / "qrels.trec8.adhoc.txt.gz")
    simple = cf.online.train(log, "SDBN", tied="grade")
    measures = {
        "utility": model.measure("utility"),
        "effort": model.measure("effort"),
        "rrSDBN": simple.measure("effort"),
        "user": model.user_model(),
    }
    for name, measure in measures.items():
        again = cf.parse_measure(str(measure))
        same = again == measure and str(again) == str(measure)
        good &= same
        print(f"{name}: {measure}\n  {'reads back the same' if same else 'READS BACK OTHERWISE'}")
    others = [cf.parse_measure(one) for one in ("AP", "nDCG@10", "ERR@10", "RBP(p=0.8)")]
    start = time.perf_counter()
    ev = cf.score(runs, [*measures.values(), *others])
    print(f"\n{len(ev)} measures of {runs.shape[1]} runs, {time.perf_counter() - start:.2f} s")
    for name, measure in measures.items():
        scores = ev[measure]
        read = cf.score(runs, str(measure))[measure]
        good &= bool(np.array_equal(scores.values, read.values))
        tau = [float(kendall_tau(scores.mean(), ev[other].mean())) for other in others]
        told = ", ".join(f"{other} {one:.3f}" for other, one in zip(others, tau, strict=True))
        print(f"{name}: means {scores.mean().min():.4f} to {scores.mean().max():.4f}; tau {told}")
    kept = simple.parameters
    chance = {
        grade: a * s
        for grade, a, s in zip(
            kept["attractiveness"]["grade"],
            kept["attractiveness"]["value"],
            kept["satisfaction"]["value"],
            strict=True,
        )
    }
    distance = err_by_hand(ev[measures["rrSDBN"]], runs, chance)
    # ERR has R = gain / (highest gain + 1), and nobody stops at a document without a judgment.
    highest = max(chance[0], chance[1])
    gains = {grade: chance[grade] / (1 - highest) for grade in (0, 1)}
    err = f"ERR(gains={gains}, max_grade=1)"
    passed = simple.measure("effort")(clicks={None: 0, **clicks_of(simple)})
    both = [next(iter(cf.score(runs, one).values())).values for one in (passed, err)]
    distances = (distance, float(np.abs(both[0] - both[1]).max()))
    good &= max(distances) < 1e-12
    print(
        f"rrSDBN from ERR with R = a s: at most {distances[0]:.1e} by a sum over ranks, with"
        f" unjudged documents as grade 0; {distances[1]:.1e} from {err}, which passes over them\n"
    )
    for name in ("utility", "effort"):
        print(f"{name}, compared:")
        print("\n".join(str(cf.compare(ev[measures[name]])).splitlines()[:6]))
    for name in ("utility", "effort"):
        verdict = str(cf.scale_of(measures[name] @ 5, 5))
        print("\n".join(line[:160] for line in verdict.splitlines()[1:4]))
    moves = cf.online.click_moves(log)
    print(f"\n{moves}; from rank 1 {moves.counts[0].tolist()}")
    print(cf.online.rbp_persistence(log, unit="session"))
    print(cf.online.rbp_persistence(log, model=model, unit="session"))
    return 0 if good else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    raise SystemExit(main(parser.parse_args().folder))
