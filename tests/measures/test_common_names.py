"""Names of measures in papers and other tools: understood, or answered with a true hint."""

from __future__ import annotations

import re

import pytest

import cranfield as cf
from cranfield.measures.grammar import parse_measure, parse_measures
from cranfield.measures.other_names import NO_MEASURES


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("HR@5", "Success@5"), ("hr@10", "Success@10"), ("hit_rate@5", "Success@5"),
        ("HitRatio@10", "Success@10"), ("hit_ratio@3", "Success@3"), ("hit@3", "Success@3"),
        ("MRR@10", "RR@10"), ("NDCG@10", "nDCG@10"), ("MAP@100", "AP@100"), ("MAP", "AP"),
        ("Recall@20", "R@20"), ("P@5", "P@5"), ("precision@5", "P@5"),
        ("capped_recall@10", "RelP@10"), ("R_cap@10", "RelP@10"),
        ("nDCG'@10", "nDCG(judged_only=True)@10"), ("AP'", "AP(judged_only=True)"),
        ("MAP\u2032", "AP(judged_only=True)"),
    ],
)  # fmt: skip
def test_common_names_are_understood(name: str, meant: str) -> None:
    assert str(parse_measure(name)) == meant


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("accuracy@10", "Success@k"), ("Acc@1", "Success@k"), ("F1@10", "SetF"),
        ("f1_score@5", "SetF"), ("Fscore", "SetF"), ("NCG@100", "gR@k"), ("CG@10", "DCG@k"),
        ("completeness@10", "R@k"), ("C@5", "R@k"), ("mean_rank", "RR"), ("MedR", "RR"),
        ("hits@10", "Success@k"),
    ],
)  # fmt: skip
def test_other_names_have_a_hint(name: str, hint: str) -> None:
    with pytest.raises(cf.MeasureError, match=hint):
        parse_measures(name)


@pytest.mark.parametrize("name", ["XR@5", "QQ", "ZP@3", "LR"])
def test_short_names_have_no_far_fetched_suggestion(name: str) -> None:
    with pytest.raises(cf.MeasureError) as error:
        parse_measures(name)
    assert "did you mean" not in str(error.value)


@pytest.mark.parametrize(("name", "meant"), [("nDGC@10", "nDCG"), ("APP", "AP"), ("bprf", "Bpref")])
def test_slips_have_a_suggestion(name: str, meant: str) -> None:
    with pytest.raises(cf.MeasureError, match=f"did you mean .*{meant}"):
        parse_measures(name)


def test_hints_name_measures_that_exist() -> None:
    for hint in NO_MEASURES.values():
        for name in re.findall(r"\b(\w+)@k", hint):
            parse_measure(f"{name}@5")
