"""Tables for papers: what stands in them, what marks mean, and that any name comes through."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from scipy import stats

import cranfield as cf
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.text import sanitise
from cranfield.reporting.tables import is_significantly_better, tabulate_evaluation, tabulate_topics
from cranfield.tabular import Cell, Table, as_cell, tabulate_frame

SYSTEMS = ("a_1", "b&2", "c", "d", "e")


def some_scores(
    measure: str = "AP", seed: int = 3, lower: bool = False, systems: Any = SYSTEMS
) -> cf.Scores:
    draw = np.random.default_rng(seed)
    topic = draw.normal(0.5, 0.1, (25, 1))
    system = np.linspace(0.1, -0.08, len(systems))
    values = topic + system + draw.normal(0, 0.08, (25, len(systems)))
    topics = tuple(map(str, range(25)))
    return cf.Scores(values, topics, tuple(systems), measure, lower_is_better=lower)


def column(table: Table, k: int) -> list[Cell]:
    return [as_cell(row[k]) for row in table.rows]


def marks(table: Table, k: int = 1) -> list[str]:
    return [cell.mark for cell in column(table, k)]


# Marks


def holm(pvalues: list[float]) -> list[float]:
    """Holm's correction, from its description."""
    out, largest = [0.0] * len(pvalues), 0.0
    for place, k in enumerate(sorted(range(len(pvalues)), key=pvalues.__getitem__)):
        largest = max(largest, min(1.0, (len(pvalues) - place) * pvalues[k]))
        out[k] = largest
    return out


def test_symbols_of_levels() -> None:
    scores = some_scores()
    raw = [
        float(stats.ttest_rel(scores.values[:, k], scores.values[:, 2]).pvalue)
        for k in (0, 1, 3, 4)
    ]
    adjusted = holm(raw)
    expected = ["‡" if p <= 0.001 else "†" if p <= 0.1 else "" for p in adjusted]
    expected.insert(2, "")
    assert set(expected) == {"", "†", "‡"}
    means = scores.mean()
    expected = [
        one and one + "↓" * bool(m < means[2]) for one, m in zip(expected, means, strict=True)
    ]
    assert len({one[1:] for one in expected if one}) == 2
    found = cf.table(scores, baseline="c", test="t", correction="holm", alpha=(0.001, 0.1))
    assert marks(found) == expected
    assert "significantly different from c: † p ≤ 0.1, ‡ p ≤ 0.001; ↓ worse" in found.notes
    assert "c (baseline)" in [row[0] for row in found.rows]
    assert sum("25 topics" in one for one in [found.title, *found.notes]) == 1
    assert any("Paired t-test with Holm's correction" in one for one in found.notes)


def test_symbols_of_baselines() -> None:
    scores = some_scores()
    found = cf.table(scores, baseline=["a_1", "e"], test="t", correction="none")
    expected = []
    for k in (1, 2, 3):
        means, mark = scores.mean(), ""
        for b, symbol in ((0, "†"), (4, "‡")):
            if stats.ttest_rel(scores.values[:, k], scores.values[:, b]).pvalue <= 0.05:
                mark += symbol + "↓" * bool(means[k] < means[b])
        expected.append(mark)
    # Baselines are not compared with each other.
    assert marks(found) == ["", *expected, ""]
    assert "significantly different (p ≤ 0.05) from † a_1, ‡ e; ↓ worse" in found.notes


@pytest.mark.parametrize("lower", [False, True])
def test_letters_of_systems_beaten(lower: bool) -> None:
    scores = some_scores("effort" if lower else "AP", lower=lower)
    theirs = [
        [
            k != j
            and stats.ttest_rel(scores.values[:, k], scores.values[:, j]).pvalue <= 0.05
            and (scores.mean()[k] < scores.mean()[j]) == lower
            for j in range(5)
        ]
        for k in range(5)
    ]
    found = cf.table(scores, marks="beaten", test="t", correction="none")
    assert [cell.text for cell in column(found, 0)] == list("abcde")
    expected = ["".join(np.array([*"abcde"])[row]) for row in theirs]
    assert marks(found, 2) == expected
    assert any(expected)
    assert (
        is_significantly_better(cf.compare(scores, test="t", correction="none")).tolist() == theirs
    )


def test_letters_of_groups() -> None:
    scores = some_scores()
    found = cf.table(scores, marks="groups")
    compared = cf.compare(scores)
    assert marks(found) == [compared.groups()[name] for name in SYSTEMS]
    p = compared.pvalue_matrix
    for i in range(5):
        for j in range(i):
            together = set(marks(found)[i]) & set(marks(found)[j])
            assert bool(together) == (p[i, j] > 0.05)


