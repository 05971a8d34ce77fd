"""Folders of releases, made by hand from the layout that releases have."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield.campaign.publishing.bag import write_bag
from cranfield.campaign.results.sheet import Category, Sheet, SheetComparison, TopicScores
from cranfield.campaign.rules.task_rules import is_safe_name

Row = dict[str, Any]


def make_release(
    folder: Path,
    name: str = "adhoc-1",
    *,
    tags: Sequence[str] = ("bm25", "dense", "late1"),
    teams: Sequence[str] = ("padua", "delft", "padua"),
    types: Sequence[str] = ("automatic", "manual", "automatic"),
    topics: Sequence[str] = tuple("123456789") + ("10",),
    measures: Sequence[str] = ("AP", "nDCG@10"),
    title: str = "News search 2026",
    description: str = "",
    days: Sequence[int] = (1,),
    note: str = "",
    seed: int = 1,
) -> Path:
    """Write a release as it stands on disk; runs get better by their place, the last the best."""
    data = folder / name / "data"
    (data / "scores").mkdir(parents=True)
    random = np.random.default_rng(seed)
    base = random.random((len(topics), 1)) * 0.5
    better = np.linspace(0, 0.3, len(tags))
    values = {m: np.clip(base + better + random.random((len(topics), len(tags))) * 0.2, 0, 1)
              for m in measures}  # fmt: skip
    frame = pl.DataFrame(
        {
            "topic": [topic for topic in topics for _ in tags],
            "system": list(tags) * len(topics),
            **{name: table.ravel() for name, table in values.items()},
        }
    )
    frame.write_parquet(data / "scores" / "scores.parquet")
    compared = None
    if len(tags) > 1:
        compared = cf.compare(cf.Scores(values[measures[0]], tuple(topics), tuple(tags)))
    means = {name: table.mean(axis=0) for name, table in values.items()}
    order = np.argsort(-means[measures[0]], kind="stable")
    board: list[Row] = []
    runs: list[Row] = []
    for place, k in enumerate(order, 1):
        late = k == len(tags) - 1
        row: Row = {"rank": place, "tag": tags[k], "team": teams[k % len(teams)]}
        row |= {"type": types[k % len(types)], "late": str(late).lower()}
        row |= {name: repr(float(means[name][k])) for name in measures}
        sure: Row = {"groups": "", "low": "", "high": ""}
        if compared is not None:
            low, high = (
                compared.find_mean_bounds(int(compared.order[0])) or (means[measures[0]],) * 2
            )
            sure = {"groups": compared.groups()[tags[k]], "low": low[k], "high": high[k]}
        board.append(row | sure | {"unjudged@10": repr(round(0.01 * place, 4))})
        runs.append(
            {name: row[name] for name in ("tag", "team", "type", "late")}
            | {
                "priority": 1,
                "pooled": str(not late).lower(),
                "received": f"2026-08-{days[k % len(days)]:02}",
            }
            | {"sha256": "0" * 64, "description": description, "fields": ["title", "all"][k % 2]}
        )
    _write(data / "leaderboard.csv", board)
    _write(data / "runs.csv", runs)
    _write(data / "teams.csv", [{"id": one, "name": one.upper()} for one in sorted({*teams})])
    statistics = [
        {"measure": name, "group": "all", "topic": topic, "best": table[i].max(),
         "median": sorted(table[i])[len(tags) // 2], "worst": table[i].min(), "n": len(tags)}
        for name, table in values.items()
        for i, topic in enumerate(topics)
    ]  # fmt: skip
    _write(data / "topic-statistics.csv", statistics)
    (data / "sheets").mkdir()
    for k, tag in enumerate(tags):
        if is_safe_name(tag):
            made = make_sheet(tag, teams[k % len(teams)], topics, values[measures[0]][:, k],
                              measures[0], title, description)  # fmt: skip
            (data / "sheets" / f"{tag}.json").write_text(made.to_json())
    about = {
        "campaign": "news-2026",
        "campaign_title": title,
        "task": name.rpartition("-")[0],
        "title": f"{title}: ad hoc",
        "judgments": "1",
        "measures": list(measures),
        "categories": ["type", "fields"],
        "date": "2026-11-20",
        "note": note,
    }
    (data / "about.json").write_text(json.dumps(about))
    write_bag(folder / name, {})
    return folder / name


def make_sheet(
    tag: str, team: str, topics: Sequence[str], scores: Any, measure: str, title: str, said: str
) -> Sheet:
    """Make a sheet with numbers by hand."""
    return Sheet(
        campaign="news-2026",
        campaign_title=title,
        task="adhoc",
        task_title=f"{title}: ad hoc",
        judgments="1",
        tag=tag,
        team=team,
        team_name=team.upper(),
        measure=measure,
        n_topics=len(topics),
        n_retrieved=1000,
        n_relevant=100,
        n_relevant_retrieved=50,
        precision_at_recall=tuple(1 - k / 10 for k in range(11)),
        precision_at={5: 0.5, 10: 0.4},
        average_precision=float(scores.mean()),
        r_precision=0.3,
        measures={measure: float(scores.mean())},
        unjudged={10: 0.1},
        by_topic=tuple(
            TopicScores(topic, 5, float(one), best=0.9, median=0.4, worst=0.0, rank=1)
            for topic, one in zip(topics, scores, strict=True)
        ),
        comparison=SheetComparison(rank=1, n_runs=3, groups="a", names=(tag, team)),
        category=Category("type", said or "automatic", 3),
        description=said,
        metadata=f"actor:\n  team: {said}\n" if said else "",
    )


def _write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
