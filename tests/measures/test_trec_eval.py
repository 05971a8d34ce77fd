"""trec_eval: its own test files line by line, and pytrec_eval on real and random data."""

from __future__ import annotations

import gzip
import lzma
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.cli.main import app
from cranfield.measures.aliases import find_trec_name
from tests.conftest import TREC_EVAL


def printed(*arguments: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cf.CranfieldWarning)
        result = CliRunner().invoke(app, ["evaluate", *arguments, "--format", "trec"])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def expected(name: str) -> list[str]:
    return (TREC_EVAL / name).read_text().splitlines()


QRELS, RESULTS = str(TREC_EVAL / "qrels.test.gz"), str(TREC_EVAL / "results.test.gz")
TRUNCATED = str(TREC_EVAL / "results.trunc.gz")
LEVELS = str(TREC_EVAL / "qrels.rel_level.gz")


def differing(ours: list[str], theirs: list[str]) -> dict[str, str]:
    """Lines that are not the same: 'measure topic' with both values."""

    def table(lines: list[str]) -> dict[str, str]:
        keys = (line.split("\t") for line in lines)
        return {f"{name.strip()} {topic}": value for name, topic, value in keys}

    mine, other = table(ours), table(theirs)
    return {
        key: f"{mine.get(key)} {other.get(key)}"
        for key in {**mine, **other}
        if mine.get(key) != other.get(key)
    }


def test_official_lines() -> None:
    lines = printed(QRELS, RESULTS, "-m", "official", "--compat", "trec_eval-10")
    assert lines == expected("out.test")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("out.test.a", (QRELS, RESULTS)), ("out.test.aq", (QRELS, RESULTS, "-q"))],
)
def test_all_lines_of_version_10(name: str, arguments: tuple[str, ...]) -> None:
    lines = printed(*arguments, "-m", "all_trec", "--compat", "trec_eval-10")
    assert lines == expected(name)


def test_lines_where_versions_9_and_10_differ() -> None:
    """Version 10 rounds levels of recall to the nearest; and it adds rbp, rbp_resid and unj."""
    lines = printed(QRELS, RESULTS, "-m", "all_trec", "--compat", "trec_eval")
    assert differing(lines, expected("out.test.a")) == {
        "iprec_at_recall_0.10 all": "0.3884 0.3885",
        "iprec_at_recall_0.60 all": "0.0822 0.0858",
        "11pt_avg all": "0.1958 0.1962",
        "rbp all": "None 0.3234",
        "rbp_resid all": "None 0.0204",
        "unj_5 all": "None 0.0000",
        "unj_10 all": "None 0.0000",
        "unj_20 all": "None 0.0333",
    }


@pytest.mark.parametrize("name", ["out.test.aqc", "out.test.aqcM"])
def test_missing_topics_and_depth(name: str) -> None:
    """Nothing is known of a ranking that is not there: its residual is 1, where theirs is 0."""
    more = ("--depth", "100") if name.endswith("M") else ()
    arguments = (QRELS, TRUNCATED, "-q", "-m", "all_trec", "--topics", "qrels", *more)
    lines = printed(*arguments, "--compat", "trec_eval-10")
    assert differing(lines, expected(name)) == {
        "rbp_resid 302": "1.0000 0.0000",
        "rbp_resid all": "0.3553 0.0220",
    }


def test_relevance_level() -> None:
    """Their rbp divides gains by the highest grade of the topic, ours by that of all topics.

    The other lines were asked for with `relstring.20`, for which there is no option here.
    """
    arguments = (LEVELS, RESULTS, "-q", "-l", "2", "-m", "all_trec", "--compat", "trec_eval-10")
    different = differing(printed(*arguments), expected("out.test.aql"))
    assert {key.split()[0] for key in different} == {"rbp", "relstring", "relstring_20"}
    assert different["rbp 302"] == "0.5721 0.7628"
    short, long = different["relstring 302"].split()[0], different["relstring_20 302"].split()[1]
    assert long.startswith(short.rstrip("'"))


def test_parameters() -> None:
    """All but 11pt_avg with levels of one's own, which is not supported."""
    names = ["iprec_at_recall.0.1,.2,.25,.5,.75", "P.3,5,7", "recall.20,2000"]
    names += ["Rprec_mult.0.2,0.35,5.0", "utility.2,-1,0,0", "ndcg.1=3,2=9,4=4.5"]
    names += ["ndcg_cut.10,20,23", "success.2,5,20"]
    asked = [part for name in names for part in ("-m", name)]
    lines = printed(QRELS, RESULTS, "-q", *asked, "--compat", "trec_eval-10")
    different = differing(lines, expected("out.test.meas_params"))
    assert {key.split()[0] for key in different} == {"11pt_avg_.25,.5,.75"}


def agreement(
    run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]], compat: Any = "trec_eval-9"
) -> int:
    """Compare every measure that pytrec_eval has, topic by topic; return how many values."""
    theirs = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(run)
    evaluation = cf.evaluate(run, qrels, "all_trec", compat=compat)
    values = 0
    per_topic = {"gm_map": "map", "gm_bpref": "bpref"}
    for measure in evaluation.measures:
        name = find_trec_name(measure)
        scores = evaluation[str(measure)].values[:, 0]
        for topic, ours in zip(evaluation.topics, scores, strict=True):
            if topic not in theirs:
                assert np.isnan(ours)
            elif name != "num_q":
                other = theirs[topic][per_topic.get(name, name)]
                # What trec_eval leaves undefined for an empty list is 0 here.
                assert abs(ours - (0.0 if np.isnan(other) else other)) <= 1e-9, (topic, name)
                values += 1
    return values


ids = st.integers(0, 30).map(lambda n: f"d{n}")
scores_ = st.sampled_from([3.0, 2.5, 2.0, 1.0, 1.0 + 1e-9, 0.5, -1.0])
random_runs = st.dictionaries(
    st.sampled_from(["1", "2", "30"]),
    st.dictionaries(ids, scores_, min_size=1, max_size=25),
    min_size=1,
)
# pytrec_eval crashes on a topic whose grades are all negative.
random_qrels = st.dictionaries(
    st.sampled_from(["1", "2", "30"]),
    st.dictionaries(ids, st.integers(-2, 3), min_size=1, max_size=25).filter(
        lambda docs: max(docs.values()) >= 0
    ),
    min_size=1,
)


@pytest.mark.filterwarnings("ignore:the runs look like judgments")
@settings(max_examples=30)
@given(random_runs, random_qrels)
def test_random_data(run: dict[str, Any], qrels: dict[str, Any]) -> None:
    if run.keys() & qrels.keys():
        assert agreement(run, qrels) > 0


@pytest.mark.parametrize(
    ("runs", "judgments", "sample"),
    [
        ("trec-covid-r5/runs", "trec-covid-r5/qrels.covid-round5.txt.gz", 6),
        ("trec8-adhoc/runs", "trec8-adhoc/qrels.trec8.adhoc.txt.gz", 3),
    ],
)
def test_real_runs(shared: Path, runs: str, judgments: str, sample: int) -> None:
    """A sample of the runs; the study `trec_eval_agreement` takes all of them."""
    with gzip.open(shared / judgments, "rt") as file:
        qrels = pytrec_eval.parse_qrel(file)
    files = sorted((shared / runs).iterdir())
    for path in files[:: len(files) // sample]:
        with lzma.open(path, "rt") as file:
            run = pytrec_eval.parse_run(file)
        assert agreement(run, qrels) > 4000
