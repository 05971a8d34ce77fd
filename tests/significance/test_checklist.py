"""Check lists beside counts made by hand, SciPy, and the comparison itself."""

from __future__ import annotations

import csv
import io
import json
from math import ceil, log10
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import cranfield as cf
from cranfield.significance.checklist import ITEMS
from tests.cli.running import cranfield

OLD = [0.5, 0.4, 0.3, 0.6, 0.2, 0.4, 0.3, 0.5]
NEW = [0.7, 0.5, 0.2, 0.8, 0.3, 0.5, 0.4, 0.5]
ODD = [0.1, 0.9, 0.2, 0.8, 0.1, 0.9, 0.2, 0.8]
TOPICS = tuple(f"q{k}" for k in range(8))


def scores(measure: str, *systems: list[float]) -> cf.Scores:
    names = ("old", "new", "odd")[: len(systems)]
    return cf.Scores(np.array(systems).T, TOPICS, names, measure=measure)


def items(found: cf.Checklist) -> dict[str, tuple[str, str]]:
    return {row[0]: (row[1], row[2]) for row in found.rows["id", "status", "finding"].rows()}


def test_items_of_the_author_are_questions() -> None:
    found = items(cf.checklist(scores("P@5", OLD, NEW), test="t"))
    assert list(found) == list(ITEMS)
    for name in ("one-split", "plan", "best-baseline", "reuse", "baseline-weak", "repro"):
        assert found[name][0] == "cannot tell"
        assert found[name][1].endswith("?")
    for name in ("goodhart", "claim", "unjudged"):
        assert found[name][0] == "cannot tell"


def test_a_baseline_that_is_the_best_is_named() -> None:
    """By P@5 the new system is the best of three, by AP the old one."""
    both = {"P@5": scores("P@5", OLD, NEW, OLD), "AP": scores("AP", NEW, OLD, OLD)}
    for baseline, measure in (("new", "P@5"), ("old", "AP")):
        status, finding = items(cf.checklist(both, baseline=baseline))["best-baseline"]
        assert status == "cannot tell" and finding.endswith("?")
        assert (
            finding.count("the best by") == 1 and f"{baseline} is the best by {measure}" in finding
        )
        _, finding = items(cf.checklist(both[measure], baseline=baseline))["best-baseline"]
        assert f"{baseline} is the best on these scores" in finding
    for options in ({"baseline": "odd"}, {}):
        _, finding = items(cf.checklist(both, **options))["best-baseline"]
        assert " is the best by" not in finding


def test_uncorrected_tests_are_counted_over_measures() -> None:
    """Three pairs by two measures: 1 - 0.95^6, as a product."""
    both = {"P@5": scores("P@5", OLD, NEW, ODD), "AP": scores("AP", OLD, NEW, ODD)}
    status, finding = items(cf.checklist(both, test="t", correction="none"))["multiple"]
    probability = 1.0
    for _ in range(6):
        probability *= 0.95
    assert status == "made"
    assert finding.startswith("6 tests (2 measures)")
    assert f"up to {1 - probability:.4f} = 1 - (1 - 0.05)^6" in finding
    assert "if tests were independent" in finding
    status, finding = items(cf.checklist(both, test="t", correction="holm"))["multiple"]
    assert status == "made"
    assert "up to 0.0975 = 1 - (1 - 0.05)^2" in finding
    status, finding = items(cf.checklist(both["AP"], test="t", correction="holm"))["multiple"]
    assert status == "avoided"
    assert finding.startswith("p-values of 3 pairs, by one measure, are corrected")
    status, finding = items(cf.checklist(both, test="t", correction="bh"))["multiple"]
    assert status == "made"
    assert "false discovery rate" in finding and "Type I" not in finding


def test_scale_and_user_of_ap() -> None:
    table = scores("AP", OLD, NEW).with_scale("ordinal")
    found = items(cf.checklist(table, test="t"))
    assert found["scale-mean"][0] == found["map-user"][0] == "disputed"
    assert items(cf.checklist(table, test="sign"))["scale-mean"][0] == "avoided"
    both = {"AP": table, "P@5": scores("P@5", OLD, NEW)}
    assert items(cf.checklist(both, test="t"))["map-user"][0] == "avoided"
    unnamed = items(cf.checklist({"old": OLD, "new": NEW}, test="t"))
    assert unnamed["scale-mean"][0] == unnamed["map-user"][0] == "cannot tell"


