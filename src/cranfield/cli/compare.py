"""`cranfield compare`: which systems differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from cranfield.cli.given_scores import given_scores, score_files_option
from cranfield.cli.options import judging_options, measures_option, one_of, write

EPILOG = """\b
Examples:
  cranfield compare qrels.txt runs/*.xz -m AP -m nDCG@10
  cranfield compare qrels.txt bm25.run dense.run -m nDCG@10 --test randomisation
  cranfield compare qrels.txt runs/*.xz -m AP --baseline bm25 --format latex
  cranfield compare --scores scores.csv --test friedman
"""

DEFAULT = ("AP", "nDCG@10")
OUTPUTS = ("text", "csv", "json", "latex")
TESTS = (
    *("sign", "signed-rank", "rank-sum", "t", "t-unpaired", "welch"),
    *("randomisation", "bootstrap", "bootstrap-unpaired"),
    *("anova", "anova-1", "anova-2", "anova-3", "kruskal-wallis", "friedman", "bootstrap-anova"),
)
CORRECTIONS = (
    *("none", "tukey", "randomised-tukey", "max-t", "dunnett"),
    *("bonferroni", "holm", "bh", "by"),
)


@click.command(epilog=EPILOG)
@click.argument("qrels", metavar="[QRELS]", required=False)
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@measures_option(DEFAULT)
@score_files_option
@click.option(
    "--test",
    "-t",
    metavar="TEST",
    help=f"{', '.join(TESTS)}. Default: two-way ANOVA, which for two systems is the paired t-test.",
)
@click.option(
    "--correction",
    "-c",
    metavar="CORRECTION",
    help=f"For many comparisons: {', '.join(CORRECTIONS)}. By default the test's own.",
)
@click.option("--baseline", "-b", multiple=True, help="Compare with this system only.")
@one_of("--alternative", ("two-sided", "greater", "less"), "What counts.", "two-sided")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level.")
@one_of("--missing", ("error", "drop", "zero", "available"), "Where a system has no score.")
@click.option("--exact/--no-exact", default=None, help="Exact p-values, where the test has them.")
@click.option(
    "--resamples", type=click.IntRange(1), default=10_000, show_default=True, help="Random samples."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of random samples."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse a test that needs more than the scale of the measure allows.",
)
@one_of("--format", OUTPUTS, "How to write the comparison.", "text")
@click.option("--output", "-o", help="File to write, whole or not at all.")
@judging_options
def compare(
    qrels: str | None,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    score_files: tuple[str, ...],
    test: str | None,
    correction: str | None,
    baseline: tuple[str, ...],
    alternative: str,
    alpha: float,
    missing: str | None,
    exact: bool | None,
    resamples: int,
    seed: int,
    strict: bool,
    format: str,
    output: str | None,
    **judging: Any,
) -> None:
    """Find out which systems differ significantly.

    Scores come from runs and judgments, as for `cranfield evaluate`, or from files with --scores.
    """
    from cranfield.report import comparisons
    from cranfield.scales.meaning import meaning
    from cranfield.significance.compare import compare as compared
    from cranfield.significance.corrections import find_correction
    from cranfield.significance.registry import find_test

    # Before any file is read.
    test = find_test(test).info.name if test is not None else None
    correction = find_correction(correction) if correction is not None else None
    scores = given_scores(qrels, runs, asked, score_files, judging)
    found = {
        name: compared(
            one,
            test=test,
            correction=correction,
            alternative=alternative,
            alpha=alpha,
            baseline=baseline or None,
            missing=missing,
            exact=exact,
            resamples=resamples,
            seed=seed,
            jobs=judging["jobs"],
        )
        for name, one in scores.items()
    }
    meanings = {name: meaning(one) for name, one in found.items()}
    if strict:
        for one in meanings.values():
            one.require()
    writers: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "text": comparisons.plain_text,
        "csv": comparisons.csv_text,
        "json": comparisons.json_text,
        "latex": comparisons.latex_text,
    }
    write(writers[format](meanings), None if output == "-" else output)
