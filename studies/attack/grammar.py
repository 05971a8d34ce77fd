"""Hostile texts of measures: refused at once, or read, written back the same, and scored."""

from __future__ import annotations

import random
import re
from functools import cache
from math import inf, isfinite
from pathlib import Path

import numpy as np

from cranfield.base.errors import CranfieldError, MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.measures import ALIASES, REGISTRY, Measure, parse_measures
from cranfield.measures.gains import Gain
from cranfield.measures.trec_eval_names import FAMILIES, NICKNAMES, SINGLE
from studies.attack.work.cases import FindingError, guarded, pick, shown
from studies.attack.work.workers import Cases

NUMBERS = (
    *("1", "10", "0", "-1", "+1", "2.5", "1e3", "1e-400", "1e400", "-0.0", "0.1", "9" * 30),
    *("1_000",),
    *("0x10", "True", "None", "1j", "nan", "inf", "''", "'10'", "b'1'", "[1]", "{}", "{1}", "(1,)"),
    *("...", "1+1", "1+2j", "9**9**9", "0.30000000000000004", "1e15", "1e16", "5e-324", "-5"),
    *("1" * 400,),
    *("0.7", "0.5000000001", "0.9999999999999999", "1000000000", "1000000001", "f'{1}'"),
    *("lambda: 1",),
)
WORDS = (
    *("'linear'", "'exponential'", "'binary'", "'graded'", "'R'", "'min'", "'up'", "'trec_eval-9'"),
    *("'trec_eval-10'", "'cut'", "'full'", "'N'", "'trec_eval'", "'total'", "'tail'", "'unjudged'"),
    *("'log2(rank+1)'", "'max(1, log10(rank))'", "'1+log2.5(rank)'", "'log1.0000001(rank+1)'"),
    *("'log123456789.123456789(rank+1)'", "'log1(rank+1)'", "'log2 (rank + 1)'", "'exp-log2'"),
    *("{1: 1, 2: 3}", "{1: 0.1, 2: 1e14}", "{0: 1}", "{-1: 1}", "{1: -1}", "{True: 1}"),
    *("{1: None}",),
    *("{1: {2: 3}}", "{'1': 1}", "{1: 1e400}", "{1: 1e15}", "{99999999999: 1}", "{**{1: 2}}"),
    *("False",),
    *("{0: 0.5, 1: 0.25, 2: 1}", "{1: 4.9e-324}", "{2: 0.1234567890123456789}"),
)
INJECTIONS = (
    "__import__('os').system('touch {0}')",
    "P@__import__('pathlib').Path('{0}').touch()",
    "P(rel=open('{0}', 'w'))@10",
    "[c for c in ().__class__.__base__.__subclasses__()]",
    "(lambda: open('{0}', 'w'))()",
    "P.__class__.__mro__[1]@10",
    "P@10; open('{0}', 'w')",
    "P@10 if open('{0}', 'w') else 1",
    "P(**open('{0}', 'w'))@10",
    "P(*[1])@10",
    "(x := 1)",
)
PLAIN = "abcnDPCG@().,='\"{}[]:+-*/_0123456789 \t\n\\#eE~!%&<>;\x00é文\ud800\u202e"
NESTS = (
    *("(", "[", "{", "-", "+", "~", "not ", "lambda:", "P(x=", "{1:", "f'{", "1@", "a.", "1if "),
    *("-(",),
)


MAY_NEED = re.compile("max_grade|above 60| needs | reads | at most|too much")
"""What a measure may lack on these judgments."""


@cache
def judged(highest: int) -> JudgedRuns:
    runs = {
        "a": {"q1": {f"d{i}": 9.0 - i for i in range(9)}, "q2": {"d1": 1.0}, "q9": {"d1": 1.0}},
        "b": {"q1": {f"d{i}": float(i) for i in range(4, 14)}, "q3": {"d2": 2.0, "d3": 1.0}},
    }
    qrels = {
        "q1": {"d0": 1, "d2": 0, "d3": 4, "d5": -1, "d8": 2, "d99": 3, "d12": 1},
        "q2": {"d1": 0, "d2": 0},
        "q3": {"d2": highest},
        "q4": {"d1": 2, "d5": 1},
    }
    return judge(runs, qrels)


