"""Read and write campaign.toml."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections import UserDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import Any

import cranfield
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    check_choice,
    make_file_error,
    quote,
    warn,
)
from cranfield.base.files import hash_file
from cranfield.base.text import sanitise
from cranfield.campaign.checks.report import CODES, UNREADABLE
from cranfield.campaign.rules.task_rules import (
    CAMPAIGN,
    FILE_FIELDS,
    PRIVATE_FIELD,
    SEVERITIES,
    TASK,
    Rules,
    TaskRules,
    WrongValueError,
    check_fields,
    check_file_name,
    check_patterns,
    check_table,
    format_unknown_name,
    get_checks,
    prepend_keys,
)

NAMES = ("campaign.toml", "rules.toml")
"""File names of the rules, in a campaign's folder and in the pack of participants."""

MAX_BYTES = 1 << 20
"""Maximum number of bytes of a file of rules."""


def read_rules(path: str | PathLike[str]) -> Rules:
    """Read the rules of a campaign.

    Parameters
    ----------
    path
        Folder of a campaign, pack for participants, or file of rules. The files that the rules name
        are in the same folder or below it.

    Raises
    ------
    InputError
        For a missing file and invalid rules; the error names the file and, if known, key and line.
    """
    file = _find_rules_file(Path(fspath(path)))
    data = _read_bytes(file)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        tables = tomllib.loads(text)
    except UnicodeDecodeError as error:
        # Imported here as only errors need it.
        from cranfield.sources.text import describe_encoding

        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(describe_encoding(data), source=file.name, line=line) from None
    except ValueError as error:
        # A TOML error, or a number with too many digits.
        reason, _, position = str(error).split(";")[0].partition(" (at line ")
        line = int(position.split(",")[0]) if position else 0
        message = f"is not valid TOML: {sanitise(reason)}"
        if reason == "Invalid value":
            message += "; text must be in quotes"
        raise InputError(message, source=file.name, line=line or None) from None
    except RecursionError:
        raise InputError("is not valid TOML: it is nested too deeply", source=file.name) from None
    try:
        return _parse_rules(tables, file, text, sha256(data).hexdigest())
    except WrongValueError as error:
        raise InputError(
            f"{'.'.join(map(_quote_key, error.path))}: {error.reason}".removeprefix(": "),
            source=file.name,
            line=_find_line(text, *error.path),
        ) from None


def hash_rules(rules: Rules) -> str:
    """Return a single SHA-256 of the rules and all files that they name.

    The hashed text has a line `sha256  path` for each file, as `sha256sum` writes it, in
    ascending order.
    """
    lines = sorted(f"{digest}  {name}\n" for name, digest in rules.files.items())
    return sha256("".join(lines).encode()).hexdigest()


class _Digests(UserDict[str, str]):
    """SHA-256 by path; a file, which can be large, is hashed on first access."""

    def __init__(self, folder: Path, digests: Mapping[str, str]) -> None:
        super().__init__(digests)
        self._folder = folder

    def __getitem__(self, name: str) -> str:
        if not self.data[name]:
            try:
                self.data[name] = hash_file(self._folder / name)
            except InputError as error:
                raise InputError(error.reason, source=name) from None
        return self.data[name]


def _find_rules_file(path: Path) -> Path:
    try:
        if not path.is_dir():
            return path
        files = [path / name for name in NAMES if (path / name).exists()]
    except (OSError, ValueError):
        return path
    if not files:
        raise InputError(f"has no {' and no '.join(NAMES)}", source=str(path))
    return files[0]


def _read_bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise make_file_error(error, "read", file) from None
    if len(data) > MAX_BYTES:
        raise InputError(f"has more than {MAX_BYTES:,} bytes", source=file.name)
    return data


