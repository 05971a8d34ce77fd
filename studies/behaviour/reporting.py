"""What people see of results: charts, works to cite, and the report."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import cranfield as cf
from cranfield import measures
from cranfield.meta.study import STUDIES
from cranfield.reporting import charts
from studies.behaviour.recording import Item
from studies.behaviour.samples import evaluated, generated, given, real
from studies.behaviour.showing import shown
from studies.behaviour.studying import BOTH, found, whole


def items() -> Iterator[Item]:
    """Yield charts, citations, reports and tables of results."""
    yield from _charts()
    yield from _citations()
    yield from _reports()
    yield from _tables()


def _charts() -> Iterator[Item]:
    ev, pair = evaluated(), (0, 4)
    names = [ev.systems[k] for k in pair]
    compared: Callable[..., Any] = partial(cf.compare, whole())
    drawn: dict[str, Callable[[], Any]] = {
        "box_plot": lambda: charts.box_plot(whole()),
        "box_plot missing": lambda: charts.box_plot(generated(3), systems=["s0", "s2"]),
        "precision_recall": lambda: charts.precision_recall(ev),
        "precision_recall topic": lambda: charts.precision_recall(ev, systems=names, topic="10"),
        "intervals_chart": lambda: charts.intervals_chart(compared()),
        "intervals_chart baseline": lambda: charts.intervals_chart(
            compared(baseline=names[0], correction="tukey")
        ),
        "intervals_chart t": lambda: charts.intervals_chart(compared(test="t")),
        "significance_matrix": lambda: charts.significance_matrix(compared(test="sign")),
        "difference_bars": lambda: charts.difference_bars(whole(), *names),
        "difference_bars nope": lambda: charts.difference_bars(whole(), "x", "y"),
        "difference_scatter": lambda: charts.difference_scatter(whole(), *names),
        "difficulty_map": lambda: charts.difficulty_map(whole()),
        "residual_plots": lambda: charts.residual_plots(compared().anova),
        "hasse_chart": lambda: charts.hasse_chart(3, 2),
        "spacing_chart": lambda: charts.spacing_chart(["RR", "AP"], 4),
        "distribution_chart": lambda: charts.distribution_chart(["RR", "P"], [3, 5]),
        "agreement_chart": lambda: charts.agreement_chart(found("splits")),
        "asl_chart": lambda: charts.asl_chart(found("power")),
        "leave_one_out_chart": lambda: charts.leave_one_out_chart(found("left out")),
        "leave_one_out_chart P": lambda: charts.leave_one_out_chart(found("left out"), "P@10"),
        "scale_tau_chart": lambda: charts.scale_tau_chart(found("scale study")),
        "scale_pairs_chart": lambda: charts.scale_pairs_chart(found("scale study")),
        "stability_chart": lambda: charts.stability_chart(found("stability")),
    }
    yield "charts/names", lambda: sorted(vars(charts)["__all__"])
    for name, draw in drawn.items():
        yield f"charts/{name}", draw
        for suffix in ("json", "svg", "html", "png", "pdf"):
            yield f"charts/{name} as {suffix}", partial(_saved, draw, suffix)
    for suffix in ("nope", "", "JSON"):
        yield f"charts/refused {suffix}", partial(_saved, drawn["box_plot"], suffix)
    yield "charts/refused scale", lambda: charts.save(drawn["box_plot"](), "x.png", scale=0)
    yield "charts/refused chart", lambda: charts.save(7, "x.png")


def _saved(draw: Callable[[], Any], suffix: str) -> str:
    path = Path(f"chart.{suffix}")
    charts.save(draw(), path)
    data = path.read_bytes()
    if suffix == "pdf":
        # The order of what is in it differs from one time to the next, and so may its length.
        return f"{data[:5]!r}, {len(re.findall(rb'/Type /Page(?!s)', data))} pages"
    if suffix in {"png", "html"}:
        # A page has the library of charts in it, about a megabyte that is not ours.
        return f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()}"
    return data.decode()


def _citations() -> Iterator[Item]:
    for name in STUDIES:
        yield f"cited/name {name}", partial(_of_name, name)
    for text in (
        *("AP", "nDCG@10", "friedman", "holm", "ferrante2021", "nope", "", "t", "RougeL", "EC-AP"),
    ):
        yield f"cited/text {text}", partial(_of_name, text)
    for call in (evaluated, real, lambda: cf.compare(real()), lambda: cf.scale_of("P@3")):
        kind = type(call()).__name__
        yield f"cited/result {kind}", lambda: cf.cite(call())
    yield "cited/defined", _own_cited
    yield "cited/wrong", lambda: cf.cite(7)
    yield "cited/nothing", cf.cite


def _own_cited() -> Any:
    try:
        return cf.cite(cf.define("Own", lambda judged: judged.n_retrieved))
    finally:
        measures.REGISTRY.pop("Own", None)


def _of_name(name: str) -> Any:
    return cf.cite(name), cf.cite(name).to_text(), cf.cite(name).used_for


def _reports() -> Iterator[Item]:
    pages: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
        "evaluation": (evaluated, {}),
        "plain": (lambda: evaluated(3), {"scales": False, "title": "<b>Plain</b> & simple"}),
        "baseline": (lambda: evaluated(4), {"baseline": evaluated().systems[1], "alpha": 0.01}),
        "tested": (lambda: evaluated(4), {"test": "randomisation", "resamples": 100, "seed": 5}),
        "scores": (real, {"date": "2024-05-01", "command": ["cranfield", "report", "a b"]}),
        "missing": (lambda: generated(3), {"missing": "drop"}),
        "available": (lambda: generated(3), {"test": "welch", "missing": "available"}),
        "comparison": (lambda: cf.compare(real(), test="t"), {}),
        "many": (lambda: {"a": real(), "b": real()}, {"inputs": ["qrels.txt"]}),
        "meanings": (lambda: [cf.meaningfulness(cf.compare(real(), test="sign"))], {}),
        "one system": (lambda: evaluated(1), {}),
        "refused option": (lambda: cf.compare(real()), {"alpha": 0.1}),
        "refused test": (evaluated, {"test": "nope"}),
        "refused": (lambda: 7, {}),
        "refused input": (real, {"inputs": ["missing.txt"]}),
        "files": (lambda: cf.evaluate(BOTH, "qrels.txt", ["AP", "RR@5", "NumRet", "P@3"]), {}),
    }
    for name, (make, options) in pages.items():
        yield f"report/{name}", lambda: _page(make(), options)
        yield f"report/{name} data", lambda: _data(_page(make(), options))


def _page(results: Any, options: dict[str, Any]) -> str:
    return Path(cf.report(results, "page.html", **options)).read_text("utf-8")


def _data(page: str) -> str:
    """Show the data of a page with their arrays as numbers."""
    [text] = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    return shown(_unpacked(json.loads(text)))


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unpacked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_unpacked(one) for one in value]
    packed = isinstance(value, str) and len(value) > 8 and re.fullmatch(r"[A-Za-z0-9+/]+=*", value)
    if packed and len(value) % 4 == 0:
        data = base64.b64decode(value)
        if len(data) % 8 == 0:
            return np.frombuffer(data, "<f8")
    return value


def _tables() -> Iterator[Item]:
    options: tuple[dict[str, Any], ...] = (
        *({}, {"marks": "beaten"}, {"marks": "groups"}, {"marks": "none"}, {"second": True}),
        *({"sort": "P@10"}, {"percent": True}, {"places": 2}, {"best": False}, {"places": 99}),
        *({"test": "t"}, {"test": "t", "correction": "bh"}, {"baseline": 0, "marks": "symbols"}),
        *({"baseline": 1, "alpha": (0.05, 0.01)}, {"alpha": (0.05, 0.01)}, {"sort": "nope"}),
        *({"marks": "nope"}, {"seed": 1}, {"nope": 1}, {"test": "nope"}, {"baseline": "nope"}),
    )
    for option in options:
        yield f"table/evaluation {option}", partial(_table, evaluated, option)
        yield f"table/scores {option}", partial(_table, real, option)
    for name, make in {
        "comparison": lambda: cf.compare(real()),
        "comparison t": lambda: cf.compare(real(), test="t"),
        "anova": lambda: cf.compare(real()).anova,
        "frame": lambda: pl.DataFrame({"a_%": [1.25, None], "b<&>": ["x", "$y_"]}),
        "markup": lambda: given([[0.5, 0.25]], ("1",), ("a_b%$#&", "<i>|\\")),
        "number": lambda: 7,
        "list": lambda: [real()],
    }.items():
        for option in ({}, {"places": 2}, {"sort": "x"}):
            yield f"table/{name} {option}", partial(_table, make, option)
    for latex in (
        *({"caption": "A & b"}, {"label": "tab:x"}, {"long": True}, {"caption": "x", "long": True}),
    ):
        yield f"table/latex {latex}", lambda: cf.table(evaluated()).to_latex(**latex)


def _table(make: Callable[[], Any], option: dict[str, Any]) -> Any:
    results = make()
    if isinstance(option.get("baseline"), int):
        option = option | {"baseline": results.systems[option["baseline"]]}
    return cf.table(results, **option)
