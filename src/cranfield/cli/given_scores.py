"""Scores for a command: from runs and judgments, or from files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from cranfield.cli.options import evaluated
from cranfield.errors import PolicyError
from cranfield.scores import Scores

score_files_option = click.option(
    "--scores",
    "score_files",
    multiple=True,
    help="Per-topic scores instead of QRELS and RUN: a table, or what trec_eval -q prints.",
)
"""The option that names files of scores."""


def given_scores(
    qrels: str | None,
    runs: tuple[str, ...],
    asked: tuple[str, ...],
    score_files: tuple[str, ...],
    judging: Mapping[str, Any],
) -> Mapping[str, Scores]:
    """Evaluate the runs, or read the scores.

    Parameters
    ----------
    qrels, runs, score_files
        What was given.
    asked
        Measures; of score files they name the columns, if the option was used.
    judging
        Options of reading and judging, which score files do not go with.
    """
    if score_files:
        from cranfield.scorefiles import read_scores, read_scores_by_measure

        if qrels is not None:
            raise PolicyError("give either --scores, or QRELS and RUN, not both")
        for name in judging:
            source = click.get_current_context().get_parameter_source(name)
            if name != "jobs" and source is not None and source.name == "COMMANDLINE":
                option = name.replace("_", "-")
                raise PolicyError(f"--{option} is for judging runs; --scores are judged already")
        named = click.get_current_context().get_parameter_source("asked")
        given = named is not None and named.name == "COMMANDLINE"
        files = score_files[0] if len(score_files) == 1 else score_files
        if not given:
            one = read_scores(files)
            return {one.measure: one}
        return read_scores_by_measure(files, asked)
    if qrels is None or not runs:
        raise PolicyError("give QRELS and at least one RUN, or --scores FILE")
    return evaluated(qrels, runs, asked, **judging)
