"""Pooling methods: relevant documents and rankings by budget of judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.pools.method import Method, parse_method
from cranfield.assess.pools.orders import DEPTH
from cranfield.assess.pools.pool import Pool, pool
from cranfield.base.errors import PolicyError
from cranfield.base.kinds import Numbers, OneOf, Whole, check_arguments
from cranfield.base.text import counted, names_or_count
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.policies import DEEPEST
from cranfield.measures.base import Measure
from cranfield.meta.collection_studies.pools import Pools, pools, trace_runs
from cranfield.meta.collection_studies.rankings import OF_LIST, Teams, by_topic, ranks, read_scoring
from cranfield.meta.collection_studies.spending import (
    AGREEMENT,
    ALONE,
    PAIRS,
    PoolingInputs,
    Task,
    has_judgments,
    judge_within_budgets,
    judgments_of,
    signs_of,
)
from cranfield.meta.study import Study, names_with_value, percent
from cranfield.meta.study_options import (
    Rel,
    Repeats,
    Resamples,
    Seed,
    split_texts,
    whole_numbers,
)
from cranfield.meta.test_studies.fast_tests import read_choice
from cranfield.meta.work import Progress, hash_of, part_name, run_parts
from cranfield.result import Column, Columns

KIND = ("measure", "list")
BUDGET = ("method", "budget")
SPREAD = ("tau", "tau ap", "rmse")
"""Columns with a standard deviation over repeats."""

_NUMBERS = ("rank change", *PAIRS, "drop %", "fall")
"""Columns with one decimal."""

_BUDGET = {
    "method": Column("Pooling method; null for the whole pool.", key=True),
    "budget": Column("Number of judgments per topic; null for the whole pool.", key=True),
}
_AGREEMENT = {
    "tau": "Kendall's tau with the ranking by all judgments",
    "tau ap": "AP correlation with it",
    "rmse": "Root mean square difference to the overall scores by all judgments",
    "rank change": "Largest change of rank",
    "significant": "Number of significant pairs of systems",
    "confirmed": "Number of pairs significant with all judgments that are so with the same sign",
    "lost": "Number of significant pairs with all judgments that are no longer significant",
    "new": "Number of significant pairs that are not with all judgments",
    "reversed": (
        "Number of significant pairs with all judgments that are significant in the opposite"
        " direction"
    ),
    "drop": "Mean drop of the score of a contributing system if its team is excluded",
    "drop %": "That drop in percent",
    "largest drop": "Largest drop of a system",
    "fall": "Largest fall in ranks of a system",
}


def _declare_means() -> Columns:
    """Declare the means over repeats, and the standard deviations of some."""
    columns = {"repeats": Column("Number of repeats; the following columns are means over them.")}
    for name, about in _AGREEMENT.items():
        columns[name] = Column(f"{about}.", decimals=1 if name in _NUMBERS else 4)
        if name in SPREAD:
            spread = "Standard deviation over repeats of the previous column; null for one repeat."
            columns[f"{name} sd"] = Column(spread, read=False)
    return columns


class Pooling(Study):
    """Pooling methods within a budget, against all judgments; see :func:`pooling`.

    In all tables the last rows, with null for method and budget, are for the whole pool, which
    every method reaches in the end.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    methods, budgets
        Text forms of the methods, and ascending numbers of judgments per topic.
    pools
        The judged runs, the teams and the systems that contribute to the pool.
    pool
        The pool that is judged.
    relevant
        Number of relevant documents in all judgments of the evaluated topics.
    documents, rankings, samples, systems
        The tables `pooling documents`, `pooling rankings`, `pooling samples` and `pooling systems`.
    notes
        Remarks on the data.
    """

    name = "pooling"
    reference: ClassVar[str] = (
        "Zobel (1998); Losada, Parapar and Barreiro (2017); Otero, Parapar and Ferro (2023)"
    )
    parts: ClassVar[Sequence[str]] = ("documents", "rankings", "samples", "systems")
    titles: ClassVar[Mapping[str, str]] = {
        "pooling documents": "Relevant documents by number of judgments per topic",
        "pooling rankings": "Budgets against all judgments; drop and fall: of an excluded team or"
        " run",
    }
    nulls: ClassVar[Mapping[str, str]] = {"method": "whole pool", "budget": "all"}
    columns: ClassVar[Mapping[str, Columns]] = {
        "pooling documents": {
            **_BUDGET,
            "repeats": Column("Number of repeats; the following columns are means over them."),
            "requested": Column("Number of documents requested.", decimals=1),
            "judged": Column("Number of these that are judged.", decimals=1),
            "relevant": Column("Number of relevant documents found.", decimals=1),
            "relevant sd": Column(
                "Standard deviation over repeats of the previous column; null for one repeat."
            ),
            "of pool": Column("Proportion of the relevant documents of the pool that are found."),
            "of all": Column("Proportion of all relevant documents that are found."),
        },
        "pooling rankings": {**OF_LIST, **_BUDGET, **_declare_means()},
        "pooling samples": {
            **OF_LIST,
            **_BUDGET,
            "repeat": Column("Repeat.", key=True),
            "*": Column(
                "Column of `pooling documents` or `pooling rankings`, with the value of one repeat."
            ),
        },
        "pooling systems": {
            **OF_LIST,
            **_BUDGET,
            "repeat": Column("Repeat.", key=True),
            "system": Column("System.", key=True),
            "score": Column("Overall score by the judgments within the budget."),
            "rank": Column("Rank by this score."),
            "full score": Column("Overall score by all judgments."),
            "full rank": Column("Rank by this score."),
            "score without": Column(
                "Overall score without the documents that only runs of its team have in the pool."
            ),
            "rank without": Column("Rank by this score."),
        },
    }

    pools: Pools
    pool: Pool

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.documents.filter(pl.col("budget") == self.documents["budget"].min())
        top = rows.sort("relevant", descending=True, nulls_last=True).row(0, named=True)
        if top["of pool"] is None:
            return ()
        names = names_with_value(rows, "relevant", top["relevant"], name="method")
        return (
            f"With {counted(top['budget'], 'judgment')} per topic, the most relevant documents are"
            f" found by {names_or_count(names, 'method')}: {percent(top['of pool'])} of those in"
            " the pool.",
            f"Sample: {counted(len(self.pools.runs.judged.topics), 'topic')}, and"
            f" {counted(self.repeats, 'repeat')} of randomised methods.",
        )

    def heading(self) -> list[str]:
        is_random = self.documents["repeats"].max() != 1
        suffix = f"; {counted(self.repeats, 'repeat')}, seed {self.seed}" if is_random else ""
        return [
            f"judging a pool of {counted(len(self.pool), 'document')} for {self.relevant:,}"
            f" relevant ones: {counted(len(self.pools.contributing), 'contributing run')}, depth"
            f" {self.pool.depth}; {counted(len(self.pools.team_of), 'system')} scored{suffix};"
            f" {self.test} with {self.correction}, alpha {self.alpha:g}"
        ]

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "depth": self.pool.depth, "pooled": len(self.pool)}

    @property
    def unit(self) -> str:
        """Unit that is excluded: a `team`, or a `run` without a table of teams."""
        return self.pools.unit


def over_repeats(samples: pl.DataFrame, relevant: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the documents found, and the agreement of scores, as means over repeats."""
    repeats, documents = pl.len().cast(pl.Int64).alias("repeats"), pl.col("relevant")
    # The documents found do not depend on the measure.
    is_first_kind = pl.struct(*KIND) == pl.struct(*KIND).first()
    document_table = (
        samples.filter(is_first_kind)
        .group_by(*BUDGET, maintain_order=True)
        .agg(
            repeats,
            pl.col("requested", "judged", "relevant").mean(),
            documents.std().alias("relevant sd"),
        )
        .with_columns(
            (documents / documents.last()).fill_nan(None).alias("of pool"),
            (documents / relevant).fill_nan(None).alias("of all"),
        )
    )
    means: list[pl.Expr] = []
    for name in (*AGREEMENT, *ALONE):
        means.append(pl.col(name).mean())
        if name in SPREAD:
            means.append(pl.col(name).std().alias(f"{name} sd"))
    return document_table, samples.group_by(*KIND, *BUDGET, maintain_order=True).agg(
        repeats, *means
    )


