"""The command `study measures`, and the options that studies share."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cranfield.cli.options.studies import make_folder_name
from cranfield.evaluation.scorefiles import read_scores_by_measure
from cranfield.meta import discriminative_power, swap_method
from tests.cli.running import cranfield, refused


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scores of four systems on twelve topics by three measures."""
    random = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("scores")
    rows = [
        (f"q{topic}", system, *(0.1 * place + random.normal(0, noise) for noise in (0.1, 0.2, 0.3)))
        for topic in range(12)
        for place, system in enumerate("abcd")
    ]
    names = ["topic", "system", "sharp", "fair", "blurred"]
    pl.DataFrame(rows, names, orient="row").write_csv(folder / "scores.csv")
    people = [("q1", "a", "d", "d"), ("q2", "d", "b", "first"), ("q3", "c", "d", "tie")]
    pl.DataFrame(people, ["topic", "first", "second", "preferred"], orient="row").write_csv(
        folder / "people.csv"
    )
    return folder


START = ("study", "measures", "--scores", "scores.csv", "--resamples", "50", "--repeats", "10")


def test_everything(scores: Path) -> None:
    more = ("--gold", "blurred", "--preferences", "people.csv", "--seed", "4", "--sizes", "3,6")
    out, err = cranfield(scores, *START, *more, "--format", "json", "--coefficient", "tau-ap")
    assert err == ""
    found = json.loads(out)
    every = read_scores_by_measure(str(scores / "scores.csv"))
    own = {name: every[name] for name in ("sharp", "fair")}
    power = discriminative_power(own, resamples=50, seed=4)
    assert found["power"] == power.summary.to_dicts()
    assert found["pairs"] == power.pairs.to_dicts()
    swaps = swap_method(own["fair"], sizes=[3, 6], repeats=10, seed=4)
    mine = [one for one in found["swaps"] if one["measure"] == "fair"]
    assert [one["swaps"] for one in mine] == swaps.rates["swaps"].to_list()
    least = [one["difference"] for one in found["differences"] if one["measure"] == "fair"]
    assert least == swaps.find_smallest_differences()["difference"].to_list()
    [pair] = found["correlations"]
    assert pair["overall"] == pytest.approx(1.0)
    facts = {one["study"]: one for one in found["studies"]}
    assert facts["correlations"]["coefficient"] == "tau-ap"
    [concordant] = found["concordance"]
    assert (concordant["first"], concordant["second"]) == ("sharp", "fair")
    assert concordant["compared"] == 12 * 6 and facts["concordance"]["gold"] == ["blurred"]
    assert [one["preferences"] for one in found["preferences"]] == [2, 2]
    assert found["versus"][0]["first only"] + found["versus"][0]["second only"] <= 2


def test_formats(scores: Path) -> None:
    out, _ = cranfield(scores, *START)
    assert out.startswith(
        "Most significant differences: sharp and fair, 2 of 6 pairs of systems (33.3%) each;"
    )
    assert (
        "for one complete table, use --table with: power, pairs, swaps, differences, correlations"
        in out
    )
    assert "3 measures, 4 systems, 12 topics; test randomisation, correction" in out
    assert "Discriminative power: pairs of systems that differ significantly" in out
    assert "sets of 5 topics" in out and "sets of 10 topics" not in out
    out, _ = cranfield(scores, *START, "-m", "fair", "--table", "power", "--format", "csv")
    frame = pl.read_csv(out.encode())
    assert frame["measure"].to_list() == ["fair"] and frame.columns[1] == "pairs"
    out, _ = cranfield(scores, *START, "--format", "csv")
    tables = set(pl.read_csv(out.encode())["table"])
    assert tables == {"power", "pairs", "swaps", "differences", "correlations"}
    out, _ = cranfield(scores, *START, "--format", "latex", "-o", "out.tex")
    assert out == ""
    assert r"\toprule" in (scores / "out.tex").read_text()


def test_finished_parts_are_taken_up(scores: Path, tmp_path: Path) -> None:
    plain = cranfield(scores, *START)[0]
    folder = str(tmp_path / "parts")
    more = ("--resume", folder, "--jobs", "2", "--backend", "threading")
    assert cranfield(scores, *START, *more)[0] == plain
    names = {one.name for one in Path(folder).iterdir()}
    assert names == {"discriminative-power", "swaps-sharp", "swaps-fair", "swaps-blurred"}
    assert cranfield(scores, *START, *more)[0] == plain
    _, err = cranfield(scores, *START, "--seed", "1", "--resume", folder, status=2)
    assert "contains another study: seed" in err and err.count("\n") == 1


