"""Commands about measures: `measures`, `cite`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import CranfieldError, MeasureError, PolicyError
from cranfield.base.text import json_text
from cranfield.cli.options.declaring import command, is_given, option
from cranfield.cli.options.hints import as_options
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import output_option, write
from cranfield.cli.options.signatures import options_from
from cranfield.measures.families import KINDS

if TYPE_CHECKING:
    from cranfield.measures import Info
    from cranfield.measures.base import Measure
    from cranfield.scales.measure_scales import ScaleFacts


EPILOG = """\b
Examples:
  cranfield measures
  cranfield measures nDCG
  cranfield measures "IA(ERR@10)"
  cranfield measures "RBP(p=0.5)@10"
  cranfield measures nDCG --length 10 --grades 3
  cranfield measures --family diversity
  cranfield measures --needs lengths
  cranfield measures --format json -o catalogue.json
"""

WIDTH = 132
"""Columns of the list, where there is no terminal."""

DECLARED = (
    *("aliases", "family", "summary", "formula", "range", "aggregate", "lower_is_better"),
    *("needs", "source", "scale", "scale_note", "elsewhere"),
)
"""Declared fields of a measure in JSON, in order."""

NOTHING = "nothing"
"""Value of --needs for measures that need binary judgments only."""


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


@dataclass(frozen=True)
class Setting:
    """A parameter: its default and value as text, and its meaning."""

    default: str
    doc: str
    value: str | None = None

    def __str__(self) -> str:
        default = f"default {self.default}"
        return default if self.value in {None, self.default} else f"{self.value}; {default}"


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
    found: dict[str, list[Entry]] = {}
    for entry in catalogue:
        found.setdefault(entry.info.family, []).append(entry)
    return found


@command(epilog=EPILOG)
@click.argument("name", required=False)
@option("--long", is_flag=True, help="Show the formula, parameters and source of each measure.")
@option(
    "--family", metavar="WORD", help="List only families of measures with this word in their name."
)
@option(
    "--needs",
    metavar="WORD",
    help="List only measures that need this besides binary judgments, such as lengths; nothing:"
    " those that need only binary judgments.",
)
@options_from(
    "cranfield.scale_of",
    "length grades judgments",
    length={"goes_with": "NAME"},
    grades={"goes_with": "NAME"},
    judgments={
        "type": int,
        "goes_with": "NAME",
        "help": "Number of relevant documents of the topic; by default as many as the length.",
    },
)
@one_of("--format", ("text", "json"), "Output format; JSON has all fields.", "text")
@output_option
def measures(
    name: str | None,
    long: bool,
    family: str | None,
    needs: str | None,
    format: str,
    output: str | None,
    **runs: int | None,
) -> None:
    """List the measures, or describe the measure NAME.

    NAME may have parameters, as in "RBP(p=0.5)@10"; scale and source are then those of the measure
    with these parameters. For a measure with a cutoff or a --length, the values on all runs of that
    length are described, too: their spacing, the scale with a counterexample, and the statistics
    and significance tests that it admits.
    """
    chosen = entries() if name is None else _named(name, entries())
    if family is not None:
        chosen = _family(family, chosen)
    if needs is not None:
        word = needs.lower()
        chosen = [
            one
            for one in chosen
            if (not one.info.needs if needs == NOTHING else word in one.info.needs.lower())
        ]
        if not chosen:
            raise MeasureError(f"unknown input {needs!r} in --needs: no measure needs it")
    asked = any(map(is_given, runs))
    if asked and len(chosen) > 1:
        raise PolicyError(
            f"--length, --grades and --judgments require a single measure, got {name}"
        )
    facts = None if name is None or len(chosen) > 1 else _on_runs(name, chosen[0], runs, asked)
    if format == "json":
        from cranfield.reporting.comparison_formats import scale_dict

        listed = list(map(_as_dict, chosen))
        if facts is not None:
            listed[0]["on runs"] = (
                {"refused": facts} if isinstance(facts, str) else scale_dict(facts)
            )
        text = json_text(listed)
    elif name is not None or long:
        text = "\n".join(map(_description, chosen))
        if facts is not None:
            text += f"\n{_scale_lines(facts)}"
    else:
        text = _list(chosen, output)
    write(text, output)


def _on_runs(name: str, entry: Entry, runs: dict[str, Any], asked: bool) -> ScaleFacts | str | None:
    """Find the scale on runs of a length; the reason if it is unknown and was not requested."""
    from cranfield.scales.measure_scales import about_scale

    if entry.kind == KINDS[2] and not asked:
        return None
    try:
        return about_scale(name, **runs)
    except CranfieldError as error:
        if asked:
            raise
        return as_options(str(error), click.get_current_context().command)


def _scale_lines(facts: ScaleFacts | str) -> str:
    from cranfield.reporting.comparison_formats import scale_text

    return f"on runs of a length: {facts}\n" if isinstance(facts, str) else scale_text(facts)


def _form(kind: type[Measure]) -> str:
    if kind.kind == KINDS[1]:
        return f"{kind.info.name}(…)"
    return kind.info.name + {"required": "@…", "optional": "[@…]"}.get(kind.info.at_wanted, "")


def _parameters(kind: type[Measure], measure: Measure | None) -> dict[str, Setting]:
    from cranfield.base.spec import text_of

    names = kind.parameter_names()
    if kind.kind == KINDS[1]:
        names = [name for name in names if name not in {"cutoff", "judged_only"}]
    found = {}
    for name in names:
        parameter = kind.parameters[name]
        value = None if measure is None else text_of(getattr(measure, name))
        found[name] = Setting(text_of(parameter.default), parameter.doc, value)
    return found


def _named(name: str, catalogue: list[Entry]) -> list[Entry]:
    """Return the entry with this name, or an entry for each measure that a text stands for."""
    from cranfield.measures import REGISTRY, parse_measures

    for entry in catalogue:
        if name == entry.info.name or name in entry.info.aliases:
            return [entry]
    found = []
    for measure in parse_measures(name):
        kind = REGISTRY[measure.name]
        plain = str(measure) == measure.name
        found.append(_entry(kind) if plain else _entry(kind, measure))
    return found


def _family(word: str, catalogue: list[Entry]) -> list[Entry]:
    chosen = [one for one in catalogue if word.lower() in one.info.family.lower()]
    if not chosen:
        have = ", ".join(families(catalogue))
        if len(catalogue) == 1:
            raise MeasureError(f"{catalogue[0].info.name} is of the family {have!r}, not {word!r}")
        raise MeasureError(f"unknown family {word!r}; expected one of: {have}")
    return chosen


def _list(catalogue: list[Entry], output: str | None) -> str:
    from rich import box
    from rich.table import Table

    from cranfield.reporting.terminal import drawn_by_rich

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    table.add_column("description")
    table.add_column("trec_eval", no_wrap=True)
    for family, members in families(catalogue).items():
        table.add_section()
        table.add_row(f"[bold]{family}[/bold]")
        for one in members:
            elsewhere = one.info.elsewhere.get("trec_eval", "").split(" (")[0].split(" with")[0]
            table.add_row(one.form.replace("[@", r"\[@"), one.info.summary, elsewhere)
    on_terminal = output in {None, "-"} and sys.stdout.isatty()
    hint = "cranfield measures NAME shows formula, parameters, source and scale; --long, of all"
    " measures."
    return f"{drawn_by_rich(table, None if on_terminal else WIDTH)}{hint}\n"


def _description(one: Entry) -> str:
    info = one.info
    low, high = info.range
    names = ", ".join((info.name, *info.aliases))
    scale = f"{one.scale}, for the order that the measure itself induces"
    told = [
        ("measure", None if one.measure is None else str(one.measure)),
        ("kind", None if one.kind == KINDS[0] else f"{one.kind}, written {one.form}"),
        ("formula", info.formula),
        ("range", f"{low:g} to {high:g}, over topics by {info.aggregate}"),
        ("source", one.source),
        ("needs", info.needs or None),
        ("scale", None if one.kind == KINDS[2] else scale),
        ("", info.scale_note or None),
        *info.elsewhere.items(),
    ]
    lines = [f"{names}: {info.summary}", ""]
    lines += [f"  {word:<11} {text}" for word, text in told if text is not None]
    if one.parameters:
        lines += ["", "  parameters"]
    for name, setting in one.parameters.items():
        lines.append(f"    {name:<12} {setting.doc} ({setting})")
    return "\n".join(lines) + "\n"


def _as_dict(one: Entry) -> dict[str, Any]:
    info = one.info
    start: dict[str, Any] = {"name": info.name, "kind": one.kind, "form": one.form}
    if one.measure is not None:
        start["measure"] = str(one.measure)
    declared = {name: getattr(info, name) for name in DECLARED}
    return start | {
        **declared,
        "aliases": list(info.aliases),
        "range": [end if isfinite(end) else None for end in info.range],
        "source": one.source,
        "scale": None if one.kind == KINDS[2] else one.scale,
        "elsewhere": dict(info.elsewhere),
        "parameters": {
            name: {"default": setting.default, "what": setting.doc}
            | ({} if setting.value is None else {"value": setting.value})
            for name, setting in one.parameters.items()
        },
    }


CITE_EPILOG = """\b
Examples:
  cranfield cite AP nDCG@10 anova-2 tukey > references.bib
  cranfield cite discriminative-power --format text
  cranfield cite --all
"""


@command(epilog=CITE_EPILOG)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@option("--all", "everything", is_flag=True, help="List every work that the package cites.")
@one_of("--format", ("bibtex", "text"), "Format of the references.", "bibtex")
@output_option
def cite(
    names: tuple[str, ...],
    everything: bool,
    format: str,
    output: str | None,
) -> None:
    """List the works to cite for measures, tests and studies, and cranfield itself.

    NAME is a measure, a test, a correction, a study, or the key of a work such as ferrante2021.
    """
    from cranfield.reporting.references import cite as references
    from cranfield.reporting.references import entries

    works = references(*names, *(entries() if everything else ()))
    write(works.to_bibtex() if format == "bibtex" else works.to_text(), output)