def _rank_systems(rows: pl.DataFrame, inputs: PoolingInputs) -> pl.DataFrame:
    """Return a row for each system of the scores in each row, with its ranks."""
    names = pl.Series(inputs.team_pools.runs.judged.systems, dtype=pl.String)
    tables = []
    for (measure, kind, lower), scores in zip(inputs.scoring.kinds, inputs.full, strict=True):
        overall = scores.overall()
        full_ranks = ranks(overall, overall, lower)
        kind_rows = rows.filter(pl.col("measure") == measure, pl.col("list") == kind)
        for row in kind_rows.iter_slices(1):
            score, score_without = (row[name].to_numpy()[0] for name in ("score", "without"))
            columns = {
                "system": names,
                "score": score,
                "rank": ranks(score, score, lower),
                "full score": overall,
                "full rank": full_ranks,
                "score without": score_without,
                "rank without": ranks(score_without, score, lower),
            }
            labels = row.select(*KIND, *BUDGET, "repeat")
            tables.append(labels.join(pl.DataFrame(columns), how="cross"))
    rank_columns = pl.col("^.*rank.*$").cast(pl.Int64)
    return pl.concat(tables).fill_nan(None).with_columns(rank_columns)


METHODS = ("depth", "RRF", "Hedge", "MTF", "MaxMean")
"""Methods that are compared by default."""

