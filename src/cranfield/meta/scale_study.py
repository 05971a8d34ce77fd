"""Study of the effects of interval scaling, after Ferrante, Ferro and Fuhr (2021)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product
from math import sqrt
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import round_for_ranking
from cranfield.base.errors import MeasureError, PolicyError, check_choice, check_list, quote
from cranfield.base.kinds import Integer, Numbers, OneOf, check_arguments
from cranfield.base.scale_types import Scale
from cranfield.base.text import format_names, inflect
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.meta.study import MEASURE_COLUMN, MEASURE_PAIR, Study, make_schema
from cranfield.meta.study_options import check_integers
from cranfield.meta.test_studies.fast_tests import label_scores, read_choice
from cranfield.meta.work import WorkOptions, add_work_options, hash_judged_runs, run_parts
from cranfield.result import Column, Columns
from cranfield.scales.images.values import TIES
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import as_measure, depends_on_recall_base
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import compute_t_quantile
from cranfield.significance.registry import TestOptions, find_test
from cranfield.tabular import format_number

MEASURES = (
    "P",
    "RBP(p=0.5)",
    "RR",
    "RBP(p=0.3)",
    "RBP(p=0.8)",
    "DCG(discount='max(1,log2(rank))')",
    "DCG(discount='max(1,log10(rank))')",
    "R",
    "AP",
    "nDCG(discount='max(1,log2(rank))')",
    "nDCG(discount='max(1,log10(rank))')",
)
"""Measures of Ferrante, Ferro and Fuhr (2021), in the order of their table 2."""

CUTOFFS = (5, 10, 20, 30)
"""Cutoffs of Ferrante, Ferro and Fuhr (2021)."""

TESTS = (
    *((test, "none") for test in ("sign", "rank-sum", "signed-rank", "t")),
    *((test, "tukey") for test in ("anova-1", "kruskal-wallis", "anova-2", "friedman")),
)
"""Tests of Ferrante, Ferro and Fuhr (2021), with corrections, in the order of their table 5."""

_TRIAL_SCORES = label_scores(
    np.array([[0.1, 0.4, 0.9], [0.5, 0.6, 0.3], [0.2, 0.3, 0.8], [0.7, 0.2, 0.1]])
)
"""Scores of three systems, to check early that tests support scores by topic."""


@dataclass(frozen=True)
class ScaleOptions:
    """Options of a study of scales; returned by :func:`parse_scale_options`."""

    measures: tuple[Measure, ...]
    cutoffs: tuple[int, ...]
    tests: tuple[tuple[str, str], ...]
    ties: str
    alpha: float
    exact_n: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(measure.label for measure in self.measures)

    def make_versions(self, cutoff: int) -> list[tuple[Measure, Interval]]:
        """Return each measure at a cutoff, and its interval-scaled version."""
        measures = [measure @ cutoff for measure in self.measures]
        return [(m, Interval(m, ties=self.ties, raw=True)) for m in measures]

    def check_feasibility(self, max_grade: int, n_runs: int) -> None:
        """Raise an error unless exact ranks of runs with this highest grade can be computed."""
        reasons: dict[str, str] = {}
        for measure, interval_version in chain.from_iterable(map(self.make_versions, self.cutoffs)):
            try:
                interval_version.require(max_grade, n_runs)
            except PolicyError as error:
                reasons[str(measure)] = str(error)
        if reasons:
            raise PolicyError(
                f"the study requires exact ranks, which cannot be computed for"
                f" {', '.join(reasons)}: {next(iter(reasons.values()))}"
            )


def parse_scale_options(
    measures: Any,
    cutoffs: Any,
    tests: Any,
    ties: str = "unique",
    alpha: float = 0.05,
    exact_n: int = TestOptions.exact_n,
) -> ScaleOptions:
    """Parse and check the options of a study of scales."""
    items = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not items:
        raise PolicyError("expected at least one measure, got none")
    parsed_measures = tuple(_parse_without_cutoff(measure) for measure in items)
    parsed_cutoffs = check_integers("cutoff", cutoffs)
    choices = [read_choice(test, alpha=alpha, missing=None, resamples=1000) for test in tests]
    for choice in choices:
        choice.prepare(_TRIAL_SCORES)
    TestOptions(alpha=alpha, exact_n=exact_n)
    check_choice("ties", ties, TIES)
    labels = [f"measure {measure}" for measure in parsed_measures]
    labels += [f"test {choice.test}" for choice in choices]
    for label in labels:
        if labels.count(label) > 1:
            raise PolicyError(f"expected distinct measures and tests, got {label} more than once")
    parsed_tests = tuple((choice.test, choice.correction or "") for choice in choices)
    options = ScaleOptions(parsed_measures, parsed_cutoffs, parsed_tests, ties, alpha, exact_n)
    # Raises an error for measures that cannot be interval-scaled.
    options.make_versions(parsed_cutoffs[0])
    return options


def _parse_without_cutoff(measure: str | Measure) -> Measure:
    """Parse a measure without a cutoff; some measures have no text form without one."""
    if isinstance(measure, Measure) and measure.cutoff is None:
        return measure
    if isinstance(measure, Measure) or "@" in measure:
        raise PolicyError(
            f"expected a measure without cutoff, got {measure}; the study adds the cutoffs"
        )
    try:
        return parse_measure(f"{measure}@1")(cutoff=None).with_label(measure)
    except MeasureError:
        # The error for the unchanged text may be clearer.
        as_measure(measure, 1)
        raise


_CUTOFF_COLUMNS = {
    "collection": Column("Name of the collection, in a study of named collections.", key=True),
    "cutoff": Column("Cutoff, the length of the runs.", key=True),
}


class ScaleStudy(Study):
    """Effects of interval scaling on the order of systems and on the decisions of tests.

    Attributes
    ----------
    measures, cutoffs
        Text forms of the measures without cutoffs, and the cutoffs.
    n_systems, n_topics
        Numbers of systems and topics; tuples in a study of named collections.
    collections
        Names of the collections; empty for judged runs without a name.
    correlation
        Table of Kendall's tau between each measure and its interval-scaled version (tables 2 and 3
        of the source).
    pairs
        Table of Kendall's tau between two measures, and between their interval-scaled versions
        (table 4).
    changes
        Table of the decisions of tests that differ between a measure and its interval-scaled
        version (tables 5 and 6).
    headline
        Table of means of `changes` over measures, cutoffs, tests and collections (section 7.3).
    """

    name = "scales"
    reference: ClassVar[str] = "Ferrante, Ferro and Fuhr (2021)"
    table_attributes: ClassVar[Sequence[str]] = ("correlation", "pairs", "changes", "headline")
    titles: ClassVar[Mapping[str, str]] = {
        "correlation": "Kendall's tau between a measure and its interval-scaled version, by mean"
        " scores (overall) and by topic",
        "pairs": "Kendall's tau between two measures, and between their interval-scaled versions",
        "changes": "Pairs of systems that differ significantly",
        "headline": "Changed decisions on pairs of systems, in percent of the pairs that differ"
        " significantly by the measure (means)",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "correlation": {
            **_CUTOFF_COLUMNS,
            **MEASURE_COLUMN,
            "overall": Column(
                "Kendall's tau between the orders of systems by mean scores of the measure and of"
                " its interval-scaled version; null if undefined, as all systems are tied."
            ),
            "by topic": Column(
                "Kendall's tau between the orders of systems on a topic by the measure and by its"
                " interval-scaled version; mean over topics where it is defined, or null."
            ),
            "lowest": Column("Lowest Kendall's tau of a topic; null if undefined on all topics."),
        },
        "pairs": {
            **_CUTOFF_COLUMNS,
            **MEASURE_PAIR,
            "original": Column("Kendall's tau between the orders of systems by the two measures."),
            "interval": Column(
                "Kendall's tau between the interval-scaled versions of the two measures."
            ),
            "change %": Column("100 (`interval` / `original` - 1); null if undefined.", decimals=2),
        },
        "changes": {
            **_CUTOFF_COLUMNS,
            **MEASURE_COLUMN,
            "test": Column("Test and correction.", key=True),
            "Sig": Column("Number of pairs of systems that differ significantly by the measure."),
            "S2NS": Column(
                "Number of pairs that differ significantly by the measure, but not by its"
                " interval-scaled version."
            ),
            "NS2S": Column(
                "Number of pairs that differ significantly by the interval-scaled version only."
            ),
            "changed %": Column(
                "S2NS + NS2S in percent of Sig; may exceed 100; null if Sig is 0.", 2
            ),
            "changed % of all": Column("S2NS + NS2S in percent of all pairs.", 2),
        },
        "headline": {
            "cutoffs": Column("Cutoff, or all cutoffs, separated by commas.", key=True),
            "measures": Column(
                "Group of measures: with or without recall base (they depend on the number of"
                " relevant documents of a topic, or not); `not interval`: without measures that are"
                " interval scales; `affected`: see `tests`; or `all`.",
                key=True,
            ),
            "tests": Column(
                "Scale that the tests require, `ordinal` or `interval`. `affected` excludes results"
                " that cannot change: measures without recall base if the measure is an interval"
                " scale (and `ties` is `unique`), or if the test requires only an ordinal scale.",
                key=True,
            ),
            "results": Column(
                "Number of averaged results; a result is for a measure, a cutoff, a test and a"
                " collection."
            ),
            "undefined": Column(
                "Number of results excluded because no pair differs significantly by the measure."
            ),
            "S2NS %": Column("Mean of S2NS in percent of Sig.", decimals=1),
            "NS2S %": Column("Mean of NS2S in percent of Sig.", decimals=1),
            "changed %": Column("Mean of S2NS + NS2S in percent of Sig.", decimals=1),
            "sd": Column("Standard deviation of `changed %` over results.", decimals=1),
            "half-width": Column(
                "Half of the width of the 95% confidence interval of the mean `changed %`, assuming"
                " independent results.",
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
        correlations = self.correlation.drop_nulls("overall")
        if correlations.is_empty():
            return ()
        lowest: Any = correlations["overall"].min()
        order_sentence = "Interval scaling does not change the order of the systems by their means"
        if lowest != 1:
            rows = correlations.filter(pl.col("overall") == lowest).to_dicts()
            names = [
                f"{row['measure']} at cutoff {row['cutoff']}{_format_collection(row)}"
                for row in rows
            ]
            order_sentence = (
                f"Interval scaling changes the order of the systems most with"
                f" {format_names(names, 'version')}: Kendall's tau {lowest:.2f} with the"
                " order by the raw measure"
            )
        decision_clause = ""
        decisions = self.changes.sort("changed % of all", descending=True, maintain_order=True)
        for row in decisions.head(1).to_dicts():
            decision_clause = "; no decision on a pair of systems changes"
            if row["changed % of all"]:
                decision_clause = (
                    f"; it changes up to {row['changed % of all']:.1f}% of the decisions on all"
                    f" pairs ({row['test']}, {row['measure']} at {row['cutoff']}"
                    f"{_format_collection(row)})"
                )
        return (
            f"{order_sentence}{decision_clause}.",
            *self._describe_mean(),
            f"Sample: {self._describe_sample()}; the study does not show which version is right.",
        )

    def _describe_mean(self) -> list[str]:
        """Describe the mean change of results that can change at the largest cutoff, if defined."""
        cutoff = max(self.cutoffs)
        rows = self.headline.filter(pl.col("results") > 0, cutoffs=str(cutoff), measures="affected")
        if rows.is_empty():
            return []
        row = rows.row(0, named=True)
        s2ns, ns2s, changed, half_width = (
            format_number(row[name], 1) for name in ("S2NS %", "NS2S %", "changed %", "half-width")
        )
        spread = f" ± {half_width}%" if half_width else ""
        return [
            f"At cutoff {cutoff} the number of decisions that interval scaling changes is"
            f" {changed}%{spread} of the significant differences on average ({s2ns}% lost, {ns2s}%"
            f" new), over {inflect(row['results'], 'result')} that can change."
        ]

    def _describe_sample(self) -> str:
        """Describe the numbers of systems and topics of each collection."""
        sizes = zip(np.atleast_1d(self.n_systems), np.atleast_1d(self.n_topics), strict=True)
        texts = [f"{inflect(n, 'system')}, {inflect(k, 'topic')}" for n, k in sizes]
        names = [f"{name}: " for name in self.collections] or [""]
        return "; ".join(map("".join, zip(names, texts, strict=True)))

    def heading(self) -> list[str]:
        return [
            f"{self._describe_sample()}; ties: {self.ties}",
            "Sig: pairs that differ significantly by the measure; S2NS: significant by the measure,"
            " but not by its interval-scaled version; NS2S: significant by the interval-scaled"
            " version, but not by the measure; changed: S2NS + NS2S, in percent of Sig and of all"
            " pairs",
        ]


ROUNDING = 2.0**-48
"""Pairs of systems whose different scores differ by at most this fraction of the largest absolute
score are excluded from Kendall's tau by topic, as they may be ties."""


