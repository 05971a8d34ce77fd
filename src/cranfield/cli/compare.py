"""Commands that compare systems: `compare`, and `demo` for the bundled runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, warn
from cranfield.base.text import sanitise
from cranfield.cli import options as cli
from cranfield.reporting.marks import MARKS, check_marks
from cranfield.result import Result

DEFAULT_MEASURES = ("AP", "nDCG@10")
FORMATS = ("text", "csv", "json", *cli.MARKUP)
ROUNDED_FORMATS = ("text", *cli.MARKUP)  # formats with --places decimals
VIEWS = [
    *("pairs", "anova", "ranks", "prose", "summary", "preferences", "corroboration"),
    *("checklist", "meaningfulness", "power"),
]


@cli.command(
    common="measure scores baseline test correction margin fail-if-worse format as marks output rel"
)
@cli.settings(
    f"statistic exact threshold topic-groups replicates caption label long {cli.JUDGING_SETTINGS}",
    flags="lower",
)
@cli.make_score_input(cli.make_measures_option(DEFAULT_MEASURES))
@cli.scale_option
@cli.comparing_options
@cli.own_options(
    "margin fail_if_worse joint strict",
    group="Comparison",
    margin={"metavar": "MARGIN", "requires": "!--marks !--joint !--as=ranks,meaningfulness"},
    fail_if_worse={"requires": "!--joint !--as=ranks"},
    joint={"requires": "!--as=ranks,anova,meaningfulness !--marks=none"},
    strict={"requires": "!--joint !--as=ranks"},
)
@cli.own_options(
    "format marks places as=view topic_groups factors costs replicates",
    group="Output",
    format={"type": click.Choice(FORMATS)},
    marks={"type": click.Choice(list(MARKS)), "requires": "!--as=ranks,prose,anova,meaningfulness"},
    places={
        "type": cli.IntegerRange(0, 17),
        "requires": [
            f"--format={','.join(ROUNDED_FORMATS)} {other} !--as=ranks,prose,meaningfulness"
            for other in ("!--joint", "--marks")
        ],
    },
    view={"type": click.Choice(VIEWS)},
    topic_groups={"requires": "--as=summary"},
)
@cli.table_options
@cli.output_option
@cli.judging_options
def compare(
    source: cli.ScoreInput,
    *,
    scale: str | None,
    comparing: dict[str, Any],
    margin: str | None,
    fail_if_worse: bool = False,
    joint: bool = False,
    strict: bool = False,
    format: str = "text",
    marks: str | None,
    places: int | None,
    view: str = "pairs",
    topic_groups: str | None,
    factors: str | None,
    costs: str | None,
    replicates: str | None,
    markup: cli.MarkupOptions,
    output: str | None,
    **judging: Any,
) -> int:
    """Test which systems are significantly different.

    Scores come from runs and judgments, as for `cranfield evaluate`, or from files with --scores.
    The exit status is 0, or 1 if a system fails the test of --fail-if-worse, or 2 after an error.

    Parameters
    ----------
    margin
        Test equivalence and non-inferiority within a margin: a number is in the unit of the
        measure, a percentage such as 2% is relative to the mean of the second system.
    fail_if_worse
        Exit with status 1 if a system is significantly worse than --baseline or, with --margin, if
        a system is not shown to be non-inferior.
    joint
        Correct jointly for the comparisons by all measures, and show by which measures each pair is
        significantly different.
    strict
        Refuse tests that the measurement scale does not admit.
    format
        Output format.
    marks
        Write one table of all measures, with these marks of significant differences: symbols
        against --baseline, letters of the beaten systems, or groups of systems that do not differ
        significantly.
    places
        Number of decimals of means, differences and intervals.
    view
        Result to write: pairs of systems; anova, the pairs and the analysis of variance; ranks, a
        leaderboard with confidence sets of ranks; prose, a paragraph for a paper; summary, the mean
        of each system with its confidence interval, and wins, losses and p-value against --baseline
        (a single system is allowed); preferences, pairs compared by preferences between rankings,
        without a measure; corroboration, the pairs by one measure with a cutoff, and whether the
        innate sign test, which requires no measure, agrees; checklist, common mistakes of
        evaluations, each with a finding on this comparison; meaningfulness, the pairs whose order
        depends on the scale of the scores; or power, the effect size, power and required number of
        topics of published paired t-tests, from --scores FILE with columns t and topics.
    topic_groups
        Table with the columns topic and group, to summarise each group, with --as summary.
    factors
        Table with a column system and a column for each component, such as stemmer and model, to
        analyse the effect of components instead; the systems must be all combinations of
        components.
    costs
        Table with a column system and a column for each cost, such as seconds or joules, to find
        the systems on the Pareto front of effectiveness and each cost instead.
    replicates
        Table with the columns run, system and replicate, for the tests independent-replicates and
        shared-replicates; by default the names of runs must be SYSTEM@REPLICATE.

    Examples
    --------
    cranfield compare qrels.txt runs/*.xz -m AP -m nDCG@10
    cranfield compare qrels.txt runs/*.xz -m AP -m RR -b bm25 --marks symbols --format markdown
    cranfield compare --scores scores.csv --test friedman
    cranfield compare qrels.txt runs/*.xz -m AP --as ranks
    cranfield compare --scores published.csv --as power
    cranfield compare qrels.txt grid/*.run -m AP --factors systems.csv
    cranfield compare qrels.txt bm25@*.run dense@*.run -m AP --test shared-replicates
    cranfield compare qrels.txt runs/*.xz -m AP -m RR --joint
    cranfield compare qrels.txt old.run new.run -m nDCG@10 -b old --margin 2% --fail-if-worse
    """
    from cranfield.significance.comparison.equivalence import read_margin

    # Options are checked before any file is read.
    analysis = "factors" if factors is not None else "costs" if costs is not None else view
    if analysis in OPTIONS_BY_RESULT:
        table_file = topic_groups or factors or costs
        result = _compute_other_result(analysis, source, scale, comparing, table_file, judging)
        if format == "text":
            # The text has all tables, because `compare` has no --table.
            cli.write(f"{result}\n", output)
        else:
            cli.ResultOutput(format, output=output).write(result)
        return 0
    _check_format(format, view, markup, marks)
    if margin is not None:
        read_margin(margin)
    if marks is not None:
        check_marks(marks, comparing["baseline"], (comparing["alpha"],))
    if fail_if_worse and (n_baselines := len(comparing["baseline"])) != 1:
        raise PolicyError(f"--fail-if-worse requires a single --baseline, got {n_baselines}")
    if fail_if_worse and (alternative := comparing["alternative"]) != "two-sided":
        raise PolicyError(f"--fail-if-worse requires a two-sided test, got {alternative}")
    options = cli.check_comparison(comparing) | {"jobs": judging["jobs"]}
    has_all_measures = joint or marks is not None
    scores = source.load_scores(
        judging, has_all_measures=has_all_measures, has_notes=True, scale=scale
    )
    scores = _split_by_replicate(scores, options["test"], replicates)
    joint_options = _choose_joint_options(options) if joint else {}
    if joint and marks is not None:
        layout: dict[str, Any] = {"marks": marks, "places": places, "sort": next(iter(scores))}
        table = cf.table(scores, joint=True, **layout, **joint_options)
        text = markup.format_tables([table], format) if format in cli.MARKUP else f"{table}\n"
        cli.write(text, output)
        return 0
    if view == "ranks" or joint:
        leaderboards: dict[str, Any] = (
            {"": cf.significance.compare_measures(scores, **joint_options)}
            if joint
            else _compute_rank_sets(scores, options)
        )
        _write(
            leaderboards, format, _format_leaderboards(leaderboards, format, view, markup), output
        )
        return 0
    comparisons = {name: cf.compare(s, **options) for name, s in scores.items()}
    has_exact = any(k.startswith("exact") for c in comparisons.values() for k in c.details)
    corrections = [cf.significance.CORRECTIONS[c.correction] for c in comparisons.values()]
    if has_exact and comparing["exact"] and all(correction.is_random for correction in corrections):
        warn("exact applies to raw p-values only; adjusted p-values are estimated by resampling")
    statements = {name: cf.meaningfulness(c) for name, c in comparisons.items()}
    for statement in statements.values() if strict else ():
        statement.require()
    text = _format_comparisons(
        statements, format, view, markup, margin=margin, marks=marks, places=places
    )
    _write(comparisons, format, text, output)
    failures = _describe_failures(comparisons, margin) if fail_if_worse else []
    for failure in failures:
        print(f"cranfield: {sanitise(failure)}", file=sys.stderr)
    return 1 if failures else 0


def _warn_unused_seed(results: Mapping[str, Any]) -> None:
    if all(result.seed is None for result in results.values()):
        cli.warn_unused(("seed", "resamples"), "the test and the correction do not resample")


OPTIONS_BY_RESULT = {
    "summary": "view measures baseline alpha topic_groups score_files",
    "preferences": "view baseline correction",
    "corroboration": "view measures scale comparing",
    "checklist": "view measures scale score_files comparing",
    "power": "view alpha alternative score_files",
    "factors": "factors measures alpha score_files",
    "costs": "costs measures score_files resamples seed",
}
"""Options of each result other than pairwise tests; `comparing` means all options of comparisons.

All results but `power` also have the options of judging.
"""

RESULTS_WITH_DIRECTION = ("corroboration", "checklist")  # with notes on the direction of scores
OUTPUT_OPTIONS = ("format", "output", "settings", "qrels", "runs")


def _compute_other_result(
    analysis: str,
    source: cli.ScoreInput,
    scale: str | None,
    comparing: dict[str, Any],
    table_file: str | None,
    judging: Mapping[str, Any],
) -> Result:
    """Compute a result other than pairwise tests of scores; refuse options that it does not use."""
    from cranfield.evaluation.evaluation import list_unused
    from cranfield.significance.summary import summarise_each

    flag = f"--{analysis}" if analysis in {"factors", "costs"} else f"--as {analysis}"
    used_options = {*OPTIONS_BY_RESULT[analysis].split(), *OUTPUT_OPTIONS}
    used_options |= {*comparing} if "comparing" in used_options else set()
    used_options |= {*judging} if analysis != "power" else set()
    cli.refuse_other_options(used_options, f"cannot be combined with {flag}")
    baselines, alpha = comparing["baseline"], comparing["alpha"]
    if analysis in {"summary", "preferences"} and len(baselines) > 1:
        raise PolicyError(f"{flag} requires a single --baseline, got {len(baselines)}")
    baseline = next(iter(baselines), None)
    if analysis == "power":
        if len(source.score_files) != 1 or source.qrels is not None:
            raise PolicyError("--as power requires one --scores FILE with columns t and topics")
        [file] = source.score_files
        return cf.significance.power_of_published(
            file, alpha=alpha, alternative=comparing["alternative"]
        )
    if analysis == "preferences":
        rankings = source.require_rankings("--as preferences requires QRELS and RUN")
        policies = {name: value for name, value in judging.items() if name != "rel"}
        judged = cli.compute_from_runs(cf.judge, *rankings, **policies)
        cli.warn_unused(list_unused(()), "preferences use no measure")
        for note in judged.coverage.contradiction_notes:
            warn(note)
        rel = 1 if judging["rel"] is None else judging["rel"]
        correction = comparing["correction"] or "holm"
        return cf.compare_preferences(judged, rel=rel, baseline=baseline, correction=correction)
    options = cli.check_comparison(comparing) | {"jobs": judging["jobs"]}
    has_notes = analysis in RESULTS_WITH_DIRECTION
    scores: Any = source.load_scores(judging, has_notes=has_notes, scale=scale)
    if analysis == "summary":
        return summarise_each(scores, baseline=baseline, groups=table_file, confidence=1 - alpha)
    if analysis in {"corroboration", "checklist"}:
        analyse = cf.corroborate if analysis == "corroboration" else cf.checklist
        result: Result = analyse(scores, **options)
        _warn_unused_seed({analysis: result})
        return result
    if len(scores) > 1:
        raise PolicyError(f"{flag} requires a single -m, got {', '.join(scores)}")
    [measure_scores] = scores.values()
    if analysis == "factors":
        return cf.factorial_anova(measure_scores, table_file, alpha=alpha)
    return cf.cost_effectiveness(
        measure_scores, table_file, resamples=comparing["resamples"], seed=comparing["seed"]
    )


def _write(results: Mapping[str, Any], format: str, text: str, output: str | None) -> None:
    """Write results; with CSV, write notes to standard error, as for other results."""
    _warn_unused_seed(results)
    cli.write(text, output)
    if format == "csv":
        notes = dict.fromkeys(note for result in results.values() for note in result.format_notes())
        sys.stderr.writelines(f"{sanitise(note)}\n" for note in notes)


def _format_comparisons(
    statements: Mapping[str, cf.scales.Meaningfulness],
    format: str,
    view: str,
    markup: cli.MarkupOptions,
    *,
    margin: str | None,
    marks: str | None,
    places: int | None,
) -> str:
    from cranfield.reporting import comparison_formats
    from cranfield.reporting.prose import write_paragraphs

    options: dict[str, Any] = {"with_anova": view == "anova", "places": places}
    comparisons = [statement.comparison for statement in statements.values()]
    if view == "anova" and all(comparison.anova is None for comparison in comparisons):
        raise PolicyError(f"--as anova requires a test such as anova-2, got {comparisons[0].test}")
    if view == "prose":
        return f"{write_paragraphs(comparisons, format, margin)}\n"
    if view == "meaningfulness":
        titles = [sanitise(name) or "Scores" for name in statements]
        texts = zip(titles, statements.values(), strict=True)
        return "\n".join(f"{title}\n{statement}\n" for title, statement in texts)
    if marks is not None:
        table = comparison_formats.tabulate_marks(statements, marks, places)
        return markup.format_tables([table], format) if format in cli.MARKUP else f"{table}\n"
    if format in cli.MARKUP:
        tables = comparison_formats.tabulate_comparisons(statements, margin, **options)
        return markup.format_tables(tables, format)
    if format == "text":
        return comparison_formats.format_comparisons(statements, margin, **options)
    if format == "csv":
        return comparison_formats.format_comparisons_csv(statements, margin)
    return comparison_formats.format_comparisons_json(statements, margin)


def _format_leaderboards(
    leaderboards: Mapping[str, cf.significance.RankSets | cf.significance.JointComparison],
    format: str,
    view: str,
    markup: cli.MarkupOptions,
) -> str:
    from cranfield.reporting.comparison_formats import format_leaderboards

    if view == "prose":
        return "".join(f"{leaderboard.prose(format)}\n" for leaderboard in leaderboards.values())  # type: ignore[union-attr]
    if format in cli.MARKUP:
        return markup.format_tables(
            [leaderboard.as_table() for leaderboard in leaderboards.values()], format
        )
    return format_leaderboards(leaderboards, format)


def _describe_failures(
    comparisons: Mapping[str, cf.PairwiseComparison], margin: str | None
) -> list[str]:
    """Describe systems worse than the baseline or, with a margin, not shown to be non-inferior."""
    import numpy as np

    from cranfield.tabular import format_pvalue

    lines = []
    for name, comparison in comparisons.items():
        equivalence = None if margin is None else comparison.equivalence(margin)
        is_failure = comparison.is_worse() if equivalence is None else ~equivalence.is_non_inferior
        low, high = comparison.interval if equivalence is None else equivalence.interval
        for k in np.flatnonzero(is_failure):
            verdict = (
                f"worse (p {format_pvalue(comparison.adjusted_pvalues[k])}):"
                if equivalence is None
                else f"not shown to be non-inferior within {equivalence.margin[k]:.4g}:"
            )
            interval = "" if np.isnan(low[k]) else f" ({low[k]:+.4f} to {high[k]:+.4f})"
            lines.append(
                f"{verdict} {comparison.systems[comparison.first[k]]} {comparison.between_names}"
                f" {comparison.systems[comparison.second[k]]}{f', {name}' if name else ''}:"
                f" {comparison.difference[k]:+.4f}{interval}"
            )
    return lines


def _split_by_replicate(
    scores: Mapping[str, cf.Scores], test: str | None, replicates: str | None
) -> Mapping[str, cf.Scores]:
    """Return scores by replicate if a test, or a table of replicates, requires them."""
    from cranfield.scores.replicates import describe_replicate_names
    from cranfield.significance.registry import REPLICATE_TESTS

    if replicates is not None or test in REPLICATE_TESTS:
        return {name: cf.group_replicates(s, replicates) for name, s in scores.items()}
    if warning := describe_replicate_names(next(iter(scores.values())).systems):
        warn(warning)
    return scores


SHARED_OPTIONS = ("alpha", "missing", "resamples", "seed", "jobs")


def _chooses_test(options: Mapping[str, Any], *choices: str) -> bool:
    """Return True if an option selects a test, its hypothesis or its statistic."""
    is_default = options["alternative"] == "two-sided" and options["exact"] is None
    return not is_default or any(
        options[name] for name in ("test", "statistic", "threshold", *choices)
    )


def _compute_rank_sets(
    scores: Mapping[str, cf.Scores], options: Mapping[str, Any]
) -> dict[str, cf.significance.RankSets]:
    if _chooses_test(options, "correction", "baseline"):
        return {name: cf.compare(s, **options).rank_sets() for name, s in scores.items()}
    rank_options = {name: options[name] for name in SHARED_OPTIONS}
    return {name: cf.significance.rank_sets(s, **rank_options) for name, s in scores.items()}


def _choose_joint_options(options: Mapping[str, Any]) -> dict[str, Any]:
    if _chooses_test(options):
        raise PolicyError(
            "--joint is a two-sided test of its own and cannot be combined with --test,"
            " --alternative, or the settings statistic, exact and threshold"
        )
    joint_options = {name: options[name] for name in (*SHARED_OPTIONS, "baseline")}
    if options["correction"]:
        joint_options["correction"] = options["correction"]
    return joint_options


def _check_format(format: str, view: str, markup: cli.MarkupOptions, marks: str | None) -> None:
    is_table = view == "anova" or marks is not None
    if is_table and format not in {"text", *cli.MARKUP}:
        flag = "--marks" if marks is not None else "--as anova"
        raise PolicyError(
            f"--format with {flag} must be one of: text, {', '.join(cli.MARKUP)}, got"
            f" {cli.describe_format(format)}"
        )
    if view == "meaningfulness" and format != "text":
        form = cli.describe_format(format)
        raise PolicyError(f"--as meaningfulness requires --format text, got {form}")
    if view == "prose" and format not in {"text", "markdown", "latex"}:
        form = cli.describe_format(format)
        raise PolicyError(f"--as prose requires --format text, markdown or latex, got {form}")
    if view in {"prose", "meaningfulness"}:
        cli.refuse_options(vars(markup), f"cannot be combined with --as {view}")


DEMO_REPORT = "cranfield-demo.html"  # file of the report, in the current folder
MAX_SYSTEMS = 10  # maximum number of systems in the tables; the report has all


@cli.command()
def demo() -> None:
    """Compare the bundled systems of TREC-COVID round 5, as a demonstration.

    The command writes a report, cranfield-demo.html, to the current folder.
    """
    from dataclasses import replace

    from rich.console import Console

    from cranfield.reporting.comparison_formats import add_bars
    from cranfield.reporting.summary import describe_outcome, describe_test
    from cranfield.reporting.terminal import tabulate_systems
    from cranfield.tabular import format_grid

    collection = cf.bundled.trec_covid()
    measures = ["nDCG@20", "P@20", "AP@100", "RR", "RBP(p=0.8)", "Judged@20"]
    evaluation = cf.evaluate(collection.runs, collection.qrels, measures)
    console = Console()

    def print_line(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    print_line(
        f"TREC-COVID round 5: {len(evaluation.systems)} systems of"
        f" {len(set(collection.teams.values()))} teams, {len(evaluation.topics)} topics,"
        f" {len(collection.qrels):,} judgments\n"
    )
    comparison = cf.compare(evaluation[measures[0]])
    n_invariant = cf.meaningfulness(comparison).n_invariant
    print_line(describe_outcome(comparison, measures[0]))
    print_line(describe_test(comparison))
    print_line(
        f"Of these {comparison.count()} pairs, {n_invariant} keep their order under any strictly"
        " increasing transformation of the scores;"
        f" {measures[0]} is on an {comparison.scores.scale} scale.\n"
    )
    ranking, bars = add_bars(comparison)
    print_line(f"{format_grid(replace(ranking, rows=ranking.rows[:MAX_SYSTEMS]))}\n{bars}")
    table = tabulate_systems(evaluation)
    print_line(f"\n{format_grid(replace(table, rows=table.rows[:MAX_SYSTEMS]))}\n")
    n_hidden = len(evaluation.systems) - MAX_SYSTEMS
    print_line(f"{DEMO_REPORT} shows {n_hidden} more systems, and intervals and pairs")
    for note in (*evaluation.notes, *comparison.notes):
        print_line(f"note: {note}")
    cf.report(evaluation, DEMO_REPORT, title=collection.name, command="cranfield demo")
    console.print(f"\nThe report: {DEMO_REPORT}", highlight=False)
