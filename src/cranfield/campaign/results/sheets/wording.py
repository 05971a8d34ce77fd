"""What sheets say, whether as text or as a page; names are escaped where they are shown."""

from __future__ import annotations

from cranfield.base.words import counted
from cranfield.campaign.results.sheets.content import Content, OfTopic
from cranfield.tabular import number


def facts(sheet: Content) -> list[tuple[str, str]]:
    """Return what is known of the run: a word, and what it is."""
    team = f"{sheet.team} ({sheet.team_name})" if sheet.team_name else sheet.team
    found = {
        "Campaign": sheet.campaign_title or sheet.campaign,
        "Task": f"{sheet.task} ({sheet.task_title})" if sheet.task_title else sheet.task,
        "Judgments": f"version {sheet.judgments}" if sheet.judgments else "",
        "Run": sheet.tag,
        "Team": team,
        "Type": sheet.type,
        "Priority": "" if sheet.priority is None else str(sheet.priority),
        **sheet.answers,
        "Received": sheet.received + (", late" if sheet.late else ""),
        "Pooled": _pooled(sheet),
        "SHA-256": sheet.sha256,
        "Description": sheet.description,
    }
    return [(name, value) for name, value in found.items() if value]


def _pooled(sheet: Content) -> str:
    if sheet.depth is None:
        return ""
    if sheet.pooled:
        return f"its first {counted(sheet.depth, 'document')} for each topic were judged"
    return "not pooled: what only it found was not judged"


def place_sentence(sheet: Content) -> str:
    value = number(sheet.measures.get(sheet.measure))
    of = f"{sheet.sure.place:,} of {counted(sheet.sure.runs, 'run')}"
    return f"Place {of} by {sheet.measure}" + (f", {value}" if value else "")


def compared(sheet: Content) -> str:
    """Say which runs best, median and worst are of."""
    if sheet.category is None:
        return "there are too few other runs to be compared with"
    return f"best, median and worst of {_of(sheet)}"


def _of(sheet: Content) -> str:
    one = sheet.category
    if one is None or not one.key:
        return f"all {counted(sheet.sure.runs, 'run')}"
    return f"the {counted(one.runs, 'run')} of {one}"


def difference(one: OfTopic) -> float | None:
    """The run's score less the median of the category."""
    return None if one.score is None or one.median is None else one.score - one.median


def topic_head(sheet: Content) -> list[str]:
    head = ["topic", "relevant", sheet.measure]
    return (
        head
        if sheet.category is None
        else [*head, "best", "median", "worst", "less median", "place"]
    )


def topic_rows(sheet: Content) -> list[list[str]]:
    rows = []
    for one in sheet.by_topic:
        row = [one.topic, f"{one.relevant:,}", number(one.score)]
        if sheet.category is not None:
            row += [number(value) for value in (one.best, one.median, one.worst)]
            less = difference(one)
            row.append("" if less is None else f"{number(less) if less <= 0 else f'+{less:.4f}'}")
            row.append(f"{one.place} of {sheet.category.runs}")
        rows.append(row)
    return rows


def sure_sentences(sheet: Content) -> list[str]:
    """Say which runs are found better and worse, which are not, and what that means."""
    one = sheet.sure
    if one.refused:
        return [f"Runs are not compared: {one.refused}."]
    lines = [
        f"Of the {counted(one.runs - 1, 'other run')}, {one.better or 'none'}"
        f" {'is' if one.better == 1 else 'are'} found better by {sheet.measure},"
        f" {one.worse or 'none'} worse, and {one.alike or 'none'}"
        f" {'is' if one.alike == 1 else 'are'} not separated from it ({one.method})."
    ]
    if one.letters:
        lines.append(
            f"Its groups: {one.letters}. Runs that share a letter are not found to differ."
        )
    return [*lines, *one.verdict]