@add_work_options
def study_scales(
    judged: JudgedRuns | Mapping[str, JudgedRuns],
    measures: str | Measure | Iterable[str | Measure] = MEASURES,
    *,
    cutoffs: Annotated[Sequence[int], Numbers()] = CUTOFFS,
    tests: Iterable[tuple[str, str]] = TESTS,
    ties: Annotated[str, OneOf(TIES)] = "unique",
    alpha: float = 0.05,
    exact_n: Annotated[int, Integer(0)] = TestOptions.exact_n,
    **work: Unpack[WorkOptions],
) -> ScaleStudy:
    """Compare measures with their interval-scaled versions on the same runs.

    Parameters
    ----------
    judged
        Judged runs of at least two systems; see :meth:`JudgedRuns.binarise` for binary judgments.
        For a study of several collections, a mapping of their names to judged runs.
    measures
        Distinct measures without cutoff.
    cutoffs
        Cutoffs of the measures, which are the lengths of the runs.
    tests
        Distinct tests with their corrections; without tests `changes` is empty.
    ties
        How interval-scaled measures rank runs with equal scores: they share a rank, and the next
        score has the next rank (`unique`); or runs are ranked instead of scores, and tied runs have
        the mean, lowest or highest of their ranks (`mid`, `min`, `max`).
    alpha
        Significance level of the tests.
    exact_n
        Maximum number of differences for an exact signed rank test, as for
        :func:`cranfield.compare`.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a measure at a cutoff on a collection.

    Returns
    -------
    ScaleStudy
        Tables 2 to 6 of Ferrante, Ferro and Fuhr (2021), section 7, and the mean changes of section
        7.3, for these runs.

    Raises
    ------
    MeasureError, PolicyError, CranfieldError
        For unknown or repeated names, one system, missing scores, and ranks that cannot be exact.

    Notes
    -----
    Scores are replaced by their exact ranks. Cutoffs and grades for which these cannot be computed
    (with binary judgments, AP and ERR beyond about 30 ranks, DCG and RBP beyond about 44) raise an
    error at the start: approximate ranks of longer runs would tie different scores, which would
    change Kendall's tau and the tests.

    The headline averages changes in percent of the pairs that differ significantly by the measure;
    each result, a measure at a cutoff with a test on a collection, has the same weight. The row
    `affected` corresponds to the 25% ± 11% of the source, which its printed tables give at cutoff
    30.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:6], covid.qrels).binarise()
    >>> study = study_scales(judged, ["P", "RR"], cutoffs=[5], tests=[("t", "none")])
    >>> study.correlation["overall"][0], study.changes["S2NS"][0]
    (1.0, 0)
    >>> study = study_scales(judged, ["P", "AP"], cutoffs=[5], tests=[("t", "none")])
    >>> study.headline.filter(measures="with recall base").select("results", "changed %").row(0)
    (1, 66.66666666666667)
    """
    call = check_arguments(study_scales, locals())
    check_list("tests", tests)
    options = parse_scale_options(measures, cutoffs, tests, ties, alpha, exact_n)
    collections = _read_collections(judged, options)
    has_collections = isinstance(judged, Mapping)
    hashes = {name: hash_judged_runs(runs) for name, runs in collections.items()}
    prefixes = {
        name: f"collection-{position}-" if has_collections else ""
        for position, name in enumerate(collections, 1)
    }
    table = run_parts(
        _compare_versions,
        (collections, options),
        {
            f"{prefixes[name]}cutoff-{cutoff}-measure-{index + 1}": (name, cutoff, index)
            for name, cutoff, index in product(
                collections, options.cutoffs, range(len(options.measures))
            )
        },
        settings={
            "study": "scales",
            "measures": options.names,
            **{name: getattr(options, name) for name in ("tests", "ties", "alpha", "exact_n")},
            "runs": hashes if has_collections else hashes[""],
        },
        **work,
    )
    changes = table.select(*_KEY_TYPES, "changes").explode("changes").unnest("changes")
    changes = changes.drop_nulls("test")
    max_grades = {name: runs.judgments.max_grade for name, runs in collections.items()}
    correlation, pairs = table.select(*_KEY_TYPES, *_TAUS), _correlate_pairs(table)
    tables = {"correlation": correlation, "pairs": pairs, "changes": changes}
    tables = {name: frame.fill_nan(None) for name, frame in tables.items()}
    sizes = [(len(runs.systems), len(runs.topics)) for runs in collections.values()]
    n_systems, n_topics = zip(*sizes, strict=True) if has_collections else sizes[0]
    attributes: dict[str, Any] = tables | {"collections": tuple(collections)}
    if not has_collections:
        attributes = {name: t.drop("collection") for name, t in tables.items()}
    return ScaleStudy(
        call,
        **attributes,
        measures=options.names,
        cutoffs=options.cutoffs,
        n_systems=n_systems,
        n_topics=n_topics,
        headline=average_changes(changes, options, max_grades),
    )


