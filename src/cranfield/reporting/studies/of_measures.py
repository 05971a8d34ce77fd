"""How good measures are, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cranfield.base.words import counted
from cranfield.meta.of_measures.concordance import Concordance
from cranfield.meta.of_measures.correlations import Correlations
from cranfield.meta.of_measures.discriminative import DiscriminativePower
from cranfield.meta.of_measures.predictive import PredictivePower
from cranfield.meta.of_measures.swap_result import Swaps
from cranfield.reporting.studies.as_text import StudyText, Table, by_column, number

ERROR = 0.05
"""Rate of swaps above which a difference is not trusted."""

COEFFICIENTS = {
    "tau": "Kendall's tau-b",
    "tau-a": "Kendall's tau-a",
    "tau-ap": "Symmetric tau AP",
    "rbo": "Rank-biased overlap",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's rho",
}


@dataclass
class _Parts:
    """What has been shown so far."""

    heading: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    frames: dict[str, tuple[pl.DataFrame, Sequence[str]]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


def table_names(*, gold: bool, preferences: bool) -> tuple[str, ...]:
    """Return the names of the tables that there can be, with gold measures or preferences."""
    return (
        *("power", "pairs", "swaps", "differences", "correlations"),
        *(("concordance",) if gold else ()),
        *(("preferences", "assessors", "versus") if preferences else ()),
    )


def shown(
    *,
    power: DiscriminativePower | None = None,
    swaps: Mapping[str, Swaps] | None = None,
    correlations: Correlations | None = None,
    concordance: Concordance | None = None,
    predictive: PredictivePower | None = None,
    notes: Sequence[str] = (),
) -> StudyText:
    """Show what was found out about measures; what is not given is left out.

    Parameters
    ----------
    power, correlations, concordance, predictive
        Results of the methods.
    swaps
        Results of the swap method by measure, all of the same sizes and bins.
    notes
        What was left out or filled in before, of all of them.
    """
    parts = _Parts()
    if power is not None:
        _show_power(parts, power)
    if swaps:
        _show_swaps(parts, swaps)
    if correlations is not None:
        _show_correlations(parts, correlations)
    if concordance is not None:
        _show_concordance(parts, concordance)
    if predictive is not None:
        _show_predictive(parts, predictive)
    if notes:
        parts.heading += [f"note: {note}" for note in notes]
        parts.about["left out or filled in"] = list(notes)
    return StudyText(parts.heading, parts.tables, parts.frames, parts.about)


def _show_power(parts: _Parts, power: DiscriminativePower) -> None:
    summary = power.summary
    pairs = power.systems * (power.systems - 1) // 2
    topics = sorted(set(power.topics.values()))
    drawn = f", {power.resamples:,} samples, seed {power.seed}" if power.resamples else ""
    parts.heading.append(
        f"{counted(len(power.measures), 'measure')}, {counted(power.systems, 'system')},"
        f" {' or '.join(map(str, topics))} topics; test {power.test}, correction"
        f" {power.correction}, alpha {power.alpha:g}{drawn}"
    )
    parts.heading += _notes(power.notes)
    rows = [
        [
            row["measure"],
            f"{row['significant']:,}",
            percent(row["power"]),
            number(row["smallest significant"]),
            number(row["largest not"]),
            number(row["mean p"]),
        ]
        for row in summary.iter_rows(named=True)
    ]
    head = ("measure", "differ", "power", "smallest that differs", "largest that does not")
    title = f"Discriminative power: of {counted(pairs, 'pair')} of systems, those that differ"
    parts.tables.append(Table(title, (*head, "mean p"), rows))
    parts.frames["power"] = (summary, ("measure",))
    parts.frames["pairs"] = (power.pairs, ("measure", "first", "second"))
    parts.about |= {
        "test": power.test,
        "correction": power.correction,
        "alpha": power.alpha,
        "resamples": power.resamples,
        "seed": power.seed,
        "systems": power.systems,
        "topics": dict(power.topics),
        "notes": {name: list(notes) for name, notes in power.notes.items() if notes},
    }


def _notes(notes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say each note once, with the measures it is of."""
    measures: dict[str, list[str]] = {}
    for name, some in notes.items():
        for note in some:
            measures.setdefault(note.replace(f" {name} is ", " it is "), []).append(name)
    for note, names in measures.items():
        yield f"note: {', '.join(names)}: {note}"


