"""The section of the page on the analysis: tables, intervals, assumptions and notes."""

from __future__ import annotations

from collections.abc import Iterable

from cranfield.base.words import capitalised
from cranfield.reporting.page import words
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.page.sections import Rows, of_measure, table
from cranfield.significance.comparison.notes import RESCALING
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.significance.models.anova_table import AnovaTable, shown_p
from cranfield.significance.models.assumptions import Assumptions
from cranfield.tabular.content import Cell, as_cell


def analysis(contents: Contents) -> Html:
    return joined(*(of_measure(k, *_of(part)) for k, part in enumerate(contents.parts)))


def _of(part: Part) -> list[object]:
    title = el("h3", label(part.name))
    one = part.comparison
    if one is None:
        return [title, el("p", f"Not compared: {part.refused}.")]
    pieces: list[object] = [title, *(el("p", line) for line in words.method(one))]
    if one.anova is not None:
        pieces.append(_anova(one.anova))
    if part.assumptions is not None:
        pieces += _assumptions(part.assumptions)
    notes = [note for note in one.notes if not note.endswith(RESCALING)]
    if notes:
        pieces += [el("h4", "Notes"), el("ul", *(el("li", f"{capitalised(n)}.") for n in notes))]
    pieces.append(_intervals(one))
    return pieces


def _anova(found: AnovaTable) -> Html:
    head = ["source", "SS", "DF", "MS", "F", "p", "ω²", "effect"]
    title = f"Analysis of variance: {found.model}"
    shown = table(title, head, found.rows(), left=(0, 7), name="narrow")
    return joined(shown, *(el("p", f"{capitalised(one)}.") for one in found.notes))


def _assumptions(found: Assumptions) -> list[object]:
    rows: Rows = []
    for one in found.checks:
        rejected = "yes" if one.pvalue <= found.alpha else "no"
        numbers = (f"{one.statistic:.4f}", shown_p(one.pvalue))
        rows.append([one.assumption, one.test, *numbers, rejected])
    head = ["assumption", "test", "statistic", "p", "rejected"]
    return [
        table("Checks of the assumptions", head, rows, left=(0, 1, 4),
              name="narrow") if rows else None,
        el("ul", *(el("li", note) for note in _notes(found))),
    ]  # fmt: skip


def _notes(found: Assumptions) -> list[str]:
    if found.checks:
        return found.notes()
    none = "None of the tests of the assumptions could be done."
    return [none, *(note for note in found.notes() if not note.startswith("No test speaks"))]


def _intervals(one: PairwiseComparison) -> Html:
    """Write the ranking with its intervals, or the pairs where these are what was asked."""
    shown = one.table()
    if one.shows_pairs:
        head = [*_texts(shown.head)[:-1], "differs"]
        rows: Rows = [[named(a), named(b), *rest[:-1], "yes" if rest[-1] else "no"]
                      for a, b, *rest in map(_texts, shown.rows)]  # fmt: skip
        made = table("Pairs", head, rows, left=(0, 1, 8), name="tall")
        title = "All pairs in numbers"
    else:
        head = _texts(shown.head)
        rows = [[named(name), *rest] for name, *rest in map(_texts, shown.rows)]
        left = (0, len(head) - 1) if head[-1] == "groups" else (0,)
        made = table("Means, intervals and groups", head, rows, left=left, name="narrow tall")
        title = "Intervals and groups of all systems in numbers"
    return el("details", el("summary", title), made)


def _texts(cells: Iterable[str | Cell]) -> list[str]:
    return [as_cell(one).text for one in cells]
