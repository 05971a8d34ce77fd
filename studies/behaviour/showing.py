"""Results as text in which every bit, every name and every printed form can be seen."""

from __future__ import annotations

import enum
import inspect
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl

from cranfield.result import Result, TableResult

HEAVY = {
    "Evaluation",
    "JudgedRuns",
    "Qrels",
    "Run",
    "Runs",
    "Rows",
    "Scores",
    "Sessions",
}
"""Classes that are shown whole only where they are asked for, not inside other results."""

NEVER = {
    *("add_note", "count", "index", "to_pandas", "to_xarray", "with_traceback"),
    *("kept", "views"),
}
"""Attributes that say nothing of the result: caches, what objects of Python have, and what needs
packages that may be missing."""

OF_EVERY_RESULT = {name for name in vars(Result) if not name.startswith("_")} - {
    "to_polars",
    "verdict",
}
"""What every result has, and what follows from its data frames and its heading."""

OPEN = {
    *(
        "AnovaTable",
        "Axiom",
        "Cell",
        "Check",
        "Coefficient",
        "Reliability",
        "Coverage",
        "Dominance",
        "Entry",
    ),
    *("Gaps", "Irrational", "Meaningfulness", "Omnibus", "Page", "PairwiseComparison"),
    *("Policies", "Run", "SessionCounts", "SystemCoverage", "Table", "RequiredTopics"),
    *("ScaleVerdict", "Verdict", "Witness", *HEAVY),
}
"""Classes that are shown inside other results; the rest is how results are made, not what they
say."""

CHART = re.compile(r"\b(param|view|concat|layer|hconcat|vconcat|facet|legend|selector)_?(\d+)\b")
"""Names that Altair counts up over all charts of a process."""

WIDEST = 100
"""Characters of a line of numbers."""


def shown(value: Any) -> str:
    """Write a value with all that it holds, its printed forms, and what its methods return."""
    lines: list[str] = []
    _show(value, "", lines, 0, ())
    return "\n".join(lines) + "\n"


def scalar(value: Any) -> str | None:
    """Write a single value; None where it is none."""
    if value is None or isinstance(value, (str, bytes, PurePath)):
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        # The short decimal is for reading; the bits are in the second.
        return f"{number!r} {number.hex()}" if math.isfinite(number) else repr(number)
    if isinstance(value, np.generic):
        return repr(value.item())
    return None


def numbers(values: Iterable[Any]) -> str:
    """Write many values without decimals, as long lines that are broken where they are wide."""
    words: list[str] = []
    for one in values:
        if isinstance(one, (float, np.floating)) and math.isfinite(one):
            words.append(float(one).hex().replace("0000000000000p", "p"))
        else:
            words.append(scalar(one) or repr(one))
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 1 > WIDEST:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def chart_text(chart: Any) -> str:
    """Write what a chart is made of, with names that do not depend on charts made before."""
    found: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        return found.setdefault(match[0], f"{match[1]}#{len(found)}")

    return CHART.sub(renamed, json.dumps(chart.to_dict(), indent=1, default=str))


def _show(value: Any, indent: str, lines: list[str], depth: int, above: tuple[int, ...]) -> None:
    # A measure is its text form, wherever it is not what was asked for.
    text = scalar(str(value) if depth and _is_measure(value) else value)
    if text is not None:
        lines.append(f"{indent}{text}")
        return
    if id(value) in above or depth > 8:
        lines.append(f"{indent}... {type(value).__name__}")
        return
    above = (*above, id(value))
    deeper = indent + "  "
    if isinstance(value, np.ndarray):
        lines.append(f"{indent}array {value.dtype} {value.shape}")
        _text(numbers(value.ravel().tolist()), deeper, lines)
    elif isinstance(value, pl.Series):
        lines.append(f"{indent}series {value.name!r} {value.dtype} {len(value)}")
        _text(numbers(value.to_list()), deeper, lines)
    elif isinstance(value, pl.DataFrame):
        lines.append(f"{indent}frame {value.shape}")
        for column in value:
            _show(column, deeper, lines, depth + 1, above)
    elif hasattr(value, "to_dict") and hasattr(value, "_repr_mimebundle_"):
        _text(chart_text(value), indent, lines)
    elif type(value).__name__ in HEAVY and depth > 0:
        lines.append(f"{indent}{type(value).__name__} {value!r}")
    else:
        _show_many(value, indent, lines, depth, above)