@pytest.mark.parametrize("lower", [False, True])
def test_marks_of_a_joint_test(lower: bool) -> None:
    random = np.random.default_rng(4)
    shifts: dict[str, list[float]] = {
        "x": [0, 0.4, 0.9, 1.1],
        "y": [0.6, 0, 0.7, 0.5],
        "z": [0, 0, 0, 0],
    }
    topics, systems = tuple(map(str, range(25))), tuple("abcd")
    ev = {
        name: cf.Scores(
            random.normal(size=(25, 4)) + np.array(shift),
            topics,
            systems,
            name,
            lower_is_better=lower,
        )
        for name, shift in shifts.items()
    }
    joint = cf.significance.compare_measures(ev, baseline="a", resamples=999)
    levels = (0.05, 0.001)
    found = cf.table(ev, baseline="a", joint=True, alpha=levels, resamples=999)
    assert f"{joint.method}, all measures jointly" in found.notes
    signs = set()
    for k in range(3):
        for row, pvalue, sign in zip(
            (1, 2, 3), joint.pvalues[:, k], joint.verdicts[:, k], strict=True
        ):
            symbol = ["", "†", "‡"][sum(pvalue <= level for level in levels)]
            assert marks(found, k + 1)[row] == symbol + "↓" * bool(sign < 0)
            signs.add(int(sign))
    assert len(signs) > 1
    alone = cf.compare(ev["x"], baseline="a", resamples=999)
    assert (joint.pvalues[:, 0] >= alone.adjusted_pvalues).all()
    with pytest.raises(cf.PolicyError, match="test cannot be combined with joint=True"):
        cf.table(ev, test="t", joint=True)
    groups = cf.table(ev, joint=True, marks="groups", resamples=999)
    all_pairs = cf.significance.compare_measures(ev, resamples=999)
    for k in range(3):
        letters = [{*mark} for mark in marks(groups, k + 1)]
        for a, b, pvalue in zip(
            all_pairs.first, all_pairs.second, all_pairs.pvalues[:, k], strict=True
        ):
            assert bool(letters[a] & letters[b]) == (pvalue > 0.05)


def test_each_measure_is_tested_by_itself() -> None:
    ev = {"AP": some_scores(), "nDCG@10": some_scores("nDCG@10", seed=8)}
    found = cf.table(ev, baseline="c", test="t")
    for k, one in enumerate(ev.values(), 1):
        assert marks(found, k) == marks(cf.table(one, baseline="c", test="t"))
    assert found.title.endswith("25 topics")
    assert any("each measure separately" in one for one in found.notes)
    assert not any("topics" in one for one in found.notes)
    values = ev["AP"].values.copy()
    values[0, 1] = np.nan
    reduced = cf.table(replace(ev["AP"], values=values), baseline="c", missing="drop")
    assert reduced.title.endswith("24 topics")
    # What the comparisons note is not lost.
    assert any(
        "assumes an interval scale" in one for one in cf.table(cf_measure(), test="t").remarks
    )


def cf_measure() -> cf.Scores:
    scores = some_scores("nDCG@10")
    return cf.Scores(
        scores.values, scores.topics, scores.systems, "nDCG@10", scale=cf.Scale.ORDINAL
    )


def test_no_test_no_marks() -> None:
    plainly = cf.table(some_scores())
    assert set(marks(plainly)) == {""}
    assert plainly.notes == []
    asked = cf.table(some_scores(), marks="none", baseline="c")
    assert asked.rows == plainly.rows


# Values


def test_best_and_second_best() -> None:
    values = [[0.5, 0.50001, 0.4, 0.3, np.nan]]
    scores = cf.Scores(np.array(values), ("1",), SYSTEMS)
    cells = column(cf.table(scores, second=True), 1)
    assert [cell.bold for cell in cells] == [True, True, False, False, False]
    assert [cell.underline for cell in cells] == [False, False, True, False, False]
    assert cells[4].text == "-"
    low = cf.Scores(np.array(values), ("1",), SYSTEMS, lower_is_better=True)
    assert [cell.bold for cell in column(cf.table(low), 1)] == [False, False, False, True, False]
    assert not any(cell.bold for cell in column(cf.table(scores, best=False), 1))
    one = cf.Scores(np.array([[0.5]]), ("1",), ("a",))
    assert not column(cf.table(one), 1)[0].bold