@pytest.mark.parametrize("name", ["AP", "map", "AP(rel=2)@100", "average_precision"])
def test_average_precision_has_several_names(name: str) -> None:
    assert cf.parse_measure(name).name == "AP"
    status, finding = items(cf.checklist({name: scores(name, OLD, NEW)}, test="t"))["map-user"]
    assert status == "disputed" and name in finding
    both = {name: scores(name, OLD, NEW), "clarity": scores("clarity", OLD, NEW)}
    assert items(cf.checklist(both, test="t"))["map-user"][0] == "avoided"


def test_digits_are_those_of_the_standard_error() -> None:
    status, finding = items(cf.checklist(scores("P@5", OLD, ODD), test="t"))["digits"]
    error = stats.sem(ODD)
    supported = ceil(-log10(error)) + 1
    assert stats.sem(OLD) < error
    assert status == "cannot tell"
    assert f", as shown with --places {supported}; does the paper show more decimals?" in finding
    assert f"new has standard error {error:.4g}, which supports {supported} decimal" in finding
    # 0.0297 supports three decimals: the standard deviation 0.21 of 50 topics.
    spread = np.array([1.0, -1.0] * 25) * 0.21 * np.sqrt(49 / 50)
    values = np.column_stack([0.5 + spread, 0.5 + spread / 2 + 0.01 * (np.arange(50) % 3)])
    many = cf.Scores(values, tuple(map(str, range(50))), ("a", "b"), measure="P@5")
    found = items(cf.checklist(many, test="t"))
    assert "a has standard error 0.0297, which supports 3 decimals (0.500)" in found["digits"][1]
    assert found["topics"] == ("avoided", "50 topics, which is at least 50")
    # The default of four decimals is not too many for a standard error of 0.00297.
    narrow = cf.Scores(0.5 + (values - 0.5) / 10, many.topics, many.systems, measure="P@5")
    assert items(cf.checklist(narrow, test="t"))["digits"][0] == "avoided"


@pytest.mark.parametrize(("n", "status"), [(24, "made"), (25, "avoided"), (49, "avoided")])
def test_topics(n: int, status: str) -> None:
    values = np.random.default_rng(1).random((n, 2))
    table = cf.Scores(values, tuple(map(str, range(n))), ("a", "b"), measure="P@5")
    assert items(cf.checklist(table, test="t"))["topics"][0] == status


def test_effect_and_null_are_those_of_scipy() -> None:
    found = items(cf.checklist(scores("P@5", OLD, ODD), test="t"))
    outcome = stats.ttest_rel(OLD, ODD)
    difference = np.array(OLD) - ODD
    low, high = outcome.confidence_interval(0.95)
    assert found["effect"][0] == "avoided"
    assert f"{difference.mean():.4f} ({low:.4f} to {high:.4f})" in found["effect"][1]
    assert f" {difference.mean() / difference.std(ddof=1):.4f}, p" in found["effect"][1]
    status, finding = found["null"]
    assert outcome.pvalue > 0.05
    assert status == "cannot tell"
    assert finding.startswith("1 of 1 pair without a significant difference")
    assert f"up to {max(abs(low), abs(high)):.4f} (" in finding
    smallest = stats.t.ppf(0.975, 7) * stats.sem(difference)
    assert f"could be significant is about {smallest:.4f}" in finding
    same = [score - 0.3 + k / 100 for k, score in enumerate(OLD)]
    assert items(cf.checklist(scores("P@5", OLD, same), test="t"))["null"][0] == "avoided"


@pytest.mark.parametrize("lower", [False, True])
def test_the_largest_loss_has_its_topic(lower: bool) -> None:
    """The new system wins six topics, loses 0.1 on q2, and ties on q7."""
    table = scores("P@5", OLD, NEW)
    expected = "new loses 0.1000 to old on topic q2, and wins 6 topics, loses 1, ties 1"
    if lower:
        table = cf.Scores(-table.values, TOPICS, table.systems, measure="x").with_direction(True)
    found = items(cf.checklist(table, test="t"))
    assert found["aggregate-only"] == ("avoided", f"largest loss despite a better mean: {expected}")


def test_unjudged_documents_are_counted() -> None:
    """Of two documents on each of two topics, one is unjudged in 1 of 4, the other in 0 of 4."""
    qrels = {"q": {"a": 1, "b": 0, "c": 1}, "r": {"a": 1, "b": 1, "c": 0}}
    whole = {"q": {"a": 2, "b": 1}, "r": {"a": 2, "c": 1}}
    gap = {"q": {"b": 2, "x": 1}, "r": {"b": 2, "c": 1}}
    evaluation = cf.evaluate({"whole": whole, "gap": gap}, qrels, ["P@2", "RR"])
    status, finding = items(cf.checklist(evaluation, test="t"))["unjudged"]
    assert status == "made"
    assert finding.endswith("in 1 of 1 pair; largest difference: whole 0.0% and gap 25.0%")


