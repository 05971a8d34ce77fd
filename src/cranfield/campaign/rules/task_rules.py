"""The rules of a campaign and of its tasks, and the checks of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

from cranfield.base.errors import InputError, PolicyError, quote
from cranfield.base.text import inflect, suggest_names

if TYPE_CHECKING:
    import polars as pl

MAX_NAME_LENGTH = 100
"""Maximum length of a name: file systems allow 255 bytes, and suffixes are added to names."""

_SAFE_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.+=@,~-]{{0,{MAX_NAME_LENGTH - 1}}}")

SAFE_NAME_RULE = (
    f"a valid file name on all systems, with at most {MAX_NAME_LENGTH} letters, digits and"
    " _ . + = @ , ~ - (the first a letter, a digit or _)"
)
"""Description of safe names, for messages."""

_RESERVED_NAME = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names of devices on Windows, with any suffix."""


def is_safe_name(name: str) -> bool:
    """Return True if a name is short, plain ASCII, and a valid file name on every system.

    Examples
    --------
    >>> [is_safe_name(name) for name in ("bm25.v2", "0", ".hidden", "-o", "CON", "nul.txt", "a.")]
    [True, True, False, False, False, False, False]
    """
    is_plain = _SAFE_NAME.fullmatch(name) is not None and not name.endswith(".")
    return is_plain and _RESERVED_NAME.fullmatch(name) is None


def parse_time(value: object) -> datetime:
    """Convert text or a TOML value to an instant: a time with its offset from UTC.

    Offsets are required, because local times are ambiguous when clocks are set back.
    The end of a day anywhere on earth is `23:59:59-12:00`.

    Raises
    ------
    InputError
        For an invalid time, a time without an offset, and a date without a time.

    Examples
    --------
    >>> format_utc(parse_time("2026-08-15T23:59:59-12:00"))
    '2026-08-16T11:59:59Z'
    >>> parse_time("2026-08-15")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cranfield.InputError: expected an offset from UTC, such as -12:00 in ..., got '2026-08-15'
    """
    example, got = "2026-08-15T23:59:59-12:00", f"got {quote(value)}"
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"expected a time such as {example}, {got}") from None
    if time.tzinfo is None:
        raise InputError(f"expected an offset from UTC, such as -12:00 in {example}, {got}")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InputError(f"expected a time in the years 1 to 9999 UTC, {got}") from None


def format_utc(time: datetime) -> str:
    """Format an instant as UTC text, to the second, for the registry and files."""
    if time.tzinfo is None:
        raise ValueError("expected a time with an offset from UTC, got one without an offset")
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def format_time(time: datetime) -> str:
    """Format an instant for a message."""
    return format_utc(time).replace("T", " ").replace("Z", " UTC")


def format_duration(span: timedelta) -> str:
    """Format the length of a time span in its largest unit and the next smaller one."""
    remainder = int(abs(span).total_seconds())
    parts = []
    for unit, seconds in {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}.items():
        n_units, remainder = divmod(remainder, seconds)
        if n_units:
            parts.append(inflect(n_units, unit))
        elif parts:
            break
    return " ".join(parts[:2]) or "less than a second"


# Checks of the values of keys.

ValueCheck = Callable[[Any], Any]
"""A function that checks a TOML value and converts it to the value of a field."""

MAX_INTEGER = 10**15
"""Maximum value of integers in the rules."""


