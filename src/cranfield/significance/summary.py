"""Summaries of the scores of systems: means, confidence intervals, wins and losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError, quote
from cranfield.base.kinds import Probability, check_arguments
from cranfield.base.text import format_range, inflect, list_some, sanitise
from cranfield.collection.files.named_columns import TOPIC
from cranfield.result import Column, Columns, TableResult, declare_bounds
from cranfield.scores import Scores
from cranfield.scores.averages import Averages
from cranfield.significance.comparison.result import compute_paired_t_pvalues
from cranfield.significance.differences import bound_by_t, pair_all
from cranfield.significance.prepare import as_scores, describe_replicates, find_baseline
from cranfield.sources.columns import make_pair_reader, read_table
from cranfield.sources.schemas import FileColumn, make_line_schema
from cranfield.sources.values import ID

_TOPIC_GROUPS = make_line_schema(
    "table of topic groups",
    TOPIC,
    FileColumn("group", ID),
    read_mapping=make_pair_reader("topic", "group"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Summary(TableResult):
    """Mean of each system with its confidence interval; returned by :func:`summarise`.

    Attributes
    ----------
    measure
        Name of the measure.
    baseline, confidence
        Options of :func:`summarise`.
    notes
        Notes on excluded topics, and on limitations of the intervals and the p-values.
    """

    columns: ClassVar[Columns] = {
        "measure": Column("Name of the measure; only if there are several measures.", key=True),
        "group": Column("Group of topics; only with the option `groups`.", key=True),
        "system": Column("System.", key=True),
        "topics": Column("Number of topics on which the system has a score.", 0),
        "mean": Column("Mean score over topics with a score."),
        **declare_bounds(
            "confidence interval of the mean, by Student's t", "; null if sd is 0 or null"
        ),
        "sd": Column("Standard deviation over topics, with divisor n - 1; null for one topic."),
        "median": Column("Median score."),
        "difference": Column(
            "With `baseline`: mean difference from it, over topics on which both have a score."
        ),
        "wins": Column("Number of topics on which the system is better than the baseline.", 0),
        "losses": Column("Number of topics on which the system is worse than the baseline.", 0),
        "ties": Column("Number of topics on which the system equals the baseline.", 0),
        "raw p": Column(
            "Uncorrected two-sided p-value of Student's paired t-test, or of exact sign flips if"
            " differences do not vary; null for the baseline, and with fewer than 2 common topics.",
            is_pvalue=True,
        ),
    }

    measure: str
    baseline: str | None
    confidence: float
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        level = f"{100 * self.confidence:g}%"
        line = f"{self.measure}: {level} confidence interval of each mean, over topics"
        return [f"{line}; baseline {self.baseline}" if self.baseline else line]

    def format_notes(self) -> list[str]:
        """Return one line per note; the notes of several measures name their measures already."""
        has_names = "measure" in self.rows.columns
        return [f"note: {note}" for note in self.notes] if has_names else super().format_notes()


def summarise(
    scores: Any,
    *,
    baseline: str | int | None = None,
    groups: Any = None,
    confidence: Probability = 0.95,
) -> Summary:
    r"""Summarise the scores of each system, for one or more systems.

    The confidence interval of each mean is Student's,

    .. math:: \bar{x} \pm t_{n-1} \frac{s}{\sqrt{n}}

    which assumes that topics are a random sample. To test differences between systems, use
    :func:`compare`, which pairs scores by topic.

    Parameters
    ----------
    scores
        Scores of one measure: :class:`Scores`, or any input that can be read as such.
    baseline
        System to compare all others with, by name or by index from 0: by wins, losses and ties, and
        by Student's paired t-test without correction; :func:`compare` corrects for several systems.
    groups
        Groups of topics, each summarised separately: a dict `{topic: group}`, a data frame with
        columns `topic` and `group`, or a file. A topic may be in several groups.
    confidence
        Confidence level.

    Returns
    -------
    Summary
        A row for each system, or each group and system.

    Raises
    ------
    PolicyError
        For an unknown baseline, groups without a topic of the scores, or an invalid `confidence`.
    CranfieldError
        For infinite scores.
    InputError
        For groups that cannot be read, or with a topic twice in a group.

    Examples
    --------
    >>> scores = {"old": [0.5, 0.4, 0.3], "new": [0.7, 0.5, 0.2]}
    >>> print(summarise(scores, baseline="old"))
    scores: 95% confidence interval of each mean, over topics; baseline old
    <BLANKLINE>
    system  topics    mean      low    high      sd  median  difference  wins  losses  ties   raw p
    old          3  0.4000   0.1516  0.6484  0.1000  0.4000      0.0000     0       0     3
    new          3  0.4667  -0.1585  1.0918  0.2517  0.5000      0.0667     2       1     0  0.5286
    >>> summarise(scores, groups={"1": "easy", "2": "hard", "3": "hard"}).mean.round(2).tolist()
    [0.5, 0.7, 0.35, 0.35]
    """
    check_arguments(summarise, locals())
    finite_scores = as_scores(scores).check_finite()
    topic_scores = finite_scores.average_shards()
    baseline_index = None if baseline is None else find_baseline(topic_scores.systems, baseline)
    baseline_name = None if baseline_index is None else topic_scores.systems[baseline_index]
    notes = describe_replicates(finite_scores)
    frames = []
    for group, topics in _split_topics(groups, topic_scores.topics, notes):
        frame = _summarise_topics(topic_scores, topics, baseline_index, confidence)
        if group is not None:
            frame = frame.select(pl.lit(group).alias("group"), pl.all())
        frames.append(frame)
    rows = pl.concat(frames)
    if n_unbounded := int((rows["low"].is_null() & (rows["topics"] > 0)).sum()):
        verb = "has" if n_unbounded == 1 else "have"
        notes.append(
            f"{inflect(n_unbounded, 'mean')} {verb} no interval: fewer than 2 topics, or the same"
            " score on all topics"
        )
    if baseline is not None and len(topic_scores.systems) > 2:
        notes.append("p-values are uncorrected; use `compare` for corrected p-values")
    if n_missing := int(np.isnan(topic_scores.values).sum()):
        notes.append(f"{inflect(n_missing, 'missing score')} excluded from means and comparisons")
        notes += _describe_common_topics(rows, baseline_name)
    if (aggregate := topic_scores.aggregate) != "mean":
        notes.append(f"{topic_scores.measure} is aggregated as {aggregate}; this table shows means")
    measure = topic_scores.measure or "scores"
    return Summary(rows, measure, baseline_name, confidence, tuple(notes))


def _describe_common_topics(rows: pl.DataFrame, baseline: str | None) -> list[str]:
    """Return a note if topics of differences from the baseline are fewer than those of means."""
    if baseline is None:
        return []
    n_common = pl.sum_horizontal("wins", "losses", "ties")
    n_baseline = pl.col("topics").filter(pl.col("system") == baseline).first()
    if "group" in rows.columns:
        n_baseline = n_baseline.over("group")
    n_topics = pl.max_horizontal("topics", n_baseline)
    overlaps = rows.select(n_topics=n_common, is_incomplete=n_common < n_topics)
    counts = overlaps.filter("is_incomplete")["n_topics"]
    if counts.is_empty():
        return []
    range_text = format_range(counts.to_numpy())
    return [
        f"differences from {sanitise(baseline)} are over the {range_text} topics on which both"
        " systems have scores; they may not equal differences of the means in this table"
    ]


def summarise_each(scores: Mapping[str, Scores], **options: Any) -> Summary:
    """Summarise the scores of each measure; with several, the first column names the measure."""
    summaries = {
        name: summarise(measure_scores, **options) for name, measure_scores in scores.items()
    }
    first = next(iter(summaries.values()))
    if len(summaries) == 1:
        return first
    rows = pl.concat(
        summary.rows.select(pl.lit(name).alias("measure"), pl.all())
        for name, summary in summaries.items()
    )
    measures_by_note: dict[str, list[str]] = {}
    for name, summary in summaries.items():
        for note in summary.notes:
            measures_by_note.setdefault(note, []).append(name)
    label_by_note = {note: ", ".join(names) for note, names in measures_by_note.items()}
    notes = tuple(n if label in n else f"{label}: {n}" for n, label in label_by_note.items())
    return replace(first, rows=rows, measure=", ".join(summaries), notes=notes)


def _split_topics(
    groups: Any, topics: Sequence[str], notes: list[str]
) -> Iterator[tuple[str | None, Indices]]:
    """Yield the name and topic indices of each group, or None and all topics; append to `notes`."""
    if groups is None:
        yield None, np.arange(len(topics))
        return
    table = read_table(groups, _TOPIC_GROUPS)
    table.refuse(
        table.frame.is_duplicated(),
        lambda row: f"topic {quote(row['topic'])} occurs twice in group {quote(row['group'])}",
    )
    index_of = {topic: k for k, topic in enumerate(topics)}
    rows = table.frame.filter(pl.col("topic").is_in(topics))
    if rows.is_empty():
        raise PolicyError(
            f"{table.source}: expected topics that have scores, such as {quote(topics[0])}, got"
            f" {quote(table.frame['topic'][0])}"
        )
    if names := [quote(topic) for topic in topics if topic not in set(rows["topic"])]:
        count_text = inflect(len(names), "topic")
        notes.append(f"{count_text} excluded for lack of a group ({list_some(names, 3)})")
    if n_unknown := table.frame.height - rows.height:
        notes.append(
            f"{inflect(n_unknown, 'row')} of {table.source} ignored: topics without scores"
        )
    for (name,), group_rows in rows.group_by("group", maintain_order=True):
        yield str(name), np.array([index_of[topic] for topic in group_rows["topic"]])


def _summarise_topics(
    topic_scores: Scores, topics: Indices, baseline: int | None, confidence: float
) -> pl.DataFrame:
    values = topic_scores.values[topics]
    averages = Averages(values)
    n, mean, sd = averages.count_topics(), averages.mean(), averages.std()
    standard_error = np.where(sd > 0, sd / np.sqrt(np.maximum(n, 1)), np.nan)
    low, high = bound_by_t(mean, standard_error, np.maximum(n - 1, 1).astype(float), confidence)
    columns: dict[str, Any] = {
        "system": pl.Series(topic_scores.systems, dtype=pl.String),
        **{"topics": n, "mean": mean, "low": low, "high": high, "sd": sd},
        "median": averages.median(),
    }
    if baseline is not None:
        difference = values - values[:, [baseline]]
        improvement = -difference if topic_scores.lower_is_better else difference
        pvalues = [_compute_paired_pvalue(values[:, [k, baseline]]) for k in range(len(n))]
        pvalues[baseline] = np.nan
        columns |= {
            "difference": Averages(difference).mean(),
            "wins": (improvement > 0).sum(axis=0),
            "losses": (improvement < 0).sum(axis=0),
            "ties": (improvement == 0).sum(axis=0),
            "raw p": pvalues,
        }
    return pl.DataFrame(columns).fill_nan(None)


def _compute_paired_pvalue(values: Floats) -> float:
    """Return the p-value of the paired t-test of scores of shape (topics, 2)."""
    rows = values[~np.isnan(values).any(axis=1)]
    return float(compute_paired_t_pvalues(pair_all(rows))[0]) if len(rows) > 1 else np.nan
