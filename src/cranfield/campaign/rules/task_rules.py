"""The rules of a campaign as they were read from campaign.toml, with the topics of its tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.text import counted, did_you_mean

if TYPE_CHECKING:
    import polars as pl

LONGEST = 100
"""Characters: suffixes are added to names, and no disk takes more than 255 bytes."""

_PLAIN = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.+=@,~-]{{0,{LONGEST - 1}}}")

_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Devices on Windows, whatever suffix follows."""


def safe_name(name: str) -> bool:
    """Return True if a name is plain ASCII and a valid file name on every system.

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

    Offsets are required, because names of time zones are ambiguous in autumn.
    The end of a day anywhere on earth is `23:59:59-12:00`.

    Raises
    ------
    InputError
        For an invalid time, and for a time or a date without an offset.

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
        raise InputError(
            f"expected a time such as 2026-08-15T23:59:59-12:00, got {quoted(value)}"
        ) from None
    if time.tzinfo is None:
        raise InputError(f"{quoted(value)} has no offset from UTC, as in 2026-08-15T23:59:59-12:00")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InputError(f"{quoted(value)} is outside the years 1 to 9999") from None


def utc_text(time: datetime) -> str:
    """Write an instant as UTC text, to the second: what registry and files hold.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> utc_text(datetime(2026, 8, 15, 23, 59, 59, 500, tzinfo=UTC))
    '2026-08-15T23:59:59Z'
    """
    if time.tzinfo is None:
        raise ValueError("expected a time with an offset from UTC, got one without an offset")
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def shown(time: datetime) -> str:
    """Show an instant in a message.

    >>> shown(instant("2026-08-15T23:59:59-12:00"))
    '2026-08-16 11:59:59 UTC'
    """
    return utc_text(time).replace("T", " ").replace("Z", " UTC")


def lasting(span: timedelta) -> str:
    """Return the length of a time span in its two largest units; never 0.

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


# Values of keys.

Kind = Callable[[Any], Any]
"""Checks a value of TOML, and returns the value of a field."""

MOST = 10**15
"""The largest whole number."""


class WrongValueError(Exception):
    """A value that a key may not have; the path leads from the key down to it."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


@contextmanager
def below(*path: str) -> Iterator[None]:
    """Put the keys above in front of the path of a wrong value."""
    try:
        yield
    except WrongValueError as error:
        raise WrongValueError(error.reason, *path, *error.path) from None


def shown_value(value: Any) -> str:
    """Show a value of TOML in a message."""
    names: dict[type, str] = {dict: "a table", list: "a list"}
    if isinstance(value, bool):
        return str(value).lower()
    return names.get(type(value)) or quoted(value)


def _kind(expected: str, fits: Callable[[Any], Any]) -> Kind:
    def check(value: Any) -> Any:
        if not fits(value):
            raise WrongValueError(f"must be {expected}, got {shown_value(value)}")
        return value

    return check


text = _kind("text", lambda value: isinstance(value, str))
line = _kind(
    "one line of text",
    lambda value: isinstance(value, str) and value.strip() and value.isprintable(),
)
truth = _kind("true or false", lambda value: isinstance(value, bool))
whole = _kind("an integer >= 1", lambda value: type(value) is int and 1 <= value <= MOST)
table = _kind("a table", lambda value: isinstance(value, dict))
_fraction = _kind(
    "a number from 0 to 1", lambda value: type(value) in (int, float) and 0 <= value <= 1
)
_time = _kind("a time", lambda value: isinstance(value, (str, date)))


def share(value: Any) -> float:
    """Check a number from 0 to 1."""
    return float(_fraction(value))


def time(value: Any) -> datetime:
    """Check an instant, with its offset from UTC."""
    try:
        return instant(_time(value))
    except InputError as error:
        raise WrongValueError(error.reason) from None


def file_name(value: Any) -> str:
    """Check text that is a valid file name on every system."""
    if not safe_name(text(value)):
        raise WrongValueError(
            "must consist of letters, digits and _ . + = @ , ~ -, and begin with a letter, a digit"
            f" or _; got {quoted(value)}"
        )
    return str(value)


def file(value: Any) -> PurePosixPath:
    """Check a file in the folder of the rules, or in a folder below it."""
    path = PurePosixPath(text(value))
    if path.is_absolute() or ".." in path.parts or re.search(r"[\\:\0]", value):
        raise WrongValueError(
            f"must be a file in the folder of the rules, or in a folder below it; got"
            f" {quoted(value)}"
        )
    if not path.parts or not value.isprintable():
        raise WrongValueError(f"must be a valid file name, got {quoted(value)}")
    return path


def topics_file(value: Any) -> PurePosixPath | str:
    """Check a file, or topics of ir_datasets."""
    return value if text(value).startswith("irds:") else file(value)


def documents_list(value: Any) -> PurePosixPath | dict[str, str]:
    """Check a file, or a table of a pattern."""
    return fields_of(DOCUMENTS, value) if isinstance(value, dict) else file(value)


def one_of(*choices: str) -> Kind:
    """Check one of some words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise WrongValueError(f"must be one of {', '.join(choices)}; got {shown_value(value)}")
        return value

    return check


