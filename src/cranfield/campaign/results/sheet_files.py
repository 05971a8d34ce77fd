"""Sheets as files, for all runs or for one team."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import fspath
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.files import whole_file
from cranfield.base.kinds import OneOf
from cranfield.base.text import counted
from cranfield.campaign.opened import OpenedCampaign, PathName
from cranfield.campaign.pages import filled_page, filled_text
from cranfield.campaign.results.sheet import (
    Sheet,
    compared,
    comparison_sentences,
    difference,
    facts,
    rank_sentence,
    team_of,
    topic_head,
    topic_rows,
)
from cranfield.campaign.results.sheet_making import (
    OTHERS,
    SheetInputs,
    groups_shown,
    own_measures,
    sheet_inputs,
)
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.campaign.store.records import ACCEPTED
from cranfield.reporting.page.drawn import drawn_bars, drawn_curves
from cranfield.reporting.page.html import label


def sheet_page(sheet: Sheet) -> str:
    """Write a page that needs no other file, no network and no script."""
    titles = (sheet.campaign_title or sheet.campaign, sheet.task_title or sheet.task)
    counts = f"{', '.join(map(label, titles))}. {label(rank_sentence(sheet))}."
    values = sheet_values(sheet)
    return filled_page(
        "sheet.html", label(sheet.tag), counts=counts, skip="Skip to the sheet", **values
    )


def sheet_values(sheet: Sheet) -> dict[str, Any]:
    """Return what the sections of a sheet are filled with, on a page of its own or of the site."""
    headings = {
        "run": "The run",
        "overall": "Over all topics",
        **({} if sheet.category is None else {"differences": "Above and below the median"}),
        "by-topic": "Topic by topic",
        "comparison": "Comparison with other runs",
    }
    curves = {"this run": np.array(sheet.precision_at_recall, dtype=float)}
    if sheet.median_precision:
        curves[f"median of {sheet.category}"] = np.array(sheet.median_precision, dtype=float)
    differences = np.array([difference(topic) for topic in sheet.by_topic], dtype=float)
    sign = -1 if sheet.lower_is_better else 1
    title = f"{label(sheet.measure)} minus the median, by topic; the same numbers are in the table"
    return {
        "headings": headings,
        "sheet": sheet,
        "facts": facts(sheet),
        "curves": drawn_curves(
            np.arange(len(sheet.precision_at_recall)) / 10,
            [*curves.items()],
            title="Interpolated precision by recall",
            across="recall",
            up="precision",
        ),
        "above": int((sign * differences > 0).sum()),
        "below": int((sign * differences < 0).sum()),
        "bars": drawn_bars(
            [topic.topic for topic in sheet.by_topic],
            differences,
            title=title,
            lower_is_better=sheet.lower_is_better,
        ),
        "compared": compared(sheet),
        "heads": [label(head) for head in topic_head(sheet)],
        "rows": topic_rows(sheet),
        "sentences": comparison_sentences(sheet),
    }


RUNS = "runs"
"""The folder of single sheets: beside it no tag can take the name of the index."""


def write_sheets(
    opened: OpenedCampaign,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    measure: str | None = None,
    others: Annotated[str, OneOf(OTHERS)] = "named",
) -> tuple[Path, ...]:
    """Write the sheets of a task's accepted runs: HTML, text and JSON, and an index.

    Parameters
    ----------
    opened, task, judgments, measure
        As for :func:`~cranfield.campaign.results.sheet_making.sheet_inputs`.
    others
        Whether the sheet of a run names the other runs that do not differ from it significantly:
        named or hidden.
    folder
        Where to; it is made where it is not there. Sheets of a former time are written over.

    Returns
    -------
    tuple of Path
        The index, and then all others.

    Raises
    ------
    PolicyError
        If the folder contains sheets of other runs, or lies in that of the
        campaign.
    """
    target = opened.outside(folder)
    found = sheet_inputs(opened, task, judgments, measure=measure).sheets(others)
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
    # Surrogates, which names of files may contain, are written as escapes, also in JSON.
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
                    f"{inner} contains {quoted(late[0])}, which belongs to no current run; remove"
                    " it, or choose another folder"
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
        # A name with a NUL raises a ValueError, not an OSError.
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be created: {reason}", source=str(folder)) from error


def _index(sheets: Sequence[Sheet]) -> str:
    """Write a page with links to all sheets, in order of rank."""
    ordered = sorted(sheets, key=lambda sheet: (sheet.comparison.rank, sheet.tag))
    title, counts, heading = "Sheets", "", "Runs"
    if sheets:
        first = sheets[0]
        title, heading = label(first.task_title or first.task), "Sheets"
        campaign = label(first.campaign_title or first.campaign)
        counts = f"{campaign}. {counted(len(sheets), 'run')}."
    headings = {"runs": heading}
    skip = "Skip to the runs"
    return filled_page(
        "sheets.html", title, counts=counts, headings=headings, skip=skip, sheets=ordered
    )


WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of all files in an archive: the first that the format knows."""


