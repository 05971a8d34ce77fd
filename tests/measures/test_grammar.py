"""The text form of measures."""

from __future__ import annotations

import pickle
import sys
from fractions import Fraction
from importlib import import_module
from subprocess import run
from typing import Any

import pytest

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.spec import integer, parameter
from cranfield.measures import AP, RBP, P, nDCG
from cranfield.measures.aliases import find_trec_name
from cranfield.measures.base import Measure
from cranfield.measures.families import MODULES, REGISTRY
from cranfield.measures.wrapping import Wrapper, wrapper_measure

ROUND_TRIPS = [
    "AP",
    "AP(rel=2)@100",
    "nDCG@10",
    "nDCG(gains='exponential')@20",
    "nDCG(gains={0: 0.5, 2: 3})@10",
    "DCG(discount='max(1,log10(rank))')@5",
    "DCG(discount='1+log2.5(rank)')",
    "RBP(p=0.95)",
    "RBP(gains={1: 0.333333333333333}, p=0.5)@7",
    "RBP(p=1/3)",
    "RBP(gains={1: 1/3, 2: 2/3, 3: 1}, p=1/7)@7",
    "IPrec@0.1",
    "IPrec(rounding='trec_eval-10')@0",
    "SetF(beta=2)",
    "Bpref(form='R')",
    "ERR(max_grade=4)@20",
    "Rprec(multiple=0.2)",
    "Utility(a=2, b=-0.5)",
    "P(judged_only=True)@5",
]


@pytest.mark.parametrize("text", ROUND_TRIPS)
def test_text_form_is_the_identity(text: str) -> None:
    measure = cf.parse_measure(text)
    assert str(measure) == text
    assert cf.parse_measure(str(measure)) == measure
    assert hash(cf.parse_measure(str(measure))) == hash(measure)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("MAP", "AP"),
        ("MRR@10", "RR@10"),
        ("NDCG@5", "nDCG@5"),
        ("Precision@5", "P@5"),
        ("nDCG(dcg='log2')@5", "nDCG@5"),
        ("nDCG(dcg='exp-log2')@20", "nDCG(gains='exponential')@20"),
        ("AP( rel = 2 ) @ 10", "AP(rel=2)@10"),
        ("AP(rel=1)", "AP"),
        ("AP(cutoff=10)", "AP@10"),
        ("DCG(discount='log2( rank + 1 )')", "DCG"),
        ("nDCG(discount='max(1, log10(rank))')", "nDCG(discount='max(1,log10(rank))')"),
        ("aRBP(aspects='harm, trust')", "aRBP(aspects='harm,trust')"),
        ("map", "AP"),
        ("P_10", "P@10"),
        ("P.10", "P@10"),
        ("ndcg_cut_10", "nDCG@10"),
        ("recip_rank", "RR"),
        ("map_cut.7", "AP@7"),
        ("iprec_at_recall_0.30", "IPrec@0.3"),
        ("set_F.4", "SetF(beta=2)"),
        ("F2@5", "F(beta=2)@5"),
        ("F0.5@10", "F(beta=0.5)@10"),
        ("ndcg.1=3,2=9,4=4.5", "nDCG(gains={1: 3, 2: 9, 4: 4.5})"),
        ("utility.2,-1,0,0", "Utility(a=2)"),
        ("Rprec_mult.0.35", "Rprec(multiple=0.35)"),
    ],
)
def test_other_ways_to_say_it(text: str, same: str) -> None:
    assert str(cf.parse_measure(text)) == same


def test_families_of_trec_eval() -> None:
    assert [str(m) for m in cf.parse_measures("P.5,10")] == ["P@5", "P@10"]
    assert [str(m) for m in cf.parse_measures("success")] == [
        "Success@1",
        "Success@5",
        "Success@10",
    ]
    assert len(cf.parse_measures("P")) == 9
    assert len(cf.parse_measures("official")) == 9 + 11 + 9
    assert len(cf.parse_measures("all_trec")) == 93
    assert len(cf.parse_measures("all_trec", compat="trec_eval-10")) == 98
    with pytest.warns(cf.CranfieldWarning, match="'map' and 'AP' are the same measure") as warned:
        assert cf.parse_measures(["map", "AP", nDCG @ 5, "ndcg_cut.5"]) == [AP, nDCG @ 5]
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, ["map", "AP"])
    assert {warning.filename for warning in warned} == {__file__}
    with pytest.warns(cf.CranfieldWarning, match="'AP' and 'AP' are the same measure"):
        assert cf.parse_measures("AP,AP") == [AP]
    # Who names all of a family and one of them means both.
    assert cf.parse_measures(["official", "map"]) == cf.parse_measures("official")


