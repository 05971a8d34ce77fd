"""Commands on measures and references: `measures`, `cite`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import click

import cranfield as cf
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError
from cranfield.base.text import format_json
from cranfield.cli import options as cli
from cranfield.measures.families import KINDS
from cranfield.measures.listing import Entry, find_entries, group_by_family, list_entries

if TYPE_CHECKING:
    from cranfield.scales.measure_scales import ScaleFacts

WIDTH = 132  # width of the list without a terminal, in characters
NOTHING = "nothing"  # value of --needs for measures that need binary judgments only


@cli.command()
@click.argument("name", required=False)
@cli.own_options("long family needs")
@cli.options_from(
    "cranfield.scale_of",
    "length grades judgments",
    requires="NAME",
    judgments={
        "type": int,
        "help": "Number of relevant documents of the topic; by default equal to --length.",
    },
)
@cli.own_options("format")
@cli.output_option
def measures(
    name: str | None,
    *,
    long: bool = False,
    family: str | None,
    needs: str | None,
    format: Literal["text", "json"] = "text",
    output: str | None,
    **run_options: int | None,
) -> None:
    """List the measures, or describe the measure NAME.

    NAME may have parameters, such as "RBP(p=0.5)@10", to which the scale and source then apply. For
    a measure with a cutoff, or with --length, the values on all runs of this length are described,
    too: their spacing, their scale with a counterexample, and the statistics and significance tests
    that the scale admits.

    Parameters
    ----------
    long
        Show the formula, parameters and source of each measure.
    family
        List only families of measures with this word in their name.
    needs
        List only measures that need this input, such as lengths; the word nothing lists measures
        that need only binary judgments.
    format
        Output format; JSON has all fields.

    Examples
    --------
    cranfield measures
    cranfield measures nDCG
    cranfield measures "RBP(p=0.5)@10"
    cranfield measures nDCG --length 10 --grades 3
    cranfield measures --family diversity
    cranfield measures --needs lengths
    """
    catalogue = list_entries() if name is None else find_entries(name)
    if family is not None:
        catalogue = _select_family(family, catalogue)
    if needs is not None:
        catalogue = _select_needs(needs, catalogue)
    has_run_options = any(map(cli.is_set, run_options))
    if has_run_options and len(catalogue) > 1:
        raise PolicyError(
            f"--length, --grades and --judgments require a single measure, got {name}"
        )
    facts = None
    if name is not None and len(catalogue) == 1:
        from cranfield.reporting.comparison_formats import convert_scale, format_scale

        facts = _describe_scale(name, catalogue[0], run_options, has_run_options)
    if format == "json":
        records = [entry.to_dict() for entry in catalogue]
        if facts is not None:
            records[0]["on runs"] = (
                {"refused": facts} if isinstance(facts, str) else convert_scale(facts)
            )
        text = format_json(records)
    elif name is not None or long:
        text = "\n".join(map(str, catalogue))
        if isinstance(facts, str):
            text += f"\nscale on runs of one length: not computed; {facts}\n"
        elif facts is not None:
            text += f"\n{format_scale(facts)}"
    else:
        text = _format_list(catalogue, output)
    cli.write(text, output)


def _describe_scale(
    name: str, entry: Entry, run_options: dict[str, Any], is_required: bool
) -> ScaleFacts | str | None:
    """Describe the scale on runs of a length, or return why it is unknown if not required."""
    from cranfield.scales.measure_scales import describe_scale

    if entry.kind == KINDS[2] and not is_required:
        return None
    try:
        return describe_scale(name, **run_options)
    except CranfieldError as error:
        if is_required:
            raise
        return cli.as_options(str(error), click.get_current_context().command)


def _select_family(word: str, catalogue: list[Entry]) -> list[Entry]:
    members = [entry for entry in catalogue if word.lower() in entry.info.family.lower()]
    if not members:
        names = ", ".join(group_by_family(catalogue))
        if len(catalogue) == 1:
            raise MeasureError(f"{catalogue[0].info.name} is in the family {names!r}, not {word!r}")
        raise MeasureError(f"unknown family {word!r}; expected one of: {names}")
    return members


def _select_needs(word: str, catalogue: list[Entry]) -> list[Entry]:
    members = [
        entry
        for entry in catalogue
        if (not entry.info.needs if word == NOTHING else word.lower() in entry.info.needs.lower())
    ]
    if not members and len(catalogue) == 1:
        info = catalogue[0].info
        raise MeasureError(f"{info.name} needs {info.needs or NOTHING}, not {word!r}")
    if not members:
        raise MeasureError(
            f"unknown input {word!r} in --needs; expected an input of a measure, such as lengths"
        )
    return members


def _format_list(catalogue: list[Entry], output: str | None) -> str:
    from rich import box
    from rich.table import Table

    from cranfield.reporting.terminal import draw_with_rich

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    table.add_column("description")
    table.add_column("trec_eval", no_wrap=True)
    for family, members in group_by_family(catalogue).items():
        table.add_section()
        table.add_row(f"[bold]{family}[/bold]")
        for entry in members:
            trec_name = entry.info.elsewhere.get("trec_eval", "").split(" (")[0].split(" with")[0]
            table.add_row(entry.form.replace("[@", r"\[@"), entry.info.summary, trec_name)
    is_on_terminal = output in {None, "-"} and sys.stdout.isatty()
    hint = "cranfield measures NAME shows formula, parameters, source and scale; --long shows all."
    return f"{draw_with_rich(table, None if is_on_terminal else WIDTH)}{hint}\n"


@cli.command()
@click.argument("names", metavar="[NAME...]", nargs=-1)
@cli.own_options("all=everything format")
@cli.output_option
def cite(
    names: tuple[str, ...],
    *,
    everything: bool = False,
    format: Literal["bibtex", "text"] = "bibtex",
    output: str | None,
) -> None:
    """List the works to cite for measures, tests and studies, and cranfield itself.

    NAME is a measure, a test, a correction, an effect size, a study, or the key of a work such as
    ferrante2021.

    Parameters
    ----------
    everything
        List every work that the package cites.
    format
        Format of the references.

    Examples
    --------
    cranfield cite AP nDCG@10 anova-2 tukey > references.bib
    cranfield cite discriminative-power --format text
    cranfield cite --all
    """
    from cranfield.reporting.references import read_works

    works = cf.cite(*names, *(read_works() if everything else ()))
    cli.write(works.to_bibtex() if format == "bibtex" else works.to_text(), output)