def _read_collections(judged: Any, options: ScaleOptions) -> dict[str, JudgedRuns]:
    """Check the judged runs, and return them by collection; a single collection has no name."""
    collections = dict(judged) if isinstance(judged, Mapping) else {"": judged}
    if not collections:
        raise PolicyError("expected at least one collection, got none")
    for name, runs in collections.items():
        if not isinstance(name, str):
            raise PolicyError(f"names of collections must be text, got {name!r}")
        suffix = f" of {quote(name)}" if name else ""
        if not isinstance(runs, JudgedRuns):
            hint = suffix or ", or a mapping of them by collection"
            raise PolicyError(f"expected judged runs from judge(){hint}, got {type(runs).__name__}")
        n_systems = len(runs.systems)
        if n_systems < 2:
            raise PolicyError(f"the study requires at least two systems{suffix}, got {n_systems}")
        options.check_feasibility(runs.judgments.max_grade, n_systems * len(runs.topics))
    return collections


_KEY_TYPES = {"collection": pl.String, "cutoff": pl.Int64, "measure": pl.String}
_TAUS = ("overall", "by topic", "lowest")
_CHANGE_SCHEMA = make_schema(ScaleStudy.columns["changes"], ["Sig", "S2NS", "NS2S"])
_PART_SCHEMA: dict[str, Any] = {
    **_KEY_TYPES,
    **dict.fromkeys(_TAUS, pl.Float64),
    **dict.fromkeys(("means", "ranked"), pl.List(pl.Float64)),
    "changes": pl.List(pl.Struct({k: v for k, v in _CHANGE_SCHEMA.items() if k not in _KEY_TYPES})),
}


