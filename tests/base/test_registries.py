"""Registries: every spelling of a name means one thing, and text forms read back."""

from __future__ import annotations

import inspect
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.assess.agreement.coefficients import COEFFICIENTS
from cranfield.assess.labels import CROWD_MODELS
from cranfield.assess.pools.method import METHODS as POOLING
from cranfield.assess.sampling_designs import DESIGNS
from cranfield.assess.stops import RULES
from cranfield.base.spec import Registry, get_component_name
from cranfield.fusion.methods import FUSIONS
from cranfield.measures import REGISTRY
from cranfield.meta.study import STUDIES
from cranfield.online.click_models.model import MODELS
from cranfield.online.experiments.estimates import SEQUENTIAL
from cranfield.online.interleaving.method import METHODS as INTERLEAVING
from cranfield.online.measures.online_measure import MEASURES as ONLINE
from cranfield.reporting.charts.registry import CHARTS
from cranfield.scales.admissible import STATISTICS_AND_TESTS
from cranfield.significance.effects import KINDS as EFFECTS
from cranfield.significance.registry import CORRECTIONS, TESTS

SPECS = (POOLING, RULES, FUSIONS, MODELS, SEQUENTIAL, INTERLEAVING, ONLINE)
OTHERS = (
    COEFFICIENTS,
    CROWD_MODELS,
    DESIGNS,
    STUDIES,
    CHARTS,
    STATISTICS_AND_TESTS,
    CORRECTIONS,
    EFFECTS,
    TESTS,
)
"""All registries but that of measures, whose grammar tells upper and lower case apart."""


def noun(registry: Registry[Any]) -> str:
    return registry.noun


@pytest.mark.parametrize("registry", [*SPECS, *OTHERS], ids=noun)
def test_every_spelling_means_one_thing(registry: Registry[Any]) -> None:
    meanings: dict[str, set[str]] = {}
    for name in registry.names():
        assert registry.find(name) == name
        for known in (name, *registry.find_aliases(name)):
            spelled = known.upper().replace("-", " ")
            assert registry.find(known) == registry.find(spelled) == name
            meanings.setdefault(known.casefold().replace("-", ""), set()).add(name)
    assert [names for names in meanings.values() if len(names) > 1] == []


@pytest.mark.parametrize("registry", [*SPECS, *OTHERS, REGISTRY], ids=noun)
def test_names_and_aliases_are_read_as_the_modules_declare_them(registry: Registry[Any]) -> None:
    for name in registry.module_by_name:
        about = getattr(registry[name], "info", registry[name])
        assert tuple(getattr(about, "aliases", ())) == tuple(registry.find_aliases(name))
    things = [
        thing for module in registry.modules for thing in vars(import_module(module)).values()
    ]
    if registry.base is None:
        assert not registry.modules or {*registry.components} <= {*registry.module_by_name}
    else:
        classes = [one for one in things if isinstance(one, type) and "name" in vars(one)]
        # A result that is not a study has an annotated name.
        own = [one for one in classes if "name" not in inspect.get_annotations(one)]
        names = {get_component_name(one) for one in own if issubclass(one, registry.base)}
        assert not registry.modules or {*registry.module_by_name} == names


@pytest.mark.parametrize("registry", [*SPECS, *OTHERS], ids=noun)
def test_unknown_names(registry: Registry[Any]) -> None:
    with pytest.raises(cf.CranfieldError) as caught:
        registry.find_component("zzzzzzzz")
    assert registry.noun in str(caught.value) and "zzzzzzzz" in str(caught.value)
    for wrong in (3, None, ["a"]):
        with pytest.raises(cf.CranfieldError):
            registry.find(wrong)


@pytest.mark.parametrize("registry", SPECS, ids=noun)
def test_text_forms_read_back(registry: Registry[Any]) -> None:
    for name, kind in registry.items():
        try:
            spec = kind()
        except cf.CranfieldError:
            # A parameter without a default is missing.
            continue
        assert registry.parse(str(spec)) == spec
        assert str(spec).startswith(name)


def test_a_name_waits_for_its_module_that_another_thread_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_component.py").write_text(
        "import sys, time\n"
        "def double(number): return number * factor\n"
        "sys.registry_of_the_test.components['double'] = double\n"
        "time.sleep(0.5)\n"
        "factor = 2\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry: Registry[Any] = Registry("function")
    vars(registry)["module_by_name"] = {"double": "slow_component"}
    monkeypatch.setattr(sys, "registry_of_the_test", registry, raising=False)
    try:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(lambda: registry["double"](3))
            while "double" not in registry.components:
                time.sleep(0.01)
            assert registry["double"](4) == 8
            assert first.result() == 6
    finally:
        sys.modules.pop("slow_component", None)
