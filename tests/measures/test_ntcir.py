"""The measures of NTCIR, and those of others, against what NTCIREVAL and pyNTCIREVAL print."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import MeasureError
from tests.measures.rankings import score_grades

DATA = Path(__file__).parents[1] / "data" / "ntcireval"

Run = dict[str, dict[str, float]]
Values = dict[tuple[str, str], float]


def names(gains: str, most: int, cutoffs: tuple[int, ...], **options: str) -> dict[str, str]:
    """Names of NTCIREVAL with the measure that each is, for gains and the highest grade.

    The chances to stop of ERR, EBR and RBP's gains go by the gains too.
    """
    beta, gamma = options.get("beta", "1"), options.get("gamma", "0.95")
    own = f"gains={gains}, beta={beta}"
    stops = f", stops={options['stops']}" if "stops" in options else ""
    found = {
        "RR": "RR",
        "O-measure": f"OMeasure({own})",
        "P-measure": f"PMeasure({own})",
        "P-plus": f"PPlus({own})",
        "AP": "AP",
        "Q-measure": f"Q({own})",
        "NCUgu,P": f"NCU({own}, stopping='graded', utility='P'{stops})",
        "NCUgu,BR": f"NCU({own}, stopping='graded'{stops})",
        "NCUrb,P": f"NCU({own}, gamma={gamma}, utility='P')",
        "NCUrb,BR": f"NCU({own}, gamma={gamma})",
        "RBP": f"RBP(p=0.95, gains={options.get('shares', gains)})",
        "ERR": f"ERR(gains={gains}, max_grade={most})",
        "EBR": f"EBR({own}, max_grade={most})",
    }
    for k in cutoffs:
        found |= {
            f"AP@{k:04}": f"AP(denominator='min')@{k}",
            f"Q@{k:04}": f"Q({own})@{k}",
            f"nDCG@{k:04}": f"nDCG(gains={gains}, discount='max(1,log2(rank))')@{k}",
            f"MSnDCG@{k:04}": f"nDCG(gains={gains})@{k}",
            f"P@{k:04}": f"P@{k}",
            f"RBP@{k:04}": f"{found['RBP']}@{k}",
            f"ERR@{k:04}": f"{found['ERR']}@{k}",
            f"nERR@{k:04}": f"nERR(gains={gains}, max_grade={most})@{k}",
            f"EBR@{k:04}": f"{found['EBR']}@{k}",
            f"Hit@{k:04}": f"Success@{k}",
        }
    return found


def lines(name: str) -> list[list[str]]:
    with gzip.open(DATA / f"{name}.gz", "rt", encoding="utf-8") as file:
        return [line.split() for line in file]


def run_of(name: str, depth: int = 1000) -> Run:
    run: Run = defaultdict(dict)
    for topic, document in lines(name):
        if len(run[topic]) < depth:
            run[topic].setdefault(document, -float(len(run[topic])))
    return dict(run)


def printed(name: str) -> Values:
    """Values of an output file by topic and name."""
    return {
        (one[0], one[1].removesuffix("=")): float(one[2])
        for one in lines(name)
        if not one[1].startswith("#")
    }


def equal(value: float, shown: float) -> bool:
    """Whether a value is printed with these four digits; a float may fall on either side."""
    return abs(value - shown) <= 0.5e-4 + 1e-9


@pytest.mark.parametrize(("name", "topics"), [("TRECRUN", 3), ("cacm", 52)])
@pytest.mark.parametrize("preset", [False, True])
def test_every_value_that_ntcireval_prints(name: str, topics: int, preset: bool) -> None:
    """By our measures; and by the program's names under its preset, with gains as it takes them."""
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for topic, document, level in lines(f"{name}.qrels"):
        qrels[topic][document] = int(level.removeprefix("L"))
    # The command says -g 1:2, though no document has grade 2.
    measures = names("{1: 1, 2: 2}", 2, (10, 1000), shares="{1: 0.5, 2: 1}")
    compat: Any = "ntcireval" if preset else None
    if preset:
        measures = {what: f"{what} -g 1:2" for what in measures}
    found = cf.evaluate(run_of(f"{name}.run"), qrels, list(measures.values()), compat=compat)
    expected = printed(f"{name}.nev")
    assert {what for _, what in expected} == set(measures)
    wrong = []
    by_name = {what: found[text] for what, text in measures.items()}
    for (topic, what), shown in expected.items():
        scores = by_name[what]
        value = float(scores.values[scores.topics.index(topic), 0]) if topic in scores.topics else 0
        if not equal(value, shown):
            wrong.append((topic, what, value, shown))
    assert not wrong
    assert len(expected) == 33 * topics
    if preset:
        # Without the gains the scale ends at the highest grade of the judgments, which is 1.
        plain = cf.evaluate(run_of(f"{name}.run"), qrels, "ERR", compat="ntcireval")
        assert plain["ERR"].values.max() > found["ERR -g 1:2"].values.max()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Q-measure -g 1:2", "Q"),
        ("Q@0010 -g 1:4:9", "Q(gains={1: 1, 2: 4, 3: 9})@10"),
        ("err@0010 -g 1:2", "ERR(gains='linear', max_grade=2)@10"),
        ("nERR@10 -g 2:3", "nERR(gains={1: 2, 2: 3}, max_grade=2)@10"),
        ("RBP -g 1:2", "RBP(gains='graded', max_grade=2, p=0.95)"),
        ("RBP -g 1:4", "RBP(gains={1: 0.25, 2: 1}, p=0.95)"),
        (
            "nDCG@5 -g 1:3",
            "nDCG(discount='max(1,log2(rank))', gains={1: 1, 2: 3})@5",
        ),
        ("NCUgu,P -g 1:3", "NCU(gains={1: 1, 2: 3}, stopping='graded', utility='P')"),
        ("P@10 -g 1:3", "P@10"),
    ],
)
def test_gains_as_the_program_takes_them(text: str, form: str) -> None:
    assert cf.parse_measures(text, compat="ntcireval") == [cf.parse_measure(form)]


