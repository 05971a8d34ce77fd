"""The rows of the registry: teams, submissions, judgments, files of scores, releases, events."""

from __future__ import annotations

from dataclasses import dataclass, field

ACCEPTED, REFUSED, REPLACED, WITHDRAWN = "accepted", "refused", "replaced", "withdrawn"
"""The states of a submission."""


@dataclass(frozen=True)
class Team:
    """A team; its contact never leaves the registry."""

    id: str
    name: str
    created: str
    contact: str = field(default="", repr=False)
    anonymous_until: str | None = None


@dataclass(frozen=True)
class Submission:
    """A run as it was handed in; times are UTC, such as 2026-08-15T23:59:59Z.

    Attributes
    ----------
    object
        SHA-256 of the bytes as handed in; their file in `objects/` is called so.
    ranking
        SHA-256 of topics and documents in order, without tag: the same under another name.
    rules
        SHA-256 of campaign.toml and the files that it names, by which the run was checked.
    answers, metadata
        To the task's questions, by name; what the run says of itself, as YAML text.
    kept
        Whether its bytes are in `objects/`; those of purged runs, and of refused ones, are not.
    """

    id: int
    task: str
    team: str
    tag: str
    object: str
    bytes: int
    received: str
    state: str
    type: str = ""
    priority: int | None = None
    answers: dict[str, str] = field(default_factory=dict)
    metadata: str | None = None
    description: str = ""
    ranking: str | None = None
    rules: str = ""
    source: str = ""
    late: bool = False
    pooled: bool = False
    reason: str = ""
    replaced_by: int | None = None
    kept: bool = True


@dataclass(frozen=True)
class Judgments:
    """A version of a task's judgments, which never changes."""

    task: str
    version: str
    object: str
    rows: int
    added: str
    note: str = ""


@dataclass(frozen=True)
class ScoreFile:
    """A file of scores, derived and cached; `key` is the SHA-256 of all that they come from.

    `path` is from the campaign's folder, with `/`, such as `scores/ab12.parquet`.
    """

    key: str
    task: str
    judgments: str
    path: str
    sha256: str
    about: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReleaseRecord:
    """A release: a folder that never changes.

    Attributes
    ----------
    path
        From the campaign's folder, with `/`, such as `releases/adhoc-1`.
    manifest, retraction
        SHA-256 of its tag manifest; of the note beside it that says that it was retracted.
    """

    id: str
    task: str
    created: str
    judgments: str
    path: str
    manifest: str
    state: str = "released"
    reason: str = ""
    retraction: str | None = None


@dataclass(frozen=True)
class Event:
    """A link of the chain of events; `sha256` covers the event and that before it."""

    seq: int
    at: str
    actor: str
    action: str
    subject: str
    details: str
    previous: str
    sha256: str
