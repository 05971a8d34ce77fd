"""Metadata of runs, read from YAML and written as YAML.

Scalars other than null are read as text: a tag `1`, a commit `8e12345`, `yes`, `010` and dates are
not converted. The schema declares which values are numbers and Booleans.

The schema is version 0.1 of irgroup/ir_metadata, with the keys that tirex-tracker, WOWS and
LongEval add to it. Source: Breuer, Keller and Schaer (2022), ir_metadata: an extensible metadata
schema for IR experiments.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from cranfield.base.errors import InputError, PolicyError, check_list, quote
from cranfield.base.text import inflect, sanitise

MAX_DEPTH = 50
"""Maximum nesting of mappings and lists."""

MAX_NODES = 100_000
"""Maximum number of keys and values."""

BOOLEAN_WORDS = {
    word: value
    for value, words in ((True, "true yes on"), (False, "false no off"))
    for word in words.split()
}

_STANDARD = "tag:yaml.org,2002:"
_CONVERTERS: dict[str, Any] = {
    "str": str,
    "null": lambda text: None,
    "bool": lambda text: BOOLEAN_WORDS[text.lower()],
    "int": lambda text: int(text.replace("_", "")),
    "float": float,
}
"""Conversions by tag; scalars without a tag are text or null."""

_NO_BREAKS = str.maketrans("\x85\u2028\u2029", "\udc85\udca8\udca9")
_BREAKS = {surrogate: character for character, surrogate in _NO_BREAKS.items()}
"""Characters that end a line in YAML 1.1, as PyYAML reads it, but not in 1.2."""


@dataclass(frozen=True)
class YamlMapping:
    """A mapping, and a message for each repeated key; the last value of such a key is used."""

    values: dict[str, Any]
    repeated_keys: tuple[str, ...] = ()


def read_yaml(text: str, source: str, first_line: int = 1) -> YamlMapping:
    """Read a mapping from untrusted YAML; an InputError names the line and the reason.

    Aliases, merge keys, several documents, and tags other than those of text, numbers, Booleans,
    null, lists and mappings raise an error.
    """
    line = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        values = None if root is None else loader.construct_value(root)
    except yaml.reader.ReaderError as error:
        reason = f"character {quote(text[error.position])} is not allowed"
        line = first_line + text.count("\n", 0, error.position)
    except yaml.MarkedYAMLError as error:
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        if mark := error.problem_mark or error.context_mark:
            line = first_line + mark.line
    except (ValueError, OverflowError):
        # PyYAML does not catch Python's errors for "\UFFFFFFFF" and versions of 5,000 digits.
        reason, line = "a number is too large", first_line + loader.line
    else:
        if values is None or isinstance(values, dict):
            messages = (
                f"line {first_line + offset}: {quote(key)} occurs twice in one mapping;"
                " its last value is used"
                for key, offset in loader.repeated_keys
            )
            return YamlMapping(values or {}, tuple(messages))
        got = "a list" if isinstance(values, list) else "a single value"
        reason = f"expected a mapping of keys to values, got {got}"
    raise InputError(f"is not valid YAML: {sanitise(reason[:160])}", source=source, line=line)


class _UnsupportedYamlError(yaml.MarkedYAMLError):
    def __init__(self, reason: str, mark: Any) -> None:
        super().__init__(problem=reason, problem_mark=mark)


class _Loader(yaml.BaseLoader):
    """Loader that limits depth and size, and reads scalars as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # The reader has checked that the text has no surrogates.
        self.buffer = self.buffer.translate(_NO_BREAKS)
        self.nodes = self.depth = 0
        self.repeated_keys: list[tuple[str, int]] = []

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        self.nodes += 1
        if isinstance(event, yaml.AliasEvent):
            raise _UnsupportedYamlError(
                f"alias {quote(event.anchor)} is not supported; write the value in its place",
                event.start_mark,
            )
        if self.nodes > MAX_NODES:
            raise _UnsupportedYamlError(
                f"expected at most {MAX_NODES:,} keys and values, got more", event.start_mark
            )
        if self.depth == MAX_DEPTH and not isinstance(event, yaml.ScalarEvent):
            raise _UnsupportedYamlError(
                f"expected at most {MAX_DEPTH} levels of nesting, got more", event.start_mark
            )
        # Aliases are refused, so anchors have no effect and may be repeated.
        event.anchor = None
        self.depth += 1
        node: Any = super().compose_node(parent, index)
        self.depth -= 1
        if isinstance(node, yaml.ScalarNode):
            node.value = node.value.translate(_BREAKS)
        return node

    def construct_value(self, node: Any) -> Any:
        tag = node.tag.removeprefix(_STANDARD)
        if isinstance(node, yaml.MappingNode) and tag == "map":
            return self._construct_mapping(node)
        if isinstance(node, yaml.SequenceNode) and tag == "seq":
            return [self.construct_value(item) for item in node.value]
        if not isinstance(node, yaml.ScalarNode) or tag not in _CONVERTERS:
            raise _UnsupportedYamlError(f"tag {quote(node.tag)} is not supported", node.start_mark)
        try:
            return _CONVERTERS[tag](node.value)
        except (KeyError, ValueError):
            reason = f"{quote(node.value)} is not a valid !!{tag}"
            raise _UnsupportedYamlError(reason, node.start_mark) from None

    def _construct_mapping(self, node: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, mark = key_node.value, key_node.start_mark
            if not isinstance(key_node, yaml.ScalarNode):
                raise _UnsupportedYamlError("keys must be text, got a list or mapping", mark)
            self.construct_value(key_node)
            if key == "<<" and key_node.style is None:
                raise _UnsupportedYamlError("merge key '<<' is not supported", mark)
            if key in values:
                self.repeated_keys.append((key, mark.line))
            values[key] = self.construct_value(value_node)
        return values


_Loader.add_implicit_resolver(
    f"{_STANDARD}null", re.compile("(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
_QUOTED_WORDS = {*BOOLEAN_WORDS, "null", "y", "n", "nan", "inf"}


def format_yaml(values: Mapping[str, Any]) -> str:
    """Return a mapping as YAML that reads back the same.

    Text is quoted if a YAML reader could convert it to another type.

    Examples
    --------
    >>> print(format_yaml({"tag": "1", "actor": {"team": "padua", "fields": ["IR", "no"]}}), end="")
    tag: '1'
    actor:
      team: padua
      fields:
      - IR
      - 'no'
    """
    text = yaml.dump(values, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=sys.maxsize)
    # Unprintable characters occur in double quotes only.
    return "".join(c if c == "\n" or c.isprintable() else f"\\U{ord(c):08x}" for c in text)


class _Dumper(yaml.SafeDumper):
    """Dumper without aliases, with tags for numbers and Booleans, and with quoted text."""

    def represent_data(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            pairs = {str(key): value for key, value in data.items()}
            return self.represent_mapping(f"{_STANDARD}map", pairs)
        if isinstance(data, (list, tuple)):
            return self.represent_sequence(f"{_STANDARD}seq", data)
        if data is None:
            return self.represent_none(data)
        for scalar_type in (bool, int, float):
            if isinstance(data, scalar_type):
                # The tag is only written for quoted text.
                tag, text = f"{_STANDARD}{scalar_type.__name__}", str(scalar_type(data)).lower()
                return self.represent_scalar(tag, text, style='"')
        text = str(data)
        if _PLAIN.fullmatch(text) and text.lower() not in _QUOTED_WORDS:
            style = None
        else:
            style = "'" if text.isprintable() else '"'
        return self.represent_scalar(f"{_STANDARD}str", text, style=style)


PRIMAD_COMPONENTS = ("platform", "research goal", "implementation", "method", "actor", "data")
"""Components of the PRIMAD model."""

_TEXT_PATHS = """
tag; run-version; schema-version; schema version; description;
platform.hardware.cpu: model, architecture, operation mode;
platform.hardware.gpu: model, architecture, memory;
platform.hardware: ram;
platform.operating system: kernel, distribution;
research goal: description;
research goal.venue: name, year;
research goal.publication: dblp, doi, arxiv, url, abstract;
implementation.executable: cmd;
implementation.script: path;
implementation.source: repository, commit, branch;
implementation.source.archive: path;
method: name, description, score ties;
method.indexing: tokenizer, stemmer, stopwords;
actor: name, orcid, team, mail, role, degree, github, twitter;
data.test collection: name, source, qrels, topics, ir_datasets
"""

_BOOLEAN_PATHS = """
method: automatic, lexical, deep_neural_model, sparse_neural_model, dense_neural_model,
 single_stage_retrieval;
implementation.python: interactive;
implementation.source: uncommitted changes
"""

_INTEGER_PATHS = """
platform.hardware.cpu: number of cores;
platform.hardware.gpu: number of cores
"""


def _list_paths(lines: str) -> Iterator[str]:
    for group in lines.replace("\n", " ").split(";"):
        parent, colon, names = group.strip().partition(":")
        yield from (f"{parent}.{name.strip()}" for name in names.split(",")) if colon else (parent,)


VALUE_TYPES = (
    dict.fromkeys(_list_paths(_TEXT_PATHS), "text")
    | dict.fromkeys(_list_paths(_BOOLEAN_PATHS), "yes or no")
    | dict.fromkeys(_list_paths(_INTEGER_PATHS), "an integer")
    | dict.fromkeys(PRIMAD_COMPONENTS, "a mapping")
)
"""Type of the value at each path of keys; the value at any other path may have any type."""


def convert_value(path: str, value: Any) -> Any:
    """Convert a value to its type in the schema; an invalid value is unchanged."""
    value_type = VALUE_TYPES.get(path)
    if value_type == "yes or no" and isinstance(value, str):
        return BOOLEAN_WORDS.get(value.lower(), value)
    if value_type == "an integer" and isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else value
    return value


def describe_violation(path: str, value: Any) -> str | None:
    """Describe how a value violates the schema; return None if it is valid or missing."""
    value_type = VALUE_TYPES.get(path)
    if value_type is None or value is None:
        return None
    converted = convert_value(path, value)
    types: dict[str, type | tuple[type, ...]] = {
        "text": (str, int, float),
        "yes or no": bool,
        "an integer": int,
        "a mapping": dict,
    }
    is_wrong_boolean = isinstance(converted, bool) and value_type != "yes or no"
    if isinstance(converted, types[value_type]) and not is_wrong_boolean:
        return None
    names: dict[type, str] = {list: "a list", dict: "a mapping", bool: str(converted).lower()}
    return f"must be {value_type}, got {names.get(type(converted)) or quote(converted)}"


PLACEHOLDERS = ("ENTER_VALUE_HERE",)
"""Values in templates that users must replace."""

REQUIRED = (
    *("tag", "actor.team", "method.name", "method.description", "method.automatic"),
    *("implementation.source.repository", "data.test collection.name"),
)
"""Metadata that shared tasks usually require."""


@dataclass(frozen=True)
class MetadataProblem:
    """Missing, placeholder or invalid value in the metadata of a run.

    Attributes
    ----------
    kind
        `missing`, `placeholder` or `type`.
    path
        The key, such as `actor.team`.
    reason
        Description of the problem.
    """

    kind: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class Metadata:
    """Metadata of a run in the schema of ir_metadata; returned by :func:`read_metadata`.

    Attributes
    ----------
    values
        The tree of mappings, lists and text; numbers and dates are text, unless tagged.
    source, line
        Source of the metadata, and the first line of the metadata in it.
    original
        The bytes that were read; None for metadata that were created.
    repeated_keys
        A message for each key that occurs twice in one mapping; its last value is used.

    Examples
    --------
    >>> from cranfield.collection import read_metadata
    >>> metadata = read_metadata(b"{tag: 1, method: {automatic: yes, retrieval: [{name: a}]}}")
    >>> metadata.get("tag"), metadata.get("method.automatic")
    ('1', True)
    >>> metadata.get("method.retrieval.name")
    ('a',)
    """

    values: Mapping[str, Any]
    source: str = "metadata"
    line: int = 1
    original: bytes | None = None
    repeated_keys: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        components = [name for name in PRIMAD_COMPONENTS if self.get(name) is not None]
        return f"Metadata({', '.join(components) or inflect(len(self.values), 'key')})"

    def get(self, path: str) -> Any:
        """Return the value at a path, such as `actor.team`, or None.

        For a list on the path, the values of its entries are returned as a tuple. Values that
        are Booleans or integers in the schema are converted.
        """
        value = _get_value(self.values, path.split("."))
        if isinstance(value, tuple):
            return tuple(convert_value(path, entry) for entry in value if entry is not None) or None
        return convert_value(path, value)

    def find_problems(
        self, required: Sequence[str] = (), placeholders: Sequence[str] = PLACEHOLDERS
    ) -> tuple[MetadataProblem, ...]:
        """Return missing values, placeholders, and values of the wrong type outside of lists.

        Parameters
        ----------
        required
            Paths that must have a value.
        placeholders
            Texts that required values must not contain.

        Examples
        --------
        >>> from cranfield.collection import read_metadata
        >>> metadata = read_metadata(b"actor: {team: [a, b], name: ENTER_VALUE_HERE}")
        >>> for problem in metadata.find_problems(["tag", "actor.name"]):
        ...     print(problem)
        tag is missing
        actor.name is still 'ENTER_VALUE_HERE'
        actor.team must be text, got a list
        """
        check_list("required", required)
        check_list("placeholders", placeholders)
        problems = []
        for path in required:
            values = [leaf for _, leaf in iterate_leaves(self.get(path)) if leaf is not None]
            texts = [leaf for leaf in values if isinstance(leaf, str) and leaf.strip()]
            placeholder = next((p for p in placeholders if any(p in text for text in texts)), None)
            if not texts and all(isinstance(leaf, str) for leaf in values):
                problems.append(MetadataProblem("missing", path, "is missing"))
            elif placeholder is not None:
                problems.append(
                    MetadataProblem("placeholder", path, f"is still {quote(placeholder)}")
                )
        for path in VALUE_TYPES:
            value = _get_value(self.values, path.split("."))
            reason = None if isinstance(value, tuple) else describe_violation(path, value)
            if reason is not None:
                problems.append(MetadataProblem("type", path, reason))
        return tuple(problems)

    def to_yaml(self) -> str:
        """Return the metadata as YAML: the YAML that was read, else the formatted values."""
        if self.original is not None:
            return self.original.decode("utf-8-sig")
        return format_yaml(self.values)

    @classmethod
    def make_template(cls, required: Sequence[str] = REQUIRED) -> Metadata:
        """Return a template with :data:`PLACEHOLDERS` at each required path.

        Examples
        --------
        >>> print(Metadata.make_template(["tag", "actor.team", "actor.name"]).to_yaml(), end="")
        tag: ENTER_VALUE_HERE
        actor:
          team: ENTER_VALUE_HERE
          name: ENTER_VALUE_HERE
        """
        check_list("required", required)
        values: dict[str, Any] = {}
        for path in required:
            *parents, last = path.split(".")
            mapping = values
            for key in parents:
                child = mapping.get(key)
                mapping[key] = child if isinstance(child, dict) else {}
                mapping = mapping[key]
            mapping.setdefault(last, PLACEHOLDERS[0])
        return cls(values)

    def drop_paths(self, *paths: str) -> Metadata:
        """Return the metadata without the values at these paths, also in lists."""
        values: Any = self.values
        for path in paths:
            values = _drop_path(values, path.split("."))
        return Metadata(values, self.source, self.line)


def _get_value(value: Any, keys: Sequence[str]) -> Any:
    """Return the value at a path of keys; a tuple of values if a list is on the path."""
    for index, key in enumerate(keys):
        if isinstance(value, list):
            values: list[Any] = []
            for entry in value:
                inner = _get_value(entry, keys[index:])
                values.extend(inner if isinstance(inner, tuple) else [inner])
            return tuple(inner for inner in values if inner is not None)
        if not isinstance(value, Mapping):
            return None
        path = ".".join(keys[index:])
        if key not in value and path in value:
            return value[path]
        value = value.get(key)
    return value


def _drop_path(value: Any, keys: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_drop_path(entry, keys) for entry in value]
    if not isinstance(value, Mapping):
        return value
    path = ".".join(keys)
    remaining_values = {name: inner for name, inner in value.items() if name != path}
    if len(keys) > 1 and keys[0] in remaining_values:
        remaining_values[keys[0]] = _drop_path(remaining_values[keys[0]], keys[1:])
    return remaining_values


def iterate_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each leaf; entries of a list have the path of the list."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from iterate_leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from iterate_leaves(inner, path)
    else:
        yield path, value


def primad(first: Metadata, second: Metadata) -> str:
    """Return the six letters of PRIMAD: upper case for a difference, `-` if a run has no value.

    The components are platform, research goal, implementation, method, actor and data. A component
    differs if any of its values differ.

    References
    ----------
    Ferro et al.: Increasing reproducibility in IR: findings from the Dagstuhl seminar on
    reproducibility of data-oriented experiments in e-science (SIGIR Forum 2016).

    Examples
    --------
    >>> from cranfield.collection import primad, read_metadata
    >>> first = read_metadata(b"{method: {name: bm25}, actor: {team: a}, platform: {os: x}}")
    >>> second = read_metadata(b"{method: {name: bm25}, actor: {team: b}}")
    >>> primad(first, second)
    '---mA-'
    """
    for value in (first, second):
        if not isinstance(value, Metadata):
            expected = "expected the metadata of two runs, such as run.metadata"
            raise PolicyError(f"{expected}, got {type(value).__name__}")
    letters = ""
    for component in PRIMAD_COMPONENTS:
        pair = [
            _convert_tree(metadata.values.get(component), component) for metadata in (first, second)
        ]
        if None in pair:
            letters += "-"
        else:
            initial = component[0]
            letters += initial if pair[0] == pair[1] else initial.upper()
    return letters


def _convert_tree(value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {key: _convert_tree(inner, f"{path}.{key}") for key, inner in value.items()}
    if isinstance(value, list):
        return [_convert_tree(entry, path) for entry in value]
    return convert_value(path, value)
