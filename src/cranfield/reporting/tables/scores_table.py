"""Evaluations as tables: systems by measures, the best of each measure in bold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.base.arrays import Floats, best_first
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.reporting.tables.marks import Marks
from cranfield.scores import Scores
from cranfield.significance.comparison.result import decimals
from cranfield.tabular import Cell, Table
from cranfield.tabular.content import NO_VALUE


def evaluation_table(
    scores: Mapping[str, Scores],
    marks: Marks | None = None,
    *,
    sort: str | None = None,
    best: bool = True,
    second: bool = False,
    percent: bool = False,
    places: int | None = None,
) -> Table:
    marks = marks or Marks()
    first = _checked(scores)
    overall = {name: one.overall() for name, one in scores.items()}
    order = _order(scores, overall, sort)
    columns = []
    for name, one in scores.items():
        shown = _shown(one, overall[name], percent, places)
        ranks = _ranks(shown, one.lower_is_better)
        raised = marks.by_measure.get(name, [""] * len(shown))
        columns.append(
            [
                Cell(
                    text,
                    mark=mark,
                    bold=best and rank == 0 and len(order) > 1,
                    underline=second and rank == 1,
                )
                if text
                else NO_VALUE
                for text, mark, rank in zip(shown, raised, ranks, strict=True)
            ]
        )
    named = [marks.names] if marks.names else []
    rows: list[list[str | Cell]] = [
        [*(one[i] for one in named), first.systems[i], *(one[i] for one in columns)] for i in order
    ]
    words = ["the best of each measure in bold"] * best + ["second best underlined"] * second
    return Table(
        f"{counted(len(order), 'system')}, {_topics(scores)}",
        [*([""] if named else []), "System", *scores],
        rows,
        left=range(1 + len(named)),
        notes=[
            *(["means times 100"] if percent else []),
            *_directions(scores),
            *_gaps(scores),
            *marks.legend,
        ],
        remarks=marks.remarks,
        faces=", ".join(words) if len(order) > 1 else "",
    )


def topics_table(scores: Mapping[str, Scores], *, places: int = 4) -> Table:
    first = _checked(scores)
    for name, one in scores.items():
        if one.topics != first.topics:
            raise CranfieldError(f"{quoted(name)} has other topics than the rest")

    def cells(values: Sequence[float]) -> list[str | Cell]:
        return [NO_VALUE if np.isnan(one) else f"{one:.{places}f}" for one in values]

    rows: list[list[str | Cell]] = [
        [topic, system, *cells([one.values[t, i] for one in scores.values()])]
        for t, topic in enumerate(first.topics)
        for i, system in enumerate(first.systems)
    ]
    start = len(rows)
    overall = [one.overall() for one in scores.values()]
    rows += [
        ["all", system, *cells([values[i] for values in overall])]
        for i, system in enumerate(first.systems)
    ]
    title = f"{counted(len(first.systems), 'system')}, {counted(len(first.topics), 'topic')}"
    return Table(title, ["Topic", "System", *scores], rows, left=(0, 1), rules=(start,))


def _checked(scores: Mapping[str, Scores]) -> Scores:
    """Return the scores of the first measure, if a table of all of them is possible."""
    if not scores:
        raise CranfieldError("a table needs the scores of one measure at least")
    first = next(iter(scores.values()))
    for name, one in scores.items():
        one.flat("scores by shard have no table of systems and measures")
        if one.systems != first.systems:
            raise CranfieldError(f"{quoted(name)} has other systems than the rest")
    return first


def _topics(scores: Mapping[str, Scores]) -> str:
    """Count the topics; a test may have left out some of one measure."""
    counts = sorted({len(one.topics) for one in scores.values()})
    if len(counts) == 1:
        return counted(counts[0], "topic")
    return f"{counts[0]} to {counts[-1]} topics"


def _directions(scores: Mapping[str, Scores]) -> list[str]:
    """Name the measures for which lower is better."""
    lower = [name or "scores" for name, one in scores.items() if one.lower_is_better]
    return [f"lower is better: {', '.join(lower)}"] if lower else []


def _gaps(scores: Mapping[str, Scores]) -> list[str]:
    """Say which means are over fewer topics than others."""
    notes = []
    for name, one in scores.items():
        missing = np.isnan(one.values).sum(axis=0)
        lacking = int((missing > 0).sum())
        if lacking:
            systems = "1 system lacks" if lacking == 1 else f"{lacking:,} systems lack"
            most = f"up to {missing.max():,} of {len(one.topics):,}"
            notes.append(f"{name}: {systems} scores ({most} topics); means are over the others")
    return notes


def _order(
    scores: Mapping[str, Scores], overall: Mapping[str, Floats], sort: str | None
) -> list[int]:
    values = next(iter(overall.values()))
    if sort is None:
        return list(range(values.size))
    try:
        one = scores[sort]
    except KeyError:
        raise PolicyError(
            f"there is no measure {quoted(sort)} to sort by: {', '.join(scores)}"
        ) from None
    return [int(k) for k in best_first(one.overall(), one.lower_is_better)]


def _shown(scores: Scores, values: Floats, percent: bool, places: int | None) -> list[str]:
    """Write the values; one that is not there is empty, and sums of whole numbers stay whole."""
    known = values[~np.isnan(values)]
    if scores.aggregate == "sum" and (known == np.round(known)).all():
        return ["" if np.isnan(one) else f"{one:,.0f}" for one in values]
    factor = 100 if percent and scores.aggregate != "sum" else 1
    least = max(0, decimals(values) - (2 if factor > 1 else 0)) if places is None else places
    return ["" if np.isnan(one) else f"{factor * one:.{least}f}" for one in values]


def _ranks(shown: Sequence[str], lower_is_better: bool) -> list[int | None]:
    """Rank what is shown, so that equal looks are equal: 0 for the best; None for no value."""
    numbers = [float(one.replace(",", "")) if one else None for one in shown]
    order = sorted({one for one in numbers if one is not None}, reverse=not lower_is_better)
    return [None if one is None else order.index(one) for one in numbers]
