"""The keys of campaign.toml: what each may be, and which field of the rules it becomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.base.errors import quoted
from cranfield.base.words import did_you_mean
from cranfield.campaign.checks.catalogue import CODES
from cranfield.campaign.rules import kinds_of_value as kinds
from cranfield.campaign.rules.kinds_of_value import Kind, WrongValueError
from cranfield.campaign.rules.task_rules import MetadataRules, PoolRules, Question


@dataclass(frozen=True)
class Key:
    """One key: its kind of value, and where it goes.

    Attributes
    ----------
    field
        The field, where it has another name than the key.
    code
        The kind of fault whose severity it is; it goes to `severities`.
    private
        Whether participants do not get it.
    """

    kind: Kind
    field: str = ""
    code: str = ""
    private: bool = False


Keys = Mapping[str, Key]

POOL: Keys = {
    "depth": Key(kinds.whole),
    "priorities": Key(kinds.list_of(kinds.whole)),
}
METADATA: Keys = {
    "required": Key(kinds.list_of(kinds.line)),
    "placeholders": Key(kinds.list_of(kinds.line)),
}
QUESTION: Keys = {
    "ask": Key(kinds.line),
    "choices": Key(kinds.list_of(kinds.line)),
    "required": Key(kinds.truth),
}
JUDGING: Keys = {
    "compat": Key(kinds.line),
    "ties": Key(kinds.line),
    "topics": Key(kinds.line),
    "unjudged": Key(kinds.line),
    "negative": Key(kinds.line),
    "depth": Key(kinds.whole),
}
DOCUMENTS: Keys = {"pattern": Key(kinds.pattern)}


def _made(keys: Keys, make: type) -> Kind:
    return lambda value: make(**fields_of(keys, value))


def _questions(value: Any) -> dict[str, Question]:
    asked = kinds.table_of(lambda one: fields_of(QUESTION, one), kinds.name)(value)
    for name, fields in asked.items():
        if "ask" not in fields:
            raise WrongValueError("has no ask", name)
    return {name: Question(name=name, **fields) for name, fields in asked.items()}


def _documents(value: Any) -> Any:
    if not isinstance(value, dict):
        return kinds.file(value)
    fields = fields_of(DOCUMENTS, value)
    if not fields:
        raise WrongValueError("has no pattern")
    return fields


def _code(value: Any) -> str:
    code = kinds.text(value)
    if code not in CODES:
        raise WrongValueError(unknown(code, CODES).replace("key", "kind of fault"))
    if CODES[code].fixed:
        raise WrongValueError("is always an error: a run with it cannot be read")
    return code


TASK: Keys = {
    "title": Key(kinds.line),
    "topics": Key(kinds.topics),
    "documents": Key(_documents),
    "exclude": Key(kinds.file),
    "tag": Key(kinds.pattern),
    "format": Key(kinds.one_of("trec", "ntcir")),
    "max_per_topic": Key(kinds.whole),
    "missing_topics": Key(kinds.severity, code="topic-missing"),
    "unknown_topics": Key(kinds.severity, code="topic-unknown"),
    "fewer_than_max": Key(kinds.severity, code="too-few"),
    "second_column": Key(kinds.one_or_more(kinds.line)),
    "rank": Key(kinds.one_of("integer", "order", "off")),
    "tied": Key(kinds.share),
    "severities": Key(kinds.table_of(kinds.severity, _code)),
    "max_bytes": Key(kinds.whole, field="most_bytes"),
    "max_unpacked_bytes": Key(kinds.whole, field="most_unpacked"),
    "opens": Key(kinds.time),
    "closes": Key(kinds.time),
    "late": Key(kinds.one_of("mark", "refuse")),
    "runs_per_team": Key(kinds.whole),
    "runs_per_day": Key(kinds.whole),
    "types": Key(kinds.list_of(kinds.line)),
    "priorities": Key(kinds.whole),
    "pool": Key(_made(POOL, PoolRules)),
    "measures": Key(kinds.list_of(kinds.line, least=1)),
    "judging": Key(lambda value: fields_of(JUDGING, value)),
    "categories": Key(kinds.list_of(kinds.line)),
    "min_category": Key(kinds.whole),
    "median": Key(kinds.one_of("better", "average")),
    "feedback": Key(kinds.one_of("none", "means", "sheets")),
    "metadata": Key(_made(METADATA, MetadataRules)),
    "questions": Key(_questions),
}
"""Of a task: `[tasks.NAME]`."""

CAMPAIGN: Keys = {
    "id": Key(kinds.name),
    "title": Key(kinds.line),
    "description": Key(kinds.text),
    "consent": Key(kinds.text),
    "keep_refused": Key(kinds.truth, private=True),
}
"""Of the campaign: `[campaign]`."""

FILES = ("topics", "documents", "exclude")
"""The fields of a task that name files."""


def fields_of(keys: Keys, value: Any) -> dict[str, Any]:
    """Check a table key by key; what comes out are the fields of what it stands for."""
    fields: dict[str, Any] = {}
    severities: dict[str, str] = {}
    for name, given in kinds.table(value).items():
        key = keys.get(name)
        if key is None:
            raise WrongValueError(unknown(name, keys), name)
        try:
            made = key.kind(given)
        except WrongValueError as error:
            raise WrongValueError(error.reason, name, *error.path) from None
        if key.code:
            severities[key.code] = made
        elif name == "documents" and isinstance(made, dict):
            fields["document_pattern"] = made["pattern"]
        else:
            fields[key.field or name] = made
    for code in severities:
        if code in fields.get("severities", ()):
            raise WrongValueError("has a key of its own, which says it too", "severities", code)
    if severities:
        fields["severities"] = severities | fields.get("severities", {})
    return fields


def unknown(name: str, known: Mapping[str, Any]) -> str:
    """Say that there is no such name, and which was meant."""
    meant = did_you_mean(name, known, 1, otherwise=f"there are {', '.join(known)}")
    return f"there is no key {quoted(name)}{meant}"
