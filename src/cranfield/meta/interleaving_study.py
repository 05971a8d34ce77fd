"""Sensitivity of interleaving and A/B tests: impressions needed to detect a preference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from os import PathLike
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.proportions import compute_wilson_intervals
from cranfield.base.streams import draw_uniforms, make_stream
from cranfield.base.text import format_names, inflect
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.judging import judge
from cranfield.collection.pairs import make_topic_column
from cranfield.collection.policies import Compat
from cranfield.collection.policies import make_policies as judging_policies
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.meta.collection_studies.rankings import tabulate_ranks
from cranfield.meta.study import Study, format_percent
from cranfield.meta.study_options import Proportion, Repeats, Seed, split_texts
from cranfield.meta.work import Progress, hash_values, make_part_name, run_parts
from cranfield.online.interleaving.checks import PRESETS, STOP_RULES, simulated_user
from cranfield.online.interleaving.interleaver import interleave
from cranfield.online.interleaving.log_preference import impressions_needed
from cranfield.online.interleaving.method import parse_interleaving
from cranfield.online.interleaving.preference import MAX_ROUNDING_ERROR
from cranfield.result import Column, Columns
from cranfield.significance.differences import PAIR_COLUMNS


@dataclass(frozen=True, eq=False)
class CutRankings:
    """Ranked results of each system for each topic."""

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    docs: Indices  # codes of documents, shape (systems, topics, ranks); -1 after the last one
    grade: Ints  # of each pair of topic and document, by code; 0 if unjudged or below 0

    def look_up_grades(self, docs: Indices) -> Ints:
        """Return the grades of documents by code; -1 after the end of a list."""
        return np.where(docs >= 0, self.grade[docs], -1)


def cut_rankings(
    runs: Iterable[Run], qrels: Qrels, topics: Sequence[str], length: int, ties: str
) -> CutRankings:
    """Cut rankings at a length, and look up the grades of their documents."""
    all_runs = list(runs)
    rankings = [
        tabulate_ranks(run, ties, length).with_columns(system=pl.lit(index))
        for index, run in enumerate(all_runs)
    ]
    grades = pl.DataFrame(
        {
            "topic": make_topic_column(qrels),
            "doc": qrels.docs,
            "grade": np.maximum(qrels.grades, 0).astype(np.int64),
        }
    )
    topic_indices = pl.DataFrame({"topic": topics, "topic_index": np.arange(len(topics))})
    rows = (
        pl.concat(rankings)
        .join(topic_indices, on="topic", how="inner", maintain_order="left")
        .join(grades, on=["topic", "doc"], how="left", maintain_order="left")
        .with_columns(code=pl.struct("topic_index", "doc").rank("dense").cast(pl.Int64) - 1)
    )
    system, topic, rank, code = (
        rows[name].to_numpy() for name in ("system", "topic_index", "rank", "code")
    )
    docs = np.full((len(all_runs), len(topics), length), -1, dtype=np.intp)
    docs[system, topic, rank - 1] = code
    grade = np.zeros(docs.max(initial=-1) + 1, dtype=np.int64)
    grade[code] = rows["grade"].fill_null(0).to_numpy()
    return CutRankings(tuple(run.name for run in all_runs), tuple(topics), docs, grade)


AB = "A/B"
"""Label of the A/B test, in which each impression shows one list; clicks per page are compared."""

PairTask = tuple[str, int, int]
"""Text form of a method, and the indices of two systems."""


class User(Protocol):
    """Model of a user who clicks on results."""

    def draw_clicks(self, grades: Any, uniforms: Floats) -> Bools: ...


@dataclass(frozen=True, eq=False)
class Simulation:
    """Result lists, users by name, number of impressions per topic, and seed."""

    lists: CutRankings
    users: dict[str, User]
    n_impressions: int
    seed: int


def simulate_pair(simulation: Simulation, task: PairTask) -> pl.DataFrame:
    """Simulate the clicks of all users on a pair of systems; return a row of counts per user."""
    method, first, second = task
    count_outcomes = _sum_clicks if method == AB else _count_preferences
    counts = [count_outcomes(simulation, task, k) for k in range(len(simulation.lists.topics))]
    columns = {
        "user": list(simulation.users),
        "method": method,
        "first": simulation.lists.systems[first],
        "second": simulation.lists.systems[second],
        "counts": np.sum(counts, axis=0).tolist(),
    }
    return pl.DataFrame(columns, schema_overrides={"counts": pl.List(pl.Int64)})


def _count_preferences(simulation: Simulation, task: PairTask, topic: int) -> Ints:
    """Count wins, losses and ties of the first system; shape (users, 3)."""
    method, first, second = task
    docs = simulation.lists.docs[[first, second], topic]
    lists = [row[row >= 0].tolist() for row in docs]
    if not any(lists):
        return np.array([[0, 0, simulation.n_impressions]] * len(simulation.users))
    name = simulation.lists.topics[topic]
    interleaver = interleave(lists, method, docs.shape[1], topic=name)
    codes, teams = interleaver.draw(simulation.n_impressions, simulation.seed)
    all_docs = np.append(np.array(interleaver.docs, dtype=np.intp), -1)
    clicks = _simulate_clicks(simulation, all_docs[codes], (topic, first, second))
    outcomes = np.array([interleaver.outcomes(codes, clicked, teams) for clicked in clicks])
    n_wins, n_losses = (
        (outcomes > MAX_ROUNDING_ERROR).sum(axis=1),
        (outcomes < -MAX_ROUNDING_ERROR).sum(axis=1),
    )
    return np.stack([n_wins, n_losses, simulation.n_impressions - n_wins - n_losses], axis=1)


def _sum_clicks(simulation: Simulation, task: PairTask, topic: int) -> Ints:
    """Return the sums of clicks per page on each list, and of their squares; shape (users, 4)."""
    clicks_by_list = []
    for side, system in enumerate(task[1:]):
        docs = np.tile(simulation.lists.docs[system, topic], (simulation.n_impressions, 1))
        clicks_by_list.append(_simulate_clicks(simulation, docs, (topic, *task[1:], side)))
    n_clicks = np.sum(clicks_by_list, axis=3)  # shape (lists, users, pages)
    return np.concatenate([n_clicks.sum(axis=2), (n_clicks**2).sum(axis=2)]).T


def _simulate_clicks(simulation: Simulation, docs: Any, key: Sequence[int]) -> list[Bools]:
    """Simulate the clicks of each user on lists of documents."""
    grades, width = simulation.lists.look_up_grades(docs), 2 * docs.shape[1]
    return [
        user.draw_clicks(
            grades, draw_uniforms(simulation.seed, 0, len(docs), width, 1, index, *key)
        )
        for index, user in enumerate(simulation.users.values())
    ]


USER_METHOD = ("user", "method")
PAIR = tuple(PAIR_COLUMNS)


class Sensitivity(Study):
    """Sensitivity of interleaving methods and A/B tests; see :func:`interleaving_sensitivity`.

    Attributes
    ----------
    measure
        Text form of the offline measure that the signs of effects are compared with.
    methods, users
        Text forms of the methods, and names of the users.
    n_topics
        Number of topics.
    sensitivity, pairs
        The tables `interleaving sensitivity` and `interleaving pairs`.
    notes
        The number of pairs that were sampled, if not all were simulated.
    """

    name = "interleaving"
    reference: ClassVar[str] = (
        "Radlinski, Kurup and Joachims (2008); Chapelle, Joachims, Radlinski and Yue (2012)"
    )
    table_attributes: ClassVar[Sequence[str]] = ("sensitivity", "pairs")
    columns: ClassVar[Mapping[str, Columns]] = {
        "interleaving sensitivity": {
            "user": Column("Simulated user.", key=True),
            "method": Column("Interleaving method, or A/B test.", key=True),
            "pairs": Column("Number of pairs of systems."),
            "median needed": Column(
                "Median over pairs of the impressions needed for the power; null if no number"
                " suffices for half of the pairs or more.",
                decimals=0,
            ),
            "times fewer": Column(
                "Median over pairs of the impressions needed by an A/B test divided by the"
                " impressions needed by interleaving; null if infinite or undefined.",
                decimals=1,
            ),
            "significant": Column(
                "Number of pairs whose 95% confidence interval of the simulated effect excludes 0."
            ),
            "agree": Column(
                "Number of significant pairs whose effect has the same sign as their difference by"
                " the measure."
            ),
            "agreement": Column(
                "`agree` divided by the number of significant pairs whose scores by the measure"
                " differ; null without such pairs.",
                decimals=3,
            ),
            "agreement of all": Column(
                "As `agreement`, but of all pairs, whether or not they are significant.",
                decimals=3,
            ),
        },
        "interleaving pairs": {
            "user": Column("Simulated user.", key=True),
            "method": Column("Interleaving method, or A/B test.", key=True),
            **PAIR_COLUMNS,
            "difference": Column("Difference by the measure; above 0 if the first is better."),
            "effect": Column(
                "For interleaving, wins of the first / (wins + losses) - 1/2; for an A/B test,"
                " the difference in clicks per page. Null if all impressions are ties."
            ),
            "low": Column("Lower bound of the 95% confidence interval of the effect."),
            "high": Column("Upper bound of the same confidence interval as `low`."),
            "decides": Column("Proportion of impressions that are not ties; 1 for an A/B test."),
            "needed": Column(
                "Impressions needed to detect the effect with the power; null if no number"
                " suffices."
            ),
            "needed low": Column(
                "Impressions needed if the effect is `low` or `high`, whichever is farther from 0;"
                " null if no number suffices."
            ),
            "needed high": Column(
                "Impressions needed if the effect is `low` or `high`, whichever is nearer to 0;"
                " null if the interval contains 0 or no number suffices."
            ),
        },
    }

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.sensitivity.filter(pl.col("method") != AB).drop_nulls("median needed")
        if rows.is_empty():
            return ()
        best_rows = rows.filter(pl.col("median needed") == pl.col("median needed").min())
        names = best_rows.select(pl.format("{} (simulated user {})", "method", "user")).to_series()
        needed_text = inflect(round(best_rows["median needed"][0]), "impression")
        times_fewer, agreement = best_rows["times fewer"].max(), best_rows["agreement"].min()
        ratio = ""
        if times_fewer is not None:
            ratio = (
                f"; A/B tests need {times_fewer:.1f} times as many (median of the ratios by pair)"
            )
        sentence = ""
        if agreement is not None:
            percent = format_percent(float(agreement))
            sentence = f" {percent} of significant effects agree in sign with {self.measure}."
        return (
            f"The fewest impressions are needed by {format_names(names.to_list(), 'method')}:"
            f" {needed_text} for the median pair of systems{ratio}.{sentence}",
            "Users are simulated: these results assume that real users click like them.",
        )

    def heading(self) -> list[str]:
        n_pairs = self.pairs.select(PAIR).n_unique()
        return [
            f"interleaving: {inflect(n_pairs, 'pair')} of systems,"
            f" {inflect(self.n_topics, 'topic')},"
            f" {inflect(self.impressions, 'impression')} per topic, top {self.length}",
            f"impressions needed for power {self.power:g} at alpha {self.alpha:g}; agreement with"
            f" {self.measure}; seed {self.seed}",
        ]


def estimate_effects(
    rows: pl.DataFrame, n_pages: int, power: float, alpha: float, confidence: float = 0.95
) -> pl.DataFrame:
    """Estimate effects, and the impressions needed to detect them, from counts on all pages."""
    quantile = float(ndtri((1 + confidence) / 2))
    estimates = []
    for method, counts in rows.select("method", "counts").iter_rows():
        estimate = _estimate_from_means if method == AB else _estimate_from_signs
        estimates.append(estimate(np.array(counts, dtype=float), n_pages, power, alpha, quantile))
    names = ("effect", "low", "high", "decides", "needed", "needed low", "needed high")
    columns = pl.DataFrame(estimates, dict.fromkeys(names, pl.Float64), orient="row")
    return _replace_infinite(rows.drop("counts").hstack(columns))


def _replace_infinite(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace NaN and infinity by null."""
    float_columns = pl.selectors.float()
    return frame.with_columns(pl.when(float_columns.is_finite()).then(float_columns).name.keep())


