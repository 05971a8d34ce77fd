"""What runs lose that were not pooled: each pooled team is left out in turn."""

from __future__ import annotations

import polars as pl

from cranfield.campaign.results.judgments import qrels_of
from cranfield.campaign.results.run_bytes import intact_runs, runs_of
from cranfield.campaign.results.score_files import digest, kept_frame
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.rules.task_rules import PoolRules
from cranfield.meta.of_collections.leave_one_out import leave_one_out


def lost_unpooled(scoring: Scoring) -> dict[str, float] | None:
    """Find what runs lose that were not pooled, by leaving out each team that was."""
    pooled = intact_runs(scoring.opened, [one for one in scoring.submissions if one.pooled])
    teams = {one.tag: one.team for one in pooled}
    if len(set(teams.values())) < 2:
        return None
    measure, depth = scoring.measures[0], (scoring.rules.pool or PoolRules()).depth
    own = scoring.policies.describe()
    policies = {name: own[name] for name in ("ties", "topics", "negative")}

    def make() -> tuple[pl.DataFrame, dict[str, str]]:
        left = leave_one_out(
            runs_of(scoring.opened, scoring.rules, pooled),
            qrels_of(scoring.opened, scoring.rules, scoring.judgments),
            measure,
            teams=teams,
            depth=depth,
            lists="raw",
            **policies,
        )
        wanted = ("mean drop", "largest drop", "largest rank change")
        return left.summary.select(pl.col(one).cast(pl.Float64) for one in wanted), {}

    objects = sorted((one.tag, one.team, one.object) for one in pooled)
    basis = digest("left out", scoring.basis(), str(measure), depth, objects)
    task, judgments = scoring.rules.name, scoring.judgments.version
    frame, _ = kept_frame(scoring.opened, task, judgments, basis, make)
    return {"runs": float(len(pooled)), **frame.row(0, named=True)}