def _parse_rules(tables: Mapping[str, Any], file: Path, text: str, digest: str) -> Rules:
    check_fields({"campaign": check_table, "tasks": check_table}, tables)
    with prepend_keys("campaign"):
        campaign = check_fields(CAMPAIGN, tables.get("campaign", {}), required=["id", "title"])
    tasks: dict[str, TaskRules] = {}
    files = _Digests(file.parent, {file.name: digest})
    with prepend_keys("tasks"):
        if not tables.get("tasks"):
            raise WrongValueError("has no task; each task is a table such as [tasks.adhoc]")
        for name, values in tables["tasks"].items():
            with prepend_keys(name):
                check_file_name(name)
                for other_name in tasks:
                    if other_name.lower() == name.lower():
                        reason = f"differs from {other_name} only in case; rename one of the tasks"
                        raise WrongValueError(reason)
                fields = _parse_task_fields(values, file.parent, files)
                line_of = partial(_find_line, text, "tasks", name)
                tasks[name] = TaskRules(name, **fields, source=file.name, line_of=line_of)
                _check_consistency(tasks[name])
    return Rules(**campaign, tasks=tasks, source=file.name, files=files)


def _parse_task_fields(values: Any, folder: Path, files: _Digests) -> dict[str, Any]:
    """Return the fields of a task; add the files that it names to `files`."""
    fields = check_fields(TASK, values)
    if isinstance(fields.get("documents"), dict):
        fields["document_pattern"] = fields.pop("documents")["pattern"]
    public_severities = {code: fields.pop(key) for key, code in SEVERITIES.items() if key in fields}
    other_severities = fields.get("severities", {})
    for code in other_severities:
        with prepend_keys("severities", code):
            if code not in CODES:
                raise WrongValueError(format_unknown_name(code, CODES, "kind of fault"))
            if code in UNREADABLE:
                reason = "is always an error, because a run with this fault cannot be read"
                raise WrongValueError(reason)
            if code in public_severities:
                raise WrongValueError("is set twice, here and by a key of the task")
    for field in FILE_FIELDS:
        if isinstance(name := fields.get(field), PurePosixPath):
            with prepend_keys(field):
                fields[field] = _find_file(name, folder)
            files.setdefault(str(name), "")
    return fields | {"severities": public_severities | other_severities}


def _find_file(name: PurePosixPath, folder: Path) -> Path:
    path = folder / name
    try:
        is_file = path.is_file()
    except OSError:
        # The name is too long, or the folder is not accessible.
        is_file = False
    if not is_file:
        raise WrongValueError(f"file {quote(name)} not found in the folder of the rules")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise WrongValueError(f"{quote(name)} is a link to a file outside the folder of the rules")
    return path


def _check_consistency(task: TaskRules) -> None:
    """Check that the rules of a task do not contradict each other."""
    if task.opens and task.closes and task.closes <= task.opens:
        raise WrongValueError(f"must be after opens ({task.opens}), got {task.closes}", "closes")
    for priority in task.pool.priorities if task.pool else ():
        if priority > (task.priorities or 0):
            allowed = f"priorities 1 to {task.priorities}" if task.priorities else "no priorities"
            reason = f"pooled priority {priority} is invalid: the task has {allowed}"
            raise WrongValueError(reason, "pool", "priorities")
    questions = ("type", *task.questions)
    for category in task.categories:
        if category not in questions:
            reason = format_unknown_name(category, questions, "question")
            raise WrongValueError(reason, "categories")
        if category != "type" and not task.questions[category].choices:
            reason = f"expected a question with choices, or 'type', got {quote(category)}"
            raise WrongValueError(reason, "categories")
    if "type" in task.questions:
        reason = "a question must not be named type; use the key types"
        raise WrongValueError(reason, "questions", "type")


def _quote_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", key) else quote(key)


def _find_line(text: str, *path: str) -> int | None:
    """Return the line of a key, otherwise of its innermost table; None if neither is found."""
    line_of_key, max_depth = None, 0
    table: tuple[str, ...] = ()
    for line_number, line in enumerate(text.split("\n"), 1):
        if head := re.match(r"\s*\[+\s*([^\[\]]+?)\s*\]", line[:500]):
            table = names = _split_key(head[1])
        elif key := re.match(r"\s*([A-Za-z0-9_.\-\"' ]+?)\s*=", line[:500]):
            names = (*table, *_split_key(key[1]))
        else:
            continue
        depth = min(len(names), len(path))
        if depth > max_depth and names[:depth] == path[:depth]:
            line_of_key, max_depth = line_number, depth
    return line_of_key


