"""The commands on scales: `measures` with a length, `study scales` and `compare --strict`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl

from tests.cli.running import cranfield, refused


def test_scale(folder: Path) -> None:
    out, _ = cranfield(folder, "measures", "RR@5")
    assert "possible values: 6, from 0 to 1: 0, 0.2, 0.25, 0.3333, 0.5, 1" in out
    assert "its own order: ordinal; not interval" in out
    assert "tests: sign, rank-sum, kruskal-wallis, friedman" in out
    out, _ = cranfield(folder, "measures", "P", "--length", "4", "--format", "json")
    found = json.loads(out)[0]["on runs"]
    assert (found["scale"], found["image"]["values"]) == ("interval", [0, 0.25, 0.5, 0.75, 1])
    assert [one["verdict"] for one in found["orders"]][0] == "interval"
    out, _ = cranfield(folder, "measures", "nDCG@10", "--grades", "2", "-o", "scale.txt")
    assert out == ""
    assert "depend on the recall base" in (folder / "scale.txt").read_text()
    for arguments, message in (
        (("DCG", "--grades", "1"), "length is required"),
        (("DCG@0",), "cutoff"),
        (("DCG@5", "--grades", "0"), "highest grade must be an integer >= 1"),
        (("DCG@5", "--length", "-1"), "length of a run must be an integer >= 1"),
        (("nDGC@5",), "did you mean"),
        (("Bpref@5", "--length", "5"), "depends on more than the ranked grades"),
        (("P@5", "--length", "100000"), "at most 2,000"),
        (("P@5", "--grades", "100000000"), "at most 1,000"),
        (("P@5", "--judgments", "100000000"), "from 1 to 100,000"),
        (("interval", "--length", "5"), "requires an inner measure, such as interval(DCG@10)"),
    ):
        _, err = cranfield(folder, "measures", *arguments, status=2)
        assert message in err, arguments
        assert err.count("\n") == 1


def test_study_of_scales(folder: Path) -> None:
    start = ("study", "scales", "qrels", "one.run", "two.run")
    out, _ = cranfield(folder, *start, "-m", "P", "-m", "RR", "--cutoffs", "2,3")
    assert out.startswith("Interval scaling does not change the order of the systems")
    assert "\n2 systems, 2 topics; ties: unique" in out
    assert "to show 3 more tables, use --table all\n" in out
    out, _ = cranfield(folder, *start, "-m", "P", "-m", "RR", "--cutoffs", "2,3", "--table", "all")
    assert "Pairs of systems that differ significantly" in out
    out, _ = cranfield(folder, *start, "-m", "P", "--cutoffs", "2", "--format", "markdown")
    assert "| cutoff | measure | overall |" in out
    two = (*start, "-m", "P", "-m", "RR", "--cutoffs", "2")
    out, _ = cranfield(folder, *two, "--format", "csv")
    frame = pl.read_csv(out.encode())
    assert set(frame["table"]) == {"correlation", "pairs", "changes", "headline"}
    out, _ = cranfield(folder, *start, "-m", "P", "--cutoffs", "2", "--format", "json", "--graded")
    assert json.loads(out)["changes"][0]["Sig"] >= 0
    for arguments, message in (
        (("--cutoffs", "5,x"), "integers >= 1"),
        (("--cutoffs", "0"), "integers >= 1"),
        (("-m", "P@5"), "without cutoff"),
        (("-m", "nDGC"), "did you mean"),
        (("--cutoffs", "5,5"), "expected distinct values of cutoff, got 5 more than once"),
        (("-m", "P", "-m", "P"), "--measure 'P' must be given only once"),
        (("--alpha", "2"), "alpha must be a number between 0 and 1"),
        (("-m", "P", "--cutoffs", "5,5000"), "cannot be computed for P@5000"),
    ):
        _, err = cranfield(folder, *start, *arguments, status=2)
        assert message in err, arguments
        assert err.count("\n") == 1
    # Before anything is read.
    missing = ("study", "scales", "nowhere", "neither", "-m", "RR", "--cutoffs", "3000")
    refused(folder, *missing, reason="cannot be computed for RR@3000")
    refused(folder, *start[:-1], "-m", "P", "--cutoffs", "2", reason="at least two systems, got 1")


def test_study_of_scales_of_several_collections(campaign: Path) -> None:
    runs = campaign / "more"
    runs.mkdir(exist_ok=True)
    for k in range(2, 5):
        (runs / f"s{k}.run").write_bytes((campaign / f"s{k}.run").read_bytes())
    (campaign / "judged.txt").write_bytes((campaign / "qrels.txt").read_bytes())
    start = ("study", "scales", "qrels.txt", "s0.run", "s1.run", "-m", "P", "-m", "RR")
    more = ("--cutoffs", "3", "--collections", "judged.txt=more")
    out, err = cranfield(campaign, *start, *more, "--format", "json")
    assert err == ""
    content = json.loads(out)
    assert content["collections"] == ["qrels.txt", "judged.txt"]
    assert (content["n_systems"], content["n_topics"][0]) == ([2, 3], content["n_topics"][1])
    results = {
        name: [row for row in content["changes"] if row["collection"] == name]
        for name in content["collections"]
    }
    assert [len(rows) for rows in results.values()] == [16, 16]
    headline, _ = cranfield(campaign, *start, *more, "--table", "headline", "--format", "csv")
    rows = list(csv.DictReader(headline.splitlines()))
    assert int(rows[-1]["results"]) + int(rows[-1]["undefined"]) == 32
    for words, message in (
        (("--collections", "judged.txt"), "setting collections must be QRELS: RUNS"),
        (("--collections", "qrels.txt=more"), "must not repeat QRELS 'qrels.txt'"),
        (("--collections", "judged.txt=s2.run"), "at least two systems of 'judged.txt', got 1"),
        (("--collections", "judged.txt=more", "--plot", "x.svg"), "--plot cannot be combined"),
        (("--collections", "judged.txt=more", "-o", "judged.txt"), "would overwrite an input file"),
    ):
        refused(campaign, *start, "--cutoffs", "3", *words, reason=message)
    (campaign / "list.yml").write_text("collections:\n  judged.txt: [s2.run, s3.run]\n")
    _, err = cranfield(campaign, *start, "--cutoffs", "3", "--settings", "list.yml", status=2)
    assert "list.yml: collections: judged.txt must be a single value, got" in err


def test_strict(folder: Path) -> None:
    start = ("compare", "qrels", "one.run", "two.run")
    out, _ = cranfield(folder, *start, "-m", "P@2", "--strict")
    needs = "Studentised bootstrap test needs an interval scale"
    assert f"meaningfulness: meaningful: {needs}; P@2 is an interval" in out
    _, err = cranfield(folder, *start, "-m", "AP", "--strict", "-o", "out", status=2)
    assert f"not meaningful: {needs}" in err
    assert not (folder / "out").exists()
    for measure in ("Success@3", "RR@1", "RR@2", "DCG@1"):
        out, _ = cranfield(folder, *start, "-m", measure, "--strict")
        assert f"meaningfulness: meaningful: {needs}; {measure} is" in out
    feasible = "interval(P@2, feasible=True)"
    _, err = cranfield(folder, *start, "-m", feasible, "--strict", status=2)
    assert f"{feasible} depends on the judgments of the topic" in err
    out, _ = cranfield(folder, *start, "-m", "interval(RR@3)", "--strict", "--format", "json")
    found = json.loads(out)["comparisons"][0]
    assert found["measure"] == "interval(RR@3)"
    assert found["meaningfulness"]["verdict"] == "meaningful"


def test_a_declared_scale(campaign: Path) -> None:
    """The grades are 0 to 2, and nDCG is ordinal and depends on the topic."""
    start = ("compare", "qrels.txt", "s0.run", "s1.run", "s2.run", "--strict")
    for text in ("RBP(p=1/3, gains='graded')", "RBP(p=0.5)"):
        out, _ = cranfield(campaign, *start, "-m", text)
        assert f"{text} is an interval scale" in out
    _, err = cranfield(campaign, *start, "-m", "nDCG@10", status=2)
    assert "nDCG@10 is an ordinal scale" in err
    out, _ = cranfield(campaign, *start, "-m", "nDCG@10", "--scale", "ratio")
    assert "note: scale declared by the user: ratio\n" in out
    assert "nDCG@10 is declared by the user to be a ratio scale" in out
    reason = "P@5 is declared by the user to be an ordinal scale"
    refused(campaign, *start, "-m", "P@5", "--scale", "ordinal", reason=reason)
    cranfield(campaign, *start, "-m", "P@5", "--scale", "metric", status=2)
    report = ("report", "qrels.txt", "s0.run", "s1.run", "-m", "nDCG@10", "--scale", "ratio")
    cranfield(campaign, *report, "-o", "declared.html")
    page = (campaign / "declared.html").read_text()
    assert "ratio, by the user" in page and "declared by the user: ratio" in page


def test_the_image_of_a_measure_of_sets(folder: Path) -> None:
    """Of runs of one length there is an image; of all lengths no interval-scaled version."""
    out, _ = cranfield(folder, "measures", "SetF@4")
    assert "possible values: 5," in out and "so interval(SetF@4) cannot be computed" in out
    found = json.loads(cranfield(folder, "measures", "SetF@4", "-f", "json")[0])[0]["on runs"]
    assert found["depends on length"] == "how many documents are retrieved"
    out, _ = cranfield(folder, "measures", "P@4")
    assert "cannot be computed" not in out
    _, err = cranfield(folder, "evaluate", "qrels", "one.run", "-m", "interval(SetF@4)", status=2)
    assert "it has no interval-scaled version" in err


def test_measures_have_the_text_by_which_they_were_asked_for(folder: Path) -> None:
    start = ("study", "scales", "qrels", "one.run", "two.run", "--cutoffs", "2", "-f", "csv")
    out, _ = cranfield(folder, *start, "-m", "RBP(p=0.8)", "-m", "precision")
    rows = pl.read_csv(out.encode()).filter(pl.col("column") == "overall")
    assert rows["row"].to_list() == ["2, RBP(p=0.8)", "2, precision"]
    out, _ = cranfield(folder, "measures", "RBP(p=0.8)@3")
    assert "\n\nRBP(p=0.8)@3 on runs of length 3" in out


def test_the_scale_of_a_measure_with_parameters(folder: Path) -> None:
    out, _ = cranfield(folder, "measures", "RBP(p=0.5)")
    assert "scale       interval" in out
    out, _ = cranfield(folder, "measures", "RBP(p=1/3, gains='graded')")
    assert "ordinal for grades 0 to 1, interval for grades 0 to 2" in out
    out, _ = cranfield(folder, "measures", "RBP")
    assert "scale       ordinal" in out
