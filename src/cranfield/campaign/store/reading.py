"""What can be asked of the registry, inside a change and outside."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from cranfield.campaign.checks.report import PRIVATE, Fault
from cranfield.campaign.store.records import (
    ACCEPTED,
    Event,
    Judgments,
    ReleaseRecord,
    ScoreFile,
    Submission,
    Team,
)
from cranfield.campaign.store.schema import TABLES


class Reading:
    """Questions to the registry; the answers are records."""

    def _connected(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError

    def teams(self) -> tuple[Team, ...]:
        """Return all teams, by id."""
        return self._records(Team)

    def team(self, id: str) -> Team | None:
        """Return a team, or None where there is none."""
        return next(iter(self._records(Team, id=id)), None)

    def submissions(
        self,
        task: str | None = None,
        states: Sequence[str] | None = (ACCEPTED,),
        *,
        team: str | None = None,
        ranking: str | None = None,
        object: str | None = None,
        tag: str | None = None,
    ) -> tuple[Submission, ...]:
        """Return submissions in order of arrival; all states where `states` is None.

        Tags are compared without regard to case.
        """
        wanted = {"task": task, "team": team, "ranking": ranking, "object": object, "tag": tag}
        where: dict[str, Any] = {name: one for name, one in wanted.items() if one is not None}
        if states is not None:
            where["state"] = tuple(states)
        return self._records(Submission, **where)

    def submission(self, tag: str | int) -> Submission | None:
        """Return the newest submission with a tag, in whatever state and case, or one by its id."""
        if isinstance(tag, int):
            return next(iter(self._records(Submission, id=tag)), None)
        found = self._records(Submission, tag=tag)
        return next((one for one in found if one.state == ACCEPTED), found[-1] if found else None)

    def faults(self, submission_id: int, *, private: bool = False) -> tuple[Fault, ...]:
        """Return what the check found in a submission, warnings too.

        What only the organisers may see, since it tells of other teams, has to be asked for.
        """
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT code, severity, message, line, topic, doc, count FROM fault "
                "WHERE submission = ? AND (severity <> ? OR ?) ORDER BY number",
                (submission_id, PRIVATE, private),
            )
            return tuple(Fault(**dict(row)) for row in rows)

    def judgments(self, task: str | None = None) -> tuple[Judgments, ...]:
        """Return the versions of judgments, the oldest first."""
        return self._records(Judgments, **_of_task(task))

    def score_files(self, task: str | None = None) -> tuple[ScoreFile, ...]:
        """Return the files of scores, the oldest first."""
        return self._records(ScoreFile, **_of_task(task))

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return the releases, the oldest first."""
        return self._records(ReleaseRecord)

    def events(self) -> tuple[Event, ...]:
        """Return the chain of events."""
        return self._records(Event)

    def rules_files(self) -> dict[str, str]:
        """Return the SHA-256 of the files of the rules as they were last used, by path."""
        with self._connected() as connection:
            row = connection.execute(
                "SELECT details FROM event WHERE action = 'rules' ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        return {} if row is None else dict(json.loads(row["details"])["about"])

    def _records(self, kind: type[Any], **where: Any) -> tuple[Any, ...]:
        # Names of columns come from the code, values never become text of SQL.
        table = TABLES[kind]
        terms: list[str] = []
        values: list[Any] = []
        for column, value in where.items():
            if isinstance(value, tuple):
                terms.append(f"{column} IN ({', '.join('?' * len(value))})")
                values.extend(value)
            else:
                terms.append("lower(tag) = lower(?)" if column == "tag" else f"{column} = ?")
                values.append(value)
        condition = f"WHERE {' AND '.join(terms)}" if terms else ""
        query = f"SELECT * FROM {table.name} {condition} ORDER BY {table.order}"
        with self._connected() as connection:
            return tuple(table.record(row) for row in connection.execute(query, values))


def _of_task(task: str | None) -> dict[str, str]:
    return {} if task is None else {"task": task}
