"""The ids of a task's topics, from every form that topics come in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cranfield.base.errors import InputError, optional_module, quoted
from cranfield.campaign.rules.task_rules import TaskRules

ID_NAMES = ("number", "num", "id", "_id", "qid", "query_id", "topic_id", "topic")
"""What the id of a topic is called in XML and JSON."""

_NUM = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]*)", re.IGNORECASE)

Numbered = Iterable[tuple[str, int | None]]


def topic_ids(task: TaskRules) -> tuple[str, ...] | None:
    """Return the ids of a task's topics in the order of the file; None where none are named.

    Topics are the first words of lines; TREC's files with `<num> Number: 401`; XML with
    `<topic number="401">`; JSON, as an object by id or a list of objects; JSON lines; packed or
    not; or those of ir_datasets, `irds:...`.

    Raises
    ------
    InputError
        For a file without topics, a topic that is there twice, and what cannot be read.
    """
    if task.topics is None:
        return None
    if isinstance(task.topics, Path):
        from cranfield.sources.chunks import Source

        source = Source(str(task.topics))
        name = task.topics.name
        try:
            return _once(_found(source), name)
        except InputError as error:
            # Participants are told the name, not the place on the organisers' machine.
            raise InputError(error.reason, source=name, line=error.line) from error
    return _once(((name, None) for name in _of_irds(task.topics)), task.topics)


def _once(found: Numbered, source: str) -> tuple[str, ...]:
    lines: dict[str, int | None] = {}
    for topic, line in found:
        if not topic or re.search(r"\s", topic):
            reason = f"{quoted(topic)} is no topic: runs cannot name it"
            raise InputError(reason, source=source, line=line)
        if topic in lines:
            first = f", first in line {lines[topic]}" if lines[topic] else ""
            raise InputError(
                f"topic {quoted(topic)} is there twice{first}", source=source, line=line
            )
        lines[topic] = line
    if not lines:
        raise InputError("has no topics", source=source)
    return tuple(lines)


def _found(source: Any) -> Iterator[tuple[str, int | None]]:
    from cranfield.sources import text as texts

    name = Path(source.path).name
    content = texts.decoded(source.read(), name)
    start = content.lstrip()[:1]
    if source.suffix in (".csv", ".parquet"):
        raise InputError("is no form of topics; one topic a line is", source=name)
    if source.suffix in (".jsonl", ".ndjson"):
        for entry, line in zip(*texts.json_lines(content, name), strict=True):
            yield _named(entry, name, line), line
    elif start in ("{", "[") and source.suffix == ".json":
        entries = texts.parsed_json(content, name)
        for entry in entries:
            yield (entry if isinstance(entries, dict) else _named(entry, name, None)), None
    elif start == "<" and (numbers := list(_NUM.finditer(content))):
        for found in numbers:
            yield found.group(1), content.count("\n", 0, found.start()) + 1
    elif start == "<":
        yield from _of_xml(source)
    else:
        for line, words in texts.lines_of(content):
            yield words.split()[0], line


def _named(entry: Any, source: str, line: int | None) -> str:
    if isinstance(entry, (str, int)) and not isinstance(entry, bool):
        return str(entry)
    if isinstance(entry, dict):
        for key in ID_NAMES:
            if isinstance(entry.get(key), (str, int)):
                return str(entry[key])
    wanted = ", ".join(ID_NAMES)
    raise InputError(
        f"holds a topic without an id; that is one of {wanted}", source=source, line=line
    )


def _of_xml(source: Any) -> list[tuple[str, int | None]]:
    from cranfield.sources.text import XmlReader

    found: list[tuple[str, int | None]] = []

    class Topics(XmlReader):
        """Every element of a topic that says its number; what stands within is part of it."""

        within = 0

        def start(self, tag: str, attributes: dict[str, str]) -> None:
            """Note the id of an outermost element."""
            self.within += self.within > 0
            if not self.within and tag.lower() in ("topic", "query", "top"):
                self.within = 1
                ids = [attributes[key] for key in ID_NAMES if key in attributes]
                if not ids:
                    raise self.wrong(f"<{tag}> has no id; that is one of {', '.join(ID_NAMES)}")
                found.append((ids[0].strip(), self.parser.CurrentLineNumber))

        def end(self, tag: str) -> None:
            """Leave an element."""
            self.within -= self.within > 0

    Topics(source).parse()
    return found


def _of_irds(name: str) -> list[str]:
    datasets = optional_module("ir_datasets", "ir-datasets", "'cranfield[irds]'", user=name)
    try:
        return [
            query.query_id for query in datasets.load(name.removeprefix("irds:")).queries_iter()
        ]
    except (KeyError, AttributeError):
        raise InputError("ir_datasets has no such topics", source=name) from None
    except (OSError, RuntimeError) as error:
        reason = (str(error).splitlines() or ["for an unknown reason"])[0]
        raise InputError(f"ir_datasets cannot give them: {reason}", source=name) from error
