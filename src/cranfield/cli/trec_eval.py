"""`cranfield trec_eval`: trec_eval's options, and its output byte for byte."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options.declaring import READ, command, option

EPILOG = """\b
Examples:
  cranfield trec_eval -q -m official qrels.txt bm25.run
  cranfield trec_eval -c -M1000 -mndcg_cut.10,20 -l2 qrels.txt bm25.run
"""


@command("trec_eval", epilog=EPILOG, kin="evaluate")
@click.argument("qrels", metavar="QRELS", type=READ)
@click.argument("run", metavar="RUN", type=READ)
@option("-q", "--query_eval_wanted", "by_topic", is_flag=True, help="Also each topic.")
@option(
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME[.PARAMETERS]",
    help="Such as map, P.5,10 or official, the default; may be given several times.",
)
@option(
    "-c", "--complete_rel_info_wanted", "complete", is_flag=True, help="Average over all topics."
)
@option("-n", "--nosummary", "no_summary", is_flag=True, help="Without the lines of all.")
@option(
    "-l",
    "--level_for_rel",
    "rel",
    type=int,
    default=1,
    help="Lowest relevant grade; 1 if not given.",
)
@option("-J", "--Judged_docs_only", "judged_only", is_flag=True, help="Without unjudged documents.")
@option(
    "-M",
    "--Max_retrieved_per_topic",
    "depth",
    type=click.IntRange(1),
    help="Documents of a topic that count.",
)
@option(
    "-R",
    "--Rel_info_format",
    "form",
    type=click.Choice(["qrels", "prefs", "qrels_prefs", "qrels_jg"]),
    default="qrels",
    help="What the judgments are.",
)
@option("-Z", "--Zscore", "z_file", type=READ, help="Z scores, by a file of means and deviations.")
def trec_eval(
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    no_summary: bool,
    z_file: str | None,
    **options: Any,
) -> None:
    """Score a run as trec_eval 10 does: its options, and its output byte for byte.

    QRELS and RUN are files; RUN may be -. What trec_eval passes over in silence, such as a line
    that is cut short, is refused. Its options -N, -o, -T, -D and -v are not taken.
    """
    from cranfield.bridges.trec_eval import trec_eval_lines
    from cranfield.bridges.trec_eval.z_scores import read_z_scores

    lines = trec_eval_lines(
        qrels,
        run,
        measures or ("official",),
        summary=not no_summary,
        z_scores=None if z_file is None else read_z_scores(z_file),
        **options,
    )
    click.echo("".join(f"{line}\n" for line in lines), nl=False)
