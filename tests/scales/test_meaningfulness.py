"""Which statements survive: dominance against transformations, and the verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.scales.admissible import dominance
from cranfield.scales.runs import score_runs
from cranfield.scales.statements import (
    MEANINGFUL,
    NOT_MEANINGFUL,
    invariant_decisions,
    meaningfulness,
)
from cranfield.significance.differences import pair_all


def scores_of(values: np.ndarray, **more: object) -> cf.Scores:
    topics, systems = (tuple(map(str, range(n))) for n in values.shape[:2])
    return cf.Scores(values, topics, systems, **more)  # type: ignore[arg-type]


matrices = st.integers(2, 7).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=n, max_size=n)
)


@given(matrices)
@settings(max_examples=150, deadline=None)
def test_dominance_is_what_every_transformation_says(rows: list[list[int]]) -> None:
    """Step functions are the extreme increasing transformations: they decide."""
    values = np.array(rows, dtype=float)
    pairs = pair_all(values)
    found = dominance(scores_of(values), pairs.first, pairs.second)
    for k, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
        a, b = values[:, i], values[:, j]
        better, worse = (a, b) if a.mean() >= b.mean() else (b, a)
        steps = [(better > x).sum() - (worse > x).sum() for x in range(-1, 7)]
        assert found.is_reversed[k] == (min(steps) < 0)
        assert found.holds[k] == (min(steps) >= 0 and max(steps) > 0)
        if found.is_reversed[k]:
            # A strictly increasing transformation turns the means over at the threshold.
            x = found.threshold[k]

            def turned(s: np.ndarray, x: float = x) -> float:
                return float(((s > x) + 1e-6 * s).mean())

            assert turned(better) < turned(worse)
            assert (found.n_above_first[k], found.n_above_second[k]) == (
                (a > x).sum(),
                (b > x).sum(),
            )


def one_pair(a: np.ndarray, b: np.ndarray, gap: float) -> tuple[bool, bool, float, int, int]:
    """The definition, written out: walk up all scores of two systems, equal ones in one step."""
    a, b = (np.sort(one[~np.isnan(one)]) for one in (a, b))
    better, worse = (a, b) if a.mean() >= b.mean() else (b, a)
    every = np.sort(np.concatenate([a, b]))
    bars = [x for x, after in zip(every, [*every[1:], np.inf], strict=True) if after - x > gap]
    sums = [(better > x).sum() * worse.size - (worse > x).sum() * better.size for x in bars]
    if min(sums) >= 0:
        return max(sums) > 0, False, np.nan, 0, 0
    bar = bars[int(np.argmin(sums))]
    return False, True, bar, int((a > bar + gap).sum()), int((b > bar + gap).sum())


@pytest.mark.parametrize("steps", [1.0, 2.0**-45, 2.0**-48])
def test_dominance_with_gaps_and_with_scores_that_are_nearly_equal(steps: float) -> None:
    """Also where each score equals the next, and the first does not equal the last."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        values = rng.integers(0, 3, (9, 5)) + steps * rng.integers(0, 8, (9, 5))
        values[2:][rng.random((7, 5)) < 0.2] = np.nan
        pairs = pair_all(values)
        found = dominance(scores_of(values), pairs.first, pairs.second)
        gap = 2.0**-44 * np.nanmax(values)
        for k, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True)):
            holds, turned, *rest = one_pair(values[:, i], values[:, j], gap)
            assert (found.holds[k], found.is_reversed[k]) == (holds, turned)
            columns = (found.threshold, found.n_above_first, found.n_above_second)
            np.testing.assert_array_equal([one[k] for one in columns], rest)


def test_shards_and_equal_systems() -> None:
    values = np.random.default_rng(1).random((6, 2, 3))
    values[:, 1] = values[:, 0] - 0.1
    found = dominance(scores_of(values), np.array([0]), np.array([1]))
    assert found.holds.all()
    same = np.array([[0.1, 0.2], [0.2, 0.1]])
    found = dominance(scores_of(same), np.array([0]), np.array([1]))
    assert not found.holds.any()
    assert not found.is_reversed.any()


