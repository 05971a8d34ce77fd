"""Whatever `cranfield evaluate` writes by topic reads back; what it writes over all does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import InputError
from cranfield.reporting import score_formats
from tests.collection.refusals import refuses, warns


@pytest.fixture(params=[1, 2])
def evaluation(request: pytest.FixtureRequest) -> cf.Evaluation:
    qrels = {"q0": {"d": 1, "f": 1}, "q1": {"e": 2}}
    runs = [
        cf.read_run({"q0": {"d": 2, "e": 1}, "q1": {"d": 2, "e": 1}}, name="first"),
        cf.read_run({"q0": {"e": 2, "d": 1}, "q1": {"e": 1}}, name="second"),
    ]
    return cf.evaluate(runs[: request.param], qrels, ["AP", "nDCG@10", "NumRet"])


def written(evaluation: cf.Evaluation, form: str, by_topic: bool, folder: Path) -> Path:
    path = folder / f"first.{form}"
    if form == "parquet":
        score_formats.tabulate_scores(evaluation, by_topic=by_topic).write_parquet(path)
    elif form in {"csv", "json"}:
        write = (
            score_formats.format_scores_csv if form == "csv" else score_formats.format_scores_json
        )
        path.write_text(write(evaluation, by_topic=by_topic))
    else:
        path.write_text(
            "\n".join(
                score_formats.format_trec(evaluation, by_topic=by_topic, has_runid=False)
                if form == "trec"
                else score_formats.format_ir_measures(evaluation, by_topic=by_topic, places=4)
            )
        )
    return path


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "trec", "ir_measures"])
@pytest.mark.parametrize("measure", ["AP", "ndcg_cut_10"])
def test_by_topic(form: str, measure: str, evaluation: cf.Evaluation, tmp_path: Path) -> None:
    path = written(evaluation, form, True, tmp_path)
    scores = cf.read_scores(path, measure=measure)
    assert scores.topics == evaluation.topics
    assert scores.systems == evaluation.systems
    np.testing.assert_allclose(scores.values, evaluation[measure].values, atol=5e-5)
    path.rename(tmp_path / "first")
    again = cf.read_scores(tmp_path / "first", measure=measure)
    np.testing.assert_array_equal(again.values, scores.values)


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("lower", [False, True])
def test_a_measure_without_a_name(form: str, lower: bool, tmp_path: Path) -> None:
    scores = cf.read_scores({"a": {"q1": 0.5, "q2": 0.3}, "b": {"q1": 0.4, "q2": 0.2}})
    scores = scores.with_direction(lower)
    path = tmp_path / f"s.{form}"
    frame = score_formats.tabulate_scores({"": scores}, by_topic=True)
    if form == "parquet":
        frame.write_parquet(path)
    elif form == "csv":
        path.write_text(score_formats.format_scores_csv({"": scores}, by_topic=True))
    else:
        path.write_text(score_formats.format_scores_json({"": scores}, by_topic=True))
    again = cf.read_scores(path)
    assert (again.measure, again.topics, again.systems) == ("", ("q1", "q2"), ("a", "b"))
    assert again.values.tolist() == [[0.5, 0.4], [0.3, 0.2]]
    assert again.lower_is_better == (lower and form == "json")
    assert cf.read_scores(path, measure="latency").measure == "latency"


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "trec"])
def test_over_all_topics(form: str, evaluation: cf.Evaluation, tmp_path: Path) -> None:
    path = written(evaluation, form, False, tmp_path)
    with pytest.raises(InputError, match=r"--by-topic") as caught:
        cf.read_scores(path, measure="AP")
    assert str(path) in str(caught.value)


def test_trec_format_has_no_scores_by_topic_of_geometric_means(tmp_path: Path) -> None:
    evaluation = cf.evaluate({"x": {"q": {"d": 1.0}}}, {"q": {"d": 1}}, ["GMAP"])
    with pytest.raises(InputError, match="except for measures such as gm_map in format trec"):
        cf.read_scores(written(evaluation, "trec", True, tmp_path))
    assert cf.read_scores(written(evaluation, "ir_measures", True, tmp_path)).topics == ("q",)


def test_measures_without_scores_by_topic_are_reported(tmp_path: Path) -> None:
    runs, qrels = {"x": {"all": {"d": 1.0}, "q": {"e": 1.0}}}, {"all": {"d": 1}, "q": {"e": 1}}
    evaluation = cf.evaluate(runs, qrels, ["AP", "GMAP", "NumQ"])
    lines = ["map\tq\t1", "map\tall\t1", "gm_map\tall\t1", "num_q\tall\t1", "runid\tall\tx"]
    path = tmp_path / "x.eval"
    path.write_text("\n".join(lines))
    said = "x.eval: measures without scores by topic skipped: gm_map"
    assert warns(said, cf.read_scores, path).measure == "map"
    assert cf.read_scores(path, measure="map").topics == ("q",)
    # In JSON the overall values are separate.
    assert cf.read_scores(written(evaluation, "json", True, tmp_path), measure="AP").topics == (
        "all",
        "q",
    )


def test_an_evaluation_and_its_tables(evaluation: cf.Evaluation, tmp_path: Path) -> None:
    np.testing.assert_array_equal(
        cf.read_scores(evaluation, measure="map").values, evaluation["AP"].values
    )
    evaluation.means().write_csv(tmp_path / "means.csv")
    refuses("expected a column of topics", cf.read_scores, tmp_path / "means.csv")
    long = cf.read_scores(evaluation.to_polars(), measure="AP")
    np.testing.assert_array_equal(long.values, evaluation["AP"].values)
    wide = cf.read_scores(evaluation["AP"].to_pandas(), measure="AP")
    np.testing.assert_array_equal(wide.values, evaluation["AP"].values)


def test_prototext_of_tira(evaluation: cf.Evaluation) -> None:
    if len(evaluation.systems) > 1:
        with pytest.raises(cf.PolicyError, match="one system .*, got 2"):
            list(score_formats.format_prototext(evaluation, places=4))
        return
    text = "\n".join(score_formats.format_prototext(evaluation, places=4))
    assert text.startswith('measure {\n  key: "AP"\n  value: "0.5000"\n}\nmeasure {\n')
    assert text.count("measure {") == 3


@pytest.mark.parametrize("measure", ["AP", "GMAP", "NumRelRet"])
def test_scores_are_summed_up_as_the_measure_is(measure: str, tmp_path: Path) -> None:
    covid = cf.bundled.trec_covid()
    evaluation = cf.evaluate(covid.runs[:4], covid.qrels, measure)
    read = cf.read_scores(written(evaluation, "csv", True, tmp_path), measure=measure)
    np.testing.assert_allclose(
        read.select(systems=list(evaluation.systems)).overall(),
        evaluation[measure].overall(),
        rtol=1e-12,
    )
    one, other = cf.compare(read), cf.compare(evaluation[measure])
    assert one.mean_of == other.mean_of
    np.testing.assert_allclose(sorted(abs(one.difference)), sorted(abs(other.difference)))