def _estimate_from_signs(
    counts: Floats, n_pages: int, power: float, alpha: float, quantile: float
) -> tuple[float, ...]:
    n_decided = counts[0] + counts[1]
    if not n_decided:
        return (np.nan,) * 3 + (0.0,) + (np.inf,) * 3
    proportion = counts[0] / n_decided
    low, high = (
        float(bound) - 0.5 for bound in compute_wilson_intervals(proportion, n_decided, quantile)
    )
    impressions = (
        impressions_needed(0.5 + bound, n_decided / n_pages, power=power, alpha=alpha)
        for bound in _order_bounds(proportion - 0.5, low, high)
    )
    return (proportion - 0.5, low, high, n_decided / n_pages, *impressions)


def _estimate_from_means(
    counts: Floats, n_pages: int, power: float, alpha: float, quantile: float
) -> tuple[float, ...]:
    means, mean_squares = counts[:2] / n_pages, counts[2:] / n_pages
    variance = float((mean_squares - means**2).sum())
    effect = means[0] - means[1]
    # For alpha near 0 the factor is infinite, and NaN if multiplied by a variance of 0.
    with np.errstate(invalid="ignore"):
        half_width = quantile * np.sqrt(variance / n_pages)
        low, high = effect - half_width, effect + half_width
        factor = (ndtri(1 - alpha / 2) + ndtri(power)) ** 2
        # Pages of both lists, at least two of each to estimate a variance.
        impressions = [
            2 * max(2.0, np.ceil(factor * variance / magnitude**2)) if magnitude else np.inf
            for magnitude in _order_bounds(effect, low, high)
        ]
    return (effect, low, high, 1.0, *impressions)


