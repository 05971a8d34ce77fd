"""Which column is which: names in any spelling, the index of a frame, and what is left open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import InputError
from tests.collection.refusals import refuses, warns
from tests.evaluation.scorefiles.files import read


@pytest.mark.parametrize(
    "name",
    [
        *("Topic ID", "topic_id", "TopicId", "TOPIC-ID", "topic.id", "Topic", "Topic No"),
        *("qid", "QID", "query", "Query ID", "query_id", "queryId", "q", "Q"),
    ],
)
def test_topics_in_any_spelling(name: str, tmp_path: Path) -> None:
    wide = read(f"{name},a,b\n401,.5,1\n402,0,.25\n", tmp_path)
    assert (wide.topics, wide.systems) == (("401", "402"), ("a", "b"))
    assert wide.values.tolist() == [[0.5, 1], [0, 0.25]]


@pytest.mark.parametrize(
    "names",
    ["system measure score", "Run Metric Value", "run_id metric-name metric_value",
     "runtag measure score", "RunID Metric Value", "name measure score", "Run_Tag measure score"],
)  # fmt: skip
def test_long_tables_in_any_spelling(names: str, tmp_path: Path) -> None:
    system, measure, score = names.split()
    text = f"Shard ID,{system},{measure},Query-Id,{score}\nx,1,AP,7,.5\ny,1,AP,7,.25\n"
    scores = read(text, tmp_path)
    assert (scores.measure, scores.topics, scores.systems) == ("AP", ("7",), ("1",))
    assert scores.values.tolist() == [[[0.5, 0.25]]]


def test_wide_tables_by_measure_and_shard(tmp_path: Path) -> None:
    text = "metric,topic,shard,a,b\nAP,1,x,.5,1\nAP,1,y,0,.25\nRR,1,x,1,1\n"
    scores = read(text, tmp_path, measure="AP")
    assert scores.values.tolist() == [[[0.5, 0], [1, 0.25]]]


def test_columns_of_measures(tmp_path: Path) -> None:
    scores = read("topic,system,AP,RR\n1,a,.5,1\n1,b,.25,.5\n", tmp_path, measure="RR")
    assert (scores.systems, scores.values.tolist()) == (("a", "b"), [[1, 0.5]])
    one = read("topic,map,recip_rank\n1,.5,1\n2,.25,.5\n", tmp_path, "bm25.csv", measure="RR")
    assert (one.systems, one.values.tolist()) == (("bm25",), [[1], [0.5]])
    one = read("qid,score\n1,.5\n2,.25\n", tmp_path, "bm25.csv")
    assert (one.systems, one.values.tolist()) == (("bm25",), [[0.5], [0.25]])


def test_systems_called_like_columns(tmp_path: Path) -> None:
    assert read("topic,run,other\n1,.5,1\n", tmp_path).systems == ("run", "other")
    assert read("p,q\n.5,1\n.25,0\n", tmp_path).systems == ("p", "q")
    assert read("q,p\n.5,1\n.25,0\n", tmp_path).systems == ("q", "p")


def test_the_row_all_is_no_topic(tmp_path: Path) -> None:
    long = "topic,system,score\nq1,a,.5\nall,a,.5\n"
    said = "rows that summarise topics are skipped: 'all'; rename them if they are topics"
    for data in ("topic,a,b\nq1,.5,1\nall,.5,1\n", long):
        assert warns(said, read, data, tmp_path).topics == ("q1",)
    assert warns(said, cf.read_scores, {"a": {"q1": 0.5, "all": 0.5}}).topics == ("q1",)
    # Scores in memory have no summaries.
    scores = cf.Scores(np.array([[0.5], [0.25]]), ("all", "mean"), ("a",), "AP")
    assert cf.read_scores([scores]).topics == ("all", "mean")
    refuses(r"s\.csv: expected scores by topic, got none", read, "topic,a\nall,.5\n", tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        *("Summe", "Gesamtergebnis", "Moyenne", "Total général", "Promedio", "media", "Среднее"),
        *("平均", "p-value", "t", "W/T/L", "Δ", "% change", "GMAP", "Overall mean", "mean ± std"),
        *("Average of all", "95% CI", "# topics"),
    ],
)
def test_rows_that_summarise_topics(name: str, tmp_path: Path) -> None:
    wide = f"topic,a,b\nq1,.5,.25\nq2,.5,.75\n{name},.04,.04\n"
    long = f"topic,system,score\nq1,a,.5\nq2,a,.5\n{name},a,.04\nq1,b,.25\nq2,b,.75\n"
    for text in (wide, long):
        scores = warns("rows that summarise topics are skipped", read, text, tmp_path)
        assert scores.values.tolist() == [[0.5, 0.25], [0.5, 0.75]]


@pytest.mark.parametrize("topics", ["p q t", "media news test", "q1 q2 test"])
def test_topics_called_like_statistics(topics: str, tmp_path: Path) -> None:
    text = "topic,a,b\n{},.5,.25\n{},.25,.75\n{},.125,.625\n".format(*topics.split())
    assert read(text, tmp_path).topics == tuple(topics.split())


@pytest.mark.parametrize(
    ("last", "names", "is_summary"),
    [
        (("0.367", "0.5"), "q1 q2 q3 Kokku", True),  # means, rounded
        (("1.1", "1.5"), "q1 q2 q3 Kokku", True),  # sums
        (("0.367", "0.5"), "q1 q2 q3 q4", False),
        (("0.367", "0.5"), "a b c Kokku", False),
        (("0.367", "0.51"), "q1 q2 q3 Kokku", False),
        (("0.35", "0.5"), "q1 q2 q3 Kokku", False),
    ],
)
def test_a_last_row_that_is_a_mean_or_sum(
    last: tuple[str, str], names: str, is_summary: bool, tmp_path: Path
) -> None:
    values = [("0.1", "0.25"), ("0.2", "0.5"), ("0.8", "0.75"), last]
    rows = [f"{name},{a},{b}\n" for name, (a, b) in zip(names.split(), values, strict=True)]
    text = "topic,a,b\n" + "".join(rows)
    scores = warns("'Kokku'", read, text, tmp_path) if is_summary else read(text, tmp_path)
    assert len(scores.topics) == 4 - is_summary


def test_binary_scores_are_no_means(tmp_path: Path) -> None:
    assert len(read("topic,a\nq1,1\nq2,1\nq3,1\nshoes,1\n", tmp_path).topics) == 4


def test_the_index_of_a_frame(tmp_path: Path) -> None:
    plain = pd.DataFrame({"a": [0.5, 1.0], "b": [0.0, 0.25]})
    assert cf.read_scores(plain).topics == ("1", "2")
    named = plain.set_axis(["q1", "q2"])
    for frame in (named, named.rename_axis("qid"), named.rename_axis("question")):
        scores = cf.read_scores(frame)
        assert (scores.topics, scores.systems) == (("q1", "q2"), ("a", "b"))
        assert scores.values.tolist() == plain.values.tolist()
        frame.to_csv(tmp_path / "s.csv")
        assert cf.read_scores(tmp_path / "s.csv").topics == ("q1", "q2")
        frame.to_parquet(tmp_path / "s.parquet")
        again = cf.read_scores(tmp_path / "s.parquet")
        assert (again.topics, again.systems) == (("q1", "q2"), ("a", "b"))
    numbers = plain.set_axis([401, 402]).rename_axis("question")
    numbers.to_parquet(tmp_path / "s.parquet")
    assert cf.read_scores(tmp_path / "s.parquet").topics == ("401", "402")
    plain.to_parquet(tmp_path / "s.parquet")
    assert cf.read_scores(tmp_path / "s.parquet").topics == ("1", "2")
    assert cf.read_scores(plain.set_axis([401, 402])).topics == ("401", "402")
    assert cf.read_scores(plain.rename_axis("qid")).topics == ("0", "1")
    # Numbers of rows are no scores, not even those of a part of a frame.
    part = pd.DataFrame({"topic": ["x", "y", "z"], "a": [0.0, 0.5, 1.0]}).iloc[1:]
    assert cf.read_scores(part).systems == ("a",)
    part.to_csv(tmp_path / "s.csv")
    assert cf.read_scores(tmp_path / "s.csv").systems == ("a",)


def test_an_index_of_levels() -> None:
    rows = {"topic": ["1", "1"], "system": ["a", "b"], "score": [0.5, 1.0]}
    long = pd.DataFrame(rows).set_index(["topic", "system"])
    assert cf.read_scores(long).values.tolist() == [[0.5, 1]]
    refuses("unknown index level 'None'", cf.read_scores, long.rename_axis([None, None]))
    both = pd.DataFrame([[0.5, 1.0]], columns=pd.MultiIndex.from_tuples([("AP", "a"), ("RR", "a")]))
    refuses("one level of column names", cf.read_scores, both)


def test_missing_values_of_frames() -> None:
    frame = pd.DataFrame({"topic": ["1", "2"], "a": pd.array([1, None], dtype="Int64")})
    assert str(cf.read_scores(frame).values.tolist()) == "[[1.0], [nan]]"
    with pytest.raises(InputError, match="a table:2: has no topic"):
        cf.read_scores(pl.DataFrame({"topic": ["1", None], "a": [1.0, 2.0]}))


def test_unread_columns_of_long_tables() -> None:
    rows = {"topic": ["1", "1"], "system": ["a", "b"], "score": [0.5, 1.0]}
    with pytest.warns(cf.CranfieldWarning, match="a table: columns not used: 'fold', 'p_value'$"):
        cf.read_scores(pl.DataFrame({**rows, "fold": [1, 2], "p_value": [0.1, 0.2]}))
    with pytest.raises(InputError, match="column 'status' .'ok', 'failed'. may be the status"):
        cf.read_scores(pl.DataFrame({**rows, "status": ["ok", "failed"]}))
    assert cf.read_scores(pl.DataFrame({**rows, "fold": [1, 1]})).systems == ("a", "b")


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("success", [True, False], "outcome"),
        ("timeout", [0, 1], "outcome"),
        ("error_message", ["", "boom"], "status"),
        ("http_code", [200, 500], "status"),
        ("weight", [1, 3], "weight"),
        ("unit", ["ms", "s"], "unit of measurement"),
    ],
)
def test_columns_that_change_what_scores_mean(column: str, values: list[Any], kind: str) -> None:
    rows = {"topic": ["1", "2"], "system": "a", "score": [0.5, 0.0], column: values}
    with pytest.raises(InputError, match=f"column '{column}' .* may be the {kind} of rows"):
        cf.read_scores(pl.DataFrame(rows))
    cf.read_scores(pl.DataFrame(rows | {column: values[0]}))
    wide = {"topic": ["1", "2"], "a": [0.5, 0.0], "b": [0.5, 1.0], column: values}
    if kind in {"status", "unit of measurement"} and isinstance(values[0], str):
        with pytest.raises(InputError, match=f"column '{column}' .* may be the {kind} of rows"):
            cf.read_scores(pl.DataFrame(wide))


def test_success_beside_a_threshold() -> None:
    """As in DeepEval, a score below the threshold is not a failure."""
    rows = {"topic": ["1", "2"], "system": "a", "score": [0.75, 0.0], "success": [True, False]}
    with pytest.warns(cf.CranfieldWarning, match="columns not used: 'success'"):
        scores = cf.read_scores(pl.DataFrame(rows | {"threshold": 0.5}))
    assert scores.values.tolist() == [[0.75], [0.0]]


def test_a_column_that_distinguishes_repeated_rows(tmp_path: Path) -> None:
    text = "topic,system,seed,score\nq1,a,3,0.5\nq1,a,4,0.75\n"
    message = r":3: system 'a' has two scores; column 'seed' distinguishes them \('3', '4'\);"
    with (
        pytest.warns(cf.CranfieldWarning, match="columns not used: 'seed'"),
        pytest.raises(InputError, match=f"{message} keep the rows of one value, or name the col"),
    ):
        read(text, tmp_path)
    datasets = "topic,system,dataset,ndcg@10\nq1,a,nq,0.5\nq1,a,fiqa,0.75\n"
    with (
        pytest.warns(cf.CranfieldWarning, match="columns not used: 'dataset'"),
        pytest.raises(InputError, match="two scores; column 'dataset' distinguishes them"),
    ):
        read(datasets, tmp_path)
    numbered = text.replace("score", "ndcg@10")
    refuses("column 'seed' distinguishes them .'3", read, numbered, tmp_path, measure="ndcg@10")
    refuses("got seed, ndcg@10; select one, as in measure='ndcg@10'", read, numbered, tmp_path)


@pytest.mark.parametrize(
    ("others", "names", "values"),
    [
        ("a", "a_se a.ci Δ", [0.125, 0.25]),
        (("bm25", "dense"), "p t wins p_value improvement", [0.125, 0.25]),
        ("a", "fold bm25_rank P-Value a_std mean seed worst", [1, 2]),
        ("ab", "diff n_rel doc_count level_0 x", [12, 30]),
    ],
)
def test_statistics_and_counts_are_no_systems(
    others: Sequence[str], names: str, values: list[Any]
) -> None:
    for name in names.split():
        table = {"topic": ["1", "2"], **{other: [0.5, 1.0] for other in others}, name: values}
        scores = warns(f"read as systems: '{name}'", cf.read_scores, pl.DataFrame(table))
        assert scores.systems == (*others, name)


@pytest.mark.parametrize(
    "systems",
    [
        {"a": [0.5, 0.75], "A_var": [0.125, 0.25]},  # not the name of a column with an error
        {"lambda_rank": [0.5, 0.75], "stdin": [0.5, 1], "folded": [1, 0]},
        {"s": [0.5, 0.75], "t": [0.5, 1], "p": [1, 0]},  # letters
        {"a_mean": [0.5, 0.75], "b_mean": [0.5, 1]},
        {"a": [5, 7], "b": [12, 30]},  # numbers of retrieved documents of all systems
    ],
)
def test_systems_called_like_statistics(systems: dict[str, list[float]]) -> None:
    found = cf.read_scores(pl.DataFrame({"topic": ["1", "2"], **systems}))
    assert found.systems == tuple(systems)


@pytest.mark.parametrize("name", ["id", "row_id", "userId", "Example ID"])
def test_ids_are_no_scores(name: str) -> None:
    table = {"topic": ["q1", "q2"], name: [5, 7], "hybrid": [1, 2], "grid": [2, 1]}
    unused = f"columns not used: '{name}'; they contain ids, not scores"
    assert warns(unused, cf.read_scores, pl.DataFrame(table)).systems == ("hybrid", "grid")
    # Braintrust has the scores in an object.
    nested = {name: [5, 7], "input": ["q1", "q2"], "scores": [{"fluency": 0.5}, {"fluency": 1.0}]}
    refusal = "'scores' is an object with 'fluency'"
    for measure in (None, "fluency"):
        refuses(refusal, cf.read_scores, pl.DataFrame(nested), measure=measure)
    beside = pl.DataFrame(nested | {"x": [0.5, 1.0]})
    refuses(refusal, cf.read_scores, beside, measure="fluency")
    assert warns("nested values and ids", cf.read_scores, beside).systems == ("x",)


@pytest.mark.parametrize("head", ["", "topic"])
def test_topics_as_columns_are_no_systems(head: str, tmp_path: Path) -> None:
    with pytest.warns(cf.CranfieldWarning, match="'301', '302' look like topics"):
        read(f"{head},301,302\nbm25,.2,.3\ndense,.3,.5\n", tmp_path)
    assert read(f"{head},1,2\nq1,.2,.3\nq2,.3,.5\n", tmp_path).systems == ("1", "2")


@pytest.mark.parametrize("name", ["a.json", "a.csv"])
def test_systems_in_rows_of_measures(name: str, tmp_path: Path) -> None:
    text = '{"bm25": {"map": 0.5, "ndcg": 1}, "dense": {"map": 0, "ndcg": 1}}'
    text = ",map,ndcg\nbm25,.5,1\ndense,0,1\n" if name == "a.csv" else text
    scores = warns("'dense' are read as topics of 'a'", read, text, tmp_path, name, measure="map")
    assert scores.values.tolist() == [[0.5], [0.0]]
    text = text.replace("dense", "t2").replace("bm25", "t1")
    assert read(text, tmp_path, name, measure="map").topics == ("t1", "t2")


def test_rows_that_are_no_topics(tmp_path: Path) -> None:
    rows = "".join(f"{k},.5,1\n" for k in range(1, 6))
    warns("rows 'BEIR' are read as topics", read, f"topic,a,b\n{rows}BEIR,.5,1\n", tmp_path)
    assert len(read("topic,a,b\n1,.5,1\nx,.5,1\n", tmp_path).topics) == 2


def test_rows_without_topics_beside_topics(tmp_path: Path) -> None:
    for name, text in {"a": "topic,AP\n1,.5\n2,1\n", "b": "AP\n.5\n1\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(InputError, match=r"b\.csv: expected a column of topics, as in .*a\.csv"):
        cf.read_scores([tmp_path / "a.csv", tmp_path / "b.csv"], measure="AP")


def test_means_of_replicates_are_skipped(tmp_path: Path) -> None:
    text = "topic,system,replicate,score\n1,A,1,.4\n1,A,2,.5\n1,A,mean,.45\n"
    scores = warns("summarise shards or replicates are skipped: 'mean'", read, text, tmp_path)
    assert scores.values.tolist() == [[[0.4, 0.5]]]


def test_scores_outside_the_range_of_their_measure(tmp_path: Path) -> None:
    text = "topic,system,measure,score\n1,a,AP,.31\n2,a,AP,1\n1,b,AP,29\n2,b,AP,-1\n"
    match = "AP has 2 scores outside its range 0 to 1, such as 29 of 'b' on topic '1'"
    warns(match, read, text, tmp_path)
    assert read(text.replace("AP", "DCG").replace("-1", "2"), tmp_path).values.max() == 29


def test_thousands_that_may_be_decimals(tmp_path: Path) -> None:
    warns("1.040, 1.110 are read with", read, "topic;a;b\n1;970;1.040\n2;900;1.110\n", tmp_path)
    assert read("topic;a;b\n1;0.970;1.040\n2;.9;1.110\n", tmp_path).values[0, 1] == 1.04


def test_topics_in_columns() -> None:
    frame = pd.DataFrame({"q1": [0.5, 1.0], "q2": [0.25, 0.5]}, index=["a", "b"])
    refuses("expected topics in rows, got them", cf.read_scores, frame.rename_axis(columns="topic"))
    right = cf.read_scores(frame.rename_axis(columns="topic").T)
    assert (right.topics, right.systems) == (("q1", "q2"), ("a", "b"))


@pytest.mark.parametrize(
    ("name", "lower", "higher"),
    [
        *((name, "true", "no") for name in ("lower is better", "lower_is_better")),
        *((name, "0", "True") for name in ("higherIsBetter", "greater-is-better")),
        *(("direction", low, high) for low, high in (("lower", "higher"), ("asc", "Descending"))),
        ("better", "min", "maximize"),
    ],
)
def test_columns_that_state_the_direction(
    name: str, lower: str, higher: str, tmp_path: Path
) -> None:
    for value, is_lower in ((lower, True), (higher, False)):
        text = f"topic,system,score,{name}\n1,a,.5,{value}\n2,a,.25,{value}\n"
        scores = read(text, tmp_path)
        assert (scores.lower_is_better, scores.has_direction) == (is_lower, True)
        wide = read(f"topic,a,b,{name}\n1,.5,.25,{value}\n2,.25,.5,{value}\n", tmp_path)
        assert (wide.systems, wide.lower_is_better) == (("a", "b"), is_lower)


def test_each_measure_may_have_a_direction() -> None:
    frame = pl.DataFrame({"topic": ["1", "1"], "system": "a", "measure": ["AP", "latency"]})
    frame = frame.with_columns(score=pl.Series([0.5, 9]), lower_is_better=pl.Series([False, True]))
    for measure, is_lower in (("AP", False), ("latency", True)):
        assert cf.read_scores(frame, measure=measure).lower_is_better is is_lower
    wrong = frame.with_columns(lower_is_better=True)
    refuses(
        "expected 'higher is better' for AP",
        cf.read_scores,
        wrong,
        measure="AP",
        error=cf.PolicyError,
    )
    both = pl.concat([frame, frame.with_columns(topic=pl.lit("2"), lower_is_better=False)])
    refuses("4.*'lower_is_better' contradicts the", cf.read_scores, both, measure="latency")
    with pytest.raises(InputError, match="'lower_is_better' must be true or false, got 'maybe'"):
        cf.read_scores(frame.with_columns(lower_is_better=pl.lit("maybe")), measure="AP")


def test_other_columns_of_these_names() -> None:
    frame = pl.DataFrame({"topic": ["1", "2"], "system": "a", "score": [0.5, 0.25]})
    empty = cf.read_scores(frame.with_columns(direction=pl.lit(None, pl.String)))
    assert not empty.has_direction
    with pytest.warns(cf.CranfieldWarning, match="'direction' is not used, as 'en-de' is not"):
        assert not cf.read_scores(frame.with_columns(direction=pl.lit("en-de"))).has_direction
    # A system of a wide table.
    systems = {"topic": ["1", "2"], "base": [0.5, 0.25], "better": [0.75, 0.5]}
    assert cf.read_scores(pl.DataFrame(systems)).systems == ("base", "better")


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_have_no_order_of_topics(kind: type) -> None:
    with pytest.raises(InputError, match=r"a list of scores for system 'a', got .* \((frozen)?set"):
        cf.read_scores({"a": kind([0.5, 0.25]), "b": [0.5, 0.75]})
    assert cf.read_scores({"a": (0.5, 0.25)}).values.ravel().tolist() == [0.5, 0.25]


@pytest.mark.parametrize("names", [("0.3", "0.5", "0.7"), ("7", "1e3", "007"), ("x=0.3", "0.5")])
def test_systems_named_by_numbers_beside_a_column_of_topics(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    rows = [",".join([topic, *(f"0.{k}" for k in range(len(names)))]) for topic in ("q1", "q2")]
    scores = read("\n".join([",".join(["topic", *names]), *rows]), tmp_path)
    assert (scores.systems, scores.topics) == (names, ("q1", "q2"))
    assert scores.values[1].tolist() == [k / 10 for k in range(len(names))]
    # Without a column of topics, numbers may be the scores of the first topic.
    refuses("name the first column topic", read, "\n".join(rows), tmp_path)


def test_thousands_with_a_comma(tmp_path: Path) -> None:
    text = 'topic,a\n1,"1,250"\n2,900\n'
    refuses("remove the comma if it separates thousands", read, text, tmp_path)
    assert read(text.replace("1,250", "1250"), tmp_path).values[0, 0] == 1250


def test_frames_of_which_one_has_topics() -> None:
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.3]})
    other = pd.DataFrame({"b": [0.2, 0.3, 0.5]}, index=["x", "y", "z"])
    refuses("an index 0, 1, .* add a column topic", cf.read_scores, [frame, other])
    scores = cf.read_scores([frame.assign(topic=["x", "y", "z"]), other])
    assert scores.values.tolist() == [[0.1, 0.2], [0.2, 0.3], [0.3, 0.5]]
