"""Corrected scores of runs: by enumeration of all samples, naively, and on real topics."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.assess import ppi_mean, ppi_scores
from cranfield.assess.estimates.means import Fit
from cranfield.assess.estimates.scores import TopicEstimates
from cranfield.base.errors import CranfieldError, InputError, MeasureError, PolicyError
from cranfield.collection.qrels import Qrels

COVID = cf.bundled.trec_covid()
FRAME = COVID.qrels.to_polars()


def noisy(right: float = 0.6, seed: int = 3) -> Qrels:
    rng = np.random.default_rng(seed)
    guess = rng.integers(0, 3, len(FRAME))
    grades = np.where(rng.random(len(FRAME)) < right, FRAME["grade"].to_numpy(), guess)
    return replace(COVID.qrels, grades=np.maximum(grades, 0).astype(np.int32))


NOISY = noisy()
LINEAR = [
    *("P@2", "P(rel=2)@3", "DCG@3", "DCG(gains='exponential')", "RBP", "RBP(gains='graded')"),
    *("gP@2", "INSQ", "SDCG@3", "NumRelRet@2", "DCG(gains={0: -1, 1: 2})@2"),
]

# A small pool: two topics, and three runs that have some of its documents and one from outside.

RUNS = {
    "a": {"t": {"d1": 5, "d2": 4, "d3": 3, "x": 2}, "u": {"e3": 3, "e1": 2}},
    "b": {"t": {"d4": 5, "x": 4, "d2": 3}, "u": {"e2": 3, "e4": 2, "e1": 1}},
    "c": {"t": {"d3": 1}},
}
HUMAN = {
    "t": {"d1": 2, "d2": 0, "d3": 1, "d4": 3},
    "u": {"e1": 1, "e2": 0, "e3": 2, "e4": 0},
}
JUDGE = {
    "t": {"d1": 1, "d2": 3, "d3": 1, "d4": 0},
    "u": {"e1": 0, "e2": 2, "e3": 2, "e4": 1},
}


def rows_of(human: Any) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "doc": doc, "grade": grade}
        for topic, of in human.items()
        for doc, grade in of.items()
    ]


ROWS = rows_of(HUMAN)


@pytest.mark.parametrize(
    ("measure", "lambda_"),
    [("P(rel=2)@3", 0.0), ("RBP(gains='graded')", 0.7), ("DCG(gains={0: -1, 1: 2})@2", 1.0)],
)
def test_every_sample_with_a_fixed_number_by_topic(measure: str, lambda_: float) -> None:
    """Over all samples estimates average to the scores by all judgments, variances to theirs."""
    truth = cf.evaluate(RUNS, HUMAN, measure)[measure]
    values, variances = [], []
    for some in product(combinations("1234", 2), combinations("1234", 3)):
        taken = {f"{kind}{i}" for kind, one in zip("de", some, strict=True) for i in one}
        sample = [row for row in ROWS if row["doc"] in taken]
        found = ppi_scores(
            RUNS, sample, JUDGE, measure, unit="document", lambda_=lambda_, fixed_topics=True,
            scale=(0, 3),
        )  # fmt: skip
        values.append(found.scores.values)
        variances.append(found.means.standard_error**2)
        np.testing.assert_allclose(found.scores.mean(), found.means.estimate, atol=1e-12)
    assert len(values) == 24
    np.testing.assert_allclose(np.mean(values, axis=0), truth.values, atol=1e-12)
    spread = np.var(np.mean(values, axis=1), axis=0)
    np.testing.assert_allclose(np.mean(variances, axis=0), spread, atol=1e-12)


@pytest.mark.parametrize("measure", ["P@2", "RBP(gains='graded')"])
def test_every_sample_of_documents_drawn_by_themselves(measure: str) -> None:
    chances = {row["doc"]: 0.3 + 0.1 * (i % 5) for i, row in enumerate(ROWS)}
    runs = {name: {"t": run["t"]} for name, run in RUNS.items()}
    human, judge = ({"t": one["t"]} for one in (HUMAN, JUDGE))
    truth = cf.evaluate(runs, human, measure)[measure]
    mean, square, variance = np.zeros((3, 3))
    rows = rows_of(human)
    for kept in product([False, True], repeat=4):
        sample = [{**row, "inclusion": chances[row["doc"]]} for row in rows]
        weight = np.prod([p if k else 1 - p for p, k in zip(chances.values(), kept, strict=False)])
        some = [row for row, k in zip(sample, kept, strict=True) if k]
        # What was judged for another reason has no chance, and does not count.
        some += [{**sample[0], "topic": "t", "doc": "x", "inclusion": 0.0}]
        if not any(kept):
            # Nothing was sampled: the judge alone.
            estimate = 0.6 * cf.evaluate(runs, judge, measure)[measure].values[0]
            error = np.zeros(3)
        else:
            found = ppi_scores(
                runs, columned(some, "inclusion"), judge, measure, unit="document", lambda_=0.6,
                fixed_topics=True, scale=(0, 3),
            )  # fmt: skip
            estimate, error = found.means.estimate, found.means.standard_error
        mean += weight * estimate
        square += weight * estimate**2
        variance += weight * error**2
    np.testing.assert_allclose(mean, truth.values[0], atol=1e-12)
    np.testing.assert_allclose(variance, square - mean**2, atol=1e-12)


def columned(rows: list[dict[str, Any]], *names: str) -> Qrels:
    """Judgments with columns, such as chances."""
    qrels = cf.read_qrels([{key: row[key] for key in ("topic", "doc", "grade")} for row in rows])
    return replace(qrels, columns={name: np.array([row[name] for row in rows]) for name in names})


def test_strata_and_their_sizes() -> None:
    """Grades below 0 mark what was not sampled; with chances it need not be listed."""
    stratum = {"d1": 1, "d2": 1, "d3": 2, "d4": 2, "e1": 1, "e2": 1, "e3": 1, "e4": 1}
    taken = {"d1": 1, "d2": 1, "d3": 1, "d4": 1, "e2": 0.5, "e3": 0.5}
    listed = [
        {
            **row,
            "grade": row["grade"] if row["doc"] in taken else -1,
            "stratum": stratum[row["doc"]],
        }
        for row in ROWS
    ]
    chances = [
        {**row, "stratum": stratum[row["doc"]], "inclusion": taken[row["doc"]]}
        for row in ROWS
        if row["doc"] in taken
    ]
    options: dict[str, Any] = {"unit": "document", "fixed_topics": True, "lambda_": 0.5}
    options["scale"] = (0, 3)
    one = ppi_scores(RUNS, columned(listed, "stratum"), JUDGE, "DCG@3", **options)
    other = ppi_scores(RUNS, columned(chances, "stratum", "inclusion"), JUDGE, "DCG@3", **options)
    for name in ("estimate", "standard_error", "low"):
        np.testing.assert_allclose(getattr(one.means, name), getattr(other.means, name))
    truth = cf.evaluate(RUNS, HUMAN, "DCG@3")["DCG@3"].values
    np.testing.assert_allclose(one.scores.values[0], truth[0])
    # Run b on topic u: e2 and e4 stand first; of four, e2 and e3 are judged.
    e2, e4, e1 = 1.0, 1 / np.log2(3), 0.5
    by_judge = 0.5 * (2 * e2 + 1 * e4 + 0 * e1)
    assert one.scores.values[1, 1] == pytest.approx(by_judge + 2 * (0 - 0.5 * 2) * e2)
    e = np.array([(0 - 0.5 * 2) * e2, 0.0])
    variance = 4**2 * (1 - 2 / 4) * e.var(ddof=1) / 2
    assert one.means.standard_error[1] == pytest.approx(np.sqrt(variance) / 2)


def test_topics_that_people_judged_in_part_have_a_note() -> None:
    people = COVID.qrels.restrict(COVID.qrels.codes < 20)
    whole = ppi_scores(COVID.runs[:2], people, noisy(), "nDCG@10")
    assert whole.notes == ()
    some = people.restrict(np.arange(len(people)) % 4 > 0)
    some_estimate = ppi_scores(COVID.runs[:2], some, noisy(), "nDCG@10")
    first, note = some_estimate.notes
    assert first.startswith("2 of 2 systems have more than 20% unjudged documents in the top 10")
    assert not some_estimate.is_biased.any()
    gaps = f"{len(people) - len(some):,} of {len(people):,} documents"
    assert note.startswith(f"people did not judge {gaps} that the judge labelled in their topics")
    options: dict[str, Any] = {"unjudged": "condensed"}
    assert ppi_scores(COVID.runs[:2], some, noisy(), "nDCG@10", **options).notes == ()
    # A list of relevant documents has no other grades, although people judged the topics wholly.
    relevant = people.restrict(people.grades > 0)
    assert np.allclose(
        ppi_scores(COVID.runs[:2], relevant, noisy(), "nDCG@10").means.estimate,
        whole.means.estimate,
    )


def test_unequal_human_judgments_of_two_systems_have_a_note() -> None:
    """People judged the top 10 of `old` only, of which `new` shares `n_shared` documents."""
    for n_shared, n_notes in ((9, 0), (8, 1), (6, 2)):
        docs = {"old": [f"d{k}" for k in range(10)]}
        docs["new"] = [*docs["old"][:n_shared], *(f"n{k}" for k in range(10 - n_shared))]
        runs = {
            name: {f"q{t}": {doc: -k for k, doc in enumerate(names)} for t in range(8)}
            for name, names in docs.items()
        }
        judge = {
            f"q{t}": {d: int((t + k) % 3 > 0) for k, d in enumerate([*docs["old"], *docs["new"]])}
            for t in range(8)
        }
        people = {
            f"q{t}": {d: int((t + int(d[1])) % 3 == 0) for d in docs["old"]} for t in range(5)
        }
        estimate = ppi_scores(runs, people, judge, "P@10")
        notes = [note for note in estimate.notes if "the top 10 " in note]
        assert len(notes) == n_notes
        assert estimate.is_biased.tolist() == [[False, n_notes > 0], [n_notes > 0, False]]
        if notes:
            start = f"{10 - n_shared}0.0% of the top 10 of 'new' and 0.0% of that of 'old' have no"
            assert notes[-1].startswith(start) and "against 'new'" in notes[-1]
        # A bad result for `new` is no decision if its documents lack judgments.
        decisions = cf.assess.decide({"difference(new, old)": 2}, estimate)
        [row] = decisions.to_polars().to_dicts()
        assert row["verdict"] == ("undecided" if n_notes else "not met")
        assert decisions.verdict[0].endswith("biases the difference." if n_notes else "not met.")
        # A test of these scores has the note, too; one of other systems does not.
        said = " ".join(cf.compare(estimate.scores, test="sign").notes)
        assert ("biases the difference of 'old' and 'new'" in said) == (n_notes > 0)
        condensed = ppi_scores(runs, people, judge, "P@10", unjudged="condensed")
        assert not condensed.is_biased.any()
        # bpref ignores unjudged documents, and a list of relevant documents may be complete.
        assert not ppi_scores(runs, people, judge, "bpref").is_biased.any()
        relevant = {topic: {d: g for d, g in of.items() if g} for topic, of in people.items()}
        assert not ppi_scores(runs, relevant, judge, "P@10").is_biased.any()


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "Judged@10", "P@1"])
def test_few_judged_documents_in_each_topic_are_refused_by_topic(measure: str) -> None:
    """Topics whose top documents are judged are complete, whatever is below them."""
    few = COVID.qrels.restrict(np.arange(len(COVID.qrels)) % 5 == 0)
    with pytest.raises(InputError, match="unit='document'"):
        ppi_scores(COVID.runs[:2], few, noisy(), measure)
    top = pl.concat(run.to_polars().group_by("topic").head(10) for run in COVID.runs[:2])
    people = FRAME.join(top.unique(["topic", "doc"]), ["topic", "doc"], how="semi")
    assert len(people) < 0.1 * len(FRAME)
    found = ppi_scores(COVID.runs[:2], people, noisy(), measure)
    assert np.isfinite(found.means.estimate).all()


def test_topics_that_the_judge_labelled_unequally_have_a_note() -> None:
    runs = {"a": {f"q{k}": {f"d{i}": -i for i in range(10)} for k in range(8)}}
    judge = {
        topic: {doc: (i + len(doc)) % 3 for i, doc in enumerate(docs)}
        for topic, docs in runs["a"].items()
    }
    people = {f"q{k}": {**judge[f"q{k}"], "d0": k % 2} for k in range(4)}
    partial = {
        t: {d: g for d, g in docs.items() if t in people or d < "d5"} for t, docs in judge.items()
    }
    _, note = ppi_scores(runs, people, partial, "P@10").notes
    assert note.startswith(
        "the judge labelled 100% of the top 10 in topics that people judged, and 50% in other"
    )
    assert ppi_scores(runs, people, judge, "P@10").notes == ()
    # Pools differ in size, and the judge labelled all retrieved documents.
    more = {
        t: {**docs, **({f"x{i}": 0 for i in range(30)} if t == "q7" else {})}
        for t, docs in judge.items()
    }
    assert ppi_scores(runs, people, more, "Judged@10").notes == ()


@pytest.mark.parametrize("columns", [None, ["stratum"], ["inclusion"]])
def test_samples_of_pools(columns: list[str] | None) -> None:
    """A sample of a pool goes in as it is; documents that the judge labelled are the pool."""
    pool = cf.assess.pool(COVID.runs[:5], 30)
    drawn = cf.assess.sample(pool, "strata", strata={5: 1.0, 30: 0.4}, seed=2)
    people = drawn.to_qrels(COVID.qrels, columns, unjudged="nonrelevant")
    names = [pool.topics[k] for k in pool.topic]
    frame = pl.DataFrame({"topic": names, "doc": pool.docs})
    judge = frame.join(NOISY.to_polars(), on=["topic", "doc"], how="left").fill_null(0)
    options: dict[str, Any] = {"unit": "document", "fixed_topics": True, "scale": (0, 2)}
    found = ppi_scores(COVID.runs[:5], people, judge, "P@10", alpha=0.001, **options)
    truth = cf.evaluate(COVID.runs[:5], COVID.qrels, "P@10")["P@10"].mean()
    assert ((found.means.low < truth) & (truth < found.means.high)).all()
    # Ranks 1 to 5 of all runs are judged: few documents are left to tell how large the error is.
    assert (found.means.freedom < 60).all()
    assert (found.means.standard_error < 0.02).all()
    if columns is None:
        with pytest.raises(InputError, match="no stratum in the human judgments"):
            ppi_scores(COVID.runs[:5], people, NOISY, "P@10", unit="document")


@pytest.mark.parametrize("measure", LINEAR)
def test_all_judged_is_the_score_itself(measure: str) -> None:
    found = ppi_scores(COVID.runs[:2], COVID.qrels, NOISY, measure, unit="document")
    truth = cf.evaluate(COVID.runs[:2], COVID.qrels, measure)[measure]
    np.testing.assert_allclose(found.scores.values, truth.values, atol=1e-12)
    assert found.scores.topics == truth.topics and found.systems == truth.systems
    np.testing.assert_allclose(found.means.standard_error, truth.std() / np.sqrt(50), rtol=1e-12)


def sampled(size: int, seed: int = 1) -> Qrels:
    """A fixed number of the documents of each topic."""
    rng = np.random.default_rng(seed)
    kept = np.zeros(len(FRAME), dtype=bool)
    for topic in range(len(COVID.qrels.topics)):
        here = np.flatnonzero(COVID.qrels.codes == topic)
        kept[rng.choice(here, min(size, here.size), replace=False)] = True
    return COVID.qrels.restrict(kept)


def test_lambda_is_learned_from_other_topics() -> None:
    """What is said of a topic's sample does not move its own lambda."""
    people = sampled(60)
    frame = people.to_polars()
    changed = frame.with_columns(
        grade=pl.when(pl.col("topic") == "7").then(2 - pl.col("grade").clip(0)).otherwise("grade")
    )
    one, other = (
        ppi_scores(COVID.runs[:3], some, NOISY, "DCG@10", unit="document", scale=(0, 2))
        for some in (frame, changed)
    )
    place = one.scores.topics.index("7")
    assert (one._data.lambda_[place] == other._data.lambda_[place]).all()  # type: ignore[union-attr]
    assert (one._data.lambda_ != other._data.lambda_).any()  # type: ignore[union-attr]


