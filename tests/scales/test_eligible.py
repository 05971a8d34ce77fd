"""Every measure and every wrapper has an image, or is refused in a line, at once."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError
from cranfield.measures import parse_measure
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.scales import interval, scale_over_topics, score_runs
from cranfield.scales.forms.form import describe_beyond_grades, describe_beyond_length
from cranfield.scales.images import values
from cranfield.scales.images.values import image
from cranfield.scales.measure_scales import scale_of
from cranfield.scales.runs import as_measure
from tests.scales.exhaustive import EXAMPLES

INSIDE = {"CAM": ["CAM(RBP)"], "MM": ["MM(RBP)"], "Classes": ["Classes(AP)", "Classes(P)"]}
INSIDE |= {name: [f"{name}(nDCG, baseline='bm25')"] for name in ("URisk", "TRisk")}
MODELS = ("P", "RR", "AP", "ERR", "RBP", "INST", "NERR10", "BPM", "TBG")
INSIDE |= {
    name: [f"{name}({one})" for one in MODELS]
    for name in ("EU", "ETU", "EC", "ETC", "Depth", "Residual")
}
WRAPPED = [
    text
    for name in REGISTRY.select(kind=KINDS[1])
    if name != "interval"
    for text in INSIDE.get(name, [f"{name}(nDCG)", f"{name}(ERR)"])
]
TEXTS = [*(EXAMPLES.get(name, name) for name in REGISTRY.select(kind=KINDS[0])), *WRAPPED]


def at(text: str, cutoff: int) -> str:
    """The measure with a cutoff, if it takes one."""
    measure = as_measure(text, cutoff)
    takes = measure.info.at_parameter == "cutoff" and measure.info.at_usage != "none"
    return str(measure @ cutoff) if takes else str(measure)


def tried(call: Callable[[], object]) -> str:
    """A refusal, or nothing; anything but an error of one line fails."""
    start = time.process_time()
    message = ""
    try:
        call()
    except CranfieldError as error:
        message = str(error)
    assert "\n" not in message and len(message) < 400
    # It takes hundredths of a second.
    assert time.process_time() - start < 5
    return message


RUN = {"old": {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}}
QRELS = {"q": {"a": 1, "b": 2, "c": 0}}


@pytest.mark.parametrize("text", TEXTS)
def test_every_measure(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Measures without a form are not scored on a million runs here.
    monkeypatch.setattr(values, "MAX_ENUMERATED", 2**10)
    five, ten = at(text, 5), at(text, 10)
    refused = tried(lambda: scale_of(five, 5))
    long = tried(lambda: image(text, 12).size)
    scaled = [
        tried(lambda one=one: cf.evaluate(RUN, QRELS, interval(one)))  # type: ignore[misc]
        for one in (five, ten)
    ]
    more = describe_beyond_grades(as_measure(five, 5))
    if more:
        assert all(f"depends on more than the ranked grades ({more})" in one for one in scaled)
        assert f"depends on more than the ranked grades ({more})" in refused and more in long
        assert "such as nDCG@10" in refused
        return
    assert refused == ""
    assert long == "" or "a length of at most 10" in long or "a length of at most 9" in long
    info = parse_measure(five).info
    if describe_beyond_length(parse_measure(five)):
        assert all(
            f"ranked grades ({describe_beyond_length(parse_measure(five))})" in s for s in scaled
        )
    elif info.lower_is_better or info.aggregate != "mean":
        assert all("higher is better" in one or "averaged over topics" in one for one in scaled)
    elif parse_measure(five).cutoff is None:
        assert all("requires a cutoff" in one for one in scaled)
    else:
        assert scaled[0] == ""
        # With three grades 6 ranks can be scored here, without a form.
        assert scaled[1] == "" or "a length of at most 6" in scaled[1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("BPM(unit=0.1)@5", "the lengths of documents"),
        ("ETC(RBP@5, unit=0.1)", "the lengths of documents"),
        ("ERR(max_grade='topic')@5", "the highest grade of the topic"),
        ("EU(INST(gains='graded', max_grade='topic'))", "the highest grade of the topic"),
        ("EU(TBG@5)", "the lengths of documents"),
        ("URisk(IA(P@5), baseline='b')", "the scores of another system"),
        ("CompatDiff@5", "which documents are retrieved"),
    ],
)
def test_reasons(text: str, reason: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: image(text, 5),
        lambda: scale_of(text, 5),
        lambda: interval(text),
        lambda: scale_over_topics(text, 2, 2),
    ]
    for call in calls:
        with pytest.raises(MeasureError, match=rf"ranked grades \({reason}\)"):
            call()


def test_markov_precision_walks_to_the_end_of_the_list() -> None:
    for states, said in (("all", "how many documents are retrieved"), ("relevant", "")):
        assert describe_beyond_length(parse_measure(f"MP(states='{states}')")) == said
    assert describe_beyond_length(parse_measure("MP(distance='none')")) == ""
    # The reason: a list that ends earlier scores differently.
    scores = [score_runs("MP", [[1, 0, 1], [0, 0, 0]])[0], score_runs("MP", [[1, 0, 1, 0, 0]])[0]]
    assert scores[0] != scores[1]


def test_long_readers_are_refused_before_they_read() -> None:
    start = time.process_time()
    message = "1,000 ranks, .* a length of at most 18"
    for text in ("INST", "EU(AP)", "EU(ERR)", "Depth(NERR10)", "NERR10(gains={1: 0.5})"):
        with pytest.raises(PolicyError, match=message):
            image(text, 30)
    with pytest.raises(PolicyError, match="a length of at most 200"):
        image("NERR11", 201)
    with pytest.raises(
        PolicyError, match=r"values of PPlus@20 differ between topics.* at most about 10, got 20$"
    ):
        cf.evaluate(RUN, QRELS, "interval(PPlus@20)")
    assert time.process_time() - start < 5


# --- The table of the documentation -----------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "scales.md"
CELLS = re.compile(r"\| (`.+`) \| ([\d,]+) \| ([\d,]+) \| (exact|within 2\^-40) \|")
ROWS = [cells.groups() for cells in map(CELLS.fullmatch, PAGE.read_text().splitlines()) if cells]
SLOW = ("PMeasure", "GAP", "ERR", "INSQ(gains='graded')", "iRBU")
"""Measures of which it takes a second to tell whether the longest images are within reach."""


def reached(text: str, length: int, grades: int) -> bool:
    return tried(lambda: image(text, length, grades).require(1)) == ""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0]))
def test_the_table_of_lengths(row: tuple[str, ...]) -> None:
    names, exact = re.findall(r"`([^`]+)`", row[0]), row[3] == "exact"
    for grades, cell in ((1, row[1]), (2, row[2])):
        longest = int(cell.replace(",", ""))
        for text in names:
            assert image(text, min(longest, 7), grades).is_exact == exact
        slow = names[0] in SLOW
        if exact and not slow:
            assert reached(names[0], longest, grades)
        if longest < 2000 and not (slow and (grades == 2 or names[0].startswith("INSQ"))):
            assert not reached(names[0], longest + 1, grades)


def test_the_table_is_there() -> None:
    names = {name for row in ROWS for name in re.findall(r"`(\w+)", row[0])}
    assert len(ROWS) == 11 and len(names) > 25