def test_runs_and_gold_measures(folder: Path) -> None:
    start = ("study", "measures", "qrels", "one.run", "two.run", "--resamples", "20")
    more = ("-m", "map", "-m", "RR", "--gold", "P_1", "--rel", "2", "--format", "json")
    out, _ = cranfield(folder, *start, *more)
    found = json.loads(out)
    assert [one["measure"] for one in found["differences"]] == ["AP(rel=2)", "RR(rel=2)"]
    facts = {one["study"]: one for one in found["studies"]}
    assert facts["concordance"]["gold"] == ["P(rel=2)@1"] and facts["swaps"]["sizes"] == [1]


def test_missing_scores(scores: Path, tmp_path: Path) -> None:
    """One policy for all measures: each study is of the topics that have all scores, or of all."""
    frame = pl.read_csv(scores / "scores.csv")
    gap = (pl.col("topic") == "q3") & (pl.col("system") == "b")
    frame.with_columns(
        blurred=pl.when(gap).then(None).otherwise("blurred").cast(pl.Float64)
    ).write_csv(tmp_path / "scores.csv")
    frame.filter(pl.col("topic") != "q3").write_csv(tmp_path / "dropped.csv")
    frame.with_columns(blurred=pl.when(gap).then(0.0).otherwise("blurred")).write_csv(
        tmp_path / "filled.csv"
    )
    refusing: list[tuple[str, ...]] = [(), ("--missing", "error")]
    for option in refusing:
        _, err = cranfield(tmp_path, *START, *option, status=2)
        assert "system 'b' on topic 'q3' has no score" in err and err.count("\n") == 1
    for missing, whole, note in (
        ("drop", "dropped.csv", "1 topic excluded: no score of some systems"),
        ("zero", "filled.csv", "1 missing score counted as 0"),
    ):
        more = ("--gold", "sharp", "--format", "json")
        out, _ = cranfield(tmp_path, *START, *more, "--missing", missing)
        plain = START[:3] + (whole,) + START[4:]
        found, expected = json.loads(out), json.loads(cranfield(tmp_path, *plain, *more)[0])
        assert found.pop("missing scores") == [note]
        assert note in found.pop("notes") and note not in expected.pop("notes", ())
        assert found == expected
        text, _ = cranfield(tmp_path, *START, "--missing", missing)
        assert f"\nnote: {note}\n" in text


def test_errors(scores: Path, folder: Path) -> None:
    for arguments, message in (
        (("--test", "u"), "unknown test 'u'"),
        (("--correction", "u"), "unknown correction 'u'"),
        (("--sizes", "5,x"), "setting sizes must be integers >= 1"),
        (("--sizes", "7"), "size of topic sets must be an integer from 1 to 6, got 7"),
        (("--bins", "0;1"), "setting bins must be numbers"),
        (("--bins", "0.1"), "bins must be finite, start at 0 and ascend"),
        (("--majority",), "setting majority requires --preferences"),
        (("--gold", "sharp", "-m", "fair"), "two or more other measures"),
        (("--gold", "none"), "unknown measure 'none'"),
        (("--preferences", "none.csv"), "none.csv"),
        (("--table", "none"), "unknown table 'none'"),
        (("--depth", "3"), "setting depth cannot be combined with --scores"),
        (("--alpha", "2"), "alpha must be a number between 0 and 1"),
    ):
        _, err = cranfield(scores, *START, *arguments, status=2)
        assert message in err, arguments
        assert err.count("\n") == 1
    refused(
        folder, "study", "measures", reason="expected QRELS and at least one RUN, or --scores FILE"
    )


def test_any_measure_names_a_folder() -> None:
    assert make_folder_name("swaps RBP(p=0.8)@10") == "swaps-RBP-p-0.8-10"
    assert make_folder_name("@") == "scores"


def test_names_of_other_programs(tmp_path: Path) -> None:
    """Two of the same measure are one, by the first name."""
    (tmp_path / "qrels").write_text("".join(f"{t} 0 d{t} 1\n" for t in range(4)))
    for tag in "ab":
        lines = [f"{t} Q0 d{d} 1 {-d} {tag}\n" for t in range(4) for d in range(ord(tag) % 3, 5)]
        (tmp_path / f"{tag}.run").write_text("".join(lines))
    line = "-m map -m AP -m P_5 -m gm_map --gold P@5 --gold ndcg --resamples 50"
    words = ("study", "measures", "qrels", "a.run", "b.run", *line.split())
    said, _ = cranfield(tmp_path, *words, "--repeats", "10")
    assert "map" in said
    assert "gm_map" in said
