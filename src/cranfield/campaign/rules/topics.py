"""Ids of a task's topics, from every supported format of topics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cranfield.base.errors import InputError, import_optional, quote
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.sources.chunks import Source
from cranfield.sources.schemas import fold_name
from cranfield.sources.text import decode_text, parse_json, parse_json_lines, read_xml, split_lines

ID_NAMES = ("number", "num", "id", "_id", "qid", "query_id", "topic_id", "topic", "identifier")
"""Names of the field with the id of a topic in XML and JSON; text must not have such a header."""

_NUM = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]*)", re.IGNORECASE)


def read_topic_ids(task: TaskRules) -> tuple[str, ...] | None:
    """Return the ids of a task's topics in the order of the file; None if the rules name no topics.

    Formats: text, with an id as the first word of each line, except comment lines (`#`); TREC, with
    `<num> Number: 401`; XML, with `<topic number="401">` or, as in CLEF,
    `<topic><identifier>401</identifier>`; JSON (`.json`), as an object by id or a list of objects
    or ids; and JSON lines (`.jsonl`, `.ndjson`). Files may be compressed. `irds:...` names the
    topics of a dataset of ir_datasets.

    Raises
    ------
    InputError
        For a file without topics, with an invalid or duplicate id, or that cannot be read.
    """
    if task.topics is None:
        return None
    name = task.topics.name if isinstance(task.topics, Path) else task.topics
    lines_by_topic: dict[str, int | None] = {}
    try:
        for topic, line in _iterate_ids_and_lines(task.topics):
            if not topic or re.search(r"\s", topic):
                reason = f"a topic id must be text without blanks, got {quote(topic)}"
                raise InputError(reason, line=line)
            if topic in lines_by_topic:
                first_line = lines_by_topic[topic]
                suffix = f", first in line {first_line}" if first_line else ""
                raise InputError(f"duplicate topic {quote(topic)}{suffix}", line=line)
            lines_by_topic[topic] = line
    except InputError as error:
        # The path on the organisers' machine is private.
        raise InputError(error.reason, source=name, line=error.line) from error
    if not lines_by_topic:
        raise InputError("expected at least one topic, got none", source=name)
    return tuple(lines_by_topic)


def _iterate_ids_and_lines(topics: Path | str) -> Iterator[tuple[str, int | None]]:
    if isinstance(topics, str):
        yield from ((topic, None) for topic in _load_irds_topics(topics))
        return
    source = Source(str(topics))
    content = decode_text(source.read(), source.name)
    first_character = content.lstrip()[:1]
    if source.suffix in (".csv", ".parquet"):
        raise InputError("is not a supported format of topics; write one topic id per line")
    if source.suffix in (".jsonl", ".ndjson"):
        for entry, line in zip(*parse_json_lines(content, source.name), strict=True):
            yield _find_topic_id(entry, line), line
    elif first_character in ("{", "[") and source.suffix == ".json":
        entries = parse_json(content, source.name)
        for entry in entries:
            yield (entry if isinstance(entries, dict) else _find_topic_id(entry)), None
    elif first_character == "<" and (matches := list(_NUM.finditer(content))):
        for match in matches:
            yield match[1], content.count("\n", 0, match.start()) + 1
    elif first_character == "<":
        yield from _parse_xml(source)
    else:
        yield from _parse_lines(content)


def _parse_lines(content: str) -> Iterator[tuple[str, int]]:
    """Yield the first word of each line, without comments; refuse headers."""
    names = {*map(fold_name, ID_NAMES)}
    lines = [item for item in split_lines(content) if not item[1].lstrip().startswith("#")]
    for k, (line, text) in enumerate(lines):
        topic = text.split()[0]
        if k == 0 and len(lines) > 1 and fold_name(topic) in names:
            raise InputError(f"expected a topic id, got the header {quote(topic)}", line=line)
        if len(topic) > 1 and topic.endswith(":"):
            reason = f"expected a topic id and a blank, got {quote(topic)}; remove the colon"
            raise InputError(reason, line=line)
        yield topic, line


def _find_topic_id(entry: Any, line: int | None = None) -> str:
    values = [entry.get(key) for key in ID_NAMES] if isinstance(entry, dict) else [entry]
    for value in values:
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return str(value)
    names = ", ".join(ID_NAMES)
    raise InputError(f"has a topic without an id; expected one of the keys: {names}", line=line)


_TOPIC_TAGS = ("topic", "query", "top")


def _parse_xml(source: Source) -> Iterator[tuple[str, int]]:
    """Yield the ids of topics, from an attribute or an inner element, and their lines."""
    for element in read_xml(source).walk():
        if element.tag.lower() in _TOPIC_TAGS and not element.is_inside(*_TOPIC_TAGS):
            ids = [element.attributes[key] for key in ID_NAMES if key in element.attributes]
            # CLEF has the id in an inner element.
            ids += [child.text for child in element.children if child.tag.lower() in ID_NAMES]
            if not ids:
                reason = f"<{element.tag}> has no id; expected one of: {', '.join(ID_NAMES)}"
                raise InputError(reason, source=source.name, line=element.line)
            yield ids[0].strip(), element.line


def _load_irds_topics(name: str) -> list[str]:
    datasets = import_optional("ir_datasets", "ir-datasets", "'cranfield[irds]'", purpose=name)
    try:
        queries = datasets.load(name.removeprefix("irds:")).queries_iter()
        return [query.query_id for query in queries]
    except (KeyError, AttributeError):
        raise InputError("ir_datasets has no topics of this name") from None
    except (OSError, RuntimeError) as error:
        reason = (str(error).splitlines() or ["for an unknown reason"])[0]
        raise InputError(f"ir_datasets failed: {reason}") from error
