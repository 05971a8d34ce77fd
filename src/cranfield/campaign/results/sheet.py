"""The sheet of a run: its results, for its team."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from math import isfinite
from typing import Any

import numpy as np

from cranfield.base.errors import InputError, quote
from cranfield.base.text import format_json, inflect
from cranfield.campaign.pages import render_text
from cranfield.tabular import align_rows, format_number

Score = float | None
"""A score; None if missing."""


def to_score(value: float) -> Score:
    """Return a score, which is None for NaN and infinity."""
    return value if isfinite(value) else None


@dataclass(frozen=True)
class Category:
    """The reference runs of a run: the runs with the same value of a category, or all runs."""

    key: str  # such as `type`; empty for all runs
    value: str  # such as `manual`; empty for all runs
    n_runs: int  # including the run itself

    def __str__(self) -> str:
        return f"{self.key} {self.value}" if self.key else "all runs"


@dataclass(frozen=True)
class TopicScores:
    """Scores of a run for a topic, and the statistics of its category, if there is one."""

    topic: str
    n_relevant: int  # number of relevant documents
    score: Score
    best: Score = None
    median: Score = None
    worst: Score = None
    rank: int | None = None  # 1 + number of runs of the category with a better score

    @property
    def minus_median(self) -> Score:
        """The score of the run minus the median of the category."""
        return None if self.score is None or self.median is None else self.score - self.median


@dataclass(frozen=True)
class SheetComparison:
    """Comparison of a run with all other runs by significance tests."""

    rank: int  # 1 + number of runs with a better mean
    n_runs: int
    groups: str = ""  # letters; runs that share a letter are not significantly different
    method: str = ""  # the test, its correction and its level
    n_better: int = 0  # number of significantly better runs
    n_worse: int = 0  # number of significantly worse runs
    n_not_different: int = 0  # number of runs that are not significantly different
    names: tuple[str, ...] | None = None  # tags of these runs, the best first; None if hidden
    verdict: tuple[str, ...] = ()  # whether the result is meaningful on the scale of the measure
    not_compared: str = ""  # reason why runs are not compared; empty if they are


FORMAT = "cranfield sheet 1"
"""Name of the JSON format of a sheet."""


@dataclass(frozen=True, repr=False)
class Sheet:
    """Scores of a run for its team; :meth:`Campaign.sheets` writes the sheets of a task.

    Attributes
    ----------
    campaign, campaign_title, task, task_title
        Names and titles of the campaign and the task.
    judgments
        Version of the judgments.
    tag, team, team_name, type, answers, priority, description
        Declaration of the team about the run; `answers` has the answers to questions by name.
    late, pooled, depth
        Whether the run was late, and whether its first `depth` documents per topic were pooled. The
        depth is 0 if only other runs were pooled, and None if it was not recorded.
    sha256, received
        SHA-256 of the submitted bytes; time of submission, in UTC.
    warnings
        Warnings of the check.
    metadata
        The public part of the metadata, as YAML.
    notes
        Notes on the scores of the run, such as the effect of ties.
    measure, lower_is_better
        Measure of charts, topics and comparisons, and whether lower is better.
    n_topics
        Number of scored topics.
    n_retrieved, n_relevant, n_relevant_retrieved
        Numbers of documents over all topics.
    precision_at_recall
        Interpolated precision at recall 0, 0.1, ..., 1, shape (11,).
    median_precision
        Median precision of the category at these levels; empty without a category.
    precision_at
        Precision after 5, 10, ..., 1000 documents, up to the task's maximum, by cutoff.
    average_precision, r_precision
        Means over topics.
    measures
        Overall values by the measures of the task and by `measure`.
    unjudged
        Proportion of documents without a judgment in the top ranks, by depth.
    category
        The reference runs; None if there are too few of them.
    by_topic
        Scores by topic, in order of topics.
    comparison
        Comparison of the run with all other runs.
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
    n_topics: int
    n_retrieved: int
    n_relevant: int
    n_relevant_retrieved: int
    precision_at_recall: tuple[Score, ...]
    precision_at: Mapping[int, Score]
    average_precision: Score
    r_precision: Score
    measures: Mapping[str, Score]
    unjudged: Mapping[int, Score]
    by_topic: tuple[TopicScores, ...]
    comparison: SheetComparison
    category: Category | None = None
    median_precision: tuple[Score, ...] = ()
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
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the sheet as JSON, which :meth:`from_json` reads."""
        return format_json({"form": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str, source: str = "the sheet") -> Sheet:
        """Read a sheet from the JSON of :meth:`to_json`; messages name the `source`.

        Raises
        ------
        InputError
            For text that is not the JSON of a sheet.
        """
        try:
            content = _convert_lists(json.loads(text))
            if (form := content.pop("form")) != FORMAT:
                reason = f"expected a sheet in the format {FORMAT!r}, got {quote(form)}"
                raise InputError(reason, source=source)
            for name in ("precision_at", "unjudged"):
                content[name] = {int(cutoff): value for cutoff, value in content[name].items()}
            if content["category"] is not None:
                content["category"] = Category(**content["category"])
            content["comparison"] = SheetComparison(**_convert_lists(content["comparison"]))
            content["by_topic"] = tuple(TopicScores(**topic) for topic in content["by_topic"])
            return cls(**content)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"is not a sheet written by cranfield: {error}"
            raise InputError(reason, source=source) from error

    def to_text(self) -> str:
        """Return the sheet as text, in the format of TREC's sheets."""
        values = make_sheet_values(self)
        levels = enumerate(zip(*values["curves"].values(), strict=True))
        precision = {f"{k} documents": value for k, value in self.precision_at.items()}
        precision |= {} if "Rprec" in self.measures else {"R (R-precision)": self.r_precision}
        means = {} if "AP" in self.measures else {"Average precision": self.average_precision}
        means |= self.measures
        means |= {f"Unjudged in the top {k}": rate for k, rate in self.unjudged.items()}
        return render_text(
            "sheet.txt",
            recall=[[f"{k / 10:.2f}", *map(format_number, row)] for k, row in levels],
            precision=_format_rows(precision),
            means=_format_rows(means),
            table=align_rows,
            beside=_join_side_by_side,
            **values,
        )

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        rank_text = f"{self.comparison.rank} of {self.comparison.n_runs} by {self.measure}"
        return f"Sheet({self.tag!r}, task {self.task}: rank {rank_text})"