class WrongValueError(Exception):
    """Raised for an invalid value; `path` has its keys, the outermost first."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


@contextmanager
def prepend_keys(*path: str) -> Iterator[None]:
    """Prepend keys to the path of a `WrongValueError` that is raised inside."""
    try:
        yield
    except WrongValueError as error:
        error.path = (*path, *error.path)
        raise


def _show_value(value: Any) -> str:
    names: dict[type, str] = {dict: "a table", list: "a list", bool: str(value).lower()}
    return names.get(type(value)) or quote(value)


def _make_check(
    expected: str, is_valid: Callable[[Any], bool], convert: ValueCheck = lambda value: value
) -> ValueCheck:
    def check(value: Any) -> Any:
        if not is_valid(value):
            raise WrongValueError(f"must be {expected}, got {_show_value(value)}")
        return convert(value)

    return check


check_text = _make_check("text", lambda value: isinstance(value, str))
check_text_line = _make_check(
    "one line of text",
    lambda value: isinstance(value, str) and bool(value.strip()) and value.isprintable(),
)
check_boolean = _make_check("true or false", lambda value: isinstance(value, bool))
check_positive_integer = _make_check(
    "an integer from 1 to 10^15",
    lambda value: type(value) is int and 1 <= value <= MAX_INTEGER,
)
check_table = _make_check("a table", lambda value: isinstance(value, dict))
check_fraction = _make_check(
    "a number from 0 to 1", lambda value: type(value) in (int, float) and 0 <= value <= 1, float
)
_check_time_type = _make_check("a time", lambda value: isinstance(value, (str, date)))


def check_time(value: Any) -> datetime:
    try:
        return parse_time(_check_time_type(value))
    except InputError as error:
        raise WrongValueError(error.reason) from None


def check_file_name(value: Any) -> str:
    """Check that a file name is valid on every system."""
    if not is_safe_name(check_text(value)):
        raise WrongValueError(f"must be {SAFE_NAME_RULE}, got {quote(value)}")
    return str(value)


def check_file(value: Any) -> PurePosixPath:
    """Check the relative path of a file in the folder of the rules or below it."""
    path = PurePosixPath(check_text(value))
    if path.is_absolute() or ".." in path.parts or re.search(r"[\\:\0]", value):
        expected = "a file in the folder of the rules file, or in a subfolder"
        raise WrongValueError(f"must be {expected}; got {quote(value)}")
    if not path.parts or not value.isprintable():
        raise WrongValueError(f"must be a valid file name, got {quote(value)}")
    return path


def make_choice_check(*choices: str) -> ValueCheck:
    """Return a check that a value is one of the choices."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise WrongValueError(f"must be one of {', '.join(choices)}; got {_show_value(value)}")
        return value

    return check


def check_severity(value: Any) -> str:
    """Check the severity of a kind of fault; `allow` is a synonym of `off`."""
    level = make_choice_check("error", "warning", "off", "allow")(value)
    return "off" if level == "allow" else str(level)


def make_list_check(check_item: ValueCheck, min_size: int = 0) -> ValueCheck:
    """Return a check that converts a list without duplicates to a tuple."""
    check_list = _make_check(
        "a non-empty list" if min_size else "a list",
        lambda value: isinstance(value, list) and len(value) >= min_size,
    )

    def check(value: Any) -> tuple[Any, ...]:
        items = tuple(map(check_item, check_list(value)))
        for k, item in enumerate(items):
            if item in items[:k]:
                raise WrongValueError(f"contains {quote(value[k])} twice")
        return items

    return check


def check_text_lines(value: Any) -> tuple[Any, ...]:
    """Check a list of lines of text, or a single line, and return a tuple."""
    return tuple(make_list_check(check_text_line)(value if isinstance(value, list) else [value]))


def make_table_check(check_item: Callable[[str, Any], Any]) -> ValueCheck:
    """Return a check of a table with arbitrary keys; `check_item` takes a key and its value."""

    def check(value: Any) -> dict[str, Any]:
        values = {}
        for name, item in check_table(value).items():
            with prepend_keys(name):
                values[name] = check_item(name, item)
        return values

    return check


# Keys, declared as annotations of the fields that hold their values.


def get_checks(model: type) -> dict[str, ValueCheck]:
    """Return the checks in the annotations of the fields of a class."""
    hints = get_type_hints(model, include_extras=True)
    return {
        name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated
    }


def check_fields(
    keys: Mapping[str, ValueCheck], value: Any, required: Iterable[str] = ()
) -> dict[str, Any]:
    """Check a table key by key, and return its values."""
    fields: dict[str, Any] = {}
    for name, item in check_table(value).items():
        if name not in keys:
            raise WrongValueError(format_unknown_name(name, keys), name)
        with prepend_keys(name):
            fields[name] = keys[name](item)
    for name in required:
        if name not in value:
            raise WrongValueError(f"must have the key {name}")
    return fields


def make_object_check(model: Callable[..., Any], keys: Mapping[str, ValueCheck]) -> ValueCheck:
    """Return a check that converts a table to an object of a class."""
    return lambda value: model(**check_fields(keys, value))


