"""Bias of LLM judges in the scores of systems, and towards the systems of their own family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cranfield.assess.agreement.coefficients import MIN_SPREAD
from cranfield.assess.judges.rankings import compute_ranks, score_by_judges
from cranfield.assess.judges.reading import tabulate
from cranfield.base.arrays import Bools, round_for_ranking
from cranfield.base.errors import PolicyError, quote
from cranfield.base.kinds import UnitInterval, check_arguments
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.judging import judge as judge_runs
from cranfield.result import Column, Columns, TableResult, format_table
from cranfield.sources import schemas
from cranfield.sources.columns import read_table
from cranfield.sources.schemas import TABLE_FORMATS, Schema
from cranfield.sources.values import ID
from cranfield.tabular import Table

_FAMILIES = Schema(
    "table of families",
    (schemas.FileColumn("name", ID, "judge"), schemas.FileColumn("family", ID)),
    noun="the families",
    formats=TABLE_FORMATS,
    default_format="csv",
    tuples=("name", "family"),
)


def read_families(families: Any) -> dict[str, set[str]]:
    """Read the families of judges and systems, by name."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(families, Mapping):
        for name, entry in families.items():
            is_list = isinstance(entry, Iterable) and not isinstance(entry, str)
            pairs += [(name, family) for family in (entry if is_list else [entry])]
    else:
        pairs = read_table(families, _FAMILIES).frame.rows()
    families_of: dict[str, set[str]] = {}
    for name, family in pairs:
        if not isinstance(family, (str, int)):
            reason = f"family of {quote(name)} must be text or an integer"
            raise PolicyError(f"{reason}, got {quote(family)}")
        families_of.setdefault(str(name), set()).add(str(family))
    return families_of


def mask_same_family(judges: Sequence[str], systems: Sequence[str], families: Any) -> Bools:
    """Return a mask of the other systems of each judge's family; shape (judges, systems)."""
    entries = read_families(families)
    families_of = {name: entries.get(name, {name}) for name in (*judges, *systems)}

    def is_same(judge: str, system: str) -> bool:
        return judge != system and bool(families_of[judge] & families_of[system])

    return np.array([[is_same(judge, system) for system in systems] for judge in judges])


@dataclass(frozen=True, eq=False, repr=False)
class SelfPreference(TableResult):
    """Self-preference bias of judges; returned by :func:`self_preference`.

    Attributes
    ----------
    rows
        Data frame with a row for each measure and judge.
    measures, judges, systems
        Names of the measures, judges and systems.
    confidence
        Confidence level of the intervals.
    notes
        Notes on judges without an estimate, on estimates without an interval, and on how labels
        were read.
    """

    name: ClassVar[str] = "self-preference"
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True, display=False),
        "judge": Column("Judge.", key=True),
        "family": Column("Number of systems of the judge's family, without the judge itself."),
        "topics": Column(
            "Number of topics that have labels of the judge and scores of all systems."
        ),
        "shift of family": Column(
            "Mean score by the judge's labels minus that by human labels, of the systems of the"
            " judge's family; scores are negated if lower scores are better."
        ),
        "shift of others": Column("The same difference of mean scores, of all other systems."),
        "bias": Column(
            "`shift of family` minus `shift of others`: above 0 if the judge favours its family."
            " All three are null without topics, or if one of the groups has no system."
        ),
        "low": Column(
            "Lower bound of the t interval of the bias; null if the bias is null or the same on"
            " every topic."
        ),
        "high": Column("Upper bound of the t interval of the bias."),
        "simultaneous low": Column(
            "Lower bound of the interval of the bias, simultaneous for all judges (Bonferroni)."
        ),
        "simultaneous high": Column("Upper bound of the simultaneous interval."),
        "p": Column(
            "Two-sided p-value of the t-test of a bias of 0, uncorrected; null where `low` is.",
            is_pvalue=True,
        ),
        "own human rank": Column(
            "Rank of the judge as a system, by human labels; null or absent if it is not a system."
        ),
        "own judge rank": Column("Rank of the judge as a system, by the labels of the judge."),
    }

    measures: tuple[str, ...]
    judges: tuple[str, ...]
    systems: tuple[str, ...]
    confidence: float
    notes: tuple[str, ...] = ()

    def tables(self) -> list[Table]:
        level = f"{100 * self.confidence:g}%"
        n_judges = self.rows.filter(measure=self.measures[0])["bias"].count()
        notes = [
            "bias: mean over topics of the shift of the judge's family minus the shift of all other"
            " systems; shift: score by the judge minus score by human labels, negated if lower"
            " scores are better; the judge's own run counts in neither group",
            f"low, high: {level} t interval over topics; simultaneous low, simultaneous high:"
            f" simultaneous for {inflect(n_judges, 'judge')} (Bonferroni)",
        ]
        groups = self.rows.group_by(["measure"], maintain_order=True)
        tables = [
            format_table(group, f"Self-preference bias: {name}", self.columns)
            for (name,), group in groups
        ]
        return [replace(table, notes=notes) for table in tables]

    def heading(self) -> list[str]:
        sizes = f"{inflect(len(self.judges), 'judge')}, {inflect(len(self.systems), 'system')}"
        return [f"{sizes}: {list_some(self.measures, 5)}"]


