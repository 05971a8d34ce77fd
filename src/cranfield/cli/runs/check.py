"""`cranfield check`: every problem of files of judgments and runs, at once."""

from __future__ import annotations

from typing import Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.hints import as_options
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import output_option, write
from cranfield.cli.options.reading import numbers_option, separator_option
from cranfield.collection.files.format_names import FORMATS

EPILOG = """\b
Examples:
  cranfield check qrels.txt runs/*.gz
  cranfield check qrels.txt bm25.run --all --format json -o problems.json
"""


@command(epilog=EPILOG)
@click.argument("qrels", metavar="QRELS", type=READ)
@click.argument("runs", metavar="[RUN...]", nargs=-1, type=READ)
@one_of("--input-format", FORMATS, "Format of QRELS and RUN; auto looks at the suffix.", "auto")
@option("--encoding", default="utf-8", show_default=True, help="Of TREC text.")
@separator_option
@numbers_option
@option("--all", "all_faults", is_flag=True, help="Say each problem, not 25 of a kind.")
@one_of("--format", ("text", "json"), "How to write the problems.", "text")
@output_option
def check(
    qrels: str,
    runs: tuple[str, ...],
    input_format: str,
    format: str,
    output: str | None,
    **options: Any,
) -> int:
    """Find every problem of judgments and runs, and between them, at once.

    Each is a line with file, line, what is wrong and a code. Errors are that for which a file is
    refused; warnings are odd, and notes good to know. The exit status is 1 where a file would be
    refused, else 0. Rules of a shared task are checked by `cranfield campaign check`.
    """
    import cranfield as cf
    from cranfield.campaign.checks.writing import as_json

    if "-" in {qrels, *runs}:
        raise PolicyError("check goes through files twice; it takes no standard input")
    found = cf.check(qrels, runs, format=input_format, **options)
    this = click.get_current_context().command
    found = found.reworded(lambda text: as_options(text, this))
    write(f"{as_json(found.files) if format == 'json' else found}\n", output)
    return 0 if found.accepted else 1
