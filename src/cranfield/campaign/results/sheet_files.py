"""Sheets as files, for all runs or for one team."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import fspath
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.files import whole_file
from cranfield.base.text import counted, plain
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.results.sheet import (
    Sheet,
    compared,
    difference,
    facts,
    place_sentence,
    sure_sentences,
    team_of,
    topic_head,
    topic_rows,
)
from cranfield.campaign.results.sheet_making import (
    Known,
    Making,
    making_of,
    own_measures,
    sheets_of,
)
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.campaign.store.records import ACCEPTED
from cranfield.reporting.page.drawn import drawn_bars, drawn_curves
from cranfield.reporting.page.html import (
    Html,
    Parts,
    el,
    joined,
    label,
    named,
    page_of_parts,
    sections_of,
)
from cranfield.reporting.page.sections import Rows, table
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


RUNS = "runs"
"""The folder of single sheets: beside it no tag can take the name of the index."""


def write_sheets(
    opened: Opened,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    measure: str | None = None,
    others: str = "named",
) -> tuple[Path, ...]:
    """Write the sheets of a task's accepted runs: HTML, text and JSON, and an index.

    Parameters
    ----------
    opened, task, judgments, measure, others
        As for :func:`~cranfield.campaign.results.sheet_making.sheets_of`.
    folder
        Where to; it is made where it is not there. Sheets of a former time are written over.

    Returns
    -------
    tuple of Path
        The index, and then all others.

    Raises
    ------
    PolicyError
        When the folder holds sheets of runs that are no longer among these, or lies in that of the
        campaign.
    """
    target = opened.outside(folder)
    found = sheets_of(opened, task, judgments, measure=measure, others=others)
    return write_files(target, dict(index_and_sheets(found)))


def index_and_sheets(sheets: Sequence[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes: the index, and for each sheet a page, text and JSON."""
    yield "index.html", as_bytes(_index(sheets))
    for name, content in files_of(sheets):
        yield f"{RUNS}/{name}", content