def self_preference(
    runs: Any,
    human: Any,
    judges: Any,
    families: Any,
    measures: Any = "nDCG@10",
    *,
    scale: Any = None,
    clip: bool = False,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    **options: Any,
) -> SelfPreference:
    r"""Estimate how much judges favour systems of their own family, such as the same model.

    .. math::
        b_j = \frac{1}{T} \sum_t \left( \operatorname{mean}_{s \in K_j} \Delta_{jst}
            - \operatorname{mean}_{s \notin K_j} \Delta_{jst} \right), \qquad
        \Delta_{jst} = M_j(s, t) - M_{human}(s, t)

    with T topics, :math:`M_j(s, t)` the score of system s on topic t by the labels of judge j, and
    :math:`K_j` the systems of the judge's family. A system with the name of the judge is in neither
    mean. The bias is 0 if the judge shifts the scores of all systems equally. A judge that scores
    its family higher than other systems is not biased if people do so by the same amount. If lower
    scores are better, scores are negated.

    Parameters
    ----------
    runs
        Runs: any input of :func:`cranfield.read_runs`, or the runs of :func:`judges_as_runs`, so
        that the judges are systems.
    human, judges, scale, clip
        As for :func:`compare_judges`.
    families
        A mapping of judges and systems to one family or several: `{name: family}` or
        `{name: [family, ...]}`; or a data frame, or the path of a CSV or TSV file, with a column of
        names (`name`, `judge`, `system`, `run`, ...) and a column of families (`family`, `team`,
        `group`, ...). A name without an entry is its own family, so that `{judge: [system, ...]}`,
        or a table with the columns `judge` and `system`, is sufficient.
    measures
        Measures or their text forms.
    confidence
        Confidence level of the intervals.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    SelfPreference
        Result with a row per measure and judge.

    Raises
    ------
    InputError, MeasureError, PolicyError
        For unreadable input and unknown names, and if no judge has both systems of its family and
        other systems.

    Notes
    -----
    Topics are a random sample and systems are fixed: the interval is for the same systems on other
    topics, and assumes that the differences by topic are normally distributed.

    Examples
    --------
    >>> people = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
    >>> machine = {"q1": {"x": 0, "y": 1}, "q2": {"x": 1, "y": 1}, "q3": {"x": 0, "y": 1}}
    >>> topics = ("q1", "q2", "q3")
    >>> runs = {"plain": {t: {"x": 1} for t in topics}, "rag": {t: {"y": 1} for t in topics}}
    >>> bias = self_preference(runs, people, {"llm": machine}, {"llm": ["rag"]}, "P@1")
    >>> bias.to_polars().select("judge", "family", "bias").rows()
    [('llm', 1, 1.0)]
    """
    check_arguments(self_preference, locals(), judge_runs)
    judge_scores = score_by_judges(runs, human, judges, measures, scale=scale, clip=clip, **options)
    names = judge_scores.names["judge"]
    families_of = read_families(families)
    is_in_family = mask_same_family(names, judge_scores.systems, families_of)
    is_own_run = np.array([[name == system for system in judge_scores.systems] for name in names])
    is_other = ~(is_in_family | is_own_run)
    is_estimable = is_in_family.any(axis=1) & is_other.any(axis=1)
    unknown_names = [name for name in families_of if name not in {*names, *judge_scores.systems}]
    note = (
        f"families: {len(unknown_names):,} of {inflect(len(families_of), 'name')} not found among"
        f" the judges and systems: {list_some(map(quote, unknown_names), 5)}"
    )
    if not is_estimable.any():
        reason = "expected a judge with systems of its family and of other families, got none"
        raise PolicyError(f"{reason}; {note}" if unknown_names else reason)
    notes = [*judge_scores.notes, *([note] if unknown_names else [])]
    if not is_estimable.all():
        listing = list_some((names[k] for k in np.flatnonzero(~is_estimable)), 5)
        notes.append(
            "no bias computed for judges that lack systems of their own family or of other"
            f" families: {listing}"
        )
    shape = judge_scores.judges.shape[:2]
    n_topics, human_rank, judge_rank = np.zeros((3, *shape), dtype=np.int64)
    family_shift, other_shift, standard_error = np.full((3, *shape), np.nan)
    for cell in np.ndindex(*shape):
        measure, judge = cell
        human_values, judge_values = judge_scores.select_complete_scores(measure, judge)
        n_topics[cell] = len(human_values)
        if is_own_run[judge].any() and n_topics[cell]:
            human_rank[cell], judge_rank[cell] = (
                compute_ranks(round_for_ranking(values.mean(axis=0)))[is_own_run[judge]][0]
                for values in (human_values, judge_values)
            )
        if is_estimable[judge] and n_topics[cell]:
            shifts = judge_values - human_values
            family_by_topic, others_by_topic = (
                shifts[:, group].mean(axis=1) for group in (is_in_family[judge], is_other[judge])
            )
            family_shift[cell], other_shift[cell] = family_by_topic.mean(), others_by_topic.mean()
            differences = family_by_topic - others_by_topic
            if n_topics[cell] > 1 and np.ptp(differences) > MIN_SPREAD:
                standard_error[cell] = differences.std(ddof=1) / np.sqrt(n_topics[cell])
    bias = family_shift - other_shift
    if (is_constant := (n_topics > 1) & np.isnan(standard_error) & ~np.isnan(bias)).any():
        n_pairs = f"{inflect(int(is_constant.sum()), 'pair')} of measure and judge"
        notes.append(f"no interval for the bias of {n_pairs}: the bias is the same on every topic")
    df = np.maximum(n_topics - 1, 1)
    simultaneous_level = 1 - (1 - confidence) / int(is_estimable.sum())
    half_width, simultaneous_half_width = (
        stdtrit(df, (1 + level) / 2) * standard_error for level in (confidence, simultaneous_level)
    )
    columns = {
        "family": np.broadcast_to(is_in_family.sum(axis=1), shape),
        "topics": n_topics,
        "shift of family": family_shift,
        "shift of others": other_shift,
        "bias": bias,
        "low": bias - half_width,
        "high": bias + half_width,
        "simultaneous low": bias - simultaneous_half_width,
        "simultaneous high": bias + simultaneous_half_width,
        "p": 2 * stdtr(df, -np.abs(bias) / standard_error),
    }
    rows = tabulate(columns, **judge_scores.names)
    if judge_rank.any():
        ranks = {"own human rank": human_rank, "own judge rank": judge_rank}
        series = [pl.Series(name, rank.ravel()) for name, rank in ranks.items()]
        rows = rows.with_columns(rank.replace(0, None) for rank in series)
    systems, measure_names = judge_scores.systems, judge_scores.names["measure"]
    return SelfPreference(rows, measure_names, names, systems, confidence, tuple(notes))


