"""Tables and citations from the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import gmean

from tests.cli.running import cranfield, refusals, refused

SCORES = "topic,a_b,b,c\n1,.1,.5,.6\n2,.2,.4,.7\n3,.1,.6,.6\n4,.3,.5,.9\n"


def test_evaluate_writes_tables(folder: Path) -> None:
    start = ("evaluate", "qrels", "one.run", "two.run", "-m", "AP", "-m", "RR")
    latex, _ = cranfield(folder, *start, "-f", "latex", "--caption", "A & b", "--label", "tab:x")
    assert (
        r"\caption[{A \& b}]{A \& b. 2 systems, 2 topics. The best of each measure in bold.}"
        in latex
    )
    assert r"two\_x & \textbf{1.0000} & \textbf{1.0000} \\" in latex
    assert "longtable" in cranfield(folder, *start, "-f", "latex", "--long")[0]
    markdown, _ = cranfield(folder, *start, "-f", "markdown", "-p", "2")
    assert markdown.endswith("| two_x | **1.00** | **1.00** |\n| one | 0.75 | 0.75 |\n")
    given, _ = cranfield(folder, *start, "-f", "markdown", "-p", "2", "--order", "given")
    assert given.endswith("| one | 0.75 | 0.75 |\n| two_x | **1.00** | **1.00** |\n")
    _, err = cranfield(folder, *start, "--order", "given", status=2)
    assert "setting order requires --format latex, markdown or html (without --by-topic)" in err
    html, _ = cranfield(folder, *start, "-f", "html", "-o", "t.html")
    assert html == ""
    assert (folder / "t.html").read_text().startswith("<table ")
    by_topic, _ = cranfield(folder, *start, "-f", "markdown", "-q")
    assert "| 1 | one | 0.5000 | 0.5000 |" in by_topic
    assert "| all | two_x | 1.0000 | 1.0000 |" in by_topic


def test_compare_prints_a_leaderboard(folder: Path) -> None:
    (folder / "s.csv").write_text(SCORES)
    start = ("compare", "--scores", "s.csv", "-m", "AP", "--as", "ranks")
    text, _ = cranfield(folder, *start, "--resamples", "99")
    assert text.startswith("AP: ranks by Tukey's HSD on the two-way ANOVA error, bootstrapped")
    assert "99 random samples" in text
    assert (
        "ranks by Two-way ANOVA with Tukey's HSD"
        in cranfield(folder, *start, "-t", "anova", "-c", "tukey")[0]
    )
    assert cranfield(folder, *start, "--format", "csv")[0].startswith(
        "measure,rank,system,mean,from"
    )
    [board] = json.loads(cranfield(folder, *start, "--format", "json")[0])["leaderboards"]
    assert [one["system"] for one in board["rows"]] == ["c", "b", "a_b"]
    assert "| 1 | c | 0.7000 |" in cranfield(folder, *start, "--format", "markdown")[0]


def test_compare_by_measures_together(folder: Path) -> None:
    start = ("compare", "qrels", "*.run", "-m", "AP", "-m", "RR", "--joint", "--resamples", "99")
    text, _ = cranfield(folder, *start)
    heading = "Tukey's HSD on the two-way ANOVA error, bootstrapped over topics"
    assert text.startswith(f"{heading}: 1 pair and 2 measures, 2 topics")
    assert "bootstrap max-T" in cranfield(folder, *start, "-c", "bootstrap-max-t")[0]
    assert cranfield(folder, *start, "--format", "csv")[0].startswith("first,second,measure,diff")
    [board] = json.loads(cranfield(folder, *start, "--format", "json")[0])["leaderboards"]
    assert [one["measure"] for one in board["rows"]] == ["AP", "RR"]
    assert "| AP | RR |" in cranfield(folder, *start, "--format", "markdown")[0]


def test_one_table_of_all_measures_of_a_score_file(folder: Path) -> None:
    (folder / "s.csv").write_text("topic,system,AP,RR\n1,a,0,1\n1,b,.5,1\n2,a,1,1\n2,b,.5,0\n")
    start = ("compare", "--scores", "s.csv")
    assert cranfield(folder, *start, "--joint")[0].count(" measures, 2 topics") == 1
    assert "System      AP" in cranfield(folder, *start, "--marks", "groups")[0]
    refused(folder, *start, reason="expected scores of one measure, got AP, RR")


def test_compare_writes_tables(folder: Path) -> None:
    (folder / "s.csv").write_text(SCORES)
    start = ("compare", "--scores", "s.csv", "-m", "AP")
    markdown, _ = cranfield(folder, *start, "--format", "markdown")
    assert "| c | **0.7000** |" in markdown
    assert "Analysis of variance" not in markdown
    markdown, _ = cranfield(folder, *start, "--format", "markdown", "--as", "anova")
    assert "Analysis of variance of AP, score \\~ topic + system." in markdown
    symbols = ("-b", "a_b", "-t", "t", "-c", "holm", "--marks", "symbols")
    marked, _ = cranfield(folder, *start, *symbols, "--format", "latex")
    assert r"a\_b (baseline) & 0.1750 &  \\" in marked
    assert r"c & \textbf{0.7000} & \textsuperscript{\dag{}} \\" in marked
    assert "% significantly different from a\\_b: \\dag{} p $\\leq$ 0.05" in marked
    # Rows are in the order of the table without marks, the best first, in every format.
    plain, _ = cranfield(folder, *start, "--format", "latex")
    names = [line.split(" & ")[0] for line in plain.split("midrule")[1].splitlines()[1:4]]
    assert names[0] == "c" and len({*names}) == 3
    rows = marked.replace(" (baseline)", "").split("midrule")[1].splitlines()[1:4]
    assert [row.split(" & ")[0] for row in rows] == names
    rounded, _ = cranfield(folder, *start, "--marks", "groups", "-p", "2", "-f", "markdown")
    assert "| c | **0.70**<sup>" in rounded
    for baseline in ("", "-b a_b"):
        for form in ("text", "latex"):
            rounded, _ = cranfield(folder, *start, *baseline.split(), "-p", "2", "-f", form)
            exact, _ = cranfield(folder, *start, *baseline.split(), "-f", form)
            rows = [one for one in rounded.splitlines() if one.startswith("c ")]
            [row], [full] = rows, [one for one in exact.splitlines() if one.startswith("c ")]
            places = r"[-$ {}]\d+\.(\d+)"
            assert [len(found) for found in re.findall(places, row)][:3] == [2, 2, 2]
            assert [len(found) for found in re.findall(places, full)][:3] == [4, 4, 4]
    text, _ = cranfield(folder, *start, "--marks", "beaten")
    assert text.splitlines()[2].split() == ["System", "AP"]
    assert "meaningfulness: " in text or "note: " in text
    assert "<sup" in cranfield(folder, *start, "--marks", "groups", "--format", "html")[0]
    against = (*start, "-b", "a_b")
    [comparison] = json.loads(cranfield(folder, *against, "-f", "json")[0])["comparisons"]
    assert comparison["method"].startswith("Dunnett's test")
    assert f"\nAP: {comparison['method']}; alpha" in cranfield(folder, *against)[0]


@refusals(
    """
