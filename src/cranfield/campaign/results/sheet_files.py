"""Write the files of sheets, for all runs or for a single team."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import fspath
from pathlib import Path
from typing import Annotated, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

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
    comparison_sentences,
    describe_category,
    minus_median,
    rank_sentence,
    run_facts,
    team_label,
    topic_columns,
    topic_rows,
)
from cranfield.campaign.results.sheet_making import (
    NAMING_OF_OTHERS,
    SheetInputs,
    reference_groups,
    sheet_inputs,
    task_measures,
)
from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.campaign.store.records import ACCEPTED
from cranfield.reporting.page.html import label
from cranfield.reporting.page.svg_charts import draw_bars, draw_curves


def sheet_page(sheet: Sheet) -> str:
    """Return the sheet as a self-contained HTML page without scripts."""
    counts = f"{', '.join(map(label, _titles(sheet)))}. {label(rank_sentence(sheet))}."
    values = sheet_values(sheet) | {"counts": counts, "skip": "Skip to the sheet"}
    return render_page("sheet.html", label(sheet.tag), **values)


def _titles(sheet: Sheet) -> tuple[str, str]:
    return sheet.campaign_title or sheet.campaign, sheet.task_title or sheet.task


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
    differences = np.array([minus_median(topic) for topic in sheet.by_topic], dtype=float)
    sign = -1 if sheet.lower_is_better else 1
    title = f"{label(sheet.measure)} minus the median, by topic; the same numbers are in the table"
    return {
        "headings": headings,
        "sheet": sheet,
        "facts": run_facts(sheet),
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
        "compared": describe_category(sheet),
        "heads": [label(head) for head in topic_columns(sheet)],
        "rows": topic_rows(sheet),
        "sentences": comparison_sentences(sheet),
    }


RUNS = "runs"
"""Folder of the sheets; separate from the index, because a tag may be `index`."""


def write_sheets(
    campaign: OpenedCampaign,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    measure: str | None = None,
    others: Annotated[str, OneOf(NAMING_OF_OTHERS)] = "named",
) -> tuple[Path, ...]:
    """Write the sheets of the accepted runs of a task as HTML, text and JSON, and an index.

    Parameters
    ----------
    campaign, task, judgments, measure
        Task, version of the judgments, and measure of charts, topics and comparisons; by default
        the only task, the newest version, and the first measure of the rules.
    others
        Whether the sheet of a run names the other runs that are not significantly different from
        it: `named` or `hidden`.
    folder
        Folder to write to; it is created if missing. Existing sheets are overwritten.

    Returns
    -------
    tuple of Path
        The index, and then the sheets.

    Raises
    ------
    PolicyError
        If the folder contains sheets of other runs, or is in the campaign's folder.
    """
    target = campaign.check_outside(folder)
    sheets = sheet_inputs(campaign, task, judgments, measure=measure).sheets(others)
    return write_files(target, dict(index_and_sheets(sheets)))


def index_and_sheets(sheets: Sequence[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes: the index, and for each sheet a page, text and JSON."""
    yield "index.html", encode_text(_index(sheets))
    for name, content in sheet_files(sheets):
        yield f"{RUNS}/{name}", content


