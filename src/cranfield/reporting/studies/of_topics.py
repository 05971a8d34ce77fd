"""Studies of the topics of a collection, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from cranfield.base.words import counted
from cranfield.meta.of_topics.extrapolation import Extrapolation
from cranfield.meta.of_topics.result import Stability
from cranfield.meta.of_topics.variance_components import Generalizability, TopicsFor
from cranfield.reporting.studies.as_text import StudyText, Table, by_column, first_rows, number

Frames = Mapping[str, tuple[pl.DataFrame, Sequence[str]]]


def of_stability(found: Stability) -> StudyText:
    """Show what samples of topics have in common with all topics."""
    drawn = "with" if found.replace else "without"
    heading = [
        f"{_named(found.measure)}{len(found.systems)} systems, {counted(found.topics, 'topic')};"
        f" samples {drawn} replacement, {counted(found.repeats, 'repeat')}, seed {found.seed};"
        f" {found.test} with {found.correction}, alpha {found.alpha:g}",
        *_notes(found.measure, found.notes),
    ]
    percent = f"{100 * found.confidence:g}%"
    rows = [
        [
            f"{row['topics']:,}",
            *_with_limits(row, "tau", 2),
            *_with_limits(row, "tau ap", 2),
            number(row["same first"], 2),
            *_with_limits(row, "significant", 1, 0),
            number(row["found again"], 2),
            number(row["contradicted"], 2),
        ]
        for row in found.by_size.to_dicts()
    ]
    head = ["topics", "tau", "within", "tau ap", "within", "same first"]
    head += ["significant", "within", "found again", "contradicted"]
    tables = [
        Table(
            f"{_named(found.measure)}samples of topics against all {found.topics}, where"
            f" {found.significant:,} of {counted(found.pairs, 'pair')} differ;"
            f" within: {percent} of samples",
            head,
            rows,
            (),
        )
    ]
    if len(found.top):
        table = found.top.pivot("top", index="topics", values="same")
        tables.append(
            by_column(
                table.rename({name: f"top {name}" for name in table.columns[1:]}),
                f"{_named(found.measure)}share of samples with the same systems on top",
                left=[],
                places=2,
            )
        )
    tables.append(
        first_rows(
            found.ranks,
            f"{_named(found.measure)}systems, and {percent} limits of their ranks by bootstrap",
            left=["system"],
            places={"rank": 1, "low": 1, "high": 1, "best": 3},
        )
    )
    about = {
        "study": "stability",
        "measure": found.measure,
        "systems": len(found.systems),
        "topics": found.topics,
        "test": found.test,
        "correction": found.correction,
        "alpha": found.alpha,
        "repeats": found.repeats,
        "replace": found.replace,
        "confidence": found.confidence,
        "seed": found.seed,
        "significant": found.significant,
        "pairs": found.pairs,
    }
    frames: Frames = {
        "stability": _labelled(found.measure, found.by_size, "topics"),
        "top": _labelled(found.measure, found.top, "topics", "top"),
        "first places": _labelled(found.measure, found.firsts, "topics", "system"),
        "ranks": _labelled(found.measure, found.ranks, "system"),
    }
    return StudyText(heading, tables, frames, about)


def of_generalizability(found: Generalizability, target: float = 0.95) -> StudyText:
    """Show variances, coefficients, and how many topics reach a target."""
    measure = _named(found.measure)
    size = f"{found.systems} systems, {counted(found.topics, 'topic')}"
    percent = f"{100 * found.confidence:g}%"
    components = found.components.cast({"df": pl.Int64})
    table = found.table()
    needed = pl.DataFrame(
        [
            {"coefficient": name, "target": one.target, **_topics(one)}
            for name, one in (
                ("relative", found.topics_for(target)),
                ("absolute", found.topics_for(target, absolute=True)),
            )
        ],
        schema={
            "coefficient": pl.String,
            "target": pl.Float64,
            **dict.fromkeys(("topics", "low", "high"), pl.Int64),
        },
    )
    rows = [
        [f"{row['topics']:,}", *_with_limits(row, "relative", 3), *_with_limits(row, "absolute", 3)]
        for row in table.to_dicts()
    ]
    tables = [
        by_column(
            components.select("source", "df", "variance", "share"),
            f"{measure}where the variance of scores comes from",
            left=["source"],
            places={"variance": 5, "share": 3},
        ),
        Table(
            f"{measure}generalizability by number of topics; relative: of differences and orders,"
            f" absolute: of scores; within: {percent} limits",
            ["topics", "relative", "within", "absolute", "within"],
            rows,
            (),
        ),
        by_column(
            needed,
            f"{measure}topics needed for {target:g}, with {percent} limits; empty: no number does",
            left=["coefficient"],
            places=2,
        ),
    ]
    about = {
        "study": "generalizability",
        "measure": found.measure,
        "systems": found.systems,
        "topics": found.topics,
        "confidence": found.confidence,
    }
    frames: Frames = {
        "variance": _labelled(found.measure, components, "source"),
        "coefficients": _labelled(found.measure, table, "topics"),
        "topics needed": _labelled(found.measure, needed, "coefficient", "target"),
    }
    heading = [f"{measure}{size}", *_notes(found.measure, found.notes)]
    return StudyText(heading, tables, frames, about)


def _topics(one: TopicsFor) -> dict[str, int | None]:
    return {"topics": one.topics, "low": one.low, "high": one.high}


def of_extrapolation(found: Extrapolation) -> StudyText:
    """Show what numbers of topics are expected to find."""
    measure = _named(found.measure)
    parts = {
        name: found.table.filter(pl.col("means") == name).drop("means")
        for name in ("shrunk", "normal low", "normal high")
    }
    table = parts["shrunk"]
    for name in ("normal low", "normal high"):
        table = table.join(
            parts[name].select("topics", pl.col("significant").alias(name)), on="topics"
        )
    tables = [
        by_column(
            table,
            f"{measure}what numbers of topics would find of {counted(found.pairs, 'pair')}"
            f" (two-way ANOVA, {found.correction}, alpha {found.alpha:g}), and tau with the true"
            " ranking and with one by other topics; normal low, high: significant pairs, were"
            " systems normal",
            left=[],
            places={"significant": 1, "normal low": 1, "normal high": 1, **dict.fromkeys(_TAUS, 2)},
        )
    ]
    about = {
        "study": "extrapolation",
        "measure": found.measure,
        "systems": found.systems,
        "topics": found.topics,
        "correction": found.correction,
        "alpha": found.alpha,
        "confidence": found.confidence,
    }
    frames: Frames = {"extrapolation": _labelled(found.measure, found.table, "topics", "means")}
    return StudyText(_notes(found.measure, found.notes), tables, frames, about)


_TAUS = ("tau truth", "tau repeat")


def _named(measure: str) -> str:
    return f"{measure}: " if measure else ""


def _notes(measure: str, notes: Iterable[str]) -> list[str]:
    return [f"note: {_named(measure)}{note}" for note in notes]


def _labelled(measure: str, frame: pl.DataFrame, *keys: str) -> tuple[pl.DataFrame, Sequence[str]]:
    """Put the measure before a table, so that those of several measures can be one."""
    return frame.select(pl.lit(measure).alias("measure"), pl.all()), ("measure", *keys)


def _with_limits(
    row: Mapping[str, Any], name: str, places: int, of_limits: int | None = None
) -> tuple[str, str]:
    low, high = (
        number(row[f"{name} {end}"], places if of_limits is None else of_limits)
        for end in ("low", "high")
    )
    return number(row[name], places), f"{low} to {high}" if low else ""