MEASURES = ["P@20", "nDCG@20", "R@20", "RBP(p=0.5)@10", "interval(RR@5)", "interval(R@5)"]


@pytest.fixture(scope="module")
def ev() -> cf.Evaluation:
    covid = cf.bundled.trec_covid()
    return cf.evaluate(covid.runs[:10], covid.qrels, MEASURES)


def test_verdicts(ev: cf.Evaluation) -> None:
    means = meaningfulness(cf.compare(ev["nDCG@20"]))
    assert means.verdict == NOT_MEANINGFUL
    assert "needs an interval scale, but nDCG@20 is an ordinal scale" in means.describe_lines()[0]
    assert 0 < means.n_invariant <= means.comparison.count()
    assert meaningfulness(cf.compare(ev["nDCG@20"], test="friedman")).verdict == MEANINGFUL
    assert meaningfulness(cf.compare(ev["P@20"])).verdict == MEANINGFUL
    recall = meaningfulness(cf.compare(ev["R@20"]))
    assert recall.verdict == NOT_MEANINGFUL
    assert (
        "R@20 depends on the judgments of the topic, so each topic has its own scale"
        in recall.describe_lines()[0]
    )
    assert meaningfulness(cf.compare(ev["R@20"], test="friedman")).verdict == MEANINGFUL
    assert meaningfulness(cf.compare(ev["R@20"], test="kruskal-wallis")).verdict == NOT_MEANINGFUL
    assert meaningfulness(cf.compare(ev["RBP(p=0.5)@10"])).verdict == MEANINGFUL
    assert meaningfulness(cf.compare(ev["interval(RR@5)"])).verdict == MEANINGFUL
    assert meaningfulness(cf.compare(ev["interval(R@5)"])).verdict == NOT_MEANINGFUL
    unknown = meaningfulness(cf.compare({"a": [0.1, 0.2, 0.4], "b": [0.5, 0.6, 0.6]}, test="t"))
    assert unknown.verdict == "unknown"
    assert "the significant pair keeps its order" in unknown.describe_lines()[1]


def test_feasible_runs_give_each_recall_base_its_own_scale() -> None:
    """Precision at 5 is then divided by what a topic has, and is recall up to 5."""
    relevant = {"t2": 2, "t7": 7, "t3": 3}
    qrels = {t: {f"r{i}": 1 for i in range(n)} for t, n in relevant.items()}
    found = {"a": (1, 2, 3), "b": (2, 4, 1)}
    runs = {
        system: {
            t: {f"r{i}": 9.0 - i for i in range(n)} | {f"n{i}": -i for i in range(5 - n)}
            for t, n in zip(relevant, counts, strict=True)
        }
        for system, counts in found.items()
    }
    ev = cf.evaluate(runs, qrels, ["P@5", "interval(P@5)", "interval(P@5, feasible=True)"])
    all_runs, feasible = ev["interval(P@5)"], ev["interval(P@5, feasible=True)"]
    np.testing.assert_allclose(all_runs.values, ev["P@5"].values)
    places = dict(zip(feasible.topics, feasible.values, strict=True))
    for k, (topic, base) in enumerate(relevant.items()):
        expected = [counts[k] / min(base, 5) for counts in found.values()]
        np.testing.assert_allclose(places[topic], expected)
    assert meaningfulness(cf.compare(all_runs)).verdict == MEANINGFUL
    said = meaningfulness(cf.compare(feasible))
    assert (said.verdict, said.depends_on_topic) == (NOT_MEANINGFUL, True)
    with pytest.raises(PolicyError, match="use sign or friedman$"):
        said.require()
    assert meaningfulness(cf.compare(feasible, test="friedman")).verdict == MEANINGFUL


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("Success@5", MEANINGFUL),
        ("RR@1", MEANINGFUL),
        ("RR@2", MEANINGFUL),
        ("RR@3", NOT_MEANINGFUL),
        ("DCG@1", MEANINGFUL),
        ("DCG@2", NOT_MEANINGFUL),
        ("ERR@1", MEANINGFUL),
        ("gP@10", MEANINGFUL),
        ("SetP@1", MEANINGFUL),
        # One step, of another length on a topic of another recall base or ideal ranking.
        ("AP@1", NOT_MEANINGFUL),
        ("gR@10", NOT_MEANINGFUL),
        ("RelP@10", NOT_MEANINGFUL),
        ("Rprec", NOT_MEANINGFUL),
        ("nDCG@1", NOT_MEANINGFUL),
        ("SetRelP", NOT_MEANINGFUL),
    ],
)
def test_two_or_even_values_are_an_interval_scale(name: str, verdict: str) -> None:
    covid = cf.bundled.trec_covid()
    judged = cf.judge(covid.runs[:6], covid.qrels).binarise()
    found = meaningfulness(cf.compare(cf.score(judged, name)[name]))
    assert found.verdict == verdict
    notes = [note for note in found.comparison.notes if note.startswith("not meaningful")]
    assert not (notes and verdict == MEANINGFUL)