def sheet_files(sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield `TAG.html`, `TAG.txt` and `TAG.json` of each sheet, with their bytes."""
    for sheet in sheets:
        yield f"{sheet.tag}.html", encode_text(sheet_page(sheet))
        yield f"{sheet.tag}.txt", encode_text(sheet.to_text())
        yield f"{sheet.tag}.json", encode_text(sheet.to_json())


def encode_text(text: str) -> bytes:
    # Names of files may have surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "backslashreplace")


def write_files(
    folder: PathName, files: Mapping[str, bytes], *, private: bool = False
) -> tuple[Path, ...]:
    """Write files by name into a folder, unless it has sheets of other runs."""
    target = Path(fspath(folder))
    for subfolder in sorted({(target / name).parent for name in files}):
        if subfolder.name == RUNS and subfolder.is_dir():
            names = {path.name for path in subfolder.iterdir()}
            if extra := sorted(names - {Path(name).name for name in files}):
                reason = "which belongs to no current run; remove it, or choose another folder"
                raise PolicyError(f"{subfolder} contains {quoted(extra[0])}, {reason}")
        make_folder(subfolder)
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
    """Return a page with links to all sheets, in order of rank."""
    title, counts, heading = "Sheets", "", "Runs"
    if sheets:
        campaign, title = map(label, _titles(sheets[0]))
        counts, heading = f"{campaign}. {counted(len(sheets), 'run')}.", "Sheets"
    return render_page(
        "sheets.html",
        title,
        counts=counts,
        headings={"runs": heading},
        skip="Skip to the runs",
        sheets=sorted(sheets, key=lambda sheet: (sheet.comparison.rank, sheet.tag)),
    )


def write_packet(
    campaign: OpenedCampaign,
    team: str,
    path: PathName,
    task: str | None = None,
    *,
    judgments: str | None = None,
) -> Path:
    """Write the packet of a team: the sheets of its runs, and statistics of reference groups.

    Parameters
    ----------
    campaign
        The campaign.
    team
        Id of the team.
    path
        Archive if the name ends in `.zip`, otherwise a folder; only the owner can read the files.
        The same campaign gives the same bytes.
    task
        Name of a task; by default all tasks for which the team has accepted runs.
    judgments
        Version of the judgments; by default the newest version of each task.

    Raises
    ------
    PolicyError
        For an unknown team, or a team without accepted runs.

    Notes
    -----
    Runs of other teams are not named. Best, median and worst scores are of categories with runs of
    at least `min_category` teams, including this team; if two categories differ by runs of fewer
    teams, only one of them is included. Teams that combine their packets learn more.
    """
    target = campaign.check_outside(path)
    if campaign.registry.team(team) is None:
        hint = "`cranfield campaign team list` lists the teams"
        raise PolicyError(f"unknown team {quoted(team)}; {hint}")
    files = _team_files(_all_inputs(campaign, task, judgments, team), team)
    if not files:
        raise PolicyError(f"team {quoted(team)} has no accepted run")
    return _write_packet(files, target)


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
        For a team whose id is not a valid file name, or differs from another id only in case.
    """
    target = campaign.check_outside(folder)
    all_inputs = _all_inputs(campaign, task, judgments)
    teams = sorted({run.team for inputs in all_inputs for run in inputs.runs})
    first_ids: dict[str, str] = {}
    for team in teams:
        if not is_safe_name(team) or first_ids.setdefault(team.lower(), team) != team:
            reason = "is not a valid file name; write its packet separately"
            raise PolicyError(f"team {quoted(team)} {reason}")
    make_folder(target)
    paths = {team: target / f"{team}.zip" for team in teams}
    return tuple(_write_packet(_team_files(all_inputs, team), paths[team]) for team in teams)


def _all_inputs(
    campaign: OpenedCampaign, task: str | None, judgments: str | None, team: str | None = None
) -> list[SheetInputs]:
    """Return the inputs of the sheets of each task that has accepted runs (of a team)."""
    names = [campaign.rules.task(task).name] if task is not None else [*campaign.rules.tasks]
    tasks = [name for name in names if campaign.registry.submissions(name, (ACCEPTED,), team=team)]
    return [sheet_inputs(campaign, name, judgments) for name in tasks]


def _team_files(all_inputs: Iterable[SheetInputs], team: str) -> dict[str, bytes]:
    """Return the files of the packet of a team, by name."""
    files = {}
    for inputs in all_inputs:
        if any(run.team == team for run in inputs.runs):
            sheets, folder = inputs.sheets("hidden", team), inputs.task.name
            label = team_label(sheets[0])
            readme = render_text("packet.txt", sheets=sheets, inputs=inputs, team=label)
            statistics = _group_statistics(inputs, team).write_csv()
            files[f"{folder}/README.txt"] = encode_text(readme)
            files[f"{folder}/statistics.csv"] = statistics.encode()
            files |= {f"{folder}/{name}": data for name, data in index_and_sheets(sheets)}
    return files


def _write_packet(files: Mapping[str, bytes], target: Path) -> Path:
    """Write an archive in order of name, with a fixed time, so that bytes are reproducible."""
    if target.suffix.lower() != ".zip":
        write_files(target, files, private=True)
        return target
    with (
        whole_file(target, private=True) as out,
        ZipFile(out, "w", ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name in sorted(files):
            entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = ZIP_DEFLATED
            # Set explicitly, because the defaults depend on the system.
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, files[name])
    return target


def _group_statistics(inputs: SheetInputs, team: str) -> pl.DataFrame:
    """Return best, median and worst scores of the reference groups of the runs of a team."""
    group_of = reference_groups(inputs.runs, inputs.task, team)
    groups = sorted({group for group in group_of.values() if group is not None})
    columns = ("measure", "category", "value", "topic", "best", "median", "worst", "runs")
    tables = [
        inputs.statistics(inputs.scores_by(measure), (category, value)).with_columns(
            measure=pl.lit(measure),
            # Category and value are empty for all runs.
            category=pl.lit(category),
            value=pl.lit(value),
            runs="n",
        )
        for measure in task_measures(inputs.task)
        for category, value in groups
    ]
    return pl.concat(tables).select(columns) if tables else pl.DataFrame(schema=columns)
