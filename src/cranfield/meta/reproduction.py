"""Measure reproductions and replications of experiments, from runs or from scores alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import (
    CranfieldError,
    PolicyError,
    check_choice,
    check_integer,
    check_list,
    quote,
)
from cranfield.base.kinds import Integer, check_arguments
from cranfield.base.text import inflect
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.correlation import rbo
from cranfield.evaluation.evaluate_runs import evaluate
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.meta.collection_studies.rankings import tabulate_ranks
from cranfield.meta.reproduction_result import (
    ROLES,
    Notes,
    Reproduction,
    check_same_roles,
    check_test,
    compare_sides,
)
from cranfield.meta.study_options import Proportion, Seed
from cranfield.scores import Scores
from cranfield.scores.one_measure import combine_systems
from cranfield.significance.prepare import as_scores


def union_tau(first: Sequence[Any], second: Sequence[Any]) -> float:
    r"""Compute Kendall's tau-b of two rankings over the union of their documents.

    Documents missing from a ranking are below all its documents, and tied with each other.

    .. math:: \tau = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}}

    over pairs of documents in the union: P concordant, Q discordant, T tied in the first ranking
    only and U in the second only. Source: Kendall (1945), on the union of both rankings as in
    Breuer et al. (2020), section 3, who compare positions in the union (:func:`position_tau`).

    Arguments are document ids, the best first. For two rankings of n documents without a common
    document the result is -2n / (3n - 1); it is NaN if a ranking is empty.

    >>> round(union_tau(["a", "b"], ["c", "d"]), 4)
    -0.8
    """
    return _compute_union_tau(*_rank_union(first, second))


def position_tau(first: Sequence[Any], second: Sequence[Any]) -> float:
    r"""Compute Kendall's tau Union as in repro_eval.

    The union of both rankings is sorted by document id. Each ranking is replaced by the list of
    positions of its documents in the union; the result is Kendall's tau of these two lists.

    .. math:: \mathrm{KTU} = \tau\bigl((u(r_1), \ldots, u(r_n)), (u(r'_1), \ldots, u(r'_n))\bigr)

    with u(d) the position of document d in the union. Source: Breuer et al. (2020), section 3.

    The coefficient compares documents at the same rank and depends on document ids: a missing
    document shifts all documents below it, after which the coefficient is about 0 if ids are in
    random order. :func:`union_tau` does not depend on ids.

    If one ranking is longer, its documents below the last rank of the other are excluded. If fewer
    than two ranks remain, the result is NaN, except for two equal rankings of one document (1).

    >>> round(position_tau(["d1", "d2", "d3", "d4"], ["d2", "d5", "d3", "d6"]), 4)
    0.6667
    """
    return _compute_position_tau(*_rank_union(first, second))


def order_agreement(
    original: Any,
    reproduced: Any,
    *,
    p: Proportion = 0.9,
    depth: Annotated[int | None, Integer(1)] = None,
    ties: str = "trec",
) -> pl.DataFrame:
    """Compare the order of documents in two runs; `ties` are as for :func:`cranfield.judge`.

    With a `depth`, only the first documents of each run are compared, by default all.

    Returns a row per topic of either run, topics of the original first: `topic`; `tau`
    (:func:`union_tau`); `KTU` (:func:`position_tau`); `RBO`, extrapolated rank-biased overlap
    (Webber, Moffat and Zobel 2010, equation 32) with persistence p; `original` and `reproduced`,
    the numbers of documents; and `shared`, the number of documents in both. The coefficients are
    null where they are undefined, as for a run without documents.

    >>> first = {"q1": {"a": 3, "b": 2, "c": 1}}
    >>> second = {"q1": {"a": 3, "c": 2, "d": 1}, "q2": {"a": 1}}
    >>> table = order_agreement(first, second)
    >>> table["tau"].to_list(), table["RBO"].round(4).to_list(), table["shared"].to_list()
    ([0.333..., None], [0.685, None], [2, 0])
    """
    check_arguments(order_agreement, locals())
    first, second = read_run(original), read_run(reproduced)
    documents = tabulate_ranks(first, ties, depth).join(
        tabulate_ranks(second, ties, depth),
        on=["topic", "doc"],
        how="full",
        coalesce=True,
        suffix=" 2",
    )
    # Within a topic documents are sorted by id, as position_tau requires.
    documents = documents.sort("topic", "doc")
    topics = documents["topic"].rle().struct.unnest()
    ends = np.cumsum(topics["len"].to_numpy()).tolist()
    rank_columns = [documents[name].to_numpy().astype(np.float64) for name in ("rank", "rank 2")]
    docs = documents["doc"].to_numpy()
    rows = {}
    for topic, start, end in zip(topics["value"], [0, *ends[:-1]], ends, strict=True):
        x, y = (ranks[start:end] for ranks in rank_columns)
        has_x, has_y = ~np.isnan(x), ~np.isnan(y)
        coefficients: tuple[float | None, ...] = (None,) * 3
        if has_x.any() and has_y.any():
            union = docs[start:end]
            docs_x, docs_y = (union[_sort_positions(ranks)].tolist() for ranks in (x, y))
            coefficients = (
                _compute_union_tau(x, y),
                _compute_position_tau(x, y),
                rbo(docs_x, docs_y, p=p).ext,
            )
        n_docs = (int(mask.sum()) for mask in (has_x, has_y, has_x & has_y))
        rows[topic] = (topic, *coefficients, *n_docs)
    schema = {
        "topic": pl.String,
        **dict.fromkeys(("tau", "KTU", "RBO"), pl.Float64),
        **dict.fromkeys(("original", "reproduced", "shared"), pl.Int64),
    }
    order = dict.fromkeys([*first.topics, *second.topics])
    return pl.DataFrame([rows[topic] for topic in order], schema, orient="row").fill_nan(None)


def _rank_union(first: Sequence[Any], second: Sequence[Any]) -> list[Floats]:
    """Return the ranks of all documents in each ranking, NaN where missing, in order of ids."""
    rankings = []
    for ranking in (first, second):
        check_list("a ranking of document ids", ranking)
        rank_by_doc = {doc: float(rank) for rank, doc in enumerate(ranking, 1)}
        if len(rank_by_doc) < len(ranking):
            duplicate = next(doc for doc in ranking if ranking.count(doc) > 1)
            raise CranfieldError(f"document {quote(duplicate)} occurs more than once in a ranking")
        rankings.append(rank_by_doc)
    union = sorted({**rankings[0], **rankings[1]})
    return [np.array([rank_by_doc.get(doc, np.nan) for doc in union]) for rank_by_doc in rankings]


def _sort_positions(ranks: Floats) -> NDArray[np.intp]:
    """Return the positions in the union of the documents of a ranking, the best first."""
    return np.argsort(ranks, kind="stable")[: int((~np.isnan(ranks)).sum())]


def _compute_union_tau(x: Floats, y: Floats) -> float:
    """Compute Kendall's tau-b of ranks; documents of rank NaN are below all others."""
    if np.isnan(x).all() or np.isnan(y).all():
        return np.nan
    if np.array_equal(x, y, equal_nan=True):
        return 1.0
    return _compute_tau(np.nan_to_num(x, nan=x.size + 1.0), np.nan_to_num(y, nan=y.size + 1.0))