def test_naive_estimate_and_learned_lambda() -> None:
    people = sampled(30)
    found = ppi_scores(COVID.runs[:2], people, NOISY, "P@10", unit="document", folds=50)
    human = {(t, d): g >= 1 for t, d, g in people.to_polars().rows()}
    judge = {(t, d): g >= 1 for t, d, g in NOISY.to_polars().rows()}
    size = dict(FRAME.group_by("topic").len().rows())
    top = {
        topic: rows.sort("score", "doc", descending=True)["doc"].to_list()[:10]
        for (topic,), rows in COVID.runs[0].to_polars().group_by("topic")
    }
    parts = {}
    for topic in found.scores.topics:
        many = size[topic]
        here = [key for key in human if key[0] == topic]
        y, f = (
            np.array([labels[key] / 10 if key[1] in top[topic] else 0.0 for key in here])
            for labels in (human, judge)
        )
        scale = many**2 * (1 - len(here) / many) / len(here)
        whole = sum(judge.get((topic, doc), False) for doc in top[topic]) / 10
        parts[topic] = (y, f, scale, many, whole)
    for place, topic in enumerate(found.scores.topics):
        others = [parts[one] for one in parts if one != topic]
        above = sum(scale * np.cov(y, f)[0, 1] for y, f, scale, _, _ in others)
        below = sum(scale * f.var(ddof=1) for _, f, scale, _, _ in others)
        lambda_ = min(max(above / below, 0), 1)
        y, f, _, many, whole = parts[topic]
        value = lambda_ * whole + many * (y - lambda_ * f).mean()
        assert found.scores.values[place, 0] == pytest.approx(value, abs=1e-12)


