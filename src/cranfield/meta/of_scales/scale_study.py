"""The study of Ferrante, Ferro and Fuhr (2021): what changes when measures are interval-scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure
from cranfield.meta.of_scales.scale_study_options import study_options
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.tabular import frame_html

MEASURES = (
    "P",
    "RBP(p=0.5)",
    "RR",
    "RBP(p=0.3)",
    "RBP(p=0.8)",
    "DCG(discount='max(1,log2(rank))')",
    "DCG(discount='max(1,log10(rank))')",
    "R",
    "AP",
    "nDCG(discount='max(1,log2(rank))')",
    "nDCG(discount='max(1,log10(rank))')",
)
"""The measures of the paper, in the order of its table 2."""

CUTOFFS = (5, 10, 20, 30)
"""Its lengths of runs."""

TESTS = (
    ("sign", "none"),
    ("rank-sum", "none"),
    ("signed-rank", "none"),
    ("t", "none"),
    ("anova-1", "tukey"),
    ("kruskal-wallis", "tukey"),
    ("anova-2", "tukey"),
    ("friedman", "tukey"),
)
"""Its tests, with their corrections, in the order of its table 5."""

DECIMALS = 8
"""To which averages are rounded before systems are ordered by them (footnote 9 there)."""

ROUNDING = 2.0**-48
"""Scores that differ by less than this part of the largest may be equal in truth."""


@dataclass(frozen=True, eq=False, repr=False)
class ScaleStudy:
    """What interval scaling changes.

    Attributes
    ----------
    measures
        Text forms, without their cutoffs.
    cutoffs
        Lengths of runs.
    ties
        How ties were ranked.
    systems, topics
        Numbers of them.
    correlation
        Table of Kendall's tau between each measure and its interval-scaled version, by `cutoff` and
        `measure`: `overall`, of the means of systems; `by topic`, the mean over topics; and
        `lowest`, the topic with the lowest (tables 2 and 3 of the source).
    pairs
        Table of Kendall's tau between two measures, `original` and `interval`-scaled, with the
        change in percent (table 4).
    changes
        Table, by test, of pairs of systems that differ by the measure (`Sig`), those that no longer
        do by its interval-scaled version (`S2NS`), those that only then do (`NS2S`), and the share
        of changes in percent of Sig (tables 5 and 6).
    """

    measures: tuple[str, ...]
    cutoffs: tuple[int, ...]
    ties: str
    systems: int
    topics: int
    correlation: pl.DataFrame
    pairs: pl.DataFrame
    changes: pl.DataFrame

    def _repr_html_(self) -> str:
        return frame_html(self.correlation, repr(self))

    def __repr__(self) -> str:
        return (
            f"ScaleStudy({len(self.measures)} measures, cutoffs {list(self.cutoffs)},"
            f" {self.systems} systems, {self.topics} topics)"
        )


def study_scales(
    judged: JudgedRuns,
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    tests: Iterable[tuple[str, str]] = TESTS,
    ties: str = "unique",
    alpha: float = 0.05,
    progress: Callable[[str], None] | None = None,
) -> ScaleStudy:
    """Compare measures with their interval-scaled versions on the same runs.

    Parameters
    ----------
    judged
        Judged runs of two systems at least; see :meth:`JudgedRuns.binary` for binary judgments.
    measures
        Measures without cutoff, each once.
    cutoffs
        Lengths of runs, each once.
    tests
        Tests with the correction of each, each test once; none leaves `changes` empty.
    ties
        How interval-scaled versions rank ties: `unique`, `mid`, `min` or `max`.
    alpha
        Significance level.
    progress
        Called with a line before each step that takes a while.

    Returns
    -------
    ScaleStudy
        The tables 2 to 6 of Ferrante, Ferro and Fuhr (2021), section 7, for these runs.

    Raises
    ------
    MeasureError, PolicyError
        For what does not exist, is asked for twice or is beyond reach, before anything is computed.

    Notes
    -----
    Scores are replaced by their exact ranks. Cutoffs and grades for which these are beyond reach
    (for AP and ERR some 30 ranks, for DCG and RBP some 44 with binary judgments) are refused at
    the start: shares within an error, which longer runs have, would tie scores that differ, and
    ties are what Kendall's tau and the tests see.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:6], covid.qrels).binary()
    >>> found = study_scales(judged, ["P", "RR"], cutoffs=[5], tests=[("t", "none")])
    >>> found.correlation["overall"][0], found.changes["S2NS"][0]
    (1.0, 0)
    """
    options = study_options(measures, cutoffs, tests, ties, alpha)
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"the study takes what judge() returns, not {type(judged).__name__}")
    if len(judged.systems) < 2:
        raise PolicyError(f"the study compares systems, and there is {len(judged.systems)}")
    options.require(judged.judgments.max_grade, len(judged.systems) * len(judged.topics))
    names = options.names
    correlation: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for cutoff in options.cutoffs:
        both: list[tuple[Scores, Scores]] = []
        for name, (plain, ranked) in zip(names, options.versions(cutoff), strict=True):
            if progress is not None:
                progress(f"{name}@{cutoff}")
            scores = score(judged, [plain, ranked])
            both.append((scores[plain], scores[ranked]))
            correlation.append({"cutoff": cutoff, "measure": name, **_agreement(*both[-1])})
            for test, correct in options.tests:
                counts = _changed(*both[-1], test, correct, alpha)
                changes.append({"cutoff": cutoff, "measure": name, "test": test, **counts})
        for i, j in combinations(range(len(names)), 2):
            original, scaled = (
                float(kendall_tau(_means(both[i][k]), _means(both[j][k]))) for k in (0, 1)
            )
            pairs.append(
                {
                    "cutoff": cutoff,
                    "first": names[i],
                    "second": names[j],
                    "original": original,
                    "interval": scaled,
                    "change %": 100 * (scaled / original - 1) if original else np.nan,
                }
            )
    return ScaleStudy(
        names,
        options.cutoffs,
        ties,
        len(judged.systems),
        len(judged.topics),
        pl.DataFrame(correlation, {**_AT, **_floats("overall", "by topic", "lowest")}),
        pl.DataFrame(pairs, {**_PAIR, **_floats("original", "interval", "change %")}),
        pl.DataFrame(changes, {**_AT, "test": pl.String, **_COUNTS, **_floats("changed %")}),
    )


_AT = {"cutoff": pl.Int64, "measure": pl.String}
_PAIR = {"cutoff": pl.Int64, "first": pl.String, "second": pl.String}
_COUNTS = dict.fromkeys(("Sig", "S2NS", "NS2S"), pl.Int64)


def _floats(*names: str) -> dict[str, type[pl.Float64]]:
    return dict.fromkeys(names, pl.Float64)


def _means(scores: Scores) -> Floats:
    return np.round(scores.mean(), DECIMALS)


def _agreement(plain: Scores, ranked: Scores) -> dict[str, float]:
    """Return Kendall's tau of a measure and its version, over means and topic by topic."""
    by_topic = kendall_tau(
        plain.values, ranked.values, rounding=ROUNDING * float(np.abs(plain.values).max())
    )
    known = by_topic[~np.isnan(by_topic)]
    return {
        "overall": float(kendall_tau(_means(plain), _means(ranked))),
        "by topic": float(known.mean()) if known.size else np.nan,
        "lowest": float(known.min()) if known.size else np.nan,
    }


def _changed(
    plain: Scores, ranked: Scores, test: str, correction: str, alpha: float
) -> dict[str, float]:
    """Count pairs that differ by the measure, and those for which its version says otherwise."""
    before, after = (
        compare(one, test=test, correction=correction, alpha=alpha).is_significant()
        for one in (plain, ranked)
    )
    found = int(before.sum())
    lost, won = int((before & ~after).sum()), int((~before & after).sum())
    share = 100 * (lost + won) / found if found else np.nan
    return {"Sig": found, "S2NS": lost, "NS2S": won, "changed %": share}
