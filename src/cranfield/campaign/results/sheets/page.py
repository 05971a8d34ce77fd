"""A sheet as a page: what it says as tables that anything reads, and as pictures."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.campaign.results.sheets.sheet import Sheet
from cranfield.campaign.results.sheets.wording import (
    compared,
    difference,
    facts,
    place_sentence,
    sure_sentences,
    topic_head,
    topic_rows,
)
from cranfield.reporting.page.drawn.bars import drawn_bars
from cranfield.reporting.page.drawn.curves import drawn_curves
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.page.sections import Rows, table
from cranfield.reporting.page.shell import Parts, page_of_parts, sections_of
from cranfield.tabular import number

STYLES = ("page.css", "drawn.css", "sheet.css")
"""The styles of a page with a sheet on it, in order."""


def sheet_page(sheet: Sheet) -> str:
    """Write a page that needs no other file, no network and no script."""
    of = (
        label(one)
        for one in (sheet.campaign_title or sheet.campaign, sheet.task_title or sheet.task)
    )
    counts = f"{', '.join(of)}. {label(place_sentence(sheet))}."
    return page_of_parts(
        label(sheet.tag), counts, sheet_parts(sheet), styles=STYLES, skip="Skip to the sheet"
    )


def sheet_body(sheet: Sheet) -> Html:
    """Write the sections of a sheet, for a page of its own or as a part of another."""
    return sections_of(sheet_parts(sheet))


def sheet_parts(sheet: Sheet) -> Parts:
    return {
        "run": ("The run", _run(sheet)),
        "overall": ("Over all topics", _overall(sheet)),
        "differences": ("Above and below the median", _differences(sheet)),
        "by-topic": ("Topic by topic", _topics(sheet)),
        "sure": ("What is sure", _sure(sheet)),
    }


def _run(sheet: Sheet) -> Html:
    rows: Rows = [
        [name, el("code", value) if name == "SHA-256" else label(value)]
        for name, value in facts(sheet)
    ]
    made: list[object] = []
    if sheet.warnings:
        lines = el("ul", *(el("li", label(one)) for one in sheet.warnings))
        made.append(el("div", el("h3", "The check warned"), lines, class_="warning"))
    made.append(table("About the run", ["", ""], rows, left=(0, 1), name="about"))
    if sheet.metadata:
        text = "\n".join(label(line) if line else "" for line in sheet.metadata.splitlines())
        made.append(
            el("details", el("summary", "Metadata of the run"), el("pre", text, tabindex=0))
        )
    return joined(*made)


def _overall(sheet: Sheet) -> Html:
    numbers = {
        "topics": sheet.topics,
        "retrieved": sheet.retrieved,
        "relevant": sheet.relevant,
        "relevant retrieved": sheet.relevant_retrieved,
    }
    counts = [el("div", el("dt", name), el("dd", f"{value:,}")) for name, value in numbers.items()]
    means: Rows = [[label(name), number(value)] for name, value in sheet.measures.items()]
    means.append(["average precision", number(sheet.average_precision)])
    means.append(["R-precision", number(sheet.r_precision)])
    for depth, share in sheet.unjudged.items():
        shown = "" if share is None else f"{share:.1%}"
        means.append([f"unjudged in the top {depth:,}", shown])
    after: Rows = [[f"{k:,}", number(value)] for k, value in sheet.precision_at.items()]
    return joined(
        el("dl", *counts, class_="facts"),
        el(
            "div",
            table("Over all topics", ["measure", "value"], means),
            table("Precision after a number of documents", ["documents", "precision"], after),
            class_="beside",
        ),
        _curve(sheet),
    )


def _curve(sheet: Sheet) -> Html:
    levels = np.arange(len(sheet.precision_at_recall)) / 10
    curves = [("this run", _floats(sheet.precision_at_recall))]
    head = ["recall", "this run"]
    rows: Rows = [
        [f"{level:.1f}", number(value)]
        for level, value in zip(levels.tolist(), sheet.precision_at_recall, strict=True)
    ]
    if sheet.median_precision:
        curves.append((f"median of {sheet.category}", _floats(sheet.median_precision)))
        head.append("median")
        for row, value in zip(rows, sheet.median_precision, strict=True):
            row.append(number(value))
    drawn = drawn_curves(
        levels,
        curves,
        title="Interpolated precision by recall",
        across="recall",
        up="precision",
    )
    return joined(
        el("h3", "Precision by recall"),
        el("div", drawn, table("Interpolated precision at levels of recall", head, rows),
           class_="beside"),
    )  # fmt: skip


def _floats(values: tuple[float | None, ...]) -> Floats:
    return np.array([np.nan if one is None else one for one in values])


def _differences(sheet: Sheet) -> Html | None:
    if sheet.category is None:
        return None
    names = [one.topic for one in sheet.by_topic]
    values = _floats(tuple(map(difference, sheet.by_topic)))
    sign = -1 if sheet.lower_is_better else 1
    above, below = int((sign * values > 0).sum()), int((sign * values < 0).sum())
    said = (
        f"{label(sheet.measure)} of this run less the median of {label(str(sheet.category))}, by"
        f" topic: better on {above}, worse on {below}, equal on {len(names) - above - below}."
    )
    title = f"{label(sheet.measure)} less the median, by topic; the same numbers are in the table"
    return joined(
        el("p", said),
        drawn_bars(names, values, title=title, lower_is_better=sheet.lower_is_better),
    )


def _topics(sheet: Sheet) -> Html:
    rows: Rows = [[named(row[0]), *row[1:]] for row in topic_rows(sheet)]
    head = [label(one) for one in topic_head(sheet)]
    return table(f"{label(sheet.measure)} by topic; {compared(sheet)}", head, rows, name="topics")


def _sure(sheet: Sheet) -> Html:
    first, *more = [label(one) for one in sure_sentences(sheet)]
    made = [el("p", first, class_="lead"), *(el("p", one) for one in more)]
    if sheet.sure.names:
        runs = el("ul", *(el("li", named(one)) for one in sheet.sure.names), class_="names")
        made.append(el("details", el("summary", "Runs that are not separated from it"), runs))
    return joined(*made)
