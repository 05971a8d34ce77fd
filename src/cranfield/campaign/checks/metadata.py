"""Check the metadata of a run, and remove private values from it."""

from __future__ import annotations

import re
import warnings
from typing import Any

from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.campaign.checks.report import Faults
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.metadata.metadata import Metadata
from cranfield.collection.metadata.reading import MetadataPlace

PRIVATE_KEYS = ("actor.mail", "implementation.source.archive.path", "implementation.script.path")
"""Metadata keys that are not published."""

PERSONAL_KEYS = ("actor", "implementation.source", "research goal.publication")
"""Metadata keys whose values identify people."""

_LOCAL_PATH = re.compile(
    r"(?<![\w.:/])~?/[\w.~+-]+/"  # /home/me, not http://a/b
    r"|(?<!\w)[A-Za-z]:[\\/](?!/)|\\\\\w|file:/|(?<!\w)(?:/root|~)(?:/|\b)"
)
_MAIL_ADDRESS = re.compile(r"(?<=[^\s@<>])@[^\s@<>]+\.\w")


def check_metadata(
    source: MetadataPlace, task: TaskRules, tag: str | None, faults: Faults
) -> Metadata | None:
    """Check and return the metadata of a run; without rules, it only has to be readable."""
    line = None if source.header is None else source.header.line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)
            metadata = source.read()
    except InputError as error:
        error_line = None if line is None else error.line
        faults.add("metadata-yaml", f"ir_metadata: {error.reason}", error_line)
        return None
    rules = task.metadata
    if metadata is None:
        if rules is not None and rules.required:
            reason = f"missing; required keys: {', '.join(rules.required)}"
            faults.add("metadata-missing", f"ir_metadata: {reason}", line)
        return None
    for reason in metadata.twice:
        faults.add("metadata-twice", f"ir_metadata: {reason}", line)
    if rules is None:
        return metadata
    for problem in metadata.problems(rules.required, rules.placeholders):
        faults.add(f"metadata-{problem.kind}", f"ir_metadata: {problem}", line)
    metadata_tag = metadata.get("tag")
    if metadata_tag is not None and tag is not None and metadata_tag != tag:
        message = (
            f"ir_metadata: tag is {quoted(metadata_tag)}, but the run has the tag {quoted(tag)}"
        )
        faults.add("metadata-tag", message, line)
    return metadata


def public_metadata(
    metadata: Metadata, *, consent_mail: bool = False, anonymous: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    """Return the public part of metadata, as YAML, and the keys that were removed.

    Comments are removed, the keys of mail addresses and local paths, and all values that look like
    an address or a path. Other values are kept, so private information may remain.

    Parameters
    ----------
    metadata
        The metadata of a run.
    consent_mail
        Whether mail addresses may be published.
    anonymous
        Whether to remove the keys that identify people, too.

    Examples
    --------
    >>> from cranfield.collection import read_metadata
    >>> about = read_metadata(b"actor: {team: a, mail: me@a.org}\\nmethod: {name: /home/me/bm25}")
    >>> public_metadata(about)
    (b'actor:\\n  team: a\\n', ('actor.mail', 'method.name'))
    """
    private_keys = {*PRIVATE_KEYS} - ({"actor.mail"} if consent_mail else set())
    if anonymous:
        private_keys |= {*PERSONAL_KEYS}
    removed_keys: dict[str, None] = {}
    removed = object()

    def is_private(text: str) -> bool:
        return bool(_LOCAL_PATH.search(text)) or (
            not consent_mail and bool(_MAIL_ADDRESS.search(text))
        )

    def public(value: Any, path: str) -> Any:
        if path in private_keys or (isinstance(value, str) and is_private(value)):
            removed_keys[path] = None
            return removed
        if not value or not isinstance(value, (dict, list)):
            return value
        if isinstance(value, list):
            items = [public(item, path) for item in value]
            return [item for item in items if item is not removed] or removed
        values = {}
        for key, item in value.items():
            if is_private(str(key)):
                removed_keys[path or "a key"] = None
                continue
            public_value = public(item, f"{path}.{key}" if path and key else path or str(key))
            if public_value is not removed:
                values[key] = public_value
        return values or removed

    values = public(metadata.values, "")
    return Metadata({} if values is removed else values).to_yaml().encode(), tuple(removed_keys)