def _show_many(
    value: Any, indent: str, lines: list[str], depth: int, above: tuple[int, ...]
) -> None:
    """Show what holds other things: collections first, then objects of the library."""
    deeper = indent + "  "
    kind = type(value).__name__
    plain = type(value).__module__ in {"builtins", "collections", "types"}
    if isinstance(value, Mapping):
        lines.append(f"{indent}{kind} of {len(value)}")
        for key in value:
            lines.append(f"{deeper}{scalar(key) or key!r}:")
            _show(value[key], deeper + "  ", lines, depth + 1 - plain, above)
    elif isinstance(value, (set, frozenset)):
        lines.append(f"{indent}{kind} of {len(value)}")
        lines.extend(f"{deeper}{one}" for one in sorted(scalar(one) or repr(one) for one in value))
    elif isinstance(value, (list, tuple)):
        lines.append(f"{indent}{kind} of {len(value)}")
        for one in value:
            _show(one, deeper, lines, depth + 1 - plain, above)
    elif inspect.isgenerator(value):
        _show(list(islice(value, 1000)), indent, lines, depth, above)
    if not plain:
        _show_object(value, indent, lines, depth, above)
    elif not isinstance(value, (Mapping, set, frozenset, list, tuple)):
        lines.append(f"{indent}{kind} {value!r}")


def _show_object(
    value: Any, indent: str, lines: list[str], depth: int, above: tuple[int, ...]
) -> None:
    kind = type(value)
    deeper = indent + "  "
    lines.append(f"{indent}object {kind.__name__}")
    if inspect.isfunction(value) or inspect.isclass(value) or inspect.ismodule(value):
        lines.append(f"{deeper}{getattr(value, '__name__', '')}")
        return
    _text(repr(value), deeper + "repr ", lines)
    if str(value) != repr(value):
        _text(str(value), deeper + "str ", lines)
    if depth == 0 and hasattr(value, "_repr_html_"):
        _text(str(value._repr_html_()), deeper + "html ", lines)
    own = {one.name for one in fields(value)} if is_dataclass(value) else set()
    if isinstance(value, TableResult):
        own |= {name.replace(" ", "_") for name in value.rows.columns}
    for name in sorted({*dir(kind), *own, *getattr(value, "__dict__", {})}):
        if name.startswith("_") or name in NEVER:
            continue
        if isinstance(value, Result) and name in OF_EVERY_RESULT:
            continue
        try:
            found = getattr(value, name)
            called = callable(found) and inspect.isroutine(found)
            if called and (depth > 1 or not _can_be_called(name, found)):
                continue
            found = found() if called else found
        except Exception as error:
            lines.append(f"{deeper}.{name} error {type(error).__name__}: {error}")
            continue
        if _is_inner(found):
            continue
        lines.append(f"{deeper}.{name}{'()' if called else ''}")
        _show(found, deeper + "  ", lines, depth + 1, above)


def _is_inner(value: Any) -> bool:
    """Whether a value is of a class of the library that says nothing by itself."""
    kind = type(value)
    ours = kind.__module__.startswith("cranfield")
    return (
        ours
        and not issubclass(kind, (Mapping, enum.Enum))
        and not _is_measure(value)
        and (kind.__name__ not in OPEN)
    )


def _is_measure(value: Any) -> bool:
    return hasattr(value, "takes_cutoff") and not inspect.isclass(value)


def _can_be_called(name: str, method: Any) -> bool:
    """Whether a method needs nothing and changes nothing."""
    if name.startswith("write") or inspect.isbuiltin(method):
        return False
    try:
        given = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return False
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return all(one.default is not one.empty and one.kind not in free for one in given)


def _text(text: str, indent: str, lines: list[str]) -> None:
    lines.extend(f"{indent}{line}" for line in text.split("\n"))
