"""Policies as typed arguments: the types say what the catalogue of policies says."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest

import cranfield as cf
from cranfield.collection.judged import policies
from cranfield.evaluation.judging_options import Judging


@pytest.mark.parametrize("name", policies.CHOICES)
def test_types_list_the_choices(name: str) -> None:
    assert get_args(getattr(policies, name.capitalize())) == tuple(policies.CHOICES[name])


def test_types_list_the_presets() -> None:
    assert get_args(policies.Compat) == tuple(policies.PRESETS)


def test_what_judge_takes_evaluate_takes() -> None:
    judged = inspect.signature(cf.judge).parameters
    named = [name for name, one in judged.items() if one.kind is one.KEYWORD_ONLY]
    assert [*Judging.__annotations__] == [name for name in named if name != "compat"]
    for function in (cf.evaluate, cf.score_samplings):
        shown = inspect.signature(function).parameters
        assert all(shown[name].default == judged[name].default for name in named)
        assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())


def test_options_of_shards_are_those_that_are_taken() -> None:
    run = {"q": {f"d{k}": 9 - k for k in range(9)}}
    qrels = {"q": {f"d{k}": 1 for k in range(0, 9, 2)}}
    shown = inspect.signature(cf.evaluate).parameters
    given = {name: shown[name].default for name in ("unmapped", "rel", "seed")}
    one, same = (cf.evaluate(run, qrels, "RR", shards=2, **more) for more in ({}, given))
    assert one["RR"].values.tolist() == same["RR"].values.tolist()
