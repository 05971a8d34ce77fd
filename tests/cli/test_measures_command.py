"""The command `cranfield measures`: the catalogue, and all about one measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.measures.families import KINDS, REGISTRY
from tests.cli.running import cranfield, refusals, refused


def test_list_has_measures_wrappers_and_measures_of_texts(tmp_path: Path) -> None:
    lines = cranfield(tmp_path, "measures")[0].splitlines()
    heads = {line.split()[0].partition("@")[0].rstrip("[") for line in lines if line.strip()}
    for name, kind in REGISTRY.items():
        assert (f"{name}(…)" if kind.kind == KINDS[1] else name) in heads
    assert "interval(…)" in heads


def test_long_tells_all_about_each(tmp_path: Path) -> None:
    out, _ = cranfield(tmp_path, "measures", "--long")
    count = len(REGISTRY)
    assert out.count("  formula ") == out.count("  source ") == count


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MAP", "AP, MAP:"),
        ("AP@10", "AP, MAP:"),
        ("P", "P, Precision:"),
        ("ndcg_cut_10", "nDCG, NDCG, MSnDCG:"),
        ("IA", "IA: Intent-aware"),
        ("IA(nDCG@10)", "IA: Intent-aware"),
        ("D#-nDCG@10", "Sharp: "),
        ("interval", "interval: "),
        ("interval(DCG@10)", "interval: "),
        ("URisk", "URisk: "),
        ("SMeasure", "SMeasure: "),
        ("SMeasure(L=500)", "SMeasure: "),
    ],
)
def test_one_measure(tmp_path: Path, name: str, expected: str) -> None:
    out, _ = cranfield(tmp_path, "measures", name)
    assert out.startswith(expected)
    assert "  source " in out and "  range " in out


def test_parameters_of_each_kind(tmp_path: Path) -> None:
    assert "denominator" in cranfield(tmp_path, "measures", "AP")[0]
    assert (
        "gamma        weight of intent recall (default 0.5)"
        in cranfield(tmp_path, "measures", "Sharp")[0]
    )
    assert "raw          whether to return ranks" in cranfield(tmp_path, "measures", "interval")[0]
    assert "the reader stops (default 1000" in cranfield(tmp_path, "measures", "SMeasure")[0]


def test_family_and_needs(tmp_path: Path) -> None:
    out, _ = cranfield(tmp_path, "measures", "--family", "Diversity")
    assert "alpha_nDCG" in out and "Sharp(…)" in out and "\n RBP[" not in out
    out, _ = cranfield(tmp_path, "measures", "--needs", "subtopic", "--family", "diversity")
    assert "P_IA" in out
    named = {
        one["name"]
        for one in json.loads(
            cranfield(tmp_path, "measures", "--needs", "nothing", "--format", "json")[0]
        )
    }
    assert "AP" in named and "nDCG" not in named and "IA" not in named


def test_json(tmp_path: Path) -> None:
    listed = json.loads(cranfield(tmp_path, "measures", "--format", "json")[0])
    by_name = {one["name"]: one for one in listed}
    assert len(by_name) == len(listed)
    assert by_name["DCG"]["range"] == [0.0, None]
    assert by_name["Sharp"]["kind"] == "measure of a measure"
    assert by_name["Sharp"]["parameters"]["gamma"]["default"] == "0.5"
    assert by_name["RougeN"]["kind"] == "measure of texts"
    assert by_name["nDCG"]["formula"] == cf.measures.nDCG.info.formula


def test_a_measure_with_parameters_is_described_as_it_was_named(tmp_path: Path) -> None:
    out, _ = cranfield(tmp_path, "measures", "RBP(p=0.5)@10")
    assert "  measure     RBP(p=0.5)@10\n" in out
    assert "  scale       interval" in out
    assert "(0.5; default 0.8)" in out and "(10; default None)" in out
    (found,) = json.loads(cranfield(tmp_path, "measures", "RBP(p=0.5)@10", "--format", "json")[0])
    assert found["measure"] == "RBP(p=0.5)@10" and found["scale"] == "interval"
    assert found["parameters"]["p"] | {"what": ""} == {"default": "0.8", "what": "", "value": "0.5"}
    out, _ = cranfield(tmp_path, "measures", "nDCG(discount='max(1,log2(rank))')@10")
    assert "  source      Järvelin and Kekäläinen (2002)\n" in out
    out, _ = cranfield(tmp_path, "measures", "interval(DCG@10, raw=True)")
    assert "  range       1 to inf" in out


def test_all_measures_that_a_name_stands_for(tmp_path: Path) -> None:
    for name, texts in (
        ("success", ["Success@1", "Success@5", "Success@10"]),
        ("P@5,nDCG@10", ["P@5", "nDCG@10"]),
    ):
        listed = json.loads(cranfield(tmp_path, "measures", name, "--format", "json")[0])
        assert [one["measure"] for one in listed] == texts


@refusals(
    """
nDGC | did you mean nDCG
--family moon | unknown family 'moon'; expected one of:
--needs moon | unknown input 'moon'
AP --needs lengths | AP needs nothing, not 'lengths'
"""
)
def test_mistakes(tmp_path: Path, words: list[str], reason: str) -> None:
    refused(tmp_path, "measures", *words, reason=reason)