def test_differences_of_documents() -> None:
    people = sampled(40)
    for fixed in (False, True):
        found = ppi_scores(
            COVID.runs[:4], people, NOISY, "DCG@10", unit="document", fixed_topics=fixed
        )
        frame = found.estimate_differences()
        assert frame.height == 6
        gap = found.scores.values[:, 0] - found.scores.values[:, 1]
        assert frame["estimate"][0] == pytest.approx(gap.mean())
        error = frame["standard_error"][0]
        if fixed:
            total = float((found.means.standard_error[:2]).sum())
            assert error < total
        else:
            assert error == pytest.approx(gap.std(ddof=1) / np.sqrt(50))
    compared = cf.compare(found.scores, test="t", correction="none").to_polars()
    np.testing.assert_allclose(compared["difference"], frame["estimate"], atol=1e-12)


# By topic


TOPICS = COVID.qrels.codes < 20


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "RR", "ERR@10", "infAP"])
def test_by_topic_is_the_ppi_mean(measure: str) -> None:
    people = COVID.qrels.restrict(TOPICS)
    found = ppi_scores(COVID.runs[:3], people, NOISY, measure)
    y = cf.evaluate(COVID.runs[:3], COVID.qrels, measure)[measure]
    f = cf.evaluate(COVID.runs[:3], NOISY, measure)[measure]
    known = np.isin(y.topics, [COVID.qrels.topics[i] for i in range(20)])
    human = np.where(known[:, None], y.values, np.nan)
    expected = ppi_mean(human.T, f.values.T)
    np.testing.assert_array_equal(found.means.low, expected.low)
    np.testing.assert_allclose(found.by_judge, f.mean())
    pair = ppi_mean(human[:, 0] - human[:, 2], f.values[:, 0] - f.values[:, 2])
    frame = found.estimate_differences()
    assert frame.row(1)[2:6] == pytest.approx(
        [float(getattr(pair, name)) for name in ("estimate", "standard_error", "low", "high")],
        nan_ok=True,
    )
    assert frame["system"].to_list() == [COVID.runs[i].name for i in (0, 0, 1)]
    only = found.estimate_differences(baseline=found.systems[1])
    assert only["other"].unique().to_list() == [found.systems[1]] and only.height == 2


