"""`cranfield demo`: which systems of the bundled collection differ, and their scores."""

from __future__ import annotations

from cranfield.cli.options.declaring import command

PAGE = "cranfield-demo.html"
"""The report, in the folder where the command is called."""

SHOWN = 10
"""Systems in the table; the report has them all."""


@command()
def demo() -> None:
    """Say which of the bundled systems of TREC-COVID round 5 differ, and what that means.

    Ends with a report of it all, cranfield-demo.html, in the current folder.
    """
    from dataclasses import replace

    from rich.console import Console

    from cranfield.bundled import trec_covid
    from cranfield.evaluation.of_runs import evaluate
    from cranfield.reporting.page.report_page import report
    from cranfield.reporting.summary import lead, test_sentence
    from cranfield.reporting.text.interval_bars import with_bars
    from cranfield.reporting.text.terminal import rich_table, systems_table
    from cranfield.scales.statements.meaningful import meaning
    from cranfield.significance.comparison.compare import compare
    from cranfield.tabular.text import grid

    collection = trec_covid()
    measures = ["nDCG@20", "P@20", "AP@100", "RR", "RBP(p=0.8)", "Judged@20"]
    evaluation = evaluate(collection.runs, collection.qrels, measures)
    console = Console()

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    say(
        f"TREC-COVID round 5: {len(evaluation.systems)} systems of"
        f" {len(set(collection.teams.values()))} teams, {len(evaluation.topics)} topics,"
        f" {len(collection.qrels):,} judgments\n"
    )
    found = compare(evaluation[measures[0]])
    said = meaning(found)
    say(lead(found, measures[0]))
    say(test_sentence(found))
    say(
        f"Of these {found.count()} pairs, {said.holds} keep the order of means however the scale is"
        f" spaced; {measures[0]} is an {found.scores.scale} scale.\n"
    )
    ranking, bars = with_bars(found)
    say(f"{grid(replace(ranking, rows=ranking.rows[:SHOWN]))}\n{bars}")
    table = systems_table(evaluation)
    console.print(rich_table(replace(table, rows=table.rows[:SHOWN])))
    say(f"and {len(evaluation.systems) - SHOWN} more, with intervals and pairs, in the report")
    for note in (*evaluation.notes(), *found.notes):
        say(f"note: {note}")
    report(evaluation, PAGE, title=collection.name, command="cranfield demo")
    console.print(f"\nThe report: {PAGE}", highlight=False)