def severity(value: Any) -> str:
    """Check the severity of a kind of fault; `allow` reads better where something is missing."""
    word = one_of("error", "warning", "off", "allow")(value)
    return "off" if word == "allow" else str(word)


def list_of(kind: Kind, least: int = 0) -> Kind:
    """Check a list in which no value is repeated, and return a tuple."""
    is_list = _kind(
        "a non-empty list" if least else "a list",
        lambda value: isinstance(value, list) and len(value) >= least,
    )

    def check(value: Any) -> tuple[Any, ...]:
        checked: list[Any] = []
        for item in is_list(value):
            checked.append(kind(item))
            if checked[-1] in checked[:-1]:
                raise WrongValueError(f"contains {shown_value(item)} twice")
        return tuple(checked)

    return check


def one_or_more(value: Any) -> tuple[Any, ...]:
    """Check a list of lines, or one line without brackets."""
    return tuple(list_of(line)(value if isinstance(value, list) else [value]))


def table_of(kind: Callable[[str, Any], Any]) -> Kind:
    """Check a table whose keys are free; the kind takes the key and the value."""

    def check(value: Any) -> dict[str, Any]:
        checked = {}
        for key, inner in table(value).items():
            with below(key):
                checked[key] = kind(key, inner)
        return checked

    return check


# Keys, declared with the fields that hold their values.


@dataclass(frozen=True)
class Key:
    """A key of a table: its kind of value, and the name of the field that holds the value.

    Participants do not get private keys.
    """

    kind: Kind
    private: bool = False
    field: str = ""
    required: bool = False


def key(kind: Kind, name: str = "", *, private: bool = False) -> dict[str, Any]:
    """Return the metadata of a field that declare its key, by the field's name or another one."""
    return {"key": Key(kind, private), "name": name}


def keys_of(model: Any) -> dict[str, Key]:
    """Return the keys that are declared with the fields of a class, by name."""
    keys = {}
    for item in fields(model):
        if "key" in item.metadata:
            required = item.default is MISSING and item.default_factory is MISSING
            name = item.metadata["name"] or item.name
            keys[name] = replace(item.metadata["key"], field=item.name, required=required)
    return keys


def fields_of(keys: Mapping[str, Key], value: Any) -> dict[str, Any]:
    """Check a table key by key, and return the values by field."""
    checked: dict[str, Any] = {}
    for name, inner in table(value).items():
        if name not in keys:
            raise WrongValueError(unknown(name, keys), name)
        with below(name):
            checked[keys[name].field or name] = keys[name].kind(inner)
    for name, key in keys.items():
        if key.required and name not in value:
            raise WrongValueError(f"has no key {name}")
    return checked


def table_as(model: Callable[..., Any], keys: Mapping[str, Key]) -> Kind:
    """Check a table, and return an object with its values."""
    return lambda value: model(**fields_of(keys, value))


def unknown(name: str, known: Iterable[str], noun: str = "key") -> str:
    """Return the message on an unknown name, with the name that was meant."""
    names = list(known)
    meant = did_you_mean(name, names, 1, otherwise=f"expected one of: {', '.join(names)}")
    return f"unknown {noun} {quoted(name)}{meant}"


@dataclass(frozen=True)
class Question:
    """A question to participants about a run; `choices` is empty if any text is allowed."""

    name: str
    ask: str = field(metadata=key(line))
    choices: tuple[str, ...] = field(default=(), metadata=key(list_of(line)))
    required: bool = field(default=False, metadata=key(truth))


@dataclass(frozen=True)
class MetadataRules:
    """Required metadata of runs, by dotted path, and placeholders that do not count."""

    required: tuple[str, ...] = field(default=(), metadata=key(list_of(line)))
    placeholders: tuple[str, ...] = field(default=(), metadata=key(list_of(line)))


@dataclass(frozen=True)
class PoolRules:
    """Pooled runs, by priority (all if empty), and depth of the pool."""

    depth: int = field(default=100, metadata=key(whole))
    priorities: tuple[int, ...] = field(default=(), metadata=key(list_of(whole)))


POOL, METADATA, QUESTION = keys_of(PoolRules), keys_of(MetadataRules), keys_of(Question)


def _question(key: str, value: Any) -> Question:
    return Question(file_name(key), **fields_of(QUESTION, value))


def _no_line(key: str) -> None:
    """Return no line, for rules that were not read from a file."""


DOCUMENTS = {"pattern": Key(text, required=True)}
"""Keys of a table of documents."""