def format_unknown_name(name: str, names: Iterable[str], noun: str = "key") -> str:
    """Return the message for an unknown name, with the most similar name."""
    names = list(names)
    hint = suggest_names(name, names, 1, otherwise=f"expected one of: {', '.join(names)}")
    return f"unknown {noun} {quote(name)}{hint}"


@dataclass(frozen=True)
class Question:
    """A question to participants about a run; any answer is allowed if `choices` is empty."""

    name: str
    ask: Annotated[str, check_text_line]
    choices: Annotated[tuple[str, ...], make_list_check(check_text_line)] = ()
    required: Annotated[bool, check_boolean] = False


@dataclass(frozen=True)
class MetadataRules:
    """Required metadata of runs, by dotted path, and placeholders that count as missing."""

    required: Annotated[tuple[str, ...], make_list_check(check_text_line)] = ()
    placeholders: Annotated[tuple[str, ...], make_list_check(check_text_line)] = ()


@dataclass(frozen=True)
class PoolRules:
    """Depth of the pool, and priorities of the pooled runs (all if empty)."""

    depth: Annotated[int, check_positive_integer] = 100
    priorities: Annotated[tuple[int, ...], make_list_check(check_positive_integer)] = ()


POOL, METADATA, QUESTION = get_checks(PoolRules), get_checks(MetadataRules), get_checks(Question)

DOCUMENTS = {"pattern": check_text}
"""Keys of a table of documents."""

JUDGING = {
    **dict.fromkeys(("compat", "ties", "topics", "unjudged", "negative"), check_text_line),
    "depth": check_positive_integer,
}
"""Keys of the options of :func:`cranfield.judge`."""

SEVERITIES = {
    "missing_topics": "topic-missing",
    "unknown_topics": "topic-unknown",
    "fewer_than_max": "too-few",
}
"""Keys of a task that set the severity of one kind of fault, with the code of this kind."""


def _check_documents(value: Any) -> PurePosixPath | dict[str, str]:
    is_table = isinstance(value, dict)
    return check_fields(DOCUMENTS, value, required=["pattern"]) if is_table else check_file(value)


def _check_topics(value: Any) -> PurePosixPath | str:
    return value if check_text(value).startswith("irds:") else check_file(value)


_check_judging = make_object_check(dict, JUDGING)
_check_severities = make_table_check(lambda _, value: check_severity(value))


def _check_question(name: str, value: Any) -> Question:
    return Question(check_file_name(name), **check_fields(QUESTION, value, required=["ask"]))


@dataclass(frozen=True)
class TaskRules:
    """The rules of one task; paths are local, and times are in UTC.

    Attributes
    ----------
    topics
        File of topics, or `irds:...`; see :func:`cranfield.campaign.rules.topics.read_topic_ids`.
    severities
        Severities that differ from the defaults, by code of the kind of fault: `error`, `warning`
        or `off`.
    tied
        Proportion (0 to 1) of tied documents above which a run has the fault `tied`.
    measures
        Names of measures; leaderboards are ordered by the first measure.
    judging
        Options of :func:`cranfield.judge`, such as `{"ties": "trec"}`.
    source, line_of
        Name of the file of the rules, and a function that returns the line of a key of the task.
    """

    name: str
    title: Annotated[str, check_text_line] = ""
    topics: Annotated[Path | str | None, _check_topics] = None
    documents: Annotated[Path | None, _check_documents] = None
    document_pattern: str | None = None
    exclude: Annotated[Path | None, check_file] = None
    tag: Annotated[str, check_text] = "[A-Za-z0-9_.-]{1,20}"
    format: Annotated[str, make_choice_check("trec", "ntcir")] = "trec"
    max_per_topic: Annotated[int | None, check_positive_integer] = 1000
    second_column: Annotated[tuple[str, ...], check_text_lines] = ()
    rank: Annotated[str, make_choice_check("integer", "order", "off")] = "integer"
    tied: Annotated[float, check_fraction] = 0.2
    severities: Annotated[Mapping[str, str], _check_severities] = field(default_factory=dict)
    opens: Annotated[datetime | None, check_time] = None
    closes: Annotated[datetime | None, check_time] = None
    late: Annotated[str, make_choice_check("mark", "refuse")] = "refuse"
    runs_per_team: Annotated[int | None, check_positive_integer] = None
    runs_per_day: Annotated[int | None, check_positive_integer] = None
    max_bytes: Annotated[int, check_positive_integer] = 200_000_000
    max_decompressed_bytes: Annotated[int, check_positive_integer] = 200_000_000
    types: Annotated[tuple[str, ...], make_list_check(check_text_line)] = ()
    priorities: Annotated[int | None, check_positive_integer] = None
    pool: Annotated[PoolRules | None, make_object_check(PoolRules, POOL)] = None
    measures: Annotated[tuple[str, ...], make_list_check(check_text_line, min_size=1)] = ("AP",)
    judging: Annotated[Mapping[str, str | int], _check_judging] = field(default_factory=dict)
    categories: Annotated[tuple[str, ...], make_list_check(check_text_line)] = ()
    min_category: Annotated[int, check_positive_integer] = 3
    median: Annotated[str, make_choice_check("better", "average")] = "better"
    feedback: Annotated[str, make_choice_check("none", "means", "sheets")] = "none"
    metadata: Annotated[MetadataRules | None, make_object_check(MetadataRules, METADATA)] = None
    questions: Annotated[Mapping[str, Question], make_table_check(_check_question)] = field(
        default_factory=dict
    )
    source: str | None = field(default=None, compare=False, repr=False)
    line_of: Callable[[str], int | None] = field(
        default_factory=lambda: lambda key: None, compare=False, repr=False
    )

    @property
    def ranks_decide(self) -> bool:
        """True if the rank column decides the order, so that each rank must be an integer."""
        return self.judging.get("ties") == "rank"


