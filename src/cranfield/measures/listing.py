"""Catalogue of measures: their declarations as text and as dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from cranfield.base.spec import format_value
from cranfield.measures.families import KINDS, REGISTRY

if TYPE_CHECKING:
    from cranfield.measures import Info
    from cranfield.measures.base import Measure

INFO_FIELDS = (
    *("aliases", "family", "summary", "formula", "range", "aggregate", "lower_is_better"),
    *("needs", "source", "scale", "scale_note", "elsewhere"),
)
"""Fields of :class:`Info` in JSON, in order."""


@dataclass(frozen=True)
class ParameterInfo:
    """Default and value of a parameter, as text, and its documentation."""

    default: str
    doc: str
    value: str | None = None

    def __str__(self) -> str:
        default = f"default {self.default}"
        return default if self.value in {None, self.default} else f"{self.value}; {default}"


@dataclass(frozen=True)
class Entry:
    """Entry of the catalogue: a class of measures, or a measure with its parameters."""

    measure_class: type[Measure]
    measure: Measure | None = None

    @property
    def kind(self) -> str:
        return self.measure_class.kind

    @property
    def form(self) -> str:
        """Template of the text form, such as `AP[@…]`."""
        info = self.measure_class.info
        if self.kind == KINDS[1]:
            return f"{info.name}(…)"
        return info.name + {"required": "@…", "optional": "[@…]"}.get(info.at_usage, "")

    @property
    def info(self) -> Info:
        """Declaration of the measure; for nested measures, with the family of the outer measure."""
        info = self.measure_class.info
        return info if self.measure is None else replace(self.measure.info, family=info.family)

    @property
    def source(self) -> str:
        return self.measure_class.info.sources if self.measure is None else self.measure.source

    @property
    def scale(self) -> str:
        """Scale type; if it depends on the grades, one for each highest grade from 1 to 3."""
        if self.measure is None:
            return str(self.measure_class.info.scale)
        scales = {grade: self.measure.find_grade_scale(grade) for grade in (1, 2, 3)}
        if len({*scales.values()}) == 1:
            return str(self.measure.scale)
        return ", ".join(f"{scale} for grades 0 to {grade}" for grade, scale in scales.items())

    @property
    def parameters(self) -> dict[str, ParameterInfo]:
        infos = {}
        for name in self.measure_class.list_parameter_names():
            parameter = self.measure_class.parameters[name]
            value = None if self.measure is None else format_value(getattr(self.measure, name))
            infos[name] = ParameterInfo(format_value(parameter.default), parameter.doc, value)
        return infos

    def __str__(self) -> str:
        info = self.info
        low, high = info.range
        scale = f"{self.scale}, for the measure's own order of rankings"
        fields = [
            ("measure", None if self.measure is None else str(self.measure)),
            ("kind", None if self.kind == KINDS[0] else f"{self.kind}, written {self.form}"),
            ("formula", info.formula),
            ("range", f"{low:g} to {high:g}"),
            ("over topics", info.aggregate),
            ("source", self.source),
            ("needs", info.needs or None),
            ("scale", None if self.kind == KINDS[2] else scale),
            ("", info.scale_note or None),
            *info.elsewhere.items(),
        ]
        names = ", ".join((info.name, *info.aliases))
        text = f"{names}: {info.summary}\n\n"
        text += "".join(f"  {name:<11} {value}\n" for name, value in fields if value is not None)
        if self.parameters:
            text += "\n  parameters\n"
        for name, parameter in self.parameters.items():
            text += f"    {name:<12} {parameter.doc} ({parameter})\n"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a dictionary of JSON types."""
        info = self.info
        fields: dict[str, Any] = {"name": info.name, "kind": self.kind, "form": self.form}
        if self.measure is not None:
            fields["measure"] = str(self.measure)
        return fields | {
            **{name: getattr(info, name) for name in INFO_FIELDS},
            "aliases": list(info.aliases),
            "range": [bound if isfinite(bound) else None for bound in info.range],
            "source": self.source,
            "scale": None if self.kind == KINDS[2] else self.scale,
            "elsewhere": dict(info.elsewhere),
            "parameters": {
                name: {"default": parameter.default, "what": parameter.doc}
                | ({} if parameter.value is None else {"value": parameter.value})
                for name, parameter in self.parameters.items()
            },
        }


def list_entries() -> list[Entry]:
    """Return an entry for each registered measure."""
    return [Entry(measure_class) for measure_class in REGISTRY.values()]


def group_by_family(catalogue: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Group entries by family, in order of appearance."""
    groups: dict[str, list[Entry]] = {}
    for entry in catalogue:
        groups.setdefault(entry.info.family, []).append(entry)
    return groups


def find_entries(name: str) -> list[Entry]:
    """Return the entry with a name or alias, or the entries of all measures in a text."""
    from cranfield.measures import parse_measures

    for entry in list_entries():
        if name == entry.info.name or name in entry.info.aliases:
            return [entry]
    return [
        Entry(REGISTRY[measure.name], None if str(measure) == measure.name else measure)
        for measure in parse_measures(name)
    ]
