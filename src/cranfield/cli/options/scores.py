"""Scores for a command: from runs and judgments, or from files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from cranfield.base.errors import PolicyError, warn
from cranfield.cli.options.conditions import on_command_line
from cranfield.cli.options.declaring import READ, option
from cranfield.cli.options.judging import WORK, evaluated

if TYPE_CHECKING:
    from cranfield.collection.files.many_runs import Runs
    from cranfield.measures import Measure
    from cranfield.scores import Scores

score_files_option = option(
    "--scores",
    "score_files",
    multiple=True,
    help="Per-topic scores instead of QRELS and RUN: a table, or what trec_eval -q prints.",
    group="Measures",
    type=READ,
)
"""The option that names files of scores."""

scale_option = option(
    "--scale",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    help="Measurement scale of the scores, instead of the one that the measure declares.",
    group="Measures",
    # Messages on scale= are about the grades that judges may give.
    stands_for="measurement_scale",
)
"""The option by which the user declares the scale of scores."""


def given_scores(
    qrels: str | None,
    runs: tuple[str, ...] | Runs,
    asked: Sequence[str | Measure],
    score_files: tuple[str, ...],
    judging: Mapping[str, Any],
    *,
    every: bool = False,
    noted: bool = False,
    scale: str | None = None,
) -> Mapping[str, Scores]:
    """Evaluate the runs, or read the scores.

    With `every` all measures of score files are read if none is named. Warns of measures without a
    stated direction, unless the output has such notes (`noted`). A `scale` is the one that the user
    declares.
    """
    from cranfield.evaluation.evaluation import Evaluation

    scores = _scores(qrels, runs, asked, score_files, judging, every, noted)
    if scale is None:
        return scores
    if isinstance(scores, Evaluation):
        return scores.with_scale(scale)
    return {name: one.with_scale(scale) for name, one in scores.items()}


def _scores(
    qrels: str | None,
    runs: tuple[str, ...] | Runs,
    asked: Sequence[str | Measure],
    score_files: tuple[str, ...],
    judging: Mapping[str, Any],
    every: bool,
    noted: bool,
) -> Mapping[str, Scores]:
    if score_files:
        from cranfield.evaluation.scorefiles.reading import (
            read_scores,
            read_scores_by_measure,
            with_directions,
        )

        if qrels is not None:
            raise PolicyError("give either --scores, or QRELS and RUN, not both")
        of_runs = [name for name in judging if name not in {*WORK, "lower"}]
        refuse(of_runs, "is for judging runs; --scores are judged already")
        files = score_files[0] if len(score_files) == 1 else score_files
        if on_command_line("asked"):
            found = read_scores_by_measure(files, asked)
        elif every:
            found = read_scores_by_measure(files)
        else:
            one = read_scores(files)
            found = {one.measure: one}
        found = with_directions(found, judging["lower"])
        if not noted:
            for one in found.values():
                if not one.has_direction:
                    for note in one.direction_notes():
                        warn(note)
        return found
    if qrels is None or not runs:
        raise PolicyError("give QRELS and at least one RUN, or --scores FILE")
    return evaluated(qrels, runs, asked, **judging)


def refuse(names: Collection[str], why: str) -> None:
    """Refuse options that were given and do not fit, by the names of their parameters."""
    for one in click.get_current_context().command.params:
        if one.name in names and on_command_line(one.name):
            raise PolicyError(f"{max(one.opts, key=len)} {why}")