def test_decimals() -> None:
    small = cf.Scores(np.array([[0.00012, 0.00021]]), ("1",), ("a", "b"))
    assert [cell.text for cell in column(cf.table(small), 1)] == ["0.0001200", "0.0002100"]
    assert [cell.text for cell in column(cf.table(small, places=2), 1)] == ["0.00", "0.00"]
    counts = cf.Scores(np.array([[1200, 3], [34, 4]]), ("1", "2"), ("a", "b"), aggregate="sum")
    assert [cell.text for cell in column(cf.table(counts, percent=True), 1)] == ["1,234", "7"]
    shares = cf.Scores(np.array([[0.1234, 1.0]]), ("1",), ("a", "b"))
    assert [cell.text for cell in column(cf.table(shares, percent=True), 1)] == ["12.34", "100.00"]


def test_order() -> None:
    ev = {"x": cf.Scores(np.array([[0.1, np.nan, 0.3]]), ("1",), ("a", "b", "c"), "x")}
    assert [cell.text for cell in column(cf.table(ev), 0)] == ["a", "b", "c"]
    assert [cell.text for cell in column(cf.table(ev, sort="x"), 0)] == ["c", "a", "b"]
    with pytest.raises(PolicyError, match="unknown measure 'y' to sort by; expected one of: x"):
        cf.table(ev, sort="y")
    real = cf.evaluate({"r": {"q": {"d": 1.0}}}, {"q": {"d": 1}}, ["AP"])
    assert cf.table(real, sort="map").rows == cf.table(real).rows


