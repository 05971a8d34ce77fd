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
                score_formats.format_trec(evaluation, by_topic=by_topic, runid=False)
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


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "trec"])
def test_over_all_topics(form: str, evaluation: cf.Evaluation, tmp_path: Path) -> None:
    path = written(evaluation, form, False, tmp_path)
    with pytest.raises(InputError, match=r"--by-topic") as caught:
        cf.read_scores(path, measure="AP")
    assert str(path) in str(caught.value)


def test_measures_without_scores_by_topic_are_reported(tmp_path: Path) -> None:
    runs, qrels = {"x": {"all": {"d": 1.0}, "q": {"e": 1.0}}}, {"all": {"d": 1}, "q": {"e": 1}}
    evaluation = cf.evaluate(runs, qrels, ["AP", "GMAP", "NumQ"])
    lines = ["map\tq\t1", "map\tall\t1", "gm_map\tall\t1", "num_q\tall\t1", "runid\tall\tx"]
    path = tmp_path / "x.eval"
    path.write_text("\n".join(lines))
    said = "x.eval: gm_map skipped, with a value over all topics, but no scores by topic"
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
    refuses("no column of topics", cf.read_scores, tmp_path / "means.csv")
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
