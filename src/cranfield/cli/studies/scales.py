"""`cranfield study scales`: what changes when measures are interval-scaled?"""

from __future__ import annotations

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.conditions import refuse_given
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import OF_DOCUMENTS, alpha_option, judged_runs
from cranfield.cli.studies.study_options import StudyOptions, study_option, study_options
from cranfield.meta.work.options import Numbers, OneOf

EPILOG = """\b
Examples:
  cranfield study scales qrels.txt runs/*.xz --cutoffs 5,10
  cranfield study scales qrels.txt runs/*.xz -m AP -m "DCG" --cutoffs 20 --format csv
"""


@command(
    epilog=EPILOG,
    first="measure cutoffs graded alpha rel compat resume format table output jobs",
)
@click.argument("qrels", type=READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@option(
    "--measure",
    "asked",
    multiple=True,
    help="A measure without cutoff; by default those of the paper.",
)
@study_option(
    "study_scales", "cutoffs", "Lengths of runs.", kind=Numbers(), default=(5, 10, 20, 30)
)
@option("--graded", is_flag=True, help="Keep grades; else all from --rel on count as 1.")
@study_option(
    "study_scales",
    "ties",
    "Ranks of runs that score alike.",
    "--interval-ties",
    kind=OneOf(("unique", "mid", "min", "max")),
    default="unique",
)
@alpha_option
@study_options(seed=False)
def scales(
    qrels: str,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    cutoffs: list[int],
    graded: bool,
    interval_ties: str,
    alpha: float,
    options: StudyOptions,
) -> None:
    """Measure what changes when measures are interval-scaled.

    For each measure and its interval-scaled version: how well the orders of systems agree, and
    which pairs of systems the tests tell apart (Ferrante, Ferro and Fuhr 2021, tables 2 to 6).
    """
    from cranfield import meta
    from cranfield.meta.of_scales.options import scale_options
    from cranfield.meta.of_scales.scale_study import MEASURES, TESTS

    judging = dict(options.judging)
    rel = judging.pop("rel")
    if graded and rel is not None:
        raise PolicyError("--rel says which grades become 1; with --graded all are kept")
    if not graded:
        refuse_given(("max_grade",), "requires --graded; without it grades are 0 and 1")
    refuse_given(OF_DOCUMENTS, "does not go with all runs of a length")
    options.check_table(meta.ScaleStudy)
    # The least that can be asked for: before files are read, which takes a while.
    scale_options(asked or MEASURES, cutoffs, TESTS, interval_ties, alpha).require(1, 2)
    judged = judged_runs(qrels, runs, **judging)
    if not graded:
        judged = judged.binary(1 if rel is None else rel)
    with options.work("scales") as work:
        study = meta.study_scales(
            judged, asked or MEASURES, cutoffs=cutoffs, ties=interval_ties, alpha=alpha, **work
        )
    options.show(study)