def test_topics() -> None:
    scores = {"AP": cf.Scores(np.array([[0.5, np.nan], [0.25, 1.0]]), ("1", "2"), ("a", "b"), "AP")}
    table = tabulate_topics(scores, places=2)
    shown = [[as_cell(cell).text for cell in row] for row in table.rows]
    assert shown == [
        *(["1", "a", "0.50"], ["1", "b", "-"], ["2", "a", "0.25"], ["2", "b", "1.00"]),
        *(["all", "a", "0.38"], ["all", "b", "1.00"]),
    ]
    assert table.to_latex().count(r"\midrule") == 2


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"marks": "stars"}, "unknown marks 'stars'; expected one of: none, symbols, beaten,"),
        ({"marks": "symbols"}, "require a baseline"),
        ({"marks": "groups", "baseline": "c"}, "cannot be combined with a baseline"),
        ({"alpha": (0.05, 0.01), "test": "t"}, "require marks 'symbols' and a single baseline"),
        ({"alpha": (0.05, 0.01), "baseline": ["c", "d"]}, "require marks 'symbols' and a single"),
        ({"alpha": "x", "test": "t"}, "alpha must be a number between 0 and 1"),
        ({"alpha": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), "baseline": "c"}, "at most 5 levels or"),
        ({"baseline": "f"}, "unknown system 'f'"),
        ({"resamples": 10}, "resamples requires a test"),
        ({"test": "t", "colour": 1}, "unknown option 'colour'; expected one of: baseline, test,"),
        ({"test": "t", "plases": 3}, "unknown option 'plases'; did you mean places"),
        ({"marks": "beaten", "alternative": "greater", "test": "t"}, "requires a baseline"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        cf.table(some_scores(), **options)


SHARDS = cf.Scores(np.zeros((1, 1, 2)), ("1",), ("a",))
OTHERS = {"x": some_scores(), "y": some_scores(systems=("a", "b"))}


@pytest.mark.parametrize(
    ("call", "value", "message"),
    [
        (cf.table, 3, "int"),
        (cf.table, {"AP": [1, 2]}, "expected Scores for each measure, got list"),
        (cf.table, SHARDS, "without shards"),
        (tabulate_evaluation, OTHERS, "systems"),
        (tabulate_evaluation, {}, "at least one measure"),
        (lambda rows: Table("", ["a", "b"], rows), [["1", "2"], ["3"]], "row 2.*got 1"),
        (lambda second: cf.table(cf.compare(some_scores()), second=second), True, "second"),
        (lambda n: cf.table(cf.compare(some_scores()).anova, places=n), 2, "analysis of variance"),
        *(
            (lambda places: cf.table(some_scores(), places=places), places, "places")
            for places in (-1, 2.5, "x")
        ),
        (lambda best: cf.table(some_scores(), best=best), "no", "best"),
        (lambda baseline: cf.table(some_scores(), baseline=baseline), 5, "5"),
    ],
)
def test_results_that_have_no_table(call: Any, value: Any, message: str) -> None:
    with pytest.raises(CranfieldError, match=message):
        call(value)


# Comparisons


def test_comparisons_and_variance() -> None:
    found = cf.compare(some_scores())
    ranking = cf.table(found)
    assert ranking.head == ["system", "mean", "low", "high", "ranks", "groups"]
    assert [row[0] for row in ranking.rows] == [SYSTEMS[k] for k in found.order]
    assert [as_cell(row[1]).bold for row in ranking.rows] == [True] + [False] * 4
    assert ranking.to_latex() == found.to_latex()
    assert found.anova is not None
    variance = cf.table(found.anova).to_latex(caption=True)
    assert r"\hat{\omega}^2" in variance
    assert r"score \textasciitilde{} topic + system" in variance
    pairs = cf.table(cf.compare(some_scores(), baseline="c"), places=2)
    assert [row[1] for row in pairs.rows] == ["c"] * 4
    assert "$-$0.0" in pairs.to_latex()
    frame = cf.table(found.to_polars().select("first", "p", "significant"))
    assert frame.left == [0, 2]
    assert as_cell(frame.rows[0][2]).text in {"yes", "no"}


# LaTeX


def test_whole_tables_in_latex() -> None:
    table = Table(
        "A title", ["x"], [["1"]], notes=["a note"], remarks=["a remark"], typeface_note="bold"
    )
    bare = table.to_latex()
    assert bare.startswith("% A title\n% bold\n% a note\n% a remark\n\\begin{tabular}{l}\n")
    whole = table.to_latex(caption=True, label="tab:a_b")
    assert whole.startswith("% a remark\n\\begin{table}\n")
    assert r"\caption[{A title}]{A title. Bold. A note.}" in whole
    assert r"\label{tab:a_b}" in whole
    assert r"\caption[{Mine \& yours}]{Mine \& yours. A title. Bold." in table.to_latex(
        caption="Mine & yours"
    )
    long = table.to_latex(long=True, label="tab:long")
    assert long.count(r"\toprule") == 2
    assert r"\label{tab:long}\\" in long
    assert r"\caption" not in table.to_latex(long=True)
    for label in ("a}b", "", "a b", "a%"):
        with pytest.raises(PolicyError, match="label must consist of"):
            table.to_latex(label=label)


def test_rows_that_begin_like_an_argument() -> None:
    table = Table("", ["[x]"], [["[1cm]"], ["*"]])
    assert re.findall(r"(?m)^(.*) \\\\$", table.to_latex()) == ["{}[x]", "{}[1cm]", "{}*"]


def test_numbers_in_latex() -> None:
    cells = ["-0.25", "3e-12", "<1e-300", "-1.5%", "2-3", "-2e-7"]
    rows = [["-name", one] for one in cells]
    body = re.findall(r"-name & (.*) \\\\", Table("", ["", "n"], rows).to_latex())
    assert body == [
        *("$-$0.25", r"$3\cdot 10^{-12}$", "$<10^{-300}$", r"$-$1.5\%", "2-3"),
        r"$-2\cdot 10^{-7}$",
    ]


def test_marks_do_not_shift_numbers() -> None:
    table = Table("", ["s", "AP"], [["a", Cell("0.5", mark="xyz")], ["b", "0.4"]])
    latex = table.to_latex()
    assert r"\begin{tabular}{lr@{}l}" in latex
    assert r"s & \multicolumn{2}{c}{AP} \\" in latex
    assert r"a & 0.5 & \textsuperscript{xyz} \\" in latex
    assert r"b & 0.4 &  \\" in latex
    lines = table.to_text().splitlines()
    assert lines[1].index("0.5") == lines[2].index("0.4")
    assert table.to_html().count("min-width:1.8em") == 2


def test_wide_characters_take_two_columns() -> None:
    lines = Table("", ["s", "AP"], [["検索", "0.5"], ["abcd", "0.4"]]).to_text().splitlines()
    assert lines[1] == "検索  0.5"
    assert lines[2] == "abcd  0.4"


# Any name comes through

NAMES = st.text(st.characters(codec="utf-8"), max_size=12) | st.text(
    "\\|`*_[]<>&#~$ -\n", max_size=6
)


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"td", "th"}:
            self.found.append("")

    def handle_data(self, data: str) -> None:
        if self.found:
            self.found[-1] += data


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3))
@settings(max_examples=40)
def test_names_come_through(rows: list[tuple[str, str]]) -> None:
    table = Table("", ["a", "b"], rows)
    expected = [sanitise(cell).strip() for row in rows for cell in row]
    page = Cells()
    page.feed(table.to_html())
    page.close()
    assert [one.strip() for one in page.found[2:]] == expected
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    inline = [one for one in parser.parse(table.to_markdown()) if one.type == "inline"]
    texts = ["".join(part.content for part in one.children or []) for one in inline]
    assert texts[2:] == expected
    body = table.to_latex().split("\\midrule\n")[1].split("\n\\bottomrule")[0].split("\n")
    assert len(body) == len(rows)
    for line in body:
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)(?:\\\\)*&", line)) == 1