def _compare_versions(
    shared: tuple[Mapping[str, JudgedRuns], ScaleOptions], task: tuple[str, int, int]
) -> pl.DataFrame:
    """Compare a measure at a cutoff with its interval-scaled version; return one row."""
    collections, options = shared
    collection, cutoff, index = task
    judged = collections[collection]
    versions = options.make_versions(cutoff)[index]
    scores = score(judged, versions)
    hint = "; the study requires scores of every system on all topics"
    complete_scores = [scores[version].complete(hint=hint)[0] for version in versions]
    means, ranked_means = (round_for_ranking(item.mean()) for item in complete_scores)
    values, ranked_values = (item.values for item in complete_scores)
    rounding = ROUNDING * float(np.abs(values).max())
    topic_taus = kendall_tau(values, ranked_values, rounding=rounding)
    defined_taus = topic_taus[~np.isnan(topic_taus)]
    row = {
        "collection": collection,
        "cutoff": cutoff,
        "measure": options.names[index],
        "overall": float(kendall_tau(means, ranked_means)),
        "by topic": float(defined_taus.mean()) if defined_taus.size else np.nan,
        "lowest": float(defined_taus.min()) if defined_taus.size else np.nan,
        "means": means.tolist(),
        "ranked": ranked_means.tolist(),
        "changes": [
            _count_changes(complete_scores, test, correction, options)
            for test, correction in options.tests
        ],
    }
    return pl.DataFrame([row], _PART_SCHEMA)


