"""`cranfield compare`: which systems differ; `demo` does it with the bundled runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

import click

from cranfield.base.errors import PolicyError, warn
from cranfield.base.text import plain
from cranfield.cli.options.declaring import (
    READ,
    command,
    refuse_given,
    settings,
    tell_without_effect,
)
from cranfield.cli.options.judging import (
    JUDGING_SETTINGS,
    judged_runs,
    judging_options,
    measures_option,
)
from cranfield.cli.options.output import (
    MARKUP,
    Printing,
    output_option,
    table_options,
    write,
    write_results,
)
from cranfield.cli.options.scores import (
    Comparing,
    ScoreInput,
    comparing_options,
    scale_option,
    score_input,
)
from cranfield.cli.options.signatures import options_from
from cranfield.reporting.marks import MARKS, kind_of
from cranfield.result import together

if TYPE_CHECKING:
    from cranfield.result import Result
    from cranfield.scales.statements import Meaningfulness
    from cranfield.scores import Scores
    from cranfield.significance.checklist import Checklist
    from cranfield.significance.comparison.rank_sets import RankSets
    from cranfield.significance.comparison.result import PairwiseComparison
    from cranfield.significance.cost import CostEffectiveness
    from cranfield.significance.models.factors import FactorialAnova
    from cranfield.significance.preferences import PreferenceComparison
    from cranfield.significance.several.joint_measures import JointComparison
    from cranfield.significance.summary import Summary


EPILOG = """\b
Examples:
  cranfield compare qrels.txt runs/*.xz -m AP -m nDCG@10
  cranfield compare qrels.txt bm25.run dense.run -m nDCG@10 --test randomisation
  cranfield compare qrels.txt runs/*.xz -m AP --baseline bm25 --format latex
  cranfield compare qrels.txt runs/*.xz -m AP -m RR -b bm25 --marks symbols --format markdown
  cranfield compare --scores scores.csv --test friedman
  cranfield compare qrels.txt runs/*.xz -m AP --as ranks
  cranfield compare qrels.txt bm25.run -m AP --as summary
  cranfield compare qrels.txt runs/*.xz --as preferences
  cranfield compare qrels.txt runs/*.xz -m AP --as checklist
  cranfield compare qrels.txt grid/*.run -m AP --factors systems.csv
  cranfield compare qrels.txt runs/*.xz -m AP --costs seconds.csv
  cranfield compare --scores scores.csv --baseline bm25 --margin 2%
  cranfield compare qrels.txt runs/*.xz -m AP -m RR --joint
  cranfield compare qrels.txt runs/*.xz -m AP --as prose --format latex
  cranfield compare qrels.txt old.run new.run -m nDCG@10 -b old --margin 2% --fail-if-worse
"""

DEFAULT = ("AP", "nDCG@10")
OUTPUTS = ("text", "csv", "json", *MARKUP)


@command(
    epilog=EPILOG,
    first="measure scores baseline test correction margin fail-if-worse format as marks output rel",
)
@settings(
    f"statistic exact threshold topic-groups caption label long {JUDGING_SETTINGS}", flags="lower"
)
@score_input(measures_option(DEFAULT))
@scale_option
@comparing_options
@options_from(
    f"{__name__}.compare",
    "margin fail_if_worse joint strict",
    group="Comparison",
    margin={"metavar": "MARGIN"},
)
@options_from(
    f"{__name__}.compare",
    "format marks view topic_groups factors costs",
    group="Output",
    format={"type": click.Choice(OUTPUTS)},
    marks={"type": click.Choice(list(MARKS))},
    view={"flag": "--as view"},
    topic_groups={"type": READ},
    factors={"type": READ},
    costs={"type": READ},
)
@table_options
@output_option
@judging_options
def compare(
    source: ScoreInput,
    *,
    scale: str | None,
    comparing: Comparing,
    margin: str | None,
    fail_if_worse: bool = False,
    joint: bool = False,
    strict: bool = False,
    format: str = "text",
    marks: str | None,
    view: Literal[
        "pairs", "anova", "ranks", "prose", "summary", "preferences", "checklist"
    ] = "pairs",
    topic_groups: str | None,
    factors: str | None,
    costs: str | None,
    printing: Printing,
    output: str | None,
    **judging: Any,
) -> int:
    """Test which systems differ significantly.

    Scores come from runs and judgments, as for `cranfield evaluate`, or from files with --scores.
    The exit status is 0, or 1 by --fail-if-worse; 2 after an error.

    Parameters
    ----------
    margin
        Test equivalence and non-inferiority within a margin: a number is in the unit of the
        measure, a percentage such as 2% is relative to the mean of the second system.
    fail_if_worse
        Exit with status 1 if a system is significantly worse than --baseline; or, with --margin, if
        it is not shown to be non-inferior.
    joint
        Correct for the comparisons of all measures together, and show which pairs differ by which
        measures.
    strict
        Refuse tests that the measurement scale does not admit.
    format
        Output format.
    marks
        Write one table of all measures, with significance marked in this way.
    view
        Result to write: the pairs of systems; the pairs and the analysis of variance (anova); a
        leaderboard with confidence sets of ranks; a paragraph for a paper (prose); the mean of each
        system with its confidence interval, and wins, losses and a p-value against --baseline
        (summary), of one system too; preferences between rankings, which need no measure and no
        scale (preferences); or common mistakes of evaluations, each with a finding on this
        comparison (checklist).
    topic_groups
        Table with topic and group; each group is summarised, with --as summary.
    factors
        Table with system and a column for each component, such as stemmer and model, of which the
        systems are all combinations: analyse the effect of each component instead.
    costs
        Table with system and a column for each cost, such as seconds or joules: find the systems on
        the Pareto front of effectiveness and each cost instead.
    """
    from cranfield.scales.statements import meaningfulness
    from cranfield.significance.comparison.compare import compare as compared
    from cranfield.significance.comparison.equivalence import read_margin
    from cranfield.significance.registry import CORRECTIONS

    # Before any file is read.
    view_or_table = "factors" if factors is not None else "costs" if costs is not None else view
    other = _OTHER_VIEWS.get(view_or_table)
    if other is not None:
        result = other(source, scale, comparing, topic_groups or factors or costs, judging)
        _write_whole(result, format, output)
        return 0
    _check_view(view, format, printing, marks)
    if margin is not None:
        read_margin(margin)
    if marks is not None:
        _check_marks(marks, format, comparing, margin)
    others = strict or marks is not None or margin is not None or fail_if_worse or view == "anova"
    if (view == "ranks" and (joint or others)) or (joint and others):
        raise PolicyError(
            "--as ranks and --joint cannot be combined with each other, --marks, --strict,"
            " --margin, --as anova and --fail-if-worse"
        )
    if fail_if_worse and (len(comparing.baseline) != 1 or comparing.alternative != "two-sided"):
        raise PolicyError("--fail-if-worse requires a single --baseline and a two-sided test")
    asked_for = comparing.checked()
    scores = source.scores(judging, noted=format != "csv", scale=scale)
    if view == "ranks" or joint:
        boards = (_joint if joint else _ranks)(scores, asked_for, judging["jobs"])
        write(_boards(boards, format, view, printing), output)
        return 0
    found = {name: compared(one, jobs=judging["jobs"], **asked_for) for name, one in scores.items()}
    if all(one.seed is None for one in found.values()):
        tell_without_effect(("seed", "resamples"), "the test and the correction do not resample")
    if not any(name.startswith("exact") for one in found.values() for name in one.details):
        tell_without_effect(("exact",), "this test computes its p-values in one way only")
    if comparing.exact and all(CORRECTIONS[one.correction].random for one in found.values()):
        warn("--exact applies to raw p-values only; adjusted p-values are estimated by resampling")
    meanings = {name: meaningfulness(one) for name, one in found.items()}
    if strict:
        for one in meanings.values():
            one.require()
    text = _written(meanings, format, margin, marks, view, printing)
    write(text, output)
    failures = _worse(found, margin) if fail_if_worse else []
    for failure in failures:
        print(f"cranfield: {plain(failure)}", file=sys.stderr)
    return 1 if failures else 0


_OF_SUMMARIES = frozenset(
    {"asked", "baseline", "alpha", "format", "view", "topic_groups", "output", "scale", "settings"}
)
"""Options of summaries, besides those of judging and of score files."""

_OF_PREFERENCES = frozenset({"baseline", "correction", "format", "view", "output", "settings"})
"""Options of preferences, besides those of judging."""


def _summary(
    source: ScoreInput,
    scale: str | None,
    comparing: Comparing,
    topic_groups: str | None,
    judging: Mapping[str, Any],
) -> Summary:
    from cranfield.significance.summary import summarise_each

    baseline = _only_baseline("summary", {*_OF_SUMMARIES, "score_files"}, comparing, judging)
    scores = source.scores(judging, scale=scale)
    options = {"groups": topic_groups, "confidence": 1 - comparing.alpha}
    return summarise_each(scores, baseline=baseline, **options)


def _preferences(
    source: ScoreInput,
    scale: str | None,
    comparing: Comparing,
    table: str | None,
    judging: Mapping[str, Any],
) -> PreferenceComparison:
    from cranfield.significance.preferences import compare_preferences

    baseline = _only_baseline("preferences", _OF_PREFERENCES, comparing, judging)
    if source.qrels is None or not source.runs:
        raise PolicyError("--as preferences requires QRELS and RUN")
    policies = dict(judging)
    rel = policies.pop("rel")
    judged = judged_runs(source.qrels, source.runs, **policies)
    return compare_preferences(
        judged,
        rel=1 if rel is None else rel,
        baseline=baseline,
        correction=comparing.correction or "holm",
    )


def _checklist(
    source: ScoreInput,
    scale: str | None,
    comparing: Comparing,
    table: str | None,
    judging: Mapping[str, Any],
) -> Checklist:
    from cranfield.significance.checklist import checklist

    used = {one.name for one in fields(comparing)} | _OF_SUMMARIES | {"score_files"}
    _refuse_unused("--as checklist", used - {"topic_groups"}, judging)
    options = comparing.checked()
    return checklist(source.scores(judging, scale=scale), jobs=judging["jobs"], **options)


def _factors(
    source: ScoreInput,
    scale: str | None,
    comparing: Comparing,
    factors: str | None,
    judging: Mapping[str, Any],
) -> FactorialAnova:
    from cranfield.significance.models.factors import factorial_anova

    used = (_OF_SUMMARIES | {"factors", "score_files"}) - {"baseline", "view", "topic_groups"}
    scores = _one_measure("--factors", used, source, scale, judging)
    return factorial_anova(scores, factors, alpha=comparing.alpha)


def _costs(
    source: ScoreInput,
    scale: str | None,
    comparing: Comparing,
    costs: str | None,
    judging: Mapping[str, Any],
) -> CostEffectiveness:
    from cranfield.significance.cost import cost_effectiveness

    used = {"asked", "format", "output", "scale", "settings", "score_files"}
    used |= {"costs", "resamples", "seed"}
    scores = _one_measure("--costs", used, source, scale, judging)
    return cost_effectiveness(scores, costs, resamples=comparing.resamples, seed=comparing.seed)


_OTHER_VIEWS = {
    "summary": _summary,
    "preferences": _preferences,
    "checklist": _checklist,
    "factors": _factors,
    "costs": _costs,
}
"""Results other than pairwise tests of scores, with their own options."""


def _write_whole(result: Result, format: str, output: str | None) -> None:
    """Write a result with all its tables, of which this command has no option."""
    if format == "text":
        write(f"{result}\n", output)
    else:
        write_results(together(result), format, None, output)


def _refuse_unused(flag: str, used: Set[str], judging: Mapping[str, Any]) -> None:
    names = {one.name or "" for one in click.get_current_context().command.params}
    refuse_given(names - used - {"qrels", "runs", *judging}, f"cannot be combined with {flag}")


def _one_measure(
    flag: str, used: Set[str], source: ScoreInput, scale: str | None, judging: Mapping[str, Any]
) -> Scores:
    """Refuse options that a table of systems does not use; return scores of the one measure."""
    _refuse_unused(flag, used, judging)
    scores = source.scores(judging, scale=scale)
    if len(scores) > 1:
        raise PolicyError(f"{flag} requires one measure, got {', '.join(scores)}: name it by -m")
    return next(iter(scores.values()))


def _only_baseline(
    view: str, used: Set[str], comparing: Comparing, judging: Mapping[str, Any]
) -> str | None:
    """Refuse options that a view does not use; return the baseline, of which there is one."""
    _refuse_unused(f"--as {view}", used, judging)
    if len(comparing.baseline) > 1:
        raise PolicyError(f"--as {view} takes one --baseline")
    return next(iter(comparing.baseline), None)


def _written(
    meanings: Mapping[str, Meaningfulness],
    format: str,
    margin: str | None,
    marks: str | None,
    view: str,
    printing: Printing,
) -> str:
    """Write the comparisons as a paragraph each, as tables, or for programs."""
    from cranfield.reporting import comparison_formats

    anova = view == "anova"
    if anova and all(one.comparison.anova is None for one in meanings.values()):
        raise PolicyError("--as anova requires a test by analysis of variance, such as anova-2")
    if view == "prose":
        return "\n".join(f"{one.comparison.prose(format, margin)}\n" for one in meanings.values())
    if marks is not None:
        marked = comparison_formats.marked_table(meanings, marks)
        return printing.text([marked], format) if format in MARKUP else f"{marked}\n"
    if format in MARKUP:
        tables = comparison_formats.comparison_tables(meanings, margin, anova)
        return printing.text(tables, format)
    if format == "text":
        return comparison_formats.comparison_text(meanings, margin, anova=anova)
    if format == "csv":
        return comparison_formats.comparison_csv(meanings, margin)
    return comparison_formats.comparison_json(meanings, margin)


def _boards(
    boards: Mapping[str, RankSets | JointComparison], format: str, view: str, printing: Printing
) -> str:
    from cranfield.reporting.comparison_formats import leaderboards_text

    if view == "prose":
        return "".join(f"{one.prose(format)}\n" for one in boards.values())  # type: ignore[union-attr]
    if format in MARKUP:
        return printing.text([one.as_table() for one in boards.values()], format)
    return leaderboards_text(boards, format)


def _worse(found: Mapping[str, PairwiseComparison], margin: str | None) -> list[str]:
    """Describe systems worse than the baseline or, with a margin, not shown to be non-inferior."""
    import numpy as np

    from cranfield.tabular import shown_p

    lines = []
    for name, one in found.items():
        within = None if margin is None else one.equivalence(margin)
        fails = one.is_worse() if within is None else ~within.is_non_inferior
        low, high = one.interval if within is None else within.interval
        for k in np.flatnonzero(fails):
            verdict = (
                f"worse (p {shown_p(one.adjusted_pvalues[k])}):"
                if within is None
                else f"not shown to be non-inferior within {within.margin[k]:.4g}:"
            )
            limits = "" if np.isnan(low[k]) else f" ({low[k]:+.4f} to {high[k]:+.4f})"
            lines.append(
                f"{verdict} {one.systems[one.first[k]]} {one.between_names}"
                f" {one.systems[one.second[k]]}{f', {name}' if name else ''}:"
                f" {one.difference[k]:+.4f}{limits}"
            )
    return lines


OWN = ("alpha", "missing", "resamples", "seed")
"""Options that sets of ranks and joint comparisons share."""


def _chooses_test(asked_for: Mapping[str, Any], *more: str) -> bool:
    """Return True if options choose a test, which has its own hypothesis or statistic."""
    names = ("test", "statistic", "threshold", *more)
    usual = asked_for["alternative"] == "two-sided" and asked_for["exact"] is None
    return not usual or any(asked_for[name] for name in names)


def _ranks(
    scores: Mapping[str, Scores], asked_for: Mapping[str, Any], jobs: int | None
) -> dict[str, RankSets]:
    from cranfield.significance.comparison.compare import compare, rank_sets

    if _chooses_test(asked_for, "correction", "baseline"):
        return {n: compare(one, jobs=jobs, **asked_for).rank_sets() for n, one in scores.items()}
    own = {name: asked_for[name] for name in OWN}
    return {name: rank_sets(one, jobs=jobs, **own) for name, one in scores.items()}


def _joint(
    scores: Mapping[str, Scores], asked_for: Mapping[str, Any], jobs: int | None
) -> dict[str, JointComparison]:
    from cranfield.significance.several.joint_measures import compare_measures

    if _chooses_test(asked_for):
        raise PolicyError(
            "--joint is two-sided and cannot be combined with --test, --statistic, --exact and"
            " --threshold"
        )
    own = {name: asked_for[name] for name in (*OWN, "baseline")}
    if asked_for["correction"]:
        own["correction"] = asked_for["correction"]
    return {"": compare_measures(scores, jobs=jobs, **own)}


def _check_view(view: str, format: str, printing: Printing, marks: str | None) -> None:
    """Refuse what a view cannot be written as."""
    refuse_given(("topic_groups",), "requires --as summary")
    if view in {"prose", "anova"} and marks is not None:
        raise PolicyError(f"--as {view} cannot be combined with --marks")
    if view == "prose" and (
        format not in {"text", "markdown", "latex"} or any(vars(printing).values())
    ):
        raise PolicyError(
            "--as prose requires --format text, markdown or latex, without options of tables"
        )
    if view == "anova" and format not in {"text", *MARKUP}:
        raise PolicyError(f"--as anova requires --format text, {', '.join(MARKUP)}, got {format}")


def _check_marks(marks: str, format: str, comparing: Comparing, margin: str | None) -> None:
    if margin is not None:
        raise PolicyError("--margin cannot be combined with --marks")
    if format in {"csv", "json"}:
        raise PolicyError(f"--marks requires --format text, {', '.join(MARKUP)}, got {format}")
    kind_of(marks, comparing.baseline, (comparing.alpha,))


PAGE = "cranfield-demo.html"
"""The report, in the folder where the command is called."""

SHOWN = 10
"""Systems in the table; the report has them all."""


@command()
def demo() -> None:
    """Compare the bundled systems of TREC-COVID round 5, as a demonstration.

    It writes a report, cranfield-demo.html, to the current folder.
    """
    from dataclasses import replace

    from rich.console import Console

    from cranfield.bundled import trec_covid
    from cranfield.evaluation.evaluate_runs import evaluate
    from cranfield.reporting.comparison_formats import with_bars
    from cranfield.reporting.page.report_page import report
    from cranfield.reporting.summary import lead, test_sentence
    from cranfield.reporting.terminal import rich_table, systems_table
    from cranfield.scales.statements import meaningfulness
    from cranfield.significance.comparison.compare import compare
    from cranfield.tabular import grid

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
    said = meaningfulness(found)
    say(lead(found, measures[0]))
    say(test_sentence(found))
    say(
        f"Of these {found.count()} pairs, {said.n_invariant} keep their order under any strictly"
        f" increasing"
        f" transformation of the scores; {measures[0]} is an {found.scores.scale} scale.\n"
    )
    ranking, bars = with_bars(found)
    say(f"{grid(replace(ranking, rows=ranking.rows[:SHOWN]))}\n{bars}")
    table = systems_table(evaluation)
    console.print(rich_table(replace(table, rows=table.rows[:SHOWN])))
    say(f"and {len(evaluation.systems) - SHOWN} more, with intervals and pairs, in the report")
    for note in (*evaluation.notes, *found.notes):
        say(f"note: {note}")
    report(evaluation, PAGE, title=collection.name, command="cranfield demo")
    console.print(f"\nThe report: {PAGE}", highlight=False)
