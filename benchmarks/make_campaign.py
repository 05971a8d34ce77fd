"""Make a synthetic campaign of thousands of runs with scores, for `benchmarks.campaign_growth`.

python -m benchmarks.make_campaign FOLDER RUNS TOPICS
"""

from __future__ import annotations

import hashlib
import sys
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import numpy as np

import cranfield as cf
from cranfield.campaign.results.scoring import KeptRuns, Scoring, table_of
from cranfield.campaign.rules.task_rules import utc_text
from cranfield.campaign.store import records
from cranfield.campaign.store.records import Submission, Team
from cranfield.collection.judged.coverage import Coverage, SystemCoverage
from cranfield.evaluation.evaluation import score

MEASURES = (
    *("AP", "nDCG@10", "nDCG@20", "nDCG", "RR", "RR@10", "Rprec", "bpref", "ERR@20", "RBP(p=0.8)"),
    *("P@5", "P@10", "P@20", "P@30", "P@100", "R@10", "R@100", "R@1000", "Success@5", "Judged@10"),
)
DOCS = 100
"""Documents of each topic, in judgments and in the new run."""


def made(folder: Path, runs: int, topics: int, seed: int = 7) -> None:
    """Make the campaign."""
    names = [str(401 + k) for k in range(topics)]
    (folder / "topics.txt").write_text("".join(f"{topic}\n" for topic in names))
    listed = ", ".join(f'"{one}"' for one in MEASURES)
    rules = folder / "campaign.toml"
    rules.write_text(
        f'[campaign]\nid = "news"\ntitle = "News"\n\n[tasks.adhoc]\ntopics = "topics.txt"\n'
        f'missing_topics = "off"\nmeasures = [{listed}]\n'
    )
    campaign = cf.campaign.create(folder / "news", rules)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with campaign.registry.change("teams") as change:
        for k in range(runs // 20 + 1):
            change.insert(Team(f"team{k:03d}", f"Team {k}", utc_text(start)))
    for first in range(0, runs, 100):
        with campaign.registry.change("submit") as change:
            for k in range(first, min(first + 100, runs)):
                line = f"401 Q0 d{k} 1 1.0 run{k:04d}\n".encode()
                sha256, size = put(campaign.folder, line)
                received = utc_text(start + timedelta(hours=k))
                change.insert(
                    Submission(
                        id=0,
                        task="adhoc",
                        team=f"team{k // 20:03d}",
                        tag=f"run{k:04d}",
                        object=sha256,
                        bytes=size,
                        state="accepted",
                        type="automatic",
                        received=received,
                        description=f"Run {k}",
                    )
                )
    judgments = folder / "qrels.txt"
    judgments.write_text(
        "".join(f"{t} 0 d{d} {int(d % 5 == 0)}\n" for t in names for d in range(DOCS))
    )
    campaign.add_judgments(judgments, version="1")
    add_scores(campaign, names, seed)


def put(folder: Path, data: bytes) -> tuple[str, int]:
    """Keep an object without waiting for the disk."""
    sha256 = hashlib.sha256(data).hexdigest()
    path = records.path(folder, sha256)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    return sha256, len(data)


def add_scores(campaign: cf.campaign.Campaign, topics: list[str], seed: int) -> None:
    """Write files of scores, random ones, as scoring would."""
    scoring = Scoring(campaign, "adhoc")
    draw = np.random.default_rng(seed)
    shape = (len(topics), len(scoring.objects))
    level = draw.beta(2, 5, (len(topics), 1)) + draw.normal(0, 0.05, (1, shape[1]))
    values = {
        str(one): np.clip(level + draw.normal(0, 0.1, shape), 0, 1) for one in scoring.measures
    }
    depth = 10 * shape[0]
    covered = [
        SystemCoverage(tag, depth, depth, depth, k, k, k, 0, 0, (), ())
        for k, tag in zip(cycle(range(depth)), scoring.objects, strict=False)
    ]
    runs = KeptRuns(
        tuple(topics), tuple(scoring.objects), scoring.policies, Coverage(tuple(covered)), 1, values
    )
    table = table_of(score(runs, scoring.measures), scoring.objects)
    scoring.keep(table, scoring.basis())


if __name__ == "__main__":
    made(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