def test_strict(ev: cf.Evaluation) -> None:
    meaningfulness(cf.compare(ev["P@20"])).require()
    with pytest.raises(PolicyError, match="use sign or friedman$"):
        meaningfulness(cf.compare(ev["nDCG@20"])).require()
    other = cf.compare(replace(ev["P@20"], measure="RR@20", scale=cf.Scale.ORDINAL))
    with pytest.raises(PolicyError, match=r"use sign or friedman or the .* interval\(RR@20\)"):
        meaningfulness(other).require()
    with pytest.raises(PolicyError, match="unknown"):
        meaningfulness(cf.compare({"a": [0.1, 0.2, 0.4], "b": [0.5, 0.6, 0.6]})).require()


def test_an_example_goes_by_means_where_the_test_goes_by_ranks() -> None:
    a = np.r_[np.full(80, 0.3), np.full(40, 0.9)]
    b = np.r_[np.full(80, 0.4), np.full(40, 0.31)]
    found = meaningfulness(cf.compare({"A": a, "B": b}, test="kruskal-wallis"))
    assert found._describe_example().startswith("for example: A has the higher mean")
    assert found._describe_example().endswith("on more topics (120, A: 40)")


def test_the_scale_is_read_from_the_name_of_the_measure() -> None:
    values = np.random.default_rng(0).random((9, 3))
    for name, verdict in (("P@5", MEANINGFUL), ("AP", NOT_MEANINGFUL), ("mine", "unknown")):
        assert meaningfulness(cf.compare(scores_of(values, measure=name))).verdict == verdict


def test_an_example_is_shown() -> None:
    """The better mean, and a threshold by which it is worse."""
    values = {"a": [0.9, 0.9, 0.9, 0.1], "b": [0.3, 0.3, 0.3, 0.3]}
    found = meaningfulness(cf.compare(values, test="t", alpha=0.5))
    assert found.describe_lines()[1].startswith(
        "the significant pair does not keep its order of means"
    )
    assert found.describe_lines()[-1] == (
        "for example: a has the higher mean, but b has scores above 0.1 on more topics (4, a: 3)"
    )
    assert "reversed" in str(found)
    clear = {"a": [0.1, 0.2, 0.3] * 3, "b": [0.4, 0.5, 0.6] * 3, "c": [0.7, 0.8, 0.9] * 3}
    assert (
        "all 3 significant pairs keep their order"
        in meaningfulness(cf.compare(clear)).describe_lines()[1]
    )


def test_means_keep_their_order_and_differences_do_not() -> None:
    """The order of means is one thing, the decision of a test another."""
    covid = cf.bundled.trec_covid()
    found = meaningfulness(
        cf.compare(
            cf.evaluate(covid.runs, covid.qrels, "nDCG@20")["nDCG@20"],
            test="anova",
            correction="tukey",
        )
    )
    star, holds = found.comparison.is_significant(), found.dominance.holds
    assert (star.sum(), found.n_invariant) == (473, 441)
    # Of the pairs whose order holds always, 147 do not differ by the tenth powers.
    assert (star & holds & ~found.masks_by_power[10.0]).sum() == 147
    assert found.describe_lines()[1].startswith(
        "441 of 473 significant pairs keep their order of means"
    )
    assert found.describe_lines()[2] == (
        "sensitivity: of these 473 pairs, 171 are still significantly different if scores are"
        " raised to the power 0.1, 396 with the power 0.5, 458 with the power 2, 296 with the power"
        " 10, and 124 with all four powers"
    )


