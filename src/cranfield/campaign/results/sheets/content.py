"""What is on a sheet: head, overall block, curve, topics, and what is sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

Number = float | None
"""A score; None is no score."""


def finite(value: float) -> Number:
    """Return a number; None for what is none, or has no end."""
    return value if isfinite(value) else None


@dataclass(frozen=True)
class Category:
    """The runs that a run is compared with: those of one value of a category, or all.

    Attributes
    ----------
    key, value
        Such as `type` and `manual`; both are empty for all runs.
    runs
        How many runs it has, this one among them.
    """

    key: str
    value: str
    runs: int

    def __str__(self) -> str:
        return f"{self.key} {self.value}" if self.key else "all runs"


@dataclass(frozen=True)
class OfTopic:
    """One topic: its relevant documents, the run's score, and those of the category.

    Attributes
    ----------
    relevant
        Number of relevant documents.
    best, median, worst
        Scores of the category; None where no category is shown.
    place
        One more than the runs of the category with a better score: equal ones share it.
    """

    topic: str
    relevant: int
    score: Number
    best: Number = None
    median: Number = None
    worst: Number = None
    place: int | None = None


@dataclass(frozen=True)
class Certainty:
    """What is sure of a run's place among all runs.

    Attributes
    ----------
    place
        One more than the runs with a better mean.
    runs
        Number of runs.
    letters
        Groups of runs that are not separated: runs that share a letter do not differ.
    method
        The test, its correction and its level.
    better, worse, alike
        How many runs are found better, worse, and neither.
    names
        Runs not separated from it, the best first; None where others are hidden.
    verdict
        Whether what the test says is meaningful on the scale of the measure, in sentences.
    refused
        Why runs are not compared; empty where they are.
    """

    place: int
    runs: int
    letters: str = ""
    method: str = ""
    better: int = 0
    worse: int = 0
    alike: int = 0
    names: tuple[str, ...] | None = None
    verdict: tuple[str, ...] = ()
    refused: str = ""


@dataclass(frozen=True, repr=False)
class Content:
    """What a sheet shows; :class:`Sheet` is this with ways to write it.

    Attributes
    ----------
    campaign, campaign_title, task, task_title
        Names and titles.
    judgments
        Version of the judgments.
    tag, team, team_name, type, answers, priority, description
        As handed in; answers to the task's questions by their names.
    late, pooled, depth
        Whether it came late, and whether its first `depth` documents a topic were pooled.
    sha256, received
        Of the bytes as handed in; when, in UTC.
    warnings
        What the check warned of.
    metadata
        The part that is public, as YAML.
    measure, lower_is_better
        The measure of charts, topics and of what is sure; and whether low scores are good.
    topics
        Number of topics that are scored.
    retrieved, relevant, relevant_retrieved
        Numbers of documents over all topics.
    precision_at_recall
        Interpolated precision at recall 0, 0.1, ..., 1, shape (11,).
    median_precision
        The median of the category at each of these levels; empty where none is shown.
    precision_at
        Precision after 5, 10, ..., 1000 documents, by cutoff.
    average_precision, r_precision
        Means over topics.
    measures
        The task's measures: means over topics, or what else the measure sums up to.
    unjudged
        Share of documents without a judgment in the top ranks, by depth.
    category
        The runs it is compared with; None where these are too few to be shown.
    by_topic
        Topic by topic, in order of topics.
    sure
        What is sure of its place.
    """

    campaign: str
    campaign_title: str
    task: str
    task_title: str
    judgments: str
    tag: str
    team: str
    team_name: str
    measure: str
    topics: int
    retrieved: int
    relevant: int
    relevant_retrieved: int
    precision_at_recall: tuple[Number, ...]
    precision_at: Mapping[int, Number]
    average_precision: Number
    r_precision: Number
    measures: Mapping[str, Number]
    unjudged: Mapping[int, Number]
    by_topic: tuple[OfTopic, ...]
    sure: Certainty
    category: Category | None = None
    median_precision: tuple[Number, ...] = ()
    lower_is_better: bool = False
    type: str = ""
    priority: int | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    late: bool = False
    pooled: bool = False
    depth: int | None = None
    sha256: str = ""
    received: str = ""
    warnings: tuple[str, ...] = ()
    metadata: str = ""
