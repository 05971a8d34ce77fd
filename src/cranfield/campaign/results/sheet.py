"""The sheet of a run: its results as a participant receives them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from cranfield.base.errors import InputError
from cranfield.base.text import counted, json_text, plain
from cranfield.tabular import number, text_table

Number = float | None
"""A score; None if missing."""


def finite(value: float) -> Number:
    """Return a finite number; None for NaN and infinities."""
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
class TopicScores:
    """One topic: its relevant documents, the run's score, and those of the category.

    Attributes
    ----------
    relevant
        Number of relevant documents.
    best, median, worst
        Scores of the category; None where no category is shown.
    rank
        One more than the runs of the category with a better score: equal ones share it.
    """

    topic: str
    relevant: int
    score: Number
    best: Number = None
    median: Number = None
    worst: Number = None
    rank: int | None = None


@dataclass(frozen=True)
class SheetComparison:
    """Comparison of a run with all other runs by significance tests.

    Attributes
    ----------
    rank
        One more than the runs with a better mean.
    runs
        Number of runs.
    groups
        Letters; runs that share a letter are not significantly different.
    method
        The test, its correction and its level.
    better, worse, not_separated
        Number of runs that are significantly better, significantly worse, and neither.
    names
        Runs that are not significantly different from it, the best first; None if hidden.
    verdict
        Whether what the test says is meaningful on the scale of the measure, in sentences.
    not_compared
        Why runs are not compared; empty where they are.
    """

    rank: int
    runs: int
    groups: str = ""
    method: str = ""
    better: int = 0
    worse: int = 0
    not_separated: int = 0
    names: tuple[str, ...] | None = None
    verdict: tuple[str, ...] = ()
    not_compared: str = ""


FORM = "cranfield sheet 1"
"""Name of the JSON form of a sheet."""


@dataclass(frozen=True, repr=False)
class Sheet:
    """Scores of one run as its team receives them; :meth:`Campaign.sheets` writes those of a task.

    Attributes
    ----------
    campaign, campaign_title, task, task_title
        Names and titles.
    judgments
        Version of the judgments.
    tag, team, team_name, type, answers, priority, description
        As submitted; answers to the task's questions by their names.
    late, pooled, depth
        Whether it came late, and whether its first `depth` documents a topic were pooled.
    sha256, received
        SHA-256 of the submitted bytes; time of submission, in UTC.
    warnings
        Warnings of the check.
    metadata
        The part that is public, as YAML.
    measure, lower_is_better
        The measure of charts, topics and comparisons; whether lower is better.
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
    by_topic: tuple[TopicScores, ...]
    comparison: SheetComparison
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

    def to_json(self) -> str:
        """Return it as JSON, from which :meth:`from_json` makes an equal one."""
        return json_text({"form": FORM, **asdict(self)})

    @classmethod
    def from_json(cls, text: str, source: str = "the sheet") -> Sheet:
        """Read what :meth:`to_json` wrote; `source` is what messages call it.

        Raises
        ------
        InputError
            For anything else.
        """
        try:
            content = json.loads(text)
            if content.pop("form") != FORM:
                raise InputError(f"is not of the form {FORM!r}", source=source)
            return cls(**_read(content))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"is not a sheet written by cranfield: {error}", source=source) from (
                error
            )

    def to_text(self) -> str:
        """Return it as text, in the manner of TREC's sheets."""
        facts_table = text_table(["", ""], [[*fact] for fact in facts(self)], left=(0, 1))
        parts = [
            _heading(self),
            facts_table.lstrip(),
            *[f"warning: {plain(warning)}" for warning in self.warnings],
            _overall(self),
            _topics(self),
            _comparison(self),
        ]
        if self.metadata:
            lines = "\n".join(plain(line) for line in self.metadata.splitlines())
            parts.append(f"Metadata\n{lines}")
        return "\n\n".join(parts) + "\n"

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        rank = f"{self.comparison.rank} of {self.comparison.runs} by {self.measure}"
        return f"Sheet({self.tag!r}, task {self.task}: rank {rank})"


def facts(sheet: Sheet) -> list[tuple[str, str]]:
    """Return names and values of the facts about the run."""
    # A list, as a question may be called like anything else.
    found = [
        ("Campaign", sheet.campaign_title or sheet.campaign),
        ("Task", f"{sheet.task} ({sheet.task_title})" if sheet.task_title else sheet.task),
        ("Judgments", f"version {sheet.judgments}" if sheet.judgments else ""),
        ("Run", sheet.tag),
        ("Team", team_of(sheet)),
        ("Type", sheet.type),
        ("Priority", "" if sheet.priority is None else str(sheet.priority)),
        *sheet.answers.items(),
        ("Received", sheet.received + (", late" if sheet.late else "")),
        ("Pooled", _pooled(sheet)),
        ("SHA-256", sheet.sha256),
        ("Description", sheet.description),
    ]
    return [(name, value) for name, value in found if value]


def team_of(sheet: Sheet) -> str:
    named = sheet.team_name not in {"", sheet.team}
    return f"{sheet.team} ({sheet.team_name})" if named else sheet.team


def _pooled(sheet: Sheet) -> str:
    if sheet.depth is None:
        return ""
    if sheet.pooled:
        return f"its first {counted(sheet.depth, 'document')} for each topic were judged"
    return "not pooled; its documents are judged only if other runs retrieved them"


