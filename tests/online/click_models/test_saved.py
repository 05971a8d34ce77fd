"""Models saved and read back; damaged and hostile files are refused in one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.online.click_models.model import MODELS
from tests.online.click_models.pages import log_of, random_pages

PAGES = random_pages(8, 60, longest=5)
GRADES = {("q0", "d0"): 1, ("q0", "d1"): -2, ("q1", "d1"): 0}
LOG = log_of(PAGES, GRADES)


@pytest.mark.parametrize("name", [*MODELS, "DBN(gamma=0.9)", "PBM(alpha=1, beta=3)"])
@pytest.mark.parametrize("tied", [None, "grade"])
def test_the_same_comes_back(name: str, tied: str | None, tmp_path: Path) -> None:
    model = cf.online.train(LOG, name, tied=tied)
    model.save(tmp_path / "model.json")
    again = cf.online.ClickModel.load(tmp_path / "model.json")
    assert repr(again) == repr(model)
    assert again.objective.tolist() == model.objective.tolist()
    assert all(frame.equals(again.parameters[name]) for name, frame in model.parameters.items())
    assert again.compute_click_probabilities(LOG).equals(model.compute_click_probabilities(LOG))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "m.json"
    cf.online.train(LOG, "DBN").save(path)
    return path.read_text()


def continuation(model: Any) -> Any:
    return model["tallies"]["continuation"]


def docs(model: Any) -> Any:
    return model["items"]["doc"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(version=2), "version must be"),
        (lambda m: m.update(version=True), "version"),
        (lambda m: m.update(kind="x"), "kind must be"),
        (lambda m: m.pop("ranks"), "ranks is missing"),
        (lambda m: m.update(model="XXX"), "unknown click model"),
        (lambda m: m.update(model=["DBN"]), "expected a click model or its text"),
        (lambda m: m.update(model="CCM"), "must be arrays of length 3"),
        (lambda m: m.update(tied="\x1b[31m"), "tied must be null or"),
        (lambda m: m.update(tied=["grade"]), "tied must be null or"),
        (lambda m: m.update(tied="grade"), "equally long lists of grade"),
        (lambda m: m["items"].update(doc=[1]), "equally long lists of query and doc"),
        (lambda m: docs(m).__setitem__(0, 7), "equally long lists of query and doc"),
        (lambda m: docs(m).__setitem__(0, "\ud800"), "equally long lists"),
        (lambda m: docs(m).__setitem__(slice(None), ["d"] * 30), "items must be distinct"),
        (lambda m: continuation(m).update(hits=[1, 2]), "must be arrays of length 1"),
        (lambda m: continuation(m).update(hits=[1e9]), "must have 0 <= hits <= trials"),
        (lambda m: continuation(m).update(hits=[-1]), "must have 0 <= hits <= trials"),
        (lambda m: continuation(m).update(trials=[1e308]), r"trials <= 2\^53"),
        (lambda m: continuation(m).update(hits=["1"]), "hits must be numbers"),
        (lambda m: continuation(m).update(hits=[float("nan")]), "must have 0 <= hits <= trials"),
        (lambda m: continuation(m).update(hits=[10**400]), "hits must be numbers"),
        (lambda m: m["tallies"].update(continuation=[]), "unexpected structure"),
        (lambda m: docs(m).__setitem__(0, None), "items must be distinct"),
        (lambda m: m.update(objective=[float("inf")]), "objective must be a list"),
        (lambda m: m.update(objective=3), "objective must be a list"),
        (lambda m: m.update(ranks=0), "ranks must be an integer"),
        (lambda m: m.update(pages=1.5), "pages must be an integer"),
    ],
)
def test_damaged_files(change: Any, said: str, saved: str, tmp_path: Path) -> None:
    path, model = tmp_path / "m.json", json.loads(saved)
    change(model)
    path.write_text(json.dumps(model))
    with pytest.raises(cf.InputError, match=said) as error:
        cf.online.ClickModel.load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "9" * 5000, "\ud800", '{"a": Infinity}'])
def test_what_is_no_model(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(cf.InputError, match="not a trained click model"):
        cf.online.ClickModel.load(path)
    with pytest.raises(cf.InputError, match="cannot be read"):
        cf.online.ClickModel.load(tmp_path)


def test_random_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    cf.online.train(LOG, "CCM(iterations=2)").save(path)
    raw = path.read_bytes()
    draw = random.Random(4)
    for _ in range(150):
        spoiled = bytearray(raw)
        for _ in range(draw.randrange(1, 4)):
            spoiled[draw.randrange(len(raw))] = draw.randrange(256)
        path.write_bytes(bytes(spoiled))
        try:
            cf.online.ClickModel.load(path)
        except cf.InputError as error:
            assert "\n" not in str(error)
