"""Each sentence of a paragraph is read back, and its numbers are held against the scores.

Means, differences, counts and effects are computed anew from the scores; limits and p-values of
tests by random numbers are those of the comparison. Numbers are rounded here by decimals, not by
the code under test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.measures import REGISTRY
from cranfield.measures.families import MODULES
from cranfield.reporting.prose import (
    JUDGING_POLICIES,
    Citation,
    start_sentence,
    write_paragraph,
    write_paragraphs,
)
from cranfield.significance import CORRECTIONS, compare_measures
from docs.measure_properties.properties import representative

N = r"-?\d[\d,]*(?:\.\d+)?"
P = rf"p (?:=|<|>) \d\.\d+(?:, effect size {N})?"
OF_RANKS = "difference of mean ranks"
WORD = rf"(?:none|{N})"
STARTS = ["None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]
START = rf"(?:{'|'.join(STARTS)}|In all, {N})"


@pytest.fixture(scope="module")
def evaluation() -> Any:
    covid = cf.bundled.trec_covid()
    return cf.evaluate(covid.runs[:6], covid.qrels, ["AP", "nDCG@10"])


def sentences(text: str) -> list[str]:
    """Take a paragraph apart at full stops before a capital, a number or a name."""
    return re.split(r"(?<=[.])(?<!al\.)\s(?=[A-Z0-9a-z])", text)


def is_rounded(shown: str, value: float) -> bool:
    """Whether a number shows a value, at the decimals that it has; ties may go either way."""
    text = shown.replace(",", "")
    places = Decimal(1).scaleb(-len(text.partition(".")[2]))
    exact = Decimal(repr(float(value)))
    near = abs(exact - Decimal(text)) <= places / 2 + Decimal("1e-12")
    return near and (
        Decimal(text) == exact.quantize(places, ROUND_HALF_EVEN)
        or abs(abs(exact - Decimal(text)) - places / 2) < Decimal("1e-9")
    )


def holds(told: str, p: float) -> bool:
    """Whether what is told of a p-value is so."""
    _, sign, shown = told.partition(",")[0].split()
    return {
        "=": lambda: is_rounded(shown, p),
        "<": lambda: p < float(shown),
        ">": lambda: p > float(shown),
    }[sign]()


def number(word: str) -> int:
    if word in STARTS:
        return STARTS.index(word)
    number = 0 if word == "none" else int(word.removeprefix("In all, ").replace(",", ""))
    assert number > 9 or not word.startswith("In")
    return number


Method = Callable[[Any, re.Match[str]], None]


class Reader:
    """Reads the sentences of one comparison; what it cannot read, fails."""

    def __init__(self, comparison: Any, margin: float | None = None) -> None:
        self.one, self.margin = comparison, margin
        values = comparison.scores.values
        ranked = comparison.mean_of == "mean rank"
        # Rank 1 is the best.
        of = stats.rankdata(-values, axis=1) if ranked else values
        self.means = dict(zip(comparison.systems, of.mean(axis=0), strict=True))
        self.pairs = {
            (comparison.systems[a], comparison.systems[b]): k
            for k, (a, b) in enumerate(zip(comparison.first, comparison.second, strict=True))
        }
        self.star = comparison.adjusted_pvalues <= comparison.alpha
        self.read: set[str] = set()

    def effects(self) -> Any:
        return self.one.effect

    def pair(self, a: str, b: str, found: re.Match[str]) -> None:
        """Check a difference, its limits, its p-value and its effect, in either direction."""
        k = self.pairs[a, b] if (a, b) in self.pairs else self.pairs[b, a]
        low, high = (ends[k] for ends in self.one.interval)
        effect = float(self.effects()[k])
        if (a, b) not in self.pairs:
            low, high, effect = -high, -low, -effect
        difference, shown_low, shown_high = found.group("d", "low", "high")
        p = found["p"] or found["p_after"] or found["p_alone"]
        shown_effect = p.partition(", effect size ")[2]
        assert (shown_effect == "") == (len(self.pairs) == 1)
        assert shown_effect == "" or is_rounded(shown_effect, effect)
        if found["p_alone"]:
            assert np.isnan([low, high]).all()
            assert is_rounded(difference, self.means[a] - self.means[b])
            assert holds(p, self.one.adjusted_pvalues[k])
            return
        assert is_rounded(difference, self.means[a] - self.means[b])
        assert is_rounded(shown_low, low) and is_rounded(shown_high, high)
        assert holds(p, self.one.adjusted_pvalues[k])
        # Two digits of half the width, and more only where a limit would be shown as 0.
        places = len(difference.partition(".")[2])
        least = min(abs(low), abs(high), abs(self.means[a] - self.means[b]))
        assert (high - low) / 2 * 10**places >= 9.5
        assert (high - low) / 2 * 10**places < 100 or least * 10 ** (places - 1) <= 0.5
        assert float(shown_low) != 0 or abs(low) < 1e-9
        # What stands before the interval is what it is of, or else it is said what that is.
        own = self.one.interval_of in ("mean difference", "difference of means", OF_RANKS)
        assert own == (found["of"] is None)

    def check(self, sentence: str) -> None:
        for name in dir(self):
            if not name.startswith("see_"):
                continue
            method = getattr(self, name)
            found = re.fullmatch(method.__doc__, sentence)
            if found is not None:
                method(found)
                self.read.add(name)
                return
        raise AssertionError(f"not understood: {sentence}")

    DIFFERENCE = (
        rf"(?P<d>{N}) \((?:(?P<p_alone>{P})|(?:(?P<p>{P}), )?95% confidence interval"
        rf"(?P<of> of the [a-z 0-]+?)? (?P<low>{N}) to (?P<high>{N})(?:, (?P<p_after>{P}))?)\)"
    )


def matches(pattern: str) -> Callable[[Method], Method]:
    def put(method: Method) -> Method:
        method.__doc__ = pattern
        return method

    return put


CITED = r"(?: \([^()]*(?:\d{4}[a-z]?|trec_eval|ir_measures)[^()]*\))?"


class Comparison(Reader):
    @matches(rf"(\S+) was compared with (\S+) by (\S+){CITED} on ({N}) topics\.")
    def see_two(self, found: re.Match[str]) -> None:
        assert found.group(1, 2) == self.one.systems
        assert found[3] == self.one.measure
        assert number(found[4]) == len(self.one.scores.topics)

    @matches(
        rf"({START}) systems were compared with (?:each other|the baseline (\S+)) by (\S+){CITED}"
        rf" on ({N}) topics \(({N}) pairs\)\."
    )
    def see_many(self, found: re.Match[str]) -> None:
        systems = len(self.one.systems)
        assert number(found[1]) == systems - (found[2] is not None)
        assert number(found[4]) == self.one.scores.values.shape[0]
        pairs = systems - 1 if found[2] else systems * (systems - 1) // 2
        assert number(found[5]) == pairs == len(self.one)

    @matches(r"In the evaluation, .*\.")
    def see_policies(self, found: re.Match[str]) -> None:
        names = {text: name for name, texts in JUDGING_POLICIES.items() for text in texts.values()}
        for told in found[0].removeprefix("In the evaluation, ")[:-1].split("; "):
            name = names[told]
            assert JUDGING_POLICIES[name][self.one.scores.settings[name]] == told

    @matches(
        rf"Rankings end at rank ({N}), which limits AP on topics with more relevant documents\."
    )
    def see_depth(self, found: re.Match[str]) -> None:
        assert self.one.measure == "AP"
        assert number(found[1]) == self.one.scores.settings["ranking depth"]

    @matches(
        rf"The test was the (.+?){CITED}, two-sided, at a significance level of ({N})"
        rf"(?:, with (.+?){CITED}, which bounds the probability of any false positive among"
        rf" ({N}) comparisons by ({N}))?\."
    )
    def see_test(self, found: re.Match[str]) -> None:
        assert found[1].lower() == self.one.info.title.lower()
        assert float(found[2]) == self.one.alpha
        assert (found[3] is None) == (self.one.correction == "none")
        if found[3] is not None:
            assert found[3] in self.one.title
            assert (number(found[4]), float(found[5])) == (len(self.one), self.one.alpha)

    @matches(
        rf"The test was (.+? bootstrapped over topics){CITED}, two-sided, which bounds the"
        rf" probability of any false positive among ({N}) comparisons by ({N}); the"
        rf" critical value was estimated from ({N}) resamples of topics with seed (\d+)\."
    )
    def see_default(self, found: re.Match[str]) -> None:
        assert found[1] == self.one.title
        assert (number(found[2]), float(found[3])) == (len(self.one), self.one.alpha)
        assert (number(found[4]), int(found[5])) == (self.one.resamples, self.one.seed)
        for work in ("Tukey 1949a", "Westfall and Young 1993", "Romano and Wolf 2005"):
            assert work in found[0]
        self.read.add("see_test")

    @matches(rf"It drew ({N}) random samples with seed (\d+)\.")
    def see_samples(self, found: re.Match[str]) -> None:
        assert (number(found[1]), int(found[2])) == (self.one.resamples, self.one.seed)

    @matches(
        rf"Over all systems, chi-squared was ({N}) with (\d+) degrees of freedom \(({P}),"
        rf" Kendall's W ({N})\)\."
    )
    def see_omnibus(self, found: re.Match[str]) -> None:
        statistic, p = stats.friedmanchisquare(*self.one.scores.values.T)
        topics, systems = self.one.scores.values.shape
        assert is_rounded(found[1], statistic) and holds(found[3], p)
        assert int(found[2]) == systems - 1
        assert is_rounded(found[4], statistic / (topics * (systems - 1)))

    @matches(rf"The mean of (\S+) was ({N}), that of (\S+) ({N})\.")
    def see_means(self, found: re.Match[str]) -> None:
        assert is_rounded(found[2], self.means[found[1]])
        assert is_rounded(found[4], self.means[found[3]])

    @matches(rf"The difference of means, {Reader.DIFFERENCE}, is (not )?significant\.")
    def see_difference(self, found: re.Match[str]) -> None:
        self.pair(self.one.systems[0], self.one.systems[1], found)
        assert (found[5] is None) == bool(self.star[0])

    @matches(rf"Of ({N}) pairs, ({WORD}) differs? significantly\.")
    def see_count(self, found: re.Match[str]) -> None:
        assert (number(found[1]), number(found[2])) == (len(self.one), int(self.star.sum()))

    @matches(r"Intervals are for the (.+), and hold for (.+)\.")
    def see_intervals(self, found: re.Match[str]) -> None:
        assert found.group(1, 2) == (self.one.interval_of, self.one.interval_kind)

    @matches(
        rf"({START}) systems? (?:is|are) significantly (better|worse) than (\S+), by (these"
        r" differences|this difference): (.*)\."
    )
    def see_found(self, found: re.Match[str]) -> None:
        sign = 1 if found[2] == "better" else -1
        good = {
            a
            for (a, b), k in self.pairs.items()
            if b == found[3] and self.star[k] and sign * (self.means[a] - self.means[b]) > 0
        }
        told = found[5].split("; ")
        assert number(found[1]) == len(good) == len(told)
        assert (found[4] == "this difference") == (len(good) == 1)
        for one in told:
            part = re.fullmatch(rf"(\S+) \((mean|mean rank) ({N})\) {Reader.DIFFERENCE}", one)
            assert part is not None and part[1] in good, one
            assert part[2] == self.one.mean_of and is_rounded(part[3], self.means[part[1]])
            self.pair(part[1], found[3], part)

    @matches(rf"The (mean|mean rank) of the baseline (\S+) was ({N})\.")
    def see_mean_of_the_baseline(self, found: re.Match[str]) -> None:
        assert found[1] == self.one.mean_of and is_rounded(found[3], self.means[found[2]])

    @matches(r"No system is significantly (better|worse) than (\S+)\.")
    def see_none(self, found: re.Match[str]) -> None:
        sign = 1 if found[1] == "better" else -1
        for (a, b), k in self.pairs.items():
            assert not (self.star[k] and sign * (self.means[a] - self.means[b]) > 0)

    @matches(
        rf"(\S+) has the (?:highest (mean)|lowest (mean rank)), ({N}); it differs"
        rf" significantly from (?:({WORD}) of the ({N}) other systems \(([^()]+)\)"
        r"|(both|all \d+) other systems)"
        rf"(?:, and not from (.+))?\."
    )
    def see_best(self, found: re.Match[str]) -> None:
        who, mean, rank, value, some, others, named, every, left = found.groups()
        best = (min if rank else max)(self.means, key=lambda name: float(self.means[name]))
        assert (who, mean or rank) == (best, self.one.mean_of)
        assert is_rounded(value, self.means[best])
        differs = {
            b if a == best else a
            for (a, b), k in self.pairs.items()
            if self.star[k] and best in (a, b)
        }
        n_others = len(self.means) - 1
        if every is None:
            assert (number(some), number(others)) == (len(differs), n_others)
            assert len(differs) < n_others
            assert {*re.split(", | and ", named)} == differs
        else:
            whole = "both" if n_others == 2 else f"all {n_others}"
            assert (every, len(differs)) == (whole, n_others)
        same = {*self.means} - differs - {best}
        assert {*re.split(", | and ", left or "")} - {""} == same

    @matches(
        r"Compared with the second, (\S+), the difference of [a-z ]+ \((\S+) minus (\S+)\) is"
        rf" {Reader.DIFFERENCE}\."
    )
    def see_second(self, found: re.Match[str]) -> None:
        falling = self.one.mean_of != "mean rank"
        assert found[1] == sorted(self.means, key=self.means.__getitem__, reverse=falling)[1]
        self.pair(found[2], found[3], found)
        # The best system minus the second.
        assert found[3] == found[1]

    @matches(r"Of the other systems, (\S+) is significantly better than (.+)\.")
    def see_others(self, found: re.Match[str]) -> None:
        falling = self.one.mean_of != "mean rank"
        best, *_ = sorted(self.means, key=self.means.__getitem__, reverse=falling)
        expected = {
            (a, b) if (self.means[a] > self.means[b]) == falling else (b, a)
            for (a, b), k in self.pairs.items()
            if self.star[k] and best not in (a, b)
        }
        told = set()
        for clause in f"{found[1]} than {found[2]}".split("; "):
            better, _, worse = clause.partition(" than ")
            told |= {(better, one) for one in re.split(", | and ", worse)}
        assert told == expected

    def effects(self) -> Any:
        kind = self.one.info.effect
        values = self.one.scores.values
        if kind.startswith("Cohen's d of the differences"):
            apart = values[:, self.one.first] - values[:, self.one.second]
            return apart.mean(axis=0) / apart.std(axis=0, ddof=1)
        if kind.startswith("mean difference divided by the standard deviation of the error"):
            left = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
            topics, systems = values.shape
            error = np.sqrt((left**2).sum() / ((topics - 1) * (systems - 1)))
            return (
                values.mean(axis=0)[self.one.first] - values.mean(axis=0)[self.one.second]
            ) / error
        return self.one.effect

    @matches(rf"The effect size \((.+)\) is ({N})\.")
    def see_effect(self, found: re.Match[str]) -> None:
        assert is_rounded(found[2], float(self.effects()[0]))

    @matches(
        rf"Effect sizes \((.+)\) are from ({N}) to ({N}) in absolute value, with a median of"
        rf" ({N})\."
    )
    def see_effects(self, found: re.Match[str]) -> None:
        size = np.abs(self.effects())
        for shown, value in zip(
            found.group(2, 3, 4), (size.min(), size.max(), np.median(size)), strict=True
        ):
            assert is_rounded(shown, float(value))

    @matches(
        rf"Within a margin of ({N}), by 95% confidence intervals of the .+, ({WORD}) of ({N})"
        rf" pairs (?:is|are) equivalent; the first system is shown to be non-inferior to the"
        rf" second in ({WORD})\."
    )
    def see_equivalence(self, found: re.Match[str]) -> None:
        low, high = self.one.interval
        assert self.margin is not None and float(found[1]) == self.margin
        inside = (low > -self.margin) & (high < self.margin)
        assert number(found[2]) == int(inside.sum())
        assert number(found[4]) == int((low > -self.margin).sum())

    @matches(
        rf"Within a margin of ({N}), by 90% confidence intervals of the .+, each pair, unadjusted"
        rf" \(({N}) to ({N})\), the two systems are (not shown to be )?equivalent, and \S+ is"
        r" (not shown to be )?non-inferior\."
    )
    def see_equivalence_of_two(self, found: re.Match[str]) -> None:
        assert self.margin is not None and float(found[1]) == self.margin
        low, high = (float(ends[0]) for ends in self.one.compute_interval(2 * self.one.alpha))
        assert is_rounded(found[2], low) and is_rounded(found[3], high)
        assert (found[4] is None) == (-self.margin < low and high < self.margin)
        assert (found[5] is None) == (-self.margin < low)

    @matches(r"We assume that (?:topics|errors|the scores) [^0-9]+\.")
    def see_assumptions(self, found: re.Match[str]) -> None:
        """A sentence without numbers."""

    @matches(r"The correction assumes that (.+)\.")
    def see_assumption_of_correction(self, found: re.Match[str]) -> None:
        assert found[1] == CORRECTIONS[self.one.correction].assumes

    @matches(r"Tests of the residuals reject: (.+)\.")
    def see_residuals(self, found: re.Match[str]) -> None:
        values = self.one.scores.values
        left = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
        if "normal errors" in found[1]:
            assert stats.shapiro(left.ravel()).pvalue <= 0.05

    @matches(
        r"The test requires an? (\w+) scale, (?:and scores by|but the scale of) (\S+) (?:are on an?"
        r"|is declared to be) (\w+)(?: scale)?[,:] (.*)\."
    )
    def see_scale(self, found: re.Match[str]) -> None:
        needs, has = str(self.one.info.scale), str(self.one.scores.scale)
        assert found.group(1, 2, 3) == (needs, self.one.measure, has)
        enough = self.one.info.scale <= self.one.scores.scale
        assert ("stay the same" in found[0]) == enough == (", and " in found[0])
        # Neither more nor less than the transformations that the scale of the test allows.
        allowed = "a x + b with a > 0" if needs == "interval" else "increasing transformation"
        assert (allowed in found[4]) == enough

    @matches(
        rf"(?:(?:({START}) of|All) ({N}) significantly different pairs keeps?|The significantly"
        r" different pair (does not keep|keeps)) (?:their|its) order of means under every"
        r" increasing transformation of the scores \(stochastic dominance\)(?:: (.+))?\."
    )
    def see_order(self, found: re.Match[str]) -> None:
        said = number(found[2]) if found[2] else 1
        kept = said * (found[3] != "does not keep") if found[1] is None else number(found[1])
        assert found[1] is None or kept < said
        assert said == int(self.star.sum())
        # A system is above for all transformations just when it is by its sorted scores.
        ordered = np.sort(self.one.scores.values, axis=0)
        apart = ordered[:, self.one.first] - ordered[:, self.one.second]
        above = (apart >= -1e-12).all(axis=0) | (apart <= 1e-12).all(axis=0)
        assert kept == int((above & self.star).sum())
        assert (found[4] is not None) == (0 < kept <= 5 and kept < said)
        if found[4] is not None:
            names = {name for (a, b), k in self.pairs.items() for name in (a, b) if above[k]}
            assert {*re.split(", | and |; ", found[4])} <= names

    @matches(
        rf"Of these ({N}) pairs, ({N}) (?:is|are) still significantly different if scores are"
        rf" raised to the power 0\.1, ({N}) with the power 0\.5, ({N}) with the power 2, ({N})"
        rf" with the power 10, and ({N}) with all four powers\."
    )
    def see_sensitivity(self, found: re.Match[str]) -> None:
        same = np.array([self.repeat(power) for power in (0.1, 0.5, 2, 10)])
        assert number(found[1]) == int(self.star.sum())
        assert [number(word) for word in found.groups()[1:5]] == same.sum(axis=1).tolist()
        assert number(found[6]) == int(same.all(axis=0).sum())
        assert len({*found.groups()[1:]}) > 1

    @matches(
        rf"Of these ({N}) pairs, (none is|all are|{N} (?:is|are)) still significantly different if"
        r" scores are raised to the power 0\.1, 0\.5, 2 or 10\."
    )
    def see_sensitivity_of_all(self, found: re.Match[str]) -> None:
        same = np.array([self.repeat(power) for power in (0.1, 0.5, 2, 10)])
        word = found[2].split()[0]
        count = number(found[1]) if word == "all" else number(word)
        assert number(found[1]) == int(self.star.sum())
        assert {*same.sum(axis=1).tolist(), int(same.all(axis=0).sum())} == {count}

    @matches(
        rf"This pair is (still|not) significantly different if scores are raised to the power"
        rf" ((?:{N}(?:, )?)+?)(?:, but not to ((?:{N}(?:, )?)+))?\."
    )
    def see_sensitivity_of_one(self, found: re.Match[str]) -> None:
        for power in (0.1, 0.5, 2, 10):
            still = f"{power:g}" in found[2].split(", ") and found[1] == "still"
            assert still == bool(self.repeat(power).any())

    def repeat(self, power: float) -> Any:
        """Which significant pairs stay so with powers of the scores."""
        scores = replace(self.one.scores, values=self.one.scores.values**power)
        again = cf.compare(
            scores,
            test=self.one.test,
            correction=self.one.correction,
            baseline=self.one.baselines or None,
            **self.one.options,
        )
        same_side = np.sign(again.difference) == np.sign(self.one.difference)
        return self.star & (again.adjusted_pvalues <= self.one.alpha) & same_side

    @matches(r"Decisions with transformed scores were not computed, as .*\.")
    def see_no_sensitivity(self, found: re.Match[str]) -> None:
        """A sentence without numbers."""

    @matches(r"The decision on a pair depends on the other systems, and the error rate is .*\.")
    def see_note(self, found: re.Match[str]) -> None:
        assert found[0][1:-1] in self.one.notes[0]

    @matches(r"Computed with cranfield (.+)\.")
    def see_version(self, found: re.Match[str]) -> None:
        assert found[1] == cf.__version__


CASES: dict[str, tuple[dict[str, Any], int, float | None, set[str]]] = {
    "two systems, bootstrap, with a margin": ({}, 2, 0.03, {"see_equivalence_of_two"}),
    "all pairs, ANOVA, with a margin": ({}, 6, 0.02, {"see_best", "see_equivalence"}),
    "a baseline, t-test with Holm": (
        {"test": "t", "baseline": 2, "correction": "holm"},
        6,
        None,
        {"see_found", "see_none"},
    ),
    "a baseline, t-test with Hommel": (
        {"test": "t", "correction": "hommel", "baseline": 2},
        6,
        None,
        {"see_assumption_of_correction"},
    ),
    "two systems, Wilcoxon": ({"test": "wilcoxon"}, 2, None, {"see_difference"}),
    "a baseline, Wilcoxon": ({"test": "wilcoxon", "baseline": 2}, 6, None, {"see_found"}),
    "all pairs, Friedman": ({"test": "friedman"}, 6, None, {"see_omnibus", "see_note"}),
    "all pairs, t-test": ({"test": "t"}, 9, None, {"see_others", "see_sensitivity", "see_order"}),
    "three systems, a baseline": (
        {"test": "t", "baseline": 2},
        3,
        None,
        {"see_mean_of_the_baseline"},
    ),
    "all pairs, ANOVA with Tukey": (
        {"test": "anova-2", "correction": "tukey"},
        6,
        None,
        {"see_residuals"},
    ),
    "all pairs, randomisation": ({"test": "randomisation"}, 6, None, {"see_samples"}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("measure", ["AP", "nDCG@10"])
def test_sentence_by_sentence(evaluation: Any, case: str, measure: str) -> None:
    how, systems, margin, needed = CASES[case]
    scores = evaluation[measure]
    scores = scores.select(systems=list(scores.systems[-systems:]))
    if "baseline" in how:
        how = {**how, "baseline": scores.systems[how["baseline"]]}
    comparison = cf.compare(scores, **how)
    reader = Comparison(comparison, margin)
    for sentence in sentences(comparison.prose(margin=margin)):
        reader.check(sentence)
    assert not any("sensitiv" in name for name in reader.read)
    # The sensitivity to powers of the scores is among the lines on the scale only.
    for line in cf.meaningfulness(comparison).describe_lines():
        if line.startswith("sensitivity: "):
            reader.check(start_sentence(line.removeprefix("sensitivity: ")) + ".")
    expected = {"see_test", "see_assumptions", "see_scale", "see_version", "see_policies"}
    if measure == "AP" or "baseline" not in how:
        assert needed | expected <= reader.read


def test_several_measures_together(evaluation: Any) -> None:
    joint = compare_measures(evaluation)
    told = joint.prose()
    assert (
        "Scores by AP and nDCG@10 are on an ordinal scale, but this test assumes an interval scale;"
        " results may change if scores are rescaled (Ferrante, Ferro and Fuhr 2021)." in told
    )
    assert "In the evaluation, documents with equal scores are in descending order" in told
    star = joint.pvalues <= joint.alpha
    some, every = int(star.any(axis=1).sum()), int(star.all(axis=1).sum())
    assert f"Of 15 pairs, {some} differ significantly by some measure, {every} in the same" in told
    for m, measure in enumerate(joint.measures):
        found = re.search(
            rf"By {measure}, ({N}) pairs? differs? significantly; the largest difference is (\S+)"
            rf" minus (\S+): ({N}) \(95%"
            rf" simultaneous confidence interval ({N}) to ({N}), ({P})\)\.",
            told,
        )
        assert found is not None
        assert number(found[1]) == int(star[:, m].sum())
        values = evaluation[measure].values
        means = dict(zip(evaluation.systems, values.mean(axis=0), strict=True))
        assert is_rounded(found[4], means[found[2]] - means[found[3]])
        k = [
            (joint.systems[a], joint.systems[b])
            for a, b in zip(joint.first, joint.second, strict=True)
        ].index((found[2], found[3]))
        assert is_rounded(found[5], joint.interval[0][k, m])
        assert is_rounded(found[6], joint.interval[1][k, m])
        assert holds(found[7], joint.pvalues[k, m])
    with pytest.raises(PolicyError, match="one measure"):
        joint.prose(margin=0.1)


def test_several_measures_with_a_baseline_and_geometric_means() -> None:
    rng = np.random.default_rng(6)
    topics = tuple(map(str, range(30)))
    values = rng.uniform(0.2, 0.4, (30, 1)) * rng.uniform(0.9, 1.1, (30, 3)) * [1.0, 1.3, 1.1]
    scores = {
        name: cf.Scores(values, topics, ("a", "b", "c"), name, aggregate=aggregate)
        for name, aggregate in (("AP", "mean"), ("GMAP", "geometric"))
    }
    told = compare_measures(scores, baseline="a").prose()
    assert "Dunnett's test on the two-way ANOVA error, bootstrapped over topics (Dunnett" in told
    assert "Tukey" not in told
    assert told.startswith("Two systems were compared with the baseline a by AP")
    largest = "2 pairs differ significantly; the largest difference is b"
    mean = re.search(rf"By AP, {largest} minus a: ({N}) \(95%", told)
    ratio = re.search(rf"By GMAP, {largest} to a: log ratio ({N}) \(95%", told)
    assert mean is not None and is_rounded(mean[1], np.diff(values.mean(axis=0))[0])
    assert ratio is not None and is_rounded(ratio[1], np.diff(np.log(values).mean(axis=0))[0])


def test_paragraphs_on_several_measures_share_sentences(evaluation: Any) -> None:
    """Each sentence on the scale is written once, with all measures that it is true of."""
    by_five = cf.evaluate(cf.bundled.trec_covid().runs[:6], cf.bundled.trec_covid().qrels, "P@5")
    scores = [evaluation["AP"], by_five["P@5"], evaluation["nDCG@10"]]
    comparisons = [cf.compare(one, test="t") for one in scores]
    first, second, third, _ = write_paragraphs(comparisons).split("\n\n")
    ordinal = "but the scale of AP and nDCG@10 is declared to be ordinal: the result"
    assert ordinal in first and "and scores by P@5 are on an interval scale" in second
    assert "The test requires" not in third
    kind = f"Effect sizes ({comparisons[0].info.effect}) are"
    assert kind in first
    for paragraph in (second, third):
        assert "Effect sizes are" in paragraph and "Computed with" not in paragraph
    # A single paragraph has all of them, on its own measure.
    alone = comparisons[2].prose()
    assert kind in alone and ordinal.replace("AP and ", "") in alone
    both = compare_measures(evaluation).prose()
    assert both.startswith("Six systems were compared with each other by AP")


def test_a_decision_that_no_power_changes_has_one_number() -> None:
    scores = cf.Scores(
        np.random.default_rng(1).random((40, 4)) / 999 + [0.6, 0.7, 0.8, 0.8],
        tuple(map(str, range(40))),
        tuple("abcd"),
        measure="AP",
        scale=cf.Scale.ORDINAL,
    )
    comparison = cf.compare(scores, test="anova-2", correction="tukey")
    assert comparison.count() == 5
    reader = Comparison(comparison)
    told = sentences(comparison.prose())
    [order] = [one for one in told if one.startswith("All 5 significantly different pairs keep ")]
    [sensitivity] = [
        one for one in cf.meaningfulness(comparison).describe_lines() if "of these 5" in one
    ]
    for sentence in (order, f"{start_sentence(sensitivity.removeprefix('sensitivity: '))}."):
        reader.check(sentence)
    assert "see_sensitivity_of_all" in reader.read


def test_formats_and_hostile_names() -> None:
    scores = {r"<b>a_b\input{x}": [0.2, 0.4, 0.3, 0.5], "c|d$&%": [0.4, 0.5, 0.5, 0.6]}
    comparison = cf.compare(scores, test="t")
    latex = comparison.prose("latex")
    assert r"\textless{}b\textgreater{}a\_b\textbackslash{}input\{x\}" in latex
    assert r"\citep{student1908,ferro2024}" in latex and r"95\% confidence" in latex
    assert {"student1908", "ferro2024"} <= {*cf.cite(comparison).keys}
    assert "cranfield cite" in latex.splitlines()[-1] and latex.splitlines()[-1][0] == "%"
    assert "&lt;b&gt;" in comparison.prose("markdown")
    assert "(Student 1908; Ferro and Maistro 2024)" in comparison.prose()
    # A number can begin a list at the start of a line only.
    assert "p = 0.014), is" in comparison.prose("markdown")
    with pytest.raises(PolicyError, match="format"):
        comparison.prose("html")


@pytest.mark.parametrize(
    ("measure", "cited"),
    [
        ("Success@5", "trec_eval"),
        ("Judged@10", "ir_measures"),
        ("AP", "Buckley and Voorhees 2005"),
        ("Rprec", "Buckley and Voorhees 2005"),
        ("RR", "Kantor and Voorhees 2000"),
        ("P@5", "Cleverdon 1967; van Rijsbergen 1979"),
        ("nDCG@10", "Burges et al. 2005; Järvelin and Kekäläinen 2002"),
        ("nDCG(discount='max(1,log2(rank))')", "Järvelin and Kekäläinen 2002"),
        ("interval(RR@5)", "Ferrante, Ferro and Fuhr 2021; Kantor and Voorhees 2000"),
        ("Bpref", "Buckley and Voorhees 2004; trec_eval"),
    ],
)
def test_the_measure_is_cited(measure: str, cited: str) -> None:
    scores = cf.Scores(np.array([[0.2, 0.4], [0.1, 0.3], [0.5, 0.2]]), tuple("123"), ("a", "b"))
    told = cf.compare(replace(scores, measure=measure), test="t").prose()
    found = re.search(r"compared with b by (.*) on 3 topics", told)
    assert found is not None
    name, _, works = found[1].rpartition(" (")
    assert name == measure
    assert sorted(works.removesuffix(")").split("; ")) == cited.split("; ")


def test_names_of_tests_and_corrections_fit_the_sentence() -> None:
    scores = cf.Scores(np.random.default_rng(1).random((9, 3)), tuple("123456789"), tuple("abc"))
    assert "The test was Welch's t-test (Welch 1947)" in cf.compare(scores, test="welch").prose()
    margin = cf.compare(scores, test="t").prose(margin="3%")
    assert "Within a margin of 3% of the mean of the second system, by " in margin
    paragraph = cf.compare(scores, test="t", correction="bh").prose()
    assert "The test was the paired t-test (" in paragraph
    assert "with Benjamini and Hochberg's correction (Benjamini and Hochberg 1995)" in paragraph


def test_no_measure_has_an_empty_citation() -> None:
    # Measures that other tests define have no source.
    for name in MODULES.keys() & REGISTRY.select(kind="measure").keys():
        measure = representative(name)
        assert measure is not None
        told = write_paragraph([[name, Citation(measure.source), "."]], "text")
        assert re.match(r" \([A-Za-z].*\)\.$", told[len(name) :]), told


def test_missing_scores_and_one_sided() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((30, 3)) + [0.0, 0.1, 0.3]
    values[4, 1] = np.nan
    one = cf.compare(
        cf.Scores(values, tuple(map(str, range(30))), ("a", "b", "c")),
        missing="drop",
        test="t",
        alternative="less",
        baseline="c",
    )
    told = one.prose()
    assert "Whether a system is better than c was not tested." in told
    assert "on 29 topics" in told and "one-sided (less)" in told
    assert any(note[1:] in told for note in one.notes)
    assert "Two systems were compared" in told and " 1 topic excluded" not in told
    assert "One topic excluded" in told
    assert "confidence interval up to -0." in told


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        *[(0.0496, "0.050"), (0.0504, "0.0504"), (0.05, "0.050"), (0.0001, "<"), (0.9999, ">")],
        (1.0, ">"),
    ],
)
def test_a_p_value_stays_on_its_side(p: float, shown: str) -> None:
    from cranfield.reporting.prose import write_pvalue

    told = write_pvalue(p, 0.05).text
    assert shown in told and holds(told, p)


def test_intervals_that_are_not_shown_and_notes_that_sentences_report() -> None:
    scores = {
        "bm25": [0.31, 0.12, 0.58, 0.44, 0.27, 0.65],
        "dense": [0.39, 0.10, 0.66, 0.47, 0.41, 0.70],
        "fused": [0.42, 0.16, 0.71, 0.45, 0.46, 0.70],
    }
    one = cf.compare(cf.read_scores(scores, measure="AP"), test="t", baseline="bm25")
    assert one.is_significant().all() and np.isnan(one.interval[0]).sum() == 1
    text = one.prose()
    assert "no limits" not in text and text.count("95% confidence interval") == 1
    assert text.count("ordinal") == 1


@pytest.mark.parametrize("baseline", [None, "low"])
def test_pairs_without_an_interval_are_counted(baseline: str | None) -> None:
    scores = {
        "low": [0.31, 0.12, 0.58, 0.44, 0.27, 0.65],
        "middle": [0.39, 0.10, 0.66, 0.47, 0.41, 0.70],
        "high": [0.42, 0.16, 0.71, 0.45, 0.46, 0.70],
    }
    one = cf.compare(cf.read_scores(scores, measure="AP"), test="t", baseline=baseline)
    low, high = one.compute_bounds(0.05)
    number = int((((low > 0) | (high < 0)) != (one.adjusted_pvalues <= 0.05)).sum())
    said = f"; {number} pair has no interval, because it would contradict the decision of the test."
    assert (said in one.prose()) == (number == 1)
    assert number == int(np.isnan(one.interval[0]).sum())


def test_geometric_means_are_compared_by_log_ratios() -> None:
    rng = np.random.default_rng(8)
    values = rng.uniform(0.2, 0.4, (40, 1)) * rng.uniform(0.9, 1.1, (40, 3)) * [1.0, 1.3, 0.7]
    scores = cf.Scores(values, tuple(map(str, range(40))), ("a", "b", "c"))
    logs = np.log(values).mean(axis=0)
    ratio = float(logs[1] - logs[0])
    for test in (None, "signed-rank"):
        told = cf.compare(scores, statistic="geometric-mean", test=test, baseline="a").prose()
        found = re.search(rf"better than a, by this log ratio: b \(.*?\) ({N}) \(", told)
        assert found is not None and is_rounded(found[1], ratio)
        assert "difference of geometric means" not in told
    told = cf.compare(scores, statistic="geometric-mean").prose()
    assert "b has the highest geometric mean" in told
    found = re.search(rf"the log ratio of geometric means \(b to a\) is ({N}) \(", told)
    assert found is not None and is_rounded(found[1], ratio)
    assert "Intervals are for the log ratio of geometric means" in told


def test_effects_that_are_not_finite_are_counted() -> None:
    # Differences of c from a and b are .2 on each topic, so their standard deviation is 0.
    constant = {"a": [0.5] * 9, "b": [0.5] * 9, "c": [0.7] * 9}
    assert "; undefined or infinite for 2 of 3 pairs." in cf.compare(constant).prose()
    varied = constant | {"d": [0.1, 0.5, 0.2, 0.8, 0.3, 0.9, 0.4, 0.6, 0.7]}
    paragraph = cf.compare(varied, test="t").prose()
    assert "; undefined or infinite for 2 of 6 pairs." in paragraph