def _compute_position_tau(x: Floats, y: Floats) -> float:
    first, second = _sort_positions(x), _sort_positions(y)
    n_ranks = min(first.size, second.size)
    if n_ranks and np.array_equal(first, second):
        return 1.0
    return _compute_tau(first[:n_ranks], second[:n_ranks]) if n_ranks > 1 else np.nan


def _compute_tau(x: NDArray[Any], y: NDArray[Any]) -> float:
    # SciPy needs O(n log n) time, but cranfield.correlation O(n^2), too much for long rankings.
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)


def reproduce(
    original: Any,
    reproduced: Any,
    *,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure] = ("AP", "nDCG@10", "P@10"),
    test: str = "t",
    p: Proportion = 0.9,
    seed: Seed = 0,
    **policies: Any,
) -> Reproduction:
    """Measure the reproduction of runs on the same collection and topics.

    The levels are those of Breuer et al. (2020), from the strictest to the least strict: the order
    of documents, the scores by topic, and the effect of the advanced system over the baseline.

    Parameters
    ----------
    original, reproduced
        A mapping of `baseline`, `advanced` or both to runs, or a single run, which is the baseline.
        A run is any input of :func:`cranfield.read_run`.
    qrels, measures
        Any input of :func:`cranfield.read_qrels`; measures or their text forms.
    test
        A test of paired scores, such as `t`, `signed-rank` or `randomisation`.
    p
        Persistence of rank-biased overlap, between 0 and 1.
    seed
        Seed of tests that need random numbers.
    policies
        As for :func:`cranfield.evaluate`; `ties` and `depth` also apply to orders.

    Returns
    -------
    Reproduction
        Scores are compared on topics with scores of the original and the reproduced run, effects on
        topics with scores of all runs, and orders on judged topics for which both runs have
        documents.

    Raises
    ------
    InputError
        For runs or judgments that cannot be read.
    MeasureError, PolicyError
        For unknown roles, measures or options.
    CranfieldError
        If no topic has scores of both the original and the reproduced runs.

    Notes
    -----
    A large p-value is not evidence of a successful reproduction: with few topics even large
    differences are not significant. RMSE measures the size of the differences.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> runs = {run.name: run for run in covid.runs}
    >>> first = {"baseline": runs["UIowaS_Run1"], "advanced": runs["UPrrf93-wt-r5"]}
    >>> other = {"baseline": runs["UIowaS_Run3"], "advanced": runs["UPrrf102-wt-r5"]}
    >>> study = reproduce(first, other, qrels=covid.qrels, measures=["P@10", "P@20"])
    >>> study
    Reproduction(Reproduction of baseline and advanced: 50 topics, 2 measures)
    >>> for table in study.tables():
    ...     print("\\n".join(table.to_text().splitlines()[2:]))
    role      topics     tau     KTU     RBO
    baseline      50  0.9613  0.3237  0.9618
    advanced      50  0.7766  0.0533  0.8448
    measure  role      topics  original  reproduced    RMSE   nRMSE  statistic       p
    P@10     baseline      50    0.8660      0.8680  0.0245  0.0275     -0.573  0.5690
    P@10     advanced      50    0.9460      0.9480  0.0374  0.0393     -0.375  0.7095
    P@20     baseline      50    0.8190      0.8200  0.0122  0.0142     -0.573  0.5690
    P@20     advanced      50    0.8760      0.8690  0.0505  0.0566      0.980  0.3320
    measure  topics  original effect  reproduced effect      ER  ER low  ER high ...
    P@10         50           0.0800             0.0800  1.0000  0.8457   1.2232 ...
    P@20         50           0.0570             0.0490  0.8596  0.5119   1.1497 ...
    """
    check_arguments(reproduce, locals(), judge)
    if policies.get("depth") is not None:
        check_integer("depth", policies["depth"], 1)
    first, second = _read_runs(original, "original"), _read_runs(reproduced, "reproduced")
    roles = check_same_roles(first, second)
    test = check_test(test, is_paired=True)
    sides = {"original": first, "reproduced": second}
    runs_by_name = {
        f"{side} {role}": run for side, runs in sides.items() for role, run in runs.items()
    }
    evaluation = evaluate(runs_by_name, qrels, measures, **policies)
    notes = Notes(evaluation.notes)
    # Scores of each side, with systems named by their roles.
    original_scores, other_scores = (
        {
            name: replace(
                scores.select(systems=[f"{side} {role}" for role in roles]), systems=roles
            )
            for name, scores in evaluation.items()
        }
        for side in sides
    )
    judging = evaluation.judged.policies
    judging.require_order("orders of documents")
    systems = {role: (first[role].name, second[role].name) for role in roles}
    values = compare_sides(
        "reproduction", original_scores, other_scores, roles, test, notes, seed=seed
    )
    values |= {"systems": systems, "settings": judging.describe(), "persistence": float(p)}
    tables = []
    for role in roles:
        agreement = order_agreement(
            first[role], second[role], p=p, depth=judging.depth, ties=judging.ties
        ).filter(pl.col("topic").is_in(evaluation.topics))
        if n_missing := agreement["RBO"].null_count():
            text = f"{inflect(n_missing, 'topic')} with documents in only one run"
            notes.add(f"{role}: excluded {text} from tau, KTU and RBO")
        tables.append(agreement.select(pl.lit(role).alias("role"), pl.all()))
    values["orders"] = pl.concat(tables)
    return Reproduction({}, **values, notes=notes.make_lines())