def make_sheet_values(sheet: Sheet) -> dict[str, Any]:
    """Return the values for the templates of a sheet: as text, as a page, or on the site."""
    curves = {"this run": np.array(sheet.precision_at_recall, dtype=float)}
    if sheet.median_precision:
        curves[f"median of {sheet.category}"] = np.array(sheet.median_precision, dtype=float)
    differences = np.array([topic.minus_median for topic in sheet.by_topic], dtype=float)
    sign = -1 if sheet.lower_is_better else 1
    heads = ["topic", "relevant", sheet.measure]
    if sheet.category is not None:
        heads += ["best", "median", "worst", "minus median", "rank"]
    return {
        "headings": {
            "run": "The run",
            "overall": "Over all topics",
            **({} if sheet.category is None else {"differences": "Above and below the median"}),
            "by-topic": "Topic by topic",
            "comparison": "Comparison with other runs",
        },
        "sheet": sheet,
        "titles": make_sheet_titles(sheet),
        "rank": format_rank(sheet),
        "facts": list_run_facts(sheet),
        "levels": np.arange(len(sheet.precision_at_recall)) / 10,
        "curves": curves,
        "differences": differences,
        "n_better": int((sign * differences > 0).sum()),
        "n_worse": int((sign * differences < 0).sum()),
        "n_equal": int((differences == 0).sum()),
        "category_text": describe_category(sheet),
        "heads": heads,
        "rows": format_topic_rows(sheet),
        "sentences": describe_comparison(sheet),
    }


def make_sheet_titles(sheet: Sheet) -> tuple[str, str]:
    return sheet.campaign_title or sheet.campaign, sheet.task_title or sheet.task


