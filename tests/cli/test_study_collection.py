"""The commands `study collection` and `study reproduction`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cranfield as cf
from cranfield.meta import extrapolate, leave_one_out, pool_depths, reproduce, stability
from tests.cli.running import cranfield, refusals, refused

RUNS = tuple(f"s{s}.run" for s in range(6))
START = ("study", "collection", "qrels.txt", *RUNS, "--repeats", "20", "--sizes", "4,8")


def table(folder: Path, name: str, *arguments: str) -> pl.DataFrame:
    out, _ = cranfield(folder, *arguments, "--format", "csv", "--table", name)
    return pl.read_csv(out.encode(), infer_schema_length=None)


def close(one: pl.DataFrame, other: pl.DataFrame) -> None:
    for column in other.columns:
        mine, theirs = one[column].to_list(), other[column].to_list()
        number = [isinstance(value, (int, float)) for value in theirs]
        assert mine == (pytest.approx(theirs) if all(number) else theirs), column


def test_everything_is_what_the_library_says(campaign: Path) -> None:
    more = ("--teams", "teams.csv", "--pool-depth", "4", "--depths", "2,3", "--lists", "both")
    out, err = cranfield(campaign, *START, *more, "-m", "AP", "-m", "P@5", "--format", "json")
    assert "rankings end at rank 10, which limits AP on 4" in err and err.count("\n") == 1
    found = json.loads(out)
    runs, qrels = [campaign / one for one in RUNS], campaign / "qrels.txt"
    left = {
        "team": leave_one_out(runs, qrels, ["AP", "P@5"], teams=campaign / "teams.csv", depth=4),
        "run": leave_one_out(runs, qrels, ["AP", "P@5"], depth=4),
    }
    for name, attribute in (
        ("leave one out systems", "systems"),
        ("leave one out summary", "summary"),
        ("leave one out rankings", "rankings"),
        ("leave one out unique", "teams"),
    ):
        rows = pl.DataFrame(found[name], infer_schema_length=None)
        for unit, one in left.items():
            close(rows.filter(pl.col("unit") == unit), getattr(one, attribute))
    depths = pool_depths(runs, qrels, ["AP", "P@5"], [2, 3], lists=["raw", "condensed"])
    close(pl.DataFrame(found["pool rankings"]), depths.rankings)
    close(pl.DataFrame(found["pools"]), depths.pools)
    scores = cf.evaluate(runs, qrels, ["AP", "P@5"])
    for measure, of_measure in scores.items():
        samples = stability(of_measure, sizes=[4, 8], repeats=20)
        rows = pl.DataFrame(found["stability"]).filter(measure=measure)
        close(rows, samples.by_size)
        close(
            pl.DataFrame(found["extrapolation"]).filter(measure=measure),
            extrapolate(of_measure).curve,
        )
    assert [one["study"] for one in found["studies"]] == [
        "leave-one-out",
        "leave-one-out",
        "pool-depth",
        *2 * ["stability", "generalizability", "extrapolation"],
    ]


def test_files_of_documents_do_not_go_with_pools(campaign: Path) -> None:
    _, err = cranfield(campaign, *START, "--aspect", "a=qrels.txt", status=2)
    assert err == "cranfield: error: setting aspect cannot be combined with studies of pools\n"
    scores = ("study", "collection", "--scores", "scores.csv", "--aspect", "a=qrels.txt")
    refused(campaign, *scores, reason="setting aspect cannot be combined with --scores")


def test_text(campaign: Path) -> None:
    out, _ = cranfield(campaign, *START, "--pool-depth", "4", "-o", "out.txt")
    text = (campaign / "out.txt").read_text()
    assert out == ""
    assert "leave-one-out test by run: 6 runs, 6 contributing runs, pool depth 4\n" in text
    assert "AP: 6 systems, 12 topics; samples without replacement" in text
    assert "\nSamples of topics compared with all topics; " in text
    assert "\nNumbers of topics needed for a coefficient\n" not in text
    out, _ = cranfield(campaign, *START, "--pool-depth", "4", "--table", "all")
    assert "\nNumbers of topics needed for a coefficient\n" in out
    # A single table has the same title and decimals as among the others.
    out, _ = cranfield(campaign, *START, "--table", "topics needed")
    assert "\nNumbers of topics needed for a coefficient\n" in out and "  0.95 " in out


def test_depths_by_default_fit_the_depth_of_the_pool(campaign: Path) -> None:
    more = ("--pool-depth", "3", "--contributors", "judged", "-m", "P@5")
    found = table(campaign, "pools", *START, *more)
    assert found["depth"].to_list() == [1, 2, None]
    found = table(campaign, "pools", *START, "--pool-depth", "1", "-m", "P@5")
    assert found["depth"].to_list() == [1, None]


def test_resume(campaign: Path, tmp_path: Path) -> None:
    command = (*START, "-m", "P@5", "--pool-depth", "4", "--teams", "teams.csv")
    command += ("--resume", str(tmp_path))
    first = cranfield(campaign, *command, "--format", "json")
    parts = {one: one.stat().st_mtime_ns for one in tmp_path.glob("*/*.parquet")}
    assert {one.parent.name for one in parts} == {
        "leave-one-team-out",
        "leave-one-run-out",
        "stability-P-5",
    }
    assert cranfield(campaign, *command, "--format", "json") == first
    assert {one: one.stat().st_mtime_ns for one in tmp_path.glob("*/*.parquet")} == parts
    refused(campaign, *command, "--seed", "1", reason="contains another study: seed was 0, now 1")


def test_scores_from_a_file(campaign: Path) -> None:
    start = ("study", "collection", "--scores", "scores.csv", "--repeats", "10", "-t", "t+holm")
    out, _ = cranfield(campaign, *start)
    assert "note: studies of judgments are skipped" in out
    assert "t with holm" in out
    found = json.loads(cranfield(campaign, *start, "--format", "json", "--target", "0.8")[0])
    assert "pools" not in found
    assert {row["target"] for row in found["topics needed"]} == {0.8}
    expected = stability(
        cf.read_scores(campaign / "scores.csv"), repeats=10, test="t", correction="holm"
    )
    close(pl.DataFrame(found["stability"]), expected.by_size)


def test_scores_without_error_are_noted(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a,b\n1,.25,.5\n2,.5,.75\n3,.0,.25\n")
    out, _ = cranfield(tmp_path, "study", "collection", "--scores", "s.csv", "--repeats", "5")
    assert "not all studies of the topics are possible" in out


def test_contributors(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "tags").write_text("s0\ns1\n\n")
    options = ("--pool-depth", "3", "--contributors")
    frame = table(campaign, "leave one out systems", *START, *options, str(tmp_path / "tags"))
    assert frame["contributes"].to_list() == [True, True, False, False, False, False]
    frame = table(campaign, "leave one out systems", *START, *options, "judged")
    assert frame["contributes"].all()


@refusals(
    """
