"""`cranfield scale`: which scale a measure is on."""

from __future__ import annotations

import click

from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import output_option, write

EPILOG = """\b
Examples:
  cranfield scale DCG@10
  cranfield scale "RBP(p=0.5)" --length 10
  cranfield scale nDCG@10 --grades 3 --format json
"""


@command(epilog=EPILOG)
@click.argument("measure")
@option("--length", type=int, help="Length of runs; by default the cutoff.")
@option("--grades", type=int, default=1, show_default=True, help="Highest grade; 1 is binary.")
@option("--judgments", type=int, help="Relevant documents of the topic; by default enough.")
@one_of("--format", ("text", "json"), "How to write it.", "text")
@output_option
def scale(
    measure: str,
    length: int | None,
    grades: int,
    judgments: int | None,
    format: str,
    output: str | None,
) -> None:
    """Tell on which scale a measure is, for runs of a length: its values, their spacing, a witness.

    And which statistics and significance tests that scale admits.
    """
    from cranfield.reporting.text import scale_formats
    from cranfield.scales.verdicts.scale_of import about_scale

    found = about_scale(measure, length, grades, judgments=judgments)
    text = scale_formats.json_text(found) if format == "json" else scale_formats.plain_text(found)
    write(text, output)
