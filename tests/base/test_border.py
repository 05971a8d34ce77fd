"""Public functions given wrong types: one line that names the argument."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.border import at_border
from cranfield.fusion.rankings import Rankings

RUN: Any = {"1": {"a": 1.0, "b": 2.0}}
QRELS: Any = {"1": {"a": 1}}
FRAME: Any = pl.DataFrame({"x": [1, 2]})
SCORES = cf.read_scores({"x": {"1": 0.2, "2": 0.4}, "y": {"1": 0.4, "2": 0.5}})

WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (cf.evaluate, {"aspects": object}, "evaluate(aspects=…) is a dict of text to anything or None"),
    (cf.evaluate, {"tie": "doc"}, "evaluate takes no argument 'tie'; did you mean ties=…?"),
    (cf.evaluate, {"nonsense": 1}, "evaluate takes no argument 'nonsense'"),
    # By letters these are nearer to others.
    (cf.evaluate, {"threads": 2}, "evaluate takes no argument 'threads'; did you mean jobs=…?"),
    (cf.evaluate, {"results": 2}, "evaluate takes no argument 'results'; did you mean runs=…?"),
]


@pytest.mark.parametrize(("function", "given", "said"), WRONG)
def test_wrong_arguments_are_named(
    function: Callable[..., Any], given: dict[str, Any], said: str
) -> None:
    with pytest.raises(cf.ArgumentError) as caught:
        function(RUN, QRELS, "AP", **given)
    assert str(caught.value).startswith(said)
    assert caught.value.__suppress_context__


def test_an_argument_that_is_missing() -> None:
    with pytest.raises(cf.ArgumentError, match="evaluate: missing a required argument: 'qrels'"):
        cf.evaluate(RUN)  # type: ignore[call-arg]


def test_names_of_other_tools_come_before_near_ones() -> None:
    for given, said in (
        ({"metrics": ["AP"]}, "did you mean measures="),
        ({"measures": "AP", "min_rel": 2}, r"as in measures='AP\(rel=2\)'"),
        ({"measures": "AP", "k": 2}, "as in measures='nDCG@10'"),
        ({"measures": "AP", "judged_docs_only_flag": True}, "mean unjudged='condensed'"),
        ({"measures": "AP", "format": "csv"}, r"runs=cf.read_runs\(..., format=...\)"),
    ):
        with pytest.raises(cf.ArgumentError, match=said):
            cf.evaluate(RUN, QRELS, **given)
    with pytest.raises(cf.ArgumentError, match=r"as in method='RRF\(k=10\)'"):
        cf.fuse({"a": RUN, "b": RUN}, k=10)  # type: ignore[call-arg]
    with pytest.raises(cf.PolicyError, match="; did you mean trec_eval-9?"):
        cf.evaluate(RUN, QRELS, "AP", compat="pytrec_eval")  # type: ignore[arg-type]


def test_arguments_that_have_no_place() -> None:
    said = r"compare takes 1 argument without a name \(scores\); others have names, such as test=…$"
    with pytest.raises(cf.ArgumentError, match=said):
        cf.compare(SCORES, "t")  # type: ignore[call-arg]
    with pytest.raises(cf.ArgumentError, match=r"^PairwiseComparison.count takes 1 .*\(alpha\)$"):
        cf.compare(SCORES).count(0.1, 0.2)  # type: ignore[call-arg]
    with pytest.raises(cf.ArgumentError, match=r"Scores.mean takes .*np.mean\(scores.values\)"):
        np.mean(SCORES)  # type: ignore[call-overload]
    for measure, said in ((cf.measures.P, "P @ 10"), (cf.measures.IA("P@5"), "IA @ 10")):
        with pytest.raises(cf.ArgumentError, match=f"stands behind @, as in {said}"):
            measure(10)


def test_what_makes_an_object_is_said_by_its_class() -> None:
    for call, said in (
        (lambda: cf.Run("bm25", RUN), r"^Run: missing .*; read_run\(\) makes one$"),  # type: ignore[call-arg]
        (lambda: cf.Qrels(QRELS), r"read_qrels\(\) makes one"),  # type: ignore[call-arg]
        (lambda: cf.write_run(RUN, "x"), r"not a dict; read_run\(\) makes one"),
        (lambda: cf.score(RUN, "AP"), r"not a dict; judge\(\) makes one"),
    ):
        with pytest.raises(cf.ArgumentError, match=said):
            call()


def test_names_that_packages_lack() -> None:
    for name, said in (
        ("nDCG", "'cranfield' has no attribute 'nDCG'; did you mean measures.nDCG?"),
        ("MAP", "did you mean measures.AP?"),
        ("ttest", "did you mean compare(scores, test='t')?"),
        ("plot", "did you mean charts?"),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(cf, name)
        assert str(caught.value).endswith(said)
    with pytest.raises(AttributeError, match="did you mean AP?"):
        _ = cf.measures.MAP
    assert not hasattr(cf, "__wrapped__")


def test_methods_and_constructors_are_held_against_their_annotations() -> None:
    with pytest.raises(cf.ArgumentError, match="Scores: missing"):
        cf.Scores(2)  # type: ignore[call-arg, arg-type]
    with pytest.raises(cf.ArgumentError, match=r"table\(sort=…\) is text or None, not a DataFrame"):
        cf.table(SCORES, sort=FRAME)
    with pytest.raises(cf.ArgumentError, match="write_run"):
        cf.write_run(Decimal(3), Path("x"))  # type: ignore[arg-type]


def test_what_works_by_likeness_goes_on_working() -> None:
    """Nothing is checked where nothing failed: NumPy's numbers, tuples for lists."""
    evaluated = cf.evaluate(RUN, QRELS, ("AP", cf.measures.P @ np.int64(1)), jobs=np.int64(1))  # type: ignore[arg-type]
    assert evaluated.means() is not None


