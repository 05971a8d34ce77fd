"""Input of commands on scores: runs and judgments, or files of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

import cranfield as cf
from cranfield.base.errors import PolicyError, warn
from cranfield.cli.options import declaring
from cranfield.cli.options.judging import WORK, evaluate_runs
from cranfield.cli.options.output import gather_options
from cranfield.cli.options.signatures import make_options

scale_option = declaring.option(
    "--scale",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    help="Measurement scale of the scores, overriding that of the measure.",
    group="Measures",
    # In hints, the argument scale is the scale of the grades of judges.
    argument="measurement_scale",
)

NO_SCORES = "expected QRELS and at least one RUN, or --scores FILE"


@dataclass(frozen=True)
class ScoreInput:
    """Input of a command on scores: runs and judgments, or files of scores.

    Attributes
    ----------
    score_files
        File of scores by topic, instead of QRELS and RUN: a table, or output of trec_eval -q;
        NAME=FILE sets the name of the system.
    """

    qrels: str | None
    runs: tuple[str, ...] | cf.Runs
    measures: Sequence[str | cf.Measure]
    score_files: tuple[str, ...]

    def require_rankings(self, reason: str = NO_SCORES) -> tuple[str, tuple[str, ...] | cf.Runs]:
        """Return QRELS and RUN; if one of them is missing, raise an error with this reason."""
        if self.qrels is None or not self.runs:
            text = "--scores" if self.score_files else "only QRELS" if self.qrels else "neither"
            raise PolicyError(f"{reason}, got {text}")
        return self.qrels, self.runs

    def load_scores(
        self,
        judging: Mapping[str, Any],
        *,
        has_all_measures: bool = False,
        has_notes: bool = False,
        scale: str | None = None,
    ) -> Mapping[str, cf.Scores]:
        """Evaluate the runs, or read the scores.

        If `has_all_measures`, all measures of score files are read unless --measure is set. A
        warning reports measures of unknown direction, unless the output has notes on these
        (`has_notes`).
        `scale` overrides the measurement scale.
        """
        if self.score_files:
            scores = self._read(judging, has_all_measures)
            for s in scores.values():
                for note in () if has_notes or s.has_direction else s.get_direction_notes():
                    warn(note)
        else:
            scores = evaluate_runs(*self.require_rankings(), self.measures, **judging)
        if scale is None:
            return scores
        if isinstance(scores, cf.Evaluation):
            return scores.with_scale(scale)
        return {name: s.with_scale(scale) for name, s in scores.items()}

    def _read(self, judging: Mapping[str, Any], has_all_measures: bool) -> Mapping[str, cf.Scores]:
        from cranfield.evaluation.scorefiles.reading import read_scores_by_measure, set_directions

        if self.qrels is not None:
            raise PolicyError("--scores cannot be combined with QRELS and RUN, which it replaces")
        judging_options = [name for name in judging if name not in {*WORK, "lower"}]
        declaring.refuse_options(
            judging_options, "cannot be combined with --scores, which are already computed"
        )
        files = self.score_files[0] if len(self.score_files) == 1 else self.score_files
        if declaring.is_set("measures"):
            scores_by_measure = read_scores_by_measure(files, self.measures)
        elif has_all_measures:
            scores_by_measure = read_scores_by_measure(files)
        else:
            table = cf.read_scores(files)
            scores_by_measure = {table.measure: table}
        return set_directions(scores_by_measure, judging["lower"])


def make_score_input(measures: declaring.Decorator) -> declaring.Decorator:
    """Make a decorator that adds QRELS, RUN, measures and --scores; a command gets a `source`."""
    options = (
        click.argument("qrels", metavar="[QRELS]", required=False, type=declaring.INPUT_FILE),
        click.argument("runs", metavar="[RUN...]", nargs=-1, type=declaring.INPUT_FILE),
        measures,
        *make_options(f"{__name__}.ScoreInput", "scores=score_files", group="Measures"),
    )
    return gather_options(ScoreInput, "source", options)
