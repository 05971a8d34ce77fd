"""Comparisons as text for other programs, CSV and JSON, and as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from cranfield.base.escape import plain
from cranfield.base.version import __version__
from cranfield.reporting.kinds_of_marks import kind_of
from cranfield.reporting.shared_lines import shared_lines
from cranfield.reporting.summary import lead, test_sentence
from cranfield.reporting.tables.marks import marks_of
from cranfield.reporting.tables.scores_table import evaluation_table
from cranfield.reporting.text.interval_bars import with_bars
from cranfield.reporting.text.json_values import json_of
from cranfield.scales.statements.meaningful import Meaning
from cranfield.significance.comparison.rank_sets import RankSets
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.significance.several.joint_measures import JointComparison
from cranfield.tabular import Table
from cranfield.tabular.text import grid


def plain_text(
    found: Mapping[str, Meaning], margin: str | None = None, *, anova: bool = False
) -> str:
    """Write the answers first, with their intervals, and then what they rest on."""
    told = {
        name: [
            *(f"note: {note}" for note in one.comparison.notes),
            *(f"meaning: {line}" for line in _meant(one)),
        ]
        for name, one in found.items()
    }
    own, common = shared_lines(told)
    parts = [_answer(one.comparison, name) for name, one in found.items()]
    for name, one in found.items():
        parts.append("\n".join([*one.comparison.facts(), *own[name]]))
        if anova and one.comparison.anova is not None:
            parts.append(str(one.comparison.anova))
        if margin is not None:
            parts.append(str(one.comparison.equivalence(margin)))
    if common:
        parts.append("\n".join(["All measures:", *common]))
    return "\n\n".join(parts) + "\n"


def _answer(one: PairwiseComparison, name: str) -> str:
    table, bars = with_bars(one)
    said = f"{lead(one, plain(name) or 'these scores')}\n{test_sentence(one)}"
    return "\n".join([said, "", grid(table), *([bars] if bars else [])])


def csv_text(found: Mapping[str, Meaning], margin: str | None = None) -> str:
    tables = [
        one.comparison.to_polars().select(
            pl.lit(name).alias("measure"),
            pl.lit(one.comparison.test).alias("test"),
            pl.lit(one.comparison.correction).alias("correction"),
            pl.lit(one.comparison.alternative).alias("alternative"),
            pl.lit(one.comparison.alpha).alias("alpha"),
            pl.lit(one.comparison.lower_is_better).alias("lower is better"),
            pl.all(),
            pl.Series("order of means holds on any scale", one.dominance.holds),
            *_equivalence(one, margin),
        )
        for name, one in found.items()
    ]
    return pl.concat(tables).write_csv()


def _equivalence(found: Meaning, margin: str | None) -> pl.DataFrame:
    """Return what is added to the pairs where a margin is asked for: columns of other names."""
    if margin is None:
        return pl.DataFrame()
    table = found.comparison.equivalence(margin).to_polars()
    more = table.drop("first", "second", "difference")
    return more.drop("p difference").rename(
        {name: f"equivalence {name}" for name in ("low", "high", "verdict")}
    )


def _meant(found: Meaning) -> list[str]:
    """Say what a comparison means, but for what stands among its notes already."""
    told = found.has is not None and found.has < found.needs
    return found.lines()[told:]


def tables(
    found: Mapping[str, Meaning], margin: str | None = None, anova: bool = False
) -> list[Table]:
    """Return the tables of each measure: the ranking or the pairs, and the analysis of variance.

    What the comparison means stands among the remarks of the former.
    """
    made = []
    for meant in found.values():
        one = meant.comparison
        shown = one.table()
        said = [f"meaning: {line}" for line in _meant(meant)]
        made.append(replace(shown, remarks=[*shown.remarks, *said]))
        if anova and one.anova is not None:
            variance = one.anova.table()
            of = f" of {one.measure}" if one.measure else ""
            title = variance.title.replace("variance", f"variance{of}", 1)
            made.append(replace(variance, title=title))
        if margin is not None:
            made.append(one.equivalence(margin).table())
    return made


def marked_table(found: Mapping[str, Meaning], kind: str | None = None) -> Table:
    """Return one table of all measures, with marks of significance of a kind of `MARKS`."""
    comparisons = {name: one.comparison for name, one in found.items()}
    first = next(iter(comparisons.values()))
    kind = kind_of(kind, first.baselines, (first.alpha,))
    scores = {name: one.scores for name, one in comparisons.items()}
    made = marks_of(comparisons, kind)
    said = [
        f"{name}: {line}" if name else line for name, one in found.items() for line in _meant(one)
    ]
    remarked = replace(made, remarks=[*made.remarks, *said])
    # As in tables without marks, the best system of the first measure is the first.
    return evaluation_table(scores, remarked, sort=next(iter(scores)))


def json_text(found: Mapping[str, Meaning], margin: str | None = None) -> str:
    comparisons = []
    for one in found.values():
        table = as_dict(one.comparison)
        table["meaning"] = {"verdict": one.verdict, "lines": one.lines()}
        for pair, holds in zip(table["pairs"], one.dominance.holds, strict=True):
            pair["order of means holds on any scale"] = bool(holds)
        if margin is not None:
            made = one.comparison.equivalence(margin)
            table["equivalence"] = {
                "margin": made.asked,
                "confidence level": made.level,
                "holds for": made.holds_for,
                "verdicts": made.count(),
            }
            more = _equivalence(one, margin).to_dicts()
            table["pairs"] = [a | b for a, b in zip(table["pairs"], more, strict=True)]
        comparisons.append(table)
    return json_of({"cranfield": __version__, "comparisons": comparisons})


def board_text(found: Mapping[str, RankSets | JointComparison], format: str) -> str:
    """Write leaderboards, or what several measures say together, as `text`, `csv` or `json`."""
    if format == "text":
        return "\n\n".join(one.to_text() for one in found.values()) + "\n"
    frames = {name: one.to_polars() for name, one in found.items()}
    if format == "csv":
        named = [
            frame
            if "measure" in frame.columns
            else frame.select(pl.lit(name).alias("measure"), pl.all())
            for name, frame in frames.items()
        ]
        return pl.concat(named, how="diagonal").write_csv()
    shared = ("method", "alpha", "topics", "resamples", "seed", "notes")
    boards = [
        {"measure": name}
        | {attribute: getattr(one, attribute) for attribute in shared}
        | {"rows": frames[name].to_dicts()}
        for name, one in found.items()
    ]
    return json_of({"cranfield": __version__, "boards": boards})


def as_dict(found: PairwiseComparison) -> dict[str, Any]:
    table: dict[str, Any] = {
        "measure": found.measure,
        "lower is better": found.lower_is_better,
        "test": found.test,
        "title": found.info.title,
        "correction": found.correction,
        "correction title": CORRECTIONS[found.correction].title,
        "alternative": found.alternative,
        "alpha": found.alpha,
        "topics": found.topics,
        "significant pairs": found.count(),
        "pairs compared": len(found),
        "baselines": list(found.baselines),
        "scale assumed": str(found.scale),
        "scale declared": None if found.measure_scale is None else str(found.measure_scale),
        "seed": found.seed,
        "resamples": found.resamples,
        "interval of": found.interval_of,
        "interval holds for": found.interval_kind,
        "options": found.options,
        "details": found.details,
        "notes": list(found.notes),
        "systems": found.ranking().to_dicts(),
        "pairs": found.to_polars().to_dicts(),
    }
    if found.anova is not None:
        table["anova"] = found.anova.to_polars().to_dicts()
        table["anova notes"] = list(found.anova.notes)
        of = found.anova.sphericity
        table["sphericity"] = None if of is None else vars(of)
        table["variances"] = dict(found.anova.components)
    if found.omnibus is not None:
        table["omnibus"] = vars(found.omnibus)
    return table