def test_errors_of_users_stay_their_own() -> None:
    class OddError(Exception):
        pass

    def progress(*_: object) -> None:
        raise OddError

    with pytest.raises(OddError):
        cf.evaluate(RUN, QRELS, "AP", progress=progress)


@pytest.mark.parametrize("name", ["evaluate", "compare", "image", "read_run", "fuse"])
def test_functions_are_pickled_by_their_public_names(name: str) -> None:
    function = getattr(cf, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert function is getattr(cf, name)
    assert "cranfield" in function.__module__
    assert signature(function) == signature(function.__wrapped__)


def test_one_function_is_one_object_in_all_its_packages() -> None:
    from cranfield.scales import image
    from cranfield.significance import compare

    assert cf.image is image
    assert cf.compare is compare


def test_lists_without_end_do_not_end_the_process() -> None:
    """NumPy and Polars follow lists in lists until the stack is used up."""
    endless: list[Any] = []
    endless.append(endless)
    itself: dict[str, Any] = {}
    itself["x"] = itself
    for odd in (endless, itself, {"x": endless, "y": 1}, {"y": 1, "x": itself}):
        with pytest.raises(cf.ArgumentError, match="nested too deep, or holds itself"):
            cf.evaluate(odd, QRELS, "AP")


def test_options_of_shards_without_shards() -> None:
    with pytest.raises(cf.PolicyError, match="rel is said of shards: give shards="):
        cf.evaluate(RUN, QRELS, "AP", rel=1)


class Odd:
    """What fails when it is asked anything."""

    def __str__(self) -> str:
        raise KeyError("odd")

    def __len__(self) -> int:
        raise KeyError("odd")

    def __iter__(self) -> Any:
        raise KeyError("odd")


class OddList(list[Any]):
    def __iter__(self) -> Any:
        raise KeyError("odd")


@pytest.mark.parametrize("odd", [Odd(), OddList([1])])
def test_objects_that_fail_themselves(odd: Any) -> None:
    for call in (
        lambda: cf.evaluate(odd, QRELS, "AP"),
        lambda: cf.evaluate(RUN, odd, "AP"),
        lambda: SCORES.select(topics=odd),
        lambda: cf.significance.spend_alpha(odd),
    ):
        with pytest.raises(cf.CranfieldError) as caught:
            call()
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("odd", [object(), "x", {"a": 1}, lambda: 3, Path("x"), ..., b"x", {1}])
def test_numbers_are_numbers(odd: Any) -> None:
    with pytest.raises(cf.CranfieldError):
        cf.significance.expected_width(odd, variance=0.1)
    with pytest.raises(cf.CranfieldError):
        cf.online.always_valid([0.1], odd, [1000])


def test_numbers_of_numpy_work() -> None:
    width = cf.significance.expected_width(50, variance=0.1)
    for many in (np.int8(50), np.float32(50), np.array(50), [50.0]):
        assert cf.significance.expected_width(many, variance=np.float64(0.1)) == width


def test_objects_are_checked_when_users_make_them() -> None:
    """They would fail later, and elsewhere."""
    with pytest.raises(cf.ArgumentError, match=r"Scores\(measure=…\) is text.*, not a list"):
        cf.Scores(np.zeros((1, 1)), ("1",), ("a",), measure=["AP"])  # type: ignore[arg-type]
    # Labels may be numbers, and any series.
    made = cf.Scores(np.zeros((2, 1)), range(2), [3])  # type: ignore[arg-type]
    assert made.mean().tolist() == [0.0]
    again = replace(SCORES, measure="x")
    assert again.measure == "x"
    with pytest.raises(cf.ArgumentError):
        replace(SCORES, measure=3)  # type: ignore[arg-type]


def test_functions_take_as_many_arguments_as_they_are_given() -> None:
    said = r"evaluate\(progress=…\) is a function of 2 arguments or None, not a function"
    with pytest.raises(cf.ArgumentError, match=said):
        cf.evaluate(RUN, QRELS, "AP", progress=lambda: None)  # type: ignore[arg-type, misc]


def test_what_has_not_all_that_a_protocol_asks_for() -> None:
    judged = cf.judge(RUN, QRELS)
    with pytest.raises(cf.ArgumentError, match="scores_by"):
        judged.scores_by([3])  # type: ignore[list-item]
    with pytest.raises(cf.ArgumentError, match=r"view\(key=…\) is"):
        judged.view([1], list)  # type: ignore[arg-type]


@pytest.mark.parametrize("many", [10**30, 2**63, -1])
def test_numbers_beyond_what_can_be_held(many: int) -> None:
    with pytest.raises(cf.CranfieldError):
        cf.compare(SCORES).table(places=many)
    with pytest.raises(cf.CranfieldError):
        SCORES.select(topics=range(many, 10**18))
    with pytest.raises(cf.CranfieldError, match="a range is too long"):
        cf.read_scores({"x": range(10**18)})


def test_arrays_that_do_not_go_together() -> None:
    with pytest.raises(cf.ArgumentError, match="lengths that do not go together"):
        cf.compare(SCORES).matrix(np.zeros(3))


def test_protocols_of_python_stay() -> None:
    evaluated = cf.evaluate(RUN, QRELS, "AP")
    with pytest.raises(KeyError):
        evaluated["P@5"]
    assert "P@5" not in evaluated


def test_whole_numbers_of_numpy_count_as_those_of_python() -> None:
    compared = cf.compare(SCORES)
    assert compared.to_text(limit=np.uint8(1)) == compared.to_text(limit=1)  # type: ignore[arg-type]


def test_numbers_that_python_counts_among_whole_ones() -> None:
    for odd in (np.timedelta64("NaT"), True):
        with pytest.raises(cf.CranfieldError):
            cf.significance.variance(SCORES, model=odd)  # type: ignore[arg-type]


def test_what_is_no_place_no_folder_and_no_number() -> None:
    with pytest.raises(cf.PolicyError, match="is no place in Scores"):
        SCORES.cell((10**6, 0))
    with pytest.raises(cf.InputError, match="too long"):
        cf.campaign.open("x" * 10_000)
    with pytest.raises(cf.InputError, match="is not a finite number"):
        cf.read_scores({"a": {"1": np.complex64(1)}})


@pytest.mark.parametrize("odd", [np.zeros(0), np.zeros(2), FRAME, FRAME["x"], pl.col("x")])
def test_what_is_neither_true_nor_false_is_named(odd: Any) -> None:
    def share(part: object, of: object = None) -> object:
        return part or of

    with pytest.raises(cf.ArgumentError, match=r"^share\(part=…\): an array or a table stands"):
        at_border(share, __name__)(odd)


NUMPY = [np.int8(3), np.uint64(2**64 - 1), np.float16(0.5), np.float32(0.5), np.longdouble(1)]


@pytest.mark.parametrize("number", NUMPY)
def test_numbers_of_numpy_become_those_of_python(number: Any) -> None:
    """Those of NumPy overflow in few bits."""
    shown = at_border(lambda one, other=0: (one, other), __name__)
    assert shown(number, other=number) == (number, number)
    assert {type(one) for one in shown(number, other=number)} <= {int, float}


@pytest.mark.parametrize("odd", [np.timedelta64("NaT"), np.complex128(1j), complex("nan")])
def test_times_and_complex_numbers_are_held_against_annotations(odd: Any) -> None:
    """NumPy computes with them, and warns at most."""
    with pytest.raises(cf.ArgumentError, match=r"top\(cutoff=…\) is a whole number, not a"):
        cf.judge(RUN, QRELS).top(odd)
    with pytest.raises(cf.ArgumentError, match=r"studentised_range_sf\(q=…\) is an array or a n"):
        cf.significance.studentised_range_sf(odd, groups=2, df=3)


def test_arrays_without_a_length() -> None:
    with pytest.raises(cf.CranfieldError):
        cf.evaluate({"s": {"1": np.array(3)}}, QRELS, "AP")


def test_numbers_of_numpy_stay_inside() -> None:
    """What one of our functions hands to another is as it was made."""
    human = [1.0, 0.0, 1.0, 0.0, np.nan, np.nan]
    found = cf.assess.stratified_mean(human, [*"aabbab"], seed=np.int64(3))  # type: ignore[arg-type]
    assert repr(found).startswith("CorrectedMeans(")


def test_names_that_are_too_long() -> None:
    with pytest.raises(cf.CranfieldError, match="history: a name is too long"):
        cf.campaign.history("x" * 100_000, "AP")


def test_what_other_libraries_say_in_their_words() -> None:
    pd = pytest.importorskip("pandas")
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(cf.ArgumentError, match="a data frame has two columns of one name"):
        cf.online.skip_above({"pages": twice, "results": twice, "clicks": twice})
    deep: Any = "a"
    for _ in range(70):
        deep = [deep]
    with pytest.raises(cf.ArgumentError, match="stratified_mean: .* nested too deep"):
        cf.assess.stratified_mean([1.0, 0.0], deep)
    with pytest.raises(cf.PolicyError, match="alpha must be a number between 0 and 1"):
        cf.compare(SCORES, alpha=Fraction(1, 20))  # type: ignore[arg-type]


def test_decimals_become_numbers() -> None:
    assert cf.compare(SCORES, alpha=Decimal("0.25")).alpha == 0.25  # type: ignore[arg-type]
    with pytest.raises(cf.PolicyError, match="alpha must be a number between 0 and 1, not nan"):
        cf.compare(SCORES, alpha=Decimal("sNaN"))  # type: ignore[arg-type]


def test_lists_that_are_empty_and_values_that_polars_cannot_hold() -> None:
    def largest(values: list[float]) -> float:
        return float(np.max(values))

    def cast(values: list[Any]) -> Any:
        return pl.Series(values).cast(pl.List(pl.Int8)).cast(pl.Date)

    with pytest.raises(cf.ArgumentError, match="largest: a list or an array is empty"):
        at_border(largest, __name__)([])
    with pytest.raises(cf.ArgumentError, match="cast: a data frame, or a value in it, does not"):
        at_border(cast, __name__)([["a"]])


def test_errors_of_arithmetic_that_numpy_is_told_to_raise() -> None:
    scores = np.random.default_rng(0).random((6, 6)).round(1)
    with (
        np.errstate(all="raise"),
        pytest.raises(cf.ArgumentError, match="NumPy is told to raise errors of arithmetic"),
    ):
        _ = cf.compare(scores, test="anova-2", correction="dunnett", baseline=0).interval


def test_what_is_masked_is_missing_and_complex_numbers_are_none() -> None:
    masked = np.ma.masked_array(np.full((3, 2), 0.5), [[False] * 2, [False] * 2, [False, True]])
    with pytest.raises(cf.CranfieldError, match="on topic '3' has no score"):
        cf.compare(masked, test="t")
    with pytest.raises(cf.PolicyError, match="an array of scores has numbers"):
        cf.compare(np.full((3, 2), 1j), test="t")
    with pytest.raises(cf.CranfieldError, match="risk needs a score"):
        cf.risk(np.zeros((0, 3)))


def test_what_iterators_yield_and_functions_return_is_gone_when_it_is_asked_for() -> None:
    log = cf.online.simulated_log()
    names: Any = (name for name in ["PBM"])
    with pytest.raises(cf.ArgumentError, match="what models=… yields may not fit: 'str' object"):
        cf.online.evaluate_models(names, log)
    summaries = cf.texts.judge_summaries({"x": {"1": "a b"}}, {"1": ["a"]})
    with pytest.raises(cf.ArgumentError, match="each: what score=… returns may not fit"):
        summaries.each(lambda *_: None, True)  # type: ignore[arg-type]

    def own(*_: object) -> float:
        return 1 + "a"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        summaries.each(own, True)
    assert not isinstance(caught.value, cf.CranfieldError)


def test_attributes_explain_themselves() -> None:
    one = np.zeros(1, np.int32)
    docs, starts = pl.Series(["a"]), np.arange(2)
    odd = Rankings(("\ud800",), ("x",), 1, docs, starts, one, starts, np.ones(1))
    with pytest.raises(cf.ArgumentError, match="Rankings.keys: text is no Unicode"):
        _ = odd.keys


def test_texts_that_do_not_show_themselves() -> None:
    class Odd(str):
        def __str__(self) -> str:
            raise RuntimeError

        __repr__ = __str__

    assert repr(cf.read_run(RUN).renamed(Odd("mine"))) == "Run('mine': 1 topic, 2 documents)"


def test_numbers_whose_squares_are_too_large() -> None:
    with pytest.raises(cf.PolicyError, match=r"labels are at most 1e\+100"):
        cf.assess.stratified_mean([1e308, 1e308, 1e308], ["a", "a", "a"])