--scores scores.csv --pool-depth 3 | --pool-depth cannot be combined with --scores
--scores scores.csv --sizes 4,12 | below 12, the number of topics
--scores scores.csv --target 2 | target: 2.0 is not in the range 0<x<1
--scores scores.csv -t anova-3 | anova-3 requires scores by shard
--scores scores.csv -t nope | unknown test 'nope'
--scores scores.csv --repeats 3 --table nope | unknown table 'nope'
qrels.txt s0.run | requires at least two systems, got 1
qrels.txt | expected QRELS and at least one RUN, or --scores FILE
qrels.txt s0.run s1.run --unjudged condensed | setting unjudged cannot be combined
qrels.txt s0.run s1.run --depth 5 | such as AP@100
qrels.txt s0.run s1.run --depths 0 | setting depths must be integers >= 1
qrels.txt s0.run s1.run --contributors absent | absent: cannot be read
qrels.txt s0.run s1.run --contributors judged | requires --pool-depth
qrels.txt s0.run s1.run --pool-depth 7 --depths 5,10,20 | setting depths must be at most
qrels.txt s0.run s1.run -m P@5 --teams absent | absent: cannot be read
"""
)
def test_errors_are_one_line(campaign: Path, words: list[str], reason: str) -> None:
    refused(campaign, "study", "collection", *words, "-o", "out", reason=reason)


def test_advice_on_an_unknown_pool_depth_names_options(tmp_path: Path) -> None:
    topics, docs = range(4), [f"d{k}" for k in range(9)]
    judged = [f"{topic} 0 {doc} 1\n" for topic in topics for doc in docs]
    (tmp_path / "q.txt").write_text("".join(judged))
    for name in "ab":
        ranked = [*enumerate((f"unjudged-{name}", *docs), 1)]
        lines = [
            f"{t} Q0 {doc} {rank} {20 - rank} {name}\n" for t in topics for rank, doc in ranked
        ]
        (tmp_path / name).write_text("".join(lines))
    words = ("study", "collection", "q.txt", "a", "b", "--repeats", "2", "--sizes", "2")
    refused(tmp_path, *words, reason="pass --pool-depth ..., and --settings with contributors:")


REPRODUCTION = ("study", "reproduction", "qrels.txt")
ALL_FOUR = (
    "--original-baseline", "s3.run", "--original-advanced", "s0.run",
    "--baseline", "s4.run", "--advanced", "s1.run",
)  # fmt: skip


def test_reproduction(campaign: Path) -> None:
    out, _ = cranfield(campaign, *REPRODUCTION, *ALL_FOUR, "-m", "AP", "--format", "json")
    found = json.loads(out)
    sides: list[Any] = [
        {"baseline": campaign / one, "advanced": campaign / other}
        for one, other in (("s3.run", "s0.run"), ("s4.run", "s1.run"))
    ]
    expected = reproduce(*sides, qrels=campaign / "qrels.txt", measures="AP")
    assert expected.orders is not None
    close(pl.DataFrame(found["scores"]), expected.scores)
    close(pl.DataFrame(found["effects"]), expected.effects)
    close(pl.DataFrame(found["orders"]), expected.orders)
    assert found["systems"] == {"baseline": ["s3", "s4"], "advanced": ["s0", "s1"]}
    out, _ = cranfield(campaign, *REPRODUCTION, *ALL_FOUR, "--table", "all")
    assert "Reproduction of baseline and advanced: 12 topics, 3 measures" in out
    assert "Effect of the advanced system" in out


def test_reproduction_with_files_of_documents(campaign: Path) -> None:
    """Aspects are read as for `evaluate`: what no measure needs changes no score."""
    command = (*REPRODUCTION, *ALL_FOUR, "-m", "AP", "--table", "scores", "--format", "csv")
    plain, error = cranfield(campaign, *command)
    assert "no effect" not in error
    out, error = cranfield(campaign, *command, "--aspect", "other=qrels.txt")
    assert out == plain and "aspects has no effect" in error
    refused(campaign, *command, "--aspect", "other", reason="setting aspect must be NAME=QRELS")


def test_replication(campaign: Path) -> None:
    half = ("--original-baseline", "s3.run", "--baseline", "s4.run")
    out, _ = cranfield(campaign, *REPRODUCTION, *half, "--other-qrels", "qrels.txt", "-m", "AP")
    assert "Replication of baseline: 12 topics and 12 other topics" in out
    assert "welch" in out
    assert "RMSE" not in out


@refusals(
    """
 | its repetition: --original-baseline
--baseline s1.run | its repetition: --original-baseline
-t welch | test 'welch' cannot compare two systems on the same topics
--persistence 1 | persistence: 1.0 is not in the range 0<x<1
--other-qrels absent | absent: cannot be read
-m nDGC | did you mean nDCG
"""
)
def test_errors_of_reproduction(campaign: Path, words: list[str], reason: str) -> None:
    runs = () if "--original-baseline" in reason else ALL_FOUR
    refused(campaign, *REPRODUCTION, *runs, *words, reason=reason)


def test_tables_of_one_system_or_other_topics(campaign: Path) -> None:
    half = ("--original-baseline", "s3.run", "--baseline", "s4.run")
    for table, words in {"effects": (), "orders": ("--other-qrels", "qrels.txt")}.items():
        reason = f"--table {table} requires "
        refused(campaign, *REPRODUCTION, *half, *words, "--table", table, reason=reason)
