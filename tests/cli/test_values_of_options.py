"""Values of options that are lists, mappings and pairs, as signatures declare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import click
import numpy as np
import pytest

from cranfield.base.errors import PolicyError
from cranfield.base.kinds import OneOf, UnitInterval, check_arguments
from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.judging import parse_columns
from cranfield.cli.options.signatures import (
    NameList,
    NumberList,
    NumbersByName,
    collect_pairs,
    make_help,
    read_parameter,
)


@command()
@option("--names", type=NameList())
@option("--looks", type=NumberList(1))
@option("--oec", type=NumbersByName(allows_names=False))
@option("--weights", type=NumbersByName(allows_names=True))
@option("--margin", multiple=True, callback=collect_pairs)
def some(**given: Any) -> dict[str, Any]:
    """Return what was given."""
    return {name: value for name, value in given.items() if value is not None and value != {}}


def read(*words: str) -> Any:
    assert isinstance(some, click.Command)
    return some.main(list(words), standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("--names", "a, b"), {"names": ["a", "b"]}),
        (("--looks", "5,10"), {"looks": [5, 10]}),
        (("--oec", "a=0.7, b = 0.3"), {"oec": {"a": 0.7, "b": 0.3}}),
        (("--oec", "a=b=2"), {"oec": {"a=b": 2.0}}),
        (("--weights", "a,b"), {"weights": ["a", "b"]}),
        (("--weights", "a=0.9,b=0.1"), {"weights": {"a": 0.9, "b": 0.1}}),
        (("--margin", "a=2%", "--margin", "b=1"), {"margin": {"a": "2%", "b": "1"}}),
    ],
)
def test_values(words: tuple[str, ...], value: object) -> None:
    assert read(*words) == value


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--looks", "5,x"), "--looks must be integers >= 1"),
        (("--looks", "0"), "--looks must be integers >= 1"),
        (("--oec", "a,b"), "--oec must be NAME=NUMBER pairs"),
        (("--oec", "=1"), "--oec must be NAME=NUMBER pairs"),
        (("--oec", "a=1,a=2"), "each name once"),
        (("--weights", "a=0.5,b"), "--weights must be NAME=NUMBER pairs"),
        (("--margin", "a"), "--margin must be NAME=VALUE"),
        (("--margin", "a=1", "--margin", "a=2"), "--margin 'a' must be given only once"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], reason: str) -> None:
    with pytest.raises(PolicyError, match=reason):
        read(*words)


def test_functions_methods_and_dataclasses_declare_options() -> None:
    of_function = read_parameter("cranfield.online.analyse_experiment", "oec")
    assert of_function.annotation == Mapping[str, float] | None
    of_field = read_parameter("cranfield.online.Experiment", "hash")
    assert (of_field.default, of_field.description[:13]) == ("md5", "Hash function")
    of_method = read_parameter("cranfield.online.InterleavedRuns.draw", "jobs")
    assert of_method.default is None
    with pytest.raises(LookupError, match="no parameter nothing"):
        read_parameter("cranfield.online.Experiment", "nothing")


def test_arguments_are_checked_by_annotations() -> None:
    def function(
        kind: Annotated[str | None, OneOf(("a", "b"))] = None,
        alpha: Annotated[float, UnitInterval()] = 0.05,
        names: Sequence[str] = (),
    ) -> None: ...

    check_arguments(function, {"kind": None, "alpha": 0.1, "names": ()})
    with pytest.raises(PolicyError, match="unknown kind 'c'; expected one of: a, b"):
        check_arguments(function, {"kind": "c", "alpha": 0.1, "names": ()})
    with pytest.raises(
        PolicyError, match=r"alpha must be a number between 0 and 1 \(exclusive\), got None"
    ):
        check_arguments(function, {"kind": "a", "alpha": None, "names": ()})


def test_unknown_keywords_are_refused_and_keyword_arguments_returned() -> None:
    def judging(*, ties: str = "trec") -> None: ...

    def study(runs: Sequence[str], *, repeats: int = 1, **policies: Any) -> None: ...

    given = {"runs": (), "repeats": np.int64(3), "policies": {"ties": "rank"}}
    call = check_arguments(study, given, judging)
    assert call == {"repeats": 3} and type(call["repeats"]) is int
    with pytest.raises(
        PolicyError, match="study: unknown option 'ranks'; expected one of: repeats, ties"
    ):
        check_arguments(study, given | {"policies": {"ranks": 1}}, judging)
    with pytest.raises(PolicyError, match="unknown option 'repeat'; did you mean repeats"):
        check_arguments(study, given | {"policies": {"repeat": 1}}, judging)
    with pytest.raises(TypeError, match="unexpected keyword argument 'ties'"):
        check_arguments(study, given)


def test_help_is_the_first_sentence_and_that_on_a_default_of_none() -> None:
    description = "Names, as of :func:`x`. Others are `raw`. By default all."
    assert make_help(description, None) == "Names, as of x. By default all."
    assert make_help(description, "all") == "Names, as of x."


def test_a_parameter_of_a_public_function() -> None:
    assert read_parameter("cranfield.meta.pooling", "repeats").default == 10


def test_a_column_named_twice_is_refused() -> None:
    assert parse_columns("doc=a, topic=b") == {"doc": "a", "topic": "b"}
    with pytest.raises(PolicyError, match="--columns must name each column once, got doc twice"):
        parse_columns("doc=a,doc=b")
