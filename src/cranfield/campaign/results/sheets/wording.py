"""What sheets say, whether as text or as a page; names are escaped where they are shown."""

from __future__ import annotations

from cranfield.base.words import counted
from cranfield.campaign.results.sheets.content import Content, OfTopic
from cranfield.tabular import number


def facts(sheet: Content) -> list[tuple[str, str]]:
    """Return what is known of the run: a word, and what it is."""
    # A list, as a question may be called like anything else.
    found = [
        ("Campaign", sheet.campaign_title or sheet.campaign),
        ("Task", f"{sheet.task} ({sheet.task_title})" if sheet.task_title else sheet.task),
        ("Judgments", f"version {sheet.judgments}" if sheet.judgments else ""),
        ("Run", sheet.tag),
        ("Team", team_of(sheet)),
        ("Type", sheet.type),
        ("Priority", "" if sheet.priority is None else str(sheet.priority)),
        *sheet.answers.items(),
        ("Received", sheet.received + (", late" if sheet.late else "")),
        ("Pooled", _pooled(sheet)),
        ("SHA-256", sheet.sha256),
        ("Description", sheet.description),
    ]
    return [(name, value) for name, value in found if value]


def team_of(sheet: Content) -> str:
    named = sheet.team_name not in {"", sheet.team}
    return f"{sheet.team} ({sheet.team_name})" if named else sheet.team


def _pooled(sheet: Content) -> str:
    if sheet.depth is None:
        return ""
    if sheet.pooled:
        return f"its first {counted(sheet.depth, 'document')} for each topic were judged"
    return "not pooled; its documents are judged where other runs brought them in"


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
    lines = [f"{_found(sheet)} ({one.method})."]
    if one.letters:
        lines.append(
            f"Its groups: {one.letters}. Runs that share a letter are not found to differ."
        )
    return [*lines, *one.verdict]


def _found(sheet: Content) -> str:
    one, by = sheet.sure, f"by {sheet.measure}"
    if one.runs == 2:
        what = "found better" if one.better else "found worse" if one.worse else "not separated"
        return f"The other run is {what} {by}"
    return (
        f"Of the {one.runs - 1:,} other runs, {one.better:,} {_is(one.better)} found better {by},"
        f" {one.worse:,} worse, and {one.alike:,} {_is(one.alike)} not separated from it"
    )


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