def rank_sentence(sheet: Sheet) -> str:
    value = number(sheet.measures.get(sheet.measure))
    of = f"{sheet.comparison.rank:,} of {counted(sheet.comparison.runs, 'run')}"
    return f"Rank {of} by {sheet.measure}" + (f", {value}" if value else "")


def compared(sheet: Sheet) -> str:
    """Describe the runs that best, median and worst are taken over."""
    if sheet.category is None:
        return "too few other runs for a comparison"
    if not sheet.category.key:
        return f"best, median and worst of all {counted(sheet.comparison.runs, 'run')}"
    runs = counted(sheet.category.runs, "run")
    return f"best, median and worst of the {runs} of {sheet.category}"


def difference(one: TopicScores) -> float | None:
    """Return the run's score minus the median of the category."""
    return None if one.score is None or one.median is None else one.score - one.median


def topic_head(sheet: Sheet) -> list[str]:
    head = ["topic", "relevant", sheet.measure]
    if sheet.category is not None:
        head += ["best", "median", "worst", "minus median", "rank"]
    return head


def topic_rows(sheet: Sheet) -> list[list[str]]:
    rows = []
    for topic in sheet.by_topic:
        row = [topic.topic, f"{topic.relevant:,}", number(topic.score)]
        if sheet.category is not None:
            row += [number(value) for value in (topic.best, topic.median, topic.worst)]
            less = difference(topic)
            row.append(f"+{less:.4f}" if less is not None and less > 0 else number(less))
            row.append(f"{topic.rank} of {sheet.category.runs}")
        rows.append(row)
    return rows


def comparison_sentences(sheet: Sheet) -> list[str]:
    """Describe which runs differ significantly from the run, and what that means."""
    one = sheet.comparison
    if one.not_compared:
        return [f"Runs are not compared: {one.not_compared}."]
    lines = [f"{_found(sheet)} ({one.method})."]
    if one.groups:
        lines.append(
            f"Groups: {one.groups}. Runs that share a letter are not significantly different."
        )
    return [*lines, *one.verdict]


def _found(sheet: Sheet) -> str:
    one, by = sheet.comparison, f"by {sheet.measure}"
    if one.runs == 2:
        verdict = "better" if one.better else "worse" if one.worse else "different"
        negation = "" if one.better or one.worse else "not "
        return f"The other run is {negation}significantly {verdict} {by}"
    return (
        f"Of the {one.runs - 1:,} other runs, {one.better:,} {_is(one.better)} significantly better"
        f" {by}, {one.worse:,} significantly worse, and {one.not_separated:,} not significantly"
        " different"
    )


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _heading(sheet: Sheet) -> str:
    of = plain(sheet.campaign_title or sheet.campaign)
    task = plain(sheet.task_title or sheet.task)
    return f"{plain(sheet.tag)}: {of}, {task}\n{plain(rank_sentence(sheet))}"


def _overall(sheet: Sheet) -> str:
    counts = [
        ["Retrieved", f"{sheet.retrieved:,}"],
        ["Relevant", f"{sheet.relevant:,}"],
        ["Relevant retrieved", f"{sheet.relevant_retrieved:,}"],
    ]
    documents = {f"{k} documents": value for k, value in sheet.precision_at.items()}
    means = {"Average precision": sheet.average_precision, **sheet.measures}
    means |= {f"Unjudged in the top {k}": value for k, value in sheet.unjudged.items()}
    head = ["Recall", "Precision", *(["Median"] if sheet.median_precision else [])]
    columns = [sheet.precision_at_recall, *([sheet.median_precision] if head[2:] else [])]
    curve = [
        [f"{k / 10:.2f}", *map(number, values)]
        for k, values in enumerate(zip(*columns, strict=True))
    ]
    blocks = [
        text_table([f"Over {sheet.topics:,} topics", ""], counts),
        _beside(
            text_table(head, curve),
            _numbers("Precision after", {**documents, "R (R-precision)": sheet.r_precision}),
        ),
        _numbers("Measure", means),
    ]
    return "\n\n".join(blocks)


def _numbers(head: str, values: Mapping[str, Number]) -> str:
    return text_table([head, ""], [[name, number(value)] for name, value in values.items()])


def _beside(one: str, other: str) -> str:
    """Set two blocks of text side by side."""
    left, right = one.split("\n"), other.split("\n")
    width = max(map(len, left)) + 6
    rows = max(len(left), len(right))
    left, right = ([*some, *[""] * (rows - len(some))] for some in (left, right))
    return "\n".join(f"{a:<{width}}{b}".rstrip() for a, b in zip(left, right, strict=True))


def _topics(sheet: Sheet) -> str:
    title = plain(f"{sheet.measure} by topic; {compared(sheet)}")
    return f"{title}\n{text_table(topic_head(sheet), topic_rows(sheet))}"


def _comparison(sheet: Sheet) -> str:
    lines = ["Comparison with other runs", *comparison_sentences(sheet)]
    if sheet.comparison.names:
        lines.append(f"Not significantly different from it: {', '.join(sheet.comparison.names)}.")
    return "\n".join(map(plain, lines))


def _read(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a sheet from the values of its JSON."""
    comparison, category = content["comparison"], content["category"]
    return {
        **_tuples(content),
        **{
            name: {int(cutoff): value for cutoff, value in content[name].items()}
            for name in ("precision_at", "unjudged")
        },
        "by_topic": tuple(TopicScores(**topic) for topic in content["by_topic"]),
        "comparison": SheetComparison(**_tuples(comparison)),
        "category": None if category is None else Category(**category),
    }


def _tuples(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
