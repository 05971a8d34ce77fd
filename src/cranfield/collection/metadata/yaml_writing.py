"""YAML that every reader of it reads back as the same tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cranfield.collection.metadata.yaml_tree import TRUTHS

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_WORDS = {*TRUTHS, "null", "y", "n", "nan", "inf"}


def yaml_text(values: Mapping[str, Any]) -> str:
    """Write a mapping; text stands in quotes wherever some reader could take it for another thing.

    Examples
    --------
    >>> print(yaml_text({"tag": "1", "actor": {"team": "padua", "fields": ["IR", "no"]}}), end="")
    tag: "1"
    actor:
      team: padua
      fields:
        - IR
        - "no"
    """
    return "".join(f"{line}\n" for line in _lines(values, "")) or "{}\n"


def _lines(value: Any, indent: str) -> list[str]:
    lines = []
    pairs = (
        [(f"{_scalar(str(key))}:", one) for key, one in value.items()]
        if isinstance(value, Mapping)
        else [("-", one) for one in value]
    )
    for head, one in pairs:
        if isinstance(one, (Mapping, list)) and one:
            lines += [f"{indent}{head}", *_lines(one, indent + "  ")]
        else:
            lines.append(f"{indent}{head} {_scalar(one)}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return f"!!bool {str(value).lower()}"
    if value is None:
        return "null"
    if isinstance(value, (int, float)):
        return f"!!{'int' if isinstance(value, int) else 'float'} {value!r}"
    if isinstance(value, (Mapping, list)):
        return "{}" if isinstance(value, Mapping) else "[]"
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter == "\n":
        return "\\n"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