JUDGING = {
    **dict.fromkeys(("compat", "ties", "topics", "unjudged", "negative"), Key(line)),
    "depth": Key(whole),
}
"""Keys of the options of :func:`cranfield.judge`."""

SEVERITIES = {
    "missing_topics": "topic-missing",
    "unknown_topics": "topic-unknown",
    "fewer_than_max": "too-few",
}
"""Keys for the severity of one kind of fault, by its code."""


@dataclass(frozen=True)
class TaskRules:
    """The rules of one task; paths are those of this machine, times know their offset.

    Attributes
    ----------
    topics
        A file, or `irds:...`; :func:`cranfield.campaign.rules.topics.topic_ids` reads them.
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
    title: str = field(default="", metadata=key(line))
    topics: Path | str | None = field(default=None, metadata=key(topics_file))
    documents: Path | None = field(default=None, metadata=key(documents_list))
    document_pattern: str | None = None
    exclude: Path | None = field(default=None, metadata=key(file))
    tag: str = field(default="[A-Za-z0-9_.-]{1,20}", metadata=key(text))
    format: str = field(default="trec", metadata=key(one_of("trec", "ntcir")))
    max_per_topic: int | None = field(default=1000, metadata=key(whole))
    second_column: tuple[str, ...] = field(default=(), metadata=key(one_or_more))
    rank: str = field(default="integer", metadata=key(one_of("integer", "order", "off")))
    tied: float = field(default=0.2, metadata=key(share))
    severities: Mapping[str, str] = field(
        default_factory=dict, metadata=key(table_of(lambda _, value: severity(value)))
    )
    opens: datetime | None = field(default=None, metadata=key(time))
    closes: datetime | None = field(default=None, metadata=key(time))
    late: str = field(default="refuse", metadata=key(one_of("mark", "refuse")))
    runs_per_team: int | None = field(default=None, metadata=key(whole))
    runs_per_day: int | None = field(default=None, metadata=key(whole))
    max_bytes: int = field(default=200_000_000, metadata=key(whole, name="max_bytes"))
    max_decompressed_bytes: int = field(
        default=200_000_000, metadata=key(whole, name="max_decompressed_bytes")
    )
    types: tuple[str, ...] = field(default=(), metadata=key(list_of(line)))
    priorities: int | None = field(default=None, metadata=key(whole))
    pool: PoolRules | None = field(default=None, metadata=key(table_as(PoolRules, POOL)))
    measures: tuple[str, ...] = field(default=("AP",), metadata=key(list_of(line, least=1)))
    judging: Mapping[str, str | int] = field(
        default_factory=dict, metadata=key(table_as(dict, JUDGING))
    )
    categories: tuple[str, ...] = field(default=(), metadata=key(list_of(line)))
    min_category: int = field(default=3, metadata=key(whole))
    median: str = field(default="better", metadata=key(one_of("better", "average")))
    feedback: str = field(default="none", metadata=key(one_of("none", "means", "sheets")))
    metadata: MetadataRules | None = field(
        default=None, metadata=key(table_as(MetadataRules, METADATA))
    )
    questions: Mapping[str, Question] = field(
        default_factory=dict, metadata=key(table_of(_question))
    )
    source: str | None = field(default=None, compare=False, repr=False)
    line_of: Callable[[str], int | None] = field(default=_no_line, compare=False, repr=False)

    @property
    def ranks_decide(self) -> bool:
        """Whether the rank column decides the order, so that each rank must be an integer."""
        return self.judging.get("ties") == "rank"


@dataclass(frozen=True)
class Rules:
    """The rules of a campaign.

    Attributes
    ----------
    files
        SHA-256 of campaign.toml and of each file that it names, by path relative to the folder;
        they identify the rules of a submission.
    """

    id: str = field(metadata=key(file_name))
    title: str = field(metadata=key(line))
    tasks: Mapping[str, TaskRules]
    consent: str = field(default="", metadata=key(text))
    description: str = field(default="", metadata=key(text))
    keep_refused: bool = field(default=False, metadata=key(truth, private=True))
    source: str = "campaign.toml"
    files: Mapping[str, str] = field(default_factory=dict)

    def task(self, name: str | None = None) -> TaskRules:
        """Return a task by name; where there is only one, it needs no name."""
        if name is None:
            if len(self.tasks) == 1:
                return next(iter(self.tasks.values()))
            raise PolicyError(f"expected a task; one of: {', '.join(self.tasks)}")
        if name not in self.tasks:
            raise PolicyError(
                f"unknown task {quoted(name)}; expected one of: {', '.join(self.tasks)}"
            )
        return self.tasks[name]


FILES = ("topics", "documents", "exclude")
"""The fields of a task that name files."""


CAMPAIGN = keys_of(Rules)
TASK = keys_of(TaskRules) | dict.fromkeys(SEVERITIES, Key(severity))


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
