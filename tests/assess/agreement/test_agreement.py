"""Agreement of assessors: what is compared, intervals over topics, and hostile labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield import CranfieldError, PolicyError
from cranfield.assess import agreement_of, read_labels
from cranfield.assess.agreement.coefficients import COEFFICIENTS
from cranfield.base.streams import make_stream
from tests.assess.agreement.ratings import KRIPPENDORFF
from tests.collection.refusals import refuses

NONE = np.nan
ALL = [*COEFFICIENTS]


def people(seed: int = 0, topics: int = 12, units: int = 15, gaps: float = 0.2) -> tuple[Any, Any]:
    """Ratings of three people who copy the truth in part, and the topic of each unit."""
    rng = np.random.default_rng(seed)
    size = topics * units
    truth = rng.integers(0, 3, size)
    own = rng.integers(0, 3, (size, 3))
    ratings = np.where(rng.random((size, 3)) < [0.8, 0.6, 0.5], truth[:, None], own).astype(float)
    ratings[rng.random(ratings.shape) < gaps] = np.nan
    return ratings, np.repeat(np.arange(topics), units)


def naive_kappa(a: Any, b: Any) -> float:
    grades = np.union1d(a, b)
    agreed = (a == b).mean()
    chance = sum((a == g).mean() * (b == g).mean() for g in grades)
    return float((agreed - chance) / (1 - chance))


def test_jackknife_as_it_is_written() -> None:
    ratings, topics = people()
    found = agreement_of(ratings, "kappa", pairs=True, topics=topics, confidence=0.9)
    assert found.comparisons == (("1", "2"), ("1", "3"), ("2", "3"))
    both = ~np.isnan(ratings[:, [0, 2]]).any(axis=1)
    a, b, of = ratings[both, 0], ratings[both, 2], topics[both]
    value = naive_kappa(a, b)
    logs = np.log(1 - np.array([naive_kappa(a[of != t], b[of != t]) for t in range(12)]))
    half = stats.t.ppf(0.95, 11) * np.sqrt(11 / 12 * ((logs - logs.mean()) ** 2).sum())
    assert found.value[1, 0] == pytest.approx(value, abs=1e-13)
    assert found.high[1, 0] == pytest.approx(1 - np.exp(np.log(1 - value) - half), abs=1e-12)
    assert found.low[1, 0] == pytest.approx(1 - np.exp(np.log(1 - value) + half), abs=1e-12)
    assert found.n_units[1] == both.sum() and found.n_topics.tolist() == [12, 12, 12]


def test_bootstrap_draws_whole_topics() -> None:
    ratings, topics = people(gaps=0.0)
    found = agreement_of(
        ratings[:, :2], "kappa", topics=topics, interval="bootstrap", resamples=40, seed=3
    )
    counts = make_stream(3, 0).multinomial(12, np.full(12, 1 / 12), size=500)[:40]
    drawn = []
    for row in counts:
        rows = np.concatenate([np.flatnonzero(topics == t) for t in np.repeat(range(12), row)])
        drawn.append(naive_kappa(ratings[rows, 0], ratings[rows, 1]))
    np.testing.assert_allclose(found.replicates[:, 0, 0], drawn, atol=1e-13)
    np.testing.assert_allclose(
        [found.low[0, 0], found.high[0, 0]], np.quantile(drawn, [0.025, 0.975]), atol=1e-13
    )
    assert (found.resamples, found.seed) == (40, 3)
    assert "40 resamples, seed 3" in str(found)
    more = agreement_of(
        ratings[:, :2], "kappa", topics=topics, interval="bootstrap", resamples=900, seed=3
    )
    np.testing.assert_array_equal(more.replicates[:40], found.replicates)


@pytest.mark.parametrize("interval", ["jackknife", "bootstrap"])
def test_differences_cancel_what_topics_share(interval: str) -> None:
    ratings, topics = people()
    common: dict[str, Any] = {"topics": topics, "interval": interval, "resamples": 300}
    pairs = agreement_of(ratings, ["kappa", "alpha"], pairs=True, **common)
    one, other = pairs.pick("2", "1"), pairs.pick("1", "3")
    less = one.subtract(other)
    np.testing.assert_allclose(less.value, one.value - other.value)
    np.testing.assert_allclose(less.replicates, one.replicates - other.replicates)
    assert ((less.low < less.value) & (less.value < less.high)).all()
    itself = one.subtract(one)
    assert (itself.value == 0).all() and np.isnan(itself.low).all()
    if interval == "jackknife":
        without = less.replicates[:, 0, 0]
        half = stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * ((without - without.mean()) ** 2).sum())
        assert less.high[0, 0] == pytest.approx(less.value[0, 0] + half, abs=1e-12)
    with pytest.raises(PolicyError, match="the same topic names"):
        alone = common | {"topics": None, "axis": 1}
        one.subtract(agreement_of(ratings, ["kappa", "alpha"], pairs=True, **alone))
    with pytest.raises(PolicyError, match="the same confidence"):
        one.subtract(
            agreement_of(ratings, ["kappa", "alpha"], pairs=True, confidence=0.9, **common)
        )
    with pytest.raises(PolicyError, match="assessors that were compared, got '1', '4'"):
        pairs.pick("1", "4")


def test_forms_of_labels_agree(tmp_path: Path) -> None:
    """An array, judgments by name, rows and a file say the same."""
    ratings, topics = people()
    names = ["ann", "bob", "cid"]
    rows = [
        (f"t{topics[u]}", f"d{u}", names[w], int(ratings[u, w]))
        for u, w in zip(*np.nonzero(~np.isnan(ratings)), strict=True)
    ]
    by_name: dict[str, Any] = {name: {} for name in names}
    for topic, doc, name, grade in rows:
        by_name[name].setdefault(topic, {})[doc] = grade
    file = tmp_path / "labels.csv"
    pl.DataFrame(rows, schema=["topic", "doc", "worker", "grade"], orient="row").write_csv(file)
    first = agreement_of(ratings, topics=[f"t{t}" for t in topics], names=names)
    # Which label comes first does not matter.
    mixed = [rows[k] for k in np.random.default_rng(2).permutation(len(rows))]
    for form in (by_name, rows, mixed, file, cf.assess.read_labels(rows)):
        again = agreement_of(form)
        for name in ("value", "low", "high", "n_units", "n_topics"):
            np.testing.assert_allclose(getattr(again, name), getattr(first, name), atol=1e-12)
        pairs = agreement_of(form, ALL, pairs=True).to_polars()
        own = pl.concat(
            [pairs, pairs.rename({"first": "second", "second": "first"})[pairs.columns]]
        )
        wanted = own.filter((pl.col("first") == "ann") & (pl.col("second") == "cid"))
        both = agreement_of(ratings[:, [0, 2]], ALL, topics=[f"t{t}" for t in topics], pairs=True)
        np.testing.assert_allclose(wanted["value"].to_numpy(), both.value[0], atol=1e-12)


def test_a_named_index_has_the_ids_of_units() -> None:
    """A pivot table of pandas: topics and documents are levels of the index."""
    ratings, topics = people()
    names, ids = ["ann", "bob", "cid"], [f"d{u}" for u in range(len(ratings))]
    expected = agreement_of(ratings, ALL[:1], topics=topics, axis=1)
    frame = pd.DataFrame(ratings, columns=names)
    for index in ({"topic": topics, "doc": ids}, {"topic": topics}, {"qid": topics, "unit": ids}):
        found = agreement_of(frame.set_index([pd.Series(index[k], name=k) for k in index]), ALL[:1])
        assert found.n_topics.tolist() == [12]
        np.testing.assert_allclose(found.low, expected.low, atol=1e-12)
    rows = [
        (topic, doc, name, grade)
        for topic, doc, grades in zip(topics, ids, ratings, strict=True)
        for name, grade in zip(names, grades, strict=True)
        if grade == grade
    ]
    long = pd.DataFrame(rows, columns=["topic", "doc", "worker", "grade"])
    found = agreement_of(long.set_index(["topic", "doc", "worker"]), ALL[:1])
    np.testing.assert_allclose(found.low, expected.low, atol=1e-12)
    # The names of the rows are not ratings, and assessors may be in rows.
    by_row = frame.T.rename_axis("worker")
    by_row.columns = ids
    for data, axis in ((frame.rename_axis("unit"), None), (by_row, 0)):
        found = agreement_of(data, ALL[:1], axis=axis)
        np.testing.assert_allclose(found.value, expected.value, atol=1e-12)


def test_against_one() -> None:
    ratings, topics = people()
    names = ["ann", "bob", "cid"]
    found = agreement_of(ratings, "kappa", reference="bob", topics=topics, names=names)
    assert {*found.comparisons} == {("bob", "ann"), ("bob", "cid")}
    assert found.to_polars().columns[:3] == ["first", "second", "measure"]
    with pytest.raises(PolicyError, match="unknown assessor 'eve'"):
        agreement_of(ratings, reference="eve", topics=topics, names=names)
    square = agreement_of(ratings, "kappa", pairs=True, names=names).matrix()
    assert square["assessor"].to_list() == names
    assert square["bob"][0] == square["ann"][1]
    with pytest.raises(PolicyError, match="use pairs=True"):
        agreement_of(ratings, "alpha", axis=1).matrix()


def test_of_two_with_gaps_all_labels_count_for_chance() -> None:
    """Gwet (2014): shares of grades are of all units with a label, agreement of those of two."""
    ratings = np.array([[0, 0], [1, 1], [0, 1], [1, NONE], [1, NONE]])
    found = agreement_of(ratings, ["AC1", "kappa", "observed"], axis=1, interval="none")
    share = (1 + 0 + 0.5 + 0 + 0) / 5
    chance = 2 * share * (1 - share)
    np.testing.assert_allclose(found.value[0], [(2 / 3 - chance) / (1 - chance), 0.4, 2 / 3])
    assert found.n_units.tolist() == [3]
    # Only with this note do the values of both calls, with one row each, not contradict.
    assert found.notes == (
        "AC1 and AC2: chance agreement is also estimated from 2 units with only one label",
    )
    paired = agreement_of(ratings, "AC1", axis=1, pairs=True, interval="none")
    assert paired.n_units.tolist() == [3] and paired.notes == ()


def test_scale_that_was_not_used_up() -> None:
    """AC1 depends on the number of grades, kappa and alpha do not."""
    ratings = [[0, 0], [1, 1], [0, 1]]
    used, whole = (
        agreement_of(
            ratings, ["AC1", "kappa", "alpha"], axis=1, grades=grades, interval="none"
        ).value[0]
        for grades in (None, range(4))
    )
    assert whole[0] == pytest.approx((2 / 3 - 1 / 6) / (5 / 6))
    assert used[0] != pytest.approx(whole[0])
    np.testing.assert_allclose(used[1:], whole[1:])


def test_repeated_labels_are_not_agreement() -> None:
    rows = [("q", "d", "ann", 1, 1), ("q", "d", "ann", 0, 2), ("q", "d", "bob", 0, 3)]
    rows += [("q", "e", "ann", 1, 4), ("q", "e", "bob", 1, 5)]
    labels = cf.assess.read_labels(rows, repeats="keep")
    found = agreement_of(labels, "observed", interval="none")
    assert found.value[0, 0] == 1.0
    assert "1 label replaced by a later one" in found.notes[0]


NOTED = [
    ([[1, 1], [1, 1]], ["a", "b"], "undefined"),
    ([[1, NONE], [NONE, 0]], ["a", "b"], "undefined"),
    ([[1, 1], [1, 0], [0, 0]], ["a", "a", "a"], "at least two are required"),
    ([[1, 1], [0, 0]] * 2, ["a", "a", "b", "b"], "without a confidence interval"),
    ([[1, 0], [0, 0], [1, 1]] * 3, list("aaabbbccc"), "fewer than 10 topics are approximate"),
]


@pytest.mark.parametrize(("ratings", "topics", "note"), NOTED)
@pytest.mark.parametrize("interval", ["jackknife", "bootstrap"])
def test_what_is_undefined_is_said(
    ratings: Any, topics: list[str], note: str, interval: str
) -> None:
    found = agreement_of(ratings, "kappa", topics=topics, axis=1, interval=interval, resamples=50)
    assert any(note in line for line in found.notes)
    if "approximate" not in note:
        assert np.isnan(found.low).all() and np.isnan(found.high).all()
    assert note in str(found)


def test_an_array_says_which_axis_are_the_assessors() -> None:
    measures = ["alpha(nominal)", "alpha(ordinal)", "alpha(interval)", "alpha(ratio)"]
    observers = list("abcd")
    frame = pl.DataFrame(dict(zip(observers, KRIPPENDORFF, strict=True)))
    for data, options in (
        (KRIPPENDORFF, {"axis": 0}),
        (KRIPPENDORFF.T, {"axis": 1}),
        (KRIPPENDORFF, {"names": observers}),
        (KRIPPENDORFF.T, {"names": observers}),
        (KRIPPENDORFF, {"topics": ["t"] * 12}),
        (KRIPPENDORFF.tolist(), {"axis": 0}),
        (frame, {}),
        (frame.to_pandas(), {}),
        (pd.DataFrame(KRIPPENDORFF), {"axis": 0}),
        (pd.DataFrame(KRIPPENDORFF, columns=[f"d{k}" for k in range(12)]), {"axis": 0}),
    ):
        found = agreement_of(data, measures, interval="none", **options)
        # Krippendorff's own results.
        np.testing.assert_allclose(found.value[0], [0.743, 0.815, 0.849, 0.797], atol=5e-4)
    square = KRIPPENDORFF[:, :4]
    for data, options in (
        (KRIPPENDORFF, {}),
        (KRIPPENDORFF.T, {}),
        (KRIPPENDORFF.T.tolist(), {}),
        (pd.DataFrame(KRIPPENDORFF), {}),
        (pl.DataFrame(KRIPPENDORFF), {}),
        (square, {"names": observers}),
        (KRIPPENDORFF, {"axis": 2}),
        (frame.transpose(column_names=[f"d{k}" for k in range(12)]), {}),
    ):
        with pytest.raises(PolicyError, match="axis"):
            agreement_of(data, measures, **options)


REFUSED = [
    ({"annotations": [[1], [0]]}, "at least two assessors"),
    ({"annotations": [[1, np.inf]]}, "infinity"),
    ({"annotations": np.array([["1", "x"]])}, "ratings must be numbers"),
    ({"annotations": [[NONE, NONE]]}, "expected ratings"),
    ({"annotations": np.empty((0, 2))}, "expected ratings"),
    ({"annotations": [[1, 2], [1]]}, "ratings must be numbers"),
    ({"annotations": np.zeros((2, 2, 2))}, "got shape .2, 2, 2."),
    ({"annotations": [[1, 0]], "measures": "gamma"}, "'gamma'; expected one of: observed"),
    ({"annotations": [[1, 0]], "measures": "kappa(cubic)"}, "kappa accepts nominal"),
    ({"annotations": [[1, 0]], "measures": "observed(linear)"}, "observed accepts rel=GRADE"),
    ({"annotations": [[1, 0]], "measures": "AC2(ordinal)"}, "does not support the ordinal"),
    ({"annotations": [[1, 0]], "measures": []}, "at least one measure"),
    ({"annotations": [[1, 0, 1]], "measures": "kappa"}, "kappa requires two assessors"),
    ({"annotations": [[-1, 0]], "measures": "alpha(ratio)"}, "ratio distances require grades >= 0"),
    ({"annotations": [[1, 0]], "interval": "exact"}, "interval 'exact'"),
    ({"annotations": [[1, 0]], "confidence": 95}, "between 0 and 1"),
    ({"annotations": [[1, 0]], "resamples": 0}, "resamples"),
    ({"annotations": [[1, 0]], "seed": -1}, "seed"),
    ({"annotations": [[1, 0]], "topics": ["a", "b"]}, "expected 1 topic"),
    ({"annotations": [[1, 0]], "names": ["a"]}, "names must be 2"),
    ({"annotations": [[1, 0]], "names": ["a", "a"]}, "names must be 2"),
    ({"annotations": [[1, 4]], "grades": [0, 1]}, "unknown grade 4; expected one of: 0, 1"),
    ({"annotations": [[1, 0]], "grades": [0, NONE, 1]}, "finite numbers"),
    ({"annotations": [[1, NONE]], "pairs": True}, "no two assessors labelled the same unit"),
    (
        {"annotations": [[1, 1, NONE], [NONE, NONE, 1]], "axis": 1, "reference": "3"},
        "assessor '3' has no unit in common with another",
    ),
    ({"annotations": {"ann": {"q": {"d": 1}}}}, "at least two assessors"),
    (
        {"annotations": {"ann": {"q": {"d": 1}}}, "topics": ["q"]},
        "apply to arrays and data frames, got labels",
    ),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_refused_in_one_line(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(CranfieldError, match=reason) as caught:
        agreement_of(
            **options if isinstance(options["annotations"], dict) else {"axis": 1} | options
        )
    assert "\n" not in str(caught.value)


def test_too_many_grades_are_refused_before_memory_is_gone() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(
        CranfieldError, match="1 topic by 40,000 grades by 40,000 other grades; merge"
    ):
        agreement_of(rng.random((20_000, 2)), axis=1)


@pytest.mark.filterwarnings("ignore:the values of each unit sum")
@given(st.integers(0, 2**32 - 1))
@example(843)
@example(16136)
@example(112440)
@settings(max_examples=40, deadline=None)
def test_hostile_ratings_end_in_numbers_or_one_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = rng.integers(0, 8), rng.integers(0, 5)
    pool = rng.choice([0, 1, 1, 2, -3, 2**31 - 1, -(2**31), 0.5, 1e300, NONE, NONE], 4)
    ratings = rng.choice(pool, shape)
    topics = rng.choice(["", "q1", "\x1b[31m", "é"], shape[0])
    interval = str(rng.choice(["jackknife", "bootstrap", "none"]))
    pairs = bool(rng.integers(2))
    measures = [one for one in ALL if one != "kappa" or pairs or shape[1] == 2]
    try:
        found = agreement_of(
            ratings, measures, pairs=pairs, topics=topics, interval=interval, resamples=20
        )
    except CranfieldError as error:
        assert "\n" not in str(error)
        return
    value = found.value[~np.isnan(found.value)]
    assert (value <= 1 + 1e-9).all()
    known = ~np.isnan(found.low)
    assert (found.low[known] <= found.high[known]).all() and (found.high[known] <= 1).all()
    # AC2 can be below -1; so can those whose chance agreement is of all units, where labels lack.
    below = ("AC", "fleiss") if interval == "bootstrap" else ("AC2",)
    least = np.where([one.startswith(below) for one in found.measures], -np.inf, -1)
    assert (found.low >= least)[known & (found.value >= -1)].all()
    assert np.isnan(found.value).any() == any("undefined:" in note for note in found.notes)
    assert "\x1b" not in str(found)
    json.dumps(found.to_polars().fill_nan(None).to_dicts())


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_names_and_orders_do_not_matter(seed: int) -> None:
    ratings, topics = people(seed, topics=4, units=5)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(ratings)), rng.permutation(3)
    first = agreement_of(ratings, topics=topics)
    again = agreement_of(ratings[rows][:, columns], topics=topics[rows])
    np.testing.assert_allclose(again.value, first.value, atol=1e-12)
    np.testing.assert_allclose(again.low, first.low, atol=1e-9)
    # A scale shifted or stretched changes nothing but ratios.
    moved = agreement_of(ratings * 7 - 3, ["alpha", "AC2", "alpha(interval)"], topics=topics)
    plain = agreement_of(ratings, ["alpha", "AC2", "alpha(interval)"], topics=topics)
    np.testing.assert_allclose(moved.value, plain.value, atol=1e-12)


NOT_ASSESSORS: dict[str, list[float]] = {
    **{"index": [0, 1, 2], "Unnamed: 0": [0, 1, 2], "mean": [0, 1, 2], "Median": [0, 1, 2]},
    **{"adjudicated": [0, 1, 2], "final": [0, 1, 2], "Consensus": [0, 1, 1]},
    **{"majority_vote": [0, 1, 1], "agreement": [1, 1, 0], "n_annotators": [2, 2, 2]},
    **{"word_count": [0, 1, 2], "length": [0, 1, 2], "weight": [1, 1, 2], "max_grade": [0, 1, 2]},
    # By their values, beyond those of all other columns.
    **{"Zeichen": [120, 240, 99], "logprob": [-0.5, -2.5, -1.5]},
}


@pytest.mark.parametrize("name", NOT_ASSESSORS)
def test_columns_that_are_no_assessors(name: str) -> None:
    ratings = pl.DataFrame({"ann": [0, 1, 2], "bob": [0, 1, 1]})
    with pytest.warns(cf.CranfieldWarning, match=f"read as assessors: '{name}'"):
        agreement_of(ratings.with_columns(pl.Series(name, NOT_ASSESSORS[name])))


@pytest.mark.parametrize("names", ["meana norman", "ann_final bob_final", "carl dora"])
def test_columns_that_are_assessors(names: str) -> None:
    ratings = pl.DataFrame({"ann": [3, 4, 3], "bob": [0, 1, 1]})
    others = [pl.Series(name, [0, 3, 4]) for name in names.split()]
    agreement_of(pl.DataFrame(others) if "final" in names else ratings.with_columns(*others))
    agreement_of(ratings.with_columns(pl.lit(None, pl.Float64).alias("carl")))


def test_a_column_of_grades_among_assessors_is_named() -> None:
    ratings = pl.DataFrame({"ann": [0, 1, 2], "bob": [0, 1, 1], "gold": [0, 1, 2]})
    refuses("got column 'gold', .* remove or rename it", agreement_of, ratings)


@pytest.mark.parametrize("name", ["id", "Subject", "wine"])
def test_ids_of_units_are_not_ratings(name: str) -> None:
    """Frames of R and pandas often count the units in their first column."""
    ratings = pl.DataFrame({"ann": [0, 1, 2, 2, 0, 1], "bob": [0, 1, 1, 2, 0, 0]})
    units = pl.DataFrame({name: [1, 2, 3, 4, 5, 6]})
    expected = agreement_of(ratings).value
    with pytest.warns(cf.CranfieldWarning, match=f"columns read as ids of units: '{name}'"):
        agreement = agreement_of(pl.concat([units, ratings], how="horizontal"))
    assert agreement.comparisons == (("ann", "bob"),)
    assert agreement.value == pytest.approx(expected)


def test_ranks_are_ratings() -> None:
    ranks = pl.DataFrame({"ann": [1, 2, 3, 4, 5], "bob": [2, 1, 3, 5, 4]})
    assert agreement_of(ranks).comparisons == (("ann", "bob"),)


def test_counts_of_labels_are_not_ratings() -> None:
    """The input of statsmodels' fleiss_kappa has a column for each grade."""
    counts = np.array([[3, 0], [0, 3], [1, 2], [3, 0]])
    with pytest.warns(cf.CranfieldWarning, match="the values of each unit sum to 3, as counts"):
        agreement_of(counts, axis=1)
    agreement_of(np.array([[3, 0], [0, 3], [1, 2], [3, 1]]), axis=1)


def test_ratings_of_words_and_truth_values() -> None:
    truths = pl.DataFrame({"ann": [True, False, True], "bob": [True, True, True]})
    assert agreement_of(truths, "observed").value.item() == pytest.approx(2 / 3)
    words = pl.DataFrame({"ann": ["yes", "no"], "bob": ["yes", "yes"]})
    with pytest.raises(cf.InputError, match="got text in column 'ann'; for other names, use read"):
        agreement_of(words)
    labels = read_labels(words, worker_columns=["ann", "bob"], grades={"yes": 1, "no": 0})
    assert any(note.startswith("no column of documents: each row is a") for note in labels.notes)
    assert agreement_of(labels, "observed").value.item() == 0.5


def test_advice_names_the_function_with_the_option() -> None:
    rows = [{"doc": "a", "who": "ann", "grade": 1}]
    with pytest.raises(cf.InputError, match="use cf.assess.read_labels with worker_columns="):
        agreement_of(rows)