def list_run_facts(sheet: Sheet) -> list[tuple[str, str]]:
    """Return facts about the run, as pairs of name and value."""
    pooling = ""
    if sheet.pooled and sheet.depth:
        pooling = (
            f"its first {inflect(sheet.depth, 'document')} of each topic were pooled for judging"
        )
    elif sheet.pooled:
        pooling = "pooled for judging"
    elif sheet.depth is not None:
        pooling = "not pooled; its documents are judged only if pooled runs retrieved them"
    # Not a dict, because a question may have the name of another row.
    rows = [
        ("Campaign", sheet.campaign_title or sheet.campaign),
        ("Task", f"{sheet.task} ({sheet.task_title})" if sheet.task_title else sheet.task),
        ("Judgments", f"version {sheet.judgments}" if sheet.judgments else ""),
        ("Run", sheet.tag),
        ("Team", format_team(sheet)),
        ("Type", sheet.type),
        ("Priority", "" if sheet.priority is None else str(sheet.priority)),
        *sheet.answers.items(),
        ("Received", sheet.received + (", late" if sheet.late else "")),
        ("Pooled", pooling),
        ("SHA-256", sheet.sha256),
        ("Description", sheet.description),
    ]
    return [(name, value) for name, value in rows if value]


def format_team(sheet: Sheet) -> str:
    has_name = sheet.team_name not in {"", sheet.team}
    return f"{sheet.team} ({sheet.team_name})" if has_name else sheet.team


def format_rank(sheet: Sheet) -> str:
    value = format_number(sheet.measures.get(sheet.measure))
    rank_text = f"{sheet.comparison.rank:,} of {inflect(sheet.comparison.n_runs, 'run')}"
    late_text = " (submitted late)" if sheet.late else ""
    return f"Rank {rank_text}{late_text} by {sheet.measure}" + (f", {value}" if value else "")


def describe_category(sheet: Sheet) -> str:
    """Describe the runs whose best, median and worst scores are shown."""
    if sheet.category is None:
        return "too few other runs for a comparison"
    if not sheet.category.key:
        return f"best, median and worst of all {inflect(sheet.comparison.n_runs, 'run')}"
    runs_text = inflect(sheet.category.n_runs, "run")
    return f"best, median and worst of the {runs_text} of {sheet.category}"


def format_topic_rows(sheet: Sheet) -> list[list[str]]:
    rows = []
    for topic in sheet.by_topic:
        row = [topic.topic, f"{topic.n_relevant:,}", format_number(topic.score)]
        if sheet.category is not None:
            row += map(format_number, (topic.best, topic.median, topic.worst))
            difference = topic.minus_median
            sign = "+" if difference is not None and difference > 0 else ""
            row += [sign + format_number(difference), f"{topic.rank} of {sheet.category.n_runs}"]
        rows.append(row)
    return rows


def describe_comparison(sheet: Sheet) -> list[str]:
    """Describe how many runs are significantly different, and whether this is meaningful."""
    comparison, by_measure = sheet.comparison, f"by {sheet.measure}"
    if comparison.not_compared:
        return [f"Runs are not compared: {comparison.not_compared}."]
    verb = "is" if comparison.n_better == 1 else "are"
    verdict = (
        f"Of the {comparison.n_runs - 1:,} other runs, {comparison.n_better:,} {verb} significantly"
        f" better {by_measure}, {comparison.n_worse:,} significantly worse, and"
        f" {comparison.n_not_different:,} not significantly different"
    )
    if comparison.n_runs == 2:
        kind = "better" if comparison.n_better else "worse" if comparison.n_worse else "different"
        negation = "" if comparison.n_better or comparison.n_worse else "not "
        verdict = f"The other run is {negation}significantly {kind} {by_measure}"
    lines = [f"{verdict} ({comparison.method})."]
    if comparison.groups:
        explanation = "Runs that share a letter are not significantly different."
        lines.append(f"Groups: {comparison.groups}. {explanation}")
    return [*lines, *comparison.verdict]


def _format_rows(values: Mapping[str, Score]) -> list[tuple[str, str]]:
    return [(name, format_number(value)) for name, value in values.items()]


def _join_side_by_side(first: str, second: str) -> str:
    rows = [*zip_longest(first.split("\n"), second.split("\n"), fillvalue="")]
    width = max(len(start) for start, _ in rows) + 6
    return "\n".join(f"{start:<{width}}{end}".rstrip() for start, end in rows)


def _convert_lists(content: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(value) if isinstance(value, list) else value for k, value in content.items()}
