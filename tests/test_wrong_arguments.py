"""Values that an argument cannot have are refused by its name; other errors arrive unchanged."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf

RUN = {"q": {"a": 1.0, "b": 2.0}, "r": {"a": 2.0}}
QRELS = {"q": {"a": 1}, "r": {"a": 1}}
UNTYPED: Any = cf
"""cranfield as Any, since the type checker would reject these calls."""


def scores() -> cf.Scores:
    return cf.evaluate({"x": RUN, "y": RUN}, QRELS, ["AP"])["AP"]


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (lambda: UNTYPED.evaluate(RUN, QRELS, "AP", ties="foo"), "ties", "foo"),
        (lambda: UNTYPED.evaluate(RUN, QRELS, "AP", depth=0), "depth", "0"),
        (lambda: UNTYPED.evaluate(RUN, QRELS, "AP", depth=True), "depth", "True"),
        (lambda: UNTYPED.evaluate(RUN, QRELS, "P@-1"), "cutoff", "-1"),
        (lambda: UNTYPED.evaluate(RUN, QRELS, "AP(rel=True)"), "rel", "True"),
        (lambda: UNTYPED.compare(scores(), resamples=True), "resamples", "True"),
        (lambda: UNTYPED.compare(scores(), alpha="x"), "alpha", "x"),
        (lambda: UNTYPED.compare(scores(), test="tt"), "test", "tt"),
        (lambda: UNTYPED.assess.pool(RUN, True), "depth", "True"),
        (lambda: UNTYPED.assess.pool(RUN, -1), "depth", "-1"),
    ],
)
def test_impossible_values(call: Callable[[], object], name: str, value: str) -> None:
    with pytest.raises(cf.CranfieldError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert name in str(caught.value) and value in str(caught.value)
    assert str(caught.value).isprintable()


POOL = cf.assess.pool({"x": RUN, "y": RUN}, 2)
DESIGN = {"difference": 0.1, "variance": 0.02}
SIZE = {"mean": 0.1, "deviation": 0.3, "lift": 0.1}
MEANS = [[0.1, 0.3], [0.2, 0.5], [0.4, 0.6]]
INTERLEAVER = cf.online.interleave([["a"], ["b"]], length=1)


@pytest.mark.parametrize(
    ("function", "arguments", "options", "names"),
    [
        (UNTYPED.assess.sheets, [POOL], {"assessors": ["ann", "bob"]}, ["overlap", "n_each"]),
        (UNTYPED.assess.sheets, [POOL], {}, ["seed"]),
        (UNTYPED.assess.ppi_mean, [[0, 1, 1, 0], [0, 1, 0, 1]], {}, ["lambda_", "folds", "seed"]),
        (UNTYPED.assess.stopping, [[1, 0, 1], "Budget"], {"total": 5}, ["rel", "every", "total"]),
        (UNTYPED.assess.agreement_of, [[QRELS, QRELS]], {}, ["rel", "resamples", "seed"]),
        (UNTYPED.write_run, [RUN, "-"], {}, ["limit"]),
        (UNTYPED.correlation.kendall_tau, [[1, 2, 3], [1, 3, 2]], {}, ["rounding"]),
        (UNTYPED.online.experiment_size, [], SIZE, [*SIZE, "daily", "correlation"]),
        (UNTYPED.online.always_valid_inference, [[0.1], [0.05], [1000]], {}, ["alpha"]),
        (UNTYPED.online.impressions_needed, [], {"outcome": 0.6}, ["outcome", "untied"]),
        (UNTYPED.online.preference_matrix_by_credits, [[[2, 1]]], {}, ["resamples", "seed"]),
        (INTERLEAVER.draw, [2, 1], {}, ["jobs"]),
        (UNTYPED.significance.power_t, [[25]], DESIGN, [*DESIGN]),
        (UNTYPED.significance.power_anova, [[25]], {"systems": 3, **DESIGN}, [*DESIGN, "epsilon"]),
        (UNTYPED.significance.topics_needed, [], DESIGN, [*DESIGN, "epsilon"]),
        (UNTYPED.significance.fit_simulator, [MEANS * 5], {}, ["shrinkage", "df"]),
        (UNTYPED.significance.standardise, [scores()], {}, ["slope", "centre"]),
        (UNTYPED.significance.studentised_range_sf, [3.5], {"n_groups": 3}, ["df"]),
        (UNTYPED.judge(RUN, QRELS).binarise, [], {}, ["rel"]),
    ],
)
@pytest.mark.parametrize("value", [True, float("nan")])
def test_a_bool_or_nan_where_a_number_is_expected(
    function: Callable[..., object],
    arguments: list[object],
    options: dict[str, object],
    names: list[str],
    value: object,
) -> None:
    for name in names:
        with pytest.raises(cf.PolicyError, match=name) as caught:
            function(*arguments, **{**options, name: value})
        assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("function", "arguments", "options", "names"),
    [
        (UNTYPED.assess.LeadRule, [], {}, ["c", "epsilon"]),
        (UNTYPED.correlation.kendall_tau, [[1, 2, 3], [1, 3, 2]], {}, ["rounding"]),
        (UNTYPED.online.experiment_size, [], SIZE, [*SIZE, "daily", "alpha"]),
        (UNTYPED.online.policy_value, [{"reward": [1]}], {}, ["clip", "confidence"]),
        (UNTYPED.significance.studentised_range_sf, [3.5], {"n_groups": 3}, ["df"]),
        (UNTYPED.online.parse_model("PBM"), [], {}, ["tolerance"]),
    ],
)
def test_an_integer_too_large_for_a_float(
    function: Callable[..., object],
    arguments: list[object],
    options: dict[str, object],
    names: list[str],
) -> None:
    for name in names:
        with pytest.raises(cf.CranfieldError, match=rf"\b{name} must be a number .* got 1000"):
            function(*arguments, **{**options, name: 10**400})


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (UNTYPED.evaluate, (RUN, QRELS, "AP")),
        (UNTYPED.score_samplings, (RUN, QRELS, "AP")),
        (UNTYPED.evaluate_sessions, ({}, QRELS, "nsDCG")),
        (UNTYPED.assess.judge_rankings, (RUN, QRELS, {"llm": QRELS}, "AP")),
        (UNTYPED.assess.self_preference, (RUN, QRELS, {"llm": QRELS}, {}, "AP")),
        (UNTYPED.assess.ppi_scores, (RUN, QRELS, QRELS, "AP")),
        (UNTYPED.meta.leave_one_out, (RUN, QRELS, "AP")),
    ],
)
def test_an_unknown_argument_names_the_function_that_was_called(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(TypeError, match=rf"^{function.__name__}\b.*'tie'"):
        function(*arguments, tie="trec")


def test_other_types_and_arguments() -> None:
    with pytest.raises(TypeError, match="alhpa"):
        UNTYPED.compare(scores(), alhpa=0.1)
    with pytest.raises(TypeError, match="measures"):
        UNTYPED.evaluate(RUN, QRELS)


def test_errors_of_own_functions_and_generators() -> None:
    def progress(done: int, total: int) -> None:
        raise ZeroDivisionError

    def measures() -> Iterator[str]:
        yield "AP"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cf.evaluate(RUN, QRELS, "AP", progress=progress)
    with pytest.raises(ZeroDivisionError):
        UNTYPED.evaluate(RUN, QRELS, measures())


def test_runs_and_judgments_that_look_swapped() -> None:
    with pytest.warns(cf.CranfieldWarning, match="swapped"):
        cf.evaluate(QRELS, RUN, "AP")


def test_dicts_are_written(tmp_path: Path) -> None:
    cf.write_run(RUN, tmp_path / "a.run")
    cf.write_qrels(QRELS, tmp_path / "a.qrels")
    read = cf.evaluate(tmp_path / "a.run", tmp_path / "a.qrels", "AP")["AP"]
    assert read.values.tolist() == cf.evaluate(RUN, QRELS, "AP")["AP"].values.tolist()


def test_long_values_are_cut_in_messages() -> None:
    with pytest.raises(cf.PolicyError) as caught:
        UNTYPED.random_shards({"q": dict.fromkeys(map(str, range(1000)), 1)})
    assert len(str(caught.value)) < 200


ROOMS = ("online", "campaign", "assess", "significance", "scales", "meta", "collection", "tabular")


def alternatives(annotation: str) -> list[str]:
    """The types of an annotation, apart where `|` stands outside brackets."""
    inner = annotation.removeprefix("Annotated[").removeprefix("typing.Annotated[")
    out, depth = [""], 0
    for letter in inner:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            break
        if letter == "|" and depth == 0:
            out.append("")
        else:
            out[-1] += letter
    return [one.strip() for one in out]


SINGLE = ("str", "int", "float", "Any", "RankedLists", "PathName")
"""Types of a single value: a parameter that also takes one refuses text as that."""


def takes_several(annotation: str) -> bool:
    types = alternatives(annotation)
    listed = [one for one in types if one.startswith(("Sequence[", "Iterable[", "Collection["))]
    return bool(listed) and not {*SINGLE} & {*types}


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Public functions, and public methods of public classes."""
    for room in (cf, *(getattr(cf, name) for name in ROOMS)):
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isfunction(thing):
                yield f"{room.__name__}.{name}", thing
            elif inspect.isclass(thing) and not issubclass(thing, BaseException):
                for inside, method in vars(thing).items():
                    plain = getattr(method, "__func__", method)
                    if not inside.startswith("_") and inspect.isfunction(plain):
                        yield f"{room.__name__}.{name}.{inside}", plain


SEVERAL = {
    f"{name}({parameter.name})": (function, parameter.name)
    for name, function in functions()
    for parameter in inspect.signature(function).parameters.values()
    if takes_several(str(parameter.annotation))
}
"""Parameters that take several values, none of which is a single text."""

INSIDE = {
    *("compute_scores(measures)", "OnlineMeasure.rows(keys)", "OnlineMeasure.summands(keys)"),
    *("align_rows(head)", "align_rows(rows)", "align_rows(left)"),
}
"""Parameters that only the library itself fills: checked before these methods are called."""


@pytest.mark.parametrize("name", [one for one in SEVERAL if not one.endswith((*INSIDE,))])
def test_a_bare_string_where_several_are_expected(name: str) -> None:
    function, parameter = SEVERAL[name]
    needed = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}
    ]
    arguments = dict.fromkeys(needed) | {parameter: "10"}
    positional = [
        arguments.pop(one.name)
        for one in inspect.signature(function).parameters.values()
        if one.kind is one.POSITIONAL_ONLY
    ]
    with pytest.raises(cf.PolicyError) as caught:
        function(*positional, **arguments)
    expected = f"{parameter}: expected a list, got '10'; for a single value, use ['10']"
    assert str(caught.value) == expected