def files_of(sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield `TAG.html`, `TAG.txt` and `TAG.json` of each sheet, with their bytes."""
    for sheet in sheets:
        for suffix, text in (
            ("html", sheet_page(sheet)),
            ("txt", sheet.to_text()),
            ("json", sheet.to_json()),
        ):
            yield f"{sheet.tag}.{suffix}", as_bytes(text)


def as_bytes(text: str) -> bytes:
    # What is no character, as a name of a file may have, is written by its code; in JSON too.
    return text.encode("utf-8", "backslashreplace")


def write_files(
    folder: PathName, files: Mapping[str, bytes], *, private: bool = False
) -> tuple[Path, ...]:
    """Write files by their names into a folder, which holds no others of the same kind."""
    target = Path(fspath(folder))
    for inner in sorted({(target / name).parent for name in files}):
        if inner.name == RUNS and inner.is_dir():
            late = sorted({one.name for one in inner.iterdir()} - {Path(n).name for n in files})
            if late:
                raise PolicyError(
                    f"{inner} has {quoted(late[0])}, which is of no run that is there now: remove"
                    " it, or name another folder"
                )
        make_folder(inner)
    made = []
    for name, content in files.items():
        with whole_file(target / name, private=private) as out:
            out.write(content)
        made.append(target / name)
    return tuple(made)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        # Names that hold a NUL are no ordinary error of the system.
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be made: {reason}", source=str(folder)) from error


def _index(sheets: Sequence[Sheet]) -> str:
    """Write a page with links to all sheets, in order of place."""
    if not sheets:
        part = el("p", "There are no accepted runs.")
        return page_of_parts("Sheets", "", {"runs": ("Runs", part)}, styles=STYLES)
    first = sheets[0]
    measures = [*first.measures]
    head = ["run", "place", "team", "type", *map(label, measures)]
    rows: Rows = [
        [
            el("a", named(one.tag), href=f"{RUNS}/{quote(one.tag)}.html"),
            f"{one.sure.place:,}",
            named(one.team),
            label(one.type) if one.type else "",
            *(number(one.measures[name]) for name in measures),
        ]
        for one in sorted(sheets, key=lambda one: (one.sure.place, one.tag))
    ]
    title = label(first.task_title or first.task)
    counts = f"{label(first.campaign_title or first.campaign)}. {counted(len(sheets), 'run')}."
    caption = f"Runs by {label(first.measure)}"
    part = table(caption, head, rows, left=(0, 2, 3), name="topics")
    return page_of_parts(
        title, counts, {"runs": ("Sheets", part)}, styles=STYLES, skip="Skip to the runs"
    )


WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of all files in an archive: the first that the format knows."""

EMPTY = pl.DataFrame(
    schema={
        **dict.fromkeys(("measure", "category", "value", "topic"), pl.String),
        **dict.fromkeys(("best", "median", "worst"), pl.Float64),
        "runs": pl.Int64,
    }
)
"""The table of statistics, without rows; no category is all runs."""

MEANT = {
    "better": "The median of an even number of runs is the better of the two middle scores.",
    "average": "The median of an even number of runs is the mean of the two middle scores.",
}


def write_packet(
    opened: Opened,
    team: str,
    path: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> Path:
    """Write what one team gets.

    Parameters
    ----------
    opened
        The campaign.
    team
        Id of the team.
    path
        An archive where the name ends in `.zip`, else a folder; files that only their owner reads.
        The same campaign gives the same bytes.
    task
        A task; by default all for which the team has accepted runs.
    judgments
        Version of the judgments, by default the last of each task.

    Raises
    ------
    PolicyError
        For a team that is not there, or without accepted runs.

    Notes
    -----
    Other runs are not named, and best, median and worst are of categories with runs of
    `min_category` teams at least, this one among them. Two such categories that differ by runs of
    fewer teams are not both shown. Teams that put their packets together know more.
    """
    target = opened.outside(path)
    if team not in {one.id for one in opened.registry.teams()}:
        raise PolicyError(f"there is no team {quoted(team)}")
    found = [one for one in _makings(opened, task, judgments, team) if _has(one, team)]
    if not found:
        raise PolicyError(f"team {quoted(team)} has no accepted run")
    return _write(found, team, target)


def write_packets(
    opened: Opened, folder: PathName, task: str | None = None, *, judgments: str | None = None
) -> tuple[Path, ...]:
    """Write the packets of all teams with accepted runs as `TEAM.zip`; see :func:`write_packet`.

    Raises
    ------
    PolicyError
        For a team whose id is no name of a file, or differs from another only in case.
    """
    target = opened.outside(folder)
    makings = _makings(opened, task, judgments)
    teams = sorted({run.team for one in makings for run in one.runs})
    seen: dict[str, str] = {}
    for team in teams:
        if not safe_name(team) or seen.setdefault(team.lower(), team) != team:
            raise PolicyError(f"team {quoted(team)} is no name of a file: write its packet alone")
    make_folder(target)
    return tuple(
        _write([one for one in makings if _has(one, team)], team, target / f"{team}.zip")
        for team in teams
    )


def _makings(
    opened: Opened, task: str | None, judgments: str | None, team: str | None = None
) -> list[Making]:
    """Gather what sheets are made from, of all tasks that have runs, or runs of a team."""
    names = [opened.rules.task(task).name] if task is not None else [*opened.rules.tasks]
    chosen = [name for name in names if opened.registry.submissions(name, (ACCEPTED,), team=team)]
    return [making_of(opened, name, judgments) for name in chosen]


def _has(one: Making, team: str) -> bool:
    return any(run.team == team for run in one.runs)


def _write(makings: Iterable[Making], team: str, target: Path) -> Path:
    files = {
        f"{one.known.task.name}/{name}": content
        for one in makings
        for name, content in packet_files(one, team)
    }
    if target.suffix.lower() == ".zip":
        with whole_file(target, private=True) as out:
            out.write(zipped(files))
    else:
        write_files(target, files, private=True)
    return target


def packet_files(making: Making, team: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of all that a team gets of one task."""
    sheets = making.sheets("hidden", team)
    yield "README.txt", as_bytes(_readme(sheets, making.known))
    yield "statistics.csv", _statistics(making, team).write_csv().encode()
    yield from index_and_sheets(sheets)


def _statistics(making: Making, team: str) -> pl.DataFrame:
    """Best, median and worst of the groups that the team's runs are compared with, by topic."""
    groups = {one for one in making.groups(team).values() if one is not None}
    parts = [EMPTY]
    for name in own_measures(making.known.task):
        others = making.against(making.scores_by(name))
        for key, value in sorted(groups):
            frame = others.statistics((key, value)).drop("group").rename({"n": "runs"})
            about = [pl.lit(name).alias("measure"), pl.lit(key).alias("category")]
            parts.append(frame.select(*about, pl.lit(value).alias("value"), pl.all()))
    return pl.concat(parts)


def _readme(sheets: Sequence[Sheet], known: Known) -> str:
    first = sheets[0]
    team = team_of(first)
    lines = [
        f"{known.rules.title or known.rules.id}: task {known.task.title or known.task.name}",
        f"Results of team {team}, {counted(len(sheets), 'run')}, judgments {known.judgments}",
        "",
        "index.html      the runs, with links to their sheets",
        "runs/*.html     a sheet for each run; .txt and .json say the same",
        "statistics.csv  best, median and worst score of groups of runs, by measure and topic",
        "",
        MEANT[known.task.median],
        "A run without documents for a topic counts with 0 there.",
        f"A group has runs of {counted(known.task.min_category, 'team')} or more; else all runs are"
        " shown in its place, or none.",
        "Runs of other teams are counted, and not named.",
    ]
    if any(one.category is None for one in sheets):
        lines.append("Some runs are compared with none, as there are too few other teams.")
    return "\n".join(map(plain, lines)) + "\n"


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Pack files in order of their names, with a fixed time: the same files, the same bytes."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # As from any system: files that are read by all.
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, files[name])
    return held.getvalue()