def test_names_go_back_to_trec_eval() -> None:
    for one in cf.parse_measures("all_trec", compat="trec_eval-9"):
        assert str(cf.parse_measures(find_trec_name(one), compat="trec_eval-9")[0]) == str(one)


def test_measures_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="is immutable"):
        AP.rel = 2
    with pytest.raises(cf.MeasureError, match="requires a cutoff"):
        cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, [P])
    with pytest.raises(cf.MeasureError, match="at least one measure"):
        cf.parse_measures([])
    with pytest.raises(cf.MeasureError, match="expected a measure"):
        cf.parse_measures([3])  # type: ignore[list-item]


def test_measures_of_a_measure_are_part_of_the_grammar() -> None:
    class Twice(Wrapper):
        times: int = parameter(2, integer(1), "how often")

        def values(self, judged: cf.JudgedRuns) -> Floats:
            return self.times * self.inner.score(judged)

    try:
        wrapper_measure("twice")(Twice)
        made = cf.parse_measure("twice(AP(rel=2)@10, times=3)")
        assert str(made) == "twice(AP(rel=2)@10, times=3)"
        assert cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 2}}, made)[made].values == 3
        with pytest.raises(cf.MeasureError, match="measure twice already exists"):
            wrapper_measure("twice")(Twice)
    finally:
        del REGISTRY["twice"]


def test_all_measures_are_where_the_list_says() -> None:
    assert [*MODULES] == [name for name in REGISTRY if name in MODULES]
    assert all(
        MODULES[name] == kind.__module__ for name, kind in REGISTRY.items() if name in MODULES
    )
    modules = [import_module(module) for module in set(MODULES.values())]
    classes = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    entered = {cls for cls in classes if "info" in vars(cls) and cls is not Measure}
    assert entered == {REGISTRY[name] for name in MODULES}
    for name, module in MODULES.items():
        if module.startswith("cranfield.measures."):
            made = getattr(cf.measures, name)
            assert (made if isinstance(made, type) else type(made)) is REGISTRY[name]
    with pytest.raises(AttributeError):
        cf.measures.nonsense  # noqa: B018


def test_a_family_loads_when_it_is_named() -> None:
    code = """if True:
        import sys
        import cranfield
        assert not any("cranfield.texts" in name for name in sys.modules)
        from cranfield.measures import parse_measure
        parse_measure("MAP@10")
        print(*(name for name in sys.modules if name.startswith("cranfield.measures.")))
    """
    loaded = run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    folders = {name.split(".")[2] for name in loaded.split() if name.count(".") > 2}
    assert folders == {"ranked"}


def test_fractions_are_parameters() -> None:
    third = RBP(p=Fraction(1, 3))
    assert cf.parse_measure("RBP(p=1/3)") == RBP(p=1 / 3) == third
    assert (str(third), third.p) == ("RBP(p=1/3)", 1 / 3)
    assert cf.parse_measure("RBP(p=0.3333333333333333)") == third
    assert cf.parse_measure("RBP(p=1/4)") == RBP(p=0.25)
    assert str(RBP(p=Fraction(1, 4))) == "RBP(p=0.25)"
    mapped = RBP(gains={1: Fraction(1, 3), 2: 1})
    assert cf.parse_measure("RBP(gains={1: 1/3, 2: 1})") == mapped
    assert cf.parse_measure(str(mapped)) == mapped
    # The number behind an @ has no fraction in its text form: / would end it.
    assert str(cf.parse_measure("IPrec@(1/3)")) == "IPrec@0.3333333333333333"


