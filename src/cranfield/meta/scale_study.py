"""The study of Ferrante, Ferro and Fuhr (2021): effects of interval scaling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import to_order
from cranfield.base.errors import MeasureError, PolicyError, check_choice, check_several
from cranfield.base.kinds import Numbers, OneOf, Whole, check_arguments
from cranfield.base.text import counted, names_or_count
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.correlation import kendall_tau
from cranfield.evaluation.evaluation import score
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.meta.study import MEASURE_PAIR, OF_MEASURE, Study
from cranfield.meta.study_options import whole_numbers
from cranfield.meta.test_studies.fast_tests import label_scores, read_choice
from cranfield.meta.work import Work, judged_fingerprint, run_parts, with_work
from cranfield.result import Column, Columns
from cranfield.scales.images.values import TIES
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import as_measure
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.registry import Options

TRIAL = label_scores(np.array([[0.1, 0.4, 0.9], [0.5, 0.6, 0.3], [0.2, 0.3, 0.8], [0.7, 0.2, 0.1]]))
"""Scores of three systems: a test that supports these supports those of any study."""


@dataclass(frozen=True)
class ScaleOptions:
    """The options of a study of scales; made by :func:`scale_options`."""

    measures: tuple[Measure, ...]
    cutoffs: tuple[int, ...]
    tests: tuple[tuple[str, str], ...]
    ties: str
    alpha: float
    exact_n: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(measure.label for measure in self.measures)

    def facts(self) -> dict[str, Any]:
        """Return the settings that parts depend on, besides their tasks and the runs."""
        about = {"measures": self.names, "tests": self.tests, "ties": self.ties}
        return {**about, "alpha": self.alpha, "exact_n": self.exact_n}

    def versions(self, cutoff: int) -> list[tuple[Measure, Interval]]:
        """Return each measure at a cutoff, and its interval-scaled version."""
        measures = [measure @ cutoff for measure in self.measures]
        return [(m, Interval(m, ties=self.ties, raw=True)) for m in measures]

    def require(self, grades: int, runs: int) -> None:
        """Raise if exact ranks cannot be computed for a highest grade and a number of rankings."""
        refusals: dict[str, str] = {}
        for cutoff in self.cutoffs:
            for measure, ranked in self.versions(cutoff):
                try:
                    ranked.require(grades, runs)
                except PolicyError as error:
                    refusals[str(measure)] = str(error)
        if refusals:
            reason = next(iter(refusals.values()))
            raise PolicyError(
                f"the study requires exact ranks, which cannot be computed for"
                f" {', '.join(refusals)}: {reason}"
            )


def scale_options(
    measures: Any,
    cutoffs: Any,
    tests: Any,
    ties: str = "unique",
    alpha: float = 0.05,
    exact_n: int = Options.exact_n,
) -> ScaleOptions:
    """Check the options of a study of scales; without tests there are no decisions."""
    texts = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not texts:
        raise PolicyError("expected at least one measure, got none")
    parsed = tuple(_without_cutoff(measure) for measure in texts)
    lengths = whole_numbers("cutoff", cutoffs)
    choices = [read_choice(test, alpha=alpha, missing=None, resamples=1000) for test in tests]
    for choice in choices:
        choice.prepare(TRIAL)
    Options(alpha=alpha, exact_n=exact_n)
    check_choice("ties", ties, TIES)
    parsed_tests = tuple((choice.test, choice.correction or "") for choice in choices)
    labels = [f"measure {measure}" for measure in parsed] + [
        f"test {test}" for test, _ in parsed_tests
    ]
    for label in labels:
        if labels.count(label) > 1:
            raise PolicyError(f"{label} is repeated")
    options = ScaleOptions(parsed, lengths, parsed_tests, ties, alpha, exact_n)
    options.versions(lengths[0])
    return options


def _without_cutoff(measure: str | Measure) -> Measure:
    """Read a measure without a cutoff; some measures have no text form without one."""
    if isinstance(measure, Measure) and measure.cutoff is None:
        return measure
    if isinstance(measure, Measure) or "@" in measure:
        raise PolicyError(f"{measure} has a cutoff; the study sets them")
    try:
        return parse_measure(f"{measure}@1")(cutoff=None).with_label(measure)
    except MeasureError:
        # Parsing the unchanged text may give a clearer message.
        as_measure(measure, 1)
        raise


_OF_CUTOFF = {"cutoff": Column("Length of the runs.", key=True)}


class ScaleStudy(Study):
    """Changes of orders and decisions by interval scaling.

    Attributes
    ----------
    measures, cutoffs
        Text forms without their cutoffs, and lengths of runs.
    systems, topics
        Numbers of systems and topics.
    correlation
        Table of Kendall's tau between each measure and its interval-scaled version (tables 2 and 3
        of the source).
    pairs
        Table of Kendall's tau between two measures, and between their interval-scaled versions
        (table 4).
    changes
        Table of decisions by test, with a measure and with its interval-scaled version (tables 5
        and 6).
    """

    name = "scales"
    reference: ClassVar[str] = "Ferrante, Ferro and Fuhr (2021)"
    parts: ClassVar[Sequence[str]] = ("correlation", "pairs", "changes")
    titles: ClassVar[Mapping[str, str]] = {
        "correlation": "Kendall's tau of a measure and its interval-scaled version: of the means of"
        " systems, and topic by topic",
        "pairs": "Kendall's tau of two measures, and of their interval-scaled versions",
        "changes": "Pairs of systems that differ significantly",
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
    }

    correlation: pl.DataFrame
    changes: pl.DataFrame

    @property
    def verdict(self) -> tuple[str, ...]:
        orders = self.correlation.drop_nulls("overall")
        if orders.is_empty():
            return ()
        lowest: Any = orders["overall"].min()
        lowest_rows = orders.filter(pl.col("overall") == lowest)
        names = [f"{row['measure']} at cutoff {row['cutoff']}" for row in lowest_rows.to_dicts()]
        order = "Interval scaling does not change the order of the systems by their means"
        if lowest != 1:
            order = (
                f"Interval scaling changes the order of the systems most with"
                f" {names_or_count(names, 'version')}: Kendall's tau {lowest:.2f} to the order by"
                " the raw measure"
            )
        decision = ""
        decisions = self.changes.sort("changed % of all", descending=True, maintain_order=True)
        for row in decisions.head(1).iter_rows(named=True):
            decision = "; no decision on a pair of systems changes"
            if row["changed % of all"]:
                decision = (
                    f"; of the decisions on all pairs it changes {row['changed % of all']:.1f}% at"
                    f" most (test {row['test']}, {row['measure']} at {row['cutoff']})"
                )
        return (
            f"{order}{decision}.",
            f"Sample: {counted(self.systems, 'system')}, {counted(self.topics, 'topic')}; the"
            f" study does not say which version is right.",
        )

    def heading(self) -> list[str]:
        return [
            f"{self.systems} systems, {self.topics} topics; ties ranked {self.ties}; Sig:"
            " pairs that differ significantly by the measure; S2NS: those that do not by"
            " its interval-scaled version; NS2S: pairs that differ by this version only;"
            " changed: S2NS + NS2S, in percent of Sig and of all pairs"
        ]


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
"""The measures of the paper, in the order of its table 2."""

CUTOFFS = (5, 10, 20, 30)
"""Lengths of runs of the paper."""

TESTS = (
    ("sign", "none"),
    ("rank-sum", "none"),
    ("signed-rank", "none"),
    ("t", "none"),
    ("anova-1", "tukey"),
    ("kruskal-wallis", "tukey"),
    ("anova-2", "tukey"),
    ("friedman", "tukey"),
)
"""The tests of the paper, with their corrections, in the order of its table 5."""

ROUNDING = 2.0**-48
"""Scores that differ by less than this fraction of the largest may be equal."""


@with_work
def study_scales(
    judged: JudgedRuns,
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
        Judged runs of at least two systems; see :meth:`JudgedRuns.binary` for binary judgments.
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
        As for :func:`cranfield.meta.run_parts`; a part is a measure at a cutoff.

    Returns
    -------
    ScaleStudy
        The tables 2 to 6 of Ferrante, Ferro and Fuhr (2021), section 7, for these runs.

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

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> judged = cf.judge(covid.runs[:6], covid.qrels).binary()
    >>> study = study_scales(judged, ["P", "RR"], cutoffs=[5], tests=[("t", "none")])
    >>> study.correlation["overall"][0], study.changes["S2NS"][0]
    (1.0, 0)
    """
    call = check_arguments(study_scales, locals())
    check_several("tests", tests)
    options = scale_options(measures, cutoffs, tests, ties, alpha, exact_n)
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"expected judged runs of judge(), got {type(judged).__name__}")
    if len(judged.systems) < 2:
        raise PolicyError(f"the study requires at least two systems, got {len(judged.systems)}")
    options.require(judged.judgments.max_grade, len(judged.systems) * len(judged.topics))
    table = run_parts(
        _compare,
        (judged, options),
        {
            f"cutoff-{cutoff}-measure-{index + 1}": (cutoff, index)
            for cutoff in options.cutoffs
            for index in range(len(options.measures))
        },
        about={"study": "scales", **options.facts(), "runs": judged_fingerprint(judged)},
        **work,
    )
    changes = table.select(*_AT, "changes").explode("changes").unnest("changes").drop_nulls("test")
    decisions = len(judged.systems) * (len(judged.systems) - 1) // 2
    changed = 100 * (pl.col("S2NS") + pl.col("NS2S")) / decisions
    return ScaleStudy(
        call,
        measures=options.names,
        cutoffs=options.cutoffs,
        systems=len(judged.systems),
        topics=len(judged.topics),
        correlation=table.select(*_AT, *_TAUS),
        pairs=_correlate_pairs(table),
        changes=changes.with_columns(changed.alias("changed % of all")),
    )