def test_gains_of_all_measures_of_the_program() -> None:
    found = cf.parse_measures("ntcireval -g 1:4", compat="ntcireval")
    assert len(found) == len(cf.parse_measures("ntcireval", compat="ntcireval"))
    assert cf.parse_measure("EBR(gains={1: 1, 2: 4}, max_grade=2)") in found
    with pytest.raises(MeasureError, match="gains of grades 1, 2"):
        cf.parse_measures("ntcireval -g 1:x", compat="ntcireval")
    with pytest.raises(MeasureError, match="is not a valid measure"):
        cf.parse_measures("Q -g 1:2")


def test_values_from_global_gains() -> None:
    """The D-measures are graded measures whose gains are sums of chances of intents."""
    run, expected = run_of("TRECRUN.run", 10), printed("TRECRUN.Dnev")
    assert check_global(run, expected) == 3 * 21


def test_global_gains_of_a_whole_list() -> None:
    """README.diversity, section 4.3: the most relevant document stands at rank 424."""
    expected = dict(zip(names("{}", 1, (10,)), WHOLE_LIST, strict=True))
    wanted = {("0001", what): value for what, value in expected.items() if value is not None}
    assert check_global(run_of("TRECRUN.run"), wanted) == 21


WHOLE_LIST = [
    *(0.3333, 0.2941, 0.1287, 0.1617, 0.0919, 0.0989, None, None, 0.2007, 0.1929),
    *(0.1058, 0.1646, 0.3130, 0.1433, 0.1263, 0.2117, 0.2085, 0.3000, 0.0687, 0.1458),
    *(0.2402, 0.2114, 1.0000),
]


def check_global(run: Run, expected: Values) -> int:
    """Compare values from global gains with those that are printed; count them."""
    chances = {
        "0001": {"1": 0.5714, "2": 0.2857, "3": 0.1429},
        "0002": {"1": 0.5333, "2": 0.2667, "3": 0.1333, "4": 0.0667},
        "0003": {"1": 0.5714, "2": 0.2857, "3": 0.1429},
    }
    gains: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for topic, intent, document, level in lines("TRECRUN.Dqrels"):
        gains[topic][document] += chances[topic].get(intent, 0.0) * int(level[1:])
    checked = 0
    for topic, worth in gains.items():
        levels = [0.0, *sorted({round(gain, 6) for gain in worth.values() if gain})]
        mapping = dict(enumerate(levels))
        qrels = {topic: {doc: levels.index(round(gain, 6)) for doc, gain in worth.items()}}
        scaled = {grade: gain / levels[-1] for grade, gain in mapping.items()}
        measures = names(str(mapping), len(levels) - 1, (10,), shares=str(scaled))
        found = cf.evaluate({topic: run[topic]}, qrels, list(measures.values()))
        for what, text in measures.items():
            if (topic, what) in expected:
                value = float(found[text].values[0, 0])
                assert equal(value, expected[topic, what]), (topic, what, value)
                checked += 1
    return checked


def test_the_example_of_the_manual() -> None:
    """README of NTCIREVAL, section 3.1: sample.rel and sample.res, -g 1:2:3."""
    levels = [3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0]
    qrels = {"q": {f"dummy{i:02}": level for i, level in enumerate(levels, 1)}}
    run = {"q": {"dummy11": 4, "dummy01": 3, "dummy12": 2, "dummy04": 1}}
    measures = names("'linear'", 3, (1000,), shares="'graded'")
    shown = [
        *(0.5, 0.5, 0.5, 0.5, 0.1, 0.0967, 0.1316, 0.1281, 0.1215, 0.1175, 0.0761, 0.4062, 0.4333),
        *(0.1, 0.0967, 0.3380, 0.2760, 0.0020, 0.0761, 0.4062, 0.4710, 0.4333, 1.0),
    ]
    found = cf.evaluate(run, qrels, list(measures.values()))
    for (what, text), value in zip(measures.items(), shown, strict=True):
        assert equal(float(found[text].values[0, 0]), value), what


