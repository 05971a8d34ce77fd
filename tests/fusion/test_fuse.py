"""Fusion of runs against ranx's own figures, and against the definitions written out."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import collect_warnings
from cranfield.fusion import fusing
from cranfield.fusion.methods import FUSIONS, NORMS
from cranfield.fusion.rankings import Rankings
from tests.cli.running import cranfield

pytestmark = pytest.mark.filterwarnings(
    "ignore:.* no topic in common with",
    "ignore:.* in one run only",
    "ignore:.*rank column that contradicts",
    "ignore:.* mostly tied scores",
    "ignore:.* scores below 0",
    "ignore:.* no document in common",
)

RANX = json.loads((Path(__file__).parent.parent / "data/fusion/ranx.json").read_text("utf-8"))
Scores = dict[str, dict[str, float]]
Runs = dict[str, dict[str, Any]]


def fused(runs: Any, *arguments: Any, **options: Any) -> Scores:
    found: Scores = {}
    for topic, doc, score, _ in cf.fuse(runs, *arguments, **options).to_polars().rows():
        found.setdefault(topic, {})[doc] = score
    return found


@pytest.mark.parametrize(
    "case", RANX["fused"], ids=lambda case: f"{case['method']}-{case.get('norm')}"
)
def test_the_figures_of_ranx(case: dict[str, Any]) -> None:
    options = {name: case[name] for name in ("norm", "weights") if name in case}
    found = fused(RANX["runs"], case["method"], limit=None, **options)
    assert found.keys() == case["scores"].keys()
    for topic, wanted in case["scores"].items():
        assert found[topic] == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_a_rank_window_by_hand(tmp_path: Path) -> None:
    """Of the first two ranks only: z is at rank 1 of b, and at no rank of a."""
    runs = {"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}, "b": {"q": {"z": 3.0, "w": 2.0, "x": 1.0}}}
    by_hand = {"z": 1 / 61, "x": 1 / 61, "y": 1 / 62, "w": 1 / 62}
    assert fused(runs, "RRF", depth=2)["q"] == pytest.approx(by_hand, rel=1e-11)
    assert fused(runs, "RRF")["q"]["z"] == pytest.approx(1 / 61 + 1 / 63, rel=1e-11)
    for name, run in runs.items():
        cf.write_run(cf.read_run(run, name=name), tmp_path / f"{name}.run")
    (tmp_path / "s.yaml").write_text("depth: 2\n")
    out, _ = cranfield(tmp_path, "fuse", "a.run", "b.run", "--settings", "s.yaml")
    scores = {line.split()[2]: float(line.split()[4]) for line in out.splitlines()}
    assert scores == pytest.approx(by_hand, rel=1e-11)


def normalised(scores: dict[str, float], norm: str, union: int) -> dict[str, float]:
    """Normalise the scores of a topic, best document first."""
    values = list(scores.values())
    low, high, n = min(values), max(values), len(values)
    mean = sum(values) / n
    deviation = math.sqrt(sum((one - mean) ** 2 for one in values) / n)
    total = sum(one - low for one in values)
    out = {}
    for rank, (doc, score) in enumerate(scores.items(), 1):
        out[doc] = {
            "min-max": (score - low) / (high - low) if high > low else 1.0,
            "max": score / high if high else 0.0,
            "sum": (score - low) / total if total else 1 / n,
            "z-score": (score - mean) / deviation if deviation else 0.0,
            "rank": 1 - (rank - 1) / n,
            "borda": 1 - (rank - 1) / union,
            "none": score,
        }[norm]
    return out


def naive(all_runs: Runs, topic: str, norm: str) -> Runs:
    """Fuse the rankings of one topic by the definitions of all methods, by name."""
    own_runs = [run[topic] for run in all_runs.values() if topic in run]
    runs = [dict(sorted(x.items(), key=lambda p: (p[1], p[0]), reverse=True)) for x in own_runs]
    docs = sorted({doc for one in runs for doc in one})
    ranks = [{doc: rank for rank, doc in enumerate(one, 1)} for one in runs]
    scaled = [normalised(one, norm, len(docs)) for one in runs]
    if norm == "borda":
        for one in scaled:
            left = 0.5 - (len(one) - 1) / (2 * len(docs))
            one |= {doc: left for doc in docs if doc not in one}
    out: Runs = {method: {} for method in FUSIONS}
    for doc in docs:
        at = [one[doc] for one in ranks if doc in one]
        own = [one[doc] for one in scaled if doc in one]
        zeros = [one.get(doc, 0.0) for one in scaled]

        last = len(docs) + 1
        margins = [
            sum(np.sign(one.get(other, last) - one.get(doc, last)) for one in ranks)
            for other in docs
        ]
        beaten = sum(margin > 0 for margin in margins)
        borda = sum(
            len(docs) - one[doc] + 1 if doc in one else Fraction(len(docs) - len(one) + 1, 2)
            for one in ranks
        )
        squares = sum(Fraction(1, rank**2) for rank in at)
        total = sum(own)
        values: dict[str, Any] = {
            "RRF": sum(Fraction(1, 60 + rank) for rank in at),
            "RBC": sum(0.2 * 0.8 ** (rank - 1) for rank in at),
            "ISR": len(at) * squares,
            "LogISR": math.log(len(at) + 0.01) * squares if at else 0,
            "Borda": borda,
            "Condorcet": beaten,
            "CombSUM": total,
            "CombMNZ": total * len(own),
            "CombGMNZ": total * len(own),
            "CombMAX": max(own),
            "CombMIN": min(zeros),
            "CombMED": median(zeros),
            "CombANZ": total / len(own),
        }
        for method, value in values.items():
            out[method][doc] = float(value)
    return out


def random_runs(seed: int, topics: int = 40) -> Runs:
    """Runs of short rankings with ties, equal scores, and topics without a document."""
    random = np.random.default_rng(seed)
    runs: Runs = {f"s{k}": {} for k in range(random.integers(2, 5))}
    for name, topic in product(runs, range(topics)):
        docs = random.permutation([*"abcdefgh"])[: random.integers(0, 9)].tolist()
        highest = random.integers(1, 11)
        if docs:
            scores = {doc: int(random.integers(0, highest) - 5) / 2 for doc in docs}
            runs[name][f"q{topic}"] = scores
    return runs


@pytest.mark.parametrize("norm", [one for one in NORMS if one != "max"])
@settings(max_examples=1, phases=[Phase.generate])  # A smaller seed is not simpler.
@given(st.integers(0, 10**6))
def test_the_definitions(norm: str, seed: int) -> None:
    runs = random_runs(seed)
    turned = {f"x{k}": one for k, one in enumerate(reversed(runs.values()))}
    wanted = {topic: naive(runs, topic, norm) for run in runs.values() for topic in run}
    # Methods that use ranks have no norm.
    for method in (one for one in FUSIONS if norm == "min-max" or one.startswith("Comb")):
        by_score = norm if method.startswith("Comb") else None
        found = fused(runs, method, norm=by_score, limit=None)
        assert found.keys() == wanted.keys()
        for topic, by_method in wanted.items():
            assert found[topic] == pytest.approx(by_method[method], rel=1e-10, abs=1e-10), method
        # In order, ties by document id, descending.
        for by_doc in found.values():
            pairs = [(score, doc) for doc, score in by_doc.items()]
            assert pairs == sorted(pairs, reverse=True)
        # The names and the order of runs make no difference.
        assert fused(turned, method, norm=by_score, limit=None) == found


def test_sums_that_are_equal_are_tied() -> None:
    """Three terms in three orders have three sums of floats; documents go by id then."""
    orders = ("abc", "bca", "cab")
    runs = {one: {"q": {doc: 3.0 - k for k, doc in enumerate(one)}} for one in orders}
    for method in ("RRF", "CombSUM", "Borda", "RBC", "ISR"):
        scores = fused(runs, method)["q"]
        assert list(scores) == ["c", "b", "a"]
        assert len(set(scores.values())) == 1


def test_blocks_of_topics_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [fused(RANX["runs"], method) for method in FUSIONS]
    monkeypatch.setattr(fusing, "_BLOCK_ROWS", 1)
    assert [fused(RANX["runs"], method) for method in FUSIONS] == whole


LONG = "http://example.org/" + "a" * 60


@pytest.mark.parametrize("kind", ["short", "of several words", "long", "one run of long ones"])
def test_ids_of_any_length(kind: str, tmp_path: Path) -> None:
    numbers = np.random.default_rng(7)
    start = {"short": "d", "of several words": "clueweb12-00-", "long": LONG}.get(kind, "é")
    runs: Runs = {}
    for name in "abc":
        # Topics in another order, and some of them missing; equal scores, too.
        topics = numbers.permutation(8)[: numbers.integers(4, 9)].tolist()
        runs[name] = {
            f"q{topic}": {
                f"{start}{doc}": float(numbers.integers(0, 8))
                for doc in numbers.permutation(30)[: numbers.integers(1, 20)].tolist()
            }
            for topic in topics
        }
    if kind == "one run of long ones":
        runs["b"]["q1"] = {LONG: 2.0, "é1": 1.0}
    for name, run in runs.items():
        cf.write_run(cf.read_run(run, name=name), tmp_path / f"{name}.run")
    topics = {topic for run in runs.values() for topic in run}
    for source, method in product((runs, tmp_path), ("RRF", "CombSUM", "Borda")):
        made = fused(source, method, limit=None)
        assert made.keys() == topics
        for topic in topics:
            wanted = naive(runs, topic, "min-max")[method]
            assert made[topic] == pytest.approx(wanted, rel=1e-11, abs=1e-11)
            order = sorted(made[topic], key=lambda d: (made[topic][d], d.encode()), reverse=True)
            assert list(made[topic]) == order


def test_a_fused_run_is_a_run(tmp_path: Path) -> None:
    run = cf.fuse(RANX["runs"], "RRF(k=10)", limit=4)
    assert run.name == "RRF(k=10)" and len(run) == 12
    assert run.metadata is not None and "a, b, c" in run.metadata.get("method.description")
    cf.write_run(run, tmp_path / "fused.run", metadata=True)
    again = cf.read_run(tmp_path / "fused.run")
    assert again.to_polars().rows() == run.to_polars().rows()
    assert again.metadata is not None and again.metadata.get("method.name") == "fusion by RRF(k=10)"
    assert cf.evaluate(run, {"q0": {run.docs[0]: 1}}, ["RR"])["RR"].overall()[0] == 1.0


BELOW_0: dict[str, Any] = {"runs": {"a": {"q": {"x": -1.0}}, "b": {"q": {"x": 1.0}}}}
BELOW_0 |= {"method": "CombSUM", "norm": "max"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rrrf"}, "did you mean RRF"),
        ({"norm": "max"}, "norm requires a method that uses scores, got RRF"),
        ({"method": "CombSUM", "norm": "minmax"}, "none; did you mean min-max?"),
        ({"method": RANX["runs"]["a"]}, "pass several runs as a list or dict"),
        ({"weights": [1, 2]}, "expected 3 weights, one for each run, got 2"),
        ({"weights": [1, 2, 0]}, "numbers above 0"),
        ({"weights": {"a": 1, "b": 1, "z": 1}}, "got a weight for unknown run 'z'"),
        ({"weights": {"a": 1, "b": 1}}, "no weight for run 'c'"),
        ({"method": "Condorcet", "weights": [1, 1, 1]}, "cannot be combined with method Condorcet"),
        ({"weights": np.array(2.0)}, "must be a list of numbers, or a dict by name"),
        ({"weights": np.ones((3, 1))}, "numbers above 0"),
        ({"name": " "}, "name must not be blank, got ' '"),
        ({"depth": 0}, "depth must be"),
        ({"runs": {"a": RANX["runs"]["a"]}}, "at least 2 runs, got 1"),
        (BELOW_0, "a: norm 'max' requires the highest score of each topic to be above 0"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cf.CranfieldError, match=re.escape(message)):
        cf.fuse(**{"runs": RANX["runs"], **options})


def test_command(tmp_path: Path) -> None:
    for name, run in RANX["runs"].items():
        cf.write_run(cf.read_run(run, name=name), tmp_path / f"{name}.run")
    files = [f"{name}.run" for name in RANX["runs"]]
    cranfield(tmp_path, "fuse", *files, "--method", "combsum", "--weights", "1,2,3", "-o", "f.gz")
    wanted = cf.fuse(RANX["runs"], "CombSUM", weights=np.array([1, 2, 3]))
    found = cf.read_run(tmp_path / "f.gz")
    assert found.name == "CombSUM" and found.to_polars().rows() == wanted.to_polars().rows()
    out, _ = cranfield(tmp_path, "fuse", *files, "--limit", "1", "--name", "mine")
    assert [line.split()[-1] for line in out.splitlines() if line[0] != "#"] == ["mine"] * 3
    assert "Fox and Shaw" in cranfield(tmp_path, "fuse", "--list")[0]
    for arguments, message in (
        ((), "expected RUN... (two or more), or --list"),
        (files[:1], "at least 2 runs, got 1"),
        ((*files, "--list"), "RUN cannot be combined with --list"),
        (("--list", "--name", "mine"), "--name cannot be combined with --list"),
        ((*files, "--weights", "a,b"), "--weights must be numbers such as 0.3,0.7"),
    ):
        assert message in cranfield(tmp_path, "fuse", *arguments, status=2)[1]


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e160, 5e307])
@pytest.mark.parametrize("norm", ["z-score", "sum", "min-max", "max"])
def test_the_unit_of_scores_changes_nothing(unit: float, norm: str) -> None:
    plain = {"a": {"1": {"x": 3.0, "y": 2.0, "z": 1.0}}, "b": {"1": {"x": 3.0, "z": 2.0, "y": 1.0}}}
    scaled = {
        run: {"1": {doc: score * unit for doc, score in of["1"].items()}}
        for run, of in plain.items()
    }
    found, wanted = (fused(runs, "CombSUM", norm=norm)["1"] for runs in (scaled, plain))
    assert list(found) == list(wanted) and found == pytest.approx(wanted, rel=1e-11)


@pytest.mark.parametrize("norm", NORMS)
def test_the_largest_scores_are_fused_or_refused(norm: str) -> None:
    runs = {
        "a": {"1": {"x": 1.7e308, "y": 1.0}, "2": {"x": 1.0}},
        "b": {"1": {"x": 1.7e308, "y": -1.7e308}, "2": {"x": 1.7e308, "y": 1.7e308}},
    }
    for method in FUSIONS:
        for weights in (None, [1e308, 1e308]):
            try:
                found = cf.fuse(runs, method, norm=norm, weights=weights).scores
            except cf.CranfieldError as error:
                said = ("too large", "norm requires a method", "weights", "above 0")
                assert any(one in str(error) for one in said)
            else:
                assert np.isfinite(found).all()
    assert fused(runs, "CombSUM", norm="sum")["1"]["x"] == 2.0
    assert fused(runs, "CombMED", norm="none")["1"]["x"] == 1.7e308


def test_ranks_that_contradict_scores_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("1 Q0 a 1 9 A\n1 Q0 b 2 8 A\n1 Q0 c 3 1 A\n")
    (tmp_path / "b.run").write_text("1 Q0 c 1 0.1 B\n1 Q0 d 2 0.7 B\n1 Q0 a 3 0.8 B\n")
    runs = [tmp_path / "a.run", tmp_path / "b.run"]
    note = r"1 of 2 systems has ranks that contradict .* \(most in 'B': 2 contra"
    for function in (cf.fuse, cf.assess.pool):
        with pytest.warns(cf.CranfieldWarning, match=note):
            function(runs, depth=10)
        function(runs, depth=10, ties="rank")
        function([runs[0], {"1": {"a": 1.0, "b": 2.0}}], depth=10)


IN_COMMON, IN_ONE_RUN = "no topic in common", "in one run only"


@pytest.mark.parametrize(
    ("topics", "kind", "note"),
    [
        (("12", "34"), IN_COMMON, r"2 of 2 runs have no .* \('run0' has '1', '2'"),
        (("12", "23", "4"), IN_COMMON, r"1 of 3 runs has no .* \('run2' has '4'"),
        (("12", "23"), IN_COMMON, None),
        (("12", "2", "1"), IN_COMMON, None),
        (("12", "23"), IN_ONE_RUN, r"^2 of 3 topics are .* \('1', '3'\), so that a single run"),
        (("12", "123", "4"), IN_ONE_RUN, r"^1 of 4 topics is in one run only \('3'\)"),
        (("12", "12"), IN_ONE_RUN, None),
        (("1", "2"), IN_ONE_RUN, None),
    ],
)
def test_topics_that_runs_do_not_share(topics: tuple[str, ...], kind: str, note: Any) -> None:
    runs = {f"run{k}": {topic: {"a": 2.0, "b": 1.0} for topic in x} for k, x in enumerate(topics)}
    for function in (cf.fuse, cf.assess.pool) if kind == IN_COMMON else (cf.fuse,):
        with collect_warnings() as told:
            function(runs, depth=10)
        messages = [one for one in told if kind in one]
        assert len(messages) == (note is not None)
        assert note is None or re.search(note, messages[0])


RAW = {"method": "CombSUM", "norm": "none"}


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        ({"D1": 2.0, "D2": 1.0}, {}, "2 of 2 runs have no document in common .*'a' has 'd1'"),
        ({"D1": 2.0, "D2": 1.0}, {"depth": 5}, None),
        ({}, {}, None),
        ({"d1": 0.5, "d2": 0.5, "d3": 0.5}, {}, "1 of 2 runs has mostly tied scores .100%.*'b'"),
        ({"d1": 0.5, "d2": 0.5, "d3": 0.5}, {"method": "CombSUM"}, None),
        ({"d1": 0.5, "d2": 0.5, "d3": 0.5}, {"ties": "input"}, None),
        ({"d1": 0.5, "d2": 0.5, "d3": 0.1, "d4": 0.0}, {}, None),
        ({"d1": -0.1, "d2": -3.0}, RAW, "1 of 2 runs has scores below 0 .'b'., so that with norm"),
        ({"d1": -0.1, "d2": -3.0}, {"method": "CombSUM"}, None),
        ({"d1": -0.1, "d2": -3.0}, {}, None),
        (["d1", "d2"], RAW, "1 of 2 runs has no scores .'b'., so that CombSUM uses negated ranks"),
        (["d1", "d2"], {"method": "CombMNZ"}, "1 of 2 runs has no scores .'b'., so that CombMNZ"),
        (["d1", "d2"], {"method": "CombSUM", "norm": "rank"}, None),
        (["d1", "d2"], {}, None),
    ],
)
def test_doubtful_runs_are_reported(
    other: Any, options: dict[str, Any], message: str | None
) -> None:
    with collect_warnings() as told:
        cf.fuse({"a": {"q": {"d1": 3.0, "d2": 1.0}}, "b": {"q": other}}, **options)
    assert len(told) == (message is not None)
    assert message is None or re.match(message, told[0])


def test_topics_of_rankings_are_texts() -> None:
    with pytest.raises(cf.PolicyError, match="topics of rankings must be strings"):
        Rankings.from_tops([], ["x"], memoryview(b"x"), 1, pl.Series())
    with pytest.raises(cf.PolicyError, match="depth must be an integer from 0"):
        Rankings.from_tops([], ["x"], ["1"], np.bytes_(b"x"), pl.Series())  # type: ignore[arg-type]


def test_topics_that_are_no_words_are_fused() -> None:
    """Topics may be whole queries, longer than the words that documents are kept in."""
    for topic in ("x" * 100, "q\x00"):
        runs = {
            "a": cf.read_run({topic: {"d": 2.0, "e": 1.0}}),
            "b": cf.read_run({topic: {"e": 1.0}}),
        }
        fused = cf.fuse(runs, "CombSUM")
        assert fused.topics == (topic,) and sorted(fused.docs.to_list()) == ["d", "e"]