@dataclass(frozen=True, eq=False, repr=False)
class ScoreBias(TableResult):
    """Bias of each judge in the scores of systems; returned by :func:`score_bias`.

    Attributes
    ----------
    rows
        Data frame with a row for each measure, judge and system.
    confidence
        Confidence level of the intervals.
    notes
        Notes as for :class:`JudgeRankings`.
    """

    name: ClassVar[str] = "score-bias"
    titles: ClassVar[Mapping[str, str]] = {"score-bias": "Bias of scores by judges"}
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True),
        "judge": Column("Judge.", key=True),
        "system": Column("System.", key=True),
        "topics": Column(
            "Number of topics with scores of all systems by human labels and by the judge."
        ),
        "bias": Column(
            "Mean over topics of the score by the judge minus the score by human labels; scores are"
            " negated if lower scores are better. Null without topics."
        ),
        "low": Column(
            "Lower bound of the confidence interval of the bias, simultaneous for all systems"
            " (Bonferroni); null for fewer than 2 topics, or if the bias is equal on all topics."
        ),
        "high": Column("Upper bound of the simultaneous interval."),
    }

    confidence: float
    notes: tuple[str, ...] = ()

    def tables(self) -> list[Table]:
        systems = inflect(self.rows["system"].n_unique(), "system")
        notes = [
            "bias: mean score by the judge minus that by human labels, negated if lower scores are"
            " better",
            f"low, high: {100 * self.confidence:g}% t interval of the bias over topics,"
            f" simultaneous for {systems} (Bonferroni)",
        ]
        return [replace(table, notes=notes) for table in super().tables()]

    def heading(self) -> list[str]:
        return [f"bias of scores: {inflect(self.rows.height, 'value')}"]


