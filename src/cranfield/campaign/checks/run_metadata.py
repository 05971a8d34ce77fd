"""Metadata of runs: what a task asks of them, and what of them may be published."""

from __future__ import annotations

import re
import warnings
from typing import Any

from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.campaign.checks.catalogue import fault
from cranfield.campaign.checks.report import Fault
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.metadata.metadata import Metadata
from cranfield.collection.metadata.reading import MetadataPlace

PRIVATE = ("actor.mail", "implementation.source.archive.path", "implementation.script.path")
"""Keys that are not published."""

OF_PEOPLE = ("actor", "implementation.source", "research goal.publication")
"""Keys that tell who they are."""

_PLACE = re.compile(
    r"(?<![\w.:/])~?/[\w.~+-]+/"  # /home/me, not http://a/b
    r"|(?<!\w)[A-Za-z]:[\\/](?!/)|\\\\\w|file:/|(?<!\w)(?:/root|~)(?:/|\b)"
)
_MAIL = re.compile(r"(?<=[^\s@<>])@[^\s@<>]+\.\w")


def metadata_faults(place: MetadataPlace, task: TaskRules, tag: str | None) -> list[Fault]:
    """Check what a run says of itself, by the rules of the task.

    Parameters
    ----------
    place
        Where it says so: its header, or a file beside it.
    task
        The rules; where they ask for no metadata, these only have to be readable.
    tag
        The run's.
    """
    line = None if place.header is None else place.header.line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)
            metadata = place.read()
    except InputError as error:
        at = None if line is None else error.line
        return [fault("metadata-yaml", task, line=at, reason=error.reason)]
    found: list[tuple[str, str]] = []
    if metadata is not None:
        found += [("metadata-twice", said) for said in metadata.twice]
    if task.metadata is not None:
        found += _asked(metadata, task, tag)
    return [fault(code, task, line=line, reason=reason) for code, reason in found]


def _asked(metadata: Metadata | None, task: TaskRules, tag: str | None) -> list[tuple[str, str]]:
    rules = task.metadata
    if rules is None:
        return []
    if metadata is None:
        wanted = ", ".join(rules.required)
        return [("metadata-missing", f"there is none; wanted are {wanted}")] if wanted else []
    problems = metadata.problems(rules.required, rules.placeholders)
    found = [(f"metadata-{problem.kind}", str(problem)) for problem in problems]
    said = metadata.get("tag")
    if said is not None and tag is not None and said != tag:
        found.append(("metadata-tag", f"tag {quoted(said)}, and the run has {quoted(tag)}"))
    return found


def public_metadata(
    metadata: Metadata, *, consent_mail: bool = False, anonymous: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    """Return what may be published of metadata, as YAML, and the keys that were dropped.

    Comments are dropped, the keys that hold addresses and paths of machines, and whatever value
    looks like either of them. What looks otherwise is kept: it is no proof that nothing is told.

    Parameters
    ----------
    metadata
        What a run says of itself.
    consent_mail
        Whether addresses may be published.
    anonymous
        Whether to drop the keys that tell who the people are, too.

    Examples
    --------
    >>> from cranfield.collection import read_metadata
    >>> about = read_metadata(b"actor: {team: a, mail: me@a.org}\\nmethod: {name: /home/me/bm25}")
    >>> public_metadata(about)
    (b'actor:\\n  team: a\\n', ('actor.mail', 'method.name'))
    """
    private = [path for path in PRIVATE if not (consent_mail and path == "actor.mail")]
    if anonymous:
        private += OF_PEOPLE
    dropped: dict[str, None] = {}
    values = _public(metadata.values, "", private, consent_mail, dropped)
    return Metadata(values or {}).to_yaml().encode(), tuple(dropped)


_GONE = object()


def _public(
    value: Any, path: str, private: list[str], consent_mail: bool, dropped: dict[str, None]
) -> Any:
    """Copy what may be published; what is empty then is gone."""
    if path in private:
        dropped[path] = None
        return _GONE
    if isinstance(value, (dict, list)):
        entries = value.items() if isinstance(value, dict) else [("", one) for one in value]
        made = []
        for key, one in entries:
            below = f"{path}.{key}" if path and key else path or str(key)
            if _tells(str(key), consent_mail):
                dropped[path or "a key"] = None
                continue
            kept = _public(one, below, private, consent_mail, dropped)
            if kept is not _GONE:
                made.append((key, kept))
        if value and not made:
            return _GONE if path else {}
        return dict(made) if isinstance(value, dict) else [one for _, one in made]
    if isinstance(value, str) and _tells(value, consent_mail):
        dropped[path] = None
        return _GONE
    return value


def _tells(text: str, consent_mail: bool) -> bool:
    return bool(_PLACE.search(text)) or (not consent_mail and bool(_MAIL.search(text)))
