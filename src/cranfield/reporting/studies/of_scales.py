"""The study of scales, as tables."""

from __future__ import annotations

import polars as pl

from cranfield.meta.of_scales.scale_study import ScaleStudy
from cranfield.reporting.studies.as_text import StudyText, Table, number


def shown(study: ScaleStudy) -> StudyText:
    """Show a study of scales."""
    heading = (
        f"{study.systems} systems, {study.topics} topics; ties ranked {study.ties};"
        " Sig: pairs that differ by the measure; S2NS: no longer by its interval-scaled version;"
        " NS2S: only by that"
    )
    return StudyText(
        [heading],
        tables_of(study),
        {
            "correlation": (study.correlation, ("cutoff", "measure")),
            "pairs": (study.pairs, ("cutoff", "first", "second")),
            "changes": (study.changes, ("cutoff", "measure", "test")),
        },
        {"systems": study.systems, "topics": study.topics, "ties": study.ties},
    )


def tables_of(study: ScaleStudy) -> list[Table]:
    """Return the tables of the source."""
    by_cutoff = [_correlation(study, "overall")]
    low = study.correlation["lowest"].min()
    if not isinstance(low, float) or low < 1:
        by_cutoff.append(_correlation(study, "by topic"))
    pairs = [_pairs(study, cutoff) for cutoff in study.cutoffs]
    return [*by_cutoff, *pairs, *(_changes(study, cutoff) for cutoff in study.cutoffs)]


def _correlation(study: ScaleStudy, which: str) -> Table:
    title = (
        "Kendall's tau of a measure and its interval-scaled version, of the means of systems"
        if which == "overall"
        else "The same topic by topic, mean over topics"
    )
    rows = []
    for name in study.measures:
        mine = study.correlation.filter(pl.col("measure") == name)
        rows.append([name, *(number(one, 4) for one in mine[which].to_list())])
    return Table(title, ["measure", *(f"@{k}" for k in study.cutoffs)], rows)


def _pairs(study: ScaleStudy, cutoff: int) -> Table:
    title = f"Kendall's tau of two measures, and of their interval-scaled versions, @{cutoff}"
    rows = [
        [a, b, number(x, 4), number(y, 4), f"{change:+.2f}%"]
        for _, a, b, x, y, change in study.pairs.filter(pl.col("cutoff") == cutoff).rows()
    ]
    return Table(title, ["first", "second", "measures", "interval-scaled", "change"], rows, (0, 1))


def _changes(study: ScaleStudy, cutoff: int) -> Table:
    pairs = study.systems * (study.systems - 1) // 2
    title = f"Of {pairs:,} pairs of systems, those that differ, @{cutoff}"
    rows = [
        [name, test, f"{sig:,}", _part(lost, sig), _part(won, sig), f"{number(share, 2)}%"]
        for _, name, test, sig, lost, won, share in study.changes.filter(
            pl.col("cutoff") == cutoff
        ).rows()
    ]
    return Table(title, ["measure", "test", "Sig", "S2NS", "NS2S", "changed"], rows, (0, 1))


def _part(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.2f}%)" if of else f"{count:,}"
