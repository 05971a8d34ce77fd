"""The catalogue of measures: the declaration of each, as text and as a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from cranfield.measures.families import KINDS

if TYPE_CHECKING:
    from cranfield.measures import Info
    from cranfield.measures.base import Measure

DECLARED = (
    *("aliases", "family", "summary", "formula", "range", "aggregate", "lower_is_better"),
    *("needs", "source", "scale", "scale_note", "elsewhere"),
)
"""Declared fields of a measure in JSON, in order."""


@dataclass(frozen=True)
class Setting:
    """A parameter: its default and value as text, and its meaning."""

    default: str
    doc: str
    value: str | None = None

    def __str__(self) -> str:
        default = f"default {self.default}"
        return default if self.value in {None, self.default} else f"{self.value}; {default}"


@dataclass(frozen=True)
class Entry:
    """A measure of the catalogue, or one with parameters that was named.

    Attributes
    ----------
    kind, form
        The kind of measure and how it is written, such as `AP[@…]`.
    info
        The declaration; that of the measure with its parameters if one was named.
    source, scale
        The works to cite and the scale, of the measure with its parameters if one was named.
    parameters
        The default, the meaning and, if a measure was named, the value of each parameter.
    maker
        The class of the measure.
    measure
        The measure that was named with parameters or a cutoff.
    """

    kind: str
    form: str
    info: Info
    source: str
    scale: str
    parameters: Mapping[str, Setting]
    maker: type[Measure]
    measure: Measure | None = None

    def __str__(self) -> str:
        info = self.info
        low, high = info.range
        scale = f"{self.scale}, for the order that the measure itself induces"
        lines = [
            ("measure", None if self.measure is None else str(self.measure)),
            ("kind", None if self.kind == KINDS[0] else f"{self.kind}, written {self.form}"),
            ("formula", info.formula),
            ("range", f"{low:g} to {high:g}, over topics by {info.aggregate}"),
            ("source", self.source),
            ("needs", info.needs or None),
            ("scale", None if self.kind == KINDS[2] else scale),
            ("", info.scale_note or None),
            *info.elsewhere.items(),
        ]
        names = ", ".join((info.name, *info.aliases))
        text = f"{names}: {info.summary}\n\n"
        text += "".join(f"  {word:<11} {value}\n" for word, value in lines if value is not None)
        if self.parameters:
            text += "\n  parameters\n"
        for name, setting in self.parameters.items():
            text += f"    {name:<12} {setting.doc} ({setting})\n"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return all declared fields in types of JSON."""
        info = self.info
        fields: dict[str, Any] = {"name": info.name, "kind": self.kind, "form": self.form}
        if self.measure is not None:
            fields["measure"] = str(self.measure)
        return fields | {
            **{name: getattr(info, name) for name in DECLARED},
            "aliases": list(info.aliases),
            "range": [end if isfinite(end) else None for end in info.range],
            "source": self.source,
            "scale": None if self.kind == KINDS[2] else self.scale,
            "elsewhere": dict(info.elsewhere),
            "parameters": {
                name: {"default": setting.default, "what": setting.doc}
                | ({} if setting.value is None else {"value": setting.value})
                for name, setting in self.parameters.items()
            },
        }


def entries() -> list[Entry]:
    from cranfield.measures import REGISTRY

    return [_entry(kind) for kind in REGISTRY.values()]


def _entry(kind: type[Measure], measure: Measure | None = None) -> Entry:
    info, source, scale = kind.info, kind.info.sources, str(kind.info.scale)
    if measure is not None:
        info, source, scale = measure.info, measure.source, _scale(measure)
        if kind.kind == KINDS[1]:
            # The family is that of the catalogue, not that of the measure inside.
            info = replace(info, family=kind.info.family)
    parameters = _parameters(kind, measure)
    return Entry(kind.kind, _form(kind), info, source, scale, parameters, kind, measure)


def _scale(measure: Measure) -> str:
    """Return the scale of a measure, by the highest grade where it depends on that."""
    scales = {highest: measure.scale_with(highest) for highest in (1, 2, 3)}
    if len({*scales.values()}) == 1:
        return str(measure.scale)
    return ", ".join(f"{scale} for grades 0 to {highest}" for highest, scale in scales.items())


def families(catalogue: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Group the entries by family, both in order of definition."""
    groups: dict[str, list[Entry]] = {}
    for entry in catalogue:
        groups.setdefault(entry.info.family, []).append(entry)
    return groups


def _form(kind: type[Measure]) -> str:
    if kind.kind == KINDS[1]:
        return f"{kind.info.name}(…)"
    return kind.info.name + {"required": "@…", "optional": "[@…]"}.get(kind.info.at_usage, "")


def _parameters(kind: type[Measure], measure: Measure | None) -> dict[str, Setting]:
    from cranfield.base.spec import text_of

    names = kind.parameter_names()
    if kind.kind == KINDS[1]:
        names = [name for name in names if name not in {"cutoff", "judged_only"}]
    settings = {}
    for name in names:
        parameter = kind.parameters[name]
        value = None if measure is None else text_of(getattr(measure, name))
        settings[name] = Setting(text_of(parameter.default), parameter.doc, value)
    return settings


def entries_named(name: str) -> list[Entry]:
    """Return the entry with this name, or an entry for each measure that a text stands for."""
    from cranfield.measures import REGISTRY, parse_measures

    for entry in entries():
        if name == entry.info.name or name in entry.info.aliases:
            return [entry]
    matches = []
    for measure in parse_measures(name):
        kind = REGISTRY[measure.name]
        is_bare_name = str(measure) == measure.name
        matches.append(_entry(kind) if is_bare_name else _entry(kind, measure))
    return matches
