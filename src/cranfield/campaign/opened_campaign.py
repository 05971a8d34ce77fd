"""An opened campaign folder, whose rules and registry are read when they are needed."""

from __future__ import annotations

import getpass
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import InputError, PolicyError, quote, warn
from cranfield.campaign.rules.task_rules import format_utc
from cranfield.campaign.store.records import REGISTRY
from cranfield.campaign.store.registry import (
    RegistryReader,
    Transaction,
    find_problems,
    open_registry,
)

if TYPE_CHECKING:
    from cranfield.campaign.rules.task_rules import Rules

PathName = str | PathLike[str]


class OpenedCampaign:
    """A campaign's folder with its rules and its registry, as an argument of campaign functions."""

    def __init__(
        self,
        folder: PathName,
        *,
        actor: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder = Path(fspath(folder))
        self.actor = actor
        self.clock = clock
        self.registry = CampaignRegistry(self)
        """Teams, submissions, judgments, releases and events."""
        self.unreadable_runs: dict[int, str] = {}
        """Reasons why accepted runs could not be read, by submission id."""

    @cached_property
    def rules(self) -> Rules:
        """The rules in campaign.toml."""
        from cranfield.campaign.rules.reading import read_rules

        return read_rules(self.folder)

    @property
    def used_rules(self) -> Mapping[str, str] | None:
        """SHA-256 of each file of the rules, by path; None if the rules have not been read."""
        return self.rules.files if "rules" in self.__dict__ else None

    def check_outside(self, path: PathName) -> Path:
        """Check that a path is outside the campaign's folder, and return it."""
        target = Path(fspath(path))
        check_outside(self.folder, target)
        return target


def check_outside(folder: Path, path: Path) -> None:
    """Check that a path is outside a private folder."""
    if path.resolve().is_relative_to(folder.resolve()):
        reason = "path must be outside the campaign's private folder"
        raise PolicyError(f"{reason}, got {quote(str(path))}")


class CampaignRegistry(RegistryReader):
    """The registry of an opened campaign.

    Changes are logged with the campaign's actor and clock. A change of the rules is logged with the
    next change of the registry for which the rules are read.
    """

    def __init__(self, campaign: OpenedCampaign) -> None:
        super().__init__(lambda: open_registry(campaign.folder))
        self._campaign = campaign
        self._verified_stamp: tuple[int, ...] | None = None

    @contextmanager
    def change(
        self, action: str, subject: str = "", details: Mapping[str, Any] | None = None
    ) -> Iterator[Transaction]:
        """Change the registry in one transaction, which is logged as one event.

        Other processes wait until the transaction ends. The registry is first compared with its
        events, unless this object made the last change; a damaged registry is not changed.

        Raises
        ------
        InputError
            If the registry is damaged.
        CranfieldError
            If another process locks the registry for too long.
        """
        with self._connect() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                is_verified = self._verified_stamp == self._read_file_stamp()
                if problems := [] if is_verified else find_problems(connection):
                    raise InputError(problems[0], source=REGISTRY)
                # Keep the lock beyond the commit, until the connection closes.
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                change = Transaction(connection, self._campaign.folder)
                now = format_utc(self._campaign.clock())
                actor = self._campaign.actor or _get_user_name()
                self._record_rules(change, now, actor)
                yield change
                change.append_event(now, actor, action, subject, details or {})
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            change.remove_unneeded_objects()
            self._verified_stamp = self._read_file_stamp()

    def _read_file_stamp(self) -> tuple[int, ...]:
        status = (self._campaign.folder / REGISTRY).stat()
        return (status.st_ino, status.st_size, status.st_mtime_ns)

    def _record_rules(self, change: Transaction, now: str, actor: str) -> None:
        files, previous_files = self._campaign.used_rules, change.get_rules_files()
        if files is None or dict(files) == previous_files:
            return
        change.append_event(now, actor, "rules", "", dict(files))
        if previous_files:
            names = {name for name, _ in {*files.items()} ^ {*previous_files.items()}}
            warn(
                f"the rules changed since they were last used ({', '.join(sorted(names))}); the"
                " change is recorded in the log of events; runs accepted earlier are not checked"
                " again, and packs made earlier are out of date"
            )


def _get_user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
