"""`cranfield study interleaving`: how many impressions it takes to tell systems apart."""

from __future__ import annotations

from typing import Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.conditions import refuse_given
from cranfield.cli.options.declaring import READ, command
from cranfield.cli.options.judging import (
    OF_DOCUMENTS,
    alpha_option,
    measures_option,
    wanted_measures,
)
from cranfield.cli.options.reading import Reading
from cranfield.cli.studies.study_options import StudyOptions, study_option, study_options
from cranfield.meta.work.options import OneOf, Proportion, Repeats, Whole

EPILOG = """\b
Examples:
  cranfield study interleaving qrels.txt runs/*.xz -m nDCG@10
  cranfield study interleaving qrels.txt runs/*.xz --methods "TeamDraft,Probabilistic(tau=1)"
  cranfield study interleaving qrels.txt runs/*.xz --users perfect --resume work/ --jobs 4
"""


@command(
    epilog=EPILOG,
    first="measure methods users pairs impressions length power resume format table output jobs",
)
@click.argument("qrels", type=READ)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=READ)
@measures_option(("nDCG@10",))
@study_option(
    "interleaving_sensitivity",
    "methods",
    "Methods of interleaving, with commas between them; A/B tests are always done.",
    default="Balanced,TeamDraft,Probabilistic,Optimised,PairwisePreference",
)
@study_option(
    "interleaving_sensitivity",
    "users",
    "Simulated users, with commas between them.",
    default="perfect,navigational,informational",
)
@study_option(
    "interleaving_sensitivity",
    "stop",
    "Where users may stop.",
    kind=OneOf(("examined", "clicked")),
    default="examined",
)
@study_option(
    "interleaving_sensitivity",
    "pairs",
    "Pairs of systems; of more, so many are drawn.",
    kind=Whole(1),
    default=50,
)
@study_option(
    "interleaving_sensitivity",
    "impressions",
    "Simulated impressions of each topic.",
    kind=Repeats,
    default=1000,
)
@study_option(
    "interleaving_sensitivity", "length", "Ranks that are shown.", kind=Whole(1, 100), default=10
)
@study_option(
    "interleaving_sensitivity",
    "power",
    "Chance to find the better system.",
    kind=Proportion,
    default=0.8,
)
@alpha_option
@study_options()
def interleaving(
    qrels: str, runs: tuple[str, ...], asked: tuple[str, ...], options: StudyOptions, **more: Any
) -> None:
    """Simulate users of pairs of systems: impressions needed, by interleaving and by A/B tests.

    The share of wins and of ties tells how many impressions the sign test needs, and clicks a page
    how many an A/B test does; signs are compared with those of an offline measure. With --rel,
    users know two grades.
    """
    from cranfield import meta

    judging = options.judging
    unused = ("unjudged", "negative", "depth", "max_grade", "topics_with_grade", *OF_DOCUMENTS)
    refuse_given(unused, "does not go with simulated users")
    rel, compat = judging["rel"], judging["compat"]
    wanted = wanted_measures(asked, rel, compat)
    if len(wanted) != 1:
        raise PolicyError("signs are compared with those of one measure")
    options.check_table(meta.Sensitivity)
    reading = Reading.of(judging)
    many = reading.runs(qrels, runs)
    policies = {name: judging[name] for name in ("ties", "topics")}
    with options.work("interleaving") as work:
        found = meta.interleaving_sensitivity(
            many,
            reading.qrels(qrels),
            wanted[0],
            rel=rel,
            seed=options.seed,
            compat=compat,
            **policies,
            **more,
            **work,
        )
    options.show(found)
