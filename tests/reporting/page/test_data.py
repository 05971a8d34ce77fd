"""Every number on the page is that of the results, to the bit."""

from __future__ import annotations

from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import cranfield as cf
from cranfield.base.errors import CranfieldError
from tests.reporting.page.reading import floats, read

MEASURES = ["nDCG@10", "RR@10"]


def same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(one.shape == other.shape and np.asarray(one).tobytes() == other.tobytes())


@cache
def evaluation(systems: int = 8) -> cf.Evaluation:
    covid = cf.bundled.trec_covid()
    return cf.evaluate(covid.runs[:systems], covid.qrels, MEASURES)


def check(measure: dict[str, Any], found: cf.PairwiseComparison) -> None:
    """Compare the data of one measure with a comparison."""
    data = measure["comparison"]
    first, second = (
        (np.array(data["first"]), np.array(data["second"]))
        if "first" in data
        else np.triu_indices(len(found.systems), 1)
    )
    assert np.array_equal(first, found.first)
    assert np.array_equal(second, found.second)
    for name, wanted in (
        ("difference", found.difference),
        ("p", found.adjusted_pvalues),
        ("effect", found.effect),
        ("means", found.means),
    ):
        assert same(floats(data[name]), wanted)
    low, high = found.interval
    if "halfWidths" in data:
        reach = floats(data["halfWidths"])
        np.testing.assert_allclose(floats(data["difference"]) - reach, low, 1e-12, 1e-15)
        np.testing.assert_allclose(floats(data["difference"]) + reach, high, 1e-12, 1e-15)
    else:
        assert same(floats(data["low"]), low)
        assert same(floats(data["high"]), high)
    around = None if found.baselines else found.find_mean_bounds(int(found.order[0]))
    assert (data["around"] is None) == (around is None)
    if around is not None:
        assert same(floats(data["around"]["low"]), around[0])
        assert same(floats(data["around"]["high"]), around[1])
        assert data["around"]["ofBest"] == (found.half_widths is None)
    holds = cf.meaningfulness(found).dominance.holds
    bits = np.frombuffer(b64decode(data["holds"]), dtype=np.uint8)
    assert np.array_equal(np.unpackbits(bits, bitorder="little")[: len(found)], holds)
    assert data["order"] == found.order.tolist()
    assert data["correction"].startswith("Dunnett's") == found.title.startswith("Dunnett's")
    assert data["alpha"] == found.alpha


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"test": "t", "correction": "max-t", "alpha": 0.01, "resamples": 200, "seed": 3},
        {"test": "friedman"},
        {"test": "sign", "correction": "holm"},
        {"baseline": "ucd_cs_r3"},
        {"statistic": "geometric-mean"},
        {
            "test": "t",
            "correction": "holm",
            "alternative": "greater",
            "baseline": "ucd_cs_r3",
        },
    ],
)
def test_numbers_of_an_evaluation(tmp_path: Path, options: dict[str, Any]) -> None:
    ev = evaluation(11)
    data = read(cf.report(ev, tmp_path / "r.html", scales=False, **options)).data
    assert data["systems"] == list(ev.systems)
    assert data["topics"] == list(ev.topics)
    assert [one["name"] for one in data["measures"]] == list(ev)
    for one in data["measures"]:
        scores = ev[one["name"]]
        assert same(floats(one["scores"]).reshape(scores.values.shape), scores.values)
        if "statistic" in options:
            expected = stats.gmean(np.maximum(scores.values, 1e-5))
            np.testing.assert_allclose(floats(one["overall"]), expected, rtol=1e-12)
        else:
            assert same(floats(one["overall"]), scores.overall())
        check(one, cf.compare(scores, **options))