def score_bias(
    runs: Any,
    human: Any,
    judges: Any,
    measures: Any = "nDCG@10",
    *,
    scale: Any = None,
    clip: bool = False,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    **options: Any,
) -> ScoreBias:
    r"""Estimate the bias of judges in the score of each system.

    .. math:: b_{js} = \frac{1}{T} \sum_t \left( M_j(s, t) - M_{human}(s, t) \right)

    with symbols as for :func:`self_preference`, and scores negated if lower scores are better.

    Parameters
    ----------
    runs
        Runs: any input of :func:`cranfield.read_runs`.
    human, judges, scale, clip
        As for :func:`compare_judges`.
    measures
        Measures or their text forms.
    confidence
        Confidence level of the intervals, which are simultaneous for the systems of a judge.
    options
        As for :func:`cranfield.judge`.

    Returns
    -------
    ScoreBias
        Result with a row per measure, judge and system.

    Examples
    --------
    >>> people = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 0}, "q3": {"x": 0, "y": 1}}
    >>> machine = {"q1": {"x": 1, "y": 0}, "q2": {"x": 1, "y": 1}, "q3": {"x": 1, "y": 1}}
    >>> run = {topic: {"x": 1} for topic in people}
    >>> score_bias({"a": run}, people, {"llm": machine}, "P@1").rows["bias"].round(4).to_list()
    [0.3333]
    """
    check_arguments(score_bias, locals(), judge_runs)
    judge_scores = score_by_judges(runs, human, judges, measures, scale=scale, clip=clip, **options)
    values = judge_scores.judges - judge_scores.human[:, None]
    is_missing = np.isnan(values).any(axis=-1, keepdims=True)
    differences = np.ma.array(values, mask=np.broadcast_to(is_missing, values.shape))
    n_topics = differences.count(axis=2)
    bias = differences.mean(axis=2).filled(np.nan)
    deviation = differences.std(axis=2, ddof=1).filled(0.0)
    deviation = np.where(deviation > MIN_SPREAD, deviation, np.nan)
    standard_error = deviation / np.sqrt(np.maximum(n_topics, 1))
    tail = (1 - confidence) / (2 * len(judge_scores.systems))
    half_width = stdtrit(np.maximum(n_topics - 1, 1), 1 - tail) * standard_error
    columns = {
        "topics": n_topics,
        "bias": bias,
        "low": bias - half_width,
        "high": bias + half_width,
    }
    rows = tabulate(columns, **judge_scores.names, system=judge_scores.systems)
    return ScoreBias(rows, confidence, judge_scores.notes)