def _split_key(dotted_key: str) -> tuple[str, ...]:
    parts = re.findall(r"""\s*("[^"]*"|'[^']*'|[^."']+)\s*""", dotted_key)
    return tuple(part.strip().strip("\"'") for part in parts)


def check_rules(rules: Rules) -> None:
    """Check measures, options of judging, topics and patterns; this loads NumPy and polars."""
    from cranfield.campaign.rules.topics import read_topic_ids
    from cranfield.collection.policies import TIES, make_policies
    from cranfield.measures.grammar import parse_measures

    for task in rules.tasks.values():
        key = "measures"
        try:
            parse_measures(task.measures)
            key = "judging"
            # Checks and pools of runs need an order of tied documents.
            check_choice("ties", make_policies(**dict[str, Any](task.judging)).ties, TIES)
            key = "topics"
            read_topic_ids(task)
        except CranfieldError as error:
            reason = f"tasks.{task.name}.{key}: {error}"
            raise InputError(reason, source=rules.source, line=task.line_of(key)) from error
        check_patterns(task)
        if task.priorities and task.priorities < (task.runs_per_team or 0):
            limits = f"{task.runs_per_team} runs per team, but {task.priorities} priorities"
            warn(f"task {quote(task.name)} has {limits}; some runs of a team must share a priority")


def copy_lists(files: Iterable[Any], source: Path, target: Path, noun: str) -> list[str]:
    """Copy files that rules name to a folder with its own files; return their relative paths."""
    names = [file.relative_to(source).as_posix() for file in files if isinstance(file, Path)]
    own_names = {"readme.md", *(path.name.casefold() for path in target.iterdir())}
    for name in names:
        if name.partition("/")[0].casefold() in own_names:
            reason = f"must be renamed, because {noun} has its own file of this name"
            raise InputError(f"file {quote(name)} {reason}", source=NAMES[0])
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    return names


def read_template() -> str:
    """Return a commented campaign.toml with valid rules that accept most runs."""
    return (Path(cranfield.__file__).parent / "data/campaign.toml").read_text(encoding="utf-8")


def format_rules(rules: Rules, folder: Path, tasks: Iterable[str] | None = None) -> str:
    """Return the public rules of some tasks, or of all if `tasks` is None, as TOML.

    `folder` is the folder of the files that the rules name.
    """
    lines = ["[campaign]", *_format_pairs(dict(_select_public_pairs(rules)), folder)]
    for name in rules.tasks if tasks is None else tasks:
        pairs = dict(_select_public_pairs(rules.get_task(name)))
        lines += ["", f"[tasks.{_format_key(name)}]", *_format_pairs(pairs, folder)]
    return "".join(f"{line}\n" for line in lines)


def _format_pairs(values: Mapping[str, Any], folder: Path) -> list[str]:
    return [f"{_format_key(key)} = {_format_value(value, folder)}" for key, value in values.items()]


def _select_public_pairs(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public keys that have a value, with their values."""
    for name in get_checks(type(model)):
        value = getattr(model, name)
        if name == "severities":
            severities = {key: value[code] for key, code in SEVERITIES.items() if code in value}
            yield from severities.items()
            codes = SEVERITIES.values()
            value = {code: level for code, level in value.items() if code not in codes}
        if name == "documents" and model.document_pattern is not None:
            value = {"pattern": model.document_pattern}
        if name != PRIVATE_FIELD and value is not None and value not in ("", (), {}):
            yield name, value


def _format_value(value: Any, folder: Path) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return _format_text(value.relative_to(folder).as_posix())
    if isinstance(value, tuple):
        return f"[{', '.join(_format_value(item, folder) for item in value)}]"
    if is_dataclass(value):
        value = dict(_select_public_pairs(value))
    if isinstance(value, Mapping):
        return f"{{{', '.join(_format_pairs(value, folder))}}}"
    return _format_text(str(value))


def _format_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _format_text(name)


def _format_text(text: str) -> str:
    escaped_text = text.replace("\\", "\\\\").replace('"', '\\"')
    characters = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped_text)
    return f'"{"".join(characters)}"'