@pytest.mark.parametrize("shift", [0.0, -0.4])
def test_decisions_are_those_of_transformed_scores(shift: float) -> None:
    """By SciPy's t-test on powers, of scores above their lowest where some are below 0."""
    values = np.random.default_rng(2).beta(1, 3, (12, 5)) + 0.07 * np.arange(5) + shift
    found = cf.compare(scores_of(values), test="t", correction="none", alpha=0.2)
    powers = (0.2, 1.0, 6.0)
    kept = invariant_decisions(found, powers)
    apart = values - min(values.min(), 0)
    expected = np.empty(kept.shape, dtype=bool)
    for k, (i, j) in enumerate(zip(found.first, found.second, strict=True)):
        signs = []
        for power in (1.0, *powers):
            t = stats.ttest_rel(apart[:, i] ** power, apart[:, j] ** power)
            signs.append(np.sign(t.statistic) * (t.pvalue <= 0.2))
        expected[:, k] = [one == signs[0] for one in signs[1:]]
    np.testing.assert_array_equal(kept, expected)
    assert kept[1].all()
    assert not kept.all()


@pytest.mark.parametrize("test", ["sign", "friedman", "kruskal-wallis"])
def test_tests_by_order_decide_the_same(test: str) -> None:
    """What is said of them without computing is what computing says."""
    values = np.random.default_rng(3).beta(1, 3, (20, 6)) + 0.05 * np.arange(6)
    found = cf.compare(scores_of(values), test=test)
    assert found.count() and invariant_decisions(found).all()
    for power in (0.1, 2.0):
        again = cf.compare(scores_of(values**power), test=test)
        np.testing.assert_allclose(again.adjusted_pvalues, found.adjusted_pvalues, atol=1e-12)
    if test == "kruskal-wallis":
        named = meaningfulness(cf.compare(scores_of(values, measure="R@5"), test=test))
        assert "as the test depends only on the order" in named.describe_lines()[2]


def test_decisions_of_what_is_hard_to_transform() -> None:
    """Gaps stay gaps, random numbers are drawn again, and what cannot be tested does not hold."""
    values = np.random.default_rng(4).random((15, 4)) + 0.3 * np.arange(4)
    values[0, 0] = np.nan
    gaps = cf.compare(scores_of(values), test="welch")
    assert gaps.count() and invariant_decisions(gaps, [1.0]).all()
    drawn = cf.compare(scores_of(values[1:]), test="randomisation", resamples=200)
    assert drawn.count() and invariant_decisions(drawn, [1.0]).all()
    against = cf.compare(scores_of(values[1:] * 1e99), test="t", baseline=["0", "3"])
    assert invariant_decisions(against, [1.0]).all()
    many = meaningfulness(replace(drawn, options={**drawn.options, "resamples": 10**7}))
    assert many.describe_lines()[2].endswith("as they require many random samples")
    for powers in ([0.0], ["a"], [[1.0, 2.0]], [-1]):
        with pytest.raises(PolicyError, match="powers must be positive numbers"):
            invariant_decisions(gaps, powers)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="the result of compare"):
        invariant_decisions("x")  # type: ignore[arg-type]


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize(
    "thresholds",
    # Four digits would round these up to the next score, down below themselves, or to the same.
    [(0.99996, 1.0), (0.23246, 0.2325), (1 / 3, 0.33334), (0.123456784, 0.123456786), (0, 1e-9)],
)
def test_a_threshold_is_shown_with_the_digits_that_separate(
    thresholds: tuple[float, float], low: bool
) -> None:
    below, above = thresholds
    a, b = np.array([above + 9, above + 8, above + 9, below]), np.full(4, above)
    values = {"a": a.tolist(), "b": b.tolist()}
    scores = low_is_good(values) if low else values
    found = meaningfulness(cf.compare(scores, test="t", correction="none", alpha=0.5))
    example = found.describe_lines()[-1]
    assert example.startswith("for example")
    shown = float(example.split(" up to " if low else " above ")[1].split()[0])
    assert below <= shown < above
    counts = "(1, b: 0)" if low else "(4, a: 3)"
    assert example.endswith(counts) and f"{shown:g}"[:6] in str(found)