@pytest.mark.parametrize(
    ("measure", "statistic", "name", "difference"),
    [
        ("AP", None, "mean", "difference"),
        ("AP", "median", "median", "difference of medians"),
        ("AP", "sum", "sum", "difference of sums"),
        ("GMAP", None, "geometric mean", "log ratio of geometric means"),
        ("NumRelRet", None, "sum", "difference of sums"),
        ("NumRelRet", "mean", "mean", "difference"),
    ],
)
def test_the_statistic_that_was_compared_is_shown_and_named(
    tmp_path: Path, measure: str, statistic: str | None, name: str, difference: str
) -> None:
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs[:4], covid.qrels, measure)[measure]
    [one] = read(cf.report(scores, tmp_path / "r.html", statistic=statistic)).data["measures"]
    expected = {
        "mean": np.mean(scores.values, axis=0),
        "sum": np.sum(scores.values, axis=0),
        "median": np.median(scores.values, axis=0),
        "geometric mean": stats.gmean(np.maximum(scores.values, 1e-5)),
    }[name]
    np.testing.assert_allclose(floats(one["overall"]), expected, rtol=1e-12)
    np.testing.assert_allclose(floats(one["comparison"]["means"]), expected, rtol=1e-12)
    assert (one["overallName"], one["comparison"]["meanOf"]) == (name, name)
    assert one["comparison"]["differenceName"] == difference


def test_groups_and_verdicts(tmp_path: Path) -> None:
    ev = evaluation(11)
    found = cf.compare(ev["nDCG@10"])
    data = read(cf.report(found, tmp_path / "r.html")).data["measures"][0]["comparison"]
    assert dict(zip(found.systems, data["letters"], strict=True)) == found.groups()
    found = cf.compare(ev["nDCG@10"], baseline="ucd_cs_r3")
    data = read(cf.report(found, tmp_path / "r.html")).data["measures"][0]["comparison"]
    assert data["letters"] is None
    words = dict(zip(found.systems, data["against"]["verdicts"], strict=True))
    assert words.pop("ucd_cs_r3") == ""
    rows = {row["first"]: row for row in found.to_polars().to_dicts()}
    for system, word in words.items():
        better = "better" if rows[system]["difference"] > 0 else "worse"
        assert word == (better if rows[system]["significant"] else "not significantly different")
    k = found.systems.index("UPrrf93-wt-r5")
    assert floats(data["against"]["low"])[k] == rows["UPrrf93-wt-r5"]["low"]


def test_lower_is_better(tmp_path: Path) -> None:
    values = np.array([[0.9, 0.1, 0.5], [0.8, 0.2, 0.5], [0.95, 0.1, 0.45], [0.7, 0.0, 0.4]])
    scores = cf.Scores(values, tuple("1234"), tuple("abc"), measure="effort", lower_is_better=True)
    page = read(cf.report(cf.compare(scores, baseline="c"), tmp_path / "r.html"))
    one = page.data["measures"][0]
    assert one["comparison"]["against"]["verdicts"] == ["worse", "better", ""]
    assert one["comparison"]["order"][0] == 1
    assert one["lowerIsBetter"]


def test_comparisons_on_topics_of_their_own(tmp_path: Path) -> None:
    first = cf.Scores(
        np.array([[0.1, 0.2], [0.3, 0.5], [0.2, 0.9]]), tuple("123"), tuple("ab"), measure="x"
    )
    second = cf.Scores(
        np.array([[0.4, 0.2], [0.3, 0.1], [0.3, 0.3]]), tuple("324"), tuple("ab"), measure="y"
    )
    data = read(cf.report([cf.compare(first), cf.compare(second)], tmp_path / "r.html")).data
    assert data["topics"] == ["1", "2", "3", "4"]
    y = floats(data["measures"][1]["scores"]).reshape(4, 2)
    assert np.isnan(y[0]).all()
    assert y[[2, 1, 3]].tolist() == second.values.tolist()


