"""Predictors of query performance, against values by hand and SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cranfield as cf
from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError, PolicyError
from cranfield.meta import prediction
from cranfield.reporting.references import cite

TOPICS = [f"q{k}" for k in range(1, 7)]
ACTUAL = [0.31, 0.10, 0.44, 0.62, 0.10, 0.25]
WIG = [0.60, 0.40, 0.60, 0.60, 0.15, 0.52]
NQC = [2.10, 1.30, 2.60, 2.30, 1.10, 0.90]
SCORES = {"S1": dict(zip(TOPICS, ACTUAL, strict=True))}
WIDE = {"topic": TOPICS, "wig": WIG, "nqc": NQC}
LONG = pl.DataFrame(WIDE).unpivot(index="topic", variable_name="predictor", value_name="prediction")


def of_one(values: list[float], scores: list[float], **options: Any) -> dict[str, Any]:
    """Evaluate one predictor of one system."""
    topics = [f"q{k}" for k in range(len(values))]
    table = {"topic": topics, "x": values}
    found = prediction({"s": dict(zip(topics, scores, strict=True))}, table, **options)
    row: dict[str, Any] = found.summary.row(0, named=True)
    return row


@pytest.mark.parametrize(
    "predictions",
    [
        *(WIDE, LONG, LONG.with_columns(system=pl.lit("S1"))),
        *(LONG.rename({"prediction": name}) for name in ("value", "score")),
    ],
)
def test_reference_values(predictions: Any) -> None:
    found = prediction(SCORES, predictions)
    wig, nqc = found.summary.select("pearson", "spearman", "tau", "sMARE").rows()
    assert wig == pytest.approx((0.7539896466, 0.9240616555, 0.8486684248, 0.08333333333))
    assert nqc == pytest.approx((0.7873037567, 0.7537023463, 0.5520524475, 0.1666666667))
    assert found.summary["tied predictions"].to_list() == [3, 0]
    assert found.summary["tied scores"].to_list() == [1, 1]
    errors = found.to_polars("topics")["sARE"].to_numpy().reshape(2, 6)
    assert errors[0] == pytest.approx(np.array([1, 0.5, 0, 1, 0.5, 0]) / 6)
    assert errors[1] == pytest.approx(np.array([0, 1.5, 1, 1, 0.5, 2]) / 6)
    assert found.random_smare == pytest.approx(35 / 108)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("min", (0.1111111111, 0.1944444444)), ("max", (0.1111111111, 0.1388888889))],
)
def test_ranks_of_ties(ties: str, expected: tuple[float, float]) -> None:
    assert tuple(prediction(SCORES, WIDE, ties=ties).summary["sMARE"]) == pytest.approx(expected)


def test_analysis_of_variance() -> None:
    found = prediction(SCORES, WIDE)
    topic, predictor, error, total = found.to_polars("anova").rows(named=True)
    assert [row["source"] for row in (topic, predictor)] == ["topic", "predictor"]
    assert [row["SS"] for row in (topic, predictor, error, total)] == pytest.approx(
        [0.02083333333, 0.02083333333, 0.07638888889, 0.1180555556]
    )
    assert (topic["F"], topic["p"]) == pytest.approx((0.2727272727, 0.9098990055))
    assert (predictor["F"], predictor["p"]) == pytest.approx((1.363636364, 0.2955586447))
    assert predictor["omega2"] == pytest.approx(0.02941176471)
    errors = found.to_polars("topics")["sARE"].to_numpy().reshape(2, 6)
    t = stats.ttest_rel(*errors)
    assert t.statistic**2 == pytest.approx(predictor["F"])
    [pair] = found.to_polars("pairs").rows(named=True)
    assert (pair["q"], pair["p"]) == pytest.approx((abs(t.statistic) * 2**0.5, t.pvalue))
    interval = t.confidence_interval()
    assert (pair["low"], pair["high"]) == pytest.approx((interval.low, interval.high))


def test_systems_against_scipy() -> None:
    draw = np.random.default_rng(3)
    topics = [f"t{k}" for k in range(12)]
    scores = draw.random((12, 3)).round(1)
    values = draw.random((4, 12)).round(1)
    table = {"topic": topics} | {f"p{k}": row for k, row in enumerate(values)}
    systems = {f"s{k}": dict(zip(topics, column, strict=True)) for k, column in enumerate(scores.T)}
    found = prediction(systems, table)
    assert found.summary.height == 12
    for row in found.summary.iter_rows(named=True):
        x, y = values[int(row["predictor"][1])], scores[:, int(row["system"][1])]
        assert row["pearson"] == pytest.approx(stats.pearsonr(x, y).statistic)
        assert row["spearman"] == pytest.approx(stats.spearmanr(x, y).statistic)
        assert row["tau"] == pytest.approx(stats.kendalltau(x, y).statistic)
        errors = np.abs(stats.rankdata(x) - stats.rankdata(y)) / 12
        assert row["sMARE"] == pytest.approx(errors.mean())
    sources = ["topic", "predictor", "system", "topic:predictor", "topic:system"]
    sources += ["predictor:system", "Error", "Total"]
    assert found.to_polars("anova")["source"].to_list() == sources
    assert found.to_polars("anova")["DF"].to_list() == [11, 3, 2, 33, 22, 6, 66, 143]
    cube = found.to_polars("topics")["sARE"].to_numpy().reshape(3, 4, 12)
    of_predictors = cube.mean(axis=(0, 2))
    assert found.to_polars("anova")["SS"][1] == pytest.approx(36 * of_predictors.var() * 4)
    tukey = found.to_polars("pairs")
    error = found.to_polars("anova")["MS"][6]
    q = abs(of_predictors[0] - of_predictors[1]) / (error / 36) ** 0.5
    assert tukey["q"][0] == pytest.approx(q)
    assert tukey["p"][0] == pytest.approx(stats.studentized_range.sf(q, 4, 66))


def test_extreme_orders() -> None:
    ascending = [float(k) for k in range(6)]
    assert of_one(ascending[::-1], ascending)["sMARE"] == pytest.approx(0.5)
    assert of_one(ascending[4::-1], ascending[:5])["sMARE"] == pytest.approx(0.48)
    assert of_one(ascending, ascending)["sMARE"] == 0
    lower = of_one(ascending[::-1], ascending, lower_is_better=["x"])
    assert (lower["sMARE"], lower["spearman"]) == (0, pytest.approx(1))


def test_low_latencies_are_good_scores() -> None:
    """High predictions of the topics with the lowest latencies: the right order."""
    topics, latency = [f"q{k}" for k in range(6)], [93, 86, 79, 72, 65, 58]
    predictions = {"topic": topics, "wig": [1, 2, 3, 4, 5, 6]}

    def study(measure: str, **options: Any) -> Any:
        columns = np.array(latency, dtype=float)[:, None]
        scores = cf.Scores(columns, tuple(topics), ("lat",), measure=measure)
        return prediction(scores, predictions, **options)

    # The name suggests the direction, but does not state it.
    unstated = study("latency")
    assert unstated.summary["sMARE"].item() == pytest.approx(0.5)
    assert "latency: higher scores are treated as better" in unstated.notes[0]
    stated = study("latency", lower_is_better=["latency"])
    assert stated.summary["sMARE", "tau"].row(0) == (0.0, pytest.approx(1.0))
    assert stated.by_topic["rank"].to_list() == [1, 2, 3, 4, 5, 6]
    assert stated.by_topic["score"].to_list() == latency
    assert stated.notes == (
        "lower scores of latency are better, so high predictions are expected for low scores",
    )
    assert study("latency", lower_is_better=["latency", "wig"]).summary["tau"].item() == -1
    assert study("quality").notes == ()
    with pytest.raises(PolicyError, match="'higher is better' for AP"):
        prediction(
            cf.Scores(
                np.array([[0.1], [0.2]]),
                ("q0", "q1"),
                ("a",),
                definition=cf.parse_measures("AP")[0],
            ),
            predictions,
            lower_is_better=["AP"],
        )


def test_constants_are_noted() -> None:
    found = prediction(SCORES, {"topic": TOPICS, "flat": [1] * 6})
    # The scores have one tie: mid-ranks 1.5, 1.5, 3, 4, 5, 6.
    row = found.summary.row(0, named=True)
    assert row["sMARE"] == pytest.approx(np.abs(np.array([1.5, 1.5, 3, 4, 5, 6]) - 3.5).mean() / 6)
    assert [row[name] for name in ("pearson", "spearman", "tau")] == [None] * 3
    assert found.notes == (
        "predictions of flat for S1 are constant: correlations are undefined, and sMARE is not"
        " informative",
    )
    assert of_one([1.0] * 6, [0.0, 1, 2, 3, 4, 5])["sMARE"] == pytest.approx(0.25)
    assert [*found.frames()] == ["predictors", "topics"]
    flat = prediction({"s": dict.fromkeys(TOPICS, 0.5)}, WIDE)
    assert flat.notes[0].startswith("scores of s are constant")


def test_only_common_topics_are_ranked() -> None:
    more = {"topic": [*TOPICS, "q8", "q9"], "wig": [*WIG, 9, 0], "nqc": [*NQC, 0, 9]}
    scores = {"S1": SCORES["S1"] | {"q7": 0.9}}
    found = prediction(scores, more)
    assert found.summary.equals(prediction(SCORES, WIDE).summary)
    assert found.notes == (
        "excluded 2 topics with predictions but without a score of at least one system",
        "excluded 1 topic with scores but without a prediction of at least one predictor",
    )
    with pytest.raises(CranfieldError, match=r"got 0; .* such as 'x', predictions such as 'q1'"):
        prediction({"S1": {"x": 1.0}}, WIDE)


def test_systems_without_predictions_are_noted() -> None:
    table = pl.concat([LONG.with_columns(system=pl.lit(name)) for name in ("S1", "S3")])
    found = prediction(SCORES | {"S2": SCORES["S1"]}, table)
    assert found.summary.equals(prediction(SCORES, WIDE).summary)
    assert found.notes == (
        "excluded 1 system with predictions but no scores",
        "excluded 1 system without predictions",
    )
    partial = table.filter((pl.col("system") == "S1") | (pl.col("predictor") == "wig"))
    both = {"S1": SCORES["S1"], "S3": SCORES["S1"]}
    with pytest.raises(CranfieldError, match="'nqc' has no prediction for system 'S3'"):
        prediction(both, partial)
    with pytest.raises(CranfieldError, match="a system with scores, got systems 'S1', 'S3'"):
        prediction({"x": SCORES["S1"]}, table)


def test_a_predictor_without_any_prediction_is_refused() -> None:
    with pytest.raises(CranfieldError, match="'nqc' has no prediction for system 'S1'"):
        prediction(SCORES, WIDE | {"nqc": [None] * 6})


def test_bad_predictions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("topic,predictor,prediction\nq1,wig,1\nq2,wig,2\nq1,wig,3\n")
    with pytest.raises(InputError, match=r"p.csv:4: duplicate prediction for 'q1', 'wig'"):
        prediction(SCORES, path)
    path.write_text("topic,wig\nq1,high\n")
    with pytest.raises(InputError, match=r"p.csv:2: wig 'high' is not a finite number"):
        prediction(SCORES, path)
    path.write_text("topic,query\nq1,a b\n")
    with pytest.raises(InputError, match="expected a column for each predictor"):
        prediction(SCORES, path)
    several = {"bm25": ACTUAL, "dense": NQC}
    for names in (("bm25", "dense"), ("WIG_bm25", "WIG_dense"), ("bm25 nqc", "dense nqc")):
        table = {"topic": [*"123456"], names[0]: WIG, names[1]: NQC}
        with pytest.raises(InputError, match=f"predictors '{names[0]}', '{names[1]}' are"):
            prediction(several, table)
    with pytest.warns(CranfieldWarning, match="'WIG' are usual names of predictors"):
        prediction({"WIG": ACTUAL}, {"topic": [*"123456"], "scq": NQC})
    with pytest.raises(PolicyError, match="unknown predictor in lower_is_better 'nope'"):
        prediction(SCORES, WIDE, lower_is_better=["nope"])
    with pytest.raises(PolicyError, match="ties"):
        prediction(SCORES, WIDE, ties="first")


def test_its_papers_are_known() -> None:
    assert "sMARE" in str(cite(prediction(SCORES, WIDE)))


def test_numbers_of_rows_and_folds_are_not_predictors(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    scores = {"q1": 0.1, "q2": 0.4, "q3": 0.2}
    (tmp_path / "p.csv").write_text(",topic,wig,length\n0,q1,9,2\n1,q2,5,1\n2,q3,7,3\n")
    study = prediction({"a": scores}, tmp_path / "p.csv")
    assert study.summary["predictor"].to_list() == ["wig", "length"]
    assert not recwarn.list
    (tmp_path / "p.csv").write_text("topic,wig,fold,rank\nq1,9,1,1\nq2,5,2,3\nq3,7,1,2\n")
    with pytest.warns(CranfieldWarning, match="columns not used: 'fold', 'rank'"):
        study = prediction({"a": scores}, tmp_path / "p.csv")
    assert study.summary["predictor"].to_list() == ["wig"]