def _order_bounds(effect: float, low: float, high: float) -> tuple[float, float, float]:
    """Return the effect, and the largest and the smallest distance of its interval from 0."""
    nearer = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return effect, max(abs(low), abs(high)), nearer


def summarise_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Summarise the pairs of systems by user and method."""
    ab = pairs.filter(pl.col("method") == AB).select("user", *PAIR, ab="needed")
    differs = pl.col("difference") != 0
    is_significant = (pl.col("low") > 0) | (pl.col("high") < 0)
    agrees = (pl.col("effect").sign() == pl.col("difference").sign()) & differs
    # Null stands for infinitely many impressions.
    impressions, ab_needed = pl.col("needed").fill_null(np.inf), pl.col("ab").fill_null(np.inf)
    return _replace_infinite(
        pairs.join(ab, on=["user", *PAIR], how="left", maintain_order="left")
        .with_columns(pl.col("low", "high", "effect").fill_null(0.0))
        .group_by(*USER_METHOD, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("pairs"),
            impressions.median().alias("median needed"),
            (ab_needed / impressions).fill_nan(None).median().alias("times fewer"),
            is_significant.sum().cast(pl.Int64).alias("significant"),
            (agrees & is_significant).sum().cast(pl.Int64).alias("agree"),
            ((agrees & is_significant).sum() / (is_significant & differs).sum()).alias("agreement"),
            (agrees.sum() / differs.sum()).alias("agreement of all"),
        )
    )


METHODS = ("Balanced", "TeamDraft", "Probabilistic", "Optimised", "PairwisePreference")
"""Default methods."""

USERS = ("perfect", "navigational", "informational")
"""Default users."""


def interleaving_sensitivity(
    runs: Any,
    qrels: Any,
    measure: str | Measure = "nDCG@10",
    *,
    methods: str | Iterable[str] = METHODS,
    users: str | Iterable[str] | Mapping[str, User] = USERS,
    stop: Annotated[str, OneOf(STOP_RULES)] = "examined",
    pairs: Annotated[int, Integer(1)] = 50,
    impressions: Repeats = 1000,
    length: Annotated[int, Integer(1, 100)] = 10,
    power: Proportion = 0.8,
    alpha: Proportion = 0.05,
    rel: Annotated[int | None, Integer(1)] = None,
    seed: Seed = 0,
    compat: Compat | None = None,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    **policies: Any,
) -> Sensitivity:
    """Estimate the impressions that interleaving and A/B tests need, with simulated users.

    For each pair of systems, method and user, the same number of impressions of each topic is
    simulated. For interleaving, the proportions of wins and ties determine the impressions needed
    by the sign test; for A/B tests, the difference and the variance of clicks per page determine
    the impressions needed by a test of two means. The signs of effects are compared with the signs
    of differences by an offline measure on the same runs.

    Source: Radlinski, Kurup and Joachims (2008), and Chapelle, Joachims, Radlinski and Yue (2012),
    with real users; Hofmann, Whiteson and de Rijke (2011) with simulated users.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`.
    measure
        The offline measure.
    methods
        Interleaving methods, such as `TeamDraft` or `Probabilistic(tau=1)`. A string may contain
        several, separated by commas. A/B tests are always included.
    users
        Names of users of :func:`cranfield.online.simulated_user`, such as `perfect`,
        `navigational`, `informational` or `random`; or a mapping of names to objects with a method
        `draw_clicks(grades, uniforms)`, such as `make_user()` of a click model.
    stop
        Where named simulated users may stop: after every `examined` result, or only after
        `clicked` results.
    pairs
        Maximum number of pairs of systems; if there are more, a random sample is studied.
    impressions
        Number of simulated impressions per topic, for each pair, method and user; for A/B tests, of
        each list.
    length
        Number of results shown to users. Rankings are cut at this rank before interleaving.
    power
        Probability with which a test of the computed sample size detects the better system.
    alpha
        Significance level of the two-sided tests whose sample sizes are computed.
    rel
        If set, users distinguish only relevant documents (with this grade or above) and others.
    seed
        Seed of all draws, which are independent for each topic, clicks also for each pair and user.
    compat, policies
        Options of judging, as for :func:`cranfield.judge`.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a method and a pair of systems.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For unknown measures, methods or users, several measures, a single system, unreadable input,
        and named users that do not support the number of grades.

    Notes
    -----
    Unjudged documents, and those with a grade below 0, are not relevant to users. All impressions
    are independent; if users return, more impressions are needed. The sign test uses the preferred
    system of each impression, not the size of the preference.

    Examples
    --------
    >>> runs = {"good": {"q": {"a": 3.0, "b": 2.0}}, "bad": {"q": {"b": 3.0, "c": 2.0}}}
    >>> study = interleaving_sensitivity(
    ...     runs, {"q": {"a": 1}}, "RR", methods="TeamDraft", users="perfect", impressions=100
    ... )
    >>> study.sensitivity["method", "median needed", "agreement"].rows()
    [('TeamDraft', 6.0, 1.0), ('A/B', 4.0, 1.0)]
    """
    call = check_arguments(interleaving_sensitivity, locals(), judge)
    offline_measure, *other_measures = parse_measures(measure, compat=compat)
    if other_measures:
        raise PolicyError(f"expected one measure, got {1 + len(other_measures)}")
    method_names = tuple(
        dict.fromkeys(str(parse_interleaving(method)) for method in split_texts("method", methods))
    )
    all_runs, judgments = read_runs(runs), read_qrels(qrels).merge_subtopics()
    judging = judging_policies(compat, **policies)
    judging.require_order("lists of results")
    judged = judge(all_runs, judgments, compat=compat, **policies)
    offline = score(judged, offline_measure, compat=compat)[str(offline_measure)]
    user_judgments = judgments
    if rel is not None:
        grades = (judgments.grades >= rel).astype(judgments.grades.dtype)
        user_judgments = replace(judgments, grades=grades)
    user_models = _make_users(users, 1 + max(0, int(user_judgments.grades.max(initial=0))), stop)
    lists = cut_rankings(all_runs, user_judgments, judged.topics, int(length), judging.ties)
    simulation = Simulation(lists, user_models, int(impressions), int(seed))
    system_pairs = list(combinations(range(len(lists.systems)), 2))
    if not system_pairs:
        raise PolicyError("interleaving requires at least two systems, got one")
    notes = []
    if len(system_pairs) > pairs:
        notes.append(
            f"simulated {int(pairs):,} of {len(system_pairs):,} pairs of systems, drawn at random"
        )
        sample = make_stream(int(seed), 0).permutation(len(system_pairs))[:pairs]
        system_pairs = [system_pairs[k] for k in sorted(sample.tolist())]
    labels = "\n".join([*lists.systems, "", *lists.topics])
    settings = {
        "study": "interleaving",
        "users": {name: repr(user) for name, user in simulation.users.items()},
        "impressions": simulation.n_impressions,
        "length": int(length),
        "seed": simulation.seed,
        "lists": hash_values(labels, lists.docs.astype(np.int64), lists.grade),
    }
    rows = run_parts(
        simulate_pair,
        simulation,
        # Names of parts depend only on method and pair, so that later calls can add parts.
        {
            f"{make_part_name(method)}-{first:04d}-{second:04d}": (method, first, second)
            for method in (*method_names, AB)
            for first, second in system_pairs
        },
        settings=settings,
        jobs=jobs,
        backend=backend,
        folder=folder,
        progress=progress,
    )
    n_pages = simulation.n_impressions * len(lists.topics)
    sign = -1.0 if offline_measure.info.lower_is_better else 1.0
    overall = dict(zip(offline.systems, sign * offline.overall(), strict=True))
    first, second = (pl.col(name).replace_strict(overall) for name in PAIR)
    pair_rows = estimate_effects(rows, n_pages, float(power), float(alpha)).select(
        *USER_METHOD, *PAIR, (first - second).alias("difference"), pl.exclude(*USER_METHOD, *PAIR)
    )
    # Sort by user, with methods in the requested order.
    pair_rows = pl.concat(pair_rows.filter(pl.col("user") == name) for name in simulation.users)
    return Sensitivity(
        call,
        measure=offline_measure.label,
        methods=(*method_names, AB),
        users=tuple(simulation.users),
        n_topics=len(lists.topics),
        sensitivity=summarise_pairs(pair_rows),
        pairs=pair_rows,
        notes=tuple(notes),
    )


def _make_users(
    users: str | Iterable[str] | Mapping[str, User], n_grades: int, stop: str
) -> dict[str, User]:
    if isinstance(users, Mapping):
        return dict(users)
    names = split_texts("user", users)
    n_grades = max(n_grades, min(PRESETS["perfect"]))
    try:
        return {name: simulated_user(name, n_grades, stop) for name in names}
    except PolicyError as error:
        if any(name not in PRESETS for name in names):
            raise
        raise PolicyError(
            f"simulated users support 2, 3 or 5 grades, got judgments with {n_grades}; pass the"
            " lowest relevant grade, such as rel=1, or other users"
        ) from error