def _correlate_pairs(table: pl.DataFrame) -> pl.DataFrame:
    """Correlate pairs of measures, and of their interval-scaled versions, at each cutoff."""
    rows = []
    for first, second in combinations(table.to_dicts(), 2):
        keys = first["collection"], first["cutoff"]
        if keys == (second["collection"], second["cutoff"]):
            tau, interval_tau = (
                float(kendall_tau(np.array(first[name]), np.array(second[name])))
                for name in ("means", "ranked")
            )
            change = 100 * (interval_tau / tau - 1) if tau else np.nan
            rows.append((*keys, first["measure"], second["measure"], tau, interval_tau, change))
    schema = make_schema(ScaleStudy.columns["pairs"], ["cutoff"])
    return pl.DataFrame(rows, schema, orient="row")


def average_changes(
    changes: pl.DataFrame, options: ScaleOptions, max_grades: Mapping[str, int]
) -> pl.DataFrame:
    """Average the changes in percent by group; `max_grades` has the highest grade by collection."""
    tests = [test for test, _ in options.tests]
    interval_tests = [test for test in tests if find_test(test).info.scale >= Scale.INTERVAL]
    s2ns, ns2s = (100 * pl.col(name) / pl.col("Sig") for name in ("S2NS", "NS2S"))
    results = changes.join(
        _describe_measures(options, max_grades), on=[*_KEY_TYPES], maintain_order="left"
    ).with_columns(
        pl.col("test").is_in(interval_tests).alias("interval test"),
        *(s2ns.alias("S2NS %"), ns2s.alias("NS2S %"), (s2ns + ns2s).alias("changed %")),
    )
    cutoff_filters = {str(cutoff): pl.col("cutoff") == cutoff for cutoff in options.cutoffs}
    cutoff_filters[", ".join(cutoff_filters)] = pl.lit(True)
    rows = []
    for cutoffs, is_cutoff in cutoff_filters.items():
        for names, is_member in _GROUPS.items():
            group = results.filter(is_cutoff, is_member)
            defined_results = group.filter(pl.col("Sig") > 0)
            means = (defined_results[name].mean() for name in ("S2NS %", "NS2S %", "changed %"))
            n, sd = defined_results.height, defined_results["changed %"].std()
            half_width = (
                None if sd is None else float(compute_t_quantile(0.95, n - 1)) * sd / sqrt(n)
            )
            if group.height:
                rows.append((cutoffs, *names, n, group.height - n, *means, sd, half_width))
    schema = make_schema(ScaleStudy.columns["headline"], ["results", "undefined"])
    return pl.DataFrame(rows, schema, orient="row")


