"""Every measure against an independent, naive implementation of its definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isclose
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.measures.families import KINDS, REGISTRY
from tests import reference as ref

Oracle = Callable[[ref.Ranking, list[int]], float]
TOP = 4
GAINS = {1: 0.5, 2: 3, 4: 7}


def mapped(grade: int) -> float:
    return GAINS.get(grade, float(grade))


def exponential(grade: int) -> float:
    return 2.0**grade - 1


def binary(rel: int) -> Callable[[int], float]:
    return lambda grade: float(grade >= rel)


CASES: dict[str, Oracle] = {
    "P@1": partial(ref.precision, k=1),
    "P@7": partial(ref.precision, k=7),
    "P(rel=2)@7": partial(ref.precision, k=7, rel=2),
    "R@5": partial(ref.recall, k=5),
    "gP(max_grade=4)@5": partial(ref.generalised_precision, k=5, max_grade=4),
    "gP(max_grade=4, gains={1: 0.5, 2: 3, 4: 7})@3": partial(
        ref.generalised_precision, k=3, max_grade=4, gain=mapped
    ),
    "gR@5": partial(ref.generalised_recall, k=5),
    "gR(gains='exponential')@3": partial(ref.generalised_recall, k=3, gain=exponential),
    "NCG@5": partial(ref.normalised_cumulated_gain, k=5),
    "NCG(gains='exponential')@3": partial(ref.normalised_cumulated_gain, k=3, gain=exponential),
    "SBTO(max_grade=4)@3": partial(ref.set_based_rank, k=3, highest=4),
    "SBTO@5": partial(ref.set_based_rank, k=5, highest=4),
    "RBTO(max_grade=4)@6": partial(ref.rank_based_rank, k=6, highest=4),
    "F@6": partial(ref.f_at, k=6),
    "F(beta=2, rel=2)@4": partial(ref.f_at, k=4, beta=2, rel=2),
    "Complete@4": partial(ref.complete, k=4),
    "Complete(rel=2)@2": partial(ref.complete, k=2, rel=2),
    "FirstRank@4": partial(ref.first_rank, k=4),
    "FirstRank(rel=3)@9": partial(ref.first_rank, k=9, rel=3),
    "RelP@6": partial(ref.rel_precision, k=6),
    "Success@3": partial(ref.success, k=3),
    "RR": ref.rr,
    "RR(rel=3)@4": partial(ref.rr, rel=3, k=4),
    "Rprec": ref.rprec,
    "Rprec(multiple=0.4)": partial(ref.rprec, multiple=0.4),
    "AP": ref.ap,
    "AP(rel=2)@5": partial(ref.ap, k=5, rel=2),
    "AP(denominator='min')@5": partial(ref.ap, k=5, denominator="min"),
    "GMAP": ref.ap,
    "IPrec@0": partial(ref.iprec, recall=0),
    "IPrec@0.7": partial(ref.iprec, recall=0.7),
    "IPrec(rounding='trec_eval-9')@0.7": partial(ref.iprec, recall=0.7, rounding="trec_eval-9"),
    "IPrec(rounding='trec_eval-10')@0.3": partial(ref.iprec, recall=0.3, rounding="trec_eval-10"),
    "AP11": ref.ap11,
    "infAP": ref.inf_ap,
    "infAP(rel=2)": partial(ref.inf_ap, rel=2),
    "Bpref": ref.bpref,
    "Bpref(form='R')": partial(ref.bpref, form="R"),
    "Bpref(form='N', rel=2)": partial(ref.bpref, form="N", rel=2),
    "GMBpref": ref.bpref,
    "SetP": ref.set_precision,
    "SetR(rel=2)": partial(ref.set_recall, rel=2),
    "SetRelP": ref.set_rel_precision,
    "SetAP": ref.set_ap,
    "SetF(beta=2)": partial(ref.set_f, beta=2),
    "SetE(beta=0.5)": partial(ref.set_e, beta=0.5),
    "Utility": ref.utility,
    "Utility(a=2, b=-0.5, c=1, d=0.25, docs=99)": partial(
        ref.utility, a=2, b=-0.5, c=1, d=0.25, docs=99
    ),
    "DCG@5": partial(ref.dcg, k=5),
    "DCG(discount='max(1,log2(rank))')": partial(ref.dcg, discount=ref.max_log_discount(2)),
    "DCG(discount='max(1,log10(rank))', gains='exponential')@12": partial(
        ref.dcg, k=12, discount=ref.max_log_discount(10), gain=exponential
    ),
    "DCG(discount='1+log3(rank)')": partial(ref.dcg, discount=ref.one_plus_log_discount(3)),
    "nDCG": ref.ndcg,
    "nDCG@3": partial(ref.ndcg, k=3),
    "nDCG(ideal='full')@3": partial(ref.ndcg, k=3, ideal="full"),
    "nDCG(dcg='exp-log2')@8": partial(ref.ndcg, k=8, gain=exponential),
    "nDCG(gains={1: 0.5, 2: 3, 4: 7})@8": partial(ref.ndcg, k=8, gain=mapped),
    "nDCGrel": ref.ndcg_rel,
    "RnDCG": ref.rndcg,
    "G": ref.big_g,
    "binG": ref.bin_g,
    "RBP": partial(ref.rbp, p=0.8, gain=binary(1)),
    "RBP(p=0.5, rel=2)@6": partial(ref.rbp, p=0.5, gain=binary(2), k=6),
    "RBP(gains='graded', max_grade=4)": partial(ref.rbp, p=0.8, gain=lambda g: g / 4),
    "RBP(gains={1: 0.3, 3: 1})": partial(
        ref.rbp, p=0.8, gain=lambda g: {1: 0.3, 3: 1.0}.get(g, 0.0)
    ),
    "RBPResidual": partial(ref.rbp_residual, p=0.8, part="total"),
    "RBPResidual(p=0.5, part='tail')@5": partial(ref.rbp_residual, p=0.5, part="tail", k=5),
    "RBPResidual(part='unjudged')": partial(ref.rbp_residual, p=0.8, part="unjudged"),
    "ERR(max_grade=4)": partial(ref.err, max_grade=4),
    "ERR(max_grade=5)@3": partial(ref.err, max_grade=5, k=3),
    "nERR(max_grade=4)@6": partial(ref.nerr, max_grade=4, k=6),
    "ERR(gains='linear', max_grade=4)@5": partial(ref.err, max_grade=4, k=5, gain=float),
    "nERR(gains={1: 0.5, 2: 3, 4: 7}, max_grade=4)@3": partial(
        ref.nerr, max_grade=4, k=3, gain=mapped
    ),
    "nERR(gains={1: 9, 2: 3}, max_grade=4)@3": partial(
        ref.nerr, max_grade=4, k=3, gain=lambda g: {1: 9.0, 2: 3.0}.get(g, float(g))
    ),
    "Q": ref.q_measure,
    "Q(beta=0)@4": partial(ref.ap, k=4, denominator="min"),
    "Q(beta=2.5, gains='exponential', rel=2)@3": partial(
        ref.q_measure, k=3, beta=2.5, gain=exponential, rel=2
    ),
    "Q(denominator='R', gains={1: 0, 2: 3})@3": partial(
        ref.q_measure, k=3, denominator="R", gain=lambda g: {1: 0.0, 2: 3.0}.get(g, float(g))
    ),
    "RMeasure": ref.r_measure,
    "RMeasure(beta=10, gains='exponential', rel=2)": partial(
        ref.r_measure, beta=10, gain=exponential, rel=2
    ),
    "OMeasure": ref.o_measure,
    "OMeasure(beta=3, rel=2)@4": partial(ref.o_measure, k=4, beta=3, rel=2),
    "PMeasure": ref.p_measure,
    "PMeasure(beta=3, rel=0)@4": partial(ref.p_measure, k=4, beta=3, rel=0),
    "PPlus": ref.p_plus,
    "PPlus(gains='exponential', rel=2)@4": partial(ref.p_plus, k=4, gain=exponential, rel=2),
    "NCU": partial(ref.ncu, stop="rank-biased", utility="BR"),
    "NCU(gamma=0.5, rel=2, utility='P')@4": partial(
        ref.ncu, stop="rank-biased", utility="P", gamma=0.5, k=4, rel=2
    ),
    "NCU(gamma=1)": ref.q_measure,
    "NCU(stopping='graded')@6": partial(ref.ncu, stop="graded", utility="BR", k=6),
    "NCU(gains='exponential', stopping='graded', utility='P')": partial(
        ref.ncu, stop="graded", utility="P", gain=exponential
    ),
    "NCU(rel=2, stopping='graded', stops={1: 0.5, 2: 3, 4: 7})": partial(
        ref.ncu, stop="graded", utility="BR", rel=2, weight=mapped
    ),
    "EBR(max_grade=4)": partial(ref.ebr, max_grade=4),
    "EBR(beta=0.5, gains='exponential', max_grade=5, rel=2)@5": partial(
        ref.ebr, max_grade=5, k=5, beta=0.5, gain=exponential, rel=2
    ),
    "INST": partial(ref.inst, wanted=1, gain=binary(1)),
    "INST(T=2.5, rel=2)@5": partial(ref.inst, wanted=2.5, gain=binary(2), k=5),
    "INST(T=0.5, depth=9, gains='graded', max_grade=4)": partial(
        ref.inst, wanted=0.5, gain=lambda g: g / 4, depth=9
    ),
    "INST(depth=1)": partial(ref.inst, wanted=1, gain=binary(1), depth=1),
    "ETU(INST(T=4))": partial(ref.inst, wanted=4, gain=binary(1), what="total"),
    "Depth(INST(T=3, gains={1: 0.3, 3: 1}))": partial(
        ref.inst, wanted=3, gain=lambda g: {1: 0.3, 3: 1.0}.get(g, 0.0), what="depth"
    ),
    "Residual(INST)": partial(ref.inst, wanted=1, gain=binary(1), what="residual"),
    "Residual(INST(T=0.5)@6)": partial(ref.inst, wanted=0.5, gain=binary(1), what="residual", k=6),
    "Residual(INST(T=3, depth=7))": partial(
        ref.inst, wanted=3, gain=binary(1), what="residual", depth=7
    ),
    "INSQ": lambda r, j: ref.weighted(r, weight=ref.insq_weight(1), gain=binary(1)),
    "INSQ(T=2.5, depth=6)": lambda r, j: ref.weighted(
        r, weight=ref.insq_weight(2.5, 6), gain=binary(1)
    ),
    "Residual(INSQ(T=3)@4)": lambda r, j: ref.without_judgment(
        ref.top(r, 4), weight=ref.insq_weight(3)
    ),
    "SDCG@5": lambda r, j: ref.weighted(r, weight=ref.sdcg_weight(5), gain=binary(1)),
    "SDCG(gains='graded', max_grade=4)@9": lambda r, j: ref.weighted(
        r, weight=ref.sdcg_weight(9), gain=lambda g: g / 4
    ),
    "Residual(SDCG@4)": lambda r, j: ref.without_judgment(r, weight=ref.sdcg_weight(4)),
    "NumQ": lambda r, j: 1,
    "NumRet": ref.num_ret,
    "NumRel(rel=2)": partial(ref.num_rel, rel=2),
    "NumRelRet": ref.num_rel_ret,
    "NumNonrelRet": lambda r, j: sum(g is not None and g < 1 for g in r),
    "Judged@4": partial(ref.judged_at, k=4),
    "Unjudged@4": partial(ref.unjudged_at, k=4),
    # Condensed lists: removed first, cut off afterwards.
    "AP(judged_only=True)": lambda r, j: ref.ap(ref.condensed(r), j),
    "nDCG(judged_only=True)@3": lambda r, j: ref.ndcg(ref.condensed(r), j, k=3),
    "RBP(judged_only=True)": lambda r, j: ref.rbp(ref.condensed(r), j, p=0.8, gain=binary(1)),
    "Bpref(judged_only=True)": lambda r, j: ref.bpref(ref.condensed(r), j),
}

grades = st.integers(-2, TOP)
topics = st.lists(
    st.tuples(
        st.lists(st.none() | grades, max_size=14),  # the ranking
        st.lists(grades, max_size=8),  # judged, but not retrieved
    ).filter(lambda topic: any(g is not None for g in topic[0]) or bool(topic[1])),
    min_size=1,
    max_size=4,
)


def collection(
    rankings: list[tuple[ref.Ranking, list[int]]],
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for t, (ranking, missed) in enumerate(rankings):
        if ranking:
            run[f"t{t}"] = {f"d{i}": -float(i) for i in range(len(ranking))}
        qrels[f"t{t}"] = {f"d{i}": g for i, g in enumerate(ranking) if g is not None} | {
            f"m{i}": g for i, g in enumerate(missed)
        }
    # A second system, so that the order of cells matters; and a run is never empty.
    run.setdefault("t0", {"x": 0.0})
    return run, qrels


ELSEWHERE = {
    "test_cwl_expected.py": ("BPM", "BPMDynamic", "NERR8", "NERR9", "NERR10", "NERR11"),
    "test_markov.py": ("MP", "uM", "rrM"),
    "test_click_measures.py": ("EBU", "uUBM", "uDCM", "rrDCM", "uCCM", "rrCCM", "CWL"),
    "test_graded.py": ("GAP", "gAP", "WRR", "iRBU", "Rpref"),
    "test_compatibility.py": ("Compat", "CompatDiff"),
    "test_exposure.py": ("EEL", "EED", "EER", "IAA"),
}
"""Measures of grades whose oracles are in other files. What needs more than grades is there too."""


def test_every_measure_has_an_oracle() -> None:
    covered = {cf.parse_measure(text).name for text in CASES} - REGISTRY.select(
        kind=KINDS[1]
    ).keys()
    for file, names in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text()
        assert [name for name in names if name not in text] == []
        covered |= set(names)
    of_grades = {
        name
        for name, kind in REGISTRY.select(kind=KINDS[0]).items()
        # Other tests define measures of their own.
        if not kind.info.inputs and kind.info.family != "user-defined"
    }
    assert covered == of_grades


def test_every_other_measure_is_tested() -> None:
    files = Path(__file__).parents[1].rglob("test_*.py")
    text = "".join(file.read_text() for file in files)
    for name, kind in REGISTRY.select(kind=KINDS[0]).items():
        assert not kind.info.inputs or f'"{name}' in text, name


@settings(max_examples=30)
@given(topics)
def test_measures_equal_their_definitions(rankings: list[tuple[ref.Ranking, list[int]]]) -> None:
    run, qrels = collection(rankings)
    other = {topic: dict(reversed(docs.items())) for topic, docs in run.items()}
    judged = cf.judge({"one": run, "two": other, "three": {"t0": {"zzz": 1.0}}}, qrels)
    evaluation = cf.score(judged, list(CASES))
    for text, oracle in CASES.items():
        values = evaluation[text].values
        for t, (ranking, missed) in enumerate(rankings):
            topic = judged.topics.index(f"t{t}")
            given_ranking: ref.Ranking = ranking if ranking or t else [None]
            grades = [g for g in ranking if g is not None] + missed
            expected = oracle(given_ranking, grades)
            assert isclose(values[topic, 0], expected, rel_tol=1e-12, abs_tol=1e-12), text
            assert values[topic, 1] == values[topic, 0]
            empty: ref.Ranking = [None] if t == 0 else []
            assert isclose(values[topic, 2], oracle(empty, grades), rel_tol=1e-12, abs_tol=1e-12), (
                text
            )


@pytest.mark.filterwarnings("ignore:.* read as text, not as missing")
@pytest.mark.parametrize("ties", ["trec", "trec_eval-9", "id-ascending"])
@given(
    scores=st.dictionaries(
        st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=3),
        st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 2.0, -3.5, 1e300, 1e301, 16777217.0]),
        min_size=1,
        max_size=9,
    )
)
def test_order_of_ties(ties: str, scores: dict[str, float]) -> None:
    from cranfield.collection.judged.ranking import order_documents

    # Ids have no blanks around them.
    scores = {doc.strip(): score for doc, score in scores.items() if doc.strip()} or {"d": 0.0}
    run = cf.read_run({"q": scores})
    order = order_documents(run, ties)
    assert [run.docs[int(row)] for row in order.rows] == ref.rank_run(scores, ties=ties)  # type: ignore[arg-type]
    assert order.compute_ranks(order.rows).tolist() == list(range(1, len(scores) + 1))


def test_gains_that_do_not_rise() -> None:
    """The most that a rank could gain is not the gain of the highest grade."""
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 2, "b": 1, "c": 4}}
    for gains, wanted in (("{1: 0.1, 2: 100}", 0.5005), ("{4: 0}", 0.5), ("{4: 0, 3: 0}", 0.75)):
        found = cf.evaluate(run, qrels, f"gP(gains={gains})@2").by_system().row(0)[1]
        assert found == pytest.approx(wanted)