def low_is_good(values: dict[str, list[float]]) -> cf.Scores:
    table = np.array(list(values.values())).T
    topics = tuple(map(str, range(len(table))))
    return cf.Scores(
        table, topics, tuple(values), measure="cost", scale=cf.Scale.ORDINAL, lower_is_better=True
    )


def test_low_scores_that_are_good() -> None:
    """The better system has the lower mean, and the bar is one to stay below."""
    values = {"a": [0.9, 0.9, 0.9, 0.1], "b": [0.3, 0.3, 0.3, 0.3]}
    found = meaningfulness(cf.compare(low_is_good(values), alpha=0.5))
    assert found.verdict == NOT_MEANINGFUL
    assert found.describe_lines()[3] == (
        "for example: b has the lower, better mean, but a has scores up to 0.1 on more topics"
        " (1, b: 0)"
    )
    text = str(found)
    assert "topics up to: first" in text
    [row] = [line.split() for line in text.splitlines() if "reversed" in line]
    first, second = {"a": "1", "b": "0"}[row[0]], {"a": "1", "b": "0"}[row[1]]
    assert row[-2:] == [first, second]


def test_equal_means_have_no_order() -> None:
    """The same scores on different topics: significant by rank, but the means are equal."""
    scores = np.arange(20.0)
    found = meaningfulness(cf.compare({"a": scores, "b": np.roll(scores, 1)}, test="wilcoxon"))
    assert found.describe_lines()[1].startswith(
        "the significant pair does not keep its order of means"
    )
    assert str(found).splitlines()[-1].split() == ["a", "b", "0.0000", "equal"]


@given(matrices)
@settings(max_examples=50, deadline=None)
def test_low_scores_are_high_ones_turned_over(rows: list[list[int]]) -> None:
    """Cost c says of the same systems what score -c says, with the same topics."""
    values = np.array(rows, dtype=float)[:, :2] + np.arange(2) * 1e-3
    names = ("x", "y")
    topics = tuple(map(str, range(len(values))))
    cost = cf.Scores(values, topics, names, scale=cf.Scale.ORDINAL, lower_is_better=True)
    worth = cf.Scores(-values, topics, names, scale=cf.Scale.ORDINAL)
    try:
        one, other = (meaningfulness(cf.compare(s, test="t", alpha=0.99)) for s in (cost, worth))
    except cf.CranfieldError:
        return
    np.testing.assert_array_equal(one.dominance.holds, other.dominance.holds)
    examples = [result._describe_example().split(" has the ") for result in (one, other)]
    # The better system comes first in both, or there is no example.
    assert examples[0][0] == examples[1][0]


@pytest.mark.parametrize("name", ["SetP", "SetP@10", "Utility(a=2, b=-3)"])
def test_sets_of_many_sizes_are_on_no_common_scale(name: str) -> None:
    values = np.random.default_rng(0).random((9, 3))
    scores = scores_of(values, measure=name, scale=cf.Scale.INTERVAL, scale_source="measure")
    found = meaningfulness(cf.compare(scores))
    assert (found.verdict, found.depends_on_size) == (NOT_MEANINGFUL, True)
    assert "only for sets of one size" in found.describe_lines()[0]
    assert set(found.list_alternatives()) == {"sign", "friedman"}
    with pytest.raises(PolicyError, match="use sign or friedman$"):
        found.require()
    for test in ("sign", "friedman", "kruskal-wallis"):
        assert meaningfulness(cf.compare(scores, test=test)).verdict == MEANINGFUL
    for name_ in ("P@10", "Utility"):
        same = scores_of(values, measure=name_, scale=cf.Scale.INTERVAL)
        assert meaningfulness(cf.compare(same)).verdict == MEANINGFUL


