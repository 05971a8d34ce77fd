"""Files of sheets, for all runs or for a single team."""

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
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.pages import render_page, render_text
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
    NAMING_OF_OTHERS,
    SheetInputs,
    own_measures,
    reference_groups,
    sheet_inputs,
)
from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.campaign.store.records import ACCEPTED
from cranfield.reporting.page.html import label
from cranfield.reporting.page.svg_charts import draw_bars, draw_curves


def sheet_page(sheet: Sheet) -> str:
    """Return the sheet as a self-contained HTML page without scripts."""
    titles = (sheet.campaign_title or sheet.campaign, sheet.task_title or sheet.task)
    counts = f"{', '.join(map(label, titles))}. {label(rank_sentence(sheet))}."
    values = sheet_values(sheet)
    return render_page(
        "sheet.html", label(sheet.tag), counts=counts, skip="Skip to the sheet", **values
    )


def sheet_values(sheet: Sheet) -> dict[str, Any]:
    """Return the values for the template of a sheet, on its own page or on the site."""
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
        "curves": draw_curves(
            np.arange(len(sheet.precision_at_recall)) / 10,
            [*curves.items()],
            title="Interpolated precision by recall",
            x_title="recall",
            y_title="precision",
        ),
        "above": int((sign * differences > 0).sum()),
        "below": int((sign * differences < 0).sum()),
        "bars": draw_bars(
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
"""Folder of single sheets; separate from the index, since a tag may be `index`."""


def write_sheets(
    campaign: OpenedCampaign,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    measure: str | None = None,
    others: Annotated[str, OneOf(NAMING_OF_OTHERS)] = "named",
) -> tuple[Path, ...]:
    """Write the sheets of a task's accepted runs: HTML, text and JSON, and an index.

    Parameters
    ----------
    campaign, task, judgments, measure
        As for :func:`~cranfield.campaign.results.sheet_making.sheet_inputs`.
    others
        Whether the sheet of a run names the other runs that are not significantly different from
        it: `named` or `hidden`.
    folder
        Folder to write to; it is created if missing. Existing sheets are overwritten.

    Returns
    -------
    tuple of Path
        The index, and then all others.

    Raises
    ------
    PolicyError
        If the folder contains sheets of other runs, or lies in the campaign's folder.
    """
    target = campaign.check_outside(folder)
    sheets = sheet_inputs(campaign, task, judgments, measure=measure).sheets(others)
    return write_files(target, dict(index_and_sheets(sheets)))


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
    # Surrogates, as in names of files, are escaped, also in JSON.
    return text.encode("utf-8", "backslashreplace")


def write_files(
    folder: PathName, files: Mapping[str, bytes], *, private: bool = False
) -> tuple[Path, ...]:
    """Write files by name into a folder; refuse a folder with sheets of other runs."""
    target = Path(fspath(folder))
    for inner in sorted({(target / name).parent for name in files}):
        if inner.name == RUNS and inner.is_dir():
            existing = {path.name for path in inner.iterdir()}
            if foreign := sorted(existing - {Path(name).name for name in files}):
                raise PolicyError(
                    f"{inner} contains {quoted(foreign[0])}, which belongs to no current run;"
                    " remove it, or choose another folder"
                )
        make_folder(inner)
    for name, content in files.items():
        with whole_file(target / name, private=private) as out:
            out.write(content)
    return tuple(target / name for name in files)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        # A null character in the name raises a ValueError.
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
    return render_page(
        "sheets.html", title, counts=counts, headings=headings, skip=skip, sheets=ordered
    )


TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""Time of all files in an archive: the earliest time of the format."""


def write_packet(
    campaign: OpenedCampaign,
    team: str,
    path: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> Path:
    """Write the packet of one team.

    Parameters
    ----------
    campaign
        The campaign.
    team
        Id of the team.
    path
        An archive if the name ends in `.zip`, else a folder; only the owner can read the files. The
        same campaign gives the same bytes.
    task
        Name of a task; by default all tasks for which the team has accepted runs.
    judgments
        Version of the judgments; by default the newest of each task.

    Raises
    ------
    PolicyError
        For an unknown team, or a team without accepted runs.

    Notes
    -----
    Other runs are not named, and best, median and worst are of categories with runs of at least
    `min_category` teams, including this team. Of two such categories that differ by runs of fewer
    teams, only one is included. Teams that combine their packets learn more.
    """
    target = campaign.check_outside(path)
    if campaign.registry.team(team) is None:
        raise PolicyError(f"unknown team {quoted(team)}")
    files = _packet(_all_inputs(campaign, task, judgments, team), team)
    if not files:
        raise PolicyError(f"team {quoted(team)} has no accepted run")
    return _write(files, target)


def write_packets(
    campaign: OpenedCampaign,
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
    target = campaign.check_outside(folder)
    all_inputs = _all_inputs(campaign, task, judgments)
    teams = sorted({run.team for inputs in all_inputs for run in inputs.runs})
    first_ids: dict[str, str] = {}
    for team in teams:
        if not is_safe_name(team) or first_ids.setdefault(team.lower(), team) != team:
            raise PolicyError(
                f"team {quoted(team)} is not a valid file name; write its packet separately"
            )
    make_folder(target)
    return tuple(_write(_packet(all_inputs, team), target / f"{team}.zip") for team in teams)


def _all_inputs(
    campaign: OpenedCampaign, task: str | None, judgments: str | None, team: str | None = None
) -> list[SheetInputs]:
    """Return the inputs of sheets, of all tasks with runs, or with runs of a team."""
    names = [campaign.rules.task(task).name] if task is not None else [*campaign.rules.tasks]
    tasks = [name for name in names if campaign.registry.submissions(name, (ACCEPTED,), team=team)]
    return [sheet_inputs(campaign, name, judgments) for name in tasks]


def _packet(all_inputs: Iterable[SheetInputs], team: str) -> dict[str, bytes]:
    """Return all files of a team's packet, by name."""
    files = {}
    for inputs in all_inputs:
        if any(run.team == team for run in inputs.runs):
            for name, content in packet_files(inputs, team):
                files[f"{inputs.task.name}/{name}"] = content
    return files


def _write(files: Mapping[str, bytes], target: Path) -> Path:
    if target.suffix.lower() == ".zip":
        with whole_file(target, private=True) as out:
            out.write(zipped(files))
    else:
        write_files(target, files, private=True)
    return target


def packet_files(inputs: SheetInputs, team: str) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes of the files of a team's packet on a task."""
    sheets = inputs.sheets("hidden", team)
    readme = render_text("packet.txt", sheets=sheets, inputs=inputs, team=team_of(sheets[0]))
    yield "README.txt", as_bytes(readme)
    yield "statistics.csv", _statistics(inputs, team).write_csv().encode()
    yield from index_and_sheets(sheets)


def _statistics(inputs: SheetInputs, team: str) -> pl.DataFrame:
    """Return best, median and worst of the reference groups of the team's runs."""
    groups = sorted(
        {
            group
            for group in reference_groups(inputs.runs, inputs.task, team).values()
            if group is not None
        }
    )
    columns = ("measure", "category", "value", "topic", "best", "median", "worst", "runs")
    tables = [
        inputs.statistics(inputs.scores_by(measure), (category, value)).with_columns(
            measure=pl.lit(measure),
            # Both are empty for all runs.
            category=pl.lit(category),
            value=pl.lit(value),
            runs="n",
        )
        for measure in own_measures(inputs.task)
        for category, value in groups
    ]
    return pl.concat(tables).select(columns) if tables else pl.DataFrame(schema=columns)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Compress files in order of name, with a fixed time, so that bytes are reproducible."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, TIMESTAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # The same on all systems: readable by all.
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()
