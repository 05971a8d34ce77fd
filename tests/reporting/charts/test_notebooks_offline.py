"""A chart in a notebook is a picture that needs no network."""

from __future__ import annotations

import sys
from typing import Any

import altair as alt
import pytest

import cranfield as cf

SYSTEMS = {"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]}


def charts() -> dict[str, Any]:
    comparison = cf.compare(SYSTEMS, test="anova-2")
    return {
        "layers": comparison.plot.box(),
        "plain": comparison.plot.difficulty(),
        "changed": comparison.plot.intervals().properties(width=500),
        "side by side": comparison.plot.residuals(),
        "panels": cf.charts.spacing_chart(["P", "RR"], 3),
    }


@pytest.mark.parametrize("name", charts())
def test_a_chart_is_a_picture(name: str) -> None:
    bundle = charts()[name]._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"].endswith(".")
    assert "https://" not in str(bundle) and "<script" not in str(bundle)


def test_another_way_of_its_user_stands() -> None:
    chart = cf.compare(SYSTEMS).plot.box()
    with alt.renderers.enable("mimetype"):
        assert "application/vnd.vegalite" in str(chart._repr_mimebundle_())


def test_without_a_converter_there_is_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    bundle = cf.compare(SYSTEMS).plot.box()._repr_mimebundle_()
    assert [*bundle] == ["text/plain"]
    assert "pip install 'cranfield[charts]'" in bundle["text/plain"]
