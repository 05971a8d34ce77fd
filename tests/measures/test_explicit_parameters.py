"""Parameters that are written with a measure win over general options."""

from __future__ import annotations

from pathlib import Path

import pytest

import cranfield as cf
from cranfield.measures import AP
from cranfield.measures.aliases import find_trec_name
from cranfield.measures.families import REGISTRY
from cranfield.measures.grammar import parse_measures
from tests.cli.running import cranfield

WITH_REL = [name for name, kind in REGISTRY.items() if "rel" in kind.parameters]


@pytest.mark.parametrize("name", WITH_REL)
def test_rel_is_set_unless_it_is_written(name: str) -> None:
    kind = REGISTRY[name]
    at = (
        ""
        if kind.info.at_usage == "none"
        else "@5"
        if kind.info.at_parameter == "cutoff"
        else "@0.5"
    )
    try:
        [written, other, plain] = parse_measures(
            [f"{name}(rel=1){at}", f"{name}(rel=3){at}", f"{name}{at}"], rel=2
        )
    except cf.MeasureError as error:
        assert "probabilities" in str(error)
        return
    assert [one.rel for one in (written, other, plain)] == [1, 3, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        ("AP(rel=1),AP(rel=3)", ["AP(rel=1)", "AP(rel=3)"]),
        ("IA(P(rel=1)@2),IA(P@2)", ["IA(P(rel=1)@2)", "IA(P(rel=2)@2)"]),
        ("map-l1,map,map-l3", ["map-l1", "AP(rel=2)", "map-l3"]),
        ("RBP(rel=1, p=0.5)", ["RBP(rel=1, p=0.5)"]),
        ("Residual(RBP(rel=1)),EU(AP(rel=3))", ["Residual(RBP(rel=1))", "EU(AP(rel=3))"]),
        ([AP(rel=1) @ 10, AP @ 10], ["AP@10", "AP(rel=2)@10"]),
        ([AP(rel=1)(cutoff=5)], ["AP@5"]),
    ],
)
def test_written_parameters_win(texts: list[str] | str, labels: list[str]) -> None:
    assert [one.label for one in parse_measures(texts, rel=2)] == labels


def test_a_name_of_trec_eval_stands_for_the_general_grade_only() -> None:
    written, plain = parse_measures("AP(rel=1),AP", rel=2)
    assert find_trec_name(plain, 2) == "map"
    assert find_trec_name(written, 2) == "AP(rel=1)"


def test_commands_keep_written_parameters(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 2\n1 0 c 3\n")
    (tmp_path / "run").write_text("1 Q0 a 1 3 r\n1 Q0 b 2 2 r\n1 Q0 c 3 1 r\n")
    measures = ("-m", "RR(rel=1)", "-m", "RR", "-m", "RR(rel=3)", "-l", "2")
    out, _ = cranfield(tmp_path, "evaluate", "qrels", "run", *measures, "--format", "trec")
    places = [out.index(value) for value in ("1.0", "0.5", "0.333")]
    assert places == sorted(places)
