"""`cranfield study pooling`: what smaller budgets of judgments would have found, and said."""

from __future__ import annotations

from typing import Any

import click

from cranfield.cli.options.conditions import refuse_given
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import (
    OF_DOCUMENTS,
    alpha_option,
    measures_option,
    missing_option,
    one_of,
    wanted_measures,
)
from cranfield.cli.options.reading import Reading
from cranfield.cli.studies.collection import contributors_of
from cranfield.cli.studies.study_options import (
    StudyOptions,
    refuse_resamples,
    study_option,
    study_options,
)
from cranfield.meta.work.options import Numbers, OneOf, Repeats, Resamples

EPILOG = """\b
Examples:
  cranfield study pooling qrels.txt runs/*.xz -m AP -m nDCG@10 --budgets 50,100,200
  cranfield study pooling qrels.txt runs/*.xz --methods "depth,RRF(k=10),MTF(seen='skip')"
  cranfield study pooling qrels.txt runs/*.xz --methods MaxMean,Thompson --resume work/ --jobs 4
"""


@command(
    epilog=EPILOG,
    first="measure methods budgets contributors teams lists test repeats resume table output jobs",
)
@click.argument("qrels", type=READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@measures_option(("AP",))
@study_option(
    "pooling",
    "methods",
    "Methods of judging a pool, with commas between them.",
    default="depth,RRF,Hedge,MTF,MaxMean",
)
@study_option(
    "pooling",
    "budgets",
    "Judgments of each topic.  [default: 5,10,20,50,100,200,300,500,1000 below the largest topic]",
    kind=Numbers(),
)
@option(
    "--contributors",
    default="judged",
    show_default=True,
    help="Runs that make the pool: judged, if their top documents down to --depth are; all; or a"
    " file with their tags, one a line.",
    type=READ,
)
@study_option("pooling", "teams", "Table of systems and their teams, to be left out together.")
@study_option(
    "pooling",
    "others",
    "Judgments of documents that no contributor pooled.",
    kind=OneOf(("keep", "drop")),
    default="keep",
)
@one_of(
    "--lists", ("raw", "condensed", "both"), "Lists with unjudged documents, or without.", "raw"
)
@study_option(
    "pooling",
    "test",
    "How pairs of systems are compared, such as t+holm.",
    "--test",
    "test",
    default="anova-2",
)
@alpha_option
@missing_option(("error", "drop", "zero"))
@study_option(
    "pooling",
    "resamples",
    "Random samples of tests that need them.",
    kind=Resamples,
    default=1000,
)
@study_option(
    "pooling",
    "repeats",
    "Repeats of methods that draw random numbers.",
    kind=Repeats,
    default=10,
)
@study_options()
def pooling(
    qrels: str,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    methods: str,
    contributors: str,
    lists: str,
    options: StudyOptions,
    **more: Any,
) -> None:
    """Judge a pool again by several methods, with smaller budgets.

    How many relevant documents the first judgments find, how well the order of systems by them
    agrees with that by all judgments, which significant differences stay, and what becomes of a
    team whose own documents are taken away. --depth is that of the pool, by default 100; all runs
    are scored to their end.
    """
    from cranfield import meta
    from cranfield.assess.pools.orders import DEPTH
    from cranfield.meta.of_collections.pooling import methods_of
    from cranfield.meta.of_tests.fast_tests import read_choice

    judging = options.judging
    refuse_given(("unjudged",), "is --lists here")
    refuse_given(OF_DOCUMENTS, "does not go with pools")
    refuse_given(("max_grade", "topics_with_grade"), "cannot be combined with pools")
    rel, compat = judging["rel"], judging["compat"]
    wanted = wanted_measures(asked, rel, compat)
    chosen = methods_of(methods)
    choice = read_choice(more["test"], **{k: more[k] for k in ("alpha", "missing", "resamples")})
    refuse_resamples([choice])
    options.check_table(meta.Pooling)
    reading = Reading.of(judging)
    many = reading.runs(qrels, runs)
    policies = {name: judging[name] for name in ("ties", "topics", "negative")}
    with options.work("pooling") as work:
        found = meta.pooling(
            many,
            reading.qrels(qrels),
            wanted,
            methods=chosen,
            contributors=contributors_of(contributors),
            lists=("raw", "condensed") if lists == "both" else lists,
            depth=judging["depth"] or DEPTH,
            rel=rel or 1,
            seed=options.seed,
            compat=compat,
            **policies,
            **more,
            **work,
        )
    options.show(found)
