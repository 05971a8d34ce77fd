"""The rules of a campaign and of its tasks, as they were read from campaign.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cranfield.base.errors import PolicyError, quoted


@dataclass(frozen=True)
class Question:
    """What participants are asked about a run; `choices` is empty where any text will do."""

    name: str
    ask: str
    choices: tuple[str, ...] = ()
    required: bool = False


@dataclass(frozen=True)
class MetadataRules:
    """Which metadata a run must carry, by dotted path, and which values are no answers."""

    required: tuple[str, ...] = ()
    placeholders: tuple[str, ...] = ()


@dataclass(frozen=True)
class PoolRules:
    """Which runs are pooled, by priority (all where there is none), and to which depth."""

    depth: int = 100
    priorities: tuple[int, ...] = ()


@dataclass(frozen=True)
class TaskRules:
    """The rules of one task; paths are those of this machine, times know their offset.

    Attributes
    ----------
    topics
        A file, or `irds:...`; :func:`cranfield.campaign.rules.topics.topic_ids` reads them.
    severities
        What becomes of each kind of fault that the rules speak of: `error`, `warning` or `off`,
        by the code of the fault; kinds that are not in it have their default.
    tied
        Share of tied documents above which there is a warning, 0 to 1.
    measures
        Text forms; the first one decides the order of boards.
    judging
        Options of :func:`cranfield.judge`, such as `{"ties": "trec"}`.
    """

    name: str
    title: str = ""
    topics: Path | str | None = None
    documents: Path | None = None
    document_pattern: str | None = None
    exclude: Path | None = None
    tag: str = "[A-Za-z0-9_.-]{1,20}"
    format: str = "trec"
    max_per_topic: int | None = 1000
    second_column: tuple[str, ...] = ()
    rank: str = "integer"
    tied: float = 0.2
    severities: Mapping[str, str] = field(default_factory=dict)
    opens: datetime | None = None
    closes: datetime | None = None
    late: str = "refuse"
    runs_per_team: int | None = None
    runs_per_day: int | None = None
    most_bytes: int = 200_000_000
    most_unpacked: int = 200_000_000
    types: tuple[str, ...] = ()
    priorities: int | None = None
    pool: PoolRules | None = None
    measures: tuple[str, ...] = ("AP",)
    judging: Mapping[str, str | int] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    min_category: int = 3
    median: str = "better"
    feedback: str = "none"
    metadata: MetadataRules | None = None
    questions: Mapping[str, Question] = field(default_factory=dict)


@dataclass(frozen=True)
class Rules:
    """The rules of a campaign.

    Attributes
    ----------
    files
        SHA-256 of campaign.toml and of each file that it names, by path relative to the folder;
        what a submission was checked by is told by them.
    """

    id: str
    title: str
    tasks: Mapping[str, TaskRules]
    consent: str = ""
    description: str = ""
    keep_refused: bool = False
    source: str = "campaign.toml"
    files: Mapping[str, str] = field(default_factory=dict)

    def task(self, name: str | None = None) -> TaskRules:
        """Return a task by name; where there is only one, it needs no name."""
        if name is None:
            if len(self.tasks) == 1:
                return next(iter(self.tasks.values()))
            raise PolicyError(f"which task is meant? there are {', '.join(self.tasks)}")
        if name not in self.tasks:
            raise PolicyError(f"there is no task {quoted(name)}; there are {', '.join(self.tasks)}")
        return self.tasks[name]