def replicate(
    original: Any,
    replicated: Any,
    *,
    qrels: Any,
    other_qrels: Any,
    measures: str | Measure | Iterable[str | Measure] = ("AP", "nDCG@10", "P@10"),
    test: str = "welch",
    seed: Seed = 0,
    **policies: Any,
) -> Reproduction:
    """Measure the replication of an experiment on another collection.

    The topics differ, so that only distributions of scores and effects can be compared.

    Parameters
    ----------
    original, replicated
        As for :func:`reproduce`.
    qrels, other_qrels
        Judgments of the original and of the other collection.
    measures, seed, policies
        As for :func:`reproduce`, which raises the same errors.
    test
        A test of unpaired scores: `welch`, `t-unpaired`, `rank-sum` or `bootstrap-unpaired`.

    Returns
    -------
    Reproduction
        The comparison, without RMSE, nRMSE and `orders`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> table = covid.qrels.to_polars()
    >>> early = table.filter(table["topic"].cast(int) <= 25)
    >>> late = table.filter(table["topic"].cast(int) > 25)
    >>> runs = {run.name: run for run in covid.runs}
    >>> runs = {"baseline": runs["UIowaS_Run1"], "advanced": runs["UPrrf93-wt-r5"]}
    >>> study = replicate(runs, runs, qrels=early, other_qrels=late, measures="P@10")
    >>> study.summary().select("ER", "DRI").rows()
    [(1.2222..., -0.0171...)]
    """
    check_arguments(replicate, locals(), judge)
    first, second = _read_runs(original, "original"), _read_runs(replicated, "replicated")
    roles = check_same_roles(first, second)
    test = check_test(test, is_paired=False)
    parsed_measures = parse_measures(measures, compat=policies.get("compat"))
    original_scores = evaluate(first, qrels, parsed_measures, **policies)
    other_scores = evaluate(second, other_qrels, parsed_measures, **policies)
    notes = Notes(
        f"{side} collection: {note}"
        for side, evaluation in (("original", original_scores), ("other", other_scores))
        for note in evaluation.notes
    )
    systems = {role: (first[role].name, second[role].name) for role in roles}
    values = compare_sides(
        "replication", original_scores, other_scores, roles, test, notes, seed=seed
    )
    values |= {"systems": systems, "settings": original_scores.judged.policies.describe()}
    return Reproduction({}, **values, notes=notes.make_lines())


