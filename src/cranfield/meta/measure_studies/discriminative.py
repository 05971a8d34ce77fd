"""Study of discriminative power: significantly different pairs of systems by measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Unpack

import polars as pl

from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.kinds import check_arguments
from cranfield.base.text import inflect
from cranfield.meta.measure_studies.correlations import read_measure_scores
from cranfield.meta.study import Study, describe_extremes, format_percent
from cranfield.meta.study_options import Resamples, Seed
from cranfield.meta.work import WorkOptions, add_work_options, hash_scores, run_parts
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import PAIR_COLUMNS, make_pair_frame
from cranfield.significance.registry import CORRECTIONS, TestOptions, find_test


class DiscriminativePower(Study):
    """Numbers of significant pairs of systems by measure; see :func:`discriminative_power`.

    Attributes
    ----------
    resamples, seed
        Number of resamples, and seed, of a randomised test or correction; otherwise None.
    measures, n_systems
        Text forms of the measures, and number of systems.
    n_topics
        Number of compared topics by measure, after the policy for missing scores.
    pairs
        The table `pairs`.
    notes
        Notes of the comparisons by measure, such as on excluded topics or imputed scores.
    """

    name = "discriminative-power"
    reference: ClassVar[str] = "Sakai (2006a); Sakai (2013)"
    table_attributes: ClassVar[Sequence[str]] = ("summary", "pairs")
    titles: ClassVar[Mapping[str, str]] = {
        "power": "Discriminative power: pairs of systems that differ significantly"
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "power": {
            "measure": Column("Measure, the most discriminative first.", key=True),
            "pairs": Column("Number of pairs of systems."),
            "significant": Column("Number of significant pairs."),
            "power": Column("Proportion of significant pairs.", decimals=1, percent=True),
            "smallest significant": Column(
                "Smallest absolute difference that is significant; null if no difference is"
                " significant."
            ),
            "largest not": Column(
                "Largest absolute difference that is not significant; null if all are significant."
            ),
            "mean p": Column(
                "Mean p-value (area under the curve of p-values), lower is better; for comparing"
                " measures of equal power."
            ),
        },
        "pairs": {
            "measure": Column("Measure.", key=True),
            **PAIR_COLUMNS,
            "difference": Column("Difference of the systems as in :func:`cranfield.compare`."),
            "p": Column("Adjusted p-value.", is_pvalue=True),
        },
    }

    pairs: pl.DataFrame

    @cached_property
    def summary(self) -> pl.DataFrame:
        """The table `power`."""
        magnitude, is_significant = pl.col("difference").abs(), pl.col("p") <= self.alpha
        return (
            self.pairs.group_by("measure", maintain_order=True)
            .agg(
                pl.len().cast(pl.Int64).alias("pairs"),
                is_significant.sum().cast(pl.Int64).alias("significant"),
                is_significant.mean().alias("power"),
                magnitude.filter(is_significant).min().alias("smallest significant"),
                magnitude.filter(~is_significant).max().alias("largest not"),
                pl.col("p").mean().alias("mean p"),
            )
            .sort(["power", "mean p"], descending=[True, False], maintain_order=True)
        )

    @cached_property
    def curves(self) -> pl.DataFrame:
        """Curves of achieved significance levels, with columns `measure`, `rank` and `p`.

        The p-values of each measure are in ascending order, with ranks from 1, as in figure 16 of
        Sakai (2013).
        """
        rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64)
        position = pl.col("measure").replace_strict(list(self.measures), range(len(self.measures)))
        return (
            self.pairs.sort("p", maintain_order=True)
            .select("measure", rank.over("measure").alias("rank"), "p")
            .sort(position, "rank")
        )

    @property
    def verdict(self) -> tuple[str, ...]:
        best_row = self.summary.row(0, named=True)
        if best_row["power"] is None:
            return ()
        condition = f"test {self.test}, correction {self.correction}, alpha {self.alpha:g}"
        pairs_text = f"{inflect(best_row['pairs'], 'pair')} of systems"
        if best_row["power"] == 0:
            return (f"None of {pairs_text} differs significantly by any measure ({condition}).",)

        def describe(row: Mapping[str, Any]) -> tuple[str, str]:
            text = f"{row['significant']:,}"
            return f"{text} of {pairs_text} ({format_percent(row['power'])})", text

        return (
            describe_extremes(self.summary, "significant", "significant differences", describe),
            f"These numbers are for {inflect(self.n_systems, 'system')} and their topics"
            f" ({condition}); more power does not make a measure valid.",
        )

    def heading(self) -> list[str]:
        topics_text = " or ".join(map(str, sorted(set(self.n_topics.values()))))
        sampling = f", {self.resamples:,} samples, seed {self.seed}" if self.resamples else ""
        return [
            f"{inflect(len(self.measures), 'measure')}, {inflect(self.n_systems, 'system')},"
            f" {topics_text} topics; test {self.test}, correction {self.correction},"
            f" alpha {self.alpha:g}{sampling}"
        ]

    def format_notes(self) -> list[str]:
        """Return a line for each note, with the measures that it applies to."""
        measures: dict[str, list[str]] = {}
        for name, measure_notes in self.notes.items():
            for note in measure_notes:
                measures.setdefault(note.replace(f" {name} is ", " it is "), []).append(name)
        return [
            f"note: {'' if note.startswith((f'{names[0]}: ', f'{names[0]} is ')) else label}{note}"
            for note, names in measures.items()
            for label in [f"{', '.join(names)}: "]
        ]

    def facts(self) -> dict[str, Any]:
        notes = {name: list(notes) for name, notes in self.notes.items() if notes}
        return {**super().facts(), "n_topics": dict(self.n_topics), "notes": notes}


@add_work_options
def discriminative_power(
    scores_by_measure: Any,
    *,
    test: str = "randomisation",
    correction: str = "randomised-tukey",
    alpha: float = 0.05,
    resamples: Resamples = 5_000,
    seed: Seed = 0,
    missing: str | None = None,
    **work: Unpack[WorkOptions],
) -> DiscriminativePower:
    r"""Compare measures by the number of significantly different pairs of systems.

    .. math:: \mathrm{power}(M) = \frac{|\{(x, y) : p_M(x, y) \le \alpha\}|}{m (m - 1) / 2}

    with m systems. A measure with high power is consistent over topics, but not necessarily valid.

    Source: Sakai (2006a), with the paired bootstrap test; Sakai (2013), section 5.1 and figure 16,
    with the randomised version of Tukey's HSD test.

    Parameters
    ----------
    scores_by_measure
        Mapping of measures to scores, such as an :class:`~cranfield.Evaluation`; or a table of
        scores with a column `measure`, or a file with such a table.
    test, correction, alpha, missing
        As for :func:`cranfield.compare`, for all pairs; the default is the randomised Tukey HSD.
        The original method is `test="bootstrap", correction="none"`.
    resamples
        Number of resamples, for tests and corrections that resample.
    seed
        Seed of the random numbers, which are the same for all measures, so that only scores make a
        difference.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a measure.

    Raises
    ------
    PolicyError
        For an unknown test, correction or option.
    CranfieldError
        For measures with different systems or topics, and scores that the test does not support.

    Notes
    -----
    The smallest significant difference estimates the difference of means that is needed for
    significance with this number of topics. With the randomised Tukey HSD, it is larger than every
    difference that is not significant, as p-values decrease with the difference.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:8], covid.qrels, ["P@5", "nDCG@20"])
    >>> study = discriminative_power(ev, resamples=500)
    >>> study.summary["measure", "pairs", "significant"].rows()
    [('nDCG@20', 28, 8), ('P@5', 28, 4)]
    """
    call = check_arguments(discriminative_power, locals())
    aligned_scores = align_scores(read_measure_scores(scores_by_measure), allows_shards=True)
    info = find_test(test).info
    correction_name = CORRECTIONS.find(correction)
    parameters: dict[str, Any] = {"alpha": alpha, "resamples": resamples, "seed": seed}
    TestOptions(**parameters)
    options = {"test": info.name, "correction": correction_name, **parameters, "missing": missing}
    names = list(aligned_scores)
    scores = {"measures": names, "scores": hash_scores(*aligned_scores.values())}
    table = run_parts(
        _test_pairs,
        (aligned_scores, options),
        {f"measure-{index}": name for index, name in enumerate(names, 1)},
        settings={"study": "discriminative power", **scores, **options},
        **work,
    )
    rows = table.group_by("measure", maintain_order=True).agg(pl.col("topics", "notes").first())
    is_random = info.is_random or CORRECTIONS[correction_name].is_random
    return DiscriminativePower(
        call,
        test=info.name,
        correction=correction_name,
        resamples=resamples if is_random else None,
        seed=seed if is_random else None,
        measures=tuple(names),
        n_systems=len(aligned_scores[names[0]].systems),
        n_topics=dict(rows.select("measure", "topics").iter_rows()),
        pairs=table.drop("topics", "notes"),
        notes={name: tuple(notes) for name, _, notes in rows.iter_rows()},
    )


def _test_pairs(shared: tuple[Mapping[str, Scores], Mapping[str, Any]], name: str) -> pl.DataFrame:
    aligned_scores, options = shared
    try:
        # Use one thread, as measures are distributed over workers.
        comparison = compare(aligned_scores[name], jobs=1, **options)
    except PolicyError:
        raise
    except CranfieldError as error:
        raise CranfieldError(f"{quote(name)}: {error}") from error
    return make_pair_frame(comparison.systems, comparison.first, comparison.second).select(
        pl.lit(name).alias("measure"),
        pl.all(),
        pl.Series("difference", comparison.difference),
        pl.Series("p", comparison.adjusted_pvalues),
        pl.lit(comparison.n_topics, pl.Int64).alias("topics"),
        pl.lit(list(comparison.notes), pl.List(pl.String)).alias("notes"),
    )