def test_values_that_compare_takes() -> None:
    people = COVID.qrels.restrict(TOPICS)
    found = ppi_scores(COVID.runs[:3], people, NOISY, "nDCG@10")
    assert set(found.scores.topics) == set(COVID.qrels.topics[:20])
    np.testing.assert_allclose(found.scores.mean(), found.means.estimate, atol=1e-12)
    assert found.scores.measure == "PPI nDCG@10"
    assert found.scores.settings["judged by people"] == 20
    compared = cf.compare(found.scores, test="t", correction="none")
    assert compared.to_polars()["n"].to_list() == [20, 20, 20]
    # People only: their own scores of these topics.
    alone = ppi_scores(COVID.runs[:3], people, NOISY, "nDCG@10", lambda_=0)
    truth = cf.evaluate(COVID.runs[:3], people, "nDCG@10")["nDCG@10"]
    np.testing.assert_allclose(
        alone.scores.values, truth.select(list(alone.scores.topics)).values, atol=1e-12
    )


@pytest.mark.parametrize(("judged", "topics"), [(10, 50), (10, 53), (30, 50), (7, 7)])
def test_variance_of_these_values(judged: int, topics: int) -> None:
    """Over many draws of topics the variance that the values tell is that of their mean."""
    rng = np.random.default_rng(judged)
    cov = [[1.0, 0.6, 0.3, 0.2], [0.6, 1, 0.2, 0.3], [0.3, 0.2, 1, 0.5], [0.2, 0.3, 0.5, 1]]
    means, told = [], []
    for _ in range(500):
        both = rng.multivariate_normal(np.zeros(4), cov, topics).T
        human = both[:2].copy()
        human[:, judged:] = np.nan
        values = TopicEstimates(human, both[2:], Fit(0.4)).compute_topic_values()
        gap = values @ [1.0, -1.0]
        means.append(gap.mean())
        told.append(gap.var(ddof=1) / judged)
    # The variance of a variance of 500 means is 2/499 of its square.
    assert np.mean(told) / np.var(means) == pytest.approx(1, abs=4 * np.sqrt(2 / 499))


