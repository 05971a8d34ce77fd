"""The rules of a campaign as they were read from campaign.toml, with the topics of its tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import InputError, PolicyError, optional_module, quoted
from cranfield.base.text import counted

if TYPE_CHECKING:
    import polars as pl

LONGEST = 100
"""Characters: suffixes are added to names, and no disk takes more than 255 bytes."""

_PLAIN = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.+=@,~-]{{0,{LONGEST - 1}}}")

_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Devices on Windows, whatever suffix follows."""


def safe_name(name: str) -> bool:
    """Tell whether a name can be that of a file on every disk, and is plain ASCII.

    Examples
    --------
    >>> [safe_name(name) for name in ("bm25.v2", "0", ".hidden", "-o", "CON", "nul.txt", "a.")]
    [True, True, False, False, False, False, False]
    """
    fits = _PLAIN.fullmatch(name) is not None and not name.endswith(".")
    return fits and _RESERVED.fullmatch(name) is None


_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


def instant(value: object) -> datetime:
    """Read an instant: a time with its offset from UTC, as text or as TOML has it.

    There is no summer time in it: an offset says what a name of a place would leave open.
    The end of a day anywhere on earth is `23:59:59-12:00`.

    Raises
    ------
    InputError
        For what is no time, and for a time or a date without an offset.

    Examples
    --------
    >>> utc_text(instant("2026-08-15T23:59:59-12:00"))
    '2026-08-16T11:59:59Z'
    >>> instant("2026-08-15")
    Traceback (most recent call last):
    cranfield.InputError: '2026-08-15' has no offset from UTC, as in 2026-08-15T23:59:59-12:00
    """
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"{quoted(value)} is no time such as 2026-08-15T23:59:59-12:00") from None
    if time.tzinfo is None:
        raise InputError(f"{quoted(value)} has no offset from UTC, as in 2026-08-15T23:59:59-12:00")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InputError(f"{quoted(value)} lies outside the years 1 to 9999") from None


def utc_text(time: datetime) -> str:
    """Write an instant as UTC text, to the second: what registry and files hold.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> utc_text(datetime(2026, 8, 15, 23, 59, 59, 500, tzinfo=UTC))
    '2026-08-15T23:59:59Z'
    """
    if time.tzinfo is None:
        raise ValueError("a time without an offset is no instant")
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def shown(time: datetime) -> str:
    """Show an instant in a message.

    >>> shown(instant("2026-08-15T23:59:59-12:00"))
    '2026-08-16 11:59:59 UTC'
    """
    return utc_text(time).replace("T", " ").replace("Z", " UTC")


def lasting(span: timedelta) -> str:
    """Say how long a time is, in the two largest units that count; never 0 of what passed.

    >>> lasting(timedelta(days=1, hours=2, minutes=3)), lasting(timedelta(seconds=0.2))
    ('1 day 2 hours', 'less than a second')
    """
    left = int(abs(span).total_seconds())
    parts = []
    for unit, seconds in _UNITS.items():
        number, left = divmod(left, seconds)
        if number:
            parts.append(counted(number, unit))
        elif parts:
            break
    return " ".join(parts[:2]) or "less than a second"


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


def _no_line(key: str) -> None:
    """Return no line, for rules that were not read from a file."""


@dataclass(frozen=True)
class TaskRules:
    """The rules of one task; paths are those of this machine, times know their offset.

    Attributes
    ----------
    topics
        A file, or `irds:...`; :func:`cranfield.campaign.rules.task_rules.topic_ids` reads them.
    severities
        What becomes of each kind of fault that the rules speak of: `error`, `warning` or `off`,
        by the code of the fault; kinds that are not in it have their default.
    tied
        Share of tied documents above which there is a warning, 0 to 1.
    measures
        Text forms; the first one decides the order of boards.
    judging
        Options of :func:`cranfield.judge`, such as `{"ties": "trec"}`.
    source, line_of
        The name of the file that the rules were read from, and the line of a key of the task in it.
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
    source: str | None = field(default=None, compare=False, repr=False)
    line_of: Callable[[str], int | None] = field(default=_no_line, compare=False, repr=False)


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


def whole_matches(texts: pl.Series, pattern: str) -> pl.Series:
    """Return a mask of the texts that a pattern matches as a whole, in time linear in their length.

    Examples
    --------
    >>> import polars as pl
    >>> ids = pl.Series(["FT911-3", "FT911-", "FT911-3\\n"])
    >>> whole_matches(ids, "FT[0-9]+(-[0-9]+)*").to_list()
    [True, False, False]
    """
    return texts.str.contains(_anchored(pattern))


def _anchored(pattern: str) -> str:
    return rf"\A(?:{pattern})\z"


def check_patterns(task: TaskRules) -> None:
    """Check that the patterns of a task compile; this loads polars, whose engine matches them.

    Raises
    ------
    InputError
        With the file and the line of the pattern, where the rules were read from a file.
    """
    import polars as pl

    for key, pattern in (("tag", task.tag), ("documents", task.document_pattern)):
        if pattern is None:
            continue
        try:
            # Alone too: parentheses would make a pattern of "a)|(b".
            for expression in (pattern, _anchored(pattern)):
                pl.Series([""]).str.contains(expression)
        except pl.exceptions.ComputeError as error:
            lines = str(error).removeprefix("regex error: ").splitlines()
            reasons = [line for line in lines if line.startswith("error: ")] or lines
            reason = reasons[0].removeprefix("error: ").rstrip(".")
            raise InputError(
                f"tasks.{task.name}.{key}: pattern {pattern[:60]!r} does not compile: {reason}",
                source=task.source,
                line=task.line_of(key),
            ) from None


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
