"""YAML as a tree of text, read event by event, so that no file can take memory or time for ever.

Scalars are text, whatever they look like: a tag `1`, a commit `8e12345`, `yes`, `010` and dates
stay what is written; the schema of metadata says what they mean. Aliases are followed, and what
they repeat counts each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.base.escape import plain

DEEPEST = 50
"""Tables and lists within each other."""

MOST_NODES = 100_000
"""Keys and values, those that aliases repeat counted each time."""

_OPENED = re.compile(r"(?:[\[{] *){200}")
"""Brackets in a row, over which the parser bends for up to a second before it tells their depth."""

TRUTHS = {
    word: truth
    for truth, words in ((True, "true yes on"), (False, "false no off"))
    for word in words.split()
}

_NULLS = {"", "~", "null", "Null", "NULL"}
_STANDARD = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class Yaml:
    """A mapping that was read, and the keys that stood twice in one mapping: the last counts."""

    values: dict[str, Any]
    twice: tuple[str, ...] = ()


def read_yaml(text: str, source: str, first_line: int = 1) -> Yaml:
    """Read one mapping; an InputError of one line says what is invalid, too deep or too large."""
    return _Reader(source, first_line).read(text)


@dataclass
class _Node:
    """A value with what counts: how many nodes it has and how deep it is."""

    value: Any
    nodes: int = 1
    depth: int = 0


@dataclass
class _Reader:
    source: str
    first_line: int
    nodes: int = 0
    depth: int = 0
    anchors: dict[str, _Node | None] = field(default_factory=dict)
    twice: list[str] = field(default_factory=list)

    def read(self, text: str) -> Yaml:
        # Loaded only where there is metadata.
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        if opened := _OPENED.search(text):
            line = self.first_line + text.count("\n", 0, opened.start())
            raise InputError("has 200 opening brackets in a row", source=self.source, line=line)
        try:
            value = self._document(YAML(typ="base", pure=True).parse(text))
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            reason = error.problem or error.context or "for an unknown reason"
            raise self._wrong(f"is no valid YAML: {plain(reason[:80])}", mark) from None
        except YAMLError as error:
            reason = (str(error).splitlines() or [""])[0]
            raise self._wrong(f"is no valid YAML: {plain(reason[:80])}", None) from None
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self._wrong("is no mapping of keys to values", None)
        return Yaml(value, tuple(self.twice))

    def _wrong(self, reason: str, mark: Any) -> InputError:
        line = None if mark is None else self.first_line + mark.line
        return InputError(reason, source=self.source, line=line)

    def _document(self, events: Iterator[Any]) -> Any:
        value: Any = None
        documents = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._wrong("holds several documents", event.start_mark)
                value = self._node(next(events), events).value
        return value

    def _node(self, event: Any, events: Iterator[Any]) -> _Node:
        """Take a node, and all within it."""
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._alias(event)
        before = self.nodes
        self._count(1, event)
        if event.anchor is not None:
            # Within itself, it has no end.
            self.anchors[event.anchor] = None
        if kind == "ScalarEvent":
            node = _Node(self._scalar(event))
        else:
            self.depth += 1
            if self.depth > DEEPEST:
                raise self._wrong(f"is nested deeper than {DEEPEST}", event.start_mark)
            is_list = kind == "SequenceStartEvent"
            self._check_tag(event, ("seq",) if is_list else ("map",))
            make = self._list if is_list else self._mapping
            node = make(events)
            self.depth -= 1
        node.nodes = self.nodes - before
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _count(self, nodes: int, event: Any) -> None:
        self.nodes += nodes
        if self.nodes > MOST_NODES:
            raise self._wrong(f"has more than {MOST_NODES:,} values", event.start_mark)

    def _alias(self, event: Any) -> _Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            within = "stands within what it names" if event.anchor in self.anchors else "is unknown"
            raise self._wrong(f"alias {quoted(event.anchor)} {within}", event.start_mark)
        self._count(node.nodes, event)
        if self.depth + node.depth > DEEPEST:
            raise self._wrong(f"is nested deeper than {DEEPEST}", event.start_mark)
        return _Node(node.value, node.nodes, node.depth)

    def _list(self, events: Iterator[Any]) -> _Node:
        values, depth = [], 0
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            node = self._node(event, events)
            values.append(node.value)
            depth = max(depth, node.depth)
        return _Node(values, depth=depth + 1)

    def _mapping(self, events: Iterator[Any]) -> _Node:
        values: dict[str, Any] = {}
        depth = 0
        while type(event := next(events)).__name__ != "MappingEndEvent":
            mark = event.start_mark
            key = self._node(event, events).value
            if isinstance(key, (list, dict)):
                raise self._wrong("has a key that is no text", mark)
            name = str(getattr(event, "value", key))
            if name == "<<" and getattr(event, "style", None) is None:
                raise self._wrong("has a merge key '<<', which is not read", mark)
            if name in values:
                self.twice.append(
                    f"line {self.first_line + mark.line}: {quoted(name)} is twice in one mapping;"
                    " the last one counts"
                )
            node = self._node(next(events), events)
            values[name] = node.value
            depth = max(depth, node.depth)
        return _Node(values, depth=depth + 1)

    def _scalar(self, event: Any) -> Any:
        text = str(event.value)
        kind = self._check_tag(event, ("str", "bool", "null", "int", "float"))
        try:
            if kind == "bool":
                return TRUTHS[text.lower()]
            if kind == "null" or (kind == "" and event.style is None and text in _NULLS):
                return None
            return _NUMBERS[kind](text) if kind in _NUMBERS else text
        except (KeyError, ValueError):
            reason = f"{quoted(text)} is no value of !!{kind}"
            raise self._wrong(reason, event.start_mark) from None

    def _check_tag(self, event: Any, allowed: tuple[str, ...]) -> str:
        tag = "" if event.tag is None else str(event.tag)
        if tag in ("", "!"):
            return "" if not tag else "str"
        kind = tag.removeprefix(_STANDARD)
        if kind == tag or kind not in allowed:
            raise self._wrong(f"has the tag {quoted(tag)}, which is not read", event.start_mark)
        return kind


_NUMBERS: dict[str, Any] = {"int": lambda text: int(text.replace("_", "")), "float": float}