def test_frames() -> None:
    frame = cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["AP"]).by_system()
    shown = tabulate_frame(frame, "Means", places={"AP": 1})
    assert shown.rows == [["run", "0.5"]]
    assert shown.left == [0]
    assert repr(shown) == "Table('Means': 1 row, 2 columns)"


def test_letters_are_those_of_ranx() -> None:
    """The report of ranx 0.3.21, stat_test="student", max_p=0.01, on the bundled runs."""
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs[:8], covid.qrels, ["P@20", "nDCG@20"])
    found = cf.table(ev, marks="beaten", test="t", correction="none", alpha=0.01, places=3)
    shown = [
        [f"{as_cell(cell).text} {as_cell(cell).mark}" for cell in row[2:]] for row in found.rows
    ]
    assert shown == [
        *(["0.876 efgh", "0.850 defgh"], ["0.869 f", "0.849 defgh"], ["0.846 ", "0.831 "]),
        *(["0.834 ", "0.812 "], ["0.826 ", "0.796 "], ["0.827 ", "0.793 "]),
        *(["0.832 ", "0.792 "], ["0.842 ", "0.791 "]),
    ]


def test_what_was_tested_is_shown() -> None:
    y = 0.5 + 0.02 * np.random.default_rng(0).random(12)
    x = np.full(12, np.nan)
    x[:2] = [0.95, 0.9]
    names = tuple(map(str, range(12)))
    scores = cf.Scores(np.stack([x, y], axis=1), names, ("x", "y"), "AP")
    filled = cf.table(scores, test="t", missing="zero").to_markdown()
    assert "| a | x | 0.1542 |" in filled
    assert "| b | y | **0.5105**<sup>a</sup> |" in filled
    plain = cf.table(scores).to_markdown()
    assert (
        "AP: 1 system lacks some scores (up to 10 of 12 topics); means are over the other topics"
        in plain
    )
    unnamed = cf.table(cf.Scores(scores.values, names, ("x", "y"))).to_markdown()
    assert "bold. Scores: 1 system lacks some scores" in unnamed
    both = {
        "AP": scores,
        "RR": cf.Scores(np.stack([y, y + y], axis=1), names, ("x", "y"), "RR"),
    }
    assert "2 to 12 topics" in cf.table(both, test="t", missing="drop").to_markdown()


def test_marked_values_are_those_tested() -> None:
    """Medians order `a` first, means `b`: of 13 topics, `b` is far better on three."""
    low = [0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57, 0.58, 0.59, 0.5]
    scores = {"b": [x - 0.1 for x in low] + [1.0] * 3, "a": low + [0.1] * 3}
    medians = {name: sorted(values)[6] for name, values in scores.items()}
    assert medians == pytest.approx({"a": 0.53, "b": 0.46})

    def first_value(**options: Any) -> tuple[str, str, list[str]]:
        found = cf.table(cf.read_scores(scores), sort="", places=4, **options)
        cells = [as_cell(cell) for cell in found.rows[0]]
        assert cells[-1].bold
        return cells[-2].text, cells[-1].text, [*found.notes]

    *row, notes = first_value(test="bootstrap-median", resamples=99)
    assert row == ["a", "0.5300"]
    assert notes[-1] == "each value is the median"
    # Tests of means show means, and say no more; tests of ranks show means, too.
    *row, notes = first_value(test="t")
    assert row == ["b", f"{sum(scores['b']) / 13:.4f}"]
    assert not any("value" in note for note in notes)
    *row, notes = first_value(test="friedman")
    assert row[0] == "b"
    assert notes[-1] == "the test compares mean ranks, not the values shown"


def test_marks_name_the_seed_of_resamples() -> None:
    scores = cf.read_scores({"a": {"1": 0.1, "2": 0.4}, "b": {"1": 0.2, "2": 0.3}})
    drawn = cf.table(scores, test="anova-2", marks="groups", resamples=99, seed=3)
    assert "99 random samples, seed 3" in drawn.notes
    exact = cf.table(scores, test="t", marks="groups")
    assert not [note for note in exact.notes if "seed" in note]
