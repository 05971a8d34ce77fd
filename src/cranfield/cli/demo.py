"""`cranfield demo`: the bundled collection, scored."""

from __future__ import annotations

import click


@click.command()
def demo() -> None:
    """Score the bundled systems of TREC-COVID round 5."""
    from rich.console import Console

    from cranfield.collections import trec_covid
    from cranfield.evaluation import evaluate
    from cranfield.report.terminal import systems_table

    collection = trec_covid()
    measures = ["nDCG@20", "P@20", "AP@100", "RR", "RBP(p=0.8)", "Judged@20"]
    evaluation = evaluate(collection.runs, collection.qrels, measures)
    console = Console()
    console.print(
        f"TREC-COVID round 5: {len(evaluation.systems)} systems of"
        f" {len(set(collection.teams.values()))} teams, {len(evaluation.topics)} topics,"
        f" {len(collection.qrels):,} judgments\n",
        highlight=False,
    )
    console.print(systems_table(evaluation))
    for note in evaluation.coverage.notes():
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