BUDGETS = (5, 10, 20, 50, 100, 200, 300, 500, 1000)
"""Default numbers of judgments per topic."""


def pooling(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    methods: str | Method | Iterable[str | Method] = METHODS,
    budgets: Annotated[int | Sequence[int] | None, Numbers()] = None,
    depth: Annotated[int, Whole(1, DEEPEST)] = DEPTH,
    contributors: Any = "judged",
    teams: Teams = None,
    others: Annotated[str, OneOf(("keep", "drop"))] = "keep",
    lists: str | Sequence[str] = "raw",
    test: Any = "anova-2",
    alpha: float = 0.05,
    resamples: Resamples = 1000,
    missing: str | None = None,
    repeats: Repeats = 10,
    rel: Rel = 1,
    seed: Seed = 0,
    compat: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    **policies: Any,
) -> Pooling:
    """Compare pooling methods within budgets of judgments, against all judgments.

    A method orders the documents of the pool, and sees the judgment of each document it requests.
    Within a budget only the first documents are judged: all runs are scored by these judgments, and
    the scores are compared with those by all judgments.

    Source: Zobel (1998); Losada, Parapar and Barreiro (2017) on relevant documents found; Otero,
    Parapar and Ferro (2023) on significant differences.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`. Runs are read twice, since a pool has unjudged documents.
    measures, compat, policies
        As for :func:`leave_one_out`.
    methods
        Pooling methods, such as `depth`, `RRF(k=60)` or `MaxMean`. All are listed by
        :func:`cranfield.assess.methods`. A text may contain several, separated by commas.
    budgets
        Budgets to compare: numbers of judgments per topic. If a topic has fewer documents, all of
        them are judged. By default those of 5, 10, 20, 50, 100, 200, 300, 500 and 1,000 that are
        below the number of documents of the largest topic, or 1 if there is none. A method with one
        queue over all topics has as many judgments in all as the others.
    depth
        Ranks of each contributing run that are pooled.
    contributors
        The runs that make the pool: `judged` (default), those whose top `depth` documents are all
        judged, since the judgments of other runs are not known; None for all, or names of systems.
        All runs are scored.
    teams
        As for :func:`cranfield.meta.pools`; without teams each run is excluded alone.
    others
        How to treat judgments of documents that no contributing run retrieves within the pool
        depth: `keep` (default) or `drop`. No budget includes them. If kept, they belong to the full
        judgments that budgets are compared with, so that the rows of the whole pool show the
        effect of their absence. If dropped, the full judgments are those of the pool.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed. Or both.
    test
        Significance test for pairs of systems, such as `anova-2` (two-way analysis of variance with
        Tukey's HSD, which is fast) or `t+holm`.
    alpha, resamples, missing
        As for :func:`cranfield.compare`.
    repeats
        Number of repetitions of randomised methods; other methods run once.
    rel
        Lowest grade that counts as relevant, for methods and counts. Measures have their own.
    seed
        Seed of randomised methods; repeat r uses seed + r, see :func:`cranfield.assess.order`.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a repeat of a method.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For unknown names or unreadable data.

    Notes
    -----
    A team is excluded by removing from the judgments of a budget the documents that only its runs
    have in the pool. The method is not run again without the team, so that no other documents are
    judged in their place. Ranks are those of :func:`leave_one_out`.

    Topics stay, also those that lose all their relevant documents. Documents of the pool without a
    judgment are requested, and count as not relevant for the method.

    Examples
    --------
    >>> runs = {
    ...     "a": {"p": {"x": 3.0, "y": 2.0, "n": 1.0}, "q": {"v": 2.0, "w": 1.0}},
    ...     "b": {"p": {"n": 3.0, "m": 2.0, "x": 1.0}, "q": {"w": 2.0, "u": 1.0}},
    ... }
    >>> qrels = {"p": {"x": 1, "y": 1, "n": 0, "m": 0}, "q": {"v": 1, "w": 0, "u": 0}}
    >>> study = pooling(runs, qrels, "AP", methods="depth,MaxMean", budgets=[1, 2])
    >>> study.documents["method", "budget", "requested", "relevant"].rows()
    ... # doctest: +NORMALIZE_WHITESPACE
    [('depth', 1, 2.0, 1.0), ('depth', 2, 4.0, 2.0), ('MaxMean', 1, 2.0, 2.0),
     ('MaxMean', 2, 4.0, 3.0), (None, None, 7.0, 3.0)]
    """
    call = check_arguments(pooling, locals(), trace_runs)
    parsed_methods = methods_of(methods)
    scoring = read_scoring(measures, lists, compat)
    parsed_budgets = None if budgets is None else sorted(whole_numbers("budget", budgets, DEEPEST))
    choice = read_choice(test, alpha=alpha, missing=missing, resamples=resamples)
    if choice.by_shard:
        raise PolicyError(
            f"{choice.test} requires scores by shard, which a study of pooling does not have"
        )
    all_runs, judgments = read_runs(runs), read_qrels(qrels)
    options = {"teams": teams, "contributors": contributors, "depth": depth, "rel": rel}
    team_pools = pools(all_runs, judgments, **options, compat=compat, **policies)
    judged = team_pools.runs.judged
    document_pool = pool(
        all_runs, depth, ties=judged.policies.ties, contributors=team_pools.contributing
    )
    if parsed_budgets is None:
        largest = np.diff(document_pool.starts).max(initial=0)
        parsed_budgets = [budget for budget in BUDGETS if budget < largest] or [1]
    mask = team_pools.judgments(others)
    full_scores = by_topic(team_pools.runs.blocks(mask), scoring)
    inputs = PoolingInputs(
        team_pools=team_pools,
        scoring=scoring,
        pool=document_pool,
        qrels=judgments,
        number=judgments_of(team_pools.runs, document_pool),
        counts=has_judgments(team_pools.runs, document_pool),
        budgets=tuple(parsed_budgets),
        rel=int(rel),
        others=others,
        choice=choice,
        seed=int(seed),
        full=full_scores,
        signs=[signs_of(choice, scores, int(seed)) for scores in full_scores],
    )
    # Files are named by method, so that methods can be added later.
    tasks: dict[str, Task] = {
        f"{part_name(text)}-{repeat:05d}": (text, repeat)
        for text, method in zip(map(str, parsed_methods), parsed_methods, strict=True)
        for repeat in range(repeats if method.random else 1)
    }
    rows = run_parts(
        judge_within_budgets,
        inputs,
        {**tasks, "whole-pool": (None, 0)},
        about={} if folder is None else _settings(inputs),
        jobs=jobs,
        backend=backend,
        folder=folder,
        progress=progress,
    )
    # Group rows by measure and list, otherwise in order.
    rows = pl.concat(
        rows.filter(pl.col("measure") == measure, pl.col("list") == kind)
        for measure, kind, _ in scoring.kinds
    )
    relevant = int((mask & (team_pools.runs.grade >= rel)).sum())
    samples = rows.drop("score", "without")
    documents, rankings = over_repeats(samples, relevant)
    return Pooling(
        call,
        measures=tuple(scoring.names),
        lists=scoring.lists,
        methods=tuple(map(str, parsed_methods)),
        budgets=tuple(parsed_budgets),
        test=choice.test,
        correction=choice.correction,
        pools=team_pools,
        pool=document_pool,
        relevant=relevant,
        documents=documents,
        rankings=rankings,
        samples=samples,
        systems=_rank_systems(rows, inputs),
        notes=tuple(_write_notes(inputs, rows)),
    )


