"""The result of a comparison, as text and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import bdtrc, ndtri

from cranfield.base.arrays import Floats
from cranfield.base.errors import ArgumentError, PolicyError, quote
from cranfield.base.scale_types import format_scale_type
from cranfield.base.showing import ProseMixin
from cranfield.base.text import format_prefix, inflect, sanitise
from cranfield.result import Columns, Result
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_label
from cranfield.significance.comparison.compared_pairs import (
    PAIRS,
    RIGHT_SIGNS,
    ComparedPairs,
    PairComparison,
    describe_missing_intervals,
    shorten_letters,
)
from cranfield.significance.comparison.equivalence import Equivalence, equivalence
from cranfield.significance.comparison.rank_sets import name_method
from cranfield.significance.differences import Outcome, Pairs, orient
from cranfield.significance.pairwise.means import apply_exact_permutations
from cranfield.significance.prepare import describe_biased_pairs, describe_clusters
from cranfield.significance.registry import (
    CORRECTIONS,
    DEFAULT_CORRECTION,
    Correction,
    TestInfo,
    TestOptions,
    find_test,
)
from cranfield.significance.resampling import compute_min_flip_pvalue
from cranfield.tabular import Cell, Table, format_pvalue

MIN_BOOTSTRAP_TOPICS = 12  # with fewer topics, a bootstrap has little power or too small p-values
RESCALING = "results may change if scores are rescaled"  # end of the note on the scale of a measure
# End of the note on clear differences by paired t-tests.
SEPARATE_PAIR = "a pair that was chosen before the scores were known can be compared alone"
MORE_RESAMPLES = "; more resamples reduce this margin"  # end of the note on p-values near alpha
TEST_ALL_PAIRS = "compare all pairs instead"  # end of the note on a baseline with the best mean
MIN_RESAMPLED_TOPICS = 10  # with fewer, two systems are also compared by exact sign flips
MAX_ALPHA = 0.5  # a higher significance level is probably meant as a confidence level
MIN_SD_RATIO = 1.5  # smallest reported ratio of an SD of differences to the common estimate

MAX_CLEAR_PVALUE = 0.001  # largest p-value by a paired t-test of a clear difference
MAX_COUNT_PROBABILITY = 0.1  # a number of clear differences that is more probable is not reported


def describe_inputs(scores: Scores, info: TestInfo, options: TestOptions) -> list[str]:
    """Return notes on the scores and the options, and on the scale that the test assumes."""
    name = scores.measure or "the measure"
    notes = [*describe_clusters(scores), *describe_biased_pairs(scores)]
    notes.extend(scores.get_direction_notes())
    if options.threshold:
        notes.append(f"differences of at most {options.threshold:g} count as ties")
    if info.two_systems_note and len(scores.systems) == 2 and options.is_two_sided:
        notes.append(info.two_systems_note)
    if info.pairs_note and len(scores.systems) > 2:
        notes.append(info.pairs_note)
    if scores.scale_source == "user":
        notes.append(f"scale declared by the user: {scores.scale}")
    if scores.scale is not None and scores.scale < info.scale:
        notes.append(
            f"{name} is {format_scale_type(scores.scale)}, but this test assumes"
            f" {format_scale_type(info.scale)}; {RESCALING}"
        )
    return notes


@dataclass(frozen=True, eq=False)
class AppliedTest:
    """A test of pairs and its correction, with their results."""

    systems: Sequence[str]
    pairs: Pairs
    info: TestInfo
    options: TestOptions
    outcome: Outcome
    correction: Correction
    applied_correction: Correction  # replaces `correction` if the common error is 0
    corrected_outcome: Outcome

    def collect_notes(self) -> list[str]:
        """Return notes on violated assumptions, other tests, and the smallest possible p-values."""
        limit_notes = list(self._describe_unreachable_alpha())
        # The note on few topics is omitted if no difference can be significant.
        assumptions = self._describe_assumptions(is_unreachable=bool(limit_notes))
        alpha, notes = self.options.alpha, [*assumptions, *self._describe_sign_flips()]
        if self.applied_correction is not self.correction and len(self.pairs) > 1:
            title = self.correction.title
            notes.insert(0, f"Bonferroni's correction replaces {title}, as the error variance is 0")
        if alpha > MAX_ALPHA:
            notes.append(
                f"alpha is the probability of a false positive, here {alpha:g}; for a confidence"
                f" level of {100 * alpha:g}% it must be {1 - alpha:.4g}"
            )
        notes += [*self._describe_paired_tests(), *self._describe_close_pvalues()]
        return notes + limit_notes

    def _describe_assumptions(self, *, is_unreachable: bool) -> Iterator[str]:
        """Yield notes on assumptions of the test or its correction that are probably violated."""
        pairs, correction = self.pairs, self.correction
        is_studentised = self.info.is_studentised or correction.name == "bootstrap-max-t"
        is_bootstrap = correction.resamples_topics or self.info.resamples_topics
        variances_may_differ = self.info.allows_unequal_variances
        advice = DEFAULT_CORRECTION
        if advice not in self.info.corrections:
            advice += " with the test anova-2"
        if is_bootstrap and pairs.n_topics < MIN_BOOTSTRAP_TOPICS:
            consequence = (
                "only large differences can be significant"
                if is_studentised
                else "p-values of this test, which is not studentised, may be too small"
            )
            if not is_unreachable:
                yield (
                    f"{inflect(pairs.n_topics, 'topic')} are few for resampling topics (about"
                    f" {MIN_BOOTSTRAP_TOPICS} are needed): {consequence}"
                )
        elif correction.assumes_symmetry and len(pairs) > 1:
            yield (
                f"{correction.name} assumes that differences are symmetric around their mean, which"
                f" is rare for nearly equal runs; {advice} does not assume symmetry"
            )
        elif correction.assumes_one_variance and variances_may_differ and pairs.n_systems > 2:
            yield from _describe_variances(pairs, advice)

    def _describe_paired_tests(self) -> Iterator[str]:
        """Yield a note on clear differences by paired t-tests that are not significant here."""
        if not self.correction.pools_errors or self.pairs.n_systems < 3:
            return
        raw_pvalues, n_pairs = compute_paired_t_pvalues(self.pairs), len(self.pairs)
        # A one-sided test does not test differences in the other direction.
        mean, _, _ = self.pairs.compute_moments()
        is_tested = orient(mean, self.options.alternative) > 0
        is_not_significant = is_tested & (self.corrected_outcome.pvalue > self.options.alpha)
        n_missed = int(((raw_pvalues < MAX_CLEAR_PVALUE) & is_not_significant).sum())
        if not n_missed:
            return
        # Report an improbable number, or a pair that is significant after Bonferroni's correction.
        is_clear = raw_pvalues[is_not_significant].min() * n_pairs <= self.options.alpha
        n_expected = n_pairs * MAX_CLEAR_PVALUE
        if is_clear or bdtrc(n_missed - 1, n_pairs, MAX_CLEAR_PVALUE) <= MAX_COUNT_PROBABILITY:
            verb, copula = ("has", "is") if n_missed == 1 else ("have", "are")
            yield (
                f"{n_missed:,} of {inflect(n_pairs, 'pair')} {verb} p < {MAX_CLEAR_PVALUE:g} in an"
                f" unadjusted two-sided paired t-test (about {n_expected:.2g}"
                f" {'is' if n_expected == 1 else 'are'} expected by chance) but {copula}"
                f" not significant here, where all pairs share one error term; {SEPARATE_PAIR}"
            )

    def _describe_close_pvalues(self) -> Iterator[str]:
        """Yield a note if another seed could reverse the decision on a pair."""
        pvalues, is_random = self.corrected_outcome.pvalue, self.applied_correction.is_random
        if is_random or "resamples" in self.outcome.details:
            # A correction that draws no random numbers multiplies the p-values of the test.
            factors = np.ones(len(pvalues)) if is_random else pvalues / self.outcome.pvalue
            yield from describe_close_pvalues(pvalues, factors, self._name_pair, self.options)

    def _name_pair(self, k: int) -> str:
        pairs = self.pairs
        return " and ".join(sanitise(self.systems[side[k]]) for side in (pairs.first, pairs.second))

    def _describe_sign_flips(self) -> Iterator[str]:
        """Yield a note on exact sign flips of one pair on few topics, if their p-value differs."""
        pairs, options = self.pairs, self.options
        is_bootstrap = self.info.resamples_topics and self.info.family == "bootstrap"
        if not is_bootstrap or len(pairs) != 1 or pairs.n_topics >= MIN_RESAMPLED_TOPICS:
            return
        exact_options = replace(options, exact=True)
        pvalue = float(find_test("randomisation").run(pairs, exact_options).pvalue[0])
        if pvalue != self.corrected_outcome.pvalue[0]:
            min_pvalue = compute_min_flip_pvalue(pairs.n_topics, options)
            yield (
                f"exact sign flips (the randomisation test) give p = {pvalue:.4g}; their smallest"
                f" possible p-value with {inflect(pairs.n_topics, 'topic')} is {min_pvalue:.4g}"
            )

    def _describe_unreachable_alpha(self) -> Iterator[str]:
        """Yield a note if no difference could be significant, however large."""
        outcome, correction, options = self.outcome, self.correction, self.options
        raw_pvalues, details = outcome.pvalue, outcome.details
        if self.corrected_outcome.pvalue.min() <= options.alpha:
            return
        smallest_pvalues, n_topics = self.corrected_outcome.smallest_pvalues, int(outcome.n.max())
        if smallest_pvalues is not None and options.alpha < smallest_pvalues.min() < 1:
            yield describe_unreachable_alpha(smallest_pvalues.min(), n_topics, options)
            return
        if "resamples" in details or correction.is_random:
            min_pvalue, limitation = 1 / (options.resamples + 1), f"{options.resamples:,} resamples"
            advice = "use more resamples, or another correction"
        elif details.get("exact") or details.get("exact pairs") or self.info.is_always_exact:
            if n_topics == 0:
                excess = f" by more than {options.threshold:g}" if options.threshold else ""
                yield f"scores differ{excess} on no topic, so there is nothing to test"
                return
            min_pvalue = compute_min_flip_pvalue(n_topics, options)
            limitation = f"an exact test of {inflect(n_topics, 'difference')}"
            advice = "use more topics, or another correction"
        else:
            return
        factor = raw_pvalues.size if correction.multiplies_pvalues else 1
        is_minimal = raw_pvalues.min() <= min_pvalue * 1.5
        if min_pvalue * factor > options.alpha or (is_minimal and correction.controls == "FDR"):
            reason = f"{limitation} cannot give a p-value below {min_pvalue:.2g}, which is"
            if raw_pvalues.size == 1:
                yield f"{reason} above alpha: {advice.partition(',')[0]}"
                return
            yield (
                f"{reason} too large for {raw_pvalues.size:,} pairs with this correction: {advice}"
            )


def describe_close_pvalues(
    pvalues: Floats, factors: Floats, name_pair: Callable[[int], str], options: TestOptions
) -> Iterator[str]:
    """Yield a note if p-values are within their margin of error of alpha.

    Each is a random p-value, multiplied by its factor.
    """
    # A factor times the margin of error of a proportion of alpha / factor.
    variances = options.alpha * (factors - options.alpha) / options.resamples
    margins = ndtri(0.975) * np.sqrt(variances)
    close_pairs = np.flatnonzero(np.abs(pvalues - options.alpha) <= margins)
    if close_pairs.size:
        k, verb = int(close_pairs[0]), "is" if close_pairs.size == 1 else "are"
        yield (
            f"{inflect(close_pairs.size, 'p-value')} {verb} so close to {options.alpha:g} that"
            f" another seed may reverse the decision ({name_pair(k)}: p ="
            f" {format_pvalue(pvalues[k])}; the 95% margin of error of {options.resamples:,}"
            f" random samples is {margins[k]:.4f}){MORE_RESAMPLES}"
        )


def describe_unreachable_alpha(smallest_pvalue: float, n_topics: int, options: TestOptions) -> str:
    """Return a note on a smallest possible p-value above alpha."""
    return (
        f"no difference can be significant at {options.alpha:g} with {inflect(n_topics, 'topic')}:"
        f" the smallest possible p-value is about {smallest_pvalue:.2g}"
    )


def _describe_variances(pairs: Pairs, advice: str) -> Iterator[str]:
    """Yield a note if the variance of some differences is far above the common estimate."""
    centred_scores = pairs.values - pairs.values.mean(axis=0)
    products = centred_scores.T @ centred_scores
    ss = np.diag(products)
    ss_of_differences = ss[:, None] + ss - 2 * products
    common_ss = ss_of_differences[np.triu_indices(pairs.n_systems, 1)].mean()
    largest_ss = ss_of_differences[pairs.first, pairs.second].max()
    if common_ss > 0 and (ratio := np.sqrt(largest_ss / common_ss)) > MIN_SD_RATIO:
        yield (
            f"differences of some pairs have a standard deviation up to {ratio:.1f} times as large"
            " as this test assumes, so that its Type I errors are too frequent; use the correction"
            f" {advice}"
        )


def compute_paired_t_pvalues(pairs: Pairs) -> Floats:
    """Return the p-values of paired t-tests; of exact sign flips if differences are constant."""
    test, options = find_test("t"), TestOptions()
    return apply_exact_permutations(test.run(pairs, options), pairs, test.info, options).pvalue


def find_best_baselines(comparison: PairwiseComparison) -> list[str]:
    """Return the baselines with the best mean of three or more systems, unless all are equal."""
    systems, best = comparison.systems, {comparison.systems[k] for k in comparison.best}
    is_choice = len(systems) > 2 and len(best) < len(systems)
    return [name for name in comparison.baselines if name in best] if is_choice else []


def describe_best_baseline(comparison: PairwiseComparison) -> list[str]:
    """Return a note if systems can be significantly worse than a baseline with the best mean."""
    names = list(map(sanitise, find_best_baselines(comparison)))
    is_worse_tested = comparison.alternative == "two-sided" or comparison.tested_verdict == "worse"
    # Some corrections cover all pairs, so that the choice of the baseline has no effect.
    if not (names and is_worse_tested) or CORRECTIONS[comparison.correction].covers_all_pairs:
        return []
    ending, verb, clause = ("s", "have", "they were") if len(names) > 1 else ("", "has", "it was")
    return [
        f"the baseline{ending} {' and '.join(names)} {verb} the best {comparison.mean_of} of these"
        f" systems; if {clause} chosen for this reason, p-values are too small: {TEST_ALL_PAIRS}"
    ]


CellRows = list[list[str | Cell]]


class PairwiseComparison(ComparedPairs, Result, ProseMixin):
    """Comparisons of pairs of systems: differences, confidence intervals and p-values.

    Attributes
    ----------
    test, correction
        Names of the test and of the correction for multiple comparisons.
    alternative, alpha
        Options of the test: the alternative hypothesis, and the significance level.
    measure
        Name of the measure; empty where it is not known.
    systems
        Names of the systems, in the order of `means`.
    means
        Mean or other statistic of each system, or mean rank of tests on ranks. Rank 1 is the best.
    mean_of
        Name of the values in `means`: `mean`, `sum`, `geometric mean`, `median`, or `mean rank`.
    statistic_of_topics
        The compared statistic of topic scores: `mean`, `sum`, `geometric-mean` or `median`.
    n_topics
        Number of topics.
    first, second
        Indices of the systems of each pair.
    difference
        Difference of `means` by pair, first minus second; for geometric means the log ratio.
    statistic, effect
        Test statistic and effect size, as the test defines them, by pair.
    raw_pvalues, adjusted_pvalues
        P-values before and after the correction, by pair.
    n, zeros, ties
        By pair: number of observations, of topics with equal scores, and of differences or scores
        with tied ranks.
    interval_of, interval_kind
        Quantity of the confidence intervals, and the comparisons for which they hold jointly.
    scores
        The compared scores, after the policy for missing scores.
    half_widths
        Half-width of an interval around each mean, or around its logarithm for geometric means.
        Systems whose intervals do not overlap differ significantly. None if the correction has no
        half-widths (`bootstrap-tukey` has them only for two-sided tests of all pairs), or if
        systems have different numbers of scores.
    anova, omnibus
        ANOVA table, and omnibus test of all systems by ranks; None for other tests.
    baselines
        Systems with which all others were compared; empty if all pairs were compared.
    scale, measure_scale
        The scale that the test assumes, and the scale of the scores, None if it is unknown.
    seed, resamples
        Seed and number of resamples if the test or the correction draws random numbers, else None.
    options
        Options of the comparison, including options that the test does not use.
    details, notes
        Further results by name, and notes for the user.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}
    >>> print(cf.compare(scores, test="t"))
    Paired t-test; alpha 0.05
    2 systems, 4 topics, 1 pair: 1 significant
    low, high: 95% confidence interval of the mean difference, each pair, unadjusted
    effect: Cohen's d of the differences: their mean divided by their standard deviation
    note: for two systems the paired t-test equals two-way ANOVA with Tukey's HSD
    <BLANKLINE>
    first  second  difference      low     high        t       p   effect
    bm25   dense      -0.1500  -0.2419  -0.0581  -5.1962  0.0138  -2.5981  *
    <BLANKLINE>
    * p is at most 0.05
    """

    name: ClassVar[str] = "pairs"
    columns: ClassVar[Columns] = PAIRS

    @property
    def title(self) -> str:
        """Names of the test and the correction."""
        correction = CORRECTIONS[self.correction]
        if self.correction != "none":
            return name_method(self.info, correction, has_baseline=bool(self.baselines))
        return self.info.title if len(self) == 1 else f"{self.info.title}, {correction.title}"

    @property
    def method(self) -> str:
        """Names of the test and the correction, and the alternative of a one-sided test."""
        side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
        return self.title + side

    @property
    def places(self) -> int:
        """Number of decimals of means: four, or more if all means are small, as for P@1000."""
        return choose_decimals(self.means)

    @property
    def shows_pairs(self) -> bool:
        """Whether the pairs are shown, rather than the ranking of all systems."""
        is_one_sided = self.alternative != "two-sided"
        return bool(self.baselines) or len(self.systems) == 2 or is_one_sided

    def __getitem__(self, names: tuple[str, str]) -> PairComparison:
        """Return the comparison of two systems, in either order.

        Raises
        ------
        PolicyError
            For arguments that are not two known systems, and for pairs that were not compared.

        Examples
        --------
        >>> import cranfield as cf
        >>> scores = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}
        >>> pair = cf.compare(scores, test="t")["dense", "bm25"]
        >>> pair
        PairComparison('dense' minus 'bm25': 0.15, from 0.05813 to 0.2419, p = 0.0138)
        >>> pair.is_significant, round(pair.effect, 4)
        (True, 2.5981)
        """
        pair: Any = names
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentError(
                f"a pair must be two systems, as in comparison['bm25', 'dense'], got {pair!r:.60}"
            )
        indices = [find_label(name, self.systems) for name in names]
        is_pair = np.isin(self.first, indices) & np.isin(self.second, indices)
        if not is_pair.any():
            scope = f", only pairs with {', '.join(self.baselines)}" if self.baselines else ""
            raise PolicyError(f"{quote(names[0])} and {quote(names[1])} were not compared{scope}")
        k = int(is_pair.argmax())
        sign = 1 if self.first[k] == indices[0] else -1
        low, high = sorted(sign * float(bounds[k]) for bounds in self.interval)
        return PairComparison(
            *names,
            difference=sign * float(self.difference[k]),
            interval=(low, high),
            pvalue=float(self.adjusted_pvalues[k]),
            effect=sign * float(self.effect[k]),
            is_significant=bool(self.is_significant()[k]),
            _between=self.between_names,
        )

    __iter__: ClassVar[None] = None
    """A comparison is not iterable: two names select a pair; `to_polars` has a row for each."""

    def equivalence(self, margin: float | str) -> Equivalence:
        """Test equivalence and non-inferiority of all pairs within a margin.

        Parameters
        ----------
        margin
            Margin below which differences are negligible, above 0: in the unit of `interval_of`; or
            a percentage of the mean of the second system of each pair, which is the baseline if
            there is one, such as `"2%"`. Choose it before you see the scores.

        Returns
        -------
        Equivalence
            A verdict for each pair, p-values, and the largest difference that cannot be ruled out.
            Verdicts on several pairs are simultaneous, unless the correction is `none`.

        Raises
        ------
        PolicyError
            For an invalid margin: ranks take no percentage, and geometric means only a percentage.
        """
        return equivalence(self, margin)

    def _frame(self) -> pl.DataFrame:
        return self.tabulate_pairs()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(self.heading()[:2])})"

    def heading(self) -> list[str]:
        line = (
            f"{inflect(len(self.systems), 'system')}, {inflect(self.n_topics, 'topic')},"
            f" {inflect(len(self), 'pair')}: {self.count():,} significant"
        )
        if self.baselines:
            line += f"; compared with {', '.join(sanitise(name) for name in self.baselines)}"
        lines = [f"{format_prefix(self.measure)}{self.method}; alpha {self.alpha:g}", line]
        if self.shows_pairs:
            lines.append(
                f"low, high: {100 * (1 - self.alpha):.4g}% confidence interval of the"
                f" {self.interval_of}, {self.interval_kind}"
            )
            if self.info.effect:
                lines.append(f"{self.info.effect_name}: {self.info.effect}")
            lines += describe_missing_intervals(self.n_without_interval)
        if self.resamples is not None:
            lines.append(f"{self.resamples:,} random samples, seed {self.seed}")
        if (omnibus := self.omnibus) is not None:
            lines.append(
                f"omnibus test: {omnibus.name} = {omnibus.statistic:.4f}, {omnibus.df:.0f} degrees"
                f" of freedom, p = {format_pvalue(omnibus.pvalue)}, {omnibus.effect_name}"
                f" {omnibus.effect:.4f}"
            )
        if self.half_widths is not None and len(np.unique(self.half_widths)) == 1:
            log_text = " of the log" if self.mean_of == "geometric mean" else ""
            width = f"half-width{log_text} {self.half_widths[0]:.{self.places}f}"
            lines.append(
                f"intervals: {width}; systems with disjoint intervals differ significantly"
            )
        return lines

    def tables(self, *, places: int | None = None) -> list[Table]:
        """Return the printed table: the ranking with groups, or the pairs if `shows_pairs`.

        Parameters
        ----------
        places
            Decimals; by default four, or more where all means are small.
        """
        places = self.places if places is None else places
        if self.shows_pairs:
            return [self._pair_table(places)]
        frame = self.ranking()
        names, best = frame.columns, {self.systems[k] for k in self.best}
        rows: CellRows = []
        for name, mean, *entries in frame.rows():
            cells = [
                shorten_letters(cell) if isinstance(cell, str) else f"{cell:.{places}f}"
                for cell in entries
            ]
            # Means equal to the best mean are bold.
            rows.append([name, Cell(f"{mean:.{places}f}", bold=name in best), *cells])
        legends = {
            "ranks": f"ranks: {100 * (1 - self.alpha):.4g}% simultaneous confidence sets"
            + f", assuming that {RIGHT_SIGNS}" * self.assumes_right_signs,
            "groups": "systems that share a letter do not differ significantly",
        }
        label_columns = [k for k, name in enumerate(names) if name in ("system", *legends)]
        legend = [text for name, text in legends.items() if name in names]
        return [Table("", names, rows, label_columns, legend)]

    def _pair_table(self, places: int) -> Table:
        symbol = CORRECTIONS[self.correction].symbol or self.info.symbol
        # In LaTeX, symbols of one or two letters are formulas; longer ones are words.
        formula = Cell(symbol, latex=f"${symbol.replace('W+', 'W^+')}$")
        statistic = formula if len(symbol) in {1, 2} else symbol or "statistic"
        p = Cell("p", latex="$p$", html="<i>p</i>")
        difference = "log ratio" if self.mean_of == "geometric mean" else "difference"
        effect = self.info.effect_name
        head = ["first", "second", difference, "low", "high", statistic, p, effect, ""]
        is_significant = self.is_significant()
        estimates = self.difference, *self.interval
        rows: CellRows = [
            [
                self.systems[self.first[k]],
                self.systems[self.second[k]],
                *("-" if np.isnan(x[k]) else f"{x[k]:.{places}f}" for x in estimates),
                f"{self.statistic[k]:.{4 if symbol else places}f}",
                format_pvalue(self.adjusted_pvalues[k]),
                f"{self.effect[k]:.4f}",
                "*" if is_significant[k] else "",
            ]
            for k in range(len(self))
        ]
        legend = [f"* p is at most {self.alpha:g}"] if is_significant.any() else []
        return Table("", head, rows, (0, 1, 8), legend)


def choose_decimals(means: Floats) -> int:
    """Return 4, or the decimals that show four digits of the largest mean if it is at most 0.05."""
    max_mean = float(np.nanmax(np.abs(means), initial=0.0))
    return 4 if max_mean == 0 or max_mean > 0.05 else min(12, 3 - int(np.floor(np.log10(max_mean))))