def test_checklist_and_comparison_of_bundled_runs_agree() -> None:
    covid = cf.bundled.trec_covid()
    evaluation = cf.evaluate(covid.runs[:4], covid.qrels, "nDCG@20")
    comparison, found = cf.compare(evaluation["nDCG@20"]), cf.checklist(evaluation)
    assert (found.test, found.correction) == (comparison.test, comparison.correction)
    assert found.method == comparison.method
    against = cf.checklist(evaluation, baseline=covid.runs[0].name)
    assert str(against).startswith("checklist of nDCG@20: Dunnett's test on the two-way ANOVA")
    by_name = items(found)
    n_open = len(comparison) - comparison.count()
    assert by_name["null"][1].startswith(f"{n_open} of 6 pairs without a significant difference")
    assert any("is an ordinal scale" in note for note in comparison.notes)
    assert by_name["scale-mean"][0] == "disputed"
    k = int(np.abs(comparison.difference).argmax())
    low, high = comparison.interval
    assert f"{comparison.difference[k]:.4f} ({low[k]:.4f} to {high[k]:.4f})" in by_name["effect"][1]
    for checklist in (found, against):
        assert items(checklist)["multiple"][1].endswith(f"are corrected: {checklist.method}")


def test_notes_on_changed_scores_are_kept() -> None:
    gap = [*OLD[:7], float("nan")]
    both = {"P@5": scores("P@5", OLD, gap), "AP": scores("AP", OLD, NEW)}
    found = cf.checklist(both["P@5"], test="t", missing="drop")
    assert "1 topic excluded: no score of some systems" in found.notes
    assert json.loads(found.to_json())["notes"] == [*found.notes]
    # Only one of two measures has a gap; the note on two systems is common.
    notes = cf.checklist(both, test="t", missing="zero").notes
    assert "P@5: 1 missing score counted as 0" in notes
    assert "for two systems the paired t-test equals two-way ANOVA with Tukey's HSD" in notes
    both["cost"] = cf.read_scores({"a": OLD, "b": NEW}, measure="cost", lower_is_better=True)
    assert "lower scores of cost are better" in cf.checklist(both, test="t", missing="zero").notes
    # The item on scales describes them; complete scores have no note on changes.
    assert not any("scale" in note or "AP" in note for note in notes)


def test_the_command_writes_text_csv_and_json(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    rows = [f"{t},{a},{b}" for t, a, b in zip(TOPICS, OLD, NEW, strict=True)]
    path.write_text("\n".join(["topic,old,new", *rows]) + "\n")
    call = ("compare", "--scores", "s.csv", "--test", "t", "--as", "checklist")
    text, _ = cranfield(tmp_path, *call)
    loss = "largest loss despite a better mean: new loses 0.1000 to old on topic q2"
    assert f"aggregate-only  avoided      {loss}" in text
    assert text.startswith("checklist of scores: Paired t-test, alpha 0.05;")
    assert "map-user, relative: objection: Fuhr (2017); reply: Sakai (2020)" in text
    table = list(csv.DictReader(io.StringIO(cranfield(tmp_path, *call, "--format", "csv")[0])))
    found = json.loads(cranfield(tmp_path, *call, "--format", "json")[0])
    assert found["checklist"] == table
    assert found["test"] == "t"
    expected = cf.checklist(cf.read_scores(str(path)), test="t").rows.to_dicts()
    assert table == expected
    _, message = cranfield(tmp_path, *call, "--margin", "2%", status=2)
    assert "--margin cannot be combined with --as checklist" in message


@pytest.mark.parametrize("lower", [False, True])
def test_losses_are_of_scores_if_the_test_compares_ranks(lower: bool) -> None:
    """Rank 1 is the best, whatever the direction of the scores."""
    table = scores("P@5", OLD, NEW)
    if lower:
        table = cf.Scores(-table.values, TOPICS, table.systems, measure="x").with_direction(True)
    _, finding = items(cf.checklist(table, test="friedman"))["aggregate-only"]
    assert finding.startswith("largest loss despite a better mean rank: new loses 0.1000 to old")


def test_systems_with_equal_means_have_no_better_mean() -> None:
    table = cf.Scores(np.array([[0.5, 0.25], [0.25, 0.5]]), ("1", "2"), ("a", "b"))
    _, finding = items(cf.checklist(table, test="t"))["aggregate-only"]
    assert finding == "no system loses a topic to a system with a worse mean"


def test_intervals_of_other_quantities_are_named() -> None:
    table = scores("P@5", OLD, NEW)
    _, finding = items(cf.checklist(table, test="sign"))["effect"]
    assert "(median of the differences that are not 0 " in finding
