"""Agreement of judges with people: published tables, other programs, properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import cranfield as cf
from cranfield.assess.judges.comparison import compute_calibration
from tests.assess.judges.llmjudge import judges, labels, published, written

CUTS = ("0|123", "01|23", "012|3")
COLUMNS = ("kappa", *(f"kappa {cut}" for cut in CUTS), "alpha", *(f"alpha {cut}" for cut in CUTS))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> cf.assess.JudgeComparison:
    people, submissions = written(tmp_path_factory.mktemp("llmjudge"))
    return cf.assess.compare_judges(people, submissions)


def test_the_published_tables(found: cf.assess.JudgeComparison) -> None:
    table = published()
    assert found.judges == tuple(table["submission"])
    mine = found.to_polars().select(COLUMNS).to_numpy()
    # The paper prints four decimals; half of the last one is rounding.
    assert mine.shape == (21, 8)
    assert np.abs(mine - table.drop("submission").to_numpy()).max() < 0.5e-4 + 1e-12
    assert set(found.to_polars()["pairs"]) == {4423}


def test_bias_and_sides(found: cf.assess.JudgeComparison) -> None:
    frame = found.to_polars()
    people = labels()["people"].to_numpy()
    for name in judges()[::5]:
        apart = labels()[name].to_numpy() - people
        row = frame.row(by_predicate=pl.col("judge") == name, named=True)
        assert row["bias"] == pytest.approx(apart.mean(), abs=1e-12)
        assert row["over"] == pytest.approx((apart > 0).mean(), abs=1e-12)
        assert row["under"] == pytest.approx((apart < 0).mean(), abs=1e-12)
        assert row["agreement"] == pytest.approx((apart == 0).mean(), abs=1e-12)


@pytest.mark.parametrize(("judge", "statistic"), [("Olz-exp", "bias"), ("TREMA-all", "over")])
def test_limits_are_those_of_the_jackknife_over_topics(
    found: cf.assess.JudgeComparison, judge: str, statistic: str
) -> None:
    """Of a ratio, written out with a loop over topics; of shares by their log odds."""
    apart = pl.col(judge) - pl.col("people")
    frame = labels().with_columns(value=apart if statistic == "bias" else apart > 0)
    to, back = (np.array,) * 2 if statistic == "bias" else (special.logit, special.expit)
    topics = frame["topic"].unique().to_list()
    n = len(topics)
    without = to([frame.filter(pl.col("topic") != t)["value"].to_numpy().mean() for t in topics])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    normal = 2 * n / (stats.kurtosis(without, fisher=False) - 1)
    assert normal < n - 1 or statistic == "over"
    half = stats.t.ppf(0.975, min(n - 1, normal)) * error
    row = found.tabulate_intervals().filter(judge=judge, statistic=statistic).row(0, named=True)
    centre = to(frame["value"].to_numpy().mean())
    assert (row["low"], row["high"]) == pytest.approx(back([centre - half, centre + half]))


def test_confusion_and_calibration(found: cf.assess.JudgeComparison) -> None:
    counts = labels().group_by("people", "TREMA-all").len()
    table = np.zeros((4, 4), dtype=int)
    for people, judge, number in counts.iter_rows():
        table[people, judge] = number
    assert (found.tabulate_confusion("TREMA-all").drop("human grade").to_numpy() == table).all()
    part = found.tabulate_calibration().filter(pl.col("judge") == "TREMA-all")
    shares = part["proportion"].to_numpy().reshape(4, 4)
    assert np.allclose(shares, (table / table.sum(axis=0)).T, atol=1e-14)
    assert (part["low"] <= part["proportion"]).all()
    assert (part["proportion"] <= part["high"]).all()
    with pytest.raises(cf.PolicyError, match="unknown judge 'x'; expected one of:"):
        found.tabulate_confusion("x")


def test_calibration_has_the_variance_of_the_jackknife() -> None:
    """Written out with a loop over the topics that are left out, where pairs of a topic differ."""
    rng = np.random.default_rng(4)
    tables = rng.poisson(rng.gamma(1.0, 9.0, (30, 2, 2)))
    share, low, high = compute_calibration(tables, 0.9)
    for label, grade in np.ndindex(2, 2):
        ones, all_of = tables[:, grade, label], tables[:, :, label].sum(axis=1)
        p, n = ones.sum() / all_of.sum(), all_of.sum()
        without = (n * p - ones) / (n - all_of)
        variance = 29 / 30 * ((without - p) ** 2).sum()
        effect = variance / (p * (1 - p) / n)
        assert effect > 1
        kurtosis = 30 * ((without - p) ** 4).sum() / ((without - p) ** 2).sum() ** 2
        t = stats.t.ppf(0.95, min(29, 60 / (kurtosis - 1)))
        size = n / effect
        centre = (p + t**2 / (2 * size)) / (1 + t**2 / size)
        half = t / (1 + t**2 / size) * np.sqrt(p * (1 - p) / size + t**2 / (4 * size**2))
        limits = low[label, grade], high[label, grade]
        assert limits == pytest.approx((centre - half, centre + half), abs=1e-12)


def test_calibration_of_independent_pairs_is_wilsons() -> None:
    """Each topic has the same table: no more than binomial spread, and the design effect is 1."""
    topics, table = 4000, np.array([[3, 1], [2, 4]])
    share, low, high = compute_calibration(np.broadcast_to(table, (topics, 2, 2)), 0.95)
    for label in range(2):
        n, k = topics * table[:, label].sum(), topics * table[1, label]
        limits = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert share[label, 1] == pytest.approx(k / n)
        # The t quantile of 3,999 degrees of freedom is not quite that of the normal.
        assert (low[label, 1], high[label, 1]) == pytest.approx(tuple(limits), abs=2e-5)


def test_calibration_where_there_is_little() -> None:
    one_topic = compute_calibration(np.array([[[2, 0], [1, 0]]]), 0.95)
    assert one_topic[0][0].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert (one_topic[1][0].tolist(), one_topic[2][0].tolist()) == ([0, 0], [1, 1])
    assert np.isnan([part[1] for part in one_topic]).all()
    certain = compute_calibration(np.array([[[5, 0], [0, 0]], [[5, 0], [0, 0]]]), 0.95)
    # Two topics count as two pairs, however many pairs they have.
    t = stats.t.ppf(0.975, 1)
    assert certain[1][0, 0] == pytest.approx(1 / (1 + t**2 / 2))
    assert certain[2][0, 0] == 1


@pytest.mark.parametrize("level", ["ordinal", "nominal", "interval", "ratio"])
def test_alpha_is_that_of_krippendorff(level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="alpha by another program")
    some = labels().filter(pl.col("topic") == "q19")
    people, judge = (
        {"q19": dict(zip(some["doc"], some[name], strict=True))} for name in ("people", "Olz-gpt4o")
    )
    found = cf.assess.compare_judges(people, {"x": judge}, level=level, scale=(0, 3))
    wanted = krippendorff.alpha(
        np.array([some["people"], some["Olz-gpt4o"]], dtype=float), level_of_measurement=level
    )
    assert found.to_polars()["alpha"][0] == pytest.approx(wanted, abs=1e-12)


def test_what_is_missing_extra_and_unknown_is_counted() -> None:
    people = {"q1": {"a": 0, "b": 1, "c": -2}, "q2": {"a": 1}}
    judge = {"q1": {"a": 0, "c": 1, "z": 1}, "q9": {"a": 1, "b": 0}}
    found = cf.assess.compare_judges(people, {"x": judge})
    row = found.to_polars().row(0, named=True)
    wanted = {"labels": 5, "pairs": 2, "missing": 2, "extra": 1, "unknown": 2}
    assert {name: row[name] for name in wanted} == wanted
    # A grade below 0 of people is not relevant.
    assert found.tabulate_confusion("x").rows() == [(0, 1, 1), (1, 0, 0)]
    assert found.notes[0] == "1 human grade below 0 counted as 0"
    assert "Labels by judge: compared with people" in str(found)


def test_what_is_not_defined_is_said() -> None:
    found = cf.assess.compare_judges({"q": {"a": 1, "b": 1}}, {"x": {"q": {"a": 1, "b": 1}}})
    row = found.to_polars().row(0, named=True)
    assert row["kappa"] is row["alpha"] is None
    assert row["agreement"] == 1
    assert found.notes == ("x: kappa, alpha undefined, as all (binary) grades are equal",)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"scale": "3..0"}, "a lowest and highest grade"),
        ({"scale": "a..b"}, "a lowest and highest grade"),
        ({"scale": (0.5, 3)}, "a grade of a scale must be an integer"),
        ({"scale": 3}, "a lowest and highest grade"),
        ({"scale": (0, 1000)}, "at most 101 grades, got 1,001"),
        ({"level": "linear"}, "unknown level 'linear'; expected one of:"),
        ({"confidence": 1}, "confidence must be a number between 0 and 1"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], wrong: str) -> None:
    with pytest.raises(cf.PolicyError, match=wrong):
        cf.assess.compare_judges({"q": {"a": 1}}, {"x": {"q": {"a": 1}}}, **options)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_lines_and_of_judges_changes_nothing(
    pairs: list[tuple[int, int, int]], random: object
) -> None:
    people = [(f"q{t}", f"d{k}", a) for k, (t, a, _) in enumerate(pairs)]
    judge = [(f"q{t}", f"d{k}", b) for k, (t, _, b) in enumerate(pairs)]
    one = cf.assess.compare_judges(people, {"x": judge, "same": people}, scale=(0, 2))
    mixed = [judge[:], people[:]]
    for some in mixed:
        random.shuffle(some)  # type: ignore[attr-defined]
    other = cf.assess.compare_judges(mixed[1], {"same": mixed[1], "x": mixed[0]}, scale=(0, 2))
    assert np.allclose(one.values, other.values[::-1], atol=1e-12, equal_nan=True)
    assert np.allclose(one.low, other.low[::-1], atol=1e-9, equal_nan=True)
    known = one.values[1][~np.isnan(one.values[1])]
    # Whoever agrees with everybody: coefficients of 1, no bias.
    assert set(np.round(known, 12)) <= {0.0, 1.0}
    assert one.joint.sum() == 2 * len(pairs)


def notes_of(people: list[int], judge: list[int], **options: Any) -> tuple[str, ...]:
    """Return the notes on a comparison of the grades of documents of two topics."""
    pairs = [
        {f"q{t}": {f"d{k}": grade for k, grade in enumerate(grades) if k % 2 == t} for t in (0, 1)}
        for grades in (people, judge)
    ]
    return cf.assess.compare_judges(pairs[0], {"llm": pairs[1]}, **options).notes


def test_different_grades_of_people_and_judge_are_noted() -> None:
    people = [1, 2, 3, 3, 2, 1, 1, 2, 3, 1, 2, 3]
    [note] = notes_of(people, [grade - 1 for grade in people])
    assert note.startswith("llm: people use grades 1 to 3, the judge 0 to 2; if the scales differ")
    graded = [grade - 1 for grade in people]
    [note] = notes_of(graded, [min(grade, 1) for grade in graded])
    assert note.startswith("llm: people use grades 0 to 2, the judge 0 to 1;")
    clipped, note = notes_of(graded, [grade + 1 for grade in graded], clip=True)
    assert clipped.startswith("llm: 4 grades outside the scale 0 to 2 clipped")
    assert note.startswith("llm: grades 1 to 3 may be on another scale than 0 to 2;")
    assert len(notes_of(graded, [*graded[1:], 9], clip=True)) == 1
    # The same scale, of which the judge does not use all grades.
    assert notes_of(graded, [*graded[1:], 0]) == ()
    assert notes_of(graded, [max(grade, 1) for grade in graded]) == ()
    assert notes_of([0, 1, 2, 0], [0, 1, 1, 0]) == ()
    assert notes_of([0, 1] * 6, [1, 0] * 6) == ()


@pytest.mark.parametrize(("inclusion", "is_noted"), [([1.0, 0.3], True), ([0.3, 0.3], False)])
def test_unequal_inclusion_probabilities_are_noted(inclusion: list[float], is_noted: bool) -> None:
    rows = {"topic": ["q", "r"], "doc": ["a", "b"], "grade": [1, 0]}
    people = pl.DataFrame({**rows, "inclusion": inclusion})
    notes = cf.assess.compare_judges(people, {"gpt": pl.DataFrame(rows)}).notes
    text = "different values of inclusion; agreement, bias and calibration count each"
    assert any(text in note for note in notes) == is_noted


def test_lower_bounds_are_values_that_the_statistics_can_have() -> None:
    people = {"1": {"a": 0, "b": 1, "c": 2}, "2": {"a": 2, "d": 0, "e": 1}}
    judge = {"1": {"a": 0, "b": 2, "c": 2}, "2": {"a": 2, "d": 1}}
    table = cf.assess.compare_judges(people, {"llm": judge}).frames()["intervals"]
    low = dict(table.select("statistic", "low").drop_nulls().rows())
    assert low["kappa"] == -1.0
    assert low["alpha"] >= -1.0
