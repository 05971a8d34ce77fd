"""TREC-8's ad hoc task as a campaign: its pool, and the statistics on NIST's sheets.

    python -m studies.campaign_trec8 DATA

DATA is a folder with `trec8-adhoc` (runs and judgments) and `campaign` (`trec8-runs.csv`, which
says which runs NIST judged, and `trec8-manual`, values of NIST's sheets).
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import cranfield as cf
from cranfield.assess import Pool
from cranfield.campaign.results.stored_inputs import pool, pooled_runs
from cranfield.campaign.store.records import path
from cranfield.campaign.submitting.teams import add_team
from cranfield.scores import Scores

RULES = """
[campaign]
id = "trec-8"
title = "TREC-8"

[tasks.adhoc]
priorities = 2
pool = {depth = 100, priorities = [1]}
fewer_than_max = "off"
missing_topics = "off"
unknown_topics = "off"
rank = "off"
types = ["automatic", "manual"]
"""

SHEETS = {"rr100": pl.col("p100") * 100, "rr1000": pl.col("relevant_retrieved"), "ap": pl.col("ap")}
"""Columns of the results by topic that the sheets have best, median and worst of."""


def handed_in(folder: Path, data: Path) -> cf.campaign.Campaign:
    """Make a campaign of all runs; those that NIST judged have priority 1, the others 2."""
    rules = folder / "campaign.toml"
    rules.write_text(RULES)
    opened = cf.campaign.create(folder / "trec-8", rules)
    runs = {run.name.split(".")[0]: run for run in (data / "trec8-adhoc/runs").iterdir()}
    with (data / "campaign/trec8-runs.csv").open() as file:
        for row in csv.DictReader(file):
            if opened.registry.team(row["team"]) is None:
                add_team(opened, row["team"])
            priority = 1 if row["judged"] == "1" else 2
            told: dict[str, Any] = {"team": row["team"], "type": row["type"], "priority": priority}
            submitted = opened.submit(runs[row["tag"]], tag=row["tag"], **told)
            if not submitted.accepted:
                print(row["tag"], "refused:", submitted.report.errors[0].message)
    return opened


def of_pool(opened: cf.campaign.Campaign, data: Path) -> None:
    """Pool by score, as TREC does, and by the rank column; look both up in the judgments."""
    opened.add_judgments(data / "trec8-adhoc/qrels.trec8.adhoc.txt.gz", version="1999")
    qrels = cf.read_qrels(data / "trec8-adhoc/qrels.trec8.adhoc.txt.gz")
    found = {ties: pool(opened, ties=ties) for ties in ("trec", "rank")}
    for ties, made in found.items():
        missing = made.unjudged(qrels)
        print(
            f"ties {ties}: {len(made.systems)} runs, depth {made.depth},"
            f" {len(made):,} documents, {len(missing)} without a judgment"
        )
    top = {ties: lists(made) for ties, made in found.items()}
    moved = top["trec"].join(top["rank"], on=["system", "topic", "doc"], how="anti")
    print("documents in the top 100 by score that are not there by the rank column, by run:")
    print(moved.group_by("system").len().sort("len", descending=True).rows())
    runs = {one.tag: str(path(opened.folder, one.object)) for one in pooled_runs(opened)}
    against = [one for one in cf.judge(runs, qrels).coverage.systems if one.contradictions]
    print("runs whose rank column contradicts their scores, in how many places:")
    print([(one.system, one.contradictions) for one in against])
    print(
        "NIST took the order of scores, equal ones by falling document id. Runs that number equal\n"
        "scores otherwise have other documents at the edge of the first 100 by their rank column,\n"
        "and those were judged only where another run brought them."
    )


def lists(made: Pool) -> pl.DataFrame:
    """Return system, topic and document of each pooled rank."""
    names = pl.Series(made.systems).gather(made.system)
    topics = pl.Series(made.topics).gather(made.topic[made.ranked])
    return pl.DataFrame({"system": names, "topic": topics, "doc": made.docs.gather(made.ranked)})


def of_sheets(folder: Path) -> None:
    """Compare best, median and worst by topic with those on the sheets of the manual runs."""
    rows = pl.read_csv(folder / "topic_results.csv")
    official = pl.read_csv(folder / "topic_statistics.csv").sort("topic")
    same = dict.fromkeys(SHEETS, 0)
    for name, column in SHEETS.items():
        wide = rows.with_columns(value=column).pivot("tag", index="topic", values="value")
        wide = wide.sort("topic")
        scores = Scores(
            wide.drop("topic").cast(pl.Float64).to_numpy(),
            tuple(wide["topic"].cast(pl.String)),
            tuple(wide.columns[1:]),
        )
        found = cf.campaign.topic_statistics(scores).of("all")
        for one in ("best", "median", "worst"):
            theirs = official[f"{name}_{one}"].cast(pl.Float64).to_numpy()
            same[name] += int((found[one].to_numpy().round(9) == theirs).sum())
    print(
        f"sheets of the {len(scores.systems)} manual runs:"
        f" {sum(same.values())} of {9 * official.height} values the same, {same}"
    )


def main() -> None:
    data = Path(sys.argv[1])
    of_sheets(data / "campaign/trec8-manual")
    with tempfile.TemporaryDirectory() as folder:
        of_pool(handed_in(Path(folder), data), data)


if __name__ == "__main__":
    main()
