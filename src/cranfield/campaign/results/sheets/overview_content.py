"""What is in an overview of a task."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cranfield.campaign.results.leaderboard import Leaderboard
from cranfield.evaluation.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Overview:
    """What an overview shows.

    Attributes
    ----------
    title
        Of the campaign and its task.
    judgments
        Version of the judgments.
    board
        The runs, in order of the first measure.
    evaluation
        Their scores by the measures of the board.
    topics
        By the first measure: `topic`, `best`, `median`, `worst`, `n`, `mean` of all runs.
    """

    title: str
    judgments: str
    board: Leaderboard
    evaluation: Evaluation
    topics: pl.DataFrame