_AT = {"cutoff": pl.Int64, "measure": pl.String}
_TAUS = ("overall", "by topic", "lowest")
_CHANGE = {
    "test": pl.String,
    **dict.fromkeys(("Sig", "S2NS", "NS2S"), pl.Int64),
    "changed %": pl.Float64,
}
_PART: dict[str, Any] = {
    **_AT,
    **dict.fromkeys(_TAUS, pl.Float64),
    **dict.fromkeys(("means", "ranked"), pl.List(pl.Float64)),
    "changes": pl.List(pl.Struct(_CHANGE)),
}


def _compare(shared: tuple[JudgedRuns, ScaleOptions], task: tuple[int, int]) -> pl.DataFrame:
    """Compare a measure with its interval-scaled version; return one row."""
    judged, options = shared
    cutoff, index = task
    versions = options.versions(cutoff)[index]
    scores = score(judged, versions)
    hint = "; the study needs a score of every system on all topics"
    tables = [scores[version].complete(hint=hint)[0] for version in versions]
    means, ranked_means = (to_order(table.mean()) for table in tables)
    rounding = ROUNDING * float(np.abs(tables[0].values).max())
    by_topic = kendall_tau(tables[0].values, tables[1].values, rounding=rounding)
    defined = by_topic[~np.isnan(by_topic)]
    row = {
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
    for first, second in combinations(table.iter_rows(named=True), 2):
        if first["cutoff"] == second["cutoff"]:
            original, scaled = (
                float(kendall_tau(np.array(first[name]), np.array(second[name])))
                for name in ("means", "ranked")
            )
            change = 100 * (scaled / original - 1) if original else np.nan
            rows.append(
                (first["cutoff"], first["measure"], second["measure"], original, scaled, change)
            )
    schema: dict[str, Any] = {"cutoff": pl.Int64, "first": pl.String, "second": pl.String}
    schema |= dict.fromkeys(("original", "interval", "change %"), pl.Float64)
    return pl.DataFrame(rows, schema, orient="row")


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
    n_significant = int(before.sum())
    lost, won = int((before & ~after).sum()), int((~before & after).sum())
    changed = 100 * (lost + won) / n_significant if n_significant else np.nan
    return {"test": test, "Sig": n_significant, "S2NS": lost, "NS2S": won, "changed %": changed}