def methods_of(methods: Any) -> tuple[Method, ...]:
    """Read distinct methods."""
    texts = [methods] if isinstance(methods, Method) else split_texts("method", methods)
    return tuple({str(method): method for method in map(parse_method, texts)}.values())


def _settings(inputs: PoolingInputs) -> dict[str, Any]:
    """Return the settings that parts depend on, besides their methods."""
    document_pool = inputs.pool
    docs, numbers = (
        document_pool.docs.to_list(),
        (document_pool.starts, document_pool.ranked, document_pool.lists),
    )
    return {
        "study": "pooling",
        **inputs.scoring.about(),
        **inputs.team_pools.about(),
        "budgets": list(inputs.budgets),
        "others": inputs.others,
        "rel": inputs.rel,
        "test": inputs.choice.label,
        "alpha": inputs.choice.alpha,
        "resamples": inputs.choice.resamples,
        "missing": inputs.choice.missing,
        "seed": inputs.seed,
        "pool": hash_of("\n".join(docs), *numbers, document_pool.scores + 0.0),
    }


def _write_notes(inputs: PoolingInputs, rows: pl.DataFrame) -> Iterable[str]:
    team_pools, document_pool = inputs.team_pools, inputs.pool
    if team_pools.outside:
        treatment = ", and are removed" if inputs.others == "drop" else ""
        yield (
            f"{counted(team_pools.outside, 'judgment')} of documents that no contributing run has"
            f" in its top {document_pool.depth}; they are outside every budget{treatment}"
        )
    unjudged = int((inputs.counts & (inputs.number < 0)).sum())
    if unjudged:
        yield (
            f"{counted(unjudged, 'document')} of the pool without a judgment; if requested,"
            f" counted as not relevant"
        )
    n_topics = np.unique(document_pool.topic[~inputs.counts]).size
    if n_topics:
        yield f"{counted(n_topics, 'topic')} without judgments excluded"
    if any(signs is None for signs in inputs.signs):
        yield "pairs of systems cannot be tested with all judgments, and are not counted"
    elif n_untested := rows["significant"].null_count():
        number = counted(n_untested, "budget")
        yield f"pairs of systems could not be tested with the judgments of {number}"