evaluate qrels one.run --label x | setting label requires --format
compare qrels *.run --long | setting long requires --format latex
compare qrels *.run --marks symbols | 'symbols' require a baseline
compare qrels *.run --places 3 -f csv | --places requires --format text, latex,
compare qrels *.run --places 3 --joint | --places cannot be combined with --joint
compare qrels *.run --places 3 --as prose | --places cannot be combined with --as prose
compare qrels *.run --as ranks --strict | --strict cannot be combined with --as ranks
compare qrels *.run --joint --margin .1 | --margin cannot be combined with --joint
compare qrels *.run --joint --as anova | --joint cannot be combined with --as anova
compare qrels *.run --joint --marks none | --joint cannot be combined with --marks none
compare qrels *.run --joint --marks symbols | marks 'symbols' require a baseline, got none
compare qrels *.run --joint -c bh | must be one of bootstrap-tukey, bootstrap-max-t, got 'bh'
compare qrels *.run --as ranks -b one | sets of ranks require a comparison of all pairs
compare qrels *.run --marks groups --format csv | --format with --marks must be one of: text,
compare qrels *.run -t anova-2 --as anova --format latex --label x | setting label requires a
evaluate qrels one.run -f latex --label } | label must consist of
"""
)
def test_options_that_do_not_fit(folder: Path, words: list[str], reason: str) -> None:
    refused(folder, *words, reason=reason)


def test_studies_in_html(folder: Path) -> None:
    (folder / "s.csv").write_text(SCORES)
    arguments = ("study", "tests", "--scores", "s.csv", "-m", "AP", "-t", "t", "--sizes", "2")
    html, _ = cranfield(folder, *arguments, "--repeats", "3", "--format", "html")
    assert html.startswith("<p>On two sets of 2 topics")
    assert html.count("<table ") == 8
    markdown, _ = cranfield(folder, *arguments, "--repeats", "3", "--format", "markdown")
    assert markdown.count("### ") == 8
    latex, _ = cranfield(folder, *arguments, "--repeats", "3", "--format", "latex")
    assert latex.count(r"\caption") == 8


def test_cite(folder: Path) -> None:
    out, err = cranfield(folder, "cite", "P@10", "md2", "HSD")
    assert err == ""
    assert out.count("\n@") == 5
    assert "@article{tukey1949a,\n" in out
    assert "annote = {P@10}" in out and "annote = {anova-2}" in out
    text, _ = cranfield(folder, "cite", "swaps", "--format", "text")
    assert [line.split(",")[0] for line in text.splitlines()][:2] == ["Sanderson", "Voorhees"]
    everything, _ = cranfield(folder, "cite", "--all", "-o", "all.bib")
    assert everything == ""
    assert (folder / "all.bib").read_text().count("\n@") > 60
    refused(folder, "cite", "xyzzyq", reason="unknown name 'xyzzyq'")


def test_prose(folder: Path) -> None:
    two = ("compare", "qrels", "one.run", "two.run", "-m", "P@2")
    out, _ = cranfield(folder, *two, "--as", "prose")
    assert out.startswith("one was compared with two_x by P@2 (")
    assert "Within a margin of" in cranfield(folder, *two, "--as", "prose", "--margin", "0.5")[0]
    out, _ = cranfield(folder, *two, "--as", "prose", "-f", "latex")
    assert r"one was compared with two\_x" in out
    assert r"\citep{" in out
    both = (*two, "-m", "AP", "--as", "prose")
    first, second, separately = cranfield(folder, *both)[0].strip().split("\n\n")
    for method in ("In the evaluation", "The test was", "We assume", "Computed with"):
        assert method in first and method not in second
    assert second.startswith("one was compared with two_x by AP (") and "mean" in second
    assert separately.startswith("The 2 measures were tested separately, without a correction")
    # A command for each paragraph would overwrite the file of the one before.
    [hint] = re.findall("% References: .*", cranfield(folder, *both, "-f", "latex")[0])
    assert "buckley2005" in hint and "cleverdon1967" in hint
    assert cranfield(folder, *both, "--joint")[0].count("Computed with") == 1
    for arguments, message in (
        (("-f", "csv"), "--as prose requires --format text, markdown or latex"),
        (("--marks", "symbols"), "--marks cannot be combined with --as prose"),
    ):
        refused(folder, *two, "--as", "prose", *arguments, reason=message)


def test_ranks_are_of_the_statistic_that_is_requested(folder: Path) -> None:
    rng = np.random.default_rng(4)
    lines = ["measure,topic,system,score"]
    values = {name: rng.uniform(0.1, 1.0, 30) * k for k, name in enumerate("abc", 1)}
    for name, scores in values.items():
        for measure in ("AP", "GMAP"):
            lines += [f"{measure},{t},{name},{score!r}" for t, score in enumerate(scores.tolist())]
    (folder / "s.csv").write_text("\n".join(lines) + "\n", "utf-8")
    given = ("compare", "--scores", "s.csv", "-m", "AP", "-m", "GMAP", "--as", "ranks", "-f", "csv")
    expected: dict[str, dict[str, Any]] = {
        "mean": {name: np.mean(scores) for name, scores in values.items()},
        "median": {name: np.median(scores) for name, scores in values.items()},
        "geometric mean": {name: gmean(scores) for name, scores in values.items()},
    }

    def check(out: str, names: dict[str, str]) -> None:
        rows = list(csv.DictReader(io.StringIO(out)))
        assert len(rows) == 6
        for row in rows:
            name = names[row["measure"]]
            assert float(row[name]) == pytest.approx(expected[name][row["system"]], rel=1e-12)

    check(cranfield(folder, *given)[0], {"AP": "mean", "GMAP": "geometric mean"})
    for statistic in ("median", "geometric-mean"):
        name = statistic.replace("-", " ")
        out, _ = cranfield(folder, *given, "--statistic", statistic)
        check(out, {"AP": name, "GMAP": name})
    _, err = cranfield(folder, *given, "--threshold", "0.1", status=2)
    assert "threshold" in err
    for more in (("--statistic", "median"), ("--exact",), ("--threshold", "0.1")):
        _, err = cranfield(
            folder, "compare", "--scores", "s.csv", "-m", "AP", "--joint", *more, status=2
        )
        assert "--joint is a two-sided test of its own and cannot" in err


def test_ranks_warn_of_a_seed_without_effect(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("topic,a,b,c\n1,0.1,0.2,0.3\n2,0.4,0.3,0.1\n3,0.2,0.2,0.1\n")
    ranks = ("compare", "--scores", "s.csv", "--as", "ranks", "--seed", "5")
    _, err = cranfield(tmp_path, *ranks, "--test", "t")
    assert "--seed has no effect: the test and the correction do not resample" in err
    _, err = cranfield(tmp_path, *ranks)
    assert "no effect" not in err


def test_marks_none_has_no_notes_on_tests(tmp_path: Path) -> None:
    rows = "".join(f"{k},0.{k},0.{k + 1}5,0.{k}3\n" for k in range(1, 9))
    (tmp_path / "s.csv").write_text("topic,a,b,c\n" + rows)
    out, _ = cranfield(tmp_path, "compare", "--scores", "s.csv", "--marks", "none")
    assert "significant" not in out