def hostile_measure(rng: random.Random, folder: Path) -> str:
    how = pick(rng, built=10, trec=4, mutated=5, nested=1, noise=1, injected=0.5, long=0.5)
    if how == "built":
        return _built(rng)
    if how == "trec":
        return _trec(rng)
    if how == "injected":
        return rng.choice(INJECTIONS).format(folder / "injected")
    if how == "nested":
        nest = rng.choice(NESTS)
        deep = nest * min(rng.choice((5, 50, 90, 150, 480)), 490 // len(nest))
        return rng.choice(("", "P@", "P(rel=", "nDCG(gains=")) + deep + rng.choice(("1", "", "1)"))
    if how == "long":
        pairs = [f"{g}={g % 7}" for g in range(rng.choice((60, 80, 90, 120, 400)))]
        longer = ", ".join(pair.replace("=", ": 1e") for pair in pairs)
        return rng.choice(
            (f"ndcg_{','.join(pairs)}", f"nDCG(gains={{{longer}}})", "P@" + "1" * 600)
        )
    if how == "noise":
        return "".join(rng.choice(PLAIN) for _ in range(rng.randrange(40)))
    text = list(rng.choice((_built, _trec))(rng))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        text[at : at + rng.randrange(2)] = rng.choice((*PLAIN, "", ""))
    return "".join(text)


def _built(rng: random.Random) -> str:
    name = rng.choice((*REGISTRY.of("measure"), *ALIASES))
    kind = REGISTRY[ALIASES.get(name, name)]
    given = []
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        known = rng.choice((*kind.parameter_names(), "judged_only"))
        key = rng.choice(
            (known,) * 12 + ("dcg", "cutoff", "self", "cls", "x", "__class__", "rel", "p")
        )
        like = {
            "rel": ("0", "1", "2", "3"),
            "judged_only": ("True",),
            "p": ("0.5", "0.9", "0.123456789"),
        }
        pools = [WORDS, WORDS, NUMBERS, like.get(key, WORDS), like.get(key, NUMBERS)]
        given.append(f"{key}={rng.choice(rng.choice(pools))}")
    inside = f"({', '.join(given)})" if given or rng.random() < 0.1 else ""
    wanted = kind.info.at_wanted == "required"
    if rng.random() < (0.95 if wanted else 0.4):
        usual = ("0.1", "0.25", "1") if kind.info.at == "recall" else ("1", "3", "5", "10", "1000")
        inside += "@" + rng.choice((*usual, *usual, *usual, rng.choice(NUMBERS)))
    return name + inside


def _trec(rng: random.Random) -> str:
    name = rng.choice((*SINGLE, *FAMILIES, *FAMILIES, *NICKNAMES))
    if rng.random() < 0.3:
        return name
    values = rng.choice(
        (
            ("5", "10", "1"),
            ("0.1", "1.0", "2.5"),
            ("1=2", "2=0.5"),
            ("-1", "+5", "5.", ".5", "=0.5", ""),
        ),
    )
    many = [rng.choice(values) for _ in range(rng.choice((1, 1, 2, 4)))]
    return name + rng.choice("_.") + ",".join(many)


def measure_case(rng: random.Random, folder: Path) -> bool:
    text = hostile_measure(rng, folder)
    compat = rng.choice((None, None, None, "trec_eval", "trec_eval-9", "trec_eval-10"))
    reproducer = f"parse_measures({text!r}, compat={compat!r})"
    found = guarded(lambda: parse_measures(text, compat=compat), reproducer)
    if (folder / "injected").exists():
        (folder / "injected").unlink()
        raise FindingError("the text was run as a program", reproducer)
    if isinstance(found, CranfieldError):
        if not isinstance(found, MeasureError):
            raise FindingError(f"{type(found).__name__}, not MeasureError", reproducer)
        if "\n" in str(found):
            raise FindingError(f"a message of several lines: {found}", reproducer, "several lines")
        return False
    for one in found:
        _reads_back(one, reproducer)
    for one in found if len(found) < 4 else rng.sample(found, 3):
        _scores_well(one, rng.choice((2,) * 10 + (61, 1023, 1024, 2**31 - 1)), reproducer)
    return True


def _reads_back(one: Measure, reproducer: str) -> None:
    again = guarded(lambda: parse_measures(str(one)), reproducer)
    if isinstance(again, CranfieldError):
        raise FindingError(
            f"{shown(str(one))} is not read back: {again}", reproducer, "not read back"
        )
    if again != [one] or str(again[0]) != str(one) or type(again[0]) is not type(one):
        raise FindingError(f"{one} is read back as {again}", reproducer, "read back as another")
    # How a measure was asked for is kept beside what it is.
    read, had = ({k: v for k, v in vars(m).items() if k != "asked"} for m in (again[0], one))
    if read != had:
        differ = read.items() ^ had.items()
        raise FindingError(
            f"{one} loses {differ} when read back", reproducer, "loses when read back"
        )


def _scores_well(one: Measure, highest: int, reproducer: str) -> None:
    runs = judged(highest)
    reproducer += f", grades up to {highest}"
    values = guarded(lambda: one.score(runs), f"{reproducer}; score {one}")
    if isinstance(values, CranfieldError):
        said = str(values)
        if isinstance(values, MeasureError) and MAY_NEED.search(said):
            return
        raise FindingError(f"cannot score {one}: {values}", reproducer, "cannot score")
    if values.shape != runs.shape or values.dtype != np.float64:
        raise FindingError(f"{one} has shape {values.shape}, {values.dtype}", reproducer, "shape")
    low, high = one.info.range
    gains = getattr(one, "gains", None)
    if isinstance(gains, Gain) and isinstance(gains.kind, tuple):
        worth = [gain for _, gain in gains.kind]
        # Gains below 0 leave the range, and a gain lost to rounding at 1e15 may do so.
        low, high = (-inf if min(worth) < 0 else low), (inf if min(worth) < 0 else high)
    if not all(isfinite(value) and low - 1e-9 <= value <= high + 1e-9 for value in values.flat):
        where = f"{one.info.name} out of range"
        raise FindingError(f"{one} scores {values.tolist()}", reproducer, where)


attack = Cases("grammar", measure_case)