def test_define_refuses_what_cannot_be_a_measure() -> None:
    with pytest.raises(cf.MeasureError, match="already"):
        cf.define("AP", lambda judged: None)
    for name in ("a b", "lambda", "None"):
        with pytest.raises(cf.MeasureError, match=f"must consist of letters.*got '{name}'"):
            cf.define(name, lambda judged: None)
    odd: Any
    for odd in ((0, "x"), (1, 0), 1, (0, 1, 2)):
        with pytest.raises(cf.CranfieldError, match="must be two numbers|lowest and the highest"):
            cf.define("WrongRange", lambda judged: judged.n_retrieved, range=odd)
    with pytest.raises(cf.PolicyError, match="unknown aggregate 'best'"):
        cf.define("WrongAggregate", lambda judged: judged.n_retrieved, aggregate="best")
    no_function: Any = 3
    with pytest.raises(cf.MeasureError, match="must be callable, got int"):
        cf.define("NoFunction", no_function)
    bad = cf.define("WrongShape", lambda judged: [1.0])
    try:
        with pytest.raises(cf.MeasureError, match="expected scores of shape"):
            cf.evaluate({"q": {"a": 1.0}, "r": {"a": 1.0}}, {"q": {"a": 1}, "r": {"a": 1}}, bad)
    finally:
        del cf.measures.REGISTRY["WrongShape"]
    beyond = cf.define("Beyond", lambda judged: judged.n_retrieved * 2.0)
    try:
        with pytest.raises(cf.MeasureError, match="expected scores in the range 0 to 1, got 2"):
            cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, beyond)
    finally:
        del cf.measures.REGISTRY["Beyond"]


def test_positional_arguments_name_the_parameter_after_the_at() -> None:
    for name, hint in (
        ("AP", "write a cutoff as AP @ 3"),
        ("IPrec", "write a recall as IPrec @ 3"),
    ):
        with pytest.raises(cf.ArgumentError, match=hint):
            getattr(cf.measures, name)(3)
    for name, argument in (("NumQ", 3), ("AP", "x")):
        with pytest.raises(cf.ArgumentError) as info:
            getattr(cf.measures, name)(argument)
        assert "@" not in str(info.value)


@pytest.mark.parametrize(
    "name", ["map", "ndcg", "recip_rank", "P_5", "set_P", "num_q", "official", "all_trec", "set"]
    + ["ap", "hit_rate", "precision", "strec", "iprec", "urisk", "mrr", "ndcg_at_5"]
)  # fmt: skip
def test_define_refuses_names_of_other_programs(name: str) -> None:
    with pytest.raises(cf.MeasureError, match=f"measure {name} already exists"):
        cf.define(name, lambda judged: judged.n_retrieved * 0.0)
    assert name not in cf.measures.REGISTRY


def _retrieved(judged: Any) -> Any:
    return judged.n_retrieved


def test_defined_measures_can_be_pickled() -> None:
    own = cf.define("Pickled", _retrieved, range=(0, 9), lower_is_better=True, scale="ratio")
    try:
        ev = cf.evaluate({"q": {"a": 2, "b": 1}}, {"q": {"a": 1}}, [own, "Pickled@1"])
    finally:
        del cf.measures.REGISTRY["Pickled"]
    again = pickle.loads(pickle.dumps(ev))
    assert again.means().rows() == ev.means().rows() == [("Pickled", 2.0), ("Pickled@1", 1.0)]
    copy = pickle.loads(pickle.dumps(own @ 3))
    assert (copy, copy.info, copy.scale_source) == (own @ 3, own.info, "user")


def test_functions_of_defined_measures_cannot_change_judged_runs() -> None:
    judged = cf.judge({"q": {"a": 2, "b": 1}}, {"q": {"a": 2, "b": 1}})
    rows = judged.relevant()
    for array in (rows.grade, rows.rank, rows.cell, judged.n_retrieved, judged.judgments.grade):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_objects_and_text_agree() -> None:
    assert RBP(p=0.5) @ 10 == cf.parse_measure("RBP(p=0.5)@10")
    assert nDCG @ 10 != nDCG @ 20
    assert AP != "AP"
    assert repr(nDCG(gains={1: 1, 2: 3}) @ 10) == "nDCG(gains={1: 1, 2: 3})@10"