@pytest.mark.parametrize(
    ("name", "one_size"),
    [
        ("SetP", True),
        ("SetF", True),
        ("SetE", True),
        ("SetF(beta=2)", True),
        ("SetR", False),
        ("P@6", False),
        ("Utility", False),
        ("Utility(a=3, b=-1)", False),
        ("Utility(a=1, b=-0.3)", True),
        ("Utility(a=0, b=-1)", False),
    ],
)
def test_one_size_by_all_sets(name: str, one_size: bool) -> None:
    """All sets of up to 6 documents on a topic with 3 relevant ones: are steps equal?"""
    values = set()
    measure = cf.parse_measure(name)
    for size in range(1, 7):
        for found in range(min(size, 3) + 1):
            run = [[1] * found + [0] * (size - found)]
            values.add(round(float(score_runs(measure, run, judgments=3)[0]), 9))
    steps = np.diff(sorted(values))
    assert (np.ptp(steps) > 1e-6) == one_size
    assert measure.needs_one_size == one_size
    # With a size for all they are.
    sets = [[1] * found + [0] * (6 - found) for found in range(4)]
    assert np.ptp(np.diff(score_runs(measure, sets, judgments=3))) < 1e-9


@pytest.mark.filterwarnings("ignore:.* by subtopic")
@pytest.mark.parametrize(
    "measure", ["D(nDCG@3)", "IA(AP)", "StRecall@2", "URisk(AP, baseline='x')", "U", "EEL@3"]
)
def test_measures_that_need_more_than_grades(measure: str) -> None:
    """Measures that no runs of grades can show are declared ordinal, by topic."""
    rows = [
        {"topic": f"t{t}", "doc": doc, "subtopic": str(i), "grade": (t + i + k) % 3}
        for t in range(4)
        for k, doc in enumerate("abc")
        for i in (1, 2)
    ]
    ranking = {"x": "abc", "y": "bca", "z": "cb"}
    runs = {
        name: {f"t{t}": {doc: -k for k, doc in enumerate(docs)} for t in range(4)}
        for name, docs in ranking.items()
    }
    lengths = dict.fromkeys("abc", 1000)
    found = cf.evaluate(runs, rows, measure, lengths=lengths)[measure]
    assert cf.meaningfulness(cf.compare(found)).verdict == "not meaningful"
    assert cf.meaningfulness(cf.compare(found, test="friedman")).verdict == "meaningful"


def test_risk_has_no_image() -> None:
    """What a system wins depends on another system."""
    with pytest.raises(cf.MeasureError, match="it has no interval-scaled version"):
        cf.parse_measure("interval(URisk(P@3, baseline='x'))")
    with pytest.raises(cf.MeasureError, match="its scale and its possible values are unknown"):
        cf.scale_of("URisk(P@3, baseline='x')")


@pytest.mark.parametrize(
    ("text", "by_topic"), [("AWRF@3", True), ("IAA@3", True), ("uRBP", False), ("U(L=3000)", False)]
)
def test_recall_base_of_measures_that_need_more(text: str, by_topic: bool) -> None:
    """Groups, lengths, aspects: what the recall base does is tried where there are some."""
    orders = {"a": "abcd", "b": "bacd", "c": "dcba"}
    runs = {
        name: {topic: {doc: -i for i, doc in enumerate(docs)} for topic in "qrs"}
        for name, docs in orders.items()
    }
    qrels = {topic: {"a": 1, "b": 2, "c": 0} for topic in "qrs"}
    scores = cf.evaluate(
        runs,
        qrels,
        text,
        lengths=dict.fromkeys("abcd", 100),
        groups=dict(zip("abcd", "xyxy", strict=True)),
        aspects={"understandability": qrels},
    )[text]
    found = meaningfulness(cf.compare(scores, test="friedman"))
    assert found.depends_on_topic == by_topic
    assert found.verdict == "meaningful"


VALUES = np.array([[0.1, 0.5], [0.2, 0.4], [0.3, 0.9], [0.1, 0.3]])


