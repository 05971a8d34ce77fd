"""The study of Ferrante, Ferro and Fuhr (2021): effects of interval scaling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from math import sqrt
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import to_order
from cranfield.base.errors import PolicyError, check_several, quoted
from cranfield.base.kinds import Numbers, OneOf, Whole, check_arguments
from cranfield.base.scale_types import Scale
from cranfield.base.text import counted, names_or_count
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures.base import Measure
from cranfield.meta.scale_options import CUTOFFS, MEASURES, TESTS, ScaleOptions, scale_options
from cranfield.meta.study import MEASURE_PAIR, OF_MEASURE, Study
from cranfield.meta.work import Work, judged_fingerprint, run_parts, with_work
from cranfield.result import Column, Columns
from cranfield.scales.images.values import TIES
from cranfield.scales.runs import depends_on_recall_base
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import t_quantile
from cranfield.significance.registry import Options, find_test
from cranfield.tabular import format_number

_OF_CUTOFF = {
    "collection": Column("Collection, in a study of several.", key=True),
    "cutoff": Column("Length of the runs.", key=True),
}


class ScaleStudy(Study):
    """Changes of orders and decisions by interval scaling.

    Attributes
    ----------
    measures, cutoffs
        Text forms without their cutoffs, and lengths of runs.
    systems, topics
        Numbers of systems and topics; tuples in a study of several collections.
    collections
        Names of the collections; empty in a study of one.
    correlation
        Table of Kendall's tau between each measure and its interval-scaled version (tables 2 and 3
        of the source).
    pairs
        Table of Kendall's tau between two measures, and between their interval-scaled versions
        (table 4).
    changes
        Table of decisions by test, with a measure and with its interval-scaled version (tables 5
        and 6).
    headline
        Table of means of these changes over measures, cutoffs, tests and collections (section 7.3).
    """

    name = "scales"
    reference: ClassVar[str] = "Ferrante, Ferro and Fuhr (2021)"
    parts: ClassVar[Sequence[str]] = ("correlation", "pairs", "changes", "headline")
    titles: ClassVar[Mapping[str, str]] = {
        "correlation": "Kendall's tau of a measure and its interval-scaled version: of the means of"
        " systems, and topic by topic",
        "pairs": "Kendall's tau of two measures, and of their interval-scaled versions",
        "changes": "Pairs of systems that differ significantly",
        "headline": "Mean changes in percent of the pairs that differ significantly by the measure",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "correlation": {
            **_OF_CUTOFF,
            **OF_MEASURE,
            "overall": Column(
                "Kendall's tau of the orders of systems by mean scores of the measure and of"
                " its interval-scaled version."
            ),
            "by topic": Column(
                "Mean over topics of Kendall's tau of the orders of systems by the two"
                " versions on a topic."
            ),
            "lowest": Column("Kendall's tau on the topic where it is lowest."),
        },
        "pairs": {
            **_OF_CUTOFF,
            **MEASURE_PAIR,
            "original": Column("Kendall's tau between the two measures."),
            "interval": Column("Kendall's tau between their interval-scaled versions."),
            "change %": Column("Change of tau, in percent.", decimals=2),
        },
        "changes": {
            **_OF_CUTOFF,
            **OF_MEASURE,
            "test": Column("Test and correction.", key=True),
            "Sig": Column("Number of pairs of systems that differ significantly by the measure."),
            "S2NS": Column(
                "Number of these pairs that do not differ significantly by the"
                " interval-scaled version."
            ),
            "NS2S": Column(
                "Number of pairs that differ significantly by the interval-scaled version only."
            ),
            "changed %": Column("S2NS + NS2S in percent of Sig; it may be above 100.", 2),
            "changed % of all": Column("S2NS + NS2S in percent of all pairs.", 2),
        },
        "headline": {
            "cutoffs": Column("Cutoff, or all cutoffs of the study.", key=True),
            "measures": Column(
                "Measures whose scores depend on the recall base, or not; `not interval` excludes"
                " those that already are interval scales.",
                key=True,
            ),
            "tests": Column(
                "Scale that the tests require; `affected` excludes the results that cannot change:"
                " without recall base, those of interval scales and of ordinal tests.",
                key=True,
            ),
            "results": Column(
                "Number of results in the means: a measure at a cutoff, by a test, on a collection."
            ),
            "undefined": Column(
                "Number of results excluded because no pair differs significantly by the measure."
            ),
            "S2NS %": Column("Mean of S2NS in percent of Sig.", decimals=1),
            "NS2S %": Column("Mean of NS2S in percent of Sig.", decimals=1),
            "changed %": Column("Mean of S2NS + NS2S in percent of Sig.", decimals=1),
            "sd": Column("Standard deviation of `changed %` over the results.", decimals=1),
            "half-width": Column(
                "Half of the width of the 0.95 confidence interval of the mean `changed %`, as if"
                " the results were independent.",
                decimals=1,
            ),
        },
    }

    collections: tuple[str, ...] = ()
    correlation: pl.DataFrame
    changes: pl.DataFrame
    headline: pl.DataFrame

    @property
    def verdict(self) -> tuple[str, ...]:
        orders = self.correlation.drop_nulls("overall")
        if orders.is_empty():
            return ()
        lowest: Any = orders["overall"].min()
        order = "Interval scaling does not change the order of the systems by their means"
        if lowest != 1:
            rows = orders.filter(pl.col("overall") == lowest).to_dicts()
            names = [f"{row['measure']} at cutoff {row['cutoff']}{_suffix(row)}" for row in rows]
            order = (
                f"Interval scaling changes the order of the systems most with"
                f" {names_or_count(names, 'version')}: Kendall's tau {lowest:.2f} to the order by"
                " the raw measure"
            )
        decision = ""
        decisions = self.changes.sort("changed % of all", descending=True, maintain_order=True)
        for row in decisions.head(1).to_dicts():
            decision = "; no decision on a pair of systems changes"
            if row["changed % of all"]:
                decision = (
                    f"; of the decisions on all pairs it changes {row['changed % of all']:.1f}% at"
                    f" most (test {row['test']}, {row['measure']} at {row['cutoff']}{_suffix(row)})"
                )
        return (
            f"{order}{decision}.",
            *self._describe_mean(),
            f"Sample: {self._sample()}; the study does not say which version is right.",
        )

    def _describe_mean(self) -> list[str]:
        """Describe the mean change at the largest cutoff; empty if no result can change."""
        cutoff = max(self.cutoffs)
        rows = self.headline.filter(pl.col("results") > 0, cutoffs=str(cutoff), measures="affected")
        if rows.is_empty():
            return []
        row = rows.row(0, named=True)
        lost, won, changed, width = (
            format_number(row[name], 1) for name in ("S2NS %", "NS2S %", "changed %", "half-width")
        )
        spread = f" ± {width}%" if width else ""
        return [
            f"At cutoff {cutoff} it changes {changed}%{spread} of the significant differences on"
            f" average (S2NS {lost}%, NS2S {won}%), over {counted(row['results'], 'result')} of"
            f" measures and tests that can change."
        ]

    def _sample(self) -> str:
        """Describe the numbers of systems and topics, of each collection."""
        sizes = zip(np.atleast_1d(self.systems), np.atleast_1d(self.topics), strict=True)
        texts = [f"{counted(n, 'system')}, {counted(k, 'topic')}" for n, k in sizes]
        names = [f"{name}: " for name in self.collections] or [""]
        return "; ".join(map("".join, zip(names, texts, strict=True)))

    def heading(self) -> list[str]:
        return [
            f"{self._sample()}; ties ranked {self.ties}; Sig:"
            " pairs that differ significantly by the measure; S2NS: those that do not by"
            " its interval-scaled version; NS2S: pairs that differ by this version only;"
            " changed: S2NS + NS2S, in percent of Sig and of all pairs"
        ]


ROUNDING = 2.0**-48
"""Scores that differ by less than this fraction of the largest may be equal."""


@with_work
def study_scales(
    judged: JudgedRuns | Mapping[str, JudgedRuns],
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    *,
    cutoffs: Annotated[Sequence[int], Numbers()] = CUTOFFS,
    tests: Iterable[tuple[str, str]] = TESTS,
    ties: Annotated[str, OneOf(TIES)] = "unique",
    alpha: float = 0.05,
    exact_n: Annotated[int, Whole(0)] = Options.exact_n,
    **work: Unpack[Work],
) -> ScaleStudy:
    """Compare measures with their interval-scaled versions on the same runs.

    Parameters
    ----------
    judged
        Judged runs of at least two systems; see :meth:`JudgedRuns.binary` for binary judgments. For
        a study of several collections, their judged runs by name.
    measures
        Distinct measures without cutoff.
    cutoffs
        Cutoffs of the measures, which are the lengths of the runs.
    tests
        Distinct tests with their corrections; without tests `changes` is empty.
    alpha
        Significance level of the tests.
    ties
        How interval-scaled measures rank ties: `unique`, `mid`, `min` or `max`.
    exact_n
        As for :func:`cranfield.compare`: maximum differences for an exact signed rank test.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a measure at a cutoff on a collection.

    Returns
    -------
    ScaleStudy
        The tables 2 to 6 of Ferrante, Ferro and Fuhr (2021), section 7, and the mean changes of
        its section 7.3, for these runs.

    Raises
    ------
    MeasureError, PolicyError
        For unknown or repeated names, and for exact ranks that cannot be computed.

    Notes
    -----
    Scores are replaced by their exact ranks. Cutoffs and grades for which these cannot be computed
    (for AP and ERR beyond some 30 ranks, for DCG and RBP beyond some 44 with binary judgments) are
    an error at the start: approximate ranks of longer runs would tie different scores, which
    changes Kendall's tau and the tests.

    The headline averages percentages of the pairs that differ significantly by the measure; each
    result, a measure at a cutoff by a test on a collection, has the same weight. The row `affected`
    is the 25% ± 11% of the source, which its printed tables give at cutoff 30.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:6], covid.qrels).binary()
    >>> study = study_scales(judged, ["P", "RR"], cutoffs=[5], tests=[("t", "none")])
    >>> study.correlation["overall"][0], study.changes["S2NS"][0]
    (1.0, 0)
    >>> study = study_scales(judged, ["P", "AP"], cutoffs=[5], tests=[("t", "none")])
    >>> study.headline.filter(measures="with recall base").select("results", "changed %").row(0)
    (1, 66.66666666666667)
    """
    call = check_arguments(study_scales, locals())
    check_several("tests", tests)
    options = scale_options(measures, cutoffs, tests, ties, alpha, exact_n)
    collections = _read_collections(judged, options)
    several = isinstance(judged, Mapping)
    hashes = {name: judged_fingerprint(runs) for name, runs in collections.items()}
    prefixes = {
        name: f"collection-{position}-" if several else ""
        for position, name in enumerate(collections, 1)
    }
    table = run_parts(
        _compare,
        (collections, options),
        {
            f"{prefixes[name]}cutoff-{cutoff}-measure-{index + 1}": (name, cutoff, index)
            for name, cutoff, index in product(
                collections, options.cutoffs, range(len(options.measures))
            )
        },
        about={
            "study": "scales",
            "measures": options.names,
            **{name: getattr(options, name) for name in ("tests", "ties", "alpha", "exact_n")},
            "runs": hashes if several else hashes[""],
        },
        **work,
    )
    changes = (
        table.select(*_KEYS, "changes").explode("changes").unnest("changes").drop_nulls("test")
    )
    grades = {name: runs.judgments.max_grade for name, runs in collections.items()}
    correlation, pairs = table.select(*_KEYS, *_TAUS), _correlate_pairs(table)
    tables = {"correlation": correlation, "pairs": pairs, "changes": changes}
    sizes = [(len(runs.systems), len(runs.topics)) for runs in collections.values()]
    systems, topics = zip(*sizes, strict=True) if several else sizes[0]
    values: dict[str, Any] = {"collections": tuple(collections)} if several else {}
    return ScaleStudy(
        call,
        **values,
        measures=options.names,
        cutoffs=options.cutoffs,
        systems=systems,
        topics=topics,
        headline=average_changes(changes, options, grades),
        **(tables if several else {name: t.drop("collection") for name, t in tables.items()}),
    )


def _read_collections(judged: Any, options: ScaleOptions) -> dict[str, JudgedRuns]:
    """Return the judged runs by collection, a single one without a name; check that they fit."""
    collections = dict(judged) if isinstance(judged, Mapping) else {"": judged}
    if not collections:
        raise PolicyError("expected at least one collection, got none")
    for name, runs in collections.items():
        if not isinstance(name, str):
            raise PolicyError(f"names of collections must be text, got {name!r}")
        place = f" of {quoted(name)}" if name else ""
        if not isinstance(runs, JudgedRuns):
            hint = place or ", or a mapping of them by collection"
            raise PolicyError(f"expected judged runs of judge(){hint}, got {type(runs).__name__}")
        n_systems = len(runs.systems)
        if n_systems < 2:
            raise PolicyError(f"the study requires at least two systems{place}, got {n_systems}")
        options.require(runs.judgments.max_grade, n_systems * len(runs.topics))
    return collections


_KEYS = {"collection": pl.String, "cutoff": pl.Int64, "measure": pl.String}
_TAUS = ("overall", "by topic", "lowest")
_CHANGE = {
    "test": pl.String,
    **dict.fromkeys(("Sig", "S2NS", "NS2S"), pl.Int64),
    **dict.fromkeys(("changed %", "changed % of all"), pl.Float64),
}
_PART: dict[str, Any] = {
    **_KEYS,
    **dict.fromkeys(_TAUS, pl.Float64),
    **dict.fromkeys(("means", "ranked"), pl.List(pl.Float64)),
    "changes": pl.List(pl.Struct(_CHANGE)),
}


_PAIRS: dict[str, Any] = {
    **{"collection": pl.String, "cutoff": pl.Int64, "first": pl.String, "second": pl.String},
    **dict.fromkeys(("original", "interval", "change %"), pl.Float64),
}


def _compare(
    shared: tuple[Mapping[str, JudgedRuns], ScaleOptions], task: tuple[str, int, int]
) -> pl.DataFrame:
    """Compare a measure with its interval-scaled version; return one row."""
    collections, options = shared
    collection, cutoff, index = task
    judged = collections[collection]
    versions = options.versions(cutoff)[index]
    scores = score(judged, versions)
    hint = "; the study needs a score of every system on all topics"
    tables = [scores[version].complete(hint=hint)[0] for version in versions]
    means, ranked_means = (to_order(table.mean()) for table in tables)
    rounding = ROUNDING * float(np.abs(tables[0].values).max())
    by_topic = kendall_tau(tables[0].values, tables[1].values, rounding=rounding)
    defined = by_topic[~np.isnan(by_topic)]
    row = {
        "collection": collection,
        "cutoff": cutoff,
        "measure": options.names[index],
        "overall": float(kendall_tau(means, ranked_means)),
        "by topic": float(defined.mean()) if defined.size else np.nan,
        "lowest": float(defined.min()) if defined.size else np.nan,
        "means": means.tolist(),
        "ranked": ranked_means.tolist(),
        "changes": [
            _count_changes(tables, test, correct, options) for test, correct in options.tests
        ],
    }
    return pl.DataFrame([row], _PART)


def _correlate_pairs(table: pl.DataFrame) -> pl.DataFrame:
    """Correlate the pairs of measures at each cutoff, and their interval-scaled versions."""
    rows = []
    for first, second in combinations(table.to_dicts(), 2):
        keys = first["collection"], first["cutoff"]
        if keys == (second["collection"], second["cutoff"]):
            original, scaled = (
                float(kendall_tau(np.array(first[name]), np.array(second[name])))
                for name in ("means", "ranked")
            )
            change = 100 * (scaled / original - 1) if original else np.nan
            rows.append((*keys, first["measure"], second["measure"], original, scaled, change))
    return pl.DataFrame(rows, _PAIRS, orient="row")


def average_changes(
    changes: pl.DataFrame, options: ScaleOptions, grades: Mapping[str, int]
) -> pl.DataFrame:
    """Average the changes in percent of the significant pairs, by groups of measures and tests.

    `grades` has the highest grade of each collection.
    """
    tests = [test for test, _ in options.tests]
    interval_tests = [test for test in tests if find_test(test).info.scale >= Scale.INTERVAL]
    lost, won = (100 * pl.col(name) / pl.col("Sig") for name in ("S2NS", "NS2S"))
    results = changes.join(
        _describe_measures(options, grades), on=[*_KEYS], maintain_order="left"
    ).with_columns(
        pl.col("test").is_in(interval_tests).alias("interval test"),
        *(lost.alias("S2NS %"), won.alias("NS2S %"), (lost + won).alias("changed %")),
    )
    by_cutoff = {str(cutoff): pl.col("cutoff") == cutoff for cutoff in options.cutoffs}
    by_cutoff[", ".join(by_cutoff)] = pl.lit(True)
    rows = []
    for cutoffs, is_cutoff in by_cutoff.items():
        for names, is_member in _GROUPS.items():
            group = results.filter(is_cutoff, is_member)
            defined = group.filter(pl.col("Sig") > 0)
            means = (defined[name].mean() for name in ("S2NS %", "NS2S %", "changed %"))
            n, sd = defined.height, defined["changed %"].std()
            width = None if sd is None else float(t_quantile(0.95, n - 1)) * sd / sqrt(n)
            if group.height:
                rows.append((cutoffs, *names, n, group.height - n, *means, sd, width))
    return pl.DataFrame(rows, _HEADLINE, orient="row")


def _describe_measures(options: ScaleOptions, grades: Mapping[str, int]) -> pl.DataFrame:
    """Return whether measures depend on the recall base, are interval scales, and cannot change."""
    rows = []
    for name, highest in grades.items():
        for cutoff in options.cutoffs:
            for label, (measure, _) in zip(options.names, options.versions(cutoff), strict=True):
                with_base = depends_on_recall_base(measure)
                is_interval = measure.scale_with(highest) >= Scale.INTERVAL
                # Other ranks than unique ones rescale an interval scale with ties.
                is_fixed = is_interval and not with_base and options.ties == "unique"
                rows.append((name, cutoff, label, with_base, is_interval, is_fixed))
    schema = {**_KEYS, **dict.fromkeys(("recall base", "interval", "fixed"), pl.Boolean)}
    return pl.DataFrame(rows, schema, orient="row")


_WITH_BASE, _INTERVAL_TEST = pl.col("recall base"), pl.col("interval test")
_GROUPS = {
    ("without recall base", "ordinal"): ~_WITH_BASE & ~_INTERVAL_TEST,
    ("without recall base", "interval"): ~_WITH_BASE & _INTERVAL_TEST,
    ("without recall base, not interval", "interval"): (
        ~_WITH_BASE & ~pl.col("interval") & _INTERVAL_TEST
    ),
    ("with recall base", "ordinal"): _WITH_BASE & ~_INTERVAL_TEST,
    ("with recall base", "interval"): _WITH_BASE & _INTERVAL_TEST,
    ("affected", "affected"): _WITH_BASE | (~pl.col("fixed") & _INTERVAL_TEST),
    ("all", "all"): pl.lit(True),
}
"""Groups of measures and tests; with unique ranks `affected` are the three groups before it."""

_HEADLINE: dict[str, Any] = {
    **dict.fromkeys(("cutoffs", "measures", "tests"), pl.String),
    **dict.fromkeys(("results", "undefined"), pl.Int64),
    **dict.fromkeys(("S2NS %", "NS2S %", "changed %", "sd", "half-width"), pl.Float64),
}


def _suffix(row: Mapping[str, Any]) -> str:
    """Return the words for the collection of a row, in a study of several."""
    return f" on {row['collection']}" if "collection" in row else ""


def _count_changes(
    tables: Sequence[Scores], test: str, correction: str, options: ScaleOptions
) -> dict[str, Any]:
    """Count significant pairs by the measure, and changed decisions by its version."""
    before, after = (
        compare(
            table, test=test, correction=correction, alpha=options.alpha, exact_n=options.exact_n
        ).is_significant()
        for table in tables
    )
    n_significant, n_pairs = int(before.sum()), before.size
    lost, won = int((before & ~after).sum()), int((~before & after).sum())
    changed = 100 * (lost + won)
    return {
        "test": test,
        "Sig": n_significant,
        "S2NS": lost,
        "NS2S": won,
        "changed %": changed / n_significant if n_significant else np.nan,
        "changed % of all": changed / n_pairs,
    }
