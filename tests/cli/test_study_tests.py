"""The command `study tests`."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

import cranfield as cf
from cranfield.meta import false_positives, split_topics
from tests.cli.running import cranfield, refusals, refused

RUNS = tuple(f"s{s}.run" for s in range(6))
SMALL = ("--sizes", "3,6", "--repeats", "5")
RUN_FILES = ("study", "tests", "qrels.txt", *RUNS, "-m", "AP", *SMALL)
SCORES = ("study", "tests", "--scores", "scores.csv", *SMALL)


def test_it_is_what_the_library_says(campaign: Path) -> None:
    more = ("-t", "md2", "-t", "t+bh", "--teams", "teams.csv", "--false-positives", "10")
    out, err = cranfield(campaign, *RUN_FILES, *more, "--format", "json", "--seed", "3")
    assert "rankings end at rank 10, which limits AP on 4" in err and err.count("\n") == 1
    found = json.loads(out)
    runs = [campaign / one for one in RUNS]
    scores = cf.evaluate(runs, campaign / "qrels.txt", "AP")["AP"]
    study = split_topics(
        scores,
        ["md2", "t+bh"],
        sizes=[3, 6],
        repeats=5,
        seed=3,
        teams=campaign / "teams.csv",
    )
    assert list(study.groups) == ["all systems", "t0", "t1", "t2"]
    assert found["studies"][0]["groups"] == study.groups
    own = study.summary().select("group", "first", "second", "AA", "MD", "tau", "failed")
    keys = own.columns
    assert [[row[key] for key in keys] for row in found["agreement"]] == [
        [None if value != value else value for value in row] for row in own.rows()
    ]
    alarms = false_positives(scores, ["md2", "t+bh"], sizes=[3, 6], repeats=10, seed=3)
    assert found["false positives"] == alarms.summary().to_dicts()


def test_generalised_linear_models(campaign: Path) -> None:
    settings = campaign / "simulated.yml"
    settings.write_text("null: swapped\n", encoding="utf-8")
    tests = ("-t", "glm", "-t", "glm(link='probit')+tukey", "--false-positives", "5")
    out, err = cranfield(campaign, *SCORES, *tests, "--settings", str(settings), "--format", "json")
    assert err == ""
    study, alarms = json.loads(out)["studies"]
    assert study["tests"] == alarms["tests"] == ["glm", "glm(link='probit')+tukey"]
    _, err = cranfield(campaign, *SCORES, *tests, status=2)
    assert err == (
        "cranfield: error: glm requires scores from 0 to 1, but the null 'centred' shifts scores;"
        " use 'simulated' or 'swapped'\n"
    )
    refused(campaign, *SCORES, "-t", "glm(link=probit)", reason="expected a number")
    _, err = cranfield(campaign, "compare", "--scores", "scores.csv", "--test", "glm", status=2)
    assert err.startswith("cranfield: error: glm is for studies of tests only")
    assert err.endswith("use anova-2 with the correction bootstrap-tukey\n")


def test_shards(campaign: Path) -> None:
    out, _ = cranfield(campaign, *RUN_FILES, "--shards", "2", "--format", "json")
    [study] = json.loads(out)["studies"]
    assert study["tests"] == ["anova-1", "anova-2", "anova-3", "anova-2f", "anova-3f"]


def test_files_of_documents_do_not_go_with_shards(campaign: Path) -> None:
    for option in ("--lengths", "--groups", "--intents"):
        _, err = cranfield(campaign, *RUN_FILES, "--shards", "2", option, "f.csv", status=2)
        assert (
            err
            == f"cranfield: error: setting {option[2:]} cannot be combined with scores by shard\n"
        )
    _, err = cranfield(campaign, *RUN_FILES, "--shards", "2", "--aspect", "a=qrels.txt", status=2)
    assert err == "cranfield: error: setting aspect cannot be combined with scores by shard\n"


def test_text_and_a_table(campaign: Path) -> None:
    text, _ = cranfield(campaign, *SCORES, "--false-positives", "3", "-t", "t", "-t", "md2f")
    assert "two disjoint sets of 3, 6 topics, 5 repeats; alpha 0.05, seed 0" in text
    assert "false positives among 4 systems made equal" in text
    frame, _ = cranfield(campaign, *SCORES, "--table", "agreement", "--format", "csv")
    assert pl.read_csv(frame.encode())["size"].unique().sort().to_list() == [3, 6]


def test_resume(campaign: Path, tmp_path: Path) -> None:
    command = (*SCORES, "--false-positives", "3", "--resume", str(tmp_path), "--format", "json")
    first = cranfield(campaign, *command)
    parts = {one: one.stat().st_mtime_ns for one in tmp_path.glob("*/*.parquet")}
    assert {one.parent.name for one in parts} == {"splits", "false-positives"}
    assert cranfield(campaign, *command) == first
    assert {one: one.stat().st_mtime_ns for one in tmp_path.glob("*/*.parquet")} == parts
    _, err = cranfield(campaign, *command, "--alpha", "0.1", status=2)
    assert "contains another study: alpha was 0.05, now 0.1" in err


@refusals(
    """
--scores scores.csv --sizes 7 | size of topic sets must be an integer from 2 to 6, got 7
--scores scores.csv --sizes x | --sizes must be integers >= 2
--scores scores.csv -t wilcox | did you mean wilcoxon
--scores scores.csv -t md3 | anova-3 requires scores by shard
--scores scores.csv --shards 2 | --shards and setting shard-map require QRELS and RUN
--scores scores.csv --rel 2 | setting rel cannot be combined with --scores
--scores scores.csv --teams absent.csv | absent.csv: cannot be read
--scores scores.csv --teams teams.csv | system 'a' has no team
--scores scores.csv --only zz | unknown system 'zz'
--shards 2 --shard-map x | cannot be combined with setting shard-map
 | expected QRELS and at least one RUN, or --scores FILE
"""
)
def test_errors_are_one_line(campaign: Path, words: list[str], reason: str) -> None:
    refused(campaign, "study", "tests", *words, "-o", "out", reason=reason)


def test_cross(campaign: Path) -> None:
    command = (*SCORES, "-t", "md1", "-t", "t", "--table", "cross", "--format", "csv")
    out, _ = cranfield(campaign, *command)
    rows = pl.read_csv(out.encode())
    assert rows.columns[:4] == ["group", "size", "first", "second"]
    assert rows.height == 2 * 2 * 2
    assert rows.columns[-1] == "%MD1"
    study = split_topics(
        cf.read_scores(campaign / "scores.csv"), ["md1", "t"], sizes=[3, 6], repeats=5
    )
    assert rows["AA"].to_list() == study.cross_tests()["AA"].to_list()
