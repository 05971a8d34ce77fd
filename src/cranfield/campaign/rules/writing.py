"""Rules as TOML: what participants get, read back as the same rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from cranfield.campaign.rules.keys import CAMPAIGN, METADATA, POOL, QUESTION, TASK, Keys
from cranfield.campaign.rules.task_rules import MetadataRules, PoolRules, Question, Rules, TaskRules

_KEYS: dict[type, Keys] = {
    Rules: CAMPAIGN,
    TaskRules: TASK,
    PoolRules: POOL,
    MetadataRules: METADATA,
    Question: QUESTION,
}


def rules_text(rules: Rules, folder: Path, tasks: Iterable[str] | None = None) -> str:
    """Write the public part of rules: all but the keys that are private.

    Parameters
    ----------
    rules
        The rules of a campaign.
    folder
        Where the files that they name are.
    tasks
        Names of the tasks to write; all where there are none.
    """
    lines = ["[campaign]", *_lines(rules, folder)]
    for name in rules.tasks if tasks is None else tasks:
        lines += ["", f"[tasks.{_key(name)}]", *_lines(rules.task(name), folder)]
    return "".join(f"{line}\n" for line in lines)


def _lines(holder: Any, folder: Path) -> list[str]:
    return [f"{_key(name)} = {_value(value, folder)}" for name, value in _pairs(holder)]


def _pairs(holder: Any) -> Iterator[tuple[str, Any]]:
    """Go through the keys of what rules are made of, and those values that say something."""
    left = dict(getattr(holder, "severities", {}))
    for name, key in _KEYS[type(holder)].items():
        if key.private:
            continue
        value = left.pop(key.code, None) if key.code else getattr(holder, key.field or name)
        if name == "severities":
            # Those that have no key of their own.
            own = {one.code for one in TASK.values()}
            value = {code: one for code, one in left.items() if code not in own}
        if name == "documents" and holder.document_pattern is not None:
            value = {"pattern": holder.document_pattern}
        if value is not None and value not in ("", (), {}):
            yield name, value


def _value(value: Any, folder: Path) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return _text(value.relative_to(folder).as_posix())
    if isinstance(value, tuple):
        return f"[{', '.join(_value(one, folder) for one in value)}]"
    if type(value) in _KEYS:
        value = dict(_pairs(value))
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_value(one, folder)}" for name, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    return _text(str(value))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