# What is refused, counted or said


@pytest.mark.parametrize(
    "measure", ["AP", "nDCG@10", "RR", "ERR@10", "R@10", "P(judged_only=True)@5"]
)
def test_no_sum_over_documents(measure: str) -> None:
    with pytest.raises(MeasureError) as error:
        ppi_scores(RUNS, HUMAN, JUDGE, measure, unit="document")
    assert str(error.value).endswith(
        "choose a measure such as P@10, DCG@10 or RBP, or, if people judged whole topics,"
        " unit='topic'"
    )


BY_DOC = {"unit": "document"}
ONE_TOPIC = {"human": {"t": HUMAN["t"]}, "judge": {"t": JUDGE["t"]}}
UNKNOWN_CHANCE = columned([{**row, "inclusion": 1.5} for row in ROWS], "inclusion")
SOME_STRATA = columned([{**row, "stratum": "s"} for row in ROWS[1:]], "stratum")


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({}, {"unit": "page"}, "unknown unit 'page'; expected one of: topic, document"),
        ({}, {"lambda_": 2}, "lambda_ must be a number from 0 to 1"),
        ({}, {"measure": "GMAP"}, "geometric mean"),
        ({}, {"fixed_topics": True}, "fixed_topics requires unit='document'"),
        ({}, {}, "human labels of at least 3 independent items, such as topics, got 2"),
        ({"human": {"v": {"d": 3}}}, {}, "no label of judge for a topic"),
        ({"judge": {"j": JUDGE, "k": JUDGE}}, {}, "expected labels of one judge, got 2"),
        ({"human": {"t": HUMAN["t"]}}, BY_DOC, "at least 2 documents of each topic"),
        ({}, BY_DOC | {"folds": 1}, "folds must be an integer >= 2"),
        ({}, BY_DOC | {"unjudged": "condensed"}, "in condensed lists"),
        ({"human": {**HUMAN, "t": {"z": 3, "d1": 1}}}, BY_DOC, "no label of judge"),
        ({"human": {**HUMAN, "t": {"d1": 3}}}, BY_DOC, "at least two sampled documents"),
        ({}, {"scale": (0, 2)}, "grade 3 is outside the scale 0 to 2"),
        (ONE_TOPIC, BY_DOC, "the variance over topics requires two topics"),
        (ONE_TOPIC, BY_DOC | {"fixed_topics": True}, "learning lambda"),
        ({"human": UNKNOWN_CHANCE}, BY_DOC, "an inclusion probability that is missing"),
        ({"human": SOME_STRATA}, BY_DOC, "but no stratum in the human judgments"),
    ],
)
def test_refused(given: dict[str, Any], options: dict[str, Any], message: str) -> None:
    human, judge = given.get("human", HUMAN), given.get("judge", JUDGE)
    options = {"measure": "P@2", **options}
    with pytest.raises((CranfieldError, InputError, PolicyError)) as error:
        ppi_scores(RUNS, human, judge, options.pop("measure"), **options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_documents_that_the_judge_lacks_are_counted() -> None:
    people = columned([{**row, "inclusion": 0.5} for row in ROWS], "inclusion")
    judge = {**JUDGE, "t": {"d1": 1, "d2": 3}}
    found = ppi_scores(RUNS, people, judge, "P@2", unit="document", scale=(0, 3), lambda_=1)
    assert "2 documents without a label of judge counted as grade 0" in found.notes[-1]
    assert found.means.n_items == 8


def test_small_results() -> None:
    found = ppi_scores({"only": RUNS["a"]}, HUMAN, JUDGE, "DCG@3", unit="document")
    assert repr(found) == "PPIScores(DCG@3, 1 system: 8 of 8 documents judged by people)"
    assert found.estimate_differences().height == 0


def test_limits_of_fixed_topics_do_not_rest_on_few_mistakes() -> None:
    """A judge that agrees on all that was sampled may be wrong on the rest of it."""
    options: dict[str, Any] = {"unit": "document", "fixed_topics": True, "scale": (0, 2)}
    options["clip"] = True
    rng = np.random.default_rng(8)
    taken = rng.random(len(COVID.qrels)) < 0.2
    sample = replace(
        COVID.qrels.restrict(taken), columns={"inclusion": np.full(int(taken.sum()), 0.2)}
    )
    grades = COVID.qrels.grades.copy()
    wrong = ~taken & (rng.random(len(COVID.qrels)) < 0.1)
    grades[wrong] = 0
    judge = replace(COVID.qrels, grades=grades)
    found = ppi_scores(COVID.runs[:5], sample, judge, "P@10", lambda_=1, **options)
    alone = ppi_scores(COVID.runs[:5], sample, judge, "P@10", lambda_=0, **options)
    truth = cf.evaluate(COVID.runs[:5], COVID.qrels, "P@10")["P@10"].mean()
    np.testing.assert_allclose(found.means.standard_error, 0, atol=1e-12)
    np.testing.assert_allclose(
        found.means.high - found.means.low, alone.means.high - alone.means.low
    )
    assert ((found.means.low < truth) & (truth < found.means.high)).all()
    names = ", ".join(run.name for run in COVID.runs[:3])
    assert found.notes[-1].startswith(f"mean of {names}, …: the interval is as wide as by human")
    assert not any("human labels alone" in note for note in alone.notes)


def test_systems_without_unjudged_documents_are_certain() -> None:
    """With all documents of ranks 1 to 10 judged, P@10 has no error, and P@20 has."""
    pool = cf.assess.pool(COVID.runs[:3], 50)
    drawn = cf.assess.sample(pool, "strata", strata={10: 1.0, 50: 0.1})
    people = drawn.to_qrels(COVID.qrels, unjudged="nonrelevant")
    truth = cf.evaluate(COVID.runs[:3], COVID.qrels, ["P@10", "P@20"])
    options: dict[str, Any] = {"unit": "document", "fixed_topics": True, "scale": (0, 2)}
    judge = NOISY.to_polars().join(pool.to_polars(), on=["topic", "doc"], how="semi")
    found = ppi_scores(COVID.runs[:3], people, judge, "P@10", **options)
    for values in (found.means.estimate, found.means.low, found.means.high):
        np.testing.assert_allclose(values, truth["P@10"].mean(), atol=1e-12)
    np.testing.assert_allclose(
        found.estimate_differences()["low"], found.estimate_differences()["high"]
    )
    assert not any("all values are equal" in note for note in found.notes)
    deeper = ppi_scores(COVID.runs[:3], people, judge, "P@20", **options)
    assert (deeper.means.low < deeper.means.high).all()


def test_a_system_without_relevant_documents_in_the_sample_has_no_interval() -> None:
    people = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 0, "c": 0}}
    judge = {topic: {name: int(name in "ae") for name in "abcdef"} for topic in people}
    order = {"good": "aedcbf", "bad": "bcdfea"}
    runs = {
        name: {topic: {doc: -float(k) for k, doc in enumerate(docs)} for topic in people}
        for name, docs in order.items()
    }
    options: dict[str, Any] = {"unit": "document", "fixed_topics": True, "lambda_": 0.7}
    found = ppi_scores(runs, people, judge, "P@3", **options)
    place = found.systems.index("bad")
    assert np.isnan([found.means.low[place], found.means.high[place]]).all()
    assert "mean of bad: no interval can be computed, as all values are equal" in found.notes


