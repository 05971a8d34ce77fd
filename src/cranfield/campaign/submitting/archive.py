"""A whole archive is handed in: runs are checked beside each other, and entered in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass

from cranfield.base.errors import InputError, PolicyError
from cranfield.base.threads import one_by_one
from cranfield.base.words import some_of
from cranfield.campaign.opened import Opened
from cranfield.campaign.submitting.archive_table import ArchiveTable, Row
from cranfield.campaign.submitting.entering import received_at
from cranfield.campaign.submitting.submit import Submitted, enter, enter_within
from cranfield.campaign.submitting.taking_in import Taken, taken_in
from cranfield.campaign.submitting.teams import insert_teams, make_team, no_teams
from cranfield.sources.chunks import Source


@dataclass(frozen=True)
class Outcome:
    """What became of a row: a run that was handed in, or why there was none to hand in."""

    row: Row
    submitted: Submitted | None
    wrong: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the row's run is one of the campaign's now."""
        return self.submitted is not None and self.submitted.accepted


class _Dry(Exception):  # noqa: N818
    """Ends a transaction that is to change nothing."""


def submit_archive(
    opened: Opened,
    table: ArchiveTable,
    *,
    add_teams: bool = False,
    all_or_none: bool = False,
    jobs: int | None = None,
) -> Iterator[Outcome]:
    """Hand in the runs of a table, in its order; one that is refused does not stop the others.

    Parameters
    ----------
    opened
        The campaign.
    table
        The runs.
    add_teams
        Whether teams that are not there yet are added, under their ids.
    all_or_none
        Whether nothing is entered at all where one run is refused: one transaction for all.
    jobs
        Runs that are checked at a time; by default one for each processor.

    Yields
    ------
    Outcome
        Of each row.

    Raises
    ------
    PolicyError
        For teams and tasks that are not there, and times that lie in the future; nothing is
        entered then.
    """
    tasks = [opened.rules.task(row.task) for row in table.rows]
    new = _new_teams(opened, table)
    if new and not add_teams:
        raise PolicyError(no_teams(new))
    for row in table.rows:
        received_at(row.declared, opened.clock())

    with ExitStack() as copies:

        def taken(k: int) -> Taken | str:
            row = table.rows[k]
            if row.file is None:
                return row.wrong
            try:
                return copies.enter_context(taken_in(opened, row.file, tasks[k], row.declared))
            except InputError as error:
                if error.source != Source(row.file).name:
                    # It is the rules' own files that cannot be read.
                    raise
                return str(error)

        with closing(one_by_one(taken, range(len(table.rows)), jobs)) as found:
            if all_or_none:
                yield from _together(opened, table, new, list(found))
                return
            _add_teams(opened, new)
            for row, task, one in zip(table.rows, tasks, found, strict=True):
                if isinstance(one, str):
                    yield Outcome(row, None, one)
                    continue
                yield Outcome(row, enter(opened, task, one, row.declared))
                one.file.unlink(missing_ok=True)


def _new_teams(opened: Opened, table: ArchiveTable) -> list[str]:
    known = {team.id for team in opened.registry.teams()}
    return [id for id in dict.fromkeys(row.declared.team for row in table.rows) if id not in known]


def _add_teams(opened: Opened, new: list[str]) -> None:
    if new:
        made = [make_team(opened, id) for id in new]
        with opened.registry.change("add teams", some_of(new, 10)) as tx:
            insert_teams(tx, made)


def _together(
    opened: Opened, table: ArchiveTable, new: list[str], found: list[Taken | str]
) -> list[Outcome]:
    """Enter all in one transaction, or none; a first one finds out, and leaves nothing behind."""
    for dry in (True, False):
        outcomes = []
        with suppress(_Dry), opened.registry.change("submit archive", table.source) as tx:
            insert_teams(tx, [make_team(opened, id) for id in new])
            for row, one in zip(table.rows, found, strict=True):
                if isinstance(one, str):
                    outcomes.append(Outcome(row, None, one))
                else:
                    task = opened.rules.task(row.task)
                    done = enter_within(tx, opened, task, one, row.declared, dry=dry)
                    outcomes.append(Outcome(row, done))
            if dry or not all(one.accepted for one in outcomes):
                raise _Dry
        if not all(one.accepted for one in outcomes):
            break
    else:
        return outcomes
    return [_not_entered(one) for one in outcomes]


def _not_entered(one: Outcome) -> Outcome:
    """Say of what would have been accepted that it was not entered."""
    if one.submitted is None or not one.accepted or one.submitted.again:
        return one
    return Outcome(one.row, None, "not entered, because others are refused")
