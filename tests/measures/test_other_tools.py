"""Names and objects of other Python tools: what they mean, by the numbers of these tools.

The numbers of `tests/data/other_tools.json` are those of ranx 0.3.21, ir_measures 0.4.3, BEIR 2.2.0
(with pytrec_eval-terrier 0.5.11), sentence-transformers 6.2.0 (`compute_metrics` of its evaluator)
on the runs and judgments that stand there too; MTEB 2.26 computes as BEIR does.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.evaluation.scorefiles.cells import are_measures
from cranfield.measures.aliases import CUTOFF_FORMS, NICKNAMES, SINGLE_MEASURES
from cranfield.measures.families import ALIASES
from tests.conftest import ROOT

FOUND = json.loads((ROOT / "tests/data/other_tools.json").read_text())
NAMED = [
    (tool, name)
    for tool in ("ranx", "beir", "mteb", "sentence-transformers")
    for name in FOUND[tool]
]


class Foreign:
    """What an object of ir_measures shows of itself: its module, and its text."""

    __module__ = "ir_measures.measures.base"

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def overall(measure: Any, *, binary: bool = False) -> float:
    qrels = FOUND["qrels"]
    if binary:
        qrels = {
            topic: {one: int(g > 0) for one, g in some.items()} for topic, some in qrels.items()
        }
    [scores] = cf.evaluate(FOUND["run"], qrels, measure).values()
    return float(scores.overall()[0])


@pytest.mark.parametrize(("tool", "name"), NAMED)
def test_a_name_of_a_tool_has_the_number_of_that_tool(tool: str, name: str) -> None:
    # In sentence-transformers a document is relevant or not; BEIR rounds some to five decimals.
    found = overall(name, binary=tool == "sentence-transformers")
    assert found == pytest.approx(FOUND[tool][name], abs=6e-6)


def test_an_object_of_ir_measures_is_called_by_the_text_of_the_measure() -> None:
    """What its text is made into on the way has a comma too many."""
    [made] = cf.parse_measures([Foreign("ERR@20")])  # type: ignore[list-item]
    assert made.label == str(made) == "ERR(max_grade=4)@20"


@pytest.mark.parametrize("text", FOUND["ir_measures"])
def test_an_object_of_ir_measures_has_its_number(text: str) -> None:
    assert overall(Foreign(text)) == pytest.approx(FOUND["ir_measures"][text], abs=6e-6)
    assert overall([Foreign(text)]) == overall(Foreign(text))


def test_several_with_commas() -> None:
    assert cf.parse_measures("AP, nDCG(ideal='full', gains='linear')@10,P.5,10,NCUgu,P") == [
        *cf.parse_measures(["AP", "nDCG(ideal='full')@10", "P@5", "P@10"]),
        cf.parse_measure("NCU(stopping='graded', utility='P')"),
    ]


def test_a_measure_of_ones_own_keeps_its_name() -> None:
    own = cf.define("mine_at_5", lambda judged: judged.n_retrieved * 0.0)
    try:
        assert cf.parse_measures("mine_at_5") == [own]
    finally:
        del cf.measures.REGISTRY["mine_at_5"]


EXACT = [*cf.measures.REGISTRY.names(), *ALIASES, *SINGLE_MEASURES, *CUTOFF_FORMS, *NICKNAMES]
SIGNS = st.text("abcdePRnDCG_@.,()=-+#'1059 \n\x1b", max_size=3)


@given(st.sampled_from(EXACT), SIGNS, SIGNS, st.integers(0, 30), st.booleans())
def test_wrong_names_are_told_in_a_line_that_helps(
    name: str, some: str, more: str, place: int, lower: bool
) -> None:
    text = name[:place] + some + name[place + len(some) :] + more
    text = text.lower() if lower else text
    try:
        for one in cf.parse_measures(text):
            assert cf.parse_measure(str(one)) == one == cf.parse_measure(one.label)
            assert one.label.isprintable()
    except cf.MeasureError as error:
        said = str(error)
        assert said.isprintable()
        if found := re.fullmatch(r"unknown measure .*; did you mean (.+)\?", said):
            for hint in found[1].split(" or "):
                try:
                    cf.parse_measures(hint)
                except cf.MeasureError as again:
                    # It names a measure that needs more than its name.
                    assert re.search(r"requires ", str(again)), (text, hint, str(again))


def test_upper_and_lower_case_are_the_same_where_one_measure_is_meant() -> None:
    drawn = random.Random(0)
    for name in EXACT:
        text = "".join(drawn.choice((one.lower(), one.upper())) for one in name)
        if text in EXACT:
            continue
        try:
            found = cf.parse_measures(f"{text}@7")
        except cf.MeasureError as error:
            assert re.search(  # noqa: PT017
                "ambiguous|takes no cutoff|requires |unknown measure|did you mean|is not|must be",
                str(error),
            ), (text, str(error))
        else:
            assert [one.cutoff for one in found] == [7]


def test_columns_of_topics_are_no_measures() -> None:
    """Lower-case names are read, but columns are not taken for measures because of them."""
    assert are_measures(["P_5", "ndcg@10", "R@5", "ndcg_cut_10"])
    for topics in (["q", "u"], ["q_1", "q_2"], ["p_1", "p_2"], ["r.1"], ["d", "g"]):
        assert not are_measures(topics)
