"""Studies of tests, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cranfield.base.words import counted
from cranfield.meta.of_tests.false_alarms import FalseAlarms
from cranfield.meta.of_tests.fast_tests import is_bound
from cranfield.meta.of_tests.split_result import KEYS, SplitStudy
from cranfield.reporting.studies.as_text import StudyText, Table, by_column, number

BY_SIZE = (
    ("significant first", "Pairs of systems that differ significantly, mean over repeats", 1),
    ("jaccard", "Jaccard similarity of what a test finds on the one set and on the other", 2),
    ("AA", "Active agreements (AA): significant on both sets, in the same direction", 1),
    ("AD", "Active disagreements (AD): significant on both sets, in opposite directions", 1),
    ("MA", "Mixed agreements (MA): significant on one set, and in the same order on the other", 1),
    (
        "MD",
        "Mixed disagreements (MD): significant on one set, not in the same order on the other",
        1,
    ),
    ("tau", "Kendall's tau of the rankings of systems on the two sets", 2),
)
"""Numbers that are shown by test and size: column, title, decimals."""


def table_names(*, alarms: bool) -> tuple[str, ...]:
    """Return the names of the tables that there are, with a study of false alarms or without."""
    return ("agreement", "false alarms") if alarms else ("agreement",)


def shown(study: SplitStudy, alarms: FalseAlarms | None = None) -> StudyText:
    """Show a study of tests on disjoint sets of topics, and one of false alarms beside it."""
    summary = study.summary()
    heading = [
        f"{study.measure or 'scores'}: {counted(study.topics, 'topic')}; two disjoint sets of"
        f" {', '.join(map(str, study.sizes))} topics, {counted(study.repeats, 'repeat')};"
        f" alpha {study.alpha:g}, seed {study.seed}"
    ]
    undone = int(summary.filter(pl.col("sets") == "1-2")["undone"].sum())
    if undone:
        heading.append("note: some tests could not be done on some sets, which are left out")
    tables = []
    for group, systems in study.groups.items():
        pairs = systems * (systems - 1) // 2
        label = "" if len(study.groups) == 1 else f"{group}: "
        of = f"{label}of {pairs:,} pairs of {systems} systems"
        tables += [_sized(study, group, *what, of=of) for what in BY_SIZE]
        tables += _overlaps(study, group, of)
        tables.append(_largest(study, group, of))
    frames: dict[str, tuple[pl.DataFrame, Sequence[str]]] = {"agreement": (summary, KEYS)}
    if alarms is not None:
        beside = alarms_shown(alarms)
        tables += beside.tables
        frames |= beside.frames
    about = {
        "measure": study.measure,
        "topics": study.topics,
        "groups": study.groups,
        "tests": list(study.tests),
        "sizes": list(study.sizes),
        "repeats": study.repeats,
        "seed": study.seed,
        "alpha": study.alpha,
        "options": study.options,
    }
    return StudyText(heading, tables, frames, about)


def alarms_shown(alarms: FalseAlarms) -> StudyText:
    """Show a study of false alarms."""
    found = alarms.summary()
    title = (
        f"False alarms: among {alarms.systems} systems made equal by swapping their scores"
        f" within topics, {counted(alarms.repeats, 'repeat')}"
    )
    table = by_column(found, title, left=["test"])
    heading = f"alpha {alarms.alpha:g}, seed {alarms.seed}"
    return StudyText([heading], [table], {"false alarms": (found, ("size", "test"))})


def _sized(study: SplitStudy, group: str, what: str, title: str, places: int, *, of: str) -> Table:
    frame = study.table(what, group=group)
    rows = [[str(row[0]), *(number(one, places) for one in row[1:])] for row in frame.rows()]
    return Table(f"{title}; {of}", ["test", *map(str, study.sizes)], rows)


def _overlaps(study: SplitStudy, group: str, of: str) -> list[Table]:
    """Show how much of what a test finds another one finds, on the same topics."""
    real = [test for test in study.tests if not is_bound(test)]
    rows = []
    for later, second in enumerate(real):
        frame = study.table("overlap", second=second, sets="1-1", group=group)
        for row in frame.filter(pl.col("test").is_in(real[:later])).rows():
            rows.append([str(row[0]), second, *(number(one, 2) for one in row[1:])])
    if not rows:
        return []
    title = f"Overlap of what two tests find on the same set; {of}"
    return [Table(title, ["first", "second", *map(str, study.sizes)], rows, (0, 1))]


def _largest(study: SplitStudy, group: str, of: str) -> Table:
    size = max(study.sizes)
    names = ("AA", "AD", "MA", "MD")
    columns = {name: study.table(name, group=group)[str(size)] for name in (*names, "bias")}
    rows = [
        [test, *(number(columns[name][k], 1) for name in names), _percent(columns["bias"][k])]
        for k, test in enumerate(study.tests)
    ]
    title = f"Consistent and inconsistent results, and publication bias, sets of {size}; {of}"
    return Table(title, ["test", *names, "bias"], rows)


def _percent(share: float | None) -> str:
    text = number(share if share is None else 100 * share, 1)
    return f"{text}%" if text else ""