def test_scores_by_shard(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random((6, 3, 2))
    scores = cf.Scores(values, tuple("123456"), tuple("abc"), measure="x")
    found = cf.compare(scores)
    one = read(cf.report(found, tmp_path / "r.html")).data["measures"][0]
    assert same(floats(one["scores"]).reshape(6, 3), np.nanmean(values, axis=2))
    check(one, found)


def test_missing_scores_are_reported(tmp_path: Path) -> None:
    scores = cf.Scores(
        np.array([[0.1, np.nan], [0.3, 0.5], [0.4, 0.6]]), tuple("123"), tuple("ab"), measure="x"
    )
    with pytest.warns(cf.CranfieldWarning, match="not compared"):
        page = read(cf.report(scores, tmp_path / "r.html"))
    assert page.data["measures"][0]["comparison"] is None
    assert "x is not compared" in page.shown
    kept = read(cf.report(scores, tmp_path / "r.html", missing="drop"))
    assert kept.data["topics"] == ["2", "3"]


def test_one_system_and_one_topic(tmp_path: Path) -> None:
    ev = cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"b": 1}}, ["AP", "RR"])
    page = read(cf.report(ev, tmp_path / "r.html"))
    assert "run scores 0.5000 on AP" in page.shown
    assert "there is only one system" in page.shown


def test_what_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    by_system = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}
    assert read(cf.report(by_system, path)).data["systems"] == ["bm25", "dense"]
    found = cf.compare(by_system)
    sign = cf.compare(by_system, test="sign")
    names = [
        [one["name"] for one in read(cf.report(given, path)).data["measures"]]
        for given in (found, [found, found], {"a": found, "b": cf.meaningfulness(sign)})
    ]
    assert names == [
        ["score"],
        [
            "score (Studentised bootstrap test)",
            "score (Studentised bootstrap test) #2",
        ],
        ["score (Studentised bootstrap test)", "score (Sign test)"],
    ]


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_what_was_compared_is_shown(tmp_path: Path, missing: str) -> None:
    y = 0.5 + 0.02 * np.random.default_rng(0).random(12)
    x = np.full(12, np.nan)
    x[:2] = 0.95, 0.9
    scores = cf.Scores(np.stack([x, y], 1), tuple(map(str, range(12))), ("x", "y"), "AP")
    found = cf.compare(scores, missing=missing)
    page = read(cf.report(scores, tmp_path / "r.html", missing=missing))
    one = page.data["measures"][0]
    # By hand: 1.85 / 12, or the two topics that both have.
    mean = 1.85 / 12 if missing == "zero" else 0.925
    assert np.allclose(floats(one["overall"])[0], mean)
    assert same(floats(one["scores"]).reshape(-1, 2), found.scores.values)
    assert page.data["topics"] == [str(k) for k in range(12 if missing == "zero" else 2)]
    rows = [row for name, row in page.elements if name == "tr" and "data-system" in row]
    assert [row["data-system"] for row in rows] == (["1", "0"] if missing == "zero" else ["0", "1"])
    said = "missing scores counted as 0" if missing == "zero" else "excluded: no score"
    assert f"10 {said}" in page.shown.replace("topics ", "") and one["policy"]
    # The same for comparisons that are made.
    made = read(cf.report(found, tmp_path / "m.html")).data["measures"][0]
    assert made["overall"] == one["overall"]


def scores(systems: str = "ab", measure: str = "x") -> cf.Scores:
    values = np.array([[0.1, 0.2], [0.3, 0.5], [0.4, 0.3]])
    return cf.Scores(values, tuple("123"), tuple(systems), measure=measure)


@pytest.mark.parametrize(
    ("found", "options", "message"),
    [
        (scores(), {"test": "nope"}, "unknown test"),
        (cf.compare(scores()), {"alpha": 0.01}, "alpha"),
        ([], {}, "scores or comparisons to report"),
        (3, {}, "int"),
        ([scores(), scores("ac", "y")], {}, "same systems"),
        (scores(), {"inputs": ["no.txt"]}, "cannot be read"),
        *((scores(), {"inputs": value}, "inputs|5") for value in (5, [5], b"x")),
        (scores(), {"inputs": "zz"}, "zz|list"),
        *((scores(), {"command": value}, "command|5") for value in (5, [5])),
        *((scores(), {"path": value}, "path|int|None|bytes") for value in (None, 5, b"x")),
        (scores(), {"path": "a" * 300}, "name"),
        (scores(), {"path": "a\0b"}, "null"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Any, options: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CranfieldError, match=message) as caught:
        cf.report(found, **{"path": "r.html", **options})
    assert "\n" not in str(caught.value)
    assert not [*tmp_path.iterdir()]
