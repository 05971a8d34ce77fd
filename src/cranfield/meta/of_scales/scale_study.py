"""The study of Ferrante, Ferro and Fuhr (2021): what changes when measures are interval-scaled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, to_order
from cranfield.base.errors import PolicyError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure
from cranfield.meta.of_scales.options import ScaleOptions, scale_options
from cranfield.meta.of_scales.result import ScaleStudy
from cranfield.meta.work.folder import judged_fingerprint
from cranfield.meta.work.options import Numbers, OneOf, Whole, check_options
from cranfield.meta.work.parts import Work, run_parts, with_work
from cranfield.scales.images.values import TIES
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.options import Options

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

ROUNDING = 2.0**-48
"""Scores that differ by less than this part of the largest may be equal in truth."""


@with_work
def study_scales(
    judged: JudgedRuns,
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    *,
    cutoffs: Annotated[Sequence[int], Numbers()] = CUTOFFS,
    tests: Iterable[tuple[str, str]] = TESTS,
    ties: Annotated[str, OneOf(TIES)] = "unique",
    alpha: float = 0.05,
    exact_n: Annotated[int, Whole(0)] = Options.exact_n,
    **work: Unpack[Work],
) -> ScaleStudy:
    """Compare measures with their interval-scaled versions on the same runs.

    Parameters
    ----------
    judged
        Judged runs of two systems at least; see :meth:`JudgedRuns.binary` for binary judgments.
    measures, cutoffs
        Measures without cutoff, and lengths of runs, each once.
    tests, alpha
        Tests with the correction of each, each test once, and their significance level; none
        leaves `changes` empty.
    ties
        How interval-scaled versions rank ties: `unique`, `mid`, `min` or `max`.
    exact_n
        As for :func:`cranfield.compare`: most differences for an exact signed rank test.
    jobs, backend, scheduler, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a measure at a cutoff.

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
    options = scale_options(measures, cutoffs, tests, ties, alpha, exact_n)
    check_options(study_scales, locals())
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"the study takes what judge() returns, not {type(judged).__name__}")
    if len(judged.systems) < 2:
        raise PolicyError(f"the study compares systems, and there is {len(judged.systems)}")
    options.require(judged.judgments.max_grade, len(judged.systems) * len(judged.topics))
    found = run_parts(
        _compared,
        (judged, options),
        {
            f"cutoff-{cutoff}-measure-{place + 1}": (cutoff, place)
            for cutoff in options.cutoffs
            for place in range(len(options.measures))
        },
        about={"study": "scales", **options.about(), "runs": judged_fingerprint(judged)},
        **work,
    )
    changes = found.select(*_AT, "changes").explode("changes").unnest("changes").drop_nulls("test")
    decisions = len(judged.systems) * (len(judged.systems) - 1) // 2
    changed = 100 * (pl.col("S2NS") + pl.col("NS2S")) / decisions
    pairs = [
        pair for _, part in found.group_by("cutoff", maintain_order=True) for pair in _pairs(part)
    ]
    return ScaleStudy(
        options.names,
        options.cutoffs,
        ties,
        len(judged.systems),
        len(judged.topics),
        found.select(*_AT, *_TAUS),
        pl.DataFrame(pairs, {**_PAIR, **_floats("original", "interval", "change %")}),
        changes.with_columns(changed.alias("changed % of all")),
    )


_AT = {"cutoff": pl.Int64, "measure": pl.String}
_TAUS = ("overall", "by topic", "lowest")
_PAIR = {"cutoff": pl.Int64, "first": pl.String, "second": pl.String}
_COUNTS = dict.fromkeys(("Sig", "S2NS", "NS2S"), pl.Int64)


def _floats(*names: str) -> dict[str, type[pl.Float64]]:
    return dict.fromkeys(names, pl.Float64)


def _compared(shared: tuple[JudgedRuns, ScaleOptions], task: tuple[int, int]) -> pl.DataFrame:
    """Compare a measure with its interval-scaled version: a row with what is found."""
    judged, options = shared
    cutoff, place = task
    plain, ranked = options.versions(cutoff)[place]
    scores = score(judged, [plain, ranked])
    both = scores[plain], scores[ranked]
    how: dict[str, Any] = {"alpha": options.alpha, "exact_n": options.exact_n}
    changes = [
        {"test": test, **_changed(*both, test, correct, **how)} for test, correct in options.tests
    ]
    row = {"cutoff": cutoff, "measure": options.names[place], **_agreement(*both)}
    row |= {"means": _means(both[0]).tolist(), "ranked": _means(both[1]).tolist()}
    means = dict.fromkeys(("means", "ranked"), pl.List(pl.Float64))
    change = pl.Struct({"test": pl.String, **_COUNTS, **_floats("changed %")})
    schema: dict[str, Any] = {**_AT, **_floats(*_TAUS), **means, "changes": pl.List(change)}
    return pl.DataFrame([{**row, "changes": changes}], schema)


def _pairs(part: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Compare the measures at a cutoff two at a time, before and after."""
    for one, other in combinations(part.iter_rows(named=True), 2):
        original, scaled = (
            float(kendall_tau(np.array(one[name]), np.array(other[name])))
            for name in ("means", "ranked")
        )
        yield {
            "cutoff": one["cutoff"],
            "first": one["measure"],
            "second": other["measure"],
            "original": original,
            "interval": scaled,
            "change %": 100 * (scaled / original - 1) if original else np.nan,
        }


def _means(scores: Scores) -> Floats:
    return to_order(scores.mean())


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
    plain: Scores, ranked: Scores, test: str, correction: str, **how: Any
) -> dict[str, float]:
    """Count pairs that differ by the measure, and those for which its version says otherwise."""
    before, after = (
        compare(one, test=test, correction=correction, **how).is_significant()
        for one in (plain, ranked)
    )
    found = int(before.sum())
    lost, won = int((before & ~after).sum()), int((~before & after).sum())
    share = 100 * (lost + won) / found if found else np.nan
    return {"Sig": found, "S2NS": lost, "NS2S": won, "changed %": share}