def test_scale_of_people_and_judge() -> None:
    """People may have judged no document of the highest grade; a scale or `cut` say otherwise."""
    people = {f"q{k}": {"a": 1, "b": 0} for k in range(4)}
    judge = {f"q{k}": {"a": 2, "b": 0, "c": 3} for k in range(6)}
    runs = {"run": {f"q{k}": {"a": 3.0, "b": 2.0, "c": 1.0} for k in range(6)}}
    found = ppi_scores(runs, people, judge, "ERR@5", lambda_=0)
    # Of a scale from 0 to 3, ERR has the gain (2^1 - 1) / 2^3 for a grade of 1 at rank 1.
    assert found.means.estimate[0] == pytest.approx(1 / 8)
    cut = ppi_scores(runs, people, judge, "ERR@5", lambda_=0, clip=True)
    assert cut.means.estimate[0] == pytest.approx(1 / 2)
    with pytest.raises(InputError, match="grade 3 is outside the scale 0 to 2"):
        ppi_scores(runs, people, judge, "ERR@5", scale=(0, 2))


def test_documents_of_strata_that_were_not_sampled_are_not_judged() -> None:
    runs = {name: {t: {d: -i for i, d in enumerate("abcd")} for t in "xyz"} for name in ("p", "q")}
    judge = {topic: dict(zip("abcd", (1, 0, 1, 0), strict=True)) for topic in "xyz"}
    rows = [
        {"topic": topic, "doc": doc, "grade": int(doc == "a") if doc in "ab" else -1, "stratum": 1}
        for topic in "xyz"
        for doc in "abcd"
    ]
    notes = ppi_scores(runs, pl.DataFrame(rows), judge, "P@2").notes
    assert any(note.startswith("people did not judge 6 of 12 documents") for note in notes)
    compared = cf.assess.compare_judges(pl.DataFrame(rows), judge, scale=(0, 1))
    assert compared.counts["pairs"] == 6
    options: dict[str, Any] = {"unit": "document", "fixed_topics": True, "lambda_": 0.5}
    found = ppi_scores(runs, pl.DataFrame(rows), judge, "P@2", **options)
    # Nor are they grades below 0.
    assert not any("below 0" in note for note in (*notes, *compared.notes, *found.notes))