def _read_runs(runs: Any, side: str) -> dict[str, Run]:
    if not isinstance(runs, Mapping) or not any(role in runs for role in ROLES):
        return {ROLES[0]: read_run(runs)}
    for role in runs:
        check_choice(f"role of the {side} runs", role, ROLES)
    return {role: read_run(runs[role]) for role in ROLES if role in runs}


def reproduce_scores(
    original: Any,
    reproduced: Any,
    *,
    test: str = "t",
    bounds: tuple[float, float] | None = None,
    seed: Seed = 0,
) -> Reproduction:
    """Measure the reproduction of scores on the same topics.

    Parameters
    ----------
    original, reproduced
        Scores of systems with the names `baseline` and `advanced`, or one of them:
        :class:`Scores`, an evaluation, a mapping of measures to scores, a mapping of roles to
        scores, or a data frame.
    test, seed
        As for :func:`cranfield.meta.reproduction.reproduce`.
    bounds
        The lowest and the highest possible score, for nRMSE; by default the range of the measure.

    Returns
    -------
    Reproduction
        The comparison, without `orders`.

    Raises
    ------
    CranfieldError
        If no topic has both scores, or for infinite scores, or several systems of a role.
    PolicyError
        For different measures, other names of systems, scores by shard, and invalid test or bounds.

    Examples
    --------
    >>> first = {"baseline": [0.2, 0.4, 0.3], "advanced": [0.3, 0.6, 0.3]}
    >>> other = {"baseline": [0.2, 0.3, 0.3], "advanced": [0.3, 0.5, 0.4]}
    >>> study = reproduce_scores(first, other)
    >>> study.summary().select("RMSE advanced", "p advanced", "ER", "DRI").row(0)
    (0.0816..., 0.9999..., 1.333..., -0.166...)
    >>> study.notes[-1]
    'the effect ratio (ER) has no confidence interval, as the original effect may be 0'
    """
    check_arguments(reproduce_scores, locals())
    return _compare_scores(original, reproduced, "reproduction", test, bounds, seed)


