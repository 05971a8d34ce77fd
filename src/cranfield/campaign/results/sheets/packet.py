"""What one team gets: its own sheets and statistics of the categories, and nothing of others."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.base.whole_files import whole_file
from cranfield.base.words import counted
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.results.sheets.making import Known, Making, making_of, own_measures
from cranfield.campaign.results.sheets.sheet import Sheet
from cranfield.campaign.results.sheets.wording import team_of
from cranfield.campaign.results.sheets.writing import (
    as_bytes,
    index_and_sheets,
    make_folder,
    write_files,
)
from cranfield.campaign.rules.tags import safe_name
from cranfield.campaign.store.records import ACCEPTED

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