def write_packet(
    opened: OpenedCampaign,
    team: str,
    path: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> Path:
    """Write the packet of one team.

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
        Name of a task; by default all tasks for which the team has accepted runs.
    judgments
        Version of the judgments; by default the newest of each task.

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
        raise PolicyError(f"unknown team {quoted(team)}")
    files = _packet(_makings(opened, task, judgments, team), team)
    if not files:
        raise PolicyError(f"team {quoted(team)} has no accepted run")
    return _write(files, target)


def write_packets(
    opened: OpenedCampaign,
    folder: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> tuple[Path, ...]:
    """Write the packets of all teams with accepted runs as `TEAM.zip`; see :func:`write_packet`.

    Raises
    ------
    PolicyError
        For a team whose id is not a valid file name, or differs from another only in case.
    """
    target = opened.outside(folder)
    makings = _makings(opened, task, judgments)
    teams = sorted({run.team for one in makings for run in one.runs})
    seen: dict[str, str] = {}
    for team in teams:
        if not safe_name(team) or seen.setdefault(team.lower(), team) != team:
            raise PolicyError(
                f"team {quoted(team)} is not a valid file name; write its packet separately"
            )
    make_folder(target)
    return tuple(_write(_packet(makings, team), target / f"{team}.zip") for team in teams)


def _makings(
    opened: OpenedCampaign, task: str | None, judgments: str | None, team: str | None = None
) -> list[SheetInputs]:
    """Gather what sheets are made from, of all tasks that have runs, or runs of a team."""
    names = [opened.rules.task(task).name] if task is not None else [*opened.rules.tasks]
    chosen = [name for name in names if opened.registry.submissions(name, (ACCEPTED,), team=team)]
    return [sheet_inputs(opened, name, judgments) for name in chosen]


def _packet(makings: Iterable[SheetInputs], team: str) -> dict[str, bytes]:
    """Return all files that a team gets, by name."""
    files = {}
    for making in makings:
        if any(run.team == team for run in making.runs):
            for name, content in packet_files(making, team):
                files[f"{making.task.name}/{name}"] = content
    return files


def _write(files: Mapping[str, bytes], target: Path) -> Path:
    if target.suffix.lower() == ".zip":
        with whole_file(target, private=True) as out:
            out.write(zipped(files))
    else:
        write_files(target, files, private=True)
    return target


def packet_files(making: SheetInputs, team: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of all that a team gets of one task."""
    sheets = making.sheets("hidden", team)
    readme = filled_text("packet.txt", sheets=sheets, inputs=making, team=team_of(sheets[0]))
    yield "README.txt", as_bytes(readme)
    yield "statistics.csv", _statistics(making, team).write_csv().encode()
    yield from index_and_sheets(sheets)


def _statistics(making: SheetInputs, team: str) -> pl.DataFrame:
    """Return best, median and worst of the groups that the team's runs are compared with."""
    groups = sorted(
        {
            group
            for group in groups_shown(making.runs, making.task, team).values()
            if group is not None
        }
    )
    columns = ("measure", "category", "value", "topic", "best", "median", "worst", "runs")
    tables = [
        making.statistics(making.scores_by(measure), (category, value)).with_columns(
            measure=pl.lit(measure),
            # All runs have no category.
            category=pl.lit(category),
            value=pl.lit(value),
            runs="n",
        )
        for measure in own_measures(making.task)
        for category, value in groups
    ]
    return pl.concat(tables).select(columns) if tables else pl.DataFrame(schema=columns)


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
