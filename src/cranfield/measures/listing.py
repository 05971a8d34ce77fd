"""Catalogue of measures: their declarations as text and as dictionaries."""

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
    """Entry of the catalogue: a measure in general, or one with given parameters.

    Attributes
    ----------
    kind, form
        The kind of measure, and its text form, such as `AP[@…]`.
    info
        The declaration.
    source, scale
        The works to cite, and the scale.
    parameters
        The parameters by name.
    measure_class
        The class of the measure.
    measure
        The measure with its parameters; None for a measure in general.
    """

    kind: str
    form: str
    info: Info
    source: str
    scale: str
    parameters: Mapping[str, ParameterInfo]
    measure_class: type[Measure]
    measure: Measure | None = None

    def __str__(self) -> str:
        info = self.info
        low, high = info.range
        scale = f"{self.scale}, for the order that the measure itself induces"
        fields = [
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
            **{name: getattr(info, name) for name in DECLARED},
            "aliases": list(info.aliases),
            "range": [end if isfinite(end) else None for end in info.range],
            "source": self.source,
            "scale": None if self.kind == KINDS[2] else self.scale,
            "elsewhere": dict(info.elsewhere),
            "parameters": {
                name: {"default": parameter.default, "what": parameter.doc}
                | ({} if parameter.value is None else {"value": parameter.value})
                for name, parameter in self.parameters.items()
            },
        }


def entries() -> list[Entry]:
    """Return an entry for each registered measure."""
    from cranfield.measures import REGISTRY

    return [_entry(kind) for kind in REGISTRY.values()]


def _entry(kind: type[Measure], measure: Measure | None = None) -> Entry:
    info, source, scale = kind.info, kind.info.sources, str(kind.info.scale)
    if measure is not None:
        info, source, scale = measure.info, measure.source, _scale(measure)
        if kind.kind == KINDS[1]:
            # The family is that of the outer measure, not that of the inner one.
            info = replace(info, family=kind.info.family)
    parameters = _parameters(kind, measure)
    return Entry(kind.kind, _form(kind), info, source, scale, parameters, kind, measure)


def _scale(measure: Measure) -> str:
    """Describe the scale of a measure, by highest grade if the scale depends on it."""
    scales = {highest: measure.scale_with(highest) for highest in (1, 2, 3)}
    if len({*scales.values()}) == 1:
        return str(measure.scale)
    return ", ".join(f"{scale} for grades 0 to {highest}" for highest, scale in scales.items())


def families(catalogue: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Group entries by family, in order of appearance."""
    groups: dict[str, list[Entry]] = {}
    for entry in catalogue:
        groups.setdefault(entry.info.family, []).append(entry)
    return groups


def _form(kind: type[Measure]) -> str:
    """Return the text form of a class of measures, with its cutoff."""
    if kind.kind == KINDS[1]:
        return f"{kind.info.name}(…)"
    return kind.info.name + {"required": "@…", "optional": "[@…]"}.get(kind.info.at_usage, "")


def _parameters(kind: type[Measure], measure: Measure | None) -> dict[str, ParameterInfo]:
    from cranfield.base.spec import text_of

    names = kind.parameter_names()
    if kind.kind == KINDS[1]:
        names = [name for name in names if name not in {"cutoff", "judged_only"}]
    infos = {}
    for name in names:
        parameter = kind.parameters[name]
        value = None if measure is None else text_of(getattr(measure, name))
        infos[name] = ParameterInfo(text_of(parameter.default), parameter.doc, value)
    return infos


def entries_named(name: str) -> list[Entry]:
    """Return the entry with a name or alias, or the entries of all measures in a text."""
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
