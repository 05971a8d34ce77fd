"""A sheet as text, in the manner of TREC's sheets of old."""

from __future__ import annotations

from cranfield.base.escape import plain
from cranfield.campaign.results.sheets.content import Content
from cranfield.campaign.results.sheets.wording import (
    compared,
    facts,
    place_sentence,
    sure_sentences,
    topic_head,
    topic_rows,
)
from cranfield.tabular import number, text_table


def text_of(sheet: Content) -> str:
    parts = [
        _heading(sheet),
        text_table(["", ""], [[name, value] for name, value in facts(sheet)], left=(0, 1)).lstrip(),
        *[f"warning: {plain(one)}" for one in sheet.warnings],
        _overall(sheet),
        _topics(sheet),
        _sure(sheet),
    ]
    if sheet.metadata:
        lines = "\n".join(plain(line) for line in sheet.metadata.splitlines())
        parts.append(f"Metadata\n{lines}")
    return "\n\n".join(parts) + "\n"


def _heading(sheet: Content) -> str:
    of = plain(sheet.campaign_title or sheet.campaign)
    task = plain(sheet.task_title or sheet.task)
    return f"{plain(sheet.tag)}: {of}, {task}\n{plain(place_sentence(sheet))}"


def _overall(sheet: Content) -> str:
    counts = text_table(
        [f"Over {sheet.topics:,} topics", ""],
        [
            ["Retrieved", f"{sheet.retrieved:,}"],
            ["Relevant", f"{sheet.relevant:,}"],
            ["Relevant retrieved", f"{sheet.relevant_retrieved:,}"],
        ],
    )
    curve = [
        [
            f"{k / 10:.2f}",
            number(value),
            *([number(sheet.median_precision[k])] if sheet.median_precision else []),
        ]
        for k, value in enumerate(sheet.precision_at_recall)
    ]
    head = ["Recall", "Precision", *(["Median"] if sheet.median_precision else [])]
    levels = text_table(head, curve)
    documents = text_table(
        ["Precision after", ""],
        [
            *([f"{k} documents", number(value)] for k, value in sheet.precision_at.items()),
            ["R (R-precision)", number(sheet.r_precision)],
        ],
    )
    means = text_table(
        ["Measure", ""],
        [
            ["Average precision", number(sheet.average_precision)],
            *([name, number(value)] for name, value in sheet.measures.items()),
            *([f"Unjudged in the top {k}", number(value)] for k, value in sheet.unjudged.items()),
        ],
    )
    return "\n\n".join([counts, _beside(levels, documents), means])


def _beside(one: str, other: str) -> str:
    """Set two blocks of text side by side."""
    left, right = one.split("\n"), other.split("\n")
    width = max(map(len, left)) + 6
    rows = max(len(left), len(right))
    left, right = ([*some, *[""] * (rows - len(some))] for some in (left, right))
    return "\n".join(f"{a:<{width}}{b}".rstrip() for a, b in zip(left, right, strict=True))


def _topics(sheet: Content) -> str:
    title = plain(f"{sheet.measure} by topic; {compared(sheet)}")
    return f"{title}\n{text_table(topic_head(sheet), topic_rows(sheet))}"


def _sure(sheet: Content) -> str:
    lines = ["What is sure", *sure_sentences(sheet)]
    if sheet.sure.names:
        lines.append(f"Not separated from it: {', '.join(sheet.sure.names)}.")
    return "\n".join(map(plain, lines))
