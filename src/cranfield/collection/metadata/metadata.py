"""The metadata of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cranfield.base.errors import quoted
from cranfield.base.words import counted
from cranfield.collection.metadata.schema import KINDS, PARTS, misfit, typed
from cranfield.collection.metadata.yaml_writing import yaml_text

PLACEHOLDERS = ("ENTER_VALUE_HERE",)
"""What templates have where something is to be entered."""

REQUIRED = (
    *("tag", "actor.team", "method.name", "method.description", "method.automatic"),
    *("implementation.source.repository", "data.test collection.name"),
)
"""What shared tasks usually ask for."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with metadata.

    Attributes
    ----------
    kind
        `missing`, `placeholder` or `type`.
    path
        The key, such as `actor.team`.
    reason
        What is wrong with it.
    """

    kind: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class Metadata:
    """What a run says of itself, by the schema of ir_metadata; made by :func:`read_metadata`.

    Attributes
    ----------
    values
        The tree: mappings, lists and text. Nothing that looks like a number or a date is one.
    source, line
        Where it was read, and in which line it begins.
    original
        What was read, byte for byte; None for values that were made.
    twice
        The keys that stood twice in one mapping, each said in a line: the last counts.

    Examples
    --------
    >>> from cranfield.collection import read_metadata
    >>> about = read_metadata(b"{tag: 1, method: {automatic: yes, retrieval: [{name: a}]}}")
    >>> about.get("tag"), about.get("method.automatic"), about.get("method.retrieval.name")
    ('1', True, ('a',))
    """

    values: Mapping[str, Any]
    source: str = "metadata"
    line: int = 1
    original: bytes | None = None
    twice: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        parts = [part for part in PARTS if self.get(part) is not None]
        return f"Metadata({', '.join(parts) or counted(len(self.values), 'key')})"

    def get(self, path: str) -> Any:
        """Return the value at a path, such as `actor.team`; None where there is none.

        Of lists, what their entries have at the path comes as a tuple. Values that the schema
        knows as yes or no, or as whole numbers, come so.
        """
        found = _walk(self.values, path.split("."))
        if isinstance(found, tuple):
            kept = [typed(path, one) for one in found if one is not None]
            return tuple(kept) or None
        return typed(path, found)

    def problems(
        self, required: Sequence[str] = (), placeholders: Sequence[str] = PLACEHOLDERS
    ) -> tuple[Problem, ...]:
        """Say what is wrong.

        Parameters
        ----------
        required
            Paths that must have a value.
        placeholders
            Text that no required value may contain.

        Examples
        --------
        >>> from cranfield.collection import read_metadata
        >>> about = read_metadata(b"actor: {team: [a, b], name: ENTER_VALUE_HERE}")
        >>> for problem in about.problems(["tag", "actor.name"]):
        ...     print(problem)
        tag is missing
        actor.name is still 'ENTER_VALUE_HERE'
        actor.team is a list where text is wanted
        """
        found = []
        for path in required:
            value = self.get(path)
            left = next((one for one in placeholders if _holds(value, one)), None)
            if _is_empty(value):
                found.append(Problem("missing", path, "is missing"))
            elif left is not None:
                found.append(Problem("placeholder", path, f"is still {quoted(left)}"))
        for path in KINDS:
            value = _walk(self.values, path.split("."))
            wrong = None if isinstance(value, tuple) else misfit(path, value)
            if wrong is not None:
                found.append(Problem("type", path, wrong))
        return tuple(found)

    def to_yaml(self) -> str:
        """Return it as YAML: what was read, as it was, or else a text that reads back the same."""
        if self.original is not None:
            return self.original.decode("utf-8-sig")
        return yaml_text(self.values)

    @classmethod
    def template(cls, required: Sequence[str] = REQUIRED) -> Metadata:
        """Return metadata to be filled in: :data:`PLACEHOLDERS` at each path that is required.

        Examples
        --------
        >>> print(Metadata.template(["tag", "actor.team", "actor.name"]).to_yaml(), end="")
        tag: ENTER_VALUE_HERE
        actor:
          team: ENTER_VALUE_HERE
          name: ENTER_VALUE_HERE
        """
        values: dict[str, Any] = {}
        for path in required:
            *above, last = path.split(".")
            inner = values
            for key in above:
                below = inner.get(key)
                inner[key] = below if isinstance(below, dict) else {}
                inner = inner[key]
            inner.setdefault(last, PLACEHOLDERS[0])
        return cls(values)

    def without(self, *paths: str) -> Metadata:
        """Return it without the values at some paths, in lists too."""
        values: Any = self.values
        for path in paths:
            values = _removed(values, path.split("."))
        return Metadata(values, self.source, self.line)


def _walk(value: Any, keys: Sequence[str]) -> Any:
    """Follow keys; a list gives a tuple of what its entries have."""
    for place, key in enumerate(keys):
        if isinstance(value, list):
            parts = [_walk(one, keys[place:]) for one in value]
            flat: list[Any] = []
            for part in parts:
                flat.extend(part if isinstance(part, tuple) else [part])
            return tuple(one for one in flat if one is not None)
        if not isinstance(value, Mapping):
            return None
        rest = ".".join(keys[place:])
        if key not in value and rest in value:
            return value[rest]
        value = value.get(key)
    return value


def _removed(value: Any, keys: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_removed(one, keys) for one in value]
    if not isinstance(value, Mapping):
        return value
    rest = ".".join(keys)
    made = {name: one for name, one in value.items() if name != rest}
    if len(keys) > 1 and keys[0] in made:
        made[keys[0]] = _removed(made[keys[0]], keys[1:])
    return made


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Go through all values that hold no others, with their paths."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves(one, path)
    else:
        yield path, value


def _is_empty(value: Any) -> bool:
    return all(
        one is None or (isinstance(one, str) and not one.strip()) for _, one in leaves(value)
    )


def _holds(value: Any, placeholder: str) -> bool:
    return any(isinstance(one, str) and placeholder in one for _, one in leaves(value))
