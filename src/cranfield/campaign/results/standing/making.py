"""Does it add up? Where a new run stands beside the runs of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import without_noise
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.results.judgments import qrels_of
from cranfield.campaign.results.run_bytes import run_of
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.results.standing.result import (
    BASELINE,
    BEST,
    MEDIAN,
    Standing,
    verdict_of,
)
from cranfield.campaign.results.standing.unpooled import lost_unpooled
from cranfield.campaign.rules.task_rules import PoolRules
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.evaluation.evaluation import Evaluation, score
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.transform import standardise

CHOSEN = (
    "the best and the median run are taken as given: that they were chosen by these very scores is"
    " not in the p-values"
)
"""What a reader should know of comparisons with runs that were chosen by their scores."""

LEAST_REFERENCE = 10
"""Reference runs without which scores are not standardised.

In units of the spread of n normal values, a new one has Student's distribution with n - 1 degrees
of freedom, times sqrt(1 + 1 / n). Its own spread is infinite up to n = 3, 1.5 for 5, 1.2 for 10.
"""


def standing(
    opened: Opened,
    run: PathName,
    task: str | None = None,
    *,
    measure: str | None = None,
    baseline: PathName | None = None,
    judgments: str | None = None,
    kind: str | None = "automatic",
    alpha: float = 0.05,
    pooling: bool = True,
    **options: Any,
) -> Standing:
    """Say where a run stands: against the best, the median and a baseline.

    Source: Armstrong, Moffat, Webber and Zobel (2009), Improvements that don't add up, who found
    that new results were compared with weak baselines and did not exceed what was there.

    Parameters
    ----------
    opened, task, judgments
        As for :func:`~cranfield.campaign.results.scoring.scored`.
    run, baseline
        A run's file, or the tag of one of the campaign's runs.
    measure
        The first measure of the task's rules by default.
    kind
        The type of the runs that it is compared with. All accepted runs for None, and for
        `automatic` where none is of it.
    alpha
        Significance level.
    pooling
        Whether to find out what runs lose that were not pooled, where it is known who was; it is
        kept once it is found.
    options
        As for :func:`cranfield.compare`.

    Returns
    -------
    Standing
        The comparisons of the run with the others are one family, those of the baseline another.

    Raises
    ------
    CranfieldError
        Where there is no run to compare with, or the file is none.
    """
    scoring = Scoring(opened, task, None if measure is None else [measure], judgments)
    wanted = scoring.measures[0]
    if wanted.info.others:
        raise PolicyError(f"{wanted} looks at other runs: a run cannot stand by it")
    scoring = scoring.only(wanted)
    asked = [fspath(one) for one in (run, baseline) if one is not None]
    given = [_read(scoring, one) for one in asked]
    names = [one.name for one in given]
    if len(set(names)) < len(names):
        raise PolicyError(f"the run and its baseline are both called {quoted(names[0])}")
    found = _evaluated(scoring, given)
    # From now on, runs that cannot be read are no longer among the submissions.
    [every] = scoring.evaluation().values()
    lost = lost_unpooled(scoring) if pooling else None
    files = [one.name for one, text in zip(given, asked, strict=True) if Path(text).is_file()]
    among = _among(scoring, every, found, files, kind)
    of_baseline = None
    if baseline is not None:
        of_baseline = among.standing(names[1], None, alpha, options)
    stands = among.standing(names[0], None if baseline is None else names[1], alpha, options)
    return replace(stands, lost=lost, baseline=of_baseline)


def _read(scoring: Scoring, text: str) -> Run:
    """Read a run's file, or one of the campaign's runs by its tag."""
    submission = next((one for one in scoring.submissions if one.tag == text), None)
    if submission is not None and not Path(text).is_file():
        return run_of(scoring.opened, scoring.rules, submission)
    return read_run(text, format=scoring.rules.format)


def _evaluated(scoring: Scoring, runs: Sequence[Run]) -> Evaluation:
    qrels = qrels_of(scoring.opened, scoring.rules, scoring.judgments)
    return score(judge(list(runs), qrels, **scoring.policies.describe()), scoring.measures)


@dataclass(frozen=True, eq=False)
class _Among:
    """New runs among those of a campaign: `scores` of all, the `others`, their type in words."""

    scoring: Scoring
    scores: Scores
    others: tuple[str, ...]
    what: str
    found: Evaluation
    notes: tuple[str, ...]

    def standing(
        self, run: str, baseline: str | None, alpha: float, options: dict[str, Any]
    ) -> Standing:
        """Compare a run with the best, the median and perhaps a baseline."""
        others = [one for one in self.others if one != run]
        reference = self.scores.select(systems=others)
        sign = 1.0 if reference.lower_is_better else -1.0
        means = dict(zip(self.scores.systems, self.scores.mean().tolist(), strict=True))
        worth = sign * without_noise(self.scores.mean())
        order = dict(zip(self.scores.systems, worth.tolist(), strict=True))
        best_first = sorted(others, key=lambda one: (order[one], one))
        chosen = {BEST: best_first[0], MEDIAN: best_first[(len(best_first) - 1) // 2]}
        if baseline is not None:
            chosen[BASELINE] = baseline
        against = list(dict.fromkeys(chosen.values()))
        compared = compare(
            self.scores.select(systems=[*against, run]), baseline=against, alpha=alpha, **options
        )
        z = self._standardised(reference)
        pairs = compared.to_polars().with_columns(tag=pl.col("second"))
        frame = (
            pl.DataFrame({"against": list(chosen), "tag": list(chosen.values())})
            .with_columns(mean=pl.col("tag").replace_strict(means, return_dtype=pl.Float64))
            .join(pairs, on="tag", how="left", maintain_order="left")
            .with_columns(standardised=pl.col("tag").replace_strict(z, return_dtype=pl.Float64))
            .select(
                *("against", "tag", "mean", "difference", "low", "high", "raw p", "p"),
                pl.col("significant").alias("separated"),
                "standardised",
            )
        )
        better = sum(order[one] < order[run] for one in others)
        depth = (self.scoring.rules.pool or PoolRules()).depth
        return Standing(
            run=run,
            measure=self.scores.measure,
            judgments=self.scoring.judgments.version,
            unjudged=self._unjudged(run, depth),
            depth=depth,
            lost=None,
            place=better + 1,
            of=len(others) + 1,
            mean=means[run],
            frame=frame,
            standardised=z[run],
            verdict=verdict_of(frame, reference.lower_is_better),
            comparison=compared,
            baseline=None,
            notes=(
                f"compared with the {counted(len(others), 'accepted run')}{self.what}",
                *self.notes,
                *self._few(len(others)),
                CHOSEN,
                *compared.notes,
            ),
        )

    def _standardised(self, reference: Scores) -> dict[str, float | None]:
        if len(reference.systems) < LEAST_REFERENCE:
            return dict.fromkeys(self.scores.systems)
        made = standardise(self.scores, reference)
        return dict(zip(made.systems, made.mean().tolist(), strict=True))

    def _few(self, runs: int) -> list[str]:
        few = f"not standardised: the spread of {counted(runs, 'run')} is hardly known"
        return [f"{few}; {LEAST_REFERENCE} are needed"] if runs < LEAST_REFERENCE else []

    def _unjudged(self, run: str, depth: int) -> dict[int, float]:
        """Return the share of unjudged documents in the first ranks of all topics together."""
        judged = self.found.judged
        column = judged.systems.index(run)
        shares = {}
        for last in sorted({10, depth}):
            top = judged.top(last)
            retrieved = int(top.retrieved[:, column].sum())
            shares[last] = 1 - int(top.judged().count[:, column].sum()) / max(1, retrieved)
        return shares


def _among(
    scoring: Scoring, every: Scores, found: Evaluation, files: Sequence[str], kind: str | None
) -> _Among:
    """Put the new runs beside those of the campaign; `files` are not among these."""
    tags = [one.tag for one in scoring.submissions if one.type == kind]
    if not tags and kind not in (None, "automatic"):
        types = dict.fromkeys(quoted(one.type) for one in scoring.submissions)
        raise PolicyError(f"no run is of type {quoted(kind)}; expected one of: {', '.join(types)}")
    what = f" of type {kind}" if tags else ""
    tags = tags or [one.tag for one in scoring.submissions]
    notes = []
    known = {one.tag for one in scoring.submissions}
    taken = [name for name in files if name in known]
    if taken:
        tags = [tag for tag in tags if tag not in taken]
        names = ", ".join(map(quoted, taken))
        notes.append(f"the campaign's own {names} is left out: a file is called so")
    if not set(tags) - {found.systems[0]}:
        raise CranfieldError(f"task {quoted(scoring.rules.name)} has no run to compare with")
    others = every.select(systems=sorted(tags))
    [new] = found.values()
    new = new.select(systems=[one for one in new.systems if one not in tags])
    row = {topic: k for k, topic in enumerate(new.topics)}
    there = np.array([row.get(topic, -1) for topic in others.topics])
    beside = np.full((len(there), len(new.systems)), np.nan)
    beside[there >= 0] = new.values[there[there >= 0]]
    both = replace(
        others,
        values=np.hstack([others.values, beside]),
        systems=(*others.systems, *new.systems),
    )
    complete, told = both.complete("zero")
    return _Among(scoring, complete, others.systems, what, found, (*notes, *told))
