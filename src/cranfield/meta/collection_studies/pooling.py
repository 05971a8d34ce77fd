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
from cranfield.meta.collection_studies.pools import Pools, pools, traced
from cranfield.meta.collection_studies.rankings import OF_LIST, Teams, by_topic, ranks, wanted_of
from cranfield.meta.collection_studies.spending import (
    AGREEMENT,
    ALONE,
    PAIRS,
    Spending,
    Task,
    counting,
    judgments_of,
    signs_of,
    spent,
)
from cranfield.meta.study import Study, attaining, percent
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
"""Means of whole numbers, and a percentage."""


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


def _means() -> Columns:
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

    In all tables the last row or rows, with null for method and budget, are of the whole pool,
    which every method ends with.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    methods, budgets
        Text forms of the methods, and judgments of each topic in rising order.
    pools
        The judged runs, the teams and the systems that contribute to the pool.
    pool
        The pool that is judged.
    relevant
        Number of relevant documents of all judgments, of topics that count.
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
        "pooling rankings": {**OF_LIST, **_BUDGET, **_means()},
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
        best = rows.sort("relevant", descending=True, nulls_last=True).row(0, named=True)
        if best["of pool"] is None:
            return ()
        names = attaining(rows, "relevant", best["relevant"], name="method")
        return (
            f"With {counted(best['budget'], 'judgment')} a topic, the most relevant documents are"
            f" found by {names_or_count(names, 'method')}: {percent(best['of pool'])} of those in"
            " the pool.",
            f"Sample: {counted(len(self.pools.runs.judged.topics), 'topic')}, and"
            f" {counted(self.repeats, 'repeat')} of randomised methods.",
        )

    def heading(self) -> list[str]:
        drawn = self.documents["repeats"].max() != 1
        again = f"; {counted(self.repeats, 'repeat')}, seed {self.seed}" if drawn else ""
        return [
            f"judging a pool of {counted(len(self.pool), 'document')} for {self.relevant:,}"
            f" relevant ones: {counted(len(self.pools.contributing), 'contributing run')}, depth"
            f" {self.pool.depth}; {counted(len(self.pools.team_of), 'system')} scored{again};"
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
    # What is found is the same by each measure.
    first = pl.struct(*KIND) == pl.struct(*KIND).first()
    found = (
        samples.filter(first)
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
    return found, samples.group_by(*KIND, *BUDGET, maintain_order=True).agg(repeats, *means)


def _of_systems(rows: pl.DataFrame, given: Spending) -> pl.DataFrame:
    """Make a row a system of the scores of each row, and rank it."""
    names = pl.Series(given.known.runs.judged.systems, dtype=pl.String)
    tables = []
    for (measure, kind, lower), scores in zip(given.wanted.kinds, given.full, strict=True):
        full = scores.overall()
        full_ranks = ranks(full, full, lower)
        of_kind = rows.filter(pl.col("measure") == measure, pl.col("list") == kind)
        for row in of_kind.iter_slices(1):
            score, without = (row[name].to_numpy()[0] for name in ("score", "without"))
            columns = {
                "system": names,
                "score": score,
                "rank": ranks(score, score, lower),
                "full score": full,
                "full rank": full_ranks,
                "score without": without,
                "rank without": ranks(without, score, lower),
            }
            labels = row.select(*KIND, *BUDGET, "repeat")
            tables.append(labels.join(pl.DataFrame(columns), how="cross"))
    ranked = pl.col("^.*rank.*$").cast(pl.Int64)
    return pl.concat(tables).fill_nan(None).with_columns(ranked)


METHODS = ("depth", "RRF", "Hedge", "MTF", "MaxMean")
"""Methods that are compared by default."""

BUDGETS = (5, 10, 20, 50, 100, 200, 300, 500, 1000)
"""Judgments of each topic."""


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
        :func:`cranfield.assess.methods`. A text may hold several, with commas between them.
    budgets
        Budgets to compare: numbers of judgments per topic. If a topic has fewer documents, all of
        them are judged. By default those of 5, 10, 20, 50, 100, 200, 300, 500 and 1,000 that are
        below the number of documents of the largest topic, or 1 if there is none. A method with one
        queue over all topics has as many judgments in all as the others.
    depth
        Ranks of each contributing run that are pooled.
    contributors
        The runs that make the pool: `judged` (default), those whose top `depth` documents are all
        judged, since the judgments of other runs are not known; None for all, or
        names of systems. All runs are scored.
    teams
        As for :func:`cranfield.meta.pools`; without teams each run is excluded alone.
    others
        How to treat judgments of documents that no contributing run retrieves within the pool
        depth: `keep` (default) or `drop`. No budget buys them; kept, they are among all judgments
        that budgets are compared with, and the rows of the whole pool say what lacking them costs.
        Dropped, all judgments are those of the pool.
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
        Repeat r of a method is that of the seed + r, as :func:`cranfield.assess.order` takes it.
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
    >>> made = pooling(runs, qrels, "AP", methods="depth,MaxMean", budgets=[1, 2])
    >>> made.documents["method", "budget", "requested", "relevant"].rows()
    ... # doctest: +NORMALIZE_WHITESPACE
    [('depth', 1, 2.0, 1.0), ('depth', 2, 4.0, 2.0), ('MaxMean', 1, 2.0, 2.0),
     ('MaxMean', 2, 4.0, 3.0), (None, None, 7.0, 3.0)]
    """
    call = check_arguments(pooling, locals(), traced)
    chosen = methods_of(methods)
    wanted = wanted_of(measures, lists, compat)
    spending = None if budgets is None else sorted(whole_numbers("budget", budgets, DEEPEST))
    choice = read_choice(test, alpha=alpha, missing=missing, resamples=resamples)
    if choice.by_shard:
        raise PolicyError(
            f"{choice.test} requires scores by shard, which a study of pooling does not have"
        )
    many, judgments = read_runs(runs), read_qrels(qrels)
    of_pool = {"teams": teams, "contributors": contributors, "depth": depth, "rel": rel}
    known = pools(many, judgments, **of_pool, compat=compat, **policies)
    judged = known.runs.judged
    within = pool(many, depth, ties=judged.policies.ties, contributors=known.contributing)
    if spending is None:
        largest = np.diff(within.starts).max(initial=0)
        spending = [budget for budget in BUDGETS if budget < largest] or [1]
    every = known.judgments(others)
    full = by_topic(known.runs.blocks(every), wanted)
    given = Spending(
        known=known,
        wanted=wanted,
        pool=within,
        qrels=judgments,
        number=judgments_of(known.runs, within),
        counts=counting(known.runs, within),
        budgets=tuple(spending),
        rel=int(rel),
        others=others,
        choice=choice,
        seed=int(seed),
        full=full,
        signs=[signs_of(choice, one, int(seed)) for one in full],
    )
    # A file is named by its method, so that others can be added.
    tasks: dict[str, Task] = {
        f"{part_name(text)}-{repeat:05d}": (text, repeat)
        for text, method in zip(map(str, chosen), chosen, strict=True)
        for repeat in range(repeats if method.random else 1)
    }
    rows = run_parts(
        spent,
        given,
        {**tasks, "whole-pool": (None, 0)},
        about={} if folder is None else _about(given),
        jobs=jobs,
        backend=backend,
        folder=folder,
        progress=progress,
    )
    # Those of a measure and a list together, and else unchanged.
    rows = pl.concat(
        rows.filter(pl.col("measure") == measure, pl.col("list") == kind)
        for measure, kind, _ in wanted.kinds
    )
    relevant = int((every & (known.runs.grade >= rel)).sum())
    samples = rows.drop("score", "without")
    found, rankings = over_repeats(samples, relevant)
    return Pooling(
        call,
        measures=tuple(wanted.names),
        lists=wanted.lists,
        methods=tuple(map(str, chosen)),
        budgets=tuple(spending),
        test=choice.test,
        correction=choice.correction,
        pools=known,
        pool=within,
        relevant=relevant,
        documents=found,
        rankings=rankings,
        samples=samples,
        systems=_of_systems(rows, given),
        notes=tuple(_notes(given, rows)),
    )


def methods_of(methods: Any) -> tuple[Method, ...]:
    """Read methods, each once."""
    given = [methods] if isinstance(methods, Method) else split_texts("method", methods)
    return tuple({str(one): one for one in map(parse_method, given)}.values())


def _about(given: Spending) -> dict[str, Any]:
    """Return what the parts depend on, besides their methods."""
    within = given.pool
    docs, numbers = within.docs.to_list(), (within.starts, within.ranked, within.lists)
    return {
        "study": "pooling",
        **given.wanted.about(),
        **given.known.about(),
        "budgets": list(given.budgets),
        "others": given.others,
        "rel": given.rel,
        "test": given.choice.label,
        "alpha": given.choice.alpha,
        "resamples": given.choice.resamples,
        "missing": given.choice.missing,
        "seed": given.seed,
        "pool": hash_of("\n".join(docs), *numbers, within.scores + 0.0),
    }


def _notes(given: Spending, rows: pl.DataFrame) -> Iterable[str]:
    known, within = given.known, given.pool
    if known.outside:
        dropped = ", and are removed" if given.others == "drop" else ""
        yield (
            f"{counted(known.outside, 'judgment')} of documents that no contributing run has in its"
            f" top {within.depth}; they are outside every budget{dropped}"
        )
    unjudged = int((given.counts & (given.number < 0)).sum())
    if unjudged:
        yield (
            f"{counted(unjudged, 'document')} of the pool without a judgment; if requested,"
            f" counted as not relevant"
        )
    aside = np.unique(within.topic[~given.counts]).size
    if aside:
        yield f"{counted(aside, 'topic')} without judgments excluded"
    if any(one is None for one in given.signs):
        yield "pairs of systems cannot be tested with all judgments, and are not counted"
    elif untested := rows["significant"].null_count():
        number = counted(untested, "budget")
        yield f"pairs of systems could not be tested with the judgments of {number}"