def replicate_scores(
    original: Any, replicated: Any, *, test: str = "welch", seed: Seed = 0
) -> Reproduction:
    """Measure the replication of scores on other topics.

    Parameters
    ----------
    original, replicated
        As for :func:`reproduce_scores`, which raises the same errors. Topics with the same name are
        treated as different topics.
    test, seed
        As for :func:`cranfield.meta.reproduction.replicate`.

    Returns
    -------
    Reproduction
        The comparison, without RMSE, nRMSE and `orders`.

    Examples
    --------
    >>> first = {"baseline": [0.2, 0.4, 0.3], "advanced": [0.3, 0.6, 0.3]}
    >>> other = {"baseline": [0.1, 0.1, 0.4, 0.4], "advanced": [0.2, 0.2, 0.5, 0.7]}
    >>> replicate_scores(first, other).summary().select("ER", "DRI").rows()
    [(1.5, -0.2666...)]
    """
    check_arguments(replicate_scores, locals())
    return _compare_scores(original, replicated, "replication", test, None, seed)


def _compare_scores(
    original: Any, other: Any, kind: str, test: str, bounds: tuple[float, float] | None, seed: int
) -> Reproduction:
    test = check_test(test, is_paired=kind == "reproduction")
    original_scores = _read_by_measure(original, "original")
    other_scores = _read_by_measure(other, "other")
    if unshared_measures := original_scores.keys() ^ other_scores.keys():
        measure = next(m for m in [*original_scores, *other_scores] if m in unshared_measures)
        raise PolicyError(
            "expected the same measures for original and other scores, got"
            f" {quote(measure)} on only one side"
        )
    systems = (
        [role for scores in side.values() for role in scores.systems]
        for side in (original_scores, other_scores)
    )
    roles = check_same_roles(*map(dict.fromkeys, systems))
    notes = Notes()
    values = compare_sides(
        kind, original_scores, other_scores, roles, test, notes, bounds=bounds, seed=seed
    )
    return Reproduction({}, **values, notes=notes.make_lines())


def _read_by_measure(data: Any, side: str) -> dict[str, Scores]:
    """Read scores by measure, of systems named by their roles."""
    if isinstance(data, Mapping) and data and all(isinstance(s, Scores) for s in data.values()):
        scores_by_measure = dict(data)
        if set(data) <= set(ROLES):
            invalid_scores = [s for s in data.values() if s.shards or len(s.systems) != 1]
            if invalid_scores:
                shards = " by shard" if invalid_scores[0].shards else ""
                raise CranfieldError(
                    "expected scores of one system by topic, got"
                    f" {inflect(len(invalid_scores[0].systems), 'system')}{shards}"
                )
            first, *other_measures = dict.fromkeys(scores.measure for scores in data.values())
            if other_measures:
                raise PolicyError(
                    f"expected scores of the same measure for all runs, got"
                    f" {quote(first)} and {quote(other_measures[0])}"
                )
            scores_by_measure = {first: combine_systems(data)}
    else:
        scores = as_scores(data)
        scores_by_measure = {scores.measure: scores}
    for scores in scores_by_measure.values():
        for system in scores.systems:
            check_choice(f"{side} system", system, ROLES)
        scores.require_two_axes("reproduction does not support scores by shard")
    return scores_by_measure
