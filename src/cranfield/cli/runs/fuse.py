"""`cranfield fuse`: one run of several."""

from __future__ import annotations

from typing import Any

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.options.declaring import READ, command, in_group, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import gathered, output_option, write
from cranfield.cli.options.progress import progress_of
from cranfield.cli.options.reading import Reading, reading_options
from cranfield.collection.judged.policies import CHOICES
from cranfield.fusion.names import METHODS, NORMS

EPILOG = """\b
Examples:
  cranfield fuse bm25.run dense.run -o fused.run
  cranfield fuse runs/ --method "RRF(k=10)" --limit 100 --name rrf -o fused.run.gz
  cranfield fuse bm25.run dense.run --method CombSUM --weights 0.3,0.7 -o linear.run
  cranfield fuse a.run b.run | cranfield evaluate qrels.txt - -m nDCG@10
  cranfield fuse --list
"""


@command(
    epilog=EPILOG,
    first="method norm weights depth limit name ties system duplicates jobs list output",
)
@click.argument("runs", metavar="RUN...", nargs=-1, type=READ)
@option(
    "--method",
    default="RRF",
    show_default=True,
    help=f"{', '.join(METHODS)}, with parameters such as RRF(k=10).",
)
@one_of("--norm", NORMS, "How scores are normalised, by methods that go by scores; else min-max.")
@option("--weights", metavar="NUMBERS", help="Of the runs, in their order, with commas: 0.3,0.7.")
@option("--depth", type=click.IntRange(1), help="Ranks kept of each ranking of RUN.")
@option(
    "--limit",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Documents of each topic that are written.",
)
@option("--name", help="Run tag of the fused run; by default the method.")
@one_of("--ties", CHOICES["ties"], "Order of documents with equal scores in RUN.", "trec")
@gathered(Reading, "reading", in_group("Input", reading_options))
@option("--jobs", type=click.IntRange(1), help="Runs read at a time; it changes no result.")
@option(
    "--metadata",
    is_flag=True,
    help="Begin with a header that says how it was made; other programs may not read that.",
)
@option("--list", "listed", is_flag=True, help="List the methods there are.")
@output_option
def fuse(
    runs: tuple[str, ...],
    weights: str | None,
    reading: Reading,
    metadata: bool,
    listed: bool,
    output: str | None,
    **options: Any,
) -> None:
    """Make one run of several, by their ranks, scores or votes.

    RUN is a file, a folder or a quoted pattern, two or more. The fused run is a TREC file, or what
    its suffix says, such as .csv and .parquet; .gz and the like are packed.
    """
    import cranfield as cf

    if listed:
        from cranfield.tabular import from_frame
        from cranfield.tabular.text import grid

        write(f"{grid(from_frame(cf.fusion_methods(), 'Methods of fusion'))}\n", output)
        return
    if not runs:
        raise PolicyError("give two runs or more, or --list")
    many = reading.runs(None, runs)
    numbers = None if weights is None else _numbers(weights)
    with progress_of(many) as progress:
        fused = cf.fuse(many, weights=numbers, progress=progress, **options)
    cf.write_run(fused, output or "-", metadata=metadata)


def _numbers(text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        raise PolicyError(f"--weights takes numbers such as 0.3,0.7, not {quoted(text)}") from None
