"""Public functions given wrong types: one line that names the argument."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from decimal import Decimal
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf

RUN: Any = {"1": {"a": 1.0, "b": 2.0}}
QRELS: Any = {"1": {"a": 1}}
FRAME: Any = pl.DataFrame({"x": [1, 2]})
SCORES = cf.read_scores({"x": {"1": 0.2, "2": 0.4}, "y": {"1": 0.4, "2": 0.5}})

WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (cf.evaluate, {"aspects": object}, "evaluate(aspects=…) is a dict of text to anything or None"),
    (cf.evaluate, {"tie": "doc"}, "evaluate takes no argument 'tie'; did you mean ties=…?"),
    (cf.evaluate, {"nonsense": 1}, "evaluate takes no argument 'nonsense'"),
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
    with pytest.raises(cf.ArgumentError, match="nested too deep, or holds itself"):
        cf.evaluate(endless, QRELS, "AP")


def test_options_of_shards_without_shards() -> None:
    with pytest.raises(cf.PolicyError, match="rel is said of shards: give shards="):
        cf.evaluate(RUN, QRELS, "AP", rel=1)