def test_the_population_of_a_sample_without_a_design_is_stated() -> None:
    runs = {"a": {t: {f"d{k}": -k for k in range(6)} for t in "xyz"}}
    people = {t: {"d0": 1, "d3": 0} for t in "xyz"}
    judge = {t: {f"d{k}": k % 2 for k in range(6)} for t in "xyz"}
    options: dict[str, Any] = {"unit": "document", "lambda_": 1}
    notes = ppi_scores(runs, people, judge, "P@2", **options).notes
    expected = "human judgments are treated as a random sample of the documents that the judge"
    assert notes[0] == f"{expected} labelled: 2 of 6 in each topic"
    more = {t: {**docs, **{f"e{k}": 0 for k in range(30 if t == "x" else 20)}} for t, docs in
            judge.items()}  # fmt: skip
    notes = ppi_scores(runs, people, more, "P@2", **options).notes
    assert notes[0].startswith(f"{expected} labelled: 2 of 26 to 36 in each topic; 70 of these")
    # Without unjudged documents there is no sample to describe.
    notes = ppi_scores(runs, judge, judge, "P@2", **options).notes
    assert not any("random sample" in note for note in notes)


def test_judgments_of_the_first_documents_of_a_system_are_not_a_random_sample() -> None:
    docs = [f"d{k}" for k in range(8)]
    runs = {
        "old": {t: {d: -k for k, d in enumerate(docs)} for t in "xyz"},
        "new": {t: {d: k % 5 for k, d in enumerate(docs)} for t in "xyz"},
    }
    judge = {t: {d: k % 2 for k, d in enumerate(docs)} for t in "xyz"}
    people = {t: {d: 1 - k % 2 for k, d in enumerate(docs[:3])} for t in "xyz"}
    options: dict[str, Any] = {"unit": "document", "lambda_": 1}
    estimate = ppi_scores(runs, people, judge, "P@4", **options)
    assert estimate.is_biased.all()
    assert any(note.startswith("people judged the first documents of 'old'")
               for note in estimate.notes)  # fmt: skip
    decisions = cf.assess.decide({"difference(new, old)": -9}, estimate)
    assert decisions.to_polars()["verdict"].to_list() == ["undecided"]
    # In one topic they are others; in one topic alone it may be by chance; a design says otherwise.
    other = {**people, "z": {"d0": 1, "d1": 0, "d5": 1}}
    single = [{"x": of["x"]} for of in (people, judge)]
    rows = [{**row, "inclusion": 0.5} for row in rows_of(people)]
    for human, labels in ((other, judge), single, (pl.DataFrame(rows), judge)):
        fixed_topics = options | {"fixed_topics": True}
        estimate = ppi_scores(runs, human, labels, "P@4", **fixed_topics)
        assert not estimate.is_biased.any()
        assert not any("first documents" in note for note in estimate.notes)


def test_topics_without_human_judgments_are_counted() -> None:
    judge = {**JUDGE, "v": {"d": 1}, "w": {"d": 1}}
    runs = {"a": {**RUNS["a"], "v": {"d": 1}, "w": {"d": 1}}}
    with pytest.raises(InputError, match="got none for 2 of 4; .*remove the judge's labels"):
        ppi_scores(runs, HUMAN, judge, "P@2", unit="document")
