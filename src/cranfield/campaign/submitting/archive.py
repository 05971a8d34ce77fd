"""Submission of an archive of runs, listed in a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any

from cranfield.base.errors import InputError, PolicyError, make_file_error, quote, warn
from cranfield.base.kinds import Integer
from cranfield.base.parallel import iterate_in_threads
from cranfield.base.text import inflect, list_some
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.rules.task_rules import Rules, parse_time
from cranfield.campaign.submitting.submit import (
    CheckedCopy,
    Declaration,
    SubmissionOutcome,
    UnchangedError,
    copy_and_check,
    get_submission_time,
    record_run,
    record_run_in_transaction,
)
from cranfield.campaign.submitting.teams import insert_teams, make_team, make_unknown_teams_error
from cranfield.sources.chunks import Source
from cranfield.sources.columns import convert_columns, read_columns
from cranfield.sources.schemas import FileColumn, Schema, declare_optional
from cranfield.sources.values import LABEL, NAME, parse_integer

_COLUMNS = (
    FileColumn("tag", LABEL),
    declare_optional("team", NAME),
    declare_optional("task", NAME),
    declare_optional("type", NAME, "type of run"),
    *(declare_optional(name, NAME) for name in ("priority", "description", "received", "file")),
)
"""Columns of a table of runs, other than answers to questions."""

COLUMN_NAMES = frozenset(column.name for column in _COLUMNS)

_SCHEMA = Schema("table of runs", _COLUMNS, formats=frozenset({"csv", "tsv", "json"}))

_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}


@dataclass(frozen=True)
class ArchiveRow:
    """A row: declaration, task and file of a run, or the reason why it has no file."""

    line: int | None
    declaration: Declaration
    task: str | None
    file: str | None
    reason: str = ""


@dataclass(frozen=True)
class ArchiveTable:
    """Rows of a table of runs, and the name of the table."""

    source: str
    rows: tuple[ArchiveRow, ...]


def read_archive_table(
    table: str | PathLike[str],
    runs: Iterable[str | PathLike[str]],
    rules: Rules,
    *,
    defaults: Declaration,
    task: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> ArchiveTable:
    """Read a table of runs and find their files.

    Parameters
    ----------
    table
        CSV, TSV or JSON with a column `tag`, and optionally `team`, `task`, `type`, `priority`,
        `description`, `received`, `file` and the names of questions.
    runs
        Files or folders of runs, named by tag, optionally with a prefix `input.` and suffixes.
    rules
        Rules of the campaign.
    defaults
        Declaration whose values apply to runs without a value in the table.
    task
        Task of runs without a task in the table.
    columns
        Names of columns in the table that differ from the usual names, by usual name.

    Raises
    ------
    InputError, PolicyError
        For an invalid table, a run without a tag or a team, a duplicate run, a default that no run
        uses, and a file or folder of runs that cannot be read.

    Warns
    -----
    CranfieldWarning
        For columns that are not used, and files without a row, unless they are in a folder.
    """
    source = read_columns(table, replace(_SCHEMA, columns=()))
    questions = {name for task_rules in rules.tasks.values() for name in task_rules.questions}
    answers = (declare_optional(name, NAME, None) for name in sorted(questions - COLUMN_NAMES))
    schema = replace(_SCHEMA, columns=(*_COLUMNS, *answers))
    column_indices = schema.find_positions(
        source.names, source.source, schema.find_own_names(columns)
    )
    # Refuse a column of states of runs, such as withdrawn; warn of unused columns below.
    source.check_unused(replace(schema, is_selected=True), column_indices.values())
    cells = source.get_cells(schema, column_indices)
    frame = convert_columns(cells, schema, source.source, source.lines).frame
    files, files_without_row = _find_files_by_tag(runs, {*frame["tag"]})
    folder = Path(fspath(table)).parent
    rows = []
    lines_by_key: dict[tuple[str | None, ...], int | None] = {}
    for k, cells_by_name in enumerate(frame.iter_rows(named=True)):
        row = {name: value for name, value in cells_by_name.items() if value is not None}
        line = None if source.lines is None else source.lines[k]
        try:
            declaration = _make_declaration(row, defaults)
        except (InputError, PolicyError) as error:
            raise InputError(str(error), source=source.source, line=line) from None
        key = (row["tag"], declaration.team, row.get("task", task), row.get("file"))
        if key in lines_by_key:
            first_line = lines_by_key[key]
            suffix = "" if first_line is None else f", first in line {first_line}"
            reason = f"duplicate run {quote(row['tag'])}{suffix}"
            raise InputError(reason, source=source.source, line=line)
        lines_by_key[key] = line
        file, reason = _choose_file(row["tag"], files.get(row["tag"], []))
        if "file" in row:
            file, reason = str(folder / row["file"]), ""
        rows.append(ArchiveRow(line, declaration, row.get("task", task), file, reason))
    # A default that no row uses is probably a mistake.
    fields = ("team", "type", "priority", "description", "received")
    values = {name: getattr(defaults, name) for name in fields} | {"task": task, **defaults.answers}
    for name, value in values.items():
        if value and name in cells and not frame[name].null_count():
            reason = "must not be set, because the table has a value for every run"
            raise PolicyError(f"{quote(name)} {reason}; got {quote(value)}")
    used_indices = column_indices.values()
    if unused := [quote(str(name)) for k, name in enumerate(source.names) if k not in used_indices]:
        warn(f"unused columns: {', '.join(unused)}")
    if files_without_row:
        files_text = inflect(len(files_without_row), "file")
        names = list_some(map(quote, files_without_row), 5)
        warn(f"{files_text} not submitted for lack of a row in the table: {names}")
    return ArchiveTable(source.source, tuple(rows))


def _make_declaration(row: Mapping[str, str], defaults: Declaration) -> Declaration:
    """Return the declaration of a row, completed by the defaults."""
    names = ("tag", "team", "type", "description")
    values: dict[str, Any] = {name: row[name] for name in names if name in row}
    if not defaults.team and "team" not in row:
        raise InputError(f"run {quote(row['tag'])} has no team; set it in the row or for all runs")
    if "priority" in row:
        values["priority"] = parse_integer(row["priority"])
        if values["priority"] is None:
            raise InputError(f"priority must be an integer, got {quote(row['priority'])}")
    if "received" in row:
        values["received"] = parse_time(row["received"])
    answers = {name: row[name] for name in sorted(row.keys() - COLUMN_NAMES)}
    return replace(defaults, **values, answers={**defaults.answers, **answers})


def _find_files_by_tag(
    runs: Iterable[str | PathLike[str]], tags: Collection[str]
) -> tuple[dict[str, list[str]], tuple[str, ...]]:
    """Return the files of runs by tag, and the names of other files that are not in a folder."""
    files: dict[str, list[str]] = {}
    files_without_row = []
    for run in [Path(fspath(run)) for run in runs]:
        try:
            is_folder = run.is_dir()
            paths = sorted(path for path in run.iterdir() if path.is_file()) if is_folder else [run]
            run.stat()
        except (OSError, ValueError) as error:
            raise make_file_error(error, "read", run) from error
        for file in paths:
            name = file.stem if file.suffix.lower() in _COMPRESSED_SUFFIXES else file.name
            names = (file.name, name, Path(name).stem)
            candidates = [tag for item in names for tag in (item, item.removeprefix("input."))]
            tag = next((tag for tag in candidates if tag in tags), None)
            if tag is not None:
                files.setdefault(tag, []).append(str(file))
            elif not is_folder:
                # Folders may contain other files.
                files_without_row.append(file.name)
    return files, tuple(files_without_row)


def _choose_file(tag: str, files: Sequence[str]) -> tuple[str | None, str]:
    """Return the file of a run, or None and the reason."""
    if len(files) == 1:
        return files[0], ""
    if not files:
        hint = "rename the run's file, or add a column 'file'"
        return None, f"no file has the name {quote(tag)}; {hint}"
    names = " and ".join(quote(Path(file).name) for file in files[:2])
    return None, f"{names} both match {quote(tag)}; choose a file in the column 'file'"


@dataclass(frozen=True)
class RowOutcome:
    """Outcome of a row: the outcome of its run, or the reason why no run was submitted."""

    row: ArchiveRow
    run_outcome: SubmissionOutcome | None
    reason: str = ""

    @property
    def is_accepted(self) -> bool:
        """True if the run was accepted."""
        return self.run_outcome is not None and self.run_outcome.is_accepted


def submit_archive(
    campaign: OpenedCampaign,
    table: ArchiveTable,
    *,
    add_teams: bool = False,
    all_or_none: bool = False,
    jobs: Annotated[int | None, Integer(1)] = None,
) -> Iterator[RowOutcome]:
    """Submit the runs of a table in order; by default, a refused run does not stop the others.

    Parameters
    ----------
    campaign
        The campaign.
    table
        Table of the runs.
    add_teams
        Whether to add unknown teams, with their ids as names.
    all_or_none
        Whether to submit all runs in a single transaction, which accepts all of them or none.
    jobs
        Number of runs to check in parallel; by default the number of processors.

    Yields
    ------
    RowOutcome
        The outcome of each row.

    Raises
    ------
    PolicyError
        For unknown tasks, unknown or invalid teams, and times in the future; no run is submitted.
    """
    tasks = [campaign.rules.get_task(row.task) for row in table.rows]
    known_ids = {team.id for team in campaign.registry.list_teams()}
    ids = dict.fromkeys(row.declaration.team for row in table.rows)
    new_ids = [id for id in ids if id not in known_ids]
    if new_ids and not add_teams:
        error = make_unknown_teams_error(new_ids, known_ids, " or --add-teams")
        line = next(row.line for row in table.rows if row.declaration.team == new_ids[0])
        position = "" if line is None else f"{table.source}:{line}: "
        raise PolicyError(f"{position}{error}")
    for row in table.rows:
        get_submission_time(row.declaration, campaign.clock())

    with ExitStack() as copies:

        def copy_run(k: int) -> CheckedCopy | str:
            row = table.rows[k]
            if row.file is None:
                return row.reason
            copy = copy_and_check(campaign, row.file, tasks[k], row.declaration)
            try:
                return copies.enter_context(copy)
            except InputError as error:
                if error.source != Source(row.file).name:
                    # A file of the rules cannot be read.
                    raise
                return str(error)

        with closing(iterate_in_threads(copy_run, range(len(table.rows)), jobs)) as runs:
            if all_or_none:
                yield from _submit_all_or_none(campaign, table, new_ids, list(runs))
                return
            if new_ids:
                teams = [make_team(campaign, id) for id in new_ids]
                with campaign.registry.change("add teams", list_some(new_ids, 10)) as tx:
                    insert_teams(tx, teams)
            for row, run in zip(table.rows, runs, strict=True):
                if isinstance(run, str):
                    yield RowOutcome(row, None, run)
                else:
                    yield RowOutcome(row, record_run(campaign, run))
                    run.file.unlink(missing_ok=True)


def _submit_all_or_none(
    campaign: OpenedCampaign, table: ArchiveTable, new_ids: list[str], runs: list[CheckedCopy | str]
) -> list[RowOutcome]:
    """Submit all runs in one transaction, or no run if a trial refuses any."""
    for is_trial in (True, False):
        outcomes = []
        with (
            suppress(UnchangedError),
            campaign.registry.change("submit archive", table.source) as tx,
        ):
            insert_teams(tx, [make_team(campaign, id) for id in new_ids])
            for row, run in zip(table.rows, runs, strict=True):
                if isinstance(run, str):
                    outcomes.append(RowOutcome(row, None, run))
                else:
                    outcome = record_run_in_transaction(tx, campaign, run, is_trial=is_trial)
                    outcomes.append(RowOutcome(row, outcome))
            if is_trial or not all(outcome.is_accepted for outcome in outcomes):
                raise UnchangedError
        if not all(outcome.is_accepted for outcome in outcomes):
            break
    else:
        return outcomes
    reason = "not submitted, because other runs were refused"
    return [
        RowOutcome(outcome.row, None, reason)
        if outcome.is_accepted and outcome.run_outcome and not outcome.run_outcome.is_repeat
        else outcome
        for outcome in outcomes
    ]
