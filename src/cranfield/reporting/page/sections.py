"""The sections of the page that say what was evaluated, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from cranfield.base.arrays import best, best_first
from cranfield.base.words import counted
from cranfield.reporting.page import words
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.data import places
from cranfield.reporting.page.figures import answer_figure, two_systems_figure
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.verdicts import against, group_letters

Rows = list[list[object]]
SAID = 2
"""Lines of an answer that are always shown: the test, and whether it is meaningful."""

Columns = dict[str, Callable[[Any], object]]
"""What a part of the page has in each column, by the head of the column."""


def table(
    caption: str,
    head: list[str],
    rows: Sequence[Sequence[object]],
    *,
    left: Collection[int] = (0,),
    name: str = "",
) -> Html:
    """Write a table in a box that scrolls by itself; the first cell of a row is its heading."""

    def side(k: int) -> str | None:
        return None if k in left else "n"

    top = el("tr", *(el("th", cell, scope="col", class_=side(k)) for k, cell in enumerate(head)))
    body = [
        el(
            "tr",
            el("th", row[0], scope="row", class_=side(0)),
            *(el("td", cell, class_=side(k)) for k, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    inner = el("table", el("caption", caption), el("thead", top), el("tbody", *body))
    return el("div", inner, class_=f"box {name}".strip(), role="region", tabindex=0,
              aria_label=caption)  # fmt: skip


def by_measure(caption: str, parts: Iterable[Part], columns: Columns, **look: Any) -> Html:
    """Write a table with a row a part; columns are declared by their heads."""
    rows = [[named(part.name), *(of(part) for of in columns.values())] for part in parts]
    return table(caption, ["measure", *columns], rows, **look)


def of_measure(k: int, *children: object, name: str = "div") -> Html:
    """Mark what belongs to one measure: the script shows that of the chosen one."""
    return el(name, *children, class_="of-measure", data_measure=k)


def measure_options(contents: Contents) -> Html:
    parts = contents.parts
    return joined(*(el("option", label(part.name), value=k) for k, part in enumerate(parts)))


def warned(contents: Contents) -> Html:
    """Point to the warnings from the head of the page."""
    notes = len(words.warnings_of(contents))
    if not notes:
        return Html("")
    return joined("; ", el("a", counted(notes, "warning"), href="#evaluated"))


def evaluated(contents: Contents) -> Html:
    notes = words.warnings_of(contents)
    warned = None
    if notes:
        title = el("h3", "Read this first")
        warned = el("div", title, el("ul", *(el("li", note) for note in notes)), class_="warning")
    facts = [el("div", el("dt", name), el("dd", number)) for name, number in words.facts(contents)]
    lines = [el("p", line) for line in words.coverage_lines(contents)]
    columns: Columns = {
        "what it tells": lambda part: _info(part, "summary"),
        "range": _range,
        "direction": lambda part: (
            f"{'lower' if part.scores.lower_is_better else 'higher'} is better"
        ),
        "source": lambda part: _info(part, "source"),
    }
    measures = by_measure("Measures", contents.parts, columns, left=range(5), name="prose")
    return joined(warned, el("dl", *facts, class_="facts"), *lines, measures)


def _info(part: Part, name: str) -> str:
    return "" if part.measure is None else str(getattr(part.measure.info, name))


def _number(value: float, places: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{places}f}"


def _range(part: Part) -> str:
    if part.measure is None:
        return ""
    low, high = part.measure.info.range
    return f"{low:g} to {high:g}" if np.isfinite(high) else f"from {low:g}"


def answers(contents: Contents) -> Html:
    parts = contents.parts
    said, common = words.answers_of(contents)
    two = len(contents.systems) == 2 and any(part.comparison for part in parts)
    each = [_answer(k, part, lines, alone=not two)
            for k, (part, lines) in enumerate(zip(parts, said, strict=True))]  # fmt: skip
    if two:
        beside = el("div", el("div", *each), two_systems_figure(contents), class_="answer")
        each = [Html(beside)]
    if common:
        lines = (el("p", one) for one in common)
        each.append(el("details", el("summary", "For all measures"), *lines))
    if len(parts) == 1:
        return joined(*each)
    if two:
        return joined(*each, by_measure("By measure", parts, words.OF_TWO, left=(0, 1, 2, 3)))
    heads = [words.against(one) for part in parts if (one := part.comparison) and one.baselines]
    head = ["measure", "best", heads[0] if heads else "top group"]
    head += ["pairs that differ", "of them, order of means holds on any scale"]
    rows: Rows = [[named(part.name), *words.row_of(part)] for part in parts]
    return joined(*each, table("By measure", head, rows, left=(0, 1)))


def _answer(k: int, part: Part, lines: Sequence[str], *, alone: bool) -> Html:
    """Write the answer by a measure: a sentence, what it rests on, and more on demand."""
    first, *more = lines
    pieces: list[object] = [el("h3", label(part.name)), el("p", first, class_="lead")]
    pieces += [el("p", one) for one in more[:SAID]]
    if more[SAID:]:
        kept = (el("p", one) for one in more[SAID:])
        pieces.append(el("details", el("summary", "What holds on any scale"), *kept))
    if not alone:
        return of_measure(k, *pieces, name="article")
    figure = answer_figure(part)
    inner = el("div", el("div", *pieces), figure, class_="answer") if figure else joined(*pieces)
    return of_measure(k, inner, name="article")


def systems(contents: Contents) -> Html:
    """Write the table of systems and measures; the script adds sorting and intervals."""
    parts = contents.parts
    order = best_first(parts[0].overall, parts[0].scores.lower_is_better).tolist()
    bold = [best(part.overall, part.scores.lower_is_better) for part in parts]
    word, words_of = _grouped(parts[0])
    cells = [
        el("th", _button("system"), scope="col", data_sort="system", class_="system"),
        el("th", word, scope="col", class_="groups"),
    ]
    for k, part in enumerate(parts):
        head = _button(label(part.name))
        cells.append(el("th", head, scope="col", class_="n", data_sort=k, data_measure=k))
    rows = []
    for i in order:
        name = named(contents.systems[i])
        row = [
            el("th", name, scope="row", class_="system"),
            el("td", words_of[i], class_="groups"),
        ]
        for k, part in enumerate(parts):
            shown = _number(part.overall[i], places(part))
            cell = el("strong", shown) if bold[k][i] else shown
            row.append(el("td", cell, class_="n", data_measure=k))
        rows.append(el("tr", *row, data_system=i))
    caption = el("caption", "Systems, the best of each measure in bold")
    made = el("table", caption, el("thead", el("tr", *cells)), el("tbody", *rows), id="systems")
    return el("div", made, class_="box tall", role="region", tabindex=0,
              aria_label="Table of systems")  # fmt: skip


def _button(text: str) -> Html:
    return el("button", text, type="button", class_="sort")


def _grouped(part: Part) -> tuple[str, list[str]]:
    """Return the head and the cells of the column of groups, or of verdicts with a baseline."""
    one = part.comparison
    nothing = [""] * len(part.scores.systems)
    if one is None:
        return "", nothing
    if one.baselines:
        found = against(one)
        for name in one.baselines:
            at = one.systems.index(name)
            found[at] = found[at] or "baseline"
        return words.against(one), found
    letters = group_letters(one)
    return ("", nothing) if letters is None else ("groups", letters)


def scales(contents: Contents) -> Html:
    """Say on which scale each measure is, and what interval scaling changes."""
    parts = contents.parts
    known = {None: "not known", True: "yes", False: "no"}
    declared: Columns = {
        "declared": lambda part: part.scaling.declared or "unknown",
        "found at its cutoff": lambda part: part.scaling.found or "not known",
        "why": lambda part: part.scaling.why,
        "own scale by topic": lambda part: known[part.scaling.by_topic],
        "verdict": lambda part: part.meaning.verdict if part.meaning else "not compared",
    }
    first = by_measure("Scales", parts, declared, left=range(6), name="prose")
    changed: Columns = {
        "interval-scaled version": lambda part: part.scaling.scaled.name,
        "pairs that differ": lambda part: f"{part.scaling.scaled.before:,}",
        "by the version": lambda part: f"{part.scaling.scaled.after:,}",
        "S2NS": lambda part: f"{part.scaling.scaled.lost:,}",
        "NS2S": lambda part: f"{part.scaling.scaled.won:,}",
        "Kendall's tau": lambda part: _number(part.scaling.scaled.tau, 4),
    }
    rows = [part for part in parts if part.scaling.scaled is not None]
    title = "What interval scaling changes"
    second = by_measure(title, rows, changed, left=(0, 1)) if rows else None
    left = [
        el("li", f"{label(part.name)}: {part.scaling.reason}")
        for part in parts
        if part.scaling.scaled is None and part.scaling.reason
    ]
    scaled = [part.scaling.scaled for part in parts if part.scaling.scaled is not None]
    noted = [el("li", f"{one.name}: {one.note}") for one in scaled if one.note]
    key = (
        "S2NS: pairs that differ by the measure, and no longer by its interval-scaled version, in"
        " which neighbouring values are one step apart. NS2S: pairs that differ only by that"
        " version. Tau: how well the two order the systems alike."
    )
    return joined(
        el("p", _scale_sentence(parts)),
        first,
        second,
        el("p", key, class_="small") if rows else None,
        el("ul", *noted, class_="small") if noted else None,
        el("p", "Without an interval-scaled version here:", class_="small") if left else None,
        el("ul", *left, class_="small") if left else None,
    )


def _scale_sentence(parts: tuple[Part, ...]) -> str:
    interval = [part for part in parts if part.scaling.declared.startswith(("interval", "ratio"))]
    return (
        "A statement is meaningful when it holds under every transformation that the scale of its"
        " numbers admits. Means, t-tests and analyses of variance take an interval scale for"
        f" granted; {len(interval):,} of {len(parts):,} measures here are declared to be on"
        " one. Whether that forbids them is debated; which differences keep their order however the"
        " scale is spaced is not, and each pair above says so."
    )