@pytest.mark.parametrize(
    ("scale", "verdict"),
    [("ordinal", NOT_MEANINGFUL), ("interval", MEANINGFUL), (cf.Scale.RATIO, MEANINGFUL)],
)
@pytest.mark.parametrize("name", ["mine", "nDCG@10", "SetF"])
def test_a_scale_that_the_user_declares(name: str, scale: str, verdict: str) -> None:
    """It goes before the scale of the measure, and before its dependence on topics and sizes."""
    scores = scores_of(VALUES, measure=name, scale=scale)
    read = cf.read_scores({"a": {"q": 0.5, "r": 0.25}, "b": {"q": 1, "r": 0}}, measure=name)
    for one in (scores, scores_of(VALUES, measure=name).with_scale(scale), read.with_scale(scale)):
        assert (one.scale, one.scale_source) == (one.with_scale(scale).scale, "user")
        compared = cf.compare(one)
        assert f"scale declared by the user: {one.scale}" in compared.notes
        assert meaningfulness(compared).verdict == verdict
    assert read.scale_source == ("" if name == "mine" else "measure")
    assert not any("declared by the user" in note for note in cf.compare(read).notes)


def test_where_a_scale_can_be_declared() -> None:
    table = {"a": {"q": 0.5, "r": 0.25}, "b": {"q": 1, "r": 0}}
    assert cf.read_scores(table, scale="ratio").scale is cf.Scale.RATIO
    assert cf.read_scores(table, measure="P@10", scale="nominal").scale is cf.Scale.NOMINAL
    runs = {"x": {"q": {"d": 1}, "r": {"d": 1}}, "y": {"q": {"e": 1}, "r": {"d": 1}}}
    qrels = {"q": {"d": 1}, "r": {"d": 1, "e": 1}}
    evaluated = cf.evaluate(runs, qrels, ["nDCG@10", "P@1"])
    declared = evaluated.with_scale("ratio")
    assert {one.scale for one in declared.values()} == {cf.Scale.RATIO}
    assert {one.scale_source for one in evaluated.values()} == {"measure"}
    own = cf.define("MyUtility", lambda judged: judged.n_retrieved * 1.0, scale="ratio")
    plain = cf.define("MyOrder", lambda judged: judged.n_retrieved * 1.0)
    try:
        found = cf.evaluate(runs, qrels, [own, plain])
        assert (found[own].scale, found[own].scale_source) == (cf.Scale.RATIO, "user")
        assert (found[plain].scale, found[plain].scale_source) == (cf.Scale.ORDINAL, "measure")
        assert "scale declared by the user: ratio" in cf.compare(found[own]).notes
    finally:
        del cf.measures.REGISTRY["MyUtility"], cf.measures.REGISTRY["MyOrder"]
    with pytest.raises(
        PolicyError, match="unknown scale .*; expected one of: nominal, ordinal, interval, ratio"
    ):
        cf.read_scores(table, scale="metric")
    with pytest.raises(PolicyError, match="unknown scale"):
        cf.define("Other", lambda judged: judged.n_retrieved, scale="metric")
    assert "Other" not in cf.measures.REGISTRY


def test_a_transformed_score_is_not_declared_by_the_user() -> None:
    scores = scores_of(VALUES, scale="ratio")
    assert cf.significance.standardise(scores).scale_source == "measure"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("RBP(p=1/3, gains='graded')", True),
        ("RBP(p=0.5)", True),
        ("RBP(p=0.5, gains='graded')@20", True),
        ("RBP(p=1/3)", False),
        ("RBP(p=1/4, gains='graded')", False),
        ("RBP(p=0.8)", False),
    ],
)
def test_rbp_on_three_grades(text: str, holds: bool) -> None:
    """The grades of TREC-COVID are 0 to 2: digits to the base 2 and 3, and of no other."""
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs[:3], covid.qrels, text)[text]
    said = meaningfulness(cf.compare(scores))
    assert (said.verdict == MEANINGFUL) == holds
    assert any("assumes an interval scale" in note for note in said.comparison.notes) != holds
    if holds:
        said.require()
        assert "interval(" not in str(said)
