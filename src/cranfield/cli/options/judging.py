"""Options that several commands share: how to read runs and judgments, and how to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.threads import BACKENDS
from cranfield.cli.options.conditions import tell_without_effect
from cranfield.cli.options.declaring import READ, Named, in_group, option
from cranfield.cli.options.output import with_options
from cranfield.cli.options.progress import progress_of
from cranfield.cli.options.reading import (
    Reading,
    reading_options,
    subtopics_option,
    ungraded_option,
    without_reading,
)
from cranfield.collection.judged.policies import CHOICES, NUMBERS, PRESETS, policies

if TYPE_CHECKING:
    from cranfield.collection.files.many_runs import Runs
    from cranfield.collection.judged.judged_runs import JudgedRuns
    from cranfield.evaluation.evaluation import Evaluation
    from cranfield.measures import Measure

Command = TypeVar("Command", bound=Callable[..., Any])


def one_of(
    name: str, options: Iterable[str], text: str, default: str | None = None, **more: Any
) -> Callable[[Command], Command]:
    return option(
        name,
        type=click.Choice(list(options)),
        default=default,
        show_default=default is not None,
        help=text,
        **more,
    )


def measure_names() -> list[str]:
    """List the measures for completion, with the cutoffs that most people use."""
    from cranfield.measures.families import HOME

    cut = ("AP", "P", "R", "RR", "nDCG", "Judged", "Success", "ERR", "RBP")
    return [*HOME, *(f"{name}@{depth}" for name in cut for depth in (5, 10, 20, 100, 1000))]


def measures_option(default: tuple[str, ...], **more: Any) -> Callable[[Command], Command]:
    return option(
        "--measure",
        "asked",
        type=Named(measure_names),
        multiple=True,
        default=default,
        show_default=" ".join(default),
        help="A measure, such as nDCG@10 or map; may be given several times.",
        group="Measures",
        stands_for="measure",
        **more,
    )


alpha_option = option(
    "--alpha", type=float, default=0.05, show_default=True, help="Significance level."
)
"""The option that sets the significance level."""


def missing_option(policies: Iterable[str], by: str = "") -> Callable[[Command], Command]:
    return one_of("--missing", policies, f"Where a system has no score{by}.")


def resamples_option(default: int, of: str = "", **more: Any) -> Callable[[Command], Command]:
    return option(
        "--resamples",
        type=click.IntRange(1),
        default=default,
        show_default=True,
        help=f"Random samples{of}.",
        **more,
    )


def seed_option(text: str, **more: Any) -> Callable[[Command], Command]:
    return option("--seed", type=click.IntRange(0), default=0, show_default=True, help=text, **more)


max_grade_option = option(
    "--max-grade",
    type=click.IntRange(1),
    help="Highest grade of the scale, for measures that depend on it.",
)

rel_option = option(
    "--rel",
    type=click.IntRange(0),
    help="Lowest relevant grade of measures that do not set it themselves.",
)

_JUDGING = (
    in_group(
        "Judging",
        (
            rel_option,
            one_of("--compat", PRESETS, "Policies and roundings of another program."),
            one_of("--ties", CHOICES["ties"], "Order of documents with equal scores."),
            one_of("--topics", CHOICES["topics"], "Which topics count."),
            one_of("--unjudged", CHOICES["unjudged"], "What becomes of unjudged documents."),
            one_of("--negative", CHOICES["negative"], "What a grade below 0 means."),
            option("--depth", type=click.IntRange(1), help="Ranks kept of each ranking."),
            max_grade_option,
            option(
                "--topics-with-grade",
                type=click.IntRange(1),
                help="Only topics with a document of this grade or higher.",
            ),
        ),
    )
    + in_group(
        "Input",
        (
            *reading_options,
            subtopics_option,
            ungraded_option,
            option(
                "--lengths", help="File of the lengths of documents: document, length.", type=READ
            ),
            option(
                "--groups",
                help="File of groups of documents: document, group[, weight].",
                type=READ,
            ),
            option(
                "--intents",
                help="File of intents: topic, intent, probability[, inf or nav].",
                type=READ,
            ),
            option(
                "--aspect",
                "aspects",
                multiple=True,
                metavar="NAME=QRELS",
                help="Judgments on another aspect than relevance; may be given several times.",
                type=READ,
            ),
        ),
    )
    + in_group(
        "Work",
        (
            option(
                "--jobs", type=click.IntRange(1), help="Number of workers; it changes no result."
            ),
            one_of("--backend", BACKENDS, "Where --jobs run: threads, and of studies processes."),
            option(
                "--scheduler",
                metavar="ADDRESS",
                goes_with="--backend=dask",
                help="Of --backend dask: tcp://host:port, or its file.",
            ),
        ),
    )
)

WORK = ("jobs", "backend", "scheduler")
"""Parameters that say where work is done; they change no result."""


POLICIES = ("rel", "compat", *CHOICES, *NUMBERS)
"""Parameters that say how runs are judged."""

OF_DOCUMENTS = ("lengths", "groups", "intents", "aspects")
"""Parameters of judging that name files about documents and topics besides the judgments."""


judging_options = with_options(_JUDGING)
"""The options of reading and judging."""


def wanted_measures(
    asked: Iterable[str | Measure], rel: int | None, compat: str | None = None
) -> list[Measure]:
    """Read the measures that were asked for; the package is loaded when one is."""
    from cranfield.measures.grammar import parse_measures

    return parse_measures(asked, compat=compat, rel=rel)


def paths_of(runs: Runs) -> list[str]:
    paths = (runs.path(k) for k in range(len(runs)))
    return [path for path in paths if path is not None]


def judged_runs(
    qrels: str,
    runs: tuple[str, ...] | Runs,
    *,
    aspects: tuple[str, ...] = (),
    reading: Reading | None = None,
    **given: Any,
) -> JudgedRuns:
    """Read and judge; policies are checked before any file is read."""
    from cranfield.collection.judged.given import telling_order
    from cranfield.collection.judged.judging import judge

    reading, judging = reading or Reading.of(given), without_reading(given)

    policies(judging["compat"], **{name: judging.get(name) for name in (*CHOICES, *NUMBERS)})
    subtopics = True if judging.get("intents") is not None else None
    order = "QRELS comes first: QRELS RUN..."
    with telling_order(runs, qrels, order):
        many = reading.runs(qrels, runs)
        judgments = reading.qrels(qrels, subtopics)
    with telling_order(runs, qrels, order), progress_of(many) as progress:
        return judge(many, judgments, aspects=aspects_of(aspects), progress=progress, **judging)


def aspects_of(given: tuple[str, ...]) -> dict[str, str]:
    """Take `NAME=QRELS` apart."""
    aspects: dict[str, str] = {}
    for one in given:
        name, sign, path = one.partition("=")
        if not (name and sign and path):
            raise PolicyError(f"--aspect {quoted(one)} is not of the form NAME=QRELS")
        if name in aspects:
            raise PolicyError(f"there are two files of the aspect {quoted(name)}")
        aspects[name] = path
    return aspects


def evaluated(
    qrels: str,
    runs: tuple[str, ...] | Runs,
    asked: Iterable[str | Measure],
    *,
    rel: int | None,
    compat: str | None,
    **judging: Any,
) -> Evaluation:
    """Read, judge and score; warn of what the judgments do not cover."""
    from cranfield.collection.judged.scorable import lowest_relevant
    from cranfield.evaluation.evaluation import score

    wanted = wanted_measures(asked, rel, compat)
    judged = judged_runs(qrels, runs, compat=compat, **judging)
    evaluation = score(judged, wanted, compat=compat)
    evaluation.warn()
    needs = " ".join(f"{' '.join(one.info.inputs)} {one.info.needs}" for one in wanted)
    unused = [name for name in OF_DOCUMENTS if name not in needs]
    tell_without_effect(unused, "no requested measure uses it")
    least = max(map(lowest_relevant, wanted))
    if judged.max_grade < least:
        warn(f"no judgment has grade {least} or more, which is what counts as relevant")
    return evaluation
