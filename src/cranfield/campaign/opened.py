"""An opened campaign folder: its rules and its registry, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from cranfield.base.errors import PolicyError, quoted

if TYPE_CHECKING:
    from cranfield.campaign.rules.task_rules import Rules
    from cranfield.campaign.store.registry import Registry

PathName = str | PathLike[str]


class Opened:
    """What all that is done with a campaign starts from: folder, rules, registry, clock, actor."""

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
        self.unreadable: dict[int, str] = {}
        """Accepted runs that could not be read since it was opened: the reason by submission id."""

    @cached_property
    def rules(self) -> Rules:
        """The rules in campaign.toml."""
        from cranfield.campaign.rules.reading import read_rules

        return read_rules(self.folder)

    @cached_property
    def registry(self) -> Registry:
        """Who, what, when: teams, submissions, judgments, releases, events."""
        from cranfield.campaign.store.registry import Registry

        # Rules that were read are used; a change that is made by new ones records them.
        return Registry(
            self.folder,
            actor=self.actor,
            clock=self.clock,
            rules=lambda: self.rules.files if "rules" in self.__dict__ else None,
        )

    def outside(self, path: PathName) -> Path:
        """Return a path for what leaves the campaign; refuse those in its folder."""
        target = Path(fspath(path))
        if target.resolve().is_relative_to(self.folder.resolve()):
            raise PolicyError(
                f"{quoted(str(path))} lies in the campaign's folder, which is private"
            )
        return target
