"""`cranfield answers`: scores of texts, by their nuggets, citations or reference texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import MeasureError, PolicyError, warn
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import Output, Printing, output_options, table_options

if TYPE_CHECKING:
    from cranfield.scores import Scores

EPILOG = """\b
Examples:
  cranfield answers --nuggets nuggets.csv answers.csv
  cranfield answers --nuggets 1C2.nuggets runs/*.matches -m SSharp -m "SMeasure(L=500)"
  cranfield answers --assignments assignments.jsonl -m "VitalScore(strict=True)" -q
  cranfield answers --citations citations.csv --format csv -o scores.csv
  cranfield answers --references references.csv summaries.csv -m "RougeN(n=2, of='F')"
"""

DEFAULTS = {
    "nuggets": ("NuggetRecall", "WRecall", "NuggetF", "SSharp"),
    "assignments": ("AllScore", "VitalScore", "VitalScore(strict=True)"),
    "citations": ("CitationPrecision", "CitationRecall", "CitationF"),
    "references": ("RougeN(of='F')", "RougeN(n=2, of='F')", "RougeL"),
}
"""Measures of each kind of data, where none is named."""


@command(
    epilog=EPILOG,
    first="measure nuggets assignments citations references system by-topic format output places",
)
@click.argument("answers", metavar="ANSWERS...", nargs=-1, required=True, type=READ)
@option(
    "--nuggets", metavar="FILE", help="Gold nuggets; ANSWERS say which each answer has.", type=READ
)
@option("--assignments", is_flag=True, help="ANSWERS are assignments of TREC RAG.")
@option("--citations", is_flag=True, help="ANSWERS is a table of judged citations.")
@option(
    "--references", metavar="FILE", help="Reference texts; ANSWERS is a table of texts.", type=READ
)
@option(
    "--measure",
    "asked",
    multiple=True,
    help="A measure of texts, such as SSharp or VitalScore; may be given several times.",
)
@option("--system", metavar="NAME", stands_for="name", help="The system, where a file names none.")
@one_of(
    "--tokeniser",
    ("alphanumeric", "whitespace"),
    "With --references: what a word is.",
    goes_with="--references",
)
@output_options()
@table_options
def answers(
    answers: tuple[str, ...],
    nuggets: str | None,
    assignments: bool,
    citations: bool,
    references: str | None,
    asked: tuple[str, ...],
    system: str | None,
    tokeniser: str | None,
    output: Output,
    printing: Printing,
) -> None:
    """Score answers by nuggets or citations, and summaries by reference texts.

    Say what the answers are with one of --nuggets, --assignments, --citations and --references.
    Without -m, the usual measures of that kind are computed.
    """
    output.check()
    kinds = {
        "nuggets": nuggets is not None,
        "assignments": assignments,
        "citations": citations,
        "references": references is not None,
    }
    chosen = [kind for kind, given in kinds.items() if given]
    if len(chosen) != 1:
        raise PolicyError(
            "give one of --nuggets FILE, --assignments, --citations, --references FILE"
            + (f", not {' and '.join(f'--{kind}' for kind in chosen)}" if chosen else "")
        )
    [kind] = chosen
    files = [*answers, *[one for one in (nuggets, references) if one is not None]]
    if files.count("-") > 1:
        raise PolicyError("standard input cannot be two files")
    from cranfield import evaluate_answers
    from cranfield.measures import parse_measures

    wanted = parse_measures(asked) if asked else None
    judged = _judged(kind, _files(kind, answers), nuggets or references or "", tokeniser, system)
    scores = _usual(judged, DEFAULTS[kind]) if wanted is None else evaluate_answers(judged, wanted)
    output.write(scores, printing)


def _files(kind: str, answers: tuple[str, ...]) -> Any:
    if len(answers) == 1:
        return answers[0]
    if kind in {"nuggets", "assignments"}:
        return list(answers)
    raise PolicyError(f"--{kind} takes one file of answers, whose column system tells them apart")


def _judged(kind: str, data: Any, gold: str, tokeniser: str | None, name: str | None) -> Any:
    from cranfield import texts

    if kind == "nuggets":
        return texts.judge_answers(data, gold, name=name)
    if kind == "assignments":
        return texts.read_nugget_assignments(data, name=name)
    if kind == "citations":
        return texts.read_citations(data, name=name)
    return texts.judge_summaries(data, gold, tokeniser=tokeniser or "alphanumeric", name=name)


def _usual(judged: Any, names: tuple[str, ...]) -> dict[str, Scores]:
    """Compute the usual measures; say which of them need more than is known."""
    from cranfield import evaluate_answers

    scores: dict[str, Scores] = {}
    for name in names:
        try:
            scores |= evaluate_answers(judged, name)
        except MeasureError as error:
            warn(f"{error}, so it is left out", stacklevel=2)
    return scores