# pyNTCIREVAL 0.0.3, compute -g 1:3:7 -s 1:2:5 --beta 2 --gamma 0.8 --cutoffs 3
GRADES = {"a": 3, "b": 2, "c": 2, "d": 1, "e": 1, "f": 0, "g": 3}
SHOWN = {
    "dfxbacg": (
        *(1.0, 0.2, 0.5319, 0.3197, 0.5802, 0.4201, 0.6190, 0.5751, 0.6554, 0.3869, 0.3123),
        *(0.0667, 0.0629, 0.0774, 0.1342),
    ),
    "xedbyc": (
        *(0.5, 0.1, 0.2955, 0.1859, 0.4306, 0.1596, 0.2500, 0.1033, 0.5027, 0.1690, 0.2006),
        *(0.0874, 0.1026, 0.0876, 0.1062),
    ),
    "abcdegf": (
        *(1.0, 1.0, 1.0, 1.0, 1.0, 0.8315, 1.0, 0.9066, 1.0, 0.8385, 0.9162),
        *(0.8390, 0.7483, 0.8046, 0.9748),
    ),
    "xyzwvutsrqpdb": (
        *(0.0833, 0.0536, 0.1754, 0.1145, 0.0395, 0.0382, 0.0244, 0.0253, 0.0559, 0.0526, 0.0357),
        *(0.0, 0.0, 0.0, 0.0),
    ),
}


@pytest.mark.parametrize("ranking", SHOWN)
def test_values_of_another_program(ranking: str) -> None:
    gains = "{1: 1, 2: 3, 3: 7}"
    measures = names(gains, 3, (3,), beta="2", gamma="0.8", stops="{1: 1, 2: 2, 3: 5}")
    order = [*list(measures)[:10], "ERR", "Q@0003", "nDCG@0003", "MSnDCG@0003", "nERR@0003"]
    run = {"q": {document: -float(i) for i, document in enumerate(ranking)}}
    found = cf.evaluate(run, {"q": GRADES}, [measures[what] for what in order])
    for what, shown in zip(order, SHOWN[ranking], strict=True):
        assert equal(float(found[measures[what]].values[0, 0]), shown), what


# Properties

graded = st.lists(st.integers(0, 3), min_size=1, max_size=9).filter(any)


@given(st.integers(1, 12), st.integers(1, 6), st.sampled_from([0.0, 0.5, 1.0, 10.0]))
def test_blended_ratio_of_one_document(rank: int, relevant: int, beta: float) -> None:
    """Sakai (2013), figure 3: binary relevance, the first relevant document at a rank."""
    ranking: list[int | None] = [None] * (rank - 1) + [1]
    expected = 1 / rank if rank <= relevant else (1 + beta) / (rank + beta * relevant)
    value = score_grades([f"OMeasure(beta={beta})"], ranking, [1] * (relevant - 1))[0]
    assert value == pytest.approx(expected)


@settings(max_examples=30)
@given(graded, st.lists(st.integers(0, 3), max_size=4))
def test_relations_between_measures(ranking: list[int], missed: list[int]) -> None:
    special = ["Q(beta=0)@3", "RMeasure(beta=0)", "OMeasure(beta=0)", "NCU(gamma=1)"]
    special += ["NCU(beta=0)", "NCU(beta=0, stopping='graded')"]
    known = ["AP(denominator='min')@3", "Rprec", "RR", "Q"]
    known += ["NCU(utility='P')", "NCU(stopping='graded', utility='P')"]
    found = score_grades(special + known, ranking, missed)
    assert found[: len(special)] == pytest.approx(found[len(special) :])


def test_the_example_of_p_plus() -> None:
    """Sakai (2013), section 2.2: relevant at ranks 2, 4 and 6; r_p is 4, and r_1 is 2."""
    ranking: list[int | None] = [None, 1, None, 2, None, 2]
    first, best = (1 + 1) / (2 + 4), (2 + 3) / (4 + 5)
    assert score_grades(["PPlus"], ranking, [])[0] == pytest.approx((first + best) / 2)
    assert score_grades(["PMeasure"], ranking, [])[0] == pytest.approx(best)
    assert score_grades(["OMeasure"], ranking, [])[0] == pytest.approx(first)
    # Above the measurement depth the marginal document is the most relevant one.
    assert score_grades(["PPlus@3"], ranking, [])[0] == pytest.approx(first)
