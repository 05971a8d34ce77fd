"""`cranfield cite`: the works behind measures, tests, corrections and studies."""

from __future__ import annotations

import click

from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.judging import one_of
from cranfield.cli.options.output import output_option, write

EPILOG = """\b
Examples:
  cranfield cite -m AP -m nDCG@10 --test anova-2 --correction tukey > references.bib
  cranfield cite --study discriminative-power --format text
  cranfield cite --all
"""


@command(epilog=EPILOG)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@option("--measure", "measures", multiple=True, help="A measure, such as nDCG@10.")
@option("--test", "tests", multiple=True, help="A test, such as anova-2.")
@option("--correction", "corrections", multiple=True, help="Such as tukey.")
@option("--study", "studies", multiple=True, help="A study, such as discriminative-power.")
@option("--all", "everything", is_flag=True, help="Everything that the package refers to.")
@one_of("--format", ("bibtex", "text"), "How to write them.", "bibtex")
@output_option
def cite(
    names: tuple[str, ...],
    measures: tuple[str, ...],
    tests: tuple[str, ...],
    corrections: tuple[str, ...],
    studies: tuple[str, ...],
    everything: bool,
    format: str,
    output: str | None,
) -> None:
    """Write the works behind what was used, in BibTeX, and the entry of cranfield itself.

    NAME is a measure, a test, a correction, a study, or the key of a work.
    """
    from cranfield.measures.grammar import parse_measure
    from cranfield.reporting.references.citing import cite as cited
    from cranfield.reporting.references.citing import find_study
    from cranfield.reporting.references.works import entries
    from cranfield.significance.corrections.catalogue import find_correction
    from cranfield.significance.tests.catalogue import find_test

    found = cited(
        *names,
        *(parse_measure(one) for one in measures),
        *(find_test(one).info.name for one in tests),
        *(find_correction(one) for one in corrections),
        *(find_study(one) for one in studies),
        *(entries() if everything else ()),
    )
    text = found.to_bibtex() if format == "bibtex" else found.to_text()
    write(text, output)