def _show_swaps(parts: _Parts, swaps: Mapping[str, Swaps]) -> None:
    rates, totals = [], []
    for name, one in swaps.items():
        label = pl.lit(name).alias("measure")
        rates.append(one.rates.select(label, pl.all()))
        total = one.overall.join(one.smallest(ERROR), on="size", maintain_order="left")
        totals.append(total.select(label, pl.all()))
    some, overall = next(iter(swaps.values())), pl.concat(totals)
    rows = [
        [
            row["measure"],
            str(row["size"]),
            percent(row["rate"]),
            percent(row["ties"] / row["comparisons"] if row["comparisons"] else None),
            number(row["difference"], 2),
            percent(row["share"]),
        ]
        for row in overall.iter_rows(named=True)
    ]
    title = (
        "Swap method: pairs of systems that another set of as many topics turns round,"
        f" {counted(some.repeats, 'repeat')}; the least difference from which {ERROR:.0%} do at"
        " most, and how many reach it"
    )
    head = ("measure", "topics", "swaps", "tied", "least difference", "reach it")
    parts.tables.append(Table(title, head, rows))
    every = pl.concat(rates)
    parts.tables += [_by_difference(every, swaps, size) for size in some.sizes]
    parts.frames["swaps"] = (every, ("measure", "size", "low", "high"))
    parts.frames["differences"] = (overall, ("measure", "size"))
    parts.about |= {"sizes": list(some.sizes), "repeats": some.repeats, "swaps seed": some.seed}


def _by_difference(rates: pl.DataFrame, swaps: Mapping[str, Swaps], size: int) -> Table:
    """Show the rates of all measures with sets of a size, by bin."""
    mine = rates.filter(pl.col("size") == size)
    rows = []
    for (low, high), bin_ in mine.group_by("low", "high", maintain_order=True):
        if not bin_["comparisons"].sum():
            continue
        found = dict(bin_.select("measure", "rate").iter_rows())
        limits = f"{low:g} to {high:g}" if high != float("inf") else f"{low:g} or more"
        rows.append([limits, *(percent(found[name]) for name in swaps)])
    title = f"The same by the difference on the first set, sets of {counted(size, 'topic')}"
    return Table(title, ["difference", *swaps], rows)


def _show_correlations(parts: _Parts, found: Correlations) -> None:
    name = COEFFICIENTS[found.method]
    for title, values in (
        (f"{name} of the orders of systems over all topics", found.overall),
        (f"{name} topic by topic, mean over topics", found.by_topic),
    ):
        rows = [
            [one, *(number(float(value), 3) for value in row)]
            for one, row in zip(found.measures, values, strict=True)
        ]
        parts.tables.append(Table(title, ["", *found.measures], rows))
    parts.frames["correlations"] = (found.table, ("first", "second", "lowest topic"))
    parts.about |= {"coefficient": found.method, "coefficient options": found.options}


def _show_concordance(parts: _Parts, found: Concordance) -> None:
    title = (
        f"Concordance with {' and '.join(found.gold)}, where two measures disagree: left / above;"
        " ‡ and † for p up to 0.01 and 0.05 (sign test); number of disagreements"
    )
    matrix = found.matrix()
    # What a measure is called says nothing of the column of names.
    head = ["", *matrix.columns[1:]]
    parts.tables.append(Table(title, head, [list(row) for row in matrix.rows()]))
    parts.frames["concordance"] = (found.pairs, ("first", "second"))
    parts.about["gold"] = list(found.gold)


def _show_predictive(parts: _Parts, found: PredictivePower) -> None:
    columns = ["measure", "preferences", "correct", "wrong", "tied", "predicted", "low", "high"]
    title = (
        "Predictive power: preferences of people that a measure predicts, with"
        f" {found.confidence:g} confidence limits; p that it does no better than a coin"
    )
    some = found.summary.select(*columns, "of decided", "p", "missing")
    parts.tables.append(by_column(some, title, left=["measure"]))
    parts.frames["preferences"] = (found.summary, ("measure",))
    if not found.by_assessor.is_empty():
        parts.frames["assessors"] = (found.by_assessor, ("assessor", "measure"))
    if found.versus.height:
        title = "Preferences that only one of two measures predicts (sign test)"
        parts.tables.append(by_column(found.versus, title, left=["first", "second"]))
        parts.frames["versus"] = (found.versus, ("first", "second"))
    parts.about |= {"majority": found.majority, "confidence": found.confidence}


def percent(share: float | None) -> str:
    """Write a share; none is empty."""
    return "" if share is None else f"{100 * share:.1f}%"
