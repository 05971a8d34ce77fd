"""`cranfield study reproduction`: how close did a repeated experiment come?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.base.errors import PolicyError
from cranfield.cli.options.conditions import refuse_given
from cranfield.cli.options.declaring import READ, command, option
from cranfield.cli.options.judging import aspects_of, measures_option, wanted_measures
from cranfield.cli.options.reading import Reading, without_reading
from cranfield.cli.studies.study_options import StudyOptions, study_option, study_options
from cranfield.meta.work.options import Proportion

EPILOG = """\b
Examples:
  cranfield study reproduction QRELS --original-baseline a.run --baseline b.run
  cranfield study reproduction QRELS --original-baseline bm25.run --original-advanced new.run
      --baseline my-bm25.run --advanced my-new.run -m AP -m nDCG@10
  cranfield study reproduction QRELS --other-qrels other.txt --original-baseline bm25.run
      --original-advanced new.run --baseline my-bm25.run --advanced my-new.run
"""


@command(
    epilog=EPILOG,
    first="original-baseline original-advanced baseline advanced other-qrels measure"
    " test format table output rel compat",
)
@click.argument("qrels", type=READ)
@option("--original-baseline", metavar="RUN", help="The baseline of the experiment.", type=READ)
@option("--original-advanced", metavar="RUN", help="The system that is to be better.", type=READ)
@option("--baseline", metavar="RUN", help="The baseline, repeated.", type=READ)
@option("--advanced", metavar="RUN", help="The other system, repeated.", type=READ)
@option(
    "--other-qrels",
    metavar="FILE",
    help="Judgments of the repeated runs, where their collection is another.",
    type=READ,
)
@measures_option(("AP", "nDCG@10", "P@10"))
@option("--test", help="Of both sets of scores.  [default: t; with --other-qrels welch]")
@study_option(
    "reproduce",
    "p",
    "Persistence of rank-biased overlap.",
    "--persistence",
    kind=Proportion,
    default=0.9,
)
@study_options(work=False)
def reproduction(
    qrels: str,
    original_baseline: str | None,
    original_advanced: str | None,
    baseline: str | None,
    advanced: str | None,
    other_qrels: str | None,
    asked: tuple[str, ...],
    test: str | None,
    persistence: float,
    options: StudyOptions,
) -> None:
    """Measure how well an experiment was repeated.

    On the same collection and topics it was reproduced: orders of documents, scores by topic, and
    the effect of the advanced system are compared. On another collection (--other-qrels) it was
    replicated: only distributions of scores and effects can be compared.
    """
    from cranfield import meta
    from cranfield.meta.reproduction.comparing import check_test

    refuse_given(("bad_runs",), "cannot be combined with runs that are needed by their roles")
    originals = _given({"baseline": original_baseline, "advanced": original_advanced})
    repeated = _given({"baseline": baseline, "advanced": advanced})
    if not originals or set(originals) != set(repeated):
        raise PolicyError(
            "give --original-baseline and --baseline, --original-advanced and --advanced, or all"
            " four"
        )
    lacking = [] if other_qrels is None else ["order means", "orders"]
    lacking += [] if len(originals) == 2 else ["effects"]
    options.check_table(meta.Reproduction, without=lacking)
    judging = dict(options.judging)
    rel = judging.pop("rel")
    reading, judging = Reading.of(judging), without_reading(judging)
    subtopics = True if judging["intents"] is not None else None
    judging["aspects"] = aspects_of(judging["aspects"])
    wanted = wanted_measures(asked, rel, judging["compat"])
    test = check_test(test or ("welch" if other_qrels else "t"), paired=other_qrels is None)
    common: dict[str, Any] = {"measures": wanted, "test": test, "seed": options.seed, **judging}
    common["qrels"] = reading.qrels(qrels, subtopics)
    sides = [
        {role: reading.run(path) for role, path in side.items()} for side in (originals, repeated)
    ]
    if other_qrels is None:
        options.show(meta.reproduce(*sides, p=persistence, **common))
    else:
        of_others = reading.qrels(other_qrels, subtopics)
        options.show(meta.replicate(*sides, other_qrels=of_others, **common))


def _given(runs: Mapping[str, str | None]) -> dict[str, str]:
    return {role: path for role, path in runs.items() if path is not None}
