"""`cranfield measures`: what can be measured."""

from __future__ import annotations

import sys

import click

from cranfield.measures.base import REGISTRY, Measure
from cranfield.measures.grammar import parse_measures

EPILOG = """\b
Examples:
  cranfield measures
  cranfield measures nDCG
  cranfield measures --long
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False)
@click.option("--long", "-l", is_flag=True, help="All about each: formula, parameters, source.")
def measures(name: str | None, long: bool) -> None:
    """List the measures; with NAME, tell all about one."""
    if name is not None:
        _one(type(parse_measures(name)[0]) if name not in REGISTRY else REGISTRY[name])
    elif long:
        for place, kind in enumerate(REGISTRY.values()):
            click.echo("" if place else None, nl=bool(place))
            _one(kind)
    else:
        _list()


def _list() -> None:
    from rich import box
    from rich.table import Table

    from cranfield.report.terminal import shown

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measure", no_wrap=True)
    table.add_column("what it tells")
    table.add_column("trec_eval", no_wrap=True)
    family = ""
    for name, kind in REGISTRY.items():
        info = kind.info
        if info.family != family:
            family = info.family
            table.add_section()
            table.add_row(f"[bold]{family}[/bold]")
        at = {"required": "@…", "optional": "[@…]"}.get(info.at_wanted, "")
        elsewhere = info.elsewhere.get("trec_eval", "").split(" (")[0].split(" with")[0]
        table.add_row(f"{name}{at}".replace("[@", r"\[@"), info.summary, elsewhere)
    click.echo(shown(table, on_terminal=sys.stdout.isatty(), columns=3), nl=False)
    click.echo(
        "cranfield measures NAME tells the formula, the parameters and the source; --long, of all."
    )


def _one(kind: type[Measure]) -> None:
    info = kind.info
    low, high = info.range
    names = ", ".join((info.name, *info.aliases))
    click.echo(f"{names}: {info.summary}\n")
    click.echo(f"  formula     {info.formula}")
    click.echo(f"  range       {low:g} to {high:g}, over topics by {info.aggregate}")
    click.echo(f"  source      {info.source}")
    if info.needs:
        click.echo(f"  needs       {info.needs}")
    click.echo(f"  scale       {info.scale}, on the order that it induces itself")
    if info.scale_note:
        click.echo(f"              {info.scale_note}")
    for tool, other in info.elsewhere.items():
        click.echo(f"  {tool:<11} {other}")
    click.echo("\n  parameters")
    for name in kind.parameter_names():
        parameter = kind.parameters[name]
        default = getattr(parameter.default, "text", repr(parameter.default))
        click.echo(f"    {name:<12} {parameter.doc} (default {default})")
