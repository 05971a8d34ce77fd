"""How far ties can change a score: against the enumeration of all orders of tied documents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import BY_DOCUMENT, find_tie_effects, order_ties, score
from cranfield.measures.families import REGISTRY
from tests.cli.running import cranfield

SCORES = {
    "q1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 1.0, "f": 1.0},
    "q2": {"b": 1.0, "c": 1.0},
    "q3": {"a": 3.0, "b": 2.0, "c": 1.0},
}
QRELS = {
    "q1": {"a": 0, "b": 2, "c": 1, "d": 0, "f": 1, "z": 3},
    "q2": {"b": 1, "c": -1},
    "q3": {"a": 1, "b": 1, "x": 0},
}


def _orders() -> Any:
    """Yield all runs without ties that differ from the tied run in the order of ties only."""
    by_topic = []
    for topic, docs in SCORES.items():
        groups: dict[float, list[str]] = {}
        for doc, value in docs.items():
            groups.setdefault(value, []).append(doc)
        falling = [groups[value] for value in sorted(groups, reverse=True)]
        ways = [
            [doc for group in way for doc in group] for way in product(*map(permutations, falling))
        ]
        by_topic.append([(topic, way) for way in ways])
    for chosen in product(*by_topic):
        yield {topic: {doc: -k for k, doc in enumerate(way)} for topic, way in chosen}


@pytest.mark.parametrize(
    "policies",
    [{}, {"depth": 2}, {"unjudged": "condensed"}, {"negative": "unjudged"},
     {"unjudged": "condensed", "negative": "unjudged", "topics": "intersection"}],
)  # fmt: skip
def test_the_effect_of_ties_is_that_of_the_extreme_orders(policies: dict[str, Any]) -> None:
    measures = ["AP", "RR@2", "nDCG@3", "P@2", "R(rel=2)@3", "ERR@3", "Bpref", "Judged@2",
                "AP(judged_only=True)", "RBP(p=0.8)", "Rprec", "NumRelRet@2"]  # fmt: skip
    orders = {str(k): run for k, run in enumerate(_orders())}
    judged = cf.judge(SCORES, QRELS, **policies)
    for name, scores in cf.evaluate(orders, QRELS, measures, **policies).items():
        effects = find_tie_effects(judged, score(judged, name))
        found = effects[0].effect if effects else 0.0
        assert found == pytest.approx(np.ptp(scores.overall()), abs=1e-12), name


def test_every_measure_of_grades_is_looked_at() -> None:
    run = {"q": {f"d{k}": 1.0 for k in range(8)}}
    qrels = {"q": {f"d{k}": k % 3 for k in range(1, 8)}}
    judged = cf.judge(run, qrels)
    seen = 0
    for name, kind in REGISTRY.items():
        info = kind.info
        if (
            kind.data_class is not JudgedRuns
            or info.inputs
            or info.depends_on_others
            or kind.inner_example
        ):
            continue
        if info.beyond_grades == BY_DOCUMENT:
            continue
        measure = (
            kind()
            if kind.info.at_usage != "required"
            else kind() @ (3 if kind.info.at_parameter == "cutoff" else 0.5)
        )
        with suppress(MeasureError):
            measure.require_complete()
            effects = find_tie_effects(judged, score(judged, measure))
            assert len(effects) == 1, name
            assert np.isfinite(effects[0].effect), name
            seen += 1
    assert seen > 40


@pytest.mark.parametrize("policies", [{}, {"topics": "intersection"}, {"unjudged": "condensed"}])
def test_effects_are_those_of_all_topics_to_the_last_bit(policies: dict[str, Any]) -> None:
    random = np.random.default_rng(4)
    topics, docs = [f"t{k}" for k in range(12)], [f"d{k}" for k in range(30)]
    qrels = {
        topic: {doc: int(random.integers(-1, 4)) for doc in docs[::2]} for topic in topics[:11]
    }
    runs: dict[str, Any] = {name: {} for name in "abc"}
    for k, topic in enumerate(topics):
        for number, run in enumerate(runs.values()):
            values = random.random(30)
            # The first run has ties in two topics, the second in one, the third in none.
            values[:6] = 0.8 if k < 2 - number else values[:6]
            run[topic] = dict(zip(docs, values.tolist(), strict=True))
    judged = cf.judge(runs, qrels, **policies)
    measures = ["AP", "nDCG@10", "RR", "Bpref", "ERR", "RBP(p=0.8)", "Q", "P@4", "infAP",
                "AP(judged_only=True)", "nDCG(gains='exponential')@5"]  # fmt: skip
    for name in measures:
        scores = cf.score(judged, name)
        [measure] = scores.measures
        [table] = scores.values()
        by_order = np.stack([measure.score(order) for order in order_ties(judged)])
        by_order[:, ~judged.is_scored] = np.nan
        best, worst = (
            replace(table, values=extreme).overall()
            for extreme in (by_order.max(axis=0), by_order.min(axis=0))
        )
        effects = {tie.system: tie.effect for tie in find_tie_effects(judged, scores)}
        assert effects == {"a": best[0] - worst[0], "b": best[1] - worst[1]}, name
        assert effects["a"] > 0 or name in {"P@4", "RR"}, name


def test_notes_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def no_effects(*arguments: Any) -> list[Any]:
        calls.append(arguments)
        return []

    monkeypatch.setattr("cranfield.evaluation.evaluation.find_tie_effects", no_effects)
    ev = cf.evaluate({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 0, "b": 1}}, "RR")
    assert ev.notes == ev.notes == []
    ev.warn()
    assert len(calls) == 1


@pytest.mark.parametrize("ties", ["rank", "file"])
def test_an_order_without_ties_has_no_effect(tmp_path: Any, ties: Any) -> None:
    lines = "".join(f"q 0 d{k} {k} 0.5 flat\n" for k in range(1, 9))
    (tmp_path / "flat.run").write_text(lines)
    qrels = {"q": {f"d{k}": int(k == 8) for k in range(1, 9)}}
    assert cf.evaluate(tmp_path / "flat.run", qrels, "RR@10", ties=ties).notes == []
    assert cf.evaluate(tmp_path / "flat.run", qrels, "RR@10").notes


def test_ties_below_the_cutoff_or_of_one_grade_have_no_effect() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.0, "e": 0.5, "f": 0.5}}
    qrels = {"q": {"a": 0, "b": 1, "c": 0, "d": 0, "e": 1, "f": 0}}
    assert cf.evaluate(run, qrels, ["RR@4", "P@3"]).notes == []
    [note] = cf.evaluate(run, qrels, ["P@5"]).notes
    assert "P@5" in note
    assert "0.2" in note
    assert "67%" in note


def test_a_note_counts_the_other_measures_that_change() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.0, "e": 0.5, "f": 0.5}}
    qrels = {"q": {"a": 0, "b": 1, "c": 0, "d": 0, "e": 1, "f": 0}}
    measures = ["RR@4", "P@3", "P@5", "AP", "nDCG@5"]
    ev = cf.evaluate(run, qrels, measures)
    alone = [cf.evaluate(run, qrels, name).notes for name in measures]
    assert [len(notes) for notes in alone] == [0, 0, 1, 1, 1]
    [note] = ev.notes
    assert note.endswith(", and 2 other measures by no more")
    [tie] = find_tie_effects(ev.judged, ev)
    assert tie.n_others == 2
    sizes = {
        name: tie.effect
        for name in measures
        for tie in find_tie_effects(ev.judged, {name: ev[name]})
    }
    assert tie.effect == max(sizes.values()) == sizes[tie.measure]


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_commands_name_the_runs_that_ties_can_change(tmp_path: Any, command: str) -> None:
    topics = [f"q{k}" for k in range(6)]
    qrels = "".join(f"{q} 0 d{k} {int(k == 3)}\n" for q in topics for k in range(9))
    (tmp_path / "qrels.txt").write_text(qrels)
    for name, step in (("flat", 0.0), ("clear", 1.0)):
        rows = (f"{q} Q0 d{k} {k} {9 - k * step} {name}\n" for q in topics for k in range(9))
        (tmp_path / f"{name}.run").write_text("".join(rows))
    paths = ("qrels.txt", "flat.run", "clear.run")
    _, told = cranfield(tmp_path, command, *paths, "-m", "RR@10")
    lines = [line for line in told.splitlines() if "ties can change" in line]
    assert len(lines) == 1
    assert "flat" in lines[0]
    assert "clear" not in lines[0]
    assert "0.89" in lines[0]


INTENTS = "".join(f"q{t} {1 + k % 2} d{k} {k % 3}\n" for t in (1, 2, 3) for k in range(1, 9))
LENGTHS = {f"d{k}": 60 * (k + 1) for k in range(10)}
GROUPS = {f"d{k}": "AB"[k in {1, 4, 5}] for k in range(10)}
SCORED = {  # groups of several sizes
    f"q{t}": {f"d{k}": float((k * t + t) % 4) for k in range(10) if k != t} for t in (1, 2, 3)
}
BEYOND_GRADES = ["alpha_nDCG@4", "ERR_IA@3", "IA(P)@3", "D(nDCG)@4", "TBG", "EEL", "RUR",
                 "FAIR(protected='B')@4", "GF", "Compat", "aRBP", "CAM(AP)"]  # fmt: skip


def _judged(tmp_path: Any, run: Any, **policies: Any) -> JudgedRuns:
    (tmp_path / "intents.txt").write_text(INTENTS)
    other = {"q1": {"d3": 1, "d4": 0}, "q2": {"d8": 1}, "q3": {"d2": 1}}
    aspects = {"understandability": other, "credibility": other}
    qrels = cf.read_qrels(tmp_path / "intents.txt", subtopics=True)
    return cf.judge(run, qrels, lengths=LENGTHS, groups=GROUPS, aspects=aspects, **policies)


@pytest.mark.parametrize("unjudged", ["nonrelevant", "condensed"])
def test_reversed_ties_are_in_ascending_order_of_ids(tmp_path: Any, unjudged: str) -> None:
    judged = _judged(tmp_path, SCORED, unjudged=unjudged)
    backwards = judged.permute_ties(lambda position, size: size - 1 - position)
    n_changed = 0
    ascending = _judged(tmp_path, SCORED, unjudged=unjudged, ties="id-ascending")
    for measure in cf.parse_measures(BEYOND_GRADES):
        expected = measure.score(ascending)
        assert measure.score(backwards).tolist() == expected.tolist(), measure
        n_changed += measure.score(judged).tolist() != expected.tolist()
    assert n_changed > 9


def test_measures_of_more_than_grades_are_scored_in_several_orders(tmp_path: Any) -> None:
    # The judged order, the reverse, and each group moved by half its size.
    moves: list[Any] = [
        lambda group: group,
        lambda group: group[::-1],
        lambda group: group[len(group) - len(group) // 2 :] + group[: len(group) - len(group) // 2],
    ]
    orders = []
    for move in moves:
        run = {}
        for topic, docs in SCORED.items():
            groups = [[d for d in sorted(docs)[::-1] if docs[d] == v] for v in (3.0, 2.0, 1.0, 0.0)]
            ranking = [doc for group in groups for doc in move(group)]
            run[topic] = {doc: -float(k) for k, doc in enumerate(ranking)}
        orders.append(run)
    in_order = [_judged(tmp_path, order) for order in orders]
    judged = _judged(tmp_path, SCORED)
    for measure in cf.parse_measures(BEYOND_GRADES):
        values = np.stack([measure.score(one) for one in in_order])
        [tie] = find_tie_effects(judged, score(judged, measure))
        # Topics are independent: each has its best or its worst of these orders.
        assert tie.effect == pytest.approx(float(np.ptp(values, axis=0).mean()), abs=1e-12), measure
        assert not tie.is_bound


def test_other_orders_than_those_by_grade_may_change_a_score_more() -> None:
    """For EBR, which may fall if a better document moves up, the effect is no upper bound."""
    qrels = {"q": {"a": 0, "b": 0, "c": 1, "d": 2}}
    orders = [{doc: -float(k) for k, doc in enumerate(order)} for order in permutations("abcd")]
    runs = {str(k): {"q": run} for k, run in enumerate(orders)}
    values = cf.evaluate(runs, qrels, "EBR(max_grade=2)")["EBR(max_grade=2)"].overall()
    ev = cf.evaluate({"q": dict.fromkeys("abcd", 1.0)}, qrels, "EBR(max_grade=2)")
    [tie] = find_tie_effects(ev.judged, ev)
    assert tie.effect < np.ptp(values) - 0.01
    assert not tie.is_bound
    assert "by at least 0.35" in ev.notes[0]


def test_ties_in_measures_by_intent_are_reported(tmp_path: Any) -> None:
    (tmp_path / "q").write_text("1 1 a 1\n1 2 b 1\n1 1 c 0\n1 2 d 0\n1 1 d 0\n")
    scores = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    [note] = cf.evaluate({"1": scores}, tmp_path / "q", "alpha_nDCG@2").notes
    assert note == (
        "ties can change alpha_nDCG@2 of 'run' by at least 1 (100% of its documents are tied)"
    )
    # Ties below the cutoff change nothing.
    below = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.0}
    assert cf.evaluate({"1": below}, tmp_path / "q", "alpha_nDCG@2").notes == []


def test_the_proportion_of_ties_is_that_of_the_judged_ranks() -> None:
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, "unjudged": {"a": 1.0, "b": 1.0}}
    ev = cf.evaluate(run, {"q": {"a": 1, "d": 0}}, "RR", depth=2)
    assert ev.notes[-1] == (
        "ties can change RR of 'run' by up to 1 (100% of its documents are tied)"
    )
