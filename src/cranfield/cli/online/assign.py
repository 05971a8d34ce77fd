"""`cranfield online assign`: who is in which variant of an experiment."""

from __future__ import annotations

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import output_option

EPILOG = """\b
Examples:
  cranfield online assign users.csv --name "new ranker"
  cranfield online assign users.txt --name e7 --weights control=0.9,new=0.1 -o assigned.csv
  cranfield online assign users.csv --name e7 --layer search --traffic 0-0.5
  cranfield online assign users.csv --name e7 --check
"""

FORMATS = ("csv", "json")
HASHES = ("md5", "growthbook-1", "growthbook-2")


def weights_of(text: str, option: str = "--weights") -> dict[str, float] | list[str]:
    """Read `control=0.5,new=0.5`, or names that share equally."""
    parts = [one.partition("=") for one in text.split(",")]
    if not any(sign for _, sign, _ in parts):
        return [name.strip() for name, _, _ in parts]
    try:
        return {name.strip(): float(share) for name, _, share in parts}
    except ValueError:
        raise PolicyError(f"{option} is such as control=0.5,new=0.5, not {quoted(text)}") from None


@command(epilog=EPILOG)
@click.argument("units", metavar="UNITS", type=READ)
@option("--name", required=True, help="Of the experiment: the salt of its variants.")
@option(
    "--weights",
    default="control,treatment",
    show_default=True,
    help="Variants, or their shares: control=0.9,new=0.1.",
)
@option(
    "--layer",
    help="Salt of the traffic, shared by experiments that exclude each other.",
    goes_with="--traffic",
)
@option(
    "--traffic", default="1", show_default=True, help="Share of units, or part of the layer: 0.5-1."
)
@one_of("--hash", HASHES, "How units become numbers.", "md5")
@option("--unit", default="user", show_default=True, help="Column of the ids.")
@option("--check", is_flag=True, help="Test whether units are spread as they should be.")
@one_of("--format", FORMATS, "How to write the table.", "csv")
@output_option
def assign(
    units: str,
    name: str,
    weights: str,
    layer: str | None,
    traffic: str,
    hash: str,
    unit: str,
    check: bool,
    format: str,
    output: str | None,
) -> None:
    """Assign units to the variants of an experiment, by hash: the same ones at every call.

    UNITS is a table with a column of ids, or text with one id a line. Units that are not in the
    experiment have no variant.
    """
    import polars as pl

    from cranfield.collection.files.writing import write_table
    from cranfield.online import Experiment, check_assignment
    from cranfield.sources.schemas import Column, Lines, Schema
    from cranfield.sources.tables import read_table
    from cranfield.sources.values import ID

    first, dash, last = traffic.partition("-")
    try:
        part = (float(first), float(last)) if dash else float(first)
    except ValueError:
        raise PolicyError(f"--traffic is such as 0.5 or 0.5-1, not {quoted(traffic)}") from None
    experiment = Experiment(name, weights_of(weights), layer, part, hash)
    schema = Schema(
        "table of units",
        (Column(unit, ID, "unit"),),
        lines=Lines((unit,), 1, cut=lambda line: [line.strip()] if line.strip() else []),
    )
    ids = read_table(units, schema).frame[unit]
    if check:
        frame = check_assignment([experiment], ids.unique(maintain_order=True))
    else:
        frame = pl.DataFrame({unit: ids, "variant": experiment.assign(ids)})
    write_table(frame, output or "-", format)