def _describe_measures(options: ScaleOptions, max_grades: Mapping[str, int]) -> pl.DataFrame:
    """Tabulate whether measures use the recall base, are interval scales, and cannot change."""
    rows = []
    for name, max_grade in max_grades.items():
        for cutoff in options.cutoffs:
            versions = options.make_versions(cutoff)
            for label, (measure, _) in zip(options.names, versions, strict=True):
                has_recall_base = depends_on_recall_base(measure)
                is_interval = measure.find_grade_scale(max_grade) >= Scale.INTERVAL
                # With ties, ranks other than unique ones rescale even an interval scale.
                is_fixed = is_interval and not has_recall_base and options.ties == "unique"
                rows.append((name, cutoff, label, has_recall_base, is_interval, is_fixed))
    schema = {**_KEY_TYPES, **dict.fromkeys(("recall base", "interval", "fixed"), pl.Boolean)}
    return pl.DataFrame(rows, schema, orient="row")


_HAS_RECALL_BASE, _IS_INTERVAL_TEST = pl.col("recall base"), pl.col("interval test")
_GROUPS = {
    ("without recall base", "ordinal"): ~_HAS_RECALL_BASE & ~_IS_INTERVAL_TEST,
    ("without recall base", "interval"): ~_HAS_RECALL_BASE & _IS_INTERVAL_TEST,
    ("without recall base, not interval", "interval"): (
        ~_HAS_RECALL_BASE & ~pl.col("interval") & _IS_INTERVAL_TEST
    ),
    ("with recall base", "ordinal"): _HAS_RECALL_BASE & ~_IS_INTERVAL_TEST,
    ("with recall base", "interval"): _HAS_RECALL_BASE & _IS_INTERVAL_TEST,
    ("affected", "affected"): _HAS_RECALL_BASE | (~pl.col("fixed") & _IS_INTERVAL_TEST),
    ("all", "all"): pl.lit(True),
}
"""Groups of measures and tests, with an expression that selects the results of each group."""


def _format_collection(row: Mapping[str, Any]) -> str:
    """Return ' on COLLECTION' for a row of a named collection; otherwise an empty text."""
    return f" on {row['collection']}" if "collection" in row else ""


def _count_changes(
    version_scores: Sequence[Scores], test: str, correction: str, options: ScaleOptions
) -> dict[str, Any]:
    """Count the significant pairs by a measure, and the decisions changed by interval scaling."""
    is_significant, is_scaled_significant = (
        compare(
            scores, test=test, correction=correction, alpha=options.alpha, exact_n=options.exact_n
        ).is_significant()
        for scores in version_scores
    )
    n_significant, n_pairs = int(is_significant.sum()), is_significant.size
    s2ns = int((is_significant & ~is_scaled_significant).sum())
    ns2s = int((~is_significant & is_scaled_significant).sum())
    n_changed = s2ns + ns2s
    return {
        "test": test,
        "Sig": n_significant,
        "S2NS": s2ns,
        "NS2S": ns2s,
        "changed %": 100 * n_changed / n_significant if n_significant else np.nan,
        "changed % of all": 100 * n_changed / n_pairs,
    }
