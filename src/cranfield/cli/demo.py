"""`cranfield demo`: the bundled collection, scored, and which of its systems differ."""

from __future__ import annotations

from cranfield.cli.options.declaring import command

PAGE = "cranfield-demo.html"
"""The report, in the folder where the command is called."""


@command()
def demo() -> None:
    """Score the bundled systems of TREC-COVID round 5; say which differ, and what that means.

    Ends with a report of it all, cranfield-demo.html, in the current folder.
    """
    from rich.console import Console

    from cranfield.base.escape import plain
    from cranfield.bundled import trec_covid
    from cranfield.evaluation.of_runs import evaluate
    from cranfield.reporting.page.report_page import report
    from cranfield.reporting.text.terminal import rich_table, systems_table
    from cranfield.scales.statements.meaningful import meaning
    from cranfield.significance.comparison.compare import compare

    collection = trec_covid()
    measures = ["nDCG@20", "P@20", "AP@100", "RR", "RBP(p=0.8)", "Judged@20"]
    evaluation = evaluate(collection.runs, collection.qrels, measures)
    console = Console()

    def say(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    console.print(
        f"TREC-COVID round 5: {len(evaluation.systems)} systems of"
        f" {len(set(collection.teams.values()))} teams, {len(evaluation.topics)} topics,"
        f" {len(collection.qrels):,} judgments\n",
        highlight=False,
    )
    console.print(rich_table(systems_table(evaluation)))
    for note in evaluation.coverage.notes():
        say(f"note: {note}")

    found = compare(evaluation[measures[0]])
    top = found.top_group
    console.print("\nWhich systems differ?")
    for line in found.heading():
        say(line)
    console.print(f"\n{found.anova}\n", highlight=False, markup=False)
    say(
        f"{len(top)} of {len(found.systems)} systems are not separated from the best by"
        f" {measures[0]}: {', '.join(map(plain, top))}"
    )
    console.print("\nWhat does not depend on how the scale is spaced?")
    for line in meaning(found).lines()[1:]:
        say(line)
    report(evaluation, PAGE, title=collection.name, command="cranfield demo")
    console.print(f"\nThe report: {PAGE}", highlight=False)
