"""What tests of charts look at: the specification, which is validated on the way, and its data."""

from __future__ import annotations

from typing import Any

import numpy as np

import cranfield as cf

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "",
    "x" * 200,
    "Dense",
    "dense",
    "a.b[0]:N",
    "</script><script>alert(1)</script>",
    "datum.system",
    "tab\tnew\nline",
    "\u202etags",
    "__proto__",
    "'; throw 1; //",
)
"""Run tags that a file may hold."""


def spec_of(chart: Any) -> dict[str, Any]:
    """Return the specification; Altair checks it against the schema of Vega-Lite."""
    found: dict[str, Any] = chart.to_dict(validate=True)
    assert found["description"].endswith(".")
    check_fields(found, found["datasets"], {})
    return found


def check_fields(spec: dict[str, Any], data: dict[str, Any], outer: dict[str, Any]) -> None:
    """Check that each field that a layer or a panel draws is a column of its data."""
    encoding = {**outer.get("encoding", {}), **spec.get("encoding", {})}
    spec = {**outer, **spec, "encoding": encoding}
    parts = [part for key in ("layer", "concat", "hconcat") for part in spec.pop(key, ())]
    for part in parts:
        check_fields(part, data, spec)
    rows = data.get(spec.get("data", {}).get("name"))
    if parts or not rows or "transform" in spec:
        return
    fields = {
        channel["field"].replace("\\", "")
        for channels in encoding.values()
        for channel in (channels if isinstance(channels, list) else [channels])
        if "field" in channel
    }
    assert fields <= {name for row in rows for name in row}


def rows_with(chart: Any, *fields: str) -> list[dict[str, Any]]:
    """Return the rows of the one table of a chart that has these fields."""
    [rows] = [
        rows
        for rows in chart.to_dict(validate=False)["datasets"].values()
        if rows and set(fields) <= set(rows[0])
    ]
    return list(rows)


def domain_of(chart: Any, channel: str) -> list[str]:
    """Return the names along an axis, in the order in which they are drawn."""
    spec = chart.to_dict(validate=False)
    domains = [
        layer["encoding"][channel]["scale"]["domain"]
        for layer in spec.get("layer", [spec])
        if "domain" in layer["encoding"].get(channel, {}).get("scale", {})
    ]
    assert all(domain == domains[0] for domain in domains)
    return list(domains[0])


def scores_of(values: Any, topics: Any, systems: Any, measure: str = "", **more: Any) -> cf.Scores:
    """Return scores of lists, or of strings of one-letter names."""
    return cf.Scores(np.array(values, dtype=float), tuple(topics), tuple(systems), measure, **more)


def random_scores(systems: int, topics: int = 20, seed: int = 0, **more: Any) -> cf.Scores:
    """Return scores that grow with the number of the system."""
    values = np.random.default_rng(seed).random((topics, systems))
    values += np.linspace(0, 0.5, systems)
    names = [f"s{k}" for k in range(systems)]
    measure = "effort" if more.get("lower_is_better") else "AP"
    return scores_of(values, [f"t{k}" for k in range(topics)], names, measure, **more)
