"""The section of the page on judges beside people; there is none without their labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cranfield.assess.judges.comparison import JudgeComparison
from cranfield.assess.judges.kin import KinBias
from cranfield.assess.judges.rankings import JudgeRankings
from cranfield.base.arrays import best_first
from cranfield.base.errors import PolicyError
from cranfield.base.words import capitalised, counted
from cranfield.reporting.page.contents import Contents
from cranfield.reporting.page.html import Html, el, label, named
from cranfield.reporting.page.sections import table
from cranfield.tabular import Table
from cranfield.tabular.content import as_cell

KINDS = (JudgeComparison, JudgeRankings, KinBias)


def read_judged(given: Any) -> tuple[Any, ...]:
    """Take what was found of judges, one result or several."""
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    found = () if given is None else tuple(given) if several else (given,)
    for one in found:
        if not isinstance(one, KINDS):
            kinds = ", ".join(kind.__name__ for kind in KINDS)
            raise PolicyError(f"judges are results of cranfield.assess ({kinds}), not {one!r:.60}")
    return found


def judges_link(contents: Contents) -> Html:
    """Make the entry of the menu."""
    if not contents.judges:
        return Html("")
    return Html(f"{el('li', el('a', 'Judges', href='#judges'))}\n")


def judges(contents: Contents) -> Html:
    if not contents.judges:
        return Html("")
    pieces: list[object] = []
    notes: dict[str, None] = {}
    for found in contents.judges:
        if isinstance(found, JudgeComparison):
            pieces.append(el("p", _best(found), class_="lead"))
        for shown in found.tables():
            pieces += _table(shown)
        notes |= dict.fromkeys(found.notes)
    pieces += [el("p", f"Note: {note}.", class_="small") for note in notes]
    head = el("h2", "Judges beside people", id="h-judges")
    section = el("section", head, *pieces, id="judges", aria_labelledby="h-judges")
    return Html(f"{section}\n")


def _best(found: JudgeComparison) -> str:
    alpha = found.values[:, found.statistics.index("alpha")]
    best = int(best_first(alpha)[0])
    of = f"{counted(len(found.judges), 'judge')} on {counted(len(found.topics), 'topic')}"
    if np.isnan(alpha[best]):
        return f"Of {of}, none has a defined agreement with people."
    place = found.statistics.index("alpha")
    low, high = found.low[best, place], found.high[best, place]
    limits = "" if np.isnan(low) else f" ({100 * found.confidence:g}%: {low:.3f} to {high:.3f})"
    return (
        f"Of {of}, {label(found.judges[best])} agrees best with people: Krippendorff's alpha"
        f" {alpha[best]:.3f}{limits}."
    )


def _table(shown: Table) -> list[object]:
    texts = [[as_cell(cell).text for cell in row] for row in shown.rows]
    rows: list[list[object]] = [[named(name), *rest] for name, *rest in texts]
    head = [as_cell(one).text for one in shown.head]
    made = table(shown.title, head, rows, left=shown.left, name="tall")
    return [made, *(el("p", f"{capitalised(note)}.", class_="small") for note in shown.notes)]
