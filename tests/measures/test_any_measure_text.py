"""Any text is refused in one line, or its measures have a text form that reads back as the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.measures import ALIASES, REGISTRY
from cranfield.measures.aliases import CUTOFF_FORMS, NICKNAMES, SINGLE_MEASURES

VALUES = """
1 10 0 -1 +1 2.5 1e3 1e-400 1e400 -0.0 0.1 0.9 1_000 0x10 True None 1j nan inf '' '10' b'1' [1] {}
{1} (1,) ... 1+1 9**9**9 0.30000000000000004 1e15 5e-324 1/3 0.9999999999999999 1000000001 f'{1}'
lambda:1 'linear' 'exponential' 'binary' 'graded' 'R' 'min' 'trec_eval-9' 'cut' 'full' 'N' 'total'
'log2(rank+1)' 'max(1,log10(rank))' '1+log2.5(rank)' 'log1.0000001(rank+1)' 'log1(rank+1)' {1:1,2:3}
{1:0.1,2:1e14} {0:1} {-1:1} {1:-1} {True:1} {1:None} {1:{2:3}} {'1':1} {1:1e400} {99999999999:1}
{**{1:2}} {0:0.5,1:1/3,2:1} {1:4.9e-324} {2:0.1234567890123456789} 999999999999999999999999999999
"""
VALID = {"rel": "2", "judged_only": "True", "gains": "{1: 1/3, 2: 1}", "max_grade": "4"}
CUTOFFS = ["", "@1", "@3", "@5", "@10", "@1000", "@0.1"]
VALUES_OF_TREC_EVAL = ["5", "10", "0.1", "1.0", "1=2", "2=0.5", "-1", "+5", "5.", ".5", "=0.5", ""]
CHARACTERS = [*"abcnDPCG@().,='\"{}[]:+-*/_0123456789 \t\n\\#eE~!%&<>;\x00é文\ud800\u202e", "", ""]
CODE = [
    "__import__('os').system('touch {0}')",
    "P@__import__('pathlib').Path('{0}').touch()",
    "P(rel=open('{0}', 'w'))@10",
    "P(**open('{0}', 'w'))@10",
    "(lambda: open('{0}', 'w'))()",
    "[open('{0}', 'w') for _ in '1']",
    "P@10; open('{0}', 'w')",
]


@st.composite
def named_measures(draw: st.DrawFn) -> str:
    """Write a measure with parameters that it has or lacks, and values of any type."""
    name = draw(st.sampled_from([*REGISTRY.select(kind="measure"), *ALIASES]))
    names = [*REGISTRY[ALIASES.get(name, name)].list_parameter_names(), "judged_only"]
    pairs = []
    for key in draw(st.lists(st.sampled_from([*names * 3, "cutoff", "self", "x"]), max_size=2)):
        values = [VALID.get(key, "0.5")] * 60 + VALUES.split()
        pairs.append(f"{key}={draw(st.sampled_from(values))}")
    cutoff = draw(st.sampled_from([*CUTOFFS * 20, *map("@{}".format, VALUES.split())]))
    return f"{name}({', '.join(pairs)}){cutoff}" if pairs else name + cutoff


@st.composite
def names_of_trec_eval(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from([*SINGLE_MEASURES, *CUTOFF_FORMS, *NICKNAMES]))
    values = draw(st.lists(st.sampled_from(VALUES_OF_TREC_EVAL), max_size=3))
    return name + (draw(st.sampled_from("_.")) + ",".join(values) if values else "")


@st.composite
def edited(draw: st.DrawFn) -> str:
    """Insert, replace or delete a few characters of a measure."""
    text = [*draw(named_measures() | names_of_trec_eval())]
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        text[start : start + draw(st.integers(0, 1))] = draw(st.sampled_from(CHARACTERS))
    return "".join(text)


@st.composite
def nested(draw: st.DrawFn) -> str:
    part = draw(st.sampled_from(["(", "[", "{", "-", "~", "lambda:", "P(x=", "{1:", "f'{", "1@"]))
    return draw(st.sampled_from(["", "P@", "nDCG(gains="])) + part * draw(st.integers(5, 480))


TEXTS = named_measures() | edited() | names_of_trec_eval() | nested() | st.text(max_size=40)


@settings(max_examples=80)
@given(text=TEXTS, compat=st.sampled_from([None, "trec_eval", "trec_eval-9", "trec_eval-10"]))
def test_any_text_is_read_or_refused(text: str, compat: str | None) -> None:
    try:
        measures = cf.parse_measures(text, compat=compat)
    except cf.MeasureError as error:
        assert str(error).isprintable() and len(str(error)) < 700
        return
    for measure in measures:
        again = cf.parse_measure(str(measure))
        assert (again, str(again), type(again)) == (measure, str(measure), type(measure))


@pytest.mark.parametrize("text", CODE)
def test_no_text_is_run(text: str, tmp_path: Path) -> None:
    with pytest.raises(cf.MeasureError) as caught:
        cf.parse_measure(text.format(tmp_path / "made"))
    assert str(caught.value).isprintable()
    assert not [*tmp_path.iterdir()]
