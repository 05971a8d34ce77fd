"""From clicks to a measure: a click model of the TREC Session track 2013 on the runs of TREC-8.

    python -m studies.clicks_to_measures FOLDER

FOLDER holds `trec-session-2013` (the track's log, judgments and topics of sessions) and
`trec8-adhoc` (judgments and runs). A dynamic Bayesian network is trained on the pages of ten
results, by grade; printed are its parameters, and Kendall's tau of the orders of the runs by its
utility and effort with those by other measures.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.correlation import kendall_tau
from cranfield.online.log.query_log import QueryLog
from cranfield.sessions import read_sessions
from studies.common import run_main

RANKS = 10


def graded_log(folder: Path) -> QueryLog:
    """Return the top ten of the pages with so many results, with grades by the session's topic."""
    source = folder / "sessiontrack2013.xml.gz"
    sessions = read_sessions(source, topics=folder / "sessiontopicmap.txt.gz")
    log = cf.online.read_log(source)
    topics = dict(zip(sessions.names, sessions.topics, strict=True))
    topic = log.pages["session"].replace_strict(topics, return_dtype=pl.String)
    log = QueryLog(log.pages.with_columns(query=topic), log.results, log.clicks, log.source)
    log = cf.online.add_grades(log, folder / "qrels.txt.gz")
    length = np.bincount(log.results["page"].to_numpy(), minlength=log.pages.height)
    log = log.select_pages(pl.Series(length >= RANKS))
    near = pl.col("rank") <= RANKS
    return QueryLog(log.pages, log.results.filter(near), log.clicks.filter(near), log.source)


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    log = graded_log(folder / "trec-session-2013")
    model = cf.online.train(log, "DBN(iterations=500)", tied="grade")
    print(repr(log), repr(model), sep="\n")
    print(f"continuation {model.parameters['continuation']['value'][0]:.4f}")
    for name in ("attractiveness", "satisfaction"):
        print(model.parameters[name].select("grade", pl.col("value").round(4)).rows())
    trec8 = folder / "trec8-adhoc"
    runs = cf.judge(str(trec8 / "runs" / "*.xz"), trec8 / "qrels.trec8.adhoc.txt.gz")
    measures = {name: model.measure(name) for name in ("utility", "effort")}
    others = [cf.parse_measure(text) for text in ("AP", "nDCG@10", "ERR@10", "RBP(p=0.8)")]
    scores = cf.score(runs, [*measures.values(), *others])
    for name, measure in measures.items():
        means = scores[measure].mean()
        taus = {str(other): kendall_tau(means, scores[other].mean()) for other in others}
        print(f"{name}: tau", ", ".join(f"{other} {tau:.3f}" for other, tau in taus.items()))


if __name__ == "__main__":
    run_main(main)