@dataclass(frozen=True)
class Rules:
    """The rules of a campaign.

    Attributes
    ----------
    files
        SHA-256 of the file of the rules and of each file that it names, by path relative to its
        folder. Submissions record one hash of all, which identifies the rules of their check.
    """

    id: Annotated[str, check_file_name]
    title: Annotated[str, check_text_line]
    tasks: Mapping[str, TaskRules]
    consent: Annotated[str, check_text] = ""
    description: Annotated[str, check_text] = ""
    keep_refused: Annotated[bool, check_boolean] = False
    source: str = "campaign.toml"
    files: Mapping[str, str] = field(default_factory=dict)

    def get_task(self, name: str | None = None) -> TaskRules:
        """Return a task by name; the name is optional if there is only one task."""
        if name is None and len(self.tasks) == 1:
            return next(iter(self.tasks.values()))
        if name is None or name not in self.tasks:
            problem = "missing task" if name is None else f"unknown task {quote(name)}"
            raise PolicyError(f"{problem}; expected one of: {', '.join(self.tasks)}")
        return self.tasks[name]


FILE_FIELDS = ("topics", "documents", "exclude")
"""Fields of a task that name files."""

PRIVATE_FIELD = "keep_refused"
"""Field that is not published to participants."""

CAMPAIGN = get_checks(Rules)
TASK = get_checks(TaskRules) | dict.fromkeys(SEVERITIES, check_severity)


def match_in_full(texts: pl.Series, pattern: str) -> pl.Series:
    """Return a mask of the texts that a pattern matches in full, in time linear in their length."""
    return texts.str.contains(rf"\A(?:{pattern})\z")


def check_patterns(task: TaskRules) -> None:
    """Check that the patterns of a task compile; this loads polars, whose engine matches them."""
    import polars as pl

    for key, pattern in (("tag", task.tag), ("documents", task.document_pattern)):
        if pattern is None:
            continue
        try:
            # The raw pattern is compiled, too: with parentheses, the invalid "a)|(b" is valid.
            for expression in (pattern, rf"\A(?:{pattern})\z"):
                pl.Series([""]).str.contains(expression)
        except pl.exceptions.ComputeError as error:
            lines = str(error).removeprefix("regex error: ").splitlines()
            reasons = [line for line in lines if line.startswith("error: ")] or lines
            reason = f"does not compile: {reasons[0].removeprefix('error: ').rstrip('.')}"
            message = f"tasks.{task.name}.{key}: pattern {pattern[:60]!r} {reason}"
            raise InputError(message, source=task.source, line=task.line_of(key)) from None
